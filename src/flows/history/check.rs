//! Tests whether a stored result fits the history.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use super::fingerprint::Fingerprint;
use super::note::{NotedResult, ResultKey, SkippedLines, StoredMetric};
use super::{NoteReader, Past, no_result};
use crate::error::Error;
use crate::exec::execution::Context;
use crate::flows::error::no_metric;
use crate::model::words::words;
use crate::model::{BaseRule, Doubt, Metric, Revision, Sides, Verdict};
use crate::settings;
use crate::settings::table::Table;
use crate::stats::lookback::{Distribution, Point, WINDOW, best};
use crate::workspace::git::line::{self, Parents};
use crate::workspace::git::{self, Repo};
use crate::workspace::{self, Request};

/// The request of a check.
#[derive(Clone, Debug)]
pub struct CheckOptions {
    /// Its head is the commit whose results are tested; BASE, the metrics and
    /// `--fail-on` are used, too.
    pub request: Request,
    /// The commit whose ancestors are the history, if it is not the default.
    pub baseline: Option<String>,
    /// The maximum z-score that passes.
    pub z_threshold: f64,
    /// The minimum number of commits with a result. With five commits, noise alone causes
    /// a z-score beyond 5 once in a hundred checks; with ten, the default, once in a
    /// thousand.
    pub min_history: usize,
    /// Which parents of the baseline belong to its history.
    pub parents: Parents,
    /// Whether to test the results of other machines, too, each by its own history.
    pub all_machines: bool,
}

/// Why a commit is the baseline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BaselineRule {
    /// It was named.
    Named,
    /// The tested commit is on a branch, and this is its merge-base with BASE.
    ForkPoint,
    /// The tested commit is on BASE; this is its first parent.
    Parent,
    /// The tested commit is unrelated to BASE; this is the latest commit of BASE.
    Latest,
}

words!(BaselineRule {
    Named = "named",
    ForkPoint = "fork-point",
    Parent = "parent",
    Latest = "latest",
});

/// The result of a check.
#[derive(Clone, Debug)]
pub struct CheckReport {
    /// The overall verdict.
    pub verdict: Verdict,
    /// The commit whose results are tested.
    pub revision: Revision,
    /// The commit whose ancestors are the history, and why; `None` for a
    /// repository's first commit.
    pub baseline: Option<(String, BaselineRule)>,
    /// The number of commits in the history.
    pub window: usize,
    /// How many deviations pass.
    pub z_threshold: f64,
    /// The minimum number of commits with a result.
    pub min_history: usize,
    /// What an inconclusive verdict means.
    pub fail_on: BTreeSet<Doubt>,
    /// The latest result of each kind.
    pub results: Vec<CheckedResult>,
    /// Lines of the notes that could not be read.
    pub skipped: SkippedLines,
}

/// A result and the scores of its metrics.
#[derive(Clone, Debug, Serialize)]
pub struct CheckedResult {
    /// What the result is of.
    #[serde(flatten)]
    pub key: ResultKey,
    /// The verdict of its metrics; inconclusive if none decides.
    pub verdict: Verdict,
    /// How its recording failed; then it has no scores.
    pub error: Option<String>,
    /// Its metrics.
    pub metrics: Vec<MetricScore>,
}

/// The score of one metric.
#[derive(Clone, Debug, Serialize)]
pub struct MetricScore {
    /// The metric.
    #[serde(flatten)]
    pub metric: Metric,
    /// Whether it decides.
    pub gates: bool,
    /// The best repetition, in the metric's unit.
    pub value: f64,
    /// The expected distribution.
    #[serde(flatten)]
    pub past: Distribution,
    /// The distance of the value from it in standard deviations; positive is better.
    pub z: Option<f64>,
    /// The verdict, if the metric decides.
    pub verdict: Option<Verdict>,
    /// Why there is no verdict, if there is none.
    pub reason: Option<String>,
}

