//! Does a stored result fit the past?

use std::collections::BTreeMap;

use super::entry::{Entry, Key, Noted, Series};
use super::hardware::Hardware;
use super::{Book, Past, Skipped, past};
use crate::error::{Error, Kind};
use crate::exec::process::{Helper, Interrupt};
use crate::model::metric::Metric;
use crate::model::outcome::{OnDoubt, Verdict};
use crate::model::revision::{Revision, Rule, Sides};
use crate::stats::lookback::{Distribution, Point, WINDOW, best};
use crate::workspace::git::base::BaseRequest;
use crate::workspace::git::line::Parents;
use crate::workspace::git::{self, Repo};
use crate::workspace::{self, Request};

/// What is asked of the past.
#[derive(Clone, Debug)]
pub struct Options {
    /// As the head the commit whose results are judged; BASE, metrics and what
    /// doubt means.
    pub request: Request,
    /// The commit whose ancestry is the past, when it is not the usual one.
    pub baseline: Option<String>,
    /// How many deviations pass.
    pub z_threshold: f64,
    /// How many commits with a result make a history. Of five, noise alone gets a
    /// z-score beyond 5 once in a hundred looks, of ten, the default, once in a
    /// thousand.
    pub min_history: usize,
    /// Which parents of the baseline are its past.
    pub parents: Parents,
    /// Take the results of other machines, too, each with its own past.
    pub all_machines: bool,
}

/// Why the baseline is the one that it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BaselineRule {
    /// It was named.
    Named,
    /// The commit is on a branch: where that left BASE.
    ForkPoint,
    /// The commit is on BASE: its first parent.
    Parent,
    /// The commit has nothing to do with BASE: the latest of BASE.
    Latest,
}

impl BaselineRule {
    /// Its name in the outputs.
    pub fn name(self) -> &'static str {
        match self {
            BaselineRule::Named => "named",
            BaselineRule::ForkPoint => "fork-point",
            BaselineRule::Parent => "parent",
            BaselineRule::Latest => "latest",
        }
    }
}

/// The answer.
#[derive(Clone, Debug)]
pub struct Report {
    /// The overall verdict.
    pub verdict: Verdict,
    /// The commit whose results are judged.
    pub revision: Revision,
    /// The commit whose ancestry is the past, and why it is that one; none of
    /// a repository's first commit.
    pub baseline: Option<(String, BaselineRule)>,
    /// How many commits of it were looked at.
    pub window: usize,
    /// How many deviations pass.
    pub z_threshold: f64,
    /// How many commits with a result make a history.
    pub min_history: usize,
    /// What doubt means.
    pub on_inconclusive: OnDoubt,
    /// The latest result of each kind.
    pub results: Vec<Judged>,
    /// Lines of notes that were none.
    pub skipped: Skipped,
}

/// A result and its metrics.
#[derive(Clone, Debug)]
pub struct Judged {
    /// What it is a result of.
    pub key: Key,
    /// Why it failed, if it did; then nothing is said of it.
    pub error: Option<String>,
    /// Its metrics.
    pub metrics: Vec<MetricScore>,
}

impl Judged {
    /// The verdict of its metrics; nothing that decides leaves it open.
    pub fn verdict(&self) -> Verdict {
        let verdicts: Vec<_> = self.metrics.iter().filter_map(|metric| metric.verdict).collect();
        match verdicts.is_empty() {
            true => Verdict::Inconclusive,
            false => Verdict::overall(verdicts),
        }
    }
}

/// What the past says of one metric.
#[derive(Clone, Debug)]
pub struct MetricScore {
    /// The metric.
    pub metric: Metric,
    /// Whether it decides.
    pub gates: bool,
    /// Its value: the best repetition, in its unit.
    pub value: f64,
    /// What was to be expected.
    pub past: Distribution,
    /// How many deviations it is from that; positive is better.
    pub z: Option<f64>,
    /// The verdict, where the metric decides.
    pub verdict: Option<Verdict>,
    /// Why it can't be said, where it can't.
    pub reason: Option<String>,
}

