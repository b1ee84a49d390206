//! The result of a comparison or of an analysis of samples, in one model.
//! Serialized, an [`Outcome`] is the object that `--format json` prints.

use std::cmp::Ordering;
use std::collections::BTreeSet;
use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Deserializer, Serialize};

use crate::model::estimator::Estimator;
use crate::model::explanation::Explanation;
use crate::model::gate::{Gate, Waived};
use crate::model::layouts::{Layouts, OverLayouts};
use crate::model::metric::{Better, Metric, Unit};
use crate::model::noise::Finding;
use crate::model::notice::Notice;
use crate::model::revision::Sides;
use crate::model::shard::{Shard, ShardBy};
use crate::model::side::Pair;
use crate::model::suite::{Suite, SuiteGate};
use crate::model::words::words;

/// Displays an enum by the name under which it is serialized.
macro_rules! display_serialized {
    ($($name:ty),+) => {$(
        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.serialize(f)
            }
        }
    )+};
}

display_serialized!(Verdict, StoppedBy, Status, Method, Judgement);

/// The answer to the question "did it get slower by more than the threshold?",
/// for one metric or for all of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// The change is below the threshold.
    NoRegression,
    /// The change is above the threshold.
    Regression,
    /// Neither could be shown before sampling had to stop.
    Inconclusive,
    /// Both sides are the same program (only overall).
    Identical,
    /// The base has no such benchmark, or does not build (only overall).
    NoBaseline,
    /// The two sides print something different where that was asked to fail (only overall).
    DifferentOutput,
}

impl Verdict {
    /// The verdict on all metrics that gate: a regression if there is one, else
    /// inconclusive if there is one.
    pub(crate) fn overall(verdicts: impl IntoIterator<Item = Verdict>) -> Self {
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

    /// The verdict on benchmarks, of which one may be [likely slower](Outcome::likely_slower).
    /// Those that were not measured for lack of time leave it open.
    pub(crate) fn of_benchmarks<'a>(
        benchmarks: impl IntoIterator<Item = &'a BenchmarkResult>,
        likely_slower: Option<&str>,
    ) -> Self {
        let verdicts = benchmarks.into_iter().flat_map(|benchmark| {
            let is_open = benchmark.status == Status::NotMeasured;
            let open = is_open.then_some(Verdict::Inconclusive);
            benchmark.metrics.iter().filter_map(|metric| metric.verdict).chain(open)
        });
        match likely_slower {
            Some(_) => Verdict::Regression,
            None => Verdict::overall(verdicts),
        }
    }
}

/// A result that is neither a pass nor a regression. It passes unless it is set to fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Doubt {
    /// The limit was reached before a verdict.
    Inconclusive,
    /// The base lacks a benchmark, or does not build.
    NoBaseline,
    /// The head no longer measures what gates on the base.
    Removed,
}

words!(Doubt { Inconclusive = "inconclusive", NoBaseline = "no-baseline", Removed = "removed" });

/// Why sampling stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum StoppedBy {
    /// Every metric that gates had its verdict.
    Verdict,
    /// The time limit was reached.
    TimeLimit,
    /// There were no more pairs: the limit was reached, or all recorded ones were used.
    MaxPairs,
    /// A signal.
    Interrupt,
    /// There was nothing to measure.
    Identical,
    /// There was nothing to measure against.
    NoBaseline,
    /// The two sides print something different.
    DifferentOutput,
}

/// Which sides have a benchmark, or a metric.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Status {
    /// Both have it.
    #[default]
    Compared,
    /// Only the head has it.
    New,
    /// Only the base has it.
    Removed,
    /// Both have it, and the change does not affect it: nothing was measured.
    Unaffected,
    /// Both have it, and the time limit leaves no room for it.
    NotMeasured,
    /// Both have it, and print something different.
    DifferentOutput,
}

/// How samples were compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Method {
    /// By the rule of `compare`, valid however often the result is looked at.
    Sequential,
    /// By Student's and Fieller's intervals for pairs, valid for a single look.
    Paired,
    /// By Welch's and Fieller's intervals, valid for a single look.
    Welch,
    /// By BenchmarkTools' judgement, without any guarantee.
    Judge,
}

