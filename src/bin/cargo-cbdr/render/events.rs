//! The events of a comparison as lines of JSON, for editors, agents and other programs.
//! `docs/outputs.md` describes them.

use std::collections::BTreeMap;

use cargo_cbdr::engine::event::Event;
use cargo_cbdr::engine::experiment::Experiment;
use cargo_cbdr::model::{Layouts, Row, Side, Verdict};
use cargo_cbdr::samples::csv;
use serde_json::{Value, json};

use super::json::{EventLine, print_line};
use crate::ui::grouped;

/// Prints an event, if it is part of the format. If the reader is gone, the comparison
/// continues.
pub(crate) fn print(event: &Event<'_>) {
    let (reason, about) = match event {
        Event::Sides(sides) => ("sides", json!(sides)),
        Event::Fetching(what, remote) => ("fetching", json!({ "what": what, "remote": remote })),
        Event::Waiting(holder) => ("waiting", json!({ "holder": holder })),
        Event::CheckingOut(side, revision) => {
            ("checking-out", json!({ "side": side, "commit": revision.commit }))
        }
        Event::Building(side, what) => ("building", json!({ "side": side, "what": what })),
        Event::Fresh(side, what) => ("fresh", json!({ "side": side, "what": what })),
        Event::Prepared { seconds, .. } => ("prepared", json!({ "seconds": seconds })),
        Event::WarmingUp(benchmark) => ("warming-up", json!({ "benchmark": benchmark })),
        Event::Sampling(plan) | Event::OverLayouts(plan) | Event::Longer(plan) => {
            let benchmarks: Vec<&str> = plan.benchmarks.iter().map(|one| &*one.name).collect();
            let metrics: Vec<&str> = plan.metrics.iter().map(|metric| &*metric.name).collect();
            let about = json!({
                "benchmarks": benchmarks,
                "metrics": metrics,
                "seed": plan.seed,
                "time_limit": plan.time_limit.as_secs_f64(),
                "layouts": plan.is_over_layouts,
                "longer": plan.is_longer,
            });
            ("sampling", about)
        }
        Event::Pair { rows, progress } => return print_pair(rows, progress),
        Event::Explaining { benchmark, .. } => ("explaining", json!({ "benchmark": benchmark })),
        Event::Notice(notice) => ("notice", json!({ "text": grouped::text(notice) })),
        _ => return,
    };
    line(reason, about);
}

/// Prints the pairs of benchmarks that are complete, and the metrics that they decide.
fn print_pair(rows: &[Row], progress: &Experiment) {
    let plan = progress.plan();
    let values = |row: &Row| -> BTreeMap<&str, f64> {
        let names = plan.metrics.iter().map(|metric| metric.name.as_str());
        names.zip(csv::cells(plan, row)).filter_map(|(name, value)| Some((name, value?))).collect()
    };
    for (at, row) in rows.iter().enumerate().filter(|(_, row)| row.side == Side::Base) {
        let is_other = |other: &Row| other.benchmark == row.benchmark && other.side == Side::Head;
        let Some(other) = rows.iter().position(is_other) else { continue };
        let first = if at < other { Side::Base } else { Side::Head };
        let (benchmark, pair) = progress.pairs_of(row);
        let about = json!({
            "benchmark": benchmark,
            "pair": pair,
            "first": first,
            "base": values(row),
            "head": values(&rows[other]),
            "elapsed_seconds": progress.elapsed(),
            "layouts": plan.is_over_layouts,
            "longer": plan.is_longer,
        });
        line("pair", about);
    }
    for (benchmark, metric) in progress.decided() {
        // A regression as built is tested again over layouts, and what passes in longer runs.
        let is_final = match metric.verdict {
            Some(Verdict::Regression) => {
                let may_be_placement = metric.depends_on_placement();
                plan.is_over_layouts || plan.layouts != Layouts::Auto || !may_be_placement
            }
            Some(_) => !plan.may_be_longer(),
            None => continue,
        };
        let about = json!({
            "benchmark": benchmark.name,
            "metric": metric.name,
            "verdict": metric.verdict,
            "change": metric.summary.change,
            "lower": metric.summary.lower,
            "upper": metric.summary.upper,
            "pairs": benchmark.pairs,
            "layouts": plan.is_over_layouts,
            "longer": plan.is_longer,
            "final": is_final,
        });
        line("verdict", about);
    }
}

/// Prints a line. Times are in seconds, changes are fractions: 0.02 is +2 %.
fn line(reason: &'static str, about: Value) {
    let _ = print_line(&EventLine { reason, about });
}
