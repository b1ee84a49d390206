//! The program of a benchmark on both sides, and how its runs become rows.

use std::cell::OnceCell;
use std::ffi::OsString;
use std::ops::Range;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use super::accesses::Folders;
use super::discovery::Discovery;
use super::harnesses::{asks_for_short_runs, read, sets_sample_size};
use super::options::Call;
use super::renewal::Renewal;
use crate::engine::test::exact;
use crate::engine::{Experiment, Plan, PlannedBenchmark, Reporter, Turn};
use crate::error::{Error, Failure};
use crate::exec::error::ExecError;
use crate::exec::execution::{Execution, SideProgram, Stop, Watching, of_benchmark};
use crate::exec::harness;
use crate::exec::meter;
use crate::exec::process::trace::Watched;
use crate::exec::program::Program;
use crate::flows::error::FlowError;
use crate::flows::filter::Selection;
use crate::model::{
    BenchmarkId, BenchmarkNotice, ChangedFunction, Dialect, Metric, MetricResult, Pair, Placing,
    Reading, Row, RunLength, Side,
};
use crate::settings::options::{Benchmark, Hooks};
use crate::workspace::{Preparation, Prepared, State};

/// The longest argument list that selects benchmarks, bytes: Linux limits a
/// single argument to 128 KiB.
const LONGEST_SELECTION: usize = 100_000;

/// How long the start-up time of a process is measured, and how often at least on each side: the
/// first time, the results of the warm-up are removed, which takes long for many benchmarks.
const START_UP: Duration = Duration::from_millis(20);
const STARTS: u32 = 2;

/// A name that no benchmark has.
pub(super) const NO_BENCHMARK: &str = "no benchmark: how long does the process take?";

/// The program of a benchmark on both sides.
pub(super) struct ComparedProgram<'a> {
    pub(super) execution: Execution<'a>,
    /// The built programs of both sides.
    pub(super) built: &'a Pair<Program>,
    pub(super) prepared: &'a Prepared,
    /// Its index in the preparation.
    pub(super) number: usize,
    pub(super) sides: Pair<SideProgram>,
    /// The part of it that the user's filter selects.
    pub(super) part: Selection<'a>,
    /// What the warm-up found, and what came of it.
    pub(super) found: Discovery,
    /// The time of a process that runs no benchmark, seconds; 0 if it was not measured.
    pub(super) start_up: f64,
    /// How long it took to link both sides the last time, seconds; `None` if they were not linked.
    pub(super) link_seconds: Option<f64>,
    /// The share of the code that both sides have which is at the same addresses, if the
    /// executables that are measured first are aligned.
    pub(super) aligned: Option<f64>,
    /// How its other layouts are made, if any was.
    pub(super) placing: Option<Placing>,
    pub(super) renewal: Renewal,
    /// Whether its source sets how many iterations a sample has, once that was asked.
    sets_sample_size: OnceCell<bool>,
    /// Whether the outputs of the sides differ and that was asked to fail.
    pub(super) prints_something_else: bool,
}

/// What a run of each side reported.
pub(super) type Readings = Pair<Vec<Reading>>;

impl<'a> ComparedProgram<'a> {
    /// The program of this number in a preparation, unless there is nothing to run.
    pub(super) fn of(
        preparation: &'a Preparation,
        number: usize,
        call: Call<'a>,
    ) -> Result<Option<Self>, Error> {
        let (prepared, scratch) = (&preparation.benchmarks[number], preparation.scratch.path());
        let filter = call.options.request.filter.as_deref();
        let several = preparation.benchmarks.len() > 1;
        let (State::Ready(programs) | State::Same(programs, _)) = &prepared.state else {
            return Ok(None);
        };
        let sides = SideProgram::both(&prepared.benchmark, programs, scratch, number)?;
        let dialect = sides.head.harness.dialect;
        let part = Selection::of(filter, &prepared.benchmark.name, dialect, several);
        let execution = Execution::new(&prepared.benchmark, &sides.head, call.context)?;
        Ok(Some(ComparedProgram {
            execution,
            built: programs,
            number,
            prepared,
            sides,
            part,
            found: Discovery::default(),
            start_up: 0.0,
            link_seconds: None,
            aligned: None,
            placing: None,
            renewal: Renewal::default(),
            sets_sample_size: OnceCell::new(),
            prints_something_else: false,
        }))
    }

