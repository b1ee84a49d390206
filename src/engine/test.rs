//! The test of one metric of one benchmark, from its first pair to its verdict,
//! for running comparisons and for analyses of samples.

use crate::model::{
    Better, Estimator, Finding, Gate, Metric, MetricResult, Side, Summary, Verdict,
};
use crate::stats::estimator::{Decision, Levels, ROUNDING, Running};
use crate::stats::forecast::{Forecast, pairs_to_verdict};
use crate::stats::shape::NoiseShape;

/// The test for a warning is given up after this many times the pairs of the verdict.
const WARNING_PATIENCE: u64 = 4;

/// A clock whose steps are finer than the threshold by more than this needs no notice: with steps of
/// half the threshold, a change just below it raised an alarm in 9 % instead of 5 %.
const STEPS_PER_THRESHOLD: f64 = 4.0;

/// After how many times the minimum number of pairs a test has looked slower for long, if
/// its bound has reached the threshold; see [`looks_slower`] for bounds farther off.
pub(super) const PATIENCE: f64 = 1.5;

/// How often this is checked between a number of pairs and twice as many: the bounds take
/// long to compute.
const LOOKS: u64 = 16;

/// After this many pairs, all of them beyond the threshold, a test stands out.
pub(super) const PAIRS_TO_STAND_OUT: u64 = 5;

/// Whether the change is beyond the warning level.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Warning {
    /// There is no verdict yet, the change is not beyond the level, or deciding that would need too many
    /// pairs.
    No,
    /// Undecided. The verdict was reached after this many pairs.
    Open(u64),
    Given,
}

/// The test of one metric of one benchmark.
#[derive(Clone, Debug)]
pub(crate) struct MetricTest {
    metric: Metric,
    gate: Option<Gate>,
    running: Running,
    shape: NoiseShape,
    /// Once it is known, no further pairs are needed unless a warning is undecided.
    verdict: Option<Verdict>,
    /// Whether it is replaced by another test.
    is_set_aside: bool,
    warning: Warning,
    /// The number of pairs that are slower by more than the threshold.
    slower: u64,
    /// The mean, which is always shown, if it is not what decides. Of minima it would be something
    /// else.
    mean: Option<Running>,
}

impl MetricTest {
    /// A test without pairs. Without a gate the change is estimated and nothing is
    /// decided.
    pub(crate) fn new(
        metric: Metric,
        gate: Option<&Gate>,
        estimator: Estimator,
        levels: Levels,
    ) -> Self {
        let direction = metric.better;
        let estimator = self::estimator(&metric, estimator);
        let running = |estimator| {
            let mut running = Running::new(estimator, direction, levels);
            let limits = gate.into_iter().flat_map(|gate| [Some(gate.limit()), gate.warn]);
            limits.flatten().for_each(|limit| running.track(limit));
            running
        };
        let has_mean = ![Estimator::Mean, Estimator::Min].contains(&estimator);
        MetricTest {
            running: running(estimator),
            metric,
            gate: gate.cloned(),
            shape: NoiseShape::default(),
            verdict: None,
            is_set_aside: false,
            warning: Warning::No,
            slower: 0,
            mean: has_mean.then(|| running(Estimator::Mean)),
        }
    }

    pub(crate) fn metric(&self) -> &Metric {
        &self.metric
    }

    pub(super) fn gate(&self) -> Option<&Gate> {
        self.gate.as_ref()
    }

    /// The largest change that passes, if the metric gates.
    pub(crate) fn threshold(&self) -> Option<f64> {
        self.gate.as_ref().map(Gate::limit)
    }

    /// The result so far. Once the test is decided it no longer changes.
    pub(crate) fn result(&self) -> MetricResult {
        let threshold = self.threshold();
        let summary = match threshold {
            Some(threshold) => self.running.held_against(threshold),
            None => self.running.summary(),
        };
        let verdict = threshold.map(|_| self.verdict.unwrap_or(Verdict::Inconclusive));
        MetricResult {
            warned: self.warning == Warning::Given,
            mean: self.mean().map(Running::summary),
            shared_by: self.running.levels().tests(),
            overruled: self.running.overruled(),
            ties: threshold.map_or(0, |threshold| self.running.ties(threshold)),
            waiver: self.gate.as_ref().and_then(Gate::waived),
            learnt: self.gate.as_ref().and_then(|gate| gate.learnt),
            ..MetricResult::new(self.metric.clone(), threshold, summary, verdict)
        }
    }

