//! How the processors have spent their time, as the kernel accounts for it.

/// Time of all processors since the start of the machine, in ticks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Ticks {
    /// All of the time.
    pub(crate) all: u64,
    /// The part that was wanted but given to another virtual machine.
    pub(crate) stolen: u64,
}

impl Ticks {
    /// Reads the first line of `/proc/stat`: user, nice, system, idle, iowait,
    /// irq, softirq, steal. The columns after these (guests) are part of them;
    /// columns that an old kernel lacks are 0. `None` if it is another line, has
    /// something other than numbers, or ends before the idle time.
    pub(crate) fn parse(stat: &str) -> Option<Self> {
        let line = stat.lines().next()?.strip_prefix("cpu ")?;
        let states: Option<Vec<u64>> =
            line.split_whitespace().take(8).map(|word| word.parse().ok()).collect();
        let states = states?;
        let all = states.iter().sum();
        states.get(3)?;
        Some(Ticks { all, stolen: states.get(7).copied().unwrap_or(0) })
    }

    /// The stolen share since `earlier`, 0 to 1. `None` if no time has passed.
    pub(crate) fn stolen_since(self, earlier: Ticks) -> Option<f64> {
        let all = self.all.saturating_sub(earlier.all);
        let stolen = self.stolen.saturating_sub(earlier.stolen);
        (all > 0).then(|| stolen as f64 / all as f64)
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
