//! One program in the loop: its benchmarks, their questions, and what its
//! pairs cost.

use super::{Benchmark, Plan, Samples};
use crate::engine::schedule::Schedule;
use crate::engine::test::Question;
use crate::model::gate::Gate;
use crate::model::metric::Metric;
use crate::model::notice::Unlikely;
use crate::model::outcome::{BenchmarkResult, MetricResult, Status, Verdict};
use crate::model::side::Side;
use crate::stats::forecast::Forecast;

/// How many pairs there are before anything is said of the rest: fewer know
/// too little of the noise.
const PAIRS_TO_FORESEE: u64 = 20;

/// How far beyond the limit a forecast has to be, which is rough.
const CLEARLY: f64 = 2.0;

/// One program.
#[derive(Debug)]
pub(super) struct Track {
    lines: Vec<Line>,
    schedule: Schedule,
    can_leave: bool,
    /// How many pairs of runs there were.
    pairs: u64,
    /// What a pair takes, seconds, with the benchmarks that it now has.
    pair_seconds: f64,
    /// The pairs since a benchmark left, and their seconds.
    since: (u64, f64),
}

/// One benchmark.
#[derive(Debug)]
struct Line {
    name: String,
    questions: Vec<Question>,
    pairs: u64,
    /// What decides, where that is for others to do.
    undecided: Vec<Gate>,
}

impl Line {
    fn new(plan: &Plan, benchmark: &Benchmark) -> Self {
        let question = |metric: &Metric| {
            let mut gates = benchmark.gates.iter().filter(|_| plan.decides);
            let gate = gates.find(|gate| gate.metric == metric.name);
            Question::new(metric.clone(), gate, plan.estimator, plan.levels())
        };
        let questions = benchmark.metrics.iter().map(question).collect();
        let undecided = if plan.decides { Vec::new() } else { benchmark.gates.clone() };
        Line { name: benchmark.name.clone(), questions, pairs: 0, undecided }
    }

    fn is_open(&self) -> bool {
        !self.undecided.is_empty() || self.questions.iter().any(Question::is_open)
    }

    /// What is to be said of a metric, with the limit of its change where others
    /// decide.
    fn result(&self, question: &Question, of: impl Fn(&Question) -> MetricResult) -> MetricResult {
        let result = of(question);
        let gate = self.undecided.iter().find(|gate| gate.metric == result.name);
        match gate {
            Some(gate) => result.gated(gate),
            None => result,
        }
    }

    fn open(&self) -> impl Iterator<Item = &Question> {
        self.questions.iter().filter(|question| question.is_open())
    }

    /// The pairs until its verdicts.
    fn remaining(&self) -> Option<u64> {
        let mut most = 0;
        for question in self.open() {
            match question.forecast() {
                Forecast::Pairs(pairs) => most = most.max(pairs.saturating_sub(self.pairs)),
                _ => return None,
            }
        }
        Some(most)
    }
}

impl Track {
    pub(super) fn new(plan: &Plan, number: usize) -> Self {
        let subject = &plan.subjects[number];
        Track {
            lines: subject.benchmarks.iter().map(|one| Line::new(plan, one)).collect(),
            schedule: Schedule::new(plan.seed, number as u64),
            can_leave: subject.can_leave,
            pairs: 0,
            pair_seconds: subject.pair_seconds,
            since: (0, 0.0),
        }
    }

    pub(super) fn is_open(&self) -> bool {
        self.lines.iter().any(Line::is_open)
    }

    pub(super) fn pairs(&self) -> u64 {
        self.pairs
    }

    pub(super) fn pair_seconds(&self) -> f64 {
        self.pair_seconds
    }

    /// Which side is first in the next pair.
    pub(super) fn first(&self) -> Side {
        self.schedule.first(self.pairs)
    }

    /// The number that both members of the next pair share.
    pub(super) fn lot(&self) -> u64 {
        self.schedule.lot(self.pairs)
    }

    /// The benchmarks whose samples the next pair is for: those that are open,
    /// or all where a run has them all.
    pub(super) fn wanted(&self) -> Vec<usize> {
        let all = 0..self.lines.len();
        all.filter(|&number| !self.can_leave || self.lines[number].is_open()).collect()
    }

