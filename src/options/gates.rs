//! Which metrics gate, and with which threshold.

use std::collections::BTreeMap;

use super::Error;
use super::values::threshold;
use crate::config::Table;
use crate::metric::DEFAULT_METRIC;

/// The metrics that gate, each with its threshold.
///
/// # Errors
/// When a threshold is no percentage, or of a metric that does not gate.
pub fn gates(table: &Table) -> Result<Vec<(String, f64)>, Error> {
    let usual = threshold(table.threshold.as_deref().unwrap_or("2%"))?;
    let own = table.thresholds.clone().unwrap_or_default();
    let own: BTreeMap<_, _> = own
        .into_iter()
        .map(|(metric, text)| threshold(&text).map(|value| (metric, value)))
        .collect::<Result<_, _>>()?;
    let names = match table.metrics.clone().filter(|names| !names.is_empty()) {
        Some(names) => names,
        // A metric with a threshold of its own is meant to gate.
        None => std::iter::once(DEFAULT_METRIC.to_owned()).chain(own.keys().cloned()).collect(),
    };
    if let Some((stray, value)) = own.iter().find(|(metric, _)| !names.contains(metric)) {
        let value = format!("{stray}={}%", value * 100.0);
        let why = "this metric does not gate: name it in `metrics`, too".to_owned();
        return Err(Error::Bad { what: "threshold", value, why });
    }
    let mut gates: Vec<(String, f64)> = Vec::new();
    for name in names {
        if !gates.iter().any(|(known, _)| *known == name) {
            let value = own.get(&name).copied().unwrap_or(usual);
            gates.push((name, value));
        }
    }
    Ok(gates)
}

/// A threshold flag: `2%` for all metrics, `METRIC=5%` for one; into `table`.
///
/// # Errors
/// When a value is no percentage.
pub fn threshold_flag(text: &str, table: &mut Table) -> Result<(), Error> {
    match text.split_once('=') {
        Some((metric, value)) => {
            threshold(value)?;
            let own = table.thresholds.get_or_insert_default();
            own.insert(metric.trim().to_owned(), value.to_owned());
        }
        None => {
            threshold(text)?;
            table.threshold = Some(text.to_owned());
        }
    }
    Ok(())
}
