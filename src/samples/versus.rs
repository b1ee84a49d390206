//! One label against another: the pairs that their rows make, as long as they
//! make any, and what comes of them.

use super::{Method, MetricFinding, Spec, Sums, Versus};
use crate::engine::test::MetricTest;
use crate::model::estimator::Estimator;
use crate::model::metric::Metric;
use crate::model::outcome::{BenchmarkResult, MetricResult, Status, Summary, Verdict};
use crate::model::side::{Pair, Side};
use crate::stats::estimator::Levels;
use crate::stats::fixed::{Confidence, TwoSamples};
use crate::stats::judge::{Judgement, judge, ratio};
use crate::stats::moments::PairMoments;

type Values = Vec<Option<f64>>;

/// What became of the pairs.
#[derive(Clone, Debug)]
enum Pairing {
    /// They are kept until it is known how many questions there are.
    Waiting(Vec<(Side, Pair<Values>)>),
    /// They are put to the questions, one for each metric.
    Asking(Vec<MetricTest>),
    /// Nothing is to be decided; their sums.
    Summing(Vec<PairMoments>),
    /// The rows do not pair, or nobody asks whether they do.
    Apart,
}

/// A comparison of two labels.
#[derive(Clone, Debug)]
pub(super) struct Couple {
    pub(super) name: String,
    /// The numbers of the labels.
    pub(super) labels: Pair<usize>,
    pairs: u64,
    /// The row of an unfinished pair.
    half: Option<Side>,
    values: Values,
    pairing: Pairing,
    /// Whether sums are of the logarithms.
    logarithms: bool,
    /// The line where the rows stopped to pair.
    pub(super) parted: Option<u64>,
}

impl Couple {
    pub(super) fn new(name: String, labels: Pair<usize>, spec: &Spec) -> Self {
        let pairing = match (spec.judges, &spec.gates) {
            (true, _) => Pairing::Apart,
            (false, Some(_)) => Pairing::Waiting(Vec::new()),
            (false, None) => Pairing::Summing(Vec::new()),
        };
        Couple {
            name,
            labels,
            pairs: 0,
            half: None,
            values: Vec::new(),
            pairing,
            logarithms: spec.estimator == Estimator::GeometricMean,
            parted: None,
        }
    }

    /// Begins to ask, now that the levels are known.
    pub(super) fn settle(&mut self, spec: &Spec, metrics: &[Metric], levels: Levels) {
        if let Pairing::Waiting(kept) = &mut self.pairing {
            let kept = std::mem::take(kept);
            self.pairing = Pairing::Asking(ask(&kept, spec, metrics, levels));
        }
    }

    /// Room for metrics that a further file has.
    pub(super) fn widen(&mut self, spec: &Spec, metrics: &[Metric], levels: Option<Levels>) {
        match (&mut self.pairing, levels) {
            (Pairing::Summing(sums), _) => sums.resize(metrics.len(), PairMoments::new()),
            (Pairing::Asking(questions), Some(levels)) => {
                let new = &metrics[questions.len()..];
                questions.extend(new.iter().map(|metric| question(metric, spec, levels)));
            }
            _ => {}
        }
    }

    /// Takes a row of one of its labels. True when that made a pair.
    pub(super) fn take(&mut self, side: Side, values: &[Option<f64>], line: u64) -> bool {
        if matches!(self.pairing, Pairing::Apart) || !self.is_open() {
            return false;
        }
        match self.half.take() {
            None => {
                self.half = Some(side);
                self.values.clear();
                self.values.extend_from_slice(values);
                false
            }
            Some(other) if other == side => {
                self.part(line);
                false
            }
            Some(first) => {
                let half = std::mem::take(&mut self.values);
                match side {
                    Side::Head => self.pair(first, &half, values),
                    Side::Base => self.pair(first, values, &half),
                }
                self.values = half;
                true
            }
        }
    }

    /// The rows do not pair from this line on.
    pub(super) fn part(&mut self, line: u64) {
        self.pairing = Pairing::Apart;
        self.pairs = 0;
        self.parted = Some(line);
    }

    /// A file ends: no pair reaches over that.
    pub(super) fn forget_half(&mut self) {
        self.half = None;
    }

    fn pair(&mut self, first: Side, base: &[Option<f64>], head: &[Option<f64>]) {
        self.pairs += 1;
        match &mut self.pairing {
            Pairing::Waiting(kept) => {
                kept.push((first, Pair { base: base.to_vec(), head: head.to_vec() }));
            }
            Pairing::Asking(questions) => push(questions, first, base, head),
            Pairing::Summing(sums) => {
                for ((base, head), sums) in base.iter().zip(head).zip(sums) {
                    match (base, head) {
                        // What has no logarithm makes the label's sums undefined.
                        (Some(base), Some(head)) if self.logarithms => {
                            let logarithms = (base.ln(), head.ln());
                            let fits = logarithms.0.is_finite() && logarithms.1.is_finite();
                            fits.then(|| sums.push(logarithms.0, logarithms.1));
                        }
                        (Some(base), Some(head)) => sums.push(*base, *head),
                        _ => {}
                    }
                }
            }
            Pairing::Apart => {}
        }
    }

    /// How many pairs are kept.
    pub(super) fn waiting(&self) -> u64 {
        if let Pairing::Waiting(kept) = &self.pairing { kept.len() as u64 } else { 0 }
    }

