//! What the kernel tells of every ended program, for nothing: time, memory,
//! faults and switches, of itself and of those of its descendants that were
//! waited for.

use crate::metric::{Metric, Unit};
use crate::process::Outcome;
use crate::sample::Sample;

/// The metrics, in the order of the outputs.
pub(super) const METRICS: [(&str, Unit); 9] = [
    ("wall_time", Unit::Seconds),
    ("user_time", Unit::Seconds),
    ("sys_time", Unit::Seconds),
    ("cpu_time", Unit::Seconds),
    ("max_rss", Unit::Bytes),
    ("minor_faults", Unit::Count),
    ("major_faults", Unit::Count),
    ("voluntary_switches", Unit::Count),
    ("involuntary_switches", Unit::Count),
];

/// The same as metrics.
pub(super) fn metrics() -> impl Iterator<Item = Metric> {
    METRICS.into_iter().map(|(name, unit)| Metric::cost(name, unit))
}

/// The values of a run.
pub(super) fn read(outcome: &Outcome) -> Sample {
    let usage = outcome.usage;
    let values = [
        outcome.wall,
        usage.user,
        usage.sys,
        usage.user + usage.sys,
        usage.max_rss as f64,
        usage.minor_faults as f64,
        usage.major_faults as f64,
        usage.voluntary_switches as f64,
        usage.involuntary_switches as f64,
    ];
    METRICS.into_iter().map(|(name, _)| name).zip(values).collect()
}
