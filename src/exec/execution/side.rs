//! The program of one side, and how it is called and parsed.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::hooks::RunHooks;
use super::placement::Placement;
use super::round::{ITERATIONS, OneRound};
use super::run::Context;
use super::stop::Stop;
use super::varying::VaryingNames;
use crate::error::Error;
use crate::exec::error::{ExecError, unusable_harness};
use crate::exec::harness::{self, Harness, OutputPaths};
use crate::exec::meter;
use crate::exec::process::{Command, Isolation, stderr_tail};
use crate::exec::program::Program;
use crate::exec::system::remove;
use crate::model::{
    DEFAULT_METRIC, Dialect, KnownMetric, MetricSource, Pair, Reading, RunLength, Side, TargetKind,
    Values, is_of_allocations,
};
use crate::settings::options::{Benchmark, Subject};

/// By how much bencher prints less than the median of its samples, at most, seconds: each of them is
/// rounded down, and the mean of the two in the middle once more.
const PRINTED_LESS: f64 = 1.51e-9;

/// The program of one side, and how it is called and parsed.
#[derive(Clone, Debug)]
pub(crate) struct SideProgram {
    pub(crate) side: Side,
    pub(super) command: Command,
    pub(crate) harness: Harness,
    pub(super) paths: OutputPaths,
    /// A folder for files of its runs.
    pub(crate) folder: PathBuf,
    pub(crate) hooks: RunHooks,
    /// The number of words in the command without those that select benchmarks.
    pub(super) words: usize,
    /// The word with which it repeats benchmarks that it else executes once.
    repeating: Option<OsString>,
    /// A name for what is run.
    pub(crate) identity: String,
    /// The side's own folder in the cache, whose name may appear in its output.
    pub(crate) home: PathBuf,
    /// A folder for information about the program.
    pub(super) records: Option<PathBuf>,
    /// Its names that change with every run.
    pub(crate) varying: VaryingNames,
    /// The file of the program, unless it is a name that has to be looked up.
    pub(crate) executable: PathBuf,
    /// How its executable is given another layout.
    pub(super) placement: Option<Placement>,
    /// The metrics of allocations that its runs have printed.
    counted: BTreeSet<&'static str>,
    /// How its runs are limited, if its harness has no flag for that but they can be.
    round: Option<OneRound>,
    /// How many benchmarks the latest run has reported.
    reported: usize,
}

impl SideProgram {
    /// The only side of a benchmark.
    pub(crate) fn new(
        benchmark: &Benchmark,
        program: &Program,
        side: Side,
        scratch: &Path,
        number: usize,
    ) -> Result<Self, Error> {
        let harness = harness_of(benchmark, program)?;
        Self::with_harness(benchmark, program, harness, side, scratch, number)
    }

    /// Both sides of a benchmark. If they have the same harness, both are called with
    /// the flags that both support. `number` distinguishes their files in `scratch`
    /// from others.
    pub(crate) fn both(
        benchmark: &Benchmark,
        programs: &Pair<Program>,
        scratch: &Path,
        number: usize,
    ) -> Result<Pair<Self>, Error> {
        let harness = Pair::try_both(|side| harness_of(benchmark, &programs[side]))?;
        Pair::try_both(|side| {
            let agreed = harness[side].clone().agreed(&harness[side.other()]);
            Self::with_harness(benchmark, &programs[side], agreed, side, scratch, number)
        })
    }

    fn with_harness(
        benchmark: &Benchmark,
        program: &Program,
        harness: Harness,
        side: Side,
        scratch: &Path,
        number: usize,
    ) -> Result<Self, Error> {
        // The names of both sides have the same length, since some become part of environments.
        let folder = scratch.join(format!("bench-{number}-{side}"));
        fs_err::create_dir_all(&folder).map_err(Error::io("create the folder", &folder))?;
        let paths = OutputPaths { stdout: folder.join("out"), output: folder.join("output") };
        let measuring = &benchmark.measuring;
        let isolation = Isolation {
            fixed_addresses: measuring.fixed_addresses,
            cpus: measuring.cpus.clone(),
            nice: measuring.nice,
        };
        let stdin = measuring.stdin.as_ref().map(|path| program.command.cwd.join(path).into());
        // A harness reports benchmarks, not processes.
        let peak = !harness.dialect.filters();
        let mut command = Command { stdin, isolation, peak, ..program.command.clone() };
        let executable = program.executable.as_deref();
        let hooks = RunHooks::new(benchmark, side, &command, folder.join("hook"));
        harness.set_up(&mut command, &paths);
        if benchmark.asked().any(|metric| is_of_allocations(metric)) {
            harness.count_allocations(&mut command);
        }
        let placement =
            executable.and_then(|path| Placement::of(&command.argv, path, program.relink.clone()));
        // Where cargo is quiet, that is not the last word.
        let is_repeating = |word: &OsString| harness.repeating().is_some_and(|flag| word == flag);
        let repeating = command.argv.iter().rposition(is_repeating);
        let repeating = repeating.map(|index| command.argv.remove(index));
        Ok(SideProgram {
            side,
            placement,
            words: command.argv.len(),
            repeating,
            executable: executable.map_or_else(|| meter::program(&program.command), Path::to_owned),
            command,
            harness,
            paths,
            folder,
            varying: VaryingNames::default(),
            counted: BTreeSet::new(),
            round: None,
            reported: 0,
            hooks,
            identity: program.identity.clone(),
            home: program.home.clone(),
            records: program.records.clone(),
        })
    }

