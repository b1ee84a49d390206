//! One measurement of one side, to its samples.

pub(crate) mod once;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::cargo;
use crate::error::{Error, Kind};
use crate::event::Notice;
use crate::gate::Gate;
use crate::harness::{self, Dialect, Harness, Place, Reading};
use crate::machine::Machine;
use crate::meter::{self, Meters, Pass};
use crate::metric::DEFAULT_METRIC;
use crate::options::{Benchmark, Subject};
use crate::prepare::{Program, tail};
use crate::process::{Command, Helper, Interrupt};
use crate::question;
use crate::runner::{Run, Samples};
use crate::sample::Sample;
use crate::side::{Pair, Side};
use crate::verdict::MetricResult;
use once::{Failed, Once};

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
    /// Where its numbers come from.
    pub(crate) meters: Meters,
    /// The kinds of runs whose metrics are no longer of interest.
    pub(crate) done: Vec<Pass>,
    place: Place,
    /// A folder of its own.
    folder: PathBuf,
    /// The executables.
    paths: Pair<PathBuf>,
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
        let folder = scratch.join(format!("bench-{number}"));
        fs_err::create_dir_all(&folder).map_err(Error::io("make the folder", &folder))?;
        let place = Place { stdout: folder.join("out"), output: folder.join("output") };
        let harness = Pair::try_both(|side| harness_of(benchmark, &programs[side]))?;
        let callers = Pair::both(|side| {
            let mut command = programs[side].command.clone();
            let harness = harness[side].clone().agreed(&harness[side.other()]);
            harness.set_up(&mut command, &place);
            let words = command.argv.len();
            Caller { command, harness, words }
        });
        let path = |side: Side| {
            let Program { command, executable } = &programs[side];
            executable.clone().unwrap_or_else(|| meter::program(command))
        };
        // What has benchmarks has no metrics of its process.
        let names: Vec<String> = match callers.head.harness.dialect.filters() {
            true => vec![DEFAULT_METRIC.to_owned()],
            false => benchmark.asked().cloned().collect(),
        };
        let path_variable = callers.head.command.var("PATH");
        let meters = Meters::for_metrics(&names, path_variable, &Machine::read(Path::new("/")));
        let reported = Pair::default();
        Ok(Bench {
            benchmark,
            callers,
            meters,
            done: Vec::new(),
            place,
            folder,
            paths: Pair::both(path),
            filter,
            cases: Vec::new(),
            reported,
            left_behind: 0,
        })
    }

    /// Of the metrics that this machine does not have, those that are not
    /// among `reported`: what decides is an error, what is only shown a
    /// notice.
    pub(crate) fn refusals(&mut self, reported: &[String]) -> Result<Vec<Notice>, Error> {
        let mut notices = Vec::new();
        for refusal in self.meters.take_refused() {
            if reported.iter().any(|name| name == refusal.metric) {
                continue;
            }
            if self.benchmark.gates.iter().any(|gate| gate.metric == refusal.metric) {
                return Err(meter::Error::from(refusal).into());
            }
            let (why, hint) = (refusal.to_string(), refusal.hint);
            let benchmark = self.benchmark.name.clone();
            notices.push(Notice::NotMeasured { benchmark, why, hint });
        }
        Ok(notices)
    }

    /// What is known of its two programs without a run.
    pub(crate) fn exact(&self) -> Result<Vec<MetricResult>, Error> {
        let mut results = Vec::new();
        for name in self.benchmark.asked() {
            if let Some((metric, sizes)) = meter::sizes(name, &self.paths)? {
                let gate = self.benchmark.gates.iter().find(|gate| gate.metric == *name);
                let gate = gate.cloned().map(|gate| self.waived(gate, &[]));
                results.push(question::exact(metric, gate.as_ref(), sizes.base, sizes.head));
            }
        }
        Ok(results)
    }

    /// A gate with the waiver for it, if there is one; `names` are those of the
    /// benchmark beside its program's.
    fn waived(&self, gate: Gate, names: &[&str]) -> Gate {
        let names = [names, &[self.benchmark.name.as_str()]].concat();
        let mut waivers = self.benchmark.waivers.iter();
        let waiver = waivers.find(|waiver| waiver.is_about(&gate.metric, &names)).cloned();
        Gate { waiver, ..gate }
    }

    /// Whether all that decides is known without a run.
    pub(crate) fn needs_no_run(&self) -> bool {
        self.benchmark.gates.iter().all(|gate| meter::needs_no_run(&gate.metric))
    }

    /// How many runs of each side come first, unmeasured: at least one where
    /// only a run tells what there is.
    pub(crate) fn warmup(&self) -> u32 {
        let tells = |side| self.callers[side].harness.dialect != Dialect::Plain;
        self.benchmark.warmup.max(u32::from(Side::BOTH.into_iter().any(tells)))
    }

    /// Which of the metrics that are measured gate. Where nobody named any, the
    /// only one that there is stands in for the usual one. `names` are those of the
    /// benchmark that measures them, beside its program's.
    pub(crate) fn gates(&self, measured: &[String], names: &[&str]) -> Vec<Gate> {
        let asked = &self.benchmark.gates;
        let gates: Vec<Gate> = match (measured, asked.as_slice()) {
            ([only], [usual])
                if self.benchmark.stands_in
                    && usual.metric == DEFAULT_METRIC
                    && *only != usual.metric =>
            {
                vec![usual.clone().of(only)]
            }
            _ => asked.iter().filter(|gate| measured.contains(&gate.metric)).cloned().collect(),
        };
        gates.into_iter().map(|gate| self.waived(gate, names)).collect()
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
                if meter::pass(metric).is_some_and(|pass| self.done.contains(&pass)) {
                    continue;
                }
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
        caller.harness.clear(&self.place).map_err(Kind::Harness)?;
        let Caller { command, harness, .. } = &self.callers[side];
        let mut reading = Ok(Reading::Process(Sample::new()));
        let (meters, folder) = (&self.meters, &self.folder);
        let limit = self.benchmark.run_timeout;
        let once = Once { meters, folder, limit, left, helper, interrupt };
        let (ran, left_behind) = once.all(command, &self.done, &mut || {
            reading = harness.read(&self.place);
        })?;
        self.left_behind += left_behind;
        let ran = ran.map_err(|Failed { what, command, said }| {
            let benchmark = self.benchmark.name.clone();
            Kind::Benchmark { side, benchmark, what, command, said }
        })?;
        let process = match ran {
            Run::Measured(sample) => sample,
            Run::OutOfTime => return Ok(Run::OutOfTime),
            Run::Interrupted => return Ok(Run::Interrupted),
        };
        Ok(Run::Measured(match reading.map_err(|error| self.unreadable(side, error))? {
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
