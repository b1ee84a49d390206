//! The comparison of two labels: their rows, and the pairs that these form.

use super::Spec;
use super::analysis::MetricSums;
use crate::engine::test::MetricTest;
use crate::model::{Judgement, Method, Metric, MetricResult, Pair, Side, Summary, Verdict};
use crate::stats::estimator::Levels;
use crate::stats::fixed::{Confidence, TwoSamples};
use crate::stats::judge::{judge, ratio};
use crate::stats::moments::PairMoments;

/// If one side comes first in at least this many pairs and in all of them, that is no accident: the
/// coins of one comparison in 2048 would do that.
const PAIRS_IN_ORDER: u64 = 12;

/// The value of each metric in a row; `None` for empty cells.
type MetricCells = Vec<Option<f64>>;

#[derive(Clone, Debug)]
pub(super) struct LabelComparison {
    /// The number of pairs that count.
    pub(super) pairs: u64,
    /// In how many of them the base's row comes first.
    base_first: u64,
    /// The first row of a pair whose second row is still missing.
    half: MetricCells,
    mode: Mode,
}

#[derive(Clone, Debug)]
enum Mode {
    /// Not yet: the pairs are kept until the number of tests that share the error is known.
    Waiting(Vec<(Side, Pair<MetricCells>)>),
    /// By a test for each metric, which gets the pairs.
    Testing(Vec<MetricTest>),
    /// By the sums of the pairs, or of the pairs of logarithms, without a verdict.
    Summing { sums: Vec<PairMoments>, logarithms: bool },
    /// By the sums of the two labels: their rows do not form pairs, or need not.
    Unpaired,
}

impl LabelComparison {
    /// A new comparison. `half` is the row of one of the labels before the other one
    /// appeared, if any. `levels` are known once the number of tests is.
    pub(super) fn new(
        spec: &Spec,
        metrics: &[Metric],
        levels: Option<Levels>,
        half: MetricCells,
        is_broken: bool,
    ) -> Self {
        let mode = match (&spec.gates, levels) {
            _ if spec.judges || is_broken => Mode::Unpaired,
            (Some(_), None) => Mode::Waiting(Vec::new()),
            (Some(_), Some(levels)) => Mode::Testing(tests(spec, metrics, levels)),
            (None, _) => Mode::Summing {
                sums: vec![PairMoments::default(); metrics.len()],
                logarithms: spec.policy.estimator.takes_logarithms(),
            },
        };
        LabelComparison { pairs: 0, base_first: 0, half, mode }
    }

    /// Adds the pairs that were kept to tests, now that the levels are known.
    pub(super) fn begin_tests(&mut self, spec: &Spec, metrics: &[Metric], levels: Levels) {
        if let Mode::Waiting(kept) = &self.mode {
            self.mode = Mode::Testing(tests_of(kept, spec, metrics, levels));
        }
    }

    /// Adds the metrics of a further file.
    pub(super) fn widen(&mut self, spec: &Spec, metrics: &[Metric], levels: Option<Levels>) {
        match (&mut self.mode, levels) {
            (Mode::Summing { sums, .. }, _) => sums.resize(metrics.len(), PairMoments::default()),
            (Mode::Testing(known), Some(levels)) => {
                known.extend(tests(spec, &metrics[known.len()..], levels));
            }
            _ => {}
        }
    }

    /// The tests, one for each metric, if there are any yet.
    pub(super) fn tests(&self) -> &[MetricTest] {
        if let Mode::Testing(tests) = &self.mode { tests } else { &[] }
    }

    /// See [`LabelComparison::tests`].
    pub(super) fn tests_mut(&mut self) -> &mut [MetricTest] {
        if let Mode::Testing(tests) = &mut self.mode { tests } else { &mut [] }
    }

    /// The sum of the evidence of the tests for regressions.
    pub(super) fn evidence(&self) -> f64 {
        self.tests().iter().map(MetricTest::evidence).sum()
    }

