//! The record of a folder: the build that filled it, and all of its files.
//!
//! The content may be reused only if the record states that it was filled from the same
//! inputs, and only after [`FolderRecord::restore`] has found every file unchanged. Three
//! kinds of folders have one: the worktrees in which build commands ran, submodules, and cargo's
//! target folders. (Of those, it only tells damage; see [`super::target_folder`] for the rest.)

use std::collections::BTreeMap;
use std::fs::Metadata;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::files::{read_record, remove, walk, write_record};
use crate::error::FileError;
use crate::exec::system::{Stamp, digest_file, git_bytes, mode, set_modified, stamp};

/// The content of a folder, and the build that filled it.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct FolderRecord<T> {
    pub(super) filled_from: T,
    /// The entries of the folder, by escaped relative paths.
    entries: BTreeMap<String, RecordedEntry>,
    /// When the record was written, by the clock of the file system.
    #[serde(skip)]
    written: Option<(i32, u32)>,
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
    File(RecordedFile),
    /// A socket or the like.
    Other,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct RecordedFile {
    length: u64,
    mode: u32,
    /// When it was last written, in nanoseconds since 1970.
    modified: i64,
    /// Values that change with every change of the file, if the system has them.
    stamp: Stamp,
    /// `None` if the file can't be read.
    sha256: Option<String>,
}

/// What to do with files that are not in the record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Strangers {
    /// They are removed.
    Remove,
    /// The folder counts as changed.
    Refuse,
}

/// The result of comparing a folder with its record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Restored {
    /// Nothing has changed.
    Same,
    /// Nothing has changed, but some files had to be read to find out. The
    /// record now has their current stamps.
    Reread,
    /// Something was changed or is missing.
    Changed,
}

impl<T: Serialize + DeserializeOwned> FolderRecord<T> {
    /// Records the content of the folder `root`, except for what `is_skipped`. `check` is
    /// called before each file and may abort with an error.
    pub(super) fn new<E: From<FileError>>(
        filled_from: T,
        root: &Path,
        is_skipped: impl Fn(&Path) -> bool,
        check: impl Fn() -> Result<(), E>,
    ) -> Result<Self, E> {
        let mut entries = BTreeMap::new();
        for (path, about) in walk(root, is_skipped)? {
            check()?;
            entries.insert(escape(&path), RecordedEntry::read(&root.join(&path), &about)?);
        }
        Ok(FolderRecord { filled_from, entries, written: None })
    }

    /// Reads the record at a path, if there is one.
    pub(super) fn read(path: &Path) -> Result<Option<Self>, FileError> {
        let Some(mut record) = read_record::<Self>(path)? else { return Ok(None) };
        record.written = path.metadata().ok().map(|about| stamp(&about).modified);
        Ok(Some(record))
    }

    pub(super) fn write(&self, path: &Path) -> Result<(), FileError> {
        write_record(path, self)
    }

    /// Restores the content of `folder` inside the folder `root`: resets the times of
    /// files, and handles `strangers`. What was changed or removed can't be restored. The
    /// record is that of everything in `root`, except for what `is_skipped`.
    pub(super) fn restore<E: From<FileError>>(
        &mut self,
        root: &Path,
        folder: &Path,
        is_skipped: impl Fn(&Path) -> bool,
        strangers: Strangers,
        check: impl Fn() -> Result<(), E>,
    ) -> Result<Restored, E> {
        let (mut seen, mut restored) = (0, Restored::Same);
        for (path, about) in walk(&root.join(folder), |path| is_skipped(&folder.join(path)))? {
            check()?;
            let path = folder.join(path);
            let full = root.join(&path);
            restored = restored.max(match self.entries.get_mut(&escape(&path)) {
                Some(entry) => {
                    seen += 1;
                    entry.restore(&full, &about, self.written)?
                }
                None if strangers == Strangers::Remove => {
                    remove(&full)?;
                    Restored::Same
                }
                None => Restored::Changed,
            });
            if restored == Restored::Changed {
                return Ok(restored);
            }
        }
        let folder = escape(folder);
        let is_inside = |path: &&String| **path != folder && Path::new(path).starts_with(&folder);
        let is_whole = self.entries.keys().filter(is_inside).count() == seen;
        Ok(if is_whole { restored } else { Restored::Changed })
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
        Ok(RecordedEntry::File(RecordedFile {
            length: about.len(),
            mode: mode(about),
            modified: nanoseconds(about),
            stamp: stamp(about),
            sha256: digest_file(full).ok(),
        }))
    }

    /// Compares the entry with its file, and resets the time of a file whose content
    /// is unchanged. The record was `written` at that time.
    fn restore(
        &mut self,
        full: &Path,
        about: &Metadata,
        written: Option<(i32, u32)>,
    ) -> Result<Restored, FileError> {
        let RecordedEntry::File(file) = self else {
            let is_same = RecordedEntry::read(full, about)? == *self;
            return Ok(if is_same { Restored::Same } else { Restored::Changed });
        };
        if !about.is_file() || about.len() != file.length || mode(about) != file.mode {
            return Ok(Restored::Changed);
        }
        // A file as new as the record may have been written after it.
        let is_old = |stamp: Stamp| written.is_some_and(|written| stamp.changed < written);
        if is_old(file.stamp) && file.stamp == stamp(about) {
            return Ok(Restored::Same);
        }
        if digest_file(full).ok().is_none_or(|sha256| file.sha256 != Some(sha256)) {
            return Ok(Restored::Changed);
        }
        // Build tools compare times.
        if nanoseconds(about) != file.modified {
            set_modified(full, time(file.modified)).map_err(FileError::new("touch", full))?;
        }
        let about = full.symlink_metadata().map_err(FileError::new("read", full))?;
        file.stamp = stamp(&about);
        Ok(Restored::Reread)
    }
}

