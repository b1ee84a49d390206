//! Answers of other days, in a file of the cache. They save time and decide nothing: who
//! reads a wrong one measures a little longer.

use std::path::{Path, PathBuf};

use crate::exec::machine;
use crate::exec::process::tick;
use crate::exec::system::digest;

/// How many answers a file keeps.
const KEPT: usize = 200;

/// One answer in a file of them, a line each: the key and the answer.
pub(crate) struct Known {
    path: PathBuf,
    key: String,
}

impl Known {
    /// The answer for `parts`, on this machine, in the file `path`.
    pub(crate) fn new(path: &Path, parts: &[&str]) -> Self {
        let text = format!("{}\n{}\n{}", machine::identity(), tick(), parts.join("\n"));
        Known { path: path.to_owned(), key: digest(text.as_bytes()) }
    }

    /// The answer, if it is known.
    pub(crate) fn read(&self) -> Option<String> {
        let text = std::fs::read_to_string(&self.path).ok()?;
        let found = text.lines().rev().find_map(|line| line.strip_prefix(&self.key))?;
        Some(found.trim().to_owned())
    }

    /// Keeps an answer without line ends; that it can't be kept is no trouble.
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
