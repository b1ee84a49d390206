//! A snapshot of the working tree as a tree object: tracked and untracked files, but not
//! ignored ones. The user's index and stash are not touched; the objects go into the
//! private repository.

use std::path::{Path, PathBuf};

use git2::{ErrorCode, Index, IndexEntry, IndexTime, Oid, Repository, Status, StatusOptions};

use super::base::head_commit;
use super::worktree::Store;
use super::{Error, Repo};
use crate::exec::system::{from_git, git_bytes, is_executable};

const FILE: u32 = 0o100_644;
const EXECUTABLE: u32 = 0o100_755;
const LINK: u32 = 0o120_000;

/// The files of the working tree that differ from HEAD, relative to the root.
pub(super) fn changes(repository: &Repository) -> Result<Vec<PathBuf>, Error> {
    let mut options = StatusOptions::new();
    options.include_untracked(true).recurse_untracked_dirs(true).include_ignored(false);
    options.update_index(false);
    let statuses =
        repository.statuses(Some(&mut options)).map_err(Error::git("read", "the working tree"))?;
    let changed = statuses.iter().filter(|entry| entry.status() != Status::CURRENT);
    Ok(changed.map(|entry| from_git(entry.path_bytes())).collect())
}

impl Repo {
    /// Writes the working tree into `store`; returns the tree, in hexadecimal.
    pub(crate) fn snapshot(&self, store: &Store) -> Result<String, Error> {
        let head = head_commit(&self.inner)?.tree().map_err(Error::git("read", "HEAD"))?;
        let verb = "snapshot";
        let mut index = Index::new().map_err(Error::git(verb, "the working tree"))?;
        index.read_tree(&head).map_err(Error::git(verb, "HEAD"))?;
        for path in changes(&self.inner)? {
            self.take(&mut index, &path, store)?;
        }
        let tree = index
            .write_tree_to(store.repository())
            .map_err(Error::git(verb, "the working tree"))?;
        Ok(tree.to_string())
    }

    fn take(&self, index: &mut Index, path: &Path, store: &Store) -> Result<(), Error> {
        let shown = path.display().to_string();
        let full = self.root().join(path);
        let Ok(metadata) = full.symlink_metadata() else {
            return match index.remove(path, 0) {
                // Added to the user's index and deleted again, or in a folder that was
                // replaced by a file.
                Err(error) if error.code() == ErrorCode::NotFound => Ok(()),
                removed => removed.map_err(Error::git("snapshot", shown)),
            };
        };
        let (mode, content) = if metadata.is_symlink() {
            let target = fs_err::read_link(&full).map_err(Error::io("snapshot", path))?;
            (LINK, git_bytes(&target))
        } else if metadata.is_dir() {
            // A submodule or a nested repository stays as in the commit.
            return Ok(());
        } else {
            // If the system does not know, the index does.
            let known = || index.get_path(path, 0).is_some_and(|entry| entry.mode == EXECUTABLE);
            let executable = is_executable(&metadata).unwrap_or_else(known);
            let content = fs_err::read(&full).map_err(Error::io("snapshot", path))?;
            (if executable { EXECUTABLE } else { FILE }, content)
        };
        let blob = store.repository().blob(&content).map_err(Error::git("snapshot", &*shown))?;
        index.add(&entry(path, mode, blob)).map_err(Error::git("snapshot", shown))
    }
}

fn entry(path: &Path, mode: u32, id: Oid) -> IndexEntry {
    let never = IndexTime::new(0, 0);
    IndexEntry {
        ctime: never,
        mtime: never,
        dev: 0,
        ino: 0,
        mode,
        uid: 0,
        gid: 0,
        file_size: 0,
        id,
        flags: 0,
        flags_extended: 0,
        path: git_bytes(path),
    }
}
