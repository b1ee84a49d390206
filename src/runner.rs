//! The loop: whose turn it is, the sums, the look after every pair, the end.
//!
//! It knows no process and no clock: both are handed in, so that a test can
//! feed it numbers.

use std::time::Duration;

use crate::metric::Metric;
use crate::question::Question;
use crate::sample::Sample;
use crate::schedule::Schedule;
use crate::side::{Pair, Side};
use crate::stats::estimator::{Estimator, Levels};
use crate::stats::forecast::Forecast;
use crate::verdict::{BenchmarkResult, MetricResult, Sampled, Status, StoppedBy, Verdict};

/// What one run came to.
#[derive(Clone, Debug, PartialEq)]
pub enum Run {
    /// It was measured.
    Measured(Sample),
    /// The time limit came first, and it was ended.
    OutOfTime,
    /// A signal came first, and it was ended.
    Interrupted,
}

/// A benchmark to sample.
#[derive(Clone, Debug, PartialEq)]
pub struct Subject {
    /// Its name.
    pub name: String,
    /// What its runs measure.
    pub metrics: Vec<Metric>,
    /// The metrics that gate, each with the largest change that passes.
    pub gates: Vec<(String, f64)>,
    /// How long a pair is expected to take, seconds; 0 when nobody knows.
    pub pair_seconds: f64,
}

/// What is sampled, and when it stops.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// The benchmarks.
    pub subjects: Vec<Subject>,
    /// 1 minus the chance of a wrong verdict.
    pub confidence: f64,
    /// How a change is estimated.
    pub estimator: Estimator,
    /// How long sampling may take.
    pub time_limit: Duration,
    /// How many pairs of each benchmark there may be.
    pub max_pairs: Option<u64>,
    /// Whether the first regression ends it.
    pub fail_fast: bool,
    /// The seed of the order.
    pub seed: u64,
}

impl Plan {
    /// The chances of a wrong verdict of either kind, for one question of all.
    pub fn levels(&self) -> Levels {
        let questions = self.subjects.iter().map(|subject| subject.gates.len()).sum();
        Levels::new(self.confidence, questions)
    }

    /// The least number of pairs with which any question can be decided.
    pub fn least_pairs(&self) -> u64 {
        self.estimator.least_pairs(self.levels()).unwrap_or(u64::MAX)
    }

    /// How long the least sampling that can decide is expected to take.
    pub fn least_time(&self) -> Duration {
        let pair: f64 = self.subjects.iter().map(|subject| subject.pair_seconds).sum();
        Duration::from_secs_f64(pair * self.least_pairs() as f64)
    }
}

/// How far sampling has come.
#[derive(Clone, Debug, PartialEq)]
pub struct Progress {
    /// What would be said now.
    pub benchmarks: Vec<BenchmarkResult>,
    /// Which benchmark the last pair was of.
    pub latest: usize,
    /// Seconds since the first measured pair began.
    pub elapsed: f64,
    /// Seconds that sampling may take.
    pub limit: f64,
    /// Seconds until all verdicts, if the noise stays as it is; `None` when
    /// that can't be said, or is beyond all measure.
    pub remaining: Option<f64>,
}

/// What the loop reports.
#[derive(Clone, Copy, Debug)]
pub enum Step<'a> {
    /// A pair is complete: the benchmark's number, its runs in their order,
    /// and what would be said now.
    Pair(usize, &'a [(Side, Sample)], &'a Progress),
    /// A verdict within the limit is unlikely. Said once, early.
    Unlikely(&'a Unlikely),
}

/// Why a verdict within the limit is unlikely.
#[derive(Clone, Debug, PartialEq)]
pub struct Unlikely {
    /// The benchmark.
    pub benchmark: String,
    /// The metric.
    pub metric: String,
    /// Its threshold.
    pub threshold: f64,
    /// Seconds that the verdict would take at this noise; `None` when it is
    /// not to be expected at all.
    pub needed: Option<f64>,
    /// How far from the threshold a change has to be to be told from it within
    /// the limit; `None` when no change could be.
    pub reach: Option<f64>,
}

