//! What is measured if the time limit leaves no room for the least number of pairs of all
//! benchmarks: the cheapest first, so that most are decided. The rest is reported by name.

use std::collections::BTreeSet;
use std::ops::Range;
use std::time::{Duration, Instant};

use super::lengths::bit_reversed_order;
use super::session::Session;
use crate::engine::{Event, Group, Plan, Schedule, TriedPair};
use crate::error::{Error, Failure};
use crate::exec::execution::{SideProgram, Stop};
use crate::model::{BenchmarkResult, Layouts, NoTime, Notice, RunLength, Side, time};

/// How long pairs may be timed to find out which fit, as a fraction of the time limit and in
/// addition to it: once for the groups, and once for their benchmarks.
const TIMING: f64 = 0.1;

/// Stored times of pairs are checked if the least number of pairs takes more than this part of the
/// time limit, by pairs that are timed for up to another part of it.
const CHECKED: f64 = 0.125;
const CHECKING: f64 = 0.05;

/// No benchmark of a group takes more than this part of the time in which all are timed: what is
/// longer is known well enough by what the others leave of the time of the group.
const ONE_PART: f64 = 0.25;

/// Pairs may take longer than they did when they were timed, by this factor.
const HEADROOM: f64 = 1.25;

/// A benchmark that is known to enter changed code is worth as much as this many others.
const ENTERS: f64 = 4.0;

/// Leaves out of the plan what the time limit has no room for, and reports early what can't reach
/// a verdict.
///
/// # Errors
/// If not one benchmark fits and no regression is known without a run, or there are fewer layouts
/// than any verdict needs.
pub(super) fn into_limit(session: &mut Session<'_, '_>, plan: &mut Plan) -> Result<(), Error> {
    if plan.tests() == 0 || !plan.decides {
        return Ok(());
    }
    let least = plan.least_pairs();
    if let Layouts::Number(number) = session.preparation.settings.policy.layouts
        && u64::from(number) < least
    {
        let what = format!(
            "no verdict is possible over {number} layouts: at least {least} of each side are needed"
        );
        let step = format!("use `--layouts {least}` or more, or `--layouts auto`");
        return Err(Failure::new(what, step).into());
    }
    if plan.max_pairs.is_some_and(|most| most < least) {
        session.reporter.notice(Notice::TooFewPairs { least });
        return Ok(());
    }
    check_stored(session, plan)?;
    time_again(session, plan)?;
    if plan.least_time() <= plan.time_limit {
        return Ok(());
    }
    let mut costs = costs(session, plan)?;
    let to_pass = plan.pairs_to_pass_per_least();
    choose(&mut costs, plan.time_limit.as_secs_f64(), to_pass);
    let has_regressed = session.programs.iter().any(|program| program.found.has_regressed());
    if !costs.iter().any(GroupCost::keeps_a_gate) && !has_regressed {
        return Err(too_short(session, plan, &costs).into());
    }
    leave_out(session, plan, &costs);
    report(session, &costs, to_pass);
    Ok(())
}

/// Times a pair of some groups whose times are stored, and corrects all stored times by what these
/// pairs took longer or shorter: the machine may be busier than it was.
fn check_stored(session: &mut Session<'_, '_>, plan: &mut Plan) -> Result<(), Stop> {
    let (limit, begin) = (plan.time_limit, Instant::now());
    let groups = plan.groups.iter().enumerate();
    let stored = groups.filter(|(_, group)| group.is_stored && group.pair_seconds > 0.0);
    let stored = stored.filter_map(|(number, group)| Some((number, plan.least_pairs_in(group)?)));
    let stored: Vec<(usize, u64)> = stored.collect();
    if plan.least_time() <= limit.mul_f64(CHECKED) {
        return Ok(());
    }
    let (mut earlier, mut now) = (0.0, 0.0);
    for (done, index) in bit_reversed_order(stored.len()).enumerate() {
        if begin.elapsed() > limit.mul_f64(CHECKING) {
            break;
        }
        let (number, least) = stored[index];
        session.reporter.event(Event::Timing((done + 1, stored.len())));
        let most = limit.div_f64(least as f64);
        earlier += plan.groups[number].pair_seconds;
        let timed = time_group(session, plan, number, 0, most)?;
        now += timed.unwrap_or(most.as_secs_f64());
    }
    if earlier > 0.0 {
        stored.iter().for_each(|&(number, _)| plan.groups[number].pair_seconds *= now / earlier);
    }
    Ok(())
}

