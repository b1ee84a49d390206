//! What the warm-up showed: which benchmarks there are, what they measure, and
//! what of it gates.

use super::{Error, Kind};
use crate::engine::experiment::{self, Subject};
use crate::exec::execution::{Bench, Case, Reported};
use crate::exec::meter;
use crate::model::gate::Gate;
use crate::model::metric::Metric;
use crate::model::notice::Notice;
use crate::model::outcome::{BenchmarkResult, MetricResult, Removed, Status, Summary};
use crate::model::row::Sample;
use crate::model::side::{Pair, Side};

/// What a program was found to have.
#[derive(Debug, Default)]
pub(super) struct Found {
    /// What is to be sampled.
    pub(super) subject: Subject,
    /// Benchmarks of one side only.
    pub(super) alone: Vec<Alone>,
    /// The names of its benchmarks, as the harness knows them.
    inner: Vec<String>,
    /// Metrics of one side only.
    one_sided: Vec<OneSided>,
    /// What is known of the program without a run.
    exact: Vec<MetricResult>,
}

/// A benchmark of one side only.
#[derive(Debug)]
pub(super) struct Alone {
    pub(super) name: String,
    pub(super) side: Side,
    /// Whether a metric of it gates there.
    gates: bool,
}

/// A metric of one side only, of a benchmark that both have.
#[derive(Debug)]
struct OneSided {
    benchmark: String,
    metric: Metric,
    side: Side,
    /// The largest change that would pass, where it gates there.
    threshold: Option<f64>,
}

impl Found {
    /// Takes what both sides reported, which is `None` where none had to run,
    /// and tells the bench what to expect.
    pub(super) fn of(
        bench: &mut Bench<'_>,
        reported: Option<Pair<Reported>>,
        pair_seconds: f64,
        several: bool,
        filter: Option<&str>,
    ) -> Result<Self, Error> {
        let reported = reported.unwrap_or_else(|| {
            let known = bench.meters.metrics();
            let sample: Sample = known.iter().map(|metric| (metric.name.as_str(), 0.0)).collect();
            Pair::both(|_| vec![(None, sample.clone())])
        });
        let program = bench.benchmark.name.clone();
        let shown = |name: &Option<String>| match name {
            Some(name) if several => format!("{program}/{name}"),
            Some(name) => name.clone(),
            None => program.clone(),
        };
        if reported.head.is_empty() && (filter.is_none() || !reported.base.is_empty()) {
            let (harness, filter) = (bench.dialect().name(), filter.map(str::to_owned));
            return Err(Kind::NoBenchmark { benchmark: program, harness, filter }.into());
        }
        bench.reported = reported.as_ref().map(Vec::len);
        let can_leave = bench.can_leave();
        let subject = Subject { benchmarks: Vec::new(), can_leave, pair_seconds };
        let mut found = Found { subject, exact: bench.exact()?, ..Found::default() };
        let inner = reported.head.iter().chain(&reported.base).filter_map(|(name, _)| name.clone());
        found.inner.extend(inner);
        for (name, head) in &reported.head {
            match reported.base.iter().find(|(other, _)| other == name) {
                Some((_, base)) => {
                    let (benchmark, case) =
                        found.compared(bench, shown(name), name.as_deref(), base, head);
                    found.subject.benchmarks.push(benchmark);
                    bench.cases.push(Case { name: name.clone(), ..case });
                }
                None => found.alone.push(alone(bench, shown(name), name, head, Side::Head)),
            }
        }
        for (name, base) in &reported.base {
            if !reported.head.iter().any(|(other, _)| other == name) {
                found.alone.push(alone(bench, shown(name), name, base, Side::Base));
            }
        }
        check(bench, &reported, &found)?;
        Ok(found)
    }

