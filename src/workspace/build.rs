//! Builds the targets of one side, and publishes what their runs need.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::io::BufReader;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use super::PrepareContext;
use super::checkout::Worktree;
use super::diagnose::{self, Tool};
use super::environment::{Environment, for_run, var, watched};
use super::files::{remove, walk};
use super::folder_record::{Outline, outline};
use super::inputs::configuration::{Configuration, cargo_home};
use super::inputs::foundation::Foundation;
use super::inputs::traces::{Places, Traces};
use super::relink::linker::LinkerChoice;
use super::relink::record;
use super::setup::SideSetup;
use super::target_folder::{Start, TargetFolder, TargetRecord};
use super::tools::{Captured, check_whole};
use crate::engine::event::Event;
use crate::error::{Error, Kind};
use crate::exec::process::{Command, Sink};
use crate::exec::program::Program;
use crate::exec::system::{digest, digest_file, mode, permissions};
use crate::model::side::Side;
use crate::model::target::{BuildOptions, Target};
use crate::settings::options::{Benchmark, Subject};
use crate::workspace::cache::{Artifact, ArtifactKey, Contents, Executable};
use crate::workspace::cargo::{self, Built, Diagnostics, Invocation, Linker, TargetCall};

/// The builds of the targets of one side.
#[derive(Default)]
pub(super) struct Artifacts {
    /// By the options they were built with.
    built: BTreeMap<BuildOptions, Artifact>,
    /// The targets that do not build because of the code, and why.
    failed: BTreeMap<BuiltTarget, Failure>,
}

/// Why a target does not build.
#[derive(Clone)]
struct Failure {
    why: String,
    /// Whether a damaged folder is certainly not the reason.
    is_proven: bool,
}

/// A target: the options of its build, which may differ between the sides, and its label, by
/// which both sides identify it.
type BuiltTarget = (BuildOptions, String);

impl Artifacts {
    /// The artifacts.
    pub(super) fn built(&self) -> impl Iterator<Item = &Artifact> {
        self.built.values()
    }

    /// Whether no target of this label was built.
    fn has_failed(&self, label: &str) -> bool {
        self.failed.keys().any(|(_, failed)| failed == label)
    }

    /// Whether a target that failed on the other side was built here, so that the
    /// failure there has to be proven.
    pub(super) fn casts_doubt_on(&self, other: &Artifacts) -> bool {
        other.failed.iter().any(|((_, label), failure)| {
            let is_here = self.built().any(|artifact| artifact.executable(label).is_some());
            is_here && !failure.is_proven
        })
    }
}

/// What to do with targets that do not build because of the code.
#[derive(Clone, Copy)]
pub(super) enum Failing<'a> {
    /// They are noted, once a damaged folder is excluded as the reason.
    Proven,
    /// They are noted. For targets that were not named, damage by earlier builds may be the reason.
    Noted,
    /// They are noted if a target was not named and does not build on the other
    /// side, either; otherwise they are an error.
    WithOther(&'a Artifacts),
    /// They are noted if a target was not named; otherwise they are an error.
    Found,
}

/// What to run for a benchmark on a side.
pub(super) struct Runnable {
    pub(super) program: Program,
    /// What cargo built for it.
    pub(super) artifact: Option<Artifact>,
}

