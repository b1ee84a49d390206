//! Why samples can't be analysed.

use std::io;

use crate::error::{Advise, Help};
use crate::model::{Estimator, Shard, StoppedBy};
use crate::settings::error::{instead_of, list};

/// Why the shards of several machines are not parts of one comparison.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "the message names the fields")]
pub enum Misfit {
    /// They differ in what must be equal.
    #[error(
        "{} and {} have different {what}: {} and {}",
        .files[0], .files[1], .values[0], .values[1]
    )]
    Differ {
        what: &'static str,
        files: [String; 2],
        /// The value in each of them.
        values: [String; 2],
    },
    /// A shard appears twice.
    #[error("{} and {} are both shard {shard}", .files[0], .files[1])]
    Twice { shard: Shard, files: [String; 2] },
    /// The same samples appear under two names, or in the same order from the same seed.
    #[error("{} and {} contain the same samples, or were made with the same seed", .files[0],
        .files[1])]
    Copy { files: [String; 2] },
    /// Shards are missing.
    #[error("{} of {of} {} missing{}", Shard::listed(.numbers), are(.numbers.len()), with_them(.benchmarks))]
    Missing {
        numbers: Vec<u64>,
        of: u64,
        /// What only they have measured, if that is known.
        benchmarks: Vec<String>,
    },
    /// Some shards had nothing to measure, but others had.
    #[error("{file} has no samples ({why}), but others have")]
    Nothing { file: String, why: StoppedBy },
    /// Rows are missing or were added.
    #[error("{file} has {found} rows, but {measured} were measured")]
    Rows { file: String, found: u64, measured: u64 },
    /// The rows do not form pairs.
    #[error("the rows of {benchmark} in {file} do not form pairs")]
    Unpaired { file: String, benchmark: String },
    /// A file was not written by `compare --shard`.
    #[error("{file} is not a shard: {why}")]
    NoShard { file: String, why: String },
}

impl Misfit {
    fn hint(&self) -> &'static str {
        match self {
            Misfit::Differ { .. } => {
                "remove the files of other runs; if there are none, use the same commits, toolchain, \
                 configuration and options on every machine"
            }
            Misfit::Twice { .. } | Misfit::Copy { .. } => "name each shard's file once",
            Misfit::Missing { .. } => {
                "find out why those machines failed and run them again, or add `--allow-missing`; an \
                 interrupted run leaves FILE.csv.partial, which counts if you name it or its folder"
            }
            Misfit::Nothing { .. } => {
                "remove the files of other runs; if there are none, add `--always-run` to `compare`"
            }
            Misfit::Rows { .. } | Misfit::Unpaired { .. } => {
                "the file is not as it was written: download it again"
            }
            Misfit::NoShard { .. } => {
                "`compare --shard I/N --samples FILE.csv` writes FILE.csv, and FILE.csv.json when \
                 it ends; both are needed"
            }
        }
    }
}

fn are(number: usize) -> &'static str {
    if number == 1 { "is" } else { "are" }
}

/// `; not measured: `a`, `b` and 3 more`.
fn with_them(benchmarks: &[String]) -> String {
    let named = list(&benchmarks[..benchmarks.len().min(NAMED)]);
    match benchmarks.len().saturating_sub(NAMED) {
        _ if benchmarks.is_empty() => String::new(),
        0 => format!("; not measured: {named}"),
        more => format!("; not measured: {named} and {more} more"),
    }
}

/// How many benchmarks an error names.
const NAMED: usize = 5;

/// A position in a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Position {
    /// The name of the file.
    pub(crate) file: String,
    /// The line, counted from 1.
    pub(crate) line: u64,
}

/// What is wrong with the samples, or with what was requested.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the message names the fields")]
pub enum Error {
    /// The first column of a header is not that of the labels.
    #[error(
        "{}, line {}, column 1: the first column is `{found}`, not `benchmark`",
        .place.file, .place.line
    )]
    NoLabels {
        place: Position,
        /// The name of the column.
        found: String,
    },
    /// A row can't be parsed.
    #[error("{}, line {}, column {column}{}: {what}", .place.file, .place.line, named(.name))]
    Row {
        place: Position,
        /// Its column, counted from 1.
        column: usize,
        name: Option<String>,
        what: String,
    },
    /// A file can't be read.
    #[error("could not read {file}")]
    Read { file: String, source: io::Error },
    /// A file has not even a header.
    #[error("{0} is empty")]
    Empty(String),
    /// A file has only a header.
    #[error("there are no rows, only the header")]
    NoRow,
    /// There are too many labels for a column of labels.
    #[error("there are more than {most} labels")]
    Crowd { most: usize },
    /// There is only one label.
    #[error("`{0}` is the only label: there is nothing to compare it with")]
    OneLabel(String),
    /// No two labels belong together.
    #[error("no two labels can be compared: {}", list(.0))]
    NoPair(Vec<String>),
    /// No row has the label of the base.
    #[error("no row has the label `{base}`")]
    NoBase { base: String, labels: Vec<String> },
    /// No column has the name of the metric.
    #[error("there is no column `{metric}`")]
    NoMetric { metric: String, metrics: Vec<String> },
    /// A metric without a value on one of the sides.
    #[error("no run of `{label}` has a value of `{metric}`")]
    NoValue { label: String, metric: String },
    /// A label that comes when others may have been decided already.
    #[error(
        "{}, line {}: the label `{label}` appears here for the first time, when a verdict was \
         already possible",
        .place.file, .place.line
    )]
    Late { place: Position, label: String },
    /// Shards that do not make one comparison.
    #[error(transparent)]
    Shards(#[from] Misfit),
    /// An estimator that needs pairs, of rows that do not pair.
    #[error("the estimator `{estimator}` can't be used: {why}")]
    NeedsPairs {
        estimator: Estimator,
        /// Why there are no pairs.
        why: String,
    },
}

impl Advise for Error {
    fn advice(&self) -> Option<Help> {
        let among = |name: &str, names: &[String]| {
            instead_of(name, names.iter().map(String::as_str), "available:")
        };
        match self {
            Error::Shards(misfit) => Help::hint(misfit.hint()),
            Error::NoBase { base, labels } => Help::hint(among(base, labels)),
            Error::NoMetric { metric, metrics } => Help::hint(among(metric, metrics)),
            Error::Crowd { .. } => Help::hint("the first column names the side of a run"),
            Error::Empty(_) | Error::NoRow => Help::hint(
                "`cargo cbdr sample NAME:COMMAND...` prints samples, and `compare --samples \
                 FILE.csv` writes them",
            ),
            Error::OneLabel(_) => Help::hint(
                "the first column names the side of a run: give those of the other side another \
                 label, such as `head`",
            ),
            Error::NoPair(_) => Help::hint("choose one of them with `--base`"),
            Error::Late { .. } => Help::hint(
                "the error rate is shared among all labels, so they must be known first: pass the \
                 samples as files",
            ),
            Error::NoLabels { .. } => {
                Help::hint("the first line names the columns: `benchmark,wall_time,…`")
            }
            Error::NeedsPairs { .. } => Help::hint(
                "use `--estimator mean` or `geometric-mean`; `median` needs a threshold and rows \
                 that form pairs",
            ),
            // These name the file, the line and the column.
            _ => None,
        }
    }
}

fn named(name: &Option<String>) -> String {
    name.as_ref().map_or(String::new(), |name| format!(" (`{name}`)"))
}
