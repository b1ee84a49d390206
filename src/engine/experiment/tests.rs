//! Feeds the experiment numbers.

mod ending;
mod order;

use std::time::Duration;

use super::*;
use crate::engine::plan::TriedPair;
use crate::model::{
    BenchmarkResult, Better, Estimator, Finding, Metric, MetricId, Summary, Unit, Verdict,
};
use crate::stats::estimator::{Levels, ROUNDING};
use crate::stats::tests::TestNoise;

const NEVER: Duration = Duration::from_secs(1_000_000);

fn gates(gates: &[(&str, f64)]) -> Vec<Gate> {
    gates.iter().map(|&(name, limit)| Gate::new(name, limit)).collect()
}

fn metrics(names: &[&str]) -> Vec<Metric> {
    names.iter().map(|name| Metric::cost(name, Unit::Seconds)).collect()
}

/// A plan without programs.
fn empty() -> Plan {
    Plan { time_limit: NEVER, ..Plan::new(0.95, Estimator::Mean, 7) }
}

/// A plan with a program of one benchmark, which measures `wall_time` and `max_rss`.
fn plan(gating: &[(&str, f64)]) -> Plan {
    with_program(empty(), gating)
}

fn with_program(mut plan: Plan, gating: &[(&str, f64)]) -> Plan {
    plan.add_group(0, false, 0.0);
    plan.add_benchmark("it", &metrics(&["wall_time", "max_rss"]), gates(gating));
    plan
}

/// Runs an experiment to its end. `run` makes a run of a side, which gives values of the
/// metrics in their order for each benchmark, and moves the clock; `after` sees the
/// experiment after each whole pair.
fn drive(
    plan: &Plan,
    clock: &std::cell::Cell<f64>,
    mut run: impl FnMut(&Turn, Side) -> Result<Vec<(BenchmarkId, Vec<f64>)>, StoppedBy>,
    mut after: impl FnMut(&Turn, &mut Experiment),
) -> Sampled {
    let mut experiment = Experiment::new(plan.clone(), clock.get());
    let stopped_by = 'pairs: loop {
        let turn = match experiment.next(clock.get()) {
            Ok(turn) => turn,
            Err(stopped_by) => break stopped_by,
        };
        let mut rows = Vec::new();
        for side in [turn.first, turn.first.other()] {
            match run(&turn, side) {
                Ok(readings) => rows.extend(readings.into_iter().map(|(benchmark, values)| {
                    let values = values.into_iter().enumerate();
                    let values = values.map(|(id, value)| (MetricId(id), value)).collect();
                    Row { benchmark, side, values }
                })),
                Err(stopped_by) => break 'pairs stopped_by,
            }
        }
        experiment.push(&turn, &rows, clock.get());
        after(&turn, &mut experiment);
    };
    experiment.finish(stopped_by)
}

fn clock() -> std::cell::Cell<f64> {
    std::cell::Cell::new(0.0)
}

/// Runs an experiment with one benchmark, of which `value` gives both metrics, and every
/// run takes a second. Returns the result and the sides in the order of their runs.
fn feed(plan: &Plan, mut value: impl FnMut(Side, u64) -> f64) -> (Sampled, Vec<Side>) {
    let mut order = Vec::new();
    let seconds = clock();
    let sampled = drive(
        plan,
        &seconds,
        |_, side| {
            let run = order.len() as u64;
            order.push(side);
            seconds.set(seconds.get() + 1.0);
            let value = value(side, run);
            Ok(vec![(BenchmarkId(0), vec![value, value])])
        },
        |_, _| {},
    );
    (sampled, order)
}

/// A little noise, the same in every run of the tests.
fn jitter(run: u64) -> f64 {
    1.0 + 0.001 * ((run * 7919) % 13) as f64
}

fn slower(factor: f64) -> impl FnMut(Side, u64) -> f64 {
    move |side, run| jitter(run) * if side == Side::Head { factor } else { 1.0 }
}

#[test]
fn a_slowdown_is_a_regression_and_its_interval_holds_it() {
    let (sampled, _) = feed(&plan(&[("wall_time", 0.02)]), slower(1.2));
    assert_eq!(sampled.verdict(), Verdict::Regression);
    assert_eq!(sampled.stopped_by, StoppedBy::Verdict);
    let summary = &sampled.benchmarks[0].metrics[0].summary;
    assert!(summary.lower.unwrap() < 0.2 && 0.2 < summary.upper.unwrap(), "{summary:?}");
    assert!(sampled.benchmarks[0].pairs >= 7);
}

