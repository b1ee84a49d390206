//! The two stages of a comparison, pairs as built and pairs over layouts, in turn: an alarm as
//! built is tested over layouts when it is raised.
//!
//! Until a regression is confirmed, an alarm that is larger than all before goes first, alone. All
//! others wait until what looks slower as built has had [enough](test::PATIENCE) pairs to be an
//! alarm, too, and are then tested together with those of the same program, which share the layouts
//! and the time of linking them. Alarms take at most [half](SHARE) of the time from the pairs as
//! built; when these are over, the rest is theirs, and some of it is reserved.
//!
//! *Why that keeps the error*: which test has the next pair, and when a test is begun or paused,
//! depends on earlier pairs only. The theorem needs no more, since it is about a coin that is
//! tossed for each pair, after that choice. Each gate has one test over layouts, whose level is
//! its share of the error among all tests of the comparison ([`LayoutPlan`]), whenever it is
//! begun; a paused one continues with its own capital. So the sum over all gates is at most the
//! error, however many are tested and in whatever order. The tests of a program share their
//! layouts, so what one has shown may tell when another is worth beginning. But the pairs of each
//! are the same whenever it begins, and Ville's inequality bounds the maximum of its capital over
//! all of them.

use super::event::Event;
use super::experiment::{Experiment, Turn};
use super::layouts::{LayoutNoise, LayoutPlan, first_runs};
use super::plan::{Plan, PlannedBenchmark};
use super::test::{self, MetricTest, estimator};
use crate::model::{BenchmarkId, Gate, Layouts, Metric, MetricId, Row, StoppedBy};

/// The fraction of the time limit that is reserved for layouts if all benchmarks are tested over
/// them, and the largest one that is reserved for several alarms.
const RESERVED: f64 = 0.5;

/// The fraction of the time so far beyond which no further alarm is tested before the pairs as
/// built.
const SHARE: f64 = 0.5;

/// A test over layouts is paused after this many times the minimum number of units. A change that
/// is far from the threshold is decided by then.
pub(crate) const PATIENCE: u64 = 2;

/// The reserved time, as a multiple of that of the minimum number of units.
const MARGIN: f64 = 1.5;

/// The assumed time of linking both sides before it is known, seconds.
const LINKS: f64 = 0.5;

/// What the next pair belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stage {
    AsBuilt,
    /// The test over layouts with this number.
    Over(usize),
}

/// A regression as built, or a test that was set aside, whose test over layouts is not begun.
#[derive(Debug)]
struct Alarm {
    of: BenchmarkId,
    gate: Gate,
    /// How much slower it is as built.
    size: f64,
    /// The minimum number of units for its verdict.
    least: u64,
}

/// A test over layouts of one or more alarms.
#[derive(Debug)]
pub(crate) struct LayoutTest {
    pub(crate) over: LayoutPlan,
    pub(crate) experiment: Experiment,
    /// For each benchmark.
    pub(crate) noise: Vec<LayoutNoise>,
    units: u64,
    least: u64,
    /// Why it has no further unit, for now.
    stopped_by: Option<StoppedBy>,
}

impl LayoutTest {
    /// Why it has no further unit.
    pub(crate) fn stopped_by(&self) -> StoppedBy {
        self.stopped_by.unwrap_or(StoppedBy::TimeLimit)
    }

    fn is_open(&self) -> bool {
        matches!(self.stopped_by, None | Some(StoppedBy::TimeLimit))
    }

    /// Whether it may take time from the pairs as built.
    fn is_first(&self) -> bool {
        self.is_open() && self.units < PATIENCE * self.least
    }
}

