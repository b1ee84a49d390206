//! Simulated noise with each trait, and without any.

use super::*;
use crate::model::{Estimator, Kinds};
use crate::stats::tests::TestNoise;

/// Which run is simulated.
struct SimulatedRun {
    /// The number of its pair.
    number: u64,
    head: bool,
    second: bool,
}

/// The findings in `pairs` pairs of runs, where each two pairs are in both orders.
fn simulate(
    seed: u64,
    pairs: u64,
    mut run: impl FnMut(&mut TestNoise, SimulatedRun) -> f64,
) -> Vec<Finding> {
    let mut noise = TestNoise::seeded(seed);
    let mut shape = NoiseShape::default();
    let mut base_first = false;
    for number in 0..pairs {
        base_first = if number % 2 == 0 { noise.uniform() < 0.5 } else { !base_first };
        let base = run(&mut noise, SimulatedRun { number, head: false, second: !base_first });
        let head = run(&mut noise, SimulatedRun { number, head: true, second: base_first });
        shape.push(base, head, base_first);
    }
    shape.findings()
}

fn normal(noise: &mut TestNoise) -> f64 {
    1.0 + 0.03 * noise.normal()
}

/// How many of `times` comparisons of 20 to 500 pairs have a finding other than that of a clock.
fn alarms(times: u64, mut run: impl FnMut(&mut TestNoise) -> f64) -> usize {
    let sizes = [20, 30, 50, 100, 200, 500].into_iter().cycle();
    let seeded = (0..times).zip(sizes);
    let has_finding = |&(seed, pairs): &(u64, u64)| {
        let found = simulate(seed, pairs, |noise, _| run(noise));
        found.iter().any(|one| !matches!(one, Finding::Coarse { .. }))
    };
    seeded.filter(has_finding).count()
}

#[test]
fn normal_noise_has_findings_in_less_than_one_comparison_of_100() {
    let found = alarms(700, normal);
    assert!(found < 7, "{found}");
}

#[test]
fn noise_of_many_forms_alike_on_both_sides_is_no_finding() {
    // The differences of each are symmetric, and no outlier rules them.
    assert!(alarms(300, |noise| (0.2 * noise.normal()).exp()) < 6);
    assert!(alarms(300, |noise| 1.0 + 0.1 * noise.uniform()) < 6);
    // A coarse clock, and a counter of few values.
    assert!(alarms(300, |noise| (100.0 * normal(noise)).round()) < 6);
    assert!(alarms(300, |noise| 50.0 + (3.0 * noise.uniform()).floor()) < 6);
    assert_eq!(alarms(20, |_| 7.0), 0);
}

#[test]
fn a_clock_is_coarse_where_most_values_are_repeated() {
    let coarse = |step: f64| {
        let found = |seed: &u64| {
            let run = |noise: &mut TestNoise| (normal(noise) / step).round() * step;
            let found = simulate(*seed, 100, |noise, _| run(noise));
            found.iter().any(|one| matches!(one, Finding::Coarse { .. }))
        };
        (0..50).filter(found).count()
    };
    assert_eq!([0.02, 0.01, 0.001, 1e-6].map(coarse), [50, 50, 0, 0]);
}

#[test]
fn no_modes_no_skewness_in_noise_with_tails() {
    let tails: [fn(&mut TestNoise) -> f64; 3] = [
        |noise| normal(noise) * if noise.uniform() < 0.05 { 1.6 } else { 1.0 },
        |noise| noise.uniform().powf(-0.4),
        |noise| (0.02 * (std::f64::consts::PI * (noise.uniform() - 0.5)).tan()).exp(),
    ];
    for tail in tails {
        let wrong = |seed: &u64| {
            let found = simulate(*seed, 60 + 2 * seed, |noise, _| tail(noise));
            let named =
                |f: &Finding| matches!(f, Finding::TwoKinds { .. } | Finding::Skewed { .. });
            found.iter().any(named)
        };
        let wrong = (0..150).filter(wrong).count();
        assert!(wrong <= 3, "{wrong}");
    }
}

