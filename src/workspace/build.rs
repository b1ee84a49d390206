//! Builds one side and publishes what a run of it needs.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::io::BufReader;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use super::configuration::{Configuration, cargo_home};
use super::fault;
use super::foundation::Programs;
use super::live::{Live, LiveRecord};
use super::record::{self, Outline, outline};
use super::surroundings::watched;
use super::tools::{Tools, check_whole};
use super::traces::{Places, Traces};
use crate::error::{Error, Kind};
use crate::exec::process::{RunFault, Sink};
use crate::exec::system::{digest, digest_file};
use crate::model::side::Side;
use crate::model::target::{BuildOptions, Target};
use crate::workspace::Event;
use crate::workspace::cache::{Artifact, Executable, Inputs, Key, Room};
use crate::workspace::cargo::{self, Invocation};

/// One side, checked out, with all that shapes its builds but the build
/// itself.
#[derive(Debug)]
pub(super) struct Checkout {
    pub(super) side: Side,
    /// The commit, or the tree of a dirty one.
    pub(super) identity: String,
    /// The toolchain for rustup, if one is to be forced.
    pub(super) toolchain: Option<String>,
    /// What `rustc -vV` says there.
    pub(super) rustc: String,
    /// The digest of the lock file.
    pub(super) lock: String,
    /// Cargo's configuration files from around the user's repository.
    pub(super) configs: Vec<PathBuf>,
    /// The root of the workspace.
    pub(super) workspace: PathBuf,
}

/// A target and the folder of its package.
pub(super) type Wanted = (PathBuf, Target);

/// Targets that are built alike, into one target folder.
#[derive(Debug)]
pub(super) struct Group {
    pub(super) build: BuildOptions,
    pub(super) wanted: Vec<Wanted>,
}

/// The name of a target in a manifest.
pub(super) fn label(folder: &Path, tree: &Path, target: &Target) -> String {
    let package = folder.strip_prefix(tree).unwrap_or(folder).display();
    format!("{package}:{}:{}", target.kind.name(), target.name)
}

/// The short name of a way to build; it is part of paths.
pub(super) fn spec(build: &BuildOptions) -> String {
    digest(format!("{build:?}").as_bytes())[..8].to_owned()
}

/// What building needs beside the checkout.
pub(super) struct Builder<'a, 'b> {
    pub(super) tools: &'a Tools<'a>,
    pub(super) room: &'a Room,
    /// The program, with its first argument, that writes down how cargo runs
    /// an executable.
    pub(super) capture: &'a [OsString],
    /// The compilers and linkers that were looked at before.
    pub(super) programs: &'a mut Programs,
    pub(super) tell: &'a mut (dyn FnMut(Event<'_>) + 'b),
}

/// A group to build, and what its builds depend on besides the sources.
struct Job<'a> {
    at: &'a Checkout,
    group: &'a Group,
    configuration: Configuration,
    /// A digest of what cargo does not watch.
    foundation: String,
    /// Where cargo is told to build.
    into: PathBuf,
}

/// What a group's build has made.
#[derive(Default)]
struct Made {
    executables: Vec<Executable>,
    /// The digests of the executables, by target.
    digests: BTreeMap<String, String>,
    files: BTreeSet<PathBuf>,
    folders: Vec<PathBuf>,
    inputs: Inputs,
    /// Whether a build script wrote into the worktree.
    wrote_elsewhere: bool,
}

/// Whether a build may be tried once more, in an empty folder.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Attempt {
    /// It may, where the folder is known to be damaged; where `after_failure`
    /// is set, also when cargo fails.
    First { after_failure: bool },
    /// It may not: whatever goes wrong is an error.
    Last,
}

