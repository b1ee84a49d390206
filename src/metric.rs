//! What is measured: a name, a unit and which way is better.

use std::fmt;

/// The unit of a metric's values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Unit {
    /// Seconds.
    Seconds,
    /// Bytes.
    Bytes,
    /// Nobody said.
    Unknown,
}

impl Unit {
    /// Its symbol in the outputs.
    pub fn symbol(self) -> &'static str {
        match self {
            Unit::Seconds => "s",
            Unit::Bytes => "B",
            Unit::Unknown => "",
        }
    }
}

impl fmt::Display for Unit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.symbol())
    }
}

/// Which values of a metric are the better ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Better {
    /// The lower ones, as of times.
    Lower,
    /// The higher ones, as of throughputs.
    Higher,
}

impl Better {
    /// `lower` or `higher`.
    pub fn name(self) -> &'static str {
        match self {
            Better::Lower => "lower",
            Better::Higher => "higher",
        }
    }
}

/// A metric.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Metric {
    /// Its name, in snake case.
    pub name: String,
    /// The unit of its values.
    pub unit: Unit,
    /// Which way is better.
    pub better: Better,
}

impl Metric {
    /// A metric of which less is better.
    pub fn cost(name: &str, unit: Unit) -> Self {
        Metric { name: name.to_owned(), unit, better: Better::Lower }
    }
}

/// The metric that gates when none is named.
pub const DEFAULT_METRIC: &str = "wall_time";
