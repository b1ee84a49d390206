//! Runs the program of a benchmark, again and again.
//!
//! A run is one process of one side ([`side`]), or of both at the same time. A
//! measurement is as many runs as the clock and the estimator need, of every kind
//! ([`Pass`]) that the metrics need. It ends with readings or with a [`Stop`].

mod fold;
mod hooks;
mod output;
mod repetitions;
mod run;
mod side;

use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::time::{Duration, Instant};

pub(crate) use hooks::Hook;
pub(crate) use run::{Failure, Runs};
pub(crate) use side::SideProgram;

use crate::error::{Error, Kind};
use crate::exec::machine::Machine;
use crate::exec::meter::{self, Meters, Pass};
use crate::exec::process::{Helper, Interrupt, Isolation, RunError, allowed_cpus, idle};
use crate::model::dialect::Dialect;
use crate::model::gate::Gate;
use crate::model::metric::DEFAULT_METRIC;
use crate::model::notice::{Notice, RunNotice};
use crate::model::row::{Reading, Values};
use crate::settings::options::{Benchmark, Measuring, Repetitions};

/// What runs programs, and what may stop it.
#[derive(Clone, Copy, Debug)]
pub struct Context<'a> {
    /// Starts the programs.
    pub helper: &'a Helper,
    /// Ends them.
    pub interrupt: &'a Interrupt,
}

/// Why a measurement has no values.
#[derive(Debug)]
pub(crate) enum Stop {
    /// The deadline came first, and the run was ended.
    OutOfTime,
    /// A signal came first, and the run was ended.
    Interrupted,
    /// The program failed, or its run could not be made or read.
    Error(Error),
}

impl From<Error> for Stop {
    fn from(error: Error) -> Self {
        if error.is_interrupt() { Stop::Interrupted } else { Stop::Error(error) }
    }
}

impl From<RunError> for Stop {
    fn from(error: RunError) -> Self {
        Stop::from(Error::from(error))
    }
}

impl Stop {
    /// The error for a caller that set no deadline.
    pub(crate) fn into_error(self) -> Error {
        match self {
            Stop::OutOfTime | Stop::Interrupted => RunError::Interrupted.into(),
            Stop::Error(error) => error,
        }
    }
}

/// How a benchmark is measured: what its sides have in common, and what their runs
/// left to say.
#[derive(Debug)]
pub(crate) struct Execution<'a> {
    pub(crate) benchmark: &'a Benchmark,
    /// Where its numbers come from.
    pub(crate) meters: Meters,
    /// The kinds of runs whose metrics are no longer of interest.
    pub(crate) done: Vec<Pass>,
    /// How many plain runs make a measurement.
    repetitions: u32,
    /// The processors to run on.
    cpus: Vec<u16>,
    /// How many processes its runs left behind so far.
    pub(crate) left_behind: u64,
    /// What the user should know of its runs, until it was said.
    pub(crate) notices: Vec<RunNotice>,
}

impl<'a> Execution<'a> {
    /// Finds out whether this machine can measure what is asked of it; `program` is that
    /// of the head.
    pub(crate) fn new(benchmark: &'a Benchmark, program: &SideProgram) -> Result<Self, Error> {
        // A program that reports benchmarks has no metrics of its own.
        let names: Vec<String> = match program.harness.dialect.filters() {
            true => vec![DEFAULT_METRIC.to_owned()],
            false => benchmark.asked().cloned().collect(),
        };
        let path_variable: Option<&OsStr> = program.command.var("PATH");
        let meters = Meters::for_metrics(&names, path_variable, &Machine::read(Path::new("/")));
        let measuring = &benchmark.measuring;
        let repetitions = match measuring.repetitions {
            Repetitions::Fixed(repetitions) => repetitions,
            Repetitions::Auto => 1,
        };
        let cpus = cpus(measuring)?;
        if measuring.max_busy.is_some() && !idle::can_look() {
            return Err(Kind::NoBusy.into());
        }
        for slot in 0..cpus.len().max(1) {
            isolation(measuring, &cpus, slot).rehearse().map_err(|source| {
                let benchmark = benchmark.name.clone();
                Error::from(Kind::Isolation { benchmark, source })
            })?;
        }
        Ok(Execution {
            benchmark,
            meters,
            done: Vec::new(),
            repetitions,
            cpus,
            left_behind: 0,
            notices: Vec::new(),
        })
    }