/// The state of both stages: a state machine like [`Experiment`], which is driven in the same way.
#[derive(Debug)]
pub(crate) struct Stages {
    plan: Plan,
    /// For each group, whether its executables can be given other layouts.
    can_be_placed: Vec<bool>,
    /// Whether a metric depends on the layout.
    depends_on_layout: fn(&Metric) -> bool,
    as_built: Experiment,
    /// The largest first.
    waiting: Vec<Alarm>,
    /// The size of the largest alarm whose test is begun.
    largest_begun: f64,
    /// The numbers of the suite that regressed as built, whose tests over layouts are not begun.
    suite_waiting: Vec<usize>,
    tests: Vec<LayoutTest>,
    /// For each program, how long linking both sides takes, seconds, if that is known.
    links: Vec<Option<f64>>,
    /// For each program, how many layouts need not be linked any more.
    at_hand: Vec<u64>,
    /// Whether a regression is one over layouts, too.
    is_confirmed: bool,
    /// The time over layouts so far, seconds.
    seconds_over: f64,
    start: f64,
    /// When the latest turn began, in the caller's clock.
    turn_began: f64,
}

impl Stages {
    /// Begins at the time `now`, see [`Experiment::new`].
    pub(crate) fn new(
        plan: Plan,
        can_be_placed: Vec<bool>,
        depends_on_layout: fn(&Metric) -> bool,
        now: f64,
    ) -> Self {
        let programs = plan.groups.iter().map(|group| group.program + 1).max().unwrap_or(0);
        Stages {
            can_be_placed,
            depends_on_layout,
            as_built: Experiment::new(plan.clone(), now),
            waiting: Vec::new(),
            largest_begun: f64::NEG_INFINITY,
            suite_waiting: Vec::new(),
            tests: Vec::new(),
            links: vec![None; programs],
            at_hand: vec![0; programs],
            is_confirmed: false,
            seconds_over: 0.0,
            start: now,
            turn_began: now,
            plan,
        }
    }

    /// The next pair, and the stage it belongs to.
    ///
    /// # Errors
    /// Why there is no next pair.
    pub(crate) fn next(&mut self, now: f64) -> Result<(Stage, Turn), StoppedBy> {
        self.turn_began = now;
        if self.plan.fail_fast && self.is_confirmed {
            return Err(StoppedBy::Verdict);
        }
        let is_auto = self.plan.layouts == Layouts::Auto && self.plan.decides;
        if is_auto {
            // What is tested over layouts does not end the comparison.
            let tests_again = |group: Option<usize>, test: &MetricTest| {
                group.is_some_and(|group| self.can_be_placed[group])
                    && (self.depends_on_layout)(test.metric())
            };
            self.as_built.resume(&tests_again);
            let mut suite = self.as_built.suite_found.iter();
            if suite.all(|number| self.tests_suite_again(*number)) {
                self.as_built.suite_found.clear();
            }
            if let Some(next) = self.alarm_first(now) {
                return Ok(next);
            }
        }
        let reserved = self.reserved();
        self.as_built.reserve(reserved);
        let stopped_by = match self.as_built.next(now) {
            Ok(turn) => return Ok((Stage::AsBuilt, turn)),
            Err(stopped_by) => stopped_by,
        };
        // Another regression is final.
        if !self.plan.decides || is_auto && self.plan.fail_fast && self.as_built.has_just_found() {
            return Err(stopped_by);
        }
        self.rest(now).ok_or_else(|| {
            let mut open = self.tests.iter().map(LayoutTest::stopped_by);
            // There is one time limit for both.
            open.rfind(|stopped_by| *stopped_by != StoppedBy::Verdict).unwrap_or(stopped_by)
        })
    }

    /// The next pair of an alarm that goes before the pairs as built.
    fn alarm_first(&mut self, now: f64) -> Option<(Stage, Turn)> {
        let may_be_more = !self.as_built.has_had(test::PATIENCE);
        if self.is_confirmed && may_be_more {
            return None;
        }
        if let Some(next) = self.latest_first(now) {
            return Some(next);
        }
        if self.seconds_over > SHARE * (now - self.start) {
            return None;
        }
        if !may_be_more {
            return self.alarm(now);
        }
        match self.waiting.first() {
            Some(&Alarm { of, size, .. }) if size > self.largest_begun => {
                self.begin(self.waiting.iter().take_while(|alarm| alarm.of == of).count());
            }
            Some(_) => return None,
            None => self.begin_suite()?,
        }
        self.turn_of(self.tests.len() - 1, now)
    }

