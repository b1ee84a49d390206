//! Earlier results, in a file of the cache. They save the time to find out the same again, and
//! decide no verdict.

use std::borrow::Borrow;
use std::path::Path;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::exec::machine;
use crate::exec::process::tick;
use crate::exec::system::{Memo, digest};

/// The maximum number of results in a file.
const KEPT: usize = 200;

/// One result in a file that holds those of this machine, the latest last.
pub(crate) struct Known {
    memo: Memo,
    key: String,
}

impl Known {
    /// The result for `parts`, in the file `path`.
    pub(crate) fn new(path: &Path, parts: &[impl Borrow<str>]) -> Self {
        let memo = Memo::new(path.to_owned(), &format!("{}\n{}", machine::identity(), tick()));
        Known { memo, key: digest(parts.join("\n").as_bytes()) }
    }

    fn all(&self) -> Vec<(String, Value)> {
        self.memo.read().ok().flatten().unwrap_or_default()
    }

    pub(crate) fn read<T: DeserializeOwned>(&self) -> Option<T> {
        let found = self.all().into_iter().find(|(key, _)| *key == self.key)?;
        serde_json::from_value(found.1).ok()
    }

    /// Stores a result; errors are ignored.
    pub(crate) fn write(&self, result: &impl Serialize) {
        let Ok(result) = serde_json::to_value(result) else { return };
        let mut all = self.all();
        all.retain(|(key, _)| *key != self.key);
        all.push((self.key.clone(), result));
        let _ = self.memo.write(&&all[all.len().saturating_sub(KEPT)..]);
    }
}
