//! The experiment: which side runs next, and what the pairs show so far. Pure:
//! no processes, no clock, and no randomness except from a seed.

pub(crate) mod advice;
pub mod event;
pub mod experiment;
pub(crate) mod family;
pub mod layouts;
pub(crate) mod longer;
pub mod plan;
pub mod remarks;
pub(crate) mod schedule;
pub(crate) mod stages;
pub(crate) mod suite;
pub(crate) mod test;
pub mod trial;

pub use self::{event::*, experiment::*, plan::*};
pub(crate) use self::{schedule::*, stages::*};
