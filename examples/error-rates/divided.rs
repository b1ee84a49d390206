//! A large suite whose benchmarks are divided among machines of unequal speed.

use std::fmt::Write;

use cargo_cbdr::model::estimator::Estimator;
use cargo_cbdr::model::metric::Better;
use cargo_cbdr::model::shard::{Divisible, Shard, sharers};
use cargo_cbdr::stats::estimator::{Decision, Levels, Running};
use cargo_cbdr::stats::family::{SharedTest, alarms};

use super::noise::{Noise, Random, Source};
use super::plan::Size;
use super::tables::{head, row, words};
use super::trial::{THRESHOLD, error_of_rate};

/// The promised probability of any wrong alarm in a comparison.
const LEVEL: f64 = 0.05;

const BENCHMARKS: usize = 3000;

/// One in so many is unaffected.
const UNAFFECTED: usize = 3;

/// Machines, and what they measure. If there are more shards than machines, each machine measures
/// the next one when it is free.
struct Park {
    machines: usize,
    shards: usize,
    /// Whether all are as fast as the first.
    are_alike: bool,
    /// Whether a pack has the times of the benchmarks.
    has_times: bool,
    /// How many shards are lost.
    lost: &'static [usize],
}

const fn park(machines: usize, shards: usize, lost: &'static [usize]) -> Park {
    Park { machines, shards, are_alike: false, has_times: true, lost }
}

const PARKS: [Park; 8] = [
    park(1, 1, &[0]),
    park(2, 2, &[0]),
    Park { are_alike: true, ..park(8, 8, &[0]) },
    Park { has_times: false, ..park(8, 8, &[0]) },
    park(8, 8, &[0, 1]),
    park(8, 32, &[0]),
    park(16, 64, &[0]),
    park(64, 64, &[0, 3]),
];

/// How long the same takes on each machine.
const SPEEDS: [f64; 8] = [1.0, 1.7, 0.6, 2.5, 1.2, 0.8, 3.0, 1.5];

/// How long it takes to unpack and to run each program once, for each shard, and to trace an
/// unaffected benchmark, seconds.
const START: f64 = 10.0;
const TRACE: f64 = 0.075;

/// How well a single pair tells how long others take: the deviation of the logarithm.
const KNOWN: f64 = 0.3;

/// How many benchmarks are slower, and by how much.
const SLOWER: (usize, f64) = (20, 0.05);

/// The most pairs of a benchmark where some are slower, and where none is.
const PAIRS: [u32; 2] = [60, 1000];

const NOISE: Noise = Noise::Normal(0.03);

/// What a machine found of one benchmark.
struct Found {
    shard: usize,
    is_slower: bool,
    /// By the machine itself.
    decision: Option<Decision>,
    test: SharedTest,
    seconds: f64,
}

/// What all machines together say.
#[derive(Default)]
struct Told {
    wrong_alarms: usize,
    wrong_clears: usize,
    /// Of those that are slower.
    by_machines: usize,
    together: usize,
    not_measured: usize,
    /// Until the slowest machine has ended.
    seconds: f64,
}

/// A benchmark: how long a pair of it takes on the first machine, seconds.
fn seconds_of_pair(random: &mut Random) -> f64 {
    (0.015 * random.normal().exp()).clamp(0.01, 1.0)
}