/// BenchmarkTools' judgement of a ratio of two estimates.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Judgement {
    /// Less than 1 by more than the tolerance.
    Improvement,
    /// Neither.
    Invariant,
    /// More than 1 by more than the tolerance, or no number.
    Regression,
}

/// What gates on the base but is not measured on the head.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Removed {
    /// The benchmark.
    pub benchmark: String,
    /// Its metric; `None` if the whole benchmark was removed.
    pub metric: Option<String>,
}

impl fmt::Display for Removed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.metric {
            Some(metric) => write!(f, "`{metric}` of `{}`", self.benchmark),
            None => write!(f, "`{}`", self.benchmark),
        }
    }
}

/// The estimates from the pairs so far. Nothing in it is NaN.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// The number of pairs.
    #[serde(skip)]
    pub pairs: u64,
    /// The base's estimate, in the metric's unit: its mean, geometric mean or median.
    pub base: Option<f64>,
    /// The head's estimate, in the metric's unit: that of the base, times 1 + the change, so
    /// that nobody who divides them finds another change.
    pub head: Option<f64>,
    /// The change, head/base - 1, as a fraction. `None` for a base of zero (but zero
    /// to zero is 0). For `robust` and the median, the median of the pairs' changes.
    pub change: Option<f64>,
    /// The lower bound of the change; `None` if there is none yet. It is
    /// infinite if the base is zero and the head is not, in so many pairs that
    /// this can't be chance.
    pub lower: Option<f64>,
    /// The upper bound of the change; `None` if there is none yet.
    pub upper: Option<f64>,
}

/// The difference of two means with its bounds, in the unit of the values.
/// Serialized, it is an array: lower bound, estimate, upper bound.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(from = "[f64; 3]", into = "[f64; 3]")]
pub struct MeanDifference {
    /// Its lower bound.
    pub lower: f64,
    /// Mean of the head minus mean of the base.
    pub estimate: f64,
    /// Its upper bound.
    pub upper: f64,
}

impl From<MeanDifference> for [f64; 3] {
    fn from(MeanDifference { lower, estimate, upper }: MeanDifference) -> Self {
        [lower, estimate, upper]
    }
}

impl From<[f64; 3]> for MeanDifference {
    fn from([lower, estimate, upper]: [f64; 3]) -> Self {
        MeanDifference { lower, estimate, upper }
    }
}

/// What pairs showed of a metric that another test decided.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct PairsResult {
    /// The estimates.
    #[serde(flatten)]
    pub summary: Summary,
    /// The verdict of the pairs alone.
    pub verdict: Verdict,
    /// Whether the executables were aligned: what did not change is at the same addresses.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub aligned: bool,
}

impl PairsResult {
    /// What was measured, in words for people.
    pub fn label(&self) -> &'static str {
        if self.aligned { "aligned" } else { "as built" }
    }
}

/// The result of one metric of one benchmark.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct MetricResult {
    /// The metric's name.
    pub name: String,
    /// Whether both sides measure it.
    pub status: Status,
    /// The unit of its values.
    pub unit: Unit,
    /// Which way is better.
    pub better: Better,
    /// Whether it gates, which it does if it has a threshold; for a removed
    /// metric, whether it gates on the base.
    pub gates: bool,
    /// The estimates in the metric's unit; the change and its bounds as
    /// fractions. For a gating metric, those of the test that gave the verdict, at the
    /// pair or layout that decided it.
    #[serde(flatten)]
    pub summary: Summary,
    /// The largest change for the worse that passes, a fraction.
    pub threshold: Option<f64>,
    /// The verdict, if the metric gates and this is not a shard by pairs.
    pub verdict: Option<Verdict>,
    /// The layouts of the test that gave the verdict, if it was not that of the pairs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub layouts: Option<OverLayouts>,
    /// What the pairs showed, if another test gave the verdict.
    #[serde(rename = "as_built", default, skip_serializing_if = "Option::is_none")]
    pub before: Option<PairsResult>,
    /// Whether the change passes, but is beyond the warning level.
    pub warned: bool,
    /// The waiver that the threshold comes from.
    pub(crate) waiver: Option<Waived>,
    /// The estimates by the plain mean of the same pairs, whatever the estimator;
    /// `None` for minima.
    pub mean: Option<Summary>,
    /// The difference of the means, for samples and a single look.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub difference: Option<MeanDifference>,
    /// BenchmarkTools' judgement, if it decides.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub judgement: Option<Judgement>,
    /// The number of tests that shared the probability of a false alarm when it was decided:
    /// fewer than all if regressions were found before.
    #[serde(skip, default = "alone")]
    pub shared_by: usize,
    /// The change of the typical run, if a slow tail changes the average by far more. A
    /// regression then is one of the average, and so are the estimates.
    #[serde(rename = "typical", default, skip_serializing_if = "Option::is_none")]
    pub overruled: Option<f64>,
    /// The number of pairs with exactly the change of the threshold, which
    /// count for neither side.
    #[serde(skip)]
    pub(crate) ties: u64,
    /// Properties of the noise that matter, if the metric gates; none before
    /// the end of sampling.
    #[serde(skip)]
    pub(crate) findings: Vec<Finding>,
    /// Among how many tests that share the error it is a regression, or would be if it is
    /// undecided: 0 if not even alone.
    #[serde(skip)]
    pub(crate) alarm_among: usize,
    /// Another estimator that would have needed less than half of the pairs for
    /// its verdict, and the number of pairs.
    #[serde(skip)]
    pub(crate) earlier: Option<(Estimator, u64)>,
}

