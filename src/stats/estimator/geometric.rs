//! The ratio of the geometric means, by the sequential t-test on the logarithms.
//!
//! # References
//!
//! Crow and Shimizu 1988, *Lognormal distributions*, ch. 2, for the model, and those of
//! [`sequential`](crate::stats::sequential).

use super::decision::Signal;
use crate::stats::moments::Moments;
use crate::stats::sequential::{share, t_squared};

/// The sums for the ratio of geometric means of positive values.
#[derive(Clone, Debug, Default)]
pub(super) struct RatioOfGeometricMeans {
    base: Moments,
    head: Moments,
    ratio: Moments,
}

impl RatioOfGeometricMeans {
    pub(super) fn push(&mut self, base: f64, head: f64) {
        self.base.push(base.ln());
        self.head.push(head.ln());
        self.ratio.push((head / base).ln());
    }

    pub(super) fn base(&self) -> Option<f64> {
        Some(self.base.mean()?.exp())
    }

    pub(super) fn head(&self) -> Option<f64> {
        Some(self.head.mean()?.exp())
    }

    pub(super) fn change(&self) -> Option<f64> {
        Some(self.ratio.mean()?.exp_m1())
    }

    pub(super) fn lower(&self, level: f64) -> Option<f64> {
        Some((self.ratio.mean()? - self.radius(level)?).exp_m1())
    }

    pub(super) fn upper(&self, level: f64) -> Option<f64> {
        Some((self.ratio.mean()? + self.radius(level)?).exp_m1())
    }

    pub(super) fn signal(&self, change: f64) -> Option<Signal> {
        let mean = self.ratio.mean()? - change.ln_1p();
        let share = share(mean, self.ratio.population_variance()?)?;
        Some(Signal::Share { above: mean > 0.0, share })
    }

    fn radius(&self, level: f64) -> Option<f64> {
        let t_squared = t_squared(self.ratio.count(), level)?;
        Some((t_squared * self.ratio.population_variance()?).sqrt())
    }
}
