//! The past laid out: one series for each metric of what can be compared.

use std::collections::{BTreeMap, BTreeSet};

use super::check::points;
use super::entry::{Key, Series};
use super::{Book, Skipped, past};
use crate::error::{Error, Kind};
use crate::model::metric::{Better, Metric};
use crate::stats::lookback::{Distribution, Point, PointStatistics, WINDOW, point_statistics};
use crate::workspace::Request;
use crate::workspace::git::Repo;
use crate::workspace::git::line::{Commit, Parents};

/// What to lay out.
#[derive(Clone, Debug)]
pub struct Options {
    /// As the head the newest commit; in the flags the metrics, else those that
    /// decide.
    pub request: Request,
    /// How many commits at most.
    pub commits: usize,
    /// Which parents lead to them.
    pub parents: Parents,
    /// The benchmark, when not all.
    pub benchmark: Option<String>,
}

/// One metric of what can be compared, commit by commit.
#[derive(Clone, Debug)]
pub struct Listed {
    /// What the results are of.
    pub key: Key,
    /// The metric.
    pub metric: Metric,
    /// The results, oldest first.
    pub values: Vec<Value>,
    /// The annotated changes: from which of the commits on, and why.
    pub changes: Vec<(usize, String)>,
    /// The results that failed: of which of the commits, and why.
    pub failures: Vec<(usize, String)>,
    /// What is to be expected next.
    pub next: Distribution,
}

/// A result in its series.
#[derive(Clone, Copy, Debug)]
pub struct Value {
    /// Its commit, by number.
    pub commit: usize,
    /// The best repetition, in the metric's unit.
    pub value: f64,
    /// What the past said of it, as of before its commit.
    pub row: PointStatistics,
}

impl Value {
    /// How many deviations it was from what was to be expected before its
    /// commit; positive is better.
    pub fn z(&self, better: Better) -> Option<f64> {
        let before = Distribution {
            mean: self.row.mean_before,
            deviation: self.row.deviation_before,
            ..Distribution::default()
        };
        before.z(self.value, better)
    }
}

/// The past laid out.
#[derive(Clone, Debug)]
pub struct Listing {
    /// The commits, oldest first.
    pub commits: Vec<Commit>,
    /// The series.
    pub series: Vec<Listed>,
    /// Lines of notes that were none.
    pub skipped: Skipped,
}

/// Lays out what is stored of a commit and those before it.
///
/// # Errors
/// When there is no such commit, its notes can't be read, or nothing is stored.
pub fn list(options: &Options) -> Result<Listing, Error> {
    let request = &options.request;
    let repo = Repo::discover(&request.folder)?;
    let revision = repo.at(request.head.as_deref())?;
    let line = repo.line(&revision.commit, options.commits, options.parents)?;
    let mut book = Book::open(&repo)?;
    let past = past(&mut book, line);
    let is_wanted =
        |key: &Key| options.benchmark.as_ref().is_none_or(|name| *name == key.case.benchmark);
    // What each key's results measured, and whether it decides in the newest.
    let mut kinds: BTreeMap<Key, Vec<Series>> = BTreeMap::new();
    for entry in past.iter().flat_map(|(_, noted)| &noted.entries) {
        let kinds = kinds.entry(entry.measured.key()).or_default();
        for series in &entry.measured.metrics {
            kinds.retain(|known| !known.is_like(series));
            kinds.push(Series { values: Vec::new(), ..series.clone() });
        }
    }
    let named = request.flags.metrics.as_deref();
    let shown = |series: &&Series| match named {
        Some(named) => named.contains(&series.name),
        None => series.gates,
    };
    let mut series = Vec::new();
    for (key, kinds) in kinds.iter().filter(|(key, _)| is_wanted(key)) {
        for kind in kinds.iter().filter(shown) {
            series.push(listed(&past, key, kind));
        }
    }
    if series.is_empty() {
        let (rev, commit) = (revision.rev, revision.commit);
        let names = kinds.values().flatten().map(|series| series.name.clone());
        let names: BTreeSet<String> = names.collect();
        return Err(match named.and_then(|named| named.first()) {
            Some(metric) if !names.is_empty() => Kind::NoMetric {
                benchmark: options.benchmark.clone().unwrap_or("any benchmark".to_owned()),
                metric: metric.clone(),
                measured: names.into_iter().collect(),
            },
            _ => Kind::NoResult { rev, commit, place: " or the commits before it", others: 0 },
        }
        .into());
    }
    let commits = past.into_iter().map(|(commit, _)| commit).collect();
    Ok(Listing { commits, series, skipped: book.skipped })
}

fn listed(past: &super::Past, key: &Key, kind: &Series) -> Listed {
    let (points, places) = points(past, key, kind, None);
    let metric = kind.metric();
    let rows = point_statistics(&points, &places, WINDOW);
    let value = |(point, row): (&Point, PointStatistics)| Value {
        commit: point.place as usize,
        value: point.value,
        row,
    };
    let numbered = || past.iter().enumerate();
    let changes = numbered().flat_map(|(at, (_, noted))| {
        noted.changes.iter().map(move |change| (at, change.why.clone()))
    });
    let failures = numbered().flat_map(|(at, (_, noted))| {
        let own = noted.entries.iter().filter(|entry| entry.measured.is_of(key));
        own.filter_map(move |entry| Some((at, entry.measured.error.clone()?)))
    });
    Listed {
        key: key.clone(),
        metric,
        values: points.iter().zip(rows).map(value).collect(),
        changes: changes.collect(),
        failures: failures.collect(),
        next: Distribution::of(&points, &places, WINDOW),
    }
}
