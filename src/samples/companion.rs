//! The file next to a file of samples: what was measured, and how.

use std::collections::BTreeSet;
use std::io::{self, BufRead};
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::error::{NoShard, unread};
use super::own_part::OwnPart;
use crate::error::Error;
use crate::model::{
    BenchmarkResult, Doubt, Estimator, Gate, Layouts, Limits, Metric, MetricResult, Outcome,
    Policy, Quantity, Removed, Revision, Shard, ShardBy, StoppedBy, Units,
};
use crate::settings::options::Benchmark;

/// The content of the file next to a file of samples.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
pub struct Companion {
    schema: u32,
    pub(crate) base: Revision,
    pub(crate) head: Revision,
    pub(crate) toolchain: Option<String>,
    pub(crate) programs: Vec<Benchmark>,
    seed: u64,
    /// Which shard this is, of a comparison over several machines.
    pub shard: Option<SeededShard>,
    pub(crate) confidence: f64,
    pub(crate) estimator: Estimator,
    time_limit_seconds: f64,
    max_pairs: Option<u64>,
    pub(crate) fail_on: BTreeSet<Doubt>,
    /// What gates on the base but is not measured on the head.
    pub(crate) removed: Vec<Removed>,
    pub(crate) selecting: Vec<String>,
    /// How the branch changes its own gate, as sentences.
    #[serde(rename = "told")]
    pub(crate) settings_notices: Vec<String>,
    /// The gates of the sampled metrics.
    pub(crate) gates: Vec<BenchmarkGate>,
    /// The gating metrics that are known without a run.
    pub(crate) exact: Vec<ExactMetric>,
    /// The units and directions of the columns.
    pub units: Units,
    /// See [`Described::not_measured`].
    not_measured: Vec<(String, f64)>,
    pub(crate) stopped_by: StoppedBy,
    /// What was found of the benchmarks that no other machine has measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) own: Option<OwnPart>,
    /// The number of rows, without the header.
    pub(crate) rows: u64,
}

/// A shard, and the seed of its own order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub struct SeededShard {
    #[serde(flatten)]
    /// Which part it is.
    pub shard: Shard,
    pub(crate) seed: u64,
}

/// The gate of a metric of a benchmark.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
pub(crate) struct BenchmarkGate {
    pub(crate) benchmark: String,
    #[serde(flatten)]
    pub(crate) gate: Gate,
}

/// A gating metric that needs no run.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
pub(crate) struct ExactMetric {
    pub(crate) benchmark: String,
    #[serde(flatten)]
    pub(crate) result: MetricResult,
}

impl Companion {
    /// The companion of a comparison that wrote this many `rows`; `None` for an outcome of
    /// samples. `settings_notices` state how the branch changes its own gate.
    pub fn new(
        outcome: &Outcome,
        programs: &[Benchmark],
        gates: &[(String, Gate)],
        settings_notices: Vec<String>,
        own: Option<OwnPart>,
        rows: u64,
    ) -> Option<Self> {
        let sides = outcome.sides.as_ref()?;
        let seed = outcome.seed?;
        let mut units = Units::new();
        for (_, result) in outcome.metrics() {
            let Metric { name, unit, better } = result.metric();
            // As in the first benchmark.
            units.entry(name).or_insert(Quantity { unit, better });
        }
        let is_sampled = |benchmark: &str, metric: &str| {
            gates.iter().any(|(of, gate)| of == benchmark && gate.metric == metric)
        };
        let exact = outcome.metrics().filter(|(of, result)| {
            !is_sampled(&of.name, &result.name) && result.decides() && result.summary.head.is_some()
        });
        let exact = exact.map(|(of, result)| {
            let (benchmark, result) = (of.name.clone(), result.clone());
            ExactMetric { benchmark, result }
        });
        let gates = gates.iter().cloned();
        let seeded = |shard: Shard| SeededShard { shard, seed: shard.seed(seed) };
        let needs = |one: &BenchmarkResult| Some((one.name.clone(), one.needed_seconds?));
        Some(Companion {
            schema: 1,
            base: sides.base.clone(),
            head: sides.head.clone(),
            toolchain: outcome.toolchain.clone().flatten(),
            programs: programs.to_vec(),
            seed,
            shard: outcome.shard.flatten().map(seeded),
            confidence: outcome.policy.confidence,
            estimator: outcome.policy.estimator,
            time_limit_seconds: outcome.limits.time.as_secs_f64(),
            max_pairs: outcome.limits.pairs,
            fail_on: outcome.policy.fail_on.clone(),
            removed: outcome.removed.clone(),
            selecting: outcome.selecting.clone(),
            settings_notices,
            gates: gates.map(|(benchmark, gate)| BenchmarkGate { benchmark, gate }).collect(),
            exact: exact.collect(),
            units,
            not_measured: outcome.benchmarks.iter().filter_map(needs).collect(),
            stopped_by: outcome.stopped_by,
            own,
            rows,
        })
    }

