//! What is stored about a measurement: a line of JSON in the note of its commit.
//!
//! Others can write notes, too. So each line that is read is limited in size and checked, as the
//! whole note is where git is asked for it; invalid lines are skipped and counted.

use std::collections::HashSet;
use std::time::{SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

use super::fingerprint::Fingerprint;
use crate::exec::system;
use crate::model::{Better, Metric, Unit};

/// The version of the format of the lines.
const VERSION: u32 = 1;

/// The maximum length of a line, bytes.
const MAX_LINE: usize = 1 << 20;

/// What is measured: the benchmark and its arguments.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct BenchmarkCase {
    /// The name of the program.
    pub(crate) benchmark: String,
    /// The name of a benchmark within the program; empty for the program itself.
    pub(crate) name: String,
    /// The harness by which its runs are called and parsed.
    pub(crate) harness: String,
    /// Its package.
    pub package: String,
    /// The target or the command that is run.
    pub subject: String,
    /// Its arguments.
    pub args: Vec<String>,
}

impl BenchmarkCase {
    /// `BENCHMARK/NAME`, or `BENCHMARK` for the program itself.
    pub fn full_name(&self) -> String {
        match self.name.as_str() {
            "" => self.benchmark.clone(),
            name => format!("{}/{name}", self.benchmark),
        }
    }
}

/// How it was built.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct BuildContext {
    /// The output of `rustc --version`.
    pub rustc: String,
    /// The target triple.
    pub host: String,
    /// The profile.
    pub profile: String,
    /// The features, sorted, including the flags for all features and for no default features.
    pub features: Vec<String>,
    /// The environment variables with flags, `NAME=value`.
    pub flags: Vec<String>,
}

/// What two results must have in common to be compared. That they belong to the
/// same repository follows from their commits.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct ResultKey {
    /// What was measured.
    pub case: BenchmarkCase,
    /// On which machine.
    pub hardware: Fingerprint,
    /// How it was built.
    pub context: BuildContext,
}

/// All repetitions of one metric.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StoredMetric {
    /// The metric's name.
    pub name: String,
    /// The symbol of its unit; empty if unknown.
    pub unit: String,
    /// Which way is better.
    pub better: Better,
    pub(crate) gates: bool,
    /// The values, in the order in which they were measured.
    pub values: Vec<f64>,
}

impl StoredMetric {
    /// Whether both have values of the same metric, in the same unit and direction.
    pub(crate) fn is_like(&self, other: &StoredMetric) -> bool {
        (&self.name, &self.unit, self.better) == (&other.name, &other.unit, other.better)
    }

    /// The metric of the values.
    pub fn metric(&self) -> Metric {
        Metric { name: self.name.clone(), unit: Unit::of(&self.unit), better: self.better }
    }
}

/// One measurement of a commit.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StoredResult {
    /// The repository, as its remote calls it; empty without one.
    pub repository: String,
    /// The commit, which has to be that of the note.
    pub commit: String,
    /// What other results must have in common with it to be compared.
    #[serde(flatten)]
    pub key: ResultKey,
    /// The values; none if a run failed.
    pub metrics: Vec<StoredMetric>,
    /// The failure of a run.
    pub error: Option<String>,
    /// How long a run of the program took, the median, seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) seconds: Option<f64>,
}

impl StoredResult {
    /// The values of a metric, unless a run failed or there are none.
    pub(crate) fn metric(&self, name: &str) -> Option<&StoredMetric> {
        let metric = self.metrics.iter().find(|metric| metric.name == name);
        metric.filter(|metric| self.error.is_none() && !metric.values.is_empty())
    }
}

/// A line of a note.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct NoteLine {
    /// The version of the format.
    cbdr: u32,
    /// A random name, so that no two lines are equal.
    id: String,
    /// When it was written, seconds since 1970.
    time: f64,
    #[serde(flatten)]
    content: Content,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Content {
    Result(Box<StoredResult>),
    /// Why the level is expected to change at this commit.
    Change(String),
    /// The name of a line of this note that is removed.
    Removes(String),
}

