//! The kernel's account of the processors' time.

/// Time of all processors since the machine's start, in ticks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ticks {
    /// In whatever state.
    pub all: u64,
    /// Wanted, but given to another virtual machine.
    pub stolen: u64,
}

impl Ticks {
    /// Reads the first line of `/proc/stat`: user, nice, system, idle, iowait,
    /// irq, softirq, steal; what follows (guests) is in these. `None` when it
    /// is another line, or not a number, or ends before the idle time; columns
    /// that an old kernel lacks are 0.
    pub fn parse(stat: &str) -> Option<Self> {
        let line = stat.lines().next()?.strip_prefix("cpu ")?;
        let states: Option<Vec<u64>> =
            line.split_whitespace().take(8).map(|word| word.parse().ok()).collect();
        let states = states?;
        let all = states.iter().sum();
        states.get(3)?;
        Some(Ticks { all, stolen: states.get(7).copied().unwrap_or(0) })
    }

    /// This moment's. `None` where there is no `/proc`.
    pub fn now() -> Option<Self> {
        Ticks::parse(&std::fs::read_to_string("/proc/stat").ok()?)
    }

    /// The share stolen since `earlier`, 0 to 1. `None` when no time passed.
    pub(crate) fn stolen_since(self, earlier: Ticks) -> Option<f64> {
        self.share(earlier, |ticks| ticks.stolen)
    }

    fn share(self, earlier: Ticks, part: impl Fn(Ticks) -> u64) -> Option<f64> {
        let all = self.all.saturating_sub(earlier.all);
        let part = part(self).saturating_sub(part(earlier));
        (all > 0).then(|| part as f64 / all as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_stolen_share_is_that_of_the_time_between() {
        let stat = |line: &str| Ticks::parse(&format!("{line}\ncpu0 1 2 3\nintr 5\n"));
        let before = stat("cpu  10 0 10 70 10 0 0 0 0 0").unwrap();
        let after = stat("cpu  20 5 10 120 10 5 5 5 99 99").unwrap();
        assert_eq!(before, Ticks { all: 100, stolen: 0 });
        assert_eq!(after.stolen_since(before), Some(5.0 / 80.0));
        // No time passed, or it went back.
        assert_eq!(before.stolen_since(before), None);
        assert_eq!(before.stolen_since(after), None);
        // An old kernel without the later columns.
        assert_eq!(stat("cpu  1 2 3 4"), Some(Ticks { all: 10, stolen: 0 }));
        for bad in ["cpu  1 2 3", "cpu  a b c d", "cpu0 1 2 3 4", "intr 5"] {
            assert_eq!(stat(bad), None, "{bad}");
        }
    }
}
