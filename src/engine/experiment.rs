//! The experiment: which pair comes next, what the pairs show, and when sampling ends.
//!
//! A state machine without processes and without a clock. The caller asks for the
//! [next](Experiment::next) turn, measures it, [pushes](Experiment::push) the
//! rows, and shows [all results so far](Experiment::snapshot):
//!
//! ```text
//! let stopped_by = loop {
//!     match experiment.next(now()) {
//!         Ok(turn) => { let rows = measure(&turn); experiment.push(&turn, &rows, now()) }
//!         Err(stopped_by) => break stopped_by,
//!     }
//! };
//! ```

mod outlook;
mod progress;

use std::cell::OnceCell;
use std::time::Duration;

use outlook::Outlook;
pub use progress::Snapshot;

use super::advice::{OpenTest, advice};
use super::family::{likeliest, step_down};
use super::longer::passes;
use super::plan::{Group, Plan, PlannedBenchmark, TriedPair};
use super::schedule::Schedule;
use super::suite::SuiteTest;
use super::test::{MetricTest, PAIRS_TO_STAND_OUT};
use crate::model::{
    Advice, BenchmarkId, BenchmarkResult, Gate, Layouts, MetricId, MetricResult, Row, RunLength,
    Sampled, Side, Status, StoppedBy, Suite, Unlikely,
};
use crate::stats::empirical::median_of;
use crate::stats::family::Family;

/// The smallest forecast, as a fraction of the pairs so far: a test that has taken
/// many pairs may well take more.
const SOONEST: f64 = 0.25;

/// The largest forecast, as a multiple of the pairs so far. Tests without a forecast
/// get this one, so that they share the time equally.
const LATEST: f64 = 100.0;

/// How much of a time that is too short for all may go into the first pairs of each, which show
/// what is far slower.
const LOOKS: f64 = 0.3;

/// A pair to be measured, or one that was.
#[derive(Clone, Debug, PartialEq)]
pub struct Turn {
    /// The group, by its index in the plan.
    pub(crate) group: usize,
    /// The benchmarks of it that are wanted.
    pub(crate) wanted: Vec<BenchmarkId>,
    pub(crate) first: Side,
    /// A number that both runs share, different for each pair.
    pub(crate) pair_seed: u64,
    /// Its rows, if it was measured before the experiment.
    pub(crate) measured: Option<Vec<Row>>,
    /// How long the pair may take.
    pub(crate) left: Duration,
    /// When it began, seconds since the first pair began.
    begin: f64,
}

/// The state of a comparison between its first pair and its last.
#[derive(Debug)]
pub struct Experiment {
    plan: Plan,
    groups: Vec<GroupState>,
    benchmarks: Vec<BenchmarkState>,
    suite: Vec<SuiteTest>,
    family: Family,
    /// The group of the latest turn.
    latest: Option<usize>,
    /// The tests that the latest pair decided, or that were set aside after it.
    ended: Vec<(BenchmarkId, usize)>,
    /// The numbers of the suite that the latest pair showed to be regressions.
    suite_found: Vec<usize>,
    /// The part of the time limit that is reserved for what follows, seconds.
    reserved: f64,
    /// Whether all groups need the minimum number of pairs for a verdict: longer runs pass after a
    /// few, and perhaps fewer are allowed.
    needs_minimum: bool,
    /// Whether tests that can't reach a verdict in time were already searched for.
    has_foreseen: bool,
    /// These tests.
    foreseen: Option<Unlikely>,
    /// Whether it ended because no further verdict was expected.
    has_given_up: bool,
    /// When sampling began, in the caller's clock.
    start: f64,
    /// The end of the latest pair, seconds since the start.
    elapsed: f64,
}

