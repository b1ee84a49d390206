//! Builds both sides of every benchmark, and determines what each of them is: ready to be
//! measured, the same program on both sides, or without a baseline.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::build::{self, Artifacts, BuiltProgram, Runnable};
use super::build_command::{self, CommandWorktree};
use super::cache::artifact::Artifact;
use super::context::PrepareContext;
use super::identical::{self, Moves, SameRun};
use super::inputs::toolchain::ToolchainFingerprint;
use super::prepared::{Prepared, SourceFile, State};
use super::setup::sides::{Setup, SideSetup};
use super::{lock_file, run_policy};
use crate::error::{Error, Failure};
use crate::exec::error::unusable_harness;
use crate::exec::harness;
use crate::model::{
    BenchmarkNotice, Layouts, Notice, Pair, Removed, RunnerDiffers, SameReason, Side, Sides,
};
use crate::settings::options::{Benchmark, Subject};
use crate::workspace::functions::ChangedFunctions;

/// The builds of one side.
pub(super) struct BuiltSide<'a> {
    pub(super) setup: &'a SideSetup,
    pub(super) artifacts: Artifacts,
    pub(super) worktree: CommandWorktree,
}

impl BuiltSide<'_> {
    pub(super) fn runnable(
        &self,
        context: &PrepareContext<'_>,
        benchmark: &Benchmark,
    ) -> Result<Runnable, Error> {
        match &benchmark.subject {
            Subject::Target(target, options) => {
                build::runnable(context, self.setup, &self.artifacts, benchmark, target, options)
            }
            Subject::Command { words, build } => {
                let build = build.as_deref();
                Ok(self.worktree.runnable(context, self.setup, benchmark, words, build))
            }
        }
    }

    /// The source file of the target, if any.
    fn source(&self, benchmark: &Benchmark) -> Option<SourceFile> {
        let Subject::Target(target, _) = &benchmark.subject else { return None };
        let path = self.setup.package(&benchmark.package).ok()?.sources.get(target)?;
        Some(SourceFile { path: path.clone(), inside: self.setup.inside(path).to_owned() })
    }

    /// The names of the artifacts.
    pub(super) fn names(&self) -> Vec<String> {
        self.artifacts.built().map(Artifact::name).collect()
    }
}

/// The benchmarks of a comparison once both sides are built.
pub(super) struct BuiltBenchmarks {
    pub(super) prepared: Vec<Prepared>,
    /// Those that gate on the base, where they are another target or another harness, but
    /// are not measured.
    pub(super) lost: Vec<Removed>,
    /// The names of those that build on neither side.
    pub(super) unbuilt: Vec<String>,
}

/// Builds both sides of every benchmark, and determines the state of each.
pub(super) fn build_sides(
    context: &mut PrepareContext<'_>,
    sides: &Sides,
    setup: &Setup,
) -> Result<BuiltBenchmarks, Error> {
    let must_run = context.request.aa || context.request.always_run;
    let commands_differ = must_run || sides.base.tree != sides.head.tree;
    let built = build_both(context, setup, commands_differ)?;
    let changed = context.store()?.changed_paths(&sides.base, &sides.head)?;
    context.moves = moves(&setup.sides(), changed);
    let mut survey = Survey {
        setup,
        built,
        must_run,
        commands_differ,
        prepared: Vec::new(),
        lost: Vec::new(),
        unbuilt: Vec::new(),
        unusable: None,
        runner_differs: RunnerDiffers::new(context.request.policy_from),
        differing_args: BTreeMap::new(),
    };
    for benchmark in &setup.settings.benchmarks {
        let prepared = survey.examine(context, benchmark)?;
        survey.prepared.extend(prepared);
    }
    survey.finish(context)
}

/// Builds both sides of every benchmark; those of commands only if their trees differ.
fn build_both<'a>(
    context: &mut PrepareContext<'_>,
    setup: &'a Setup,
    commands_differ: bool,
) -> Result<Pair<BuiltSide<'a>>, Error> {
    let (setups, benchmarks) = (setup.sides(), &setup.settings.benchmarks);
    let mut toolchain =
        ToolchainFingerprint::new(&context.tools.env, context.cache.digests_of_tools())?;
    let mut build = |setup: &'a SideSetup, head: Option<&Artifacts>| {
        let artifacts = build::build_targets(context, &mut toolchain, setup, benchmarks, head)?;
        let worktree = match commands_differ {
            true => build_command::prepare(context, &mut toolchain, setup, benchmarks)?,
            false => CommandWorktree::default(),
        };
        Ok::<_, Error>(BuiltSide { setup, artifacts, worktree })
    };
    // If the head does not build, nothing can be measured, whatever the base does.
    let head = build(setups.head, None)?;
    let base = build(setups.base, Some(&head.artifacts))?;
    let artifacts = head.artifacts.excused_by(&base.artifacts)?;
    Ok(Pair { base, head: BuiltSide { artifacts, ..head } })
}

