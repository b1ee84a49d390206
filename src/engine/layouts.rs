//! A comparison over layouts: what is tested again, how many runs share a layout, and how
//! the two results are combined.
//!
//! In each unit, both sides get a random layout of their own. So units are exchangeable,
//! as pairs are, and the same rule decides, about the change averaged over layouts.
//! Placement is then noise between units, whatever it does to a single executable.
//! Where linking takes longer than the runs, several pairs share their layouts, and their median
//! is one unit of evidence.

use super::plan::{Plan, PlannedBenchmark};
pub use super::test::looks_slower;
use crate::model::{
    BenchmarkId, Better, Gate, Metric, MetricId, MetricResult, OverLayouts, PairsResult, Placing,
    Row, Side, Verdict,
};
use crate::stats::empirical::{median_of, typical_deviation};

/// Makes the order of the units differ from that of the pairs as built.
const SEED: u64 = 0x6c61_796f_7574;

/// The fewest pairs that share layouts and show their own noise.
const RUNS_TO_LEARN: u32 = 3;

/// The maximum number of pairs that share layouts. More would hardly help against
/// the noise of the layouts themselves.
const MOST_RUNS: u32 = 15;

/// The number of units before their noise is estimated.
const UNITS_TO_LEARN: usize = 4;

/// The variance of the median of a few normal values, relative to that of their mean.
const MEDIAN_VARIANCE_FACTOR: f64 = 1.4;

/// The number of pairs that share the first layouts. If a link takes no longer than one pair of all
/// benchmarks that share it, three pairs would take at least twice as long as one, and at most halve
/// the variance. But of at most `most` layouts, each has to show more.
pub fn first_runs(most: Option<u64>, link_seconds: f64, pair_seconds: f64) -> u32 {
    if most.is_some() || link_seconds > pair_seconds { RUNS_TO_LEARN } else { 1 }
}

/// What is tested over layouts, and the benchmark of the comparison that each belongs to.
#[derive(Debug)]
pub(crate) struct LayoutPlan {
    pub(crate) plan: Plan,
    /// For each of its benchmarks, the same one as built.
    pub(crate) of: Vec<BenchmarkId>,
    /// The same for its numbers of the suite.
    pub(crate) of_suite: Vec<usize>,
}

impl LayoutPlan {
    /// Tests `gates` over layouts, in at most `most` units. They get their share of the
    /// error among all tests of `plan`, since any of them could have been tested again. The
    /// order and the layouts are those of the test `number` of the comparison. `link` is how long
    /// linking both sides of a program takes, seconds.
    pub(crate) fn new(
        plan: &Plan,
        gates: &[(BenchmarkId, Gate)],
        most: Option<u64>,
        number: u64,
        link: impl Fn(usize) -> f64,
    ) -> Self {
        let of_benchmark = |id: usize| -> Vec<Gate> {
            gates.iter().filter(|(of, _)| of.0 == id).map(|(_, gate)| gate.clone()).collect()
        };
        let asked = |id| Some(of_benchmark(id)).filter(|gates| !gates.is_empty());
        let mut over = Self::of_benchmarks(plan, asked, number);
        over.plan.max_pairs = most;
        for group in &mut over.plan.groups {
            let runs = first_runs(most, link(group.program), group.pair_seconds);
            group.pair_seconds *= f64::from(runs);
        }
        over
    }

    /// Tests a number of the suite over layouts. Benchmarks have no verdicts of their own here: they
    /// have their own tests over layouts, if any, with another share of the error.
    pub(crate) fn of_suite(plan: &Plan, suite: usize, number: u64) -> Self {
        Self::of_benchmarks(plan, |_| Some(Vec::new()), number).with_suite(plan, vec![suite])
    }

