//! What the outside may learn while a comparison runs.

mod remark;
mod settings;
mod work;

use std::path::Path;

pub use remark::{Remark, remarks};
pub use settings::{DifferentKey, RunDiffers};
pub use work::Work;

use crate::gate::Waiver;
use crate::git::Revision;
use crate::git::base::Sides;
use crate::runner::{Plan, Progress, Unlikely};
use crate::sample::Sample;
use crate::side::Side;
use crate::verdict::Removed;

/// Something happened. Sent between runs only: while a benchmark runs, nobody
/// is told anything.
#[derive(Clone, Copy, Debug)]
pub enum Event<'a> {
    /// It is known which commits are compared.
    Sides(&'a Sides),
    /// Something is being fetched from a remote; what, and from which.
    Fetching(&'a str, &'a str),
    /// Somebody else uses this repository's part of the cache; what they wrote
    /// about themselves.
    Waiting(&'a str),
    /// A side is being checked out.
    CheckingOut(Side, &'a Revision),
    /// A side is being built; cargo's own output follows.
    Building(Side, &'a str),
    /// A side was not built, and it is tried again, to learn why.
    Diagnosing(Side),
    /// A side was built before.
    Fresh(Side, &'a str),
    /// All is built; where the worktrees are.
    Prepared {
        /// Seconds that it took.
        seconds: f64,
        /// The folder that holds them.
        room: &'a Path,
    },
    /// The unmeasured runs of a benchmark begin.
    WarmingUp(&'a str),
    /// Sampling begins.
    Sampling {
        /// The metrics that a run has, in order.
        metrics: &'a [String],
        /// What is sampled, and when it stops.
        plan: &'a Plan,
    },
    /// Sampling of any commands begins.
    Rounds {
        /// The metrics that a run has, in order.
        metrics: &'a [String],
        /// The seed of the order.
        seed: u64,
    },
    /// One measured run.
    Run {
        /// Its label in the samples file.
        label: &'a str,
        /// Its values.
        sample: &'a Sample,
    },
    /// A pair is complete.
    Pair(&'a Progress<'a>),
    /// Sampling has ended, after at least one pair, whatever ended it.
    Sampled(&'a Progress<'a>),
    /// A round of any commands is complete, the one of this number.
    Round(u64),
    /// Something the user should know; it is in the result, too.
    Notice(&'a Notice),
}

/// Something the user should know about a result. The words are the
/// binary's.
#[derive(Clone, Debug, PartialEq)]
pub enum Notice {
    /// The working tree has changes, which were not measured.
    DirtyTree {
        /// How many files.
        files: usize,
    },
    /// The head is the base.
    NothingToCompare {
        /// BASE.
        base: String,
    },
    /// BASE is not in this clone; the merge commit's first parent stands in.
    MergeRef {
        /// BASE.
        base: String,
    },
    /// The tables of the two sides decide differently.
    PolicyDiffers {
        /// The keys.
        keys: Vec<&'static str>,
        /// Whose table counts.
        from: Side,
    },
    /// The tables of the two sides differ in what is run, or only one has one.
    RunDiffers(RunDiffers),
    /// The base has no such benchmark, or does not build.
    NoBaseline {
        /// The benchmark.
        benchmark: String,
        /// Why.
        why: String,
    },
    /// Only the head has this benchmark.
    New {
        /// The benchmark.
        benchmark: String,
    },
    /// Only one side measures this metric.
    OneSided {
        /// The benchmark.
        benchmark: String,
        /// The metric.
        metric: String,
        /// The side.
        side: Side,
    },
    /// No benchmark measures a metric of which the unit was set.
    UnusedUnit {
        /// The metric.
        metric: String,
    },
    /// These gate on the base, and the head does not measure them.
    Removed(Vec<Removed>),
    /// Only the base has this benchmark, in which nothing gates.
    OnlyBase {
        /// The benchmark.
        benchmark: String,
    },
    /// Something about what the runs were given to do, and whether both sides
    /// did the same.
    Work(Work),
    /// Both sides of this benchmark are the same program.
    Identical {
        /// The benchmark.
        benchmark: String,
    },
    /// The programs are the same, but tracked files differ, and a run could
    /// read them.
    OtherFiles {
        /// Their paths from the root of the repository.
        files: Vec<String>,
    },
    /// Files of a side only stand for what git-lfs has elsewhere.
    Pointers {
        /// Whose.
        side: Side,
        /// How many.
        count: usize,
        /// One of them.
        example: String,
    },
    /// The pairs allowed are fewer than any verdict needs.
    TooFewPairs {
        /// The pairs that the least verdict needs.
        least: u64,
    },
    /// A metric that was to be shown can't be measured here.
    NotMeasured {
        /// The benchmark.
        benchmark: String,
        /// Which one, and why.
        why: String,
        /// What the user can do about it.
        hint: Option<String>,
    },
    /// A run left processes behind, which were ended.
    LeftBehind {
        /// The benchmark.
        benchmark: String,
        /// How many in all.
        processes: u64,
    },
    /// The configuration names another base than the CI job does.
    ConfiguredBase {
        /// The configuration's, which counts.
        base: String,
        /// The variable by which the job names its own.
        variable: &'static str,
        /// That one.
        named: String,
    },
    /// A waiver that the base does not have.
    NewWaiver {
        /// The metric.
        metric: String,
        /// Its ceiling, as it is written.
        ceiling: String,
        /// Its reason.
        reason: String,
    },
    /// A waiver that counts no longer.
    ExpiredWaiver(Waiver),
    /// Something about the result of a metric.
    Metric {
        /// The benchmark.
        benchmark: String,
        /// The metric.
        metric: String,
        /// What it is.
        remark: Remark,
    },
    /// A verdict within the limit is unlikely.
    Unlikely(Unlikely),
    /// A side of a benchmark whose other side has no row.
    Alone {
        /// The label.
        label: String,
    },
    /// The rows of two labels stop to pair.
    Unpaired {
        /// The comparison.
        benchmark: String,
        /// Where.
        line: u64,
    },
    /// What the shards of a comparison say of the tables, as it was said there.
    Told {
        /// The sentence.
        text: String,
    },
    /// Machines whose part of a comparison is missing.
    MissingShards {
        /// Their numbers.
        numbers: Vec<u64>,
    },
    /// Intervals that are meant to be looked at once.
    OneLook,
}
