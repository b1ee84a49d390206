//! Divan: a tree whose leaves have a column for each statistic.
//!
//! `wall_time` is the mean time of an iteration, `median_time` and `min_time`
//! the median and the minimum of the run's samples, in seconds. A benchmark's
//! name is the path that Divan's filters use: the names from the crate down,
//! separated by `::`, and `t=N` if it runs on several threads.
//!
//! If Divan's `AllocProfiler` is the global allocator, further rows have the allocations
//! of an iteration, of which the means are read.

use std::ffi::OsString;
use std::time::Duration;

use super::definition::{CAP, Definition, Flag, Harness, PROBE, seconds_of};
use super::pattern;
use super::report::{Error, reading, seconds, set, text};
use crate::model::run_length::RunLength;
use crate::model::{ALLOCATED_BYTES, ALLOCATIONS, Dialect, PEAK_HEAP_BYTES, Reading, Values};

/// Present in all versions with filters.
const EXACT: &str = "exact";

const MAX_TIME: &str = "max-time";
const SAMPLE_COUNT: &str = "sample-count";
const SAMPLE_SIZE: &str = "sample-size";
const SKIP_EXT_TIME: &str = "skip-ext-time";
const COLOR: &str = "color";

/// Ten milliseconds hardly matter in runs of this length.
const LONG: Duration = Duration::from_millis(50);

/// More samples than fit into any requested time: each takes some microseconds.
const SAMPLES: u32 = 50_000;

/// So many that the fastest is not the first one, with nothing in the caches yet.
const FEW_SAMPLES: u32 = 3;

/// How long a sample takes at least, seconds: 100 to 400 steps of a usual clock. It is little more
/// than what divan wants itself, since all inputs of a sample exist at the same time.
///
/// Divan gives a sample so many iterations that it takes a hundred times the clock's resolution.
/// But the first sample, with nothing in the caches yet, often takes that long with one iteration.
/// Then all samples have one, and the times of a short benchmark have steps of the clock's
/// resolution: 10 ns, a quarter of a benchmark of 40 ns.
const SAMPLE: f64 = 4e-6;

/// The shortest iteration, seconds, which limits the number of inputs.
const SHORTEST: f64 = 2.5e-9;

/// A run takes at most this many times its length. On a busy machine, others get the processor for
/// up to a tenth of a second: a run of a millisecond would end with the sample in which that
/// happened, maybe its only one.
const DISTURBED: u32 = 1000;

/// With which the user sets the number of iterations in a sample.
pub(super) const SAMPLE_SIZE_VARIABLE: &str = "DIVAN_SAMPLE_SIZE";

pub(super) static DIVAN: Definition = Definition {
    dialect: Dialect::Divan,
    marks: &["DIVAN_SAMPLE|_COUNT", "DIVAN_SKIP|_EXT_TIME"],
    words: &[EXACT, MAX_TIME, SAMPLE_COUNT, SAMPLE_SIZE, SKIP_EXT_TIME, COLOR],
    exact: Some(EXACT),
    set_up: |harness, _, _| harness.supported([(COLOR, ("--color", Some("never".to_owned())))]),
    timed,
    only,
    matching,
    read: |paths| read(&text(&paths.stdout)?),
};

/// The time of the fastest iteration.
const MIN_TIME: &str = "min_time";

/// Divan's columns, in the order in which it prints them, and the metrics
/// that they are.
const COLUMNS: [(&str, Option<&str>); 4] = [
    ("fastest", Some(MIN_TIME)),
    ("slowest", None),
    ("median", Some("median_time")),
    ("mean", Some("wall_time")),
];

/// The rows of allocations, each followed by one with their number and one with their bytes, and
/// the metrics that these add to. What grows or shrinks is allocated anew.
const ALLOCATION_ROWS: [(&str, Option<&str>, Option<&str>); 4] = [
    ("alloc:", Some(ALLOCATIONS), Some(ALLOCATED_BYTES)),
    ("grow:", Some(ALLOCATIONS), Some(ALLOCATED_BYTES)),
    ("shrink:", Some(ALLOCATIONS), None),
    ("max alloc:", None, Some(PEAK_HEAP_BYTES)),
];

