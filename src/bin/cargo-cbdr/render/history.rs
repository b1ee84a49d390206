//! The output of `history record`, `history check` and `history list`.

use std::io::Write;

use cargo_cbdr::flows::history::check::{Judged, MetricScore, Report};
use cargo_cbdr::flows::history::entry::Key;
use cargo_cbdr::flows::history::record::Recorded;
use cargo_cbdr::flows::history::series::{Listed, Listing, Value};
use cargo_cbdr::model::metric::{Metric, Unit};
use cargo_cbdr::model::outcome::Verdict;
use cargo_cbdr::stats::lookback::best;
use cargo_cbdr::workspace::git::abbreviated;
use cargo_cbdr::workspace::git::line::Commit;
use serde_json::{Value as Json, json};

use super::escape::line;
use super::grid::{self, Column};
use super::json::print_line;
use crate::ui::{notices, text, verdict_style};

/// Prints what was recorded.
pub(crate) fn print_recorded(recorded: &Recorded) -> std::io::Result<()> {
    let mut out = anstream::stdout().lock();
    for result in &recorded.results {
        writeln!(out, "{}", heading(&result.key()))?;
        if let Some(error) = &result.error {
            let style = verdict_style(Verdict::Regression);
            writeln!(out, "  {style}failed{style:#}: {}", line(error))?;
            continue;
        }
        let columns = [Column::text("metric"), Column::numbers("best"), Column::numbers("runs")];
        let rows = result.metrics.iter().map(|series| {
            let metric = series.metric();
            let value = best(&series.values, metric.better);
            let value = value.map_or("-".to_owned(), |value| text::value(value, &metric.unit));
            ([metric.name, value, series.values.len().to_string()], None)
        });
        grid::print(&mut out, &columns, rows)?;
    }
    Ok(())
}

/// Prints it as one JSON object.
pub(crate) fn print_recorded_json(recorded: &Recorded) -> std::io::Result<()> {
    let object = json!({
        "schema": 1,
        "commit": recorded.revision.commit,
        "results": recorded.results,
        "notices": recorded.notices.iter().map(notices::notice).collect::<Vec<_>>(),
    });
    print_line(&object)
}

/// The benchmark of a result, and how and where it was measured, in two lines.
pub(crate) fn heading(key: &Key) -> String {
    let Key { case, context, hardware } = key;
    let args = match case.args.is_empty() {
        true => String::new(),
        false => format!(" {}", case.args.join(" ")),
    };
    let subject = format!("{}{args} ({} of {})", case.shown(), case.subject, case.package);
    let memory = text::value(hardware.memory_mib as f64 * 1024.0 * 1024.0, &Unit::Bytes);
    let cores = text::count(hardware.cores, "core");
    let mut parts = vec![context.rustc.clone(), context.profile.clone()];
    parts.extend(context.features.iter().chain(&context.flags).cloned());
    parts.extend([hardware.cpu.clone(), cores, memory, hardware.os.clone()]);
    parts.retain(|part| !part.is_empty());
    format!("{}\n  {}", line(&subject), line(&parts.join(", ")))
}

/// Prints the answer.
pub(crate) fn print_check(report: &Report) -> std::io::Result<()> {
    let mut out = anstream::stdout().lock();
    for judged in &report.results {
        writeln!(out, "{}", heading(&judged.key))?;
        if let Some(error) = &judged.error {
            let style = verdict_style(Verdict::Regression);
            writeln!(out, "  {style}failed{style:#}: {}", line(error))?;
            continue;
        }
        let columns = [
            Column::text("metric"),
            Column::numbers("value"),
            Column::numbers("mean"),
            Column::numbers("deviation"),
            Column::numbers("z"),
            Column::numbers("commits"),
            Column::numbers("outliers"),
            Column::text("verdict"),
        ];
        let rows = judged.metrics.iter();
        let rows = rows.map(|score| (cells(score), score.verdict.map(verdict_style)));
        grid::print(&mut out, &columns, rows)?;
        for reason in reasons(judged) {
            writeln!(out, "  {}", line(&reason))?;
        }
    }
    writeln!(out, "{}", past(report))?;
    let style = verdict_style(report.verdict);
    writeln!(out, "{style}{}{style:#}: {}", report.verdict, line(&summary(report)))
}

fn cells(score: &MetricScore) -> [String; 8] {
    let value = |value: Option<f64>| {
        value.map_or("-".to_owned(), |value| text::value(value, &score.metric.unit))
    };
    [
        score.metric.name.clone(),
        value(Some(score.value)),
        value(score.past.mean),
        value(score.past.deviation),
        score.z.map_or("-".to_owned(), z),
        score.past.commits.to_string(),
        score.past.outliers.to_string(),
        score.verdict.map_or(String::new(), |verdict| verdict.to_string()),
    ]
}

/// A z-score with its sign; positive is better.
fn z(z: f64) -> String {
    if z.abs() < 0.005 { "0.00".to_owned() } else { format!("{z:+.2}") }
}

/// Why metrics that decide have no verdict.
fn reasons(judged: &Judged) -> Vec<String> {
    let open = judged.metrics.iter().filter(|score| score.gates);
    let reason =
        |score: &MetricScore| Some(format!("{}: {}", score.metric.name, score.reason.as_ref()?));
    open.filter_map(reason).collect()
}

/// Which commits count as the past.
fn past(report: &Report) -> String {
    let Some((commit, rule)) = &report.baseline else {
        return "  There is no commit before this one.".to_owned();
    };
    let window = text::count(report.window as u64, "commit");
    let why = match rule.name() {
        "fork-point" => "where its branch left the default branch",
        "parent" => "its first parent",
        "latest" => "the latest of the default branch",
        _ => "as asked",
    };
    format!("  The past: {window} from {} on back, {why}.", abbreviated(commit))
}

