//! What is asked of an analysis of samples.

use crate::model::metric::{DEFAULT_METRIC, stand_in};
use crate::model::{Estimator, Gate, Metric, Policy, Units};

/// How the samples are to be analysed.
#[derive(Clone, Debug, PartialEq)]
pub struct Spec {
    /// Whether to use BenchmarkTools' judgement instead of tests.
    pub judges: bool,
    /// The metrics that gate; `None` if only estimates are wanted.
    pub gates: Option<Vec<Gate>>,
    /// The metrics that were named. If there are none, all are shown, and
    /// [`DEFAULT_METRIC`] or the only metric decides.
    pub named: Vec<String>,
    /// The policy that decides.
    pub policy: Policy,
    /// Whether the estimator was chosen; otherwise, the mean is used if rows
    /// don't form pairs.
    pub chosen: bool,
    /// The label that all others are compared with.
    pub base: Option<String>,
    /// Units and directions that differ from the defaults.
    pub units: Units,
    /// The benchmarks for which there was no time, with the seconds that each needs.
    pub not_measured: Vec<(String, f64)>,
}

impl Spec {
    /// The gate of a metric, if it gates.
    pub(crate) fn gate(&self, metric: &str) -> Option<&Gate> {
        self.gates.as_deref().unwrap_or_default().iter().find(|gate| gate.metric == metric)
    }

    /// The largest change of a metric that passes, if it gates.
    pub(crate) fn threshold(&self, metric: &str) -> Option<f64> {
        self.gate(metric).map(Gate::limit)
    }

    /// Whether the estimator needs pairs.
    pub(super) fn needs_pairs(&self) -> bool {
        !self.judges && !matches!(self.policy.estimator, Estimator::Mean | Estimator::GeometricMean)
    }

    /// If no metric was named, may replace the default by another one, as `compare`
    /// does.
    pub(super) fn let_stand_in(&mut self, metrics: &[Metric]) {
        let names: Vec<String> = metrics.iter().map(|metric| metric.name.clone()).collect();
        if let (Some(other), true) = (stand_in(&names), self.named.is_empty())
            && let Some([gate]) = self.gates.as_deref_mut()
            && gate.metric == DEFAULT_METRIC
        {
            gate.metric.clone_from(other);
        }
    }
}
