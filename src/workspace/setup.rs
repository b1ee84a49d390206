//! Reads what determines the builds of the worktrees: manifests, settings,
//! toolchains, lock files.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use super::context::{PrepareContext, UserTree};
use super::diagnose::{self, Blame};
use super::environment::of_resolver;
use super::files::{read_record, remove, unless_damaged, write_record};
use super::inputs::configuration::{Configuration, has_profile, outer_configs, profile_settings};
use super::tools::Captured;
use super::{Request, overlay, settings, unstable};
use crate::error::{Error, Failure, FileError};
use crate::exec::system::digest;
use crate::model::{BuildOptions, DifferentKey, Notice, Package, Pair, Removed, Side, Target};
use crate::settings::options::{Benchmark, Hooks, Subject};
use crate::settings::policy::{Resolved, Settings, SideTable, required_notices, resolve};
use crate::settings::table::Table;
use crate::settings::values::Toolchain;
use crate::workspace::cache::RepositoryCache;
use crate::workspace::cargo::{self, Workspace};
use crate::workspace::checkout::Worktree;
use crate::workspace::error::WorkspaceError;

/// The profiles that cargo has by itself.
const PROFILES: [&str; 4] = ["dev", "release", "test", "bench"];

/// The settings of a preparation, and the setups of its sides.
pub(super) struct Setup {
    pub(super) settings: Settings,
    /// Benchmarks that gate on the base but that the head lacks.
    pub(super) removed: Vec<Removed>,
    /// The names of the head's benchmarks that gate on the base, too.
    pub(super) gated: Vec<String>,
    pub(super) base: Option<SideSetup>,
    pub(super) head: SideSetup,
}

impl Setup {
    /// Why the base lacks what a benchmark is on the head, if it does.
    pub(super) fn lack(&self, benchmark: &Benchmark) -> Option<String> {
        let Pair { base, head } = self.sides();
        base.lack(benchmark).filter(|_| head.lack(benchmark).is_none())
    }

    /// Whether a benchmark gates on the base, but the base lacks what it is on the head.
    pub(super) fn lacks_gated(&self, benchmark: &Benchmark) -> bool {
        self.sides().base.workspace.is_ok()
            && self.gated.contains(&benchmark.name)
            && self.lack(benchmark).is_some()
    }

    /// The arguments of cargo with which a benchmark is built on each side, if they differ.
    pub(super) fn differing_build(&self, benchmark: &Benchmark) -> Option<Pair<Vec<String>>> {
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
    fn tell_compiler(&self, context: &mut PrepareContext<'_>) {
        let Some(base) = self.base.as_ref().filter(|base| base.workspace.is_ok()) else { return };
        let profiles = self.settings.benchmarks.iter().filter_map(|one| match &one.subject {
            Subject::Target(_, options) => Some(options.profile.as_deref()),
            Subject::Command { .. } => None,
        });
        let profiles: BTreeSet<_> = profiles.collect();
        if profiles.is_empty() {
            return;
        }
        // Others may inherit from `dev`.
        let is_optimized =
            |name: &Option<&str>| [None, Some("bench"), Some("release")].contains(name);
        let unused: &[&str] = match profiles.iter().all(is_optimized) {
            true => &["profile.dev.", "profile.test."],
            false => &[],
        };
        let both = Pair { base: &base.compiler, head: &self.head.compiler };
        let keys: BTreeSet<&String> = both.base.keys().chain(both.head.keys()).collect();
        let keys =
            keys.into_iter().filter(|key| unused.iter().all(|start| !key.starts_with(start)));
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
    pub(super) fn sides(&self) -> Pair<&SideSetup> {
        Pair { base: self.base.as_ref().unwrap_or(&self.head), head: &self.head }
    }
}

/// One side, checked out, with everything that determines its builds.
pub(super) struct SideSetup {
    pub(super) worktree: Worktree,
    /// Its manifests as parsed by cargo, or why cargo can't.
    pub(super) workspace: Result<Workspace, String>,
    /// The commit, or the tree of a dirty one, and how the worktree differs from it.
    pub(super) identity: String,
    /// The toolchain for rustup, if one is forced.
    pub(super) toolchain: Option<String>,
    /// The output of `rustc -vV` there.
    pub(super) rustc: String,
    /// The output of `cargo -V` there.
    cargo: String,
    /// The digest of the lock file.
    pub(super) lock: String,
    /// Cargo's configuration files from around the user's repository.
    pub(super) configs: Vec<PathBuf>,
    /// Whether cargo's configuration defines profiles, too.
    has_profiles_elsewhere: bool,
    /// How its configuration and its manifest have rustc compile, by their keys.
    compiler: BTreeMap<String, String>,
    /// The names of packages that have another one on the head, by that.
    renamed: BTreeMap<String, String>,
}

impl SideSetup {
    pub(super) fn side(&self) -> Side {
        self.worktree.side
    }

    /// The versions of the compiler and of cargo.
    pub(super) fn versions(&self) -> String {
        format!("{}\n{}", self.rustc, self.cargo)
    }

    /// The root of the workspace; of the worktree if there is none.
    pub(super) fn root(&self) -> &Path {
        self.workspace.as_ref().map_or(&self.worktree.path, |workspace| &workspace.root)
    }

    /// The root of the workspace, relative to that of the worktree.
    pub(super) fn root_inside(&self) -> &Path {
        self.inside(self.root())
    }

    /// A path of the worktree, relative to its root.
    pub(super) fn inside<'a>(&self, path: &'a Path) -> &'a Path {
        path.strip_prefix(&self.worktree.path).unwrap_or(path)
    }