    /// Whether further pairs count.
    pub(super) fn takes_pairs(&self) -> bool {
        !matches!(self.mode, Mode::Unpaired) && self.is_open()
    }

    /// Whether more rows can change the result.
    pub(super) fn is_open(&self) -> bool {
        match &self.mode {
            Mode::Testing(tests) => tests.iter().any(MetricTest::is_open),
            _ => true,
        }
    }

    pub(super) fn waiting(&self) -> u64 {
        if let Mode::Waiting(kept) = &self.mode { kept.len() as u64 } else { 0 }
    }

    /// Adds the first row of a pair.
    pub(super) fn take_first(&mut self, values: &[Option<f64>]) {
        self.half.clear();
        self.half.extend_from_slice(values);
    }

    /// Adds the second row of a pair.
    pub(super) fn take_second(&mut self, first: Side, values: &[Option<f64>]) {
        self.pairs += 1;
        self.base_first += u64::from(first == Side::Base);
        let (base, head) = match first {
            Side::Base => (self.half.as_slice(), values),
            Side::Head => (values, self.half.as_slice()),
        };
        match &mut self.mode {
            Mode::Waiting(kept) => {
                kept.push((first, Pair { base: base.to_vec(), head: head.to_vec() }));
            }
            Mode::Testing(tests) => push(tests, first, base, head),
            Mode::Summing { sums, logarithms } => {
                for ((base, head), sums) in base.iter().zip(head).zip(sums) {
                    let (Some(mut base), Some(mut head)) = (*base, *head) else { continue };
                    if *logarithms {
                        (base, head) = (base.ln(), head.ln());
                    }
                    // A value without logarithm makes the label's own sums undefined.
                    if base.is_finite() && head.is_finite() {
                        sums.push(base, head);
                    }
                }
            }
            Mode::Unpaired => {}
        }
    }

    /// The side that came first in each of many pairs, if there is one: its order was not random.
    pub(super) fn always_first(&self) -> Option<Side> {
        match self.base_first {
            _ if self.pairs < PAIRS_IN_ORDER => None,
            0 => Some(Side::Head),
            all if all == self.pairs => Some(Side::Base),
            _ => None,
        }
    }

    /// Uses the sums of the labels from now on, since the rows do not form pairs.
    pub(super) fn give_up_pairs(&mut self) {
        self.mode = Mode::Unpaired;
        self.pairs = 0;
    }

    /// How the labels are compared.
    pub(super) fn method(&self, spec: &Spec) -> Method {
        match self.mode {
            _ if spec.judges => Method::Judge,
            Mode::Waiting(_) | Mode::Testing(_) => Method::Sequential,
            Mode::Summing { .. } => Method::Paired,
            Mode::Unpaired => Method::Welch,
        }
    }

    /// The result of each metric so far. `sums` are those of the labels.
    pub(super) fn results(
        &self,
        spec: &Spec,
        metrics: &[Metric],
        levels: Levels,
        sums: Pair<&[MetricSums]>,
    ) -> Vec<MetricResult> {
        let without_test = |(number, metric): (usize, &Metric)| {
            let sums = sums.map(|sums| &sums[number]);
            let samples = match &self.mode {
                _ if spec.judges => return judged(spec, metric, sums),
                Mode::Summing { sums: pairs, .. } => TwoSamples::Paired(&pairs[number]),
                _ => TwoSamples::Apart(&sums.base.moments, &sums.head.moments),
            };
            measured(spec, metric, levels.whole(), sums, samples)
        };
        let end = |tests: &[MetricTest]| tests.iter().map(MetricTest::end).collect();
        match &self.mode {
            Mode::Testing(tests) => end(tests),
            Mode::Waiting(kept) => end(&tests_of(kept, spec, metrics, levels)),
            Mode::Summing { .. } | Mode::Unpaired => {
                metrics.iter().enumerate().map(without_test).collect()
            }
        }
    }
}

fn tests(spec: &Spec, metrics: &[Metric], levels: Levels) -> Vec<MetricTest> {
    let test = |metric: &Metric| {
        MetricTest::new(metric.clone(), spec.gate(&metric.name), spec.policy.estimator, levels)
    };
    metrics.iter().map(test).collect()
}

