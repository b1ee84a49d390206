//! Evidence that may be looked at after every pair, and its inversion.
//!
//! Of differences `d` that are symmetric about 0 under the null, with `S` their
//! sum, `V` their sum of squares and the *share* `R = S^2 / (n V)`, the mixture of
//! likelihood ratios of the t-test with a normal prior of variance `c2` on the
//! effect size is
//!
//! ```text
//! e = (1 + n c2)^(-1/2) * (1 - R n c2 / (1 + n c2))^(-n/2)
//! ```
//!
//! Under the null it ever reaches `1/(2 level)` with a chance of at most
//! `2 level`: at most `level` on each side, the side being the sign of `S`. The
//! signs of the differences alone have evidence too, free of any assumption but
//! the median.
//!
//! # References
//!
//! - Robbins 1970, *Statistical methods related to the law of the iterated
//!   logarithm*, Ann. Math. Stat. 41:1397.
//! - Lai 1976, *On confidence sequences*, Ann. Stat. 4:265.
//! - Howard, Ramdas, McAuliffe and Sekhon 2021, *Time-uniform, nonparametric,
//!   nonasymptotic confidence sequences*, Ann. Stat. 49:1055.
//! - Wang and Ramdas 2025, *Anytime-valid t-tests and confidence sequences for
//!   Gaussian means with unknown variance*, Sequential Analysis 44:56.

use super::moments::PairMoments;
use super::quantile::ln_beta;
use super::ratio::{Parts, RatioSet};

/// The variance of the prior of the effect size, for a decision at `level`.
///
/// It has to shrink with the level: differences of `+1` or `-1` with equal chance
/// are the hard case, and with 0.2 throughout they would be called wrong 2.4 times
/// as often as promised at a level of 0.01 %. With these values they are called
/// wrong 0.95, 0.99, 0.98 and 0.75 times as often at 5, 1.25, 0.1 and 0.01 %, within
/// 1500 pairs (exactly; a test computes it). It grows with the pairs: within
/// 300 000 it is 1.06, 1.14, 1.20 and 1.10 times.
pub fn c2(level: f64) -> f64 {
    // 1 - 0.95 is not 0.05 in doubles.
    let reaches = |bound: f64| level >= bound * (1.0 - 1e-9);
    if reaches(0.05) {
        0.2
    } else if reaches(0.0125) {
        0.15
    } else if reaches(0.001) {
        0.1
    } else {
        0.05
    }
}

/// The logarithm of the evidence that decides at `level`: `ln(1 / (2 level))`. None
/// for levels outside of 0 to 0.5, at which nothing is ever decided.
pub fn ln_needed(level: f64) -> Option<f64> {
    (level > 0.0 && level < 0.5).then(|| -(2.0 * level).ln())
}

/// The share `R` of the mean in the mean square, 0 to 1, from mean and variance
/// (with n below) of the differences; none of differences that are all 0.
pub fn share(mean: f64, variance: f64) -> Option<f64> {
    let square = mean * mean;
    let share = square / (square + variance.max(0.0));
    (!share.is_nan()).then_some(share)
}

/// The logarithm of the evidence of `pairs` differences whose share is `share` (0
/// to 1), with prior variance `c2`.
pub fn ln_evidence(pairs: u64, share: f64, c2: f64) -> f64 {
    let n = pairs as f64;
    let grown = n * c2;
    -0.5 * grown.ln_1p() - 0.5 * n * (-share * (grown / (1.0 + grown))).ln_1p()
}

/// The square of the critical value: with population moments (n below) of `pairs`
/// differences, `mean^2 < t^2 variance` says that the evidence does not decide at
/// `level`. None where no differences of that number could decide.
pub fn t_squared(pairs: u64, level: f64) -> Option<f64> {
    let n = pairs as f64;
    let grown = n * c2(level);
    let needed = ln_needed(level)? + 0.5 * grown.ln_1p();
    let share = -(-2.0 * needed / n).exp_m1() * (1.0 + grown) / grown;
    // Of no pairs the share is infinite.
    (share < 1.0).then(|| share / (1.0 - share))
}