    /// Takes out the metrics that this machine does not have and that are not among
    /// those `reported`: of what is only shown as notices.
    ///
    /// # Errors
    /// When one of them gates.
    pub(crate) fn take_refusals(&mut self, reported: &[String]) -> Result<Vec<Notice>, Error> {
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

    /// Whether all that decides is known without a run.
    pub(crate) fn needs_no_run(&self) -> bool {
        self.benchmark.gates.iter().all(|gate| meter::needs_no_run(&gate.metric))
    }

    /// How many unmeasured runs of each of these programs come first: at least one if
    /// only a run tells which benchmarks there are.
    pub(crate) fn warmup<'p>(&self, programs: impl IntoIterator<Item = &'p SideProgram>) -> u32 {
        let tells = |program: &SideProgram| program.harness.dialect != Dialect::Plain;
        self.benchmark.warmup.max(u32::from(programs.into_iter().any(tells)))
    }

    /// How many runs make a measurement.
    pub(crate) fn runs(&self) -> u32 {
        self.repetitions.saturating_mul(self.benchmark.measuring.min_of)
    }

    /// Waits until others leave the machine idle enough, if that was asked for.
    pub(crate) fn wait_for_idle(&self, left: Duration, interrupt: &Interrupt) -> Result<(), Stop> {
        match self.benchmark.measuring.max_busy {
            Some(most) if !idle::wait(most, left, interrupt) => {
                let stopped = interrupt.signal().is_some();
                Err(if stopped { Stop::Interrupted } else { Stop::OutOfTime })
            }
            _ => Ok(()),
        }
    }

    /// Makes the next run of a program one with these arguments, on the processor of the
    /// slot, and in a pair with an environment whose length depends on the pair.
    pub(crate) fn set_run(
        &self,
        program: &mut SideProgram,
        select: Vec<OsString>,
        slot: usize,
        pair_seed: Option<u64>,
    ) {
        program.set_run(select, isolation(&self.benchmark.measuring, &self.cpus, slot));
        if let Some(seed) = pair_seed.filter(|_| self.benchmark.measuring.env_padding) {
            hooks::pad(&mut program.command, seed);
        }
    }

    /// Runs one program once, unmeasured, with all benchmarks that match the filter.
    pub(crate) fn warm_up(
        &mut self,
        program: &mut SideProgram,
        filter: Option<&str>,
        context: Context<'_>,
    ) -> Result<Vec<Reading>, Stop> {
        self.set_run(program, program.select_all(filter), 0, None);
        let mut all = self.measure_as(&mut [program], 1, 1, None, context)?;
        Ok(all.pop().unwrap_or_default())
    }

    /// Measures programs at the same time, one or two: the best of several means of
    /// several plain runs, and one run of every other kind. A run may take as long as
    /// the benchmark's timeout says; running into the deadline is no failure.
    pub(crate) fn measure(
        &mut self,
        programs: &mut [&mut SideProgram],
        deadline: Instant,
        context: Context<'_>,
    ) -> Result<Vec<Vec<Reading>>, Stop> {
        let (best_of, repetitions) = (self.benchmark.measuring.min_of, self.repetitions);
        self.measure_as(programs, best_of, repetitions, Some(deadline), context)
    }

    fn measure_as(
        &mut self,
        programs: &mut [&mut SideProgram],
        best_of: u32,
        repetitions: u32,
        deadline: Option<Instant>,
        context: Context<'_>,
    ) -> Result<Vec<Vec<Reading>>, Stop> {
        let mut measured = vec![vec![Reading::of_program(Values::new())]; programs.len()];
        for pass in self.meters.passes() {
            if self.done.contains(&pass) {
                continue;
            }
            let (best_of, repetitions) =
                if pass == Pass::Plain { (best_of, repetitions) } else { (1, 1) };
            let mut means = vec![Vec::new(); programs.len()];
            for _ in 0..best_of {
                let mut runs = vec![Vec::new(); programs.len()];
                for _ in 0..repetitions {
                    let each = self.run(pass, programs, deadline, context)?;
                    runs.iter_mut().zip(each).for_each(|(runs, readings)| runs.push(readings));
                }
                means.iter_mut().zip(runs).for_each(|(means, runs)| means.push(fold::mean(runs)));
            }
            for (measured, means) in measured.iter_mut().zip(means) {
                let best = fold::best(means, &self.benchmark.units);
                if pass == Pass::Plain { *measured = best } else { extend(measured, best) }
            }
        }
        Ok(measured)
    }

