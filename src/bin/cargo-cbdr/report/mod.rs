//! The results, one file a format.

pub(crate) mod about;
pub(crate) mod bisect;
pub(crate) mod doctor;
pub(crate) mod escape;
mod export;
pub(crate) mod findings;
mod github;
pub(crate) mod grid;
pub(crate) mod history;
pub(crate) mod history_export;
pub(crate) mod human;
pub(crate) mod json;
mod junit;
pub(crate) mod markdown;
pub(crate) mod outcome;
pub(crate) mod outputs;
pub(crate) mod repeated;
pub(crate) mod samples;
pub(crate) mod scale;
mod several;
mod whole;
