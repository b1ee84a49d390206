//! From two revisions to two sets of executables that can be measured.
//!
//! `prepare` and `prepare_one` are the top-level functions; the other files are their
//! steps, in this order: `fetch` finds the commits, `checkout` makes worktrees of them in
//! the [`cache`], `setup` reads what determines their builds (and `overlay` may copy one
//! side's benchmarks over the other's), `build` and `build_command` build, and `run_policy`
//! makes the runs of both sides alike. `inputs` determines what a build has read, `relink`
//! keeps what it was linked from, and `diagnose` finds out why a build failed.

mod build;
mod build_command;
pub mod cache;
pub mod cargo;
mod changed_crates;
mod checkout;
mod diagnose;
mod environment;
mod fetch;
mod files;
mod folder_record;
pub(crate) mod functions;
pub mod git;
mod identical;
mod inputs;
mod lock_file;
pub mod names;
mod overlay;
mod preview;
mod relink;
mod run_policy;
mod settings;
mod setup;
mod target_folder;
mod tools;
mod unstable;

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Instant;

use tempfile::TempDir;

pub use build::write_down;
pub use environment::compiler_flags;
pub(crate) use preview::preview;
pub use preview::{Preview, PreviewedBenchmark};
pub use relink::record::record_link;
pub(crate) use settings::told_of_folders;
pub use tools::{Captured, Tools};

use crate::engine::event::{Event, Recorder, Reporter};
use crate::error::{Error, Kind};
use crate::exec::harness;
use crate::exec::process::{Helper, Interrupt};
use crate::exec::program::Program;
use crate::exec::system::canonical;
use crate::model::notice::{Notice, RunnerDiffers};
use crate::model::outcome::{Reason, Removed};
use crate::model::revision::{Revision, Rule, Sides};
use crate::model::side::{Pair, Side};
use crate::settings::options::{self, Benchmark, Subject};
use crate::settings::policy::Settings;
use crate::settings::table::Table;
use crate::workspace::build::{Artifacts, Failing, Runnable};
use crate::workspace::build_command::CommandWorktree;
use crate::workspace::cache::{Artifact, Cache, Lock, RepositoryCache};
use crate::workspace::cargo::Workspace;
use crate::workspace::changed_crates::changed_crates;
use crate::workspace::functions::ChangedFunctions;
use crate::workspace::git::Repo;
use crate::workspace::git::base::{BaseRequest, VARIABLES};
use crate::workspace::git::worktree::Store;
pub(crate) use crate::workspace::identical::LineMoves;
use crate::workspace::identical::{Difference, MovedLocation, Moves};
pub(crate) use crate::workspace::identical::{SameRun, names_package, replace};
use crate::workspace::inputs::foundation::Foundation;
pub(crate) use crate::workspace::lock_file::Versions;
use crate::workspace::setup::{Setup, SideSetup};

/// The request of a comparison.
#[derive(Clone, Debug)]
pub struct Request {
    /// The folder inside the repository in which it was called.
    pub folder: PathBuf,
    /// The settings of the flags.
    pub flags: Table,
    /// The head, if it is not HEAD.
    pub head: Option<String>,
    /// The base to use if the head is an ancestor of BASE.
    pub instead: Option<String>,
    /// Use BASE itself, not the merge-base.
    pub exact_base: bool,
    /// The head is the working tree as it is.
    pub dirty: bool,
    /// Allow fetching what is missing from the remote, into the user's clone.
    pub fetch: bool,
    /// Compare the head with itself, built twice.
    pub aa: bool,
    /// Measure although both sides are the same program.
    pub always_run: bool,
    /// Also measure unaffected benchmarks.
    pub measure_all: bool,
    /// The filter of benchmarks.
    pub filter: Option<String>,
    /// Whose table decides: the base's, if it has one, or the head's.
    pub policy_from: Side,
    /// The cache, if it is not in its default place.
    pub cache: Option<PathBuf>,
    /// The environment in which the program was called.
    pub env: Vec<(OsString, OsString)>,
    /// The command, with its first argument, that calls [`write_down`].
    pub capture: Vec<OsString>,
    /// The command, with its first argument, that calls [`record_link`].
    pub record_link: Vec<OsString>,
    /// The command, with its first argument, that calls
    /// [`trace`](crate::exec::process::trace::trace).
    pub trace: Vec<OsString>,
}

