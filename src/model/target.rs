//! Cargo targets that may be benchmarks.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::model::words::words;

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

words!(TargetKind { Bench = "bench", Bin = "bin", Example = "example" });

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
#[derive(Clone, Debug, Default)]
pub(crate) struct Package {
    /// Its name.
    pub(crate) name: String,
    /// The folder of its manifest, absolute.
    pub(crate) folder: PathBuf,
    /// Its targets that can be a benchmark.
    pub(crate) targets: Vec<Target>,
    /// The source file of each of them, absolute.
    pub(crate) sources: BTreeMap<Target, PathBuf>,
    /// The features that a target requires, if any.
    pub(crate) required: BTreeMap<Target, Vec<String>>,
    /// Its features, each with those that it enables.
    pub(crate) features: BTreeMap<String, Vec<String>>,
    /// The name of its library, if any, which its other targets then need.
    pub(crate) library: Option<String>,
    /// Whether it is a default member, which cargo selects at the workspace's root if
    /// no package is named.
    pub(crate) is_default: bool,
    /// The packages that it depends on by path, with their folders.
    pub(crate) path_dependencies: Vec<(String, PathBuf)>,
    /// Its other dependencies, each with the versions that it requires.
    pub(crate) requirements: Vec<(String, String)>,
    /// `[package.metadata]`.
    pub(crate) metadata: Value,
}

impl Package {
    /// Its bench targets, in the manifest's order.
    pub(crate) fn benches(&self) -> impl Iterator<Item = &Target> {
        self.targets.iter().filter(|target| target.kind == TargetKind::Bench)
    }

    /// Whether it has a feature of this name.
    pub(crate) fn has_feature(&self, name: &str) -> bool {
        name == "default" || self.features.contains_key(name)
    }

    /// The features that a target requires and that these options do not enable.
    pub(crate) fn missing_features(&self, target: &Target, options: &BuildOptions) -> Vec<String> {
        let required = self.required.get(target).cloned().unwrap_or_default();
        if options.all_features || required.is_empty() {
            return Vec::new();
        }
        let words = options.features.iter().flat_map(|words| words.split([',', ' ']));
        let mut enabled: Vec<&str> = words.filter(|word| !word.is_empty()).collect();
        if !options.no_default_features {
            enabled.push("default");
        }
        let mut next = 0;
        while let Some(feature) = enabled.get(next) {
            let more = self.features.get(*feature).into_iter().flatten();
            let more: Vec<&str> =
                more.map(String::as_str).filter(|word| !enabled.contains(word)).collect();
            enabled.extend(more);
            next += 1;
        }
        required.into_iter().filter(|feature| !enabled.contains(&feature.as_str())).collect()
    }
}

/// How to build a target: what determines the build, besides the sources.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub(crate) struct BuildOptions {
    /// The features to enable.
    pub(crate) features: Vec<String>,
    /// Enable all of them.
    pub(crate) all_features: bool,
    /// Disable the default ones.
    pub(crate) no_default_features: bool,
    /// The profile, if it is not the default (`bench` for bench targets,
    /// `release` for the others).
    pub(crate) profile: Option<String>,
    /// The number of codegen units, if not as in the profile.
    #[serde(default)]
    pub(crate) codegen_units: Option<u32>,
    /// The packages that have one codegen unit, whatever the profile says.
    #[serde(default)]
    pub(crate) of_one_unit: BTreeSet<String>,
    /// Whether the names of functions are stripped if the profile says so. They take part of the
    /// file, but nothing in memory.
    #[serde(default)]
    pub(crate) strips_names: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_required_is_missing_unless_something_enables_it() {
        let target = Target { kind: TargetKind::Bench, name: "b".to_owned() };
        let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        let features =
            [("default", "std"), ("std", "alloc dep:x"), ("alloc", ""), ("all", "std raw")];
        let package = Package {
            required: BTreeMap::from([(target.clone(), words("alloc raw"))]),
            features: features.map(|(name, enables)| (name.to_owned(), words(enables))).into(),
            ..Package::default()
        };
        let missing = |features: &str, no_default_features: bool| {
            let features = words(features);
            let options = BuildOptions { features, no_default_features, ..Default::default() };
            package.missing_features(&target, &options).join(" ")
        };
        assert_eq!(missing("", false), "raw");
        assert_eq!(missing("", true), "alloc raw");
        assert_eq!(missing("all", true), "");
        assert_eq!(missing("x,raw", false), "");
        let all = BuildOptions { all_features: true, ..BuildOptions::default() };
        assert_eq!(package.missing_features(&target, &all), Vec::<String>::new());
        let other = Target { name: "other".to_owned(), ..target };
        assert!(package.missing_features(&other, &BuildOptions::default()).is_empty());
    }
}
