//! Samples a plan: the executables as built, in turn with layouts, and then longer runs.

use std::time::Duration;

use super::program::ComparedProgram;
use super::session::Session;
use super::{fit, layouts};
use crate::engine::longer::{self, Shown, replace};
use crate::engine::{Event, Experiment, Plan, Reporter, Stage, Stages, Turn};
use crate::error::Error;
use crate::exec::execution::{SideProgram, Stop};
use crate::model::{
    Advice, AtLength, BenchmarkId, BenchmarkNotice, BenchmarkResult, Notice, Remark, Row, Sampled,
    Status, StoppedBy, Unlikely, Verdict,
};

/// Samples all benchmarks of a plan until they are decided or a limit is reached. Runs then last
/// for `longest` where nothing has regressed.
pub(super) fn sample(
    session: &mut Session<'_, '_>,
    plan: &Plan,
    longest: Duration,
) -> Result<Sampled, Error> {
    if plan.tests() > 0 {
        session.reporter.event(Event::Sampling(plan));
    }
    let began = session.seconds();
    let (mut stages, stopped_by) = sample_stages(session, plan)?;
    stages.end();
    let mut sampled = stages.as_built().finish(stopped_by);
    sampled.evidence = stages.evidence();
    sampled.elapsed = stages.elapsed();
    layouts::combine_with(stages.tests(), &session.programs, &mut sampled);
    let is_found = plan.fail_fast && sampled.results().any(BenchmarkResult::has_regressed);
    let mut long = None;
    if plan.decides && stopped_by != StoppedBy::Interrupt && !is_found {
        long = sample_longer(session, plan, &mut sampled, longest, began)?;
    }
    if sampled.benchmarks.iter().any(BenchmarkResult::has_regressed) {
        sampled.likely_slower = None;
    }
    sampled.stopped_by = end(plan, stopped_by, long, is_decided(sampled.results()));
    if plan.decides && sampled.stopped_by == StoppedBy::TimeLimit {
        let notice = leave_unreached(plan, &mut sampled.benchmarks);
        notice.into_iter().for_each(|notice| session.reporter.notice(notice));
    }
    report(session, plan, &stages, &sampled);
    if let Some(division) = &mut session.findings.division {
        division.evidence = sampled.evidence;
        division.over_layouts = layouts::suite_pairs(stages.tests(), &session.programs);
    }
    Ok(sampled)
}

/// Tests with runs of the length `longest` what has not regressed in those of the comparison
/// `short`, which began at the time `began`, and replaces the results that do not hold there.
/// Returns why that stopped; `None` if there is nothing to test.
fn sample_longer(
    session: &mut Session<'_, '_>,
    short: &Plan,
    sampled: &mut Sampled,
    longest: Duration,
    began: f64,
) -> Result<Option<StoppedBy>, Error> {
    let Some(mut plan) = longer::plan(short, &sampled.benchmarks, longest) else {
        return Ok(None);
    };
    let spent = Duration::from_secs_f64(session.seconds() - began);
    plan.time_limit = short.time_limit.saturating_sub(spent);
    session.reporter.event(Event::Longer(&plan));
    let (stages, stopped_by) = sample_stages(session, &plan)?;
    let experiment = stages.as_built();
    let Sampled { benchmarks: longer, likely_slower, .. } = experiment.finish(stopped_by);
    sampled.elapsed = session.seconds() - began;
    sampled.likely_slower = sampled.likely_slower.take().or(likely_slower);
    let mut too_few = Vec::new();
    for (id, (result, long)) in sampled.benchmarks.iter_mut().zip(longer).enumerate() {
        let shown = experiment.gating(BenchmarkId(id));
        let shown: Vec<(&str, Shown)> =
            shown.map(|(test, gate)| (gate.metric.as_str(), Shown::by(test))).collect();
        let of = |which| shown.iter().filter(move |one| one.1 == which).map(|(metric, _)| *metric);
        let passed = |metric: &str| {
            let metric = result.metrics.iter().find(|one| one.name == metric);
            metric.is_some_and(|metric| metric.verdict == Some(Verdict::NoRegression))
        };
        if of(Shown::TooFew).any(passed) {
            too_few.push(long.name.clone());
        }
        let worse: Vec<&str> = of(Shown::Worse).collect();
        for notice in worse.iter().filter_map(|metric| differs(metric, result, &long)) {
            session.reporter.notice(notice);
        }
        replace(result, long, &worse);
    }
    if let Some(example) = too_few.first().cloned() {
        let (benchmarks, length) = (too_few.len(), longest.as_secs_f64());
        session.reporter.notice(Notice::OnlyShort { benchmarks, example, length });
    }
    Ok(Some(stopped_by))
}

