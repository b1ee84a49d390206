//! What a preparation results in: programs that are ready to be run, or the reason why not.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use tempfile::TempDir;

use super::cache::{Lock, RepositoryCache};
use super::functions::ChangedFunctions;
use super::identical::{Moves, SameRun};
use super::lock_file::Versions;
use crate::exec::program::Program;
use crate::model::{Divisible, Pair, Removed, Revision, SameReason, Sides};
use crate::settings::options::Benchmark;
use crate::settings::policy::Settings;

/// Everything that sampling needs.
#[derive(Debug)]
pub(crate) struct Preparation {
    pub(crate) about: About,
    pub(crate) settings: Settings,
    pub(crate) benchmarks: Vec<Prepared>,
    /// The names of those that build on neither side.
    pub(crate) unbuilt: Vec<String>,
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

    pub(super) fn programs_mut(&mut self) -> impl Iterator<Item = &mut Program> {
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
