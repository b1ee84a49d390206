//! Runs programs and says what they took.
//!
//! Every program, cargo and benchmark alike, is spawned by a small helper
//! process ([`Helper`]), forked before this one has grown: what a child
//! reports as its peak memory starts at the size of the process that spawned
//! it. The helper holds the clock, puts each program into a process group of
//! its own, and ends that group when the program outlives its time, when it
//! is told to, and when this process is gone, however it went. On Windows a
//! job object does that.

pub mod counter;
#[cfg(unix)]
mod helper;
#[cfg(unix)]
mod interrupt;
mod isolation;
#[cfg(unix)]
mod known;
#[cfg(unix)]
mod launch;
pub mod pages;
mod patience;
#[cfg(all(unix, any(test, not(target_os = "linux"))))]
mod plain;
mod program;
#[cfg(unix)]
mod space;
#[cfg(target_os = "linux")]
mod spawn;
mod tail;
pub mod ticks;
#[cfg(unix)]
mod unix;
#[cfg(windows)]
mod windows;
#[cfg(unix)]
mod wire;

use std::ffi::{OsStr, OsString};
use std::io;
use std::path::PathBuf;
use std::time::Duration;

use counter::{Count, Counter};
#[cfg(unix)]
pub use helper::Helper;
#[cfg(unix)]
use interrupt::signal_name;
#[cfg(unix)]
pub use interrupt::{Interrupt, die_of, standard_input};
pub use isolation::{Isolation, Refused as IsolationRefused, allowed_cpus, tick};
#[cfg(unix)]
pub(crate) use space::is_full;
pub(crate) use tail::stderr_tail;
#[cfg(unix)]
pub(crate) use unix::{host_name, may_write, user_id};
#[cfg(windows)]
use windows::signal_name;
#[cfg(windows)]
pub use windows::{
    Helper, Interrupt, die_of, host_name, is_full, may_write, standard_input, user_id,
};

/// How many bytes a program may print to standard output or to standard error,
/// where that is kept in a file: one that prints without end is ended, so that
/// it does not fill the disk.
pub(crate) const MOST_OUTPUT: u64 = 256 << 20;

/// How often it is looked how much a program has printed. Rare, as each look
/// takes a little of the processor; a run that is over by then has none.
const LOOK_AT_OUTPUT: Duration = Duration::from_millis(250);

/// Whether this system tells of a program's page faults by kind and of how
/// often the processor was given away and taken; else [`Usage`] has zeros.
pub const TELLS_FAULTS_AND_SWITCHES: bool = cfg!(unix);

/// The numbers of the errors that tell that no more files can be opened.
#[cfg(unix)]
const TOO_MANY_FILES: [i32; 2] = [libc::ENFILE, libc::EMFILE];
#[cfg(windows)]
const TOO_MANY_FILES: [i32; 1] = [4];

/// Whether an error tells that no more files can be opened.
pub(crate) fn is_out_of_descriptors(error: &io::Error) -> bool {
    error.raw_os_error().is_some_and(|number| TOO_MANY_FILES.contains(&number))
}

/// The environment of this process; where the case of a name means nothing
/// (Windows), all names are in capitals.
pub fn environment() -> Vec<(OsString, OsString)> {
    let vars = std::env::vars_os();
    if cfg!(windows) {
        return vars.map(|(name, value)| (name.to_ascii_uppercase(), value)).collect();
    }
    vars.collect()
}

/// A program to run and its surroundings, all of them: nothing is inherited.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Command {
    /// The program, then its arguments.
    pub argv: Vec<OsString>,
    /// The whole environment.
    pub env: Vec<(OsString, OsString)>,
    /// The working directory.
    pub cwd: PathBuf,
    /// The file that standard input comes from, opened anew; else it is empty.
    pub stdin: Option<PathBuf>,
    /// Where standard output goes.
    pub stdout: Sink,
    /// Where standard error goes.
    pub stderr: Sink,
    /// How long it may run; its group is ended after that.
    pub timeout: Option<Duration>,
    /// Whether what it leaves behind is ended with it, a daemon too. Set for
    /// benchmarks, not for builds (a compiler cache may start its server).
    pub sweep: bool,
    /// What of it and its descendants is counted.
    pub counters: Vec<Counter>,
    /// How it is set apart from the rest of the machine.
    pub isolation: Isolation,
}

impl Command {
    /// The value of an environment variable.
    pub fn var(&self, name: &str) -> Option<&OsStr> {
        let found = self.env.iter().find(|(key, _)| key == name);
        found.map(|(_, value)| value.as_os_str())
    }

    /// Sets an environment variable, replacing an earlier value.
    pub fn set_var(&mut self, name: &str, value: impl Into<OsString>) {
        self.env.retain(|(key, _)| key != name);
        self.env.push((name.into(), value.into()));
    }

