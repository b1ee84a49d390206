//! What is measured: a name, a unit and which way is better.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::model::words::words;

/// The maximum length of the name of a metric, a benchmark or a label, bytes.
const LONGEST: usize = 1000;

/// Why a text can't be the name of a metric, a benchmark or a label, which
/// appear in tables and rows; `None` if it can.
pub(crate) fn unfit(name: &str) -> Option<&'static str> {
    if name.is_empty() {
        Some("it is empty")
    } else if name.len() > LONGEST {
        Some("it is longer than 1000 bytes")
    } else if name.chars().any(char::is_control) {
        Some("it contains a line end or another control character")
    } else {
        None
    }
}

/// The unit of a metric's values.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub enum Unit {
    /// Seconds.
    Seconds,
    /// Bytes.
    Bytes,
    /// A number of things.
    Count,
    /// Any other, by its symbol, such as `B/s`.
    Other(String),
    /// Not known.
    #[default]
    Unknown,
}

impl Unit {
    /// The unit with this symbol.
    pub fn of(symbol: &str) -> Self {
        match symbol {
            "" => Unit::Unknown,
            "s" => Unit::Seconds,
            "B" => Unit::Bytes,
            "count" => Unit::Count,
            other => Unit::Other(other.to_owned()),
        }
    }

    /// Its symbol in the outputs.
    pub fn symbol(&self) -> &str {
        match self {
            Unit::Seconds => "s",
            Unit::Bytes => "B",
            Unit::Count => "count",
            Unit::Other(symbol) => symbol,
            Unit::Unknown => "",
        }
    }
}

impl From<String> for Unit {
    fn from(symbol: String) -> Self {
        Unit::of(&symbol)
    }
}

impl From<Unit> for String {
    fn from(unit: Unit) -> Self {
        unit.symbol().to_owned()
    }
}

impl fmt::Display for Unit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.symbol())
    }
}

/// Which values of a metric are better.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Better {
    /// Lower ones, such as times.
    #[default]
    Lower,
    /// Higher ones, such as throughputs.
    Higher,
}

impl Better {
    /// The change, head/base - 1, at which a metric is worse by `threshold`. If
    /// higher is better, it is a decrease: then the base exceeds the head by
    /// `threshold`.
    pub fn limit(self, threshold: f64) -> f64 {
        self.worse(threshold)
    }

    /// By how much a metric with this change is worse. The function is its own inverse.
    pub fn worse(self, change: f64) -> f64 {
        match self {
            Better::Lower => change,
            Better::Higher if change == f64::INFINITY => -1.0,
            // 1/(1 + c) - 1 without cancellation.
            Better::Higher => -change / (1.0 + change),
        }
    }
}

words!(Better { Lower = "lower", Higher = "higher" } else |_| {
    "better must be `lower` or `higher`".to_owned()
});

/// A metric.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
pub struct Metric {
    /// Its name, in snake case.
    pub name: String,
    /// The unit of its values.
    pub unit: Unit,
    /// Which way is better.
    pub better: Better,
}

impl Metric {
    /// A metric where lower is better.
    pub fn cost(name: &str, unit: Unit) -> Self {
        Metric { name: name.to_owned(), unit, better: Better::Lower }
    }

    /// A metric by its name: with its unit if it is measured here or by a known
    /// harness; for others, lower is better.
    pub fn named(name: &str) -> Self {
        KnownMetric::of(name).map_or(Metric::cost(name, Unit::Unknown), KnownMetric::metric)
    }

    /// Takes unit and direction from `units`, if they are configured there.
    #[must_use]
    pub(crate) fn with(self, units: &Units) -> Self {
        match units.get(&self.name) {
            Some(Quantity { unit, better }) => {
                Metric { unit: unit.clone(), better: *better, ..self }
            }
            None => self,
        }
    }

    /// Whether the placement of code alone can change it by some per cent.
    pub(crate) fn depends_on_placement(&self) -> bool {
        match self.unit {
            Unit::Seconds | Unit::Other(_) | Unit::Unknown => true,
            Unit::Bytes | Unit::Count => {
                const BY_PLACE: [&str; 7] = [
                    "cycles",
                    "branch_misses",
                    "cache_misses",
                    "estimated_cycles_cachegrind",
                    "l1_hits_cachegrind",
                    "last_level_hits_cachegrind",
                    "ram_hits_cachegrind",
                ];
                BY_PLACE.contains(&self.name.as_str())
            }
        }
    }

    /// Whether the same program always has the same count: of what a simulated processor
    /// does, or of allocations.
    pub(crate) fn is_repeatable(&self) -> bool {
        self.name.ends_with(SIMULATED) || is_of_allocations(&self.name)
    }
}

/// How often memory was allocated, how much, and the most that was in use at once.
pub(crate) const ALLOCATIONS: &str = "allocations";
pub(crate) const FILE_SIZE: &str = "executable_bytes";
pub(crate) const ALLOCATED_BYTES: &str = "allocated_bytes";
pub(crate) const PEAK_HEAP_BYTES: &str = "peak_heap_bytes";

/// Whether a metric is one of allocations.
pub(crate) fn is_of_allocations(metric: &str) -> bool {
    KnownMetric::of(metric).is_some_and(|known| known.source == MetricSource::Allocations)
}

