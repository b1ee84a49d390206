//! Learnt thresholds: what they are, how often they are wrong, and what they find, beside fixed
//! ones.

use cargo_cbdr::model::estimator::Estimator;
use cargo_cbdr::model::metric::Better;
use cargo_cbdr::stats::estimator::{Decision, Levels, Running};
use cargo_cbdr::stats::learnt::Learner;

use super::noise::{Noise, Random, Source};
use super::plan::Size;
use super::tables::{head, row, words};

const LEVEL: f64 = 0.05;

/// How many benchmarks share the error.
const TESTS: usize = 14;

/// The stored results, and the runs of each.
const RESULTS: usize = 14;
const RUNS: usize = 10;

/// The pairs for which there is time.
const PAIRS: [u32; 2] = [60, 300];

const FIXED: [f64; 2] = [0.02, 0.05];

/// What is planted.
const PLANTS: [f64; 4] = [0.0, 0.02, 0.05, 0.10];

const NOISES: [Noise; 8] = [
    Noise::Normal(0.01),
    Noise::Normal(0.03),
    Noise::Contaminated,
    Noise::Recorded("sha"),
    Noise::Recorded("python"),
    Noise::Recorded("mem"),
    Noise::Recorded("gzip"),
    Noise::Recorded("perl"),
];

/// Stored results of one benchmark.
fn history(source: &mut Source, random: &mut Random) -> Vec<Vec<f64>> {
    let mut results = Vec::new();
    for _ in 0..RESULTS {
        // On another day.
        source.restart();
        let pairs: Vec<(f64, f64)> = (0..RUNS / 2).map(|_| source.pair(random)).collect();
        results.push(pairs.into_iter().flat_map(|(one, other)| [one, other]).collect());
    }
    results
}

/// How verdicts at one threshold are reached.
struct Trial<'a> {
    source: &'a mut Source,
    random: &'a mut Random,
    pairs: u32,
}

impl Trial<'_> {
    fn decision(&mut self, threshold: f64, change: f64) -> Option<Decision> {
        self.source.restart();
        let levels = Levels::new(1.0 - LEVEL, TESTS);
        let mut running = Running::new(Estimator::Robust, Better::Lower, levels);
        running.track(threshold);
        (0..self.pairs).find_map(|_| {
            let (one, other) = self.source.pair(self.random);
            let (base, head) = if self.random.coin() { (one, other) } else { (other, one) };
            running.push(base, head * (1.0 + change));
            running.decide(threshold)
        })
    }
}

/// The table for so many comparisons of each kind, as Markdown.
pub fn table(size: &Size, seed: u64) -> String {
    let runs = size.runs / 10;
    let mut out = format!(
        "# Learnt thresholds\n\nMade by `cargo run --release --example error-rates -- --learnt --quick`, \
         seed {seed}. A threshold is learnt from {RESULTS} results of {RUNS} runs, for one of {TESTS} \
         benchmarks and the pairs for which there is time; each of {runs} comparisons has a history of \
         its own. Recorded pairs come in blocks from random positions, each result and each comparison \
         from others. Planted are the changes at the top. The standard error of a percentage is 8 or \
         less.\n"
    );
    let mut columns = words(&["noise", "pairs", "threshold, %"]);
    columns.extend(PLANTS.map(|plant| format!("+{:.0} %", 100.0 * plant)));
    head(&mut out, "*regression* / *no regression*, %; the rest is undecided", &columns);
    for (place, noise) in NOISES.into_iter().enumerate() {
        for pairs in PAIRS {
            let mut random = Random::seeded(seed + place as u64);
            let mut source = Source::new(noise);
            let levels = Levels::new(1.0 - LEVEL, TESTS);
            let (estimator, better) = (Estimator::Robust, Better::Lower);
            let learner = Learner { estimator, better, levels, pairs: f64::from(pairs) };
            let mut learnt: Vec<f64> = Vec::new();
            for _ in 0..runs {
                let results = history(&mut source, &mut random);
                learnt.extend(learner.threshold(&results).map(|(threshold, _)| threshold));
            }
            let choices = FIXED.map(|fixed| vec![fixed; runs as usize]).into_iter();
            for thresholds in choices.chain([learnt]) {
                let (source, random) = (&mut source, &mut random);
                let mut trial = Trial { source, random, pairs };
                let mut cells = vec![noise.name(), pairs.to_string(), said(&thresholds)];
                cells.extend(PLANTS.map(|plant| {
                    let decide = |at: &f64| trial.decision(*at, plant);
                    let decisions: Vec<_> = thresholds.iter().filter_map(decide).collect();
                    let share = |kind| {
                        let of_kind = decisions.iter().filter(|one| **one == kind).count();
                        100.0 * of_kind as f64 / f64::from(runs)
                    };
                    let [bad, good] = [Decision::Regression, Decision::NoRegression].map(share);
                    format!("{bad:.1} / {good:.1}")
                }));
                row(&mut out, cells);
            }
        }
    }
    out
}

/// A threshold, or the median and the extremes of several.
fn said(thresholds: &[f64]) -> String {
    let mut sorted = thresholds.to_vec();
    sorted.sort_by(f64::total_cmp);
    let percent = |share: f64| 100.0 * sorted[(share * (sorted.len() - 1) as f64).round() as usize];
    match percent(0.0) == percent(1.0) && FIXED.contains(&sorted[0]) {
        true => format!("{:.0}", percent(0.0)),
        false => {
            format!("learnt: {:.1} ({:.1} to {:.1})", percent(0.5), percent(0.0), percent(1.0))
        }
    }
}
