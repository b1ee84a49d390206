//! The result for people, on standard output.

use std::io::{self, Write};

use anstyle::Style;
use cargo_cbdr::model::outcome::{BenchmarkResult, Method, MetricResult, Outcome, Status, Verdict};

use super::escape::line;
use super::explanation::{self, Table};
use super::grid::{self, Column};
use super::words;
use crate::ui::verbosity::verbosity;
use crate::ui::{text, verdict_style};

/// Prints tables, what they mean, and the verdict if there is one.
pub(crate) fn print(outcome: &Outcome) -> io::Result<()> {
    let mut out = anstream::stdout().lock();
    match outcome.benchmarks.as_slice() {
        several if several.iter().any(|benchmark| benchmark.labels.is_some()) => {
            several.iter().try_for_each(|benchmark| table(&mut out, benchmark))?;
        }
        [only] if only.status == Status::Compared && !only.metrics.is_empty() => {
            table(&mut out, only)?;
        }
        [] | [_] => {}
        several => overview(&mut out, several)?,
    }
    explanations(&mut out, outcome)?;
    if !outcome.benchmarks.is_empty() {
        for line in words::meaning_in_lines(outcome) {
            writeln!(out, "  {line}")?;
        }
    }
    match outcome.verdict {
        Some(verdict) => {
            let style = verdict_style(verdict);
            writeln!(out, "{style}{verdict}{style:#}: {}", words::reason(outcome))
        }
        None if outcome.rows.is_none() => writeln!(out, "{}", words::reason(outcome)),
        None => Ok(()),
    }
}

