//! The folder that cargo fills for one side and one way to build. It is kept,
//! so that cargo need not build again what has not changed; and removed where
//! cargo could not tell that something has.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use serde::{Deserialize, Serialize};

use super::tools::Tools;
use crate::error::Error;
use crate::exec::system::{Place, link, set_modified};
use crate::model::side::Side;
use crate::workspace::cache::{Inputs, Room};
use crate::workspace::git::times::change_times;

/// What is known of a folder that cargo has filled. It lies beside it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct LiveRecord {
    /// Its path at that time, which gets into what is built.
    folder: PathBuf,
    /// What all of it was built on; see [`super::foundation`].
    foundation: String,
    /// When the latest finished build in it ended.
    pub(super) built: Option<SystemTime>,
    /// What that build has read.
    pub(super) inputs: Inputs,
    /// The digests of its executables, by target.
    pub(super) executables: BTreeMap<String, String>,
    /// Whether a build script wrote into the worktree. That is gone by the next
    /// comparison, and cargo does not know where from to bring it back.
    pub(super) wrote_elsewhere: bool,
    /// Whether it was made empty for the build at hand, which then owes nothing
    /// to any other.
    #[serde(skip)]
    pub(super) is_new: bool,
}

impl LiveRecord {
    /// Whether cargo can be left to find out what has changed in `folder` since.
    fn is_fit(&self, folder: &Path, foundation: &str) -> Result<bool, Error> {
        if self.folder != folder || self.foundation != foundation {
            return Ok(false);
        }
        Ok(match self.built {
            Some(built) => !self.inputs.hides_a_change(built)?,
            None => true,
        })
    }
}

/// The folder of one side for one way to build.
pub(super) struct Live<'a> {
    pub(super) tools: &'a Tools<'a>,
    pub(super) room: &'a Room,
    pub(super) side: Side,
    pub(super) spec: &'a str,
}

