//! What is measured if the time limit leaves no room for the least number of pairs of all
//! benchmarks: the cheapest first, so that most are decided. The rest is reported by name.

use std::time::{Duration, Instant};

use super::discovery::Discovery;
use super::program::ComparedProgram;
use super::session::Session;
use crate::engine::plan::{Group, Plan};
use crate::error::Error;
use crate::exec::execution::Stop;
use crate::exec::harness::Harness;
use crate::flows::error::{FlowError, HEADROOM, limit_for};
use crate::model::layouts::Layouts;
use crate::model::notice::{NoTime, Notice};
use crate::model::row::BenchmarkId;
use crate::model::run_length::RunLength;
use crate::model::side::Side;

/// How long pairs may be timed to find out which fit, as a fraction of the time limit and in
/// addition to it.
const TIMING: f64 = 0.1;

/// A benchmark that is known to enter changed code is worth as much as this many others.
const ENTERS: f64 = 4.0;

/// Leaves out of the plan what the time limit has no room for, and reports early what can't reach
/// a verdict. `layouts` are those of the settings.
///
/// # Errors
/// If not one benchmark fits, or there are fewer layouts than any verdict needs.
pub(super) fn into_limit(
    session: &mut Session<'_, '_>,
    plan: &mut Plan,
    discoveries: &mut [Discovery],
    layouts: Layouts,
) -> Result<(), Error> {
    if plan.tests() == 0 || !plan.decides {
        return Ok(());
    }
    let least = plan.least_pairs();
    if let Layouts::Number(number) = layouts
        && u64::from(number) < least
    {
        return Err(FlowError::TooFewLayouts { number, least }.into());
    }
    if plan.max_pairs.is_some_and(|most| most < least) {
        session.reporter.notice(Notice::TooFewPairs { least });
        return Ok(());
    }
    time_again(session, plan).map_err(Stop::into_error)?;
    if plan.least_time() <= plan.time_limit {
        return Ok(());
    }
    let costs: Vec<GroupCost> =
        plan.groups.iter().map(|group| GroupCost::of(group, plan, discoveries)).collect();
    let to_pass = plan.pairs_to_pass_per_least();
    let kept = fitting(&costs, plan.time_limit.as_secs_f64(), HEADROOM * to_pass);
    if !keeps_a_gate(&costs, &kept) {
        return Err(too_short(session, plan, &costs).into());
    }
    leave_out(session, plan, discoveries, &costs, &kept);
    report(session, discoveries, &costs, to_pass);
    Ok(())
}

/// If the minimum number of pairs does not fit the time limit, runs a pair of each group
/// again, until it does: the first timing may have been slow by accident, with a cold
/// cache or on a busy machine. The cheapest come first. No pair runs for longer than would fit.
/// Once the groups that were run again need too long by themselves, only those run whose time is
/// a guess: the others that are left would not be measured.
fn time_again(session: &mut Session<'_, '_>, plan: &mut Plan) -> Result<(), Stop> {
    let seconds = |number: &usize| {
        let group = &plan.groups[*number];
        Some(plan.least_pairs_in(group)? as f64 * group.pair_seconds)
    };
    let mut order: Vec<(usize, f64)> =
        (0..plan.groups.len()).filter_map(|number| Some((number, seconds(&number)?))).collect();
    order.sort_by(|(_, one), (_, other)| one.total_cmp(other));
    let (limit, begin) = (plan.time_limit, Instant::now());
    let mut confirmed = Duration::ZERO;
    for (number, _) in order {
        if plan.least_time() <= limit || begin.elapsed() > limit.mul_f64(TIMING) {
            break;
        }
        let group = &plan.groups[number];
        if confirmed > limit && !group.is_guessed {
            continue;
        }
        let Some(least) = plan.least_pairs_in(group) else { continue };
        let most = limit.div_f64(least as f64);
        let timed = time_pair(session, group, most)?;
        let group = &mut plan.groups[number];
        group.pair_seconds = match timed {
            Some(seconds) if group.is_guessed => seconds,
            Some(seconds) => seconds.min(group.pair_seconds),
            None if group.is_guessed => group.pair_seconds.max(most.as_secs_f64()),
            None => group.pair_seconds,
        };
        if timed.is_some() {
            group.is_guessed = false;
            confirmed += Duration::from_secs_f64(group.pair_seconds * least as f64);
        }
    }
    Ok(())
}

