//! Tests with more pairs than are kept one by one.

use super::running::EstimatorSums;
use super::*;
use crate::stats::noise::TestNoise;

const ROOM: usize = 1 << 8;

/// An estimator that keeps only [`ROOM`] values one by one.
fn in_little_room(mut running: Running) -> Running {
    let ranks = match &mut running.sums {
        EstimatorSums::Robust(sums) => &mut sums.typical,
        EstimatorSums::Median(sums) => sums,
        other => panic!("{other:?}"),
    };
    for sketch in [&mut ranks.base, &mut ranks.head, &mut ranks.changes] {
        sketch.most = ROOM;
    }
    running
}

fn running(estimator: Estimator, direction: Better, threshold: f64) -> Running {
    let mut running = Running::new(estimator, direction, Levels::new(0.95, 1));
    running.track(threshold);
    running
}

/// Noise that needs thousands of pairs for a verdict. It depends on the round: uniform,
/// of whole numbers, with a tail, or with a change on the way.
fn pair(noise: &mut TestNoise, round: usize, number: usize) -> (f64, f64) {
    let (base, head) = (1.0 + 0.2 * noise.uniform(), 1.017 + 0.2 * noise.uniform());
    match round % 4 {
        0 => (base, head),
        1 => ((50.0 * base).round(), (50.0 * head).round()),
        2 => (base, if noise.uniform() < 0.03 { 1.6 * head } else { head }),
        _ => (base, if number < 750 { 1.002 * head } else { head }),
    }
}

#[test]
fn verdicts_come_with_the_same_pair_as_of_all_values() {
    let mut noise = TestNoise::seeded(61);
    let (mut decided, mut late) = (0, 0);
    // Each kind of noise with each estimator and each direction.
    for round in 0..16 {
        let estimator = [Estimator::Robust, Estimator::Median][round / 8];
        let direction = [Better::Lower, Better::Higher][round / 4 % 2];
        let threshold = [0.02, 0.016][(round + round / 4 + round / 8) % 2];
        let mut whole = running(estimator, direction, threshold);
        let mut short = in_little_room(running(estimator, direction, threshold));
        for number in 0..2500 {
            let (better, worse) = pair(&mut noise, round, number);
            let (base, head) = match direction {
                Better::Lower => (better, worse),
                Better::Higher => (worse, better),
            };
            whole.push(base, head);
            short.push(base, head);
            assert_eq!(short.decide(threshold), whole.decide(threshold), "{round}: {number}");
            assert_eq!(short.ties(threshold), whole.ties(threshold), "{round}: {number}");
            if number % 250 == 249 {
                let (all, few) = (whole.held_against(threshold), short.held_against(threshold));
                // A bound that is searched is exact to a part of its distance.
                let part = 0.01 * (all.upper.unwrap() - all.lower.unwrap());
                let (lower, upper) = (few.lower.unwrap() - part, few.upper.unwrap() + part);
                assert!(lower <= all.lower.unwrap(), "{round}: {few:?} {all:?}");
                assert!(upper >= all.upper.unwrap(), "{round}: {few:?} {all:?}");
                assert!((few.change.unwrap() - all.change.unwrap()).abs() < 0.002, "{round}");
            }
            if whole.decide(threshold).is_some() {
                decided += 1;
                late += usize::from(number > ROOM);
                break;
            }
        }
    }
    assert!(decided > 4 && late > 2, "{decided} {late}");
}

#[test]
fn sides_turned_round_and_other_units_change_nothing() {
    let mut noise = TestNoise::seeded(62);
    for estimator in [Estimator::Robust, Estimator::Median] {
        let mut plain = in_little_room(running(estimator, Better::Lower, 0.02));
        let mut scaled = in_little_room(running(estimator, Better::Lower, 0.02));
        let mut turned = in_little_room(running(estimator, Better::Higher, 0.02));
        for number in 0..4000 {
            let (base, head) = pair(&mut noise, 0, number);
            plain.push(base, head);
            // A power of two loses no digit.
            scaled.push(1024.0 * base, 1024.0 * head);
            turned.push(head, base);
            if number % 200 != 0 {
                continue;
            }
            let (one, other) = (plain.summary(), scaled.summary());
            assert_eq!(
                (one.change, one.lower, one.upper),
                (other.change, other.lower, other.upper)
            );
            assert_eq!(plain.decide(0.02), turned.decide(0.02));
            let mirrored = |end: Option<f64>| end.map(|end| 1.0 / (1.0 + end) - 1.0);
            let (lower, upper) =
                (mirrored(turned.summary().upper), mirrored(turned.summary().lower));
            for (end, mirror) in [(one.lower, lower), (one.upper, upper)] {
                assert_eq!(end.is_some(), mirror.is_some());
                assert!(end.is_none_or(|end| (end - mirror.unwrap()).abs() < 1e-9), "{number}");
            }
        }
    }
}
