//! Benchmarks that are any command, and the build commands that make what they
//! run.
//!
//! Build commands have a worktree of their own, `built` beside `tree`: what
//! they write there, tracked files included, is seen by no other build, and the
//! manifests in `tree` stay those of the commit. Nobody knows what a build
//! command reads, so its results are used again only when nothing that could
//! matter has changed, and every file is still as the build left it; see
//! [`Record`]. Else it is run again in a clean checkout.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use super::build::Checkout;
use super::configuration::Configuration;
use super::record::{self, Origin, Record, Restored};
use super::sides::{is_the_codes, package};
use super::surroundings::all_but_session;
use super::tools::Tools;
use super::{Program, Work, clock, fault};
use crate::error::{Error, Kind};
use crate::exec::process::{Command, Exit, RunError, Sink};
use crate::exec::system::digest;
use crate::model::revision::Revision;
use crate::model::side::Side;
use crate::settings::options::{Benchmark, Subject};
use crate::workspace::Event;
use crate::workspace::cargo::Workspace;
use crate::workspace::git::worktree::Store;

/// The subcommands of cargo that build, and track what they build from.
const CARGO_BUILDS: [&str; 6] = ["b", "bench", "build", "rustc", "t", "test"];

/// The options of cargo that may come before a subcommand and have no value.
const CARGO_OPTIONS: [&str; 7] =
    ["--frozen", "--locked", "--offline", "--quiet", "--verbose", "-q", "-v"];

/// The folders of a target folder in which cargo keeps what it builds on.
const CARGO_OWN: [&str; 4] = [".fingerprint", "build", "deps", "incremental"];

/// Variables by which a shell tells how and from where it called its last
/// command. They change all the time, so build commands do not get them.
const SHELLS: [&str; 4] = ["OLDPWD", "PWD", "SHLVL", "_"];

/// The worktree in which a side's commands are run.
#[derive(Debug)]
pub(super) struct Place {
    /// Its root.
    worktree: PathBuf,
    /// The build commands that failed because of the code, and why.
    failed: BTreeMap<Step, String>,
}

/// A build command.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Step {
    /// The package's folder, from the root of the worktree.
    folder: PathBuf,
    words: Vec<String>,
}

/// What the build commands of a side are run for.
pub(super) struct Site<'a> {
    pub(super) at: &'a Checkout,
    pub(super) revision: &'a Revision,
    /// The workspace's root, from that of the worktree.
    pub(super) workspace: PathBuf,
    /// A digest of what shapes builds and is in no commit.
    pub(super) foundation: &'a str,
}

impl Work<'_, '_> {
    /// Makes ready the worktree in which the commands among a side's benchmarks
    /// are run. The base's code may be at fault where there is no build; then
    /// those benchmarks have no baseline.
    ///
    /// # Errors
    /// [`Kind::Build`] when the head's code does not compile or lacks a command.
    pub(super) fn place(
        &mut self,
        at: &Checkout,
        revision: &Revision,
        benchmarks: &[Benchmark],
        workspace: Result<&Workspace, &Error>,
    ) -> Result<Place, Error> {
        let tree = self.room.tree(at.side);
        let mut steps: Vec<(Step, &str)> = Vec::new();
        for benchmark in benchmarks {
            let Subject::Command { build: Some(words), .. } = &benchmark.subject else { continue };
            let Ok(package) = package(workspace, &benchmark.package) else { continue };
            let step = Step::new(&tree, &package.folder, words);
            if steps.iter().all(|(known, _)| *known != step) {
                steps.push((step, &benchmark.name));
            }
        }
        let root = workspace.ok().and_then(|workspace| workspace.root.strip_prefix(&tree).ok());
        let (Some(root), false) = (root, steps.is_empty()) else {
            return Ok(Place { worktree: tree, failed: BTreeMap::new() });
        };
        let folders = steps.iter().map(|(step, _)| tree.join(&step.folder)).collect::<Vec<_>>();
        let folders = folders.iter().map(PathBuf::as_path);
        let (env, side_folder) = (&self.tools.env, self.room.side(at.side));
        let configuration = Configuration::read(folders, &at.configs, env)?;
        let foundation = self.programs.foundation(&side_folder, &at.rustc, &configuration, env)?;
        let foundation = format!("{foundation}\n{}", configuration.text());
        let site = Site { at, revision, workspace: root.to_owned(), foundation: &foundation };
        let failed = self.build_in_place(&site, &steps)?;
        Ok(Place { worktree: self.room.built(at.side), failed })
    }

