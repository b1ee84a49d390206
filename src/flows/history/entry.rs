//! What is stored of a measurement: a line of JSON in the note of its commit.
//!
//! Others write notes, too: what is read is bounded and checked, and what is no
//! such line is passed over and counted.

use std::collections::HashSet;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::time::{SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

use super::hardware::Hardware;
use crate::model::metric::{Better, Metric, Unit};

/// The version of the lines.
const VERSION: u32 = 1;

/// How long a line may be, bytes.
const MAX_LINE: usize = 1 << 20;
/// How long a name or an argument may be, bytes.
const MAX_TEXT: usize = 4096;
/// How many names, arguments, metrics or flags there may be.
const MAX_ITEMS: usize = 1000;
/// How many lines of a note are read.
const MAX_LINES: usize = 100_000;

/// What is measured: the benchmark and its arguments.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Case {
    /// The benchmark's name.
    pub benchmark: String,
    /// What its harness calls one of its own; empty for the program itself.
    pub name: String,
    /// How its runs are called and read.
    pub harness: String,
    /// The package that it is of.
    pub package: String,
    /// The target or the command that is run.
    pub subject: String,
    /// Its arguments.
    pub args: Vec<String>,
}

impl Case {
    /// What it is called: the benchmark, and after a slash one of its own.
    pub fn shown(&self) -> String {
        match self.name.as_str() {
            "" => self.benchmark.clone(),
            name => format!("{}/{name}", self.benchmark),
        }
    }
}

/// How it was built.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Context {
    /// What `rustc --version` says.
    pub rustc: String,
    /// The triple that is compiled for.
    pub host: String,
    /// The profile.
    pub profile: String,
    /// The features, sorted, with the words for all of them and for none.
    pub features: Vec<String>,
    /// The variables that hold flags, `NAME=value`.
    pub flags: Vec<String>,
}

/// Two results can be compared when these agree. That the repository agrees
/// follows from their commits.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key {
    /// What was measured.
    pub case: Case,
    /// On which machine.
    pub hardware: Hardware,
    /// How it was built.
    pub context: Context,
}

/// All repetitions of one metric.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Series {
    /// The metric's name.
    pub name: String,
    /// The symbol of its unit; empty when nobody said.
    pub unit: String,
    /// Which way is better.
    pub better: Better,
    /// Whether it is one of those that decide.
    pub gates: bool,
    /// The values, in the order in which they were measured.
    pub values: Vec<f64>,
}

impl Series {
    /// Whether the values of another are of the same metric, unit and direction.
    pub(crate) fn is_like(&self, other: &Series) -> bool {
        (&self.name, &self.unit, self.better) == (&other.name, &other.unit, other.better)
    }

    /// The metric that the values are of.
    pub fn metric(&self) -> Metric {
        let (name, unit) = (self.name.clone(), Unit::of(&self.unit));
        Metric { name, unit, better: self.better }
    }
}

/// A result: what was measured of a commit at one time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Measured {
    /// The repository, as its remote calls it; empty without one.
    pub repository: String,
    /// The commit, which is that of the note.
    pub commit: String,
    /// What was measured.
    pub case: Case,
    /// On which machine.
    pub hardware: Hardware,
    /// How it was built.
    pub context: Context,
    /// What came out; nothing when it failed.
    pub metrics: Vec<Series>,
    /// Why there is nothing.
    pub error: Option<String>,
}

impl Measured {
    /// What has to agree for a comparison.
    pub fn key(&self) -> Key {
        let Measured { case, hardware, context, .. } = self.clone();
        Key { case, hardware, context }
    }

    /// Whether it can be compared with results of a key.
    pub(crate) fn is_of(&self, key: &Key) -> bool {
        let Key { case, hardware, context } = key;
        (&self.case, &self.hardware, &self.context) == (case, hardware, context)
    }

    /// The values of a metric; none of a result that failed.
    pub fn series(&self, metric: &str) -> Option<&Series> {
        let found = self.metrics.iter().find(|series| series.name == metric);
        found.filter(|series| self.error.is_none() && !series.values.is_empty())
    }
}

/// A line of a note. It says one of three things.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Line {
    /// The version of the format.
    pub cbdr: u32,
    /// A random name, so that no two lines are equal.
    pub id: String,
    /// When it was written, seconds since 1970.
    pub time: f64,
    /// A result.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub result: Option<Box<Measured>>,
    /// From this commit on, another level is to be expected: why.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub change: Option<String>,
    /// Another line of this note no longer counts: its name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub removes: Option<String>,
}

impl Line {
    /// A new one, of now, that says nothing yet.
    fn new() -> Self {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        // The standard library's keys come from the system's random numbers.
        let id = format!("{:016x}", RandomState::new().build_hasher().finish());
        let time = (now.as_secs_f64() * 1000.0).round() / 1000.0;
        Line { cbdr: VERSION, id, time, result: None, change: None, removes: None }
    }

    /// One that holds a result.
    pub(crate) fn of_result(measured: Measured) -> Self {
        Line { result: Some(Box::new(measured)), ..Line::new() }
    }

    /// One that marks a change.
    pub(crate) fn of_change(why: &str) -> Self {
        Line { change: Some(why.to_owned()), ..Line::new() }
    }

