//! A branch cannot change unnoticed what is measured, or what decides.

use serde_json::{Value, json};

use crate::support::{PRINTED_KEYS, Ran, Repo, make_executable, metric, printing_as_configured};

const FORMATS: [&str; 5] = ["human", "json", "markdown", "github", "junit"];

/// The fewest pairs of a verdict with a confidence of [`SURE`].
const QUICK: &str = "--max-pairs 16 --warmup 0 --always-run --layouts off --seed 1";

/// So that no verdict is reached by chance; tables that set a confidence set a similar one.
const SURE: &str = "--confidence 99.99%";

/// Puts `table` behind the manifest and commits it.
fn configure(repo: &Repo, table: &str) {
    let manifest = std::fs::read_to_string(repo.path().join("Cargo.toml")).unwrap();
    let manifest = manifest.split("\n# the table\n").next().unwrap().to_owned();
    repo.write("Cargo.toml", &format!("{manifest}\n# the table\n{table}\n"));
    repo.commit("configure");
}

/// The steady fixture with a table on `main` and another one on a branch.
fn branch(base: &str, head: &str) -> Repo {
    let repo = Repo::new("steady");
    configure(&repo, base);
    repo.branch("feature");
    configure(&repo, head);
    repo
}

const TABLE: &str = "[package.metadata.cbdr]\n";

fn table(keys: &str) -> String {
    format!("{TABLE}{keys}")
}

#[track_caller]
fn compare(repo: &Repo, args: &str) -> Ran {
    let runs = repo.around().join("runs");
    let _ = std::fs::remove_file(&runs);
    let head = std::fs::read_to_string(repo.path().join("Cargo.toml")).unwrap();
    let is_set = (repo.git(&["show", "main:Cargo.toml"]) + &head).contains("confidence");
    let sure = if is_set { "" } else { SURE };
    repo.cbdr(&format!("compare main {QUICK} {sure} {args}")).env("RUNS", runs).run()
}

#[track_caller]
fn object(repo: &Repo, args: &str) -> Value {
    compare(repo, &format!("--format json {args}")).code(0).json()
}

/// What is printed in a format, without the marks of that format.
fn plain(text: &str) -> String {
    let marks = [
        ("<code>", "`"),
        ("</code>", "`"),
        ("&quot;", "\""),
        ("&#39;", "'"),
        ("&apos;", "'"),
        ("&#8203;", ""),
        ("%25", "%"),
        ("%3A", ":"),
        ("\\\"", "\""),
    ];
    marks.iter().fold(text.to_owned(), |text, (mark, plain)| text.replace(mark, plain))
}

/// Demands that each format says all of `notices`, that the formats with a line for
/// the verdict have `lines` in it, and the exit codes without `--fail-on removed`, and with it,
/// as the format for people has it.
#[track_caller]
fn everywhere(repo: &Repo, notices: &[&str], lines: &[&str], codes: [i32; 2]) {
    in_formats(&FORMATS, repo, notices, lines, codes);
}

/// As [`everywhere`], in a format for people and in one for CI: what one notice looks like in
/// the others, all do.
#[track_caller]
fn said(repo: &Repo, notices: &[&str], lines: &[&str], codes: [i32; 2]) {
    in_formats(&["human", "markdown"], repo, notices, lines, codes);
}

#[track_caller]
fn in_formats(
    formats: &[&str],
    repo: &Repo,
    notices: &[&str],
    lines: &[&str],
    [pass, fail]: [i32; 2],
) {
    for format in formats {
        // Which code a comparison ends with does not depend on the format.
        let (more, code) =
            if *format == "human" { ("--fail-on removed", fail) } else { ("", pass) };
        let ran = compare(repo, &format!("--format {format} {more}")).code(code);
        let out = plain(&ran.stdout);
        // A person reads the notices on standard error.
        let said = if *format == "human" { &ran.stderr } else { &out };
        for notice in notices {
            assert!(said.contains(notice), "{format}, {notice:?} is not in\n{said}");
        }
        for line in lines.iter().filter(|_| !["json", "junit"].contains(format)) {
            assert!(out.contains(line), "{format}, {line:?} is not in\n{out}");
        }
    }
}

