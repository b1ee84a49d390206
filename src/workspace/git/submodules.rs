//! Submodules, filled from the user's clone.

use std::path::{Path, PathBuf};

use git2::build::CheckoutBuilder;
use git2::{Oid, Repository};

use super::Error;
use super::filters::{attributes, fill_pointers, storage};
use super::worktree::{Store, TreeEntry, entries};
use crate::exec::system::is_inside;
use crate::workspace::files::remove;
use crate::workspace::folder_record::{RecordedFolder, Strangers};

/// The mode of a submodule in a tree.
const SUBMODULE: i32 = 0o160_000;

/// The submodules of a worktree, at any depth.
#[derive(Default)]
pub(super) struct Submodules {
    /// The root of the worktree.
    root: PathBuf,
    /// A folder with a record of each of them.
    records: PathBuf,
    /// Whether one of them was written to.
    pub(super) is_changed: bool,
    /// Their paths relative to the root.
    pub(super) paths: Vec<PathBuf>,
    /// Those that stay empty because the user's clone does not have them.
    pub(super) empty: Vec<PathBuf>,
    /// Their pointers of git-lfs to what the user's clone does not have.
    pub(super) pointers: Vec<PathBuf>,
}

impl Submodules {
    /// Those of the worktree at `root`.
    pub(super) fn new(root: &Path) -> Self {
        let (root, records) = (root.to_owned(), root.with_extension("modules"));
        Submodules { root, records, ..Submodules::default() }
    }
}

/// Fills the submodules among the entries of a tree from the user's clone. The tree belongs to
/// the repository `user`, and is located at `inside` in the worktree.
pub(super) fn fill_submodules(
    store: &Store,
    user: &Repository,
    entries: &[TreeEntry],
    inside: &Path,
    modules: &mut Submodules,
) -> Result<(), Error> {
    for TreeEntry { path: link, id: commit, .. } in submodules(entries) {
        let path = inside.join(link);
        if !is_inside(&modules.root, &path) {
            let (path, hint) = (path.display(), None);
            let what = format!(
                "the submodule `{path}` is outside the repository, or behind a symbolic link"
            );
            return Err(Error::Refused { what, hint });
        }
        match open_submodule(user, &modules.root.join(inside), link) {
            Some(source) => fill(store, &source, *commit, (link, &path), modules)?,
            None => {
                let target = modules.root.join(&path);
                if !is_empty(&target) {
                    modules.is_changed = true;
                    remove(&target)?;
                    fs_err::create_dir_all(&target).map_err(Error::io("create", &target))?;
                }
                modules.empty.push(path.clone());
            }
        }
        modules.paths.push(path);
    }
    Ok(())
}

/// Fills the submodule `link`, which is located at `path` in the worktree, unless it is
/// unchanged since it was filled with this commit.
fn fill(
    store: &Store,
    source: &Repository,
    commit: Oid,
    (link, path): (&Path, &Path),
    modules: &mut Submodules,
) -> Result<(), Error> {
    let shown = path.display().to_string();
    let failed = || Error::git("check out the submodule", &shown);
    let own = Store::over(&store.module(link), source)?;
    let missing = |_| {
        let what = format!("the clone does not contain commit {commit} of the submodule `{shown}`");
        Error::refused(what, "`git submodule update --init --recursive`")
    };
    let found = own.repository().find_commit(commit).map_err(missing)?;
    let tree = found.tree().map_err(Error::git("read", commit))?;
    let entries = entries(own.repository(), &tree)?;
    let nested: Vec<&Path> = submodules(&entries).map(|entry| &*entry.path).collect();
    let is_nested = |path: &Path| path.parent().is_some_and(|parent| nested.contains(&parent));
    let target = modules.root.join(path);
    let record_path = modules.records.join(escape(path));
    let folder = RecordedFolder {
        root: &target,
        record: &record_path,
        is_skipped: &is_nested,
        strangers: Strangers::Refuse,
    };
    // What decides what is written of a blob need not be in the commit.
    let attributes = attributes(source, own.repository(), &entries);
    let (filled_from, check) = (format!("{commit} {attributes}"), || Ok::<_, Error>(()));
    let is_folder = !target.is_symlink() && target.is_dir();
    // Not written again without need, since cargo detects changes by the times of files.
    if !is_folder || folder.restore(&filled_from, check)? != Some(true) {
        modules.is_changed = true;
        remove(&record_path)?;
        remove(&target)?;
        fs_err::create_dir_all(&target).map_err(Error::io("create", &target))?;
        let mut checkout = CheckoutBuilder::new();
        checkout.force().target_dir(&target).update_index(false);
        // libgit2 does not check out a tree with submodules from a bare repository.
        own.repository().set_workdir(&target, false).map_err(failed())?;
        let checked = own.repository().checkout_tree(tree.as_object(), Some(&mut checkout));
        checked.map_err(failed())?;
        let files = entries.iter().map(|entry| &entry.path);
        let (_, missing) = fill_pointers(&target, files, &storage(source))?;
        // Without a record, they are looked for again.
        if missing.is_empty() {
            let records = &modules.records;
            fs_err::create_dir_all(records).map_err(Error::io("create", records))?;
            folder.write(&filled_from, check)?;
        }
        modules.pointers.extend(missing.iter().map(|file| path.join(file)));
    }
    fill_submodules(&own, source, &entries, path, modules)
}

/// Whether a path is an empty folder.
fn is_empty(path: &Path) -> bool {
    !path.is_symlink() && path.read_dir().is_ok_and(|mut entries| entries.next().is_none())
}

/// The submodules among the entries of a tree.
fn submodules(entries: &[TreeEntry]) -> impl Iterator<Item = &TreeEntry> {
    entries.iter().filter(|entry| entry.mode == SUBMODULE)
}

/// A path, escaped to be the name of a file.
pub(super) fn escape(path: &Path) -> String {
    path.to_string_lossy().replace('%', "%25").replace('/', "%2F")
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