/// Tests the latest results of a commit against those of the commits before it.
///
/// # Errors
/// If there is no such commit or no result for it.
pub fn check(options: &CheckOptions, context: Context<'_>) -> Result<CheckReport, Error> {
    let request = &options.request;
    let repo = Repo::discover(&request.folder)?;
    let table = workspace::user_table(request, context)?;
    let (policy, _) = settings::options::limits(&table)?;
    let revision = repo.at(request.head.as_deref())?;
    let mut notes = NoteReader::open(&repo)?;
    let own = notes.read(&revision.commit);
    // The latest result of each kind, of this machine or of all.
    let here = Fingerprint::here();
    let own_results = own.results.iter().map(|noted| (noted.result.key.clone(), noted));
    let latest: BTreeMap<ResultKey, &NotedResult> =
        own_results.filter(|(key, _)| options.all_machines || key.hardware == here).collect();
    if latest.is_empty() {
        let place = if options.all_machines { "" } else { " from this machine" };
        return Err(no_result(&revision, place, own.results.len(), &notes.skipped).into());
    }
    let baseline = match &options.baseline {
        Some(name) => Some((repo.at(Some(name))?.commit, BaselineRule::Named)),
        None => usual_baseline(&repo, request, &table, &revision)?,
    };
    let line = match &baseline {
        Some((commit, _)) => line::commits(&repo, commit, WINDOW, options.parents)?,
        None => Vec::new(),
    };
    let change = change_since(&repo, &mut notes, &revision, baseline.as_ref());
    let past = notes.past(line);
    let named = request.flags.metrics.as_deref();
    check_names(&latest, named)?;
    let judge = Judge { options, past: &past, change, named, is_shallow: line::is_shallow(&repo) };
    let results: Vec<CheckedResult> =
        latest.into_iter().map(|(key, noted)| judge.result(key, noted)).collect();
    Ok(CheckReport {
        verdict: Verdict::overall(results.iter().map(|result| result.verdict)),
        revision,
        baseline,
        window: past.len(),
        z_threshold: options.z_threshold,
        min_history: options.min_history,
        fail_on: policy.fail_on,
        results,
        skipped: notes.skipped,
    })
}

/// Rejects metrics that no result has.
fn check_names(
    latest: &BTreeMap<ResultKey, &NotedResult>,
    named: Option<&[String]>,
) -> Result<(), Error> {
    let metrics = latest.values().flat_map(|noted| &noted.result.metrics);
    let measured: BTreeSet<&String> = metrics.map(|metric| &metric.name).collect();
    let missing = named.into_iter().flatten().find(|name| !measured.contains(name));
    match (missing, latest.keys().next()) {
        (Some(metric), Some(key)) if !measured.is_empty() => {
            let measured: Vec<String> = measured.into_iter().cloned().collect();
            Err(no_metric(&key.case.full_name(), metric, &measured).into())
        }
        _ => Ok(()),
    }
}

/// The commit whose ancestors are the history: for a commit of BASE its first parent, for
/// one of a branch the merge-base with BASE, for one that is unrelated to BASE the latest
/// commit of BASE. Without a BASE, the commit counts as one of it.
fn usual_baseline(
    repo: &Repo,
    request: &Request,
    table: &Table,
    revision: &Revision,
) -> Result<Option<(String, BaselineRule)>, Error> {
    Ok(match repo.resolve(request, Some(table)) {
        Ok(Sides { head_is_base: true, .. }) | Err(git::Error::NoBase(_)) => {
            line::parent(repo, &revision.commit)?.map(|commit| (commit, BaselineRule::Parent))
        }
        Ok(Sides { base, rule: BaseRule::FirstParent | BaseRule::MergeBase, .. }) => {
            Some((base.commit, BaselineRule::ForkPoint))
        }
        Ok(Sides { base, .. }) => Some((base.commit, BaselineRule::Named)),
        Err(git::Error::Unrelated { base, .. }) => {
            Some((repo.at(Some(&base))?.commit, BaselineRule::Latest))
        }
        Err(error) => return Err(error.into()),
    })
}