/// Builds every target of one side, those with the same options together.
///
/// # Errors
/// [`Kind::Build`] if code does not build and that is an error; cargo has printed why.
pub(super) fn build_targets(
    context: &mut PrepareContext<'_>,
    foundation: &mut Foundation,
    setup: &SideSetup,
    benchmarks: &[Benchmark],
    failing: Failing<'_>,
) -> Result<Artifacts, Error> {
    let mut groups: BTreeMap<BuildOptions, Vec<PackageTarget>> = BTreeMap::new();
    let mut found = BTreeSet::new();
    for benchmark in benchmarks {
        let Subject::Target(target, options) = &benchmark.subject else { continue };
        let Ok(folder) = setup.folder_of(benchmark, target) else { continue };
        let options = setup.options(benchmark, target, options);
        if benchmark.is_found {
            found.insert((options.clone(), label(setup, folder, target)));
        }
        let group = groups.entry(options).or_default();
        let wanted = (folder.to_owned(), target.clone());
        if !group.contains(&wanted) {
            group.push(wanted);
        }
    }
    let may_fail = |target: &BuiltTarget| match failing {
        Failing::Proven | Failing::Noted => true,
        Failing::WithOther(other) => found.contains(target) && other.has_failed(&target.1),
        Failing::Found => found.contains(target),
    };
    let mut artifacts = Artifacts::default();
    let mut first_error = None;
    for (options, mut wanted) in groups {
        let key =
            |(folder, target): &PackageTarget| (options.clone(), label(setup, folder, target));
        while !wanted.is_empty() {
            let is_noted = matches!(failing, Failing::Noted)
                && wanted.iter().all(|target| found.contains(&key(target)));
            let mut build = TargetBuild::new(context, foundation, setup, &options, wanted.clone())?;
            build.trusts_folder = is_noted;
            let error = match build.artifact() {
                Ok(artifact) => {
                    artifacts.built.insert(options.clone(), artifact);
                    break;
                }
                Err(error) => error,
            };
            // Without targets that fail for the same reason, the others may still build.
            let failed = build.failed.take().filter(|_| is_the_codes(&error));
            let Some(failed) = failed else { return Err(error) };
            let (lost, rest): (Vec<_>, Vec<_>) =
                wanted.into_iter().partition(|target| failed.explains(target));
            if !lost.iter().all(|target| may_fail(&key(target))) {
                return Err(error);
            }
            let failure = Failure { why: error.to_string(), is_proven: failed.is_proven };
            artifacts.failed.extend(lost.iter().map(|target| (key(target), failure.clone())));
            first_error.get_or_insert(error);
            wanted = rest;
        }
    }
    let is_command = |benchmark: &Benchmark| matches!(benchmark.subject, Subject::Command { .. });
    let has_any = !artifacts.built.is_empty() || benchmarks.iter().any(is_command);
    match first_error {
        // Nothing is left that could be measured.
        Some(error) if !has_any && setup.side() == Side::Head => Err(error),
        _ => Ok(artifacts),
    }
}

/// A target that did not build.
struct FailedTarget {
    target: PackageTarget,
    /// Whether the library of its package is missing, too.
    lacks_library: bool,
    /// Whether it failed in a folder that no earlier build can have damaged.
    is_proven: bool,
}

impl FailedTarget {
    /// Whether another target does not build for the same reason.
    fn explains(&self, other: &PackageTarget) -> bool {
        self.target == *other || self.lacks_library && self.target.0 == other.0
    }
}

/// Whether the code is the reason of a failed build.
pub(super) fn is_the_codes(error: &Error) -> bool {
    matches!(error.kind(), Kind::Build { .. })
}

/// What to run for a target, as cargo would run it, or why there is nothing to run.
pub(super) fn runnable(
    context: &PrepareContext<'_>,
    setup: &SideSetup,
    artifacts: &Artifacts,
    benchmark: &Benchmark,
    target: &Target,
    options: &BuildOptions,
) -> Result<Result<Runnable, String>, Error> {
    let folder = match setup.folder_of(benchmark, target) {
        Ok(folder) => folder,
        Err(why) => return Ok(Err(why)),
    };
    let options = setup.options(benchmark, target, options);
    let wanted = (options.clone(), label(setup, folder, target));
    if let Some(failure) = artifacts.failed.get(&wanted) {
        return Ok(Err(failure.why.clone()));
    }
    let none = || cargo::Error::NoExecutable(target.to_string());
    let artifact = artifacts.built.get(&options).ok_or_else(none)?;
    let executable = artifact.executable(&wanted.1).ok_or_else(none)?;
    let invocation = &executable.invocation;
    let side = setup.side();
    let into = context.cache.target_link(side, &spec(&options));
    let path = into.join(&executable.path);
    let mut argv: Vec<OsString> = invocation.before.iter().map(Into::into).collect();
    argv.push(path.clone().into());
    argv.extend(benchmark.args.iter().chain(&invocation.after).map(Into::into));
    let env = context.tools.env.clone();
    let mut command = Command { argv, env, cwd: folder.to_owned(), ..Command::default() };
    for (name, value) in &invocation.env {
        command.set_var(name, for_run(name, value, &into));
    }
    let program = Program {
        command,
        executable: Some(path),
        executable_sha256: artifact.digest(&executable.path).map(str::to_owned),
        relink: executable
            .link
            .as_ref()
            .map_err(String::clone)
            .and_then(|link| link.relink(&artifact.links(), &setup.rustc, &context.tools.env)),
        identity: artifact.name(),
        home: context.cache.side_folder(side),
        records: Some(artifact.records()),
        comparisons: Some(artifact.comparisons()),
    };
    Ok(Ok(Runnable { program, artifact: Some(artifact.clone()) }))
}

