//! How long a run of a benchmark should be: the length with which a verdict takes the
//! least time.
//!
//! A verdict takes the time of a pair multiplied by the number of pairs, which is
//! proportional to the variance of the logarithm of head/base. Longer runs average over
//! more iterations, but the two runs of a pair are further apart, and include more
//! disturbances of the machine. Which effect prevails depends on the benchmark and on
//! the machine, so a few pairs of each length are tried. They are evidence like all others, since
//! the length of each is chosen before it is measured.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::model::RunLength;
use crate::stats::empirical::{median_of, sorted};

/// The lengths to try, milliseconds. Each depends on the results of those before.
const LENGTHS: [u64; 5] = [1, 3, 10, 30, 100];

/// The number of pairs to try for each length.
const PAIRS: usize = 8;

/// A length that costs this many times as much as the best one ends the trial, since
/// longer ones would cost even more. Chance alone often causes a factor of 2 with so
/// few pairs.
const CLEARLY: f64 = 3.0;

/// If the first pair takes longer than this, seconds, although short runs were requested, the
/// harness ignores that, or an iteration takes long.
pub(crate) const SLOW_PAIR: f64 = 0.5;

/// The fraction of the time until the verdicts that the trial of another length may take.
const STAKE: f64 = 0.5;

/// The number of pairs for a verdict if nothing has changed, for a variance
/// equal to the square of the threshold: see `docs/data/error-rates.md`.
const PAIRS_PER_VARIANCE: f64 = 9.0;

/// The smallest difference from the threshold that has to be seen. At a threshold of 0 every length
/// would take forever without it, so that all were tried and the first was chosen.
const FINEST: f64 = 0.001;

/// The fraction of the absolute deviations that counts, the smaller ones: a quarter of
/// the pairs may be disturbed.
const CALM: f64 = 0.75;

/// The mean of the smaller three quarters of the absolute deviations of a standard normal
/// variable: 2/0.75 (f(0) - f(q)) with the density f and its quantile q at 0.875.
const CALM_MEAN: f64 = 0.5149;

/// What has to be decided about one metric of one benchmark.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TrialGate {
    /// The largest change that passes, a fraction.
    pub threshold: f64,
    /// The minimum number of pairs for a verdict.
    pub least: u64,
}

/// A length of runs, and how long a pair of them takes.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Length {
    /// How long a run measures each benchmark.
    pub(crate) run: RunLength,
    /// How long a pair takes, seconds.
    pub pair_seconds: f64,
}

impl Length {
    /// How long a run measures each benchmark, if that is set.
    pub fn time(&self) -> Option<Duration> {
        self.run.time()
    }
}

/// The trial of the lengths for one group of benchmarks. The caller measures a pair of
/// the [next](LengthTrial::next) length and [pushes](LengthTrial::push) the result.
#[derive(Debug)]
pub struct LengthTrial {
    gates: Vec<TrialGate>,
    /// What was tried, in the order of the lengths.
    tried: Vec<TriedLength>,
    /// How long it may take, seconds.
    budget: f64,
    is_over: bool,
}

#[derive(Debug)]
struct TriedLength {
    seconds: Vec<f64>,
    /// The logarithms of head/base, for each gate.
    logarithms: Vec<Vec<f64>>,
}

impl LengthTrial {
    /// Of these gates, before the first pair. Only the first length is tried if all that are tried
    /// would take longer than `budget`, seconds.
    pub fn new(gates: Vec<TrialGate>, budget: f64) -> Self {
        let first = TriedLength::new(gates.len());
        LengthTrial { gates, tried: vec![first], budget, is_over: false }
    }

    /// The length of the next pair; `None` once the best one is known.
    pub fn next(&self) -> Option<Duration> {
        let length = LENGTHS.get(self.tried.len() - 1).filter(|_| !self.is_over)?;
        Some(Duration::from_millis(*length))
    }

    /// Whether a pair that takes so long, seconds, ends the trial: it is the first one and slow, or
    /// was stopped. A later one may be slow because the machine was busy, or its runs are longer.
    pub(crate) fn is_slow(&self, seconds: f64) -> bool {
        let is_first = self.tried[0].seconds.is_empty();
        seconds.is_infinite() || is_first && seconds > SLOW_PAIR
    }

    /// Adds a pair of the next length: its time, and head/base for each gate.
    pub fn push(&mut self, seconds: f64, ratios: &[f64]) {
        let Some(attempt) = self.tried.last_mut() else { return };
        attempt.seconds.push(seconds);
        for (logarithms, ratio) in attempt.logarithms.iter_mut().zip(ratios) {
            logarithms.push(ratio.ln());
        }
        if attempt.seconds.len() == PAIRS {
            self.next_length();
        }
    }

