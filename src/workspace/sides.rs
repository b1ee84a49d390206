//! Builds both sides of every benchmark.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use super::build::{Builder, Checkout, Group, label, spec};
use super::command::Place;
use super::{Prepared, Program, State, Work, Workspaces, configuration, identical, lockfile};
use crate::error::{Error, Kind};
use crate::exec::process::Command;
use crate::model::notice::Notice;
use crate::model::side::{Pair, Side};
use crate::model::target::{BuildOptions, Package, Target};
use crate::settings::options::{Benchmark, Subject};
use crate::workspace::cache::Artifact;
use crate::workspace::cargo::{self, Workspace};
use crate::workspace::git::Revision;
use crate::workspace::git::base::Sides;
use crate::workspace::git::worktree::Store;

/// The artifacts of one side, by the way they were built; the reason where
/// there is none.
pub(super) type Artifacts = BTreeMap<BuildOptions, Result<Artifact, String>>;

impl Work<'_, '_> {
    /// Builds all, and says how each benchmark stands and with which compiler
    /// the head was built.
    pub(super) fn build_sides(
        &mut self,
        sides: &Sides,
        benchmarks: &[Benchmark],
        workspaces: &Workspaces,
        toolchains: &Pair<Option<String>>,
    ) -> Result<(Vec<Prepared>, String), Error> {
        let checkouts = self.checkouts(sides, workspaces, toolchains)?;
        let mut artifacts: Pair<Artifacts> = Pair::default();
        for side in Side::BOTH {
            let workspace = workspaces.of(side);
            artifacts[side] = self.build_side(&checkouts[side], benchmarks, workspace)?;
        }
        let mut places = None;
        let mut prepared = Vec::new();
        for benchmark in benchmarks {
            let state = match &benchmark.subject {
                Subject::Target(target, build) => {
                    let artifacts = artifacts.as_ref().map(|all| all.get(build));
                    self.state_of_target(benchmark, (target, build), artifacts, workspaces)?
                }
                Subject::Command { .. }
                    if !self.must_run() && sides.base.tree == sides.head.tree =>
                {
                    State::Identical
                }
                Subject::Command { words, build } => {
                    let places = match &mut places {
                        Some(places) => places,
                        none => none.insert(Pair::try_both(|side| {
                            let (at, workspace) = (&checkouts[side], workspaces.of(side));
                            self.place(at, sides.of(side), benchmarks, workspace)
                        })?),
                    };
                    let words = (words.as_slice(), build.as_deref());
                    self.state_of_command(benchmark, words, workspaces, &checkouts, places)?
                }
            };
            if matches!(state, State::Identical) {
                self.notice(Notice::Identical { benchmark: benchmark.name.clone() });
            }
            prepared.push(Prepared { benchmark: benchmark.clone(), state });
        }
        if prepared.iter().any(|prepared| matches!(prepared.state, State::Identical)) {
            self.other_files(sides)?;
        }
        let keep = artifacts.as_ref().map(|all| all.values().flatten().map(Artifact::name));
        let keep: Vec<String> = keep.base.chain(keep.head).collect();
        self.room.prune(&keep);
        let rustc = checkouts.head.rustc.lines().next().unwrap_or_default().to_owned();
        Ok((prepared, rustc))
    }

    /// What shapes the builds of each side.
    fn checkouts(
        &self,
        sides: &Sides,
        workspaces: &Workspaces,
        toolchains: &Pair<Option<String>>,
    ) -> Result<Pair<Checkout>, Error> {
        let roots = Pair {
            base: workspaces.base.as_ref().ok().map(|workspace| workspace.root.clone()),
            head: Some(workspaces.head.root.clone()),
        };
        let toolchain = toolchains.head.as_deref();
        let env = &self.tools.env;
        let configs = configuration::outer_configs(self.repo.root(), self.room.path(), env);
        let user_root = &workspaces.user_root;
        let locks =
            lockfile::provide(&self.tools, &self.room, &roots, user_root, &configs, toolchain)?;
        Pair::try_both(|side| {
            let toolchain = toolchains[side].clone();
            let (revision, lock) = (sides.of(side), locks[side].clone());
            let workspace = roots[side].clone().unwrap_or_else(|| self.room.tree(side));
            let at = (workspace, configs.clone());
            let mut checkout = self.checkout(side, revision, toolchain, lock, at)?;
            if let Some((_, contents)) = workspaces.overlaid.iter().find(|(at, _)| *at == side) {
                checkout.identity = format!("{} with benchmarks {contents}", checkout.identity);
            }
            Ok::<_, Error>(checkout)
        })
    }

