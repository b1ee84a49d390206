//! The summary for people, on standard output.

use std::io::Write;

use cargo_cbdr::Report;
use cargo_cbdr::verdict::{BenchmarkResult, MetricResult, Status, StoppedBy, Verdict};

use super::grid;
use crate::ui::{text, verdict_style};

/// Prints the summary.
pub(crate) fn print(report: &Report) -> std::io::Result<()> {
    let mut out = anstream::stdout().lock();
    for benchmark in report.sampled.benchmarks.iter().filter(|b| b.status == Status::Compared) {
        if !benchmark.metrics.is_empty() {
            table(&mut out, benchmark)?;
        }
    }
    if report.sampled.pairs() > 0 {
        writeln!(out, "{}", meaning(report))?;
    }
    let style = verdict_style(report.verdict);
    writeln!(out, "{style}{}{style:#}: {}", report.verdict, reason(report))
}

/// The metrics of a benchmark.
fn table(out: &mut impl Write, benchmark: &BenchmarkResult) -> std::io::Result<()> {
    let name = text::clean(&benchmark.name);
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
pub(super) fn shows_mean(benchmark: &BenchmarkResult) -> bool {
    let other = |m: &MetricResult| m.mean.is_some_and(|mean| mean.change != m.summary.change);
    benchmark.metrics.iter().any(other)
}

/// The thresholds of a benchmark's metrics.
pub(super) fn thresholds(benchmark: &BenchmarkResult) -> String {
    let gating = benchmark.metrics.iter().filter_map(|m| Some((&m.metric.name, m.threshold?)));
    let gating: Vec<_> = gating.collect();
    let list = gating.iter().map(|(name, limit)| format!("{name} {}", text::percent(*limit)));
    match gating.as_slice() {
        [(_, only)] => format!("threshold {}", text::percent(*only)),
        _ => format!("thresholds {}", list.collect::<Vec<_>>().join(", ")),
    }
}

pub(super) fn cells(result: &MetricResult) -> [String; 7] {
    let summary = &result.summary;
    let unit = &result.metric.unit;
    let value = |value: Option<f64>| value.map_or("-".to_owned(), |value| text::value(value, unit));
    [
        result.metric.name.clone(),
        value(summary.base),
        value(summary.head),
        summary.change.map_or("-".to_owned(), text::percent),
        text::interval(summary.lower, summary.upper),
        result.mean.and_then(|mean| mean.change).map_or("-".to_owned(), text::percent),
        result.verdict.map_or(String::new(), |verdict| verdict.to_string()),
    ]
}

/// What the interval promises.
fn meaning(report: &Report) -> String {
    let confidence = 100.0 * report.policy.confidence;
    let gating = report.sampled.benchmarks.iter().flat_map(|benchmark| &benchmark.metrics);
    let questions = gating.filter(|result| result.threshold.is_some()).count();
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

/// Why the verdict is what it is, in one sentence.
fn reason(report: &Report) -> String {
    let spent = text::seconds(report.sampled.elapsed);
    let all =
        || report.sampled.benchmarks.iter().flat_map(|b| b.metrics.iter().map(move |m| (b, m)));
    let decided = |verdict| all().find(move |(_, metric)| metric.verdict == Some(verdict));
    let change =
        |metric: &MetricResult| metric.summary.change.map_or("?".to_owned(), text::percent);
    let threshold = |metric: &MetricResult| metric.threshold.map_or(String::new(), text::percent);
    match report.verdict {
        Verdict::Regression => match decided(Verdict::Regression) {
            Some((benchmark, metric)) => format!(
                "{} of {} changed by {}, more than {} (after {spent})",
                metric.metric.name,
                text::clean(&benchmark.name),
                change(metric),
                threshold(metric),
            ),
            None => String::new(),
        },
        Verdict::NoRegression => match decided(Verdict::NoRegression) {
            Some((benchmark, metric)) => format!(
                "{} of {} changed by {}, less than {} (after {spent})",
                metric.metric.name,
                text::clean(&benchmark.name),
                change(metric),
                threshold(metric),
            ),
            None => String::new(),
        },
        Verdict::Inconclusive => {
            let why = match report.sampled.stopped_by {
                StoppedBy::MaxPairs => "the pairs allowed were used up".to_owned(),
                StoppedBy::Interrupt => format!("interrupted after {spent}"),
                StoppedBy::Verdict => "a benchmark could not be measured".to_owned(),
                _ => format!(
                    "the time limit of {} came first",
                    humantime::format_duration(report.limits.time)
                ),
            };
            format!("the interval still holds the threshold; {why}")
        }
        Verdict::Identical => "nothing can have changed".to_owned(),
        Verdict::NoBaseline => "there is nothing to compare with".to_owned(),
    }
}
