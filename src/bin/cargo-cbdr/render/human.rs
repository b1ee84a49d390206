//! The result for people, on standard output.

use std::io::{self, Write};

use cargo_cbdr::model::outcome::{
    BenchmarkResult, MeanDifference, Method, MetricResult, Outcome, Status, Verdict,
};
use cargo_cbdr::model::side::Pair;

use super::answer::{answer, is_better};
use super::escape::line;
use super::explanation::{self, Explained};
use super::grid;
use super::table::Table;
use super::words::{self, PROMISE, cells};
use crate::ui::verbosity::verbosity;
use crate::ui::{fold, text, verdict_style};

/// The indentation of continuation lines.
const CONTINUED: usize = 2;

/// Prints the result, the tables behind it, and their confidence.
pub(crate) fn print(outcome: &Outcome) -> io::Result<()> {
    let outcome = &*words::readable(outcome);
    let mut out = anstream::stdout().lock();
    if outcome.verdict.is_some() || outcome.rows.is_none() {
        let answer = answer(outcome);
        let style = outcome.verdict.map(verdict_style).unwrap_or_default();
        let line = format!("{style}{}{style:#}{}", answer.sentence, answer.tail());
        fold::print(&mut out, &line, CONTINUED)?;
    }
    match outcome.benchmarks.as_slice() {
        [only] if only.status == Status::Compared && !only.metrics.is_empty() => {
            table(&mut out, outcome, only)?;
        }
        [] | [_] => {}
        several if outcome.verdict.is_none() && outcome.rows.is_some() => {
            several.iter().try_for_each(|benchmark| table(&mut out, outcome, benchmark))?;
        }
        _ => overview(&mut out, outcome)?,
    }
    explanations(&mut out, outcome)?;
    match outcome.rows.is_some() || outcome.pairs() > 0 {
        true => confidence(&mut out, outcome),
        false => Ok(()),
    }
}

/// Prints the confidence of the bounds, and where it is explained. If the address does not
/// fit the terminal, a shorter text links to it.
fn confidence(out: &mut impl Write, outcome: &Outcome) -> io::Result<()> {
    let what = format!("  confidence {}", words::confidence(outcome));
    let length = what.chars().count() + 2 + PROMISE.len();
    match fold::output_width().is_none_or(|width| length <= width) {
        true => writeln!(out, "{what}: {PROMISE}"),
        false => writeln!(out, "{what}: \x1b]8;;{PROMISE}\x1b\\docs/statistics.md\x1b]8;;\x1b\\"),
    }
}

/// Prints why benchmarks regressed.
fn explanations(out: &mut impl Write, outcome: &Outcome) -> io::Result<()> {
    for explanation in &outcome.explanations {
        let Explained { title, table, rest, .. } = explanation::explained(explanation);
        fold::print(out, &line(&title), CONTINUED)?;
        if !table.rows.is_empty() {
            grid::print(out, &table)?;
        }
        if let Some(rest) = rest {
            writeln!(out, "  {rest}")?;
        }
    }
    Ok(())
}

