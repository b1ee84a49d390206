//! One run of one side, to its samples.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::cargo;
use crate::error::{Error, Kind};
use crate::harness::{self, Dialect, Harness, Place, Reading};
use crate::metric::{Metric, Unit};
use crate::options::{Benchmark, Subject};
use crate::prepare::{Program, tail};
use crate::process::{Command, Helper, Interrupt, Outcome, RunError, Sink};
use crate::runner::{Run, Samples};
use crate::sample::Sample;
use crate::side::{Pair, Side};

/// What every run measures.
pub(crate) fn metrics() -> Vec<Metric> {
    vec![
        Metric::cost("wall_time", Unit::Seconds),
        Metric::cost("user_time", Unit::Seconds),
        Metric::cost("sys_time", Unit::Seconds),
        Metric::cost("cpu_time", Unit::Seconds),
        Metric::cost("max_rss", Unit::Bytes),
    ]
}

/// What a run reports, by name; what has none is the program itself.
pub(crate) type Reported = Vec<(Option<String>, Sample)>;

/// A benchmark of a program, as both sides report it.
#[derive(Debug)]
pub(crate) struct Case {
    /// What the harness calls it; `None` is the program itself.
    pub(crate) name: Option<String>,
    /// What is measured.
    pub(crate) metrics: Vec<String>,
    /// Which of it gates.
    pub(crate) gates: Vec<String>,
}

/// The longest argument list that selects benchmarks, bytes: Linux takes a
/// single argument of 128 KiB at most.
const LONGEST: usize = 100_000;

/// Runs the program of a benchmark, again and again.
#[derive(Debug)]
pub(crate) struct Bench<'a> {
    pub(crate) benchmark: &'a Benchmark,
    callers: Pair<Caller>,
    place: Place,
    /// Where a run's standard error goes, for the case that it fails.
    said: PathBuf,
    /// Arguments that select, for a run of all.
    filter: Option<&'a str>,
    /// The benchmarks that both sides have, once they are known.
    pub(crate) cases: Vec<Case>,
    /// How many benchmarks a run of a side has.
    pub(crate) reported: Pair<usize>,
    /// How many processes its runs left behind so far.
    pub(crate) left_behind: u64,
}

/// How one side is called.
#[derive(Clone, Debug)]
struct Caller {
    command: Command,
    harness: Harness,
    /// How many words the command has, without those that select.
    words: usize,
}

impl<'a> Bench<'a> {
    /// A benchmark with the programs of its sides; `number` tells its files in
    /// `scratch` from others.
    pub(crate) fn new(
        benchmark: &'a Benchmark,
        programs: &Pair<Program>,
        scratch: &Path,
        number: usize,
        filter: Option<&'a str>,
    ) -> Result<Self, Error> {
        let file = |name: &str| scratch.join(format!("{name}-{number}"));
        let (said, place) = (file("said"), Place { stdout: file("out"), output: file("output") });
        let harness = Pair::try_both(|side| harness_of(benchmark, &programs[side]))?;
        let callers = Pair::both(|side| {
            let mut command = Command {
                stdout: Sink::Null,
                stderr: Sink::File(said.clone()),
                sweep: true,
                ..programs[side].command.clone()
            };
            let harness = harness[side].clone().agreed(&harness[side.other()]);
            harness.set_up(&mut command, &place);
            let words = command.argv.len();
            Caller { command, harness, words }
        });
        let reported = Pair::default();
        let (cases, left_behind) = (Vec::new(), 0);
        Ok(Bench { benchmark, callers, place, said, filter, cases, reported, left_behind })
    }

    /// How many runs of each side come first, unmeasured: at least one where
    /// only a run tells what there is.
    pub(crate) fn warmup(&self) -> u32 {
        let tells = |side| self.callers[side].harness.dialect != Dialect::Plain;
        self.benchmark.warmup.max(u32::from(Side::BOTH.into_iter().any(tells)))
    }

    /// How the head is called and read.
    pub(crate) fn dialect(&self) -> Dialect {
        self.callers.head.harness.dialect
    }

    /// Whether a run can be had of some benchmarks only. Arguments of the
    /// user's may select, too, so with those it can't.
    pub(crate) fn can_leave(&self) -> bool {
        let able = |side| self.callers[side].harness.can_leave();
        self.benchmark.args.is_empty() && Side::BOTH.into_iter().all(able)
    }

