//! The programs of a single commit: what `history record` measures and `init` tries out.

use std::path::Path;

use crate::error::Error;
use crate::exec::execution::{Context, Execution, Hook, SideProgram, Stop, gates};
use crate::exec::meter;
use crate::exec::program::Program;
use crate::flows::error::FlowError;
use crate::model::dialect::Dialect;
use crate::model::gate::Gate;
use crate::model::metric::Metric;
use crate::model::notice::Notice;
use crate::model::row::Reading;
use crate::model::run_length::RunLength;
use crate::model::side::Side;
use crate::settings::options::Benchmark;

/// The program of a benchmark that is not compared with another one.
pub(super) struct OneSided<'a> {
    pub(super) execution: Execution<'a>,
    program: SideProgram,
    pub(super) filter: Option<&'a str>,
}

impl<'a> OneSided<'a> {
    /// `number` distinguishes its files in `scratch` from those of other programs.
    pub(super) fn new(
        benchmark: &'a Benchmark,
        program: &Program,
        scratch: &Path,
        number: usize,
    ) -> Result<Self, Error> {
        let program = SideProgram::new(benchmark, program, Side::Head, scratch, number)?;
        Ok(OneSided { execution: Execution::new(benchmark, &program)?, program, filter: None })
    }

    pub(super) fn dialect(&self) -> Dialect {
        self.program.harness.dialect
    }

    /// Runs the user's commands of one kind.
    pub(super) fn hook(&self, hook: Hook, context: Context<'_>) -> Result<(), Error> {
        self.program.hook(hook, self.execution.benchmark, context)
    }

    /// Whether it was found, and not selected by name.
    pub(super) fn is_found(&self) -> bool {
        self.execution.benchmark.is_found
    }

    /// The error that it has no benchmark.
    pub(super) fn no_benchmark(&self, filter: Option<&str>) -> FlowError {
        let benchmark = self.execution.benchmark.name.clone();
        let (harness, filter) = (self.dialect().name(), filter.map(str::to_owned));
        FlowError::NoBenchmark { benchmark, harness, filter }
    }

    /// The number of unmeasured runs at the beginning.
    pub(super) fn warmup(&self) -> u32 {
        self.execution.warmup([&self.program])
    }

    pub(super) fn run(&mut self, context: Context<'_>) -> Result<Vec<Reading>, Error> {
        let OneSided { execution, program, filter } = self;
        execution.run_all(program, RunLength::LONG, *filter, context).map_err(Stop::into_error)
    }

    /// Whether a run can be limited to one benchmark. Not if the user gave arguments,
    /// since those may select benchmarks, too.
    pub(super) fn can_leave(&self) -> bool {
        self.execution.benchmark.args.is_empty() && self.program.harness.can_leave()
    }

    /// Runs the program once, with this benchmark alone, as short as at the beginning
    /// of a comparison.
    pub(super) fn run_only(
        &mut self,
        name: &str,
        context: Context<'_>,
    ) -> Result<Vec<Reading>, Error> {
        let OneSided { execution, program, filter } = self;
        let only = program.only(&[name]).unwrap_or_else(|| program.all(*filter));
        program.select(RunLength::SHORT, only);
        let effort = execution.effort();
        execution.measure(program, effort, None, context).map_err(Stop::into_error)
    }

    /// Drops the metrics that this machine lacks and that a run did not report, and
    /// returns notices about them.
    ///
    /// # Errors
    /// If one of them gates.
    pub(super) fn take_refusals(&mut self, run: &[Reading]) -> Result<Vec<Notice>, Error> {
        self.execution.take_refusals(&metric_names(run))
    }

    /// The values that are known without a run.
    pub(super) fn exact_values(&self) -> Result<Vec<(Metric, f64)>, Error> {
        let mut values = Vec::new();
        for name in self.execution.benchmark.asked() {
            values.extend(meter::size(name, &self.program.executable)?);
        }
        Ok(values)
    }

    /// The gates, given the metrics of a run and the exact values.
    ///
    /// # Errors
    /// If there is no benchmark, or none of the gating metrics.
    pub(super) fn gates(
        &self,
        run: &[Reading],
        exact: &[(Metric, f64)],
    ) -> Result<Vec<Gate>, Error> {
        let asked = self.execution.benchmark;
        let benchmark = asked.name.clone();
        if run.is_empty() {
            return Err(self.no_benchmark(self.filter).into());
        }
        let mut measured = metric_names(run);
        measured.extend(exact.iter().map(|(metric, _)| metric.name.clone()));
        measured.sort();
        measured.dedup();
        let gates = gates(asked, &measured, &[]);
        if gates.is_empty() {
            let metric = asked.gates.first().map_or(String::new(), |gate| gate.metric.clone());
            return Err(FlowError::NoMetric { benchmark, metric, measured }.into());
        }
        Ok(gates)
    }
}

fn metric_names(run: &[Reading]) -> Vec<String> {
    run.iter().flat_map(|reading| reading.values.metrics()).collect()
}
