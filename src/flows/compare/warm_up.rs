//! The unmeasured runs: what each program measures, and how long a pair takes.

use std::collections::BTreeSet;

use super::discovery::Discovery;
use super::program::WarmUps;
use super::session::Session;
use crate::error::{Error, Failure};
use crate::model::{Dialect, Notice};

/// How long an unmeasured run may take where a list of the benchmarks can replace it, as a fraction
/// of the time limit.
const WARM_UP: f64 = 0.1;

/// Runs each side of each program unmeasured. What the runs of other builds have reported is `known`,
/// and replaced.
pub(super) fn discover(session: &mut Session<'_, '_>, known: &mut WarmUps) -> Result<(), Error> {
    for number in 0..session.programs.len() {
        discover_one(session, number, known)?;
    }
    let Session { programs, call, reporter, .. } = session;
    let filter = call.options.request.filter.as_deref();
    // The full name of a benchmark does not select others that contain it.
    if let Some(name) = filter.filter(|name| programs.iter().any(|one| one.found.has(name))) {
        programs.iter_mut().for_each(|one| one.found.keep_only(name));
    }
    for notice in programs.iter().flat_map(|one| one.found.notices()) {
        reporter.notice(notice);
    }
    if programs.iter().all(|one| one.found.is_empty())
        && let Some(first) = programs.first()
    {
        return Err(first.no_benchmark(filter).into());
    }
    let is_measured = |metric: &String| programs.iter().any(|one| one.found.measures(metric));
    let units = programs.iter().flat_map(|one| one.benchmark().units.keys());
    let unused: BTreeSet<&String> = units.filter(|metric| !is_measured(metric)).collect();
    if filter.is_none() {
        check_waivers(session)?;
    }
    for metric in unused {
        session.reporter.notice(Notice::UnusedUnit { metric: metric.clone() });
    }
    Ok(())
}

fn discover_one(
    session: &mut Session<'_, '_>,
    number: usize,
    known: &mut WarmUps,
) -> Result<(), Error> {
    let Session { programs, preparation, call, reporter, .. } = session;
    let program = &mut programs[number];
    if program.dialect() == Dialect::Plain {
        // All metrics come from the meters, so refuse before anything runs.
        let unavailable = program.execution.drop_unavailable_metrics(&[])?;
        unavailable.into_iter().for_each(|notice| reporter.notice(notice));
    }
    let patience = preparation.settings.limits.time.mul_f64(WARM_UP);
    let warm_up = program.warm_up(patience, known.get(&program.name()), *reporter)?;
    known.insert(program.name(), warm_up.clone());
    let (readings, seconds) = (warm_up.0.as_ref(), warm_up.1);
    let both = readings.into_iter().flat_map(|both| both.base.iter().chain(&both.head));
    let reported: Vec<String> = both.flat_map(|reading| reading.values.metrics()).collect();
    for notice in program.execution.drop_unavailable_metrics(&reported)? {
        reporter.notice(notice);
    }
    // If there are several programs, benchmarks are prefixed with the name of theirs.
    let several = preparation.benchmarks.len() > 1;
    let filter = call.options.request.filter.as_deref();
    program.found = Discovery::of(program, (readings, seconds), several, filter)?;
    if !program.execution.needs_no_run() && !program.is_left_out() {
        // The repetitions that other comparisons found.
        let known = preparation.cache.found_out("repetitions-v1");
        program.tune(readings, &known)?;
        program.found.pair_seconds *= f64::from(program.execution.effort().runs());
        session.report_runs();
    }
    Ok(())
}

/// Checks that every waiver is about something that exists.
fn check_waivers(session: &Session<'_, '_>) -> Result<(), Error> {
    let Session { programs, preparation, .. } = session;
    let known = preparation.benchmarks.iter().map(|prepared| &prepared.benchmark.name);
    let names = || programs.iter().flat_map(|one| one.found.names()).chain(known.clone());
    let benchmarks = || programs.iter().map(|program| program.benchmark());
    let gates = || {
        let found = programs.iter().flat_map(|program| &program.found.benchmarks);
        let requested = benchmarks().flat_map(|benchmark| &benchmark.gates);
        found.flat_map(|benchmark| &benchmark.gates).chain(requested)
    };
    let all_run = programs.len() == preparation.benchmarks.len();
    for waiver in benchmarks().flat_map(|benchmark| &benchmark.waivers) {
        let why = match &waiver.benchmark {
            Some(name) if names().all(|known| known != name) => {
                format!("there is no benchmark `{name}`")
            }
            _ if all_run && gates().all(|gate| gate.metric != waiver.metric) => {
                format!("`{}` does not gate", waiver.metric)
            }
            _ => continue,
        };
        let what = format!("the waiver of `{}` has no effect: {why}", waiver.metric);
        return Err(Failure::new(what, "correct it, or remove it from the head's table").into());
    }
    Ok(())
}