impl NoteLine {
    /// A line with the current time.
    pub(crate) fn new(content: Content) -> Self {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let id = format!("{:016x}", system::random());
        let time = (now.as_secs_f64() * 1000.0).round() / 1000.0;
        NoteLine { cbdr: VERSION, id, time, content }
    }

    /// The line as it is stored.
    ///
    /// # Errors
    /// Why it would be skipped when read.
    pub(crate) fn to_json(&self) -> Result<String, String> {
        let text = serde_json::to_string(self).map_err(|error| error.to_string())?;
        let commit = match &self.content {
            Content::Result(result) => &result.commit,
            _ => "",
        };
        NoteLine::parse(text.as_bytes(), commit)?;
        Ok(text)
    }

    /// Parses a line of the note of `commit`; the error states what is wrong with it.
    fn parse(text: &[u8], commit: &str) -> Result<Self, String> {
        if text.len() > MAX_LINE {
            return Err(format!("it is longer than {MAX_LINE} bytes"));
        }
        let line: NoteLine = serde_json::from_slice(text).map_err(|error| error.to_string())?;
        line.check(commit)?;
        Ok(line)
    }

    fn check(&self, commit: &str) -> Result<(), String> {
        if self.cbdr != VERSION {
            return Err(format!("its version is {}, not {VERSION}", self.cbdr));
        }
        if !(0.0..1e11).contains(&self.time) {
            return Err("its time is out of range".to_owned());
        }
        match &self.content {
            Content::Result(result) if result.commit != commit => {
                Err("it belongs to another commit".to_owned())
            }
            _ => Ok(()),
        }
    }
}

/// A result in a note, with the name and the time of its line.
#[derive(Clone, Debug, PartialEq)]
pub struct NotedResult {
    /// The name of the line.
    pub id: String,
    /// When it was written, seconds since 1970.
    pub time: f64,
    /// The result.
    pub result: StoredResult,
}

/// The level is expected to change at this commit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Annotation {
    /// The name of the line.
    pub id: String,
    /// Why.
    pub why: String,
}

/// Lines that were skipped because they are invalid.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SkippedLines {
    /// How many.
    pub count: usize,
    /// The commit of the first such line, and why it was skipped.
    pub example: Option<(String, String)>,
}

impl SkippedLines {
    pub(super) fn add(&mut self, commit: &str, why: String) {
        self.count += 1;
        self.example.get_or_insert_with(|| (commit.to_owned(), why));
    }
}

/// The note of one commit.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CommitNote {
    /// The results, in the order of their times.
    pub results: Vec<NotedResult>,
    /// The changes that begin with the commit.
    pub annotations: Vec<Annotation>,
    /// The skipped lines.
    pub skipped: SkippedLines,
}

impl CommitNote {
    /// Reads the note of `commit`.
    pub fn parse(text: &[u8], commit: &str) -> Self {
        let mut note = CommitNote::default();
        let mut removed = HashSet::new();
        let lines = text.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii);
        for line in lines.filter(|line| !line.is_empty()) {
            let NoteLine { id, time, content, .. } = match NoteLine::parse(line, commit) {
                Ok(line) => line,
                Err(why) => {
                    note.skipped.add(commit, why);
                    continue;
                }
            };
            match content {
                Content::Result(result) => {
                    note.results.push(NotedResult { id, time, result: *result });
                }
                Content::Change(why) => note.annotations.push(Annotation { id, why }),
                Content::Removes(id) => drop(removed.insert(id)),
            }
        }
        note.results.retain(|noted| !removed.contains(&noted.id));
        note.annotations.retain(|annotation| !removed.contains(&annotation.id));
        note.results.sort_by(|one, other| {
            one.time.total_cmp(&other.time).then_with(|| one.id.cmp(&other.id))
        });
        note
    }
}
