//! What is reported while a flow runs.

use crate::engine::experiment::Progress;
use crate::engine::plan::Plan;
use crate::model::explanation::Evidence;
use crate::model::metric::Metric;
use crate::model::notice::Notice;
use crate::model::row::{Row, Values};
use crate::model::side::Side;
use crate::workspace;

/// Something happened. Events are sent between runs only: while a benchmark
/// runs, nothing is reported.
#[derive(Clone, Copy, Debug)]
pub enum Event<'a> {
    /// Both sides are being fetched, checked out or built.
    Workspace(workspace::Event<'a>),
    /// The unmeasured runs of a benchmark begin.
    WarmingUp(&'a str),
    /// All benchmarks of a program are measured, since it is not known which are unaffected.
    AllMeasured {
        /// The program.
        benchmark: &'a str,
        /// Why that is not known.
        why: &'a str,
    },
    /// A benchmark is measured, since it is not known to be unaffected.
    Measured {
        /// The benchmark.
        benchmark: &'a str,
        /// Why not.
        why: &'a str,
    },
    /// An unmeasured run of a program with several of them begins.
    WarmUpRun {
        /// The side.
        side: Side,
        /// Which of the program's unmeasured runs it is, from 1, and how many there are.
        place: (usize, usize),
        /// How long the previous one took, seconds; `None` before the first.
        previous_seconds: Option<f64>,
    },
    /// A program is traced, to see whether its benchmarks run code that differs between the
    /// sides.
    Watching {
        /// The program.
        program: &'a str,
        /// Which of its benchmarks it is, from 1, and how many there are; `None` for all at
        /// once.
        place: Option<(usize, usize)>,
    },
    /// The search for the functions that make a benchmark slower begins.
    Explaining {
        /// The benchmark.
        benchmark: &'a str,
        /// How.
        evidence: Evidence,
    },
    /// The unmeasured runs begin that determine how long the runs of a group of
    /// benchmarks should be.
    TryingLengths {
        /// The number of the group, from 1.
        group: usize,
        /// The number of groups.
        groups: usize,
    },
    /// Sampling begins.
    Sampling(&'a Plan),
    /// What regressed as built is sampled again over layouts.
    OverLayouts(&'a Plan),
    /// What has not regressed is sampled again, in longer runs.
    Longer(&'a Plan),
    /// A pair is complete.
    Pair {
        /// The rows of its runs, in order.
        rows: &'a [Row],
        /// The progress of sampling.
        progress: &'a Progress<'a>,
    },
    /// Sampling has ended for any reason, after at least one pair.
    Sampled(&'a Progress<'a>),
    /// Sampling of any commands begins.
    Rounds {
        /// The metrics of a run, in order.
        metrics: &'a [Metric],
        /// The seed of the order.
        seed: u64,
    },
    /// A round of runs is complete.
    Round {
        /// Its number, from 1.
        number: u64,
        /// The label and the values of each run, in order.
        runs: &'a [(&'a str, Values)],
    },
    /// Something the user should know, also part of the result.
    Notice(&'a Notice),
}

impl<'a> From<workspace::Event<'a>> for Event<'a> {
    fn from(event: workspace::Event<'a>) -> Self {
        match event {
            workspace::Event::Notice(notice) => Event::Notice(notice),
            event => Event::Workspace(event),
        }
    }
}
