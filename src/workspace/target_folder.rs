//! The folder that cargo fills for one side and one set of build options. It is
//! kept, so that cargo need not rebuild what has not changed, and removed if
//! cargo could not detect that something has.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::Metadata;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use serde::{Deserialize, Serialize};

use super::files::{is_incremental, read_record, remove, walk, write_record};
use super::folder_record::{RecordedFolder, Strangers};
use super::inputs::Inputs;
use super::inputs::traces::script_sources;
use super::relink::record::FOLDER as LINKS;
use crate::error::{Error, FileError};
use crate::exec::process::Interrupt;
use crate::exec::system::{link, set_modified};
use crate::model::side::Side;
use crate::workspace::cache::RepositoryCache;
use crate::workspace::git::times::change_times;

/// The smallest difference of times that is kept by every file system with fractions of a
/// second; the kernel's clock for files ticks at least every 10 ms.
const FINE_STEP: Duration = Duration::from_millis(20);

/// The same for file systems with whole seconds.
const COARSE_STEP: Duration = Duration::from_secs(1);

/// The record of a folder that cargo has filled, stored next to it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct TargetRecord {
    /// The folder's path at that time, which becomes part of what is built.
    folder: PathBuf,
    /// The inputs of everything in it; see [`super::inputs::toolchain`].
    toolchain: String,
    /// When the latest build in it ended.
    pub(super) built: Option<SystemTime>,
    /// What that build has read.
    pub(super) inputs: Inputs,
    /// The worktree's content in that build; empty if the build did not end.
    pub(super) identity: String,
    /// The digests of its executables, by target.
    pub(super) executables: BTreeMap<String, String>,
    /// Whether a build script wrote into the worktree. The next comparison
    /// removes that, and cargo does not restore it.
    pub(super) wrote_elsewhere: bool,
    /// What the folder held at the start of the current build.
    #[serde(skip)]
    pub(super) start: FolderStart,
}

/// What a target folder holds before a build, and so whether a failure may be due to it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum FolderStart {
    /// Nothing: the build depends on no other.
    Empty,
    /// What a finished build left, in this folder or in the other side's, of which it is a copy.
    Intact,
    /// What a build left that did not end.
    #[default]
    Unknown,
}

impl TargetRecord {
    /// Whether a build in the folder may have failed because of what it held, so that the code may
    /// only be blamed once it also fails in an empty one. `needs_proof` is set where a failure of
    /// the code would become a verdict (no baseline).
    pub(super) fn may_be_to_blame(&self, needs_proof: bool) -> bool {
        match self.start {
            FolderStart::Empty => false,
            // Cargo does not run the script again whose files are gone from the worktree.
            FolderStart::Intact => self.wrote_elsewhere || needs_proof,
            FolderStart::Unknown => true,
        }
    }
}

/// The folder of one side for the build options `spec`.
pub(super) struct TargetFolder<'a> {
    pub(super) cache: &'a RepositoryCache,
    pub(super) interrupt: &'a Interrupt,
    pub(super) side: Side,
    pub(super) spec: &'a str,
}

