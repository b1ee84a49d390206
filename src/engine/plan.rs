//! What an experiment samples, and when it stops.

use std::collections::HashSet;
use std::iter::repeat_n;
use std::ops::Range;
use std::time::Duration;

use super::test::estimator;
use crate::model::{
    BenchmarkId, Estimator, Gate, Layouts, Metric, MetricId, Row, RunLength, Side, SuiteNumber,
};
use crate::stats::estimator::Levels;
use crate::stats::family::Family;

/// Harnesses with a flag for the time of a run execute each benchmark at least this often.
const LEAST_ITERATIONS: f64 = 10.0;

/// What is sampled, and when it stops.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Plan {
    /// The metrics, each name once, in the order of the columns of samples.
    pub metrics: Vec<Metric>,
    /// The benchmarks of all programs, by their ids.
    pub benchmarks: Vec<PlannedBenchmark>,
    /// What one run measures, in the order of the benchmarks.
    pub(crate) groups: Vec<Group>,
    /// The numbers of all benchmarks together.
    pub(crate) suite: Vec<PlannedNumber>,
    /// Whether the suite is divided among machines: then the numbers of one say only how much it has
    /// to measure, and those of all together are computed from their pairs.
    pub(crate) is_suite_divided: bool,
    /// The number of benchmarks that are not measured because they do the same on both sides.
    pub(crate) unaffected: usize,
    /// 1 minus the probability of a wrong verdict.
    pub(crate) confidence: f64,
    pub(crate) estimator: Estimator,
    /// How long sampling may take.
    pub time_limit: Duration,
    /// The part of the time limit that is kept for longer runs.
    pub(crate) kept: Duration,
    /// The maximum number of pairs of each benchmark.
    pub max_pairs: Option<u64>,
    /// Whether the first regression ends sampling.
    pub(crate) fail_fast: bool,
    /// Whether sampling ends once no further verdict is expected within the time limit.
    pub gives_up: bool,
    /// Whether verdicts are reached and end sampling. A shard by pairs reaches none: it
    /// samples until a limit, and all shards together get one verdict.
    pub decides: bool,
    /// The number of tests that share the error, if there are others than these.
    pub(crate) of_tests: Option<usize>,
    /// Whether each pair has executables with layouts of their own.
    pub is_over_layouts: bool,
    /// Whether its runs are longer ones of what has not regressed.
    pub is_longer: bool,
    /// What is tested again over layouts.
    pub layouts: Layouts,
    /// How many layouts there are, if no more can be linked.
    pub(crate) most_layouts: Option<u64>,
    /// The seed of the order.
    pub seed: u64,
}

/// A benchmark to sample.
#[derive(Clone, Debug, PartialEq)]
pub struct PlannedBenchmark {
    /// Its name in the outputs.
    pub name: String,
    /// The harness's name for it; `None` for the program itself.
    pub(crate) inner: Option<String>,
    /// The time of an iteration, seconds, if that determines how it is sampled.
    pub(crate) iteration: Option<f64>,
    /// What its runs measure.
    pub(crate) metrics: Vec<(MetricId, Metric)>,
    pub(crate) gates: Vec<Gate>,
}

/// A number of the suite, and whether it gates.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct PlannedNumber {
    pub(crate) number: SuiteNumber,
    pub(crate) metric: Metric,
    pub(crate) gate: Option<Gate>,
}

/// The benchmarks of a program that are measured in one run.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Group {
    /// The program, by its index in the comparison.
    pub(crate) program: usize,
    pub(crate) benchmarks: Range<usize>,
    /// Whether a run can be limited to some of them.
    pub(crate) can_select_benchmarks: bool,
    /// The expected time of a pair of runs, seconds; 0 if unknown.
    pub(crate) pair_seconds: f64,
    /// Whether that is the time of other groups, since none of its own pairs was timed.
    pub(crate) is_guessed: bool,
    /// Whether that is what an earlier comparison found, maybe while the machine did less.
    pub(crate) is_stored: bool,
    /// How long a run measures each benchmark, if that can be set.
    pub(crate) length: Option<RunLength>,
    /// A run of any length has at least this many iterations of each benchmark.
    pub(crate) least_iterations: f64,
    /// The pairs with which lengths were tried. They count like all others.
    pub(crate) tried: Vec<TriedPair>,
}

