//! How the interval closed in on the change, pair by pair.

use std::collections::BTreeSet;

use cargo_cbdr::model::{MetricResult, Pair, Policy, Side, Summary, Verdict};
use cargo_cbdr::stats::estimator::{Levels, Running};
use plotters::prelude::*;

use super::chart::{self, BAND, ChartFrame, INK, LIMIT, Plane};
use crate::plot::axis;

/// The most pairs that are drawn, spaced by equal factors.
const POINTS: usize = 240;

/// The pair that decided, counted from 1, whatever else was measured then.
pub(super) fn deciding_pair(metric: &MetricResult) -> Option<u64> {
    let (summary, verdict) = metric.of_pairs();
    let is_decided = matches!(verdict, Some(Verdict::Regression | Verdict::NoRegression));
    is_decided.then_some(summary.pairs)
}

/// The drawing. `None` if there are too few pairs.
pub(super) fn draw(
    pairs: &[(Side, Pair<f64>)],
    policy: &Policy,
    metric: &MetricResult,
) -> Option<String> {
    let history = history(pairs, policy, metric);
    let limit = metric.limit();
    let range = range(&history, limit)?;
    let last = history.last().map_or(1, |summary| summary.pairs) as f64;
    let frame = ChartFrame {
        x: (1.0, last.max(2.0)),
        y: range,
        x_label: &axis::count,
        y_label: &chart::percents(range),
        x_name: "pairs measured".to_owned(),
        y_name: "change, and its interval".to_owned(),
        logarithmic: true,
    };
    Some(chart::svg(chart::SIZE, &frame, |plane| {
        plane.level(0.0, INK);
        let decided = deciding_pair(metric);
        let until = decided.map_or(history.len(), |decided| {
            history.partition_point(|summary| summary.pairs <= decided)
        });
        band(plane, &history[..until], 1.0);
        // Paler, since what came after the verdict did not count.
        band(plane, &history[until.saturating_sub(1)..], 0.35);
        limit.into_iter().for_each(|limit| plane.level(limit, LIMIT));
        let Some(decided) = decided else { return };
        let x = decided as f64;
        plane.path([(x, range.0), (x, range.1)], INK.stroke_width(3));
        let deciding = history.iter().find(|summary| summary.pairs == decided);
        if let Some(change) = deciding.and_then(|summary| summary.change) {
            plane.draw(&Circle::new(plane.at(x, change), 9, INK.filled()));
        }
    }))
}

/// The summary after some of the pairs, the deciding one and the last one among
/// them.
fn history(pairs: &[(Side, Pair<f64>)], policy: &Policy, metric: &MetricResult) -> Vec<Summary> {
    let levels = Levels::new(policy.confidence, metric.shared_by);
    let mut running = Running::new(policy.estimator, metric.better, levels);
    let nth = |at: usize| (pairs.len() as f64).powf(at as f64 / POINTS as f64).round() as u64;
    let drawn: BTreeSet<u64> = (0..=POINTS).map(nth).chain(deciding_pair(metric)).collect();
    let mut history = Vec::new();
    for (number, (_, pair)) in (1_u64..).zip(pairs) {
        running.push(pair.base, pair.head);
        if drawn.contains(&number) {
            let held = metric.threshold.map(|threshold| running.held_against(threshold));
            history.push(held.unwrap_or_else(|| running.summary()));
        }
    }
    history
}

/// The range of the changes that are shown: zero, the threshold, and the interval
/// once it is no wider than a few times its final width.
fn range(history: &[Summary], limit: Option<f64>) -> Option<(f64, f64)> {
    let last = history.last()?;
    let change = last.change?;
    let ends = || [last.lower, last.upper].into_iter().flatten().filter(|end| end.is_finite());
    let (mut from, mut to) = (change, change);
    for value in ends().chain([0.0]).chain(limit) {
        (from, to) = (from.min(value), to.max(value));
    }
    let widest = ends().map(|end| (end - change).abs()).fold(0.0, f64::max);
    let reach = (2.0 * widest).max(0.3 * (to - from)).max(0.001);
    let margin = 0.06 * (to - from);
    Some(((from - margin).min(change - reach).max(-1.0), (to + margin).max(change + reach)))
}

/// The interval and the estimate after some of the pairs.
fn band(plane: &Plane<'_>, history: &[Summary], strength: f64) {
    if history.len() < 2 {
        return;
    }
    let upper = |s: &Summary| (s.pairs as f64, s.upper.unwrap_or(f64::INFINITY));
    let lower = |s: &Summary| (s.pairs as f64, s.lower.unwrap_or(f64::NEG_INFINITY));
    let (above, below) = (history.iter().map(upper), history.iter().map(lower));
    let outline = above.clone().chain(below.clone().rev()).map(|(x, y)| plane.at(x, y));
    plane.draw(&Polygon::new(outline.collect::<Vec<_>>(), BAND.mix(0.25 * strength)));
    plane.path(above, BAND.mix(0.8 * strength).stroke_width(2));
    plane.path(below, BAND.mix(0.8 * strength).stroke_width(2));
    let changes = history.iter().filter_map(|s| Some((s.pairs as f64, s.change?)));
    plane.path(changes, BAND.mix(strength).stroke_width(4));
}

#[cfg(test)]
mod tests {
    use super::*;
    use cargo_cbdr::model::{Estimator, Metric};

    #[test]
    fn the_history_holds_the_deciding_pair_and_ends_with_the_last() {
        let pair = |n: u32| {
            let head = 1.01 + 0.002 * f64::from(n % 5);
            (Side::Base, Pair { base: 1.0 + 0.001 * f64::from(n % 3), head })
        };
        let pairs: Vec<_> = (0..10_000).map(pair).collect();
        let policy = Policy { confidence: 0.95, estimator: Estimator::Mean, ..Policy::default() };
        let decided = Summary { pairs: 4321, ..Summary::default() };
        let verdict = Some(Verdict::NoRegression);
        let metric = Metric::named("wall_time");
        let metric = MetricResult::new(metric, Some(0.02), decided, verdict);
        let history = history(&pairs, &policy, &metric);
        assert!(history.len() <= POINTS + 2, "{}", history.len());
        assert!(history.iter().any(|summary| summary.pairs == 4321));
        assert_eq!(history.last().unwrap().pairs, 10_000);
        assert_eq!(history[0].pairs, 1);
        let svg = draw(&pairs, &policy, &metric).unwrap();
        assert!(svg.contains("#B92C3E"), "no threshold");
        assert!(draw(&[], &policy, &metric).is_none());
    }
}
