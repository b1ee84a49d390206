//! The running sums of one metric of one benchmark, and their evaluation.

use super::decision::{Decision, Prospect, ROUNDING};
use super::geometric::RatioOfGeometricMeans;
use super::levels::Levels;
use super::mean::RatioOfMeans;
use super::median::MedianOfRatios;
use super::robust::Robust;
use crate::model::{Better, Estimator, Summary};
use crate::stats::first;

/// Adds pairs, and estimates the change after each of them, and whether there is a
/// verdict.
#[derive(Clone, Debug)]
pub struct Running {
    estimator: Estimator,
    direction: Better,
    levels: Levels,
    pairs: u64,
    sums: EstimatorSums,
}

#[derive(Clone, Debug)]
enum EstimatorSums {
    Robust(Robust),
    Mean(RatioOfMeans),
    Geometric(RatioOfGeometricMeans),
    Median(MedianOfRatios),
    /// There was a value outside of the estimator's domain.
    Undefined,
}

/// Calls the same method on whichever sums there are.
macro_rules! of_sums {
    ($sums:expr, $method:ident($($argument:expr),*)) => {
        match $sums {
            EstimatorSums::Robust(sums) => sums.$method($($argument),*),
            EstimatorSums::Mean(sums) => sums.$method($($argument),*),
            EstimatorSums::Geometric(sums) => sums.$method($($argument),*),
            EstimatorSums::Median(sums) => sums.$method($($argument),*),
            EstimatorSums::Undefined => None,
        }
    };
}

impl Running {
    /// Starts with no pair.
    pub fn new(estimator: Estimator, direction: Better, levels: Levels) -> Self {
        let sums = match estimator {
            Estimator::Robust => EstimatorSums::Robust(Robust::new(direction, levels.alarm)),
            Estimator::Mean | Estimator::Min => EstimatorSums::Mean(RatioOfMeans::default()),
            Estimator::GeometricMean => EstimatorSums::Geometric(RatioOfGeometricMeans::default()),
            Estimator::Median => EstimatorSums::Median(MedianOfRatios::default()),
        };
        Running { estimator, direction, levels, pairs: 0, sums }
    }

    /// Makes decisions about `threshold` fast and exact. Call it before the first pair. Those of
    /// `robust` about any other threshold take as long as all pairs together, and from 512 pairs
    /// on are based on merged neighbours: as reliable, but perhaps a little later.
    pub fn track(&mut self, threshold: f64) {
        if let EstimatorSums::Robust(sums) = &mut self.sums
            && self.direction.critical_change(threshold).is_some()
        {
            sums.track(threshold, self.levels);
        }
    }

    /// Raises the level of an alarm, if other tests of the same comparison pass on some of
    /// theirs. The pairs so far count.
    pub fn relax(&mut self, levels: Levels) {
        debug_assert!(levels.alarm >= self.levels.alarm && levels.clear == self.levels.clear);
        self.levels = levels;
        if let EstimatorSums::Robust(sums) = &mut self.sums {
            sums.relax(levels);
        }
    }

    /// Among how many tests that share the error at this confidence the pairs so far are an alarm:
    /// at most as many as there are, and 0 if they are none even alone.
    pub fn alarm_among(&self, threshold: f64, confidence: f64) -> usize {
        let is_none = |tests: u64| {
            let mut running = self.clone();
            running.relax(Levels::new(confidence, tests as usize));
            running.decide(threshold) != Some(Decision::Regression)
        };
        first(1..self.levels.tests() as u64 + 1, is_none) as usize - 1
    }

    /// The evidence that the change is beyond `threshold`, for an average over several tests: a
    /// number with a mean of at most 1 if it is not, whatever was looked at before. 0 where the
    /// estimator has none.
    pub fn evidence(&self, threshold: f64) -> f64 {
        match (&self.sums, self.direction.critical_change(threshold)) {
            (EstimatorSums::Robust(sums), Some(_)) => sums.evidence(threshold, self.levels),
            _ => 0.0,
        }
    }

