//! Which pair comes next.

use std::time::Duration;

use super::state::{BenchmarkState, GroupState};
use super::{Experiment, Turn};
use crate::engine::plan::{Group, TriedPair};
use crate::engine::test::{MetricTest, PAIRS_TO_STAND_OUT};
use crate::model::{BenchmarkId, Layouts, StoppedBy};

/// The smallest forecast, as a fraction of the pairs so far: a test that has taken
/// many pairs may well take more.
const SOONEST: f64 = 0.25;

/// The largest forecast, as a multiple of the pairs so far. Tests without a forecast
/// get this one, so that they share the time equally.
const LATEST: f64 = 100.0;

/// How much of a time that is too short for all may go into the first pairs of each, which show
/// what is far slower.
const LOOKS: f64 = 0.3;

impl Experiment {
    /// The next pair. First come those that were measured before. Then each group in turn gets the
    /// minimum number of pairs for a verdict, if there is time for an all-clear of all. Otherwise each
    /// only gets so many that what is far slower stands out, if that does not take long. What stands
    /// out goes first then, and also if alarms are tested over layouts. After that, the next pair is of
    /// the group that is expected to reach its verdicts soonest; what can't have the minimum any more
    /// is last. A pair only begins if it is allowed and fits into the remaining time.
    ///
    /// # Errors
    /// Why there is no next pair.
    pub fn next(&mut self, now: f64) -> Result<Turn, StoppedBy> {
        let begin = now - self.start;
        if self.plan.fail_fast && self.has_just_found() {
            return Err(StoppedBy::Verdict);
        }
        // From the group after the latest one on: `min_by` returns the first of the equally urgent,
        // so that these take turns.
        let count = self.groups.len();
        let after = self.latest.map_or(0, |latest| latest + 1);
        let in_turn = (0..count).map(|step| (after + step) % count);
        let mut open = in_turn.filter(|&number| self.groups[number].is_open).peekable();
        if open.peek().is_none() {
            return Err(StoppedBy::Verdict);
        }
        let most = self.plan.max_pairs.unwrap_or(u64::MAX);
        let mut allowed = open.filter(|&number| self.groups[number].pairs < most).peekable();
        if allowed.peek().is_none() {
            return Err(StoppedBy::MaxPairs);
        }
        self.has_given_up = self.is_hopeless(begin);
        if self.has_given_up {
            return Err(StoppedBy::TimeLimit);
        }
        let left = self.plan.left(begin) - self.reserved;
        let fits = |number: &usize| {
            let is_measured = self.tried(*number).is_some();
            is_measured || left > 0.0 && self.groups[*number].pair_seconds <= left
        };
        let is_late = self.needs_minimum && self.lacking() > left;
        let late = is_late.then(|| Late { left, has_time_to_look: self.looks() <= LOOKS * left });
        let group = allowed.filter(fits).min_by_key(|number| self.urgency(*number, late));
        let group = group.ok_or(StoppedBy::TimeLimit)?;
        self.latest = Some(group);
        let GroupState { schedule, pairs, .. } = self.groups[group];
        let wanted = self.wanted(group);
        let tried = self.tried(group);
        Ok(Turn {
            group,
            first: tried.map_or_else(|| schedule.first(pairs), |tried| tried.first),
            pair_seed: schedule.pair_seed(pairs),
            left: Duration::from_secs_f64(left.max(0.001)),
            begin,
            measured: tried.map(|tried| {
                let rows = tried.rows.iter().filter(|row| wanted.contains(&row.benchmark));
                rows.cloned().collect()
            }),
            wanted,
        })
    }

    /// The next pair of a group, if it was measured before the experiment.
    pub(super) fn tried(&self, group: usize) -> Option<&TriedPair> {
        self.plan.groups[group].tried.get(self.groups[group].pairs as usize)
    }

    /// How long it takes until all open groups have the minimum number of pairs for an all-clear,
    /// seconds.
    fn lacking(&self) -> f64 {
        self.open_groups().map(|group| group.seconds_until(group.to_pass)).sum()
    }

