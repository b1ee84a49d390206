//! The crate bencher: `#[bench]` functions on a stable compiler, in lines like
//! libtest's.
//!
//! `wall_time` is the median time of an iteration, seconds. Bencher truncates it
//! to whole nanoseconds, and repeats until its own statistics settle, so the time
//! of its process says nothing about the code. No flag makes a run shorter: see
//! `execution/round.rs`.

use std::ffi::OsString;

use super::definition::{Definition, NO_HARNESS};
use super::libtest;
use super::report::text;
use crate::model::dialect::Dialect;

/// Part of its output for each benchmark.
const TIME: &str = " ns/iter (+/- ";

pub(super) static BENCHER: Definition = Definition {
    dialect: Dialect::Bencher,
    // The end of its last line, which libtest continues. Criterion's imitation
    // lacks it.
    marks: &[" ns/iter| (+/- ", " measured|\n\n"],
    words: &[TIME],
    // All versions accept one filter.
    exact: Some(TIME),
    only,
    matching: |filter| vec![filter.into()],
    read: |paths| libtest::read(&text(&paths.stdout)?),
    ..NO_HARNESS
};

/// The argument that runs these benchmarks, and perhaps others: bencher accepts a
/// single text and searches for it in the names. So it is the longest one that all
/// names contain.
pub(super) fn only(names: &[&str]) -> Vec<OsString> {
    common(names).map(OsString::from).into_iter().collect()
}

/// The longest text that all names contain, the first of several; `None` if there is none.
fn common<'a>(names: &[&'a str]) -> Option<&'a str> {
    let shortest = *names.iter().min_by_key(|name| name.len())?;
    let ends = |start: usize| (start + 1..=shortest.len()).rev().map(move |end| start..end);
    let mut best: Option<&str> = None;
    for start in 0..shortest.len() {
        let shared = ends(start)
            .take_while(|range| best.is_none_or(|best| range.len() > best.len()))
            .filter_map(|range| shortest.get(range))
            .find(|part| names.iter().all(|name| name.contains(part)));
        best = shared.or(best);
    }
    best
}
