//! Waits until others leave the machine alone.

use std::time::{Duration, Instant};

use super::Interrupt;
use super::ticks::Ticks;

/// How long one look takes: ten ticks of what is counted, on each processor.
const LOOK: Duration = Duration::from_millis(100);

/// Whether this machine can say how busy it is.
pub(crate) fn can_look() -> bool {
    Ticks::now().is_some()
}

/// Waits until the machine was less busy than `most`, a share of all its
/// processors, for a tenth of a second, in which nothing of ours runs. False
/// when `left` is over or a signal arrived first.
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