impl TargetFolder<'_> {
    pub(super) fn path(&self) -> PathBuf {
        self.cache.target_folder(self.side, self.spec)
    }

    /// Prepares the folder for a build on `toolchain`: keeps it, or creates it
    /// again, as a copy of the other side's if possible, so that dependencies are
    /// compiled once for both. Returns its record, which is empty for an empty
    /// folder. The worktree holds the content `identity`, and a workspace at `root`.
    pub(super) fn get_ready(
        &self,
        toolchain: &str,
        identity: &str,
        root: &Path,
    ) -> Result<TargetRecord, Error> {
        if self.path().exists()
            && let Some(mut record) = self.fit_record(self.side, toolchain)?
        {
            // Makes cargo run build scripts again.
            if record.wrote_elsewhere {
                self.touch_sources(SystemTime::now(), |_| true)?;
            } else if record.identity != identity {
                // They may read files of the commit that they do not declare.
                let scripts = script_sources(&self.path())?;
                let scripts: BTreeSet<_> = scripts.iter().map(|path| root.join(path)).collect();
                self.touch_sources(SystemTime::now(), |path| scripts.contains(path))?;
            }
            // If this build is killed, it is not known for which content scripts have run.
            record.identity.clear();
            self.write(&record)?;
            return Ok(record);
        }
        let other = self.fit_record(self.side.other(), toolchain)?;
        self.make(toolchain, other)
    }

    /// Creates the folder again, empty.
    pub(super) fn empty(&self, toolchain: &str) -> Result<TargetRecord, Error> {
        self.make(toolchain, None)
    }

    pub(super) fn write(&self, record: &TargetRecord) -> Result<(), FileError> {
        write_record(&self.record_path(self.side), record)
    }

    /// Records all files of the folder, which was just filled with success or by a build that
    /// failed by itself: whatever is different next time was damaged.
    pub(super) fn write_files(&self) -> Result<(), Error> {
        let check = || Ok::<_, Error>(self.interrupt.check()?);
        self.with_files(self.side, |files| files.write("", check))
    }

    /// Forgets the files, which a build is about to change.
    pub(super) fn forget_files(&self) -> Result<(), FileError> {
        remove(&self.files_path(self.side))
    }

    /// What a build in a side's folder would start with; `None` if the folder is damaged.
    fn start(&self, side: Side) -> Result<Option<FolderStart>, Error> {
        let check = || Ok::<_, Error>(self.interrupt.check()?);
        Ok(match self.with_files(side, |files| files.restore("", check))? {
            None => Some(FolderStart::Unknown),
            Some(is_whole) => is_whole.then_some(FolderStart::Intact),
        })
    }

    /// Does something with the record of all files of a side's folder.
    fn with_files<T>(&self, side: Side, then: impl FnOnce(RecordedFolder<'_>) -> T) -> T {
        then(RecordedFolder {
            root: &self.cache.target_folder(side, self.spec),
            record: &self.files_path(side),
            is_skipped: &is_incremental,
            strangers: Strangers::Refuse,
        })
    }

    /// Creates the folder again, as a copy of the `other` side's if that can be used.
    fn make(&self, toolchain: &str, other: Option<TargetRecord>) -> Result<TargetRecord, Error> {
        let path = self.path();
        remove(&self.record_path(self.side))?;
        remove(&path)?;
        let new = path.with_extension("new");
        remove(&new)?;
        fs_err::create_dir_all(&new).map_err(Error::io("create", &new))?;
        let mut record = TargetRecord { start: FolderStart::Empty, ..TargetRecord::default() };
        if let Some(TargetRecord { start, built, inputs, .. }) = other
            && self.copy_other(&new)?
        {
            record = TargetRecord { start, built, inputs, ..record };
        }
        (record.folder, record.toolchain) = (path.clone(), toolchain.to_owned());
        // The record comes first, since a folder without one is removed.
        self.write(&record)?;
        fs_err::rename(&new, &path).map_err(Error::io("create", &path))?;
        Ok(record)
    }

    /// The record of a side's folder, if that is not damaged and can be used for a build on
    /// `toolchain`: cargo can detect what has changed since.
    fn fit_record(&self, side: Side, toolchain: &str) -> Result<Option<TargetRecord>, Error> {
        let folder = self.cache.target_folder(side, self.spec);
        let record: Option<TargetRecord> = read_record(&self.record_path(side))?;
        let is_of =
            |record: &TargetRecord| record.folder == folder && record.toolchain == toolchain;
        let Some(record) = record.filter(is_of) else { return Ok(None) };
        match record.built {
            Some(built) if record.inputs.hides_a_change(built)? => Ok(None),
            _ => Ok(self.start(side)?.map(|start| TargetRecord { start, ..record })),
        }
    }

    fn record_path(&self, side: Side) -> PathBuf {
        self.cache.side_folder(side).join(format!("record-{}.json", self.spec))
    }

    fn files_path(&self, side: Side) -> PathBuf {
        self.cache.side_folder(side).join(format!("files-{}.json", self.spec))
    }

    /// Fills the folder `new` with a copy of the other side's, if there is one. The
    /// sources of this side are made newer than everything that was copied: cargo
    /// compares times, and would consider the other side's build up to date.
    fn copy_other(&self, new: &Path) -> Result<bool, Error> {
        let other = self.cache.target_folder(self.side.other(), self.spec);
        if !other.exists() {
            return Ok(false);
        }
        let mut latest = SystemTime::UNIX_EPOCH;
        // The sources of this side are newer, so its executables are linked again.
        let is_skipped = |path: &Path| is_incremental(path) || path == Path::new(LINKS);
        let found = walk(&other, is_skipped)?;
        if found.iter().any(|(path, _)| has_checksums(&other.join(path))) {
            // Cargo compares contents instead, by which the other side's build is up to date.
            return Ok(false);
        }
        for (path, about) in found {
            self.interrupt.check()?;
            let (from, to) = (other.join(&path), new.join(&path));
            if about.is_dir() {
                fs_err::create_dir(&to).map_err(Error::io("create", &to))?;
            } else if about.is_file() {
                fs_err::copy(&from, &to).map_err(Error::io("copy", &from))?;
                let modified = about.modified().map_err(Error::io("read", &from))?;
                set_modified(&to, modified).map_err(Error::io("touch", &to))?;
                latest = latest.max(modified);
            } else if let Ok(target) = std::fs::read_link(&from) {
                link(&target, &to).map_err(Error::io("create", &to))?;
            }
        }
        self.touch_sources(time_after(latest), |_| true)?;
        Ok(true)
    }

    /// Sets the time of those files of the worktree to `now`.
    fn touch_sources(&self, now: SystemTime, is_one: impl Fn(&Path) -> bool) -> Result<(), Error> {
        let tree = self.cache.worktree(self.side);
        change_times(&tree, || {
            for (path, about) in walk(&tree, |path| path.ends_with(".git"))? {
                let path = tree.join(path);
                if about.is_file() && is_one(&path) {
                    set_modified(&path, now).map_err(Error::io("touch", &path))?;
                }
            }
            Ok(())
        })
    }
}