    fn mean(&self) -> Option<&Running> {
        match self.running.estimator() {
            Estimator::Mean => Some(&self.running),
            _ => self.mean.as_ref(),
        }
    }

    /// The result at the end of sampling: also with findings about the noise.
    pub(crate) fn end(&self) -> MetricResult {
        let mut findings = self.gate.as_ref().map(|_| self.shape.findings()).unwrap_or_default();
        let threshold = self.threshold().unwrap_or(0.0);
        findings.retain(|finding| match finding {
            // Finer ones have no effect on the error rate.
            Finding::Coarse { step } => STEPS_PER_THRESHOLD * step >= threshold,
            finding => finding.matters_to(self.running.estimator()),
        });
        MetricResult { findings, ..self.result() }
    }

    /// Raises the level of an alarm, if the test is undecided. Returns the verdict, if that
    /// decides it.
    pub(crate) fn relax(&mut self, levels: Levels) -> Option<Verdict> {
        let gate = self.gate.as_ref().filter(|_| self.verdict.is_none() && !self.is_set_aside)?;
        self.running.relax(levels);
        self.mean.iter_mut().for_each(|mean| mean.relax(levels));
        self.verdict = self.running.decide(gate.limit()).map(|decision| Some(decision).into());
        self.verdict
    }

    /// See [`MetricResult::alarm_among`].
    pub(crate) fn alarm_among(&self, confidence: f64) -> usize {
        match &self.gate {
            Some(_) if self.is_regression() => self.running.levels().tests(),
            Some(gate) if self.is_undecided() => self.running.alarm_among(gate.limit(), confidence),
            _ => 0,
        }
    }

    /// The evidence for a regression; see [`Running::evidence`].
    pub(crate) fn evidence(&self) -> f64 {
        self.threshold().map_or(0.0, |threshold| self.running.evidence(threshold))
    }

    /// The verdict, once there is one.
    pub(crate) fn verdict(&self) -> Option<Verdict> {
        self.verdict
    }

    pub(crate) fn is_regression(&self) -> bool {
        self.verdict == Some(Verdict::Regression)
    }

    pub(super) fn pairs(&self) -> u64 {
        self.running.pairs()
    }

    /// Whether the pairs would decide about another threshold.
    pub(super) fn decides(&self, threshold: f64) -> bool {
        self.running.decide(threshold).is_some()
    }

    /// Whether more pairs are needed: for the verdict or for a warning.
    pub(crate) fn is_open(&self) -> bool {
        self.is_undecided() || matches!(self.warning, Warning::Open(_))
    }

    /// Whether it gates, and has no verdict here so far.
    pub(super) fn is_undecided(&self) -> bool {
        self.gate.is_some() && self.verdict.is_none() && !self.is_set_aside
    }

    /// Whether it has looked slower for long (see [`looks_slower`]).
    pub(crate) fn looks_slower(&self, least: u64) -> bool {
        self.threshold().is_some_and(|threshold| looks_slower(&self.running, threshold, least))
    }

    /// Whether it is undecided and every pair so far was slower by more than the threshold.
    pub(super) fn stands_out(&self) -> bool {
        let pairs = self.pairs();
        self.is_undecided() && pairs >= PAIRS_TO_STAND_OUT && self.slower == pairs
    }

    /// Ends the test without a verdict, because another test replaces it.
    pub(super) fn set_aside(&mut self) {
        self.is_set_aside = true;
    }

    /// Whether it was replaced by another test.
    pub(crate) fn is_set_aside(&self) -> bool {
        self.is_set_aside
    }

