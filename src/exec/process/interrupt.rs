//! The wish to stop, and waiting for others while it may come: for what they
//! send, and for them to go away.

use std::fs::File;
use std::io;
use std::net::Shutdown;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use signal_hook::consts::{SIGHUP, SIGINT, SIGPIPE, SIGTERM};
use signal_hook::{flag, low_level};

use super::{RunError, unix};

/// How often it is looked whether a pipe has a reader, which nothing tells.
const LOOK: Duration = Duration::from_millis(20);

/// The wish to stop, as SIGINT, SIGTERM and SIGHUP bring it. The second such
/// signal ends the process at once.
#[derive(Clone, Debug)]
pub struct Interrupt {
    signal: Arc<AtomicUsize>,
    wake: Arc<UnixStream>,
    /// The other end of `wake`, where no signal's handler holds it: once it was
    /// closed, `wake` could be read.
    _ring: Option<Arc<UnixStream>>,
}

impl Interrupt {
    /// Begins to listen for the three signals, but not for one that this
    /// process was started to ignore (by `nohup`, say). From now on a file that
    /// may not grow is an error (EFBIG), not death by SIGXFSZ.
    ///
    /// # Errors
    /// When a handler can't be installed.
    pub fn listen() -> io::Result<Self> {
        let (wake, ring) = UnixStream::pair()?;
        let signal = Arc::new(AtomicUsize::new(0));
        let armed = Arc::new(AtomicBool::new(false));
        let heeded = |&number: &i32| !unix::is_ignored(number);
        unix::survive([libc::SIGXFSZ].into_iter().filter(heeded));
        for number in [SIGINT, SIGTERM, SIGHUP].into_iter().filter(heeded) {
            // In this order: the first signal arms, the second finds it so.
            flag::register_conditional_default(number, Arc::clone(&armed))?;
            flag::register(number, Arc::clone(&armed))?;
            flag::register_usize(number, Arc::clone(&signal), number as usize)?;
            low_level::pipe::register(number, ring.try_clone()?)?;
        }
        Ok(Interrupt { signal, wake: Arc::new(wake), _ring: None })
    }

    /// One that never comes.
    ///
    /// # Errors
    /// When the system has no file descriptors left.
    pub fn never() -> io::Result<Self> {
        let (wake, ring) = UnixStream::pair()?;
        let ring = Some(Arc::new(ring));
        Ok(Interrupt { signal: Arc::default(), wake: Arc::new(wake), _ring: ring })
    }

    /// The signal that arrived, if one did.
    pub fn signal(&self) -> Option<i32> {
        let number = self.signal.load(Ordering::Relaxed);
        (number != 0).then_some(number as i32)
    }

    /// An error once a signal has arrived.
    ///
    /// # Errors
    /// [`RunError::Interrupted`].
    pub fn check(&self) -> Result<(), RunError> {
        self.signal().map_or(Ok(()), |_| Err(RunError::Interrupted))
    }

    pub(super) fn fd(&self) -> BorrowedFd<'_> {
        self.wake.as_fd()
    }

    /// Waits until `source` can be read without waiting, at its end too. False
    /// when a signal came first.
    ///
    /// # Errors
    /// When the system can't wait.
    pub fn wait_readable(&self, source: &File) -> io::Result<bool> {
        let (_, stop) = unix::poll_two(source.as_fd(), self.fd())?;
        Ok(!stop && self.signal().is_none())
    }

    /// Opens a named pipe to write to it, once somebody has it open to read from
    /// it. `None` when a signal came first.
    ///
    /// # Errors
    /// When it can't be opened.
    pub fn open_pipe(&self, path: &Path) -> io::Result<Option<File>> {
        while self.signal().is_none() {
            match File::options().write(true).custom_flags(libc::O_NONBLOCK).open(path) {
                // Held until the one that waits is open, too: else the reader
                // would find the pipe closed.
                Ok(_held) => return File::options().write(true).open(path).map(Some),
                Err(error) if error.raw_os_error() == Some(libc::ENXIO) => {}
                Err(error) => return Err(error),
            }
            std::thread::sleep(LOOK);
        }
        Ok(None)
    }

    /// From now on, where standard output is a pipe, the end of whoever reads it is a
    /// wish to stop, as a signal is: as SIGPIPE.
    ///
    /// # Errors
    /// When the system refuses a descriptor or a thread.
    pub fn stop_with_reader(&self) -> io::Result<()> {
        let output = File::from(io::stdout().as_fd().try_clone_to_owned()?);
        // What else can be written to may have something to be read, too.
        if !output.metadata()?.file_type().is_fifo() {
            return Ok(());
        }
        let interrupt = self.clone();
        // Never readable, so that only the pipe's end wakes the thread.
        let (silent, held) = UnixStream::pair()?;
        let watch = move || {
            let _held = held;
            if let Ok((true, _)) = unix::poll_two(output.as_fd(), silent.as_fd()) {
                let none = interrupt.signal.compare_exchange(
                    0,
                    SIGPIPE as usize,
                    Ordering::Relaxed,
                    Ordering::Relaxed,
                );
                if none.is_ok() {
                    let _ = interrupt.wake.shutdown(Shutdown::Both);
                }
            }
        };
        std::thread::Builder::new().name("reader".to_owned()).spawn(watch).map(drop)
    }

    /// Whether the wish to stop came from the reader's end.
    pub fn is_reader_gone(&self) -> bool {
        self.signal() == Some(SIGPIPE)
    }
}

/// Standard input without a buffer of ours.
///
/// # Errors
/// When there is none, or the system has no file descriptors left.
pub fn standard_input() -> io::Result<File> {
    io::stdin().as_fd().try_clone_to_owned().map(File::from)
}

/// Ends this process by `signal`, as though it had never been caught.
///
/// # Errors
/// When the signal's default does not end a process.
pub fn die_of(signal: i32) -> io::Result<()> {
    low_level::emulate_default_handler(signal)
}

/// The name of a signal.
pub(super) fn signal_name(number: i32) -> Option<&'static str> {
    low_level::signal_name(number)
}
