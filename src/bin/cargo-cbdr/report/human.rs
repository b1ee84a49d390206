//! The summary for people, on standard output.

use std::io::Write;

use cargo_cbdr::Report;
use cargo_cbdr::model::outcome::{BenchmarkResult, MetricResult, Status, StoppedBy, Verdict};

use super::{grid, several};
use crate::ui::{text, verdict_style};

/// Prints the summary.
pub(crate) fn print(report: &Report) -> std::io::Result<()> {
    let mut out = anstream::stdout().lock();
    match report.sampled.benchmarks.as_slice() {
        [only] if only.status == Status::Compared && !only.metrics.is_empty() => {
            table(&mut out, only)?;
        }
        [] | [_] => {}
        several => several::print(&mut out, several)?,
    }
    if report.sampled.pairs() > 0 {
        writeln!(out, "{}", meaning(report))?;
    }
    let Some(verdict) = report.decided() else {
        return writeln!(out, "{}", reason(report));
    };
    let style = verdict_style(verdict);
    writeln!(out, "{style}{verdict}{style:#}: {}", reason(report))
}

/// The metrics of a benchmark.
fn table(out: &mut impl Write, benchmark: &BenchmarkResult) -> std::io::Result<()> {
    let name = text::line(&benchmark.name);
    let pairs = text::count(benchmark.pairs, "pair");
    writeln!(out, "{name}: {pairs}; {}", thresholds(benchmark))?;
    let head = ["metric", "base", "head", "change", "interval", "mean", "verdict"];
    let mut rows = vec![(head.map(str::to_owned).to_vec(), None)];
    rows.extend(benchmark.metrics.iter().map(|metric| {
        let style = metric.verdict.map(verdict_style);
        (cells(metric).to_vec(), style)
    }));
    let hidden = if shows_mean(benchmark) { None } else { Some(MEAN) };
    grid::print(out, &grid::without(rows, hidden), &[0, 6 - usize::from(hidden.is_some())])
}

/// The column of the plain mean's change.
pub(super) const MEAN: usize = 5;

/// Whether the plain mean says something else than the estimator.
pub(crate) fn shows_mean(benchmark: &BenchmarkResult) -> bool {
    let other = |m: &MetricResult| m.mean.is_some_and(|mean| mean.change != m.summary.change);
    benchmark.metrics.iter().any(other)
}

/// The thresholds of a benchmark's metrics.
pub(super) fn thresholds(benchmark: &BenchmarkResult) -> String {
    let gating = benchmark.metrics.iter().filter_map(|m| Some((&m.metric.name, m.limit()?)));
    let gating: Vec<_> = gating.collect();
    let list = gating
        .iter()
        .map(|(name, limit)| format!("{} {}", text::line(name), text::percent(*limit)));
    match gating.as_slice() {
        [(_, only)] => format!("threshold {}", text::percent(*only)),
        _ => format!("thresholds {}", list.collect::<Vec<_>>().join(", ")),
    }
}

pub(crate) fn cells(result: &MetricResult) -> [String; 7] {
    let summary = &result.summary;
    let unit = &result.metric.unit;
    let value = |value: Option<f64>| value.map_or("-".to_owned(), |value| text::value(value, unit));
    [
        super::escape::line(&result.metric.name),
        value(summary.base),
        value(summary.head),
        summary.change.map_or("-".to_owned(), text::percent),
        text::interval(summary.lower, summary.upper),
        result.mean.and_then(|mean| mean.change).map_or("-".to_owned(), text::percent),
        match (result.verdict, result.status) {
            (Some(verdict), _) => verdict.to_string(),
            (None, Status::Compared) => String::new(),
            (None, status) => status.name().to_owned(),
        },
    ]
}

/// What the interval promises.
pub(super) fn meaning(report: &Report) -> String {
    let confidence = 100.0 * report.policy.confidence;
    let gating = report.sampled.benchmarks.iter().flat_map(|benchmark| &benchmark.metrics);
    let questions = gating.filter(|result| result.decides()).count();
    let shared = match questions {
        0 | 1 => String::new(),
        several => format!(", the lower one for all {several} questions together"),
    };
    format!(
        "  Each bound holds with {}% confidence{shared},\n  however often it is looked at (the \
         two together: {}%). Estimator: {}.",
        text::rounded(confidence),
        text::rounded(2.0 * confidence - 100.0),
        report.policy.estimator,
    )
}

/// Why the verdict is what it is, and what it is not about, in one sentence.
pub(super) fn reason(report: &Report) -> String {
    decided_by(report) + &text::not_asked(&report.removed, &report.selecting())
}

fn decided_by(report: &Report) -> String {
    let spent = text::seconds(report.sampled.elapsed);
    if let (Some(shard), None) = (report.shard, report.decided()) {
        let pairs = text::count(report.sampled.pairs(), "pair");
        return format!(
            "shard {shard}: {pairs} in {spent}; `analyze --combine` gives the verdict of all {}",
            shard.of
        );
    }
    let all = report.sampled.benchmarks.iter().flat_map(|b| b.metrics.iter().map(move |m| (b, m)));
    let gating: Vec<_> = all.filter(|(_, metric)| metric.decides()).collect();
    let alike = gating.iter().filter(|(_, metric)| metric.verdict == Some(report.verdict));
    let (first, number) = (alike.clone().next(), alike.count());
    let changed = || {
        let (benchmark, metric) = first?;
        Some(format!(
            "{} of {} {}",
            text::line(&metric.metric.name),
            text::line(&benchmark.name),
            text::against_threshold(metric),
        ))
    };
    match report.verdict {
        Verdict::Regression => {
            let others = match number {
                0 | 1 => String::new(),
                2 => ", and another one is above its threshold".to_owned(),
                several => format!(", and {} more are above theirs", several - 1),
            };
            changed().map_or(String::new(), |said| format!("{said}{others} (after {spent})"))
        }
        Verdict::NoRegression if number > 1 => {
            format!("all {number} changes are below their thresholds (after {spent})")
        }
        Verdict::NoRegression => {
            changed().map_or(String::new(), |said| format!("{said} (after {spent})"))
        }
        Verdict::Inconclusive => {
            let open = match gating.len() {
                1 => "the interval still holds the threshold".to_owned(),
                all => format!("{number} of {all} intervals still hold their thresholds"),
            };
            format!("{open}; {}", stopped(report, &spent))
        }
        Verdict::Identical => "nothing can have changed".to_owned(),
        Verdict::NoBaseline => "there is nothing to compare with".to_owned(),
    }
}

/// Why there was no verdict.
fn stopped(report: &Report, spent: &str) -> String {
    match report.sampled.stopped_by {
        StoppedBy::MaxPairs => "the pairs allowed were used up".to_owned(),
        StoppedBy::Interrupt => format!("interrupted after {spent}"),
        StoppedBy::Verdict => "a benchmark could not be measured".to_owned(),
        _ => format!(
            "the time limit of {} came first",
            humantime::format_duration(report.limits.time)
        ),
    }
}
