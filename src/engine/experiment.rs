//! The experiment: whose turn it is, what the pairs say, and when it ends.
//!
//! A state machine without processes and without a clock. The caller asks for the
//! [next](Experiment::next) turn, measures it, [pushes](Experiment::push) the
//! rows, and shows the [progress](Experiment::progress):
//!
//! ```text
//! let stopped_by = loop {
//!     match experiment.next(now()) {
//!         Ok(turn) => { let rows = measure(&turn); experiment.push(&turn, &rows, now()) }
//!         Err(stopped_by) => break stopped_by,
//!     }
//! };
//! ```

use std::time::Duration;

use super::plan::{Plan, PlannedBenchmark, PlannedProgram};
use super::schedule::Schedule;
use super::test::MetricTest;
use crate::model::gate::Gate;
use crate::model::notice::Unlikely;
use crate::model::outcome::{BenchmarkResult, MetricResult, Sampled, Status, StoppedBy, Verdict};
use crate::model::row::{BenchmarkId, MetricId, Row};
use crate::model::side::Side;
use crate::stats::forecast::Forecast;

/// How many pairs there are before a forecast is given: fewer say too little about
/// the noise.
const PAIRS_TO_FORESEE: u64 = 20;

/// How far beyond the limit a forecast has to be. Forecasts are rough.
const CLEARLY: f64 = 2.0;

/// A pair that is to be measured.
#[derive(Clone, Debug, PartialEq)]
pub struct Turn {
    /// The program, by its place in the plan.
    pub(crate) program: usize,
    /// The benchmarks that are wanted of it.
    pub(crate) wanted: Vec<BenchmarkId>,
    /// The side that goes first.
    pub(crate) first: Side,
    /// A number that the two runs share, and that no other pair has.
    pub(crate) pair_seed: u64,
    /// How long the pair may take.
    pub(crate) left: Duration,
    /// When it began, seconds since the first pair began.
    begin: f64,
}

/// The state of a comparison between its first pair and its last.
#[derive(Debug)]
pub struct Experiment {
    plan: Plan,
    programs: Vec<ProgramState>,
    benchmarks: Vec<BenchmarkState>,
    /// The program of the latest turn.
    latest: Option<usize>,
    /// When sampling began, in the caller's time.
    start: f64,
    /// The end of the latest pair, seconds since the start.
    elapsed: f64,
}

impl Experiment {
    /// Begins at the time `now`, seconds since any moment. Later times are measured
    /// from the same moment and never go back.
    pub fn new(plan: Plan, now: f64) -> Self {
        let programs = plan.programs.iter().enumerate().map(|(number, program)| ProgramState {
            schedule: Schedule::new(plan.seed, number as u64),
            pairs: 0,
            pair_seconds: program.pair_seconds,
            timed_pairs: 0,
            timed_seconds: 0.0,
        });
        Experiment {
            programs: programs.collect(),
            benchmarks: plan.benchmarks.iter().map(|one| BenchmarkState::new(&plan, one)).collect(),
            latest: None,
            start: now,
            elapsed: 0.0,
            plan,
        }
    }

    /// The next pair: of the next program in turn that is open, if it is allowed and
    /// fits into the time that is left.
    ///
    /// # Errors
    /// Why there is none.
    pub fn next(&mut self, now: f64) -> Result<Turn, StoppedBy> {
        let begin = now - self.start;
        if self.plan.fail_fast && self.latest.is_some_and(|latest| self.has_regression(latest)) {
            return Err(StoppedBy::Verdict);
        }
        let count = self.programs.len();
        let after = self.latest.map_or(0, |latest| latest + 1);
        let in_turn = (0..count).map(|step| (after + step) % count);
        let open: Vec<usize> = in_turn.filter(|&number| self.is_open(number)).collect();
        if open.is_empty() {
            return Err(StoppedBy::Verdict);
        }
        let most = self.plan.max_pairs.unwrap_or(u64::MAX);
        let mut allowed = open.into_iter().filter(|&n| self.programs[n].pairs < most).peekable();
        if allowed.peek().is_none() {
            return Err(StoppedBy::MaxPairs);
        }
        let left = self.plan.time_limit.as_secs_f64() - begin;
        let fits = |number: &usize| left > 0.0 && self.programs[*number].pair_seconds <= left;
        let program = allowed.find(fits).ok_or(StoppedBy::TimeLimit)?;
        self.latest = Some(program);
        let ProgramState { schedule, pairs, .. } = self.programs[program];
        Ok(Turn {
            program,
            wanted: self.wanted(program),
            first: schedule.first(pairs),
            pair_seed: schedule.pair_seed(pairs),
            left: Duration::from_secs_f64(left.max(0.001)),
            begin,
        })
    }

