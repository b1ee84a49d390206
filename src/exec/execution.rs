//! One measurement of one side or of a pair, to its samples.

mod around;
mod fold;

mod measure;
mod once;
mod output;
mod read;
mod repeat;

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use around::Around;
pub(crate) use around::Hook;
pub(crate) use once::{Failed, Once};
use read::harness_of;

use crate::engine::test;
use crate::error::{Error, Kind};
use crate::exec::harness::{Harness, Place};
use crate::exec::machine::Machine;
use crate::exec::meter::{self, Meters, Pass};
use crate::exec::process::{Command, Helper, Interrupt, Isolation, allowed_cpus, idle};
use crate::exec::program::Program;
use crate::model::dialect::Dialect;
use crate::model::gate::Gate;
use crate::model::metric::DEFAULT_METRIC;
use crate::model::notice::{Notice, RunNotice};
use crate::model::outcome::MetricResult;
use crate::model::row::Sample;
use crate::model::side::{Pair, Side};
use crate::settings::options::{Benchmark, Measuring};
use crate::settings::values::Repetitions;

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
    /// The executables.
    paths: Pair<PathBuf>,
    /// Arguments that select, for a run of all.
    filter: Option<&'a str>,
    /// The benchmarks that both sides have, once they are known.
    pub(crate) cases: Vec<Case>,
    /// How many benchmarks a run of a side has.
    pub(crate) reported: Pair<usize>,
    /// How many runs make a measurement.
    repetitions: u32,
    /// The processors to run on.
    cpus: Vec<u16>,
    /// How many processes its runs left behind so far.
    pub(crate) left_behind: u64,
    /// What there is to say of its runs, until it was said.
    pub(crate) remarks: Vec<RunNotice>,
}

/// How one side is called.
#[derive(Clone, Debug)]
struct Caller {
    command: Command,
    harness: Harness,
    place: Place,
    /// A folder for files of its runs.
    folder: PathBuf,
    around: Around,
    /// How many words the command has, without those that select.
    words: usize,
    /// A name for what is run.
    identity: String,
    /// The side's own room in the cache, the name of which may be in what it
    /// prints.
    home: PathBuf,
}

impl Caller {
    fn new(
        program: &Program,
        harness: Harness,
        stdin: Option<&Path>,
        around: impl FnOnce(&Command) -> Around,
        folder: &Path,
    ) -> Self {
        let place = Place { stdout: folder.join("out"), output: folder.join("output") };
        let stdin = stdin.map(|path| program.command.cwd.join(path));
        let mut command = Command { stdin, ..program.command.clone() };
        let around = around(&command);
        harness.set_up(&mut command, &place);
        let (words, identity) = (command.argv.len(), program.identity.clone());
        let (folder, home) = (folder.to_owned(), program.home.clone());
        Caller { command, harness, place, folder, around, words, identity, home }
    }
}

/// Who runs things, and who may stop it.
#[derive(Clone, Copy)]
pub(crate) struct Hands<'a> {
    pub(crate) helper: &'a Helper,
    pub(crate) interrupt: &'a Interrupt,
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
        let harness = Pair::try_both(|side| harness_of(benchmark, &programs[side]))?;
        let paths = Pair::both(|side| {
            let Program { command, executable, .. } = &programs[side];
            executable.clone().unwrap_or_else(|| meter::program(command))
        });
        let callers = Pair::try_both(|side| {
            // Names of one length: some get into environments.
            let folder = scratch.join(format!("bench-{number}-{side}"));
            fs_err::create_dir_all(&folder).map_err(Error::io("make the folder", &folder))?;
            let harness = harness[side].clone().agreed(&harness[side.other()]);
            let around = |command: &Command| {
                let executable = programs[side].executable.as_deref();
                Around::new(benchmark, side, command, executable, &folder.join("hook"))
            };
            let stdin = benchmark.measuring.stdin.as_deref();
            Ok::<_, Error>(Caller::new(&programs[side], harness, stdin, around, &folder))
        })?;
        // What has benchmarks has no metrics of its process.
        let names: Vec<String> = match callers.head.harness.dialect.filters() {
            true => vec![DEFAULT_METRIC.to_owned()],
            false => benchmark.asked().cloned().collect(),
        };
        let path_variable = callers.head.command.var("PATH");
        let meters = Meters::for_metrics(&names, path_variable, &Machine::read(Path::new("/")));
        let mut bench = Bench {
            benchmark,
            callers,
            meters,
            done: Vec::new(),
            paths,
            filter,
            cases: Vec::new(),
            reported: Pair::default(),
            repetitions: 1,
            cpus: benchmark.measuring.cpus.clone(),
            left_behind: 0,
            remarks: Vec::new(),
        };
        bench.check_machine()?;
        if let Repetitions::Fixed(repetitions) = benchmark.measuring.repetitions {
            bench.repetitions = repetitions;
        }
        Ok(bench)
    }

    /// Whether the machine does what is asked of it.
    fn check_machine(&mut self) -> Result<(), Error> {
        let measuring = &self.benchmark.measuring;
        if measuring.duet && self.cpus.is_empty() {
            let allowed = allowed_cpus();
            // The last ones: the first has the interrupts, as a rule.
            self.cpus = allowed.iter().rev().take(2).copied().collect();
            if self.cpus.len() < 2 {
                return Err(Kind::NoDuet(allowed.len()).into());
            }
        }
        if measuring.max_busy.is_some() && !idle::can_look() {
            return Err(Kind::NoBusy.into());
        }
        for number in 0..self.cpus.len().max(1) {
            let benchmark = || self.benchmark.name.clone();
            let tried = isolation(measuring, &self.cpus, number).rehearse();
            tried.map_err(|source| Kind::Isolation { benchmark: benchmark(), source })?;
        }
        Ok(())
    }

    /// Runs the commands of one kind that the user has around runs of these
    /// sides.
    pub(crate) fn hook(&self, hook: Hook, sides: &[Side], hands: Hands<'_>) -> Result<(), Error> {
        let run = |&side: &Side| self.callers[side].around.hook(hook, self.benchmark, hands);
        sides.iter().try_for_each(run)
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
                results.push(test::exact(metric, gate.as_ref(), sizes.base, sizes.head));
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

    /// How many runs a measurement has.
    pub(crate) fn runs(&self) -> u32 {
        self.repetitions.saturating_mul(self.benchmark.measuring.min_of)
    }

    /// The arguments of a run of everything.
    fn all(&self, side: Side) -> Vec<OsString> {
        let filter = self.filter.filter(|_| self.callers[side].harness.dialect.filters());
        filter.map(OsString::from).into_iter().collect()
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
        self.all(side)
    }
}

/// How a run on the processor of this number in `cpus` is set apart.
fn isolation(measuring: &Measuring, cpus: &[u16], number: usize) -> Isolation {
    let cpu = cpus.get(number).copied();
    Isolation { fixed_addresses: measuring.fixed_addresses, cpu, nice: measuring.nice }
}
