//! The settings as far as they depend on a workspace.

use std::path::Path;

use crate::error::Error;
use crate::settings::choice::Choice;
use crate::settings::policy::SideTable;
use crate::settings::table::Table;
use crate::workspace::cargo::Workspace;

/// What a table can mean in the folder `inside` of a workspace.
pub(super) fn choice<'a>(workspace: &'a Workspace, inside: &Path) -> Choice<'a> {
    Choice {
        packages: &workspace.packages,
        here: workspace.package_around(inside),
        root: &workspace.root,
    }
}

/// The table of the package that `flags` or the folder `inside` choose, over the
/// workspace's own.
pub(super) fn side_table<'a>(
    workspace: &'a Workspace,
    inside: &Path,
    flags: &Table,
) -> Result<SideTable<'a>, Error> {
    Ok(SideTable::read(&workspace.metadata, choice(workspace, inside), flags)?)
}
