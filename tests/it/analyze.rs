//! The results of samples, which are those that a comparison would have had.

use std::io::Write;
use std::path::Path;
use std::process::Stdio;

use serde_json::{Value, json};

use crate::support::{Cbdr, PRINTED, Ran, printing};

fn cbdr(folder: &Path) -> Cbdr {
    Cbdr::new(folder, &folder.join("cache"))
}

/// Pipes `rows` into `analyze`.
#[track_caller]
fn fed(rows: &str, args: &str) -> Ran {
    let folder = crate::support::scratch();
    let mut command =
        cbdr(folder.path()).args(["analyze"]).args(args.split_whitespace()).into_command();
    let piped = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = piped.spawn().unwrap();
    // It may end before it has read all.
    let _ = child.stdin.take().unwrap().write_all(rows.as_bytes());
    let output = child.wait_with_output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    Ran { code: output.status.code(), stdout: text(output.stdout), stderr: text(output.stderr) }
}

/// Rows of `base` and of `head`, which takes `factor` times as long, in pairs.
fn pairs(count: u32, factor: f64) -> String {
    let mut rows = "benchmark,wall_time,max_rss\n".to_owned();
    for number in 0..count {
        let time = 1.0 + 0.001 * f64::from(number * 7919 % 13);
        let base = format!("base,{time},1000\n");
        let head = format!("head,{},1000\n", factor * (time + 0.001 * f64::from(number % 3)));
        rows += &if number % 2 == 0 { base.clone() + &head } else { head + &base };
    }
    rows
}

#[test]
fn an_order_that_is_not_random_is_said() {
    let notice = "(`base`, 14 times): whatever makes second runs";
    let mixed = pairs(60, 1.0);
    let object = fed(&mixed, "--threshold 2% --format json").code(0).json();
    assert!(!object["notices"].to_string().contains("comes first"), "{object}");
    let row =
        |name, value: u32| format!("{name},{},1000\n", 1.0 + 0.001 * f64::from(value * 7919 % 13));
    let fixed: String = (0..60).map(|n| row("base", n) + &row("head", n + 5)).collect();
    let fixed = format!("benchmark,wall_time,max_rss\n{fixed}");
    let object = fed(&fixed, "--threshold 2% --format json").code(0).json();
    assert!(object["notices"].to_string().contains(notice), "{object}");
    // Without a threshold nothing is promised.
    let object = fed(&fixed, "--format json").code(0).json();
    assert!(!object["notices"].to_string().contains("comes first"), "{object}");
}

#[test]
fn a_coarse_clock_is_said() {
    let row = |name: &str, n: u32| format!("{name},{}\n", f64::from(100 + n * 7919 % 5) / 100.0);
    let pair = |n: u32| match n % 3 {
        0 => row("base", n) + &row("head", n + 2),
        _ => row("head", n + 2) + &row("base", n),
    };
    let rows: String = (0..60).map(pair).collect();
    let coarse = fed(&format!("benchmark,wall_time\n{rows}"), "--threshold 2%").code(0);
    let said = coarse.stdout + &coarse.stderr;
    assert!(said.contains("multiples of a step of 0.98%"), "{said}");
}

/// The first benchmark's metric of a name.
fn metric<'a>(object: &'a Value, name: &str) -> &'a Value {
    let metrics = object["benchmarks"][0]["metrics"].as_array().unwrap();
    metrics.iter().find(|metric| metric["name"] == name).unwrap()
}

