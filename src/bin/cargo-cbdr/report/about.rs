//! What stands beside a file with samples: what they were measured of, and how.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;

use cargo_cbdr::Report;
use cargo_cbdr::engine::test::exact;
use cargo_cbdr::model::gate::{Gate, Waiver};
use cargo_cbdr::model::metric::{Metric, Unit, Units};
use cargo_cbdr::model::outcome::MetricResult;
use cargo_cbdr::settings::options::{Benchmark, Measuring, Subject};
use cargo_cbdr::workspace::git::Revision;
use serde::{Deserialize, Serialize};

use super::outcome::is_of_tables;
use crate::output::companion;
use crate::ui::notices;

/// All of it.
#[derive(Debug, Deserialize, Serialize)]
pub(crate) struct About {
    schema: u32,
    pub(crate) base: Side,
    pub(crate) head: Side,
    pub(crate) toolchain: Option<String>,
    pub(crate) programs: Vec<Program>,
    seed: u64,
    pub(crate) shard: Option<Part>,
    pub(crate) confidence: f64,
    pub(crate) estimator: String,
    time_limit_seconds: f64,
    max_pairs: Option<u64>,
    pub(crate) on_inconclusive: String,
    pub(crate) on_no_baseline: String,
    pub(crate) on_removed: String,
    /// What gates on the base and is not measured on the head: benchmarks, and
    /// metrics of benchmarks.
    pub(crate) removed: Vec<(String, Option<String>)>,
    /// The keys of the tables that differ and change which benchmarks run.
    pub(crate) selecting: Vec<String>,
    /// What was said of the tables.
    pub(crate) told: Vec<String>,
    thresholds: Vec<(String, String, f64)>,
    /// Those of the thresholds that samples are held against.
    pub(crate) gates: Vec<Limit>,
    /// What was known without a run.
    pub(crate) exact: Vec<Known>,
    pub(crate) units: BTreeMap<String, Scale>,
    pub(crate) stopped_by: String,
    /// How many rows there are, but for the header.
    pub(crate) rows: u64,
}

/// One of the two sides.
#[derive(Debug, Deserialize, Serialize)]
pub(crate) struct Side {
    rev: String,
    pub(crate) commit: String,
    pub(crate) tree: String,
    dirty: bool,
}

/// What was run.
#[derive(Debug, Deserialize, Serialize)]
pub(crate) struct Program {
    name: String,
    package: String,
    run: String,
    args: Vec<String>,
    harness: Option<String>,
    warmup: u32,
    measuring: String,
}

/// A machine's part.
#[derive(Debug, Deserialize, Serialize)]
pub(crate) struct Part {
    pub(crate) number: u64,
    pub(crate) of: u64,
    /// Of its order.
    pub(crate) seed: u64,
}

/// What decides about a metric.
#[derive(Debug, Deserialize, Serialize)]
pub(crate) struct Limit {
    benchmark: String,
    metric: String,
    threshold: f64,
    warn: Option<f64>,
    waiver: Option<Waived>,
}

/// An accepted slowdown.
#[derive(Debug, Deserialize, Serialize)]
struct Waived {
    benchmark: Option<String>,
    ceiling: f64,
    reason: String,
    expires: String,
    issue: Option<String>,
}

/// A metric that needs no run.
#[derive(Debug, Deserialize, Serialize)]
pub(crate) struct Known {
    benchmark: String,
    metric: String,
    base: f64,
    head: f64,
    threshold: f64,
    warned: bool,
    waiver: Option<Waived>,
}

/// What the values of a column are.
#[derive(Debug, Deserialize, Serialize)]
pub(crate) struct Scale {
    unit: String,
    better: String,
}

impl About {
    /// What there is to be known of a comparison that wrote so many rows.
    pub(crate) fn of(report: &Report, rows: u64) -> Self {
        let benchmarks = report.sampled.benchmarks.iter();
        let metrics = benchmarks.flat_map(|of| of.metrics.iter().map(move |m| (&of.name, m)));
        let mut units = BTreeMap::new();
        for (_, result) in metrics.clone() {
            let metric = &result.metric;
            let (unit, better) = (metric.unit.symbol().to_owned(), metric.better.name().to_owned());
            // As the first benchmark has it.
            units.entry(metric.name.clone()).or_insert(Scale { unit, better });
        }
        let thresholds = metrics.clone().filter_map(|(name, result)| {
            let threshold = result.threshold.filter(|_| result.decides())?;
            Some((name.clone(), result.metric.name.clone(), threshold))
        });
        let sampled = |name: &str, metric: &str| {
            report.gates.iter().any(|(of, gate)| of == name && gate.metric == metric)
        };
        let exact = metrics.filter(|(name, result)| !sampled(name, &result.metric.name));
        About {
            schema: 1,
            base: side(&report.sides.base),
            head: side(&report.sides.head),
            toolchain: report.toolchain.clone(),
            programs: report.programs.iter().map(program).collect(),
            seed: report.seed,
            shard: report.shard.map(|shard| Part {
                number: shard.number,
                of: shard.of,
                seed: shard.seed(report.seed),
            }),
            confidence: report.policy.confidence,
            estimator: report.policy.estimator.name().to_owned(),
            time_limit_seconds: report.limits.time.as_secs_f64(),
            max_pairs: report.limits.pairs,
            on_inconclusive: report.policy.on_inconclusive.to_string(),
            on_no_baseline: report.policy.on_no_baseline.to_string(),
            on_removed: report.policy.on_removed.to_string(),
            removed: report.removed.iter().cloned().map(|r| (r.benchmark, r.metric)).collect(),
            selecting: report.selecting().into_iter().map(str::to_owned).collect(),
            told: report.notices.iter().filter(|n| is_of_tables(n)).map(notices::notice).collect(),
            thresholds: thresholds.collect(),
            gates: report.gates.iter().map(|(name, gate)| limit(name, gate)).collect(),
            exact: exact.filter_map(|(name, result)| known(name, result)).collect(),
            units,
            stopped_by: report.sampled.stopped_by.name().to_owned(),
            rows,
        }
    }

