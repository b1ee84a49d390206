//! From samples to verdicts: how `analyze` evaluates rows of runs.
//!
//! Rows arrive one by one, in a [`Recording`]. As long as every two rows of two labels
//! have one of each, they form pairs, and with a threshold they go to the same
//! [`Experiment`](crate::engine::Experiment) as in a running comparison: same
//! sums, same decisions, same numbers. Otherwise, the result is that of Welch and
//! Fieller, for a single look at the samples.
//!
//! [`combine`] merges the shards of a comparison over several machines.

mod analysis;
mod companion;
pub mod csv;
mod divided;
mod error;
mod labels;
mod one_look;
mod own_part;
mod recording;
mod rows;
mod shard_part;
mod shards;
mod spec;

pub use analysis::Analysis;
pub use companion::{Companion, Described, SeededShard};
pub use error::{NoShard, no_metric, unread};
pub use labels::RecordedPairs;
pub use own_part::OwnPart;
pub use recording::Recording;
pub use rows::Flow;
pub use shard_part::ShardPart;
pub use shards::combine;
pub use spec::Spec;