/// The content of a worktree: relative paths, with the length and the time of
/// each file.
pub(super) type Outline = BTreeMap<PathBuf, (u64, i64)>;

/// The outline of the worktree at `root`, without what cargo itself writes for the
/// workspace in its folder `workspace`.
pub(super) fn outline(root: &Path, workspace: &Path) -> Result<Outline, FileError> {
    let cargos = ["Cargo.lock", "target"].map(|name| workspace.join(name));
    let found = walk(root, |path| is_git(path) || cargos.iter().any(|own| own == path))?;
    let outlined = found.into_iter().map(|(path, about)| match about.is_dir() {
        true => (path, (0, 0)),
        false => (path, (about.len(), nanoseconds(&about))),
    });
    Ok(outlined.collect())
}

/// Whether a path relative to the root of a worktree is git's own file.
pub(super) fn is_git(path: &Path) -> bool {
    path.as_os_str() == ".git"
}

/// When a file was last written, in nanoseconds since 1970.
fn nanoseconds(about: &Metadata) -> i64 {
    let number = |time: Duration| i64::try_from(time.as_nanos()).unwrap_or(i64::MAX);
    match about.modified().unwrap_or(UNIX_EPOCH).duration_since(UNIX_EPOCH) {
        Ok(after) => number(after),
        Err(before) => -number(before.duration()),
    }
}

/// The time of a number of [`nanoseconds`].
fn time(nanoseconds: i64) -> SystemTime {
    let span = Duration::from_nanos(nanoseconds.unsigned_abs());
    if nanoseconds < 0 { UNIX_EPOCH - span } else { UNIX_EPOCH + span }
}

/// A path as text, with bytes that are not UTF-8, and `%`, escaped as numbers.
fn escape(path: &Path) -> String {
    let mut text = String::new();
    for chunk in git_bytes(path).utf8_chunks() {
        text.push_str(&chunk.valid().replace('%', "%25"));
        chunk.invalid().iter().for_each(|byte| text.push_str(&format!("%{byte:02X}")));
    }
    text
}

#[cfg(test)]
mod tests {
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
            let record = FolderRecord::new((), &scratch.root(), is_git, ok).unwrap();
            record.write(&scratch.at()).unwrap();
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

        fn restore(&self, folder: &str) -> Restored {
            let mut record = FolderRecord::<()>::read(&self.at()).unwrap().unwrap();
            let restored = self.restore_with(&mut record, folder, Strangers::Remove);
            if restored == Restored::Reread {
                record.write(&self.at()).unwrap();
            }
            restored
        }

        fn restore_with(
            &self,
            record: &mut FolderRecord<()>,
            folder: &str,
            strangers: Strangers,
        ) -> Restored {
            let (root, folder) = (self.root(), Path::new(folder));
            record.restore(&root, folder, is_git, strangers, ok).unwrap()
        }

        /// Waits until the record is newer than all of its files.
        fn settle(&self) {
            while self.restore("") != Restored::Same {}
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
        let mut record = FolderRecord::read(&scratch.at()).unwrap().unwrap();
        let refused = scratch.restore_with(&mut record, "", Strangers::Refuse);
        assert_eq!((refused, scratch.root().join("stray").exists()), (Restored::Changed, true));
        // For a folder, only what is inside.
        assert_eq!(scratch.restore("made"), Restored::Same);
        assert!(!scratch.root().join("made/stray").exists());
        assert!(scratch.root().join("stray").exists());
        assert_eq!(scratch.restore(""), Restored::Same);
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
            assert_eq!(scratch.restore(""), Restored::Changed, "{name}");
        }
    }

    #[test]
    fn another_content_of_the_same_length_and_time_is_seen() {
        let scratch = Scratch::new();
        let path = scratch.root().join("file");
        let before = path.metadata().unwrap().modified().unwrap();
        scratch.write("file", "elif");
        set_modified(&path, before).unwrap();
        assert_eq!(scratch.restore(""), Restored::Changed);
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
        assert_eq!(scratch.restore(""), Restored::Reread);
        assert_eq!(path.metadata().unwrap().modified().unwrap(), before);
        scratch.settle();
    }

    #[test]
    fn half_a_record_is_none() {
        let scratch = Scratch::new();
        let text = std::fs::read(scratch.at()).unwrap();
        std::fs::write(scratch.at(), &text[..text.len() - 1]).unwrap();
        assert!(FolderRecord::<()>::read(&scratch.at()).unwrap().is_none());
        remove(&scratch.at()).unwrap();
        assert!(FolderRecord::<()>::read(&scratch.at()).unwrap().is_none());
        remove(&scratch.at()).unwrap();
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
        for number in [0, 1, -1, 1_700_000_000_123_456_789] {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("file");
            std::fs::write(&path, "").unwrap();
            set_modified(&path, time(number)).unwrap();
            // If the file system has coarser times.
            let found = nanoseconds(&path.metadata().unwrap());
            assert!((found - number).abs() < 2_000_000_000, "{found} for {number}");
        }
        assert_eq!(escape(Path::new("a%b")), "a%25b");
        let bytes = crate::exec::system::from_git(b"f\xffo");
        assert_ne!(escape(&bytes), escape(Path::new("fo")));
    }
}