    /// Tests the benchmarks for which there are gates.
    fn of_benchmarks(plan: &Plan, asked: impl Fn(usize) -> Option<Vec<Gate>>, number: u64) -> Self {
        let mut layouts = Plan {
            metrics: plan.metrics.clone(),
            time_limit: plan.time_limit,
            kept: plan.kept,
            gives_up: plan.gives_up,
            of_tests: Some(plan.sharing()),
            is_over_layouts: true,
            is_suite_divided: plan.is_suite_divided,
            ..Plan::new(plan.confidence, plan.estimator, plan.seed ^ (SEED + number))
        };
        let mut of: Vec<BenchmarkId> = Vec::new();
        for group in &plan.groups {
            let wanted = group.benchmarks.clone().filter_map(|id| Some((id, asked(id)?)));
            let wanted: Vec<(usize, Vec<Gate>)> = wanted.collect();
            if wanted.is_empty() {
                continue;
            }
            match layouts.groups.last_mut().filter(|last| last.program == group.program) {
                Some(last) => last.pair_seconds += group.pair_seconds,
                None => layouts.add_group(group.program, true, group.pair_seconds),
            }
            for (id, gates) in wanted {
                let PlannedBenchmark { name, metrics, .. } = &plan.benchmarks[id];
                let metrics: Vec<Metric> = metrics.iter().map(|(_, one)| one.clone()).collect();
                layouts.add_benchmark(name, &metrics, gates);
                of.push(BenchmarkId(id));
            }
        }
        LayoutPlan { plan: layouts, of, of_suite: Vec::new() }
    }

    /// Also tests these numbers of the suite.
    pub(crate) fn with_suite(mut self, plan: &Plan, numbers: Vec<usize>) -> Self {
        self.plan.suite = numbers.iter().map(|number| plan.suite[*number].clone()).collect();
        self.plan.unaffected = plan.unaffected;
        self.of_suite = numbers;
        self
    }
}

/// The distance from the threshold, in standard deviations of a unit, beyond which less noise
/// would hardly save units: nearly all of them are on the same side.
const CLEAR: f64 = 2.0;

/// The noise of one benchmark over layouts, as known so far.
#[derive(Clone, Debug)]
pub struct LayoutNoise {
    /// ln(head/base) at the threshold.
    threshold: f64,
    /// ln(head/base) of each unit.
    units: Vec<f64>,
    /// The differences of ln(head/base) between pairs that share layouts.
    within: Vec<f64>,
    /// The number of pairs that share the next layouts, if the noise tells.
    runs: Option<u32>,
}

impl LayoutNoise {
    /// Starts without data, for a benchmark whose head is compared with 1 + `limit`
    /// times its base; see [`Better::limit`](crate::model::metric::Better::limit).
    pub fn new(limit: f64) -> Self {
        let threshold = limit.ln_1p();
        LayoutNoise { threshold, units: Vec::new(), within: Vec::new(), runs: None }
    }

    /// For a benchmark of a suite of which only the whole is tested: there, many benchmarks share a
    /// layout, and one pair of each is enough.
    pub(crate) fn of_suite() -> Self {
        LayoutNoise { runs: Some(1), ..LayoutNoise::new(0.0) }
    }

    /// The number of pairs that share the next layouts, [`first`](first_runs) if the noise is not
    /// known. It depends on earlier units only, so that a unit can't choose its own weight.
    pub fn runs(&self, first: u32) -> u32 {
        self.runs.unwrap_or(first)
    }

    /// Adds the ratios head/base of the pairs of a unit. Linking took
    /// `link_seconds` of this benchmark's time, and a pair `pair_seconds`.
    pub fn push(&mut self, ratios: &[f64], link_seconds: f64, pair_seconds: f64) {
        let logs: Vec<f64> = ratios.iter().map(|ratio| ratio.ln()).collect();
        if logs.is_empty() || logs.iter().any(|log| !log.is_finite()) {
            return;
        }
        self.units.extend(median_of(logs.iter().copied()));
        self.within.extend(logs.windows(2).map(|two| two[1] - two[0]));
        if self.units.len() >= UNITS_TO_LEARN && self.units.len().is_power_of_two() {
            let runs = logs.len() as f64;
            self.runs = self.best_runs(runs, link_seconds, pair_seconds).or(self.runs);
        }
    }

