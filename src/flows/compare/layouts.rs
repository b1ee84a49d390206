//! The second part of a comparison, over layouts: whether a change comes from the source,
//! or only from the placement of its code.

use std::time::Instant;

use super::lengths::ratios;
use super::program::ComparedProgram;
use super::sampling::run;
use super::session::Session;
use crate::engine::event::{Event, Reporter};
use crate::engine::experiment::{Experiment, Progress, Turn};
use crate::engine::layouts::{LayoutNoise, LayoutPlan, combined, median_rows};
use crate::engine::plan::{Group, Plan, PlannedBenchmark};
use crate::error::Error;
use crate::exec::execution::{Context, Stop};
use crate::exec::meter;
use crate::model::gate::Gate;
use crate::model::layouts::{Layouts, Placing};
use crate::model::metric::Metric;
use crate::model::notice::{Advice, Notice};
use crate::model::outcome::{BenchmarkResult, StoppedBy, Verdict};
use crate::model::row::{BenchmarkId, MetricId, Row};
use crate::model::run_length::RunLength;
use crate::model::side::Pair;

/// The assumed time of linking both sides before it is known, seconds.
const LINKS: f64 = 0.5;

/// What was tested over layouts so far, and the results.
#[derive(Default)]
pub(super) struct LayoutResults {
    tested: Vec<(BenchmarkId, String)>,
    /// The benchmarks with their gating metrics over layouts.
    results: Vec<(BenchmarkId, BenchmarkResult, Placing)>,
    /// When the last unit ended, seconds since the start of the session.
    pub(super) ended: f64,
    /// The benchmark that is most likely slower, if one is but it is not certain which.
    pub(super) likely_slower: Option<String>,
    /// What would decide the verdicts that are missing.
    pub(super) advice: Option<Advice>,
}

impl LayoutResults {
    /// Whether any test is a regression over layouts, too.
    pub(super) fn confirms_any(&self) -> bool {
        let metrics = self.results.iter().flat_map(|(_, result, _)| &result.metrics);
        metrics.filter_map(|metric| metric.verdict).any(|verdict| verdict == Verdict::Regression)
    }

    /// The results of the executables as built, combined with these.
    pub(super) fn combined_with(&self, as_built: Vec<BenchmarkResult>) -> Vec<BenchmarkResult> {
        let mut benchmarks = as_built;
        for (id, over, placing) in &self.results {
            for metric in over.metrics.iter().filter(|metric| metric.gates) {
                let BenchmarkResult { metrics, layouts, .. } = &mut benchmarks[id.0];
                let mut all = metrics.iter_mut();
                if let Some(as_built) = all.find(|known| known.name == metric.name) {
                    *as_built = combined(as_built, metric, *placing);
                    layouts.extend(as_built.layouts.map(|over| (metric.name.clone(), over)));
                }
            }
        }
        benchmarks
    }
}

