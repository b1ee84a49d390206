use std::time::Duration;

use crate::exec::harness::report::reading;
use crate::exec::harness::tests::{assert_times, command};
use crate::exec::harness::*;
use crate::model::Values;

#[test]
fn divan_takes_as_many_samples_as_there_are_in_the_time_of_the_samples_alone() {
    let known = "max-time sample-count skip-ext-time color exact";
    let words = |argv: &str, length| command(Dialect::Divan, known, argv, length).shown();
    let one = RunLength::Time(Duration::from_millis(1));
    let expected = "--sample-count 50000 --max-time 0.001 --skip-ext-time true";
    assert_eq!(words("bench", one), format!("bench --color never {expected}"));
    // The time that inputs take counts, or there are few of them.
    for length in [RunLength::Capped, RunLength::LONG] {
        let expected = "--sample-count 50000 --max-time 0.1 --skip-ext-time false";
        assert_eq!(words("bench", length), format!("bench --color never {expected}"));
    }
    let expected = "--sample-count 3 --max-time 0.001 --skip-ext-time true";
    assert_eq!(words("bench", RunLength::Probe), format!("bench --color never {expected}"));
    // Flags of the user's own stay.
    let expected = "bench '--max-time=2' --sample-count 5 --color never --skip-ext-time true";
    assert_eq!(words("bench --max-time=2 --sample-count 5", one), expected);
}

#[test]
fn a_run_of_one_benchmark_has_as_many_samples_of_four_microseconds_as_it_is_long() {
    let divan = Harness::new(Dialect::Divan, Some(b"exact max-time sample-count sample-size"));
    let flags = |length, iteration, given: &[OsString]| {
        let words = divan.timed(length, Some(iteration), given).into_iter();
        words.map(|word| word.into_string().unwrap()).collect::<Vec<_>>().join(" ")
    };
    let milliseconds = |number| RunLength::Time(Duration::from_millis(number));
    let table = [
        (1, 39.72e-9, "--sample-size 128 --sample-count 197 --max-time 1"),
        (3, 39.72e-9, "--sample-size 128 --sample-count 591 --max-time 3"),
        (1, 2.5e-9, "--sample-size 2048 --sample-count 196 --max-time 1"),
        (1, 3e-6, "--sample-size 2 --sample-count 167 --max-time 1"),
        (1, 40e-6, "--sample-count 25 --max-time 1"),
        (1, 5e-3, "--sample-count 1 --max-time 1"),
        (100, 39.72e-9, "--sample-count 50000 --max-time 0.1 --sample-size 128"),
    ];
    for (length, iteration, expected) in table {
        assert_eq!(flags(milliseconds(length), iteration, &[]), expected);
    }
    let capped = flags(RunLength::Capped, 39.72e-9, &[]);
    assert_eq!(capped, "--sample-count 50000 --max-time 0.1");
    // A flag of the user's own stays.
    let given = ["--sample-size=8".into()];
    assert_eq!(flags(milliseconds(1), 4e-8, &given), "--sample-count 196 --max-time 1");
}

#[test]
fn the_fastest_iteration_of_both_sides_counts_unless_the_user_says_how_to_sample() {
    let divan = |words: &[u8]| Harness::new(Dialect::Divan, Some(words));
    let reading = |time| reading("a", Values::from_iter([("min_time", time)]));
    let iteration = |harness: &Harness, command: &Command, times: [f64; 2]| {
        let [base, head] = times.map(reading);
        harness.iteration(command, [&base, &head])
    };
    let (known, usual) = (divan(b"sample-count sample-size"), Command::default());
    assert_eq!(iteration(&known, &usual, [5e-8, 4e-8]), Some(4e-8));
    assert_eq!(iteration(&known, &usual, [4e-8, 5e-8]), Some(4e-8));
    assert_eq!(iteration(&known, &usual, [0.0, 5e-8]), Some(2.5e-9));
    let env = vec![("DIVAN_SAMPLE_SIZE".into(), "1".into())];
    assert_eq!(iteration(&known, &Command { env, ..usual.clone() }, [4e-8; 2]), None);
    assert_eq!(iteration(&divan(b"sample-count"), &usual, [4e-8; 2]), None);
    let criterion = Harness::new(Dialect::Criterion, Some(b"sample-count sample-size"));
    assert_eq!(iteration(&criterion, &usual, [4e-8; 2]), None);
}

