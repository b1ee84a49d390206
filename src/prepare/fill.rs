//! What libgit2 can't do, done by the installed git: files with a filter, and
//! objects that a partial clone left out. Nothing is fetched unasked.

use std::ffi::OsString;
use std::path::PathBuf;

use super::Work;
use crate::error::{Error, Kind};
use crate::event::Notice;
use crate::git::filters::is_pointer;
use crate::git::worktree::Store;
use crate::git::{self, Revision};
use crate::side::Side;

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
    /// Passes the files of a side's worktree through the user's filters.
    pub(super) fn filter(
        &mut self,
        store: &Store,
        side: Side,
        revision: &Revision,
    ) -> Result<(), Error> {
        let tree = self.room.tree(side);
        let filtered = store.filtered(&self.repo, &tree, revision)?;
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
            let mut command = self.tools.command("git", args, &tree, None);
            for (name, value) in
                [("GIT_NO_LAZY_FETCH", "1"), ("GIT_LFS_SKIP_SMUDGE", "1"), ("LC_ALL", "C")]
            {
                command.set_var(name, value);
            }
            let (exit, _, said) = self.tools.quietly(command)?;
            if !exit.success() {
                let example =
                    paths.first().map_or(String::new(), |path| path.display().to_string());
                return Err(Kind::Filter { side, example, exit, said }.into());
            }
        }
        if !filtered.raw.is_empty() {
            store.settle(&tree)?;
        }
        let mut pointers = filtered.lfs.iter().filter(|path| is_pointer(&tree.join(path)));
        if let Some(example) = pointers.next() {
            let (count, example) = (1 + pointers.count(), example.display().to_string());
            self.notice(Notice::Pointers { side, count, example });
        }
        Ok(())
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
