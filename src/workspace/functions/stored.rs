//! Comparisons of functions that are stored with a build of the head.
//!
//! What differs between two programs follows from what they were linked from, by which call,
//! from the executables, and from how lines have moved. Digests of all that make the key.
//! Each is [sealed](seal): if any of this is not as it was, or the file is damaged, the
//! functions are compared again.

use std::path::PathBuf;

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::exec::program::Program;
use crate::exec::system::{Place, digest, make_private_dir, seal, unseal};
use crate::model::side::{Pair, Side};

/// How many digits of the digest of an executable's path are in the name of its file. A
/// build has few executables.
const DIGITS: usize = 16;

/// The version of what is compared, and how.
const FORMAT: u32 = 2;

/// The place of a comparison.
pub(super) struct StoredComparison {
    /// One for each executable of a build of the head: another base replaces it.
    path: PathBuf,
    /// All that the comparison depends on.
    key: String,
}

impl StoredComparison {
    /// `kind` tells comparisons of the same programs from each other, and `more` is what
    /// else they depend on. `None` where the build has no place for it, or where an
    /// executable has no digest.
    pub(super) fn of(kind: &str, programs: &Pair<Program>, more: &str) -> Option<Self> {
        let folder = programs.head.comparisons.as_ref()?;
        let executable = programs.head.executable.as_ref()?;
        let name = digest(executable.as_os_str().as_encoded_bytes());
        let mut key = format!("{}\n{FORMAT}\n{kind}\n{more}\n", env!("CARGO_PKG_VERSION"));
        for side in Side::BOTH {
            let Program { executable_sha256, home, relink, .. } = &programs[side];
            let (executable, relink) = (executable_sha256.as_ref()?, relink.as_ref().ok()?);
            let (call, inputs) = (&relink.command.argv, &relink.inputs);
            key += &format!("{executable}\n{home:?}\n{call:?}\n{inputs:?}\n");
        }
        let path = folder.join(format!("{kind}-{}.json", &name[..DIGITS]));
        Some(StoredComparison { path, key })
    }

    /// What is stored, if it is of this key and whole.
    pub(super) fn read<T: DeserializeOwned>(&self) -> Option<T> {
        let sealed = std::fs::read(&self.path).ok()?;
        serde_json::from_slice(unseal(&self.key, &sealed)?).ok()
    }

    /// Stores a comparison. That it can't be stored is no trouble.
    pub(super) fn write(&self, comparison: &impl Serialize) {
        let write = || {
            let text = serde_json::to_vec(comparison)?;
            make_private_dir(self.path.parent().unwrap_or(&self.path))?;
            Place::find(&self.path)?.replace(&seal(&self.key, &text))
        };
        let _: std::io::Result<()> = write();
    }
}
