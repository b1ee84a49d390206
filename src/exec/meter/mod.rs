//! The sources of the values of a run, each in one file.
//!
//! What the kernel reports about every program (`rusage`) is always measured.
//! `counters` and `cachegrind` have a cost, and are used only for metrics that
//! are requested by name. `size` needs no run.
//!
//! A source that disturbs the others gets runs of its own (`Pass`). One
//! measurement of a side is a plain run, and one under cachegrind if its metrics
//! are requested. So no value comes from a run that another source disturbs. If
//! only cachegrind's metrics are requested, there is no plain run and no time.

mod cachegrind;
mod callgrind;
mod counters;
mod perf;
mod rusage;
mod size;

use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};

use cachegrind::Cachegrind;
pub(crate) use callgrind::Profiler;
use counters::CounterMeter;
pub(crate) use perf::{PerfSamples, Sampler};
pub(crate) use size::{program, size, sizes};

use crate::exec::machine::Machine;
use crate::exec::process::{Command, RunOutcome};
use crate::model::metric::{KNOWN, KnownMetric, Metric, MetricSource};
use crate::model::outcome::{BenchmarkResult, MetricResult, Verdict};
use crate::model::row::Values;

/// Why a metric can't be measured on this machine.
#[derive(Debug, thiserror::Error)]
#[error("`{metric}` can't be measured: {why}")]
pub struct Refusal {
    pub(crate) metric: &'static str,
    /// The reason, to follow a colon.
    pub why: String,
    /// What the user can do about it.
    pub hint: Option<String>,
    /// The system's error, if it is one.
    pub(crate) source: Option<io::Error>,
}

/// Why a run has no values.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    /// This machine can't measure them.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// A counter counted only part of the time.
    #[error(
        "`{metric}` was counted for only {:.0}% of the run: the processor has too few counters \
         for all that are in use", 100.0 * share
    )]
    Shared {
        metric: &'static str,
        /// The share of the time, 0 to 1.
        share: f64,
    },
    /// None of valgrind's files could be read.
    #[error("valgrind wrote no count")]
    NoCount,
    /// A file of valgrind could not be read.
    #[error("could not read what valgrind wrote in `{}`", .folder.display())]
    Files { folder: PathBuf, source: io::Error },
    /// Both sides run the same program, such as a shell, so its size is meaningless.
    #[error("`{metric}` is meaningless: both sides run `{}`", .program.display())]
    SameProgram { metric: &'static str, program: PathBuf },
    /// The program can't be read.
    #[error("could not read `{}`", .path.display())]
    Executable { path: PathBuf, source: io::Error },
    /// The program has an unknown format.
    #[error("`text_bytes` of `{}` is not known: it is not an executable in a known format",
        .path.display())]
    NoText { path: PathBuf },
}

impl Error {
    /// What the user can do about it.
    pub(crate) fn hint(&self) -> Option<String> {
        let hint = match self {
            Error::Refused(refusal) => return refusal.hint.clone(),
            Error::Shared { .. } => {
                "use fewer counters at a time; another profiler, or the \
                                     kernel's watchdog (`sysctl kernel.nmi_watchdog=0`), may \
                                     hold some"
            }
            Error::NoCount => "perhaps the program was killed, or valgrind can't follow it",
            Error::SameProgram { .. } | Error::NoText { .. } => {
                "measure a bench, bin or example target, or a `--command` that begins with the \
                 program's path in the worktree"
            }
            Error::Files { .. } | Error::Executable { .. } => return None,
        };
        Some(hint.to_owned())
    }
}

/// With this many pairs, exact counts have an interval at the default confidence.
const SHOWN_PAIRS: u64 = 8;

/// A kind of run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Pass {
    /// The program as it is.
    Plain,
    /// Under valgrind.
    Cachegrind,
}

/// The sources that some metrics need.
#[derive(Debug)]
pub(crate) struct Meters {
    plain: bool,
    counters: CounterMeter,
    cachegrind: Option<Cachegrind>,
    refused: Vec<Refusal>,
}

/// Every metric that is measured here, on this machine or another, in the order
/// of the outputs.
pub(crate) fn all() -> impl Iterator<Item = Metric> {
    KNOWN.iter().filter(|known| known.source != MetricSource::Harness).map(KnownMetric::metric)
}

/// The metrics of [`all`] that come from runs.
pub(crate) fn of_runs() -> impl Iterator<Item = Metric> {
    all().filter(|metric| !needs_no_run(&metric.name))
}

/// The metrics that not every machine can measure, each with the reason if this
/// machine can't.
pub(crate) fn here(path: Option<&OsStr>, machine: &Machine) -> Vec<(Metric, Option<Refusal>)> {
    let costly = of_runs().filter(|metric| !rusage::measures(&metric.name));
    let of = |metric: Metric| {
        let names = [metric.name.clone()];
        let refusal = Meters::for_metrics(&names, path, machine).take_refused().pop();
        (metric, refusal)
    };
    costly.map(of).collect()
}

/// Whether the metric is known without a run.
pub(crate) fn needs_no_run(metric: &str) -> bool {
    KnownMetric::of(metric).is_some_and(|known| known.source == MetricSource::Executable)
}