/// Everything that sampling needs.
#[derive(Debug)]
pub(crate) struct Preparation {
    pub(crate) sides: Sides,
    pub(crate) settings: Settings,
    pub(crate) benchmarks: Vec<Prepared>,
    /// Benchmarks that gate on the base but that the head lacks.
    pub(crate) removed: Vec<Removed>,
    /// The files that differ between the sides, and how their lines moved.
    pub(crate) moves: LineMoves,
    /// The names of the crates with a file that differs between the sides; `None` if
    /// unknown.
    pub(crate) changed_crates: Option<BTreeSet<String>>,
    /// The compiler of the head, if something was built.
    pub(crate) toolchain: Option<String>,
    /// The repository's part of the cache.
    pub(crate) cache: RepositoryCache,
    /// A folder for what the runs print.
    pub(crate) scratch: TempDir,
    /// Held until the runs are over: they use the worktrees.
    pub(crate) _lock: Option<Lock>,
}

/// A benchmark, ready to run or not.
#[derive(Debug)]
pub(crate) struct Prepared {
    pub(crate) benchmark: Benchmark,
    pub(crate) state: State,
    /// Whether both sides are called in the same way, or why not.
    pub(crate) same_run: Result<SameRun, String>,
    /// The versions of the harnesses' libraries with which each side is built.
    pub(crate) libraries: Pair<Versions>,
    /// The source of the head's target, if any.
    pub(crate) source: Option<Source>,
    /// The functions that differ between the sides, computed on demand.
    pub(crate) changed: ChangedFunctions,
}

/// A source file.
#[derive(Debug)]
pub(crate) struct Source {
    /// Its path.
    pub(crate) path: PathBuf,
    /// Its path relative to the root of the repository.
    pub(crate) inside: PathBuf,
}

/// The state of a benchmark before anything is run.
#[derive(Debug)]
pub(crate) enum State {
    /// These two programs are ready to be measured.
    Ready(Box<Pair<Program>>),
    /// Both are the same program, except for locations in this number of places, but files
    /// differ that it may open.
    Same(Box<Pair<Program>>, usize),
    /// Both are the same program, and do the same.
    Identical(Reason),
    /// The base lacks it, or does not build.
    NoBaseline,
}

/// One revision, ready to be run.
#[derive(Debug)]
pub(crate) struct PreparedSide {
    pub(crate) revision: Revision,
    pub(crate) programs: Vec<(Benchmark, Program)>,
    /// The output of `rustc -vV` there.
    pub(crate) rustc: String,
    /// The environment of the builds and the runs.
    pub(crate) env: Vec<(OsString, OsString)>,
    /// A folder for what the runs print.
    pub(crate) scratch: TempDir,
    /// Held until the runs are over: they use the worktree.
    pub(crate) _lock: Lock,
}

/// Prepares both sides.
pub(crate) fn prepare(
    request: &Request,
    helper: &Helper,
    interrupt: &Interrupt,
    reporter: &mut dyn Reporter,
) -> Result<Preparation, Error> {
    let start = Instant::now();
    let mut context = PrepareContext::open(request, helper, interrupt, reporter)?;
    let (sides, setup, lock) = match set_up_sides(&mut context)? {
        SetUp::NothingToCompare { sides, settings } => return Ok(context.finish(sides, settings)),
        SetUp::Compared { sides, setup, lock } => (sides, *setup, lock),
    };
    let (benchmarks, lost) = build_sides(&mut context, &sides, &setup)?;
    let removed = [&*setup.removed, &lost].concat();
    context.prepared(start);
    let changed_crates = changed_crates(&setup.sides(), &context.moves.changed);
    let Setup { settings, head, .. } = setup;
    let toolchain = head.rustc.lines().next().unwrap_or_default().to_owned();
    Ok(Preparation {
        benchmarks,
        removed,
        changed_crates,
        toolchain: Some(toolchain),
        _lock: Some(lock),
        ..context.finish(sides, settings)
    })
}

/// A comparison up to its first build.
enum SetUp {
    /// Both sides are the same commit.
    NothingToCompare { sides: Sides, settings: Settings },
    /// Both sides are checked out, which the lock keeps so.
    Compared { sides: Sides, setup: Box<Setup>, lock: Lock },
}

