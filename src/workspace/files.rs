//! Files and folders in the cache: walks through them, removals, and records
//! that are written atomically.

use std::fs::Metadata;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use serde::Serialize;
use serde::de::DeserializeOwned;
use tempfile::TempDir;

use crate::error::FileError;
use crate::exec::system::{self, Memo};

/// Everything below the folder `root`, by relative paths; a folder comes before
/// its content. What `is_skipped` is left out, with its content. Links are not
/// followed. What vanishes in the meantime, because a process still runs there, is
/// left out, too.
pub(super) fn walk(
    root: &Path,
    is_skipped: impl Fn(&Path) -> bool,
) -> Result<Vec<(PathBuf, Metadata)>, FileError> {
    let mut found = Vec::new();
    let mut folders = vec![PathBuf::new()];
    while let Some(folder) = folders.pop() {
        let full = root.join(&folder);
        let Some(entries) = unless_gone(fs_err::read_dir(&full), &full)? else { continue };
        for entry in entries {
            let entry = entry.map_err(FileError::new("read", &full))?;
            let path = folder.join(entry.file_name());
            if is_skipped(&path) {
                continue;
            }
            let Some(about) = unless_gone(entry.path().symlink_metadata(), &entry.path())? else {
                continue;
            };
            if about.is_dir() {
                folders.push(path.clone());
            }
            found.push((path, about));
        }
    }
    Ok(found)
}

fn unless_gone<T>(read: io::Result<T>, path: &Path) -> Result<Option<T>, FileError> {
    match read {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        read => read.map(Some).map_err(FileError::new("read", path)),
    }
}

/// A folder in another one, for files that are needed for a moment; `prefix` begins its name.
pub(super) fn temporary_folder(prefix: &str, inside: &Path) -> Result<TempDir, FileError> {
    let folder = tempfile::Builder::new().prefix(prefix).tempdir_in(inside);
    folder.map_err(FileError::new("create a folder in", inside))
}

/// Removes a file, a link, or a folder with its content, if it exists.
pub(super) fn remove(path: &Path) -> Result<(), FileError> {
    system::remove(path).map_err(FileError::new("remove", path))
}

/// Removes everything below the folder `root` that is not known, by relative paths, and what is
/// neither a file, nor a link, nor a folder. What `is_skipped` stays, with its content.
pub(super) fn remove_unknown(
    root: &Path,
    is_skipped: impl Fn(&Path) -> bool,
    is_known: impl Fn(&Path) -> bool,
) -> Result<(), FileError> {
    for (path, about) in walk(root, is_skipped)? {
        let is_plain = about.is_file() || about.is_symlink() || about.is_dir();
        if !is_plain || !is_known(&path) {
            remove(&root.join(path))?;
        }
    }
    Ok(())
}

/// What was read, or `None` if the error shows that it is missing or damaged.
/// Any other error (such as a lack of file descriptors) shows nothing about it.
pub(super) fn unless_damaged<T>(read: io::Result<T>, path: &Path) -> Result<Option<T>, FileError> {
    match read {
        Err(error) if is_damage(error.kind()) => Ok(None),
        read => read.map(Some).map_err(FileError::new("read", path)),
    }
}

/// Whether an error shows that something is missing, damaged, or another kind of file.
pub(super) fn is_damage(kind: ErrorKind) -> bool {
    matches!(
        kind,
        ErrorKind::NotFound
            | ErrorKind::NotADirectory
            | ErrorKind::IsADirectory
            | ErrorKind::AlreadyExists
            | ErrorKind::InvalidInput
            | ErrorKind::InvalidData
    )
}

/// Whether a path in a target folder is that of the compiler's incremental state, which checks
/// itself. In `build`, packages may have that name.
pub(super) fn is_incremental(path: &Path) -> bool {
    path.ends_with("incremental") && path.iter().all(|part| part != "build")
}

/// The number of the format of all records; incremented when one of them changes.
const FORMAT: &str = "3";

/// Reads a record. `None` if there is none, or none that was written completely
/// by this version, or a damaged one.
pub(super) fn read_record<T: DeserializeOwned>(path: &Path) -> Result<Option<T>, FileError> {
    Ok(unless_damaged(Memo::new(path.to_owned(), FORMAT).read(), path)?.flatten())
}

/// Writes a record in one step.
pub(super) fn write_record(path: &Path, record: &impl Serialize) -> Result<(), FileError> {
    Memo::new(path.to_owned(), FORMAT).write(record).map_err(FileError::new("write", path))
}
