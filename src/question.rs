//! One metric of one benchmark, from its first pair to its verdict: what a
//! comparison that is running and an analysis of its samples have in common.

use crate::metric::{Better, Metric};
use crate::side::Side;
use crate::stats::estimator::{Direction, Estimator, Levels, Running, Summary};
use crate::stats::forecast::{Forecast, pairs_to_verdict};
use crate::stats::shape::Shape;
use crate::verdict::{MetricResult, Verdict};

/// With so many pairs and no verdict, no other estimator is asked any more, for
/// some of them keep all values.
const MOST_ALONGSIDE: u64 = 100_000;

/// A metric, the sums of its pairs, and the answer once there is one.
#[derive(Clone, Debug)]
pub struct Question {
    metric: Metric,
    threshold: Option<f64>,
    running: Running,
    shape: Shape,
    /// What was said when it was decided.
    decided: Option<MetricResult>,
    /// Other estimators, fed alongside, with the pairs that each needed for a
    /// verdict: the mean, which is always shown, and all of a metric that gates.
    others: Vec<(Running, Option<u64>)>,
}

impl Question {
    /// Without a threshold nothing is decided, only estimated.
    pub fn new(
        metric: Metric,
        threshold: Option<f64>,
        estimator: Estimator,
        levels: Levels,
    ) -> Self {
        let direction = match metric.better {
            Better::Lower => Direction::LowerIsBetter,
            Better::Higher => Direction::HigherIsBetter,
        };
        let estimator = self::estimator(&metric, estimator);
        let running = |estimator| Running::new(estimator, direction, levels);
        // `Min` is fed minima, of which the others would make something else.
        let comparable = |other: &Estimator| {
            (threshold.is_some() || *other == Estimator::Mean)
                && *other != estimator
                && ![estimator, *other].contains(&Estimator::Min)
        };
        let others = Estimator::ALL.into_iter().filter(comparable);
        let others = others.map(|estimator| (running(estimator), None)).collect();
        let running = running(estimator);
        Question { metric, threshold, running, shape: Shape::new(), decided: None, others }
    }

    /// What is measured.
    pub fn metric(&self) -> &Metric {
        &self.metric
    }

    /// The largest change that passes, where it gates.
    pub fn threshold(&self) -> Option<f64> {
        self.threshold
    }

    /// What is to be said of it: of one that is decided, what was said then.
    pub fn result(&self) -> MetricResult {
        self.decided.clone().unwrap_or_else(|| {
            let verdict = self.threshold.map(|_| Verdict::Inconclusive);
            let summary = match self.threshold {
                Some(threshold) => self.running.held_against(threshold),
                None => self.running.summary(),
            };
            let metric = self.metric.clone();
            MetricResult {
                mean: self.mean(),
                overruled: self.running.overruled(),
                ties: self.threshold.map_or(0, |threshold| self.running.ties(threshold)),
                ..MetricResult::new(metric, self.threshold, summary, verdict)
            }
        })
    }

    fn mean(&self) -> Option<Summary> {
        let mut all = self.others.iter().map(|(other, _)| other).chain([&self.running]);
        all.find(|running| running.estimator() == Estimator::Mean).map(Running::summary)
    }

    /// The result when sampling is over: with what is to be said of the noise,
    /// and of another estimator that would have needed less than half of the
    /// pairs.
    pub fn end(&self) -> MetricResult {
        let mut findings = self.threshold.map(|_| self.shape.findings()).unwrap_or_default();
        findings.retain(|finding| finding.matters_to(self.running.estimator()));
        let needed = |(other, pairs): &(Running, Option<u64>)| Some((other.estimator(), (*pairs)?));
        let least = self.others.iter().filter_map(needed).min_by_key(|&(_, pairs)| pairs);
        let earlier = least.filter(|&(_, pairs)| 2 * pairs < self.running.pairs());
        MetricResult { findings, earlier, ..self.result() }
    }

    /// The answer, once there is one.
    pub fn verdict(&self) -> Option<Verdict> {
        self.decided.as_ref().and_then(|result| result.verdict)
    }

    /// Whether it gates and has no answer yet.
    pub fn is_open(&self) -> bool {
        self.threshold.is_some() && self.decided.is_none()
    }

    /// Takes in a pair, of which `first` was measured first, unless the
    /// verdict is in: what is said of a metric is what decided it.
    pub fn push(&mut self, base: f64, head: f64, first: Side) {
        if self.decided.is_some() {
            return;
        }
        self.running.push(base, head);
        self.shape.push(base, head, first == Side::Base);
        self.push_alongside(base, head);
        let Some(threshold) = self.threshold else {
            return;
        };
        if let Some(decision) = self.running.decide(threshold) {
            let verdict = Some(Verdict::from(Some(decision)));
            self.decided = Some(MetricResult { verdict, ..self.result() });
        }
    }

