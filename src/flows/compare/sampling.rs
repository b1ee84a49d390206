//! Samples a plan: the executables as built, in turn with layouts, and then longer runs.

use std::time::Duration;

use super::layouts;
use super::longer;
use super::session::Session;
use crate::engine::event::{Event, Reporter};
use crate::engine::experiment::{Experiment, Progress, Turn};
use crate::engine::plan::Plan;
use crate::engine::stages::{Stage, Stages};
use crate::error::Error;
use crate::exec::execution::{SideProgram, Stop};
use crate::model::layouts::Placing;
use crate::model::notice::{Advice, Notice};
use crate::model::outcome::{BenchmarkResult, Sampled, StoppedBy, Verdict};
use crate::model::row::Row;
use crate::model::shard::SuitePairs;

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
    let (mut stages, placings, stopped_by) = sample_short(session, plan, began)?;
    stages.end();
    let short = stages.as_built().finish(stopped_by);
    let over_layouts = || stages.tests().iter();
    let mut benchmarks =
        layouts::combined_with(stages.tests(), &placings, session.programs, short.benchmarks);
    let suite =
        layouts::suite_combined_with(stages.tests(), &placings, session.programs, short.suite);
    let of_suite = || suite.iter().flat_map(|suite| &suite.numbers);
    let has_regressed = benchmarks.iter().any(BenchmarkResult::has_regressed)
        || of_suite().any(BenchmarkResult::has_regressed);
    let is_found = plan.fail_fast && has_regressed;
    let is_over = !plan.decides || stopped_by == StoppedBy::Interrupt || is_found;
    let long = match is_over {
        true => None,
        false => longer::sample(session, plan, &mut benchmarks, longest, began)?,
    };
    let likely_over =
        over_layouts().find_map(|test| test.experiment.finish(stopped_by).likely_slower);
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
    Ok((sampled, layouts::suite_pairs(stages.tests(), &placings)))
}

/// Samples as built, and alarms over layouts. Also returns, for each program, how its layouts
/// were made.
fn sample_short(
    session: &mut Session<'_, '_>,
    plan: &Plan,
    began: f64,
) -> Result<(Stages, Vec<Option<Placing>>, StoppedBy), Error> {
    let placed = plan
        .groups
        .iter()
        .map(|group| session.programs[group.program].both_sides(SideProgram::can_be_placed));
    let mut stages = Stages::new(plan.clone(), placed.collect(), layouts::depends_on_layout, began);
    let mut runs = ShortRuns {
        placings: vec![None; session.programs.len()],
        begun: 0,
        is_placed: false,
        session,
        plan,
    };
    let ended = until_stopped(|| {
        let (stage, turn) = match stages.next(runs.session.seconds()) {
            Ok(next) => next,
            Err(stopped_by) => return Ok(Some(stopped_by)),
        };
        let rows = runs.measure(&mut stages, stage, &turn)?;
        stages.push(stage, &turn, &rows, runs.session.seconds());
        let reporter = &mut *runs.session.reporter;
        reporter.event(Event::Pair { rows: &rows, progress: &stages.progress(stage) });
        if let Some(unlikely) = stages.unlikely(stage) {
            reporter.event(Event::Unlikely(unlikely));
        }
        Ok(None)
    });
    let restored = runs.restore();
    let ShortRuns { placings, .. } = runs;
    stages.report_end(&mut |event| session.reporter.event(event));
    let stopped_by = ended?;
    restored?;
    Ok((stages, placings, stopped_by))
}

/// Measures the pairs of both stages.
struct ShortRuns<'r, 's, 'a> {
    session: &'r mut Session<'s, 'a>,
    plan: &'r Plan,
    /// For each program, how its layouts are made, if any was.
    placings: Vec<Option<Placing>>,
    /// How many tests over layouts have been reported.
    begun: usize,
    /// Whether executables may have other layouts than as built.
    is_placed: bool,
}

