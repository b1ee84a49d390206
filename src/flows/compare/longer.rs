//! The last part of a comparison: longer runs of what has not regressed.

use std::time::Duration;

use super::sampling::sample_stages;
use super::session::Session;
use crate::engine::longer::{self, Shown, replace};
use crate::engine::{Event, Plan};
use crate::error::Error;
use crate::model::{AtLength, BenchmarkId, BenchmarkResult, Notice, Remark, Sampled, Verdict};

/// Tests with runs of the length `longest` what has not regressed in those of the comparison
/// `short`, which began at the time `began`, and replaces the results that do not hold there.
/// Returns all but these, with the time since `began`; `None` if there is nothing to test.
pub(super) fn sample(
    session: &mut Session<'_, '_>,
    short: &Plan,
    benchmarks: &mut [BenchmarkResult],
    longest: Duration,
    began: f64,
) -> Result<Option<Sampled>, Error> {
    let Some(mut plan) = longer::plan(short, benchmarks, longest) else {
        return Ok(None);
    };
    let spent = Duration::from_secs_f64(session.seconds() - began);
    plan.time_limit = short.time_limit.saturating_sub(spent);
    session.reporter.event(Event::Longer(&plan));
    let (stages, stopped_by) = sample_stages(session, &plan)?;
    let (experiment, elapsed) = (stages.as_built(), session.seconds() - began);
    let Sampled { benchmarks: longer, likely_slower, .. } = experiment.finish(stopped_by);
    let mut too_few = Vec::new();
    for (id, (result, long)) in benchmarks.iter_mut().zip(longer).enumerate() {
        let shown = experiment.gating(BenchmarkId(id));
        let shown: Vec<(&str, Shown)> =
            shown.map(|(test, gate)| (gate.metric.as_str(), Shown::by(test))).collect();
        let of = |which| shown.iter().filter(move |(_, shown)| *shown == which);
        let passed = |metric: &str| {
            let metric = result.metrics.iter().find(|one| one.name == metric);
            metric.is_some_and(|metric| metric.verdict == Some(Verdict::NoRegression))
        };
        if of(Shown::TooFew).any(|(metric, _)| passed(metric)) {
            too_few.push(long.name.clone());
        }
        let worse: Vec<&str> = of(Shown::Worse).map(|(metric, _)| *metric).collect();
        for notice in worse.iter().filter_map(|metric| differs(metric, result, &long)) {
            session.reporter.notice(notice);
        }
        replace(result, long, &worse);
    }
    if let (Some(example), count) = (too_few.first().cloned(), too_few.len()) {
        let length = longest.as_secs_f64();
        session.reporter.notice(Notice::OnlyShort { benchmarks: count, example, length });
    }
    Ok(Some(Sampled { elapsed, likely_slower, ..Sampled::nothing(stopped_by) }))
}

/// A notice about a metric that differs between short and long runs.
fn differs(metric: &str, short: &BenchmarkResult, long: &BenchmarkResult) -> Option<Notice> {
    let at = |result: &BenchmarkResult| {
        let found = result.metrics.iter().find(|one| one.name == metric)?;
        let seconds = result.measurement_time?;
        Some((AtLength { seconds, change: found.summary.change }, found.verdict?))
    };
    let (benchmark, pairs) = (long.name.clone(), long.pairs);
    let ((short, _), (long, verdict)) = (at(short)?, at(long)?);
    let metric = metric.to_owned();
    let remark = Remark::Longer { short, long, pairs, verdict };
    Some(Notice::Metric { benchmark, metric, remark })
}