/// A target and the folder of its package.
type PackageTarget = (PathBuf, Target);

/// The name of a target in an artifact.
fn label(setup: &SideSetup, folder: &Path, target: &Target) -> String {
    format!("{}:{}:{}", setup.inside(folder).display(), target.kind.name(), target.name)
}

/// The short name of build options; it is part of paths.
fn spec(options: &BuildOptions) -> String {
    digest(format!("{options:?}").as_bytes())[..8].to_owned()
}

/// The build of some targets of one side with the same options, into one target folder.
struct TargetBuild<'a, 'b> {
    context: &'a mut PrepareContext<'b>,
    setup: &'a SideSetup,
    options: &'a BuildOptions,
    wanted: Vec<PackageTarget>,
    spec: String,
    /// The link to the folder in which cargo builds.
    into: PathBuf,
    configuration: Configuration,
    /// A digest of what cargo does not track.
    foundation: String,
    /// The recording linkers, by the folder in which cargo is called, or why there is none.
    linkers: BTreeMap<PathBuf, Result<Linker, String>>,
    /// Whether a failure in the kept folder counts as one of the code.
    trusts_folder: bool,
    /// The target that did not build.
    failed: Option<FailedTarget>,
}

/// Whether a build may be tried again, in an empty folder.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Attempt {
    /// It may, if the folder is known to be damaged; with `after_failure`, also
    /// if cargo fails.
    First { after_failure: bool },
    /// It may not: any failure is an error.
    Last,
}

impl<'a, 'b> TargetBuild<'a, 'b> {
    fn new(
        context: &'a mut PrepareContext<'b>,
        foundation: &mut Foundation,
        setup: &'a SideSetup,
        options: &'a BuildOptions,
        wanted: Vec<PackageTarget>,
    ) -> Result<Self, Error> {
        let folders = wanted.iter().map(|(folder, _)| &**folder);
        let configuration = Configuration::read(folders, &setup.configs, &context.tools.env)?;
        let side_folder = context.cache.side_folder(setup.side());
        let foundation = foundation.digest(&side_folder, &setup.rustc, &configuration)?;
        let spec = spec(options);
        let into = context.cache.target_link(setup.side(), &spec);
        Ok(TargetBuild {
            context,
            setup,
            options,
            wanted,
            spec,
            into,
            configuration,
            foundation,
            linkers: BTreeMap::new(),
            trusts_folder: false,
            failed: None,
        })
    }

    /// The artifact, built unless another build would certainly produce the same. The
    /// side's link points to it afterwards.
    fn artifact(&mut self) -> Result<Artifact, Error> {
        let side = self.setup.side();
        let key = self.key();
        let targets = self.wanted.iter().map(|(_, target)| target.to_string());
        let targets = targets.collect::<Vec<_>>().join(", ");
        let artifact = match self.context.cache.artifact(&key, &self.context.tools.env)? {
            Some(artifact) => {
                self.context.event(Event::Fresh(side, &targets));
                artifact
            }
            None => {
                self.context.event(Event::Building(side, &targets));
                let mut contents = self.build()?;
                contents.files.retain(|path| path.is_file());
                self.context.cache.publish(&key, &self.into, contents)?
            }
        };
        self.context.cache.link_target(side, &self.spec, &artifact.files())?;
        Ok(artifact)
    }

