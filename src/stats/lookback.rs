//! The lookback z-score: by how many deviations a new result differs from the mean of
//! its history.
//!
//! The history is a list of results in the order of their commits. A single result that
//! stands out is an *outlier* and is left out of everything else. A *change* is a commit
//! from which on another level is expected. It begins a new *segment*, whose mean starts
//! anew. The deviation does not start anew: it is that of the residuals of all segments,
//! where a residual is the distance of a value from the mean that its segment had
//! before.
//!
//! # Reference
//!
//! Conbench, `conbench/entities/history.py` (2024), for the rules. Conbench orders
//! commits by author time; here the caller decides the order.

mod outliers;

use crate::model::Better;
use crate::stats::moments::Moments;

use outliers::outliers;

/// The length of a window, in commits.
pub(crate) const WINDOW: usize = 100;

/// A result with a larger z-score than this, in either direction, does not fit.
pub const THRESHOLD: f64 = 5.0;

/// A deviation below this part of the mean is nothing but rounding.
const NO_SPREAD: f64 = 1e-12;

/// One result of a history.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    /// The place of its commit in the history, smaller for older ones. All results of
    /// a commit have the same place. Places may be missing.
    pub place: u64,
    /// Its value, in the unit of the metric.
    pub value: f64,
}

/// The value of a result with several repetitions: the best of them; `None` if there
/// are none.
pub fn best(values: &[f64], better: Better) -> Option<f64> {
    let values = values.iter().copied();
    match better {
        Better::Lower => values.reduce(f64::min),
        Better::Higher => values.reduce(f64::max),
    }
}

/// The statistics of a result, from the history before it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PointStatistics {
    /// The number of its segment: how many changes are at its commit or before.
    pub segment: usize,
    /// Whether it is left out.
    pub is_outlier: bool,
    /// The mean of its segment before its commit, in the unit of the metric. At the
    /// first commit of a segment its own value; `None` of an outlier.
    pub mean_before: Option<f64>,
    /// The deviation of the residuals before its commit, in the unit of the metric;
    /// `None` of an outlier, or if there are fewer than two residuals.
    pub deviation_before: Option<f64>,
}

impl PointStatistics {
    /// The difference from the mean before, in the unit of the metric.
    pub fn residual(&self, point: Point) -> Option<f64> {
        self.mean_before.map(|mean| point.value - mean)
    }
}

/// What to expect after the last commit of a history.
#[derive(Clone, Copy, Debug, Default, PartialEq, serde::Serialize)]
pub struct Distribution {
    /// The mean of the last segment, in the unit of the metric; `None` if that has no
    /// result.
    pub mean: Option<f64>,
    /// The deviation of the residuals (divided by n - 1), in the unit of the metric;
    /// `None` of fewer than two.
    pub deviation: Option<f64>,
    /// How many commits it is based on.
    pub commits: usize,
    /// How many results it is based on, without the outliers.
    pub results: usize,
    /// How many results were left out.
    pub outliers: usize,
}

impl Distribution {
    /// The distribution after the points, which are in the order of their places. The
    /// places of the changes are in order, too; a change after the last point counts.
    /// The window is the last `window` commits that have a result.
    pub fn of(points: &[Point], changes: &[u64], window: usize) -> Self {
        let statistics = point_statistics(points, changes, window);
        let kept = kept(&statistics);
        let begins = begins(points, &kept);
        let from = begins[begins.len().saturating_sub(window)..].first().copied().unwrap_or(0);
        let (now, residuals) = moments(points, &statistics, &kept[from..], changes.len());
        Distribution {
            mean: now.mean(),
            deviation: residuals.variance().map(f64::sqrt),
            commits: begins.len().min(window),
            results: kept.len() - from,
            outliers: statistics.len() - kept.len(),
        }
    }

    /// By how many deviations `value` differs from the mean; positive is better. `None`
    /// if the mean or the deviation is unknown, or if nothing varies.
    pub fn z(&self, value: f64, better: Better) -> Option<f64> {
        let (mean, deviation) = (self.mean?, self.deviation?);
        if deviation <= NO_SPREAD * mean.abs() {
            return None;
        }
        let z = (value - mean) / deviation;
        // So that no difference is 0 and not -0.
        Some(match better {
            Better::Higher => z,
            Better::Lower if z == 0.0 => 0.0,
            Better::Lower => -z,
        })
    }
}

/// The indices of the results that are no outliers.
fn kept(statistics: &[PointStatistics]) -> Vec<usize> {
    (0..statistics.len()).filter(|&at| !statistics[at].is_outlier).collect()
}

/// Where, among these, the results of each commit begin.
fn begins(points: &[Point], kept: &[usize]) -> Vec<usize> {
    let is_first = |&at: &usize| at == 0 || points[kept[at - 1]].place != points[kept[at]].place;
    (0..kept.len()).filter(is_first).collect()
}

