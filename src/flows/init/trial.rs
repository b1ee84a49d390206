//! Compares benchmarks with themselves: how long a run takes, which of them are quiet, and
//! which threshold the noise allows.

use std::time::Duration;

use crate::engine::advice::SUGGESTED_THRESHOLDS;
use crate::engine::test::estimator;
use crate::engine::{Event, PlannedBenchmark};
use crate::error::{Error, Failure};
use crate::exec::execution::Context;
use crate::flows::compare::{TriedPairs, TriedProgram, pairs, sample_each};
use crate::flows::error::FlowError;
use crate::model::{BenchmarkId, Dialect, Metric, Policy, Target};
use crate::settings::options::{Subject, limits};
use crate::stats::empirical::sorted;
use crate::stats::estimator::{Levels, Running};
use crate::stats::learnt::{MARGIN, RANGE, reach};
use crate::workspace::Request;

/// The minimum number of pairs for an estimate of the noise.
const LEAST_KNOWN: usize = 3;

/// The largest threshold to suggest, a fraction.
const LARGEST_THRESHOLD: f64 = RANGE[1];

/// The fraction of the time limit that the minimum sampling may take, so that there is
/// time for verdicts that need more.
const LEAST_SHARE: f64 = 0.5;

/// The result of a trial.
#[derive(Clone, Debug, PartialEq)]
pub struct Trial {
    /// The targets, or the command, that were tried.
    pub tried: Vec<Tried>,
    /// How far from the threshold the changes of nine in ten benchmarks have to be for a
    /// verdict within the limit, a fraction. `None` if unknown.
    pub reach: Option<f64>,
    /// The suitable threshold, a fraction: the smallest one if there is no reach, the
    /// largest one if none is suitable.
    pub threshold: f64,
    /// How long the minimum sampling for a verdict takes, seconds.
    pub least: f64,
    /// How long sampling may take, seconds.
    pub limit: f64,
    /// The time limit that leaves room for a verdict, in minutes, if that one leaves little.
    pub minutes_needed: Option<u64>,
    /// How long sampling may take with the time limit that is in force then, seconds.
    pub new_limit: f64,
}

/// A target that was tried.
#[derive(Clone, Debug, PartialEq)]
pub struct Tried {
    /// Its name in the outputs.
    pub name: String,
    /// The name of its package.
    pub package: String,
    /// The target; `None` for a command.
    pub target: Option<Target>,
    /// The harness by which its runs were called and parsed.
    pub harness: Dialect,
    /// The number of measured runs.
    pub runs: usize,
    /// The median time of a run, including its start, seconds.
    pub run: f64,
    /// The number of benchmarks in a run.
    pub benchmarks: usize,
    /// Whether it is chosen, and if not, why.
    pub standing: Standing,
    /// The metric that decides, with the pairs of each benchmark.
    measured: Option<(Metric, Vec<Vec<[f64; 2]>>)>,
}

/// Whether a target is chosen.
#[derive(Clone, Debug, PartialEq)]
pub enum Standing {
    /// It is chosen.
    Chosen,
    /// Too noisy: within the time limit, hardly any change can be distinguished from the
    /// largest suggested threshold. How far a change has to be from it, a fraction;
    /// `None` if no change would do.
    Noisy(Option<f64>),
    /// The minimum sampling for a verdict takes too much of the time limit, seconds.
    Slow(f64),
    /// It has no benchmark.
    Empty,
    /// Its run failed, or did not measure the metric that decides.
    Failed(String),
}

impl Trial {
    /// The chosen targets; at least one.
    pub fn chosen(&self) -> impl Iterator<Item = &Tried> {
        self.tried.iter().filter(|tried| tried.standing == Standing::Chosen)
    }

    /// The number of chosen benchmarks.
    pub fn benchmarks(&self) -> usize {
        self.chosen().map(|tried| tried.benchmarks).sum()
    }
}

