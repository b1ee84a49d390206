//! The last part of a comparison: longer runs of what has not regressed.

use std::time::Duration;

use super::session::{Session, run};
use crate::engine::event::Event;
use crate::engine::experiment::Experiment;
use crate::engine::longer::{self, Shown, passes, replace};
use crate::engine::plan::Plan;
use crate::error::Error;
use crate::model::notice::{AtLength, Notice, Remark};
use crate::model::outcome::{BenchmarkResult, Sampled, StoppedBy, Verdict};
use crate::model::row::BenchmarkId;

/// How long these runs may take, as a fraction of the time limit, in addition to what is left
/// of it.
const PART: f64 = 0.1;

impl Session<'_, '_> {
    /// Tests with longer runs what has not regressed in those of the comparison `short`, which
    /// began at the time `began`, and replaces the results that do not hold there. Returns why
    /// that stopped.
    pub(super) fn run_longer(
        &mut self,
        short: &Plan,
        began: f64,
        sampled: &mut Sampled,
    ) -> Result<StoppedBy, Error> {
        let Some(mut plan) = longer::plan(short, &sampled.benchmarks, self.longest) else {
            return Ok(StoppedBy::Verdict);
        };
        let spent = Duration::from_secs_f64(self.start.elapsed().as_secs_f64() - began);
        let left = short.time_limit.saturating_sub(spent);
        plan.time_limit = left.saturating_add(short.time_limit.mul_f64(PART));
        self.reporter.event(Event::Longer(&plan));
        let Session { programs, context, reporter, start, .. } = self;
        let clock = || start.elapsed().as_secs_f64();
        let mut experiment = Experiment::new(plan.clone(), clock());
        let stopped_by = run(
            &mut experiment,
            &clock,
            &mut |turn, progress| {
                let group = &plan.groups[turn.group];
                programs[group.program].measure(turn, group, progress, *context)
            },
            *reporter,
            &mut |_, experiment| experiment.set_aside(&|test, _| passes(test)),
        )?;
        sampled.elapsed = clock() - began;
        let over = experiment.finish(stopped_by);
        sampled.likely_slower = sampled.likely_slower.take().or(over.likely_slower);
        let mut too_few = Vec::new();
        for (id, long) in over.benchmarks.into_iter().enumerate() {
            let shown = experiment.gating(BenchmarkId(id));
            let shown = shown.map(|(test, gate)| (gate.metric.clone(), Shown::by(test)));
            let shown: Vec<(String, Shown)> = shown.collect();
            let worse = shown.iter().filter(|(_, shown)| *shown == Shown::Worse);
            let worse: Vec<&str> = worse.map(|(metric, _)| metric.as_str()).collect();
            let result = &mut sampled.benchmarks[id];
            let passed = |metric: &str| {
                let metric = result.metrics.iter().find(|one| one.name == metric);
                metric.is_some_and(|metric| metric.verdict == Some(Verdict::NoRegression))
            };
            if shown.iter().any(|(metric, shown)| *shown == Shown::TooFew && passed(metric)) {
                too_few.push(long.name.clone());
            }
            for notice in worse.iter().filter_map(|metric| differs(metric, result, &long)) {
                self.notice(notice);
            }
            replace(result, long, &worse);
        }
        if let (Some(example), benchmarks) = (too_few.first().cloned(), too_few.len()) {
            let length = self.longest.as_secs_f64();
            self.notice(Notice::OnlyShort { benchmarks, example, length });
        }
        Ok(stopped_by)
    }
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
