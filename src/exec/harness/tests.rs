//! Reads what real ones printed: criterion 0.5 and 0.7, divan 0.1.21, bencher
//! 0.1.5, iai-callgrind 0.14 and 0.16, gungraun 0.20, and Rust 1.95's own harness.

use super::*;

/// Names and one metric, in nanoseconds with four digits.
fn times(readings: &[Reading], metric: &str) -> Vec<(String, String)> {
    let shown =
        |value: Option<f64>| value.map_or("-".into(), |value| format!("{:.4}", 1e9 * value));
    let pair = |one: &Reading| (one.benchmark.clone().unwrap(), shown(one.values.get(metric)));
    readings.iter().map(pair).collect()
}

#[track_caller]
fn assert_times(readings: &[Reading], metric: &str, expected: &[(&str, &str)]) {
    let got = times(readings, metric);
    let got: Vec<(&str, &str)> = got.iter().map(|(name, time)| (&**name, &**time)).collect();
    assert_eq!(got, expected);
}

const CRITERION: &str = "\
fib 10                  time:   [188.96 ns 189.33 ns 189.51 ns]
Found 1 outliers among 10 measurements (10.00%)
  1 (10.00%) low mild

group/fib/3             time:   [5.5396 ns 5.5676 ns 5.5879 ns]
                        thrpt:  [170.67 GiB/s 171.29 GiB/s 172.16 GiB/s]
                 change:
                        time:   [-2.0401% -0.5141% +1.1207%] (p = 0.57 > 0.05)
                        thrpt:  [-1.1083% +0.5168% +2.0826%]
                        No change in performance detected.
group/fib/5             time:   [14.896 ms 14.984 ms 15.115 ms]
                        change: [-0.5% +0.1% +0.7%] (p = 0.80 > 0.05)

elements/a very long name of a benchmark (with [regex].* chars) + $
                        time:   [10.158 µs 10.186 µs 10.224 µs]
                        thrpt:  [684.69 Melem/s 687.24 Melem/s 689.12 Melem/s]
";

const LONG: &str = "elements/a very long name of a benchmark (with [regex].* chars) + $";

#[test]
fn criterion_prints_its_estimates() {
    let nowhere = Path::new("/nonexistent");
    let read = criterion::read(CRITERION, nowhere).unwrap();
    let expected = [
        ("fib 10", "189.3300"),
        ("group/fib/3", "5.5676"),
        ("group/fib/5", "14984000.0000"),
        (LONG, "10186.0000"),
    ];
    assert_times(&read, "wall_time", &expected);
    // A measurement that is not of time is not called one.
    let cycles = "hash  time:   [1200.1 cycles 1201.5 cycles 1203.9 cycles]\n";
    let read = criterion::read(cycles, nowhere).unwrap();
    assert_eq!(read[0].values.get("value"), Some(1201.5));
    assert_eq!(read[0].values.get("wall_time"), None);
    assert_eq!(criterion::read("", nowhere).unwrap(), []);
}