impl Group {
    /// Whether runs of this length have more iterations of so many seconds than any has.
    pub(crate) fn has_enough(&self, length: Duration, seconds: f64) -> bool {
        length.as_secs_f64() > self.least_iterations * seconds
    }
}

/// A pair that was measured before the experiment.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct TriedPair {
    pub(crate) first: Side,
    pub(crate) rows: Vec<Row>,
}

impl PlannedBenchmark {
    /// Whether one of its metrics gates.
    pub fn gates(&self) -> bool {
        !self.gates.is_empty()
    }

    /// The metrics that gate, in the order of the metrics.
    pub(crate) fn gating(&self) -> impl Iterator<Item = (MetricId, &Metric, &Gate)> {
        self.metrics.iter().filter_map(|(id, metric)| {
            let gate = self.gates.iter().find(|gate| gate.metric == metric.name)?;
            Some((*id, metric, gate))
        })
    }
}

impl Plan {
    /// A plan without benchmarks and without limits.
    pub fn new(confidence: f64, estimator: Estimator, seed: u64) -> Self {
        Plan {
            confidence,
            estimator,
            time_limit: Duration::MAX,
            decides: true,
            layouts: Layouts::Off,
            seed,
            ..Plan::default()
        }
    }

    /// The time that is left after `elapsed` seconds without longer runs, seconds.
    pub(crate) fn left(&self, elapsed: f64) -> f64 {
        self.time_limit.saturating_sub(self.kept).as_secs_f64() - elapsed
    }

    /// Adds an empty group of program number `program`.
    pub fn add_group(&mut self, program: usize, can_select_benchmarks: bool, pair_seconds: f64) {
        let end = self.benchmarks.len();
        let benchmarks = end..end;
        let group = Group { program, benchmarks, can_select_benchmarks, ..Group::default() };
        self.groups.push(Group { pair_seconds, least_iterations: LEAST_ITERATIONS, ..group });
    }

    /// Adds a benchmark to the latest group.
    pub fn add_benchmark(
        &mut self,
        name: &str,
        metrics: &[Metric],
        gates: Vec<Gate>,
    ) -> BenchmarkId {
        let metrics = metrics.iter().map(|metric| (self.metric_id(metric), metric.clone()));
        let metrics = metrics.collect();
        let name = name.to_owned();
        self.benchmarks.push(PlannedBenchmark {
            name,
            inner: None,
            iteration: None,
            metrics,
            gates,
        });
        if let Some(group) = self.groups.last_mut() {
            group.benchmarks.end = self.benchmarks.len();
        }
        BenchmarkId(self.benchmarks.len() - 1)
    }

    fn metric_id(&mut self, metric: &Metric) -> MetricId {
        let known = self.metrics.iter().position(|known| known.name == metric.name);
        MetricId(known.unwrap_or_else(|| {
            self.metrics.push(metric.clone());
            self.metrics.len() - 1
        }))
    }

    /// Removes the benchmarks that are not `kept`, by their ids, and the groups and metrics of no
    /// others.
    pub(crate) fn retain(&mut self, kept: &[bool]) {
        let new_id = |kept: &[bool], id: usize| kept[..id].iter().filter(|kept| **kept).count();
        retain(&mut self.benchmarks, kept);
        let has = |id| self.benchmarks.iter().any(|one| one.metrics.iter().any(|it| it.0.0 == id));
        let has: Vec<bool> = (0..self.metrics.len()).map(has).collect();
        retain(&mut self.metrics, &has);
        let ids = self.benchmarks.iter_mut().flat_map(|one| &mut one.metrics);
        ids.for_each(|(id, _)| id.0 = new_id(&has, id.0));
        for Group { benchmarks, tried, .. } in &mut self.groups {
            *benchmarks = new_id(kept, benchmarks.start)..new_id(kept, benchmarks.end);
            for pair in tried {
                pair.rows.retain(|row| kept[row.benchmark.0]);
                for Row { benchmark, values, .. } in &mut pair.rows {
                    benchmark.0 = new_id(kept, benchmark.0);
                    values.iter_mut().for_each(|(id, _)| id.0 = new_id(&has, id.0));
                }
            }
        }
        self.groups.retain(|group| !group.benchmarks.is_empty());
    }