impl Experiment {
    /// Begins at the time `now`, in seconds since an arbitrary moment. Later times
    /// count from the same moment and never decrease.
    pub fn new(plan: Plan, now: f64) -> Self {
        let benchmarks = plan.groups.iter().flat_map(|group| {
            let benchmarks = plan.benchmarks[group.benchmarks.clone()].iter();
            let time = group.length.and_then(RunLength::time);
            benchmarks.map(|one| BenchmarkState::new(&plan, one, time)).collect::<Vec<_>>()
        });
        let benchmarks: Vec<BenchmarkState> = benchmarks.collect();
        let suite: Vec<SuiteTest> =
            plan.suite.iter().map(|number| SuiteTest::new(&plan, number)).collect();
        let to_pass_per_least = plan.pairs_to_pass_per_least();
        let least = |group: &Group| plan.least_pairs_in(group).filter(|_| plan.decides);
        let groups = plan.groups.iter().enumerate().map(|(number, group)| GroupState {
            schedule: Schedule::new(plan.seed, number as u64),
            is_open: true,
            // A shard by pairs reaches no verdict, so its groups are sampled equally often.
            least: least(group).unwrap_or(u64::MAX),
            to_pass: least(group).map_or(f64::INFINITY, |least| to_pass_per_least * least as f64),
            pairs: 0,
            expected: group.pair_seconds,
            pair_seconds: group.pair_seconds,
            is_timed: false,
            timed_pairs: 0,
            timed_seconds: 0.0,
            outlook: OnceCell::new(),
        });
        let is_allowed = plan.max_pairs.is_none_or(|most| most >= plan.least_pairs());
        let mut family = plan.family();
        family.weigh(0.0, benchmarks.iter().map(BenchmarkState::evidence).sum());
        let mut experiment = Experiment {
            groups: groups.collect(),
            benchmarks,
            suite,
            family,
            latest: None,
            ended: Vec::new(),
            suite_found: Vec::new(),
            reserved: 0.0,
            needs_minimum: plan.decides && !plan.is_longer && is_allowed,
            // Most tests of longer runs are to end without a verdict, so a forecast is of no use.
            has_foreseen: plan.is_longer,
            foreseen: None,
            has_given_up: false,
            start: now,
            elapsed: 0.0,
            plan,
        };
        (0..experiment.groups.len()).for_each(|group| experiment.close(group, 0));
        experiment
    }

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
    fn tried(&self, group: usize) -> Option<&TriedPair> {
        self.plan.groups[group].tried.get(self.groups[group].pairs as usize)
    }

    /// Whether a number of the suite is undecided.
    fn suite_is_open(&self) -> bool {
        self.suite.iter().any(SuiteTest::is_open)
    }

    /// For each group, how many benchmarks its next pair measures.
    fn all_wanted(&self) -> Vec<usize> {
        (0..self.groups.len()).map(|group| self.wanted(group).len()).collect()
    }

    /// Whether a benchmark gets further pairs, for a verdict of its own or of the suite.
    fn is_needed(&self, benchmark: usize) -> bool {
        let for_suite = || self.suite.iter().any(|number| number.needs(benchmark));
        self.benchmarks[benchmark].is_open() || for_suite()
    }

    /// Adds the rows of a turn that ended at the time `now`. A benchmark counts as
    /// measured if both sides have a row.
    pub fn push(&mut self, turn: &Turn, rows: &[Row], now: f64) {
        self.elapsed = now - self.start;
        self.ended.clear();
        self.suite_found.clear();
        let wanted = self.suite_is_open().then(|| self.all_wanted());
        let range = self.plan.groups[turn.group].benchmarks.clone();
        for (number, benchmark) in range.clone().zip(&mut self.benchmarks[range.clone()]) {
            let row = |side| {
                let id = BenchmarkId(number);
                rows.iter().find(|row| row.benchmark == id && row.side == side)
            };
            if let (Some(base), Some(head)) = (row(Side::Base), row(Side::Head)) {
                let before = benchmark.evidence();
                let decided = benchmark.push(base, head, turn.first).into_iter();
                self.ended.extend(decided.map(|test| (BenchmarkId(number), test)));
                self.family.weigh(before, benchmark.evidence());
                for (place, suite) in self.suite.iter_mut().enumerate() {
                    if suite.push(BenchmarkId(number), base, head) {
                        self.suite_found.push(place);
                    }
                }
            }
        }
        let group = &mut self.groups[turn.group];
        group.pairs += 1;
        if turn.measured.is_none() {
            group.is_timed = true;
            group.timed_pairs += 1;
            group.timed_seconds += self.elapsed - turn.begin;
            group.pair_seconds = group.timed_seconds / group.timed_pairs as f64;
            self.correct_expected();
        }
        self.close(turn.group, turn.wanted.len());
        if let Some(wanted) = wanted.filter(|_| !self.suite_is_open()) {
            (0..wanted.len()).for_each(|group| self.close(group, wanted[group]));
        }
        // What is tested again over layouts is not a finding yet, and passes no error on.
        if self.plan.layouts == Layouts::Off && self.has_just_found() {
            self.step_down();
        }
        if self.plan.is_longer {
            self.set_aside(&|test, _| passes(test));
        }
    }

