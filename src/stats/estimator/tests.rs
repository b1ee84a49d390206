//! What all estimators promise alike.

use super::{Decision, Levels, Running};
use crate::model::{Better, Estimator};
use crate::stats::sequential::{ln_evidence, ln_needed, ln_sign_evidence};
use crate::stats::tests::TestNoise;

use Better::{Higher, Lower};

const BOTH: [Better; 2] = [Lower, Higher];

fn running(estimator: Estimator, direction: Better, questions: usize) -> Running {
    Running::new(estimator, direction, Levels::new(0.95, questions))
}

fn filled(estimator: Estimator, direction: Better, pairs: &[(f64, f64)]) -> Running {
    let mut running = running(estimator, direction, 1);
    for (base, head) in pairs {
        running.push(*base, *head);
    }
    running
}

/// The evidence at the threshold itself and its side, from raw sums: the naive
/// twin of the bounds. `worse` and `better` are head and base, or base and head.
fn direct(estimator: Estimator, pairs: &[(f64, f64)], threshold: f64, level: f64) -> (f64, f64) {
    let difference = |(better, worse): &(f64, f64)| match estimator {
        Estimator::GeometricMean => (worse / better).ln() - (1.0 + threshold).ln(),
        _ => worse - (1.0 + threshold) * better,
    };
    let n = pairs.len() as f64;
    let d: Vec<f64> = pairs.iter().map(difference).collect();
    if estimator == Estimator::Median {
        let above = d.iter().filter(|d| **d > 0.0).count() as f64;
        let below = d.iter().filter(|d| **d < 0.0).count() as f64;
        return (ln_sign_evidence(above, below), above - below);
    }
    let sum: f64 = d.iter().sum();
    let squares: f64 = d.iter().map(|d| d * d).sum();
    let share = (sum * sum / (n * squares)).min(1.0);
    (ln_evidence(pairs.len() as u64, share, ln_needed(level).unwrap()), sum)
}

/// The bets: how steep each is, what it stakes, and what it begins with for an alarm and for
/// an all-clear.
const BETS: [[f64; 4]; 8] = [
    [0.0625, 0.9999, 0.02, 0.03],
    [0.125, 0.9999, 0.08, 0.15],
    [0.25, 0.9999, 0.06, 0.15],
    [1.0, 0.5, 0.2, 0.22],
    [4.0, 0.25, 0.05, 0.12],
    [4.0, 0.5, 0.12, 0.18],
    [4.0, 0.75, 0.2, 0.1],
    [4.0, 0.9999, 0.27, 0.05],
];

/// Whether the capital that bets on the differences, which are positive where it wins,
/// ever reaches `1/level`. `column` has what the bets begin with.
fn bets_win(differences: &[f64], level: f64, column: usize) -> bool {
    let mut shares: Vec<f64> = BETS.iter().map(|bet| bet[column]).collect();
    let (mut capital, mut scale, mut renewal) = (1.0, 0.0, 0);
    for (n, z) in differences.iter().enumerate() {
        if n >= renewal {
            let sizes = crate::stats::empirical::sorted(differences[..n].iter().map(|z| z.abs()));
            scale = sizes.get(n / 2).copied().unwrap_or(0.0);
            renewal = n + 1 + n / 25;
        }
        let bet = |[slope, stake, ..]: [f64; 4]| match *z == 0.0 || slope < 1.0 && n < 3 {
            true => 0.0,
            false => stake * (slope * z / scale).tanh(),
        };
        let total: f64 = shares.iter().zip(BETS).map(|(share, one)| share * bet(one)).sum();
        for (share, one) in shares.iter_mut().zip(BETS) {
            *share *= (1.0 + bet(one)) / (1.0 + total);
        }
        let room = (1.0 / level / capital - 1.0).max(0.0);
        capital *= 1.0 + total.max(-room).min(room);
        if capital >= (1.0 - 1e-9) / level {
            return true;
        }
    }
    false
}

