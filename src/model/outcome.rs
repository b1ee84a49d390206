//! The question, the answer, and what a finished comparison says.

use std::fmt;

use crate::model::estimator::Estimator;
use crate::model::gate::Waiver;
use crate::model::metric::Metric;
use crate::model::noise::Finding;
use crate::model::words::words;

/// The answer to the question "did it get slower by more than the threshold?",
/// for one metric or for all of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The change is below the threshold.
    NoRegression,
    /// The change is above the threshold.
    Regression,
    /// Neither could be said before sampling had to stop.
    Inconclusive,
    /// Both sides are the same program (only overall).
    Identical,
    /// The base has no such benchmark, or does not build (only overall).
    NoBaseline,
}

impl Verdict {
    /// Its name in the outputs.
    pub fn name(self) -> &'static str {
        match self {
            Verdict::NoRegression => "no-regression",
            Verdict::Regression => "regression",
            Verdict::Inconclusive => "inconclusive",
            Verdict::Identical => "identical",
            Verdict::NoBaseline => "no-baseline",
        }
    }

    /// One verdict of those of the gating metrics: any regression makes a
    /// regression, else any open one leaves it open.
    pub fn overall(verdicts: impl IntoIterator<Item = Verdict>) -> Self {
        let mut overall = Verdict::NoRegression;
        for verdict in verdicts {
            match verdict {
                Verdict::Regression => return Verdict::Regression,
                Verdict::Inconclusive => overall = Verdict::Inconclusive,
                _ => {}
            }
        }
        overall
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// What a gate makes of an answer that is neither yes nor no.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnDoubt {
    /// Let it pass.
    #[default]
    Pass,
    /// Fail.
    Fail,
}

words!(OnDoubt { Pass = "pass", Fail = "fail" });

/// Why sampling stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StoppedBy {
    /// Every question was answered.
    Verdict,
    /// The time was over.
    TimeLimit,
    /// The pairs were used up: those allowed, or those that were measured before.
    MaxPairs,
    /// A signal.
    Interrupt,
    /// There was nothing to measure.
    Identical,
    /// There was nothing to measure against.
    NoBaseline,
}

impl StoppedBy {
    /// Its name in the outputs.
    pub fn name(self) -> &'static str {
        match self {
            StoppedBy::Verdict => "verdict",
            StoppedBy::TimeLimit => "time-limit",
            StoppedBy::MaxPairs => "max-pairs",
            StoppedBy::Interrupt => "interrupt",
            StoppedBy::Identical => "identical",
            StoppedBy::NoBaseline => "no-baseline",
        }
    }
}

/// How the two sides stand in one benchmark, or in one metric of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// Both have it.
    Compared,
    /// Only the head has it.
    New,
    /// Only the base has it.
    Removed,
}

impl Status {
    /// Its name in the outputs.
    pub fn name(self) -> &'static str {
        match self {
            Status::Compared => "compared",
            Status::New => "new",
            Status::Removed => "removed",
        }
    }
}

/// What gates on the base and is not measured on the head.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Removed {
    /// The benchmark.
    pub benchmark: String,
    /// The metric of it; none where the whole benchmark is gone.
    pub metric: Option<String>,
}

/// What the pairs so far say. Nothing in it is NaN.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Summary {
    /// How many pairs there were.
    pub pairs: u64,
    /// The base's estimate, in the metric's unit: its mean, geometric mean or median.
    pub base: Option<f64>,
    /// The head's estimate, in the metric's unit.
    pub head: Option<f64>,
    /// The change, head/base - 1, as a fraction. None of a base of zero (but zero to
    /// zero is 0). The median's is that of the pairs' changes.
    pub change: Option<f64>,
    /// The lower bound of the change; none where there is none yet. It is
    /// infinite where the base is zero and the head is not, in so many pairs
    /// that this is no accident.
    pub lower: Option<f64>,
    /// The upper bound of the change; none where there is none yet.
    pub upper: Option<f64>,
}

/// What is said of one metric of one benchmark.
#[derive(Clone, Debug, PartialEq)]
pub struct MetricResult {
    /// The metric.
    pub metric: Metric,
    /// Whether both sides measure it.
    pub status: Status,
    /// The limit of the change, a fraction, where the metric gates.
    pub threshold: Option<f64>,
    /// The numbers: estimates in the metric's unit, the change and its bounds
    /// as fractions. Of a gating metric they are those of the pair that
    /// decided it.
    pub summary: Summary,
    /// The plain mean's numbers of the same pairs, whichever the estimator; none of
    /// minima.
    pub mean: Option<Summary>,
    /// The verdict, where the metric gates.
    pub verdict: Option<Verdict>,
    /// Whether the change passes, and is beyond the warning level.
    pub warned: bool,
    /// The waiver that the threshold comes from, and the threshold without it.
    pub waiver: Option<(Waiver, f64)>,
    /// The change of the typical run, where a slow tail made the estimate.
    pub overruled: Option<f64>,
    /// How many pairs have exactly the threshold's change and count for neither
    /// side.
    pub ties: u64,
    /// What about the noise matters, where the metric gates; none before the
    /// end of the sampling.
    pub findings: Vec<Finding>,
    /// Another estimator that would have needed less than half of the pairs
    /// for its verdict, and how many.
    pub earlier: Option<(Estimator, u64)>,
}

