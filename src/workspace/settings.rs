//! The part of the settings that depends on a workspace.

use std::path::{Path, PathBuf};

use super::request::Request;
use crate::error::Error;
use crate::exec::meter::is_size;
use crate::model::Layouts;
use crate::model::outcome::Policy;
use crate::model::side::Side;
use crate::settings;
use crate::settings::choice::Choice;
use crate::settings::options::{Benchmark, limits};
use crate::settings::policy::{Settings, SideTable};
use crate::settings::table::Table;
use crate::stats::estimator::Levels;
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
) -> Result<SideTable<'a>, settings::Error> {
    SideTable::read(&workspace.metadata, choice(workspace, inside), flags)
}

/// What `table` sets for these benchmarks.
///
/// # Errors
/// If a value is invalid, or there can't be as many pairs as a verdict needs.
pub(super) fn of_table(
    request: &Request,
    table: Table,
    benchmarks: Vec<Benchmark>,
) -> Result<Settings, Error> {
    let (policy, limits) = limits(&table).map_err(|error| error.of(Side::Head))?;
    let settings = Settings { benchmarks, policy, limits, table };
    check_pairs(request, &settings)?;
    Ok(settings)
}

/// Checks that a request allows the pairs and layouts that the verdict of one benchmark needs.
///
/// # Errors
/// If it does not: a flag is an error of the command line, a key one of its table.
pub(super) fn check_pairs(request: &Request, settings: &Settings) -> Result<(), Error> {
    let Policy { confidence, estimator, layouts, .. } = settings.policy;
    let least = estimator.least_pairs(Levels::new(confidence, 1));
    let gates = settings.benchmarks.iter().flat_map(|one| &one.gates);
    // Sizes are known without any pair.
    let has_size = gates.into_iter().any(|gate| is_size(&gate.metric));
    let Some(least) = least.filter(|_| request.decides && !has_size) else { return Ok(()) };
    let layouts = if let Layouts::Number(number) = layouts { Some(number.into()) } else { None };
    let limits = [("max-pairs", settings.limits.pairs), ("layouts", layouts)];
    let is_too_low = |most: Option<u64>| most.filter(|most| *most < least);
    let too_low = limits.into_iter().find_map(|(key, most)| Some((key, is_too_low(most)?)));
    let Some((key, most)) = too_low else { return Ok(()) };
    let error = settings::Error::TooFew { key, most, least };
    let mut all = settings.table.common_settings().into_iter();
    match all.find(|one| one.key == key).and_then(|one| one.side) {
        Some(side) => Err(error.of(side).into()),
        None => Err(error.into()),
    }
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
