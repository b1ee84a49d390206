//! Effects of the order of the runs.
//!
//! Everything goes by ranks and medians, since the noise of a shared machine has outliers
//! that would hide or feign a difference of means.
//!
//! # References
//!
//! - Wald and Wolfowitz 1943, *An exact test for randomness in the non-parametric
//!   case based on serial correlation*, Ann. Math. Stat. 14:378; on ranks.

use super::log_pair::{CHANCE, LogPair};
use super::ranks::{median, ranks, shift};
use crate::model::Finding;
use crate::stats::quantile;

/// The least effect of the slot, and of the program that ran before.
const SLOT: f64 = 0.005;
/// The least drift of the level. It cancels within pairs, so only a large one matters.
const DRIFT: f64 = 0.05;
/// The least drift of the difference, which does not cancel.
const DIFFERENCE_DRIFT: f64 = 0.01;
/// The least correlation. At 0.2 the variance of a mean is half as large again as
/// independent pairs would have it. A negative one only makes intervals too wide.
const CORRELATION: f64 = 0.2;

pub(super) fn findings(pairs: &[LogPair]) -> Vec<Finding> {
    let Some(critical) = quantile::normal(1.0 - CHANCE / 2.0) else {
        return Vec::new();
    };
    let mut found = Vec::new();
    let drifted = drift(pairs, LogPair::difference, critical)
        .filter(|change| change.abs() >= DIFFERENCE_DRIFT)
        .map(|change| Finding::DifferenceDrift { change });
    // Neighbours in a drift are correlated, so that is not reported too.
    found.extend(drifted.or_else(|| correlation(pairs, critical)));
    found.extend(slot(pairs, critical));
    found.extend(carry_over(pairs, critical));
    found.extend(
        drift(pairs, LogPair::level, critical)
            .filter(|change| change.abs() >= DRIFT)
            .map(|change| Finding::Drift { change }),
    );
    found
}

/// How much longer the second run takes: half of the effect of the order on the
/// differences, which a change between the sides does not affect.
fn slot(pairs: &[LogPair], critical: f64) -> Option<Finding> {
    let [base_first, head_first] = by_order(pairs);
    let z = shift(&head_first, &base_first);
    let effect = ((median(base_first) - median(head_first)) / 2.0).exp_m1();
    (z.abs() >= critical && effect.abs() >= SLOT && effect.is_finite())
        .then_some(Finding::Slot { effect, z })
}

/// The differences of the pairs whose base ran first, and of the others.
fn by_order(pairs: &[LogPair]) -> [Vec<f64>; 2] {
    [true, false].map(|first| {
        let of_order = pairs.iter().filter(|pair| pair.base_first == first);
        of_order.map(LogPair::difference).collect()
    })
}

/// How much longer a run takes right after the head than right after the base: what the last run
/// of the previous pair does to the first of this one. After the second run there is always the
/// same program as before it, which the medians of both orders take away.
fn carry_over(pairs: &[LogPair], critical: f64) -> Option<Finding> {
    let [base_first, head_first] = by_order(pairs).map(median);
    let (mut after_base, mut after_head) = (Vec::new(), Vec::new());
    for two in pairs.windows(2).filter(|two| two[0].number + 1 == two[1].number) {
        // The program that ran second in the previous pair ran last.
        let after = if two[0].base_first { &mut after_head } else { &mut after_base };
        after.push(match two[1].base_first {
            true => base_first - two[1].difference(),
            false => two[1].difference() - head_first,
        });
    }
    let z = shift(&after_base, &after_head);
    let effect = (median(after_head) - median(after_base)).exp_m1();
    (z.abs() >= critical && effect.abs() >= SLOT && effect.is_finite())
        .then_some(Finding::CarryOver { effect, z })
}

/// The change from the first third to the last, if it is significant.
fn drift(pairs: &[LogPair], value: impl Fn(&LogPair) -> f64, critical: f64) -> Option<f64> {
    let third = pairs.len() / 3;
    let first: Vec<f64> = pairs[..third].iter().map(&value).collect();
    let last: Vec<f64> = pairs[pairs.len() - third..].iter().map(&value).collect();
    let z = shift(&first, &last);
    let change = (median(last) - median(first)).exp_m1();
    (z.abs() >= critical && change.is_finite()).then_some(change)
}

