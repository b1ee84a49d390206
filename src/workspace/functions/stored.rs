//! Comparisons of functions that are stored with a build of the head.
//!
//! What differs between two programs follows from what they were linked from, by which call,
//! from the executables, and from how lines have moved. All that makes the key of a [`Memo`]:
//! if any of it is not as it was, the functions are compared again.

use crate::exec::program::Program;
use crate::exec::system::{Memo, digest};
use crate::model::side::{Pair, Side};

/// How many digits of the digest of an executable's path are in the name of its file. A
/// build has few executables.
const DIGITS: usize = 16;

/// What compares: once it is edited, what was stored is found out again.
pub(super) const SOURCES: &str = concat!(
    include_str!("../functions.rs"),
    include_str!("comparison.rs"),
    include_str!("counterparts.rs"),
    include_str!("executable.rs"),
    include_str!("object_file.rs"),
    include_str!("../identical.rs"),
    include_str!("../identical/code.rs"),
    include_str!("../identical/locations.rs"),
    include_str!("../identical/moves.rs"),
    include_str!("../git/text_diff.rs"),
);

/// Where a comparison is stored: one for each executable of a build of the head; another base
/// replaces it. `kind` tells comparisons of the same programs from each other, and `more` is
/// what else they depend on. `None` if the build can't store it, or if an executable has no
/// digest.
pub(super) fn memo(kind: &str, programs: &Pair<Program>, more: &str) -> Option<Memo> {
    let folder = programs.head.comparisons.as_ref()?;
    let executable = programs.head.executable.as_ref()?;
    let name = digest(executable.as_os_str().as_encoded_bytes());
    let mut key = format!("{}\n{kind}\n{more}\n", digest(SOURCES.as_bytes()));
    for side in Side::BOTH {
        let Program { executable_sha256, home, relink, .. } = &programs[side];
        let (executable, relink) = (executable_sha256.as_ref()?, relink.as_ref().ok()?);
        let (call, inputs) = (&relink.command.argv, &relink.inputs);
        key += &format!("{executable}\n{home:?}\n{call:?}\n{inputs:?}\n");
    }
    Some(Memo::new(folder.join(format!("{kind}-{}.json", &name[..DIGITS])), &key))
}
