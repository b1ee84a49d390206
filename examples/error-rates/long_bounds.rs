//! How often the bounds of a long comparison ever exclude the truth, looked at again and again.

use std::fmt::Write;

use cargo_cbdr::model::estimator::Estimator;
use cargo_cbdr::model::metric::Better;
use cargo_cbdr::stats::estimator::{Levels, Running};

use super::noise::{Noise, Random, Source};
use super::plan::Size;
use super::tables::{head, row, words};

/// After how many pairs all pairs are no longer kept one by one.
const KEPT: u32 = 512;

const PAIRS: u32 = 8192;

/// How many looks there are while the number of pairs doubles.
const LOOKS: f64 = 4.0;

/// Whether each bound was ever wrong, up to [`KEPT`] pairs and from then on.
fn ever_wrong(noise: Noise, seed: u64) -> [bool; 4] {
    let (mut random, mut source) = (Random::seeded(seed), Source::new(noise));
    let mut running = Running::new(Estimator::Robust, Better::Lower, Levels::new(0.95, 1));
    let (mut wrong, mut next) = ([false; 4], 14.0);
    for pair in 1..=PAIRS {
        let (one, other) = source.pair(&mut random);
        let (base, head) = if random.coin() { (one, other) } else { (other, one) };
        running.push(base, head);
        if f64::from(pair) >= next {
            next *= 2.0_f64.powf(1.0 / LOOKS);
            let summary = running.summary();
            let late = usize::from(pair >= KEPT);
            wrong[late] |= summary.lower.is_some_and(|lower| lower > 0.0);
            wrong[2 + late] |= summary.upper.is_some_and(|upper| upper < 0.0);
        }
    }
    wrong
}

/// The table.
pub fn table(size: &Size) -> String {
    let mut out = String::new();
    let runs = size.runs / 4;
    let _ = writeln!(
        out,
        "\n## The bounds of long comparisons\n\n`robust`, as built, no change, {runs} comparisons of \
         {PAIRS} pairs per row that do not stop, with {LOOKS} looks while the number of pairs doubles. \
         A bound is promised to be wrong in at most 5 %."
    );
    let columns = [
        "noise",
        "lower bound ever wrong, up to 512 pairs, %",
        "from then on",
        "upper bound, up to 512 pairs",
        "from then on",
    ];
    head(&mut out, "Bounds that ever exclude the truth", &words(&columns));
    for noise in [Noise::Normal(0.03), Noise::Contaminated] {
        let mut counts = [0_u32; 4];
        for seed in 0..u64::from(runs) {
            for (count, wrong) in counts.iter_mut().zip(ever_wrong(noise, seed)) {
                *count += u32::from(wrong);
            }
        }
        let percent = |count: u32| format!("{:.1}", 100.0 * f64::from(count) / f64::from(runs));
        let [early_low, late_low, early_up, late_up] = counts.map(percent);
        row(&mut out, [noise.name(), early_low, late_low, early_up, late_up]);
    }
    out
}
