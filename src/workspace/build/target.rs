//! One build: of some targets of one side with the same options, into one target folder.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::io::BufReader;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use super::failure::{BrokenTarget, FailedBuild, is_fault_of_code};
use super::package_target::{PackageTarget, spec};
use crate::engine::event::Event;
use crate::error::Error;
use crate::exec::process::{Command, Sink};
use crate::exec::system::{digest, digest_file, mode, permissions};
use crate::model::target::{BuildOptions, TargetKind};
use crate::workspace::cache::artifact::{self, Artifact, ArtifactKey, Contents, Executable};
use crate::workspace::cargo::{self, BuildMessages, Built, Invocation, Linker, TargetCall};
use crate::workspace::context::PrepareContext;
use crate::workspace::diagnose::{self, Tool};
use crate::workspace::environment::tracked_by_cargo;
use crate::workspace::error::WorkspaceError;
use crate::workspace::files::{remove, walk};
use crate::workspace::folder_record::{Outline, outline};
use crate::workspace::inputs::configuration::Configuration;
use crate::workspace::inputs::toolchain::ToolchainFingerprint;
use crate::workspace::inputs::traces::{BuildSite, Traces};
use crate::workspace::lock_file;
use crate::workspace::relink::linker::{LinkerChoice, STRIP_VARIABLE};
use crate::workspace::relink::record;
use crate::workspace::setup::sides::SideSetup;
use crate::workspace::target_folder::{FolderStart, FolderUse, TargetFolder, TargetRecord};
use crate::workspace::tools::check_whole;

pub(super) struct TargetBuild<'a, 'b> {
    context: &'a mut PrepareContext<'b>,
    setup: &'a SideSetup,
    options: &'a BuildOptions,
    wanted: &'a [PackageTarget],
    /// Whether the code may only be blamed once a damaged folder is excluded.
    needs_proof: bool,
    /// The link to the folder in which cargo builds.
    into: PathBuf,
    configuration: Configuration,
    /// A digest of what cargo does not track.
    toolchain: String,
}

impl<'a, 'b> TargetBuild<'a, 'b> {
    pub(super) fn new(
        context: &'a mut PrepareContext<'b>,
        toolchain: &mut ToolchainFingerprint,
        setup: &'a SideSetup,
        options: &'a BuildOptions,
        wanted: &'a [PackageTarget],
        needs_proof: bool,
    ) -> Result<Self, Error> {
        let folders = wanted.iter().map(|target| &*target.folder);
        let configuration = Configuration::read(folders, &setup.configs, &context.tools.env)?;
        let side_folder = context.cache.side_folder(setup.side());
        let toolchain = toolchain.digest(&side_folder, &setup.versions(), &configuration)?;
        let into = context.cache.target_link(setup.side(), &spec(options));
        Ok(TargetBuild {
            context,
            setup,
            options,
            wanted,
            needs_proof,
            into,
            configuration,
            toolchain,
        })
    }

    /// The artifact, built unless another build would certainly produce the same. If it was built,
    /// the side's link still points to the folder of cargo.
    pub(super) fn artifact(&mut self) -> Result<Artifact, FailedBuild> {
        let side = self.setup.side();
        let key = self.key();
        let targets = self.wanted.iter().map(|wanted| wanted.target.to_string());
        let targets = targets.collect::<Vec<_>>().join(", ");
        match artifact::find(&self.context.cache, &key, &self.context.tools.env)? {
            Some(artifact) => {
                self.context.event(Event::Fresh(side, &targets));
                Ok(artifact)
            }
            None => {
                self.context.event(Event::Building(side, &targets));
                let mut contents = self.build()?;
                contents.files.retain(|path| path.is_file());
                Ok(artifact::publish(&self.context.cache, &key, &self.into, contents)?)
            }
        }
    }

