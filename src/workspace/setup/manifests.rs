//! The manifests of both worktrees.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use crate::error::{Error, Failure};
use crate::model::{Notice, Package, Pair, Side};
use crate::settings::options::Benchmark;
use crate::settings::policy::{Resolved, SideTable, resolve};
use crate::settings::table::Table;
use crate::workspace::cache::RepositoryCache;
use crate::workspace::cargo::{self, Workspace};
use crate::workspace::context::PrepareContext;
use crate::workspace::diagnose::{self, Blame};
use crate::workspace::error::WorkspaceError;
use crate::workspace::request::Request;
use crate::workspace::settings;
use crate::workspace::tools::Captured;

/// Where the manifests of the worktrees are, and which toolchain reads them.
pub(super) struct Places<'a> {
    /// The folder of the manifest, relative to the root.
    pub(super) inside: &'a Path,
    /// Its full path on each side.
    pub(super) folders: Pair<PathBuf>,
    /// The one that rustup should use; `None` for the side's own.
    pub(super) toolchains: Pair<Option<String>>,
    pub(super) has_base: bool,
}

/// The manifests of the worktrees, as parsed by cargo.
pub(in crate::workspace) struct Manifests {
    pub(super) head: Workspace,
    /// The base's, or why there is none.
    pub(super) base: Result<Workspace, String>,
}

impl Manifests {
    /// Reads those of both worktrees, but the head's only unless they are `known`. Those of the
    /// base may be missing or invalid, or name what its worktree lacks; then there is no baseline,
    /// which is not an error.
    pub(super) fn read(
        context: &PrepareContext<'_>,
        known: Option<Workspace>,
        Places { inside, folders, toolchains, has_base }: &mut Places<'_>,
    ) -> Result<Self, Error> {
        let of = |side: Side, folder: &Path| {
            workspace_of(context, side, folder, toolchains[side].as_deref())
        };
        let head = known.map_or_else(|| of(Side::Head, &folders.head), Ok)?;
        if *has_base && !folders.base.is_dir() {
            let tree = context.cache.worktree(Side::Base);
            let read = |outer: &Path| of(Side::Base, outer).ok();
            let moved = folder_before_move(&head, folders, &tree, read);
            folders.base = moved.unwrap_or_else(|| folders.base.clone());
        }
        let base = match *has_base {
            false => Err(String::new()),
            true if !folders.base.is_dir() => {
                let folder = inside.display().to_string();
                Err(WorkspaceError::NotCommitted { side: Side::Base, folder }.to_string())
            }
            true => match of(Side::Base, &folders.base) {
                Err(error) if matches!(error.as_kind(), Some(WorkspaceError::Manifests { .. })) => {
                    Err(why(&error))
                }
                read => Ok(read?),
            },
        };
        context.tools.interrupt.check()?;
        check_path_dependencies(context, Side::Head, &head)?;
        let base = base.and_then(|base| {
            let checked = check_path_dependencies(context, Side::Base, &base);
            checked.map(|()| base).map_err(|error| error.to_string())
        });
        Ok(Manifests { head, base })
    }

    /// The names of the base's packages of which the head has none, by the names that packages
    /// in the same folders have on the head.
    pub(in crate::workspace) fn renamed(
        &self,
        cache: &RepositoryCache,
    ) -> BTreeMap<String, String> {
        let trees = Pair::both(|side| cache.worktree(side));
        let Ok(base) = &self.base else { return BTreeMap::new() };
        let new = self.head.packages.iter().filter(|head| base.package(&head.name).is_none());
        let pairs = new.filter_map(|head| {
            let folder = trees.base.join(head.folder.strip_prefix(&trees.head).ok()?);
            let mut old = base.packages.iter().filter(|old| old.folder == folder);
            let old = old.find(|old| self.head.package(&old.name).is_none())?;
            Some((head.name.clone(), old.name.clone()))
        });
        pairs.collect()
    }

    /// The names of the workspace's packages, and of those that they depend on by path, be it
    /// through others outside of the workspace.
    pub(super) fn own_packages(
        &self,
        context: &PrepareContext<'_>,
        places: &Places<'_>,
    ) -> BTreeSet<String> {
        let toolchain = places.toolchains.head.as_deref();
        let all = self.base.iter().chain([&self.head]).flat_map(|workspace| &workspace.packages);
        let mut left: Vec<Package> = all.cloned().collect();
        let mut known: BTreeSet<PathBuf> =
            left.iter().map(|package| package.folder.clone()).collect();
        let mut names = BTreeSet::new();
        while let Some(package) = left.pop() {
            names.insert(package.name);
            for (name, folder) in package.path_dependencies {
                names.insert(name);
                // What cargo can't read is an error of the build.
                if known.insert(folder.clone())
                    && let Ok(outside) = context.workspace(&folder, toolchain)
                {
                    left.extend(outside.package_around(&folder).cloned());
                }
            }
        }
        names
    }

