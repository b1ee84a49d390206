//! What the user should know about a result. The binary words it.

#![expect(missing_docs, reason = "a field has a comment where its name leaves a question")]

use std::collections::BTreeSet;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::dialect::Dialect;
use super::gate::{Learnt, Waived, Waiver};
use super::layouts::OverLayouts;
use super::metric::Better;
use super::noise::Finding;
use super::outcome::result::{PairsResult, Removed, Summary};
use super::outcome::verdict::Verdict;
use super::side::{Pair, Side};

/// A function that is not the same on both sides.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChangedFunction {
    /// Its name, without the hashes of crates.
    pub name: String,
    /// Its length, bytes; `None` on a side without such a function.
    pub bytes: Pair<Option<u64>>,
    /// Whether a regressed benchmark runs it; `None` if unknown.
    pub runs: Option<bool>,
    /// Whether its name contains a crate that may have changed; `None` if unknown. Edited code
    /// may also be inlined into functions of other crates.
    pub is_edited: Option<bool>,
    /// Whether its name contains the module of a file that differs between the sides.
    pub in_edited_file: bool,
}

/// Something the user should know about a result.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Notice {
    /// The working tree has uncommitted changes, which were not measured.
    DirtyTree { files: usize },
    /// The head, which an option may name, is the base.
    NothingToCompare { base: String, is_named: bool, has_parent: bool },
    /// BASE is not in this clone; the merge commit's first parent is used instead.
    MergeRef { base: String },
    /// The tables of the two sides differ in settings that decide.
    PolicyDiffers {
        keys: Vec<String>,
        /// The side whose table is used.
        from: Side,
    },
    /// The base's table is invalid, and the head's counts.
    BaseTable { why: String },
    /// The tables of the two sides differ in what is run, or only one side has a table.
    RunDiffers(RunDiffers),
    /// Cargo's configurations of the two sides differ in how programs are run.
    RunnerDiffers(RunnerDiffers),
    /// Benchmarks are built with different features or profiles, because the base's manifest
    /// lacks or requires others than the head's.
    BuildDiffers {
        benchmarks: Vec<String>,
        /// The arguments of cargo that choose these on each side.
        args: Pair<Vec<String>>,
    },
    /// Profiles or flags of the compiler differ between the sides, each of which is built with its
    /// own.
    CompilerDiffers { keys: Vec<DifferentKey> },
    /// The sides have different files that name a toolchain, but one toolchain builds both.
    OneToolchain,
    /// Cargo's configuration has an alias with the name of this program.
    Alias,
    /// The working tree has files of cargo's configuration that are not committed.
    UncommittedConfiguration { files: Vec<String> },
    /// The sides require different versions of these libraries, but start from the same `Cargo.lock`.
    OneLock { libraries: Vec<String> },
    /// Both sides were built with the benchmark sources of one.
    BenchFrom {
        side: Side,
        /// The folders copied over those of the other side, relative to the root.
        folders: Vec<String>,
        /// A file that differs between the sides, if any.
        differing: Option<String>,
    },
    /// Something about one benchmark, which may be equal for others.
    Benchmark { benchmark: String, notice: BenchmarkNotice },
    /// Some benchmarks run no code that differs between the sides, and were not measured.
    Unaffected {
        benchmarks: usize,
        of: usize,
        /// Whether no function and no constant of any program differs.
        has_same_code: bool,
    },
    /// Both sides were built with one codegen unit: fewer benchmarks are measured.
    OneUnit {
        measured: usize,
        /// How many would be measured with the profile's number.
        instead_of: usize,
        of: usize,
    },
    /// Bench targets are built with required features that are not enabled otherwise.
    Required { benchmarks: Vec<String>, features: Vec<String> },
    /// No benchmark measures a metric whose unit is configured.
    UnusedUnit { metric: String },
    /// These gate on the base, but the head does not measure them.
    Removed(Vec<Removed>),
    /// Files of a side are pointers of git-lfs, without their content.
    Pointers { side: Side, count: usize, example: String },
    /// `--max-pairs` is smaller than the least number of pairs for a verdict.
    TooFewPairs { least: u64 },
    /// A test over layouts had all that the pack has, and no verdict.
    NoMoreLayouts { layouts: u64 },
    /// The time limit came before all benchmarks had the minimum number of pairs for a verdict.
    BelowMinimumPairs {
        /// How many did not reach it.
        benchmarks: usize,
        example: String,
    },
    /// Sampling ended before the time limit, because no further verdict was expected within it.
    GaveUp { after: Duration, limit: Duration },
    /// The time limit leaves no room for the least number of pairs of these benchmarks.
    NoTime(NoTime),
    /// Benchmarks passed in short runs only: there was no time for longer ones.
    OnlyShort {
        benchmarks: usize,
        example: String,
        /// How long the longer runs should have measured, seconds.
        length: f64,
    },
    /// The configuration names another base than the CI job does.
    ConfiguredBase {
        /// The configured base, which is used.
        base: String,
        /// The variable in which the job names another base.
        variable: String,
        /// The value of that variable.
        named: String,
    },
    /// The head has a waiver that the base does not have.
    NewWaiver {
        metric: String,
        /// Its ceiling, as it is written.
        ceiling: String,
        reason: String,
    },
    /// A waiver has expired.
    ExpiredWaiver(Waiver),
    /// Something about the result of a metric.
    Metric { benchmark: String, metric: String, remark: Remark },
    /// A verdict within the limit is unlikely.
    Unlikely(Unlikely),
    /// What would help to reach the verdicts that are undecided.
    Advice(Advice),
    /// Samples of one side of a benchmark, without any of the other side.
    Alone { label: String },
    /// The rows of two labels no longer alternate in pairs.
    Unpaired {
        benchmark: String,
        /// The first line where they don't.
        line: u64,
    },
    /// A sentence about the tables, from the companions of the shards.
    OfShards { text: String },
    /// A sentence about one of the shards, or from it.
    OfShard { text: String, weight: Weight },
    /// Shards of a comparison that are missing.
    MissingShards { numbers: Vec<u64> },
    /// The intervals are valid for a single look.
    OneLook,
    /// A requested output could not be written.
    Unwritten { why: String },
}