#[test]
fn a_speed_up_is_none_and_only_metrics_that_gate_have_a_verdict() {
    let (sampled, _) = feed(&plan(&[("wall_time", 0.02)]), slower(0.8));
    assert_eq!(sampled.verdict(), Verdict::NoRegression);
    let metrics = &sampled.benchmarks[0].metrics;
    assert_eq!(metrics[0].verdict, Some(Verdict::NoRegression));
    assert_eq!((metrics[1].verdict, metrics[1].threshold), (None, None));
    assert!(metrics[1].summary.change.is_some());
}

/// A pair in which the base takes a second.
fn tried(first: Side, head: f64) -> TriedPair {
    let row =
        |side, value| Row { benchmark: BenchmarkId(0), side, values: vec![(MetricId(0), value)] };
    TriedPair { first, rows: vec![row(Side::Base, 1.0), row(Side::Head, head)] }
}

#[test]
fn an_unfinished_pair_is_dropped() {
    for expected in [StoppedBy::TimeLimit, StoppedBy::Interrupt] {
        let (mut runs, mut pairs) = (0, 0);
        let sampled = drive(
            &plan(&[("wall_time", 0.02)]),
            &clock(),
            |_, _| {
                runs += 1;
                if runs < 8 { Ok(vec![(BenchmarkId(0), vec![1.0, 1.0])]) } else { Err(expected) }
            },
            |_, _| pairs += 1,
        );
        assert_eq!((sampled.stopped_by, sampled.pairs(), pairs), (expected, 3, 3));
    }
}

#[test]
fn a_decided_metric_keeps_its_numbers_while_another_is_open() {
    let plan = Plan { max_pairs: Some(60), ..plan(&[("wall_time", 0.02), ("max_rss", 0.3)]) };
    let seconds = clock();
    let mut at_decision = None;
    let sampled = drive(
        &plan,
        &seconds,
        |_, side| {
            let run = seconds.get();
            seconds.set(run + 1.0);
            let time = slower(1.2)(side, run as u64);
            // Around its threshold, as often above as below: never decided.
            let size = 1.2 + 0.2 * (run as u64 / 2 % 2) as f64;
            let size = if side == Side::Head { size } else { 1.0 };
            Ok(vec![(BenchmarkId(0), vec![time, size])])
        },
        |_, experiment| {
            let result = &experiment.results(0).next().unwrap().metrics[0];
            if result.verdict == Some(Verdict::Regression) && at_decision.is_none() {
                at_decision = Some(result.clone());
            }
        },
    );
    assert_eq!(sampled.verdict(), Verdict::Regression);
    assert_eq!(sampled.stopped_by, StoppedBy::MaxPairs);
    // What it leaves to others is known at the end.
    let at_decision = at_decision.map(|result| MetricResult { alarm_among: 2, ..result });
    assert_eq!(Some(sampled.benchmarks[0].metrics[0].clone()), at_decision);
}

/// A plan of groups with one benchmark each.
fn groups(count: usize) -> Plan {
    (0..count).fold(empty(), |plan, _| with_program(plan, &[("wall_time", 0.02)]))
}

/// Runs groups of which a pair takes so many seconds, and a metric of the head is `change` times that
/// of the base, with this much noise. Returns the result and the groups in their order.
fn timed(
    plan: &Plan,
    seconds: impl Fn(usize, u64) -> f64,
    change: impl Fn(usize) -> f64,
    noise: f64,
) -> (Sampled, Vec<usize>) {
    let (clock, mut random) = (clock(), TestNoise::seeded(9));
    let (mut pairs, mut turns) = (vec![0; plan.groups.len()], Vec::new());
    let sampled = drive(
        plan,
        &clock,
        |turn, side| {
            clock.set(clock.get() + 0.5 * seconds(turn.group, pairs[turn.group]));
            if side != turn.first {
                pairs[turn.group] += 1;
                turns.push(turn.group);
            }
            let change = if side == Side::Head { change(turn.group) } else { 1.0 };
            Ok(vec![(turn.wanted[0], vec![change * (noise * random.normal()).exp()])])
        },
        |_, _| {},
    );
    (sampled, turns)
}