/// Finds both commits, checks them out, and reads their settings.
fn set_up_sides(context: &mut PrepareContext<'_>) -> Result<SetUp, Error> {
    let user = UserTree::read(context)?;
    let flags = &context.request.flags;
    let table = user.table(flags)?;
    context.check_configured_base(table.as_ref());
    let mut sides = fetch::resolve(context, table.as_ref())?;
    if context.is_nothing_to_compare(&sides)? {
        let table = flags.clone().over(table.unwrap_or_default());
        let (policy, limits) = options::limits(&table)?;
        let (benchmarks, common) = (Vec::new(), table.common_settings());
        let settings = Settings { benchmarks, policy, limits, common };
        return Ok(SetUp::NothingToCompare { sides, settings });
    }
    let lock = context.lock(&format!("comparing {} with {}", sides.head.rev, sides.base.rev))?;
    let Pair { base, head } = checkout::check_out_sides(context, &mut sides)?;
    let setup = Box::new(setup::set_up(context, &user, Some(base), head)?);
    Ok(SetUp::Compared { sides, setup, lock })
}

/// Prepares the head of a request, without any base: its table decides.
pub(crate) fn prepare_one(
    request: &Request,
    helper: &Helper,
    interrupt: &Interrupt,
    reporter: &mut dyn Reporter,
) -> Result<PreparedSide, Error> {
    let start = Instant::now();
    let mut context = PrepareContext::open(request, helper, interrupt, reporter)?;
    let revision = context.repo.at(request.head.as_deref())?;
    if let Some(files) = context.uncommitted_files()? {
        context.notice(Notice::DirtyTree { files });
    }
    let lock = context.lock(&format!("measuring {}", revision.rev))?;
    let head = checkout::check_out_head(&mut context, &revision)?;
    let user = UserTree::read(&context)?;
    let Setup { settings, head, .. } = setup::set_up(&mut context, &user, None, head)?;
    let mut foundation = Foundation::new(&context.tools.env, context.cache.digests_of_tools())?;
    let benchmarks = settings.benchmarks;
    let artifacts =
        build::build_targets(&mut context, &mut foundation, &head, &benchmarks, Failing::Found)?;
    let worktree = build_command::prepare(&mut context, &mut foundation, &head, &benchmarks)?;
    let built = BuiltSide { setup: &head, artifacts, worktree };
    let mut programs = Vec::new();
    for benchmark in benchmarks {
        match built.runnable(&context, &benchmark)? {
            Ok(runnable) => programs.push((benchmark, runnable.program)),
            Err(_) if benchmark.is_found => {
                let why = format!("it does not build ({})", how_to_see(&benchmark));
                context.notice(Notice::LeftOut { benchmark: benchmark.name, why });
            }
            Err(_) => return Err(cargo::Error::NoExecutable(benchmark.name).into()),
        }
    }
    context.cache.prune(&built.names());
    context.prepared(start);
    let PrepareContext { tools, scratch, .. } = context;
    let (rustc, env) = (head.rustc, tools.env);
    Ok(PreparedSide { revision, programs, rustc, env, scratch, _lock: lock })
}

/// Builds both sides of every benchmark; those of commands only if their trees differ.
fn build_both<'a>(
    context: &mut PrepareContext<'_>,
    setup: &'a Setup,
    commands_differ: bool,
) -> Result<Pair<BuiltSide<'a>>, Error> {
    let (setups, benchmarks) = (setup.sides(), &setup.settings.benchmarks);
    let mut foundation = Foundation::new(&context.tools.env, context.cache.digests_of_tools())?;
    let mut build = |side: Side, failing: Failing<'_>| {
        build::build_targets(context, &mut foundation, setups[side], benchmarks, failing)
    };
    let mut base = build(Side::Base, Failing::Noted)?;
    let head = build(Side::Head, Failing::WithOther(&base))?;
    if head.casts_doubt_on(&base) {
        base = build(Side::Base, Failing::Proven)?;
    }
    let mut of = |setup: &'a SideSetup, artifacts: Artifacts| {
        let worktree = match commands_differ {
            true => build_command::prepare(context, &mut foundation, setup, benchmarks)?,
            false => CommandWorktree::default(),
        };
        Ok::<_, Error>(BuiltSide { setup, artifacts, worktree })
    };
    Ok(Pair { base: of(setups.base, base)?, head: of(setups.head, head)? })
}