    /// The name under which the artifact is kept.
    fn key(&self) -> ArtifactKey {
        let setup = self.setup;
        let labels = self.wanted.iter().map(|target| target.label(setup));
        ArtifactKey::new([
            ("side", setup.side().name().to_owned()),
            ("path", setup.worktree.path.display().to_string()),
            ("identity", setup.identity.clone()),
            ("targets", labels.collect::<Vec<_>>().join(" ")),
            ("build", format!("{:?}", self.options)),
            // It also sets the variables in which rustup reports its choice.
            ("toolchain", format!("{:?}", setup.toolchain)),
            ("lock", setup.lock.clone()),
            ("environment", digest(tracked_by_cargo(&self.context.tools.env).as_bytes())),
            ("configuration", digest(self.configuration.text().as_bytes())),
            ("foundation", self.toolchain.clone()),
        ])
    }

    /// Builds in the folder that is kept for it, and again in an empty one if that may be
    /// the reason of a failure.
    fn build(&mut self) -> Result<Contents, FailedBuild> {
        let (cache, interrupt) = (self.context.cache.clone(), self.context.tools.interrupt);
        let (side, spec) = (self.setup.side(), spec(self.options));
        let folder = TargetFolder { cache: &cache, interrupt, side, spec: &spec };
        let libraries = lock_file::external(&self.setup.root().join("Cargo.lock"));
        let store = self.context.store()?;
        let SideSetup { worktree, identity, workspace, .. } = self.setup;
        let revision = &worktree.revision;
        let mut record = folder.get_ready(&FolderUse {
            toolchain: &self.toolchain,
            libraries: &libraries,
            members: workspace.as_ref().map_or(0, |workspace| workspace.packages.len()),
            root: self.setup.root(),
            identity,
            changed_since: &|old| store.changed_paths(old, revision).ok(),
        })?;
        cache.link_target(side, &spec, &folder.path())?;
        folder.forget_files()?;
        let began = SystemTime::now();
        let mut built = self.attempt(&mut record);
        if let Err(FailedBuild::Folder(_)) = built {
            self.context.event(Event::Diagnosing(side));
            record = folder.empty(&self.toolchain)?;
            built = self.attempt(&mut record);
        }
        record.built = Some(SystemTime::now());
        record.identity.clone_from(identity);
        record.revision = Some(revision.clone());
        match &built {
            Ok(contents) => {
                record.inputs = contents.inputs.clone();
                record.libraries = libraries.clone();
            }
            // What was built all the same is known to the next build, and so is from what.
            Err(failed) => {
                record.inputs.add_files_of(self.traces(&[], began)?.inputs([]));
                if !matches!(failed, FailedBuild::Code(_)) {
                    folder.write(&record)?;
                    return built;
                }
            }
        }
        folder.write(&record)?;
        folder.write_files()?;
        built
    }

    /// The recording linker for a folder in which cargo is called, or why there is none.
    fn linker(&self, folder: &Path) -> Result<Linker, String> {
        let (env, SideSetup { configs, rustc, .. }) = (&self.context.tools.env, self.setup);
        let configuration = Configuration::read([folder], configs, env);
        let configuration = &configuration.map_err(|error| error.to_string())?;
        let choice = LinkerChoice { configuration, folder, env, rustc };
        choice.recording(&self.context.cache.linkers(), &self.context.request.record_link)
    }

