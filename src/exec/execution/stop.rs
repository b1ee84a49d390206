//! Why a measurement has no values, or why something was not found out.

use crate::error::{Advise, Error};
use crate::exec::meter::Refusal;
use crate::exec::process::RunError;

/// Why a measurement has no values.
#[derive(Debug)]
pub(crate) enum Stop {
    /// The deadline was reached, and the run was stopped.
    OutOfTime,
    /// A signal arrived, and the run was stopped.
    Interrupted,
    /// The program failed, could not be run, or its output could not be read.
    Error(Error),
}

impl From<Error> for Stop {
    fn from(error: Error) -> Self {
        if error.is_interrupt() { Stop::Interrupted } else { Stop::Error(error) }
    }
}

impl<E: Advise + 'static> From<E> for Stop {
    fn from(error: E) -> Self {
        Stop::from(Error::from(error))
    }
}

impl From<Stop> for Error {
    /// The error for a caller that set no deadline.
    fn from(stop: Stop) -> Self {
        match stop {
            Stop::OutOfTime | Stop::Interrupted => RunError::Interrupted.into(),
            Stop::Error(error) => error,
        }
    }
}

/// Why something about a program was not found out.
#[derive(Debug)]
pub(crate) enum Unknown {
    /// For this reason, as the end of a sentence about the program, and what the user can do
    /// about it.
    Because(String, Option<String>),
    /// A run was stopped or failed.
    Stopped(Stop),
}

impl Unknown {
    /// The reason, if it is one.
    pub(crate) fn reason(self) -> Result<String, Stop> {
        match self {
            Unknown::Because(why, _) => Ok(why),
            Unknown::Stopped(stop) => Err(stop),
        }
    }
}

impl From<Stop> for Unknown {
    fn from(stop: Stop) -> Self {
        Unknown::Stopped(stop)
    }
}

impl<W: Into<String>> From<W> for Unknown {
    fn from(why: W) -> Self {
        Unknown::Because(why.into(), None)
    }
}

impl From<Refusal> for Unknown {
    fn from(refusal: Refusal) -> Self {
        Unknown::Because(refusal.why, refusal.hint)
    }
}
