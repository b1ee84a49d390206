//! How long the runs of a benchmark should be.

use std::path::Path;
use std::time::{Duration, Instant};

use super::harnesses::own_times;
use super::program::ComparedProgram;
use super::session::Session;
use crate::engine::longer::measuring;
use crate::engine::test::estimator;
use crate::engine::trial::{Length, LengthTrial, SLOW_PAIR, TrialGate};
use crate::engine::{Event, Group, Plan, Reporter, Schedule, TriedPair};
use crate::error::Error;
use crate::exec::execution::{SideProgram, Stop};
use crate::exec::known::Known;
use crate::model::{BenchmarkId, BenchmarkNotice, MetricId, Row, RunLength, Side};

/// The file of the cache with the lengths that other comparisons found.
const KNOWN: &str = "run-lengths-v6";

/// How long the trial of run lengths may take, as a fraction of the time limit and in addition to
/// it.
const TRIAL: f64 = 0.1;

/// After this time per benchmark, the first pair that should be short is stopped, if a capped one
/// can replace it.
const LONGEST_PAIR: Duration = Duration::from_secs(3);

/// How long runs measure at most if most of their time goes elsewhere: just short enough for a median
/// to work well on a busy machine (see `docs/suites.md`).
const BESIDE_OTHER_WORK: [Duration; 2] = [Duration::from_millis(10), Duration::from_millis(3)];

/// Determines how long the runs of each group of a plan should be.
pub(super) fn choose(session: &mut Session<'_, '_>, plan: &mut Plan) -> Result<(), Error> {
    let known = session.preparation.cache.found_out(KNOWN);
    let budget = plan.time_limit.mul_f64(TRIAL);
    for (number, program) in session.programs.iter_mut().enumerate() {
        let groups = plan.groups.iter().enumerate().filter(|(_, group)| group.program == number);
        let groups: Vec<usize> = groups.map(|(number, _)| number).collect();
        let share = groups.len() as f64 / plan.groups.len().max(1) as f64;
        let deadline = Instant::now() + budget.mul_f64(share);
        let (plan, reporter, patience) = (&mut *plan, &mut *session.reporter, LONGEST_PAIR);
        Lengths { program, groups, plan, reporter, deadline, patience }.choose(&known)?;
    }
    session.report_runs();
    Ok(())
}

/// The lengths of the runs of one program.
struct Lengths<'p, 'a> {
    program: &'p mut ComparedProgram<'a>,
    /// The groups of the program in the plan.
    groups: Vec<usize>,
    plan: &'p mut Plan,
    reporter: &'p mut dyn Reporter,
    /// Until when they are tried.
    deadline: Instant,
    /// After this time per benchmark, a pair that should be short is stopped, if a capped one can
    /// replace it.
    patience: Duration,
}

impl Lengths<'_, '_> {
    /// Determines how long the runs of each group should be, until the deadline; the
    /// remaining groups get the most frequent length of the others, and are tried next
    /// time.
    ///
    /// # Errors
    /// When a run fails.
    fn choose(&mut self, known: &Path) -> Result<(), Stop> {
        if self.program.runs_as_coded() {
            for &group in &self.groups {
                self.plan.groups[group].length = Some(RunLength::Own);
            }
        }
        if !self.program.both_sides(SideProgram::takes_time) {
            return Ok(());
        }
        let known = Known::new(known, &self.parts());
        let stored = known.read().filter(|all: &Vec<_>| all.len() == self.groups.len());
        let any_stored = stored.is_some();
        let stored = stored.unwrap_or_else(|| vec![None; self.groups.len()]);
        let mut lengths = stored.clone();
        if lengths.contains(&None) {
            self.try_missing(&mut lengths)?;
            known.write(&lengths);
        }
        let usual = usual(&lengths);
        for ((&group, length), stored) in self.groups.iter().zip(lengths).zip(stored) {
            let expected = self.expected_seconds(group, usual.run);
            let group = &mut self.plan.groups[group];
            group.is_guessed = length.is_none();
            group.is_stored = stored.is_some() || group.is_guessed && any_stored;
            let guess = expected.map_or(usual, |pair_seconds| Length { pair_seconds, ..usual });
            let length = length.unwrap_or(guess);
            group.length = Some(length.run);
            group.pair_seconds = length.pair_seconds;
            if let Some(least) = self.program.sides.head.least_iterations() {
                group.least_iterations = least;
            }
        }
        self.note_own_times();
        Ok(())
    }

