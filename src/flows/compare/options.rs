//! What a comparison begins with.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::time::Instant;

use crate::exec::execution::Context;
use crate::model::{Explain, Shard};
use crate::workspace::Request;

/// The options of a comparison.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// What to compare.
    pub request: Request,
    /// Whether to stop at the first regression.
    pub fail_fast: bool,
    /// Whether to sample until the time limit even if no further verdict is expected.
    pub uses_full_time: bool,
    /// When to look for the functions that make a benchmark slower.
    pub explain: Explain,
    /// The gates that decide, each by its benchmark and metric; all if `None`.
    pub only: Option<BTreeSet<(String, String)>>,
    /// The seed of the order, below 2^53.
    pub seed: u64,
    /// Which shard this is, of a comparison over several machines.
    pub shard: Option<Shard>,
    /// The pack with all that is made ready, instead of a repository.
    pub packed: Option<PathBuf>,
}

/// What a comparison begins with.
#[derive(Clone, Copy)]
pub(super) struct Call<'a> {
    pub(super) options: &'a Options,
    pub(super) context: Context<'a>,
    pub(super) start: Instant,
}

impl<'a> Call<'a> {
    pub(super) fn new(options: &'a Options, context: Context<'a>) -> Self {
        Call { options, context, start: Instant::now() }
    }
}
