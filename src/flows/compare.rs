//! `compare`: from a request to an outcome.

mod accesses;
mod aligned;
mod discover;
mod discovery;
mod explain;
mod fit;
mod harnesses;
mod itself;
mod layouts;
mod lengths;
mod options;
mod outcome;
pub mod pack;
mod planning;
mod program;
mod renewal;
mod same;
mod sampling;
mod session;
mod unaffected;
mod units;
mod warm_up;

use std::collections::BTreeSet;
use std::time::Duration;

use crate::engine::longer::{kept as kept_for_longer_runs, length as longest_run};
use crate::engine::remarks::remarks;
use crate::engine::{Event, Plan, Recorder, Reporter};
use crate::error::{Error, Failure};
use crate::exec::execution::{Context, SideProgram};
use crate::flows::error::FlowError;
use crate::flows::history::learn::learn;
use crate::model::{
    BenchmarkResult, Division, Gate, Notice, Outcome, Removed, Sampled, Status, StoppedBy, time,
};
use crate::settings::options::Benchmark;
use crate::workspace::pack::Pack;
use crate::workspace::{self, Preparation, Prepared, Preview, Request, State};
pub(super) use itself::{TriedPairs, TriedProgram, sample_each};
pub(super) use lengths::pairs;
use options::Call;
pub use options::Options;
use session::{Findings, Session};
use unaffected::LeftOut;
use units::Builds;

/// The result of a comparison, and what its samples describe.
#[derive(Clone, Debug)]
pub struct Compared {
    /// The result.
    pub outcome: Outcome,
    /// What was run, or would have been run.
    pub programs: Vec<Benchmark>,
    /// The gates of the sampled metrics, each with the name of its benchmark.
    pub gates: Vec<(String, Gate)>,
    /// How the benchmarks are divided among several machines, if they are.
    pub division: Option<Division>,
}

