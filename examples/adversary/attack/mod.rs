//! The adversary: programs of which one benchmark became slower by construction, in every way
//! that the grammar knows, and what a comparison has to say about them.
//!
//! [`mechanism`] is a way in which a benchmark becomes slower, as the text of both sides; the
//! tables beside it hold all of them. [`case`] draws a program of several, [`repository`]
//! writes it, and [`judge`] compares it and holds the answer against what was planted.

pub mod case;
mod code;
mod files;
mod inputs;
pub mod judge;
mod lengths;
pub mod mechanism;
mod native;
mod order;
pub mod repository;