/// Builds the head of a request and compares all targets that it may select with
/// themselves, for at most `time` but at least one pair of runs each. Chooses those that
/// are quiet and short enough.
///
/// # Errors
/// If nothing builds, runs, or measures anything that gates.
pub fn try_out(
    request: &Request,
    time: Duration,
    context: Context<'_>,
    on_event: &mut dyn FnMut(Event<'_>),
) -> Result<Trial, Error> {
    let (policy, limits) = limits(&request.flags)?;
    let flags = &request.flags;
    let given =
        flags.threshold.as_ref().map(|_| flags.threshold()).transpose()?.and_then(|it| it.0);
    let programs = sample_each(request, time, context, on_event)?;
    let is_alone = programs.len() == 1;
    let tried = programs.into_iter().map(|program| Tried::new(program, is_alone));
    let tried: Vec<Tried> = tried.collect::<Result<_, Error>>()?;
    if tried.iter().any(|one| one.measured.is_some()) {
        let limit = limits.time.as_secs_f64();
        let is_fixed = flags.time_limit.is_some();
        return Ok(Rules { policy: &policy, limit, is_fixed, given }.choose(tried));
    }
    let why = tried.into_iter().find_map(|one| match one.standing {
        Standing::Failed(why) => Some(why),
        _ => None,
    });
    let why = why.unwrap_or("none has a benchmark".to_owned());
    let step =
        "name a target with `--bench`, `--bin` or `--example`, or any program with `--command`";
    Err(Failure::new(format!("no bench target can be tried: {why}"), step).into())
}

impl Tried {
    /// What is known before the choice. If it is the only one, it has to work.
    fn new(program: TriedProgram, is_alone: bool) -> Result<Self, Error> {
        let TriedProgram { benchmark, dialect, pairs } = program;
        let mut standing = Standing::Empty;
        let pairs = match pairs {
            Err(error) if is_alone => return Err(error),
            Err(error) => {
                if !matches!(error.as_kind(), Some(FlowError::NoBenchmark { .. })) {
                    standing = Standing::Failed(error.to_string());
                }
                TriedPairs::default()
            }
            Ok(pairs) => pairs,
        };
        Ok(Tried {
            name: benchmark.name,
            package: benchmark.package,
            target: match benchmark.subject {
                Subject::Target(target, _) => Some(target),
                Subject::Command { .. } => None,
            },
            harness: dialect,
            runs: pairs.runs,
            run: pairs.run_seconds,
            benchmarks: pairs.benchmarks,
            standing,
            measured: measured(&pairs),
        })
    }
}

/// The metric that gates, with the pairs of each benchmark.
fn measured(TriedPairs { plan, rows, .. }: &TriedPairs) -> Option<(Metric, Vec<Vec<[f64; 2]>>)> {
    let gate = plan.benchmarks.iter().flat_map(|one| &one.gates).next()?;
    let of = |(number, benchmark): (usize, &PlannedBenchmark)| {
        let mut metrics = benchmark.metrics.iter();
        let (id, metric) = metrics.find(|(_, metric)| metric.name == gate.metric)?;
        Some((metric.clone(), pairs(rows, BenchmarkId(number), *id).collect()))
    };
    let all: Option<Vec<_>> = plan.benchmarks.iter().enumerate().map(of).collect();
    let (of_each, pairs): (Vec<Metric>, Vec<_>) = all?.into_iter().unzip();
    Some((of_each.into_iter().next()?, pairs))
}

struct Rules<'a> {
    policy: &'a Policy,
    /// How long sampling may take, seconds.
    limit: f64,
    /// Whether the user set that, so that it is not raised.
    is_fixed: bool,
    /// The threshold set by the user.
    given: Option<f64>,
}

