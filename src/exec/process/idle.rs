//! Waits until the machine is idle.

use std::time::{Duration, Instant};

use super::Interrupt;
use super::ticks::Ticks;

/// For how long to look: ten ticks of each processor.
const LOOK: Duration = Duration::from_millis(100);

/// Whether this machine tells how busy it is.
pub(crate) fn can_look() -> bool {
    Ticks::now().is_some()
}

/// Waits until the machine has been less busy than `most`, a share of the time of
/// all its processors, for a tenth of a second in which nothing of ours runs.
/// Returns false if the time `left` is up or a signal arrives first.
pub fn wait(most: f64, left: Duration, interrupt: &Interrupt) -> bool {
    let start = Instant::now();
    while start.elapsed() + LOOK < left && interrupt.signal().is_none() {
        let Some(before) = Ticks::now() else { return true };
        std::thread::sleep(LOOK);
        if Ticks::now().is_none_or(|after| after.busy_since(before).is_none_or(|busy| busy < most))
        {
            return true;
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_waits_longer_than_there_is_time() {
        let never = Interrupt::never().unwrap();
        assert!(!wait(0.5, Duration::from_millis(1), &never));
    }
}
