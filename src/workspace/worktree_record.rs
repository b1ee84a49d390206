//! The record of a worktree in which build commands ran: what it was built
//! from, and every file that lay in it when they had succeeded.
//!
//! A later comparison may run what lies there only if the record says that it
//! was built from the same things, and only after [`WorktreeRecord::restore`] has
//! found every file as it was and removed what runs have left since.

use std::collections::BTreeMap;
use std::fs::Metadata;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

use super::files::{read_record, remove, walk, write_record};
use crate::error::{Error, FileError};
use crate::exec::process::Interrupt;
use crate::exec::system::{Stamp, digest_file, git_bytes, mode, set_modified, stamp};

/// Everything that the contents of a built worktree depend on, as far as it is
/// known.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct BuiltFrom {
    /// The commit, or the tree of a dirty one, and what the worktree lacks of it.
    pub(super) identity: String,
    /// A digest of the lock file.
    pub(super) lock: String,
    /// A digest of the environment, the compiler and what else shapes builds.
    pub(super) environment: String,
    /// A digest of each build command with its folder, in the order in which
    /// they ran.
    pub(super) commands: Vec<String>,
}

/// What was built, and from what.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct WorktreeRecord {
    pub(super) built_from: BuiltFrom,
    /// Whether the build wrote nothing but cargo's lock file and target folder.
    pub(super) is_cargos: bool,
    /// What lay in the worktree, by escaped paths from its root.
    entries: BTreeMap<String, RecordedEntry>,
    /// When the record was written, by the clock of the file system.
    #[serde(skip)]
    written: Option<(i32, u32)>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum RecordedEntry {
    Folder {
        mode: Option<u32>,
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
    mode: Option<u32>,
    /// When it was last written, in nanoseconds since 1970.
    modified: i64,
    /// What changes with every change of the file, where the system tells it.
    stamp: Option<Stamp>,
    /// `None` where the file can't be read.
    sha256: Option<String>,
}

/// How what lies there compares with the record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Restored {
    /// Everything is as it was.
    Same,
    /// Everything is as it was, but some files had to be read to know that. The
    /// record now knows them by their present stamps.
    Reread,
    /// Something was changed or is missing.
    Changed,
}

impl WorktreeRecord {
    /// Records what lies in the worktree at `root`.
    pub(super) fn new(
        root: &Path,
        built_from: BuiltFrom,
        interrupt: &Interrupt,
    ) -> Result<Self, Error> {
        let mut entries = BTreeMap::new();
        for (path, about) in walk(root, is_git)? {
            interrupt.check()?;
            entries.insert(escape(&path), RecordedEntry::read(&root.join(&path), &about)?);
        }
        Ok(WorktreeRecord { built_from, is_cargos: false, entries, written: None })
    }

    /// Reads the record at a path, if there is one.
    pub(super) fn read(path: &Path) -> Result<Option<Self>, Error> {
        let Some(mut record) = read_record::<Self>(path)? else { return Ok(None) };
        record.written = path.metadata().ok().and_then(|about| stamp(&about)).map(|s| s.modified);
        Ok(Some(record))
    }

    pub(super) fn write(&self, path: &Path) -> Result<(), FileError> {
        write_record(path, self)
    }

