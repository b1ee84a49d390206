//! The metrics that gate: thresholds, warning levels, waivers.

use std::collections::BTreeMap;
use std::time::SystemTime;

use super::Error;
use super::values::{percentage, threshold};
use crate::model::gate::{Gate, Waiver};
use crate::model::metric::DEFAULT_METRIC;
use crate::settings::table::Table;

/// The metrics that gate.
///
/// # Errors
/// When a threshold is no percentage, or of a metric that does not gate; when the
/// warning level is not below the thresholds.
pub fn gates(table: &Table) -> Result<Vec<Gate>, Error> {
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
    let warn = table.warn.as_deref().map(|text| percentage("warn", text)).transpose()?;
    let mut gates: Vec<Gate> = Vec::new();
    for name in names {
        if gates.iter().all(|gate| gate.metric != name) {
            let threshold = own.get(&name).copied().unwrap_or(usual);
            gates.push(Gate { warn, ..Gate::new(&name, threshold) });
        }
    }
    match (warn, gates.iter().find(|gate| warn >= Some(gate.threshold))) {
        (Some(_), Some(gate)) => {
            let value = table.warn.clone().unwrap_or_default();
            let why = format!("it has to be below the threshold of `{}`", gate.metric);
            Err(Error::Bad { what: "warn", value, why })
        }
        _ => Ok(gates),
    }
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

/// The waivers of a table that count on the day of `now`, and those that have
/// expired.
///
/// # Errors
/// When a ceiling is no percentage, a day no day, or a reason empty.
pub(super) fn waivers(table: &Table, now: SystemTime) -> Result<(Vec<Waiver>, Vec<Waiver>), Error> {
    let (mut valid, mut expired) = (Vec::new(), Vec::new());
    for given in table.waivers.iter().flatten() {
        let bad = |value: &str, why: &str| {
            let (value, why) = (value.to_owned(), why.to_owned());
            Error::Bad { what: "waiver", value, why }
        };
        if given.reason.trim().is_empty() {
            return Err(bad(&given.metric, "it says no reason"));
        }
        let end = humantime::parse_rfc3339(&format!("{}T23:59:59Z", given.expires));
        let end = end.map_err(|_| bad(&given.expires, "`expires` is a day: `2026-12-31`"))?;
        let waiver = Waiver {
            metric: given.metric.clone(),
            benchmark: given.benchmark.clone(),
            ceiling: percentage("ceiling", &given.ceiling)?,
            reason: given.reason.trim().to_owned(),
            expires: given.expires.clone(),
            issue: given.issue.clone(),
        };
        if now <= end { valid.push(waiver) } else { expired.push(waiver) }
    }
    Ok((valid, expired))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::table;

    fn waiver(ceiling: &str, expires: &str) -> table::Waiver {
        table::Waiver {
            metric: "wall_time".into(),
            benchmark: None,
            ceiling: ceiling.into(),
            reason: "a table that pays off later".into(),
            expires: expires.into(),
            issue: None,
        }
    }

    fn sorted(waivers: &[table::Waiver]) -> Result<(usize, usize), Error> {
        let table = Table { waivers: Some(waivers.to_vec()), ..Table::default() };
        // The last second of the day, and the first of the next.
        let (valid, expired) = super::waivers(&table, day("2026-11-21T23:59:59Z"))?;
        let (later, _) = super::waivers(&table, day("2026-11-22T00:00:01Z"))?;
        assert!(later.len() <= valid.len());
        Ok((valid.len() - later.len(), expired.len()))
    }

    fn day(text: &str) -> SystemTime {
        humantime::parse_rfc3339(text).unwrap()
    }

    #[test]
    fn a_waiver_counts_to_the_end_of_its_day() {
        let all =
            [waiver("5%", "2026-11-20"), waiver("5%", "2026-11-21"), waiver("5%", "2026-11-22")];
        assert_eq!(sorted(&all), Ok((1, 1)));
        for (ceiling, expires) in
            [("5", "2026-11-22"), ("5%", "soon"), ("5%", "2026-13-01"), ("-5%", "2026-11-22")]
        {
            assert!(sorted(&[waiver(ceiling, expires)]).is_err(), "{ceiling} {expires}");
        }
        let silent = table::Waiver { reason: " ".into(), ..waiver("5%", "2026-11-22") };
        assert!(sorted(&[silent]).is_err());
    }

    #[test]
    fn a_warning_comes_before_the_threshold() {
        let table = |warn: &str, threshold: &str| Table {
            warn: Some(warn.into()),
            threshold: Some(threshold.into()),
            ..Table::default()
        };
        let gates = super::gates(&table("1%", "2%")).unwrap();
        assert_eq!((gates[0].warn, gates[0].threshold), (Some(0.01), 0.02));
        for (warn, threshold) in [("2%", "2%"), ("3%", "2%"), ("1", "2%")] {
            assert!(super::gates(&table(warn, threshold)).is_err(), "{warn} {threshold}");
        }
    }
}
