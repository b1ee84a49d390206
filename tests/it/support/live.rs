//! Programs that run in parallel to a test: the signals they react to, and which of them are alive.

// What looks into `/proc` is used on Linux alone.
#![cfg_attr(not(target_os = "linux"), allow(dead_code))]

use std::fs::File;
use std::io::Read;
use std::num::NonZero;
use std::os::fd::{FromRawFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
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

/// The rows and columns of a [`Terminal`].
const SIZE: (u16, u16) = (30, 90);

/// A terminal to which a program writes its standard error.
pub(crate) struct Terminal {
    written: Arc<Mutex<Vec<u8>>>,
    reader: JoinHandle<()>,
}

impl Terminal {
    /// A new one, the standard error of this command.
    pub(crate) fn of(command: &mut Command) -> Self {
        let (mut master, mut slave) = (-1, -1);
        let mut size = libc::winsize { ws_row: SIZE.0, ws_col: SIZE.1, ws_xpixel: 0, ws_ypixel: 0 };
        let (name, modes) = (std::ptr::null_mut(), std::ptr::null_mut());
        // SAFETY: the pointers are to live locals, or null where nothing is wanted.
        let made = unsafe { libc::openpty(&mut master, &mut slave, name, modes, &raw mut size) };
        assert_eq!(made, 0, "{}", std::io::Error::last_os_error());
        // SAFETY: both were opened here, and nothing else owns them.
        let [master, slave] = [master, slave].map(|fd| unsafe { OwnedFd::from_raw_fd(fd) });
        command.stderr(slave).env("TERM", "xterm").env_remove("CBDR_PROGRESS");
        let written = Arc::new(Mutex::new(Vec::new()));
        let (text, mut master) = (Arc::clone(&written), File::from(master));
        let reader = std::thread::spawn(move || {
            let mut bytes = [0; 1 << 16];
            // It ends with an error once nothing can write to it any more.
            while let Ok(count) = master.read(&mut bytes) {
                text.lock().unwrap().extend_from_slice(&bytes[..count]);
            }
        });
        Terminal { written, reader }
    }

    /// All that was written to it so far.
    pub(crate) fn written(&self) -> String {
        String::from_utf8_lossy(&self.written.lock().unwrap()).into_owned()
    }

    /// Its last screen, when the program has ended and the command is gone.
    pub(crate) fn end(self) -> vt100::Parser {
        self.reader.join().unwrap();
        let [rows, columns] = [SIZE.0, SIZE.1].map(|count| NonZero::new(count).unwrap());
        let mut screen = vt100::Parser::new(rows, columns, 0);
        screen.process(&self.written.lock().unwrap());
        screen
    }
}
