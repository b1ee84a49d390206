//! All results, for other programs.

use std::collections::BTreeMap;
use std::time::{Duration, UNIX_EPOCH};

use cargo_cbdr::history::entry::{Entry, Measured, Noted, Series};
use serde_json::{Value, json};

use super::escape::line;
use super::json::print_line;
use crate::cli::ExportFormat;

/// The units that Conbench takes.
const CONBENCH_UNITS: [&str; 5] = ["B", "B/s", "s", "ns", "i/s"];

type All = BTreeMap<String, Noted>;

/// Prints everything; returns how many metrics had to be left out.
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
            let results: Vec<Value> = entries().flat_map(conbench).collect();
            print_line(&results)?;
            let unknown = |series: &&Series| !CONBENCH_UNITS.contains(&&*series.unit);
            let metrics = entries().flat_map(|entry| &entry.measured.metrics);
            Ok(metrics.filter(unknown).count())
        }
    }
}

/// Seconds since 1970 as people and programs write a time.
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
            let better = cargo_cbdr::metric::Better::from(series.better).name();
            for (number, value) in series.values.iter().enumerate() {
                let (number, value) = ((number + 1).to_string(), value.to_string());
                let (name, unit) = (cell(&series.name), cell(&series.unit));
                let own = [&*name, &unit, better, &number, &value];
                out.write_record(common.iter().map(String::as_str).chain(own))?;
            }
        }
    }
    out.flush()
}

/// A text of others in a cell: on one line, and, where a spreadsheet would take
/// it for a formula, behind an apostrophe. An option (`--quick`) is none.
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

/// A result as Conbench's interface takes it, for each metric of a unit that
/// it knows; one that failed once.
fn conbench(entry: &Entry) -> Vec<Value> {
    let measured = &entry.measured;
    if let Some(error) = &measured.error {
        return vec![conbench_of(entry, None, json!({ "error": { "message": error } }))];
    }
    let known = measured.metrics.iter().filter(|series| CONBENCH_UNITS.contains(&&*series.unit));
    let of = |series: &Series| {
        let stats = json!({ "stats": {
            "data": series.values,
            "unit": series.unit,
            "times": [],
            "time_unit": "s",
            "iterations": series.values.len(),
        } });
        conbench_of(entry, Some(&series.name), stats)
    };
    known.map(of).collect()
}

fn conbench_of(entry: &Entry, metric: Option<&str>, outcome: Value) -> Value {
    let Measured { repository, commit, case, hardware, context, .. } = &entry.measured;
    let mut tags = json!({ "name": case.shown(), "package": case.package,
        "subject": case.subject, "args": case.args.join(" ") });
    if let Some(metric) = metric {
        tags["metric"] = json!(metric);
    }
    // Conbench wants the whole address; what is not known of the machine is 0.
    let address =
        if repository.contains('/') { format!("https://{repository}") } else { String::new() };
    let mut result = json!({
        "run_id": entry.id,
        "batch_id": entry.id,
        "run_reason": "cargo cbdr history record",
        "run_tags": {},
        "timestamp": time(entry.time),
        "tags": tags,
        "context": {
            "benchmark_language": "Rust",
            "rustc": context.rustc,
            "host": context.host,
            "profile": context.profile,
            "features": context.features.join(" "),
            "flags": context.flags.join(" "),
        },
        "info": { "cargo_cbdr": env!("CARGO_PKG_VERSION") },
        "github": { "repository": address, "commit": commit },
        "machine_info": {
            "name": "",
            "architecture_name": hardware.arch,
            "kernel_name": "",
            "os_name": hardware.os.split(' ').next().unwrap_or_default(),
            "os_version": hardware.os.split_once(' ').map_or("", |(_, version)| version),
            "cpu_model_name": hardware.cpu,
            "cpu_l1d_cache_bytes": 0,
            "cpu_l1i_cache_bytes": 0,
            "cpu_l2_cache_bytes": 0,
            "cpu_l3_cache_bytes": 0,
            "cpu_core_count": hardware.cores,
            "cpu_thread_count": hardware.cores,
            "cpu_frequency_max_hz": 0,
            "memory_bytes": hardware.memory_mib * 1024 * 1024,
            "gpu_count": 0,
            "gpu_product_names": [],
        },
    });
    if let (Some(result), Value::Object(outcome)) = (result.as_object_mut(), outcome) {
        result.extend(outcome);
    }
    result
}
