//! How long a run measures.

use std::time::Duration;

/// How long a run measures each benchmark, where the harness can be told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RunLength {
    /// For about so long, unless the benchmark's own code asks for another time.
    Time(Duration),
    /// For about a tenth of a second, whatever the benchmark's own code asks for.
    Capped,
    /// As long as the benchmark's own code asks for.
    Own,
    /// As short as can be: the run only shows which benchmarks there are.
    Probe,
}

impl RunLength {
    /// Where a single run is to say something, as in a history.
    pub(crate) const LONG: RunLength = RunLength::Time(Duration::from_millis(100));

    /// The shortest that a comparison takes.
    pub(crate) const SHORT: RunLength = RunLength::Time(Duration::from_millis(1));

    /// The time, if one is set.
    pub(crate) fn time(self) -> Option<Duration> {
        match self {
            RunLength::Time(time) => Some(time),
            RunLength::Capped | RunLength::Own | RunLength::Probe => None,
        }
    }
}
