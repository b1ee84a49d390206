//! The result of a comparison or of an analysis of samples, in one model.
//! Serialized, an [`Outcome`] is the object that `--format json` prints.

pub(super) mod result;
pub(super) mod verdict;

use std::collections::BTreeSet;
use std::time::Duration;

pub use result::{
    BenchmarkResult, FunctionCounts, MeanDifference, MetricResult, PairsResult, Removed,
    SameReason, Summary,
};
use serde::{Deserialize, Deserializer, Serialize};
pub use verdict::{Doubt, Judgement, Method, Status, StoppedBy, Verdict};

use super::estimator::Estimator;
use super::explanation::Explanation;
use super::layouts::Layouts;
use super::notice::Notice;
use super::revision::Sides;
use super::shard::{Shard, ShardBy};
use super::suite::{Suite, SuiteGate};

/// The result of sampling all benchmarks.
#[derive(Clone, Debug, Default, PartialEq)]
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
        Sampled { stopped_by, ..Sampled::default() }
    }

    /// The benchmarks, and the numbers of all of them.
    pub(crate) fn results(&self) -> impl Iterator<Item = &BenchmarkResult> + Clone {
        self.benchmarks.iter().chain(self.suite.iter().flat_map(|suite| &suite.numbers))
    }

    /// The overall verdict of the gating metrics.
    pub(crate) fn verdict(&self) -> Verdict {
        Verdict::of_benchmarks(self.results(), self.likely_slower.as_deref())
    }

    /// Whether a metric of a benchmark is undecided.
    pub(crate) fn is_open(&self, benchmark: &str, metric: &str) -> bool {
        let own = self.benchmarks.iter().filter(|one| one.name == benchmark);
        let mut own = own.flat_map(|one| &one.metrics).filter(|one| one.name == metric);
        own.any(|one| one.verdict == Some(Verdict::Inconclusive))
    }

    /// The complete pairs of all benchmarks.
    pub(crate) fn pairs(&self) -> u64 {
        self.benchmarks.iter().map(|benchmark| benchmark.pairs).sum()
    }
}

/// The settings that decide, which a branch must not loosen unnoticed.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
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
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
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
    use crate::model::Metric;

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
            ..Sampled::nothing(StoppedBy::TimeLimit)
        };
        assert_eq!(sampled(None).pairs(), 43);
        assert_eq!(sampled(None).verdict(), NoRegression, "one does not gate");
        assert_eq!(sampled(Some(Inconclusive)).verdict(), Inconclusive);
        let mut somewhere = sampled(Some(Inconclusive));
        somewhere.likely_slower = Some("parse".to_owned());
        assert_eq!(somewhere.verdict(), Regression);
    }
}