    /// Runs one side once, with all its benchmarks.
    pub(crate) fn warm_up(
        &mut self,
        side: Side,
        helper: &Helper,
        interrupt: &Interrupt,
    ) -> Result<Run<Reported>, Error> {
        let filter = self.filter.filter(|_| self.callers[side].harness.dialect.filters());
        let select = filter.map(OsString::from).into_iter().collect();
        self.once(side, select, None, helper, interrupt)
    }

    /// Runs one side once, of whose cases `wanted` are wanted. It may take as
    /// long as the benchmark's limit says; where `left` is shorter, running
    /// into that is no failure.
    pub(crate) fn run(
        &mut self,
        wanted: &[usize],
        side: Side,
        left: Duration,
        helper: &Helper,
        interrupt: &Interrupt,
    ) -> Result<Run<Samples>, Error> {
        let select = self.select(wanted, side);
        let reported = match self.once(side, select, Some(left), helper, interrupt)? {
            Run::Measured(reported) => reported,
            Run::OutOfTime => return Ok(Run::OutOfTime),
            Run::Interrupted => return Ok(Run::Interrupted),
        };
        let mut samples = Samples::new();
        for (number, case) in self.cases.iter().enumerate() {
            let found = reported.iter().find(|(name, _)| *name == case.name);
            match found {
                Some((_, sample)) => samples.push((number, self.checked(case, sample, side)?)),
                None if wanted.contains(&number) => {
                    let name = case.name.as_deref().unwrap_or(&self.benchmark.name);
                    return Err(self.omitted(side, format!("the benchmark `{name}`")));
                }
                None => {}
            }
        }
        Ok(Run::Measured(samples))
    }

    /// The arguments with which the wanted ones run.
    fn select(&self, wanted: &[usize], side: Side) -> Vec<OsString> {
        let harness = &self.callers[side].harness;
        let names = wanted.iter().filter_map(|&number| self.cases[number].name.as_deref());
        let names: Vec<&str> = names.collect();
        let fewer = names.len() < self.reported.base.max(self.reported.head);
        if fewer && self.can_leave() {
            let only = harness.only(&names);
            if only.iter().map(|word| word.len() + 1).sum::<usize>() < LONGEST {
                return only;
            }
        }
        let filter = self.filter.filter(|_| harness.dialect.filters());
        filter.map(OsString::from).into_iter().collect()
    }

    /// A case's sample with the metrics that it had in the warm-up.
    fn checked(&self, case: &Case, sample: &Sample, side: Side) -> Result<Sample, Error> {
        let mut checked = Sample::new();
        let of = |metric: &str| match &case.name {
            Some(name) => format!("`{metric}` of `{name}`"),
            None => format!("`{metric}`"),
        };
        for metric in &case.metrics {
            let Some(value) = sample.get(metric) else {
                return Err(self.omitted(side, of(metric)));
            };
            if value < 0.0 && case.gates.contains(metric) {
                let why = format!("{} is {value}, and what gates is not below zero", of(metric));
                return Err(self.unreadable(side, harness::Error::Unreadable(why)));
            }
            checked.set(metric, value);
        }
        Ok(checked)
    }

    fn omitted(&self, side: Side, what: String) -> Error {
        let benchmark = self.benchmark.name.clone();
        Kind::Omitted { side, benchmark, what }.into()
    }

    fn unreadable(&self, side: Side, source: harness::Error) -> Error {
        let (benchmark, command) =
            (self.benchmark.name.clone(), self.callers[side].command.shown());
        let said = tail(&self.place.stdout);
        let harness = self.callers[side].harness.dialect.name();
        Kind::Output { side, benchmark, command, harness, said, source }.into()
    }