/// Prints why benchmarks have regressed.
fn explanations(out: &mut impl Write, outcome: &Outcome) -> io::Result<()> {
    for explanation in &outcome.explanations {
        let Table { title, rows, rest } = explanation::table(explanation);
        writeln!(out, "{}", line(&title))?;
        let [function, base, head, change, code] = explanation::HEADINGS;
        let columns = [
            Column::text(function),
            Column::numbers(base),
            Column::numbers(head),
            Column::numbers(change),
            Column::text(code),
        ];
        if !rows.is_empty() {
            grid::print(out, &columns, rows.into_iter().map(|row| (row, None)))?;
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
        return writeln!(out, "not one comparison was finished");
    };
    let all = outcomes.len() as u64;
    let head = text::revision(&sides.head);
    writeln!(out, "{} of {head} with itself:", text::count(all, "comparison"))?;
    for (verdict, times) in times(outcomes) {
        let style = verdict_style(verdict);
        let share = 100.0 * times as f64 / all as f64;
        writeln!(out, "  {style}{verdict:<13}{style:#}  {times:>4}  {share:.1}%")?;
    }
    let pairs: u64 = outcomes.iter().map(Outcome::pairs).sum();
    let seconds: f64 = outcomes.iter().filter_map(|outcome| outcome.elapsed_seconds).sum();
    let wrong = 100.0 * (1.0 - first.policy.confidence);
    writeln!(
        out,
        "On average {:.1} pairs in {}. Of many comparisons, at most {}% may end in a false alarm.",
        pairs as f64 / all as f64,
        text::seconds(seconds / all as f64),
        text::rounded(wrong),
    )
}

/// How many comparisons of a program with itself had each of the verdicts that
/// they can have.
pub(super) fn times(outcomes: &[Outcome]) -> [(Verdict, u64); 3] {
    [Verdict::NoRegression, Verdict::Regression, Verdict::Inconclusive].map(|verdict| {
        let times = outcomes.iter().filter(|outcome| outcome.verdict == Some(verdict)).count();
        (verdict, times as u64)
    })
}

/// The metrics of a benchmark: those that gate, where some do, and those that were asked for,
/// and with `--verbose` the others.
fn table(out: &mut impl Write, benchmark: &BenchmarkResult) -> io::Result<()> {
    let pairs = text::count(benchmark.pairs, "pair");
    let (base, head) = match &benchmark.labels {
        Some(labels) => (line(&labels.base), line(&labels.head)),
        None => ("base".to_owned(), "head".to_owned()),
    };
    let any_gates = benchmark.metrics.iter().any(|metric| metric.gates);
    match benchmark.labels {
        Some(_) => {
            let pairs = if benchmark.pairs > 0 { format!(": {pairs}") } else { String::new() };
            let limits =
                if any_gates { format!("; {}", thresholds(benchmark)) } else { String::new() };
            writeln!(out, "{head} against {base}{pairs}{limits}")?;
        }
        None => writeln!(out, "{}: {pairs}; {}", line(&benchmark.name), thresholds(benchmark))?,
    }
    let shows_all = !any_gates || verbosity().is_verbose;
    let is_shown =
        |metric: &MetricResult| shows_all || metric.gates || benchmark.shown.contains(&metric.name);
    let shown = benchmark.metrics.iter().filter(|metric| is_shown(metric));
    let has_layouts = words::has_layouts(std::slice::from_ref(benchmark));
    let looked_at_once = matches!(benchmark.method, Some(Method::Paired | Method::Welch));
    let columns = [
        Column::text("metric"),
        Column::numbers(&base).leaves(1),
        Column::numbers(&head).leaves(1),
        Column::numbers("change"),
        Column::numbers("interval").shown_if(benchmark.method != Some(Method::Judge)),
        Column::numbers("over layouts").shown_if(has_layouts),
        Column::numbers("mean").shown_if(words::shows_mean(shown.clone())).leaves(3),
        Column::numbers("difference").shown_if(looked_at_once).leaves(2),
        Column::text("verdict"),
    ];
    let rows = shown.clone().map(|metric| {
        let [name, base, head, change, interval, mean, verdict] = words::cells(metric);
        let verdict = metric.judgement.map_or(verdict, |judgement| judgement.to_string());
        let over = words::change_over_layouts(metric);
        let difference = difference(metric);
        let cells = [name, base, head, change, interval, over, mean, difference, verdict];
        (cells, metric.verdict.map(verdict_style))
    });
    grid::print(out, &columns, rows)?;
    match benchmark.metrics.len() - shown.count() {
        0 => Ok(()),
        hidden => {
            let hidden = text::count(hidden as u64, "more metric");
            writeln!(out, "  {hidden} with --verbose")
        }
    }
}

/// The thresholds of a benchmark's metrics.
fn thresholds(benchmark: &BenchmarkResult) -> String {
    let gating = benchmark.metrics.iter().filter_map(|m| Some((&m.name, m.limit()?)));
    let gating: Vec<_> = gating.collect();
    match gating.as_slice() {
        [(_, only)] => format!("threshold {}", text::percent(*only)),
        several => {
            let list = several
                .iter()
                .map(|(name, limit)| format!("{} {}", line(name), text::percent(*limit)));
            format!("thresholds {}", list.collect::<Vec<_>>().join(", "))
        }
    }
}

/// The difference of the means and its bounds, in the metric's unit.
fn difference(metric: &MetricResult) -> String {
    let value = |value: f64| {
        let sign = if value < 0.0 { "" } else { "+" };
        format!("{sign}{}", text::value(value, &metric.unit))
    };
    metric.difference.map_or("-".to_owned(), |d| {
        format!("{} [{}, {}]", value(d.estimate), value(d.lower), value(d.upper))
    })
}

/// One row of the overview: a benchmark, and a metric of it where one gates.
type OverviewRow<'a> = (&'a BenchmarkResult, Option<&'a MetricResult>);

/// The table of several benchmarks: a row for each metric that gates, the worst first, and a line for all that
/// are unaffected.
fn overview(out: &mut impl Write, benchmarks: &[BenchmarkResult]) -> io::Result<()> {
    let is_unaffected = |one: &&BenchmarkResult| one.status == Status::Unaffected;
    let (unaffected, affected): (Vec<_>, Vec<_>) = benchmarks.iter().partition(is_unaffected);
    let mut rows: Vec<OverviewRow<'_>> = affected.into_iter().flat_map(rows).collect();
    rows.sort_by(|(_, one), (_, other)| match (one, other) {
        (Some(one), Some(other)) => words::by_severity(one, other),
        (one, other) => other.is_some().cmp(&one.is_some()),
    });
    let gating = || rows.iter().filter_map(|(_, metric)| *metric);
    let metrics = distinct(gating().map(|result| result.name.clone()));
    let limits = distinct(gating().filter_map(MetricResult::limit).map(text::percent));
    let mut title = vec![text::count(benchmarks.len() as u64, "benchmark")];
    if !unaffected.is_empty() {
        title.push(format!("{} unaffected", unaffected.len()));
    }
    if let [only] = metrics.as_slice() {
        title.push(line(only));
    }
    if let [only] = limits.as_slice() {
        title.push(format!("threshold {only}"));
    }
    writeln!(out, "{}", title.join("; "))?;
    let columns = [
        Column::text("benchmark"),
        Column::text("metric").shown_if(metrics.len() > 1),
        Column::numbers("pairs").leaves(3),
        Column::numbers("base").leaves(2),
        Column::numbers("head").leaves(2),
        Column::numbers("change"),
        Column::numbers("interval"),
        Column::numbers("over layouts").shown_if(words::has_layouts(benchmarks)),
        Column::numbers("threshold").shown_if(limits.len() > 1).leaves(1),
        Column::text("verdict"),
    ];
    if !rows.is_empty() {
        grid::print(out, &columns, rows.into_iter().map(overview_cells))?;
    }
    match words::unaffected(benchmarks, line) {
        Some(names) => writeln!(out, "  unaffected: {names}"),
        None => Ok(()),
    }
}

/// The rows of a benchmark: at least one.
fn rows(benchmark: &BenchmarkResult) -> Vec<OverviewRow<'_>> {
    let gating = benchmark.metrics.iter().filter(|result| result.gates);
    let rows: Vec<OverviewRow<'_>> = gating.map(|result| (benchmark, Some(result))).collect();
    if rows.is_empty() { vec![(benchmark, None)] } else { rows }
}

fn overview_cells((benchmark, metric): OverviewRow<'_>) -> ([String; 10], Option<Style>) {
    let name = line(&benchmark.name);
    let dash = || "-".to_owned();
    let Some(result) = metric else {
        let status = match benchmark.status {
            Status::New | Status::Removed | Status::Unaffected => benchmark.status.to_string(),
            Status::Compared if benchmark.pairs == 0 => "not measured".to_owned(),
            Status::Compared => "does not gate".to_owned(),
        };
        let [a, b, c, d, e, f, g, h] = std::array::from_fn(|_| dash());
        return ([name, a, b, c, d, e, f, g, h, status], None);
    };
    let [metric, base, head, change, interval, _, verdict] = words::cells(result);
    let pairs = result.summary.pairs.to_string();
    let limit = result.limit().map_or_else(dash, text::percent);
    let over = words::change_over_layouts(result);
    let cells = [name, metric, pairs, base, head, change, interval, over, limit, verdict];
    (cells, result.verdict.map(verdict_style))
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
