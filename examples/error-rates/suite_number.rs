//! One number for a suite: how often its verdict is wrong, and how many pairs of each benchmark it
//! takes to see that all are a little slower.

use std::fmt::Write;
use std::sync::Mutex;

use cargo_cbdr::model::estimator::Estimator;
use cargo_cbdr::model::metric::Better;
use cargo_cbdr::model::suite::SuiteNumber;
use cargo_cbdr::stats::estimator::{Decision, Levels, Running};
use cargo_cbdr::stats::rounds::Rounds;

use super::noise::{Noise, Random, Source};
use super::plan::Size;
use super::tables::{head, row, words};
use super::trial::error_of_rate;

const LEVEL: f64 = 0.05;

/// The threshold where the error is counted, which is also the true change.
const AT: f64 = 0.01;

/// How many benchmarks these suites have, and the most pairs of each.
const WRONG: (usize, u32) = (14, 150);

/// The largest benchmark takes this many times as long as the smallest one.
const SIZES: f64 = 100.0;

const NOISES: [Noise; 6] = [
    Noise::Normal(0.03),
    Noise::Contaminated,
    Noise::Pareto,
    Noise::Cauchy,
    Noise::Recorded("python"),
    Noise::Recorded("mem"),
];

/// Where all are slower by [`AT`]: the benchmarks, the thresholds, and the noise.
const EVERYWHERE: [usize; 3] = [14, 67, 300];
const THRESHOLDS: [f64; 2] = [0.0, 0.005];
const SLOWER: [Noise; 3] = [Noise::Normal(0.01), Noise::Normal(0.03), Noise::Recorded("python")];

/// The most pairs there, and how many comparisons there are of the smallest suite.
const PAIRS: u32 = 300;
const RUNS_PER_SIZE: u32 = 20;

/// The benchmarks of a suite.
struct Suite {
    number: SuiteNumber,
    sources: Vec<Source>,
    /// The time of each, and its change.
    benchmarks: Vec<(f64, f64)>,
}

impl Suite {
    /// The change of the number is [`AT`]. If they are `mixed`, every other benchmark is slower by
    /// 5 %, and the others are faster.
    fn new(number: SuiteNumber, noise: Noise, count: usize, mixed: bool) -> Self {
        let size = |place: usize| SIZES.powf(place as f64 / (count - 1) as f64);
        let slower = 5.0 * AT;
        let sum = |odd: usize| -> f64 { (odd..count).step_by(2).map(size).sum() };
        let faster = match number {
            SuiteNumber::Geomean => (1.0 + AT).powi(2) / (1.0 + slower) - 1.0,
            SuiteNumber::Sum => (AT * (sum(0) + sum(1)) - slower * sum(0)) / sum(1),
        };
        let change = |place: usize| match (mixed, place % 2) {
            (false, _) => AT,
            (true, 0) => slower,
            (true, _) => faster,
        };
        Suite {
            number,
            sources: (0..count).map(|_| Source::new(noise)).collect(),
            benchmarks: (0..count).map(|place| (size(place), change(place))).collect(),
        }
    }

    /// A pair of each.
    fn pairs(&mut self, random: &mut Random) -> Vec<(f64, f64)> {
        let all = self.sources.iter_mut().zip(&self.benchmarks);
        all.map(|(source, (size, change))| {
            let (one, other) = source.pair(random);
            let (base, head) = if random.coin() { (one, other) } else { (other, one) };
            (size * base, size * head * (1.0 + change))
        })
        .collect()
    }

    /// The pair of the suite, if a pair of each benchmark completes a round.
    fn together(&self, pairs: &[(f64, f64)], rounds: &mut Rounds) -> Option<(f64, f64)> {
        match self.number {
            SuiteNumber::Geomean => {
                let logs = pairs.iter().map(|(base, head)| (head / base).ln());
                let half = 0.5 * rounds.push(logs.collect())?;
                Some(((-half).exp(), half.exp()))
            }
            SuiteNumber::Sum => {
                let bases = pairs.iter().map(|(base, _)| base).sum();
                Some((bases, pairs.iter().map(|(_, head)| head).sum()))
            }
        }
    }
}

