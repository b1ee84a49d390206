//! Submodules, filled from what the user's clone has of them.

use std::path::{Path, PathBuf};

use git2::build::CheckoutBuilder;
use git2::{Oid, Repository};

use super::Error;
use super::worktree::{Entry, Store, entries, remove, write_if_changed};
use crate::system::is_inside;

/// What a tree says of a submodule.
const SUBMODULE: i32 = 0o160_000;

impl Store {
    /// Fills the submodules among the entries of a tree from what the user's
    /// clone has; their paths from the root.
    pub(super) fn fill_submodules(
        &self,
        user: &Repository,
        entries: &[Entry],
        path: &Path,
        stamps: Option<&Path>,
    ) -> Result<Vec<PathBuf>, Error> {
        let links = entries.iter().filter(|entry| entry.mode == SUBMODULE);
        let mut filled = Vec::new();
        for Entry { path: link, id: commit, .. } in links {
            let target = path.join(link);
            if !is_inside(path, link) {
                return Err(Error::OddSubmodule(link.clone()));
            }
            // Written anew only when it is another commit: the files' times
            // tell cargo what changed.
            let stamp = stamps.map(|stamps| stamps.join(escape(link)));
            let wanted = commit.to_string();
            let is_there = stamp.as_ref().is_some_and(|stamp| {
                holds_something(&target)
                    && std::fs::read_to_string(stamp).is_ok_and(|have| have == wanted)
            });
            if let Some(source) = open_submodule(user, path, link).filter(|_| !is_there) {
                stamp.iter().try_for_each(|stamp| remove(stamp))?;
                self.fill(&source, *commit, link, &target)?;
                stamp.iter().try_for_each(|stamp| write_if_changed(stamp, wanted.as_bytes()))?;
            }
            filled.push(link.clone());
        }
        Ok(filled)
    }

    fn fill(
        &self,
        source: &Repository,
        commit: Oid,
        link: &Path,
        target: &Path,
    ) -> Result<(), Error> {
        let failed = || Error::git("check out the submodule", link.display().to_string());
        let private = self.repository().path().join("modules").join(escape(link));
        let store = Store::over(&private, source)?;
        let missing =
            |_| Error::Submodule { path: link.display().to_string(), commit: commit.to_string() };
        let found = store.repository().find_commit(commit).map_err(missing)?;
        let tree = found.tree().map_err(Error::git("read", commit.to_string()))?;
        remove(target)?;
        fs_err::create_dir_all(target).map_err(Error::io("make", target))?;
        let mut checkout = CheckoutBuilder::new();
        checkout.force().target_dir(target).update_index(false);
        // Of a bare repository libgit2 checks out no tree that has submodules.
        store.repository().set_workdir(target, false).map_err(failed())?;
        store.repository().checkout_tree(tree.as_object(), Some(&mut checkout)).map_err(failed())?;
        store.fill_submodules(source, &entries(store.repository(), &tree)?, target, None)?;
        Ok(())
    }
}

/// Whether a path is a folder with something in it. A checkout makes a
/// submodule's folder, empty, where there was none or something else.
fn holds_something(path: &Path) -> bool {
    !path.is_symlink() && path.read_dir().is_ok_and(|mut entries| entries.next().is_some())
}

/// A path as one name of a folder's.
fn escape(path: &Path) -> String {
    path.to_string_lossy().replace('%', "%25").replace('/', "%2F")
}

/// The user's repository of a submodule: in the working tree, or under
/// `modules` by the name that `.gitmodules` in `root` gives it.
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
            // Somebody else's repository is none of the clone's modules.
            let modules = user.commondir().join("modules");
            let inside = is_inside(&modules, Path::new(name));
            return inside.then(|| Repository::open_bare(modules.join(name)).ok()).flatten();
        }
    }
    None
}