    /// Builds every target, and records the results.
    fn attempt(&mut self, record: &mut TargetRecord) -> Result<Contents, FailedBuild> {
        let began = SystemTime::now();
        let before = self.outline()?;
        let built = self.build_all(record);
        let has_written = self.outline()? != before;
        // A failed build may have ended before the script that wrote in an earlier one.
        record.wrote_elsewhere = has_written || (built.is_err() && record.wrote_elsewhere);
        let built = built?;
        let invocations = self.invocations(&built)?;
        let (mut contents, mut files) = (Contents::default(), BTreeSet::new());
        for ((wanted, one), invocation) in self.wanted.iter().zip(&built).zip(invocations) {
            let (name, digest) = (self.recorded_name(wanted), digest_of(one)?);
            let is_other = record.executables.get(&name).is_some_and(|known| *known != digest);
            // Cargo considers it up to date, but it is not the one that cargo made.
            if one.is_fresh && is_other && record.start != FolderStart::Empty {
                let error = cargo::Error::NoExecutable(wanted.target.to_string());
                return Err(FailedBuild::Folder(error.into()));
            }
            contents.executables.push(Executable {
                target: wanted.label(self.setup),
                path: one.executable.strip_prefix(&self.into).unwrap_or(&one.executable).to_owned(),
                link: self.linker(&wanted.folder).and_then(|_| record::find(&self.into, &digest)),
                invocation,
            });
            record.executables.insert(name, digest);
            files.extend(one.files.iter().cloned());
            for script in &one.scripts {
                files.extend(needed(&script.out_dir)?);
                contents.folders.push(script.out_dir.clone());
            }
        }
        contents.files.extend(files);
        let traces = self.traces(&built, began)?;
        contents.folders.extend(traces.scratch_folder());
        let invocations = contents.executables.iter().map(|executable| &executable.invocation);
        let set = invocations.flat_map(|invocation| invocation.env.iter().map(|(name, _)| name));
        let run_variables = set.chain(&self.configuration.variables).map(String::as_str);
        contents.inputs = traces.inputs(run_variables);
        if record.wrote_elsewhere {
            contents.inputs.set_unknown("a build script wrote into the worktree");
        }
        Ok(contents)
    }

    /// The traces of these builds, which began at `began`, and of all earlier ones in the folder.
    fn traces<'t>(&'t self, built: &'t [Built], began: SystemTime) -> Result<Traces<'t>, Error> {
        let (context, setup) = (&self.context, self.setup);
        let site = BuildSite {
            built,
            began,
            env: &context.tools.env,
            into: &self.into,
            side: context.cache.side_folder(setup.side()),
            workspace: setup.root(),
        };
        Traces::read(site, &context.cache.target_folder(setup.side(), &spec(self.options)))
    }

    /// The content of the worktree, except for what cargo itself writes there.
    fn outline(&self) -> Result<Outline, Error> {
        Ok(outline(&self.setup.worktree.path, self.setup.root_inside())?)
    }

    fn build_all(&mut self, record: &mut TargetRecord) -> Result<Vec<Built>, FailedBuild> {
        let mut all = Vec::new();
        for targets in self.calls() {
            all.extend(self.build_together(targets, record)?);
        }
        Ok(all)
    }

    /// The targets, those together that one call of cargo can build, or run: several at the same
    /// time.
    fn calls(&self) -> impl Iterator<Item = &'a [PackageTarget]> + use<'a> {
        self.wanted.chunk_by(|one, other| {
            one.folder == other.folder && one.target.kind == other.target.kind
        })
    }

    /// Lets cargo build targets of one kind of one package, of which there is at least one.
    fn build_together(
        &mut self,
        targets: &[PackageTarget],
        record: &mut TargetRecord,
    ) -> Result<Vec<Built>, FailedBuild> {
        let tools = &self.context.tools;
        let scratch = tools.scratch.path();
        let messages = tempfile::NamedTempFile::new_in(scratch);
        let messages = messages.map_err(Error::io("create a file in", scratch))?;
        let folder = &targets[0].folder;
        let command = self.cargo(self.call(targets).build_args("json-render-diagnostics"), folder);
        let shown = command.shown();
        let exit = tools.stream(command, Sink::File(messages.path().to_owned()))?;
        if exit.success() {
            check_whole(messages.path())?;
        } else if record.may_be_to_blame(self.needs_proof) {
            let (side, command) = (self.setup.side(), shown);
            let failed = WorkspaceError::Unbuilt { side, command, exit, source: None };
            return Err(FailedBuild::Folder(failed.into()));
        }
        let read =
            fs_err::File::open(messages.path()).map_err(Error::io("read", messages.path()))?;
        let messages = BuildMessages::read(BufReader::new(read))?;
        match exit.success() {
            true => targets.iter().map(|one| Ok(self.built(one, &messages, record)?)).collect(),
            false => self.build_each_again(targets, record, &messages),
        }
    }

