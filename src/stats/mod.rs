//! What the timings say: sums, intervals, evidence, verdicts.
//!
//! Everything here is pure: numbers in, numbers out; no file, no clock, no
//! randomness. Nothing here hands out a NaN: what is undefined is `None` or a
//! variant that says so.
//!
//! # The story
//!
//! A comparison measures pairs, base and head. [`estimator::Running`] takes them
//! in one by one and can say after each of them how large the change is, between
//! which bounds it lies, and whether that decides the question. The bounds are
//! *anytime valid*: one may look after every pair and stop when one likes what
//! one sees, and the chance of a wrong verdict still stays below the level.
//!
//! - [`moments`] keeps the running sums, about the mean.
//! - [`sequential`] turns sums into evidence, and evidence into the set of ratios
//!   that are not refuted.
//! - [`ratio`] holds such sets: a quadratic inequality in the ratio, which may be
//!   unbounded (Fieller).
//! - [`estimator`] puts these together for each way of estimating a change: ratio
//!   of means, of geometric means, median of ratios, ratio of minima, or the typical
//!   change guarded by the mean.
//! - [`machines`] makes one sequence of the pairs of several machines.
//! - [`two_point`] computes how often a rule is wrong on the hardest noise.
//! - [`forecast`] says how many pairs the verdict will need.
//! - [`repetitions`] says how often to repeat what is too short for its clock.
//! - [`shape`] says what about the noise matters: outliers, drift and the like.
//!
//! For samples of a fixed size, looked at once, [`welch`] has the interval of the
//! difference and [`ratio`] that of the ratio, with the quantiles of [`quantile`];
//! [`fixed`] asks both. [`empirical`] has the medians and quantiles of the values at
//! hand. [`judge`] is BenchmarkTools' judgement of two estimates.
//! [`lookback`] asks whether a value fits the values of earlier commits.
//!
//! # Words
//!
//! A *ratio* is head over base, a *change* is the ratio minus one, as a fraction
//! (0.02 is 2 %). A *level* is the chance of a wrong verdict of one kind.

pub mod empirical;
pub mod estimator;
pub(crate) mod fixed;
pub(crate) mod forecast;
pub mod judge;
pub mod lookback;
pub mod machines;
pub mod moments;
mod ordered;
pub mod quantile;
pub mod ratio;
pub mod repetitions;
pub mod sequential;
pub mod shape;
mod sketch;
pub mod two_point;
pub mod welch;

#[cfg(test)]
pub(crate) mod noise {
    /// The splitmix64 generator (Steele, Lea and Flood 2014), for the tests.
    pub(crate) struct Noise(u64);

    impl Noise {
        pub(crate) fn seeded(seed: u64) -> Self {
            Noise(seed)
        }

        fn next(&mut self) -> u64 {
            self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mut z = self.0;
            z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            z ^ (z >> 31)
        }

        /// Uniform between 0 and 1, neither of them included.
        pub(crate) fn uniform(&mut self) -> f64 {
            ((self.next() >> 12) as f64 + 0.5) / (1u64 << 52) as f64
        }

        /// Normal with mean 0 and deviation 1 (Box and Muller 1958).
        pub(crate) fn normal(&mut self) -> f64 {
            let radius = (-2.0 * self.uniform().ln()).sqrt();
            radius * (std::f64::consts::TAU * self.uniform()).cos()
        }
    }
}