    /// The name under which the artifact is kept.
    fn key(&self) -> ArtifactKey {
        let setup = self.setup;
        let labels = self.wanted.iter().map(|(folder, target)| label(setup, folder, target));
        ArtifactKey::new([
            ("side", setup.side().name().to_owned()),
            ("path", setup.worktree.path.display().to_string()),
            ("identity", setup.identity.clone()),
            ("targets", labels.collect::<Vec<_>>().join(" ")),
            ("build", format!("{:?}", self.options)),
            // It also sets the variables in which rustup reports its choice.
            ("toolchain", format!("{:?}", setup.toolchain)),
            ("lock", setup.lock.clone()),
            ("environment", digest(watched(&self.context.tools.env).as_bytes())),
            ("configuration", digest(self.configuration.text().as_bytes())),
            ("foundation", self.foundation.clone()),
        ])
    }

    /// Builds in the folder that is kept for it, and again in an empty one if that
    /// fails and the kept folder may be the reason.
    fn build(&mut self) -> Result<Contents, Error> {
        let (cache, interrupt) = (self.context.cache.clone(), self.context.tools.interrupt);
        let (side, spec) = (self.setup.side(), self.spec.clone());
        self.find_linkers()?;
        let folder = TargetFolder { cache: &cache, interrupt, side, spec: &spec };
        let mut record = folder.get_ready(&self.foundation)?;
        cache.link_target(side, &spec, &folder.path())?;
        // A base that does not build leads to a verdict, which a damaged folder
        // must not cause. And what build scripts wrote elsewhere may be missing.
        let is_verdict = side == Side::Base && !self.trusts_folder;
        let after_failure = is_verdict || record.wrote_elsewhere || record.start != Start::Intact;
        let first = match record.start {
            Start::Empty => Attempt::Last,
            Start::Intact | Start::Unknown => Attempt::First { after_failure },
        };
        folder.forget_files()?;
        let attempt = self.attempt(&mut record, first);
        if attempt.as_ref().is_err_and(is_the_codes) {
            // What was built all the same is known to the next build.
            folder.write(&record)?;
            folder.write_files()?;
        }
        let mut contents = attempt?;
        if contents.is_none() {
            self.context.event(Event::Diagnosing(side));
            record = folder.empty(&self.foundation)?;
            contents = self.attempt(&mut record, Attempt::Last)?;
        }
        let contents = contents.expect("the last attempt makes a build or an error");
        record.built = Some(SystemTime::now());
        record.inputs = contents.inputs.clone();
        folder.write(&record)?;
        folder.write_files()?;
        Ok(contents)
    }

    /// Finds the linker for each folder in which cargo is called.
    fn find_linkers(&mut self) -> Result<(), Error> {
        let (env, recorder) = (&self.context.tools.env, &self.context.request.record_link);
        for (folder, _) in &self.wanted {
            let configuration = Configuration::read([&**folder], &self.setup.configs, env)?;
            let rustc = &self.setup.rustc;
            let choice = LinkerChoice { configuration: &configuration, folder, env, rustc };
            let linker = choice.recording(&self.context.cache.linkers(), recorder);
            self.linkers.insert(folder.clone(), linker);
        }
        Ok(())
    }

    /// The recording linker for a folder, or why there is none.
    fn linker(&self, folder: &Path) -> Result<&Linker, String> {
        let linker = self.linkers.get(folder).ok_or("its folder is not known")?;
        linker.as_ref().map_err(String::clone)
    }

    /// Builds every target, and records the results. `None` if something went wrong and
    /// another attempt is allowed.
    fn attempt(
        &mut self,
        record: &mut TargetRecord,
        attempt: Attempt,
    ) -> Result<Option<Contents>, Error> {
        let began = SystemTime::now();
        let before = self.outline()?;
        let Some(built) = self.build_all(record, attempt)? else { return Ok(None) };
        let mut links = Vec::new();
        for (wanted, one) in self.wanted.iter().zip(&built) {
            let target = label(self.setup, &wanted.0, &wanted.1);
            let digest = digest_of(one)?;
            let known = record.executables.get(&target);
            let is_damaged = one.is_fresh && known.is_some_and(|known| *known != digest);
            if is_damaged && attempt != Attempt::Last {
                return Ok(None);
            }
            let link = self.linker(&wanted.0);
            links.push(link.and_then(|_| record::find(&self.into, &digest)));
            record.executables.insert(target, digest);
        }
        record.wrote_elsewhere = self.outline()? != before;
        let mut contents = Contents::default();
        for ((wanted, built), link) in self.wanted.iter().zip(&built).zip(links) {
            let executable = &built.executable;
            contents.executables.push(Executable {
                target: label(self.setup, &wanted.0, &wanted.1),
                path: executable.strip_prefix(&self.into).unwrap_or(executable).to_owned(),
                invocation: self.invocation(wanted, executable)?,
                link,
            });
        }
        self.add_contents(&mut contents, &built, began)?;
        if record.wrote_elsewhere {
            contents.inputs.set_unknown("a build script wrote into the worktree");
        }
        Ok(Some(contents))
    }