    /// A benchmark that both sides have.
    fn compared(
        &mut self,
        bench: &Bench<'_>,
        name: String,
        inner: Option<&str>,
        base: &Sample,
        head: &Sample,
    ) -> (experiment::Benchmark, Case) {
        let of = |metric: &str| Metric::named(metric).with(&bench.benchmark.units);
        let has = |sample: &Sample, metric: &str| sample.get(metric).is_some();
        for (of_side, other, side) in [(head, base, Side::Head), (base, head, Side::Base)] {
            let gates = bench.gates(&names(of_side), &[&name, inner.unwrap_or(&name)]);
            let only = names(of_side).into_iter().filter(|metric| !has(other, metric));
            let only = only.map(|metric| {
                let gate = gates.iter().find(|gate| gate.metric == metric);
                let (benchmark, threshold) = (name.clone(), gate.map(Gate::limit));
                OneSided { benchmark, metric: of(&metric), side, threshold }
            });
            self.one_sided.extend(only);
        }
        let both: Vec<String> = names(head).into_iter().filter(|one| has(base, one)).collect();
        let gates = bench.gates(&both, &[&name, inner.unwrap_or(&name)]);
        let case = Case {
            name: None,
            metrics: both.clone(),
            gates: gates.iter().map(|gate| gate.metric.clone()).collect(),
        };
        let metrics = both.iter().map(|metric| of(metric)).collect();
        (experiment::Benchmark { name, metrics, gates }, case)
    }

    /// Adds what is known without a run to the result of the program, or to
    /// one of its own where the results are those of its benchmarks.
    pub(super) fn add_exact(&mut self, program: &str, results: &mut Vec<BenchmarkResult>) {
        if self.exact.is_empty() {
            return;
        }
        if !matches!(results.as_slice(), [only] if only.name == program) {
            self.subject.benchmarks.push(experiment::Benchmark {
                name: program.to_owned(),
                metrics: Vec::new(),
                gates: Vec::new(),
            });
            results.push(BenchmarkResult::new(program, Status::Compared));
        }
        if let Some(own) = results.last_mut() {
            own.metrics.append(&mut self.exact);
        }
    }

    /// Whether something is known without a run.
    pub(super) fn has_exact(&self) -> bool {
        !self.exact.is_empty()
    }

    /// Whether neither side has a benchmark.
    pub(super) fn is_empty(&self) -> bool {
        self.subject.benchmarks.is_empty() && self.alone.is_empty()
    }

    /// Whether any side of any of its benchmarks that can be compared measures
    /// a metric.
    pub(super) fn measures(&self, metric: &str) -> bool {
        let both = self.subject.benchmarks.iter().flat_map(|benchmark| &benchmark.metrics);
        let one = self.one_sided.iter().map(|only| &only.metric);
        both.chain(one).any(|known| known.name == metric)
    }

    /// The names of its benchmarks, as they are shown and as the harness knows
    /// them.
    pub(super) fn names(&self) -> impl Iterator<Item = String> {
        let compared = self.subject.benchmarks.iter().map(|benchmark| &benchmark.name);
        let alone = self.alone.iter().map(|alone| &alone.name);
        compared.chain(alone).chain(&self.inner).cloned()
    }

    /// What there is to say of it.
    pub(super) fn notices(&self) -> Vec<Notice> {
        let alone = self.alone.iter().filter_map(|alone| {
            let benchmark = alone.name.clone();
            match alone.side {
                Side::Head => Some(Notice::New { benchmark }),
                Side::Base => (!alone.gates).then_some(Notice::OnlyBase { benchmark }),
            }
        });
        let one_sided = self.one_sided.iter().filter(|only| !only.is_removed()).map(|only| {
            let (benchmark, metric) = (only.benchmark.clone(), only.metric.name.clone());
            Notice::OneSided { benchmark, metric, side: only.side }
        });
        let removed = self.removed();
        let removed = (!removed.is_empty()).then_some(Notice::Removed(removed));
        alone.chain(one_sided).chain(removed).collect()
    }

    /// What gates on the base and is not measured on the head.
    pub(super) fn removed(&self) -> Vec<Removed> {
        let gone = self.alone.iter().filter(|alone| alone.side == Side::Base && alone.gates);
        let gone = gone.map(|alone| Removed { benchmark: alone.name.clone(), metric: None });
        let metrics = self.one_sided.iter().filter(|only| only.is_removed()).map(|only| {
            let metric = Some(only.metric.name.clone());
            Removed { benchmark: only.benchmark.clone(), metric }
        });
        gone.chain(metrics).collect()
    }

