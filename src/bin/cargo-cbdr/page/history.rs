//! The history of each benchmark: its results commit by commit, what was
//! expected before each of them, and annotated changes.

use cargo_cbdr::flows::history::list::{ListedSeries, ListedValue, Listing};
use cargo_cbdr::stats::lookback::THRESHOLD;
use cargo_cbdr::workspace::git::abbreviated;
use cargo_cbdr::workspace::git::line::Commit;
use maud::{Markup, PreEscaped, html};
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, VPos};

use super::chart::{self, BAND, BASE, ChartFrame, INK, LIMIT, Plane};
use super::{document, sentence, table};
use crate::plot::axis::Axis;
use crate::render::escape::line;
use crate::render::history::{self, heading, signed};
use crate::ui::text;

pub(crate) fn page(listing: &Listing) -> String {
    let from = first(listing);
    let count = text::count((listing.commits.len() - from) as u64, "commit");
    let ends = [listing.commits.get(from), listing.commits.last()];
    let [first, last] = ends.map(|commit| commit.map_or("", |commit| abbreviated(&commit.id)));
    let body = html! {
        header.plain {
            h1 { "History" }
            p.reason { (count) ", " (first) " to " (last) }
        }
        @for listed in &listing.series { (series(listed, &listing.commits, from)) }
        p.small {
            "Line and band: the mean of the last 100 commits with a result, and " (THRESHOLD)
            " standard deviations on both sides of it; at the right, the range expected for the \
             next commit. Hollow dots: outliers, which are excluded. Red lines: annotated changes, \
             after which the mean starts over. Crosses at the bottom: failed results. z: by how \
             many standard deviations a result is better than the mean before it; worse is negative."
        }
    };
    document("cargo cbdr: history", &body)
}

/// The first commit with anything to show. Most histories are older than their results.
fn first(listing: &Listing) -> usize {
    let of = |listed: &ListedSeries| {
        let values = listed.values.iter().map(|value| value.commit);
        let failures = listed.failures.iter().map(|(commit, _)| *commit);
        values.chain(failures).chain(listed.changes.iter().map(|(commit, _)| *commit)).min()
    };
    listing.series.iter().filter_map(of).min().unwrap_or(0)
}

fn series(listed: &ListedSeries, commits: &[Commit], from: usize) -> Markup {
    let [name, about] = heading(&listed.key);
    let drawing = drawing(listed, commits, from);
    html! {
        section {
            h2 { (sentence(&name)) " " small { (line(&listed.metric.name)) } }
            p.small { (about) }
            div.wide {
                (PreEscaped(chart::titled(&drawing, "circle", &titles(listed, commits))))
            }
            @if !listed.changes.is_empty() {
                ol {
                    @for (at, why) in &listed.changes { li { code { (abbreviated(&commits[*at].id)) } " " (line(why)) } }
                }
            }
            details.wide {
                summary { (text::count(listed.values.len() as u64, "result")) }
                (table(&listed.metric.name, &history::table(listed, commits)))
            }
        }
    }
}

/// What each dot shows, in the order in which they are drawn.
fn titles(listed: &ListedSeries, commits: &[Commit]) -> Vec<String> {
    let title = |value: &ListedValue| {
        let Commit { id, summary, .. } = &commits[value.commit];
        let commit = format!("{} {}", abbreviated(id), line(summary));
        let z =
            value.z(listed.metric.better).map_or(String::new(), |z| format!(", z {}", signed(z)));
        let outlier = if value.statistics.is_outlier { ", outlier" } else { "" };
        format!("{commit}: {}{z}{outlier}", text::value(value.value, &listed.metric.unit))
    };
    listed.values.iter().map(title).collect()
}

/// What was expected at a commit, by number: mean and deviation.
type Expected = (usize, f64, Option<f64>);

fn expected(listed: &ListedSeries, next: usize) -> Vec<Expected> {
    let mut all: Vec<Expected> = Vec::new();
    for value in &listed.values {
        let Some(mean) = value.statistics.mean_before else { continue };
        // At the first commit of a level each result has itself for a mean.
        if all.last().is_none_or(|last| last.0 != value.commit) {
            all.push((value.commit, mean, value.statistics.deviation_before));
        }
    }
    all.extend(listed.next.mean.map(|mean| (next, mean, listed.next.deviation)));
    all
}