/// Runs a pair of a group, and returns how long it takes, seconds; `None` if that is longer than
/// `most`.
fn time_pair(
    session: &mut Session<'_, '_>,
    group: &Group,
    most: Duration,
) -> Result<Option<f64>, Stop> {
    let wanted: Vec<BenchmarkId> = group.benchmarks.clone().map(BenchmarkId).collect();
    let length = group.length.unwrap_or(RunLength::LONG);
    let begin = Instant::now();
    let program = &mut session.programs[group.program];
    match program.pair(&wanted, Side::Base, length, Some(begin + most), session.context) {
        Ok(_) => Ok(Some(begin.elapsed().as_secs_f64())),
        Err(Stop::OutOfTime) => Ok(None),
        Err(stop) => Err(stop),
    }
}

/// What a group costs, and what it is worth. Its benchmarks share a run because its start takes
/// most of the time, so a part of them would not cost much less.
struct GroupCost {
    /// The expected time of the least number of pairs for a verdict; 0 if nothing gates.
    seconds: f64,
    /// How many of its benchmarks gate.
    gating: usize,
    /// Whether one of them is known to enter functions that differ between the sides.
    enters: bool,
}

impl GroupCost {
    fn of(group: &Group, plan: &Plan, discoveries: &[Discovery]) -> Self {
        let entered = &discoveries[group.program].entered;
        let benchmarks = &plan.benchmarks[group.benchmarks.clone()];
        let enters = |name| entered.get(name).is_some_and(|functions| !functions.is_empty());
        GroupCost {
            seconds: plan.least_pairs_in(group).unwrap_or(0) as f64 * group.pair_seconds,
            gating: benchmarks.iter().filter(|one| one.gates()).count(),
            enters: benchmarks.iter().any(|one| enters(&one.name)),
        }
    }

    /// How much it costs in relation to what it is worth.
    fn price(&self) -> f64 {
        let worth = if self.enters { ENTERS } else { 1.0 };
        self.seconds / (self.gating as f64 * worth)
    }
}

/// Which groups are measured within `limit`, seconds. Where not all fit, each has `spare` times the
/// room of its least number of pairs, if anything fits then: an all-clear may need more pairs, and
/// pairs may take longer than expected.
fn fitting(groups: &[GroupCost], limit: f64, spare: f64) -> Vec<bool> {
    let kept = cheapest(groups, limit / spare);
    if keeps_a_gate(groups, &kept) { kept } else { cheapest(groups, limit) }
}

/// Whether anything that gates is kept.
fn keeps_a_gate(groups: &[GroupCost], kept: &[bool]) -> bool {
    groups.iter().zip(kept).any(|(group, kept)| group.gating > 0 && *kept)
}

/// The groups that fit into `room`, seconds, the cheapest first. What does not gate costs nothing.
fn cheapest(groups: &[GroupCost], room: f64) -> Vec<bool> {
    let mut order: Vec<usize> = (0..groups.len()).collect();
    let price = |group: &usize| groups[*group].price();
    order.sort_by(|one, other| price(one).total_cmp(&price(other)));
    let mut taken = vec![false; groups.len()];
    let mut used = 0.0;
    for number in order {
        let GroupCost { seconds, gating, .. } = groups[number];
        taken[number] = gating == 0 || used + seconds <= room;
        if taken[number] {
            used += seconds;
        }
    }
    taken
}

/// Removes what is not kept from the plan and from what was found.
fn leave_out(
    session: &mut Session<'_, '_>,
    plan: &mut Plan,
    discoveries: &mut [Discovery],
    costs: &[GroupCost],
    kept: &[bool],
) {
    let old = plan.clone();
    *plan = old.emptied();
    session.programs.iter_mut().for_each(ComparedProgram::forget_plan);
    // In each program, the number of benchmarks that are kept so far.
    let mut planned = vec![0; discoveries.len()];
    for (group, (cost, kept)) in old.groups.iter().zip(costs.iter().zip(kept)) {
        let found = &mut discoveries[group.program];
        let first = planned[group.program];
        let own = first..first + group.benchmarks.len();
        if !kept {
            let needed = cost.seconds / own.len() as f64;
            found.leave_unmeasured(own, needed);
            continue;
        }
        planned[group.program] = own.end;
        let program = &mut session.programs[group.program];
        program.plan(group.program, &found.benchmarks[own], group.pair_seconds, plan);
        if let Some(planned) = plan.groups.last_mut() {
            (planned.length, planned.is_guessed) = (group.length, group.is_guessed);
        }
    }
}