    /// What shapes the builds of a side.
    pub(super) fn checkout(
        &self,
        side: Side,
        revision: &Revision,
        toolchain: Option<String>,
        lock: String,
        (workspace, configs): (PathBuf, Vec<PathBuf>),
    ) -> Result<Checkout, Error> {
        let tree = self.room.tree(side);
        let rustc = self.tools.command("rustc", vec!["-vV".into()], &tree, toolchain.as_deref());
        let mut rustc = self.tools.output(rustc)?;
        if rustc.contains("commit-hash: unknown") {
            rustc.push_str(&self.compiler_files(&tree, toolchain.as_deref())?);
        }
        let mut identity = match revision.dirty {
            true => format!("{}+{}", revision.commit, revision.tree),
            false => revision.commit.clone(),
        };
        if !self.lacking[side].is_empty() {
            identity = format!("{identity} without {}", self.lacking[side]);
        }
        Ok(Checkout { side, identity, toolchain, rustc, lock, configs, workspace })
    }

    /// The compiler's own files, by size and time: a compiler that was built by
    /// hand may be replaced by another one of the same version.
    fn compiler_files(&self, tree: &Path, toolchain: Option<&str>) -> Result<String, Error> {
        let args = ["--print", "sysroot"].map(OsString::from).to_vec();
        let sysroot = self.tools.output(self.tools.command("rustc", args, tree, toolchain))?;
        let mut lines = Vec::new();
        for folder in ["bin", "lib"].map(|name| Path::new(sysroot.trim()).join(name)) {
            for entry in std::fs::read_dir(&folder).into_iter().flatten().flatten() {
                if let Ok(about) = entry.metadata() {
                    let name = entry.file_name();
                    lines.push(format!("{name:?} {} {:?}", about.len(), about.modified().ok()));
                }
            }
        }
        lines.sort();
        Ok(lines.join("\n"))
    }

    /// Builds every target of one side, those that are built alike together.
    pub(super) fn build_side(
        &mut self,
        at: &Checkout,
        benchmarks: &[Benchmark],
        workspace: Result<&Workspace, &Error>,
    ) -> Result<Artifacts, Error> {
        let mut groups: BTreeMap<BuildOptions, Group> = BTreeMap::new();
        for benchmark in benchmarks {
            let Subject::Target(target, build) = &benchmark.subject else {
                continue;
            };
            let Ok(folder) = has(workspace, benchmark, target) else {
                continue;
            };
            let new = || Group { build: build.clone(), wanted: Vec::new() };
            let group = groups.entry(build.clone()).or_insert_with(new);
            let wanted = (folder, target.clone());
            if !group.wanted.contains(&wanted) {
                group.wanted.push(wanted);
            }
        }
        let mut artifacts = Artifacts::new();
        for (build, group) in groups {
            let mut builder = Builder {
                tools: &self.tools,
                room: &self.room,
                capture: &self.request.capture,
                programs: &mut self.programs,
                tell: self.tell,
            };
            let artifact = match builder.artifact(at, &group) {
                Ok(artifact) => Ok(artifact),
                Err(error) if at.side == Side::Base && is_the_codes(&error) => {
                    Err(error.to_string())
                }
                Err(error) => return Err(error),
            };
            artifacts.insert(build, artifact);
        }
        Ok(artifacts)
    }

    fn state_of_target(
        &mut self,
        benchmark: &Benchmark,
        (target, build): (&Target, &BuildOptions),
        artifacts: Pair<Option<&Result<Artifact, String>>>,
        workspaces: &Workspaces,
    ) -> Result<State, Error> {
        let why = match (has(workspaces.of(Side::Base), benchmark, target), artifacts.base) {
            (Err(why), _) => Some(why),
            (Ok(_), Some(Err(why))) => Some(why.clone()),
            (Ok(_), _) => None,
        };
        let (Some(Ok(base)), Some(Ok(head)), None) = (artifacts.base, artifacts.head, &why) else {
            let why = why.unwrap_or_default();
            self.notice(Notice::NoBaseline { benchmark: benchmark.name.clone(), why });
            return Ok(State::NoBaseline);
        };
        let of_side = |side: Side| {
            let artifact = if side == Side::Base { base } else { head };
            let folder = has(workspaces.of(side), benchmark, target).unwrap_or_default();
            self.run_of(benchmark, target, build, side, artifact, folder)
        };
        let programs = Pair { base: of_side(Side::Base)?, head: of_side(Side::Head)? };
        let folders = Pair::both(|side| self.room.side(side));
        if !self.must_run()
            && identical::same_run(&programs.base.command, &programs.head.command, &folders)
            && identical::identical(base, &folders.base, head, &folders.head)?
        {
            return Ok(State::Identical);
        }
        Ok(State::Ready(Box::new(programs)))
    }

