//! The result for people, on standard output.

use std::collections::BTreeSet;

use cargo_cbdr::model::{BenchmarkResult, Method, Outcome, Pair, Status, Verdict};

use super::answer::{UNDECIDED, is_better};
use super::escape::line;
use super::explanation::{self, Explained};
use super::grid;
use super::names;
use super::readable::{self, CellTexts, Readable, ResultRow};
use super::table::{Building, TextTable};
use crate::ui::fold::{output_height, paragraph};
use crate::ui::style::verdict_style;
use crate::ui::text;
use crate::ui::verbosity::verbosity;

/// The indentation of continuation lines.
const CONTINUED: usize = 2;

/// The result, the tables behind it, and their confidence.
pub(crate) fn report(result: &Readable<'_>) -> String {
    let outcome = result.outcome;
    let mut out = String::new();
    if outcome.verdict.is_some() || outcome.rows.is_none() {
        let answer = &result.answer;
        let style = outcome.verdict.map(verdict_style).unwrap_or_default();
        let sentence = match outcome.verdict {
            Some(Verdict::Regression) => format!("REGRESSION: {}", answer.sentence),
            Some(Verdict::Inconclusive) => {
                answer.sentence.replacen(UNDECIDED, &UNDECIDED.to_uppercase(), 1)
            }
            _ => answer.sentence.clone(),
        };
        out += &paragraph(&format!("{style}{sentence}{style:#}{}", answer.details()), CONTINUED);
        if !answer.besides.is_empty() {
            out += &paragraph(&format!("  {}", answer.besides.join("; ")), CONTINUED);
        }
    }
    let is_named = |one: &BenchmarkResult| {
        // By the answer and the notices.
        one.metrics.is_empty() && !readable::is_listed(one.status)
    };
    out += &match outcome.benchmarks.as_slice() {
        [only] if only.status == Status::Compared && !only.metrics.is_empty() => {
            table(result, only)
        }
        [] | [_] => String::new(),
        all if all.iter().all(is_named) => String::new(),
        several if outcome.verdict.is_none() && outcome.rows.is_some() => {
            several.iter().map(|benchmark| table(result, benchmark)).collect()
        }
        _ => overview(result),
    };
    out.extend(result.suite.iter().map(|suite| paragraph(&format!("  {suite}"), 2 * CONTINUED)));
    for explained in outcome.explanations.iter().flat_map(explanation::tables) {
        let Explained { title, table, rest, .. } = explained;
        out.extend([paragraph(&line(&title), CONTINUED), grid::drawn(&table)]);
        out.extend(rest.map(|rest| format!("  {rest}\n")));
    }
    if outcome.rows.is_some() || outcome.pairs() > 0 {
        out += &format!("  confidence {}\n", result.confidence);
    }
    out
}

/// How often each verdict came out of many comparisons.
pub(crate) fn repeated(outcomes: &[Outcome]) -> String {
    let Some((first, sides)) = outcomes.first().and_then(|one| Some((one, one.sides.as_ref()?)))
    else {
        return "no comparison was finished\n".to_owned();
    };
    let all = outcomes.len() as u64;
    let head = text::revision(&sides.head);
    let mut out = format!("{} of {head} with itself:\n", text::count(all, "comparison"));
    for (verdict, times) in times(outcomes) {
        let style = verdict_style(verdict);
        let share = 100.0 * times as f64 / all as f64;
        let verdict = text::verdict(verdict);
        out += &format!("  {style}{verdict:<13}{style:#}  {times:>4}  {share:.1}%\n");
    }
    let pairs: u64 = outcomes.iter().map(Outcome::pairs).sum();
    let seconds: f64 = outcomes.iter().filter_map(|outcome| outcome.elapsed_seconds).sum();
    let average = format!(
        "On average {:.1} pairs in {}. In the long run, at most {} of such comparisons end in a \
         false alarm.",
        pairs as f64 / all as f64,
        text::seconds(seconds / all as f64),
        text::fraction(1.0 - first.policy.confidence),
    );
    out + &paragraph(&average, 0)
}

