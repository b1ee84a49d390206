//! Single results of a history that stand out.

use crate::stats::empirical::{quantile, sorted};
use crate::stats::moments::Moments;

/// By how many deviations a usual step may differ from the mean of the steps.
const STEP: f64 = 5.0;

/// The part of the steps that is trimmed at each end.
const TRIMMED: f64 = 0.05;

/// Whether each of the values is an outlier. An outlier is reached by a step that
/// differs by more than 5 deviations from the usual step, and left by such a step. The
/// mean and the deviation are those of the steps of the last `window` values, without
/// the largest and the smallest 5 % of all steps.
///
/// Neither the first value nor the last one is ever an outlier. The direction of the
/// second step does not matter, so the first of two steps up is an outlier.
pub(crate) fn outliers(values: &[f64], window: usize) -> Vec<bool> {
    let steps: Vec<f64> = values.windows(2).map(|two| two[1] - two[0]).collect();
    let sorted = sorted(steps.iter().copied());
    let (Some(least), Some(most)) = (quantile(&sorted, TRIMMED), quantile(&sorted, 1.0 - TRIMMED))
    else {
        return vec![false; values.len()];
    };
    let is_kept = |step: &&f64| (least..=most).contains(*step);
    let is_shift = |at: usize| {
        // Step `at` leads to value `at + 1`; the first value has none.
        let from = (at + 1).saturating_sub(window);
        let moments: Moments = steps[from..=at].iter().filter(is_kept).copied().collect();
        let (Some(mean), Some(variance)) = (moments.mean(), moments.variance()) else {
            return false;
        };
        // By IEEE arithmetic 0/0 is no shift, and anything else over 0 is one.
        (steps[at] - mean).abs() / variance.sqrt() > STEP
    };
    let shifts: Vec<bool> = (0..steps.len()).map(is_shift).collect();
    let mut outliers = vec![false; values.len()];
    for (at, two) in shifts.windows(2).enumerate() {
        outliers[at + 1] = two[0] && two[1];
    }
    outliers
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::tests::TestNoise;

    /// The rule as Conbench has it: a row for each value, a step where there is one, a
    /// window of rows.
    fn naive(values: &[f64], window: usize) -> Vec<bool> {
        let step = |row: usize| (row > 0).then(|| values[row] - values[row - 1]);
        let mut sorted: Vec<f64> = (0..values.len()).filter_map(step).collect();
        sorted.sort_by(f64::total_cmp);
        let at = |q: f64| {
            let position = q * (sorted.len() - 1) as f64;
            let (low, high) = (sorted[position.floor() as usize], sorted[position.ceil() as usize]);
            low + (high - low) * position.fract()
        };
        let (least, most) = (at(0.05), at(0.95));
        let shift = |row: usize| {
            let Some(own) = step(row) else { return false };
            let rows = (row + 1).saturating_sub(window)..=row;
            let kept: Vec<f64> =
                rows.filter_map(step).filter(|d| *d >= least && *d <= most).collect();
            let n = kept.len() as f64;
            let mean = kept.iter().sum::<f64>() / n;
            let squares: f64 = kept.iter().map(|d| (d - mean).powi(2)).sum();
            kept.len() > 1 && (own - mean).abs() / (squares / (n - 1.0)).sqrt() > 5.0
        };
        let is_outlier = |row| shift(row) && row + 1 < values.len() && shift(row + 1);
        (0..values.len()).map(is_outlier).collect()
    }

    #[test]
    fn outliers_are_those_of_the_rule_as_it_is_written_down() {
        let mut noise = TestNoise::seeded(7);
        let mut found = 0;
        for trial in 0..300 {
            let count = 2 + trial % 60;
            let mut values: Vec<f64> = (0..count).map(|_| 10.0 + noise.normal()).collect();
            for value in &mut values {
                if noise.uniform() < 0.05 {
                    *value += 30.0;
                }
            }
            for window in [5, 12, 100] {
                let expected = naive(&values, window);
                assert_eq!(outliers(&values, window), expected, "{values:?}");
                found += expected.iter().filter(|is_outlier| **is_outlier).count();
            }
        }
        assert!(found > 100, "{found}");
    }

    #[test]
    fn nothing_and_one_value_have_no_outlier() {
        assert!(outliers(&[], 100).is_empty());
        assert_eq!(outliers(&[1.0], 100), [false]);
    }
}
