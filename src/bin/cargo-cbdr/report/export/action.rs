//! github-action-benchmark's custom format: a list of values, all of them
//! better in one direction, which the tool's name in the workflow says.

use cargo_cbdr::model::metric::Better;
use serde_json::{Value, json};

use crate::report::outcome::{Outcome, sentence};

pub(super) fn value(outcome: &Outcome<'_>, better: Better) -> Value {
    let metrics = outcome.metrics().filter(|(_, result)| result.metric.better == better);
    let entries = metrics.filter_map(|(benchmark, result)| {
        Some(json!({
            "name": format!("{}: {}", benchmark.name, result.metric.name),
            "unit": result.metric.unit.symbol(),
            "value": result.summary.head?,
            "extra": sentence(benchmark, result).replace('`', ""),
        }))
    });
    entries.collect()
}
