//! Work during which an interrupt may come, alike on all systems.

use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use super::{Interrupt, RunError, die_of};

/// How long work that can't be interrupted may go on once a signal has arrived.
const PATIENCE: Duration = Duration::from_secs(1);

/// How often to look whether a signal has arrived.
const LOOK: Duration = Duration::from_millis(50);

impl Interrupt {
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
            while end.recv_timeout(LOOK) == Err(RecvTimeoutError::Timeout) {
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
}