/// Measures all benchmarks, of which `slower` are slower by a part; the others' change is `change`.
fn measured(
    &Park { shards: of, has_times, .. }: &Park,
    slower: (usize, f64),
    change: f64,
    most: u32,
    seed: u64,
) -> Vec<Found> {
    let random = &mut Random::seeded(seed);
    let source = &mut Source::new(NOISE);
    let seconds: Vec<f64> = (0..BENCHMARKS).map(|_| seconds_of_pair(random)).collect();
    let benchmarks: Vec<Divisible> = (0..BENCHMARKS)
        .map(|number| {
            let benchmark = format!("benchmark {number}");
            let pairs = if number.is_multiple_of(UNAFFECTED) { 1.0 } else { 14.0 };
            let known = pairs * seconds[number] * (KNOWN * random.normal()).exp();
            let together = benchmark.clone();
            Divisible { benchmark, together, seconds: if has_times { known } else { 0.0 } }
        })
        .collect();
    let shard = Shard::divide(&benchmarks, &seed.to_string(), of as u64).unwrap_or_default();
    let shard: Vec<usize> = shard.iter().map(|shard| *shard as usize - 1).collect();
    let affected: Vec<usize> =
        (0..BENCHMARKS).filter(|number| !number.is_multiple_of(UNAFFECTED)).collect();
    let count = |all: &[usize], one| all.iter().filter(|shard| **shard == one).count();
    let left: Vec<usize> = affected.iter().map(|number| shard[*number]).collect();
    let sharing: Vec<usize> =
        (0..of).map(|one| sharers(BENCHMARKS, count(&shard, one), count(&left, one))).collect();
    let mut all = Vec::new();
    for (place, number) in affected.into_iter().enumerate() {
        let shard = shard[number];
        let change = if place < slower.0 { slower.1 } else { change };
        let levels = Levels::new(1.0 - LEVEL, sharing[shard]);
        let mut running = Running::new(Estimator::Robust, Better::Lower, levels);
        running.track(THRESHOLD);
        let (mut decision, mut pairs) = (None, 0);
        while decision.is_none() && pairs < most {
            let (one, other) = source.pair(random);
            let (base, head) = if random.coin() { (one, other) } else { (other, one) };
            running.push(base, head * (1.0 + change));
            decision = running.decide(THRESHOLD);
            pairs += 1;
        }
        let alarm_among = match decision {
            Some(Decision::NoRegression) => 0,
            _ => running.alarm_among(THRESHOLD, 1.0 - LEVEL),
        };
        all.push(Found {
            shard,
            is_slower: change > THRESHOLD,
            decision,
            test: SharedTest { share: 1.0 / sharing[shard] as f64, alarm_among },
            seconds: f64::from(pairs) * seconds[number],
        });
    }
    all
}

/// What the machines say after the first `lost` shards were lost.
fn told(all: &[Found], park: &Park, lost: usize) -> Told {
    let kept: Vec<&Found> = all.iter().filter(|found| found.shard >= lost).collect();
    let mut tests: Vec<SharedTest> = kept.iter().map(|found| found.test).collect();
    let of_lost = all.iter().filter(|found| found.shard < lost).map(|found| found.test.share);
    tests.push(SharedTest { share: of_lost.sum(), alarm_among: 0 });
    let mut told = Told { not_measured: all.len() - kept.len(), ..Told::default() };
    let trace = TRACE * BENCHMARKS as f64 / UNAFFECTED as f64 / park.shards as f64;
    let mut seconds = vec![START + trace; park.shards];
    for (found, among) in kept.into_iter().zip(alarms(&tests)) {
        let is_own = found.decision == Some(Decision::Regression);
        assert!(!is_own || among.is_some(), "what a machine found is found together");
        told.wrong_alarms += usize::from(among.is_some() && !found.is_slower);
        let is_clear = found.decision == Some(Decision::NoRegression);
        told.wrong_clears += usize::from(is_clear && found.is_slower);
        told.by_machines += usize::from(is_own && found.is_slower);
        told.together += usize::from(among.is_some() && found.is_slower);
        seconds[found.shard] += found.seconds;
    }
    told.seconds = last_end(&seconds, park);
    told
}

/// When the last machine ends; each takes the next shard when it is free.
fn last_end(shards: &[f64], park: &Park) -> f64 {
    let mut free = vec![0.0; park.machines];
    for shard in shards {
        let first = |one: &usize, other: &usize| f64::total_cmp(&free[*one], &free[*other]);
        let machine = (0..park.machines).min_by(first).unwrap_or(0);
        let speed = if park.are_alike { 1.0 } else { SPEEDS[machine % SPEEDS.len()] };
        free[machine] += speed * shard;
    }
    free.into_iter().fold(0.0, f64::max)
}

