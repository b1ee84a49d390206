//! Creates the worktrees of the sides. The installed git does what libgit2 can't:
//! files with a filter, objects that a partial clone lacks, and sparse or split indexes.
//! Nothing is fetched without permission.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use super::context::PrepareContext;
use super::fetch;
use super::files::{is_damage, remove, temporary_folder};
use super::target_folder::remove_later;
use super::tools::Captured;
use crate::engine::event::Event;
use crate::error::{Error, Failure, FileError};
use crate::exec::system::{digest, git_bytes};
use crate::model::{Notice, Pair, Revision, Side, Sides};
use crate::workspace::cache::make_dir;
use crate::workspace::git::store::{CheckedOut, Checkout, Store};
use crate::workspace::git::{self, Repo, filters, remote, snapshot};

/// The maximum number of objects per request.
const OBJECTS: usize = 1000;

/// Settings for a git that writes an index that libgit2 can read, and runs nothing of the
/// user's except the filters.
const PLAIN: &str = "index.version=2 index.skipHash=false index.sparse=false \
    core.splitIndex=false core.untrackedCache=false core.fsmonitor=false \
    core.sparseCheckout=false core.hooksPath=/dev/null";

/// A side's worktree.
#[derive(Debug)]
pub(super) struct Worktree {
    pub(super) side: Side,
    pub(super) path: PathBuf,
    pub(super) revision: Revision,
    done: CheckedOut,
}

impl Worktree {
    /// A name for its content.
    pub(super) fn identity(&self) -> String {
        let Revision { commit, tree, dirty, .. } = &self.revision;
        let CheckedOut { attributes, empty, pointers, .. } = &self.done;
        let mut name = if *dirty { format!("{commit}+{tree}") } else { commit.clone() };
        // The user's own attributes are in no commit.
        name += attributes;
        if !empty.is_empty() || !pointers.is_empty() {
            let missing = format!("{empty:?} {pointers:?}");
            name += &format!(" without {}", digest(missing.as_bytes()));
        }
        name
    }

    /// The submodules that are empty because the user's clone lacks them.
    pub(super) fn empty_submodules(&self) -> &[PathBuf] {
        &self.done.empty
    }
}

/// Asks the installed git what has changed in the working tree and in submodules, where libgit2
/// can't read the index.
pub(super) fn ask_git_for_changes(context: &mut PrepareContext<'_>) -> Result<(), Error> {
    for root in snapshot::without_index(&context.repo)? {
        let folder = temporary_folder("index-", context.tools.scratch.path())?;
        snapshot::copy_index(&root, folder.path())?;
        let mut args = set(["core.fsmonitor=false", "core.hooksPath=/dev/null"]);
        let status = ["status", "--porcelain", "-z", "--no-renames", "--untracked-files=all"];
        // Like libgit2 here, whatever the user's git ignores.
        args.extend(status.into_iter().chain(["--ignore-submodules=none"]).map(OsString::from));
        let mut command = context.tools.command("git", args, &root, None);
        command.set_var("GIT_DIR", folder.path());
        command.set_var("GIT_WORK_TREE", &root);
        command.set_var("GIT_NO_LAZY_FETCH", "1");
        command.set_var("GIT_OPTIONAL_LOCKS", "0");
        let printed = context.tools.output(command)?;
        snapshot::set_changes(&mut context.repo, root, &printed);
    }
    Ok(())
}

/// The arguments of git for these settings.
fn set<'a>(settings: impl IntoIterator<Item = &'a str>) -> Vec<OsString> {
    settings.into_iter().flat_map(|setting| ["-c".into(), setting.into()]).collect()
}