    /// Brings what lies below `folder` of the worktree at `root` back to what it was:
    /// removes what is not in the record, and sets back the times of files. What was
    /// changed or removed can't be restored.
    pub(super) fn restore(
        &mut self,
        root: &Path,
        folder: &Path,
        interrupt: &Interrupt,
    ) -> Result<Restored, Error> {
        let (mut seen, mut restored) = (0, Restored::Same);
        for (path, about) in walk(&root.join(folder), |path| is_git(&folder.join(path)))? {
            interrupt.check()?;
            let path = folder.join(path);
            let full = root.join(&path);
            let Some(entry) = self.entries.get_mut(&escape(&path)) else {
                remove(&full)?;
                continue;
            };
            seen += 1;
            restored = restored.max(entry.restore(&full, &about, self.written)?);
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
    fn read(full: &Path, about: &Metadata) -> Result<Self, Error> {
        if about.is_symlink() {
            let to = std::fs::read_link(full).map_err(Error::io("read", full))?;
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

    /// Compares the entry with what lies there, and sets back the time of a file that
    /// holds what it did. The record was `written` at that time.
    fn restore(
        &mut self,
        full: &Path,
        about: &Metadata,
        written: Option<(i32, u32)>,
    ) -> Result<Restored, Error> {
        let RecordedEntry::File(file) = self else {
            let is_same = RecordedEntry::read(full, about)? == *self;
            return Ok(if is_same { Restored::Same } else { Restored::Changed });
        };
        if !about.is_file() || about.len() != file.length || mode(about) != file.mode {
            return Ok(Restored::Changed);
        }
        // A file as young as the record may have been written after it.
        let is_old = |stamp: Stamp| written.is_some_and(|written| stamp.changed < written);
        if file.stamp.is_some_and(is_old) && file.stamp == stamp(about) {
            return Ok(Restored::Same);
        }
        if digest_file(full).ok().is_none_or(|sha256| file.sha256 != Some(sha256)) {
            return Ok(Restored::Changed);
        }
        // Tools that build go by times.
        if nanoseconds(about) != file.modified {
            set_modified(full, time(file.modified)).map_err(Error::io("touch", full))?;
        }
        let about = full.symlink_metadata().map_err(Error::io("read", full))?;
        file.stamp = stamp(&about);
        Ok(Restored::Reread)
    }
}

/// What lies in a worktree, by paths from its root, with the length and the time
/// of each file.
pub(super) type Outline = BTreeMap<PathBuf, (u64, i64)>;

/// The outline of the worktree at `root`, without what cargo itself writes for the
/// workspace in the folder `workspace` of it.
pub(super) fn outline(root: &Path, workspace: &Path) -> Result<Outline, Error> {
    let cargos = ["Cargo.lock", "target"].map(|name| workspace.join(name));
    let found = walk(root, |path| is_git(path) || cargos.iter().any(|own| own == path))?;
    let outlined = found.into_iter().map(|(path, about)| match about.is_dir() {
        true => (path, (0, 0)),
        false => (path, (about.len(), nanoseconds(&about))),
    });
    Ok(outlined.collect())
}

/// Whether a path from the root of a worktree is git's own file.
fn is_git(path: &Path) -> bool {
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

/// A path as text: bytes that are not UTF-8, and the sign `%`, as numbers.
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

    /// A worktree, its record, and where that was written.
    struct Scratch {
        folder: tempfile::TempDir,
        interrupt: Interrupt,
    }

    impl Scratch {
        fn new() -> Self {
            let folder = tempfile::tempdir().unwrap();
            let scratch = Scratch { folder, interrupt: Interrupt::never().unwrap() };
            for (name, text) in [("file", "file"), ("made/deep/file", "deep"), ("made/other", "")] {
                scratch.write(name, text);
            }
            scratch.write(".git", "not looked at");
            link(Path::new("file"), &scratch.root().join("link")).unwrap();
            let record =
                WorktreeRecord::new(&scratch.root(), BuiltFrom::default(), &scratch.interrupt)
                    .unwrap();
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
            let path = self.root().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }

        fn restore(&self, folder: &str) -> Restored {
            let mut record = WorktreeRecord::read(&self.at()).unwrap().unwrap();
            let restored =
                record.restore(&self.root(), Path::new(folder), &self.interrupt).unwrap();
            if restored == Restored::Reread {
                record.write(&self.at()).unwrap();
            }
            restored
        }

        /// Waits until the record is younger than all that it is about, where
        /// the system tells enough of files.
        fn settle(&self) {
            while self.restore("") != self.same() {}
        }

        /// What is said of files that are known to be as they were.
        fn same(&self) -> Restored {
            let about = self.root().join("file").metadata().unwrap();
            if stamp(&about).is_some() { Restored::Same } else { Restored::Reread }
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
        // Below a folder only what lies there.
        assert_eq!(scratch.restore("made"), scratch.same());
        assert!(!scratch.root().join("made/stray").exists());
        assert!(scratch.root().join("stray").exists());
        assert_eq!(scratch.restore(""), scratch.same());
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
        assert!(WorktreeRecord::read(&scratch.at()).unwrap().is_none());
        remove(&scratch.at()).unwrap();
        assert!(WorktreeRecord::read(&scratch.at()).unwrap().is_none());
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
            // Where the file system has coarser times.
            let found = nanoseconds(&path.metadata().unwrap());
            assert!((found - number).abs() < 2_000_000_000, "{found} for {number}");
        }
        assert_eq!(escape(Path::new("a%b")), "a%25b");
        let bytes = crate::exec::system::from_git(b"f\xffo");
        assert_ne!(escape(&bytes), escape(Path::new("fo")));
    }
}
