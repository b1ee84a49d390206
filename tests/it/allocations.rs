//! Allocations, counted beside what the program counts itself.

use serde_json::Value;

use crate::support::{Repo, metric, skipped, static_linking};

/// Counts what it allocates, and prints it as JSON. As a benchmark of a harness, it prints a time,
/// and executes what it times once where it is told to test; its set-up allocates, too.
const PROGRAM: &str = r#"
use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::Instant;

struct Counting;
static CALLS: AtomicUsize = AtomicUsize::new(0);
static BYTES: AtomicUsize = AtomicUsize::new(0);

unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        CALLS.fetch_add(1, Relaxed);
        BYTES.fetch_add(layout.size(), Relaxed);
        System.alloc(layout)
    }
    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        System.dealloc(block, layout)
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn work() -> Vec<Vec<u8>> {
    let mut all = Vec::with_capacity(64);
    all.extend((0..steady::BLOCKS).map(|size| vec![1; 100 + size]));
    all
}

fn main() {
    let args: Vec<String> = std::env::args().collect();
    if std::env::var_os("CRITERION_HOME").is_none() {
        std::hint::black_box(work());
        println!("{{\"calls\": {CALLS:?}, \"bytes\": {BYTES:?}}}");
        return;
    }
    // These are in all executables of the harness: save-baseline warm-up-time noise-threshold
    let known = ["warm-up-time", "save-baseline", "noise-threshold", "discard-baseline", "measurement-time"];
    let setup: Vec<String> = (0..1000).map(|number| number.to_string()).collect();
    std::hint::black_box((&setup, known));
    if args.iter().any(|arg| arg.contains("no benchmark")) {
        return;
    }
    // Others than that which is timed may read the clock.
    std::hint::black_box((Instant::now(), vec![1; 700], Instant::now()));
    let tests = args.iter().any(|arg| arg == "--test");
    if tests {
        println!("Testing one");
    }
    let (_before, start) = (Instant::now(), Instant::now());
    let done = std::hint::black_box(work());
    let (taken, _after) = (start.elapsed(), Instant::now());
    drop(done);
    if tests {
        println!("Success");
        std::hint::black_box((vec![1; 700], Instant::now()));
    } else {
        let time = format!("{:.3} us", taken.as_secs_f64() * 1e6);
        println!("one  time:   [{time} {time} {time}]");
    }
}
"#;

/// A program that allocates so many blocks on main, and one more on a branch.
fn one_more(than: usize) -> Repo {
    let repo = Repo::new("library");
    let manifest = std::fs::read_to_string(repo.path().join("Cargo.toml")).unwrap();
    repo.write("Cargo.toml", &format!("{manifest}\n[profile.bench]\nopt-level = 1\n"));
    repo.write("benches/work.rs", PROGRAM);
    let write = |blocks: usize| {
        repo.write("src/lib.rs", &format!("pub const BLOCKS: usize = {blocks};\n"));
        repo.commit("blocks");
    };
    write(than);
    repo.branch("feature");
    write(than + 1);
    repo
}

fn both(object: &Value, name: &str) -> [f64; 2] {
    ["base", "head"].map(|side| metric(object, name)[side].as_f64().unwrap())
}

#[test]
fn one_allocation_more_is_found_in_eight_pairs_and_counted_as_the_program_does() {
    if !cfg!(target_os = "linux") {
        return;
    }
    let repo = one_more(40);
    let args = "compare main --harness json --metric allocations --threshold 1% --show wall_time \
                --format json --layouts off";
    let object = repo.cbdr(args).run().code(100).json();
    assert_eq!(object["verdict"], "regression");
    assert_eq!(object["benchmarks"][0]["pairs"], 8, "{object}");
    assert!(
        object["notices"].to_string().contains("does not use `malloc` are not counted"),
        "{object}"
    );
    for (counted, own, by) in [("allocations", "calls", 1.0), ("allocated_bytes", "bytes", 140.0)] {
        let ([base, head], [own_base, own_head]) = (both(&object, counted), both(&object, own));
        // The mean of equal counts is not exactly that count.
        assert_eq!([(head - base).round(), own_head - own_base], [by, by], "{object}");
        // The C library has some of its own.
        assert!(base >= own_base && base - own_base < 4096.0, "{object}");
    }
    let [base, head] = both(&object, "peak_heap_bytes");
    assert!((140.0..200.0).contains(&(head - base)), "{object}");
}

#[test]
fn of_a_benchmark_is_counted_what_is_timed() {
    if !cfg!(target_os = "linux") {
        return;
    }
    let repo = one_more(9);
    let args = "compare main --harness criterion --metric allocations \
                --threshold 5% --format json --layouts off";
    let object = repo.cbdr(args).run().code(100).json();
    assert_eq!(object["benchmarks"][0]["name"], "one");
    assert_eq!(object["benchmarks"][0]["pairs"], 8, "{object}");
    // Ten blocks, and the one that holds them.
    assert_eq!(both(&object, "allocations"), [10.0, 11.0]);
    let of = |blocks: f64| blocks * 100.0 + blocks * (blocks - 1.0) / 2.0 + 64.0 * 24.0;
    assert_eq!(both(&object, "allocated_bytes"), [of(9.0), of(10.0)]);
}

#[test]
fn allocations_that_are_not_seen_are_an_error_and_not_zero() {
    if !cfg!(target_os = "linux") {
        return;
    }
    let repo = one_more(9);
    repo.replace("benches/work.rs", "\"measurement-time\"", "\"<jemalloc>\"");
    repo.commit("another allocator");
    let compare = || repo.cbdr("compare main --harness plain --metric allocations --exact-base");
    compare().run().code(101).says("jemalloc, which does not use `malloc`");
    let repo = one_more(9);
    let linking = static_linking();
    if !linking.contains("crt-static") {
        return skipped("there is no C library for static linking");
    }
    repo.write(".cargo/config.toml", &linking);
    repo.commit("static");
    let compare = || repo.cbdr("compare main --harness plain --metric allocations --exact-base");
    compare().run().code(101).says("linked statically");
}

#[test]
fn what_can_not_be_executed_once_is_not_counted() {
    let repo = Repo::new("suite");
    repo.branch("feature");
    repo.replace("src/lib.rs", "2000.0", "2001.0");
    repo.commit("change");
    let compare = repo.cbdr("compare main --harness libtest --metric allocations");
    let ran = compare.env("RUNS", repo.around().join("runs")).run().code(101);
    ran.says("`allocations` of the benchmarks of").says("`--harness plain`");
}
