//! One number for all benchmarks of a suite, and thresholds of single ones.

use serde_json::{Value, json};

use crate::support::{Cbdr, PRINTED, Ran, Repo, write_script};

/// Benchmarks of a script, with this table, and a branch on which they take so many times as long,
/// with noise of less than a hundredth.
fn suite(table: &str, factors: [&str; 3]) -> Repo {
    let repo = Repo::new("steady");
    configure(&repo, table);
    let print = |factors: [&str; 3]| {
        let names = ["inner::first", "second", "third"].into_iter().zip(factors);
        let times = names.map(|(name, time)| format!("\"{name}\": {{\"wall_time\": {time}N}}"));
        write_script(&repo, &format!("{{{}}}", times.collect::<Vec<_>>().join(", ")));
        repo.commit("times");
    };
    print(["1.00"; 3]);
    repo.branch("feature");
    print(factors);
    repo
}

fn configure(repo: &Repo, table: &str) {
    let manifest = std::fs::read_to_string(repo.path().join("Cargo.toml")).unwrap();
    let manifest = manifest.split("\n[package.metadata").next().unwrap();
    repo.write("Cargo.toml", &format!("{manifest}\n[package.metadata.cbdr]\n{table}\n"));
}

fn compare(repo: &Repo, args: &str) -> Cbdr {
    repo.cbdr(&format!("compare main --seed 3 {PRINTED} --max-pairs 60 {args}"))
}

/// The numbers of the suite, by their names.
fn number<'a>(object: &'a Value, name: &str) -> &'a Value {
    let numbers = object["suite"]["numbers"].as_array().unwrap();
    &numbers.iter().find(|number| number["name"] == name).unwrap()["metrics"][0]
}

#[test]
fn a_suite_has_one_number_in_every_format() {
    let repo = suite("", ["1.01"; 3]);
    let object = compare(&repo, "--format json").run().code(0).json();
    assert_eq!(object["suite"]["benchmarks"], 3);
    for name in ["suite geomean", "suite sum"] {
        let number = number(&object, name);
        let end = |key: &str| number[key].as_f64().unwrap();
        assert!((end("change") - 0.01).abs() < 0.006, "{number}");
        assert!(end("lower") < end("change") && end("change") < end("upper"), "{number}");
        assert_eq!((&number["gates"], &number["verdict"]), (&json!(false), &Value::Null));
    }
    for format in ["human", "markdown"] {
        let ran = compare(&repo, &format!("--format {format} --report ../page.html")).run().code(0);
        let line = "suite of 3 benchmarks: geomean +";
        assert!(ran.stdout.contains(line), "{}", ran.stdout);
        let page = std::fs::read_to_string(repo.around().join("page.html")).unwrap();
        assert!(page.contains(line), "{page}");
    }
}

#[test]
fn a_number_of_the_suite_decides_if_asked_although_every_benchmark_passes() {
    let repo = suite("", ["1.01"; 3]);
    let asked = "--suite geomean=0.2%";
    let object = compare(&repo, &format!("{asked} --format json")).run().code(100).json();
    let geomean = number(&object, "suite geomean");
    assert_eq!((&geomean["verdict"], &geomean["threshold"]), (&json!("regression"), &json!(0.002)));
    assert_eq!(number(&object, "suite sum")["verdict"], Value::Null);
    let passed = |one: &Value| one["metrics"][0]["verdict"] == "no-regression";
    assert!(object["benchmarks"].as_array().unwrap().iter().all(passed), "{object}");
    let said: [(&str, &[&str]); 4] = [
        ("human", &["REGRESSION: suite geomean is ", "threshold +0.2%: regression"]),
        ("markdown", &["suite geomean is "]),
        ("github", &["::error title=regression%3A wall_time of suite geomean::"]),
        ("junit", &["<testsuite name=\"suite geomean\"", " type=\"regression\">"]),
    ];
    for (format, texts) in said {
        let call = format!("{asked} --format {format}");
        let ran = compare(&repo, &call).run().code(100);
        for text in texts {
            assert!(ran.stdout.contains(text), "{format}: {}", ran.stdout);
        }
    }
    // It passes with a larger threshold, and so it does with that of the benchmarks.
    for passes in ["--suite geomean=5%", "--suite sum"] {
        compare(&repo, passes).run().code(0);
    }
}

#[test]
fn the_bases_table_decides_about_the_suite() {
    let repo = suite("suite = \"geomean=0.2%\"", ["1.01"; 3]);
    configure(&repo, "suite = \"off\"");
    repo.commit("looser");
    let ran = compare(&repo, "").run().code(100);
    ran.says("base and head set `suite` differently; the base's value is used");
    compare(&repo, "--policy-from head").run().code(0);
    let ran = compare(&repo, "--shard 1/2 --shard-by pairs --samples 1.csv").run().code(101);
    ran.says("shards by pairs give no verdict on the whole suite")
        .says("hint: divide by benchmarks");
    let ran = compare(&repo, "--suite mean=1%").run().code(2);
    ran.says("invalid suite `mean=1%`: it must be `geomean`, `sum` or `off`");
}

#[test]
fn a_benchmark_has_the_threshold_of_the_most_specific_pattern() {
    let table = "[package.metadata.cbdr.benchmark]\n\
                 \"*\" = { threshold = \"40%\" }\n\
                 \"inner::*\" = { threshold = \"4%\" }\n\
                 third = { threshold = \"3%\" }";
    let repo = suite(table, ["1.10", "1.10", "1.00"]);
    let compared =
        |args: &str, code: i32| compare(&repo, &format!("--format json {args}")).run().code(code);
    let of = |ran: Ran| {
        let threshold = |one: &Value| one["metrics"][0]["threshold"].as_f64().unwrap();
        ran.json()["benchmarks"].as_array().unwrap().iter().map(threshold).collect::<Vec<_>>()
    };
    let thresholds = |args: &str, code: i32| of(compared(args, code));
    assert_eq!(thresholds("", 100), [0.04, 0.4, 0.03]);
    // A flag for all of them wins, and the table of the base over that of the head.
    assert_eq!(thresholds("--threshold 50%", 0), [0.5, 0.5, 0.5]);
    configure(&repo, "[package.metadata.cbdr.benchmark.\"inner::*\"]\nthreshold = \"90%\"");
    repo.commit("looser");
    let ran = compared("", 100).says("base and head set `benchmark` differently");
    assert_eq!(of(ran), [0.04, 0.4, 0.03]);
    assert_eq!(thresholds("--policy-from head", 100), [0.9, 0.02, 0.02]);
    let ran = compare(&repo, "--dry-run").run().code(0);
    assert!(ran.stdout.contains("benchmark.inner::*"), "{}", ran.stdout);
}
