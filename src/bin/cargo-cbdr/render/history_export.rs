//! `history export`: all stored results, for other programs.

use std::collections::BTreeMap;
use std::io;
use std::time::{Duration, UNIX_EPOCH};

use cargo_cbdr::flows::history::note::{CommitNote, NotedResult, ResultKey};
use serde_json::{Value, json};

use super::escape::line;
use super::json::print_line;
use super::outputs::unprinted;
use crate::cli::ExportFormat;

/// Prints the notes of all commits.
pub(crate) fn print(notes: &BTreeMap<String, CommitNote>, format: ExportFormat) -> io::Result<()> {
    match format {
        ExportFormat::Csv => csv(notes).map_err(unprinted),
        ExportFormat::Json => {
            let commits = notes.iter().map(|(commit, note)| commit_json(commit, note));
            print_line(&json!({ "schema": 1, "commits": commits.collect::<Vec<_>>() }))
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

fn csv(notes: &BTreeMap<String, CommitNote>) -> io::Result<()> {
    let mut out = csv::Writer::from_writer(io::stdout().lock());
    out.write_record(COLUMNS.split(','))?;
    for NotedResult { id, time, result } in notes.values().flat_map(|note| &note.results) {
        let ResultKey { case, hardware, context } = &result.key;
        let of_result: [&str; 17] = [
            &result.commit,
            &rfc3339(*time),
            id,
            &result.repository,
            &case.full_name(),
            &case.package,
            &case.subject,
            &case.args.join(" "),
            &hardware.cpu,
            &hardware.cores.to_string(),
            &hardware.memory_mib.to_string(),
            &hardware.os,
            &context.rustc,
            &context.host,
            &context.profile,
            &context.features.join(" "),
            result.error.as_deref().unwrap_or_default(),
        ];
        let of_result = of_result.map(cell);
        let repetitions = result.metrics.iter().flat_map(|metric| {
            let (name, unit, better) = (cell(&metric.name), cell(&metric.unit), metric.better);
            (1_u32..).zip(&metric.values).map(move |(number, value)| {
                [
                    name.clone(),
                    unit.clone(),
                    better.to_string(),
                    number.to_string(),
                    value.to_string(),
                ]
            })
        });
        let without = result.metrics.is_empty().then(Default::default);
        for of_repetition in repetitions.chain(without) {
            out.write_record(of_result.iter().chain(&of_repetition))?;
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
