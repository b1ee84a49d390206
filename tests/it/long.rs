//! Very many samples need no more memory than a few.

use std::io::{BufWriter, Write};
use std::process::Stdio;

use crate::support::{Cbdr, Random, setting};

/// The peak memory, in KiB, of `analyze --threshold 2%` after it has read the first and
/// the second number of pairs (except for what is in the pipe). There is no verdict,
/// since the change is the threshold and every second pair mirrors the one before.
fn peaks(pairs: [u64; 2]) -> [u64; 2] {
    let folder = crate::support::scratch();
    let cbdr = Cbdr::new(folder.path(), &folder.path().join("cache"));
    let mut command = cbdr.args(["analyze", "--threshold", "2%"]).into_command();
    let piped = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = piped.spawn().unwrap();
    let mut rows = BufWriter::new(child.stdin.take().unwrap());
    let status = format!("/proc/{}/status", child.id());
    let mut random = Random::new(71);
    let (mut written, mut peaks) = (0, [0; 2]);
    writeln!(rows, "benchmark,wall_time").unwrap();
    for (number, peak) in pairs.into_iter().zip(&mut peaks) {
        while written < number {
            let (base, noise) = (0.1 + 0.01 * random.unit(), 0.06 * (random.unit() - 0.5));
            for noise in [noise, -noise] {
                writeln!(rows, "base,{base}\nhead,{}", base * 1.02 * (1.0 + noise)).unwrap();
            }
            written += 2;
        }
        rows.flush().unwrap();
        let text = std::fs::read_to_string(&status).unwrap();
        let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
        *peak = line.split_whitespace().next().unwrap().parse().unwrap();
    }
    drop(rows);
    let output = child.wait_with_output().unwrap();
    let stdout = String::from_utf8(output.stdout).unwrap();
    assert!(stdout.contains("inconclusive"), "{stdout}");
    peaks
}

#[test]
fn samples_without_end_take_the_memory_of_some() {
    // `CBDR_LONG_PAIRS=40000000` are the pairs of a day.
    let [before, after] = peaks([160_000, setting("CBDR_LONG_PAIRS", 280_000)]);
    // Kept one by one, the values of 120,000 pairs are 5,760 kB.
    assert!(after < before + 4000, "{before} {after}");
}
