//! What the cache contains, how long it is kept, and how it is emptied.

use std::fs::File;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use super::artifact::MANIFEST;
use super::{BUCKET, Cache, FOUND_OUT, HEAP_OBJECTS, REPOSITORY, RepositoryCache};
use crate::error::Error;
use crate::exec::system::from_git;
use crate::workspace::files::remove;

/// What can be recreated of a repository's part, besides what was found out. Samples and the state
/// of a search can't be, and stay.
const PARTS: [&str; 5] = ["builds", "base", "head", "git", "linker"];

/// How long an artifact that nobody used is kept.
const MAX_AGE: Duration = Duration::from_secs(30 * DAY);
/// How many bytes of artifacts are kept for one repository.
const MAX_BYTES: u64 = 4 << 30;
/// Seconds.
const DAY: u64 = 24 * 3600;

/// The cached data of one repository.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CachedRepository {
    /// The folder in the cache.
    pub folder: PathBuf,
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

/// The result of cleaning a repository's part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cleaned {
    /// This many bytes were removed.
    Freed(u64),
    /// Another process uses it: its description of itself.
    InUse(String),
}

impl Cache {
    /// Its folder.
    pub fn path(&self) -> &Path {
        &self.root
    }

    /// The repositories with cached data, the latest used first.
    ///
    /// # Errors
    /// When the cache can't be read.
    pub fn repositories(&self) -> Result<Vec<CachedRepository>, Error> {
        let bucket = self.root.join(BUCKET);
        let entries = match std::fs::read_dir(&bucket) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
            entries => entries.map_err(Error::io("read", &bucket))?,
        };
        let all = entries.flatten().map(|entry| RepositoryCache { path: entry.path() });
        let mut kept: Vec<_> = all.filter_map(|one| one.summary()).collect();
        kept.sort_by(|one, other| other.used.cmp(&one.used).then(one.folder.cmp(&other.folder)));
        Ok(kept)
    }

    /// Empties the part of every repository that is not in use, and removes the
    /// data of earlier versions. Returns the result for each.
    ///
    /// # Errors
    /// When something can't be removed.
    pub fn clean(&self) -> Result<Vec<(PathBuf, Cleaned)>, Error> {
        let mut all = Vec::new();
        for CachedRepository { folder, .. } in self.repositories()? {
            let cleaned = RepositoryCache { path: folder.clone() }.clean()?;
            all.push((folder, cleaned));
        }
        if all.iter().all(|(_, cleaned)| matches!(cleaned, Cleaned::Freed(_))) {
            remove(&self.root.join(HEAP_OBJECTS))?;
        }
        let entries = std::fs::read_dir(&self.root).map_err(Error::io("read", &self.root))?;
        for entry in entries.flatten() {
            let name = entry.file_name();
            let is_ours = name.to_string_lossy().starts_with("repositories-v");
            if is_ours && name != BUCKET {
                let bytes = size(&entry.path());
                remove(&entry.path())?;
                all.push((entry.path(), Cleaned::Freed(bytes)));
            }
        }
        Ok(all)
    }
}

impl RepositoryCache {
    /// `None` when nothing is kept.
    fn summary(&self) -> Option<CachedRepository> {
        if !PARTS.iter().any(|part| self.path.join(part).exists()) {
            return None;
        }
        let repository = std::fs::read(self.path.join(REPOSITORY)).ok();
        let artifact_bytes = size(&self.builds());
        let artifacts = std::fs::read_dir(self.builds()).into_iter().flatten().flatten();
        let manifests: Vec<PathBuf> = artifacts.map(|entry| entry.path().join(MANIFEST)).collect();
        let times = manifests.iter().chain([&self.path]);
        let times = times.filter_map(|path| path.metadata().ok()?.modified().ok());
        Some(CachedRepository {
            folder: self.path.clone(),
            repository: repository.map(|path| from_git(path.strip_suffix(b"\n").unwrap_or(&path))),
            artifacts: manifests.iter().filter(|path| path.exists()).count(),
            artifact_bytes,
            other_bytes: size(&self.path).saturating_sub(artifact_bytes),
            used: times.max(),
        })
    }