#[test]
fn criterion_leaves_files_with_all_digits() {
    let folder = tempfile::tempdir().unwrap();
    let write = |path: &str, text: &str| {
        crate::exec::system::write(&folder.path().join(path), text);
    };
    let about = r#"{"group_id":"group","function_id":"fib","value_str":"3","throughput":{"Bytes":1024},"full_id":"group/fib/3","directory_name":"group/fib/3","title":"group/fib/3"}"#;
    let values =
        r#"{"sampling_mode":"Linear","iters":[10.0,20.0,30.0],"times":[1000.0,2400.0,2700.0]}"#;
    for room in ["new", "base"] {
        write(&format!("group/fib/3/{room}/sample.json"), values);
        write(&format!("group/fib/3/{room}/benchmark.json"), about);
    }
    write("report/index.html", "");
    let read = criterion::read(CRITERION, folder.path()).unwrap();
    assert_times(&read, "wall_time", &[("group/fib/3", "101.6667")]);
    assert_times(&read, "median_time", &[("group/fib/3", "100.0000")]);
    assert_times(&read, "min_time", &[("group/fib/3", "90.0000")]);
    // A measurement of something else, in its own unit.
    let cycles = "group/fib/3  time:   [1200.1 cycles 1201.5 cycles 1203.9 cycles]\n";
    let read = criterion::read(cycles, folder.path()).unwrap();
    let values = ["value", "median_value", "min_value"].map(|name| read[0].values.get(name));
    assert_eq!(values.map(|value| value.unwrap().round()), [102.0, 100.0, 90.0]);
    // A percentile takes a hundred samples.
    assert_eq!(criterion::read(CRITERION, folder.path()).unwrap()[0].values.get("p99_time"), None);
    let each: Vec<f64> = (1..=101).map(f64::from).collect();
    let samples = format!(r#"{{"iters":{:?},"times":{each:?}}}"#, vec![1.0; 101]);
    write("group/fib/3/new/sample.json", &samples);
    let read = criterion::read(CRITERION, folder.path()).unwrap();
    assert_times(&read, "p99_time", &[("group/fib/3", "100.0000")]);
    write("group/fib/3/new/sample.json", "{");
    let error = criterion::read("", folder.path()).unwrap_err().to_string();
    assert!(error.starts_with("could not read `") && error.contains("sample.json"), "{error}");
}

#[test]
fn criterions_filter_matches_whole_names_only() {
    let words = criterion::only(&["fib 10", LONG]);
    let expected = "^(?:fib 10|elements/a very long name of a benchmark \
                    \\(with \\[regex\\]\\.\\* chars\\) \\+ \\$)$";
    assert_eq!(words, [OsString::from(expected)]);
}

#[test]
fn criterions_benchmarks_of_one_name_are_numbered_and_selected_together() {
    let folder = tempfile::tempdir().unwrap();
    let place =
        OutputPaths { stdout: folder.path().join("out"), output: folder.path().join("output") };
    let line = |name: &str| format!("{name}  time:   [1.0 ns 1.1 ns 1.2 ns]\n");
    std::fs::write(&place.stdout, ["ones", "none", "ones"].map(line).concat()).unwrap();
    let read = Harness::new(Dialect::Criterion, None).read(&place).unwrap();
    let names: Vec<_> = read.iter().map(|reading| reading.benchmark.as_deref().unwrap()).collect();
    assert_eq!(names, ["ones", "none", "ones #2"]);
    assert_eq!(criterion::only(&["ones #2"]), [OsString::from("^(?:ones(?: \\#2)?)$")]);
}

const PLACE: &str = "/home";

#[test]
fn harnesses_whose_results_cannot_be_read_are_recognised() {
    let names = ["Tango benchmarking harness: Number of samples to take for each test"];
    assert_eq!(names.map(|text| unusable(text.as_bytes())), [Some("tango")]);
    assert_eq!(unusable(b"BINGGAN_HOMEBINGGAN_VERBOSE"), Some("binggan"));
    assert_eq!(unusable(b"ZENBENCH_RESULT\0ZENBENCH_SUBPROCESS"), Some("zenbench"));
    assert_eq!(unusable(b"ZENBENCH_RESULT"), None);
}

#[test]
fn an_old_criterion_has_a_version_with_shorter_runs() {
    let version = |dialect, known: &str| {
        Harness::new(dialect, Some(known.as_bytes())).version_with_short_runs()
    };
    assert_eq!(version(Dialect::Criterion, "warm-up-time"), Some("criterion 0.4"));
    assert_eq!(version(Dialect::Criterion, "warm-up-time discard-baseline"), None);
    // A script, of which nothing is known.
    assert_eq!(version(Dialect::Criterion, ""), None);
    assert_eq!(version(Dialect::Divan, ""), None);
}

/// The command of a harness that knows these words, for a run of this length.
fn command(dialect: Dialect, known: &str, argv: &str, length: RunLength) -> Command {
    let place = OutputPaths { stdout: "/out".into(), output: PLACE.into() };
    let argv = argv.split(' ').map(OsString::from).collect();
    let mut command = Command { argv, ..Command::default() };
    command.set_var(criterion::PORT, "1234");
    let harness = Harness::new(dialect, Some(known.as_bytes()));
    harness.set_up(&mut command, &place);
    command.argv.extend(harness.timed(length, &command.argv));
    command
}

const KNOWN: &str = "noplot nresamples sample-size measurement-time warm-up-time discard-baseline";

#[test]
fn criterions_flags_are_those_that_its_version_knows() {
    let words = |known: &str, length| {
        let command = command(Dialect::Criterion, known, "bench", length);
        assert_eq!(command.var("CRITERION_HOME"), Some(PLACE.as_ref()));
        assert_eq!(command.var(criterion::PORT), None);
        assert_eq!(command.stdout, Sink::File("/out".into()));
        command.shown()
    };
    let time = |milliseconds| RunLength::Time(Duration::from_millis(milliseconds));
    let timed = |warm_up: &str, time: &str| {
        format!(
            "bench --noplot --nresamples 2 --warm-up-time {warm_up} --measurement-time {time} \
             --sample-size 10"
        )
    };
    assert_eq!(words(KNOWN, time(100)), timed("0.05", "0.1"));
    assert_eq!(words(KNOWN, time(1)), timed("0.001", "0.001"));
    // The quick mode takes no sample size.
    let quick = "bench --noplot --nresamples 2 --quick --significance-level 0.99";
    assert_eq!(words(KNOWN, RunLength::Probe), format!("{quick} --measurement-time 0.001"));
    assert_eq!(words(KNOWN, RunLength::Capped), format!("{quick} --measurement-time 0.1"));
    let traced = RunLength::Traced(Duration::from_millis(20));
    assert_eq!(words(KNOWN, traced), format!("{quick} --measurement-time 0.04"));
    // 0.3 takes whole seconds only, and has no quick mode.
    for length in [time(1), RunLength::Probe, RunLength::Capped] {
        let expected = "bench --noplot --warm-up-time 1 --measurement-time 1";
        assert_eq!(words("noplot measurement-time warm-up-time", length), expected);
    }
    // The benchmark's code may ask for less.
    for known in ["noplot measurement-time warm-up-time", "noplot discard-baseline"] {
        assert_eq!(words(known, RunLength::Own), "bench --noplot");
    }
    assert_eq!(words("", time(1)), "bench");
}

#[test]
fn criterion_lists_names_that_are_whole_and_different() {
    let names = |names: &[&str]| Some(names.iter().map(|&name| name.to_owned()).collect());
    assert_eq!(
        criterion::listed("a/b: benchmark\n\nc: d: bench\n2 others\n"),
        names(&["a/b", "c: d"])
    );
    assert_eq!(criterion::listed(""), names(&[]));
    assert_eq!(criterion::listed("a: bench\na: bench\n"), None);
    // Criterion cuts it after a hundred bytes or so.
    assert_eq!(criterion::listed(&format!("{}...: bench\n", "a".repeat(97))), None);
}

#[test]
fn criterion_takes_a_hundred_samples_for_a_percentile_and_no_quick_run_has_one() {
    let harness = Harness::new(Dialect::Criterion, Some(KNOWN.as_bytes()));
    let harness = harness.for_metrics(["p99_time".to_owned()].iter());
    for length in [RunLength::SHORT, RunLength::Probe, RunLength::Capped] {
        let words = harness.timed(length, &[]);
        assert_eq!(words[4..], ["--sample-size", "100"], "{words:?}");
    }
}

#[test]
fn divan_takes_as_many_samples_as_there_are_in_the_time_of_the_samples_alone() {
    let known = "max-time sample-count skip-ext-time color exact";
    let words = |argv: &str, length| command(Dialect::Divan, known, argv, length).shown();
    let one = RunLength::Time(Duration::from_millis(1));
    let expected = "--sample-count 50000 --max-time 0.001 --skip-ext-time true";
    assert_eq!(words("bench", one), format!("bench --color never {expected}"));
    // The time that inputs take counts.
    let table = [(RunLength::Probe, "0.001"), (RunLength::Capped, "0.1"), (RunLength::LONG, "0.1")];
    for (length, time) in table {
        let expected = format!("--sample-count 50000 --max-time {time} --skip-ext-time false");
        assert_eq!(words("bench", length), format!("bench --color never {expected}"));
    }
    // Flags of the user's own stay.
    let expected = "bench '--max-time=2' --sample-count 5 --color never --skip-ext-time true";
    assert_eq!(words("bench --max-time=2 --sample-count 5", one), expected);
}

#[test]
fn what_can_not_be_told_how_long_to_measure_gets_no_words() {
    for dialect in [Dialect::Plain, Dialect::Json, Dialect::Libtest] {
        for length in [RunLength::LONG, RunLength::Probe, RunLength::Capped] {
            assert_eq!(Harness::new(dialect, None).timed(length, &[]), Vec::<OsString>::new());
        }
    }
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
fn divans_filter_does_not_see_the_number_of_threads() {
    let words = divan::only(&["b::plain", "b::threaded::t=1", "b::threaded::t=2"]);
    let expected = ["--exact", "b::plain", "b::threaded::t=1", "b::threaded", "b::threaded::t=2"];
    assert_eq!(words, expected.map(OsString::from));
}

#[test]
fn libtest_prints_a_line_for_each() {
    let printed = "
running 4 tests
test skipped    ... ignored
test inner::two ... bench:       3,394.37 ns/iter (+/- 26.25) = 29 MB/s
test one        ... bench:         347.85 ns/iter (+/- 4.23)
test old        ... bench:   1,234,567 ns/iter (+/- 12)

test result: ok. 0 passed; 0 failed; 1 ignored; 3 measured; 0 filtered out; finished in 0.54s
";
    let read = libtest::read(printed).unwrap();
    let expected = [("inner::two", "3394.3700"), ("one", "347.8500"), ("old", "1234567.0000")];
    assert_times(&read, "wall_time", &expected);
    let error = libtest::read("test a ... bench: fast\n").unwrap_err().to_string();
    assert_eq!(error, "there is no time in `test a ... bench: fast`");
    let words = libtest::only(&["one", "inner::two"]);
    assert_eq!(words, ["--exact", "one", "inner::two"].map(OsString::from));
}

#[test]
fn one_name_twice_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let place =
        OutputPaths { stdout: folder.path().join("out"), output: folder.path().join("output") };
    let line = "test one ... bench: 1.0 ns/iter (+/- 0.1)\n";
    std::fs::write(&place.stdout, line.repeat(2)).unwrap();
    let harness = Harness::new(Dialect::Libtest, None);
    let error = harness.read(&place).unwrap_err().to_string();
    assert_eq!(error, "the benchmark `one` appears twice");
    harness.clear(&place).unwrap();
    assert_eq!(harness.read(&place).unwrap(), []);
}

#[test]
fn json_is_of_metrics_or_of_benchmarks() {
    let flat = json::read("\u{feff}{\"a\": 1.5, \"b\" : 2e3,\n}\n").unwrap();
    let [Reading { benchmark: None, values }] = &flat[..] else { panic!("{flat:?}") };
    assert_eq!(*values, Values::from_iter([("a", 1.5), ("b", 2000.0)]));
    let nested = json::read("{\"x, }\": {\"a\": -1,}, \"y\": {\"a\": 2, \"b\": 0}, }").unwrap();
    let named = |name: &str, values: &[(&str, f64)]| Reading {
        benchmark: Some(name.to_owned()),
        values: values.iter().copied().collect(),
    };
    assert_eq!(nested[0], named("x, }", &[("a", -1.0)]));
    assert_eq!(nested[1], named("y", &[("a", 2.0), ("b", 0.0)]));
}

#[test]
fn json_of_another_form_is_a_clear_error() {
    let table = [
        ("", "it printed nothing"),
        ("{}", "the object is empty"),
        ("{\"x\": {}}", "the benchmark `x` has no metric"),
        ("[1]", "it is a list, not an object"),
        ("5", "it is a number, not an object"),
        ("{\"a\": 1} {\"a\": 2}", "it is not one JSON object: trailing characters at line 1"),
        ("done\n{\"a\": 1}", "it is not one JSON object: expected value at line 1 column 1"),
        ("{\"a\": \"1\"}", "the value of `a` is a string, not a finite number"),
        ("{\"x\": {\"a\": null}}", "the value of `x.a` is null, not a finite number"),
        ("{\"x\": {\"a\": {\"b\": 1}}}", "the value of `x.a` is an object, not a finite number"),
        ("{\"a\": NaN}", "it is not one JSON object: expected value at line 1 column 7"),
        ("{\"a\": 1e999}", "it is not one JSON object: number out of range at line 1"),
        ("{\"a\": 1, \"a\": 2}", "the metric `a` appears twice"),
        ("{\"x\": {\"a\": 1}, \"x\": {\"a\": 1}}", "the benchmark `x` appears twice"),
        ("{\"a\": 1, \"x\": {\"a\": 1}}", "some values are numbers and some are objects"),
        ("{\"a\": 1,, }", "it is not one JSON object: "),
        ("{\"a\": 1", "it is not one JSON object: EOF"),
    ];
    let folder = tempfile::tempdir().unwrap();
    let path = |name| folder.path().join(name);
    let paths = OutputPaths { stdout: path("out"), output: path("output") };
    for (text, expected) in table {
        std::fs::write(&paths.stdout, text).unwrap();
        let error = Harness::new(Dialect::Json, None).read(&paths).unwrap_err().to_string();
        assert!(error.starts_with(expected), "{text}: {error}");
    }
}

#[test]
fn the_file_wins_over_standard_output() {
    let folder = tempfile::tempdir().unwrap();
    let place =
        OutputPaths { stdout: folder.path().join("out"), output: folder.path().join("output") };
    let harness = Harness::new(Dialect::Json, None);
    let read = || harness.read(&place).map_err(|error| error.to_string());
    let of = |value| Ok(vec![Reading::of_program(Values::from_iter([("a", value)]))]);
    assert_eq!(read(), Err("it printed nothing".to_owned()));
    std::fs::write(&place.stdout, "{\"a\": 1}").unwrap();
    assert_eq!(read(), of(1.0));
    std::fs::write(&place.output, "\n").unwrap();
    assert_eq!(read(), of(1.0));
    std::fs::write(&place.output, "{\"a\": 2}").unwrap();
    assert_eq!(read(), of(2.0));
    harness.clear(&place).unwrap();
    assert!(!place.output.exists() && !place.stdout.exists());
}

const BENCHER: &str = "
running 3 tests
test fragment ... bench:         345 ns/iter (+/- 27) = 150 MB/s
test long     ... bench:   1,234,164 ns/iter (+/- 4)
test skipped  ... ignored

test result: ok. 0 passed; 0 failed; 1 ignored; 2 measured

";

#[test]
fn bencher_prints_whole_nanoseconds() {
    let place = OutputPaths { stdout: "/out".into(), output: "/home".into() };
    let harness = Harness::new(Dialect::Bencher, Some(b"{:>11} ns/iter (+/- {})"));
    assert!(harness.can_select_benchmarks());
    let mut command = Command { argv: vec!["bench".into()], ..Command::default() };
    harness.set_up(&mut command, &place);
    assert_eq!((command.shown(), command.stdout), ("bench".into(), Sink::File("/out".into())));
    let folder = tempfile::tempdir().unwrap();
    let path = |name| folder.path().join(name);
    let paths = OutputPaths { stdout: path("out"), output: path("output") };
    std::fs::write(&paths.stdout, BENCHER).unwrap();
    let read = harness.read(&paths).unwrap();
    let expected = [("fragment", "345.0000"), ("long", "1234164.0000")];
    assert_times(&read, "wall_time", &expected);
}

#[test]
fn benchers_only_filter_is_what_all_names_hold() {
    let only = |names: &[&str]| -> Vec<String> {
        let words = bencher::only(names).into_iter();
        words.map(|word| word.into_string().unwrap()).collect()
    };
    assert_eq!(only(&["long"]), ["long"]);
    // Others may hold it, too: their times are not used then.
    assert_eq!(only(&["parse_long", "url_parse", "reparse"]), ["parse"]);
    assert_eq!(only(&["größe_a", "b_größe"]), ["größe"]);
    // Nothing in common: all run.
    assert_eq!(only(&["ab", "cd"]), [""; 0]);
}

/// A benchmark as each version of the summary tells of it; much is left out.
const SUMMARIES: [&str; 3] = [
    r#"{"callgrind_summary":{"callgrind_run":{"segments":[{"events":{"Ir":{"diffs":null,"metrics":{"Left":1}}}}],"total":{"regressions":[],"summary":{"EstimatedCycles":{"diffs":null,"metrics":{"Left":2664}},"Ir":{"diffs":null,"metrics":{"Left":1789}},"L1hits":{"diffs":null,"metrics":{"Left":2559}},"LLhits":{"diffs":null,"metrics":{"Left":0}},"RamHits":{"diffs":null,"metrics":{"Left":3}}}}}},"function_name":"fib","id":"short","module_path":"calls::one::fib","version":"3"}"#,
    r#"{"function_name":"fib","id":"short","module_path":"calls::one::fib","profiles":[{"summaries":{"parts":[],"total":{"regressions":[],"summary":{"Memcheck":{"Errors":{"metrics":{"Left":{"Int":0}}}}}}},"tool":"Memcheck"},{"summaries":{"parts":[],"total":{"regressions":[],"summary":{"Callgrind":{"EstimatedCycles":{"diffs":null,"metrics":{"Left":{"Int":2664}}},"Ir":{"diffs":null,"metrics":{"Left":{"Int":1789}}},"L1hits":{"diffs":null,"metrics":{"Left":{"Int":2559}}},"LLhits":{"diffs":null,"metrics":{"Left":{"Int":0}}},"RamHits":{"diffs":null,"metrics":{"Left":{"Int":3}}}}}}},"tool":"Callgrind"}],"version":"6"}"#,
    r#"{"function_name":"fib","group":"one","id":"short","module_path":"calls::one::fib","profiles":[{"data":{"parts":[],"total":{"metrics":{"D1MissRate":{"values":{"new":0.129366106080207}},"EstimatedCycles":{"values":{"new":2664}},"Ir":{"values":{"new":1789}},"L1hits":{"values":{"new":2559}},"LLhits":{"values":{"new":0}},"RamHits":{"values":{"new":3}}},"regressions":[]}},"tool":"Callgrind"}],"version":"7"}"#,
];

#[test]
fn gungraun_prints_a_summary_of_each() {
    for summary in SUMMARIES {
        let printed = format!("what the benchmark prints itself\n{summary}\n");
        let [read] = gungraun::read(&printed).unwrap().try_into().unwrap();
        assert_eq!(read.benchmark.as_deref(), Some("calls::one::fib::short"));
        let expected = [
            ("instructions_cachegrind", 1789.0),
            ("l1_hits_cachegrind", 2559.0),
            ("last_level_hits_cachegrind", 0.0),
            ("ram_hits_cachegrind", 3.0),
            ("estimated_cycles_cachegrind", 2664.0),
        ];
        assert_eq!(read.values.iter().collect::<Vec<_>>(), expected);
    }
    // Without an id the function has the only benchmark; without caches there are
    // instructions alone.
    let printed = r#"{"module_path":"calls::one::sorted","profiles":[{"data":{"total":{"metrics":{"Ir":{"values":{"new":5}}}}},"tool":"Cachegrind"}]}"#;
    let [read] = gungraun::read(printed).unwrap().try_into().unwrap();
    assert_eq!(read.benchmark.as_deref(), Some("calls::one::sorted"));
    assert_eq!(read.values.iter().collect::<Vec<_>>(), [("instructions_cachegrind", 5.0)]);
    // DHAT counts besides it, or alone.
    for (before, others) in [
        (r#"{"data":{"total":{"metrics":{"Ir":{"values":{"new":5}}}}},"tool":"Callgrind"},"#, 1),
        ("", 0),
    ] {
        let dhat = r#""AtTGmaxBytes":{"values":{"new":0}},"TotalBlocks":{"values":{"new":11}},"TotalBytes":{"values":{"new":250}}"#;
        let printed = format!(
            r#"{{"module_path":"a","profiles":[{before}{{"data":{{"total":{{"metrics":{{{dhat}}}}}}},"tool":"DHAT"}}]}}"#
        );
        let [read] = gungraun::read(&printed).unwrap().try_into().unwrap();
        let expected = [("allocations", 11.0), ("allocated_bytes", 250.0)];
        assert_eq!(read.values.iter().skip(others).collect::<Vec<_>>(), expected);
    }
    assert_eq!(gungraun::read("0 tests\n").unwrap(), []);
    let table = [
        ("{\"a\": 1", "a line is not the summary of a benchmark: EOF"),
        ("{\"a\": 1}", "a summary has no `module_path`: the benchmark has no name"),
        (
            r#"{"module_path":"a::b","version":"9","profiles":[{"tool":"DHAT"}]}"#,
            "the summary of `a::b`, of version 9, has no counts of callgrind, cachegrind or DHAT",
        ),
    ];
    for (printed, expected) in table {
        let error = gungraun::read(printed).unwrap_err().to_string();
        assert!(error.starts_with(expected), "{error}");
    }
}

#[test]
fn gungraun_keeps_nothing_from_run_to_run() {
    let place = OutputPaths { stdout: "/out".into(), output: "/home".into() };
    let executable = b"Is gungraun-runner installed and gungraun-runner in your $PATH?";
    let harness = Harness::new(Dialect::Gungraun, Some(executable));
    let mut command = Command { argv: vec!["bench".into()], ..Command::default() };
    for name in ["GUNGRAUN_BASELINE", "IAI_CALLGRIND_SAVE_BASELINE", "GUNGRAUN_LIST"] {
        command.set_var(name, "a");
    }
    command.set_var("GUNGRAUN_VALGRIND_ARGS", "--num-callers=2");
    harness.set_up(&mut command, &place);
    assert_eq!(command.shown(), "bench --output-format json");
    let mut variables: Vec<&str> =
        command.env.iter().map(|(name, _)| name.to_str().unwrap()).collect();
    variables.sort_unstable();
    assert_eq!(variables, ["GUNGRAUN_HOME", "GUNGRAUN_VALGRIND_ARGS", "IAI_CALLGRIND_HOME"]);
    assert_eq!(command.var("GUNGRAUN_HOME"), Some("/home".as_ref()));
    // It takes one pattern.
    assert!(harness.can_select_benchmarks());
    assert_eq!(harness.only(&["a::b::c"]), ["a::b::c"]);
    assert_eq!(harness.only(&["a::b", "a::c"]), [""; 0]);
    assert_eq!(harness.only(&["a::b::[x]"]), [""; 0]);
}

#[test]
fn what_gungraun_lacks_is_named() {
    let missing = "gungraun: Error: The following errors occurred:\n--> Error in calls: Failed \
                   to run benchmarks: No such file or directory (os error 2).\n\nIs \
                   gungraun-runner installed and gungraun-runner in your $PATH?.\n";
    let older = "iai_callgrind_runner: Error: iai-callgrind-runner (0.14.2) is older than \
                 iai-callgrind (0.16.1). Please update iai-callgrind-runner\n";
    let valgrind = "iai_callgrind_runner: Error: cannot find binary path: 'valgrind' could not \
                    be found. Is 'valgrind' installed, executable and in the PATH?\n";
    let table = [
        (missing, "the program that runs these benchmarks is missing: `cargo install gungraun-r"),
        (older, "a runner only runs benchmarks of its own version: `cargo install iai-callgrind-"),
        (valgrind, "install valgrind, or add it to PATH: these benchmarks run under it"),
    ];
    for (stderr, expected) in table {
        let advice = advice(stderr).unwrap();
        assert!(advice.starts_with(expected), "{advice}");
    }
    assert_eq!(advice("gungraun-runner: Error: Performance has regressed.\n"), None);
    assert_eq!(advice("thread 'main' panicked\n"), None);
}

#[test]
fn an_executable_shows_its_dialect() {
    let marked = |words: &str| Harness::detect(words.as_bytes()).dialect;
    assert_eq!(marked("x CRITERION_HOME x warm-up-time x save-baseline x"), Dialect::Criterion);
    assert_eq!(marked("x DIVAN_SAMPLE_COUNT x DIVAN_SKIP_EXT_TIME x"), Dialect::Divan);
    // Criterion's and Divan's may hold libtest's words, too.
    let libtest = "Exactly match filters rather than by substring";
    assert_eq!(marked(libtest), Dialect::Libtest);
    let runner = "--lib-bench--bin-bench Is gungraun-runner in your $PATH?.";
    assert_eq!(marked(runner), Dialect::Gungraun);
    let bencher = "x ns/iter (+/- x passed; x failed; x ignored; x measured\n\nx";
    assert_eq!(marked(bencher), Dialect::Bencher);
    // Libtest goes on there, and criterion prints alike.
    let both = "x ns/iter (+/- x measured; x filtered out; finished in x";
    assert_eq!(marked(&format!("{both}{libtest}")), Dialect::Libtest);
    assert_eq!(marked(both), Dialect::Plain);
    assert_eq!(marked("CRITERION_HOME"), Dialect::Plain);
}
