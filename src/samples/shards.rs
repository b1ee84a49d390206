//! One verdict from the shards of several machines.
//!
//! First, it checks that the shards belong to one comparison: the same two programs
//! and settings, each shard once, besides what a stopped start of its task has measured. If each
//! has measured benchmarks of its own, their results are [joined](super::divided). Otherwise the
//! pairs go to the same [`MetricTest`] as in a comparison on one machine, in the order and with the
//! weights of [`machines`](crate::stats::machines).

use serde_json::{Value, json};

use super::companion::{BenchmarkGate, Companion};
use super::divided::join;
use super::error::{failure, no_rows};
use super::labels::RecordedPairs;
use super::recording::Recording;
use super::shard_part::ShardPart;
use crate::engine::family::{likeliest, step_down};
use crate::engine::remarks::remarks;
use crate::engine::test::{MetricTest, estimator};
use crate::error::Error;
use crate::model::{
    BenchmarkResult, Estimator, Gate, Method, Metric, MetricResult, Notice, Outcome, Pair,
    Revision, Shard, Side, Status, StoppedBy, Summary, Verdict, Weight,
};
use crate::settings::error::list;
use crate::stats::estimator::{Levels, Running};
use crate::stats::family::Family;
use crate::stats::machines::{in_turn, weights};

/// Tests each metric of each benchmark by the pairs of all shards.
///
/// # Errors
/// If the shards do not form one comparison.
pub fn combine(mut parts: Vec<ShardPart>, allow_missing: bool) -> Result<Outcome, Error> {
    parts.sort_by_key(|part| part.shard.shard);
    let left_out = leave_out_old(&mut parts);
    let Some(first) = parts.first() else { return Err(no_rows("there is no file")) };
    let nothing = nothing(&parts)?;
    check_alike(first, &parts)?;
    let of = first.shard.shard.of;
    let is_missing = |number: &u64| parts.iter().all(|part| part.shard.shard.number != *number);
    let missing: Vec<u64> = (1..=of).filter(is_missing).collect();
    if !missing.is_empty() && !allow_missing {
        let all = first.companion.own.iter().flat_map(|own| &own.division.benchmarks);
        let lost = all.filter(|one| missing.contains(&one.shard));
        let lost: Vec<&str> = lost.map(|one| one.benchmark.as_str()).collect();
        return Err(failure(
            format!(
                "{} of {of} {} missing{}",
                Shard::listed(&missing),
                if missing.len() == 1 { "is" } else { "are" },
                with_them(&lost)
            ),
            "find out why those machines failed and run them again, or add `--allow-missing`; an \
             interrupted run leaves FILE.csv.partial, which counts if you name it or its folder",
        ));
    }
    let mut outcome = match nothing {
        Some(stopped_by) => Outcome {
            verdict: stopped_by.without_runs(),
            policy: first.companion.policy(),
            stopped_by,
            rows: Some(0),
            ..Outcome::default()
        },
        None => {
            parts.iter().try_for_each(check_rows)?;
            check_copies(&parts)?;
            let own = parts.iter().map(|part| Some((part, part.companion.own.as_ref()?)));
            match own.collect::<Option<Vec<_>>>() {
                Some(own) => join(&own, &missing),
                None => judge(&parts, &first.companion),
            }
        }
    };
    outcome.removed = first.companion.removed.clone();
    outcome.selecting.clone_from(&first.companion.selecting);
    let mut notices = Vec::new();
    if !missing.is_empty() {
        notices.push(Notice::MissingShards { numbers: missing });
    }
    let sentences = first.companion.settings_notices.iter();
    notices.extend(sentences.map(|text| Notice::OfShards { text: text.clone() }));
    if !outcome.removed.is_empty() {
        notices.push(Notice::Removed(outcome.removed.clone()));
    }
    notices.extend(left_out);
    outcome.notices.splice(0..0, notices);
    Ok(outcome)
}