/// The kind of run that measures a metric. A metric of unknown source may be
/// printed by the program in a plain run. `None` if it needs no run.
pub(crate) fn pass(metric: &str) -> Option<Pass> {
    match KnownMetric::of(metric).map(|known| known.source) {
        Some(MetricSource::Executable) => None,
        Some(MetricSource::Cachegrind) => Some(Pass::Cachegrind),
        _ => Some(Pass::Plain),
    }
}

impl Meters {
    /// The sources of the metrics `names`. Valgrind is searched for in the `PATH`
    /// `path`. Metrics that this machine can't measure are returned by
    /// [`Meters::take_refused`].
    pub(crate) fn for_metrics(names: &[String], path: Option<&OsStr>, machine: &Machine) -> Self {
        let mut refused = Vec::new();
        let mut counters = CounterMeter::default();
        for name in names {
            refused.extend(counters.add(name, machine).err());
        }
        let cachegrind = Cachegrind::for_metrics(names, path).unwrap_or_else(|refusals| {
            refused.extend(refusals);
            None
        });
        let mut passes = names.iter().filter_map(|name| pass(name));
        let plain = passes.any(|pass| pass == Pass::Plain);
        Meters { plain, counters, cachegrind, refused }
    }

    /// The requested metrics that this machine can't measure; a second call
    /// returns none.
    pub(crate) fn take_refused(&mut self) -> Vec<Refusal> {
        std::mem::take(&mut self.refused)
    }

    /// The metrics of the runs, in the order of the outputs.
    pub(crate) fn metrics(&self) -> Vec<Metric> {
        let mut metrics = Vec::new();
        if self.plain {
            metrics.extend(rusage::metrics().chain(self.counters.metrics()));
        }
        metrics.extend(self.cachegrind.iter().flat_map(Cachegrind::metrics));
        metrics
    }

    /// The slow kinds of runs that are no longer needed after these results: every
    /// gate on one of their metrics has its verdict. Without such a gate, a few runs
    /// are enough for display.
    pub(crate) fn done<'r>(
        &self,
        results: impl Iterator<Item = &'r BenchmarkResult> + Clone,
    ) -> Vec<Pass> {
        let pairs = results.clone().map(|benchmark| benchmark.pairs).min().unwrap_or(0);
        let is_done = |of: &Pass| {
            let all = results.clone().flat_map(|benchmark| &benchmark.metrics);
            let mut own = all.filter(|m| pass(&m.name) == Some(*of));
            // A shard by pairs has no verdicts of its own.
            let is_undecided =
                |m: &MetricResult| m.gates && m.verdict.is_none_or(|v| v == Verdict::Inconclusive);
            match own.clone().any(|m| m.gates) {
                true => !own.any(is_undecided),
                false => pairs >= SHOWN_PAIRS,
            }
        };
        let slow = self.passes().into_iter().filter(|pass| *pass != Pass::Plain);
        slow.filter(is_done).collect()
    }

    /// Whether there are slow kinds of runs, which [`Meters::done`] may end.
    pub(crate) fn has_slow_runs(&self) -> bool {
        self.cachegrind.is_some()
    }

    /// The kinds of runs that one sample needs.
    pub(crate) fn passes(&self) -> Vec<Pass> {
        let plain = self.plain.then_some(Pass::Plain);
        plain.into_iter().chain(self.cachegrind.as_ref().map(|_| Pass::Cachegrind)).collect()
    }

    /// The command of a kind of run, which may write to `folder`.
    ///
    /// # Errors
    /// If files of an earlier run in `folder` can't be removed.
    pub(crate) fn prepare(
        &self,
        pass: Pass,
        command: Command,
        folder: &Path,
    ) -> Result<Command, Error> {
        match (pass, &self.cachegrind) {
            (Pass::Cachegrind, Some(cachegrind)) => {
                cachegrind::take(folder)?;
                Ok(cachegrind.wrap(&command, folder))
            }
            _ => Ok(Command { counters: self.counters.counters.clone(), ..command }),
        }
    }

    /// The values of a run that succeeded.
    ///
    /// # Errors
    /// If its files can't be read, or a counter was multiplexed.
    pub(crate) fn read(
        &self,
        pass: Pass,
        outcome: &RunOutcome,
        folder: &Path,
    ) -> Result<Values, Error> {
        match (pass, &self.cachegrind) {
            (Pass::Cachegrind, Some(cachegrind)) => cachegrind.read(folder),
            _ => {
                let mut values = rusage::read(outcome);
                values.extend(self.counters.read(&outcome.counts)?);
                Ok(values)
            }
        }
    }
}

/// A function and its callers, as linkers name them.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct CallStack(String);

impl CallStack {
    /// What separates two names, as in callgrind's files.
    const SEPARATOR: char = '\'';

    /// The function, its caller, and so on.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        // Callgrind puts a number after the name of a function that calls itself.
        self.0.split(CallStack::SEPARATOR).filter(|name| name.parse::<u32>().is_err())
    }
}

/// A program that is found in a `PATH`.
fn in_path(name: &str, path: Option<&OsStr>) -> Option<PathBuf> {
    let mut folders = std::env::split_paths(path?);
    folders.find_map(|folder| Some(folder.join(name)).filter(|path| path.is_file()))
}

#[cfg(test)]
mod tests;
