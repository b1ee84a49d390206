//! What a verdict costs: the seconds of a pair times the variance of ln(second/first).

use cargo_cbdr::stats::empirical::{sorted, typical_deviation};

use super::metrics::{Metric, Values, median};
use super::recording::Series;

/// The costs of a benchmark, or the median ones of several.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Costs {
    pub seconds_a_pair: f64,
    /// With the variance from the median absolute deviation: single pairs that are far off
    /// do not count. Seconds.
    pub typical: Values,
    /// With the plain variance. Seconds.
    pub plain: Values,
}

impl Costs {
    /// Of a benchmark; `None` with fewer than 3 pairs.
    pub fn of(series: &Series) -> Option<Costs> {
        if series.pairs.len() < 3 {
            return None;
        }
        let sum: f64 = series.pairs.iter().map(|pair| pair.seconds).sum();
        let seconds_a_pair = sum / series.pairs.len() as f64;
        let cost = |variance: fn(&[f64]) -> f64| {
            Metric::ALL.map(|metric| {
                let all: Vec<f64> =
                    series.pairs.iter().map(|pair| pair.log_ratio(metric)).collect();
                seconds_a_pair * variance(&all)
            })
        };
        Some(Costs { seconds_a_pair, typical: cost(typical), plain: cost(plain) })
    }

    /// The median of each figure; `None` of no benchmarks.
    pub fn median(all: &[Costs]) -> Option<Costs> {
        let middle = |figure: &dyn Fn(&Costs) -> f64| median(&sorted(all.iter().map(figure)));
        let each = |figures: fn(&Costs) -> Values| {
            Metric::ALL.map(|metric| middle(&|costs| figures(costs)[metric as usize]))
        };
        (!all.is_empty()).then(|| Costs {
            seconds_a_pair: middle(&|costs| costs.seconds_a_pair),
            typical: each(|costs| costs.typical),
            plain: each(|costs| costs.plain),
        })
    }
}

fn plain(values: &[f64]) -> f64 {
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (count - 1.0)
}

fn typical(values: &[f64]) -> f64 {
    typical_deviation(values).powi(2)
}
