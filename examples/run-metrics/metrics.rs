//! The metrics that can be computed from the samples of a run.

use cargo_cbdr::stats::empirical::sorted;

/// A metric of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Metric {
    /// The sum of the times over the sum of the iterations.
    Mean,
    /// The median of the samples.
    Median,
    /// The least sample.
    Minimum,
    /// The mean of the middle half of the samples.
    Trimmed,
    /// The least-squares line through the origin, as criterion draws it.
    Slope,
}

/// The values of all metrics, in the order of [`Metric::ALL`], nanoseconds.
pub type Values = [f64; 5];

impl Metric {
    pub const ALL: [Metric; 5] =
        [Metric::Mean, Metric::Median, Metric::Minimum, Metric::Trimmed, Metric::Slope];

    pub fn name(self) -> &'static str {
        match self {
            Metric::Mean => "mean",
            Metric::Median => "median",
            Metric::Minimum => "minimum",
            Metric::Trimmed => "trimmed mean",
            Metric::Slope => "slope",
        }
    }
}

/// A sample: some iterations in a row.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sample {
    pub iterations: f64,
    /// Of all of them, nanoseconds.
    pub time: f64,
}

/// The metrics of a run's samples, of which there is at least one.
pub fn values(samples: &[Sample]) -> Values {
    let sum = |part: fn(&Sample) -> f64| samples.iter().map(part).sum::<f64>();
    let each = sorted(samples.iter().map(|sample| sample.time / sample.iterations));
    [
        sum(|sample| sample.time) / sum(|sample| sample.iterations),
        median(&each),
        each[0],
        middle_half(&each),
        sum(|sample| sample.time * sample.iterations) / sum(|sample| sample.iterations.powi(2)),
    ]
}

/// The median of sorted values, of which there is at least one.
pub fn median(sorted: &[f64]) -> f64 {
    sorted[(sorted.len() - 1) / 2].midpoint(sorted[sorted.len() / 2])
}

/// The mean of the middle half of sorted values; the values at its ends count by the
/// part of them that lies inside.
fn middle_half(sorted: &[f64]) -> f64 {
    let count = sorted.len() as f64;
    let inside = |number: usize| {
        let (from, to) = (number as f64, number as f64 + 1.0);
        (to.min(0.75 * count) - from.max(0.25 * count)).max(0.0)
    };
    let sum: f64 = sorted.iter().enumerate().map(|(number, value)| inside(number) * value).sum();
    sum / (0.5 * count)
}
