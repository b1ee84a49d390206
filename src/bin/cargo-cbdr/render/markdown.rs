//! The result as a comment on a pull request.

use std::fmt::{self, Write};

use cargo_cbdr::model::explanation::Explanation;
use cargo_cbdr::model::outcome::{BenchmarkResult, MetricResult, Outcome, Status, Verdict};

use super::answer::answer;
use super::escape::{code, prose, quantity, xml};
use super::explanation::{self, Table};
use super::scale;
use super::words::{self, PROMISE};
use crate::ui::text;

/// The invisible first line of every comment, by which a bot finds the one that it
/// is to update.
const MARKER: &str = "<!-- cargo-cbdr -->";

/// The most rows of the table, lines of the scale and notices: GitHub takes no
/// comment of more than 65536 characters.
const ROWS: usize = 100;
const LINES: usize = 40;
const NOTICES: usize = 40;

/// The most letters of a name, of a notice, and of the call.
const NAME: usize = 120;
const NOTICE: usize = 600;
const CALL: usize = 4000;

/// The whole comment.
pub(crate) fn comment(outcome: &Outcome) -> String {
    format!("{MARKER}\n{}", summary(outcome))
}

/// The comment without the marker.
pub(super) fn summary(outcome: &Outcome) -> String {
    let mut out = String::new();
    // Writing to a string does not fail.
    let _ = write(&mut out, outcome);
    out
}

fn write(out: &mut String, outcome: &Outcome) -> fmt::Result {
    let sign = match outcome.verdict {
        Some(Verdict::Regression) => "🔴 ",
        Some(_) if !outcome.removed.is_empty() => "🟡 ",
        Some(Verdict::NoRegression | Verdict::Identical) => "🟢 ",
        Some(Verdict::Inconclusive | Verdict::NoBaseline) => "🟡 ",
        None => "",
    };
    let answer = answer(outcome);
    writeln!(out, "<h3>{sign}{}</h3>\n", prose(&cut(&answer.heading(), NOTICE)))?;
    let rest = answer.rest();
    if !rest.is_empty() {
        writeln!(out, "<p>{}</p>\n", prose(&cut(&rest, NOTICE)))?;
    }
    if outcome.metrics().next().is_some() {
        table(out, outcome)?;
    }
    let gates = words::worst_first(outcome).into_iter().filter(|(_, m)| m.gates);
    let named = gates.take(LINES).map(|(b, m)| (short(&words::full_name(outcome, b, m)), m));
    let lines = scale::lines(&named.collect::<Vec<_>>());
    if !lines.is_empty() {
        writeln!(out, "<pre>\n{}\n</pre>\n", xml(&lines.join("\n")))?;
    }
    let is_empty = |b: &&BenchmarkResult| b.metrics.is_empty() && b.status != Status::Unaffected;
    let empty = outcome.benchmarks.iter().filter(is_empty);
    for benchmark in empty.take(ROWS) {
        let what = match (benchmark.status, words::no_baseline(outcome, &benchmark.name)) {
            (Status::New, Some(why)) => format!("has no baseline: {}", prose(&cut(why, NOTICE))),
            (Status::New, None) => "is new: there is no baseline".to_owned(),
            (Status::Compared, _) => "is the same program on both sides".to_owned(),
            (Status::Removed, _) => "is gone from the head".to_owned(),
            (Status::Unaffected, _) => "is unaffected".to_owned(),
        };
        writeln!(out, "- {} {what}", code(&short(&benchmark.name)))?;
    }
    if let Some(names) = words::unaffected(&outcome.benchmarks, |name| code(&short(name))) {
        writeln!(out, "- unaffected, as none of the code that changed runs there: {names}")?;
    }
    for explanation in &outcome.explanations {
        explain(out, explanation)?;
    }
    details(out, outcome)
}

/// Which functions execute more instructions.
fn explain(out: &mut String, explanation: &Explanation) -> fmt::Result {
    let Table { title, rows, rest } = explanation::table(explanation);
    writeln!(out, "<p>{}</p>\n", prose(&cut(&title, NOTICE)))?;
    if rows.is_empty() {
        return Ok(());
    }
    writeln!(out, "| {} |\n| :-- | --: | --: | --: | :-- |", explanation::HEADINGS.join(" | "))?;
    for [function, base, head, change, its_code] in &rows {
        let (base, head) = (quantity(base), quantity(head));
        writeln!(out, "| {} | {base} | {head} | {change} | {its_code} |", code(&short(function)))?;
    }
    if let Some(rest) = rest {
        writeln!(out, "\n{rest}")?;
    }
    writeln!(out)
}

fn table(out: &mut String, outcome: &Outcome) -> fmt::Result {
    let shows_mean = words::shows_mean(outcome.benchmarks.iter().flat_map(|one| &one.metrics));
    let (name, rule) = if shows_mean { (" mean |", " --: |") } else { ("", "") };
    writeln!(
        out,
        "| benchmark | metric | base | head | change | interval |{name} threshold | verdict |\n\
         | :-- | :-- | --: | --: | --: | :-: |{rule} --: | :-- |"
    )?;
    let all = words::worst_first(outcome);
    for (benchmark, metric) in all.iter().take(ROWS) {
        row(out, benchmark, metric, shows_mean)?;
    }
    if let Some(left @ 1..) = all.len().checked_sub(ROWS) {
        let metrics = text::count(left as u64, "more metric");
        writeln!(out, "\nand {metrics}, none of them worse; `--format json` has all.")?;
    }
    writeln!(out)
}

/// A name of reasonable length, on one line.
fn short(name: &str) -> String {
    cut(&super::escape::line(name), NAME)
}

/// The first `most` characters of a text.
fn cut(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

fn row(
    out: &mut String,
    benchmark: &BenchmarkResult,
    result: &MetricResult,
    shows_mean: bool,
) -> fmt::Result {
    let [_, base, head, change, interval, mean, verdict] = words::cells(result);
    let (base, head) = (quantity(&base), quantity(&head));
    let strong = |text: String| if result.gates { format!("**{text}**") } else { text };
    let mean = if shows_mean { format!(" {mean} |") } else { String::new() };
    let threshold = result.limit().map_or(String::new(), text::limit);
    writeln!(
        out,
        "| {} | {} | {base} | {head} | {} | {interval} |{mean} {threshold} | {} |",
        code(&short(&benchmark.name)),
        code(&short(&result.name)),
        strong(change),
        if verdict.is_empty() { verdict } else { strong(verdict) },
    )
}

/// The folded part. It is one block of HTML, in which nothing is taken for Markdown;
/// a blank line would end it.
fn details(out: &mut String, outcome: &Outcome) -> fmt::Result {
    let notices = words::notices(outcome);
    let noticed = match notices.len() {
        0 => String::new(),
        number => format!(", and {}", text::count(number as u64, "notice")),
    };
    writeln!(out, "<details><summary>How cargo cbdr measured this{noticed}</summary>\n<ul>")?;
    for notice in notices.iter().take(NOTICES) {
        writeln!(out, "<li>⚠️ {}</li>", prose(&cut(notice, NOTICE)))?;
    }
    for (name, value) in words::facts(outcome) {
        writeln!(
            out,
            "<li>{name}: <code>{}</code></li>",
            xml(&cut(&super::escape::line(&value), CALL))
        )?;
    }
    writeln!(out, "<li><a href=\"{PROMISE}\">what the verdict promises</a></li>")?;
    writeln!(out, "</ul></details>")
}