/// A notice about a metric that differs between short and long runs.
fn differs(metric: &str, short: &BenchmarkResult, long: &BenchmarkResult) -> Option<Notice> {
    let at = |result: &BenchmarkResult| {
        let found = result.metrics.iter().find(|one| one.name == metric)?;
        let seconds = result.measurement_time?;
        Some((AtLength { seconds, change: found.summary.change }, found.verdict?))
    };
    let (benchmark, pairs) = (long.name.clone(), long.pairs);
    let ((short, _), (long, verdict)) = (at(short)?, at(long)?);
    let metric = metric.to_owned();
    let remark = Remark::Longer { short, long, pairs, verdict };
    Some(Notice::Metric { benchmark, metric, remark })
}

/// Samples as built, and alarms over layouts.
pub(super) fn sample_stages(
    session: &mut Session<'_, '_>,
    plan: &Plan,
) -> Result<(Stages, StoppedBy), Error> {
    let Session { programs, call, reporter, .. } = session;
    let clock = || call.start.elapsed().as_secs_f64();
    let placed = plan.groups.iter().map(|group| &programs[group.program]);
    let placed = placed.map(|program| program.both_sides(SideProgram::can_be_placed)).collect();
    let mut stages = Stages::new(plan.clone(), placed, layouts::depends_on_layout, clock());
    for group in &plan.groups {
        let program = &programs[group.program];
        stages.linked(group.program, program.link_seconds, program.layouts_at_hand());
    }
    // Whether executables may have other layouts than as built.
    let mut is_placed = false;
    let restore = |programs: &mut [ComparedProgram<'_>], is_placed: &mut bool| {
        if std::mem::take(is_placed) { layouts::restore(programs) } else { Ok(()) }
    };
    // How many tests over layouts have been reported.
    let mut begun = 0;
    let mut measure = |stages: &mut Stages, stage, turn: &Turn, reporter: &mut dyn Reporter| {
        let Stage::Over(number) = stage else {
            if let Some(rows) = &turn.measured {
                return Ok(rows.clone());
            }
            restore(programs, &mut is_placed)?;
            return programs[plan.groups[turn.group].program].measure(turn, stages.as_built());
        };
        is_placed = true;
        for test in &stages.tests()[begun..] {
            for group in &test.over.plan.groups {
                programs[group.program].choose_placing(reporter);
            }
            reporter.event(Event::OverLayouts(&test.over.plan));
        }
        begun = stages.tests().len();
        let test = stages.test(number);
        let number = test.over.plan.groups[turn.group].program;
        let program = &mut programs[number];
        let (rows, links) = layouts::measure(test, turn, plan, program, reporter)?;
        stages.linked(number, links, program.layouts_at_hand());
        Ok(rows)
    };
    let ended = run(&mut stages, &clock, *reporter, &mut measure);
    let restored = restore(programs, &mut is_placed);
    let stopped_by = ended?;
    restored?;
    Ok((stages, stopped_by))
}

/// Whether every gating metric has its verdict.
fn is_decided<'a>(benchmarks: impl Iterator<Item = &'a BenchmarkResult>) -> bool {
    let mut metrics = benchmarks.flat_map(|benchmark| &benchmark.metrics);
    metrics.all(|metric| metric.verdict != Some(Verdict::Inconclusive))
}

/// Why all of it stopped, given why the short runs did, and the longer ones if they were allowed.
fn end(plan: &Plan, short: StoppedBy, long: Option<StoppedBy>, is_decided: bool) -> StoppedBy {
    match short {
        _ if long == Some(StoppedBy::Interrupt) => StoppedBy::Interrupt,
        // The longer runs contradict a verdict of the short ones, without one of their own.
        StoppedBy::Verdict if long.is_some() && !is_decided => StoppedBy::TimeLimit,
        // What was undecided as built has its verdict over layouts.
        StoppedBy::TimeLimit | StoppedBy::MaxPairs if plan.decides && is_decided => {
            StoppedBy::Verdict
        }
        short => short,
    }
}

/// What has no pair when the time is over is as if there had been no room for it: others took longer
/// than expected, or alarms among them were confirmed first. Returns the notice about it.
fn leave_unreached(plan: &Plan, benchmarks: &mut [BenchmarkResult]) -> Option<Notice> {
    // The least number of pairs takes long to compute.
    if benchmarks.iter().all(|result| result.pairs > 0) {
        return None;
    }
    for (result, needed) in benchmarks.iter_mut().zip(plan.least_seconds()) {
        if result.pairs == 0 && needed > 0.0 {
            *result = BenchmarkResult::not_measured(&result.name, needed);
        }
    }
    let needed = benchmarks.iter().filter_map(|one| one.needed_seconds).sum::<f64>();
    let seconds = plan.time_limit.as_secs_f64() + plan.pairs_to_pass_per_least() * needed;
    fit::no_time(&*benchmarks, seconds)
}

