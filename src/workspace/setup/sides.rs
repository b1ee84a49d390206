//! The setups of both sides: what each of them builds with.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use crate::model::{BuildOptions, DifferentKey, Notice, Package, Pair, Removed, Side, Target};
use crate::settings::options::{Benchmark, Hooks, Subject};
use crate::settings::policy::Settings;
use crate::workspace::cargo::Workspace;
use crate::workspace::checkout::Worktree;
use crate::workspace::context::PrepareContext;
use crate::workspace::inputs::configuration::has_profile;

/// The profiles that cargo has by itself.
const PROFILES: [&str; 4] = ["dev", "release", "test", "bench"];

/// The files that name a toolchain for rustup.
const TOOLCHAIN_FILES: [&str; 2] = ["rust-toolchain.toml", "rust-toolchain"];

/// The settings of a preparation, and the setups of its sides.
pub(in crate::workspace) struct Setup {
    pub(in crate::workspace) settings: Settings,
    /// Benchmarks that gate on the base but that the head lacks.
    pub(in crate::workspace) removed: Vec<Removed>,
    /// The names of the head's benchmarks that gate on the base, too.
    pub(in crate::workspace) gated: Vec<String>,
    pub(in crate::workspace) base: Option<SideSetup>,
    pub(in crate::workspace) head: SideSetup,
}

impl Setup {
    /// Why the base lacks what a benchmark is on the head, if it does.
    pub(in crate::workspace) fn lack(&self, benchmark: &Benchmark) -> Option<String> {
        let Pair { base, head } = self.sides();
        base.lack(benchmark).filter(|_| head.lack(benchmark).is_none())
    }

    /// Whether one toolchain builds both sides, although their files name different ones.
    pub(super) fn toolchain_differs(&self) -> bool {
        let asked = |side: &SideSetup| {
            TOOLCHAIN_FILES.map(|name| std::fs::read(side.worktree.path.join(name)).ok())
        };
        let is_other =
            |base: &SideSetup| base.toolchain.is_some() && asked(base) != asked(&self.head);
        self.base.as_ref().is_some_and(is_other)
    }

    /// What may build a benchmark on the base, if that asks for another toolchain than the one that
    /// has not built it.
    pub(in crate::workspace) fn own_toolchain(&self, benchmark: &Benchmark) -> Option<&str> {
        let base = self.base.as_ref()?;
        let is_there = base.workspace.is_err() || base.lack(benchmark).is_none();
        let names = TOOLCHAIN_FILES.map(|name| base.worktree.path.join(name).exists());
        (is_there && names.contains(&true) && self.toolchain_differs())
            .then_some("; it asks for another toolchain: `--toolchain each` builds it with that")
    }

    /// Whether a benchmark gates on the base, but the base lacks what it is on the head.
    pub(in crate::workspace) fn lacks_gated(&self, benchmark: &Benchmark) -> bool {
        self.sides().base.workspace.is_ok()
            && self.gated.contains(&benchmark.name)
            && self.lack(benchmark).is_some()
    }

    /// The arguments of cargo with which a benchmark is built on each side, if they differ.
    pub(in crate::workspace) fn differing_build(
        &self,
        benchmark: &Benchmark,
    ) -> Option<Pair<Vec<String>>> {
        let Subject::Target(target, options) = &benchmark.subject else { return None };
        let sides = self.sides();
        let args = Pair::both(|side| {
            let args = sides[side].options(benchmark, target, options).args(target.kind);
            args.iter().map(|word| word.to_string_lossy().into_owned()).collect::<Vec<_>>()
        });
        (args.base != args.head).then_some(args)
    }

    /// Tells what the sides set differently of how rustc compiles, apart from profiles with which
    /// none of the benchmarks is built.
    pub(super) fn tell_compiler(&self, context: &mut PrepareContext<'_>) {
        let Some(base) = self.base.as_ref().filter(|base| base.workspace.is_ok()) else { return };
        let profiles = self.settings.benchmarks.iter().filter_map(|one| match &one.subject {
            Subject::Target(_, options) => Some(options.profile.as_deref()),
            Subject::Command { .. } => None,
        });
        let profiles: BTreeSet<_> = profiles.collect();
        if profiles.is_empty() {
            return;
        }
        // Others may inherit from any.
        let optimized = ["profile.bench.", "profile.release."];
        let are_optimized =
            profiles.iter().all(|name| [None, Some("bench"), Some("release")].contains(name));
        let is_used = |key: &str| {
            let is_of_profile = key.starts_with("profile.") && are_optimized;
            !is_of_profile || optimized.iter().any(|start| key.starts_with(start))
        };
        let both = Pair { base: &base.compiler, head: &self.head.compiler };
        let keys: BTreeSet<&String> = both.base.keys().chain(both.head.keys()).collect();
        let keys = keys.into_iter().filter(|key| is_used(key));
        let keys = keys.map(|key| DifferentKey {
            key: key.clone(),
            selects: false,
            benchmark: None,
            base: both.base.get(key).cloned(),
            head: both.head.get(key).cloned(),
        });
        let keys: Vec<DifferentKey> = keys.filter(|found| found.base != found.head).collect();
        if !keys.is_empty() {
            context.notice(Notice::CompilerDiffers { keys });
        }
    }

    /// Both sides; the head instead of a base that was not requested.
    pub(in crate::workspace) fn sides(&self) -> Pair<&SideSetup> {
        Pair { base: self.base.as_ref().unwrap_or(&self.head), head: &self.head }
    }
}

