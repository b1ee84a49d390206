//! Medians and quantiles of observed values.
//!
//! # References
//!
//! - Hyndman and Fan 1996, *Sample quantiles in statistical packages*, Am. Stat.
//!   50:361, definition 7.

/// The values in ascending order.
pub fn sorted(values: impl IntoIterator<Item = f64>) -> Vec<f64> {
    let mut values: Vec<f64> = values.into_iter().collect();
    values.sort_unstable_by(f64::total_cmp);
    values
}

/// The median of sorted values; if their number is even, halfway between the two in
/// the middle; `None` of no values.
pub(crate) fn median(sorted: &[f64]) -> Option<f64> {
    let last = sorted.len().checked_sub(1)?;
    Some(sorted[last / 2].midpoint(sorted[sorted.len() / 2]))
}

/// The median of values in any order; `None` of no values.
pub(crate) fn median_of(values: impl IntoIterator<Item = f64>) -> Option<f64> {
    median(&sorted(values))
}

/// The standard deviation of normal values that have the median absolute deviation of
/// these: single values that are far off do not count. NaN of no values.
pub fn typical_deviation(values: &[f64]) -> f64 {
    let center = median_of(values.iter().copied()).unwrap_or(f64::NAN);
    let deviations = values.iter().map(|value| (value - center).abs());
    NORMAL * median_of(deviations).unwrap_or(f64::NAN)
}

/// The median absolute deviation of normal values is their standard deviation divided by
/// this.
const NORMAL: f64 = 1.4826;

/// The lower median of sorted values: if their number is even, the lower of the two
/// in the middle; `None` of no values.
pub(crate) fn lower_median(sorted: &[f64]) -> Option<f64> {
    sorted.get(sorted.len().checked_sub(1)? / 2).copied()
}

/// The sorted value nearest to the position `share` (0 to 1) of the way from the first
/// to the last; `None` of no values.
pub fn nearest(sorted: &[f64], share: f64) -> Option<f64> {
    let last = sorted.len().checked_sub(1)?;
    sorted.get((share * last as f64).round() as usize).copied()
}

/// The quantile `share` (0 to 1) of sorted values, interpolated linearly between the
/// two around its position (definition 7); `None` of no values.
pub(crate) fn quantile(sorted: &[f64], share: f64) -> Option<f64> {
    let position = share * sorted.len().checked_sub(1)? as f64;
    let below = position.floor() as usize;
    let low = sorted[below];
    let high = sorted.get(below + 1).copied().unwrap_or(low);
    let part = position - below as f64;
    // From the nearer end, so that an end gives the value itself without rounding.
    Some(match part < 0.5 {
        true => low + (high - low) * part,
        false => high - (high - low) * (1.0 - part),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_an_even_number_the_median_is_halfway_and_the_lower_one_is_not() {
        let four = sorted([4.0, 1.0, 3.0, 2.0]);
        assert_eq!(four, [1.0, 2.0, 3.0, 4.0]);
        assert_eq!((median(&four), lower_median(&four)), (Some(2.5), Some(2.0)));
        assert_eq!((median(&four[..3]), lower_median(&four[..3])), (Some(2.0), Some(2.0)));
        assert_eq!((median(&[]), lower_median(&[])), (None, None));
    }

    #[test]
    fn one_value_far_off_does_not_count_in_the_typical_deviation() {
        assert_eq!(typical_deviation(&[1.0, 2.0, 3.0, 4.0, 1e9]), 1.4826);
        assert!(typical_deviation(&[]).is_nan());
    }

    #[test]
    fn the_ends_are_the_first_and_the_last_value() {
        let values = [1.0, 10.0, 100.0];
        for of in [nearest, quantile] {
            assert_eq!((of(&values, 0.0), of(&values, 1.0)), (Some(1.0), Some(100.0)));
            assert_eq!(of(&values, 0.5), Some(10.0));
            assert_eq!(of(&[], 0.5), None);
        }
        assert_eq!((nearest(&values, 0.7), quantile(&values, 0.75)), (Some(10.0), Some(55.0)));
    }

    #[test]
    fn a_quantile_at_a_value_is_that_value() {
        let far = [0.1, 1e17, 3e17];
        assert_eq!([0.0, 0.5, 1.0].map(|share| quantile(&far, share)), far.map(Some));
        assert_eq!(quantile(&[1.0, 2.0, 6.0], 0.75), Some(4.0));
        assert_eq!(quantile(&[1.0, 2.0, 6.0], 0.125), Some(1.25));
    }
}
