//! Builds one side and publishes what a run of it needs.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::io::BufReader;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use super::fault;
use super::surroundings::{config_texts, shaping};
use super::tools::{Tools, check_whole};
use crate::cache::{Artifact, Executable, Key, Outside, Room, digest};
use crate::cargo::{self, Build, Invocation, Target};
use crate::error::{Error, Kind};
use crate::event::Event;
use crate::git::times::change_times;
use crate::process::Sink;
use crate::side::Side;
use crate::system::{link, set_modified};

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
}

/// A target and the folder of its package.
pub(super) type Wanted = (PathBuf, Target);

/// Targets that are built alike, into one target folder.
#[derive(Debug)]
pub(super) struct Group {
    pub(super) build: Build,
    pub(super) wanted: Vec<Wanted>,
}

/// The name of a target in a manifest.
pub(super) fn label(folder: &Path, tree: &Path, target: &Target) -> String {
    let package = folder.strip_prefix(tree).unwrap_or(folder).display();
    format!("{package}:{}:{}", target.kind.name(), target.name)
}

/// The short name of a way to build; it is part of paths.
pub(super) fn spec(build: &Build) -> String {
    digest(format!("{build:?}").as_bytes())[..8].to_owned()
}

/// What building needs beside the checkout.
pub(super) struct Builder<'a, 'b> {
    pub(super) tools: &'a Tools<'a>,
    pub(super) room: &'a Room,
    /// The program, with its first argument, that writes down how cargo runs
    /// an executable.
    pub(super) capture: &'a [OsString],
    pub(super) tell: &'a mut (dyn FnMut(Event<'_>) + 'b),
}

impl Builder<'_, '_> {
    /// The artifact of a group, built if it is not there. The side's link
    /// leads to it afterwards.
    ///
    /// # Errors
    /// [`Kind::Build`] when the code does not compile; cargo has said why.
    pub(super) fn artifact(&mut self, at: &Checkout, group: &Group) -> Result<Artifact, Error> {
        let spec = spec(&group.build);
        let key = self.key(at, group);
        let what = describe(group);
        if let Some(artifact) = self.room.artifact(&key)? {
            (self.tell)(Event::Fresh(at.side, &what));
            self.room.point(at.side, &spec, &artifact.files())?;
            return Ok(artifact);
        }
        (self.tell)(Event::Building(at.side, &what));
        self.seed(at.side, &spec)?;
        let live = self.room.live(at.side, &spec);
        self.room.point(at.side, &spec, &live)?;
        let target_folder = self.room.target(at.side, &spec);
        let began = SystemTime::now();
        let mut packages = BTreeSet::new();
        let mut files = BTreeMap::new();
        let mut folders = Vec::new();
        let mut executables = Vec::new();
        for wanted in &group.wanted {
            let built = self.build(at, &group.build, wanted, &target_folder)?;
            let invocation = self.invocation(at, &group.build, wanted, &built.executable)?;
            let path = built.executable.strip_prefix(&target_folder).unwrap_or(&built.executable);
            let target = label(&wanted.0, &self.room.tree(at.side), &wanted.1);
            executables.push(Executable { target, path: path.to_owned(), invocation });
            let all =
                built.files.into_iter().chain(built.out_dirs.iter().flat_map(|dir| needed(dir)));
            files.extend(all.map(|path| (path, ())));
            folders.extend(built.out_dirs);
            folders.extend(scratch_folder(&built.executable));
            packages.extend(built.packages);
        }
        packages.retain(|folder| !folder.starts_with(self.room.side(at.side)));
        let outside = packages.into_iter().map(|folder| Outside::since(folder, began)).collect();
        let files: Vec<_> = files.into_keys().filter(|path| path.is_file()).collect();
        let artifact =
            self.room.publish(&key, &target_folder, &files, &folders, executables, outside)?;
        self.room.point(at.side, &spec, &artifact.files())?;
        Ok(artifact)
    }

    /// The name under which a group's artifact is kept.
    pub(super) fn key(&self, at: &Checkout, group: &Group) -> Key {
        let tree = self.room.tree(at.side);
        let env = &self.tools.env;
        let labels = group.wanted.iter().map(|(folder, target)| label(folder, &tree, target));
        Key::new([
            ("side", at.side.name().to_owned()),
            ("path", tree.display().to_string()),
            ("identity", at.identity.clone()),
            ("targets", labels.collect::<Vec<_>>().join(" ")),
            ("build", format!("{:?}", group.build)),
            // With it the variables by which rustup tells of its choice.
            ("toolchain", format!("{:?}", at.toolchain)),
            ("rustc", at.rustc.clone()),
            ("lock", at.lock.clone()),
            ("environment", digest(shaping(env).as_bytes())),
            ("configuration", digest(config_texts(&tree, &at.configs, env).join("\0").as_bytes())),
        ])
    }

    /// Fills an empty target folder with a copy of the other side's, so that
    /// the dependencies need not be compiled again. The sources of this side
    /// are made newer than all that was copied: cargo goes by times, and
    /// would take the other side's build of them for fresh.
    fn seed(&self, side: Side, spec: &str) -> Result<(), Error> {
        let live = self.room.live(side, spec);
        let other = self.room.live(side.other(), spec);
        if live.exists() {
            return Ok(());
        }
        let new = live.with_extension("new");
        if new.exists() {
            fs_err::remove_dir_all(&new).map_err(Error::io("remove", &new))?;
        }
        fs_err::create_dir_all(&new).map_err(Error::io("make", &new))?;
        if other.exists() {
            // The clock may have been set back since the latest of it was made.
            let latest = self.copy(&other, &new)? + Duration::from_secs(1);
            let tree = self.room.tree(side);
            change_times(&tree, || touch(&tree, latest.max(SystemTime::now())))?;
        }
        fs_err::rename(&new, &live).map_err(Error::io("make", &live))
    }

