//! Waits until others leave the machine alone.

use std::time::{Duration, Instant};

use super::Interrupt;

/// How long one look takes: ten ticks of what is counted, on each processor.
const LOOK: Duration = Duration::from_millis(100);

/// Time of all processors since the start, in ticks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Ticks {
    busy: u64,
    all: u64,
}

impl Ticks {
    /// Reads the first line of `/proc/stat`: user, nice, system, idle, iowait,
    /// irq, softirq, steal; what follows (guests) is in these.
    fn parse(stat: &str) -> Option<Self> {
        let line = stat.lines().find_map(|line| line.strip_prefix("cpu "))?;
        let numbers: Option<Vec<u64>> =
            line.split_whitespace().take(8).map(|word| word.parse().ok()).collect();
        let numbers = numbers?;
        let all = numbers.iter().sum();
        let idle = numbers.get(3)? + numbers.get(4).unwrap_or(&0);
        Some(Ticks { busy: all - idle, all })
    }

    fn now() -> Option<Self> {
        Ticks::parse(&std::fs::read_to_string("/proc/stat").ok()?)
    }

    /// The busy share, 0 to 1, between an earlier moment and this one.
    fn share_since(self, earlier: Ticks) -> f64 {
        let all = self.all.saturating_sub(earlier.all);
        let busy = self.busy.saturating_sub(earlier.busy);
        if all == 0 { 0.0 } else { busy as f64 / all as f64 }
    }
}

/// Whether this machine can say how busy it is.
pub fn can_look() -> bool {
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
        if Ticks::now().is_none_or(|after| after.share_since(before) < most) {
            return true;
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_busy_share_is_all_but_idle_and_waiting() {
        let stat = |line: &str| Ticks::parse(&format!("{line}\ncpu0 1 2 3\nintr 5\n"));
        let before = stat("cpu  10 0 10 70 10 0 0 0 0 0").unwrap();
        let after = stat("cpu  20 5 10 120 10 5 5 5 99 99").unwrap();
        assert_eq!(before, Ticks { busy: 20, all: 100 });
        assert!((after.share_since(before) - 30.0 / 80.0).abs() < 1e-12);
        assert_eq!(before.share_since(before), 0.0);
        // An old kernel without the later columns.
        assert_eq!(stat("cpu  1 2 3 4"), Some(Ticks { busy: 6, all: 10 }));
        assert_eq!(stat("cpu  1 2 3"), None);
        assert_eq!(stat("cpu  a b c d"), None);
    }

    #[test]
    fn nobody_waits_longer_than_there_is_time() {
        let never = Interrupt::never().unwrap();
        assert!(!wait(0.5, Duration::from_millis(1), &never));
    }
}
