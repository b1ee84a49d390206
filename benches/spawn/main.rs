//! What a run costs: the time of a program that does nothing, run through the
//! helper process, by a bare loop of `posix_spawn` and `wait4`, and by
//! `hyperfine -N` where that is on the PATH.
//!
//! Two figures for each: the wall time that the method reports for the run,
//! and the whole time for each run, the method's own work included. The
//! methods take turns, in an order that turns around every round; what counts
//! is the ratio to the bare loop within a round. The bare loop runs in a
//! process forked right after the helper, so both spawn from a process of the
//! same size. Its clock starts before `posix_spawn`, as does hyperfine's; that
//! of the helper starts in the child, right before exec.
//!
//! `cargo bench --bench spawn` prints the table. With `-- --runs N` it only
//! makes N runs through the helper: that is what `cargo cbdr` compares of
//! itself.

#![allow(clippy::print_stdout, clippy::print_stderr)]

#[cfg(unix)]
mod ways;

#[cfg(unix)]
fn main() -> Result<(), Box<dyn std::error::Error>> {
    ways::main()
}

#[cfg(not(unix))]
fn main() {
    eprintln!("SKIPPED: there is neither a helper process nor `posix_spawn` here");
}
