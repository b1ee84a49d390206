//! What the noise of a comparison looks like, where it matters.
//!
//! [`Shape`] takes in the pairs in their order, and [`Shape::findings`] says what
//! about them makes a verdict slower, weaker or other than it seems: outliers,
//! skewness, two kinds of runs, drift, an effect of the slot, correlation of
//! neighbours. Nothing here decides anything.
//!
//! All is looked at on the log scale: a pair's *difference* is the logarithm of head
//! over base, its *level* the mean of both logarithms. A pair with a value that has
//! no logarithm is passed over.
//!
//! # When there is a finding
//!
//! Each has a threshold of effect, so that many pairs don't find trifles, and one of
//! significance, so that few pairs don't find accidents: [`CHANCE`] on noise without
//! that trait. On normal noise of 20 to 500 pairs fewer than 1 comparison in 100
//! has any finding (simulated, see the tests). The tests are for looking once, at
//! the end, which is what they are used for; that a verdict ended the sampling makes
//! little of a difference (simulated, too).
//!
//! # Memory
//!
//! The first 4096 pairs are kept as they are. When there are more, every
//! second block of 16 neighbours is given up, and of those to come, only every second
//! is kept; and so on. What is kept is spread evenly over the whole time, in
//! its order, and neighbours are neighbours.

use super::estimator::Estimator;

mod form;
mod modes;
mod order;
mod ranks;

/// The chance of each finding where there is nothing to find (two-sided).
pub(crate) const CHANCE: f64 = 0.001;

/// With fewer pairs nothing is said.
pub(crate) const LEAST_PAIRS: usize = 12;

/// How many pairs are kept at most.
const MOST_PAIRS: usize = 4096;

/// How many neighbours are kept or given up together.
const BLOCK: u64 = 16;

/// Something about the noise that matters. Sizes are fractions: 0.02 is 2 %.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Finding {
    /// Few pairs are far away from all others and have most of the variance.
    Outliers {
        /// How many pairs there are to one outlier.
        one_in: f64,
        /// Their share of the variance.
        share: f64,
    },
    /// The differences reach further on one side than on the other, so the average
    /// change and the typical one are not the same.
    Skewed {
        /// The skewness; positive where single pairs have a far slower head.
        skewness: f64,
        /// The change on average (of the logarithms).
        average: f64,
        /// The change of the median pair.
        typical: f64,
    },
    /// The runs of a side, or of both, come in two kinds.
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
    /// The difference between the sides became another while sampling.
    DifferenceDrift {
        /// The change from the first third of the time to the last.
        change: f64,
    },
    /// The second run of a pair is slower (or faster) than the first.
    Slot {
        /// How much slower the second run is.
        effect: f64,
        /// How many standard errors that is from none, by ranks.
        z: f64,
    },
    /// A pair's difference resembles that of the pair before.
    Correlated {
        /// The rank correlation of neighbours.
        correlation: f64,
    },
    /// The differences are far from normal, in none of the ways above.
    NotNormal {
        /// The squared correlation with normal scores (Shapiro and Francia's W').
        fit: f64,
    },
}

impl Finding {
    /// Whether it matters where changes are estimated in this way: the median
    /// goes by signs, and needs no form of the noise.
    pub(crate) fn matters_to(&self, estimator: Estimator) -> bool {
        let of_means = matches!(self, Finding::Outliers { .. } | Finding::NotNormal { .. });
        !(of_means && estimator == Estimator::Median)
    }
}

/// Two kinds of runs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Kinds {
    /// The share of the slower kind.
    pub share: f64,
    /// How much slower it is.
    pub distance: f64,
}

/// One pair, by logarithms.
#[derive(Clone, Copy, Debug)]
struct Entry {
    /// Its place in the order of all.
    number: u64,
    base: f64,
    head: f64,
    base_first: bool,
}

impl Entry {
    fn difference(&self) -> f64 {
        self.head - self.base
    }

    fn level(&self) -> f64 {
        self.head.midpoint(self.base)
    }
}

/// The pairs so far, or an even part of them.
#[derive(Clone, Debug)]
pub struct Shape {
    entries: Vec<Entry>,
    pairs: u64,
    /// Of this many blocks one is kept.
    stride: u64,
}

impl Default for Shape {
    fn default() -> Self {
        Shape { entries: Vec::new(), pairs: 0, stride: 1 }
    }
}

impl Shape {
    /// Starts with no pair.
    pub fn new() -> Self {
        Shape::default()
    }

    /// Takes in one more pair, and whether the base ran first.
    pub fn push(&mut self, base: f64, head: f64, base_first: bool) {
        let number = self.pairs;
        self.pairs += 1;
        let (base, head) = (base.ln(), head.ln());
        if !(base.is_finite() && head.is_finite() && is_kept(number, self.stride)) {
            return;
        }
        self.entries.push(Entry { number, base, head, base_first });
        if self.entries.len() > MOST_PAIRS {
            self.stride *= 2;
            let stride = self.stride;
            self.entries.retain(|entry| is_kept(entry.number, stride));
        }
    }

    /// What matters, the weightiest first; nothing in it is NaN.
    pub fn findings(&self) -> Vec<Finding> {
        let entries = &self.entries;
        if entries.len() < LEAST_PAIRS {
            return Vec::new();
        }
        let differences: Vec<f64> = entries.iter().map(Entry::difference).collect();
        let mut found = form::findings(&differences);
        let base = modes::two_kinds(entries.iter().map(|entry| entry.base).collect());
        let head = modes::two_kinds(entries.iter().map(|entry| entry.head).collect());
        if base.is_some() || head.is_some() {
            found.push(Finding::TwoKinds { base, head });
        }
        found.extend(order::findings(entries));
        if found.is_empty() {
            found.extend(form::not_normal(&differences));
        }
        found
    }
}

fn is_kept(number: u64, stride: u64) -> bool {
    (number / BLOCK).is_multiple_of(stride)
}

#[cfg(test)]
mod tests;