/// What was removed, as `benchmark` or `benchmark metric`.
fn removed(object: &Value) -> Vec<String> {
    let one = |removed: &Value| {
        let text = |key: &str| removed[key].as_str().map(str::to_owned);
        let parts = [text("benchmark"), text("metric")];
        parts.into_iter().flatten().collect::<Vec<_>>().join(" ")
    };
    object["removed"].as_array().unwrap().iter().map(one).collect()
}

/// The statuses of the benchmarks, in their order.
fn statuses(object: &Value) -> Vec<String> {
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let of = |b: &Value| format!("{} {}", text(&b["name"]), text(&b["status"]));
    object["benchmarks"].as_array().unwrap().iter().map(of).collect()
}

#[test]
fn a_table_that_is_deleted_still_decides() {
    let keys = "command = \"true\"\nmetrics = [\"cpu_time\"]\nthreshold = \"7%\"\n\
                confidence = \"99.99%\"";
    let repo = branch(&table(keys), "");
    everywhere(
        &repo,
        &[
            "base and head set `confidence`, `metrics` and `threshold` differently; the base's",
            "only the base has a table for cargo cbdr, and that table is used; base and head \
             differ in what is run: they set `command` differently, and the head's value is used \
             (`command`: base \
             `true`, head not set)",
            "the head no longer has the benchmark `true`, which could fail this check",
        ],
        &["1 benchmark removed: `true`; the branch changes what is run: `command`"],
        [0, 102],
    );
    let found = object(&repo, "");
    assert_eq!((removed(&found), &found["confidence"]), (vec!["true".to_owned()], &json!(0.9999)));
    assert_eq!(statuses(&found), ["work compared", "true removed"]);
    assert_eq!(metric(&found, "cpu_time")["threshold"], 0.07);
    let found = object(&repo, "--policy-from head --threshold 900%");
    assert_eq!(
        (&found["confidence"], metric(&found, "cpu_time")["gates"].clone()),
        (&json!(0.95), json!(false))
    );
    // A table with policy only does not affect what is run, but its removal is reported, too.
    let repo = branch(&table("threshold = \"7%\""), "");
    let ran = compare(&repo, "--format json --command true").code(0);
    let ran = ran.says("base and head set `threshold` differently; the base's value is used");
    let found = ran
        .says(
            "warning: only the base has a table for cargo cbdr, and that table is \
            used\n",
        )
        .json();
    assert_eq!(
        (removed(&found), metric(&found, "wall_time")["threshold"].clone()),
        (vec![], json!(0.07))
    );
}

#[test]
fn named_benchmarks_that_are_replaced_by_one_are_removed() {
    let named = "[package.metadata.cbdr.benchmarks.large]\ncommand = \"true large\"\n\
                 confidence = \"99.99%\"\n[package.metadata.cbdr.benchmarks.small]\n\
                 command = \"true small\"\nthreshold = \"1%\"\nconfidence = \"99.99%\"";
    let repo = branch(&table(named), &table("bench = \"work\""));
    said(
        &repo,
        &[
            "they set `bench` and `benchmarks` differently",
            "`benchmarks`: base `[\"large\",\"small\"]`, head not set",
            "the head no longer has the benchmarks `large` and `small`, which could fail this check",
        ],
        &["2 benchmarks removed: `large` and `small`; the branch changes what is run: \
             `bench` \
           and `benchmarks`"],
        [0, 102],
    );
    let found = object(&repo, "");
    assert_eq!(statuses(&found), ["work compared", "large removed", "small removed"]);
    // What all of them agreed on still counts.
    assert_eq!(found["confidence"], 0.9999);
    // One that only lost its name is not gone, and is judged as it was.
    let repo = branch(&table(named), &table("command = \"true small\""));
    configure(&repo, "[package.metadata.cbdr.benchmarks.small]\ncommand = \"true other\"");
    let found = object(&repo, "");
    assert_eq!(removed(&found), ["large"]);
    assert_eq!(metric(&found, "wall_time")["threshold"], 0.01);
}

