//! Continuous benchmarking, done right: *did this branch make the benchmark
//! slower than the place where it left `main`, by more than the threshold?*
//!
//! # The story
//!
//! [`compare`] finds the two commits ([`git::base`]), checks both out into
//! worktrees in the cache ([`git::worktree`], [`cache`]), lets cargo build
//! them ([`prepare`]), and measures them in pairs, in an order that nobody can
//! foresee ([`schedule`]), until the interval of the relative change lies
//! wholly on one side of the threshold ([`runner`], [`stats`], [`verdict`]).
//! The library measures; the binary `cargo-cbdr` talks.
//!
//! # The map
//!
//! A file imports only from files above it in this list; a test holds that,
//! and the map.
//!
//! - [`side`], [`metric`], [`sample`]: the nouns.
//! - [`stats`]: sums, intervals, evidence. Pure. `quantile` alone names
//!   statrs.
//! - [`schedule`]: who goes first, from a seed. Pure.
//! - [`gate`]: thresholds, warning levels and waivers.
//! - [`verdict`]: the question, the answer, and what a finished comparison
//!   says.
//! - [`question`]: one metric from its first pair to its verdict.
//! - [`system`]: where systems differ in paths, links and permissions, and how
//!   a file is replaced in one step. These three alone know which system it is:
//!   this one, `process` and `meter`.
//! - [`git`]: the user's repository, read only, and the private one with the
//!   worktrees. Alone names git2.
//! - [`process`]: spawns, waits, kills, through a helper process. Alone has
//!   `unsafe` or names libc, signal-hook and windows-sys.
//! - [`machine`]: facts about this machine, from `/proc` and `/sys`.
//! - [`meter`]: the sources of numbers: the kernel's account of a run,
//!   counters, cachegrind, sizes.
//! - [`harness`]: how a benchmark executable is called and its output read, a
//!   file for each dialect. `marks` alone names memchr.
//! - [`cargo`]: arguments for cargo, and its messages. Alone names
//!   cargo_metadata.
//! - [`cache`]: layout, locks, publishing by rename, pruning.
//! - [`config`]: the table in `Cargo.toml`.
//! - [`options`]: flags and tables to plain checked data.
//! - [`runner`]: the loop. Takes a function that measures, so that tests feed
//!   it numbers.
//! - [`event`]: what the outside may learn.
//! - [`analysis`]: rows of samples to intervals and verdicts.
//! - [`error`]: what went wrong, with a hint.
//! - [`prepare`]: revisions to worktrees to builds.
//! - `bench`: one run of one side to a sample.
//! - [`sampler`]: any commands in turn.
//! - [`doctor`]: what this machine can measure, and how well.
//! - `comparison`: the whole way, [`compare`].
//! - [`history`]: results stored with their commits, and what they say of a
//!   new one.
//! - [`bisect`]: the commit that brought a regression.
//! - [`init`]: a table for `Cargo.toml`, proposed and tried. Its `manifest` and
//!   `cargo::config` alone name toml_edit.
//! - `bin/cargo-cbdr/`: the voice. `cli` alone names clap, `ui/live` alone
//!   indicatif, `page` alone maud and plotters.

pub mod side;

pub mod metric;
pub mod sample;

pub mod stats;

pub mod schedule;

pub mod gate;

pub mod verdict;

pub mod question;

pub mod system;

pub mod git;

pub mod process;

pub mod machine;

pub mod meter;

pub mod harness;

pub mod cargo;

pub mod cache;

pub mod config;

pub mod options;

pub mod runner;

pub mod event;

pub mod analysis;

pub mod error;

pub mod prepare;

mod bench;

pub mod sampler;

pub mod doctor;

mod comparison;

pub mod history;

pub mod bisect;

pub mod init;

pub use comparison::{Options, Report, compare};
pub use error::Error;
