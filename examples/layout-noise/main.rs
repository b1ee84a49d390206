//! The effect of code placement on the benchmarks of a suite, from the samples of
//! comparisons of one source with itself over layouts.
//!
//! ```text
//! cargo cbdr compare --aa --layouts 24 --threshold 0.01% --samples work.csv
//! cargo run --release --example layout-noise -- work.csv
//! ```
//!
//! With a threshold that is too small for a verdict, all layouts are sampled; their rows
//! are in `work.layouts.csv`. *slow / fast* are the 90th and the 10th percentile of the
//! layouts. The folder `work` next to this file is a suite of small workloads of well-known
//! crates.

#![allow(clippy::print_stdout, missing_docs)]

use std::fs::File;
use std::path::Path;

use cargo_cbdr::model::metric::Units;
use cargo_cbdr::samples::{RecordedPairs, Recording};
use cargo_cbdr::stats::empirical::{nearest, sorted, typical_deviation};

const METRIC: &str = "median_time";

fn main() {
    println!("| benchmark | layouts | sd between layouts | slow / fast | sd of a pair as built |");
    println!("|---|--:|--:|--:|--:|");
    for path in std::env::args().skip(1) {
        let path = Path::new(&path);
        print(&read(path), &read(&path.with_extension("layouts.csv")));
    }
}

fn read(path: &Path) -> Recording {
    let mut recording = Recording::new(None, Units::new());
    let mut file = File::open(path).expect("the file of samples is there");
    recording.read(&mut file, &path.display().to_string()).expect("it holds samples");
    recording
}

/// Prints a row for each benchmark.
fn print(as_built: &Recording, over: &Recording) {
    let logs = |recording: &Recording, pairs: &RecordedPairs| -> Vec<f64> {
        let pairs = recording.pairs(pairs, METRIC);
        pairs.map(|(_, pair)| (pair.head / pair.base).ln()).collect()
    };
    let label = |recording: &Recording, pairs: &RecordedPairs| -> String {
        recording.labels().nth(pairs.labels.base).unwrap_or_default().to_owned()
    };
    for pairs in over.comparisons() {
        let name = label(over, pairs);
        let mut built = as_built.comparisons().iter();
        let built = built.find(|one| label(as_built, one) == name);
        let times = over.pairs(pairs, METRIC).flat_map(|(_, pair)| [pair.base, pair.head]);
        let times = sorted(times);
        // The machine disturbs some of them.
        let (Some(fast), Some(slow)) = (nearest(&times, 0.1), nearest(&times, 0.9)) else {
            continue;
        };
        // Each unit has a layout of both sides.
        let layouts = typical_deviation(&logs(over, pairs)) / 2.0_f64.sqrt();
        let pair = built.map_or(f64::NAN, |one| typical_deviation(&logs(as_built, one)));
        println!(
            "| {} | {} | {:.2} % | {:+.1} % | {:.2} % |",
            name.trim_end_matches("/base"),
            times.len(),
            100.0 * layouts,
            100.0 * (slow / fast - 1.0),
            100.0 * pair,
        );
    }
}
