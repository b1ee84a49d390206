//! Signals that ask this process to stop, and waits that they interrupt.

use std::fs::File;
use std::io;
use std::net::Shutdown;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicBool, AtomicUsize};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use signal_hook::consts::{SIGHUP, SIGINT, SIGPIPE, SIGTERM};
use signal_hook::{flag, low_level};

use super::outcome::RunError;
use super::unix;

/// How often to look whether a pipe has a reader, which can't be waited for.
const LOOK: Duration = Duration::from_millis(20);

/// How long work that can't be interrupted may go on once a signal has arrived, and how often to
/// look whether one has.
const PATIENCE: Duration = Duration::from_secs(1);
const LOOK_AT_WORK: Duration = Duration::from_millis(50);

/// Notes whether SIGINT, SIGTERM or SIGHUP has asked this process to stop. The
/// second such signal ends the process at once.
#[derive(Clone, Debug)]
pub struct Interrupt {
    signal: Arc<AtomicUsize>,
    wake: Arc<UnixStream>,
    /// The other end of `wake`. If it were closed, as where all signals are ignored and no
    /// handler holds it, `wake` could be read.
    ring: Arc<UnixStream>,
}

impl Interrupt {
    /// Begins to listen for the three signals, except for those that were ignored
    /// when this process started (by `nohup`, say). From now on a file that may not
    /// grow is an error (EFBIG) and no death by SIGXFSZ.
    ///
    /// # Errors
    /// When a handler can't be installed.
    pub fn listen() -> io::Result<Self> {
        let interrupt = Self::never()?;
        let armed = Arc::new(AtomicBool::new(false));
        let heeded = |&number: &i32| !unix::is_ignored(number);
        unix::survive([libc::SIGXFSZ].into_iter().filter(heeded));
        for number in [SIGINT, SIGTERM, SIGHUP].into_iter().filter(heeded) {
            // In this order: the first signal arms the second one.
            flag::register_conditional_default(number, Arc::clone(&armed))?;
            flag::register(number, Arc::clone(&armed))?;
            flag::register_usize(number, Arc::clone(&interrupt.signal), number as usize)?;
            low_level::pipe::register(number, interrupt.ring.try_clone()?)?;
        }
        Ok(interrupt)
    }

    /// An interrupt that never comes.
    ///
    /// # Errors
    /// When the system has no file descriptors left.
    pub fn never() -> io::Result<Self> {
        let (wake, ring) = UnixStream::pair()?;
        Ok(Interrupt { signal: Arc::default(), wake: Arc::new(wake), ring: Arc::new(ring) })
    }

    /// The signal that has arrived, if any.
    pub fn signal(&self) -> Option<i32> {
        let number = self.signal.load(Relaxed);
        (number != 0).then_some(number as i32)
    }

    /// Fails once a signal has arrived.
    ///
    /// # Errors
    /// [`RunError::Interrupted`].
    pub(crate) fn check(&self) -> Result<(), RunError> {
        self.signal().map_or(Ok(()), |_| Err(RunError::Interrupted))
    }

    /// Does work that takes no notice of signals, such as a long call into a library.
    /// If it is not done a second after a signal has arrived, this process dies of
    /// that signal, so the work must be such that a sudden end does no harm.
    pub(crate) fn bound<T>(&self, work: impl FnOnce() -> T) -> T {
        let (done, end) = channel::<()>();
        let watch = move || {
            let mut arrived = None;
            while end.recv_timeout(LOOK_AT_WORK) == Err(RecvTimeoutError::Timeout) {
                let Some(signal) = self.signal() else { continue };
                if arrived.get_or_insert_with(Instant::now).elapsed() > PATIENCE {
                    // If this fails, the work can only be waited for.
                    let _ = die_of(signal);
                }
            }
        };
        std::thread::scope(|scope| {
            // The work is done even if there can be no thread.
            let _ = std::thread::Builder::new().name("bound".to_owned()).spawn_scoped(scope, watch);
            let outcome = work();
            drop(done);
            outcome
        })
    }

    pub(super) fn fd(&self) -> BorrowedFd<'_> {
        self.wake.as_fd()
    }

    /// Waits so long for a signal.
    pub(super) fn wait(&self, patience: Duration) -> io::Result<()> {
        unix::poll_two(self.fd(), self.fd(), Some(patience)).map(drop)
    }

    /// Waits until `source` can be read without blocking or is at its end.
    /// Returns false if a signal comes first.
    ///
    /// # Errors
    /// When the system can't wait.
    pub fn wait_readable(&self, source: &File) -> io::Result<bool> {
        let (_, stop) = unix::poll_two(source.as_fd(), self.fd(), None)?;
        Ok(!stop && self.signal().is_none())
    }

    /// Opens a named pipe for writing once another process has opened it for
    /// reading. Returns `None` if a signal comes first.
    ///
    /// # Errors
    /// When it can't be opened.
    pub fn open_pipe(&self, path: &Path) -> io::Result<Option<File>> {
        while self.signal().is_none() {
            match File::options().write(true).custom_flags(libc::O_NONBLOCK).open(path) {
                // Held until the blocking one is open too, or else the reader would
                // find the pipe closed.
                Ok(_held) => return File::options().write(true).open(path).map(Some),
                Err(error) if error.raw_os_error() == Some(libc::ENXIO) => {}
                Err(error) => return Err(error),
            }
            std::thread::sleep(LOOK);
        }
        Ok(None)
    }

    /// From now on, if standard output is a pipe, the end of its reader asks this
    /// process to stop as a signal does, as SIGPIPE.
    ///
    /// # Errors
    /// When the system refuses a descriptor or a thread.
    pub fn stop_with_reader(&self) -> io::Result<()> {
        let output = File::from(io::stdout().as_fd().try_clone_to_owned()?);
        // Other files that can be written to may become readable.
        if !output.metadata()?.file_type().is_fifo() {
            return Ok(());
        }
        let interrupt = self.clone();
        // Never readable, so only the end of the pipe wakes the thread.
        let (silent, held) = UnixStream::pair()?;
        let watch = move || {
            let _held = held;
            if let Ok((true, _)) = unix::poll_two(output.as_fd(), silent.as_fd(), None) {
                let signal = &interrupt.signal;
                if signal.compare_exchange(0, SIGPIPE as usize, Relaxed, Relaxed).is_ok() {
                    let _ = interrupt.wake.shutdown(Shutdown::Both);
                }
            }
        };
        std::thread::Builder::new().name("reader".to_owned()).spawn(watch).map(drop)
    }

    /// Whether it was the end of standard output's reader that asked to stop.
    pub fn is_reader_gone(&self) -> bool {
        self.signal() == Some(SIGPIPE)
    }
}

/// Standard input without a buffer.
///
/// # Errors
/// When there is none, or the system has no file descriptors left.
pub fn standard_input() -> io::Result<File> {
    io::stdin().as_fd().try_clone_to_owned().map(File::from)
}

/// Ends this process by `signal` as if it had never been caught.
///
/// # Errors
/// When the default of the signal does not end a process.
pub fn die_of(signal: i32) -> io::Result<()> {
    low_level::emulate_default_handler(signal)
}