#[test]
fn a_named_benchmark_that_hides_the_one_of_the_table_removes_it() {
    let keys = "command = \"true\"\nthreshold = \"7%\"\n";
    let hides = format!("{keys}[package.metadata.cbdr.benchmarks.quick]\nargs = [\"x\"]");
    let repo = branch(&table(keys), &table(&hides));
    said(
        &repo,
        &[
            "`benchmarks`: base not set, head `[\"quick\"]`",
            "the head no longer has the benchmark `true`, which could fail this check",
        ],
        &["1 benchmark removed: `true`; the branch changes what is run: `benchmarks`"],
        [0, 102],
    );
    assert_eq!(statuses(&object(&repo, "")), ["quick compared", "true removed"]);
    // Under the name that it has, it is the same one, run otherwise.
    let named = hides.replace("quick", "true");
    let repo = branch(&table(keys), &table(&named));
    let ran = compare(&repo, "--format json --fail-on removed").code(0);
    let found = ran.says("`args` of `true`: base not set, head `[\"x\"]`").json();
    assert_eq!((removed(&found), statuses(&found)), (vec![], vec!["true compared".to_owned()]));
}

#[test]
fn every_key_that_changes_what_is_run_is_said_in_every_format() {
    let removed = "1 benchmark removed: ";
    // The keys of base and head, the notices, and what the verdict is based on.
    let cases: [(&str, &str, &[&str], &str); 3] = [
        ("bench = \"work\"", "bench = \"other\"", &["`bench`: base `work`, head `other`"], removed),
        (
            "command = \"sh -c 'echo {}' heavy\"\nargs = [\"100\"]\nharness = \"json\"",
            "command = \"sh -c 'echo {}' light\"\nargs = [\"1\"]",
            &[
                "they set `args`, `command` and `harness` differently",
                "`command`: base `sh -c 'echo {}' heavy`, head `sh -c 'echo {}' light`",
                "`args`: base `[\"100\"]`, head `[\"1\"]`",
                "`harness`: base `json`, head not set",
            ],
            "the branch changes what is run: `args`, `command` and `harness`",
        ),
        (
            "bench = \"work\"\nfeatures = [\"all\"]\nrun-timeout = \"1m\"\nprepare = \"true\"",
            "bench = \"work\"\nbench-from = \"head\"\nrun-timeout = \"2m\"\nsetup = \"true\"",
            &[
                "they set `bench-from`, `features`, `prepare`, `run-timeout` and `setup` differently",
                "`bench-from`: base not set, head `head`",
                "`features`: base `[\"all\"]`, head not set",
            ],
            "the branch changes what is run: `bench-from`",
        ),
    ];
    for (base, head, notices, line) in cases {
        let repo = Repo::new("steady");
        repo.write("benches/other.rs", "fn main() {}\n");
        let other = "\n[[bench]]\nname = \"other\"\nharness = false\n\n[features]\nall = []\n";
        let manifest = std::fs::read_to_string(repo.path().join("Cargo.toml")).unwrap();
        repo.write("Cargo.toml", &format!("{manifest}{other}"));
        configure(&repo, &table(base));
        repo.branch("feature");
        configure(&repo, &table(head));
        let fails = if line == removed { 102 } else { 0 };
        let check = if line == removed { everywhere } else { said };
        check(&repo, notices, &[line], [0, fails]);
    }
}

#[test]
fn what_a_flag_says_is_no_difference_of_the_tables() {
    let base = "bench = \"work\"\nargs = [\"1\"]\nthreshold = \"3%\"\nfeatures = [\"a\"]\n\
                [package.metadata.cbdr.benchmarks.named]\ncommand = \"true\"";
    let repo = branch(&table(base), &table("command = \"true light\"\nargs = [\"2\"]"));
    let args = "--format json --command true --threshold 9% --features a -- 3";
    let ran = compare(&repo, args).code(0).never_says("differ").never_says("no longer has");
    assert_eq!(removed(&ran.json()), [""; 0]);
    // Those that no flag overrides still are.
    let ran = compare(&repo, "--format json --command true").code(0);
    ran.says("they set `args` and `features` differently").never_says("no longer has");
}