/// Checks both sides out. The head of a dirty comparison becomes a snapshot of the
/// working tree.
pub(super) fn check_out_sides(
    context: &mut PrepareContext<'_>,
    sides: &mut Sides,
) -> Result<Pair<Worktree>, Error> {
    fetch_missing_objects(context, &sides.base)?;
    fetch_missing_objects(context, &sides.head)?;
    unless_damaged(context, |context| {
        let store = context.store()?;
        if context.request.dirty {
            ask_git_for_changes(context)?;
            sides.head.tree =
                context.tools.interrupt.bound(|| snapshot::take(&context.repo, &store))?;
            if context.request.aa {
                sides.base.tree.clone_from(&sides.head.tree);
            }
        }
        let paths = Pair::try_both(|side| get_ready(context, side, sides.of(side)))?;
        let checkouts = Pair::both(|side| Checkout::new(side, &paths[side], sides.of(side)));
        // Even if killed, it leaves nothing that the next call would consider complete.
        let check_out = || store.check_out_both(&context.repo.inner, &checkouts);
        let Pair { base, head } = context.tools.interrupt.bound(check_out)?;
        Ok(Pair {
            base: worktree(context, &store, Side::Base, &checkouts.base, base)?,
            head: worktree(context, &store, Side::Head, &checkouts.head, head)?,
        })
    })
}

