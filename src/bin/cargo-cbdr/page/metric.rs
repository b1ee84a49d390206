//! One metric of one benchmark: three charts and the numbers.

use cargo_cbdr::model::{MetricResult, Outcome, Pair, Side, Unit};
use cargo_cbdr::samples::Recording;
use cargo_cbdr::stats::empirical::sorted;
use maud::{Markup, PreEscaped, html};

use super::chart::Figure;
use super::{answer, chart, funnel, glance, histogram, ratios};
use crate::plot::bins::at;
use crate::render::escape::line;
use crate::render::names;
use crate::render::readable::ResultRow;
use crate::ui::text;

pub(super) fn article(outcome: &Outcome, recording: &Recording, row: &ResultRow<'_>) -> Markup {
    let ResultRow { benchmark, metric: result, before, .. } = row;
    let name = &result.name;
    let comparison = recording.comparison(&benchmark.name);
    let values = comparison.map_or(Pair::default(), |comparison| {
        Pair::both(|side| recording.values(comparison.labels[side], name).flatten().collect())
    });
    let pairs: Vec<(Side, Pair<f64>)> =
        comparison.map_or(Vec::new(), |comparison| recording.pairs(comparison, name).collect());
    // The heading above names the benchmark.
    let labels = names::sides(benchmark);
    let numbers_of = glance::described(row);
    let closing = funnel::draw(&pairs, &outcome.policy, result).map(|drawing| (drawing, None));
    html! {
        article {
            h3 {
                code { (line(name)) }
                (answer(row))
            }
            @if let Some(before) = before {
                p.small { "Runs below: " (before.subject) "; verdict: over " (row.cells.measured) }
            }
            div.figures {
                (figure("Distributions", &numbers_of, histogram::draw(&values, &result.unit), html! {
                    (key(&labels, "")) "Every run, in the same bins."
                }))
                (figure("Interval over time", &numbers_of, closing, closing_in(outcome, result, pairs.len() as u64)))
                (figure("Pair by pair", &numbers_of, ratios::draw(&pairs, result.limit()), html! {
                    (key(&labels, " went first"))
                    "The change of each pair, in the order of measuring. Dots of the two colours \
                     apart would mean that the place in the pair matters."
                }))
                (numbers(row, &labels, &values, pairs.len() as u64))
            }
        }
    }
}

/// The legend of the two colours.
fn key(labels: &Pair<String>, what: &str) -> Markup {
    html! {
        span.key {
            span.swatch.base {} (labels.base) (what) " "
            span.swatch.head {} (labels.head) (what)
        }
    }
}

fn closing_in(outcome: &Outcome, metric: &MetricResult, pairs: u64) -> Markup {
    let decided = funnel::deciding_pair(metric);
    let late = decided.is_some_and(|decided| decided < pairs);
    html! {
        span.key {
            span.swatch.band {} "interval and estimate "
            @if metric.threshold.is_some() { span.swatch.limit {} "threshold " }
            @if decided.is_some() { span.swatch.ink {} "decided" }
        }
        "What was known after each pair; "
        @if metric.threshold.is_some() {
            "the verdict is reached when the whole interval is on one side of the threshold."
            @if late { " What was measured after that did not count." }
        } @else {
            "the interval that is valid however often it is looked at"
            @if outcome.verdict.is_none() { ", wider than the one for a single look" }
            "."
        }
    }
}

/// A drawing with its title; `numbers` describe what it shows.
fn figure(title: &str, numbers: &str, drawn: Figure, caption: Markup) -> Markup {
    html! {
        @if let Some((drawing, remark)) = drawn {
            figure {
                h4 { (title) }
                div.drawing role="img" aria-label=(title) {
                    (PreEscaped(chart::titled(&drawing, "svg", &[numbers.to_owned()])))
                }
                figcaption {
                    (caption)
                    @if let Some(remark) = remark { " (" (remark) ".)" }
                }
            }
        }
    }
}

/// The numbers of the two sides, and their meaning.
fn numbers(
    row: &ResultRow<'_>,
    labels: &Pair<String>,
    values: &Pair<Vec<f64>>,
    pairs: u64,
) -> Markup {
    let ResultRow { metric: result, cells, before, .. } = row;
    let decided = funnel::deciding_pair(result).filter(|_| before.is_none());
    let estimate = match decided.is_some_and(|decided| decided < pairs) {
        true => "estimate, when decided",
        false if before.is_some() => "estimate, over layouts",
        false => "estimate",
    };
    let estimates = [cells.base.clone(), cells.head.clone()];
    let spreads = values.as_ref().map(|values| spread(values, &result.unit));
    let spreads = spreads.base.into_iter().zip(spreads.head);
    let spreads = spreads.map(|((name, base), (_, head))| (name, [base, head]));
    let against = [
        Some(("change", cells.change.clone())),
        Some(("interval", cells.interval.clone())),
        before.as_ref().map(|_| ("measured in", cells.measured.clone())),
        before.as_ref().map(|it| (it.subject.as_str(), format!("{} {}", it.change, it.interval))),
        cells.shows_mean().then(|| ("change of the mean", cells.mean.clone())),
        (!cells.threshold.is_empty()).then(|| ("threshold", cells.threshold.clone())),
        decided.map(|decided| {
            ("decided after", format!("{decided} of {}", text::count(pairs, "pair")))
        }),
    ];
    html! {
        div.numbers {
            h4 { "Numbers" }
            table {
                caption { "Both sides" }
                thead {
                    tr {
                        td {}
                        @for label in [&labels.base, &labels.head] { th.number scope="col" { (label) } }
                    }
                }
                tbody {
                    @for (name, sides) in std::iter::once((estimate, estimates)).chain(spreads) {
                        tr {
                            th scope="row" { (name) }
                            @for value in sides { td.number { (value) } }
                        }
                    }
                }
            }
            table {
                caption { "Head against base" }
                tbody {
                    @for (name, value) in against.into_iter().flatten() {
                        tr { th scope="row" { (name) } td.number { (value) } }
                    }
                }
            }
        }
    }
}

/// What is shown of one side's runs: how many there are, their mean, median, minimum and
/// maximum, and their standard deviation as a part of the mean.
fn spread(values: &[f64], unit: &Unit) -> [(&'static str, String); 6] {
    let sorted = sorted(values.iter().copied());
    let count = sorted.len() as f64;
    let mean = sorted.iter().sum::<f64>() / count;
    let square = sorted.iter().map(|value| (value - mean).powi(2)).sum::<f64>();
    let deviation = (square / (count - 1.0)).sqrt() / mean;
    let or_dash = |value: f64, text: String| if value.is_finite() { text } else { "-".to_owned() };
    let value = |value: f64| or_dash(value, text::value(value, unit));
    [
        ("runs", sorted.len().to_string()),
        ("mean", value(mean)),
        ("median", value(at(&sorted, 0.5))),
        ("min", value(at(&sorted, 0.0))),
        ("max", value(at(&sorted, 1.0))),
        ("std dev", or_dash(deviation, format!("{:.2}%", 100.0 * deviation))),
    ]
}
