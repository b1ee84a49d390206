//! How the tables of the two sides differ in what is run.

use crate::model::side::Side;

/// The keys that decide which benchmarks run, and against what; the others shape
/// how they are built and run.
const SELECTING: [&str; 10] = [
    "base",
    "package",
    "bench",
    "bin",
    "example",
    "command",
    "harness",
    "args",
    "bench-from",
    "benchmarks",
];

/// How the tables of the two sides differ in what is run. The head's settings
/// count.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunDiffers {
    /// The side that has a table, where only one has.
    pub lone: Option<Side>,
    /// The keys that differ.
    pub keys: Vec<DifferentKey>,
}

impl RunDiffers {
    /// The keys that change which benchmarks run, each once.
    pub fn selecting(&self) -> Vec<&'static str> {
        let mut keys: Vec<&'static str> = self.keys.iter().map(|differing| differing.key).collect();
        keys.retain(|key| SELECTING.contains(key));
        keys.dedup();
        keys
    }
}

/// A key that the sides set differently.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DifferentKey {
    /// The key.
    pub key: &'static str,
    /// The named benchmark; none of what stands around them all.
    pub benchmark: Option<String>,
    /// The base's value, as JSON unless it is a text; none where it is not set.
    pub base: Option<String>,
    /// The head's.
    pub head: Option<String>,
}
