//! What several sources of metrics need: files of counts, programs in a `PATH`, and which of their
//! metrics are requested.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use super::refusal::unread;
use crate::error::Failure;
use crate::exec::process::look_up;
use crate::model::{KnownMetric, MetricSource};

/// What is done with files of counts.
pub(super) const COUNTS: &str = "read or write the counts in";

/// Reads the files in `folder` whose names begin like this, and removes them.
pub(super) fn take(folder: &Path, prefix: &str) -> Result<Vec<Vec<u8>>, Failure> {
    let io = |source| unread(COUNTS, folder)(source);
    let mut contents = Vec::new();
    for entry in fs_err::read_dir(folder).map_err(io)? {
        let path = entry.map_err(io)?.path();
        let name = path.file_name().unwrap_or_default();
        if name.as_encoded_bytes().starts_with(prefix.as_bytes()) {
            contents.push(fs_err::read(&path).map_err(io)?);
            fs_err::remove_file(&path).map_err(io)?;
        }
    }
    Ok(contents)
}

/// A program that is found in a `PATH`.
pub(super) fn in_path(name: &str, path: Option<&OsStr>) -> Option<PathBuf> {
    look_up(name.as_ref(), Some(path?), Path::new("")).ok()
}

/// The metrics of a source that are requested by name.
pub(super) fn asked(names: &[String], source: MetricSource) -> Vec<&'static KnownMetric> {
    KnownMetric::from(source).filter(|known| names.iter().any(|name| name == known.name)).collect()
}
