//! Runs any commands in turn: what `sample` does.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::engine::{Event, Rounds};
use crate::error::{Error, Failure};
use crate::exec::execution::{Context, Runs, Stop};
use crate::exec::machine::Machine;
use crate::exec::meter::{self, Meters};
use crate::exec::process::Command;
use crate::flows::error::{failed_command, other_metric};
use crate::model::{BenchmarkNotice, DEFAULT_METRIC, Limits, StoppedBy, Values, unfit};
use crate::settings::values::Words;
use crate::settings::{self, Written};

/// What to run, and for how long.
#[derive(Clone, Debug)]
pub struct Sampling {
    /// The labels and the words of their commands.
    pub commands: Vec<(String, Vec<String>)>,
    /// Where they run.
    pub folder: PathBuf,
    /// Their environment.
    pub env: Vec<(OsString, OsString)>,
    /// The requested metrics, in addition to those that cost nothing.
    pub metrics: Vec<String>,
    /// The limits of time and rounds.
    pub limits: Limits,
    /// The number of unmeasured runs of each at the beginning.
    pub warmup: u32,
    /// The maximum time of a run.
    pub run_timeout: Duration,
    /// The seed of the order, below 2^53.
    pub seed: u64,
}

/// Splits each `NAME:COMMAND` into the name and the words of the command.
///
/// # Errors
/// If a name or a command is missing, or a name appears twice.
pub fn commands(texts: &[String]) -> Result<Vec<(String, Vec<String>)>, settings::Error> {
    let mut all: Vec<(String, Vec<String>)> = Vec::new();
    for text in texts {
        let bad = |why: &str| settings::Error::Bad {
            what: "command",
            value: text.clone(),
            why: why.to_owned(),
        };
        let (name, command) = text
            .split_once(':')
            .filter(|(name, _)| !name.is_empty())
            .ok_or_else(|| bad("write it as `NAME:COMMAND`"))?;
        if let Some(why) = unfit(name) {
            return Err(bad(&format!("its name is unfit: {why}")));
        }
        if all.iter().any(|(other, _)| other == name) {
            return Err(bad("another command has this name"));
        }
        all.push((name.to_owned(), Written::<Words>::from(command).read("command")?.0));
    }
    Ok(all)
}

/// Runs the commands in rounds until a limit is reached or a signal arrives.
///
/// # Errors
/// If a command fails, or `on_event` returns an error.
pub fn sample<E: From<Error>>(
    sampling: &Sampling,
    context: Context<'_>,
    on_event: &mut dyn FnMut(Event<'_>) -> Result<(), E>,
) -> Result<StoppedBy, E> {
    let scratch = tempfile::tempdir()
        .map_err(|source| Error::io("create a folder in", &std::env::temp_dir())(source))?;
    let meters = meters(sampling)?;
    let command = |(_, words): &(String, Vec<String>)| Command {
        argv: words.iter().map(Into::into).collect(),
        env: sampling.env.clone(),
        cwd: sampling.folder.clone(),
        peak: true,
        ..Command::default()
    };
    let commands: Vec<Command> = sampling.commands.iter().map(command).collect();
    let labels: Vec<&str> = sampling.commands.iter().map(|(label, _)| label.as_str()).collect();
    let mut left_behind = vec![0; commands.len()];
    let mut run = |number: usize, deadline| {
        let mut runs = Runs {
            meters: &meters,
            timeout: sampling.run_timeout,
            left_behind: &mut left_behind[number],
            context,
        };
        let mut all = Values::default();
        for pass in meters.passes() {
            let failed = |run| failed_command(labels[number], run).into();
            all.extend(runs.run(pass, &commands[number], scratch.path(), deadline, failed)?);
        }
        Ok::<_, Stop>(all)
    };
    if sampling.warmup > 0 {
        for (number, label) in labels.iter().enumerate() {
            on_event(Event::WarmingUp(label))?;
            for _ in 0..sampling.warmup {
                if let Err(stop) = run(number, None) {
                    return Ok(end(stop)?);
                }
            }
        }
    }
    on_event(Event::Rounds { metrics: &meters.metrics(), seed: sampling.seed })?;
    let order = Rounds::new(sampling.seed, commands.len());
    let start = Instant::now();
    let deadline = start.checked_add(sampling.limits.time);
    let mut round = 0;
    let stopped_by = 'rounds: loop {
        if sampling.limits.pairs == Some(round) {
            break StoppedBy::MaxPairs;
        }
        // A round that is not expected to fit isn't started.
        let spent = start.elapsed();
        let each = spent.checked_div(u32::try_from(round).unwrap_or(u32::MAX)).unwrap_or_default();
        if spent + each > sampling.limits.time {
            break StoppedBy::TimeLimit;
        }
        let mut runs: Vec<(&str, Values)> = Vec::with_capacity(commands.len());
        for number in order.order(round) {
            match run(number, deadline) {
                Ok(values) => runs.push((labels[number], values)),
                Err(stop) => break 'rounds end(stop)?,
            }
        }
        round += 1;
        on_event(Event::Round { number: round, runs: &runs })?;
    };
    for (label, processes) in labels.iter().zip(left_behind) {
        if processes > 0 {
            let notice = BenchmarkNotice::LeftBehind { processes }.about(label);
            on_event(Event::Notice(&notice))?;
        }
    }
    Ok(stopped_by)
}

/// Why sampling ends where a run was stopped.
///
/// # Errors
/// If the run failed.
fn end(stop: Stop) -> Result<StoppedBy, Error> {
    match stop {
        Stop::OutOfTime => Ok(StoppedBy::TimeLimit),
        Stop::Interrupted => Ok(StoppedBy::Interrupt),
        Stop::Error(error) => Err(error),
    }
}

/// The meters of the requested metrics.
///
/// # Errors
/// If there is no such metric, or this machine lacks it.
fn meters(sampling: &Sampling) -> Result<Meters, Error> {
    let known: Vec<String> = meter::of_runs().map(|metric| metric.name).collect();
    if let Some(metric) = sampling.metrics.iter().find(|name| !known.contains(name)) {
        let step = other_metric(metric, &known, "there are");
        return Err(Failure::new(format!("there is no metric `{metric}`"), step).into());
    }
    let path = sampling.env.iter().find(|(name, _)| name == "PATH");
    let path = path.map(|(_, value)| value.as_os_str());
    let names = [vec![DEFAULT_METRIC.to_owned()], sampling.metrics.clone()].concat();
    let mut meters = Meters::for_metrics(&names, path, &Machine::read(Path::new("/")));
    meters.take_refused().into_iter().next().map_or(Ok(meters), |refusal| Err(refusal.into()))
}
