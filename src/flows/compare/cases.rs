//! How what the runs of a program report becomes rows.

use super::program::ComparedProgram;
use crate::engine::{Plan, PlannedBenchmark};
use crate::error::Error;
use crate::exec::harness;
use crate::exec::meter;
use crate::flows::error::FlowError;
use crate::model::{BenchmarkId, Reading, Row, Side};

impl ComparedProgram<'_> {
    /// The rows of the wanted benchmarks, from what a run of one side reports.
    pub(super) fn rows(
        &self,
        plan: &Plan,
        wanted: &[BenchmarkId],
        side: Side,
        readings: &[Reading],
    ) -> Result<Vec<Row>, Error> {
        let row = |id: &BenchmarkId| {
            let planned = &plan.benchmarks[id.0];
            match readings.iter().find(|one| one.benchmark == planned.inner) {
                Some(reading) => self.row((*id, planned), side, reading),
                None => {
                    let what = planned.inner.as_ref().unwrap_or(&self.execution.benchmark.name);
                    Err(self.omitted(side, format!("the benchmark `{what}`")))
                }
            }
        };
        wanted.iter().map(row).collect()
    }

    /// The row of a benchmark, with the metrics that it had in the warm-up.
    fn row(
        &self,
        (id, planned): (BenchmarkId, &PlannedBenchmark),
        side: Side,
        reading: &Reading,
    ) -> Result<Row, Error> {
        let described = |metric: &str| match &planned.inner {
            Some(name) => format!("`{metric}` of `{name}`"),
            None => format!("`{metric}`"),
        };
        let mut values = Vec::with_capacity(planned.metrics.len());
        for (metric_id, metric) in &planned.metrics {
            let metric = &metric.name;
            let Some(value) = reading.values.get(metric) else {
                if meter::pass(metric).is_some_and(|pass| self.execution.done.contains(&pass)) {
                    continue;
                }
                return Err(self.omitted(side, described(metric)));
            };
            if value < 0.0 && planned.gates.iter().any(|gate| gate.metric == *metric) {
                let why = format!(
                    "{} is {value}, but a metric that gates can't be negative",
                    described(metric)
                );
                let (program, benchmark) = (&self.sides[side], &self.execution.benchmark.name);
                return Err(program.unreadable(benchmark, harness::Error::Unreadable(why)));
            }
            values.push((*metric_id, value));
        }
        Ok(Row { benchmark: id, side, values })
    }

    fn omitted(&self, side: Side, what: String) -> Error {
        FlowError::Omitted { side, benchmark: self.execution.benchmark.name.clone(), what }.into()
    }
}