fn decided(sampled: &Sampled) -> Vec<bool> {
    let verdict = |one: &BenchmarkResult| one.metrics[0].verdict != Some(Verdict::Inconclusive);
    sampled.benchmarks.iter().map(verdict).collect()
}

#[test]
fn a_regression_is_told_with_the_pair_that_shows_it_and_once() {
    let mut told = Vec::new();
    let plan = Plan { max_pairs: Some(40), ..groups(3) };
    let sampled = drive(
        &plan,
        &clock(),
        |turn, side| {
            let value = slower([1.5, 1.0, 1.4][turn.group])(side, turn.pair_seed % 100);
            Ok(vec![(turn.wanted[0], vec![value, value])])
        },
        |_, experiment| {
            for (_, metric) in experiment.found() {
                told.push(metric.summary.pairs);
            }
        },
    );
    let pairs = |number: usize| sampled.benchmarks[number].metrics[0].summary.pairs;
    assert!(pairs(0) != pairs(2), "they can be told apart");
    told.sort_unstable();
    let mut expected = [pairs(0), pairs(2)];
    expected.sort_unstable();
    assert_eq!(told, expected);
}

#[test]
fn what_matters_about_the_noise_is_said_of_gating_metrics_at_the_end() {
    let plan = Plan { max_pairs: Some(60), ..plan(&[("wall_time", 0.02)]) };
    // The second run of each pair is slower, and the change is the threshold.
    let noise = |run: u64| jitter(run * run) * if run % 2 == 1 { 1.05 } else { 1.0 };
    let factor = |side| if side == Side::Head { 1.02 } else { 1.0 };
    let (sampled, _) = feed(&plan, |side, run| noise(run) * factor(side));
    let metrics = &sampled.benchmarks[0].metrics;
    let slot =
        |finding: &Finding| matches!(finding, Finding::Slot { effect, .. } if *effect > 0.04);
    assert!(metrics[0].findings.iter().any(slot), "{:?}", metrics[0].findings);
    assert_eq!((metrics[0].summary.pairs, metrics[1].findings.len()), (60, 0));
}

#[test]
fn all_tests_of_all_benchmarks_share_the_error() {
    let gating = [("wall_time", 0.02), ("max_rss", 0.02)];
    let plan = (0..10).fold(empty(), |plan, _| with_program(plan, &gating));
    assert_eq!(plan.tests(), 20);
    assert_eq!(plan.levels(), Levels::new(0.95, 20));
    assert_eq!((plan.metrics.len(), plan.groups[9].benchmarks.clone()), (2, 9..10));
}

/// Pairs of one program against itself: recorded ones, then simulated ones with
/// normal noise, with a slow tail, and of whole numbers with many ties.
fn pairs_without_change() -> Vec<Vec<(f64, f64)>> {
    let recorded = [
        include_str!("../../../fixtures/traces/sha.txt"),
        include_str!("../../../fixtures/traces/python.txt"),
        include_str!("../../../fixtures/traces/tiny.txt"),
        include_str!("../../../fixtures/traces/mem.txt"),
    ];
    let pair = |line: &str| {
        let (first, second) = line.split_once(' ').unwrap();
        (first.parse().unwrap(), second.parse().unwrap())
    };
    let mut all: Vec<Vec<(f64, f64)>> =
        recorded.iter().map(|text| text.lines().take(64).map(pair).collect()).collect();
    let mut noise = TestNoise::seeded(71);
    for kind in 0..3 {
        let mut run = || {
            let plain = 100.0 * (0.04 * noise.normal()).exp();
            match kind {
                0 => plain,
                1 if noise.uniform() < 0.05 => 2.0 * plain,
                1 => plain,
                _ => plain.round(),
            }
        };
        all.push((0..64).map(|_| (run(), run())).collect());
    }
    all
}