    /// The command that runs an executable as cargo would.
    pub(super) fn run_of(
        &self,
        benchmark: &Benchmark,
        target: &Target,
        build: &BuildOptions,
        side: Side,
        artifact: &Artifact,
        folder: PathBuf,
    ) -> Result<Program, Error> {
        let executable = artifact.executable(&label(&folder, &self.room.tree(side), target));
        let executable =
            executable.ok_or_else(|| cargo::Error::NoExecutable(target.to_string()))?;
        let invocation = &executable.invocation;
        let mut argv: Vec<_> = invocation.before.iter().map(Into::into).collect();
        let path = self.room.target(side, &spec(build)).join(&executable.path);
        argv.push(path.clone().into());
        argv.extend(benchmark.args.iter().chain(&invocation.after).map(Into::into));
        let env = self.tools.env.clone();
        let mut command = Command { argv, env, cwd: folder, ..Command::default() };
        for (name, value) in &invocation.env {
            command.set_var(name, value);
        }
        Ok(Program {
            command,
            executable: Some(path),
            identity: artifact.name(),
            home: self.room.side(side),
        })
    }

    fn state_of_command(
        &mut self,
        benchmark: &Benchmark,
        (words, build): (&[String], Option<&[String]>),
        workspaces: &Workspaces,
        checkouts: &Pair<Checkout>,
        places: &Pair<Place>,
    ) -> Result<State, Error> {
        let of_side = |side: Side| {
            let folder = &package(workspaces.of(side), &benchmark.package)?.folder;
            let (at, place) = (&checkouts[side], &places[side]);
            let failure =
                build.and_then(|build| place.failure(&self.room.tree(side), folder, build));
            match failure {
                Some(why) => Err(why.to_owned()),
                None => Ok(self.command_of(benchmark, words, at, place, folder)),
            }
        };
        match (of_side(Side::Base), of_side(Side::Head)) {
            (Ok(base), Ok(head)) => Ok(State::Ready(Box::new(Pair { base, head }))),
            (Err(why), _) | (_, Err(why)) => {
                self.notice(Notice::NoBaseline { benchmark: benchmark.name.clone(), why });
                Ok(State::NoBaseline)
            }
        }
    }

    /// Whether there is something to measure although both sides are the same.
    fn must_run(&self) -> bool {
        self.request.aa || self.request.always_run
    }

    /// Names the files that differ between the sides: an unchanged program may
    /// read any of them when it runs.
    fn other_files(&mut self, sides: &Sides) -> Result<(), Error> {
        let store = Store::open(&self.room.git(), &self.repo)?;
        let files = store.changed_paths(&sides.base, &sides.head)?;
        if !files.is_empty() {
            self.notice(Notice::OtherFiles { files });
        }
        Ok(())
    }
}

/// Whether the code is why there is no build. Of a base that is no error:
/// there is nothing to compare with. All else is.
pub(super) fn is_the_codes(error: &Error) -> bool {
    matches!(error.kind(), Kind::Build { .. })
}

/// The package folder of a benchmark's target in a workspace, or why there is
/// none.
pub(super) fn has(
    workspace: Result<&Workspace, &Error>,
    benchmark: &Benchmark,
    target: &Target,
) -> Result<PathBuf, String> {
    let package = package(workspace, &benchmark.package)?;
    if package.targets.contains(target) {
        return Ok(package.folder.clone());
    }
    Err(format!("its package `{}` has no {target}", package.name))
}

/// The package of a name in a workspace, or why there is none.
pub(super) fn package<'a>(
    workspace: Result<&'a Workspace, &Error>,
    name: &str,
) -> Result<&'a Package, String> {
    let found = workspace.map_err(why)?.package(name);
    found.ok_or_else(|| format!("its workspace has no package `{name}`"))
}

fn why(error: &Error) -> String {
    let output = error.child_output();
    match output.and_then(|text| text.lines().find(|line| line.starts_with("error"))) {
        Some(line) => format!("{error}: {line}"),
        None => error.to_string(),
    }
}
