//! A benchmark tried against itself: how long a run takes, and which threshold
//! its noise allows.

use std::time::{Duration, Instant};

use crate::engine::test::{MetricTest, estimator};
use crate::error::{Error, Kind};
use crate::exec::execution::{Context, gates};
use crate::exec::process::{Helper, Interrupt};
use crate::flows::event::Event;
use crate::flows::one_sided::{OneSided, with_hooks};
use crate::model::dialect::Dialect;
use crate::model::metric::Metric;
use crate::model::outcome::{Limits, Policy};
use crate::model::row::Reading;
use crate::model::side::Side;
use crate::settings::options::limits;
use crate::settings::table::THRESHOLD;
use crate::stats::empirical::{nearest, sorted};
use crate::stats::estimator::Levels;
use crate::workspace::{self, Request};

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
    on_event: &mut dyn FnMut(Event<'_>),
) -> Result<Trial, Error> {
    let prepared =
        workspace::prepare_one(request, helper, interrupt, &mut |event| on_event(event.into()))?;
    let (policy, limits) = limits(&request.flags)?;
    let Some((benchmark, program)) = prepared.programs.first() else {
        return Err(Kind::NoPair(limits.time).into());
    };
    let filter = request.filter.as_deref();
    let program = OneSided::new(benchmark, program, prepared.scratch.path(), 0, filter)?;
    on_event(Event::WarmingUp(&benchmark.name));
    let context = Context { helper, interrupt };
    with_hooks(&mut [program], context, |programs| {
        try_program(&mut programs[0], &policy, &limits, time, context)
    })
}

/// Runs a program in pairs, and says what came of that.
fn try_program(
    program: &mut OneSided<'_>,
    policy: &Policy,
    limits: &Limits,
    time: Duration,
    context: Context<'_>,
) -> Result<Trial, Error> {
    let first = program.run(context)?;
    let metric = gating(program, &first)?;
    let levels = Levels::new(policy.confidence, first.len());
    let test = || MetricTest::new(metric.clone(), None, policy.estimator, levels);
    let mut tests: Vec<MetricTest> = first.iter().map(|_| test()).collect();
    let start = Instant::now();
    let mut pairs = 0;
    let mut seconds = Vec::new();
    while pairs < ENOUGH && (pairs == 0 || start.elapsed() < time) {
        let mut timed_run = || {
            let start = Instant::now();
            let readings = program.run(context)?;
            seconds.push(start.elapsed().as_secs_f64());
            Ok::<_, Error>(readings)
        };
        let pair = [timed_run()?, timed_run()?];
        for (reading, test) in first.iter().zip(&mut tests) {
            push(test, pair.each_ref().map(|run| value(run, reading, &metric)));
        }
        pairs += 1;
    }
    let run = nearest(&sorted(seconds), 0.5).unwrap_or(0.0);
    let least = estimator(&metric, policy.estimator).least_pairs(levels);
    let limit = limits.time.as_secs_f64();
    let reach = reach(&tests, (limit / (2.0 * run)) as u64).filter(|_| pairs > 2);
    Ok(Trial {
        harness: program.dialect(),
        runs: 2 * pairs,
        run,
        benchmarks: first.len(),
        least: 2.0 * run * least.unwrap_or(1) as f64,
        limit,
        reach,
        threshold: fitting(reach),
    })
}

/// The value of a metric in a run, of the benchmark of `reading`.
fn value(run: &[Reading], reading: &Reading, metric: &Metric) -> Option<f64> {
    let found = run.iter().find(|other| other.benchmark == reading.benchmark);
    found.and_then(|found| found.values.get(&metric.name))
}

/// Takes a pair both ways round, since neither is more true: otherwise what chance
/// put on one side would pass for a change.
fn push(test: &mut MetricTest, pair: [Option<f64>; 2]) {
    if let [Some(one), Some(other)] = pair {
        test.push(one, other, Side::Base);
        test.push(other, one, Side::Head);
    }
}

/// The metric that decides, as the first run shows.
fn gating(program: &mut OneSided<'_>, first: &[Reading]) -> Result<Metric, Error> {
    let mut measured: Vec<String> =
        first.iter().flat_map(|reading| reading.values.metrics()).collect();
    measured.sort();
    measured.dedup();
    program.execution.take_refusals(&measured)?;
    let benchmark = program.execution.benchmark;
    if first.is_empty() {
        let (name, harness) = (benchmark.name.clone(), program.dialect().name());
        return Err(Kind::NoBenchmark { benchmark: name, harness, filter: None }.into());
    }
    match gates(benchmark, &measured, &[]).first() {
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
fn reach(tests: &[MetricTest], pairs: u64) -> Option<f64> {
    let mut all: Vec<f64> =
        tests.iter().map(|test| test.reach(pairs).unwrap_or(f64::INFINITY)).collect();
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
            let mut question = MetricTest::new(metric.clone(), None, Estimator::Mean, levels);
            for pair in 0..20 {
                let sign = [1.0, -1.0, 0.5, -0.7, 0.2][pair % 5];
                question.push(1.0 + noise * sign, 1.0, Side::Base);
                question.push(1.0, 1.0 + noise * sign, Side::Head);
            }
            question
        };
        let mut all: Vec<MetricTest> = (0..9).map(|_| question(0.01)).collect();
        let quiet = reach(&all, 1000).unwrap();
        all.push(question(0.5));
        assert_eq!(reach(&all, 1000), Some(quiet));
        all.push(question(0.5));
        assert!(reach(&all, 1000).unwrap() > 5.0 * quiet);
        assert_eq!(reach(&[], 1000), None);
    }
}
