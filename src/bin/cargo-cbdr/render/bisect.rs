//! The commit that introduced a regression.

use cargo_cbdr::flows::bisect::{BisectReport, BisectStep, StepOutcome};
use cargo_cbdr::model::outcome::Verdict;
use cargo_cbdr::workspace::git::abbreviated;
use cargo_cbdr::workspace::git::line::Commit;
use serde_json::{Value, json};

use super::escape::line;
use crate::ui::fold::paragraph;
use crate::ui::style::verdict_style;
use crate::ui::text;

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
    // BAD is the first commit that was tried.
    if let (Some(bad), []) = (report.steps.first(), report.guilty.as_slice()) {
        out += &paragraph(&format!("  {}", line(&tried(bad))), 2);
    }
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
        let of = match measured.layouts {
            Some(over) => text::layouts(over.number, over.placing),
            None => text::count(measured.pairs, "pair"),
        };
        let time = text::seconds(measured.seconds);
        tried += &format!(", {change} {interval}, {of}, {time}");
    }
    if let Some(why) = &step.why {
        tried += &format!(": {why}");
    }
    tried
}

fn effort(report: &BisectReport) -> String {
    let with = |outcome| report.steps.iter().filter(|step| step.outcome == outcome).count();
    let skipped = [
        (with(StepOutcome::Inconclusive), "stayed inconclusive"),
        (with(StepOutcome::Unusable), "could not be built or run"),
    ];
    let skipped = skipped.iter().filter(|(number, _)| *number > 0);
    let skipped: Vec<String> = skipped.map(|(number, what)| format!("{number} {what}")).collect();
    let tried = format!("{} tried", text::count(report.steps.len() as u64, "commit"));
    match skipped.as_slice() {
        [] => tried + ".",
        some => format!("{tried}, of which {}.", some.join(" and ")),
    }
}

/// The runs of all pairs. Those over layouts are not among them.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_names_what_its_change_is_from() {
        let step = |layouts: Value| {
            let mut measured = json!({
                "level": 0.01, "change": 0.07, "lower": 0.02, "upper": 0.1, "pairs": 18, "seconds": 2.0
            });
            measured["layouts"] = layouts;
            let step = json!({"commit": "c", "outcome": "bad", "why": null, "measured": measured});
            tried(&serde_json::from_value(step).unwrap())
        };
        assert_eq!(step(Value::Null), "bad, +7.00% [+2.00%, +10.0%], 18 pairs, 2.0s");
        let over = step(json!({"number": 20, "placing": "linked"}));
        assert_eq!(over, "bad, +7.00% [+2.00%, +10.0%], 20 layouts, 2.0s");
    }
}