/// The gates to test over layouts: with `auto` those with a regression or set
/// aside, with a number all of them.
pub(super) fn gates_to_test(
    experiment: &Experiment,
    plan: &Plan,
    programs: &[ComparedProgram<'_>],
    known: &LayoutResults,
) -> Vec<(BenchmarkId, Gate)> {
    let mut gates = Vec::new();
    for group in plan.groups.iter().filter(|group| programs[group.program].can_be_placed()) {
        for id in group.benchmarks.clone().map(BenchmarkId) {
            for (test, gate) in experiment.gating(id) {
                let wanted = match plan.layouts {
                    Layouts::Off => false,
                    Layouts::Auto => test.is_set_aside() || test.is_regression(),
                    Layouts::Number(_) => true,
                };
                let is_known = known.tested.contains(&(id, gate.metric.clone()));
                if wanted && depends_on_layout(test.metric()) && !is_known {
                    gates.push((id, gate.clone()));
                }
            }
        }
    }
    gates
}

/// Whether a metric depends on the placement of code and is measured by running the program.
pub(super) fn depends_on_layout(metric: &Metric) -> bool {
    metric.depends_on_placement()
        && meter::pass(&metric.name).is_none_or(|pass| pass == meter::Pass::Plain)
}

/// How much of the time limit to reserve for testing these benchmarks again,
/// seconds: enough for the minimum number of units.
pub(super) fn time_needed(plan: &Plan, found: &[BenchmarkId]) -> f64 {
    let gates: Vec<(BenchmarkId, Gate)> = found
        .iter()
        .flat_map(|id| plan.benchmarks[id.0].gates.iter().map(|gate| (*id, gate.clone())))
        .collect();
    let layouts = LayoutPlan::new(plan, &gates, None).plan;
    let links = layouts.groups.iter().filter_map(|group| layouts.least_pairs_in(group));
    let needed = layouts.least_time().as_secs_f64() + LINKS * links.sum::<u64>() as f64;
    (1.5 * needed).min(0.5 * plan.time_limit.as_secs_f64())
}

/// Tests `gates` of the comparison `plan` over layouts, after `spent` seconds of its
/// time limit, and adds the results to `results`.
pub(super) fn sample(
    session: &mut Session<'_, '_>,
    plan: &Plan,
    gates: &[(BenchmarkId, Gate)],
    spent: f64,
    results: &mut LayoutResults,
) -> Result<StoppedBy, Error> {
    let most = match plan.layouts {
        Layouts::Number(number) => Some(u64::from(number)),
        _ => None,
    };
    let over = LayoutPlan::new(plan, gates, most);
    let is_sampled = |number: usize| over.plan.groups.iter().any(|one| one.program == number);
    let placings: Vec<Placing> = (0..session.programs.len())
        .map(|number| match is_sampled(number) {
            true => placing(&session.programs[number], session.reporter),
            false => Placing::Copied,
        })
        .collect();
    session.reporter.event(Event::OverLayouts(&over.plan));
    let Session { programs, context, start, reporter } = session;
    let clock = || start.elapsed().as_secs_f64();
    let mut experiment = Experiment::new(over.plan.clone(), clock()).after(spent);
    let mut runs = LayoutRuns {
        programs,
        placings: &placings,
        plan,
        over: &over,
        noise: over.plan.benchmarks.iter().map(noise).collect(),
        context: *context,
    };
    let measure = &mut |turn: &Turn, _: &Progress<'_>| runs.measure(turn);
    let ended = run(&mut experiment, &clock, measure, *reporter, &mut |_, _| {});
    results.ended = clock();
    let restored = runs.restore();
    let stopped_by = ended?;
    restored?;
    results.advice = experiment.advice();
    let sampled = experiment.finish(stopped_by);
    results.likely_slower = results.likely_slower.take().or(sampled.likely_slower);
    for ((number, result), id) in sampled.benchmarks.into_iter().enumerate().zip(&over.of) {
        let group = over.plan.groups.iter().find(|one| one.benchmarks.contains(&number));
        let placing = group.map_or(Placing::Copied, |group| placings[group.program]);
        results.results.push((*id, result, placing));
    }
    results.tested.extend(gates.iter().map(|(id, gate)| (*id, gate.metric.clone())));
    Ok(stopped_by)
}

/// How other layouts of a program's executables are made; a notice states why they
/// can't be linked again.
fn placing(program: &ComparedProgram<'_>, reporter: &mut dyn Reporter) -> Placing {
    match program.check_relink() {
        Ok(()) => Placing::Linked,
        Err(why) => {
            let benchmark = program.execution.benchmark.name.clone();
            reporter.notice(Notice::NotLinked { benchmark, why });
            Placing::Copied
        }
    }
}

/// Measures units: both sides in layouts of their own.
struct LayoutRuns<'s, 'a> {
    programs: &'s mut [ComparedProgram<'a>],
    /// For each program, how its layouts are made.
    placings: &'s [Placing],
    plan: &'s Plan,
    over: &'s LayoutPlan,
    /// For each benchmark that is tested.
    noise: Vec<LayoutNoise>,
    context: Context<'s>,
}

