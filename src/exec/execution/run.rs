//! One run of a program, or of two at the same time.

use std::path::Path;
use std::time::{Duration, Instant};

use super::{Context, Stop};
use crate::error::Error;
use crate::exec::meter::{Meters, Pass};
use crate::exec::process::{Command, Sink, stderr_tail};
use crate::model::row::Values;

/// The name of the file that gets a run's standard error.
const STDERR: &str = "said";

/// The least time that a run is given, so that it is begun at all.
const SHORTEST: Duration = Duration::from_millis(1);

/// How programs are run, and what their runs left behind.
pub(crate) struct Runs<'a> {
    /// Where the numbers come from.
    pub(crate) meters: &'a Meters,
    /// How long each run may take.
    pub(crate) timeout: Duration,
    /// Counts the processes that runs left behind.
    pub(crate) left_behind: &'a mut u64,
    pub(crate) context: Context<'a>,
}

impl Runs<'_> {
    /// Runs a program in all ways that its metrics need, and joins the values.
    /// `folder` is for files of the program's own.
    pub(crate) fn all_passes(
        &mut self,
        program: &Command,
        folder: &Path,
        deadline: Option<Instant>,
        failed: &dyn Fn(Failure) -> Error,
    ) -> Result<Values, Stop> {
        let mut all = Values::new();
        for pass in self.meters.passes() {
            for values in self.run(pass, &[(program, folder)], deadline, failed)? {
                all.extend(values);
            }
        }
        Ok(all)
    }

    /// Runs programs at the same time, one or two, each with a folder for files of its
    /// own, and gives the values of each. Running into the `deadline` is no failure,
    /// running into the timeout is; `failed` makes an error of it.
    pub(super) fn run(
        &mut self,
        pass: Pass,
        programs: &[(&Command, &Path)],
        deadline: Option<Instant>,
        failed: &dyn Fn(Failure) -> Error,
    ) -> Result<Vec<Values>, Stop> {
        let left = deadline.map(|at| at.saturating_duration_since(Instant::now()).max(SHORTEST));
        let mut commands = Vec::with_capacity(programs.len());
        for &(program, folder) in programs {
            let stderr = folder.join(STDERR);
            if stderr.metadata().is_ok_and(|file| file.len() > 0) {
                fs_err::write(&stderr, "").map_err(Error::io("empty", &stderr))?;
            }
            let program = Command {
                stderr: Sink::File(stderr),
                timeout: Some(left.map_or(self.timeout, |left| left.min(self.timeout))),
                sweep: true,
                ..program.clone()
            };
            commands.push(self.meters.prepare(pass, program, folder).map_err(Error::from)?);
        }
        let Context { helper, interrupt } = self.context;
        let outcomes = match commands.as_slice() {
            [one, other] => Vec::from(helper.run_both([one, other], interrupt)?),
            several => {
                several.iter().map(|one| helper.run(one, interrupt)).collect::<Result<_, _>>()?
            }
        };
        *self.left_behind += outcomes.iter().map(|one| u64::from(one.left_behind)).sum::<u64>();
        let mut values = Vec::with_capacity(outcomes.len());
        for (program, outcome) in outcomes.iter().enumerate() {
            if outcome.timed_out && left.is_some_and(|left| left < self.timeout) {
                return Err(Stop::OutOfTime);
            }
            let folder = programs[program].1;
            if let Some(what) = outcome.fault(self.timeout) {
                let (command, stderr) =
                    (commands[program].shown(), stderr_tail(&folder.join(STDERR)));
                return Err(failed(Failure { program, what, command, stderr }).into());
            }
            values.push(self.meters.read(pass, outcome, folder).map_err(Error::from)?);
        }
        Ok(values)
    }
}

/// A run that failed.
#[derive(Debug)]
pub(crate) struct Failure {
    /// Which of the programs it was.
    pub(crate) program: usize,
    /// What it did wrong.
    pub(crate) what: String,
    pub(crate) command: String,
    /// The end of its standard error.
    pub(crate) stderr: String,
}