/// Judges the latest results of a commit by those of the commits before it.
///
/// # Errors
/// When there is no such commit or no result of it.
pub fn check(options: &Options, helper: &Helper, interrupt: &Interrupt) -> Result<Report, Error> {
    let request = &options.request;
    let repo = Repo::discover(&request.folder)?;
    let table = workspace::user_table(request, helper, interrupt)?;
    let (policy, _) = crate::settings::options::limits(&table)?;
    let revision = repo.at(request.head.as_deref())?;
    let mut book = Book::open(&repo)?;
    let own = book.of(&revision.commit);
    let latest = latest(&own, &revision, options.all_machines)?;
    let asked = workspace::base_request(request, Some(&table));
    let baseline = baseline(&repo, &asked, options, &revision)?;
    let line = match &baseline {
        Some((commit, _)) => repo.line(commit, WINDOW, options.parents)?,
        None => Vec::new(),
    };
    let since = since(&repo, &mut book, &revision, baseline.as_ref());
    let past = past(&mut book, line);
    let named = request.flags.metrics.as_deref();
    check_names(&latest, named)?;
    let scale = Scale { options, past: &past, since: since.as_deref(), named, repo: &repo };
    let results: Vec<Judged> =
        latest.into_iter().map(|(key, entry)| scale.judge(key, entry)).collect();
    Ok(Report {
        verdict: Verdict::overall(results.iter().map(Judged::verdict)),
        revision,
        baseline,
        window: past.len(),
        z_threshold: options.z_threshold,
        min_history: options.min_history,
        on_inconclusive: policy.on_inconclusive,
        results,
        skipped: book.skipped,
    })
}

/// The latest result of each kind, of this machine or of all.
fn latest<'a>(
    own: &'a Noted,
    revision: &Revision,
    all: bool,
) -> Result<BTreeMap<Key, &'a Entry>, Error> {
    let here = Hardware::here();
    let mut latest = BTreeMap::new();
    for entry in own.entries.iter().filter(|entry| all || entry.measured.hardware == here) {
        latest.insert(entry.measured.key(), entry);
    }
    if latest.is_empty() {
        let place = if all { "" } else { " from this machine" };
        let (rev, commit) = (revision.rev.clone(), revision.commit.clone());
        return Err(Kind::NoResult { rev, commit, place, others: own.entries.len() }.into());
    }
    Ok(latest)
}

/// Refuses metrics that no result has.
fn check_names(latest: &BTreeMap<Key, &Entry>, named: Option<&[String]>) -> Result<(), Error> {
    let all = || latest.values().flat_map(|entry| &entry.measured.metrics);
    let missing = |name: &&String| all().next().is_some() && !all().any(|s| s.name == **name);
    let Some(metric) = named.into_iter().flatten().find(missing) else {
        return Ok(());
    };
    let mut measured: Vec<String> = all().map(|series| series.name.clone()).collect();
    measured.sort();
    measured.dedup();
    let benchmark = latest.keys().next().map_or(String::new(), |key| key.case.shown());
    Err(Kind::NoMetric { benchmark, metric: metric.clone(), measured }.into())
}

/// The commit whose ancestry is the past: the one that is named; for a commit
/// of BASE its first parent; for one of a branch the place where that left BASE;
/// for one that BASE knows nothing of the latest of BASE. Without a BASE the
/// commit counts as one of it.
fn baseline(
    repo: &Repo,
    asked: &BaseRequest,
    options: &Options,
    revision: &Revision,
) -> Result<Option<(String, BaselineRule)>, Error> {
    if let Some(name) = &options.baseline {
        return Ok(Some((repo.at(Some(name))?.commit, BaselineRule::Named)));
    }
    let parent = || -> Result<_, Error> {
        Ok(repo.parent(&revision.commit)?.map(|commit| (commit, BaselineRule::Parent)))
    };
    match repo.resolve(asked) {
        Ok(Sides { head_is_base: true, .. }) => parent(),
        Ok(Sides { base, rule: Rule::FirstParent | Rule::MergeBase, .. }) => {
            Ok(Some((base.commit, BaselineRule::ForkPoint)))
        }
        Ok(Sides { base, .. }) => Ok(Some((base.commit, BaselineRule::Named))),
        Err(git::Error::NoBase(_)) => parent(),
        Err(git::Error::Unrelated { base, .. }) => {
            Ok(Some((repo.at(Some(&base))?.commit, BaselineRule::Latest)))
        }
        Err(error) => Err(error.into()),
    }
}

