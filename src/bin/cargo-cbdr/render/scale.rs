//! Intervals and their thresholds on one scale, as text.

use cargo_cbdr::model::outcome::MetricResult;
use cargo_cbdr::stats::empirical::sorted;

use crate::ui::text::percent;
use crate::ui::width;

/// The width of the scale in a comment, columns.
const WIDTH: usize = 41;

/// How far the scale of several metrics reaches, in multiples of the largest threshold.
const FAR: f64 = 12.0;

/// What the scale shows, from its left end to its right one.
pub(crate) struct ChangeScale {
    pub(crate) from: f64,
    pub(crate) to: f64,
}

impl ChangeScale {
    /// A scale with zero, all thresholds and changes, and the finite ends of the
    /// intervals unless these make the rest tiny.
    pub(crate) fn of(results: &[&MetricResult]) -> Self {
        let limits = || results.iter().filter_map(|result| result.limit());
        let changes = results.iter().filter_map(|result| result.summary.change);
        let (mut from, mut to) = (0.0_f64, 0.0_f64);
        for value in limits().chain(changes.clone()) {
            (from, to) = (from.min(value), to.max(value));
        }
        let ends = |r: &MetricResult| {
            [r.summary.lower, r.summary.upper].into_iter().flatten().filter(|end| end.is_finite())
        };
        // Of an interval around no change, the nearer end is within.
        let nearer = results.iter().filter_map(|r| ends(r).map(f64::abs).reduce(f64::min));
        let core = nearer.fold((to - from).max(0.001), f64::max);
        for end in results.iter().flat_map(|r| ends(r)) {
            from = from.min(end.max(from - core));
            to = to.max(end.min(to + core));
        }
        // One metric that is far off must not squeeze the others, but most may be.
        let largest = limits().map(f64::abs).fold(0.0, f64::max);
        if results.len() > 1 && largest > 0.0 {
            let sizes = sorted(changes.map(f64::abs));
            let usual = sizes.get(sizes.len().saturating_sub(1) / 2).copied().unwrap_or_default();
            let most = (FAR * largest).max(1.25 * usual);
            (from, to) = (from.max(-most), to.min(most));
        }
        let margin = 0.04 * (to - from).max(0.001);
        ChangeScale { from: from - margin, to: to + margin }
    }

    /// The position of a change, from 0 at the left end to 1 at the right end. A change
    /// out of range is at the nearer end.
    pub(crate) fn part(&self, change: f64) -> f64 {
        ((change - self.from) / (self.to - self.from)).clamp(0.0, 1.0)
    }

    /// Whether a change is in range.
    pub(crate) fn holds(&self, change: f64) -> bool {
        (self.from..=self.to).contains(&change)
    }

    /// The column of a change.
    pub(crate) fn column(&self, change: f64, width: usize) -> usize {
        (self.part(change) * width.saturating_sub(1) as f64).round() as usize
    }

    /// A result on `width` columns: `··◂━━━●━━┃━╌╌╌`. An end that is not bounded yet is dashed.
    pub(crate) fn cells(&self, result: &MetricResult, width: usize) -> Vec<char> {
        let mut cells = vec!['·'; width];
        let summary = &result.summary;
        let Some(change) = summary.change.filter(|_| width > 0) else {
            self.mark(&mut cells, result);
            return cells;
        };
        let column = |change: f64| self.column(change, width);
        let finite = |end: Option<f64>| end.filter(|end| end.is_finite());
        let (lower, upper) = (finite(summary.lower), finite(summary.upper));
        let mut first = lower.map_or(0, column);
        let mut last = upper.map_or(width - 1, column);
        // An end that is beyond the threshold is shown beyond it.
        if let Some(limit) = result.limit() {
            let at = column(limit);
            if lower.is_some_and(|lower| lower > limit) {
                first = first.max(at + 1).min(last);
            }
            if upper.is_some_and(|upper| upper < limit) {
                last = last.min(at.saturating_sub(1)).max(first);
            }
        }
        let estimate = column(change).clamp(first, last);
        let line = |end: Option<f64>| if end.is_some() { '━' } else { '╌' };
        cells[first..=estimate].fill(line(lower));
        cells[estimate..=last].fill(line(upper));
        self.mark(&mut cells, result);
        cells[estimate] = '●';
        if lower.is_some_and(|lower| lower < self.from) || change < self.from {
            cells[0] = '◂';
        }
        if upper.is_some_and(|upper| upper > self.to) || change > self.to {
            cells[width - 1] = '▸';
        }
        cells
    }

    /// Marks no change and the threshold.
    fn mark(&self, cells: &mut [char], result: &MetricResult) {
        let width = cells.len();
        for (change, sign) in [(Some(0.0), '0'), (result.limit(), '┃')] {
            if let Some(change) = change.filter(|change| width > 0 && self.holds(*change)) {
                cells[self.column(change, width)] = sign;
            }
        }
    }
}

