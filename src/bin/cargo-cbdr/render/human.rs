//! The result for people, on standard output.

use std::collections::BTreeSet;
use std::io::{self, Write};

use anstyle::Style;
use cargo_cbdr::model::outcome::{
    BenchmarkResult, MeanDifference, Method, MetricResult, Outcome, Status, Verdict,
};
use cargo_cbdr::model::side::Pair;

use super::answer::{UNDECIDED, is_better};
use super::escape::line;
use super::explanation::{self, Explained};
use super::grid;
use super::readable::{self, Readable, ResultLine, ResultRow};
use super::table::{Building, TextTable};
use crate::ui::verbosity::verbosity;
use crate::ui::{fold, text, verdict_style};

/// The indentation of continuation lines.
const CONTINUED: usize = 2;

/// Prints the result, the tables behind it, and their confidence.
pub(crate) fn print(result: &Readable<'_>) -> io::Result<()> {
    write(&mut anstream::stdout().lock(), result)
}

pub(super) fn write(out: &mut dyn Write, result: &Readable<'_>) -> io::Result<()> {
    let outcome = result.outcome;
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
        fold::print(out, &format!("{style}{sentence}{style:#}{}", answer.details()), CONTINUED)?;
        if !answer.besides.is_empty() {
            fold::print(out, &format!("  {}", answer.besides.join("; ")), CONTINUED)?;
        }
    }
    match outcome.benchmarks.as_slice() {
        [only] if only.status == Status::Compared && !only.metrics.is_empty() => {
            table(out, result, only)?;
        }
        [] | [_] => {}
        // The answer and the notices name them.
        all if all.iter().all(|one| one.metrics.is_empty() && !readable::is_listed(one.status)) => {
        }
        several if outcome.verdict.is_none() && outcome.rows.is_some() => {
            several.iter().try_for_each(|benchmark| table(out, result, benchmark))?;
        }
        _ => overview(out, result)?,
    }
    if let Some(suite) = &result.suite {
        fold::print(out, &format!("  {suite}"), 2 * CONTINUED)?;
    }
    explanations(out, outcome)?;
    match outcome.rows.is_some() || outcome.pairs() > 0 {
        true => writeln!(out, "  confidence {}", result.confidence),
        false => Ok(()),
    }
}

fn explanations(out: &mut dyn Write, outcome: &Outcome) -> io::Result<()> {
    for explained in outcome.explanations.iter().flat_map(explanation::tables) {
        let Explained { title, table, rest, .. } = explained;
        fold::print(out, &line(&title), CONTINUED)?;
        grid::print(out, &table)?;
        if let Some(rest) = rest {
            writeln!(out, "  {rest}")?;
        }
    }
    Ok(())
}

