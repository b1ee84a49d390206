//! Runs the tools that a preparation needs, through the helper process.

use std::ffi::OsString;
use std::io::Write;
use std::path::Path;

use tempfile::TempDir;

use super::files::temporary_folder;
use crate::error::{Error, Failure};
use crate::exec::error::ExecError;
use crate::exec::execution::Context;
use crate::exec::process::{Command, Exit, Helper, Interrupt, RunFault, Sink, stderr_tail};

/// What is needed to run a tool.
#[derive(Debug)]
pub struct Tools<'a> {
    pub(crate) helper: &'a Helper,
    pub(crate) interrupt: &'a Interrupt,
    pub(crate) env: Vec<(OsString, OsString)>,
    /// A folder for their output.
    pub(crate) scratch: TempDir,
}

/// How a tool ended, and its output.
pub(crate) struct Captured {
    pub(crate) command: Command,
    pub(crate) exit: Exit,
    pub(crate) stdout: String,
    /// The end of it.
    pub(crate) stderr: String,
}

impl Captured {
    /// The error that it failed.
    pub(crate) fn failed(self) -> ExecError {
        let Captured { command, exit, stderr, .. } = self;
        ExecError::Tool { command: command.shown(), folder: command.cwd, exit, stderr }
    }

    /// The error that something could not be done because it failed.
    pub(crate) fn kept_from(self, what: &str, next_step: &str) -> Failure {
        let what = format!("could not {what}: `{}` {}", self.command.shown(), self.exit);
        Failure::new(what, next_step).of_output(self.stderr)
    }
}

impl<'a> Tools<'a> {
    /// Tools that run in this environment.
    pub(crate) fn new(context: Context<'a>, env: Vec<(OsString, OsString)>) -> Result<Self, Error> {
        let Context { helper, interrupt } = context;
        let scratch = tempfile::tempdir();
        let scratch = scratch.map_err(Error::io("create a folder in", &std::env::temp_dir()))?;
        Ok(Tools { helper, interrupt, env, scratch })
    }

    /// A command in `folder`, with `toolchain` as rustup's if given.
    pub(crate) fn command(
        &self,
        program: &str,
        args: impl IntoIterator<Item = impl Into<OsString>>,
        folder: &Path,
        toolchain: Option<&str>,
    ) -> Command {
        let mut argv = vec![OsString::from(program)];
        argv.extend(args.into_iter().map(Into::into));
        let (env, cwd) = (self.env.clone(), folder.to_owned());
        let mut command = Command { argv, env, cwd, ..Command::default() };
        if let Some(toolchain) = toolchain {
            command.set_var("RUSTUP_TOOLCHAIN", toolchain);
        }
        command
    }

    /// Runs a command with its output captured.
    pub(crate) fn capture(&self, mut command: Command) -> Result<Captured, Error> {
        let folder = temporary_folder("captured-", self.scratch.path())?;
        let (out, err) = (folder.path().join("out"), folder.path().join("err"));
        command.stdout = Sink::File(out.clone());
        command.stderr = Sink::File(err.clone());
        let outcome = self.helper.run(&command, self.interrupt)?;
        let stderr = stderr_tail(&err);
        if outcome.printed_too_much {
            let (shown, folder) = (command.shown(), command.cwd.display());
            let what =
                format!("`{shown}` {} in `{folder}`, and was ended", RunFault::TooMuchOutput);
            let step = "run the command in that folder to see what it needs";
            return Err(Failure::new(what, step).of_output(stderr).into());
        }
        let printed = fs_err::read(&out).map_err(Error::io("read", &out))?;
        check_whole(&out)?;
        let stdout = String::from_utf8_lossy(&printed).into_owned();
        Ok(Captured { command, exit: outcome.exit, stdout, stderr })
    }

    /// The output of a tool; an error if it fails.
    pub(crate) fn output(&self, command: Command) -> Result<String, Error> {
        self.output_or(command, Captured::failed)
    }

    /// The output of a tool; if it fails, the error that `failed` makes of that.
    pub(crate) fn output_or<E: Into<Error>>(
        &self,
        command: Command,
        failed: impl FnOnce(Captured) -> E,
    ) -> Result<String, Error> {
        let ran = self.capture(command)?;
        if ran.exit.success() { Ok(ran.stdout) } else { Err(failed(ran).into()) }
    }

    /// Runs a command whose standard error streams through to ours; standard output
    /// goes to `stdout`.
    pub(crate) fn stream(&self, mut command: Command, stdout: Sink) -> Result<Exit, Error> {
        command.stdout = stdout;
        command.stderr = Sink::Stderr;
        Ok(self.helper.run(&command, self.interrupt)?.exit)
    }
}

/// Returns an error if a program's file may be truncated: few tools notice that
/// a disk is full. There has to be room for one more byte.
pub(super) fn check_whole(path: &Path) -> Result<(), Error> {
    let opened = std::fs::File::options().append(true).open(path);
    opened.and_then(|mut file| file.write_all(b"\n")).map_err(Error::io("write", path))
}
