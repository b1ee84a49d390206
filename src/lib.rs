//! Continuous benchmarking, done right: *did this branch make the benchmark
//! slower than its merge-base with `main`, by more than the threshold?*
//!
//! The library belongs to the program `cargo-cbdr`: it is no stable interface,
//! and changes with it.
//!
//! # The story
//!
//! [`compare`] finds the two commits, checks both out into worktrees in the cache
//! and lets cargo build them ([`workspace`]). Then it measures them in pairs:
//! [`engine`] says whose turn it is, [`exec`] runs that side and gives a row,
//! and [`engine`] takes the row and says what is known ([`stats`]), until the
//! interval of the relative change lies wholly on one side of the threshold. The
//! library measures; the binary `cargo-cbdr` talks.
//!
//! # The map
//!
//! A file imports only from the rooms above it in this list; a test holds that,
//! and the map.
//!
//! - [`model`]: the nouns, and every word that users type. Plain data.
//! - [`stats`]: sums, intervals, evidence. Pure. `quantile` alone names
//!   statrs.
//! - [`settings`]: flags and the tables in `Cargo.toml`, each setting declared
//!   once, layer over layer. Beside `cli` it alone names clap.
//! - [`engine`]: the experiment: whose turn it is, from a seed, and each
//!   metric from its first pair to its verdict. Pure: no process, no clock.
//! - [`error`]: what went wrong, with a hint. Knows the errors of all rooms.
//! - [`exec`]: runs programs and reads what they measured. `exec/process` alone
//!   has `unsafe` or names libc, signal-hook and windows-sys; beside it only
//!   `exec/system` and `exec/meter` know which system it is.
//! - [`workspace`]: from two revisions to two sets of executables.
//!   `workspace/git` alone names git2, `workspace/cargo` cargo_metadata.
//! - [`samples`]: rows of samples: CSV, pairing, shards.
//! - [`flows`]: what a user can ask for, each a loop that reads from top to
//!   bottom.
//! - `bin/cargo-cbdr/`: the voice. `cli` alone names clap_complete and
//!   clap_mangen, `page` alone maud and plotters.
//!
//! # The words
//!
//! - *artifact*: an executable in the cache, with what its build has read.
//! - *base*, *head*: the two sides; the head is judged against the base.
//! - *baseline*: a base that has the benchmark and builds.
//! - *benchmark*: something with a name that a program measures; the program
//!   itself where it reports none.
//! - *companion*: the file beside a file of samples that says what they are of.
//! - *gate*: a metric that decides, with its threshold.
//! - *harness*: what runs the benchmarks inside of a program and prints their
//!   numbers: criterion, divan, gungraun, bencher, libtest.
//! - *label*: the first column of a samples file: `base`, `head`, or
//!   `NAME/head`.
//! - *merge-base*: the newest commit that both branches have.
//! - *metric*: what is measured, with a unit and which way is better.
//! - *outcome*: what came of a comparison, or of an analysis of samples.
//! - *pair*: a run of each side, next to each other in time.
//! - *repository cache*: the part of the cache that belongs to one repository.
//! - *row*: the values of one benchmark in one run.
//! - *run*: one execution of a program.
//! - *shard*: one machine's part of a comparison.
//! - *unaffected*: a benchmark that runs no code that differs between the sides.
//! - *verdict*: `no-regression`, `regression`, `inconclusive`.
//! - *worktree*: a checkout of one side, in the cache.

pub mod engine;
pub mod error;
pub mod exec;
pub mod flows;
pub mod model;
pub mod samples;
pub mod settings;
pub mod stats;
pub mod workspace;

pub use error::Error;
pub use flows::compare::{Compared, Options, compare};