    /// Begins the next length, or ends the trial.
    fn next_length(&mut self) {
        let costs: Vec<f64> = self.tried.iter().map(|one| one.cost(&self.gates)).collect();
        let best = costs.iter().copied().fold(f64::INFINITY, f64::min);
        let now = self.tried.len() - 1;
        let latest = &self.tried[now];
        let next = LENGTHS.get(now + 1).map(|next| {
            // A pair of the next length takes at most this many times as long.
            let factor = *next as f64 / LENGTHS[now] as f64;
            PAIRS as f64 * factor * latest.pair_seconds()
        });
        let spent: f64 = self.tried.iter().flat_map(|one| &one.seconds).sum();
        let most = (STAKE * best).min(self.budget - spent);
        self.is_over = latest.is_least(&self.gates)
            || costs[now] > CLEARLY * best
            || next.is_none_or(|seconds| seconds > most);
        if !self.is_over {
            self.tried.push(TriedLength::new(self.gates.len()));
        }
    }

    /// The best of the lengths that were tried; `None` without a complete attempt.
    pub fn best(&self) -> Option<Length> {
        let whole = self.tried.iter().zip(LENGTHS).filter(|(one, _)| one.seconds.len() == PAIRS);
        let cost = |one: &TriedLength| one.cost(&self.gates);
        let best = whole.min_by(|(one, _), (other, _)| cost(one).total_cmp(&cost(other)));
        best.map(|(attempt, length)| Length {
            run: RunLength::Time(Duration::from_millis(length)),
            pair_seconds: attempt.pair_seconds(),
        })
    }
}

impl TriedLength {
    fn new(gates: usize) -> Self {
        TriedLength { seconds: Vec::new(), logarithms: vec![Vec::new(); gates] }
    }

    fn pair_seconds(&self) -> f64 {
        median_of(self.seconds.iter().copied()).unwrap_or(f64::INFINITY)
    }

    /// The expected number of pairs for each gate.
    fn pairs<'a>(&'a self, gates: &'a [TrialGate]) -> impl Iterator<Item = f64> + 'a {
        self.logarithms.iter().zip(gates).map(|(logarithms, gate)| {
            let deviation = deviation(logarithms);
            PAIRS_PER_VARIANCE * (deviation / gate.threshold.abs().max(FINEST)).powi(2)
        })
    }

    /// Whether the minimum number of pairs is enough for every gate, so that longer
    /// runs would gain nothing.
    fn is_least(&self, gates: &[TrialGate]) -> bool {
        self.pairs(gates).zip(gates).all(|(pairs, one)| pairs <= one.least as f64)
    }

    /// The time until all verdicts, seconds.
    fn cost(&self, gates: &[TrialGate]) -> f64 {
        let pairs = self.pairs(gates).zip(gates);
        let pairs = pairs.map(|(pairs, one)| pairs.max(one.least as f64)).fold(1.0, f64::max);
        pairs * self.pair_seconds()
    }
}

