//! `analyze`, `plot` and `analyze --combine` on recorded samples.

use std::fmt::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use super::expected::Outputs;
use super::scene::{ANYWHERE, SUMMARY, Scene};
use super::trace;

const FORMATS: [&str; 5] = ["human", "json", "markdown", "github", "junit"];
const ESTIMATORS: [&str; 5] = ["robust", "mean", "geometric-mean", "median", "min"];

/// Samples of `base` and `head` in pairs, one column: the recorded times of a
/// program, the head's multiplied by `factor`.
fn pairs(name: &str, count: usize, factor: f64) -> String {
    let mut rows = "benchmark,wall_time\n".to_owned();
    for (number, [first, second]) in trace(name, count).into_iter().enumerate() {
        let _ = if number % 2 == 0 {
            write!(rows, "base,{first}\nhead,{}\n", second * factor)
        } else {
            write!(rows, "head,{}\nbase,{second}\n", first * factor)
        };
    }
    rows
}

/// Samples of two benchmarks with three metrics, of one of which more is
/// better and one has cells without a value: `parse` is slower on the head,
/// `print` is not.
fn suite(count: usize) -> String {
    let mut rows = "benchmark,wall_time,throughput,max_rss\n".to_owned();
    for (number, (parse, print)) in
        trace("sha", count).into_iter().zip(trace("tiny", count)).enumerate()
    {
        for (name, [base, head], factor) in [("parse", parse, 1.25), ("print", print, 1.0)] {
            let head = head * factor;
            let memory = |side: usize| match number % 3 {
                0 => String::new(),
                _ => (1_048_576 + 4096 * ((7 * number + 5 * side) % 11)).to_string(),
            };
            let base = format!("{name}/base,{base},{},{}\n", 1e6 / base, memory(0));
            let head = format!("{name}/head,{head},{},{}\n", 1e6 / head, memory(1));
            rows += &if number % 2 == 0 { base + &head } else { head + &base };
        }
    }
    rows
}

/// Samples of `count` benchmarks, of which every 29th is slower on the head.
fn many(count: usize) -> String {
    let pairs = trace("sha", 24);
    let mut rows = "benchmark,wall_time\n".to_owned();
    for at in 0..pairs.len() {
        for number in 0..count {
            let factor = if number % 29 == 3 { 1.3 } else { 1.0 };
            let [base, head] = pairs[(at + number) % pairs.len()];
            let base = format!("work/{number:03}/base,{base}\n");
            let head = format!("work/{number:03}/head,{}\n", head * factor);
            rows += &if at % 2 == 0 { base + &head } else { head + &base };
        }
    }
    rows
}

/// Samples of three labels in turn, as `sample` writes them.
fn labels() -> String {
    let mut rows = "benchmark,wall_time,cpu_time\n".to_owned();
    for [a, b] in trace("python", 40) {
        let _ = write!(rows, "a,{a},{}\nb,{b},{}\nc,{},{}\n", a / 2.0, b / 3.0, 1.5 * a, b);
    }
    rows
}

/// Samples that do not pair: all of one label, then all of the other, which
/// are fewer.
fn unpaired() -> String {
    let pairs = trace("mem", 30);
    let old = pairs.iter().map(|[first, _]| format!("old,{first}\n"));
    let new = pairs.iter().skip(5).map(|[_, second]| format!("new,{}\n", 1.1 * second));
    "benchmark,wall_time\n".to_owned() + &old.chain(new).collect::<String>()
}

/// A folder with the samples that the calls read.
fn recorded() -> (tempfile::TempDir, Scene) {
    let folder = crate::support::scratch();
    let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
    write("slower.csv", &pairs("sha", 100, 1.1));
    write("same.csv", &pairs("tiny", 300, 1.0));
    write("few.csv", &pairs("mem", 12, 1.03));
    write("suite.csv", &suite(60));
    write("small-suite.csv", &suite(9));
    let units = json!({ "throughput": { "unit": "B/s", "better": "higher" } });
    let units = json!({ "units": units }).to_string();
    write("suite.csv.json", &units);
    write("small-suite.csv.json", &units);
    write("labels.csv", &labels());
    write("unpaired.csv", &unpaired());
    write("short.csv", "benchmark,wall_time\nbase,1\nhead\n");
    let scene = Scene::new(folder.path(), &folder.path().join("cache")).replacing(&ANYWHERE);
    (folder, scene)
}

/// The call of a format, and the file that it writes besides.
fn in_format(call: &str, format: &str) -> (String, &'static [&'static str]) {
    (format!("{call} --format {format}"), if format == "github" { &[SUMMARY] } else { &[] })
}

