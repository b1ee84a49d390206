//! Reads what real ones printed: criterion 0.5 and 0.7, divan 0.1.21, bencher
//! 0.1.5, iai-callgrind 0.14 and 0.16, gungraun 0.20, and Rust 1.95's own harness.

use super::*;

/// Names and one metric, in nanoseconds with four digits.
pub(super) fn times(readings: &[Reading], metric: &str) -> Vec<(String, String)> {
    let shown =
        |value: Option<f64>| value.map_or("-".into(), |value| format!("{:.4}", 1e9 * value));
    let pair = |one: &Reading| (one.benchmark.clone().unwrap(), shown(one.values.get(metric)));
    readings.iter().map(pair).collect()
}

#[track_caller]
pub(super) fn assert_times(readings: &[Reading], metric: &str, expected: &[(&str, &str)]) {
    let got = times(readings, metric);
    let got: Vec<(&str, &str)> = got.iter().map(|(name, time)| (&**name, &**time)).collect();
    assert_eq!(got, expected);
}

pub(super) const LONG: &str = "elements/a very long name of a benchmark (with [regex].* chars) + $";

pub(super) const PLACE: &str = "/home";

#[test]
fn harnesses_whose_results_cannot_be_read_are_recognised() {
    let names = ["Tango benchmarking harness: Number of samples to take for each test"];
    assert_eq!(names.map(|text| unusable(text.as_bytes())), [Some("tango")]);
    assert_eq!(unusable(b"BINGGAN_HOMEBINGGAN_VERBOSE"), Some("binggan"));
    assert_eq!(unusable(b"ZENBENCH_RESULT\0ZENBENCH_SUBPROCESS"), Some("zenbench"));
    assert_eq!(unusable(b"ZENBENCH_RESULT"), None);
}

/// The command of a harness that knows these words, for a run of this length.
pub(super) fn command(dialect: Dialect, known: &str, argv: &str, length: RunLength) -> Command {
    let place = OutputPaths { stdout: "/out".into(), output: PLACE.into() };
    let argv = argv.split(' ').map(OsString::from).collect();
    let mut command = Command { argv, ..Command::default() };
    command.set_var(criterion::PORT, "1234");
    let harness = Harness::new(dialect, Some(known.as_bytes()));
    harness.set_up(&mut command, &place);
    command.argv.extend(harness.timed(length, None, &command.argv));
    command
}

#[test]
fn what_can_not_be_told_how_long_to_measure_gets_no_words() {
    for dialect in [Dialect::Plain, Dialect::Json, Dialect::Libtest] {
        for length in [RunLength::LONG, RunLength::Probe, RunLength::Capped] {
            assert_eq!(
                Harness::new(dialect, None).timed(length, None, &[]),
                Vec::<OsString>::new()
            );
        }
    }
}

#[test]
fn each_harness_gets_a_filter_in_its_own_language() {
    for dialect in Dialect::ALL {
        let expected: &[&str] = match dialect {
            Dialect::Plain | Dialect::Json => &[],
            Dialect::Criterion => &[r"(?:a.b::t=2)|a\.b::t=2"],
            Dialect::Divan => &[r"(?:a.b::t=2)|a\.b::t=2", r"(?:a.b)|a\.b"],
            Dialect::Gungraun | Dialect::Bencher | Dialect::Libtest => &["a.b::t=2"],
        };
        assert_eq!(Harness::new(dialect, None).matching("a.b::t=2"), expected, "{dialect:?}");
    }
}

#[test]
fn what_can_not_be_removed_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    std::fs::write(&file, "").unwrap();
    let (missing, below) = (folder.path().join("missing"), file.join("below"));
    for (stdout, output) in [(&missing, &below), (&below, &missing)] {
        let paths = OutputPaths { stdout: stdout.clone(), output: output.clone() };
        let error = Harness::new(Dialect::Criterion, None).clear(&paths).unwrap_err();
        assert_eq!(error.to_string(), format!("could not remove `{}`", below.display()));
    }
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
fn an_executable_shows_its_dialect() {
    let marked = |words: &str| Harness::detect(words.as_bytes()).dialect;
    assert_eq!(marked("x noise-threshold x warm-up-time x save-baseline x"), Dialect::Criterion);
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
    assert_eq!(marked("noise-threshold"), Dialect::Plain);
}
