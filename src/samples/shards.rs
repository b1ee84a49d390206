//! The shards of several machines to one verdict.
//!
//! What may be one comparison is checked first: the same two programs, asked the
//! same questions, each part there once. Then the pairs are put to the same
//! [`Question`] as in a comparison on one machine, in the order and with the
//! weights of [`machines`](crate::stats::machines).

use super::error::{Error, Misfit};
use super::findings::{Branch, Findings, Method, Versus};
use super::recording::{Recorded, Recording};
use crate::engine::remarks::remarks;
use crate::engine::test::{Question, estimator};
use crate::model::estimator::Estimator;
use crate::model::gate::Gate;
use crate::model::metric::Metric;
use crate::model::notice::Notice;
use crate::model::outcome::{BenchmarkResult, MetricResult, Status, StoppedBy, Summary, Verdict};
use crate::model::shard::Shard;
use crate::model::side::{Pair, Side};
use crate::stats::estimator::{Levels, Running};
use crate::stats::machines::{in_turn, weights};

/// What one machine measured, and what is known of it.
#[derive(Debug)]
pub struct Part {
    /// The file, as it is called in messages.
    pub file: String,
    /// Which part it is.
    pub shard: Shard,
    /// The seed of its order.
    pub order: u64,
    /// Commits, compiler, programs, settings: what all parts must have alike, each
    /// with its name.
    pub alike: Vec<(&'static str, String)>,
    /// What decides, each with the name of its benchmark.
    pub gates: Vec<(String, Gate)>,
    /// What was known without a run, each with the name of its benchmark.
    pub exact: Vec<(String, MetricResult)>,
    /// What the branch changes of its own gate.
    pub branch: Branch,
    /// Why there was nothing to measure.
    pub nothing: Option<StoppedBy>,
    /// How many rows were written.
    pub rows: u64,
    /// The rows.
    pub recording: Recording,
}

/// How the parts are judged.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Judging {
    /// 1 minus the chance of a wrong verdict.
    pub confidence: f64,
    /// How a change is estimated.
    pub estimator: Estimator,
    /// Whether there is a verdict although parts are missing.
    pub allow_missing: bool,
}

/// Puts the pairs of all parts to one question for each metric of each benchmark.
///
/// # Errors
/// Where the parts do not make one comparison: see [`Misfit`].
pub fn combine(mut parts: Vec<Part>, judging: Judging) -> Result<Findings, Error> {
    parts.sort_by_key(|part| part.shard);
    let nothing = nothing(&parts)?;
    check_alike(&parts)?;
    let missing = missing(&parts);
    if !missing.is_empty() && !judging.allow_missing {
        let of = parts.first().map_or(0, |part| part.shard.of);
        return Err(Misfit::Missing { numbers: missing, of }.into());
    }
    let mut findings = match nothing {
        Some(nothing) => of_nothing(nothing, judging.estimator),
        None => {
            parts.iter().try_for_each(check_rows)?;
            check_copies(&parts)?;
            judge(&parts, judging)
        }
    };
    if let Some(first) = parts.into_iter().next() {
        findings.branch = first.branch;
    }
    let Branch { removed, told, .. } = &findings.branch;
    let told = told.iter().map(|text| Notice::Told { text: text.clone() });
    let removed = (!removed.is_empty()).then(|| Notice::Removed(removed.clone()));
    let missing = (!missing.is_empty()).then_some(Notice::MissingShards { numbers: missing });
    let first: Vec<Notice> = missing.into_iter().chain(told).chain(removed).collect();
    findings.notices.splice(0..0, first);
    Ok(findings)
}

