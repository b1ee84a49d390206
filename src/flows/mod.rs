//! What the subcommands do, each written to be read from top to bottom.

pub mod bisect;
pub mod compare;
pub mod doctor;
mod filter;
pub mod history;
pub mod init;
mod one_sided;
pub mod sample;