    /// Runs the build commands of a side in their order, unless all of them have
    /// been run there before, for the same things, and nothing has changed
    /// since. Those that failed because of the base's code, and why.
    fn build_in_place(
        &mut self,
        site: &Site<'_>,
        steps: &[(Step, &str)],
    ) -> Result<BTreeMap<Step, String>, Error> {
        let (side, interrupt) = (site.at.side, self.tools.interrupt);
        let worktree = self.room.built(side);
        let at = worktree.with_extension("record");
        let origin = self.origin(site, steps);
        let mut record = Record::read(&at);
        if let Some(record) = record.as_mut().filter(|record| record.origin == origin) {
            let restored = match worktree.is_dir() {
                true => record.restore(&worktree, Path::new(""), interrupt)?,
                false => Restored::Changed,
            };
            if restored == Restored::Reread {
                record.write(&at)?;
            }
            if restored != Restored::Changed {
                steps.iter().for_each(|(_, name)| (self.tell)(Event::Fresh(side, name)));
                return Ok(BTreeMap::new());
            }
        }
        let keep = self.kept(site, steps, record, &origin)?;
        Record::remove(&at)?;
        let (mut failed, mut before) = (BTreeMap::new(), BTreeMap::new());
        for (number, (step, name)) in steps.iter().enumerate() {
            (self.tell)(Event::Building(side, name));
            if number == 0 {
                self.clean(site, &keep)?;
                before = record::outline(&worktree, &site.workspace, interrupt)?;
            }
            let done = steps[..number].iter().map(|(step, _)| step);
            let done = done.filter(|step| !failed.contains_key(*step)).collect::<Vec<_>>();
            match self.run(site, step, &done) {
                Err(error) if side == Side::Base && is_the_codes(&error) => {
                    failed.insert(step.clone(), error.to_string());
                }
                ran => ran?,
            }
        }
        if failed.is_empty() {
            let mut record = Record::of(&worktree, origin, interrupt)?;
            record.is_cargos = before == record::outline(&worktree, &site.workspace, interrupt)?;
            record.write(&at)?;
        }
        Ok(failed)
    }

    /// What a build of these commands is made from.
    fn origin(&self, site: &Site<'_>, steps: &[(Step, &str)]) -> Origin {
        let Checkout { identity, lock, rustc, toolchain, .. } = site.at;
        let env = all_but_session(&self.tools.env);
        let surroundings = format!("{env}\n{toolchain:?}\n{rustc}\n{}", site.foundation);
        let commands = steps.iter().map(|(step, _)| digest(format!("{step:?}").as_bytes()));
        Origin {
            identity: identity.clone(),
            lock: lock.clone(),
            surroundings: digest(surroundings.as_bytes()),
            commands: commands.collect(),
        }
    }

    /// Makes the worktree of the build commands that of the commit, as its other
    /// one was before anything was built there, but for the folders `keep`.
    fn clean(&mut self, site: &Site<'_>, keep: &[PathBuf]) -> Result<(), Error> {
        let side = site.at.side;
        let worktree = self.room.built(side);
        let store = Store::open(&self.room.git(), &self.repo)?;
        let check_out = || store.check_out(&self.repo, side, &worktree, site.revision, keep);
        self.tools.interrupt.bound(check_out)?;
        self.filter(&store, side, &worktree, site.revision)?;
        let lock = site.workspace.join("Cargo.lock");
        let (from, to) = (self.room.tree(side).join(&lock), worktree.join(&lock));
        if from.is_file() && !to.exists() {
            if let Ok(about) = to.symlink_metadata() {
                record::remove(&to, &about)?;
            }
            fs_err::copy(&from, &to).map_err(Error::io("copy", &from))?;
        }
        Ok(())
    }

