//! What the warm-up found in a program: its benchmarks, what they measure, and
//! which metrics gate.

use std::collections::{BTreeMap, BTreeSet};

use crate::exec::meter;
use crate::model::{
    BenchmarkNotice, BenchmarkResult, Gate, Metric, MetricResult, Notice, Pair, Removed,
    SameReason, Side, Status, Summary, Verdict,
};

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
    pub(super) one_sided: Vec<Unmatched>,
    /// Notices about benchmarks that are measured too coarsely, or perhaps not at all.
    pub(super) own_notices: Vec<Notice>,
    /// The number of benchmarks that a run of each side reports.
    pub(super) reported: Pair<usize>,
    /// Metrics of the program that are known without a run, such as its size.
    pub(super) exact: Vec<MetricResult>,
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
pub(super) struct Unmatched {
    pub(super) benchmark: String,
    /// The harness's name for the benchmark; `None` for the program itself.
    pub(super) inner: Option<String>,
    /// `None` for the whole benchmark.
    pub(super) metric: Option<Metric>,
    pub(super) side: Side,
    /// The largest change that would pass, if it gates there.
    pub(super) threshold: Option<f64>,
}

impl Discovery {
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
