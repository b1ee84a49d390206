//! Benchmarks that are arbitrary commands, and the build commands that produce
//! what they run.
//!
//! Build commands have a worktree of their own, `built` next to `tree`: what
//! they write there, including tracked files, does not affect other builds, and
//! the manifests in `tree` stay those of the commit. It is not known what a
//! build command reads, so its results are reused only if nothing that could
//! matter has changed, and every file is as the build left it; see
//! [`FolderRecord`]. Otherwise it is run again in a clean checkout.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use serde::{Deserialize, Serialize};

use super::build::{BuiltProgram, Runnable, is_fault_of_code};
use super::checkout::apply_filters;
use super::context::PrepareContext;
use super::diagnose::{self, Tool};
use super::environment::all_but_session;
use super::files::{remove, walk};
use super::folder_record::{FolderRecord, Restored, Strangers, is_git, outline};
use super::inputs::configuration::Configuration;
use super::inputs::toolchain::ToolchainFingerprint;
use super::inputs::traces::stored_output;
use super::relink::record::BUILD_SCRIPT;
use super::setup::SideSetup;
use super::target_folder::{is_incremental, is_later};
use crate::engine::event::Event;
use crate::error::Error;
use crate::exec::process::{Command, Exit, RunError, Sink};
use crate::exec::program::Program;
use crate::exec::system::digest;
use crate::model::side::Side;
use crate::settings::options::{Benchmark, Subject};
use crate::workspace::error::{Cause, WorkspaceError};
use crate::workspace::git::worktree::{Checkout, Store};

/// The subcommands of cargo that build, and that track their inputs.
const CARGO_BUILDS: [&str; 6] = ["b", "bench", "build", "rustc", "t", "test"];

/// The options of cargo that may come before a subcommand and have no value.
const CARGO_OPTIONS: [&str; 7] =
    ["--frozen", "--locked", "--offline", "--quiet", "--verbose", "-q", "-v"];

/// The folders of a target folder in which cargo keeps what it builds on: in its layout
/// since 1.99, `build` alone.
const CARGO_OWN: [&str; 2] = ["build", "deps"];

/// The folders in there to which programs are linked: in its layout since 1.99, `out`.
const LINKED: [&str; 2] = ["deps", "out"];

/// Variables in which a shell stores how and from where it called its last
/// command. They differ from call to call, so build commands do not get them.
const OF_SHELL: [&str; 4] = ["OLDPWD", "PWD", "SHLVL", "_"];

/// Everything on which the results of build commands depend, as far as known.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct BuiltFrom {
    /// The commit, or the tree of a dirty one, with what the worktree lacks, and a digest of
    /// the lock file.
    sources: String,
    /// A digest of the commands in their order, the environment, the compiler and whatever
    /// else affects builds.
    build: String,
}

/// The build that filled a worktree of build commands.
#[derive(Debug, Serialize, Deserialize)]
struct CommandsRun {
    from: BuiltFrom,
    /// Whether it only wrote cargo's lock file and target folder.
    wrote_as_cargo: bool,
}

type WorktreeRecord = FolderRecord<CommandsRun>;

/// The worktree in which a side's commands are run.
#[derive(Debug, Default)]
pub(super) struct CommandWorktree {
    root: PathBuf,
    own_folders: OwnFolders,
    /// The build commands that failed because of the code, and why.
    failed: BTreeMap<BuildCommand, String>,
}