    /// How long a pair of runs of this length takes, seconds, of benchmarks that are limited to one
    /// round, if the warm-up has shown the times of their iterations.
    fn expected_seconds(&self, group: usize, run: RunLength) -> Option<f64> {
        let benchmarks = self.plan.groups[group].benchmarks.clone();
        let iterations = self.plan.benchmarks[benchmarks].iter().map(|one| one.iteration);
        let iterations = iterations.sum::<Option<f64>>()?;
        let least = iterations * self.program.sides.head.least_iterations()?;
        let round = run.time().unwrap_or_default().as_secs_f64().max(least);
        Some(2.0 * (self.program.start_up + round))
    }

    /// Adds a notice about the slowest benchmark that is slow because of its own code.
    fn note_own_times(&mut self) {
        let groups = self.groups.iter().map(|&group| &self.plan.groups[group]);
        let slow = groups.filter(|group| group.pair_seconds > SLOW_PAIR);
        let slowest = slow.max_by(|one, other| one.pair_seconds.total_cmp(&other.pair_seconds));
        let places = self.program.prepared.source.as_ref().map(own_times).unwrap_or_default();
        let Some(slowest) = slowest else { return };
        let pair_seconds = slowest.pair_seconds;
        let notice = match slowest.length {
            Some(RunLength::Own) => BenchmarkNotice::ManyRounds { pair_seconds },
            _ if places.is_empty() => return,
            _ => BenchmarkNotice::OwnTimes { pair_seconds, places },
        };
        let benchmark = measured_by(self.plan, slowest, &self.program.found.program);
        self.program.execution.notices.push(notice.about(benchmark));
    }

    /// What the lengths depend on, besides the machine.
    fn parts(&self) -> Vec<String> {
        let mut parts = Vec::new();
        for program in [&self.program.sides.base, &self.program.sides.head] {
            parts.extend([program.identity.clone(), program.command_shown()]);
        }
        for &group in &self.groups {
            for benchmark in &self.plan.benchmarks[self.plan.groups[group].benchmarks.clone()] {
                parts.push(benchmark.name.clone());
                let gates = benchmark.gates.iter();
                parts.extend(gates.map(|gate| format!("{}={}", gate.metric, gate.limit())));
            }
            parts.push(String::new());
        }
        parts
    }

    /// Tries the lengths of the groups whose length is not known, at least one or two of them.
    fn try_missing(&mut self, lengths: &mut [Option<Length>]) -> Result<(), Stop> {
        let missing = bit_reversed_order(lengths.len()).filter(|index| lengths[*index].is_none());
        let missing: Vec<usize> = missing.collect();
        // Where iterations of one benchmark take very long, others may be short.
        let is_limited = self.program.sides.head.least_iterations().is_some();
        let least = if is_limited { 2 } else { 1 };
        for (done, &index) in missing.iter().enumerate() {
            if done >= least && Instant::now() >= self.deadline {
                break;
            }
            lengths[index] = self.try_group(self.groups[index], (done + 1, missing.len()))?;
        }
        Ok(())
    }

    /// Tries the lengths of one group; `None` if nothing in it gates. A plan that decides keeps the
    /// pairs. `place` is that among the groups that are tried.
    fn try_group(&mut self, number: usize, place: (usize, usize)) -> Result<Option<Length>, Stop> {
        let benchmarks = self.plan.groups[number].benchmarks.clone();
        let (mut gating, mut decisions) = (Vec::new(), Vec::new());
        for id in benchmarks.clone() {
            for (metric_id, metric, gate) in self.plan.benchmarks[id].gating() {
                let estimator = estimator(metric, self.plan.estimator);
                let least = estimator.least_pairs(self.plan.levels()).unwrap_or(1);
                gating.push((BenchmarkId(id), metric_id));
                decisions.push(TrialGate { threshold: gate.limit(), least });
            }
        }
        if decisions.is_empty() {
            return Ok(None);
        }
        let start_ups = Duration::from_secs_f64(4.0 * self.program.start_up);
        let longest = start_ups + self.patience * benchmarks.len() as u32;
        let longest = self.program.both_sides(SideProgram::can_be_capped).then_some(longest);
        let longest_round = self.longest_round(number);
        let longest = longest.or(longest_round);
        let budget = self.plan.time_limit.mul_f64(TRIAL).as_secs_f64();
        let mut trial = LengthTrial::new(decisions, budget);
        // Not the coins of the pairs that follow.
        let schedule = Schedule::new(!self.plan.seed, number as u64);
        for pair in 0.. {
            let Some(length) = trial.next() else { break };
            let (group, groups) = place;
            self.reporter.event(Event::TryingLengths { group, groups, pair: pair as usize + 1 });
            let (first, run) = (schedule.first(pair), RunLength::Time(length));
            let all = benchmarks.clone();
            let timed = self.program.timed_pair(self.plan, all, first, run, longest)?;
            // Of what was stopped, that is not known.
            let is_limited =
                timed.is_none() || self.program.both_sides(SideProgram::has_kept_limit);
            let (seconds, rows) = timed.unwrap_or((f64::INFINITY, Vec::new()));
            if !is_limited {
                // It was as long as those that are not limited, but may have been disturbed.
                return Ok(Some(Length { run: RunLength::Own, pair_seconds: seconds }));
            }
            if trial.is_slow(seconds) {
                if let Some(best) = trial.best() {
                    return Ok(Some(best));
                }
                // Of what was stopped, more than fits.
                let stopped = longest_round.map_or(seconds, |longest| 2.0 * longest.as_secs_f64());
                let slow = Length { run, pair_seconds: seconds.min(stopped) };
                let capped = self.capped(slow, number, &gating, first)?;
                return Ok(Some(
                    capped.unwrap_or_else(|| beside_other_work(slow, benchmarks.len())),
                ));
            }
            trial.push(seconds, &gating_ratios(&rows, &gating));
            if self.plan.decides {
                self.plan.groups[number].tried.push(TriedPair { first, rows });
            }
        }
        Ok(trial.best())
    }

