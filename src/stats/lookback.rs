//! Does a value fit the past? The lookback z-score: how many deviations a new
//! result lies from the mean of its history.
//!
//! The history is a list of results in the order of their commits. A result
//! that stands out for itself alone is an *outlier* and takes part in nothing
//! else. A *change* is a commit from which on another level is to be expected;
//! it begins a new *segment*, whose mean starts anew. The spread does not: it is
//! that of the residuals, each the distance of a value from the mean that its
//! segment had before it, over all segments.
//!
//! # References
//!
//! - Conbench, `conbench/entities/history.py` (2024): the rules, step by step. It
//!   orders commits by author time; here whoever asks says what the order is.

mod outliers;

use crate::model::metric::Better;
use crate::stats::moments::Moments;

pub use outliers::outliers;

/// How many commits make a window.
pub(crate) const WINDOW: usize = 100;

/// How many deviations pass.
pub const THRESHOLD: f64 = 5.0;

/// A spread below this part of the mean is what rounding leaves of none.
const NO_SPREAD: f64 = 1e-12;

/// One result of a history.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    /// Its commit's place in the history: the older, the smaller; results of
    /// one commit have one place. Places may be missing.
    pub place: u64,
    /// Its value, in the metric's unit.
    pub value: f64,
}

/// The value that stands for the repetitions of a result: the best of them.
/// None of no repetition.
pub fn best(values: &[f64], better: Better) -> Option<f64> {
    let values = values.iter().copied();
    match better {
        Better::Lower => values.reduce(f64::min),
        Better::Higher => values.reduce(f64::max),
    }
}

/// What the history says of one of its results.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Row {
    /// How many changes lie at its commit or before.
    pub segment: usize,
    /// Whether it is left out.
    pub is_outlier: bool,
    /// The mean of its segment before its commit, in the metric's unit; at the
    /// segment's first commit its own value. None of an outlier.
    pub mean_before: Option<f64>,
    /// The deviation of the residuals before its commit, in the metric's unit;
    /// none of an outlier, or where there are fewer than two of them.
    pub deviation_before: Option<f64>,
}

impl Row {
    /// The distance from the mean before, in the metric's unit.
    pub fn residual(&self, point: Point) -> Option<f64> {
        self.mean_before.map(|mean| point.value - mean)
    }
}

/// What is to be expected after the last commit of a history.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Distribution {
    /// The mean of the last segment, in the metric's unit; none when no result
    /// is in it.
    pub mean: Option<f64>,
    /// The deviation of the residuals (n - 1 below), in the metric's unit; none
    /// of fewer than two.
    pub deviation: Option<f64>,
    /// On how many commits it rests.
    pub commits: usize,
    /// On how many results it rests, without the outliers.
    pub results: usize,
    /// How many results were left out.
    pub outliers: usize,
}

impl Distribution {
    /// Of the points, in the order of their places, and the places of the
    /// changes, in their order; a change after the last point counts. The
    /// window is the last `window` commits that have a result.
    pub fn of(points: &[Point], changes: &[u64], window: usize) -> Self {
        let rows = rows(points, changes, window);
        let kept = kept(points, &rows);
        let window = last_places(&kept, window);
        let residuals = window.iter().filter_map(|(point, row)| row.residual(*point));
        let residuals: Moments = residuals.collect();
        let now = window.iter().filter(|(_, row)| row.segment == changes.len());
        let now: Moments = now.map(|(point, _)| point.value).collect();
        Distribution {
            mean: now.mean(),
            deviation: residuals.variance().map(f64::sqrt),
            commits: commits(window),
            results: window.len(),
            outliers: rows.len() - kept.len(),
        }
    }

    /// How many deviations `value` is from the mean; positive is better. None
    /// when the mean or the deviation is unknown, or there is no spread.
    pub fn z(&self, value: f64, better: Better) -> Option<f64> {
        let (mean, deviation) = (self.mean?, self.deviation?);
        if deviation <= NO_SPREAD * mean.abs() {
            return None;
        }
        let z = (value - mean) / deviation;
        // Not 0 - z: of no distance, that is -0.
        Some(match better {
            Better::Higher => z,
            Better::Lower if z == 0.0 => 0.0,
            Better::Lower => -z,
        })
    }
}

type Kept = (Point, Row);

fn kept(points: &[Point], rows: &[Row]) -> Vec<Kept> {
    let pairs = points.iter().copied().zip(rows.iter().copied());
    pairs.filter(|(_, row)| !row.is_outlier).collect()
}

fn commits(kept: &[Kept]) -> usize {
    kept.chunk_by(|(one, _), (other, _)| one.place == other.place).count()
}

/// The part that lies on the last `window` commits.
fn last_places(kept: &[Kept], window: usize) -> &[Kept] {
    let chunks = kept.chunk_by(|(one, _), (other, _)| one.place == other.place);
    let lengths: Vec<usize> = chunks.map(<[Kept]>::len).collect();
    let taken: usize = lengths.iter().rev().take(window).sum();
    &kept[kept.len() - taken..]
}

/// What the history says of each of its results, as of before its commit. The
/// points are in the order of their places, as are the places of the changes;
/// a window is `window` commits that have a result.
pub fn rows(points: &[Point], changes: &[u64], window: usize) -> Vec<Row> {
    let values: Vec<f64> = points.iter().map(|point| point.value).collect();
    let outliers = outliers(&values, window);
    let mut rows: Vec<Row> = points
        .iter()
        .zip(outliers)
        .map(|(point, is_outlier)| Row {
            segment: changes.partition_point(|change| *change <= point.place),
            is_outlier,
            mean_before: None,
            deviation_before: None,
        })
        .collect();
    let kept: Vec<usize> = (0..points.len()).filter(|&at| !rows[at].is_outlier).collect();
    // Where each commit's results begin.
    let mut begins: Vec<usize> = Vec::new();
    for (at, index) in kept.iter().enumerate() {
        if at == 0 || points[kept[at - 1]].place != points[*index].place {
            begins.push(at);
        }
    }
    for (commit, &begin) in begins.iter().enumerate() {
        let end = begins.get(commit + 1).copied().unwrap_or(kept.len());
        let from = begins[commit.saturating_sub(window)];
        let segment = rows[kept[begin]].segment;
        let (mut values, mut residuals) = (Moments::new(), Moments::new());
        for &index in &kept[from..begin] {
            if rows[index].segment == segment {
                values.push(points[index].value);
            }
            if let Some(residual) = rows[index].residual(points[index]) {
                residuals.push(residual);
            }
        }
        for &index in &kept[begin..end] {
            rows[index].mean_before = Some(values.mean().unwrap_or(points[index].value));
            rows[index].deviation_before = residuals.variance().map(f64::sqrt);
        }
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::noise::Noise;

    fn line(values: &[f64]) -> Vec<Point> {
        let point = |(place, value): (usize, &f64)| Point { place: place as u64, value: *value };
        values.iter().enumerate().map(point).collect()
    }

    /// The rate of |z| > 5 when nothing has changed.
    fn false_alarms(commits: usize, trials: usize) -> f64 {
        let mut noise = Noise::seeded(1);
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
