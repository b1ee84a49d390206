//! What the kernel reports about every process that has ended, at no cost:
//! time, memory, page faults and context switches of the program and of its
//! descendants that were waited for.

use crate::exec::process::RunOutcome;
use crate::model::{KnownMetric, Metric, MetricSource, Values};

/// The metrics that are measured this way.
pub(super) fn metrics() -> impl Iterator<Item = Metric> {
    KnownMetric::from(MetricSource::Usage).map(KnownMetric::metric)
}

/// Whether a metric is measured this way.
pub(super) fn measures(metric: &str) -> bool {
    KnownMetric::from(MetricSource::Usage).any(|known| known.name == metric)
}

/// The values of a run.
pub(super) fn read(outcome: &RunOutcome) -> Values {
    let usage = outcome.usage;
    let values = [
        ("wall_time", outcome.wall),
        ("user_time", usage.user),
        ("sys_time", usage.sys),
        ("cpu_time", usage.user + usage.sys),
        ("max_rss", usage.max_rss as f64),
        ("minor_faults", usage.minor_faults as f64),
        ("major_faults", usage.major_faults as f64),
        ("voluntary_switches", usage.voluntary_switches as f64),
        ("involuntary_switches", usage.involuntary_switches as f64),
    ];
    values.into_iter().collect()
}
