//! The same on Windows. No helper process is needed, as a child's peak memory
//! does not begin at its parent's; each program runs in a job object, which
//! the system ends with this process, however it goes.

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
pub use job::is_full;
use job::{Job, SUSPENDED, Seen, peak_memory, resume, wait};

use super::{Command, Exit, LOOK_AT_OUTPUT, MOST_OUTPUT, Outcome, RunError, Sink, Usage};

/// Runs programs.
#[derive(Debug)]
pub struct Helper(());

impl Helper {
    /// Nothing has to be started here.
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
        let running = Running::start(command)?;
        let outcome = running.finish(command, interrupt);
        interrupt.check()?;
        outcome
    }

    /// Runs two commands at the same time, each to its end; the first is
    /// started first, by the time that it takes to start the other.
    ///
    /// # Errors
    /// As [`Helper::run`], of the first that fails; the other one is ended.
    pub fn run_both(
        &self,
        commands: [&Command; 2],
        interrupt: &Interrupt,
    ) -> Result<[Outcome; 2], RunError> {
        let [first, second] = commands;
        interrupt.check()?;
        let one = Running::start(first)?;
        let other = Running::start(second)?;
        let (one, other) = std::thread::scope(|scope| {
            let ends = &other.job;
            let waiting = scope.spawn(|| other.finish(second, interrupt));
            let one = one.finish(first, interrupt);
            if one.is_err() {
                ends.end();
            }
            let gone = |_| Err(RunError::Helper(io::ErrorKind::Other.into()));
            (one, waiting.join().unwrap_or_else(gone))
        });
        interrupt.check()?;
        Ok([one?, other?])
    }
}

/// A program in its job. Dropped, it ends with all that it started.
struct Running {
    child: Child,
    job: Job,
    began: Instant,
}

impl Running {
    /// Starts a program; the clock starts once it exists, before it does
    /// anything.
    fn start(command: &Command) -> Result<Self, RunError> {
        let program = || command.argv.first().map_or(String::new(), |p| p.to_string_lossy().into());
        if !command.counters.is_empty() {
            let source = io::ErrorKind::Unsupported.into();
            return Err(RunError::Count { program: program(), source });
        }
        let start = || {
            let mut child = prepare(command)?.spawn()?;
            let begin = Job::new().and_then(|job| {
                job.take(child.as_handle())?;
                let began = Instant::now();
                resume(child.id())?;
                Ok((job, began))
            });
            if begin.is_err() {
                let _ = child.kill();
            }
            let (job, began) = begin?;
            Ok(Running { child, job, began })
        };
        start().map_err(|source| RunError::Spawn { program: program(), source })
    }

    /// Waits for its end, and ends it when its time is over or a wish to stop
    /// comes.
    fn finish(&self, command: &Command, interrupt: &Interrupt) -> Result<Outcome, RunError> {
        let mut due = command.timeout.map(|timeout| self.began + timeout);
        let kept =
            matches!((&command.stdout, &command.stderr), (Sink::File(_), _) | (_, Sink::File(_)));
        let mut look = kept.then(|| self.began + LOOK_AT_OUTPUT);
        let mut wish = Some(interrupt.event());
        let mut timed_out = false;
        let lost = |error| RunError::Helper(error);
        let end = loop {
            let next = [due, look].into_iter().flatten().min();
            let patience = next.map(|next| next.saturating_duration_since(Instant::now()));
            match wait(self.child.as_handle(), wish, patience).map_err(lost)? {
                Seen::Ended(at) => break at,
                Seen::Asked => wish = None,
                Seen::Nothing if due.is_some_and(|due| due <= Instant::now()) => timed_out = true,
                Seen::Nothing if look.is_some_and(|look| look <= Instant::now()) => {
                    look = Some(Instant::now() + LOOK_AT_OUTPUT);
                    if !prints_too_much(command) {
                        continue;
                    }
                }
                Seen::Nothing => continue,
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

    /// Ends what the program left in its job, or lets it live on; how many
    /// were ended.
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

/// The command in std's words, to be started asleep.
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

/// Whether this process may execute the file: its name alone decides.
pub(super) fn may_execute(_path: &Path) -> io::Result<()> {
    Ok(())
}

/// The machine's name in its network, if it has one.
pub fn host_name() -> Option<String> {
    std::env::var("COMPUTERNAME").ok().filter(|name| !name.is_empty())
}

/// Whether the file or folder is there: who may write to it stands in access
/// lists, which only an attempt asks.
///
/// # Errors
/// When it is not there.
pub fn may_write(path: &std::path::Path) -> io::Result<()> {
    path.metadata().map(drop)
}

/// Files belong to no user with a number here: see `system::owner`.
pub fn user_id() -> u32 {
    0
}

/// Programs are not ended by signals here.
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
