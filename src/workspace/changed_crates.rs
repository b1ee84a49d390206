//! Which crates may have changed between the sides.

use std::collections::BTreeSet;
use std::path::Path;

use super::setup::SideSetup;
use crate::model::side::{Pair, Side};

/// The suffixes of the names of files that determine which other crates are used, and how
/// all of them are built.
const SHAPING: [&str; 6] =
    ["Cargo.toml", "Cargo.lock", "rust-toolchain", "rust-toolchain.toml", "config", "config.toml"];

/// The names of the crates with a file among those `changed`, which are relative to the
/// root of the repository. `None` if unknown, since other crates may have changed.
pub(super) fn changed_crates(
    setups: &Pair<&SideSetup>,
    changed: &[String],
) -> Option<BTreeSet<String>> {
    let shapes = |path: &String| SHAPING.iter().any(|name| Path::new(path).ends_with(name));
    if changed.iter().any(shapes) {
        return None;
    }
    let mut crates = BTreeSet::new();
    for side in Side::BOTH {
        let setup = setups[side];
        // What cargo builds from folders, with the names of the crates.
        let mut folders: Vec<(&Path, String)> = Vec::new();
        for package in &setup.workspace.as_ref().ok()?.packages {
            let targets = package.targets.iter().map(|target| &target.name);
            let own = targets.chain(&package.library).chain([&package.name]);
            let own = own.map(|name| (name, &package.folder));
            let others = package.path_dependencies.iter().map(|(name, folder)| (name, folder));
            let all = own.chain(others);
            folders
                .extend(all.map(|(name, folder)| (setup.inside(folder), name.replace('-', "_"))));
        }
        for path in changed {
            let around = folders.iter().filter(|(folder, _)| Path::new(path).starts_with(folder));
            let depth = |folder: &Path| folder.components().count();
            let deepest = around.clone().map(|(folder, _)| depth(folder)).max();
            let owners = around.filter(|(folder, _)| Some(depth(folder)) == deepest);
            crates.extend(owners.map(|(_, name)| name.clone()));
        }
    }
    Some(crates)
}