/// Why another level is to be expected of the commit than of its baseline: a
/// change that is annotated in between or at the commit itself.
fn since(
    repo: &Repo,
    book: &mut Book<'_>,
    revision: &Revision,
    baseline: Option<&(String, BaselineRule)>,
) -> Option<String> {
    let between = baseline
        .and_then(|(baseline, _)| repo.between(baseline, &revision.commit, Parents::All).ok());
    let between = between.unwrap_or_default().into_iter().map(|node| node.commit.id);
    // Without a baseline, or with a later one, the commit itself is left.
    let mut commits: Vec<String> = between.take(WINDOW).collect();
    commits.push(revision.commit.clone());
    let noted = commits.into_iter().rev().map(|commit| (book.of(&commit).changes, commit));
    let found = noted.filter_map(|(changes, commit)| Some((changes.into_iter().next()?, commit)));
    let described =
        found.map(|(change, commit)| format!("{} ({})", git::abbreviated(&commit), change.why));
    described.collect::<Vec<_>>().into_iter().next()
}

/// What results are judged by.
struct Scale<'a> {
    options: &'a Options,
    past: &'a Past,
    since: Option<&'a str>,
    named: Option<&'a [String]>,
    repo: &'a Repo,
}

impl Scale<'_> {
    fn judge(&self, key: Key, entry: &Entry) -> Judged {
        let measured = &entry.measured;
        let scored =
            measured.metrics.iter().filter(|series| measured.series(&series.name).is_some());
        let metrics = scored.filter_map(|series| self.score(&key, entry, series)).collect();
        Judged { error: measured.error.clone(), metrics, key }
    }

    fn score(&self, key: &Key, entry: &Entry, series: &Series) -> Option<MetricScore> {
        let metric = series.metric();
        let value = best(&series.values, metric.better)?;
        let gates = match self.named {
            Some(named) => named.contains(&metric.name),
            None => series.gates,
        };
        let (points, changes) = points(self.past, key, series, Some(&entry.id));
        let past = Distribution::of(&points, &changes, WINDOW);
        let z = past.z(value, metric.better);
        let reason = self.reason(&past, &metric, value, z);
        let verdict = match (z, &reason) {
            (Some(z), None) if z < -self.options.z_threshold => Verdict::Regression,
            (Some(_), None) => Verdict::NoRegression,
            _ => Verdict::Inconclusive,
        };
        let verdict = gates.then_some(verdict);
        Some(MetricScore { metric, gates, value, past, z, verdict, reason })
    }

    /// Why the z-score decides nothing.
    fn reason(
        &self,
        past: &Distribution,
        metric: &Metric,
        value: f64,
        z: Option<f64>,
    ) -> Option<String> {
        if let Some(change) = self.since {
            return Some(format!("a change is annotated since: {change}"));
        }
        let least = self.options.min_history;
        if past.commits < least {
            let cut = if self.repo.is_shallow() { "; this clone is shallow" } else { "" };
            return Some(format!(
                "too little history: {} with a result, of the {least} that are needed{cut}",
                match past.commits {
                    1 => "1 commit".to_owned(),
                    several => format!("{several} commits"),
                }
            ));
        }
        if past.mean.is_none() {
            return Some("no commit since the last annotated change has a result".to_owned());
        }
        if z.is_none() {
            let same = past.mean == Some(value);
            let now = if same { "so is this one" } else { "this one is another" };
            return Some(format!("all results of {} are the same, {now}", metric.name));
        }
        None
    }
}

/// The values of one metric in the past and the places of the annotated
/// changes; without the result `but`, which is not part of its own past.
pub(super) fn points(
    past: &Past,
    key: &Key,
    series: &Series,
    but: Option<&str>,
) -> (Vec<Point>, Vec<u64>) {
    let (mut points, mut changes) = (Vec::new(), Vec::new());
    for (place, (_, noted)) in past.iter().enumerate() {
        let place = place as u64;
        changes.extend(noted.changes.iter().map(|_| place));
        let entries = noted.entries.iter().filter(|entry| Some(&*entry.id) != but);
        for entry in entries.filter(|entry| entry.measured.is_of(key)) {
            let same = entry.measured.series(&series.name);
            let same = same.filter(|other| other.is_like(series));
            let value = same.and_then(|other| best(&other.values, other.better));
            points.extend(value.map(|value| Point { place, value }));
        }
    }
    (points, changes)
}
