//! The commit that introduced a regression.

use cargo_cbdr::flows::bisect::{BisectReport, BisectStep, StepOutcome};
use cargo_cbdr::model::outcome::Verdict;
use cargo_cbdr::workspace::git::abbreviated;
use cargo_cbdr::workspace::git::line::Commit;
use serde_json::{Value, json};

use super::escape::line;
use crate::ui::fold::paragraph;
use crate::ui::{text, verdict_style};

pub(crate) fn answer(report: &BisectReport) -> String {
    let verdict = report.verdict;
    let style = verdict_style(verdict);
    let (good, bad) = (line(text::name(&report.good)), line(text::name(&report.bad)));
    let answer = match (verdict, report.guilty.as_slice()) {
        (Verdict::Regression, [only]) => format!("{} introduced it", line(&described(only))),
        (Verdict::Regression, several) => format!(
            "one of {} commits introduced it; only the last of them has a verdict",
            several.len()
        ),
        (Verdict::NoRegression, _) => {
            format!("{bad} is not slower than {good} by more than the threshold")
        }
        _ => format!("it is undecided whether {bad} is slower than {good}"),
    };
    let answer = format!("{style}{}{style:#}: {answer}", text::verdict(verdict));
    let mut out = paragraph(&answer, 2);
    for guilty in &report.guilty {
        let author = line(&guilty.author);
        out += &match report.guilty.len() {
            1 => format!("  commit {} by {author}\n", guilty.id),
            _ => format!("  {} by {author}\n", line(&described(guilty))),
        };
        if let Some(step) = report.steps.iter().find(|step| step.commit == guilty.id) {
            out += &paragraph(&format!("    against {good}: {}", line(&tried(step))), 6);
        }
    }
    if verdict != Verdict::Inconclusive {
        let confidence = text::fraction(report.confidence);
        let right = format!(
            "  Correct with a probability of at least {confidence}, provided that the regression \
             stayed once it was introduced."
        );
        out += &paragraph(&right, 2);
    }
    out + &paragraph(&format!("  {}", effort(report)), 2)
}

/// A commit by its first letters and its subject.
pub(crate) fn described(commit: &Commit) -> String {
    format!("{} {}", abbreviated(&commit.id), text::cut(&commit.summary, 60))
}

/// The result for a commit.
pub(crate) fn tried(step: &BisectStep) -> String {
    let mut tried = step.outcome.name().to_owned();
    if let Some(measured) = &step.measured {
        let change = measured.change.map_or("?".to_owned(), text::percent);
        let interval = text::bounds(measured.lower, measured.upper);
        let pairs = text::count(measured.pairs, "pair");
        let time = text::seconds(measured.seconds);
        tried += &format!(", {change} {interval}, {pairs}, {time}");
    }
    if let Some(why) = &step.why {
        tried += &format!(": {why}");
    }
    tried
}

fn effort(report: &BisectReport) -> String {
    let with = |outcome| report.steps.iter().filter(|step| step.outcome == outcome).count();
    let comparisons = report.steps.iter().filter(|step| step.measured.is_some()).count();
    let mut effort = format!(
        "{} tried, {}, {}",
        text::count(report.steps.len() as u64, "commit"),
        text::count(comparisons as u64, "comparison"),
        text::count(runs(report), "measured run"),
    );
    for (skipped, what) in [
        (with(StepOutcome::Inconclusive), "inconclusive"),
        (with(StepOutcome::Unusable), "that could not be built or run"),
    ] {
        if skipped > 0 {
            effort += &format!(", {skipped} {what}");
        }
    }
    effort + "."
}

/// How many runs were measured.
fn runs(report: &BisectReport) -> u64 {
    let measured = report.steps.iter().filter_map(|step| step.measured.as_ref());
    measured.map(|measured| 2 * measured.pairs).sum()
}

/// The result as one JSON object.
pub(crate) fn json(report: &BisectReport) -> Value {
    let guilty = report.guilty.iter().map(|Commit { id, summary, author, .. }| {
        json!({ "commit": id, "summary": summary, "author": author })
    });
    json!({
        "schema": 1,
        "verdict": report.verdict,
        "good": report.good,
        "bad": report.bad,
        "guilty": guilty.collect::<Vec<Value>>(),
        "confidence": report.confidence,
        "runs": runs(report),
        "steps": report.steps,
    })
}