    /// Builds targets one by one after a call for all of them failed, which printed `messages`,
    /// to find out which are the reason: those that it did not build, else the others.
    fn build_each_again(
        &mut self,
        targets: &[PackageTarget],
        record: &mut TargetRecord,
        messages: &BuildMessages,
    ) -> Result<Vec<Built>, FailedBuild> {
        let was_built = |target: &&PackageTarget| self.built(target, messages, record).is_ok();
        let (made, missing): (Vec<_>, Vec<_>) = targets.iter().partition(was_built);
        self.context.event(Event::Diagnosing(self.setup.side()));
        let (mut built, mut reasons) = (BTreeMap::new(), Vec::<BrokenTarget>::new());
        let unmade = missing.len();
        for (number, target) in missing.into_iter().chain(made).enumerate() {
            if number >= unmade && !reasons.is_empty() {
                break;
            } else if reasons.iter().any(|reason| reason.explains(target)) {
                continue;
            }
            match self.build_again(target, record) {
                Ok(one) => drop(built.insert(target, one)),
                // What is the machine's fault would end all others, too.
                Err(error) if !is_fault_of_code(&error) => return Err(error.into()),
                Err(error) => {
                    let package = self.setup.package_in(&target.folder);
                    let lacks_library = package.is_some_and(|package| package.library.is_some())
                        && !messages.has_library(&target.folder);
                    reasons.push(BrokenTarget { target: target.clone(), lacks_library, error });
                }
            }
        }
        match reasons.is_empty() {
            true => Ok(targets.iter().filter_map(|target| built.remove(target)).collect()),
            false => Err(FailedBuild::Code(reasons)),
        }
    }

    /// The name of a target in the record of the folder.
    fn recorded_name(&self, target: &PackageTarget) -> String {
        format!("{} {:?}", target.label(self.setup), self.options.of_one_unit)
    }

    /// What a call of cargo that printed `messages` has built of a target. The digest of an
    /// executable that is new is noted, since the next call finds it up to date.
    fn built(
        &self,
        target: &PackageTarget,
        messages: &BuildMessages,
        record: &mut TargetRecord,
    ) -> Result<Built, Error> {
        let built = messages.built(&target.target, &target.folder)?;
        if !built.is_fresh {
            record.executables.insert(self.recorded_name(target), digest_of(&built)?);
        }
        Ok(built)
    }

    /// Builds a target on its own after a call failed, to find out whether it is the reason.
    fn build_again(
        &self,
        wanted: &PackageTarget,
        record: &mut TargetRecord,
    ) -> Result<Built, Error> {
        let folder = &wanted.folder;
        let call = self.call(std::slice::from_ref(wanted));
        // Folders and linker are of no use outside of this comparison, and would hide what failed.
        let mut shown = call.plain_args();
        if let Some(package) = self.setup.package_in(folder)
            && folder != self.setup.root()
        {
            shown.splice(1..1, ["-p".into(), package.name.clone().into()]);
        }
        let shown = self.cargo(shown, folder);
        let again = self.cargo(call.build_args("json"), folder);
        let (tools, worktree) = (&self.context.tools, &self.setup.worktree);
        let (shown, tree) = (shown.shown(), &worktree.path);
        let printed = diagnose::run_again(tools, shown, again, Tool::Cargo, worktree, tree)?;
        self.built(wanted, &BuildMessages::read(printed.as_bytes())?, record)
    }

