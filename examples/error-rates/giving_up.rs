//! What is lost and what is saved by ending once no verdict is expected within the time limit.

use std::fmt::Write;
use std::time::Duration;

use cargo_cbdr::engine::experiment::Experiment;
use cargo_cbdr::engine::plan::Plan;
use cargo_cbdr::model::estimator::Estimator;
use cargo_cbdr::model::gate::Gate;
use cargo_cbdr::model::metric::Metric;
use cargo_cbdr::model::outcome::StoppedBy;
use cargo_cbdr::model::row::{BenchmarkId, MetricId, Row};
use cargo_cbdr::model::side::Side;

use super::noise::{Noise, Random, Source};
use super::plan::Size;
use super::tables::{head, row, words};
use super::trial::THRESHOLD;

/// The true changes.
const CHANGES: [f64; 7] = [-0.05, 0.0, 0.01, 0.015, 0.02, 0.03, 0.05];

const NOISES: [Noise; 3] = [Noise::Normal(0.01), Noise::Normal(0.03), Noise::Recorded("python")];

/// How many pairs fit into the time limit.
const LIMITS: [u32; 3] = [60, 300, 1500];

/// The comparisons of a cell.
#[derive(Default)]
struct Cell {
    verdicts: u32,
    /// Those that all of the time gives and giving up does not.
    lost: u32,
    pairs: f64,
    /// With all of the time.
    all_pairs: f64,
}

impl Cell {
    fn of(noise: Noise, limit: u32, change: f64, runs: u32) -> Self {
        let mut cell = Cell::default();
        for run in 0..runs {
            let compare = |gives_up| compare(noise, limit, change, u64::from(run), gives_up);
            let ((given_up, pairs), (patient, all_pairs)) = (compare(true), compare(false));
            cell.verdicts += u32::from(patient);
            cell.lost += u32::from(patient && !given_up);
            cell.pairs += pairs;
            cell.all_pairs += all_pairs;
        }
        cell
    }
}

/// Whether a comparison has a verdict, and how many pairs it takes.
fn compare(noise: Noise, limit: u32, change: f64, seed: u64, gives_up: bool) -> (bool, f64) {
    let (mut random, mut source) = (Random::seeded(seed), Source::new(noise));
    let mut plan = Plan::new(0.95, Estimator::Robust, seed);
    plan.gives_up = gives_up;
    plan.time_limit = Duration::from_secs(limit.into());
    plan.add_group(0, false, 1.0);
    let gates = vec![Gate::new("wall_time", THRESHOLD)];
    plan.add_benchmark("one", &[Metric::named("wall_time")], gates);
    let mut experiment = Experiment::new(plan, 0.0);
    let mut now = 0.0;
    loop {
        let turn = match experiment.next(now) {
            Ok(turn) => turn,
            Err(stopped_by) => return (stopped_by == StoppedBy::Verdict, now),
        };
        let (one, other) = source.pair(&mut random);
        let (base, head) = if random.coin() { (one, other) } else { (other, one) };
        let of = |side, value| Row {
            benchmark: BenchmarkId(0),
            side,
            values: vec![(MetricId(0), value)],
        };
        now += 1.0;
        let rows = [of(Side::Base, base), of(Side::Head, head * (1.0 + change))];
        experiment.push(&turn, &rows, now);
    }
}

/// The table.
pub fn table(size: &Size) -> String {
    let mut out = String::new();
    let runs = size.runs / 10;
    let _ = writeln!(
        out,
        "\n## Giving up\n\n`robust`, as built, {runs} comparisons per row, with and without ending once \
         no verdict is expected within the time limit."
    );
    let columns = [
        "noise",
        "pairs in the limit",
        "true change, %",
        "verdicts in all of the time, %",
        "of these lost, %",
        "pairs, mean",
        "in all of the time",
    ];
    head(&mut out, "What giving up saves and loses", &words(&columns));
    let cells = NOISES.iter().flat_map(|noise| LIMITS.map(|limit| (*noise, limit)));
    for ((noise, limit), change) in cells.flat_map(|cell| CHANGES.map(|change| (cell, change))) {
        let cell = Cell::of(noise, limit, change, runs);
        let percent = |count: u32| format!("{:.1}", 100.0 * f64::from(count) / f64::from(runs));
        let mean = |pairs: f64| format!("{:.0}", pairs / f64::from(runs));
        row(
            &mut out,
            [
                noise.name(),
                limit.to_string(),
                format!("{:+.1}", 100.0 * change),
                percent(cell.verdicts),
                percent(cell.lost),
                mean(cell.pairs),
                mean(cell.all_pairs),
            ],
        );
    }
    out
}
