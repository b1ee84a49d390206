//! The running sums of one metric of one benchmark, and what they say.

use super::geometric::Geometric;
use super::mean::Mean;
use super::median::Median;
use super::robust::Robust;
use super::{Better, Decision, Estimator, Levels, Prospect, ROUNDING};
use crate::model::outcome::Summary;

/// Takes in pairs and says after each how large the change is and whether the
/// question is decided.
#[derive(Clone, Debug)]
pub struct Running {
    estimator: Estimator,
    direction: Better,
    levels: Levels,
    pairs: u64,
    sums: Sums,
}

#[derive(Clone, Debug)]
enum Sums {
    Robust(Robust),
    Mean(Mean),
    Geometric(Geometric),
    Median(Median),
    /// A value outside of the estimator's domain was seen: nothing can be said.
    Undefined,
}

/// Calls the same method of whichever sums there are.
macro_rules! ask {
    ($sums:expr, $method:ident($($argument:expr),*)) => {
        match $sums {
            Sums::Robust(sums) => sums.$method($($argument),*),
            Sums::Mean(sums) => sums.$method($($argument),*),
            Sums::Geometric(sums) => sums.$method($($argument),*),
            Sums::Median(sums) => sums.$method($($argument),*),
            Sums::Undefined => None,
        }
    };
}

impl Running {
    /// Starts with no pair.
    pub fn new(estimator: Estimator, direction: Better, levels: Levels) -> Self {
        let sums = match estimator {
            Estimator::Robust => Sums::Robust(Robust::new(direction, levels.alarm)),
            Estimator::Mean | Estimator::Min => Sums::Mean(Mean::default()),
            Estimator::GeometricMean => Sums::Geometric(Geometric::default()),
            Estimator::Median => Sums::Median(Median::default()),
        };
        Running { estimator, direction, levels, pairs: 0, sums }
    }

    /// Keeps what is decided about `threshold` exact, however many pairs there will be:
    /// to be called before the first. About other thresholds more than 131,072 pairs
    /// may be a little slower to decide, and never say anything else, where the
    /// estimator goes by ranks.
    pub fn watch(&mut self, threshold: f64) {
        match (&mut self.sums, self.direction.critical_change(threshold)) {
            (Sums::Robust(sums), Some(_)) => sums.watch(threshold),
            (Sums::Median(sums), Some(critical)) => sums.watch(critical),
            _ => {}
        }
    }

    /// The same, with so much room for values that are kept as they are.
    #[cfg(test)]
    pub(super) fn in_room(mut self, most: usize) -> Self {
        match &mut self.sums {
            Sums::Robust(sums) => sums.give_room(most),
            Sums::Median(sums) => sums.give_room(most),
            _ => {}
        }
        self
    }

    /// Takes in one more pair, in the metric's unit. A value that is not finite, or
    /// negative, or not positive where a geometric mean is asked for, leaves
    /// everything undefined from here on.
    pub fn push(&mut self, base: f64, head: f64) {
        self.pairs += 1;
        let fits = match self.estimator {
            Estimator::GeometricMean => |value: f64| value > 0.0 && value.is_finite(),
            _ => |value: f64| value >= 0.0 && value.is_finite(),
        };
        if !(fits(base) && fits(head)) {
            self.sums = Sums::Undefined;
        }
        match &mut self.sums {
            Sums::Robust(sums) => sums.push(base, head),
            Sums::Mean(sums) => sums.push(base, head),
            Sums::Geometric(sums) => sums.push(base, head),
            Sums::Median(sums) => sums.push(base, head),
            Sums::Undefined => {}
        }
    }

    /// How many pairs there were.
    pub fn pairs(&self) -> u64 {
        self.pairs
    }

    /// How the change is estimated.
    pub fn estimator(&self) -> Estimator {
        self.estimator
    }

    /// What the pairs so far say.
    pub fn summary(&self) -> Summary {
        let finite = |value: &f64| value.is_finite();
        let change = ask!(&self.sums, change()).filter(finite);
        let lower = ask!(&self.sums, lower(self.lower_level())).filter(|end| !end.is_nan());
        let upper = ask!(&self.sums, upper(self.upper_level())).filter(finite);
        // The last digit of an end must not put the estimate outside.
        let within =
            |end: f64, other: fn(f64, f64) -> f64| change.map_or(end, |change| other(end, change));
        Summary {
            pairs: self.pairs,
            base: ask!(&self.sums, base()).filter(finite),
            head: ask!(&self.sums, head()).filter(finite),
            change,
            lower: lower.map(|end| within(end, f64::min)),
            upper: upper.map(|end| within(end, f64::max)),
        }
    }