/// Samples `pairs`, the head's values being `factor` times as large: a cost that
/// gates, a gain that gates (the reciprocal) and a cost that does not. Shows each
/// snapshot that `asks` wants to see, given the number of the pair.
fn feed_pairs(
    pairs: &[(f64, f64)],
    factor: f64,
    estimator: Estimator,
    asks: impl Fn(u64) -> bool,
) -> (Sampled, Vec<Snapshot>, Vec<Side>, Snapshot) {
    let time = Metric::cost("time", Unit::Seconds);
    let rate = Metric { name: "rate".into(), better: Better::Higher, ..time.clone() };
    let shown = Metric::cost("shown", Unit::Seconds);
    let mut plan = Plan { estimator, max_pairs: Some(pairs.len() as u64), ..empty() };
    plan.add_group(0, false, 0.0);
    plan.add_benchmark("it", &[time, rate, shown], gates(&[("time", 0.02), ("rate", 0.02)]));
    let (mut order, mut seen, mut end) = (Vec::new(), Vec::new(), None);
    let seconds = clock();
    let sampled = drive(
        &plan,
        &seconds,
        |turn, side| {
            let pair = pairs[seconds.get() as usize];
            let mut value = pair.0;
            if side == turn.first {
                order.push(side);
            } else {
                value = pair.1;
                seconds.set(seconds.get() + 1.0);
            }
            let value = if side == Side::Head { factor * value } else { value };
            Ok(vec![(BenchmarkId(0), vec![value, 1e6 / value, value])])
        },
        |_, experiment| {
            if asks(seconds.get() as u64) {
                seen.push(experiment.snapshot());
            }
            end = Some(experiment.snapshot());
        },
    );
    (sampled, seen, order, end.unwrap())
}

/// Every number of a result, bit for bit.
fn bits(result: &BenchmarkResult) -> Vec<Option<u64>> {
    let of = |summary: &Summary| {
        let Summary { pairs, base, head, change, lower, upper } = *summary;
        let values = [base, head, change, lower, upper].map(|value| value.map(f64::to_bits));
        [vec![Some(pairs)], values.to_vec()].concat()
    };
    let metrics = result.metrics.iter();
    metrics.flat_map(|one| [Some(&one.summary), one.mean.as_ref()]).flatten().flat_map(of).collect()
}

#[test]
fn bounds_are_the_same_whether_they_are_asked_for_after_every_pair_or_only_at_the_end() {
    let mut verdicts = Vec::new();
    for (number, pairs) in pairs_without_change().iter().enumerate() {
        for (turn, estimator) in Estimator::ALL.into_iter().enumerate() {
            // Each noise meets each estimator, and each of both each factor.
            let factor = [1.0, 1.015, 1.1][(number + turn) % 3];
            let what = format!("{estimator}, noise {number}, times {factor}");
            let (eager, seen, order, last) = feed_pairs(pairs, factor, estimator, |_| true);
            let (lazy, none, same_order, same) = feed_pairs(pairs, factor, estimator, |_| false);
            assert_eq!((&eager, order, last), (&lazy, same_order, same.clone()), "{what}");
            assert_eq!(bits(&eager.benchmarks[0]), bits(&lazy.benchmarks[0]), "{what}");
            assert_eq!(bits(&same.benchmarks[0]), bits(&lazy.benchmarks[0]), "{what}");
            assert_eq!((seen.len() as u64, none.len()), (lazy.pairs(), 0), "{what}");
            // What is asked for at any one pair is what is seen there by those
            // who look at every pair.
            let middle = lazy.pairs() / 2;
            let (_, once, ..) = feed_pairs(pairs, factor, estimator, |pair| pair == middle);
            assert_eq!(once.first(), seen.get((middle - 1) as usize), "{what}");

            // The verdict falls with the first pair whose bounds say it.
            let result = &lazy.benchmarks[0].metrics[0];
            let said = seen.iter().find_map(|snapshot| {
                let Summary { pairs, lower, upper, .. } = snapshot.benchmarks[0].metrics[0].summary;
                let limit = 0.02 + ROUNDING;
                match (lower, upper) {
                    (Some(lower), _) if lower > limit => Some((Verdict::Regression, pairs)),
                    (_, Some(upper)) if upper <= limit => Some((Verdict::NoRegression, pairs)),
                    _ => None,
                }
            });
            let undecided = (Verdict::Inconclusive, pairs.len() as u64);
            let fell = (result.verdict.unwrap(), result.summary.pairs);
            assert_eq!(said.unwrap_or(undecided), fell, "{what}");
            verdicts.push(fell.0);
        }
    }
    for verdict in [Verdict::Regression, Verdict::NoRegression, Verdict::Inconclusive] {
        let count = verdicts.iter().filter(|one| **one == verdict).count();
        assert!(count >= 3, "{verdict}: {count}");
    }
}
