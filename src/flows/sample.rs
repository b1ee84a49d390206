//! Any commands, run in turn: what `sample` does.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::engine::experiment::Run;
use crate::engine::schedule::Rounds;
use crate::error::{Error, Kind};
use crate::exec::execution::{Failed, Hands, Once};
use crate::exec::machine::Machine;
use crate::exec::meter::{self, Meters};
use crate::exec::process::{Command, Helper, Interrupt};
use crate::flows::event::Event;
use crate::model::metric::{DEFAULT_METRIC, unfit};
use crate::model::notice::Notice;
use crate::model::outcome::StoppedBy;
use crate::model::row::Sample;
use crate::settings::options::Limits;
use crate::settings::values::Words;
use crate::settings::{self, Written};

/// What is to be run, and for how long.
#[derive(Clone, Debug)]
pub struct Sampling {
    /// The labels, each with the words of its command.
    pub commands: Vec<(String, Vec<String>)>,
    /// Where they run.
    pub folder: PathBuf,
    /// Their environment.
    pub env: Vec<(OsString, OsString)>,
    /// The metrics that are wanted besides those that cost nothing.
    pub metrics: Vec<String>,
    /// How long it may take, and how many rounds there may be.
    pub limits: Limits,
    /// How many unmeasured runs of each come first.
    pub warmup: u32,
    /// How long one run may take.
    pub run_timeout: Duration,
    /// The seed of the order, below 2^53.
    pub seed: u64,
}

/// Takes what `NAME:COMMAND` says apart.
///
/// # Errors
/// When it lacks a name or a command, or a name is there twice.
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
            .ok_or_else(|| bad("it is written `NAME:COMMAND`"))?;
        if let Some(why) = unfit(name) {
            return Err(bad(&format!("of its name, {why}")));
        }
        if all.iter().any(|(other, _)| other == name) {
            return Err(bad("another one has this name"));
        }
        all.push((name.to_owned(), Written::<Words>::from(command).read("command")?.0));
    }
    Ok(all)
}

/// One command, with its label.
struct Program {
    label: String,
    command: Command,
    left_behind: u64,
}

/// Runs a program once, in the time that is left.
type RunOnce<'a> = dyn FnMut(&mut Program, Option<Duration>) -> Result<Run<Sample>, Error> + 'a;

/// Runs the commands in rounds until a limit is reached or a signal arrives.
/// `tell` gets a round's runs when it is complete; what it returns says
/// whether to go on.
///
/// # Errors
/// When a command fails, or what `tell` says.
pub fn sample<E: From<Error>>(
    sampling: &Sampling,
    helper: &Helper,
    interrupt: &Interrupt,
    tell: &mut dyn FnMut(Event<'_>) -> Result<(), E>,
) -> Result<StoppedBy, E> {
    let scratch = tempfile::tempdir()
        .map_err(|source| Error::io("make a folder in", &std::env::temp_dir())(source))?;
    let (folder, limit) = (scratch.path(), sampling.run_timeout);
    let meters = meters(sampling)?;
    let program = |(label, words): &(String, Vec<String>)| Program {
        label: label.clone(),
        command: Command {
            argv: words.iter().map(Into::into).collect(),
            env: sampling.env.clone(),
            cwd: sampling.folder.clone(),
            ..Command::default()
        },
        left_behind: 0,
    };
    let mut programs: Vec<Program> = sampling.commands.iter().map(program).collect();
    let mut run = |program: &mut Program, left| -> Result<Run<Sample>, Error> {
        let once = Once { meters: &meters, limit, left, hands: Hands { helper, interrupt } };
        let (ran, left_behind) = once.all(&program.command, folder)?;
        program.left_behind += left_behind;
        ran.map_err(|Failed { what, command, said }| {
            let label = program.label.clone();
            Kind::Command { label, what, command, said }.into()
        })
    };
    for program in programs.iter_mut().filter(|_| sampling.warmup > 0) {
        tell(Event::WarmingUp(&program.label))?;
        for _ in 0..sampling.warmup {
            if run(program, None)? == Run::Interrupted {
                return Ok(StoppedBy::Interrupt);
            }
        }
    }
    let names: Vec<String> = meters.metrics().into_iter().map(|metric| metric.name).collect();
    tell(Event::Rounds { metrics: &names, seed: sampling.seed })?;
    let stopped_by = rounds(sampling, &mut programs, &mut run, tell)?;
    for program in programs.into_iter().filter(|program| program.left_behind > 0) {
        let (benchmark, processes) = (program.label, program.left_behind);
        tell(Event::Notice(&Notice::LeftBehind { benchmark, processes }))?;
    }
    Ok(stopped_by)
}

/// The sources of the metrics that are wanted: all of them, or an error.
fn meters(sampling: &Sampling) -> Result<Meters, Error> {
    let known: Vec<String> = meter::of_runs().map(|metric| metric.name).collect();
    if let Some(metric) = sampling.metrics.iter().find(|name| !known.contains(name)) {
        return Err(Kind::UnknownMetric { metric: metric.clone(), known }.into());
    }
    let path = sampling.env.iter().find(|(name, _)| name == "PATH");
    let path = path.map(|(_, value)| value.as_os_str());
    // The times are always there.
    let names: Vec<String> =
        std::iter::once(DEFAULT_METRIC.to_owned()).chain(sampling.metrics.clone()).collect();
    let mut meters = Meters::for_metrics(&names, path, &Machine::read(Path::new("/")));
    match meters.take_refused().into_iter().next() {
        Some(refusal) => Err(meter::Error::from(refusal).into()),
        None => Ok(meters),
    }
}

fn rounds<E: From<Error>>(
    sampling: &Sampling,
    programs: &mut [Program],
    run: &mut RunOnce<'_>,
    tell: &mut dyn FnMut(Event<'_>) -> Result<(), E>,
) -> Result<StoppedBy, E> {
    let order = Rounds::new(sampling.seed, programs.len());
    let start = Instant::now();
    let mut round = 0;
    loop {
        if sampling.limits.pairs == Some(round) {
            return Ok(StoppedBy::MaxPairs);
        }
        let spent = start.elapsed();
        let each = spent.checked_div(u32::try_from(round).unwrap_or(u32::MAX)).unwrap_or_default();
        // A round that is not expected to fit isn't started.
        if spent + each > sampling.limits.time {
            return Ok(StoppedBy::TimeLimit);
        }
        let mut runs: Vec<(usize, Sample)> = Vec::with_capacity(programs.len());
        for number in order.order(round) {
            let left = sampling.limits.time.saturating_sub(start.elapsed());
            match run(&mut programs[number], Some(left.max(Duration::from_millis(1))))? {
                Run::Measured(sample) => runs.push((number, sample)),
                Run::OutOfTime => return Ok(StoppedBy::TimeLimit),
                Run::Interrupted => return Ok(StoppedBy::Interrupt),
            }
        }
        for (number, sample) in &runs {
            tell(Event::Run { label: &programs[*number].label, sample })?;
        }
        round += 1;
        tell(Event::Round(round))?;
    }
}