    /// A turn was stopped at the time `now`, since there was no time left for it: its group takes
    /// longer than expected.
    pub(crate) fn ran_out(&mut self, turn: &Turn, now: f64) {
        let group = &mut self.groups[turn.group];
        group.is_timed = true;
        group.pair_seconds = group.pair_seconds.max(now - self.start - turn.begin);
    }

    /// Expects the pairs of the groups without a measured one to take as many times longer than it
    /// was thought as those of the others do: the machine may be busier than it was.
    fn correct_expected(&mut self) {
        let timed = self.groups.iter().filter(|group| group.is_timed && group.expected > 0.0);
        let times = median_of(timed.map(|group| group.pair_seconds / group.expected));
        let Some(times) = times else { return };
        for group in self.groups.iter_mut().filter(|group| !group.is_timed) {
            group.pair_seconds = times * group.expected;
        }
    }

    /// Passes the error of the regressions on to the undecided tests, and closes those that this
    /// decides.
    fn step_down(&mut self) {
        let wanted = self.all_wanted();
        let benchmarks = self.benchmarks.iter_mut().enumerate();
        let (ids, mut tests): (Vec<_>, Vec<_>) = benchmarks
            .flat_map(|(id, benchmark)| {
                let tests = benchmark.tests.iter_mut().enumerate();
                tests.map(move |(place, (_, test))| ((BenchmarkId(id), place), test))
            })
            .unzip();
        if !self.plan.is_suite_divided {
            tests.extend(self.suite.iter_mut().map(SuiteTest::test_mut));
        }
        let more = step_down(&mut self.family, &mut tests);
        let of_suite: Vec<usize> =
            more.iter().filter_map(|number| number.checked_sub(ids.len())).collect();
        let is_of_suite = !of_suite.is_empty();
        self.suite_found.extend(of_suite);
        let more: Vec<_> = more.iter().filter_map(|number| ids.get(*number).copied()).collect();
        self.ended.extend(&more);
        // The levels of all have changed, and with them the bounds.
        self.benchmarks.iter_mut().for_each(|benchmark| benchmark.result = OnceCell::new());
        for (group, wanted) in wanted.into_iter().enumerate() {
            let range = &self.plan.groups[group].benchmarks;
            if is_of_suite || more.iter().any(|(id, _)| range.contains(&id.0)) {
                self.close(group, wanted);
            }
        }
    }

    /// Closes the decided benchmarks of a group. Its pairs get shorter in proportion, of
    /// `wanted` benchmarks.
    fn close(&mut self, number: usize, wanted: usize) {
        let left = self.wanted(number).len();
        let mut range = self.plan.groups[number].benchmarks.clone();
        let is_open = range.any(|id| self.is_needed(id));
        let group = &mut self.groups[number];
        group.is_open = is_open;
        group.outlook = OnceCell::new();
        // The mean of the pairs so far is that of longer ones: begin a new one.
        if left < wanted {
            let part = left as f64 / wanted as f64;
            group.expected *= part;
            group.pair_seconds *= part;
            group.timed_pairs = 0;
            group.timed_seconds = 0.0;
        }
    }

