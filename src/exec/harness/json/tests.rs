use crate::exec::harness::*;
use crate::model::Values;

#[test]
fn json_is_of_metrics_or_of_benchmarks() {
    let flat = json::read("\u{feff}{\"a\": 1.5, \"b\" : 2e3,\n}\n").unwrap();
    let [Reading { benchmark: None, values, .. }] = &flat[..] else { panic!("{flat:?}") };
    assert_eq!(*values, Values::from_iter([("a", 1.5), ("b", 2000.0)]));
    let nested = json::read("{\"x, }\": {\"a\": -1,}, \"y\": {\"a\": 2, \"b\": 0}, }").unwrap();
    let named = |name: &str, values: &[(&str, f64)]| Reading {
        benchmark: Some(name.to_owned()),
        values: values.iter().copied().collect(),
        amount: None,
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
