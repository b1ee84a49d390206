#!/bin/sh
# Makes a repository with a large criterion suite: tests/many.sh NUMBER FOLDER [CRITERION]
#
# NUMBER benchmarks of 50 ns to 5 µs in one target. On the branch `main` are two commits: in
# the second, every fiftieth benchmark executes a fifth more. `tests/suites.sh PROGRAM LIMIT
# FOLDER main~1 main` then compares them.
set -eu

number=$1
folder=$2
criterion=${3:-0.7}
mkdir "$folder"
cd "$folder"
git init --quiet --initial-branch main
git config user.name many
git config user.email many@example.com
mkdir src benches
cat > Cargo.toml <<TOML
[package]
name = "many"
version = "0.1.0"
edition = "2021"

[dev-dependencies]
criterion = { version = "$criterion", default-features = false }

[[bench]]
name = "many"
harness = false
TOML
printf 'target\n' > .gitignore
cat > src/lib.rs <<'RUST'
/// How often benchmark `N` mixes its state.
pub const fn rounds(n: u64) -> u64 {
    30 + n % 17 * 170
}

/// A function of its own for each `N`.
#[inline(never)]
pub fn work<const N: u64>(seed: u64) -> u64 {
    let mut state = seed ^ N;
    for _ in 0..rounds(N) {
        state = (state ^ (state >> 31)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }
    state
}
RUST
{
    printf 'use criterion::{criterion_group, criterion_main, Criterion};\nuse std::hint::black_box;\n\n'
    printf 'fn all(criterion: &mut Criterion) {\n'
    n=0
    while [ "$n" -lt "$number" ]; do
        printf '    criterion.bench_function("work/%03d", |bencher| bencher.iter(|| many::work::<%d>(black_box(1))));\n' "$n" "$n"
        n=$((n + 1))
    done
    printf '}\n\ncriterion_group!(benches, all);\ncriterion_main!(benches);\n'
} > benches/many.rs
git add .
git commit --quiet --message "$number benchmarks"
sed 's/^    30 + n % 17 \* 170$/    let usual = 30 + n % 17 * 170;\n    if n % 50 == 0 { usual + usual \/ 5 } else { usual }/' src/lib.rs > lib.rs
mv lib.rs src/lib.rs
git commit --quiet --all --message "Every fiftieth benchmark executes a fifth more"