    /// Copies a folder with its files' times; the latest of them.
    fn copy(&self, from: &Path, to: &Path) -> Result<SystemTime, Error> {
        self.tools.interrupt.check()?;
        let mut latest = SystemTime::UNIX_EPOCH;
        for entry in fs_err::read_dir(from).map_err(Error::io("read", from))? {
            let entry = entry.map_err(Error::io("read", from))?;
            let (path, copy) = (entry.path(), to.join(entry.file_name()));
            let kind = entry.file_type().map_err(Error::io("read", &path))?;
            if kind.is_dir() {
                if entry.file_name() != "incremental" {
                    fs_err::create_dir(&copy).map_err(Error::io("make", &copy))?;
                    latest = latest.max(self.copy(&path, &copy)?);
                }
            } else if kind.is_file() {
                let time = copy_file(&path, &copy).map_err(Error::io("copy", &path))?;
                latest = latest.max(time);
            } else if let Ok(target) = std::fs::read_link(&path) {
                let made = link(&target, &copy);
                made.map_err(Error::io("make", &copy))?;
            }
        }
        Ok(latest)
    }

    fn build(
        &mut self,
        at: &Checkout,
        build: &Build,
        (folder, target): &Wanted,
        into: &Path,
    ) -> Result<cargo::Built, Error> {
        let messages = tempfile::NamedTempFile::new_in(&self.tools.scratch);
        let messages = messages.map_err(Error::io("make a file in", &self.tools.scratch))?;
        let args = cargo::build_args(target, build, into, &at.configs);
        let command = self.cargo(at, args, folder, into);
        let exit = self.tools.aloud(command.clone(), Sink::File(messages.path().to_owned()))?;
        if !exit.success() {
            (self.tell)(Event::Diagnosing(at.side));
            let of = (at.side, &*self.room.tree(at.side));
            let printed = self.tools.again(command, of, fault::of_cargo)?;
            return Ok(cargo::read_messages(printed.as_bytes(), target, folder)?);
        }
        check_whole(messages.path())?;
        let reader = BufReader::new(messages.as_file());
        Ok(cargo::read_messages(reader, target, folder)?)
    }

    fn cargo(
        &self,
        at: &Checkout,
        args: Vec<OsString>,
        folder: &Path,
        into: &Path,
    ) -> crate::process::Command {
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
        at: &Checkout,
        build: &Build,
        (folder, target): &Wanted,
        executable: &Path,
    ) -> Result<Invocation, Error> {
        let into = self.room.target(at.side, &spec(build));
        let note = self.tools.scratch.join("capture.json");
        let _ = std::fs::remove_file(&note);
        let mut runner = self.capture.to_vec();
        runner.push(note.clone().into());
        let args = cargo::run_args(target, build, &into, &at.configs, Some(&runner), &[]);
        let command = self.cargo(at, args, folder, &into);
        let shown = command.shown();
        let env = command.env.clone();
        let (exit, _, said) = self.tools.quietly(command)?;
        if let Ok(text) = std::fs::read_to_string(&note) {
            let captured: Option<Captured> = serde_json::from_str(&text).ok();
            return captured.and_then(|captured| captured.invocation(executable, &env)).ok_or_else(
                || Kind::Tool { command: shown, folder: folder.clone(), exit, said }.into(),
            );
        }
        let mut args = cargo::run_args(target, build, &into, &at.configs, None, &[]);
        args.insert(1, "-vv".into());
        let command = self.cargo(at, args, folder, &into);
        let shown = command.shown();
        let (exit, _, log) = self.tools.quietly(command)?;
        let (side, benchmark, what) = (at.side, target.name.clone(), exit.to_string());
        if !exit.success() {
            return Err(Kind::Benchmark { side, benchmark, what, command: shown, said: log }.into());
        }
        let found = cargo::invocation_from_log(&log, executable, &[]);
        found.ok_or_else(|| {
            Kind::Tool { command: shown, folder: folder.clone(), exit, said: log }.into()
        })
    }
}

fn describe(group: &Group) -> String {
    let names = group.wanted.iter().map(|(_, target)| target.to_string());
    names.collect::<Vec<_>>().join(", ")
}

/// The folder that cargo makes for the executable of a bench target, and tells
/// it of by `CARGO_TARGET_TMPDIR` when compiling: `tmp` beside the profile's.
fn scratch_folder(executable: &Path) -> Option<PathBuf> {
    let folder = executable.ancestors().nth(3)?.join("tmp");
    folder.is_dir().then_some(folder)
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

/// Copies a file with its time, which is returned.
fn copy_file(from: &Path, to: &Path) -> std::io::Result<SystemTime> {
    std::fs::copy(from, to)?;
    let modified = std::fs::metadata(from)?.modified()?;
    set_modified(to, modified)?;
    Ok(modified)
}

/// Gives every file of a worktree the time `now`.
fn touch(folder: &Path, now: SystemTime) -> Result<(), Error> {
    for entry in fs_err::read_dir(folder).map_err(Error::io("read", folder))? {
        let entry = entry.map_err(Error::io("read", folder))?;
        let path = entry.path();
        let kind = entry.file_type().map_err(Error::io("read", &path))?;
        if kind.is_dir() {
            touch(&path, now)?;
        } else if kind.is_file() && entry.file_name() != ".git" {
            let touched = set_modified(&path, now);
            touched.map_err(Error::io("touch", &path))?;
        }
    }
    Ok(())
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