    /// The text of the file.
    ///
    /// # Errors
    /// If it can't be serialized.
    pub fn text(&self) -> io::Result<String> {
        Ok(serde_json::to_string_pretty(self)? + "\n")
    }

    /// The path of the file next to a file of samples.
    pub fn path(samples: &Path) -> PathBuf {
        let mut name = samples.as_os_str().to_owned();
        name.push(".json");
        PathBuf::from(name)
    }

    /// Reads the file next to the samples of a shard, which are called `name` in messages.
    ///
    /// # Errors
    /// If it can't be read, or if there is none of a shard.
    pub fn of_shard(samples: &Path, name: &str) -> Result<(Self, SeededShard), Error> {
        let path = Companion::path(samples);
        let because = |why: String| NoShard { file: name.to_owned(), why };
        let text = text_of(&path).map_err(|source| unread(name, source))?;
        let text = text.ok_or_else(|| because(format!("there is no `{}`", path.display())))?;
        let companion: Companion = serde_json::from_slice(&text)
            .map_err(|error| because(format!("{error} in `{}`", path.display())))?;
        let thresholds = companion.gates.iter().map(|of| of.gate.threshold);
        let mut thresholds = thresholds.filter(|one| !(0.0..=f64::MAX).contains(one));
        if thresholds.next().is_some() || !(0.5..1.0).contains(&companion.confidence) {
            let path = path.display();
            return Err(
                because(format!("no comparison has what `{path}` says that decides")).into()
            );
        }
        let not_as_one = || because("it was not measured as one".to_owned());
        let shard = companion.shard.ok_or_else(not_as_one)?;
        Ok((companion, shard))
    }

    pub(crate) fn policy(&self) -> Policy {
        Policy {
            confidence: self.confidence,
            estimator: self.estimator,
            fail_on: self.fail_on.clone(),
            // What is in the samples was measured.
            layouts: Layouts::Off,
            shard_by: ShardBy::Pairs,
            suite: None,
        }
    }

    pub(crate) fn limits(&self) -> Limits {
        // The file may say anything.
        let time = Duration::try_from_secs_f64(self.time_limit_seconds).unwrap_or(Duration::MAX);
        Limits { time, pairs: self.max_pairs }
    }
}

/// What the file next to a file of samples says about them; nothing if there is no such file.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(default)]
pub struct Described {
    /// The units and directions of the columns.
    pub units: Units,
    /// The benchmarks for which there was no time, with the seconds that each needs.
    pub not_measured: Vec<(String, f64)>,
    /// The number of rows, without the header.
    rows: Option<u64>,
}

impl Described {
    /// The text of the file while these metrics are measured.
    ///
    /// # Errors
    /// If it can't be serialized.
    pub fn by(metrics: &[Metric]) -> io::Result<String> {
        let units = metrics.iter().map(|Metric { name, unit, better }| {
            (name.clone(), Quantity { unit: unit.clone(), better: *better })
        });
        let described = Described { units: units.collect(), ..Described::default() };
        Ok(serde_json::to_string(&described)? + "\n")
    }

