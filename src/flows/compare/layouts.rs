//! The pairs of a comparison over layouts: whether a change comes from the source, or only from
//! the placement of its code. [`Stages`](crate::engine::stages::Stages) determines when.

use std::time::Instant;

use super::lengths::ratios;
use super::program::ComparedProgram;
use crate::engine::layouts::{LayoutPlan, combined, first_runs, median_rows};
use crate::engine::{Group, LayoutTest, Plan, Reporter, Schedule, Turn, first_gate};
use crate::error::Error;
use crate::exec::execution::{SideProgram, Stop};
use crate::exec::meter;
use crate::model::{
    BenchmarkId, BenchmarkResult, Metric, Pair, Placing, Row, RunLength, Sampled, SuitePairs,
};

/// Makes the layouts differ from the order of the pairs.
const SEED: u64 = 0x6c69_6e6b_6564;

/// Combines the results of the executables as built with those over layouts.
pub(super) fn combine_with(
    tests: &[LayoutTest],
    programs: &[ComparedProgram<'_>],
    sampled: &mut Sampled,
) {
    let any_aligned = programs.iter().any(|program| program.aligned.is_some());
    for test in tests {
        let LayoutPlan { plan, of, of_suite } = &test.over;
        let over = test.experiment.finish(test.stopped_by());
        sampled.likely_slower = sampled.likely_slower.take().or(over.likely_slower);
        for (number, (over, id)) in over.benchmarks.iter().zip(of).enumerate() {
            let group = plan.groups.iter().find(|group| group.benchmarks.contains(&number));
            let program = group.map(|group| &programs[group.program]);
            let aligned = program.is_some_and(|program| program.aligned.is_some());
            let placing = program.and_then(|program| program.placing);
            combine(&mut sampled.benchmarks[id.0], over, placing, aligned);
        }
        let numbers = sampled.suite.as_mut().map(|suite| &mut suite.numbers);
        if let (Some(as_built), Some(over)) = (numbers, over.suite) {
            for (over, number) in over.numbers.iter().zip(of_suite) {
                combine(&mut as_built[*number], over, placing_of(plan, programs), any_aligned);
            }
        }
    }
}

fn combine(
    as_built: &mut BenchmarkResult,
    over: &BenchmarkResult,
    placing: Option<Placing>,
    aligned: bool,
) {
    for over in over.metrics.iter().filter(|metric| metric.gates) {
        let mut all = as_built.metrics.iter_mut();
        if let Some(as_built) = all.find(|known| known.name == over.name) {
            *as_built = combined(as_built, over, placing.unwrap_or(Placing::Copied), aligned);
        }
    }
}

/// How the layouts of a plan over them are made, if any was.
fn placing_of(plan: &Plan, programs: &[ComparedProgram<'_>]) -> Option<Placing> {
    plan.groups.iter().find_map(|group| programs[group.program].placing)
}

/// The pairs of a suite that is divided among machines.
pub(super) fn suite_pairs(
    tests: &[LayoutTest],
    programs: &[ComparedProgram<'_>],
) -> Vec<SuitePairs> {
    let mut all = Vec::new();
    for LayoutTest { over: LayoutPlan { plan, .. }, experiment, .. } in tests {
        let placing = placing_of(plan, programs);
        for number in experiment.suite() {
            all.extend(number.kept().map(|(id, pairs)| SuitePairs {
                benchmark: plan.benchmarks[id.0].name.clone(),
                metric: number.test().metric().name.clone(),
                placing: placing.unwrap_or(Placing::Copied),
                pairs,
            }));
        }
    }
    all
}

/// Whether a metric depends on the placement of code and is measured by running the program.
pub(super) fn depends_on_layout(metric: &Metric) -> bool {
    metric.depends_on_placement() && meter::pass(&metric.name).is_some()
}

/// Measures a unit: both sides in layouts of their own. Returns its rows, and how long linking
/// took, seconds, if they were not at hand.
pub(super) fn measure(
    test: &mut LayoutTest,
    turn: &Turn,
    plan: &Plan,
    program: &mut ComparedProgram<'_>,
    reporter: &mut dyn Reporter,
) -> Result<(Vec<Row>, Option<f64>), Stop> {
    let begin = Instant::now();
    let deadline = begin + turn.left;
    let gates = turn.wanted.iter().flat_map(|id| &test.over.plan.benchmarks[id.0].gates);
    let of_suite = test.over.plan.suite.iter().map(|number| &*number.metric.name);
    program.execution.only_runs_for(gates.map(|gate| &*gate.metric).chain(of_suite));
    let before = test.experiment.results(turn.group).map(|one| one.pairs).max();
    let number = before.unwrap_or(0);
    let of = test.over.plan.groups[turn.group].program;
    let is_at_hand = number < program.layouts_at_hand();
    let seeds = seeds(plan.seed, of, number);
    program.place((number as usize, seeds), turn.first, reporter)?;
    if !is_at_hand {
        program.link_seconds = Some(begin.elapsed().as_secs_f64());
    }
    let links = program.link_seconds.unwrap_or_default();
    // Also of a layout that is at hand: it is shared by as many pairs as one that has to be linked.
    let link_seconds = links / turn.wanted.len().max(1) as f64;
    let groups = plan.groups.iter().filter(|group| group.program == of);
    let groups = groups.map(|group| {
        let is_in = |id: &&BenchmarkId| group.benchmarks.contains(&test.over.of[id.0].0);
        let wanted: Vec<BenchmarkId> = turn.wanted.iter().filter(is_in).copied().collect();
        (group, wanted)
    });
    let groups: Vec<(&Group, _)> = groups.filter(|(_, wanted)| !wanted.is_empty()).collect();
    let pair_seconds = groups.iter().map(|(group, _)| group.pair_seconds).sum();
    let first_runs = first_runs(test.over.plan.max_pairs, links, pair_seconds);
    let LayoutTest { over, noise, .. } = test;
    let mut rows = Vec::new();
    for (group, wanted) in groups {
        // Benchmarks that belong to a group of the comparison as built.
        let of: Vec<BenchmarkId> = wanted.iter().map(|id| over.of[id.0]).collect();
        let length = group.length.unwrap_or(RunLength::LONG);
        let runs = wanted.iter().map(|id| noise[id.0].runs(first_runs)).max().unwrap_or(0);
        let (mut measured, mut first, begin) = (Vec::new(), turn.first, Instant::now());
        for run in 0..runs {
            // Another one for each pair, since it costs nothing.
            program.scatter_heap(turn.pair_seed.rotate_left(run) ^ u64::from(run));
            measured.extend(program.pair(plan, &of, first, length, Some(deadline))?);
            first = first.other();
        }
        let pairs = f64::from(runs) * wanted.len() as f64;
        let pair_seconds = begin.elapsed().as_secs_f64() / pairs.max(1.0);
        for (id, of) in wanted.iter().zip(&of) {
            let own: Vec<Row> =
                measured.iter().filter(|row| row.benchmark == *of).cloned().collect();
            let decisive = first_gate(&over.plan.benchmarks[id.0]);
            let ratios = decisive.map(|(metric, ..)| ratios(&own, *of, metric).collect());
            let ratios: Vec<f64> = ratios.unwrap_or_default();
            noise[id.0].push(&ratios, link_seconds, pair_seconds);
            rows.extend(median_rows(&own, *id, turn.first));
        }
    }
    Ok((rows, (!is_at_hand).then_some(links)))
}

/// Makes the programs run in the executables that are measured first again.
pub(super) fn restore(programs: &mut [ComparedProgram<'_>]) -> Result<(), Error> {
    programs.iter_mut().try_for_each(|program| {
        // In other layouts there were only the runs of their gates.
        program.execution.done.clear();
        program.each_side().try_for_each(SideProgram::place_first)
    })
}

/// The seeds of both sides' layouts with this number. They are the same for all tests of a
/// program, which therefore share the executables.
pub(super) fn seeds(seed: u64, program: usize, number: u64) -> Pair<u32> {
    let of_both = Schedule::new(seed ^ SEED, program as u64).pair_seed(number);
    // Linkers expect a signed number.
    let half = |half: u64| (half as u32) & 0x7fff_ffff;
    Pair { base: half(of_both), head: half(of_both >> 32) }
}
