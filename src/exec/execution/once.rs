//! One run of a program, or of two at the same time.

use std::path::Path;
use std::time::{Duration, Instant};

use super::Hands;
use crate::engine::experiment::Run;
use crate::error::Error;
use crate::exec::meter::{Meters, Pass};
use crate::exec::process::{Command, Outcome, RunError, RunFault, Sink, stderr_tail};
use crate::model::row::Sample;

/// The name of the file that gets a run's standard error.
const SAID: &str = "said";

/// The least time that a run is given, so that it is begun at all.
const SHORTEST: Duration = Duration::from_millis(1);

/// A run that failed.
#[derive(Debug)]
pub(crate) struct Failed {
    /// How it failed.
    pub(crate) fault: RunFault,
    /// Its command.
    pub(crate) command: String,
    /// The end of its standard error.
    pub(crate) stderr: String,
}

/// What a run came to, if the machine did its part.
pub(crate) type Ran = Result<Run<Sample>, Failed>;

/// How programs are run.
#[derive(Clone, Copy)]
pub(crate) struct Once<'a> {
    /// Where the numbers come from.
    pub(crate) meters: &'a Meters,
    /// How long each run may take.
    pub(crate) limit: Duration,
    /// How long all of them may take; where this is the shorter one, running
    /// into it is no failure.
    pub(crate) left: Option<Duration>,
    pub(crate) hands: Hands<'a>,
}

impl Once<'_> {
    /// Runs a program in all ways that its metrics need, and joins the values.
    /// `folder` is for files of its own. Says also how many processes the runs
    /// left behind.
    pub(crate) fn all(&self, program: &Command, folder: &Path) -> Result<(Ran, u64), Error> {
        let begin = Instant::now();
        let (mut all, mut left_behind) = (Sample::new(), 0);
        for pass in self.meters.passes() {
            let left = self.left.map(|left| left.saturating_sub(begin.elapsed()));
            let (ran, behind) = Once { left, ..*self }.run(pass, &[(program, folder)])?;
            left_behind += behind;
            for ran in ran {
                match ran {
                    Ok(Run::Measured(sample)) => all.join(sample),
                    stopped => return Ok((stopped, left_behind)),
                }
            }
        }
        Ok((Ok(Run::Measured(all)), left_behind))
    }

    /// Runs programs at the same time, one or two, each with a folder for
    /// files of its own. Says also how many processes they left behind.
    pub(super) fn run(
        &self,
        pass: Pass,
        programs: &[(&Command, &Path)],
    ) -> Result<(Vec<Ran>, u64), Error> {
        let limit = self.limit;
        let left = self.left.map(|left| left.max(SHORTEST));
        let mut commands = Vec::with_capacity(programs.len());
        for &(program, folder) in programs {
            let said = folder.join(SAID);
            if said.metadata().is_ok_and(|file| file.len() > 0) {
                fs_err::write(&said, "").map_err(Error::io("empty", &said))?;
            }
            let program = Command {
                stderr: Sink::File(said),
                timeout: Some(left.map_or(limit, |left| left.min(limit))),
                sweep: true,
                ..program.clone()
            };
            commands.push(self.meters.prepare(pass, program, folder)?);
        }
        let (helper, interrupt) = (self.hands.helper, self.hands.interrupt);
        let ran = match commands.as_slice() {
            [one, other] => helper.run_both([one, other], interrupt).map(Vec::from),
            several => several.iter().map(|one| helper.run(one, interrupt)).collect(),
        };
        let outcomes = match ran {
            Ok(outcomes) => outcomes,
            Err(RunError::Interrupted) => return Ok((vec![Ok(Run::Interrupted)], 0)),
            Err(error) => return Err(error.into()),
        };
        let left_behind = outcomes.iter().map(|outcome| u64::from(outcome.left_behind)).sum();
        let each = outcomes.iter().zip(&commands).zip(programs);
        let judged = each
            .map(|((outcome, command), (_, folder))| self.judge(pass, outcome, command, folder));
        Ok((judged.collect::<Result<_, Error>>()?, left_behind))
    }

    fn judge(
        &self,
        pass: Pass,
        outcome: &Outcome,
        command: &Command,
        folder: &Path,
    ) -> Result<Ran, Error> {
        let limit = self.limit;
        if outcome.timed_out && self.left.is_some_and(|left| left < limit) {
            return Ok(Ok(Run::OutOfTime));
        }
        let Some(fault) = outcome.fault(limit) else {
            return Ok(Ok(Run::Measured(self.meters.read(pass, outcome, folder)?)));
        };
        let stderr = stderr_tail(&folder.join(SAID));
        Ok(Err(Failed { fault, command: command.shown(), stderr }))
    }
}
