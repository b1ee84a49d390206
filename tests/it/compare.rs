//! From two commits to a verdict.

use serde_json::{Value, json};

use crate::support::{
    Cbdr, PRINTED, PRINTED_KEYS, Repo, branch_with, metric, printing, write_script,
};

// Processor time gates: the tests must not depend on who else uses the machine.

#[test]
fn a_slowdown_is_a_regression() {
    let repo = branch_with("3_000_000");
    let ran = repo.cbdr("compare main --format json --metric cpu_time").run().code(100);
    let object = ran.json();
    assert!(ran.stdout.contains(r#""verdict":"regression""#));
    assert_eq!(object["schema"], 2);
    assert_eq!(object["stopped_by"], "verdict");
    assert_eq!(object["merge_base"], true);
    assert_eq!(object["head"]["commit"], json!(repo.head()));
    assert_eq!(object["head"]["rev"], "feature");
    assert_eq!(object["base"]["rev"], "main");
    assert_eq!(object["benchmarks"][0]["status"], "compared");
    let time = metric(&object, "cpu_time");
    assert_eq!((&time["unit"], &time["better"]), (&json!("s"), &json!("lower")));
    assert_eq!((&time["gates"], &time["verdict"]), (&json!(true), &json!("regression")));
    assert_eq!(time["threshold"], 0.02);
    let wall = metric(&object, "wall_time");
    assert_eq!((&wall["gates"], &wall["verdict"]), (&json!(false), &Value::Null));
    assert!(wall["base"].as_f64().unwrap() > 0.0);
}

#[test]
fn a_speed_up_is_no_regression() {
    let repo = printing("{\"wall_time\": 0.150N}", "{\"wall_time\": 0.100N}");
    let ran = repo.cbdr(&format!("compare main {PRINTED} --format json")).run().code(0);
    let object = ran.json();
    assert_eq!(object["verdict"], "no-regression");
    assert!((-0.36..-0.3).contains(&metric(&object, "wall_time")["change"].as_f64().unwrap()));
}

#[test]
fn a_change_of_the_documentation_is_identical_and_one_of_the_program_is_measured() {
    let repo = Repo::new("steady");
    repo.branch("feature");
    repo.write("README.md", "words\n");
    repo.commit("document it");
    let object = repo.cbdr("compare main --format json").run().code(0).json();
    assert_eq!(
        (&object["verdict"], &object["stopped_by"]),
        (&json!("identical"), &json!("identical"))
    );
    assert_eq!(object["benchmarks"][0]["pairs"], 0);
    // Asked to, it measures.
    let args = "compare main --layouts off --format json --metric cpu_time --threshold 50%";
    let object = repo.cbdr(&format!("{args} --always-run")).run().code(0).json();
    assert_eq!(object["verdict"], "no-regression");
    // What is another program is measured, also if it does the same.
    let constant = "fn main() {\n    black_box(\"another constant\");";
    repo.replace("benches/work.rs", "fn main() {", constant);
    repo.commit("another constant");
    let object = repo.cbdr(args).run().code(0).json();
    assert_eq!(object["verdict"], "no-regression");
    assert!(metric(&object, "cpu_time")["upper"].as_f64().unwrap() <= 0.5);
}

#[test]
fn the_head_against_itself_is_built_twice_and_measured() {
    let repo = Repo::new("steady");
    let args = "compare --aa --layouts off --format json --metric cpu_time --threshold 50%";
    let object = repo.cbdr(args).run().code(0).says("Building base").says("Building head").json();
    assert_eq!(object["verdict"], "no-regression");
    assert_eq!(object["base"]["commit"], object["head"]["commit"]);
    assert_eq!(object["merge_base"], false);
}

#[test]
fn limits_leave_it_open_and_the_policy_says_what_that_means() {
    let repo = branch_with("500_001");
    let args = "compare main --command true --format json --threshold 900% --max-pairs 6";
    let object = repo.cbdr(args).run().code(0).json();
    assert_eq!(object["verdict"], "inconclusive");
    assert_eq!(object["stopped_by"], "max-pairs");
    assert_eq!(object["benchmarks"][0]["pairs"], 6);
    repo.cbdr(&format!("{args} --fail-on inconclusive")).run().code(102);
}

#[test]
fn a_limit_that_is_too_short_says_what_is_needed() {
    let repo = branch_with("500_001");
    let call = repo.cbdr("compare main --time-limit 20ms --command").args(["sleep 0.01"]);
    let ran = call.run().code(101);
    let ran = ran.says("error: a verdict needs at least 6 pairs, which take about ");
    ran.says("longer than the time limit of 20ms").says("hint: allow `--time-limit ");
}

#[test]
fn a_file_that_grew_is_a_regression_though_the_limit_has_no_room_for_a_run() {
    let repo = printing(r#"{"work": 1}"#, r#"{"work": 1, "more": 1}"#);
    let limits = "--threshold executable_bytes=0% --time-limit 2ms --format json";
    let call = format!("compare main {PRINTED} --metric work,executable_bytes {limits}");
    let ran = repo.cbdr(&call).run().code(100);
    let object = ran.json();
    assert_eq!(object["verdict"], "regression");
    let has_status = |status: &str| {
        let mut all = object["benchmarks"].as_array().unwrap().iter();
        all.any(|one| one["status"] == status)
    };
    assert!(has_status("not-measured"), "{object}");
    assert_eq!(metric(&object, "executable_bytes")["verdict"], "regression");
}

#[test]
fn a_first_run_that_was_slow_for_once_refuses_nothing() {
    let repo = Repo::new("steady");
    repo.write(
        "run.sh",
        "[ -e \"$MARK\" ] || { : > \"$MARK\"; sleep 1.5; }\necho '{\"work\": 1}'\n",
    );
    repo.commit("slow at first");
    let call = repo.cbdr("compare --aa --harness json --metric work --time-limit 10s --command");
    call.args(["sh run.sh"]).env("MARK", repo.around().join("mark")).run().code(0);
}

#[test]
fn a_first_start_that_was_slow_for_once_leaves_each_benchmark_its_own_process() {
    let repo = Repo::new("steady");
    let bench = "use std::io::Write;\n\n\
                 fn main() {\n    \
                     let args: Vec<String> = std::env::args().skip(1).collect();\n    \
                     let wanted = args.iter().find(|arg| !arg.starts_with('-'));\n    \
                     if args.iter().any(|arg| arg == \"--help\") {\n        \
                         println!(\"Exactly match filters\");\n    \
                     }\n    \
                     let runs = std::env::var(\"RUNS\").unwrap();\n    \
                     let mut log = std::fs::File::options().create(true).append(true).open(&runs).unwrap();\n    \
                     writeln!(log, \"{}\", wanted.map_or(\"all\", |name| &**name)).unwrap();\n    \
                     let text = std::fs::read_to_string(&runs).unwrap();\n    \
                     if matches!(text.matches(\"no benchmark\").count(), 1 | 2) {\n        \
                         std::thread::sleep(std::time::Duration::from_millis(300));\n    \
                     }\n    \
                     for name in [\"one\", \"two\", \"three\"] {\n        \
                         if wanted.is_none_or(|wanted| *wanted == name) {\n            \
                             println!(\"test {name} ... bench: 12.5 ns/iter (+/- 1.00)\");\n        \
                         }\n    \
                     }\n\
                 }\n";
    repo.write("benches/work.rs", bench);
    repo.commit("three benchmarks");
    let runs = repo.around().join("runs");
    repo.cbdr("compare --aa --layouts off --harness libtest").env("RUNS", &runs).run().code(0);
    let runs = std::fs::read_to_string(runs).unwrap();
    let sampled = runs.rsplit("no benchmark").next().unwrap().lines().skip(1);
    let together = sampled.filter(|name| !["one", "two", "three"].contains(name));
    assert_eq!(together.collect::<Vec<_>>(), [""; 0], "{runs}");
}

#[test]
fn of_a_suite_that_does_not_fit_a_part_is_measured_and_the_rest_named() {
    let repo = Repo::new("steady");
    let bench = "fn main() {\n    \
                     let args: Vec<String> = std::env::args().skip(1).collect();\n    \
                     let wanted = args.iter().find(|arg| !arg.starts_with('-'));\n    \
                     if args.iter().any(|arg| arg == \"--help\") {\n        \
                         println!(\"Exactly match filters\");\n    \
                     }\n    \
                     for number in 10..40 {\n        \
                         let name = format!(\"number_{number}\");\n        \
                         if wanted.is_some_and(|wanted| *wanted != name) {\n            \
                             continue;\n        \
                         }\n        \
                         println!(\"test {name} ... bench: 12.5 ns/iter (+/- 1.00)\");\n        \
                         if args.iter().any(|arg| arg == \"--list\") {\n            \
                             continue;\n        \
                         }\n        \
                         let long = if name == \"number_10\" { 40 } else { 8 };\n        \
                         std::thread::sleep(std::time::Duration::from_millis(long));\n        \
                         let runs = std::env::var(\"RUNS\").unwrap();\n        \
                         let mut runs = std::fs::File::options().create(true).append(true).open(runs).unwrap();\n        \
                         std::io::Write::write_all(&mut runs, format!(\"{name}\\n\").as_bytes()).unwrap();\n    \
                     }\n\
                 }\n";
    repo.write("benches/work.rs", bench);
    repo.commit("thirty benchmarks");
    let runs = repo.around().join("runs");
    let compare = |args: &str| {
        let args = format!("compare --aa --layouts off --harness libtest {args}");
        repo.cbdr(&args).env("RUNS", &runs).run()
    };
    let ran = compare("--time-limit 80ms").code(101);
    ran.says("the shortest of 30 benchmarks, which take about");
    // The warm-up runs each of them on both sides.
    let again = std::fs::read_to_string(&runs).unwrap().lines().count() - 60;
    assert!(again < 30, "{again} of 60 further runs");
    let ran = compare("--time-limit 1s --format json").code(0);
    let ran = ran.says("for which the time limit leaves no room");
    let object = ran.says("`number_10` (").json();
    assert_eq!(object["verdict"], "inconclusive");
    assert_eq!(object["stopped_by"], "time-limit");
    let all = object["benchmarks"].as_array().unwrap();
    let (late, measured): (Vec<_>, Vec<_>) =
        all.iter().partition(|one| one["status"] == "not-measured");
    assert_eq!(late.len() + measured.len(), 30);
    assert!(late.iter().any(|one| one["name"] == "number_10"), "the longest one comes last");
    let is_empty = |one: &&Value| one["pairs"] == 0 && one["metrics"] == json!([]);
    assert!(late.iter().all(is_empty) && !measured.is_empty());
    assert!(late.iter().all(|one| one["needed_seconds"].as_f64() > Some(0.05)));
    // Of the last one that fits, some pairs may take longer than expected.
    assert!(measured.iter().any(|one| one["pairs"].as_u64() > Some(5)), "{measured:?}");
    let ran = compare("--time-limit 1s --format junit --fail-on inconclusive --samples s.csv");
    let ran = ran.code(102);
    let reason = "` was not measured: the time limit leaves no room for ";
    assert!(ran.stdout.contains(reason), "{}", ran.stdout);
    // Whoever analyses the samples is told, too.
    let object = repo.cbdr("analyze s.csv --threshold 90% --format json").run().code(0).json();
    assert_eq!(object["verdict"], "inconclusive");
    let all = object["benchmarks"].as_array().unwrap();
    assert!(all.iter().any(|one| one["status"] == "not-measured"), "{object}");
}

#[test]
fn a_base_without_the_benchmark_is_no_baseline() {
    let repo = Repo::new("steady");
    repo.git(&["mv", "benches/work.rs", "benches/other.rs"]);
    repo.replace("Cargo.toml", "\"work\"", "\"other\"");
    repo.commit("another name");
    repo.branch("feature");
    repo.git(&["mv", "benches/other.rs", "benches/work.rs"]);
    repo.replace("Cargo.toml", "\"other\"", "\"work\"");
    repo.commit("a new benchmark");
    let ran = repo.cbdr("compare main --format json").run().code(0);
    let object =
        ran.says("no baseline for `work`: the base's package `steady` has no bench `work`").json();
    assert_eq!(object["verdict"], "no-baseline");
    assert_eq!(object["stopped_by"], "no-baseline");
    assert_eq!(object["benchmarks"][0]["status"], "new");
    repo.cbdr("compare main --fail-on no-baseline").run().code(102);
}

#[test]
fn a_base_without_the_file_that_a_command_runs_is_no_baseline() {
    let repo = Repo::new("steady");
    repo.branch("feature");
    write_script(&repo, "{\"wall_time\": 1}");
    repo.commit("a script");
    let args = format!("compare main {PRINTED}");
    let ran = repo.cbdr(&format!("{args} --format json")).run().code(0);
    let object =
        ran.says("no baseline for `run.sh`: the base's package `steady` has no `./run.sh`").json();
    assert_eq!(object["verdict"], "no-baseline");
    let previewed = repo.cbdr(&format!("{args} --dry-run")).run().code(0).stdout;
    assert!(previewed.contains("no: the base's package `steady` has no `./run.sh`"), "{previewed}");
    // What is on neither side could not be measured there, either.
    let ran = repo.cbdr("compare main --command ./none").run().code(101);
    ran.says("error: could not start `./none`, the base of `none`\n");
    // A hook may make it.
    let made = format!("{args} --setup ./make.sh");
    repo.cbdr(&made).run().code(101).says("error: could not start `./make.sh`");
    // A table of the base that names it does not make it pass.
    repo.git(&["checkout", "--quiet", "main"]);
    let manifest = std::fs::read_to_string(repo.path().join("Cargo.toml")).unwrap();
    let table = format!("{manifest}\n[package.metadata.cbdr]\n{PRINTED_KEYS}");
    repo.write("Cargo.toml", &table);
    repo.commit("a table without the script");
    repo.git(&["checkout", "--quiet", "feature"]);
    repo.git(&["merge", "--quiet", "main"]);
    repo.cbdr("compare main --fail-on removed").run().code(102).says("`run.sh`");
}

#[test]
fn a_command_in_the_working_tree_is_said_to_be_the_same_on_both_sides() {
    let repo = printing("{\"wall_time\": 0.1}", "{\"wall_time\": 0.2}");
    let compare = |command: &str| {
        let args = ["--command", command, "--harness", "json"];
        repo.cbdr("compare main").args(args).run()
    };
    let path = repo.path().canonicalize().unwrap().join("run.sh");
    let about = "of your working tree on both sides: name it relative to the package's folder";
    compare(path.to_str().unwrap()).code(0).says(&format!("`{}` {about}", path.display()));
    compare("./run.sh").code(100).never_says(about);
}

#[test]
fn a_base_that_does_not_build_is_no_baseline_and_a_head_is_an_error() {
    let repo = Repo::new("steady");
    repo.write("src/lib.rs", "this is not Rust\n");
    repo.commit("broken");
    repo.branch("feature");
    repo.write("src/lib.rs", "pub const ROUNDS: u64 = 1;\n");
    repo.commit("mended");
    let object = repo.cbdr("compare main --format json").run().code(0).json();
    assert_eq!(object["verdict"], "no-baseline");
    repo.branch("worse");
    repo.write("src/lib.rs", "this is not Rust either\n");
    repo.commit("broken again");
    let ran = repo.cbdr("compare feature").run().code(101);
    // A benchmark may need a feature that it does not require: `cargo bench` fails, too.
    ran.says("error: the head does not build")
        .says("this is not Rust either")
        .says("enable what they miss (`--features`)");
    for unknown in ["--features none", "--profile none"] {
        let ran = repo.cbdr(&format!("compare feature {unknown}")).run().code(101);
        ran.says("hint: check `--features` and `--profile`").never_says("choose another target");
    }
}

#[test]
fn a_benchmark_that_fails_is_an_error_with_its_last_words() {
    let repo = Repo::new("steady");
    repo.write("run.sh", "echo '{\"a\": 1}'\n");
    repo.commit("a script");
    repo.branch("feature");
    repo.write("run.sh", "echo my last words >&2\nexit 101\n");
    repo.commit("fail");
    let ran = repo.cbdr("compare main --command").args(["sh run.sh"]).run().code(101);
    ran.says("error: the head of `sh` exited with code 101").says("my last words");
    repo.write("run.sh", "echo 'usage: run FILE'\nexit 2\n");
    repo.commit("print the usage");
    let ran =
        repo.cbdr("compare main --harness json --command").args(["sh run.sh"]).run().code(101);
    ran.says("error: the head of `sh` exited with code 2").says("usage: run FILE");
}

#[test]
fn a_benchmark_that_hangs_is_ended() {
    let repo = Repo::new("steady");
    repo.write("run.sh", "exit 0\n");
    repo.commit("a script");
    repo.branch("feature");
    repo.write("run.sh", "exec sleep 1000\n");
    repo.commit("hang");
    let ran = repo.cbdr("compare main --run-timeout 1s --command").args(["sh run.sh"]).run();
    let ran = ran.code(101).says("the head of `sh` ran longer than 1s");
    ran.says("hint: raise `--run-timeout`");
}

#[test]
fn a_metric_that_nobody_measures_is_an_error() {
    let repo = branch_with("550_000");
    let ran = repo.cbdr("compare main --command true --metric wall_tine").run().code(101);
    ran.says("no run of `true` measured `wall_tine`").says("hint: did you mean `wall_time`?");
}

#[test]
fn any_command_can_be_the_benchmark() {
    let repo = Repo::new("steady");
    repo.write("run.sh", "exit 0\n");
    repo.commit("a script");
    repo.branch("feature");
    repo.write("run.sh", "i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done\n");
    repo.commit("a slow script");
    let args = ["--format", "json", "--metric", "cpu_time", "--command", "sh 'run.sh'"];
    let object = repo.cbdr("compare main").args(args).run().code(100).json();
    assert_eq!(object["benchmarks"][0]["name"], "sh");
    // Identical only when the trees are.
    repo.commit("empty");
    let args = ["--exact-base", "--command", "sh run.sh", "--format", "json"];
    let object = repo.cbdr("compare HEAD~1").args(args).run().code(0).json();
    assert_eq!(object["verdict"], "identical");
}

#[test]
fn a_command_is_built_in_place_once_for_each_tree() {
    let repo = Repo::new("steady");
    repo.write(".gitignore", "/built\n");
    repo.write("build.sh", "echo building >&2; echo exit 0 > built\n");
    repo.commit("a build");
    repo.branch("feature");
    repo.write("other.txt", "x\n");
    repo.commit("other");
    let args = [
        "--build-command",
        "sh build.sh",
        "--command",
        "sh built",
        "--max-pairs",
        "6",
        "--threshold",
        "900%",
    ];
    let count = |ran: crate::support::Ran| ran.stderr.matches("building\n").count();
    assert_eq!(count(repo.cbdr("compare main").args(args).run().code(0)), 2);
    assert_eq!(count(repo.cbdr("compare main").args(args).run().code(0)), 0);
}

#[test]
fn the_samples_are_rows_in_their_order_and_beside_them_what_they_are_of() {
    let repo = branch_with("550_000");
    let path = repo.around().join("out.csv");
    let args = format!(
        "compare main --max-pairs 6 --threshold 900% --command true --seed 5 --samples {}",
        path.display()
    );
    repo.cbdr(&args).run().code(0);
    let text = std::fs::read_to_string(&path).unwrap();
    let mut lines = text.lines();
    let head = "benchmark,wall_time,user_time,sys_time,cpu_time,max_rss,minor_faults,\
                major_faults,voluntary_switches,involuntary_switches";
    assert_eq!(lines.next(), Some(head));
    let labels: Vec<&str> = lines.map(|line| line.split(',').next().unwrap()).collect();
    assert_eq!(labels.len(), 12);
    assert!(labels.chunks(2).all(|pair| pair[0] != pair[1]), "{labels:?}");
    assert!(labels.chunks(2).any(|pair| pair[0] != labels[0]), "{labels:?}");
    let beside = std::fs::read_to_string(repo.around().join("out.csv.json")).unwrap();
    let about: Value = serde_json::from_str(&beside).unwrap();
    assert_eq!((&about["seed"], &about["head"]["commit"]), (&json!(5), &json!(repo.head())));
}

#[test]
fn the_whole_gate_is_repeated_and_its_verdicts_are_counted() {
    let repo = Repo::new("steady");
    let ran = repo
        .cbdr("compare --aa --repeat 3 --max-pairs 6 --threshold 900% --command true --seed 7 --format json")
        .run();
    let object = ran.code(0).says("Compared 3 of 3: undecided").json();
    assert_eq!(object["repeat"], 3);
    let expected = json!({"inconclusive": 3, "no-regression": 0, "regression": 0});
    assert_eq!(object["verdicts"], expected);
    let seeds: Vec<_> =
        (0..3).map(|number| object["comparisons"][number]["seed"].clone()).collect();
    assert_eq!(seeds, [7, 8, 9]);
    repo.cbdr("compare main --repeat 3").run().code(2);
    let ran = repo
        .cbdr("compare --aa --repeat 2 --max-pairs 6 --threshold 900% --command true")
        .run()
        .code(0);
    let lines: Vec<&str> = ran.stdout.lines().collect();
    let first = format!("2 comparisons of main ({}) with itself:", &repo.head()[..10]);
    let counts = ["  no regression     0  0.0%", "  regression        0  0.0%"];
    assert_eq!(lines[..3], [&*first, counts[0], counts[1]]);
    assert_eq!(lines[3], "  inconclusive      2  100.0%");
    assert!(lines[4].starts_with("On average 6.0 pairs in "), "{lines:?}");
    assert!(lines[4].ends_with(" end in a false alarm."), "{lines:?}");
}

#[test]
fn the_demo_finds_the_slowdown_that_it_planted() {
    let folder = crate::support::scratch();
    let cbdr = Cbdr::new(folder.path(), &folder.path().join("cache")).env("TMPDIR", folder.path());
    let ran = cbdr.args(["demo"]).run().code(0);
    let said = &ran.stdout;
    assert!(said.contains("\nREGRESSION: words is "), "{said}");
    assert!(said.contains("\nThe planted slowdown was found;"), "{said}");
    // Where the objects can be read, the function is named in which it was planted.
    if cfg!(all(target_os = "linux", target_arch = "x86_64")) {
        let is_named = ran.stderr.contains(" of `words` differs between the sides")
            && ran.stderr.contains("`wordcount::count` (");
        assert!(is_named, "{}", ran.stderr);
    }
    // It takes everything away again, and leaves the user's cache alone.
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}
