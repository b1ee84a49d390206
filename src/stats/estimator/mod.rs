//! The ways to estimate a change.
//!
//! Each estimator has a file with its sums, its estimate, its bounds and its
//! references. Other modules use [`Running`].

mod geometric;
mod mean;
mod median;
mod robust;
mod running;
#[cfg(test)]
mod tests;

pub use robust::TAIL;
pub use running::Running;

use robust::Robust;

use crate::model::{Better, Estimator};

use super::betting::BetGrowth;
use super::sequential::{least_pairs, least_signs};

impl Estimator {
    /// The least number of pairs with which a verdict of either kind is possible;
    /// `None` if the levels allow none.
    pub fn least_pairs(self, levels: Levels) -> Option<u64> {
        let least = match self {
            Estimator::Robust => return Robust::least_pairs(levels),
            Estimator::Median => least_signs,
            Estimator::Mean | Estimator::GeometricMean | Estimator::Min => least_pairs,
        };
        [levels.alarm, levels.clear].into_iter().filter_map(least).min()
    }

    /// The least number of pairs with which an all-clear is possible; `None` if the level of an
    /// error allows none.
    pub(crate) fn least_pairs_to_pass(self, clear: f64) -> Option<u64> {
        match self {
            Estimator::Robust => Robust::least_pairs_to_pass(clear),
            Estimator::Median => least_signs(clear),
            Estimator::Mean | Estimator::GeometricMean | Estimator::Min => least_pairs(clear),
        }
    }
}

impl Better {
    /// The change (head/base - 1) beyond which it is a regression, for a `threshold`
    /// above -1; `None` for others.
    pub(super) fn critical_change(self, threshold: f64) -> Option<f64> {
        (threshold > -1.0 && threshold.is_finite()).then(|| self.limit(threshold))
    }
}

/// The part of the probability of a false alarm that is reserved for the longer runs of what
/// has passed.
pub(crate) const RESERVED: f64 = 0.01;

/// The probabilities of a wrong verdict of each kind.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Levels {
    /// The probability of *regression* if there is none, 0 to 0.5.
    pub(crate) alarm: f64,
    /// The probability of *no regression* if there is one, 0 to 0.5.
    pub(crate) clear: f64,
}

impl Levels {
    /// The levels of each of this many `tests` (0 counts as 1), at a
    /// `confidence` between 0.5 and 1. Outside of that, nothing is ever decided.
    ///
    /// Only the alarms share the level (Bonferroni): one false alarm makes the whole
    /// comparison wrong, while its all-clear needs those of all tests. They share it with
    /// the alarms of longer runs.
    pub fn new(confidence: f64, tests: usize) -> Self {
        let wrong = 1.0 - confidence;
        Levels { alarm: (1.0 - RESERVED) * wrong / tests.max(1) as f64, clear: wrong }
    }

    /// The levels where there are no longer runs.
    #[must_use]
    pub fn whole(self) -> Self {
        Levels { alarm: self.alarm / (1.0 - RESERVED), ..self }
    }

    /// How many tests share the level of an alarm.
    pub(crate) fn tests(&self) -> usize {
        ((1.0 - RESERVED) * self.clear / self.alarm).round() as usize
    }
}

/// The answer to whether the change is beyond the threshold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Decision {
    /// It is not.
    NoRegression,
    /// It is.
    Regression,
}

/// How far beyond the threshold a bound has to be. Rounding must not decide about a
/// change that equals the threshold exactly, as with counters.
pub(crate) const ROUNDING: f64 = 1e-12;

/// One of the statements that make a verdict: either a single answer *above* decides, or
/// all answers *below*.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Prospect {
    pub(super) signal: Signal,
    /// The level of the answer *above*.
    pub(super) above: f64,
    /// The level of the answer *below*.
    pub(super) below: f64,
    /// The fewest pairs with which the answer may be *below*.
    pub(super) fewest: u64,
}

/// The result of the pairs for one candidate change.
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
    Signs { above: u64, below: u64 },
    /// The wagers about the candidate.
    Bets {
        /// Whether the change is estimated above the candidate.
        higher: bool,
        /// Those on a change above it.
        above: BetGrowth,
        /// Those on a change below it.
        below: BetGrowth,
    },
}

#[cfg(test)]
mod level_tests {
    use super::*;

    #[test]
    fn only_alarms_share_the_level() {
        let levels = Levels::new(0.95, 5);
        assert!((levels.alarm - (1.0 - RESERVED) * 0.01).abs() < 1e-15);
        assert!((levels.clear - 0.05).abs() < 1e-15);
        assert_eq!(Levels::new(0.9, 0), Levels::new(0.9, 1));
        assert!((1..400).all(|number| Levels::new(0.95, number).tests() == number));
    }

    #[test]
    fn the_least_pairs_are_those_of_the_easier_verdict() {
        for tests in [1, 20] {
            let levels = Levels::new(0.95, tests);
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
