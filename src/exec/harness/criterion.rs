//! Criterion.rs, 0.3 and later.
//!
//! Criterion stores the iterations and times of each sample in files, with all
//! digits, and prints an estimate with five. The files are read if there are
//! any; a benchmark that sets its own output folder leaves none in ours, and
//! then its output is parsed. `wall_time` is the mean time of an iteration,
//! `median_time` and `min_time` the median and the minimum of the run's
//! samples, in seconds; the printed form only has `wall_time`, Criterion's own
//! estimate. Of a hundred samples or more, there is also the 99th percentile, `p99_time`. A
//! measurement that is not of time has `value`, `median_value` and
//! `min_value` instead.
//!
//! Criterion's own comparison with an earlier run is never used: each run gets
//! an empty folder.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use serde::Deserialize;

use super::definition::{CAP, Definition, Flag, Harness, PROBE, seconds_of};
use super::pattern::{self, PICTURES, escape};
use super::report::{Error, bytes, reading, seconds, set, text};
use crate::error::FileError;
use crate::model::run_length::RunLength;
use crate::model::{Dialect, Reading, Values};
use crate::stats::empirical::{median, quantile, sorted};

/// Names the folder for the files. It also spares Criterion a call of
/// `cargo metadata`, which takes a tenth of a second.
const HOME: &str = "CRITERION_HOME";

/// Under cargo-criterion nothing is printed or written.
pub(super) const PORT: &str = "CARGO_CRITERION_PORT";

/// In all versions; the filter is a regular expression.
const EXACT: &str = "warm-up-time";

/// Introduced together with fractions of seconds and the quick mode, in 0.4.
const FRACTIONS: &str = "discard-baseline";

pub(super) static CRITERION: Definition = Definition {
    dialect: Dialect::Criterion,
    // Flags only: an optimized executable need not have the name of a variable as text. Those of nom, built
    // with LTO, lack `CRITERION_HOME`.
    marks: &["noise-|threshold", "warm-up|-time", "save-|baseline"],
    words: &[EXACT, FRACTIONS, "measurement-time", "sample-size", "nresamples", "noplot"],
    exact: Some(EXACT),
    set_up: |harness, command, paths| {
        command.set_var(HOME, paths.output.clone());
        command.env.retain(|(name, _)| name != PORT);
        flags(harness)
    },
    timed,
    only,
    matching: |filter| vec![pattern::either(filter).into()],
    read: |paths| {
        let mut readings = read(&text(&paths.stdout)?, &paths.output)?;
        number(&mut readings);
        Ok(readings)
    },
};

/// The metrics of a benchmark: mean, median and minimum.
const TIMES: [&str; 3] = ["wall_time", "median_time", "min_time"];

/// Those of a measurement that is not of time.
const VALUES: [&str; 3] = ["value", "median_value", "min_value"];

/// The 99th percentile of the samples of a run.
pub(super) const P99: &str = "p99_time";

/// The fewest samples that it takes, and with which such a percentile means something.
const FEWEST_SAMPLES: usize = 10;
const SAMPLES_OF_PERCENTILE: usize = 100;

/// The minimum time in versions without fractions.
const SECOND: Duration = Duration::from_secs(1);

/// The minimum warm-up time of a benchmark.
const LEAST_WARM_UP: Duration = Duration::from_millis(1);

/// Flags for little work beside the measuring: no plots, and hardly any resampling, whose
/// intervals are not used.
fn flags(harness: &Harness) -> Vec<Flag> {
    let resamples = ("--nresamples", Some("2".to_owned()));
    harness.supported([("noplot", ("--noplot", None)), ("nresamples", resamples)])
}