#[test]
fn analyze_with_a_threshold() {
    let (_folder, scene) = recorded();
    let mut outputs = Outputs::new("analyze");
    let calls = [
        ("regression", "slower.csv --threshold 2%"),
        ("no-regression", "same.csv --threshold 5%"),
        ("inconclusive", "few.csv --threshold 2%"),
        ("inconclusive-fails", "few.csv --threshold 2% --fail-on inconclusive"),
        (
            "suite",
            "suite.csv --threshold 3% --threshold max_rss=10% --metric wall_time,throughput,max_rss",
        ),
        ("judge", "suite.csv --rule judge --metric wall_time,throughput"),
    ];
    for (name, call) in calls {
        for format in FORMATS {
            let (call, files) = in_format(&format!("analyze {call}"), format);
            outputs.add(&format!("{name}.{format}"), scene.transcript(&call, files));
        }
    }
    for estimator in ESTIMATORS {
        let call = format!("analyze slower.csv --threshold 2% --estimator {estimator}");
        outputs.add(&format!("{estimator}.human"), scene.transcript(&call, &[]));
        let call = format!("{call} --format json");
        outputs.add(&format!("{estimator}.json"), scene.transcript(&call, &[]));
    }
    let others = [
        ("piped", "analyze --threshold 2% --format json < slower.csv"),
        ("confidence", "analyze slower.csv --threshold 2% --confidence 99.9%"),
        ("several-files", "analyze slower.csv same.csv --threshold 2%"),
        ("welch", "analyze unpaired.csv --threshold 1%"),
        ("welch.json", "analyze unpaired.csv --threshold 50% --format json"),
        ("welch-geometric", "analyze unpaired.csv --threshold 20% --estimator geometric-mean"),
        ("labels", "analyze labels.csv --threshold 20% --format json"),
        ("base", "analyze labels.csv --base c --threshold 20%"),
        ("judge-least", "analyze few.csv --rule judge --threshold 1% --format json"),
        ("judge-mean", "analyze few.csv --rule judge --threshold 1% --estimator mean"),
    ];
    for (name, call) in others {
        outputs.add(name, scene.transcript(call, &[]));
    }
    outputs.check();
}

/// What a terminal with so many columns and 24 rows shows of a call, without colours.
fn on_terminal(folder: &Path, columns: usize, call: &str) -> String {
    let program = env!("CARGO_BIN_EXE_cargo-cbdr");
    let line = format!("stty cols {columns} rows 24; '{program}' {call}");
    let mut script = Command::new("script");
    script.args(["--quiet", "--command", &line, "/dev/null"]).current_dir(folder);
    script.env("CBDR_PROGRESS", "none").env("NO_COLOR", "1").stdin(Stdio::null());
    let shown = String::from_utf8(script.output().unwrap().stdout).unwrap().replace('\r', "");
    format!("$ cargo cbdr {call}\n{shown}\n")
}

#[test]
fn terminals_of_three_widths() {
    if Command::new("script").arg("--version").stdout(Stdio::null()).status().is_err() {
        return crate::support::skipped("script is not installed");
    }
    let (folder, _) = recorded();
    for count in [30, 300] {
        std::fs::write(folder.path().join(format!("{count}.csv")), many(count)).unwrap();
    }
    let mut outputs = Outputs::new("terminal");
    for columns in [60, 80, 120] {
        let calls = [
            "slower.csv --threshold 2%",
            "same.csv --threshold 5%",
            "few.csv --threshold 2%",
            "suite.csv --threshold 3% --metric wall_time,throughput,max_rss",
            "30.csv --threshold 10%",
            "300.csv --threshold 10%",
        ];
        let shown = calls
            .map(|call| on_terminal(folder.path(), columns, &format!("analyze {call}")))
            .concat();
        let widest = shown.lines().filter(|line| !line.starts_with('$'));
        let widest = widest.map(|line| line.chars().count()).max();
        assert!(widest <= Some(columns), "{shown}");
        outputs.add(&columns.to_string(), shown);
    }
    outputs.check();
}

#[test]
fn analyze_without_a_threshold() {
    let (_folder, scene) = recorded();
    let mut outputs = Outputs::new("intervals");
    for (name, call) in
        [("paired", "slower.csv"), ("suite", "suite.csv"), ("welch", "unpaired.csv")]
    {
        for format in ["human", "json", "markdown", "github"] {
            let (call, files) = in_format(&format!("analyze {call}"), format);
            outputs.add(&format!("{name}.{format}"), scene.transcript(&call, files));
        }
    }
    let others = [
        ("geometric-mean", "analyze slower.csv --estimator geometric-mean --format json"),
        ("metric", "analyze suite.csv --metric throughput --confidence 90%"),
        ("labels", "analyze labels.csv"),
        ("base", "analyze labels.csv --base b"),
    ];
    for (name, call) in others {
        outputs.add(name, scene.transcript(call, &[]));
    }
    outputs.check();
}