/// Does what needs the private repository. If git fails, it is done again from scratch: the
/// repository or a worktree in the cache may be damaged.
pub(super) fn unless_damaged<T>(
    context: &mut PrepareContext<'_>,
    mut work: impl FnMut(&mut PrepareContext<'_>) -> Result<T, Error>,
) -> Result<T, Error> {
    match work(context) {
        Err(error) if may_be_damage(&error) => {
            context.cache.remove_worktrees()?;
            work(context)
        }
        done => done,
    }
}

fn may_be_damage(error: &Error) -> bool {
    let file = match error.as_kind() {
        Some(git::Error::Git { .. }) => return true,
        Some(git::Error::File(error)) => Some(error),
        _ => error.as_kind::<FileError>(),
    };
    file.is_some_and(|error| is_damage(error.source.kind()))
}

/// Checks out one revision as the head.
pub(super) fn check_out_head(
    context: &mut PrepareContext<'_>,
    revision: &Revision,
) -> Result<Worktree, Error> {
    fetch_missing_objects(context, revision)?;
    unless_damaged(context, |context| {
        let (store, side) = (context.store()?, Side::Head);
        let path = get_ready(context, side, revision)?;
        let checkout = Checkout::new(side, &path, revision);
        let check_out = || store.check_out(&context.repo.inner, &checkout);
        let done = context.tools.interrupt.bound(check_out)?;
        worktree(context, &store, side, &checkout, done)
    })
}

/// Reports that a revision is checked out, and prepares the side's folder for it.
fn get_ready(
    context: &mut PrepareContext<'_>,
    side: Side,
    revision: &Revision,
) -> Result<PathBuf, Error> {
    context.tools.interrupt.check()?;
    context.event(Event::CheckingOut(side, revision));
    let folder = context.cache.side_folder(side);
    if !folder.is_dir() {
        remove(&folder)?;
    }
    make_dir(&folder)?;
    remove_later(&folder, SystemTime::now())?;
    Ok(context.cache.worktree(side))
}

/// Completes the worktree of a checkout by what libgit2 can't do.
fn worktree(
    context: &mut PrepareContext<'_>,
    store: &Store,
    side: Side,
    Checkout { path, revision, .. }: &Checkout<'_>,
    mut done: CheckedOut,
) -> Result<Worktree, Error> {
    done.pointers.extend(apply_filters(context, store, side, path, revision)?);
    if let Some(example) = done.pointers.first() {
        let (count, example) = (done.pointers.len(), example.display().to_string());
        context.notice(Notice::Pointers { side, count, example });
    }
    Ok(Worktree { side, path: path.to_path_buf(), revision: (*revision).clone(), done })
}

/// Passes the files of a side's worktree through the user's filters. Returns the files
/// of git-lfs that the clone lacks.
pub(super) fn apply_filters(
    context: &mut PrepareContext<'_>,
    store: &Store,
    side: Side,
    tree: &Path,
    revision: &Revision,
) -> Result<Vec<PathBuf>, Error> {
    let filtered = filters::filtered(store, &context.repo.inner, tree, revision)?;
    if let Some(example) = filtered.raw.first() {
        let mut paths = Vec::new();
        for path in &filtered.raw {
            // Git does not write a file that is up to date in the index.
            let full = tree.join(path);
            fs_err::remove_file(&full).map_err(Error::io("remove", &full))?;
            paths.extend(git_bytes(path));
            paths.push(0);
        }
        let list = context.tools.scratch.path().join("filtered");
        fs_err::write(&list, paths).map_err(Error::io("write", &list))?;
        let mut args = set(filtered.settings.iter().map(String::as_str).chain(PLAIN.split(' ')));
        args.extend(["checkout-index", "--force", "--index", "-z", "--stdin"].map(OsString::from));
        let mut command = context.tools.command("git", args, tree, None);
        command.stdin = Some(list.into());
        command.set_var("GIT_NO_LAZY_FETCH", "1");
        command.set_var("LC_ALL", "C");
        context.tools.output_or(command, |Captured { exit, stderr, .. }| {
            let example = example.display();
            let what = format!("the filter of `{example}` failed on the {side}: git {exit}");
            let step = "make the filter work in this clone: `git checkout` needs it, too";
            Failure::new(what, step).of_output(stderr)
        })?;
        filters::settle(tree)?;
    }
    let mut missing = Vec::new();
    filters::fill_pointers(tree, &filtered, &mut missing)?;
    if !missing.is_empty() && context.request.fetch {
        let (remote, what) = ("origin", format!("large files of {}", revision.rev));
        match fetch::git(context, remote, &what, &["lfs", "fetch", remote, &revision.commit]) {
            Err(error) if error.is_interrupt() => return Err(error),
            // Without git-lfs, or without a server that has them, they stay pointers,
            // and a notice is given.
            _ => {
                missing.clear();
                filters::fill_pointers(tree, &filtered, &mut missing)?;
            }
        }
    }
    Ok(missing)
}

/// Makes sure that a partial clone has the files of a commit.
fn fetch_missing_objects(
    context: &mut PrepareContext<'_>,
    revision: &Revision,
) -> Result<(), Error> {
    let Some(remote) = remote::promisor(&context.repo) else { return Ok(()) };
    let rev = revision.rev.clone();
    let commit = context.repo.at(Some(&revision.commit))?;
    // Only existing trees show what they contain.
    for _ in 0..1000 {
        let missing = missing_objects(context, &commit.tree)?;
        if missing.is_empty() {
            return Ok(());
        }
        if !context.request.fetch {
            return Err(partial(&rev, missing.len()));
        }
        let what = format!("files of {rev}");
        for objects in missing.chunks(OBJECTS) {
            fetch::fetch(context, &remote, &what, &["--filter=blob:none"], objects)?;
        }
        context.repo = Repo::discover(&context.request.folder)?;
    }
    Err(partial(&rev, 1))
}

/// The error for a partial clone that lacks so many objects of a revision.
fn partial(rev: &str, count: usize) -> Error {
    let objects = if count == 1 { "object" } else { "objects" };
    let what = format!("this partial clone lacks {count} {objects} of `{rev}`");
    git::Error::refused(what, "`--fetch` fetches them").into()
}

/// The objects below a tree that the clone is known to lack.
fn missing_objects(context: &PrepareContext<'_>, tree: &str) -> Result<Vec<String>, Error> {
    if !remote::holds(&context.repo, tree) {
        return Ok(vec![tree.to_owned()]);
    }
    let args = ["rev-list", "--objects", "--missing=print", tree];
    let mut command = context.tools.command("git", args, context.repo.root(), None);
    command.set_var("GIT_NO_LAZY_FETCH", "1");
    let printed = context.tools.output(command)?;
    let missing = printed.lines().filter_map(|line| line.strip_prefix('?'));
    Ok(missing.map(str::to_owned).collect())
}
