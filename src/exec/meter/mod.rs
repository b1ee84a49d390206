//! The sources of the values of a run, each in one file.
//!
//! What the kernel reports about every program (`rusage`) is always measured.
//! `counters`, `cachegrind` and `allocations` have a cost, and are used only for
//! metrics that are requested by name. `size` needs no run.
//!
//! A source that disturbs the others gets runs of its own (`Pass`). One
//! measurement of a side is a plain run, and one each under cachegrind and with
//! its allocations counted if their metrics are requested. So no value comes from
//! a run that another source disturbs. If only their metrics are requested, there
//! is no plain run and no time.

mod allocations;
mod cachegrind;
mod call_stack;
mod callgrind;
mod counters;
mod disassembly;
mod perf;
mod refusal;
mod rusage;
mod size;
mod source;

use std::ffi::OsStr;
use std::path::Path;

use allocations::Allocations;
use cachegrind::Cachegrind;
pub(crate) use call_stack::CallStack;
pub(crate) use callgrind::{Counted, CountedCode, Profiler};
use counters::CounterMeter;
pub(crate) use disassembly::{disassembly, instructions};
pub(crate) use perf::{PerfSamples, Sampler};
pub use refusal::Refusal;
pub(crate) use size::{TEXT, functions as sizes_of_functions, is_size, program, size, sizes};

use crate::error::Failure;
use crate::exec::machine::Machine;
use crate::exec::process::{Command, RunOutcome};
use crate::model::{
    BenchmarkResult, KNOWN, KnownMetric, Metric, MetricResult, MetricSource, Values, Verdict,
};

/// With this many pairs, exact counts have an interval at the default confidence.
const SHOWN_PAIRS: u64 = 8;

/// A kind of run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Pass {
    /// The program as it is.
    Plain,
    /// Under valgrind.
    Cachegrind,
    /// With what counts allocations preloaded.
    Allocations,
}

/// The sources that some metrics need.
#[derive(Debug)]
pub(crate) struct Meters {
    plain: bool,
    counters: CounterMeter,
    cachegrind: Option<Cachegrind>,
    allocations: Option<Allocations>,
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
        Some(MetricSource::Allocations) => Some(Pass::Allocations),
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
        let mut refuse = |more: Vec<Refusal>| refused.extend(more);
        let cachegrind = Cachegrind::for_metrics(names, path).map_err(&mut refuse).ok().flatten();
        let allocations = Allocations::for_metrics(names, path).map_err(&mut refuse).ok().flatten();
        let mut passes = names.iter().filter_map(|name| pass(name));
        let plain = passes.any(|pass| pass == Pass::Plain);
        Meters { plain, counters, cachegrind, allocations, refused }
    }

    /// Counts the allocations of benchmarks that a harness times, and not of its process.
    #[must_use]
    pub(crate) fn of_benchmarks(mut self) -> Self {
        self.allocations.iter_mut().for_each(|allocations| allocations.is_timed = true);
        self
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
        metrics.extend(self.allocations.iter().flat_map(|_| Allocations::metrics()));
        metrics
    }

    /// Whether these are the values of all metrics that this kind of run measures.
    pub(crate) fn has_all(&self, of: Pass, values: &Values) -> bool {
        let metrics = self.metrics();
        let mut own = metrics.iter().filter(|metric| pass(&metric.name) == Some(of));
        own.all(|metric| values.get(&metric.name).is_some())
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
        self.cachegrind.is_some() || self.allocations.is_some()
    }

    /// The kinds of runs that one sample needs.
    pub(crate) fn passes(&self) -> Vec<Pass> {
        let table = [
            (self.plain, Pass::Plain),
            (self.cachegrind.is_some(), Pass::Cachegrind),
            (self.allocations.is_some(), Pass::Allocations),
        ];
        table.into_iter().filter(|(is_needed, _)| *is_needed).map(|(_, pass)| pass).collect()
    }

    /// The command that has to succeed before the program's first run of this kind, if any.
    ///
    /// # Errors
    /// If this kind of run can't measure the program.
    pub(crate) fn build(
        &self,
        pass: Pass,
        program: &Command,
        folder: &Path,
    ) -> Result<Option<Command>, Failure> {
        match (pass, &self.allocations) {
            (Pass::Allocations, Some(allocations)) => allocations.build(program, folder),
            _ => Ok(None),
        }
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
    ) -> Result<Command, Failure> {
        match (pass, &self.cachegrind, &self.allocations) {
            (Pass::Cachegrind, Some(cachegrind), _) => {
                cachegrind::take(folder)?;
                Ok(cachegrind.wrap(&command, folder))
            }
            (Pass::Allocations, _, Some(allocations)) => {
                allocations::take(folder)?;
                Ok(allocations.wrap(command, folder))
            }
            _ => Ok(Command { counters: self.counters.counters.clone(), ..command }),
        }
    }

    /// The values of a run of `command` that succeeded.
    ///
    /// # Errors
    /// If its files can't be read, or a counter was multiplexed.
    pub(crate) fn read(
        &self,
        pass: Pass,
        command: &Command,
        outcome: &RunOutcome,
        folder: &Path,
    ) -> Result<Values, Failure> {
        match (pass, &self.cachegrind, &self.allocations) {
            (Pass::Cachegrind, Some(cachegrind), _) => cachegrind.read(folder),
            (Pass::Allocations, _, Some(allocations)) => allocations.read(command, folder),
            _ => {
                let mut values = rusage::read(outcome);
                values.extend(self.counters.read(&outcome.counts)?);
                Ok(values)
            }
        }
    }
}

#[cfg(test)]
mod tests;
