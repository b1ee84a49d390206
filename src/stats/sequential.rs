//! Evidence that one may look at after every pair, and its inversion.
//!
//! Let `d` be differences that are symmetric about 0 under the null, `S` their sum,
//! `V` their sum of squares and `R = S^2 / (n V)` the *share*. The evidence is
//!
//! ```text
//! ln e = L/(1 + L) - 0.8 ln(1 + n c2) - n/2 ln(1 - R n c2 / (1 + n c2))
//! ```
//!
//! and it decides when it reaches `L = ln(1/(2 level))`. With 0 for the first term
//! and 1/2 for the 0.8, it would be the mixture of likelihood ratios of the t-test
//! with a normal prior of variance `c2` on the effect size. The mixture spends its
//! error evenly over all orders of magnitude of `n`, and on two-point noise, the
//! hardest, its error exceeds the level. The evidence here spends its error early,
//! where verdicts are wanted, and the sum is finite (see Robbins and Siegmund 1970 on
//! choosing the boundary itself).
//!
//! Under the null the evidence ever reaches `L` with a probability of at most
//! `2 level`: at most `level` on each side, which is the sign of `S`. This is computed
//! exactly for two-point noise and simulated for other noise
//! (`examples/error-rates`). The signs of the differences alone have evidence too,
//! which assumes nothing but the median.
//!
//! # References
//!
//! - Robbins 1970, *Statistical methods related to the law of the iterated
//!   logarithm*, Ann. Math. Stat. 41:1397.
//! - Robbins and Siegmund 1970, *Boundary crossing probabilities for the Wiener
//!   process and sample sums*, Ann. Math. Stat. 41:1410.
//! - Lai 1976, *On confidence sequences*, Ann. Stat. 4:265.
//! - Howard, Ramdas, McAuliffe and Sekhon 2021, *Time-uniform, nonparametric,
//!   nonasymptotic confidence sequences*, Ann. Stat. 49:1055.
//! - Wang and Ramdas 2025, *Anytime-valid t-tests and confidence sequences for
//!   Gaussian means with unknown variance*, Sequential Analysis 44:56.

use super::first;
use super::moments::PairMoments;
use super::quantile::ln_beta;
use super::ratio::{Parts, RatioSet};

/// How fast the needed evidence grows: the weight of `ln(1 + n c2)`. Above 1/2, so
/// that the sum of the error spent late is finite.
const GROWTH: f64 = 0.8;

/// The variance of the prior of the effect size, for a decision that needs the
/// evidence `ln_needed`: 0.083 at a level of 5 %, 0.056 at 0.1 %. It has to shrink
/// with the level, or the few values of two-point noise would decide too early.
fn c2(ln_needed: f64) -> f64 {
    0.15 / (1.0 + ln_needed).sqrt()
}

/// What the faster growth allows to give back early: the largest simple form that
/// keeps two-point noise below every level (the tests compute it).
fn head_start(ln_needed: f64) -> f64 {
    ln_needed / (1.0 + ln_needed)
}

/// The logarithm of the evidence that decides at `level`: `ln(1 / (2 level))`. `None`
/// for levels outside of 0 to 0.5, at which nothing ever decides.
pub(crate) fn ln_needed(level: f64) -> Option<f64> {
    (level > 0.0 && level < 0.5).then(|| -(2.0 * level).ln())
}

/// The share `R` of the squared mean in the mean square, 0 to 1, from the mean and the
/// variance (divided by n) of the differences; `None` if all of them are 0.
pub(crate) fn share(mean: f64, variance: f64) -> Option<f64> {
    let square = mean * mean;
    let share = square / (square + variance.max(0.0));
    (!share.is_nan()).then_some(share)
}

/// The logarithm of the evidence of `pairs` differences with the share `share` (0 to
/// 1), for a decision that needs [`ln_needed`].
pub(crate) fn ln_evidence(pairs: u64, share: f64, ln_needed: f64) -> f64 {
    let n = pairs as f64;
    let grown = n * c2(ln_needed);
    let rise = -0.5 * n * (-share * (grown / (1.0 + grown))).ln_1p();
    head_start(ln_needed) - GROWTH * grown.ln_1p() + rise
}