/// If the minimum number of pairs does not fit the time limit, runs a pair of each group
/// again, until it does: the first timing may have been slow by accident, with a cold
/// cache or on a busy machine. The cheapest come first. No pair runs for longer than would fit.
/// Once the groups that were run again need too long by themselves, only those run whose time is
/// a guess: the others that are left would not be measured. Guesses for which there was no time are
/// raised as those that were tried had to be: else slow benchmarks would be chosen as cheap ones, and
/// leave no time for those that are. Where pairs vary much, such as those of criterion's quick mode by
/// a factor of ten, the shorter time is too short for most, and is corrected.
fn time_again(session: &mut Session<'_, '_>, plan: &mut Plan) -> Result<(), Stop> {
    let groups = plan.groups.iter().enumerate();
    let least = groups.filter_map(|(number, one)| {
        let least = plan.least_pairs_in(one)? as f64;
        Some((number, least, least * one.pair_seconds))
    });
    let mut order: Vec<(usize, f64, f64)> = least.collect();
    order.sort_by(|(.., one), (.., other)| one.total_cmp(other));
    let (limit, begin) = (plan.time_limit, Instant::now());
    let (mut confirmed, mut again) = (Duration::ZERO, Vec::new());
    let mut untried: BTreeSet<usize> =
        order.iter().map(|one| one.0).filter(|number| plan.groups[*number].is_guessed).collect();
    let (mut guessed, mut guesses_took) = (0.0, 0.0);
    let count = order.len();
    for (done, (number, least, _)) in order.into_iter().enumerate() {
        if plan.least_time() <= limit || begin.elapsed() > limit.mul_f64(TIMING) {
            break;
        }
        if confirmed > limit && !plan.groups[number].is_guessed {
            continue;
        }
        let most = limit.div_f64(least);
        session.reporter.event(Event::Timing((done + 1, count)));
        let timed = time_group(session, plan, number, 1, most)?;
        let group = &mut plan.groups[number];
        let before = group.pair_seconds;
        group.pair_seconds = match timed {
            Some(seconds) if group.is_guessed => seconds,
            Some(seconds) => seconds.min(before),
            None if group.is_guessed => before.max(most.as_secs_f64()),
            None => before,
        };
        if untried.remove(&number) {
            guessed += before;
            guesses_took += group.pair_seconds;
        } else {
            let second = timed.unwrap_or(before.max(most.as_secs_f64()));
            again.push((number, group.pair_seconds, second));
        }
        if timed.is_some() {
            group.is_guessed = false;
            confirmed += Duration::from_secs_f64(group.pair_seconds * least);
        }
    }
    if guessed > 0.0 && guesses_took > guessed {
        let factor = guesses_took / guessed;
        for number in untried {
            // One of them is still tried if nothing else fits.
            let least = plan.least_pairs_in(&plan.groups[number]).unwrap_or(1) as f64;
            let most = 0.999 * limit.as_secs_f64() / least;
            let seconds = &mut plan.groups[number].pair_seconds;
            *seconds = seconds.max(most.min(*seconds * factor));
        }
    }
    let factor = usual_per_shorter(&again);
    again.iter().for_each(|(number, ..)| plan.groups[*number].pair_seconds *= factor);
    Ok(())
}

/// How much longer pairs usually take than the shorter of two that were timed, of groups with that and
/// the second time. Groups were chosen by their first.
fn usual_per_shorter(again: &[(usize, f64, f64)]) -> f64 {
    let shorter: f64 = again.iter().map(|(_, shorter, _)| shorter).sum();
    let second: f64 = again.iter().map(|(.., second)| second).sum();
    if shorter > 0.0 { second / shorter } else { 1.0 }
}

