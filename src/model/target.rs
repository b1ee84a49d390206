//! What cargo can build that may be a benchmark.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The three kinds of target whose executables can be a benchmark.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TargetKind {
    /// A `[[bench]]`.
    Bench,
    /// A `[[bin]]`.
    Bin,
    /// An `[[example]]`.
    Example,
}

impl TargetKind {
    /// The word in cargo's options and tables.
    pub(crate) fn name(self) -> &'static str {
        match self {
            TargetKind::Bench => "bench",
            TargetKind::Bin => "bin",
            TargetKind::Example => "example",
        }
    }
}

/// A target whose executable can be a benchmark.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Target {
    /// Its kind.
    pub kind: TargetKind,
    /// Its name.
    pub name: String,
}

impl std::fmt::Display for Target {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} `{}`", self.kind.name(), self.name)
    }
}

/// A package of the workspace.
#[derive(Clone, Debug)]
pub(crate) struct Package {
    /// Its name.
    pub(crate) name: String,
    /// The folder of its manifest, absolute.
    pub(crate) folder: PathBuf,
    /// Its targets that can be a benchmark.
    pub(crate) targets: Vec<Target>,
    /// The source file of each of them, absolute.
    pub(crate) sources: BTreeMap<Target, PathBuf>,
    /// The packages that it depends on by path, with their folders.
    pub(crate) path_dependencies: Vec<(String, PathBuf)>,
    /// `[package.metadata]`.
    pub(crate) metadata: Value,
}

/// How a target is to be built: what shapes the build beside the sources.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub(crate) struct BuildOptions {
    /// The features to enable.
    pub(crate) features: Vec<String>,
    /// Enable all of them.
    pub(crate) all_features: bool,
    /// Leave the default ones out.
    pub(crate) no_default_features: bool,
    /// The profile, when it is not the target's usual one (`bench` for bench
    /// targets, `release` for the others).
    pub(crate) profile: Option<String>,
}
