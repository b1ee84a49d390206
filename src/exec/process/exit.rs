//! How a program ended, and what it used.

use serde::{Deserialize, Serialize};
use signal_hook::low_level::signal_name;

/// How a program ended. Its display follows the program's name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
pub enum Exit {
    /// With an exit code.
    #[error("exited with code {0}")]
    Code(i32),
    /// By a signal.
    #[error("was killed by {}",
        signal_name(*.0).map_or_else(|| format!("signal {}", .0), str::to_owned))]
    Signal(i32),
}

impl Exit {
    /// Whether it is the exit code 0.
    pub fn success(self) -> bool {
        self == Exit::Code(0)
    }
}

/// What a program used, as `wait4` reports it for that one child: the program
/// itself and its descendants that were waited for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Usage {
    /// Processor time in user mode, seconds.
    pub user: f64,
    /// Processor time in the kernel, seconds.
    pub sys: f64,
    /// The largest resident size of any one of these processes, bytes.
    pub(crate) max_rss: u64,
    /// Page faults without input or output.
    pub(crate) minor_faults: u64,
    /// Page faults that needed input or output.
    pub(crate) major_faults: u64,
    /// How often it gave the processor away, mostly to wait.
    pub(crate) voluntary_switches: u64,
    /// How often the processor was taken from it.
    pub(crate) involuntary_switches: u64,
}
