//! The output of `history record`, `history check` and `history list`.

use cargo_cbdr::flows::history::check::{BaselineRule, CheckReport, CheckedResult, MetricScore};
use cargo_cbdr::flows::history::list::{ListedSeries, ListedValue, Listing};
use cargo_cbdr::flows::history::note::{ResultKey, StoredResult};
use cargo_cbdr::flows::history::record::RecordReport;
use cargo_cbdr::model::{Unit, Verdict};
use cargo_cbdr::stats::lookback::best;
use cargo_cbdr::workspace::git::abbreviated;
use cargo_cbdr::workspace::git::line::Commit;
use serde_json::{Value, json};

use super::escape::line;
use super::grid;
use super::table::TextTable;
use crate::ui::fold::paragraph;
use crate::ui::style::verdict_style;
use crate::ui::{grouped, text};

pub(crate) fn recorded(report: &RecordReport) -> String {
    let result = |result: &StoredResult| {
        let table = TextTable::of(&result.metrics)
            .text("metric", |of| of.name.clone())
            .numbers("best", |of| {
                let metric = of.metric();
                value(best(&of.values, metric.better), &metric.unit, "-")
            })
            .numbers("runs", |of| of.values.len().to_string());
        result_text(&result.key, result.error.as_deref(), &table.build())
    };
    report.results.iter().map(result).collect()
}

/// What was recorded as one JSON object.
pub(crate) fn recorded_json(report: &RecordReport) -> Value {
    json!({
        "schema": 1,
        "commit": report.revision.commit,
        "results": report.results,
        "notices": report.notices.iter().map(grouped::text).collect::<Vec<_>>(),
    })
}

/// The subject of a result, and how and where it was measured.
pub(crate) fn heading(key: &ResultKey) -> [String; 2] {
    let ResultKey { case, context, hardware } = key;
    let args: String = case.args.iter().map(|arg| format!(" {arg}")).collect();
    let subject = format!("{}{args} ({} of {})", case.full_name(), case.subject, case.package);
    let memory = text::bytes(hardware.memory_mib << 20);
    let cores = text::count(hardware.cores, "core");
    let mut parts = vec![context.rustc.clone(), context.profile.clone()];
    parts.extend(context.features.iter().chain(&context.flags).cloned());
    parts.extend([hardware.cpu.clone(), cores, memory, hardware.os.clone()]);
    parts.retain(|part| !part.is_empty());
    [line(&subject), line(&parts.join(", "))]
}

fn heading_text(key: &ResultKey) -> String {
    let [subject, measured] = heading(key);
    paragraph(&subject, 4) + &paragraph(&format!("  {measured}"), 4)
}

/// The subject of a result, and its numbers or how it failed.
fn result_text(key: &ResultKey, error: Option<&str>, numbers: &TextTable) -> String {
    let style = verdict_style(Verdict::Regression);
    let result = match error {
        Some(why) => paragraph(&format!("  {style}failed{style:#}: {}", line(why)), 4),
        None => grid::drawn(numbers),
    };
    heading_text(key) + &result
}

/// A value with its unit, or `none`.
fn value(value: Option<f64>, unit: &Unit, none: &str) -> String {
    value.map_or(none.to_owned(), |value| text::value(value, unit))
}

/// Whether the results fit the history.
pub(crate) fn check(report: &CheckReport) -> String {
    let mut out = String::new();
    for result in &report.results {
        let table = TextTable::of(&result.metrics)
            .text("metric", |of| of.metric.name.clone())
            .numbers("value", |of| text::value(of.value, &of.metric.unit))
            .numbers("mean", |of| value(of.past.mean, &of.metric.unit, "-"))
            .numbers("deviation", |of| value(of.past.deviation, &of.metric.unit, "-"))
            .numbers(Z, |of| z(of, "-"))
            .numbers("commits", |of| of.past.commits.to_string())
            .numbers("outliers", |of| of.past.outliers.to_string())
            .text("verdict", |of| of.verdict.map_or("", text::verdict).to_owned())
            .styled(|of| of.verdict.map(verdict_style));
        out += &result_text(&result.key, result.error.as_deref(), &table.build());
        for score in result.metrics.iter().filter(|score| score.gates) {
            if let Some(reason) = &score.reason {
                let reason = line(&format!("{}: {reason}", score.metric.name));
                out += &paragraph(&format!("  {reason}"), 4);
            }
        }
    }
    out += &match &report.baseline {
        None => "  There is no commit before this one.\n".to_owned(),
        Some((commit, rule)) => {
            let window = text::count(report.window as u64, "commit");
            let why = match rule {
                BaselineRule::ForkPoint => "its merge-base with the default branch",
                BaselineRule::Parent => "its first parent",
                BaselineRule::Latest => "the latest of the default branch",
                BaselineRule::Named => "as requested",
            };
            let commit = abbreviated(commit);
            paragraph(
                &format!("  Compared with the results of the {window} up to {commit}, {why}."),
                2,
            )
        }
    };
    let style = verdict_style(report.verdict);
    let verdict = text::verdict(report.verdict);
    out + &paragraph(&format!("{style}{verdict}{style:#}: {}", line(&summary(report))), 2)
}

