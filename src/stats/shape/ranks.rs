//! Medians and ranks, which outliers can't move far.
//!
//! # References
//!
//! - Mann and Whitney 1947, *On a test of whether one of two random variables is
//!   stochastically larger than the other*, Ann. Math. Stat. 18:50; with Lehmann's
//!   (*Nonparametrics*, 1975, 1.4) variance under ties.

use crate::stats::empirical::{self, sorted};

/// The median of values in any order; 0 of none.
pub(super) fn median(values: impl IntoIterator<Item = f64>) -> f64 {
    middle(&sorted(values))
}

/// The median of values in ascending order; 0 of none.
pub(super) fn middle(sorted: &[f64]) -> f64 {
    empirical::median(sorted).unwrap_or(0.0)
}

/// The rank of each value, from 1, with the mean rank for ties; and the sum of `t^3 - t`
/// over the groups of `t` ties.
pub(super) fn ranks(values: &[f64]) -> (Vec<f64>, f64) {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_unstable_by(|&a, &b| values[a].total_cmp(&values[b]));
    let mut ranks = vec![0.0; values.len()];
    let mut ties = 0.0;
    let mut begin = 0;
    for group in order.chunk_by(|&a, &b| values[a] == values[b]) {
        let size = group.len() as f64;
        for &place in group {
            ranks[place] = begin as f64 + (size + 1.0) / 2.0;
        }
        ties += size * size * size - size;
        begin += group.len();
    }
    (ranks, ties)
}

/// By how many standard errors `second` tends to be above `first`: the statistic of Mann
/// and Whitney with a correction for continuity; 0 if all values are equal or one sample
/// is empty.
pub(super) fn shift(first: &[f64], second: &[f64]) -> f64 {
    let (m, n) = (first.len() as f64, second.len() as f64);
    let all = m + n;
    let (ranks, ties) = ranks(&[first, second].concat());
    let sum: f64 = ranks[first.len()..].iter().sum();
    let excess = sum - n * (all + 1.0) / 2.0;
    let variance = m * n / 12.0 * (all + 1.0 - ties / (all * (all - 1.0)).max(1.0));
    if variance.is_nan() || variance <= 0.0 {
        return 0.0;
    }
    (excess.abs() - 0.5).max(0.0).copysign(excess) / variance.sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equals_share_their_ranks() {
        let (ranks, ties) = ranks(&[3.0, 1.0, 3.0, 2.0, 3.0]);
        assert_eq!((ranks, ties), (vec![4.0, 1.0, 4.0, 2.0, 4.0], 24.0));
    }

    #[test]
    fn the_shift_agrees_with_the_sums_done_by_hand() {
        // U = 9 of 9, mean 4.5, variance 3 * 3 * 7 / 12.
        let z = shift(&[1.0, 2.0, 3.0], &[4.0, 5.0, 6.0]);
        assert!((z - 4.0 / 5.25f64.sqrt()).abs() < 1e-12, "{z}");
        assert_eq!(shift(&[4.0, 5.0, 6.0], &[1.0, 2.0, 3.0]), -z);
        assert_eq!(shift(&[1.0, 1.0], &[1.0, 1.0]), 0.0);
        // Ranks 3.5, 5.5 and 5.5, which is 4 too many; three ties of 2 take 18/30 of 7.
        let tied = shift(&[1.0, 1.0, 2.0], &[2.0, 3.0, 3.0]);
        assert!((tied - 3.5 / (0.75 * 6.4f64).sqrt()).abs() < 1e-12, "{tied}");
        assert_eq!((shift(&[], &[1.0]), shift(&[1.0], &[])), (0.0, 0.0));
        assert_eq!((median([]), median([2.0]), median([4.0, 1.0])), (0.0, 2.0, 2.5));
    }
}
