//! Noise that belongs to one executable file and stays for many pairs, such as that of its pages
//! in memory, with and without new files.

use std::fmt::Write;

use cargo_cbdr::model::estimator::Estimator;
use cargo_cbdr::model::metric::Better;
use cargo_cbdr::stats::estimator::{Decision, Levels, Running};

use super::noise::Random;
use super::trial::THRESHOLD;

/// After how many pairs both files are replaced, at most.
const RENEWALS: [Option<u32>; 7] = [None, Some(40), Some(20), Some(10), Some(5), Some(2), Some(1)];

/// The most pairs of a comparison.
const PAIRS: u32 = 200;

/// How much slower a file is in the slower of its two modes.
const SLOWER: f64 = 0.05;

/// How long a file stays in its mode, pairs on average.
const STAYS: f64 = 20.0;

/// The noise of a run.
const NOISE: f64 = 0.01;

/// The fraction of so many comparisons that raise an alarm, at this change.
pub fn alarms(renewal: Option<u32>, change: f64, runs: u32) -> f64 {
    let mut random = Random::seeded((1e4 * change) as u64 + u64::from(renewal.unwrap_or(0)));
    let alarms = (0..runs).filter(|_| raises_alarm(renewal, change, &mut random)).count();
    alarms as f64 / f64::from(runs)
}

fn raises_alarm(renewal: Option<u32>, change: f64, random: &mut Random) -> bool {
    let levels = Levels::new(0.95, 1);
    let mut running = Running::new(Estimator::Robust, Better::Lower, levels);
    running.track(THRESHOLD);
    let drawn = |random: &mut Random| if random.uniform() < 0.5 { 0.0 } else { SLOWER };
    let mut modes = [drawn(random), drawn(random)];
    for pair in 0..PAIRS {
        let is_new = renewal.is_some_and(|renewal| pair % renewal == 0);
        let run = |mode: &mut f64, random: &mut Random| {
            if is_new || random.uniform() < 1.0 / STAYS {
                *mode = drawn(random);
            }
            (1.0 + *mode) * (NOISE * random.normal()).exp()
        };
        let base = run(&mut modes[0], random);
        let head = (1.0 + change) * run(&mut modes[1], random);
        running.push(base, head);
        if let Some(decision) = running.decide(THRESHOLD) {
            return decision == Decision::Regression;
        }
    }
    false
}

/// The table of it.
pub fn table(runs: u32) -> String {
    let mut text = String::from(
        "| new files | false alarms without a change | at the threshold |\n|---|--:|--:|\n",
    );
    for renewal in RENEWALS {
        let name = renewal.map_or("never".to_owned(), |pairs| match pairs {
            1 => "for each pair".to_owned(),
            pairs => format!("every {pairs} pairs"),
        });
        let [none, at] = [0.0, THRESHOLD].map(|change| 100.0 * alarms(renewal, change, runs));
        let _ = writeln!(text, "| {name} | {none:.1} % | {at:.1} % |");
    }
    text
}