    /// The `PATH` of its runs.
    pub(crate) fn path_variable(&self) -> Option<OsString> {
        self.command.var("PATH").map(ToOwned::to_owned)
    }

    /// The arguments of a run of all benchmarks that match the filter.
    pub(crate) fn all(&self, filter: Option<&str>) -> Vec<OsString> {
        filter.map(|filter| self.harness.matching(filter)).unwrap_or_default()
    }

    /// The arguments that run only these benchmarks; `None` if one of them has no name by which
    /// the harness could select it.
    pub(crate) fn only(&self, names: &[&str]) -> Option<Vec<OsString>> {
        let varies = self.varying.stable().any(|stable| names.contains(&stable.as_str()));
        (!varies).then(|| self.harness.only(names))
    }

    /// Prepares the next run with these arguments, measuring each benchmark for `length`
    /// if that can be set.
    pub(crate) fn select(&mut self, length: RunLength, arguments: Vec<OsString>) {
        self.select_for(length, None, arguments);
        self.limit(length, None, u64::MAX);
    }

    /// Prepares the next run with a single benchmark, of which an iteration takes so many seconds, if
    /// that is known.
    pub(crate) fn select_one(
        &mut self,
        length: RunLength,
        iteration: Option<f64>,
        arguments: Vec<OsString>,
    ) {
        self.select_for(length, iteration, arguments);
        // Bencher may run more than it should.
        let is_alone = self.harness.dialect != Dialect::Bencher;
        self.limit(length, iteration, if is_alone { 1 } else { u64::MAX });
    }

    fn select_for(&mut self, length: RunLength, iteration: Option<f64>, arguments: Vec<OsString>) {
        let flags = self.sampled(length, iteration);
        self.select_repeating(flags, arguments);
    }

    fn select_repeating(
        &mut self,
        flags: impl IntoIterator<Item = OsString>,
        arguments: Vec<OsString>,
    ) {
        let repeating = self.repeating.clone().into_iter();
        self.replace_arguments(repeating.chain(flags).chain(arguments).collect());
    }

    /// Limits the next run to rounds of at most so many benchmarks, if that is possible.
    fn limit(&mut self, length: RunLength, iteration: Option<f64>, benchmarks: u64) {
        let is_short = [RunLength::Probe, RunLength::EXECUTED].contains(&length);
        let time = if is_short { RunLength::SHORT.time() } else { length.time() };
        if let (Some(round), Some(time)) = (&self.round, time) {
            round.limit(&mut self.command, (time, iteration), benchmarks);
        }
    }

    /// Replaces the words after those that are the same in each run, which is not limited.
    fn replace_arguments(&mut self, arguments: Vec<OsString>) {
        self.command.argv.truncate(self.words);
        self.command.argv.extend(arguments);
        self.lift_limit();
    }

    /// Lets the next run measure as long as its harness does by itself.
    pub(super) fn lift_limit(&mut self) {
        if let Some(round) = &self.round {
            round.lift(&mut self.command);
        }
    }

    /// Prepares the next run to execute each benchmark once. Returns whether the harness can do
    /// that.
    pub(crate) fn select_once(&mut self, arguments: Vec<OsString>) -> bool {
        let Some(once) = self.once() else { return false };
        self.replace_arguments(once.into_iter().chain(arguments).collect());
        true
    }

    /// Prepares the next run to list benchmarks, with these flags.
    pub(super) fn select_list(&mut self, flags: &[&str], arguments: Vec<OsString>) {
        let flags = [harness::LIST].iter().chain(flags).map(OsString::from);
        self.select_repeating(flags, arguments);
    }

