//! What the outside may learn while both sides are prepared.

use std::path::Path;

use crate::model::notice::Notice;
use crate::model::revision::{Revision, Sides};
use crate::model::side::Side;

/// Something happened on the way to two executables.
#[derive(Clone, Copy, Debug)]
pub enum Event<'a> {
    /// It is known which commits are compared.
    Sides(&'a Sides),
    /// Something is being fetched from a remote; what, and from which.
    Fetching(&'a str, &'a str),
    /// Somebody else uses this repository's part of the cache; what they wrote
    /// about themselves.
    Waiting(&'a str),
    /// A side is being checked out.
    CheckingOut(Side, &'a Revision),
    /// A side is being built; cargo's own output follows.
    Building(Side, &'a str),
    /// A side was not built, and it is tried again, to learn why.
    Diagnosing(Side),
    /// A side was built before.
    Fresh(Side, &'a str),
    /// All is built; where the worktrees are.
    Prepared {
        /// Seconds that it took.
        seconds: f64,
        /// The folder that holds them.
        room: &'a Path,
    },
    /// Something the user should know; it is in the result, too.
    Notice(&'a Notice),
}
