//! A benchmark tried against itself: how long a run takes, and which threshold
//! its noise allows.

use std::time::{Duration, Instant};

use crate::engine::experiment::Run;
use crate::engine::test::Question;
use crate::error::{Error, Kind};
use crate::exec::execution::{Bench, Hands, Hook, Reported};
use crate::exec::process::{Helper, Interrupt};
use crate::flows::event::Event;
use crate::model::dialect::Dialect;
use crate::model::metric::Metric;
use crate::model::outcome::Policy;
use crate::model::side::{Pair, Side};
use crate::settings::options::{Limits, limits};
use crate::settings::table::THRESHOLD;
use crate::stats::empirical::{nearest, sorted};
use crate::stats::estimator::Levels;
use crate::workspace::{self, Request, Subject};

/// More pairs than this say little more of the noise.
const ENOUGH: u64 = 20;

/// How much more than the least noise allows a threshold is to be: the trial
/// was short, and other hours are noisier.
const ROOM: f64 = 1.25;

/// The thresholds that are suggested, fractions. A gate that lets more pass is
/// none.
const THRESHOLDS: [f64; 4] = [THRESHOLD.0, 0.03, 0.05, 0.1];

/// What came of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Trial {
    /// How its runs were called and read.
    pub harness: Dialect,
    /// How many runs were measured.
    pub runs: u64,
    /// How long a run took, with starting it: the median, seconds.
    pub run: f64,
    /// How many benchmarks a run has.
    pub benchmarks: usize,
    /// How long the least sampling that can decide takes, seconds.
    pub least: f64,
    /// How long sampling may take, seconds.
    pub limit: f64,
    /// How far from the threshold nine of ten benchmarks have to be to be
    /// decided in that time, a fraction. `None` when that can't be said.
    pub reach: Option<f64>,
    /// The threshold that fits, a fraction: the usual one without a reach, the
    /// largest where none does.
    pub threshold: f64,
}