    /// Sets aside tests of the latest group. They get no further pairs here. `may` also gets
    /// the minimum number of pairs for a verdict.
    pub(crate) fn set_aside(&mut self, may: &dyn Fn(&MetricTest, u64) -> bool) {
        let Some(number) = self.latest else { return };
        let least = self.groups[number].least;
        let wanted = self.wanted(number).len();
        for id in self.plan.groups[number].benchmarks.clone() {
            let benchmark = &mut self.benchmarks[id];
            for (place, (_, test)) in benchmark.tests.iter_mut().enumerate() {
                if test.is_undecided() && may(test, least) {
                    test.set_aside();
                    self.ended.push((BenchmarkId(id), place));
                }
            }
        }
        self.close(number, wanted);
    }

    /// Reserves `seconds` of the time limit for what follows.
    pub(crate) fn reserve(&mut self, seconds: f64) {
        self.reserved = seconds;
    }

    /// The regressions that the latest pair revealed and the tests that were set aside after it,
    /// with their gates.
    pub(crate) fn just_raised(&self) -> impl Iterator<Item = (BenchmarkId, &MetricTest, &Gate)> {
        let raised = self.ended(|test| test.is_regression() || test.is_set_aside());
        raised.filter_map(|&(id, number)| {
            let test = &self.benchmarks[id.0].tests[number].1;
            Some((id, test, test.gate()?))
        })
    }

    /// Whether the latest pair revealed a regression after which sampling was not resumed.
    pub(crate) fn has_just_found(&self) -> bool {
        let is_suite = !(self.suite_found.is_empty() || self.plan.is_suite_divided);
        is_suite || self.ended(MetricTest::is_regression).next().is_some()
    }

    /// The tests of which this holds, among those that have just ended.
    fn ended(
        &self,
        holds: impl Fn(&MetricTest) -> bool,
    ) -> impl Iterator<Item = &(BenchmarkId, usize)> {
        self.ended.iter().filter(move |(id, test)| holds(&self.benchmarks[id.0].tests[*test].1))
    }

    /// The tests of a benchmark that gate, with their gates.
    pub(crate) fn gating(&self, id: BenchmarkId) -> impl Iterator<Item = (&MetricTest, &Gate)> {
        self.benchmarks[id.0].tests.iter().filter_map(|(_, test)| Some((test, test.gate()?)))
    }

    /// Continues although the latest pair ended tests, if this holds of them and of their group.
    pub(crate) fn resume(&mut self, may: &dyn Fn(Option<usize>, &MetricTest) -> bool) {
        let (benchmarks, latest) = (&self.benchmarks, self.latest);
        self.ended.retain(|(id, test)| !may(latest, &benchmarks[id.0].tests[*test].1));
    }

    /// The numbers of the suite that the latest pair showed to be regressions.
    pub(crate) fn suite_found(&self) -> &[usize] {
        &self.suite_found
    }

    /// The numbers of the suite.
    pub(crate) fn suite(&self) -> &[SuiteTest] {
        &self.suite
    }

    /// Continues although the latest pair showed that the suite is a regression.
    pub(crate) fn resume_suite(&mut self) {
        self.suite_found.clear();
    }

    /// How long the minimum number of pairs of all open groups takes, seconds, whether they have it
    /// or not.
    pub(crate) fn least_time(&self) -> f64 {
        self.open_groups().map(|group| group.least as f64 * group.pair_seconds).sum()
    }

    fn open_groups(&self) -> impl Iterator<Item = &GroupState> {
        self.groups.iter().filter(|group| group.is_open)
    }

    /// Whether all open groups have so many times the minimum number of pairs.
    pub(crate) fn has_had(&self, times: f64) -> bool {
        self.open_groups().all(|group| group.pairs as f64 >= times * group.least as f64)
    }

    /// Whether a verdict is missing.
    pub(crate) fn is_open(&self) -> bool {
        self.open_groups().next().is_some()
    }

    /// Whether there is a complete pair.
    pub(crate) fn has_pairs(&self) -> bool {
        self.groups.iter().any(|group| group.pairs > 0)
    }