    /// The next pair when the pairs as built are over.
    fn rest(&mut self, now: f64) -> Option<(Stage, Turn)> {
        if matches!(self.plan.layouts, Layouts::Number(_)) && self.tests.is_empty() {
            self.waiting = self.all_gates();
        }
        // The paused ones, the latest first: of several that waited, it is not larger, but
        // it has had the fewest units.
        self.alarm(now)
            .or_else(|| (0..self.tests.len()).rev().find_map(|number| self.turn_of(number, now)))
    }

    /// The next pair of an alarm, unless all are paused.
    fn alarm(&mut self, now: f64) -> Option<(Stage, Turn)> {
        loop {
            if let Some(next) = self.latest_first(now) {
                return Some(next);
            }
            if !self.waiting.is_empty() {
                let count = self.affordable(now);
                self.begin(count);
                self.sort();
            } else {
                self.begin_suite()?;
            }
        }
    }

    /// The next pair of the latest test, unless it is paused or there is no time for a unit of it.
    fn latest_first(&mut self, now: f64) -> Option<(Stage, Turn)> {
        let latest = self.tests.len().checked_sub(1)?;
        self.tests[latest].is_first().then(|| self.turn_of(latest, now)).flatten()
    }

    fn turn_of(&mut self, number: usize, now: f64) -> Option<(Stage, Turn)> {
        let test = &mut self.tests[number];
        if !test.is_open() {
            return None;
        }
        match test.experiment.next(now) {
            Ok(turn) => {
                test.stopped_by = None;
                Some((Stage::Over(number), turn))
            }
            Err(stopped_by) => {
                test.stopped_by = Some(stopped_by);
                None
            }
        }
    }

    /// Begins one test of the `count` first alarms that wait. Those of one program share layouts.
    fn begin(&mut self, count: usize) {
        let alarms: Vec<Alarm> = self.waiting.drain(..count).collect();
        self.largest_begun =
            alarms.iter().map(|alarm| alarm.size).fold(self.largest_begun, f64::max);
        let gates: Vec<_> = alarms.into_iter().map(|alarm| (alarm.of, alarm.gate)).collect();
        let asked = match self.plan.layouts {
            Layouts::Number(number) => Some(u64::from(number)),
            _ => None,
        };
        let most = asked.into_iter().chain(self.plan.most_layouts).min();
        let number = self.tests.len() as u64;
        let mut over =
            LayoutPlan::new(&self.plan, &gates, most, number, |program| self.link(program));
        if asked.is_some() && self.can_be_placed.iter().all(|can_be| *can_be) {
            over = over.with_suite(&self.plan, (0..self.plan.suite.len()).collect());
        }
        self.add_test(over);
    }

    /// Begins the test of a number of the suite, if one waits.
    fn begin_suite(&mut self) -> Option<()> {
        let number = self.suite_waiting.pop()?;
        let mut over = LayoutPlan::of_suite(&self.plan, number, self.tests.len() as u64);
        over.plan.max_pairs = self.plan.most_layouts;
        self.add_test(over);
        Some(())
    }

    fn add_test(&mut self, over: LayoutPlan) {
        let least = over.plan.groups.iter().filter_map(|group| over.plan.least_pairs_in(group));
        self.tests.push(LayoutTest {
            experiment: Experiment::new(over.plan.clone(), self.start),
            noise: over.plan.benchmarks.iter().map(noise).collect(),
            units: 0,
            least: least.sum(),
            stopped_by: None,
            over,
        });
    }

    /// Whether a number of the suite that regressed as built is tested over layouts: if all of its
    /// executables can have other ones.
    fn tests_suite_again(&self, number: usize) -> bool {
        let can_be = self.can_be_placed.iter().all(|can_be| *can_be);
        can_be && (self.depends_on_layout)(self.as_built.suite()[number].test().metric())
    }

