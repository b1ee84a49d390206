//! Builds the targets of one side, and publishes what their runs need.

mod failure;
mod package_target;
mod target;

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;

use self::failure::FailedBuild;
pub(super) use self::failure::is_fault_of_code;
use self::package_target::{PackageTarget, spec};
use self::target::TargetBuild;
use super::context::PrepareContext;
use super::environment::for_run;
use super::inputs::toolchain::ToolchainFingerprint;
use super::setup::sides::SideSetup;
use crate::error::Error;
use crate::exec::process::Command;
use crate::exec::program::Program;
use crate::model::target::{BuildOptions, Target};
use crate::settings::options::{Benchmark, Subject};
use crate::workspace::cache::artifact::Artifact;
use crate::workspace::cargo;

/// The builds of the targets of one side.
#[derive(Default)]
pub(super) struct Artifacts {
    /// By the options they were built with.
    built: BTreeMap<BuildOptions, Artifact>,
    /// The targets that do not build because of the code, each time with the reason.
    failed: Vec<(Vec<BuiltTarget>, Error)>,
}

/// A target: the options of its build, which may differ between the sides, and its label, by
/// which both sides identify it.
type BuiltTarget = (BuildOptions, String);

impl Artifacts {
    pub(super) fn built(&self) -> impl Iterator<Item = &Artifact> {
        self.built.values()
    }

    /// Whether a target of this label does not build.
    fn has_failed(&self, label: &str) -> bool {
        self.failed.iter().flat_map(|(targets, _)| targets).any(|(_, failed)| failed == label)
    }

    /// These builds of the head, if all that fails there fails on the `base`, too.
    ///
    /// # Errors
    /// That of the first target of which this is not so.
    pub(super) fn excused_by(mut self, base: &Artifacts) -> Result<Self, Error> {
        let is_new = |(targets, _): &(Vec<BuiltTarget>, Error)| {
            targets.iter().any(|(_, label)| !base.has_failed(label))
        };
        match self.failed.iter().position(is_new) {
            Some(at) => Err(self.failed.swap_remove(at).1),
            None => Ok(self),
        }
    }
}

/// What there is to run for a benchmark on a side, or why there is nothing.
pub(super) type Runnable = Result<Box<BuiltProgram>, String>;

pub(super) struct BuiltProgram {
    pub(super) program: Program,
    /// What cargo built for it, and the label of its target there.
    pub(super) artifact: Option<(Artifact, String)>,
}

impl BuiltProgram {
    /// Lets the program link the object that scatters its heap, if it can be linked again. To find
    /// out what the object has to call takes a search in the kept files.
    pub(super) fn link_heap_object(&mut self, context: &PrepareContext<'_>, setup: &SideSetup) {
        let (Some((artifact, label)), Ok(relink)) = (&self.artifact, &mut self.program.relink)
        else {
            return;
        };
        let tools = &context.tools;
        let rustc = |args: Vec<OsString>| {
            let (folder, toolchain) = (&setup.worktree.path, setup.toolchain.as_deref());
            tools.output(tools.command("rustc", args, folder, toolchain)).is_ok()
        };
        let link = artifact.executable(label).and_then(|executable| executable.link.as_ref().ok());
        let objects = context.cache.heap_objects().ok();
        relink.heap = link.zip(objects).and_then(|(link, objects)| {
            link.heap_object(&artifact.links(), &objects, &setup.rustc, rustc)
        });
    }
}