/// The twin of [`Estimator::Robust`]: alarm by either, all-clear by both.
fn directly_robust(pairs: &[(f64, f64)], threshold: f64, levels: Levels) -> Option<Decision> {
    let changes: Vec<f64> = pairs.iter().map(|(better, worse)| worse / better - 1.0).collect();
    let sorted = crate::stats::empirical::sorted(changes.iter().copied());
    let median = crate::stats::empirical::median(&sorted).unwrap();
    let z: Vec<f64> = changes.iter().map(|one| one.ln_1p() - threshold.ln_1p()).collect();
    let against: Vec<f64> = z.iter().map(|z| -z).collect();
    let above = bets_win(&z, 0.8 * levels.alarm, 2);
    let below = bets_win(&against, levels.clear, 3);
    let ratio = 1.0 + 3.0 * threshold;
    let mut guards = [1.0; 5];
    let mut tail = false;
    for (n, (better, worse)) in pairs.iter().enumerate().skip(1) {
        let mean = pairs[..n].iter().map(|(better, _)| better).sum::<f64>() / n as f64;
        for (guard, slope) in guards.iter_mut().zip([0.25, 0.5, 1.0, 2.0, 4.0]) {
            *guard *= 1.0 + 0.9999 * (slope * (worse - ratio * better) / mean).tanh();
        }
        tail |= guards.iter().sum::<f64>() / 5.0 >= 5.0 / levels.alarm;
    }
    let sums = pairs.iter().fold((0.0, 0.0), |sums, pair| (sums.0 + pair.0, sums.1 + pair.1));
    let (evidence, sum) = direct(Estimator::Mean, pairs, 3.0 * threshold, levels.clear);
    let seen = pairs.len() >= 14 && sum < 0.0 && evidence.exp() >= 0.5 / levels.clear;
    if median > threshold && above || tail && sums.1 / sums.0 > ratio {
        Some(Decision::Regression)
    } else if median < threshold && below && seen {
        Some(Decision::NoRegression)
    } else {
        None
    }
}

fn directly(
    estimator: Estimator,
    pairs: &[(f64, f64)],
    threshold: f64,
    levels: Levels,
) -> Option<Decision> {
    if estimator == Estimator::Robust {
        return directly_robust(pairs, threshold, levels);
    }
    let (alarm, sum) = direct(estimator, pairs, threshold, levels.alarm);
    let (clear, _) = direct(estimator, pairs, threshold, levels.clear);
    if sum > 0.0 && alarm >= ln_needed(levels.alarm).unwrap() {
        Some(Decision::Regression)
    } else if sum < 0.0 && clear >= ln_needed(levels.clear).unwrap() {
        Some(Decision::NoRegression)
    } else {
        None
    }
}

#[test]
fn deciding_by_the_bounds_is_deciding_by_the_evidence() {
    let mut noise = TestNoise::seeded(21);
    let mut decided = 0;
    for round in 0..120 {
        let estimator = Estimator::ALL[round % 5];
        let direction = BOTH[round / 5 % 2];
        let questions = 1 + 6 * (round / 10 % 2);
        let spread = 0.005 * (40.0 * noise.uniform()).max(1.0);
        let effect = 1.0 + 0.3 * (noise.uniform() - 0.5);
        let threshold = 0.1 * noise.uniform();
        let mut running = running(estimator, direction, questions);
        let mut pairs = Vec::new();
        for _ in 0..60 {
            let shared = 7e-3 * (spread * noise.normal()).exp();
            let base = shared * (spread * noise.normal()).exp();
            let head = effect * shared * (spread * noise.normal()).exp();
            running.push(base, head);
            pairs.push(if direction == Lower { (base, head) } else { (head, base) });
            let expected = directly(estimator, &pairs, threshold, Levels::new(0.95, questions));
            let actual = running.decide(threshold);
            assert_eq!(actual, expected, "{estimator} {direction:?}, round {round}");
            decided += usize::from(actual.is_some());
        }
    }
    assert!(decided > 1_000, "{decided}");
}

#[test]
fn the_bounds_say_what_the_verdict_says() {
    let mut noise = TestNoise::seeded(26);
    let mut decided = 0;
    for round in 0..60 {
        let direction = BOTH[round / 5 % 2];
        let mut running = running(Estimator::ALL[round % 5], direction, 1 + round % 3);
        let (threshold, tail) = (0.1 * noise.uniform(), noise.uniform());
        for _ in 0..40 {
            let slow = if noise.uniform() < 0.1 { 1.0 + tail } else { 1.0 };
            running.push(1.0 + 0.02 * noise.normal(), slow * (1.03 + 0.02 * noise.normal()));
            let summary = running.held_against(threshold);
            let critical = direction.critical_change(threshold).unwrap();
            let above = summary.lower.is_some_and(|end| end > critical);
            let below = summary.upper.is_some_and(|end| end < critical);
            let expected = match (direction, above, below) {
                (_, false, false) => None,
                (Lower, true, _) | (Higher, false, _) => Some(Decision::Regression),
                _ => Some(Decision::NoRegression),
            };
            assert_eq!(running.decide(threshold), expected, "{round} {summary:?}");
            decided += usize::from(expected.is_some());
        }
    }
    assert!(decided > 400, "{decided}");
}