/// Where code has moved. Unknown if the workspace itself has moved, since the compiler names
/// sources by their paths from it.
fn moves(setups: &Pair<&SideSetup>, changed: Vec<String>) -> Moves {
    let workspace = setups.head.root_inside().to_owned();
    let is_same = setups.base.root_inside() == workspace;
    let trees = is_same.then(|| setups.map(|setup| setup.worktree.path.clone()));
    Moves::new(trees, workspace, changed)
}

/// What is known so far about the benchmarks, in their order.
struct Survey<'a> {
    setup: &'a Setup,
    built: Pair<BuiltSide<'a>>,
    /// Whether to measure although both sides are the same.
    must_run: bool,
    /// Whether commands may do different things on the two sides.
    commands_differ: bool,
    prepared: Vec<Prepared>,
    lost: Vec<Removed>,
    unbuilt: Vec<String>,
    /// The first benchmark that was left out because of its harness.
    unusable: Option<Failure>,
    runner_differs: RunnerDiffers,
    /// The benchmarks that cargo builds with different arguments on the two sides.
    differing_args: BTreeMap<Pair<Vec<String>>, Vec<String>>,
}

impl Survey<'_> {
    /// `None` if the benchmark is left out.
    fn examine(
        &mut self,
        context: &mut PrepareContext<'_>,
        benchmark: &Benchmark,
    ) -> Result<Option<Prepared>, Error> {
        let mut same_run = Err("one of them does not build".to_owned());
        if matches!(benchmark.subject, Subject::Command { .. }) && !self.commands_differ {
            context.notice(BenchmarkNotice::Identical { moved: 0 }.about(&benchmark.name));
            let state = State::Identical(SameReason::default());
            return Ok(Some(self.prepared(benchmark, state, same_run)));
        }
        if let Subject::Command { words, .. } = &benchmark.subject
            && let Some(path) = words.first().filter(|word| is_users(word, context))
        {
            let notice = BenchmarkNotice::OneFile { path: path.clone() };
            context.notice(notice.about(&benchmark.name));
        }
        let mut both = Pair::try_both(|side| self.built[side].runnable(context, benchmark))?;
        if let (Subject::Command { .. }, Some(why)) =
            (&benchmark.subject, self.setup.lack(benchmark))
        {
            both.base = Err(why);
        }
        if both.base.is_err() && both.head.is_err() && benchmark.is_found {
            // Others build; else the head's failure would be an error.
            let why = format!("it builds on neither side ({})", how_to_see(benchmark));
            self.unbuilt.push(benchmark.name.clone());
            context.notice(BenchmarkNotice::LeftOut { why }.about(&benchmark.name));
            return Ok(None);
        }
        if self.setup.lacks_gated(benchmark) {
            self.lost.push(Removed { benchmark: benchmark.name.clone(), metric: None });
        }
        if self.leave_out_unusable(context, benchmark, &both)? {
            return Ok(None);
        }
        if let Pair { base: Ok(base), head: Ok(head) } = &mut both {
            let programs = Pair { base: &mut base.program, head: &mut head.program };
            if programs.base.executable.is_some() {
                let setups = self.setup.sides();
                run_policy::share(context, &setups, programs, &mut self.runner_differs)?;
            }
            if let Some(args) = self.setup.differing_build(benchmark) {
                self.differing_args.entry(args).or_default().push(benchmark.name.clone());
            }
            let folders = context.side_folders();
            same_run = identical::same_run(&base.program, &head.program, &folders);
        }
        let is_same = same_run.as_ref().is_ok_and(|same| same.renamed.is_empty());
        let may_be_identical = !self.must_run && is_same;
        let state = state_of(context, self.setup, benchmark, both, may_be_identical)?;
        Ok(Some(self.prepared(benchmark, state, same_run)))
    }

    /// Leaves a target that was not named out if its harness can't be used; returns whether it
    /// did.
    fn leave_out_unusable(
        &mut self,
        context: &mut PrepareContext<'_>,
        benchmark: &Benchmark,
        both: &Pair<Runnable>,
    ) -> Result<bool, Error> {
        if !benchmark.is_found || benchmark.harness.is_some() {
            return Ok(false);
        }
        for side in Side::BOTH {
            let Ok(built) = &both[side] else { continue };
            let Some(path) = &built.program.executable else { continue };
            let executable = fs_err::read(path).map_err(Error::io("read", path))?;
            let Some(harness) = harness::unusable(&executable) else { continue };
            let benchmark = benchmark.name.clone();
            if side == Side::Head && self.setup.gated.contains(&benchmark) {
                self.lost.push(Removed { benchmark: benchmark.clone(), metric: None });
            }
            let why = format!("the results of {harness} can't be read");
            context.notice(BenchmarkNotice::LeftOut { why }.about(&benchmark));
            self.unusable.get_or_insert(unusable_harness(&benchmark, harness));
            return Ok(true);
        }
        Ok(false)
    }

    fn prepared(
        &self,
        benchmark: &Benchmark,
        state: State,
        same_run: Result<SameRun, String>,
    ) -> Prepared {
        let libraries = self.built.as_ref().map(|side| {
            let lock = side.setup.root().join("Cargo.lock");
            let package = side.setup.package(&benchmark.package);
            let package = package.map_or(&benchmark.package, |package| &package.name);
            lock_file::versions(&lock, package, &harness::libraries())
        });
        Prepared {
            benchmark: benchmark.clone(),
            state,
            unconfirmed: None,
            same_run,
            libraries,
            source: self.built.head.source(benchmark),
            changed: ChangedFunctions::default(),
        }
    }

    fn finish(self, context: &mut PrepareContext<'_>) -> Result<BuiltBenchmarks, Error> {
        if let (Some(unusable), true) = (self.unusable, self.prepared.is_empty()) {
            return Err(unusable.into());
        }
        if !self.runner_differs.is_empty() {
            context.notice(Notice::RunnerDiffers(self.runner_differs));
        }
        for (args, benchmarks) in self.differing_args {
            context.notice(Notice::BuildDiffers { benchmarks, args });
        }
        if !self.lost.is_empty() {
            context.notice(Notice::Removed(self.lost.clone()));
        }
        context.cache.prune(&[self.built.base.names(), self.built.head.names()].concat());
        let Survey { prepared, lost, unbuilt, .. } = self;
        Ok(BuiltBenchmarks { prepared, lost, unbuilt })
    }
}

