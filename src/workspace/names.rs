//! The names that a user may type, for completions. If something can't be read, there are none.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

use super::cargo::{Workspace, metadata_args};
use super::git::Repo;
use crate::model::{KNOWN, Package, TargetKind};

/// The branches and tags of the repository around a folder.
pub fn revisions(folder: &Path) -> Vec<String> {
    Repo::discover(folder).map(|repo| repo.names()).unwrap_or_default()
}

/// Whether this is a revision of the repository around a folder.
pub fn is_revision(folder: &Path, name: &Path) -> bool {
    Repo::discover(folder).is_ok_and(|repo| repo.at(name.to_str()).is_ok())
}

/// The packages of the workspace around a folder.
pub fn packages(folder: &Path) -> Vec<String> {
    of_packages(folder, |package| vec![package.name.clone()])
}

/// The targets of one kind in that workspace.
pub fn targets(folder: &Path, kind: TargetKind) -> Vec<String> {
    of_packages(folder, |package| {
        let targets = package.targets.iter().filter(|target| target.kind == kind);
        targets.map(|target| target.name.clone()).collect()
    })
}

/// The features of the packages in that workspace.
pub fn features(folder: &Path) -> Vec<String> {
    of_packages(folder, |package| package.features.keys().cloned().collect())
}

/// The metrics that this program measures, and those that harnesses report.
pub fn metrics() -> Vec<String> {
    KNOWN.iter().map(|known| known.name.to_owned()).collect()
}

fn of_packages(folder: &Path, names: impl Fn(&Package) -> Vec<String>) -> Vec<String> {
    let printed = Command::new("cargo").args(metadata_args()).current_dir(folder).output();
    let printed = printed.ok().and_then(|output| String::from_utf8(output.stdout).ok());
    let workspace = printed.and_then(|printed| Workspace::parse(&printed).ok());
    let packages = workspace.iter().flat_map(|workspace| &workspace.packages);
    packages.flat_map(names).collect::<BTreeSet<_>>().into_iter().collect()
}