#[test]
fn an_average_that_decides_has_the_same_numbers_in_the_answer_and_in_the_table() {
    let mut rows = "benchmark,wall_time\n".to_owned();
    for number in 0..120 {
        let noise = 0.001 * f64::from(number * 7919 % 13);
        let base = format!("base,{}\n", 1.0 + noise);
        let slow = if number % 4 == 1 { 1.6 } else { 1.0 };
        let head = format!("head,{}\n", slow + 0.001 * f64::from(number * 104_729 % 11));
        rows += &if number % 2 == 0 { base.clone() + &head } else { head + &base };
    }
    let human = fed(&rows, "--threshold 2%").code(100);
    let (answer, rest) = human.stdout.split_once('\n').unwrap();
    let change = answer.strip_prefix("REGRESSION: head is ").unwrap().split(' ').next().unwrap();
    assert!(answer.contains(" slower than base on average, at least "), "{answer}");
    let limits = "allowed 2%, and 6% for an average; rare slow runs; the typical run ";
    assert!(answer.contains(limits), "{answer}");
    assert!(rest.contains(&format!("  +{change}  ")) && rest.contains("threshold +2%"), "{rest}");
    let object = fed(&rows, "--threshold 2% --format json").code(100).json();
    let metric = metric(&object, "wall_time");
    let said: f64 = change.trim_end_matches('%').parse().unwrap();
    assert!((100.0 * metric["change"].as_f64().unwrap() - said).abs() < 0.06, "{metric}");
    assert_eq!(metric["threshold"], 0.02);
    assert!(metric["lower"].as_f64().unwrap() > 0.06, "{metric}");
}

#[test]
fn samples_of_a_comparison_give_its_verdict_and_its_numbers() {
    let base = "{\"work\": {\"wall_time\": 0.100N, \"max_rss\": 100N}}";
    let repo = printing(base, &base.replace("0.100", "0.150"));
    let decides = "--threshold 10% --metric wall_time,max_rss --format json";
    for (extra, code) in [("--max-pairs 6", 0), ("", 100)] {
        let args = format!("compare main {PRINTED} {decides} {extra} --samples out.csv");
        let compared = repo.cbdr(&args).run().code(code).json();
        let analyzed = repo.cbdr(&format!("analyze out.csv {decides}")).run().code(code).json();
        assert_eq!(analyzed["verdict"], compared["verdict"]);
        let rows =
            std::fs::read_to_string(repo.path().join("out.csv")).unwrap().lines().count() - 1;
        assert_eq!(analyzed["rows"], rows);
        assert_eq!(analyzed["benchmarks"][0]["rule"], "sequential");
        for part in ["pairs", "status", "metrics"] {
            assert_eq!(analyzed["benchmarks"][0][part], compared["benchmarks"][0][part], "{part}");
        }
        for key in ["schema", "confidence", "estimator"] {
            assert_eq!(analyzed[key], compared[key]);
        }
    }
}

#[test]
fn with_a_threshold_the_verdict_decides_the_exit_code() {
    let object = fed(&pairs(50, 1.2), "--threshold 2% --format json").code(100).json();
    assert_eq!(
        (&object["verdict"], &object["stopped_by"]),
        (&json!("regression"), &json!("verdict"))
    );
    assert!(object["benchmarks"][0]["pairs"].as_u64().unwrap() < 50);
    let object = fed(&pairs(50, 1.0), "--threshold 2% --format json").code(0).json();
    assert_eq!(object["verdict"], "no-regression");
    // Too few rows for any.
    let object = fed(&pairs(3, 1.2), "--threshold 2% --format json").code(0).json();
    assert_eq!(object["verdict"], "inconclusive");
    assert_eq!(object["stopped_by"], "max-pairs");
    assert_eq!(metric(&object, "wall_time")["verdict"], "inconclusive");
    fed(&pairs(3, 1.2), "--threshold 2% --fail-on inconclusive").code(102);
    let ran = fed(&pairs(50, 1.2), "--threshold 2%").code(100);
    assert!(ran.stdout.starts_with("REGRESSION: head is 20.1% slower than base, at least "));
    assert!(ran.stdout.contains("confidence 95% at every look"));
}

#[test]
fn without_a_threshold_there_is_no_verdict_that_could_fail() {
    let ran = fed(&pairs(3, 1.0), "--fail-on inconclusive").code(2);
    ran.says("`--fail-on` is about a verdict: add `--threshold`");
}

