//! What one machine measured: a file of samples with its companion.

use super::companion::{Companion, SeededShard};
use super::recording::Recording;
use crate::model::StoppedBy;

/// What one machine measured.
#[derive(Debug)]
pub struct ShardPart {
    /// The name of the file, for messages.
    pub file: String,
    /// Which shard it is.
    pub shard: SeededShard,
    /// The companion of the file.
    pub companion: Companion,
    /// The rows.
    pub recording: Recording,
}

impl ShardPart {
    /// Why there was nothing to measure; `None` if there was something.
    pub(super) fn nothing(&self) -> Option<StoppedBy> {
        let why = self.companion.stopped_by;
        why.without_runs().map(|_| why)
    }

    /// Whether it was stopped, so that its task may have been started again.
    pub(super) fn is_stopped(&self) -> bool {
        self.companion.stopped_by == StoppedBy::Interrupt
    }
}