    /// The call of cargo for targets of one kind of one package, of which there is at least one.
    fn call<'c>(&'c self, targets: &'c [PackageTarget]) -> TargetCall<'c> {
        let PackageTarget { folder, target } = &targets[0];
        TargetCall {
            kind: target.kind,
            names: targets.iter().map(|wanted| &*wanted.target.name).collect(),
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
        if self.options.strips_names {
            command.set_var(STRIP_VARIABLE, "1");
        }
        command
    }

    /// Finds out how cargo runs what was built, in the order of the targets.
    fn invocations(&self, built: &[Built]) -> Result<Vec<Invocation>, Error> {
        let (mut all, mut built) = (Vec::new(), built.iter());
        for targets in self.calls() {
            // `cargo run` runs one program.
            let at_once =
                if targets[0].target.kind == TargetKind::Bench { targets.len() } else { 1 };
            for targets in targets.chunks(at_once) {
                let executables: Vec<_> =
                    built.by_ref().take(targets.len()).map(|built| &*built.executable).collect();
                all.extend(self.invocations_of_call(targets, &executables)?);
            }
        }
        Ok(all)
    }

    /// Finds out how cargo runs targets in one call: with this program as the runner, which
    /// records its arguments and environment.
    fn invocations_of_call(
        &self,
        targets: &[PackageTarget],
        executables: &[&Path],
    ) -> Result<Vec<Invocation>, Error> {
        let tools = &self.context.tools;
        let file = tools.scratch.path().join("invocations");
        remove(&file)?;
        let mut runner = self.context.request.capture.clone();
        runner.push(file.clone().into());
        let command = self.cargo(self.call(targets).run_args(Some(&runner)), &targets[0].folder);
        let env = command.env.clone();
        let ran = while_not_executable(executables, || tools.capture(command))?;
        let Ok(text) = std::fs::read_to_string(&file) else {
            let targets = targets.iter().zip(executables);
            return targets
                .map(|(one, executable)| self.logged_invocation(one, executable))
                .collect();
        };
        let recorded = |path: &&Path| cargo::recorded_invocation(&text, path, &env);
        let all = executables.iter().map(recorded).collect::<Option<_>>();
        all.ok_or_else(|| ran.failed().into())
    }

    /// Finds the invocation of an executable in cargo's log. If the user has configured a runner,
    /// cargo does not call ours, and the runner finds an executable that can't be executed.
    fn logged_invocation(
        &self,
        target: &PackageTarget,
        executable: &Path,
    ) -> Result<Invocation, Error> {
        let mut args = self.call(std::slice::from_ref(target)).run_args(None);
        args.insert(1, "-vv".into());
        let before = self.outline()?;
        let command = self.cargo(args, &target.folder);
        let ran = while_not_executable(&[executable], || self.context.tools.capture(command))?;
        // The runs of both sides find the same.
        for path in self.outline()?.keys().filter(|path| !before.contains_key(*path)) {
            remove(&self.setup.worktree.path.join(path))?;
        }
        let found = cargo::invocation_from_log(&ran.stderr, executable);
        found.ok_or_else(|| ran.failed().into())
    }
}

/// Calls cargo while nobody may execute these files: a benchmark that a runner starts would not
/// find its settings and what `setup` prepares.
fn while_not_executable<T>(
    paths: &[&Path],
    call: impl FnOnce() -> Result<T, Error>,
) -> Result<T, Error> {
    let set = |path, mode| {
        fs_err::set_permissions(path, permissions(mode)).map_err(Error::io("change", path))
    };
    let mode = |path: &Path| Ok(mode(&path.metadata().map_err(Error::io("read", path))?));
    let modes: Vec<u32> = paths.iter().map(|path| mode(path)).collect::<Result<_, Error>>()?;
    let each = || paths.iter().zip(&modes);
    each().try_for_each(|(path, mode)| set(path, mode & !0o111))?;
    let result = call();
    // Whoever may read it may execute it, also if an earlier call was killed before this.
    each().try_for_each(|(path, mode)| set(path, mode | (mode & 0o444) >> 2))?;
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
