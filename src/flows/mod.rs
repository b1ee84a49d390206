//! What the subcommands do, each written to be read from top to bottom.

pub mod bisect;
pub mod compare;
pub mod doctor;
pub(crate) mod error;
mod filter;
pub mod history;
mod hooks;
pub mod init;
pub mod sample;
