//! The ratio of the means, with Fieller's set by the sequential t-test.
//!
//! # References
//!
//! Fieller 1954, *Some problems in interval estimation*, JRSS B 16:175, and those of
//! [`sequential`](crate::stats::sequential).

use super::decision::Signal;
use crate::stats::moments::PairMoments;
use crate::stats::sequential::{ratio_set, share, t_squared};

/// The sums for the ratio of means of values that are never negative.
#[derive(Clone, Debug, Default)]
pub(super) struct RatioOfMeans {
    sums: PairMoments,
}

impl RatioOfMeans {
    pub(super) fn push(&mut self, base: f64, head: f64) {
        self.sums.push(base, head);
    }

    pub(super) fn base(&self) -> Option<f64> {
        self.sums.base().mean()
    }

    pub(super) fn head(&self) -> Option<f64> {
        self.sums.head().mean()
    }

    pub(super) fn change(&self) -> Option<f64> {
        let (base, head) = (self.base()?, self.head()?);
        Some(if base == head { 0.0 } else { (head - base) / base })
    }

    pub(super) fn lower(&self, level: f64) -> Option<f64> {
        if self.all_zero() {
            return t_squared(self.sums.count(), level).map(|_| 0.0);
        }
        Some(ratio_set(&self.sums, level).bounds().0? - 1.0)
    }

    pub(super) fn upper(&self, level: f64) -> Option<f64> {
        if self.all_zero() {
            return t_squared(self.sums.count(), level).map(|_| 0.0);
        }
        Some(ratio_set(&self.sums, level).bounds().1? - 1.0)
    }

    pub(super) fn signal(&self, change: f64) -> Option<Signal> {
        let ratio = 1.0 + change;
        let mean = self.head()? - ratio * self.base()?;
        let base = self.sums.base().population_variance()?;
        let head = self.sums.head().population_variance()?;
        let both = self.sums.population_covariance()?;
        let variance = head - 2.0 * ratio * both + ratio * ratio * base;
        let share = share(mean, variance)?;
        Some(Signal::Share { above: mean > 0.0, share })
    }

    /// Whether every value is zero: no change, though no ratio is refuted.
    fn all_zero(&self) -> bool {
        self.base() == Some(0.0) && self.head() == Some(0.0)
    }
}