    /// The package that has this name on the head, or why there is none.
    pub(super) fn package(&self, name: &str) -> Result<&Package, String> {
        let workspace = self.workspace.as_ref().map_err(String::clone)?;
        let own = self.renamed.get(name).map_or(name, String::as_str);
        let package = workspace.package(own);
        package.ok_or_else(|| format!("its workspace has no package `{name}`"))
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
        is_missing.then(|| format!("its package `{}` has no `{program}`", package.name))
    }

    /// The package in a folder.
    pub(super) fn package_in(&self, folder: &Path) -> Option<&Package> {
        let mut packages = self.workspace.iter().flat_map(|workspace| &workspace.packages);
        packages.find(|package| package.folder == folder)
    }

    /// The options with which a target is built here: those for the head, but on the base with
    /// the profile and the features that its own manifest has, and those that it requires.
    pub(super) fn options(
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
    pub(super) fn folder_of(
        &self,
        benchmark: &Benchmark,
        target: &Target,
    ) -> Result<&Path, String> {
        let package = self.package(&benchmark.package)?;
        if package.targets.contains(target) {
            return Ok(&package.folder);
        }
        Err(format!("its package `{}` has no {target}", package.name))
    }
}

/// Reads what determines the builds of the head, and of the base if there is one.
///
/// # Errors
/// If the head can't be read, or the base for a reason other than its code.
pub(super) fn set_up(
    context: &mut PrepareContext<'_>,
    user: &UserTree,
    base: Option<Worktree>,
    head: Worktree,
) -> Result<Setup, Error> {
    let folders = Pair::both(|side| context.cache.worktree(side).join(&user.inside));
    if !folders.head.is_dir() {
        let folder = user.inside.display().to_string();
        return Err(WorkspaceError::NotCommitted { side: Side::Head, folder }.into());
    }
    // The action, the hook and others call the program in the user's tree.
    if Configuration::read([&*user.folder], &[], &context.tools.env)?.has_alias {
        context.notice(Notice::Alias);
    }
    let flags = &context.request.flags;
    let (head_table, known) = match context.request.head {
        // For HEAD, the table in the working tree counts.
        None => (user.table(flags)?, None),
        Some(_) => {
            // The head's own may not be installed.
            let named = context.named_toolchain()?;
            let workspace = workspace_of(context, Side::Head, &folders.head, named.as_deref())?;
            (settings::side_table(&workspace, &folders.head, flags)?.table, Some(workspace))
        }
    };
    let asked = flags.clone().over(head_table.clone().unwrap_or_default()).toolchain()?;
    // Another cargo may read the manifests in another way.
    let known = known.filter(|_| matches!(asked, Toolchain::Each | Toolchain::Of(Side::Head)));
    let has_base = base.is_some();
    let toolchains = toolchains(context, asked, &folders, has_base)?;
    let places = Places { inside: &user.inside, folders, toolchains, has_base };
    let mut manifests = Manifests::read(context, known, &places)?;
    let Resolved { mut settings, removed, gated, notices } =
        manifests.resolve(context, &places, head_table.clone())?;
    notices.into_iter().for_each(|notice| context.notice(notice));
    settings::check_pairs(context.request, &settings)?;
    let mut overlaid = None;
    if has_base && let Some(from) = overlay::bench_from(&settings.benchmarks)? {
        let contents = overlay::lay_over(context, from, &settings.benchmarks, &manifests)?;
        overlaid = Some((from.other(), contents));
        manifests = Manifests::read(context, None, &places)?;
        // The notices about differences are from before both sides had the sources of one.
        settings = manifests.resolve(context, &places, head_table)?.settings;
    }
    if context.request.one_unit {
        let own = manifests.own_packages(context, &places);
        settings.benchmarks.iter_mut().for_each(|benchmark| benchmark.use_one_unit(&own));
    }
    let configs = outer_configs(context.repo.root(), context.cache.path(), &context.tools.env);
    let user_root = &user.workspace.root;
    let toolchains = places.toolchains;
    provide_lock_files(context, &manifests, user_root, &configs, &toolchains.head)?;
    let renamed = manifests.renamed(&context.cache);
    // A toolchain that is named is the same in both worktrees.
    let is_one = toolchains.head.is_some() && toolchains.base == toolchains.head;
    let known = is_one.then(|| versions(context, &head.path, toolchains.head.as_deref()));
    let known = known.transpose()?;
    let complete = |worktree: Worktree, workspace: Result<Workspace, String>| {
        let side = worktree.side;
        let toolchain = toolchains[side].clone();
        let (rustc, cargo) = match &known {
            Some(known) => known.clone(),
            None => versions(context, &worktree.path, toolchain.as_deref())?,
        };
        let mut identity = worktree.identity();
        if let Some((_, contents)) = overlaid.iter().find(|(overlaid, _)| *overlaid == side) {
            identity = format!("{identity} with benchmarks {contents}");
        }
        let lock = match &workspace {
            Ok(workspace) => digest(&lock_file(&workspace.root)?.unwrap_or_default()),
            Err(_) => String::new(),
        };
        let env = &context.tools.env;
        let configured = Configuration::read([&*places.folders[side]], &configs, env)?;
        let root = workspace.iter().map(|workspace| workspace.root.join("Cargo.toml"));
        let manifest = root.flat_map(std::fs::read_to_string).next().unwrap_or_default();
        // The configuration wins over the manifest.
        let mut compiler = profile_settings(&manifest);
        compiler.extend(configured.compiler);
        let is_profile = |name: &OsStr| name.as_encoded_bytes().starts_with(b"CARGO_PROFILE_");
        Ok::<_, Error>(SideSetup {
            worktree,
            workspace,
            identity,
            toolchain,
            rustc,
            cargo,
            lock,
            configs: configs.clone(),
            has_profiles_elsewhere: configured.has_profiles
                || env.iter().any(|(name, _)| is_profile(name)),
            compiler,
            renamed: if side == Side::Base { renamed.clone() } else { BTreeMap::new() },
        })
    };
    let head = complete(head, Ok(manifests.head))?;
    let base = base.map(|worktree| complete(worktree, manifests.base)).transpose()?;
    let mut setup = Setup { settings, removed, gated, base, head };
    unstable::leave_out(context, &mut setup)?;
    // What is left out is built with no features.
    required_notices(&setup.settings.benchmarks).for_each(|notice| context.notice(notice));
    setup.tell_compiler(context);
    overlay::tell_changed_sources(context, &setup)?;
    Ok(setup)
}

/// Where the manifests of the worktrees are, and which toolchain reads them.
struct Places<'a> {
    /// The folder of the manifest, relative to the root.
    inside: &'a Path,
    /// Its full path on each side.
    folders: Pair<PathBuf>,
    /// The one that rustup should use; `None` for the side's own.
    toolchains: Pair<Option<String>>,
    has_base: bool,
}

