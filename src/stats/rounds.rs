//! The geometric mean of a suite, round by round.
//!
//! A round has the same number of pairs of each benchmark: one, or as many as make the rounds
//! before it cheapest. Of several pairs of a benchmark the median of ln(head/base) counts, so that a
//! single run that was disturbed does not hide the other benchmarks, as it would in a mean over all.
//!
//! *Why this keeps the error*: let all ln(head/base) of a benchmark in a round be symmetric about
//! the same value, given the earlier rounds. Then so is their median, and the mean of the medians is
//! symmetric about the mean of these values, which is the geometric mean's change. It is monotone in
//! every head, too. How many pairs a round has is known before it, from the rounds before.

use super::empirical::{median_of, typical_deviation};

/// The numbers of pairs that a round may have; odd ones have a middle.
const LENGTHS: [usize; 4] = [1, 3, 5, 9];

/// The fewest rounds of a length that tell what it costs.
const ENOUGH: usize = 16;

/// A longer round has to be cheaper than a shorter one by this factor, since both costs are estimates.
const CLEARLY: f64 = 0.5;

/// The rounds of one suite so far.
#[derive(Clone, Debug, Default)]
pub struct Rounds {
    /// For each pair so far, ln(head/base) of each benchmark.
    pairs: Vec<Vec<f64>>,
    /// How many of these are in complete rounds.
    complete: usize,
    length: usize,
}

impl Rounds {
    /// Adds one pair of each benchmark. If that completes a round, returns the mean over the
    /// benchmarks.
    pub fn push(&mut self, logs: Vec<f64>) -> Option<f64> {
        self.pairs.push(logs);
        if self.pairs.len() < self.complete + self.length() {
            return None;
        }
        let mean = mean_of_medians(&self.pairs[self.complete..]);
        self.complete = self.pairs.len();
        // Seldom, since it takes as long as all pairs together.
        if self.complete >= ENOUGH && (self.complete / self.length()).is_power_of_two() {
            self.length = self.cheapest();
        }
        Some(mean)
    }

    /// The number of pairs of a benchmark in the next round.
    pub fn length(&self) -> usize {
        self.length.max(1)
    }

    /// The number of pairs of a benchmark in complete rounds.
    pub(crate) fn pairs(&self) -> u64 {
        self.complete as u64
    }

    /// The length with which the pairs so far would have told the change best: a verdict costs the
    /// pairs of a round times its variance.
    fn cheapest(&self) -> usize {
        let cost = |length: usize| {
            let rounds: Vec<f64> = self.pairs.chunks_exact(length).map(mean_of_medians).collect();
            length as f64 * typical_deviation(&rounds).powi(2)
        };
        let mut best = (1, cost(1));
        for length in LENGTHS.into_iter().filter(|one| self.pairs.len() / one >= ENOUGH) {
            let cost = cost(length);
            if cost < CLEARLY * best.1 {
                best = (length, cost);
            }
        }
        best.0
    }
}

fn mean_of_medians(pairs: &[Vec<f64>]) -> f64 {
    let benchmarks = pairs.first().map_or(0, Vec::len);
    let of = |benchmark: usize| median_of(pairs.iter().map(|logs| logs[benchmark])).unwrap_or(0.0);
    (0..benchmarks).map(of).sum::<f64>() / benchmarks as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Better, Estimator};
    use crate::stats::estimator::{Decision, Levels, Running};
    use crate::stats::tests::TestNoise;

    const BENCHMARKS: usize = 10;

    /// One pair of each benchmark, slower by `change` on average, of which one in ten is disturbed by a
    /// run of up to ten times its length if they are `disturbed`.
    fn pair(random: &mut TestNoise, change: f64, disturbed: bool) -> Vec<f64> {
        let mut run = || {
            let delay = if disturbed && random.uniform() < 0.1 { random.uniform() } else { 0.0 };
            0.01 * random.normal() + 2.0 * delay
        };
        (0..BENCHMARKS)
            .map(|number| {
                let own = if number % 2 == 0 { 0.05 } else { -0.05 };
                run() - run() + change.ln_1p() + own
            })
            .collect()
    }

    /// How many pairs of each benchmark a comparison takes, and what it decides.
    fn compare(seed: u64, change: f64, disturbed: bool, most: u32) -> (u32, Option<Decision>) {
        let mut random = TestNoise::seeded(seed);
        let mut rounds = Rounds::default();
        let mut running = Running::new(Estimator::Robust, Better::Lower, Levels::new(0.95, 1));
        running.track(0.01);
        for pairs in 1..=most {
            if let Some(mean) = rounds.push(pair(&mut random, change, disturbed)) {
                running.push((-0.5 * mean).exp(), (0.5 * mean).exp());
                if let Some(decision) = running.decide(0.01) {
                    return (pairs, Some(decision));
                }
            }
        }
        (most, None)
    }

    #[test]
    fn without_disturbances_a_round_is_one_pair_and_with_them_a_median() {
        for (disturbed, is_longer) in [(false, false), (true, true)] {
            let mut random = TestNoise::seeded(2);
            let mut rounds = Rounds::default();
            for _ in 0..64 {
                rounds.push(pair(&mut random, 0.0, disturbed));
            }
            assert_eq!(rounds.length() > 1, is_longer, "{}", rounds.length());
        }
    }

    #[test]
    fn a_suite_that_is_slower_is_found_in_spite_of_disturbances() {
        for seed in 0..10 {
            let (pairs, decision) = compare(seed, 0.03, true, 400);
            assert_eq!(decision, Some(Decision::Regression), "{pairs}");
        }
    }

    #[test]
    fn at_the_threshold_both_verdicts_are_rare() {
        let mut wrong = [0, 0];
        for seed in 0..400 {
            match compare(seed, 0.01, true, 200).1 {
                Some(Decision::Regression) => wrong[0] += 1,
                Some(Decision::NoRegression) => wrong[1] += 1,
                None => {}
            }
        }
        // 5 % are 20, and 4.4 is the standard deviation.
        assert!(wrong.iter().all(|wrong| *wrong < 30), "{wrong:?}");
    }
}
