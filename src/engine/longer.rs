//! Longer runs of what passed. Code may be entered only after many iterations: a cache that
//! begins to evict, a table that grows. Short runs never get there.
//!
//! A benchmark passes if, after two pairs or more, the median of their changes is at most
//! [`TOLERANCE`] above the threshold. If it is not, more pairs follow, with the same test as
//! before: it may have an alarm, at a share of the error of its own ([`RESERVED`]). When the
//! pairs end has no influence on that: the test is sequential.

use std::time::Duration;

use super::plan::{Group, Plan};
use super::test::MetricTest;
use crate::model::{
    BenchmarkId, BenchmarkResult, Gate, Layouts, MetricResult, RunLength, Unit, Verdict,
};
use crate::stats::estimator::RESERVED;

/// The lengths, milliseconds. Half a second in ten samples has as many iterations in a sample
/// as criterion's own five seconds in a hundred.
const LENGTHS: [u64; 6] = [500, 200, 100, 50, 20, 10];

/// How long the least number of pairs of all benchmarks may take, as a fraction of the time
/// limit.
const PART: f64 = 0.05;

/// The fraction of the time limit that is kept for longer runs: those of what differs take more
/// pairs.
const KEPT: f64 = 0.1;

pub(crate) const LEAST_PAIRS: u64 = 2;

/// The time of a run with its warm-up, in lengths.
const WITH_WARM_UP: f64 = 1.5;

/// What may be above the threshold without more pairs. A few pairs of long runs can't show
/// less: on a busy machine, one such pair varies by 28 % (`docs/suites.md`).
const TOLERANCE: f64 = 0.1;

/// Makes the order differ from that of the short runs.
const SEED: u64 = 0x6c6f_6e67_6572;

/// How long a run should be, for this many benchmarks: the longest that the time limit allows.
pub(crate) fn length(limit: Duration, benchmarks: usize) -> Duration {
    let runs = (2 * LEAST_PAIRS * benchmarks.max(1) as u64) as f64;
    let affordable = 1e3 * PART * limit.as_secs_f64() / (WITH_WARM_UP * runs);
    let longest = LENGTHS.into_iter().find(|length| *length as f64 <= affordable);
    Duration::from_millis(longest.unwrap_or(LENGTHS[LENGTHS.len() - 1]))
}

/// How long a pair of runs of this length measures so many benchmarks, with their warm-ups, seconds.
pub(crate) fn measuring(length: Duration, benchmarks: usize) -> f64 {
    2.0 * WITH_WARM_UP * length.as_secs_f64() * benchmarks as f64
}

/// The time to keep for runs of this length: less where the least number of pairs needs it.
pub(crate) fn kept(plan: &Plan, length: Duration) -> Duration {
    let may_be_needed = |group: &Group| {
        let has_enough = |id| group.has_enough(length, seconds_tried(plan, group, id));
        is_longer(group, length) && group.benchmarks.clone().any(has_enough)
    };
    if !plan.decides || !plan.groups.iter().any(may_be_needed) {
        return Duration::ZERO;
    }
    let spare = Duration::try_from_secs_f64(plan.left(plan.least_time().as_secs_f64()));
    spare.unwrap_or_default().min(plan.time_limit.mul_f64(KEPT))
}

/// Whether runs of this length are longer than those of a group.
fn is_longer(group: &Group, length: Duration) -> bool {
    group.length.and_then(RunLength::time).is_some_and(|time| length > time)
}

/// The time of an iteration in the pairs with which lengths were tried; 0 if there are none.
fn seconds_tried(plan: &Plan, group: &Group, benchmark: usize) -> f64 {
    let rows = group.tried.iter().flat_map(|pair| &pair.rows);
    let rows = rows.filter(|row| row.benchmark == BenchmarkId(benchmark));
    let times = plan.benchmarks[benchmark].metrics.iter();
    let times = times.filter(|(_, metric)| metric.unit == Unit::Seconds);
    rows.flat_map(|row| times.clone().filter_map(|(id, _)| row.get(*id))).fold(0.0, f64::max)
}