/// Builds the head of a request and runs it against itself, for `time` at most
/// but at least a pair of runs.
///
/// # Errors
/// When it does not build or does not run, or measures nothing that gates.
pub fn try_out(
    request: &Request,
    time: Duration,
    helper: &Helper,
    interrupt: &Interrupt,
    tell: &mut dyn FnMut(Event<'_>),
) -> Result<Trial, Error> {
    let alone = workspace::alone(request, helper, interrupt, &mut |event| tell(event.into()))?;
    let (policy, limits) = limits(&request.flags)?;
    let Some(Subject { benchmark, program }) = alone.subjects.first() else {
        return Err(Kind::NoPair(limits.time).into());
    };
    let programs = Pair::both(|_| program.clone());
    let filter = request.filter.as_deref();
    let mut bench = Bench::new(benchmark, &programs, alone.scratch.path(), 0, filter)?;
    tell(Event::WarmingUp(&benchmark.name));
    let hands = Hands { helper, interrupt };
    let tried = bench.hook(Hook::Setup, &[Side::Head], hands);
    let tried = tried.and_then(|()| run(&mut bench, &policy, &limits, time, hands));
    // What was set up is cleaned up, also after a signal.
    let never = Interrupt::never().map_err(Kind::Listen)?;
    let cleaned = bench.hook(Hook::Cleanup, &[Side::Head], Hands { interrupt: &never, ..hands });
    let trial = tried?;
    cleaned?;
    Ok(trial)
}

/// Runs it in pairs, and says what came of that.
fn run(
    bench: &mut Bench<'_>,
    policy: &Policy,
    limits: &Limits,
    time: Duration,
    hands: Hands<'_>,
) -> Result<Trial, Error> {
    let (first, _) = once(bench, limits.time, hands)?;
    let metric = gating(bench, &first)?;
    let levels = Levels::new(policy.confidence, first.len());
    let question = || Question::new(metric.clone(), None, policy.estimator, levels);
    let mut questions: Vec<Question> = first.iter().map(|_| question()).collect();
    let start = Instant::now();
    let (mut pairs, mut seconds) = (0, Vec::new());
    while pairs < ENOUGH && (pairs == 0 || start.elapsed() < time) {
        let (one, one_took) = once(bench, limits.time, hands)?;
        let (other, other_took) = once(bench, limits.time, hands)?;
        for ((name, _), question) in first.iter().zip(&mut questions) {
            push(question, [&one, &other].map(|run| value(run, name.as_deref(), &metric)));
        }
        seconds.extend([one_took, other_took]);
        pairs += 1;
    }
    let run = nearest(&sorted(seconds), 0.5).unwrap_or(0.0);
    let least = crate::engine::test::estimator(&metric, policy.estimator).least_pairs(levels);
    let limit = limits.time.as_secs_f64();
    let reach = reach(&questions, (limit / (2.0 * run)) as u64).filter(|_| pairs > 2);
    Ok(Trial {
        harness: bench.dialect(),
        runs: 2 * pairs,
        run,
        benchmarks: first.len(),
        least: 2.0 * run * least.unwrap_or(1) as f64,
        limit,
        reach,
        threshold: fitting(reach),
    })
}

/// A run, and the seconds that it took with all around it.
fn once(
    bench: &mut Bench<'_>,
    limit: Duration,
    hands: Hands<'_>,
) -> Result<(Reported, f64), Error> {
    let start = Instant::now();
    match bench.warm_up(Side::Head, hands)? {
        Run::Measured(reported) => Ok((reported, start.elapsed().as_secs_f64())),
        Run::OutOfTime | Run::Interrupted => {
            hands.interrupt.check()?;
            Err(Kind::NoPair(limit).into())
        }
    }
}

fn value(run: &Reported, name: Option<&str>, metric: &Metric) -> Option<f64> {
    let found = run.iter().find(|(other, _)| other.as_deref() == name);
    found.and_then(|(_, sample)| sample.get(&metric.name))
}

/// Takes a pair both ways round, since neither is more true: what chance put on
/// one side would otherwise pass for a change.
fn push(question: &mut Question, pair: [Option<f64>; 2]) {
    if let [Some(one), Some(other)] = pair {
        question.push(one, other, Side::Base);
        question.push(other, one, Side::Head);
    }
}

/// The metric that decides, as the first run shows.
fn gating(bench: &mut Bench<'_>, first: &Reported) -> Result<Metric, Error> {
    let names = first.iter().flat_map(|(_, sample)| sample.iter());
    let mut measured: Vec<String> = names.map(|(metric, _)| metric.to_owned()).collect();
    measured.sort();
    measured.dedup();
    bench.refusals(&measured)?;
    let benchmark = bench.benchmark;
    if first.is_empty() {
        let (name, harness) = (benchmark.name.clone(), bench.dialect().name());
        return Err(Kind::NoBenchmark { benchmark: name, harness, filter: None }.into());
    }
    let gates = bench.gates(&measured, &[]);
    match gates.first() {
        Some(gate) => Ok(Metric::named(&gate.metric).with(&benchmark.units)),
        None => {
            let asked = benchmark.gates.first().map(|gate| gate.metric.clone());
            let (benchmark, metric) = (benchmark.name.clone(), asked.unwrap_or_default());
            Err(Kind::NoMetric { benchmark, metric, measured }.into())
        }
    }
}

/// How far from the threshold nine of ten have to be to be decided within
/// `pairs` pairs.
fn reach(questions: &[Question], pairs: u64) -> Option<f64> {
    let mut all: Vec<f64> =
        questions.iter().map(|question| question.reach(pairs).unwrap_or(f64::INFINITY)).collect();
    all.sort_by(f64::total_cmp);
    let rank = (all.len() * 9).div_ceil(10).checked_sub(1)?;
    all.get(rank).copied().filter(|reach| reach.is_finite())
}

/// The least of the usual thresholds of which no change at all is far enough.
fn fitting(reach: Option<f64>) -> f64 {
    let Some(reach) = reach else { return THRESHOLDS[0] };
    let fits = THRESHOLDS.into_iter().find(|threshold| *threshold >= ROOM * reach);
    fits.unwrap_or(THRESHOLDS[THRESHOLDS.len() - 1])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::estimator::Estimator;
    use crate::model::metric::Unit;

    #[test]
    fn the_threshold_leaves_room_and_is_never_below_the_usual_one() {
        let table = [
            (None, THRESHOLD.0),
            (Some(0.001), THRESHOLD.0),
            (Some(0.02), 0.03),
            (Some(0.079), 0.1),
            (Some(9.0), 0.1),
        ];
        for (reach, expected) in table {
            assert_eq!(fitting(reach), expected, "{reach:?}");
        }
    }

    #[test]
    fn one_noisy_benchmark_of_many_does_not_set_the_threshold() {
        let metric = Metric::cost("wall_time", Unit::Seconds);
        let levels = Levels::new(0.95, 10);
        let question = |noise: f64| {
            let mut question = Question::new(metric.clone(), None, Estimator::Mean, levels);
            for pair in 0..20 {
                let sign = [1.0, -1.0, 0.5, -0.7, 0.2][pair % 5];
                question.push(1.0 + noise * sign, 1.0, Side::Base);
                question.push(1.0, 1.0 + noise * sign, Side::Head);
            }
            question
        };
        let mut all: Vec<Question> = (0..9).map(|_| question(0.01)).collect();
        let quiet = reach(&all, 1000).unwrap();
        all.push(question(0.5));
        assert_eq!(reach(&all, 1000), Some(quiet));
        all.push(question(0.5));
        assert!(reach(&all, 1000).unwrap() > 5.0 * quiet);
        assert_eq!(reach(&[], 1000), None);
    }
}