#[test]
fn without_a_threshold_there_are_intervals_for_one_look() {
    let object = fed(&pairs(20, 1.2), "--format json").code(0).json();
    assert_eq!(object["verdict"], Value::Null);
    assert_eq!(object["benchmarks"][0]["rule"], "paired");
    let time = metric(&object, "wall_time");
    assert_eq!((&time["gates"], &time["verdict"]), (&json!(false), &Value::Null));
    let [lower, change, upper] =
        ["lower", "change", "upper"].map(|key| time[key].as_f64().unwrap());
    assert!(lower < change && change < upper && lower > 0.19 && upper < 0.21);
    assert!(object["notices"][0].as_str().unwrap().contains("valid for a single look"));
    // Nothing varies: the mean is known, but not how well.
    let memory = metric(&object, "max_rss");
    assert_eq!((&memory["change"], &memory["lower"]), (&json!(0.0), &Value::Null));
    let ran = fed(&pairs(20, 1.2), "--metric wall_time").code(0);
    assert!(
        ran.stdout.contains("for one look") && !ran.stdout.contains("max_rss"),
        "{}",
        ran.stdout
    );
}

#[test]
fn rows_that_do_not_pair_are_welchs() {
    // Means 10.8 and 12.5, standard error 0.746, 4.94 degrees of freedom, t 2.58.
    let rows = "benchmark,time\na,10\na,11\na,10\na,12\na,11\nb,11\nb,13\nb,12\nb,14\n";
    let object = fed(rows, "--format json").code(0).json();
    assert_eq!(object["benchmarks"][0]["rule"], "welch");
    assert_eq!(object["benchmarks"][0]["name"], "b vs a");
    let difference: Vec<f64> =
        serde_json::from_value(metric(&object, "time")["difference"].clone()).unwrap();
    let expected = [-0.226, 1.7, 3.626];
    for (actual, expected) in difference.iter().zip(expected) {
        assert!((actual - expected).abs() < 0.001, "{difference:?}");
    }
    // With a threshold, the only metric replaces the default.
    let ran = fed(rows, "--threshold 50%").code(0);
    let ran = ran.says("the rows of b vs a do not form pairs from line 7 on");
    assert!(ran.stdout.contains("no regression in time of b (+15.7%; "), "{}", ran.stdout);
    assert!(ran.stdout.contains("for one look"));
    fed(rows, "--threshold 1% --confidence 90%").code(100);
    let ran = fed(rows, "--threshold 1% --estimator median").code(101);
    ran.says("error: the estimator `median` can't be used: the rows of b vs a do not form pairs")
        .says("hint: ");
    fed(rows, "--estimator median").code(2).says("add `--threshold`");
}

#[test]
fn no_metric_replaces_the_usual_one_if_that_has_a_threshold() {
    let only = "benchmark,time\nbase,1\nhead,1\n";
    fed(only, "--threshold wall_time=2%").code(101).says("there is no column `wall_time`");
    // Without a threshold of its own for another metric, the median would decide: it is the same.
    let both = pairs(60, 1.1).replace(",wall_time,max_rss", ",wall_time,median_time");
    let object = fed(&both, "--threshold wall_time=2% --format json").code(100).json();
    assert_eq!(metric(&object, "wall_time")["verdict"], "regression");
    assert_eq!(metric(&object, "median_time")["gates"], false);
}

