//! What went wrong, as all rooms report it: an error of any of them, with its advice.

use std::error::Error as StdError;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

/// An error that leads somewhere. Each room has types of its own, whose advice stands next to
/// their messages.
pub trait Advise: StdError + Send + Sync {
    /// What the user can do about it; `None` if the message is enough.
    fn advice(&self) -> Option<Help>;

    /// The end of what the failed program printed, to be shown as it is.
    fn child_output(&self) -> Option<&str> {
        None
    }

    /// Whether a signal asked this process to end.
    fn is_interrupt(&self) -> bool {
        false
    }
}

/// What the user can do about an error.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Help {
    /// It follows from the error, whatever its cause.
    Hint(String),
    /// It helps unless the cause is an exhausted resource.
    NextStep(String),
}

impl Help {
    pub(crate) fn hint(text: impl Into<String>) -> Option<Self> {
        Some(Help::Hint(text.into()))
    }

    pub(crate) fn next_step(text: impl Into<String>) -> Option<Self> {
        Some(Help::NextStep(text.into()))
    }

    /// The hint if there is one, else the next step.
    pub(crate) fn of(hint: Option<String>, next_step: &str) -> Option<Self> {
        Some(hint.map_or_else(|| Help::NextStep(next_step.to_owned()), Help::Hint))
    }
}

/// What caused an error; a text is one, too.
pub(crate) type Cause = Box<dyn StdError + Send + Sync>;

/// An error that nobody tells apart from others: what went wrong with which thing, and what helps.
#[derive(Debug, thiserror::Error)]
#[error("{what}")]
pub(crate) struct Failure {
    what: String,
    help: Option<Help>,
    output: String,
    source: Option<Cause>,
}

impl Failure {
    /// One with a step that helps unless the cause is an exhausted resource.
    pub(crate) fn new(what: impl Into<String>, next_step: impl Into<String>) -> Self {
        Failure::with(what, Help::next_step(next_step))
    }

    /// One with any help.
    pub(crate) fn with(what: impl Into<String>, help: Option<Help>) -> Self {
        Failure { what: what.into(), help, output: String::new(), source: None }
    }

    /// The same, of a program with this end of its standard error.
    pub(crate) fn of_output(self, output: impl Into<String>) -> Self {
        Failure { output: output.into(), ..self }
    }

    /// The same with its cause.
    pub(crate) fn caused_by(self, source: impl Into<Cause>) -> Self {
        Failure { source: Some(source.into()), ..self }
    }
}

impl Advise for Failure {
    fn advice(&self) -> Option<Help> {
        self.help.clone()
    }

    fn child_output(&self) -> Option<&str> {
        Some(&self.output)
    }
}

/// Why there is no result: an error of any room.
#[derive(Debug)]
pub struct Error(Box<dyn Advise>);

impl<E: Advise + 'static> From<E> for Error {
    fn from(error: E) -> Self {
        Error(Box::new(error))
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl StdError for Error {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        self.0.source()
    }
}

impl Error {
    /// What the user can do about it.
    pub fn hint(&self) -> Option<String> {
        match self.0.advice() {
            Some(Help::Hint(hint)) => Some(hint),
            Some(Help::NextStep(step)) => Some(shortage(self).map_or(step, str::to_owned)),
            None if self.is_interrupt() => None,
            None => shortage(self).map(str::to_owned),
        }
    }

    /// The end of what the failed program printed, to be shown as it is.
    pub fn child_output(&self) -> Option<&str> {
        self.0.child_output().filter(|text| !text.trim().is_empty())
    }

    /// Whether a signal asked this process to end.
    pub fn is_interrupt(&self) -> bool {
        self.0.is_interrupt()
    }

    /// The error of one room, if it is of this type.
    pub fn as_kind<E: Advise + 'static>(&self) -> Option<&E> {
        let error: &(dyn StdError + 'static) = &*self.0;
        error.downcast_ref()
    }

    /// As [`FileError::new`].
    pub(crate) fn io(verb: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        let error = FileError::new(verb, path);
        move |source| error(source).into()
    }
}

/// An operation on a file or folder failed. The cache has the advice, since most files are its
/// own.
#[derive(Debug, thiserror::Error)]
#[error("could not {verb} `{}`", .path.display())]
pub struct FileError {
    verb: &'static str,
    pub(crate) path: PathBuf,
    pub(crate) source: io::Error,
}

impl FileError {
    /// Names the verb and the path of a failed call.
    pub(crate) fn new(verb: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| FileError { verb, path, source }
    }
}

/// What to do about a system error that reports an exhausted resource, or a limit.
fn shortage_hint(error: &io::Error) -> Option<&'static str> {
    Some(match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            "make room; CBDR_CACHE_DIR moves the cache to another disk, TMPDIR the temporary files"
        }
        io::ErrorKind::FileTooLarge => "allow larger files: `ulimit -f unlimited`",
        io::ErrorKind::OutOfMemory => NO_MEMORY,
        io::ErrorKind::WouldBlock => {
            "allow more processes: `ulimit -u`, or wait until fewer are running"
        }
        // Of one process, or of the whole system. Neither has a kind of its own.
        _ if error.to_string().starts_with("Too many open files") => {
            "allow more open files: `ulimit -n 1024`"
        }
        _ => return None,
    })
}

const NO_MEMORY: &str = "free some memory, or raise the limit (`ulimit -v`)";

/// The messages of this system for each shortage, as programs in other languages print them,
/// with the hint.
static SHORTAGES: LazyLock<Vec<(String, &str)>> = LazyLock::new(|| {
    let with_words = |error: io::Error| {
        let text = error.to_string();
        let words = text.split(" (os error").next()?.to_owned();
        shortage_hint(&error).map(|hint| (words, hint))
    };
    (1..=LARGEST_ERRNO).map(io::Error::from_raw_os_error).filter_map(with_words).collect()
});

/// The largest error number of any Unix.
const LARGEST_ERRNO: i32 = 133;

/// What to do about a shortage that a program's text reports: in the system's words, or
/// in those of a Rust program that gets no memory.
pub(crate) fn shortage_in_text(text: &str) -> Option<&'static str> {
    let known = SHORTAGES.iter().find(|(words, _)| text.contains(words)).map(|(_, hint)| *hint);
    known.or_else(|| text.contains("memory allocation of").then_some(NO_MEMORY))
}

/// What to do about a shortage that an error or one of its causes reports. The text counts if
/// the cause is in another program or library.
pub fn shortage(error: &(dyn StdError + 'static)) -> Option<&'static str> {
    let mut next = Some(error);
    while let Some(cause) = next {
        let hint = cause.downcast_ref().and_then(shortage_hint);
        if let Some(hint) = hint.or_else(|| shortage_in_text(&cause.to_string())) {
            return Some(hint);
        }
        next = cause.source();
    }
    None
}

#[cfg(test)]
pub(crate) mod tests;
