//! What is done right before a run, and the user's commands around runs.

use std::path::{Path, PathBuf};

use super::Context;
use crate::error::Error;
use crate::exec::error::ExecError;
use crate::exec::process::{Command, Isolation, Sink, pages, stderr_tail};
use crate::exec::system::is_pipe;
use crate::model::notice::RunNotice;
use crate::model::side::Side;
use crate::settings::options::{Benchmark, Hooks};
use crate::settings::values::PageCache;

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
    fn name(self) -> &'static str {
        match self {
            Hook::Prepare => "prepare",
            Hook::Setup => "setup",
            Hook::Cleanup => "cleanup",
        }
    }

    fn words(self, hooks: &Hooks) -> Option<&[String]> {
        let words = match self {
            Hook::Prepare => &hooks.prepare,
            Hook::Setup => &hooks.setup,
            Hook::Cleanup => &hooks.cleanup,
        };
        words.as_deref()
    }
}

/// The hooks of one side.
#[derive(Clone, Debug)]
pub(super) struct RunHooks {
    side: Side,
    /// A command with the environment and the folder of the side's runs.
    template: Command,
    output: PathBuf,
    stdin: Option<PathBuf>,
    /// The files to load into the page cache, or to drop from it.
    files: Vec<PathBuf>,
    /// Whether it was checked what the page cache still holds.
    checked_cache: bool,
}

impl RunHooks {
    /// The hooks around the runs of `command`; their output goes to `output`.
    pub(super) fn new(
        benchmark: &Benchmark,
        side: Side,
        command: &Command,
        executable: Option<&Path>,
        output: PathBuf,
    ) -> Self {
        let measuring = &benchmark.measuring;
        let mut files = Vec::new();
        if measuring.page_cache != PageCache::Alone {
            // If there is no such program, its first run will report that.
            files.extend(executable.map(Path::to_owned).or_else(|| command.program().ok()));
            files.extend(command.stdin.clone());
            files.extend(measuring.page_cache_files.iter().map(|path| command.cwd.join(path)));
        }
        let template = Command {
            stderr: Sink::File(output.clone()),
            stdout: Sink::File(output.clone()),
            timeout: Some(benchmark.run_timeout),
            stdin: None,
            isolation: Isolation::default(),
            ..command.clone()
        };
        let stdin = command.stdin.clone();
        RunHooks { side, template, output, stdin, files, checked_cache: false }
    }

    /// Does what is necessary right before a run, and returns what the user should
    /// know about it.
    pub(super) fn before_run(
        &mut self,
        benchmark: &Benchmark,
        context: Context<'_>,
    ) -> Result<Vec<RunNotice>, Error> {
        self.run(Hook::Prepare, benchmark, context)?;
        for path in self.stdin.iter().chain(&self.files) {
            check_readable(path)?;
        }
        let mut notices = Vec::new();
        for path in &self.files {
            match benchmark.measuring.page_cache {
                PageCache::Alone => {}
                PageCache::Warm => pages::load(path).map_err(Error::io("read", path))?,
                PageCache::Cold => {
                    let left = pages::evict(path);
                    let left = left.map_err(Error::io("drop from the page cache", path))?;
                    if left.pages > 0 && !self.checked_cache {
                        let share = left.pages as f64 / left.of as f64;
                        let (benchmark, file) = (benchmark.name.clone(), path.clone());
                        notices.push(RunNotice::StillCached { benchmark, file, share });
                    }
                }
            }
        }
        self.checked_cache = true;
        Ok(notices)
    }

    /// Runs a command of the user, if there is one.
    pub(super) fn run(
        &self,
        hook: Hook,
        benchmark: &Benchmark,
        context: Context<'_>,
    ) -> Result<(), Error> {
        let Some(words) = hook.words(&benchmark.measuring.hooks) else { return Ok(()) };
        fs_err::write(&self.output, "").map_err(Error::io("empty", &self.output))?;
        let argv = words.iter().map(Into::into).collect();
        let command = Command { argv, ..self.template.clone() };
        let outcome = context.helper.run(&command, context.interrupt)?;
        let Some(fault) = outcome.fault(benchmark.run_timeout) else { return Ok(()) };
        Err(ExecError::Hook {
            side: self.side,
            hook: hook.name(),
            benchmark: benchmark.name.clone(),
            fault,
            command: command.shown(),
            stderr: stderr_tail(&self.output),
        }
        .into())
    }
}

/// Fails if a file can't be read, which starting a program would not report, or if it
/// is a pipe, which only one run could read. A pipe is not opened, since that would
/// block until its other end is opened.
fn check_readable(path: &Path) -> Result<(), Error> {
    let metadata = path.metadata().map_err(Error::io("open", path))?;
    if is_pipe(&metadata) {
        return Err(ExecError::Pipe(path.to_owned()).into());
    }
    fs_err::File::open(path).map(drop).map_err(Error::io("open", path))
}
