//! The results of benchmarks and of their metrics.

use std::cmp::Ordering;
use std::collections::BTreeSet;
use std::fmt;

use serde::{Deserialize, Serialize};

use super::verdict::{Judgement, Method, Status, Verdict};
use crate::model::gate::{Gate, Learnt, Waived};
use crate::model::layouts::OverLayouts;
use crate::model::metric::{Better, Metric, Unit};
use crate::model::noise::Finding;
use crate::model::side::Pair;

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
    /// What the threshold is learnt from, if it is not written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub learnt: Option<Learnt>,
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
        let (waiver, learnt) = (gate.waived(), gate.learnt);
        MetricResult { gates: true, threshold, waiver, learnt, ..self }
    }

    pub(crate) fn metric(&self) -> Metric {
        Metric { name: self.name.clone(), unit: self.unit.clone(), better: self.better }
    }

    /// Whether the placement of code alone can change it by some per cent.
    pub fn depends_on_placement(&self) -> bool {
        self.metric().depends_on_placement()
    }

    /// Whether the change is beyond the threshold that it would have without its waiver.
    pub fn needs_waiver(&self) -> bool {
        let worse = self.summary.change.map(|change| self.better.worse(change));
        // From zero to something has no change, but is one.
        let is_beyond = |waiver: &Waived| worse.is_none_or(|worse| worse > waiver.threshold);
        self.waiver.as_ref().is_some_and(is_beyond)
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

impl Verdict {
    /// The verdict on benchmarks, of which one may be
    /// [likely slower](crate::model::Outcome::likely_slower). Those that were not measured for lack
    /// of time leave it open.
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

#[cfg(test)]
mod tests {
    use super::Verdict::{Inconclusive, NoRegression, Regression};
    use super::*;

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
}
