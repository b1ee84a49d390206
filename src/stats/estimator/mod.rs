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

use std::fmt;
use std::str::FromStr;

pub use robust::TAIL;
pub use running::{Running, Summary};

use robust::Robust;

use crate::metric::Better;

use super::sequential::{least_pairs, least_signs};

/// How the change is estimated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Estimator {
    /// The typical change (by the evidence of signs and mean together), guarded by
    /// the mean's change over [`TAIL`]: quick where single runs are far off, and
    /// not blind to them.
    #[default]
    Robust,
    /// The ratio of the means: what the bill is made of.
    Mean,
    /// The ratio of the geometric means: for noise that multiplies.
    GeometricMean,
    /// The median of the ratios: free of assumptions, blind to a slow tail.
    Median,
    /// The ratio of the means of minima. Each value pushed is the minimum of several
    /// runs, taken by the caller, on the ground that noise only ever delays (Chen
    /// and Revels 2016, *Robust benchmarking in noisy environments*).
    Min,
}

impl Estimator {
    /// All of them, the default first.
    pub const ALL: [Estimator; 5] = [
        Estimator::Robust,
        Estimator::Mean,
        Estimator::GeometricMean,
        Estimator::Median,
        Estimator::Min,
    ];

    /// Its name in options and outputs.
    pub fn name(self) -> &'static str {
        match self {
            Estimator::Robust => "robust",
            Estimator::Mean => "mean",
            Estimator::GeometricMean => "geometric-mean",
            Estimator::Median => "median",
            Estimator::Min => "min",
        }
    }

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

impl fmt::Display for Estimator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Estimator {
    type Err = UnknownEstimator;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        let found = Estimator::ALL.into_iter().find(|estimator| estimator.name() == name);
        found.ok_or_else(|| UnknownEstimator(name.to_owned()))
    }
}

/// A name that is no estimator's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownEstimator(String);

impl fmt::Display for UnknownEstimator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = Estimator::ALL.map(|estimator| format!("`{estimator}`")).join(", ");
        write!(f, "unknown estimator `{}`, expected one of {names}", self.0)
    }
}

impl std::error::Error for UnknownEstimator {}

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
    fn names_go_both_ways() {
        for estimator in Estimator::ALL {
            assert_eq!(estimator.to_string().parse(), Ok(estimator));
        }
        assert_eq!(Estimator::default(), Estimator::ALL[0]);
        let error = "mode".parse::<Estimator>().unwrap_err().to_string();
        let expected = "unknown estimator `mode`, expected one of `robust`, `mean`, \
                        `geometric-mean`, `median`, `min`";
        assert_eq!(error, expected);
    }

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
