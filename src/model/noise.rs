//! Findings about the noise of a comparison.

use serde::{Deserialize, Serialize};

use super::estimator::Estimator;

/// Something about the noise that matters. Sizes are fractions: 0.02 is 2 %.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub enum Finding {
    /// A few pairs are far from all others and cause most of the variance.
    Outliers {
        /// One in this many pairs is an outlier.
        one_in: f64,
        /// Their share of the variance.
        share: f64,
    },
    /// The differences reach further in one direction than in the other, so that
    /// the average change and the typical one differ.
    Skewed {
        /// The skewness; positive where single pairs have a far slower head.
        skewness: f64,
        /// The change on average (of the logarithms).
        average: f64,
        /// The change of the median pair.
        typical: f64,
    },
    /// The runs of one or both sides are bimodal.
    TwoKinds {
        /// The base's kinds, if it has two.
        base: Option<Kinds>,
        /// The head's kinds, if it has two.
        head: Option<Kinds>,
    },
    /// The runs of both sides became slower (or faster) while sampling.
    Drift {
        /// The change from the first third of the time to the last.
        change: f64,
    },
    /// The difference between the sides changed while sampling.
    DifferenceDrift {
        /// The change from the first third of the time to the last.
        change: f64,
    },
    /// The second run of a pair is slower (or faster) than the first.
    Slot {
        /// How much slower the second run is.
        effect: f64,
        /// Its distance from 0 in standard errors, by ranks.
        z: f64,
    },
    /// A run is slower (or faster) right after the head than right after the base.
    CarryOver {
        /// How much slower it is.
        effect: f64,
        /// Its distance from 0 in standard errors, by ranks.
        z: f64,
    },
    /// A pair's difference is correlated with that of the previous pair.
    Correlated {
        /// The rank correlation of neighbours.
        correlation: f64,
    },
    /// Values are whole numbers of a step, as those of a coarse clock.
    Coarse {
        /// The step, as a fraction of the values.
        step: f64,
    },
    /// The differences are far from normal, in a way other than those above.
    NotNormal {
        /// The squared correlation with normal scores (Shapiro and Francia's W').
        fit: f64,
    },
}

impl Finding {
    /// Whether it matters to an estimator. The median uses signs only, and does not depend on the
    /// shape of the noise; of `robust`, only the guard does, to which outliers matter.
    pub(crate) fn matters_to(&self, estimator: Estimator) -> bool {
        match self {
            Finding::Outliers { .. } => estimator != Estimator::Median,
            Finding::NotNormal { .. } => {
                !matches!(estimator, Estimator::Median | Estimator::Robust)
            }
            _ => true,
        }
    }

    /// Whether it is about how many pairs an estimator needs, which matters until there is a verdict.
    pub(crate) fn is_about_cost(&self) -> bool {
        matches!(self, Finding::Outliers { .. } | Finding::NotNormal { .. })
    }

    /// Whether it questions a premise of all verdicts: that no run depends on those before it, and
    /// that a clock tells changes of the size of the threshold apart.
    pub(crate) fn questions_verdict(&self) -> bool {
        matches!(
            self,
            Finding::DifferenceDrift { .. }
                | Finding::CarryOver { .. }
                | Finding::Correlated { .. }
                | Finding::Coarse { .. }
        )
    }
}

/// Two kinds of runs.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Kinds {
    /// The share of the slower kind.
    pub share: f64,
    /// How much slower it is.
    pub distance: f64,
}
