//! Recorded pairs of runs of one executable against itself, as CSV.

use std::error::Error;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::metrics::{Metric, Values};

/// How a benchmark is run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Way {
    pub name: &'static str,
    /// Whether the suite runs in one process, or each benchmark in one of its own.
    pub whole: bool,
    /// `--warm-up-time`, seconds.
    pub warm_up: &'static str,
    /// `--measurement-time`, seconds.
    pub measuring: &'static str,
    /// How many pairs of a benchmark a round has.
    pub pairs: u32,
}

const fn way(name: &'static str, warm_up: &'static str, measuring: &'static str) -> Way {
    Way { name, whole: false, warm_up, measuring, pairs: 2 }
}

impl Way {
    pub const ALL: [Way; 5] = [
        Way { whole: true, pairs: 1, ..way("suite 50/100", "0.05", "0.1") },
        Way { pairs: 1, ..way("50/100", "0.05", "0.1") },
        way("5/10", "0.005", "0.01"),
        way("1.5/3", "0.0015", "0.003"),
        Way::SHORTEST,
    ];

    /// The only one whose samples are recorded.
    pub const SHORTEST: Way = way("1/1", "0.001", "0.001");

    /// What it is, in a table.
    pub fn about(self) -> String {
        match self.name.strip_prefix("suite ") {
            Some(times) => format!("whole suite in one process, {times} ms"),
            None => format!("one benchmark a process, {} ms", self.name),
        }
    }
}

/// A run.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Row {
    pub suite: String,
    pub load: String,
    pub way: String,
    pub benchmark: String,
    /// The number of the pair, of this benchmark in this way.
    pub pair: u32,
    /// 0 for the first run of the pair, 1 for the second.
    pub member: u8,
    /// What the process took, divided among the benchmarks that it ran, seconds.
    pub seconds: f64,
    /// Nanoseconds an iteration.
    pub mean: f64,
    pub median: f64,
    pub minimum: f64,
    pub trimmed: f64,
    pub slope: f64,
    /// The time of an iteration in each sample, in the order in which they were taken, in
    /// parts in 10,000 of the median; empty but for the shortest way.
    pub samples: String,
}

impl Row {
    pub fn values(&self) -> Values {
        [self.mean, self.median, self.minimum, self.trimmed, self.slope]
    }
}

/// Rounds to so many significant digits.
pub fn digits(value: f64, digits: usize) -> f64 {
    format!("{value:.*e}", digits - 1).parse().unwrap_or(value)
}

/// A run of a pair.
#[derive(Clone, Debug, PartialEq)]
pub struct Run {
    pub values: Values,
    /// The time of an iteration in each sample, nanoseconds; empty where it is not known.
    pub samples: Vec<f64>,
}

/// A pair of runs.
#[derive(Clone, Debug, PartialEq)]
pub struct Pair {
    /// What both took.
    pub seconds: f64,
    pub runs: [Run; 2],
}

impl Pair {
    /// The logarithm of second/first.
    pub fn log_ratio(&self, metric: Metric) -> f64 {
        let of = |run: &Run| run.values[metric as usize];
        (of(&self.runs[1]) / of(&self.runs[0])).ln()
    }
}

/// The pairs of one benchmark in one way under one load, in the order in which they ran.
#[derive(Clone, Debug, PartialEq)]
pub struct Series {
    pub suite: String,
    pub load: String,
    pub way: String,
    pub benchmark: String,
    pub pairs: Vec<Pair>,
}

/// Reads the rows of a file.
///
/// # Errors
/// When it can't be read, or a row is not as [`Row`] has it.
pub fn rows(path: &Path) -> Result<Vec<Row>, Box<dyn Error>> {
    let in_file = |error: csv::Error| format!("`{}`: {error}", path.display());
    let mut reader = csv::Reader::from_reader(fs_err::File::open(path)?);
    let rows: Result<Vec<Row>, _> = reader.deserialize().collect();
    Ok(rows.map_err(in_file)?)
}

/// Puts the rows together to pairs, and those to series, in the order of their first rows.
///
/// # Errors
/// When a pair lacks a member, or a value is no positive number.
pub fn series(rows: Vec<Row>) -> Result<Vec<Series>, Box<dyn Error>> {
    let mut all: Vec<Series> = Vec::new();
    let mut rows = rows.into_iter();
    while let Some(first) = rows.next() {
        let whose = format!(
            "pair {} of `{}` of {}, {}, {}",
            first.pair, first.benchmark, first.suite, first.way, first.load
        );
        let name = |row: &Row| [&row.suite, &row.load, &row.way, &row.benchmark].map(String::clone);
        let Some(second) = rows.next().filter(|second| {
            (first.member, second.member) == (0, 1)
                && first.pair == second.pair
                && name(&first) == name(second)
        }) else {
            return Err(format!("{whose}: expected the members 0 and 1 in two rows").into());
        };
        let pair = Pair {
            seconds: first.seconds + second.seconds,
            runs: [run(&first, &whose)?, run(&second, &whose)?],
        };
        let [suite, load, way, benchmark] = name(&first);
        let known = all.iter_mut().find(|series| {
            [&series.suite, &series.load, &series.way, &series.benchmark]
                == [&suite, &load, &way, &benchmark]
        });
        match known {
            Some(series) => series.pairs.push(pair),
            None => all.push(Series { suite, load, way, benchmark, pairs: vec![pair] }),
        }
    }
    Ok(all)
}

fn run(row: &Row, whose: &str) -> Result<Run, Box<dyn Error>> {
    let values = row.values();
    let parts: Result<Vec<f64>, _> = row.samples.split_whitespace().map(str::parse).collect();
    let samples: Vec<f64> = parts?.into_iter().map(|part| 1e-4 * part * row.median).collect();
    let mut all = values.iter().chain(&samples).chain([&row.seconds]).copied();
    let bad = all.find(|value| !(value.is_finite() && *value > 0.0));
    drop(all);
    match bad {
        Some(bad) => Err(format!("{whose}: {bad} is no positive number").into()),
        None => Ok(Run { values, samples }),
    }
}