/// One side, checked out, with everything that determines its builds.
pub(in crate::workspace) struct SideSetup {
    pub(in crate::workspace) worktree: Worktree,
    /// Its manifests as parsed by cargo, or why cargo can't.
    pub(in crate::workspace) workspace: Result<Workspace, String>,
    /// The commit, or the tree of a dirty one, and how the worktree differs from it.
    pub(in crate::workspace) identity: String,
    /// The toolchain for rustup, if one is forced.
    pub(in crate::workspace) toolchain: Option<String>,
    /// The output of `rustc -vV` there.
    pub(in crate::workspace) rustc: String,
    /// The output of `cargo -V` there.
    pub(super) cargo: String,
    /// The digest of the lock file.
    pub(in crate::workspace) lock: String,
    /// Cargo's configuration files from around the user's repository.
    pub(in crate::workspace) configs: Vec<PathBuf>,
    /// Whether cargo's configuration defines profiles, too.
    pub(super) has_profiles_elsewhere: bool,
    /// How its configuration and its manifest have rustc compile, by their keys.
    pub(super) compiler: BTreeMap<String, String>,
    /// The names of packages that have another one on the head, by that.
    pub(super) renamed: BTreeMap<String, String>,
}

impl SideSetup {
    pub(in crate::workspace) fn side(&self) -> Side {
        self.worktree.side
    }

    /// The versions of the compiler and of cargo.
    pub(in crate::workspace) fn versions(&self) -> String {
        format!("{}\n{}", self.rustc, self.cargo)
    }

    /// The root of the workspace; of the worktree if there is none.
    pub(in crate::workspace) fn root(&self) -> &Path {
        self.workspace.as_ref().map_or(&self.worktree.path, |workspace| &workspace.root)
    }

    /// The root of the workspace, relative to that of the worktree.
    pub(in crate::workspace) fn root_inside(&self) -> &Path {
        self.inside(self.root())
    }

    /// A path of the worktree, relative to its root.
    pub(in crate::workspace) fn inside<'a>(&self, path: &'a Path) -> &'a Path {
        path.strip_prefix(&self.worktree.path).unwrap_or(path)
    }

    /// The package that has this name on the head, or why there is none.
    pub(in crate::workspace) fn package(&self, name: &str) -> Result<&Package, String> {
        let workspace = self.workspace.as_ref().map_err(String::clone)?;
        let own = self.renamed.get(name).map_or(name, String::as_str);
        let package = workspace.package(own);
        package.ok_or_else(|| format!("the {}'s workspace has no package `{name}`", self.side()))
    }

    /// Why it does not have what a benchmark is on the head, if it does not.
    fn lack(&self, benchmark: &Benchmark) -> Option<String> {
        let (words, build) = match &benchmark.subject {
            Subject::Target(target, _) => return self.folder_of(benchmark, target).err(),
            Subject::Command { words, build } => (words, build),
        };
        let package = match self.package(&benchmark.package) {
            Ok(package) => package,
            Err(why) => return Some(why),
        };
        let Hooks { setup, prepare, .. } = &benchmark.measuring.hooks;
        let may_be_made = build.is_some() || setup.is_some() || prepare.is_some();
        let program = words.first().filter(|word| !may_be_made && word.contains('/'))?;
        let path = package.folder.join(program);
        let is_missing = path.starts_with(&self.worktree.path) && !path.exists();
        is_missing
            .then(|| format!("the {}'s package `{}` has no `{program}`", self.side(), package.name))
    }

    /// The package in a folder.
    pub(in crate::workspace) fn package_in(&self, folder: &Path) -> Option<&Package> {
        let mut packages = self.workspace.iter().flat_map(|workspace| &workspace.packages);
        packages.find(|package| package.folder == folder)
    }

    /// The options with which a target is built here: those for the head, but on the base with
    /// the profile and the features that its own manifest has, and those that it requires.
    pub(in crate::workspace) fn options(
        &self,
        benchmark: &Benchmark,
        target: &Target,
        options: &BuildOptions,
    ) -> BuildOptions {
        let mut own = options.clone();
        if let (Side::Base, Ok(package)) = (self.side(), self.package(&benchmark.package)) {
            let lacks = |word: &str| match word.split_once('/') {
                None => !package.has_feature(word),
                // Which features other packages have is not known.
                Some((of, feature)) => of == package.name && !package.has_feature(feature),
            };
            for words in &mut own.features {
                if words.split([',', ' ']).any(lacks) {
                    let known: Vec<_> =
                        words.split([',', ' ']).filter(|word| !lacks(word)).collect();
                    *words = known.join(",");
                }
            }
            own.features.retain(|words| !words.is_empty());
            own.features.extend(package.missing_features(target, &own));
            own.profile = own.profile.filter(|name| self.has_profile(name));
        }
        own
    }

    /// Whether cargo knows a profile here. In doubt it does, and cargo reports it if not.
    fn has_profile(&self, name: &str) -> bool {
        let manifest = std::fs::read_to_string(self.root().join("Cargo.toml")).unwrap_or_default();
        PROFILES.contains(&name) || self.has_profiles_elsewhere || has_profile(&manifest, name)
    }

    /// The folder of the package of a benchmark's target, or why there is none.
    pub(in crate::workspace) fn folder_of(
        &self,
        benchmark: &Benchmark,
        target: &Target,
    ) -> Result<&Path, String> {
        let package = self.package(&benchmark.package)?;
        if package.targets.contains(target) {
            return Ok(&package.folder);
        }
        Err(format!("the {}'s package `{}` has no {target}", self.side(), package.name))
    }
}