    /// How long it takes until all open groups have enough pairs to stand out, seconds.
    fn looks(&self) -> f64 {
        self.open_groups().map(|group| group.seconds_until(PAIRS_TO_STAND_OUT as f64)).sum()
    }

    /// Whether `left` seconds are enough for a verdict of any open group: for an all-clear, or for an
    /// alarm and its test `again`, whose seconds depend on the group and its minimum number of pairs.
    pub(in crate::engine) fn has_time_for_any(
        &self,
        left: f64,
        again: impl Fn(usize, u64) -> f64,
    ) -> bool {
        let open = self.groups.iter().enumerate().filter(|(_, group)| group.is_open);
        let mut soonest = open.map(|(number, group)| match group.lacking() {
            alarm if alarm > 0.0 => {
                let all = alarm + again(number, group.least);
                all.min(group.seconds_until(group.to_pass))
            }
            _ => 0.0,
        });
        soonest.any(|seconds| seconds <= left)
    }

    /// How urgent the next pair of a group is; the smallest value goes first. `late` is about the
    /// time that is left if not all can have an all-clear in it.
    fn urgency(&self, number: usize, late: Option<Late>) -> Urgency {
        let group = &self.groups[number];
        if self.tried(number).is_some() {
            return Urgency::Measured;
        }
        // In rounds: what is next does not depend on the values of the same round.
        let mut range = self.plan.groups[number].benchmarks.clone();
        if range.any(|id| self.suite.iter().any(|suite| suite.needs(id))) {
            return Urgency::Fresh { pairs: group.pairs };
        }
        let (pairs, is_below) = (group.pairs as f64, group.pairs < group.least);
        // Whole microseconds, since numbers with fractions have no total order.
        let microseconds = |pairs: f64| (1e6 * (pairs * group.pair_seconds)) as u64;
        // Most pass.
        let to_pass = || microseconds(group.to_pass - pairs);
        if is_below && late.is_some_and(|late| group.lacking() > late.left) {
            return Urgency::OutOfReach { microseconds: to_pass() };
        }
        // An alarm needs time for layouts, the more the larger the program.
        let is_first = late.is_some() || self.plan.layouts == Layouts::Auto;
        let mut tests = self.of_group(number).iter().flat_map(BenchmarkState::open_tests);
        if is_first && tests.any(MetricTest::stands_out) {
            return Urgency::StandsOut;
        }
        if is_below {
            let is_unseen = group.pairs < PAIRS_TO_STAND_OUT;
            return match late {
                Some(late) if !(is_unseen && late.has_time_to_look) => {
                    Urgency::Foreseen { microseconds: to_pass() }
                }
                _ => Urgency::Fresh { pairs: group.pairs },
            };
        }
        // A group with a hopeless test would otherwise take all of the time, or none.
        let forecast = self.outlook(number).all.unwrap_or(f64::INFINITY);
        let forecast = forecast.clamp(SOONEST * pairs, LATEST * pairs);
        Urgency::Foreseen { microseconds: microseconds(forecast) }
    }

    /// The benchmarks that the next pair of a group measures: the undecided ones, or
    /// all if a run can't be limited.
    pub(super) fn wanted(&self, group: usize) -> Vec<BenchmarkId> {
        let Group { benchmarks, can_select_benchmarks, .. } = &self.plan.groups[group];
        let wanted = |number: &usize| !can_select_benchmarks || self.is_needed(*number);
        benchmarks.clone().filter(wanted).map(BenchmarkId).collect()
    }
}

/// The rest of a time that is too short for all.
#[derive(Clone, Copy, Debug)]
struct Late {
    /// How long it is, seconds.
    left: f64,
    /// Whether all may have enough pairs in it to stand out.
    has_time_to_look: bool,
}

/// How urgent the next pair of a group is, the most urgent first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Urgency {
    /// Its next pair was measured before.
    Measured,
    /// It may soon raise an alarm.
    StandsOut,
    /// It has this many pairs, fewer than the minimum for a verdict.
    Fresh { pairs: u64 },
    /// It should be decided after this much more measuring.
    Foreseen { microseconds: u64 },
    /// It has fewer than the minimum, for which this much more measuring would be needed, and there
    /// is no time for that.
    OutOfReach { microseconds: u64 },
}
