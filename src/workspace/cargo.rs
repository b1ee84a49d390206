//! Cargo's arguments and its output: metadata and messages. Nothing is run here.

mod invocation;

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::io::{BufRead, Read};
use std::path::{Path, PathBuf};

use cargo_metadata::camino::Utf8PathBuf;
use cargo_metadata::diagnostic::DiagnosticLevel;
use cargo_metadata::{Artifact, CrateType, Message, Metadata, MetadataCommand};
use serde_json::Value;

pub(crate) use invocation::recorded_invocation;
pub use invocation::{Invocation, invocation_from_log, record_invocation};

use crate::model::target::{BuildOptions, Package, Target, TargetKind};

/// Cargo printed something that can't be used.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Its description of the workspace can't be read.
    #[error("could not read what `cargo metadata` printed")]
    Metadata(#[source] cargo_metadata::Error),
    /// The message stream of a build can't be read.
    #[error("could not read what `cargo` printed while building")]
    Messages(#[source] std::io::Error),
    /// The build succeeded, but produced no such executable.
    #[error("cargo built {0}, but named no executable for it")]
    NoExecutable(String),
}

/// The workspace that a folder belongs to.
#[derive(Clone, Debug)]
pub struct Workspace {
    /// Its root, absolute.
    pub(crate) root: PathBuf,
    /// Its packages.
    pub(crate) packages: Vec<Package>,
    /// `[workspace.metadata]`.
    pub(crate) metadata: Value,
}

/// The arguments for [`Workspace::parse`]'s input.
pub(crate) fn metadata_args() -> Vec<OsString> {
    ["metadata", "--format-version=1", "--no-deps"].map(OsString::from).to_vec()
}

impl Workspace {
    /// Reads what `cargo metadata` printed.
    ///
    /// # Errors
    /// If it can't be parsed.
    pub fn parse(printed: &str) -> Result<Self, Error> {
        let metadata: Metadata = MetadataCommand::parse(printed).map_err(Error::Metadata)?;
        let defaults = &metadata.workspace_default_members;
        let packages = metadata.workspace_packages().into_iter().map(|package| Package {
            name: package.name.to_string(),
            folder: package.manifest_path.parent().map_or_else(PathBuf::new, PathBuf::from),
            targets: package.targets.iter().filter_map(target).collect(),
            sources: of_targets(package, |of| of.src_path.clone().into()),
            required: of_targets(package, |of| of.required_features.clone()),
            features: package.features.clone(),
            library: package.targets.iter().find(|of| is_library(of)).map(|of| of.name.clone()),
            // Before 1.71, cargo did not report this.
            is_default: defaults.is_missing() || defaults.contains(&package.id),
            path_dependencies: package
                .dependencies
                .iter()
                .filter_map(|needed| Some((needed.name.clone(), needed.path.clone()?.into())))
                .collect(),
            requirements: package
                .dependencies
                .iter()
                .filter(|needed| needed.path.is_none())
                .map(|needed| (needed.name.clone(), needed.req.to_string()))
                .collect(),
            metadata: package.metadata.clone(),
        });
        Ok(Workspace {
            packages: packages.collect(),
            root: metadata.workspace_root.clone().into(),
            metadata: metadata.workspace_metadata,
        })
    }

    /// The package of this name.
    pub(crate) fn package(&self, name: &str) -> Option<&Package> {
        self.packages.iter().find(|package| package.name == name)
    }

    /// The package that the folder `inside` belongs to: the innermost one
    /// around it.
    pub(crate) fn package_around(&self, inside: &Path) -> Option<&Package> {
        let outer = self.packages.iter().filter(|package| inside.starts_with(&package.folder));
        outer.max_by_key(|package| package.folder.components().count())
    }
}

/// Something about each target of a package that can be a benchmark.
fn of_targets<T>(
    package: &cargo_metadata::Package,
    about: impl Fn(&cargo_metadata::Target) -> T,
) -> BTreeMap<Target, T> {
    package.targets.iter().filter_map(|of| Some((target(of)?, about(of)))).collect()
}

fn is_library(target: &cargo_metadata::Target) -> bool {
    use cargo_metadata::TargetKind as Kind;
    let of_library = |kind: &Kind| {
        !matches!(kind, Kind::Bench | Kind::Bin | Kind::Example | Kind::Test | Kind::CustomBuild)
    };
    target.kind.iter().any(of_library)
}

fn kind(target: &cargo_metadata::Target) -> Option<TargetKind> {
    match target.kind.first()? {
        cargo_metadata::TargetKind::Bench => Some(TargetKind::Bench),
        cargo_metadata::TargetKind::Bin => Some(TargetKind::Bin),
        cargo_metadata::TargetKind::Example if target.crate_types.contains(&CrateType::Bin) => {
            Some(TargetKind::Example)
        }
        _ => None,
    }
}

fn target(target: &cargo_metadata::Target) -> Option<Target> {
    kind(target).map(|kind| Target { kind, name: target.name.clone() })
}

impl BuildOptions {
    /// The arguments that choose them for targets of a kind.
    pub(crate) fn args(&self, kind: TargetKind) -> Vec<OsString> {
        let mut args = Vec::new();
        for feature in &self.features {
            args.push(format!("--features={feature}").into());
        }
        if self.all_features {
            args.push("--all-features".into());
        }
        if self.no_default_features {
            args.push("--no-default-features".into());
        }
        let usual = (kind != TargetKind::Bench).then_some("release");
        let profile = self.profile.as_deref().or(usual);
        args.extend(profile.map(|profile| format!("--profile={profile}").into()));
        let profile = profile.unwrap_or("bench");
        if let Some(units) = self.codegen_units {
            args.push(format!("--config=profile.{profile}.codegen-units={units}").into());
        }
        let one_unit = |of| format!("--config=profile.{profile}.package.{of}.codegen-units=1");
        args.extend(self.of_one_unit.iter().map(|of| one_unit(of).into()));
        args
    }
}

/// A call of cargo for targets of one kind, in the folder of their package.
#[derive(Debug)]
pub(crate) struct TargetCall<'a> {
    pub(crate) kind: TargetKind,
    /// Their names.
    pub(crate) names: Vec<&'a str>,
    pub(crate) options: &'a BuildOptions,
    /// The target folder.
    pub(crate) into: &'a Path,
    /// Further configuration files.
    pub(crate) configs: &'a [PathBuf],
    /// The linker to use instead of cargo's choice.
    pub(crate) linker: Option<Linker>,
}