    /// Feeds the other estimators; those that keep every value only so long.
    fn push_alongside(&mut self, base: f64, head: f64) {
        let pairs = self.running.pairs();
        let is_mean = |running: &Running| running.estimator() == Estimator::Mean;
        if pairs == MOST_ALONGSIDE {
            self.others.retain(|(other, needed)| is_mean(other) || needed.is_some());
        }
        // Near enough for a word about half of the pairs.
        let looks = pairs.is_multiple_of((pairs / 128).max(1));
        for (other, needed) in &mut self.others {
            if needed.is_none() || is_mean(other) {
                other.push(base, head);
            }
            if let (None, true, Some(threshold)) = (&needed, looks, self.threshold) {
                *needed = other.decide(threshold).map(|_| other.pairs());
            }
        }
    }

    /// How far from the threshold a change has to be, as a fraction, to be told
    /// from it within `pairs` pairs at this noise. `None` when that can't be
    /// said.
    pub fn reach(&self, pairs: u64) -> Option<f64> {
        let change = self.running.summary().change?;
        let within = |distance: f64| {
            let forecast = pairs_to_verdict(&self.running, change + distance);
            matches!(forecast, Forecast::Pairs(needed) if needed <= pairs)
        };
        let mut far = 0.001;
        while !within(far) {
            far *= 2.0;
            if far > 100.0 {
                return None;
            }
        }
        let mut near = far / 2.0;
        for _ in 0..10 {
            let middle = f64::midpoint(near, far);
            if within(middle) { far = middle } else { near = middle }
        }
        Some(far)
    }

    /// When the answer is to be expected; never without a threshold.
    pub fn forecast(&self) -> Forecast {
        self.threshold.map_or(Forecast::Never, |limit| pairs_to_verdict(&self.running, limit))
    }
}

/// The estimator of a metric where `asked` is the one for all. A guard against
/// slow tails waits for what a simulated count does not have: such a metric is
/// decided by its mean, in fewer pairs.
pub fn estimator(metric: &Metric, asked: Estimator) -> Estimator {
    match asked {
        Estimator::Robust if metric.is_simulated() => Estimator::Mean,
        asked => asked,
    }
}

/// The answer of a metric that has one exact value on each side and needs no
/// pair: the change and both its bounds are one number, and it is beyond the
/// threshold or it is not.
pub fn exact(metric: Metric, threshold: Option<f64>, base: f64, head: f64) -> MetricResult {
    let change = (head - base) / base;
    let change = if base == head { 0.0 } else { change };
    let summary = Summary {
        pairs: 0,
        base: Some(base),
        head: Some(head),
        // From nothing to something has no percentage, but a lower bound.
        change: Some(change).filter(|change| change.is_finite()),
        lower: Some(change),
        upper: Some(change).filter(|change| change.is_finite()),
    };
    let worse = match metric.better {
        Better::Lower => change,
        Better::Higher => (base - head) / head,
    };
    let verdict = threshold.map(|threshold| match worse > threshold + ROUNDING {
        true => Verdict::Regression,
        false => Verdict::NoRegression,
    });
    MetricResult::new(metric, threshold, summary, verdict)
}

/// How far beyond the threshold an exact change must be to count as beyond:
/// one that equals it is not to be decided by its last digit.
const ROUNDING: f64 = 1e-12;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metric::Unit;

    #[test]
    fn an_exact_answer_needs_no_pair_and_has_no_width() {
        let answer = |base, head| {
            exact(Metric::cost("executable_bytes", Unit::Bytes), Some(0.02), base, head)
        };
        let table = [
            (100.0, 103.0, Some(0.03), Verdict::Regression),
            // The threshold itself passes.
            (100.0, 102.0, Some(0.02), Verdict::NoRegression),
            (100.0, 100.0, Some(0.0), Verdict::NoRegression),
            (100.0, 50.0, Some(-0.5), Verdict::NoRegression),
            (0.0, 0.0, Some(0.0), Verdict::NoRegression),
            (0.0, 5.0, None, Verdict::Regression),
        ];
        for (base, head, change, verdict) in table {
            let result = answer(base, head);
            assert_eq!((result.summary.change, result.verdict), (change, Some(verdict)));
            assert_eq!(result.summary.pairs, 0);
            assert_eq!(result.summary.upper, change);
            if change.is_some() {
                assert_eq!(result.summary.lower, change);
            }
        }
        let shown = exact(Metric::cost("text_bytes", Unit::Bytes), None, 1.0, 2.0);
        assert_eq!((shown.threshold, shown.verdict), (None, None));
    }
}
