//! `history export`: all stored results, for other programs.

use std::collections::BTreeMap;
use std::time::{Duration, UNIX_EPOCH};

use cargo_cbdr::exec::machine::Description;
use cargo_cbdr::flows::history::note::{CommitNote, NotedResult, StoredMetric};
use serde_json::{Value, json};

use super::conbench;
use super::escape::line;
use super::json::print_line;
use crate::cli::ExportFormat;

/// Prints the notes of all commits; returns the number of metrics that had to be left out.
pub(crate) fn print(
    notes: &BTreeMap<String, CommitNote>,
    format: ExportFormat,
) -> std::io::Result<usize> {
    match format {
        ExportFormat::Csv => {
            csv(notes)?;
            Ok(0)
        }
        ExportFormat::Json => {
            let commits = notes.iter().map(|(commit, note)| commit_json(commit, note));
            print_line(&json!({ "schema": 1, "commits": commits.collect::<Vec<_>>() }))?;
            Ok(0)
        }
        ExportFormat::Conbench => {
            let mut results = Vec::new();
            let mut left_out = 0;
            for noted in notes.values().flat_map(|note| &note.results) {
                if let Some(error) = &noted.result.error {
                    let mut failed = conbench_json(noted, None);
                    failed["error"] = json!({ "message": error });
                    results.push(failed);
                }
                for StoredMetric { name, unit, values, .. } in &noted.result.metrics {
                    if !conbench::takes(unit) {
                        left_out += 1;
                    } else if noted.result.error.is_none() {
                        let mut result = conbench_json(noted, Some(name));
                        result["stats"] = conbench::stats(values, unit, values.len());
                        results.push(result);
                    }
                }
            }
            print_line(&results)?;
            Ok(left_out)
        }
    }
}

/// Seconds since 1970 as RFC 3339 has them.
fn rfc3339(seconds: f64) -> String {
    let time = UNIX_EPOCH + Duration::from_secs_f64(seconds.clamp(0.0, 1e11));
    humantime::format_rfc3339_millis(time).to_string()
}

/// The columns of the rows: those of a result, and five of a repetition.
const COLUMNS: &str = "commit,time,id,repository,benchmark,package,subject,args,\
                       cpu,cores,memory_mib,os,rustc,host,profile,features,error,\
                       metric,unit,better,repetition,value";

fn csv(notes: &BTreeMap<String, CommitNote>) -> std::io::Result<()> {
    let mut out = csv::Writer::from_writer(std::io::stdout().lock());
    out.write_record(COLUMNS.split(','))?;
    for noted in notes.values().flat_map(|note| &note.results) {
        let NotedResult { id, time, result } = noted;
        let of_result: [&str; 17] = [
            &result.commit,
            &rfc3339(*time),
            id,
            &result.repository,
            &result.case.full_name(),
            &result.case.package,
            &result.case.subject,
            &result.case.args.join(" "),
            &result.hardware.cpu,
            &result.hardware.cores.to_string(),
            &result.hardware.memory_mib.to_string(),
            &result.hardware.os,
            &result.context.rustc,
            &result.context.host,
            &result.context.profile,
            &result.context.features.join(" "),
            result.error.as_deref().unwrap_or_default(),
        ];
        let of_result = of_result.map(cell);
        let mut write = |of_repetition: [&str; 5]| {
            out.write_record(of_result.iter().map(String::as_str).chain(of_repetition))
        };
        if result.metrics.is_empty() {
            write([""; 5])?;
        }
        for metric in &result.metrics {
            let (name, unit) = (cell(&metric.name), cell(&metric.unit));
            let better = metric.better.to_string();
            for (repetition, value) in (1_u32..).zip(&metric.values) {
                let (repetition, value) = (repetition.to_string(), value.to_string());
                write([&name, &unit, &better, &repetition, &value])?;
            }
        }
    }
    out.flush()
}

/// A text from other sources in a cell: on one line, and after an apostrophe if a
/// spreadsheet would treat it as a formula. An option (`--quick`) is not one.
fn cell(text: &str) -> String {
    let text = line(text);
    let is_formula = match text.trim_start().chars().next() {
        Some('=' | '+' | '@') => true,
        Some('-') => text.contains(['(', '|', '!']),
        _ => false,
    };
    if is_formula { format!("'{text}") } else { text }
}

fn commit_json(commit: &str, note: &CommitNote) -> Value {
    let results = note.results.iter().map(|NotedResult { id, time, result }| {
        json!({ "id": id, "time": rfc3339(*time), "result": result })
    });
    let changes =
        note.annotations.iter().map(|change| json!({ "id": change.id, "why": change.why }));
    json!({
        "commit": commit,
        "results": results.collect::<Vec<_>>(),
        "changes": changes.collect::<Vec<_>>(),
    })
}

/// A result in Conbench's format, without its values or its error.
fn conbench_json(noted: &NotedResult, metric: Option<&str>) -> Value {
    let NotedResult { id, time, result } = noted;
    let (case, hardware, context) = (&result.case, &result.hardware, &result.context);
    let mut tags = json!({
        "name": case.full_name(),
        "package": case.package,
        "subject": case.subject,
        "args": case.args.join(" "),
    });
    if let Some(metric) = metric {
        tags["metric"] = json!(metric);
    }
    // Conbench needs the complete address.
    let address = match result.repository.contains('/') {
        true => format!("https://{}", result.repository),
        false => String::new(),
    };
    let (os, version) = hardware.os.split_once(' ').unwrap_or((&hardware.os, ""));
    let machine = Description {
        processor: Some(hardware.cpu.clone()),
        threads: hardware.cores,
        cores: Some(hardware.cores),
        memory: Some(hardware.memory_mib * 1024 * 1024),
        system: Some(version.to_owned()),
        ..Description::default()
    };
    let mut json = conbench::result(
        id,
        "cargo cbdr history record",
        &rfc3339(*time),
        tags,
        conbench::machine("", &hardware.arch, os, &machine),
        json!({ "repository": address, "commit": result.commit }),
    );
    json["context"] = json!({
        "benchmark_language": "Rust",
        "rustc": context.rustc,
        "host": context.host,
        "profile": context.profile,
        "features": context.features.join(" "),
        "flags": context.flags.join(" "),
    });
    json
}