/// The manifests of the worktrees, as parsed by cargo.
pub(super) struct Manifests {
    head: Workspace,
    /// The base's, or why there is none.
    base: Result<Workspace, String>,
}

impl Manifests {
    /// Reads those of both worktrees, but the head's only unless they are `known`. Those of the
    /// base may be missing or invalid, or name what its worktree lacks; then there is no baseline,
    /// which is not an error.
    fn read(
        context: &PrepareContext<'_>,
        known: Option<Workspace>,
        Places { inside, folders, toolchains, has_base }: &Places<'_>,
    ) -> Result<Self, Error> {
        let of =
            |side: Side| workspace_of(context, side, &folders[side], toolchains[side].as_deref());
        let head = known.map_or_else(|| of(Side::Head), Ok)?;
        let base = match *has_base {
            false => Err(String::new()),
            true if !folders.base.is_dir() => {
                let folder = inside.display().to_string();
                Err(WorkspaceError::NotCommitted { side: Side::Base, folder }.to_string())
            }
            true => match of(Side::Base) {
                Err(error) if matches!(error.as_kind(), Some(WorkspaceError::Manifests { .. })) => {
                    Err(why(&error))
                }
                read => Ok(read?),
            },
        };
        context.tools.interrupt.check()?;
        check_path_dependencies(context, Side::Head, &head)?;
        let base = base.and_then(|base| {
            let checked = check_path_dependencies(context, Side::Base, &base);
            checked.map(|()| base).map_err(|error| error.to_string())
        });
        Ok(Manifests { head, base })
    }