    /// The names of the benchmarks that the latest run listed; `None` if one of them can't be
    /// known from it.
    pub(super) fn listed(&self) -> Result<Option<Vec<String>>, Error> {
        let listed = self.harness.listed(&self.paths);
        listed.map_err(|error| self.unreadable("the list of benchmarks", error))
    }

    /// Whether it can execute benchmarks once that it otherwise repeats.
    pub(crate) fn can_run_once(&self) -> bool {
        self.harness.dialect.filters() && self.once().is_some()
    }

    /// The arguments with which it executes each benchmark once.
    pub(crate) fn once(&self) -> Option<Vec<OsString>> {
        self.harness.once().filter(|_| !self.executes_tests() || self.repeating.is_some())
    }

    /// Whether such a run executes tests as well, unless it is told what to execute.
    pub(crate) fn executes_tests(&self) -> bool {
        self.harness.dialect == Dialect::Libtest
    }

    /// Whether such a run times what it executes, so that it can be told from the rest of the
    /// process.
    pub(super) fn times_once(&self) -> bool {
        self.can_run_once() && !self.executes_tests()
    }

    /// The command without the words that select benchmarks.
    pub(crate) fn command_shown(&self) -> String {
        let mut command = self.command.clone();
        command.argv.truncate(self.words);
        command.argv.extend(self.repeating.clone());
        command.shown()
    }

    /// Limits its runs to one round of each benchmark where nothing else makes them short; `shared`
    /// is a folder for files of both sides. Returns whether they are.
    pub(crate) fn limit_rounds(
        &mut self,
        shared: &Path,
        context: Context<'_>,
    ) -> Result<bool, Stop> {
        self.lift_limit();
        self.round = OneRound::of((&self.harness, &self.command), &self.folder, shared, context)?;
        Ok(self.round.is_some())
    }

    /// Lets its runs be as long as its harness makes them.
    pub(crate) fn leave_rounds(&mut self) {
        self.lift_limit();
        self.round = None;
    }

    /// Whether the latest run could be limited to rounds, whatever became of that; also if none is
    /// to be.
    pub(crate) fn obeys_limit(&self) -> bool {
        self.round.as_ref().is_none_or(OneRound::is_loaded)
    }

    /// Whether the latest run was as short as requested, as far as that is known.
    pub(crate) fn has_kept_limit(&self) -> bool {
        self.round.as_ref().is_none_or(|round| round.is_kept(self.reported))
    }

    /// The resolution of the times of the latest run, seconds, if it is coarse enough to matter.
    pub(crate) fn step(&self) -> Option<f64> {
        self.harness.dialect.step().filter(|_| self.medians().is_empty())
    }

    /// The median times of the benchmarks of the latest run, seconds, if its harness rounds them and
    /// they are known all the same.
    fn medians(&self) -> Vec<f64> {
        let round = self.round.as_ref().filter(|_| self.harness.dialect.step().is_some());
        round.map(|round| round.medians(self.reported)).unwrap_or_default()
    }

