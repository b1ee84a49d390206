//! Describes the noise of a comparison where it matters.
//!
//! [`NoiseShape`] gets the pairs in order. [`NoiseShape::findings`] returns what makes a
//! verdict slower, weaker or different from what it seems: outliers, skewness, two kinds
//! of runs, drift, an effect of the slot, correlation of neighbours. It decides nothing.
//!
//! Everything is on the log scale: the *difference* of a pair is the logarithm of head
//! over base, its *level* is the mean of both logarithms. Pairs with a value that has no
//! logarithm are ignored.
//!
//! # When there is a finding
//!
//! Each finding has a threshold of effect, so that many pairs do not find trifles, and one
//! of significance, so that few pairs do not find accidents: its probability on noise
//! without that trait is [`CHANCE`](log_pair::CHANCE). On normal noise of 20 to 500 pairs,
//! fewer than 1 comparison in 100 has any finding (simulated, see the tests). The tests are
//! valid for one look at the end, which is how they are used. That a verdict ended the
//! sampling makes little difference (also simulated).
//!
//! # Memory
//!
//! The first 4096 pairs are all kept. When there are more, every second block of 16
//! neighbours is dropped, and from then on only every second block is kept; and so on.
//! The pairs that are kept are in order, are spread evenly over the whole time, and still
//! have their neighbours.

use crate::model::Finding;

mod form;
mod log_pair;
mod modes;
mod order;
mod ranks;
mod steps;

use log_pair::LogPair;

/// With fewer pairs there are no findings.
pub(crate) const LEAST_PAIRS: usize = 12;

/// How many pairs are kept at most.
const MOST_PAIRS: usize = 4096;

/// How many neighbours are kept or dropped together.
const BLOCK: u64 = 16;

/// The pairs so far, or an even part of them.
#[derive(Clone, Debug)]
pub(crate) struct NoiseShape {
    kept: Vec<LogPair>,
    pairs: u64,
    /// One of this many blocks is kept.
    stride: u64,
}

impl Default for NoiseShape {
    fn default() -> Self {
        NoiseShape { kept: Vec::new(), pairs: 0, stride: 1 }
    }
}

impl NoiseShape {
    /// Adds a pair, and whether its base ran first.
    pub(crate) fn push(&mut self, base: f64, head: f64, base_first: bool) {
        let number = self.pairs;
        self.pairs += 1;
        let (base, head) = (base.ln(), head.ln());
        if !(base.is_finite() && head.is_finite() && is_kept(number, self.stride)) {
            return;
        }
        self.kept.push(LogPair { number, base, head, base_first });
        if self.kept.len() > MOST_PAIRS {
            self.stride *= 2;
            self.kept.retain(|pair| is_kept(pair.number, self.stride));
        }
    }

    /// What matters about the noise, the most important first.
    pub(crate) fn findings(&self) -> Vec<Finding> {
        let pairs = &self.kept;
        if pairs.len() < LEAST_PAIRS {
            return Vec::new();
        }
        let differences: Vec<f64> = pairs.iter().map(LogPair::difference).collect();
        let mut findings = form::findings(&differences);
        let steps =
            [steps::step(pairs.iter().map(|p| p.base)), steps::step(pairs.iter().map(|p| p.head))];
        findings.extend(
            steps.into_iter().flatten().reduce(f64::max).map(|step| Finding::Coarse { step }),
        );
        let base = modes::two_kinds(pairs.iter().map(|pair| pair.base).collect());
        let head = modes::two_kinds(pairs.iter().map(|pair| pair.head).collect());
        if base.is_some() || head.is_some() {
            findings.push(Finding::TwoKinds { base, head });
        }
        findings.extend(order::findings(pairs));
        if findings.is_empty() {
            findings.extend(form::not_normal(&differences));
        }
        findings
    }
}

fn is_kept(number: u64, stride: u64) -> bool {
    (number / BLOCK).is_multiple_of(stride)
}

#[cfg(test)]
mod tests;