fn alone() -> usize {
    1
}

impl MetricResult {
    /// The result of a metric that both sides measure, without further details.
    pub fn new(
        metric: Metric,
        threshold: Option<f64>,
        summary: Summary,
        verdict: Option<Verdict>,
    ) -> Self {
        let Metric { name, unit, better } = metric;
        MetricResult {
            name,
            unit,
            better,
            gates: threshold.is_some(),
            summary,
            threshold,
            verdict,
            shared_by: 1,
            ..MetricResult::default()
        }
    }

    /// The same result for a metric that gates, but whose verdict is reached elsewhere.
    #[must_use]
    pub(crate) fn gated(self, gate: &Gate) -> Self {
        let threshold = Some(gate.limit());
        MetricResult { gates: true, threshold, waiver: gate.waived(), ..self }
    }

    pub(crate) fn metric(&self) -> Metric {
        Metric { name: self.name.clone(), unit: self.unit.clone(), better: self.better }
    }

    /// Whether the placement of code alone can change it by some per cent.
    pub fn depends_on_placement(&self) -> bool {
        self.metric().depends_on_placement()
    }

    /// Whether it gates, and both sides measure it.
    pub(crate) fn decides(&self) -> bool {
        self.gates && self.status == Status::Compared
    }

    /// The change beyond which the metric is a regression, if it gates: the
    /// threshold, or the decrease that it allows if higher is better.
    pub fn limit(&self) -> Option<f64> {
        Some(self.better.limit(self.threshold?))
    }

    /// Whether a slow tail decided, and the estimates are those of the average.
    pub fn is_average(&self) -> bool {
        self.overruled.is_some() && self.verdict == Some(Verdict::Regression)
    }

    /// The estimates and the verdict of the pairs, whichever test decided.
    pub fn of_pairs(&self) -> (Summary, Option<Verdict>) {
        match &self.before {
            Some(before) => (before.summary, Some(before.verdict)),
            None => (self.summary, self.verdict),
        }
    }

    /// The rank of its verdict: 0 for a regression, 1 for inconclusive, 2 for all others, and 3
    /// without one.
    pub fn rank(&self) -> u8 {
        match self.verdict {
            Some(Verdict::Regression) => 0,
            Some(Verdict::Inconclusive) => 1,
            Some(_) => 2,
            None => 3,
        }
    }

    /// Puts the metric first that matters more: by verdict, and of what does not pass the one
    /// that is worse. An unknown change is the worst.
    pub fn by_severity(&self, other: &Self) -> Ordering {
        let worse = |result: &Self| match (result.rank(), result.better) {
            (0 | 1, Better::Lower) => result.summary.change.unwrap_or(f64::INFINITY),
            (0 | 1, Better::Higher) => -result.summary.change.unwrap_or(f64::NEG_INFINITY),
            _ => 0.0,
        };
        self.rank().cmp(&other.rank()).then_with(|| worse(other).total_cmp(&worse(self)))
    }
}

