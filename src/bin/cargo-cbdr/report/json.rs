//! The result as one JSON object, `"schema": 1`.

use std::collections::BTreeMap;
use std::io::Write;

use cargo_cbdr::Report;
use cargo_cbdr::model::outcome::{BenchmarkResult, MetricResult, Removed, Summary, Verdict};
use cargo_cbdr::model::revision::{Revision, Rule};
use cargo_cbdr::model::shard::Shard;
use serde::Serialize;

use super::repeated::{VERDICTS, count};
use crate::ui::{notices, text};

#[derive(Serialize)]
struct Object<'a> {
    schema: u32,
    /// None of a shard that measured.
    verdict: Option<&'static str>,
    base: Commit<'a>,
    head: Commit<'a>,
    merge_base: bool,
    toolchain: Option<&'a str>,
    confidence: f64,
    estimator: &'static str,
    seed: u64,
    shard: Option<Part>,
    stopped_by: &'static str,
    elapsed_seconds: f64,
    prepare_seconds: f64,
    benchmarks: Vec<Benchmark<'a>>,
    removed: Vec<Gone<'a>>,
    notices: Vec<String>,
}

/// What gates on the base and is not measured on the head.
#[derive(Serialize)]
pub(super) struct Gone<'a> {
    benchmark: &'a str,
    /// None where the whole benchmark is gone.
    metric: Option<&'a str>,
}

/// The part that this is of a comparison of several machines.
#[derive(Serialize)]
pub(super) struct Part {
    number: u64,
    of: u64,
}

/// One side.
#[derive(Serialize)]
pub(super) struct Commit<'a> {
    rev: &'a str,
    commit: &'a str,
    tree: &'a str,
    dirty: bool,
}

#[derive(Serialize)]
struct Benchmark<'a> {
    name: &'a str,
    status: &'static str,
    pairs: u64,
    metrics: Vec<Metric<'a>>,
}

#[derive(Serialize)]
pub(super) struct Metric<'a> {
    name: &'a str,
    status: &'static str,
    unit: &'a str,
    better: &'static str,
    gates: bool,
    base: Option<f64>,
    head: Option<f64>,
    change: Option<f64>,
    lower: Option<f64>,
    upper: Option<f64>,
    threshold: Option<f64>,
    verdict: Option<&'static str>,
    warned: bool,
    waiver: Option<Waived<'a>>,
    mean: Option<Mean>,
}

/// An accepted slowdown.
#[derive(Serialize)]
struct Waived<'a> {
    /// Without it.
    threshold: f64,
    ceiling: f64,
    reason: &'a str,
    expires: &'a str,
    issue: Option<&'a str>,
}

/// The plain mean's numbers, whichever the estimator.
#[derive(Serialize)]
struct Mean {
    base: Option<f64>,
    head: Option<f64>,
    change: Option<f64>,
    lower: Option<f64>,
    upper: Option<f64>,
}

/// Many comparisons.
#[derive(Serialize)]
struct All<'a> {
    schema: u32,
    repeat: usize,
    verdicts: BTreeMap<&'static str, u64>,
    comparisons: Vec<Object<'a>>,
}

/// Prints the object on a line of its own.
pub(crate) fn print(report: &Report) -> std::io::Result<()> {
    print_line(&object(report))
}

/// Prints one object for many comparisons.
pub(crate) fn print_all(reports: &[Report]) -> std::io::Result<()> {
    let verdicts = VERDICTS.map(|verdict| (verdict.name(), count(reports, verdict)));
    print_line(&All {
        schema: 1,
        repeat: reports.len(),
        verdicts: verdicts.into_iter().collect(),
        comparisons: reports.iter().map(object).collect(),
    })
}

/// Prints a value on a line of its own. What a terminal obeys or nobody sees
/// stands there by its number: outside of texts no JSON has such characters.
pub(crate) fn print_line(value: &impl Serialize) -> std::io::Result<()> {
    let mut line = String::new();
    for c in serde_json::to_string(value)?.chars() {
        match c {
            c if text::is_hidden(c) => {
                let mut units = [0; 2];
                let units = c.encode_utf16(&mut units);
                line.extend(units.iter().map(|unit| format!("\\u{unit:04x}")));
            }
            c => line.push(c),
        }
    }
    writeln!(std::io::stdout().lock(), "{line}")
}

pub(super) fn removed(removed: &[Removed]) -> Vec<Gone<'_>> {
    let gone = removed.iter().map(|Removed { benchmark, metric }| (benchmark, metric.as_deref()));
    gone.map(|(benchmark, metric)| Gone { benchmark, metric }).collect()
}

fn object(report: &Report) -> Object<'_> {
    Object {
        schema: 1,
        verdict: report.decided().map(Verdict::name),
        base: commit(&report.sides.base),
        head: commit(&report.sides.head),
        merge_base: matches!(report.sides.rule, Rule::MergeBase | Rule::FirstParent),
        toolchain: report.toolchain.as_deref(),
        confidence: report.policy.confidence,
        estimator: report.policy.estimator.name(),
        seed: report.seed,
        shard: report.shard.map(|Shard { number, of }| Part { number, of }),
        stopped_by: report.sampled.stopped_by.name(),
        elapsed_seconds: report.sampled.elapsed,
        prepare_seconds: report.prepare_seconds,
        benchmarks: report.sampled.benchmarks.iter().map(benchmark).collect(),
        removed: removed(&report.removed),
        notices: report.notices.iter().map(notices::notice).collect(),
    }
}

/// One side of a report.
pub(super) fn commit(revision: &Revision) -> Commit<'_> {
    let Revision { rev, commit, tree, dirty } = revision;
    Commit { rev, commit, tree, dirty: *dirty }
}

fn benchmark(result: &BenchmarkResult) -> Benchmark<'_> {
    Benchmark {
        name: &result.name,
        status: result.status.name(),
        pairs: result.pairs,
        metrics: result.metrics.iter().map(metric).collect(),
    }
}

/// A metric's part of the object.
pub(super) fn metric(result: &MetricResult) -> Metric<'_> {
    let summary = &result.summary;
    Metric {
        name: &result.metric.name,
        status: result.status.name(),
        unit: result.metric.unit.symbol(),
        better: result.metric.better.name(),
        gates: result.threshold.is_some(),
        base: summary.base,
        head: summary.head,
        change: summary.change,
        lower: summary.lower,
        upper: summary.upper,
        threshold: result.threshold,
        verdict: result.verdict.map(|verdict| verdict.name()),
        warned: result.warned,
        waiver: result.waiver.as_ref().map(|(waiver, threshold)| Waived {
            threshold: *threshold,
            ceiling: waiver.ceiling,
            reason: &waiver.reason,
            expires: &waiver.expires,
            issue: waiver.issue.as_deref(),
        }),
        mean: result.mean.map(|Summary { base, head, change, lower, upper, .. }| Mean {
            base,
            head,
            change,
            lower,
            upper,
        }),
    }
}