/// Builds both sides of every benchmark, and determines the state of each. Also returns those
/// that gate on the base, where they are another target or another harness, but are not
/// measured.
fn build_sides(
    context: &mut PrepareContext<'_>,
    sides: &Sides,
    setup: &Setup,
) -> Result<(Vec<Prepared>, Vec<Removed>), Error> {
    let setups = setup.sides();
    // Whether to measure although both sides are the same.
    let must_run = context.request.aa || context.request.always_run;
    let commands_differ = must_run || sides.base.tree != sides.head.tree;
    let built = build_both(context, setup, commands_differ)?;
    let store = Store::open(&context.cache.git(), &context.repo)?;
    context.moves.changed = store.changed_paths(&sides.base, &sides.head)?;
    if setups.base.root_inside() == setups.head.root_inside() {
        context.moves.workspace = setups.head.root_inside().to_owned();
        context.moves.trees = setups.as_ref().map(|setup| setup.worktree.path.clone());
    }
    let (mut prepared, mut lost, mut unusable) = (Vec::new(), Vec::new(), None);
    let mut moves = None;
    let mut differing = RunnerDiffers::new(context.request.policy_from);
    let mut build_args: BTreeMap<Pair<Vec<String>>, Vec<String>> = BTreeMap::new();
    for benchmark in &setup.settings.benchmarks {
        let is_command = matches!(benchmark.subject, Subject::Command { .. });
        let mut same_run = Err("one of them does not build".to_owned());
        let state = if is_command && !commands_differ {
            context.notice(Notice::Identical { benchmark: benchmark.name.clone(), moved: 0 });
            State::Identical(Reason::default())
        } else {
            let mut both = Pair::try_both(|side| built[side].runnable(context, benchmark))?;
            if both.base.is_err() && both.head.is_err() && benchmark.is_found {
                // Others build; else the head's failure would be an error.
                let why = format!("it builds on neither side ({})", how_to_see(benchmark));
                let benchmark = benchmark.name.clone();
                context.notice(Notice::LeftOut { benchmark, why });
                continue;
            }
            if setup.lacks_gated(benchmark) {
                lost.push(Removed { benchmark: benchmark.name.clone(), metric: None });
            }
            if let Some((side, harness)) = unusable_harness(benchmark, &both)? {
                let benchmark = benchmark.name.clone();
                if side == Side::Head && setup.gated.contains(&benchmark) {
                    lost.push(Removed { benchmark: benchmark.clone(), metric: None });
                }
                let why = format!("the results of {harness} can't be read");
                context.notice(Notice::LeftOut { benchmark: benchmark.clone(), why });
                unusable.get_or_insert(Kind::UnusableHarness { benchmark, harness });
                continue;
            }
            let explains = &mut |context: &PrepareContext<'_>, found: &[MovedLocation]| {
                let moves = match &mut moves {
                    Some(moves) => moves,
                    none => none.insert(read_moves(context, &setups)?),
                };
                Ok(moves.explain(found))
            };
            if let Pair { base: Ok(base), head: Ok(head) } = &mut both {
                let programs = Pair { base: &mut base.program, head: &mut head.program };
                if programs.base.executable.is_some() {
                    run_policy::share(context, &setups, programs, &mut differing)?;
                }
                if let Some(args) = setup.differing_build(benchmark) {
                    build_args.entry(args).or_default().push(benchmark.name.clone());
                }
                let folders = Pair::both(|side| context.cache.side_folder(side));
                same_run = identical::same_run(&base.program, &head.program, &folders);
            }
            state_of(context, benchmark, both, !must_run && same_run.is_ok(), explains)?
        };
        let libraries = built.as_ref().map(|side| {
            let lock = side.setup.root().join("Cargo.lock");
            let package = side.setup.package(&benchmark.package);
            let package = package.map_or(&benchmark.package, |package| &package.name);
            lock_file::versions(&lock, package, &harness::libraries())
        });
        let source = built.head.source(benchmark);
        prepared.push(Prepared {
            benchmark: benchmark.clone(),
            state,
            same_run,
            libraries,
            source,
            changed: ChangedFunctions::default(),
        });
    }
    if let (Some(unusable), true) = (unusable, prepared.is_empty()) {
        return Err(unusable.into());
    }
    if !differing.is_empty() {
        context.notice(Notice::RunnerDiffers(differing));
    }
    for (args, benchmarks) in build_args {
        context.notice(Notice::BuildDiffers { benchmarks, args });
    }
    if !lost.is_empty() {
        context.notice(Notice::Removed(lost.clone()));
    }
    context.cache.prune(&[built.base.names(), built.head.names()].concat());
    Ok((prepared, lost))
}