    /// One that takes back another.
    pub(crate) fn of_removal(id: &str) -> Self {
        Line { removes: Some(id.to_owned()), ..Line::new() }
    }

    /// As it is stored.
    ///
    /// # Errors
    /// When nobody could read it again: why.
    pub fn written(&self) -> Result<String, String> {
        let text = serde_json::to_string(self).map_err(|error| error.to_string())?;
        let commit = self.result.as_ref().map_or("", |measured| &measured.commit);
        Line::read(text.as_bytes(), commit)?;
        Ok(text)
    }

    /// A line of the note of `commit`; why it is none.
    fn read(text: &[u8], commit: &str) -> Result<Self, String> {
        if text.len() > MAX_LINE {
            return Err(format!("it is longer than {MAX_LINE} bytes"));
        }
        let line: Line = serde_json::from_slice(text).map_err(|error| error.to_string())?;
        line.check(commit)?;
        Ok(line)
    }

    fn check(&self, commit: &str) -> Result<(), String> {
        if self.cbdr != VERSION {
            return Err(format!("it is of version {}, not {VERSION}", self.cbdr));
        }
        if !(0.0..1e11).contains(&self.time) {
            return Err("its time is out of range".to_owned());
        }
        let said = [self.result.is_some(), self.change.is_some(), self.removes.is_some()];
        if said.into_iter().filter(|is_said| *is_said).count() != 1 {
            return Err("it is not one of `result`, `change` and `removes`".to_owned());
        }
        let mut texts: Vec<&str> = vec![&self.id];
        texts.extend(self.change.iter().chain(&self.removes).map(String::as_str));
        if let Some(measured) = &self.result {
            if measured.commit != commit {
                return Err("it is of another commit".to_owned());
            }
            texts.extend(measured.check()?);
        }
        match texts.iter().any(|text| text.len() > MAX_TEXT) {
            true => Err(format!("a text in it is longer than {MAX_TEXT} bytes")),
            false => Ok(()),
        }
    }
}

impl Measured {
    /// The texts in it, unless there are too many or it makes no sense.
    fn check(&self) -> Result<Vec<&str>, String> {
        let Measured { repository, case, hardware, context, metrics, error, .. } = self;
        let lists = [&case.args, &context.features, &context.flags];
        if lists.iter().any(|list| list.len() > MAX_ITEMS) || metrics.len() > MAX_ITEMS {
            return Err(format!("a list in it has more than {MAX_ITEMS} items"));
        }
        if error.is_none() && metrics.is_empty() {
            return Err("it has neither values nor an error".to_owned());
        }
        if metrics.iter().flat_map(|series| &series.values).any(|value| !value.is_finite()) {
            return Err("a value in it is no finite number".to_owned());
        }
        let single = [
            repository,
            &case.benchmark,
            &case.name,
            &case.harness,
            &case.package,
            &case.subject,
            &hardware.cpu,
            &hardware.os,
            &hardware.arch,
            &context.rustc,
            &context.host,
            &context.profile,
        ];
        let named = metrics.iter().flat_map(|series| [&series.name, &series.unit]);
        let all = single.into_iter().chain(lists.into_iter().flatten()).chain(named).chain(error);
        Ok(all.map(String::as_str).collect())
    }
}

/// A result and what its line says of itself.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// Its name.
    pub id: String,
    /// When it was written, seconds since 1970.
    pub time: f64,
    /// The result.
    pub measured: Measured,
}

/// An annotation: from this commit on, another level is to be expected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// Its name.
    pub id: String,
    /// Why.
    pub why: String,
}

/// What is noted of one commit.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Noted {
    /// Its results, in the order of their times.
    pub entries: Vec<Entry>,
    /// The changes that begin with it.
    pub changes: Vec<Change>,
    /// How many lines were none, and what was wrong with one of them.
    pub skipped: (usize, Option<String>),
}

impl Noted {
    /// Reads the note of `commit`.
    pub fn read(text: &[u8], commit: &str) -> Self {
        let mut noted = Noted::default();
        let mut removed = HashSet::new();
        let lines = text.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii);
        for (number, text) in lines.filter(|line| !line.is_empty()).enumerate() {
            let line = match Line::read(text, commit) {
                Ok(line) if number < MAX_LINES => line,
                Ok(_) => {
                    noted.skip(format!("the note has more than {MAX_LINES} lines"));
                    break;
                }
                Err(why) => {
                    noted.skip(why);
                    continue;
                }
            };
            let Line { id, time, result, change, removes, .. } = line;
            removed.extend(removes);
            noted.changes.extend(change.map(|why| Change { id: id.clone(), why }));
            noted.entries.extend(result.map(|measured| Entry { id, time, measured: *measured }));
        }
        noted.entries.retain(|entry| !removed.contains(&entry.id));
        noted.changes.retain(|change| !removed.contains(&change.id));
        noted.entries.sort_by(|one, other| {
            one.time.total_cmp(&other.time).then_with(|| one.id.cmp(&other.id))
        });
        noted
    }

    fn skip(&mut self, why: String) {
        self.skipped.0 += 1;
        self.skipped.1.get_or_insert(why);
    }
}