/// Leaves out what an earlier start of a task has measured: of other commits, or of benchmarks that
/// a later start has measured again. Returns a notice about each.
fn leave_out_old(parts: &mut Vec<ShardPart>) -> Vec<Notice> {
    let commits = |part: &ShardPart| {
        let Companion { base, head, .. } = &part.companion;
        [base, head].map(|side| (side.commit.clone(), side.tree.clone()))
    };
    let finished = parts.iter().find(|part| !part.is_stopped()).map(commits);
    let is_other =
        |part: &ShardPart| finished.as_ref().is_some_and(|finished| *finished != commits(part));
    let mut notices = Vec::new();
    let mut kept: Vec<ShardPart> = Vec::new();
    let mut leave_out = |part: &ShardPart, why: &str| {
        let text = format!("{} is left out: {why}", part.file);
        notices.push(Notice::OfShard { text, weight: Weight::Warning });
    };
    for part in parts.drain(..) {
        if part.is_stopped() && is_other(&part) {
            leave_out(&part, "its run was interrupted, and compared other commits");
            continue;
        }
        let is_again = |known: &ShardPart| {
            let is_own = known.companion.own.is_some() && part.companion.own.is_some();
            known.shard.shard == part.shard.shard && is_own
        };
        match kept.last_mut().filter(|known| is_again(known)) {
            Some(known) if known.is_stopped() => {
                leave_out(known, "a later run measured its benchmarks again");
                *known = part;
            }
            Some(_) if part.is_stopped() => {
                leave_out(&part, "a later run measured its benchmarks again")
            }
            _ => kept.push(part),
        }
    }
    *parts = kept;
    notices
}

/// What must be equal in all shards, and where it is in their companions, in the order in which it
/// is checked.
pub(super) const SHARED: [(&str, &str); 17] = [
    ("numbers of shards", "/shard/of"),
    ("base commits", "/base/commit"),
    ("base trees", "/base/tree"),
    ("head commits", "/head/commit"),
    ("head trees", "/head/tree"),
    ("toolchains", "/toolchain"),
    ("benchmarks or options", "/programs"),
    ("estimators", "/estimator"),
    ("confidences", "/confidence"),
    ("divisions of the benchmarks, or thresholds", "/own/division/benchmarks"),
    ("divisions of the benchmarks, or thresholds", "/own/division/suite"),
    ("metrics or thresholds", "/gates"),
    ("units", "/units"),
    ("values of `layouts`", "/own/layouts"),
    ("values of `fail-on`", "/fail_on"),
    ("removed benchmarks or metrics", "/removed"),
    ("notices of the tables", "/told"),
];

/// A companion with what must be equal in all shards.
fn shared(companion: &Companion) -> Value {
    let mut value = json!(companion);
    if companion.own.is_some() {
        // Each machine has those of its own benchmarks; together they are in the division.
        (value["gates"], value["units"]) = (Value::Null, Value::Null);
    }
    value
}

/// The hint where two files are parts of the same samples.
const ONCE: &str = "name each shard's file once";

/// `; not measured: `a`, `b` and 3 more`.
fn with_them(benchmarks: &[&str]) -> String {
    const NAMED: usize = 5;
    let named = list(benchmarks.iter().take(NAMED));
    match benchmarks.len().saturating_sub(NAMED) {
        _ if benchmarks.is_empty() => String::new(),
        0 => format!("; not measured: {named}"),
        more => format!("; not measured: {named} and {more} more"),
    }
}

/// Checks that the shards belong to one comparison, each of them once.
fn check_alike(first: &ShardPart, parts: &[ShardPart]) -> Result<(), Error> {
    let here = shared(&first.companion);
    for part in &parts[1..] {
        let differ = |what: &str, [here, there]: [String; 2]| {
            Err(failure(
                format!(
                    "{} and {} have different {what}: {here} and {there}",
                    first.file, part.file
                ),
                "remove the files of other runs; if there are none, use the same commits, \
                 toolchain, configuration and options on every machine",
            ))
        };
        let there = shared(&part.companion);
        for (what, place) in SHARED {
            let values = [&here, &there].map(|of| of.pointer(place).unwrap_or(&Value::Null));
            if values[0] != values[1] {
                let text = |value: &Value| match value {
                    Value::Null => "none".to_owned(),
                    Value::String(text) => text.clone(),
                    value => value.to_string(),
                };
                return differ(what, values.map(text));
            }
        }
        let exact = [first, part].map(|part| {
            let values = part.companion.exact.iter().map(|of| {
                let Summary { base, head, .. } = of.result.summary;
                (&of.benchmark, &of.result.name, base, head)
            });
            values.collect::<Vec<_>>()
        });
        if first.nothing().is_none() && exact[0] != exact[1] {
            return differ("programs", exact.map(|values| format!("{values:?}")));
        }
    }
    let finished: Vec<&ShardPart> = parts.iter().filter(|part| !part.is_stopped()).collect();
    for two in finished.windows(2) {
        if two[0].shard.shard == two[1].shard.shard {
            let [one, other] = [&two[0].file, &two[1].file];
            let what = format!("{one} and {other} are both shard {}", two[0].shard.shard);
            return Err(failure(what, ONCE));
        }
    }
    Ok(())
}