/// A linker of a target.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Linker {
    /// The target's name, such as `x86_64-unknown-linux-gnu`.
    pub(crate) triple: String,
    pub(crate) path: PathBuf,
}

impl TargetCall<'_> {
    /// The arguments that build the targets. Cargo prints its messages in this `format`: with
    /// `json-render-diagnostics`, the compiler's are text for people, on standard error; with
    /// `json`, they are in its own, on standard output: see [`BuildMessages::errors`].
    pub(crate) fn build_args(&self, format: &str) -> Vec<OsString> {
        let mut args = self.plain_args();
        // Then the first error does not keep cargo from building the other targets.
        args.extend((self.kind == TargetKind::Bench).then(|| "--no-fail-fast".into()));
        args.extend(self.place_args());
        args.push(format!("--message-format={format}").into());
        args
    }

    /// The arguments that run the targets, as a user would. `runner`, if given, is run
    /// instead, with the executable's path and arguments.
    pub(crate) fn run_args(&self, runner: Option<&[OsString]>) -> Vec<OsString> {
        let is_bench = self.kind == TargetKind::Bench;
        let mut args = self.selecting(if is_bench { "bench" } else { "run" });
        args.extend(self.place_args());
        if let Some(runner) = runner {
            let words = runner.iter().map(|word| Value::from(word.to_string_lossy()).to_string());
            let list = words.collect::<Vec<_>>().join(",");
            args.push("--config".into());
            // A key that nobody else uses, since it must not replace the user's.
            args.push(format!("target.\"cfg(all(all()))\".runner=[{list}]").into());
        }
        args.push("--".into());
        args
    }

    /// The arguments with which a user would build the targets in a checkout.
    pub(crate) fn plain_args(&self) -> Vec<OsString> {
        let is_bench = self.kind == TargetKind::Bench;
        let mut args = self.selecting(if is_bench { "bench" } else { "build" });
        args.extend(is_bench.then(|| "--no-run".into()));
        args
    }

    /// What is built, without where and how.
    fn selecting(&self, verb: &str) -> Vec<OsString> {
        let mut args = vec![OsString::from(verb)];
        // One word each, so that no name is treated as an option.
        args.extend(self.names.iter().map(|name| format!("--{}={name}", self.kind.name()).into()));
        args.extend(self.options.args(self.kind));
        args
    }

    /// Where and how it is built.
    fn place_args(&self) -> Vec<OsString> {
        let TargetCall { into, configs, linker, .. } = self;
        let mut args = vec!["--target-dir".into(), into.as_os_str().to_owned()];
        args.extend(config_args(configs));
        if !configs.is_empty() {
            // A build folder in one of them would override the variable that
            // separates the sides.
            let build = format!("build.build-dir={}", Value::from(into.to_string_lossy()));
            args.extend(["--config".into(), build.into()]);
        }
        if let Some(Linker { triple, path }) = linker {
            // Of all settings of a linker, the last one wins.
            let path = Value::from(path.to_string_lossy());
            let linker = format!("target.\"{triple}\".linker={path}");
            args.extend(["--config".into(), linker.into()]);
        }
        args
    }
}

