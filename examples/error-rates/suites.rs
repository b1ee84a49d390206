//! Suites: many benchmarks that share the probability of a false alarm.

use std::fmt::Write;

use cargo_cbdr::model::estimator::Estimator;
use cargo_cbdr::model::metric::Better;
use cargo_cbdr::stats::estimator::{Decision, Running};
use cargo_cbdr::stats::family::Family;

use super::noise::{Noise, Random, Source};
use super::plan::{Results, Simulated, Size};
use super::tables::{broken, head, row, words};
use super::trial::{THRESHOLD, Tally};

/// The promised probability of any wrong alarm in a comparison.
const LEVEL: f64 = 0.05;

/// How many benchmarks there are.
const BENCHMARKS: [usize; 2] = [14, 200];

/// How many of them are slower, and by how much.
const SLOWER: [(usize, f64); 4] = [(1, 0.05), (4, 0.05), (14, 0.03), (100, 0.03)];

/// How many pairs each benchmark has when the names are counted.
const ROUNDS: u32 = 60;

/// How many where nothing is slower.
const NULL_ROUNDS: u32 = 150;

const NOISES: [Noise; 2] = [Noise::Normal(0.03), Noise::Recorded("python")];

/// What a simulated suite is asked.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Asked {
    /// Whether anything is slower, by what is found at an equal share for each.
    AnyByShares,
    /// The same by the average of the evidence.
    AnyByAverage,
    /// Which are slower, each held to an equal share.
    WhichByShares,
    /// The same step by step.
    WhichByHolm,
}

/// What is simulated.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Suite {
    pub asked: Asked,
    noise: Noise,
    pub benchmarks: usize,
    /// How many are slower, and by how much; the others' change is the threshold.
    pub slower: (usize, f64),
    runs: u32,
    rounds: u32,
}

/// One benchmark.
struct Benchmark {
    running: Running,
    change: f64,
    is_found: bool,
}

impl Suite {
    /// Whether anything was said that is wrong, when something was said first, and how many
    /// that are slower were found.
    fn run(&self, source: &mut Source, random: &mut Random) -> (bool, Option<u32>, usize) {
        let mut family = Family::new(1.0 - LEVEL, self.benchmarks);
        let (slower, change) = self.slower;
        let mut all: Vec<Benchmark> = (0..self.benchmarks)
            .map(|number| {
                let mut running = Running::new(Estimator::Robust, Better::Lower, family.levels());
                running.track(THRESHOLD);
                let change = if number < slower { change } else { THRESHOLD };
                Benchmark { running, change, is_found: false }
            })
            .collect();
        family.weigh(0.0, self.benchmarks as f64);
        let mut first = None;
        for round in 1..=self.rounds {
            for benchmark in all.iter_mut().filter(|benchmark| !benchmark.is_found) {
                let (one, other) = source.pair(random);
                let (base, head) = if random.coin() { (one, other) } else { (other, one) };
                let before = benchmark.running.evidence(THRESHOLD);
                benchmark.running.push(base, head * (1.0 + benchmark.change));
                family.weigh(before, benchmark.running.evidence(THRESHOLD));
                benchmark.look();
            }
            if self.asked == Asked::WhichByHolm {
                let found = |all: &[Benchmark]| all.iter().filter(|one| one.is_found).count();
                while let Some(levels) = family.found(found(&all)) {
                    for benchmark in all.iter_mut().filter(|benchmark| !benchmark.is_found) {
                        benchmark.running.relax(levels);
                        benchmark.look();
                    }
                }
            }
            let is_any = match self.asked {
                Asked::AnyByAverage => family.is_slower(),
                _ => all.iter().any(|benchmark| benchmark.is_found),
            };
            if is_any && first.is_none() {
                first = Some(round);
                if matches!(self.asked, Asked::AnyByShares | Asked::AnyByAverage) {
                    break;
                }
            }
        }
        let found = |wrong: bool| {
            let is_wrong = |benchmark: &&Benchmark| (benchmark.change <= THRESHOLD) == wrong;
            all.iter().filter(is_wrong).filter(|benchmark| benchmark.is_found).count()
        };
        let is_wrong = match self.asked {
            Asked::AnyByShares | Asked::AnyByAverage => slower == 0 && first.is_some(),
            Asked::WhichByShares | Asked::WhichByHolm => found(true) > 0,
        };
        (is_wrong, first, found(false))
    }
}

impl Benchmark {
    fn look(&mut self) {
        self.is_found |= self.running.decide(THRESHOLD) == Some(Decision::Regression);
    }
}