    /// The number of pairs per unit that makes a verdict cheapest. Its cost is the duration
    /// of a unit times its variance, (L + r P) (l + p / r), with the seconds of linking and
    /// of a pair, L and P, and the variances of layouts and of a pair, l and p. The minimum
    /// is at r = sqrt(L p / (P l)). But a verdict takes a minimum number of units, which is
    /// enough if the standard deviation of a unit is the distance d from the threshold
    /// divided by [`CLEAR`], c: with r = p / ((d/c)^2 - l) pairs.
    /// `None` if the units, of so many `runs`, don't show the noise.
    fn best_runs(&self, runs: f64, link_seconds: f64, pair_seconds: f64) -> Option<u32> {
        let of_pair = MEDIAN_VARIANCE_FACTOR * 0.5 * typical_deviation(&self.within).powi(2);
        let of_unit = typical_deviation(&self.units).powi(2);
        let of_layout = (of_unit - of_pair / runs).max(0.01 * of_unit);
        let typical = median_of(self.units.iter().copied());
        let distance = typical.unwrap_or(f64::NAN) - self.threshold;
        let spare = (distance / CLEAR).powi(2) - of_layout;
        let enough = if spare > 0.0 { of_pair / spare } else { f64::INFINITY };
        let best = (link_seconds * of_pair / (pair_seconds * of_layout)).sqrt().min(enough);
        // An odd number has a middle.
        let odd = |best: f64| (best.clamp(1.0, f64::from(MOST_RUNS)) as u32 | 1).min(MOST_RUNS);
        best.is_finite().then(|| odd(best))
    }
}

/// One row per side from the rows of a unit: the median of each metric.
pub(crate) fn median_rows(rows: &[Row], benchmark: BenchmarkId, first: Side) -> Vec<Row> {
    [first, first.other()]
        .into_iter()
        .map(|side| {
            let own: Vec<&Row> = rows.iter().filter(|row| row.side == side).collect();
            let metrics = own.first().map(|row| row.values.iter().map(|(id, _)| *id));
            let of =
                |id: MetricId| Some((id, median_of(own.iter().filter_map(|row| row.get(id)))?));
            let values = metrics.into_iter().flatten().filter_map(of).collect();
            Row { benchmark, side, values }
        })
        .collect()
}

/// A program that takes longer than the base by more than this, as a fraction, is not merely placed
/// elsewhere: the most that `docs/data/layouts.md` has of placement alone is 0.52.
const BEYOND_PLACEMENT: f64 = 1.0;

