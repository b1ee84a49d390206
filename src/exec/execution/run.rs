//! One run of a program.

use std::path::Path;
use std::time::{Duration, Instant};

use super::stop::Stop;
use crate::error::{Error, Failure, Help};
use crate::exec::meter::{Meters, Pass};
use crate::exec::process::{Command, FailedRun, Helper, Interrupt, Sink};
use crate::model::row::Values;

/// The name of the file that gets a run's standard error.
const STDERR: &str = "stderr";

/// The minimum time that a run is given, so that it is started at all.
const SHORTEST: Duration = Duration::from_millis(1);

/// What runs programs, and what may stop it.
#[derive(Clone, Copy, Debug)]
pub struct Context<'a> {
    /// Starts the programs.
    pub helper: &'a Helper,
    /// Ends them.
    pub interrupt: &'a Interrupt,
}

/// How programs are run, and a count of the processes that they left behind.
pub(crate) struct Runs<'a> {
    /// The sources of the values.
    pub(crate) meters: &'a Meters,
    /// The maximum time of a run.
    pub(crate) timeout: Duration,
    /// Counts the processes that runs left behind.
    pub(crate) left_behind: &'a mut u64,
    pub(crate) context: Context<'a>,
}

impl Runs<'_> {
    /// Runs a program once, and returns the values of this pass. `folder` is for the
    /// program's own files. Reaching the `deadline` is not a failure, but reaching the
    /// timeout is; `failed` creates the error.
    pub(crate) fn run(
        &mut self,
        pass: Pass,
        program: &Command,
        folder: &Path,
        deadline: Option<Instant>,
        failed: impl FnOnce(FailedRun) -> Error,
    ) -> Result<Values, Stop> {
        let left = deadline.map(|at| at.saturating_duration_since(Instant::now()).max(SHORTEST));
        let stderr = folder.join(STDERR);
        if stderr.metadata().is_ok_and(|file| file.len() > 0) {
            fs_err::write(&stderr, "").map_err(Error::io("empty", &stderr))?;
        }
        let command = Command {
            stderr: Sink::File(stderr),
            timeout: Some(left.map_or(self.timeout, |left| left.min(self.timeout))),
            sweep: true,
            ..program.clone()
        };
        if let Some(build) = self.meters.build(pass, &command, folder)? {
            let outcome = self.context.helper.run(&build, self.context.interrupt)?;
            outcome.check(&build).map_err(|run| {
                let what =
                    format!("`rustc` could not compile the counter of allocations: {}", run.stderr);
                let hint = Help::hint("check that `rustc` and its linker work here");
                Failure::with(what, hint)
            })?;
        }
        let command = self.meters.prepare(pass, command, folder)?;
        let outcome = self.context.helper.run(&command, self.context.interrupt)?;
        if !outcome.timed_out {
            // A run that was stopped had no time to end its processes.
            *self.left_behind += u64::from(outcome.left_behind);
        }
        if outcome.timed_out && left.is_some_and(|left| left < self.timeout) {
            return Err(Stop::OutOfTime);
        }
        outcome.check(&command).map_err(failed)?;
        Ok(self.meters.read(pass, &command, &outcome, folder)?)
    }
}
