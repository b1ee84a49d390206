//! Watches a program: which of some functions it enters, and which files it asks for.
//!
//! A breakpoint at the first instruction of a function is met by whoever calls it, in
//! whatever way. Linux only lets the parent of a process set one (`ptrace(2)`), so a process
//! of ours stands between the helper and the program: see [`Tracing::command`].

#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod tracer;

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::Command;

/// Functions of an executable.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Breakpoints {
    /// Where the executable begins. It tells how far all addresses are moved when the
    /// program is loaded.
    pub(crate) entry: u64,
    /// Where the functions begin.
    pub(crate) places: BTreeSet<u64>,
}

/// What a program was seen to do.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Watched {
    /// Where the functions begin that it entered, of those that were watched.
    pub(crate) entered: BTreeSet<u64>,
    /// The files and folders that it asked the system for, whether they are there or not.
    pub(crate) asked_for: BTreeSet<PathBuf>,
    /// The programs that it has become, or that it ran.
    pub(crate) executed: BTreeSet<PathBuf>,
    /// What it did that can't be watched, if anything.
    pub(crate) unseen: Option<String>,
}

/// Whether a path is the name that Linux has for the executable of a process.
pub(crate) fn is_itself(path: &Path) -> bool {
    path.starts_with("/proc") && path.file_name().is_some_and(|name| name == "exe")
}

/// How a program is watched.
#[derive(Clone, Debug)]
pub(crate) struct Tracing {
    /// The program, with its first argument, that calls [`trace`].
    tracer: Vec<OsString>,
    breakpoints: Breakpoints,
    /// The file that tells them to it.
    told: PathBuf,
    /// The file in which it tells what it saw.
    report: PathBuf,
}

impl Tracing {
    /// Writes down the breakpoints, in a folder for what is told to the `tracer` and what it
    /// tells.
    ///
    /// # Errors
    /// When they can't be written.
    pub(crate) fn new(
        tracer: &[OsString],
        breakpoints: &Breakpoints,
        folder: &Path,
    ) -> io::Result<Self> {
        let (told, report) = (folder.join("breakpoints"), folder.join("watched"));
        std::fs::write(&told, serde_json::to_vec(breakpoints)?)?;
        let (tracer, breakpoints) = (tracer.to_vec(), breakpoints.clone());
        Ok(Tracing { tracer, breakpoints, told, report })
    }

    /// Watches these functions no more.
    ///
    /// # Errors
    /// When the other breakpoints can't be written down.
    pub(crate) fn leave_out(&mut self, functions: &BTreeSet<u64>) -> io::Result<()> {
        self.breakpoints.places.retain(|place| !functions.contains(place));
        std::fs::write(&self.told, serde_json::to_vec(&self.breakpoints)?)
    }

    /// The command that runs another one and watches it.
    pub(crate) fn command(&self, command: &Command) -> Command {
        // What an earlier one was seen to do is not what this one does.
        let _ = std::fs::remove_file(&self.report);
        let files = [&self.told, &self.report].map(OsString::from);
        let argv = self.tracer.iter().chain(&files).chain(&command.argv);
        Command { argv: argv.cloned().collect(), ..command.clone() }
    }

    /// What the program of the latest such command was seen to do.
    ///
    /// # Errors
    /// When nothing was written down.
    pub(crate) fn watched(&self) -> io::Result<Watched> {
        Ok(serde_json::from_slice(&std::fs::read(&self.report)?)?)
    }
}

/// Runs a program, watches it and writes down what it did. `args` are the file with the
/// breakpoints, the file to write to, the program and its arguments. Returns the exit code:
/// that of a shell where a signal ended the program.
///
/// # Errors
/// When a file can't be read or written, or the program can't be watched.
pub fn trace(mut args: impl Iterator<Item = OsString>) -> io::Result<u8> {
    let mut next = || args.next().ok_or(io::ErrorKind::InvalidInput);
    let (breakpoints, report, program) = (next()?, next()?, next()?);
    let breakpoints: Breakpoints = serde_json::from_slice(&std::fs::read(breakpoints)?)?;
    let mut command = std::process::Command::new(program);
    command.args(args);
    let (watched, code) = run(command, &breakpoints)?;
    std::fs::write(report, serde_json::to_vec(&watched)?)?;
    Ok(u8::try_from(code).unwrap_or(u8::MAX))
}

#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
use tracer::run;

#[cfg(not(all(target_os = "linux", target_arch = "x86_64")))]
fn run(_command: std::process::Command, _breakpoints: &Breakpoints) -> io::Result<(Watched, i32)> {
    Err(io::ErrorKind::Unsupported.into())
}