    /// As it is written beside a file.
    pub(crate) fn text(&self) -> io::Result<String> {
        Ok(serde_json::to_string_pretty(self)? + "\n")
    }

    /// Reads what stands beside a file; none where nothing does, or something else.
    pub(crate) fn beside(samples: &Path) -> io::Result<Result<Self, String>> {
        let path = companion(samples);
        match std::fs::read(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                Ok(Err(format!("there is no `{}`", path.display())))
            }
            text => Ok(serde_json::from_slice(&text.map_err(named(&path))?)
                .map_err(|error| format!("{error} in `{}`", path.display()))),
        }
    }
}

/// What decides, as it was.
pub(crate) fn gate(limit: &Limit) -> (String, Gate) {
    let waiver = limit.waiver.as_ref().map(|waived| waiver(&limit.metric, waived));
    let metric = limit.metric.clone();
    let gate = Gate { metric, threshold: limit.threshold, warn: limit.warn, waiver };
    (limit.benchmark.clone(), gate)
}

/// What was known, as it was said.
pub(crate) fn answer(known: &Known, units: &Units) -> (String, MetricResult) {
    let waiver = known.waiver.as_ref().map(|waived| waiver(&known.metric, waived));
    let gate = Gate { waiver, ..Gate::new(&known.metric, known.threshold) };
    let metric = Metric::named(&known.metric).with(units);
    let result = exact(metric, Some(&gate), known.base, known.head);
    (known.benchmark.clone(), MetricResult { warned: known.warned, ..result })
}

/// The units, as they were; an error names what is no direction.
pub(crate) fn units(scales: &BTreeMap<String, Scale>) -> Result<Units, String> {
    let unit = |(name, scale): (&String, &Scale)| match scale.better.parse() {
        Ok(better) => Ok((name.clone(), (Unit::of(&scale.unit), better))),
        Err(_) => Err(format!("`{}` is neither lower nor higher", scale.better)),
    };
    scales.iter().map(unit).collect()
}

/// The units that stand beside a file with samples; none where nothing does.
pub(crate) fn units_beside(samples: &Path) -> io::Result<Units> {
    #[derive(Default, Deserialize)]
    #[serde(default)]
    struct Told {
        units: BTreeMap<String, Scale>,
    }
    let path = companion(samples);
    let bad = |why: String| {
        io::Error::new(io::ErrorKind::InvalidData, format!("{} in `{}`", why, path.display()))
    };
    let text = match std::fs::read(&path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Units::new()),
        text => text.map_err(named(&path))?,
    };
    let told: Told = serde_json::from_slice(&text).map_err(|error| bad(error.to_string()))?;
    units(&told.units).map_err(bad)
}

/// An error with the file's name.
fn named(path: &Path) -> impl FnOnce(io::Error) -> io::Error {
    let path = path.to_owned();
    move |error| io::Error::new(error.kind(), format!("{error} (`{}`)", path.display()))
}

fn side(revision: &Revision) -> Side {
    let Revision { rev, commit, tree, dirty } = revision.clone();
    Side { rev, commit, tree, dirty }
}

fn program(benchmark: &Benchmark) -> Program {
    let run = match &benchmark.subject {
        Subject::Target(target, build) => format!("{target}, {build:?}"),
        Subject::Command { words, build } => format!("{words:?}, {build:?}"),
    };
    // Where and beside what a run takes place is the machine's affair.
    let work =
        Measuring { cpus: Vec::new(), nice: 0, max_busy: None, ..benchmark.measuring.clone() };
    Program {
        name: benchmark.name.clone(),
        package: benchmark.package.clone(),
        run,
        args: benchmark.args.clone(),
        harness: benchmark.harness.map(|harness| harness.name().to_owned()),
        warmup: benchmark.warmup,
        measuring: format!("{work:?}"),
    }
}

fn limit(benchmark: &str, gate: &Gate) -> Limit {
    Limit {
        benchmark: benchmark.to_owned(),
        metric: gate.metric.clone(),
        threshold: gate.threshold,
        warn: gate.warn,
        waiver: gate.waiver.as_ref().map(waived),
    }
}

fn known(benchmark: &str, result: &MetricResult) -> Option<Known> {
    let (threshold, waiver) = match &result.waiver {
        Some((waiver, threshold)) => (*threshold, Some(waived(waiver))),
        None => (result.threshold?, None),
    };
    Some(Known {
        benchmark: benchmark.to_owned(),
        metric: result.metric.name.clone(),
        base: result.summary.base?,
        head: result.summary.head?,
        threshold,
        warned: result.warned,
        waiver,
    })
}

fn waived(waiver: &Waiver) -> Waived {
    let Waiver { benchmark, ceiling, reason, expires, issue, .. } = waiver.clone();
    Waived { benchmark, ceiling, reason, expires, issue }
}

fn waiver(metric: &str, waived: &Waived) -> Waiver {
    Waiver {
        metric: metric.to_owned(),
        benchmark: waived.benchmark.clone(),
        ceiling: waived.ceiling,
        reason: waived.reason.clone(),
        expires: waived.expires.clone(),
        issue: waived.issue.clone(),
    }
}