/// Reports what is not measured. An all-clear needs the least number of pairs times `to_pass`.
fn report(
    session: &mut Session<'_, '_>,
    discoveries: &[Discovery],
    costs: &[GroupCost],
    to_pass: f64,
) {
    let not_measured = discoveries.iter().flat_map(|found| found.not_measured.clone());
    let mut benchmarks: Vec<(String, f64)> = not_measured.collect();
    benchmarks.sort_by(|(_, one), (_, other)| other.total_cmp(one));
    if !benchmarks.is_empty() {
        let all: f64 = costs.iter().map(|group| group.seconds).sum();
        let wanted = limit_for(Duration::from_secs_f64(to_pass * all));
        session.reporter.notice(Notice::NoTime(NoTime { benchmarks, wanted }));
    }
}

/// The error that not one group fits.
fn too_short(session: &Session<'_, '_>, plan: &Plan, costs: &[GroupCost]) -> FlowError {
    let gating = plan.groups.iter().zip(costs).filter(|(_, cost)| cost.gating > 0);
    let shortest = gating.min_by(|(_, one), (_, other)| one.seconds.total_cmp(&other.seconds));
    let (group, cost) = shortest.expect("a plan with tests has a group that gates");
    let mut harnesses = session.programs.iter().map(|one| &one.sides.head.harness);
    FlowError::LimitTooShort {
        least: plan.least_pairs_in(group).unwrap_or(0),
        benchmarks: plan.benchmarks.iter().filter(|one| one.gates()).count(),
        shortest: plan.benchmarks[group.benchmarks.start].name.clone(),
        together: group.benchmarks.len(),
        needed: Duration::from_secs_f64(cost.seconds),
        limit: plan.time_limit,
        newer: harnesses.find_map(Harness::version_with_short_runs),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Groups of one benchmark that gates, with these seconds.
    fn alone<const N: usize>(seconds: [f64; N]) -> Vec<GroupCost> {
        seconds.map(|seconds| GroupCost { seconds, gating: 1, enters: false }).into()
    }

    /// The kept groups, as `x`, and the others, as `-`.
    fn shown(groups: &[GroupCost], limit: f64) -> String {
        let kept = fitting(groups, limit, 1.25).into_iter();
        kept.map(|kept| if kept { 'x' } else { '-' }).collect()
    }

    #[test]
    fn the_cheapest_are_measured() {
        let four = alone([40.0, 10.0, 30.0, 20.0]);
        // 75 s and a quarter more for pairs that take longer.
        assert_eq!(shown(&four, 99.0), "-xxx");
        assert_eq!(shown(&four, 60.0), "-x-x");
        assert_eq!(shown(&four, 13.0), "-x--");
    }

    #[test]
    fn the_only_one_that_fits_needs_no_room_to_spare() {
        assert_eq!(shown(&alone([40.0, 10.0]), 10.0), "-x");
        assert_eq!(shown(&alone([40.0, 10.0]), 9.0), "--");
    }

    #[test]
    fn what_enters_changed_code_is_preferred_unless_it_costs_far_more() {
        let mut three = alone([10.0, 30.0, 50.0]);
        three[1].enters = true;
        three[2].enters = true;
        assert_eq!(shown(&three, 40.0), "-x-");
        assert_eq!(shown(&three, 50.0), "xx-");
        assert_eq!(shown(&alone([10.0, 30.0, 50.0]), 40.0), "x--");
    }

    #[test]
    fn the_price_of_a_group_is_that_of_each_benchmark_in_it() {
        let several = GroupCost { seconds: 40.0, gating: 4, enters: false };
        let one = GroupCost { seconds: 11.0, ..alone([0.0]).remove(0) };
        assert_eq!(shown(&[one, several], 50.0), "-x");
    }

    #[test]
    fn what_does_not_gate_needs_no_room() {
        let groups = [GroupCost { gating: 0, ..alone([0.0]).remove(0) }, alone([80.0]).remove(0)];
        assert_eq!(shown(&groups, 9.0), "x-");
    }
}