/// Builds every target of one side, those with the same options together. The base is built after
/// the `head`, with the builds of that.
///
/// # Errors
/// [`WorkspaceError::Build`](super::error::WorkspaceError::Build) if a target of the head that was
/// named does not build because of its code, or no target does; cargo has printed why.
pub(super) fn build_targets(
    context: &mut PrepareContext<'_>,
    toolchain: &mut ToolchainFingerprint,
    setup: &SideSetup,
    benchmarks: &[Benchmark],
    head: Option<&Artifacts>,
) -> Result<Artifacts, Error> {
    // Apart from the rest, what fails on the head: its failure here is no news.
    let mut groups: BTreeMap<(BuildOptions, bool), Vec<PackageTarget>> = BTreeMap::new();
    let mut named = BTreeSet::new();
    let mut artifacts = Artifacts::default();
    for benchmark in benchmarks {
        let Subject::Target(target, options) = &benchmark.subject else { continue };
        let Ok(folder) = setup.folder_of(benchmark, target) else { continue };
        let options = setup.options(benchmark, target, options);
        let wanted = PackageTarget { folder: folder.to_owned(), target: target.clone() };
        let label = wanted.label(setup);
        if context.request.unbuilt.contains(&benchmark.name) {
            let error = cargo::Error::NoExecutable(target.to_string()).into();
            artifacts.failed.push((vec![(options, label)], error));
            continue;
        }
        let fails_on_head = head.is_some_and(|head| head.has_failed(&label));
        if !benchmark.is_found {
            named.insert((options.clone(), label));
        }
        let group = groups.entry((options, fails_on_head)).or_default();
        if !group.contains(&wanted) {
            group.push(wanted);
        }
    }
    for ((options, fails_on_head), mut wanted) in groups {
        // Without a proof, a damaged folder would cost what builds on the head its baseline.
        let needs_proof = head.is_some() && !fails_on_head;
        // Without targets that fail for the same reason, the others may still build.
        while !wanted.is_empty() {
            let mut build =
                TargetBuild::new(context, toolchain, setup, &options, &wanted, needs_proof)?;
            let all_broken = match build.artifact() {
                Ok(artifact) => {
                    artifacts.built.entry(options).or_insert(artifact);
                    break;
                }
                Err(FailedBuild::Code(broken)) => broken,
                Err(FailedBuild::Folder(error) | FailedBuild::Both(error)) => return Err(error),
            };
            for broken in all_broken {
                let (lost, rest): (Vec<_>, Vec<_>) =
                    wanted.into_iter().partition(|target| broken.explains(target));
                let lost = lost.iter().map(|target| (options.clone(), target.label(setup)));
                let lost: Vec<BuiltTarget> = lost.collect();
                if head.is_none() && lost.iter().any(|target| named.contains(target)) {
                    return Err(broken.error);
                }
                artifacts.failed.push((lost, broken.error));
                wanted = rest;
            }
        }
    }
    // All builds are over, which need the link at the folder of cargo.
    for (options, artifact) in &artifacts.built {
        context.cache.link_target(setup.side(), &spec(options), &artifact.files())?;
    }
    let is_command = |benchmark: &Benchmark| matches!(benchmark.subject, Subject::Command { .. });
    let has_any = !artifacts.built.is_empty() || benchmarks.iter().any(is_command);
    match artifacts.failed.first() {
        // Nothing is left that could be measured.
        Some(_) if !has_any && head.is_none() => Err(artifacts.failed.swap_remove(0).1),
        _ => Ok(artifacts),
    }
}

/// What to run for a target, as cargo would run it.
pub(super) fn runnable(
    context: &PrepareContext<'_>,
    setup: &SideSetup,
    artifacts: &Artifacts,
    benchmark: &Benchmark,
    target: &Target,
    options: &BuildOptions,
) -> Result<Runnable, Error> {
    let folder = match setup.folder_of(benchmark, target) {
        Ok(folder) => folder,
        Err(why) => return Ok(Err(why)),
    };
    let options = setup.options(benchmark, target, options);
    let wanted = PackageTarget { folder: folder.to_owned(), target: target.clone() };
    let wanted = (options, wanted.label(setup));
    let failed = artifacts.failed.iter().find(|(targets, _)| targets.contains(&wanted));
    if let Some((_, error)) = failed {
        return Ok(Err(error.to_string()));
    }
    let (options, label) = wanted;
    let none = || cargo::Error::NoExecutable(target.to_string());
    let artifact = artifacts.built.get(&options).ok_or_else(none)?;
    let executable = artifact.executable(&label).ok_or_else(none)?;
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
    let relink = executable.link.as_ref();
    let program = Program {
        command,
        executable: Some(path),
        executable_sha256: artifact.digest(&executable.path).map(str::to_owned),
        relink: relink
            .map_err(String::clone)
            .and_then(|link| link.relink(&artifact.links(), &setup.rustc, &context.tools.env)),
        identity: artifact.name(),
        home: context.cache.side_folder(side),
        records: Some(artifact.records()),
        comparisons: Some(artifact.comparisons()),
    };
    let artifact = Some((artifact.clone(), label));
    Ok(Ok(Box::new(BuiltProgram { program, artifact })))
}