/// The correlation of neighbours, corrected for the effect of the slot.
fn correlation(pairs: &[LogPair], critical: f64) -> Option<Finding> {
    let [base_first, head_first] = by_order(pairs).map(median);
    let centre = |pair: &LogPair| if pair.base_first { base_first } else { head_first };
    let values: Vec<f64> = pairs.iter().map(|pair| pair.difference() - centre(pair)).collect();
    let (ranks, _) = ranks(&values);
    let count = pairs.len() as f64;
    let middle = (count + 1.0) / 2.0;
    let squares: f64 = ranks.iter().map(|rank| (rank - middle) * (rank - middle)).sum();
    let mut products = 0.0;
    let mut neighbours = 0.0;
    for place in 1..pairs.len() {
        if pairs[place].number == pairs[place - 1].number + 1 {
            products += (ranks[place - 1] - middle) * (ranks[place] - middle);
            neighbours += 1.0;
        }
    }
    if !(squares > 0.0 && neighbours > 0.0) {
        return None;
    }
    // In random order its expectation is -1/n, and its deviation a little below
    // 1/sqrt(n).
    let correlation = products / neighbours / (squares / count);
    let z = (correlation + 1.0 / count) * f64::sqrt(neighbours);
    (z >= critical && correlation >= CORRELATION).then_some(Finding::Correlated { correlation })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Pairs whose base never changes.
    fn log_pairs(heads: impl Iterator<Item = (u64, f64, bool)>) -> Vec<LogPair> {
        heads
            .map(|(number, head, base_first)| LogPair { number, base: 0.0, head, base_first })
            .collect()
    }

    #[test]
    fn the_slot_is_half_of_what_the_order_makes_of_the_difference() {
        let found = |pairs: u64, effect: f64| {
            let sign = |number: u64| if number.is_multiple_of(2) { 1.0 } else { -1.0 };
            let head =
                |i: u64| (i, 0.3 + sign(i) * effect + 1e-4 * (i % 7) as f64, i.is_multiple_of(2));
            slot(&log_pairs((0..pairs).map(head)), 3.29)
        };
        let Some(Finding::Slot { effect, z }) = found(100, 0.02) else { panic!("no slot") };
        assert!((effect - 0.02f64.exp_m1()).abs() < 1e-3, "{effect}");
        // All 50 of the one kind are above all 50 of the other.
        assert!((z - 1249.5 / (2500.0 / 12.0 * 101.0f64).sqrt()).abs() < 0.05, "{z}");
        let faster = found(100, -0.02);
        assert!(matches!(faster, Some(Finding::Slot { effect, z }) if effect < -0.019 && z < -8.0));
        // Half a per cent is none, nor are ten pairs evidence.
        assert!(found(100, 0.0049).is_none() && found(100, 0.0052).is_some());
        assert!(found(10, 0.02).is_none());
    }

    #[test]
    fn a_drift_goes_from_the_first_third_to_the_last() {
        let found = |count: u64, step: f64| {
            // The middle third does not count.
            let level = |i: u64| match 3 * i / count {
                0 => 0.1,
                1 => 7.0 * (i % 2) as f64,
                _ => 0.1 + step,
            };
            let head = |i: u64| (i, level(i) + 1e-5 * (i % 5) as f64, i.is_multiple_of(2));
            drift(&log_pairs((0..count).map(head)), LogPair::difference, 3.29)
        };
        for step in [0.04, -0.3] {
            assert!((found(90, step).unwrap() - f64::exp_m1(step)).abs() < 1e-12, "{step}");
        }
        assert_eq!(found(12, 0.3), None);
    }

    #[test]
    fn small_drifts_are_named_for_the_difference_and_not_for_the_level() {
        let found = |base: f64, head: f64| {
            let pair = |number: u64| {
                let (slow, noise) = (number as f64 / 60.0, 1e-5 * ((number * 7) % 11) as f64);
                let base_first = (number / 2 + number).is_multiple_of(2);
                LogPair { number, base: base * slow, head: head * slow + noise, base_first }
            };
            findings(&(0..60).map(pair).collect::<Vec<_>>())
        };
        // From third to third it is two thirds of the whole way.
        let both = found(0.09, 0.09);
        assert!(
            matches!(both[..], [Finding::Drift { change }] if (change - 0.06).abs() < 0.005),
            "{both:?}"
        );
        assert_eq!(found(0.06, 0.06), []);
        let one = found(0.0, 0.03);
        assert!(
            matches!(one[..], [Finding::DifferenceDrift { change }] if (change - 0.02).abs() < 0.002),
            "{one:?}"
        );
    }

    #[test]
    fn neighbours_are_those_of_the_whole_order() {
        // Four pairs high, four low: of 8 neighbours 6 are alike, and between high and
        // low are three quarters of the ranks' variance.
        let alike = |numbers: fn(u64) -> u64, length: u64| {
            let head = |i: u64| {
                let sign = if (i / length).is_multiple_of(2) { 1.0 } else { -1.0 };
                (numbers(i), sign * (1.0 + 0.01 * (i % 3) as f64), (i / 2 + i).is_multiple_of(2))
            };
            correlation(&log_pairs((0..240).map(head)), 3.29)
        };
        let Some(Finding::Correlated { correlation }) = alike(|i| i, 4) else { panic!("alike") };
        assert!((correlation - 0.5 * 0.75).abs() < 0.05, "{correlation}");
        assert_eq!(alike(|i| i, 1), None);
        // What was given up between two of them leaves no neighbours.
        assert_eq!(alike(|i| 2 * i, 4), None);
        // What the slot does to each is taken away first.
        let slotted = |slot: f64| {
            let pair = |i: u64| {
                let (base_first, high) = ((i / 2 + i).is_multiple_of(2), (i / 4).is_multiple_of(2));
                let level = f64::from(u8::from(high)) + slot * f64::from(u8::from(base_first));
                (i, level + 0.001 * ((i * i) % 29) as f64, base_first)
            };
            match super::correlation(&log_pairs((0..240).map(pair)), 3.29) {
                Some(Finding::Correlated { correlation }) => correlation,
                other => panic!("{other:?}"),
            }
        };
        let (without, with) = (slotted(0.0), slotted(0.7));
        assert!((without - with).abs() < 0.02, "{without} {with}");
        let halves = alike(|i| i + i / 2, 4);
        assert!(halves.is_some());
    }
}
