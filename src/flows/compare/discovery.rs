//! What the warm-up found in a program: its benchmarks, what they measure, and
//! which metrics gate.

use std::collections::{BTreeMap, BTreeSet};

use super::harnesses::coarse;
use super::program::{ComparedProgram, Readings};
use crate::error::{Error, Failure};
use crate::exec::execution::gates;
use crate::exec::meter;
use crate::flows::error::{MEASURED_WHOLE, no_metric};
use crate::model::{
    ALLOCATIONS, BenchmarkNotice, BenchmarkResult, DEFAULT_METRIC, Dialect, Gate, Metric,
    MetricResult, Notice, Pair, Reading, Removed, SameReason, Side, Status, Summary, Values,
    Verdict, is_of_allocations,
};

/// Most programs allocate more often.
const FEW: f64 = 100.0;

/// What to do where allocations are not counted: by divan, and by others.
const WITHOUT_PROFILER: &str = "make divan's `AllocProfiler` the global allocator of both sides' \
    benchmarks, so that divan counts; if none of the benchmarks allocates, divan reports nothing";
const COUNTED_WHOLE: &str = "use `--harness plain` to count those of the whole process, without \
    arguments of your own";

/// What was found in a program.
#[derive(Debug, Default)]
pub(super) struct Discovery {
    /// The name of the program.
    pub(super) program: String,
    /// The benchmarks that both sides have.
    pub(super) benchmarks: Vec<Discovered>,
    /// The benchmarks that are unaffected by the change.
    pub(super) unaffected: Vec<BenchmarkResult>,
    /// For each benchmark, the functions that it enters and that differ between the sides, if
    /// known.
    pub(super) entered: BTreeMap<String, BTreeSet<String>>,
    /// The benchmarks for which there is no time.
    pub(super) not_measured: Vec<BenchmarkResult>,
    /// Benchmarks, and then metrics.
    one_sided: Vec<Unmatched>,
    /// Notices about benchmarks that are measured too coarsely, or perhaps not at all.
    own_notices: Vec<Notice>,
    /// The number of benchmarks that a run of each side reports.
    pub(super) reported: Pair<usize>,
    /// Metrics of the program that are known without a run, such as its size.
    exact: Vec<MetricResult>,
    /// The expected time of a pair, seconds.
    pub(super) pair_seconds: f64,
    /// The results of the benchmarks, once they are sampled.
    pub(super) results: Vec<BenchmarkResult>,
}

/// A benchmark that both sides have.
#[derive(Debug)]
pub(super) struct Discovered {
    pub(super) name: String,
    /// The harness's name for it; `None` for the program itself.
    pub(super) inner: Option<String>,
    /// The time of an iteration, seconds, if that determines how it is sampled.
    pub(super) iteration: Option<f64>,
    /// The metrics that both sides measure.
    pub(super) metrics: Vec<Metric>,
    pub(super) gates: Vec<Gate>,
}

