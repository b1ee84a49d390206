//! Earlier results, in a file of the cache. They save time but decide nothing: with a
//! wrong one, measuring only takes a little longer.

use std::path::{Path, PathBuf};

use crate::exec::machine;
use crate::exec::process::tick;
use crate::exec::system::digest;

/// The maximum number of results in a file.
const KEPT: usize = 200;

/// One result in a file, with one line each: the key and the result.
pub(crate) struct Known {
    path: PathBuf,
    key: String,
}

impl Known {
    /// The result for `parts`, on this machine, in the file `path`.
    pub(crate) fn new(path: &Path, parts: &[&str]) -> Self {
        let text = format!("{}\n{}\n{}", machine::identity(), tick(), parts.join("\n"));
        Known { path: path.to_owned(), key: digest(text.as_bytes()) }
    }

    /// The result, if it is known.
    pub(crate) fn read(&self) -> Option<String> {
        let text = std::fs::read_to_string(&self.path).ok()?;
        let found = text.lines().rev().find_map(|line| line.strip_prefix(&self.key))?;
        Some(found.trim().to_owned())
    }

    /// Stores a result without line breaks; errors are ignored.
    pub(crate) fn write(&self, answer: &str) {
        if self.read().as_deref() == Some(answer) {
            return;
        }
        let text = std::fs::read_to_string(&self.path).unwrap_or_default();
        let mut lines: Vec<&str> = text.lines().collect();
        let line = format!("{} {answer}", self.key);
        lines.push(&line);
        let kept = lines[lines.len().saturating_sub(KEPT)..].join("\n");
        let _ = std::fs::write(&self.path, format!("{kept}\n"));
    }
}
