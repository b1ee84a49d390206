//! How long a run measures.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// How long a run measures each benchmark, if that can be set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum RunLength {
    /// For about this time, unless the benchmark's code sets another one.
    Time(Duration),
    /// For about a tenth of a second, regardless of the benchmark's code.
    Capped,
    /// For about this time, or a tenth of a second if the benchmark's code sets another one: for
    /// runs whose results don't count.
    Traced(Duration),
    /// As long as the benchmark's code says.
    Own,
    /// As short as possible: the run only shows which benchmarks exist.
    Probe,
}

impl RunLength {
    /// For single runs that have to be informative, as in a history.
    pub(crate) const LONG: RunLength = RunLength::Time(Duration::from_millis(100));

    /// The shortest length in a comparison.
    pub(crate) const SHORT: RunLength = RunLength::Time(Duration::from_millis(1));

    /// For runs that only have to execute each benchmark, of what can't do that just once. In no time,
    /// divan would run nothing.
    pub(crate) const EXECUTED: RunLength = RunLength::Traced(Duration::from_millis(10));

    /// The time, if one is set.
    pub(crate) fn time(self) -> Option<Duration> {
        match self {
            RunLength::Time(time) => Some(time),
            RunLength::Traced(_) | RunLength::Capped | RunLength::Own | RunLength::Probe => None,
        }
    }
}
