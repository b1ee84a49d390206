//! The lock files of both sides.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::manifests::Manifests;
use super::toolchains::versions;
use crate::error::{Error, FileError};
use crate::exec::system::digest;
use crate::model::{Notice, Pair, Side};
use crate::workspace::cargo::{self, Workspace};
use crate::workspace::context::PrepareContext;
use crate::workspace::environment::of_resolver;
use crate::workspace::files::{read_record, remove, unless_damaged, write_record};
use crate::workspace::inputs::configuration::Configuration;

/// A lock file for workspaces whose commits have none.
#[derive(Serialize, Deserialize)]
struct ProvidedLock {
    /// The digest of the lock file from which it was made; empty if it was resolved.
    source: String,
    /// The worktree's content whose manifests it fits.
    identity: String,
    content: String,
}

/// How cargo is called to resolve.
#[derive(Clone, Copy)]
pub(super) struct Resolver<'a> {
    pub(super) configs: &'a [PathBuf],
    pub(super) toolchain: Option<&'a str>,
    /// The contents of the worktrees.
    pub(super) identities: &'a Pair<String>,
}

/// Provides a `Cargo.lock` for each workspace whose commit has none, so that both sides
/// have the same dependencies unless their commits differ in them: the user's, else the
/// other side's, else the one that was resolved for this repository before, else a new one of the base.
pub(super) fn provide_lock_files(
    context: &mut PrepareContext<'_>,
    manifests: &Manifests,
    user_root: &Path,
    resolver: Resolver<'_>,
) -> Result<(), Error> {
    let head = &manifests.head.root;
    let base = manifests.base.as_ref().ok().map(|workspace| &workspace.root);
    let roots = Pair { base, head: Some(head) };
    let mut locks = Pair::default();
    let mut lacking = Vec::new();
    for side in Side::BOTH {
        let Some(root) = roots[side] else { continue };
        locks[side] = lock_file(root)?;
        if locks[side].is_none() {
            lacking.push((side, &**root));
        }
    }
    let Some(first) = lacking.first() else { return Ok(()) };
    for (_, root) in &lacking {
        let path = root.join("Cargo.lock");
        if path.is_symlink() {
            // A dangling link must not lead out of the worktree.
            remove(&path)?;
        }
    }
    let lent = lock_file(user_root)?.or(locks.head).or(locks.base);
    let content = match &lent {
        Some(_) => fitting_lock(context, *first, lent.as_deref(), resolver)?,
        None => newly_resolved(context, roots, resolver)?,
    };
    for (_, root) in &lacking {
        let path = root.join("Cargo.lock");
        fs_err::write(&path, &content).map_err(Error::io("write", &path))?;
    }
    if let Ok(base) = &manifests.base {
        let required = Pair { base, head: &manifests.head }.map(required_versions);
        if manifest_texts(base) != manifest_texts(&manifests.head) {
            for (_, root) in &lacking {
                fit_lock_file(context, root, resolver)?;
            }
        }
        let libraries = required_differently(&required);
        if !libraries.is_empty() {
            context.notice(Notice::OneLock { libraries });
        }
    }
    Ok(())
}

/// A lock file for both sides, whose workspaces are at these roots. It is resolved for the base if
/// there is one, since cargo then changes what does not fit the head, such as a version that the
/// head alone requires. In the reverse order, the base would get that, too.
fn newly_resolved(
    context: &PrepareContext<'_>,
    roots: Pair<Option<&PathBuf>>,
    resolver: Resolver<'_>,
) -> Result<String, Error> {
    let of = |side| roots[side].map(|root| fitting_lock(context, (side, root), None, resolver));
    let of_head = || of(Side::Head).transpose().map(Option::unwrap_or_default);
    of(Side::Base).and_then(Result::ok).map_or_else(of_head, Ok)
}

/// Lets cargo change in the lock file of a workspace what does not fit its manifests, and returns
/// whether it could. It would do so when it builds, but what is built already needs no cargo, its
/// runs may read the file, and the other side may be built when there are other versions. What
/// fails here is reported by the build.
fn fit_lock_file(
    context: &PrepareContext<'_>,
    root: &Path,
    resolver: Resolver<'_>,
) -> Result<bool, Error> {
    let (tools, args) = (&context.tools, cargo::fit_lock_args(resolver.configs));
    // One that fits stays as it is, with its comments.
    let unchanged: Vec<_> = args.iter().cloned().chain(["--locked".into()]).collect();
    let fits = [unchanged, args]
        .into_iter()
        .any(|args| tools.output(tools.command("cargo", args, root, resolver.toolchain)).is_ok());
    tools.interrupt.check()?;
    Ok(fits)
}

