//! Two repositories: the user's, where only notes are written (`notes`), and the private
//! one in the cache (`store`), to which the worktrees belong (`worktree`).

pub(crate) mod base;
pub mod error;
pub mod filters;
pub mod hooks;
pub mod line;
pub mod make;
pub mod notes;
pub(crate) mod remote;
pub(crate) mod snapshot;
pub(crate) mod store;
mod submodules;
#[cfg(test)]
pub(crate) mod tests;
pub mod text_diff;
pub(crate) mod times;
mod worktree;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use git2::Oid;

use crate::model::revision::Revision;
use error::quoted;
pub use error::{Absence, Error, LibgitError};

/// The first ten digits of a commit's id, for display.
pub fn abbreviated(commit: &str) -> &str {
    commit.get(..10).unwrap_or(commit)
}

/// The user's repository.
pub struct Repo {
    pub(super) inner: git2::Repository,
    root: PathBuf,
    /// What differs from HEAD, by the root of the repository or of a submodule, where libgit2
    /// can't tell.
    changes: BTreeMap<PathBuf, Vec<PathBuf>>,
}

impl Repo {
    /// Opens the repository around `inside`, regardless of `GIT_DIR`.
    ///
    /// # Errors
    /// If there is none, or none that libgit2 can and may read.
    pub fn discover(inside: &Path) -> Result<Self, Error> {
        let inner = git2::Repository::discover(inside).map_err(|source| match source.code() {
            git2::ErrorCode::NotFound => Error::refused(
                format!("`{}` is not inside a git repository", inside.display()),
                "change to a clone of the project, or make this one: `git init`, and commit",
            ),
            git2::ErrorCode::Owner => not_owned(inside, &source),
            _ => refused(inside, source),
        })?;
        let Some(root) = inner.workdir().map(Path::to_owned) else {
            let what = format!("the repository at `{}` is bare", inner.path().display());
            return Err(Error::refused(what, "run it in a worktree: `git worktree add ../work`"));
        };
        Ok(Repo { inner, root, changes: BTreeMap::new() })
    }

    /// The root of the working tree.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The names of its branches and tags, including remote ones.
    pub(crate) fn names(&self) -> Vec<String> {
        let Ok(references) = self.inner.references() else { return Vec::new() };
        let names = references.flatten().filter(|reference| {
            reference.is_branch() || reference.is_remote() || reference.is_tag()
        });
        names.filter_map(|reference| reference.shorthand().map(str::to_owned).ok()).collect()
    }

    /// The git folder that all worktrees of the repository share.
    pub fn common_dir(&self) -> &Path {
        self.inner.commondir()
    }

    /// The name of the folder around the git folder.
    pub fn name(&self) -> String {
        let common = self.common_dir();
        let named = if common.ends_with(".git") { common.parent() } else { Some(common) };
        let name = named.and_then(Path::file_name);
        name.map_or(String::new(), |name| name.to_string_lossy().into_owned())
    }

    /// The number of files in the working tree that differ from HEAD, including
    /// untracked ones, without ignored ones. The index is not changed.
    ///
    /// # Errors
    /// If the working tree can't be read.
    pub(crate) fn dirty_files(&self) -> Result<usize, Error> {
        Ok(snapshot::changes(self)?.len())
    }
}

fn oid(hex: &str) -> Result<Oid, Error> {
    Oid::from_str(hex).map_err(Error::git("read", hex))
}

/// The error for a folder that belongs to another user according to libgit2 and has to be
/// declared safe; it may differ from the one that was opened.
fn not_owned(inside: &Path, source: &git2::Error) -> Error {
    let named = source.message().split('\'').nth(1).filter(|path| path.starts_with('/'));
    let inside = inside.to_string_lossy();
    let path = named.map_or(&*inside, |path| match path.trim_end_matches('/') {
        "" => "/",
        path => path,
    });
    let hint = format!("`git config --global --add safe.directory {}`", quoted(path));
    Error::refused(format!("the repository at `{path}` belongs to another user"), hint)
}

/// The error for a repository that libgit2 rejects: its message names the unknown
/// setting.
fn refused(path: &Path, source: git2::Error) -> Error {
    let default = "clone it with the default formats (SHA-1 objects, files for references)";
    // The messages are `unknown object format`, but `extensions.refstorage`.
    let message = source.message().to_lowercase().replace(' ', "");
    let (used, hint) = if message.contains("objectformat") {
        ("SHA-256 object names", default.to_owned())
    } else if message.contains("refstorage") {
        ("the reftable format", default.to_owned())
    } else if message.contains("partialclone") {
        let remote = promisor_of_extension(path).unwrap_or_else(|| "origin".to_owned());
        let promisor = quoted(&format!("remote.{remote}.promisor"));
        let hint = format!(
            "say the same as newer versions of git do: `git config {promisor} true && git config \
             --unset extensions.partialClone`"
        );
        ("the setting `extensions.partialClone`", hint)
    } else {
        return Error::git("open", path.display())(source);
    };
    let path = path.display();
    Error::refused(
        format!("the repository at `{path}` uses {used}, which libgit2 cannot read"),
        hint,
    )
}

/// The remote that the extension of a partial clone names.
fn promisor_of_extension(path: &Path) -> Option<String> {
    let git = git2::Repository::discover_path(path, [""; 0]).ok()?;
    let config = git2::Config::open(&git.join("config")).ok()?;
    config.get_string("extensions.partialclone").ok()
}
