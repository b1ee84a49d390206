//! Waiting for others: for what they send, and for them to go away.

use std::fs::File;
use std::io;
use std::net::Shutdown;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::FileTypeExt;
use std::os::unix::net::UnixStream;
use std::sync::atomic::Ordering;

use signal_hook::consts::SIGPIPE;

use super::{Interrupt, unix};

impl Interrupt {
    /// Waits until `source` can be read without waiting, at its end too. False
    /// when a signal came first.
    ///
    /// # Errors
    /// When the system can't wait.
    pub fn wait_readable(&self, source: BorrowedFd<'_>) -> io::Result<bool> {
        let (_, stop) = unix::poll_two(source, self.fd())?;
        Ok(!stop && self.signal().is_none())
    }

    /// From now on, where `output` is a pipe, the end of whoever reads it is a
    /// wish to stop, as a signal is: as SIGPIPE.
    ///
    /// # Errors
    /// When the system refuses a descriptor or a thread.
    pub fn stop_with_reader(&self, output: OwnedFd) -> io::Result<()> {
        let output = File::from(output);
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
