//! What this machine can measure, and how well: its properties, its meters, and the noise
//! of a program compared with itself.

use std::ffi::OsString;
use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde::Serialize;

use crate::engine::Schedule;
use crate::engine::test::MetricTest;
use crate::error::Error;
use crate::exec::execution::Context;
use crate::exec::machine::Machine;
use crate::exec::meter::{self, Refusal};
use crate::exec::process::{Command, Sink};
use crate::flows::error::failed_command;
use crate::model::{DEFAULT_METRIC, Estimator, Metric, Pair, Side, Unit};
use crate::stats::estimator::Levels;
use crate::stats::moments::Moments;

/// How to examine the machine.
#[derive(Clone, Debug)]
pub struct DoctorOptions {
    /// The arguments that make this program do [`work`]; the number of rounds is appended.
    pub work: Vec<OsString>,
    /// The environment of the work.
    pub env: Vec<(OsString, OsString)>,
    /// How long to measure the noise at most.
    pub time: Duration,
    /// The seed of the order, below 2^53.
    pub seed: u64,
    /// The confidence for which thresholds are predicted.
    pub confidence: f64,
}

/// The result of the examination.
#[derive(Debug)]
pub struct Checkup {
    /// The properties of the machine.
    pub machine: Machine,
    /// The metrics that not every machine has, and why this one lacks them.
    pub meters: Vec<(Metric, Option<Refusal>)>,
    /// The resolution of the wall clock, seconds.
    pub clock_step: f64,
    /// The resolution of processor times, seconds: a tick if the kernel counts in
    /// ticks.
    pub processor_clock_step: Option<f64>,
    /// The fraction of processor time that went to other virtual machines, 0 to 1: since
    /// the machine started, and while the noise was measured.
    pub stolen: [Option<f64>; 2],
    /// The noise, for several run lengths.
    pub noise: Vec<RunNoise>,
}

/// The noise of runs of one length.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RunNoise {
    /// The mean wall time of a run, seconds.
    pub run_seconds: f64,
    /// How many pairs were measured.
    pub pairs: u64,
    /// The standard deviation of the logarithm of a pair's ratio: roughly the fraction by
    /// which its two runs differ.
    pub deviation: Option<f64>,
    /// What comparisons of several durations can decide.
    pub thresholds: Vec<LeastThreshold>,
}

/// The smallest threshold with which an unchanged program gets a verdict in a comparison.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LeastThreshold {
    /// How long the comparison takes, seconds.
    pub seconds: f64,
    /// The threshold, a fraction.
    pub least: Option<f64>,
}

/// The rounds of the runs: about 10 and 100 milliseconds.
const ROUNDS: [u64; 2] = [4_000_000, 40_000_000];

/// The durations for which thresholds are predicted, seconds.
const TIMES: [f64; 2] = [60.0, 300.0];

/// A fixed amount of work for a processor and its caches.
pub fn work(rounds: u64) {
    let mut table = vec![0_u64; 1 << 15];
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    for _ in 0..rounds {
        // Marsaglia 2003, Xorshift RNGs.
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        let place = (state >> 49) as usize;
        table[place] = table[place].wrapping_add(state);
    }
    black_box(table);
}

/// Examines the machine. `on_noise` is called when its noise is about to be measured.
///
/// # Errors
/// If the work can't be run, or a signal arrives.
pub fn examine(
    options: &DoctorOptions,
    context: Context<'_>,
    on_noise: &mut dyn FnMut(),
) -> Result<Checkup, Error> {
    let root = Path::new("/");
    let machine = Machine::read(root);
    let path = options.env.iter().find(|(name, _)| name == "PATH");
    let meters = meter::here(path.map(|(_, value)| value.as_os_str()), &machine);
    let clock_step = clock_step();
    on_noise();
    let mut tests: Vec<NoiseTest> =
        (0..).zip(ROUNDS).map(|(number, rounds)| NoiseTest::new(options, number, rounds)).collect();
    let mut processor_times: Vec<f64> = Vec::new();
    let start = Instant::now();
    'pairs: loop {
        for test in &mut tests {
            processor_times.extend(test.run_pair(context)?);
            if start.elapsed() >= options.time {
                break 'pairs;
            }
        }
    }
    let before = machine.ticks.unwrap_or_default();
    let after = Machine::read(root).ticks;
    let stolen_since = |ticks| after.and_then(|after| after.stolen_since(ticks));
    Ok(Checkup {
        stolen: [stolen_since(Default::default()), stolen_since(before)],
        machine,
        meters,
        clock_step,
        processor_clock_step: least_step(processor_times),
        noise: tests.iter().map(NoiseTest::noise).collect(),
    })
}

/// The smallest difference between two different readings of the clock.
fn clock_step() -> f64 {
    let step = |_| {
        let start = Instant::now();
        loop {
            let step = start.elapsed();
            if !step.is_zero() {
                return step;
            }
        }
    };
    (0..1000).map(step).min().unwrap_or_default().as_secs_f64()
}