/// A mean; nothing if there is none.
fn number(digits: usize, mean: f64) -> String {
    if mean.is_nan() { String::new() } else { format!("{mean:.digits$}") }
}

/// The table.
pub fn table(size: &Size, seed: u64) -> String {
    let runs = u64::from(size.runs / 40).max(1);
    let clear = runs.div_ceil(4);
    let mut out = String::new();
    let _ = writeln!(
        out,
        "# Benchmarks divided among machines\n\nMade by `cargo run --release --example error-rates \
         -- --divided`, seed {seed}: {BENCHMARKS} benchmarks, one in {UNAFFECTED} of them \
         unaffected, divided as `compare --shard` does, and combined as `analyze --combine` does. \
         Pairs have normal noise of 3 % and take 10 ms to 1 s on the first machine, so that a \
         benchmark takes about one second, as in [real suites](real-suites.md), where it was 0.3 to \
         1.6. A shard takes {START:.0} s more to begin, and {TRACE} s for each unaffected benchmark. \
         The other machines take 0.6 to 3 times as long. The threshold is 2 %.\n\n\
         *Nothing is slower*: {clear} comparisons without any change, until each benchmark has its \
         verdict. *Some are slower*: {runs} comparisons in which {} are slower by {:.0} % and all \
         others by exactly the threshold, so that any alarm about them is wrong, after {} pairs of \
         each; the standard error of 5 % is {:.1} %.",
        SLOWER.0,
        100.0 * SLOWER.1,
        PAIRS[0],
        100.0 * error_of_rate(LEVEL, runs as u32),
    );
    let columns = [
        "machines",
        "as fast",
        "shards",
        "divided by",
        "lost",
        "nothing is slower: seconds to the verdict",
        "any alarm, %",
        "some are slower: any wrong alarm, % (promised 5 %)",
        "wrong all-clears, % (promised 5 %)",
        "found by the machines",
        "found together",
        "not measured",
    ];
    head(&mut out, "Means of all comparisons", &words(&columns));
    for park in &PARKS {
        let simulated = |runs: u64, slower, change, most| -> Vec<Vec<Found>> {
            let one = |run| measured(park, slower, change, most, seed + run);
            std::thread::scope(|scope| {
                let half = scope.spawn(|| (0..runs / 2).map(one).collect::<Vec<_>>());
                let rest: Vec<_> = (runs / 2..runs).map(one).collect();
                half.join().expect("it does not panic").into_iter().chain(rest).collect()
            })
        };
        let none = simulated(clear, (0, 0.0), 0.0, PAIRS[1]);
        // Machines change nothing about errors, but shards do.
        let runs = if park.machines == park.shards && !park.are_alike && park.has_times {
            runs
        } else {
            0
        };
        let some = simulated(runs, SLOWER, THRESHOLD, PAIRS[0]);
        for lost in park.lost {
            let tell = |all: &[Vec<Found>]| -> Vec<Told> {
                all.iter().map(|found| told(found, park, *lost)).collect()
            };
            let (none, some) = (tell(&none), tell(&some));
            let mean = |all: &[Told], of: fn(&Told) -> f64| {
                all.iter().map(of).sum::<f64>() / all.len() as f64
            };
            let any = |told: &Told| 100.0 * f64::from(u8::from(told.wrong_alarms > 0));
            let share = |told: &Told| 100.0 * told.wrong_clears as f64 / SLOWER.0 as f64;
            row(
                &mut out,
                [
                    park.machines.to_string(),
                    if park.are_alike { "yes" } else { "no" }.to_owned(),
                    park.shards.to_string(),
                    if park.has_times { "times" } else { "names" }.to_owned(),
                    lost.to_string(),
                    format!("{:.0}", mean(&none, |told| told.seconds)),
                    format!("{:.1}", mean(&none, any)),
                    number(1, mean(&some, any)),
                    number(1, mean(&some, share)),
                    number(1, mean(&some, |told| told.by_machines as f64)),
                    number(1, mean(&some, |told| told.together as f64)),
                    number(0, mean(&some, |told| told.not_measured as f64)),
                ],
            );
        }
    }
    out
}
