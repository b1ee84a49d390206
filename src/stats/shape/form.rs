//! The distribution of the differences: outliers, skewness, normality.
//!
//! # References
//!
//! - Shapiro and Francia 1972, *An approximate analysis of variance test for
//!   normality*, JASA 67:215, with the scores and the significance of Royston 1993,
//!   *A toolkit for testing for non-normality in complete and censored samples*, The
//!   Statistician 42:37 (5 to 5000 values).
//! - D'Agostino 1970, *Transformation to normality of the null distribution of g1*,
//!   Biometrika 57:679.
//! - Gupta 1967, *An asymptotically nonparametric test of symmetry*, Ann. Math. Stat.
//!   38:849, for the variance of the skewness of noise that is not normal.

use super::log_pair::CHANCE;
use super::ranks::middle;
use crate::model::Finding;
use crate::stats::empirical::{sorted, typical_deviation};
use crate::stats::quantile;

/// An outlier is further than this many robust deviations from the median, as 1 in 1.7
/// million normal values is.
const OUTLYING: f64 = 5.0;
/// The least share of the variance that the outliers must have.
const OUTLIERS_SHARE: f64 = 0.5;
/// If more than this share of the pairs is far away, they are no outliers.
const OUTLIERS_MOST: f64 = 0.25;
/// For the skewness, differences are clamped to this many robust deviations from the
/// median. With a wider limit, a handful of outliers that happen to be on one side would
/// decide (at 5, in up to 0.7 % of recorded timings with random labels).
const CUT: f64 = 3.0;
/// The least skewness, that of a chi-square with 32 degrees of freedom.
const SKEWNESS: f64 = 0.5;
/// The least difference between the average change and the typical change.
const SKEWED_APART: f64 = 0.002;
/// With a better fit to normal scores, the noise is as good as normal.
const FIT: f64 = 0.95;

pub(super) fn findings(differences: &[f64]) -> Vec<Finding> {
    let order = sorted(differences.iter().copied());
    let centre = middle(&order);
    let scale = typical_deviation(differences);
    // More than half are equal or nearly so, as of counters: there is no distribution.
    if scale.is_nan() || scale <= 1e-9 {
        return Vec::new();
    }
    let mut found = Vec::new();
    found.extend(outliers(&order, centre, scale));
    found.extend(skewed(&order, centre, scale));
    found
}

/// Whether the differences are far from normal.
pub(super) fn not_normal(differences: &[f64]) -> Option<Finding> {
    let order = sorted(differences.iter().copied());
    let (fit, rejected) = normal_fit(&order)?;
    (rejected && fit < FIT && has_form(&order)).then_some(Finding::NotNormal { fit })
}

/// Whether there are more different values than a coarse clock or a counter has.
fn has_form(order: &[f64]) -> bool {
    order.chunk_by(|a, b| a == b).count() * 2 > order.len()
}

fn outliers(order: &[f64], centre: f64, scale: f64) -> Option<Finding> {
    let square = |value: &f64| (value - centre) * (value - centre);
    let beyond = |value: &&f64| (**value - centre).abs() > OUTLYING * scale;
    let count = order.iter().filter(beyond).count() as f64;
    let share = order.iter().filter(beyond).map(square).sum::<f64>()
        / order.iter().map(square).sum::<f64>();
    let pairs = order.len() as f64;
    let few = count <= OUTLIERS_MOST * pairs;
    let (_, rejected) = normal_fit(order)?;
    (few && share >= OUTLIERS_SHARE && rejected)
        .then_some(Finding::Outliers { one_in: pairs / count, share })
}

/// The skewness of the clamped differences, so that either most of them are skewed or the
/// outliers are all on the same side.
fn skewed(order: &[f64], centre: f64, scale: f64) -> Option<Finding> {
    let cut = |value: &f64| ((value - centre) / scale).clamp(-CUT, CUT);
    let values: Vec<f64> = order.iter().map(cut).collect();
    let (skewness, z) = skewness(&values)?;
    let average = (order.iter().sum::<f64>() / order.len() as f64).exp_m1();
    let typical = centre.exp_m1();
    let apart = (average - typical).abs() >= SKEWED_APART;
    let critical = quantile::normal(1.0 - CHANCE / 2.0)?;
    (z.abs() >= critical
        && skewness.abs() >= SKEWNESS
        && apart
        && average.is_finite()
        && typical.is_finite())
    .then_some(Finding::Skewed { skewness, average, typical })
}