impl Rules<'_> {
    /// Chooses all targets that are quiet and short enough; if they take too long
    /// together, those with the most benchmarks per time.
    fn choose(&self, mut tried: Vec<Tried>) -> Trial {
        tried.iter_mut().for_each(|one| one.standing = self.standing(one));
        readmit_noisy(&mut tried);
        // The one with the fewest benchmarks per time is left out until the others reach
        // verdicts in time.
        loop {
            let together = chosen(&tried);
            let least = self.least(&together);
            if together.len() < 2 || least <= LEAST_SHARE * self.limit {
                break;
            }
            let chosen = tried.iter_mut().filter(|one| one.standing == Standing::Chosen);
            let cost = |one: &Tried| one.run / one.benchmarks as f64;
            let last = chosen.max_by(|one, other| cost(one).total_cmp(&cost(other)));
            last.into_iter().for_each(|one| one.standing = Standing::Slow(least));
        }
        if chosen(&tried).is_empty() {
            // One that often ends inconclusive is better than none.
            let slow = tried.iter_mut().filter(|one| matches!(one.standing, Standing::Slow(_)));
            let fastest = slow.min_by(|one, other| one.run.total_cmp(&other.run));
            fastest.into_iter().for_each(|one| one.standing = Standing::Chosen);
        }
        let together = chosen(&tried);
        let least = self.least(&together);
        let needed = least / LEAST_SHARE;
        let minutes_needed = (needed > self.limit).then(|| (needed / 60.0).ceil() as u64);
        let raised = minutes_needed.filter(|_| !self.is_fixed);
        let new_limit = raised.map_or(self.limit, |minutes| 60.0 * minutes as f64);
        let reach = Rules { limit: new_limit, ..*self }.reach(&together);
        let (limit, threshold) = (self.limit, fitting(reach));
        Trial { tried, reach, threshold, least, limit, minutes_needed, new_limit }
    }

    /// The standing of a single target.
    fn standing(&self, one: &Tried) -> Standing {
        if one.measured.is_none() {
            return one.standing.clone();
        }
        let (least, reach) = (self.least(&[one]), self.reach(&[one]));
        // Most changes can be distinguished from the threshold in time.
        let most = self.given.unwrap_or(LARGEST_THRESHOLD);
        let decides = reach.is_some_and(|reach| MARGIN * reach <= most);
        if least > LEAST_SHARE * self.limit {
            Standing::Slow(least)
        } else if decides || !is_known(one) {
            Standing::Chosen
        } else {
            Standing::Noisy(reach)
        }
    }

    fn levels(&self, tried: &[&Tried]) -> Levels {
        let benchmarks = tried.iter().map(|one| one.benchmarks).sum();
        Levels::new(self.policy.confidence, benchmarks)
    }

    /// How long the minimum sampling for verdicts on all of these takes, seconds.
    fn least(&self, tried: &[&Tried]) -> f64 {
        let levels = self.levels(tried);
        let least = |one: &&Tried| {
            let metric = one.measured.as_ref().map(|(metric, _)| metric);
            let estimator = metric.map(|metric| estimator(metric, self.policy.estimator));
            let least = estimator.and_then(|estimator| estimator.least_pairs(levels));
            2.0 * one.run * least.unwrap_or(1) as f64
        };
        tried.iter().map(least).sum()
    }

    /// How far from the threshold the changes of nine in ten benchmarks have to be if all of these
    /// targets share the time limit.
    fn reach(&self, tried: &[&Tried]) -> Option<f64> {
        let run: f64 = tried.iter().map(|one| one.run).sum();
        let pairs = (self.limit / (2.0 * run)) as u64;
        let levels = self.levels(tried);
        let mut reaches = Vec::new();
        for (metric, all) in tried.iter().filter_map(|one| one.measured.as_ref()) {
            let estimator = estimator(metric, self.policy.estimator);
            let known = all.iter().filter(|own| own.len() >= LEAST_KNOWN);
            let running = || Running::new(estimator, metric.better, levels);
            reaches.extend(known.map(|own| reach(running(), own, pairs, pairs as f64)));
        }
        of_nine_in_ten(reaches).filter(|_| tried.iter().all(|one| is_known(one)))
    }
}

/// Chooses the noisy targets, too, if they have most of the benchmarks: a gate over few would be
/// worth less than one that is often undecided.
fn readmit_noisy(tried: &mut [Tried]) {
    let is_noisy = |one: &Tried| matches!(one.standing, Standing::Noisy(_));
    let noisy = tried.iter().filter(|one| is_noisy(one)).map(|one| one.benchmarks);
    let quiet = chosen(tried).into_iter().map(|one| one.benchmarks);
    if quiet.sum::<usize>() < noisy.sum() {
        let noisy = tried.iter_mut().filter(|one| is_noisy(one));
        noisy.for_each(|one| one.standing = Standing::Chosen);
    }
}

fn chosen(tried: &[Tried]) -> Vec<&Tried> {
    tried.iter().filter(|one| one.standing == Standing::Chosen).collect()
}

/// Whether there are enough pairs to know the noise of at least one benchmark.
fn is_known(one: &Tried) -> bool {
    one.measured.iter().flat_map(|(_, all)| all).any(|pairs| pairs.len() >= LEAST_KNOWN)
}

/// The reach of nine in ten, if known.
fn of_nine_in_ten(reaches: Vec<Option<f64>>) -> Option<f64> {
    let all = sorted(reaches.into_iter().map(|reach| reach.unwrap_or(f64::INFINITY)));
    let rank = (all.len() * 9).div_ceil(10).checked_sub(1)?;
    all.get(rank).copied().filter(|reach| reach.is_finite())
}

