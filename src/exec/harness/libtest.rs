//! Rust's own test harness with `#[bench]`, and what prints as it does:
//! `test NAME ... bench:  1,234.56 ns/iter (+/- 7)`.
//!
//! `wall_time` is the harness's own estimate of the time of an iteration,
//! seconds: the median of its samples. No flag makes a run shorter: see
//! `execution/round.rs`.

use std::ffi::OsString;

use super::definition::{Definition, NO_HARNESS};
use super::report::{Error, reading, seconds, set, text};
use crate::model::{Dialect, Reading, Values};

/// In the help of those that know `--exact`.
const EXACT: &str = "Exactly match filters";

/// In the help of those that execute benchmarks once, as tests, where `--bench` is missing.
pub(super) const BENCH_HELP: &str = "Run benchmarks instead of tests";

pub(super) static LIBTEST: Definition = Definition {
    dialect: Dialect::Libtest,
    marks: &["Exactly match filters |rather than by substring"],
    words: &[EXACT, BENCH_HELP],
    exact: Some(EXACT),
    only,
    matching: |filter| vec![filter.into()],
    read: |paths| read(&text(&paths.stdout)?),
    ..NO_HARNESS
};

pub(super) fn only(names: &[&str]) -> Vec<OsString> {
    let flag = std::iter::once("--exact");
    flag.chain(names.iter().copied()).map(OsString::from).collect()
}

/// The benchmarks in the lines of a run.
pub(super) fn read(printed: &str) -> Result<Vec<Reading>, Error> {
    let mut benchmarks = Vec::new();
    for line in printed.lines() {
        let Some((name, rest)) =
            line.strip_prefix("test ").and_then(|line| line.split_once(" ... bench:"))
        else {
            continue;
        };
        let bad = || Error::Unreadable(format!("there is no time in `{line}`"));
        let mut words = rest.split_whitespace();
        let (number, unit) = words.next().zip(words.next()).ok_or_else(bad)?;
        let unit = unit.strip_suffix("/iter").ok_or_else(bad)?;
        let mut values = Values::default();
        set(&mut values, "wall_time", seconds(number, unit).ok_or_else(bad)?)?;
        benchmarks.push(reading(name.trim_end(), values));
    }
    Ok(benchmarks)
}

#[cfg(test)]
mod tests;
