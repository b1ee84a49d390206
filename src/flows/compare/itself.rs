//! Programs compared with themselves, each alone and without a verdict: what `init` tries.

use std::time::Duration;

use super::discovery::Discovery;
use super::options::{Call, Options};
use super::sampling::sample_stages;
use super::session::Session;
use super::{lengths, planning, warm_up};
use crate::engine::{Event, Group, Plan, Recorder};
use crate::error::Error;
use crate::exec::execution::Context;
use crate::exec::process::RunError;
use crate::model::{Dialect, Limits, Row, StoppedBy};
use crate::settings::options::Benchmark;
use crate::stats::empirical::median_of;
use crate::workspace::{self, Request};

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
#[derive(Default)]
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
    let request = Request { aa: true, ..request.clone() };
    let options = Options { request, ..Options::default() };
    let call = Call::new(&options, context);
    let reporter = &mut Recorder::new(on_event);
    let mut preparation = workspace::prepare(&options.request, context, reporter)?;
    let time = time.div_f64(preparation.benchmarks.len() as f64);
    preparation.settings.limits = Limits { time, pairs: Some(ENOUGH) };
    let mut all = Session::of(call, &preparation, reporter)?;
    all.with_hooks(|all| {
        let mut tried = Vec::new();
        for program in std::mem::take(&mut all.programs) {
            let (benchmark, dialect) = (program.benchmark().clone(), program.dialect());
            let (programs, reporter) = (vec![program], &mut *all.reporter);
            match sample(Session::new(call, &preparation, programs, reporter)) {
                Err(error) if error.is_interrupt() => return Err(error),
                pairs => tried.push(TriedProgram { benchmark, dialect, pairs }),
            }
        }
        Ok(tried)
    })
}

fn sample(mut session: Session<'_, '_>) -> Result<TriedPairs, Error> {
    warm_up::discover(&mut session, &mut warm_up::WarmUps::new())?;
    let program = &mut session.programs[0];
    let benchmarks = program.found.benchmarks.len();
    if program.can_select_benchmarks() {
        thin_out(&mut program.found, session.preparation.settings.limits.time);
    }
    let mut plan = planning::plan(&mut session, false)?;
    planning::reason_not_to_sample(&session, &plan)?;
    lengths::choose(&mut session, &mut plan)?;
    let Session { call, preparation, programs, reporter, .. } = session;
    let (mut rows, mut ended) = (Vec::new(), 0.0);
    let mut times = vec![Vec::new(); plan.groups.len()];
    let reporter = &mut Recorder::new(|event: Event<'_>| match event {
        Event::Pair { rows: pair, progress } => {
            let id = pair.first().map(|row| row.benchmark.0);
            let is_in = |group: &Group| id.is_some_and(|id| group.benchmarks.contains(&id));
            let group = plan.groups.iter().position(is_in);
            let began = std::mem::replace(&mut ended, progress.elapsed());
            group.into_iter().for_each(|group| times[group].push(ended - began));
            rows.extend_from_slice(pair);
        }
        Event::Sampled(_) => {}
        event => reporter.event(event),
    });
    let session = &mut Session::new(call, preparation, programs, reporter);
    let (stages, stopped_by) = sample_stages(session, &plan)?;
    if stopped_by == StoppedBy::Interrupt {
        return Err(RunError::Interrupted.into());
    }
    let pairs = stages.as_built().finish(stopped_by).benchmarks.iter().map(|one| one.pairs).max();
    let share = plan.benchmarks.len().max(1) as f64 / f64::max(benchmarks as f64, 1.0);
    Ok(TriedPairs {
        benchmarks,
        runs: 2 * pairs.unwrap_or(0) as usize,
        run_seconds: pair_seconds(&plan.groups, times) / 2.0 / share,
        rows,
        plan,
    })
}

/// How long a pair of all groups takes, given the times of their pairs, seconds. That one of them
/// was disturbed makes no difference.
fn pair_seconds(groups: &[Group], times: Vec<Vec<f64>>) -> f64 {
    let groups = groups.iter().zip(times);
    groups.map(|(group, times)| median_of(times).unwrap_or(group.pair_seconds)).sum()
}

/// Keeps only every second or every third benchmark, and so on, so that there is time for enough
/// pairs of these.
fn thin_out(found: &mut Discovery, time: Duration) {
    let every = one_in(found.benchmarks.len(), time.as_secs_f64() / found.pair_seconds);
    let mut numbers = 0..;
    found.benchmarks.retain(|_| numbers.next().is_some_and(|number| number % every == 0));
}

/// One in how many of `benchmarks` is kept if there is time for this many pairs of all.
fn one_in(benchmarks: usize, pairs: f64) -> usize {
    (USEFUL / pairs).ceil().clamp(1.0, benchmarks.max(1) as f64) as usize
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Estimator;

    #[test]
    fn of_many_benchmarks_some_are_tried_often_enough() {
        assert_eq!(one_in(10, 20.0), 1);
        assert_eq!(one_in(10, 2.0), 4);
        assert_eq!(one_in(10, 0.001), 10);
        assert_eq!(one_in(0, f64::INFINITY), 1);
    }

    #[test]
    fn the_time_of_a_run_is_that_of_the_pair_in_the_middle() {
        let mut plan = Plan::new(0.95, Estimator::Robust, 1);
        [1.0, 2.0].into_iter().for_each(|seconds| plan.add_group(0, true, seconds));
        assert_eq!(pair_seconds(&plan.groups, vec![vec![9.0, 0.5, 0.75], Vec::new()]), 2.75);
    }
}