    /// The gating benchmarks with too few pairs for any verdict.
    pub(crate) fn below_minimum_pairs(&self) -> Vec<&str> {
        let few = self.groups.iter().enumerate().filter(|(_, group)| group.pairs < group.least);
        let few = few.filter(|(_, group)| group.is_open && self.plan.decides);
        let benchmarks = few.flat_map(|(number, _)| self.of_group(number));
        let open = benchmarks.filter(|benchmark| benchmark.is_open());
        open.map(|benchmark| benchmark.name.as_str()).collect()
    }

    /// What would decide the undecided verdicts, if there are any.
    pub(crate) fn advice(&self) -> Option<Advice> {
        let mut open = Vec::new();
        for (number, state) in self.groups.iter().enumerate() {
            for BenchmarkState { tests, .. } in self.of_group(number) {
                let undecided = tests.iter().filter(|(_, test)| test.is_undecided());
                open.extend(undecided.map(|(_, test)| OpenTest {
                    test,
                    others: tests,
                    pair_seconds: state.pair_seconds,
                    // What is slower as built is mostly decided as soon as it can be.
                    at_least: self.plan.is_over_layouts.then_some(state.least),
                }));
            }
        }
        let pair: f64 = self.groups.iter().map(|group| group.pair_seconds).sum();
        let suite = self.suite.iter().filter(|number| number.is_open());
        open.extend(suite.map(|number| OpenTest {
            test: number.test(),
            others: &[],
            pair_seconds: pair * number.round_length() as f64,
            at_least: None,
        }));
        advice(&open, self.elapsed)
    }

    /// The benchmark that is most likely slower, if it is certain that one is but not which.
    fn likely_slower(&self) -> Option<&str> {
        // What is tested again over layouts is not certain yet.
        if self.plan.layouts != Layouts::Off {
            return None;
        }
        let tests = self.benchmarks.iter().flat_map(|benchmark| {
            benchmark.tests.iter().map(|(_, test)| (benchmark.name.as_str(), test))
        });
        likeliest(&self.family, tests)
    }

    /// Whether it ended before the time limit, because no further verdict was expected within it.
    pub(crate) fn has_given_up(&self) -> bool {
        self.has_given_up
    }

    /// The results of all benchmarks at the end of sampling.
    pub fn finish(&self, stopped_by: StoppedBy) -> Sampled {
        // What is tested again, or was before, has its evidence there.
        let is_all = self.plan.layouts == Layouts::Off && !self.plan.is_longer;
        let end = |test: &MetricTest| match is_all {
            true => {
                MetricResult { alarm_among: test.alarm_among(self.plan.confidence), ..test.end() }
            }
            false => test.end(),
        };
        let benchmarks = self.benchmarks.iter().map(|one| one.results(end)).collect();
        let likely_slower = self.likely_slower().map(str::to_owned);
        let most = self.suite.iter().map(SuiteTest::benchmarks).max();
        let suite = most.filter(|_| !self.plan.is_suite_divided).map(|benchmarks| Suite {
            benchmarks,
            unaffected: self.plan.unaffected,
            numbers: self.suite.iter().map(SuiteTest::result).collect(),
        });
        let (evidence, elapsed) = (self.evidence(), self.elapsed);
        Sampled { benchmarks, suite, stopped_by, likely_slower, evidence, elapsed }
    }

    /// See [`Sampled::evidence`].
    pub(crate) fn evidence(&self) -> f64 {
        self.family.average()
    }