/// The square of the critical value: if `mean^2 < t^2 variance` for the population
/// moments (divided by n) of `pairs` differences, the evidence does not decide at
/// `level`. `None` if no differences of that number could decide.
pub fn t_squared(pairs: u64, level: f64) -> Option<f64> {
    let n = pairs as f64;
    let ln_needed = ln_needed(level)?;
    let grown = n * c2(ln_needed);
    let needed = ln_needed - head_start(ln_needed) + GROWTH * grown.ln_1p();
    let share = -(-2.0 * needed / n).exp_m1() * (1.0 + grown) / grown;
    // For no pairs the share is infinite.
    (share < 1.0).then(|| share / (1.0 - share))
}

/// The ratios that the pairs do not refute at `level` on either side: those `r` for
/// which the differences `head - r base` have less than the needed evidence.
pub(crate) fn ratio_set(pairs: &PairMoments, level: f64) -> RatioSet {
    let parts = || {
        Some(Parts {
            base: pairs.base().mean()?,
            head: pairs.head().mean()?,
            base_variance: pairs.base().population_variance()?,
            head_variance: pairs.head().population_variance()?,
            covariance: pairs.population_covariance()?,
        })
    };
    match (parts(), t_squared(pairs.count(), level)) {
        (Some(parts), Some(t_squared)) => RatioSet::new(&parts, t_squared),
        _ => RatioSet::All,
    }
}

/// The least number of pairs with which the evidence can decide at `level`, which it
/// does if all differences are equal and not 0. `None` if it never can.
pub(crate) fn least_pairs(level: f64) -> Option<u64> {
    least(level, |pairs| t_squared(pairs, level).is_some())
}

/// The logarithm of the evidence of `above` positive and `below` negative signs: a
/// Beta(1/2, 1/2) mixture against fair coins (Robbins 1970). A forecast's counts need
/// not be whole.
pub(crate) fn ln_sign_evidence(above: f64, below: f64) -> f64 {
    let fair = (above + below) * std::f64::consts::LN_2;
    fair + ln_beta(above + 0.5, below + 0.5) - ln_beta(0.5, 0.5)
}

/// The least number of equal signs among `signs` that decides at `level`; `None` if
/// not even all of them would.
pub(crate) fn signs_needed(signs: u64, level: f64) -> Option<u64> {
    let needed = ln_needed(level)?;
    let decides = |equal: u64| ln_sign_evidence(equal as f64, (signs - equal) as f64) >= needed;
    if !decides(signs) {
        return None;
    }
    // The evidence falls up to half of the signs, which is the first number tried and never
    // decides, and rises from there.
    Some(first(0..signs, decides))
}

/// The least number of signs that decide at `level` if all are equal. `None` if they
/// never do.
pub(crate) fn least_signs(level: f64) -> Option<u64> {
    least(level, |signs| signs_needed(signs, level).is_some())
}

