//! One measurement of a program: all the kinds of runs that it takes.

use std::path::Path;
use std::time::{Duration, Instant};

use crate::error::Error;
use crate::meter::{Meters, Pass};
use crate::prepare::tail;
use crate::process::{Command, Helper, Interrupt, RunError, Sink};
use crate::runner::Run;
use crate::sample::Sample;

/// The name of the file that gets a run's standard error.
const SAID: &str = "said";

/// The least time that a run is given, so that it is begun at all.
const SHORTEST: Duration = Duration::from_millis(1);

/// A run that failed.
#[derive(Debug)]
pub(crate) struct Failed {
    /// What it did.
    pub(crate) what: String,
    /// Its command.
    pub(crate) command: String,
    /// The end of its standard error.
    pub(crate) said: String,
}

/// One measurement.
pub(crate) struct Once<'a> {
    /// Where its numbers come from.
    pub(crate) meters: &'a Meters,
    /// A folder for files of its own.
    pub(crate) folder: &'a Path,
    /// How long each run may take.
    pub(crate) limit: Duration,
    /// How long all of them may take; where this is the shorter one, running
    /// into it is no failure.
    pub(crate) left: Option<Duration>,
    pub(crate) helper: &'a Helper,
    pub(crate) interrupt: &'a Interrupt,
}

impl Once<'_> {
    /// Runs a program in all ways but `done`, and joins their values. Says
    /// also how many processes the runs left behind. `plain` is called when
    /// the plain run has ended well, and before another one begins.
    pub(crate) fn all(
        &self,
        program: &Command,
        done: &[Pass],
        plain: &mut dyn FnMut(),
    ) -> Result<(Result<Run<Sample>, Failed>, u64), Error> {
        let program =
            Command { stderr: Sink::File(self.folder.join(SAID)), sweep: true, ..program.clone() };
        let begin = Instant::now();
        let (mut all, mut left_behind) = (Sample::new(), 0);
        for pass in self.meters.passes().into_iter().filter(|pass| !done.contains(pass)) {
            let command = self.meters.prepare(pass, &program, self.folder)?;
            let rest = |left: Duration| left.saturating_sub(begin.elapsed()).max(SHORTEST);
            let (ran, behind) = self.run(pass, command, self.left.map(rest))?;
            left_behind += behind;
            match ran {
                Ok(Run::Measured(sample)) => all.join(sample),
                stopped => return Ok((stopped, left_behind)),
            }
            if pass == Pass::Plain {
                plain();
            }
        }
        Ok((Ok(Run::Measured(all)), left_behind))
    }

    fn run(
        &self,
        pass: Pass,
        mut command: Command,
        left: Option<Duration>,
    ) -> Result<(Result<Run<Sample>, Failed>, u64), Error> {
        let limit = self.limit;
        command.timeout = Some(left.map_or(limit, |left| left.min(limit)));
        let said = self.folder.join(SAID);
        if said.metadata().is_ok_and(|file| file.len() > 0) {
            fs_err::write(&said, "").map_err(Error::io("empty", &said))?;
        }
        let outcome = match self.helper.run(&command, self.interrupt) {
            Ok(outcome) => outcome,
            Err(RunError::Interrupted) => return Ok((Ok(Run::Interrupted), 0)),
            Err(error) => return Err(error.into()),
        };
        let left_behind = u64::from(outcome.left_behind);
        let what = if outcome.timed_out && left.is_some_and(|left| left < limit) {
            return Ok((Ok(Run::OutOfTime), left_behind));
        } else if outcome.timed_out {
            format!("ran longer than {}", humantime::format_duration(limit))
        } else if outcome.exit.success() {
            let sample = self.meters.read(pass, &outcome, self.folder)?;
            return Ok((Ok(Run::Measured(sample)), left_behind));
        } else {
            outcome.exit.to_string()
        };
        Ok((Err(Failed { what, command: command.shown(), said: tail(&said) }), left_behind))
    }
}