/// The values of a segment among some results, and the residuals of all of them.
fn moments(
    points: &[Point],
    statistics: &[PointStatistics],
    some: &[usize],
    segment: usize,
) -> (Moments, Moments) {
    let own = some.iter().filter(|&&at| statistics[at].segment == segment);
    let residuals = some.iter().filter_map(|&at| statistics[at].residual(points[at]));
    (own.map(|&at| points[at].value).collect(), residuals.collect())
}

/// The statistics of each result, from the history before it. The points are in the
/// order of their places, as are the places of the changes. A window is `window`
/// commits that have a result.
pub fn point_statistics(points: &[Point], changes: &[u64], window: usize) -> Vec<PointStatistics> {
    let values: Vec<f64> = points.iter().map(|point| point.value).collect();
    let outliers = outliers(&values, window);
    let mut statistics: Vec<PointStatistics> = points
        .iter()
        .zip(outliers)
        .map(|(point, is_outlier)| PointStatistics {
            segment: changes.partition_point(|change| *change <= point.place),
            is_outlier,
            mean_before: None,
            deviation_before: None,
        })
        .collect();
    let kept = kept(&statistics);
    let begins = begins(points, &kept);
    for (commit, &begin) in begins.iter().enumerate() {
        let end = begins.get(commit + 1).copied().unwrap_or(kept.len());
        let from = begins[commit.saturating_sub(window)];
        let segment = statistics[kept[begin]].segment;
        let (values, residuals) = moments(points, &statistics, &kept[from..begin], segment);
        for &index in &kept[begin..end] {
            statistics[index].mean_before = Some(values.mean().unwrap_or(points[index].value));
            statistics[index].deviation_before = residuals.variance().map(f64::sqrt);
        }
    }
    statistics
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::tests::TestNoise;

    fn line(values: &[f64]) -> Vec<Point> {
        let point = |(place, value): (usize, &f64)| Point { place: place as u64, value: *value };
        values.iter().enumerate().map(point).collect()
    }

    /// The rate of |z| > 5 when nothing has changed.
    fn false_alarms(commits: usize, trials: usize) -> f64 {
        let mut noise = TestNoise::seeded(1);
        let alarms = (0..trials).filter(|_| {
            let values: Vec<f64> = (0..commits).map(|_| 100.0 + noise.normal()).collect();
            let z = Distribution::of(&line(&values), &[], WINDOW)
                .z(100.0 + noise.normal(), Better::Lower);
            z.is_some_and(|z| z.abs() > THRESHOLD)
        });
        alarms.count() as f64 / trials as f64
    }

    #[test]
    fn a_short_history_cries_wolf() {
        // With 2 commits it is one look in seven, with 10 one in a thousand.
        let (two, five) = (false_alarms(2, 20_000), false_alarms(5, 20_000));
        assert!((0.13..0.17).contains(&two), "{two}");
        assert!((0.007..0.018).contains(&five), "{five}");
        let ten = false_alarms(10, 20_000);
        assert!((0.0003..0.002).contains(&ten), "{ten}");
    }

    #[test]
    fn a_change_after_the_last_result_leaves_no_mean() {
        let points = line(&[1.0, 2.0, 3.0]);
        let found = Distribution::of(&points, &[7], WINDOW);
        assert_eq!((found.mean, found.deviation.is_some()), (None, true));
        assert_eq!(found.z(1.0, Better::Lower), None);
    }

    #[test]
    fn an_outlier_at_the_newest_commit_does_not_hide_the_others() {
        // Ten commits, and at the last one a spike among three results.
        let mut points = line(&[10.0, 10.1, 9.9, 10.0, 10.2, 9.8, 10.1, 10.0, 9.9, 10.1]);
        points.extend([90.0, 10.0].map(|value| Point { place: 9, value }));
        let found = Distribution::of(&points, &[], WINDOW);
        assert_eq!((found.outliers, found.results, found.commits), (1, 11, 10));
        let mean = found.mean.unwrap();
        assert!((mean - 10.0 - 0.1 / 11.0).abs() < 1e-12, "{mean}");
    }

    #[test]
    fn a_window_is_of_commits_however_many_results_each_has() {
        let point = |(place, value)| Point { place, value };
        let points = [(3, 1.0), (3, 2.0), (5, 3.0), (6, 4.0), (6, 5.0), (6, 6.0)].map(point);
        for (window, results, mean) in [(1, 3, 5.0), (2, 4, 4.5), (3, 6, 3.5), (9, 6, 3.5)] {
            let found = Distribution::of(&points, &[], window);
            assert_eq!((found.commits, found.results), (window.min(3), results));
            assert_eq!(found.mean, Some(mean));
        }
    }

    #[test]
    fn rounding_makes_no_spread() {
        let third = Distribution {
            mean: Some(1.0 / 3.0),
            deviation: Some(1e-17),
            ..Distribution::default()
        };
        assert_eq!(third.z(5.0, Better::Lower), None);
    }

    #[test]
    fn no_repetition_has_no_best() {
        assert_eq!(best(&[], Better::Lower), None);
        assert_eq!(best(&[3.0, 1.0, 2.0], Better::Lower), Some(1.0));
        assert_eq!(best(&[3.0, 1.0, 2.0], Better::Higher), Some(3.0));
    }
}
