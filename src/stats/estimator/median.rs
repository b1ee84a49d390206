//! The median of the ratios, with the order statistics of the sequential sign test.
//!
//! A candidate is refuted if too many pairs' changes are on one side of it, so the ends
//! of the interval are themselves changes of pairs. A pair whose change equals the
//! candidate (a tie) has no sign. This matters only at the ends, which belong to the
//! interval: ties never decide.
//!
//! # References
//!
//! - Robbins 1970, *Statistical methods related to the law of the iterated
//!   logarithm*, Ann. Math. Stat. 41:1397, for the mixture.
//! - Thompson 1936, *On confidence ranges for the median*, Ann. Math. Stat. 7:122,
//!   for the order statistics.

use super::decision::Signal;
use crate::stats::ordered::Ordered;
use crate::stats::sequential::signs_needed;

/// The ranks of values that are never negative, and of the changes of their pairs.
#[derive(Clone, Debug, Default)]
pub(super) struct MedianOfRatios {
    base: Ordered,
    head: Ordered,
    changes: Ordered,
}

impl MedianOfRatios {
    pub(super) fn push(&mut self, base: f64, head: f64) {
        self.base.insert(base);
        self.head.insert(head);
        // Not `head / base - 1`: this is exact where a change equals a threshold
        // written in decimals. From zero to zero is no change.
        let change = if base == head { 0.0 } else { (head - base) / base };
        self.changes.insert(change);
    }

    pub(super) fn base(&self) -> Option<f64> {
        self.base.median()
    }

    pub(super) fn head(&self) -> Option<f64> {
        self.head.median()
    }

    /// The median of the pairs' changes, which is not the change of the medians.
    pub(super) fn change(&self) -> Option<f64> {
        self.changes.median()
    }

    pub(super) fn lower(&self, level: f64) -> Option<f64> {
        let rank = self.rank(level)?;
        self.changes.get(self.changes.len() - rank)
    }

    pub(super) fn upper(&self, level: f64) -> Option<f64> {
        self.changes.get(self.rank(level)? - 1)
    }

    pub(super) fn signal(&self, change: f64) -> Option<Signal> {
        let (above, below) = self.signs(change);
        (above + below > 0).then_some(Signal::Signs { above, below })
    }

    pub(super) fn pairs(&self) -> u64 {
        self.changes.len() as u64
    }

    /// How many pairs' changes are above a candidate, and how many below.
    pub(super) fn signs(&self, change: f64) -> (u64, u64) {
        (self.changes.above(change) as u64, self.changes.below(change) as u64)
    }

    /// How many equal signs decide, from 1 to the number of pairs.
    fn rank(&self, level: f64) -> Option<usize> {
        let needed = signs_needed(self.changes.len() as u64, level)?;
        usize::try_from(needed).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::sequential::{ln_needed, ln_sign_evidence};
    use crate::stats::tests::TestNoise;

    #[test]
    fn the_ends_part_what_is_refuted_from_what_is_not() {
        let mut noise = TestNoise::seeded(11);
        let mut sums = MedianOfRatios::default();
        for pairs in 1..120 {
            sums.push(1.0, 1.0 + 0.1 * noise.uniform());
            let refuted = |change: f64| {
                let Some(Signal::Signs { above, below }) = sums.signal(change) else {
                    return false;
                };
                ln_sign_evidence(above as f64, below as f64) >= ln_needed(0.05).unwrap()
            };
            let (lower, upper) = (sums.lower(0.05), sums.upper(0.05));
            assert_eq!(lower.is_some(), pairs >= 6);
            if let (Some(lower), Some(upper)) = (lower, upper) {
                assert!(lower <= upper);
                assert!(refuted(lower - 1e-12) && !refuted(lower + 1e-12), "{pairs}");
                assert!(refuted(upper + 1e-12) && !refuted(upper - 1e-12), "{pairs}");
            }
        }
    }

    #[test]
    fn ties_have_no_sign() {
        let mut sums = MedianOfRatios::default();
        for head in [100.0, 102.0, 102.0, 103.0] {
            sums.push(100.0, head);
        }
        let signs = Signal::Signs { above: 1, below: 1 };
        assert_eq!(sums.signal(0.02), Some(signs));
        assert_eq!(sums.change(), Some(0.02));
    }
}