    /// Moves the alarms that share layouts with the largest one to the front. Returns for how
    /// many of them there is time for the minimum number of units, at least 1; without
    /// [`Layouts::Auto`] all are tested at once.
    fn affordable(&mut self, now: f64) -> usize {
        if self.plan.layouts != Layouts::Auto {
            return self.waiting.len();
        }
        let program = |alarm: &Alarm| {
            let groups = &mut self.plan.groups.iter();
            groups.find(|group| group.benchmarks.contains(&alarm.of.0)).map(|group| group.program)
        };
        let largest = self.waiting.first().and_then(program);
        let others = |alarm: &Alarm| program(alarm) != largest;
        // Stable: each part keeps its order by size.
        self.waiting.sort_by_key(others);
        let same = self.waiting.iter().filter(|alarm| !others(alarm)).count();
        let left = self.plan.left(now - self.start);
        (1..=same).rev().find(|count| self.needed(&self.waiting[..*count]) <= left).unwrap_or(1)
    }

    /// The time to reserve for layouts, seconds.
    fn reserved(&self) -> f64 {
        let limit = self.plan.time_limit.as_secs_f64();
        match self.plan.layouts {
            Layouts::Off => 0.0,
            Layouts::Number(_) => RESERVED * limit,
            Layouts::Auto => {
                let open = self.tests.iter().filter(|test| test.is_open());
                let open = open.filter(|test| !test.experiment.has_given_up());
                let open: f64 = open.map(|test| MARGIN * test.experiment.least_time()).sum();
                let suite = self.needed_of_suite();
                let all = open + suite + self.needed(&self.waiting);
                let first = match self.waiting.len() {
                    0 => suite,
                    _ => self.needed(&self.waiting[..1]),
                };
                // The largest one can have all of the time: without it, the rest means nothing.
                all.min(RESERVED * limit).max(first)
            }
        }
    }

    /// The time that the minimum number of units for these alarms takes, seconds.
    fn needed(&self, alarms: &[Alarm]) -> f64 {
        let of_program = |program: usize| {
            let (mut pairs, mut least) = (0.0, 0);
            for group in self.plan.groups.iter().filter(|group| group.program == program) {
                let own = alarms.iter().filter(|alarm| group.benchmarks.contains(&alarm.of.0));
                if let Some(most) = own.map(|alarm| alarm.least).max() {
                    pairs += group.pair_seconds;
                    least = most.max(least);
                }
            }
            self.seconds_over_layouts(program, pairs, least)
        };
        MARGIN * (0..self.links.len()).map(of_program).sum::<f64>()
    }

    /// How long so many units of a program take, seconds, if one pair of each of their benchmarks
    /// takes `pairs` seconds.
    fn seconds_over_layouts(&self, program: usize, pairs: f64, units: u64) -> f64 {
        let runs = first_runs(self.plan.most_layouts, self.link(program), pairs);
        units as f64 * f64::from(runs) * pairs + self.linking(program, units)
    }

    /// How long linking both sides of a program takes, seconds.
    fn link(&self, program: usize) -> f64 {
        // Programs of one workspace are of similar size.
        let longest = || self.links.iter().flatten().copied().reduce(f64::max).unwrap_or(LINKS);
        self.links[program].unwrap_or_else(longest)
    }

    /// How long it takes to link so many layouts of a program, without those at hand, seconds.
    fn linking(&self, program: usize, layouts: u64) -> f64 {
        layouts.saturating_sub(self.at_hand[program]) as f64 * self.link(program)
    }

    /// The same for the numbers of the suite that wait: in each unit, one pair of every benchmark.
    fn needed_of_suite(&self) -> f64 {
        let least = self.plan.least_pairs();
        let links = (0..self.links.len()).map(|program| self.linking(program, least));
        let pairs: f64 = self.plan.groups.iter().map(|group| group.pair_seconds).sum();
        let waiting = self.suite_waiting.len() as f64;
        MARGIN * (waiting * least as f64 * pairs + waiting.min(1.0) * links.sum::<f64>())
    }

