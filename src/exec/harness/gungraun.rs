//! Gungraun, formerly iai-callgrind (0.14 and later): each benchmark runs under valgrind,
//! which counts what a simulated processor does.
//!
//! An executable passes its benchmarks to a runner of the same version, a program that is
//! installed separately, which runs the executable once for each of them. With
//! `--output-format=json` the runner prints a line of JSON for each benchmark, and all else
//! to standard error. Its own comparison with an earlier run is never used: each run gets
//! an empty folder.

use std::ffi::OsString;

use serde_json::Value;

use super::definition::Definition;
use super::report::{Error, reading, set, text};
use crate::exec::process::Command;
use crate::model::{ALLOCATED_BYTES, ALLOCATIONS, Dialect, Reading, Values};

/// In the message of those that don't find their runner, of all versions.
const RUNNER: &str = "-runner in your $PATH";

/// How the names of the variables begin that stand in for flags.
const PREFIXES: [&str; 2] = ["GUNGRAUN_", "IAI_CALLGRIND_"];

/// The variables of them that name a folder for what is kept.
const HOME: &str = "HOME";

/// Those that would compare with, or replace, what another run has kept, or that run
/// nothing at all.
const OTHER_RUNS: [&str; 4] = ["BASELINE", "SAVE_BASELINE", "LOAD_BASELINE", "LIST"];

pub(super) static GUNGRAUN: Definition = Definition {
    dialect: Dialect::Gungraun,
    marks: &["--lib|-bench", "--bin|-bench", "-runner in |your $PATH"],
    words: &[RUNNER],
    exact: Some(RUNNER),
    set_up: |_, command, paths| {
        for prefix in PREFIXES {
            command.set_var(&format!("{prefix}{HOME}"), paths.output.clone());
            let others = OTHER_RUNS.map(|name| format!("{prefix}{name}"));
            command.env.retain(|(name, _)| others.iter().all(|other| name != other.as_str()));
        }
        vec![("--output-format", Some("json".to_owned()))]
    },
    timed: |_, _, _| Vec::new(),
    only,
    matching: |filter| vec![filter.into()],
    read: |paths| read(&text(&paths.stdout)?),
};

/// The variable that names tools to run besides callgrind, each in a run of its own.
const TOOLS: &str = "TOOLS";

/// The names of what callgrind, cachegrind and DHAT count, and the metrics that these are. What
/// DHAT has of a peak is that of the whole process, not of the benchmark.
const COUNTS: [(&str, &str); 7] = [
    ("Ir", "instructions_cachegrind"),
    ("L1hits", "l1_hits_cachegrind"),
    ("LLhits", "last_level_hits_cachegrind"),
    ("RamHits", "ram_hits_cachegrind"),
    ("EstimatedCycles", "estimated_cycles_cachegrind"),
    ("TotalBlocks", ALLOCATIONS),
    ("TotalBytes", ALLOCATED_BYTES),
];

/// Lets DHAT count allocations, too, unless the user has chosen the tools.
pub(super) fn count_allocations(command: &mut Command) {
    for prefix in PREFIXES {
        let name = format!("{prefix}{TOOLS}");
        if command.var(&name).is_none() {
            command.set_var(&name, "dhat");
        }
    }
}

/// The argument with which this one runs. There is a single filter, which iai-callgrind
/// looks for in the names, and which gungraun takes for a pattern of the whole name; a full
/// name means the same to both. Of several it could not.
pub(super) fn only(names: &[&str]) -> Vec<OsString> {
    match names {
        [name] if !name.contains(['*', '?', '[', ']']) => vec![name.into()],
        _ => Vec::new(),
    }
}

/// The benchmarks in the lines of a run.
pub(super) fn read(printed: &str) -> Result<Vec<Reading>, Error> {
    let summaries = printed.lines().filter(|line| line.starts_with('{'));
    summaries.map(summary).collect()
}

/// One benchmark.
fn summary(line: &str) -> Result<Reading, Error> {
    let bad = |error: serde_json::Error| {
        Error::Unreadable(format!("a line is not the summary of a benchmark: {error}"))
    };
    let summary: Value = serde_json::from_str(line).map_err(bad)?;
    let word = |key: &str| summary[key].as_str();
    let path = word("module_path").ok_or_else(|| {
        Error::Unreadable("a summary has no `module_path`: the benchmark has no name".to_owned())
    })?;
    let name = word("id").map_or(path.to_owned(), |id| format!("{path}::{id}"));
    let counts = counts(&summary);
    let mut values = Values::default();
    for (count, metric) in COUNTS {
        // A simulation without caches counts instructions alone.
        if let Some(value) = counts.iter().find_map(|counts| counts.get(count)).and_then(value) {
            set(&mut values, metric, value)?;
        }
    }
    match values.metrics().is_empty() {
        true => Err(Error::Unreadable(format!(
            "the summary of `{name}`, of version {}, has no counts of callgrind, cachegrind or \
             DHAT",
            word("version").unwrap_or("unknown")
        ))),
        false => Ok(reading(name, values)),
    }
}

/// What each tool counts in a whole run, by name. The form changed: up to iai-callgrind 0.14, up
/// to gungraun 0.19, and after that.
fn counts(summary: &Value) -> Vec<&Value> {
    let profiles = summary["profiles"].as_array().into_iter().flatten();
    let of_profiles = profiles.flat_map(|profile| {
        let tools = ["Callgrind", "Cachegrind", "DHAT"].into_iter();
        tools.filter(|tool| profile["tool"] == **tool).flat_map(move |tool| {
            [&profile["data"]["total"]["metrics"], &profile["summaries"]["total"]["summary"][tool]]
        })
    });
    let earlier = &summary["callgrind_summary"]["callgrind_run"]["total"]["summary"];
    of_profiles.chain([earlier]).collect()
}

/// The value of this run, as each form has it.
fn value(count: &Value) -> Option<f64> {
    let left = &count["metrics"]["Left"];
    [&count["values"]["new"], &left["Int"], &left["Float"], left]
        .into_iter()
        .find_map(Value::as_f64)
}

/// What to do about a failure that this text reports.
pub(crate) fn advice(stderr: &str) -> Option<String> {
    if stderr.contains("'valgrind' could not be found") {
        let hint = "install valgrind, or add it to PATH: these benchmarks run under it";
        return Some(hint.to_owned());
    }
    let has_runner = |library: &&str| stderr.contains(&format!("{library}-runner"));
    let library = ["gungraun", "iai-callgrind"].into_iter().find(has_runner)?;
    let install = format!(
        "`cargo install {library}-runner --version VERSION`, with the version of `{library}` in \
         `Cargo.lock`"
    );
    if stderr.contains(RUNNER) {
        Some(format!("the program that runs these benchmarks is missing: {install}"))
    } else if stderr.contains(") is newer than ") || stderr.contains(") is older than ") {
        Some(format!(
            "a runner only runs benchmarks of its own version: {install}; sides with different \
             versions can't be compared"
        ))
    } else {
        None
    }
}

#[cfg(test)]
mod tests;
