//! Submodules, filled from what the user's clone has of them.

use std::path::{Path, PathBuf};

use git2::build::CheckoutBuilder;
use git2::{ObjectType, Oid, Repository};

use super::Error;
use super::worktree::{Store, remove, write_if_changed};

impl Store {
    /// Fills the submodules of a tree from what the user's clone has; their
    /// paths from the root.
    pub(super) fn fill_submodules(
        &self,
        user: &Repository,
        tree: &git2::Object<'_>,
        path: &Path,
        stamps: Option<&Path>,
    ) -> Result<Vec<PathBuf>, Error> {
        let tree = tree.peel_to_tree().map_err(Error::git("read", "a tree"))?;
        let mut links = Vec::new();
        tree.walk(git2::TreeWalkMode::PreOrder, |folder, entry| {
            if entry.kind() == Some(ObjectType::Commit) {
                let name = String::from_utf8_lossy(entry.name_bytes()).into_owned();
                links.push((format!("{folder}{name}"), entry.id()));
            }
            git2::TreeWalkResult::Ok
        })
        .map_err(Error::git("walk", "a tree"))?;
        let mut filled = Vec::new();
        for (link, commit) in links {
            let target = path.join(&link);
            // Written anew only when it is another commit: the files' times
            // tell cargo what changed.
            let stamp = stamps.map(|stamps| stamps.join(escape(&link)));
            let wanted = commit.to_string();
            let is_there = stamp.as_ref().is_some_and(|stamp| {
                target.is_dir() && std::fs::read_to_string(stamp).is_ok_and(|have| have == wanted)
            });
            if let Some(source) = open_submodule(user, path, &link).filter(|_| !is_there) {
                stamp.iter().try_for_each(|stamp| remove(stamp))?;
                self.fill(&source, commit, &link, &target)?;
                stamp.iter().try_for_each(|stamp| write_if_changed(stamp, wanted.as_bytes()))?;
            }
            filled.push(PathBuf::from(link));
        }
        Ok(filled)
    }

    fn fill(
        &self,
        source: &Repository,
        commit: Oid,
        link: &str,
        target: &Path,
    ) -> Result<(), Error> {
        let private = self.repository().path().join("modules").join(escape(link));
        let store = Store::over(&private, source)?;
        let missing = |_| Error::Submodule { path: link.to_owned(), commit: commit.to_string() };
        let found = store.repository().find_commit(commit).map_err(missing)?;
        let tree = found.tree().map_err(Error::git("read", commit.to_string()))?;
        remove(target)?;
        fs_err::create_dir_all(target).map_err(Error::io("make", target))?;
        let mut checkout = CheckoutBuilder::new();
        checkout.force().target_dir(target).update_index(false);
        // Of a bare repository libgit2 checks out no tree that has submodules.
        store
            .repository()
            .set_workdir(target, false)
            .map_err(Error::git("check out the submodule", link))?;
        store
            .repository()
            .checkout_tree(tree.as_object(), Some(&mut checkout))
            .map_err(Error::git("check out the submodule", link))?;
        store.fill_submodules(source, tree.as_object(), target, None)?;
        Ok(())
    }
}

/// A path as one name of a folder's.
fn escape(path: &str) -> String {
    path.replace('%', "%25").replace('/', "%2F")
}

/// The user's repository of a submodule: in the working tree, or under
/// `modules` by the name that `.gitmodules` in `root` gives it.
fn open_submodule(user: &Repository, root: &Path, link: &str) -> Option<Repository> {
    let here = user.workdir().map(|root| root.join(link));
    let opened = here.filter(|path| path.join(".git").exists()).map(Repository::open);
    if let Some(Ok(found)) = opened {
        return Some(found);
    }
    let modules = root.join(".gitmodules");
    let config = git2::Config::open(&modules).ok()?;
    let mut entries = config.entries(Some("submodule\\..*\\.path")).ok()?;
    while let Some(Ok(entry)) = entries.next() {
        if entry.value().ok() == Some(link) {
            let name = entry.name().ok()?.strip_prefix("submodule.")?.strip_suffix(".path")?;
            return Repository::open_bare(user.commondir().join("modules").join(name)).ok();
        }
    }
    None
}
