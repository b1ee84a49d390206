//! What the order of the runs does to them.
//!
//! Everything goes by ranks and medians: the noise of a shared machine has outliers
//! that would hide or feign a difference of means.
//!
//! # References
//!
//! - Wald and Wolfowitz 1943, *An exact test for randomness in the non-parametric
//!   case based on serial correlation*, Ann. Math. Stat. 14:378; on ranks.

use super::ranks::{median, ranks, shift};
use super::{CHANCE, Entry, Finding};
use crate::stats::quantile;

/// The least effect of the slot.
const SLOT: f64 = 0.005;
/// The least drift of the level. Pairs cancel it, so only a large one matters.
const DRIFT: f64 = 0.05;
/// The least drift of the difference, which nothing cancels.
const DIFFERENCE_DRIFT: f64 = 0.01;
/// The least correlation. At 0.2 the variance of a mean is half as much again as
/// the pairs make believe. A negative one only makes intervals too wide.
const CORRELATION: f64 = 0.2;

pub(super) fn findings(entries: &[Entry]) -> Vec<Finding> {
    let Some(critical) = quantile::normal(1.0 - CHANCE / 2.0) else {
        return Vec::new();
    };
    let mut found = Vec::new();
    let drifted = drift(entries, Entry::difference, critical)
        .filter(|change| change.abs() >= DIFFERENCE_DRIFT)
        .map(|change| Finding::DifferenceDrift { change });
    // Neighbours in a drift are alike: that needs no saying twice.
    found.extend(drifted.or_else(|| correlation(entries, critical)));
    found.extend(slot(entries, critical));
    found.extend(
        drift(entries, Entry::level, critical)
            .filter(|change| change.abs() >= DRIFT)
            .map(|change| Finding::Drift { change }),
    );
    found
}

/// How much longer the second run takes: half of what the order makes of the
/// differences, so that a change between the sides is none of it.
fn slot(entries: &[Entry], critical: f64) -> Option<Finding> {
    let [base_first, head_first] = by_order(entries);
    let z = shift(&head_first, &base_first);
    let effect = ((median(base_first) - median(head_first)) / 2.0).exp_m1();
    (z.abs() >= critical && effect.abs() >= SLOT && effect.is_finite())
        .then_some(Finding::Slot { effect, z })
}

/// The differences of the pairs in which the base went first, and of the others.
fn by_order(entries: &[Entry]) -> [Vec<f64>; 2] {
    [true, false].map(|first| {
        let of_order = entries.iter().filter(|entry| entry.base_first == first);
        of_order.map(Entry::difference).collect()
    })
}

/// The change from the first third to the last, if it is significant.
fn drift(entries: &[Entry], value: impl Fn(&Entry) -> f64, critical: f64) -> Option<f64> {
    let third = entries.len() / 3;
    let first: Vec<f64> = entries[..third].iter().map(&value).collect();
    let last: Vec<f64> = entries[entries.len() - third..].iter().map(&value).collect();
    let z = shift(&first, &last);
    let change = (median(last) - median(first)).exp_m1();
    (z.abs() >= critical && change.is_finite()).then_some(change)
}

/// The correlation of neighbours, without what the slot does to each.
fn correlation(entries: &[Entry], critical: f64) -> Option<Finding> {
    let [base_first, head_first] = by_order(entries).map(median);
    let centre = |entry: &Entry| if entry.base_first { base_first } else { head_first };
    let values: Vec<f64> = entries.iter().map(|entry| entry.difference() - centre(entry)).collect();
    let (ranks, _) = ranks(&values);
    let count = entries.len() as f64;
    let middle = (count + 1.0) / 2.0;
    let squares: f64 = ranks.iter().map(|rank| (rank - middle) * (rank - middle)).sum();
    let (mut products, mut neighbours) = (0.0, 0.0);
    for place in 1..entries.len() {
        if entries[place].number == entries[place - 1].number + 1 {
            products += (ranks[place - 1] - middle) * (ranks[place] - middle);
            neighbours += 1.0;
        }
    }
    if !(squares > 0.0 && neighbours > 0.0) {
        return None;
    }
    // Of neighbours in random order the expectation is -1/n, and the deviation
    // a little below 1/sqrt(n).
    let correlation = products / neighbours / (squares / count);
    let z = (correlation + 1.0 / count) * f64::sqrt(neighbours);
    (z >= critical && correlation >= CORRELATION).then_some(Finding::Correlated { correlation })
}
