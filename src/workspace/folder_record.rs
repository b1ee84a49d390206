//! The record of a folder: what filled it, and all of its files.
//!
//! The content may be reused only if the record states that it was filled from the same
//! inputs, and every file is unchanged. Three kinds of folders have one: the worktrees in which
//! build commands ran, submodules, and cargo's target folders. (Of those, it only tells damage;
//! see [`super::target_folder`] for the rest.)

use std::collections::BTreeMap;
use std::fs::Metadata;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

use super::files::{read_record, remove, walk, write_record};
use crate::error::FileError;
use crate::exec::system::{Stamp, digest_file, mode, set_modified, stamp};

/// A folder and the file with its record.
pub(super) struct RecordedFolder<'a> {
    pub(super) root: &'a Path,
    pub(super) record: &'a Path,
    /// Paths in it that are not recorded.
    pub(super) is_skipped: &'a dyn Fn(&Path) -> bool,
    pub(super) strangers: Strangers,
}

/// The content of a folder, and what filled it.
#[derive(Debug, Serialize, Deserialize)]
struct FolderRecord {
    filled_from: String,
    /// The entries of the folder, by escaped relative paths.
    entries: BTreeMap<String, RecordedEntry>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum RecordedEntry {
    Folder {
        mode: u32,
    },
    Link {
        to: String,
    },
    File {
        length: u64,
        mode: u32,
        stamp: Stamp,
        /// `None` if the file can't be read.
        sha256: Option<String>,
    },
    /// A socket or the like.
    Other,
}

/// What to do with files that are not in the record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Strangers {
    /// They are removed.
    Remove,
    /// The folder counts as changed.
    Refuse,
}

impl RecordedFolder<'_> {
    /// Records the content of the folder, which `filled_from` identifies. `check` is called
    /// before each file and may abort with an error.
    pub(super) fn write<E: From<FileError>>(
        &self,
        filled_from: &str,
        check: impl Fn() -> Result<(), E>,
    ) -> Result<(), E> {
        let mut entries = BTreeMap::new();
        for (path, about) in walk(self.root, self.is_skipped)? {
            check()?;
            entries.insert(escape(&path), RecordedEntry::read(&self.root.join(&path), &about)?);
        }
        let record = FolderRecord { filled_from: filled_from.to_owned(), entries };
        Ok(write_record(self.record, &record)?)
    }

    /// Whether the folder has what it was filled with; `None` if it was not filled from this, as
    /// far as known. Resets the times of files, and handles strangers. What was changed or
    /// removed can't be restored.
    pub(super) fn restore<E: From<FileError>>(
        &self,
        filled_from: &str,
        check: impl Fn() -> Result<(), E>,
    ) -> Result<Option<bool>, E> {
        let record = read_record::<FolderRecord>(self.record)?;
        let Some(mut record) = record.filter(|record| record.filled_from == filled_from) else {
            return Ok(None);
        };
        let written = self.record.metadata().ok().map(|about| stamp(&about).modified);
        let (mut seen, mut is_stale) = (0, false);
        for (path, about) in walk(self.root, self.is_skipped)? {
            check()?;
            let full = self.root.join(&path);
            match record.entries.get_mut(&escape(&path)) {
                None if self.strangers == Strangers::Remove => remove(&full)?,
                Some(entry) => {
                    if !entry.restore(&full, &about, written, &mut is_stale)? {
                        return Ok(Some(false));
                    }
                    seen += 1;
                }
                None => return Ok(Some(false)),
            }
        }
        if is_stale {
            write_record(self.record, &record)?;
        }
        Ok(Some(record.entries.len() == seen))
    }
}

impl RecordedEntry {
    fn read(full: &Path, about: &Metadata) -> Result<Self, FileError> {
        if about.is_symlink() {
            let to = std::fs::read_link(full).map_err(FileError::new("read", full))?;
            return Ok(RecordedEntry::Link { to: escape(&to) });
        }
        if about.is_dir() {
            return Ok(RecordedEntry::Folder { mode: mode(about) });
        }
        if !about.is_file() {
            return Ok(RecordedEntry::Other);
        }
        Ok(RecordedEntry::File {
            length: about.len(),
            mode: mode(about),
            stamp: stamp(about),
            sha256: digest_file(full).ok(),
        })
    }