    /// Adds a pair, in the unit of the metric. Everything is undefined from the first
    /// value on that is negative or not finite, or zero if the estimator is a geometric
    /// mean.
    pub fn push(&mut self, base: f64, head: f64) {
        self.pairs += 1;
        let fits = match self.estimator {
            Estimator::GeometricMean => |value: f64| value > 0.0 && value.is_finite(),
            _ => |value: f64| value >= 0.0 && value.is_finite(),
        };
        if !(fits(base) && fits(head)) {
            self.sums = EstimatorSums::Undefined;
        }
        match &mut self.sums {
            EstimatorSums::Robust(sums) => sums.push(base, head),
            EstimatorSums::Mean(sums) => sums.push(base, head),
            EstimatorSums::Geometric(sums) => sums.push(base, head),
            EstimatorSums::Median(sums) => sums.push(base, head),
            EstimatorSums::Undefined => {}
        }
    }

    pub(crate) fn levels(&self) -> Levels {
        self.levels
    }

    pub(crate) fn pairs(&self) -> u64 {
        self.pairs
    }

    pub(crate) fn estimator(&self) -> Estimator {
        self.estimator
    }

    /// The estimate and its bounds.
    pub fn summary(&self) -> Summary {
        let lower = of_sums!(&self.sums, lower(self.level(Better::Lower)));
        let upper = of_sums!(&self.sums, upper(self.level(Better::Higher)));
        self.bounded(of_sums!(&self.sums, change()), lower, upper)
    }

    /// The estimate and its bounds for a comparison with `threshold`: like
    /// [`Running::summary`], but consistent with the verdict. Before a slow tail would have
    /// shown itself, no bound implies *no regression*, and a bound next to the threshold,
    /// which is only approximate, is on the side of the decision. An alarm of a slow tail has
    /// the estimates of the mean; without an alarm, they are those of the typical run.
    pub fn held_against(&self, threshold: f64) -> Summary {
        let (EstimatorSums::Robust(sums), Some(_)) =
            (&self.sums, self.direction.critical_change(threshold))
        else {
            return self.summary();
        };
        let (lower, upper) = sums.held_against(threshold, self.levels);
        match (sums.overruled(), sums.decide(threshold, self.levels)) {
            (Some(_), Some(Decision::Regression)) => {
                let pairs = self.pairs;
                let of_mean = |end: Option<f64>| end.map(|end| sums.of_mean(end));
                let (base, head) = sums.means();
                let [change, lower, upper] = [sums.change(), lower, upper].map(of_mean);
                summary(Summary { pairs, base, head, change, lower, upper })
            }
            (typical, _) => self.bounded(typical.or(sums.change()), lower, upper),
        }
    }

    fn bounded(&self, change: Option<f64>, lower: Option<f64>, upper: Option<f64>) -> Summary {
        let base = of_sums!(&self.sums, base());
        let head = of_sums!(&self.sums, head());
        summary(Summary { pairs: self.pairs, base, head, change, lower, upper })
    }

    /// How far from the threshold a change has to be, as a fraction, for a verdict
    /// within `pairs` pairs at this noise: half the width of the interval by then, which
    /// shrinks with the square root of the pairs (actually a little slower, by a
    /// logarithm). `None` if unknown.
    pub(crate) fn reach(&self, pairs: f64) -> Option<f64> {
        let Summary { pairs: so_far, lower, upper, .. } = self.summary();
        let half = 0.5 * (upper? - lower?);
        let shrunk = half * (so_far as f64 / pairs.max(1.0)).sqrt();
        (shrunk > 0.0 && shrunk.is_finite()).then_some(shrunk)
    }

    /// The change of the typical run, if the estimate is that of a slow tail.
    pub(crate) fn overruled(&self) -> Option<f64> {
        let EstimatorSums::Robust(sums) = &self.sums else { return None };
        sums.overruled()
    }

    /// Whether the change is beyond `threshold`, if the pairs decide it. The threshold
    /// is a fraction above -1; if higher is better, base/head - 1 is compared with it.
    /// The answer is consistent with the bounds of [`Running::held_against`]: a
    /// regression if all of the interval is beyond, none if nothing of it is.
    pub fn decide(&self, threshold: f64) -> Option<Decision> {
        let critical = self.direction.critical_change(threshold)?;
        if let EstimatorSums::Robust(sums) = &self.sums {
            return sums.decide(threshold, self.levels);
        }
        // How far the bounds are beyond it.
        let Summary { lower, upper, .. } = self.summary();
        let (least, most) = match self.direction {
            Better::Lower => (lower.map(|end| end - critical), upper.map(|end| end - critical)),
            Better::Higher => (upper.map(|end| critical - end), lower.map(|end| critical - end)),
        };
        if least.is_some_and(|least| least > ROUNDING) {
            return Some(Decision::Regression);
        }
        most.filter(|most| *most <= ROUNDING).map(|_| Decision::NoRegression)
    }

