//! What cargo and rustup say of the two worktrees.

use std::path::{Path, PathBuf};

use super::fault::{self, Fault};
use super::{Trees, Work, settings};
use crate::error::{Cause, Error, Kind};
use crate::model::side::{Pair, Side};
use crate::settings::policy::{Resolved, SideTable, resolve};
use crate::settings::table::Table;
use crate::settings::values::Toolchain;
use crate::workspace::cargo::{self, Workspace};

/// The workspaces of the worktrees.
pub(super) struct Workspaces {
    pub(super) head: Workspace,
    pub(super) base: Result<Workspace, Error>,
    pub(super) user_root: PathBuf,
    /// The side that has the other one's benchmark sources, and a name for
    /// what they hold.
    pub(super) overlaid: Option<(Side, String)>,
}

impl Workspaces {
    /// That of a side.
    pub(super) fn of(&self, side: Side) -> Result<&Workspace, &Error> {
        match side {
            Side::Head => Ok(&self.head),
            Side::Base => self.base.as_ref(),
        }
    }
}

/// What lies where `path` does from `there`, but from `here`; `path` itself
/// where the two have nothing in common but the root.
fn seen_from(here: &Path, path: &Path, there: &Path) -> PathBuf {
    let common = there.ancestors().find(|folder| path.starts_with(folder));
    let Some(common) = common.filter(|folder| folder.parent().is_some()) else {
        return path.to_owned();
    };
    let up = there.strip_prefix(common).map_or(0, |below| below.components().count());
    let around = here.ancestors().nth(up).unwrap_or(Path::new("/"));
    around.join(path.strip_prefix(common).unwrap_or(path))
}

impl Work<'_, '_> {
    pub(super) fn workspace(
        &self,
        folder: &Path,
        toolchain: Option<&str>,
    ) -> Result<Workspace, Error> {
        let command = self.tools.command("cargo", cargo::metadata_args(), folder, toolchain);
        Ok(Workspace::parse(&self.tools.output(command)?)?)
    }

    /// The workspace of a side's worktree.
    ///
    /// # Errors
    /// [`Kind::Manifests`] when its manifests are at fault.
    pub(super) fn workspace_of(
        &self,
        side: Side,
        folder: &Path,
        toolchain: Option<&str>,
    ) -> Result<Workspace, Error> {
        self.workspace(folder, toolchain).map_err(|error| {
            let Kind::Tool { command, exit, said, .. } = error.kind() else { return error };
            let (command, exit) = (command.clone(), *exit);
            match fault::of_manifests(exit, said) {
                Fault::Code => Kind::Manifests { side, command, exit, said: said.clone() }.into(),
                Fault::Outside(why) => {
                    Kind::Unbuilt { side, command, exit, source: Cause::of(why) }.into()
                }
            }
        })
    }

    /// An error where a package needs another one that lay beside the repository
    /// and does not lie beside the worktree.
    pub(super) fn check_beside(&self, side: Side, workspace: &Workspace) -> Result<(), Error> {
        let tree = self.room.tree(side);
        for package in &workspace.packages {
            for (needed, folder) in &package.beside {
                if folder.starts_with(&tree) || folder.join("Cargo.toml").exists() {
                    continue;
                }
                // As it would be named in the user's tree.
                let inside = package.folder.strip_prefix(&tree).unwrap_or(Path::new(""));
                let user = self.repo.root().join(inside);
                let folder = seen_from(&user, folder, &package.folder);
                let (package, needed) = (package.name.clone(), needed.clone());
                return Err(Kind::Beside { side, package, needed, folder }.into());
            }
        }
        Ok(())
    }

    /// Which toolchain rustup is to take for each side; none for its own.
    pub(super) fn toolchains(
        &self,
        toolchain: Toolchain,
        folders: &Pair<PathBuf>,
    ) -> Result<Pair<Option<String>>, Error> {
        let one = match toolchain {
            Toolchain::Each => return Ok(Pair::default()),
            Toolchain::Of(side) => self.active_toolchain(&folders[side])?,
            Toolchain::Named(name) => Some(name),
        };
        Ok(Pair::both(|_| one.clone()))
    }

    /// The settings, from the tables of both worktrees and the flags.
    pub(super) fn resolve(
        &self,
        workspaces: &Workspaces,
        folders: &Pair<PathBuf>,
        head_own: Option<Table>,
    ) -> Result<Resolved, Error> {
        let flags = &self.request.flags;
        let base = match &workspaces.base {
            Ok(base) => Some(settings::side_table(base, &folders.base, flags)?),
            Err(_) => None,
        };
        let choice = settings::choice(&workspaces.head, &folders.head);
        let head = SideTable { choice, table: head_own };
        Ok(resolve(flags, &head, base.as_ref(), self.request.policy_from)?)
    }

    /// The workspaces of both worktrees. That of the base may be missing or its
    /// manifests broken; then there is nothing to compare with, which is no
    /// error.
    pub(super) fn workspaces(
        &self,
        folders: &Pair<PathBuf>,
        toolchains: &Pair<Option<String>>,
        trees: &Trees,
    ) -> Result<Workspaces, Error> {
        let of = |side: Side| self.workspace_of(side, &folders[side], toolchains[side].as_deref());
        let head = of(Side::Head)?;
        let base = match folders.base.is_dir() {
            true => match of(Side::Base) {
                Err(error) if !matches!(error.kind(), Kind::Manifests { .. }) => return Err(error),
                read => read,
            },
            false => {
                let folder = trees.inside.display().to_string();
                Err(Kind::NotCommitted { side: Side::Base, folder }.into())
            }
        };
        self.tools.interrupt.check()?;
        for (side, workspace) in [(Side::Base, base.as_ref().ok()), (Side::Head, Some(&head))] {
            workspace.map_or(Ok(()), |workspace| self.check_beside(side, workspace))?;
        }
        Ok(Workspaces { head, base, user_root: trees.user.root.clone(), overlaid: None })
    }
}