/// Prints how often each verdict came out of many comparisons.
pub(crate) fn repeated(out: &mut dyn Write, outcomes: &[Outcome]) -> io::Result<()> {
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
    let average = format!(
        "On average {:.1} pairs in {}. In the long run, at most {} of such comparisons end in a \
         false alarm.",
        pairs as f64 / all as f64,
        text::seconds(seconds / all as f64),
        text::fraction(1.0 - first.policy.confidence),
    );
    fold::print(out, &average, 0)
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
fn table(out: &mut dyn Write, all: &Readable<'_>, benchmark: &BenchmarkResult) -> io::Result<()> {
    let Pair { base, head } = readable::sides(benchmark);
    let limits = limits(all.of(benchmark));
    let subject = match &benchmark.labels {
        Some(Pair { base, head }) => format!("{} against {}", line(head), line(base)),
        None => line(&benchmark.name),
    };
    let pairs = text::count(benchmark.pairs, "pair");
    let subject = if benchmark.pairs > 0 { format!("{subject}: {pairs}") } else { subject };
    print_title(out, vec![subject, format!("{}s", all.estimate)], &limits)?;
    let any_gates = benchmark.metrics.iter().any(|metric| metric.gates);
    let shown: Vec<&ResultRow<'_>> =
        all.of(benchmark).filter(|row| !any_gates || is_shown(row)).collect();
    let has_layouts = readable::has_layouts(&all.of(benchmark).collect::<Vec<_>>());
    let looked_at_once = matches!(benchmark.method, Some(Method::Paired | Method::Welch));
    let rows = ResultLine::with_before(shown.iter().map(|row| ResultLine::of(row)));
    let table = TextTable::of(&rows).text("metric", |line| line.cell(|cells| &cells.name));
    let table = values(table, &Pair { base, head }, benchmark.method == Some(Method::Judge))
        .text("measured", |line| line.cell(|cells| &cells.measured))
        .shown_if(has_layouts)
        .leaves(3)
        .numbers("mean", |line| line.cell(|cells| &cells.mean))
        .shown_if(verbosity().is_verbose && readable::shows_mean(&shown))
        .leaves(5)
        .numbers("difference", |line| line.of_row(|row| difference(row.metric)))
        .shown_if(looked_at_once)
        .leaves(6)
        .numbers("threshold", |line| line.of_row(threshold))
        .shown_if(limits.len() > 1)
        .leaves(3)
        .text("verdict", |line| line.cell(|cells| &cells.verdict))
        .shown_if(any_gates)
        .build();
    grid::print(out, &table)?;
    match benchmark.metrics.len() - shown.len() {
        0 => Ok(()),
        hidden => {
            let hidden = text::count(hidden as u64, "more metric");
            writeln!(out, "  {hidden} with --verbose")
        }
    }
}

/// Prints what is above a table, with the threshold if it is the same for all.
fn print_title(
    out: &mut dyn Write,
    mut parts: Vec<String>,
    limits: &BTreeSet<&str>,
) -> io::Result<()> {
    let only = limits.first().filter(|_| limits.len() == 1);
    parts.extend(only.map(|only| format!("threshold {only}")));
    fold::print(out, &parts.join("; "), CONTINUED)
}

/// Adds the values of both sides, the change and its bounds. The judge's changes have none.
fn values<'a>(
    table: Building<'a, ResultLine<'a>>,
    Pair { base, head }: &Pair<String>,
    judges: bool,
) -> Building<'a, ResultLine<'a>> {
    table
        .numbers(base, |line| line.cell(|cells| &cells.base))
        .leaves(4)
        .numbers(head, |line| line.cell(|cells| &cells.head))
        .leaves(4)
        .numbers(&format!("{base} → {head}"), |line| line.cell(|cells| &cells.both))
        .replaces(4)
        .leaves(2)
        .numbers("change", |line| line.cell(|cells| &cells.change))
        .intervals("interval", |line| line.cell(|cells| &cells.interval))
        .shown_if(!judges)
        .leaves(1)
        .styled(style)
}

/// The different thresholds.
fn limits<'r, 'a: 'r>(rows: impl Iterator<Item = &'r ResultRow<'a>>) -> BTreeSet<&'r str> {
    rows.filter_map(|row| row.cells.threshold.as_deref()).collect()
}

fn threshold(row: &ResultRow<'_>) -> String {
    row.cells.threshold.clone().unwrap_or_else(|| "-".to_owned())
}

