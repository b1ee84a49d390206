use std::cell::Cell;

use super::*;
use crate::engine::Recorder;
use crate::flows::error::FlowError;
use crate::model::{BenchmarkId, Estimator, Gate, Layouts, Metric, MetricId, Side, Unit};
use crate::stats::tests::TestNoise;

const LIMIT: f64 = 100.0;

/// A plan of groups with a benchmark each.
fn plan(groups: usize, estimator: Estimator) -> Plan {
    let mut plan = Plan::new(0.95, estimator, 7);
    plan.time_limit = Duration::from_secs_f64(LIMIT);
    for program in 0..groups {
        plan.add_group(program, false, 0.0);
        let metric = Metric::cost("wall_time", Unit::Seconds);
        let gate = Gate::new("wall_time", 0.02);
        plan.add_benchmark(&program.to_string(), &[metric], vec![gate]);
    }
    plan
}

fn rows(turn: &Turn, head: f64) -> Vec<Row> {
    let row = |side: Side| {
        let value = if side == Side::Head { head } else { 1.0 };
        Row { benchmark: turn.wanted[0], side, values: vec![(MetricId(0), value)] }
    };
    [turn.first, turn.first.other()].map(row).to_vec()
}

#[test]
fn the_end_is_an_event_also_when_a_run_fails_or_is_stopped() {
    let failed = || Stop::Error(FlowError::AllRemoved(vec![]).into());
    for (stops_after, stop, expected, pairs_at_end) in [
        (0, failed(), None, vec![]),
        (3, failed(), None, vec![3]),
        (3, Stop::OutOfTime, Some(StoppedBy::TimeLimit), vec![3]),
        (2, Stop::Interrupted, Some(StoppedBy::Interrupt), vec![2]),
        (u64::MAX, failed(), Some(StoppedBy::MaxPairs), vec![5]),
    ] {
        let (mut stop, now) = (Some(stop), Cell::new(0.0));
        let plan = Plan { max_pairs: Some(5), ..plan(1, Estimator::Mean) };
        let mut stages = Stages::new(plan, vec![false], |_| true, 0.0);
        let mut measured = 0;
        let mut measure = |_: &mut Stages, _, turn: &Turn, _: &mut dyn Reporter| {
            measured += 1;
            if measured > stops_after {
                now.set(LIMIT);
                return Err(stop.take().unwrap());
            }
            Ok(rows(turn, 1.0))
        };
        let (mut pairs, mut ends) = (0, Vec::new());
        let reporter = &mut Recorder::new(|event: Event<'_>| match event {
            Event::Pair { rows, .. } => pairs += rows.len() / 2,
            Event::Sampled(progress) => ends.push(progress.results(0).next().unwrap().pairs),
            _ => {}
        });
        let stopped_by = run(&mut stages, &|| now.get(), reporter, &mut measure);
        assert_eq!((stopped_by.ok(), &ends), (expected, &pairs_at_end));
        assert_eq!(pairs as u64, pairs_at_end.first().copied().unwrap_or(0));
    }
}