    /// Takes the rows of a turn that ended at the time `now`. A benchmark counts as
    /// measured if both sides have a row.
    pub fn push(&mut self, turn: &Turn, rows: &[Row], now: f64) {
        self.elapsed = now - self.start;
        let wanted_before = turn.wanted.len();
        let range = self.plan.programs[turn.program].benchmarks.clone();
        for (number, benchmark) in range.clone().zip(&mut self.benchmarks[range]) {
            let row = |side| {
                let id = BenchmarkId(number);
                rows.iter().find(|row| row.benchmark == id && row.side == side)
            };
            if let (Some(base), Some(head)) = (row(Side::Base), row(Side::Head)) {
                benchmark.push(base, head, turn.first);
            }
        }
        let wanted_after = self.wanted(turn.program).len();
        let program = &mut self.programs[turn.program];
        program.pairs += 1;
        program.timed_pairs += 1;
        program.timed_seconds += self.elapsed - turn.begin;
        program.pair_seconds = program.timed_seconds / program.timed_pairs as f64;
        if wanted_after < wanted_before {
            program.pair_seconds *= wanted_after as f64 / wanted_before as f64;
            program.timed_pairs = 0;
            program.timed_seconds = 0.0;
        }
    }

    /// How far sampling has come.
    pub(crate) fn progress(&self) -> Progress<'_> {
        Progress { experiment: self }
    }

    /// Whether there was a whole pair.
    pub(crate) fn has_pairs(&self) -> bool {
        self.programs.iter().any(|program| program.pairs > 0)
    }

    /// The first test of the program of `turn` whose verdict is not to be expected
    /// within the limits, and how many more there are. Answered once, early.
    pub(crate) fn unlikely(&self, turn: &Turn) -> Option<Unlikely> {
        let program = &self.programs[turn.program];
        if program.pairs != PAIRS_TO_FORESEE {
            return None;
        }
        let left = self.plan.time_limit.as_secs_f64() - self.elapsed;
        let in_time = program.pairs + (left / program.pair_seconds).max(0.0) as u64;
        let affordable = self.plan.max_pairs.map_or(in_time, |most| most.min(in_time));
        let range = self.plan.programs[turn.program].benchmarks.clone();
        let open = self.benchmarks[range]
            .iter()
            .flat_map(|benchmark| benchmark.open_tests().map(move |test| (benchmark, test)));
        let mut found = open.filter_map(|(benchmark, test)| {
            let needed = match test.forecast() {
                Forecast::Pairs(pairs) => Some(pairs),
                Forecast::Never => None,
                Forecast::Unknown => return None,
            };
            if needed.is_some_and(|needed| (needed as f64) < CLEARLY * affordable as f64) {
                return None;
            }
            Some(Unlikely {
                benchmark: benchmark.name.clone(),
                metric: test.metric().name.clone(),
                limit: test.metric().better.limit(test.threshold()?),
                needed: needed.map(|pairs| pairs as f64 * program.pair_seconds),
                reach: test.reach(affordable),
                others: 0,
            })
        });
        let first = found.next()?;
        Some(Unlikely { others: found.count(), ..first })
    }

    /// The results of all benchmarks, once sampling is over.
    pub fn finish(&self, stopped_by: StoppedBy) -> Sampled {
        let benchmarks = self.benchmarks.iter().map(|one| one.result(MetricTest::end)).collect();
        Sampled { benchmarks, stopped_by, elapsed: self.elapsed }
    }

    fn of_program(&self, program: usize) -> &[BenchmarkState] {
        &self.benchmarks[self.plan.programs[program].benchmarks.clone()]
    }

    fn is_open(&self, program: usize) -> bool {
        self.of_program(program).iter().any(BenchmarkState::is_open)
    }

    /// The benchmarks that the next pair of a program is for: those that are open, or
    /// all if a run can't be limited to some.
    fn wanted(&self, program: usize) -> Vec<BenchmarkId> {
        let PlannedProgram { benchmarks, can_leave, .. } = &self.plan.programs[program];
        let wanted = |number: &usize| !can_leave || self.benchmarks[*number].is_open();
        benchmarks.clone().filter(wanted).map(BenchmarkId).collect()
    }

    fn has_regression(&self, program: usize) -> bool {
        let mut tests = self.of_program(program).iter().flat_map(|benchmark| &benchmark.tests);
        tests.any(|(_, test)| test.verdict() == Some(Verdict::Regression))
    }

    /// Seconds until all verdicts, or until a limit if there are to be none.
    fn remaining(&self) -> Option<f64> {
        let programs = 0..self.programs.len();
        if self.plan.decides {
            return programs.map(|number| self.remaining_of(number)).sum();
        }
        let most = self.plan.max_pairs.unwrap_or(u64::MAX);
        let left = programs.filter(|&number| self.is_open(number)).map(|number| {
            let program = &self.programs[number];
            most.saturating_sub(program.pairs) as f64 * program.pair_seconds
        });
        let left: f64 = left.sum();
        Some(left.min(self.plan.time_limit.as_secs_f64() - self.elapsed).max(0.0))
    }

    /// Seconds until the verdicts of a program. A benchmark that leaves makes the
    /// pairs after it shorter, in proportion.
    fn remaining_of(&self, program: usize) -> Option<f64> {
        let left = self.of_program(program).iter().map(BenchmarkState::remaining);
        let left = left.collect::<Option<Vec<u64>>>()?;
        let pairs = if self.plan.programs[program].can_leave {
            left.iter().sum::<u64>() as f64 / self.wanted(program).len().max(1) as f64
        } else {
            left.into_iter().max().unwrap_or(0) as f64
        };
        Some(pairs * self.programs[program].pair_seconds)
    }
}

