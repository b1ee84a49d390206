//! github-action-benchmark's custom format: a list of values that all have the
//! same better direction, which is set in the workflow.

use cargo_cbdr::model::{Better, Outcome};
use serde_json::{Value, json};

use super::readable::ResultRow;

pub(super) fn value(outcome: &Outcome, better: Better) -> Value {
    let metrics = outcome.metrics().filter(|(_, result)| result.better == better);
    let entries = metrics.filter_map(|(benchmark, result)| {
        Some(json!({
            "name": format!("{}: {}", benchmark.name, result.name),
            "unit": result.unit.symbol(),
            "value": result.summary.head?,
            "extra": ResultRow::of(benchmark, result).sentence().replace('`', ""),
        }))
    });
    entries.collect()
}
