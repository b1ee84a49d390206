//! The decision of a test, and what an estimator contributes to it.

use crate::model::Better;
use crate::stats::betting::BetGrowth;

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

impl Better {
    /// The change (head/base - 1) beyond which it is a regression, for a `threshold`
    /// above -1; `None` for others.
    pub(super) fn critical_change(self, threshold: f64) -> Option<f64> {
        (threshold > -1.0 && threshold.is_finite()).then(|| self.limit(threshold))
    }
}

/// One of the statements that make a verdict: either a single answer *above* decides, or
/// all answers *below*.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(in crate::stats) struct Prospect {
    pub(in crate::stats) signal: Signal,
    /// The level of the answer *above*.
    pub(in crate::stats) above: f64,
    /// The level of the answer *below*.
    pub(in crate::stats) below: f64,
    /// The fewest pairs with which the answer may be *below*.
    pub(in crate::stats) fewest: u64,
}

/// The result of the pairs for one candidate change.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(in crate::stats) enum Signal {
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
mod tests {
    use super::*;

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
