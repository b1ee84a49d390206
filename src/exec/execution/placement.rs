//! The executable of a side, and those that take its place.

use std::path::{Path, PathBuf};

use crate::exec::program::Relink;

/// The suffix of an executable with another layout. It is stored next to the one that
/// was built, so that both find the same files.
pub(super) const ENDING: &str = "layout";

/// The maximum size of the linked layouts of one side that are kept, bytes.
const MOST_KEPT: u64 = 256 << 20;

/// The executable of one side, which can be given another layout.
#[derive(Clone, Debug)]
pub(super) struct Placement {
    /// The executable as built.
    pub(super) built: PathBuf,
    /// The one with another layout.
    pub(super) moved: PathBuf,
    /// The one that is aligned with the other side's, if it is used instead of that as built.
    pub(super) aligned: Option<PathBuf>,
    /// The index of the executable among the words of the command.
    pub(super) word: usize,
    pub(super) relink: Result<Relink, String>,
    /// The first linked layouts, in order.
    pub(super) kept: Vec<PathBuf>,
    /// How many more bytes of layouts are kept.
    pub(super) left: u64,
}

impl Placement {
    /// The placement of an executable, if the command runs it by its path.
    pub(super) fn of(
        argv: &[std::ffi::OsString],
        executable: &Path,
        relink: Result<Relink, String>,
    ) -> Option<Self> {
        let word = argv.iter().position(|word| Path::new(word) == executable)?;
        let (built, moved) = (executable.to_owned(), with_suffix(executable, ENDING));
        let (aligned, kept) = (None, Vec::new());
        Some(Placement { built, moved, aligned, word, relink, kept, left: MOST_KEPT })
    }
}

/// The path of a file next to another one.
pub(super) fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".");
    name.push(suffix);
    name.into()
}
