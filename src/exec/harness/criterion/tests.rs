use std::time::Duration;

use crate::exec::harness::tests::{LONG, PLACE, assert_times, command};
use crate::exec::harness::*;

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
    let named = "at time: [noon]  time:   [1.0 ns 1.1 ns 1.2 ns]\n";
    assert_times(
        &criterion::read(named, nowhere).unwrap(),
        "wall_time",
        &[("at time: [noon]", "1.1000")],
    );
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
    assert_eq!(read[0].amount.as_deref(), Some("1024 bytes"));
    assert_times(&read, "wall_time", &[("group/fib/3", "101.6667")]);
    assert_times(&read, "median_time", &[("group/fib/3", "100.0000")]);
    assert_times(&read, "min_time", &[("group/fib/3", "90.0000")]);
    // A name may have several lines, and is still selected by what is shown of it.
    let of_two_lines = about.replace("group/fib/3", r"a fn\n\t/1");
    write("group/fib/3/new/benchmark.json", &of_two_lines);
    let read = criterion::read(CRITERION, folder.path()).unwrap();
    assert_times(&read, "wall_time", &[("a fn␊␉/1", "101.6667")]);
    let only = OsString::from(r"^(?:a fn[\x0A␊][\x09␉]/1)$");
    assert_eq!(criterion::only(&["a fn␊␉/1"]), [only]);
    write("group/fib/3/new/benchmark.json", about);
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

#[test]
fn for_what_repeats_benchmarks_for_seconds_there_is_a_version_with_shorter_runs() {
    let version = |dialect, known: &str| {
        Harness::new(dialect, Some(known.as_bytes())).version_with_short_runs()
    };
    assert_eq!(version(Dialect::Criterion, "warm-up-time"), Some("criterion 0.4"));
    assert_eq!(version(Dialect::Criterion, "warm-up-time discard-baseline"), None);
    // A script, of which nothing is known.
    assert_eq!(version(Dialect::Criterion, ""), None);
    assert_eq!(version(Dialect::Divan, ""), None);
    assert_eq!(version(Dialect::Libtest, "Exactly match filters"), Some("criterion 0.4"));
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
        let words = harness.timed(length, None, &[]);
        assert_eq!(words[4..], ["--sample-size", "100"], "{words:?}");
    }
}
