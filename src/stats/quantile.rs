//! Quantiles and special functions. No other file uses `statrs`.
//!
//! # References
//!
//! - Abramowitz and Stegun 1964, *Handbook of Mathematical Functions*, 26.7.5
//!   (Student's quantile as an expansion about the normal one) and 6.2.2 (beta).

use statrs::distribution::{Continuous, ContinuousCDF, Normal, StudentsT};
use statrs::function::gamma::ln_gamma;

/// Above this many degrees of freedom the expansion is used. statrs' own quantile gets
/// worse there (at p = 0.9 it is off by 1e-8 from 3000 on, at p = 0.975 by 3.5e-6 at
/// 1e5 and by 7 % at 1e7), while the expansion is good to 1e-12.
const EXPANSION_FROM: f64 = 1e3;

/// Below this probability statrs' distribution function fails (it panics from 1e-33 on).
const LEAST_TAIL: f64 = 1e-20;

/// The quantile of Student's t at probability `p` (from 1e-20 to 1, excluded) with `dof`
/// degrees of freedom (at least 1, not necessarily whole); `None` outside of these.
pub fn student_t(p: f64, dof: f64) -> Option<f64> {
    if !(dof >= 1.0 && (LEAST_TAIL..1.0).contains(&p)) {
        return None;
    }
    if dof > EXPANSION_FROM {
        return Some(expansion(normal(p)?, dof));
    }
    // By the lower tail, where small probabilities keep their digits.
    let distance = lower_tail(p.min(1.0 - p), dof)?;
    Some(if p < 0.5 { -distance } else { distance })
}

/// How far below 0 the lower tail of Student's t has the probability `tail` (at most
/// 1/2).
fn lower_tail(tail: f64, dof: f64) -> Option<f64> {
    let student = StudentsT::new(0.0, 1.0, dof).ok()?;
    // statrs stops early at some p (at 0.8, it is off by 3e-9), and in far tails it fails
    // or never returns. Newton's method on the logarithms corrects the first and reaches
    // the second, where the tail is nearly a power.
    let mut distance = -student.inverse_cdf(tail.max(1e-6));
    for _ in 0..50 {
        if distance == 0.0 {
            break;
        }
        let reached = student.cdf(-distance);
        let step = (reached / tail).ln() * reached / (student.pdf(distance) * distance);
        distance *= step.exp();
        if step.abs() < 1e-12 {
            break;
        }
    }
    distance.is_finite().then_some(distance)
}

/// The quantile of the standard normal at probability `p` (0 to 1, both excluded);
/// `None` outside.
pub(crate) fn normal(p: f64) -> Option<f64> {
    if !(0.0..=1.0).contains(&p) {
        return None;
    }
    // Infinite at the ends.
    let quantile = Normal::new(0.0, 1.0).ok()?.inverse_cdf(p);
    quantile.is_finite().then_some(quantile)
}

/// Abramowitz and Stegun 26.7.5, from the normal quantile `z`.
fn expansion(z: f64, dof: f64) -> f64 {
    let s = z * z;
    let g1 = z * (s + 1.0) / 4.0;
    let g2 = z * ((5.0 * s + 16.0) * s + 3.0) / 96.0;
    let g3 = z * (((3.0 * s + 19.0) * s + 17.0) * s - 15.0) / 384.0;
    let g4 = z * ((((79.0 * s + 776.0) * s + 1482.0) * s - 1920.0) * s - 945.0) / 92160.0;
    z + (g1 + (g2 + (g3 + g4 / dof) / dof) / dof) / dof
}

/// The logarithm of the beta function of two positive numbers.
pub(super) fn ln_beta(a: f64, b: f64) -> f64 {
    ln_gamma(a) + ln_gamma(b) - ln_gamma(a + b)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::f64::consts::PI;

    const PROBABILITIES: [f64; 10] =
        [1e-15, 1e-6, 0.0005, 0.025, 0.2, 0.5, 0.8, 0.95, 0.999, 0.999_999];

    #[track_caller]
    fn assert_close(actual: Option<f64>, expected: f64, tolerance: f64) {
        let actual = actual.unwrap();
        let error = (actual - expected).abs();
        assert!(error <= tolerance * expected.abs().max(1e-3), "{actual} is not {expected}");
    }

    #[test]
    fn one_degree_of_freedom_is_cauchy() {
        for p in PROBABILITIES {
            assert_close(student_t(p, 1.0), -1.0 / (PI * p).tan(), 1e-9);
        }
    }

    #[test]
    fn two_degrees_of_freedom_have_a_closed_form() {
        for p in PROBABILITIES {
            let expected = (2.0 * p - 1.0) / (2.0 * p * (1.0 - p)).sqrt();
            assert_close(student_t(p, 2.0), expected, 1e-10);
        }
    }

    #[test]
    fn normal_agrees_with_known_digits() {
        assert_close(normal(0.975), 1.959_963_984_540_054, 1e-14);
        assert_close(normal(0.95), 1.644_853_626_951_472_7, 1e-14);
        assert_close(normal(0.9995), 3.290_526_731_491_895, 1e-14);
        assert_close(normal(1e-6), -4.753_424_308_822_899, 1e-13);
        assert_close(normal(0.5), 0.0, 0.0);
    }

    #[test]
    fn both_sides_of_the_seam_agree() {
        for p in &PROBABILITIES[1..] {
            for dof in [EXPANSION_FROM, 0.9 * EXPANSION_FROM] {
                let above = expansion(normal(*p).unwrap(), dof);
                assert_close(student_t(*p, dof), above, 2e-12);
            }
        }
    }

    #[test]
    fn every_term_of_the_expansion_counts() {
        // What is left out is of the order of dof^-5, 6e-13 here.
        for p in [0.025, 0.2, 0.7, 0.9, 0.95] {
            let exact = student_t(p, 200.0).unwrap();
            let error = (expansion(normal(p).unwrap(), 200.0) - exact).abs();
            assert!(error < 3e-12, "{p}: {error:e}");
        }
    }

    #[test]
    fn many_degrees_of_freedom_approach_the_normal() {
        for dof in [1e5, 1e6, 1e7, 1e8, 1e12] {
            let t = student_t(0.975, dof).unwrap();
            let z = normal(0.975).unwrap();
            let leading = (z * z * z + z) / (4.0 * dof);
            assert!((t - z - leading).abs() < 1e-14 + 4.0 / (dof * dof));
        }
        assert_eq!(student_t(0.975, f64::INFINITY), normal(0.975));
    }

    #[test]
    fn outside_the_domain_there_is_none() {
        for p in [0.0, 1.0, -0.1, 1.1, f64::NAN] {
            assert_eq!(normal(p), None);
            assert_eq!(student_t(p, 5.0), None);
        }
        for dof in [0.0, 0.9, -1.0, f64::NAN] {
            assert_eq!(student_t(0.9, dof), None);
        }
    }

    #[test]
    fn beta_agrees_with_closed_forms() {
        assert!((ln_beta(0.5, 0.5) - PI.ln()).abs() < 1e-14);
        assert!((ln_beta(3.0, 4.0) - (1.0f64 / 60.0).ln()).abs() < 1e-13);
    }
}