/// The number of comparisons of a program with itself for each possible
/// verdict.
pub(super) fn times(outcomes: &[Outcome]) -> [(Verdict, u64); 3] {
    [Verdict::NoRegression, Verdict::Regression, Verdict::Inconclusive].map(|verdict| {
        let times = outcomes.iter().filter(|outcome| outcome.verdict == Some(verdict)).count();
        (verdict, times as u64)
    })
}

/// Whether a metric is shown in the tables: if it gates or was requested, or with
/// `--verbose`.
fn is_shown(row: &ResultRow<'_>) -> bool {
    row.is_requested() || verbosity().is_verbose
}

/// The metrics of a benchmark: those that gate, if any, those that were requested, and with
/// `--verbose` the others.
fn table(all: &Readable<'_>, benchmark: &BenchmarkResult) -> String {
    let sides = names::sides(benchmark);
    let rows: Vec<&ResultRow<'_>> = all.of(benchmark).collect();
    let limits = limits(&rows);
    let subject = match &benchmark.labels {
        Some(Pair { base, head }) => format!("{} against {}", line(head), line(base)),
        None => line(&benchmark.name),
    };
    let mut pairs = text::count(benchmark.pairs, "pair");
    // Those of several machines are read up to the verdict, like those of a file.
    let is_of_pairs = |row: &&&ResultRow<'_>| row.metric.gates && row.metric.layouts.is_none();
    let used = rows.iter().filter(is_of_pairs).map(|row| row.metric.summary.pairs).max();
    if let Some(used) = used.filter(|used| (1..benchmark.pairs).contains(used)) {
        pairs = format!("{used} of {pairs}");
    }
    let subject = if benchmark.pairs > 0 { format!("{subject}: {pairs}") } else { subject };
    let title = title(vec![subject, format!("{}s", all.estimate)], &limits);
    let has_layouts = readable::has_layouts(&rows);
    let any_gates = rows.iter().any(|row| row.metric.gates);
    let (shown, hidden): (Vec<_>, Vec<_>) =
        rows.into_iter().partition(|row| !any_gates || is_shown(row));
    let shows_mean = verbosity().is_verbose && shown.iter().any(|row| row.cells.shows_mean());
    let looked_at_once = matches!(benchmark.method, Some(Method::Paired | Method::Welch));
    let lines = readable::lines(&shown);
    let table = TextTable::of(&lines)
        .text("metric", |of| if of.is_before { of.subject.clone() } else { of.metric.clone() });
    let table = values(table, &sides, benchmark.method == Some(Method::Judge))
        .when(has_layouts, |table| table.text("measured", |of| of.measured.clone()).leaves(3))
        .when(shows_mean, |table| table.numbers("mean", |of| of.mean.clone()).leaves(5))
        .when(looked_at_once, |table| {
            table.numbers("difference", |of| of.difference.clone()).leaves(6)
        })
        .when(limits.len() > 1, thresholds)
        .when(any_gates, |table| table.text("verdict", |of| of.verdict.clone()));
    let hidden = match hidden.len() as u64 {
        0 => String::new(),
        hidden => format!("  {} with --verbose\n", text::count(hidden, "more metric")),
    };
    title + &grid::drawn(&table.build()) + &hidden
}

/// What is above a table, with the threshold if it is the same for all.
fn title(mut parts: Vec<String>, limits: &BTreeSet<&str>) -> String {
    let only = limits.first().filter(|_| limits.len() == 1);
    parts.extend(only.map(|only| format!("threshold {only}")));
    paragraph(&parts.join("; "), CONTINUED)
}

/// Adds the values of both sides, the change and its bounds. The judge's changes have none.
fn values<'a>(
    table: Building<'a, CellTexts>,
    Pair { base, head }: &Pair<String>,
    judges: bool,
) -> Building<'a, CellTexts> {
    table
        .numbers(base, |of| of.base.clone())
        .leaves(4)
        .numbers(head, |of| of.head.clone())
        .leaves(4)
        .numbers(&format!("{base} → {head}"), |of| of.both.clone())
        .replaces(4)
        .leaves(2)
        .numbers("change", |of| of.change.clone())
        .when(!judges, |table| table.intervals("interval", |of| of.interval.clone()).leaves(1))
        .styled(|of| of.style)
}

