//! What cargo is to build: targets of packages, with options.

use std::collections::BTreeSet;
use std::path::PathBuf;

use crate::exec::system::digest;
use crate::model::target::{BuildOptions, Target};
use crate::workspace::setup::sides::SideSetup;

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct PackageTarget {
    /// The folder of its package.
    pub(super) folder: PathBuf,
    pub(super) target: Target,
}

impl PackageTarget {
    /// Its name in an artifact.
    pub(super) fn label(&self, setup: &SideSetup) -> String {
        let PackageTarget { folder, target } = self;
        format!("{}:{}:{}", setup.inside(folder).display(), target.kind.name(), target.name)
    }
}

/// The short name of build options; it is part of paths. What is built with one codegen unit is in
/// the same folder, so that dependencies are compiled once: cargo keeps the files of both apart.
pub(super) fn spec(options: &BuildOptions) -> String {
    let options = BuildOptions { of_one_unit: BTreeSet::new(), ..options.clone() };
    digest(format!("{options:?}").as_bytes())[..8].to_owned()
}
