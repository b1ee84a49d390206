//! What is done right before a run, and the user's commands around runs.

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};

use super::run::Context;
use crate::error::{Error, Failure};
use crate::exec::process::{Command, FailedRun, Isolation, Sink};
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
    stdin: Option<OsString>,
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
        let Some(path) = self.stdin.as_ref().map(Path::new) else { return Ok(()) };
        let is_pipe = is_pipe_to_read(path).map_err(|source| {
            let (side, benchmark, path) = (self.side, &benchmark.name, path.display());
            let what = format!(
                "could not open `{path}`, the standard input of the {side} of `{benchmark}`"
            );
            let step = "name a file that both sides have in the package's folder, or one outside \
                        of the repository by its absolute path";
            Failure::new(what, step).caused_by(source)
        })?;
        if !is_pipe {
            return Ok(());
        }
        let path = path.display();
        let what = format!("`{path}` is a pipe, but every run has to read it from the beginning");
        Err(Failure::new(what, "write it to a file first, and use that file").into())
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
        let ran = context.helper.run(&command, context.interrupt)?.check(&command);
        ran.map_err(|FailedRun { fault, command, stderr }| {
            let (side, name) = (self.side, &benchmark.name);
            let what = format!("`{hook}` of the {side} of `{name}` {fault}: `{command}`");
            let help = fault.help("", "run the command by hand to see why it fails");
            Failure::with(what, help).of_output(stderr).into()
        })
    }
}

/// Whether a file is a pipe, which only one run could read. Fails if it can't be opened, which
/// starting a program would not report. A pipe is not opened, since that would block until its
/// other end is opened.
fn is_pipe_to_read(path: &Path) -> io::Result<bool> {
    let is_pipe = is_pipe(&path.metadata()?);
    if !is_pipe {
        std::fs::File::open(path)?;
    }
    Ok(is_pipe)
}
