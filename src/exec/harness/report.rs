//! What a run reports: reads its files, and checks their names and values.

use std::io::Read;
use std::path::Path;

use crate::error::FileError;
use crate::model::{Reading, Values, unfit};

/// The maximum size of a file written by a run, bytes.
const LARGEST: u64 = 16 << 20;

/// The maximum number of metrics of a benchmark.
pub(super) const MOST_METRICS: usize = 1000;

/// What is wrong with the output of a run.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// It can't be parsed, or has too much, or what is not valid.
    #[error("{0}")]
    Unreadable(String),
    /// A file written by the run can't be read.
    #[error(transparent)]
    File(#[from] FileError),
}

/// What a run reports about a benchmark.
pub(super) fn reading(benchmark: impl Into<String>, values: Values) -> Reading {
    Reading { benchmark: Some(benchmark.into()), values, amount: None }
}

/// The text of a file; empty if there is no file.
pub(super) fn text(path: &Path) -> Result<String, Error> {
    match bytes(path) {
        Ok(bytes) => Ok(String::from_utf8_lossy(&bytes).into_owned()),
        Err(Error::File(error)) if error.source.kind() == std::io::ErrorKind::NotFound => {
            Ok(String::new())
        }
        Err(error) => Err(error),
    }
}

/// The content of a file written by a run, which must be a regular file of limited size.
pub(super) fn bytes(path: &Path) -> Result<Vec<u8>, Error> {
    let failed = || FileError::new("read", path);
    let about = std::fs::metadata(path).map_err(failed())?;
    // Opening a pipe would block until its other end is opened.
    if !about.is_file() {
        return Err(failed()(std::io::Error::other("it is not a regular file")).into());
    }
    let mut bytes = Vec::new();
    let file = std::fs::File::open(path).map_err(failed())?;
    file.take(LARGEST + 1).read_to_end(&mut bytes).map_err(failed())?;
    if bytes.len() as u64 > LARGEST {
        return Err(Error::Unreadable(format!("it has more than {} MiB", LARGEST >> 20)));
    }
    Ok(bytes)
}

/// Checks that a name can be used in tables and rows.
pub(super) fn named(what: &str, name: &str) -> Result<(), Error> {
    match unfit(name) {
        Some(why) => {
            let start: String = name.chars().take(100).collect();
            Err(Error::Unreadable(format!("the name `{start}` of a {what} is not valid: {why}")))
        }
        None => Ok(()),
    }
}

/// Checks that there are at most `most`.
pub(super) fn check_at_most(count: usize, most: usize, what: &str) -> Result<(), Error> {
    match count > most {
        true => Err(Error::Unreadable(format!("it has more than {most} {what}"))),
        false => Ok(()),
    }
}

/// The error for a value that is something else.
pub(super) fn no_number(metric: &str, what: &str) -> Error {
    Error::Unreadable(format!("the value of `{metric}` is {what}, not a finite number"))
}

/// Adds a metric's value.
pub(super) fn set(values: &mut Values, metric: &str, value: f64) -> Result<(), Error> {
    named("metric", metric)?;
    if !value.is_finite() {
        return Err(no_number(metric, &value.to_string()));
    }
    if !values.set(metric, value) {
        return Err(Error::Unreadable(format!("the metric `{metric}` appears twice")));
    }
    Ok(())
}

/// A time such as `1.2345 µs`, in seconds; `None` if the unit is not one of
/// time.
pub(super) fn seconds(number: &str, unit: &str) -> Option<f64> {
    let scale = match unit {
        "ps" => 1e-12,
        "ns" => 1e-9,
        "µs" | "μs" | "us" => 1e-6,
        "ms" => 1e-3,
        "s" => 1.0,
        "m" => 60.0,
        "h" => 3600.0,
        "d" => 86400.0,
        _ => return None,
    };
    number.replace(',', "").parse::<f64>().ok().map(|number| number * scale)
}
