//! The cost of a comparison that runs for a day: the loop, with a simulated child whose change
//! equals the threshold, so that there is never a verdict.
//!
//! ```text
//! cargo run --release --example long-run                  # robust, 50 million pairs
//! cargo run --release --example long-run -- median 10     # another estimator, 10 million
//! ```
//!
//! After 50, 3000 and 100,000 pairs, and 1, 2, 5, 10, 20 and 50 million, it prints the peak
//! memory so far, the time per pair since the previous line, and the time of a look: the
//! bounds and the forecast, as the live line shows them. Memory on Linux only.

#![allow(clippy::print_stdout, missing_docs)]

use std::error::Error;
use std::time::{Duration, Instant};

use cargo_cbdr::engine::experiment::Experiment;
use cargo_cbdr::engine::plan::Plan;
use cargo_cbdr::model::estimator::Estimator;
use cargo_cbdr::model::gate::Gate;
use cargo_cbdr::model::metric::{Metric, Unit};
use cargo_cbdr::model::row::{BenchmarkId, MetricId, Row};
use cargo_cbdr::model::side::{Pair, Side};

const SEED: u64 = 20_261_121;
const THRESHOLD: f64 = 0.02;
const MILLION: u64 = 1_000_000;

/// After how many pairs there is a line.
const LINES: [u64; 9] = [
    50,
    3_000,
    100_000,
    MILLION,
    2 * MILLION,
    5 * MILLION,
    10 * MILLION,
    20 * MILLION,
    50 * MILLION,
];

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let estimator: Estimator = arguments.next().as_deref().unwrap_or("robust").parse()?;
    let pairs = arguments.next().as_deref().unwrap_or("50").parse::<u64>()? * MILLION;
    let metric = Metric::cost("wall_time", Unit::Seconds);
    // At this level there is no verdict by chance either.
    let mut plan = Plan::new(1.0 - 1e-9, estimator, SEED);
    plan.time_limit = Duration::from_secs(86_400);
    plan.max_pairs = Some(pairs);
    plan.add_group(0, false, 0.0);
    plan.add_benchmark("day", &[metric], vec![Gate::new("wall_time", THRESHOLD)]);
    println!("{estimator}: {} million pairs\n", pairs / MILLION);
    println!("| pairs | peak memory | a pair | a look |\n|---:|---:|---:|---:|");
    // What has a mean of 1 has no geometric mean of 1, and is not symmetric by its logarithm.
    let factor = match estimator {
        Estimator::GeometricMean | Estimator::Robust => f64::exp,
        _ => |noise| 1.0 + noise,
    };
    let mut child = Child { state: SEED, mirrored: None, factor };
    let (mut done, mut since) = (0, (0, Instant::now()));
    let mut experiment = Experiment::new(plan, 0.0);
    let stopped_by = loop {
        let turn = match experiment.next(0.0) {
            Ok(turn) => turn,
            Err(stopped_by) => break stopped_by,
        };
        let Pair { base, head } = child.pair();
        let rows = [row(Side::Base, base), row(Side::Head, head)];
        experiment.push(&turn, &rows, 0.0);
        done += 1;
        if LINES.contains(&done) {
            let each = 1e6 * since.1.elapsed().as_secs_f64() / (done - since.0) as f64;
            let before = Instant::now();
            let snapshot = experiment.snapshot();
            let look = 1e3 * before.elapsed().as_secs_f64();
            assert_eq!(snapshot.benchmarks.len(), 1);
            println!("| {done} | {:.1} MiB | {each:.1} µs | {look:.1} ms |", peak_mebibytes());
            since = (done, Instant::now());
        }
    };
    let sampled = experiment.finish(stopped_by);
    for result in sampled.benchmarks.iter().flat_map(|benchmark| &benchmark.metrics) {
        println!("\n{:?}: {:?}", result.verdict, result.summary);
    }
    Ok(())
}

fn row(side: Side, value: f64) -> Row {
    Row { benchmark: BenchmarkId(0), side, values: vec![(MetricId(0), value)] }
}

/// Log-normal noise of 3 % in runs that share another 3 %, head at the threshold.
/// Every second pair mirrors the one before, so that their evidence cancels.
struct Child {
    state: u64,
    mirrored: Option<(f64, f64)>,
    factor: fn(f64) -> f64,
}

impl Child {
    fn pair(&mut self) -> Pair<f64> {
        let (base, noise) = match self.mirrored.take() {
            Some((base, noise)) => (base, -noise),
            None => {
                let drawn = (0.1 * (0.03 * self.normal()).exp(), 0.03 * self.normal());
                self.mirrored = Some(drawn);
                drawn
            }
        };
        Pair { base, head: base * (1.0 + THRESHOLD) * (self.factor)(noise) }
    }

    /// The splitmix64 generator (Steele, Lea and Flood 2014).
    fn uniform(&mut self) -> f64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (((z ^ (z >> 31)) >> 12) as f64 + 0.5) / (1_u64 << 52) as f64
    }

    /// Box and Muller 1958.
    fn normal(&mut self) -> f64 {
        let radius = (-2.0 * self.uniform().ln()).sqrt();
        radius * (std::f64::consts::TAU * self.uniform()).cos()
    }
}

/// The largest resident size that this process ever had.
fn peak_mebibytes() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kibibytes = line.and_then(|line| line.split_whitespace().next()?.parse::<f64>().ok());
    kibibytes.unwrap_or(0.0) / 1024.0
}
