//! Programs that run in parallel to a test: the signals they react to, and which of them are alive.

// What looks into `/proc` is used on Linux alone.
#![cfg_attr(not(target_os = "linux"), allow(dead_code))]

use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

/// How long what was ended may take to be gone, on the slowest machine.
const GONE: Duration = Duration::from_secs(60);

/// Has the command heed the signals that end programs: what a shell runs in
/// the background ignores SIGINT, and so does what that starts.
pub(crate) fn heed_signals(command: &mut Command) {
    // SAFETY: signal is async-signal-safe.
    unsafe {
        command.pre_exec(|| {
            for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP] {
                libc::signal(signal, libc::SIG_DFL);
            }
            Ok(())
        });
    }
}

/// The processes that live and have `NOTES` set to that folder, each with its
/// number.
pub(crate) fn noting(notes: &Path) -> Vec<String> {
    let marker = format!("NOTES={}", notes.display());
    let mut found = Vec::new();
    for entry in std::fs::read_dir("/proc").unwrap().flatten() {
        let about = |name: &str| std::fs::read(entry.path().join(name)).unwrap_or_default();
        if about("environ").split(|&byte| byte == 0).any(|word| word == marker.as_bytes()) {
            let line = String::from_utf8_lossy(&about("cmdline")).replace('\0', " ");
            found.push(format!("{}: {line}", entry.file_name().display()));
        }
    }
    found
}

/// Demands that none of them lives on.
#[track_caller]
pub(crate) fn assert_gone(notes: &Path, about: &str) {
    let start = Instant::now();
    loop {
        let left = noting(notes);
        if left.is_empty() {
            return;
        }
        assert!(start.elapsed() < GONE, "{about}: still there: {left:#?}");
        std::thread::sleep(Duration::from_millis(5));
    }
}