/// The benchmarks that were not measured because the time limit leaves no room for them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NoTime {
    /// Their names, and how long the least number of pairs takes, seconds; the longest first.
    pub benchmarks: Vec<(String, f64)>,
    /// A time limit that has room for all.
    pub wanted: Duration,
}

/// What a notice is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoticeSubject<'a> {
    /// The benchmark.
    pub benchmark: &'a str,
    /// The metric of it, for a notice about one.
    pub metric: Option<&'a str>,
}

/// How much a notice matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Weight {
    /// Something that may need action.
    Warning,
    /// Information; nothing is wrong.
    Note,
}

impl Notice {
    /// How much it matters.
    pub fn weight(&self) -> Weight {
        match self {
            Notice::OfShard { weight, .. } => *weight,
            Notice::NothingToCompare { .. }
            | Notice::BenchFrom { .. }
            | Notice::Unaffected { .. }
            | Notice::OneUnit { .. }
            | Notice::Required { .. }
            | Notice::OneLock { .. }
            | Notice::Advice(_)
            | Notice::OneLook
            | Notice::Benchmark {
                notice:
                    BenchmarkNotice::Functions { .. }
                    | BenchmarkNotice::New
                    | BenchmarkNotice::Identical { .. }
                    | BenchmarkNotice::NamesVary { .. }
                    | BenchmarkNotice::Repeated { .. },
                ..
            }
            | Notice::Metric {
                remark:
                    Remark::Placement { .. }
                    | Remark::Learnt { learnt: Learnt { earlier: None, .. }, .. },
                ..
            } => Weight::Note,
            _ => Weight::Warning,
        }
    }

    /// The one benchmark that it is about, if it may be equal for others.
    pub fn subject(&self) -> Option<NoticeSubject<'_>> {
        match self {
            Notice::Metric { benchmark, metric, .. } => {
                Some(NoticeSubject { benchmark, metric: Some(metric) })
            }
            Notice::Benchmark { benchmark, .. } => Some(NoticeSubject { benchmark, metric: None }),
            _ => None,
        }
    }

    /// Whether it is about what only longer runs show.
    pub fn is_about_length(&self) -> bool {
        matches!(
            self,
            Notice::OnlyShort { .. } | Notice::Metric { remark: Remark::Longer { .. }, .. }
        )
    }

    /// Whether it is about a branch that changes its own gate, or its own benchmark.
    pub fn is_about_settings(&self) -> bool {
        matches!(
            self,
            Notice::PolicyDiffers { .. }
                | Notice::BaseTable { .. }
                | Notice::RunDiffers(_)
                | Notice::RunnerDiffers(_)
                | Notice::BuildDiffers { .. }
                | Notice::CompilerDiffers { .. }
                | Notice::Alias
                | Notice::UncommittedConfiguration { .. }
                | Notice::ConfiguredBase { .. }
                | Notice::NewWaiver { .. }
                | Notice::OfShards { .. }
                | Notice::Benchmark {
                    notice: BenchmarkNotice::HarnessChanged { .. }
                        | BenchmarkNotice::HarnessesDiffer { .. },
                    ..
                }
        )
    }
}

