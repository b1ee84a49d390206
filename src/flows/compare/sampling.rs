//! Samples a plan: the executables as built, in turn with layouts, and then longer runs.

use std::time::Duration;

use super::layouts::{self, LayoutResults};
use super::longer::{self, LongerRuns};
use super::session::Session;
use crate::engine::event::{Event, Reporter};
use crate::engine::experiment::{Experiment, Progress, Turn};
use crate::engine::plan::Plan;
use crate::error::Error;
use crate::exec::execution::Stop;
use crate::model::layouts::Layouts;
use crate::model::notice::{Advice, Notice};
use crate::model::outcome::{BenchmarkResult, Sampled, StoppedBy, Verdict};
use crate::model::row::{BenchmarkId, Row};

/// The fraction of the time limit that is reserved for layouts if all benchmarks are tested over
/// them.
const LAYOUTS_PART: f64 = 0.5;

/// The runs of the lengths that verdicts need.
struct ShortRuns {
    as_built: Experiment,
    over_layouts: LayoutResults,
    stopped_by: StoppedBy,
}

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
    let ShortRuns { as_built, over_layouts, stopped_by } = sample_short(session, plan, began)?;
    let short = as_built.finish(stopped_by);
    let benchmarks = over_layouts.combined_with(short.benchmarks);
    let is_found = plan.fail_fast && benchmarks.iter().any(BenchmarkResult::has_regressed);
    let is_over = !plan.decides || stopped_by == StoppedBy::Interrupt || is_found;
    let long = match is_over {
        true => LongerRuns::none(benchmarks),
        false => longer::sample(session, plan, benchmarks, longest, began)?,
    };
    let stopped_long = (!is_over).then_some(long.stopped_by);
    let LongerRuns { benchmarks, likely_slower, elapsed, .. } = long;
    let likely_slower = short.likely_slower.or(over_layouts.likely_slower).or(likely_slower);
    let names_one = benchmarks.iter().any(BenchmarkResult::has_regressed);
    let sampled = Sampled {
        stopped_by: end(plan, stopped_by, stopped_long, is_decided(&benchmarks)),
        likely_slower: likely_slower.filter(|_| !names_one),
        elapsed: elapsed.unwrap_or(short.elapsed.max(over_layouts.ended - began)),
        benchmarks,
    };
    report(session, plan, &as_built, over_layouts.advice, &sampled);
    Ok(sampled)
}

/// Samples as built and over layouts in turn: with `--fail-fast`, what looked like a regression
/// and is none over layouts does not end the rest.
fn sample_short(
    session: &mut Session<'_, '_>,
    plan: &Plan,
    began: f64,
) -> Result<ShortRuns, Error> {
    let mut as_built = Experiment::new(plan.clone(), began);
    if matches!(plan.layouts, Layouts::Number(_)) {
        as_built.reserve(LAYOUTS_PART * plan.time_limit.as_secs_f64());
    }
    let mut over_layouts = LayoutResults::default();
    let stopped_by = loop {
        let stopped_by = sample_as_built(session, &mut as_built, plan)?;
        let gates = layouts::gates_to_test(&as_built, plan, session.programs, &over_layouts);
        if gates.is_empty() || stopped_by == StoppedBy::Interrupt || !plan.decides {
            break stopped_by;
        }
        let spent = session.seconds() - began;
        let stopped_over = layouts::sample(session, plan, &gates, spent, &mut over_layouts)?;
        // There is one time limit for both.
        if stopped_over != StoppedBy::Verdict {
            break stopped_over;
        }
        let resumes = plan.fail_fast && !over_layouts.confirms_any();
        if stopped_by != StoppedBy::Verdict || !resumes {
            break stopped_by;
        }
        as_built.resume();
    };
    Ok(ShortRuns { as_built, over_layouts, stopped_by })
}

fn sample_as_built(
    session: &mut Session<'_, '_>,
    experiment: &mut Experiment,
    plan: &Plan,
) -> Result<StoppedBy, Error> {
    let Session { programs, context, start, reporter } = session;
    let placed: Vec<bool> =
        plan.groups.iter().map(|group| programs[group.program].can_be_placed()).collect();
    let mut to_test_again: Vec<BenchmarkId> = Vec::new();
    run(
        experiment,
        &|| start.elapsed().as_secs_f64(),
        &mut |turn, progress| {
            let group = &plan.groups[turn.group];
            programs[group.program].measure(turn, group, progress, *context)
        },
        *reporter,
        &mut |turn, experiment| {
            if plan.layouts != Layouts::Auto {
                return;
            }
            // More pairs as built would only tell the layout of this one executable.
            if placed[turn.group] {
                experiment.set_aside(&|test, least| {
                    test.looks_slower(least) && layouts::depends_on_layout(test.metric())
                });
            }
            let before = to_test_again.len();
            to_test_again.extend(experiment.to_test_again());
            if to_test_again.len() > before {
                experiment.reserve(layouts::time_needed(plan, &to_test_again));
            }
        },
    )
}

/// Whether every gating metric has its verdict.
fn is_decided(benchmarks: &[BenchmarkResult]) -> bool {
    let metrics = benchmarks.iter().flat_map(|benchmark| &benchmark.metrics);
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
fn report(
    session: &mut Session<'_, '_>,
    plan: &Plan,
    as_built: &Experiment,
    over_layouts: Option<Advice>,
    sampled: &Sampled,
) {
    // Forecasts are rough: one that did not come true is dropped.
    if sampled.verdict() == Verdict::Inconclusive {
        let unlikely = as_built.foreseen().cloned().map(Notice::Unlikely);
        unlikely.into_iter().for_each(|notice| session.reporter.record(notice));
    }
    let below = as_built.below_minimum_pairs();
    match below.first() {
        Some(example) if sampled.stopped_by == StoppedBy::TimeLimit => {
            let (benchmarks, example) = (below.len(), (*example).to_owned());
            session.reporter.notice(Notice::BelowMinimumPairs { benchmarks, example });
        }
        _ => {
            let advice = advice(plan, as_built, over_layouts, sampled.stopped_by);
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
        // More time would change nothing, and there already is a notice about too few pairs.
        StoppedBy::MaxPairs if plan.max_pairs >= Some(plan.least_pairs()) => {
            as_built.advice().map(|advice| Advice { time: None, ..advice })
        }
        _ => None,
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
    let ended = loop {
        let turn = match experiment.next(clock()) {
            Ok(turn) => turn,
            Err(stopped_by) => break Ok(stopped_by),
        };
        let rows = match measure(&turn, &experiment.progress()) {
            Ok(rows) => rows,
            Err(Stop::OutOfTime) => break Ok(StoppedBy::TimeLimit),
            Err(Stop::Interrupted) => break Ok(StoppedBy::Interrupt),
            Err(Stop::Error(error)) => break Err(error),
        };
        experiment.push(&turn, &rows, clock());
        after_pair(&turn, experiment);
        reporter.event(Event::Pair { rows: &rows, progress: &experiment.progress() });
        if let Some(unlikely) = experiment.unlikely() {
            reporter.event(Event::Unlikely(unlikely));
        }
    };
    if experiment.has_pairs() {
        reporter.event(Event::Sampled(&experiment.progress()));
    }
    ended
}

#[cfg(test)]
mod tests;
