//! The experiment: whose turn it is, and what the pairs say so far. Pure: no
//! process, no clock, no randomness but from a seed.

mod advice;
pub mod experiment;
pub(crate) mod family;
pub mod layouts;
pub mod plan;
pub mod remarks;
pub(crate) mod schedule;
pub(crate) mod test;
pub(crate) mod trial;