    /// Runs programs once, at the same time, as they are set.
    fn run(
        &mut self,
        pass: Pass,
        programs: &mut [&mut SideProgram],
        deadline: Option<Instant>,
        context: Context<'_>,
    ) -> Result<Vec<Vec<Reading>>, Stop> {
        for program in programs.iter_mut() {
            self.notices.extend(program.hooks.before_run(self.benchmark, context)?);
            program.harness.clear(&program.paths).map_err(Kind::Harness).map_err(Error::from)?;
        }
        let commands: Vec<_> =
            programs.iter().map(|program| (&program.command, program.folder.as_path())).collect();
        let mut runs = Runs {
            meters: &self.meters,
            timeout: self.benchmark.run_timeout,
            left_behind: &mut self.left_behind,
            context,
        };
        let name = &self.benchmark.name;
        let failed = |Failure { program, what, command, stderr }: Failure| {
            let (side, benchmark) = (programs[program].side, name.clone());
            Kind::Benchmark { side, benchmark, what, command, said: stderr }.into()
        };
        let values = runs.run(pass, &commands, deadline, &failed)?;
        let read = |(program, values): (&&mut SideProgram, Values)| match pass {
            Pass::Plain => program.read(name, &values),
            Pass::Cachegrind => Ok(vec![Reading::of_program(values)]),
        };
        Ok(programs.iter().zip(values).map(read).collect::<Result<_, _>>()?)
    }
}

/// Adds what another kind of run measured of the program itself.
fn extend(measured: &mut [Reading], other: Vec<Reading>) {
    let own = measured.iter_mut().find(|reading| reading.benchmark.is_none());
    let other = other.into_iter().find(|reading| reading.benchmark.is_none());
    if let (Some(own), Some(other)) = (own, other) {
        own.values.extend(other.values);
    }
}

/// The processors of the runs: those that were asked for, for a duet else the last two.
/// As a rule, the first one serves the interrupts.
fn cpus(measuring: &Measuring) -> Result<Vec<u16>, Error> {
    if !measuring.duet || !measuring.cpus.is_empty() {
        return Ok(measuring.cpus.clone());
    }
    let allowed = allowed_cpus();
    if allowed.len() < 2 {
        return Err(Kind::NoDuet(allowed.len()).into());
    }
    Ok(allowed.iter().rev().take(2).copied().collect())
}

/// How a run in a slot is set apart from other programs.
fn isolation(measuring: &Measuring, cpus: &[u16], slot: usize) -> Isolation {
    let cpu = cpus.get(slot).copied();
    Isolation { fixed_addresses: measuring.fixed_addresses, cpu, nice: measuring.nice }
}

/// Which of the metrics that are measured gate. If nobody named any, the only one that
/// there is stands in for the usual one. `names` are those of the benchmark that measures
/// them, beside its program's; waivers may use any of them.
pub(crate) fn gates(benchmark: &Benchmark, measured: &[String], names: &[&str]) -> Vec<Gate> {
    let gates: Vec<Gate> = match (measured, benchmark.gates.as_slice()) {
        ([only], [usual])
            if benchmark.stands_in && usual.metric == DEFAULT_METRIC && *only != usual.metric =>
        {
            vec![usual.clone().of(only)]
        }
        (_, asked) => {
            asked.iter().filter(|gate| measured.contains(&gate.metric)).cloned().collect()
        }
    };
    gates.into_iter().map(|gate| waived(benchmark, gate, names)).collect()
}

/// A gate with the waiver for it, if there is one.
pub(crate) fn waived(benchmark: &Benchmark, gate: Gate, names: &[&str]) -> Gate {
    let names = [names, &[benchmark.name.as_str()]].concat();
    let mut waivers = benchmark.waivers.iter();
    let waiver = waivers.find(|waiver| waiver.is_about(&gate.metric, &names)).cloned();
    Gate { waiver, ..gate }
}