impl Builder<'_, '_> {
    /// The artifact of a group, built unless it is known that building it
    /// again would make no other one. The side's link leads to it afterwards.
    ///
    /// # Errors
    /// [`Kind::Build`] when the code does not compile; cargo has stderr why.
    pub(super) fn artifact(&mut self, at: &Checkout, group: &Group) -> Result<Artifact, Error> {
        let spec = spec(&group.build);
        let env = &self.tools.env;
        let folders = group.wanted.iter().map(|(folder, _)| &**folder);
        let configuration = Configuration::read(folders, &at.configs, env)?;
        let side_folder = self.room.side(at.side);
        let foundation = self.programs.foundation(&side_folder, &at.rustc, &configuration, env)?;
        let into = self.room.target(at.side, &spec);
        let job = Job { at, group, configuration, foundation, into };
        let key = self.key(&job);
        let what = describe(group);
        if let Some(artifact) = self.room.artifact(&key, env)? {
            (self.tell)(Event::Fresh(at.side, &what));
            self.room.point(at.side, &spec, &artifact.files())?;
            return Ok(artifact);
        }
        (self.tell)(Event::Building(at.side, &what));
        let made = self.made(&job, &spec)?;
        let Made { executables, files, folders, inputs, .. } = made;
        let files: Vec<_> = files.into_iter().filter(|path| path.is_file()).collect();
        let artifact = self.room.publish(&key, &job.into, &files, &folders, executables, inputs)?;
        self.room.point(at.side, &spec, &artifact.files())?;
        Ok(artifact)
    }

    /// Builds a group in the folder that is kept for it, and in an empty one
    /// where that goes wrong and the kept folder may be why.
    fn made(&mut self, job: &Job<'_>, spec: &str) -> Result<Made, Error> {
        let side = job.at.side;
        let live = Live { tools: self.tools, room: self.room, side, spec };
        let mut record = live.get_ready(&job.foundation)?;
        self.room.point(side, spec, &self.room.live(side, spec))?;
        // That the base does not build is a verdict, which a damaged folder must
        // not give. And what build scripts wrote elsewhere may be missing.
        let after_failure = side == Side::Base || record.wrote_elsewhere;
        let first = match record.is_new {
            true => Attempt::Last,
            false => Attempt::First { after_failure },
        };
        let mut made = self.build_group(job, &record, first)?;
        if made.is_none() {
            (self.tell)(Event::Diagnosing(side));
            record = live.empty(&job.foundation)?;
            made = self.build_group(job, &record, Attempt::Last)?;
        }
        let made = made.expect("the last attempt makes a build or an error");
        record.built = Some(SystemTime::now());
        record.inputs = made.inputs.clone();
        record.executables.extend(made.digests.clone());
        record.wrote_elsewhere = made.wrote_elsewhere;
        live.write(&record)?;
        Ok(made)
    }

    /// Builds every target of a group. Nothing when something went wrong and
    /// there may be another attempt.
    fn build_group(
        &mut self,
        job: &Job<'_>,
        record: &LiveRecord,
        attempt: Attempt,
    ) -> Result<Option<Made>, Error> {
        let (at, side) = (job.at, job.at.side);
        let tree = self.room.tree(side);
        let began = SystemTime::now();
        let before = self.outline(at)?;
        let mut made = Made::default();
        let mut traces = Traces::default();
        let mut programs = Vec::new();
        for wanted in &job.group.wanted {
            let Some(built) = self.build(job, wanted, attempt)? else { return Ok(None) };
            let target = label(&wanted.0, &tree, &wanted.1);
            let digest =
                digest_file(&built.executable).map_err(Error::io("read", &built.executable))?;
            let known = record.executables.get(&target);
            let is_damaged = built.is_fresh && known.is_some_and(|known| *known != digest);
            if is_damaged && attempt != Attempt::Last {
                return Ok(None);
            }
            made.digests.insert(target.clone(), digest);
            programs.push((target, wanted, built.executable.clone()));
            made.files.extend(built.scripts.iter().flat_map(|script| needed(&script.out_dir)));
            made.folders.extend(built.scripts.iter().map(|script| script.out_dir.clone()));
            traces.add(built, &mut made.files);
        }
        made.wrote_elsewhere = self.outline(at)? != before;
        for (target, wanted, executable) in programs {
            let invocation = self.invocation(job, wanted, &executable)?;
            traces.names.extend(invocation.env.iter().map(|(name, _)| name.clone()));
            let path = executable.strip_prefix(&job.into).unwrap_or(&executable).to_owned();
            made.executables.push(Executable { target, path, invocation });
        }
        traces.names.extend(job.configuration.variables.iter().cloned());
        traces.read_dep_info(&self.room.live(side, &spec(&job.group.build)), &job.into)?;
        made.folders.extend(traces.scratch_folder(&job.into));
        let places = Places {
            side: self.room.side(side),
            workspace: at.workspace.clone(),
            home: cargo_home(&self.tools.env),
        };
        made.inputs = traces.inputs(&places, &self.tools.env, began);
        if made.wrote_elsewhere {
            made.inputs.set_unknown("a build script wrote into the worktree");
        }
        Ok(Some(made))
    }

