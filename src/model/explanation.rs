//! Why a benchmark has regressed.

use serde::{Deserialize, Serialize};

use super::side::Pair;

/// How many instructions a benchmark executes on both sides, once.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Explanation {
    /// The benchmark.
    pub benchmark: String,
    /// All instructions of its process.
    pub instructions: Pair<u64>,
    /// Those of the functions in which they differ by more than from run to run, those that
    /// differ most first.
    pub functions: Vec<CountedFunction>,
}

/// The instructions of a function.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CountedFunction {
    /// Its name, without the hashes of crates.
    pub name: String,
    /// How many of its own it executes, without those of the functions that it calls.
    pub instructions: Pair<u64>,
    /// Whether its code differs between the sides, where that is known.
    pub differs: Option<bool>,
}

/// When the instructions of what has regressed are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Explain {
    /// Never.
    Never,
    /// Where valgrind is there and it takes seconds.
    WhereCheap,
    /// However long it takes.
    Always,
}
