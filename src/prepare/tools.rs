//! Runs the tools that a preparation needs, through the helper process.

use std::ffi::OsString;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use crate::error::{Error, Kind};
use crate::process::{Command, Exit, Helper, Interrupt, Sink};

/// How much of a failed program's last words is kept, bytes.
const TAIL: u64 = 64 << 10;

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
        let outcome = self.helper.run(&command, self.interrupt)?;
        let printed = fs_err::read(&out).map_err(Error::io("read", &out))?;
        let printed = String::from_utf8_lossy(&printed).into_owned();
        Ok((outcome.exit, printed, tail(&err)))
    }

    /// What a tool prints; failing is an error.
    pub(crate) fn output(&self, command: Command) -> Result<String, Error> {
        let (shown, folder) = (command.shown(), command.cwd.clone());
        match self.quietly(command)? {
            (exit, printed, _) if exit.success() => Ok(printed),
            (exit, _, said) => Err(Kind::Tool { command: shown, folder, exit, said }.into()),
        }
    }

    /// Runs it with standard error streaming through; standard output goes
    /// to `stdout`.
    pub(crate) fn aloud(&self, mut command: Command, stdout: Sink) -> Result<Exit, Error> {
        command.stdout = stdout;
        command.stderr = Sink::Stderr;
        Ok(self.helper.run(&command, self.interrupt)?.exit)
    }
}

/// The end of a file, as text.
pub(crate) fn tail(path: &Path) -> String {
    let read = || -> std::io::Result<Vec<u8>> {
        let mut file = std::fs::File::open(path)?;
        let length = file.metadata()?.len();
        file.seek(SeekFrom::Start(length.saturating_sub(TAIL)))?;
        let mut bytes = Vec::new();
        file.take(TAIL).read_to_end(&mut bytes)?;
        Ok(bytes)
    };
    String::from_utf8_lossy(&read().unwrap_or_default()).into_owned()
}