fn config_args(configs: &[PathBuf]) -> impl Iterator<Item = OsString> {
    configs.iter().flat_map(|config| ["--config".into(), config.into()])
}

/// The arguments that resolve a lock file.
pub(crate) fn lock_args(configs: &[PathBuf]) -> Vec<OsString> {
    std::iter::once("generate-lockfile".into()).chain(config_args(configs)).collect()
}

/// The arguments that change in a lock file what does not fit the manifests, and nothing else.
pub(crate) fn fit_lock_args(configs: &[PathBuf]) -> Vec<OsString> {
    ["update", "--workspace"].map(OsString::from).into_iter().chain(config_args(configs)).collect()
}

/// The result of a build.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Built {
    /// The executable of the requested target.
    pub(crate) executable: PathBuf,
    /// Executables of local packages, and dynamic libraries.
    pub(crate) files: Vec<PathBuf>,
    /// The build scripts that ran, now or in an earlier build.
    pub(crate) scripts: Vec<BuildScript>,
    /// The folders of all packages, including those of registries.
    pub(crate) packages: BTreeSet<PathBuf>,
    /// The source file of the requested target.
    pub(crate) source: PathBuf,
    /// Whether its executable existed already and was up to date according to cargo.
    pub(crate) is_fresh: bool,
}

/// A build script and its results.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct BuildScript {
    /// The folder of its package.
    pub(crate) package: PathBuf,
    /// Its `OUT_DIR`.
    pub(crate) out_dir: PathBuf,
    /// The libraries to link with, without their kind: `z` for `static=z`.
    pub(crate) libraries: Vec<String>,
    /// The folders in which the linker searches for them.
    pub(crate) library_folders: Vec<PathBuf>,
    /// The names of the environment variables that it sets for rustc and for runs.
    pub(crate) variables: Vec<String>,
}

/// The maximum length of a message, bytes; a longer line is read in pieces, which are not
/// messages.
const LONGEST: u64 = 64 << 20;

/// What cargo printed while it built.
#[derive(Debug)]
pub struct BuildMessages(Vec<Message>);

impl BuildMessages {
    /// Reads them. Other programs print into the stream, too, so some lines are none.
    /// (`Message::parse_stream` would parse objects of any depth, until the stack overflows.)
    ///
    /// # Errors
    /// If the stream can't be read.
    pub fn read(mut printed: impl BufRead) -> Result<Self, Error> {
        let (mut messages, mut line) = (Vec::new(), Vec::new());
        loop {
            line.clear();
            let read = printed.by_ref().take(LONGEST).read_until(b'\n', &mut line);
            if read.map_err(Error::Messages)? == 0 {
                return Ok(BuildMessages(messages));
            }
            messages.extend(serde_json::from_slice::<Message>(&line).ok());
        }
    }

