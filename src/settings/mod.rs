//! The settings: flags and tables in `Cargo.toml`, in layers, to plain checked
//! data.
//!
//! - `setting`: what a setting is, and the macro that declares one.
//! - [`values`]: what their texts can mean.
//! - [`table`]: the declarations, and a layer of them.
//! - [`choice`]: which package and target a layer means.
//! - [`mod@error`]: what can be wrong with them.
//! - [`options`]: what a table comes to, checked.
//! - `policy`: the tables of both sides and the flags, as layers.

pub mod choice;
pub mod error;
pub mod options;
pub mod policy;
pub mod setting;
pub mod table;
pub mod values;

pub use error::Error;
pub use setting::Written;
