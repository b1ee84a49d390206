//! What the outside may learn while a flow runs.

use crate::engine::experiment::{Plan, Progress};
use crate::model::notice::Notice;
use crate::model::row::Sample;
use crate::workspace;

/// Something happened. Sent between runs only: while a benchmark runs, nobody
/// is told anything.
#[derive(Clone, Copy, Debug)]
pub enum Event<'a> {
    /// Both sides are being fetched, checked out or built.
    Workspace(workspace::Event<'a>),
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

impl<'a> From<workspace::Event<'a>> for Event<'a> {
    fn from(event: workspace::Event<'a>) -> Self {
        match event {
            workspace::Event::Notice(notice) => Event::Notice(notice),
            event => Event::Workspace(event),
        }
    }
}
