//! Samples as a Vega-Lite specification, as the original cbdr makes it: the density of each
//! metric, a colour for each label, and the data itself.

use cargo_cbdr::model::metric::{Metric, Unit};
use cargo_cbdr::samples::Recording;
use serde_json::{Value, json};

pub(crate) fn specification(recording: &Recording, metrics: &[Metric]) -> Value {
    let mut rows = Vec::new();
    for (number, label) in recording.labels().enumerate() {
        let columns: Vec<Vec<Option<f64>>> =
            metrics.iter().map(|m| recording.values(number, &m.name).collect()).collect();
        for row in 0..columns.first().map_or(0, Vec::len) {
            let mut object = json!({ "benchmark": label });
            for (metric, column) in metrics.iter().zip(&columns) {
                if let Some(value) = column[row] {
                    object[&metric.name] = json!(value);
                }
            }
            rows.push(object);
        }
    }
    let charts: Vec<Value> = metrics.iter().map(chart).collect();
    json!({
        "$schema": "https://vega.github.io/schema/vega-lite/v5.json",
        "data": { "values": rows },
        "vconcat": charts,
    })
}

fn chart(metric: &Metric) -> Value {
    let field = field(&metric.name);
    let title = match &metric.unit {
        Unit::Unknown => metric.name.clone(),
        unit => format!("{} ({unit})", metric.name),
    };
    json!({
        "title": metric.name,
        "width": 640,
        "height": 180,
        "transform": [
            { "filter": { "field": field, "valid": true } },
            { "density": field, "groupby": ["benchmark"], "steps": 400 },
        ],
        "mark": { "type": "area", "opacity": 0.5 },
        "encoding": {
            "x": {
                "field": "value",
                "type": "quantitative",
                "title": title,
                "scale": { "zero": false },
            },
            "y": { "field": "density", "type": "quantitative", "stack": null },
            "color": { "field": "benchmark", "type": "nominal" },
        },
    })
}

/// The name of a field, with the characters escaped that would make it a path.
fn field(name: &str) -> String {
    let is_special = |c: &char| matches!(c, '.' | '[' | ']' | '\\' | '\'' | '"');
    name.chars()
        .flat_map(|c| Some('\\').filter(|_| is_special(&c)).into_iter().chain([c]))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use cargo_cbdr::model::metric::Units;

    #[test]
    fn rows_hold_what_was_measured_and_fields_are_no_paths() {
        let mut recording = Recording::new(None, Units::new());
        let text = "benchmark,wall_time,a.b[0]\nbase,1,\nhead,2,3\n";
        recording.read(&mut text.as_bytes(), "it").unwrap();
        let value = specification(&recording, recording.metrics());
        let rows = json!([
            { "benchmark": "base", "wall_time": 1.0 },
            { "benchmark": "head", "wall_time": 2.0, "a.b[0]": 3.0 },
        ]);
        assert_eq!(value["data"]["values"], rows);
        assert_eq!(value["vconcat"][1]["transform"][1]["density"], "a\\.b\\[0\\]");
        assert_eq!(value["vconcat"][0]["encoding"]["x"]["title"], "wall_time (s)");
    }
}
