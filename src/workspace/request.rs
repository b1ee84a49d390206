//! What a comparison is asked to do.

use std::ffi::OsString;
use std::path::PathBuf;

use crate::model::Side;
use crate::settings::table::Table;

/// The request of a comparison.
#[derive(Clone, Debug, Default)]
pub struct Request {
    /// The folder inside the repository in which it was called.
    pub folder: PathBuf,
    /// The settings of the flags.
    pub flags: Table,
    /// The head, if it is not HEAD.
    pub head: Option<String>,
    /// The base to use if the head is an ancestor of BASE.
    pub fallback_base: Option<String>,
    /// Use BASE itself, not the merge-base.
    pub exact_base: bool,
    /// The head is the working tree as it is.
    pub dirty: bool,
    /// Allow fetching what is missing from the remote, into the user's clone.
    pub fetch: bool,
    /// Compare the head with itself, built twice.
    pub aa: bool,
    /// Its own pairs are to give a verdict, without those of other machines or commits.
    pub decides: bool,
    /// Measure although both sides are the same program.
    pub always_run: bool,
    /// Also measure unaffected benchmarks.
    pub measure_all: bool,
    /// Use one codegen unit where the number may be chosen.
    pub one_unit: bool,
    /// The benchmarks that build on neither side, as other builds of both have shown.
    pub unbuilt: Vec<String>,
    /// The filter of benchmarks.
    pub filter: Option<String>,
    /// Whose table decides: the base's, if it has one, or the head's.
    pub policy_from: Side,
    /// The cache, if it is not in its default place.
    pub cache: Option<PathBuf>,
    /// The environment in which the program was called.
    pub env: Vec<(OsString, OsString)>,
    /// The command, with its first argument, that calls [`record_invocation`](super::record_invocation).
    pub capture: Vec<OsString>,
    /// The command, with its first argument, that calls [`record_link`](super::record_link).
    pub record_link: Vec<OsString>,
    /// The command, with its first argument, that calls
    /// [`trace`](crate::exec::process::trace::trace).
    pub trace: Vec<OsString>,
}
