//! Checks out the worktrees of the private repository.

use std::collections::{BTreeSet, HashSet};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use git2::build::CheckoutBuilder;
use git2::{ObjectType, Repository};

use super::filters::{attributes, converts, is_attributes};
use super::store::{CheckedOut, Checkout, Store, TreeEntry, entries, write_if_changed};
use super::submodules::fill_submodules;
use super::times::{change_times, remove_changed};
use super::{Error, oid};
use crate::exec::system::{from_git, git_bytes, set_modified};
use crate::model::side::Pair;
use crate::workspace::files::{remove, remove_unknown};
use crate::workspace::folder_record::is_git;

/// The bits of an entry's mode that encode its kind, and the kind of a file.
const KIND: i32 = 0o170_000;
const FILE: i32 = 0o100_000;

/// The mode of a link in a tree.
const LINK: i32 = 0o120_000;

impl Store {
    /// Makes the folder of `checkout` a worktree at its revision, file by file, and removes
    /// everything else in it. Files that are already correct are not written again, so that
    /// cargo rebuilds only what differs.
    pub(crate) fn check_out(
        &self,
        user: &Repository,
        checkout: &Checkout<'_>,
    ) -> Result<CheckedOut, Error> {
        let Checkout { name, path, revision } = checkout;
        let noted = self.repository().path().join(format!("{name}.attributes"));
        let entries = entries(self.repository(), &self.tree(revision)?)?;
        let attributes = attributes(user, self.repository(), &entries);
        if std::fs::read_to_string(&noted).ok().as_ref() != Some(&attributes) {
            // They decide what is written of files whose blobs are the same. If they are not
            // noted, a checkout was interrupted, so the content is unknown.
            remove(path)?;
        }
        remove(&noted)?;
        let (worktree, is_new) = self.worktree(name, path)?;
        let before = worktree.head().ok().and_then(|head| head.target());
        let converts = converts(user, &worktree, &entries);
        write_files(&worktree, checkout, &entries, is_new, converts)?;
        let mut done = CheckedOut { attributes, ..CheckedOut::default() };
        let submodules = fill_submodules(self, user, checkout, &entries, &mut done)?;
        // In a new folder, there is nothing that could have changed or had to be removed.
        if !is_new {
            if done.is_changed {
                // Cargo does not watch files in all submodules. All other files are made newer,
                // so that it builds again.
                change_times(path, || touch(path, &entries))?;
            }
            let known: HashSet<&Path> = entries.iter().map(|entry| &*entry.path).collect();
            let is_kept = |path: &Path| is_git(path) || submodules.iter().any(|kept| kept == path);
            remove_unknown(path, is_kept, |path| known.contains(path))?;
        }
        done.is_changed |= is_new || before != Some(oid(&revision.commit)?);
        write_if_changed(&noted, done.attributes.as_bytes())?;
        Ok(done)
    }

    /// Like [`Store::check_out`], for both sides at once. The base's error takes precedence.
    pub(crate) fn check_out_both(
        &self,
        user: &Repository,
        checkouts: &Pair<Checkout<'_>>,
    ) -> Result<Pair<CheckedOut>, Error> {
        let (path, user) = (self.repository().path(), user.path());
        // Those of libgit2 are for one thread each.
        let check_out = |checkout: &Checkout<'_>| {
            let user = Repository::open(user).map_err(Error::git("open", user.display()))?;
            Store::open(path, &user)?.check_out(&user, checkout)
        };
        std::thread::scope(|scope| {
            let head = std::thread::Builder::new();
            let head = head.spawn_scoped(scope, || check_out(&checkouts.head));
            let base = check_out(&checkouts.base);
            let head = head.map_err(Error::io("start a thread for", Path::new("the head")))?;
            let head = head.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            Ok(Pair { base: base?, head: head? })
        })
    }
}

/// Writes and removes files until those of the revision are correct.
fn write_files(
    worktree: &Repository,
    Checkout { path, revision, .. }: &Checkout<'_>,
    entries: &[TreeEntry],
    is_new: bool,
    converts: bool,
) -> Result<(), Error> {
    let failed = || Error::git("check out", &revision.rev);
    let (commit, tree) = (oid(&revision.commit)?, oid(&revision.tree)?);
    let set_head = || worktree.set_head_detached(commit).map_err(failed());
    if !is_new {
        unlink(worktree, path, entries)?;
        remove_changed(worktree, path)?;
        set_head()?;
    }
    let tree = worktree.find_object(tree, Some(ObjectType::Tree)).map_err(failed())?;
    let check_out = |how: &mut CheckoutBuilder<'_>| {
        how.force().disable_filters(!converts);
        worktree.checkout_tree(&tree, Some(how)).map_err(failed())
    };
    let attributes = entries.iter().filter(|entry| is_attributes(&entry.path));
    if converts && attributes.clone().next().is_some() {
        // libgit2 only knows the attributes in the worktree, and proceeds by name.
        let mut first = CheckoutBuilder::new();
        first.disable_pathspec_match(true);
        attributes.for_each(|entry| {
            first.path(git_bytes(&entry.path));
        });
        check_out(&mut first)?;
    }
    check_out(&mut CheckoutBuilder::new())?;
    if is_new {
        // Not earlier, since libgit2 expects the content of HEAD in the worktree.
        set_head()?;
    }
    Ok(())
}

/// Removes links at places where a tree has something else, or where the
/// previous checkout has a folder: libgit2 would write and remove files through
/// them, wherever they lead.
fn unlink(worktree: &Repository, root: &Path, entries: &[TreeEntry]) -> Result<(), Error> {
    let index = worktree.index().map_err(Error::git("read the index of", root.display()))?;
    let mut places: BTreeSet<PathBuf> =
        entries.iter().filter(|entry| entry.mode != LINK).map(|entry| entry.path.clone()).collect();
    for entry in index.iter() {
        places.extend(from_git(&entry.path).ancestors().skip(1).map(Path::to_owned));
    }
    // Outer folders come first, since inner ones may be behind a link.
    for place in places.iter().filter(|place| !place.as_os_str().is_empty()) {
        let full = root.join(place);
        if full.is_symlink() {
            remove(&full)?;
        }
    }
    Ok(())
}

/// Sets the time of every file among these entries to now.
fn touch(root: &Path, entries: &[TreeEntry]) -> Result<(), Error> {
    let now = SystemTime::now();
    for entry in entries.iter().filter(|entry| entry.mode & KIND == FILE) {
        let path = root.join(&entry.path);
        set_modified(&path, now).map_err(Error::io("touch", &path))?;
    }
    Ok(())
}
