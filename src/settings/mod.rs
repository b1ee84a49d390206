//! The settings: flags and tables in `Cargo.toml`, in layers, to plain checked
//! data.
//!
//! - `setting`: what a setting is, and the macro that declares one.
//! - [`values`]: what their texts can mean.
//! - [`table`]: the declarations, and a layer of them.
//! - [`choice`]: which package and target a layer means.
//! - [`options`]: what a table comes to, checked.
//! - `policy`: the tables of both sides and the flags, as layers.

pub mod choice;
pub mod options;
pub(crate) mod policy;
pub(crate) mod setting;
pub mod table;
pub mod values;

pub use setting::Written;
