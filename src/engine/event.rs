//! What is reported while a subcommand runs, and to whom.

use std::path::Path;

use super::experiment::Experiment;
use super::plan::Plan;
use crate::model::{Evidence, Metric, Notice, Revision, Row, Side, Sides, Values};

/// Receives what happens. Each notice is reported as an event and kept for the result.
pub(crate) trait Reporter {
    fn event(&mut self, event: Event<'_>);

    /// Keeps a notice that was already reported in another form.
    fn record(&mut self, notice: Notice);

    /// Reports and keeps a notice.
    fn notice(&mut self, notice: Notice);
}

/// Passes events on, and collects the notices.
pub(crate) struct Recorder<F> {
    on_event: F,
    pub(crate) notices: Vec<Notice>,
    /// Those that were reported before it began again.
    reported: Vec<Notice>,
}

impl<F: FnMut(Event<'_>)> Recorder<F> {
    pub(crate) fn new(on_event: F) -> Self {
        Recorder { on_event, notices: Vec::new(), reported: Vec::new() }
    }

    /// Forgets the notices; those that occur again are not reported again.
    pub(crate) fn begin_again(&mut self) {
        self.reported.append(&mut self.notices);
    }
}

impl<F: FnMut(Event<'_>)> Reporter for Recorder<F> {
    fn event(&mut self, event: Event<'_>) {
        (self.on_event)(event);
    }

    fn record(&mut self, notice: Notice) {
        self.notices.push(notice);
    }

    fn notice(&mut self, notice: Notice) {
        if !self.reported.contains(&notice) {
            self.event(Event::Notice(&notice));
        }
        self.record(notice);
    }
}

/// Something happened. Events are sent between runs only: while a benchmark
/// runs, nothing is reported.
#[derive(Clone, Copy, Debug)]
pub enum Event<'a> {
    /// The commits to compare are known.
    Sides(&'a Sides),
    /// Something is fetched: what, and from which remote.
    Fetching(&'a str, &'a str),
    /// Another process uses this repository's part of the cache: its own
    /// description.
    Waiting(&'a str),
    /// A side is being checked out.
    CheckingOut(Side, &'a Revision),
    /// A side is being built; cargo's own output follows.
    Building(Side, &'a str),
    /// A side was not built, and is built again to find out why.
    Diagnosing(Side),
    /// A side was built before.
    Fresh(Side, &'a str),
    /// Everything is built.
    Prepared {
        /// The time it took, seconds.
        seconds: f64,
        /// The folder that holds the worktrees.
        cache: &'a Path,
    },
    /// Both sides are built with another number of codegen units, since so few benchmarks are
    /// unaffected, of so many.
    OtherBuilds(usize, usize),
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
        /// Whether its runs are known to take long.
        is_slow: bool,
    },
    /// Both sides of a program are linked again.
    Linking {
        /// The program.
        program: &'a str,
        /// Which of the random layouts of a pack it is, from 1, and how many there are; `None` if
        /// what did not change gets the same addresses.
        layout: Option<(usize, usize)>,
    },
    /// The search for the functions that make a benchmark slower begins.
    Explaining {
        /// The benchmark.
        benchmark: &'a str,
        /// How.
        evidence: Evidence,
    },
    /// A run begins in which the instructions of a benchmark are counted: which of its runs it
    /// is, from 1, and how many there are.
    Counting(&'a str, (usize, usize)),
    /// A pair begins that is run to find out how long it takes: which of them it is, from 1, and
    /// how many there are.
    Timing((usize, usize)),
    /// The unmeasured runs begin that determine how long the runs of a group of
    /// benchmarks should be.
    TryingLengths {
        /// The number of the group, from 1.
        group: usize,
        /// The number of groups.
        groups: usize,
        /// The number of the pair that begins, from 1.
        pair: usize,
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
        progress: &'a Experiment,
    },
    /// Sampling has ended for any reason, after at least one pair.
    Sampled(&'a Experiment),
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
    /// Something the user should know, also part of the result. That a verdict is unlikely only
    /// becomes part of it if it comes true.
    Notice(&'a Notice),
}
