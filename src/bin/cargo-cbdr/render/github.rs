//! The result as annotations of a GitHub workflow.

use cargo_cbdr::model::{Doubt, Notice, Verdict};

use super::answer::unwanted_new;
use super::escape::{command_data, command_property};
use super::readable::{Readable, ResultRow};
use crate::ui::{grouped, notices, text};

/// An annotation for each metric that does not pass, one for each way in
/// which the branch changes its own gate, and one for the overall verdict.
pub(super) fn annotations(result: &Readable<'_>) -> String {
    let mut out = String::new();
    let outcome = result.outcome;
    let fail_on = &outcome.policy.fail_on;
    let doubt = |doubt| if fail_on.contains(&doubt) { "error" } else { "warning" };
    let mut annotate = |level: &str, title: &str, message: &str| {
        let (title, message) = (command_property(title), command_data(message));
        out += &format!("::{level} title={title}::{message}\n");
    };
    let suite = outcome.suite_gates().map(|(of, metric)| ResultRow::of(of, metric));
    for row in result.rows.iter().filter(|row| row.metric.gates).cloned().chain(suite) {
        let level = match row.metric.verdict {
            Some(Verdict::Regression) => "error",
            Some(Verdict::Inconclusive) => doubt(Doubt::Inconclusive),
            _ => continue,
        };
        let verdict = row.metric.verdict.map(text::verdict).unwrap_or_default();
        let title = format!("{verdict}: {} of {}", row.metric.name, row.benchmark.name);
        annotate(level, &title, &row.sentence());
    }
    for notice in &outcome.notices {
        let (level, title) = match notice {
            notice if notice.is_about_settings() => ("warning", "cargo cbdr: settings"),
            notice if notice.is_about_length() => ("warning", "cargo cbdr: run length"),
            Notice::NoTime(_) => (doubt(Doubt::Inconclusive), "cargo cbdr: not measured"),
            _ => continue,
        };
        annotate(level, title, &grouped::text(notice));
    }
    if !outcome.removed.is_empty() {
        let removed = notices::removed(&outcome.removed);
        annotate(doubt(Doubt::Removed), "cargo cbdr: removed", &removed);
    }
    if let Some(new) = unwanted_new(outcome) {
        annotate("error", "cargo cbdr: no baseline", &new);
    }
    let level = match outcome.verdict {
        Some(Verdict::NoBaseline) => doubt(Doubt::NoBaseline),
        Some(Verdict::DifferentOutput) => "error",
        // No annotation above is one of a regression.
        Some(Verdict::Regression) if outcome.likely_slower.is_some() => "error",
        _ => "notice",
    };
    let title = format!("cargo cbdr: {}", result.answer.title(outcome.verdict));
    annotate(level, &title, &result.answer.to_string());
    out
}
