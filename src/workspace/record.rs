//! The record of a worktree in which build commands ran: what it was built
//! from, and every file that lay in it when they had succeeded.
//!
//! A later comparison may run what lies there only if the record says that it
//! was built from the same things, and only after [`Record::restore`] has found
//! every file as it was and removed what runs have left since.

use std::collections::BTreeMap;
use std::fs::Metadata;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

use crate::error::Error;
use crate::exec::process::Interrupt;
use crate::exec::system::{Place, digest_file, git_bytes, mode, set_modified, stamp};

/// Everything that the contents of a built worktree depend on, as far as it is
/// known.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Origin {
    /// The commit, or the tree of a dirty one, and what the worktree lacks of it.
    pub(super) identity: String,
    /// A digest of the lock file.
    pub(super) lock: String,
    /// A digest of the environment, the compiler and what else shapes builds.
    pub(super) surroundings: String,
    /// A digest of each build command with its folder, in the order in which
    /// they ran.
    pub(super) commands: Vec<String>,
}

/// What was built, from what.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Record {
    /// What it was built from.
    pub(super) origin: Origin,
    /// Whether the build wrote nothing but cargo's lock file and target folder.
    pub(super) is_cargos: bool,
    /// What lay in the worktree, by escaped paths from its root.
    entries: BTreeMap<String, Entry>,
    /// When the record was written, by the clock of the file system.
    #[serde(skip)]
    written: Option<(i32, u32)>,
}

/// One thing in a folder.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Entry {
    Folder {
        mode: Option<u32>,
    },
    Link {
        to: String,
    },
    File(File),
    /// A socket or the like.
    Other,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct File {
    length: u64,
    mode: Option<u32>,
    /// When it was last written, in nanoseconds since 1970.
    modified: i64,
    /// How the file system knows it.
    stamp: Option<Stamp>,
    /// What is in it; none where it can't be read.
    sha256: Option<String>,
}

/// What changes with every change of a file, where the system tells it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Stamp {
    number: u32,
    modified: (i32, u32),
    changed: (i32, u32),
}

impl Record {
    /// Records what lies in the worktree at `root`.
    ///
    /// # Errors
    /// When a file can't be read, or on a signal.
    pub(super) fn of(root: &Path, origin: Origin, interrupt: &Interrupt) -> Result<Self, Error> {
        let entries = BTreeMap::new();
        let mut record = Record { origin, is_cargos: false, entries, written: None };
        record.add(root, Path::new(""), interrupt)?;
        Ok(record)
    }

    fn add(&mut self, root: &Path, folder: &Path, interrupt: &Interrupt) -> Result<(), Error> {
        for (path, about) in children(root, folder)? {
            interrupt.check()?;
            self.entries.insert(escape(&path), Entry::read(root, &path, &about)?);
            if about.is_dir() {
                self.add(root, &path, interrupt)?;
            }
        }
        Ok(())
    }

    /// Reads a record; `None` where there is none that can be read.
    pub(super) fn read(at: &Path) -> Option<Self> {
        let mut record: Record = serde_json::from_slice(&std::fs::read(at).ok()?).ok()?;
        record.written = at.metadata().ok().and_then(|about| stamp(&about)).map(|s| s.modified);
        Some(record)
    }

    /// Writes it, in one step.
    ///
    /// # Errors
    /// When it can't be written.
    pub(super) fn write(&self, at: &Path) -> Result<(), Error> {
        let text = serde_json::to_vec(self).map_err(std::io::Error::from);
        let written = text.and_then(|text| Place::find(at)?.replace(&text));
        written.map_err(Error::io("write", at))
    }

    /// Removes the record at a path, if there is one.
    ///
    /// # Errors
    /// When it can't be removed.
    pub(super) fn remove(at: &Path) -> Result<(), Error> {
        match std::fs::remove_file(at) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                Err(Error::io("remove", at)(error))
            }
            _ => Ok(()),
        }
    }

    /// Brings what lies below `folder` of the worktree at `root` back to what it
    /// was: removes what is not in the record, and sets back the times of files.
    /// Whether everything is as it was then; what was changed or removed can't
    /// be restored.
    ///
    /// # Errors
    /// When a file can't be read or removed, or on a signal.
    pub(super) fn restore(
        &mut self,
        root: &Path,
        folder: &Path,
        interrupt: &Interrupt,
    ) -> Result<Restored, Error> {
        let mut walk = Walk { root, interrupt, seen: 0, reread: false };
        if !walk.restore(self, folder)? {
            return Ok(Restored::Changed);
        }
        let folder = escape(folder);
        let known = self.entries.keys().filter(|path| Path::new(path).starts_with(&folder)).count();
        let itself = usize::from(self.entries.contains_key(&folder));
        Ok(match (walk.seen + itself == known, walk.reread) {
            (false, _) => Restored::Changed,
            (true, true) => Restored::Reread,
            (true, false) => Restored::Same,
        })
    }
}

/// What lies in a worktree, by paths from its root, with the length and the time
/// of each file.
pub(super) type Outline = BTreeMap<PathBuf, (u64, i64)>;

/// What lies in the worktree at `root`, but for what cargo writes in the folder `workspace`.
///
/// # Errors
/// When a folder can't be read, or on a signal.
pub(super) fn outline(
    root: &Path,
    workspace: &Path,
    interrupt: &Interrupt,
) -> Result<Outline, Error> {
    let cargos = ["Cargo.lock", "target"].map(|name| workspace.join(name));
    let mut found = BTreeMap::new();
    let mut left = vec![PathBuf::new()];
    while let Some(folder) = left.pop() {
        for (path, about) in children(root, &folder)? {
            interrupt.check()?;
            if cargos.contains(&path) {
                continue;
            }
            if about.is_dir() {
                left.push(path.clone());
                found.insert(path, (0, 0));
            } else {
                found.insert(path, (about.len(), nanoseconds(&about)));
            }
        }
    }
    Ok(found)
}

