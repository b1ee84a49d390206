//! The loop: whose turn it is, the sums, the look after every pair, the end.
//!
//! It knows no process and no clock: both are handed in, so that a test can
//! feed it numbers.

mod track;

use std::time::Duration;

use crate::engine::test::{Question, estimator};
use crate::model::estimator::Estimator;
use crate::model::gate::Gate;
use crate::model::metric::Metric;
use crate::model::notice::Unlikely;
use crate::model::outcome::{BenchmarkResult, Sampled, StoppedBy};
use crate::model::row::Sample;
use crate::model::side::{Pair, Side};
use crate::stats::estimator::Levels;
use track::Track;

/// What one run came to.
#[derive(Clone, Debug, PartialEq)]
pub enum Run<T> {
    /// It was measured.
    Measured(T),
    /// The time limit came first, and it was ended.
    OutOfTime,
    /// A signal came first, and it was ended.
    Interrupted,
}

/// The samples of one run, each with the number of its benchmark.
pub type Samples = Vec<(usize, Sample)>;

/// A pair that is to be measured.
#[derive(Clone, Copy, Debug)]
pub struct Turn<'a> {
    /// The program.
    pub program: usize,
    /// The benchmarks that are wanted of it.
    pub wanted: &'a [usize],
    /// Which side goes first.
    pub first: Side,
    /// A number that both members share, and no other pair has.
    pub lot: u64,
}

/// Measures both sides of a pair, in at most the given time.
pub type Measure<'a, E> = dyn FnMut(&Turn<'_>, Duration) -> Result<Run<Pair<Samples>>, E> + 'a;

/// A program to sample.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Subject {
    /// The benchmarks that its runs measure.
    pub benchmarks: Vec<Benchmark>,
    /// Whether a run can be had of some of them only.
    pub can_leave: bool,
    /// How long a pair of runs is expected to take, seconds; 0 when nobody
    /// knows.
    pub pair_seconds: f64,
}

/// A benchmark to sample.
#[derive(Clone, Debug, PartialEq)]
pub struct Benchmark {
    /// Its name.
    pub name: String,
    /// What its runs measure.
    pub metrics: Vec<Metric>,
    /// The metrics that gate, each with the largest change that passes.
    pub gates: Vec<Gate>,
}

/// What is sampled, and when it stops.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// The programs.
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
    /// Whether verdicts are given and end it. Those of a shard are given
    /// elsewhere: it goes on to its limits, whatever it sees.
    pub decides: bool,
    /// The seed of the order.
    pub seed: u64,
}

impl Plan {
    /// The chances of a wrong verdict of either kind, for one question of all.
    pub fn levels(&self) -> Levels {
        Levels::new(self.confidence, self.questions())
    }

    /// How many questions there are: metrics that gate, of all benchmarks.
    pub fn questions(&self) -> usize {
        self.benchmarks().map(|benchmark| benchmark.gates.len()).sum()
    }

    /// The benchmarks of all programs.
    pub fn benchmarks(&self) -> impl Iterator<Item = &Benchmark> {
        self.subjects.iter().flat_map(|subject| &subject.benchmarks)
    }

    /// The metric of a name, as the first benchmark that has it measures it.
    pub fn metric(&self, name: &str) -> Option<&Metric> {
        self.benchmarks().flat_map(|benchmark| &benchmark.metrics).find(|one| one.name == name)
    }

    /// The least number of pairs with which any question can be decided.
    pub fn least_pairs(&self) -> u64 {
        let metrics = self.benchmarks().flat_map(|benchmark| {
            let gates =
                |metric: &&Metric| benchmark.gates.iter().any(|gate| gate.metric == metric.name);
            benchmark.metrics.iter().filter(gates)
        });
        let estimators = metrics.map(|metric| estimator(metric, self.estimator));
        let least = estimators.filter_map(|estimator| estimator.least_pairs(self.levels())).min();
        least.unwrap_or(u64::MAX)
    }

    /// How long the least sampling that can decide is expected to take.
    pub fn least_time(&self) -> Duration {
        let pair: f64 = self.subjects.iter().map(|subject| subject.pair_seconds).sum();
        Duration::from_secs_f64(pair * self.least_pairs() as f64)
    }
}

/// How far sampling has come. Bounds and forecasts take longer to compute than
/// a pair may take to run, so nothing is computed until somebody asks for it.
#[derive(Clone, Copy, Debug)]
pub struct Progress<'a> {
    tracks: &'a [Track],
    plan: &'a Plan,
    elapsed: f64,
}

impl Progress<'_> {
    /// Seconds since the first measured pair began.
    pub fn elapsed(&self) -> f64 {
        self.elapsed
    }

    /// The results so far of the benchmarks of a program.
    pub fn results(&self, program: usize) -> Vec<BenchmarkResult> {
        self.tracks[program].results(Question::result).collect()
    }

    /// All results so far, and how long the rest is expected to take.
    pub fn snapshot(&self) -> Snapshot {
        Snapshot {
            benchmarks: self.tracks.iter().flat_map(|of| of.results(Question::result)).collect(),
            elapsed: self.elapsed,
            limit: self.plan.time_limit.as_secs_f64(),
            remaining: self.remaining(),
        }
    }

    fn remaining(&self) -> Option<f64> {
        if self.plan.decides {
            return self.tracks.iter().map(Track::remaining).sum();
        }
        let most = self.plan.max_pairs.unwrap_or(u64::MAX);
        let left = self.tracks.iter().map(|track| track.left(most)).sum::<f64>();
        Some(left.min(self.plan.time_limit.as_secs_f64() - self.elapsed).max(0.0))
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
    /// Seconds until all verdicts, if the noise stays as it is; `None` when
    /// that can't be said, or is beyond all measure.
    pub remaining: Option<f64>,
}

