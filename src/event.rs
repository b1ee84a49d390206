//! What the outside may learn while a comparison runs.

use std::path::Path;

use crate::git::Revision;
use crate::git::base::Sides;
use crate::meter::depends_on_placement;
use crate::runner::{Plan, Progress, Unlikely};
use crate::sample::Sample;
use crate::side::Side;
use crate::stats::estimator::Estimator;
use crate::stats::shape::Finding;
use crate::verdict::{BenchmarkResult, MetricResult, Verdict};

/// A change below this, a fraction, can come of the placement of code alone.
const PLACEMENT: f64 = 0.05;

/// More questions than this are many.
const FEW: usize = 3;

/// One tie in so many pairs is worth a word.
const MANY_TIES: u64 = 4;

/// Something happened. Sent between runs only: while a benchmark runs, nobody
/// is told anything.
#[derive(Clone, Copy, Debug)]
pub enum Event<'a> {
    /// It is known which commits are compared.
    Sides(&'a Sides),
    /// Somebody else uses this repository's part of the cache; what they wrote
    /// about themselves.
    Waiting(&'a str),
    /// A side is being checked out.
    CheckingOut(Side, &'a Revision),
    /// A side is being built; cargo's own output follows.
    Building(Side, &'a str),
    /// A side was built before.
    Fresh(Side, &'a str),
    /// What a benchmark's process printed or cargo said, of a build that
    /// failed where that is no error.
    Failed(Side, &'a str),
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
    Pair(&'a Progress),
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
    /// The tables of the two sides decide differently; the base's counts.
    PolicyDiffers {
        /// The keys.
        keys: Vec<&'static str>,
    },
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
    /// Only the base has this benchmark.
    Removed {
        /// The benchmark.
        benchmark: String,
    },
    /// Both sides of this benchmark are the same program.
    Identical {
        /// The benchmark.
        benchmark: String,
    },
    /// The programs are the same, but files that they may read are not.
    OtherFiles {
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
    /// A change that the placement of code alone could make.
    SmallChange {
        /// The benchmark.
        benchmark: String,
        /// The metric.
        metric: String,
    },
    /// A verdict within the limit is unlikely.
    Unlikely(Unlikely),
    /// Something about the noise of a gating metric matters.
    Shape {
        /// The benchmark.
        benchmark: String,
        /// The metric.
        metric: String,
        /// What it is.
        finding: Finding,
    },
    /// A slow tail and not the typical run made the estimate.
    Tail {
        /// The benchmark.
        benchmark: String,
        /// The metric.
        metric: String,
        /// The mean's change.
        average: f64,
        /// The typical run's change.
        typical: f64,
    },
    /// Many pairs have exactly the threshold's change.
    Ties {
        /// The benchmark.
        benchmark: String,
        /// The metric.
        metric: String,
        /// How many of them.
        ties: u64,
        /// How many pairs there are.
        pairs: u64,
    },
    /// Another estimator would have needed less than half of the pairs.
    Earlier {
        /// The benchmark.
        benchmark: String,
        /// The metric.
        metric: String,
        /// The other estimator.
        estimator: Estimator,
        /// The pairs that it would have needed.
        needed: u64,
        /// The pairs that there were.
        pairs: u64,
    },
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
    /// Intervals that are meant to be looked at once.
    OneLook,
}

/// What there is to say of the gating metrics' results: a regression so small
/// that the placement of code alone could make it, a slow tail, ties, noise that
/// matters, an estimator that would have been faster. Of many questions nothing
/// is said of those that passed.
pub fn remarks<'a>(benchmarks: impl IntoIterator<Item = &'a BenchmarkResult>) -> Vec<Notice> {
    let metrics = benchmarks.into_iter().flat_map(|of| of.metrics.iter().map(move |m| (of, m)));
    let gating: Vec<_> = metrics.filter(|(_, result)| result.threshold.is_some()).collect();
    let said = |result: &MetricResult| {
        gating.len() <= FEW || result.verdict != Some(Verdict::NoRegression)
    };
    let mut notices = Vec::new();
    for (of, result) in gating.iter().filter(|(_, result)| said(result)) {
        remarks_on(&of.name, result, &mut notices);
    }
    notices
}

fn remarks_on(benchmark: &str, result: &MetricResult, notices: &mut Vec<Notice>) {
    let names = || (benchmark.to_owned(), result.metric.name.clone());
    let (benchmark, metric) = names();
    let pairs = result.summary.pairs;
    let small = result.summary.change.is_some_and(|change| change.abs() < PLACEMENT);
    let average = result.mean.and_then(|mean| mean.change);
    if let (Some(typical), Some(average)) = (result.overruled, average) {
        notices.push(Notice::Tail { benchmark, metric, average, typical });
    } else if result.verdict == Some(Verdict::Regression)
        && small
        && depends_on_placement(&result.metric)
    {
        notices.push(Notice::SmallChange { benchmark, metric });
    }
    if MANY_TIES * result.ties > pairs {
        let (benchmark, metric) = names();
        notices.push(Notice::Ties { benchmark, metric, ties: result.ties, pairs });
    }
    notices.extend(result.findings.iter().map(|&finding| {
        let (benchmark, metric) = names();
        Notice::Shape { benchmark, metric, finding }
    }));
    if let Some((estimator, needed)) = result.earlier {
        let (benchmark, metric) = names();
        notices.push(Notice::Earlier { benchmark, metric, estimator, needed, pairs });
    }
}
