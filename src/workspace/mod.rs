//! From two revisions to two sets of executables that can be measured.
//!
//! `prepare` tells that story; the other files are its steps, in this order: `fetch` finds
//! the commits, `checkout` makes worktrees of them in the [`cache`], `setup` reads what
//! determines their builds (and `overlay` may copy one side's benchmarks over the other's),
//! `build` and `build_command` build, and `sides` compares what was built; `run_policy` makes
//! the runs of both sides alike. `inputs` determines what a build has read, `relink` keeps
//! what it was linked from, `diagnose` finds out why a build failed, `identical` and
//! `functions` find out what differs between two programs. `context` is what the steps share,
//! `request` what they are asked to do, and `prepared` what they result in, which `pack` stores
//! for other machines.

mod build;
mod build_command;
pub mod cache;
pub mod cargo;
mod changed_crates;
mod checkout;
mod context;
mod diagnose;
mod environment;
pub(crate) mod error;
mod fetch;
mod files;
mod folder_record;
pub(crate) mod functions;
pub mod git;
mod identical;
mod inputs;
mod lock_file;
pub mod names;
mod overlay;
pub(crate) mod pack;
mod prepare;
mod prepared;
mod preview;
mod relink;
mod request;
mod run_policy;
mod settings;
mod setup;
mod sides;
mod target_folder;
mod tools;
mod unstable;

pub use cargo::record_invocation;
pub(crate) use context::{repository_cache, user_table, user_workspace};
pub use environment::compiler_flags;
pub(crate) use identical::{Moves, SameRun, names_package};
pub(crate) use prepare::{prepare, prepare_one};
pub(crate) use prepared::{Preparation, Prepared, PreparedSide, SourceFile, State};
pub(crate) use preview::preview;
pub use preview::{Preview, PreviewedBenchmark, PreviewedShard};
pub use relink::record::record_link;
pub use request::Request;
pub(crate) use settings::with_folder_hint;
pub use tools::Tools;
