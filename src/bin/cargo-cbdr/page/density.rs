//! The density of samples, by a Gaussian kernel.

use cargo_cbdr::stats::empirical::sorted;

use crate::plot::bins::at;

/// How many cells the values are counted in first: enough for no visible
/// difference.
const CELLS: usize = 1024;

/// Points of the density of the values between `from` and `to`, scaled to the share
/// of all values in a bin of `width`. None where the values are too few or all the
/// same.
///
/// The bandwidth is Silverman's (1986, equation 3.31): 0.9 times the lesser of
/// the standard deviation and the interquartile range by 1.34, by the fifth
/// root of the number.
pub(super) fn density(
    values: &[f64],
    (from, to): (f64, f64),
    width: f64,
    points: usize,
) -> Option<Vec<(f64, f64)>> {
    let sorted = sorted(values.iter().copied());
    let count = sorted.len() as f64;
    let span = to - from;
    if sorted.len() < 5 || span <= 0.0 || points < 2 {
        return None;
    }
    let mean = sorted.iter().sum::<f64>() / count;
    let square = sorted.iter().map(|value| (value - mean).powi(2)).sum::<f64>();
    let deviation = (square / (count - 1.0)).sqrt();
    let quartiles = at(&sorted, 0.75) - at(&sorted, 0.25);
    let spread = match quartiles > 0.0 {
        true => deviation.min(quartiles / 1.34),
        false => deviation,
    };
    let bandwidth = 0.9 * spread * count.powf(-0.2);
    if bandwidth.is_nan() || bandwidth <= 0.0 {
        return None;
    }
    // Values beyond the range count near its edges.
    let reach = 4.0 * bandwidth;
    let (low, high) = (from - reach, to + reach);
    let cell = (high - low) / CELLS as f64;
    let mut cells = vec![0.0_f64; CELLS];
    for value in sorted.iter().filter(|value| (low..high).contains(*value)) {
        cells[(((value - low) / cell) as usize).min(CELLS - 1)] += 1.0;
    }
    let factor = width / (count * bandwidth * std::f64::consts::TAU.sqrt());
    let at = |point: usize| {
        let x = from + span * point as f64 / (points - 1) as f64;
        let kernel = |(number, weight): (usize, &f64)| {
            let middle = low + cell * (number as f64 + 0.5);
            weight * (-0.5 * ((x - middle) / bandwidth).powi(2)).exp()
        };
        let filled = cells.iter().enumerate().filter(|(_, weight)| **weight > 0.0);
        (x, factor * filled.map(kernel).sum::<f64>())
    };
    Some((0..points).map(at).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_density_sums_to_the_share_of_all_values() {
        let values: Vec<f64> = (0..500).map(|n| (f64::from(n) / 500.0 - 0.5).powi(3)).collect();
        let points = density(&values, (-0.5, 0.5), 0.01, 401).unwrap();
        let sum: f64 = points.iter().map(|(_, y)| y / 0.01 * (1.0 / 400.0)).sum();
        assert!((sum - 1.0).abs() < 0.01, "{sum}");
        let peak = points.iter().max_by(|a, b| a.1.total_cmp(&b.1)).unwrap();
        assert!(peak.0.abs() < 0.02, "{peak:?}");
    }

    #[test]
    fn there_is_none_of_values_that_are_all_the_same() {
        assert_eq!(density(&[1.0; 30], (0.0, 2.0), 0.1, 50), None);
        assert_eq!(density(&[1.0, 2.0], (0.0, 2.0), 0.1, 50), None);
    }
}
