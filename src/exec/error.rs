//! What went wrong with a program that was run, or with what it reported.

use std::io;
use std::path::PathBuf;

use super::harness;
use super::process::{Command, Exit, FailedRun, RunError, RunFault};
use crate::error::{Advise, Error, Failure, Help};
use crate::model::side::Side;

/// Why a run, or its result, can't be used.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ExecError {
    #[error("`{command}` failed in `{}`: it {exit}", .folder.display())]
    Tool { command: String, folder: PathBuf, exit: Exit, stderr: String },
    #[error("the {side} of `{benchmark}` {}: `{}`", .run.fault, .run.command)]
    Benchmark { side: Side, benchmark: String, run: FailedRun },
    #[error("could not start `{command}`, the {side} of `{benchmark}`")]
    Start { side: Side, benchmark: String, command: String, source: io::Error },
    #[error("can't read what the {side} of `{benchmark}` reports as {harness}: `{command}`")]
    Output {
        side: Side,
        benchmark: String,
        command: String,
        harness: &'static str,
        output: String,
        source: harness::Error,
    },
}

impl Advise for ExecError {
    fn advice(&self) -> Option<Help> {
        match self {
            Self::Tool { stderr, .. } if lacks_toolchain(stderr) => Help::hint(INSTALL_TOOLCHAIN),
            Self::Tool { stderr, .. } if stderr.contains("could not find `Cargo.toml`") => {
                Help::hint("change to the folder of a package or a workspace, with a `Cargo.toml`")
            }
            Self::Tool { .. } => {
                Help::next_step("run the command in that folder to see what it needs")
            }
            Self::Start { .. } => Help::next_step(NOT_STARTED),
            Self::Benchmark { run, .. } => run.fault.help(
                &run.stderr,
                "run it at that commit, by `cargo bench` or by hand: a benchmark has to exit with \
                 code 0; arguments that it needs follow `--`",
            ),
            Self::Output { harness: "json", .. } => Help::hint(
                "print one JSON object and nothing else, or write it to the file that the variable \
                 `CBDR_OUTPUT` names; `--harness plain` measures the process",
            ),
            Self::Output { .. } => Help::hint(
                "set `--harness` to the format that the benchmark prints; `plain` measures the \
                 process",
            ),
        }
    }

    fn child_output(&self) -> Option<&str> {
        match self {
            Self::Output { output: text, .. }
            | Self::Tool { stderr: text, .. }
            | Self::Benchmark { run: FailedRun { stderr: text, .. }, .. } => Some(text),
            Self::Start { .. } => None,
        }
    }
}

/// What to do about a program that could not be started.
const NOT_STARTED: &str = "check that the program exists, is executable and is on PATH";

/// The error of a side whose program was called with `command`: where that could not be started,
/// it says which side it was.
pub(crate) fn of_side(error: Error, side: Side, benchmark: &str, command: &Command) -> Error {
    let source = match error.as_kind() {
        Some(RunError::Spawn { source, .. }) => source.raw_os_error(),
        _ => None,
    };
    let Some(number) = source else { return error };
    let (benchmark, command) = (benchmark.to_owned(), command.shown());
    let source = io::Error::from_raw_os_error(number);
    ExecError::Start { side, benchmark, command, source }.into()
}

/// The error for a harness that was recognised but can't be used.
pub(crate) fn unusable_harness(benchmark: &str, harness: &str) -> Failure {
    let what = format!("`{benchmark}` can't be measured: the results of {harness} can't be read");
    Failure::new(
        what,
        "choose another target with `--bench`, `--example` or `--command`; a bench target with \
         criterion or divan, or one that prints JSON (`--harness json`), can be measured",
    )
}

impl RunFault {
    /// What to do about it: what a fault that is not the program's own or its standard error
    /// tells, else the next step.
    pub(crate) fn help(&self, stderr: &str, next_step: &str) -> Option<Help> {
        let hint = self.hint().or_else(|| port_hint(stderr)).map(str::to_owned);
        Help::of(hint.or_else(|| harness::advice(stderr)), next_step)
    }