#[test]
fn geometric_means_are_of_the_values_and_agree_with_r() {
    let rows = "benchmark,t\na,1\nb,2\nb,16\na,4\n";
    let object = fed(rows, "--estimator geometric-mean --format json").code(0).json();
    assert_eq!(object["benchmarks"][0]["rule"], "paired");
    let number = |key: &str| metric(&object, "t")[key].as_f64().unwrap();
    let near = |one: f64, other: f64| (one - other).abs() < 1e-9 * other.abs();
    assert!(near(number("base"), 2.0) && near(number("head"), 32_f64.sqrt()));
    assert!(near(number("change"), 8_f64.sqrt() - 1.0));
    let lines = |file: &'static str| file.lines().filter(|line| !line.starts_with('#')).skip(1);
    for expected in lines(include_str!("golden/lognormal/expected.csv")) {
        let names = include_str!("golden/lognormal/expected.csv");
        let names = names.lines().find(|line| !line.starts_with('#')).unwrap();
        let cell = |name: &str| {
            let mut cells = names.split(',').zip(expected.split(','));
            cells.find(|(column, _)| *column == name).unwrap().1
        };
        let mut csv = "benchmark,t\n".to_owned();
        for sample in lines(include_str!("golden/lognormal/samples.csv")) {
            let cells: Vec<&str> = sample.split(',').collect();
            for value in cells[4].split(' ').filter(|_| cells[0] == cell("case")) {
                csv += &format!("{},{value}\n", cells[1]);
            }
        }
        let confidence = 100.0 * cell("conf").parse::<f64>().unwrap();
        let args = format!("--estimator geometric-mean --format json --confidence {confidence}%");
        let object = fed(&csv, &args).code(0).json();
        for (key, column) in [("change", "gm_ratio"), ("lower", "gm_lo"), ("upper", "gm_hi")] {
            let actual = metric(&object, "t")[key].as_f64().unwrap() + 1.0;
            let expected: f64 = cell(column).parse().unwrap();
            assert!(near(actual, expected), "{}: {actual} {expected}", cell("case"));
        }
    }
}

#[test]
fn labels_are_compared_each_with_the_one_before_or_all_with_a_base() {
    let rows = "benchmark,t\na,1\nb,2\nc,4\nb,2\na,1\nc,4\nc,4\nb,2\na,1\n";
    let couples = |args: &str| {
        let object = fed(rows, args).code(0).json();
        let all = object["benchmarks"].as_array().unwrap().iter();
        let all =
            all.map(|b| (b["name"].clone(), b["metrics"][0]["change"].clone(), b["pairs"].clone()));
        all.collect::<Vec<_>>()
    };
    let (first, second) = (json!("b vs a"), json!("c vs b"));
    let expected = [(first, json!(1.0), json!(3)), (second, json!(1.0), json!(3))];
    assert_eq!(couples("--format json"), expected);
    let (first, second) = (json!("a vs b"), json!("c vs b"));
    let expected = [(first, json!(-0.5), json!(3)), (second, json!(1.0), json!(3))];
    assert_eq!(couples("--format json --base b"), expected);
    let ran = fed(rows, "--base d").code(101).says("error: no row has the label `d`");
    ran.says("hint: available: `a`, `b`, `c`");
}

#[test]
fn sides_of_benchmarks_go_by_their_names_and_share_the_error() {
    let mut rows = "benchmark,wall_time\n".to_owned();
    for number in 0..40 {
        let time = 1.0 + 0.001 * f64::from(number * 7919 % 13);
        rows += &format!("x/head,{}\nx/base,{time}\n", 1.3 * time + 0.0001 * f64::from(number % 3));
        rows += &format!("y/base,{time}\ny/head,{}\n", time + 0.0001 * f64::from(number % 3));
    }
    let object = fed(&rows, "--threshold 2% --format json").code(100).json();
    let verdicts = object["benchmarks"].as_array().unwrap().iter();
    let verdicts = verdicts.map(|b| (b["name"].clone(), b["metrics"][0]["verdict"].clone()));
    let (x, y) = (json!("x"), json!("y"));
    let expected = [(x, json!("regression")), (y, json!("no-regression"))];
    assert_eq!(verdicts.collect::<Vec<_>>(), expected);
    let alone = "benchmark,wall_time\nx/base,1\nx/head,1\nx/base,2\nx/head,2\nz/head,1\n";
    // Both sides of one, and one of another.
    fed(alone, "").code(0).says("there are no rows to compare `z/head` with");
}

