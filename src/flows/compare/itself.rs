//! Programs compared with themselves, each alone and without a verdict: what `init` tries.

use std::time::{Duration, Instant};

use super::Options;
use super::discovery::Discovery;
use super::program::{self, ComparedProgram};
use super::sampling::sample_stages;
use super::session::Session;
use super::{lengths, planning, warm_up};
use crate::engine::event::{Event, Recorder};
use crate::engine::plan::Plan;
use crate::error::Error;
use crate::exec::execution::Context;
use crate::exec::process::RunError;
use crate::flows::hooks::with_hooks;
use crate::model::dialect::Dialect;
use crate::model::outcome::{Limits, StoppedBy};
use crate::model::row::Row;
use crate::settings::options::Benchmark;
use crate::workspace::{self, Preparation, Request};

/// The maximum number of pairs: more would show little more of the noise.
const ENOUGH: u64 = 20;

/// The number of pairs for which there should be time.
const USEFUL: f64 = 8.0;

/// A program, and the pairs of it with itself.
pub(in crate::flows) struct TriedProgram {
    pub(in crate::flows) benchmark: Benchmark,
    /// The harness by which its runs were called and parsed.
    pub(in crate::flows) dialect: Dialect,
    pub(in crate::flows) pairs: Result<TriedPairs, Error>,
}

/// What pairs of a program with itself have shown.
pub(in crate::flows) struct TriedPairs {
    /// The number of benchmarks, of which some may not be in the plan.
    pub(in crate::flows) benchmarks: usize,
    pub(in crate::flows) plan: Plan,
    pub(in crate::flows) rows: Vec<Row>,
    /// The number of measured runs.
    pub(in crate::flows) runs: usize,
    /// How long a run of all benchmarks takes, seconds.
    pub(in crate::flows) run_seconds: f64,
}

/// Samples the programs of a request, each for an equal part of `time`, so that a slow one does
/// not use up that of the others.
///
/// # Errors
/// If nothing builds, or a signal arrives. That a program fails is a result.
pub(in crate::flows) fn sample_each(
    request: &Request,
    time: Duration,
    context: Context<'_>,
    on_event: &mut dyn FnMut(Event<'_>),
) -> Result<Vec<TriedProgram>, Error> {
    let start = Instant::now();
    let request = Request { aa: true, ..request.clone() };
    let options = Options { request, ..Options::default() };
    let reporter = &mut Recorder::new(on_event);
    let mut preparation = workspace::prepare(&options.request, context, reporter)?;
    let time = time.div_f64(preparation.benchmarks.len() as f64);
    preparation.settings.limits = Limits { time, pairs: Some(ENOUGH) };
    let mut programs = program::programs(&preparation, None, context, reporter)?;
    with_hooks(&mut programs, ComparedProgram::hook, context, |programs| {
        let mut tried = Vec::new();
        for program in programs {
            let (benchmark, dialect) = (program.execution.benchmark.clone(), program.dialect());
            let programs = std::slice::from_mut(program);
            let mut session = Session { programs, start, reporter: &mut *reporter };
            match sample(&mut session, &preparation, &options) {
                Err(error) if error.is_interrupt() => return Err(error),
                pairs => tried.push(TriedProgram { benchmark, dialect, pairs }),
            }
        }
        Ok(tried)
    })
}

fn sample(
    session: &mut Session<'_, '_>,
    preparation: &Preparation,
    options: &Options,
) -> Result<TriedPairs, Error> {
    let settings = &preparation.settings;
    let mut found = warm_up::discover(session, preparation, None)?;
    let benchmarks = found.iter().map(|found| found.benchmarks.len()).sum();
    if session.programs[0].can_select_benchmarks() {
        thin_out(&mut found[0], settings.limits.time);
    }
    let mut plan = planning::plan(session, &found, settings, options, false)?;
    planning::reason_not_to_sample(&plan, &found, None)?;
    lengths::choose(session, &mut plan, &preparation.cache.file(lengths::KNOWN))?;
    let Session { programs, start, reporter } = session;
    let mut rows = Vec::new();
    let reporter = &mut Recorder::new(|event: Event<'_>| match event {
        Event::Pair { rows: pair, .. } => rows.extend_from_slice(pair),
        Event::Sampled(_) => {}
        event => reporter.event(event),
    });
    let session = &mut Session { programs, start: *start, reporter };
    let (stages, stopped_by) = sample_stages(session, &plan)?;
    if stopped_by == StoppedBy::Interrupt {
        return Err(RunError::Interrupted.into());
    }
    let experiment = stages.as_built();
    let pairs = experiment.finish(stopped_by).benchmarks.iter().map(|one| one.pairs).max();
    let share = plan.benchmarks.len().max(1) as f64 / f64::max(benchmarks as f64, 1.0);
    Ok(TriedPairs {
        benchmarks,
        runs: 2 * pairs.unwrap_or(0) as usize,
        run_seconds: experiment.pair_seconds() / 2.0 / share,
        rows,
        plan,
    })
}

/// Keeps only every second or every third benchmark, and so on, so that there is time for enough
/// pairs of these.
fn thin_out(found: &mut Discovery, time: Duration) {
    let every = one_in(found.benchmarks.len(), time.as_secs_f64() / found.pair_seconds);
    let mut number = 0;
    found.benchmarks.retain(|_| {
        number += 1;
        (number - 1) % every == 0
    });
}

/// One in how many of `benchmarks` is kept if there is time for this many pairs of all.
fn one_in(benchmarks: usize, pairs: f64) -> usize {
    (USEFUL / pairs).ceil().clamp(1.0, benchmarks.max(1) as f64) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_many_benchmarks_some_are_tried_often_enough() {
        assert_eq!(one_in(10, 20.0), 1);
        assert_eq!(one_in(10, 2.0), 4);
        assert_eq!(one_in(10, 0.001), 10);
        assert_eq!(one_in(0, f64::INFINITY), 1);
    }
}