/// A line for each result, after its name, and a legend. Nothing if no result
/// has a change.
pub(super) fn lines(results: &[(String, &MetricResult)]) -> Vec<String> {
    let shown = results.iter().filter(|(_, result)| result.summary.change.is_some());
    let shown: Vec<_> = shown.collect();
    if shown.is_empty() {
        return Vec::new();
    }
    let scale = ChangeScale::of(&shown.iter().map(|(_, result)| *result).collect::<Vec<_>>());
    let width = shown.iter().map(|(name, _)| width::columns(name)).max().unwrap_or(0);
    let (from, to) = (percent(scale.from), percent(scale.to));
    let gap = WIDTH.saturating_sub(from.chars().count() + to.chars().count());
    let mut lines = vec![format!("{:width$}  {from}{:gap$}{to}", "", "")];
    lines.extend(shown.iter().map(|(name, result)| {
        let cells: String = scale.cells(result, WIDTH).into_iter().collect();
        format!("{}  {cells}", width::padded(name, width))
    }));
    let signs = "0 no change   ━●━ interval and estimate   ╌ no bound   ┃ threshold";
    lines.push(format!("{:width$}  {signs}", ""));
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use cargo_cbdr::model::metric::{Better, Metric, Unit};
    use cargo_cbdr::model::outcome::Summary;

    fn result(change: f64, lower: Option<f64>, upper: Option<f64>) -> MetricResult {
        let summary = Summary { change: Some(change), lower, upper, ..Summary::default() };
        MetricResult::new(Metric::cost("t", Unit::Seconds), Some(0.02), summary, None)
    }

    fn drawn(result: &MetricResult) -> Vec<String> {
        lines(&[("t".to_owned(), result)])
    }

    #[test]
    fn the_interval_stands_on_its_side_of_the_threshold() {
        let below = drawn(&result(0.001, Some(-0.004), Some(0.006)));
        let at = |line: &str, sign| line.chars().position(|c| c == sign).unwrap();
        let end =
            |line: &str| line.chars().count() - line.chars().rev().position(|c| c == '━').unwrap();
        assert!(end(&below[1]) <= at(&below[1], '┃'), "{below:#?}");
        assert!(at(&below[1], '━') < at(&below[1], '●'));
        let above = drawn(&result(0.05, Some(0.04), Some(0.06)));
        assert!(at(&above[1], '┃') < at(&above[1], '━'), "{above:#?}");
        assert_eq!(above[1].chars().count(), 3 + WIDTH);
    }

    #[test]
    fn ends_that_there_are_none_of_are_dashed_and_those_far_away_arrows() {
        let open = drawn(&result(0.01, None, Some(f64::INFINITY)));
        assert!(open[1].starts_with("t  ╌") && open[1].ends_with('╌'), "{open:#?}");
        let far = drawn(&result(0.01, Some(-0.05), Some(50.0)));
        assert!(!far[1].contains('◂') && far[1].contains('▸'), "{far:#?}");
        let far = drawn(&result(0.01, Some(-0.9), Some(0.05)));
        assert!(far[1].contains('◂') && !far[1].contains('▸'), "{far:#?}");
    }

    #[test]
    fn an_interval_around_no_change_fits_and_so_do_results_that_are_all_far_off() {
        let open = result(0.0, Some(-0.22), Some(0.43));
        let scale = ChangeScale::of(&[&open]);
        assert!(scale.holds(-0.22) && scale.holds(0.22));
        let far = [0.3, 0.31, 0.12].map(|change| result(change, Some(change - 0.05), None));
        let scale = ChangeScale::of(&far.iter().collect::<Vec<_>>());
        assert!(scale.holds(0.31));
    }

    #[test]
    fn one_that_is_far_off_leaves_the_others_their_scale() {
        let (near, far) =
            (result(0.001, Some(-0.01), Some(0.012)), result(3.0, Some(2.0), Some(4.0)));
        let lines = lines(&[("near".to_owned(), &near), ("far".to_owned(), &far)]);
        let interval = lines[1].chars().filter(|c| "━●0".contains(*c)).count();
        assert!(interval >= 3, "{lines:#?}");
        assert!(lines[2].ends_with('▸') && !lines[2].contains('●'), "{lines:#?}");
    }

    #[test]
    fn where_higher_is_better_the_limit_is_below() {
        let mut result = result(0.0, None, None);
        result.better = Better::Higher;
        assert!((result.limit().unwrap() + 0.02 / 1.02).abs() < 1e-12);
        result.threshold = None;
        assert_eq!(result.limit(), None);
    }
}
