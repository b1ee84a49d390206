//! Welch's interval of the difference of two means, for samples of a fixed size.
//!
//! Valid for one look at data whose size did not depend on them. While sampling
//! goes on, [`sequential`](super::sequential) is the one to ask.
//!
//! # References
//!
//! - Welch 1947, *The generalization of "Student's" problem when several
//!   different population variances are involved*, Biometrika 34:28.
//! - Satterthwaite 1946, *An approximate distribution of estimates of variance
//!   components*, Biometrics Bulletin 2:110, for the degrees of freedom.

use std::fmt;

use super::moments::Moments;
use super::quantile::student_t;

/// The difference of two means and how well it is known.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Welch {
    /// Mean of the head minus mean of the base, in the unit of the samples.
    pub difference: f64,
    /// The standard error of the difference, in the same unit; above 0.
    pub standard_error: f64,
    /// Satterthwaite's degrees of freedom.
    pub dof: f64,
}

/// Why there is no interval.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Undefined {
    /// A sample has fewer than two values.
    TooFew,
    /// Neither sample varies at all, so nothing says how far they may be off.
    Constant,
    /// A value, or what came of it, is not finite.
    NotFinite,
}

impl fmt::Display for Undefined {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Undefined::TooFew => "an interval needs at least two values on each side",
            Undefined::Constant => "the values of neither side vary",
            Undefined::NotFinite => "a value is not a finite number",
        })
    }
}

impl std::error::Error for Undefined {}

impl Welch {
    /// Compares two samples. One of them may be constant, not both.
    pub fn new(base: &Moments, head: &Moments) -> Result<Self, Undefined> {
        let base = SampleMean::of(base)?;
        let head = SampleMean::of(head)?;
        let variance = base.variance + head.variance;
        let difference = head.mean - base.mean;
        if !(difference.is_finite() && variance.is_finite()) {
            return Err(Undefined::NotFinite);
        }
        let dof = satterthwaite(&base, &head, 1.0).ok_or(Undefined::Constant)?;
        Ok(Welch { difference, standard_error: variance.sqrt(), dof })
    }

    /// The two-sided interval of the difference at `confidence` (0 to 1), lower end
    /// first; none for a confidence outside.
    pub fn interval(&self, confidence: f64) -> Option<(f64, f64)> {
        let radius = self.radius(0.5 + 0.5 * confidence)?;
        Some((self.difference - radius, self.difference + radius))
    }

    /// The number that the difference is above, at one-sided `confidence` (0 to 1).
    pub fn lower_bound(&self, confidence: f64) -> Option<f64> {
        Some(self.difference - self.radius(confidence)?)
    }

    /// The number that the difference is below, at one-sided `confidence` (0 to 1).
    pub fn upper_bound(&self, confidence: f64) -> Option<f64> {
        Some(self.difference + self.radius(confidence)?)
    }

    fn radius(&self, p: f64) -> Option<f64> {
        Some(student_t(p, self.dof)? * self.standard_error)
    }
}

/// The mean of a sample, and how well it is known.
#[derive(Clone, Copy, Debug)]
pub(super) struct SampleMean {
    /// The mean of the sample.
    pub(super) mean: f64,
    /// The estimated variance of that mean.
    pub(super) variance: f64,
    /// The sample's own degrees of freedom, n - 1.
    pub(super) dof: f64,
}

impl SampleMean {
    pub(super) fn of(sample: &Moments) -> Result<Self, Undefined> {
        let (Some(mean), Some(variance)) = (sample.mean(), sample.variance()) else {
            return Err(Undefined::TooFew);
        };
        let count = sample.count() as f64;
        Ok(SampleMean { mean, variance: variance / count, dof: count - 1.0 })
    }
}

/// Satterthwaite's degrees of freedom of `mean(head) - ratio * mean(base)`; none
/// where that has no variance.
pub(super) fn satterthwaite(base: &SampleMean, head: &SampleMean, ratio: f64) -> Option<f64> {
    let scaled = ratio * ratio * base.variance;
    let total = scaled + head.variance;
    if !(total > 0.0 && total.is_finite()) {
        return None;
    }
    // By shares, not by squares of the variances, which underflow for tiny ones.
    let (x, y) = (scaled / total, head.variance / total);
    Some(1.0 / (x * x / base.dof + y * y / head.dof))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_undefined_says_why() {
        let none = Moments::new();
        let flat: Moments = [2.0; 4].into_iter().collect();
        let other: Moments = [1.0, 2.0, 4.0].into_iter().collect();
        let broken: Moments = [1.0, f64::INFINITY].into_iter().collect();
        assert_eq!(Welch::new(&none, &other), Err(Undefined::TooFew));
        assert_eq!(Welch::new(&flat, &flat), Err(Undefined::Constant));
        assert_eq!(Welch::new(&broken, &other), Err(Undefined::NotFinite));
        let said = [Undefined::TooFew, Undefined::Constant, Undefined::NotFinite].map(|why| {
            let text = why.to_string();
            text.split(' ').next_back().map(str::to_owned)
        });
        assert_eq!(said.map(Option::unwrap), ["side", "vary", "number"]);
    }

    #[test]
    fn one_constant_side_leaves_the_other_sides_degrees() {
        let flat: Moments = [2.0; 4].into_iter().collect();
        let other: Moments = [1.0, 2.0, 4.0].into_iter().collect();
        assert_eq!(Welch::new(&flat, &other).unwrap().dof, 2.0);
        assert_eq!(Welch::new(&other, &flat).unwrap().dof, 2.0);
    }

    #[test]
    fn a_confidence_outside_has_no_interval() {
        let sample: Moments = [1.0, 2.0, 4.0].into_iter().collect();
        let welch = Welch::new(&sample, &sample).unwrap();
        assert_eq!(welch.interval(1.0), None);
        assert_eq!(welch.lower_bound(f64::NAN), None);
        let (lower, upper) = welch.interval(0.9).unwrap();
        assert_eq!(welch.lower_bound(0.95), Some(lower));
        assert_eq!(welch.upper_bound(0.95), Some(upper));
    }
}
