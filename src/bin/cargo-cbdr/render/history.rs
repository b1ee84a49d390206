//! The output of `history record`, `history check` and `history list`.

use std::io::Write;

use cargo_cbdr::flows::history::check::{BaselineRule, CheckReport, CheckedResult, MetricScore};
use cargo_cbdr::flows::history::list::{ListedSeries, ListedValue, Listing};
use cargo_cbdr::flows::history::note::ResultKey;
use cargo_cbdr::flows::history::record::RecordReport;
use cargo_cbdr::model::metric::Unit;
use cargo_cbdr::model::outcome::Verdict;
use cargo_cbdr::stats::lookback::best;
use cargo_cbdr::workspace::git::abbreviated;
use cargo_cbdr::workspace::git::line::Commit;
use serde_json::{Value, json};

use super::escape::line;
use super::grid;
use super::table::TextTable;
use crate::ui::{fold, grouped, text, verdict_style};

pub(crate) fn recorded(out: &mut dyn Write, report: &RecordReport) -> std::io::Result<()> {
    for result in &report.results {
        print_heading(out, &result.key)?;
        if let Some(error) = &result.error {
            print_failure(out, error)?;
            continue;
        }
        let table = TextTable::of(&result.metrics)
            .text("metric", |of| of.metric().name)
            .numbers("best", |of| {
                let metric = of.metric();
                value(best(&of.values, metric.better), &metric.unit, "-")
            })
            .numbers("runs", |of| of.values.len().to_string())
            .build();
        grid::print(out, &table)?;
    }
    Ok(())
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

/// The subject of a result, in two lines.
pub(crate) fn heading(key: &ResultKey) -> String {
    let ResultKey { case, context, hardware } = key;
    let args: String = case.args.iter().map(|arg| format!(" {arg}")).collect();
    let subject = format!("{}{args} ({} of {})", case.full_name(), case.subject, case.package);
    let memory = text::bytes(hardware.memory_mib << 20);
    let cores = text::count(hardware.cores, "core");
    let mut parts = vec![context.rustc.clone(), context.profile.clone()];
    parts.extend(context.features.iter().chain(&context.flags).cloned());
    parts.extend([hardware.cpu.clone(), cores, memory, hardware.os.clone()]);
    parts.retain(|part| !part.is_empty());
    format!("{}\n  {}", line(&subject), line(&parts.join(", ")))
}

/// Prints the subject of a result.
fn print_heading(out: &mut dyn Write, key: &ResultKey) -> std::io::Result<()> {
    heading(key).lines().try_for_each(|line| fold::print(out, line, 4))
}

fn print_failure(out: &mut dyn Write, error: &str) -> std::io::Result<()> {
    let style = verdict_style(Verdict::Regression);
    fold::print(out, &format!("  {style}failed{style:#}: {}", line(error)), 4)
}

/// A value with its unit, or `none`.
fn value(value: Option<f64>, unit: &Unit, none: &str) -> String {
    value.map_or(none.to_owned(), |value| text::value(value, unit))
}

/// Prints whether the results fit the history.
pub(crate) fn check(out: &mut dyn Write, report: &CheckReport) -> std::io::Result<()> {
    for result in &report.results {
        print_heading(out, &result.key)?;
        if let Some(error) = &result.error {
            print_failure(out, error)?;
            continue;
        }
        let table = TextTable::of(&result.metrics)
            .text("metric", |of| of.metric.name.clone())
            .numbers("value", |of| text::value(of.value, &of.metric.unit))
            .numbers("mean", |of| value(of.past.mean, &of.metric.unit, "-"))
            .numbers("deviation", |of| value(of.past.deviation, &of.metric.unit, "-"))
            .numbers(Z, |of| z(of, "-"))
            .numbers("commits", |of| of.past.commits.to_string())
            .numbers("outliers", |of| of.past.outliers.to_string())
            .text("verdict", |of| of.verdict.map_or("", text::verdict).to_owned())
            .styled(|of| of.verdict.map(verdict_style))
            .build();
        grid::print(out, &table)?;
        for score in result.metrics.iter().filter(|score| score.verdict.is_some()) {
            if let Some(reason) = &score.reason {
                let reason = line(&format!("{}: {reason}", score.metric.name));
                fold::print(out, &format!("  {reason}"), 4)?;
            }
        }
    }
    match &report.baseline {
        None => writeln!(out, "  There is no commit before this one.")?,
        Some((commit, rule)) => {
            let window = text::count(report.window as u64, "commit");
            let why = match rule {
                BaselineRule::ForkPoint => "its merge-base with the default branch",
                BaselineRule::Parent => "its first parent",
                BaselineRule::Latest => "the latest of the default branch",
                BaselineRule::Named => "as requested",
            };
            let commit = abbreviated(commit);
            fold::print(out, &format!("  Compared with {window} up to {commit}, {why}."), 2)?;
        }
    }
    let style = verdict_style(report.verdict);
    let verdict = text::verdict(report.verdict);
    fold::print(out, &format!("{style}{verdict}{style:#}: {}", line(&summary(report))), 2)
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
    let mut gating = scores.filter(|(_, score)| score.verdict.is_some());
    let off = |(result, score): (&CheckedResult, &MetricScore)| {
        let (metric, name) = (&score.metric.name, result.key.case.full_name());
        let (z, limit) = (z(score, "?"), report.z_threshold);
        format!("{metric} of {name} is {z} standard deviations from the mean (allowed: -{limit})")
    };
    let failed = report.results.iter().filter(|result| result.error.is_some()).count();
    match report.verdict {
        Verdict::Regression => {
            let is_worse = |score: &MetricScore| score.verdict == Some(Verdict::Regression);
            gating.find(|(_, score)| is_worse(score)).map(off).unwrap_or_default()
        }
        Verdict::NoRegression => {
            let z = |score: &MetricScore| score.z.unwrap_or(0.0);
            gating.min_by(|one, other| z(one.1).total_cmp(&z(other.1))).map(off).unwrap_or_default()
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
        "results": report.results.iter().map(result_json).collect::<Vec<_>>(),
        "skipped": skipped,
    })
}

fn result_json(result: &CheckedResult) -> Value {
    let metric = |score: &MetricScore| {
        json!({
            "name": score.metric.name,
            "unit": score.metric.unit,
            "better": score.metric.better,
            "gates": score.verdict.is_some(),
            "value": score.value,
            "mean": score.past.mean,
            "deviation": score.past.deviation,
            "z": score.z,
            "commits": score.past.commits,
            "results": score.past.results,
            "outliers": score.past.outliers,
            "verdict": score.verdict,
            "reason": score.reason,
        })
    };
    json!({
        "case": result.key.case,
        "hardware": result.key.hardware,
        "context": result.key.context,
        "verdict": result.verdict(),
        "error": result.error,
        "metrics": result.metrics.iter().map(metric).collect::<Vec<_>>(),
    })
}

pub(crate) fn print_list(listing: &Listing) -> std::io::Result<()> {
    let out = &mut anstream::stdout().lock();
    for series in &listing.series {
        print_heading(out, &series.key)?;
        writeln!(out, "  {}:", line(&series.metric.name))?;
        grid::print(out, &table(series, &listing.commits))?;
        let unit = &series.metric.unit;
        let mean = value(series.next.mean, unit, "?");
        let deviation = value(series.next.deviation, unit, "?");
        let commits = text::count(series.next.commits as u64, "commit");
        writeln!(out, "  next: {mean} ± {deviation}, from {commits}")?;
    }
    Ok(())
}

/// A listed series, commit by commit.
pub(crate) fn table(series: &ListedSeries, commits: &[Commit]) -> TextTable {
    let rows = commits.iter().enumerate().flat_map(|(at, commit)| rows_of(series, at, commit));
    let unit = &series.metric.unit;
    TextTable::of(&rows.collect::<Vec<_>>())
        .text("commit", |of| abbreviated(&of.commit.id).to_owned())
        .numbers("value", |of| value(of.result.map(|result| result.value), unit, ""))
        .numbers("mean before", |of| {
            value(of.result.and_then(|result| result.statistics.mean_before), unit, "")
        })
        .numbers(Z, |of| {
            let z = of.result.and_then(|result| result.z(series.metric.better));
            z.map_or(String::new(), signed)
        })
        .text("subject", |of| text::cut(&line(&of.commit.summary), 50))
        .text("", |of| of.mark.clone())
        .styled(|of| of.verdict.map(verdict_style))
        .build()
}

/// A row of a listed series: an annotation, a result or a failure.
struct ListedRow<'a> {
    commit: &'a Commit,
    result: Option<&'a ListedValue>,
    mark: String,
    verdict: Option<Verdict>,
}

/// The rows of a commit: its annotations, results and failures.
fn rows_of<'a>(series: &'a ListedSeries, number: usize, commit: &'a Commit) -> Vec<ListedRow<'a>> {
    let row = |result, mark, verdict| ListedRow { commit, result, mark, verdict };
    let changes =
        series.changes.iter().filter(|(at, _)| *at == number).map(|(_, why)| {
            row(None, format!("change: {}", line(why)), Some(Verdict::Inconclusive))
        });
    let values = series.values.iter().filter(|result| result.commit == number).map(|result| {
        let mark = if result.statistics.is_outlier { "outlier" } else { "" };
        row(Some(result), mark.to_owned(), None)
    });
    let failures = series.failures.iter().filter(|(at, _)| *at == number).map(|(_, why)| {
        let mark = format!("failed: {}", text::cut(&line(why), 60));
        row(None, mark, Some(Verdict::Regression))
    });
    changes.chain(values).chain(failures).collect()
}
