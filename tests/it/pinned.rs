//! Every format, byte for byte: what the program prints and writes for
//! recorded inputs, and with which exit code it ends.
//!
//! The expected outputs are in `pinned/expected/`, with a file for each call.
//! After an intended change, `CBDR_BLESS=1 cargo test --test it pinned::`
//! writes them again; `git diff` then shows what the change did to the formats.
//!
//! The inputs are samples from `fixtures/traces` and `fixtures/recorded`, and
//! benchmarks that print recorded numbers, so that nothing depends on how fast
//! the machine is. What still differs from run to run, such as the time of day,
//! is replaced by a placeholder; each test lists what it replaces.

mod comparisons;
mod expected;
mod history;
mod samples;
mod scene;

use std::path::Path;

/// The first `count` pairs of `fixtures/traces/NAME.txt`: the wall times of two
/// runs of the same program, in seconds.
fn trace(name: &str, count: usize) -> Vec<[f64; 2]> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("fixtures/traces/{name}.txt"));
    let text = std::fs::read_to_string(path).unwrap();
    let pair = |line: &str| {
        let (first, second) = line.split_once(' ').unwrap();
        [first, second].map(|time| time.parse::<f64>().unwrap() / 1e6)
    };
    let pairs: Vec<[f64; 2]> = text.lines().take(count).map(pair).collect();
    assert_eq!(pairs.len(), count, "{name}.txt is too short");
    pairs
}
