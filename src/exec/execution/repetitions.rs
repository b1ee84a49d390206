//! The number of runs per measurement, for what is too short for its clock.

use std::path::Path;
use std::time::{Duration, Instant};

use super::measurement::Execution;
use super::side::SideProgram;
use super::stop::Stop;
use crate::exec::known::Known;
use crate::exec::meter::Pass;
use crate::exec::process::tick;
use crate::model::run_length::RunLength;
use crate::model::{BenchmarkNotice, Pair, Reading, Side};
use crate::settings::values::Repetitions;
use crate::stats::repetitions::{Clock, Logistic, least_time};

/// How long tuning may take for each side; this does not count towards the time
/// limit.
const BUDGET: Duration = Duration::from_secs(2);

/// The number of clock steps in a time that is measured accurately enough. More
/// would be even better, but each of these runs costs a pair.
const STEPS: f64 = 25.0;

/// The oracle of a metric; `None` if every process is long enough for the
/// clock: the wall clock has nanoseconds (BenchmarkTools' table ends at 9 µs,
/// and starting a process takes hundreds), and the sum of user and kernel time
/// has microseconds. The division between the two depends on the kernel's
/// ticks.
fn oracle(metric: &str) -> Option<Logistic> {
    let ticks = matches!(metric, "user_time" | "sys_time");
    let clock = Clock { precision: tick(), accuracy: STEPS * tick() };
    ticks.then(|| Logistic::of(clock))
}

/// Whether one run took so long, seconds, that it can't be too short.
fn is_settled(oracle: &Logistic, time: f64) -> bool {
    time > 10.0 * oracle.clock.accuracy
}

/// Algorithm 1 for several metrics at once: the largest of their repetitions.
/// `run` returns the metrics' times, seconds, of a number of consecutive runs.
fn tune<E>(
    oracles: &[Logistic],
    run: &mut dyn FnMut(u32) -> Result<Vec<f64>, E>,
) -> Result<u32, E> {
    let start = Instant::now();
    let mut times: Vec<Vec<f64>> = vec![Vec::new(); oracles.len()];
    for count in 1.. {
        let is_done = |(oracle, times): (&Logistic, &Vec<f64>)| {
            let first = times.first();
            count > oracle.clock.steps() || first.is_some_and(|&time| is_settled(oracle, time))
        };
        if oracles.iter().zip(&times).all(is_done) || start.elapsed() > BUDGET {
            break;
        }
        for (times, time) in times.iter_mut().zip(run(count)?) {
            times.push(time);
        }
    }
    let each = oracles.iter().zip(times);
    let each = each.map(|(oracle, times)| least_time(times).map_or(1, |t| oracle.repetitions(t)));
    Ok(each.max().unwrap_or(1))
}

/// Determines the number of runs per measurement, unless the user set it: as many as the
/// clocks of the gating metrics need, on either side. `gates` are those of the program
/// itself (a harness times its benchmarks by itself), `warm_up` is what a run of each side
/// reported before. `known` is a file with earlier results.
pub(crate) fn tune_repetitions(
    execution: &mut Execution<'_>,
    sides: &mut Pair<SideProgram>,
    mut gates: Vec<String>,
    warm_up: Option<&Pair<Vec<Reading>>>,
    filter: Option<&str>,
    known: &Path,
) -> Result<(), Stop> {
    gates.retain(|metric| {
        let settled = |readings: &Vec<Reading>| {
            let time = readings.first().and_then(|reading| reading.values.get(metric));
            oracle(metric).zip(time).is_some_and(|(oracle, time)| is_settled(&oracle, time))
        };
        let both = warm_up.is_some_and(|both| settled(&both.base) && settled(&both.head));
        oracle(metric).is_some() && !both
    });
    if gates.is_empty() || execution.benchmark.measuring.repetitions != Repetitions::Auto {
        return Ok(());
    }
    for side in Side::BOTH {
        let program = &mut sides[side];
        let command = program.command.shown();
        let parts = [program.identity.as_str(), &command, &gates.join(",")];
        let known = Known::new(known, &parts);
        let number = match known.read::<u32>().filter(|&number| number > 0) {
            Some(number) => number,
            None => {
                let number = tune_side(execution, program, &gates, filter)?;
                known.write(&number);
                number
            }
        };
        execution.repetitions = execution.repetitions.max(number);
    }
    if execution.repetitions > 1 {
        execution.notice(BenchmarkNotice::Repeated { runs: execution.repetitions });
    }
    Ok(())
}

fn tune_side(
    execution: &mut Execution<'_>,
    program: &mut SideProgram,
    gates: &[String],
    filter: Option<&str>,
) -> Result<u32, Stop> {
    let oracles: Vec<Logistic> = gates.iter().filter_map(|metric| oracle(metric)).collect();
    program.select(RunLength::Probe, program.all(filter));
    tune(&oracles, &mut |count| {
        let mut sums = vec![0.0; gates.len()];
        for _ in 0..count {
            for reading in execution.run(Pass::Plain, program, None)? {
                for (sum, metric) in sums.iter_mut().zip(gates) {
                    *sum += reading.values.get(metric).unwrap_or(0.0);
                }
            }
        }
        Ok(sums)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Tunes runs that take `time`; returns the number, and how many runs were made for that.
    fn tuned(metric: &str, time: f64) -> (u32, u32) {
        let oracles: Vec<Logistic> = oracle(metric).into_iter().collect();
        let mut runs = 0;
        let got = tune::<()>(&oracles, &mut |count| {
            runs += count;
            Ok(vec![f64::from(count) * time; oracles.len()])
        });
        (got.unwrap(), runs)
    }

    #[test]
    fn only_what_goes_by_ticks_is_repeated() {
        for metric in ["wall_time", "cpu_time", "max_rss", "words"] {
            assert_eq!(tuned(metric, 0.0001), (1, 0));
        }
        for metric in ["user_time", "sys_time"] {
            let (number, runs) = tuned(metric, tick() / 4.0);
            assert!((20..25).contains(&number), "{number}");
            assert_eq!(runs, (1..=25).sum::<u32>());
            assert_eq!(tuned(metric, 300.0 * tick()), (1, 1));
            assert_eq!(tuned(metric, 0.0).0, 24);
        }
    }

    #[test]
    fn who_is_told_to_stop_has_no_number() {
        let oracles: Vec<Logistic> = oracle("user_time").into_iter().collect();
        assert_eq!(tune(&oracles, &mut |_| Err("stop")), Err("stop"));
    }
}
