//! Continuous benchmarking, done right: *did this branch make the benchmark
//! slower than its merge-base with `main`, by more than the threshold?*
//!
//! The library exists for the program `cargo-cbdr`. It is not a stable interface
//! and changes with the program.
//!
//! # The story
//!
//! [`compare`] finds the two commits, checks both out into worktrees in the cache
//! and lets cargo build them ([`workspace`]). Then it measures them in pairs:
//! [`engine`] decides which side runs next, [`exec`] runs it and returns a row,
//! and [`engine`] adds the row to its estimates ([`stats`]), until the interval
//! of the relative change lies entirely on one side of the threshold. The library
//! measures; the binary `cargo-cbdr` handles all input and output.
//!
//! # The map
//!
//! A file imports only from its own module and from those above it in this list, and no files
//! import each other in a circle. A test enforces this, and keeps the map complete.
//!
//! - [`model`]: the data types that all modules share, and the names that users type. Plain data.
//! - [`error`]: an error of any module with its advice. Each module has types of its own.
//! - [`stats`]: sums, intervals, sequential tests. Pure. Only `quantile` uses statrs.
//! - [`settings`]: flags and the tables in `Cargo.toml`; each setting is declared once and
//!   resolved layer by layer. Besides `cli`, only this module uses clap.
//! - [`engine`]: the experiment: the order of runs, from a seed, and each metric from its first
//!   pair to its verdict; the events that are reported. Pure: no processes, no clock.
//! - [`exec`]: runs programs and reads what they measured. Only `exec/process` has `unsafe` and
//!   uses libc, rustix and signal-hook; besides it, only `exec/system` and `exec/meter`
//!   depend on the operating system.
//! - [`workspace`]: from two revisions to two sets of executables. Only `workspace/git` uses
//!   git2, only `workspace/cargo` uses cargo_metadata, only `workspace/pack` uses tar and flate2.
//! - [`samples`]: rows of samples: CSV, pairing, shards.
//! - [`flows`]: what the subcommands do, each written to be read from top to bottom.
//! - `bin/cargo-cbdr/`: the user interface. Only `cli` uses clap_complete and clap_mangen, only
//!   `page` uses maud and plotters, only `ui/live` uses indicatif, only `ui/width` uses
//!   unicode_width, only `render/junit` uses quick_junit, only `render/flamegraph` inferno.
//!
//! # The words
//!
//! - *advice*: what the user can do about an error, or about verdicts that are undecided.
//! - *all-clear*, *alarm*: the verdicts `no-regression` and `regression`.
//! - *aligned*: in executables in which what both sides have is at the same addresses.
//! - *artifact*: an executable in the cache, with what its build has read.
//! - *as built*: in the executables as cargo links them, unlike over layouts.
//! - *base*, *head*: the two sides; the head is judged against the base.
//! - *baseline*: a base that has the benchmark and builds.
//! - *benchmark*: something that a program measures under a name; the program itself if it
//!   reports no names.
//! - *companion*: the file next to a file of samples that describes them: commits, seed, settings.
//! - *family*: the tests of a comparison, which share its error.
//! - *gate*: a metric that decides the verdict, with its threshold.
//! - *harness*: the library that runs the benchmarks inside a program and prints their results:
//!   criterion, divan, gungraun, bencher, libtest.
//! - *label*: the first column of a samples file: `base`, `head`, or
//!   `NAME/head`.
//! - *layout*: where the code and the data of an executable are in memory.
//! - *merge-base*: the newest common ancestor of both branches.
//! - *metric*: what is measured, with a unit and which way is better.
//! - *notice*: something to know about a result: a warning or a note, in one sentence.
//! - *outcome*: the result of a comparison, or of an analysis of samples.
//! - *pack*: a comparison up to its first run, in one file, for other machines.
//! - *pair*: one run of each side, one right after the other.
//! - *reach*: how far from the threshold a change has to be for a verdict in time.
//! - *repository cache*: the part of the cache that belongs to one repository.
//! - *row*: the values of one benchmark in one run.
//! - *run*: one execution of a program.
//! - *set aside*: ended without a verdict as built, because layouts are the faster way to one.
//! - *shard*: one machine's part of a comparison.
//! - *unaffected*: a benchmark that runs no code that differs between the sides.
//! - *verdict*: `no-regression`, `regression`, `inconclusive`.
//! - *waiver*: a larger change that a table accepts until a date, with a reason.
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