    /// Whether more rows can change what is said.
    pub(super) fn is_open(&self) -> bool {
        match &self.pairing {
            Pairing::Asking(questions) => questions.iter().any(MetricTest::is_open),
            _ => true,
        }
    }

    fn method(&self, spec: &Spec) -> Method {
        match self.pairing {
            _ if spec.judges => Method::Judge,
            Pairing::Waiting(_) | Pairing::Asking(_) => Method::Sequential,
            Pairing::Summing(_) => Method::Pairs,
            Pairing::Apart => Method::Apart,
        }
    }

    /// What is to be said of it now. `sums` are those of its labels.
    pub(super) fn versus(
        &self,
        spec: &Spec,
        metrics: &[Metric],
        levels: Levels,
        names: Pair<&str>,
        sums: Pair<&[Sums]>,
    ) -> Versus {
        let asked;
        let questions = match &self.pairing {
            Pairing::Asking(questions) => Some(questions),
            Pairing::Waiting(kept) => {
                asked = ask(kept, spec, metrics, levels);
                Some(&asked)
            }
            _ => None,
        };
        let finding = |(number, metric): (usize, &Metric)| {
            let side = Pair { base: &sums.base[number], head: &sums.head[number] };
            match (questions, &self.pairing) {
                (Some(questions), _) => questions[number].end().into(),
                _ if spec.judges => judged(spec, metric, side),
                (_, Pairing::Summing(pairs)) => {
                    measured(spec, metric, levels, side, TwoSamples::Paired(&pairs[number]))
                }
                _ => {
                    let apart = TwoSamples::Apart(&side.base.moments, &side.head.moments);
                    measured(spec, metric, levels, side, apart)
                }
            }
        };
        let findings: Vec<MetricFinding> = metrics.iter().enumerate().map(finding).collect();
        Versus {
            labels: Pair { base: names.base.to_owned(), head: names.head.to_owned() },
            method: self.method(spec),
            result: BenchmarkResult {
                name: self.name.clone(),
                status: Status::Compared,
                pairs: self.pairs,
                metrics: findings.iter().map(|finding| finding.result.clone()).collect(),
            },
            findings,
        }
    }
}

impl From<MetricResult> for MetricFinding {
    fn from(result: MetricResult) -> Self {
        MetricFinding { result, difference: None, judgement: None }
    }
}

fn question(metric: &Metric, spec: &Spec, levels: Levels) -> MetricTest {
    MetricTest::new(metric.clone(), spec.gate(&metric.name), spec.estimator, levels)
}

/// Puts the pairs so far to new questions.
fn ask(
    kept: &[(Side, Pair<Values>)],
    spec: &Spec,
    metrics: &[Metric],
    levels: Levels,
) -> Vec<MetricTest> {
    let mut questions: Vec<MetricTest> =
        metrics.iter().map(|metric| question(metric, spec, levels)).collect();
    for (first, pair) in kept {
        push(&mut questions, *first, &pair.base, &pair.head);
    }
    questions
}

fn push(questions: &mut [MetricTest], first: Side, base: &[Option<f64>], head: &[Option<f64>]) {
    for (question, (base, head)) in questions.iter_mut().zip(base.iter().zip(head)) {
        if let (Some(base), Some(head)) = (base, head) {
            question.push(*base, *head, first);
        }
    }
}

/// BenchmarkTools' judgement of two estimates.
fn judged(spec: &Spec, metric: &Metric, sums: Pair<&Sums>) -> MetricFinding {
    let estimate = sums.map(|sums| sums.estimate(spec.estimator));
    let threshold = spec.threshold(&metric.name);
    let both = estimate.base.zip(estimate.head);
    let ratio = both.map(|(base, head)| ratio(base, head));
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
    let result = MetricResult::new(metric.clone(), threshold, summary, verdict);
    MetricFinding { judgement, ..result.into() }
}

/// What samples of a fixed size say, looked at once.
fn measured(
    spec: &Spec,
    metric: &Metric,
    levels: Levels,
    sums: Pair<&Sums>,
    samples: TwoSamples<'_>,
) -> MetricFinding {
    let threshold = spec.threshold(&metric.name);
    let confidence = match spec.gates {
        Some(_) => Confidence { lower: 1.0 - levels.alarm, upper: 1.0 - levels.clear },
        None => {
            Confidence { lower: 0.5 + 0.5 * spec.confidence, upper: 0.5 + 0.5 * spec.confidence }
        }
    };
    let fits = |sums: &Sums| !sums.undefined;
    let means = samples.means().filter(|_| fits(sums.base) && fits(sums.head));
    let mut summary = Summary { pairs: 0, ..Summary::default() };
    let mut difference = None;
    if let Some((base, head)) = means {
        difference = samples.difference(confidence);
        if spec.estimator == Estimator::GeometricMean {
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
    let above = |limit: f64| summary.lower.is_some_and(|lower| lower > limit);
    let below = |limit: f64| summary.upper.is_some_and(|upper| upper < limit);
    let verdict = threshold.map(|limit| match (above(limit), below(limit)) {
        (true, _) => Verdict::Regression,
        (false, true) => Verdict::NoRegression,
        (false, false) => Verdict::Inconclusive,
    });
    let result = MetricResult::new(metric.clone(), threshold, summary, verdict);
    MetricFinding { difference, ..result.into() }
}
