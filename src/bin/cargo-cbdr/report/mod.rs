//! The results, one file a format.

pub(crate) mod findings;
pub(crate) mod grid;
pub(crate) mod human;
pub(crate) mod json;
pub(crate) mod repeated;
pub(crate) mod samples;
mod several;
