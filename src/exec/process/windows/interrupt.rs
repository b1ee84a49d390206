//! What the console sends to ask this process to stop.

use std::fs::File;
use std::io;
use std::os::windows::io::{AsHandle, AsRawHandle};
use std::path::Path;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use windows_sys::Win32::Storage::FileSystem::{FILE_TYPE_PIPE, GetFileType};
use windows_sys::Win32::System::Console::{CTRL_BREAK_EVENT, CTRL_C_EVENT, SetConsoleCtrlHandler};
use windows_sys::Win32::System::Pipes::PeekNamedPipe;

use super::job::ManualResetEvent;

/// Ctrl-C and Ctrl-Break, by the number of the signal on Unix.
const SIGINT: i32 = 2;

/// The window is closed, the user logs off or the machine shuts down.
const SIGHUP: i32 = 1;

/// The exit code of a process that Ctrl-C ended: `STATUS_CONTROL_C_EXIT`.
const BY_CTRL_C: u32 = 0xC000_013A;

/// How often to look at a pipe, which can't be waited for.
const LOOK: Duration = Duration::from_millis(20);

/// Tells whether Ctrl-C or the closing of the window has asked this process to
/// stop. The second such request ends the process at once.
#[derive(Clone, Debug)]
pub struct Interrupt {
    signal: Arc<AtomicUsize>,
    event: Arc<ManualResetEvent>,
}

/// The interrupt that gets the console's messages.
static LISTENING: OnceLock<Interrupt> = OnceLock::new();

extern "system" fn hear(kind: u32) -> i32 {
    let Some(interrupt) = LISTENING.get() else { return 0 };
    let is_key = kind == CTRL_C_EVENT || kind == CTRL_BREAK_EVENT;
    let number = if is_key { SIGINT } else { SIGHUP };
    let first =
        interrupt.signal.compare_exchange(0, number as usize, Ordering::Relaxed, Ordering::Relaxed);
    if first.is_err() {
        // The next handler is the system's, which ends the process.
        return 0;
    }
    interrupt.event.set();
    if !is_key {
        // The process ends with this call, which may take five seconds.
        std::thread::sleep(Duration::from_secs(5));
    }
    1
}

impl Interrupt {
    /// Begins to listen to the console.
    ///
    /// # Errors
    /// When a handler can't be installed.
    pub fn listen() -> io::Result<Self> {
        let interrupt = Interrupt::never()?;
        let interrupt = LISTENING.get_or_init(|| interrupt).clone();
        // SAFETY: the handler touches only atomics and an event that live on.
        match unsafe { SetConsoleCtrlHandler(Some(hear), 1) } {
            0 => Err(io::Error::last_os_error()),
            _ => Ok(interrupt),
        }
    }

    /// An interrupt that never comes.
    ///
    /// # Errors
    /// When the system has no handles left.
    pub fn never() -> io::Result<Self> {
        Ok(Interrupt { signal: Arc::default(), event: Arc::new(ManualResetEvent::new()?) })
    }

    /// The signal that has arrived, if any, by its number on Unix.
    pub fn signal(&self) -> Option<i32> {
        let number = self.signal.load(Ordering::Relaxed);
        (number != 0).then_some(number as i32)
    }

    pub(super) fn event(&self) -> &ManualResetEvent {
        &self.event
    }

    /// Waits until `source` can be read without waiting or is at its end, which is
    /// assumed of everything but pipes. Returns false if a signal comes first.
    ///
    /// # Errors
    /// None.
    pub fn wait_readable(&self, source: &File) -> io::Result<bool> {
        let handle = source.as_raw_handle();
        // SAFETY: an open handle.
        if unsafe { GetFileType(handle) } != FILE_TYPE_PIPE {
            return Ok(self.signal().is_none());
        }
        while self.signal().is_none() {
            let mut there = 0;
            // SAFETY: nothing is read, and the count is a live local.
            let looked = unsafe {
                PeekNamedPipe(handle, null_mut(), 0, null_mut(), &raw mut there, null_mut())
            };
            // A pipe without a writer can be read to its end.
            if looked == 0 || there > 0 {
                return Ok(true);
            }
            std::thread::sleep(LOOK);
        }
        Ok(false)
    }

    /// Opens a file for writing. Named pipes are no files here.
    ///
    /// # Errors
    /// When it can't be opened.
    pub fn open_pipe(&self, path: &Path) -> io::Result<Option<File>> {
        File::options().write(true).open(path).map(Some)
    }

    /// Does nothing: on Unix the end of standard output's reader stops this process
    /// at once, here the next line that can't be written does.
    ///
    /// # Errors
    /// None.
    pub fn stop_with_reader(&self) -> io::Result<()> {
        Ok(())
    }

    /// Always false: see [`Interrupt::stop_with_reader`].
    pub fn is_reader_gone(&self) -> bool {
        false
    }
}

/// Standard input without a buffer.
///
/// # Errors
/// When there is none.
pub fn standard_input() -> io::Result<File> {
    io::stdin().as_handle().try_clone_to_owned().map(File::from)
}

/// Ends this process as Ctrl-C would have.
///
/// # Errors
/// None: it does not return.
pub fn die_of(_signal: i32) -> io::Result<()> {
    std::process::exit(BY_CTRL_C.cast_signed())
}
