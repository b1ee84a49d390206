//! The ways of estimating a change, by name.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// How the change is estimated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Estimator {
    /// The typical change (by the evidence of signs and mean together), guarded by
    /// the mean's change: quick where single runs are far off, and
    /// not blind to them.
    #[default]
    Robust,
    /// The ratio of the means: what the bill is made of.
    Mean,
    /// The ratio of the geometric means: for noise that multiplies.
    GeometricMean,
    /// The median of the ratios: free of assumptions, blind to a slow tail.
    Median,
    /// The ratio of the means of minima. Each value pushed is the minimum of several
    /// runs, taken by the caller, on the ground that noise only ever delays (Chen
    /// and Revels 2016, *Robust benchmarking in noisy environments*).
    Min,
}

impl Estimator {
    /// All of them, the default first.
    pub const ALL: [Estimator; 5] = [
        Estimator::Robust,
        Estimator::Mean,
        Estimator::GeometricMean,
        Estimator::Median,
        Estimator::Min,
    ];

    /// Its name in options and outputs.
    pub fn name(self) -> &'static str {
        match self {
            Estimator::Robust => "robust",
            Estimator::Mean => "mean",
            Estimator::GeometricMean => "geometric-mean",
            Estimator::Median => "median",
            Estimator::Min => "min",
        }
    }
}

impl fmt::Display for Estimator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Estimator {
    type Err = UnknownEstimator;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        let found = Estimator::ALL.into_iter().find(|estimator| estimator.name() == name);
        found.ok_or_else(|| UnknownEstimator(name.to_owned()))
    }
}

/// A name that is no estimator's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownEstimator(String);

impl fmt::Display for UnknownEstimator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = Estimator::ALL.map(|estimator| format!("`{estimator}`")).join(", ");
        write!(f, "unknown estimator `{}`, expected one of {names}", self.0)
    }
}

impl std::error::Error for UnknownEstimator {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_go_both_ways() {
        for estimator in Estimator::ALL {
            assert_eq!(estimator.to_string().parse(), Ok(estimator));
        }
        assert_eq!(Estimator::default(), Estimator::ALL[0]);
        let error = "mode".parse::<Estimator>().unwrap_err().to_string();
        let expected = "unknown estimator `mode`, expected one of `robust`, `mean`, \
                        `geometric-mean`, `median`, `min`";
        assert_eq!(error, expected);
    }
}