    fn once(
        &mut self,
        side: Side,
        select: Vec<OsString>,
        left: Option<Duration>,
        helper: &Helper,
        interrupt: &Interrupt,
    ) -> Result<Run<Reported>, Error> {
        let caller = &mut self.callers[side];
        caller.command.argv.truncate(caller.words);
        caller.command.argv.extend(select);
        let cleared = caller.harness.clear(&self.place);
        let (limit, command) = (self.benchmark.run_timeout, &mut caller.command);
        cleared.map_err(Kind::Harness)?;
        let (ran, left_behind) = run_once(command, &self.said, limit, left, helper, interrupt)?;
        self.left_behind += left_behind;
        let ran = ran.map_err(|Failed { what, said }| {
            let (benchmark, command) =
                (self.benchmark.name.clone(), self.callers[side].command.shown());
            Kind::Benchmark { side, benchmark, what, command, said }
        })?;
        let process = match ran {
            Run::Measured(sample) => sample,
            Run::OutOfTime => return Ok(Run::OutOfTime),
            Run::Interrupted => return Ok(Run::Interrupted),
        };
        let read = self.callers[side].harness.read(&self.place);
        Ok(Run::Measured(match read.map_err(|error| self.unreadable(side, error))? {
            Reading::Process(own) => vec![(None, over(own, &process))],
            Reading::Benchmarks(all) => {
                all.into_iter().map(|(name, sample)| (Some(name), sample)).collect()
            }
        }))
    }
}

/// What a process measured itself wins over what was measured from outside.
fn over(own: Sample, process: &Sample) -> Sample {
    let mut both = Sample::new();
    for (name, value) in process.iter() {
        both.set(name, own.get(name).unwrap_or(value));
    }
    for (name, value) in own.iter() {
        both.set(name, value);
    }
    both
}

/// How a side is called: as was asked for, else as the executable of a bench
/// target shows.
fn harness_of(benchmark: &Benchmark, program: &Program) -> Result<Harness, Error> {
    let is_bench = matches!(&benchmark.subject,
        Subject::Target(target, _) if target.kind == cargo::Kind::Bench);
    let dialect = match benchmark.harness {
        None if !is_bench => Some(Dialect::Plain),
        asked => asked,
    };
    let read = |path: &PathBuf| fs_err::read(path).map_err(Error::io("read", path));
    let executable = match (dialect, &program.executable) {
        (Some(Dialect::Plain | Dialect::Json), _) | (_, None) => None,
        (_, Some(path)) => Some(read(path)?),
    };
    Ok(match (dialect, executable) {
        (Some(dialect), executable) => Harness::new(dialect, executable.as_deref()),
        (None, Some(executable)) => Harness::detect(&executable),
        (None, None) => Harness::new(Dialect::Plain, None),
    })
}

/// A run that failed.
#[derive(Debug)]
pub(crate) struct Failed {
    /// What it did.
    pub(crate) what: String,
    /// The end of its standard error.
    pub(crate) said: String,
}

/// Runs a program once, whose standard error goes to `said`. It may take
/// `limit`; where `left` is shorter, running into that is no failure. Says
/// also how many processes it left behind.
pub(crate) fn run_once(
    command: &mut Command,
    said: &Path,
    limit: Duration,
    left: Option<Duration>,
    helper: &Helper,
    interrupt: &Interrupt,
) -> Result<(Result<Run<Sample>, Failed>, u64), Error> {
    command.timeout = Some(left.map_or(limit, |left| left.min(limit)));
    if said.metadata().is_ok_and(|file| file.len() > 0) {
        fs_err::write(said, "").map_err(Error::io("empty", said))?;
    }
    let outcome = match helper.run(command, interrupt) {
        Ok(outcome) => outcome,
        Err(RunError::Interrupted) => return Ok((Ok(Run::Interrupted), 0)),
        Err(error) => return Err(error.into()),
    };
    let left_behind = u64::from(outcome.left_behind);
    let what = if outcome.timed_out && left.is_some_and(|left| left < limit) {
        return Ok((Ok(Run::OutOfTime), left_behind));
    } else if outcome.timed_out {
        format!("ran longer than {}", humantime::format_duration(limit))
    } else if outcome.exit.success() {
        return Ok((Ok(Run::Measured(sample(&outcome))), left_behind));
    } else {
        outcome.exit.to_string()
    };
    Ok((Err(Failed { what, said: tail(said) }), left_behind))
}

fn sample(outcome: &Outcome) -> Sample {
    let usage = outcome.usage;
    Sample::from_iter([
        ("wall_time", outcome.wall),
        ("user_time", usage.user),
        ("sys_time", usage.sys),
        ("cpu_time", usage.user + usage.sys),
        ("max_rss", usage.max_rss as f64),
    ])
}