#[test]
fn a_base_without_a_table_leaves_it_to_the_head_and_that_is_said() {
    let repo = branch("", &table("command = \"true\"\nconfidence = \"99.98%\""));
    let notice = "the base has no table for cargo cbdr yet, so the head's is used until it is \
        merged; it sets `command` (`command`: base not set, head `true`)";
    let line = "the branch changes what is run: `command`";
    everywhere(&repo, &[notice], &[line], [0, 0]);
    let found = object(&repo, "");
    assert_eq!((removed(&found), &found["confidence"]), (vec![], &json!(0.9998)));
    // There is no notice without a reason.
    let repo = branch("", "");
    compare(&repo, "--command true").code(0).never_says("table");
}

#[test]
fn whether_the_removed_fails_is_for_the_base_to_say() {
    let keys = |policy: &str, command: &str| {
        table(&format!("command = \"{command}\"\nfail-on = [{policy}]"))
    };
    let repo = branch(&keys("'removed'", "true"), &keys("", "echo"));
    let ran = compare(&repo, "").code(102);
    ran.says("base and head set `fail-on` differently; the base's value is used");
    let ran = compare(&repo, "--policy-from head").code(0);
    ran.says("differently; the head's value is used, because of `--policy-from head`");
    compare(&repo, "--fail-on none").code(0);
    // A list replaces that of the table.
    compare(&repo, "--fail-on no-baseline").code(0);
    compare(&repo, "--fail-on no-baseline,inconclusive").code(102);
    let ran = compare(&repo, "--fail-on perhaps").code(2);
    ran.says("it must be `inconclusive`, `no-baseline`, `removed` or `none`");
    compare(&repo, "--fail-on none,removed").code(2).says("`none`: it excludes all others");
    let old = compare(&repo, "--on-removed fail").code(2);
    old.says("unexpected argument '--on-removed'");
    // A regression is still one.
    let args = "--fail-on removed --metric max_rss";
    let repo = branch(&table("command = \"true\""), &table("bench = \"work\""));
    repo.replace("src/lib.rs", "500_000", "3_000_000");
    repo.commit("slower");
    compare(&repo, args).code(102);
    let slower = "compare main --layouts off --fail-on removed --metric cpu_time";
    repo.cbdr(slower).run().code(100);
}

/// A branch on which a script prints other JSON.
fn script(base: &str, head: &str, keys: &str) -> Repo {
    printing_as_configured(&table(&format!("{PRINTED_KEYS}{keys}\n")), base, head)
}