/// What became of [`Record::restore`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Restored {
    /// Everything is as it was.
    Same,
    /// Everything is as it was, and some files had to be read to know it. The
    /// record now knows them by how they lie there today.
    Reread,
    /// Something was changed or is missing.
    Changed,
}

/// A walk through a worktree that is compared with its record.
struct Walk<'a> {
    root: &'a Path,
    interrupt: &'a Interrupt,
    /// How many entries of the record were found.
    seen: usize,
    /// Whether a file had to be read.
    reread: bool,
}

impl Walk<'_> {
    fn restore(&mut self, record: &mut Record, folder: &Path) -> Result<bool, Error> {
        for (path, about) in children(self.root, folder)? {
            self.interrupt.check()?;
            let written = record.written;
            let Some(entry) = record.entries.get_mut(&escape(&path)) else {
                remove(&self.root.join(&path), &about)?;
                continue;
            };
            self.seen += 1;
            if !self.is_same(entry, &path, &about, written)? {
                return Ok(false);
            }
            if about.is_dir() && !self.restore(record, &path)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn is_same(
        &mut self,
        entry: &mut Entry,
        path: &Path,
        about: &Metadata,
        written: Option<(i32, u32)>,
    ) -> Result<bool, Error> {
        let Entry::File(file) = entry else {
            return Ok(Entry::read(self.root, path, about)? == *entry);
        };
        if !about.is_file() || about.len() != file.length || mode(about) != file.mode {
            return Ok(false);
        }
        // One as young as the record may have been written after it.
        let is_old = |stamp: &Stamp| written.is_some_and(|written| stamp.changed < written);
        if file.stamp.as_ref().is_some_and(is_old) && file.stamp == Stamp::of(about) {
            return Ok(true);
        }
        self.reread = true;
        let full = self.root.join(path);
        if digest_file(&full).ok().is_none_or(|sha256| file.sha256 != Some(sha256)) {
            return Ok(false);
        }
        // Tools that build go by times.
        if nanoseconds(about) != file.modified {
            set_modified(&full, time(file.modified)).map_err(Error::io("touch", &full))?;
        }
        let about = full.symlink_metadata().map_err(Error::io("read", &full))?;
        file.stamp = Stamp::of(&about);
        Ok(true)
    }
}

impl Entry {
    fn read(root: &Path, path: &Path, about: &Metadata) -> Result<Self, Error> {
        let full = root.join(path);
        if about.is_symlink() {
            let to = std::fs::read_link(&full).map_err(Error::io("read", &full))?;
            return Ok(Entry::Link { to: escape(&to) });
        }
        if about.is_dir() {
            return Ok(Entry::Folder { mode: mode(about) });
        }
        if !about.is_file() {
            return Ok(Entry::Other);
        }
        let sha256 = digest_file(&full).ok();
        let (length, modified) = (about.len(), nanoseconds(about));
        let stamp = Stamp::of(about);
        Ok(Entry::File(File { length, mode: mode(about), modified, stamp, sha256 }))
    }
}

impl Stamp {
    fn of(about: &Metadata) -> Option<Self> {
        let crate::exec::system::Stamp { number, modified, changed } = stamp(about)?;
        Some(Stamp { number, modified, changed })
    }
}

/// What lies in a folder of the worktree at `root`, but for git's own file, with
/// paths from the root.
fn children(root: &Path, folder: &Path) -> Result<Vec<(PathBuf, Metadata)>, Error> {
    let full = root.join(folder);
    let mut found = Vec::new();
    for entry in fs_err::read_dir(&full).map_err(Error::io("read", &full))? {
        let entry = entry.map_err(Error::io("read", &full))?;
        let path = folder.join(entry.file_name());
        match entry.path().symlink_metadata() {
            _ if path.as_os_str() == ".git" => {}
            // Of something that the build left running.
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            about => found.push((path, about.map_err(Error::io("read", &entry.path()))?)),
        }
    }
    Ok(found)
}

/// Removes a file, or a folder with all that is in it.
pub(super) fn remove(path: &Path, about: &Metadata) -> Result<(), Error> {
    let removed =
        if about.is_dir() { fs_err::remove_dir_all(path) } else { fs_err::remove_file(path) };
    removed.map_err(Error::io("remove", path))
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

/// A path as text: what is no UTF-8, and the sign that tells of it, as numbers.
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

    fn origin() -> Origin {
        let text = String::new;
        Origin { identity: text(), lock: text(), surroundings: text(), commands: Vec::new() }
    }

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
            let record = Record::of(&scratch.root(), origin(), &scratch.interrupt).unwrap();
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
            let mut record = Record::read(&self.at()).unwrap();
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
            if Stamp::of(&about).is_some() { Restored::Same } else { Restored::Reread }
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
        assert!(Record::read(&scratch.at()).is_none());
        Record::remove(&scratch.at()).unwrap();
        assert!(Record::read(&scratch.at()).is_none());
        Record::remove(&scratch.at()).unwrap();
    }

    #[test]
    fn cargos_own_files_are_not_in_the_outline() {
        let scratch = Scratch::new();
        let outline = || outline(&scratch.root(), Path::new("made"), &scratch.interrupt).unwrap();
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