#[test]
fn a_tail_that_cannot_have_shown_itself_holds_back_only_the_all_clear() {
    let same: Vec<(f64, f64)> = (0..13).map(|i| (1.0, 1.0 + 0.001 * f64::from(i % 3))).collect();
    for direction in BOTH {
        let running = filled(Estimator::Robust, direction, &same);
        assert_eq!(running.decide(0.02), None);
        let held = running.held_against(0.02);
        assert!(held.lower.is_none() || held.upper.is_none(), "{held:?}");
        // What alone would say nothing of the threshold is shown.
        let summary = running.summary();
        assert_eq!(running.held_against(-0.05), summary);
        assert!(summary.lower.is_some() && summary.upper.is_some(), "{summary:?}");
    }
    let slower: Vec<(f64, f64)> = same.iter().map(|&(base, head)| (base, 1.3 * head)).collect();
    let running = filled(Estimator::Robust, Lower, &slower);
    assert_eq!(running.decide(0.02), Some(Decision::Regression));
    assert!(running.held_against(0.02).upper.is_some_and(|end| end < 0.4));
}

#[test]
fn a_slow_tail_is_a_regression_though_the_typical_run_is_not_slower() {
    let pairs: Vec<(f64, f64)> = (0..200)
        .map(|i| (1.0 + 0.001 * f64::from(i % 7), 1.0 + 0.001 * f64::from(i % 5)))
        .enumerate()
        .map(|(i, (base, head))| (base, if i % 4 == 1 { 2.0 * head } else { head }))
        .collect();
    let robust = filled(Estimator::Robust, Lower, &pairs);
    let summary = robust.summary();
    assert_eq!(robust.decide(0.02), Some(Decision::Regression));
    assert!((summary.change.unwrap() - 0.25 / 3.0).abs() < 0.005, "{summary:?}");
    let median = filled(Estimator::Median, Lower, &pairs);
    assert!(summary.lower.unwrap() > 0.02 && robust.overruled() == median.summary().change);
    assert_eq!(median.decide(0.02), Some(Decision::NoRegression));
}

#[test]
fn the_estimate_lies_between_its_bounds() {
    let mut noise = TestNoise::seeded(22);
    for round in 0..90 {
        let mut running = running(Estimator::ALL[round % 5], BOTH[round / 5 % 2], 3);
        let offset = [0.01, 1.0, 1e9][round % 3];
        for _ in 0..40 {
            running.push(offset + noise.uniform(), offset + noise.uniform());
            let summary = running.summary();
            let change = summary.change.unwrap();
            assert!(summary.lower.is_none_or(|lower| lower <= change));
            assert!(summary.upper.is_none_or(|upper| upper >= change));
            assert!(summary.base.unwrap().is_finite() && summary.head.unwrap().is_finite());
        }
    }
}

#[test]
fn a_higher_is_better_metric_is_the_reciprocal_of_a_lower_is_better_one() {
    let mut noise = TestNoise::seeded(23);
    for estimator in Estimator::ALL {
        let mut lower = running(estimator, Lower, 2);
        let mut higher = running(estimator, Higher, 2);
        for _ in 0..50 {
            let (x, y) = (1.0 + 0.1 * noise.uniform(), 1.03 + 0.1 * noise.uniform());
            lower.push(x, y);
            higher.push(y, x);
            assert_eq!(lower.decide(0.03), higher.decide(0.03));
            let (one, other) = (lower.summary(), higher.summary());
            for (end, opposite) in [(one.lower, other.upper), (one.upper, other.lower)] {
                let mirrored = opposite.map(|end| 1.0 / (1.0 + end) - 1.0);
                match (end, mirrored) {
                    // A set that reaches zero one way is unbounded the other way.
                    (None, _) | (_, None) => {}
                    (Some(a), Some(b)) => assert!((a - b).abs() < 1e-9, "{estimator} {a} {b}"),
                }
            }
        }
    }
}