/// Adds a column, for rows with different thresholds.
fn thresholds(table: Building<'_, CellTexts>) -> Building<'_, CellTexts> {
    table.numbers("threshold", |of| of.threshold.clone()).leaves(3)
}

/// The different thresholds.
fn limits<'r>(rows: &[&'r ResultRow<'_>]) -> BTreeSet<&'r str> {
    let limits = rows.iter().map(|row| row.cells.threshold.as_str());
    limits.filter(|limit| !limit.is_empty()).collect()
}

/// The lines of a terminal for everything around the rows of a table: the answer, headings and
/// remarks.
const AROUND: usize = 10;

/// What is said of a benchmark of which no metric gates.
const UNGATED: &str = "does not gate";

/// The benchmarks that have no row, and are named below the table.
const LISTED: [(Status, &str); 2] =
    [(Status::NotMeasured, "not measured"), (Status::Unaffected, "unaffected")];

/// The number of changed or undecided rows for which there always is room.
const LEAST: usize = 5;

/// The table of several benchmarks: a row for each shown metric, the worst first, and a line
/// for all that were not measured, and for all that are unaffected.
fn overview(result: &Readable<'_>) -> String {
    let benchmarks = result.outcome.benchmarks.as_slice();
    let (rows, without) = rows(result);
    let only_metric = readable::only_metric(&rows);
    let limits = limits(&rows);
    let mut parts = vec![text::count(benchmarks.len() as u64, "benchmark")];
    parts.extend(LISTED.into_iter().filter_map(|(status, word)| {
        let number = benchmarks.iter().filter(|one| one.status == status).count();
        (number > 0).then(|| format!("{number} {word}"))
    }));
    parts.extend(only_metric.map(|only| line(&readable::estimate_of(result.estimate, only))));
    let title = title(parts, &limits);
    let has_layouts = readable::has_layouts(&rows);
    let judges = rows.iter().any(|row| row.metric.judgement.is_some());
    let names_metrics = !rows.is_empty() && only_metric.is_none();
    let room = output_height().filter(|_| !verbosity().is_verbose);
    let (lines, left_out) = fitting(rows, without, room.map(|all| all.saturating_sub(AROUND)));
    let table = TextTable::of(&lines)
        .text("benchmark", |of| of.subject.clone())
        .when(names_metrics, |table| table.text("metric", |of| of.metric.clone()))
        .when(has_layouts, |table| table.text("measured", |of| of.measured.clone()).leaves(5))
        .when(!judges && !has_layouts, |table| {
            table.numbers("pairs", |of| of.pairs.clone()).leaves(5)
        });
    let table = values(table, &Pair { base: "base".to_owned(), head: "head".to_owned() }, judges)
        .when(limits.len() > 1, thresholds)
        .text("verdict", |of| of.verdict.clone());
    let left_out = left_out
        .map(|left_out| paragraph(&format!("  {left_out} (--verbose lists all)"), CONTINUED));
    let listed = LISTED.into_iter().filter_map(|(status, word)| {
        let names = names::names(benchmarks, status, line)?;
        Some(paragraph(&format!("  {word}: {names}"), 2 * CONTINUED))
    });
    [title, grid::drawn(&table.build())].into_iter().chain(left_out).chain(listed).collect()
}

/// The lines for which there is room, and what the others are: `not shown: 24 without a
/// regression`. The answer above the table should stay on the screen, so if there are too many
/// rows, those that passed leave, then those that became better, then the undecided ones.
/// Regressions never do.
fn fitting(
    rows: Vec<&ResultRow<'_>>,
    without: Vec<CellTexts>,
    room: Option<usize>,
) -> (Vec<CellTexts>, Option<String>) {
    let befores = rows.iter().filter(|row| row.before.is_some()).count();
    let room = room.map(|all| all.saturating_sub(befores));
    let Some(room) = room.filter(|room| rows.len() + without.len() > *room) else {
        return (readable::lines(&rows).into_iter().chain(without).collect(), None);
    };
    let is_plain = |row: &&ResultRow<'_>| {
        row.metric.rank() > 1 && !row.metric.warned && !is_better(row.metric)
    };
    let (plain, mut rows): (Vec<_>, Vec<_>) = rows.into_iter().partition(is_plain);
    let regressions = rows.iter().filter(|row| row.metric.rank() == 0).count();
    let others = rows.split_off(rows.len().min(room.max(regressions).max(LEAST)));
    let mut counts: Vec<(&str, u64)> = Vec::new();
    let left_out = others.into_iter().chain(plain).map(|row| &row.cells).chain(&without);
    for cells in left_out {
        let word = match cells.verdict.as_str() {
            "" | UNGATED => "not gating",
            "no regression" => "without a regression",
            word => word,
        };
        match counts.iter_mut().find(|(known, _)| *known == word) {
            Some((_, number)) => *number += 1,
            None => counts.push((word, 1)),
        }
    }
    let counts = counts.into_iter().map(|(word, number)| format!("{number} {word}"));
    (readable::lines(&rows), Some(format!("not shown: {}", text::list(counts))))
}