    /// The names of the base's packages of which the head has none, by the names that packages
    /// in the same folders have on the head.
    fn renamed(&self, cache: &RepositoryCache) -> BTreeMap<String, String> {
        let trees = Pair::both(|side| cache.worktree(side));
        let Ok(base) = &self.base else { return BTreeMap::new() };
        let new = self.head.packages.iter().filter(|head| base.package(&head.name).is_none());
        let pairs = new.filter_map(|head| {
            let folder = trees.base.join(head.folder.strip_prefix(&trees.head).ok()?);
            let mut old = base.packages.iter().filter(|old| old.folder == folder);
            let old = old.find(|old| self.head.package(&old.name).is_none())?;
            Some((head.name.clone(), old.name.clone()))
        });
        pairs.collect()
    }

    /// The names of the workspace's packages, and of those that they depend on by path, be it
    /// through others outside of the workspace.
    fn own_packages(&self, context: &PrepareContext<'_>, places: &Places<'_>) -> BTreeSet<String> {
        let toolchain = places.toolchains.head.as_deref();
        let all = self.base.iter().chain([&self.head]).flat_map(|workspace| &workspace.packages);
        let mut left: Vec<Package> = all.cloned().collect();
        let mut known: BTreeSet<PathBuf> =
            left.iter().map(|package| package.folder.clone()).collect();
        let mut names = BTreeSet::new();
        while let Some(package) = left.pop() {
            names.insert(package.name);
            for (name, folder) in package.path_dependencies {
                names.insert(name);
                // What cargo can't read is an error of the build.
                if known.insert(folder.clone())
                    && let Ok(outside) = context.workspace(&folder, toolchain)
                {
                    left.extend(outside.package_around(&folder).cloned());
                }
            }
        }
        names
    }

    /// The package of a benchmark on a side.
    pub(super) fn package(&self, side: Side, benchmark: &Benchmark) -> Option<&Package> {
        let workspace = match side {
            Side::Base => self.base.as_ref().ok()?,
            Side::Head => &self.head,
        };
        workspace.package(&benchmark.package)
    }

    /// The settings, from the tables of both worktrees and the flags.
    fn resolve(
        &self,
        context: &PrepareContext<'_>,
        Places { folders, .. }: &Places<'_>,
        head_table: Option<Table>,
    ) -> Result<Resolved, Error> {
        let Request { flags, policy_from, .. } = context.request;
        let (policy_from, base) = (*policy_from, self.base.as_ref().ok());
        let base = base.map(|of| settings::side_table(of, &folders.base, flags)).transpose();
        let (base, unread) = match base {
            Err(error) if policy_from == Side::Head => (None, Some(error)),
            base => (base.map_err(|error| error.of(Side::Base))?, None),
        };
        let choice = settings::choice(&self.head, &folders.head);
        let head = SideTable { choice, table: head_table };
        let resolved = resolve(flags, &head, base.as_ref(), policy_from);
        let tree = context.cache.worktree(Side::Head);
        let mut resolved =
            resolved.map_err(|error| settings::with_folder_hint(error, &self.head, &tree))?;
        let unread = unread.map(|error| Notice::BaseTable { why: error.to_string() });
        resolved.notices.extend(unread);
        Ok(resolved)
    }
}