/// Prints how often each verdict came out of many comparisons.
pub(crate) fn print_repeated(outcomes: &[Outcome]) -> io::Result<()> {
    let mut out = anstream::stdout().lock();
    let Some((first, sides)) = outcomes.first().and_then(|one| Some((one, one.sides.as_ref()?)))
    else {
        return writeln!(out, "no comparison was finished");
    };
    let all = outcomes.len() as u64;
    let head = text::revision(&sides.head);
    writeln!(out, "{} of {head} with itself:", text::count(all, "comparison"))?;
    for (verdict, times) in times(outcomes) {
        let style = verdict_style(verdict);
        let share = 100.0 * times as f64 / all as f64;
        let verdict = text::verdict(verdict);
        writeln!(out, "  {style}{verdict:<13}{style:#}  {times:>4}  {share:.1}%")?;
    }
    let pairs: u64 = outcomes.iter().map(Outcome::pairs).sum();
    let seconds: f64 = outcomes.iter().filter_map(|outcome| outcome.elapsed_seconds).sum();
    let wrong = 100.0 * (1.0 - first.policy.confidence);
    let average = format!(
        "On average {:.1} pairs in {}. Of many comparisons, at most {}% may end in a false alarm.",
        pairs as f64 / all as f64,
        text::seconds(seconds / all as f64),
        text::rounded(wrong),
    );
    fold::print(&mut out, &average, 0)
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
fn is_shown(benchmark: &BenchmarkResult, metric: &MetricResult) -> bool {
    words::is_requested(benchmark, metric) || verbosity().is_verbose
}

/// The metrics of a benchmark: those that gate, if any, those that were requested, and with
/// `--verbose` the others.
fn table(out: &mut impl Write, outcome: &Outcome, benchmark: &BenchmarkResult) -> io::Result<()> {
    let Pair { base, head } = words::sides(benchmark);
    let limits =
        distinct(benchmark.metrics.iter().filter_map(MetricResult::limit).map(text::limit));
    let subject = match &benchmark.labels {
        Some(Pair { base, head }) => format!("{} against {}", line(head), line(base)),
        None => line(&benchmark.name),
    };
    let mut title = vec![match benchmark.pairs {
        0 => subject,
        pairs => format!("{subject}: {}", text::count(pairs, "pair")),
    }];
    title.push(format!("{}s", words::estimate(outcome)));
    if let [only] = limits.as_slice() {
        title.push(format!("threshold {only}"));
    }
    fold::print(out, &title.join("; "), CONTINUED)?;
    let any_gates = benchmark.metrics.iter().any(|metric| metric.gates);
    let shown = benchmark.metrics.iter().filter(|metric| !any_gates || is_shown(benchmark, metric));
    let mut shown: Vec<&MetricResult> = shown.collect();
    shown.sort_by(|one, other| one.by_severity(other));
    let has_layouts = words::has_layouts(std::slice::from_ref(benchmark));
    let looked_at_once = matches!(benchmark.method, Some(Method::Paired | Method::Welch));
    let both = format!("{base} → {head}");
    let table = Table::of(&shown)
        .text("metric", |of| cells(of).name)
        .numbers(&base, |of| cells(of).base)
        .leaves(4)
        .numbers(&head, |of| cells(of).head)
        .leaves(4)
        .numbers(&both, |of| cells(of).both)
        .replaces(4)
        .leaves(1)
        .numbers(change(has_layouts), |of| cells(of).change)
        .intervals("interval", |of| cells(of).interval)
        .shown_if(benchmark.method != Some(Method::Judge))
        .leaves(2)
        .numbers("over layouts", |of| words::change_over_layouts(of))
        .shown_if(has_layouts)
        .numbers("mean", |of| cells(of).mean)
        .shown_if(words::shows_mean(shown.iter().copied()))
        .leaves(5)
        .numbers("difference", |of| difference(of))
        .shown_if(looked_at_once)
        .leaves(6)
        .numbers("threshold", |of| limit(of))
        .shown_if(limits.len() > 1)
        .leaves(3)
        .text("verdict", |of| cells(of).verdict)
        .shown_if(any_gates)
        .styled(|of| of.verdict.map(verdict_style))
        .build();
    grid::print(out, &table)?;
    if let Some(apart) = words::apart(outcome, shown.iter().copied()) {
        fold::print(out, &format!("  {apart}"), CONTINUED)?;
    }
    match benchmark.metrics.len() - shown.len() {
        0 => Ok(()),
        hidden => {
            let hidden = text::count(hidden as u64, "more metric");
            writeln!(out, "  {hidden} with --verbose")
        }
    }
}

/// The heading of the changes, which are those as built if there are others over layouts.
fn change(has_layouts: bool) -> &'static str {
    if has_layouts { "as built" } else { "change" }
}

fn limit(metric: &MetricResult) -> String {
    metric.limit().map_or("-".to_owned(), text::limit)
}

/// The difference of the means and its bounds: `+3.669 ms [+3.071, +4.266]`.
fn difference(metric: &MetricResult) -> String {
    let Some(MeanDifference { lower, estimate, upper }) = metric.difference else {
        return "-".to_owned();
    };
    let (numbers, symbol) = text::in_one_unit(&[estimate, lower, upper], &metric.unit, 4);
    let signed = |number: &String| match number.starts_with('-') {
        true => number.clone(),
        false => format!("+{number}"),
    };
    let [estimate, lower, upper] = [0, 1, 2].map(|at| signed(&numbers[at]));
    line(&format!("{estimate} {symbol} [{lower}, {upper}]"))
}