/// Runs a pair of a group, which counts like all others, and returns how long it takes, seconds;
/// `None` if that is longer than `most`.
fn time_group(
    session: &mut Session<'_, '_>,
    plan: &mut Plan,
    number: usize,
    coin: u64,
    most: Duration,
) -> Result<Option<f64>, Stop> {
    let Group { program, benchmarks, length, .. } = &plan.groups[number];
    // Neither the coins with which lengths were tried nor those of the pairs that follow.
    let first = Schedule::new(plan.seed.rotate_left(32), number as u64).first(coin);
    let (program, length) = (&mut session.programs[*program], length.unwrap_or(RunLength::LONG));
    let timed = program.timed_pair(plan, benchmarks.clone(), first, length, Some(most))?;
    Ok(timed.map(|(seconds, rows)| {
        plan.groups[number].tried.push(TriedPair { first, rows });
        seconds
    }))
}

/// What the benchmarks of a group cost.
struct GroupCost {
    /// The least number of pairs for a verdict.
    least: f64,
    /// How many there are already.
    before: f64,
    /// The part of a pair that is the same whatever is measured, seconds.
    start_ups: f64,
    /// Whether some of them can be measured without the others.
    can_be_cut: bool,
    benchmarks: Vec<BenchmarkCost>,
}

struct BenchmarkCost {
    /// Its own part of a pair, seconds.
    seconds: f64,
    gates: bool,
    /// Whether it is known to enter functions that differ between the sides.
    enters: bool,
    /// Whether it is measured.
    kept: bool,
}

impl GroupCost {
    /// The expected time of a pair of some of its benchmarks, seconds.
    fn pair_seconds(&self, is_in: impl Fn(&&BenchmarkCost) -> bool) -> f64 {
        let mut own = self.benchmarks.iter().filter(is_in).map(|one| one.seconds).peekable();
        own.peek().map_or(0.0, |_| self.start_ups) + own.sum::<f64>()
    }

    fn keep(&mut self, part: Range<usize>, kept: bool) {
        self.benchmarks[part].iter_mut().for_each(|one| one.kept = kept);
    }

    /// Whether any benchmark that gates is kept.
    fn keeps_a_gate(&self) -> bool {
        self.benchmarks.iter().any(|one| one.gates && one.kept)
    }

    /// How many further pairs there are until it has so many times the least number.
    fn further(&self, times: f64) -> f64 {
        (times * self.least - self.before).max(0.0)
    }

    /// What can be measured alone: single benchmarks, or all of them.
    fn parts(&self) -> Vec<Range<usize>> {
        let gating =
            |part: &Range<usize>| self.benchmarks[part.clone()].iter().any(|one| one.gates);
        let size = if self.can_be_cut { 1 } else { self.benchmarks.len() };
        let starts = (0..self.benchmarks.len()).step_by(size.max(1));
        starts.map(|start| start..start + size).filter(gating).collect()
    }

    /// How much a benchmark of a part costs in each pair, in relation to what it is worth.
    fn price(&self, part: &Range<usize>) -> f64 {
        let all = &self.benchmarks[part.clone()];
        let gating = all.iter().filter(|one| one.gates).count() as f64;
        let own: f64 = all.iter().map(|one| one.seconds).sum();
        let share = part.len() as f64 / self.benchmarks.len() as f64;
        let worth = if all.iter().any(|one| one.enters) { ENTERS } else { 1.0 };
        (self.start_ups * share + own) / (gating * worth)
    }
}