/// The ratios that the pairs do not refute at `level` on either side: those `r`
/// whose differences `head - r base` have less than the evidence needed.
pub fn ratio_set(pairs: &PairMoments, level: f64) -> RatioSet {
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

/// The least number of pairs with which the evidence can decide at `level`: that of
/// differences that are all the same and not 0. None where it never can.
pub fn least_pairs(level: f64) -> Option<u64> {
    least(level, |pairs| t_squared(pairs, level).is_some())
}

/// The logarithm of the evidence in `above` positive and `below` negative signs:
/// a Beta(1/2, 1/2) mixture against fair coins (Robbins 1970). The counts need not
/// be whole, so that a forecast can ask too.
pub fn ln_sign_evidence(above: f64, below: f64) -> f64 {
    let fair = (above + below) * std::f64::consts::LN_2;
    fair + ln_beta(above + 0.5, below + 0.5) - ln_beta(0.5, 0.5)
}

/// The least number of equal signs among `signs` that decides at `level`; none
/// where not even all of them would.
pub fn signs_needed(signs: u64, level: f64) -> Option<u64> {
    let needed = ln_needed(level)?;
    let decides = |equal: u64| ln_sign_evidence(equal as f64, (signs - equal) as f64) >= needed;
    if !decides(signs) {
        return None;
    }
    // Invariant: `enough` decides, and less than `least` does not.
    let (mut least, mut enough) = (signs / 2 + 1, signs);
    while least < enough {
        let middle = least + (enough - least) / 2;
        if decides(middle) {
            enough = middle;
        } else {
            least = middle + 1;
        }
    }
    Some(enough)
}

/// The least number of signs with which they can decide at `level`, all being
/// equal. None where they never can.
pub fn least_signs(level: f64) -> Option<u64> {
    least(level, |signs| signs_needed(signs, level).is_some())
}

/// The least number, above 0, with which `can` decide at `level`.
fn least(level: f64, can: impl Fn(u64) -> bool) -> Option<u64> {
    ln_needed(level)?;
    // Evidence at its best grows by a factor a pair, so a level that a double can
    // hold takes no more pairs than it has bits in its exponent.
    (1..5_000).find(|pairs| can(*pairs))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::noise::Noise;

    const LEVELS: [f64; 6] = [0.2, 0.05, 0.0125, 0.001, 1e-4, 1e-7];

    #[test]
    fn the_prior_follows_the_level() {
        let priors = [1.0 - 0.95, 0.05, 0.0499, 0.0125, 0.0124, 0.001, 0.000_99].map(c2);
        assert_eq!(priors, [0.2, 0.2, 0.15, 0.15, 0.1, 0.1, 0.05]);
    }

    #[test]
    fn constant_differences_have_the_evidence_of_the_closed_form() {
        for n in [1, 2, 7, 1000] {
            let expected = 0.5 * (n - 1) as f64 * (1.0 + 0.2 * n as f64).ln();
            let actual = ln_evidence(n, 1.0, 0.2);
            assert!((actual - expected).abs() <= 1e-12 * expected.max(1.0), "{n}");
        }
    }

    #[test]
    fn the_critical_value_is_where_the_evidence_decides() {
        for level in LEVELS {
            for n in [1, 2, 6, 7, 8, 20, 300, 100_000] {
                let Some(t_squared) = t_squared(n, level) else {
                    assert!(ln_evidence(n, 1.0, c2(level)) <= ln_needed(level).unwrap());
                    continue;
                };
                let share = share(t_squared.sqrt(), 1.0).unwrap();
                let gap = ln_evidence(n, share, c2(level)) - ln_needed(level).unwrap();
                assert!(gap.abs() < 1e-9, "{level} {n} {gap}");
            }
        }
    }

    #[test]
    fn the_set_ends_where_the_evidence_does() {
        let mut noise = Noise::seeded(31);
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
            let gap = ln_evidence(40, share, 0.2) - ln_needed(0.05).unwrap();
            assert!(gap.abs() < 1e-9, "{r} {gap}");
        }
    }

    #[test]
    fn the_least_numbers_are_known() {
        assert_eq!(least_pairs(0.05), Some(7));
        assert_eq!(least_signs(0.05), Some(6));
        assert!(least_pairs(1e-300).is_some() && least_signs(1e-300).is_some());
        for level in [0.0, 0.5, 0.7, -1.0, f64::NAN] {
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

    /// The exact chance that fair signs ever decide on the positive side within
    /// `pairs`, by the distribution of their sum among the paths that have not.
    fn ever_wrong(pairs: usize, decides: impl Fn(u64, usize) -> bool) -> f64 {
        // `alive[k]` is the chance of `k` positive signs and no decision yet.
        let (mut alive, mut wrong) = (vec![1.0], 0.0);
        for n in 1..=pairs {
            let mut next = vec![0.0; n + 1];
            for (k, chance) in alive.iter().enumerate() {
                next[k] += 0.5 * chance;
                next[k + 1] += 0.5 * chance;
            }
            let deciding = (n / 2 + 1..=n).rev().take_while(|k| decides(n as u64, *k));
            for k in deciding {
                wrong += std::mem::take(&mut next[k]);
            }
            alive = next;
        }
        wrong
    }

    #[test]
    fn two_point_noise_is_called_wrong_as_rarely_as_promised() {
        for (level, known) in [(0.05, 0.95), (0.0125, 0.99), (0.001, 0.98), (1e-4, 0.75)] {
            let needed = ln_needed(level).unwrap();
            let decides = |n: u64, k: usize| {
                let mean = 2.0 * k as f64 / n as f64 - 1.0;
                ln_evidence(n, mean * mean, c2(level)) >= needed
            };
            let share = ever_wrong(1500, decides) / level;
            assert!(share <= 1.0 && (share - known).abs() < 0.005, "{level}: {share}");
        }
    }

    #[test]
    fn signs_are_called_wrong_as_rarely_as_promised() {
        for level in [0.05, 0.001] {
            let decides =
                |n: u64, k: usize| signs_needed(n, level).is_some_and(|needed| k as u64 >= needed);
            let share = ever_wrong(300, decides) / level;
            assert!(share <= 1.0 && share > 0.3, "{level}: {share}");
        }
    }
}