/// The lines of a terminal for everything around the rows of a table: the answer, headings and
/// remarks.
const AROUND: usize = 10;

/// What is said of a benchmark of which no metric gates.
const UNGATED: &str = "does not gate";

/// The number of changed or undecided rows for which there always is room.
const LEAST: usize = 5;

/// One row of the overview: a benchmark, and a metric of it where one is shown.
type OverviewRow<'a> = (&'a BenchmarkResult, Option<&'a MetricResult>);

/// The table of several benchmarks: a row for each shown metric, the worst first, and a line
/// for all unaffected benchmarks.
fn overview(out: &mut impl Write, outcome: &Outcome) -> io::Result<()> {
    let benchmarks = outcome.benchmarks.as_slice();
    let is_unaffected = |one: &&BenchmarkResult| one.status == Status::Unaffected;
    let (unaffected, affected): (Vec<_>, Vec<_>) = benchmarks.iter().partition(is_unaffected);
    let mut rows: Vec<OverviewRow<'_>> = affected.into_iter().flat_map(rows).collect();
    rows.sort_by(|(_, one), (_, other)| match (one, other) {
        (Some(one), Some(other)) => {
            one.by_severity(other).then_with(|| is_better(other).cmp(&is_better(one)))
        }
        (one, other) => other.is_some().cmp(&one.is_some()),
    });
    let shown = || rows.iter().filter_map(|(_, metric)| *metric);
    let metrics = distinct(shown().map(|result| result.name.clone()));
    let limits = distinct(shown().filter_map(MetricResult::limit).map(text::limit));
    let mut title = vec![text::count(benchmarks.len() as u64, "benchmark")];
    if !unaffected.is_empty() {
        title.push(format!("{} unaffected", unaffected.len()));
    }
    if let [only] = metrics.as_slice() {
        title.push(line(&words::estimate_of(outcome, only)));
    }
    if let [only] = limits.as_slice() {
        title.push(format!("threshold {only}"));
    }
    fold::print(out, &title.join("; "), CONTINUED)?;
    let has_layouts = words::has_layouts(benchmarks);
    let judges = shown().any(|metric| metric.judgement.is_some());
    let apart = words::apart(outcome, shown());
    let room = fold::output_height().filter(|_| !verbosity().is_verbose);
    let (rows, left_out) = fitting(rows, room.map(|height| height.saturating_sub(AROUND)));
    let table = Table::of(&rows)
        .text("benchmark", |(of, _)| line(&of.name))
        .text("metric", of_metric(|of| cells(of).name))
        .shown_if(metrics.len() > 1)
        .numbers("pairs", of_metric(|of| of.summary.pairs.to_string()))
        .shown_if(!judges)
        .leaves(5)
        .numbers("base", of_metric(|of| cells(of).base))
        .leaves(4)
        .numbers("head", of_metric(|of| cells(of).head))
        .leaves(4)
        .numbers("base → head", of_metric(|of| cells(of).both))
        .replaces(4)
        .leaves(1)
        .numbers(change(has_layouts), of_metric(|of| cells(of).change))
        .intervals("interval", of_metric(|of| cells(of).interval))
        .shown_if(!judges)
        .leaves(2)
        .numbers("over layouts", of_metric(words::change_over_layouts))
        .shown_if(has_layouts)
        .numbers("threshold", of_metric(limit))
        .shown_if(limits.len() > 1)
        .leaves(3)
        .text("verdict", overview_verdict)
        .styled(|(_, metric)| metric.and_then(|of| of.verdict.map(verdict_style)))
        .build();
    if !rows.is_empty() {
        grid::print(out, &table)?;
    }
    if let Some(left_out) = left_out {
        fold::print(out, &format!("  {left_out} (--verbose lists all)"), CONTINUED)?;
    }
    if let Some(apart) = apart {
        fold::print(out, &format!("  {apart}"), CONTINUED)?;
    }
    match words::unaffected(benchmarks, line) {
        Some(names) => fold::print(out, &format!("  unaffected: {names}"), 2 * CONTINUED),
        None => Ok(()),
    }
}