/// What only one side has: a benchmark, or a metric of a benchmark that both have.
#[derive(Debug)]
struct Unmatched {
    benchmark: String,
    /// The harness's name for the benchmark; `None` for the program itself.
    inner: Option<String>,
    /// `None` for the whole benchmark.
    metric: Option<Metric>,
    side: Side,
    /// The largest change that would pass, if it gates there.
    threshold: Option<f64>,
}

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
        if discovery.is_empty() && filter.is_none() && harness != Dialect::Libtest {
            let notice = BenchmarkNotice::LeftOut { why: "it has no benchmarks".to_owned() };
            discovery.own_notices.push(notice.about(&benchmark.name));
        }
        Ok(discovery)
    }

    /// Whether a benchmark has this name, in the outputs or as its harness knows it.
    pub(super) fn has(&self, name: &str) -> bool {
        self.names().any(|known| known == name)
    }

    /// Keeps only the benchmark of this name.
    pub(super) fn keep_only(&mut self, name: &str) {
        let is_it = |printed: &str, inner: Option<&String>| {
            printed == name || inner.is_some_and(|inner| inner == name)
        };
        self.benchmarks.retain(|one| is_it(&one.name, one.inner.as_ref()));
        self.one_sided.retain(|one| is_it(&one.benchmark, one.inner.as_ref()));
    }

    /// Keeps only these gates, each by its benchmark and metric, and what has any of them.
    pub(super) fn keep(&mut self, gates: &BTreeSet<(String, String)>) {
        let is_kept = |benchmark: &str, metric: &str| {
            gates.contains(&(benchmark.to_owned(), metric.to_owned()))
        };
        for Discovered { name, gates, .. } in &mut self.benchmarks {
            gates.retain(|gate| is_kept(name, &gate.metric));
        }
        self.benchmarks.retain(|one| !one.gates.is_empty());
        self.one_sided.retain(|one| match &one.metric {
            Some(metric) => is_kept(&one.benchmark, &metric.name),
            None => gates.iter().any(|(benchmark, _)| *benchmark == one.benchmark),
        });
        self.exact.retain(|metric| is_kept(&self.program, &metric.name));
    }

    /// Whether anything of it decides.
    pub(super) fn decides(&self) -> bool {
        self.has_exact() || self.benchmarks.iter().any(|one| !one.gates.is_empty())
    }

    /// Removes the benchmarks of these names, which are unaffected.
    pub(super) fn leave_out(&mut self, unaffected: &BTreeMap<String, SameReason>) {
        let own = self.benchmarks.extract_if(.., |one| unaffected.contains_key(&one.name));
        self.unaffected.extend(own.map(|Discovered { name, .. }| {
            BenchmarkResult::same(&name, Status::Unaffected, unaffected[&name].clone())
        }));
    }

    /// Removes benchmarks for which there is no time. `needed` are the seconds that each of them
    /// needs, and nothing for those that are measured.
    pub(super) fn leave_unmeasured(&mut self, needed: &[Option<f64>]) {
        let mut needed = needed.iter().copied();
        self.benchmarks.retain(|one| {
            let seconds = needed.next().flatten();
            let result = seconds.map(|seconds| BenchmarkResult::not_measured(&one.name, seconds));
            self.not_measured.extend(result);
            seconds.is_none()
        });
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
        let coarse = |gate: &Gate| coarse(&name, other, gate.limit(), program.dialect());
        self.own_notices.extend(timed.and_then(coarse));
        self.own_notices.extend(few_allocations(&name, [other, reading]));
        let metrics = metrics.iter().map(named).collect();
        let iteration = program.iteration([other, reading]);
        self.benchmarks.push(Discovered { gates, metrics, iteration, inner, name });
    }

    /// The metrics of the program itself that gate.
    pub(super) fn own_gates(&self) -> Vec<String> {
        let own = self.benchmarks.iter().filter(|benchmark| benchmark.inner.is_none());
        own.flat_map(|benchmark| &benchmark.gates).map(|gate| gate.metric.clone()).collect()
    }

    /// Adds what is known without a run to the result of the program, or as a
    /// separate result if the results are those of its benchmarks.
    pub(super) fn add_exact(&mut self) {
        if self.exact.is_empty() {
            return;
        }
        if !matches!(self.results.as_slice(), [only] if only.name == self.program) {
            self.results.push(BenchmarkResult::new(&self.program, Status::Compared));
        }
        if let Some(own) = self.results.last_mut() {
            own.metrics.append(&mut self.exact);
        }
    }

    /// The number of benchmarks in a run of all, at least 1.
    pub(super) fn most_reported(&self) -> usize {
        self.reported.base.max(self.reported.head).max(1)
    }

    /// Whether something is known without a run.
    pub(super) fn has_exact(&self) -> bool {
        !self.exact.is_empty()
    }

    /// Whether something that is known without a run is a regression.
    pub(super) fn has_regressed(&self) -> bool {
        self.exact.iter().any(|metric| metric.verdict == Some(Verdict::Regression))
    }

    /// Whether the size of its code is a regression.
    pub(super) fn has_grown(&self) -> bool {
        let mut code = self.exact.iter().filter(|metric| metric.name == meter::TEXT);
        code.any(|metric| metric.verdict == Some(Verdict::Regression))
    }

    /// Whether neither side has a benchmark.
    pub(super) fn is_empty(&self) -> bool {
        self.benchmarks.is_empty() && self.one_sided.is_empty()
    }

    /// Whether either side measures a metric, in any benchmark that can be compared.
    pub(super) fn measures(&self, metric: &str) -> bool {
        let both = self.benchmarks.iter().flat_map(|benchmark| &benchmark.metrics);
        let one = self.one_sided.iter().filter_map(|only| only.metric.as_ref());
        both.chain(one).any(|known| known.name == metric)
    }

    /// The names of the benchmarks, in the outputs and as the harness knows them.
    pub(super) fn names(&self) -> impl Iterator<Item = &String> {
        let both = self.benchmarks.iter().map(|one| (&one.name, &one.inner));
        let one_sided = self.one_sided.iter().map(|only| (&only.benchmark, &only.inner));
        both.chain(one_sided).flat_map(|(name, inner)| std::iter::once(name).chain(inner))
    }

    /// What the user should know about it.
    pub(super) fn notices(&self) -> Vec<Notice> {
        let one_sided = self.one_sided.iter().filter(|only| !only.is_removed()).map(|only| {
            let notice = match (&only.metric, only.side) {
                (Some(Metric { name, .. }), side) => {
                    BenchmarkNotice::OneSided { metric: name.clone(), side }
                }
                (None, Side::Head) => BenchmarkNotice::New,
                (None, Side::Base) => BenchmarkNotice::OnlyBase,
            };
            notice.about(&only.benchmark)
        });
        let removed = self.removed();
        let removed = (!removed.is_empty()).then_some(Notice::Removed(removed));
        one_sided.chain(removed).chain(self.own_notices.clone()).collect()
    }

    /// What gates on the base but is not measured on the head.
    pub(super) fn removed(&self) -> Vec<Removed> {
        let removed = self.one_sided.iter().filter(|only| only.is_removed());
        let removed = removed.map(|only| Removed {
            benchmark: only.benchmark.clone(),
            metric: only.metric.as_ref().map(|metric| metric.name.clone()),
        });
        removed.collect()
    }

    /// Whether something gates on the head that the base does not measure.
    pub(super) fn has_new(&self) -> bool {
        self.one_sided.iter().any(|only| only.side == Side::Head && only.threshold.is_some())
    }

    /// The results of all its benchmarks. The metrics that are `shown` were requested without a
    /// gate.
    pub(super) fn all_results(&self, shown: &[String]) -> Vec<BenchmarkResult> {
        let measured = self.results.iter().map(|result| BenchmarkResult {
            shown: shown.to_vec(),
            ..self.with_one_sided(result.clone())
        });
        let one_sided = self.one_sided.iter().filter(|only| only.metric.is_none());
        let one_sided = one_sided.map(|it| BenchmarkResult::new(&it.benchmark, it.status()));
        let left_out = self.unaffected.iter().chain(&self.not_measured).cloned();
        measured.chain(left_out).chain(one_sided).collect()
    }

    /// A result, extended by the metrics that only one side has, without estimates.
    fn with_one_sided(&self, mut result: BenchmarkResult) -> BenchmarkResult {
        let own = self.one_sided.iter().filter(|only| only.benchmark == result.name);
        result.metrics.extend(own.filter_map(|only| {
            let threshold = only.threshold.filter(|_| only.is_removed());
            let metric = only.metric.clone()?;
            let result = MetricResult::new(metric, threshold, Summary::default(), None);
            Some(MetricResult { status: only.status(), ..result })
        }));
        result
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

impl Unmatched {
    /// Whether it gates on the base, and the head does not have it.
    fn is_removed(&self) -> bool {
        self.side == Side::Base && self.threshold.is_some()
    }

    fn status(&self) -> Status {
        match self.side {
            Side::Head => Status::New,
            Side::Base => Status::Removed,
        }
    }
}

/// The notice that hardly any allocation of a program was seen.
fn few_allocations(name: &str, readings: [&Reading; 2]) -> Option<Notice> {
    let mut counts = readings.into_iter().filter(|reading| reading.benchmark.is_none());
    let calls = counts.find_map(|reading| reading.values.get(ALLOCATIONS).filter(|n| *n < FEW))?;
    Some(BenchmarkNotice::FewAllocations { calls }.about(name))
}