/// The plan of the longer runs of what has not regressed, with the same ids. `None` if
/// nothing can run longer than it did.
pub(crate) fn plan(plan: &Plan, results: &[BenchmarkResult], length: Duration) -> Option<Plan> {
    let mut longer = Plan {
        confidence: 1.0 - RESERVED * (1.0 - plan.confidence),
        of_tests: Some(plan.sharing()),
        is_longer: true,
        kept: Duration::ZERO,
        max_pairs: None,
        fail_fast: false,
        // Most of its tests are to end without a verdict.
        gives_up: false,
        layouts: Layouts::Off,
        suite: Vec::new(),
        seed: plan.seed ^ SEED,
        ..plan.clone()
    };
    for group in &mut longer.groups {
        let is_longer = is_longer(group, length);
        let range = group.benchmarks.clone();
        for (benchmark, result) in longer.benchmarks[range.clone()].iter_mut().zip(&results[range])
        {
            let is_longer = is_longer && group.has_enough(length, seconds(result));
            let gates = std::mem::take(&mut benchmark.gates).into_iter();
            let gates = gates.filter(|_| is_longer);
            benchmark.gates = gates.filter_map(|gate| asked_longer(&gate, result)).collect();
        }
        group.pair_seconds += measuring(length, group.benchmarks.len());
        group.length = Some(RunLength::Time(length));
        group.tried.clear();
    }
    longer.benchmarks.iter().any(|one| one.gates()).then_some(longer)
}

/// The time of an iteration; 0 if it is not known.
fn seconds(result: &BenchmarkResult) -> f64 {
    let times = result.metrics.iter().filter(|metric| metric.unit == Unit::Seconds);
    times.filter_map(|metric| metric.of_pairs().0.base).fold(0.0, f64::max)
}

/// The gate of a metric that has not regressed. What short runs do not rule out is not held
/// against long ones: these are about the difference, which no placement of code explains. What
/// is counted does not depend on the length of a run.
fn asked_longer(gate: &Gate, result: &BenchmarkResult) -> Option<Gate> {
    let metric = result.metrics.iter().find(|metric| metric.name == gate.metric)?;
    let (summary, _) = metric.of_pairs();
    let worst = [summary.lower, summary.upper].into_iter().flatten();
    let worst = worst.map(|bound| metric.better.worse(bound)).fold(gate.limit(), f64::max);
    let is_open = metric.verdict != Some(Verdict::Regression) && summary.pairs > 0;
    let is_counted = metric.metric().is_repeatable();
    (is_open && !is_counted && worst.is_finite()).then(|| Gate::new(&gate.metric, worst))
}

/// Whether a test of longer runs needs no more pairs, because they look no worse than
/// short ones.
pub(crate) fn passes(test: &MetricTest) -> bool {
    let result = test.result();
    let limit = test.threshold().unwrap_or(f64::INFINITY) + TOLERANCE;
    let passes = |change: f64| result.better.worse(change) <= limit;
    result.summary.pairs >= LEAST_PAIRS && result.summary.change.is_some_and(passes)
}

/// What the longer runs of one metric showed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shown {
    Same,
    /// It has too few pairs.
    TooFew,
    /// It looks worse or is.
    Worse,
}

impl Shown {
    /// What the pairs so far show.
    pub(crate) fn by(test: &MetricTest) -> Self {
        match test.verdict() {
            Some(Verdict::Regression) => Shown::Worse,
            Some(_) => Shown::Same,
            None if test.is_set_aside() => Shown::Same,
            None if test.pairs() < LEAST_PAIRS => Shown::TooFew,
            None => Shown::Worse,
        }
    }
}