/// Flags for as many samples as there are in this time. They win over the attributes in
/// the code. The time is that of the samples alone: the first benchmark of a process
/// spends ten milliseconds on measuring Divan itself, and without this they would count.
///
/// A benchmark whose inputs take far longer to make than to use would then run for ever: in long
/// runs, their time counts, and a probe takes few samples.
fn timed(harness: &Harness, length: RunLength, iteration: Option<f64>) -> Vec<Flag> {
    let (time, samples, skip_ext_time) = match length {
        RunLength::Time(time) | RunLength::Traced(time) if time < LONG => (time, SAMPLES, "true"),
        RunLength::Time(time) | RunLength::Traced(time) => (time, SAMPLES, "false"),
        RunLength::Probe => (PROBE, FEW_SAMPLES, "true"),
        RunLength::Capped => (CAP, SAMPLES, "false"),
        RunLength::Own => return Vec::new(),
    };
    let mut flags = harness.supported([
        (SAMPLE_COUNT, ("--sample-count", Some(samples.to_string()))),
        (MAX_TIME, ("--max-time", seconds_of(time))),
        (SKIP_EXT_TIME, ("--skip-ext-time", Some(skip_ext_time.to_owned()))),
    ]);
    for sampled in iteration.into_iter().flat_map(|one| sampled(length, one)) {
        flags.retain(|flag| flag.0 != sampled.0);
        flags.push(sampled);
    }
    flags
}

/// The time of the fastest iteration that either side reported of a benchmark, seconds; `None` if
/// the version lacks flags for its samples.
pub(super) fn iteration(harness: &Harness, readings: [&Reading; 2]) -> Option<f64> {
    let [one, other] = readings.map(|reading| reading.values.get(MIN_TIME));
    let takes = harness.knows(SAMPLE_SIZE) && harness.knows(SAMPLE_COUNT);
    Some(one?.min(other?).max(SHORTEST)).filter(|_| takes)
}

/// Flags for a run of a single benchmark of which an iteration takes so many seconds: instead of
/// those for any benchmarks, or in addition to them. None if the run is capped, most likely because
/// inputs take long: one more iteration in a sample takes another input.
fn sampled(length: RunLength, iteration: f64) -> Vec<Flag> {
    let RunLength::Time(time) = length else { return Vec::new() };
    let iterations = ((SAMPLE / iteration).ceil() as u32).next_power_of_two();
    let mut flags = Vec::new();
    if iterations > 1 {
        flags.push(("--sample-size", Some(iterations.to_string())));
    }
    if time < LONG {
        let samples = time.as_secs_f64() / (f64::from(iterations) * iteration);
        let samples = (samples.ceil() as u32).clamp(1, SAMPLES);
        flags.push(("--sample-count", Some(samples.to_string())));
        flags.push(("--max-time", seconds_of(DISTURBED * time)));
    }
    flags
}

/// The arguments that run only these. Filters do not include the number of
/// threads.
pub(super) fn only(names: &[&str]) -> Vec<OsString> {
    let mut args = vec![OsString::from("--exact")];
    for name in names {
        args.push(name.into());
        if let Some(path) = without_threads(name).filter(|path| !args.contains(&path.into())) {
            args.push(path.into());
        }
    }
    args
}

/// The arguments with which those run that match a filter.
fn matching(filter: &str) -> Vec<OsString> {
    let paths = std::iter::once(filter).chain(without_threads(filter));
    paths.map(|path| pattern::either(path).into()).collect()
}

/// The part of a name with a number of threads that filters use.
fn without_threads(name: &str) -> Option<&str> {
    let (path, threads) = name.rsplit_once("::")?;
    let is_number = |count: &str| count.parse::<u64>().is_ok();
    threads.strip_prefix("t=").is_some_and(is_number).then_some(path)
}

