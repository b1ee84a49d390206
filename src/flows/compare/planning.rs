//! The plan of a comparison: which benchmarks share a run.

use super::discovery::{Discovered, Discovery};
use super::{ComparedProgram, Session};
use crate::engine::Plan;
use crate::error::Error;
use crate::exec::execution::{SideProgram, Stop};
use crate::flows::error::FlowError;
use crate::model::{Division, Layouts, StoppedBy};

/// Benchmarks share a process if it takes longer than this until the first of them, seconds.
const SLOW_START: f64 = 0.05;

/// Plans the pairs of what was discovered: as many as a verdict of each benchmark takes if it `decides`,
/// otherwise as many as the limits allow.
pub(super) fn plan(
    session: &mut Session<'_, '_>,
    discoveries: &[Discovery],
    decides: bool,
) -> Result<Plan, Error> {
    let (settings, options) = (&session.preparation.settings, session.options);
    let seed = options.shard.map_or(options.seed, |shard| shard.seed(options.seed));
    let mut plan = Plan {
        time_limit: settings.limits.time,
        max_pairs: settings.limits.pairs,
        fail_fast: options.fail_fast,
        gives_up: !options.uses_full_time && decides,
        decides,
        layouts: match session.programs.iter().any(|one| one.both_sides(SideProgram::can_be_placed))
        {
            true if decides => settings.policy.layouts,
            _ => Layouts::Off,
        },
        most_layouts: session.programs.iter().filter_map(|one| one.most_layouts()).min(),
        ..Plan::new(settings.policy.confidence, settings.policy.estimator, seed)
    };
    for (number, discovery) in discoveries.iter().enumerate() {
        let program = &mut session.programs[number];
        plan_groups(program, number, discovery, &mut plan).map_err(Stop::into_error)?;
    }
    if decides {
        let unaffected = discoveries.iter().map(|found| found.unaffected.len()).sum();
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
    discovery: &Discovery,
    plan: &mut Plan,
) -> Result<(), Stop> {
    let (benchmarks, can_select) = (&discovery.benchmarks, program.can_select_benchmarks());
    program.reported = discovery.reported;
    let (all, pair_seconds) = (discovery.most_reported(), discovery.pair_seconds);
    let (mut start_up, mut size) = (0.0, benchmarks.len().max(1));
    let is_timed = benchmarks.len() > 1 && can_select;
    if is_timed {
        start_up = program.measure_start_up()?;
        let most = group_size(start_up, pair_seconds, all);
        size = benchmarks.len().div_ceil(benchmarks.len().div_ceil(most));
    }
    // Of what is left without the two starts, all benchmarks of a run get the same.
    let own = (pair_seconds - 2.0 * start_up).max(0.0) / all as f64;
    for group in benchmarks.chunks(size) {
        let seconds = 2.0 * start_up + own * group.len() as f64;
        plan.add_group(number, can_select, if is_timed { seconds } else { pair_seconds });
        let is_guessed = can_select && group.len() < all;
        plan.groups.last_mut().into_iter().for_each(|group| group.is_guessed = is_guessed);
        for Discovered { name, inner, metrics, gates } in group {
            let id = plan.add_benchmark(name, metrics, gates.clone());
            plan.benchmarks[id.0].inner.clone_from(inner);
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
    plan: &Plan,
    discoveries: &[Discovery],
    division: Option<&Division>,
) -> Result<Option<StoppedBy>, Error> {
    if plan.tests() > 0 || discoveries.iter().any(Discovery::has_exact) {
        return Ok(None);
    }
    // Other machines may have something to measure.
    let others = division.into_iter().flat_map(|division| &division.benchmarks);
    if discoveries.iter().any(|found| !found.unaffected.is_empty())
        || others.into_iter().any(|one| !one.gates.is_empty())
    {
        return Ok(Some(StoppedBy::Verdict));
    }
    let removed: Vec<_> = discoveries.iter().flat_map(Discovery::removed).collect();
    if !removed.is_empty() && !discoveries.iter().any(Discovery::has_new) {
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
