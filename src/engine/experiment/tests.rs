//! Feeds the experiment numbers.

use super::*;
use crate::model::{Better, Estimator, Finding, Metric, Summary, Unit, Verdict};
use crate::stats::estimator::{Levels, ROUNDING};
use crate::stats::noise::TestNoise;

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

#[test]
fn each_pair_has_both_sides_in_the_order_of_its_coin() {
    let plan = Plan { max_pairs: Some(40), ..plan(&[("wall_time", 0.2)]) };
    let (_, order) = feed(&plan, slower(1.2));
    let schedule = Schedule::new(plan.seed, 0);
    let mut firsts = Vec::new();
    for (number, pair) in (0..).zip(order.chunks_exact(2)) {
        assert_ne!(pair[0], pair[1]);
        assert_eq!(pair[0], schedule.first(number));
        firsts.push(pair[0]);
    }
    assert!(firsts.contains(&Side::Base) && firsts.contains(&Side::Head), "{firsts:?}");
}

#[test]
fn the_limits_leave_it_open() {
    let at_threshold = || slower(1.02);
    let by_pairs = Plan { max_pairs: Some(5), ..plan(&[("wall_time", 0.02)]) };
    let (sampled, order) = feed(&by_pairs, at_threshold());
    assert_eq!(sampled.stopped_by, StoppedBy::MaxPairs);
    assert_eq!((sampled.verdict(), order.len()), (Verdict::Inconclusive, 10));
    // Of 9 seconds, four pairs of 2 are used: the fifth would not fit.
    let nine = Duration::from_secs(9);
    let by_time = Plan { time_limit: nine, ..plan(&[("wall_time", 0.02)]) };
    let (sampled, order) = feed(&by_time, at_threshold());
    assert_eq!(sampled.stopped_by, StoppedBy::TimeLimit);
    assert_eq!((sampled.pairs(), order.len(), sampled.elapsed), (4, 8, 8.0));
    // With a part kept for longer runs, three.
    let (sampled, _) = feed(&Plan { kept: Duration::from_secs(2), ..by_time }, at_threshold());
    assert_eq!((sampled.stopped_by, sampled.pairs()), (StoppedBy::TimeLimit, 3));
}

/// A pair in which the base takes a second.
fn tried(first: Side, head: f64) -> TriedPair {
    let row =
        |side, value| Row { benchmark: BenchmarkId(0), side, values: vec![(MetricId(0), value)] };
    TriedPair { first, rows: vec![row(Side::Base, 1.0), row(Side::Head, head)] }
}

