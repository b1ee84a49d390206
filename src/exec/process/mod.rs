//! Runs programs and measures what they use.
//!
//! Every program, cargo and benchmark alike, is spawned by a small helper
//! process ([`Helper`]) that is forked before this one has grown, since the peak
//! memory that a child reports starts at the size of the process that spawned
//! it. The helper holds the clock and puts each program into a process group of
//! its own. It ends that group when the program runs out of time, when it is
//! told to, and when this process is gone for whatever reason.

#[cfg(not(unix))]
compile_error!("cargo-cbdr runs on Linux and macOS: see docs/platforms.md");

mod command;
pub(crate) mod counter;
mod exit;
mod helper;
mod interrupt;
mod isolation;
mod launch;
mod outcome;
#[cfg(any(test, not(target_os = "linux")))]
mod plain;
pub(crate) mod preload;
mod program;
#[cfg(target_os = "linux")]
mod spawn;
#[cfg(target_os = "linux")]
mod stay;
pub(crate) mod ticks;
pub mod trace;
mod unix;
mod wire;

pub use command::{Command, Sink, environment};
pub use exit::{Exit, Usage};
pub use helper::Helper;
pub use interrupt::{Interrupt, die_of, standard_input};
pub use isolation::{Isolation, IsolationError, allowed_cpus, tick};
pub(crate) use outcome::{FailedRun, RunFault, stderr_tail};
pub use outcome::{RunError, RunOutcome};
pub(crate) use program::look_up;
pub(crate) use unix::{host_name, is_full, may_write, user_id};
