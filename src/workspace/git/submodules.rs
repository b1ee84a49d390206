//! Submodules, filled from the user's clone.

use std::path::{Path, PathBuf};

use git2::{Oid, Repository};

use super::filters::{fill_pointers, filtered};
use super::store::{CheckedOut, Checkout, Store, TreeEntry};
use super::{Error, Revision};
use crate::exec::system::is_inside;
use crate::workspace::files::remove;

/// The mode of a submodule in a tree.
const SUBMODULE: i32 = 0o160_000;

/// Fills the submodules among the entries of the tree that a checkout has, from the user's clone;
/// returns their paths. `done` says what stays incomplete.
pub(super) fn fill_submodules(
    store: &Store,
    user: &Repository,
    checkout: &Checkout<'_>,
    entries: &[TreeEntry],
    done: &mut CheckedOut,
) -> Result<Vec<PathBuf>, Error> {
    let mut links = Vec::new();
    for TreeEntry { path: link, id: commit, .. } in entries.iter().filter(|e| e.mode == SUBMODULE) {
        if !is_inside(checkout.path, link) {
            let (link, hint) = (link.display(), None);
            let what = format!(
                "the submodule `{link}` is outside the repository, or behind a symbolic link"
            );
            return Err(Error::Refused { what, hint });
        }
        let target = checkout.path.join(link);
        match open_submodule(user, checkout.path, link) {
            Some(source) => {
                let filled = fill(store, &source, *commit, link, checkout)?;
                done.is_changed |= filled.is_changed;
                done.empty.extend(filled.empty.iter().map(|path| link.join(path)));
                done.pointers.extend(filled.pointers.iter().map(|path| link.join(path)));
            }
            None => {
                if !is_empty(&target) {
                    done.is_changed = true;
                    remove(&target)?;
                    fs_err::create_dir_all(&target).map_err(Error::io("create", &target))?;
                }
                done.empty.push(link.clone());
            }
        }
        links.push(link.clone());
    }
    Ok(links)
}

/// Fills the submodule `link` of a checkout: a worktree of its own.
fn fill(
    store: &Store,
    source: &Repository,
    commit: Oid,
    link: &Path,
    checkout: &Checkout<'_>,
) -> Result<CheckedOut, Error> {
    let rev = link.display().to_string();
    let own = Store::open(&store.module(link), source)?;
    let missing = |_| {
        let what = format!("the clone does not contain commit {commit} of the submodule `{rev}`");
        Error::refused(what, "`git submodule update --init --recursive`")
    };
    let tree = own.repository().find_commit(commit).map_err(missing)?.tree_id().to_string();
    let (commit, subject) = (commit.to_string(), String::new());
    let revision = Revision { rev, commit, tree, dirty: false, subject };
    let (name, path) = (checkout.name.clone(), &*checkout.path.join(link));
    let mut done = own.check_out(source, &Checkout { name, path, revision: &revision })?;
    let filtered = filtered(&own, source, path, &revision)?;
    done.is_changed |= fill_pointers(path, &filtered, &mut done.pointers)?;
    Ok(done)
}

/// Whether a path is an empty folder.
fn is_empty(path: &Path) -> bool {
    !path.is_symlink() && path.read_dir().is_ok_and(|mut entries| entries.next().is_none())
}

/// The user's repository of a submodule: in the working tree, or under
/// `modules` by its name in the `.gitmodules` of `root`.
fn open_submodule(user: &Repository, root: &Path, link: &Path) -> Option<Repository> {
    let here = user.workdir().map(|root| root.join(link));
    let opened = here.filter(|path| path.join(".git").exists()).map(Repository::open);
    if let Some(Ok(found)) = opened {
        return Some(found);
    }
    let modules = root.join(".gitmodules");
    let config = git2::Config::open(&modules).ok()?;
    let mut entries = config.entries(Some("submodule\\..*\\.path")).ok()?;
    while let Some(Ok(entry)) = entries.next() {
        if entry.value().is_ok_and(|value| Path::new(value) == link) {
            let name = entry.name().ok()?.strip_prefix("submodule.")?.strip_suffix(".path")?;
            // A repository of another owner does not count.
            let modules = user.commondir().join("modules");
            let inside = is_inside(&modules, Path::new(name));
            return inside.then(|| Repository::open_bare(modules.join(name)).ok()).flatten();
        }
    }
    None
}
