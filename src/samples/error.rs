//! Why samples can't be analysed, as far as more than one place finds it.

use std::io;

use crate::error::{Advise, Error, Failure, Help};
use crate::model::Metric;
use crate::settings::error::instead_of;

/// A file was not written by `compare --shard`.
#[derive(Debug, thiserror::Error)]
#[error("{file} is not a shard: {why}")]
#[expect(missing_docs, reason = "the message names the fields")]
pub struct NoShard {
    pub file: String,
    pub why: String,
}

impl Advise for NoShard {
    fn advice(&self) -> Option<Help> {
        Help::hint(
            "`compare --shard I/N --samples FILE.csv` writes FILE.csv, and FILE.csv.json when it \
             ends; both are needed",
        )
    }
}

/// An error with a hint that holds whatever the machine lacks.
pub(super) fn failure(what: impl Into<String>, hint: impl Into<String>) -> Error {
    Failure::with(what, Help::hint(hint)).into()
}

/// The error for a file that can't be read.
pub fn unread(file: &str, source: io::Error) -> Error {
    let step = "check the path; only `analyze --combine` reads what is in a folder";
    Failure::new(format!("could not read {file}"), step).caused_by(source).into()
}

/// The error for samples without rows.
pub(super) fn no_rows(what: impl Into<String>) -> Error {
    let hint = "`cargo cbdr sample NAME:COMMAND...` prints samples, and `compare --samples \
        FILE.csv` writes them";
    failure(what, hint)
}

/// The error for a metric that no column has as its name.
pub fn no_metric(name: &str, there: &[Metric]) -> Error {
    let there = there.iter().map(|metric| metric.name.as_str());
    failure(format!("there is no column `{name}`"), instead_of(name, there, "available:"))
}