    /// The functions that differ between the sides, if known.
    pub(super) fn changed_functions(&self) -> Option<&'a [ChangedFunction]> {
        self.prepared.changed.of(self.built)
    }

    /// Whether the user's filter selects nothing of it.
    pub(super) fn is_left_out(&self) -> bool {
        self.part == Selection::Nothing
    }

    /// Whether it may have benchmarks that the user's filter leaves out.
    pub(super) fn is_filtered(&self) -> bool {
        self.part.filter().is_some()
    }

    pub(super) fn dialect(&self) -> Dialect {
        self.sides.head.harness.dialect
    }

    pub(super) fn benchmark(&self) -> &'a Benchmark {
        self.execution.benchmark
    }

    pub(super) fn name(&self) -> String {
        self.benchmark().name.clone()
    }

    /// The error that it has no benchmark.
    pub(super) fn no_benchmark(&self, filter: Option<&str>) -> FlowError {
        FlowError::no_benchmark(self.benchmark(), self.dialect(), filter)
    }

    /// Whether something holds for the program of each side.
    pub(super) fn both_sides(&self, holds: impl Fn(&SideProgram) -> bool) -> bool {
        holds(&self.sides.base) && holds(&self.sides.head)
    }

    /// The programs of both sides.
    pub(super) fn each_side(&mut self) -> impl Iterator<Item = &mut SideProgram> {
        [&mut self.sides.base, &mut self.sides.head].into_iter()
    }

    /// Whether a run can be limited to some benchmarks. Not if the user gave
    /// arguments, since those may select benchmarks, too.
    pub(super) fn can_select_benchmarks(&self) -> bool {
        self.execution.benchmark.args.is_empty()
            && self.both_sides(|side| side.harness.can_select_benchmarks())
    }

    /// The time of an iteration of a benchmark of which both sides reported this, seconds, if that
    /// determines how it is sampled, and neither its code nor the user does.
    pub(super) fn iteration(&self, readings: [&Reading; 2]) -> Option<f64> {
        let iteration = self.sides.head.iteration(readings)?;
        let is_divan = self.dialect() == Dialect::Divan;
        let is_set = is_divan
            && *self.sets_sample_size.get_or_init(|| {
                let source = self.prepared.source.as_ref();
                source.is_some_and(|source| sets_sample_size(&read(source)))
            });
        let is_own = !is_set && !self.execution.is_listed;
        (is_own && self.can_select_benchmarks()).then_some(iteration)
    }

    /// The metrics of the two programs that are known without a run.
    pub(super) fn exact(&self) -> Result<Vec<MetricResult>, Error> {
        let benchmark = self.benchmark();
        let executables = self.sides.as_ref().map(|side| side.executable.as_path());
        let mut results = Vec::new();
        for name in benchmark.asked() {
            if let Some((metric, sizes)) = meter::sizes(name, executables)? {
                let gate = benchmark.gates.iter().find(|gate| gate.metric == *name);
                let gate = gate.map(|gate| of_benchmark(benchmark, gate.clone(), &[]));
                results.push(exact(metric, gate.as_ref(), sizes.base, sizes.head));
            }
        }
        Ok(results)
    }

    /// Whether runs are shorter with the times set in the benchmarks' code than with the
    /// shortest time that the harness accepts.
    pub(super) fn runs_as_coded(&self) -> bool {
        let is_obeyed = self.both_sides(|side| !side.takes_seconds_only());
        let source = self.prepared.source.as_ref();
        !is_obeyed && source.is_some_and(|source| asks_for_short_runs(&read(source)))
    }

    /// This length of a run, or that of the code if it is shorter.
    pub(super) fn unless_as_coded(&self, length: RunLength) -> RunLength {
        if self.runs_as_coded() { RunLength::Own } else { length }
    }

    /// The arguments that run only these benchmarks, or all of the program if there are none;
    /// `None` if that is impossible.
    pub(super) fn arguments(&self, side: Side, benchmarks: &[&str]) -> Option<Vec<OsString>> {
        let program = &self.sides[side];
        match benchmarks {
            [] => Some(program.all(self.part.filter())),
            // A harness that reports one name may need no arguments to run it.
            [name] => program.only(&[name]),
            names => program.only(names).filter(|only| fits(only)),
        }
    }

    /// Checks that both executables can be linked again, or returns why not.
    pub(super) fn check_relink(&self) -> Result<(), String> {
        self.sides.base.check_relink().and_then(|()| self.sides.head.check_relink())
    }

    /// Determines how other layouts of the executables are made; a notice states why they can't be
    /// linked again.
    pub(super) fn choose_placing(&mut self, reporter: &mut dyn Reporter) {
        if self.placing.is_none() {
            self.placing = Some(Placing::Linked);
            self.check_relink().unwrap_or_else(|why| self.copy_instead(why, reporter));
        }
    }

    fn copy_instead(&mut self, why: String, reporter: &mut dyn Reporter) {
        self.placing = Some(Placing::Copied);
        reporter.notice(BenchmarkNotice::NotLinked { why }.about(&self.name()));
    }

    /// Gives both executables other layouts for all following plain runs, that of `first`
    /// first. If one can't be linked, both are copied from then on.
    pub(super) fn place(
        &mut self,
        (number, seeds): (usize, Pair<u32>),
        first: Side,
        reporter: &mut dyn Reporter,
    ) -> Result<(), Error> {
        let context = self.execution.context;
        let placing = self.placing.unwrap_or(Placing::Copied);
        // The same on both sides, which have the same length of environment.
        let stack = seeds.base ^ seeds.head;
        let mut place = |side: Side| {
            self.sides[side].move_stack(stack);
            self.sides[side].place(placing, (number, seeds[side]), context)
        };
        match [first, first.other()].into_iter().try_for_each(&mut place) {
            Err(error) if placing == Placing::Linked && !error.is_interrupt() => {
                self.copy_instead(link_fault(&error), reporter);
                self.place((number, seeds), first, reporter)
            }
            placed => placed,
        }
    }

    /// The number of layouts of each side that need not be linked.
    pub(super) fn layouts_at_hand(&self) -> u64 {
        self.sides.base.layouts_at_hand().min(self.sides.head.layouts_at_hand())
    }

    /// The number of layouts of each side, if they were linked elsewhere and there is no linker here.
    pub(super) fn most_layouts(&self) -> Option<u64> {
        let is_known = self.sides.head.linked_elsewhere()?.layouts.is_ok();
        is_known.then(|| self.layouts_at_hand())
    }

    /// Gives both sides the same state of the heap for all following runs in other layouts, if
    /// both can be given one.
    pub(super) fn scatter_heap(&mut self, seed: u64) {
        if self.both_sides(SideProgram::scatters_heap) {
            self.each_side().for_each(|side| side.scatter_heap(seed));
        }
    }

    /// The time of a process that runs no benchmark, seconds: the minimum of a few runs.
    pub(super) fn measure_start_up(&mut self) -> Result<f64, Stop> {
        let (mut least, mut starts) = (f64::INFINITY, 0);
        let begin = Instant::now();
        while starts < STARTS || begin.elapsed() < START_UP {
            starts += 1;
            for side in Side::BOTH {
                let begin = Instant::now();
                let program = &mut self.sides[side];
                program.select(RunLength::Probe, program.harness.only(&[NO_BENCHMARK]));
                self.execution.run_selected(program, None)?;
                least = least.min(begin.elapsed().as_secs_f64());
            }
        }
        self.start_up = least;
        Ok(least)
    }

    /// Traces what a side does when it runs these benchmarks, or all of them if there are none:
    /// for `length` each, or once. `None` if that can't be traced before the deadline.
    pub(super) fn watch(
        &mut self,
        side: Side,
        benchmarks: &[&str],
        watching: &mut Watching,
        length: Option<RunLength>,
        deadline: Instant,
    ) -> Result<Option<Watched>, Stop> {
        if length.is_none() && benchmarks.is_empty() && self.sides[side].executes_tests() {
            let listed = self.execution.list(&mut self.sides[side], self.part.filter())?;
            let Some(names) = listed else { return Ok(None) };
            let names: Vec<&str> = names.iter().map(String::as_str).collect();
            return self.watch(side, &names, watching, length, deadline);
        }
        let Some(arguments) = self.arguments(side, benchmarks) else { return Ok(None) };
        let length = length.map(|length| self.unless_as_coded(length));
        let program = &mut self.sides[side];
        match length {
            Some(length) => program.select(length, arguments),
            None if program.select_once(arguments) => {}
            None => return Ok(None),
        }
        // One that the harness did not select would run nothing that differs.
        let is_unknown = length.is_none() || benchmarks == [NO_BENCHMARK];
        let expected: &[&str] = if is_unknown { &[] } else { benchmarks };
        let mut watched = self.execution.watch(program, watching, expected, deadline)?;
        if let Some(watched) = &mut watched {
            self.opened_before(side).for_each(|path| watched.note_given(&path));
        }
        Ok(watched)
    }

    /// The folders with all that its runs may access, of which `changed` are the files that
    /// differ between the commits.
    ///
    /// # Errors
    /// Why its runs may differ, whatever they access.
    pub(super) fn folders<'m>(&self, changed: &'m [String]) -> Result<Folders<'m>, String> {
        let same_run = self.prepared.same_run.as_ref().map_err(Clone::clone)?;
        if self.benchmark().measuring.hooks != Hooks::default() && !changed.is_empty() {
            return Err("`setup`, `prepare` or `cleanup` may use files that differ".to_owned());
        }
        let own = self.sides.as_ref().map(|side| side.folder.clone());
        let folders = Folders::of(self.built, own, changed, same_run);
        folders.ok_or_else(|| "the folders of its runs are not known".to_owned())
    }

    /// Whether something else runs its executable, such as a runner of cargo's configuration.
    pub(super) fn runner(&self, side: Side) -> Option<&OsString> {
        let Program { command, executable, .. } = &self.built[side];
        let first = command.argv.first()?;
        executable.as_ref().filter(|executable| first != executable.as_os_str()).and(Some(first))
    }

    /// The files of a side that are opened on its behalf, without being traced.
    fn opened_before(&self, side: Side) -> impl Iterator<Item = PathBuf> {
        let stdin = self.execution.benchmark.measuring.stdin.as_ref();
        let runner = self.runner(side).map(PathBuf::from);
        let runner = runner.filter(|runner| runner.components().count() > 1);
        let folder = &self.built[side].command.cwd;
        stdin.cloned().into_iter().chain(runner).map(|path| folder.join(path))
    }

    /// Measures the pair of a turn.
    pub(super) fn measure(&mut self, turn: &Turn, progress: &Experiment) -> Result<Vec<Row>, Stop> {
        if self.execution.meters.has_slow_runs() {
            let results = progress.results(turn.group);
            if results.clone().any(|benchmark| benchmark.pairs > 0) {
                self.execution.done = self.execution.meters.done(results);
            }
        }
        let plan = progress.plan();
        let length = plan.groups[turn.group].length.unwrap_or(RunLength::LONG);
        let deadline = Instant::now() + turn.left;
        self.renewal.before_pair(&self.sides);
        self.pair(plan, &turn.wanted, turn.first, length, Some(deadline))
    }

    /// Measures a pair of these benchmarks before the experiment. Returns its time, seconds, and its
    /// rows; `None` if it takes longer than `longest`.
    pub(super) fn timed_pair(
        &mut self,
        plan: &Plan,
        benchmarks: Range<usize>,
        first: Side,
        run: RunLength,
        longest: Option<Duration>,
    ) -> Result<Option<(f64, Vec<Row>)>, Stop> {
        let wanted: Vec<BenchmarkId> = benchmarks.map(BenchmarkId).collect();
        self.renewal.before_pair(&self.sides);
        let begin = Instant::now();
        let deadline = longest.and_then(|longest| begin.checked_add(longest));
        match self.pair(plan, &wanted, first, run, deadline) {
            Err(Stop::OutOfTime) => Ok(None),
            rows => Ok(Some((begin.elapsed().as_secs_f64(), rows?))),
        }
    }

    /// Measures a pair. The rows are those of the side that goes first, then those of
    /// the other.
    pub(super) fn pair(
        &mut self,
        plan: &Plan,
        wanted: &[BenchmarkId],
        first: Side,
        length: RunLength,
        deadline: Option<Instant>,
    ) -> Result<Vec<Row>, Stop> {
        let mut rows = Vec::new();
        for side in [first, first.other()] {
            let arguments = self.select(plan, wanted, side);
            let program = &mut self.sides[side];
            match wanted {
                [only] => program.select_one(length, plan.benchmarks[only.0].iteration, arguments),
                _ => program.select(length, arguments),
            }
            let effort = self.execution.effort();
            let readings = self.execution.measure(program, effort, deadline)?;
            for id in wanted {
                rows.push(self.row((plan, *id), side, &readings)?);
            }
        }
        Ok(rows)
    }

    /// The arguments that run the wanted benchmarks.
    fn select(&self, plan: &Plan, wanted: &[BenchmarkId], side: Side) -> Vec<OsString> {
        let program = &self.sides[side];
        if wanted.len() < self.found.most_reported() && self.can_select_benchmarks() {
            let names = wanted.iter().filter_map(|id| plan.benchmarks[id.0].inner.as_deref());
            let only = program.only(&names.collect::<Vec<_>>());
            if let Some(only) = only.filter(|only| fits(only)) {
                return only;
            }
        }
        program.all(self.part.filter())
    }

    /// The row of a benchmark, with the metrics that it had in the warm-up, from what a run of one
    /// side reports.
    fn row(
        &self,
        (plan, id): (&Plan, BenchmarkId),
        side: Side,
        readings: &[Reading],
    ) -> Result<Row, Error> {
        let PlannedBenchmark { inner, metrics, gates, .. } = &plan.benchmarks[id.0];
        let omitted = |what: String| {
            let name = self.name();
            let what = format!(
                "a run of the {side} of `{name}` does not report {what}, although an earlier run did"
            );
            let step = "make every run report the same, or leave the benchmark out with `--filter`";
            Failure::new(what, step)
        };
        let Some(reading) = readings.iter().find(|one| one.benchmark == *inner) else {
            let what = inner.as_ref().unwrap_or(&self.benchmark().name);
            return Err(omitted(format!("the benchmark `{what}`")).into());
        };
        let of = inner.as_ref().map_or(String::new(), |name| format!(" of `{name}`"));
        let mut row = Row { benchmark: id, side, values: Vec::with_capacity(metrics.len()) };
        for (id, Metric { name, .. }) in metrics {
            let Some(value) = reading.values.get(name) else {
                if meter::pass(name).is_some_and(|pass| self.execution.done.contains(&pass)) {
                    continue;
                }
                return Err(omitted(format!("`{name}`{of}")).into());
            };
            if value < 0.0 && gates.iter().any(|gate| gate.metric == *name) {
                let why =
                    format!("`{name}`{of} is {value}, but a metric that gates can't be negative");
                let (program, benchmark) = (&self.sides[side], &self.benchmark().name);
                return Err(program.unreadable(benchmark, harness::Error::Unreadable(why)));
            }
            row.values.push((*id, value));
        }
        Ok(row)
    }
}

/// Whether a command can have these arguments, and there are some.
fn fits(arguments: &[OsString]) -> bool {
    let length = arguments.iter().map(|word| word.len() + 1).sum::<usize>();
    (1..LONGEST_SELECTION).contains(&length)
}

/// Why a link failed, without its command, which can be very long.
pub(super) fn link_fault(error: &Error) -> String {
    let Some(ExecError::Tool { exit, stderr, .. }) = error.as_kind() else {
        return error.to_string();
    };
    let said = stderr.lines().find(|line| line.contains("error")).or(stderr.lines().next());
    said.map_or_else(|| format!("the linker {exit}"), |said| format!("the linker {exit}: {said}"))
}
