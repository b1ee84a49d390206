//! How often many comparisons gave each verdict.

use std::io::Write;

use cargo_cbdr::Report;
use cargo_cbdr::model::outcome::Verdict;

use crate::ui::{text, verdict_style};

/// The verdicts that a comparison of a program with itself can have.
pub(super) const VERDICTS: [Verdict; 3] =
    [Verdict::NoRegression, Verdict::Regression, Verdict::Inconclusive];

/// How many of the reports have a verdict.
pub(super) fn count(reports: &[Report], verdict: Verdict) -> u64 {
    reports.iter().filter(|report| report.verdict == verdict).count() as u64
}

/// Prints a line for each verdict.
pub(crate) fn print(reports: &[Report]) -> std::io::Result<()> {
    let mut out = anstream::stdout().lock();
    let Some(first) = reports.first() else {
        return writeln!(out, "not one comparison was finished");
    };
    let all = reports.len() as u64;
    let head = text::revision(&first.sides.head);
    writeln!(out, "{} of {head} with itself:", text::count(all, "comparison"))?;
    for verdict in VERDICTS {
        let style = verdict_style(verdict);
        let times = count(reports, verdict);
        let share = 100.0 * times as f64 / all as f64;
        writeln!(out, "  {style}{:<13}{style:#}  {times:>4}  {share:.1}%", verdict.name())?;
    }
    let pairs: u64 = reports.iter().map(|report| report.sampled.pairs()).sum();
    let seconds: f64 = reports.iter().map(|report| report.sampled.elapsed).sum();
    let wrong = 100.0 * (1.0 - first.policy.confidence);
    writeln!(
        out,
        "On average {:.1} pairs in {}. Of many comparisons, at most {}% may end in a false alarm.",
        pairs as f64 / all as f64,
        text::seconds(seconds / all as f64),
        text::rounded(wrong),
    )
}
