//! New files for the executables as built, for each pair or every few pairs.
//!
//! Which pages of memory a file lies in makes a program faster or slower, and stays so for as long
//! as the file is there. So it is noise of a side, not of a pair, and more pairs do not help
//! against it: `cargo run --release --example error-rates -- --files` simulates that. With new
//! files it becomes noise of a few pairs.

use std::time::{Duration, Instant};

use crate::exec::execution::SideProgram;
use crate::model::{Pair, Side};

/// The part of the time that copying may take. Copying 5 MB takes 1 ms, so that there are new
/// files for each pair; 40 MB take 30 ms, 200 MB 250 ms.
const SHARE: f64 = 0.05;

/// When the executables of both sides are replaced by copies.
#[derive(Debug, Default)]
pub(super) struct Renewal {
    /// When it was done last.
    last: Option<Instant>,
    /// How long that took.
    took: Duration,
    is_impossible: bool,
}

impl Renewal {
    /// Copies both executables, if the time since the last copies is long enough.
    pub(super) fn before_pair(&mut self, sides: &Pair<SideProgram>) {
        let since = self.last.map_or(Duration::MAX, |last| last.elapsed());
        if self.is_impossible || since.as_secs_f64() * SHARE < self.took.as_secs_f64() {
            return;
        }
        let begin = Instant::now();
        // Even if the first fails, so that both are in the same state.
        let are_new = Side::BOTH.map(|side| sides[side].renew());
        self.is_impossible = are_new.contains(&false);
        self.took = begin.elapsed();
        self.last = Some(Instant::now());
    }
}
