//! Why something can't be measured, or what was measured can't be read.

use std::io;
use std::path::Path;

use crate::error::{Advise, Failure, Help};

/// Why a metric can't be measured on this machine.
#[derive(Debug, thiserror::Error)]
#[error("`{metric}` can't be measured: {why}")]
pub struct Refusal {
    pub(crate) metric: &'static str,
    /// The reason, to follow a colon.
    pub why: String,
    /// What the user can do about it.
    pub hint: Option<String>,
    /// The system's error, if it is one.
    pub(crate) source: Option<io::Error>,
}

impl Refusal {
    pub(super) fn new(metric: &'static str, why: &str, hint: Option<&str>) -> Self {
        Refusal { metric, why: why.to_owned(), hint: hint.map(str::to_owned), source: None }
    }
}

impl Advise for Refusal {
    fn advice(&self) -> Option<Help> {
        Help::of(self.hint.clone(), FILE_STEP)
    }
}

/// What to do where a file can't be read.
const FILE_STEP: &str = "check that the file can be read, or choose another `--metric`";

/// The error that a file of a program, or with its counts, could not be read or written.
pub(super) fn unread(what: &str, path: &Path) -> impl FnOnce(io::Error) -> Failure {
    let what = format!("could not {what} `{}`", path.display());
    move |source| Failure::new(what, FILE_STEP).caused_by(source)
}

/// The error that none of the files of valgrind, or of what counts allocations, could be read.
pub(super) fn no_count() -> Failure {
    let hint = "perhaps the program was killed, or valgrind can't follow it";
    Failure::with("the run left no count", Help::hint(hint))
}