    /// See [`Harness::version_with_short_runs`]; `None` if runs are limited to one round.
    pub(crate) fn version_with_short_runs(&self) -> Option<&'static str> {
        self.harness.version_with_short_runs().filter(|_| self.round.is_none())
    }

    /// How often a run executes each benchmark, at least, if it is limited to one round.
    pub(crate) fn least_iterations(&self) -> Option<f64> {
        self.round.as_ref().map(|_| ITERATIONS)
    }

    /// Whether the measurement time can be set.
    pub(crate) fn takes_time(&self) -> bool {
        self.round.is_some() || self.has_flag_of_time()
    }

    /// Whether there is a flag for the measurement time that was not set by the user.
    pub(crate) fn has_flag_of_time(&self) -> bool {
        let timed = |milliseconds| self.timed(RunLength::Time(Duration::from_millis(milliseconds)));
        timed(1) != timed(2)
    }

    /// Whether the measurement time can be set, but in whole seconds only.
    pub(crate) fn takes_seconds_only(&self) -> bool {
        !self.has_flag_of_time() && !self.timed(RunLength::SHORT).is_empty()
    }

    /// Whether the harness has a mode that ends regardless of the benchmark's code.
    pub(crate) fn can_be_capped(&self) -> bool {
        let capped = self.timed(RunLength::Capped);
        !capped.is_empty() && capped != self.timed(RunLength::SHORT)
    }

    fn timed(&self, length: RunLength) -> Vec<OsString> {
        self.sampled(length, None)
    }

    fn sampled(&self, length: RunLength, iteration: Option<f64>) -> Vec<OsString> {
        self.harness.timed(length, iteration, &self.command.argv[..self.words])
    }

    /// See [`Harness::iteration`]; also of what is limited to rounds.
    pub(crate) fn iteration(&self, readings: [&Reading; 2]) -> Option<f64> {
        if self.round.is_some() {
            let [one, other] = readings.map(|reading| reading.values.get(DEFAULT_METRIC));
            return Some(one?.min(other?));
        }
        self.harness.iteration(&self.command, readings)
    }

    /// Removes the output of an earlier run.
    pub(super) fn clear(&self) -> Result<(), Error> {
        if let Some(OneRound { report, .. }) = &self.round {
            remove(report).map_err(Error::io("remove", report))?;
        }
        Ok(self.harness.clear(&self.paths)?)
    }

    /// Parses what a run reported; `measured` is what was measured from outside.
    pub(super) fn read(
        &mut self,
        benchmark: &str,
        measured: &Values,
    ) -> Result<Vec<Reading>, Error> {
        let read = self.harness.read(&self.paths);
        let mut readings = read.map_err(|error| self.unreadable(benchmark, error))?;
        self.reported = readings.len();
        self.refine(&mut readings);
        if self.harness.dialect == Dialect::Divan {
            self.add_no_allocations(&mut readings);
        }
        self.varying.rename(&mut readings);
        Ok(match readings.as_slice() {
            [Reading { benchmark: None, values: own, .. }] => {
                vec![Reading::of_program(overlaid(own, measured))]
            }
            _ => readings,
        })
    }

    /// Replaces the times of bencher, of which it prints whole nanoseconds, by the medians of the same
    /// samples, if these are known.
    fn refine(&self, readings: &mut [Reading]) {
        for (Reading { values, .. }, median) in readings.iter_mut().zip(self.medians()) {
            let printed = values.get(DEFAULT_METRIC);
            let more = printed.map(|printed| median - printed);
            if let Some(more) = more.filter(|more| (0.0..PRINTED_LESS).contains(more)) {
                values.add(DEFAULT_METRIC, more);
            }
        }
    }

    /// Adds zeros where nothing is printed of allocations because there were none. That others
    /// have some shows that they are counted; old versions of divan don't count the peak.
    fn add_no_allocations(&mut self, readings: &mut [Reading]) {
        let metrics = KnownMetric::from(MetricSource::Allocations).map(|known| known.name);
        let has = |name| readings.iter().any(|one: &Reading| one.values.get(name).is_some());
        self.counted.extend(metrics.filter(|&name| has(name)));
        for reading in readings {
            reading.values.extend(self.counted.iter().map(|&name| (name, 0.0)).collect());
        }
    }

    /// The error for output that can't be parsed.
    pub(crate) fn unreadable(&self, benchmark: &str, source: harness::Error) -> Error {
        ExecError::Output {
            side: self.side,
            benchmark: benchmark.to_owned(),
            command: self.command.shown(),
            harness: self.harness.dialect.name(),
            output: stderr_tail(&self.paths.stdout),
            source,
        }
        .into()
    }
}

/// Merges what the program measured itself over what was measured from outside.
fn overlaid(own: &Values, measured: &Values) -> Values {
    let mut both = Values::default();
    for (name, value) in measured.iter() {
        both.set(name, own.get(name).unwrap_or(value));
    }
    both.extend(own.clone());
    both
}

/// The harness of a program: the configured one, else for a bench target the one
/// detected in its executable.
fn harness_of(benchmark: &Benchmark, program: &Program) -> Result<Harness, Error> {
    let is_bench = matches!(&benchmark.subject,
        Subject::Target(target, _) if target.kind == TargetKind::Bench);
    let dialect = match benchmark.harness {
        None if !is_bench => Some(Dialect::Plain),
        asked => asked,
    };
    let executable = match (dialect, &program.executable) {
        (Some(Dialect::Plain | Dialect::Json), _) | (_, None) => None,
        (_, Some(path)) => Some(fs_err::read(path).map_err(Error::io("read", path))?),
    };
    let harness = match (dialect, executable) {
        (Some(dialect), executable) => Harness::new(dialect, executable.as_deref()),
        (None, Some(executable)) => match harness::unusable(&executable) {
            Some(harness) => {
                return Err(unusable_harness(&benchmark.name, harness).into());
            }
            None => Harness::detect(&executable),
        },
        (None, None) => Harness::new(Dialect::Plain, None),
    };
    Ok(harness.for_metrics(benchmark.asked()))
}