#[test]
fn equal_constants_are_cleared_with_the_least_pairs() {
    for (estimator, value) in [
        (Estimator::Robust, 5.0),
        (Estimator::Robust, 0.0),
        (Estimator::Mean, 5.0),
        (Estimator::GeometricMean, 5.0),
        (Estimator::Median, 5.0),
        (Estimator::Min, 0.1),
        (Estimator::Mean, 0.0),
        (Estimator::Median, 0.0),
    ] {
        for direction in BOTH {
            let least = match estimator {
                // An alarm needs fewer, but before these no tail would have shown itself.
                Estimator::Robust => 14,
                other => other.least_pairs(Levels::new(0.95, 1)).unwrap() as usize,
            };
            let pairs = vec![(value, value); least];
            let early = filled(estimator, direction, &pairs[1..]);
            assert_eq!(early.decide(0.02), None, "{estimator} {value}");
            let summary = early.summary();
            if estimator != Estimator::Robust {
                assert_eq!((summary.lower, summary.upper), (None, None));
            }
            let running = filled(estimator, direction, &pairs);
            assert_eq!(running.decide(0.02), Some(Decision::NoRegression));
            assert_eq!(running.decide(0.0), Some(Decision::NoRegression), "it is at most that");
            assert_eq!(running.decide(-1e-9), Some(Decision::Regression));
            let summary = running.summary();
            for change in [summary.change, summary.lower, summary.upper] {
                assert!(change.unwrap().abs() < 1e-13, "{summary:?}");
            }
        }
    }
}

#[test]
fn from_zero_to_something_is_a_regression_without_a_number() {
    for estimator in [Estimator::Robust, Estimator::Mean, Estimator::Median] {
        let grown = filled(estimator, Lower, &[(0.0, 3.0); 14]);
        assert_eq!(grown.decide(0.02), Some(Decision::Regression));
        let summary = grown.summary();
        assert_eq!((summary.base, summary.head), (Some(0.0), Some(3.0)));
        assert_eq!((summary.change, summary.upper), (None, None));
        assert_eq!(summary.lower, Some(f64::INFINITY));

        let gone = filled(estimator, Lower, &[(3.0, 0.0); 14]);
        assert_eq!(gone.decide(0.02), Some(Decision::NoRegression));
        assert_eq!(gone.summary().change, Some(-1.0));
        assert!((gone.summary().upper.unwrap() + 1.0).abs() < 1e-13);

        let lost = filled(estimator, Higher, &[(3.0, 0.0); 14]);
        assert_eq!(lost.decide(0.02), Some(Decision::Regression));
        assert_eq!(lost.summary().change, Some(-1.0));
        assert!((lost.summary().upper.unwrap() + 1.0).abs() < 1e-13);
        let won = filled(estimator, Higher, &[(0.0, 3.0); 14]);
        assert_eq!(won.decide(0.02), Some(Decision::NoRegression));
    }
}

#[test]
fn a_change_that_equals_the_threshold_is_no_regression() {
    for estimator in Estimator::ALL {
        let running = filled(estimator, Lower, &[(100.0, 102.0); 40]);
        assert_eq!(running.decide(0.02), Some(Decision::NoRegression), "{estimator}");
        assert_eq!(running.decide(0.0199), Some(Decision::Regression));
        assert_eq!(running.decide(0.0201), Some(Decision::NoRegression));
    }
    let ties = filled(Estimator::Median, Lower, &[(100.0, 102.0), (100.0, 101.0)]);
    assert_eq!((ties.ties(0.02), ties.ties(0.0)), (1, 0));
    // Where there is nothing else, each pair is one.
    for (direction, pair) in [(Lower, (4.0, 5.0)), (Higher, (5.0, 4.0))] {
        let ties = |estimator| filled(estimator, direction, &[pair; 3]).ties(0.25);
        assert_eq!([Estimator::Robust, Estimator::Median, Estimator::Mean].map(ties), [3, 3, 0]);
        let none = filled(Estimator::Robust, direction, &[pair; 3]);
        assert_eq!((none.ties(0.2), none.ties(0.3), none.ties(-1.0)), (0, 0, 0));
    }
}