    /// Runs a build command. Where it fails, everything is done once more from
    /// a clean checkout, those that are `done` before it included, to learn why:
    /// half a build may be in the way of the next.
    fn run(&mut self, site: &Site<'_>, step: &Step, done: &[&Step]) -> Result<(), Error> {
        let (side, worktree) = (site.at.side, self.room.built(site.at.side));
        let toolchain = site.at.toolchain.as_deref();
        let of = |tools: &Tools<'_>, step: &Step| {
            let folder = worktree.join(&step.folder);
            let mut command = command(tools, &step.words, &folder, toolchain);
            command.env.retain(|(name, _)| SHELLS.iter().all(|shells| name != shells));
            command
        };
        let command = of(&self.tools, step);
        let exit = match self.tools.aloud(command.clone(), Sink::Stderr) {
            Err(error) if lacks(&worktree, &command, &error) => {
                let (command, exit) = (command.shown(), Exit::Code(127));
                return Err(Kind::Build { side, command, exit }.into());
            }
            exit => exit?,
        };
        if exit.success() {
            return Ok(());
        }
        (self.tell)(Event::Diagnosing(side));
        self.clean(site, &[])?;
        for step in done {
            let command = of(&self.tools, step);
            let shown = command.shown();
            let exit = self.tools.aloud(command, Sink::Stderr)?;
            if !exit.success() {
                let source = crate::error::Cause::of("it went well a moment ago".to_owned());
                return Err(Kind::Unbuilt { side, command: shown, exit, source }.into());
            }
        }
        self.tools.again(command, (side, &worktree), fault::of_command).map(drop)
    }

    /// The folder of an earlier build that a new one may begin with: cargo's own
    /// target folder, where cargo alone was run, in the same surroundings, and
    /// where it is known to hold what cargo left in it and nothing else. Cargo
    /// finds out by itself what of it is out of date, but not that a file is gone
    /// which a build script wrote elsewhere. The programs in it go:
    /// one that the commit no longer builds would be run all the same.
    fn kept(
        &self,
        site: &Site<'_>,
        steps: &[(Step, &str)],
        record: Option<Record>,
        origin: &Origin,
    ) -> Result<Vec<PathBuf>, Error> {
        let Origin { surroundings, commands, .. } = origin;
        let fits = |record: &Record| {
            record.is_cargos
                && record.origin.surroundings == *surroundings
                && record.origin.commands == *commands
        };
        let is_cargos = steps.iter().all(|(step, _)| builds_with_cargo(&step.words));
        let Some(mut record) = record.filter(|record| is_cargos && fits(record)) else {
            return Ok(Vec::new());
        };
        let worktree = self.room.built(site.at.side);
        let target = site.workspace.join("target");
        let full = worktree.join(&target);
        let is_folder = full.symlink_metadata().is_ok_and(|about| about.is_dir());
        // Cargo goes by times.
        if !is_folder || clock::is_later(&full, SystemTime::now()) {
            return Ok(Vec::new());
        }
        if record.restore(&worktree, &target, self.tools.interrupt)? == Restored::Changed {
            return Ok(Vec::new());
        }
        remove_programs(&full)?;
        Ok(vec![target])
    }
}

impl Step {
    fn new(tree: &Path, folder: &Path, words: &[String]) -> Self {
        let folder = folder.strip_prefix(tree).unwrap_or(folder).to_owned();
        Step { folder, words: words.to_vec() }
    }
}

impl Place {
    /// Why there is nothing to run for a package of the worktree `tree`: its
    /// build command failed.
    pub(super) fn failure(&self, tree: &Path, folder: &Path, build: &[String]) -> Option<&str> {
        self.failed.get(&Step::new(tree, folder, build)).map(String::as_str)
    }
}

