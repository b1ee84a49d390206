//! Samples a plan: the executables as built, in turn with layouts, and then longer runs.

use std::time::Duration;

use super::{ComparedProgram, Session, layouts, longer};
use crate::engine::{Event, Plan, Reporter, Stage, Stages, Turn};
use crate::error::Error;
use crate::exec::execution::{SideProgram, Stop};
use crate::model::{
    Advice, BenchmarkResult, Notice, Row, Sampled, StoppedBy, SuitePairs, Unlikely, Verdict,
};

/// Samples all benchmarks of a plan until they are decided or a limit is reached. Runs then last
/// for `longest` where nothing has regressed. Also returns the pairs of a suite that is divided.
pub(super) fn sample(
    session: &mut Session<'_, '_>,
    plan: &Plan,
    longest: Duration,
) -> Result<(Sampled, Vec<SuitePairs>), Error> {
    if plan.tests() > 0 {
        session.reporter.event(Event::Sampling(plan));
    }
    let began = session.seconds();
    let (mut stages, stopped_by) = sample_stages(session, plan)?;
    stages.end();
    let short = stages.as_built().finish(stopped_by);
    let (mut benchmarks, mut suite) = (short.benchmarks, short.suite);
    let likely_over =
        layouts::combine_with(stages.tests(), session.programs, &mut benchmarks, &mut suite);
    let of_suite = || suite.iter().flat_map(|suite| &suite.numbers);
    let has_regressed = benchmarks.iter().any(BenchmarkResult::has_regressed)
        || of_suite().any(BenchmarkResult::has_regressed);
    let is_found = plan.fail_fast && has_regressed;
    let is_over = !plan.decides || stopped_by == StoppedBy::Interrupt || is_found;
    let long = match is_over {
        true => None,
        false => longer::sample(session, plan, &mut benchmarks, longest, began)?,
    };
    let likely_long = long.as_ref().and_then(|long| long.likely_slower.clone());
    let likely_slower = short.likely_slower.or(likely_over).or(likely_long);
    let names_one = benchmarks.iter().any(BenchmarkResult::has_regressed);
    let sampled = Sampled {
        stopped_by: end(
            plan,
            stopped_by,
            long.as_ref().map(|long| long.stopped_by),
            is_decided(benchmarks.iter().chain(of_suite())),
        ),
        likely_slower: likely_slower.filter(|_| !names_one),
        evidence: stages.evidence(),
        elapsed: long.map_or(stages.elapsed(), |long| long.elapsed),
        benchmarks,
        suite,
    };
    report(session, plan, &stages, &sampled);
    Ok((sampled, layouts::suite_pairs(stages.tests(), session.programs)))
}

/// Samples as built, and alarms over layouts.
pub(super) fn sample_stages(
    session: &mut Session<'_, '_>,
    plan: &Plan,
) -> Result<(Stages, StoppedBy), Error> {
    let Session { programs, start, reporter, .. } = session;
    let clock = || start.elapsed().as_secs_f64();
    let placed = plan.groups.iter().map(|group| &programs[group.program]);
    let placed = placed.map(|program| program.both_sides(SideProgram::can_be_placed)).collect();
    let mut stages = Stages::new(plan.clone(), placed, layouts::depends_on_layout, clock());
    let mut runs = StageRuns { programs, plan, begun: 0, is_placed: false };
    let mut measure = |stages: &mut Stages, stage, turn: &Turn, reporter: &mut dyn Reporter| {
        runs.measure(stages, stage, turn, reporter)
    };
    let ended = run(&mut stages, &clock, *reporter, &mut measure);
    let restored = runs.restore();
    let stopped_by = ended?;
    restored?;
    Ok((stages, stopped_by))
}

/// Measures the pairs of both stages.
struct StageRuns<'r, 'a> {
    programs: &'r mut [ComparedProgram<'a>],
    plan: &'r Plan,
    /// How many tests over layouts have been reported.
    begun: usize,
    /// Whether executables may have other layouts than as built.
    is_placed: bool,
}