impl ShortRuns<'_, '_, '_> {
    fn measure(
        &mut self,
        stages: &mut Stages,
        stage: Stage,
        turn: &Turn,
    ) -> Result<Vec<Row>, Stop> {
        match stage {
            Stage::AsBuilt => {
                if let Some(rows) = &turn.measured {
                    return Ok(rows.clone());
                }
                self.restore()?;
                let Session { programs, context, .. } = &mut *self.session;
                let group = &self.plan.groups[turn.group];
                programs[group.program].measure(turn, group, &stages.progress(stage), *context)
            }
            Stage::Over(number) => self.measure_over(stages, number, turn),
        }
    }

    fn measure_over(
        &mut self,
        stages: &mut Stages,
        number: usize,
        turn: &Turn,
    ) -> Result<Vec<Row>, Stop> {
        let Session { programs, context, reporter, .. } = &mut *self.session;
        self.is_placed = true;
        for test in &stages.tests()[self.begun..] {
            for group in &test.over.plan.groups {
                let placing = &mut self.placings[group.program];
                if placing.is_none() {
                    *placing = Some(layouts::placing(&programs[group.program], *reporter));
                }
            }
            reporter.event(Event::OverLayouts(&test.over.plan));
        }
        self.begun = stages.tests().len();
        let test = stages.test(number);
        let program = test.over.plan.groups[turn.group].program;
        let placing = self.placings[program].unwrap_or(Placing::Copied);
        let measured = &mut programs[program];
        let (rows, links) = layouts::measure(test, turn, self.plan, (measured, placing), *context)?;
        stages.linked(program, links, programs[program].layouts_at_hand());
        Ok(rows)
    }

    fn restore(&mut self) -> Result<(), Error> {
        match std::mem::take(&mut self.is_placed) {
            true => layouts::restore(self.session.programs),
            false => Ok(()),
        }
    }
}

/// Whether every gating metric has its verdict.
fn is_decided<'a>(benchmarks: impl Iterator<Item = &'a BenchmarkResult>) -> bool {
    let metrics = benchmarks.flat_map(|benchmark| &benchmark.metrics);
    metrics.filter_map(|metric| metric.verdict).all(|verdict| verdict != Verdict::Inconclusive)
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
    // Forecasts are rough: one that did not come true is dropped.
    if sampled.verdict() == Verdict::Inconclusive {
        let unlikely = as_built.foreseen().cloned().map(Notice::Unlikely);
        unlikely.into_iter().for_each(|notice| session.reporter.record(notice));
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
            let over = stages.tests().iter().filter_map(|test| test.experiment.advice());
            let advice = advice(plan, as_built, over.reduce(Advice::and), sampled.stopped_by);
            advice.into_iter().for_each(|one| session.reporter.notice(Notice::Advice(one)));
        }
    }
    session.report_runs();
    for program in &*session.programs {
        program.report_left_behind(session.reporter);
    }
}

/// What would decide the rest.
fn advice(
    plan: &Plan,
    as_built: &Experiment,
    over_layouts: Option<Advice>,
    stopped_by: StoppedBy,
) -> Option<Advice> {
    match stopped_by {
        StoppedBy::TimeLimit => match (as_built.advice(), over_layouts) {
            (Some(as_built), Some(over_layouts)) => Some(as_built.and(over_layouts)),
            (as_built, over_layouts) => as_built.or(over_layouts),
        },
        // There already is a notice about too few pairs.
        StoppedBy::MaxPairs if plan.max_pairs >= Some(plan.least_pairs()) => {
            as_built.advice().map(|advice| Advice { is_limited_by_pairs: true, ..advice })
        }
        _ => None,
    }
}

/// Measures pair after pair, until `pair` returns why there is none, or a run is stopped.
fn until_stopped(
    mut pair: impl FnMut() -> Result<Option<StoppedBy>, Stop>,
) -> Result<StoppedBy, Error> {
    loop {
        match pair() {
            Ok(None) => {}
            Ok(Some(stopped_by)) => return Ok(stopped_by),
            Err(Stop::OutOfTime) => return Ok(StoppedBy::TimeLimit),
            Err(Stop::Interrupted) => return Ok(StoppedBy::Interrupt),
            Err(Stop::Error(error)) => return Err(error),
        }
    }
}

type Measure<'a> = dyn FnMut(&Turn, &Progress<'_>) -> Result<Vec<Row>, Stop> + 'a;

/// Measures pair after pair until the experiment ends, or a run is stopped. `after_pair`
/// may change the rest of the experiment.
///
/// # Errors
/// If a run fails. The event of the end is sent nevertheless.
pub(super) fn run(
    experiment: &mut Experiment,
    clock: &dyn Fn() -> f64,
    measure: &mut Measure<'_>,
    reporter: &mut dyn Reporter,
    after_pair: &mut dyn FnMut(&Turn, &mut Experiment),
) -> Result<StoppedBy, Error> {
    let ended = until_stopped(|| {
        let turn = match experiment.next(clock()) {
            Ok(turn) => turn,
            Err(stopped_by) => return Ok(Some(stopped_by)),
        };
        let rows = measure(&turn, &experiment.progress())?;
        experiment.push(&turn, &rows, clock());
        after_pair(&turn, experiment);
        reporter.event(Event::Pair { rows: &rows, progress: &experiment.progress() });
        if let Some(unlikely) = experiment.unlikely() {
            reporter.event(Event::Unlikely(unlikely));
        }
        Ok(None)
    });
    if experiment.has_pairs() {
        reporter.event(Event::Sampled(&experiment.progress()));
    }
    ended
}

#[cfg(test)]
mod tests;
