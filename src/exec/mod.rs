//! Runs programs and parses their results.

pub(crate) mod error;
pub mod execution;
pub mod harness;
pub(crate) mod known;
pub mod machine;
pub mod meter;
pub mod process;
pub mod program;
pub mod system;
