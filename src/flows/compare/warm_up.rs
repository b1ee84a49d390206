//! The unmeasured runs: what each program measures, and how long a pair takes.

use std::collections::BTreeSet;

use super::program::WarmUps;
use super::{Discovery, Session};
use crate::error::Error;
use crate::flows::error::FlowError;
use crate::model::{Dialect, Notice};

/// How long an unmeasured run may take where a list of the benchmarks can replace it, as a fraction
/// of the time limit.
const WARM_UP: f64 = 0.1;

/// Runs each side of each program unmeasured. What the runs of other builds have reported is `known`,
/// and replaced.
pub(super) fn discover(
    session: &mut Session<'_, '_>,
    known: &mut WarmUps,
) -> Result<Vec<Discovery>, Error> {
    let all = (0..session.programs.len()).map(|number| discover_one(session, number, known));
    let mut all: Vec<Discovery> = all.collect::<Result<_, Error>>()?;
    let filter = session.options.request.filter.as_deref();
    // The full name of a benchmark does not select others that contain it.
    if let Some(name) = filter.filter(|name| all.iter().any(|found| found.has(name))) {
        all.iter_mut().for_each(|found| found.keep_only(name));
    }
    for notice in all.iter().flat_map(Discovery::notices) {
        session.reporter.notice(notice);
    }
    if let (Some(program), true) = (session.programs.first(), all.iter().all(Discovery::is_empty)) {
        return Err(program.no_benchmark(filter).into());
    }
    if filter.is_none() {
        check_waivers(session, &all)?;
    }
    let is_measured = |metric: &String| all.iter().any(|found| found.measures(metric));
    let units = session.programs.iter().flat_map(|one| one.execution.benchmark.units.keys());
    let unused: BTreeSet<&String> = units.filter(|metric| !is_measured(metric)).collect();
    for metric in unused {
        session.reporter.notice(Notice::UnusedUnit { metric: metric.clone() });
    }
    Ok(all)
}

fn discover_one(
    session: &mut Session<'_, '_>,
    number: usize,
    known: &mut WarmUps,
) -> Result<Discovery, Error> {
    let Session { programs, preparation, options, reporter, .. } = session;
    let program = &mut programs[number];
    if program.dialect() == Dialect::Plain {
        // All metrics come from the meters, so refuse before anything runs.
        let unavailable = program.execution.drop_unavailable_metrics(&[])?;
        unavailable.into_iter().for_each(|notice| reporter.notice(notice));
    }
    let patience = preparation.settings.limits.time.mul_f64(WARM_UP);
    let name = program.execution.benchmark.name.clone();
    let (readings, seconds) = program.warm_up(patience, known.get(&name), *reporter)?;
    known.insert(name, (readings.clone(), seconds));
    let readings = readings.as_ref();
    let both = readings.into_iter().flat_map(|both| both.base.iter().chain(&both.head));
    let reported: Vec<String> = both.flat_map(|reading| reading.values.metrics()).collect();
    for notice in program.execution.drop_unavailable_metrics(&reported)? {
        reporter.notice(notice);
    }
    // If there are several programs, benchmarks are prefixed with the name of theirs.
    let several = preparation.benchmarks.len() > 1;
    let filter = options.request.filter.as_deref();
    let mut discovery = Discovery::of(program, (readings, seconds), several, filter)?;
    if !program.execution.needs_no_run() && !program.is_left_out() {
        // The repetitions that other comparisons found.
        let known = preparation.cache.file("repetitions-v1");
        program.tune(discovery.own_gates(), readings, &known)?;
        discovery.pair_seconds *= f64::from(program.execution.effort().runs());
        session.report_runs();
    }
    Ok(discovery)
}

/// Checks that every waiver is about something that exists.
fn check_waivers(session: &Session<'_, '_>, all: &[Discovery]) -> Result<(), Error> {
    let Session { programs, preparation, .. } = session;
    let known = preparation.benchmarks.iter().map(|prepared| &prepared.benchmark.name);
    let names = || all.iter().flat_map(Discovery::names).chain(known.clone());
    let benchmarks = || programs.iter().map(|program| program.execution.benchmark);
    let gates = || {
        let found = all.iter().flat_map(|discovery| &discovery.benchmarks);
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
        return Err(FlowError::Waiver { metric: waiver.metric.clone(), why }.into());
    }
    Ok(())
}
