//! What one run of one side measured.

/// The values of one run, in the order in which they were measured.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Sample {
    values: Vec<(String, f64)>,
}

impl Sample {
    /// An empty one.
    pub fn new() -> Self {
        Sample::default()
    }

    /// Adds the value of a metric. Refuses (returns false) one that is no
    /// finite number, so that none gets into the sums, and one that is there.
    pub fn set(&mut self, metric: &str, value: f64) -> bool {
        let fits = value.is_finite() && self.get(metric).is_none();
        if fits {
            self.values.push((metric.to_owned(), value));
        }
        fits
    }

    /// Adds the values of another one, but those that are there.
    pub fn join(&mut self, other: Sample) {
        for (metric, value) in other.values {
            self.set(&metric, value);
        }
    }

    /// The value of a metric, if the run measured it.
    pub fn get(&self, metric: &str) -> Option<f64> {
        let found = self.values.iter().find(|(name, _)| name == metric);
        found.map(|&(_, value)| value)
    }

    /// The metrics and their values, in the order in which they were measured.
    pub fn iter(&self) -> impl Iterator<Item = (&str, f64)> {
        self.values.iter().map(|(name, value)| (name.as_str(), *value))
    }
}

impl<'a> FromIterator<(&'a str, f64)> for Sample {
    fn from_iter<I: IntoIterator<Item = (&'a str, f64)>>(values: I) -> Self {
        let mut sample = Sample::new();
        for (metric, value) in values {
            sample.set(metric, value);
        }
        sample
    }
}