    /// Whether something is sampled again that was sampled as built before.
    pub fn is_again(&self) -> bool {
        self.is_over_layouts || self.is_longer
    }

    /// Whether what passes may be sampled again, in longer runs.
    pub fn may_be_longer(&self) -> bool {
        self.decides && !self.is_longer && self.run_lengths().next().is_some()
    }

    /// The groups whose run length can be set: the names of the benchmarks, how long a
    /// run measures each of them, and the expected time of a pair, seconds.
    pub fn run_lengths(&self) -> impl Iterator<Item = (Vec<&str>, Duration, f64)> {
        self.groups.iter().filter_map(|group| {
            let benchmarks = &self.benchmarks[group.benchmarks.clone()];
            let names = benchmarks.iter().map(|benchmark| benchmark.name.as_str());
            Some((names.collect(), group.length?.time()?, group.pair_seconds))
        })
    }

    /// What belongs to each benchmark, by their ids, as lists by program.
    pub(crate) fn by_program<T>(&self, of_benchmarks: Vec<T>, programs: usize) -> Vec<Vec<T>> {
        let mut all: Vec<Vec<T>> = (0..programs).map(|_| Vec::new()).collect();
        let programs =
            self.groups.iter().flat_map(|group| group.benchmarks.clone().map(|_| group.program));
        for (program, one) in programs.zip(of_benchmarks) {
            all[program].push(one);
        }
        all
    }

    /// The error probabilities of both kinds, for a single one of the tests.
    pub(crate) fn levels(&self) -> Levels {
        self.family().levels()
    }

    /// All the tests that share the error.
    pub(super) fn family(&self) -> Family {
        Family::new(self.confidence, self.sharing())
    }

    /// The number of tests that share the error.
    pub(crate) fn sharing(&self) -> usize {
        self.of_tests.unwrap_or_else(|| self.tests())
    }

    /// The number of its tests: the gating metrics of all benchmarks, and the gating numbers of
    /// the suite.
    pub fn tests(&self) -> usize {
        let own: usize = self.benchmarks.iter().map(|benchmark| benchmark.gates.len()).sum();
        let suite = if self.is_suite_divided { 0 } else { self.suite_gates().count() };
        own + suite
    }

    /// The numbers of the suite that gate.
    pub(crate) fn suite_gates(&self) -> impl Iterator<Item = &PlannedNumber> {
        self.suite.iter().filter(|number| number.gate.is_some())
    }

    /// The least number of pairs with which any test can be decided.
    pub fn least_pairs(&self) -> u64 {
        self.least_pairs_of(&self.benchmarks).min().unwrap_or(u64::MAX)
    }

    /// Whether the same metric gates everywhere.
    pub fn is_about_one_metric(&self) -> bool {
        let mut gates = self.benchmarks.iter().flat_map(|one| &one.gates);
        let first = gates.next();
        gates.all(|gate| first.is_some_and(|first| first.metric == gate.metric))
    }

    /// The number of pairs with which every test of a group can be decided; none if
    /// nothing of it gates.
    pub(crate) fn least_pairs_in(&self, group: &Group) -> Option<u64> {
        self.least_pairs_of(&self.benchmarks[group.benchmarks.clone()]).max()
    }

