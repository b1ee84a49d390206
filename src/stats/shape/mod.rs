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

use crate::model::noise::{Finding, Kinds};

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
