//! The folder of one call in the cache: for what tools and runs print.

use std::fs::File;
use std::path::Path;
use std::time::Duration;

use crate::error::Error;
use crate::workspace::cache::RepositoryCache;

/// How their names begin.
const PREFIX: &str = "tmp-";
/// The file in each that is locked as long as somebody uses it.
const HELD: &str = "held";
/// How old one has to be before it counts as left behind where no lock tells.
const OLD: Duration = Duration::from_secs(24 * 3600);

/// A folder that is removed when it is dropped, and by the next call when this
/// one is killed.
#[derive(Debug)]
pub(crate) struct Scratch {
    // Dropped first: what is not locked may be removed by others.
    folder: tempfile::TempDir,
    _held: File,
}

impl Scratch {
    pub(super) fn new(cache: &RepositoryCache) -> Result<Self, Error> {
        let folder = tempfile::Builder::new().prefix(PREFIX).tempdir_in(cache.path());
        let folder = folder.map_err(Error::io("make a folder in", cache.path()))?;
        // Locked before others can know of it. Where the file system has no
        // locks, all look as though nobody held them, and it is not named.
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

/// Removes those of killed calls. Calls that wait for the lock of the cache have
/// theirs, too, and the clock may have jumped since: the lock tells.
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
        // Being made or removed just now, or on a file system without locks.
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
