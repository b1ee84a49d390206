//! Welch's test of the difference of two means, for samples of a fixed size.
//!
//! Valid for one look at samples whose size does not depend on their values. While
//! sampling goes on, use [`sequential`](super::sequential).
//!
//! # References
//!
//! - Welch 1947, *The generalization of "Student's" problem when several
//!   different population variances are involved*, Biometrika 34:28.
//! - Satterthwaite 1946, *An approximate distribution of estimates of variance
//!   components*, Biometrics Bulletin 2:110, for the degrees of freedom.

use super::moments::Moments;

/// The difference of two means and how well it is known.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Welch {
    /// Mean of the head minus mean of the base, in the unit of the samples.
    pub difference: f64,
    /// The standard error of the difference, in the same unit, positive.
    pub standard_error: f64,
    /// Satterthwaite's degrees of freedom.
    pub dof: f64,
}

impl Welch {
    /// Compares two samples. `None` if one has fewer than two values, if neither
    /// varies (then nothing says how far their means may be off), or if a value is
    /// not finite.
    pub fn new(base: &Moments, head: &Moments) -> Option<Self> {
        let base = SampleMean::of(base)?;
        let head = SampleMean::of(head)?;
        let variance = base.variance + head.variance;
        let difference = head.mean - base.mean;
        if !(difference.is_finite() && variance.is_finite()) {
            return None;
        }
        let dof = satterthwaite(&base, &head, 1.0)?;
        Some(Welch { difference, standard_error: variance.sqrt(), dof })
    }
}

/// The mean of a sample, and how well it is known.
#[derive(Clone, Copy, Debug)]
pub(super) struct SampleMean {
    pub(super) mean: f64,
    /// The estimated variance of the mean.
    pub(super) variance: f64,
    /// The degrees of freedom, n - 1.
    pub(super) dof: f64,
}

impl SampleMean {
    /// `None` of fewer than two values.
    pub(super) fn of(sample: &Moments) -> Option<Self> {
        let (mean, variance) = (sample.mean()?, sample.variance()?);
        let count = sample.count() as f64;
        Some(SampleMean { mean, variance: variance / count, dof: count - 1.0 })
    }
}

/// Satterthwaite's degrees of freedom of `mean(head) - ratio * mean(base)`; `None` if
/// that has no variance.
pub(super) fn satterthwaite(base: &SampleMean, head: &SampleMean, ratio: f64) -> Option<f64> {
    let scaled = ratio * ratio * base.variance;
    let total = scaled + head.variance;
    if !(total > 0.0 && total.is_finite()) {
        return None;
    }
    // By shares, since the squares of tiny variances underflow.
    let (x, y) = (scaled / total, head.variance / total);
    Some(1.0 / (x * x / base.dof + y * y / head.dof))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn too_few_constant_and_infinite_values_have_no_interval() {
        let flat: Moments = [2.0; 4].into_iter().collect();
        let other: Moments = [1.0, 2.0, 4.0].into_iter().collect();
        let broken: Moments = [1.0, f64::INFINITY].into_iter().collect();
        assert_eq!(Welch::new(&Moments::default(), &other), None);
        assert_eq!(Welch::new(&flat, &flat), None);
        assert_eq!(Welch::new(&broken, &other), None);
    }

    #[test]
    fn one_constant_side_leaves_the_other_sides_degrees() {
        let flat: Moments = [2.0; 4].into_iter().collect();
        let other: Moments = [1.0, 2.0, 4.0].into_iter().collect();
        assert_eq!(Welch::new(&flat, &other).unwrap().dof, 2.0);
        assert_eq!(Welch::new(&other, &flat).unwrap().dof, 2.0);
    }
}