/// Something about the result of a metric that gates. Changes are fractions.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Remark {
    /// It passes, but is beyond the warning level.
    Warned { change: Option<f64> },
    /// It passes with a waiver, needed or not.
    Waived {
        change: Option<f64>,
        /// Whether the change is beyond the threshold without the waiver.
        needed: bool,
        waiver: Waived,
        better: Better,
    },
    /// The placement of code alone could cause such a change.
    SmallChange,
    /// The executables as built differ by more than the threshold, but over layouts
    /// they do not, or there were too few layouts to decide.
    Placement { before: PairsResult, layouts: OverLayouts, summary: Summary, verdict: Verdict },
    /// It is worse in longer runs than in short ones, or looks worse.
    Longer {
        /// The change in short runs.
        short: AtLength,
        /// The change in longer runs, which is the result.
        long: AtLength,
        /// The pairs of longer runs.
        pairs: u64,
        /// Whether it regressed, or is undecided.
        verdict: Verdict,
    },
    /// Its threshold is learnt, or was to be learnt.
    Learnt { threshold: f64, learnt: Learnt },
    /// The estimate comes from a slow tail, not from the typical run.
    Tail { average: f64, typical: f64 },
    /// Many of the pairs have exactly the change of the threshold.
    Ties { ties: u64, pairs: u64 },
    /// The noise has a property that matters.
    Noise(Finding),
}

/// A change in runs of a certain length.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct AtLength {
    /// How long a run measures a benchmark.
    pub seconds: f64,
    /// The change; `None` from zero.
    pub change: Option<f64>,
}

/// Something the user should know about one benchmark.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum BenchmarkNotice {
    /// Which functions differ between the sides of a program that regressed.
    Functions {
        /// The functions: first those of edited files, then those that run in a regressed benchmark,
        /// of these first those whose source may have changed, in order of their change in length.
        changed: Vec<ChangedFunction>,
    },
    /// The command of a benchmark is a file of the user's working tree, the same on both sides.
    OneFile { path: String },
    /// The base has no such benchmark, or does not build.
    NoBaseline { why: String },
    /// A bench target that was not selected by name does not build.
    LeftOut { why: String },
    /// Only the head has this benchmark.
    New,
    /// Only one side measures this metric.
    OneSided { metric: String, side: Side },
    /// Only the base has this benchmark, and none of its metrics gates.
    OnlyBase,
    /// Both sides of this benchmark are the same program, apart from source locations, such as line
    /// numbers, in so many places.
    Identical { moved: usize },
    /// Both sides of this benchmark are the same program, which may do something else on each
    /// because of other files that differ, so it is measured.
    SameProgram {
        /// What it does that may not be the same, worded as the end of a sentence.
        why: String,
    },
    /// A requested metric that does not gate can't be measured here.
    NotMeasured {
        why: String,
        /// What the user can do about it.
        hint: Option<String>,
    },
    /// An executable can't be linked again, so its other layouts are copies in memory.
    NotLinked {
        /// Why not, worded as the end of a sentence.
        why: String,
    },
    /// Its executables could not be aligned, so those as built were measured.
    NotAligned {
        /// Why not, worded as the end of a sentence.
        why: String,
    },
    /// A run left processes behind, which were killed.
    LeftBehind { processes: u64 },
    /// The same label comes first in all pairs.
    FixedOrder {
        /// Its label.
        first: String,
        pairs: u64,
    },
    /// The source of the benchmark itself differs between the sides, such as in this file,
    /// relative to the root.
    BenchChanged { path: String },
    /// A library that provides a harness has different versions on the two sides.
    HarnessChanged {
        library: String,
        /// Its versions on each side; empty if a side does not use it.
        versions: Pair<Vec<String>>,
    },
    /// The sides have different harnesses.
    HarnessesDiffer { dialects: Pair<Dialect> },
    /// The whole process of a bench target is measured, since its harness is unknown,
    /// although the target measures times itself.
    OwnTiming {
        /// The word in its source that suggests it.
        word: String,
        /// The source file, relative to the root.
        path: String,
    },
    /// The program allocates less often than most, or with an allocator that is not seen.
    FewAllocations { calls: f64 },
    /// A pair takes long, because the code of the benchmarks sets its own measurement times.
    OwnTimes {
        /// How long a pair of it takes, seconds.
        pair_seconds: f64,
        /// File and line of each such setting.
        places: Vec<String>,
    },
    /// A pair takes long, because its runs can't be limited to a round.
    ManyRounds {
        /// How long a pair of it takes, seconds.
        pair_seconds: f64,
    },
    /// Runs repeat a benchmark for seconds, and the time limit left something undecided.
    LongRuns {
        /// The first version of a harness whose runs can be much shorter.
        shorter_since: String,
    },
    /// The harness prints too few digits to show small changes.
    Coarse {
        value: f64,
        /// The resolution, as a fraction of this value.
        step: f64,
        dialect: Dialect,
    },
    /// The two sides print different things.
    OutputDiffers {
        /// The first line that differs, counted from 1.
        line: u64,
        /// Whether it is one that the benchmark hands over, not one that it prints.
        is_handed_over: bool,
    },
    /// The benchmark states that an iteration works on more or less on one side than on the other.
    AmountDiffers { amounts: Pair<String> },
    /// A side prints something different each time, so the outputs can't be compared.
    OutputVaries {
        side: Side,
        /// The first line that differs, counted from 1.
        line: u64,
    },
    /// Names of benchmarks change with every run, and are replaced by stable ones.
    NamesVary { names: Vec<String> },
    /// A run is too short for the clock of a metric, so a measurement is made of several.
    Repeated { runs: u32 },
}

