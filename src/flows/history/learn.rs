//! Thresholds that are learnt from the results of the base and of the commits before it.
//!
//! Nothing of the head counts: neither its results, nor how many benchmarks it has or how long they
//! take, which would change the time of each.

use std::collections::BTreeMap;

use super::NoteReader;
use super::fingerprint::Fingerprint;
use super::note::StoredMetric;
use crate::engine::test::estimator;
use crate::error::Error;
use crate::model::{LearntThreshold, Limits, Policy};
use crate::stats::estimator::Levels;
use crate::stats::learnt::Learner;
use crate::workspace::git::Repo;
use crate::workspace::git::line::{self, Parents};
use crate::workspace::{Preparation, Prepared, Request};

/// The maximum number of commits whose results count.
const COMMITS: usize = 1000;

/// The results of one metric of one benchmark.
struct Series {
    newest: StoredMetric,
    /// The values of each, the oldest first.
    results: Vec<Vec<f64>>,
}

/// What was measured on the machines of one kind.
#[derive(Default)]
struct Machines {
    /// By program, benchmark within it, and metric.
    series: BTreeMap<(String, String, String), Series>,
    /// How long the newest run of each program took, seconds.
    seconds: BTreeMap<String, f64>,
}

/// Learns the thresholds of a comparison that are to be learnt.
///
/// # Errors
/// If the notes can't be read.
pub(crate) fn learn(preparation: &mut Preparation, request: &Request) -> Result<(), Error> {
    if !preparation.benchmarks.iter().any(|prepared| prepared.benchmark.learns()) {
        return Ok(());
    }
    let repo = Repo::discover(&request.folder)?;
    let base = &preparation.sides.base.commit;
    let commits = line::commits(&repo, base, COMMITS, Parents::First)?;
    let past = NoteReader::open(&repo)?.past(commits);
    let here = Fingerprint::here();
    let mut machines = Machines::default();
    let noted = past.into_iter().flat_map(|(_, note)| note.results).map(|noted| noted.result);
    for result in noted.filter(|result| result.key.hardware == here && result.error.is_none()) {
        let case = result.key.case;
        machines.add(&case.benchmark, &case.name, result.seconds, result.metrics);
    }
    let settings = &preparation.settings;
    let mut thresholds = machines.thresholds(&settings.policy, &settings.limits);
    for Prepared { benchmark, .. } in &mut preparation.benchmarks {
        benchmark.learnt = thresholds.remove(&benchmark.name).unwrap_or_default();
    }
    Ok(())
}

impl Machines {
    fn add(
        &mut self,
        program: &str,
        benchmark: &str,
        seconds: Option<f64>,
        metrics: Vec<StoredMetric>,
    ) {
        if let Some(seconds) = seconds.filter(|seconds| *seconds > 0.0) {
            self.seconds.insert(program.to_owned(), seconds);
        }
        for newest in metrics {
            let values: Vec<f64> =
                newest.values.iter().copied().filter(|value| *value >= 0.0).collect();
            let key = (program.to_owned(), benchmark.to_owned(), newest.name.clone());
            let series = self.series.entry(key);
            let series =
                series.or_insert_with(|| Series { newest: newest.clone(), results: Vec::new() });
            series.results.push(values);
            series.newest = newest;
        }
    }

    /// The thresholds by program. Each benchmark has its share of the time limit and of the error
    /// among those that are stored.
    fn thresholds(
        &self,
        policy: &Policy,
        limits: &Limits,
    ) -> BTreeMap<String, Vec<LearntThreshold>> {
        let tests = self.series.values().filter(|series| series.newest.gates).count();
        let levels = Levels::new(policy.confidence, tests.max(1));
        let in_time = limits.time.as_secs_f64() / (2.0 * self.seconds.values().sum::<f64>());
        let pairs = limits.pairs.map_or(in_time, |most| in_time.min(most as f64));
        let mut thresholds: BTreeMap<String, Vec<LearntThreshold>> = BTreeMap::new();
        for ((program, name, metric), series) in &self.series {
            let of = series.newest.metric();
            let estimator = estimator(&of, policy.estimator);
            let learner = Learner { estimator, better: of.better, levels, pairs };
            let Some((threshold, learnt)) =
                learner.threshold(&series.results).filter(|_| pairs.is_finite())
            else {
                continue;
            };
            thresholds.entry(program.clone()).or_default().push(LearntThreshold {
                benchmark: if name.is_empty() { program } else { name }.clone(),
                metric: metric.clone(),
                threshold,
                learnt,
            });
        }
        thresholds
    }
}