    /// Adds a pair in which `first` ran first. Does nothing once the test is decided:
    /// its result is that of the pairs that decided it.
    pub(crate) fn push(&mut self, base: f64, head: f64, first: Side) {
        if (self.verdict.is_some() || self.is_set_aside) && !self.is_open() {
            return;
        }
        self.running.push(base, head);
        self.shape.push(base, head, first == Side::Base);
        self.mean.iter_mut().for_each(|mean| mean.push(base, head));
        let Some(gate) = &self.gate else {
            return;
        };
        let beyond = base * (1.0 + self.metric.better.limit(gate.limit()));
        self.slower += u64::from(match self.metric.better {
            Better::Lower => head > beyond,
            Better::Higher => head < beyond,
        });
        match self.warning {
            Warning::Open(_) => self.decide_warning(),
            _ => {
                if let Some(decision) = self.running.decide(gate.limit()) {
                    self.verdict = Some(Verdict::from(Some(decision)));
                    let warn = gate.warn.filter(|_| gate.waiver.is_none());
                    let exceeds = warn.is_some_and(|warn| self.running.exceeds(warn));
                    if exceeds && decision == Decision::NoRegression {
                        self.warning = Warning::Open(self.running.pairs());
                        self.decide_warning();
                    }
                }
            }
        }
    }

    /// Decides, as reliably as a verdict, whether the change is beyond the warning level,
    /// or gives up.
    fn decide_warning(&mut self) {
        let (Warning::Open(from), Some(warn)) =
            (self.warning, self.gate.as_ref().and_then(|g| g.warn))
        else {
            return;
        };
        self.warning = match self.running.decide(warn) {
            Some(Decision::Regression) => Warning::Given,
            None if self.running.pairs() < WARNING_PATIENCE * from => return,
            _ => Warning::No,
        };
    }

    /// How far from the threshold a change has to be for a verdict within `pairs` pairs.
    pub(crate) fn reach(&self, pairs: u64) -> Option<f64> {
        self.running.reach(pairs as f64)
    }

    /// When the verdict is expected; never without a threshold.
    pub(crate) fn forecast(&self) -> Forecast {
        let limit = match (self.warning, &self.gate) {
            (Warning::Open(_), Some(gate)) => gate.warn,
            _ => self.threshold(),
        };
        limit.map_or(Forecast::Never, |limit| pairs_to_verdict(&self.running, limit))
    }
}

/// Whether an undecided test has looked slower than `threshold` for so long that layouts are
/// the faster way to a verdict. The more pairs there are, the smaller the excess may be: `p`
/// pairs are enough if `p/least` times [`Running::share_beyond`] is [`PATIENCE`], where
/// `least` is the minimum for a verdict. So a noisy estimate that has just crossed the
/// threshold does not count as a slowdown, and one that stays there is not measured forever.
pub fn looks_slower(running: &Running, threshold: f64, least: u64) -> bool {
    let pairs = running.pairs();
    let multiple = pairs as f64 / least as f64;
    if multiple < PATIENCE || !pairs.is_multiple_of((pairs / LOOKS).max(1)) {
        return false;
    }
    running.share_beyond(threshold).is_some_and(|share| multiple * share >= PATIENCE)
}

/// The estimator of a metric, given the requested one. A simulated count has no slow
/// tails, so the robust estimator's guard against them would only cost pairs: such a
/// metric is decided by its mean.
pub(crate) fn estimator(metric: &Metric, asked: Estimator) -> Estimator {
    match asked {
        Estimator::Robust if metric.is_repeatable() => Estimator::Mean,
        asked => asked,
    }
}

/// The result of a metric that has one exact value on each side and needs no pair: the
/// change and both its bounds are one number.
pub(crate) fn exact(metric: Metric, gate: Option<&Gate>, base: f64, head: f64) -> MetricResult {
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
    let worse = metric.better.worse(change);
    let verdict = threshold.map(|threshold| match worse > threshold + ROUNDING {
        true => Verdict::Regression,
        false => Verdict::NoRegression,
    });
    let warn = gate.filter(|gate| gate.waiver.is_none()).and_then(|gate| gate.warn);
    let passes = verdict == Some(Verdict::NoRegression);
    MetricResult {
        warned: passes && warn.is_some_and(|warn| worse > warn + ROUNDING),
        waiver: gate.and_then(Gate::waived),
        learnt: gate.and_then(|gate| gate.learnt),
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