    /// What lies in a side's worktree, but for what cargo itself writes there.
    fn outline(&self, at: &Checkout) -> Result<Outline, Error> {
        let tree = self.room.tree(at.side);
        let workspace = at.workspace.strip_prefix(&tree).unwrap_or(Path::new(""));
        outline(&tree, workspace, self.tools.interrupt)
    }

    /// The name under which a group's artifact is kept.
    fn key(&self, job: &Job<'_>) -> Key {
        let Job { at, group, .. } = job;
        let tree = self.room.tree(at.side);
        let labels = group.wanted.iter().map(|(folder, target)| label(folder, &tree, target));
        Key::new([
            ("side", at.side.name().to_owned()),
            ("path", tree.display().to_string()),
            ("identity", at.identity.clone()),
            ("targets", labels.collect::<Vec<_>>().join(" ")),
            ("build", format!("{:?}", group.build)),
            // With it the variables by which rustup tells of its choice.
            ("toolchain", format!("{:?}", at.toolchain)),
            ("lock", at.lock.clone()),
            ("environment", digest(watched(&self.tools.env).as_bytes())),
            ("configuration", digest(job.configuration.text().as_bytes())),
            ("foundation", job.foundation.clone()),
        ])
    }

    /// Lets cargo build a target. Nothing when that fails and there may be
    /// another attempt.
    fn build(
        &mut self,
        job: &Job<'_>,
        (folder, target): &Wanted,
        attempt: Attempt,
    ) -> Result<Option<cargo::Built>, Error> {
        let at = job.at;
        let messages = tempfile::NamedTempFile::new_in(&self.tools.scratch);
        let messages = messages.map_err(Error::io("make a file in", &self.tools.scratch))?;
        let args = cargo::build_args(target, &job.group.build, &job.into, &at.configs);
        let command = self.cargo(at, args, folder, &job.into);
        let exit = self.tools.aloud(command.clone(), Sink::File(messages.path().to_owned()))?;
        if !exit.success() {
            if attempt == (Attempt::First { after_failure: true }) {
                return Ok(None);
            }
            (self.tell)(Event::Diagnosing(at.side));
            let of = (at.side, &*self.room.tree(at.side));
            let printed = self.tools.again(command, of, fault::of_cargo)?;
            return Ok(Some(cargo::read_messages(printed.as_bytes(), target, folder)?));
        }
        check_whole(messages.path())?;
        let reader = BufReader::new(messages.as_file());
        Ok(Some(cargo::read_messages(reader, target, folder)?))
    }

    fn cargo(
        &self,
        at: &Checkout,
        args: Vec<OsString>,
        folder: &Path,
        into: &Path,
    ) -> crate::exec::process::Command {
        let mut command = self.tools.command("cargo", args, folder, at.toolchain.as_deref());
        // A build folder in the user's configuration would be shared by both
        // sides; the variable outranks the file.
        command.set_var("CARGO_BUILD_BUILD_DIR", into);
        command
    }

