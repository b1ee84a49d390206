//! Work that nothing can stop on its way.

use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use super::{Interrupt, die_of};

/// How long such work may go on once a signal has arrived.
const PATIENCE: Duration = Duration::from_secs(1);

/// How often it is looked whether one has.
const LOOK: Duration = Duration::from_millis(50);

impl Interrupt {
    /// Does work that heeds no signal, as a call into a library that takes long. Where
    /// it is not done a second after one has arrived, this process dies of the signal
    /// then and there: the work has to be such that death does no harm.
    pub fn bound<T>(&self, work: impl FnOnce() -> T) -> T {
        let (done, end) = channel::<()>();
        let watch = move || {
            let mut arrived = None;
            while end.recv_timeout(LOOK) == Err(RecvTimeoutError::Timeout) {
                let Some(signal) = self.signal() else { continue };
                if arrived.get_or_insert_with(Instant::now).elapsed() > PATIENCE {
                    // What is not ended so can only be waited for.
                    let _ = die_of(signal);
                }
            }
        };
        std::thread::scope(|scope| {
            // Without a thread the work is done all the same.
            let _ = std::thread::Builder::new().name("bound".to_owned()).spawn_scoped(scope, watch);
            let outcome = work();
            drop(done);
            outcome
        })
    }
}