impl Work<'_, '_> {
    /// A benchmark's program on a side, for a package in `folder` of the side's
    /// own worktree.
    pub(super) fn command_of(
        &self,
        benchmark: &Benchmark,
        words: &[String],
        at: &Checkout,
        place: &Place,
        folder: &Path,
    ) -> Program {
        let inside = folder.strip_prefix(self.room.tree(at.side)).unwrap_or(folder);
        let folder = place.worktree.join(inside);
        let mut command = command(&self.tools, words, &folder, at.toolchain.as_deref());
        command.argv.extend(benchmark.args.iter().map(Into::into));
        let (identity, home) = (at.identity.clone(), self.room.side(at.side));
        Program { command, executable: None, identity, home }
    }
}

/// A command of the user's in a folder.
fn command(tools: &Tools<'_>, words: &[String], folder: &Path, toolchain: Option<&str>) -> Command {
    let (program, args) = words.split_first().map_or(("", &[][..]), |(p, a)| (p.as_str(), a));
    let args = args.iter().map(Into::into).collect();
    tools.command(program, args, folder, toolchain)
}

/// Whether a command could not be started because it is a file of the
/// worktree that is not there.
fn lacks(worktree: &Path, command: &Command, error: &Error) -> bool {
    let Kind::Process(RunError::Spawn { source, .. }) = error.kind() else { return false };
    let program = command.argv.first().map(|program| command.cwd.join(program));
    let is_named = command.argv.first().is_some_and(|p| p.as_encoded_bytes().contains(&b'/'));
    source.kind() == std::io::ErrorKind::NotFound
        && is_named
        && program.is_some_and(|program| program.starts_with(worktree) && !program.exists())
}

/// Whether a command is cargo itself that builds.
fn builds_with_cargo(words: &[String]) -> bool {
    let mut words = words.iter().map(String::as_str);
    let is_cargo = words.next() == Some("cargo");
    let mut words = words.skip_while(|word| word.starts_with('+') || CARGO_OPTIONS.contains(word));
    is_cargo && words.next().is_some_and(|word| CARGO_BUILDS.contains(&word))
}

/// Removes from a target folder everything but what cargo builds on.
fn remove_programs(folder: &Path) -> Result<(), Error> {
    for entry in fs_err::read_dir(folder).map_err(Error::io("read", folder))? {
        let entry = entry.map_err(Error::io("read", folder))?;
        let path = entry.path();
        let about = path.symlink_metadata().map_err(Error::io("read", &path))?;
        let name = entry.file_name();
        if !about.is_dir() {
            record::remove(&path, &about)?;
        } else if name == "deps" {
            remove_linked(&path)?;
        } else if CARGO_OWN.iter().all(|own| name != *own) {
            remove_programs(&path)?;
        }
    }
    Ok(())
}

/// Removes from a folder of compiled crates those that are programs.
fn remove_linked(deps: &Path) -> Result<(), Error> {
    for entry in fs_err::read_dir(deps).map_err(Error::io("read", deps))? {
        let path = entry.map_err(Error::io("read", deps))?.path();
        let about = path.symlink_metadata().map_err(Error::io("read", &path))?;
        let is_program = match path.extension() {
            None => about.is_file(),
            Some(extension) => extension == "exe",
        };
        if is_program {
            record::remove(&path, &about)?;
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
        // Its value could be taken for the subcommand.
        assert!(!builds("cargo --config build run"));
    }

    #[test]
    fn of_a_target_folder_stays_what_cargo_builds_on() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        let files = [
            "release/.fingerprint/a-1/a",
            "release/build/a-1/build-script-build",
            "release/deps/liba-1.rlib",
            "release/deps/libmacros-1.so",
            "release/incremental/a-1/part",
            "x/release/deps/liba-1.rmeta",
        ];
        let programs = ["release/app", "release/examples/one", "x/release/app", "tmp/left"];
        let linked = ["release/deps/app-1", "release/deps/app-1.exe", "CACHEDIR.TAG"];
        for name in files.iter().chain(&programs).chain(&linked) {
            let path = root.join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, "").unwrap();
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
