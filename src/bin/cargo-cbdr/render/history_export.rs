//! `history export`: all results, for other programs.

use std::collections::BTreeMap;
use std::time::{Duration, UNIX_EPOCH};

use cargo_cbdr::exec::machine::Description;
use cargo_cbdr::flows::history::entry::{Entry, Measured, Noted, Series};
use serde_json::{Value, json};

use super::conbench;
use super::escape::line;
use super::json::print_line;
use crate::cli::ExportFormat;

type All = BTreeMap<String, Noted>;

/// Prints all results. Returns how many metrics the format has no place for.
pub(crate) fn print(all: &All, format: ExportFormat) -> std::io::Result<usize> {
    match format {
        ExportFormat::Csv => csv(all).map(|()| 0),
        ExportFormat::Json => {
            let object = json!({
                "schema": 1,
                "commits": all.iter().map(|(c, noted)| of_commit(c, noted)).collect::<Vec<_>>(),
            });
            print_line(&object).map(|()| 0)
        }
        ExportFormat::Conbench => {
            let entries = || all.values().flat_map(|noted| &noted.entries);
            let results: Vec<Value> = entries().flat_map(results).collect();
            print_line(&results)?;
            let unknown = |series: &&Series| !conbench::takes(&series.unit);
            let metrics = entries().flat_map(|entry| &entry.measured.metrics);
            Ok(metrics.filter(unknown).count())
        }
    }
}

/// Seconds since 1970 as RFC 3339 has them.
fn time(seconds: f64) -> String {
    let time = UNIX_EPOCH + Duration::from_secs_f64(seconds.clamp(0.0, 1e11));
    humantime::format_rfc3339_millis(time).to_string()
}

/// The columns of the rows.
const COLUMNS: [&str; 20] = [
    "commit",
    "time",
    "id",
    "repository",
    "benchmark",
    "package",
    "subject",
    "args",
    "cpu",
    "cores",
    "memory_mib",
    "os",
    "rustc",
    "host",
    "profile",
    "features",
    "error",
    "metric",
    "unit",
    "better",
];

fn csv(all: &All) -> std::io::Result<()> {
    let mut out = csv::Writer::from_writer(std::io::stdout().lock());
    let columns = COLUMNS.into_iter().chain(["repetition", "value"]);
    out.write_record(columns)?;
    for entry in all.values().flat_map(|noted| &noted.entries) {
        let common = common(entry);
        if entry.measured.metrics.is_empty() {
            out.write_record(common.iter().map(String::as_str).chain(["", "", "", "", ""]))?;
        }
        for series in &entry.measured.metrics {
            let better = series.better.to_string();
            for (number, value) in series.values.iter().enumerate() {
                let (number, value) = ((number + 1).to_string(), value.to_string());
                let (name, unit) = (cell(&series.name), cell(&series.unit));
                let own = [&*name, &unit, &better, &number, &value];
                out.write_record(common.iter().map(String::as_str).chain(own))?;
            }
        }
    }
    out.flush()
}

/// A text in a cell, on one line. Where a spreadsheet would take it for a formula an
/// apostrophe stands before it; an option (`--quick`) is no formula.
fn cell(text: &str) -> String {
    let text = line(text);
    let is_formula = match text.trim_start().chars().next() {
        Some('=' | '+' | '@') => true,
        Some('-') => text.contains(['(', '|', '!']),
        _ => false,
    };
    if is_formula { format!("'{text}") } else { text }
}

/// The cells of a result that are the same in all of its rows.
fn common(entry: &Entry) -> Vec<String> {
    let Measured { repository, commit, case, hardware, context, error, .. } = &entry.measured;
    let cells = vec![
        commit.clone(),
        time(entry.time),
        entry.id.clone(),
        repository.clone(),
        case.shown(),
        case.package.clone(),
        case.subject.clone(),
        case.args.join(" "),
        hardware.cpu.clone(),
        hardware.cores.to_string(),
        hardware.memory_mib.to_string(),
        hardware.os.clone(),
        context.rustc.clone(),
        context.host.clone(),
        context.profile.clone(),
        context.features.join(" "),
        error.clone().unwrap_or_default(),
    ];
    cells.iter().map(|text| cell(text)).collect()
}

fn of_commit(commit: &str, noted: &Noted) -> Value {
    let result = |entry: &Entry| json!({ "id": entry.id, "time": time(entry.time), "result": entry.measured });
    let changes = noted.changes.iter().map(|change| json!({ "id": change.id, "why": change.why }));
    json!({
        "commit": commit,
        "results": noted.entries.iter().map(result).collect::<Vec<_>>(),
        "changes": changes.collect::<Vec<_>>(),
    })
}

/// The results that Conbench takes: one for each metric of a unit that it
/// knows, or one that says that the benchmark failed.
fn results(entry: &Entry) -> Vec<Value> {
    if let Some(error) = &entry.measured.error {
        let mut failed = result(entry, None);
        failed["error"] = json!({ "message": error });
        return vec![failed];
    }
    let known = entry.measured.metrics.iter().filter(|series| conbench::takes(&series.unit));
    let of = |series: &Series| {
        let mut result = result(entry, Some(&series.name));
        result["stats"] = conbench::stats(&series.values, &series.unit, series.values.len());
        result
    };
    known.map(of).collect()
}

fn result(entry: &Entry, metric: Option<&str>) -> Value {
    let Measured { repository, commit, case, hardware, context, .. } = &entry.measured;
    let mut tags = json!({ "name": case.shown(), "package": case.package,
        "subject": case.subject, "args": case.args.join(" ") });
    if let Some(metric) = metric {
        tags["metric"] = json!(metric);
    }
    // Conbench wants the whole address.
    let address =
        if repository.contains('/') { format!("https://{repository}") } else { String::new() };
    let (os, version) = hardware.os.split_once(' ').unwrap_or((&hardware.os, ""));
    let machine = Description {
        processor: Some(hardware.cpu.clone()),
        threads: hardware.cores,
        cores: Some(hardware.cores),
        memory: Some(hardware.memory_mib * 1024 * 1024),
        system: Some(version.to_owned()),
        ..Description::default()
    };
    let mut result = conbench::result(
        &entry.id,
        "cargo cbdr history record",
        &time(entry.time),
        tags,
        conbench::machine("", &hardware.arch, os, &machine),
        json!({ "repository": address, "commit": commit }),
    );
    result["context"] = json!({
        "benchmark_language": "Rust",
        "rustc": context.rustc,
        "host": context.host,
        "profile": context.profile,
        "features": context.features.join(" "),
        "flags": context.flags.join(" "),
    });
    result
}
