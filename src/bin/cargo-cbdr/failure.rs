//! Why a subcommand failed.

use std::io;

use cargo_cbdr::Error;

/// The failure that ended the program.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    /// An error of the library.
    #[error(transparent)]
    Library(#[from] Error),
    /// A mistake in the command line.
    #[error(transparent)]
    Usage(Box<cargo_cbdr::settings::Error>),
    /// A mistake in the command line that no setting has.
    #[error("{0}")]
    Arguments(String),
    /// An output that could not be written.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// Something that can't be done here.
    #[error("{0}")]
    Refused(String),
}

impl Failure {
    /// Rejects the command line.
    pub(crate) fn arguments<T>(what: impl Into<String>) -> Result<T, Self> {
        Err(Failure::Arguments(what.into()))
    }

    /// Rejects what can't be done here.
    pub(crate) fn refused<T>(what: impl Into<String>) -> Result<T, Self> {
        Err(Failure::Refused(what.into()))
    }
}

/// Of a setting of the command line.
impl From<cargo_cbdr::settings::Error> for Failure {
    fn from(error: cargo_cbdr::settings::Error) -> Self {
        Failure::Usage(Box::new(error))
    }
}
