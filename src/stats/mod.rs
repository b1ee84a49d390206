//! Statistics of the measurements: sums, intervals, evidence, verdicts.
//!
//! Everything here is pure: numbers in, numbers out, without files, clocks or
//! randomness. No function returns NaN: an undefined result is `None` or a variant of
//! its own.
//!
//! # The story
//!
//! A comparison measures pairs of base and head, and adds them to
//! [`estimator::Running`] one by one. After each pair, it can estimate the change, its
//! bounds, and whether there is a verdict. The bounds are *anytime valid*: one may look
//! after every pair and stop at any time, and the probability of a wrong verdict still
//! stays below the level.
//!
//! - [`moments`] keeps running sums about the mean.
//! - `betting` has the evidence of the default estimator, bets on the direction of each
//!   pair's change, and the theorem behind it.
//! - [`sequential`] turns sums into evidence, and evidence into the set of ratios
//!   that are not refuted.
//! - [`ratio`] has such sets: the solutions of a quadratic inequality, which may be
//!   unbounded (Fieller).
//! - [`estimator`] combines these for each way to estimate a change: the ratio of
//!   means, of geometric means or of minima, the median of ratios, or the typical
//!   change guarded by the mean.
//! - [`family`] shares the error among the tests of a comparison.
//! - [`machines`] merges the pairs of several machines into one sequence.
//! - [`rounds`] merges the pairs of all benchmarks into one sequence, for a test of them all.
//! - `forecast` predicts how many pairs the verdict will need.
//! - [`learnt`] has the threshold that the noise of earlier results allows.
//! - [`repetitions`] determines how often to repeat what is too short for its clock.
//! - `shape` describes the noise where it matters: outliers, drift and the like.
//!
//! For samples of a fixed size and a single look, [`welch`] has the interval of the
//! difference and [`ratio`] the interval of the ratio, by the quantiles of
//! [`quantile`]; [`fixed`] uses both. [`empirical`] has medians and quantiles of
//! observed values. [`judge`] is BenchmarkTools' judgement of two estimates.
//! [`lookback`] tests whether a value fits the values of earlier commits.
//!
//! # Words
//!
//! A *ratio* is head over base. A *change* is the ratio minus one, as a fraction
//! (0.02 is 2 %). A *level* is the probability of a wrong verdict of one kind.

mod betting;
pub mod empirical;
pub mod estimator;
pub mod family;
pub mod fixed;
pub(crate) mod forecast;
pub mod judge;
pub mod learnt;
pub mod lookback;
pub mod machines;
pub mod moments;
mod ordered;
pub mod quantile;
pub mod ratio;
pub mod repetitions;
pub mod rounds;
pub mod sequential;
pub(crate) mod shape;
pub mod welch;

/// The first number that fulfils a predicate, as do all after it; the end of the range if none does.
fn first(range: std::ops::Range<u64>, fulfils: impl Fn(u64) -> bool) -> u64 {
    let std::ops::Range { start: mut least, end: mut enough } = range;
    while least < enough {
        let middle = least.midpoint(enough);
        if fulfils(middle) {
            enough = middle;
        } else {
            least = middle + 1;
        }
    }
    enough
}

#[cfg(test)]
pub(crate) mod tests;
#[cfg(test)]
#[path = "../../examples/error-rates/two_point.rs"]
mod two_point;