/// How many pairs there are before anything is said of the rest: fewer know
/// too little of the noise.
const PAIRS_TO_FORESEE: u64 = 20;

/// How far beyond the limit a forecast has to be, which is rough.
const CLEARLY: f64 = 2.0;

/// One benchmark in the loop.
struct Track {
    name: String,
    questions: Vec<Question>,
    schedule: Schedule,
    pairs: u64,
    pair_seconds: f64,
    spent: f64,
}

impl Track {
    fn new(plan: &Plan, number: usize) -> Self {
        let subject = &plan.subjects[number];
        let question = |metric: &Metric| {
            let gate = subject.gates.iter().find(|(name, _)| *name == metric.name);
            let threshold = gate.map(|&(_, threshold)| threshold);
            Question::new(metric.clone(), threshold, plan.estimator, plan.levels())
        };
        Track {
            name: subject.name.clone(),
            questions: subject.metrics.iter().map(question).collect(),
            schedule: Schedule::new(plan.seed, number as u64),
            pairs: 0,
            pair_seconds: subject.pair_seconds,
            spent: 0.0,
        }
    }

    fn is_open(&self) -> bool {
        self.questions.iter().any(Question::is_open)
    }

    fn has_regression(&self) -> bool {
        let mut verdicts = self.questions.iter().map(Question::verdict);
        verdicts.any(|verdict| verdict == Some(Verdict::Regression))
    }

    fn push(&mut self, first: Side, pair: &Pair<Sample>, seconds: f64) {
        for question in &mut self.questions {
            let name = &question.metric().name;
            if let (Some(base), Some(head)) = (pair.base.get(name), pair.head.get(name)) {
                question.push(base, head, first);
            }
        }
        self.pairs += 1;
        self.spent += seconds;
        self.pair_seconds = self.spent / self.pairs as f64;
    }

    fn result(&self, of: impl Fn(&Question) -> MetricResult) -> BenchmarkResult {
        BenchmarkResult {
            name: self.name.clone(),
            status: Status::Compared,
            pairs: self.pairs,
            metrics: self.questions.iter().map(of).collect(),
        }
    }

    /// The first question whose verdict is not to be expected by `limit`, of
    /// which `left` seconds are left.
    fn unlikely(&self, elapsed: f64, limit: f64, most: Option<u64>) -> Option<Unlikely> {
        if self.pairs != PAIRS_TO_FORESEE {
            return None;
        }
        let in_time = self.pairs + ((limit - elapsed) / self.pair_seconds).max(0.0) as u64;
        let affordable = most.map_or(in_time, |most| most.min(in_time));
        self.questions.iter().filter(|question| question.is_open()).find_map(|question| {
            let needed = match question.forecast() {
                Forecast::Pairs(pairs) => Some(pairs),
                Forecast::Never => None,
                Forecast::Unknown => return None,
            };
            if needed.is_some_and(|needed| (needed as f64) < CLEARLY * affordable as f64) {
                return None;
            }
            Some(Unlikely {
                benchmark: self.name.clone(),
                metric: question.metric().name.clone(),
                threshold: question.threshold()?,
                needed: needed.map(|pairs| pairs as f64 * self.pair_seconds),
                reach: question.reach(affordable),
            })
        })
    }

    /// Seconds until its verdicts.
    fn remaining(&self) -> Option<f64> {
        let mut most = 0;
        for question in self.questions.iter().filter(|question| question.is_open()) {
            match question.forecast() {
                Forecast::Pairs(pairs) => most = most.max(pairs.saturating_sub(self.pairs)),
                _ => return None,
            }
        }
        Some(most as f64 * self.pair_seconds)
    }
}

