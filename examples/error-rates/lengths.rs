//! What it gains that the pairs of the trial of run lengths count, and that verdicts stay as rare
//! as promised at the threshold.

use std::fmt::Write;
use std::time::Duration;

use cargo_cbdr::engine::trial::{LengthTrial, TrialGate};
use cargo_cbdr::model::estimator::Estimator;
use cargo_cbdr::model::metric::Better;
use cargo_cbdr::stats::estimator::{Decision, Levels, Running};

use super::noise::Random;
use super::plan::Size;
use super::tables::{head, row, words};
use super::trial::{THRESHOLD, Tally};

/// How much ln(head/base) of a pair varies, given how long its runs measure, milliseconds.
struct Noise {
    name: &'static str,
    deviation: fn(f64) -> f64,
}

const NOISES: [Noise; 5] = [
    Noise { name: "0.2 % at every length", deviation: |_| 0.002 },
    Noise { name: "4.2 % (runs: normal 3 %)", deviation: |_| 0.0424 },
    Noise { name: "10 %", deviation: |_| 0.1 },
    Noise { name: "10 % / √ms", deviation: |time| 0.1 / time.sqrt() },
    Noise { name: "5 % · √ms", deviation: |time| 0.05 * time.sqrt() },
];

/// A pair takes as long as two starts of a process and the runs with their warm-ups, seconds.
fn pair_seconds(milliseconds: f64) -> f64 {
    2e-3 * (5.0 + 1.5 * milliseconds)
}

/// A comparison with a trial. Returns its verdict, all its pairs and their time.
fn compare(
    noise: &Noise,
    change: f64,
    (counts, most): (bool, u32),
    random: &mut Random,
) -> (Option<Decision>, f64, f64) {
    let levels = Levels::new(0.95, 1);
    let least = Estimator::Robust.least_pairs(levels).unwrap_or(1);
    let mut trial =
        LengthTrial::new(vec![TrialGate { threshold: THRESHOLD, least }], f64::INFINITY);
    let mut running = Running::new(Estimator::Robust, Better::Lower, levels);
    running.track(THRESHOLD);
    let (mut decision, mut seconds, mut pairs) = (None, 0.0, 0);
    while pairs < most {
        let tried = trial.next();
        if tried.is_none() && decision.is_some() {
            break;
        }
        let chosen = || trial.best().and_then(|best| best.time());
        let length = tried.or_else(chosen).unwrap_or(Duration::from_millis(1));
        let milliseconds = 1e3 * length.as_secs_f64();
        let deviation = (noise.deviation)(milliseconds) / std::f64::consts::SQRT_2;
        let base = (deviation * random.normal()).exp();
        let head = (1.0 + change) * (deviation * random.normal()).exp();
        seconds += pair_seconds(milliseconds);
        pairs += 1;
        if decision.is_none() && (counts || tried.is_none()) {
            running.push(base, head);
            decision = running.decide(THRESHOLD);
        }
        if tried.is_some() {
            trial.push(pair_seconds(milliseconds), &[head / base]);
        }
    }
    (decision, f64::from(pairs), seconds)
}

/// The table.
pub fn table(size: &Size, seed: u64) -> String {
    let mut out = String::new();
    let _ = writeln!(
        out,
        "\n## Pairs of the trial of run lengths\n\n`robust`, {} comparisons per cell, 5 ms for the start \
         of a process: the mean of all pairs, with those of the trial, and their time, if the pairs of \
         the trial do not count and if they do. At the threshold (alarms / all-clears, %, promised 5) \
         there are at most {} pairs.",
        size.runs, size.pairs
    );
    let columns = [
        "deviation of a pair",
        "the trial's pairs",
        "no change",
        "+1 %",
        "+5 %",
        "at the threshold",
    ];
    head(&mut out, "Pairs and seconds to a verdict", &words(&columns));
    for (number, noise) in NOISES.iter().enumerate() {
        for counts in [false, true] {
            let mut random = Random::seeded(seed ^ (2 * number + usize::from(counts)) as u64);
            let mut simulated = |change: f64, runs: u32, most: u32| {
                let (mut tally, mut seconds) = (Tally { runs, ..Tally::default() }, 0.0);
                for _ in 0..runs {
                    let (decision, pairs, time) =
                        compare(noise, change, (counts, most), &mut random);
                    tally.push(decision, pairs);
                    seconds += time / f64::from(runs);
                }
                (tally, seconds)
            };
            let to_verdict = [0.0, 0.01, 0.05].map(|change| {
                let (tally, seconds) = simulated(change, size.runs, size.patience);
                let (mean, error) = (tally.mean_pairs(), tally.error_of_pairs());
                format!("{mean:.1} ± {error:.1}, {seconds:.2} s")
            });
            let (at_threshold, _) = simulated(THRESHOLD, size.runs, size.pairs);
            let name = if counts { "count" } else { "do not" };
            let cells = [noise.name.to_owned(), name.to_owned()].into_iter().chain(to_verdict);
            row(&mut out, cells.chain([at_threshold.rates(1)]));
        }
    }
    out
}