/// The skewness of at least 8 values, and D'Agostino's normal deviate of it. The deviate
/// is less if, by the sixth moment, this noise has more skewness by chance than normal
/// noise.
fn skewness(values: &[f64]) -> Option<(f64, f64)> {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let moment =
        |power: i32| values.iter().map(|value| (value - mean).powi(power)).sum::<f64>() / n;
    let (m2, m3, m4, m6) = (moment(2), moment(3), moment(4), moment(6));
    if !(n >= 8.0 && m2 > 0.0) {
        return None;
    }
    let skewness = m3 / m2.powf(1.5);
    let normal = 6.0;
    let variance = (m6 - 6.0 * m4 * m2 + 9.0 * m2.powi(3)) / m2.powi(3);
    let z = dagostino(skewness * (normal / variance.max(normal)).sqrt(), n);
    z.is_finite().then_some((skewness, z))
}

/// The normal deviate of the skewness of `n` values, at least 8.
fn dagostino(skewness: f64, n: f64) -> f64 {
    let y = skewness * ((n + 1.0) * (n + 3.0) / (6.0 * (n - 2.0))).sqrt();
    let kurtosis = 3.0 * (n * n + 27.0 * n - 70.0) * (n + 1.0) * (n + 3.0)
        / ((n - 2.0) * (n + 5.0) * (n + 7.0) * (n + 9.0));
    let w2 = (2.0 * (kurtosis - 1.0)).sqrt() - 1.0;
    let delta = 1.0 / (w2.ln() / 2.0).sqrt();
    let alpha = (2.0 / (w2 - 1.0)).sqrt();
    delta * (y / alpha).asinh()
}