/// The newest change that is annotated after the baseline, up to the commit itself.
fn change_since(
    repo: &Repo,
    notes: &mut NoteReader<'_>,
    revision: &Revision,
    baseline: Option<&(String, BaselineRule)>,
) -> Option<String> {
    let between = baseline.and_then(|(baseline, _)| {
        line::between(repo, baseline, &revision.commit, Parents::All).ok()
    });
    let between = between.unwrap_or_default().into_iter().rev().map(|node| node.commit.id);
    let mut newest_first: Vec<String> = between.take(WINDOW).collect();
    if newest_first.is_empty() {
        // There is no baseline, or a later one.
        newest_first.push(revision.commit.clone());
    }
    newest_first.iter().find_map(|commit| {
        let change = notes.read(commit).annotations.into_iter().next()?;
        Some(format!("{} ({})", git::abbreviated(commit), change.why))
    })
}

/// Tests results against the history.
struct Judge<'a> {
    options: &'a CheckOptions,
    past: &'a Past,
    /// A change that was annotated after the history.
    change: Option<String>,
    /// The metrics that decide, unless those of the recording do.
    named: Option<&'a [String]>,
    is_shallow: bool,
}

impl Judge<'_> {
    fn result(&self, key: ResultKey, noted: &NotedResult) -> CheckedResult {
        let result = &noted.result;
        let measured = result.metrics.iter().filter(|metric| result.metric(&metric.name).is_some());
        let metrics: Vec<MetricScore> =
            measured.filter_map(|metric| self.score(&key, &noted.id, metric)).collect();
        let verdict = match metrics.iter().any(|metric| metric.gates) {
            true => Verdict::overall(metrics.iter().filter_map(|metric| metric.verdict)),
            false => Verdict::Inconclusive,
        };
        CheckedResult { key, verdict, error: result.error.clone(), metrics }
    }

    fn score(&self, key: &ResultKey, id: &str, stored: &StoredMetric) -> Option<MetricScore> {
        let metric = stored.metric();
        let value = best(&stored.values, metric.better)?;
        let (points, places) = points(self.past, key, stored, Some(id));
        let past = Distribution::of(&points, &places, WINDOW);
        let z = past.z(value, metric.better);
        let gates = self.named.map_or(stored.gates, |named| named.contains(&stored.name));
        let (verdict, reason) = (None, None);
        let mut score = MetricScore { metric, gates, value, past, z, verdict, reason };
        score.reason = self.reason(&score);
        score.verdict = gates.then_some(match (z, &score.reason) {
            (Some(z), None) if z < -self.options.z_threshold => Verdict::Regression,
            (Some(_), None) => Verdict::NoRegression,
            _ => Verdict::Inconclusive,
        });
        Some(score)
    }

    /// Why the z-score decides nothing.
    fn reason(&self, MetricScore { metric, value, past, z, .. }: &MetricScore) -> Option<String> {
        let least = self.options.min_history;
        if let Some(change) = &self.change {
            Some(format!("a change has been annotated since: {change}"))
        } else if past.commits < least {
            let plural = if past.commits == 1 { "" } else { "s" };
            let cut_off = if self.is_shallow { "; this clone is shallow" } else { "" };
            Some(format!(
                "too little history: {} commit{plural} with a result, of the {least} that are \
                 needed{cut_off}",
                past.commits
            ))
        } else if past.mean.is_none() {
            Some("no commit since the last annotated change has a result".to_owned())
        } else if z.is_none() {
            let is_same = past.mean == Some(*value);
            let now = if is_same { "so is this one" } else { "this one is another" };
            Some(format!("all results of {} are the same, {now}", metric.name))
        } else {
            None
        }
    }
}

/// The values of a metric in the past, and the places of the annotated changes. The result
/// `but` is left out, since it is not part of its own past.
pub(super) fn points(
    past: &Past,
    key: &ResultKey,
    like: &StoredMetric,
    but: Option<&str>,
) -> (Vec<Point>, Vec<u64>) {
    let mut points = Vec::new();
    let mut places = Vec::new();
    for (place, (_, note)) in (0..).zip(past) {
        places.extend(note.annotations.iter().map(|_| place));
        for noted in &note.results {
            if Some(noted.id.as_str()) == but || noted.result.key != *key {
                continue;
            }
            let stored = noted.result.metric(&like.name).filter(|stored| stored.is_like(like));
            let value = stored.and_then(|stored| best(&stored.values, stored.better));
            points.extend(value.map(|value| Point { place, value }));
        }
    }
    (points, places)
}
