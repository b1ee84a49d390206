//! How a run went, and why it failed.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::command::{Command, Sink};
use super::counter::CounterReading;
use super::exit::{Exit, Usage};
use crate::model::time;

/// How many bytes a program may print to a file, on standard output or on
/// standard error. A program that prints more is ended before it fills the disk.
pub(super) const MOST_OUTPUT: u64 = 256 << 20;

/// How many bytes [`stderr_tail`] reads.
const STDERR_TAIL: u64 = 64 << 10;

/// How the run of a [`Command`] went.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunOutcome {
    /// How the program ended.
    pub exit: Exit,
    /// The time from just before its exec (or its spawn, where the exec can't be
    /// seen) to its end, seconds on the monotonic clock.
    pub wall: f64,
    /// What it used.
    pub usage: Usage,
    /// Whether it was ended because its time ran out.
    pub(crate) timed_out: bool,
    /// Whether it printed more than [`MOST_OUTPUT`] to a file. It was ended for
    /// that if it had not ended by itself.
    pub(crate) printed_too_much: bool,
    /// How many processes it left behind. They were ended.
    pub(crate) left_behind: u32,
    /// The counters' readings, in the command's order.
    pub(crate) counts: Vec<CounterReading>,
}

impl RunOutcome {
    /// Whether it may have got a signal that all processes of a job get, this one a moment later:
    /// one that asks to end, and not because the program's time ran out.
    pub(super) fn may_share_a_signal(&self) -> bool {
        let asks = [libc::SIGINT, libc::SIGTERM, libc::SIGHUP].map(Exit::Signal);
        !self.timed_out && asks.contains(&self.exit)
    }

    /// Checks that it did not fail, as a run of `command`.
    pub(crate) fn check(&self, command: &Command) -> Result<(), FailedRun> {
        let fault = match self.exit {
            _ if self.printed_too_much => RunFault::TooMuchOutput,
            _ if self.timed_out => RunFault::TimedOut(command.timeout.unwrap_or_default()),
            exit if exit.success() => return Ok(()),
            exit => RunFault::Exit(exit),
        };
        let stderr = match &command.stderr {
            Sink::File(path) => stderr_tail(path),
            Sink::Null | Sink::Stderr => String::new(),
        };
        // Some print their usage there.
        let stderr = match &command.stdout {
            Sink::File(path) if stderr.trim().is_empty() => stderr_tail(path),
            _ => stderr,
        };
        Err(FailedRun { fault, command: command.shown(), stderr })
    }
}

/// A run that failed.
#[derive(Debug)]
pub(crate) struct FailedRun {
    pub(crate) fault: RunFault,
    pub(crate) command: String,
    /// The end of its standard error if that was kept, or of its standard output.
    pub(crate) stderr: String,
}

/// How a program failed. Its display follows the program's name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum RunFault {
    #[error("printed more than {} MiB", MOST_OUTPUT >> 20)]
    TooMuchOutput,
    /// It outlived the time that it had.
    #[error("ran longer than {}", time::exact(*.0))]
    TimedOut(Duration),
    /// It ended by itself, or by a signal, without success.
    #[error("{0}")]
    Exit(Exit),
}

/// Why there is no [`RunOutcome`].
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the message names the fields")]
pub enum RunError {
    /// The program could not be started.
    #[error("could not start `{program}`")]
    Spawn { program: String, source: io::Error },
    /// The program could not be counted.
    #[error("could not count what `{program}` does")]
    Count { program: String, source: io::Error },
    /// A signal asked this process to stop. The program was ended.
    #[error("interrupted")]
    Interrupted,
    /// The helper process is gone. The program was ended.
    #[error("the helper process that runs the programs is gone")]
    Helper(#[source] io::Error),
}

/// The end of a program's standard error, from the file where it was kept; empty
/// if that can't be read.
pub(crate) fn stderr_tail(path: &Path) -> String {
    let read = || -> io::Result<Vec<u8>> {
        let mut file = File::open(path)?;
        let length = file.metadata()?.len();
        file.seek(SeekFrom::Start(length.saturating_sub(STDERR_TAIL)))?;
        let mut bytes = Vec::new();
        file.take(STDERR_TAIL).read_to_end(&mut bytes)?;
        Ok(bytes)
    };
    String::from_utf8_lossy(&read().unwrap_or_default()).into_owned()
}
