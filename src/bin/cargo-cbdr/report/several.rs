//! The table of several benchmarks: a row for each metric that gates.

use std::io::Write;

use anstyle::Style;
use cargo_cbdr::model::outcome::{BenchmarkResult, MetricResult, Status};

use super::{grid, human};
use crate::ui::{text, verdict_style};

/// One row: a benchmark, and a metric of it where there is one to show.
type Row<'a> = (&'a BenchmarkResult, Option<&'a MetricResult>);

/// Prints the table.
pub(super) fn print(out: &mut impl Write, benchmarks: &[BenchmarkResult]) -> std::io::Result<()> {
    let rows: Vec<Row<'_>> = benchmarks.iter().flat_map(rows).collect();
    let gating = || rows.iter().filter_map(|(_, metric)| *metric);
    let metrics = distinct(gating().map(|result| result.metric.name.clone()));
    let limits = distinct(gating().filter_map(MetricResult::limit).map(text::percent));
    let mut said = vec![text::count(benchmarks.len() as u64, "benchmark")];
    said.extend(one(&metrics).map(|metric| text::line(metric)));
    said.extend(one(&limits).map(|limit| format!("threshold {limit}")));
    writeln!(out, "{}", said.join("; "))?;
    let columns = [
        ("benchmark", true),
        ("metric", metrics.len() > 1),
        ("pairs", true),
        ("base", true),
        ("head", true),
        ("change", true),
        ("interval", true),
        ("threshold", limits.len() > 1),
        ("verdict", true),
    ];
    let shown = |cells: [String; 9]| -> Vec<String> {
        let cells = cells.into_iter().zip(columns);
        cells.filter(|(_, (_, shown))| *shown).map(|(cell, _)| cell).collect()
    };
    let mut lines = vec![(shown(columns.map(|(name, _)| name.to_owned())), None)];
    lines.extend(rows.iter().map(|row| {
        let (cells, style) = cells(*row);
        (shown(cells), style)
    }));
    let last = lines[0].0.len() - 1;
    let words: &[usize] = if metrics.len() > 1 { &[0, 1, last] } else { &[0, last] };
    grid::print(out, &lines, words)
}

/// The rows of a benchmark: at least one.
fn rows(benchmark: &BenchmarkResult) -> Vec<Row<'_>> {
    let gating = benchmark.metrics.iter().filter(|result| result.threshold.is_some());
    let rows: Vec<Row<'_>> = gating.map(|result| (benchmark, Some(result))).collect();
    if rows.is_empty() { vec![(benchmark, None)] } else { rows }
}

fn cells((benchmark, metric): Row<'_>) -> ([String; 9], Option<Style>) {
    let name = text::line(&benchmark.name);
    let dash = || "-".to_owned();
    let Some(result) = metric else {
        let status = match benchmark.status {
            Status::New | Status::Removed => benchmark.status.name(),
            Status::Compared if benchmark.pairs == 0 => "not measured",
            Status::Compared => "does not gate",
        };
        let cells = [name, dash(), dash(), dash(), dash(), dash(), dash(), dash(), status.into()];
        return (cells, None);
    };
    let [metric, base, head, change, interval, _, verdict] = human::cells(result);
    let pairs = result.summary.pairs.to_string();
    let limit = result.limit().map_or_else(dash, text::percent);
    let cells = [name, metric, pairs, base, head, change, interval, limit, verdict];
    (cells, result.verdict.map(verdict_style))
}

fn distinct(texts: impl Iterator<Item = String>) -> Vec<String> {
    let mut found = Vec::new();
    for text in texts {
        if !found.contains(&text) {
            found.push(text);
        }
    }
    found
}

fn one(texts: &[String]) -> Option<&String> {
    if let [only] = texts { Some(only) } else { None }
}
