//! A last look: part of the error of an all-clear is reserved for one test of all pairs at
//! the end, whose number is fixed beforehand. This was tried, but `compare` does not do it.

use std::fmt::Write;

use cargo_cbdr::model::estimator::Estimator;
use cargo_cbdr::model::metric::Better;
use cargo_cbdr::stats::estimator::{Decision, Levels, Running};
use cargo_cbdr::stats::quantile::student_t;

use super::noise::{Noise, Random, Source};
use super::plan::{CHANGES, Results, Simulated, Size};
use super::tables::{broken, head, row, words};
use super::trial::{THRESHOLD, Tally};

const LEVEL: f64 = 0.05;

/// How many pairs there may be.
const PAIRS: u32 = 60;

/// The parts of the error that are kept for the last look.
const KEPT: [f64; 3] = [0.0, 0.2, 0.5];

/// What is simulated.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LastLook {
    noise: Noise,
    change: f64,
    kept: f64,
    runs: u32,
}

impl LastLook {
    fn run(&self, source: &mut Source, random: &mut Random) -> (Option<Decision>, f64) {
        // Only the all-clear: an alarm within so few pairs needs no help.
        let early = Levels::new(1.0 - LEVEL * (1.0 - self.kept), 1);
        let mut running = Running::new(Estimator::Robust, Better::Lower, early);
        running.track(THRESHOLD);
        let mut distances = Vec::new();
        for pair in 1..=PAIRS {
            let (one, other) = source.pair(random);
            let (base, head) = if random.coin() { (one, other) } else { (other, one) };
            let head = head * (1.0 + self.change);
            running.push(base, head);
            distances.push((head / base).ln() - THRESHOLD.ln_1p());
            if let Some(decision) = running.decide(THRESHOLD) {
                return (Some(decision), pair.into());
            }
        }
        let clears = self.kept > 0.0 && signed_ranks(&distances) < critical(self.kept * LEVEL);
        (clears.then_some(Decision::NoRegression), PAIRS.into())
    }
}

/// Wilcoxon's signed ranks, standardised: far below 0 if most and the largest are negative.
fn signed_ranks(distances: &[f64]) -> f64 {
    let mut sorted = distances.to_vec();
    sorted.sort_by(|one, other| one.abs().total_cmp(&other.abs()));
    let ranks = sorted.iter().enumerate().filter(|(_, distance)| **distance > 0.0);
    let sum: f64 = ranks.map(|(rank, _)| (rank + 1) as f64).sum();
    let n = distances.len() as f64;
    let (mean, variance) = (n * (n + 1.0) / 4.0, n * (n + 1.0) * (2.0 * n + 1.0) / 24.0);
    (sum - mean) / variance.sqrt()
}

/// The quantile of the normal distribution.
fn critical(level: f64) -> f64 {
    student_t(level, 1e9).unwrap_or(f64::NEG_INFINITY)
}

impl Simulated for LastLook {
    fn tally(&self, seed: u64) -> Tally {
        Tally::simulated(self.runs, self.noise, seed, |source, random| self.run(source, random))
    }

    fn promised(&self) -> Option<(f64, f64)> {
        let clear = if self.change >= THRESHOLD { LEVEL } else { 1.0 };
        Some((LEVEL, clear))
    }
}

fn noises() -> impl Iterator<Item = Noise> {
    [Noise::Normal(0.03), Noise::Laplace].into_iter().chain(Noise::RECORDED)
}

fn cell(size: &Size, noise: Noise, change: f64, kept: f64) -> LastLook {
    LastLook { noise, change, kept, runs: size.runs }
}

const SHOWN: [f64; 3] = [CHANGES[0], CHANGES[1], THRESHOLD];

/// What the table needs.
pub fn cells(size: &Size) -> Vec<LastLook> {
    let of = |noise, change| KEPT.map(|kept| cell(size, noise, change, kept));
    noises().flat_map(|noise| SHOWN.into_iter().flat_map(move |change| of(noise, change))).collect()
}

/// The table.
pub fn table(size: &Size, results: &Results<LastLook>) -> String {
    let mut out = String::new();
    let _ = writeln!(
        out,
        "\n## A last look\n\n`robust` with at most {PAIRS} pairs, and a part of the error of an \
         all-clear reserved for one signed-rank test of all of them at the end. `compare` does not do \
         this."
    );
    let title = "Undecided, %, with none / a fifth / half of the error reserved; wrong all-clears at the \
                 threshold, %, promised 5 %";
    let columns = ["noise", "no change", "half the threshold", "wrong at the threshold"];
    head(&mut out, title, &words(&columns));
    for noise in noises() {
        let of = |change| KEPT.map(|kept| results.of(&cell(size, noise, change, kept)));
        let undecided = |tally: Tally| 100.0 * (1.0 - tally.clear_rate() - tally.alarm_rate());
        let text = |change, rate: &dyn Fn(Tally) -> f64| {
            of(change).map(|tally| format!("{:.1}", rate(tally))).join(" / ")
        };
        let cells = [
            text(SHOWN[0], &undecided),
            text(SHOWN[1], &undecided),
            text(SHOWN[2], &|tally| 100.0 * tally.clear_rate()),
        ];
        row(&mut out, std::iter::once(noise.name()).chain(cells));
    }
    broken(&mut out, results);
    out
}