const DIVAN: &str = "\
b                            fastest       │ slowest       │ median        │ mean          │ samples │ iters
├─ a named one, with spaces  3.686 ns      │ 3.725 ns      │ 3.696 ns      │ 3.698 ns      │ 20      │ 20480
│                            1.356 Gitem/s │ 1.342 Gitem/s │ 1.352 Gitem/s │ 1.352 Gitem/s │         │
├─ skipped                   (ignored)     │               │               │               │         │
├─ with_args                               │               │               │               │         │
│  ├─ a b                    6.731 µs      │ 6.762 µs      │ 6.749 µs      │ 6.748 µs      │ 20      │ 10240
│  ╰─ x::y                   17.43 ns      │ 19.53 ns      │ 17.5 ns       │ 18.17 ns      │ 20      │ 5120
│                            max alloc:    │               │               │               │         │
│                              1           │ 1             │ 1             │ 1             │         │
│                              100 B       │ 100 B         │ 100 B         │ 100 B         │         │
╰─ inner                                   │               │               │               │         │
   ├─ threaded                             │               │               │               │         │
   │  ├─ t=1                 474.9 ns      │ 479 ns        │ 476.3 ns      │ 476.4 ns      │ 20      │ 160
   │  │                      210.5 MB/s    │ 208.7 MB/s    │ 209.9 MB/s    │ 209.8 MB/s    │         │
   │  ╰─ t=2                 484.7 ns      │ 563 ns        │ 551.8 ns      │ 534.3 ns      │ 20      │ 160
   ╰─ generic                              │               │               │               │         │
      ╰─ Vec<u8>                           │               │               │               │         │
         ╰─ 1                1.084 s       │ 1.084 s       │ 1.084 s       │ 1.085 s       │ 1       │ 1

other     fastest       │ slowest       │ median        │ mean          │ samples │ iters
╰─ plain  208.9 ns      │ 265.3 ns      │ 215.3 ns      │ 220.8 ns      │ 20      │ 320

";

#[test]
fn divan_prints_a_tree() {
    let read = divan::read(DIVAN).unwrap();
    let expected = [
        ("b::a named one, with spaces", "3.6980"),
        ("b::with_args::a b", "6748.0000"),
        ("b::with_args::x::y", "18.1700"),
        ("b::inner::threaded::t=1", "476.4000"),
        ("b::inner::threaded::t=2", "534.3000"),
        ("b::inner::generic::Vec<u8>::1", "1085000000.0000"),
        ("other::plain", "220.8000"),
    ];
    assert_times(&read, "wall_time", &expected);
    let row = &read[4..5];
    assert_times(row, "min_time", &[("b::inner::threaded::t=2", "484.7000")]);
    assert_times(row, "median_time", &[("b::inner::threaded::t=2", "551.8000")]);
    assert_eq!(divan::read("Timer precision: 28 ns\n").unwrap(), []);
    let broken = DIVAN.replace("│ 3.698 ns", "│         ");
    let error = divan::read(&broken).unwrap_err().to_string();
    assert!(error.starts_with("there is no mean time in `├─ a named one"), "{error}");
}

#[test]
fn divan_counts_allocations_of_an_iteration() {
    let printed = "\
e        fastest       │ slowest       │ median        │ mean          │ samples │ iters
├─ grow  3.809 µs      │ 3.809 µs      │ 3.809 µs      │ 3.809 µs      │ 1       │ 1
│        2.1 MB/s      │ 2.1 MB/s      │ 2.1 MB/s      │ 2.1 MB/s      │         │
│        max alloc:    │               │               │               │         │
│          1           │ 1             │ 1             │ 1             │         │
│          512 B       │ 512 B         │ 512 B         │ 1.536 KB      │         │
│        alloc:        │               │               │               │         │
│          1           │ 1             │ 1             │ 2.5           │         │
│          16 B        │ 16 B          │ 16 B          │ 20 B          │         │
│        dealloc:      │               │               │               │         │
│          7           │ 7             │ 7             │ 7             │         │
│          16 B        │ 16 B          │ 16 B          │ 16 B          │         │
│        grow:         │               │               │               │         │
│          5           │ 5             │ 5             │ 5             │         │
│          496 B       │ 496 B         │ 496 B         │ 2 KiB         │         │
│        shrink:       │               │               │               │         │
│          1           │ 1             │ 1             │ 1             │         │
│          400 B       │ 400 B         │ 400 B         │ 400 B         │         │
╰─ none  0.154 ns      │ 0.363 ns      │ 0.329 ns      │ 0.318 ns      │ 100     │ 409600
";
    let read = divan::read(printed).unwrap();
    let counted = |at: usize| {
        ["allocations", "allocated_bytes", "peak_heap_bytes"].map(|name| read[at].values.get(name))
    };
    assert_eq!(counted(0), [Some(8.5), Some(2068.0), Some(1536.0)]);
    // Whether they are counted is not in what it prints of this one.
    assert_eq!(counted(1), [None; 3]);
    let broken = printed.replace("2.5  ", "many");
    let error = divan::read(&broken).unwrap_err().to_string();
    assert!(error.starts_with("there is no mean of `allocations` in"), "{error}");
}

#[test]
fn a_group_may_be_named_like_a_time() {
    let read = divan::read(
        "b               fastest  │ slowest  │ median  │ mean  │ samples │ iters\n\
         ╰─ after 5 ms            │          │         │       │         │\n   \
         ╰─ one         1 ns     │ 2 ns     │ 3 ns    │ 4 ns  │ 1       │ 1\n",
    );
    assert_times(&read.unwrap(), "wall_time", &[("b::after 5 ms::one", "4.0000")]);
}

#[test]
fn divans_filter_does_not_see_the_number_of_threads() {
    let words = divan::only(&["b::plain", "b::threaded::t=1", "b::threaded::t=2"]);
    let expected = ["--exact", "b::plain", "b::threaded::t=1", "b::threaded", "b::threaded::t=2"];
    assert_eq!(words, expected.map(OsString::from));
}
