//! A snapshot of the working tree as a tree object: tracked and untracked files, but not
//! ignored ones. The user's index and stash are not touched; the objects go into the
//! private repository.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use git2::{
    ErrorCode, Index, IndexEntry, IndexEntryExtendedFlag, IndexEntryFlag, IndexTime, ObjectType,
    Odb, Oid, Repository, Status, StatusOptions,
};

use super::base::head_commit;
use super::store::{Store, commit_alone, copy_or_remove, link_objects, write_if_changed};
use super::{Error, Repo, oid};
use crate::exec::system::{from_git, git_bytes, is_inside, may_execute};

const FILE: u32 = 0o100_644;
const EXECUTABLE: u32 = 0o100_755;
const LINK: u32 = 0o120_000;
const FOLDER: u32 = 0o040_000;
const SUBMODULE: u32 = 0o160_000;

/// Files that git reads besides the index to find out what has changed, relative to the
/// folder of a clone's worktree and to that of the clone.
const OF_WORKTREE: [&str; 2] = ["config.worktree", "info/sparse-checkout"];
const OF_CLONE: [&str; 3] = ["config", "info/exclude", "info/attributes"];

/// The roots of the repository and of the submodules in it, at any depth, whose index has a form
/// that libgit2 does not know: a sparse or a split one.
pub(crate) fn without_index(repo: &Repo) -> Result<Vec<PathBuf>, Error> {
    let mut roots = Vec::new();
    let entries = match index(repo)? {
        Some(index) => index,
        None => {
            roots.push(repo.root.clone());
            index_of_head(&repo.inner)?
        }
    };
    let links: Vec<PathBuf> =
        entries.iter().filter(is_submodule).map(|link| from_git(&link.path)).collect();
    for inner in links.iter().filter_map(|path| submodule_at(repo, path)) {
        roots.extend(without_index(&inner)?);
    }
    roots.retain(|root| !repo.changes.contains_key(root));
    Ok(roots)
}

/// The index of a repository; `None` if libgit2 does not know its form.
fn index(repo: &Repo) -> Result<Option<Index>, Error> {
    match repo.inner.index() {
        Err(error) if error.message().contains("mandatory extension") => Ok(None),
        index => index.map(Some).map_err(Error::git("read", "the index")),
    }
}

/// An index of what HEAD has.
fn index_of_head(inner: &Repository) -> Result<Index, Error> {
    let commit = head_commit(inner)?;
    let filled = commit.tree().and_then(|tree| {
        let mut index = Index::new()?;
        index.read_tree(&tree)?;
        Ok(index)
    });
    filled.map_err(Error::git("read", "HEAD"))
}

fn is_submodule(entry: &IndexEntry) -> bool {
    entry.mode == SUBMODULE
}

/// The repository of a submodule that is checked out.
fn submodule_at(repo: &Repo, path: &Path) -> Option<Repo> {
    let root = repo.root.join(path);
    let is_folder = is_inside(&repo.root, path) && !root.is_symlink();
    let inner = is_folder.then(|| Repository::open(&root).ok()).flatten();
    let inner = inner.filter(|inner| inner.head().is_ok())?;
    Some(Repo { inner, root, changes: repo.changes.clone() })
}

/// Makes `folder` a repository with the same index, HEAD and settings as that of the working tree
/// at `root`, whose objects it borrows: the installed git marks files as used in the one where it
/// reads a split index.
pub(crate) fn copy_index(root: &Path, folder: &Path) -> Result<(), Error> {
    let inner = Repository::open(root);
    let inner = inner.map_err(Error::git("open", root.display()))?;
    for part in ["refs", "objects"] {
        fs_err::create_dir_all(folder.join(part)).map_err(Error::io("create", folder))?;
    }
    link_objects(folder, &inner)?;
    let head = head_commit(&inner)?.id().to_string();
    write_if_changed(&folder.join("HEAD"), head.as_bytes())?;
    let (own, common) = (inner.path(), inner.commondir());
    for (from, files) in [(own, &OF_WORKTREE[..]), (common, &OF_CLONE[..])] {
        for file in files {
            copy_or_remove(&from.join(file), &folder.join(file))?;
        }
    }
    // The part that a split index shares with earlier ones is a file beside it.
    for file in fs_err::read_dir(own).map_err(Error::io("read", own))? {
        let file = file.map_err(Error::io("read", own))?;
        let name = file.file_name();
        if name == "index" || name.to_string_lossy().starts_with("sharedindex.") {
            fs_err::copy(file.path(), folder.join(&name)).map_err(Error::io("copy", own))?;
        }
    }
    Ok(())
}