/// The harness of a target that was not named, if it can't be used, and the side that has it
/// (the base if both have).
fn unusable_harness(
    benchmark: &Benchmark,
    both: &Pair<Result<Runnable, String>>,
) -> Result<Option<(Side, &'static str)>, Error> {
    if !benchmark.is_found || benchmark.harness.is_some() {
        return Ok(None);
    }
    for side in Side::BOTH {
        let program = both[side].as_ref().ok().map(|runnable| &runnable.program);
        if let Some(path) = program.and_then(|program| program.executable.as_ref()) {
            let executable = fs_err::read(path).map_err(Error::io("read", path))?;
            if let Some(harness) = harness::unusable(&executable) {
                return Ok(Some((side, harness)));
            }
        }
    }
    Ok(None)
}

/// Which option shows why a target that was not named does not build.
fn how_to_see(benchmark: &Benchmark) -> String {
    let Benchmark { package, subject, .. } = benchmark;
    match subject {
        Subject::Target(target, _) => format!("`-p {package} --bench {}` shows why", target.name),
        Subject::Command { .. } => String::new(),
    }
}

/// The builds of one side.
struct BuiltSide<'a> {
    setup: &'a SideSetup,
    artifacts: Artifacts,
    worktree: CommandWorktree,
}

impl BuiltSide<'_> {
    /// What to run for a benchmark, or why there is nothing to run.
    fn runnable(
        &self,
        context: &PrepareContext<'_>,
        benchmark: &Benchmark,
    ) -> Result<Result<Runnable, String>, Error> {
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
    fn source(&self, benchmark: &Benchmark) -> Option<Source> {
        let Subject::Target(target, _) = &benchmark.subject else { return None };
        let path = self.setup.package(&benchmark.package).ok()?.sources.get(target)?;
        Some(Source { path: path.clone(), inside: self.setup.inside(path).to_owned() })
    }

    /// The names of the artifacts.
    fn names(&self) -> Vec<String> {
        self.artifacts.built().map(Artifact::name).collect()
    }
}

/// Decides whether the sources explain all of these differences between two programs.
type Explains<'a> = dyn FnMut(&PrepareContext<'_>, &[MovedLocation]) -> Result<bool, Error> + 'a;

fn state_of(
    context: &mut PrepareContext<'_>,
    benchmark: &Benchmark,
    both: Pair<Result<Runnable, String>>,
    may_be_identical: bool,
    explains: &mut Explains<'_>,
) -> Result<State, Error> {
    let (base, head) = match (both.base, both.head) {
        (Ok(base), Ok(head)) => (base, head),
        (Err(why), _) | (_, Err(why)) => {
            context.notice(Notice::NoBaseline { benchmark: benchmark.name.clone(), why });
            return Ok(State::NoBaseline);
        }
    };
    let folders = Pair::both(|side| context.cache.side_folder(side));
    let mut is_same = None;
    if may_be_identical
        && let (Some(base_artifact), Some(head_artifact)) = (&base.artifact, &head.artifact)
    {
        let (base, head) = (base_artifact, head_artifact);
        let moved = match identical::difference(base, &folders.base, head, &folders.head)? {
            Difference::None => Some(0),
            Difference::Locations(found) => explains(context, &found)?.then_some(found.len()),
            Difference::Other => None,
        };
        if let Some(moved) = moved.filter(|_| context.moves.changed.is_empty()) {
            context.notice(Notice::Identical { benchmark: benchmark.name.clone(), moved });
            return Ok(State::Identical(Reason::default()));
        }
        is_same = moved;
    }
    let programs = Box::new(Pair { base: base.program, head: head.program });
    Ok(match is_same {
        Some(moved) => State::Same(programs, moved),
        None => State::Ready(programs),
    })
}

/// Determines where code has moved between the sides.
fn read_moves(context: &PrepareContext<'_>, setups: &Pair<&SideSetup>) -> Result<Moves, Error> {
    let workspace = setups.head.root_inside();
    if setups.base.root_inside() != workspace {
        return Ok(Moves::default());
    }
    let trees = Pair { base: &*setups.base.worktree.path, head: &*setups.head.worktree.path };
    Moves::read(&trees, workspace, &context.moves.changed)
}

