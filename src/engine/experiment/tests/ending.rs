//! When sampling ends, and what is foreseen of that.

use super::*;

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

#[test]
fn fail_fast_stops_at_the_first_regression() {
    let plan = Plan { fail_fast: true, ..plan(&[("wall_time", 0.02), ("max_rss", 0.2)]) };
    let (sampled, _) = feed(&plan, slower(1.2));
    assert_eq!(sampled.stopped_by, StoppedBy::Verdict);
    assert_eq!(sampled.benchmarks[0].metrics[1].verdict, Some(Verdict::Inconclusive));
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
fn what_shares_the_time_is_given_up_as_early_as_one_alone() {
    let ended = |gives_up, changes: &'static [f64]| {
        let time_limit = Duration::from_secs(1000 * changes.len() as u64);
        let plan = Plan { time_limit, gives_up, ..groups(changes.len()) };
        let (sampled, turns) = timed(&plan, |_, _| 2.0, |group| changes[group], 0.01);
        (decided(&sampled), turns.len())
    };
    let alike: &[f64] = &[1.0, 1.02, 1.02, 1.02, 1.02, 1.02, 1.02, 1.02];
    let (patient, all) = ended(false, alike);
    let (verdicts, pairs) = ended(true, alike);
    assert_eq!((patient.as_slice(), all), (verdicts.as_slice(), 4000));
    assert_eq!(verdicts.iter().filter(|verdict| **verdict).count(), 1);
    // A quarter of what there is time for, and not most of it.
    assert!((1000..2400).contains(&pairs), "{pairs}");
    // One that will be decided is waited for.
    let (verdicts, _) = ended(true, &[1.017, 1.02, 1.02, 1.02, 1.02, 1.02, 1.02, 1.02]);
    assert!(verdicts[0], "{verdicts:?}");
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
    assert_eq!(unlikely.most_pairs, None);
    // Fewer pairs are allowed than there is time for: then pairs are what it takes.
    let mut told = Vec::new();
    let plan = Plan { max_pairs: Some(30), ..plan(&[("wall_time", 0.02)]) };
    noisy(&plan, 1.019, |experiment| told.extend(experiment.unlikely().cloned()));
    assert_eq!(told[0].most_pairs, Some(30));
    assert!(told[0].needed.is_none_or(|pairs| pairs >= 60.0 && pairs.fract() == 0.0), "{told:?}");
    // Far from it, or with time enough, nothing is said.
    assert_eq!(foreseen(100, 1.0), []);
    assert_eq!(foreseen(1_000_000, 1.01), []);
}
