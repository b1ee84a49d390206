//! A pair on the log scale, and how rare a finding about pairs without its trait is.

/// The probability of each finding if there is nothing to find (two-sided).
pub(super) const CHANCE: f64 = 0.001;

/// The logarithms of a pair.
#[derive(Clone, Copy, Debug)]
pub(super) struct LogPair {
    /// The number of the pair in the order of all pairs.
    pub(super) number: u64,
    pub(super) base: f64,
    pub(super) head: f64,
    pub(super) base_first: bool,
}

impl LogPair {
    pub(super) fn difference(&self) -> f64 {
        self.head - self.base
    }

    pub(super) fn level(&self) -> f64 {
        self.head.midpoint(self.base)
    }
}
