//! What the cache holds, and how it is emptied.

use std::path::{Path, PathBuf};
use std::time::SystemTime;

use super::{BUCKET, Cache, Error, Room, io_error, size};

/// The file of a room that holds the path of its repository.
pub(super) const REPOSITORY: &str = "repository";

/// What a room holds that can be made again.
const PARTS: [&str; 4] = ["builds", "base", "head", "git"];

/// What is kept of one repository.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kept {
    /// The folder in the cache.
    pub room: PathBuf,
    /// The repository's own folder (its `.git`), if that was written down.
    pub repository: Option<PathBuf>,
    /// How many artifacts there are.
    pub artifacts: usize,
    /// Their bytes.
    pub artifact_bytes: u64,
    /// The bytes of worktrees, target folders and everything else.
    pub other_bytes: u64,
    /// When something in it was last used.
    pub used: Option<SystemTime>,
}

/// What became of a room.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cleaned {
    /// It was emptied; bytes.
    Freed(u64),
    /// Somebody uses it; what they wrote about themselves.
    InUse(String),
}

impl Cache {
    /// Its folder.
    pub fn path(&self) -> &Path {
        &self.root
    }

    /// All rooms that hold something, the latest used first.
    ///
    /// # Errors
    /// When the cache can't be read.
    pub fn kept(&self) -> Result<Vec<Kept>, Error> {
        let bucket = self.root.join(BUCKET);
        let entries = match std::fs::read_dir(&bucket) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
            entries => entries.map_err(io_error("read", &bucket))?,
        };
        let rooms = entries.flatten().map(|entry| Room { path: entry.path() });
        let mut kept: Vec<Kept> = rooms.filter_map(|room| room.kept()).collect();
        kept.sort_by(|one, other| other.used.cmp(&one.used).then(one.room.cmp(&other.room)));
        Ok(kept)
    }

    /// Empties every room that nobody uses, and takes away what earlier versions
    /// kept; says what became of each.
    ///
    /// # Errors
    /// When something can't be removed.
    pub fn clean(&self) -> Result<Vec<(PathBuf, Cleaned)>, Error> {
        let mut all = Vec::new();
        for Kept { room, .. } in self.kept()? {
            let cleaned = Room { path: room.clone() }.clean()?;
            all.push((room, cleaned));
        }
        let entries = std::fs::read_dir(&self.root).map_err(io_error("read", &self.root))?;
        for entry in entries.flatten() {
            let name = entry.file_name();
            let ours = name.to_string_lossy().starts_with("repositories-v");
            if ours && name != BUCKET {
                let bytes = size(&entry.path());
                remove(&entry.path())?;
                all.push((entry.path(), Cleaned::Freed(bytes)));
            }
        }
        Ok(all)
    }
}

impl Room {
    /// What it holds; `None` when that is nothing.
    fn kept(&self) -> Option<Kept> {
        let there = PARTS.iter().any(|part| self.path.join(part).exists());
        let repository = std::fs::read_to_string(self.path.join(REPOSITORY)).ok();
        there.then(|| {
            let artifact_bytes = size(&self.builds());
            let manifests = std::fs::read_dir(self.builds()).into_iter().flatten().flatten();
            let manifests: Vec<PathBuf> =
                manifests.map(|entry| entry.path().join("manifest.json")).collect();
            let times = manifests.iter().chain([&self.path]);
            let times = times.filter_map(|path| path.metadata().ok()?.modified().ok());
            Kept {
                room: self.path.clone(),
                repository: repository.map(|path| PathBuf::from(path.trim_end_matches('\n'))),
                artifacts: manifests.iter().filter(|path| path.exists()).count(),
                artifact_bytes,
                other_bytes: size(&self.path).saturating_sub(artifact_bytes),
                used: times.max(),
            }
        })
    }

    /// Removes all that can be made again, unless somebody uses it. The lock stays:
    /// who waits for it waits for this very file.
    ///
    /// # Errors
    /// When something can't be removed.
    pub fn clean(&self) -> Result<Cleaned, Error> {
        let about = format!("`cargo cbdr cache clean`, process {}", std::process::id());
        let held = match self.try_lock(&about)? {
            Ok(lock) => lock,
            Err(holder) => return Ok(Cleaned::InUse(holder)),
        };
        let mut bytes = 0;
        for part in PARTS {
            let path = self.path.join(part);
            bytes += size(&path);
            remove(&path)?;
        }
        drop(held);
        Ok(Cleaned::Freed(bytes))
    }
}

/// Removes a folder that may not be there.
fn remove(path: &Path) -> Result<(), Error> {
    match std::fs::remove_dir_all(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(io_error("remove", path)(error))
        }
        _ => Ok(()),
    }
}
