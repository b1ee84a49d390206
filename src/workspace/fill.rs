//! What libgit2 can't do, done by the installed git: files with a filter, and
//! objects that a partial clone left out. Nothing is fetched unasked.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use super::Work;
use crate::error::{Error, Kind};
use crate::exec::system::digest_file;
use crate::model::side::Side;
use crate::workspace::git::filters::{Filtered, Pointer};
use crate::workspace::git::worktree::Store;
use crate::workspace::git::{self, Revision};

/// The bytes of paths that one call of git gets.
const LONGEST: usize = 50_000;

/// How many objects are asked for at once.
const OBJECTS: usize = 1000;

/// Settings under which libgit2 can read the index that git writes, and under
/// which nothing of the user's runs but the filters.
const PLAIN: [&str; 8] = [
    "index.version=2",
    "index.skipHash=false",
    "index.sparse=false",
    "core.splitIndex=false",
    "core.untrackedCache=false",
    "core.fsmonitor=false",
    "core.sparseCheckout=false",
    "core.hooksPath=/dev/null",
];

impl Work<'_, '_> {
    /// Passes the files of a worktree of a side's through the user's filters.
    /// Those of git-lfs that the clone lacks.
    pub(super) fn filter(
        &mut self,
        store: &Store,
        side: Side,
        tree: &Path,
        revision: &Revision,
    ) -> Result<Vec<PathBuf>, Error> {
        let filtered = store.filtered(&self.repo, tree, revision)?;
        let settings = filtered.settings.iter().map(String::as_str).chain(PLAIN);
        let mut args: Vec<OsString> =
            settings.flat_map(|setting| ["-c".into(), setting.into()]).collect();
        args.extend(["checkout-index", "--force", "--index", "--"].map(OsString::from));
        for paths in chunks(&filtered.raw) {
            for path in paths {
                // Git leaves alone what the index says is right.
                let full = tree.join(path);
                fs_err::remove_file(&full).map_err(Error::io("remove", &full))?;
            }
            let mut args = args.clone();
            args.extend(paths.iter().map(OsString::from));
            let mut command = self.tools.command("git", args, tree, None);
            for (name, value) in [("GIT_NO_LAZY_FETCH", "1"), ("LC_ALL", "C")] {
                command.set_var(name, value);
            }
            let (exit, _, stderr) = self.tools.quietly(command)?;
            if !exit.success() {
                let example =
                    paths.first().map_or(String::new(), |path| path.display().to_string());
                return Err(Kind::Filter { side, example, exit, stderr }.into());
            }
        }
        if !filtered.raw.is_empty() {
            store.settle(tree)?;
        }
        let mut missing = self.fill_pointers(store, tree, &filtered)?;
        if !missing.is_empty() && self.request.fetch {
            let (remote, what) = ("origin", format!("large files of {}", revision.rev));
            match self.git(remote, &what, &["lfs", "fetch", remote, &revision.commit]) {
                // Without git-lfs, or without a server that has them, they stay
                // what they are, which is said.
                Err(error) if error.is_interrupt() => return Err(error),
                _ => missing = self.fill_pointers(store, tree, &filtered)?,
            }
        }
        Ok(missing)
    }

    /// Puts in the place of the pointers of git-lfs what they stand for, as far
    /// as the clone has it; those that are left. Git-lfs itself would write
    /// into the clone, and ask the server.
    fn fill_pointers(
        &self,
        store: &Store,
        tree: &Path,
        filtered: &Filtered,
    ) -> Result<Vec<PathBuf>, Error> {
        let (mut filled, mut missing) = (Vec::new(), Vec::new());
        for path in &filtered.lfs {
            let full = tree.join(path);
            let Some(pointer) = Pointer::read(&full) else { continue };
            let place = pointer.place(&filtered.storage);
            let is_there = place.metadata().is_ok_and(|about| about.len() == pointer.size);
            if !is_there || digest_file(&place).ok().as_ref() != Some(&pointer.sha256) {
                missing.push(path.clone());
                continue;
            }
            let mode = full.metadata().map_err(Error::io("read", &full))?.permissions();
            fs_err::remove_file(&full).map_err(Error::io("remove", &full))?;
            fs_err::copy(&place, &full).map_err(Error::io("copy", &place))?;
            fs_err::set_permissions(&full, mode).map_err(Error::io("change", &full))?;
            filled.push(path.clone());
        }
        if !filled.is_empty() {
            store.accept(tree, &filled)?;
        }
        Ok(missing)
    }

    /// Sees to it that a partial clone holds the files of a commit.
    pub(super) fn complete(&mut self, revision: &Revision) -> Result<(), Error> {
        let Some(remote) = self.repo.promisor() else {
            return Ok(());
        };
        let commit = self.repo.at(Some(&revision.commit))?;
        // Trees bring what lies in them into view.
        for _ in 0..1000 {
            let missing = self.missing(&commit.tree)?;
            if missing.is_empty() {
                return Ok(());
            }
            if !self.request.fetch {
                let (rev, count) = (revision.rev.clone(), missing.len());
                return Err(git::Error::Partial { rev, count }.into());
            }
            let what = format!("files of {}", revision.rev);
            for objects in missing.chunks(OBJECTS) {
                let mut args = super::fetch::OPTIONS.to_vec();
                args.extend(["--filter=blob:none", "--", &remote]);
                args.extend(objects.iter().map(String::as_str));
                self.git(&remote, &what, &args)?;
            }
            self.repo = git::Repo::discover(&self.request.folder)?;
        }
        let (rev, count) = (revision.rev.clone(), 1);
        Err(git::Error::Partial { rev, count }.into())
    }

    /// The objects below a tree that the clone lacks and knows of.
    fn missing(&self, tree: &str) -> Result<Vec<String>, Error> {
        if !self.repo.holds(tree) {
            return Ok(vec![tree.to_owned()]);
        }
        let args = ["rev-list", "--objects", "--missing=print", tree].map(OsString::from);
        let mut command = self.tools.command("git", args.to_vec(), self.repo.root(), None);
        command.set_var("GIT_NO_LAZY_FETCH", "1");
        let printed = self.tools.output(command)?;
        let missing = printed.lines().filter_map(|line| line.strip_prefix('?'));
        Ok(missing.map(str::to_owned).collect())
    }
}

/// The paths in groups that fit into an argument list.
fn chunks(paths: &[PathBuf]) -> Vec<&[PathBuf]> {
    let mut groups = Vec::new();
    let (mut begin, mut length) = (0, 0);
    for (number, path) in paths.iter().enumerate() {
        if length > LONGEST {
            groups.push(&paths[begin..number]);
            (begin, length) = (number, 0);
        }
        length += path.as_os_str().len() + 1;
    }
    groups.push(&paths[begin..]);
    groups.retain(|group| !group.is_empty());
    groups
}
