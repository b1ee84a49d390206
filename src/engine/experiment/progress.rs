//! What the experiment shows while it runs.

use super::Experiment;
use super::snapshot::Snapshot;
use super::state::{BenchmarkState, GroupState};
use crate::engine::plan::Plan;
use crate::engine::suite::SuiteTest;
use crate::engine::test::MetricTest;
use crate::model::{BenchmarkResult, MetricResult, Row};

/// Bounds and forecasts can take longer to compute than a pair takes to run, so they are only
/// computed on demand.
impl Experiment {
    /// What is sampled.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// Seconds between the beginning of the first measured pair and the end of the latest.
    pub fn elapsed(&self) -> f64 {
        self.elapsed
    }

    /// The results so far of the benchmarks of a group.
    pub(crate) fn results(&self, group: usize) -> impl Iterator<Item = &BenchmarkResult> + Clone {
        self.of_group(group).iter().map(BenchmarkState::result)
    }

    /// The name of a row's benchmark, and its number of pairs.
    pub fn pairs_of(&self, row: &Row) -> (&str, u64) {
        let benchmark = &self.benchmarks[row.benchmark.0];
        (&benchmark.name, benchmark.pairs)
    }

    /// What the latest pair decided.
    pub fn decided(&self) -> impl Iterator<Item = (&BenchmarkResult, &MetricResult)> {
        self.results_of(|test| test.verdict().is_some())
    }

    /// The regressions that the latest pair revealed.
    pub fn found(&self) -> impl Iterator<Item = (&BenchmarkResult, &MetricResult)> {
        self.results_of(MetricTest::is_regression)
    }

    /// The tests that were set aside after the latest pair.
    pub fn just_set_aside(&self) -> impl Iterator<Item = (&BenchmarkResult, &MetricResult)> {
        self.results_of(MetricTest::is_set_aside)
    }

    fn results_of(
        &self,
        holds: impl Fn(&MetricTest) -> bool,
    ) -> impl Iterator<Item = (&BenchmarkResult, &MetricResult)> {
        self.ended(holds).map(|(benchmark, test)| {
            let result = self.benchmarks[benchmark.0].result();
            (result, &result.metrics[*test])
        })
    }

    /// All results so far, and how long the rest is expected to take.
    pub fn snapshot(&self) -> Snapshot {
        let Experiment { plan, benchmarks, groups, suite, elapsed, .. } = self;
        let numbers = suite.iter().filter(|number| number.test().threshold().is_some());
        let limit = plan.time_limit.as_secs_f64();
        let remaining = self.remaining();
        let is_early = groups.iter().any(GroupState::is_early);
        let fits = remaining.is_some_and(|seconds| seconds <= limit - elapsed);
        Snapshot {
            benchmarks: numbers
                .map(SuiteTest::result)
                .chain(benchmarks.iter().map(|one| one.result().clone()))
                .collect(),
            elapsed: *elapsed,
            limit,
            remaining: remaining.filter(|_| fits),
            is_unlikely: plan.decides && !fits && !is_early,
            least_pairs: if plan.decides { plan.least_pairs() } else { 0 },
            is_over_layouts: plan.is_over_layouts,
        }
    }
}
