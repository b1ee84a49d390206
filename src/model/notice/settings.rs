//! How the tables of the two sides differ in what is run.

use crate::model::side::Side;

/// How the tables of the two sides differ in what is run. The head's settings
/// count.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunDiffers {
    /// The side that has a table, where only one has.
    pub only_side: Option<Side>,
    /// The keys that differ.
    pub keys: Vec<DifferentKey>,
}

impl RunDiffers {
    /// The keys that change which benchmarks run, each once.
    pub fn selecting(&self) -> Vec<&'static str> {
        let selecting = self.keys.iter().filter(|differing| differing.selects);
        let mut keys: Vec<&'static str> = selecting.map(|differing| differing.key).collect();
        keys.dedup();
        keys
    }
}

/// A key that the sides set differently.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DifferentKey {
    /// The key.
    pub key: &'static str,
    /// Whether it changes which benchmarks run, or against what; the others shape how
    /// they are built and run.
    pub selects: bool,
    /// The named benchmark; none of what stands around them all.
    pub benchmark: Option<String>,
    /// The base's value, as JSON unless it is a text; none where it is not set.
    pub base: Option<String>,
    /// The head's.
    pub head: Option<String>,
}
