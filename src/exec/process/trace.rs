//! Traces a program: which of some functions it enters, and which files it accesses.
//!
//! A breakpoint at the first instruction of a function is hit by every call, however it is
//! made. Linux only lets the parent of a process set one (`ptrace(2)`), so there is another
//! process of ours between the helper and the program: see [`Tracing::command`].

#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod names;
mod paths;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod tracer;
mod watched;

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};

pub(crate) use watched::{Access, Breakpoints, Watched};

use super::command::Command;
use super::preload;

/// The variable by which the tracer gets what the program should preload.
const PRELOADED: &str = "CBDR_PRELOADED";

/// How a program is traced.
#[derive(Clone, Debug)]
pub(crate) struct Tracing {
    /// The program, with its first argument, that calls [`trace`].
    tracer: Vec<OsString>,
    breakpoints: Breakpoints,
    /// The file with the breakpoints.
    breakpoints_file: PathBuf,
    /// The file to which it writes the trace.
    report_file: PathBuf,
}

impl Tracing {
    /// Writes the breakpoints, in a folder for the files of the `tracer`.
    ///
    /// # Errors
    /// If they can't be written.
    pub(crate) fn new(
        tracer: &[OsString],
        breakpoints: &Breakpoints,
        folder: &Path,
    ) -> io::Result<Self> {
        let (breakpoints_file, report_file) = (folder.join("breakpoints"), folder.join("watched"));
        std::fs::write(&breakpoints_file, serde_json::to_vec(breakpoints)?)?;
        let (tracer, breakpoints) = (tracer.to_vec(), breakpoints.clone());
        Ok(Tracing { tracer, breakpoints, breakpoints_file, report_file })
    }

    /// Stops watching these functions, some of which only until another one is entered.
    ///
    /// # Errors
    /// If the other breakpoints can't be written.
    pub(crate) fn leave_out(
        &mut self,
        functions: &BTreeSet<u64>,
        later: &BTreeSet<u64>,
    ) -> io::Result<()> {
        self.breakpoints.places.retain(|place| !functions.contains(place));
        self.breakpoints.later.clone_from(later);
        std::fs::write(&self.breakpoints_file, serde_json::to_vec(&self.breakpoints)?)
    }

    /// The functions that are watched once another one was entered.
    pub(crate) fn later(&self) -> &BTreeSet<u64> {
        &self.breakpoints.later
    }

    /// The command that runs another one and traces it.
    pub(crate) fn command(&self, command: &Command) -> Command {
        // Removes the trace of an earlier command.
        let _ = std::fs::remove_file(&self.report_file);
        let files = [&self.breakpoints_file, &self.report_file].map(OsString::from);
        let argv = self.tracer.iter().chain(&files).chain(&command.argv);
        let mut tracing = Command { argv: argv.cloned().collect(), ..command.clone() };
        // What is preloaded belongs to the program.
        for (name, _) in tracing.env.iter_mut().filter(|(name, _)| name == preload::VARIABLE) {
            *name = PRELOADED.into();
        }
        tracing
    }

    /// The trace of the latest such command.
    ///
    /// # Errors
    /// If there is no trace.
    pub(crate) fn watched(&self) -> io::Result<Watched> {
        Ok(serde_json::from_slice(&std::fs::read(&self.report_file)?)?)
    }
}

/// Runs a program, traces it and writes the trace. `args` are the file with the
/// breakpoints, the file to write to, the program and its arguments. Returns the exit code;
/// after a signal, that of a shell.
///
/// # Errors
/// If a file can't be read or written, or the program can't be traced.
pub fn trace(mut args: impl Iterator<Item = OsString>) -> io::Result<u8> {
    let mut next = || args.next().ok_or(io::ErrorKind::InvalidInput);
    let (breakpoints, report_file, program) = (next()?, next()?, next()?);
    let breakpoints: Breakpoints = serde_json::from_slice(&std::fs::read(breakpoints)?)?;
    let mut command = std::process::Command::new(program);
    command.args(args);
    if let Some(libraries) = std::env::var_os(PRELOADED) {
        command.env(preload::VARIABLE, libraries).env_remove(PRELOADED);
    }
    let (watched, code) = run(command, &breakpoints)?;
    std::fs::write(report_file, serde_json::to_vec(&watched)?)?;
    Ok(u8::try_from(code).unwrap_or(u8::MAX))
}

#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
use tracer::run;

#[cfg(not(all(target_os = "linux", target_arch = "x86_64")))]
fn run(_command: std::process::Command, _breakpoints: &Breakpoints) -> io::Result<(Watched, i32)> {
    Err(io::ErrorKind::Unsupported.into())
}
