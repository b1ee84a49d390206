//! The comparison of two labels by the sums of their rows, for a single look.

use super::spec::Spec;
use crate::model::{Estimator, Judgement, Metric, MetricResult, Pair, Summary, Verdict};
use crate::stats::estimator::Levels;
use crate::stats::fixed::{Confidence, TwoSamples};
use crate::stats::judge::{judge, ratio};
use crate::stats::moments::Moments;

/// The sums of one metric of one label.
#[derive(Clone, Copy, Debug)]
pub(super) struct LabelSums {
    /// Of the values, or of their logarithms if these are needed.
    pub(super) moments: Moments,
    least: f64,
    /// Whether a value has no logarithm although logarithms are needed.
    undefined: bool,
}

impl LabelSums {
    /// Those of some values, of which NaN is an empty cell.
    pub(super) fn of(values: &[f64], logarithms: bool) -> Self {
        let values = values.iter().copied().filter(|value| !value.is_nan());
        LabelSums {
            moments: match logarithms {
                true => values.clone().filter(|value| *value > 0.0).map(f64::ln).collect(),
                false => values.clone().collect(),
            },
            least: values.clone().fold(f64::INFINITY, f64::min),
            undefined: logarithms && values.clone().any(|value| value <= 0.0),
        }
    }

    fn estimate(&self, estimator: Estimator) -> Option<f64> {
        match estimator {
            Estimator::Min => Some(self.least).filter(|least| least.is_finite()),
            // A zero makes the geometric mean zero.
            Estimator::GeometricMean if self.undefined => Some(0.0),
            Estimator::GeometricMean => self.moments.mean().map(f64::exp),
            _ => self.moments.mean(),
        }
    }
}

/// The judgement of two estimates by BenchmarkTools.
pub(super) fn judged(spec: &Spec, metric: &Metric, sums: Pair<&LabelSums>) -> MetricResult {
    let estimate = sums.map(|sums| sums.estimate(spec.policy.estimator));
    let threshold = spec.threshold(&metric.name);
    let ratio = estimate.base.zip(estimate.head).map(|(base, head)| ratio(base, head));
    let judgement = threshold.zip(ratio).map(|(tolerance, ratio)| judge(ratio, tolerance));
    let verdict = match judgement {
        Some(Judgement::Regression) => Some(Verdict::Regression),
        Some(_) => Some(Verdict::NoRegression),
        None => threshold.map(|_| Verdict::Inconclusive),
    };
    let summary = Summary {
        base: estimate.base,
        head: estimate.head,
        change: ratio.map(|ratio| ratio - 1.0).filter(|change| change.is_finite()),
        ..Summary::default()
    };
    MetricResult { judgement, ..MetricResult::new(metric.clone(), threshold, summary, verdict) }
}

/// The result of samples of a fixed size, for a single look.
pub(super) fn measured(
    spec: &Spec,
    metric: &Metric,
    levels: Levels,
    sums: Pair<&LabelSums>,
    samples: TwoSamples<'_>,
) -> MetricResult {
    let threshold = spec.threshold(&metric.name);
    let confidence = match spec.gates {
        Some(_) => Confidence { lower: 1.0 - levels.alarm, upper: 1.0 - levels.clear },
        None => {
            let one_sided = 0.5 + 0.5 * spec.policy.confidence;
            Confidence { lower: one_sided, upper: one_sided }
        }
    };
    let is_defined = !sums.base.undefined && !sums.head.undefined;
    let mut summary = Summary::default();
    let mut difference = None;
    if let Some((base, head)) = samples.means().filter(|_| is_defined) {
        difference = samples.difference(confidence);
        if spec.policy.estimator.takes_logarithms() {
            summary.base = Some(base.exp());
            summary.head = Some(head.exp());
            summary.change = Some((head - base).exp_m1());
            summary.lower = difference.map(|ends| ends.lower.exp_m1());
            summary.upper = difference.map(|ends| ends.upper.exp_m1());
            difference = None;
        } else {
            summary.base = Some(base);
            summary.head = Some(head);
            if sums.base.least >= 0.0 && sums.head.least >= 0.0 {
                let (lower, upper) = samples.ratio(confidence);
                let change = if base == head { 0.0 } else { (head - base) / base };
                summary.change = Some(change).filter(|change| change.is_finite());
                summary.lower = lower.map(|end| end - 1.0);
                summary.upper = upper.map(|end| end - 1.0);
            }
        }
    }
    let verdict = threshold.map(|limit| {
        if summary.lower.is_some_and(|lower| lower > limit) {
            Verdict::Regression
        } else if summary.upper.is_some_and(|upper| upper < limit) {
            Verdict::NoRegression
        } else {
            Verdict::Inconclusive
        }
    });
    MetricResult { difference, ..MetricResult::new(metric.clone(), threshold, summary, verdict) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_estimate_is_of_the_cells_that_are_filled() {
        let of = |values: &[f64], estimator: Estimator| {
            LabelSums::of(values, estimator.takes_logarithms()).estimate(estimator)
        };
        assert_eq!(of(&[4.0, f64::NAN, 1.0], Estimator::Min), Some(1.0));
        assert_eq!(of(&[4.0, f64::NAN, 1.0], Estimator::Mean), Some(2.5));
        assert_eq!(of(&[4.0, f64::NAN, 1.0], Estimator::GeometricMean), Some(2.0));
        assert_eq!(of(&[4.0, 0.0], Estimator::GeometricMean), Some(0.0));
        assert_eq!(of(&[f64::NAN], Estimator::Min), None);
    }
}