#[test]
fn outliers_are_counted_with_their_share() {
    let found = simulate(1, 200, |noise, SimulatedRun { number, head, .. }| {
        normal(noise) * if head == (number % 40 < 20) && number % 20 == 3 { 2.0 } else { 1.0 }
    });
    let [Finding::Outliers { one_in, share }] = found[..] else { panic!("{found:?}") };
    assert!((one_in - 20.0).abs() < 1e-9 && (0.8..0.98).contains(&share), "{found:?}");
    assert!(found[0].matters_to(Estimator::Mean) && !found[0].matters_to(Estimator::Median));
}

#[test]
fn an_outlier_is_found_among_twelve_pairs_and_not_among_eleven() {
    for (pairs, count) in [(11, 0), (12, 1), (13, 1)] {
        let found = simulate(1, pairs, |noise, SimulatedRun { number, head, .. }| {
            normal(noise) * if head && number == 5 { 3.0 } else { 1.0 }
        });
        let outliers = found.iter().filter(|one| matches!(one, Finding::Outliers { .. }));
        assert_eq!(outliers.count(), count, "{pairs}: {found:?}");
    }
}

#[test]
fn a_change_of_the_tail_alone_is_skewed() {
    let found = simulate(2, 300, |noise, SimulatedRun { head, .. }| {
        normal(noise) * if head && noise.uniform() < 0.08 { 1.6 } else { 1.0 }
    });
    let skewed = found.iter().find_map(|finding| match *finding {
        Finding::Skewed { skewness, average, typical } => Some((skewness, average, typical)),
        _ => None,
    });
    let (skewness, average, typical) = skewed.unwrap_or_else(|| panic!("{found:?}"));
    assert!(skewness > 0.6 && average > 0.02 && typical < 0.02, "{found:?}");
}

#[test]
fn two_kinds_of_runs_are_told_with_share_and_distance() {
    let kind = |noise: &mut TestNoise| if noise.uniform() < 0.3 { 1.2 } else { 1.0 };
    let found = simulate(3, 150, |noise, SimulatedRun { head, .. }| {
        (1.0 + 0.01 * noise.normal()) * if head { kind(noise) } else { 1.0 }
    });
    let kinds = found.iter().find_map(|finding| match *finding {
        Finding::TwoKinds { base, head } => Some((base, head)),
        _ => None,
    });
    let Some((None, Some(Kinds { share, distance }))) = kinds else { panic!("{found:?}") };
    assert!((0.2..0.4).contains(&share) && (distance - 0.2).abs() < 0.01, "{found:?}");
    // Of exact values, too.
    let found = simulate(4, 100, |noise, _| kind(noise));
    assert!(matches!(found[..], [.., Finding::TwoKinds { base: Some(_), head: Some(_) }]));
}

#[test]
fn drift_is_told_apart_from_drift_of_the_difference() {
    let found = simulate(5, 120, |noise, SimulatedRun { number, .. }| {
        normal(noise) * (1.0 + 0.001 * number as f64)
    });
    let [Finding::Drift { change }] = found[..] else { panic!("{found:?}") };
    assert!((change - 0.08).abs() < 0.02, "{change}");
    let found = simulate(6, 120, |noise, SimulatedRun { number, head, .. }| {
        normal(noise) * (1.0 - if head { 0.001 * number as f64 } else { 0.0 })
    });
    let [Finding::DifferenceDrift { change }] = found[..] else { panic!("{found:?}") };
    assert!((change + 0.08).abs() < 0.02, "{change}");
}

#[test]
fn a_slow_second_slot_is_found_whatever_the_change() {
    for factor in [0.8, 1.0, 1.3] {
        let found = simulate(7, 100, |noise, SimulatedRun { head, second, .. }| {
            let slot = if second { 1.03 } else { 1.0 };
            normal(noise) * slot * if head { factor } else { 1.0 }
        });
        let [Finding::Slot { effect, z }] = found[..] else { panic!("{found:?}") };
        assert!((effect - 0.03).abs() < 0.01 && z > 3.2, "{found:?}");
    }
}

