//! The ways of estimating a change, by name.

use serde::{Deserialize, Serialize};

use crate::model::words::words;

/// How the change is estimated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Estimator {
    /// The typical change (by bets on the direction of each pair's change), guarded by
    /// the change of the mean: fast in spite of outliers, and yet sensitive to them.
    #[default]
    Robust,
    /// The ratio of the means: the change in total cost.
    Mean,
    /// The ratio of the geometric means: for multiplicative noise.
    GeometricMean,
    /// The median of the ratios: free of assumptions, insensitive to a slow tail.
    Median,
    /// The ratio of the means of minima. Each value pushed is the minimum of several
    /// runs, computed by the caller, since noise only ever adds time (Chen and
    /// Revels 2016, *Robust benchmarking in noisy environments*).
    Min,
}

words!(Estimator {
    Robust = "robust",
    Mean = "mean",
    GeometricMean = "geometric-mean",
    Median = "median",
    Min = "min",
});

impl Estimator {
    /// The statistic of one side's values that is shown beside the change.
    pub fn statistic(self) -> &'static str {
        match self {
            Estimator::Robust | Estimator::Median => "median",
            Estimator::Mean => "mean",
            Estimator::GeometricMean => "geometric mean",
            Estimator::Min => "minimum",
        }
    }

    /// Whether it is defined for pairs only.
    pub fn needs_pairs(self) -> bool {
        matches!(self, Estimator::Robust | Estimator::Median)
    }

    /// Whether it takes logarithms, so that values have to be positive.
    pub(crate) fn takes_logarithms(self) -> bool {
        self == Estimator::GeometricMean
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_go_both_ways() {
        for estimator in Estimator::ALL {
            assert_eq!(estimator.to_string().parse(), Ok(estimator));
        }
        assert_eq!(Estimator::default(), Estimator::ALL[0]);
        let error = "mode".parse::<Estimator>().unwrap_err();
        let expected = "it must be `robust`, `mean`, `geometric-mean`, `median` or `min`";
        assert_eq!(error, expected);
    }
}