    /// Whether the estimate is beyond `threshold`, regardless of its bounds.
    pub(crate) fn exceeds(&self, threshold: f64) -> bool {
        let change = of_sums!(&self.sums, change()).filter(|change| change.is_finite());
        match (change, self.direction.critical_change(threshold), self.direction) {
            (Some(change), Some(critical), Better::Lower) => change > critical,
            (Some(change), Some(critical), Better::Higher) => change < critical,
            _ => false,
        }
    }

    /// How far the estimate is beyond `threshold`, as a fraction of its distance from the
    /// bound that has to pass it for a regression: 1 if that just does, negative if the
    /// estimate is not beyond. `None` while there is no estimate.
    pub fn share_beyond(&self, threshold: f64) -> Option<f64> {
        if let EstimatorSums::Robust(sums) = &self.sums {
            self.direction.critical_change(threshold)?;
            return sums.share_beyond(threshold, self.levels);
        }
        let Summary { change, lower, upper, .. } = self.summary();
        let (change, critical) = (change?, self.direction.critical_change(threshold)?);
        let share = match self.direction {
            Better::Higher => (critical - change) / (upper.unwrap_or(f64::INFINITY) - change),
            _ => (change - critical) / (change - lower.unwrap_or(f64::NEG_INFINITY)),
        };
        Some(share).filter(|share| share.is_finite())
    }

    /// The number of pairs whose change equals the threshold, so that an estimator
    /// based on signs counts them for neither side. 0 for other estimators.
    pub(crate) fn ties(&self, threshold: f64) -> u64 {
        let Some(critical) = self.direction.critical_change(threshold) else { return 0 };
        let (above, below) = match &self.sums {
            EstimatorSums::Robust(sums) => sums.signs(critical),
            EstimatorSums::Median(sums) => sums.signs(critical),
            EstimatorSums::Mean(_) | EstimatorSums::Geometric(_) | EstimatorSums::Undefined => {
                return 0;
            }
        };
        self.pairs - above - below
    }

    /// What determines the verdict about `threshold`. `None` if the
    /// pairs show nothing about one of them.
    pub(in crate::stats) fn prospects(&self, threshold: f64) -> Option<Vec<Prospect>> {
        let critical = self.direction.critical_change(threshold)?;
        let signal = match &self.sums {
            EstimatorSums::Robust(sums) => {
                return sums.prospects(threshold, self.levels).into_iter().collect();
            }
            EstimatorSums::Mean(sums) => sums.signal(critical)?,
            EstimatorSums::Geometric(sums) => sums.signal(critical)?,
            EstimatorSums::Median(sums) => sums.signal(critical)?,
            EstimatorSums::Undefined => return None,
        };
        let (above, below) = (self.level(Better::Lower), self.level(Better::Higher));
        Some(vec![Prospect { signal, above, below, fewest: 0 }])
    }

    /// The level of the statement that the change is above a candidate, which is an alarm if lower is
    /// better, or below it, if higher is.
    fn level(&self, of_alarm_if: Better) -> f64 {
        if self.direction == of_alarm_if { self.levels.alarm } else { self.levels.clear }
    }
}

/// What is known for certain: without NaN, with the estimate between its bounds, which rounding
/// could put it outside of, and with the head that the change makes of the base.
fn summary(known: Summary) -> Summary {
    let finite = |value: &f64| value.is_finite();
    let change = known.change.filter(finite);
    let base = known.base.filter(finite);
    let within =
        |end: f64, other: fn(f64, f64) -> f64| change.map_or(end, |change| other(end, change));
    Summary {
        pairs: known.pairs,
        base,
        head: base
            .zip(change)
            .map(|(base, change)| base * (1.0 + change))
            .or(known.head)
            .filter(finite),
        change,
        lower: known.lower.filter(|end| !end.is_nan()).map(|end| within(end, f64::min)),
        upper: known.upper.filter(finite).map(|end| within(end, f64::max)),
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
