//! The settings: flags and tables in `Cargo.toml`, resolved layer by layer into
//! plain, validated data.
//!
//! - `setting`: what a setting is, and the macro that declares one.
//! - [`values`]: how their texts are parsed.
//! - [`table`]: the declarations, and a layer of them.
//! - [`choice`]: which package and target a layer selects.
//! - [`mod@error`]: what can be wrong with them.
//! - [`options`]: the validated content of a table.
//! - [`origin`]: which layer a value comes from.
//! - `policy`: the layers of flags and the tables of both sides.

pub mod choice;
pub mod error;
pub mod options;
pub mod origin;
pub mod policy;
pub mod setting;
pub mod table;
pub mod values;

pub use error::Error;
pub use setting::Written;