fn running(threshold: f64, tests: usize) -> Running {
    let levels = Levels::new(1.0 - LEVEL, tests);
    let mut running = Running::new(Estimator::Robust, Better::Lower, levels);
    running.track(threshold);
    running
}

/// How many of so many comparisons had an alarm, and how many an all-clear.
fn wrong(suite: &mut Suite, runs: u32, seed: u64) -> (u32, u32) {
    let mut random = Random::seeded(seed);
    let (mut alarms, mut clears) = (0, 0);
    for _ in 0..runs {
        suite.sources.iter_mut().for_each(Source::restart);
        let (mut running, mut rounds) = (running(AT, 1), Rounds::default());
        let decision = (0..WRONG.1).find_map(|_| {
            let pairs = suite.pairs(&mut random);
            let (base, head) = suite.together(&pairs, &mut rounds)?;
            running.push(base, head);
            running.decide(AT)
        });
        alarms += u32::from(decision == Some(Decision::Regression));
        clears += u32::from(decision == Some(Decision::NoRegression));
    }
    (alarms, clears)
}

/// In comparisons where all benchmarks are slower by [`AT`].
#[derive(Default)]
struct Seen {
    /// The pairs of each until the suite is a regression, and until the first benchmark is.
    suite: f64,
    first: f64,
    /// Where the suite is one.
    found: u32,
    /// The share of the benchmarks that is found alone within all pairs.
    alone: f64,
}

impl Seen {
    fn of(noise: Noise, count: usize, threshold: f64, runs: u32, seed: u64) -> Self {
        let mut random = Random::seeded(seed);
        let mut suite = Suite::new(SuiteNumber::Geomean, noise, count, false);
        let mut seen = Seen::default();
        for _ in 0..runs {
            suite.sources.iter_mut().for_each(Source::restart);
            let is_bad = |one: &Running| one.decide(threshold) == Some(Decision::Regression);
            let mut whole = running(threshold, count + 1);
            let mut open: Vec<Running> =
                (0..count).map(|_| running(threshold, count + 1)).collect();
            let (mut suite_at, mut first) = (None, None);
            let (mut rounds, mut alone) = (Rounds::default(), 0);
            for pairs in 1..=PAIRS {
                let all = suite.pairs(&mut random);
                if let (None, Some((base, head))) = (suite_at, suite.together(&all, &mut rounds)) {
                    whole.push(base, head);
                    suite_at = is_bad(&whole).then_some(pairs);
                }
                for (single, (base, head)) in open.iter_mut().zip(&all) {
                    if !is_bad(single) {
                        single.push(*base, *head);
                        if is_bad(single) {
                            alone += 1;
                            first.get_or_insert(pairs);
                        }
                    }
                }
            }
            seen.found += u32::from(suite_at.is_some());
            seen.suite += f64::from(suite_at.unwrap_or(PAIRS)) / f64::from(runs);
            seen.first += f64::from(first.unwrap_or(PAIRS)) / f64::from(runs);
            seen.alone += f64::from(alone) / f64::from(runs) / count as f64;
        }
        seen
    }
}

/// A thread that panics ends the program.
const LOCK: &str = "no thread panics";

/// Computes each of these on one of so many threads, in their order.
fn on_threads<T: Sync, R: Send>(
    of: &[T],
    threads: usize,
    result: impl Fn(&T) -> R + Sync,
) -> Vec<R> {
    let (next, all) = (Mutex::new(0..of.len()), Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                while let Some(place) = { next.lock().expect(LOCK).next() } {
                    let one = result(&of[place]);
                    all.lock().expect(LOCK).push((place, one));
                }
            });
        }
    });
    let mut all = all.into_inner().expect(LOCK);
    all.sort_by_key(|(place, _)| *place);
    all.into_iter().map(|(_, one)| one).collect()
}