    /// Whether an entry is as it was recorded, at the time `written`. Resets the time of a file
    /// whose content is unchanged, and sets `is_stale` if that had to be read to find out: the
    /// entry now has its current stamp.
    fn restore(
        &mut self,
        full: &Path,
        about: &Metadata,
        written: Option<(i64, u32)>,
        is_stale: &mut bool,
    ) -> Result<bool, FileError> {
        let RecordedEntry::File { length, mode: recorded_mode, stamp: recorded, sha256 } = self
        else {
            return Ok(RecordedEntry::read(full, about)? == *self);
        };
        if !about.is_file() || about.len() != *length || mode(about) != *recorded_mode {
            return Ok(false);
        }
        // A file as new as the record may have been written after it.
        let is_old = written.is_some_and(|written| recorded.changed < written);
        if is_old && *recorded == stamp(about) {
            return Ok(true);
        }
        if sha256.is_none() || digest_file(full).ok() != *sha256 {
            return Ok(false);
        }
        // Build tools compare times.
        if stamp(about).modified != recorded.modified {
            let modified = time(recorded.modified);
            set_modified(full, modified).map_err(FileError::new("touch", full))?;
        }
        let about = full.symlink_metadata().map_err(FileError::new("read", full))?;
        *recorded = stamp(&about);
        *is_stale = true;
        Ok(true)
    }
}

/// The content of a worktree: relative paths, with the length and the time of
/// each file.
pub(super) type Outline = BTreeMap<PathBuf, (u64, (i64, u32))>;

/// The outline of the worktree at `root`, without what cargo itself writes for the
/// workspace in its folder `workspace`.
pub(super) fn outline(root: &Path, workspace: &Path) -> Result<Outline, FileError> {
    let cargos = ["Cargo.lock", "target"].map(|name| workspace.join(name));
    let found = walk(root, |path| is_git(path) || cargos.iter().any(|own| own == path))?;
    let outlined = found.into_iter().map(|(path, about)| match about.is_dir() {
        true => (path, (0, (0, 0))),
        false => (path, (about.len(), stamp(&about).modified)),
    });
    Ok(outlined.collect())
}

/// Whether a path relative to the root of a worktree is git's own file.
pub(super) fn is_git(path: &Path) -> bool {
    path.as_os_str() == ".git"
}

/// So many seconds and nanoseconds after the beginning of 1970.
fn time((seconds, nanoseconds): (i64, u32)) -> SystemTime {
    let whole = Duration::from_secs(seconds.unsigned_abs());
    let whole = if seconds < 0 { UNIX_EPOCH - whole } else { UNIX_EPOCH + whole };
    whole + Duration::from_nanos(nanoseconds.into())
}