    /// Adds what runs of the executables need, and what the builds, which began at
    /// `began`, have read.
    fn add_contents(
        &self,
        contents: &mut Contents,
        built: &[Built],
        began: SystemTime,
    ) -> Result<(), Error> {
        let (context, side) = (&*self.context, self.setup.side());
        let mut files: BTreeSet<PathBuf> = BTreeSet::new();
        for built in built {
            files.extend(built.files.iter().cloned());
            for script in &built.scripts {
                files.extend(needed(&script.out_dir)?);
                contents.folders.push(script.out_dir.clone());
            }
        }
        contents.files.extend(files);
        let live = context.cache.target_folder(side, &self.spec);
        let traces = Traces::read(built, &live, &self.into)?;
        contents.folders.extend(traces.scratch_folder(&self.into));
        let invocations = contents.executables.iter().map(|executable| &executable.invocation);
        let set = invocations.flat_map(|invocation| invocation.env.iter().map(|(name, _)| name));
        let run_variables = set.chain(&self.configuration.variables).map(String::as_str);
        let places = Places {
            side: context.cache.side_folder(side),
            workspace: self.setup.root().to_owned(),
            home: cargo_home(&context.tools.env),
        };
        contents.inputs = traces.inputs(run_variables, &places, &context.tools.env, began);
        Ok(())
    }

    /// The content of the worktree, except for what cargo itself writes there.
    fn outline(&self) -> Result<Outline, Error> {
        Ok(outline(&self.setup.worktree.path, self.setup.root_inside())?)
    }

    /// Lets cargo build every target. `None` if that fails and another attempt is allowed.
    fn build_all(
        &mut self,
        record: &mut TargetRecord,
        attempt: Attempt,
    ) -> Result<Option<Vec<Built>>, Error> {
        let mut all = Vec::new();
        // In one call, cargo builds several targets at the same time.
        let of_one_call = |one: &PackageTarget, other: &PackageTarget| {
            one.0 == other.0 && one.1.kind == other.1.kind
        };
        for targets in self.wanted.clone().chunk_by(of_one_call) {
            let built = self.build_together(targets, record, attempt)?;
            let Some(built) = built else { return Ok(None) };
            all.extend(built);
        }
        Ok(Some(all))
    }

    /// Lets cargo build targets of one kind of one package, of which there is at least one.
    /// `None` if that fails and another attempt is allowed.
    fn build_together(
        &mut self,
        targets: &[PackageTarget],
        record: &mut TargetRecord,
        attempt: Attempt,
    ) -> Result<Option<Vec<Built>>, Error> {
        let tools = &self.context.tools;
        let messages = tempfile::NamedTempFile::new_in(&tools.scratch);
        let messages = messages.map_err(Error::io("create a file in", &tools.scratch))?;
        let folder = &targets[0].0;
        let command = self.cargo(self.call(targets).build_args(Diagnostics::Rendered), folder);
        let exit = tools.stream(command, Sink::File(messages.path().to_owned()))?;
        let built_by_it = |(folder, target): &PackageTarget| {
            let file = fs_err::File::open(messages.path());
            let file = file.map_err(Error::io("read", messages.path()))?;
            Ok::<_, Error>(cargo::read_messages(BufReader::new(file), target, folder))
        };
        if exit.success() {
            check_whole(messages.path())?;
            let built = targets.iter().map(|target| Ok(built_by_it(target)??));
            return built.collect::<Result<_, Error>>().map(Some);
        }
        if attempt == (Attempt::First { after_failure: true }) {
            return Ok(None);
        }
        let (mut made, mut missing) = (Vec::new(), Vec::new());
        for target in targets {
            match built_by_it(target)? {
                Ok(built) => {
                    self.note_new(target, &built, record)?;
                    made.push(target);
                }
                Err(_) => missing.push(target),
            }
        }
        self.context.event(Event::Diagnosing(self.setup.side()));
        let mut built = BTreeMap::new();
        for target in missing.into_iter().chain(made) {
            let one = self.build_again(target, attempt, messages.path())?;
            self.note_new(target, &one, record)?;
            built.insert(target, one);
        }
        Ok(Some(targets.iter().filter_map(|target| built.remove(target)).collect()))
    }