#[test]
fn a_metric_that_gates_and_is_no_longer_measured_is_removed() {
    let (base, head) = ("{\"a\": 1, \"b\": 1, \"c\": 1}", "{\"b\": 1}");
    let repo = script(base, head, "metrics = [\"a\", \"b\"]\nthreshold = \"2%\"");
    said(
        &repo,
        &["the head no longer measures `a` of `run.sh`, which could fail this check"],
        &["1 metric removed: `a` of `run.sh`"],
        [0, 102],
    );
    let found = object(&repo, "");
    assert_eq!(
        (removed(&found), statuses(&found)),
        (vec!["run.sh a".to_owned()], vec!["run.sh compared".to_owned()])
    );
    let gone = metric(&found, "a");
    assert_eq!((&gone["status"], &gone["gates"]), (&json!("removed"), &json!(true)));
    assert_eq!((&gone["threshold"], &gone["verdict"]), (&json!(0.02), &Value::Null));
    // What decided nothing is only reported.
    assert_eq!(
        (&metric(&found, "c")["status"], &metric(&found, "c")["gates"]),
        (&json!("removed"), &json!(false))
    );
    let notices = found["notices"].to_string();
    assert!(notices.contains("only the base of `run.sh` measures `c`"), "{notices}");
    // It is in the table, and a case of its own.
    let human = compare(&repo, "").stdout;
    assert!(
        human.lines().any(|l| l.trim_start().starts_with("a ") && l.ends_with("removed")),
        "{human}"
    );
    let junit = |more: &str| compare(&repo, &format!("--format junit {more}")).stdout;
    assert!(junit("").contains("<skipped message=\"only the base of `run.sh` measures `a`\"/>"));
    assert!(
        junit("--fail-on removed").contains(
            "<failure message=\"only the base of `run.sh` measures `a`\" type=\"removed\">"
        )
    );
    let github = |more: &str| compare(&repo, &format!("--format github {more}")).stdout;
    assert!(
        github("").contains("::warning title=cargo cbdr%3A removed::the head no longer measures")
    );
    assert!(github("--fail-on removed").contains("::error title=cargo cbdr%3A removed::"));
    let markdown = compare(&repo, "--format markdown").stdout;
    assert!(markdown.contains(", 1 metric removed</h3>\n"), "{markdown}");
    assert!(
        markdown.contains("| `run.sh` | `a` | - | - | **-** | - | +2% | **removed** |"),
        "{markdown}"
    );
}

#[test]
fn a_comparison_of_which_all_is_removed_is_no_pass() {
    let keys = "metrics = [\"a\"]";
    let repo = script("{\"a\": 1, \"b\": 1}", "{\"b\": 1}", keys);
    let ran = compare(&repo, "").code(101);
    let ran =
        ran.says("error: nothing is left to decide: the head no longer measures `a` of `run.sh`\n");
    ran.says("hint: measure it again, or choose with `--metric` what decides instead");
    compare(&repo, "--metric b").code(0).says("only the base of `run.sh` measures `a`");
    // One that was renamed has nothing to be compared with.
    let repo = script("{\"x\": {\"a\": 1}}", "{\"y\": {\"a\": 1}}", keys);
    let found = object(&repo, "");
    assert_eq!((&found["verdict"], removed(&found)), (&json!("no-baseline"), vec!["x".to_owned()]));
    assert_eq!(statuses(&found), ["y new", "x removed"]);
    let human = compare(&repo, "").stdout;
    let expected = "no baseline: there is nothing to compare `y` with\n  1 benchmark removed: `x`";
    assert!(human.contains(expected), "{human}");
    compare(&repo, "--fail-on removed").code(102);
    // Nobody misses what decided nothing.
    let repo = script("{\"x\": {\"a\": 1}, \"y\": {\"b\": 1}}", "{\"x\": {\"a\": 1}}", keys);
    let ran = compare(&repo, "--format json --fail-on removed").code(0);
    let found = ran
        .says("`y` is no longer on the head, but none of its metrics could fail the check")
        .json();
    assert_eq!(
        (removed(&found), statuses(&found)),
        (vec![], vec!["x compared".to_owned(), "y removed".to_owned()])
    );
}

#[test]
fn benchmarks_of_a_suite_are_removed_in_every_format() {
    let all = "{\"first\": {\"wall_time\": 1}, \"second\": {\"wall_time\": 2}, \
               \"third\": {\"wall_time\": 3}}";
    let repo = script(all, &all.replace("\"second\": {\"wall_time\": 2}, ", ""), "");
    everywhere(
        &repo,
        &["the head no longer has the benchmark `second`, which could fail this check"],
        &["1 benchmark removed: `second`"],
        [0, 102],
    );
    let junit = compare(&repo, "--format junit --fail-on removed").code(102).stdout;
    let case = "<testcase name=\"removed\" classname=\"second\" time=\"0.000\">";
    assert!(junit.contains(case) && junit.contains(" type=\"removed\">"), "{junit}");
    let ran = repo.cbdr("compare main --seed 3 --report ../page.html").run().code(0);
    assert!(ran.stdout.contains("no regression in 2 benchmarks"), "{}", ran.stdout);
    let page = std::fs::read_to_string(repo.around().join("page.html")).unwrap();
    assert!(page.contains("<h1>no regression in 2 benchmarks, 1 benchmark removed</h1>"), "{page}");
    assert!(
        page.contains("1 benchmark removed: <code>second</code>")
            && page.contains("is no longer on the head")
    );
}

