//! Runs programs and measures what they use.
//!
//! Every program, cargo and benchmark alike, is spawned by a small helper
//! process ([`Helper`]) that is forked before this one has grown, since the peak
//! memory that a child reports starts at the size of the process that spawned
//! it. The helper holds the clock and puts each program into a process group of
//! its own. It ends that group when the program runs out of time, when it is
//! told to, and when this process is gone for whatever reason.

#[cfg(not(unix))]
compile_error!("cargo-cbdr runs on Linux and macOS: see docs/platforms.md");

pub(crate) mod counter;
mod helper;
mod interrupt;
mod isolation;
mod launch;
#[cfg(any(test, not(target_os = "linux")))]
mod plain;
mod program;
#[cfg(target_os = "linux")]
mod spawn;
#[cfg(target_os = "linux")]
mod stay;
pub(crate) mod ticks;
pub mod trace;
mod unix;
mod wire;

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use signal_hook::low_level::signal_name;

use counter::{Counter, CounterReading};
pub use helper::Helper;
pub use interrupt::{Interrupt, die_of, standard_input};
pub use isolation::{Isolation, IsolationError, allowed_cpus, tick};
pub(crate) use program::look_up;
pub(crate) use unix::{host_name, is_full, may_write, user_id};

use crate::model::time;

/// How many bytes a program may print to a file, on standard output or on
/// standard error. A program that prints more is ended before it fills the disk.
pub(crate) const MOST_OUTPUT: u64 = 256 << 20;

/// How often to look how much a program has printed. Rarely, since each look
/// takes processor time; a shorter run is not looked at.
const LOOK_AT_OUTPUT: Duration = Duration::from_millis(250);

/// How many bytes [`stderr_tail`] reads.
const STDERR_TAIL: u64 = 64 << 10;

/// The least number of free bytes of a file system that is not full: a write that hits
/// a full disk may still leave a few.
const LEAST_SPACE: u64 = 1 << 20;

/// The environment of this process.
pub fn environment() -> Vec<(OsString, OsString)> {
    std::env::vars_os().collect()
}

/// A program to run, with everything that it gets: nothing is inherited.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Command {
    /// The program, then its arguments.
    pub argv: Vec<OsString>,
    /// The whole environment.
    pub env: Vec<(OsString, OsString)>,
    /// The working directory.
    pub cwd: PathBuf,
    /// The file to open as standard input, which is empty otherwise.
    pub stdin: Option<OsString>,
    /// Where standard output goes.
    pub stdout: Sink,
    /// Where standard error goes.
    pub stderr: Sink,
    /// How long it may run before its process group is ended.
    pub timeout: Option<Duration>,
    /// Whether to end the processes that it leaves behind, daemons included. Set
    /// for benchmarks, not for builds (a compiler cache may start its server).
    pub sweep: bool,
    /// Whether its peak memory is wanted, however little that is. It begins at the size of the
    /// helper, which makes itself as small as it can then; that takes some 40 µs.
    pub peak: bool,
    /// What to count of it and its descendants.
    pub counters: Vec<Counter>,
    /// How it is kept apart from the rest of the machine.
    pub isolation: Isolation,
}

impl Command {
    /// The value of an environment variable.
    pub(crate) fn var(&self, name: &str) -> Option<&OsStr> {
        let found = self.env.iter().find(|(key, _)| key == name);
        found.map(|(_, value)| value.as_os_str())
    }

    /// Sets an environment variable, replacing an earlier value.
    pub(crate) fn set_var(&mut self, name: &str, value: impl Into<OsString>) {
        self.env.retain(|(key, _)| key != name);
        self.env.push((name.into(), value.into()));
    }

    /// The path of the program, looked up as a shell would in the command's own
    /// `PATH`.
    ///
    /// # Errors
    /// When there is no such program, or it may not be executed.
    pub(crate) fn program(&self) -> io::Result<PathBuf> {
        let name = self.argv.first().ok_or(io::ErrorKind::InvalidInput)?;
        Ok(self.cwd.join(look_up(name, self.var("PATH"), &self.cwd)?))
    }

    /// The name of the program, for messages.
    fn name(&self) -> String {
        self.argv.first().map_or(String::new(), |name| name.to_string_lossy().into())
    }

    /// The command line as a person would type it.
    pub(crate) fn shown(&self) -> String {
        let quote = |word: &OsString| {
            let word = word.to_string_lossy();
            shlex::try_quote(&word).map_or_else(|_| word.to_string(), |quoted| quoted.to_string())
        };
        self.argv.iter().map(quote).collect::<Vec<_>>().join(" ")
    }
}

/// Where a program's output goes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Sink {
    /// Nowhere.
    #[default]
    Null,
    /// To this process's standard error.
    Stderr,
    /// To the end of a file.
    File(#[serde(with = "path_bytes")] PathBuf),
}

/// Serializes a path byte for byte, where serde itself wants paths to be text.
mod path_bytes {
    use super::{OsString, Path, PathBuf};
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub(super) fn serialize<S: Serializer>(path: &Path, to: S) -> Result<S::Ok, S::Error> {
        path.as_os_str().serialize(to)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<PathBuf, D::Error> {
        OsString::deserialize(from).map(PathBuf::from)
    }
}

/// How a program ended. Its display follows the program's name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
pub enum Exit {
    /// With an exit code.
    #[error("exited with code {0}")]
    Code(i32),
    /// By a signal.
    #[error("was killed by {}",
        signal_name(*.0).map_or_else(|| format!("signal {}", .0), str::to_owned))]
    Signal(i32),
}

impl Exit {
    /// Whether it is the exit code 0.
    pub fn success(self) -> bool {
        self == Exit::Code(0)
    }
}

/// What a program used, as `wait4` reports it for that one child: the program
/// itself and its descendants that were waited for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Usage {
    /// Processor time in user mode, seconds.
    pub user: f64,
    /// Processor time in the kernel, seconds.
    pub sys: f64,
    /// The largest resident size of any one of these processes, bytes.
    pub(crate) max_rss: u64,
    /// Page faults without input or output.
    pub(crate) minor_faults: u64,
    /// Page faults that needed input or output.
    pub(crate) major_faults: u64,
    /// How often it gave the processor away, mostly to wait.
    pub(crate) voluntary_switches: u64,
    /// How often the processor was taken from it.
    pub(crate) involuntary_switches: u64,
}

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
    fn may_share_a_signal(&self) -> bool {
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
        Err(FailedRun { fault, command: command.shown(), stderr })
    }
}

/// A run that failed.
#[derive(Debug)]
pub(crate) struct FailedRun {
    pub(crate) fault: RunFault,
    pub(crate) command: String,
    /// The end of its standard error, if that was kept.
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
