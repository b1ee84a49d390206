//! Which pair comes next.

use super::*;
use crate::engine::schedule::Schedule;

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