/// Shapiro and Francia's W' of values in ascending order, and whether it is too small for
/// normal noise.
fn normal_fit(order: &[f64]) -> Option<(f64, bool)> {
    let n = order.len() as f64;
    let mean = order.iter().sum::<f64>() / n;
    let mut squares = 0.0;
    let mut scores = 0.0;
    let mut products = 0.0;
    for (place, value) in order.iter().enumerate() {
        let score = quantile::normal((place as f64 + 0.625) / (n + 0.25))?;
        squares += (value - mean) * (value - mean);
        scores += score * score;
        products += score * (value - mean);
    }
    if !(squares > 0.0 && order.len() >= 5) {
        return None;
    }
    let fit = (products * products / (squares * scores)).min(1.0);
    let u = n.ln();
    let v = u.ln();
    let mean = -1.2725 + 1.0521 * (v - u);
    let deviation = 1.0308 - 0.26758 * (v + 2.0 / u);
    let z = ((1.0 - fit).ln() - mean) / deviation;
    Some((fit, z >= quantile::normal(1.0 - CHANCE)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_skewness_agrees_with_scipys_skewtest() {
        // The examples of its documentation.
        let table = [
            ([2.0, 8.0, 0.0, 4.0, 1.0, 9.0, 9.0, 0.0], 0.446_263_853_741_969_75),
            ([1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8000.0], 3.571_773_510_360_407),
        ];
        for (values, expected) in table {
            let n = values.len() as f64;
            let mean = values.iter().sum::<f64>() / n;
            let moment = |power| values.iter().map(|v: &f64| (v - mean).powi(power)).sum::<f64>();
            let z = dagostino(moment(3) / n / (moment(2) / n).powf(1.5), n);
            assert!((z - expected).abs() < 1e-10, "{z}");
        }
    }

    /// `count` values in turn a step of 1 below and above 10, and `others`, in order.
    fn about_ten(count: usize, others: &[f64]) -> Vec<f64> {
        let steps = (0..count).map(|i| [9.0, 11.0][i % 2]);
        sorted(steps.chain(others.iter().copied()))
    }

    #[test]
    fn outliers_are_few_and_far_away_and_have_half_of_the_variance() {
        let found = |count, others: &[f64]| outliers(&about_ten(count, others), 10.0, 1.0);
        // 6^2 is half of 6^2 and 36 times 1.
        let half = Finding::Outliers { one_in: 37.0, share: 0.5 };
        assert_eq!(found(36, &[16.0]), Some(half));
        assert_eq!((found(36, &[4.0]), found(38, &[16.0])), (Some(half), None));
        // Not more than five deviations away, and a little more.
        assert_eq!((found(24, &[15.0]), found(8, &[])), (None, None));
        assert!(found(24, &[15.01]).is_some());
        // A quarter of all, and more than a quarter.
        let far: Vec<f64> = (0..12).map(|i| [-20.0, 40.0][i % 2]).collect();
        let many = Finding::Outliers { one_in: 4.0, share: 10_800.0 / 10_836.0 };
        assert_eq!((found(36, &far), found(34, &far)), (Some(many), None));
        // The centre and the scale are those of most values; equal values have no outlier.
        let whole = findings(&about_ten(36, &[30.0]));
        assert!(matches!(whole[..], [Finding::Outliers { one_in: 37.0, .. }, ..]), "{whole:?}");
        assert_eq!(findings(&[vec![0.0; 45], vec![1.0; 5]].concat()), []);
    }

    #[test]
    fn what_has_few_values_has_no_form() {
        let of = |different: usize| -> Vec<f64> { sorted((0..20).map(|i| (i % different) as f64)) };
        assert!(!has_form(&of(10)) && has_form(&of(11)) && has_form(&of(20)));
        // Two normals of unlike spread, whose common middle changes nothing.
        let both = |middle: f64| -> Vec<f64> {
            let score = |i: usize| quantile::normal((i as f64 + 0.5) / 60.0).unwrap();
            (0..120).map(|i| middle + score(i / 2) * [0.01, 0.06][i % 2]).collect()
        };
        assert_eq!((findings(&both(0.0)), findings(&both(0.3))), (vec![], vec![]));
        for middle in [0.0, 0.3] {
            let found = not_normal(&both(middle));
            assert!(matches!(found, Some(Finding::NotNormal { fit }) if fit < 0.95), "{found:?}");
        }
        assert_eq!((findings(&[0.3; 50]), not_normal(&[0.3; 50])), (vec![], None));
        assert_eq!(findings(&[f64::NAN; 50]), []);
    }

    /// `count` values of which a part is 1 and the rest 0: their moments are known.
    fn coins(count: usize, part: f64) -> Vec<f64> {
        let ones = (part * count as f64).round() as usize;
        (0..count).map(|i| f64::from(u8::from(i >= count - ones))).collect()
    }

    #[test]
    fn the_skewness_of_coins_is_that_of_the_binomial() {
        for (count, p) in [(20, 0.2), (20, 0.05), (100, 0.03), (50, 0.5), (40, 0.9)] {
            let q = 1.0 - p;
            let (found, z) = skewness(&coins(count, p)).unwrap();
            let expected = (q - p) / (p * q).sqrt();
            assert!((found - expected).abs() < 1e-12, "{count} {p}");
            // The variance of the numerator, in the units of a normal's 6.
            let spread = (q.powi(5) + p.powi(5) - 6.0 * (1.0 - 3.0 * p * q) * p * q
                + 9.0 * (p * q).powi(2))
                / (p * q).powi(2);
            let expected = dagostino(expected * (6.0 / spread.max(6.0)).sqrt(), count as f64);
            assert!((z - expected).abs() < 1e-9, "{count} {p}: {z} {expected}");
        }
        assert!(skewness(&coins(7, 0.5)).is_none() && skewness(&coins(8, 0.5)).is_some());
        assert_eq!(skewness(&coins(9, 0.0)), None);
    }

    #[test]
    fn skewed_noise_is_told_with_the_average_and_the_typical_change() {
        let found = |part, step: f64, count| {
            let order: Vec<f64> =
                coins(count, part).into_iter().map(|one| 0.1 + step * one).collect();
            skewed(&order, 0.1, step.abs())
        };
        let Some(Finding::Skewed { skewness, average, typical }) = found(0.2, 0.02, 100) else {
            panic!("1.5 is skewed");
        };
        assert!((skewness - 1.5).abs() < 1e-9, "{skewness}");
        assert!((average - 0.104f64.exp_m1()).abs() < 1e-12, "{average}");
        assert_eq!(typical, 0.1f64.exp_m1());
        let opposite = found(0.2, -0.02, 100);
        assert!(matches!(opposite, Some(Finding::Skewed { skewness, .. }) if skewness < -1.4));
        // The average is no further off than a tenth of a per cent.
        assert_eq!(found(0.2, 0.005, 100), None);
        // 0.63 and 0.41, of which many pairs are sure; and 0.63 in a few.
        assert!(found(0.35, 0.02, 1000).is_some());
        assert_eq!((found(0.4, 0.02, 1000), found(0.35, 0.02, 20)), (None, None));
        // As sure as a chance of one in a thousand, on either side.
        let mut near = 0;
        for (count, part) in (2..30).flat_map(|n| [(5 * n, 0.2), (4 * n, 0.25), (10 * n, 0.1)]) {
            let z = super::skewness(&coins(count, part)).map_or(0.0, |(_, z)| z);
            assert_eq!(found(part, 0.05, count).is_some(), z >= 3.290_526_731_491_895, "{z}");
            near += usize::from((3.1..3.29).contains(&z));
        }
        assert!(near > 0);
        // However far beyond three deviations, it counts as three.
        let far = |distance: f64| {
            let order: Vec<f64> =
                coins(200, 0.1).into_iter().map(|one| 0.02 * distance * one).collect();
            match skewed(&order, 0.0, 0.02) {
                Some(Finding::Skewed { skewness, average, .. }) => (skewness, average),
                other => panic!("{other:?}"),
            }
        };
        assert!(far(3.0).0 == far(9.0).0 && far(3.0).1 < far(9.0).1);
    }

    #[test]
    fn normal_noise_is_rejected_as_rarely_as_said() {
        let mut noise = crate::stats::tests::TestNoise::seeded(31);
        for (count, rounds) in [(12, 8000), (60, 3000)] {
            let mut rejected = || {
                let order = sorted((0..count).map(|_| noise.normal()));
                normal_fit(&order).unwrap().1
            };
            let found = (0..rounds).filter(|_| rejected()).count() as f64;
            let expected = CHANCE * f64::from(rounds);
            assert!((found - expected).abs() <= 3.5 * expected.sqrt(), "{count}: {found}");
            assert!(found > 0.0, "{count}");
        }
    }

    #[test]
    fn noise_with_tails_needs_more_skewness() {
        let mut values: Vec<f64> = (0..20).map(|i| f64::from(i % 5)).collect();
        let (_, z) = skewness(&values).unwrap();
        assert!(z.abs() < 1e-9, "{z}");
        values.push(25.0);
        let (skewness, z) = skewness(&values).unwrap();
        let as_normal = dagostino(skewness, 21.0);
        assert!(as_normal > 4.0 && z < 2.5, "{as_normal} {z}");
    }

    #[test]
    fn normal_scores_fit_and_others_do_not() {
        let scores: Vec<f64> =
            (1..=50).map(|i| quantile::normal((f64::from(i) - 0.375) / 50.25).unwrap()).collect();
        let (fit, rejected) = normal_fit(&scores).unwrap();
        assert!(fit > 1.0 - 1e-12 && !rejected);
        let skewed: Vec<f64> = scores.iter().map(|score| (2.0 * score).exp()).collect();
        let (fit, rejected) = normal_fit(&skewed).unwrap();
        assert!(fit < 0.6 && rejected, "{fit}");
        let (moved, _) = normal_fit(&skewed.iter().map(|v| v + 10.0).collect::<Vec<_>>()).unwrap();
        assert!((moved - fit).abs() < 1e-9, "{moved} {fit}");
        assert_eq!(normal_fit(&[1.0; 9]), None);
    }
}
