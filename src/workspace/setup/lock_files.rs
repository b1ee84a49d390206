//! The lock files of both sides.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

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

/// Provides a `Cargo.lock` for each workspace whose commit has none, so that both sides
/// have the same dependencies unless their commits differ in them: the user's, else the
/// other side's, else the one that was resolved for this repository before, else a new one of the base.
pub(super) fn provide_lock_files(
    context: &mut PrepareContext<'_>,
    manifests: &Manifests,
    user_root: &Path,
    configs: &[PathBuf],
    toolchain: &Option<String>,
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
            lacking.push(root.join("Cargo.lock"));
        }
    }
    if !lacking.is_empty() {
        for path in lacking.iter().filter(|path| path.is_symlink()) {
            // A dangling link must not lead out of the worktree.
            remove(path)?;
        }
        let content = match lock_file(user_root)?.or(locks.head).or(locks.base) {
            Some(content) => content,
            None => newly_resolved(context, roots, configs, toolchain.as_deref())?.into_bytes(),
        };
        for path in &lacking {
            fs_err::write(path, &content).map_err(Error::io("write", path))?;
        }
        if let Ok(base) = &manifests.base {
            let required = Pair { base, head: &manifests.head }.map(required_versions);
            if required.base != required.head {
                let roots = lacking.iter().filter_map(|path| path.parent());
                fit_lock_files(context, roots, configs, toolchain.as_deref())?;
                let libraries = required_differently(&required);
                if !libraries.is_empty() {
                    context.notice(Notice::OneLock { libraries });
                }
            }
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
    configs: &[PathBuf],
    toolchain: Option<&str>,
) -> Result<String, Error> {
    let of = |side| {
        roots[side].map(|root| resolved_lock_file(context, (side, root), configs, toolchain))
    };
    let of_head = || of(Side::Head).transpose().map(Option::unwrap_or_default);
    of(Side::Base).and_then(Result::ok).map_or_else(of_head, Ok)
}

/// Lets cargo change in the lock files of these workspaces what does not fit their manifests. It
/// would do so when it builds, but what is built already needs no cargo, and its runs may read the
/// file. What fails here is reported by the build.
fn fit_lock_files<'r>(
    context: &PrepareContext<'_>,
    roots: impl Iterator<Item = &'r Path>,
    configs: &[PathBuf],
    toolchain: Option<&str>,
) -> Result<(), Error> {
    let tools = &context.tools;
    for root in roots {
        let args = cargo::fit_lock_args(configs);
        let _ = tools.output(tools.command("cargo", args, root, toolchain));
        tools.interrupt.check()?;
    }
    Ok(())
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

/// The lock file that was resolved before for the workspace of a side at `root`, else a new one.
fn resolved_lock_file(
    context: &PrepareContext<'_>,
    (side, root): (Side, &Path),
    configs: &[PathBuf],
    toolchain: Option<&str>,
) -> Result<String, Error> {
    let tree = context.cache.worktree(side);
    let (tools, inside) = (&context.tools, root.strip_prefix(tree).unwrap_or(Path::new("")));
    // What chooses other versions: these settings, and a compiler that some do not support.
    let configuration = Configuration::read([root], configs, &tools.env)?.text();
    let versions = versions(context, root, toolchain)?;
    let resolver = of_resolver(&tools.env);
    let name =
        &digest(format!("{inside:?} {resolver} {configuration} {versions:?}").as_bytes())[..8];
    // A record, since cargo would complete half a lock file with the newest versions.
    let stored = context.cache.file(&format!("resolved-{name}"));
    if let Some(known) = read_record(&stored)? {
        return Ok(known);
    }
    tools.output(tools.command("cargo", cargo::lock_args(configs), root, toolchain))?;
    let made = root.join("Cargo.lock");
    let content = fs_err::read_to_string(&made).map_err(Error::io("read", &made))?;
    write_record(&stored, &content)?;
    Ok(content)
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
