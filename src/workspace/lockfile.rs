//! The lock files of the worktrees: both sides are to have the same
//! dependencies unless their commits say otherwise.

use std::path::{Path, PathBuf};

use super::tools::Tools;
use crate::error::Error;
use crate::exec::system::digest;
use crate::model::side::{Pair, Side};
use crate::workspace::cache::RepositoryCache;
use crate::workspace::cargo;

/// Gives each workspace that has no `Cargo.lock` in its commit one: the
/// user's, else the other side's, else the one that was resolved for this
/// repository before, else a new one. `roots` are those of the workspaces, of
/// a base that can be built and of the head; `configs` are cargo's further
/// configuration files. Returns what each file says.
pub(super) fn provide(
    tools: &Tools<'_>,
    cache: &RepositoryCache,
    roots: &Pair<Option<PathBuf>>,
    user_root: &Path,
    configs: &[PathBuf],
    toolchain: Option<&str>,
) -> Result<Pair<String>, Error> {
    let path = |root: &Path| root.join("Cargo.lock");
    let read = |path: &Path| std::fs::read(path).ok();
    let tracked = roots.as_ref().map(|root| root.as_deref().and_then(|root| read(&path(root))));
    let missing = |side: Side| roots[side].as_deref().filter(|_| tracked[side].is_none());
    let resolved = cache.file(&format!("Cargo-{}.lock", lock_name(cache, roots)));
    for root in Side::BOTH.into_iter().filter_map(missing) {
        // A link that leads nowhere yet must not lead us out of the worktree.
        let to = path(root);
        if to.is_symlink() {
            fs_err::remove_file(&to).map_err(Error::io("remove", &to))?;
        }
    }
    if Side::BOTH.into_iter().any(|side| missing(side).is_some()) {
        let known = read(&path(user_root))
            .or_else(|| tracked.head.clone())
            .or_else(|| tracked.base.clone())
            .or_else(|| read(&resolved));
        let content = match (known, &roots.head) {
            (Some(content), _) => content,
            (None, Some(root)) => {
                let args = cargo::lock_args(configs);
                tools.output(tools.command("cargo", args, root, toolchain))?;
                let made = path(root);
                let content = fs_err::read(&made).map_err(Error::io("read", &made))?;
                fs_err::write(&resolved, &content).map_err(Error::io("write", &resolved))?;
                content
            }
            (None, None) => Vec::new(),
        };
        for root in Side::BOTH.into_iter().filter_map(missing) {
            let to = path(root);
            fs_err::write(&to, &content).map_err(Error::io("write", &to))?;
        }
    }
    let text = |root: &Option<PathBuf>| {
        let content = root.as_deref().and_then(|root| read(&path(root)));
        digest(&content.unwrap_or_default())
    };
    Ok(roots.as_ref().map(text))
}

/// A name for the workspace's place in the repository.
fn lock_name(cache: &RepositoryCache, roots: &Pair<Option<PathBuf>>) -> String {
    let tree = cache.worktree(Side::Head);
    let root = roots.head.as_deref().and_then(|root| root.strip_prefix(tree).ok());
    digest(root.unwrap_or(Path::new("")).as_os_str().as_encoded_bytes())[..8].to_owned()
}
