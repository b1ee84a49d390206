//! The steps of a coarse clock or counter.

use crate::stats::empirical::sorted;

/// With fewer different values, the runs may be of a few kinds, without a clock's steps between.
const LEAST_VALUES: usize = 3;

/// The difference, as a fraction, below which two values are the same up to rounding.
const ROUNDING: f64 = 1e-9;

/// How far from a whole number of steps a value may be.
const WHOLE: f64 = 0.01;

/// The step between the values of a clock that is coarse, as a fraction of their median: at most
/// half of the values differ, and all are a whole number of steps apart.
pub(super) fn step(logarithms: impl Iterator<Item = f64>) -> Option<f64> {
    let all = sorted(logarithms.map(f64::exp));
    let mut values = all.clone();
    values.dedup_by(|one, other| *one - *other <= ROUNDING * *one);
    if values.len() < LEAST_VALUES || 2 * values.len() > all.len() {
        return None;
    }
    let step = values.windows(2).map(|two| two[1] - two[0]).reduce(f64::min)?;
    let whole = |value: &f64| {
        let steps = (value - values[0]) / step;
        (steps - steps.round()).abs() <= WHOLE
    };
    values.iter().all(whole).then(|| step / all[all.len() / 2])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::tests::TestNoise;

    fn of(values: impl Iterator<Item = f64>) -> Option<f64> {
        step(values.map(f64::ln))
    }

    #[test]
    fn the_step_of_a_coarse_clock_is_found_in_its_values() {
        let mut noise = TestNoise::seeded(61);
        let mut times = |step: f64| -> Vec<f64> {
            (0..40).map(|_| ((1.0 + 0.02 * noise.normal()) / step).round() * step).collect()
        };
        for expected in [0.005, 0.01, 0.02] {
            let found = of(times(expected).into_iter()).unwrap();
            assert!((found / expected - 1.0).abs() < 0.05, "{found} {expected}");
        }
        // So fine that most values differ.
        assert_eq!(of(times(1e-4).into_iter()), None);
    }

    #[test]
    fn a_few_kinds_of_runs_are_no_steps() {
        // Always the same, two kinds, and three kinds at unequal distances.
        for kinds in [&[7.0][..], &[7.0, 8.0], &[7.0, 7.3, 8.0]] {
            assert_eq!(of((0..30).map(|run| kinds[run % kinds.len()])), None, "{kinds:?}");
        }
    }
}
