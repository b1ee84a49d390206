//! What the user should know about a result. The words are the binary's.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::model::dialect::Dialect;
use crate::model::estimator::Estimator;
use crate::model::gate::{Waived, Waiver};
use crate::model::layouts::OverLayouts;
use crate::model::metric::Better;
use crate::model::noise::Finding;
use crate::model::outcome::{Removed, Summary};
use crate::model::side::{Pair, Side};

/// A function that is not the same on both sides.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChangedFunction {
    /// Its name, without the hashes of crates.
    pub name: String,
    /// Its length, bytes; none on a side that has no such function of its own.
    pub bytes: Pair<Option<u64>>,
    /// Whether a benchmark that has regressed runs it; none where that is not known.
    pub runs: Option<bool>,
    /// Whether its source may have changed; none where that is not known.
    pub is_edited: Option<bool>,
}

/// Something the user should know about a result.
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
    /// Which functions of a program that regressed differ between the sides.
    Functions {
        /// The program.
        benchmark: String,
        /// The functions: first those that a benchmark runs that has regressed, and of these
        /// those whose length changed most.
        changed: Vec<ChangedFunction>,
    },
    /// Some benchmarks run no code that differs between the sides, and were not measured.
    Unaffected {
        /// How many.
        benchmarks: usize,
        /// How many there are.
        of: usize,
        /// Whether no function and no constant of any program differs.
        has_same_code: bool,
    },
    /// The base has no such benchmark, or does not build.
    NoBaseline {
        /// The benchmark.
        benchmark: String,
        /// Why.
        why: String,
    },
    /// This bench target, which nobody named, does not build.
    LeftOut {
        /// The benchmark.
        benchmark: String,
        /// Why.
        why: String,
    },
    /// These bench targets are built with features that they require and that are not
    /// enabled otherwise.
    Required {
        /// The benchmarks.
        benchmarks: Vec<String>,
        /// The features.
        features: Vec<String>,
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
    Run(RunNotice),
    /// Both sides of this benchmark are the same program.
    Identical {
        /// The benchmark.
        benchmark: String,
        /// In how many places of its code the two differ in nothing but where that code
        /// stands in its source.
        moved: usize,
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
    /// The time was over before all benchmarks had the pairs that the least verdict needs.
    NotAsked {
        /// How many did not have them.
        benchmarks: usize,
        /// One of them.
        example: String,
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
    /// An executable can't be linked again: other layouts of it are copies.
    NotLinked {
        /// The benchmark.
        benchmark: String,
        /// Why not, as the end of a sentence.
        why: String,
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
    /// What would bring the verdicts that are open.
    Advice(Advice),
    /// A side of a benchmark whose other side has no row.
    Alone {
        /// The label.
        label: String,
    },
    /// The rows of two labels stop pairing.
    Unpaired {
        /// The comparison.
        benchmark: String,
        /// From which line on.
        line: u64,
    },
    /// What each shard of a comparison says of the tables, in its words.
    OfShards {
        /// The sentence.
        text: String,
    },
    /// Machines whose part of a comparison is missing.
    MissingShards {
        /// Their numbers.
        numbers: Vec<u64>,
    },
    /// The intervals are valid for one look.
    OneLook,
}

/// How much a notice matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Weight {
    /// Something to look at.
    Warning,
    /// Something to know: nothing is wrong.
    Note,
    /// Of interest to few.
    Detail,
}

impl Notice {
    /// How much it matters.
    pub fn weight(&self) -> Weight {
        match self {
            Notice::Metric { remark: Remark::Earlier { .. }, .. } => Weight::Detail,
            Notice::NothingToCompare { .. }
            | Notice::Identical { .. }
            | Notice::Unaffected { .. }
            | Notice::Functions { .. }
            | Notice::New { .. }
            | Notice::Required { .. }
            | Notice::Advice(_)
            | Notice::OneLook
            | Notice::Run(
                RunNotice::BenchFrom { .. }
                | RunNotice::NamesVary { .. }
                | RunNotice::Repeated { .. },
            )
            | Notice::Metric { remark: Remark::Placement { .. }, .. } => Weight::Note,
            _ => Weight::Warning,
        }
    }

    /// Whether it says how a branch changes its own gate, or what measures it.
    pub fn is_about_settings(&self) -> bool {
        matches!(
            self,
            Notice::PolicyDiffers { .. }
                | Notice::RunDiffers(_)
                | Notice::ConfiguredBase { .. }
                | Notice::NewWaiver { .. }
                | Notice::OfShards { .. }
                | Notice::Run(RunNotice::HarnessChanged { .. } | RunNotice::HarnessesDiffer { .. })
        )
    }
}

/// Something about the result of a metric that gates. Changes are fractions.
#[derive(Clone, Debug, PartialEq)]
pub enum Remark {
    /// It passes, and is beyond the warning level.
    Warned {
        /// The change.
        change: Option<f64>,
    },
    /// It passes with a waiver, which it may not even need.
    Waived {
        /// The change.
        change: Option<f64>,
        /// Whether the change is beyond the threshold without the waiver.
        needed: bool,
        /// The waiver.
        waiver: Waived,
        /// The metric's direction.
        better: Better,
    },
    /// The placement of code alone could make such a change.
    SmallChange,
    /// The executables as they were built differ by more than the threshold, and the
    /// layouts do not, or were too few to tell.
    Placement {
        /// What they showed as built.
        as_built: Summary,
        /// What they showed over layouts.
        over: OverLayouts,
    },
    /// A slow tail and not the typical run made the estimate.
    Tail {
        /// The mean's change.
        average: f64,
        /// The typical run's change.
        typical: f64,
    },
    /// Many pairs have exactly the threshold's change.
    Ties {
        /// How many of them.
        ties: u64,
        /// How many pairs there are.
        pairs: u64,
    },
    /// Something about the noise matters.
    Noise(Finding),
    /// Another estimator would have needed less than half of the pairs.
    Earlier {
        /// The other estimator.
        estimator: Estimator,
        /// The pairs that it would have needed.
        needed: u64,
        /// The pairs that there were.
        pairs: u64,
    },
}

/// What the runs were given to do.
#[derive(Clone, Debug, PartialEq)]
pub enum RunNotice {
    /// The source of the benchmark itself is not the same on both sides.
    BenchChanged {
        /// The benchmark.
        benchmark: String,
        /// A file of it that differs, from the root.
        path: String,
    },
    /// Both sides were built with the benchmark sources of one.
    BenchFrom {
        /// Whose.
        side: Side,
        /// What was laid over the other side, from the root.
        folders: Vec<String>,
        /// A file that differs between them, if there is one.
        differing: Option<String>,
    },
    /// A library that a harness comes from is not the same on both sides.
    HarnessChanged {
        /// The benchmark.
        benchmark: String,
        /// The library.
        library: String,
        /// Its versions on the sides, none where it is not needed.
        versions: Pair<Vec<String>>,
    },
    /// The sides have different harnesses.
    HarnessesDiffer {
        /// The benchmark.
        benchmark: String,
        /// Those of the sides.
        dialects: Pair<Dialect>,
    },
    /// The process of a bench target is what is measured, for want of a known harness,
    /// and the target takes times itself.
    OwnTiming {
        /// The benchmark.
        benchmark: String,
        /// The word in its source that says so.
        word: &'static str,
        /// The source file, from the root.
        path: String,
    },
    /// A pair takes long, and the code of the benchmarks sets times of its own.
    OwnTimes {
        /// The benchmark.
        benchmark: String,
        /// How long a pair of it takes, seconds.
        pair_seconds: f64,
        /// The file and the line of each place.
        places: Vec<String>,
    },
    /// Small changes don't show in what the harness prints.
    Coarse {
        /// The benchmark.
        benchmark: String,
        /// The value, seconds.
        value: f64,
        /// The least difference between two values, as a part of this one.
        step: f64,
        /// The harness.
        dialect: Dialect,
    },
    /// The two sides print different things.
    OutputDiffers {
        /// The benchmark.
        benchmark: String,
        /// The first line that differs, counted from 1.
        line: u64,
    },
    /// A side prints something else each time, so that nothing can be said.
    OutputVaries {
        /// The benchmark.
        benchmark: String,
        /// The side.
        side: Side,
        /// The first line that differs, counted from 1.
        line: u64,
    },
    /// Names of benchmarks change with every run, and are compared under stable ones.
    NamesVary {
        /// The program.
        benchmark: String,
        /// The stable names.
        names: Vec<String>,
    },
    /// A run is too short for the clock of a metric and was repeated.
    Repeated {
        /// The benchmark.
        benchmark: String,
        /// How many runs make a measurement.
        runs: u32,
    },
    /// The page cache keeps a part of a file that was to be cold.
    StillCached {
        /// The benchmark.
        benchmark: String,
        /// The file.
        file: PathBuf,
        /// How much of it, 0 to 1.
        share: f64,
    },
}

/// How the tables of the two sides differ in what is run. The head's settings
/// count.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunDiffers {
    /// The side that has a table, where only one has.
    pub only_side: Option<Side>,
    /// The keys that differ.
    pub keys: Vec<DifferentKey>,
}

impl RunDiffers {
    /// The keys that change which benchmarks run, each once.
    pub(crate) fn selecting(&self) -> Vec<&'static str> {
        let selecting = self.keys.iter().filter(|differing| differing.selects);
        let mut keys: Vec<&'static str> = selecting.map(|differing| differing.key).collect();
        keys.dedup();
        keys
    }
}