/// Checks that no two shards have the same samples.
fn check_copies(parts: &[ShardPart]) -> Result<(), Error> {
    for (number, part) in parts.iter().enumerate() {
        for other in &parts[..number] {
            let has_rows = part.companion.rows > 0;
            let same = has_rows && part.recording.holds_the_rows_of(&other.recording);
            let is_again =
                part.shard.shard == other.shard.shard && (part.is_stopped() || other.is_stopped());
            if (part.shard.seed == other.shard.seed && !is_again) || same {
                let what = format!(
                    "{} and {} contain the same samples, or were made with the same seed",
                    other.file, part.file
                );
                return Err(failure(what, ONCE));
            }
        }
    }
    Ok(())
}

/// Why none of the shards measured anything; an error if only some did not.
fn nothing(parts: &[ShardPart]) -> Result<Option<StoppedBy>, Error> {
    let first = parts.first().and_then(ShardPart::nothing);
    if parts.iter().all(|part| part.nothing() == first) {
        return Ok(first);
    }
    let idle = parts.iter().find_map(|part| Some((part, part.nothing()?)));
    let error = |(of, why): (&ShardPart, _)| {
        let what = format!("{} has no samples ({why}), but others have", of.file);
        let hint =
            "remove the files of other runs; if there are none, add `--always-run` to `compare`";
        Err(failure(what, hint))
    };
    idle.map_or(Ok(None), error)
}

/// Checks that all rows of a shard exist, and that they form pairs.
fn check_rows(part: &ShardPart) -> Result<(), Error> {
    let (found, measured) = (part.recording.rows(), part.companion.rows);
    let file = &part.file;
    let what = match part.recording.unpaired() {
        _ if found != measured => format!("{file} has {found} rows, but {measured} were measured"),
        Some(benchmark) => format!("the rows of {benchmark} in {file} do not form pairs"),
        None => return Ok(()),
    };
    Err(failure(what, "the file is not as it was written: download it again"))
}

fn judge(parts: &[ShardPart], companion: &Companion) -> Outcome {
    let policy = companion.policy();
    let mut family = Family::new(policy.confidence, companion.gates.len());
    let mut benchmarks: Vec<BenchmarkResult> = Vec::new();
    // The metrics that are sampled, each with the number of its benchmark.
    let mut tested: Vec<(usize, TestedMetric)> = Vec::new();
    for BenchmarkGate { benchmark, .. } in &companion.gates {
        if benchmarks.iter().all(|known| known.name != *benchmark) {
            let (result, metrics) = tested_metrics(parts, benchmark, companion, family.levels());
            tested.extend(metrics.into_iter().map(|metric| (benchmarks.len(), metric)));
            benchmarks.push(result);
        }
    }
    step_down(&mut family, &mut tested.iter_mut().map(|(_, it)| &mut it.test).collect::<Vec<_>>());
    family.weigh(0.0, tested.iter().map(|(_, it)| it.test.evidence()).sum());
    let named = tested.iter().map(|(of, it)| (benchmarks[*of].name.as_str(), &it.test));
    let likely_slower = likeliest(&family, named).map(str::to_owned);
    tested.iter().for_each(|(of, metric)| benchmarks[*of].metrics.push(metric.end()));
    for exact in &companion.exact {
        let known = benchmarks.iter().position(|known| known.name == exact.benchmark);
        let at = known.unwrap_or_else(|| {
            benchmarks.push(empty(&exact.benchmark, companion));
            benchmarks.len() - 1
        });
        benchmarks[at].metrics.push(exact.result.clone());
    }
    let verdict = Verdict::of_benchmarks(&benchmarks, likely_slower.as_deref());
    let is_open = verdict == Verdict::Inconclusive;
    let stopped_by = if is_open { StoppedBy::MaxPairs } else { StoppedBy::Verdict };
    Outcome {
        verdict: Some(verdict),
        policy,
        stopped_by,
        rows: Some(parts.iter().map(|part| part.companion.rows).sum()),
        notices: remarks(&benchmarks),
        benchmarks,
        likely_slower,
        ..Outcome::default()
    }
}