/// The displayed range: all values, and the last band as far as there is room.
fn range(listed: &ListedSeries, expected: &[Expected]) -> (f64, f64) {
    let values = || listed.values.iter().map(|value| value.value);
    let (from, to) =
        (values().fold(f64::INFINITY, f64::min), values().fold(f64::NEG_INFINITY, f64::max));
    let least = if to > from { to - from } else { from.abs().max(f64::MIN_POSITIVE) };
    let band =
        expected.last().and_then(|(_, mean, deviation)| Some((*mean, THRESHOLD * (*deviation)?)));
    let (low, high) = band.map_or((from, to), |(mean, half)| {
        ((mean - half).max(from - least), (mean + half).min(to + least))
    });
    let (from, to) = (from.min(low), to.max(high));
    let room = 0.06 * (to - from).max(1e-3 * least);
    (from - room, to + room)
}

/// `from` is the first commit that is drawn.
fn drawing(listed: &ListedSeries, commits: &[Commit], from: usize) -> String {
    let expected = expected(listed, commits.len());
    let range = range(listed, &expected);
    let axis = Axis::new(&listed.metric.unit, range.0, range.1, chart::step(range));
    let label = |x: f64| {
        let is_whole = x >= 0.0 && (x - x.round()).abs() < 1e-9;
        let commit = commits.get(x.round() as usize).filter(|_| is_whole);
        commit.map_or(String::new(), |commit| commit.id.chars().take(7).collect())
    };
    let frame = ChartFrame {
        x: (from as f64 - 0.7, commits.len() as f64 + 0.7),
        y: range,
        x_label: &label,
        y_label: &|y| axis.number(y),
        x_name: String::new(),
        y_name: axis.unit.clone(),
        logarithmic: false,
    };
    chart::svg(chart::WIDE, &frame, |plane| {
        bands(plane, &expected);
        marks(plane, listed, range);
        for value in &listed.values {
            let is_outlier = value.statistics.is_outlier;
            let style = if is_outlier { BASE.stroke_width(3) } else { BASE.filled() };
            plane.draw(&Circle::new(plane.at(value.commit as f64, value.value), 7, style));
        }
    })
}

/// What was expected: a step for each commit.
fn bands(plane: &Plane<'_>, expected: &[Expected]) {
    for (number, (commit, mean, deviation)) in expected.iter().enumerate() {
        // A step reaches half-way to its neighbours, so that commits without a result
        // leave no gap.
        let at = *commit as f64;
        let half = |other: Option<&Expected>, default: f64| {
            other.map_or(default, |other| f64::midpoint(at, other.0 as f64))
        };
        let left = half(number.checked_sub(1).and_then(|n| expected.get(n)), at - 0.5);
        let right = half(expected.get(number + 1), at + 0.5);
        if let Some(deviation) = deviation {
            let half = THRESHOLD * deviation;
            let corners = [plane.at(left, mean + half), plane.at(right, mean - half)];
            plane.draw(&Rectangle::new(corners, BAND.mix(0.14).filled()));
        }
        plane.path([(left, *mean), (right, *mean)], BAND.stroke_width(4));
    }
}

/// Annotated changes, numbered, and results that failed.
fn marks(plane: &Plane<'_>, listed: &ListedSeries, range: (f64, f64)) {
    for (number, (commit, _)) in (1..).zip(&listed.changes) {
        let x = *commit as f64 - 0.5;
        plane.path([(x, range.1), (x, range.0)], LIMIT.stroke_width(4));
        let (across, top) = plane.at(x, range.1);
        plane.write(&number.to_string(), (across, top - 4), (HPos::Center, VPos::Bottom));
    }
    for (commit, _) in &listed.failures {
        let (across, bottom) = plane.at(*commit as f64, range.0);
        plane.draw(&Cross::new((across, bottom - 14), 9, INK.stroke_width(4)));
    }
}
