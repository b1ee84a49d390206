//! The results of an experiment at one moment.

use crate::model::BenchmarkResult;

/// The state of a comparison at one moment, to be displayed.
#[derive(Clone, Debug, PartialEq)]
pub struct Snapshot {
    /// The results so far: the numbers of the suite that gate, and the benchmarks.
    pub benchmarks: Vec<BenchmarkResult>,
    /// Seconds since the first measured pair began.
    pub elapsed: f64,
    /// Seconds that sampling may take.
    pub limit: f64,
    /// Seconds until all verdicts, if the noise stays as it is; `None` if that can't
    /// be predicted, or exceeds the remaining time while there are few pairs.
    pub remaining: Option<f64>,
    /// Whether a verdict is not expected within the limit.
    pub is_unlikely: bool,
    /// The least number of pairs with which anything can be decided.
    pub least_pairs: u64,
    /// Whether a pair is one of layouts.
    pub is_over_layouts: bool,
}
