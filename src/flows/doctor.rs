//! What this machine can measure, and how well: its facts, its meters, and the
//! noise of a program of ours against itself.

use std::ffi::OsString;
use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::engine::schedule::Schedule;
use crate::engine::test::MetricTest;
use crate::error::{Error, Kind};
use crate::exec::machine::Machine;
use crate::exec::meter::{self, Refusal};
use crate::exec::process::{Command, Helper, Interrupt, RunFault, Sink};
use crate::model::estimator::Estimator;
use crate::model::metric::{DEFAULT_METRIC, Metric, Unit};
use crate::model::side::{Pair, Side};
use crate::stats::estimator::Levels;
use crate::stats::moments::Moments;

/// How the machine is looked at.
#[derive(Clone, Debug)]
pub struct Request {
    /// The words that make this program do [`work`]; the number of rounds
    /// follows them.
    pub work: Vec<OsString>,
    /// Its environment.
    pub env: Vec<(OsString, OsString)>,
    /// How long the noise may be measured.
    pub time: Duration,
    /// The seed of the order, below 2^53.
    pub seed: u64,
    /// 1 minus the chance of a wrong verdict, of which the forecasts are.
    pub confidence: f64,
}

/// What came of it.
#[derive(Debug)]
pub struct Checkup {
    /// The machine's facts.
    pub machine: Machine,
    /// The metrics that not every machine has; why not, where this one
    /// doesn't.
    pub meters: Vec<(Metric, Option<Refusal>)>,
    /// The least step of the clock that wall time is read from, seconds.
    pub clock_step: f64,
    /// The least difference that two runs' processor times had, seconds:
    /// where the kernel counts in ticks, a tick.
    pub processor_clock_step: Option<f64>,
    /// The share of the processors' time that went to other virtual machines,
    /// 0 to 1: since the start, and while the noise was measured.
    pub stolen: [Option<f64>; 2],
    /// The noise, for runs of some lengths.
    pub noise: Vec<Noise>,
}

/// The noise of runs of one length.
#[derive(Clone, Debug, PartialEq)]
pub struct Noise {
    /// How long a run took, on average, seconds of wall time.
    pub run: f64,
    /// How many pairs there were.
    pub pairs: u64,
    /// The standard deviation of the logarithm of a pair's ratio: roughly the
    /// fraction by which its members differ.
    pub deviation: Option<f64>,
    /// For times that a comparison may take (seconds), the least threshold
    /// that no change at all can be told from, a fraction.
    pub thresholds: Vec<(f64, Option<f64>)>,
}

/// The rounds of the runs: some 10 and 100 milliseconds.
const ROUNDS: [u64; 2] = [4_000_000, 40_000_000];

/// The times for which thresholds are foreseen, seconds.
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

/// Looks at the machine. `tell` learns when the noise is about to be
/// measured.
///
/// # Errors
/// When the work can't be run, or a signal came.
pub fn examine(
    request: &Request,
    helper: &Helper,
    interrupt: &Interrupt,
    tell: &mut dyn FnMut(),
) -> Result<Checkup, Error> {
    let root = Path::new("/");
    let machine = Machine::read(root);
    let path = request.env.iter().find(|(name, _)| name == "PATH");
    let path = path.map(|(_, value)| value.as_os_str());
    let meters = meter::here(path, &machine);
    let clock_step = clock_step();
    tell();
    let (noise, processor_clock_step) = noise(request, helper, interrupt)?;
    let before = machine.ticks.unwrap_or_default();
    let after = Machine::read(root).ticks;
    let since = |ticks| after.and_then(|after| after.stolen_since(ticks));
    let stolen = [since(Default::default()), since(before)];
    Ok(Checkup { machine, meters, clock_step, processor_clock_step, stolen, noise })
}

/// The least difference of two readings of the clock that are not the same.
fn clock_step() -> f64 {
    let step = |_| {
        let begin = Instant::now();
        loop {
            let step = begin.elapsed();
            if !step.is_zero() {
                return step;
            }
        }
    };
    let least = (0..1000).map(step).min();
    least.unwrap_or_default().as_secs_f64()
}

/// The runs of one length.
struct Track {
    command: Command,
    schedule: Schedule,
    question: MetricTest,
    ratios: Moments,
    runs: Moments,
    /// With those that were not measured.
    pairs: u64,
    /// What a pair takes, all in all.
    seconds: Moments,
}