/// Flags for ten samples, or a hundred, in this time after a warm-up of half of it, where fractions of
/// seconds are understood. What a group sets in the benchmark's code wins over them.
///
/// Nothing but the quick mode wins over the code. It has no warm-up and ends when two runs
/// of n and 2n iterations agree within the significance level, but not before a tenth of
/// a second, or when the measurement time is over. It takes no sample size, so that no percentile
/// comes of it.
fn timed(harness: &Harness, length: RunLength, _: Option<f64>) -> Vec<Flag> {
    let quick = |time: Duration| {
        let significance = ("--significance-level", Some("0.99".to_owned()));
        vec![("--quick", None), significance, ("--measurement-time", seconds_of(time))]
    };
    let samples = if harness.has_percentiles { SAMPLES_OF_PERCENTILE } else { FEWEST_SAMPLES };
    let time = match length {
        RunLength::Own => return Vec::new(),
        RunLength::Time(time) => time,
        RunLength::Probe => PROBE,
        RunLength::Capped => CAP,
        // There is no warm-up, which would take half of it.
        RunLength::Traced(time) => 2 * time,
    };
    let (warm_up, time) = match length {
        _ if takes_seconds(harness) => (SECOND, SECOND),
        RunLength::Time(_) => ((time / 2).max(LEAST_WARM_UP), time),
        _ if !harness.has_percentiles => return quick(time),
        _ => ((time / 2).max(LEAST_WARM_UP), time),
    };
    harness.supported([
        (EXACT, ("--warm-up-time", seconds_of(warm_up))),
        ("measurement-time", ("--measurement-time", seconds_of(time))),
        ("sample-size", ("--sample-size", Some(samples.to_string()))),
    ])
}

/// Whether it accepts whole seconds only, as versions before 0.4 do.
pub(super) fn takes_seconds(harness: &Harness) -> bool {
    !harness.knows(FRACTIONS)
}

/// The argument with which only these run: Criterion's filter is a regular
/// expression that is looked for in the name.
pub(super) fn only(names: &[&str]) -> Vec<OsString> {
    let exactly = |name: &&str| match unnumbered(name) {
        Some((name, number)) => format!("{}(?:{})?", escape(name), escape(number)),
        None => escape(name),
    };
    let patterns: Vec<String> = names.iter().map(exactly).collect();
    vec![format!("^(?:{})$", patterns.join("|")).into()]
}

/// A name without the number that [`number`] may have added, and the end that holds it.
fn unnumbered(name: &str) -> Option<(&str, &str)> {
    let at = name.rfind(" #")?;
    let digits = &name[at + 2..];
    let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| name.split_at(at))
}

/// Criterion runs several benchmarks of one name, and its filter selects all of them. The later
/// ones are numbered.
fn number(readings: &mut [Reading]) {
    let mut counts = BTreeMap::new();
    for name in readings.iter_mut().filter_map(|reading| reading.benchmark.as_mut()) {
        let count = counts.entry(name.clone()).and_modify(|count| *count += 1).or_insert(1);
        if *count > 1 {
            *name = format!("{name} #{count}");
        }
    }
}

/// A name on one line: a line end as `␊`, and other control characters likewise.
fn on_one_line(name: &str) -> String {
    let picture = |c| char::from_u32(PICTURES + c as u32).filter(|_| c < ' ').unwrap_or(c);
    name.chars().map(picture).collect()
}

/// A name in a list is cut if it is longer than this, bytes.
const LONGEST_LISTED: usize = 96;

/// The names in a list of benchmarks; `None` if one of them may be cut, or is that of several.
pub(super) fn listed(printed: &str) -> Option<Vec<String>> {
    let ends = [": benchmark", ": bench"];
    let name = |line: &str| ends.iter().find_map(|end| line.strip_suffix(end).map(str::to_owned));
    let names: Vec<String> = printed.lines().filter_map(name).collect();
    let is_whole = names.iter().all(|name| name.len() <= LONGEST_LISTED);
    let different: BTreeSet<&String> = names.iter().collect();
    (is_whole && different.len() == names.len()).then_some(names)
}

/// The benchmarks in the files, else in the text.
pub(super) fn read(printed: &str, folder: &Path) -> Result<Vec<Reading>, Error> {
    let mut found = Vec::new();
    find(folder, &mut found)?;
    if found.is_empty() {
        return lines(printed);
    }
    // In the order in which they ran.
    found.sort();
    // Criterion counts nanoseconds.
    let (metrics, unit) = if is_time(printed) { (TIMES, 1e9) } else { (VALUES, 1.0) };
    found.iter().map(|(_, folder)| of_files(folder, metrics, unit)).collect()
}

/// `sample.json`.
#[derive(Deserialize)]
struct Times {
    iters: Vec<f64>,
    times: Vec<f64>,
}

/// `benchmark.json`.
#[derive(Deserialize)]
struct About {
    full_id: String,
    /// None in the first versions.
    throughput: Option<serde_json::Value>,
}