#[test]
fn shards_tell_their_verdict_what_was_removed() {
    let repo =
        script("{\"a\": 1, \"b\": 1}", "{\"b\": 1}", "metrics = [\"a\", \"b\"]\nargs = [\"1\"]");
    repo.replace("Cargo.toml", "args = [\"1\"]", "args = [\"2\"]\nmax-pairs = 9");
    repo.commit("fewer");
    for shard in 1..=2 {
        let args = format!("--shard {shard}/2 --samples {shard}.csv --fail-on removed");
        let ran = compare(&repo, &args).code(0);
        assert!(ran.stdout.contains("1 metric removed: `a` of `run.sh`"), "{}", ran.stdout);
    }
    for format in FORMATS {
        let ran =
            repo.cbdr(&format!("analyze --combine 1.csv 2.csv --format {format}")).run().code(102);
        let out = plain(&ran.stdout);
        let said = if format == "human" { &ran.stderr } else { &out };
        assert!(said.contains("the head no longer measures `a` of `run.sh`"), "{format}: {said}");
        assert!(said.contains("`args`: base `[\"1\"]`, head `[\"2\"]`"), "{format}: {said}");
        let line = "1 metric removed: `a` of `run.sh`; the branch changes what is run: `args`";
        assert!(["json", "junit"].contains(&format) || out.contains(line), "{format}: {out}");
    }
    let object = repo.cbdr("analyze --combine 1.csv 2.csv --format json").run().code(102).json();
    assert_eq!(removed(&object), ["run.sh a"]);
    // A part that saw something else is of another comparison.
    repo.replace(
        "2.csv.json",
        "\"removed\"\n  ],\n  \"removed\"",
        "\"inconclusive\"\n  ],\n  \"removed\"",
    );
    let ran = repo.cbdr("analyze --combine 1.csv 2.csv").run().code(101);
    ran.says("values of `fail-on`");
}

#[test]
fn the_sources_that_bench_from_replaces_are_told_each_time() {
    let repo = branch(&table("bench-from = \"head\""), &table("bench-from = \"head\""));
    repo.write("benches/work.rs", "fn main() {}\n");
    repo.commit("an easier benchmark");
    for _ in 0..2 {
        let ran = compare(&repo, "").code(0);
        ran.says(
            "both sides are built with `benches` of the head, but each with its own Cargo.toml; the base's \
             sources differ, in benches/work.rs",
        );
    }
}

#[test]
fn a_configured_base_that_is_not_the_jobs_is_said_also_where_there_is_nothing_to_compare() {
    let repo = branch("", &table("base = \"HEAD\""));
    let run = |name: &str, base: &str, format: &str| {
        repo.cbdr(&format!("compare {QUICK} {SURE} --format {format}"))
            .env(name, base)
            .run()
            .code(0)
    };
    for format in FORMATS {
        let ran = run("GITHUB_BASE_REF", "main", format);
        let printed = plain(&(ran.stdout + &ran.stderr));
        let notice = "the head is compared with `HEAD`, the `base` of the configuration, not with \
                      `main`, which GITHUB_BASE_REF names";
        assert!(printed.contains(notice), "{format}: {printed}");
    }
    configure(&repo, &table("base = \"origin/main\""));
    repo.git(&["update-ref", "refs/remotes/origin/main", "main"]);
    let ran = run("CI_MERGE_REQUEST_TARGET_BRANCH_NAME", "main", "human");
    ran.never_says("the `base` of the configuration");
}