#[test]
fn pairs_from_before_come_first_and_count() {
    let mut plan = with_program(empty(), &[("wall_time", 0.02)]);
    plan.groups[0].pair_seconds = 3.0;
    let firsts = [Side::Head, Side::Base, Side::Head];
    plan.groups[0].tried = firsts.iter().map(|first| tried(*first, 1.001)).collect();
    let mut experiment = Experiment::new(plan.clone(), 50.0);
    let mut seen = Vec::new();
    loop {
        let turn = experiment.next(50.0).unwrap();
        let Some(rows) = turn.measured.clone() else { break };
        seen.push(turn.first);
        experiment.push(&turn, &rows, 50.0);
    }
    assert_eq!(seen, firsts);
    assert_eq!((experiment.groups[0].pairs, experiment.groups[0].pair_seconds), (3, 3.0));
    let result = &experiment.finish(StoppedBy::MaxPairs).benchmarks[0];
    assert_eq!((result.pairs, result.metrics[0].summary.pairs), (3, 3));
    assert!((result.metrics[0].summary.change.unwrap() - 0.001).abs() < 1e-12);
    // They take no more than is allowed, and none of them is taken after the verdict.
    let mut few = Experiment::new(Plan { max_pairs: Some(2), ..plan.clone() }, 0.0);
    plan.groups[0].tried = (0..20).map(|_| tried(Side::Base, 3.0)).collect();
    let mut slower = Experiment::new(plan, 0.0);
    for (experiment, pairs, stopped_by) in
        [(&mut few, 2, StoppedBy::MaxPairs), (&mut slower, 8, StoppedBy::Verdict)]
    {
        let ended = loop {
            let turn = match experiment.next(0.0) {
                Ok(turn) => turn,
                Err(stopped_by) => break stopped_by,
            };
            experiment.push(&turn, turn.measured.as_ref().unwrap(), 0.0);
        };
        assert_eq!((experiment.groups[0].pairs, ended), (pairs, stopped_by));
    }
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

#[test]
fn fail_fast_stops_at_the_first_regression() {
    let plan = Plan { fail_fast: true, ..plan(&[("wall_time", 0.02), ("max_rss", 0.2)]) };
    let (sampled, _) = feed(&plan, slower(1.2));
    assert_eq!(sampled.stopped_by, StoppedBy::Verdict);
    assert_eq!(sampled.benchmarks[0].metrics[1].verdict, Some(Verdict::Inconclusive));
}

#[test]
fn programs_take_turns_and_a_decided_one_leaves() {
    let gating = [("wall_time", 0.02)];
    let plan = Plan { max_pairs: Some(30), ..with_program(plan(&gating), &gating) };
    let seconds = clock();
    let mut turns = Vec::new();
    let sampled = drive(
        &plan,
        &seconds,
        |turn, side| {
            turns.push(turn.group);
            let run = seconds.get();
            seconds.set(run + 1.0);
            // The first is clear, the second stays at the threshold.
            let factor = if turn.group == 0 { 1.5 } else { 1.02 };
            let value = slower(factor)(side, run as u64);
            Ok(vec![(turn.wanted[0], vec![value, value])])
        },
        |_, _| {},
    );
    assert_eq!(&turns[..8], [0, 0, 1, 1, 0, 0, 1, 1]);
    assert!(sampled.benchmarks[0].pairs < 30);
    assert_eq!(sampled.benchmarks[1].pairs, 30);
    assert_eq!(sampled.verdict(), Verdict::Regression);
}

/// A plan of groups with one benchmark each.
fn groups(count: usize) -> Plan {
    (0..count).fold(empty(), |plan, _| with_program(plan, &[("wall_time", 0.02)]))
}

#[test]
fn all_get_the_least_number_of_pairs_and_then_what_is_nearly_decided_goes_first() {
    // The first stays at its threshold, the second is near it, and the others are clear.
    let changes = [1.02, 1.013, 1.5, 1.0];
    let plan = Plan { max_pairs: Some(400), ..groups(changes.len()) };
    let mut noise = TestNoise::seeded(3);
    let least = plan.least_pairs() as usize;
    let seconds = clock();
    let mut turns = Vec::new();
    let mut decided = Vec::new();
    let sampled = drive(
        &plan,
        &seconds,
        |turn, side| {
            seconds.set(seconds.get() + 0.5);
            let change = if side == Side::Head { changes[turn.group] } else { 1.0 };
            let value = change * (1.0 + 0.01 * noise.normal());
            Ok(vec![(turn.wanted[0], vec![value, value])])
        },
        |turn, experiment| {
            turns.push(turn.group);
            let result = experiment.results(turn.group).next().unwrap();
            if result.metrics[0].verdict != Some(Verdict::Inconclusive) {
                decided.push(turn.group);
            }
        },
    );
    let in_turn: Vec<usize> = (0..least).flat_map(|_| 0..changes.len()).collect();
    assert_eq!(turns[..in_turn.len()], in_turn);
    assert_eq!(decided.last(), Some(&1), "{decided:?}");
    let pairs: Vec<u64> = sampled.benchmarks.iter().map(|benchmark| benchmark.pairs).collect();
    // What can't be decided keeps nothing else waiting for more than its share.
    let place = turns.iter().rposition(|&group| group == 1).unwrap();
    let before = turns[..place].iter().filter(|&&group| group == 0).count() as u64;
    assert!(before < pairs[1] && pairs[0] == 400, "{before} {pairs:?}");
}

#[test]
fn where_pairs_take_longer_than_expected_some_get_all_that_a_verdict_needs() {
    let plan = groups(4);
    // The first round shows how long they take; then there is time for three of the groups.
    let pair = [2.0, 1.0, 2.0, 3.0];
    let least = plan.least_pairs();
    let plan = Plan { time_limit: Duration::from_secs(5 * least + 4), ..plan };
    let seconds = clock();
    let sampled = drive(
        &plan,
        &seconds,
        |turn, side| {
            seconds.set(seconds.get() + pair[turn.group] / 2.0);
            let value = slower(1.0)(side, turn.pair_seed % 100);
            Ok(vec![(turn.wanted[0], vec![value, value])])
        },
        |_, _| {},
    );
    assert_eq!(decided(&sampled), [true, true, true, false]);
    assert_eq!(sampled.stopped_by, StoppedBy::TimeLimit);
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
fn where_not_all_can_pass_in_time_most_of_what_fits_does_and_what_is_far_slower_is_found() {
    let mut plan = Plan { estimator: Estimator::Robust, ..groups(46) };
    // One that would not have its turn otherwise.
    let change = |group| if group == 41 { 2.0 } else { 1.0 };
    for (number, group) in plan.groups.iter_mut().enumerate() {
        (group.pair_seconds, group.tried) = (0.33, vec![tried(Side::Base, change(number)); 2]);
    }
    // There is time for the minimum number of pairs of all, but not for an all-clear of all.
    plan.time_limit = Duration::from_secs(260);
    let seconds = |_, pairs| if pairs < 2 { 0.0 } else { 0.56 };
    let (sampled, turns) = timed(&plan, seconds, change, 0.004);
    let decided = decided(&sampled);
    let number = decided.iter().filter(|decided| **decided).count();
    assert!(number >= 30 && decided[41], "{number}: {turns:?}");
}

#[test]
fn what_can_have_no_verdict_any_more_does_not_keep_others_from_theirs() {
    let mut plan = groups(2);
    let least = plan.least_pairs();
    plan.groups[1].pair_seconds = 0.5;
    plan.time_limit = Duration::from_secs(5 * least);
    // The second takes far longer than expected; the first needs more than the least number.
    let (sampled, turns) = timed(&plan, |group, _| [1.0, 10.0][group], |_| 1.0, 0.02);
    assert_eq!(decided(&sampled), [true, false]);
    assert!(sampled.benchmarks[0].pairs > least, "{turns:?}");
}

#[test]
fn where_all_take_longer_than_expected_that_is_known_from_the_first_measured_pair() {
    // So many pairs of each are there from before, and there is time for so many verdicts.
    for (before, verdicts) in [(0, 41), (8, 50)] {
        let mut plan = Plan { estimator: Estimator::Robust, ..groups(101) };
        for group in &mut plan.groups {
            group.pair_seconds = 1.0;
            group.tried = vec![tried(Side::Base, 1.0); before as usize];
        }
        let enough = plan.least_pairs() as f64 * plan.pairs_to_pass_per_least();
        let lacking = 2.5 * (enough - before as f64);
        plan.time_limit = Duration::from_secs_f64(lacking * f64::from(verdicts));
        let seconds = |_, pairs| if pairs < before { 0.0 } else { 2.5 };
        let (sampled, _) = timed(&plan, seconds, |_| 1.0, 0.001);
        let reached = decided(&sampled).into_iter().filter(|is_decided| *is_decided).count();
        assert!(reached + 1 >= verdicts as usize, "{reached} of {verdicts}");
    }
}

#[test]
fn it_ends_early_once_the_least_number_of_pairs_is_out_of_reach() {
    let plan = Plan { gives_up: true, ..groups(1) };
    let least = plan.least_pairs();
    for (limit, pairs) in [(5, 3), (least - 1, least - 1), (least, least)] {
        let plan = Plan { time_limit: Duration::from_secs(10 * limit), ..plan.clone() };
        let (sampled, turns) = timed(&plan, |_, _| 10.0, |_| 1.0, 0.001);
        assert_eq!((turns.len() as u64, decided(&sampled)), (pairs, vec![pairs == least]));
    }
}

#[test]
fn what_stands_out_goes_first_where_there_is_not_time_for_all() {
    let mut plan = groups(4);
    for group in &mut plan.groups {
        (group.pair_seconds, group.tried) = (1.0, vec![tried(Side::Base, 1.0); 5]);
    }
    // The last one is slower, so that its pairs are, too.
    let seconds = |group, pairs| match (group, pairs) {
        (_, 0..5) => 0.0,
        (3, _) => 1.5,
        _ => 1.0,
    };
    plan.time_limit = Duration::from_secs(8);
    let (_, turns) = timed(&plan, seconds, |group| if group == 3 { 2.0 } else { 1.0 }, 0.001);
    assert_eq!(turns[20..], [3; 5], "{turns:?}");
}

#[test]
fn longer_runs_are_made_in_rounds_and_end_with_what_passes() {
    let plan = Plan { is_longer: true, time_limit: Duration::from_secs(20), ..groups(3) };
    let (_, turns) = timed(&plan, |_, _| 1.0, |_| 1.3, 0.001);
    assert_eq!(turns[..6], [0, 1, 2, 0, 1, 2]);
    let (sampled, turns) = timed(&plan, |_, _| 1.0, |_| 1.01, 0.001);
    assert_eq!((turns, sampled.stopped_by), (vec![0, 1, 2, 0, 1, 2], StoppedBy::Verdict));
}

#[test]
fn a_shard_samples_all_equally_often() {
    let plan = Plan { decides: false, max_pairs: Some(50), ..groups(3) };
    let mut turns = Vec::new();
    drive(
        &plan,
        &clock(),
        |turn, side| {
            let value = slower([1.0, 1.5, 1.02][turn.group])(side, turn.pair_seed % 100);
            Ok(vec![(turn.wanted[0], vec![value, value])])
        },
        |turn, _| turns.push(turn.group),
    );
    assert_eq!(turns, (0..150).map(|turn| turn % 3).collect::<Vec<_>>());
}

/// Head over base is 1.03 times 0.9 and 1.1 by turns: beyond the threshold, and open for
/// long.
fn close_to_the_threshold(side: Side, run: u64) -> f64 {
    let noise = if (run / 2).is_multiple_of(2) { 0.9 } else { 1.1 };
    jitter(run) * if side == Side::Head { 1.03 * noise } else { 1.0 }
}

#[test]
fn what_looks_slower_for_long_is_set_aside_and_the_rest_goes_on() {
    let mut plan = empty();
    for _ in 0..2 {
        plan.add_group(0, false, 0.0);
        plan.add_benchmark(
            "it",
            &metrics(&["wall_time", "max_rss"]),
            gates(&[("wall_time", 0.02)]),
        );
    }
    let least = plan.least_pairs_in(&plan.groups[0]).unwrap();
    let (seconds, mut pairs, mut told) = (clock(), [0, 0], Vec::new());
    let sampled = drive(
        &plan,
        &seconds,
        |turn, side| {
            seconds.set(seconds.get() + 1.0);
            let run = pairs[turn.group];
            pairs[turn.group] += 1;
            let value = match turn.group {
                0 => close_to_the_threshold(side, run),
                _ => jitter(run) * if side == Side::Head { 1.012 } else { 1.0 },
            };
            Ok(vec![(BenchmarkId(turn.group), vec![value, value])])
        },
        |turn, experiment| {
            experiment.set_aside(&|test, least| {
                test.looks_slower(least) && test.metric().name == "wall_time"
            });
            told.extend(experiment.just_raised().map(|(id, ..)| (id, turn.group)));
        },
    );
    assert_eq!(told, [(BenchmarkId(0), 0)]);
    let pairs = sampled.benchmarks[0].pairs;
    assert!((2 * least..80).contains(&pairs), "{pairs}");
    assert_eq!(sampled.benchmarks[0].metrics[0].verdict, Some(Verdict::Inconclusive));
    assert_eq!(sampled.benchmarks[1].metrics[0].verdict, Some(Verdict::NoRegression));
    assert_eq!(sampled.stopped_by, StoppedBy::Verdict);
}

#[test]
fn nothing_is_set_aside_that_may_not_be_or_looks_no_slower() {
    let plan = Plan { max_pairs: Some(80), ..plan(&[("wall_time", 0.02)]) };
    let alone = |may: bool, factor: f64| {
        let (seconds, mut runs) = (clock(), 0);
        let sampled = drive(
            &plan,
            &seconds,
            |_, side| {
                runs += 1;
                let value = close_to_the_threshold(side, runs - 1);
                let value = if side == Side::Head { value * factor } else { value };
                Ok(vec![(BenchmarkId(0), vec![value, value])])
            },
            |_, experiment| experiment.set_aside(&|test, least| may && test.looks_slower(least)),
        );
        sampled.benchmarks[0].pairs
    };
    assert_eq!(alone(false, 1.0), 80);
    assert_eq!(alone(true, 0.98), 80);
    assert!(alone(true, 1.0) < 80);
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
fn what_has_too_few_pairs_for_any_verdict_at_the_end_is_named() {
    let mut plan = groups(3);
    for (group, pair_seconds) in plan.groups.iter_mut().zip([1.0, 1.0, 50.0]) {
        group.pair_seconds = pair_seconds;
    }
    plan.time_limit = Duration::from_secs(100);
    let mut experiment = Experiment::new(plan.clone(), 0.0);
    let mut now = 0.0;
    while let Ok(turn) = experiment.next(now) {
        now += plan.groups[turn.group].pair_seconds;
        let row = |side| Row { benchmark: turn.wanted[0], side, values: vec![(MetricId(0), 1.0)] };
        experiment.push(&turn, &Side::BOTH.map(row), now);
    }
    let names = experiment.below_minimum_pairs();
    assert_eq!(names, ["it"]);
    assert_eq!(experiment.finish(StoppedBy::TimeLimit).benchmarks[2].pairs, 1);
    let shard = Experiment::new(Plan { decides: false, ..plan }, 0.0);
    assert_eq!(shard.below_minimum_pairs(), Vec::<&str>::new());
}

#[test]
fn the_least_time_is_that_of_all_groups_without_the_pairs_from_before() {
    let mut plan = groups(2);
    let least = plan.least_pairs();
    plan.groups[0].pair_seconds = 0.5;
    plan.groups[1].pair_seconds = 2.0;
    plan.add_group(0, false, 100.0);
    plan.add_benchmark("shown", &metrics(&["max_rss"]), Vec::new());
    assert_eq!(plan.least_time(), Duration::from_secs_f64(2.5 * least as f64));
    plan.groups[1].tried = vec![tried(Side::Base, 1.0); 3];
    assert_eq!(plan.least_time(), Duration::from_secs_f64(2.5 * least as f64 - 6.0));
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
fn an_estimator_that_would_have_needed_less_than_half_is_named() {
    // Outliers on both sides: they cost the mean many pairs, the median none.
    let heavy = |side: Side, run: u64| {
        let outlier = if (run * 2_654_435_761) % 97 < 12 { 3.0 } else { 1.0 };
        jitter(run) * outlier * if side == Side::Head { 0.97 } else { 1.0 }
    };
    let by_mean = Plan { estimator: Estimator::Mean, ..plan(&[("wall_time", 0.02)]) };
    let (sampled, _) = feed(&by_mean, heavy);
    let result = &sampled.benchmarks[0].metrics[0];
    assert_eq!(result.verdict, Some(Verdict::NoRegression));
    let (estimator, needed) = result.earlier.unwrap();
    assert_eq!(estimator, Estimator::Median);
    assert!(2 * needed < sampled.pairs(), "{needed} of {}", sampled.pairs());
    // Of a metric that does not gate nothing is asked.
    assert_eq!(sampled.benchmarks[0].metrics[1].earlier, None);
    let (quick, _) = feed(&plan(&[("wall_time", 0.02)]), slower(1.2));
    assert_eq!(quick.benchmarks[0].metrics[0].earlier, None);
}

/// Runs an experiment whose runs take a second each, and takes down the verdicts that are
/// unlikely.
fn foreseen(limit: u64, factor: f64) -> Vec<Unlikely> {
    let time_limit = Duration::from_secs(limit);
    let mut unlikely = Vec::new();
    let plan = Plan { time_limit, ..plan(&[("wall_time", 0.02)]) };
    noisy(&plan, factor, |experiment| unlikely.extend(experiment.unlikely().cloned()));
    unlikely
}

/// Runs a plan whose runs take a second each. Their noise has up to 3 %, and the head takes
/// `factor` times as long.
fn noisy(plan: &Plan, factor: f64, mut after: impl FnMut(&mut Experiment)) -> Sampled {
    let seconds = clock();
    drive(
        plan,
        &seconds,
        |_, side| {
            let run = seconds.get();
            seconds.set(run + 1.0);
            let scrambled = (run as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40;
            let noise = 1.0 + 0.03 * (scrambled as f64 / (1 << 24) as f64);
            let value = noise * if side == Side::Head { factor } else { 1.0 };
            Ok(vec![(BenchmarkId(0), vec![value])])
        },
        |_, experiment| after(experiment),
    )
}

#[test]
fn it_ends_early_once_no_verdict_is_expected_in_time() {
    let ended = |gives_up, limit, factor| {
        let time_limit = Duration::from_secs(limit);
        let plan = Plan { time_limit, gives_up, ..plan(&[("wall_time", 0.02)]) };
        let sampled = noisy(&plan, factor, |_| ());
        (sampled.stopped_by, sampled.elapsed)
    };
    // At the threshold: not before a quarter of the pairs, and well before the limit.
    let (stopped_by, elapsed) = ended(true, 1000, 1.02);
    assert_eq!(stopped_by, StoppedBy::TimeLimit);
    assert!((250.0..900.0).contains(&elapsed), "{elapsed}");
    assert_eq!(ended(false, 1000, 1.02), (StoppedBy::TimeLimit, 1000.0));
    // What can be decided is, however long it takes.
    for factor in [1.0, 1.01, 1.04] {
        let patient = ended(false, 1000, factor);
        assert_eq!((patient.0, ended(true, 1000, factor)), (StoppedBy::Verdict, patient));
    }
}

#[test]
fn an_unlikely_verdict_is_foreseen_with_what_could_be_told() {
    // At the threshold, with room for 50 pairs.
    let told = foreseen(100, 1.019);
    let [unlikely] = told.as_slice() else { panic!("{told:?}") };
    assert_eq!((unlikely.metric.as_str(), unlikely.limit), ("wall_time", 0.02));
    assert!(unlikely.needed.is_none_or(|needed| needed > 200.0), "{unlikely:?}");
    let reach = unlikely.reach.unwrap();
    assert!((0.001..0.02).contains(&reach), "{reach}");
    // Far from it, or with time enough, nothing is said.
    assert_eq!(foreseen(100, 1.0), []);
    assert_eq!(foreseen(1_000_000, 1.01), []);
}

/// Runs a program with three benchmarks, of which the first is a clear regression, the
/// second none, and the third at its threshold. Returns the result and the benchmarks that
/// were wanted in each run.
fn feed_three(can_select_benchmarks: bool) -> (Sampled, Vec<Vec<usize>>) {
    let mut plan = Plan { max_pairs: Some(40), ..empty() };
    plan.add_group(0, can_select_benchmarks, 6.0);
    for name in ["slower", "same", "near"] {
        let metrics = metrics(&["wall_time", "max_rss"]);
        plan.add_benchmark(name, &metrics, gates(&[("wall_time", 0.02)]));
    }
    let seconds = clock();
    let mut asked = Vec::new();
    let sampled = drive(
        &plan,
        &seconds,
        |turn, side| {
            let run = seconds.get();
            seconds.set(run + turn.wanted.len() as f64);
            asked.push(turn.wanted.iter().map(|id| id.0).collect());
            let value = |id: BenchmarkId| slower([1.5, 1.0, 1.02][id.0])(side, run as u64);
            Ok(turn.wanted.iter().map(|&id| (id, vec![value(id)])).collect())
        },
        |_, _| {},
    );
    (sampled, asked)
}

#[test]
fn a_decided_benchmark_leaves_the_runs_of_its_program() {
    let (sampled, asked) = feed_three(true);
    let verdicts: Vec<_> =
        sampled.benchmarks.iter().map(|b| b.metrics[0].verdict.unwrap()).collect();
    assert_eq!(verdicts, [Verdict::Regression, Verdict::NoRegression, Verdict::Inconclusive]);
    let pairs: Vec<u64> = sampled.benchmarks.iter().map(|benchmark| benchmark.pairs).collect();
    assert!(pairs[0] < 40 && pairs[1] < 40 && pairs[2] == 40, "{pairs:?}");
    assert_eq!((asked.len(), &asked[0], &asked[79]), (80, &vec![0, 1, 2], &vec![2]));
    // Both runs of a pair are of the same benchmarks.
    assert!(asked.chunks(2).all(|pair| pair[0] == pair[1]));
    assert_eq!(asked.iter().map(Vec::len).sum::<usize>() as u64, 2 * pairs.iter().sum::<u64>());
}

#[test]
fn where_none_can_leave_all_are_measured_until_the_last_is_decided() {
    let (sampled, asked) = feed_three(false);
    assert!(asked.iter().all(|wanted| wanted.len() == 3));
    assert!(sampled.benchmarks.iter().all(|benchmark| benchmark.pairs == 40));
    let decided = &sampled.benchmarks[0].metrics[0];
    assert_eq!(decided.verdict, Some(Verdict::Regression));
    assert!(decided.summary.pairs < 40);
}

#[test]
fn all_tests_of_all_benchmarks_share_the_error() {
    let gating = [("wall_time", 0.02), ("max_rss", 0.02)];
    let plan = (0..10).fold(empty(), |plan, _| with_program(plan, &gating));
    assert_eq!(plan.tests(), 20);
    assert_eq!(plan.levels(), Levels::new(0.95, 20));
    assert_eq!((plan.metrics.len(), plan.groups[9].benchmarks.clone()), (2, 9..10));
}

#[test]
fn the_time_of_a_pair_follows_the_benchmarks_that_are_left() {
    let limit = 200.0;
    let mut plan = Plan { time_limit: Duration::from_secs_f64(limit), ..empty() };
    plan.add_group(0, true, 0.0);
    for _ in 0..10 {
        let metrics = metrics(&["wall_time", "max_rss"]);
        plan.add_benchmark("it", &metrics, gates(&[("wall_time", 0.02)]));
    }
    let seconds = clock();
    let mut shortest = f64::INFINITY;
    let sampled = drive(
        &plan,
        &seconds,
        |turn, side| {
            let took = 0.5 * turn.wanted.len() as f64;
            shortest = took.min(shortest);
            seconds.set(seconds.get() + took);
            // All but the last are clear.
            let factor = |id: BenchmarkId| if id.0 == 9 { 1.02 } else { 1.5 };
            let run = seconds.get() as u64;
            let value = |id| slower(factor(id))(side, run);
            Ok(turn.wanted.iter().map(|&id| (id, vec![value(id)])).collect())
        },
        |_, _| {},
    );
    assert_eq!((sampled.stopped_by, shortest), (StoppedBy::TimeLimit, 0.5));
    // The last pair of a second that fits is made.
    assert!(limit - sampled.elapsed < 1.0, "{}", sampled.elapsed);
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