/// The results of one benchmark, or of two labels that are compared.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct BenchmarkResult {
    /// Its name.
    pub name: String,
    /// Whether both sides have it.
    pub status: Status,
    /// The number of complete pairs.
    pub pairs: u64,
    /// How long a run measured it, seconds, if that could be set.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub measurement_time: Option<f64>,
    /// The labels of its sides, for samples.
    #[serde(flatten)]
    pub labels: Option<Pair<String>>,
    /// How they were compared, for samples.
    #[serde(rename = "rule", skip_serializing_if = "Option::is_none")]
    pub method: Option<Method>,
    /// The share of the code that both sides have which is at the same addresses, if aligned
    /// executables were measured instead of those as built.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub aligned: Option<f64>,
    /// Its metrics.
    pub metrics: Vec<MetricResult>,
    /// The names of requested metrics that do not gate.
    #[serde(skip)]
    pub shown: Vec<String>,
    /// Why it was not measured, if it does the same on both sides.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<SameReason>,
    /// How long the least number of pairs of it takes, seconds, if there was no time for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub needed_seconds: Option<f64>,
}

impl BenchmarkResult {
    /// A benchmark without measurements.
    pub fn new(name: &str, status: Status) -> Self {
        BenchmarkResult { name: name.to_owned(), status, ..BenchmarkResult::default() }
    }

    /// A benchmark that does the same on both sides.
    pub(crate) fn same(name: &str, status: Status, reason: SameReason) -> Self {
        BenchmarkResult { reason: Some(reason), ..BenchmarkResult::new(name, status) }
    }

    /// A benchmark for which the time limit leaves no room.
    pub(crate) fn not_measured(name: &str, needed_seconds: f64) -> Self {
        let needed_seconds = Some(needed_seconds);
        BenchmarkResult { needed_seconds, ..BenchmarkResult::new(name, Status::NotMeasured) }
    }

    /// Whether one of its metrics regressed.
    pub(crate) fn has_regressed(&self) -> bool {
        self.metrics.iter().any(|metric| metric.verdict == Some(Verdict::Regression))
    }
}

/// What shows that a benchmark does the same on both sides, so that it was not measured.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SameReason {
    /// The functions of its program; `None` if the executables are equal in all that is loaded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub functions: Option<FunctionCounts>,
    /// The number of files that differ between the commits.
    pub changed_files: usize,
    /// The files and folders of the repository that its run accessed, none of which differs.
    /// `None` if there was no run, since no file differs.
    pub accessed: Option<BTreeSet<String>>,
}

/// The numbers of a program's functions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FunctionCounts {
    /// Those that were compared.
    pub compared: usize,
    /// Those of them that differ.
    pub differ: usize,
    /// Those of them that the run entered, none of which differs.
    pub entered: usize,
}

/// The result of sampling all benchmarks.
#[derive(Clone, Debug, PartialEq)]
pub struct Sampled {
    /// The benchmarks, in the order of the plan.
    pub benchmarks: Vec<BenchmarkResult>,
    /// All of them together, if they are several.
    pub(crate) suite: Option<Suite>,
    /// Why it stopped.
    pub(crate) stopped_by: StoppedBy,
    /// See [`Outcome::likely_slower`].
    pub(crate) likely_slower: Option<String>,
    /// The evidence that a benchmark is slower, as a part of the average of all that share the
    /// error.
    pub(crate) evidence: f64,
    /// From the start of the first measured pair to the end of the last,
    /// seconds.
    pub(crate) elapsed: f64,
}

impl Sampled {
    /// Without any pair.
    pub(crate) fn nothing(stopped_by: StoppedBy) -> Self {
        Sampled {
            benchmarks: Vec::new(),
            suite: None,
            stopped_by,
            likely_slower: None,
            evidence: 0.0,
            elapsed: 0.0,
        }
    }

    /// The benchmarks, and the numbers of all of them.
    pub(crate) fn results(&self) -> impl Iterator<Item = &BenchmarkResult> + Clone {
        self.benchmarks.iter().chain(self.suite.iter().flat_map(|suite| &suite.numbers))
    }

    /// The overall verdict of the gating metrics.
    pub(crate) fn verdict(&self) -> Verdict {
        Verdict::of_benchmarks(self.results(), self.likely_slower.as_deref())
    }