#[test]
fn what_the_last_program_leaves_behind_is_found_whatever_the_change_and_the_slot() {
    for (effect, factor, slot) in [(0.03, 1.0, 1.0), (0.03, 1.3, 1.02), (-0.03, 0.8, 0.99)] {
        let mut noise = TestNoise::seeded(17);
        let mut shape = NoiseShape::default();
        let mut after_head = false;
        for _ in 0..400 {
            let base_first = noise.uniform() < 0.5;
            let mut values = [0.0; 2];
            for second in [false, true] {
                let head = base_first == second;
                let carried = if after_head { 1.0 + effect } else { 1.0 };
                let place = if second { slot } else { 1.0 };
                values[usize::from(head)] =
                    normal(&mut noise) * carried * place * if head { factor } else { 1.0 };
                after_head = head;
            }
            shape.push(values[0], values[1], base_first);
        }
        let found = shape.findings();
        let carried = found.iter().find_map(|finding| match *finding {
            Finding::CarryOver { effect, z } => Some((effect, z)),
            _ => None,
        });
        let (found_effect, z) = carried.unwrap_or_else(|| panic!("{found:?}"));
        assert!((found_effect - effect).abs() < 0.015 && z * effect > 0.09, "{found:?}");
    }
}

#[test]
fn resembling_neighbours_are_correlated_opposite_ones_are_not() {
    let walk = |sign: f64| {
        let mut state = 0.0;
        simulate(8, 300, |noise, SimulatedRun { head, .. }| {
            if head {
                state = 0.5 * sign * state + 0.02 * noise.normal();
            }
            1.0 + 0.005 * noise.normal() + if head { state } else { 0.0 }
        })
    };
    let found = walk(1.0);
    let [Finding::Correlated { correlation }] = found[..] else { panic!("{found:?}") };
    assert!((0.3..0.6).contains(&correlation), "{correlation}");
    assert_eq!(walk(-1.0), []);
}

#[test]
fn a_form_without_a_name_is_not_normal() {
    // Half of the pairs quiet, half of them noisy: no outliers any more.
    let found = simulate(9, 200, |noise, SimulatedRun { number, .. }| {
        1.0 + noise.normal() * if number % 4 < 2 { 0.05 } else { 0.01 }
    });
    assert!(matches!(found[..], [Finding::NotNormal { fit }] if fit < 0.95), "{found:?}");
}

#[test]
fn memory_is_bounded_and_time_evenly_covered() {
    let mut noise = TestNoise::seeded(10);
    let mut shape = NoiseShape::default();
    for number in 0..100_000u64 {
        let level = 1.0 + number as f64 / 100_000.0;
        shape.push(level * normal(&mut noise), level * normal(&mut noise), number % 2 == 0);
        assert!(shape.kept.len() <= MOST_PAIRS);
        assert!(number >= 4096 || shape.kept.len() as u64 == number + 1);
    }
    assert!(shape.kept.len() >= MOST_PAIRS / 2);
    assert!(shape.kept.is_sorted_by_key(|pair| pair.number));
    let half = shape.kept.iter().filter(|pair| pair.number < 50_000).count();
    assert!(half.abs_diff(shape.kept.len() / 2) <= 16, "{half}");
    let neighbours = shape.kept.windows(2).filter(|two| two[0].number + 1 == two[1].number);
    assert_eq!(neighbours.count(), shape.kept.len() / 16 * 15);
    let found = shape.findings();
    let [Finding::Drift { change }] = found[..] else { panic!("{found:?}") };
    assert!((change - 11.0 / 7.0 + 1.0).abs() < 0.02, "{change}");
}

#[test]
fn odd_values_make_no_odd_numbers() {
    let odd = [0.0, -1.0, f64::NAN, f64::INFINITY, f64::MAX, 5e-324, 1.0, 1.0 + f64::EPSILON];
    for seed in 0..50 {
        let found = simulate(seed, 40 + seed, |noise, _| odd[(8.0 * noise.uniform()) as usize]);
        let shown = format!("{found:?}");
        assert!(!shown.contains("NaN") && !shown.contains("inf"), "{shown}");
    }
    assert_eq!(NoiseShape::default().findings(), []);
    assert_eq!(
        simulate(1, 11, |noise, SimulatedRun { number, .. }| noise.uniform() + number as f64),
        []
    );
}
