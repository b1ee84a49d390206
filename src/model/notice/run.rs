//! What the runs were given to do.

use std::path::PathBuf;

use crate::model::side::Side;

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
        /// A file of it that the other side has otherwise, or has not, or alone.
        differing: Option<String>,
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