fn why(error: &Error) -> String {
    let output = error.child_output();
    let line = output.and_then(|text| text.lines().find(|line| line.starts_with("error")));
    line.map_or_else(|| error.to_string(), |line| format!("{error}: {line}"))
}

/// The workspace of a side's worktree.
///
/// # Errors
/// [`WorkspaceError::Manifests`] if its manifests are invalid.
fn workspace_of(
    context: &PrepareContext<'_>,
    side: Side,
    folder: &Path,
    toolchain: Option<&str>,
) -> Result<Workspace, Error> {
    let command = context.tools.command("cargo", cargo::metadata_args(), folder, toolchain);
    let printed =
        context.tools.output_or(command, |Captured { command, exit, stderr, .. }| {
            let command = command.shown();
            match diagnose::of_manifests(exit, &stderr) {
                Blame::Code => WorkspaceError::Manifests { side, command, exit, stderr },
                Blame::Machine(why) => WorkspaceError::unbuilt(side, command, exit, why),
            }
        })?;
    Ok(Workspace::parse(&printed)?)
}

/// Returns an error if a package depends on another one outside of the repository, at a
/// path that does not exist relative to the worktree.
fn check_path_dependencies(
    context: &PrepareContext<'_>,
    side: Side,
    workspace: &Workspace,
) -> Result<(), Error> {
    let tree = context.cache.worktree(side);
    for package in &workspace.packages {
        for (needed, folder) in &package.path_dependencies {
            if folder.starts_with(&tree) || folder.join("Cargo.toml").exists() {
                continue;
            }
            // As named in the user's tree.
            let folder = seen_from(context.repo.root(), folder, &tree);
            let (package, folder) = (&package.name, folder.display());
            let what = format!(
                "the {side}'s package `{package}` needs `{needed}` in `{folder}`, which is outside \
                 the repository"
            );
            let step = "a worktree contains only what is committed: make it a submodule, or depend \
                on it by git, version or absolute path";
            return Err(Failure::new(what, step).into());
        }
    }
    Ok(())
}

/// The path relative to `here` that corresponds to `path` relative to `there`;
/// `path` itself if it has nothing in common with `there` but the root.
fn seen_from(here: &Path, path: &Path, there: &Path) -> PathBuf {
    let common = there.ancestors().find(|folder| path.starts_with(folder));
    let Some(common) = common.filter(|folder| folder.parent().is_some()) else {
        return path.to_owned();
    };
    let up = there.strip_prefix(common).map_or(0, |below| below.components().count());
    let start = here.ancestors().nth(up).unwrap_or(Path::new("/"));
    start.join(path.strip_prefix(common).unwrap_or(path))
}

/// Provides a `Cargo.lock` for each workspace whose commit has none, so that both sides
/// have the same dependencies unless their commits differ in them: the user's, else the
/// other side's, else the one that was resolved for this repository before, else a new one of the base.
fn provide_lock_files(
    context: &mut PrepareContext<'_>,
    manifests: &Manifests,
    user_root: &Path,
    configs: &[PathBuf],
    toolchain: &Option<String>,
) -> Result<(), Error> {
    let head = &manifests.head.root;
    let base = manifests.base.as_ref().ok().map(|workspace| &workspace.root);
    let roots = Pair { base, head: Some(head) };
    let mut locks = Pair::default();
    let mut lacking = Vec::new();
    for side in Side::BOTH {
        let Some(root) = roots[side] else { continue };
        locks[side] = lock_file(root)?;
        if locks[side].is_none() {
            lacking.push(root.join("Cargo.lock"));
        }
    }
    if !lacking.is_empty() {
        for path in lacking.iter().filter(|path| path.is_symlink()) {
            // A dangling link must not lead out of the worktree.
            remove(path)?;
        }
        let content = match lock_file(user_root)?.or(locks.head).or(locks.base) {
            Some(content) => content,
            None => newly_resolved(context, roots, configs, toolchain.as_deref())?.into_bytes(),
        };
        for path in &lacking {
            fs_err::write(path, &content).map_err(Error::io("write", path))?;
        }
        if let Ok(base) = &manifests.base {
            let required = Pair { base, head: &manifests.head }.map(required_versions);
            if required.base != required.head {
                let roots = lacking.iter().filter_map(|path| path.parent());
                fit_lock_files(context, roots, configs, toolchain.as_deref())?;
                let libraries = required_differently(&required);
                if !libraries.is_empty() {
                    context.notice(Notice::OneLock { libraries });
                }
            }
        }
    }
    Ok(())
}

