//! Why a benchmark regressed.

use serde::{Deserialize, Serialize};

use super::side::Pair;

/// The number of instructions of one execution of a benchmark on both sides.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Explanation {
    /// The benchmark.
    pub benchmark: String,
    /// All instructions of its process.
    pub instructions: Pair<u64>,
    /// The functions in which they differ by more than from run to run, the largest
    /// difference first.
    pub functions: Vec<CountedFunction>,
}

/// The instructions of a function.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CountedFunction {
    /// Its name, without the hashes of crates.
    pub name: String,
    /// The number of its own instructions, without those of the functions that it calls.
    pub instructions: Pair<u64>,
    /// Whether its code differs between the sides, if known.
    pub differs: Option<bool>,
}

/// When to count the instructions of regressed benchmarks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Explain {
    /// Never.
    Never,
    /// If valgrind is installed and it takes seconds.
    WhereCheap,
    /// However long it takes.
    Always,
}
