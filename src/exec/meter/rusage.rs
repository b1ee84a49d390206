//! What the kernel reports about every process that has ended, at no cost:
//! time, memory, page faults and context switches of the program and of its
//! descendants that were waited for.

use super::Refusal;
use crate::exec::process::{Outcome, TELLS_FAULTS_AND_SWITCHES};
use crate::model::metric::{KnownMetric, Metric, MetricSource};
use crate::model::row::Values;

/// The metrics that not every system has.
const RARE: [&str; 4] =
    ["minor_faults", "major_faults", "voluntary_switches", "involuntary_switches"];

/// The metrics of this system.
pub(super) fn metrics() -> impl Iterator<Item = Metric> {
    KnownMetric::from(MetricSource::Usage)
        .filter(|known| is_told(known.name))
        .map(KnownMetric::metric)
}

/// Whether this system has the metric.
pub(super) fn is_told(metric: &str) -> bool {
    KnownMetric::from(MetricSource::Usage).any(|known| known.name == metric)
        && refusal(metric, TELLS_FAULTS_AND_SWITCHES).is_none()
}

/// Why a metric can't be measured on a system that `tells` the rare ones or not.
/// `None` if it can.
pub(super) fn refusal(metric: &str, tells: bool) -> Option<Refusal> {
    let rare = RARE.into_iter().find(|rare| *rare == metric).filter(|_| !tells)?;
    Some(Refusal {
        metric: rare,
        why: "this system does not report it for a program that has ended".to_owned(),
        hint: Some("Linux, macOS and the BSDs do".to_owned()),
        source: None,
    })
}

/// The values of a run.
pub(super) fn read(outcome: &Outcome) -> Values {
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
    values.into_iter().filter(|(name, _)| is_told(name)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_system_does_not_tell_is_refused_by_name() {
        for metric in KnownMetric::from(MetricSource::Usage).map(|known| known.name) {
            assert!(refusal(metric, true).is_none());
            let refused = refusal(metric, false).map(|refusal| refusal.to_string());
            let expected = RARE.contains(&metric).then(|| {
                format!(
                    "`{metric}` can't be measured: this system does not report it for a program \
                     that has ended"
                )
            });
            assert_eq!(refused, expected);
        }
        assert!(refusal("instructions", false).is_none() && !is_told("instructions"));
    }
}
