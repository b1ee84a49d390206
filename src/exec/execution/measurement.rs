//! How a benchmark is measured.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::path::Path;
use std::time::Instant;

use super::fold;
use super::run::{Context, Runs};
use super::side::SideProgram;
use super::stop::{Stop, Unknown};
use super::watching::Watching;
use crate::error::{Error, Failure};
use crate::exec::error::{ExecError, of_side};
use crate::exec::machine::Machine;
use crate::exec::meter::{
    self, Counted, CountedCode, Meters, Pass, PerfSamples, Profiler, Sampler,
};
use crate::exec::process::trace::Watched;
use crate::exec::process::{Command, IsolationError, allowed_cpus};
use crate::model::{
    BenchmarkNotice, DEFAULT_METRIC, Dialect, Notice, Reading, RunLength, Values, is_of_allocations,
};
use crate::settings::options::Benchmark;
use crate::settings::values::Repetitions;

/// Samples wanted: enough to know a share of 10 % to ±2 points.
const WANTED_SAMPLES: u64 = 200;

/// At most this many processes to collect them.
const MOST_PROCESSES: usize = 20;

/// A run of which samples are taken.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sampling<'s> {
    pub(crate) sampler: &'s Sampler,
    /// The metric whose value is of interest.
    pub(crate) metric: &'s str,
    /// The number of the run.
    pub(crate) run: usize,
}

/// The samples of some runs.
#[derive(Debug)]
pub(crate) struct SampledRuns {
    pub(crate) samples: PerfSamples,
    /// The mean of the metric over these runs, if they report it.
    pub(crate) reported: Option<f64>,
}

/// How many plain runs make a measurement.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Effort {
    /// The number of means of which the best is used.
    best_of: u32,
    /// The number of runs per mean.
    repetitions: u32,
}

impl Effort {
    /// The total number of runs.
    pub(crate) fn runs(self) -> u32 {
        self.repetitions.saturating_mul(self.best_of)
    }
}

/// How a benchmark is measured: what its sides have in common, and notices about
/// their runs.
#[derive(Debug)]
pub(crate) struct Execution<'a> {
    pub(crate) benchmark: &'a Benchmark,
    pub(crate) context: Context<'a>,
    /// The sources of its values.
    pub(crate) meters: Meters,
    /// The kinds of runs whose metrics are no longer needed.
    pub(crate) done: Vec<Pass>,
    /// How many plain runs make a measurement.
    pub(super) repetitions: u32,
    /// The number of processes that its runs have left behind so far.
    pub(crate) left_behind: u64,
    /// Notices about its runs that have not been shown yet.
    pub(crate) notices: Vec<Notice>,
    /// Whether the first of its benchmarks was measured in place of all.
    pub(crate) is_listed: bool,
}

impl<'a> Execution<'a> {
    /// A single run.
    const ONCE: Effort = Effort { best_of: 1, repetitions: 1 };

    /// Determines whether this machine can measure what is requested; `program` is that
    /// of the head.
    pub(crate) fn new(
        benchmark: &'a Benchmark,
        program: &SideProgram,
        context: Context<'a>,
    ) -> Result<Self, Error> {
        let mut names: Vec<String> = benchmark.asked().cloned().collect();
        let reports_benchmarks = program.harness.dialect.filters();
        if reports_benchmarks {
            // Then the program has no metrics of its own.
            let counts = benchmark.args.is_empty() && program.harness.times_what_runs_once();
            names.retain(|name| counts && is_of_allocations(name));
            names.push(DEFAULT_METRIC.to_owned());
        }
        let path_variable: Option<&OsStr> = program.command.var("PATH");
        let meters = Meters::for_metrics(&names, path_variable, &Machine::read(Path::new("/")));
        let meters = if reports_benchmarks { meters.of_benchmarks() } else { meters };
        let measuring = &benchmark.measuring;
        let repetitions = match measuring.repetitions {
            Repetitions::Fixed(repetitions) => repetitions,
            Repetitions::Auto => 1,
        };
        program.command.isolation.rehearse().map_err(|source| {
            let help = match source {
                IsolationError::Cpu(..) => {
                    let cpus: Vec<String> = allowed_cpus().iter().map(u16::to_string).collect();
                    let cpus = cpus.join(", ");
                    format!("choose a processor that this process may use: {cpus}")
                }
                _ => "leave out that option, or run with the permissions that it needs".to_owned(),
            };
            let what = format!("`{}` can't be run as requested", benchmark.name);
            Error::from(Failure::new(what, help).caused_by(source))
        })?;
        Ok(Execution {
            benchmark,
            context,
            meters,
            done: Vec::new(),
            repetitions,
            left_behind: 0,
            notices: Vec::new(),
            is_listed: false,
        })
    }

    /// Keeps a notice about the benchmark, until the runs are reported.
    pub(crate) fn notice(&mut self, notice: BenchmarkNotice) {
        self.notices.push(notice.about(&self.benchmark.name));
    }