/// Believes what `git status --porcelain -z --no-renames` printed in the working tree at `root`,
/// instead of libgit2.
pub(crate) fn set_changes(repo: &mut Repo, root: PathBuf, printed: &str) {
    // The status of a file is two letters and a space.
    let paths = printed.split('\0').filter_map(|entry| entry.get(3..));
    repo.changes.insert(root, paths.map(PathBuf::from).collect());
}

/// The files of the working tree that differ from HEAD, relative to the root.
pub(super) fn changes(repo: &Repo) -> Result<Vec<PathBuf>, Error> {
    if let Some(changes) = repo.changes.get(&repo.root) {
        return Ok(changes.clone());
    }
    let mut options = StatusOptions::new();
    options.include_untracked(true).recurse_untracked_dirs(true).include_ignored(false);
    // It would leave out those that are to be ignored, and fail at a split index.
    options.update_index(false).exclude_submodules(true);
    let failed = || Error::git("read", "the working tree");
    let statuses = repo.inner.statuses(Some(&mut options)).map_err(failed())?;
    let index = repo.inner.index().map_err(failed())?;
    // Libgit2 considers what a sparse checkout leaves out as deleted.
    let is_left_out = |path: &Path| {
        let flags = index.get_path(path, 0).map_or(0, |entry| entry.flags_extended);
        flags & IndexEntryExtendedFlag::SKIP_WORKTREE.bits() != 0
    };
    let changed = statuses.iter().filter(|entry| entry.status() != Status::CURRENT);
    let changed = changed.map(|entry| (from_git(entry.path_bytes()), entry.status()));
    let differs =
        |(path, status): &(PathBuf, _)| *status != Status::WT_DELETED || !is_left_out(path);
    let mut found: Vec<PathBuf> = changed.filter(differs).map(|(path, _)| path).collect();
    let head = index_of_head(&repo.inner)?;
    let links = index.iter().chain(head.iter()).filter(is_submodule);
    for path in links.map(|link| from_git(&link.path)).collect::<BTreeSet<_>>() {
        let [known, link] = [&head, &index].map(|of| of.get_path(&path, 0).map(|link| link.id));
        let place = repo.root.join(&path);
        let is_gone = !place.symlink_metadata().is_ok_and(|about| about.is_dir());
        // Also of one that git ignores: it is built from all the same.
        let has_changed = known != link
            || is_gone && !is_left_out(&path)
            || match submodule_at(repo, &path) {
                Some(inner) => {
                    Some(head_commit(&inner.inner)?.id()) != link || !changes(&inner)?.is_empty()
                }
                None => false,
            };
        if has_changed && !found.contains(&path) {
            found.push(path);
        }
    }
    Ok(found)
}

/// Writes the working tree into `store`; returns the tree, in hexadecimal.
pub(crate) fn take(repo: &Repo, store: &Store) -> Result<String, Error> {
    let mut index = index_of_head(&repo.inner)?;
    let failed = || Error::git("snapshot", "the working tree");
    let objects = store.repository().odb().map_err(failed())?;
    // Of submodules that HEAD does not have, the user's index knows.
    let user = self::index(repo)?;
    // A file that git is told to take for unchanged is what a build reads all the same.
    let is_hidden = |entry: &IndexEntry| {
        entry.flags & IndexEntryFlag::VALID.bits() != 0
            || entry.flags_extended & IndexEntryExtendedFlag::SKIP_WORKTREE.bits() != 0
    };
    let hidden = user.iter().flat_map(Index::iter).filter(is_hidden);
    let hidden = hidden.filter(|entry| !is_submodule(entry)).map(|entry| from_git(&entry.path));
    let is_there = |path: &PathBuf| repo.root.join(path).symlink_metadata().is_ok();
    for path in changes(repo)?.into_iter().chain(hidden.filter(is_there)) {
        let added = user.as_ref().and_then(|user| user.get_path(&path, 0)).filter(is_submodule);
        stage(repo, &mut index, &path, added, store)?;
    }
    let entries: Vec<IndexEntry> = index.iter().collect();
    Ok(write_tree(&objects, &entries, 0).map_err(failed())?.to_string())
}