/// Compares the two sides. `on_event` is called with what happens, between runs only.
///
/// # Errors
/// If there is no result: see [`Error`]. A signal during sampling is not an error:
/// the outcome then holds the estimates so far.
pub fn compare(
    options: &Options,
    context: Context<'_>,
    on_event: &mut dyn FnMut(Event<'_>),
) -> Result<Compared, Error> {
    let call = Call::new(options, context);
    let reporter = &mut Recorder::new(on_event);
    let mut builds = Builds::first(options);
    loop {
        let mut preparation = match &options.packed {
            Some(file) => Pack::unpack(file, &options.request, context.interrupt, reporter)?,
            None => prepare(&options.request, &mut builds, context, reporter)?,
        };
        same::confirm(&mut preparation, call, reporter)?;
        let mut session = Session::of(call, &preparation, reporter)?;
        let sampled = session.with_hooks(|session| measure(session, &mut builds))?;
        let Some(sampled) = sampled else {
            reporter.begin_again();
            continue;
        };
        session.programs.iter_mut().for_each(|program| program.found.add_exact());
        let remarks = remarks(session.results()).into_iter().chain(session.changed_functions());
        for notice in builds.notice().into_iter().chain(remarks.collect::<Vec<_>>()) {
            session.reporter.notice(notice);
        }
        let outcome = session.outcome(sampled);
        let Findings { gates, division, .. } = session.findings;
        let notices = std::mem::take(&mut reporter.notices);
        let outcome = outcome::with_notices(outcome, notices);
        let prepared = preparation.benchmarks.into_iter();
        let programs = prepared.map(|prepared| prepared.benchmark).collect();
        return Ok(Compared { outcome, programs, gates, division });
    }
}

/// Prepares the builds that are compared, and learns the thresholds that are to be learnt.
fn prepare(
    request: &Request,
    builds: &mut Builds,
    context: Context<'_>,
    reporter: &mut Recorder<impl FnMut(Event<'_>)>,
) -> Result<Preparation, Error> {
    loop {
        let prepared = workspace::prepare(&builds.request(request), context, reporter);
        builds.unbuilt.extend(prepared.iter().flat_map(|first| first.unbuilt.iter().cloned()));
        match prepared {
            Err(error) if builds.are_given_up(&error) => {}
            // It is dropped: its lock has to be free.
            Ok(first) if builds.recall(&first, request.filter.as_deref()) => {}
            prepared => {
                let mut preparation = prepared?;
                learn(&mut preparation, request)?;
                return Ok(preparation);
            }
        }
        reporter.begin_again();
    }
}

/// Resolves a comparison without building or measuring anything.
///
/// # Errors
/// Those of [`compare`] that occur before its first build.
pub fn preview(
    options: &Options,
    context: Context<'_>,
    on_event: &mut dyn FnMut(Event<'_>),
) -> Result<Preview, Error> {
    let reporter = &mut Recorder::new(on_event);
    if let Some(file) = &options.packed {
        let preview = Pack::preview(file, &options.request)?;
        preview.notices.iter().for_each(|notice| reporter.notice(notice.clone()));
        return Ok(preview);
    }
    let preview = workspace::preview(&options.request, context, reporter)?;
    Ok(Preview { notices: std::mem::take(&mut reporter.notices), ..preview })
}

/// Warms up, samples what the change may affect, and explains what has regressed. Returns all but
/// the results of benchmarks; `None` if other builds are to be compared.
fn measure(session: &mut Session<'_, '_>, builds: &mut Builds) -> Result<Option<Sampled>, Error> {
    if session.programs.is_empty() {
        let mut prepared = session.preparation.benchmarks.iter();
        let is_lacking = prepared.any(|one| matches!(one.state, State::NoBaseline));
        let stopped_by = if is_lacking { StoppedBy::NoBaseline } else { StoppedBy::Identical };
        return session.unsampled(stopped_by);
    }
    warm_up::discover(session, &mut builds.warm_ups)?;
    if let Some(only) = &session.call.options.only {
        session.programs.iter_mut().for_each(|program| program.found.keep(only));
        if !session.programs.iter().any(|program| program.found.decides()) {
            check_identical(session.preparation, only)?;
            session.programs.clear();
            return session.unsampled(StoppedBy::Identical);
        }
    }
    if session.programs.iter().any(|program| program.prints_something_else) {
        for program in session.programs.iter_mut().filter(|one| one.prints_something_else) {
            let result = BenchmarkResult::new(&program.name(), Status::DifferentOutput);
            program.found.results.push(result);
        }
        return session.unsampled(StoppedBy::DifferentOutput);
    }
    let Some((mut plan, longest)) = planned(session, builds)? else { return Ok(None) };
    if let Some(stopped_by) = planning::reason_not_to_sample(session, &plan)? {
        session.findings.explanations = explain::explain_code(session);
        return session.unsampled(stopped_by);
    }
    let sampled = sample(session, &mut plan, longest);
    for program in &mut session.programs {
        program.each_side().try_for_each(SideProgram::unalign)?;
    }
    let mut sampled = sampled?;
    let is_out_of_time = sampled.pairs() == 0 && sampled.stopped_by == StoppedBy::TimeLimit;
    if is_out_of_time && !session.programs.iter().any(|program| program.found.has_regressed()) {
        let limit = time::duration(plan.time_limit);
        let what = format!("not a single pair fitted into the time limit of {limit}");
        let step = "allow a longer `--time-limit`, or shorten the benchmark";
        return Err(Failure::new(what, step).into());
    }
    let results = std::mem::take(&mut sampled.benchmarks);
    let results = plan.by_program(results, session.programs.len());
    for (program, mut results) in session.programs.iter_mut().zip(results) {
        let unreached = results.extract_if(.., |result| result.status == Status::NotMeasured);
        program.found.not_measured.extend(unreached);
        results.iter_mut().for_each(|result| result.aligned = program.aligned);
        program.found.results = results;
    }
    session.findings.explanations = explain::explain(session)?;
    let of_code = explain::explain_code(session);
    session.findings.explanations.extend(of_code);
    let measured: BTreeSet<&str> = session.results().map(|result| &*result.name).collect();
    let measured = plan.benchmarks.into_iter().filter(|one| measured.contains(&*one.name));
    let gates = measured.flat_map(|benchmark| {
        benchmark.gates.into_iter().map(move |gate| (benchmark.name.clone(), gate))
    });
    session.findings.gates = gates.collect();
    Ok(Some(sampled))
}

/// Samples a plan, after the last choices of how.
fn sample(
    session: &mut Session<'_, '_>,
    plan: &mut Plan,
    longest: Duration,
) -> Result<Sampled, Error> {
    aligned::align(session, plan)?;
    lengths::choose(session, plan)?;
    fit::into_limit(session, plan)?;
    plan.kept = kept_for_longer_runs(plan, longest);
    session.findings.prepare_seconds = session.seconds();
    sampling::sample(session, plan, longest)
}

/// Checks that a program with one of these gates, of which none is measured, is identical.
///
/// # Errors
/// If they are gone instead.
fn check_identical(
    preparation: &Preparation,
    gates: &BTreeSet<(String, String)>,
) -> Result<(), Error> {
    let is_of = |benchmark: &str, program: &str| {
        let rest = benchmark.strip_prefix(program);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    let is_identical =
        preparation.benchmarks.iter().any(|Prepared { benchmark, state, .. }| {
            matches!(state, State::Identical(_))
                && gates.iter().any(|(one, _)| is_of(one, &benchmark.name))
        });
    if is_identical {
        return Ok(());
    }
    let gone = gates.iter().cloned();
    let gone = gone.map(|(benchmark, metric)| Removed { benchmark, metric: Some(metric) });
    Err(FlowError::AllRemoved(gone.collect()).into())
}

/// Plans the pairs of those benchmarks that this machine measures and the change may affect; `None`
/// if other builds are to be compared. Also returns how long runs are that are longer than usual.
fn planned(
    session: &mut Session<'_, '_>,
    builds: &mut Builds,
) -> Result<Option<(Plan, Duration)>, Error> {
    let (settings, shard) = (&session.preparation.settings, session.call.options.shard);
    session.findings.division = planning::divide(session);
    // Machines with some of the pairs of all benchmarks reach a verdict together.
    let decides = shard.is_none() || session.findings.division.is_some();
    if !decides && settings.policy.suite.is_some() {
        let step = "divide by benchmarks, among no more machines than there are benchmarks, or use \
            `--suite off`";
        let what = "shards by pairs give no verdict on the whole suite";
        return Err(Failure::new(what, step).into());
    }
    let benchmarks = session.programs.iter().map(|program| program.found.benchmarks.len()).sum();
    let longest = longest_run(settings.limits.time, benchmarks);
    if decides {
        let left_out = unaffected::leave_out(session, longest, builds.may_be_improved())?;
        let LeftOut { unaffected: benchmarks, of, has_same_code, .. } = left_out;
        if builds.are_replaced(&left_out, session.preparation) {
            session.reporter.event(Event::OtherBuilds(benchmarks, of));
            return Ok(None);
        }
        // Where only some gates count, this would be about their benchmarks alone.
        if benchmarks > 0 && session.call.options.only.is_none() {
            session.reporter.notice(Notice::Unaffected { benchmarks, of, has_same_code });
        }
    }
    same::report(session);
    let mut plan = planning::plan(session, decides)?;
    if let (Some(division), Some(shard)) = (&mut session.findings.division, shard) {
        division.sharing = division.sharers(shard, plan.tests());
        plan.of_tests = Some(division.sharing);
    }
    Ok(Some((plan, longest)))
}