#[test]
fn an_offset_of_a_billion_changes_nothing() {
    let mut noise = TestNoise::seeded(24);
    let pairs: Vec<(f64, f64)> = (0..50).map(|_| (noise.normal(), noise.normal())).collect();
    let far: Vec<_> = pairs.iter().map(|(x, y)| (1e9 + x, 1e9 + y)).collect();
    for estimator in Estimator::ALL {
        let summary = filled(estimator, Lower, &far).summary();
        // The members' deviation is 1, so that of 50 differences' mean is 0.2.
        let width = (summary.upper.unwrap() - summary.lower.unwrap()) * 1e9;
        assert!((0.8..1.6).contains(&width), "{estimator} {width}");
    }
}

#[test]
fn what_is_outside_the_domain_says_nothing() {
    for (estimator, value) in [
        (Estimator::Mean, f64::NAN),
        (Estimator::Mean, f64::INFINITY),
        (Estimator::Median, -1.0),
        (Estimator::GeometricMean, 0.0),
        (Estimator::Min, f64::NEG_INFINITY),
    ] {
        let mut running = filled(estimator, Lower, &[(1.0, 3.0); 20]);
        running.push(value, 1.0);
        assert_eq!((running.pairs(), running.decide(0.02)), (21, None));
        let summary = running.summary();
        assert_eq!((summary.base, summary.change, summary.lower), (None, None, None));
    }
    let huge = filled(Estimator::Mean, Lower, &[(1e300, 1.1e300), (1e300, 1e300)]);
    assert_eq!(huge.summary().lower, None);
    assert_eq!(huge.decide(f64::NAN), None);
}

#[test]
fn a_set_in_two_parts_bounds_nothing_and_decides_nothing() {
    // The outlier lies on the line y = 3 x: three times is refuted, twice is not.
    let mut pairs = vec![(0.0, 1.0); 20];
    pairs.push((1000.0, 3000.0));
    let running = filled(Estimator::Mean, Lower, &pairs);
    let summary = running.summary();
    assert_eq!((summary.lower, summary.upper), (None, None));
    assert_eq!(running.decide(2.0), None);
}

/// The share of wrong verdicts where the change is exactly the threshold: of
/// alarms and of all-clears.
fn wrong(
    noise: &mut TestNoise,
    estimator: Estimator,
    direction: Better,
    (runs, pairs): (u32, u32),
) -> (f64, f64) {
    let (mut alarms, mut clears) = (0, 0);
    for _ in 0..runs {
        let mut running = running(estimator, direction, 1);
        for _ in 0..pairs {
            let better = 1.0 + 0.03 * noise.normal();
            let worse = 1.02 * (1.0 + 0.03 * noise.normal());
            match direction {
                Lower => running.push(better, worse),
                Higher => running.push(worse, better),
            }
            match running.decide(0.02) {
                None => continue,
                Some(Decision::Regression) => alarms += 1,
                Some(Decision::NoRegression) => clears += 1,
            }
            break;
        }
    }
    (f64::from(alarms) / f64::from(runs), f64::from(clears) / f64::from(runs))
}

#[test]
fn at_the_threshold_a_verdict_is_as_rare_as_promised() {
    let mut noise = TestNoise::seeded(25);
    for (estimator, size) in [(Estimator::Mean, (500, 300)), (Estimator::Median, (250, 300))] {
        let bound = 0.05 + 3.0 * (0.05 * 0.95 / f64::from(size.0)).sqrt();
        for direction in BOTH {
            let (alarms, clears) = wrong(&mut noise, estimator, direction, size);
            assert!(alarms <= bound, "{estimator} {direction:?}: {alarms}");
            assert!(clears <= bound, "{estimator} {direction:?}: {clears}");
            assert!(alarms + clears > 0.02, "{estimator} {direction:?}: it never looks");
        }
    }
}

#[test]
fn the_least_pairs_are_those_of_the_easier_verdict() {
    for tests in [1, 20] {
        let levels = Levels::new(0.95, tests);
        assert_eq!(Estimator::Mean.least_pairs(levels), Some(8));
        assert_eq!(Estimator::Median.least_pairs(levels), Some(6));
        assert!(Estimator::Robust.least_pairs(levels).is_some_and(|n| n <= 14));
    }
    assert_eq!(Estimator::Mean.least_pairs(Levels::new(0.3, 1)), None);
    assert_eq!(Estimator::Median.least_pairs(Levels::new(1.0, 1)), None);
}