impl BenchmarkNotice {
    /// The notice about the benchmark of this name.
    pub fn about(self, benchmark: &str) -> Notice {
        Notice::Benchmark { benchmark: benchmark.to_owned(), notice: self }
    }
}

/// How the tables of the two sides differ in what is run. The head's settings
/// are used.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunDiffers {
    /// The side that has a table, if only one has.
    pub only_side: Option<Side>,
    /// The keys that differ.
    pub keys: Vec<DifferentKey>,
}

impl RunDiffers {
    /// The keys that change which benchmarks run, each once.
    pub(crate) fn selecting(&self) -> Vec<String> {
        let selecting = self.keys.iter().filter(|differing| differing.selects);
        let mut keys: Vec<String> = selecting.map(|differing| differing.key.clone()).collect();
        keys.dedup();
        keys
    }
}

/// How cargo's configurations of the two sides differ in how programs are run. Both sides are
/// run as that of one says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunnerDiffers {
    /// Whose.
    pub from: Side,
    /// The words of the runners, if they differ, or a file that they name; empty without one.
    pub runner: Option<Pair<String>>,
    /// The variables that differ.
    pub variables: BTreeSet<String>,
}

impl RunnerDiffers {
    /// No difference.
    pub(crate) fn new(from: Side) -> Self {
        RunnerDiffers { from, runner: None, variables: BTreeSet::new() }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.runner.is_none() && self.variables.is_empty()
    }
}

/// A key that the sides set differently.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DifferentKey {
    /// The key.
    pub key: String,
    /// Whether it changes which benchmarks run, or against what; other keys change
    /// how they are built and run.
    pub(crate) selects: bool,
    /// The benchmark that sets it; `None` for a key of all benchmarks.
    pub benchmark: Option<String>,
    /// The base's value, as JSON unless it is a string; `None` if it is not set.
    pub base: Option<String>,
    /// The head's value.
    pub head: Option<String>,
}

/// What would decide the verdicts that are undecided at the end, estimated from the
/// pairs at hand; each with the number of verdicts that it would decide.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Advice {
    /// How many are undecided.
    pub open: usize,
    /// Another metric.
    pub metric: Option<(String, usize)>,
    /// A larger threshold, a fraction.
    pub threshold: Option<(f64, usize)>,
    /// A longer time limit, seconds.
    pub time: Option<(f64, usize)>,
    /// Whether the number of pairs was limited, so that not more time helps, but more pairs.
    pub is_limited_by_pairs: bool,
}

impl Advice {
    /// Advice about this and about what is measured after it. What would have decided here is not
    /// known to decide there, too; the time is that of both.
    pub(crate) fn and(self, after: Advice) -> Advice {
        let time = match (self.time, after.time) {
            (Some((time, decided)), Some((other, others))) => {
                Some((time + other, decided + others))
            }
            (time, other) => time.or(other),
        };
        Advice { open: self.open + after.open, time, ..self }
    }
}

/// Why a verdict within the limit is unlikely.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Unlikely {
    /// The benchmark.
    pub benchmark: String,
    /// The metric.
    pub metric: String,
    /// The change beyond which it is a regression.
    pub limit: f64,
    /// The number of pairs that is the limit; `None` if that is the time.
    #[serde(default)]
    pub most_pairs: Option<u64>,
    /// Seconds until a verdict at this noise, or pairs if these are limited; `None` if none is to
    /// be expected.
    pub needed: Option<f64>,
    /// How far a change has to be from the threshold for a verdict within the
    /// limit; `None` if no change would do.
    pub reach: Option<f64>,
    /// How many other metrics or benchmarks this applies to as well.
    pub others: usize,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn advice_about_both_parts_counts_what_is_undecided_in_either() {
        let advice = |open, time| Advice {
            open,
            threshold: Some((0.2, open)),
            time: Some((time, open)),
            ..Advice::default()
        };
        let both = advice(3, 60.0).and(advice(1, 20.0));
        assert_eq!((both.open, both.threshold, both.time), (4, Some((0.2, 3)), Some((80.0, 4))));
        let unknown = Advice { time: None, ..advice(1, 0.0) };
        assert_eq!(advice(3, 60.0).and(unknown).time, Some((60.0, 3)));
    }
}