    fn of_group(&self, group: usize) -> &[BenchmarkState] {
        &self.benchmarks[self.plan.groups[group].benchmarks.clone()]
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
    fn wanted(&self, group: usize) -> Vec<BenchmarkId> {
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

#[derive(Debug)]
struct GroupState {
    schedule: Schedule,
    /// Whether one of its benchmarks is undecided.
    is_open: bool,
    /// The minimum number of pairs for a verdict of each of its tests.
    least: u64,
    /// The minimum number of pairs for an all-clear.
    to_pass: f64,
    pairs: u64,
    /// How long a pair with the remaining benchmarks was expected to take before any was measured,
    /// seconds.
    expected: f64,
    /// How long it takes.
    pair_seconds: f64,
    /// Whether a pair of it was measured here.
    is_timed: bool,
    /// The pairs since a benchmark left.
    timed_pairs: u64,
    /// How long these took, seconds.
    timed_seconds: f64,
    /// Computed on demand: a forecast can take as long as a run.
    outlook: OnceCell<Outlook>,
}

impl GroupState {
    /// How long it takes until it has the minimum number of pairs, seconds.
    fn lacking(&self) -> f64 {
        self.seconds_until(self.least as f64)
    }

    /// How long it takes until it has so many pairs, seconds.
    fn seconds_until(&self, pairs: f64) -> f64 {
        (pairs - self.pairs as f64).max(0.0) * self.pair_seconds
    }
}

#[derive(Debug)]
struct BenchmarkState {
    name: String,
    /// How long a run measures it, seconds.
    measurement_time: Option<f64>,
    tests: Vec<(MetricId, MetricTest)>,
    pairs: u64,
    /// The gates of a shard by pairs, whose verdicts are reached elsewhere.
    undecided: Vec<Gate>,
    /// The result so far, computed on demand: with many benchmarks, those without a new
    /// pair are not computed again.
    result: OnceCell<BenchmarkResult>,
}

impl BenchmarkState {
    fn new(plan: &Plan, benchmark: &PlannedBenchmark, measurement_time: Option<Duration>) -> Self {
        let tests = benchmark.metrics.iter().map(|(id, metric)| {
            let gate = benchmark.gates.iter().find(|gate| gate.metric == metric.name);
            let gate = gate.filter(|_| plan.decides);
            (*id, MetricTest::new(metric.clone(), gate, plan.estimator, plan.levels()))
        });
        let undecided = if plan.decides { Vec::new() } else { benchmark.gates.clone() };
        let name = benchmark.name.clone();
        let (tests, result) = (tests.collect(), OnceCell::new());
        let measurement_time = measurement_time.map(|time| time.as_secs_f64());
        BenchmarkState { name, measurement_time, tests, pairs: 0, undecided, result }
    }

    /// Adds a pair, and returns the tests that it decided.
    fn push(&mut self, base: &Row, head: &Row, first: Side) -> Vec<usize> {
        let mut decided = Vec::new();
        for (number, (metric, test)) in self.tests.iter_mut().enumerate() {
            if let (Some(base), Some(head)) = (base.get(*metric), head.get(*metric)) {
                let was_known = test.verdict().is_some();
                test.push(base, head, first);
                decided.extend(test.verdict().filter(|_| !was_known).map(|_| number));
            }
        }
        self.pairs += 1;
        self.result = OnceCell::new();
        decided
    }

    /// The sum of the evidence of its tests for regressions.
    fn evidence(&self) -> f64 {
        self.tests.iter().map(|(_, test)| test.evidence()).sum()
    }

    fn is_open(&self) -> bool {
        !self.undecided.is_empty() || self.open_tests().next().is_some()
    }

    fn open_tests(&self) -> impl Iterator<Item = &MetricTest> {
        self.tests.iter().map(|(_, test)| test).filter(|test| test.is_open())
    }

    fn result(&self) -> &BenchmarkResult {
        self.result.get_or_init(|| self.results(MetricTest::result))
    }

    fn results(&self, of: impl Fn(&MetricTest) -> MetricResult) -> BenchmarkResult {
        let metrics = self.tests.iter().map(|(_, test)| {
            let result = of(test);
            match self.undecided.iter().find(|gate| gate.metric == result.name) {
                Some(gate) => result.gated(gate),
                None => result,
            }
        });
        BenchmarkResult {
            pairs: self.pairs,
            measurement_time: self.measurement_time,
            metrics: metrics.collect(),
            ..BenchmarkResult::new(&self.name, Status::Compared)
        }
    }
}

#[cfg(test)]
mod tests;