#[test]
fn what_is_reserved_for_layouts_is_not_lost_when_a_pair_as_built_is_out_of_time() {
    let plan = Plan { layouts: Layouts::Auto, ..plan(3, Estimator::Robust) };
    let mut stages = Stages::new(plan, vec![true, true, false], |_| true, 0.0);
    let (now, mut noise) = (Cell::new(0.0), TestNoise::seeded(1));
    let mut measure = |stages: &mut Stages, stage, turn: &Turn, _: &mut dyn Reporter| {
        let (program, seconds) = match stage {
            Stage::AsBuilt => (turn.group, 0.1),
            Stage::Over(number) => (stages.test(number).over.of[turn.wanted[0].0].0, 1.0),
        };
        // The last one, which has no layouts, stays near its threshold and never ends at last.
        if (stage, program) == (Stage::AsBuilt, 2) && now.get() > 0.4 * LIMIT {
            now.set(now.get() + turn.left.as_secs_f64());
            return Err(Stop::OutOfTime);
        }
        now.set(now.get() + seconds);
        stages.linked(program, Some(0.9), 0);
        let (change, deviation) = if program == 2 { (1.015, 0.05) } else { (2.0, 0.01) };
        Ok(rows(turn, change * (deviation * noise.normal()).exp()))
    };
    let stopped_by =
        run(&mut stages, &|| now.get(), &mut Recorder::new(|_: Event<'_>| {}), &mut measure);
    assert_eq!(stopped_by.unwrap(), StoppedBy::TimeLimit);
    let verdicts = stages.tests().iter().map(|test| {
        let result = &test.experiment.finish(test.stopped_by()).benchmarks[0];
        (test.over.of[0], result.metrics[0].verdict)
    });
    let bad = Some(Verdict::Regression);
    assert_eq!(verdicts.collect::<Vec<_>>(), [(BenchmarkId(0), bad), (BenchmarkId(1), bad)]);
}

#[test]
fn a_verdict_is_called_unlikely_at_the_end_only_if_it_did_not_come() {
    let plan = plan(2, Estimator::Mean);
    let mut stages = Stages::new(plan, vec![false; 2], |_| true, 0.0);
    let (now, mut noise) = (Cell::new(0.0), TestNoise::seeded(2));
    let mut measure = |_: &mut Stages, _, turn: &Turn, _: &mut dyn Reporter| {
        now.set(now.get() + 1.0);
        Ok(rows(turn, 1.02 * (0.05 * noise.normal()).exp()))
    };
    let reporter = &mut Recorder::new(|_: Event<'_>| {});
    let stopped_by = run(&mut stages, &|| now.get(), reporter, &mut measure).unwrap();
    let mut sampled = stages.as_built().finish(stopped_by);
    for (verdict, is_noted) in [(Verdict::Inconclusive, true), (Verdict::NoRegression, false)] {
        sampled.benchmarks[0].metrics[0].verdict = Some(verdict);
        assert_eq!(unlikely(&stages, &sampled).is_some(), is_noted);
    }
}

#[test]
fn an_early_end_is_noted_beside_a_regression_too() {
    for (at_threshold, gives_up) in [(true, true), (true, false), (false, true)] {
        let plan = Plan { gives_up, layouts: Layouts::Off, ..plan(2, Estimator::Robust) };
        let mut stages = Stages::new(plan.clone(), vec![false; 2], |_| true, 0.0);
        let (now, mut noise) = (Cell::new(0.0), TestNoise::seeded(3));
        let mut measure = |_: &mut Stages, _, turn: &Turn, _: &mut dyn Reporter| {
            now.set(now.get() + 0.5);
            let change = if turn.group == 1 && at_threshold { 1.02 } else { 1.5 };
            Ok(rows(turn, change * (0.05 * noise.normal()).exp()))
        };
        let reporter = &mut Recorder::new(|_: Event<'_>| {});
        let stopped_by = run(&mut stages, &|| now.get(), reporter, &mut measure).unwrap();
        let sampled = stages.as_built().finish(stopped_by);
        assert_eq!(sampled.verdict(), Verdict::Regression);
        let is_early = at_threshold && gives_up;
        assert_eq!(gave_up(&plan, &stages, &sampled).is_some(), is_early);
    }
}

#[test]
fn what_has_no_pair_when_the_time_is_over_is_not_measured() {
    let mut plan = Plan { layouts: Layouts::Off, ..plan(3, Estimator::Robust) };
    plan.groups.iter_mut().for_each(|group| group.pair_seconds = 1.0);
    // The time of what does not gate is never missed.
    plan.benchmarks[2].gates.clear();
    let mut stages = Stages::new(plan.clone(), vec![false; 3], |_| true, 0.0);
    let now = Cell::new(0.0);
    let mut measure = |_: &mut Stages, _, turn: &Turn, _: &mut dyn Reporter| {
        // A pair of the first takes much longer than the others that there were.
        now.set(now.get() + 1.0);
        if turn.group > 0 { Ok(rows(turn, 1.0)) } else { Err(Stop::OutOfTime) }
    };
    let reporter = &mut Recorder::new(|_: Event<'_>| {});
    run(&mut stages, &|| now.get(), reporter, &mut measure).unwrap();
    let mut results = stages.as_built().finish(StoppedBy::TimeLimit).benchmarks;
    let notice = leave_unreached(&plan, &mut results).unwrap();
    let found = results.iter().map(|one| (one.status, one.pairs > 0, one.needed_seconds));
    let least = plan.least_pairs() as f64;
    let expected = [(Status::NotMeasured, false, Some(least)), (Status::Compared, true, None)];
    assert_eq!(found.take(2).collect::<Vec<_>>(), expected);
    assert_eq!(results[2].status, Status::Compared);
    let Notice::NoTime(it) = notice else { panic!("{notice:?}") };
    assert_eq!(it.benchmarks, [("0".to_owned(), least)]);
    assert_eq!(fit::no_time(&results[1..], 60.0), None);
    assert_eq!(leave_unreached(&plan, &mut results[1..2]), None);
}
