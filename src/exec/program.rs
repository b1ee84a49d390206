//! What is run of one side.

use std::path::PathBuf;

use crate::exec::process::Command;

/// What is run of one side.
#[derive(Clone, Debug)]
pub(crate) struct Program {
    pub(crate) command: Command,
    /// The executable, where cargo built it.
    pub(crate) executable: Option<PathBuf>,
    /// A name for what it is made of.
    pub(crate) identity: String,
    /// The side's own folder in the cache, the name of which may be in what it
    /// prints.
    pub(crate) home: PathBuf,
}