/// Reports what the user should know at the end.
fn report(session: &mut Session<'_, '_>, plan: &Plan, stages: &Stages, sampled: &Sampled) {
    if sampled.verdict() == Verdict::Inconclusive {
        unlikely(stages, sampled).into_iter().for_each(|notice| session.reporter.record(notice));
    }
    gave_up(plan, stages, sampled).into_iter().for_each(|notice| session.reporter.notice(notice));
    if let Some(layouts) = plan.most_layouts
        && stages.tests().iter().any(|test| test.stopped_by() == StoppedBy::MaxPairs)
    {
        session.reporter.notice(Notice::NoMoreLayouts { layouts });
    }
    let unreached = sampled.results().filter(|one| one.status == Status::NotMeasured);
    let unreached: Vec<&str> = unreached.map(|one| &*one.name).collect();
    let mut below = stages.below_minimum_pairs();
    below.retain(|benchmark| !unreached.contains(benchmark));
    match below.first() {
        Some(example) if sampled.stopped_by == StoppedBy::TimeLimit => {
            let (benchmarks, example) = (below.len(), (*example).to_owned());
            session.reporter.notice(Notice::BelowMinimumPairs { benchmarks, example });
        }
        _ => {
            let advice = advice(plan, stages, sampled);
            advice.into_iter().for_each(|one| session.reporter.notice(Notice::Advice(one)));
        }
    }
    session.report_runs();
    let is_short_of_time =
        sampled.stopped_by == StoppedBy::TimeLimit && sampled.verdict() == Verdict::Inconclusive;
    for program in &session.programs {
        let is_left_out = !program.found.not_measured.is_empty();
        let version = program.sides.head.version_with_short_runs();
        if let Some(version) = version.filter(|_| is_short_of_time || is_left_out) {
            let notice = BenchmarkNotice::LongRuns { shorter_since: version.to_owned() };
            session.reporter.notice(notice.about(&program.name()));
        }
    }
    for program in session.programs.iter().filter(|program| program.execution.left_behind > 0) {
        let notice = BenchmarkNotice::LeftBehind { processes: program.execution.left_behind };
        session.reporter.notice(notice.about(&program.name()));
    }
}

/// That sampling ended early, whatever the verdict about the other benchmarks is.
fn gave_up(plan: &Plan, stages: &Stages, sampled: &Sampled) -> Option<Notice> {
    let (after, limit) = (Duration::from_secs_f64(sampled.elapsed), plan.time_limit);
    let is_early = sampled.stopped_by == StoppedBy::TimeLimit && after < limit;
    (is_early && stages.has_given_up()).then_some(Notice::GaveUp { after, limit })
}

/// The verdict that was called unlikely. Forecasts are rough: one that did not come true is dropped.
fn unlikely(stages: &Stages, sampled: &Sampled) -> Option<Notice> {
    let is_open = |one: &&Unlikely| sampled.is_open(&one.benchmark, &one.metric);
    stages.as_built().foreseen().filter(is_open).cloned().map(Notice::Unlikely)
}

/// What would decide the rest.
fn advice(plan: &Plan, stages: &Stages, sampled: &Sampled) -> Option<Advice> {
    let of = |one: &Experiment| one.advice(|benchmark, metric| sampled.is_open(benchmark, metric));
    let as_built = of(stages.as_built());
    match sampled.stopped_by {
        StoppedBy::TimeLimit => {
            let over = stages.tests().iter().filter_map(|test| of(&test.experiment));
            as_built.into_iter().chain(over).reduce(Advice::and)
        }
        // There already is a notice about too few pairs.
        StoppedBy::MaxPairs if plan.max_pairs >= Some(plan.least_pairs()) => {
            as_built.map(|advice| Advice { is_limited_by_pairs: true, ..advice })
        }
        _ => None,
    }
}

type Measure<'a> =
    dyn FnMut(&mut Stages, Stage, &Turn, &mut dyn Reporter) -> Result<Vec<Row>, Stop> + 'a;

/// Measures pair after pair until a limit is reached, or a run is stopped.
///
/// # Errors
/// If a run fails. The event of the end is sent nevertheless.
fn run(
    stages: &mut Stages,
    clock: &dyn Fn() -> f64,
    reporter: &mut dyn Reporter,
    measure: &mut Measure<'_>,
) -> Result<StoppedBy, Error> {
    let ended = loop {
        let (stage, turn) = match stages.next(clock()) {
            Ok(next) => next,
            Err(stopped_by) => break Ok(stopped_by),
        };
        let rows = match measure(stages, stage, &turn, reporter) {
            Ok(rows) => rows,
            // There may be time that is reserved for layouts.
            Err(Stop::OutOfTime) if stage == Stage::AsBuilt => {
                stages.experiment(stage).ran_out(&turn, clock());
                continue;
            }
            Err(Stop::OutOfTime) => break Ok(StoppedBy::TimeLimit),
            Err(Stop::Interrupted) => break Ok(StoppedBy::Interrupt),
            Err(Stop::Error(error)) => break Err(error),
        };
        stages.push(stage, &turn, &rows, clock());
        let experiment = stages.experiment(stage);
        reporter.event(Event::Pair { rows: &rows, progress: experiment });
        if let Some(unlikely) = experiment.unlikely() {
            reporter.event(Event::Notice(&Notice::Unlikely(unlikely.clone())));
        }
    };
    stages.report_end(&mut |event| reporter.event(event));
    ended
}

#[cfg(test)]
mod tests;