/// What the loop reports.
#[derive(Clone, Copy, Debug)]
pub enum Step<'a> {
    /// A pair is complete: the program's number, its runs in their order, and
    /// how far sampling has come.
    Pair(usize, &'a [(Side, Samples)], &'a Progress<'a>),
    /// A verdict within the limit is unlikely. Said once of a program, early.
    Unlikely(&'a Unlikely),
    /// Sampling has ended, after at least one pair. Said also when a run failed.
    End(&'a Progress<'a>),
}

/// Samples until every question is answered or a limit is reached. `measure`
/// runs both sides of a program, of whose benchmarks those of the given numbers
/// are wanted, in at most the given time; a run gives samples of at least
/// those. `clock` gives seconds since any moment, and never goes back.
///
/// # Errors
/// Those of `measure`.
pub fn sample<E>(
    plan: &Plan,
    clock: &mut dyn FnMut() -> f64,
    measure: &mut Measure<'_, E>,
    tell: &mut dyn FnMut(Step<'_>),
) -> Result<Sampled, E> {
    let mut tracks: Vec<Track> = (0..plan.subjects.len()).map(|n| Track::new(plan, n)).collect();
    let mut elapsed = 0.0;
    let stopped_by = sample_pairs(plan, &mut tracks, &mut elapsed, clock, measure, tell);
    if tracks.iter().any(|track| track.pairs() > 0) {
        tell(Step::End(&Progress { tracks: &tracks, plan, elapsed }));
    }
    let stopped_by = stopped_by?;
    let benchmarks = tracks.iter().flat_map(|track| track.results(Question::end)).collect();
    Ok(Sampled { benchmarks, stopped_by, elapsed })
}

/// Measures pair after pair; why it stopped. `elapsed` is kept at the end of the
/// latest pair.
fn sample_pairs<E>(
    plan: &Plan,
    tracks: &mut [Track],
    elapsed: &mut f64,
    clock: &mut dyn FnMut() -> f64,
    measure: &mut Measure<'_, E>,
    tell: &mut dyn FnMut(Step<'_>),
) -> Result<StoppedBy, E> {
    let limit = plan.time_limit.as_secs_f64();
    let start = clock();
    let mut latest = tracks.len();
    loop {
        let now = clock() - start;
        let number = match next(tracks, latest, plan, limit - now) {
            Ok(number) => number,
            Err(stop) => return Ok(stop),
        };
        latest = number;
        let track = &mut tracks[number];
        let (wanted, first, lot) = (track.wanted(), track.first(), track.lot());
        let turn = Turn { program: number, wanted: &wanted, first, lot };
        let left = Duration::from_secs_f64((limit - now).max(0.001));
        let mut samples = match measure(&turn, left)? {
            Run::Measured(samples) => samples,
            Run::OutOfTime => return Ok(StoppedBy::TimeLimit),
            Run::Interrupted => return Ok(StoppedBy::Interrupt),
        };
        *elapsed = clock() - start;
        let runs = [first, first.other()].map(|side| (side, std::mem::take(&mut samples[side])));
        track.push(first, &runs, *elapsed - now);
        tell(Step::Pair(number, &runs, &Progress { tracks, plan, elapsed: *elapsed }));
        if let Some(unlikely) = tracks[number].unlikely(*elapsed, limit, plan.max_pairs) {
            tell(Step::Unlikely(&unlikely));
        }
        if plan.fail_fast && tracks[number].has_regression() {
            return Ok(StoppedBy::Verdict);
        }
    }
}

/// The next open program in turn, if a pair of it is allowed and fits into
/// the seconds that are left; else why there is none.
fn next(tracks: &[Track], latest: usize, plan: &Plan, left: f64) -> Result<usize, StoppedBy> {
    let count = tracks.len();
    let in_turn = (1..=count).map(|step| (latest.min(count - 1) + step) % count);
    let open: Vec<usize> = in_turn.filter(|&number| tracks[number].is_open()).collect();
    if open.is_empty() {
        return Err(StoppedBy::Verdict);
    }
    let most = plan.max_pairs.unwrap_or(u64::MAX);
    let allowed: Vec<usize> = open.into_iter().filter(|&n| tracks[n].pairs() < most).collect();
    if allowed.is_empty() {
        return Err(StoppedBy::MaxPairs);
    }
    let fits = |number: &usize| left > 0.0 && tracks[*number].pair_seconds() <= left;
    allowed.into_iter().find(fits).ok_or(StoppedBy::TimeLimit)
}

#[cfg(test)]
mod tests;
