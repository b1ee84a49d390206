//! The private repository in the cache.
//!
//! It is bare, has no objects of its own except snapshots, and reads the user's
//! objects through `objects/info/alternates`. So the worktrees can't write into the
//! user's repository, whatever happens to this process.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use git2::{ObjectType, Oid, Repository, Signature, Time, Tree};

use super::{Error, Revision, oid};
use crate::exec::system::{Place, from_git, git_bytes};
use crate::model::side::Side;
use crate::workspace::files::remove;

/// The settings of the user's repository that affect a checkout, in its section `core`. Others
/// state what its file system can do, which that of the cache need not have in common.
const SETTINGS: [&str; 3] = ["autocrlf", "eol", "precomposeunicode"];

/// What HEAD is until a commit is checked out.
const NO_COMMIT: &[u8] = b"ref: refs/heads/none\n";

/// The private repository.
pub(crate) struct Store {
    inner: Repository,
}

impl Store {
    /// Opens the private repository at `path`, with all that decides how it is read as if
    /// it had just been created, and updates what it copies from `user`.
    pub(crate) fn open(path: &Path, user: &Repository) -> Result<Self, Error> {
        let references = path.join("refs/heads");
        fs_err::create_dir_all(&references).map_err(Error::io("create", &references))?;
        write_if_changed(&path.join("HEAD"), NO_COMMIT)?;
        write_if_changed(&path.join("config"), settings(user, path).as_bytes())?;
        link_objects(path, user)?;
        copy_or_remove(&user.commondir().join("shallow"), &path.join("shallow"))?;
        copy_or_remove(&user.commondir().join("info/attributes"), &path.join("info/attributes"))?;
        copy_tags(path, user)?;
        let inner = Repository::open_bare(path).map_err(Error::git("open", path.display()))?;
        Ok(Store { inner })
    }

    pub(super) fn repository(&self) -> &Repository {
        &self.inner
    }

    pub(super) fn tree(&self, revision: &Revision) -> Result<Tree<'_>, Error> {
        let tree = self.inner.find_tree(oid(&revision.tree)?);
        tree.map_err(Error::git("read the tree of", &revision.rev))
    }

    /// The paths, relative to the root, of the files that differ between two revisions,
    /// which may be snapshots.
    pub(crate) fn changed_paths(
        &self,
        base: &Revision,
        head: &Revision,
    ) -> Result<Vec<String>, Error> {
        let (base, head) = (self.tree(base)?, self.tree(head)?);
        let diff = self.inner.diff_tree_to_tree(Some(&base), Some(&head), None);
        let diff = diff.map_err(Error::git("compare", "the two trees"))?;
        let path = |delta: git2::DiffDelta<'_>| {
            let file = delta.new_file().path().or_else(|| delta.old_file().path());
            file.map(|path| path.to_string_lossy().into_owned())
        };
        Ok(diff.deltas().filter_map(path).collect())
    }

    /// Opens the worktree `name` at `path`, and creates it again if it is damaged.
    /// Also returns whether it is new, and thus empty.
    pub(super) fn worktree(&self, name: &str, path: &Path) -> Result<(Repository, bool), Error> {
        let admin = self.inner.path().join("worktrees").join(name);
        // Only a killed process can have left a lock: the caller holds the lock of the
        // cache, so no other process works here.
        for lock in ["index.lock", "HEAD.lock"] {
            let _ = fs_err::remove_file(admin.join(lock));
        }
        let is =
            |found: &Path, place: &Path| found.canonicalize().ok() == place.canonicalize().ok();
        if let Ok(worktree) = Repository::open(path)
            && worktree.is_worktree()
            && is(worktree.path(), &admin)
            // A damaged path would have all files written elsewhere.
            && worktree.workdir().is_some_and(|folder| is(folder, path))
        {
            return Ok((worktree, false));
        }
        remove(path)?;
        remove(&admin)?;
        // As `git worktree add` does. That of libgit2 needs a branch, which it checks out.
        let line = |key: &[u8], path: &Path| [key, &git_bytes(path), b"\n"].concat();
        write_if_changed(&path.join(".git"), &line(b"gitdir: ", &admin))?;
        write_if_changed(&admin.join("gitdir"), &line(b"", &path.join(".git")))?;
        write_if_changed(&admin.join("commondir"), b"../..\n")?;
        write_if_changed(&admin.join("HEAD"), NO_COMMIT)?;
        let opened = Repository::open(path);
        Ok((opened.map_err(Error::git("create the worktree", path.display()))?, true))
    }

    /// The private repository of the submodule at `link`.
    pub(super) fn module(&self, link: &Path) -> PathBuf {
        self.inner.path().join("modules").join(escape(link))
    }
}

/// Writes a commit of a tree that belongs to no history. That of a tree is always the same.
pub(super) fn commit_alone(repository: &Repository, tree: &Tree<'_>) -> Result<Oid, git2::Error> {
    let nobody = Signature::new("nobody", "nobody", &Time::new(0, 0))?;
    repository.commit(None, &nobody, &nobody, "nothing", tree, &[])
}