/// A path as text, with bytes that are not UTF-8, and backslashes, escaped.
fn escape(path: &Path) -> String {
    format!("{path:?}")
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::exec::system::link;

    fn ok() -> Result<(), FileError> {
        Ok(())
    }

    /// A worktree with its record beside it.
    struct Scratch {
        folder: tempfile::TempDir,
    }

    impl Scratch {
        fn new() -> Self {
            let folder = tempfile::tempdir().unwrap();
            let scratch = Scratch { folder };
            for (name, text) in [("file", "file"), ("made/deep/file", "deep"), ("made/other", "")] {
                scratch.write(name, text);
            }
            scratch.write(".git", "not looked at");
            link(Path::new("file"), &scratch.root().join("link")).unwrap();
            scratch.with(Strangers::Remove, |folder| folder.write("it", ok)).unwrap();
            scratch
        }

        fn root(&self) -> PathBuf {
            self.folder.path().join("tree")
        }

        fn at(&self) -> PathBuf {
            self.folder.path().join("tree.record")
        }

        fn write(&self, name: &str, text: &str) {
            crate::exec::system::write(&self.root().join(name), text);
        }

        fn with<T>(&self, strangers: Strangers, then: impl FnOnce(RecordedFolder<'_>) -> T) -> T {
            let (root, record) = (&*self.root(), &*self.at());
            then(RecordedFolder { root, record, is_skipped: &is_git, strangers })
        }

        fn restore(&self) -> Option<bool> {
            self.with(Strangers::Remove, |folder| folder.restore("it", ok)).unwrap()
        }

        /// Whether it is restored without a file being read.
        fn is_settled(&self) -> bool {
            let before = std::fs::metadata(self.at()).unwrap();
            assert_eq!(self.restore(), Some(true));
            stamp(&std::fs::metadata(self.at()).unwrap()) == stamp(&before)
        }

        /// Waits until the record is newer than all of its files.
        fn settle(&self) {
            while !self.is_settled() {}
        }
    }

    #[test]
    fn what_is_as_it_was_needs_not_be_read_and_strangers_go() {
        let scratch = Scratch::new();
        scratch.settle();
        scratch.write(".git", "changed");
        for name in ["stray", "made/stray", "strays/deep/file"] {
            scratch.write(name, "");
        }
        link(Path::new("nowhere"), &scratch.root().join("made/link")).unwrap();
        let refused = scratch.with(Strangers::Refuse, |folder| folder.restore("it", ok)).unwrap();
        assert_eq!((refused, scratch.root().join("stray").exists()), (Some(false), true));
        assert!(scratch.is_settled());
        for name in ["stray", "made/link", "strays"] {
            assert!(scratch.root().join(name).symlink_metadata().is_err(), "{name}");
        }
    }

    #[test]
    fn every_change_is_seen() {
        type Change = fn(&Scratch);
        let changes: [(&str, Change); 6] = [
            ("missing", |s| std::fs::remove_file(s.root().join("made/deep/file")).unwrap()),
            ("longer", |s| s.write("made/deep/file", "deeper")),
            ("other", |s| s.write("made/deep/file", "deef")),
            ("a link for a file", |s| {
                std::fs::remove_file(s.root().join("file")).unwrap();
                link(Path::new("made/deep/file"), &s.root().join("file")).unwrap();
            }),
            ("a link elsewhere", |s| {
                std::fs::remove_file(s.root().join("link")).unwrap();
                link(Path::new("made"), &s.root().join("link")).unwrap();
            }),
            ("a folder for a file", |s| {
                std::fs::remove_file(s.root().join("made/other")).unwrap();
                std::fs::create_dir(s.root().join("made/other")).unwrap();
            }),
        ];
        for (name, change) in changes {
            let scratch = Scratch::new();
            scratch.settle();
            change(&scratch);
            assert_eq!(scratch.restore(), Some(false), "{name}");
        }
    }

    #[test]
    fn another_content_of_the_same_length_and_time_is_seen() {
        let scratch = Scratch::new();
        let path = scratch.root().join("file");
        let before = path.metadata().unwrap().modified().unwrap();
        scratch.write("file", "elif");
        set_modified(&path, before).unwrap();
        assert_eq!(scratch.restore(), Some(false));
    }

    #[test]
    fn what_was_only_touched_or_copied_is_the_same_and_has_its_time_again() {
        let scratch = Scratch::new();
        scratch.settle();
        let path = scratch.root().join("made/deep/file");
        let before = path.metadata().unwrap().modified().unwrap();
        std::fs::remove_file(&path).unwrap();
        scratch.write("made/deep/file", "deep");
        set_modified(&path, before + Duration::from_secs(7)).unwrap();
        assert!(!scratch.is_settled());
        assert_eq!(path.metadata().unwrap().modified().unwrap(), before);
        scratch.settle();
    }

    #[test]
    fn half_a_record_is_none_and_neither_is_one_of_something_else() {
        let scratch = Scratch::new();
        let other = scratch.with(Strangers::Remove, |folder| folder.restore("other", ok));
        assert_eq!(other.unwrap(), None);
        let text = std::fs::read(scratch.at()).unwrap();
        std::fs::write(scratch.at(), &text[..text.len() - 1]).unwrap();
        assert_eq!(scratch.restore(), None);
        remove(&scratch.at()).unwrap();
        assert_eq!(scratch.restore(), None);
    }

    #[test]
    fn cargos_own_files_are_not_in_the_outline() {
        let scratch = Scratch::new();
        let outline = || outline(&scratch.root(), Path::new("made")).unwrap();
        let before = outline();
        scratch.write("made/target/debug/app", "");
        scratch.write("made/Cargo.lock", "");
        assert_eq!(outline(), before);
        scratch.write("target/debug/app", "");
        assert_ne!(outline(), before);
    }

    #[test]
    fn times_and_paths_are_written_so_that_they_can_be_read() {
        for (seconds, nanoseconds) in [(0, 0), (0, 1), (-1, 999_999_999), (1_700_000_000, 123_456)]
        {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("file");
            std::fs::write(&path, "").unwrap();
            set_modified(&path, time((seconds, nanoseconds))).unwrap();
            // If the file system has coarser times.
            let (found, _) = stamp(&path.metadata().unwrap()).modified;
            assert!((found - seconds).abs() < 2, "{found} for {seconds}");
        }
        let bytes = crate::exec::system::from_git(b"f\xffo");
        let paths = [&*bytes, Path::new("f\\xFFo"), Path::new("f\u{fffd}o"), Path::new("fo")];
        assert_eq!(paths.map(escape).into_iter().collect::<BTreeSet<_>>().len(), paths.len());
    }
}