/// The leaves of the tree.
pub(super) fn read(printed: &str) -> Result<Vec<Reading>, Error> {
    let mut benchmarks: Vec<Reading> = Vec::new();
    let mut rows = AllocationRows::default();
    let mut path: Vec<String> = Vec::new();
    let mut columns: Vec<String> = Vec::new();
    for line in printed.lines() {
        let (depth, rest) = indented(line);
        if depth == 0 {
            // A crate, with the columns' names behind its own.
            if let Some((name, heads)) = headed(rest) {
                path = vec![name.to_owned()];
                columns = heads;
            }
            continue;
        }
        let Some(rest) = rest.strip_prefix("├─ ").or_else(|| rest.strip_prefix("╰─ "))
        else {
            // Rows without a branch are throughputs and allocations of the leaf above.
            let mean = columns.iter().position(|column| column == "mean");
            if let (Some(leaf), Some(mean)) = (benchmarks.last_mut(), mean) {
                rows.read(rest, mean, &mut leaf.values)?;
            }
            continue;
        };
        let mut cells = rest.split('│').map(str::trim);
        let first = cells.next().unwrap_or_default();
        let cells: Vec<&str> = cells.collect();
        path.truncate(depth);
        // The first cell holds the name and the fastest time.
        let timed = first.rsplit_once(' ').and_then(|(before, unit)| {
            let (name, number) = before.rsplit_once(' ')?;
            Some((name.trim_end(), seconds(number, unit)?))
        });
        // A group has empty cells, and may have a name like `after 5 ms`.
        let has_times = cells.first().is_some_and(|cell| !cell.is_empty());
        let Some((name, fastest)) = timed.filter(|_| has_times) else {
            let name = first.strip_suffix("(ignored)").unwrap_or(first);
            path.push(name.trim_end().to_owned());
            continue;
        };
        let time = |column: usize| match column {
            0 => Some(fastest),
            column => {
                let mut words = cells.get(column - 1)?.split_whitespace();
                seconds(words.next()?, words.next()?)
            }
        };
        let mut values = Values::default();
        for (head, metric) in COLUMNS {
            let Some(metric) = metric else { continue };
            let column = columns.iter().position(|column| column == head);
            let value = column.and_then(time).ok_or_else(|| {
                Error::Unreadable(format!("there is no {head} time in `{}`", line.trim()))
            })?;
            set(&mut values, metric, value)?;
        }
        path.push(name.to_owned());
        benchmarks.push(reading(path.join("::"), values));
    }
    Ok(benchmarks)
}

/// The metrics of the next rows of allocations, the last one first.
#[derive(Default)]
struct AllocationRows {
    next: Vec<Option<&'static str>>,
}

impl AllocationRows {
    /// Adds what a row has in the column `mean` to the values of a benchmark.
    fn read(&mut self, row: &str, mean: usize, values: &mut Values) -> Result<(), Error> {
        let cells: Vec<&str> = row.split('│').map(str::trim).collect();
        if let Some((_, number, bytes)) = ALLOCATION_ROWS.iter().find(|row| row.0 == cells[0]) {
            self.next = vec![*bytes, *number];
            return Ok(());
        }
        let Some(Some(metric)) = self.next.pop() else { return Ok(()) };
        let value = cells.get(mean).and_then(|cell| amount(cell)).ok_or_else(|| {
            Error::Unreadable(format!("there is no mean of `{metric}` in `{}`", row.trim()))
        })?;
        values.add(metric, value);
        Ok(())
    }
}

/// A number, or a number of bytes.
fn amount(cell: &str) -> Option<f64> {
    let (number, unit) = cell.split_once(' ').unwrap_or((cell, "B"));
    let base: f64 = if unit.ends_with("iB") { 1024.0 } else { 1000.0 };
    let power = "BKMGTP".find(unit.chars().next()?)?;
    let value = number.parse::<f64>().ok()? * base.powi(power as i32);
    Some(if power > 0 { value.round() } else { value })
}

/// How deep in the tree a line is, and what follows its indentation: three
/// characters for each level above its own.
fn indented(line: &str) -> (usize, &str) {
    let mut rest = line;
    let mut depth = 0;
    loop {
        let next = rest.strip_prefix("│  ").or_else(|| rest.strip_prefix("   "));
        match next {
            Some(next) => (depth, rest) = (depth + 1, next),
            None if rest.starts_with(['├', '╰']) => return (depth + 1, rest),
            None => return (depth, rest),
        }
    }
}

/// The name of a crate and the names of the columns behind it.
fn headed(line: &str) -> Option<(&str, Vec<String>)> {
    let (name, _) = line.split_once(' ')?;
    let heads = line[name.len()..].split('│').map(|head| head.trim().to_owned());
    let heads: Vec<String> = heads.collect();
    (heads.first()? == COLUMNS[0].0).then_some((name, heads))
}

#[cfg(test)]
mod tests;
