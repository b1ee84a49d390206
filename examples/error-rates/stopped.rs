//! What a comparison reports that has stopped at its verdict: the estimate, and the bounds.

use std::fmt::Write;

use cargo_cbdr::model::estimator::Estimator;
use cargo_cbdr::model::metric::Better;
use cargo_cbdr::stats::estimator::{Decision, Levels, Running};

use super::noise::{Noise, Random, Source};
use super::plan::Size;
use super::tables::{head, row, words};
use super::trial::{THRESHOLD, error_of_rate};

const LEVEL: f64 = 0.05;

/// The most pairs where a short time limit ends what is undecided.
const SHORT: u32 = 100;

/// The true changes.
const CHANGES: [f64; 5] = [0.0, 0.025, 0.03, 0.05, 0.1];

const NOISES: [Noise; 4] =
    [Noise::Normal(0.01), Noise::Normal(0.03), Noise::Normal(0.05), Noise::Recorded("python")];

/// The mean of some numbers, and its standard error.
#[derive(Default)]
pub struct Mean {
    count: f64,
    sum: f64,
    squares: f64,
}

impl Mean {
    fn push(&mut self, value: f64) {
        self.count += 1.0;
        self.sum += value;
        self.squares += value * value;
    }

    pub fn value(&self) -> f64 {
        self.sum / self.count
    }

    /// As a change in percent; nothing where there are too few to speak of.
    fn text(&self) -> String {
        if self.count < 30.0 {
            return "-".to_owned();
        }
        let mean = self.value();
        let error = ((self.squares / self.count - mean * mean).max(0.0) / self.count).sqrt();
        format!("{:+.2} ± {:.2}", 100.0 * mean, 100.0 * error)
    }
}

/// What the comparisons of a cell reported.
#[derive(Default)]
pub struct Reported {
    /// The estimates at an alarm.
    pub alarms: Mean,
    clears: Mean,
    /// How many had a lower bound above the true change.
    pub too_high: u32,
    /// How many had an upper bound below it.
    pub too_low: u32,
}

impl Reported {
    /// Simulates so many comparisons of at most so many pairs.
    pub fn of(noise: Noise, change: f64, pairs: u32, runs: u32) -> Self {
        let mut random = Random::seeded((1e4 * change) as u64);
        let (mut source, mut all) = (Source::new(noise), Self::default());
        for _ in 0..runs {
            source.restart();
            all.compare(change, pairs, &mut source, &mut random);
        }
        all
    }

    fn compare(&mut self, change: f64, pairs: u32, source: &mut Source, random: &mut Random) {
        let mut running =
            Running::new(Estimator::Robust, Better::Lower, Levels::new(1.0 - LEVEL, 1));
        running.track(THRESHOLD);
        let mut decision = None;
        for _ in 0..pairs {
            let (one, other) = source.pair(random);
            let (base, head) = if random.coin() { (one, other) } else { (other, one) };
            running.push(base, head * (1.0 + change));
            decision = running.decide(THRESHOLD);
            if decision.is_some() {
                break;
            }
        }
        let shown = running.held_against(THRESHOLD);
        self.too_high += u32::from(shown.lower.is_some_and(|lower| lower > change));
        self.too_low += u32::from(shown.upper.is_some_and(|upper| upper < change));
        match (decision, shown.change) {
            (Some(Decision::Regression), Some(shown)) => self.alarms.push(shown),
            (Some(Decision::NoRegression), Some(shown)) => self.clears.push(shown),
            _ => {}
        }
    }
}

/// The table.
pub fn table(size: &Size) -> String {
    let mut out = String::new();
    let _ = writeln!(
        out,
        "\n## What is reported at the verdict\n\n`robust`, as built, {} comparisons per row, each \
         stopped at its verdict or after the most pairs. A bound is wrong if the true change lies beyond \
         it; each is promised to be wrong in at most 5 %, so that both hold in at least 90 % \
         (standard error of a rate of 5 %: {:.1} %).",
        size.runs,
        100.0 * error_of_rate(LEVEL, size.runs)
    );
    let columns = [
        "noise",
        "most pairs",
        "true change, %",
        "alarms / all-clears, %",
        "mean estimate at an alarm, %",
        "at an all-clear, %",
        "lower bound wrong, %",
        "upper bound wrong, %",
    ];
    head(
        &mut out,
        "The estimate and the bounds of a comparison that has stopped",
        &words(&columns),
    );
    let limits = [SHORT, size.patience];
    let rows = NOISES.iter().flat_map(|noise| limits.map(|limit| (*noise, limit)));
    for ((noise, limit), change) in rows.flat_map(|row| CHANGES.map(|change| (row, change))) {
        let all = Reported::of(noise, change, limit, size.runs);
        let percent = |count: f64| format!("{:.1}", 100.0 * count / f64::from(size.runs));
        let cells = [
            noise.name(),
            limit.to_string(),
            format!("{:+.1}", 100.0 * change),
            format!("{} / {}", percent(all.alarms.count), percent(all.clears.count)),
            all.alarms.text(),
            all.clears.text(),
            percent(all.too_high.into()),
            percent(all.too_low.into()),
        ];
        row(&mut out, cells);
    }
    out
}
