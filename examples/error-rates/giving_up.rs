//! What is lost and what is saved by ending once no verdict is expected within the time limit.

use std::fmt::Write;
use std::time::Duration;

use cargo_cbdr::engine::experiment::Experiment;
use cargo_cbdr::engine::plan::Plan;
use cargo_cbdr::model::estimator::Estimator;
use cargo_cbdr::model::gate::Gate;
use cargo_cbdr::model::metric::Metric;
use cargo_cbdr::model::outcome::Verdict;
use cargo_cbdr::model::row::{MetricId, Row};
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

/// How many of the benchmarks of a suite have which true change.
const SUITE: [(usize, f64); 5] = [(12, 0.0), (2, 0.01), (2, 0.015), (2, 0.02), (2, 0.03)];

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
    /// Of benchmarks with these true changes, for each of which there is time for `limit` pairs.
    fn of(noise: Noise, limit: u32, changes: &[f64], runs: u32) -> Self {
        let mut cell = Cell::default();
        for run in 0..runs {
            let compare = |gives_up| compare(noise, limit, changes, u64::from(run), gives_up);
            let ((given_up, pairs), (patient, all_pairs)) = (compare(true), compare(false));
            for (given_up, patient) in given_up.into_iter().zip(patient) {
                cell.verdicts += u32::from(patient);
                cell.lost += u32::from(patient && !given_up);
            }
            cell.pairs += pairs;
            cell.all_pairs += all_pairs;
        }
        cell
    }

    /// The columns of its values.
    fn shown(&self, runs: u32, benchmarks: usize) -> [String; 4] {
        let all = f64::from(runs) * benchmarks as f64;
        let percent = |count: u32| format!("{:.1}", 100.0 * f64::from(count) / all);
        let mean = |pairs: f64| format!("{:.0}", pairs / all);
        [percent(self.verdicts), percent(self.lost), mean(self.pairs), mean(self.all_pairs)]
    }
}

/// Which benchmarks have a verdict, and how many pairs all take together.
fn compare(
    noise: Noise,
    limit: u32,
    changes: &[f64],
    seed: u64,
    gives_up: bool,
) -> (Vec<bool>, f64) {
    let mut sources: Vec<(Random, Source)> = (0..changes.len() as u64)
        .map(|number| (Random::seeded(seed + (number << 32)), Source::new(noise)))
        .collect();
    let mut plan = Plan::new(0.95, Estimator::Robust, seed);
    plan.gives_up = gives_up;
    plan.time_limit = Duration::from_secs(u64::from(limit) * changes.len() as u64);
    for number in 0..changes.len() {
        plan.add_group(0, false, 1.0);
        let gates = vec![Gate::new("wall_time", THRESHOLD)];
        plan.add_benchmark(&number.to_string(), &[Metric::named("wall_time")], gates);
    }
    let mut experiment = Experiment::new(plan, 0.0);
    let mut now = 0.0;
    let stopped_by = loop {
        let turn = match experiment.next(now) {
            Ok(turn) => turn,
            Err(stopped_by) => break stopped_by,
        };
        let benchmark = turn.wanted[0];
        let (random, source) = &mut sources[benchmark.0];
        let (one, other) = source.pair(random);
        let (base, head) = if random.coin() { (one, other) } else { (other, one) };
        let of = |side, value| Row { benchmark, side, values: vec![(MetricId(0), value)] };
        now += 1.0;
        let head = head * (1.0 + changes[benchmark.0]);
        experiment.push(&turn, &[of(Side::Base, base), of(Side::Head, head)], now);
    };
    let results = experiment.finish(stopped_by).benchmarks;
    let verdicts = results.iter().map(|one| one.metrics[0].verdict);
    (verdicts.map(|verdict| verdict != Some(Verdict::Inconclusive)).collect(), now)
}

/// The tables.
pub fn table(size: &Size) -> String {
    let mut out = String::new();
    let runs = size.runs / 10;
    let of_suites = (runs / 16).max(1);
    let suite: Vec<f64> =
        SUITE.iter().flat_map(|(number, change)| std::iter::repeat_n(*change, *number)).collect();
    let _ = writeln!(
        out,
        "\n## Giving up\n\n`robust`, as built, {runs} comparisons of a benchmark per row, and {of_suites} \
         of a suite, with and without ending once no verdict is expected within the time limit."
    );
    let [noise, limit] = ["noise", "pairs in the limit"];
    let [verdicts, lost, pairs, all_pairs] =
        ["verdicts in all of the time, %", "of these lost, %", "pairs, mean", "in all of the time"];
    let columns = [noise, limit, "true change, %", verdicts, lost, pairs, all_pairs];
    head(&mut out, "What giving up saves and loses", &words(&columns));
    let cells = || NOISES.iter().flat_map(|noise| LIMITS.map(|limit| (*noise, limit)));
    for ((noise, limit), change) in cells().flat_map(|cell| CHANGES.map(|change| (cell, change))) {
        let cell = Cell::of(noise, limit, &[change], runs);
        let [verdicts, lost, pairs, all_pairs] = cell.shown(runs, 1);
        let change = format!("{:+.1}", 100.0 * change);
        row(&mut out, [noise.name(), limit.to_string(), change, verdicts, lost, pairs, all_pairs]);
    }
    let changes = SUITE.map(|(number, change)| format!("{number} of {:+.1} %", 100.0 * change));
    let _ = writeln!(
        out,
        "\nBenchmarks that share the time, with true changes as follows: {}.",
        changes.join(", ")
    );
    let columns = [noise, "pairs in the limit for each", verdicts, lost, pairs, all_pairs];
    head(&mut out, &format!("In a suite of {}", suite.len()), &words(&columns));
    for (noise, limit) in cells() {
        let cell = Cell::of(noise, limit, &suite, of_suites);
        let [verdicts, lost, pairs, all_pairs] = cell.shown(of_suites, suite.len());
        row(&mut out, [noise.name(), limit.to_string(), verdicts, lost, pairs, all_pairs]);
    }
    out
}