/// The prefix of the names of scratch folders in the cache.
const SCRATCH: &str = "tmp-";

/// What the steps of a preparation share.
struct PrepareContext<'a> {
    request: &'a Request,
    repo: Repo,
    cache: RepositoryCache,
    tools: Tools<'a>,
    /// For what the tools and the runs print: a folder in the cache once its lock is held.
    scratch: TempDir,
    reporter: &'a mut (dyn Reporter + 'a),
    /// The files that differ between the sides, once both are built.
    moves: LineMoves,
}

impl<'a> PrepareContext<'a> {
    fn open(
        request: &'a Request,
        helper: &'a Helper,
        interrupt: &'a Interrupt,
        reporter: &'a mut (dyn Reporter + 'a),
    ) -> Result<Self, Error> {
        let repo = Repo::discover(&request.folder)?;
        let cache = repository_cache(request, &repo)?;
        let scratch = tempfile::tempdir();
        let scratch = scratch.map_err(Error::io("create a folder in", &std::env::temp_dir()))?;
        let executable = request.capture.first().map(Path::new);
        let env = environment::for_children(&request.env, executable);
        let tools = Tools { helper, interrupt, env, scratch: scratch.path().to_owned() };
        let moves = LineMoves::default();
        Ok(PrepareContext { request, repo, cache, tools, scratch, reporter, moves })
    }

    fn event(&mut self, event: Event<'_>) {
        self.reporter.event(event);
    }

    fn notice(&mut self, notice: Notice) {
        self.reporter.notice(notice);
    }

    /// Warns if the configuration, which a branch can change, names a base other than
    /// that of the CI job.
    fn check_configured_base(&mut self, table: Option<&Table>) {
        let asked = base_request(self.request, table);
        let (None, Some(base)) = (asked.base, asked.configured) else { return };
        let Some((variable, named)) = asked.variables.into_iter().next() else { return };
        if base.strip_prefix("origin/").unwrap_or(&base) != named {
            self.notice(Notice::ConfiguredBase { base, variable, named });
        }
    }

    /// The number of files that differ from HEAD, if HEAD is the head and there are any.
    fn uncommitted_files(&mut self) -> Result<Option<usize>, Error> {
        if self.request.head.is_some() || self.request.dirty {
            return Ok(None);
        }
        checkout::ask_git_for_changes(self)?;
        Ok(Some(self.repo.dirty_files()?).filter(|files| *files > 0))
    }

    /// Whether both sides are the same commit; also adds notices about what is special.
    fn is_nothing_to_compare(&mut self, sides: &Sides) -> Result<bool, Error> {
        self.event(Event::Sides(sides));
        let uncommitted = self.uncommitted_files()?;
        if sides.head_is_base && !self.request.dirty {
            let base = sides.base.rev.clone();
            if let Some(files) = uncommitted {
                let files = if files == 1 { "1 file".to_owned() } else { format!("{files} files") };
                return Err(git::Error::OnlyUncommitted { base, files }.into());
            }
            self.notice(Notice::NothingToCompare { base });
            return Ok(true);
        }
        if let Some(files) = uncommitted {
            self.notice(Notice::DirtyTree { files });
        }
        if sides.rule == Rule::FirstParent && sides.base_is_guessed {
            self.notice(Notice::MergeRef { base: sides.base.rev.clone() });
        }
        Ok(false)
    }

    /// A preparation in which nothing was built.
    fn finish(self, sides: Sides, settings: Settings) -> Preparation {
        let PrepareContext { cache, scratch, moves, .. } = self;
        Preparation {
            moves,
            sides,
            settings,
            benchmarks: Vec::new(),
            removed: Vec::new(),
            changed_crates: None,
            toolchain: None,
            cache,
            scratch,
            _lock: None,
        }
    }

    /// Takes the lock of the repository's part of the cache, with a scratch folder there;
    /// `purpose` is shown to those who wait for it.
    fn lock(&mut self, purpose: &str) -> Result<Lock, Error> {
        let about = format!("process {}, {purpose}", std::process::id());
        let mut is_told = false;
        let lock = self.cache.lock(&about, |holder| -> Result<(), Error> {
            if !is_told {
                self.reporter.event(Event::Waiting(holder));
                is_told = true;
            }
            Ok(self.tools.interrupt.check()?)
        })?;
        let path = self.cache.path();
        // These belong to killed processes, since whoever uses one holds the lock.
        for entry in std::fs::read_dir(path).into_iter().flatten().flatten() {
            if entry.file_name().to_string_lossy().starts_with(SCRATCH) {
                let _ = std::fs::remove_dir_all(entry.path());
            }
        }
        let scratch = tempfile::Builder::new().prefix(SCRATCH).tempdir_in(path);
        self.scratch = scratch.map_err(Error::io("create a folder in", path))?;
        self.tools.scratch = self.scratch.path().to_owned();
        Ok(lock)
    }

    fn prepared(&mut self, start: Instant) {
        let seconds = start.elapsed().as_secs_f64();
        self.reporter.event(Event::Prepared { seconds, cache: self.cache.path() });
    }

    /// Gets the workspace around a folder from cargo.
    fn workspace(&self, folder: &Path, toolchain: Option<&str>) -> Result<Workspace, Error> {
        let command = self.tools.command("cargo", cargo::metadata_args(), folder, toolchain);
        Ok(Workspace::parse(&self.tools.output(command)?)?)
    }
}

