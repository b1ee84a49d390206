//! Benchmarks that are arbitrary commands, and the build commands that produce
//! what they run.
//!
//! Build commands have a worktree of their own, `built` next to `tree`: what
//! they write there, including tracked files, does not affect other builds, and
//! the manifests in `tree` stay those of the commit. It is not known what a
//! build command reads, so its results are reused only if nothing that could
//! matter has changed, and every file is as the build left it; see
//! [`RecordedFolder`]. Otherwise it is run again in a clean checkout.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use super::build::{BuiltProgram, Runnable, is_fault_of_code};
use super::checkout::apply_filters;
use super::context::PrepareContext;
use super::diagnose::{self, Tool};
use super::environment::all_but_session;
use super::files::remove;
use super::folder_record::{RecordedFolder, Strangers, is_git};
use super::inputs::configuration::Configuration;
use super::inputs::toolchain::ToolchainFingerprint;
use super::setup::sides::SideSetup;
use crate::engine::event::Event;
use crate::error::{Error, Failure};
use crate::exec::process::{Command, Exit, RunError, Sink};
use crate::exec::program::Program;
use crate::exec::system::digest;
use crate::model::side::Side;
use crate::settings::options::{Benchmark, Subject};
use crate::workspace::error::WorkspaceError;
use crate::workspace::git::store::Checkout;

/// Variables in which a shell stores how and from where it called its last
/// command. They differ from call to call, so build commands do not get them.
const OF_SHELL: [&str; 4] = ["OLDPWD", "PWD", "SHLVL", "_"];

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
        let folder = &setup.package(&benchmark.package)?.folder;
        let failure =
            build.and_then(|build| self.failed.get(&BuildCommand::new(setup, folder, build)));
        failure.map_or(Ok(()), |why| Err(why.clone()))?;
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
        Ok(Box::new(BuiltProgram { program, artifact: None }))
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
    let worktree = CommandWorktree { root, own_folders, failed: BTreeMap::new() };
    if steps.is_empty() {
        return Ok(worktree);
    }
    let fingerprint = toolchain.digest(&side_folder, &setup.versions(), &configuration)?;
    let env = all_but_session(&context.tools.env);
    let SideSetup { identity, lock, toolchain, .. } = setup;
    let configuration = configuration.text();
    let commands: Vec<_> = steps.iter().map(|(step, _)| step).collect();
    // All on which the results depend, as far as known.
    let built_from = format!(
        "{identity} {lock}\n{commands:?}\n{env}\n{toolchain:?}\n{fingerprint}\n{configuration}"
    );
    let mut build = CommandBuild { context, setup, worktree, steps };
    build.run(&digest(built_from.as_bytes()))?;
    Ok(build.worktree)
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
            let what = format!(
                "`{name}` runs what is in `{}`, which cargo would build for both sides in the same \
                 place",
                folder.display()
            );
            let step = "each side is built in `target` of its own worktree instead: name the \
                program relative to the package's folder, as in `target/release/NAME`";
            return Err(Failure::new(what, step).into());
        }
        own.push((variable, target.to_owned()));
    }
    Ok(own)
}

/// A run of a side's build commands, in their order.
struct CommandBuild<'a, 'b> {
    context: &'a mut PrepareContext<'b>,
    setup: &'a SideSetup,
    worktree: CommandWorktree,
    /// Each with the name of a benchmark that needs it.
    steps: Vec<(BuildCommand, &'a str)>,
}

impl CommandBuild<'_, '_> {
    /// Runs the commands, unless all of them were run there before with the same
    /// inputs, and nothing has changed since. Notes those that failed because of the base's code.
    fn run(&mut self, built_from: &str) -> Result<(), Error> {
        let (side, root) = (self.setup.side(), self.worktree.root.clone());
        let record = root.with_extension("record");
        let (is_skipped, strangers) = (&is_git, Strangers::Remove);
        let folder = RecordedFolder { root: &root, record: &record, is_skipped, strangers };
        let interrupt = self.context.tools.interrupt;
        let check = || Ok::<_, Error>(interrupt.check()?);
        if root.is_dir() && folder.restore(built_from, check)? == Some(true) {
            for (_, name) in &self.steps {
                self.context.event(Event::Fresh(side, name));
            }
            return Ok(());
        }
        remove(&record)?;
        self.clean()?;
        for (number, (step, name)) in self.steps.clone().into_iter().enumerate() {
            self.context.event(Event::Building(side, name));
            match self.run_step(number) {
                Err(error) if side == Side::Base && is_fault_of_code(&error) => {
                    self.worktree.failed.insert(step, error.to_string());
                }
                ran => ran?,
            }
        }
        if self.worktree.failed.is_empty() {
            folder.write(built_from, check)?;
        }
        Ok(())
    }

    /// Restores the worktree to the state of the commit, as the side's other worktree was
    /// before any build.
    fn clean(&mut self) -> Result<(), Error> {
        let (side, root) = (self.setup.side(), &self.worktree.root);
        let revision = &self.setup.worktree.revision;
        let store = self.context.store()?;
        let checkout = Checkout::new(side, root, revision);
        let check_out = || store.check_out(&self.context.repo.inner, &checkout);
        if self.context.tools.interrupt.bound(check_out).is_err() {
            // It may be damaged. (The other worktrees were checked out a moment ago.)
            remove(root)?;
            self.context.tools.interrupt.bound(check_out)?;
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
        let CommandWorktree { root, own_folders, .. } = &self.worktree;
        let folder = root.join(&step.folder);
        let mut command = command(self.context, self.setup, &step.words, &folder, own_folders);
        command.env.retain(|(name, _)| OF_SHELL.iter().all(|of_shell| name != of_shell));
        command
    }

    /// Runs build command `number`. If it fails, everything is repeated from a clean
    /// checkout, including the previous ones that have not failed, to find out why: an
    /// incomplete build may break the next one.
    fn run_step(&mut self, number: usize) -> Result<(), Error> {
        let side = self.setup.side();
        let command = self.command(&self.steps[number].0);
        let shown = command.shown();
        let exit = match self.context.tools.stream(command.clone(), Sink::Stderr) {
            Err(error) if lacks(&self.worktree.root, &command, &error) => {
                let exit = Exit::Code(127);
                let command = shown;
                return Err(WorkspaceError::Build { side, command, exit, source: None }.into());
            }
            exit => exit?,
        };
        if exit.success() {
            return Ok(());
        }
        self.context.event(Event::Diagnosing(side));
        self.clean()?;
        let done = self.steps[..number].iter().map(|(step, _)| step);
        for step in done.filter(|step| !self.worktree.failed.contains_key(*step)) {
            let command = self.command(step);
            let shown = command.shown();
            let exit = self.context.tools.stream(command, Sink::Stderr)?;
            if !exit.success() {
                let why = "it succeeded a moment ago".to_owned();
                return Err(WorkspaceError::unbuilt(side, shown, exit, why).into());
            }
        }
        let tools = &self.context.tools;
        let (worktree, tree) = (&self.setup.worktree, &self.worktree.root);
        diagnose::run_again(tools, shown, command, Tool::BuildCommand, worktree, tree).map(drop)
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
    let Some(program) = command.argv.first() else { return false };
    let path = command.cwd.join(program);
    source.kind() == std::io::ErrorKind::NotFound
        && program.as_encoded_bytes().contains(&b'/')
        && path.starts_with(worktree)
        && !path.exists()
}