impl Live<'_> {
    /// Gets the folder ready for a build on `foundation`: keeps it, or makes
    /// it anew, as a copy of the other side's where that may be used, so that
    /// dependencies are compiled once for both. Says what is known of what is
    /// in it; nothing of a new one.
    pub(super) fn get_ready(&self, foundation: &str) -> Result<LiveRecord, Error> {
        let path = self.room.live(self.side, self.spec);
        if path.exists()
            && let Some(record) = self.record(self.side, foundation)?
        {
            if record.wrote_elsewhere {
                // So cargo runs the scripts of these sources again.
                self.touch_sources(SystemTime::now())?;
            }
            return Ok(record);
        }
        let may_copy = self.record(self.side.other(), foundation)?.is_some();
        self.make(foundation, may_copy)
    }

    /// Makes the folder anew, with nothing in it.
    pub(super) fn empty(&self, foundation: &str) -> Result<LiveRecord, Error> {
        self.make(foundation, false)
    }

    fn make(&self, foundation: &str, may_copy: bool) -> Result<LiveRecord, Error> {
        let path = self.room.live(self.side, self.spec);
        let (folder, foundation) = (path.clone(), foundation.to_owned());
        let mut record = LiveRecord { folder, foundation, ..LiveRecord::default() };
        self.remove()?;
        let new = path.with_extension("new");
        remove_folder(&new)?;
        fs_err::create_dir_all(&new).map_err(Error::io("make", &new))?;
        record.is_new = !(may_copy && self.copy_other(&new)?);
        // The record comes first: without one, the folder would be removed.
        self.write(&record)?;
        fs_err::rename(&new, &path).map_err(Error::io("make", &path))?;
        Ok(record)
    }

    /// Removes the folder with all that is known of it.
    fn remove(&self) -> Result<(), Error> {
        let record = self.record_path(self.side);
        if record.exists() {
            fs_err::remove_file(&record).map_err(Error::io("remove", &record))?;
        }
        remove_folder(&self.room.live(self.side, self.spec))
    }

    /// Writes down what is known of the folder, whole or not at all.
    pub(super) fn write(&self, record: &LiveRecord) -> Result<(), Error> {
        let path = self.record_path(self.side);
        let text = serde_json::to_vec(record).map_err(std::io::Error::from);
        let written = text.and_then(|text| Place::find(&path)?.replace(&text));
        written.map_err(Error::io("write", &path))
    }

    /// What is known of a side's folder, if that makes it fit to be built in on
    /// `foundation`.
    fn record(&self, side: Side, foundation: &str) -> Result<Option<LiveRecord>, Error> {
        let path = self.record_path(side);
        let text = match fs_err::read(&path) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            text => text.map_err(Error::io("read", &path))?,
        };
        let Ok(record) = serde_json::from_slice::<LiveRecord>(&text) else { return Ok(None) };
        let is_fit = record.is_fit(&self.room.live(side, self.spec), foundation)?;
        Ok(is_fit.then_some(record))
    }

    fn record_path(&self, side: Side) -> PathBuf {
        self.room.side(side).join(format!("record-{}.json", self.spec))
    }

    /// Fills the folder `new` with a copy of the other side's. The sources of
    /// this side are made newer than all that was copied: cargo goes by times,
    /// and would take the other side's build of them for fresh.
    /// False where there is none.
    fn copy_other(&self, new: &Path) -> Result<bool, Error> {
        let other = self.room.live(self.side.other(), self.spec);
        if !other.exists() {
            return Ok(false);
        }
        // The clock may have been set back since the latest of it was made.
        let latest = self.copy(&other, new)? + Duration::from_secs(1);
        self.touch_sources(latest.max(SystemTime::now()))?;
        Ok(true)
    }

    /// Gives every file of the worktree the time `now`.
    fn touch_sources(&self, now: SystemTime) -> Result<(), Error> {
        let tree = self.room.tree(self.side);
        change_times(&tree, || touch(&tree, now))
    }

    /// Copies a folder with its files' times; the latest of them.
    fn copy(&self, from: &Path, to: &Path) -> Result<SystemTime, Error> {
        self.tools.interrupt.check()?;
        let mut latest = SystemTime::UNIX_EPOCH;
        for entry in fs_err::read_dir(from).map_err(Error::io("read", from))? {
            let entry = entry.map_err(Error::io("read", from))?;
            let (path, copy) = (entry.path(), to.join(entry.file_name()));
            let kind = entry.file_type().map_err(Error::io("read", &path))?;
            if kind.is_dir() {
                if entry.file_name() != "incremental" {
                    fs_err::create_dir(&copy).map_err(Error::io("make", &copy))?;
                    latest = latest.max(self.copy(&path, &copy)?);
                }
            } else if kind.is_file() {
                let time = copy_file(&path, &copy).map_err(Error::io("copy", &path))?;
                latest = latest.max(time);
            } else if let Ok(target) = std::fs::read_link(&path) {
                let made = link(&target, &copy);
                made.map_err(Error::io("make", &copy))?;
            }
        }
        Ok(latest)
    }
}

fn remove_folder(path: &Path) -> Result<(), Error> {
    if path.exists() {
        fs_err::remove_dir_all(path).map_err(Error::io("remove", path))?;
    }
    Ok(())
}

/// Copies a file with its time, which is returned.
fn copy_file(from: &Path, to: &Path) -> std::io::Result<SystemTime> {
    std::fs::copy(from, to)?;
    let modified = std::fs::metadata(from)?.modified()?;
    set_modified(to, modified)?;
    Ok(modified)
}

/// Gives every file below a folder the time `now`.
fn touch(folder: &Path, now: SystemTime) -> Result<(), Error> {
    for entry in fs_err::read_dir(folder).map_err(Error::io("read", folder))? {
        let entry = entry.map_err(Error::io("read", folder))?;
        let path = entry.path();
        let kind = entry.file_type().map_err(Error::io("read", &path))?;
        if kind.is_dir() {
            touch(&path, now)?;
        } else if kind.is_file() && entry.file_name() != ".git" {
            let touched = set_modified(&path, now);
            touched.map_err(Error::io("touch", &path))?;
        }
    }
    Ok(())
}