/// The steady fixture, of which a run takes the rounds of a variable, with these
/// configurations of cargo on the two sides.
fn configured(base: &str, head: &str) -> Repo {
    let repo = Repo::new("steady");
    let rounds = "std::env::var(\"ROUNDS\").map_or(steady::ROUNDS, |text| text.parse().unwrap())";
    repo.replace("benches/work.rs", "steady::ROUNDS", rounds);
    repo.write("run.sh", "#!/bin/sh\nROUNDS=1 exec \"$@\"\n");
    make_executable(&repo.path().join("run.sh"));
    repo.write(".cargo/config.toml", base);
    // Only what sets another threshold finds the branch slower.
    configure(&repo, &table("threshold = \"900%\""));
    repo.branch("feature");
    repo.write(".cargo/config.toml", head);
    repo.replace("src/lib.rs", "500_000", "3_000_000");
    repo.commit("slower");
    repo
}

#[test]
fn a_runner_and_variables_that_a_branch_configures_do_not_count_and_are_said() {
    let runner = "[target.'cfg(unix)']\nrunner = './run.sh'\n";
    let slower = "compare main --layouts off --metric cpu_time --threshold 20% --seed 1";
    let repo = configured("", runner);
    let notice = "cargo's configuration differs in how benchmarks are run: the runner (base none, \
        head `./run.sh`); the base's is used for the head, too (`--policy-from head` uses the \
        head's)";
    let line = "; not used: the head's cargo configuration of the runner";
    said(&repo, &[notice], &[line], [0, 0]);
    repo.cbdr(slower).run().code(100).says("the runner (base none, head `./run.sh`)");
    let both = "the head's is used for the base, too (because of `--policy-from head`)";
    compare(&repo, "--policy-from head").code(0).says(both);
    // Its words are the same, but not its file.
    repo.git(&["checkout", "--quiet", "main"]);
    repo.write(".cargo/config.toml", runner);
    repo.write("run.sh", "#!/bin/sh\nexec \"$@\"\n");
    make_executable(&repo.path().join("run.sh"));
    repo.commit("runner");
    repo.branch("edited");
    repo.replace("src/lib.rs", "500_000", "3_000_000");
    repo.replace("run.sh", "exec", "ROUNDS=1 exec");
    repo.commit("edited");
    repo.cbdr(slower).run().code(100).says("are run: the runner `./run.sh`; the base's is used");

    let repo = configured("[env]\nKEPT = '1'\n", "[env]\nKEPT = '1'\nROUNDS = '1'\n");
    let ran = repo.cbdr(slower).run().code(100);
    ran.says("are run: the variable `ROUNDS`; the base's is used for the head");
    // The programs are the same, but with the head's variable they would do something else.
    let repo = configured("", "[env]\nROUNDS = '1'\n");
    repo.replace("src/lib.rs", "3_000_000", "500_000");
    repo.commit("as before");
    let left_out = "the same program\n  not used: the head's cargo configuration of the variable \
        `ROUNDS`";
    let ran = repo.cbdr("compare main").run().code(0);
    assert!(ran.stdout.contains(left_out), "{}", ran.stdout);
    // Those that are the same but for the side's folder are each side's own.
    let env = "[env]\nPLACE = { value = 'x', relative = true }\n";
    let ran = compare(&configured(env, env), "").code(0);
    ran.never_says("cargo's configuration differs");
}

#[test]
fn a_bench_target_is_built_with_the_features_that_each_side_has_and_requires() {
    let repo = Repo::new("steady");
    configure(&repo, &table("threshold = \"900%\""));
    let manifest = std::fs::read_to_string(repo.path().join("Cargo.toml")).unwrap();
    let requires = |feature: &str| {
        let target = format!("name = \"work\"\nrequired-features = [\"{feature}\"]");
        let features = format!("\n[features]\n{feature} = []\n");
        repo.write("Cargo.toml", &(manifest.replace("name = \"work\"", &target) + &features));
    };
    repo.branch("feature");
    requires("new");
    repo.replace("src/lib.rs", "500_000", "3_000_000");
    repo.commit("require");
    let notice = "`work` is built differently on the two sides, because their manifests define or \
        require other features or profiles: the base without options, the head with \
        `--features=new`";
    said(&repo, &[notice], &[], [0, 0]);
    let slower = "compare main --layouts off --metric cpu_time --threshold 20% --seed 1";
    repo.cbdr(slower).run().code(100);
    // The base requires another one, and the table names one that it lacks.
    repo.git(&["checkout", "--quiet", "main"]);
    requires("old");
    repo.commit("require");
    repo.branch("other");
    requires("new");
    repo.replace("src/lib.rs", "500_000", "3_000_000");
    repo.commit("require another");
    repo.replace("Cargo.toml", "[features]", "[profile.quick]\ninherits = \"release\"\n[features]");
    repo.commit("a profile");
    let args = "the base with `--features=old`, the head with `--features=steady/new \
        --features=new --profile=quick`";
    compare(&repo, "--features steady/new --profile quick").code(0).says(args);
}

