//! The plan of a comparison: which benchmarks this machine measures, and which of them share a run.

use super::discovery::{Discovered, Discovery};
use super::program::ComparedProgram;
use super::session::Session;
use crate::engine::Plan;
use crate::error::Error;
use crate::exec::execution::{SideProgram, Stop};
use crate::flows::error::FlowError;
use crate::model::{AllottedBenchmark, Divisible, Division, Layouts, Shard, ShardBy, StoppedBy};

/// Benchmarks share a process if it takes longer than this until the first of them, seconds.
const SLOW_START: f64 = 0.05;

/// What can be divided of what was found.
pub(super) fn divisible(session: &Session<'_, '_>) -> Vec<Divisible> {
    let mut all = Vec::new();
    for program in &session.programs {
        let is_apart = program.can_select_benchmarks();
        for one in &program.found.benchmarks {
            let benchmark = one.name.clone();
            let together = if is_apart { benchmark.clone() } else { program.name() };
            let mut costs = session.preparation.about.costs.iter();
            let seconds = costs.find(|cost| cost.benchmark == benchmark).map(|cost| cost.seconds);
            all.push(Divisible { benchmark, together, seconds: seconds.unwrap_or(0.0) });
        }
    }
    all
}

/// Divides what was found among the machines, and keeps the part of this one. Benchmarks that can't
/// run without the others of their program stay together. `None` if there is only one machine, or
/// if all of them measure all benchmarks.
pub(super) fn divide(session: &mut Session<'_, '_>) -> Option<Division> {
    let Shard { number, of } = session.call.options.shard?;
    let policy = &session.preparation.settings.policy;
    if policy.shard_by == ShardBy::Pairs {
        return None;
    }
    let key = session.preparation.about.sides.key();
    let mut shards = Shard::divide(&divisible(session), &key, of)?.into_iter();
    let mut benchmarks = Vec::new();
    for program in &mut session.programs {
        let name = program.name();
        program.found.benchmarks.retain(|one| {
            let (benchmark, gates) = (one.name.clone(), one.gates.clone());
            let shard = shards.next().unwrap_or_default();
            benchmarks.push(AllottedBenchmark { benchmark, program: name.clone(), shard, gates });
            shard == number
        });
    }
    let suite = policy.suite;
    Some(Division { benchmarks, suite, sharing: 0, evidence: 0.0, over_layouts: Vec::new() })
}

/// Plans the pairs of what was discovered: as many as a verdict of each benchmark takes if it `decides`,
/// otherwise as many as the limits allow.
pub(super) fn plan(session: &mut Session<'_, '_>, decides: bool) -> Result<Plan, Error> {
    let (settings, options) = (&session.preparation.settings, session.call.options);
    let seed = options.shard.map_or(options.seed, |shard| shard.seed(options.seed));
    let can_be_placed = |one: &ComparedProgram<'_>| one.both_sides(SideProgram::can_be_placed);
    let may_be_placed = decides && session.programs.iter().any(can_be_placed);
    let mut plan = Plan {
        time_limit: settings.limits.time,
        max_pairs: settings.limits.pairs,
        fail_fast: options.fail_fast,
        gives_up: !options.uses_full_time && decides,
        decides,
        layouts: if may_be_placed { settings.policy.layouts } else { Layouts::Off },
        most_layouts: session.programs.iter().filter_map(|one| one.most_layouts()).min(),
        ..Plan::new(settings.policy.confidence, settings.policy.estimator, seed)
    };
    for (number, program) in session.programs.iter_mut().enumerate() {
        plan_groups(program, number, &mut plan)?;
    }
    if decides {
        let unaffected = session.programs.iter().map(|one| one.found.unaffected.len()).sum();
        plan.add_suite(settings.policy.suite, unaffected);
        if options.shard.is_some() {
            plan.suite.retain(|number| number.gate.is_some());
            plan.is_suite_divided = true;
        }
    }
    Ok(plan)
}

/// Adds the benchmarks of a program to the plan, in groups that share a run.
fn plan_groups(
    program: &mut ComparedProgram<'_>,
    number: usize,
    plan: &mut Plan,
) -> Result<(), Stop> {
    let can_select = program.can_select_benchmarks();
    let (count, pair_seconds) = (program.found.benchmarks.len(), program.found.pair_seconds);
    let all = program.found.most_reported();
    let (mut start_up, mut size) = (0.0, count.max(1));
    let is_timed = count > 1 && can_select;
    if is_timed {
        start_up = program.measure_start_up()?;
        let most = group_size(start_up, pair_seconds, all);
        size = count.div_ceil(count.div_ceil(most));
    }
    // Of what is left without the two starts, all benchmarks of a run get the same.
    let own = (pair_seconds - 2.0 * start_up).max(0.0) / all as f64;
    for group in program.found.benchmarks.chunks(size) {
        let seconds = 2.0 * start_up + own * group.len() as f64;
        plan.add_group(number, can_select, if is_timed { seconds } else { pair_seconds });
        let is_guessed = can_select && group.len() < all;
        plan.groups.last_mut().into_iter().for_each(|group| group.is_guessed = is_guessed);
        for Discovered { name, inner, iteration, metrics, gates } in group {
            let id = plan.add_benchmark(name, metrics, gates.clone());
            plan.benchmarks[id.0].inner.clone_from(inner);
            plan.benchmarks[id.0].iteration = *iteration;
        }
    }
    Ok(())
}

/// How many benchmarks share a process. With one per process, the two sides are
/// closest in time. But if the process takes long to start, it runs as many as take
/// equally long together, so that at most half of the time is lost.
fn group_size(start_up: f64, pair_seconds: f64, benchmarks: usize) -> usize {
    if start_up < SLOW_START || benchmarks == 0 {
        return 1;
    }
    let own = (pair_seconds / 2.0 - start_up) / benchmarks as f64;
    let size = (start_up / own.max(1e-6)).ceil() as usize;
    size.clamp(1, benchmarks)
}

/// Why nothing needs to be sampled, if so.
///
/// # Errors
/// If all that gates is on the base only: the head measures nothing that could be compared.
pub(super) fn reason_not_to_sample(
    session: &Session<'_, '_>,
    plan: &Plan,
) -> Result<Option<StoppedBy>, Error> {
    let found = || session.programs.iter().map(|program| &program.found);
    if plan.tests() > 0 || found().any(Discovery::has_exact) {
        return Ok(None);
    }
    // Other machines may have something to measure.
    let mut others = session.findings.division.iter().flat_map(|division| &division.benchmarks);
    if found().any(|found| !found.unaffected.is_empty()) || others.any(|one| !one.gates.is_empty())
    {
        return Ok(Some(StoppedBy::Verdict));
    }
    let removed: Vec<_> = found().flat_map(Discovery::removed).collect();
    if !removed.is_empty() && !found().any(Discovery::has_new) {
        return Err(FlowError::AllRemoved(removed).into());
    }
    Ok(Some(StoppedBy::NoBaseline))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_slow_start_is_shared_and_then_half_of_the_time_is_lost_at_most() {
        assert_eq!(group_size(0.006, 20.0, 300), 1);
        // 14 benchmarks of 5 ms after a start-up of a second.
        assert_eq!(group_size(1.0, 2.0 * (1.0 + 14.0 * 0.005), 14), 14);
        // 300 of 20 ms after 0.2 s: ten at a time.
        assert_eq!(group_size(0.2, 2.0 * (0.2 + 300.0 * 0.02), 300), 10);
        // Contradictory times, and no benchmarks.
        assert_eq!((group_size(1.0, 1.0, 14), group_size(1.0, 1.0, 0)), (14, 1));
    }
}
