//! Collects what both sides of a program reported in the warm-up.

use super::discovery::{Discovered, Discovery, Unmatched};
use super::harnesses::{self, coarse};
use super::program::{ComparedProgram, Readings};
use crate::error::{Error, Failure};
use crate::exec::execution::gates;
use crate::exec::meter;
use crate::flows::error::{MEASURED_WHOLE, no_metric};
use crate::model::{
    ALLOCATIONS, BenchmarkNotice, DEFAULT_METRIC, Dialect, Gate, Metric, Notice, Pair, Reading,
    Side, Values, is_of_allocations,
};
use crate::workspace::SourceFile;

/// Most programs allocate more often.
const FEW: f64 = 100.0;

/// What to do where allocations are not counted: by divan, and by others.
const WITHOUT_PROFILER: &str = "make divan's `AllocProfiler` the global allocator of both sides' \
    benchmarks, so that divan counts; if none of the benchmarks allocates, divan reports nothing";
const COUNTED_WHOLE: &str = "use `--harness plain` to count those of the whole process, without \
    arguments of your own";

impl Discovery {
    /// Collects what both sides reported. With `several`, the names of benchmarks
    /// begin with that of their program.
    ///
    /// # Errors
    /// If there is no benchmark, or a requested metric is not measured.
    pub(super) fn of(
        program: &ComparedProgram<'_>,
        (readings, pair_seconds): (Option<&Readings>, f64),
        several: bool,
        filter: Option<&str>,
    ) -> Result<Self, Error> {
        let benchmark = program.execution.benchmark;
        let harness = program.dialect();
        let readings = readings.cloned().unwrap_or_else(|| {
            // Nothing ran: the metrics are those that the meters measure of the program.
            let known = program.execution.meters.metrics();
            let values: Values = known.iter().map(|metric| (metric.name.as_str(), 0.0)).collect();
            Pair::both(|_| vec![Reading::of_program(values.clone())])
        });
        // If there are others, it is enough that one of them has something to compare.
        let is_alone = !several || filter.is_none() && !benchmark.is_found;
        let is_filtered = filter.is_some() && readings.base.is_empty();
        if readings.head.is_empty() && is_alone && !is_filtered {
            return Err(program.no_benchmark(filter).into());
        }
        let name_of = |reading: &Reading| match &reading.benchmark {
            Some(name) if several => format!("{}/{name}", benchmark.name),
            Some(name) => name.clone(),
            None => benchmark.name.clone(),
        };
        let mut discovery = Discovery {
            program: benchmark.name.clone(),
            reported: readings.as_ref().map(Vec::len),
            exact: if program.is_left_out() { Vec::new() } else { program.exact()? },
            pair_seconds,
            ..Discovery::default()
        };
        for side in [Side::Head, Side::Base] {
            for reading in &readings[side] {
                let mut others = readings[side.other()].iter();
                let other = others.find(|other| other.benchmark == reading.benchmark);
                discovery.add(program, name_of(reading), (side, reading), other);
            }
        }
        discovery.one_sided.sort_by_key(|only| only.metric.is_some());
        discovery.check(program, &readings)?;
        // Every bench target uses libtest unless its manifest disables that.
        let is_libtest = harness == Dialect::Libtest;
        let marks = |source: &SourceFile| harnesses::read(source).contains("#[bench]");
        let is_marked = is_libtest && program.prepared.source.as_ref().is_some_and(marks);
        if discovery.is_empty() && filter.is_none() && (!is_libtest || is_marked) {
            let hidden = ", although the source has `#[bench]` (`--features` may be missing)";
            let why = format!("no benchmarks{}", if is_marked { hidden } else { "" });
            discovery.own_notices.push(BenchmarkNotice::LeftOut { why }.about(&benchmark.name));
        }
        Ok(discovery)
    }

