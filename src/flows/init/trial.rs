//! A benchmark tried against itself: how long a run takes, and which threshold its noise
//! allows.

use std::time::{Duration, Instant};

use crate::engine::test::{MetricTest, estimator};
use crate::error::{Error, Kind};
use crate::exec::execution::Context;
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

/// How many pairs are enough: more of them say little more of the noise.
const ENOUGH: u64 = 20;

/// By which factor a threshold exceeds what the noise allows: the trial is short, and
/// other hours are noisier.
const MARGIN: f64 = 1.25;

/// The thresholds that are suggested, fractions. A gate that lets more pass is none.
const THRESHOLDS: [f64; 4] = [THRESHOLD.0, 0.03, 0.05, 0.1];

/// What a trial showed.
#[derive(Clone, Debug, PartialEq)]
pub struct Trial {
    /// How its runs were called and read.
    pub harness: Dialect,
    /// How many runs were measured.
    pub runs: u64,
    /// How long a run took, including its start: the median, seconds.
    pub run: f64,
    /// How many benchmarks a run has.
    pub benchmarks: usize,
    /// How long the least sampling takes that can decide, seconds.
    pub least: f64,
    /// How long sampling may take, seconds.
    pub limit: f64,
    /// How far from the threshold nine of ten benchmarks have to be to be decided in that
    /// time, a fraction. None if that is not known.
    pub reach: Option<f64>,
    /// The threshold that fits, a fraction: the smallest one without a reach, the largest
    /// one if none fits.
    pub threshold: f64,
}

/// Builds the head of a request and runs it against itself, for `time` at most but at
/// least a pair of runs.
///
/// # Errors
/// When it does not build or does not run, or measures nothing that gates.
pub fn try_out(
    request: &Request,
    time: Duration,
    context: Context<'_>,
    on_event: &mut dyn FnMut(Event<'_>),
) -> Result<Trial, Error> {
    let side = workspace::prepare_one(request, context.helper, context.interrupt, &mut |event| {
        on_event(event.into())
    })?;
    let (policy, limits) = limits(&request.flags)?;
    let Some((benchmark, program)) = side.programs.first() else {
        return Err(Kind::NoPair(limits.time).into());
    };
    let program = OneSided::new(benchmark, program, side.scratch.path(), 0)?;
    on_event(Event::WarmingUp(&benchmark.name));
    with_hooks(&mut [program], context, |programs| {
        try_program(&mut programs[0], &policy, &limits, time, context)
    })
}

fn try_program(
    program: &mut OneSided<'_>,
    policy: &Policy,
    limits: &Limits,
    time: Duration,
    context: Context<'_>,
) -> Result<Trial, Error> {
    let first = program.run(context)?;
    program.take_refusals(&first)?;
    let gates = program.gates(&first, &[])?;
    let metric = Metric::named(&gates[0].metric).with(&program.execution.benchmark.units);
    let levels = Levels::new(policy.confidence, first.len());
    let test = |_| MetricTest::new(metric.clone(), None, policy.estimator, levels);
    let mut tests: Vec<MetricTest> = first.iter().map(test).collect();
    let start = Instant::now();
    let mut pairs = 0;
    let mut seconds = Vec::new();
    while pairs < ENOUGH && (pairs == 0 || start.elapsed() < time) {
        let mut timed_run = || -> Result<Vec<Reading>, Error> {
            let start = Instant::now();
            let run = program.run(context)?;
            seconds.push(start.elapsed().as_secs_f64());
            Ok(run)
        };
        let pair = [timed_run()?, timed_run()?];
        for (Reading { benchmark, .. }, test) in first.iter().zip(&mut tests) {
            let value = |run: &Vec<Reading>| {
                let reading = run.iter().find(|reading| reading.benchmark == *benchmark);
                reading.and_then(|reading| reading.values.get(&metric.name))
            };
            if let [Some(one), Some(other)] = pair.each_ref().map(value) {
                // Both ways round, since neither is more true. Otherwise what chance puts on
                // one side would pass for a change.
                test.push(one, other, Side::Base);
                test.push(other, one, Side::Head);
            }
        }
        pairs += 1;
    }
    let run = nearest(&sorted(seconds), 0.5).unwrap_or(0.0);
    let least_pairs = estimator(&metric, policy.estimator).least_pairs(levels).unwrap_or(1);
    let limit = limits.time.as_secs_f64();
    let reach = reach(&tests, (limit / (2.0 * run)) as u64).filter(|_| pairs > 2);
    Ok(Trial {
        harness: program.dialect(),
        runs: 2 * pairs,
        run,
        benchmarks: first.len(),
        least: 2.0 * run * least_pairs as f64,
        limit,
        reach,
        threshold: fitting(reach),
    })
}

/// How far from the threshold nine of ten tests have to be to be decided within `pairs`
/// pairs.
fn reach(tests: &[MetricTest], pairs: u64) -> Option<f64> {
    let all = sorted(tests.iter().map(|test| test.reach(pairs).unwrap_or(f64::INFINITY)));
    let rank = (all.len() * 9).div_ceil(10).checked_sub(1)?;
    all.get(rank).copied().filter(|reach| reach.is_finite())
}

/// The smallest of the suggested thresholds from which no change at all is far enough.
fn fitting(reach: Option<f64>) -> f64 {
    let Some(reach) = reach else { return THRESHOLDS[0] };
    let fits = THRESHOLDS.into_iter().find(|threshold| *threshold >= MARGIN * reach);
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
        let test = |noise: f64| {
            let mut test = MetricTest::new(metric.clone(), None, Estimator::Mean, levels);
            for pair in 0..20 {
                let sign = [1.0, -1.0, 0.5, -0.7, 0.2][pair % 5];
                test.push(1.0 + noise * sign, 1.0, Side::Base);
                test.push(1.0, 1.0 + noise * sign, Side::Head);
            }
            test
        };
        let mut all: Vec<MetricTest> = (0..9).map(|_| test(0.01)).collect();
        let quiet = reach(&all, 1000).unwrap();
        all.push(test(0.5));
        assert_eq!(reach(&all, 1000), Some(quiet));
        all.push(test(0.5));
        assert!(reach(&all, 1000).unwrap() > 5.0 * quiet);
        assert_eq!(reach(&[], 1000), None);
    }
}