    /// The complete pairs of all benchmarks.
    pub(crate) fn pairs(&self) -> u64 {
        self.benchmarks.iter().map(|benchmark| benchmark.pairs).sum()
    }
}

/// The settings that decide, which a branch must not loosen unnoticed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Policy {
    /// 1 minus the probability of a wrong verdict, between 0.5 and 1.
    pub confidence: f64,
    /// How a change is estimated.
    pub estimator: Estimator,
    /// What fails besides a regression.
    #[serde(skip)]
    pub fail_on: BTreeSet<Doubt>,
    /// Whether a verdict is about the executables as built, or about many layouts.
    #[serde(skip)]
    pub layouts: Layouts,
    /// What is divided among several machines.
    #[serde(skip)]
    pub shard_by: ShardBy,
    /// The number of all benchmarks together that gates, if any.
    #[serde(skip)]
    pub suite: Option<SuiteGate>,
}

/// The limits of a comparison.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Limits {
    /// How long sampling may take.
    pub time: Duration,
    /// The maximum number of pairs of each benchmark.
    pub(crate) pairs: Option<u64>,
}

/// The result of a comparison, or of an analysis of samples, for which some
/// fields are `None`, as documented there.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Outcome {
    /// The overall verdict; `None` for a shard that measured, since all shards
    /// together get one, and for samples without a threshold.
    pub verdict: Option<Verdict>,
    /// The two commits; `None` for samples.
    #[serde(flatten)]
    pub sides: Option<Sides>,
    /// The compiler of the head, if something was built; `None` for samples.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    pub toolchain: Option<Option<String>>,
    /// The policy that decided.
    #[serde(flatten)]
    pub policy: Policy,
    /// The seed of the order, for a shard that of the whole comparison; `None` for samples, and if
    /// several machines had seeds of their own.
    pub seed: Option<u64>,
    /// Which shard this is, of a comparison over several machines; `None` for
    /// samples.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    pub shard: Option<Option<Shard>>,
    /// Why sampling stopped.
    pub stopped_by: StoppedBy,
    /// Seconds from the start of the first measured pair to the end of the last;
    /// `None` for samples.
    pub elapsed_seconds: Option<f64>,
    /// Seconds from the call to the first measured pair; `None` for samples.
    pub prepare_seconds: Option<f64>,
    /// The number of rows of samples; `None` for a comparison.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rows: Option<u64>,
    /// The benchmarks.
    pub benchmarks: Vec<BenchmarkResult>,
    /// All benchmarks together, if several were measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub suite: Option<Suite>,
    /// The benchmark that is most likely slower, if it is certain that one is but not which.
    /// The verdict is then a regression, although no metric has this verdict.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub likely_slower: Option<String>,
    /// What gates on the base but is not measured on the head.
    pub removed: Vec<Removed>,
    /// Why benchmarks regressed, the largest regression first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub explanations: Vec<Explanation>,
    /// What limited the sampling.
    #[serde(skip)]
    pub limits: Limits,
    /// The keys in which the tables of the sides differ and that change which
    /// benchmarks run.
    #[serde(skip)]
    pub selecting: Vec<String>,
    /// What the user should know. The binary words them, and adds them to the
    /// JSON.
    #[serde(skip)]
    pub notices: Vec<Notice>,
}

/// Distinguishes a field that is null from a missing one.
fn present<'de, T: Deserialize<'de>, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<T>, D::Error> {
    T::deserialize(deserializer).map(Some)
}

impl Outcome {
    /// The outcome of samples, before their benchmarks are added.
    pub(crate) fn of_samples(
        verdict: Option<Verdict>,
        policy: Policy,
        stopped_by: StoppedBy,
        rows: u64,
    ) -> Self {
        Outcome {
            verdict,
            sides: None,
            toolchain: None,
            policy,
            seed: None,
            shard: None,
            stopped_by,
            elapsed_seconds: None,
            prepare_seconds: None,
            rows: Some(rows),
            benchmarks: Vec::new(),
            suite: None,
            likely_slower: None,
            removed: Vec::new(),
            explanations: Vec::new(),
            limits: Limits::default(),
            selecting: Vec::new(),
            notices: Vec::new(),
        }
    }