/// The difference of the means and its bounds: `+3.669 ms [+3.071, +4.266]`.
fn difference(metric: &MetricResult) -> String {
    let Some(MeanDifference { lower, estimate, upper }) = metric.difference else {
        return "-".to_owned();
    };
    let (numbers, symbol) = text::in_one_unit(&[estimate, lower, upper], &metric.unit, 4);
    let sign = |number: &str| if number.starts_with('-') { "" } else { "+" };
    let signed = |at: usize| format!("{}{}", sign(&numbers[at]), numbers[at]);
    let [estimate, lower, upper] = [0, 1, 2].map(signed);
    line(&format!("{estimate} {symbol} [{lower}, {upper}]"))
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
fn overview(out: &mut dyn Write, result: &Readable<'_>) -> io::Result<()> {
    let benchmarks = result.outcome.benchmarks.as_slice();
    let rows = rows(result);
    let shown: Vec<&ResultRow<'_>> = rows.iter().filter_map(|line| line.row).collect();
    let only_metric = readable::only_metric(&shown);
    let limits = limits(shown.iter().copied());
    let mut title = vec![text::count(benchmarks.len() as u64, "benchmark")];
    title.extend(LISTED.into_iter().filter_map(|(status, word)| {
        let number = benchmarks.iter().filter(|one| one.status == status).count();
        (number > 0).then(|| format!("{number} {word}"))
    }));
    title.extend(only_metric.map(|only| line(&readable::estimate_of(result.estimate, only))));
    print_title(out, title, &limits)?;
    let has_layouts = readable::has_layouts(&shown);
    let judges = shown.iter().any(|row| row.metric.judgement.is_some());
    let room = fold::output_height().filter(|_| !verbosity().is_verbose);
    let befores = shown.iter().filter(|row| row.before.is_some()).count();
    let (rows, left_out) = fitting(rows, room.map(|all| all.saturating_sub(AROUND + befores)));
    let rows = ResultLine::with_before(rows.into_iter());
    let table = TextTable::of(&rows)
        .text("benchmark", name)
        .text("metric", |line| line.of_row(|row| row.cells.name.clone()))
        .shown_if(!shown.is_empty() && only_metric.is_none())
        .text("measured", |line| line.cell(|cells| &cells.measured))
        .shown_if(has_layouts)
        .leaves(5)
        .numbers("pairs", |line| line.of_row(|row| row.metric.summary.pairs.to_string()))
        .shown_if(!judges && !has_layouts)
        .leaves(5);
    let table = values(table, &Pair { base: "base".to_owned(), head: "head".to_owned() }, judges)
        .numbers("threshold", |line| line.of_row(threshold))
        .shown_if(limits.len() > 1)
        .leaves(3)
        .text("verdict", |line| if line.is_before { String::new() } else { overview_verdict(line) })
        .build();
    grid::print(out, &table)?;
    if let Some(left_out) = left_out {
        fold::print(out, &format!("  {left_out} (--verbose lists all)"), CONTINUED)?;
    }
    LISTED.into_iter().try_for_each(|(status, word)| {
        match readable::names(benchmarks, status, line) {
            Some(names) => fold::print(out, &format!("  {word}: {names}"), 2 * CONTINUED),
            None => Ok(()),
        }
    })
}

/// The rows for which there is room, and what the others are: `not shown: 24 without a
/// regression`. The answer above the table should stay on the screen, so if there are too many
/// rows, those that passed leave, then those that became better, then the undecided ones.
/// Regressions never do.
fn fitting(
    rows: Vec<ResultLine<'_>>,
    room: Option<usize>,
) -> (Vec<ResultLine<'_>>, Option<String>) {
    let Some(room) = room.filter(|room| rows.len() > *room) else { return (rows, None) };
    let rank = |line: &ResultLine<'_>| line.row.map(|row| row.metric.rank());
    let is_plain = |line: &ResultLine<'_>| {
        let is_remarkable = |row: &ResultRow<'_>| row.metric.warned || is_better(row.metric);
        rank(line).is_none_or(|rank| rank > 1) && !line.row.is_some_and(is_remarkable)
    };
    let (plain, mut rows): (Vec<_>, Vec<_>) = rows.into_iter().partition(is_plain);
    let regressions = rows.iter().filter(|row| rank(row) == Some(0)).count();
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

/// The rows of what may be affected, the worst first: at least one for each benchmark.
fn rows<'r>(result: &'r Readable<'_>) -> Vec<ResultLine<'r>> {
    let mut shown: Vec<&ResultRow<'_>> = result.rows.iter().filter(|row| is_shown(row)).collect();
    shown.retain(|row| !readable::is_listed(row.benchmark.status));
    shown.sort_by(|one, other| {
        let by_gain = || is_better(other.metric).cmp(&is_better(one.metric));
        one.metric.by_severity(other.metric).then_with(by_gain)
    });
    let without = result.outcome.benchmarks.iter().filter(|benchmark| {
        !readable::is_listed(benchmark.status) && !result.of(benchmark).any(is_shown)
    });
    let without = without.map(|benchmark| ResultLine { benchmark, row: None, is_before: false });
    shown.into_iter().map(ResultLine::of).chain(without).collect()
}

/// The name of a line's benchmark, or of what was measured before.
fn name(of: &ResultLine<'_>) -> String {
    if of.is_before { of.cell(|cells| &cells.name) } else { line(&of.benchmark.name) }
}

fn style(of: &ResultLine<'_>) -> Option<Style> {
    match of.is_before {
        true => Some(Style::new().dimmed()),
        false => of.row.and_then(|row| row.metric.verdict.map(verdict_style)),
    }
}

/// The verdict of a row, or why it has none.
fn overview_verdict(line: &ResultLine<'_>) -> String {
    match (line.row, line.benchmark.status) {
        (Some(row), _) => row.cells.verdict.clone(),
        (None, Status::Compared) if line.benchmark.pairs == 0 => "not measured".to_owned(),
        (None, Status::Compared) => UNGATED.to_owned(),
        (None, status) => status.to_string(),
    }
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
        let all = rows(&readable);
        let names = |room| {
            let (rows, left_out) = fitting(all.clone(), room);
            let names: Vec<&str> = rows.iter().map(|line| line.benchmark.name.as_str()).collect();
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
        let mut out = Vec::new();
        write(&mut out, &Readable::new(&outcome, &CommandLine::default())).unwrap();
        let out = String::from_utf8(out).unwrap();
        assert!(out.contains("no regression in undecided"), "{out}");
    }
}
