//! What is known of each group and each benchmark.

use std::cell::OnceCell;

use crate::engine::plan::{Group, Plan};
use crate::engine::schedule::Schedule;
use crate::engine::test::MetricTest;
use crate::model::{BenchmarkResult, Gate, MetricId, MetricResult, Row, RunLength, Side, Status};
use crate::stats::forecast::Forecast;

#[derive(Debug)]
pub(super) struct GroupState {
    pub(super) schedule: Schedule,
    /// Whether one of its benchmarks is undecided.
    pub(super) is_open: bool,
    /// The minimum number of pairs for a verdict of each of its tests.
    pub(super) least: u64,
    /// The minimum number of pairs for an all-clear.
    pub(super) to_pass: f64,
    pub(super) pairs: u64,
    /// How long a pair with the remaining benchmarks was expected to take before any was measured,
    /// seconds.
    pub(super) expected: f64,
    /// How long it takes.
    pub(super) pair_seconds: f64,
    /// Whether a pair of it was measured here.
    pub(super) is_timed: bool,
    /// The pairs since a benchmark left.
    pub(super) timed_pairs: u64,
    /// How long these took, seconds.
    pub(super) timed_seconds: f64,
    /// Computed on demand: a forecast can take as long as a run.
    pub(super) outlook: OnceCell<Outlook>,
}

impl GroupState {
    /// An all-clear needs `to_pass` times the least number of pairs.
    pub(super) fn new(plan: &Plan, number: usize, group: &Group, to_pass: f64) -> Self {
        let least = plan.least_pairs_in(group).filter(|_| plan.decides);
        let to_pass = |least: u64| to_pass * least as f64;
        GroupState {
            schedule: Schedule::new(plan.seed, number as u64),
            is_open: true,
            // A shard by pairs reaches no verdict, so its groups are sampled equally often.
            least: least.unwrap_or(u64::MAX),
            to_pass: least.map_or(f64::INFINITY, to_pass),
            pairs: 0,
            expected: group.pair_seconds,
            pair_seconds: group.pair_seconds,
            is_timed: false,
            timed_pairs: 0,
            timed_seconds: 0.0,
            outlook: OnceCell::new(),
        }
    }

    /// How long it takes until it has the minimum number of pairs, seconds.
    pub(super) fn lacking(&self) -> f64 {
        self.seconds_until(self.least as f64)
    }

    /// How long it takes until it has so many pairs, seconds.
    pub(super) fn seconds_until(&self, pairs: f64) -> f64 {
        (pairs - self.pairs as f64).max(0.0) * self.pair_seconds
    }
}

#[derive(Debug)]
pub(super) struct BenchmarkState {
    pub(super) name: String,
    /// How long a run measures it, seconds.
    pub(super) measurement_time: Option<f64>,
    pub(super) tests: Vec<(MetricId, MetricTest)>,
    pub(super) pairs: u64,
    /// The gates of a shard by pairs, whose verdicts are reached elsewhere.
    pub(super) undecided: Vec<Gate>,
    /// The result so far, computed on demand: with many benchmarks, those without a new
    /// pair are not computed again.
    pub(super) result: OnceCell<BenchmarkResult>,
}

impl BenchmarkState {
    /// Those of a group, without pairs.
    pub(super) fn all<'a>(plan: &'a Plan, group: &'a Group) -> impl Iterator<Item = Self> + 'a {
        let time = group.length.and_then(RunLength::time).map(|time| time.as_secs_f64());
        plan.benchmarks[group.benchmarks.clone()].iter().map(move |one| {
            let tests = one.metrics.iter().map(|(id, metric)| {
                let gate = one.gates.iter().find(|gate| gate.metric == metric.name);
                let gate = gate.filter(|_| plan.decides);
                (*id, MetricTest::new(metric.clone(), gate, plan.estimator, plan.levels()))
            });
            BenchmarkState {
                name: one.name.clone(),
                measurement_time: time,
                tests: tests.collect(),
                pairs: 0,
                undecided: if plan.decides { Vec::new() } else { one.gates.clone() },
                result: OnceCell::new(),
            }
        })
    }

    /// Adds a pair, and returns the tests that it decided.
    pub(super) fn push(&mut self, base: &Row, head: &Row, first: Side) -> Vec<usize> {
        let mut decided = Vec::new();
        for (number, (metric, test)) in self.tests.iter_mut().enumerate() {
            if let (Some(base), Some(head)) = (base.get(*metric), head.get(*metric)) {
                let was_known = test.verdict().is_some();
                test.push(base, head, first);
                decided.extend(test.verdict().filter(|_| !was_known).map(|_| number));
            }
        }
        self.pairs += 1;
        self.result = OnceCell::new();
        decided
    }

    /// The sum of the evidence of its tests for regressions.
    pub(super) fn evidence(&self) -> f64 {
        self.tests.iter().map(|(_, test)| test.evidence()).sum()
    }

    pub(super) fn is_open(&self) -> bool {
        !self.undecided.is_empty() || self.open_tests().next().is_some()
    }

    pub(super) fn open_tests(&self) -> impl Iterator<Item = &MetricTest> {
        self.tests.iter().map(|(_, test)| test).filter(|test| test.is_open())
    }

    pub(super) fn result(&self) -> &BenchmarkResult {
        self.result.get_or_init(|| self.results(MetricTest::result))
    }

    pub(super) fn results(&self, of: impl Fn(&MetricTest) -> MetricResult) -> BenchmarkResult {
        let metrics = self.tests.iter().map(|(_, test)| {
            let result = of(test);
            match self.undecided.iter().find(|gate| gate.metric == result.name) {
                Some(gate) => result.gated(gate),
                None => result,
            }
        });
        BenchmarkResult {
            pairs: self.pairs,
            measurement_time: self.measurement_time,
            metrics: metrics.collect(),
            ..BenchmarkResult::new(&self.name, Status::Compared)
        }
    }
}

/// How many more pairs are expected, after which [`None`] can't be predicted or never comes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Outlook {
    /// Until all verdicts.
    pub(super) all: Option<f64>,
    /// Until the first one.
    pub(super) soonest: Option<f64>,
}

impl Outlook {
    /// Without open tests.
    pub(super) const DECIDED: Self = Outlook { all: Some(0.0), soonest: None };

    /// Of a test that has `so_far` pairs. What can't be predicted may be decided by the next pair.
    pub(super) fn of(test: &MetricTest, so_far: u64) -> Self {
        match test.forecast() {
            Forecast::Pairs(pairs) => {
                let left = Some(pairs.saturating_sub(so_far) as f64);
                Outlook { all: left, soonest: left }
            }
            Forecast::Never => Outlook { all: None, soonest: None },
            Forecast::Unknown => Outlook { all: None, soonest: Some(0.0) },
        }
    }

    /// If each pair is one of this, and one of `other`.
    pub(super) fn along_with(self, other: Outlook) -> Self {
        Outlook {
            all: self.all.zip(other.all).map(|(one, other)| one.max(other)),
            soonest: self.soonest.into_iter().chain(other.soonest).reduce(f64::min),
        }
    }

    /// If this counts rounds of so many pairs.
    pub(super) fn in_rounds_of(self, pairs: u64) -> Self {
        let pairs = |rounds: f64| rounds * pairs as f64;
        Outlook { all: self.all.map(pairs), soonest: self.soonest.map(pairs) }
    }
}