/// The result of a benchmark without any metric. Its sides are called as in the comparison.
fn empty(name: &str, Companion { base, head, .. }: &Companion) -> BenchmarkResult {
    BenchmarkResult {
        labels: Some(Pair { base, head }.map(|side| format!("{name}/{}", called(side)))),
        method: Some(Method::Sequential),
        ..BenchmarkResult::new(name, Status::Compared)
    }
}

/// What a revision was called, in short if that was its commit.
fn called(revision: &Revision) -> String {
    match revision.rev == revision.commit {
        true => revision.commit.chars().take(9).collect(),
        false => revision.rev.clone(),
    }
}

/// The result of a benchmark, still without metrics, and the tests of these.
fn tested_metrics(
    parts: &[ShardPart],
    name: &str,
    companion: &Companion,
    levels: Levels,
) -> (BenchmarkResult, Vec<TestedMetric>) {
    let (mut result, mut metrics) = (empty(name, companion), Vec::new());
    let recordings = parts.iter().map(|part| &part.recording);
    let recorded: Vec<_> = recordings.filter_map(|of| Some((of, of.comparison(name)?))).collect();
    result.pairs = recorded.iter().map(|(_, comparison)| comparison.pairs.len() as u64).sum();
    let Some((recording, _)) = recorded.first() else {
        result.status = Status::NotMeasured;
        return (result, metrics);
    };
    for metric in recording.metrics() {
        let pairs = |(recording, comparison): &(&Recording, &RecordedPairs)| {
            recording.pairs(comparison, &metric.name).collect()
        };
        let machines: Machines = recorded.iter().map(pairs).collect();
        let mut gates = companion.gates.iter().filter(|of| of.benchmark == name);
        let gate = gates.find(|of| of.gate.metric == metric.name).map(|of| &of.gate);
        metrics.push(TestedMetric::new(metric, gate, &machines, companion.estimator, levels));
    }
    (result, metrics)
}

/// The pairs of a metric on each machine, each with the side that came first.
type Machines = Vec<Vec<(Side, Pair<f64>)>>;

/// One metric, up to its verdict or its last pair.
struct TestedMetric {
    test: MetricTest,
    /// Weighted pairs are not in the metric's unit, so the estimates use plain ones.
    plain: Running,
    mean: Running,
}

impl TestedMetric {
    fn new(
        metric: &Metric,
        gate: Option<&Gate>,
        machines: &Machines,
        asked: Estimator,
        levels: Levels,
    ) -> Self {
        let values = |pairs: &Vec<(Side, Pair<f64>)>| -> Vec<(f64, f64)> {
            pairs.iter().map(|(_, pair)| (pair.base, pair.head)).collect()
        };
        let factors = weights(&machines.iter().map(values).collect::<Vec<_>>());
        let counts: Vec<usize> = machines.iter().map(Vec::len).collect();
        let mut test = MetricTest::new(metric.clone(), gate, asked, levels);
        let direction = metric.better;
        let mut plain = Running::new(estimator(metric, asked), direction, levels);
        let mut mean = Running::new(Estimator::Mean, direction, levels);
        for (machine, number) in in_turn(&counts) {
            let (first, pair) = machines[machine][number];
            let factor = factors[machine];
            test.push(factor * pair.base, factor * pair.head, first);
            plain.push(pair.base, pair.head);
            mean.push(pair.base, pair.head);
            if gate.is_some() && !test.is_open() {
                break;
            }
        }
        TestedMetric { test, plain, mean }
    }

    fn end(&self) -> MetricResult {
        let in_unit = |summary: Summary, plain: &Running| {
            let Summary { base, head, .. } = plain.summary();
            Summary { base, head, ..summary }
        };
        let result = self.test.end();
        MetricResult {
            summary: in_unit(result.summary, &self.plain),
            mean: result.mean.map(|summary| in_unit(summary, &self.mean)),
            // Findings about noise are about one machine: its own report has them.
            findings: Vec::new(),
            ..result
        }
    }
}

#[cfg(test)]
mod tests;