    /// Removes everything that can be recreated, unless it is in use. The lock of the folder
    /// stays, since others may wait for this file.
    ///
    /// # Errors
    /// When something can't be removed.
    pub fn clean(&self) -> Result<Cleaned, Error> {
        let about = format!("`cargo cbdr cache clean`, process {}", std::process::id());
        let Some(_lock) = self.try_lock(&about)? else {
            return Ok(Cleaned::InUse(self.lock_holder()));
        };
        let entries = std::fs::read_dir(&self.path).map_err(Error::io("read", &self.path))?;
        let mut bytes = 0;
        for entry in entries.flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            if PARTS.contains(&&*name) || name.starts_with(FOUND_OUT) {
                let file = entry.metadata().ok().filter(std::fs::Metadata::is_file);
                bytes += file.map_or_else(|| size(&entry.path()), |file| file.len());
                remove(&entry.path())?;
            }
        }
        Ok(Cleaned::Freed(bytes))
    }

    /// Removes incomplete data of killed runs, artifacts that have not been used
    /// for 30 days, and beyond 4 GiB those that have not been used for longest; never
    /// those of `keep`.
    pub(crate) fn prune(&self, keep: &[String]) {
        self.prune_at(keep, SystemTime::now());
    }

    fn prune_at(&self, keep: &[String], now: SystemTime) {
        let Ok(entries) = std::fs::read_dir(self.builds()) else {
            return;
        };
        let mut found = Vec::new();
        for entry in entries.flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            match last_used(&entry.path(), now) {
                Ok(used) if !name.starts_with("new-") => found.push((used, name, entry.path())),
                Err(error) if error.kind() != ErrorKind::NotFound => {}
                _ => drop(std::fs::remove_dir_all(entry.path())),
            }
        }
        found.sort_by_key(|(used, ..)| std::cmp::Reverse(*used));
        let mut total = 0;
        for (used, name, path) in found {
            total += size(&path);
            let age = now.duration_since(used).unwrap_or_default();
            if !keep.contains(&name) && (age > MAX_AGE || total > MAX_BYTES) {
                let _ = std::fs::remove_dir_all(path);
            }
        }
    }
}

/// When an artifact was last used; a time in the future counts as now.
fn last_used(artifact: &Path, now: SystemTime) -> io::Result<SystemTime> {
    let manifest = artifact.join(MANIFEST);
    let used = manifest.metadata()?.modified()?;
    if used > now {
        // The clock was ahead, or is behind: the artifact would be kept for too long.
        let _ = File::open(&manifest).and_then(|file| file.set_modified(now));
    }
    Ok(used.min(now))
}

/// The bytes of all files in a folder.
pub(super) fn size(path: &Path) -> u64 {
    let of = |entry: std::fs::DirEntry| match entry.file_type() {
        Ok(kind) if kind.is_dir() => size(&entry.path()),
        _ => entry.metadata().map_or(0, |metadata| metadata.len()),
    };
    std::fs::read_dir(path).into_iter().flatten().flatten().map(of).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workspace::cache::Cache;
    use crate::workspace::cache::artifact::{self, ArtifactKey, Contents};

    /// A repository with artifacts of these ages, days.
    fn repository(folder: &Path, now: SystemTime, ages: &[u64]) -> (RepositoryCache, Vec<String>) {
        let repository =
            Cache::open(Some(folder.join("cache"))).unwrap().repository(folder, "r").unwrap();
        let artifact = |&age: &u64| {
            let key = ArtifactKey::new([("age", age.to_string())]);
            artifact::publish(&repository, &key, folder, Contents::default()).unwrap();
            let manifest = repository.builds().join(key.name()).join("manifest.json");
            let used = now - Duration::from_secs(age * DAY);
            File::open(manifest).unwrap().set_modified(used).unwrap();
            key.name()
        };
        let names = ages.iter().map(artifact).collect();
        (repository, names)
    }

    fn there(repository: &RepositoryCache, names: &[String]) -> Vec<bool> {
        names.iter().map(|name| repository.builds().join(name).exists()).collect()
    }

    #[test]
    fn what_nobody_used_for_long_goes_unless_it_is_to_be_kept() {
        let (folder, now) = (tempfile::tempdir().unwrap(), SystemTime::now());
        let (repository, names) = repository(folder.path(), now, &[28, 31, 40]);
        repository.prune_at(std::slice::from_ref(&names[2]), now);
        assert_eq!(there(&repository, &names), [true, false, true]);
        // A clock that is set back, to a time before 1970, makes nothing old.
        repository.prune_at(&[], SystemTime::UNIX_EPOCH - Duration::from_secs(3600));
        assert_eq!(there(&repository, &names), [true, false, true]);
    }

    #[test]
    fn what_was_used_in_the_future_was_used_now() {
        let (folder, now) = (tempfile::tempdir().unwrap(), SystemTime::now());
        let (repository, names) =
            repository(folder.path(), now + Duration::from_secs(1000 * DAY), &[0]);
        repository.prune_at(&[], now);
        repository.prune_at(&[], now + Duration::from_secs(31 * DAY));
        assert_eq!(there(&repository, &names), [false]);
    }
}