    /// Linking both sides of a program took this long, if they were linked; so many layouts of it
    /// are at hand for later tests.
    pub(crate) fn linked(&mut self, program: usize, seconds: Option<f64>, at_hand: u64) {
        self.links[program] = seconds.or(self.links[program]);
        self.at_hand[program] = at_hand;
    }

    /// Adds the rows of a turn that ended at the time `now`.
    pub(crate) fn push(&mut self, stage: Stage, turn: &Turn, rows: &[Row], now: f64) {
        match stage {
            Stage::AsBuilt => {
                self.as_built.push(turn, rows, now);
                if self.plan.layouts == Layouts::Auto && self.can_be_placed[turn.group] {
                    self.raise(turn.group, now);
                    let mut again = self.as_built.suite_found.clone();
                    again.retain(|number| self.tests_suite_again(*number));
                    self.suite_waiting.extend(again);
                }
            }
            Stage::Over(number) => {
                let test = &mut self.tests[number];
                test.experiment.push(turn, rows, now);
                test.units += 1;
                // Nothing is reserved for it any more.
                if !test.experiment.is_open() {
                    test.stopped_by = Some(StoppedBy::Verdict);
                }
                self.seconds_over += now - self.turn_began;
                self.is_confirmed |= test.experiment.has_just_found();
            }
        }
    }

    /// Adds the alarms of the latest pair as built to those that wait.
    fn raise(&mut self, measured: usize, now: f64) {
        let depends_on_layout = self.depends_on_layout;
        let is_last_chance = self.has_time_only_over_layouts(measured, now);
        // More pairs as built would only tell the layout of this one executable.
        self.as_built.set_aside(&|test, least| {
            depends_on_layout(test.metric()) && (is_last_chance || test.looks_slower(least))
        });
        let raised = self.as_built.just_raised();
        let raised = raised.filter(|(_, test, _)| depends_on_layout(test.metric()));
        self.waiting.extend(raised.map(|raised| alarm(&self.plan, raised)));
        self.sort();
    }

    /// Whether there is time for a verdict over layouts about what was just measured, but for none
    /// that begins with pairs as built, neither an all-clear nor an alarm that is then tested again.
    fn has_time_only_over_layouts(&self, measured: usize, now: f64) -> bool {
        let left = self.plan.left(now - self.start);
        let again = |number: usize, least: u64| {
            let group = &self.plan.groups[number];
            let seconds = || self.seconds_over_layouts(group.program, group.pair_seconds, least);
            self.is_only_about_layouts(number).then(seconds)
        };
        let reserved = |number, least| MARGIN * again(number, least).unwrap_or(0.0);
        self.plan.decides
            && self.plan.suite.is_empty()
            && again(measured, self.as_built.least(measured)).is_some_and(|needed| needed <= left)
            && !self.as_built.has_time_for_any(left, reserved)
    }

    /// Whether all gates of a group can be tested over layouts.
    fn is_only_about_layouts(&self, group: usize) -> bool {
        let ids = self.plan.groups[group].benchmarks.clone().map(BenchmarkId);
        let mut gates = ids.flat_map(|id| self.as_built.gating(id));
        self.can_be_placed[group] && gates.all(|(test, _)| (self.depends_on_layout)(test.metric()))
    }

    /// Sorts the alarms that wait by size.
    fn sort(&mut self) {
        self.waiting.sort_by(|one, other| other.size.total_cmp(&one.size));
    }

    /// All gates that can be tested over layouts.
    fn all_gates(&self) -> Vec<Alarm> {
        let groups = self.plan.groups.iter().zip(&self.can_be_placed);
        let ids = groups
            .filter(|(_, can_be)| **can_be)
            .flat_map(|(group, _)| group.benchmarks.clone().map(BenchmarkId));
        let gates =
            ids.flat_map(|of| self.as_built.gating(of).map(move |(test, gate)| (of, test, gate)));
        gates
            .filter(|(_, test, _)| (self.depends_on_layout)(test.metric()))
            .map(|gate| alarm(&self.plan, gate))
            .collect()
    }