/// Samples until every question is answered or a limit is reached. `measure`
/// runs one side of a benchmark, in at most the given time; `clock` gives
/// seconds since any moment, and never goes back.
///
/// # Errors
/// Those of `measure`.
pub fn sample<E>(
    plan: &Plan,
    clock: &mut dyn FnMut() -> f64,
    measure: &mut dyn FnMut(usize, Side, Duration) -> Result<Run, E>,
    tell: &mut dyn FnMut(Step<'_>),
) -> Result<Sampled, E> {
    let mut tracks: Vec<Track> = (0..plan.subjects.len()).map(|n| Track::new(plan, n)).collect();
    let limit = plan.time_limit.as_secs_f64();
    let start = clock();
    let mut elapsed = 0.0;
    let mut latest = tracks.len();
    let stopped_by = loop {
        let now = clock() - start;
        let number = match next(&tracks, latest, plan, limit - now) {
            Ok(number) => number,
            Err(stop) => break stop,
        };
        latest = number;
        let track = &mut tracks[number];
        let first = track.schedule.first(track.pairs);
        let left = |clock: &mut dyn FnMut() -> f64| {
            Duration::from_secs_f64((limit - (clock() - start)).max(0.001))
        };
        let mut runs = Vec::with_capacity(2);
        let mut cut = None;
        for side in [first, first.other()] {
            match measure(number, side, left(clock))? {
                Run::Measured(sample) => runs.push((side, sample)),
                Run::OutOfTime => cut = Some(StoppedBy::TimeLimit),
                Run::Interrupted => cut = Some(StoppedBy::Interrupt),
            }
            if cut.is_some() {
                break;
            }
        }
        if let Some(stop) = cut {
            break stop;
        }
        elapsed = clock() - start;
        track.push(first, &in_sides(&runs), elapsed - now);
        let progress = progress(&tracks, number, elapsed, limit);
        tell(Step::Pair(number, &runs, &progress));
        if let Some(unlikely) = tracks[number].unlikely(elapsed, limit, plan.max_pairs) {
            tell(Step::Unlikely(&unlikely));
        }
        if plan.fail_fast && tracks[number].has_regression() {
            break StoppedBy::Verdict;
        }
    };
    let benchmarks = tracks.iter().map(|track| track.result(Question::end)).collect();
    Ok(Sampled { benchmarks, stopped_by, elapsed })
}

/// The next open benchmark in turn, if a pair of it is allowed and fits into
/// the seconds that are left; else why there is none.
fn next(tracks: &[Track], latest: usize, plan: &Plan, left: f64) -> Result<usize, StoppedBy> {
    let count = tracks.len();
    let in_turn = (1..=count).map(|step| (latest.min(count - 1) + step) % count);
    let open: Vec<usize> = in_turn.filter(|&number| tracks[number].is_open()).collect();
    if open.is_empty() {
        return Err(StoppedBy::Verdict);
    }
    let allowed = |number: &&usize| plan.max_pairs.is_none_or(|most| tracks[**number].pairs < most);
    let allowed: Vec<usize> = open.iter().filter(allowed).copied().collect();
    if allowed.is_empty() {
        return Err(StoppedBy::MaxPairs);
    }
    let fits = |number: &usize| left > 0.0 && tracks[*number].pair_seconds <= left;
    allowed.into_iter().find(fits).ok_or(StoppedBy::TimeLimit)
}

fn in_sides(runs: &[(Side, Sample)]) -> Pair<Sample> {
    Pair::both(|side| {
        let run = runs.iter().find(|(of, _)| *of == side);
        run.map(|(_, sample)| sample.clone()).unwrap_or_default()
    })
}

fn progress(tracks: &[Track], latest: usize, elapsed: f64, limit: f64) -> Progress {
    Progress {
        benchmarks: tracks.iter().map(|track| track.result(Question::result)).collect(),
        latest,
        elapsed,
        limit,
        remaining: tracks.iter().map(Track::remaining).sum(),
    }
}

#[cfg(test)]
mod tests;
