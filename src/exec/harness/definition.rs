//! What a harness consists of: how it is recognised, called and parsed.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use super::report::Error;
use crate::exec::process::Command;
use crate::model::{Dialect, Reading, RunLength, Values};

/// How long a probe measures each benchmark.
pub(super) const PROBE: Duration = Duration::from_millis(1);

/// How long a capped run measures each benchmark: the minimum of Criterion's quick mode.
pub(super) const CAP: Duration = Duration::from_millis(100);

/// How one harness is recognised, called and parsed; the file of each harness defines one.
pub(super) struct Definition {
    pub(super) dialect: Dialect,
    /// Strings that all of its executables contain. Each is written with a bar,
    /// which is not part of it, so that an executable with this table does not
    /// contain the strings.
    pub(super) marks: &'static [&'static str],
    /// Strings that only some versions contain.
    pub(super) words: &'static [&'static str],
    /// The one of them that shows that a run can be limited to some benchmarks.
    pub(super) exact: Option<&'static str>,
    /// Prepares the environment of a run, and returns the flags that every run gets.
    pub(super) set_up: fn(&Harness, &mut Command, &OutputPaths) -> Vec<Flag>,
    /// The flags that set how long a run measures each benchmark; none if it has no
    /// such flags. The number is the time of an iteration of the only benchmark, seconds, if known.
    pub(super) timed: fn(&Harness, RunLength, Option<f64>) -> Vec<Flag>,
    /// The arguments that run only these benchmarks.
    pub(super) only: fn(&[&str]) -> Vec<OsString>,
    /// The arguments that run the benchmarks that match the user's filter, or whose name
    /// it is.
    pub(super) matching: fn(&str) -> Vec<OsString>,
    /// Parses the output of a run.
    pub(super) read: fn(&OutputPaths) -> Result<Vec<Reading>, Error>,
}

/// A flag with its value.
pub(super) type Flag = (&'static str, Option<String>);

pub(super) const NO_HARNESS: Definition = Definition {
    dialect: Dialect::Plain,
    marks: &[],
    words: &[],
    exact: None,
    set_up: |_, _, _| Vec::new(),
    timed: |_, _, _| Vec::new(),
    only: |_| Vec::new(),
    matching: |_| Vec::new(),
    read: |_| Ok(vec![Reading::of_program(Values::default())]),
};

/// Where a run writes its results. Both sides use the same paths, so that they
/// can't differ in that.
#[derive(Clone, Debug)]
pub struct OutputPaths {
    /// The file for its standard output.
    pub stdout: PathBuf,
    /// The file (json) or folder (criterion) for its other output.
    pub output: PathBuf,
}

/// A dialect, and which of its flags an executable supports.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Harness {
    pub(crate) dialect: Dialect,
    /// Which of the dialect's optional strings it contains.
    pub(super) known: Vec<&'static str>,
    /// Whether runs have enough samples for a percentile.
    pub(super) has_percentiles: bool,
}

impl Harness {
    pub(super) fn knows(&self, word: &str) -> bool {
        self.known.contains(&word)
    }

    /// Those flags of a table whose words it knows.
    pub(super) fn supported<const N: usize>(&self, table: [(&str, Flag); N]) -> Vec<Flag> {
        let known = table.into_iter().filter(|(word, _)| self.knows(word));
        known.map(|(_, flag)| flag).collect()
    }
}

/// A time as the value of a flag: seconds, without an exponent.
pub(super) fn seconds_of(time: Duration) -> Option<String> {
    Some(time.as_secs_f64().to_string())
}