/// What all benchmarks of a plan cost. Times those of a group one by one.
fn costs(session: &mut Session<'_, '_>, plan: &Plan) -> Result<Vec<GroupCost>, Stop> {
    let budget = plan.time_limit.mul_f64(TIMING);
    let deadline = Instant::now() + budget;
    let mut costs = Vec::new();
    for group in &plan.groups {
        let can_be_cut = group.can_select_benchmarks && group.benchmarks.len() > 1;
        let start_up = session.programs[group.program].start_up;
        let start_ups = if can_be_cut { 2.0 * start_up } else { 0.0 };
        let mut timed = vec![Err(0.0); group.benchmarks.len()];
        for (part, number) in timed.iter_mut().zip(group.benchmarks.clone()) {
            let left = deadline.saturating_duration_since(Instant::now());
            if !can_be_cut || left.is_zero() || !plan.benchmarks[number].gates() {
                continue;
            }
            let most = left.min(budget.mul_f64(ONE_PART));
            session.reporter.event(Event::Timing((number + 1, plan.benchmarks.len())));
            let (program, length) = (&mut session.programs[group.program], group.length);
            let length = length.unwrap_or(RunLength::LONG);
            let part_of_it = number..number + 1;
            let timed = program.timed_pair(plan, part_of_it, Side::Base, length, Some(most))?;
            let own = |seconds: f64| (seconds - start_ups).max(0.0);
            *part = timed.map(|(seconds, _)| own(seconds)).ok_or(own(most.as_secs_f64()));
        }
        let own = own_seconds((group.pair_seconds - start_ups).max(0.0), &timed);
        let entered = &session.programs[group.program].found.entered;
        let benchmarks = own.zip(&plan.benchmarks[group.benchmarks.clone()]);
        let benchmarks = benchmarks.map(|(seconds, benchmark)| BenchmarkCost {
            seconds,
            gates: benchmark.gates(),
            enters: entered.get(&benchmark.name).is_some_and(|functions| !functions.is_empty()),
            kept: true,
        });
        costs.push(GroupCost {
            least: plan.least_pairs_in(group).unwrap_or(0) as f64,
            before: group.tried.len() as f64,
            start_ups,
            can_be_cut,
            benchmarks: benchmarks.collect(),
        });
    }
    Ok(costs)
}

/// The seconds of each benchmark of a group. Those that are not known, which have at least so many,
/// share what is left of all.
fn own_seconds(all: f64, timed: &[Result<f64, f64>]) -> impl Iterator<Item = f64> {
    let known: f64 = timed.iter().flatten().sum();
    let unknown = timed.iter().filter(|seconds| seconds.is_err()).count();
    let share = (all - known).max(0.0) / unknown.max(1) as f64;
    timed.iter().map(move |seconds| seconds.unwrap_or_else(|least| least.max(share)))
}

/// Chooses which benchmarks of each group are measured within `limit`, seconds. Where not all fit,
/// each has room for the pairs of an all-clear, `to_pass` times the least number, and for pairs that
/// take longer than expected, if anything fits then.
fn choose(groups: &mut [GroupCost], limit: f64, to_pass: f64) {
    let all = groups.iter().map(|group| group.further(1.0) * group.pair_seconds(|_| true));
    if all.sum::<f64>() <= limit {
        return keep_cheapest(groups, f64::INFINITY, 1.0);
    }
    keep_cheapest(groups, limit / HEADROOM, to_pass);
    if !groups.iter().any(GroupCost::keeps_a_gate) {
        keep_cheapest(groups, limit, 1.0);
    }
}

/// Keeps the benchmarks of each group of which so many `times` the least number of pairs fit into
/// `room`, seconds, the cheapest first. What does not gate costs nothing where it is not run with
/// others.
fn keep_cheapest(groups: &mut [GroupCost], room: f64, times: f64) {
    let mut parts: Vec<(f64, usize, Range<usize>)> = Vec::new();
    for (number, group) in groups.iter_mut().enumerate() {
        group.keep(0..group.benchmarks.len(), false);
        let price = |part: &Range<usize>| group.further(times) * group.price(part);
        parts.extend(group.parts().into_iter().map(|part| (price(&part), number, part)));
    }
    parts.sort_by(|(one, ..), (other, ..)| one.total_cmp(other));
    let mut used = 0.0;
    for (_, number, part) in parts {
        let group = &mut groups[number];
        let before = group.pair_seconds(|one| one.kept);
        group.keep(part.clone(), true);
        let more = group.further(times) * (group.pair_seconds(|one| one.kept) - before);
        match used + more <= room {
            true => used += more,
            false => group.keep(part, false),
        }
    }
    for group in groups {
        let is_free = group.can_be_cut || group.least == 0.0;
        group.benchmarks.iter_mut().for_each(|one| one.kept |= is_free && !one.gates);
    }
}