/// Variables by which cargo builds each side in a folder of its own, where its configuration
/// names one that both would share: one side's program would take the place of the other's.
type OwnFolders = Vec<(&'static str, PathBuf)>;

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct BuildCommand {
    /// The package's folder, relative to the root of the worktree.
    folder: PathBuf,
    words: Vec<String>,
}

impl BuildCommand {
    /// That of the package in `folder`.
    fn new(setup: &SideSetup, folder: &Path, words: &[String]) -> Self {
        BuildCommand { folder: setup.inside(folder).to_owned(), words: words.to_vec() }
    }
}

impl CommandWorktree {
    /// What to run for a benchmark with the command `words`.
    pub(super) fn runnable(
        &self,
        context: &PrepareContext<'_>,
        setup: &SideSetup,
        benchmark: &Benchmark,
        words: &[String],
        build: Option<&[String]>,
    ) -> Runnable {
        let folder = match setup.package(&benchmark.package) {
            Ok(package) => &package.folder,
            Err(why) => return Runnable::Nothing { why },
        };
        let failure =
            build.and_then(|build| self.failed.get(&BuildCommand::new(setup, folder, build)));
        if let Some(why) = failure {
            return Runnable::Nothing { why: why.clone() };
        }
        let folder = self.root.join(setup.inside(folder));
        let mut command = command(context, setup, words, &folder, &self.own_folders);
        command.argv.extend(benchmark.args.iter().map(Into::into));
        let (identity, home) = (setup.identity.clone(), context.cache.side_folder(setup.side()));
        let relink = Err("its executable is not one that cargo built".to_owned());
        let program = Program {
            command,
            executable: None,
            executable_sha256: None,
            relink,
            identity,
            home,
            records: None,
            comparisons: None,
        };
        Runnable::Program(Box::new(BuiltProgram { program, artifact: None }))
    }
}

/// Prepares the worktree in which the commands among a side's benchmarks are run. If a
/// build command fails because of the base's code, the benchmarks that need it have no
/// baseline.
///
/// # Errors
/// [`WorkspaceError::Build`] if the head's code does not compile or lacks a command.
pub(super) fn prepare(
    context: &mut PrepareContext<'_>,
    toolchain: &mut ToolchainFingerprint,
    setup: &SideSetup,
    benchmarks: &[Benchmark],
) -> Result<CommandWorktree, Error> {
    let mut steps: Vec<(BuildCommand, &str)> = Vec::new();
    let mut folders = BTreeSet::new();
    for benchmark in benchmarks {
        let Subject::Command { build, .. } = &benchmark.subject else { continue };
        let Ok(package) = setup.package(&benchmark.package) else { continue };
        folders.insert(&*package.folder);
        let step = build.as_ref().map(|words| BuildCommand::new(setup, &package.folder, words));
        if let Some(step) = step.filter(|step| steps.iter().all(|(known, _)| known != step)) {
            steps.push((step, &benchmark.name));
        }
    }
    if folders.is_empty() {
        return Ok(CommandWorktree::default());
    }
    let configuration = Configuration::read(folders, &setup.configs, &context.tools.env)?;
    let side_folder = context.cache.side_folder(setup.side());
    let root = match steps.is_empty() {
        true => setup.worktree.path.clone(),
        false => context.cache.command_worktree(setup.side()),
    };
    let target = root.join(setup.root_inside()).join("target");
    let own_folders = own_folders(&configuration, &side_folder, &target, benchmarks)?;
    if steps.is_empty() {
        return Ok(CommandWorktree { root, own_folders, failed: BTreeMap::new() });
    }
    let fingerprint = toolchain.digest(&side_folder, &setup.rustc, &configuration)?;
    let env = all_but_session(&context.tools.env);
    let SideSetup { identity, lock, rustc, toolchain, .. } = setup;
    let configuration = configuration.text();
    let commands: Vec<_> = steps.iter().map(|(step, _)| step).collect();
    let build =
        format!("{commands:?}\n{env}\n{toolchain:?}\n{rustc}\n{fingerprint}\n{configuration}");
    let built_from =
        BuiltFrom { sources: format!("{identity} {lock}"), build: digest(build.as_bytes()) };
    let mut build = CommandBuild { context, setup, root, own_folders, steps };
    let failed = build.run(built_from)?;
    let CommandBuild { root, own_folders, .. } = build;
    Ok(CommandWorktree { root, own_folders, failed })
}

/// The variables for what cargo would build outside of the folder of the side.
///
/// # Errors
/// If a benchmark runs what is in such a folder.
fn own_folders(
    configuration: &Configuration,
    side_folder: &Path,
    target: &Path,
    benchmarks: &[Benchmark],
) -> Result<OwnFolders, Error> {
    let mut own = OwnFolders::new();
    for (variable, folder) in &configuration.build_folders {
        let text = folder.to_string_lossy();
        // These templates stand for the worktree.
        if folder.starts_with(side_folder) || text.contains("{workspace-") {
            continue;
        }
        let runs_it = |benchmark: &&Benchmark| match &benchmark.subject {
            Subject::Command { words, .. } => words.iter().any(|word| word.contains(&*text)),
            Subject::Target(..) => false,
        };
        if let Some(Benchmark { name, .. }) = benchmarks.iter().find(runs_it) {
            let (benchmark, folder) = (name.clone(), folder.clone());
            return Err(WorkspaceError::SharedFolder { benchmark, folder }.into());
        }
        own.push((variable, target.to_owned()));
    }
    Ok(own)
}

/// A run of a side's build commands, in their order.
struct CommandBuild<'a, 'b> {
    context: &'a mut PrepareContext<'b>,
    setup: &'a SideSetup,
    /// Their worktree.
    root: PathBuf,
    own_folders: OwnFolders,
    /// Each with the name of a benchmark that needs it.
    steps: Vec<(BuildCommand, &'a str)>,
}

impl CommandBuild<'_, '_> {
    /// Runs the commands, unless all of them were run there before with the same
    /// inputs, and nothing has changed since. Returns those that failed because of the
    /// base's code, and why.
    fn run(&mut self, built_from: BuiltFrom) -> Result<BTreeMap<BuildCommand, String>, Error> {
        let side = self.setup.side();
        let at = self.root.with_extension("record");
        let mut record = WorktreeRecord::read(&at)?;
        if let Some(record) = record.as_mut().filter(|record| record.filled_from.from == built_from)
            && self.root.is_dir()
        {
            let restored = self.restore(record, Path::new(""))?;
            if restored == Restored::Reread {
                record.write(&at)?;
            }
            if restored != Restored::Changed {
                for (_, name) in &self.steps {
                    self.context.event(Event::Fresh(side, name));
                }
                return Ok(BTreeMap::new());
            }
        }
        let keep = self.reusable_target_folder(record, &built_from)?;
        remove(&at)?;
        let workspace = self.setup.root_inside();
        self.clean(keep.as_slice())?;
        let before = outline(&self.root, workspace)?;
        let mut failed = BTreeMap::new();
        for (number, (step, name)) in self.steps.clone().into_iter().enumerate() {
            self.context.event(Event::Building(side, name));
            match self.run_step(number, &failed) {
                Err(error) if side == Side::Base && is_fault_of_code(&error) => {
                    failed.insert(step, error.to_string());
                }
                ran => ran?,
            }
        }
        if failed.is_empty() {
            let wrote_as_cargo = before == outline(&self.root, workspace)?;
            let commands = CommandsRun { from: built_from, wrote_as_cargo };
            let check = || Ok::<_, Error>(self.context.tools.interrupt.check()?);
            FolderRecord::new(commands, &self.root, is_git, check)?.write(&at)?;
        }
        Ok(failed)
    }

    fn restore(&self, record: &mut WorktreeRecord, folder: &Path) -> Result<Restored, Error> {
        let check = || Ok::<_, Error>(self.context.tools.interrupt.check()?);
        record.restore(&self.root, folder, is_git, Strangers::Remove, check)
    }

    /// Restores the worktree to the state of the commit, as the side's other worktree was
    /// before any build, except for the folders `keep`.
    fn clean(&mut self, keep: &[PathBuf]) -> Result<(), Error> {
        let (side, root) = (self.setup.side(), &self.root);
        let revision = &self.setup.worktree.revision;
        let store = Store::open(&self.context.cache.git(), &self.context.repo)?;
        let checkout = |keep| Checkout { side, path: root, revision, keep };
        let check_out = |keep| store.check_out(&self.context.repo, &checkout(keep));
        let checked_out = self.context.tools.interrupt.bound(|| check_out(keep));
        if checked_out.is_err() {
            // It may be damaged. (The other worktrees were checked out a moment ago.)
            remove(root)?;
            self.context.tools.interrupt.bound(|| check_out(&[]))?;
        }
        apply_filters(self.context, &store, side, root, revision)?;
        let lock = self.setup.root_inside().join("Cargo.lock");
        let (from, to) = (self.setup.worktree.path.join(&lock), root.join(&lock));
        if from.is_file() && !to.exists() {
            remove(&to)?;
            fs_err::copy(&from, &to).map_err(Error::io("copy", &from))?;
        }
        Ok(())
    }

    fn command(&self, step: &BuildCommand) -> Command {
        let folder = self.root.join(&step.folder);
        let mut command =
            command(self.context, self.setup, &step.words, &folder, &self.own_folders);
        command.env.retain(|(name, _)| OF_SHELL.iter().all(|of_shell| name != of_shell));
        command
    }

    /// Runs build command `number`. If it fails, everything is repeated from a clean
    /// checkout, including the previous ones that have not failed, to find out why: an
    /// incomplete build may break the next one.
    fn run_step(
        &mut self,
        number: usize,
        failed: &BTreeMap<BuildCommand, String>,
    ) -> Result<(), Error> {
        let side = self.setup.side();
        let command = self.command(&self.steps[number].0);
        let shown = command.shown();
        let exit = match self.context.tools.stream(command.clone(), Sink::Stderr) {
            Err(error) if lacks(&self.root, &command, &error) => {
                let exit = Exit::Code(127);
                return Err(WorkspaceError::Build { side, command: shown, exit }.into());
            }
            exit => exit?,
        };
        if exit.success() {
            return Ok(());
        }
        self.context.event(Event::Diagnosing(side));
        self.clean(&[])?;
        let done = self.steps[..number].iter().map(|(step, _)| step);
        for step in done.filter(|step| !failed.contains_key(*step)) {
            let command = self.command(step);
            let shown = command.shown();
            let exit = self.context.tools.stream(command, Sink::Stderr)?;
            if !exit.success() {
                let source = Cause::of("it succeeded a moment ago".to_owned());
                return Err(WorkspaceError::Unbuilt { side, command: shown, exit, source }.into());
            }
        }
        let tools = &self.context.tools;
        diagnose::run_again(tools, shown, command, Tool::BuildCommand, side, &self.root).map(drop)
    }

    /// The folder of an earlier build with which a new one may begin: cargo's own target
    /// folder, if nothing but cargo was run, in the same environment, and if the folder
    /// has exactly what cargo left in it. Cargo detects what is out of date, but not that
    /// a file is missing that a build script wrote elsewhere. The programs in it are
    /// removed, since one that the commit no longer builds would still be run.
    fn reusable_target_folder(
        &self,
        record: Option<WorktreeRecord>,
        built_from: &BuiltFrom,
    ) -> Result<Option<PathBuf>, Error> {
        let is_cargos = self.steps.iter().all(|(step, _)| builds_with_cargo(&step.words));
        let fits = |record: &WorktreeRecord| {
            let CommandsRun { from, wrote_as_cargo } = &record.filled_from;
            *wrote_as_cargo && from.build == built_from.build
        };
        let Some(mut record) = record.filter(|record| is_cargos && fits(record)) else {
            return Ok(None);
        };
        let target = self.setup.root_inside().join("target");
        let full = self.root.join(&target);
        let is_folder = full.symlink_metadata().is_ok_and(|about| about.is_dir());
        // Cargo compares times.
        if !is_folder || is_later(&full, SystemTime::now())? {
            return Ok(None);
        }
        if self.restore(&mut record, &target)? == Restored::Changed {
            return Ok(None);
        }
        remove_programs(&full)?;
        Ok(Some(target))
    }
}

/// A command of the user, run in a folder.
fn command(
    context: &PrepareContext<'_>,
    setup: &SideSetup,
    words: &[String],
    folder: &Path,
    own_folders: &OwnFolders,
) -> Command {
    let (program, args) = words.split_first().map_or(("", &[][..]), |(p, a)| (p.as_str(), a));
    let mut command = context.tools.command(program, args, folder, setup.toolchain.as_deref());
    for (variable, folder) in own_folders {
        command.set_var(variable, folder);
    }
    command
}

/// Whether a command could not be started because it is a missing file of the
/// worktree.
fn lacks(worktree: &Path, command: &Command, error: &Error) -> bool {
    let Some(RunError::Spawn { source, .. }) = error.as_kind() else { return false };
    let program = command.argv.first().map(|program| command.cwd.join(program));
    let is_named = command.argv.first().is_some_and(|p| p.as_encoded_bytes().contains(&b'/'));
    source.kind() == std::io::ErrorKind::NotFound
        && is_named
        && program.is_some_and(|program| program.starts_with(worktree) && !program.exists())
}

/// Whether a command is a build by cargo itself.
fn builds_with_cargo(words: &[String]) -> bool {
    let mut words = words.iter().map(String::as_str);
    let is_cargo = words.next() == Some("cargo");
    let mut words = words.skip_while(|word| word.starts_with('+') || CARGO_OPTIONS.contains(word));
    is_cargo && words.next().is_some_and(|word| CARGO_BUILDS.contains(&word))
}

/// Removes everything from a target folder except cargo's own state. From the folders of
/// compiled crates, it only removes the programs, except for build scripts.
fn remove_programs(folder: &Path) -> Result<(), Error> {
    let is_kept = |path: &Path| {
        let is_out_dir = path.ends_with("out") && stored_output(&folder.join(path)).is_some();
        path.ends_with(".fingerprint") || is_incremental(path) || is_out_dir
    };
    for (path, about) in walk(folder, is_kept)? {
        let is_cargos = path.iter().any(|part| CARGO_OWN.iter().any(|own| part == *own));
        let is_in = |name: &&str| path.parent().is_some_and(|parent| parent.ends_with(name));
        let name = path.file_name().unwrap_or_default().to_string_lossy().replace('-', "_");
        let is_program = LINKED.iter().any(is_in)
            && path.extension().is_none_or(|extension| extension == "exe")
            && !name.starts_with(BUILD_SCRIPT);
        if !about.is_dir() && (!is_cargos || is_program) {
            remove(&folder.join(path))?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cargo_is_known_by_its_name_and_its_subcommand() {
        let builds =
            |text: &str| builds_with_cargo(&text.split(' ').map(str::to_owned).collect::<Vec<_>>());
        for text in ["cargo build", "cargo +nightly --locked b --release", "cargo bench --no-run"] {
            assert!(builds(text), "{text}");
        }
        for text in ["cargo", "cargo run", "cargo xtask build", "make build", "sh -c build"] {
            assert!(!builds(text), "{text}");
        }
        // Its value could be mistaken for the subcommand.
        assert!(!builds("cargo --config build run"));
    }

    #[test]
    fn of_a_target_folder_stays_what_cargo_builds_on() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        let files = [
            "release/.fingerprint/a-1/a",
            "release/build/a-1/build-script-build",
            "release/build/a-2/out/tool",
            "release/build/a-2/output",
            "release/deps/liba-1.rlib",
            "release/deps/libmacros-1.so",
            "release/incremental/a-1/part",
            "x/release/deps/liba-1.rmeta",
            // Since 1.99.
            "release/build/a/1/fingerprint/bin-app",
            "release/build/a/1/out/app.d",
            "release/build/a/2/out/build_script_build",
            "release/build/a/2/out/build-script-build",
            "release/build/a/3/out/tools/deps/tool",
            "release/build/a/3/run/stdout",
            "release/build/a/4/out/liba-4.rlib",
            "x/release/build/deps/1/out/libdeps-1.rlib",
        ];
        let programs = ["release/app", "release/examples/one", "x/release/app", "tmp/left"];
        let linked = [
            "release/deps/app-1",
            "release/deps/app-1.exe",
            "CACHEDIR.TAG",
            "release/build/a/1/out/app",
            "x/release/build/out/1/out/b-1",
            "x/release/build/incremental/1/out/b-1",
        ];
        for name in files.iter().chain(&programs).chain(&linked) {
            crate::exec::system::write(&root.join(name), "");
        }
        remove_programs(root).unwrap();
        for name in files {
            assert!(root.join(name).exists(), "{name}");
        }
        for name in programs.iter().chain(&linked) {
            assert!(!root.join(name).exists(), "{name}");
        }
    }
}
