//! What is done right before a run, and the user's commands around runs.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use super::Context;
use crate::error::Error;
use crate::exec::error::ExecError;
use crate::exec::process::{Command, Isolation, Sink, stderr_tail};
use crate::exec::system::is_pipe;
use crate::model::side::Side;
use crate::settings::options::{Benchmark, Hooks};

/// When a command of the user runs.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Hook {
    /// Before each run.
    Prepare,
    /// Before the first run.
    Setup,
    /// After the last run.
    Cleanup,
}

impl Hook {
    /// Its name, and the words of its command.
    fn of(self, hooks: &Hooks) -> (&'static str, Option<&Vec<String>>) {
        match self {
            Hook::Prepare => ("prepare", hooks.prepare.as_ref()),
            Hook::Setup => ("setup", hooks.setup.as_ref()),
            Hook::Cleanup => ("cleanup", hooks.cleanup.as_ref()),
        }
    }
}

/// The hooks of one side.
#[derive(Clone, Debug)]
pub(crate) struct RunHooks {
    side: Side,
    /// A command with the environment and the folder of the side's runs.
    template: Command,
    output: PathBuf,
    stdin: Option<PathBuf>,
}

impl RunHooks {
    /// The hooks around the runs of `command`; their output goes to `output`.
    pub(super) fn new(
        benchmark: &Benchmark,
        side: Side,
        command: &Command,
        output: PathBuf,
    ) -> Self {
        let template = Command {
            stderr: Sink::File(output.clone()),
            stdout: Sink::File(output.clone()),
            timeout: Some(benchmark.run_timeout),
            stdin: None,
            peak: false,
            isolation: Isolation::default(),
            ..command.clone()
        };
        let stdin = command.stdin.clone();
        RunHooks { side, template, output, stdin }
    }

    /// Does what is necessary right before a run.
    pub(super) fn before_run(
        &self,
        benchmark: &Benchmark,
        context: Context<'_>,
    ) -> Result<(), Error> {
        self.run(Hook::Prepare, benchmark, context)?;
        let Some(path) = self.stdin.as_deref() else { return Ok(()) };
        if is_readable(path).map_err(|source| ExecError::Stdin {
            side: self.side,
            benchmark: benchmark.name.clone(),
            path: path.to_owned(),
            source,
        })? {
            return Ok(());
        }
        Err(ExecError::Pipe(path.to_owned()).into())
    }

    /// Runs a command of the user, if there is one.
    pub(crate) fn run(
        &self,
        hook: Hook,
        benchmark: &Benchmark,
        context: Context<'_>,
    ) -> Result<(), Error> {
        let (hook, words) = hook.of(&benchmark.measuring.hooks);
        let Some(words) = words else { return Ok(()) };
        fs_err::write(&self.output, "").map_err(Error::io("empty", &self.output))?;
        let argv = words.iter().map(Into::into).collect();
        let command = Command { argv, ..self.template.clone() };
        let outcome = context.helper.run(&command, context.interrupt)?;
        let Some(fault) = outcome.fault(benchmark.run_timeout) else { return Ok(()) };
        Err(ExecError::Hook {
            side: self.side,
            hook,
            benchmark: benchmark.name.clone(),
            fault,
            command: command.shown(),
            stderr: stderr_tail(&self.output),
        }
        .into())
    }
}

/// Whether every run can read a file: only one could read a pipe. Fails if it can't be opened,
/// which starting a program would not report. A pipe is not opened, since that would block
/// until its other end is opened.
fn is_readable(path: &Path) -> io::Result<bool> {
    let is_file = !is_pipe(&path.metadata()?);
    if is_file {
        File::open(path)?;
    }
    Ok(is_file)
}
