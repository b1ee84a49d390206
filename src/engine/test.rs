//! One metric of one benchmark, from its first pair to its verdict: what a
//! comparison that is running and an analysis of its samples have in common.

use crate::model::estimator::Estimator;
use crate::model::gate::Gate;
use crate::model::metric::{Better, Metric};
use crate::model::outcome::{MetricResult, Summary, Verdict};
use crate::model::side::Side;
use crate::stats::estimator::{Decision, Levels, ROUNDING, Running};
use crate::stats::forecast::{Forecast, pairs_to_verdict};
use crate::stats::shape::NoiseShape;

/// With so many pairs and no verdict, no other estimator is asked any more: together
/// they cost several times as much as the one that decides.
const MOST_ALONGSIDE: u64 = 100_000;

/// Of fewer pairs nobody has to save half.
const WORTH_A_WORD: u64 = 30;

/// A warning is given up after so many times the pairs of the verdict.
const PATIENCE: u64 = 4;

/// What is known of a warning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Warning {
    /// There is nothing to warn of, or no verdict yet.
    No,
    /// The verdict came after so many pairs, and the estimate was beyond the
    /// warning level.
    Open(u64),
    /// The change is beyond the warning level.
    Given,
    /// It is not, or that can't be told.
    Withdrawn,
}

/// A metric, the sums of its pairs, and the answer once there is one.
#[derive(Clone, Debug)]
pub struct MetricTest {
    metric: Metric,
    gate: Option<Gate>,
    running: Running,
    shape: NoiseShape,
    /// The answer. Unless a warning is open, no pair is taken in after it.
    decided: Option<Verdict>,
    warning: Warning,
    /// Other estimators, fed alongside, with the pairs that each needed for a
    /// verdict: the mean, which is always shown, and all of a metric that gates.
    others: Vec<(Running, Option<u64>)>,
}

impl MetricTest {
    /// Without a gate nothing is decided, only estimated.
    pub fn new(metric: Metric, gate: Option<&Gate>, estimator: Estimator, levels: Levels) -> Self {
        let direction = metric.better;
        let estimator = self::estimator(&metric, estimator);
        let running = |estimator| {
            let mut running = Running::new(estimator, direction, levels);
            let limits = gate.into_iter().flat_map(|gate| [Some(gate.limit()), gate.warn]);
            limits.flatten().for_each(|limit| running.watch(limit));
            running
        };
        // `Min` is fed minima, of which the others would make something else.
        let comparable = |other: &Estimator| {
            (gate.is_some() || *other == Estimator::Mean)
                && *other != estimator
                && ![estimator, *other].contains(&Estimator::Min)
        };
        let others = Estimator::ALL.into_iter().filter(comparable);
        let others = others.map(|estimator| (running(estimator), None)).collect();
        let running = running(estimator);
        let (gate, warning) = (gate.cloned(), Warning::No);
        MetricTest {
            metric,
            gate,
            running,
            shape: NoiseShape::new(),
            decided: None,
            warning,
            others,
        }
    }

    /// What is measured.
    pub fn metric(&self) -> &Metric {
        &self.metric
    }

    /// The largest change that passes, where it gates.
    pub fn threshold(&self) -> Option<f64> {
        self.gate.as_ref().map(Gate::limit)
    }

    /// What is to be said of it: of one that is decided, what was said then.
    pub fn result(&self) -> MetricResult {
        let threshold = self.threshold();
        let summary = match threshold {
            Some(threshold) => self.running.held_against(threshold),
            None => self.running.summary(),
        };
        let verdict = threshold.map(|_| self.decided.unwrap_or(Verdict::Inconclusive));
        MetricResult {
            warned: self.warning == Warning::Given,
            mean: self.mean(),
            overruled: self.running.overruled(),
            ties: threshold.map_or(0, |threshold| self.running.ties(threshold)),
            waiver: self.gate.as_ref().and_then(Gate::waived),
            ..MetricResult::new(self.metric.clone(), threshold, summary, verdict)
        }
    }

    fn mean(&self) -> Option<Summary> {
        let mut all = self.others.iter().map(|(other, _)| other).chain([&self.running]);
        all.find(|running| running.estimator() == Estimator::Mean).map(Running::summary)
    }

    /// The result when sampling is over: with what is to be said of the noise,
    /// and of another estimator that would have needed less than half of the
    /// pairs.
    pub fn end(&self) -> MetricResult {
        let mut findings = self.gate.as_ref().map(|_| self.shape.findings()).unwrap_or_default();
        findings.retain(|finding| finding.matters_to(self.running.estimator()));
        let needed = |(other, pairs): &(Running, Option<u64>)| Some((other.estimator(), (*pairs)?));
        let least = self.others.iter().filter_map(needed).min_by_key(|&(_, pairs)| pairs);
        let worth = self.running.pairs() >= WORTH_A_WORD;
        let earlier = least.filter(|&(_, pairs)| worth && 2 * pairs < self.running.pairs());
        MetricResult { findings, earlier, ..self.result() }
    }

