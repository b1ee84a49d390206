//! Properties of the statistics, for any numbers.

use cargo_cbdr::model::estimator::Estimator;
use cargo_cbdr::model::metric::Better;
use cargo_cbdr::model::outcome::Summary;
use cargo_cbdr::stats::estimator::{Levels, Running};

use crate::support::Random;

const ALL: [Estimator; 5] = [
    Estimator::Robust,
    Estimator::Mean,
    Estimator::GeometricMean,
    Estimator::Median,
    Estimator::Min,
];

/// Pairs with a common trend, a change of up to ±30 %, noise of up to 20 %
/// and now and then a much slower run.
fn pairs(random: &mut Random) -> Vec<(f64, f64)> {
    let change = 0.7 + 0.6 * random.unit();
    let noise = 0.2 * random.unit();
    let size = 10f64.powf(12.0 * random.unit() - 9.0);
    // Odd, so that a median is one of the values.
    let count = 2 * random.below(60) + 7;
    let one = |random: &mut Random| {
        let tail = if random.below(20) == 0 { 4.0 } else { 1.0 };
        (1.0 + noise * (random.unit() - 0.5)) * tail
    };
    let pair = |number| {
        let trend = size * (1.0 + number as f64 / 100.0);
        (trend * one(random), trend * change * one(random))
    };
    (0..count).map(pair).collect()
}

fn summary(estimator: Estimator, pairs: impl IntoIterator<Item = (f64, f64)>) -> Summary {
    // The same for both verdicts, so that the sides can change places.
    let levels = Levels::new(0.95, 1).whole();
    let mut running = Running::new(estimator, Better::Lower, levels);
    pairs.into_iter().for_each(|(base, head)| running.push(base, head));
    running.summary()
}

#[track_caller]
fn assert_close(one: Option<f64>, other: Option<f64>, about: &str) {
    match (one, other) {
        (Some(one), Some(other)) => {
            let off = (one - other).abs() / one.abs().max(1.0);
            assert!(off < 1e-9, "{about}: {one} is not {other}");
        }
        _ => assert_eq!(one, other, "{about}"),
    }
}

/// Calls `check` with many sets of pairs and every one of `estimators`.
fn each(estimators: &[Estimator], seed: u64, check: impl Fn(Estimator, &[(f64, f64)], &str)) {
    let mut random = Random::new(seed);
    for round in 0..100 {
        let pairs = pairs(&mut random);
        for estimator in estimators {
            check(*estimator, &pairs, &format!("{}, round {round}", estimator.name()));
        }
    }
}

#[test]
fn another_unit_changes_no_ratio() {
    each(&ALL, 1, |estimator, pairs, about| {
        let one = summary(estimator, pairs.iter().copied());
        for unit in [1e-3, 7.0, 1e9] {
            let scaled = pairs.iter().map(|(base, head)| (base * unit, head * unit));
            let other = summary(estimator, scaled);
            assert_close(one.change, other.change, about);
            assert_close(one.lower, other.lower, about);
            assert_close(one.upper, other.upper, about);
            assert_close(one.base.map(|base| base * unit), other.base, about);
        }
    });
}

#[test]
fn sides_that_change_places_mirror_the_interval() {
    // The robust estimator guards against the tail of one side only.
    let symmetric = [Estimator::Mean, Estimator::GeometricMean, Estimator::Median];
    each(&symmetric, 2, |estimator, pairs, about| {
        let one = summary(estimator, pairs.iter().copied());
        let other = summary(estimator, pairs.iter().map(|(base, head)| (*head, *base)));
        let mirror = |change: Option<f64>| change.map(|change| 1.0 / (1.0 + change) - 1.0);
        assert_close(one.change, mirror(other.change), about);
        // No upper bound on one side is a lower bound of -1 on the other.
        let lower = |summary: Summary| summary.lower.filter(|lower| *lower > -1.0);
        assert_close(lower(one), mirror(other.upper).filter(|lower| *lower > -1.0), about);
        assert_close(one.upper, mirror(lower(other)), about);
        let changed = one.base.zip(one.change).map(|(base, change)| base * (1.0 + change));
        assert_close(one.head, changed, about);
    });
}

#[test]
fn the_order_of_the_pairs_says_nothing() {
    each(&ALL, 3, |estimator, pairs, about| {
        let one = summary(estimator, pairs.iter().copied());
        let mut random = Random::new(pairs.len() as u64);
        let mut shuffled = pairs.to_vec();
        for last in (1..shuffled.len()).rev() {
            shuffled.swap(last, random.below(last as u64 + 1) as usize);
        }
        let other = summary(estimator, shuffled);
        assert_close(one.change, other.change, about);
        // Bets depend on what was seen before, and so do their bounds.
        if estimator != Estimator::Robust {
            assert_close(one.lower, other.lower, about);
            assert_close(one.upper, other.upper, about);
        }
    });
}