/// The rows of what may be affected, the worst first, and the benchmarks without one.
fn rows<'r>(result: &'r Readable<'_>) -> (Vec<&'r ResultRow<'r>>, Vec<CellTexts>) {
    let is_listed = |benchmark: &BenchmarkResult| readable::is_listed(benchmark.status);
    let shown = result.rows.iter().filter(|row| is_shown(row) && !is_listed(row.benchmark));
    let benchmarks = result.outcome.benchmarks.iter();
    let without =
        benchmarks.filter(|one| !is_listed(one) && !result.of(one).any(is_shown)).map(|one| {
            let verdict = match one.status {
                Status::Compared if one.pairs == 0 => "not measured".to_owned(),
                Status::Compared => UNGATED.to_owned(),
                status => status.to_string(),
            };
            CellTexts::without_metric(one, verdict)
        });
    (shown.collect(), without.collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::render::answer::tests::{outcome, time};
    use crate::render::readable::CommandLine;

    #[test]
    fn of_a_table_that_is_too_high_what_passed_is_counted() {
        let (bad, open, good) = (Verdict::Regression, Verdict::Inconclusive, Verdict::NoRegression);
        let mut metrics = vec![("slow", time(0.2, bad)), ("worse", time(0.1, bad))];
        metrics.extend(["a", "b", "c", "d", "e"].map(|name| (name, time(0.01, open))));
        metrics.push(("fast", time(-0.1, good)));
        metrics.extend(["f", "g"].map(|name| (name, time(0.0, good))));
        let outcome = outcome(bad, metrics);
        let readable = Readable::new(&outcome, &CommandLine::default());
        let names = |room| {
            let (all, without) = rows(&readable);
            let (lines, left_out) = fitting(all, without, room);
            let names: Vec<&str> = lines.iter().map(|line| line.subject.as_str()).collect();
            (names.join(" "), left_out.unwrap_or_default())
        };
        let complete = ("slow worse a b c d e fast f g".to_owned(), String::new());
        assert_eq!(names(None), complete);
        assert_eq!(names(Some(10)), complete);
        let passed = (
            "slow worse a b c d e fast".to_owned(),
            "not shown: 2 without a regression".to_owned(),
        );
        assert_eq!(names(Some(9)), passed);
        assert_eq!(names(Some(7)).1, "not shown: 1 faster and 2 without a regression");
        let least = names(Some(1));
        assert_eq!(least.0, "slow worse a b c");
        assert_eq!(least.1, "not shown: 2 inconclusive, 1 faster and 2 without a regression");
    }

    #[test]
    fn only_the_verdict_is_in_capitals() {
        let good = Verdict::NoRegression;
        let outcome = outcome(good, vec![("undecided", time(0.0, good))]);
        let out = report(&Readable::new(&outcome, &CommandLine::default()));
        assert!(out.contains("no regression in undecided"), "{out}");
    }
}
