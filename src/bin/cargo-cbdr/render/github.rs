//! The result as annotations of a GitHub workflow, and the summary of its job.

use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use cargo_cbdr::model::outcome::{OnDoubt, Outcome, Verdict};

use super::escape::{command_data, command_property};
use super::{answer, markdown, words};
use crate::ui::{grouped, notices, text};

/// Where the summary of the job is, if there is one.
pub(super) fn summary() -> Option<PathBuf> {
    let path = std::env::var_os("GITHUB_STEP_SUMMARY").filter(|path| !path.is_empty());
    path.map(PathBuf::from)
}

/// Opens the summary of the job. Earlier steps may have written to it.
pub(super) fn open_summary(path: &Path) -> io::Result<File> {
    let file = fs_err::OpenOptions::new().create(true).append(true).open(path)?;
    Ok(file.into_parts().0)
}

/// Appends to the summary of the job.
pub(super) fn write_summary(mut file: &File, outcome: &Outcome) -> io::Result<()> {
    // With one write, since other steps may write, too.
    file.write_all(format!("{}\n", markdown::summary(outcome)).as_bytes())
}

/// Prints an annotation for each metric that does not pass, one for each way in
/// which the branch changes its own gate, and one for the overall verdict.
pub(super) fn print(outcome: &Outcome) -> io::Result<()> {
    let outcome = &*words::readable(outcome);
    let mut out = io::stdout().lock();
    let doubt = |policy| if policy == OnDoubt::Fail { "error" } else { "warning" };
    let worst_first = words::worst_first(outcome).into_iter();
    for (benchmark, metric) in worst_first.filter(|(_, metric)| metric.gates) {
        let level = match metric.verdict {
            Some(Verdict::Regression) => "error",
            Some(Verdict::Inconclusive) => doubt(outcome.policy.on_inconclusive),
            _ => continue,
        };
        let verdict = metric.verdict.map(text::verdict).unwrap_or_default();
        let title = format!("{verdict}: {} of {}", metric.name, benchmark.name);
        writeln!(out, "{}", annotation(level, &title, &words::sentence(benchmark, metric)))?;
    }
    for notice in &outcome.notices {
        let title = match notice {
            notice if notice.is_about_settings() => "cargo cbdr: settings",
            notice if notice.is_about_length() => "cargo cbdr: run length",
            _ => continue,
        };
        writeln!(out, "{}", annotation("warning", title, &grouped::text(notice)))?;
    }
    if !outcome.removed.is_empty() {
        let message = notices::removed(&outcome.removed);
        let annotation =
            annotation(doubt(outcome.policy.on_removed), "cargo cbdr: removed", &message);
        writeln!(out, "{annotation}")?;
    }
    let level = match outcome.verdict {
        Some(Verdict::NoBaseline) => doubt(outcome.policy.on_no_baseline),
        _ => "notice",
    };
    let title = format!("cargo cbdr: {}", answer::title(outcome));
    let answer = answer::answer(outcome).to_string();
    writeln!(out, "{}", annotation(level, &title, &answer))
}

fn annotation(level: &str, title: &str, message: &str) -> String {
    format!("::{level} title={}::{}", command_property(title), command_data(message))
}
