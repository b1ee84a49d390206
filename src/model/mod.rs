//! Data types: what is compared, what is measured, and the results. Plain data,
//! no I/O. All names are here, too, but for functions of time.

pub mod dialect;
pub mod estimator;
pub mod explanation;
pub mod gate;
pub mod layouts;
pub mod metric;
pub mod noise;
pub mod notice;
pub mod outcome;
pub mod revision;
pub mod row;
pub(crate) mod run_length;
pub mod shard;
pub mod side;
pub mod suite;
pub mod target;
pub mod time;
pub(crate) mod words;

pub(crate) use run_length::RunLength;

pub use self::{
    dialect::*, estimator::*, explanation::*, gate::*, layouts::*, metric::*, noise::*, notice::*,
    outcome::*, revision::*, row::*, shard::*, side::*, suite::*, target::*,
};