/// What determines the dependencies of a workspace, by path.
fn manifest_texts(workspace: &Workspace) -> BTreeMap<&Path, Option<String>> {
    let root = &workspace.root;
    let folders = workspace.packages.iter().map(|package| &package.folder).chain([root]);
    let text = |folder: &PathBuf| std::fs::read_to_string(folder.join("Cargo.toml")).ok();
    folders.map(|of| (of.strip_prefix(root).unwrap_or(of), text(of))).collect()
}

/// The libraries that a workspace needs, with the versions that its packages require.
type RequiredVersions<'w> = BTreeMap<&'w str, BTreeSet<&'w str>>;

fn required_versions(workspace: &Workspace) -> RequiredVersions<'_> {
    let mut required = RequiredVersions::new();
    for (name, versions) in workspace.packages.iter().flat_map(|of| &of.requirements) {
        required.entry(name).or_default().insert(versions);
    }
    required
}

/// The libraries that both sides need, but in other versions.
fn required_differently(required: &Pair<RequiredVersions<'_>>) -> Vec<String> {
    let differs =
        |(name, versions): &(&&str, _)| required.base.get(*name).is_some_and(|of| of != *versions);
    required.head.iter().filter(differs).map(|(name, _)| (*name).to_owned()).collect()
}

pub(super) fn lock_file(root: &Path) -> Result<Option<Vec<u8>>, FileError> {
    let path = root.join("Cargo.lock");
    unless_damaged(std::fs::read(&path), &path)
}

/// The lock file that was made before for the workspace of a side at `root`, from the lock file
/// `lent` if there is one, or else a new one. What does not fit, since it was made for another
/// commit, is changed.
fn fitting_lock(
    context: &PrepareContext<'_>,
    (side, root): (Side, &Path),
    lent: Option<&[u8]>,
    resolver: Resolver<'_>,
) -> Result<String, Error> {
    let Resolver { configs, toolchain, identities } = resolver;
    let tree = context.cache.worktree(side);
    let (tools, inside) = (&context.tools, root.strip_prefix(tree).unwrap_or(Path::new("")));
    // What chooses other versions: these settings, and a compiler that some do not support.
    let configuration = Configuration::read([root], configs, &tools.env)?.text();
    let versions = versions(context, root, toolchain)?;
    let env = of_resolver(&tools.env);
    let name = &digest(format!("{inside:?} {env} {configuration} {versions:?}").as_bytes())[..8];
    let kind = if lent.is_some() { "fitted" } else { "resolved" };
    // A record, since cargo would complete half a lock file with the newest versions.
    let stored = context.cache.found_out(&format!("{kind}-{name}"));
    let (source, identity) = (lent.map(digest).unwrap_or_default(), identities[side].clone());
    let known = read_record::<ProvidedLock>(&stored)?.filter(|known| known.source == source);
    let made = root.join("Cargo.lock");
    let begin = match known {
        Some(known) if known.identity == identity => return Ok(known.content),
        Some(known) => Some(known.content.into_bytes()),
        None => lent.map(<[u8]>::to_vec),
    };
    let fits = match begin {
        Some(begin) => {
            fs_err::write(&made, begin).map_err(Error::io("write", &made))?;
            fit_lock_file(context, root, resolver)?
        }
        None => {
            tools.output(tools.command("cargo", cargo::lock_args(configs), root, toolchain))?;
            true
        }
    };
    let content = fs_err::read_to_string(&made).map_err(Error::io("read", &made))?;
    let provided = ProvidedLock { source, identity, content };
    if fits {
        write_record(&stored, &provided)?;
    }
    Ok(provided.content)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Package;

    #[test]
    fn libraries_that_both_sides_require_in_other_versions_are_found() {
        let workspace = |required: &[(&str, &str)]| {
            let owned = |(name, versions): &(&str, &str)| ((*name).into(), (*versions).into());
            let requirements = required.iter().map(owned).collect();
            let packages = vec![Package { requirements, ..Package::default() }];
            Workspace { root: PathBuf::new(), packages, metadata: serde_json::Value::Null }
        };
        let base = workspace(&[("bytes", "^1"), ("hex", "^1"), ("hex", "^0.4"), ("old", "^1")]);
        let head = workspace(&[("bytes", "=1.10"), ("hex", "^0.4"), ("hex", "^1"), ("new", "^1")]);
        let required = Pair { base: &base, head: &head }.map(required_versions);
        assert_eq!(required_differently(&required), ["bytes"]);
    }
}
