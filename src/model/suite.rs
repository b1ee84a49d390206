//! One number for all benchmarks of a comparison together.

use serde::{Deserialize, Serialize};

use super::outcome::result::{BenchmarkResult, MetricResult};
use super::words::words;

/// The fewest benchmarks that have a number together, unless it was asked to gate.
pub(crate) const LEAST_BENCHMARKS: usize = 3;

/// How the values of the benchmarks become one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum SuiteNumber {
    /// Their geometric mean: each change counts the same.
    Geomean,
    /// Their sum: each change counts as much as the benchmark takes.
    Sum,
}

impl SuiteNumber {
    /// Its name in the place of that of a benchmark.
    pub(crate) fn title(self) -> String {
        format!("suite {self}")
    }

    /// Whether it is the name of a number, not of a benchmark.
    pub fn is_title(name: &str) -> bool {
        SuiteNumber::ALL.iter().any(|number| number.title() == name)
    }
}

words!(SuiteNumber { Geomean = "geomean", Sum = "sum" });

/// The number that gates, and the largest change of it that passes, a fraction.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct SuiteGate {
    pub(crate) number: SuiteNumber,
    pub(crate) threshold: f64,
}

/// The numbers of all benchmarks together.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Suite {
    /// How many benchmarks were measured.
    pub benchmarks: usize,
    /// How many are unaffected: these count as unchanged in the geometric mean.
    pub unaffected: usize,
    /// Each like a benchmark with one metric; its pairs are those in which every benchmark has one.
    pub numbers: Vec<BenchmarkResult>,
}

impl Suite {
    /// The numbers that gate.
    pub fn gates(&self) -> impl Iterator<Item = (&BenchmarkResult, &MetricResult)> + Clone {
        let all = self.numbers.iter().flat_map(|of| of.metrics.iter().map(move |one| (of, one)));
        all.filter(|(_, metric)| metric.gates)
    }
}