    /// What the pairs so far say where a change is held against `threshold`: as
    /// [`Running::summary`], but without the bound that alone would say *no
    /// regression* before a slow tail would have shown itself.
    pub fn held_against(&self, threshold: f64) -> Summary {
        let summary = self.summary();
        let unseen = matches!(&self.sums, Sums::Robust(sums) if !sums.has_seen(self.levels.clear));
        let within = unseen && self.direction.is_within(&summary, threshold);
        match self.direction {
            _ if !within => summary,
            Better::Lower => Summary { upper: None, ..summary },
            Better::Higher => Summary { lower: None, ..summary },
        }
    }

    /// The change of the typical run, where the estimate is that of a slow tail.
    pub fn overruled(&self) -> Option<f64> {
        let Sums::Robust(sums) = &self.sums else { return None };
        sums.overruled()
    }

    /// The answer to "is the change beyond `threshold`?" (a fraction above -1; where
    /// higher is better, base/head - 1 is compared with it), if the pairs so
    /// far decide it. It is what the bounds of [`Running::held_against`] say: all of the
    /// interval beyond is a regression, none of it is none.
    pub fn decide(&self, threshold: f64) -> Option<Decision> {
        let critical = self.direction.critical_change(threshold)?;
        if let Sums::Robust(sums) = &self.sums {
            return sums.decide(threshold, self.levels.alarm, self.levels.clear);
        }
        let summary = self.summary();
        let beyond = match self.direction {
            Better::Lower => summary.lower.is_some_and(|end| end > critical + ROUNDING),
            Better::Higher => summary.upper.is_some_and(|end| end < critical - ROUNDING),
        };
        let within = self.direction.is_within(&summary, threshold);
        match (beyond, within) {
            (true, _) => Some(Decision::Regression),
            (false, true) => Some(Decision::NoRegression),
            (false, false) => None,
        }
    }

    /// Whether the estimate, whatever its bounds, is beyond `threshold`.
    pub fn exceeds(&self, threshold: f64) -> bool {
        let change = self.summary().change;
        match (change, self.direction.critical_change(threshold), self.direction) {
            (Some(change), Some(critical), Better::Lower) => change > critical,
            (Some(change), Some(critical), Better::Higher) => change < critical,
            _ => false,
        }
    }

    /// How many pairs have exactly the threshold's change, where the estimator goes
    /// by signs: they count for neither side. 0 for the other estimators.
    pub fn ties(&self, threshold: f64) -> u64 {
        let Some(critical) = self.direction.critical_change(threshold) else { return 0 };
        let (above, below) = match &self.sums {
            Sums::Robust(sums) => sums.signs(critical),
            Sums::Median(sums) => sums.signs(critical),
            Sums::Mean(_) | Sums::Geometric(_) | Sums::Undefined => return 0,
        };
        self.pairs - above - below
    }

    /// The questions that make the verdict about `threshold`. None where the
    /// pairs say nothing of one of them.
    pub(in crate::stats) fn prospects(&self, threshold: f64) -> Option<Vec<Prospect>> {
        let critical = self.direction.critical_change(threshold)?;
        let Levels { alarm, clear } = self.levels;
        let signal = match &self.sums {
            Sums::Robust(sums) => {
                return sums.prospects(threshold, alarm, clear).into_iter().collect();
            }
            Sums::Mean(sums) => sums.signal(critical)?,
            Sums::Geometric(sums) => sums.signal(critical)?,
            Sums::Median(sums) => sums.signal(critical)?,
            Sums::Undefined => return None,
        };
        let (above, below) = (self.lower_level(), self.upper_level());
        Some(vec![Prospect { signal, above, below, fewest: 0 }])
    }

    /// The level at which a change above a candidate is found.
    fn lower_level(&self) -> f64 {
        match self.direction {
            Better::Lower => self.levels.alarm,
            Better::Higher => self.levels.clear,
        }
    }

    /// The level at which a change below a candidate is found.
    fn upper_level(&self) -> f64 {
        match self.direction {
            Better::Lower => self.levels.clear,
            Better::Higher => self.levels.alarm,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_equals_the_threshold_does_not_exceed_it() {
        for (direction, pair) in [(Better::Lower, (4.0, 5.0)), (Better::Higher, (5.0, 4.0))] {
            for estimator in Estimator::ALL {
                let mut running = Running::new(estimator, direction, Levels::new(0.95, 1));
                assert_eq!(running.estimator(), estimator);
                assert!(!running.exceeds(0.0), "nothing is known yet");
                running.push(pair.0, pair.1);
                // A logarithm leaves the last digit open.
                let itself = estimator != Estimator::GeometricMean && running.exceeds(0.25);
                assert!(running.exceeds(0.2) && !itself && !running.exceeds(0.3), "{estimator}");
                assert!(!running.exceeds(-1.0) && running.overruled().is_none());
            }
        }
    }
}