/// Whether a file is dep-info with checksums of sources (`-Z checksum-freshness`).
fn has_checksums(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "d")
        && std::fs::read_to_string(path)
            .is_ok_and(|text| text.lines().any(|line| line.starts_with("# checksum:")))
}

/// A time that file systems can distinguish from the earlier time `latest`: now, after a
/// short wait if that is too close. Sources must not be newer than the build that reads
/// them, or cargo builds them again the next time. They are newer only if the clock was
/// set back since `latest`.
fn time_after(latest: SystemTime) -> SystemTime {
    let since_epoch = latest.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    let step = if since_epoch.subsec_nanos() == 0 { COARSE_STEP } else { FINE_STEP };
    let earliest = latest + step;
    if let Ok(wait) = earliest.duration_since(SystemTime::now())
        && wait <= step
    {
        std::thread::sleep(wait);
    }
    SystemTime::now().max(earliest)
}

/// Removes target folders that are newer than `now` from a side's folder: the clock was
/// set back since they were created. Cargo compares the times of files: sources that
/// are checked out now would be older than such a build, which would count as theirs.
/// To be called before the side's worktree is written to.
pub(super) fn remove_later(side_folder: &Path, now: SystemTime) -> Result<(), Error> {
    for entry in std::fs::read_dir(side_folder).into_iter().flatten().flatten() {
        if !entry.file_name().as_encoded_bytes().starts_with(b"live-") {
            continue;
        }
        // The compiler's incremental state depends on content.
        let mut found = walk(&entry.path(), is_incremental)?.into_iter();
        let is_later = |about: Metadata| about.modified().is_ok_and(|modified| modified > now);
        if found.any(|(_, about)| about.is_file() && is_later(about)) {
            remove(&entry.path())?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_is_to_blame_until_that_is_excluded() {
        use FolderStart::{Empty, Intact, Unknown};
        // What the folder held, whether a script wrote elsewhere, whether proof is needed.
        for (start, wrote_elsewhere, needs_proof, expected) in [
            (Empty, false, false, false),
            (Empty, false, true, false),
            (Empty, true, false, false),
            (Empty, true, true, false),
            (Intact, false, false, false),
            (Intact, false, true, true),
            (Intact, true, false, true),
            (Intact, true, true, true),
            (Unknown, false, false, true),
            (Unknown, false, true, true),
            (Unknown, true, false, true),
            (Unknown, true, true, true),
        ] {
            let record = TargetRecord { start, wrote_elsewhere, ..TargetRecord::default() };
            assert_eq!(record.may_be_to_blame(needs_proof), expected, "{record:?}");
        }
    }

    #[test]
    fn sources_are_later_than_what_was_copied_and_not_later_than_their_build() {
        let whole = |seconds| SystemTime::UNIX_EPOCH + Duration::from_secs(seconds);
        for latest in [SystemTime::now(), whole(1_000_000_000)] {
            let time = time_after(latest);
            assert!(time >= latest + FINE_STEP && time <= SystemTime::now());
        }
        // The clock was set back by a day, so what was copied is newer.
        let later = SystemTime::now() + Duration::from_secs(86_400);
        assert_eq!(time_after(later), later + FINE_STEP);
        let later = whole(9_000_000_000);
        assert_eq!(time_after(later), later + COARSE_STEP);
    }
}
