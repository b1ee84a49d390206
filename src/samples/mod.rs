//! Samples to verdicts: what `analyze` does with rows of runs.
//!
//! Rows come one by one and are not kept. As long as every two rows of two
//! labels hold both of them, they are pairs, and with a threshold they are put
//! to the same [`MetricTest`](crate::engine::test::MetricTest) as in a comparison that
//! is running: same sums, same decisions, same numbers. Else what is said is
//! Welch's and Fieller's, of samples looked at once.
//!
//! What several machines measured of one comparison is put together by [`combine`].

mod analysis;
mod companion;
mod comparison;
pub mod csv;
mod error;
mod labels;
mod number;
mod recording;
mod rows;
mod shards;

pub use analysis::Analysis;
pub use companion::{Companion, SeededShard, units_beside};
pub use error::{Error, Misfit, Position};
pub use recording::{RecordedPairs, Recording};
pub use rows::Flow;
pub use shards::{Part, combine};

use crate::model::estimator::Estimator;
use crate::model::gate::Gate;
use crate::model::metric::{DEFAULT_METRIC, Metric, Units, stand_in};
use crate::model::outcome::Policy;

/// What is asked of the samples.
#[derive(Clone, Debug, PartialEq)]
pub struct Spec {
    /// BenchmarkTools' judgement, and not evidence.
    pub judges: bool,
    /// The metrics that gate; none when only estimates are wanted.
    pub gates: Option<Vec<Gate>>,
    /// The metrics that were named; of none, all are shown and
    /// [`DEFAULT_METRIC`] is meant, or the only one that there is.
    pub named: Vec<String>,
    /// What decides.
    pub policy: Policy,
    /// Whether the estimator was asked for: else the mean stands in where rows
    /// don't pair.
    pub chosen: bool,
    /// The label that all others are compared with.
    pub base: Option<String>,
    /// Units and directions that are not the usual ones.
    pub units: Units,
}

impl Spec {
    /// What decides about a metric, where it gates.
    pub(crate) fn gate(&self, metric: &str) -> Option<&Gate> {
        let gates = self.gates.as_deref().unwrap_or_default();
        gates.iter().find(|gate| gate.metric == metric)
    }

    /// The largest change of a metric that passes, where it gates.
    pub(crate) fn threshold(&self, metric: &str) -> Option<f64> {
        self.gate(metric).map(Gate::limit)
    }

    /// Whether the estimator can't do without pairs.
    fn needs_pairs(&self) -> bool {
        let needs_none =
            matches!(self.policy.estimator, Estimator::Mean | Estimator::GeometricMean);
        !self.judges && !needs_none
    }

    /// Where no metric was named, lets another stand in for the usual one, as `compare`
    /// does.
    fn let_stand_in(&mut self, metrics: &[Metric]) {
        let names: Vec<String> = metrics.iter().map(|metric| metric.name.clone()).collect();
        if let (Some(other), true) = (stand_in(&names), self.named.is_empty())
            && let Some([gate]) = self.gates.as_deref_mut()
            && gate.metric == DEFAULT_METRIC
        {
            gate.metric.clone_from(other);
        }
    }
}