/// The smallest of the suggested thresholds at which an unchanged benchmark is far enough away.
fn fitting(reach: Option<f64>) -> f64 {
    let mut suggested = SUGGESTED_THRESHOLDS.into_iter();
    let fits = suggested.find(|threshold| *threshold >= MARGIN * reach.unwrap_or(0.0));
    fits.unwrap_or(LARGEST_THRESHOLD).min(LARGEST_THRESHOLD)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{THRESHOLD, Unit};

    #[test]
    fn the_threshold_leaves_room_and_is_never_below_the_usual_one() {
        let table = [
            (None, THRESHOLD),
            (Some(0.001), THRESHOLD),
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
        let mut all = vec![Some(0.01); 9];
        all.push(Some(0.5));
        assert_eq!(of_nine_in_ten(all.clone()), Some(0.01));
        all.push(None);
        assert_eq!(of_nine_in_ten(all.clone()), Some(0.5));
        all.push(None);
        assert_eq!(of_nine_in_ten(all), None);
        assert_eq!(of_nine_in_ten(Vec::new()), None);
    }

    fn policy() -> Policy {
        limits(&crate::settings::table::Table::default()).unwrap().0
    }

    fn choose<const N: usize>(tried: [Tried; N], limit: f64, given: Option<f64>) -> Trial {
        Rules { policy: &policy(), limit, is_fixed: false, given }.choose(tried.into())
    }

    /// Ten pairs of two benchmarks, in runs of `run` seconds, with this noise.
    fn samples(name: &str, run: f64, noise: f64) -> Tried {
        let pair = |number: usize| {
            let sign = [1.0, -1.0, 0.5, -0.7, 0.2][number % 5];
            [(noise * sign).exp(), 1.0]
        };
        let pairs: Vec<[f64; 2]> = (0..10).map(pair).collect();
        Tried {
            name: name.to_owned(),
            package: "package".to_owned(),
            target: None,
            harness: Dialect::Criterion,
            runs: 20,
            run,
            benchmarks: 2,
            standing: Standing::Chosen,
            measured: Some((Metric::cost("wall_time", Unit::Seconds), vec![pairs.clone(), pairs])),
        }
    }

    fn standings(trial: &Trial) -> Vec<&Standing> {
        trial.tried.iter().map(|tried| &tried.standing).collect()
    }

    #[test]
    fn the_threshold_is_the_smallest_that_decides_for_all_that_are_chosen() {
        let quiet = || samples("quiet", 0.1, 0.001);
        assert_eq!(choose([quiet()], 300.0, None).threshold, THRESHOLD);
        let noisy = || samples("noisy", 0.1, 0.3);
        let trial = choose([quiet(), noisy()], 300.0, None);
        assert!(trial.threshold > THRESHOLD, "{trial:?}");
        // What a threshold set by the user decides is not noisy.
        let loud = samples("loud", 0.1, 60.0);
        let trial = choose([loud, quiet(), quiet()], 300.0, Some(1e9));
        assert_eq!(standings(&trial), [&Standing::Chosen; 3]);
    }

    #[test]
    fn what_can_be_decided_is_what_the_raised_time_limit_can_decide() {
        let slow = || samples("slow", 60.0, 0.02);
        let [fixed, raised] = [true, false].map(|is_fixed| {
            let policy = policy();
            Rules { policy: &policy, limit: 300.0, is_fixed, given: None }.choose(vec![slow()])
        });
        assert_eq!((fixed.limit, fixed.new_limit), (300.0, 300.0));
        let minutes = raised.minutes_needed.unwrap();
        assert_eq!((raised.limit, raised.new_limit), (300.0, 60.0 * minutes as f64));
        assert_eq!(fixed.minutes_needed, raised.minutes_needed);
        let reach = |trial: &Trial| trial.reach.unwrap_or(f64::INFINITY);
        assert!(reach(&raised) < reach(&fixed), "{raised:?}");
        // Where there is room, nothing is raised.
        let quick = choose([samples("quick", 0.1, 0.02)], 300.0, None);
        assert_eq!((quick.minutes_needed, quick.new_limit), (None, 300.0));
    }

    #[test]
    fn what_is_noisy_slow_empty_or_broken_is_left_if_there_is_another_one() {
        let good = || samples("good", 0.1, 0.001);
        let noisy = || samples("noisy", 0.1, 60.0);
        let slow = || samples("slow", 60.0, 0.001);
        let without = |standing| Tried { standing, measured: None, ..good() };
        let empty = without(Standing::Empty);
        let broken = without(Standing::Failed("it died".to_owned()));
        let trial = choose([noisy(), slow(), empty, broken, good()], 300.0, None);
        let said = standings(&trial);
        assert!(matches!(said[0], Standing::Noisy(_)), "{said:?}");
        assert!(matches!(said[1], Standing::Slow(seconds) if *seconds > 150.0), "{said:?}");
        assert_eq!(said[2..4], [&Standing::Empty, &Standing::Failed("it died".to_owned())]);
        assert_eq!(said[4], &Standing::Chosen);
        // If two do not fit together, the one with fewer benchmarks per time is left out.
        let half = || samples("half", 6.0, 0.001);
        let three = |one: Tried| Tried { benchmarks: 3, ..one };
        let more = three(half());
        let trial = choose([half(), more], 300.0, None);
        assert!(matches!(standings(&trial)[..], [Standing::Slow(_), Standing::Chosen]));
        // If the noisy one has most of the benchmarks, it stays.
        let most = three(samples("most", 0.1, 60.0));
        let trial = choose([good(), most], 300.0, None);
        assert_eq!(standings(&trial), [&Standing::Chosen, &Standing::Chosen]);
        // The least bad one is better than none.
        let trial = choose([slow(), noisy()], 300.0, None);
        assert!(matches!(standings(&trial)[..], [Standing::Slow(_), Standing::Chosen]));
    }
}
