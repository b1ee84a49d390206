//! One number for all benchmarks of a suite, with a test of its own.
//!
//! The first pairs of all benchmarks are a round, then the second ones, and so on. A round is one
//! pair of the suite: the sums of the bases and of the heads, or the geometric mean of head/base,
//! for which a [round](Rounds) may have several pairs of each. *Why the theorem of single benchmarks
//! holds for it*: swapping base and head in every pair of a round swaps them in the pair of the
//! suite, and nobody knows the coins of a round before it; see `docs/statistics.md`. So one test
//! decides, with a share of the error like any other.
//!
//! If the number gates, every benchmark is measured until it is decided, in rounds. Otherwise it
//! comes from the rounds that are complete.

use std::collections::{BTreeMap, VecDeque};

use super::plan::{Plan, PlannedNumber};
use super::test::MetricTest;
use crate::model::{
    BenchmarkId, BenchmarkResult, Gate, LEAST_BENCHMARKS, MetricId, MetricResult, Pair, Row, Side,
    Status, SuiteGate, SuiteNumber, Summary,
};
use crate::stats::rounds::Rounds;

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
                    let metric = metric.clone();
                    self.suite.push(PlannedNumber { number, metric, gate });
                }
            }
        }
    }
}

/// The test of one number of the suite.
#[derive(Debug)]
pub(crate) struct SuiteTest {
    number: SuiteNumber,
    pub(super) test: MetricTest,
    metric: MetricId,
    /// For each benchmark, the pairs for which others have none yet.
    waiting: BTreeMap<BenchmarkId, VecDeque<Pair<f64>>>,
    /// How many benchmarks share the geometric mean, with those that are unaffected.
    sharing: f64,
    rounds: Rounds,
    /// Whether a value was not positive, so that there is no geometric mean.
    is_undefined: bool,
    /// The pairs of its benchmarks, round by round, if they are judged with those of other machines.
    kept: Option<Vec<Vec<Pair<f64>>>>,
}

