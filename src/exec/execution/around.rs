//! What is done around runs, outside of what is measured.

use std::path::{Path, PathBuf};

use super::Hands;
use crate::error::{Error, Kind};
use crate::exec::process::{Command, Sink, pages, stderr_tail};
use crate::exec::system::is_pipe;
use crate::model::notice::RunNotice;
use crate::model::side::Side;
use crate::settings::options::{Benchmark, Hooks};
use crate::settings::values::PageCache;

/// The variable that makes the environment of a pair longer.
const PADDING: &str = "CBDR_PADDING";

/// By how much at most, bytes: a page, beyond which places repeat.
const MOST_PADDING: u64 = 4096;

/// A command of the user's around runs.
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

/// What surrounds the runs of a side.
#[derive(Clone, Debug)]
pub(super) struct Around {
    side: Side,
    /// The surroundings of its commands: those of its runs.
    template: Command,
    said: PathBuf,
    /// Where standard input comes from.
    stdin: Option<PathBuf>,
    /// What is warmed or cooled.
    files: Vec<PathBuf>,
    /// Whether it was looked at what the cache keeps.
    looked: bool,
}

impl Around {
    /// What surrounds a program's runs; `said` is the file of the last words.
    pub(super) fn new(
        benchmark: &Benchmark,
        side: Side,
        command: &Command,
        executable: Option<&Path>,
        said: &Path,
    ) -> Self {
        let measuring = &benchmark.measuring;
        let cwd = &command.cwd;
        let stdin = command.stdin.clone();
        let mut files = Vec::new();
        if measuring.page_cache != PageCache::Alone {
            // That there is no such program is for its first run to say.
            files.extend(executable.map(Path::to_owned).or_else(|| command.program().ok()));
            files.extend(stdin.clone());
            files.extend(measuring.page_cache_files.iter().map(|path| cwd.join(path)));
        }
        let template = Command {
            stderr: Sink::File(said.to_owned()),
            stdout: Sink::File(said.to_owned()),
            timeout: Some(benchmark.run_timeout),
            stdin: None,
            ..command.clone()
        };
        Around { side, template, said: said.to_owned(), stdin, files, looked: false }
    }

    /// Does what is to be done right before a run; what there is to say of it.
    pub(super) fn before_run(
        &mut self,
        benchmark: &Benchmark,
        hands: Hands<'_>,
    ) -> Result<Vec<RunNotice>, Error> {
        self.hook(Hook::Prepare, benchmark, hands)?;
        for path in self.stdin.iter().chain(&self.files) {
            check_again(path)?;
        }
        let mut remarks = Vec::new();
        for path in &self.files {
            match benchmark.measuring.page_cache {
                PageCache::Alone => {}
                PageCache::Warm => pages::load(path).map_err(Error::io("read", path))?,
                PageCache::Cold => {
                    let left = pages::evict(path);
                    let left = left.map_err(Error::io("drop from the page cache", path))?;
                    if left.pages > 0 && !self.looked {
                        let share = left.pages as f64 / left.of as f64;
                        let (benchmark, file) = (benchmark.name.clone(), path.clone());
                        remarks.push(RunNotice::StillCached { benchmark, file, share });
                    }
                }
            }
        }
        self.looked = true;
        Ok(remarks)
    }

    /// Runs a command of the user's, if there is one.
    pub(super) fn hook(
        &self,
        hook: Hook,
        benchmark: &Benchmark,
        hands: Hands<'_>,
    ) -> Result<(), Error> {
        let Some(words) = hook.words(&benchmark.measuring.hooks) else { return Ok(()) };
        fs_err::write(&self.said, "").map_err(Error::io("empty", &self.said))?;
        let argv = words.iter().map(Into::into).collect();
        let command = Command { argv, ..self.template.clone() };
        let outcome = hands.helper.run(&command, hands.interrupt)?;
        let Some(what) = outcome.fault(benchmark.run_timeout) else { return Ok(()) };
        Err(Kind::Hook {
            side: self.side,
            hook: hook.name(),
            benchmark: benchmark.name.clone(),
            what,
            command: command.shown(),
            said: stderr_tail(&self.said),
        }
        .into())
    }
}

/// An error where a file can't be read, which the program's start could not say,
/// or can't be read by every run anew. A pipe is not opened: that would wait for
/// its other end.
fn check_again(path: &Path) -> Result<(), Error> {
    let about = path.metadata().map_err(Error::io("open", path))?;
    if is_pipe(&about) {
        return Err(Kind::Pipe(path.to_owned()).into());
    }
    fs_err::File::open(path).map(drop).map_err(Error::io("open", path))
}

/// Gives a command an environment of another length, which `lot` decides.
pub(super) fn pad(command: &mut Command, lot: u64) {
    command.set_var(PADDING, "x".repeat((lot % MOST_PADDING) as usize));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_padding_is_what_the_lot_says() {
        let mut command = Command::default();
        for (lot, length) in [(0, 0), (5, 5), (4096, 0), (u64::MAX, 4095)] {
            pad(&mut command, lot);
            assert_eq!(command.var(PADDING).map(|text| text.len()), Some(length));
        }
    }
}
