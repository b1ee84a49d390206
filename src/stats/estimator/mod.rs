//! Ways of estimating a change, and the words around them.
//!
//! Each estimator has a file: its sums, its estimate, its bounds, its citation.
//! [`Running`] is what the outside uses.

mod geometric;
#[cfg(test)]
mod long;
mod mean;
mod median;
mod robust;
mod running;
#[cfg(test)]
mod tests;

pub use robust::TAIL;
pub use running::Running;

use robust::Robust;

use crate::model::estimator::Estimator;
use crate::model::metric::Better;
use crate::model::outcome::Summary;

use super::sequential::{least_pairs, least_signs};

impl Estimator {
    /// The least number of pairs with which a verdict of either kind is possible;
    /// none when the levels allow none at all.
    pub fn least_pairs(self, levels: Levels) -> Option<u64> {
        let least = match self {
            Estimator::Robust => return Robust::least_pairs(levels.alarm, levels.clear),
            Estimator::Median => least_signs,
            Estimator::Mean | Estimator::GeometricMean | Estimator::Min => least_pairs,
        };
        [levels.alarm, levels.clear].into_iter().filter_map(least).min()
    }
}

impl Better {
    /// The change (head/base - 1) beyond which it is a regression, for a
    /// `threshold` above -1; none for others.
    pub(super) fn critical_change(self, threshold: f64) -> Option<f64> {
        let change = self.limit(threshold);
        (threshold > -1.0 && change.is_finite()).then_some(change)
    }

    /// Whether the bounds say that the change does not go beyond `threshold`.
    fn is_within(self, summary: &Summary, threshold: f64) -> bool {
        let Some(critical) = self.critical_change(threshold) else { return false };
        match self {
            Better::Lower => summary.upper.is_some_and(|end| end <= critical + ROUNDING),
            Better::Higher => summary.lower.is_some_and(|end| end >= critical - ROUNDING),
        }
    }
}

/// The chances of a wrong verdict, one for each kind.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Levels {
    /// The chance of *regression* where there is none, 0 to 0.5.
    pub alarm: f64,
    /// The chance of *no regression* where there is one, 0 to 0.5.
    pub clear: f64,
}

impl Levels {
    /// The levels of a question that is one of `questions` (0 counts as 1), at a
    /// `confidence` between 0.5 and 1. Outside of that nothing is ever decided.
    ///
    /// Only the alarms share the budget (Bonferroni): one false alarm fails the
    /// whole, while an all-clear needs every single one.
    pub fn new(confidence: f64, questions: usize) -> Self {
        let wrong = 1.0 - confidence;
        Levels { alarm: wrong / questions.max(1) as f64, clear: wrong }
    }
}

/// An answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Decision {
    /// The change is below the threshold.
    NoRegression,
    /// The change is above the threshold.
    Regression,
}

/// How far beyond the threshold a bound must be to count as beyond: a change that
/// equals it exactly, as counters may have, is not to be decided by the last digit.
pub const ROUNDING: f64 = 1e-12;

/// The values above a candidate, or those below it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Tail {
    Above,
    Below,
}

/// One of the questions a verdict is made of: a single answer *above* makes the
/// verdict, or all answers *below*.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Prospect {
    /// What the pairs say.
    pub(super) signal: Signal,
    /// The level at which it is found to be above.
    pub(super) above: f64,
    /// The level at which it is found to be below.
    pub(super) below: f64,
    /// The fewest pairs with which it may be found to be below.
    pub(super) fewest: u64,
}

/// What the pairs say of one candidate change: what a forecast goes on from.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Signal {
    /// The mean of the differences.
    Share {
        /// Whether it is positive: the change is above the candidate.
        above: bool,
        /// The share of the mean in the mean square, 0 to 1.
        share: f64,
    },
    /// The signs of the differences.
    Signs {
        /// How many are positive.
        above: u64,
        /// How many are negative.
        below: u64,
    },
    /// Both, of which the evidence is averaged.
    Both {
        /// Whether the mean of the differences is positive.
        higher: bool,
        /// The share of the mean in the mean square, 0 to 1.
        share: f64,
        /// How many differences are positive.
        above: u64,
        /// How many are negative.
        below: u64,
    },
}

#[cfg(test)]
mod words {
    use super::*;

    #[test]
    fn only_alarms_share_the_budget() {
        let levels = Levels::new(0.95, 5);
        assert!((levels.alarm - 0.01).abs() < 1e-15);
        assert!((levels.clear - 0.05).abs() < 1e-15);
        assert_eq!(Levels::new(0.9, 0), Levels::new(0.9, 1));
    }

    #[test]
    fn the_least_pairs_are_those_of_the_easier_verdict() {
        for questions in [1, 20] {
            let levels = Levels::new(0.95, questions);
            assert_eq!(Estimator::Mean.least_pairs(levels), Some(8));
            assert_eq!(Estimator::Median.least_pairs(levels), Some(6));
            assert!(Estimator::Robust.least_pairs(levels).is_some_and(|n| n <= 14));
        }
        assert_eq!(Estimator::Mean.least_pairs(Levels::new(0.3, 1)), None);
        assert_eq!(Estimator::Median.least_pairs(Levels::new(1.0, 1)), None);
    }

    #[test]
    fn where_higher_is_better_the_critical_change_is_the_reciprocals() {
        let critical = Better::Higher.critical_change(0.25).unwrap();
        assert!((critical - (1.0 / 1.25 - 1.0)).abs() < 1e-15);
        for direction in [Better::Lower, Better::Higher] {
            for outside in [-1.0, -2.0, f64::INFINITY, f64::NAN] {
                assert_eq!(direction.critical_change(outside), None, "{outside}");
            }
        }
    }
}