    fn least_pairs_of<'a>(
        &'a self,
        benchmarks: &'a [PlannedBenchmark],
    ) -> impl Iterator<Item = u64> + 'a {
        let levels = self.levels();
        let gating = benchmarks.iter().flat_map(PlannedBenchmark::gating);
        let gating = gating.map(|(_, metric, _)| metric);
        let gating = gating.chain(self.suite_gates().map(|number| &number.metric));
        // Each once: it takes long to compute.
        let estimators: HashSet<Estimator> =
            gating.map(|metric| estimator(metric, self.estimator)).collect();
        estimators.into_iter().filter_map(move |estimator| estimator.least_pairs(levels))
    }

    /// How long the least number of pairs of each benchmark takes, by their ids, seconds; 0 if it
    /// does not gate, or if that is unknown. Benchmarks that are measured together share the time.
    pub(crate) fn least_seconds(&self) -> Vec<f64> {
        let of_group = |group: &Group| {
            let pairs = self.least_pairs_in(group).unwrap_or(0) as f64;
            let benchmarks = group.benchmarks.len();
            repeat_n(pairs * group.pair_seconds / benchmarks as f64, benchmarks)
        };
        self.groups.iter().flat_map(of_group).collect()
    }

    /// How many times the least number of pairs for any verdict an all-clear needs, at least 1.
    pub(crate) fn pairs_to_pass_per_least(&self) -> f64 {
        let (levels, least) = (self.levels(), self.least_pairs());
        let gating = self.benchmarks.iter().flat_map(PlannedBenchmark::gating);
        let estimators: HashSet<Estimator> =
            gating.map(|(_, metric, _)| estimator(metric, self.estimator)).collect();
        let most = estimators.into_iter().filter_map(|one| one.least_pairs_to_pass(levels.clear));
        most.max().map_or(1.0, |most| (most as f64 / least as f64).max(1.0))
    }

    /// How long it is expected to take until every test has the least number of pairs
    /// with which it can be decided. Those from before take no time.
    pub fn least_time(&self) -> Duration {
        let of = |group: &Group| {
            let further = self.least_pairs_in(group)?.saturating_sub(group.tried.len() as u64);
            Some(further as f64 * group.pair_seconds)
        };
        Duration::from_secs_f64(self.groups.iter().filter_map(of).sum())
    }
}

/// Keeps those of which this is true.
fn retain<T>(all: &mut Vec<T>, kept: &[bool]) {
    let mut kept = kept.iter();
    all.retain(|_| kept.next() == Some(&true));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_from_before_and_metrics_follow_the_benchmarks_that_are_kept() {
        let mut plan = Plan::new(0.95, Estimator::Robust, 1);
        for group in ["ab", "cde", "f"] {
            plan.add_group(0, true, 1.0);
            for name in group.chars() {
                let metric = if group == "ab" { "max_rss" } else { "wall_time" };
                plan.add_benchmark(&name.to_string(), &[Metric::named(metric)], Vec::new());
            }
        }
        let row = |id, side| Row {
            benchmark: BenchmarkId(id),
            side,
            values: vec![(MetricId(1), id as f64)],
        };
        let rows = (2..5).flat_map(|id| Side::BOTH.map(|side| row(id, side))).collect();
        plan.groups[1].tried = vec![TriedPair { first: Side::Head, rows }];
        plan.retain(&[false, false, true, false, true, true]);
        let names = plan.benchmarks.iter().map(|one| one.name.as_str());
        assert_eq!(names.collect::<Vec<_>>(), ["c", "e", "f"]);
        let ranges = plan.groups.iter().map(|group| group.benchmarks.clone());
        assert_eq!(ranges.collect::<Vec<_>>(), [0..2, 2..3]);
        let tried = &plan.groups[0].tried[0];
        let ids = tried.rows.iter().map(|row| (row.benchmark.0, row.values[0].1));
        assert_eq!(ids.collect::<Vec<_>>(), [(0, 2.0), (0, 2.0), (1, 4.0), (1, 4.0)]);
        assert_eq!(tried.first, Side::Head);
        let columns = plan.metrics.iter().map(|metric| metric.name.as_str());
        assert_eq!(columns.collect::<Vec<_>>(), ["wall_time"]);
        let ids = plan.benchmarks.iter().map(|one| one.metrics[0].0);
        assert!(ids.chain(tried.rows.iter().map(|row| row.values[0].0)).all(|id| id.0 == 0));
    }
}