    /// Ends both stages. An alarm without a test over layouts gets one without units, so that it
    /// is no verdict.
    pub(crate) fn end(&mut self) {
        if !self.waiting.is_empty() {
            self.begin(self.waiting.len());
        }
        while self.begin_suite().is_some() {}
    }

    /// Whether it ended before the time limit, because no further verdict was expected within it.
    pub(crate) fn has_given_up(&self) -> bool {
        let over = self.tests.iter().map(|test| &test.experiment);
        let open = over.chain([&self.as_built]).filter(|experiment| experiment.is_open());
        open.map(Experiment::has_given_up).reduce(|one, other| one && other).unwrap_or(false)
    }

    /// See [`Sampled::evidence`](crate::model::outcome::Sampled). That of pairs as built does not
    /// count if what regressed is tested again.
    pub(crate) fn evidence(&self) -> f64 {
        match self.plan.layouts {
            Layouts::Off => self.as_built.evidence(),
            _ => self.tests.iter().map(|test| test.experiment.evidence()).sum(),
        }
    }

    /// The undecided benchmarks with too few pairs for any verdict, as built and over layouts.
    pub(crate) fn below_minimum_pairs(&self) -> Vec<&str> {
        let over = self.tests.iter().flat_map(|test| test.experiment.below_minimum_pairs());
        let over = over.filter(|benchmark| self.as_built.has_too_few_pairs(benchmark));
        self.as_built.below_minimum_pairs().into_iter().chain(over).collect()
    }

    pub(crate) fn as_built(&self) -> &Experiment {
        &self.as_built
    }

    /// The tests over layouts, in the order in which they were begun.
    pub(crate) fn tests(&self) -> &[LayoutTest] {
        &self.tests
    }

    /// Seconds between the beginning and the end of the latest pair.
    pub(crate) fn elapsed(&self) -> f64 {
        let all = self.tests.iter().map(|test| &test.experiment).chain([&self.as_built]);
        all.map(Experiment::elapsed).fold(0.0, f64::max)
    }

    /// The test over layouts with this number.
    pub(crate) fn test(&mut self, number: usize) -> &mut LayoutTest {
        &mut self.tests[number]
    }

    pub(crate) fn experiment(&mut self, stage: Stage) -> &mut Experiment {
        match stage {
            Stage::AsBuilt => &mut self.as_built,
            Stage::Over(number) => &mut self.tests[number].experiment,
        }
    }

    /// The events of the ends of all stages that have pairs.
    pub(crate) fn report_end(&self, report: &mut dyn FnMut(Event<'_>)) {
        let over = self.tests.iter().map(|test| &test.experiment);
        for experiment in std::iter::once(&self.as_built).chain(over) {
            if experiment.has_pairs() {
                report(Event::Sampled(experiment));
            }
        }
    }
}

/// The alarm of a test as built.
fn alarm(plan: &Plan, (of, test, gate): (BenchmarkId, &MetricTest, &Gate)) -> Alarm {
    let size = test.metric().better.worse(test.result().summary.change.unwrap_or(0.0));
    let least = estimator(test.metric(), plan.estimator).least_pairs(plan.levels()).unwrap_or(0);
    Alarm { of, gate: gate.clone(), size, least }
}

/// The first gate of a benchmark, and its metric.
pub(crate) fn first_gate(benchmark: &PlannedBenchmark) -> Option<(MetricId, &Metric, &Gate)> {
    let first = benchmark.gates.first()?;
    benchmark.gating().find(|(.., gate)| gate.metric == first.metric)
}

/// The noise of a benchmark, before anything is known of it. Without a gate of its own, it is
/// measured for the suite.
fn noise(benchmark: &PlannedBenchmark) -> LayoutNoise {
    first_gate(benchmark).map_or_else(LayoutNoise::of_suite, |(_, metric, gate)| {
        LayoutNoise::new(metric.better.limit(gate.threshold))
    })
}

#[cfg(test)]
mod tests;
