//! What runs measure.

use super::side::Side;

/// The values of one benchmark in one run, by metric, in the order in which they
/// were measured.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Values {
    values: Vec<(String, f64)>,
}

impl Values {
    /// Adds the value of a metric. Returns false, and adds nothing, if the value is
    /// not finite or the metric has a value already.
    pub(crate) fn set(&mut self, metric: &str, value: f64) -> bool {
        let fits = value.is_finite() && self.get(metric).is_none();
        if fits {
            self.values.push((metric.to_owned(), value));
        }
        fits
    }

    /// Adds to the value of a metric, which is zero at first.
    pub(crate) fn add(&mut self, metric: &str, value: f64) {
        match self.values.iter_mut().find(|(name, _)| name == metric) {
            Some((_, sum)) => *sum += value,
            None => self.values.push((metric.to_owned(), value)),
        }
    }

    /// Adds the values of metrics that have none yet.
    pub(crate) fn extend(&mut self, other: Values) {
        for (metric, value) in other.values {
            self.set(&metric, value);
        }
    }

    /// The value of a metric, if the run measured it.
    pub fn get(&self, metric: &str) -> Option<f64> {
        let found = self.values.iter().find(|(name, _)| name == metric);
        found.map(|&(_, value)| value)
    }

    /// The metrics with their values.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&str, f64)> {
        self.values.iter().map(|(name, value)| (name.as_str(), *value))
    }

    /// The names of the metrics.
    pub(crate) fn metrics(&self) -> Vec<String> {
        self.values.iter().map(|(name, _)| name.clone()).collect()
    }
}

impl<'a> FromIterator<(&'a str, f64)> for Values {
    fn from_iter<I: IntoIterator<Item = (&'a str, f64)>>(pairs: I) -> Self {
        let mut values = Values::default();
        for (metric, value) in pairs {
            values.set(metric, value);
        }
        values
    }
}

/// What one run reports about one benchmark.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Reading {
    /// The harness's name for the benchmark; `None` for the program itself.
    pub(crate) benchmark: Option<String>,
    /// Its values.
    pub(crate) values: Values,
    /// How much it says that it works on in an iteration, such as `1024 bytes`.
    pub(crate) amount: Option<String>,
}

impl Reading {
    /// A reading of the program itself.
    pub(crate) fn of_program(values: Values) -> Self {
        Reading { values, ..Reading::default() }
    }
}

/// The index of a benchmark in an experiment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BenchmarkId(pub usize);

/// The index of a metric in an experiment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MetricId(pub usize);

/// The values of one benchmark in one run of one side.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// The benchmark.
    pub benchmark: BenchmarkId,
    /// The side that ran.
    pub side: Side,
    /// What was measured.
    pub values: Vec<(MetricId, f64)>,
}

impl Row {
    /// The value of a metric, if the run measured it.
    pub(crate) fn get(&self, metric: MetricId) -> Option<f64> {
        let found = self.values.iter().find(|(id, _)| *id == metric);
        found.map(|&(_, value)| value)
    }
}