    /// Learns from cargo how it runs the executable: with our own program as
    /// the runner, which writes down its arguments and environment. When the
    /// user has a runner configured, cargo does not call ours; then the
    /// benchmark is run once for real, and cargo's log read.
    fn invocation(
        &self,
        job: &Job<'_>,
        (folder, target): &Wanted,
        executable: &Path,
    ) -> Result<Invocation, Error> {
        let (at, build, into) = (job.at, &job.group.build, &job.into);
        let note = self.tools.scratch.join("capture.json");
        let _ = std::fs::remove_file(&note);
        let mut runner = self.capture.to_vec();
        runner.push(note.clone().into());
        let args = cargo::run_args(target, build, into, &at.configs, Some(&runner), &[]);
        let command = self.cargo(at, args, folder, into);
        let shown = command.shown();
        let env = command.env.clone();
        let (exit, _, stderr) = self.tools.quietly(command)?;
        if let Ok(text) = std::fs::read_to_string(&note) {
            let captured: Option<Captured> = serde_json::from_str(&text).ok();
            return captured.and_then(|captured| captured.invocation(executable, &env)).ok_or_else(
                || Kind::Tool { command: shown, folder: folder.clone(), exit, stderr }.into(),
            );
        }
        let mut args = cargo::run_args(target, build, into, &at.configs, None, &[]);
        args.insert(1, "-vv".into());
        let command = self.cargo(at, args, folder, into);
        let shown = command.shown();
        let before = self.outline(at)?;
        let (exit, _, log) = self.tools.quietly(command)?;
        self.remove_new(at, &before)?;
        if !exit.success() {
            let (side, benchmark, fault) = (at.side, target.name.clone(), RunFault::Exit(exit));
            return Err(
                Kind::Benchmark { side, benchmark, fault, command: shown, stderr: log }.into()
            );
        }
        let found = cargo::invocation_from_log(&log, executable, &[]);
        found.ok_or_else(|| {
            Kind::Tool { command: shown, folder: folder.clone(), exit, stderr: log }.into()
        })
    }
}

impl Builder<'_, '_> {
    /// Removes what a run has left in a side's worktree since `before`: the runs
    /// of the other side must not find more or less than those of this one.
    fn remove_new(&self, at: &Checkout, before: &Outline) -> Result<(), Error> {
        let tree = self.room.tree(at.side);
        for path in self.outline(at)?.keys().filter(|path| !before.contains_key(*path)) {
            let full = tree.join(path);
            // It may be in a folder that is gone already.
            if let Ok(about) = full.symlink_metadata() {
                record::remove(&full, &about)?;
            }
        }
        Ok(())
    }
}

fn describe(group: &Group) -> String {
    let names = group.wanted.iter().map(|(_, target)| target.to_string());
    names.collect::<Vec<_>>().join(", ")
}

/// The files of an `OUT_DIR` that a program may read when it runs: not what
/// is only for the linker.
fn needed(out_dir: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![out_dir.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).into_iter().flatten().flatten() {
            let path = entry.path();
            let extension = path.extension().and_then(OsStr::to_str).unwrap_or_default();
            match entry.file_type() {
                Ok(kind) if kind.is_dir() => folders.push(path),
                Ok(_) if !["a", "d", "o", "rlib", "rmeta"].contains(&extension) => found.push(path),
                _ => {}
            }
        }
    }
    found
}

/// What the capturing runner wrote down.
#[derive(Debug, serde::Serialize, serde::Deserialize)]
pub(super) struct Captured {
    argv: Vec<String>,
    env: Vec<(String, String)>,
}

impl Captured {
    /// The invocation of `executable` by a cargo that itself had `env`.
    fn invocation(self, executable: &Path, env: &[(OsString, OsString)]) -> Option<Invocation> {
        let (program, after) = self.argv.split_first()?;
        if Path::new(program) != executable {
            return None;
        }
        // Rustup puts its own folder in front of a PATH that lacks it, for
        // cargo's sake. Kept, it would bring the PATH of the build's day.
        let inherited = |(name, value): &(String, String)| {
            let found = env.iter().find(|(n, _)| n == name.as_str());
            let had = found.and_then(|(_, value)| value.to_str());
            had.is_some_and(|had| value == had || (name == "PATH" && value.ends_with(had)))
        };
        let env = self.env.into_iter().filter(|pair| !inherited(pair)).collect();
        Some(Invocation { before: Vec::new(), after: after.to_vec(), env })
    }
}

/// The capturing runner: writes down what it was called with, into the file
/// that its first argument names.
///
/// # Errors
/// When it was called without arguments or can't write.
pub fn write_down(
    mut args: impl Iterator<Item = OsString>,
    vars: impl Iterator<Item = (OsString, OsString)>,
) -> std::io::Result<()> {
    let note = args.next().ok_or(std::io::ErrorKind::InvalidInput)?;
    let text = |word: OsString| word.to_string_lossy().into_owned();
    let env = vars.map(|(name, value)| (text(name), text(value))).collect();
    let captured = Captured { argv: args.map(text).collect(), env };
    std::fs::write(note, serde_json::to_vec(&captured)?)
}