/// Takes what is at `path` into `index`; `added` is a submodule that was added there.
fn stage(
    repo: &Repo,
    index: &mut Index,
    path: &Path,
    added: Option<IndexEntry>,
    store: &Store,
) -> Result<(), Error> {
    let shown = path.display().to_string();
    let full = repo.root().join(path);
    // What is behind a link that took a folder's place is not at this path.
    let is_there = is_inside(repo.root(), path);
    let Some(metadata) = full.symlink_metadata().ok().filter(|_| is_there) else {
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
        // A nested repository that is no submodule belongs to nobody.
        let link = index.get_path(path, 0).filter(is_submodule).or(added);
        let (Some(link), Some(inner)) = (link, submodule_at(repo, path)) else { return Ok(()) };
        let id = submodule(&inner, &store.module(path))?;
        return index.add(&IndexEntry { id, ..link }).map_err(Error::git("snapshot", shown));
    } else {
        let content = fs_err::read(&full).map_err(Error::io("snapshot", path))?;
        (if may_execute(&metadata) { EXECUTABLE } else { FILE }, content)
    };
    let objects = store.repository().odb();
    let blob = objects.and_then(|objects| write(&objects, ObjectType::Blob, &content));
    let blob = blob.map_err(Error::git("snapshot", &shown))?;
    index.add(&entry(path, mode, blob)).map_err(Error::git("snapshot", shown))
}

/// The commit that is checked out in a submodule; one of its working tree if that differs, in the
/// private repository at `path`.
fn submodule(inner: &Repo, path: &Path) -> Result<Oid, Error> {
    if changes(inner)?.is_empty() {
        return Ok(head_commit(&inner.inner)?.id());
    }
    let store = Store::open(path, &inner.inner)?;
    let tree = oid(&take(inner, &store)?)?;
    let tree = store.repository().find_tree(tree);
    let commit = tree.and_then(|tree| commit_alone(store.repository(), &tree));
    commit.map_err(Error::git("snapshot", inner.root().display()))
}

/// Writes the tree of these entries, which are in the order of an index and whose paths
/// have the first `from` bytes in common.
fn write_tree(objects: &Odb<'_>, entries: &[IndexEntry], from: usize) -> Result<Oid, git2::Error> {
    let (mut content, mut left) = (Vec::new(), entries);
    while let Some(first) = left.first() {
        let rest = &first.path[from..];
        let end = rest.iter().position(|byte| *byte == b'/').unwrap_or(rest.len());
        let (mode, id, count) = match end == rest.len() {
            true => (first.mode, first.id, 1),
            false => {
                let folder = &first.path[..=from + end];
                let inside = left.iter().take_while(|entry| entry.path.starts_with(folder)).count();
                (FOLDER, write_tree(objects, &left[..inside], folder.len())?, inside)
            }
        };
        content.extend(format!("{mode:o} ").into_bytes());
        content.extend(&rest[..end]);
        content.push(0);
        content.extend(id.as_bytes());
        left = &left[count..];
    }
    write(objects, ObjectType::Tree, &content)
}

/// Writes an object unless it exists: libgit2 would make an existing one newer, even if it is
/// borrowed from the user's repository.
fn write(objects: &Odb<'_>, kind: ObjectType, content: &[u8]) -> Result<Oid, git2::Error> {
    let id = Oid::hash_object(kind, content)?;
    if objects.exists(id) { Ok(id) } else { objects.write(kind, content) }
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