    /// The answer, once there is one.
    pub fn verdict(&self) -> Option<Verdict> {
        self.decided
    }

    /// Whether it gates and has no answer yet, or a warning is still open.
    pub fn is_open(&self) -> bool {
        self.gate.is_some() && self.decided.is_none() || matches!(self.warning, Warning::Open(_))
    }

    /// Takes in a pair, of which `first` was measured first, unless the
    /// verdict is in: what is said of a metric is what decided it.
    pub fn push(&mut self, base: f64, head: f64, first: Side) {
        if self.decided.is_some() && !self.is_open() {
            return;
        }
        self.running.push(base, head);
        self.shape.push(base, head, first == Side::Base);
        self.push_alongside(base, head);
        let Some(gate) = &self.gate else {
            return;
        };
        match self.warning {
            Warning::Open(_) => self.weigh_warning(),
            _ => {
                if let Some(decision) = self.running.decide(gate.limit()) {
                    self.decided = Some(Verdict::from(Some(decision)));
                    let warn = gate.warn.filter(|_| gate.waiver.is_none());
                    let exceeds = warn.is_some_and(|warn| self.running.exceeds(warn));
                    if exceeds && decision == Decision::NoRegression {
                        self.warning = Warning::Open(self.running.pairs());
                        self.weigh_warning();
                    }
                }
            }
        }
    }

    /// Whether the change is beyond the warning level, as certain as a verdict; or
    /// that it takes too long to find out.
    fn weigh_warning(&mut self) {
        let (Warning::Open(from), Some(warn)) =
            (self.warning, self.gate.as_ref().and_then(|g| g.warn))
        else {
            return;
        };
        self.warning = match self.running.decide(warn) {
            Some(Decision::Regression) => Warning::Given,
            Some(Decision::NoRegression) => Warning::Withdrawn,
            None if self.running.pairs() >= PATIENCE * from => Warning::Withdrawn,
            None => return,
        };
    }

    /// Feeds the other estimators.
    fn push_alongside(&mut self, base: f64, head: f64) {
        let pairs = self.running.pairs();
        let is_mean = |running: &Running| running.estimator() == Estimator::Mean;
        if pairs == MOST_ALONGSIDE {
            self.others.retain(|(other, needed)| is_mean(other) || needed.is_some());
        }
        let limit = self.threshold();
        // Near enough for a word about half of the pairs.
        let looks = pairs.is_multiple_of((pairs / 128).max(1));
        for (other, needed) in &mut self.others {
            if needed.is_none() || is_mean(other) {
                other.push(base, head);
            }
            if let (None, true, Some(threshold)) = (&needed, looks, limit) {
                *needed = other.decide(threshold).map(|_| other.pairs());
            }
        }
    }

    /// How far from the threshold a change has to be, as a fraction, to be told
    /// from it within `pairs` pairs at this noise: half of what the interval will
    /// be wide, which shrinks with the root of the pairs (a little slower, in
    /// truth, by the logarithm). `None` when that can't be said.
    pub fn reach(&self, pairs: u64) -> Option<f64> {
        let Summary { pairs: so_far, lower, upper, .. } = self.running.summary();
        let half = 0.5 * (upper? - lower?);
        let shrunk = half * (so_far as f64 / pairs.max(1) as f64).sqrt();
        (shrunk > 0.0 && shrunk.is_finite()).then_some(shrunk)
    }

    /// When the answer is to be expected; never without a threshold.
    pub fn forecast(&self) -> Forecast {
        let limit = match (self.warning, &self.gate) {
            (Warning::Open(_), Some(gate)) => gate.warn,
            _ => self.threshold(),
        };
        limit.map_or(Forecast::Never, |limit| pairs_to_verdict(&self.running, limit))
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
pub fn exact(metric: Metric, gate: Option<&Gate>, base: f64, head: f64) -> MetricResult {
    let threshold = gate.map(Gate::limit);
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
    let warn = gate.filter(|gate| gate.waiver.is_none()).and_then(|gate| gate.warn);
    let passes = verdict == Some(Verdict::NoRegression);
    MetricResult {
        warned: passes && warn.is_some_and(|warn| worse > warn + ROUNDING),
        waiver: gate.and_then(Gate::waived),
        ..MetricResult::new(metric, threshold, summary, verdict)
    }
}

impl From<Option<Decision>> for Verdict {
    fn from(decision: Option<Decision>) -> Self {
        match decision {
            Some(Decision::NoRegression) => Verdict::NoRegression,
            Some(Decision::Regression) => Verdict::Regression,
            None => Verdict::Inconclusive,
        }
    }
}

#[cfg(test)]
mod tests;