/// Whether a program is named by its full path in the user's working tree.
fn is_users(program: &str, context: &PrepareContext<'_>) -> bool {
    let is_there = |path: PathBuf| {
        path.starts_with(context.repo.root()) && !path.starts_with(context.cache.path())
    };
    let path = Path::new(program);
    path.is_absolute() && path.canonicalize().is_ok_and(is_there)
}

/// Which option shows why a target that was not named does not build.
pub(super) fn how_to_see(benchmark: &Benchmark) -> String {
    let Benchmark { package, subject, .. } = benchmark;
    match subject {
        Subject::Target(target, _) => format!("`-p {package} --bench {}` shows why", target.name),
        Subject::Command { .. } => String::new(),
    }
}

fn state_of(
    context: &mut PrepareContext<'_>,
    setup: &Setup,
    benchmark: &Benchmark,
    both: Pair<Runnable>,
    may_be_identical: bool,
) -> Result<State, Error> {
    let (mut base, mut head) = match (both.base, both.head) {
        (Ok(base), Ok(head)) => (base, head),
        (Err(why), _) | (_, Err(why)) => {
            let why = why + setup.own_toolchain(benchmark).unwrap_or_default();
            context.notice(BenchmarkNotice::NoBaseline { why }.about(&benchmark.name));
            return Ok(State::NoBaseline);
        }
    };
    let moved = if may_be_identical { moved_locations(context, &base, &head)? } else { None };
    // Nothing differs that they could read, either.
    if let Some(moved) = moved.filter(|_| context.moves.changed.is_empty()) {
        context.notice(BenchmarkNotice::Identical { moved }.about(&benchmark.name));
        return Ok(State::Identical(SameReason::default()));
    }
    if setup.settings.policy.layouts != Layouts::Off {
        let setups = setup.sides();
        base.link_heap_object(context, setups.base);
        head.link_heap_object(context, setups.head);
    }
    let programs = Box::new(Pair { base: base.program, head: head.program });
    Ok(match moved {
        Some(moved) => State::Same(programs, moved),
        None => State::Ready(programs),
    })
}

/// In how many locations of code two programs differ, if in nothing else and only because that
/// code has moved.
fn moved_locations(
    context: &PrepareContext<'_>,
    base: &BuiltProgram,
    head: &BuiltProgram,
) -> Result<Option<usize>, Error> {
    let (Some((base, _)), Some((head, _))) = (&base.artifact, &head.artifact) else {
        return Ok(None);
    };
    let folders = context.side_folders();
    let found = identical::difference(base, &folders.base, head, &folders.head)?;
    let found = found.filter(|all| all.is_empty() || context.moves.explain_all(all));
    Ok(found.map(|all| all.len()))
}
