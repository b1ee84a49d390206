//! Builds from the future: the clock was set back since they were made.
//!
//! Cargo goes by the times of files. Sources that are checked out now would be
//! older than such a build, and it would be taken for theirs.

use std::path::Path;
use std::time::SystemTime;

use crate::error::Error;

/// Removes from a side's folder the builds that are later than `now`. To be
/// called before its worktree is written to.
pub(super) fn forget_the_future(side_folder: &Path, now: SystemTime) -> Result<(), Error> {
    for entry in std::fs::read_dir(side_folder).into_iter().flatten().flatten() {
        let is_build = entry.file_name().as_encoded_bytes().starts_with(b"live-");
        if is_build && is_later(&entry.path(), now) {
            let path = entry.path();
            fs_err::remove_dir_all(&path).map_err(Error::io("remove", &path))?;
        }
    }
    Ok(())
}

/// Whether a folder holds a file that is later than `now`. The compiler's
/// incremental state goes by contents.
pub(super) fn is_later(folder: &Path, now: SystemTime) -> bool {
    let later = |entry: std::fs::DirEntry| {
        let Ok(about) = entry.metadata() else { return false };
        if about.is_dir() {
            return entry.file_name() != "incremental" && is_later(&entry.path(), now);
        }
        about.is_file() && about.modified().is_ok_and(|modified| modified > now)
    };
    std::fs::read_dir(folder).into_iter().flatten().flatten().any(later)
}