impl StageRuns<'_, '_> {
    fn measure(
        &mut self,
        stages: &mut Stages,
        stage: Stage,
        turn: &Turn,
        reporter: &mut dyn Reporter,
    ) -> Result<Vec<Row>, Stop> {
        match stage {
            Stage::AsBuilt => {
                if let Some(rows) = &turn.measured {
                    return Ok(rows.clone());
                }
                self.restore()?;
                let program = self.plan.groups[turn.group].program;
                self.programs[program].measure(turn, stages.as_built())
            }
            Stage::Over(number) => self.measure_over(stages, number, turn, reporter),
        }
    }

    fn measure_over(
        &mut self,
        stages: &mut Stages,
        number: usize,
        turn: &Turn,
        reporter: &mut dyn Reporter,
    ) -> Result<Vec<Row>, Stop> {
        self.is_placed = true;
        for test in &stages.tests()[self.begun..] {
            for group in &test.over.plan.groups {
                self.programs[group.program].choose_placing(reporter);
            }
            reporter.event(Event::OverLayouts(&test.over.plan));
        }
        self.begun = stages.tests().len();
        let test = stages.test(number);
        let number = test.over.plan.groups[turn.group].program;
        let program = &mut self.programs[number];
        let (rows, links) = layouts::measure(test, turn, self.plan, program, reporter)?;
        stages.linked(number, links, program.layouts_at_hand());
        Ok(rows)
    }

    fn restore(&mut self) -> Result<(), Error> {
        match std::mem::take(&mut self.is_placed) {
            true => layouts::restore(self.programs),
            false => Ok(()),
        }
    }
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

/// Reports what the user should know at the end.
fn report(session: &mut Session<'_, '_>, plan: &Plan, stages: &Stages, sampled: &Sampled) {
    let as_built = stages.as_built();
    if sampled.verdict() == Verdict::Inconclusive {
        unlikely(stages, sampled).into_iter().for_each(|notice| session.reporter.record(notice));
        let after = Duration::from_secs_f64(sampled.elapsed);
        let is_early = sampled.stopped_by == StoppedBy::TimeLimit && after < plan.time_limit;
        if stages.has_given_up() && is_early {
            session.reporter.notice(Notice::GaveUp { after, limit: plan.time_limit });
        }
    }
    if let Some(layouts) = plan.most_layouts
        && stages.tests().iter().any(|test| test.stopped_by() == StoppedBy::MaxPairs)
    {
        session.reporter.notice(Notice::NoMoreLayouts { layouts });
    }
    let below = as_built.below_minimum_pairs();
    match below.first() {
        Some(example) if sampled.stopped_by == StoppedBy::TimeLimit => {
            let (benchmarks, example) = (below.len(), (*example).to_owned());
            session.reporter.notice(Notice::BelowMinimumPairs { benchmarks, example });
        }
        _ => {
            let advice = advice(plan, stages, sampled.stopped_by);
            advice.into_iter().for_each(|one| session.reporter.notice(Notice::Advice(one)));
        }
    }
    session.report_runs();
    for program in &*session.programs {
        program.report_left_behind(session.reporter);
    }
}

/// The verdict that was called unlikely. Forecasts are rough: one that did not come true is dropped.
fn unlikely(stages: &Stages, sampled: &Sampled) -> Option<Notice> {
    let is_open = |one: &&Unlikely| sampled.is_open(&one.benchmark, &one.metric);
    stages.as_built().foreseen().filter(is_open).cloned().map(Notice::Unlikely)
}

/// What would decide the rest.
fn advice(plan: &Plan, stages: &Stages, stopped_by: StoppedBy) -> Option<Advice> {
    let as_built = stages.as_built().advice();
    match stopped_by {
        StoppedBy::TimeLimit => {
            let over = stages.tests().iter().filter_map(|test| test.experiment.advice());
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