/// Removes what is not kept from the plan and from what was found.
fn leave_out(session: &mut Session<'_, '_>, plan: &mut Plan, costs: &[GroupCost]) {
    let mut needed: Vec<Vec<Option<f64>>> = vec![Vec::new(); session.programs.len()];
    for (group, cost) in plan.groups.iter_mut().zip(costs) {
        needed[group.program].extend(seconds_needed(cost));
        if cost.least > 0.0 {
            group.pair_seconds = cost.pair_seconds(|one| one.kept);
        }
    }
    for (program, needed) in session.programs.iter_mut().zip(&needed) {
        program.found.leave_unmeasured(needed);
    }
    let all = costs.iter().flat_map(|group| &group.benchmarks);
    plan.retain(&all.map(|one| one.kept).collect::<Vec<_>>());
}

/// Reports what is not measured. An all-clear needs the least number of pairs times `to_pass`.
fn report(session: &mut Session<'_, '_>, costs: &[GroupCost], to_pass: f64) {
    let left_out = session.programs.iter().flat_map(|program| &program.found.not_measured);
    let all = costs.iter().map(|group| group.least * group.pair_seconds(|_| true));
    let notice = no_time(left_out, to_pass * all.sum::<f64>());
    notice.into_iter().for_each(|notice| session.reporter.notice(notice));
}

/// The notice about those of these that are not measured, if there are any. All that is to be measured
/// takes so many seconds.
pub(super) fn no_time<'a>(
    results: impl IntoIterator<Item = &'a BenchmarkResult>,
    seconds: f64,
) -> Option<Notice> {
    let all = results.into_iter().filter_map(|one| Some((one.name.clone(), one.needed_seconds?)));
    let mut benchmarks: Vec<(String, f64)> = all.collect();
    (!benchmarks.is_empty()).then(|| {
        benchmarks.sort_by(|(_, one), (_, other)| other.total_cmp(one));
        let wanted = limit_for(Duration::from_secs_f64(seconds));
        Notice::NoTime(NoTime { benchmarks, wanted })
    })
}

/// How long the least number of pairs of each benchmark of a group takes, seconds, of those that
/// are not measured.
fn seconds_needed(cost: &GroupCost) -> impl Iterator<Item = Option<f64>> {
    // The process starts for the others anyway.
    let is_started = cost.benchmarks.iter().any(|one| one.kept);
    let start_ups = if is_started { 0.0 } else { cost.start_ups };
    let share = start_ups / cost.benchmarks.len() as f64;
    let benchmarks = cost.benchmarks.iter();
    benchmarks.map(move |one| (!one.kept).then_some(cost.least * (one.seconds + share)))
}

/// The error that not one benchmark fits.
fn too_short(session: &Session<'_, '_>, plan: &Plan, costs: &[GroupCost]) -> Failure {
    let parts = plan.groups.iter().zip(costs).flat_map(|(group, cost)| {
        cost.parts().into_iter().map(move |part| {
            let own: f64 = cost.benchmarks[part.clone()].iter().map(|one| one.seconds).sum();
            let seconds = cost.least * (cost.start_ups + own);
            (seconds, cost.least as u64, group.benchmarks.start + part.start, part.len())
        })
    });
    let shortest = parts.min_by(|(one, ..), (other, ..)| one.total_cmp(other));
    let (seconds, least, first, together) = shortest.unwrap_or_default();
    let shortest = plan.benchmarks.get(first).map_or("", |benchmark| &benchmark.name);
    let benchmarks = plan.benchmarks.iter().filter(|one| one.gates()).count();
    let needed = Duration::from_secs_f64(seconds);
    let what = format!(
        "a verdict needs at least {least} pairs{}, which take about {}, longer than the time limit of {}",
        shortest_of(benchmarks, shortest, together),
        time::estimate(needed),
        time::duration(plan.time_limit)
    );
    let mut programs = session.programs.iter().map(|one| &one.sides.head);
    let newer = programs.find_map(SideProgram::version_with_short_runs);
    Failure::new(what, longer_limit(needed, benchmarks, newer))
}

/// A time limit with room for pairs that take so long: from two minutes on, whole minutes.
fn limit_for(needed: Duration) -> Duration {
    let wanted = (needed.as_secs_f64() * HEADROOM).ceil() as u64;
    Duration::from_secs(if wanted < 120 { wanted } else { wanted.next_multiple_of(60) })
}

