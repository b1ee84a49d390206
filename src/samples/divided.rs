//! One outcome from machines that have measured different benchmarks.
//!
//! Each test of a machine has a share of the comparison's error, `1/sharing`; those of all machines
//! are at most 1 together. With these shares as weights, the error of what is a regression is
//! passed on to the undecided tests of all machines (Holm 1979; `docs/statistics.md`). So what a
//! machine left open may be a regression, and what it decided stays as it is.

use std::collections::{BTreeMap, BTreeSet};

use super::companion::Companion;
use super::own_part::OwnPart;
use super::shard_part::ShardPart;
use crate::engine::layouts::combined;
use crate::engine::plan::Plan;
use crate::engine::suite::SuiteTest;
use crate::model::{
    AllottedBenchmark, BenchmarkResult, Better, Gate, Layouts, Limits, MetricResult, Notice,
    Outcome, Row, Shard, Side, Status, StoppedBy, Suite, SuitePairs, Summary, Verdict, Weight,
};
use crate::stats::estimator::TAIL;
use crate::stats::family::{Family, SharedTest, alarms};

/// The parts of all machines.
type Parts<'a> = &'a [(&'a ShardPart, &'a OwnPart)];

/// The outcome of all machines, of which there is at least one. The benchmarks of the `missing`
/// shards are not measured.
pub(super) fn join(parts: Parts<'_>, missing: &[u64]) -> Outcome {
    let (first, own) = parts[0];
    let mut benchmarks = all_results(parts, missing);
    let mut suite = suite(parts, &benchmarks, false);
    let as_built = test_again(parts, &benchmarks, &mut suite);
    step_down(parts, missing, &mut benchmarks, &mut suite.numbers);
    let likely_slower = likely_slower(parts, &benchmarks);
    let all = benchmarks.iter().chain(&suite.numbers);
    let verdict = Verdict::of_benchmarks(all, likely_slower.as_deref());
    let outcomes = || parts.iter().map(|(_, own)| &own.outcome);
    let longest =
        |seconds: fn(&Outcome) -> Option<f64>| outcomes().filter_map(seconds).reduce(f64::max);
    let mut policy = first.companion.policy();
    policy.layouts = own.layouts;
    policy.suite = own.division.suite;
    let mut notices: Vec<Notice> = unaffected(&benchmarks).into_iter().chain(as_built).collect();
    for (weight, text) in parts.iter().flat_map(|(_, own)| &own.notices) {
        let notice = Notice::OfShard { text: text.clone(), weight: *weight };
        if !notices.contains(&notice) {
            notices.push(notice);
        }
    }
    let (stopped_by, limits) = end(parts, &benchmarks, &suite.numbers, verdict);
    Outcome {
        verdict: Some(verdict),
        stopped_by,
        elapsed_seconds: longest(|one| one.elapsed_seconds),
        prepare_seconds: longest(|one| one.prepare_seconds),
        seed: own.outcome.seed.filter(|seed| outcomes().all(|one| one.seed == Some(*seed))),
        shard: Some(None),
        explanations: outcomes().flat_map(|one| one.explanations.clone()).collect(),
        limits,
        policy,
        benchmarks,
        suite: (!suite.numbers.is_empty()).then_some(suite),
        likely_slower,
        notices,
        ..own.outcome.clone()
    }
}

