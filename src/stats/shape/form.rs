//! The form of the distribution of the differences: outliers, skewness, normality.
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

use super::ranks::{median, middle, sorted};
use super::{CHANCE, Finding};
use crate::stats::quantile;

/// So many robust deviations from the median begins an outlier; of normal
/// noise 1 in 1.7 million does.
const OUTLYING: f64 = 5.0;
/// The least share of the variance that the outliers must have.
const OUTLIERS_SHARE: f64 = 0.5;
/// More than this share of the pairs are no outliers.
const OUTLIERS_MOST: f64 = 0.25;
/// So many robust deviations from the median are differences cut short for the
/// skewness. Further out, the sides that a handful of outliers fell on by chance would
/// decide (on recorded timings with random labels, at 5: in up to 0.7 %).
const CUT: f64 = 3.0;
/// The least skewness. A chi-square with 32 degrees of freedom has it.
const SKEWNESS: f64 = 0.5;
/// The least distance of the average change from the typical one.
const SKEWED_APART: f64 = 0.002;
/// Above this fit with normal scores the noise is as good as normal.
const FIT: f64 = 0.95;

/// The median absolute deviation of the normal is this part of its deviation.
const NORMAL_MAD: f64 = 0.674_489_750_196_081_7;

/// Outliers and skewness.
pub(super) fn findings(differences: &[f64]) -> Vec<Finding> {
    let order = sorted(differences.to_vec());
    let centre = middle(&order);
    let scale = median(order.iter().map(|value| (value - centre).abs())) / NORMAL_MAD;
    // More than half are equal, as counters are, or next to: no form to speak of.
    if scale.is_nan() || scale <= 1e-9 {
        return Vec::new();
    }
    let mut found = Vec::new();
    found.extend(outliers(&order, centre, scale));
    found.extend(skewed(&order, centre, scale));
    found
}

/// Differences, in ascending order, whose form is none of the usual ones.
pub(super) fn not_normal(differences: &[f64]) -> Option<Finding> {
    let order = sorted(differences.to_vec());
    let (fit, rejected) = normal_fit(&order)?;
    (rejected && fit < FIT && has_form(&order)).then_some(Finding::NotNormal { fit })
}

/// Whether there are more values than a coarse clock or a counter has.
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
    let few = count > 0.0 && count <= OUTLIERS_MOST * pairs;
    let (_, rejected) = normal_fit(order)?;
    (few && share >= OUTLIERS_SHARE && rejected)
        .then_some(Finding::Outliers { one_in: pairs / count, share })
}

/// The skewness of the differences, those of outliers cut short: so it is the many
/// that say it, or outliers that are all on the same side.
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

/// The skewness of at least 8 values and D'Agostino's normal deviate of it; where the
/// sixth moment says that the noise makes more skewness by chance than the normal
/// does, so much less.
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

/// W' of values in ascending order, and whether normal noise has so poor a fit by
/// chance only.
fn normal_fit(order: &[f64]) -> Option<(f64, bool)> {
    let n = order.len() as f64;
    let mean = order.iter().sum::<f64>() / n;
    let (mut squares, mut scores, mut products) = (0.0, 0.0, 0.0);
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
        assert_eq!(normal_fit(&[1.0; 9]), None);
    }
}