/// Where the values of a known metric come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MetricSource {
    /// What the kernel reports about every process that has ended.
    Usage,
    /// A counter of the processor or the kernel.
    Counter,
    /// Valgrind's cachegrind.
    Cachegrind,
    /// What counts allocations, or a harness that does.
    Allocations,
    /// The executable file.
    Executable,
    /// The output of a harness.
    Harness,
}

/// A metric that is measured here or by a known harness. Lower is better.
#[derive(Debug)]
pub(crate) struct KnownMetric {
    /// Its name, in snake case.
    pub(crate) name: &'static str,
    /// The unit of its values.
    pub(crate) unit: Unit,
    /// Where its values come from.
    pub(crate) source: MetricSource,
}

/// The known metrics, in the order of the outputs.
pub(crate) static KNOWN: [KnownMetric; 31] = {
    use MetricSource::{Allocations, Cachegrind, Counter, Executable, Harness, Usage};
    use Unit::{Bytes, Count, Seconds};
    const fn cost(name: &'static str, unit: Unit, source: MetricSource) -> KnownMetric {
        KnownMetric { name, unit, source }
    }
    [
        cost("wall_time", Seconds, Usage),
        cost("user_time", Seconds, Usage),
        cost("sys_time", Seconds, Usage),
        cost("cpu_time", Seconds, Usage),
        cost("max_rss", Bytes, Usage),
        cost("minor_faults", Count, Usage),
        cost("major_faults", Count, Usage),
        cost("voluntary_switches", Count, Usage),
        cost("involuntary_switches", Count, Usage),
        cost("instructions", Count, Counter),
        cost("instructions_minus_irqs", Count, Counter),
        cost("cycles", Count, Counter),
        cost("branches", Count, Counter),
        cost("branch_misses", Count, Counter),
        cost("cache_misses", Count, Counter),
        cost("page_faults", Count, Counter),
        cost("context_switches", Count, Counter),
        cost("task_clock", Seconds, Counter),
        cost("instructions_cachegrind", Count, Cachegrind),
        cost("estimated_cycles_cachegrind", Count, Cachegrind),
        cost(ALLOCATIONS, Count, Allocations),
        cost(ALLOCATED_BYTES, Bytes, Allocations),
        cost(PEAK_HEAP_BYTES, Bytes, Allocations),
        cost(FILE_SIZE, Bytes, Executable),
        cost("text_bytes", Bytes, Executable),
        cost("median_time", Seconds, Harness),
        cost("min_time", Seconds, Harness),
        cost("p99_time", Seconds, Harness),
        cost("l1_hits_cachegrind", Count, Harness),
        cost("last_level_hits_cachegrind", Count, Harness),
        cost("ram_hits_cachegrind", Count, Harness),
    ]
};

impl KnownMetric {
    /// The known metric of this name.
    pub(crate) fn of(name: &str) -> Option<&'static Self> {
        KNOWN.iter().find(|known| known.name == name)
    }

    /// Those whose values come from `source`, in the order of the outputs.
    pub(crate) fn from(source: MetricSource) -> impl Iterator<Item = &'static Self> {
        KNOWN.iter().filter(move |known| known.source == source)
    }

    pub(crate) fn metric(&self) -> Metric {
        Metric::cost(self.name, self.unit.clone())
    }
}

/// The unit and the direction of a metric.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Quantity {
    /// Their unit.
    pub(crate) unit: Unit,
    /// Which of them are better.
    pub(crate) better: Better,
}

/// Units and directions of metrics, by their names.
pub type Units = BTreeMap<String, Quantity>;

/// The metric that gates if none is named.
pub(crate) const DEFAULT_METRIC: &str = "wall_time";

/// The metric that replaces [`DEFAULT_METRIC`] if none is named: the median of a run's
/// samples if a harness reports it; else, if the default is not `measured`, the only
/// metric, or the instructions counted by a simulated processor, which vary less than its
/// other estimates.
pub(crate) fn stand_in(measured: &[String]) -> Option<&String> {
    let find = |name: &str| measured.iter().find(|metric| *metric == name);
    match (MEDIANS.into_iter().find_map(find), find(DEFAULT_METRIC), measured) {
        (Some(median), ..) => Some(median),
        (None, Some(_), _) => None,
        (None, None, [only]) => Some(only),
        (None, None, _) => find(SIMULATED_INSTRUCTIONS),
    }
}

/// The median of a run's samples, of time or of something else.
const MEDIANS: [&str; 2] = ["median_time", "median_value"];

/// The instructions that a simulated processor counts.
const SIMULATED_INSTRUCTIONS: &str = "instructions_cachegrind";

/// The suffix of metrics from a simulated processor.
const SIMULATED: &str = "_cachegrind";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_stands_in_for_the_usual_metric_is_there() {
        let table: [(&[&str], Option<&str>); 8] = [
            (&["wall_time", "median_time", "min_time"], Some("median_time")),
            (&["wall_time", "max_rss"], None),
            (&["wall_time"], None),
            (&["rate"], Some("rate")),
            (&["value", "median_value", "min_value"], Some("median_value")),
            (&["rate", "steps"], None),
            (&["ram_hits_cachegrind", "instructions_cachegrind"], Some("instructions_cachegrind")),
            (&[], None),
        ];
        for (names, expected) in table {
            let names: Vec<String> = names.iter().map(|&name| name.to_owned()).collect();
            assert_eq!(stand_in(&names).map(String::as_str), expected, "{names:?}");
        }
    }
}