/// What to do if the minimum number of pairs takes longer than the time limit. The suggested
/// limit has room for runs that take longer than the warm-up did.
fn longer_limit(needed: Duration, benchmarks: usize, newer: Option<&str>) -> String {
    let wanted = time::exact(limit_for(needed)).replace(' ', "");
    let hint = match benchmarks {
        1 => format!("allow `--time-limit {wanted}`, or shorten the benchmark"),
        _ => format!(
            "choose fewer benchmarks with `--bench` or `--filter`, or allow `--time-limit {wanted}` \
             or more"
        ),
    };
    match newer {
        Some(version) => {
            format!("{hint}; with {version} or later, a run takes milliseconds instead of seconds")
        }
        None => hint,
    }
}

/// Which of several benchmarks takes so long, with how many others.
fn shortest_of(benchmarks: usize, shortest: &str, together: usize) -> String {
    match (benchmarks, together) {
        (1, _) => String::new(),
        (all, 1) => format!(" of `{shortest}`, the shortest of {all} benchmarks"),
        (all, together) if together >= all => {
            format!(" of all {all} benchmarks, which only run together")
        }
        (all, together) => {
            let others = together - 1;
            format!(" of `{shortest}` and {others} that run with it, the shortest of {all}")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A group of benchmarks that gate, by the seconds of each, in single pairs.
    fn group<const N: usize>(start_ups: f64, can_be_cut: bool, seconds: [f64; N]) -> GroupCost {
        let one = |seconds| BenchmarkCost { seconds, gates: true, enters: false, kept: true };
        let benchmarks = seconds.map(one).into();
        GroupCost { least: 1.0, before: 0.0, start_ups, can_be_cut, benchmarks }
    }

    fn alone<const N: usize>(seconds: [f64; N]) -> Vec<GroupCost> {
        seconds.map(|seconds| group(0.0, false, [seconds])).into()
    }

    /// The kept benchmarks, as `x`, and the others, as `-`.
    fn shown(groups: &mut [GroupCost], limit: f64) -> String {
        choose(groups, limit, 1.0);
        let mark = |one: &BenchmarkCost| if one.kept { 'x' } else { '-' };
        let groups = groups.iter().map(|group| group.benchmarks.iter().map(mark).collect());
        groups.collect::<Vec<String>>().join(" ")
    }

    #[test]
    fn all_are_measured_if_they_fit_and_else_the_cheapest() {
        let mut four = alone([40.0, 10.0, 30.0, 20.0]);
        assert_eq!(shown(&mut four, 100.0), "x x x x");
        // 75 s and a quarter more for pairs that take longer.
        assert_eq!(shown(&mut four, 99.0), "- x x x");
        assert_eq!(shown(&mut four, 60.0), "- x - x");
        assert_eq!(shown(&mut four, 13.0), "- x - -");
    }

    #[test]
    fn pairs_that_are_there_need_no_room() {
        let mut four = alone([4.0, 1.0, 3.0, 2.0]);
        four.iter_mut().for_each(|group| (group.least, group.before) = (14.0, 8.0));
        // Six pairs of each take 60 s.
        assert_eq!(shown(&mut four, 60.0), "x x x x");
        assert_eq!(shown(&mut four, 59.0), "- x x x");
        // An all-clear takes twice as many pairs as any verdict.
        four.iter_mut().for_each(|group| (group.least, group.before) = (7.0, 5.0));
        choose(&mut four, 19.0, 2.0);
        let kept: Vec<bool> = four.iter().map(GroupCost::keeps_a_gate).collect();
        assert_eq!(kept, [false, true, false, false]);
    }

    #[test]
    fn the_only_one_that_fits_needs_no_room_to_spare() {
        assert_eq!(shown(&mut alone([40.0, 10.0]), 10.0), "- x");
        assert_eq!(shown(&mut alone([40.0, 10.0]), 9.0), "- -");
    }

    #[test]
    fn what_enters_changed_code_is_preferred_unless_it_costs_far_more() {
        let mut three = alone([10.0, 30.0, 50.0]);
        three[1].benchmarks[0].enters = true;
        three[2].benchmarks[0].enters = true;
        assert_eq!(shown(&mut three, 40.0), "- x -");
        assert_eq!(shown(&mut three, 50.0), "x x -");
        assert_eq!(shown(&mut alone([10.0, 30.0, 50.0]), 40.0), "x - -");
    }

    #[test]
    fn of_a_group_a_part_is_measured_where_the_harness_can_select() {
        // A start of 5 s that all share.
        let seconds = [10.0, 80.0, 10.0];
        assert_eq!(shown(&mut [group(5.0, true, seconds)], 50.0), "x-x");
        assert_eq!(shown(&mut [group(5.0, true, seconds)], 15.0), "x--");
        assert_eq!(shown(&mut [group(5.0, true, seconds)], 14.0), "---");
        assert_eq!(shown(&mut [group(5.0, false, seconds)], 50.0), "---");
        // What can't be cut is taken whole.
        assert_eq!(
            shown(&mut [group(5.0, false, seconds), group(0.0, false, [9.0])], 106.0),
            "--- x"
        );
        let mut both = [group(5.0, false, [10.0, 10.0]), group(0.0, false, [99.0])];
        assert_eq!(shown(&mut both, 50.0), "xx -");
    }

    #[test]
    fn pairs_that_vary_take_longer_than_the_shorter_of_two() {
        // The first one was slow, and the later ones are as fast.
        assert_eq!(usual_per_shorter(&[(0, 0.5, 0.5), (1, 0.25, 0.25)]), 1.0);
        assert_eq!(usual_per_shorter(&[(0, 0.5, 0.5), (1, 0.25, 2.5), (2, 0.25, 0.5)]), 3.5);
        assert_eq!(usual_per_shorter(&[]), 1.0);
    }

    #[test]
    fn what_does_not_gate_needs_no_room() {
        let mut groups = vec![group(5.0, true, [10.0, 80.0])];
        groups[0].benchmarks[1].gates = false;
        assert_eq!(shown(&mut groups, 20.0), "xx");
        assert_eq!(shown(&mut groups, 9.0), "-x");
    }

    #[test]
    fn those_that_were_not_timed_share_what_the_others_leave_of_a_group() {
        let own = |timed: &[Result<f64, f64>]| own_seconds(33.0, timed).collect::<Vec<f64>>();
        assert_eq!(own(&[Ok(1.0), Err(7.5), Ok(2.0)]), [1.0, 30.0, 2.0]);
        assert_eq!(own(&[Ok(1.0), Err(0.0), Err(20.0)]), [1.0, 16.0, 20.0]);
        assert_eq!(own(&[Err(0.0); 3]), [11.0; 3]);
        assert_eq!(own(&[Ok(40.0), Err(0.0)]), [40.0, 0.0]);
    }

    #[test]
    fn what_is_not_measured_needs_the_starts_only_if_nothing_else_of_its_group_runs() {
        let mut three = group(6.0, true, [10.0, 80.0, 10.0]);
        let needed = |three: &GroupCost| seconds_needed(three).collect::<Vec<_>>();
        three.keep(1..2, false);
        assert_eq!(needed(&three), [None, Some(80.0), None]);
        three.keep(0..3, false);
        assert_eq!(needed(&three), [Some(12.0), Some(82.0), Some(12.0)]);
    }

    #[test]
    fn a_limit_that_is_too_short_names_one_that_will_do_and_what_else_helps() {
        let hour = Duration::from_secs(3600);
        assert_eq!(
            longer_limit(hour, 1, None),
            "allow `--time-limit 1h15m`, or shorten the benchmark"
        );
        assert_eq!(
            longer_limit(hour, 87, Some("criterion 0.4")),
            "choose fewer benchmarks with `--bench` or `--filter`, or allow `--time-limit 1h15m` or \
             more; with criterion 0.4 or later, a run takes milliseconds instead of seconds"
        );
    }

    #[test]
    fn a_limit_in_which_nothing_fits_names_what_takes_the_least() {
        let of = |benchmarks, together| shortest_of(benchmarks, "a", together);
        assert_eq!(of(1, 1), "");
        assert_eq!(of(30, 1), " of `a`, the shortest of 30 benchmarks");
        assert_eq!(of(30, 30), " of all 30 benchmarks, which only run together");
        assert_eq!(of(30, 3), " of `a` and 2 that run with it, the shortest of 30");
    }
}