    fn artifacts(&self) -> impl Iterator<Item = &Artifact> {
        self.0.iter().filter_map(|message| match message {
            Message::CompilerArtifact(artifact) => Some(artifact),
            _ => None,
        })
    }

    /// What was built for a target of the package in `folder`.
    ///
    /// # Errors
    /// If there is no executable for it.
    pub fn built(&self, target: &Target, folder: &Path) -> Result<Built, Error> {
        let (mut built, mut folders) = (Built::default(), BTreeMap::new());
        let none = || Error::NoExecutable(target.to_string());
        let is_it = |artifact: &&Artifact| {
            kind(&artifact.target) == Some(target.kind)
                && artifact.target.name == target.name
                && is_in(artifact, folder)
                && artifact.profile.test == (target.kind == TargetKind::Bench)
                && artifact.executable.is_some()
        };
        let own = self.artifacts().filter(is_it).last().ok_or_else(none)?;
        built.executable = own.executable.clone().ok_or_else(none)?.into();
        built.source = own.target.src_path.clone().into();
        built.is_fresh = own.fresh;
        for artifact in self.artifacts() {
            built.files.extend(artifact.executable.iter().map(PathBuf::from));
            if let Some(package) = artifact.manifest_path.parent() {
                built.packages.insert(package.into());
                folders.insert(&artifact.package_id, package);
            }
            let is_macro = artifact.target.kind.contains(&cargo_metadata::TargetKind::ProcMacro);
            let files = artifact.filenames.iter().filter(|_| !is_macro);
            let dynamic =
                files.filter(|path| matches!(path.extension(), Some("so" | "dylib" | "dll")));
            built.files.extend(dynamic.map(PathBuf::from));
        }
        let scripts = self.0.iter().filter_map(|message| match message {
            Message::BuildScriptExecuted(script) => Some(BuildScript {
                package: folders.get(&script.package_id).map(PathBuf::from).unwrap_or_default(),
                out_dir: script.out_dir.clone().into(),
                libraries: script.linked_libs.iter().map(without_kind).collect(),
                library_folders: script.linked_paths.iter().map(without_kind).collect(),
                variables: script.env.iter().map(|(name, _)| name.clone()).collect(),
            }),
            _ => None,
        });
        built.scripts = scripts.collect();
        Ok(built)
    }

    /// Whether the library of the package in `folder` was built.
    pub(crate) fn has_library(&self, folder: &Path) -> bool {
        self.artifacts().any(|artifact| is_library(&artifact.target) && is_in(artifact, folder))
    }

    /// The errors that rustc reported.
    pub(crate) fn errors(self) -> Vec<CompilerError> {
        let error = |message: Message| {
            let Message::CompilerMessage(message) = message else { return None };
            let message = message.message;
            let is_crash = message.level == DiagnosticLevel::Ice;
            let mut all = std::iter::once(&message).chain(&message.children);
            let has_place = !is_crash && all.any(|part| !part.spans.is_empty());
            let rendered = message.rendered;
            let rendered = rendered.unwrap_or_else(|| format!("error: {}", message.message));
            let is_error = is_crash || message.level == DiagnosticLevel::Error;
            let code = message.code.map(|code| code.code);
            is_error.then_some(CompilerError { code, has_place, rendered })
        };
        self.0.into_iter().filter_map(error).collect()
    }
}

fn is_in(artifact: &Artifact, folder: &Path) -> bool {
    artifact.manifest_path.parent().is_some_and(|parent| parent == folder)
}

/// An error that rustc reported.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CompilerError {
    /// The code, such as `E0308`; for lints, their name.
    pub(crate) code: Option<String>,
    /// Whether it, or a note to it, has a position in a source. A crash of the
    /// compiler never has one.
    pub(crate) has_place: bool,
    /// The message as displayed.
    pub(crate) rendered: String,
}

/// The name or folder without the kind of library, as in `static=z` and
/// `native=/usr/lib`.
fn without_kind<T: From<String>>(text: &Utf8PathBuf) -> T {
    let text = text.as_str();
    text.split_once('=').map_or(text, |(_, rest)| rest).to_owned().into()
}

#[cfg(test)]
mod tests;
