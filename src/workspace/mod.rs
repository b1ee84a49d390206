//! From two revisions to two sets of executables that can be measured.
//!
//! `prepare` tells that story; the other files are its steps, in this order: `fetch` finds
//! the commits, `checkout` makes worktrees of them in the [`cache`], `setup` reads what
//! determines their builds (and `overlay` may copy one side's benchmarks over the other's),
//! `build` and `build_command` build, and `sides` compares what was built; `run_policy` makes
//! the runs of both sides alike. `inputs` determines what a build has read, `relink` keeps
//! what it was linked from, `diagnose` finds out why a build failed, `identical` and
//! `functions` find out what differs between two programs. `context` is what the steps share,
//! and `pack` stores what they result in for other machines.

mod build;
mod build_command;
pub mod cache;
pub mod cargo;
mod changed_crates;
mod checkout;
mod context;
mod diagnose;
mod environment;
pub(crate) mod error;
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
pub(crate) mod pack;
mod prepare;
mod preview;
mod relink;
mod run_policy;
mod settings;
mod setup;
mod sides;
mod target_folder;
mod tools;
mod unstable;

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use tempfile::TempDir;

pub use cargo::record_invocation;
pub(crate) use context::{repository_cache, user_table, user_workspace};
pub use environment::compiler_flags;
pub(crate) use identical::{Moves, SameRun, names_package};
pub(crate) use lock_file::Versions;
pub(crate) use prepare::{prepare, prepare_one};
pub(crate) use preview::preview;
pub use preview::{Preview, PreviewedBenchmark, PreviewedShard};
pub use relink::record::record_link;
pub(crate) use settings::with_folder_hint;
pub use tools::Tools;

use crate::exec::program::Program;
use crate::model::{Divisible, Pair, Removed, Revision, SameReason, Side, Sides};
use crate::settings::options::Benchmark;
use crate::settings::policy::Settings;
use crate::settings::table::Table;
use crate::workspace::cache::{Lock, RepositoryCache};
use crate::workspace::functions::ChangedFunctions;

/// The request of a comparison.
#[derive(Clone, Debug, Default)]
pub struct Request {
    /// The folder inside the repository in which it was called.
    pub folder: PathBuf,
    /// The settings of the flags.
    pub flags: Table,
    /// The head, if it is not HEAD.
    pub head: Option<String>,
    /// The base to use if the head is an ancestor of BASE.
    pub fallback_base: Option<String>,
    /// Use BASE itself, not the merge-base.
    pub exact_base: bool,
    /// The head is the working tree as it is.
    pub dirty: bool,
    /// Allow fetching what is missing from the remote, into the user's clone.
    pub fetch: bool,
    /// Compare the head with itself, built twice.
    pub aa: bool,
    /// Its own pairs are to give a verdict, without those of other machines or commits.
    pub decides: bool,
    /// Measure although both sides are the same program.
    pub always_run: bool,
    /// Also measure unaffected benchmarks.
    pub measure_all: bool,
    /// Use one codegen unit where the number may be chosen.
    pub one_unit: bool,
    /// The filter of benchmarks.
    pub filter: Option<String>,
    /// Whose table decides: the base's, if it has one, or the head's.
    pub policy_from: Side,
    /// The cache, if it is not in its default place.
    pub cache: Option<PathBuf>,
    /// The environment in which the program was called.
    pub env: Vec<(OsString, OsString)>,
    /// The command, with its first argument, that calls [`record_invocation`].
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
    pub(crate) about: About,
    pub(crate) settings: Settings,
    pub(crate) benchmarks: Vec<Prepared>,
    /// The repository's part of the cache.
    pub(crate) cache: RepositoryCache,
    /// A folder for what the runs print.
    pub(crate) scratch: TempDir,
    /// Held until the runs are over: they use the worktrees.
    pub(crate) _lock: Option<Lock>,
}

/// What a preparation has found out about its sides, which does not depend on the machine that
/// measures.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct About {
    pub(crate) sides: Sides,
    /// Benchmarks that gate on the base but that the head lacks.
    pub(crate) removed: Vec<Removed>,
    /// The files that differ between the sides, and how their lines moved.
    pub(crate) moves: Moves,
    /// The names of the crates with a file that differs between the sides; `None` if
    /// unknown.
    pub(crate) changed_crates: Option<BTreeSet<String>>,
    /// How long benchmarks took where they were packed.
    pub(crate) costs: Vec<Divisible>,
    /// The compiler of the head, if something was built.
    pub(crate) toolchain: Option<String>,
    /// Whether all is measured, although both sides may be the same.
    pub(crate) must_run: bool,
}

/// A benchmark, ready to run or not.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Prepared {
    pub(crate) benchmark: Benchmark,
    pub(crate) state: State,
    /// Why it is not known that runs of the same program do the same.
    #[serde(skip)]
    pub(crate) unconfirmed: Option<String>,
    /// Whether both sides are called in the same way, or why not.
    pub(crate) same_run: Result<SameRun, String>,
    /// The versions of the harnesses' libraries with which each side is built.
    pub(crate) libraries: Pair<Versions>,
    /// The source of the head's target, if any.
    pub(crate) source: Option<SourceFile>,
    /// The functions that differ between the sides, computed on demand.
    #[serde(skip)]
    pub(crate) changed: ChangedFunctions,
}

/// A source file.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct SourceFile {
    /// Its path.
    pub(crate) path: PathBuf,
    /// Its path relative to the root of the repository.
    pub(crate) inside: PathBuf,
}

/// The state of a benchmark before anything is run.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) enum State {
    /// These two programs are ready to be measured.
    Ready(Box<Pair<Program>>),
    /// Both are the same program, except for locations in this number of places, but files
    /// differ that it may open.
    Same(Box<Pair<Program>>, usize),
    /// Both are the same program, and do the same.
    Identical(SameReason),
    /// The base lacks it, or does not build.
    NoBaseline,
}

impl State {
    /// The programs of the base and the head, if they may be run.
    pub(crate) fn programs(&self) -> impl Iterator<Item = &Program> {
        let programs = match self {
            State::Ready(programs) | State::Same(programs, _) => Some(&**programs),
            State::Identical(_) | State::NoBaseline => None,
        };
        programs.into_iter().flat_map(|pair| [&pair.base, &pair.head])
    }

    fn programs_mut(&mut self) -> impl Iterator<Item = &mut Program> {
        let programs = match self {
            State::Ready(programs) | State::Same(programs, _) => Some(&mut **programs),
            State::Identical(_) | State::NoBaseline => None,
        };
        programs.into_iter().flat_map(|pair| [&mut pair.base, &mut pair.head])
    }
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