impl Simulated for Suite {
    /// An alarm is a wrong one. The pairs are the rounds to the first alarm, or the number of
    /// names that were found.
    fn tally(&self, seed: u64) -> Tally {
        Tally::simulated(self.runs, self.noise, seed, |source, random| {
            let (is_wrong, first, names) = self.run(source, random);
            let number = match self.asked {
                Asked::AnyByShares | Asked::AnyByAverage => first.unwrap_or(self.rounds).into(),
                Asked::WhichByShares | Asked::WhichByHolm => names as f64,
            };
            (is_wrong.then_some(Decision::Regression), number)
        })
    }

    fn promised(&self) -> Option<(f64, f64)> {
        Some((LEVEL, 1.0))
    }
}

/// A suite of which nothing is slower.
fn null(size: &Size, asked: Asked, noise: Noise, benchmarks: usize) -> Suite {
    let runs = runs(size, benchmarks);
    Suite { asked, noise, benchmarks, slower: (0, 0.0), runs, rounds: NULL_ROUNDS }
}

/// How many comparisons there are, so that all take about the same time.
fn runs(size: &Size, benchmarks: usize) -> u32 {
    size.runs / if benchmarks > 100 { 8 } else { 1 }
}

/// Where some are slower.
fn some(size: &Size, asked: Asked, noise: Noise, benchmarks: usize) -> impl Iterator<Item = Suite> {
    let rounds = ROUNDS;
    let suite = Suite { rounds, ..null(size, asked, noise, benchmarks) };
    let some = SLOWER.into_iter().filter(move |(slower, _)| *slower <= benchmarks);
    some.map(move |slower| Suite { slower, ..suite })
}

const ANY: [Asked; 2] = [Asked::AnyByShares, Asked::AnyByAverage];
const WHICH: [Asked; 2] = [Asked::WhichByShares, Asked::WhichByHolm];

/// What the table needs.
pub fn cells(size: &Size) -> Vec<Suite> {
    let mut cells = Vec::new();
    for (noise, benchmarks) in combinations() {
        cells.extend(ANY.map(|asked| null(size, asked, noise, benchmarks)));
        for asked in ANY.into_iter().chain(WHICH) {
            cells.extend(some(size, asked, noise, benchmarks));
        }
    }
    cells
}

fn combinations() -> impl Iterator<Item = (Noise, usize)> {
    NOISES.into_iter().flat_map(|noise| BENCHMARKS.map(|benchmarks| (noise, benchmarks)))
}

/// The tables.
pub fn tables(size: &Size, results: &Results<Suite>) -> String {
    let mut out = String::new();
    let _ = writeln!(
        out,
        "\n## Suites\n\nComparisons of suites, a pair of each benchmark in turn. Benchmarks that \
         are not slower have a change of exactly the threshold, so each alarm about them is wrong. \
         *Shares*: each benchmark is tested at an equal share of the 5 %. *Average*: the average \
         of the evidence of all benchmarks. *Holm*: a regression that is found passes its share on \
         to the others, as in `compare`. \
         {} comparisons of 14 benchmarks, {} of 200.",
        runs(size, BENCHMARKS[0]),
        runs(size, BENCHMARKS[1]),
    );
    let title = format!(
        "Any wrong alarm where nothing is slower, %, promised 5 %, within {NULL_ROUNDS} pairs each"
    );
    head(&mut out, &title, &words(&["noise", "benchmarks", "shares (and Holm)", "average"]));
    let wrong = |suite: &Suite| format!("{:.1}", 100.0 * results.of(suite).alarm_rate());
    for (noise, benchmarks) in combinations() {
        let rates = ANY.map(|asked| wrong(&null(size, asked, noise, benchmarks)));
        row(&mut out, [noise.name(), benchmarks.to_string()].into_iter().chain(rates));
    }
    let title = format!(
        "Where some are slower: pairs of each benchmark to the first alarm; after {ROUNDS} pairs \
         how many of the slower ones are found, and any wrong alarm, %"
    );
    let columns = [
        "noise",
        "benchmarks",
        "slower",
        "first alarm: shares",
        "average",
        "found: shares",
        "Holm",
        "wrong: shares",
        "Holm",
    ];
    head(&mut out, &title, &words(&columns));
    for (noise, benchmarks) in combinations() {
        let of = |asked| some(size, asked, noise, benchmarks).collect::<Vec<Suite>>();
        let (any, which) = (ANY.map(of), WHICH.map(of));
        for number in 0..any[0].len() {
            let (slower, by) = any[0][number].slower;
            let named =
                [noise.name(), benchmarks.to_string(), format!("{slower} by {:.0} %", 100.0 * by)];
            let mean = |suite: &Suite| format!("{:.1}", results.of(suite).mean_pairs());
            let first = any.each_ref().map(|suites| mean(&suites[number]));
            let found = which.each_ref().map(|suites| mean(&suites[number]));
            let wrong = which.each_ref().map(|suites| wrong(&suites[number]));
            row(&mut out, named.into_iter().chain(first).chain(found).chain(wrong));
        }
    }
    broken(&mut out, results);
    out
}
