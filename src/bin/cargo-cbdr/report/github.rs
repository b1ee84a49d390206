//! The result as annotations of a GitHub workflow, and the summary of its job.

use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use cargo_cbdr::model::outcome::{OnDoubt, Verdict};

use super::escape::{command_data, command_property};
use super::markdown;
use super::outcome::{Outcome, sentence};
use crate::ui::notices;

/// Where the summary of the job is, if there is one.
pub(super) fn summary() -> Option<PathBuf> {
    let path = std::env::var_os("GITHUB_STEP_SUMMARY").filter(|path| !path.is_empty());
    path.map(PathBuf::from)
}

/// Opens the summary of the job, which others may have begun.
pub(super) fn open_summary(path: &Path) -> io::Result<File> {
    let file = fs_err::OpenOptions::new().create(true).append(true).open(path)?;
    Ok(file.into_parts().0)
}

/// Appends to the summary of the job.
pub(super) fn write_summary(mut file: &File, outcome: &Outcome<'_>) -> io::Result<()> {
    // In one piece: other steps may write, too.
    file.write_all(format!("{}\n", markdown::summary(outcome)).as_bytes())
}

/// Prints an annotation for each metric that is no pass, one for each way in which
/// the branch changes its own gate, and one for the whole.
pub(super) fn print(outcome: &Outcome<'_>) -> io::Result<()> {
    let mut out = io::stdout().lock();
    let doubt = |policy| if policy == OnDoubt::Fail { "error" } else { "warning" };
    for (benchmark, metric) in outcome.gates() {
        let level = match metric.verdict {
            Some(Verdict::Regression) => "error",
            Some(Verdict::Inconclusive) => doubt(outcome.on_inconclusive),
            _ => continue,
        };
        let verdict = metric.verdict.map_or("", Verdict::name);
        let title = format!("{verdict}: {} of {}", metric.metric.name, benchmark.name);
        writeln!(out, "{}", annotation(level, &title, &sentence(benchmark, metric)))?;
    }
    for notice in &outcome.of_tables {
        writeln!(out, "{}", annotation("warning", "cargo cbdr: settings", notice))?;
    }
    if !outcome.removed.is_empty() {
        let message = notices::removed(outcome.removed);
        let annotation = annotation(doubt(outcome.on_removed), "cargo cbdr: removed", &message);
        writeln!(out, "{annotation}")?;
    }
    let level = match outcome.verdict {
        Some(Verdict::NoBaseline) => doubt(outcome.on_no_baseline),
        _ => "notice",
    };
    let title = format!("cargo cbdr: {}", outcome.headline());
    writeln!(out, "{}", annotation(level, &title, &outcome.reason))
}

fn annotation(level: &str, title: &str, message: &str) -> String {
    format!("::{level} title={}::{}", command_property(title), command_data(message))
}