impl LayoutRuns<'_, '_> {
    fn measure(&mut self, turn: &Turn) -> Result<Vec<Row>, Stop> {
        let number = self.over.plan.groups[turn.group].program;
        let begin = Instant::now();
        let deadline = begin + turn.left;
        let program = &mut self.programs[number];
        program.place(self.placings[number], seeds(turn.pair_seed), turn.first, self.context)?;
        let link_seconds = begin.elapsed().as_secs_f64() / turn.wanted.len().max(1) as f64;
        let mut rows = Vec::new();
        let groups = self.plan.groups.iter().filter(|group| group.program == number);
        for group in groups {
            rows.extend(self.measure_group(turn, group, link_seconds, deadline)?);
        }
        Ok(rows)
    }

    /// Measures the benchmarks of a turn that belong to a group of the comparison as built.
    fn measure_group(
        &mut self,
        turn: &Turn,
        group: &Group,
        link_seconds: f64,
        deadline: Instant,
    ) -> Result<Vec<Row>, Stop> {
        let as_built = |id: &BenchmarkId| self.over.of[id.0];
        let is_in = |id: &&BenchmarkId| group.benchmarks.contains(&as_built(id).0);
        let wanted: Vec<BenchmarkId> = turn.wanted.iter().filter(is_in).copied().collect();
        let of: Vec<BenchmarkId> = wanted.iter().map(as_built).collect();
        let length = group.length.unwrap_or(RunLength::LONG);
        let runs = wanted.iter().map(|id| self.noise[id.0].runs()).max().unwrap_or(0);
        let (mut measured, mut first) = (Vec::new(), turn.first);
        let begin = Instant::now();
        let program = &mut self.programs[group.program];
        for _ in 0..runs {
            measured.extend(program.pair(&of, first, length, Some(deadline), self.context)?);
            first = first.other();
        }
        let pair_seconds =
            begin.elapsed().as_secs_f64() / (f64::from(runs) * wanted.len() as f64).max(1.0);
        let mut rows = Vec::new();
        for (id, of) in wanted.iter().zip(&of) {
            let own: Vec<Row> =
                measured.iter().filter(|row| row.benchmark == *of).cloned().collect();
            let decisive = first_gate(&self.over.plan.benchmarks[id.0]);
            let ratios = decisive.map(|(metric, ..)| ratios(&own, *of, metric).collect());
            let ratios: Vec<f64> = ratios.unwrap_or_default();
            self.noise[id.0].push(&ratios, link_seconds, pair_seconds);
            rows.extend(median_rows(&own, *id, turn.first));
        }
        Ok(rows)
    }

    /// Makes the programs run as built again.
    fn restore(&mut self) -> Result<(), Error> {
        self.programs.iter_mut().try_for_each(ComparedProgram::place_as_built)
    }
}

/// The first gate of a benchmark, and its metric.
fn first_gate(benchmark: &PlannedBenchmark) -> Option<(MetricId, &Metric, &Gate)> {
    let first = benchmark.gates.first()?;
    benchmark.gating().find(|(.., gate)| gate.metric == first.metric)
}

/// The noise of a benchmark, before anything is known of it.
fn noise(benchmark: &PlannedBenchmark) -> LayoutNoise {
    let limit = first_gate(benchmark).map(|(_, metric, gate)| metric.better.limit(gate.threshold));
    LayoutNoise::new(limit.unwrap_or(0.0))
}

/// The seeds of the layouts of a unit: the two halves of its own seed.
fn seeds(pair_seed: u64) -> Pair<u32> {
    // Linkers expect a signed number.
    let seed = |half: u64| (half as u32) & 0x7fff_ffff;
    Pair { base: seed(pair_seed), head: seed(pair_seed >> 32) }
}
