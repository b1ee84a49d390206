//! One number for all benchmarks of a suite, with a test of its own.
//!
//! The first pairs of all benchmarks are a round, then the second ones, and so on. A round is one
//! pair of the suite: the geometric means of the bases and of the heads, or their sums. *Why the
//! theorem of single benchmarks holds for it*: swapping base and head in every pair of a round
//! swaps them in the pair of the suite, and nobody knows the coins of a round before it; see
//! `docs/statistics.md`. So one test decides, with a share of the error like any other.
//!
//! If the number gates, every benchmark is measured until it is decided, in rounds. Otherwise it
//! comes from the rounds that are complete.

use std::collections::{BTreeMap, VecDeque};

use super::plan::Plan;
use super::test::MetricTest;
use crate::model::gate::Gate;
use crate::model::metric::Metric;
use crate::model::outcome::{BenchmarkResult, MetricResult, Status};
use crate::model::row::{BenchmarkId, MetricId, Row};
use crate::model::side::{Pair, Side};
use crate::model::suite::{LEAST_BENCHMARKS, SuiteGate, SuiteNumber};

/// A number of the suite, and whether it gates.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct PlannedNumber {
    pub(crate) number: SuiteNumber,
    pub(crate) metric: Metric,
    pub(crate) gate: Option<Gate>,
}

impl Plan {
    /// Adds the numbers of each metric that gates. Of few benchmarks there is only the one that
    /// was asked to gate.
    pub(crate) fn add_suite(&mut self, asked: Option<SuiteGate>, unaffected: usize) {
        self.unaffected = unaffected;
        for metric in self.metrics.clone() {
            let is_it = |gate: &Gate| gate.metric == metric.name;
            let gating = self.benchmarks.iter().filter(|one| one.gates.iter().any(is_it)).count();
            for number in SuiteNumber::ALL {
                let asked = asked.filter(|asked| asked.number == number && gating > 0);
                let gate = asked.map(|asked| Gate::new(&metric.name, asked.threshold));
                if gating >= LEAST_BENCHMARKS || gate.is_some() {
                    self.suite.push(PlannedNumber { number, metric: metric.clone(), gate });
                }
            }
        }
    }
}

/// The test of one number of the suite.
#[derive(Debug)]
pub(crate) struct SuiteTest {
    number: SuiteNumber,
    test: MetricTest,
    metric: MetricId,
    /// For each benchmark, the pairs for which others have none yet.
    waiting: BTreeMap<BenchmarkId, VecDeque<Pair<f64>>>,
    /// How many benchmarks share the geometric mean, with those that are unaffected.
    sharing: f64,
    /// Whether a value was not positive, so that there is no geometric mean.
    is_undefined: bool,
}

impl SuiteTest {
    pub(super) fn new(plan: &Plan, planned: &PlannedNumber) -> Self {
        let PlannedNumber { number, metric, gate } = planned;
        let place = plan.metrics.iter().position(|known| known.name == metric.name);
        let id = MetricId(place.unwrap_or(plan.metrics.len()));
        let all = plan.benchmarks.iter().enumerate();
        let members = all.filter(|(_, benchmark)| {
            // What does not gate is only measured often enough for a number that does.
            let gates = || benchmark.gates.iter().any(|gate| gate.metric == metric.name);
            let has_it = benchmark.metrics.iter().any(|(known, _)| *known == id);
            has_it && (gate.is_some() || gates())
        });
        let waiting: BTreeMap<_, _> =
            members.map(|(id, _)| (BenchmarkId(id), VecDeque::new())).collect();
        SuiteTest {
            number: *number,
            test: MetricTest::new(metric.clone(), gate.as_ref(), plan.estimator, plan.levels()),
            metric: id,
            sharing: (waiting.len() + plan.unaffected) as f64,
            waiting,
            is_undefined: false,
        }
    }

    /// Adds a pair of a benchmark, and each round that it completes. Returns whether that was a
    /// regression at last.
    pub(super) fn push(&mut self, id: BenchmarkId, base: &Row, head: &Row) -> bool {
        let values = base.get(self.metric).zip(head.get(self.metric));
        let (Some(own), Some((base, head))) = (self.waiting.get_mut(&id), values) else {
            return false;
        };
        own.push_back(Pair { base, head });
        let was_known = self.test.verdict().is_some();
        while self.waiting.values().all(|pairs| !pairs.is_empty()) {
            let round: Vec<Pair<f64>> =
                self.waiting.values_mut().filter_map(VecDeque::pop_front).collect();
            let Pair { base, head } =
                Pair::both(|side| self.together(round.iter().map(|pair| pair[side])));
            self.is_undefined |= !(base > 0.0 && head > 0.0);
            if !self.is_undefined {
                self.test.push(base, head, Side::Base);
            }
        }
        !was_known && self.test.is_regression()
    }

    /// The value of a side in a round.
    fn together(&self, values: impl Iterator<Item = f64>) -> f64 {
        match self.number {
            SuiteNumber::Geomean => (values.map(f64::ln).sum::<f64>() / self.sharing).exp(),
            SuiteNumber::Sum => values.sum(),
        }
    }

    /// Whether a benchmark has to be measured for the verdict.
    pub(super) fn needs(&self, id: usize) -> bool {
        self.is_open() && self.waiting.contains_key(&BenchmarkId(id))
    }

    pub(super) fn is_open(&self) -> bool {
        self.test.is_open() && !self.is_undefined
    }

    pub(crate) fn test(&self) -> &MetricTest {
        &self.test
    }

    pub(super) fn test_mut(&mut self) -> &mut MetricTest {
        &mut self.test
    }

    pub(super) fn benchmarks(&self) -> usize {
        self.waiting.len()
    }

    /// The result so far. With unaffected benchmarks, which have no values, only the change of the
    /// geometric mean means something.
    pub(super) fn result(&self) -> BenchmarkResult {
        let mut metric = MetricResult { mean: None, ..self.test.result() };
        if self.number == SuiteNumber::Geomean {
            (metric.summary.base, metric.summary.head) = (None, None);
        }
        let name = format!("suite {}", self.number);
        BenchmarkResult {
            pairs: metric.summary.pairs,
            metrics: vec![metric],
            ..BenchmarkResult::new(&name, Status::Compared)
        }
    }
}