/// `rounds` pairs of each of eight benchmarks, whose heads take a tenth longer, but for the first
/// pair of all except `e`.
fn slower_suite(rounds: u32) -> String {
    let mut rows = "benchmark,wall_time\n".to_owned();
    for round in 0..rounds {
        for name in ["a", "b", "c", "d", "e", "f", "g", "h"] {
            let time = 1.0 + 0.001 * f64::from(round * 7919 % 13);
            let factor = if round == 0 && name != "e" { 0.99 } else { 1.1 };
            rows += &format!("{name}/base,{time}\n{name}/head,{}\n", factor * time);
        }
    }
    rows
}

#[test]
fn times_of_any_size_are_written_as_junit() {
    let folder = crate::support::scratch();
    let rows = "base,1e300\nhead,1e300\n".repeat(3);
    std::fs::write(folder.path().join("rows.csv"), format!("benchmark,wall_time\n{rows}")).unwrap();
    let args = ["analyze", "rows.csv", "--threshold", "2%", "--format", "junit"];
    let written = cbdr(folder.path()).args(args).run().code(0).stdout;
    assert!(written.contains("of `head vs base` changed by"), "{written}");
}

#[test]
fn that_some_of_a_suite_is_slower_is_known_before_which() {
    let folder = crate::support::scratch();
    let decide = |rounds: u32, more: &str| {
        std::fs::write(folder.path().join("rows.csv"), slower_suite(rounds)).unwrap();
        let args = format!("analyze rows.csv --threshold 2% --format {more}");
        cbdr(folder.path()).args(args.split_whitespace()).run()
    };
    let rounds = (1..30).find(|rounds| decide(*rounds, "json").json()["verdict"] == "regression");
    let rounds = rounds.unwrap();
    let said = decide(rounds, "json").code(100).json();
    assert_eq!(said["likely_slower"], "e");
    let metrics = said["benchmarks"].as_array().unwrap().iter().flat_map(|one| {
        one["metrics"].as_array().unwrap().iter().map(|metric| metric["verdict"].clone())
    });
    assert!(metrics.eq(std::iter::repeat_n(json!("inconclusive"), 8)));
    let text = decide(rounds, "human").code(100);
    let sentence =
        "at least 1 of 8 benchmarks is slower, but it is not certain which (most likely e";
    assert!(text.stdout.contains(sentence), "{}", text.stdout);
    assert!(decide(rounds, "junit").code(100).stdout.contains("failures=\"1\""));
    let annotations = decide(rounds, "github").code(100).stdout;
    assert!(annotations.contains("\n::error title=cargo cbdr%3A regression::"), "{annotations}");
    let more = decide(2 * rounds, "json").code(100).json();
    assert!(more.get("likely_slower").is_none());
    assert_eq!(more["benchmarks"][7]["metrics"][0]["verdict"], "regression");
}

#[test]
fn a_single_benchmark_is_not_one_of_several_of_which_some_is_slower() {
    let folder = crate::support::scratch();
    let pairs = [(9.7, 13.4), (11.6, 18.5), (13.8, 16.6), (10.8, 15.6), (12.6, 17.2), (12.4, 19.9)];
    let rows = pairs.map(|(base, head)| format!("base,{base}\nhead,{head}\n")).concat();
    std::fs::write(folder.path().join("rows.csv"), format!("benchmark,wall_time\n{rows}")).unwrap();
    let args = "analyze rows.csv --threshold 2% --format json";
    let said = cbdr(folder.path()).args(args.split_whitespace()).run().code(0).json();
    assert_eq!(said["verdict"], "inconclusive");
    assert!(said.get("likely_slower").is_none());
}