/// Measures the noise, and the step of the processor's clock.
fn noise(
    request: &Request,
    helper: &Helper,
    interrupt: &Interrupt,
) -> Result<(Vec<Noise>, Option<f64>), Error> {
    let mut tracks: Vec<Track> = (0..).zip(ROUNDS).map(|(n, r)| track(request, n, r)).collect();
    let mut processor: Vec<f64> = Vec::new();
    let begin = Instant::now();
    'all: loop {
        for track in &mut tracks {
            let pair = Instant::now();
            let mut walls = Pair { base: 0.0, head: 0.0 };
            let first = track.schedule.first(track.pairs);
            for side in [first, first.other()] {
                let (wall, times) = run(track, helper, interrupt)?;
                walls[side] = wall;
                processor.extend(times);
            }
            // The first pair of each is a warm-up.
            if track.pairs > 0 {
                track.take(first, &walls, pair.elapsed().as_secs_f64());
            }
            track.pairs += 1;
            if begin.elapsed() >= request.time {
                break 'all;
            }
        }
    }
    Ok((tracks.iter().map(Track::noise).collect(), least_step(processor)))
}

fn track(request: &Request, number: u64, rounds: u64) -> Track {
    let mut argv = request.work.clone();
    argv.push(rounds.to_string().into());
    let (stdout, stderr) = (Sink::Null, Sink::Null);
    let cwd = PathBuf::from("/");
    let env = request.env.clone();
    let command = Command { argv, env, cwd, stdout, stderr, sweep: true, ..Command::default() };
    let metric = Metric::cost(DEFAULT_METRIC, Unit::Seconds);
    let levels = Levels::new(request.confidence, 1);
    Track {
        command,
        schedule: Schedule::new(request.seed, number),
        question: MetricTest::new(metric, None, Estimator::default(), levels),
        ratios: Moments::new(),
        runs: Moments::new(),
        pairs: 0,
        seconds: Moments::new(),
    }
}

/// The wall time of a run, and its processor times.
fn run(track: &Track, helper: &Helper, interrupt: &Interrupt) -> Result<(f64, [f64; 2]), Error> {
    let outcome = helper.run(&track.command, interrupt)?;
    if outcome.exit.success() {
        return Ok((outcome.wall, [outcome.usage.user, outcome.usage.sys]));
    }
    let (label, command) = ("the work of doctor".to_owned(), track.command.shown());
    let fault = RunFault::Exit(outcome.exit);
    Err(Kind::Command { label, fault, command, stderr: String::new() }.into())
}

/// The least difference of any two times that differ.
fn least_step(mut times: Vec<f64>) -> Option<f64> {
    times.sort_by(f64::total_cmp);
    let steps = times.windows(2).map(|two| two[1] - two[0]);
    // Seconds from microseconds: what is less than one of them is rounding.
    let least = steps.filter(|step| *step > 0.5e-6).min_by(f64::total_cmp);
    least.map(|step| (step * 1e9).round() / 1e9)
}

impl Track {
    fn take(&mut self, first: Side, walls: &Pair<f64>, seconds: f64) {
        self.question.push(walls.base, walls.head, first);
        self.ratios.push((walls.head / walls.base).ln());
        self.runs.push(walls.base);
        self.runs.push(walls.head);
        self.seconds.push(seconds);
    }

    fn noise(&self) -> Noise {
        let run = self.runs.mean().unwrap_or(0.0);
        let threshold = |time: f64| self.question.reach((time / self.seconds.mean()?) as u64);
        Noise {
            run,
            pairs: self.ratios.count(),
            deviation: self.ratios.variance().map(f64::sqrt),
            thresholds: TIMES.map(|time| (time, threshold(time))).to_vec(),
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
        let request = Request {
            work: vec!["work".into()],
            env: Vec::new(),
            time: Duration::ZERO,
            seed: 1,
            confidence: 0.95,
        };
        let noise = |size: f64| {
            let mut track = track(&request, 0, 1);
            for pair in 0..40 {
                // Fixed patterns that no half of it shares.
                let one = [1.0, -1.0, 0.5, -0.5, 0.2, -0.2, 1.5, -1.5][pair % 8] * size;
                let other = [0.7, -0.7, -1.2, 1.2, 0.1][pair % 5] * size;
                let walls = Pair { base: 0.1 + 0.1 * one, head: 0.1 + 0.1 * other };
                track.take(Side::Base, &walls, 0.21);
            }
            track.noise()
        };
        let (quiet, loud) = (noise(0.01), noise(0.02));
        assert_eq!(quiet.pairs, 40);
        assert!((quiet.run - 0.1).abs() < 0.001);
        assert!(loud.deviation > quiet.deviation);
        let least = |noise: &Noise| -> Vec<f64> {
            noise.thresholds.iter().map(|(_, least)| least.unwrap()).collect()
        };
        let (quiet, loud) = (least(&quiet), least(&loud));
        assert!(quiet[0] > quiet[1] && loud[0] > loud[1]);
        assert!(loud[0] > quiet[0] && loud[1] > quiet[1]);
    }
}