/// Replaces the results of short runs by those of longer ones where these show that one of the
/// gating metrics is `worse`. The others that gate keep theirs, which have decided.
pub(crate) fn replace(short: &mut BenchmarkResult, long: BenchmarkResult, worse: &[&str]) {
    if worse.is_empty() {
        return;
    }
    short.pairs = long.pairs;
    short.measurement_time = long.measurement_time;
    for long in long.metrics {
        let Some(short) = short.metrics.iter_mut().find(|short| short.name == long.name) else {
            continue;
        };
        if !short.gates || worse.contains(&long.name.as_str()) {
            let (threshold, learnt) = (short.threshold, short.learnt);
            *short = MetricResult { threshold, learnt, waiver: short.waiver.take(), ..long };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::plan::TriedPair;
    use crate::model::{Estimator, Metric, MetricId, Row, Side, Status, Summary};
    use crate::stats::estimator::Levels;
    use crate::stats::tests::TestNoise;

    #[test]
    fn the_more_benchmarks_the_shorter_are_the_longest_runs() {
        let five_minutes = Duration::from_secs(300);
        let lengths = [1, 14, 40, 100, 300].map(|count| length(five_minutes, count).as_millis());
        assert_eq!(lengths, [500, 100, 50, 20, 10]);
        assert_eq!(length(Duration::from_secs(8), 1).as_millis(), 50);
        assert_eq!(length(Duration::MAX, 1000).as_millis(), 500);
    }

    /// A plan with a benchmark for each of these, and their results: how long a run measured
    /// it, the time of an iteration, and the verdict.
    fn short(benchmarks: &[(RunLength, f64, Verdict)]) -> (Plan, Vec<BenchmarkResult>) {
        let mut plan = Plan::new(0.95, Estimator::Robust, 1);
        let metric = Metric::named("median_time");
        let results = benchmarks.iter().map(|(length, seconds, verdict)| {
            plan.add_group(0, true, 0.01);
            plan.add_benchmark(
                "it",
                std::slice::from_ref(&metric),
                vec![Gate::new("median_time", 0.02)],
            );
            plan.groups.last_mut().unwrap().length = Some(*length);
            let upper = Some(if *verdict == Verdict::Inconclusive { 0.3 } else { 0.01 });
            let summary = Summary { pairs: 14, base: Some(*seconds), upper, ..Summary::default() };
            let metric = MetricResult::new(metric.clone(), Some(0.02), summary, Some(*verdict));
            let metrics = vec![metric];
            BenchmarkResult { metrics, ..BenchmarkResult::new("it", Status::Compared) }
        });
        let results = results.collect();
        (plan, results)
    }

    #[test]
    fn what_has_not_regressed_runs_longer_if_that_makes_a_difference() {
        let time = |milliseconds| RunLength::Time(Duration::from_millis(milliseconds));
        let passed = Verdict::NoRegression;
        let (short, results) = short(&[
            (time(1), 1e-6, passed),
            (time(1), 1e-6, Verdict::Regression),
            (time(1), 1e-6, Verdict::Inconclusive),
            (time(100), 1e-6, passed),
            (RunLength::Capped, 1e-6, passed),
            (time(1), 0.02, passed),
        ]);
        let length = Duration::from_millis(100);
        let longer = plan(&short, &results, length).unwrap();
        let thresholds = longer.benchmarks.iter().map(|one| one.gates.first().map(Gate::limit));
        let thresholds: Vec<Option<f64>> = thresholds.collect();
        assert_eq!(thresholds, [Some(0.02), None, Some(0.3), None, None, None]);
        assert_eq!(longer.groups[0].length, Some(RunLength::Time(length)));
        assert!((longer.groups[0].pair_seconds - 0.31).abs() < 1e-9);
        // Both parts together have the error of the comparison.
        let parts = [short.levels().alarm, longer.levels().alarm / (1.0 - RESERVED)];
        assert!((6.0 * parts.into_iter().sum::<f64>() - 0.05).abs() < 1e-9);
        assert!(plan(&short, &results[..], Duration::from_millis(1)).is_none());
    }

    #[test]
    fn a_tenth_of_the_time_limit_or_what_the_least_pairs_leave_is_kept_for_longer_runs() {
        let run = RunLength::Time(Duration::from_millis(1));
        let (mut short, _) = short(&[(run, 1e-6, Verdict::NoRegression)]);
        let least = short.least_time().as_secs_f64();
        for (limit, expected) in [(10.0, 1.0), (1.01 * least, 0.01 * least), (0.9 * least, 0.0)] {
            short.time_limit = Duration::from_secs_f64(limit);
            let kept = kept(&short, Duration::from_millis(2)).as_secs_f64();
            assert!((kept - expected).abs() < 1e-6, "{limit}: {kept}");
        }
        assert_eq!(kept(&short, Duration::from_millis(1)), Duration::ZERO);
        // Nor where the longer runs would have too few iterations.
        short.time_limit = Duration::from_secs(10);
        for (seconds, expected) in [(1e-4, 1), (3e-4, 0)] {
            let (benchmark, values) = (BenchmarkId(0), vec![(MetricId(0), seconds)]);
            let row = Row { benchmark, side: Side::Head, values };
            short.groups[0].tried = vec![TriedPair { first: Side::Base, rows: vec![row] }];
            assert_eq!(kept(&short, Duration::from_millis(2)), Duration::from_secs(expected));
        }
    }

    #[test]
    fn what_is_counted_is_not_counted_again_in_longer_runs() {
        let asked = |name: &str| {
            let summary = Summary { pairs: 8, upper: Some(0.0), ..Summary::default() };
            let passed = Some(Verdict::NoRegression);
            let mut result = BenchmarkResult::new("it", Status::Compared);
            result.metrics.push(MetricResult::new(
                Metric::named(name),
                Some(0.02),
                summary,
                passed,
            ));
            asked_longer(&Gate::new(name, 0.02), &result).is_some()
        };
        assert_eq!(["median_time", "allocations"].map(asked), [true, false]);
    }

    /// How often a benchmark that is slower by `change` passes in longer runs, how often it is
    /// an alarm, and how many pairs that takes, if a pair varies by `noise`.
    fn tried(change: f64, noise: f64, alarm: f64) -> (f64, f64, f64) {
        const TIMES: u32 = 200;
        let gate = Gate::new("median_time", 0.02);
        let (mut passed, mut alarms, mut pairs) = (0, 0, 0);
        for seed in 0..TIMES {
            let mut random = TestNoise::seeded(u64::from(seed));
            let levels = Levels { alarm, clear: 0.05 };
            let metric = Metric::named("median_time");
            let mut test = MetricTest::new(metric, Some(&gate), Estimator::Robust, levels);
            while test.pairs() < 60 && test.verdict().is_none() && !passes(&test) {
                let head = (1.0 + change) * (noise * random.normal()).exp();
                test.push(1.0, head, Side::Base);
            }
            match test.verdict() {
                Some(Verdict::Regression) => alarms += 1,
                _ => passed += u32::from(passes(&test)),
            }
            pairs += test.pairs();
        }
        let of = |count: u32| f64::from(count) / f64::from(TIMES);
        (of(passed), of(alarms), pairs as f64 / f64::from(TIMES))
    }

    #[test]
    fn long_runs_that_are_much_slower_do_not_pass_and_false_alarms_are_rare() {
        let level = RESERVED * 0.05;
        // Idle, and on a machine that is so busy that a pair of long runs varies by 28 %.
        for (noise, most_pairs) in [(0.015, 2.01), (0.28, 6.0)] {
            let (passed, _, pairs) = tried(0.0, noise, level);
            assert!(passed > 0.97 && pairs < most_pairs, "{noise}: {passed} {pairs}");
            // At the threshold, and at a level that this many comparisons can show.
            let (_, alarms, _) = tried(0.02, noise, 0.05);
            assert!(alarms < 0.05, "{noise}: {alarms}");
            let (passed, alarms, _) = tried(1.0, noise, level);
            assert!(passed < 0.02 && alarms > 0.97, "{noise}: {passed} {alarms}");
            let (passed, alarms, pairs) = tried(3.0, noise, level);
            assert!(passed == 0.0 && alarms == 1.0 && pairs < 20.0, "{noise}: {alarms} {pairs}");
        }
    }
}
