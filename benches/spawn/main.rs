//! The overhead of a run: the time of a program that does nothing, run by the helper
//! process, by a bare loop of `posix_spawn` and `wait4`, and by `hyperfine -N` if that is
//! on the PATH.
//!
//! There are two figures for each method: the wall time that it reports for a run, and
//! the whole time of a run with the method's own work. They are medians, since means contain the
//! time slices of other programs. The methods take turns, and every second round is in the
//! reverse order. What counts is the ratio to the bare loop within a round. The bare loop runs in
//! a process forked right after the helper, so that both spawn from a process of the same size.
//! Its clock starts before `posix_spawn`, as does hyperfine's; the helper's clock starts in the
//! child, right before exec.
//! The helper runs it as a harness, and as a program whose peak memory is wanted, for which it
//! makes itself small before each run.
//!
//! `cargo bench --bench spawn` prints the table. With `-- --runs N` the helper just makes
//! N runs, which is the benchmark of `cargo cbdr` for itself.

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
