//! The settings: flags and tables in `Cargo.toml`, in layers, to plain checked
//! data.

pub mod options;
pub mod table;