#[test]
fn files_are_read_for_their_labels_first_and_a_pipe_can_not_be() {
    let folder = crate::support::scratch();
    let of = |name: &str, factor: f64| {
        pairs(30, factor)
            .replace("base,", &format!("{name}/base,"))
            .replace("head,", &format!("{name}/head,"))
    };
    let (one, two) = (of("one", 1.0), of("two", 1.3));
    std::fs::write(folder.path().join("1.csv"), &one).unwrap();
    std::fs::write(folder.path().join("2.csv"), &two).unwrap();
    let args = "analyze 1.csv 2.csv --threshold 2% --format json".split(' ');
    let object = cbdr(folder.path()).args(args).run().code(100).json();
    let verdicts = object["benchmarks"].as_array().unwrap().iter();
    let verdicts: Vec<_> = verdicts.map(|b| b["metrics"][0]["verdict"].clone()).collect();
    assert_eq!(verdicts, ["no-regression", "regression"]);
    // One behind the other in a pipe: the second benchmark comes too late.
    let mut open = "benchmark,wall_time,max_rss\n".to_owned();
    for number in 0..8 {
        open += &format!("one/base,1,1\none/head,{},1\n", 0.5 + f64::from(number % 2));
    }
    let ran = fed(&(open + &two), "--threshold 2%").code(101);
    ran.says("standard input, line 20: the label `two/head` appears here").says("hint: ");
}

#[test]
fn a_bad_row_is_named_by_file_line_and_column() {
    let head = "benchmark,wall_time,user_time\na,1,2\nb,1,2\n";
    let table = [
        (
            "a,1\n",
            "line 4, column 3 (`user_time`): the row ends here, but the header has 3 columns",
        ),
        ("a\n", "line 4, column 2 (`wall_time`): the row ends here"),
        ("a,1,2,3\n", "line 4, column 4: the row goes on, but the header has 3 columns"),
        ("\n\na,x,2\n", "line 6, column 2 (`wall_time`): `x` is not a number"),
        ("a,1 2,2\n", "line 4, column 2 (`wall_time`): `1 2` is not a number"),
        ("a,1,NaN\n", "line 4, column 3 (`user_time`): `NaN` is not a finite number"),
        ("a,1,inf\n", "line 4, column 3 (`user_time`): `inf` is not a finite number"),
        ("a,-1,2\n", "line 4, column 2 (`wall_time`): `-1` is negative"),
        (",1,2\n", "line 4, column 1 (`benchmark`): the label is missing"),
    ];
    let folder = crate::support::scratch();
    for (row, expected) in table {
        std::fs::write(folder.path().join("bad.csv"), format!("{head}{row}")).unwrap();
        for args in ["analyze bad.csv", "analyze bad.csv --threshold 2%"] {
            let ran = cbdr(folder.path()).args(args.split(' ')).run().code(101);
            ran.says(&format!("error: `bad.csv`, {expected}"));
        }
    }
    let headers = [
        ("", "standard input is empty"),
        ("\n", "standard input is empty"),
        ("benchmark,t\n", "there are no rows, only the header"),
        ("benchmark\na\n", "line 1, column 2: there are no metrics"),
        ("benchmark,t,t\n", "line 1, column 3: `t` appears twice"),
        ("a,1\nb,2\n", "line 1, column 1: the first column is `a`, not `benchmark`"),
        ("benchmark,t\na,1\na,2\n", "`a` is the only label"),
    ];
    for (rows, expected) in headers {
        fed(rows, "").code(101).says(
            &format!("error: {expected}").replace("error: line", "error: standard input, line"),
        );
    }
    fed(head, "--metric wal_time")
        .code(101)
        .says("there is no column `wal_time`")
        .says("hint: did you mean `wall_time`?");
    let ran = cbdr(folder.path()).args(["analyze", "none.csv"]).run().code(101);
    ran.says("none.csv").says("hint: check the path and its permissions");
    fed("benchmark,t\n", "").says("hint: `cargo cbdr sample NAME:COMMAND...` prints samples");
    fed("benchmark,t\na,1\n", "").says("hint: the first column names the side of a run");
}