/// The rows for which there is room, and what the others are: `not shown: 24 without a
/// regression`. The answer above the table should stay on the screen, so if there are too many
/// rows, those that passed leave, then those that became better, then the undecided ones.
/// Regressions never do.
fn fitting(
    rows: Vec<OverviewRow<'_>>,
    room: Option<usize>,
) -> (Vec<OverviewRow<'_>>, Option<String>) {
    let Some(room) = room.filter(|room| rows.len() > *room) else { return (rows, None) };
    let has_passed = |row: &OverviewRow<'_>| row.1.is_none_or(|metric| metric.rank() > 1);
    let is_plain = |row: &OverviewRow<'_>| {
        has_passed(row) && !row.1.is_some_and(|metric| metric.warned || is_better(metric))
    };
    let (plain, mut rows): (Vec<_>, Vec<_>) = rows.into_iter().partition(is_plain);
    let is_regression = |(_, metric): &OverviewRow<'_>| metric.is_some_and(|of| of.rank() == 0);
    let regressions = rows.iter().filter(|row| is_regression(row)).count();
    let others = rows.split_off(rows.len().min(room.max(regressions).max(LEAST)));
    let mut counts: Vec<(String, u64)> = Vec::new();
    for row in others.into_iter().chain(plain) {
        let word = overview_verdict(&row);
        let word = match word.as_str() {
            "" | UNGATED => "not gating".to_owned(),
            "no regression" => "without a regression".to_owned(),
            _ => word,
        };
        match counts.iter_mut().find(|(known, _)| *known == word) {
            Some((_, number)) => *number += 1,
            None => counts.push((word, 1)),
        }
    }
    let counts = counts.into_iter().map(|(word, number)| format!("{number} {word}"));
    (rows, Some(format!("not shown: {}", text::list(counts))))
}

/// The rows of a benchmark: at least one.
fn rows(benchmark: &BenchmarkResult) -> Vec<OverviewRow<'_>> {
    let shown = benchmark.metrics.iter().filter(|metric| is_shown(benchmark, metric));
    let rows: Vec<OverviewRow<'_>> = shown.map(|metric| (benchmark, Some(metric))).collect();
    if rows.is_empty() { vec![(benchmark, None)] } else { rows }
}

/// A cell of the metric of a row, or `-` if it has none.
fn of_metric(cell: impl Fn(&MetricResult) -> String) -> impl Fn(&OverviewRow<'_>) -> String {
    move |(_, metric)| metric.map_or_else(|| "-".to_owned(), &cell)
}

/// The verdict of a row, or why it has none.
fn overview_verdict((benchmark, metric): &OverviewRow<'_>) -> String {
    match (metric, benchmark.status) {
        (Some(metric), _) => cells(metric).verdict,
        (None, Status::Compared) if benchmark.pairs == 0 => "not measured".to_owned(),
        (None, Status::Compared) => UNGATED.to_owned(),
        (None, status) => status.to_string(),
    }
}

fn distinct(texts: impl Iterator<Item = String>) -> Vec<String> {
    let mut found = Vec::new();
    for text in texts {
        if !found.contains(&text) {
            found.push(text);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::render::answer::tests::{outcome, time};

    #[test]
    fn of_a_table_that_is_too_high_what_passed_is_counted() {
        let (bad, open, good) = (Verdict::Regression, Verdict::Inconclusive, Verdict::NoRegression);
        let mut metrics = vec![("slow", time(0.2, bad)), ("worse", time(0.1, bad))];
        metrics.extend(["a", "b", "c", "d", "e"].map(|name| (name, time(0.01, open))));
        metrics.push(("fast", time(-0.1, good)));
        metrics.extend(["f", "g"].map(|name| (name, time(0.0, good))));
        let outcome = outcome(bad, metrics);
        let all: Vec<_> = outcome.benchmarks.iter().flat_map(rows).collect();
        let names = |room| {
            let (rows, left_out) = fitting(all.clone(), room);
            let names: Vec<&str> = rows.iter().map(|(of, _)| of.name.as_str()).collect();
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
}