/// The result over layouts, whose verdict counts, with that of the executables as built beside
/// it. Without any layout, the estimates are those of the pairs. Where there was no time for a
/// verdict over layouts, a regression as built is one if placement can't be the reason.
pub(crate) fn combined(
    as_built: &MetricResult,
    over: &MetricResult,
    placing: Placing,
    aligned: bool,
) -> MetricResult {
    let open = Verdict::Inconclusive;
    let is_beyond = as_built.better == Better::Lower
        && as_built.summary.lower.is_some_and(|lower| lower >= BEYOND_PLACEMENT);
    if is_beyond
        && as_built.verdict == Some(Verdict::Regression)
        && over.verdict.is_none_or(|verdict| verdict == open)
    {
        return as_built.clone();
    }
    let (summary, verdict) = (as_built.summary, as_built.verdict.unwrap_or(open));
    let number = over.summary.pairs;
    let decided = if number > 0 { over } else { as_built };
    MetricResult {
        verdict: Some(over.verdict.unwrap_or(open)),
        layouts: Some(OverLayouts { number, placing }),
        before: Some(PairsResult { summary, verdict, aligned }),
        waiver: as_built.waiver.clone(),
        learnt: as_built.learnt,
        findings: as_built.findings.clone(),
        alarm_among: over.alarm_among,
        ..decided.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Estimator, Summary};

    fn plan() -> Plan {
        let mut plan = Plan::new(0.95, Estimator::Robust, 1);
        for (program, name) in [(0, "a"), (0, "b"), (1, "c"), (0, "d")] {
            plan.add_group(program, true, 0.02);
            let metrics = [Metric::named("wall_time"), Metric::named("median_time")];
            plan.add_benchmark(name, &metrics, vec![Gate::new("median_time", 0.02)]);
        }
        plan
    }

    #[test]
    fn what_is_asked_again_shares_the_error_of_all() {
        let plan = plan();
        let gates = [0, 2, 3].map(|id| (BenchmarkId(id), Gate::new("median_time", 0.02)));
        let asked = LayoutPlan::new(&plan, &gates, Some(24), 0, |_| 0.5);
        assert_eq!(asked.plan.levels(), plan.levels());
        assert_eq!(asked.of, [0, 2, 3].map(BenchmarkId));
        let names: Vec<&str> =
            asked.plan.benchmarks.iter().map(|benchmark| benchmark.name.as_str()).collect();
        assert_eq!(names, ["a", "c", "d"]);
        assert!(asked.plan.is_over_layouts && !plan.is_over_layouts);
        let groups: Vec<_> = asked
            .plan
            .groups
            .iter()
            .map(|group| (group.program, group.benchmarks.clone()))
            .collect();
        assert_eq!(groups, [(0, 0..1), (1, 1..2), (0, 2..3)]);
        assert_eq!((asked.plan.max_pairs, asked.plan.time_limit), (Some(24), plan.time_limit));
    }

    /// The pairs per unit after many units with this noise, if linking takes `link` times
    /// as long as a pair.
    fn runs(of_layout: f64, of_pair: f64, link: f64) -> u32 {
        runs_of(0.0, of_layout, of_pair, link)
    }

    /// The same for a benchmark that is slower by ln(head/base) = `change`, at a threshold of 0.
    fn runs_of(change: f64, of_layout: f64, of_pair: f64, link: f64) -> u32 {
        let mut random = 1_u64;
        let mut normal = || -> f64 {
            let uniform = |random: &mut u64| {
                *random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                (*random >> 11) as f64 / (1_u64 << 53) as f64
            };
            (0..12).map(|_| uniform(&mut random)).sum::<f64>() - 6.0
        };
        let mut noise = LayoutNoise::new(0.0);
        for _ in 0..64 {
            let layout = change + of_layout * normal();
            let pairs: Vec<f64> = (0..noise.runs(RUNS_TO_LEARN))
                .map(|_| (layout + of_pair * normal()).exp())
                .collect();
            noise.push(&pairs, link, 1.0);
        }
        noise.runs(RUNS_TO_LEARN)
    }

    #[test]
    fn layouts_are_shared_by_as_many_pairs_as_make_a_verdict_cheapest() {
        // sqrt(14 * 1) is 3.7, sqrt(14 * 4) is 7.5, sqrt(14 / 100) is below 1.
        assert!((3..=5).contains(&runs(0.01, 0.01, 10.0)));
        assert!((5..=11).contains(&runs(0.01, 0.02, 10.0)));
        assert_eq!(runs(0.1, 0.01, 10.0), 1);
        assert_eq!(runs(0.01, 0.01, 0.01), 1);
        // If layouts make no difference, as many as allowed.
        assert_eq!(runs(0.0, 0.02, 100.0), MOST_RUNS);
        // But no more than it takes for the deviation to be half of the distance from the
        // threshold: 1.4 * 0.0004 / 0.0009 is below 1, 1.4 * 0.0016 / 0.0004 is 5.6.
        assert_eq!(runs_of(0.06, 0.0, 0.02, 100.0), 1);
        assert_eq!(runs_of(-0.06, 0.0, 0.02, 100.0), 1);
        assert!((3..=11).contains(&runs_of(0.04, 0.0, 0.04, 100.0)));
        assert_eq!(runs_of(0.01, 0.01, 0.04, 100.0), MOST_RUNS);
    }

    #[test]
    fn the_first_units_have_a_fixed_number_of_pairs() {
        let mut noise = LayoutNoise::new(0.02);
        for _ in 1..UNITS_TO_LEARN {
            noise.push(&[1.0, 1.5, 2.0], 1.0, 1.0);
            assert_eq!(noise.runs(RUNS_TO_LEARN), RUNS_TO_LEARN);
        }
        // Values without a logarithm are ignored, and without noise one pair is enough.
        let mut undefined = LayoutNoise::new(0.02);
        let mut constant = LayoutNoise::new(0.02);
        for _ in 0..9 {
            undefined.push(&[0.0, 1.0, f64::NAN], 1.0, 1.0);
            constant.push(&[1.0, 1.0, 1.0], 1.0, 1.0);
        }
        assert_eq!(
            (undefined.runs(RUNS_TO_LEARN), constant.runs(RUNS_TO_LEARN)),
            (RUNS_TO_LEARN, 1)
        );
    }

    #[test]
    fn a_unit_is_the_middle_of_its_runs_on_each_side() {
        let row = |side, value| Row {
            benchmark: BenchmarkId(7),
            side,
            values: vec![(MetricId(1), value)],
        };
        let rows: Vec<Row> = [(1.0, 5.0), (9.0, 4.0), (2.0, 90.0)]
            .into_iter()
            .flat_map(|(base, head)| [row(Side::Base, base), row(Side::Head, head)])
            .collect();
        let medians = median_rows(&rows, BenchmarkId(2), Side::Head);
        let values: Vec<_> =
            medians.iter().map(|row| (row.benchmark.0, row.side, row.get(MetricId(1)))).collect();
        assert_eq!(values, [(2, Side::Head, Some(5.0)), (2, Side::Base, Some(2.0))]);
    }

    #[test]
    fn the_verdict_over_layouts_counts() {
        let result = |pairs, change, verdict| {
            let summary = Summary { pairs, change: Some(change), ..Summary::default() };
            MetricResult::new(Metric::named("median_time"), Some(0.02), summary, Some(verdict))
        };
        let (bad, good, open) = (Verdict::Regression, Verdict::NoRegression, Verdict::Inconclusive);
        let verdict = |built, over| {
            let (built, over) = (result(12, 0.1, built), result(20, 0.001, over));
            let both = combined(&built, &over, Placing::Linked, false);
            assert_eq!((both.summary, both.of_pairs()), (over.summary, built.of_pairs()));
            assert_eq!(both.layouts.unwrap().number, 20);
            let none = MetricResult { summary: Summary::default(), ..over };
            assert_eq!(combined(&built, &none, Placing::Linked, false).summary, built.summary);
            both.verdict.unwrap()
        };
        for over in [bad, good, open] {
            for built in [bad, good, open] {
                assert_eq!(verdict(built, over), over);
            }
        }
        // What takes more than twice as long is not placement.
        let combined_of = |lower, built, over| {
            let mut built = result(12, 3.0, built);
            built.summary.lower = Some(lower);
            let both = combined(&built, &result(2, 2.9, over), Placing::Linked, true);
            (both.verdict.unwrap(), both.summary.change == built.summary.change)
        };
        assert_eq!(combined_of(1.0, bad, open), (bad, true));
        assert_eq!(combined_of(0.99, bad, open), (open, false));
        assert_eq!(combined_of(1.0, bad, good), (good, false));
        assert_eq!(combined_of(1.0, open, open), (open, false));
    }
}