/// The standard deviation of normal noise with the same central part: disturbances of a
/// quarter of the pairs do not count. Infinite if a value is not a number.
fn deviation(values: &[f64]) -> f64 {
    if values.iter().any(|value| !value.is_finite()) {
        return f64::INFINITY;
    }
    let Some(middle) = median_of(values.iter().copied()) else { return f64::INFINITY };
    let deviations = sorted(values.iter().map(|value| (value - middle).abs()));
    let calm = &deviations[..(CALM * deviations.len() as f64).ceil() as usize];
    calm.iter().sum::<f64>() / calm.len() as f64 / CALM_MEAN
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::tests::TestNoise;

    const GATE: TrialGate = TrialGate { threshold: 0.02, least: 14 };

    /// Tries runs with a start-up of 5 ms and this noise per pair. Returns the length,
    /// and the lengths of all pairs.
    fn choose(seed: u64, noise: impl Fn(f64) -> f64) -> (Length, Vec<u64>) {
        choose_for(GATE, seed, noise)
    }

    fn choose_for(gate: TrialGate, seed: u64, noise: impl Fn(f64) -> f64) -> (Length, Vec<u64>) {
        let mut random = TestNoise::seeded(seed);
        let mut trial = LengthTrial::new(vec![gate], f64::INFINITY);
        let mut tried = Vec::new();
        while let Some(length) = trial.next() {
            let milliseconds = 1e3 * length.as_secs_f64();
            let ratio = (noise(milliseconds) * random.normal()).exp();
            trial.push(2e-3 * (5.0 + 1.5 * milliseconds), &[ratio]);
            tried.push(length.as_millis() as u64);
        }
        (trial.best().unwrap(), tried)
    }

    #[test]
    fn what_is_quiet_is_tried_with_the_shortest_runs_only() {
        let (length, tried) = choose(1, |_| 0.001);
        assert_eq!(length.run, RunLength::Time(Duration::from_millis(1)));
        assert!((length.pair_seconds - 0.013).abs() < 1e-12);
        assert_eq!(tried, [1; PAIRS]);
    }

    /// By how much the chosen lengths make a verdict more expensive than the best one,
    /// on average, and the lengths.
    fn regret(noise: impl Fn(f64) -> f64) -> (f64, Vec<u128>) {
        let cost = |time: f64| (5.0 + 1.5 * time) * noise(time).powi(2);
        let best = LENGTHS.map(|time| cost(time as f64)).into_iter().fold(f64::MAX, f64::min);
        let chosen = (0..200).map(|seed| choose(seed, &noise).0.run.time().unwrap().as_millis());
        let chosen: Vec<u128> = chosen.collect();
        let regrets = chosen.iter().map(|time| cost(*time as f64) / best);
        (regrets.sum::<f64>() / chosen.len() as f64, chosen)
    }

    #[test]
    fn a_verdict_costs_little_more_than_with_the_best_length() {
        // Noise that averages out: the shortest runs would cost 4.2 times as much as the
        // longest.
        let (long, chosen) = regret(|time| 0.5 / time.sqrt());
        assert!(long < 1.8, "{long} {chosen:?}");
        // Noise that does not: the longest would cost 24 times as much.
        let (same, chosen) = regret(|_| 0.1);
        assert!(same < 1.8, "{same} {chosen:?}");
        // The more the longer they are.
        let (short, chosen) = regret(|time| 0.05 * time.sqrt());
        assert!(short < 1.5, "{short} {chosen:?}");
    }

    #[test]
    fn without_a_threshold_the_length_is_still_that_of_the_least_time() {
        let gate = TrialGate { threshold: 0.0, ..GATE };
        let (length, tried) = choose_for(gate, 1, |_| 0.001);
        assert_eq!((length.run.time(), tried.len()), (Some(Duration::from_millis(1)), PAIRS));
        let (length, _) = choose_for(gate, 1, |time| 0.5 / time.sqrt());
        assert!(length.run.time() > Some(Duration::from_millis(3)), "{length:?}");
    }

    #[test]
    fn only_the_first_pair_shows_that_runs_can_not_be_short() {
        let mut trial = LengthTrial::new(vec![GATE], 10.0);
        assert!(trial.is_slow(0.6) && trial.is_slow(f64::INFINITY) && !trial.is_slow(0.4));
        trial.push(0.01, &[1.0]);
        assert!(!trial.is_slow(0.6) && trial.is_slow(f64::INFINITY));
        // One of eight was disturbed.
        (0..6).for_each(|_| trial.push(0.01, &[1.0]));
        trial.push(0.6, &[1.0]);
        let best = trial.best().unwrap();
        assert_eq!((best.time(), best.pair_seconds), (Some(Duration::from_millis(1)), 0.01));
    }

    #[test]
    fn longer_runs_are_tried_only_as_long_as_there_is_time() {
        for (budget, lengths) in [(f64::INFINITY, 5), (43.0, 4), (0.0, 1)] {
            let mut trial = LengthTrial::new(vec![GATE], budget);
            let mut random = TestNoise::seeded(1);
            let mut tried = Vec::new();
            while let Some(length) = trial.next() {
                // 40 benchmarks in a process.
                let ratio = (0.02 / length.as_secs_f64() * random.normal()).exp();
                trial.push(3.0 * 40.0 * length.as_secs_f64(), &[ratio]);
                tried.push(length);
            }
            tried.dedup();
            assert_eq!(tried.len(), lengths, "{budget}: {tried:?}");
        }
    }

    #[test]
    fn one_disturbed_pair_does_not_count() {
        let calm = [0.01, -0.01, 0.005, -0.003, 0.002, 0.0, -0.006, 0.004];
        let mut disturbed = calm;
        disturbed[3] = 2.0;
        assert!((deviation(&calm) / deviation(&disturbed) - 1.0).abs() < 0.4);
        let mut random = TestNoise::seeded(5);
        let all: Vec<f64> = (0..100_000).map(|_| 3.0 * random.normal()).collect();
        assert!((deviation(&all) / 3.0 - 1.0).abs() < 0.01);
        assert_eq!(deviation(&[0.0, f64::NAN]), f64::INFINITY);
        assert_eq!(deviation(&[]), f64::INFINITY);
    }

    #[test]
    fn the_noisiest_gate_of_a_group_counts_and_a_trial_that_is_cut_short_has_no_answer() {
        let mut trial = LengthTrial::new(vec![GATE, GATE], f64::INFINITY);
        for pair in 0..PAIRS {
            assert_eq!((trial.next(), trial.best()), (Some(Duration::from_millis(1)), None));
            let noise = if pair % 2 == 0 { 1.3 } else { 0.7 };
            trial.push(0.01, &[1.0, noise]);
        }
        assert_eq!(trial.next(), Some(Duration::from_millis(3)));
        assert!(trial.best().is_some());
        // From zero to something, there is no logarithm: it stays undecided, and ends.
        let mut zero = LengthTrial::new(vec![GATE], f64::INFINITY);
        while zero.next().is_some() {
            zero.push(0.01, &[f64::INFINITY]);
        }
        assert_eq!(zero.best().and_then(|best| best.run.time()), Some(Duration::from_millis(1)));
    }
}
