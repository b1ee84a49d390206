//! Changes the times of a worktree's files, and notes them in the index. Otherwise libgit2
//! would read every file again to detect that it has not changed.

use std::fs::Metadata;
use std::path::Path;
use std::time::{Duration, SystemTime};

use git2::{Index, IndexEntry, IndexTime, ObjectType, Oid, Repository};

use super::Error;
use crate::exec::system::{Stamp, from_git, set_modified, stamp};

/// Lets `change` set other times for the files of the worktree at `path`. Files that were
/// up to date in the index still are afterwards; others still are not.
pub(crate) fn change_times<E: From<Error>>(
    path: &Path,
    change: impl FnOnce() -> Result<(), E>,
) -> Result<(), E> {
    let failed = || Error::git("read the index of", path.display());
    let mut index = Repository::open(path).and_then(|tree| tree.index()).map_err(failed())?;
    let known = known(&index, path)?;
    change()?;
    for mut entry in known {
        if let Ok(about) = path.join(from_git(&entry.path)).symlink_metadata() {
            note(&mut entry, stamp(&about));
            index.add(&entry).map_err(failed())?;
        }
    }
    Ok(save(&mut index, path)?)
}

/// Removes files of the worktree at `path` whose content is not that in the index although
/// libgit2, which looks at sizes and times of content only, might consider them unchanged.
/// The next checkout writes them again.
pub(super) fn remove_changed(worktree: &Repository, path: &Path) -> Result<(), Error> {
    let failed = || Error::git("read the index of", path.display());
    let mut index = worktree.index().map_err(failed())?;
    let (mut entries, mut is_noted) = (index.iter().collect::<Vec<_>>(), false);
    for entry in &mut entries {
        let full = path.join(from_git(&entry.path));
        let Ok(about) = full.symlink_metadata() else { continue };
        let stamp = stamp(&about);
        if about.is_dir() || (entry.ino, entry.mtime, entry.ctime) == times(stamp) {
            continue;
        }
        let content = Oid::hash_file(ObjectType::Blob, &full);
        if about.is_file() && content.is_ok_and(|content| content == entry.id) {
            note(entry, stamp);
            entry.file_size = about.len() as u32;
            index.add(entry).map_err(failed())?;
            is_noted = true;
        } else {
            fs_err::remove_file(&full).map_err(Error::io("remove", &full))?;
        }
    }
    if is_noted { save(&mut index, path) } else { Ok(()) }
}

/// Writes the index of the worktree at `path`, and makes libgit2 trust it.
pub(super) fn save(index: &mut Index, path: &Path) -> Result<(), Error> {
    index.write().map_err(Error::git("write the index of", path.display()))?;
    settle(index)
}

/// The files that are up to date in the index, judging by times and sizes.
fn known(index: &Index, path: &Path) -> Result<Vec<IndexEntry>, Error> {
    let Some(file) = index.path() else { return Ok(Vec::new()) };
    let written = file.symlink_metadata().map_err(Error::io("read", file))?;
    let written = stamp(&written);
    let is_as = |entry: &IndexEntry, about: &Metadata| {
        let stamp = stamp(about);
        about.is_file()
            && u64::from(entry.file_size) == about.len() & u64::from(u32::MAX)
            && (entry.ino, entry.mtime, entry.ctime) == times(stamp)
            // A file as new as the index may have been written after it.
            && stamp.modified < written.modified
    };
    let is_known = |entry: &IndexEntry| {
        let about = path.join(from_git(&entry.path)).symlink_metadata();
        about.is_ok_and(|about| is_as(entry, &about))
    };
    Ok(index.iter().filter(is_known).collect())
}

/// Makes libgit2 trust the index, which was just written: it compares the contents of files
/// that are as new as the index, so the index is made newer.
pub(super) fn settle(index: &Index) -> Result<(), Error> {
    let Some(file) = index.path() else { return Ok(()) };
    let later = SystemTime::now() + Duration::from_secs(2);
    set_modified(file, later).map_err(Error::io("touch", file))
}

/// Updates an entry with the stamp of its file.
pub(super) fn note(entry: &mut IndexEntry, stamp: Stamp) {
    (entry.ino, entry.mtime, entry.ctime) = times(stamp);
}

fn times(stamp: Stamp) -> (u32, IndexTime, IndexTime) {
    (stamp.number, time(stamp.modified), time(stamp.changed))
}

fn time((seconds, nanoseconds): (i64, u32)) -> IndexTime {
    IndexTime::new(seconds as i32, nanoseconds)
}

#[cfg(test)]
mod tests {
    use super::*;
    use git2::{Status, StatusOptions};

    #[test]
    fn what_was_known_stays_known_and_what_was_changed_is_seen() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path();
        let repository = Repository::init(path).unwrap();
        let set = |name: &str, text: &str, time: SystemTime| {
            let file = path.join(name);
            std::fs::write(&file, text).unwrap();
            std::fs::File::open(&file).unwrap().set_modified(time).unwrap();
        };
        let now = SystemTime::now();
        let mut index = repository.index().unwrap();
        for name in ["same", "other"] {
            set(name, "text", now - Duration::from_secs(60));
            index.add_path(Path::new(name)).unwrap();
        }
        index.write().unwrap();
        set("other", "test", now - Duration::from_secs(30));
        let later = now + Duration::from_secs(1);
        change_times::<Error>(path, || {
            set("same", "text", later);
            set("other", "test", later);
            Ok(())
        })
        .unwrap();
        let repository = Repository::open(path).unwrap();
        let index = repository.index().unwrap();
        let known = |name: &str| index.get_path(Path::new(name), 0).unwrap().mtime;
        let about = path.join("same").symlink_metadata().unwrap();
        let modified = time(stamp(&about).modified);
        assert_eq!(known("same"), modified);
        assert_ne!(known("other"), modified);
        let mut options = StatusOptions::new();
        let statuses = repository.statuses(Some(&mut options)).unwrap();
        let of =
            |name: &str| statuses.iter().find(|entry| entry.path() == Ok(name)).unwrap().status();
        assert_eq!(of("same"), Status::INDEX_NEW);
        assert_eq!(of("other"), Status::INDEX_NEW | Status::WT_MODIFIED);
    }

    #[test]
    fn a_file_as_young_as_the_index_is_not_known() {
        let folder = tempfile::tempdir().unwrap();
        let repository = Repository::init(folder.path()).unwrap();
        std::fs::write(folder.path().join("young"), "text").unwrap();
        let mut index = repository.index().unwrap();
        index.add_path(Path::new("young")).unwrap();
        index.write().unwrap();
        let file = index.path().unwrap();
        let young = folder.path().join("young").symlink_metadata().unwrap().modified().unwrap();
        std::fs::File::open(file).unwrap().set_modified(young).unwrap();
        assert!(known(&index, folder.path()).unwrap().is_empty());
        let later = young + Duration::from_secs(1);
        std::fs::File::open(file).unwrap().set_modified(later).unwrap();
        assert_eq!(known(&index, folder.path()).unwrap().len(), 1);
    }
}