    /// How long a pair of what is limited to rounds may take: there is no time for longer ones.
    fn longest_round(&self, group: usize) -> Option<Duration> {
        self.program.sides.head.least_iterations()?;
        let least = self.plan.least_pairs_in(&self.plan.groups[group]).unwrap_or(1);
        Some(self.plan.time_limit.div_f64(least as f64))
    }

    /// For benchmarks that take long although short runs were requested: the faster way of
    /// running them, if there is one.
    fn capped(
        &mut self,
        slow: Length,
        group: usize,
        gating: &[(BenchmarkId, MetricId)],
        first: Side,
    ) -> Result<Option<Length>, Stop> {
        if !self.program.both_sides(SideProgram::can_be_capped) {
            return Ok(None);
        }
        let (run, group) = (RunLength::Capped, &self.plan.groups[group]);
        // There is no time for what takes twice as long as may fit.
        let least = self.plan.least_pairs_in(group).unwrap_or(1);
        let longest = self.plan.time_limit.mul_f64(2.0 / least as f64);
        let all = group.benchmarks.clone();
        let timed = self.program.timed_pair(self.plan, all, first, run, Some(longest))?;
        let (pair_seconds, rows) = timed.unwrap_or((longest.as_secs_f64(), Vec::new()));
        // Criterion 0.4.0 reports a constant for what is too slow for its quick mode.
        let is_constant = gating_ratios(&rows, gating).contains(&1.0);
        let is_worth_it = 2.0 * pair_seconds < slow.pair_seconds
            && !(is_constant && slow.pair_seconds.is_finite());
        if !is_worth_it {
            return Ok(None);
        }
        // The times in its code override those of the command line, most likely for all.
        let enough = (2.0 * pair_seconds / group.benchmarks.len() as f64).max(SLOW_PAIR);
        self.patience = self.patience.min(Duration::from_secs_f64(enough));
        Ok(Some(Length { run, pair_seconds }))
    }
}

/// For pairs of so many benchmarks that take long although their runs are short. If that is because
/// of what is not measured, such as the start of the process or what it sets up, longer runs cost
/// little and vary less: the longest that measure for no longer than all else takes. If a single
/// iteration takes long, these runs have no more of them.
fn beside_other_work(slow: Length, benchmarks: usize) -> Length {
    let fits = |length: &Duration| measuring(*length, benchmarks) <= slow.pair_seconds;
    let longest = BESIDE_OTHER_WORK.into_iter().find(fits);
    longest.map_or(slow, |length| Length {
        run: RunLength::Time(length),
        pair_seconds: slow.pair_seconds + measuring(length, benchmarks),
    })
}

/// The name of what the pairs of a group measure: of several benchmarks their program's.
fn measured_by<'n>(plan: &'n Plan, group: &Group, program: &'n str) -> &'n str {
    match &plan.benchmarks[group.benchmarks.clone()] {
        [only] => &only.name,
        _ => program,
    }
}

/// The ratios head/base of the gating metrics in a pair.
fn gating_ratios(rows: &[Row], gating: &[(BenchmarkId, MetricId)]) -> Vec<f64> {
    let ratio = |(id, metric): &(BenchmarkId, MetricId)| {
        ratios(rows, *id, *metric).next().unwrap_or(f64::NAN)
    };
    gating.iter().map(ratio).collect()
}

/// The length of runs that were not tried.
const SHORTEST: Length = Length { run: RunLength::SHORT, pair_seconds: 0.0 };