/// The tables.
pub fn tables(size: &Size, threads: usize, seed: u64) -> String {
    let mut out = String::new();
    let _ = writeln!(
        out,
        "# One number for a suite\n\nMade by `cargo run --release --example error-rates -- \
         --suite-number`, seed {seed}. The test of `robust` gets each round as one pair: for the \
         geometric mean one pair of each benchmark, or the medians of several where that is cheaper; \
         for the sum one. The benchmarks' times are up to a factor of {SIZES} apart."
    );
    at_threshold(&mut out, size, threads, seed);
    everywhere(&mut out, size, threads, seed);
    out
}

fn at_threshold(out: &mut String, size: &Size, threads: usize, seed: u64) {
    let title = format!(
        "Wrong verdicts at the threshold, %, promised 5 % of each kind: alarms / all-clears of {} \
         benchmarks within {} pairs of each, {} comparisons (standard error at 5 %: {:.1} %)",
        WRONG.0,
        WRONG.1,
        size.runs,
        100.0 * error_of_rate(LEVEL, size.runs)
    );
    let columns = ["noise", "geomean: all by 1 %", "half by 5 %", "sum: all by 1 %", "half by 5 %"];
    head(out, &title, &words(&columns));
    let kinds = SuiteNumber::ALL.into_iter().flat_map(|number| [(number, false), (number, true)]);
    let kinds: Vec<_> = kinds.collect();
    let cells: Vec<_> =
        NOISES.iter().flat_map(|noise| kinds.iter().map(move |kind| (*noise, *kind))).collect();
    let rates = on_threads(&cells, threads, |(noise, (number, mixed))| {
        let (alarms, clears) =
            wrong(&mut Suite::new(*number, *noise, WRONG.0, *mixed), size.runs, seed);
        let percent = |count: u32| 100.0 * f64::from(count) / f64::from(size.runs);
        format!("{:.1} / {:.1}", percent(alarms), percent(clears))
    });
    for (noise, rates) in NOISES.iter().zip(rates.chunks(kinds.len())) {
        row(out, [noise.name()].into_iter().chain(rates.iter().cloned()));
    }
}

fn everywhere(out: &mut String, size: &Size, threads: usize, seed: u64) {
    let runs = size.runs / RUNS_PER_SIZE;
    let title = format!(
        "All benchmarks slower by 1 %: pairs of each until the geometric mean is a regression, until \
         the first benchmark is one by itself, and the share of the benchmarks that is found within \
         {PAIRS} pairs. All share 5 %. {runs} comparisons of 14, fewer of more"
    );
    let columns = [
        "noise",
        "benchmarks",
        "threshold, %",
        "geomean: pairs",
        "found, %",
        "first benchmark: pairs",
        "benchmarks found, %",
    ];
    head(out, &title, &words(&columns));
    let mut cells = Vec::new();
    for noise in SLOWER {
        for count in EVERYWHERE {
            cells.extend(THRESHOLDS.map(|threshold| (noise, count, threshold)));
        }
    }
    let few = |count: usize| (runs * EVERYWHERE[0] as u32 / count as u32).max(10);
    let seen = on_threads(&cells, threads, |(noise, count, threshold)| {
        Seen::of(*noise, *count, *threshold, few(*count), seed)
    });
    for ((noise, count, threshold), seen) in cells.iter().zip(seen) {
        let pairs = |found: bool, pairs: f64| match found {
            true => format!("{pairs:.1}"),
            false => format!("> {PAIRS}"),
        };
        let cells = [
            noise.name(),
            count.to_string(),
            format!("{:.1}", 100.0 * threshold),
            pairs(seen.found > 0, seen.suite),
            format!("{:.0}", 100.0 * f64::from(seen.found) / f64::from(few(*count))),
            pairs(seen.alone > 0.0, seen.first),
            format!("{:.1}", 100.0 * seen.alone),
        ];
        row(out, cells);
    }
}
