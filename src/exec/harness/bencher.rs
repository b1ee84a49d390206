//! The crate bencher: `#[bench]` functions on a stable compiler, in lines like
//! libtest's.
//!
//! `wall_time` is the median time of an iteration, seconds. Bencher cuts it down
//! to whole nanoseconds, and repeats until its own statistics settle: a run can't
//! be made shorter, and how long its process takes says nothing of the code.

use std::ffi::OsString;

use super::{Definition, libtest, text};
use crate::model::dialect::Dialect;

/// In what it prints of each benchmark.
const TIME: &str = " ns/iter (+/- ";

pub(super) static BENCHER: Definition = Definition {
    dialect: Dialect::Bencher,
    // The end of its last line, which libtest continues. Criterion's imitation
    // lacks it.
    marks: &[" ns/iter| (+/- ", " measured|\n\n"],
    words: &[TIME],
    // All versions take one filter.
    exact: Some(TIME),
    set_up: |_, _, _| Vec::new(),
    timed: |_, _| Vec::new(),
    only,
    matching: |filter| vec![filter.into()],
    read: |paths| libtest::read(&text(&paths.stdout)?),
};

/// The argument with which these run, and perhaps others: bencher takes a single
/// text that it looks for in the names. So it is the longest that all of them hold.
pub(super) fn only(names: &[&str]) -> Vec<OsString> {
    common(names).map(OsString::from).into_iter().collect()
}

/// The longest text that all names hold, the first of several; `None` if there is none.
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