/// The least positive number of pairs that `can` decide at `level`.
fn least(level: f64, can: impl Fn(u64) -> bool) -> Option<u64> {
    ln_needed(level)?;
    // At best the evidence grows by a factor with each pair, so even the smallest level
    // that a double can hold needs fewer pairs than this.
    (1..5_000).find(|pairs| can(*pairs))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::tests::TestNoise;
    use crate::stats::two_point;

    const LEVELS: [f64; 6] = [0.2, 0.05, 0.0125, 0.001, 1e-4, 1e-7];

    #[test]
    fn constant_differences_have_the_evidence_of_the_closed_form() {
        let needed = ln_needed(0.05).unwrap();
        let c2 = 0.15 / (1.0 + 10f64.ln()).sqrt();
        for n in [1, 2, 7, 1000] {
            let grown = (0.5 * n as f64 - 0.8) * (1.0 + c2 * n as f64).ln();
            let expected = 10f64.ln() / (1.0 + 10f64.ln()) + grown;
            let actual = ln_evidence(n, 1.0, needed);
            assert!((actual - expected).abs() <= 1e-12 * expected.max(1.0), "{n}");
        }
    }

    #[test]
    fn the_critical_value_is_where_the_evidence_decides() {
        for level in LEVELS {
            for n in [1, 2, 6, 7, 8, 20, 300, 100_000] {
                let Some(t_squared) = t_squared(n, level) else {
                    let needed = ln_needed(level).unwrap();
                    assert!(ln_evidence(n, 1.0, needed) <= needed);
                    continue;
                };
                let share = share(t_squared.sqrt(), 1.0).unwrap();
                let needed = ln_needed(level).unwrap();
                let gap = ln_evidence(n, share, needed) - needed;
                assert!(gap.abs() < 1e-9, "{level} {n} {gap}");
            }
        }
    }

    #[test]
    fn the_set_ends_where_the_evidence_does() {
        let mut noise = TestNoise::seeded(31);
        let mut one = || (10.0 + noise.normal(), 11.0 + noise.normal());
        let pairs: PairMoments = (0..40).map(|_| one()).collect();
        let RatioSet::Between { lower, upper } = ratio_set(&pairs, 0.05) else {
            panic!("40 pairs of 10 % noise bound the ratio");
        };
        let both = pairs.population_covariance().unwrap();
        let base = pairs.base().population_variance().unwrap();
        let head = pairs.head().population_variance().unwrap();
        for r in [lower, upper] {
            let mean = pairs.head().mean().unwrap() - r * pairs.base().mean().unwrap();
            let share = share(mean, head - 2.0 * r * both + r * r * base).unwrap();
            let needed = ln_needed(0.05).unwrap();
            let gap = ln_evidence(40, share, needed) - needed;
            assert!(gap.abs() < 1e-9, "{r} {gap}");
        }
    }

    #[test]
    fn the_least_numbers_are_known() {
        assert_eq!(least_pairs(0.05), Some(8));
        assert_eq!(least_signs(0.05), Some(6));
        assert!(least_pairs(1e-300).is_some() && least_signs(1e-300).is_some());
        for level in [0.0, 0.5, 0.7, -1.0, f64::NAN] {
            assert_eq!(ln_needed(level), None);
            assert_eq!((least_pairs(level), least_signs(level)), (None, None));
            assert_eq!(t_squared(100, level), None);
        }
        assert_eq!(t_squared(0, 0.05), None);
        assert_eq!(signs_needed(0, 0.05), None);
    }

    #[test]
    fn signs_needed_are_the_fewest_that_decide() {
        for level in LEVELS {
            for n in 1..200 {
                let decides = |k: u64| {
                    ln_sign_evidence(k as f64, (n - k) as f64) >= ln_needed(level).unwrap()
                };
                let naive = (n / 2 + 1..=n).find(|k| decides(*k));
                assert_eq!(signs_needed(n, level), naive, "{level} {n}");
            }
        }
    }

    #[test]
    fn two_point_noise_is_called_wrong_as_rarely_as_promised() {
        // From 45 % to 1e-6.
        for step in 0..64 {
            let level = 0.45 * (1e-6_f64 / 0.45).powf(f64::from(step) / 63.0);
            let wrong = two_point::ever_wrong(1500, |n| mean_boundary(n, level)) / level;
            assert!(wrong <= 0.985, "{level}: {wrong}");
        }
        // Most of what is ever spent is spent here.
        for (level, known) in [(0.05, 0.981), (0.001, 0.975)] {
            let wrong = two_point::ever_wrong(20_000, |n| mean_boundary(n, level)) / level;
            assert!(wrong <= 1.0 && (wrong - known).abs() < 0.02, "{level}: {wrong}");
        }
    }

    #[test]
    fn signs_are_called_wrong_as_rarely_as_promised() {
        for level in [0.05, 0.001] {
            let boundary = |n: u64| {
                let needed = signs_needed(n, level);
                needed.map_or(f64::INFINITY, |needed| 2.0 * needed as f64 - n as f64)
            };
            let share = two_point::ever_wrong(1000, boundary) / level;
            assert!(share <= 1.0 && share > 0.5, "{level}: {share}");
        }
    }

    /// The least sum of `n` signs that decides.
    fn mean_boundary(n: u64, level: f64) -> f64 {
        let share = t_squared(n, level).map_or(f64::INFINITY, |t| t / (1.0 + t));
        n as f64 * share.sqrt()
    }
}