    pub(super) fn has_regression(&self) -> bool {
        let questions = self.lines.iter().flat_map(|line| &line.questions);
        let mut verdicts = questions.map(Question::verdict);
        verdicts.any(|verdict| verdict == Some(Verdict::Regression))
    }

    /// Takes in a pair of runs, of which `first` was first.
    pub(super) fn push(&mut self, first: Side, runs: &[(Side, Samples)], seconds: f64) {
        let before = self.wanted().len();
        for (number, line) in self.lines.iter_mut().enumerate() {
            let sample = |side: Side| {
                let run = runs.iter().find(|(of, _)| *of == side);
                let samples = run.map(|(_, samples)| samples)?;
                samples.iter().find(|(of, _)| *of == number).map(|(_, sample)| sample)
            };
            let (Some(base), Some(head)) = (sample(Side::Base), sample(Side::Head)) else {
                continue;
            };
            for question in &mut line.questions {
                let name = &question.metric().name;
                if let (Some(base), Some(head)) = (base.get(name), head.get(name)) {
                    question.push(base, head, first);
                }
            }
            line.pairs += 1;
        }
        self.pairs += 1;
        self.since = (self.since.0 + 1, self.since.1 + seconds);
        self.pair_seconds = self.since.1 / self.since.0 as f64;
        let after = self.wanted().len();
        if after < before {
            self.pair_seconds *= after as f64 / before as f64;
            self.since = (0, 0.0);
        }
    }

    pub(super) fn results(
        &self,
        of: impl Fn(&Question) -> MetricResult + Copy,
    ) -> impl Iterator<Item = BenchmarkResult> {
        self.lines.iter().map(move |line| BenchmarkResult {
            pairs: line.pairs,
            metrics: line.questions.iter().map(|one| line.result(one, of)).collect(),
            ..BenchmarkResult::new(&line.name, Status::Compared)
        })
    }

    /// The first question whose verdict is not to be expected by `limit`, and
    /// how many more there are.
    pub(super) fn unlikely(&self, elapsed: f64, limit: f64, most: Option<u64>) -> Option<Unlikely> {
        if self.pairs != PAIRS_TO_FORESEE {
            return None;
        }
        let in_time = self.pairs + ((limit - elapsed) / self.pair_seconds).max(0.0) as u64;
        let affordable = most.map_or(in_time, |most| most.min(in_time));
        let open = self.lines.iter().flat_map(|line| line.open().map(move |one| (line, one)));
        let mut found = open.filter_map(|(line, question)| {
            let needed = match question.forecast() {
                Forecast::Pairs(pairs) => Some(pairs),
                Forecast::Never => None,
                Forecast::Unknown => return None,
            };
            if needed.is_some_and(|needed| (needed as f64) < CLEARLY * affordable as f64) {
                return None;
            }
            Some(Unlikely {
                benchmark: line.name.clone(),
                metric: question.metric().name.clone(),
                limit: question.metric().better.limit(question.threshold()?),
                needed: needed.map(|pairs| pairs as f64 * self.pair_seconds),
                reach: question.reach(affordable),
                others: 0,
            })
        });
        let first = found.next()?;
        Some(Unlikely { others: found.count(), ..first })
    }

    /// Seconds until it has so many pairs.
    pub(super) fn left(&self, most: u64) -> f64 {
        if self.is_open() {
            most.saturating_sub(self.pairs) as f64 * self.pair_seconds
        } else {
            0.0
        }
    }

    /// Seconds until its verdicts. What leaves makes the pairs after it
    /// shorter, in proportion.
    pub(super) fn remaining(&self) -> Option<f64> {
        let left = self.lines.iter().map(Line::remaining).collect::<Option<Vec<u64>>>()?;
        let pairs = if self.can_leave {
            left.iter().sum::<u64>() as f64 / self.wanted().len().max(1) as f64
        } else {
            left.into_iter().max().unwrap_or(0) as f64
        };
        Some(pairs * self.pair_seconds)
    }
}
