//! The stored history: one series for each metric of each kind of result.

use std::collections::{BTreeMap, BTreeSet};

use super::check::points;
use super::note::{ResultKey, SkippedLines, StoredMetric};
use super::{NoteReader, Past, no_result};
use crate::error::Error;
use crate::flows::error::no_metric;
use crate::model::{Better, Metric};
use crate::stats::lookback::{Distribution, PointStatistics, WINDOW, point_statistics};
use crate::workspace::Request;
use crate::workspace::git::Repo;
use crate::workspace::git::line::{self, Commit, Parents};

/// What to list.
#[derive(Clone, Debug)]
pub struct ListOptions {
    /// Its head is the newest commit. Its metrics are shown; if it has none, those that
    /// gate.
    pub request: Request,
    /// The maximum number of commits.
    pub commits: usize,
    /// Which parents to follow.
    pub parents: Parents,
    /// The only benchmark to show.
    pub benchmark: Option<String>,
}

/// The listed history.
#[derive(Clone, Debug)]
pub struct Listing {
    /// The commits, oldest first.
    pub commits: Vec<Commit>,
    /// The series.
    pub series: Vec<ListedSeries>,
    /// Lines of the notes that could not be read.
    pub skipped: SkippedLines,
}

/// One metric of one kind of result, commit by commit.
#[derive(Clone, Debug)]
pub struct ListedSeries {
    /// What the results are of.
    pub key: ResultKey,
    /// The metric.
    pub metric: Metric,
    /// The results, oldest first.
    pub values: Vec<ListedValue>,
    /// The annotated changes: the index of the commit where each begins, and why.
    pub changes: Vec<(usize, String)>,
    /// The failed recordings: the index of the commit, and the failure.
    pub failures: Vec<(usize, String)>,
    /// The distribution expected of the next result.
    pub next: Distribution,
}

/// A result in its series.
#[derive(Clone, Copy, Debug)]
pub struct ListedValue {
    /// The index of its commit.
    pub commit: usize,
    /// The best repetition, in the metric's unit.
    pub value: f64,
    /// Its statistics, from the commits before it.
    pub statistics: PointStatistics,
}

impl ListedValue {
    /// Its distance from the value expected from earlier commits, in standard deviations;
    /// positive is better.
    pub fn z(&self, better: Better) -> Option<f64> {
        let before = Distribution {
            mean: self.statistics.mean_before,
            deviation: self.statistics.deviation_before,
            ..Distribution::default()
        };
        before.z(self.value, better)
    }
}

/// Lists the results of a commit and those before it.
///
/// # Errors
/// If there is no such commit, its notes can't be read, or there is no result.
pub fn list(options: &ListOptions) -> Result<Listing, Error> {
    let request = &options.request;
    let repo = Repo::discover(&request.folder)?;
    let revision = repo.at(request.head.as_deref())?;
    let line = line::commits(&repo, &revision.commit, options.commits, options.parents)?;
    let mut notes = NoteReader::open(&repo)?;
    let past = notes.past(line);
    // The metrics of each kind of result, as in the newest result.
    let mut metrics: BTreeMap<ResultKey, Vec<StoredMetric>> = BTreeMap::new();
    for noted in past.iter().flat_map(|(_, note)| &note.results) {
        let known = metrics.entry(noted.result.key.clone()).or_default();
        for metric in &noted.result.metrics {
            known.retain(|known| !known.is_like(metric));
            known.push(StoredMetric { values: Vec::new(), ..metric.clone() });
        }
    }
    let named = request.flags.metrics.as_deref();
    let mut series = Vec::new();
    for (key, metrics) in &metrics {
        if options.benchmark.as_ref().is_some_and(|name| *name != key.case.benchmark) {
            continue;
        }
        let is_shown = |metric: &&StoredMetric| match named {
            Some(named) => named.contains(&metric.name),
            None => metric.gates,
        };
        series.extend(metrics.iter().filter(is_shown).map(|metric| listed(&past, key, metric)));
    }
    if series.is_empty() {
        let names = metrics.values().flatten().map(|metric| metric.name.clone());
        let names: Vec<String> = names.collect::<BTreeSet<_>>().into_iter().collect();
        let Some(metric) = named.and_then(|named| named.first()).filter(|_| !names.is_empty())
        else {
            return Err(no_result(&revision, " or the commits before it", 0, &notes.skipped).into());
        };
        let benchmark = options.benchmark.as_deref().unwrap_or("any benchmark");
        return Err(no_metric(benchmark, metric, &names).into());
    }
    let commits = past.into_iter().map(|(commit, _)| commit).collect();
    Ok(Listing { commits, series, skipped: notes.skipped })
}

fn listed(past: &Past, key: &ResultKey, metric: &StoredMetric) -> ListedSeries {
    let (points, places) = points(past, key, metric, None);
    let statistics = point_statistics(&points, &places, WINDOW);
    let values = points.iter().zip(statistics).map(|(point, statistics)| ListedValue {
        commit: point.place as usize,
        value: point.value,
        statistics,
    });
    let mut changes = Vec::new();
    let mut failures = Vec::new();
    for (number, (_, note)) in past.iter().enumerate() {
        changes.extend(note.annotations.iter().map(|change| (number, change.why.clone())));
        let own = note.results.iter().filter(|noted| noted.result.key == *key);
        failures.extend(own.filter_map(|noted| Some((number, noted.result.error.clone()?))));
    }
    ListedSeries {
        key: key.clone(),
        metric: metric.metric(),
        values: values.collect(),
        changes,
        failures,
        next: Distribution::of(&points, &places, WINDOW),
    }
}
