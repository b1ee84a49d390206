//! Runs the tools that a preparation needs, through the helper process.

use std::ffi::OsString;
use std::io::Write;
use std::path::{Path, PathBuf};

use super::fault::Fault;
use crate::error::{Cause, Error, Kind};
use crate::exec::process::{Command, Exit, Helper, Interrupt, Sink, is_full, stderr_tail};
use crate::model::side::Side;

/// What is needed to run a tool.
#[derive(Debug)]
pub(crate) struct Tools<'a> {
    pub(crate) helper: &'a Helper,
    pub(crate) interrupt: &'a Interrupt,
    pub(crate) env: Vec<(OsString, OsString)>,
    /// A folder for what they print.
    pub(crate) scratch: PathBuf,
}

impl Tools<'_> {
    /// A command in `folder`, with `toolchain` as rustup's if given.
    pub(crate) fn command(
        &self,
        program: &str,
        args: Vec<OsString>,
        folder: &Path,
        toolchain: Option<&str>,
    ) -> Command {
        let mut argv = vec![OsString::from(program)];
        argv.extend(args);
        let (env, cwd) = (self.env.clone(), folder.to_owned());
        let mut command = Command { argv, env, cwd, ..Command::default() };
        if let Some(toolchain) = toolchain {
            command.set_var("RUSTUP_TOOLCHAIN", toolchain);
        }
        command
    }

    /// Runs it with its output kept in files: how it ended, what it printed,
    /// and the end of what it said on standard error.
    pub(crate) fn quietly(&self, mut command: Command) -> Result<(Exit, String, String), Error> {
        let folder = tempfile::Builder::new().prefix("said-").tempdir_in(&self.scratch);
        let folder = folder.map_err(Error::io("make a folder in", &self.scratch))?;
        let (out, err) = (folder.path().join("out"), folder.path().join("err"));
        command.stdout = Sink::File(out.clone());
        command.stderr = Sink::File(err.clone());
        let (shown, at) = (command.shown(), command.cwd.clone());
        let outcome = self.helper.run(&command, self.interrupt)?;
        if outcome.printed_too_much {
            let stderr = stderr_tail(&err);
            return Err(Kind::TooMuchOutput { command: shown, folder: at, stderr }.into());
        }
        let printed = fs_err::read(&out).map_err(Error::io("read", &out))?;
        check_whole(&out)?;
        let printed = String::from_utf8_lossy(&printed).into_owned();
        Ok((outcome.exit, printed, stderr_tail(&err)))
    }

    /// What a tool prints; failing is an error.
    pub(crate) fn output(&self, command: Command) -> Result<String, Error> {
        let (shown, folder) = (command.shown(), command.cwd.clone());
        match self.quietly(command)? {
            (exit, printed, _) if exit.success() => Ok(printed),
            (exit, _, stderr) => Err(Kind::Tool { command: shown, folder, exit, stderr }.into()),
        }
    }

    /// Runs a build of what lies in `tree` again after it failed, with what it
    /// says kept, to `judge` by that whose fault it is: an error. Where it goes
    /// well this time, what it printed.
    pub(super) fn again(
        &self,
        mut command: Command,
        (side, tree): (Side, &Path),
        judge: fn(Exit, &str, &Path) -> Fault,
    ) -> Result<String, Error> {
        command.set_var("CARGO_TERM_COLOR", "never");
        let shown = command.shown();
        let temporary = PathBuf::from(command.var("TMPDIR").unwrap_or("/tmp".as_ref()));
        let (exit, printed, said) = self.quietly(command)?;
        if exit.success() {
            return Ok(printed);
        }
        let fault = match [&self.scratch, &temporary].into_iter().find(|path| is_full(path)) {
            Some(full) => Fault::Outside(format!("No space left on device: `{}`", full.display())),
            None => judge(exit, &said, tree),
        };
        let command = shown;
        Err(match fault {
            Fault::Code => Kind::Build { side, command, exit }.into(),
            Fault::Outside(why) => {
                Kind::Unbuilt { side, command, exit, source: Cause::of(why) }.into()
            }
        })
    }

    /// Runs it with standard error streaming through; standard output goes
    /// to `stdout`.
    pub(crate) fn aloud(&self, mut command: Command, stdout: Sink) -> Result<Exit, Error> {
        command.stdout = stdout;
        command.stderr = Sink::Stderr;
        Ok(self.helper.run(&command, self.interrupt)?.exit)
    }
}

/// An error where what a program wrote to a file may have been cut off: few
/// tools mind that a disk is full. There has to be room for a byte more.
pub(super) fn check_whole(path: &Path) -> Result<(), Error> {
    let opened = std::fs::File::options().append(true).open(path);
    opened.and_then(|mut file| file.write_all(b"\n")).map_err(Error::io("write", path))
}
