//! The folder in which one call keeps what tools and runs print.

use std::fs::File;
use std::path::Path;
use std::time::Duration;

use crate::error::Error;
use crate::workspace::cache::RepositoryCache;

/// How the names of such folders begin.
const PREFIX: &str = "tmp-";
/// The file in each of them that is locked while it is in use.
const HELD: &str = "held";
/// Where no lock tells, the age at which a folder counts as left behind.
const OLD: Duration = Duration::from_secs(24 * 3600);

/// A folder that is removed when it is dropped, and by the next call when this
/// one is killed.
#[derive(Debug)]
pub(crate) struct Scratch {
    // Dropped before the lock: others may remove what is not locked.
    folder: tempfile::TempDir,
    _held: File,
}

impl Scratch {
    pub(super) fn new(cache: &RepositoryCache) -> Result<Self, Error> {
        let folder = tempfile::Builder::new().prefix(PREFIX).tempdir_in(cache.path());
        let folder = folder.map_err(Error::io("make a folder in", cache.path()))?;
        // Locked before it has its name. Where the file system has no locks, every file
        // looks unlocked, so it does not get that name.
        let (new, path) = (folder.path().join("new"), folder.path().join(HELD));
        let held = File::create(&new).map_err(Error::io("make", &new))?;
        if held.try_lock().is_ok() {
            std::fs::rename(&new, &path).map_err(Error::io("make", &path))?;
        }
        Ok(Scratch { folder, _held: held })
    }

    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }
}

/// Removes the folders of killed calls. Calls that wait for the lock of the cache have one,
/// too, and the clock may have jumped since, so that the age does not tell: the lock does.
pub(super) fn remove_leftovers(cache: &Path) {
    for entry in std::fs::read_dir(cache).into_iter().flatten().flatten() {
        if entry.file_name().to_string_lossy().starts_with(PREFIX) && is_left(&entry.path()) {
            let _ = std::fs::remove_dir_all(entry.path());
        }
    }
}

fn is_left(folder: &Path) -> bool {
    match File::options().write(true).open(folder.join(HELD)) {
        Ok(held) => held.try_lock().is_ok(),
        // It is being made or removed just now, or the file system has no locks.
        Err(_) => {
            let age = folder.metadata().and_then(|about| about.modified());
            age.ok().and_then(|time| time.elapsed().ok()).is_some_and(|age| age > OLD)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workspace::cache::Cache;

    #[test]
    fn what_is_in_use_stays_however_old_and_what_is_left_goes_however_new() {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache::open(Some(folder.path().join("cache"))).unwrap();
        let cache = cache.repository(folder.path(), "r").unwrap();
        let used = Scratch::new(&cache).unwrap();
        let killed = Scratch::new(&cache).unwrap();
        let left = killed.folder.keep();
        drop(killed._held);
        let fresh = cache.path().join("tmp-fresh");
        std::fs::create_dir(&fresh).unwrap();
        for folder in [used.path(), &left] {
            let long_ago = std::time::SystemTime::now() - 10 * OLD;
            File::open(folder).unwrap().set_modified(long_ago).unwrap();
        }
        remove_leftovers(cache.path());
        assert_eq!((used.path().exists(), left.exists(), fresh.exists()), (true, false, true));
    }
}
