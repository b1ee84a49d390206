//! The unmeasured runs: what each program measures, and how long a pair takes.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::{Duration, Instant};

use super::discovery::Discovery;
use super::program::{ComparedProgram, Readings};
use super::session::Session;
use crate::engine::{Event, Reporter};
use crate::error::{Error, Failure};
use crate::exec::execution::{
    Outputs, SideProgram, Stop, VaryingNames, check_output, tune_repetitions,
};
use crate::model::{BenchmarkNotice, Dialect, Notice, Pair, Reading, RunLength, Side};

/// How long an unmeasured run may take where a list of the benchmarks can replace it, as a fraction
/// of the time limit.
const WARM_UP: f64 = 0.1;

/// A warm-up of both sides that takes longer than this, seconds, is not repeated with other builds.
const SLOW_WARM_UP: f64 = 1.0;

/// What the first unmeasured runs reported, if there were any, and how long the latest pair of them
/// took, seconds.
pub(super) type WarmUp = (Option<Readings>, f64);

/// Those of programs, by their names.
pub(super) type WarmUps = BTreeMap<String, WarmUp>;

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

impl ComparedProgram<'_> {
    /// Makes the unmeasured runs, as short as possible. One that takes longer than `patience` is
    /// replaced by a list of the benchmarks if the harness can make one; so are all if those of
    /// other builds, which reported what is `known`, were slow.
    pub(super) fn warm_up(
        &mut self,
        mut patience: Duration,
        known: Option<&WarmUp>,
        reporter: &mut dyn Reporter,
    ) -> Result<WarmUp, Stop> {
        if self.is_left_out() {
            return Ok((Some(Pair::default()), 0.0));
        }
        if self.execution.needs_no_run() {
            let nothing = Pair::both(|_| vec![Reading::of_program(Default::default())]);
            return Ok((Some(nothing), 0.0));
        }
        self.limit_rounds()?;
        if let Some(known @ (Some(readings), seconds)) = known
            && *seconds > SLOW_WARM_UP
            && self.lists(readings)?
        {
            return Ok(known.clone());
        }
        let warmup = self.execution.warmup([&self.sides.base, &self.sides.head]);
        if warmup > 0 {
            reporter.event(Event::WarmingUp(&self.benchmark().name));
        }
        let (mut shown, mut seconds, mut previous_seconds) = (None, 0.0, None);
        let (length, filter) = (self.unless_as_coded(RunLength::Probe), self.part.filter());
        let mut places = (1..).map(|number| (number, 2 * warmup as usize));
        for _ in 0..warmup {
            seconds = 0.0;
            let readings = Pair::try_both(|side| {
                let place = places.next().unwrap_or_default();
                reporter.event(Event::WarmUpRun { side, place, previous_seconds });
                let (begin, program) = (Instant::now(), &mut self.sides[side]);
                let (readings, own) =
                    self.execution.discover(program, length, filter, &mut patience)?;
                seconds += own;
                previous_seconds = Some(begin.elapsed().as_secs_f64());
                Ok::<_, Stop>(readings)
            })?;
            shown.get_or_insert(readings);
            if !self.both_sides(SideProgram::obeys_limit) {
                self.each_side().for_each(SideProgram::leave_rounds);
            }
        }
        if let Some(readings) = &mut shown {
            self.settle_names(readings, &mut patience)?;
        }
        Ok((shown, seconds))
    }

    /// Limits the runs of both sides to one round of each benchmark where the harness has no flags
    /// that make them short.
    pub(super) fn limit_rounds(&mut self) -> Result<(), Stop> {
        let (context, folder) = (self.execution.context, self.sides.base.folder.clone());
        let shared = folder.parent().unwrap_or(&folder);
        for side in Side::BOTH {
            if self.runner(side).is_some() || !self.sides[side].limit_rounds(shared, context)? {
                self.each_side().for_each(SideProgram::leave_rounds);
                break;
            }
        }
        Ok(())
    }

    /// Whether each side lists the benchmarks of its readings, and no others.
    fn lists(&mut self, readings: &Readings) -> Result<bool, Stop> {
        for side in Side::BOTH {
            let listed = self.execution.list(&mut self.sides[side], self.part.filter())?;
            let known: BTreeSet<String> = names(&readings[side]).collect();
            if listed.map(BTreeSet::from_iter) != Some(known) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// If each side has benchmarks that the other lacks, gives stable names to those whose
    /// names change with every run of the same side.
    fn settle_names(&mut self, found: &mut Readings, patience: &mut Duration) -> Result<(), Stop> {
        let names_of = |readings: &Vec<Reading>| names(readings).collect::<Vec<String>>();
        let names = found.as_ref().map(names_of);
        // A name that changes with every run contains a number of some kind.
        let is_numbered = |name: &String| name.contains(|c: char| c.is_ascii_digit());
        let lacks = |side: Side| {
            let mut numbered = names[side.other()].iter().filter(|name| is_numbered(name));
            numbered.any(|name| !names[side].contains(name))
        };
        if !Side::BOTH.into_iter().all(lacks) {
            return Ok(());
        }
        let filter = self.part.filter();
        let varying = Pair::try_both(|side| {
            let program = &mut self.sides[side];
            let mut list = || self.execution.list(program, filter);
            if let (Some(first), Some(second)) = (list()?, list()?) {
                return Ok(VaryingNames::between(&first, &second));
            }
            let again = self.execution.discover(program, RunLength::Probe, filter, patience)?;
            Ok::<_, Stop>(VaryingNames::between(&names[side], &names_of(&again.0)))
        })?;
        let stable: Vec<String> = varying.head.stable().cloned().collect();
        if stable.is_empty() || varying.base.stable().next().is_none() {
            return Ok(());
        }
        for (side, varying) in [(Side::Base, varying.base), (Side::Head, varying.head)] {
            varying.rename(&mut found[side]);
            self.sides[side].varying = varying;
        }
        self.execution.notice(BenchmarkNotice::NamesVary { names: stable });
        Ok(())
    }

    /// Compares the output of both sides and determines how many runs make a
    /// measurement, as requested. `known` is a file with earlier results.
    pub(super) fn tune(&mut self, warm_up: Option<&Readings>, known: &Path) -> Result<(), Error> {
        let (gates, filter) = (self.found.own_gates(), self.part.filter());
        let ComparedProgram { execution, sides, .. } = self;
        let outputs = check_output(execution, sides, filter)?;
        if execution.benchmark.measuring.fails_on_output {
            let why = match outputs {
                Outputs::Same => None,
                Outputs::Nothing => Some("it prints nothing".to_owned()),
                Outputs::Vary(side, line) => {
                    Some(format!("line {line} of the {side} differs from run to run"))
                }
                Outputs::Differ => {
                    self.prints_something_else = true;
                    return Ok(());
                }
            };
            if let Some(why) = why {
                let what = format!("the outputs of `{}` can't be compared: {why}", self.name());
                let step = "let the benchmark write what should be equal into the file that \
                    CBDR_OUTPUT names";
                return Err(Failure::new(what, step).into());
            }
        }
        Ok(tune_repetitions(execution, sides, gates, warm_up, filter, known)?)
    }
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

/// The names of benchmarks.
fn names(readings: &[Reading]) -> impl Iterator<Item = String> + '_ {
    readings.iter().filter_map(|reading| reading.benchmark.clone())
}