    /// Notes the digest of an executable that was just built: the next call of cargo finds it
    /// up to date.
    fn note_new(
        &self,
        (folder, target): &PackageTarget,
        built: &Built,
        record: &mut TargetRecord,
    ) -> Result<(), Error> {
        if !built.is_fresh {
            let digest = digest_of(built)?;
            record.executables.insert(label(self.setup, folder, target), digest);
        }
        Ok(())
    }

    /// Builds a target on its own after a call failed, which wrote `messages`, to find out
    /// whether it is the reason.
    fn build_again(
        &mut self,
        wanted: &PackageTarget,
        attempt: Attempt,
        messages: &Path,
    ) -> Result<Built, Error> {
        let (folder, target) = wanted;
        let messages = fs_err::File::open(messages).map_err(Error::io("read", messages))?;
        let has_library = self.setup.has_library(folder);
        let lacks_library =
            has_library && !cargo::has_built_library(BufReader::new(messages), folder)?;
        let is_proven = attempt == Attempt::Last;
        self.failed = Some(FailedTarget { target: wanted.clone(), lacks_library, is_proven });
        let call = self.call(std::slice::from_ref(wanted));
        // Folders and linker are of no use outside of this comparison, and would hide what failed.
        let shown = self.cargo(call.plain_args(), folder);
        let again = self.cargo(call.build_args(Diagnostics::Json), folder);
        let Worktree { side, path, .. } = &self.setup.worktree;
        let tools = &self.context.tools;
        let printed = diagnose::run_again(tools, shown.shown(), again, Tool::Cargo, *side, path)?;
        Ok(cargo::read_messages(printed.as_bytes(), target, folder)?)
    }

    /// The call of cargo for targets of one kind of one package, of which there is at least one.
    fn call<'c>(&'c self, targets: &'c [PackageTarget]) -> TargetCall<'c> {
        let (folder, target) = &targets[0];
        TargetCall {
            kind: target.kind,
            names: targets.iter().map(|(_, target)| &*target.name).collect(),
            options: self.options,
            into: &self.into,
            configs: &self.setup.configs,
            linker: self.linker(folder).ok(),
        }
    }

    fn cargo(&self, args: Vec<OsString>, folder: &Path) -> Command {
        let toolchain = self.setup.toolchain.as_deref();
        let mut command = self.context.tools.command("cargo", args, folder, toolchain);
        // A build folder in the user's configuration would be shared by both
        // sides; the variable overrides the file.
        command.set_var("CARGO_BUILD_BUILD_DIR", &self.into);
        command.set_var(record::FOLDER_VARIABLE, self.into.join(record::FOLDER));
        command
    }

    /// Finds out how cargo runs the executable: with this program as the
    /// runner, which writes down its arguments and environment. If the user has
    /// configured a runner, cargo does not call ours; then cargo's log is parsed, and the
    /// runner finds an executable that can't be executed.
    fn invocation(&self, wanted: &PackageTarget, executable: &Path) -> Result<Invocation, Error> {
        let folder = &wanted.0;
        let call = self.call(std::slice::from_ref(wanted));
        let tools = &self.context.tools;
        let note = tools.scratch.join("capture.json");
        remove(&note)?;
        let mut runner = self.context.request.capture.clone();
        runner.push(note.clone().into());
        let command = self.cargo(call.run_args(Some(&runner)), folder);
        let (shown, env) = (command.shown(), command.env.clone());
        let captured = while_not_executable(executable, || tools.capture(command))?;
        let Captured { exit, stderr, .. } = captured;
        let folder_of_error = folder.clone();
        if let Ok(text) = std::fs::read_to_string(&note) {
            let noted: Option<NotedCall> = serde_json::from_str(&text).ok();
            let found = noted.and_then(|noted| noted.invocation(executable, &env));
            return found.ok_or_else(|| {
                Kind::Tool { command: shown, folder: folder_of_error, exit, stderr }.into()
            });
        }
        let mut args = call.run_args(None);
        args.insert(1, "-vv".into());
        let command = self.cargo(args, folder);
        let shown = command.shown();
        let before = self.outline()?;
        let captured = while_not_executable(executable, || tools.capture(command))?;
        let Captured { exit, stderr: log, .. } = captured;
        self.remove_new(&before)?;
        cargo::invocation_from_log(&log, executable).ok_or_else(|| {
            Kind::Tool { command: shown, folder: folder_of_error, exit, stderr: log }.into()
        })
    }