/// That the parts are parts of one comparison, each of them once.
fn check_alike(parts: &[Part]) -> Result<(), Misfit> {
    let Some(first) = parts.first() else { return Ok(()) };
    for part in &parts[1..] {
        let differ = |what: &'static str, here: String, there: String| Misfit::Differ {
            what,
            files: [first.file.clone(), part.file.clone()],
            values: [here, there],
        };
        if part.shard.of != first.shard.of {
            let number = |part: &Part| part.shard.of.to_string();
            return Err(differ("numbers of shards", number(first), number(part)));
        }
        for ((what, here), (_, there)) in first.alike.iter().zip(&part.alike) {
            if here != there {
                return Err(differ(what, here.clone(), there.clone()));
            }
        }
        let exact = |part: &Part| -> Vec<(String, String, Option<f64>, Option<f64>)> {
            let gating = part.exact.iter().filter(|(_, result)| result.threshold.is_some());
            let values = |(name, result): &(String, MetricResult)| {
                let summary = result.summary;
                (name.clone(), result.metric.name.clone(), summary.base, summary.head)
            };
            gating.map(values).collect()
        };
        if part.nothing.is_none() && first.nothing.is_none() && exact(part) != exact(first) {
            let text = |part: &Part| format!("{:?}", exact(part));
            return Err(differ("programs", text(first), text(part)));
        }
    }
    for two in parts.windows(2) {
        if two[0].shard == two[1].shard {
            let files = [two[0].file.clone(), two[1].file.clone()];
            return Err(Misfit::Twice { shard: two[0].shard, files });
        }
    }
    Ok(())
}

/// That no part is another one by another name.
fn check_copies(parts: &[Part]) -> Result<(), Misfit> {
    for (number, part) in parts.iter().enumerate() {
        for other in &parts[..number] {
            let same = part.rows > 0 && part.recording.holds_the_rows_of(&other.recording);
            if part.order == other.order || same {
                let files = [other.file.clone(), part.file.clone()];
                return Err(Misfit::Copy { files });
            }
        }
    }
    Ok(())
}

/// The numbers of the parts that are not there.
fn missing(parts: &[Part]) -> Vec<u64> {
    let of = parts.first().map_or(0, |part| part.shard.of);
    (1..=of).filter(|number| parts.iter().all(|part| part.shard.number != *number)).collect()
}

/// Why none of them measured anything, if that is so: not true of some only.
fn nothing(parts: &[Part]) -> Result<Option<StoppedBy>, Misfit> {
    let first = parts.first().and_then(|part| part.nothing);
    match parts.iter().find(|part| part.nothing != first) {
        Some(other) => {
            let idle = parts.iter().find(|part| part.nothing.is_some()).unwrap_or(other);
            let why = idle.nothing.map_or("", StoppedBy::name);
            Err(Misfit::Nothing { file: idle.file.clone(), why })
        }
        None => Ok(first),
    }
}

fn of_nothing(stopped_by: StoppedBy, estimator: Estimator) -> Findings {
    let verdict = match stopped_by {
        StoppedBy::NoBaseline => Verdict::NoBaseline,
        _ => Verdict::Identical,
    };
    let (rows, versus, notices, branch) = (0, Vec::new(), Vec::new(), Branch::default());
    Findings { estimator, verdict: Some(verdict), stopped_by, rows, versus, branch, notices }
}

/// That a part's rows are all there, and pair.
fn check_rows(part: &Part) -> Result<(), Misfit> {
    let found = part.recording.rows();
    let file = || part.file.clone();
    if found != part.rows {
        return Err(Misfit::Rows { file: file(), found, measured: part.rows });
    }
    match part.recording.couples().iter().find(|couple| !couple.is_whole()) {
        Some(couple) => Err(Misfit::Unpaired { file: file(), benchmark: couple.name.clone() }),
        None => Ok(()),
    }
}

fn judge(parts: &[Part], judging: Judging) -> Findings {
    let mut versus: Vec<Versus> = Vec::new();
    let first = &parts[0];
    let levels = Levels::new(judging.confidence, first.gates.len());
    let mut names: Vec<&str> = Vec::new();
    for (name, _) in &first.gates {
        if !names.contains(&name.as_str()) {
            names.push(name);
        }
    }
    for name in names {
        let gates: Vec<&Gate> =
            first.gates.iter().filter(|(of, _)| of == name).map(|(_, gate)| gate).collect();
        versus.push(benchmark(parts, name, &gates, judging.estimator, levels));
    }
    for (name, result) in &first.exact {
        match versus.iter_mut().find(|versus| versus.result.name == *name) {
            Some(versus) => versus.add(result.clone()),
            None => {
                let mut own = empty(name);
                own.add(result.clone());
                versus.push(own);
            }
        }
    }
    let metrics = versus.iter().flat_map(|versus| &versus.result.metrics);
    let verdict = Verdict::overall(metrics.filter_map(|metric| metric.verdict));
    let open = verdict == Verdict::Inconclusive;
    Findings {
        estimator: judging.estimator,
        verdict: Some(verdict),
        stopped_by: if open { StoppedBy::MaxPairs } else { StoppedBy::Verdict },
        rows: parts.iter().map(|part| part.rows).sum(),
        notices: remarks(versus.iter().map(|versus| &versus.result)),
        branch: Branch::default(),
        versus,
    }
}