    /// Adds what a side reports of a benchmark: what the other one lacks, and, once, what both have.
    fn add(
        &mut self,
        program: &ComparedProgram<'_>,
        name: String,
        (side, reading): (Side, &Reading),
        other: Option<&Reading>,
    ) {
        let (benchmark, inner) = (program.benchmark(), reading.benchmark.clone());
        let gates = |metrics: &[String]| {
            gates(benchmark, metrics, &[&name, inner.as_ref().unwrap_or(&name)])
        };
        let named = |metric: &String| Metric::named(metric).with(&benchmark.units);
        let mut metrics = reading.values.metrics();
        let own = gates(&metrics);
        let only = |metric: Option<&String>| {
            let gate = own.iter().find(|gate| metric.is_none_or(|name| gate.metric == *name));
            let (threshold, metric) = (gate.map(Gate::limit), metric.map(named));
            Unmatched { benchmark: name.clone(), inner: inner.clone(), metric, side, threshold }
        };
        let Some(other) = other else { return self.one_sided.push(only(None)) };
        let has = |metric: &String| other.values.get(metric).is_some();
        self.one_sided
            .extend(metrics.iter().filter(|name| !has(name)).map(|name| only(Some(name))));
        if side == Side::Base {
            return;
        }
        metrics.retain(has);
        let gates = gates(&metrics);
        let timed = gates.iter().find(|gate| gate.metric == DEFAULT_METRIC);
        let step = Side::BOTH.into_iter().find_map(|side| program.sides[side].step());
        if let (Some(gate), Some(step)) = (timed, step) {
            self.own_notices.extend(coarse(&name, other, gate.limit(), (step, program.dialect())));
        }
        self.own_notices.extend(few_allocations(&name, [other, reading]));
        if let (Some(base), Some(head)) = (&other.amount, &reading.amount)
            && base != head
        {
            let amounts = Pair { base: base.clone(), head: head.clone() };
            self.own_notices.push(BenchmarkNotice::AmountDiffers { amounts }.about(&name));
        }
        let metrics = metrics.iter().map(named).collect();
        let iteration = program.iteration([other, reading]);
        self.benchmarks.push(Discovered { gates, metrics, iteration, inner, name });
    }

    /// Checks that what was requested is measured. What only the base measures was
    /// removed by the head, which is not an error here: other metrics may be left
    /// to decide.
    fn check(&self, program: &ComparedProgram<'_>, readings: &Readings) -> Result<(), Error> {
        let benchmark = program.execution.benchmark;
        let mut measured: Vec<String> = Vec::new();
        for metric in readings.head.iter().flat_map(|reading| reading.values.metrics()) {
            if !measured.contains(&metric) {
                measured.push(metric);
            }
        }
        let on_base =
            |metric: &str| readings.base.iter().any(|reading| reading.values.get(metric).is_some());
        let is_known = |metric: &String| {
            measured.contains(metric) || meter::needs_no_run(metric) || on_base(metric)
        };
        let is_meters = |metric: &String| meter::all().any(|other| other.name == *metric);
        let is_gating = self.benchmarks.iter().any(|benchmark| !benchmark.gates.is_empty());
        let is_enough = measured.is_empty() || is_gating && benchmark.gates_are_default;
        let gates = benchmark.gates.iter().map(|gate| &gate.metric).filter(|_| !is_enough);
        let mut asked = benchmark.shown.iter().filter(|metric| !is_meters(metric)).chain(gates);
        let Some(metric) = asked.find(|metric| !is_known(metric)).cloned() else { return Ok(()) };
        let (name, dialect) = (&benchmark.name, program.dialect());
        if !dialect.filters() || !is_meters(&metric) {
            return Err(no_metric(name, &metric, &measured).into());
        }
        let harness = dialect.name();
        Err(match is_of_allocations(&metric) {
            true => Failure::new(
                format!(
                    "`{metric}` of the benchmarks of `{name}` can't be counted (harness {harness})"
                ),
                if dialect == Dialect::Divan { WITHOUT_PROFILER } else { COUNTED_WHOLE },
            ),
            false => Failure::new(
                format!(
                    "`{metric}` measures a process, but `{name}` measures its benchmarks one by \
                     one (harness {harness})"
                ),
                MEASURED_WHOLE,
            ),
        }
        .into())
    }
}

/// The notice that hardly any allocation of a program was seen.
fn few_allocations(name: &str, readings: [&Reading; 2]) -> Option<Notice> {
    let mut counts = readings.into_iter().filter(|reading| reading.benchmark.is_none());
    let calls = counts.find_map(|reading| reading.values.get(ALLOCATIONS).filter(|n| *n < FEW))?;
    Some(BenchmarkNotice::FewAllocations { calls }.about(name))
}