    /// Removes the metrics that this machine lacks and that are not `reported`;
    /// returns notices about those that do not gate.
    ///
    /// # Errors
    /// If one of them gates.
    pub(crate) fn drop_unavailable_metrics(
        &mut self,
        reported: &[String],
    ) -> Result<Vec<Notice>, Error> {
        let mut notices = Vec::new();
        for refusal in self.meters.take_refused() {
            if reported.iter().any(|name| name == refusal.metric) {
                continue;
            }
            if self.benchmark.gates.iter().any(|gate| gate.metric == refusal.metric) {
                return Err(refusal.into());
            }
            let (why, hint) = (refusal.to_string(), refusal.hint);
            let notice = BenchmarkNotice::NotMeasured { why, hint };
            notices.push(notice.about(&self.benchmark.name));
        }
        Ok(notices)
    }

    /// Whether all gating metrics are known without a run.
    pub(crate) fn needs_no_run(&self) -> bool {
        self.benchmark.gates.iter().all(|gate| meter::needs_no_run(&gate.metric))
    }

    /// The number of unmeasured runs of each of these programs at the beginning: at
    /// least one if only a run shows which benchmarks exist.
    pub(crate) fn warmup<'p>(&self, programs: impl IntoIterator<Item = &'p SideProgram>) -> u32 {
        let reports = |program: &SideProgram| program.harness.dialect != Dialect::Plain;
        self.benchmark.warmup.max(u32::from(programs.into_iter().any(reports)))
    }

    /// Runs a program once, with all benchmarks that match the filter, each measured
    /// for `length` if that can be set.
    pub(crate) fn run_all(
        &mut self,
        program: &mut SideProgram,
        length: RunLength,
        filter: Option<&str>,
        deadline: Option<Instant>,
    ) -> Result<Vec<Reading>, Stop> {
        program.select(length, program.all(filter));
        self.measure(program, Self::ONCE, deadline)
    }

    /// Runs a program once, with the benchmarks that are selected.
    pub(crate) fn run_selected(
        &mut self,
        program: &mut SideProgram,
        deadline: Option<Instant>,
    ) -> Result<Vec<Reading>, Stop> {
        self.measure(program, Self::ONCE, deadline)
    }

    /// Omits from now on all kinds of runs but the plain one and those that measure one of
    /// these metrics.
    pub(crate) fn only_runs_for<'m>(&mut self, metrics: impl Iterator<Item = &'m str>) {
        let needed: Vec<Pass> = metrics.filter_map(meter::pass).collect();
        let all = self.meters.passes().into_iter();
        self.done = all.filter(|pass| *pass != Pass::Plain && !needed.contains(pass)).collect();
    }

    /// How many plain runs make a measurement.
    pub(crate) fn effort(&self) -> Effort {
        Effort { best_of: self.benchmark.measuring.min_of, repetitions: self.repetitions }
    }

    /// Measures a program with the benchmarks that are selected: the best of several means
    /// of several plain runs, and one run of every other kind. A run may take as long as the
    /// benchmark's timeout; reaching the deadline is not a failure.
    pub(crate) fn measure(
        &mut self,
        program: &mut SideProgram,
        effort: Effort,
        deadline: Option<Instant>,
    ) -> Result<Vec<Reading>, Stop> {
        let mut measured = vec![Reading::of_program(Values::default())];
        for pass in self.meters.passes() {
            if self.done.contains(&pass) {
                continue;
            }
            if pass != Pass::Plain {
                self.extend(&mut measured, pass, program, deadline)?;
                continue;
            }
            let mut means = Vec::new();
            for _ in 0..effort.best_of {
                let mut runs = Vec::new();
                for _ in 0..effort.repetitions {
                    runs.push(self.run(pass, program, deadline)?);
                }
                means.push(fold::mean(runs));
            }
            measured = fold::best(means, &self.benchmark.units);
        }
        Ok(measured)
    }

    /// Runs a program once, with the benchmarks that it should run.
    pub(super) fn run(
        &mut self,
        pass: Pass,
        program: &mut SideProgram,
        deadline: Option<Instant>,
    ) -> Result<Vec<Reading>, Stop> {
        let values = self.run_process(pass, program, deadline)?;
        Ok(program.read(&self.benchmark.name, &values)?)
    }

    /// Adds what another kind of run measures: of the program itself, or of each benchmark, which
    /// it executes alone and once.
    fn extend(
        &mut self,
        measured: &mut [Reading],
        pass: Pass,
        program: &mut SideProgram,
        deadline: Option<Instant>,
    ) -> Result<(), Stop> {
        let usual = program.command.argv.clone();
        for reading in measured {
            let is_runnable = match &reading.benchmark {
                None => true,
                Some(_) if !program.times_once() => false,
                Some(name) => program.only(&[name]).is_some_and(|only| program.select_once(only)),
            };
            if is_runnable && !self.meters.has_all(pass, &reading.values) {
                reading.values.extend(self.run_process(pass, program, deadline)?);
            }
        }
        program.command.argv = usual;
        Ok(())
    }

    /// Runs a program once, with the benchmarks that are selected, and traces what it does,
    /// unless that is already known. `None` if it can't be traced, or not before the
    /// deadline, or if it does not report each of the `expected` benchmarks.
    pub(crate) fn watch(
        &mut self,
        program: &mut SideProgram,
        watching: &mut Watching,
        expected: &[&str],
        deadline: Instant,
    ) -> Result<Option<Watched>, Stop> {
        if let Some(watched) = watching.remembered(&program.command) {
            return Ok(Some(watched.clone()));
        }
        let command = watching.tracing.command(&program.command);
        let begin = Instant::now();
        let ran = self.run_instead(program, command, Some(deadline))?;
        let readings = program.read(&self.benchmark.name, &Values::default()).unwrap_or_default();
        let names: Vec<_> = readings.iter().filter_map(|one| one.benchmark.as_deref()).collect();
        let is_whole = ran && expected.iter().all(|name| names.contains(name));
        Ok(is_whole.then(|| watching.watched(&program.command, begin.elapsed())).flatten())
    }

    /// Runs a program once, with the benchmarks that are selected, and counts its instructions.
    /// `None` if that is impossible, or not finished before the deadline.
    pub(crate) fn profile(
        &mut self,
        program: &mut SideProgram,
        profiler: &Profiler,
        deadline: Option<Instant>,
    ) -> Result<Option<Counted>, Stop> {
        program.lift_limit();
        let folder = program.folder.clone();
        let Ok(command) = profiler.command(&program.command, &folder) else { return Ok(None) };
        let ran = self.run_instead(program, command, deadline)?;
        Ok(ran.then(|| profiler.counted(&folder).ok()).flatten())
    }

    /// The text of the instructions of a function of `object`, by their addresses, as far as
    /// objdump knows them; `None` where there is none.
    pub(crate) fn disassemble(
        &self,
        program: &SideProgram,
        object: &str,
        code: &CountedCode,
    ) -> Result<Option<BTreeMap<u64, String>>, Stop> {
        let listing = program.folder.join("objdump.txt");
        let command = meter::disassembly(object, code, &program.command, listing.clone());
        let Some(command) = command else { return Ok(None) };
        self.context.helper.run(&command, self.context.interrupt)?;
        let text = std::fs::read(&listing).unwrap_or_default();
        let _ = std::fs::remove_file(listing);
        Ok(Some(meter::instructions(&String::from_utf8_lossy(&text))))
    }

    /// Takes samples of a program that runs one benchmark, in as many processes as it takes to
    /// have [`WANTED_SAMPLES`].
    pub(crate) fn sample(
        &mut self,
        program: &mut SideProgram,
        sampling: Sampling<'_>,
        deadline: Option<Instant>,
    ) -> Result<SampledRuns, Unknown> {
        let Sampling { sampler, metric, run } = sampling;
        program.lift_limit();
        let (mut all, mut values) = (PerfSamples::default(), Vec::new());
        for _ in 0..MOST_PROCESSES {
            let command = sampler.record(&program.command, &program.folder, run);
            if !self.run_instead(program, command, deadline)? {
                return Err("a run of perf failed or took too long".into());
            }
            match program.read(&self.benchmark.name, &Values::default()).as_deref() {
                Ok([reading]) => values.extend(reading.values.get(metric)),
                Ok(_) => return Err("its harness can't run it alone".into()),
                Err(_) => return Err("its output under perf can't be read".into()),
            }
            all.add(PerfSamples::take(&program.folder).ok_or("the file of perf can't be read")?);
            if all.count >= WANTED_SAMPLES {
                let mean = values.iter().sum::<f64>() / values.len() as f64;
                let reported = (!values.is_empty()).then_some(mean);
                return Ok(SampledRuns { samples: all, reported });
            }
        }
        Err("its runs are too short for samples".into())
    }

    /// Runs another command once in place of a program's own. Whether that went well; only an
    /// interrupt is an error.
    fn run_instead(
        &mut self,
        program: &mut SideProgram,
        command: Command,
        deadline: Option<Instant>,
    ) -> Result<bool, Stop> {
        let usual = std::mem::replace(&mut program.command, command);
        let ran = self.run_process(Pass::Plain, program, deadline);
        program.command = usual;
        match ran {
            Ok(_) => Ok(true),
            Err(Stop::Interrupted) => Err(Stop::Interrupted),
            Err(Stop::OutOfTime | Stop::Error(_)) => Ok(false),
        }
    }

    /// Runs a program once, and returns what was measured from outside. Its output is
    /// not parsed.
    pub(super) fn run_process(
        &mut self,
        pass: Pass,
        program: &mut SideProgram,
        deadline: Option<Instant>,
    ) -> Result<Values, Stop> {
        program.hooks.before_run(self.benchmark, self.context)?;
        program.clear()?;
        let mut runs = Runs {
            meters: &self.meters,
            timeout: self.benchmark.run_timeout,
            left_behind: &mut self.left_behind,
            context: self.context,
        };
        let name = &self.benchmark.name;
        let (command, folder) = (&program.command, program.folder.as_path());
        runs.run(pass, command, folder, deadline, |run| {
            ExecError::Benchmark { side: program.side, benchmark: name.clone(), run }.into()
        })
        .map_err(|stop| match stop {
            Stop::Error(error) => Stop::Error(of_side(error, program.side, name, command)),
            stop => stop,
        })
    }
}