/// The heading of z-scores, whatever is better.
const Z: &str = "z (- is worse)";

/// A z-score with its sign, or `none`.
fn z(score: &MetricScore, none: &str) -> String {
    score.z.map_or(none.to_owned(), signed)
}

/// A z-score with its sign.
pub(crate) fn signed(z: f64) -> String {
    if z.abs() < 0.005 { "0.00".to_owned() } else { format!("{z:+.2}") }
}

/// What led to the verdict.
fn summary(report: &CheckReport) -> String {
    let results = report.results.iter();
    let scores = results.flat_map(|of| of.metrics.iter().map(move |score| (of, score)));
    let mut gating = scores.filter(|(_, score)| score.gates);
    let off = |(result, score): (&CheckedResult, &MetricScore)| {
        let (metric, name) = (&score.metric.name, result.key.case.full_name());
        let (z, limit) = (self::z(score, "?"), report.z_threshold);
        format!("{metric} of {name} is {z} standard deviations from the mean (allowed: -{limit})")
    };
    let failed = report.results.iter().filter(|result| result.error.is_some()).count();
    let z = |score: &MetricScore| score.z.unwrap_or(0.0);
    match report.verdict {
        Verdict::Regression | Verdict::NoRegression => {
            let worst = gating.min_by(|one, other| z(one.1).total_cmp(&z(other.1)));
            worst.map(off).unwrap_or_default()
        }
        _ if failed > 0 => {
            format!("{} failed when it was recorded", text::count(failed as u64, "benchmark"))
        }
        _ => gating
            .find_map(|(_, score)| score.reason.clone())
            .unwrap_or("no metric decides".to_owned()),
    }
}

/// Whether the results fit the history, as one JSON object.
pub(crate) fn check_json(report: &CheckReport) -> Value {
    let (baseline, skipped) = (report.baseline.as_ref(), &report.skipped);
    let baseline = baseline.map(|(commit, rule)| json!({ "commit": commit, "rule": rule.name() }));
    let (lines, skipped) = (skipped.count, skipped.example.as_ref());
    let skipped =
        skipped.map(|(commit, why)| json!({ "lines": lines, "commit": commit, "why": why }));
    json!({
        "schema": 1,
        "verdict": report.verdict,
        "commit": report.revision.commit,
        "rev": report.revision.rev,
        "baseline": baseline,
        "window": report.window,
        "z_threshold": report.z_threshold,
        "min_history": report.min_history,
        "results": report.results,
        "skipped": skipped,
    })
}

pub(crate) fn list(listing: &Listing) -> String {
    let series = |series: &ListedSeries| {
        let ListedSeries { key, metric, next, .. } = series;
        let (heading, name) = (heading_text(key), line(&metric.name));
        let table = grid::drawn(&table(series, &listing.commits));
        let [mean, deviation] = [next.mean, next.deviation].map(|it| value(it, &metric.unit, "?"));
        let commits = text::count(next.commits as u64, "commit");
        format!("{heading}  {name}:\n{table}  next: {mean} ± {deviation}, from {commits}\n")
    };
    listing.series.iter().map(series).collect()
}

/// A listed series, commit by commit: its annotations, results and failures.
pub(crate) fn table(series: &ListedSeries, commits: &[Commit]) -> TextTable {
    let row = |at, result, mark, verdict| ListedRow { at, result, mark, verdict };
    let changes = series.changes.iter().map(|(at, why)| {
        row(*at, None, format!("change: {}", line(why)), Some(Verdict::Inconclusive))
    });
    let values = series.values.iter().map(|result| {
        let mark = if result.statistics.is_outlier { "outlier" } else { "" };
        row(result.commit, Some(result), mark.to_owned(), None)
    });
    let failures = series.failures.iter().map(|(at, why)| {
        let mark = format!("failed: {}", text::cut(&line(why), 60));
        row(*at, None, mark, Some(Verdict::Regression))
    });
    let mut rows: Vec<ListedRow<'_>> = changes.chain(values).chain(failures).collect();
    rows.sort_by_key(|row| row.at);
    let unit = &series.metric.unit;
    let mean = |result: &ListedValue| result.statistics.mean_before;
    TextTable::of(&rows)
        .text("commit", |of| abbreviated(&commits[of.at].id).to_owned())
        .numbers("value", |of| value(of.result.map(|result| result.value), unit, ""))
        .numbers("mean before", |of| value(of.result.and_then(mean), unit, ""))
        .numbers(Z, |of| {
            let z = of.result.and_then(|result| result.z(series.metric.better));
            z.map_or(String::new(), signed)
        })
        .text("subject", |of| text::cut(&line(&commits[of.at].summary), 50))
        .text("", |of| of.mark.clone())
        .styled(|of| of.verdict.map(verdict_style))
        .build()
}

/// A row of a listed series: an annotation, a result or a failure.
struct ListedRow<'a> {
    /// The index of its commit.
    at: usize,
    result: Option<&'a ListedValue>,
    mark: String,
    verdict: Option<Verdict>,
}
