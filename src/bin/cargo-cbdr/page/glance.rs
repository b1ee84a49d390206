//! All metrics in a table that can be filtered, each interval on one scale.

use cargo_cbdr::model::outcome::{BenchmarkResult, MetricResult, Outcome, Verdict};
use maud::{Markup, html};

use super::{answer, sentence};
use crate::render::answer::is_better;
use crate::render::escape::line;
use crate::render::readable::{self, CellTexts, Readable, ResultRow};
use crate::render::scale::ChangeScale;
use crate::ui::text;

/// With more rows than this, the table can be filtered, and scrolls.
const MANY: usize = 12;

/// The kinds of results that can be chosen: the word in the page's style, and for people.
const KINDS: [(&str, &str); 5] = [
    ("regression", "regression"),
    ("inconclusive", "inconclusive"),
    ("better", "faster or better"),
    ("passed", "no regression"),
    ("other", "without a verdict"),
];

/// What a result is, as [`KINDS`] has it.
fn kind(result: &MetricResult) -> &'static str {
    match result.verdict {
        Some(Verdict::Regression) => "regression",
        Some(Verdict::Inconclusive) => "inconclusive",
        Some(_) if is_better(result) => "better",
        Some(_) => "passed",
        None => "other",
    }
}

/// The fragment by which a benchmark can be linked. An `id` has no blanks.
pub(super) fn anchor(benchmark: &BenchmarkResult) -> String {
    format!("benchmark-{}", line(&benchmark.name).replace(char::is_whitespace, "_"))
}

/// The words for all kinds that a benchmark's metrics are of.
pub(super) fn kinds(benchmark: &BenchmarkResult) -> String {
    let gates = benchmark.metrics.iter().filter(|metric| metric.gates);
    let mut kinds: Vec<&str> = gates.map(kind).collect();
    kinds.dedup();
    if kinds.is_empty() { "other".to_owned() } else { kinds.join(" ") }
}

/// All metrics in a table, the worst first, with what they can be filtered by.
pub(super) fn glance(result: &Readable<'_>) -> Markup {
    let rows = result.rows.iter();
    let any_gates = rows.clone().any(|row| row.metric.gates);
    let scaled = rows.clone().filter(|row| !any_gates || row.metric.gates);
    let scale = ChangeScale::of(&scaled.map(|row| row.metric).collect::<Vec<_>>());
    let (shown, folded): (Vec<_>, Vec<_>) = rows.partition(|row| !any_gates || row.is_requested());
    let is_long = shown.len() > MANY;
    let only = readable::only_metric(&shown);
    let row = |of: &ResultRow<'_>, only| row(result.outcome, &scale, of, only);
    let is_named = only.is_some() && result.outcome.benchmarks.len() > 1;
    let subject = if is_named { "benchmark" } else { "metric" };
    html! {
        @if !result.rows.is_empty() {
            section {
                h2 { "At a glance" }
                @if is_long { (filter(&shown)) }
                div.scroll[is_long] {
                    table.glance {
                        caption {
                            @if let Some(only) = only {
                                (sentence(&readable::estimate_heading(result.estimate, only)))
                                " of base and head; the worst comes first."
                            } @else {
                                "Base and head are " (result.estimate) "s; the worst comes first."
                            }
                            @if is_long { " Scroll for more." }
                        }
                        thead {
                            tr {
                                th scope="col" { (subject) }
                                @for name in ["base", "head", "change"] { th.number scope="col" { (name) } }
                                th.scale scope="col" {
                                    span { (text::percent(scale.from)) }
                                    span { "interval" }
                                    span { (text::percent(scale.to)) }
                                }
                                th scope="col" { "verdict" }
                            }
                        }
                        tbody {
                            @for of in &shown { (row(of, only)) }
                        }
                    }
                }
                @if !folded.is_empty() {
                    details {
                        summary {
                            (text::count(folded.len() as u64, "informational metric"))
                        }
                        table.glance {
                            tbody {
                                @for of in &folded { (row(of, None)) }
                            }
                        }
                    }
                }
                p.key {
                    span.swatch.interval {} "interval and estimate  "
                    @if any_gates { span.swatch.limit {} "threshold  " }
                    span.swatch.zero {} "no change  "
                    "◂ ▸ beyond the scale"
                }
                p.small {
                    "confidence " (result.confidence) ", estimator "
                    (result.outcome.policy.estimator)
                }
            }
        }
    }
}