    /// The path of the program: looked up as a shell would, in the command's own
    /// `PATH`.
    ///
    /// # Errors
    /// When there is no such program, or it may not be executed.
    pub fn program(&self) -> io::Result<PathBuf> {
        let name = self.argv.first().ok_or(io::ErrorKind::InvalidInput)?;
        Ok(self.cwd.join(program::look_up(name, self.var("PATH"), &self.cwd)?))
    }

    /// The command line as a person would type it.
    pub fn shown(&self) -> String {
        let quote = |word: &OsString| {
            let word = word.to_string_lossy();
            shlex::try_quote(&word).map_or_else(|_| word.to_string(), |quoted| quoted.to_string())
        };
        self.argv.iter().map(quote).collect::<Vec<_>>().join(" ")
    }
}

/// Where a program's output goes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Sink {
    /// Nowhere.
    #[default]
    Null,
    /// To this process's standard error.
    Stderr,
    /// To the end of a file.
    File(PathBuf),
}

/// How a program ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// With an exit code.
    Code(i32),
    /// By a signal.
    Signal(i32),
}

impl Exit {
    /// Whether the program said that all went well.
    pub fn success(self) -> bool {
        self == Exit::Code(0)
    }
}

impl std::fmt::Display for Exit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match *self {
            // A crash, on Windows: known by these digits.
            Exit::Code(code) if code < 0 => write!(f, "exited with code {code:#x}"),
            Exit::Code(code) => write!(f, "exited with code {code}"),
            Exit::Signal(number) => match signal_name(number) {
                Some(name) => write!(f, "was killed by {name}"),
                None => write!(f, "was killed by signal {number}"),
            },
        }
    }
}

/// What a program used, by `wait4` on that very child: itself and those of
/// its descendants that were waited for. On Windows, by its job object: itself
/// and all of its descendants, but for the memory, which is its own.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Usage {
    /// Processor time in user mode, seconds.
    pub user: f64,
    /// Processor time in the kernel, seconds.
    pub sys: f64,
    /// The largest resident size of any one process of them, bytes.
    pub max_rss: u64,
    /// Page faults that needed no input or output.
    pub minor_faults: u64,
    /// Page faults that did.
    pub major_faults: u64,
    /// How often it gave the processor away, mostly to wait.
    pub voluntary_switches: u64,
    /// How often the processor was taken from it.
    pub involuntary_switches: u64,
}

/// What became of a [`Command`].
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// How it ended.
    pub exit: Exit,
    /// From just before its exec (where that can be seen, else its spawn) to
    /// its end, seconds on the monotonic clock.
    pub wall: f64,
    /// What it used.
    pub usage: Usage,
    /// Whether its time ran out and it was ended for that.
    pub timed_out: bool,
    /// Whether it printed more than [`MOST_OUTPUT`] to a file; if it had not
    /// ended by itself, it was ended for that.
    pub printed_too_much: bool,
    /// How many processes it left behind, which were ended too.
    pub left_behind: u32,
    /// What was to be counted, in the command's order.
    pub counts: Vec<Count>,
}

impl Outcome {
    /// How it failed, if it did; `limit` is the time that it had.
    pub(crate) fn fault(&self, limit: Duration) -> Option<RunFault> {
        if self.printed_too_much {
            Some(RunFault::TooMuchOutput)
        } else if self.timed_out {
            Some(RunFault::TimedOut(limit))
        } else {
            (!self.exit.success()).then_some(RunFault::Exit(self.exit))
        }
    }
}

/// How a program failed. Its display follows the program's name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RunFault {
    /// It printed more than [`MOST_OUTPUT`].
    TooMuchOutput,
    /// It outlived the time that it had.
    TimedOut(Duration),
    /// It ended by itself, or by a signal, without success.
    Exit(Exit),
}

impl std::fmt::Display for RunFault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            RunFault::TooMuchOutput => write!(f, "printed more than {} MiB", MOST_OUTPUT >> 20),
            RunFault::TimedOut(limit) => {
                write!(f, "ran longer than {}", humantime::format_duration(*limit))
            }
            RunFault::Exit(exit) => exit.fmt(f),
        }
    }
}

/// Why there is no [`Outcome`].
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The program could not be started.
    #[error("could not start `{program}`")]
    Spawn {
        /// The program's name.
        program: String,
        /// What the system said.
        source: io::Error,
    },
    /// What was to be counted could not be.
    #[error("could not count what `{program}` does")]
    Count {
        /// The program's name.
        program: String,
        /// What the system said.
        source: io::Error,
    },
    /// A signal asked this process to stop; the program was ended.
    #[error("interrupted")]
    Interrupted,
    /// The helper process is gone; the program was ended.
    #[error("the helper process that runs the programs is gone")]
    Helper(#[source] io::Error),
}