#[test]
fn a_target_that_is_renamed_removed_or_in_a_renamed_package_is_no_new_one() {
    let change = |name: &str, new: &str| {
        let repo = Repo::new("steady");
        repo.branch("feature");
        repo.replace("Cargo.toml", name, new);
        repo.replace("src/lib.rs", "500_000", "3_000_000");
        repo
    };
    let renamed = change("name = \"work\"", "name = \"other\"\npath = \"benches/work.rs\"");
    renamed.commit("rename");
    let notice = "the head no longer has the benchmark `work`, which could fail this check";
    said(&renamed, &[notice], &[], [0, 102]);
    // The package has another name, and the target is the same.
    let package = change("name = \"steady\"", "name = \"quick\"");
    package.commit("rename");
    let slower = "compare main --layouts off --metric cpu_time --threshold 20% --seed 1";
    package.cbdr(slower).run().code(100);
    // A named benchmark is another target, which the base lacks.
    let named = |bench: &str| {
        format!("{TABLE}[package.metadata.cbdr.benchmarks.it]\nbench = \"{bench}\"\n")
    };
    let repo = branch(&named("work"), "");
    repo.replace("Cargo.toml", "name = \"work\"", "name = \"other\"\npath = \"benches/work.rs\"");
    configure(&repo, &named("other"));
    let notice = "the head no longer has the benchmark `it`, which could fail this check";
    said(&repo, &[notice], &[], [0, 102]);
    assert_eq!(statuses(&object(&repo, "")), ["it removed"]);
}

#[test]
fn a_configuration_of_cargo_that_is_not_committed_is_said() {
    let keys = table("command = \"true\"");
    let repo = branch(&keys, &keys);
    repo.write(".gitignore", "target\nmore.toml\n.cargo\n");
    repo.commit("ignored");
    // One says nothing about builds, and one is committed.
    repo.write("src/.cargo/config.toml", "build.rustflags = ['--cfg=slow']\n");
    repo.write(".cargo/config.toml", "include = ['../more.toml']\nnet.offline = true\n");
    let notice = "is not committed, so neither side is built with";
    assert!(!compare(&repo, "").stderr.contains(notice));
    repo.write("more.toml", "build.rustflags = ['--cfg=slow']\n");
    said(&repo, &[&format!("`more.toml` {notice}")], &[], [0, 0]);
    repo.write(".cargo/config.toml", "build.rustflags = ['--cfg=slow']\n");
    said(&repo, &[&format!("`.cargo/config.toml` {notice}")], &[], [0, 0]);
    repo.git(&["add", "--force", ".cargo"]);
    repo.git(&["commit", "--quiet", "--message", "committed"]);
    assert!(!compare(&repo, "").stderr.contains(notice));
}

#[test]
fn an_alias_that_cargo_would_run_instead_is_said() {
    let keys = table("command = \"true\"");
    let repo = branch(&keys, &keys);
    repo.write(".cargo/config.toml", "[alias]\ncbdr = 'version'\n");
    repo.commit("alias");
    let notice = "cargo's configuration has an alias `cbdr`, which `cargo cbdr` runs instead of \
        this program: call `cargo-cbdr`";
    said(&repo, &[notice], &[], [0, 0]);
}