    /// The package of a benchmark on a side; some of the base's are `renamed` on the head.
    pub(in crate::workspace) fn package(
        &self,
        side: Side,
        benchmark: &Benchmark,
        renamed: &BTreeMap<String, String>,
    ) -> Option<&Package> {
        let name = &benchmark.package;
        match side {
            Side::Base => self.base.as_ref().ok()?.package(renamed.get(name).unwrap_or(name)),
            Side::Head => self.head.package(name),
        }
    }

    /// The settings, from the tables of both worktrees and the flags.
    pub(super) fn resolve(
        &self,
        context: &PrepareContext<'_>,
        Places { folders, .. }: &Places<'_>,
        head_table: Option<Table>,
    ) -> Result<Resolved, Error> {
        let Request { flags, policy_from, .. } = context.request;
        let (policy_from, base) = (*policy_from, self.base.as_ref().ok());
        let base = base.map(|of| settings::side_table(of, &folders.base, flags)).transpose();
        let (base, unread) = match base {
            Err(error) if policy_from == Side::Head => (None, Some(error)),
            base => (base.map_err(|error| error.of(Side::Base))?, None),
        };
        let choice = settings::choice(&self.head, &folders.head);
        let head = SideTable { choice, table: head_table };
        let resolved = resolve(flags, &head, base.as_ref(), policy_from);
        let tree = context.cache.worktree(Side::Head);
        let mut resolved =
            resolved.map_err(|error| settings::with_folder_hint(error, &self.head, &tree))?;
        let unread = unread.map(|error| Notice::BaseTable { why: error.to_string() });
        resolved.notices.extend(unread);
        Ok(resolved)
    }
}

/// The base's folder of the package that has the same name as that in the head's folder, where
/// the base has no folder at that path. Its workspace is `read` from the next folder around it.
fn folder_before_move(
    head: &Workspace,
    folders: &Pair<PathBuf>,
    tree: &Path,
    read: impl FnOnce(&Path) -> Option<Workspace>,
) -> Option<PathBuf> {
    let name = &head.package_around(&folders.head)?.name;
    let mut outer = folders.base.ancestors().take_while(|folder| folder.starts_with(tree));
    let outer = outer.find(|folder| folder.join("Cargo.toml").is_file())?;
    Some(read(outer)?.package(name)?.folder.clone())
}

fn why(error: &Error) -> String {
    let output = error.child_output();
    let line = output.and_then(|text| text.lines().find(|line| line.starts_with("error")));
    line.map_or_else(|| error.to_string(), |line| format!("{error}: {line}"))
}

/// The workspace of a side's worktree.
///
/// # Errors
/// [`WorkspaceError::Manifests`] if its manifests are invalid.
pub(super) fn workspace_of(
    context: &PrepareContext<'_>,
    side: Side,
    folder: &Path,
    toolchain: Option<&str>,
) -> Result<Workspace, Error> {
    let command = context.tools.command("cargo", cargo::metadata_args(), folder, toolchain);
    let printed =
        context.tools.output_or(command, |Captured { command, exit, stderr, .. }| {
            let command = command.shown();
            match diagnose::of_manifests(exit, &stderr) {
                Blame::Code => WorkspaceError::Manifests { side, command, exit, stderr },
                Blame::Machine(why) => WorkspaceError::unbuilt(side, command, exit, why),
            }
        })?;
    Ok(Workspace::parse(&printed)?)
}

/// Returns an error if a package depends on another one outside of the repository, at a
/// path that does not exist relative to the worktree.
fn check_path_dependencies(
    context: &PrepareContext<'_>,
    side: Side,
    workspace: &Workspace,
) -> Result<(), Error> {
    let tree = context.cache.worktree(side);
    for package in &workspace.packages {
        for (needed, folder) in &package.path_dependencies {
            if folder.starts_with(&tree) || folder.join("Cargo.toml").exists() {
                continue;
            }
            // As named in the user's tree.
            let folder = seen_from(context.repo.root(), folder, &tree);
            let (package, folder) = (&package.name, folder.display());
            let what = format!(
                "the {side}'s package `{package}` needs `{needed}` in `{folder}`, which is outside \
                 the repository"
            );
            let step = "a worktree contains only what is committed: make it a submodule, or depend \
                on it by git, version or absolute path";
            return Err(Failure::new(what, step).into());
        }
    }
    Ok(())
}

/// The path relative to `here` that corresponds to `path` relative to `there`;
/// `path` itself if it has nothing in common with `there` but the root.
fn seen_from(here: &Path, path: &Path, there: &Path) -> PathBuf {
    let common = there.ancestors().find(|folder| path.starts_with(folder));
    let Some(common) = common.filter(|folder| folder.parent().is_some()) else {
        return path.to_owned();
    };
    let up = there.strip_prefix(common).map_or(0, |below| below.components().count());
    let start = here.ancestors().nth(up).unwrap_or(Path::new("/"));
    start.join(path.strip_prefix(common).unwrap_or(path))
}
