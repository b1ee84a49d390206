//! Runs programs on Windows. No helper process is needed, since the peak memory of
//! a child does not begin at its parent's. Each program runs in a job object,
//! which the system terminates with this process, however that ends.

mod interrupt;
mod job;

use std::fs::File;
use std::io;
use std::os::windows::io::AsHandle;
use std::os::windows::process::CommandExt;
use std::path::Path;
use std::process::{Child, Stdio};
use std::time::Instant;

pub use interrupt::{Interrupt, die_of, standard_input};
pub(crate) use job::is_full;
use job::{JobObject, SUSPENDED, WaitResult, peak_memory, resume, wait};

use super::{Command, Exit, LOOK_AT_OUTPUT, MOST_OUTPUT, Outcome, RunError, Sink, Usage};

/// Runs programs: what the helper process is on other systems.
#[derive(Debug)]
pub struct Helper(());

impl Helper {
    /// Starts nothing.
    ///
    /// # Errors
    /// None.
    pub fn start() -> io::Result<Self> {
        Ok(Helper(()))
    }

    /// Runs `command` to its end.
    ///
    /// # Errors
    /// See [`RunError`]. A program that ran and failed is an [`Outcome`].
    pub fn run(&self, command: &Command, interrupt: &Interrupt) -> Result<Outcome, RunError> {
        interrupt.check()?;
        let running = RunningProgram::start(command)?;
        let outcome = running.finish(command, interrupt);
        interrupt.check()?;
        outcome
    }
}

/// A program in its job. Dropping it ends the program and everything that it
/// started.
struct RunningProgram {
    child: Child,
    job: JobObject,
    began: Instant,
}

impl RunningProgram {
    /// Starts a program. The clock starts once it exists, before it does anything.
    fn start(command: &Command) -> Result<Self, RunError> {
        if !command.counters.is_empty() {
            let source = io::ErrorKind::Unsupported.into();
            return Err(RunError::Count { program: command.name(), source });
        }
        let start = || {
            let mut child = prepare(command)?.spawn()?;
            let begin = JobObject::new().and_then(|job| {
                job.take(child.as_handle())?;
                let began = Instant::now();
                resume(child.id())?;
                Ok((job, began))
            });
            if begin.is_err() {
                let _ = child.kill();
            }
            let (job, began) = begin?;
            Ok(RunningProgram { child, job, began })
        };
        start().map_err(|source| RunError::Spawn { program: command.name(), source })
    }

    /// Waits for its end. Ends it if its time is up, if it prints too much, or if an
    /// interrupt comes.
    fn finish(&self, command: &Command, interrupt: &Interrupt) -> Result<Outcome, RunError> {
        let mut due = command.timeout.map(|timeout| self.began + timeout);
        let kept =
            matches!((&command.stdout, &command.stderr), (Sink::File(_), _) | (_, Sink::File(_)));
        let mut look = kept.then(|| self.began + LOOK_AT_OUTPUT);
        let mut stop = Some(interrupt.event());
        let mut timed_out = false;
        let lost = |error| RunError::Helper(error);
        let end = loop {
            let next = [due, look].into_iter().flatten().min();
            let patience = next.map(|next| next.saturating_duration_since(Instant::now()));
            match wait(self.child.as_handle(), stop, patience).map_err(lost)? {
                WaitResult::Ended(at) => break at,
                WaitResult::Asked => stop = None,
                WaitResult::Nothing if due.is_some_and(|due| due <= Instant::now()) => {
                    timed_out = true;
                }
                WaitResult::Nothing if look.is_some_and(|look| look <= Instant::now()) => {
                    look = Some(Instant::now() + LOOK_AT_OUTPUT);
                    if !prints_too_much(command) {
                        continue;
                    }
                }
                WaitResult::Nothing => continue,
            }
            (due, look) = (None, None);
            self.job.end();
        };
        let left_behind = self.sweep(command.sweep).map_err(lost)?;
        let code = job::exit_code(self.child.as_handle()).map_err(lost)?;
        let spent = self.job.spent().map_err(lost)?;
        let max_rss = peak_memory(self.child.as_handle()).map_err(lost)?;
        Ok(Outcome {
            exit: Exit::Code(code),
            wall: end.duration_since(self.began).as_secs_f64(),
            usage: Usage { user: spent.user, sys: spent.kernel, max_rss, ..Usage::default() },
            timed_out,
            printed_too_much: prints_too_much(command),
            left_behind,
            counts: Vec::new(),
        })
    }

    /// Ends the processes that the program left in its job, or lets them
    /// continue. Returns how many were ended.
    fn sweep(&self, ends: bool) -> io::Result<u32> {
        if !ends {
            return self.job.release().map(|()| 0);
        }
        let others = self.job.members()?.into_iter().filter(|pid| *pid != self.child.id());
        let count = others.count();
        self.job.end();
        Ok(u32::try_from(count).unwrap_or(u32::MAX))
    }
}

/// Whether a command has printed more to a file than it may.
fn prints_too_much(command: &Command) -> bool {
    [&command.stdout, &command.stderr].into_iter().any(|sink| match sink {
        Sink::File(path) => path.metadata().is_ok_and(|about| about.len() > MOST_OUTPUT),
        Sink::Null | Sink::Stderr => false,
    })
}

/// The command as std's, to be started suspended.
fn prepare(command: &Command) -> io::Result<std::process::Command> {
    let mut std = std::process::Command::new(command.program()?);
    std.args(&command.argv[1..]).current_dir(&command.cwd);
    std.env_clear().envs(command.env.iter().map(|(name, value)| (name, value)));
    std.stdin(match &command.stdin {
        None => Stdio::null(),
        Some(path) => File::open(path)?.into(),
    });
    std.stdout(open(&command.stdout)?).stderr(open(&command.stderr)?);
    std.creation_flags(SUSPENDED);
    Ok(std)
}

/// Whether this process may execute the file: always, since its name decides.
pub(super) fn may_execute(_path: &Path) -> io::Result<()> {
    Ok(())
}

/// The host name of the machine, if it has one.
pub(crate) fn host_name() -> Option<String> {
    std::env::var("COMPUTERNAME").ok().filter(|name| !name.is_empty())
}

/// Whether the file or folder exists. Who may write to it is in access lists, which
/// only an attempt would consult.
///
/// # Errors
/// When it does not exist.
pub(crate) fn may_write(path: &Path) -> io::Result<()> {
    path.metadata().map(drop)
}

/// No user has a number here, and no file has such an owner: see `system::owner`.
pub(crate) fn user_id() -> u32 {
    0
}

/// No program is ended by a signal here.
pub(super) fn signal_name(_number: i32) -> Option<&'static str> {
    None
}

fn open(sink: &Sink) -> io::Result<Stdio> {
    Ok(match sink {
        Sink::Null => Stdio::null(),
        Sink::Stderr => io::stderr().as_handle().try_clone_to_owned()?.into(),
        Sink::File(path) => File::options().append(true).create(true).open(path)?.into(),
    })
}