/// A lock file for both sides, whose workspaces are at these roots. It is resolved for the base if
/// there is one, since cargo then changes what does not fit the head, such as a version that the
/// head alone requires. In the reverse order, the base would get that, too.
fn newly_resolved(
    context: &PrepareContext<'_>,
    roots: Pair<Option<&PathBuf>>,
    configs: &[PathBuf],
    toolchain: Option<&str>,
) -> Result<String, Error> {
    let of = |side| {
        roots[side].map(|root| resolved_lock_file(context, (side, root), configs, toolchain))
    };
    let of_head = || of(Side::Head).transpose().map(Option::unwrap_or_default);
    of(Side::Base).and_then(Result::ok).map_or_else(of_head, Ok)
}

/// Lets cargo change in the lock files of these workspaces what does not fit their manifests. It
/// would do so when it builds, but what is built already needs no cargo, and its runs may read the
/// file. What fails here is reported by the build.
fn fit_lock_files<'r>(
    context: &PrepareContext<'_>,
    roots: impl Iterator<Item = &'r Path>,
    configs: &[PathBuf],
    toolchain: Option<&str>,
) -> Result<(), Error> {
    let tools = &context.tools;
    for root in roots {
        let args = cargo::fit_lock_args(configs);
        let _ = tools.output(tools.command("cargo", args, root, toolchain));
        tools.interrupt.check()?;
    }
    Ok(())
}

/// The libraries that a workspace needs, with the versions that its packages require.
type RequiredVersions<'w> = BTreeMap<&'w str, BTreeSet<&'w str>>;

fn required_versions(workspace: &Workspace) -> RequiredVersions<'_> {
    let mut required = RequiredVersions::new();
    for (name, versions) in workspace.packages.iter().flat_map(|of| &of.requirements) {
        required.entry(name).or_default().insert(versions);
    }
    required
}

/// The libraries that both sides need, but in other versions.
fn required_differently(required: &Pair<RequiredVersions<'_>>) -> Vec<String> {
    let differs =
        |(name, versions): &(&&str, _)| required.base.get(*name).is_some_and(|of| of != *versions);
    required.head.iter().filter(differs).map(|(name, _)| (*name).to_owned()).collect()
}

fn lock_file(root: &Path) -> Result<Option<Vec<u8>>, FileError> {
    let path = root.join("Cargo.lock");
    unless_damaged(std::fs::read(&path), &path)
}

/// The lock file that was resolved before for the workspace of a side at `root`, else a new one.
fn resolved_lock_file(
    context: &PrepareContext<'_>,
    (side, root): (Side, &Path),
    configs: &[PathBuf],
    toolchain: Option<&str>,
) -> Result<String, Error> {
    let tree = context.cache.worktree(side);
    let (tools, inside) = (&context.tools, root.strip_prefix(tree).unwrap_or(Path::new("")));
    // What chooses other versions: these settings, and a compiler that some do not support.
    let configuration = Configuration::read([root], configs, &tools.env)?.text();
    let versions = versions(context, root, toolchain)?;
    let resolver = of_resolver(&tools.env);
    let name =
        &digest(format!("{inside:?} {resolver} {configuration} {versions:?}").as_bytes())[..8];
    // A record, since cargo would complete half a lock file with the newest versions.
    let stored = context.cache.file(&format!("resolved-{name}"));
    if let Some(known) = read_record(&stored)? {
        return Ok(known);
    }
    tools.output(tools.command("cargo", cargo::lock_args(configs), root, toolchain))?;
    let made = root.join("Cargo.lock");
    let content = fs_err::read_to_string(&made).map_err(Error::io("read", &made))?;
    write_record(&stored, &content)?;
    Ok(content)
}

