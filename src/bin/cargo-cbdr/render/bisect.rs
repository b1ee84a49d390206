//! Which commit brought the regression.

use std::io::Write;

use cargo_cbdr::flows::bisect::Report;
use cargo_cbdr::flows::bisect::state::{CommitOutcome, Step};
use cargo_cbdr::model::outcome::Verdict;
use cargo_cbdr::workspace::git::line::Commit;
use serde_json::{Value, json};

use super::escape::line;
use super::json::print_line;
use crate::ui::{text, verdict_style};

/// Prints the answer.
pub(crate) fn print(report: &Report) -> std::io::Result<()> {
    let mut out = anstream::stdout().lock();
    let style = verdict_style(report.verdict);
    let verdict = report.verdict;
    let (good, bad) = (line(&report.good.rev), line(&report.bad.rev));
    let what = match (verdict, report.guilty.as_slice()) {
        (Verdict::Regression, [only]) => {
            format!("{} brought it", line(&text::described(only)))
        }
        (Verdict::Regression, several) => {
            format!("one of {} commits brought it; those between could not be tried", several.len())
        }
        (Verdict::NoRegression, _) => {
            format!("{bad} is not slower than {good} by more than passes")
        }
        _ => format!("whether {bad} is slower than {good} stayed open"),
    };
    writeln!(out, "{style}{verdict}{style:#}: {what}")?;
    for guilty in &report.guilty {
        let by = line(&guilty.author);
        match report.guilty.len() {
            1 => writeln!(out, "  commit {} by {by}", guilty.id)?,
            _ => writeln!(out, "  {} by {by}", line(&text::described(guilty)))?,
        }
        if let Some(step) = report.steps.iter().find(|step| step.commit == guilty.id) {
            writeln!(out, "    against {good}: {}", line(&text::tried(step)))?;
        }
    }
    if verdict != Verdict::Inconclusive {
        let confidence = text::rounded(100.0 * report.confidence);
        writeln!(
            out,
            "  Right with a probability of at least {confidence}%, if the change, once in, stayed."
        )?;
    }
    writeln!(out, "  {}", effort(report))
}

/// How much was tried and measured.
fn effort(report: &Report) -> String {
    let count = |is: fn(&Step) -> bool| report.steps.iter().filter(|step| is(step)).count() as u64;
    let tried = text::count(report.steps.len() as u64, "commit");
    let (comparisons, runs) = (count(|step| step.measured.is_some()), 2 * pairs(report));
    let mut parts = vec![
        format!("{tried} tried"),
        text::count(comparisons, "comparison"),
        text::count(runs, "measured run"),
    ];
    for (skipped, what) in [
        (count(|step| step.outcome == CommitOutcome::Inconclusive), "inconclusive"),
        (count(|step| step.outcome == CommitOutcome::Unusable), "that could not be built or run"),
    ] {
        if skipped > 0 {
            parts.push(format!("{skipped} {what}"));
        }
    }
    format!("{}.", parts.join(", "))
}

fn pairs(report: &Report) -> u64 {
    report.steps.iter().filter_map(|step| step.measured.as_ref()).map(|m| m.pairs).sum()
}

/// Prints the answer as one JSON object.
pub(crate) fn print_json(report: &Report) -> std::io::Result<()> {
    let guilty = |commit: &Commit| json!({ "commit": commit.id, "summary": commit.summary, "author": commit.author });
    let object: Value = json!({
        "schema": 1,
        "verdict": report.verdict,
        "good": report.good,
        "bad": report.bad,
        "guilty": report.guilty.iter().map(guilty).collect::<Vec<_>>(),
        "confidence": report.confidence,
        "runs": 2 * pairs(report),
        "steps": report.steps,
    });
    print_line(&object)
}
