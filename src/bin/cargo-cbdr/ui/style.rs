//! Colours, and the form of status lines.

use anstyle::{AnsiColor, Style};
use cargo_cbdr::model::Verdict;

use super::text;

pub(crate) const GOOD: Style = AnsiColor::Green.on_default().bold();
pub(crate) const WARNING: Style = AnsiColor::Yellow.on_default().bold();
pub(super) const BAD: Style = AnsiColor::Red.on_default().bold();
pub(super) const HINT: Style = AnsiColor::Cyan.on_default().bold();

/// The column in which the objects of status lines begin.
pub(crate) const STATUS_TEXT_COLUMN: usize = 13;

/// A line like cargo's: a verb, right-aligned in 12 columns, and an object.
pub(super) fn status_line(style: Style, verb: &str, thing: &str) -> String {
    format!("{style}{verb:>12}{style:#} {}", text::line(thing))
}

/// The colour of a verdict.
pub(crate) fn verdict_style(verdict: Verdict) -> Style {
    match verdict {
        Verdict::NoRegression | Verdict::Identical => GOOD,
        Verdict::Regression | Verdict::DifferentOutput => BAD,
        Verdict::Inconclusive | Verdict::NoBaseline => WARNING,
    }
}
