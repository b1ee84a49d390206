//! The measured programs: CPU-bound, memory-bound, and short.

use std::hint::black_box;

/// Names and descriptions.
pub const PROGRAMS: [(&str, &str); 3] = [
    ("cpu", "A CPU-bound program"),
    ("memory", "A memory-bound program, 32 MB"),
    ("short", "A short program"),
];

/// Runs the program of this name.
pub fn work(name: &str) {
    match name {
        "cpu" => compute(16_000_000),
        "memory" => chase(1 << 22, 300_000),
        "short" => compute(400_000),
        other => panic!("no work is called `{other}`"),
    }
}

fn compute(rounds: u64) {
    let mut sum = 1u64;
    for round in 0..rounds {
        sum = black_box(sum).wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(round);
    }
    black_box(sum);
}

/// Chases unpredictable indices through an array of `places` 8-byte numbers.
fn chase(places: usize, steps: usize) {
    let mut memory = vec![0u64; places];
    for (number, place) in memory.iter_mut().enumerate().step_by(8) {
        *place = number as u64;
    }
    let mut at = 0usize;
    for step in 0..steps {
        let mixed = (memory[at] ^ step as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        at = (mixed >> 40) as usize % places;
    }
    black_box(at);
}