/// The middle one of the known lengths, of two the shorter one. Capped runs, which ignore what is
/// asked for, are the longest; that one can't be limited does not mean that others can't.
fn usual(lengths: &[Option<Length>]) -> Length {
    let mut known: Vec<Length> = lengths.iter().copied().flatten().collect();
    let time = |length: &Length| length.run.time().unwrap_or(Duration::MAX);
    known.sort_by(|one, other| {
        let seconds = one.pair_seconds.total_cmp(&other.pair_seconds);
        time(one).cmp(&time(other)).then(seconds)
    });
    let middle = known.len().saturating_sub(1) / 2;
    let usual = known.get(middle).copied().unwrap_or(SHORTEST);
    let run = if usual.run == RunLength::Own { RunLength::SHORT } else { usual.run };
    Length { run, ..usual }
}

/// The values of a metric on the base and the head, in each pair that has it on both sides.
pub(in crate::flows) fn pairs(
    rows: &[Row],
    benchmark: BenchmarkId,
    metric: MetricId,
) -> impl Iterator<Item = [f64; 2]> {
    let values = move |side| {
        let own = rows.iter().filter(move |row| row.benchmark == benchmark && row.side == side);
        own.map(move |row| row.get(metric))
    };
    let both = values(Side::Base).zip(values(Side::Head));
    both.filter_map(|(base, head)| Some([base?, head?]))
}

/// The ratios head/base of a metric, in each pair that has it on both sides.
pub(super) fn ratios(
    rows: &[Row],
    benchmark: BenchmarkId,
    metric: MetricId,
) -> impl Iterator<Item = f64> {
    pairs(rows, benchmark, metric).map(|[base, head]| head / base)
}

/// The numbers below `count`, ordered by their reversed bits: however few of them are reached,
/// these are spread over all.
pub(super) fn bit_reversed_order(count: usize) -> impl Iterator<Item = usize> {
    let all = count.next_power_of_two();
    let reversed = move |number: usize| match all {
        1 => 0,
        _ => number.reverse_bits() >> (usize::BITS - all.trailing_zeros()),
    };
    (0..all).map(reversed).filter(move |number| *number < count)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Estimator;

    #[test]
    fn the_time_of_a_pair_is_that_of_the_only_benchmark_or_of_the_program() {
        let mut plan = Plan::new(0.95, Estimator::Robust, 1);
        for names in ["a", "bc"] {
            plan.add_group(0, true, 1.0);
            for name in names.chars() {
                plan.add_benchmark(&name.to_string(), &[], Vec::new());
            }
        }
        let names = plan.groups.iter().map(|group| measured_by(&plan, group, "suite"));
        assert_eq!(names.collect::<Vec<_>>(), ["a", "suite"]);
    }

    #[test]
    fn what_takes_long_beside_the_measuring_is_measured_for_as_long() {
        let of = |pair_seconds, benchmarks| {
            let slow = Length { run: RunLength::SHORT, pair_seconds };
            let length = beside_other_work(slow, benchmarks);
            (length.time().map(|time| time.as_millis()), length.pair_seconds)
        };
        // Of 44 benchmarks, 10 ms and a warm-up on both sides take 1.32 s together.
        assert_eq!(of(1.4, 44), (Some(10), 1.4 + 1.32));
        assert_eq!(of(1.2, 44), (Some(3), 1.2 + 0.396));
        assert_eq!(of(0.3, 44), (Some(1), 0.3));
        assert_eq!(of(f64::INFINITY, 1).0, Some(10));
    }

    #[test]
    fn what_was_not_tried_takes_as_long_as_the_middle_of_the_others() {
        let capped = |pair_seconds| Some(Length { run: RunLength::Capped, pair_seconds });
        let short = |pair_seconds| Some(Length { run: RunLength::SHORT, pair_seconds });
        assert_eq!(usual(&[None]), SHORTEST);
        assert_eq!(Some(usual(&[capped(4.8), None, capped(0.4)])), capped(0.4));
        assert_eq!(Some(usual(&[capped(4.8), capped(0.4), capped(0.5)])), capped(0.5));
        assert_eq!(Some(usual(&[short(0.1), short(0.3), capped(0.5), short(0.2)])), short(0.2));
        assert_eq!(Some(usual(&[short(0.1), None, capped(0.5)])), short(0.1));
        let own = Some(Length { run: RunLength::Own, pair_seconds: 4.0 });
        assert_eq!(Some(usual(&[own, None])), short(4.0));
    }

    #[test]
    fn a_trial_that_ends_early_has_seen_all_parts_of_a_suite() {
        assert_eq!(bit_reversed_order(8).collect::<Vec<_>>(), [0, 4, 2, 6, 1, 5, 3, 7]);
        for count in [0, 1, 2, 3, 14, 300] {
            let mut all: Vec<usize> = bit_reversed_order(count).collect();
            all.sort_unstable();
            assert_eq!(all, (0..count).collect::<Vec<_>>());
        }
    }
}
