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

mod order;
mod outlook;
mod progress;
mod snapshot;
mod state;

use std::cell::OnceCell;
use std::time::Duration;

pub use snapshot::Snapshot;
use state::{BenchmarkState, GroupState};

use super::advice::{OpenTest, advice};
use super::family::{likeliest, step_down};
use super::longer::passes;
use super::plan::Plan;
use super::suite::SuiteTest;
use super::test::MetricTest;
use crate::model::{
    Advice, BenchmarkId, Gate, Layouts, MetricResult, Row, Sampled, Side, StoppedBy, Suite,
    Unlikely,
};
use crate::stats::empirical::median_of;
use crate::stats::family::Family;

/// A pair to be measured, or one that was.
#[derive(Clone, Debug, PartialEq)]
pub struct Turn {
    /// The group, by its index in the plan.
    pub(crate) group: usize,
    /// The benchmarks of it that are wanted.
    pub wanted: Vec<BenchmarkId>,
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
    /// The numbers of the suite that the latest pair showed to be regressions, after which sampling
    /// was not resumed.
    pub(super) suite_found: Vec<usize>,
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
        let benchmarks: Vec<BenchmarkState> =
            plan.groups.iter().flat_map(|group| BenchmarkState::all(&plan, group)).collect();
        let suite: Vec<SuiteTest> =
            plan.suite.iter().map(|number| SuiteTest::new(&plan, number)).collect();
        let to_pass = plan.pairs_to_pass_per_least();
        let groups = plan.groups.iter().enumerate();
        let groups = groups.map(|(number, group)| GroupState::new(&plan, number, group, to_pass));
        let groups = groups.collect();
        let is_allowed = plan.max_pairs.is_none_or(|most| most >= plan.least_pairs());
        let mut family = plan.family();
        family.weigh(0.0, benchmarks.iter().map(BenchmarkState::evidence).sum());
        let mut experiment = Experiment {
            groups,
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

    /// Adds a pair of a group that was measured elsewhere, at an unknown time.
    pub(crate) fn push_recorded(&mut self, group: usize, first: Side, rows: [Row; 2]) {
        self.latest = Some(group);
        let (pair_seed, left, begin) = (0, Duration::ZERO, self.elapsed);
        let (wanted, measured) = (self.wanted(group), Some(rows.to_vec()));
        let turn = Turn { group, wanted, first, pair_seed, measured, left, begin };
        self.push(&turn, &rows, self.start + self.elapsed);
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
            tests.extend(self.suite.iter_mut().map(|number| &mut number.test));
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

    /// The numbers of the suite.
    pub(crate) fn suite(&self) -> &[SuiteTest] {
        &self.suite
    }

    /// The minimum number of pairs for a verdict of each test of a group.
    pub(super) fn least(&self, group: usize) -> u64 {
        self.groups[group].least
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

    /// Whether a verdict of a group is missing.
    pub(crate) fn is_group_open(&self, group: usize) -> bool {
        self.groups.get(group).is_some_and(|group| group.is_open)
    }

    /// Whether there is a complete pair.
    pub(crate) fn has_pairs(&self) -> bool {
        self.groups.iter().any(|group| group.pairs > 0)
    }

    /// The undecided benchmarks with too few pairs for any verdict.
    pub(crate) fn below_minimum_pairs(&self) -> Vec<&str> {
        self.too_few_pairs().filter(|one| one.is_open()).map(|one| one.name.as_str()).collect()
    }

    /// Whether this benchmark has too few pairs for any verdict.
    pub(super) fn has_too_few_pairs(&self, benchmark: &str) -> bool {
        self.too_few_pairs().any(|one| one.name == benchmark)
    }

    fn too_few_pairs(&self) -> impl Iterator<Item = &BenchmarkState> {
        let few = self.groups.iter().enumerate().filter(|(_, group)| group.pairs < group.least);
        let few = few.filter(|_| self.plan.decides);
        few.flat_map(|(number, _)| self.of_group(number))
    }

    /// What would decide the undecided verdicts, if there are any: those for whose benchmark and
    /// metric there is none elsewhere, either.
    pub(crate) fn advice(&self, is_open: impl Fn(&str, &str) -> bool) -> Option<Advice> {
        let mut open = Vec::new();
        for (number, state) in self.groups.iter().enumerate() {
            for BenchmarkState { name, tests, .. } in self.of_group(number) {
                let undecided = tests.iter().filter(|(_, test)| test.is_undecided());
                let undecided = undecided.filter(|(_, test)| is_open(name, &test.metric().name));
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
}

#[cfg(test)]
mod tests;
