//! Bencher's metric format: benchmark, measure, value. Every metric of the
//! head is a measure in its unit, and its change one with bounds.

use cargo_cbdr::model::outcome::Outcome;
use serde_json::{Map, Value, json};

pub(super) fn value(outcome: &Outcome) -> Value {
    let mut benchmarks = Map::new();
    for (benchmark, result) in outcome.metrics() {
        let summary = &result.summary;
        let measures = benchmarks.entry(&benchmark.name).or_insert_with(|| json!({}));
        if let Some(head) = summary.head {
            measures[&result.name] = json!({ "value": head });
        }
        if let Some(change) = summary.change {
            let mut measure = json!({ "value": change });
            for (name, end) in [("lower_value", summary.lower), ("upper_value", summary.upper)] {
                if let Some(end) = end.filter(|end| end.is_finite()) {
                    measure[name] = json!(end);
                }
            }
            measures[format!("{}_change", result.name)] = measure;
        }
    }
    Value::Object(benchmarks)
}