fn summary(report: &Report) -> String {
    let failed = report.results.iter().filter(|judged| judged.error.is_some()).count();
    let scores = report
        .results
        .iter()
        .flat_map(|judged| judged.metrics.iter().map(move |score| (judged, score)));
    let mut gating = scores.filter(|(_, score)| score.gates);
    let limit = report.z_threshold;
    let of = |(judged, score): (&Judged, &MetricScore)| {
        format!("{} of {}", score.metric.name, judged.key.case.shown())
    };
    let z = |score: &MetricScore| score.z.map_or("?".to_owned(), z);
    match report.verdict {
        Verdict::Regression => gating
            .find(|(_, score)| score.verdict == Some(Verdict::Regression))
            .map_or(String::new(), |found| {
                format!("{} is {} deviations off; {limit} pass", of(found), z(found.1))
            }),
        Verdict::NoRegression => {
            let worst = gating.min_by(|one, other| {
                let z = |score: &MetricScore| score.z.unwrap_or(0.0);
                z(one.1).total_cmp(&z(other.1))
            });
            worst.map_or(String::new(), |found| {
                format!("{} is {} deviations off; -{limit} would not pass", of(found), z(found.1))
            })
        }
        _ if failed > 0 => {
            format!("{} failed when it was recorded", text::count(failed as u64, "benchmark"))
        }
        _ => gating
            .find(|(_, score)| score.reason.is_some())
            .and_then(|(_, score)| score.reason.clone())
            .unwrap_or("no metric decides".to_owned()),
    }
}

/// Prints the answer as one JSON object.
pub(crate) fn print_check_json(report: &Report) -> std::io::Result<()> {
    let baseline = report
        .baseline
        .as_ref()
        .map(|(commit, rule)| json!({ "commit": commit, "rule": rule.name() }));
    let skipped = report.skipped.example.as_ref().map(
        |(commit, why)| json!({ "lines": report.skipped.lines, "commit": commit, "why": why }),
    );
    let object = json!({
        "schema": 1,
        "verdict": report.verdict,
        "commit": report.revision.commit,
        "rev": report.revision.rev,
        "baseline": baseline,
        "window": report.window,
        "z_threshold": report.z_threshold,
        "min_history": report.min_history,
        "results": report.results.iter().map(judged).collect::<Vec<_>>(),
        "skipped": skipped,
    });
    print_line(&object)
}

fn judged(judged: &Judged) -> Json {
    json!({
        "case": judged.key.case,
        "hardware": judged.key.hardware,
        "context": judged.key.context,
        "verdict": judged.verdict(),
        "error": judged.error,
        "metrics": judged.metrics.iter().map(score).collect::<Vec<_>>(),
    })
}

fn score(score: &MetricScore) -> Json {
    json!({
        "name": score.metric.name,
        "unit": score.metric.unit,
        "better": score.metric.better,
        "gates": score.gates,
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
}

/// Prints the past.
pub(crate) fn print_list(listing: &Listing) -> std::io::Result<()> {
    let mut out = anstream::stdout().lock();
    for listed in &listing.series {
        let name = line(&listed.metric.name);
        writeln!(out, "{}\n  {name}:", heading(&listed.key))?;
        let columns = [
            Column::text("commit"),
            Column::numbers("value"),
            Column::numbers("mean before"),
            Column::numbers("z"),
            Column::text(""),
            Column::text(""),
        ];
        let commits = listing.commits.iter().enumerate();
        let rows = commits.flat_map(|(number, commit)| of_commit(listed, number, commit));
        grid::print(&mut out, &columns, rows)?;
        let value = |value: Option<f64>| {
            value.map_or("?".to_owned(), |value| text::value(value, &listed.metric.unit))
        };
        let (mean, deviation) = (value(listed.next.mean), value(listed.next.deviation));
        let commits = text::count(listed.next.commits as u64, "commit");
        writeln!(out, "  next: {mean} ± {deviation}, from {commits}")?;
    }
    Ok(())
}

/// The rows of a commit: one for each result, and its annotations.
fn of_commit(listed: &Listed, number: usize, commit: &Commit) -> Vec<grid::TableRow<6>> {
    let short = abbreviated(&commit.id).to_owned();
    let subject: String = line(&commit.summary).chars().take(50).collect();
    let row = |cells: [String; 3], mark: &str, style| {
        let [value, mean, z] = cells;
        ([short.clone(), value, mean, z, subject.clone(), mark.to_owned()], style)
    };
    let nothing = || ["", "", ""].map(str::to_owned);
    let mut rows = Vec::new();
    for (_, why) in listed.changes.iter().filter(|(at, _)| *at == number) {
        let mark = format!("change: {}", line(why));
        rows.push(row(nothing(), &mark, Some(verdict_style(Verdict::Inconclusive))));
    }
    for value in listed.values.iter().filter(|value| value.commit == number) {
        let mark = if value.row.is_outlier { "outlier" } else { "" };
        rows.push(row(numbers(value, &listed.metric), mark, None));
    }
    for (_, why) in listed.failures.iter().filter(|(at, _)| *at == number) {
        let why: String = line(why).chars().take(60).collect();
        rows.push(row(
            nothing(),
            &format!("failed: {why}"),
            Some(verdict_style(Verdict::Regression)),
        ));
    }
    rows
}

fn numbers(value: &Value, metric: &Metric) -> [String; 3] {
    let mean = value.row.mean_before.map(|mean| text::value(mean, &metric.unit));
    let score = value.z(metric.better).map(z);
    [text::value(value.value, &metric.unit), mean.unwrap_or_default(), score.unwrap_or_default()]
}