impl MetricResult {
    /// One of which nothing else is to be said.
    pub fn new(
        metric: Metric,
        threshold: Option<f64>,
        summary: Summary,
        verdict: Option<Verdict>,
    ) -> Self {
        MetricResult {
            metric,
            status: Status::Compared,
            threshold,
            summary,
            mean: None,
            verdict,
            warned: false,
            waiver: None,
            overruled: None,
            ties: 0,
            findings: Vec::new(),
            earlier: None,
        }
    }

    /// Whether it gates, and both sides measure it.
    pub fn decides(&self) -> bool {
        self.threshold.is_some() && self.status == Status::Compared
    }

    /// The change beyond which the metric has regressed, where it gates: the
    /// threshold, or the fall that it allows where higher is better.
    pub fn limit(&self) -> Option<f64> {
        Some(self.metric.better.limit(self.threshold?))
    }
}

/// What is said of one benchmark.
#[derive(Clone, Debug, PartialEq)]
pub struct BenchmarkResult {
    /// Its name.
    pub name: String,
    /// Whether both sides have it.
    pub status: Status,
    /// How many whole pairs were measured.
    pub pairs: u64,
    /// Its metrics.
    pub metrics: Vec<MetricResult>,
}

/// What the sampling of all benchmarks gave.
#[derive(Clone, Debug, PartialEq)]
pub struct Sampled {
    /// The benchmarks, in the order in which they were asked for.
    pub benchmarks: Vec<BenchmarkResult>,
    /// Why it stopped.
    pub stopped_by: StoppedBy,
    /// From the start of the first measured pair to the end of the last,
    /// seconds.
    pub elapsed: f64,
}

impl Sampled {
    /// The overall verdict of the gating metrics.
    pub fn verdict(&self) -> Verdict {
        let metrics = self.benchmarks.iter().flat_map(|benchmark| &benchmark.metrics);
        Verdict::overall(metrics.filter_map(|metric| metric.verdict))
    }

    /// Whole pairs of all benchmarks.
    pub fn pairs(&self) -> u64 {
        self.benchmarks.iter().map(|benchmark| benchmark.pairs).sum()
    }
}

/// What decides: the settings that a branch must not loosen unseen.
#[derive(Clone, Debug, PartialEq)]
pub struct Policy {
    /// 1 minus the chance of a wrong verdict, between 0.5 and 1.
    pub confidence: f64,
    /// How a change is estimated.
    pub estimator: Estimator,
    /// What to do when the limit comes before the verdict.
    pub on_inconclusive: OnDoubt,
    /// What to do without a base to compare with.
    pub on_no_baseline: OnDoubt,
    /// What to do where the head lacks what gates on the base.
    pub on_removed: OnDoubt,
}

#[cfg(test)]
mod tests {
    use super::Verdict::{Inconclusive, NoRegression, Regression};
    use super::*;

    #[test]
    fn names_are_those_of_the_published_schema() {
        let schema = include_str!("../../docs/schema.json");
        let verdicts = [NoRegression, Regression, Inconclusive, Verdict::Identical];
        let listed = [
            [verdicts.map(Verdict::name).as_slice(), &[Verdict::NoBaseline.name()]].concat(),
            [StoppedBy::Verdict, StoppedBy::TimeLimit, StoppedBy::MaxPairs, StoppedBy::Interrupt]
                .into_iter()
                .chain([StoppedBy::Identical, StoppedBy::NoBaseline])
                .map(StoppedBy::name)
                .collect(),
            [Status::Compared, Status::New, Status::Removed].map(Status::name).to_vec(),
        ];
        for names in listed {
            let quoted = names.iter().map(|name| format!("\"{name}\"")).collect::<Vec<_>>();
            assert!(schema.contains(&quoted.join(", ")), "{quoted:?}");
        }
        assert_eq!(format!("{NoRegression}"), "no-regression");
    }

    #[test]
    fn one_regression_outweighs_all_and_one_open_question_a_pass() {
        let table = [
            (vec![], NoRegression),
            (vec![NoRegression, NoRegression], NoRegression),
            (vec![NoRegression, Inconclusive], Inconclusive),
            (vec![Inconclusive, Regression, NoRegression], Regression),
        ];
        for (verdicts, expected) in table {
            assert_eq!(Verdict::overall(verdicts.clone()), expected, "{verdicts:?}");
        }
    }
    #[test]
    fn what_was_sampled_is_that_of_all_benchmarks() {
        let benchmark = |pairs, verdict| BenchmarkResult {
            name: "parse".to_owned(),
            status: Status::Compared,
            pairs,
            metrics: [None, verdict]
                .map(|verdict| {
                    let metric = Metric::named("wall_time");
                    MetricResult::new(metric, Some(0.02), Summary::default(), verdict)
                })
                .to_vec(),
        };
        let sampled = |verdict| Sampled {
            benchmarks: vec![benchmark(3, Some(NoRegression)), benchmark(40, verdict)],
            stopped_by: StoppedBy::TimeLimit,
            elapsed: 1.0,
        };
        assert_eq!(sampled(None).pairs(), 43);
        assert_eq!(sampled(None).verdict(), NoRegression, "one does not gate");
        assert_eq!(sampled(Some(Inconclusive)).verdict(), Inconclusive);
    }
}