/// A benchmark of which nothing is said yet.
fn empty(name: &str) -> Versus {
    let result = BenchmarkResult {
        name: name.to_owned(),
        status: Status::Compared,
        pairs: 0,
        metrics: Vec::new(),
    };
    let labels = Pair::both(|side: Side| side.name().to_owned());
    Versus { labels, method: Method::Sequential, result, findings: Vec::new() }
}

impl Versus {
    fn add(&mut self, result: MetricResult) {
        self.result.metrics.push(result.clone());
        self.findings.push(result.into());
    }
}

/// The pairs of a metric on each machine, each with the side that was first.
type Machines = Vec<Vec<(Side, Pair<f64>)>>;

fn benchmark(
    parts: &[Part],
    name: &str,
    gates: &[&Gate],
    estimator: Estimator,
    levels: Levels,
) -> Versus {
    let mut versus = empty(name);
    let couples: Vec<(&Recording, &Recorded)> = parts
        .iter()
        .filter_map(|part| Some((&part.recording, part.recording.couple(name)?)))
        .collect();
    versus.result.pairs = couples.iter().map(|(_, couple)| couple.pairs.len() as u64).sum();
    if let Some((recording, couple)) = couples.first() {
        let names: Vec<&str> = recording.labels().collect();
        versus.labels = couple.labels.map(|number| names[number].to_owned());
    }
    let metrics = couples.first().map_or(&[][..], |(recording, _)| recording.metrics());
    for metric in metrics {
        let pairs = |(recording, couple): &(&Recording, &Recorded)| {
            recording.pairs(couple, &metric.name).collect()
        };
        let machines: Machines = couples.iter().map(pairs).collect();
        let gate = gates.iter().find(|gate| gate.metric == metric.name);
        versus.add(ask(metric, gate.copied(), &machines, estimator, levels));
    }
    versus
}

/// One metric, to its verdict or to its last pair.
fn ask(
    metric: &Metric,
    gate: Option<&Gate>,
    machines: &Machines,
    asked: Estimator,
    levels: Levels,
) -> MetricResult {
    let values = |pairs: &Vec<(Side, Pair<f64>)>| -> Vec<(f64, f64)> {
        pairs.iter().map(|(_, pair)| (pair.base, pair.head)).collect()
    };
    let factors = weights(&machines.iter().map(values).collect::<Vec<_>>());
    let counts: Vec<usize> = machines.iter().map(Vec::len).collect();
    let mut question = Question::new(metric.clone(), gate, asked, levels);
    let direction = metric.better;
    // What the pairs are in the metric's unit, which weighted ones are not.
    let mut plain = Running::new(estimator(metric, asked), direction, levels);
    let mut mean = Running::new(Estimator::Mean, direction, levels);
    for (machine, number) in in_turn(&counts) {
        let (first, pair) = machines[machine][number];
        let factor = factors[machine];
        question.push(factor * pair.base, factor * pair.head, first);
        plain.push(pair.base, pair.head);
        mean.push(pair.base, pair.head);
        if gate.is_some() && !question.is_open() {
            break;
        }
    }
    let in_unit = |summary: Summary, plain: &Running| {
        let Summary { base, head, .. } = plain.summary();
        Summary { base, head, ..summary }
    };
    let result = question.end();
    MetricResult {
        summary: in_unit(result.summary, &plain),
        mean: result.mean.map(|summary| in_unit(summary, &mean)),
        // Of one machine's noise its own report speaks; mixed, it is none.
        findings: Vec::new(),
        earlier: None,
        ..result
    }
}

#[cfg(test)]
mod tests;
