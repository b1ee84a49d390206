//! The ways to estimate a change.
//!
//! Each estimator has a file with its sums, its estimate, its bounds and its
//! references. Other modules use [`Running`].

mod decision;
mod geometric;
mod levels;
mod mean;
mod median;
mod robust;
mod running;
#[cfg(test)]
mod tests;

pub use decision::Decision;
pub(crate) use decision::ROUNDING;
pub(super) use decision::{Prospect, Signal};
pub use levels::Levels;
pub(crate) use levels::RESERVED;
pub use robust::TAIL;
pub use running::Running;

use robust::Robust;

use crate::model::Estimator;

use super::sequential::{least_pairs, least_signs};

impl Estimator {
    /// The least number of pairs with which a verdict of either kind is possible;
    /// `None` if the levels allow none.
    pub fn least_pairs(self, levels: Levels) -> Option<u64> {
        let least = match self {
            Estimator::Robust => return Robust::least_pairs(levels),
            Estimator::Median => least_signs,
            Estimator::Mean | Estimator::GeometricMean | Estimator::Min => least_pairs,
        };
        [levels.alarm, levels.clear].into_iter().filter_map(least).min()
    }

    /// The least number of pairs with which an all-clear is possible; `None` if the level of an
    /// error allows none.
    pub(crate) fn least_pairs_to_pass(self, clear: f64) -> Option<u64> {
        match self {
            Estimator::Robust => Robust::least_pairs_to_pass(clear),
            Estimator::Median => least_signs(clear),
            Estimator::Mean | Estimator::GeometricMean | Estimator::Min => least_pairs(clear),
        }
    }
}
