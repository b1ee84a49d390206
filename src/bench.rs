//! One run of one side, to one sample.

use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::error::{Error, Kind};
use crate::metric::{Metric, Unit};
use crate::options::Benchmark;
use crate::prepare::tail;
use crate::process::{Command, Helper, Interrupt, Outcome, RunError, Sink};
use crate::runner::Run;
use crate::sample::Sample;
use crate::side::{Pair, Side};

/// What every run measures.
pub(crate) fn metrics() -> Vec<Metric> {
    vec![
        Metric::cost("wall_time", Unit::Seconds),
        Metric::cost("user_time", Unit::Seconds),
        Metric::cost("sys_time", Unit::Seconds),
        Metric::cost("cpu_time", Unit::Seconds),
        Metric::cost("max_rss", Unit::Bytes),
    ]
}

/// Runs one benchmark, again and again.
#[derive(Debug)]
pub(crate) struct Bench<'a> {
    benchmark: &'a Benchmark,
    commands: Pair<Command>,
    /// Where a run's standard error goes, for the case that it fails.
    said: PathBuf,
    /// How many processes its runs left behind so far.
    pub(crate) left_behind: u64,
}

impl<'a> Bench<'a> {
    /// A benchmark with the commands of its sides; `said` is a file of its
    /// own.
    pub(crate) fn new(benchmark: &'a Benchmark, commands: &Pair<Command>, said: PathBuf) -> Self {
        let commands = commands.clone().map(|command| Command {
            stdout: Sink::Null,
            stderr: Sink::File(said.clone()),
            sweep: true,
            ..command
        });
        Bench { benchmark, commands, said, left_behind: 0 }
    }

    /// How many runs of each side come first, unmeasured.
    pub(crate) fn warmup(&self) -> u32 {
        self.benchmark.warmup
    }

    /// Runs one side once. It may take as long as the benchmark's limit says;
    /// where `left` is shorter, running into that is no failure.
    pub(crate) fn run(
        &mut self,
        side: Side,
        left: Option<Duration>,
        helper: &Helper,
        interrupt: &Interrupt,
    ) -> Result<Run, Error> {
        let (limit, command) = (self.benchmark.run_timeout, &mut self.commands[side]);
        let (ran, left_behind) = run_once(command, &self.said, limit, left, helper, interrupt)?;
        self.left_behind += left_behind;
        ran.map_err(|Failed { what, said }| {
            let (benchmark, command) = (self.benchmark.name.clone(), self.commands[side].shown());
            Kind::Benchmark { side, benchmark, what, command, said }.into()
        })
    }
}

/// A run that failed.
#[derive(Debug)]
pub(crate) struct Failed {
    /// What it did.
    pub(crate) what: String,
    /// The end of its standard error.
    pub(crate) said: String,
}

/// Runs a program once, whose standard error goes to `said`. It may take
/// `limit`; where `left` is shorter, running into that is no failure. Says
/// also how many processes it left behind.
pub(crate) fn run_once(
    command: &mut Command,
    said: &Path,
    limit: Duration,
    left: Option<Duration>,
    helper: &Helper,
    interrupt: &Interrupt,
) -> Result<(Result<Run, Failed>, u64), Error> {
    command.timeout = Some(left.map_or(limit, |left| left.min(limit)));
    if said.metadata().is_ok_and(|file| file.len() > 0) {
        fs_err::write(said, "").map_err(Error::io("empty", said))?;
    }
    let outcome = match helper.run(command, interrupt) {
        Ok(outcome) => outcome,
        Err(RunError::Interrupted) => return Ok((Ok(Run::Interrupted), 0)),
        Err(error) => return Err(error.into()),
    };
    let left_behind = u64::from(outcome.left_behind);
    let what = if outcome.timed_out && left.is_some_and(|left| left < limit) {
        return Ok((Ok(Run::OutOfTime), left_behind));
    } else if outcome.timed_out {
        format!("ran longer than {}", humantime::format_duration(limit))
    } else if outcome.exit.success() {
        return Ok((Ok(Run::Measured(sample(&outcome))), left_behind));
    } else {
        outcome.exit.to_string()
    };
    Ok((Err(Failed { what, said: tail(said) }), left_behind))
}

fn sample(outcome: &Outcome) -> Sample {
    let usage = outcome.usage;
    Sample::from_iter([
        ("wall_time", outcome.wall),
        ("user_time", usage.user),
        ("sys_time", usage.sys),
        ("cpu_time", usage.user + usage.sys),
        ("max_rss", usage.max_rss as f64),
    ])
}