    /// Whether something gates on the head that the base does not measure.
    pub(super) fn has_new(&self) -> bool {
        let alone = self.alone.iter().any(|alone| alone.side == Side::Head && alone.gates);
        let is_new = |only: &OneSided| only.side == Side::Head && only.threshold.is_some();
        alone || self.one_sided.iter().any(is_new)
    }

    /// A result with the metrics of one side only, of which there is nothing
    /// to say.
    pub(super) fn with_one_sided(&self, mut result: BenchmarkResult) -> BenchmarkResult {
        let own = self.one_sided.iter().filter(|only| only.benchmark == result.name);
        result.metrics.extend(own.map(|only| {
            let threshold = only.threshold.filter(|_| only.is_removed());
            let status = match only.side {
                Side::Head => Status::New,
                Side::Base => Status::Removed,
            };
            let nothing = Summary::default();
            MetricResult {
                status,
                ..MetricResult::new(only.metric.clone(), threshold, nothing, None)
            }
        }));
        result
    }
}

impl OneSided {
    /// Whether it gates on the base, and the head does not measure it.
    fn is_removed(&self) -> bool {
        self.side == Side::Base && self.threshold.is_some()
    }
}

/// A benchmark that only one side has.
fn alone(
    bench: &Bench<'_>,
    name: String,
    inner: &Option<String>,
    sample: &Sample,
    side: Side,
) -> Alone {
    let gates = bench.gates(&names(sample), &[&name, inner.as_ref().unwrap_or(&name)]);
    Alone { name, side, gates: !gates.is_empty() }
}

/// The names of a sample's metrics.
fn names(sample: &Sample) -> Vec<String> {
    sample.iter().map(|(metric, _)| metric.to_owned()).collect()
}

/// That what was asked for is measured. What the base alone measures is removed,
/// which is no error here: others may be left to decide.
fn check(bench: &Bench<'_>, reported: &Pair<Reported>, found: &Found) -> Result<(), Error> {
    let mut measured: Vec<String> = Vec::new();
    for (_, sample) in &reported.head {
        for (metric, _) in sample.iter() {
            if !measured.iter().any(|known| known == metric) {
                measured.push(metric.to_owned());
            }
        }
    }
    let gating = found.subject.benchmarks.iter().any(|benchmark| !benchmark.gates.is_empty());
    let settled = measured.is_empty() || gating && bench.benchmark.stands_in;
    let known = |metric: &String| measured.contains(metric) || meter::needs_no_run(metric);
    let on_base =
        |metric: &String| reported.base.iter().any(|(_, sample)| sample.get(metric).is_some());
    let known = |metric: &String| known(metric) || on_base(metric);
    let anywhere = |name: &String| known(name) || meter::all().any(|other| other.name == *name);
    if let Some(metric) = bench.benchmark.shown.iter().find(|name| !anywhere(name)) {
        let (benchmark, metric) = (bench.benchmark.name.clone(), metric.clone());
        return Err(Kind::NoMetric { benchmark, metric, measured }.into());
    }
    let missing =
        bench.benchmark.gates.iter().map(|gate| &gate.metric).find(|metric| !known(metric));
    match missing {
        Some(metric) if !settled && of_process(bench, metric) => {
            let (benchmark, metric) = (bench.benchmark.name.clone(), metric.clone());
            let harness = bench.dialect().name();
            Err(Kind::OfProcess { benchmark, metric, harness }.into())
        }
        Some(metric) if !settled => {
            let (benchmark, metric) = (bench.benchmark.name.clone(), metric.clone());
            Err(Kind::NoMetric { benchmark, metric, measured }.into())
        }
        _ => Ok(()),
    }
}

/// Whether it is a metric of processes, and the program reports benchmarks.
fn of_process(bench: &Bench<'_>, metric: &str) -> bool {
    bench.dialect().filters() && meter::all().any(|known| known.name == metric)
}
