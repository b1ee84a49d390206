//! The results of benchmarks that one machine alone has measured.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::model::{BenchmarkResult, Division, Layouts, Notice, Outcome, Weight};

/// What a machine found of the benchmarks that it alone has measured.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
pub struct OwnPart {
    pub(super) division: Division,
    pub(super) outcome: Outcome,
    pub(super) layouts: Layouts,
    /// The metrics that were requested without a gate.
    shown: BTreeSet<String>,
    /// For each metric of the outcome, what its JSON does not have.
    details: Vec<Details>,
    /// What the user should know, as sentences.
    pub(super) notices: Vec<(Weight, String)>,
}

/// What the JSON of a metric does not have.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize)]
struct Details {
    pairs: u64,
    pairs_before: u64,
    shared_by: usize,
    alarm_among: usize,
}

impl OwnPart {
    /// The part of a machine. `text` words a notice; those about the tables, and those that follow
    /// from the results of all machines, are not included.
    pub fn new(outcome: &Outcome, division: &Division, text: impl Fn(&Notice) -> String) -> Self {
        let details = outcome.metrics().map(|(_, metric)| Details {
            pairs: metric.summary.pairs,
            pairs_before: metric.before.map_or(0, |before| before.summary.pairs),
            shared_by: metric.shared_by,
            alarm_among: metric.alarm_among,
        });
        let is_own = |notice: &&Notice| {
            let follows = matches!(notice, Notice::Unaffected { .. } | Notice::Removed(_));
            !follows && !notice.is_about_settings()
        };
        let notices = outcome.notices.iter().filter(is_own);
        OwnPart {
            division: division.clone(),
            layouts: outcome.policy.layouts,
            shown: outcome.benchmarks.iter().flat_map(|one| one.shown.iter().cloned()).collect(),
            details: details.collect(),
            notices: notices.map(|notice| (notice.weight(), text(notice))).collect(),
            outcome: outcome.clone(),
        }
    }

    /// The results of the machine, as they were.
    pub(super) fn results(&self) -> Vec<BenchmarkResult> {
        let mut results = self.outcome.benchmarks.clone();
        let metrics = results.iter_mut().flat_map(|one| &mut one.metrics);
        for (metric, details) in metrics.zip(&self.details) {
            metric.summary.pairs = details.pairs;
            metric.shared_by = details.shared_by;
            metric.alarm_among = details.alarm_among;
            if let Some(before) = &mut metric.before {
                before.summary.pairs = details.pairs_before;
            }
        }
        results.iter_mut().for_each(|one| one.shown = self.shown.iter().cloned().collect());
        results
    }
}
