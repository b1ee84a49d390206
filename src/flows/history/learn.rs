//! Thresholds that are learnt from the results of the base and of the commits before it.
//!
//! Nothing of the head counts: neither its results, nor how many benchmarks it has or how long they
//! take, which would change the time of each.

use std::collections::BTreeMap;

use super::NoteReader;
use super::fingerprint::Fingerprint;
use super::note::{BenchmarkCase, StoredMetric};
use crate::engine::test::estimator;
use crate::error::Error;
use crate::model::LearntThreshold;
use crate::settings::policy::Settings;
use crate::stats::estimator::Levels;
use crate::stats::learnt::Learner;
use crate::workspace::git::Repo;
use crate::workspace::git::line::{self, Parents};
use crate::workspace::{Preparation, Request};

/// The maximum number of commits whose results count.
const COMMITS: usize = 1000;

/// Learns the thresholds of a comparison that are to be learnt. Each benchmark has its share of the
/// time limit and of the error among those that are stored.
///
/// # Errors
/// If the notes can't be read.
pub(crate) fn learn(preparation: &mut Preparation, request: &Request) -> Result<(), Error> {
    if !preparation.benchmarks.iter().any(|prepared| prepared.benchmark.learns()) {
        return Ok(());
    }
    let repo = Repo::discover(&request.folder)?;
    let base = &preparation.about.sides.base.commit;
    let commits = line::commits(&repo, base, COMMITS, Parents::First)?;
    let past = NoteReader::open(&repo)?.past(commits);
    let here = Fingerprint::here();
    // By program, benchmark within it, and metric; the oldest first.
    let mut series: BTreeMap<(String, String, String), Vec<StoredMetric>> = BTreeMap::new();
    // How long the newest run of each program took.
    let mut seconds: BTreeMap<String, f64> = BTreeMap::new();
    let noted = past.into_iter().flat_map(|(_, note)| note.results).map(|noted| noted.result);
    for result in noted.filter(|result| result.key.hardware == here && result.error.is_none()) {
        let BenchmarkCase { benchmark, name, .. } = result.key.case;
        let own = result.seconds.filter(|seconds| *seconds > 0.0);
        seconds.extend(own.map(|own| (benchmark.clone(), own)));
        for mut metric in result.metrics {
            metric.values.retain(|value| *value >= 0.0);
            let key = (benchmark.clone(), name.clone(), metric.name.clone());
            series.entry(key).or_default().push(metric);
        }
    }
    let Settings { policy, limits, .. } = &preparation.settings;
    let gates = |all: &&Vec<StoredMetric>| all.last().is_some_and(|newest| newest.gates);
    let levels = Levels::new(policy.confidence, series.values().filter(gates).count().max(1));
    let in_time = limits.time.as_secs_f64() / (2.0 * seconds.values().sum::<f64>());
    let pairs = limits.pairs.map_or(in_time, |most| in_time.min(most as f64));
    for ((program, name, metric), all) in series {
        let Some(newest) = all.last().filter(|_| pairs.is_finite()) else { continue };
        let of = newest.metric();
        let estimator = estimator(&of, policy.estimator);
        let learner = Learner { estimator, better: of.better, levels, pairs };
        let results: Vec<Vec<f64>> = all.into_iter().map(|one| one.values).collect();
        let Some((threshold, learnt)) = learner.threshold(&results) else { continue };
        let mut benchmarks = preparation.benchmarks.iter_mut().map(|one| &mut one.benchmark);
        if let Some(own) = benchmarks.find(|one| one.name == program) {
            let benchmark = if name.is_empty() { program } else { name };
            own.learnt.push(LearntThreshold { benchmark, metric, threshold, learnt });
        }
    }
    Ok(())
}