#[test]
fn cells_may_be_empty_and_rows_may_be_written_in_any_way_of_csv() {
    let rows = "\u{feff}benchmark,t,\"u, v\"\r\n\"a, b\",1,\r\nc,2.5e0,7\r\n\"a, b\",,3\r\nc,2,\r\n\
                benchmark,t,\"u, v\"\r\nc,.3e1,-1\r\n\"a, b\",1,4";
    let object = fed(rows, "--format json").code(0).json();
    assert_eq!(object["rows"], 6);
    assert_eq!(object["benchmarks"][0]["base"], "a, b");
    let time = metric(&object, "t");
    assert_eq!((&time["base"], &time["head"]), (&json!(1.0), &json!(2.75)));
    assert_eq!(metric(&object, "u, v")["head"], -1.0);
    // A metric that gates needs a value on either side.
    let rows = "benchmark,t,u\na,1,\nb,1,2\na,1,\nb,1,2\n";
    fed(rows, "--threshold 2% --metric u").code(101).says("no run of `a` has a value of `u`");
    fed(rows, "--threshold 2% --metric t").code(0);
}

#[test]
fn the_judge_is_benchmark_tools() {
    let file = include_str!("golden/benchmarktools/trials.csv");
    let rows = file.lines().filter(|line| !line.starts_with('#')).skip(1);
    for row in rows {
        let cells: Vec<&str> = row.split(',').collect();
        let mut csv = "benchmark,time,memory\n".to_owned();
        for (label, times, memory) in [("base", cells[1], cells[3]), ("target", cells[0], cells[2])]
        {
            for time in times.split(' ') {
                csv += &format!("{label},{time},{memory}\n");
            }
        }
        let percent = |cell: &str| format!("{}%", 100.0 * cell.parse::<f64>().unwrap());
        let args = format!(
            "--rule judge --format json --metric time,memory --threshold {} --threshold memory={}",
            percent(cells[12]),
            percent(cells[13])
        );
        let regression = cells[14] == "true";
        let object = fed(&csv, &args).code(if regression { 100 } else { 0 }).json();
        assert_eq!(object["benchmarks"][0]["rule"], "judge");
        assert_eq!(metric(&object, "time")["judgement"], cells[9], "{row}");
        assert_eq!(metric(&object, "memory")["judgement"], cells[11], "{row}");
        let ratio: f64 = cells[8].parse().unwrap();
        let change = metric(&object, "time")["change"].as_f64().unwrap();
        assert!((change + 1.0 - ratio).abs() < 1e-12, "{row}");
    }
}

#[test]
fn a_judge_takes_five_percent_and_the_least_time_unless_told_otherwise() {
    let rows = "benchmark,wall_time\na,1\na,9\nb,1.04\nb,2\n";
    let ran = fed(rows, "--rule judge").code(0);
    assert!(ran.stdout.contains("invariant") && ran.stdout.contains("+5%"), "{}", ran.stdout);
    fed(rows, "--rule judge --threshold 3%").code(100);
    fed(rows, "--rule judge --threshold 3% --estimator mean").code(0);
    fed(rows, "--rule judge --estimator median").code(2);
    let ran = fed(rows, "--rule judge --confidence 99%").code(2);
    ran.says("`--rule judge` has no confidence: leave out `--confidence`");
}

#[test]
fn the_pipe_ends_when_the_verdict_is_in() {
    let folder = crate::support::scratch();
    let slow = "b:sh -c 'i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done'";
    let sample = cbdr(folder.path()).args(["sample", "a:true", slow, "--time-limit", "1h"]);
    let mut sample =
        sample.into_command().stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let analyze =
        cbdr(folder.path()).args(["analyze", "--threshold", "2%", "--metric", "cpu_time"]);
    let rows = sample.stdout.take().unwrap();
    let analyzed = analyze.into_command().stdin(rows).output().unwrap();
    assert_eq!(analyzed.status.code(), Some(100));
    assert_eq!(sample.wait().unwrap().code(), Some(0));
}