/// The user's own working tree.
struct UserTree {
    /// The folder of the manifest for the folder in which the program was called, relative
    /// to the repository's root.
    inside: PathBuf,
    /// The same folder.
    folder: PathBuf,
    workspace: Workspace,
}

impl UserTree {
    fn read(context: &PrepareContext<'_>) -> Result<Self, Error> {
        let find = |path: &Path| canonical(path).map_err(Error::io("find", path));
        let root = find(context.repo.root())?;
        let folder = find(&context.request.folder)?;
        let inside = folder.strip_prefix(&root).unwrap_or(Path::new(""));
        // Like cargo, from a folder that need not be in any commit, such as `target`.
        let has_manifest = |inside: &&Path| root.join(inside).join("Cargo.toml").is_file();
        let inside = inside.ancestors().find(has_manifest).unwrap_or(inside).to_owned();
        let workspace = context.workspace(&context.request.folder, None)?;
        Ok(UserTree { folder: context.repo.root().join(&inside), inside, workspace })
    }

    fn table(&self, flags: &Table) -> Result<Option<Table>, Error> {
        Ok(settings::side_table(&self.workspace, &self.folder, flags)?.table)
    }
}

/// The repository's part of the cache.
pub(crate) fn repository_cache(request: &Request, repo: &Repo) -> Result<RepositoryCache, Error> {
    Ok(Cache::open(request.cache.clone())?.repository(repo.common_dir(), &repo.name())?)
}

/// The settings of the flags and the table in the user's tree.
///
/// # Errors
/// If there is no repository or workspace, or the table is invalid.
pub(crate) fn user_table(
    request: &Request,
    helper: &Helper,
    interrupt: &Interrupt,
) -> Result<Table, Error> {
    let reporter = &mut Recorder::new(|_| {});
    let context = PrepareContext::open(request, helper, interrupt, reporter)?;
    let table = UserTree::read(&context)?.table(&request.flags)?;
    Ok(request.flags.clone().over(table.unwrap_or_default()))
}

/// The user's workspace, and the root of the repository.
///
/// # Errors
/// If one of them does not exist.
pub(crate) fn user_workspace(
    request: &Request,
    helper: &Helper,
    interrupt: &Interrupt,
) -> Result<(Workspace, PathBuf), Error> {
    let reporter = &mut Recorder::new(|_| {});
    let context = PrepareContext::open(request, helper, interrupt, reporter)?;
    let workspace = context.workspace(&request.folder, None)?;
    Ok((workspace, context.repo.root().to_owned()))
}

/// The base that the flags, and then `table`, name.
pub(crate) fn base_request(request: &Request, table: Option<&Table>) -> BaseRequest {
    let var = |name: &'static str| {
        let value = environment::var(&request.env, name)?.to_str();
        value.filter(|value| !value.is_empty()).map(|value| (name, value.to_owned()))
    };
    BaseRequest {
        base: request.flags.base.clone(),
        configured: table.and_then(|table| table.base.clone()),
        variables: VARIABLES.into_iter().filter_map(var).collect(),
        head: request.head.clone(),
        instead: request.instead.clone(),
        exact: request.exact_base,
        dirty: request.dirty,
        aa: request.aa,
    }
}