    /// All metrics with their benchmarks.
    pub fn metrics(&self) -> impl Iterator<Item = (&BenchmarkResult, &MetricResult)> + Clone {
        self.benchmarks.iter().flat_map(|of| of.metrics.iter().map(move |metric| (of, metric)))
    }

    /// The metrics that decide.
    pub fn gates(&self) -> impl Iterator<Item = (&BenchmarkResult, &MetricResult)> + Clone {
        self.metrics().filter(|(_, metric)| metric.decides())
    }

    /// The numbers of the whole suite that decide.
    pub fn suite_gates(&self) -> impl Iterator<Item = (&BenchmarkResult, &MetricResult)> + Clone {
        self.suite.iter().flat_map(Suite::gates)
    }

    /// The complete pairs of all benchmarks.
    pub fn pairs(&self) -> u64 {
        self.benchmarks.iter().map(|benchmark| benchmark.pairs).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::Verdict::{Inconclusive, NoRegression, Regression};
    use super::*;

    #[test]
    fn names_are_those_of_the_published_schema() {
        let schema = include_str!("../../docs/schema.json");
        let holds = |names: &[&dyn fmt::Display]| {
            let quoted: Vec<String> = names.iter().map(|name| format!("\"{name}\"")).collect();
            assert!(schema.contains(&quoted.join(", ")), "{quoted:?}");
        };
        holds(&[
            &NoRegression,
            &Regression,
            &Inconclusive,
            &Verdict::Identical,
            &Verdict::NoBaseline,
            &Verdict::DifferentOutput,
        ]);
        use StoppedBy::{DifferentOutput, Identical, Interrupt, MaxPairs, NoBaseline, TimeLimit};
        let nothing: [&dyn fmt::Display; 3] = [&Identical, &NoBaseline, &DifferentOutput];
        holds(&[&StoppedBy::Verdict, &TimeLimit, &MaxPairs, &Interrupt]);
        holds(&nothing);
        let statuses: [&dyn fmt::Display; 6] = [
            &Status::Compared,
            &Status::New,
            &Status::Removed,
            &Status::Unaffected,
            &Status::NotMeasured,
            &Status::DifferentOutput,
        ];
        holds(&statuses);
        holds(&[&Method::Sequential, &Method::Paired, &Method::Welch, &Method::Judge]);
        holds(&[&Better::Lower, &Better::Higher]);
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
    fn what_was_not_measured_leaves_a_pass_open_but_not_a_regression() {
        let measured = |verdict| {
            let metric = Metric::named("wall_time");
            let metric = MetricResult::new(metric, Some(0.02), Summary::default(), Some(verdict));
            let metrics = vec![metric];
            BenchmarkResult { metrics, ..BenchmarkResult::new("parse", Status::Compared) }
        };
        for (verdict, expected) in [(NoRegression, Inconclusive), (Regression, Regression)] {
            let all = [measured(verdict), BenchmarkResult::not_measured("print", 90.0)];
            assert_eq!(Verdict::of_benchmarks(&all, None), expected);
        }
    }

    #[test]
    fn what_was_sampled_is_that_of_all_benchmarks() {
        let benchmark = |pairs, verdict| {
            let metric = |verdict| {
                let metric = Metric::named("wall_time");
                MetricResult::new(metric, Some(0.02), Summary::default(), verdict)
            };
            let metrics = vec![metric(None), metric(verdict)];
            BenchmarkResult { pairs, metrics, ..BenchmarkResult::new("parse", Status::Compared) }
        };
        let sampled = |verdict| Sampled {
            benchmarks: vec![benchmark(3, Some(NoRegression)), benchmark(40, verdict)],
            suite: None,
            stopped_by: StoppedBy::TimeLimit,
            likely_slower: None,
            evidence: 0.0,
            elapsed: 1.0,
        };
        assert_eq!(sampled(None).pairs(), 43);
        assert_eq!(sampled(None).verdict(), NoRegression, "one does not gate");
        assert_eq!(sampled(Some(Inconclusive)).verdict(), Inconclusive);
        let mut somewhere = sampled(Some(Inconclusive));
        somewhere.likely_slower = Some("parse".to_owned());
        assert_eq!(somewhere.verdict(), Regression);
    }
}
