use crate::exec::harness::tests::assert_times;
use crate::exec::harness::*;

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