/// The toolchain that rustup should use for each side; `None` for the side's own.
fn toolchains(
    context: &PrepareContext<'_>,
    toolchain: Toolchain,
    folders: &Pair<PathBuf>,
    has_base: bool,
) -> Result<Pair<Option<String>>, Error> {
    let one = match toolchain {
        Toolchain::Each if has_base => return Ok(Pair::default()),
        Toolchain::Of(side) if has_base => active_toolchain(context, &folders[side])?,
        Toolchain::Each | Toolchain::Of(_) => active_toolchain(context, &folders.head)?,
        Toolchain::Named(name) => Some(name),
    };
    Ok(Pair::both(|_| one.clone()))
}

/// The toolchain that rustup uses in a folder. Without rustup, there is only one
/// toolchain.
fn active_toolchain(context: &PrepareContext<'_>, folder: &Path) -> Result<Option<String>, Error> {
    let command = context.tools.command("rustup", ["show", "active-toolchain"], folder, None);
    let Ok(ran) = context.tools.capture(command) else { return Ok(None) };
    context.tools.interrupt.check()?;
    if !ran.exit.success() && diagnose::is_fault_of_machine(ran.exit, &ran.stderr) {
        return Err(ran.failed().into());
    }
    let name = ran.stdout.split_whitespace().next().filter(|_| ran.exit.success());
    Ok(name.map(str::to_owned))
}

/// The output of `rustc -vV` and that of `cargo -V` in a worktree.
fn versions(
    context: &PrepareContext<'_>,
    tree: &Path,
    toolchain: Option<&str>,
) -> Result<(String, String), Error> {
    // With `-v`, it also names the system, if it can find that out.
    let cargo = context.tools.command("cargo", ["-V"], tree, toolchain);
    Ok((rustc_version(context, tree, toolchain)?, context.tools.output(cargo)?))
}

/// The output of `rustc -vV` in a worktree. For a compiler that was built by hand,
/// also the sizes and times of its files, since it may be replaced by another one of
/// the same version.
fn rustc_version(
    context: &PrepareContext<'_>,
    tree: &Path,
    toolchain: Option<&str>,
) -> Result<String, Error> {
    let ask =
        |args: &[&str]| context.tools.output(context.tools.command("rustc", args, tree, toolchain));
    let version = ask(&["-vV"])?;
    if !version.contains("commit-hash: unknown") {
        return Ok(version);
    }
    let sysroot = ask(&["--print", "sysroot"])?;
    let mut lines = Vec::new();
    for folder in ["bin", "lib"].map(|name| Path::new(sysroot.trim()).join(name)) {
        for entry in std::fs::read_dir(&folder).into_iter().flatten().flatten() {
            if let Ok(about) = entry.metadata() {
                let name: OsString = entry.file_name();
                lines.push(format!("{name:?} {} {:?}", about.len(), about.modified().ok()));
            }
        }
    }
    lines.sort();
    Ok(version + &lines.join("\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn libraries_that_both_sides_require_in_other_versions_are_found() {
        let workspace = |required: &[(&str, &str)]| {
            let owned = |(name, versions): &(&str, &str)| ((*name).into(), (*versions).into());
            let requirements = required.iter().map(owned).collect();
            let packages = vec![Package { requirements, ..Package::default() }];
            Workspace { root: PathBuf::new(), packages, metadata: serde_json::Value::Null }
        };
        let base = workspace(&[("bytes", "^1"), ("hex", "^1"), ("hex", "^0.4"), ("old", "^1")]);
        let head = workspace(&[("bytes", "=1.10"), ("hex", "^0.4"), ("hex", "^1"), ("new", "^1")]);
        let required = Pair { base: &base, head: &head }.map(required_versions);
        assert_eq!(required_differently(&required), ["bytes"]);
    }
}