/// The results of all machines, in the order of one.
fn all_results(parts: Parts<'_>, missing: &[u64]) -> Vec<BenchmarkResult> {
    let mut all: BTreeMap<String, BenchmarkResult> = BTreeMap::new();
    for result in parts.iter().flat_map(|(_, own)| own.results()) {
        // All machines know the size of a program that only one of them has measured.
        let known = all.get(&result.name).map_or(0, |known| known.metrics.len() + 1);
        if result.metrics.len() + 1 > known {
            all.insert(result.name.clone(), result);
        }
    }
    let (ShardPart { companion, .. }, own) = parts[0];
    let allotted = &own.division.benchmarks;
    for AllottedBenchmark { benchmark, shard, .. } in allotted {
        // Also what a shard that is there does not report.
        if missing.contains(shard) || !all.contains_key(benchmark) {
            let result = BenchmarkResult::new(benchmark, Status::NotMeasured);
            all.entry(benchmark.clone()).or_insert(result).status = Status::NotMeasured;
        }
    }
    let places: BTreeMap<&str, usize> =
        allotted.iter().enumerate().map(|(place, one)| (one.benchmark.as_str(), place)).collect();
    let mut results: Vec<BenchmarkResult> = all.into_values().collect();
    results.sort_by_cached_key(|result| {
        let place = places.get(result.name.as_str()).copied();
        let program = place.map_or(&result.name, |place| &allotted[place].program);
        let is_of = |name: &String| {
            let rest = program.strip_prefix(name.as_str());
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        let number = companion.programs.iter().position(|one| is_of(&one.name));
        let class = match result.status {
            Status::Compared => 0,
            Status::Unaffected => 1,
            Status::NotMeasured => 2,
            Status::New | Status::Removed | Status::DifferentOutput => 3,
        };
        (number.unwrap_or(usize::MAX), class, place.unwrap_or(usize::MAX))
    });
    results
}

/// Tests what is a regression of the suite as built again, with the pairs over layouts of those
/// machines that have some, and says which have none.
fn test_again(
    parts: Parts<'_>,
    benchmarks: &[BenchmarkResult],
    as_built: &mut Suite,
) -> Option<Notice> {
    let is_again = |number: &BenchmarkResult| match parts[0].1.layouts {
        Layouts::Off => false,
        Layouts::Auto => number.has_regressed(),
        Layouts::Number(_) => number.metrics[0].gates,
    };
    let title = as_built.numbers.iter().find(|one| is_again(one))?.name.clone();
    let placing = parts.iter().find_map(|(_, of)| Some(of.division.over_layouts.first()?.placing));
    let aligned = benchmarks.iter().any(|one| one.aligned.is_some());
    let over = suite(parts, benchmarks, true).numbers;
    for (number, over) in as_built.numbers.iter_mut().zip(over).filter(|(one, _)| is_again(one)) {
        if let (Some(placing), metric) = (placing, &mut number.metrics[0]) {
            *metric = combined(metric, &over.metrics[0], placing, aligned);
        }
    }
    let none = parts.iter().filter(|(part, own)| {
        own.division.over_layouts.is_empty() && !part.companion.gates.is_empty()
    });
    let none: Vec<u64> = none.map(|(part, _)| part.shard.shard.number).collect();
    let text = format!("`{title}` is about the executables as built on {}", Shard::listed(&none));
    (!none.is_empty()).then_some(Notice::OfShard { text, weight: Weight::Note })
}

/// The numbers of the suite, from the pairs as built of all machines; if `over_layouts`, from those
/// over layouts of the machines that have some.
fn suite(parts: Parts<'_>, benchmarks: &[BenchmarkResult], over_layouts: bool) -> Suite {
    let (first, own) = parts[0];
    let Companion { confidence, estimator, .. } = first.companion;
    let mut plan = Plan::new(confidence, estimator, 0);
    plan.of_tests = Some(own.division.tests());
    let mut all = Vec::new();
    for (ShardPart { companion, recording, .. }, own) in parts {
        let gates = companion.gates.chunk_by(|one, other| one.benchmark == other.benchmark);
        // One of them has no pair, so that there is no round.
        if recording.comparisons().len() < gates.clone().count() {
            return Suite::default();
        }
        for gates in gates {
            let name = &gates[0].benchmark;
            let Some(recorded) = recording.comparison(name) else { return Suite::default() };
            let gates: Vec<Gate> = gates.iter().map(|one| one.gate.clone()).collect();
            plan.add_group(0, true, 0.0);
            let id = plan.add_benchmark(name, recording.metrics(), gates);
            let metrics = plan.benchmarks[id.0].gating().map(|(metric, of, _)| {
                let is_it = |one: &&SuitePairs| one.benchmark == *name && one.metric == of.name;
                let over = own.division.over_layouts.iter().filter(|_| over_layouts).find(is_it);
                let as_built = || recording.pairs(recorded, &of.name).map(|(_, pair)| pair);
                (metric, over.map_or_else(|| as_built().collect(), |over| over.pairs.clone()))
            });
            all.push((id, metrics.collect::<Vec<(_, Vec<_>)>>()));
        }
    }
    let is_unaffected = |one: &&BenchmarkResult| one.status == Status::Unaffected;
    let unaffected = benchmarks.iter().filter(is_unaffected).count();
    plan.add_suite(own.division.suite, unaffected);
    let mut tests: Vec<SuiteTest> =
        plan.suite.iter().map(|number| SuiteTest::new(&plan, number)).collect();
    let pairs = all.iter().flat_map(|(_, metrics)| metrics.iter().map(|(_, pairs)| pairs.len()));
    for pair in 0..pairs.min().unwrap_or(0) {
        // The last one first: until then, a test sees at once that a round is not complete.
        for (benchmark, metrics) in all.iter().rev() {
            let values = |side| metrics.iter().map(|(id, of)| (*id, of[pair][side])).collect();
            let row = |side| Row { benchmark: *benchmark, side, values: values(side) };
            let (base, head) = (row(Side::Base), row(Side::Head));
            for test in &mut tests {
                test.push(*benchmark, &base, &head);
            }
        }
    }
    let result = |test: &SuiteTest| {
        let mut result = test.result();
        // What is tested again is not a finding yet.
        if over_layouts || own.layouts == Layouts::Off {
            result.metrics[0].alarm_among = test.test().alarm_among(confidence);
        }
        result
    };
    let benchmarks = tests.iter().map(SuiteTest::benchmarks).max().unwrap_or(0);
    Suite { benchmarks, unaffected, numbers: tests.iter().map(result).collect() }
}

/// Passes the error of regressions on to the undecided tests of all machines. Those of the `missing`
/// shards keep their share, so that nothing that is found without them is lost with them.
fn step_down(
    parts: Parts<'_>,
    missing: &[u64],
    benchmarks: &mut [BenchmarkResult],
    suite: &mut [BenchmarkResult],
) {
    let mut shares: BTreeMap<(&str, &str), f64> = BTreeMap::new();
    for (part, own) in parts {
        for one in &part.companion.gates {
            let test = (one.benchmark.as_str(), one.gate.metric.as_str());
            shares.insert(test, 1.0 / own.division.sharing as f64);
        }
    }
    let of_suite = 1.0 / parts[0].1.division.tests() as f64;
    let numbers = suite.iter_mut().map(|number| (number, Some(of_suite)));
    let mut metrics = Vec::new();
    for (of, share) in benchmarks.iter_mut().map(|of| (of, None)).chain(numbers) {
        let BenchmarkResult { name, metrics: all, .. } = of;
        metrics.extend(all.iter_mut().filter(|metric| metric.gates).filter_map(|metric| {
            let known = shares.get(&(name.as_str(), metric.name.as_str())).copied();
            let share = share.or(known)?;
            Some((SharedTest { share, alarm_among: metric.alarm_among }, metric))
        }));
    }
    let mut tests: Vec<SharedTest> = metrics.iter().map(|(test, _)| *test).collect();
    let share = parts[0].1.division.share_of(missing);
    tests.push(SharedTest { share, alarm_among: 0 });
    for ((_, metric), among) in metrics.into_iter().zip(alarms(&tests)) {
        if let (Some(among), Some(Verdict::Inconclusive)) = (among, metric.verdict) {
            raise(metric, among);
        }
    }
}

/// Makes an undecided metric a regression. Its bound excludes the threshold at the new level; by
/// how much would take its pairs.
fn raise(metric: &mut MetricResult, shared_by: usize) {
    metric.verdict = Some(Verdict::Regression);
    metric.shared_by = shared_by;
    let mut limit = metric.threshold.unwrap_or(0.0);
    if let (Some(_), Some(mean)) = (metric.overruled, metric.mean) {
        metric.summary = Summary { pairs: metric.summary.pairs, ..mean };
        limit *= TAIL;
    }
    let limit = metric.better.limit(limit);
    let Summary { lower, upper, .. } = &mut metric.summary;
    match metric.better {
        Better::Higher => *upper = Some(upper.map_or(limit, |end| end.min(limit))),
        _ => *lower = Some(lower.map_or(limit, |end| end.max(limit))),
    }
}

/// See [`Outcome::likely_slower`].
fn likely_slower(parts: Parts<'_>, benchmarks: &[BenchmarkResult]) -> Option<String> {
    let gating = benchmarks.iter().flat_map(|of| &of.metrics).filter(|metric| metric.gates);
    if gating.count() == 1 || benchmarks.iter().any(BenchmarkResult::has_regressed) {
        return None;
    }
    let mut family = Family::new(parts[0].0.companion.confidence, 1);
    family.weigh(0.0, parts.iter().map(|(_, own)| own.division.evidence).sum());
    let open = benchmarks.iter().flat_map(|of| of.metrics.iter().map(move |metric| (of, metric)));
    let open = open.filter(|(_, metric)| metric.verdict == Some(Verdict::Inconclusive));
    let likeliest = open.max_by_key(|(_, metric)| metric.alarm_among);
    let likeliest = likeliest.filter(|_| family.is_slower()).map(|(one, _)| one.name.clone());
    likeliest.or_else(|| parts.iter().find_map(|(_, own)| own.outcome.likely_slower.clone()))
}

/// What ends the sampling of benchmarks with something undecided, the strongest last.
const ENDS: [StoppedBy; 3] = [StoppedBy::MaxPairs, StoppedBy::TimeLimit, StoppedBy::Interrupt];

/// Why sampling stopped: for the strongest reason of the machines with something undecided. The
/// limits are those of such a machine, since machines may have limits of their own.
fn end(
    parts: Parts<'_>,
    benchmarks: &[BenchmarkResult],
    suite: &[BenchmarkResult],
    verdict: Verdict,
) -> (StoppedBy, Limits) {
    let is_open = |one: &&BenchmarkResult| {
        let mut metrics = one.metrics.iter();
        one.status == Status::NotMeasured
            || metrics.any(|metric| metric.verdict == Some(Verdict::Inconclusive))
    };
    let open: BTreeSet<&str> =
        benchmarks.iter().filter(is_open).map(|one| one.name.as_str()).collect();
    // Every machine has measured a part of the suite.
    let is_suite_open = suite.iter().any(|number| is_open(&number));
    let has_open = |(part, own): &&(&ShardPart, &OwnPart)| {
        let is_its = |one: &AllottedBenchmark| one.shard == part.shard.shard.number;
        let mut its = own.division.benchmarks.iter().filter(|one| is_its(one));
        is_suite_open || its.any(|one| open.contains(one.benchmark.as_str()))
    };
    let end = |part: &ShardPart| (part.companion.stopped_by, part.companion.limits());
    let ends = parts.iter().filter(has_open).map(|(part, _)| end(part));
    let place = |stopped_by| ENDS.iter().position(|end| *end == stopped_by);
    let ends = ends.filter(|(stopped_by, _)| place(*stopped_by).is_some());
    let last = ends.max_by_key(|(stopped_by, limits)| (place(*stopped_by), limits.time));
    last.unwrap_or_else(|| {
        let limits = parts.iter().map(|(part, _)| part.companion.limits());
        // What was not measured had no time, or was lost with its machine.
        let is_open = verdict == Verdict::Inconclusive;
        let stopped_by = if is_open { StoppedBy::TimeLimit } else { StoppedBy::Verdict };
        (stopped_by, limits.max_by_key(|limits| limits.time).unwrap_or_default())
    })
}

/// The notice about benchmarks that the change does not affect.
fn unaffected(benchmarks: &[BenchmarkResult]) -> Option<Notice> {
    let is_compared = |one: &&BenchmarkResult| {
        !matches!(one.status, Status::New | Status::Removed)
            && one.metrics.iter().any(MetricResult::decides)
    };
    let unaffected = || benchmarks.iter().filter(|one| one.status == Status::Unaffected);
    let count = unaffected().count();
    let of = count + benchmarks.iter().filter(is_compared).count();
    let has_same_code = |one: &BenchmarkResult| {
        let functions = one.reason.as_ref().and_then(|reason| reason.functions);
        functions.is_none_or(|functions| functions.differ == 0)
    };
    let has_same_code = of == count && unaffected().all(has_same_code);
    (count > 0).then_some(Notice::Unaffected { benchmarks: count, of, has_same_code })
}

#[cfg(test)]
mod tests;
