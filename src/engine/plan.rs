//! What an experiment samples, and when it stops.

use std::ops::Range;
use std::time::Duration;

use super::test::estimator;
use crate::model::estimator::Estimator;
use crate::model::gate::Gate;
use crate::model::metric::Metric;
use crate::model::row::{BenchmarkId, MetricId};
use crate::stats::estimator::Levels;

/// What is sampled, and when it stops.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// The metrics, each name once, in the order of the columns of samples.
    pub metrics: Vec<Metric>,
    /// The benchmarks of all programs, by their ids.
    pub benchmarks: Vec<PlannedBenchmark>,
    pub(crate) programs: Vec<PlannedProgram>,
    /// 1 minus the chance of a wrong verdict.
    pub(crate) confidence: f64,
    /// How a change is estimated.
    pub(crate) estimator: Estimator,
    /// How long sampling may take.
    pub time_limit: Duration,
    /// How many pairs of each benchmark there may be.
    pub max_pairs: Option<u64>,
    /// Whether the first regression ends it.
    pub(crate) fail_fast: bool,
    /// Whether verdicts are given and end it. A shard gives none: it samples until
    /// a limit, and the verdict is that of all shards together.
    pub decides: bool,
    /// The seed of the order.
    pub seed: u64,
}

/// A benchmark to sample.
#[derive(Clone, Debug, PartialEq)]
pub struct PlannedBenchmark {
    /// Its name in the outputs.
    pub(crate) name: String,
    /// What its runs measure.
    pub(crate) metrics: Vec<(MetricId, Metric)>,
    /// The metrics that gate.
    pub(crate) gates: Vec<Gate>,
}

/// A program to sample.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct PlannedProgram {
    /// The benchmarks that its runs measure.
    pub(crate) benchmarks: Range<usize>,
    /// Whether a run can be limited to some of them.
    pub(crate) can_leave: bool,
    /// How long a pair of runs is expected to take, seconds; 0 if that is not known.
    pub(crate) pair_seconds: f64,
}

impl Plan {
    /// A plan without programs and without limits.
    pub fn new(confidence: f64, estimator: Estimator, seed: u64) -> Self {
        Plan {
            metrics: Vec::new(),
            benchmarks: Vec::new(),
            programs: Vec::new(),
            confidence,
            estimator,
            time_limit: Duration::MAX,
            max_pairs: None,
            fail_fast: false,
            decides: true,
            seed,
        }
    }

    /// Adds a program without benchmarks.
    pub fn add_program(&mut self, can_leave: bool, pair_seconds: f64) {
        let end = self.benchmarks.len();
        self.programs.push(PlannedProgram { benchmarks: end..end, can_leave, pair_seconds });
    }

    /// Adds a benchmark to the latest program.
    pub fn add_benchmark(
        &mut self,
        name: &str,
        metrics: &[Metric],
        gates: Vec<Gate>,
    ) -> BenchmarkId {
        let metrics = metrics.iter().map(|metric| (self.metric_id(metric), metric.clone()));
        let metrics = metrics.collect();
        self.benchmarks.push(PlannedBenchmark { name: name.to_owned(), metrics, gates });
        if let Some(program) = self.programs.last_mut() {
            program.benchmarks.end = self.benchmarks.len();
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

    /// The chances of a wrong verdict of either kind, for one of all the tests.
    pub(crate) fn levels(&self) -> Levels {
        Levels::new(self.confidence, self.tests())
    }

    /// How many tests share the error: metrics that gate, of all benchmarks.
    pub fn tests(&self) -> usize {
        self.benchmarks.iter().map(|benchmark| benchmark.gates.len()).sum()
    }

    /// The least number of pairs with which any test can be decided.
    pub fn least_pairs(&self) -> u64 {
        let gating = self.benchmarks.iter().flat_map(|benchmark| {
            let gates = |name: &str| benchmark.gates.iter().any(|gate| gate.metric == name);
            benchmark.metrics.iter().filter(move |(_, metric)| gates(&metric.name))
        });
        let least = gating
            .filter_map(|(_, metric)| estimator(metric, self.estimator).least_pairs(self.levels()));
        least.min().unwrap_or(u64::MAX)
    }

    /// How long the least sampling that can decide is expected to take.
    pub fn least_time(&self) -> Duration {
        let pair: f64 = self.programs.iter().map(|program| program.pair_seconds).sum();
        Duration::from_secs_f64(pair * self.least_pairs() as f64)
    }
}