/// The smallest difference between two different times.
fn least_step(mut times: Vec<f64>) -> Option<f64> {
    times.sort_by(f64::total_cmp);
    let steps = times.windows(2).map(|two| two[1] - two[0]);
    // The seconds were converted from microseconds: smaller differences are rounding errors.
    let least = steps.filter(|step| *step > 0.5e-6).min_by(f64::total_cmp);
    least.map(|step| (step * 1e9).round() / 1e9)
}

/// The pairs of runs of one length.
struct NoiseTest {
    command: Command,
    schedule: Schedule,
    test: MetricTest,
    /// The logarithms of the pairs' ratios.
    ratios: Moments,
    /// The wall times of the runs.
    runs: Moments,
    /// The number of pairs that ran, including the warm-up.
    pairs: u64,
    /// The total time of each pair.
    seconds: Moments,
}

impl NoiseTest {
    fn new(options: &DoctorOptions, number: u64, rounds: u64) -> Self {
        let command = Command {
            argv: options.work.iter().cloned().chain([rounds.to_string().into()]).collect(),
            env: options.env.clone(),
            cwd: PathBuf::from("/"),
            stdout: Sink::Null,
            stderr: Sink::Null,
            sweep: true,
            ..Command::default()
        };
        let metric = Metric::cost(DEFAULT_METRIC, Unit::Seconds);
        let levels = Levels::new(options.confidence, 1);
        NoiseTest {
            command,
            schedule: Schedule::new(options.seed, number),
            test: MetricTest::new(metric, None, Estimator::default(), levels),
            ratios: Moments::default(),
            runs: Moments::default(),
            pairs: 0,
            seconds: Moments::default(),
        }
    }

    /// Runs a pair and returns the processor times of its runs. The first pair is a
    /// warm-up, which is not measured.
    fn run_pair(&mut self, context: Context<'_>) -> Result<Vec<f64>, Error> {
        let start = Instant::now();
        let first = self.schedule.first(self.pairs);
        let mut walls = Pair { base: 0.0, head: 0.0 };
        let mut processor_times = Vec::new();
        for side in [first, first.other()] {
            let outcome = context.helper.run(&self.command, context.interrupt)?;
            let ran = outcome.check(&self.command);
            ran.map_err(|run| failed_command("the work of doctor", run))?;
            walls[side] = outcome.wall;
            processor_times.extend([outcome.usage.user, outcome.usage.sys]);
        }
        if self.pairs > 0 {
            self.push(first, &walls, start.elapsed().as_secs_f64());
        }
        self.pairs += 1;
        Ok(processor_times)
    }

    fn push(&mut self, first: Side, walls: &Pair<f64>, seconds: f64) {
        self.test.push(walls.base, walls.head, first);
        self.ratios.push((walls.head / walls.base).ln());
        self.runs.push(walls.base);
        self.runs.push(walls.head);
        self.seconds.push(seconds);
    }

    fn noise(&self) -> RunNoise {
        let reach = |seconds: f64| self.test.reach((seconds / self.seconds.mean()?) as u64);
        let threshold = |seconds| LeastThreshold { seconds, least: reach(seconds) };
        RunNoise {
            run_seconds: self.runs.mean().unwrap_or(0.0),
            pairs: self.ratios.count(),
            deviation: self.ratios.variance().map(f64::sqrt),
            thresholds: TIMES.map(threshold).to_vec(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_clocks_step_is_found_and_so_is_that_of_ticks() {
        assert!(clock_step() > 0.0);
        assert_eq!(least_step(vec![0.008, 0.004, 0.008, 0.016]), Some(0.004));
        assert_eq!(least_step(vec![0.004, 0.004]), None);
        assert_eq!(least_step(vec![]), None);
    }

    #[test]
    fn noise_that_is_twice_as_large_needs_a_larger_threshold() {
        let request = DoctorOptions {
            work: vec!["work".into()],
            env: Vec::new(),
            time: Duration::ZERO,
            seed: 1,
            confidence: 0.95,
        };
        let noise = |size: f64| {
            let mut test = NoiseTest::new(&request, 0, 1);
            for pair in 0..40 {
                // Fixed patterns with periods of 8 and 5 pairs, so that they never line up.
                let one = [1.0, -1.0, 0.5, -0.5, 0.2, -0.2, 1.5, -1.5][pair % 8] * size;
                let other = [0.7, -0.7, -1.2, 1.2, 0.1][pair % 5] * size;
                let walls = Pair { base: 0.1 + 0.1 * one, head: 0.1 + 0.1 * other };
                test.push(Side::Base, &walls, 0.21);
            }
            test.noise()
        };
        let (quiet, loud) = (noise(0.01), noise(0.02));
        assert_eq!(quiet.pairs, 40);
        assert!((quiet.run_seconds - 0.1).abs() < 0.001);
        assert!(loud.deviation > quiet.deviation);
        let least = |noise: &RunNoise| -> Vec<f64> {
            noise.thresholds.iter().map(|threshold| threshold.least.unwrap()).collect()
        };
        let (quiet, loud) = (least(&quiet), least(&loud));
        assert!(quiet[0] > quiet[1] && loud[0] > loud[1]);
        assert!(loud[0] > quiet[0] && loud[1] > quiet[1]);
    }
}