/// Adds the pairs so far to new tests.
fn tests_of(
    kept: &[(Side, Pair<MetricCells>)],
    spec: &Spec,
    metrics: &[Metric],
    levels: Levels,
) -> Vec<MetricTest> {
    let mut tests = tests(spec, metrics, levels);
    for (first, pair) in kept {
        push(&mut tests, *first, &pair.base, &pair.head);
    }
    tests
}

fn push(tests: &mut [MetricTest], first: Side, base: &[Option<f64>], head: &[Option<f64>]) {
    for (test, (base, head)) in tests.iter_mut().zip(base.iter().zip(head)) {
        if let (Some(base), Some(head)) = (base, head) {
            test.push(*base, *head, first);
        }
    }
}

/// The judgement of two estimates by BenchmarkTools.
fn judged(spec: &Spec, metric: &Metric, sums: Pair<&MetricSums>) -> MetricResult {
    let estimate = sums.map(|sums| sums.estimate(spec.policy.estimator));
    let threshold = spec.threshold(&metric.name);
    let ratio = estimate.base.zip(estimate.head).map(|(base, head)| ratio(base, head));
    let judgement = threshold.zip(ratio).map(|(tolerance, ratio)| judge(ratio, tolerance));
    let verdict = match judgement {
        Some(Judgement::Regression) => Some(Verdict::Regression),
        Some(_) => Some(Verdict::NoRegression),
        None => threshold.map(|_| Verdict::Inconclusive),
    };
    let summary = Summary {
        base: estimate.base,
        head: estimate.head,
        change: ratio.map(|ratio| ratio - 1.0).filter(|change| change.is_finite()),
        ..Summary::default()
    };
    MetricResult { judgement, ..MetricResult::new(metric.clone(), threshold, summary, verdict) }
}

/// The result of samples of a fixed size, for a single look.
fn measured(
    spec: &Spec,
    metric: &Metric,
    levels: Levels,
    sums: Pair<&MetricSums>,
    samples: TwoSamples<'_>,
) -> MetricResult {
    let threshold = spec.threshold(&metric.name);
    let confidence = match spec.gates {
        Some(_) => Confidence { lower: 1.0 - levels.alarm, upper: 1.0 - levels.clear },
        None => {
            let one_sided = 0.5 + 0.5 * spec.policy.confidence;
            Confidence { lower: one_sided, upper: one_sided }
        }
    };
    let is_defined = !sums.base.undefined && !sums.head.undefined;
    let mut summary = Summary::default();
    let mut difference = None;
    if let Some((base, head)) = samples.means().filter(|_| is_defined) {
        difference = samples.difference(confidence);
        if spec.policy.estimator.takes_logarithms() {
            summary.base = Some(base.exp());
            summary.head = Some(head.exp());
            summary.change = Some((head - base).exp_m1());
            summary.lower = difference.map(|ends| ends.lower.exp_m1());
            summary.upper = difference.map(|ends| ends.upper.exp_m1());
            difference = None;
        } else {
            summary.base = Some(base);
            summary.head = Some(head);
            if sums.base.least >= 0.0 && sums.head.least >= 0.0 {
                let (lower, upper) = samples.ratio(confidence);
                let change = if base == head { 0.0 } else { (head - base) / base };
                summary.change = Some(change).filter(|change| change.is_finite());
                summary.lower = lower.map(|end| end - 1.0);
                summary.upper = upper.map(|end| end - 1.0);
            }
        }
    }
    let verdict = threshold.map(|limit| {
        if summary.lower.is_some_and(|lower| lower > limit) {
            Verdict::Regression
        } else if summary.upper.is_some_and(|upper| upper < limit) {
            Verdict::NoRegression
        } else {
            Verdict::Inconclusive
        }
    });
    MetricResult { difference, ..MetricResult::new(metric.clone(), threshold, summary, verdict) }
}