    /// Removes what a run has added to the worktree since `before`, so that the runs of
    /// both sides find the same.
    fn remove_new(&self, before: &Outline) -> Result<(), Error> {
        for path in self.outline()?.keys().filter(|path| !before.contains_key(*path)) {
            remove(&self.setup.worktree.path.join(path))?;
        }
        Ok(())
    }
}

/// Calls cargo while nobody may execute a file: a benchmark that a runner starts would not find
/// its settings and what `setup` prepares.
fn while_not_executable<T>(
    path: &Path,
    call: impl FnOnce() -> Result<T, Error>,
) -> Result<T, Error> {
    let about = path.metadata().map_err(Error::io("read", path))?;
    let set =
        |permissions| fs_err::set_permissions(path, permissions).map_err(Error::io("change", path));
    if let Some(none) = mode(&about).and_then(|mode| permissions(mode & !0o111)) {
        set(none)?;
    }
    let result = call();
    set(about.permissions())?;
    result
}

/// The digest of the executable that cargo built.
fn digest_of(built: &Built) -> Result<String, Error> {
    digest_file(&built.executable).map_err(Error::io("read", &built.executable))
}

/// The files of an `OUT_DIR` that a program may read when it runs, without
/// those that are only for the linker.
fn needed(out_dir: &Path) -> Result<Vec<PathBuf>, Error> {
    let found = walk(out_dir, |_| false)?.into_iter().filter(|(_, about)| !about.is_dir());
    let is_for_linker = |path: &Path| {
        let extension = path.extension().and_then(OsStr::to_str).unwrap_or_default();
        ["a", "d", "o", "rlib", "rmeta"].contains(&extension)
    };
    let needed = found.map(|(path, _)| path).filter(|path| !is_for_linker(path));
    Ok(needed.map(|path| out_dir.join(path)).collect())
}

/// What the capturing runner wrote down.
#[derive(Debug, serde::Serialize, serde::Deserialize)]
struct NotedCall {
    argv: Vec<String>,
    env: Vec<(String, String)>,
}

impl NotedCall {
    /// The invocation of `executable` by a cargo whose own environment was `env`.
    fn invocation(self, executable: &Path, env: &Environment) -> Option<Invocation> {
        let (program, after) = self.argv.split_first()?;
        if Path::new(program) != executable {
            return None;
        }
        // For cargo, rustup prepends its own folder to a PATH that lacks it. If
        // that were kept, runs would use the PATH at the time of the build.
        let inherited = |(name, value): &(String, String)| {
            let had = var(env, name).and_then(OsStr::to_str);
            had.is_some_and(|had| value == had || (name == "PATH" && value.ends_with(had)))
        };
        let env = self.env.into_iter().filter(|pair| !inherited(pair)).collect();
        Some(Invocation { before: Vec::new(), after: after.to_vec(), env })
    }
}

/// The capturing runner: writes its arguments and environment into the file
/// that its first argument names.
///
/// # Errors
/// If it was called without arguments or can't write.
pub fn write_down(
    mut args: impl Iterator<Item = OsString>,
    vars: impl Iterator<Item = (OsString, OsString)>,
) -> std::io::Result<()> {
    let note = args.next().ok_or(std::io::ErrorKind::InvalidInput)?;
    let text = |word: OsString| word.to_string_lossy().into_owned();
    let env = vars.map(|(name, value)| (text(name), text(value))).collect();
    let call = NotedCall { argv: args.map(text).collect(), env };
    std::fs::write(note, serde_json::to_vec(&call)?)
}