    fn hint(&self) -> Option<&'static str> {
        match self {
            RunFault::Exit(exit) if exit.to_string().contains("SIGILL") => Some(
                "this processor may lack instructions that it was built for, as with `-C \
                 target-cpu=native`: build it for all machines that run it",
            ),
            RunFault::TimedOut(_) => Some("raise `--run-timeout`"),
            RunFault::TooMuchOutput => {
                Some("make it print less: it was stopped before it could fill the disk")
            }
            RunFault::Exit(_) => None,
        }
    }
}

/// What to do if [`lacks_toolchain`].
pub(crate) const INSTALL_TOOLCHAIN: &str = "install it, or choose one that is installed: \
    `--toolchain NAME` (`rustup toolchain list` shows them)";

/// Whether rustup printed that it lacks the toolchain which a folder or a variable names.
pub(crate) fn lacks_toolchain(stderr: &str) -> bool {
    let lacks = |line: &str| line.contains("toolchain '") && line.ends_with("is not installed");
    stderr.lines().any(lacks)
}

/// What to do if a program reports that its address is in use: in the system's words
/// (EADDRINUSE), or in those of a language's library.
fn port_hint(stderr: &str) -> Option<&'static str> {
    let words = ["Address already in use", "AddrInUse", "EADDRINUSE"];
    words.iter().any(|words| stderr.contains(words)).then_some(
        "an address was still in use: a port becomes free only some time after a run; use port 0, \
         which selects any free port, or set SO_REUSEADDR",
    )
}

impl Advise for RunError {
    fn advice(&self) -> Option<Help> {
        Help::next_step(match self {
            RunError::Interrupted => return None,
            RunError::Spawn { program, .. } if program == "cargo" => {
                "install Rust (https://rustup.rs), or add the folder of `cargo` to PATH"
            }
            RunError::Spawn { .. } => NOT_STARTED,
            RunError::Count { .. } => "measure without counters: `--metric wall_time`",
            RunError::Helper(_) => {
                "run it again; if it fails again, check the system log for what kills processes"
            }
        })
    }

    fn is_interrupt(&self) -> bool {
        matches!(self, RunError::Interrupted)
    }
}

impl Advise for harness::Error {
    fn advice(&self) -> Option<Help> {
        Help::next_step("measure the process itself with `--harness plain`")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::tests::each_leads_somewhere;
    use std::time::Duration;

    #[test]
    fn without_a_manifest_the_advice_is_another_folder() {
        let stderr = "error: could not find `Cargo.toml` in `/a` or any parent directory";
        let (command, exit) = ("cargo metadata".to_owned(), Exit::Code(101));
        let error = ExecError::Tool { command, folder: "/a".into(), exit, stderr: stderr.into() };
        let step = "change to the folder of a package or a workspace, with a `Cargo.toml`";
        assert_eq!(error.advice(), Help::hint(step));
    }

    #[test]
    fn every_error_ends_with_advice() {
        let gone = || io::Error::from(io::ErrorKind::NotFound);
        let text = String::new;
        let (side, exit) = (Side::Head, Exit::Code(3));
        let spawn = |program: &str| RunError::Spawn { program: program.into(), source: gone() };
        let benchmark = |fault, stderr: &str| {
            let run = FailedRun { fault, command: text(), stderr: stderr.to_owned() };
            ExecError::Benchmark { side, benchmark: text(), run }
        };
        each_leads_somewhere(vec![
            spawn("cargo").into(),
            spawn("other").into(),
            RunError::Count { program: text(), source: gone() }.into(),
            RunError::Helper(gone()).into(),
            harness::Error::Unreadable(text()).into(),
            ExecError::Tool { command: text(), folder: "a".into(), exit, stderr: text() }.into(),
            ExecError::Start { side, benchmark: text(), command: text(), source: gone() }.into(),
            benchmark(RunFault::Exit(exit), "").into(),
            benchmark(RunFault::Exit(exit), "EADDRINUSE").into(),
            benchmark(RunFault::TimedOut(Duration::from_secs(1)), "").into(),
            benchmark(RunFault::TooMuchOutput, "").into(),
            ExecError::Output {
                side,
                benchmark: text(),
                command: text(),
                harness: "json",
                output: text(),
                source: harness::Error::Unreadable(text()),
            }
            .into(),
            unusable_harness("a", "tango").into(),
        ]);
        assert_eq!(crate::Error::from(RunError::Interrupted).hint(), None);
    }
}