/// One benchmark. Its values are divided by `unit`.
fn of_files(folder: &Path, metrics: [&str; 3], unit: f64) -> Result<Reading, Error> {
    let About { full_id, throughput } = parse(&folder.join("benchmark.json"))?;
    let Times { iters, times } = parse(&folder.join("sample.json"))?;
    let each = sorted(times.iter().zip(&iters).map(|(time, count)| time / count));
    let (Some(least), Some(median)) = (each.first(), median(&each)) else {
        return Err(Error::Unreadable(format!("`{full_id}` has no samples")));
    };
    let mean = times.iter().sum::<f64>() / iters.iter().sum::<f64>();
    let mut values = Values::default();
    for (name, value) in metrics.into_iter().zip([mean, median, *least]) {
        set(&mut values, name, value / unit)?;
    }
    if let Some(p99) = quantile(&each, 0.99)
        && each.len() >= SAMPLES_OF_PERCENTILE
        && metrics == TIMES
    {
        set(&mut values, P99, p99 / unit)?;
    }
    let amount = throughput.as_ref().and_then(amount);
    Ok(Reading { amount, ..reading(on_one_line(&full_id), values) })
}

/// The amount in a throughput such as `{"Bytes": 1024}`.
fn amount(throughput: &serde_json::Value) -> Option<String> {
    let (kind, amount) = throughput.as_object()?.iter().next()?;
    Some(match kind.as_str() {
        "Bytes" | "BytesDecimal" => format!("{amount} bytes"),
        "Elements" => format!("{amount} elements"),
        _ => throughput.to_string(),
    })
}

fn parse<T: for<'a> Deserialize<'a>>(path: &Path) -> Result<T, Error> {
    let parsed = serde_json::from_slice(&bytes(path)?).map_err(std::io::Error::from);
    Ok(parsed.map_err(FileError::new("read", path))?)
}

/// The folders of this run's results below `folder`, with the time of each.
fn find(folder: &Path, found: &mut Vec<(SystemTime, PathBuf)>) -> Result<(), Error> {
    let failed = || FileError::new("read", folder);
    let entries = match std::fs::read_dir(folder) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
        entries => entries.map_err(failed())?,
    };
    for entry in entries {
        let entry = entry.map_err(failed())?;
        let path = entry.path();
        if !entry.file_type().map_err(failed())?.is_dir() {
            continue;
        }
        let sample = path.join("sample.json");
        match std::fs::metadata(&sample).and_then(|about| about.modified()) {
            // Criterion copies `new` to `base` for its next run.
            Ok(time) if entry.file_name() == "new" => found.push((time, path)),
            Ok(_) => {}
            Err(_) => find(&path, found)?,
        }
    }
    Ok(())
}

/// The estimate in a line such as `NAME  time:   [1.0 ns 1.1 ns 1.2 ns]`: what
/// stands before it, the number and its unit.
fn estimate(line: &str) -> Option<(&str, &str, &str)> {
    // The last one: a name may contain it, too.
    let (before, rest) = line.rsplit_once("time:")?;
    let numbers = rest.trim_start().strip_prefix('[')?.split_once(']')?.0;
    let words: Vec<&str> = numbers.split_whitespace().collect();
    match words.as_slice() {
        [_, _, number, unit, _, _] => Some((before.trim_end(), number, unit)),
        _ => None,
    }
}

/// Whether time is measured, judging by the text.
fn is_time(printed: &str) -> bool {
    let first = printed.lines().find_map(estimate);
    first.is_none_or(|(_, number, unit)| seconds(number, unit).is_some())
}

/// The benchmarks in the text. A long name has the line before the estimate
/// to itself.
fn lines(printed: &str) -> Result<Vec<Reading>, Error> {
    let mut benchmarks = Vec::new();
    let mut before = "";
    for line in printed.lines() {
        if let Some((name, number, unit)) = estimate(line) {
            let name = if name.is_empty() { before.trim_end() } else { name };
            let mut values = Values::default();
            match (seconds(number, unit), number.parse()) {
                (Some(time), _) => set(&mut values, TIMES[0], time)?,
                (None, Ok(value)) => set(&mut values, VALUES[0], value)?,
                (None, Err(_)) => {
                    return Err(Error::Unreadable(format!("there is no number in `{line}`")));
                }
            }
            benchmarks.push(reading(name, values));
        }
        before = line;
    }
    Ok(benchmarks)
}

#[cfg(test)]
mod tests;
