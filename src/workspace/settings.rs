//! The part of the settings that depends on a workspace.

use std::path::{Path, PathBuf};

use crate::error::Error;
use crate::settings;
use crate::settings::choice::Choice;
use crate::settings::policy::SideTable;
use crate::settings::table::Table;
use crate::workspace::cargo::Workspace;

/// The choice of packages in the folder `inside` of a workspace.
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

/// How many levels of folders are searched for packages of their own.
const DEPTH: usize = 3;

/// Adds a hint to an error of the settings: where there is nothing to run, the packages with
/// benches in other workspaces of the repository with root `root`.
pub(crate) fn with_folder_hint(
    error: settings::Error,
    workspace: &Workspace,
    root: &Path,
) -> settings::Error {
    let has_benches = workspace.packages.iter().any(|package| package.benches().next().is_some());
    let settings::Error::Undecided { found, hint } = error else { return error };
    let mut folders = Vec::new();
    if !has_benches {
        find_packages(root, DEPTH, &mut folders);
        folders.retain(|folder| workspace.packages.iter().all(|known| known.folder != *folder));
        folders.sort();
    }
    let inside = folders.iter().map(|folder| folder.strip_prefix(root).unwrap_or(folder));
    let names: Vec<String> = inside.map(|folder| format!("`{}`", folder.display())).collect();
    let hint = match names.as_slice() {
        [] => hint,
        [only] => format!("{only} is a separate package with benches: run `cargo cbdr` there"),
        several => format!(
            "these are separate packages with benches, run `cargo cbdr` in one of them: {}",
            several.join(", ")
        ),
    };
    settings::Error::Undecided { found, hint }
}

/// Finds folders with a package that seems to have bench targets.
fn find_packages(folder: &Path, depth: usize, found: &mut Vec<PathBuf>) {
    let manifest = std::fs::read_to_string(folder.join("Cargo.toml")).unwrap_or_default();
    let has_benches = manifest.contains("[[bench]]") || folder.join("benches").is_dir();
    if manifest.contains("[package]") && has_benches {
        found.push(folder.to_owned());
    }
    if depth == 0 {
        return;
    }
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
        if is_folder && name != "target" && !name.as_encoded_bytes().starts_with(b".") {
            find_packages(&entry.path(), depth - 1, found);
        }
    }
}