/// What to check out, and where.
#[derive(Clone, Debug)]
pub(crate) struct Checkout<'a> {
    /// The name of the worktree in the private repository.
    pub(super) name: String,
    /// The folder that becomes the worktree.
    pub(crate) path: &'a Path,
    pub(crate) revision: &'a Revision,
}

impl<'a> Checkout<'a> {
    /// A side may have several, in different folders.
    pub(crate) fn new(side: Side, path: &'a Path, revision: &'a Revision) -> Self {
        let folder = path.file_name().unwrap_or_default().to_string_lossy();
        Checkout { name: format!("{}-{folder}", side.name()), path, revision }
    }
}

/// What a checkout depends on besides its revision, and what it lacks of that because the user's
/// clone does not have it.
#[derive(Clone, Debug, Default)]
pub(crate) struct CheckedOut {
    /// A digest of all attributes.
    pub(crate) attributes: String,
    /// Whether it or a submodule was at another commit before, or a submodule was incomplete.
    pub(super) is_changed: bool,
    /// The submodules that stay empty.
    pub(crate) empty: Vec<PathBuf>,
    /// The pointers of git-lfs to files that are missing.
    pub(crate) pointers: Vec<PathBuf>,
}

/// An entry of a tree, or of a folder in it.
pub(super) struct TreeEntry {
    /// Its path relative to the root.
    pub(super) path: PathBuf,
    pub(super) id: Oid,
    /// Its mode in the tree.
    pub(super) mode: i32,
}

/// All entries of a tree; a folder comes before its content.
pub(super) fn entries(repository: &Repository, tree: &Tree<'_>) -> Result<Vec<TreeEntry>, Error> {
    let mut found = Vec::new();
    let mut left = vec![(PathBuf::new(), tree.clone())];
    while let Some((folder, tree)) = left.pop() {
        for entry in &tree {
            let path = folder.join(from_git(entry.name_bytes()));
            if entry.kind() == Some(ObjectType::Tree) {
                let failed = Error::git("read", path.display());
                let tree = repository.find_tree(entry.id()).map_err(failed)?;
                left.push((path.clone(), tree));
            }
            found.push(TreeEntry { path, id: entry.id(), mode: entry.filemode() });
        }
    }
    Ok(found)
}

/// A path, escaped to be the name of a file.
pub(super) fn escape(path: &Path) -> String {
    path.to_string_lossy().replace('%', "%25").replace('/', "%2F")
}

/// Links the user's objects, by `objects/info/alternates`.
pub(super) fn link_objects(path: &Path, user: &Repository) -> Result<(), Error> {
    let objects = user.commondir().join("objects");
    let objects = objects.canonicalize().map_err(Error::io("find", &objects))?;
    // A line of that file is a folder, and git and libgit2 have no quoting in
    // common.
    if objects.as_os_str().as_encoded_bytes().iter().any(|byte| b"\r\n".contains(byte)) {
        let path = user.commondir().display();
        let what = format!("the path of the repository contains a line break: `{path}`");
        return Err(Error::refused(what, "move or rename it"));
    }
    let file = path.join("objects/info/alternates");
    let mut line = git_bytes(&objects);
    line.push(b'\n');
    write_if_changed(&file, &line)
}

/// Copies the tags, for build scripts that ask `git describe`.
fn copy_tags(path: &Path, user: &Repository) -> Result<(), Error> {
    let mut lines = String::from("# pack-refs with: \n");
    let references = user.references_glob("refs/tags/*").map_err(Error::git("list", "the tags"))?;
    for tag in references.flatten() {
        if let (Ok(name), Some(target)) = (tag.name(), tag.target()) {
            let _ = writeln!(lines, "{target} {name}");
        }
    }
    write_if_changed(&path.join("packed-refs"), lines.as_bytes())
}

/// The text of the configuration of the private repository at `path`.
fn settings(user: &Repository, path: &Path) -> String {
    let mut text = String::from("[core]\n\trepositoryformatversion = 0\n\tbare = true\n");
    if path.join("REFS").exists() {
        text.push_str("\tignorecase = true\n");
    }
    let theirs = user.config().and_then(|config| config.open_level(git2::ConfigLevel::Local));
    let Ok(theirs) = theirs else { return text };
    for key in SETTINGS {
        if let Ok(value) = theirs.get_string(&format!("core.{key}")) {
            let value = value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
            let _ = writeln!(text, "\t{key} = \"{value}\"");
        }
    }
    text
}

pub(super) fn copy_or_remove(from: &Path, to: &Path) -> Result<(), Error> {
    match std::fs::read(from) {
        Ok(content) => write_if_changed(to, &content),
        Err(_) => Ok(remove(to)?),
    }
}

pub(super) fn write_if_changed(path: &Path, content: &[u8]) -> Result<(), Error> {
    if std::fs::read(path).is_ok_and(|have| have == content) {
        return Ok(());
    }
    if let Some(folder) = path.parent() {
        fs_err::create_dir_all(folder).map_err(Error::io("create", folder))?;
    }
    let written = Place::find(path).and_then(|place| place.replace(content));
    written.map_err(Error::io("write", path))
}
