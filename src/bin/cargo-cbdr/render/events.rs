//! The events of a comparison as lines of JSON, for editors, agents and other programs.
//! `docs/outputs.md` describes them.

use std::collections::BTreeMap;

use cargo_cbdr::engine::event::Event;
use cargo_cbdr::engine::experiment::Progress;
use cargo_cbdr::model::layouts::Layouts;
use cargo_cbdr::model::notice::Notice;
use cargo_cbdr::model::outcome::Verdict;
use cargo_cbdr::model::revision::Sides;
use cargo_cbdr::model::row::Row;
use cargo_cbdr::model::side::Side;
use cargo_cbdr::samples::csv;
use serde::Serialize;

use super::json::print_line;
use crate::ui::grouped;

/// One line. Times are in seconds, changes are fractions: 0.02 is +2 %.
#[derive(Serialize)]
#[serde(tag = "reason", rename_all = "kebab-case")]
enum Line<'a> {
    /// The commits are known.
    Sides {
        #[serde(flatten)]
        sides: &'a Sides,
    },
    Waiting {
        holder: &'a str,
    },
    Fetching {
        what: &'a str,
        remote: &'a str,
    },
    CheckingOut {
        side: &'static str,
        commit: &'a str,
    },
    Building {
        side: &'static str,
        what: &'a str,
    },
    Fresh {
        side: &'static str,
        what: &'a str,
    },
    Prepared {
        seconds: f64,
    },
    WarmingUp {
        benchmark: &'a str,
    },
    Sampling {
        benchmarks: Vec<&'a str>,
        metrics: Vec<&'a str>,
        seed: u64,
        time_limit: f64,
        layouts: bool,
        longer: bool,
    },
    /// A pair of one benchmark.
    Pair {
        benchmark: &'a str,
        /// Its number, from 1.
        pair: u64,
        /// The side that went first.
        first: &'static str,
        base: BTreeMap<&'a str, f64>,
        head: BTreeMap<&'a str, f64>,
        elapsed_seconds: f64,
        layouts: bool,
        longer: bool,
    },
    /// A metric of a benchmark is decided.
    Verdict {
        benchmark: &'a str,
        metric: &'a str,
        verdict: Verdict,
        change: Option<f64>,
        lower: Option<f64>,
        upper: Option<f64>,
        pairs: u64,
        layouts: bool,
        longer: bool,
        /// Whether the verdict is final: a regression as built is tested again over layouts,
        /// and what passes in longer runs.
        #[serde(rename = "final")]
        is_final: bool,
    },
    Explaining {
        benchmark: &'a str,
    },
    Notice {
        text: String,
    },
}

/// Prints an event, if it is part of the format. If the reader is gone, the comparison
/// continues.
pub(crate) fn print(event: &Event<'_>) {
    match event {
        Event::Sides(sides) => line(&Line::Sides { sides }),
        Event::Fetching(what, remote) => line(&Line::Fetching { what, remote }),
        Event::Waiting(holder) => line(&Line::Waiting { holder }),
        Event::CheckingOut(side, revision) => {
            line(&Line::CheckingOut { side: side.name(), commit: &revision.commit });
        }
        Event::Building(side, what) => line(&Line::Building { side: side.name(), what }),
        Event::Fresh(side, what) => line(&Line::Fresh { side: side.name(), what }),
        Event::Prepared { seconds, .. } => line(&Line::Prepared { seconds: *seconds }),
        Event::WarmingUp(benchmark) => line(&Line::WarmingUp { benchmark }),
        Event::Sampling(plan) | Event::OverLayouts(plan) | Event::Longer(plan) => {
            line(&Line::Sampling {
                benchmarks: plan.benchmarks.iter().map(|one| one.name.as_str()).collect(),
                metrics: plan.metrics.iter().map(|metric| metric.name.as_str()).collect(),
                seed: plan.seed,
                time_limit: plan.time_limit.as_secs_f64(),
                layouts: plan.is_over_layouts,
                longer: plan.is_longer,
            })
        }
        Event::Pair { rows, progress } => print_pair(rows, progress),
        Event::Explaining { benchmark, .. } => line(&Line::Explaining { benchmark }),
        Event::Notice(notice) => line(&Line::Notice { text: grouped::text(notice) }),
        Event::Unlikely(unlikely) => {
            let notice = Notice::Unlikely((*unlikely).clone());
            line(&Line::Notice { text: grouped::text(&notice) });
        }
        Event::Diagnosing(_)
        | Event::OtherBuilds(..)
        | Event::AllMeasured { .. }
        | Event::Measured { .. }
        | Event::WarmUpRun { .. }
        | Event::Watching { .. }
        | Event::Linking { .. }
        | Event::Counting(..)
        | Event::Timing(_)
        | Event::TryingLengths { .. }
        | Event::Sampled(_)
        | Event::Rounds { .. }
        | Event::Round { .. } => {}
    }
}

fn print_pair(rows: &[Row], progress: &Progress<'_>) {
    let plan = progress.plan();
    let (layouts, longer) = (plan.is_over_layouts, plan.is_longer);
    let values = |row: &Row| {
        let names = plan.metrics.iter().map(|metric| metric.name.as_str());
        let cells = names.zip(csv::cells(plan, row));
        cells.filter_map(|(name, value)| Some((name, value?))).collect()
    };
    for (at, row) in rows.iter().enumerate().filter(|(_, row)| row.side == Side::Base) {
        let is_other = |other: &Row| other.benchmark == row.benchmark && other.side == Side::Head;
        let Some(other) = rows.iter().position(is_other) else { continue };
        let first = if at < other { Side::Base } else { Side::Head };
        let (benchmark, pair) = progress.pairs_of(row);
        line(&Line::Pair {
            benchmark,
            pair,
            first: first.name(),
            base: values(row),
            head: values(&rows[other]),
            elapsed_seconds: progress.elapsed(),
            layouts,
            longer,
        });
    }
    for (benchmark, metric) in progress.decided() {
        let Some(verdict) = metric.verdict else { continue };
        let is_asked_again = plan.layouts == Layouts::Auto && metric.depends_on_placement();
        line(&Line::Verdict {
            benchmark: &benchmark.name,
            metric: &metric.name,
            verdict,
            change: metric.summary.change,
            lower: metric.summary.lower,
            upper: metric.summary.upper,
            pairs: benchmark.pairs,
            layouts,
            longer,
            is_final: match verdict {
                Verdict::Regression => layouts || !is_asked_again,
                _ => !plan.may_be_longer(),
            },
        });
    }
}

fn line(line: &Line<'_>) {
    let _ = print_line(line);
}
