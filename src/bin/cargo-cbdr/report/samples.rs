//! The samples: a row for each measured run, on disk as soon as its pair is
//! complete. The last comparison's are always kept, in the repository's part
//! of the cache; `--samples` keeps them where the user wants.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use cargo_cbdr::Report;
use cargo_cbdr::event::Event;
use cargo_cbdr::metric::{Better, Unit, Units};
use cargo_cbdr::sample::Sample;
use serde::{Deserialize, Serialize};

use super::json::{Commit, commit};

/// The files that are being written.
pub(crate) struct File {
    wanted: Option<PathBuf>,
    writers: Vec<csv::Writer<std::fs::File>>,
    metrics: Vec<String>,
}

/// The names of the columns.
fn header(metrics: &[String]) -> Vec<String> {
    std::iter::once("benchmark".to_owned()).chain(metrics.iter().cloned()).collect()
}

/// The cells of a run.
fn row(metrics: &[String], label: &str, sample: &Sample) -> Vec<String> {
    let value =
        |metric: &String| sample.get(metric).map_or(String::new(), |value| value.to_string());
    std::iter::once(label.to_owned()).chain(metrics.iter().map(value)).collect()
}

/// The rows as text, taken away whenever somebody wants them.
pub(crate) struct Rows {
    metrics: Vec<String>,
    writer: csv::Writer<Vec<u8>>,
}

impl Rows {
    pub(crate) fn new() -> Self {
        Rows { metrics: Vec::new(), writer: csv::Writer::from_writer(Vec::new()) }
    }

    /// Adds what an event brings.
    pub(crate) fn take(&mut self, event: &Event<'_>) -> io::Result<()> {
        match event {
            Event::Rounds { metrics, .. } => {
                self.metrics = metrics.to_vec();
                Ok(self.writer.write_record(header(metrics))?)
            }
            Event::Run { label, sample } => {
                Ok(self.writer.write_record(row(&self.metrics, label, sample))?)
            }
            _ => Ok(()),
        }
    }

    /// The rows since the last time.
    pub(crate) fn drain(&mut self) -> io::Result<Vec<u8>> {
        let next = csv::Writer::from_writer(Vec::new());
        let writer = std::mem::replace(&mut self.writer, next);
        writer.into_inner().map_err(csv::IntoInnerError::into_error)
    }
}

/// What stands beside the rows.
#[derive(Serialize)]
struct About<'a> {
    schema: u32,
    base: Commit<'a>,
    head: Commit<'a>,
    toolchain: Option<&'a str>,
    seed: u64,
    confidence: f64,
    estimator: &'static str,
    time_limit_seconds: f64,
    max_pairs: Option<u64>,
    thresholds: Vec<(&'a str, &'a str, f64)>,
    units: BTreeMap<&'a str, Scale<'a>>,
    shard: Option<(u64, u64)>,
}

/// What the values of a column are.
#[derive(Serialize)]
struct Scale<'a> {
    unit: &'a str,
    better: &'static str,
}

/// The units of the columns, as the first benchmark has them.
fn units(report: &Report) -> BTreeMap<&str, Scale<'_>> {
    let mut units = BTreeMap::new();
    for result in report.sampled.benchmarks.iter().flat_map(|benchmark| &benchmark.metrics) {
        let metric = &result.metric;
        let scale = || Scale { unit: metric.unit.symbol(), better: metric.better.name() };
        units.entry(metric.name.as_str()).or_insert_with(scale);
    }
    units
}

/// The file beside a file with samples.
fn beside(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".json");
    PathBuf::from(name)
}

/// The units that stand beside a file with samples; none where nothing does.
pub(crate) fn units_beside(path: &Path) -> io::Result<Units> {
    #[derive(Default, Deserialize)]
    #[serde(default)]
    struct Told {
        units: BTreeMap<String, Column>,
    }
    #[derive(Deserialize)]
    struct Column {
        unit: String,
        better: String,
    }
    let path = beside(path);
    let bad = |why: String| {
        io::Error::new(io::ErrorKind::InvalidData, format!("{} in `{}`", why, path.display()))
    };
    let text = match std::fs::read(&path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Units::new()),
        text => text.map_err(|error| {
            io::Error::new(error.kind(), format!("{error} (`{}`)", path.display()))
        })?,
    };
    let told: Told = serde_json::from_slice(&text).map_err(|error| bad(error.to_string()))?;
    let unit = |(name, column): (String, Column)| match Better::of(&column.better) {
        Some(better) => Ok((name, (Unit::of(&column.unit), better))),
        None => Err(bad(format!("`{}` is neither lower nor higher", column.better))),
    };
    told.units.into_iter().map(unit).collect()
}

impl File {
    /// Opens the file that the user wants, if any: before anything is built,
    /// so that a bad path costs nobody a measurement.
    pub(crate) fn new(wanted: Option<PathBuf>) -> io::Result<Self> {
        let mut file = File { wanted, writers: Vec::new(), metrics: Vec::new() };
        if let Some(path) = file.wanted.clone() {
            file.open(&path)?;
        }
        Ok(file)
    }

    fn open(&mut self, path: &Path) -> io::Result<()> {
        // Flushed after every row instead of when a buffer is full.
        let opened = fs_err::File::create(path)?.into_parts().0;
        self.writers.push(csv::Writer::from_writer(opened));
        Ok(())
    }

    /// Writes what an event brings.
    pub(crate) fn take(&mut self, event: &Event<'_>) -> io::Result<()> {
        match event {
            Event::Prepared { room, .. } => self.open(&room.join("samples.csv")),
            Event::Sampling { metrics, .. } => {
                self.metrics = metrics.to_vec();
                self.write(&header(metrics))
            }
            Event::Run { label, sample } => {
                let row = row(&self.metrics, label, sample);
                self.write(&row)
            }
            _ => Ok(()),
        }
    }

    fn write(&mut self, row: &[String]) -> io::Result<()> {
        for writer in &mut self.writers {
            writer.write_record(row)?;
            writer.flush()?;
        }
        Ok(())
    }

    /// Writes beside the user's file what it was measured on.
    pub(crate) fn finish(self, report: &Report) -> io::Result<()> {
        let Some(path) = self.wanted else {
            return Ok(());
        };
        let benchmarks = report.sampled.benchmarks.iter();
        let metrics = benchmarks.flat_map(|b| b.metrics.iter().map(|m| (b.name.as_str(), m)));
        let thresholds = metrics.filter_map(|(name, metric)| {
            metric.threshold.map(|threshold| (name, metric.metric.name.as_str(), threshold))
        });
        let about = About {
            schema: 1,
            base: commit(&report.sides.base),
            head: commit(&report.sides.head),
            toolchain: report.toolchain.as_deref(),
            seed: report.seed,
            confidence: report.policy.confidence,
            estimator: report.policy.estimator.name(),
            time_limit_seconds: report.limits.time.as_secs_f64(),
            max_pairs: report.limits.pairs,
            thresholds: thresholds.collect(),
            units: units(report),
            shard: None,
        };
        let mut file = fs_err::File::create(beside(&path))?;
        serde_json::to_writer_pretty(&mut file, &about)?;
        writeln!(file)
    }
}
