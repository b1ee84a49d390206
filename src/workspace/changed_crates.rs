//! Which crates may have changed between the sides.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use super::setup::sides::SideSetup;
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
        let by_folder = crates_by_folder(setups[side])?;
        for path in changed {
            let innermost = Path::new(path).ancestors().find_map(|folder| by_folder.get(folder));
            crates.extend(innermost.into_iter().flatten().cloned());
        }
    }
    Some(crates)
}

/// The crates of the packages that cargo builds from folders of a side, if they are known.
fn crates_by_folder(setup: &SideSetup) -> Option<BTreeMap<&Path, BTreeSet<String>>> {
    let mut crates: BTreeMap<&Path, BTreeSet<String>> = BTreeMap::new();
    for package in &setup.workspace.as_ref().ok()?.packages {
        let targets = package.targets.iter().map(|target| &target.name);
        let own = targets.chain(&package.library).chain([&package.name]);
        let own = own.map(|name| (&package.folder, name));
        let others = package.path_dependencies.iter().map(|(name, folder)| (folder, name));
        for (folder, name) in own.chain(others) {
            crates.entry(setup.inside(folder)).or_default().insert(name.replace('-', "_"));
        }
    }
    Some(crates)
}