/// A key that the sides set differently.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DifferentKey {
    /// The key.
    pub key: &'static str,
    /// Whether it changes which benchmarks run, or against what; the others shape how
    /// they are built and run.
    pub(crate) selects: bool,
    /// The benchmark that sets it; none of a key for all benchmarks.
    pub benchmark: Option<String>,
    /// The base's value, as JSON unless it is a string; none where it is not set.
    pub base: Option<String>,
    /// The head's.
    pub head: Option<String>,
}

/// What would bring the verdicts that are open at the end, as far as the pairs at hand
/// tell, each with how many of them it would decide.
#[derive(Clone, Debug, PartialEq)]
pub struct Advice {
    /// How many are open.
    pub open: usize,
    /// Another metric.
    pub metric: Option<(String, usize)>,
    /// A larger threshold, a fraction.
    pub threshold: Option<(f64, usize)>,
    /// A longer time limit, seconds.
    pub time: Option<(f64, usize)>,
}

/// Why a verdict within the limit is unlikely.
#[derive(Clone, Debug, PartialEq)]
pub struct Unlikely {
    /// The benchmark.
    pub benchmark: String,
    /// The metric.
    pub metric: String,
    /// The change beyond which it has regressed.
    pub limit: f64,
    /// Seconds that the verdict would take at this noise; `None` when it is
    /// not to be expected at all.
    pub needed: Option<f64>,
    /// How far from the threshold a change has to be to be told from it within
    /// the limit; `None` when no change could be.
    pub reach: Option<f64>,
    /// Of how many further metrics or benchmarks the same holds.
    pub others: usize,
}