#[test]
fn samples_that_cannot_be_analyzed() {
    let (_folder, scene) = recorded();
    let mut outputs = Outputs::new("errors");
    let calls = [
        ("no-file", "analyze none.csv"),
        ("short-row", "analyze short.csv"),
        ("no-metric", "analyze slower.csv --metric wal_time"),
        ("no-label", "analyze slower.csv --base d"),
        (
            "median-of-rows-that-do-not-pair",
            "analyze unpaired.csv --threshold 1% --estimator median",
        ),
        ("median-without-threshold", "analyze slower.csv --estimator median"),
        ("junit-without-threshold", "analyze slower.csv --format junit"),
        ("bad-threshold", "analyze slower.csv --threshold 2"),
        ("bad-confidence", "analyze slower.csv --confidence 100%"),
        ("bad-estimator", "analyze slower.csv --threshold 2% --estimator medium"),
        ("no-shard", "analyze --combine slower.csv"),
    ];
    for (name, call) in calls {
        outputs.add(name, scene.transcript(call, &[]));
    }
    outputs.check();
}

/// The pair at which each verdict fell, of each recorded program at several
/// slowdowns, and the numbers that it fell with.
#[test]
fn the_pair_of_each_verdict() {
    let folder = crate::support::scratch();
    let mut outputs = Outputs::new("verdicts");
    for name in ["sha", "python", "tiny", "mem"] {
        let mut table = "factor,estimator,exit code,verdict,pairs,change,lower,upper\n".to_owned();
        for factor in [0.97, 1.0, 1.03, 1.1] {
            std::fs::write(folder.path().join("in.csv"), pairs(name, 500, factor)).unwrap();
            for estimator in ESTIMATORS {
                let _ =
                    writeln!(table, "{factor},{estimator},{}", verdict(folder.path(), estimator));
            }
        }
        outputs.add(name, table);
    }
    outputs.check();
}

/// The result of `analyze` for `in.csv`, as the cells of a row.
fn verdict(folder: &Path, estimator: &str) -> String {
    let args = ["analyze", "in.csv", "--threshold", "2%", "--format", "json", "--estimator"];
    let cbdr = crate::support::Cbdr::new(folder, &folder.join("cache")).args(args);
    let ran = cbdr.args([estimator]).run();
    let object = ran.json();
    let benchmark = &object["benchmarks"][0];
    let metric = &benchmark["metrics"][0];
    let code = json!(ran.code);
    let cells =
        [&code, &metric["verdict"], &benchmark["pairs"], &metric["change"], &metric["lower"]];
    let cells = cells.into_iter().chain([&metric["upper"]]);
    let text = |cell: &Value| cell.as_str().map_or(cell.to_string(), str::to_owned);
    cells.map(text).collect::<Vec<_>>().join(",")
}

#[test]
fn plots_and_pages_of_samples() {
    let (_folder, scene) = recorded();
    let mut outputs = Outputs::new("plot");
    let calls: [(&str, &str, &[&str]); 8] = [
        ("histogram", "plot slower.csv", &[]),
        ("histograms", "plot suite.csv --metric wall_time,throughput", &[]),
        ("labels", "plot labels.csv --metric wall_time", &[]),
        ("piped", "plot --metric wall_time < few.csv", &[]),
        ("vega", "plot few.csv --vega", &[]),
        ("no-metric", "plot few.csv --metric wal_time", &[]),
        ("page", "plot few.csv --html page.html", &["page.html"]),
        (
            "page-with-verdicts",
            "plot small-suite.csv --threshold 3% --html page.html",
            &["page.html"],
        ),
    ];
    for (name, call, files) in calls {
        outputs.add(name, scene.transcript(call, files));
    }
    let scene = scene.with("COLUMNS", "30");
    outputs.add("histogram-narrow", scene.transcript("plot slower.csv", &[]));
    outputs.check();
}

#[test]
fn one_verdict_of_several_shards() {
    let folder = crate::support::scratch();
    let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/recorded");
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        std::fs::copy(entry.path(), folder.path().join(entry.file_name())).unwrap();
    }
    let scene = Scene::new(folder.path(), &folder.path().join("cache")).replacing(&ANYWHERE);
    let mut outputs = Outputs::new("combine");
    let sets = [
        ("work", "work-1.csv work-2.csv work-3.csv"),
        ("waived", "waived-1.csv waived-2.csv"),
        ("suite", "suite-1.csv suite-2.csv"),
        ("same", "same-1.csv same-2.csv"),
    ];
    for (name, files) in sets {
        for format in FORMATS {
            let (call, files) = in_format(&format!("analyze --combine {files}"), format);
            outputs.add(&format!("{name}.{format}"), scene.transcript(&call, files));
        }
    }
    let others = [
        ("other-order", "analyze --combine work-3.csv work-1.csv work-2.csv --format json"),
        ("shard-missing", "analyze --combine work-1.csv work-3.csv"),
        ("missing-allowed", "analyze --combine work-1.csv work-3.csv --allow-missing"),
        ("shard-twice", "analyze --combine work-1.csv work-2.csv work-1.csv"),
        ("of-two-comparisons", "analyze --combine waived-1.csv suite-2.csv"),
        ("one-identical", "analyze --combine same-1.csv suite-2.csv"),
        (
            "inconclusive-fails",
            "analyze --combine work-1.csv --allow-missing --fail-on inconclusive",
        ),
    ];
    for (name, call) in others {
        outputs.add(name, scene.transcript(call, &[]));
    }
    outputs.check();
}
