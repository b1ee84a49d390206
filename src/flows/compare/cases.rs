//! The benchmarks of a program in the plan, and how what its runs report becomes rows.

use super::discovery::Discovered;
use crate::engine::plan::Plan;
use crate::error::Error;
use crate::exec::execution::{Execution, SideProgram};
use crate::exec::harness;
use crate::exec::meter;
use crate::flows::error::FlowError;
use crate::model::row::{BenchmarkId, MetricId, Reading, Row};
use crate::model::side::Side;

/// The benchmarks that both sides have, known after the warm-up: consecutive ones of the plan.
#[derive(Default)]
pub(super) struct Cases(Vec<Case>);

/// A benchmark of a program, as both sides report it.
struct Case {
    id: BenchmarkId,
    /// The harness's name for it; `None` for the program itself.
    name: Option<String>,
    metrics: Vec<(String, MetricId)>,
    gates: Vec<String>,
}

impl Cases {
    /// Enters benchmarks into the latest group of the plan.
    pub(super) fn add(&mut self, benchmarks: &[Discovered], plan: &mut Plan) {
        for benchmark in benchmarks {
            let (name, gates) = (&benchmark.name, benchmark.gates.clone());
            let id = plan.add_benchmark(name, &benchmark.metrics, gates);
            let metrics = plan.benchmarks[id.0].metrics.iter();
            self.0.push(Case {
                id,
                name: benchmark.inner.clone(),
                metrics: metrics.map(|(id, metric)| (metric.name.clone(), *id)).collect(),
                gates: benchmark.gates.iter().map(|gate| gate.metric.clone()).collect(),
            });
        }
    }

    /// The first benchmark of the plan.
    pub(super) fn first(&self) -> Option<BenchmarkId> {
        self.0.first().map(|case| case.id)
    }

    /// The harness's names of the wanted benchmarks.
    pub(super) fn names<'a>(&'a self, wanted: &'a [BenchmarkId]) -> Vec<&'a str> {
        self.wanted(wanted).filter_map(|case| case.name.as_deref()).collect()
    }

    /// The rows of the wanted benchmarks, from what a run of one side reports.
    pub(super) fn rows(
        &self,
        wanted: &[BenchmarkId],
        execution: &Execution<'_>,
        program: &SideProgram,
        readings: &[Reading],
    ) -> Result<Vec<Row>, Error> {
        let name = &execution.benchmark.name;
        let row = |case: &Case| match readings.iter().find(|one| one.benchmark == case.name) {
            Some(reading) => case.row(execution, program, reading),
            None => {
                let what = case.name.as_deref().unwrap_or(name);
                Err(omitted(name, program.side, format!("the benchmark `{what}`")))
            }
        };
        self.wanted(wanted).map(row).collect()
    }

    fn wanted<'a>(&'a self, wanted: &'a [BenchmarkId]) -> impl Iterator<Item = &'a Case> {
        let first = self.0.first().map_or(0, |case| case.id.0);
        wanted.iter().filter_map(move |id| self.0.get(id.0.checked_sub(first)?))
    }
}

impl Case {
    /// The row of a benchmark, with the metrics that it had in the warm-up.
    fn row(
        &self,
        execution: &Execution<'_>,
        program: &SideProgram,
        reading: &Reading,
    ) -> Result<Row, Error> {
        let benchmark = &execution.benchmark.name;
        let described = |metric: &str| match &self.name {
            Some(name) => format!("`{metric}` of `{name}`"),
            None => format!("`{metric}`"),
        };
        let mut values = Vec::with_capacity(self.metrics.len());
        for (metric, id) in &self.metrics {
            let Some(value) = reading.values.get(metric) else {
                if meter::pass(metric).is_some_and(|pass| execution.done.contains(&pass)) {
                    continue;
                }
                return Err(omitted(benchmark, program.side, described(metric)));
            };
            if value < 0.0 && self.gates.contains(metric) {
                let why = format!(
                    "{} is {value}, but a metric that gates can't be negative",
                    described(metric)
                );
                return Err(program.unreadable(benchmark, harness::Error::Unreadable(why)));
            }
            values.push((*id, value));
        }
        Ok(Row { benchmark: self.id, side: program.side, values })
    }
}

fn omitted(benchmark: &str, side: Side, what: String) -> Error {
    FlowError::Omitted { side, benchmark: benchmark.to_owned(), what }.into()
}