/// The number of results of each kind, and which of them are shown.
fn filter(all: &[&ResultRow<'_>]) -> Markup {
    let count = |of: &str| all.iter().filter(|row| kind(row.metric) == of).count();
    html! {
        fieldset.filter {
            legend { "Show" }
            input type="radio" name="kind" id="kind-all" checked;
            label for="kind-all" { "all " (all.len()) }
            @for (kind, name) in KINDS.iter().filter(|(kind, _)| count(kind) > 0) {
                input type="radio" name="kind" id={ "kind-" (kind) };
                label.(kind) for={ "kind-" (kind) } {
                    @if *kind == "regression" { (text::count(count(kind) as u64, name)) }
                    @else { (count(kind)) " " (name) }
                }
            }
        }
    }
}

fn row(outcome: &Outcome, scale: &ChangeScale, row: &ResultRow<'_>, only: Option<&str>) -> Markup {
    let ResultRow { benchmark, metric, cells, before } = row;
    html! {
        tr.gates[metric.gates] data-kind=(kind(metric)) {
            th scope="row" {
                a href={ "#" (anchor(benchmark)) } {
                    code { (line(&row.full_name(outcome, only))) }
                }
            }
            td.number data-name="base" { (cells.base) }
            td.number data-name="head" { (cells.head) }
            td.number data-name="change" { (cells.change) }
            td.scale {
                (bar(scale, row))
                span.ends { (cells.interval) " in " (cells.measured) }
                @if let Some(before) = before { span.ends { (before.measurement()) } }
            }
            td { (answer(row)) }
        }
    }
}

/// An interval on the scale, in percent of the width, with arrows where it leaves the scale.
fn bar(scale: &ChangeScale, row: &ResultRow<'_>) -> Markup {
    let at = |change: f64| 100.0 * scale.part(change);
    let summary = &row.metric.summary;
    let (left, right) = (summary.lower.map_or(0.0, at), summary.upper.map_or(100.0, at));
    let is_left = |end: f64| end < scale.from;
    let is_right = |end: f64| end > scale.to;
    let mark = |class: &str, change: f64| {
        html! { i class=(class) style=(format!("left:{:.2}%", at(change))) {} }
    };
    html! {
        @if let Some(change) = summary.change {
            div.bar title=(described(row)) {
                (mark("zero", 0.0))
                i.interval style=(format!("left:{left:.2}%;width:{:.2}%", right - left)) {}
                @if let Some(limit) = row.metric.limit() { (mark("limit", limit)) }
                @if scale.holds(change) { (mark("estimate", change)) }
                @if is_left(change) { i.beyond.left { "◂ " (row.cells.change) } }
                @else if summary.lower.is_none_or(is_left) { i.beyond.left { "◂" } }
                @if is_right(change) { i.beyond.right { (row.cells.change) " ▸" } }
                @else if summary.upper.is_none_or(is_right) { i.beyond.right { "▸" } }
            }
        }
    }
}

/// The numbers of a metric in a sentence, as they are shown of what is drawn.
pub(super) fn described(row: &ResultRow<'_>) -> String {
    let CellTexts { metric, base, head, change, interval, .. } = &row.cells;
    let threshold = row.cells.and_threshold();
    format!("{metric}: base {base}, head {head}, change {change}, interval {interval}{threshold}")
}

#[cfg(test)]
mod tests {
    use cargo_cbdr::model::outcome::Status;

    use super::*;

    #[test]
    fn a_benchmark_is_linked_by_its_name() {
        for (name, expected) in [("a::b/ä", "benchmark-a::b/ä"), ("a b", "benchmark-a_b")] {
            assert_eq!(anchor(&BenchmarkResult::new(name, Status::Compared)), expected);
        }
    }
}
