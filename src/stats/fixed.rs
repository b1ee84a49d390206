//! Intervals of the difference and of the ratio of two means, from pairs or from
//! independent samples of a fixed size, for a single look.
//!
//! Valid if the size of the samples does not depend on their values. While sampling
//! goes on, use [`sequential`](super::sequential).
//!
//! # References
//!
//! - Welch 1947 and Satterthwaite 1946, see [`welch`](super::welch); for pairs,
//!   Student 1908, *The probable error of a mean*, Biometrika 6:1.
//! - Fieller 1954, see [`ratio`](super::ratio).

use super::moments::{Moments, PairMoments};
use super::quantile::student_t;
use super::ratio::{paired, unpaired};
use super::welch::Welch;
use crate::model::MeanDifference;

/// The sums of two samples.
#[derive(Clone, Copy, Debug)]
pub enum TwoSamples<'a> {
    /// Each value of one sample belongs to a value of the other.
    Paired(&'a PairMoments),
    /// Base and head, which are independent.
    Apart(&'a Moments, &'a Moments),
}

/// The one-sided confidence of each bound, 0.5 to 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Confidence {
    /// The confidence of the lower bound.
    pub lower: f64,
    /// The confidence of the upper bound.
    pub upper: f64,
}

impl TwoSamples<'_> {
    /// The means of base and head; `None` if a sample is empty.
    pub(crate) fn means(&self) -> Option<(f64, f64)> {
        let (base, head) = match self {
            TwoSamples::Paired(pairs) => (pairs.base(), pairs.head()),
            TwoSamples::Apart(base, head) => (*base, *head),
        };
        Some((base.mean()?, head.mean()?))
    }

    /// The difference of the means; `None` if a sample has fewer than two values or
    /// nothing varies.
    pub fn difference(&self, confidence: Confidence) -> Option<MeanDifference> {
        let (estimate, error, dof) = match self {
            TwoSamples::Apart(base, head) => {
                let welch = Welch::new(base, head)?;
                (welch.difference, welch.standard_error, welch.dof)
            }
            TwoSamples::Paired(pairs) => {
                let (base, head) = self.means()?;
                let spread = pairs.base().variance()? + pairs.head().variance()?;
                let variance = spread - 2.0 * pairs.covariance()?;
                let count = pairs.count() as f64;
                (head - base, (variance.max(0.0) / count).sqrt(), count - 1.0)
            }
        };
        let radius = |p| Some(student_t(p, dof)? * error);
        let difference = MeanDifference {
            estimate,
            lower: estimate - radius(confidence.lower)?,
            upper: estimate + radius(confidence.upper)?,
        };
        (error > 0.0 && error.is_finite()).then_some(difference)
    }

    /// Lower and upper bound of the ratio of the means of values that are never
    /// negative; `None` where the data do not bound it.
    pub(crate) fn ratio(&self, confidence: Confidence) -> (Option<f64>, Option<f64>) {
        let bounds = |one_sided: f64| {
            let confidence = 2.0 * one_sided - 1.0;
            let set = match self {
                TwoSamples::Paired(pairs) => paired(pairs, confidence)
                    .filter(|_| self.difference(Confidence { lower: 0.5, upper: 0.5 }).is_some()),
                TwoSamples::Apart(base, head) => unpaired(base, head, confidence),
            };
            set.map_or((None, None), |set| set.bounds())
        };
        (bounds(confidence.lower).0, bounds(confidence.upper).1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE_SIDED: Confidence = Confidence { lower: 0.95, upper: 0.95 };

    fn pairs() -> PairMoments {
        [(10.0, 11.0), (20.0, 22.5), (30.0, 32.0), (40.0, 44.0)].into_iter().collect()
    }

    #[test]
    fn pairs_are_worth_more_than_samples_apart() {
        let pairs = pairs();
        let together = TwoSamples::Paired(&pairs);
        let apart = TwoSamples::Apart(pairs.base(), pairs.head());
        assert_eq!(together.means(), apart.means());
        let width = |samples: &TwoSamples<'_>| {
            let difference = samples.difference(ONE_SIDED).unwrap();
            difference.upper - difference.lower
        };
        assert!(width(&together) < width(&apart) / 5.0);
        let (lower, upper) = together.ratio(ONE_SIDED);
        assert!(lower.unwrap() > 1.0 && upper.unwrap() < 1.2);
        let (lower, upper) = apart.ratio(ONE_SIDED);
        assert!(lower.unwrap() < 0.5 && upper.is_none_or(|upper| upper > 2.0));
    }

    #[test]
    fn the_difference_of_pairs_is_students() {
        // Differences 1, 2.5, 2, 4: mean 2.375, variance 1.5625; t(0.95, 3) = 2.353363.
        let pairs = pairs();
        let difference = TwoSamples::Paired(&pairs).difference(ONE_SIDED).unwrap();
        assert!((difference.estimate - 2.375).abs() < 1e-12);
        let radius = 2.353_363_434_801_8 * 0.625;
        assert!((difference.upper - difference.estimate - radius).abs() < 1e-9);
        assert!((difference.estimate - difference.lower - radius).abs() < 1e-9);
    }

    #[test]
    fn each_end_has_its_own_confidence() {
        let pairs = pairs();
        let samples = TwoSamples::Paired(&pairs);
        let both = samples.ratio(ONE_SIDED);
        let stricter = samples.ratio(Confidence { lower: 0.999, upper: 0.95 });
        assert!(stricter.0 < both.0);
        assert_eq!(stricter.1, both.1);
    }

    #[test]
    fn what_does_not_vary_has_no_interval() {
        let flat: PairMoments = [(2.0, 3.0); 5].into_iter().collect();
        for samples in [TwoSamples::Paired(&flat), TwoSamples::Apart(flat.base(), flat.head())] {
            assert_eq!(samples.difference(ONE_SIDED), None);
            assert_eq!(samples.ratio(ONE_SIDED), (None, None));
        }
    }
}