/// One program of the experiment.
#[derive(Debug)]
struct ProgramState {
    schedule: Schedule,
    pairs: u64,
    /// How long a pair takes with the benchmarks that are left, seconds.
    pair_seconds: f64,
    /// The pairs since a benchmark left.
    timed_pairs: u64,
    /// How long these took, seconds.
    timed_seconds: f64,
}

/// One benchmark of the experiment.
#[derive(Debug)]
struct BenchmarkState {
    name: String,
    tests: Vec<(MetricId, MetricTest)>,
    pairs: u64,
    /// The gates of a shard, which are decided elsewhere.
    undecided: Vec<Gate>,
}

impl BenchmarkState {
    fn new(plan: &Plan, benchmark: &PlannedBenchmark) -> Self {
        let tests = benchmark.metrics.iter().map(|(id, metric)| {
            let gate = benchmark.gates.iter().find(|gate| gate.metric == metric.name);
            let gate = gate.filter(|_| plan.decides);
            (*id, MetricTest::new(metric.clone(), gate, plan.estimator, plan.levels()))
        });
        let undecided = if plan.decides { Vec::new() } else { benchmark.gates.clone() };
        let name = benchmark.name.clone();
        BenchmarkState { name, tests: tests.collect(), pairs: 0, undecided }
    }

    fn push(&mut self, base: &Row, head: &Row, first: Side) {
        for (metric, test) in &mut self.tests {
            if let (Some(base), Some(head)) = (base.get(*metric), head.get(*metric)) {
                test.push(base, head, first);
            }
        }
        self.pairs += 1;
    }

    fn is_open(&self) -> bool {
        !self.undecided.is_empty() || self.open_tests().next().is_some()
    }

    fn open_tests(&self) -> impl Iterator<Item = &MetricTest> {
        self.tests.iter().map(|(_, test)| test).filter(|test| test.is_open())
    }

    /// The pairs until its verdicts.
    fn remaining(&self) -> Option<u64> {
        let mut most = 0;
        for test in self.open_tests() {
            match test.forecast() {
                Forecast::Pairs(pairs) => most = most.max(pairs.saturating_sub(self.pairs)),
                Forecast::Never | Forecast::Unknown => return None,
            }
        }
        Some(most)
    }

    fn result(&self, of: impl Fn(&MetricTest) -> MetricResult) -> BenchmarkResult {
        let metrics = self.tests.iter().map(|(_, test)| {
            let result = of(test);
            match self.undecided.iter().find(|gate| gate.metric == result.name) {
                Some(gate) => result.gated(gate),
                None => result,
            }
        });
        BenchmarkResult {
            pairs: self.pairs,
            metrics: metrics.collect(),
            ..BenchmarkResult::new(&self.name, Status::Compared)
        }
    }
}

/// How far sampling has come. Bounds and forecasts can take longer to compute than
/// a pair takes to run, so nothing is computed until somebody asks for it.
#[derive(Clone, Copy, Debug)]
pub struct Progress<'a> {
    experiment: &'a Experiment,
}

impl<'a> Progress<'a> {
    /// What is sampled.
    pub fn plan(&self) -> &'a Plan {
        &self.experiment.plan
    }

    /// Seconds since the first measured pair began.
    pub fn elapsed(&self) -> f64 {
        self.experiment.elapsed
    }

    /// The results so far of the benchmarks of a program.
    pub(crate) fn results(&self, program: usize) -> Vec<BenchmarkResult> {
        let benchmarks = self.experiment.of_program(program).iter();
        benchmarks.map(|benchmark| benchmark.result(MetricTest::result)).collect()
    }

    /// All results so far, and how long the rest is expected to take.
    pub fn snapshot(&self) -> Snapshot {
        let benchmarks = self.experiment.benchmarks.iter();
        Snapshot {
            benchmarks: benchmarks.map(|one| one.result(MetricTest::result)).collect(),
            elapsed: self.experiment.elapsed,
            limit: self.experiment.plan.time_limit.as_secs_f64(),
            remaining: self.experiment.remaining(),
        }
    }
}

/// What there is to show of a comparison at one moment.
#[derive(Clone, Debug, PartialEq)]
pub struct Snapshot {
    /// The results so far.
    pub benchmarks: Vec<BenchmarkResult>,
    /// Seconds since the first measured pair began.
    pub elapsed: f64,
    /// Seconds that sampling may take.
    pub limit: f64,
    /// Seconds until all verdicts, if the noise stays as it is; `None` if that can't
    /// be said.
    pub remaining: Option<f64>,
}

#[cfg(test)]
mod tests;