    /// Reads the file.
    ///
    /// # Errors
    /// If there is a file that can't be read or parsed, or is about other samples.
    pub fn beside(samples: &Path) -> io::Result<Self> {
        let path = Companion::path(samples);
        let Some(text) = text_of(&path)? else { return Ok(Described::default()) };
        let bad = |what: String| io::Error::new(io::ErrorKind::InvalidData, what);
        let described: Described = serde_json::from_slice(&text).map_err(|error| {
            let (path, samples) = (path.display(), samples.display());
            bad(format!(
                "could not read `{path}`: {error}; remove it if it is not about `{samples}`"
            ))
        })?;
        let mut file = io::BufReader::new(fs_err::File::open(samples)?);
        let (mut lines, mut quotes, mut line) = (0, 0, Vec::new());
        while file.read_until(b'\n', &mut line)? > 0 {
            // A name in quotes can have several lines.
            quotes += line.drain(..).filter(|byte| *byte == b'"').count();
            lines += u64::from(quotes % 2 == 0);
        }
        let here = lines.saturating_sub(1);
        match described.rows {
            Some(rows) if rows != here => Err(bad(format!(
                "`{}` has {here} rows, but {rows} were measured: remove `{}` if it is about others",
                samples.display(),
                path.display()
            ))),
            _ => Ok(described),
        }
    }
}

/// The content of a file, if there is one.
fn text_of(path: &Path) -> io::Result<Option<Vec<u8>>> {
    match std::fs::read(path) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => {
            let what = format!("could not read `{}`: {error}", path.display());
            Err(io::Error::new(error.kind(), what))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_description_of_other_samples_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let samples = folder.path().join("s.csv");
        std::fs::write(&samples, "benchmark,wall_time\n\"a\nb/base\",1\nhead,1\n").unwrap();
        assert_eq!(Described::beside(&samples).unwrap().rows, None);
        let describe = |rows: u64| {
            let text = format!("{{\"not_measured\": [[\"a\", 3.0]], \"rows\": {rows}}}");
            std::fs::write(Companion::path(&samples), text).unwrap();
            Described::beside(&samples)
        };
        assert_eq!(describe(2).unwrap().not_measured, [("a".to_owned(), 3.0)]);
        let refused = describe(4).unwrap_err().to_string();
        assert!(refused.contains("s.csv` has 2 rows, but 4 were measured: remove `"), "{refused}");
        std::fs::write(Companion::path(&samples), "{").unwrap();
        let refused = Described::beside(&samples).unwrap_err().to_string();
        assert!(refused.starts_with("could not read `") && refused.contains("s.csv.json`: EOF"));
        assert!(refused.contains("; remove it if it is not about `"), "{refused}");
    }

    fn text(confidence: &str, threshold: &str, seconds: &str) -> String {
        let side = r#"{"rev": "it", "commit": "c", "tree": "t", "dirty": false}"#;
        format!(
            r#"{{"schema": 1, "base": {side}, "head": {side}, "toolchain": null,
            "programs": [], "seed": 7, "shard": {{"number": 1, "of": 2, "seed": 8}},
            "confidence": {confidence}, "estimator": "robust", "time_limit_seconds": {seconds},
            "max_pairs": null, "fail_on": [], "removed": [], "selecting": [], "told": [],
            "gates": [{{"benchmark": "b", "metric": "t", "threshold": {threshold}, "warn": null,
            "waiver": null}}], "exact": [], "units": {{}}, "not_measured": [],
            "stopped_by": "time-limit", "rows": 0}}"#
        )
    }

    #[test]
    fn a_time_limit_that_no_comparison_has_does_no_harm() {
        for seconds in ["-1", "1e300"] {
            let companion: Companion =
                serde_json::from_str(&text("0.95", "0.02", seconds)).unwrap();
            assert_eq!(companion.limits().time, Duration::MAX);
        }
    }

    #[test]
    fn a_shard_is_not_judged_by_what_no_comparison_has() {
        let folder = tempfile::tempdir().unwrap();
        let samples = folder.path().join("s.csv");
        let read = |confidence: &str, threshold: &str| {
            std::fs::write(Companion::path(&samples), text(confidence, threshold, "1")).unwrap();
            Companion::of_shard(&samples, "s.csv").map(drop).map_err(|error| error.to_string())
        };
        assert_eq!(read("0.95", "0.02"), Ok(()));
        for (confidence, threshold) in [("-1", "0.02"), ("2", "0.02"), ("1", "0"), ("0.9", "-0.5")]
        {
            let refused = read(confidence, threshold).unwrap_err();
            assert!(refused.starts_with("s.csv is not a shard: no comparison has"), "{refused}");
        }
    }
}