impl SuiteTest {
    pub(crate) fn new(plan: &Plan, planned: &PlannedNumber) -> Self {
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
            rounds: Rounds::default(),
            is_undefined: false,
            kept: (plan.is_over_layouts && plan.is_suite_divided).then(Vec::new),
        }
    }

    /// Adds a pair of a benchmark, and each round that it completes. Returns whether that was a
    /// regression at last.
    pub(crate) fn push(&mut self, id: BenchmarkId, base: &Row, head: &Row) -> bool {
        let values = base.get(self.metric).zip(head.get(self.metric));
        let (Some(own), Some((base, head))) = (self.waiting.get_mut(&id), values) else {
            return false;
        };
        own.push_back(Pair { base, head });
        let was_known = self.test.verdict().is_some();
        while self.waiting.values().all(|pairs| !pairs.is_empty()) {
            let round: Vec<Pair<f64>> =
                self.waiting.values_mut().filter_map(VecDeque::pop_front).collect();
            self.is_undefined |= round.iter().any(|pair| !(pair.base > 0.0 && pair.head > 0.0));
            if let Some((base, head)) = self.together(&round).filter(|_| !self.is_undefined) {
                self.test.push(base, head, Side::Base);
            }
            self.kept.iter_mut().for_each(|kept| kept.push(round.clone()));
        }
        !was_known && self.test.is_regression()
    }

    /// The pair of the suite after one more pair of each benchmark, if that completes a round.
    fn together(&mut self, pairs: &[Pair<f64>]) -> Option<(f64, f64)> {
        let sum = |side| pairs.iter().map(|pair: &Pair<f64>| pair[side]).sum();
        if self.number == SuiteNumber::Sum {
            return Some((sum(Side::Base), sum(Side::Head)));
        }
        let logs = pairs.iter().map(|pair| (pair.head / pair.base).ln());
        let mean = self.rounds.push(logs.collect())?;
        let half = 0.5 * mean * pairs.len() as f64 / self.sharing;
        Some(((-half).exp(), half.exp()))
    }

    /// Whether a benchmark has to be measured for the verdict.
    pub(super) fn needs(&self, id: usize) -> bool {
        self.is_open() && self.waiting.contains_key(&BenchmarkId(id))
    }

    pub(super) fn is_open(&self) -> bool {
        self.test.is_open() && !self.is_undefined
    }

    /// How many pairs of each benchmark are in a round.
    pub(super) fn round_length(&self) -> u64 {
        self.rounds.length() as u64
    }

    pub(crate) fn test(&self) -> &MetricTest {
        &self.test
    }

    /// The pairs that were kept, of each benchmark.
    pub(crate) fn kept(&self) -> impl Iterator<Item = (BenchmarkId, Vec<Pair<f64>>)> {
        self.kept.iter().flat_map(|rounds| {
            let of = |place| rounds.iter().map(|round| round[place]).collect();
            self.waiting.keys().enumerate().map(move |(place, id)| (*id, of(place)))
        })
    }

    pub(crate) fn benchmarks(&self) -> usize {
        self.waiting.len()
    }

    /// The result so far. With unaffected benchmarks, which have no values, only the change of the
    /// geometric mean means something.
    pub(crate) fn result(&self) -> BenchmarkResult {
        let mut metric = MetricResult { mean: None, ..self.test.result() };
        if self.number == SuiteNumber::Geomean {
            let pairs = self.rounds.pairs();
            metric.summary = Summary { pairs, base: None, head: None, ..metric.summary };
        }
        BenchmarkResult {
            pairs: metric.summary.pairs,
            metrics: vec![metric],
            ..BenchmarkResult::new(&self.number.title(), Status::Compared)
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::engine::experiment::Experiment;
    use crate::model::{Estimator, Metric, Sampled, StoppedBy, Verdict};
    use crate::stats::tests::TestNoise;

    fn asked(number: SuiteNumber, threshold: f64) -> Option<SuiteGate> {
        Some(SuiteGate { number, threshold })
    }

    /// So many benchmarks, each in a process of its own, which may be slower by 5 %.
    fn plan(benchmarks: usize, suite: Option<SuiteGate>, unaffected: usize) -> Plan {
        let mut plan = Plan::new(0.95, Estimator::Robust, 3);
        for _ in 0..benchmarks {
            plan.add_group(0, true, 1.0);
            let gates = vec![Gate::new("wall_time", 0.05)];
            plan.add_benchmark("it", &[Metric::named("wall_time")], gates);
        }
        plan.add_suite(suite, unaffected);
        Plan { time_limit: Duration::from_secs(100_000), ..plan }
    }

    /// Samples a plan; each benchmark takes ten times as long as the one before, and is slower on
    /// the head by its change.
    fn sampled(
        plan: &Plan,
        noise: f64,
        change: impl Fn(usize) -> f64,
        mut after: impl FnMut(&[u64]),
    ) -> Sampled {
        let mut experiment = Experiment::new(plan.clone(), 0.0);
        let mut random = TestNoise::seeded(5);
        let mut pairs = vec![0; plan.benchmarks.len()];
        let mut now = 0.0;
        loop {
            let turn = match experiment.next(now) {
                Ok(turn) => turn,
                Err(stopped_by) => return experiment.finish(stopped_by),
            };
            now += 1.0;
            let mut rows = Vec::new();
            for id in &turn.wanted {
                pairs[id.0] += 1;
                for side in [Side::Base, Side::Head] {
                    let factor = if side == Side::Head { 1.0 + change(id.0) } else { 1.0 };
                    let time = factor * 10f64.powi(id.0 as i32) * (noise * random.normal()).exp();
                    rows.push(Row { benchmark: *id, side, values: vec![(MetricId(0), time)] });
                }
            }
            experiment.push(&turn, &rows, now);
            after(&pairs);
        }
    }

    fn changes(sampled: &Sampled) -> Vec<f64> {
        let numbers = &sampled.suite.as_ref().unwrap().numbers;
        numbers.iter().map(|one| one.metrics[0].summary.change.unwrap()).collect()
    }

    #[test]
    fn a_suite_that_is_a_little_slower_everywhere_is_a_regression_though_no_benchmark_is() {
        let plan = plan(14, asked(SuiteNumber::Geomean, 0.002), 0);
        let sampled = sampled(&plan, 0.02, |_| 0.02, |_| {});
        let suite = sampled.suite.as_ref().unwrap();
        assert_eq!((suite.benchmarks, suite.numbers.len()), (14, 2));
        let [geomean, sum] = &suite.numbers[..] else { panic!() };
        assert_eq!((&*geomean.name, &*sum.name), ("suite geomean", "suite sum"));
        assert_eq!(geomean.metrics[0].verdict, Some(Verdict::Regression));
        assert_eq!((geomean.metrics[0].threshold, sum.metrics[0].threshold), (Some(0.002), None));
        let verdicts = sampled.benchmarks.iter().map(|one| one.metrics[0].verdict);
        assert!(verdicts.clone().all(|verdict| verdict == Some(Verdict::NoRegression)));
        assert_eq!(
            (sampled.verdict(), sampled.stopped_by),
            (Verdict::Regression, StoppedBy::Verdict)
        );
        assert_eq!(plan.tests(), 15, "it shares the error");
    }

    #[test]
    fn until_it_is_decided_every_benchmark_has_as_many_pairs_as_the_others() {
        // The first benchmark is a regression soon, and the others pass.
        let plan = plan(6, asked(SuiteNumber::Geomean, 0.12), 0);
        let plan = Plan { max_pairs: Some(20), ..plan };
        let change = |id| if id == 0 { 1.0 } else { 0.0 };
        let sampled = sampled(&plan, 0.02, change, |pairs| {
            let (most, least) = (pairs.iter().max().unwrap(), pairs.iter().min().unwrap());
            assert!(most - least <= 1, "{pairs:?}");
        });
        assert_eq!(sampled.verdict(), Verdict::Regression);
        let suite = &sampled.suite.unwrap().numbers[0];
        assert_eq!(suite.metrics[0].verdict, Some(Verdict::Inconclusive));
        assert_eq!((suite.pairs, sampled.benchmarks[0].pairs), (20, 20));
    }

    #[test]
    fn what_is_unaffected_counts_as_unchanged_in_the_geometric_mean() {
        let of = |unaffected| changes(&sampled(&plan(3, None, unaffected), 0.0, |_| 0.08, |_| {}));
        let expected = |geomean: f64, found: &[f64]| {
            let [first, sum] = found[..] else { panic!() };
            assert!((first - geomean).abs() < 1e-9 && (sum - 0.08).abs() < 1e-9, "{found:?}");
        };
        expected(0.08, &of(0));
        expected(1.08f64.powf(0.75) - 1.0, &of(1));
    }

    #[test]
    fn each_benchmark_counts_alike_in_the_geometric_mean_and_as_long_as_it_takes_in_the_sum() {
        let change = |id| if id == 2 { 0.21 } else { 0.0 };
        let [geomean, sum] = changes(&sampled(&plan(3, None, 0), 0.0, change, |_| {}))[..] else {
            panic!()
        };
        assert!((geomean - (1.21f64.powf(1.0 / 3.0) - 1.0)).abs() < 1e-9, "{geomean}");
        assert!((sum - 21.0 / 111.0).abs() < 1e-9, "{sum}");
    }

    #[test]
    fn of_two_benchmarks_there_is_the_number_that_was_asked_for_alone() {
        assert!(plan(2, None, 40).suite.is_empty());
        let plan = plan(2, asked(SuiteNumber::Sum, 0.02), 40);
        let numbers: Vec<SuiteNumber> = plan.suite.iter().map(|one| one.number).collect();
        assert_eq!(numbers, [SuiteNumber::Sum]);
    }

    #[test]
    fn values_of_zero_have_no_geometric_mean() {
        let plan = plan(3, asked(SuiteNumber::Geomean, 0.02), 0);
        let plan = Plan { max_pairs: Some(20), ..plan };
        let sampled = sampled(&plan, 0.0, |id| if id == 1 { -1.0 } else { 0.0 }, |_| {});
        let geomean = &sampled.suite.as_ref().unwrap().numbers[0].metrics[0];
        assert_eq!(geomean.verdict, Some(Verdict::Inconclusive));
        assert_eq!((geomean.summary.change, sampled.verdict()), (None, Verdict::Inconclusive));
    }
}
