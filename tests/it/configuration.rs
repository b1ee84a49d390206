//! The table in `Cargo.toml`, and the flags over it.

use std::collections::BTreeMap;

use cargo_cbdr::model::gate::THRESHOLD;
use serde_json::{Value, json};

use crate::support::{PRINTED, Ran, Repo, printing_as_configured};

/// The fewest pairs with which a verdict of this confidence is possible, and none by chance; with
/// a command such as `true` nothing is built.
const QUICK: &str = "--format json --max-pairs 16 --confidence 99.99% --layouts off --warmup 0";

/// Writes `table` behind the manifest of a folder and commits it on `main`.
fn configure(repo: &Repo, manifest: &str, table: &str) {
    let text = std::fs::read_to_string(repo.path().join(manifest)).unwrap();
    let text = text.split("\n# the table\n").next().unwrap().to_owned();
    repo.write(manifest, &format!("{text}\n# the table\n{table}\n"));
    repo.commit("configure");
}

/// The steady fixture with this table on both sides, and a commit between.
fn configured(table: &str) -> Repo {
    let repo = Repo::new("steady");
    configure(&repo, "Cargo.toml", table);
    repo.branch("feature");
    repo.write("words.md", "words");
    repo.commit("words");
    repo
}

/// The gating metrics of a benchmark with their thresholds.
fn gates(benchmark: &Value) -> BTreeMap<&str, f64> {
    let metrics = benchmark["metrics"].as_array().unwrap().iter();
    let gating = metrics.filter(|metric| metric["gates"] == true);
    gating.map(|m| (m["name"].as_str().unwrap(), m["threshold"].as_f64().unwrap())).collect()
}

fn names(object: &Value) -> Vec<&str> {
    let benchmarks = object["benchmarks"].as_array().unwrap().iter();
    benchmarks.map(|benchmark| benchmark["name"].as_str().unwrap()).collect()
}

#[track_caller]
fn quick(repo: &Repo, args: &str) -> Ran {
    repo.cbdr(&format!("compare main {args} {QUICK}")).run()
}

/// What would be compared.
#[track_caller]
fn shown(repo: &Repo, args: &str) -> Value {
    repo.cbdr(&format!("compare main {args} --dry-run --format json")).run().code(0).json()
}

/// The gates that are shown of the benchmark of that number.
fn shown_gates(object: &Value, number: usize) -> BTreeMap<&str, f64> {
    let gates = object["benchmarks"][number]["gates"].as_array().unwrap().iter();
    gates.map(|g| (g["metric"].as_str().unwrap(), g["threshold"].as_f64().unwrap())).collect()
}

#[test]
fn the_table_says_what_runs_and_what_decides() {
    let repo = configured(
        "[package.metadata.cbdr]\ncommand = \"true 'one word'\"\nargs = [\"more\"]\n\
         metrics = [\"cpu_time\", \"max_rss\"]\nthreshold = \"3%\"\n\
         thresholds = { max_rss = \"7%\" }\nconfidence = \"99.99%\"\nestimator = \"median\"\n\
         max-pairs = 16\nwarmup = 0\nfail-on = [\"inconclusive\"]",
    );
    let ran = repo.cbdr("compare main --format json").run().code(102);
    let object = ran.json();
    assert_eq!((&object["confidence"], &object["estimator"]), (&json!(0.9999), &json!("median")));
    assert_eq!((&object["verdict"], names(&object)), (&json!("inconclusive"), vec!["true"]));
    assert_eq!(object["stopped_by"], "max-pairs");
    let benchmark = &object["benchmarks"][0];
    assert_eq!(benchmark["pairs"], 16);
    assert_eq!(gates(benchmark), BTreeMap::from([("cpu_time", 0.03), ("max_rss", 0.07)]));
}

#[test]
fn flags_win_over_the_package_and_the_package_over_the_workspace() {
    let repo = Repo::new("members");
    configure(
        &repo,
        "Cargo.toml",
        "[workspace.metadata.cbdr]\ncommand = \"true workspace\"\nthreshold = \"1%\"\n\
         confidence = \"99.91%\"\nthresholds = { minor_faults = \"11%\" }\nfail-on = [\"inconclusive\"]",
    );
    let table = "[package.metadata.cbdr]\nthreshold = \"2%\"\nconfidence = \"99.92%\"\n\
                 thresholds = { max_rss = \"22%\" }";
    configure(&repo, "one/Cargo.toml", table);
    repo.branch("feature");
    repo.write("words.md", "words");
    repo.commit("words");
    let quick = |more: &str| {
        let args = "--format json --max-pairs 14 --warmup 0";
        repo.cbdr(&format!("compare main {args} {more}")).run()
    };
    let confidence = |object: &Value| object["settings"]["confidence"]["value"].clone();
    // The workspace alone, from its other member.
    let object = shown(&repo, "-p two");
    let expected = [("wall_time", 0.01), ("minor_faults", 0.11)];
    assert_eq!(shown_gates(&object, 0), BTreeMap::from(expected));
    assert_eq!(confidence(&object), "99.91%");
    // The package over it, and what it leaves open from there.
    let expected = BTreeMap::from([("wall_time", 0.02), ("minor_faults", 0.11), ("max_rss", 0.22)]);
    let object = quick("-p one").code(102).json();
    assert_eq!(gates(&object["benchmarks"][0]), expected);
    assert_eq!(object["confidence"], 0.9992);
    let by_folder = repo.cbdr("compare main --dry-run --format json");
    let object = by_folder.folder(&repo.path().join("one/src")).run().code(0).json();
    assert_eq!(shown_gates(&object, 0), expected);
    assert_eq!(confidence(&object), "99.92%");
    // And the flags over both.
    let flags = "-p one --threshold 4% --threshold max_rss=44% --confidence 99.94% \
                 --fail-on none";
    let object = quick(flags).code(0).never_says("differently").json();
    let expected = [("wall_time", 0.04), ("minor_faults", 0.11), ("max_rss", 0.44)];
    assert_eq!(gates(&object["benchmarks"][0]), BTreeMap::from(expected));
    assert_eq!(object["confidence"], 0.9994);
    // Metrics that are named replace those of the table.
    let object = shown(&repo, "-p two --metric cpu_time,minor_faults");
    let expected = BTreeMap::from([("cpu_time", 0.01), ("minor_faults", 0.11)]);
    assert_eq!(shown_gates(&object, 0), expected);
}

#[test]
fn a_target_chosen_by_a_flag_clears_that_of_the_table() {
    let repo = configured("[package.metadata.cbdr]\ncommand = \"false\"\nthreshold = \"9%\"");
    let object = shown(&repo, "--command true");
    assert_eq!(names(&object), ["true"]);
    assert_eq!(shown_gates(&object, 0)["wall_time"], 0.09);
    assert_eq!(names(&shown(&repo, "--bench work")), ["work"]);
    // And the table's own is run without.
    quick(&repo, "").code(101).says("of `false` exited with code 1");
}

#[test]
fn a_build_command_belongs_to_a_command() {
    let why = "invalid build-command `make`: it is for a `command`, but what runs is bench `work`, \
        which cargo builds";
    let build = "build-command = \"make\"";
    let refused = |table: &str| configured(table).cbdr("compare main --dry-run").run().code(101);
    for keys in [String::new(), "bench = \"work\"\n".to_owned()] {
        let ran = refused(&format!("[package.metadata.cbdr]\n{keys}{build}"));
        ran.says(why).says("(in the configuration of the head)");
    }
    let one = "[package.metadata.cbdr.benchmarks.one]\ncommand = \"true\"\n";
    refused(&format!("{one}[package.metadata.cbdr.benchmarks.two]\nbench = \"work\"\n{build}"));
    // One that is inherited is for those that are commands.
    let two = "[package.metadata.cbdr.benchmarks.two]\nbench = \"work\"\n";
    let around = format!("[package.metadata.cbdr]\n{build}\n{one}{two}");
    assert_eq!(names(&shown(&configured(&around), "")), ["one", "two"]);
    let all = format!("[workspace]\n[workspace.metadata.cbdr]\n{build}\n");
    assert_eq!(names(&shown(&configured(&all), "")), ["work"]);
    let repo = configured(&format!("[package.metadata.cbdr]\ncommand = \"true\"\n{build}"));
    assert_eq!(names(&shown(&repo, "--bench work")), ["work"]);
    repo.cbdr("compare main --dry-run --bench work --build-command make").run().code(2).says(why);
    let plain = configured("");
    plain.cbdr("compare main --dry-run --build-command make").run().code(2).says(why);
    plain.cbdr("init --try-for 0s --build-command make").run().code(2).says(why);
}

#[test]
fn what_the_sides_set_differently_of_the_compiler_is_named() {
    let more = "[profile.mine]\ninherits = \"dev\"\nlto = true";
    let dev = "[profile.bench]\nopt-level = 2\n[profile.dev]\nopt-level = 1";
    let repo = configured(&format!("{dev}\n{more}"));
    repo.replace("Cargo.toml", "opt-level = 2", "lto = \"thin\"");
    repo.replace("Cargo.toml", "opt-level = 1", "opt-level = 0");
    repo.replace("Cargo.toml", "lto = true", "lto = false");
    repo.write(".cargo/config.toml", "build.rustflags = [\"-C\", \"target-cpu=native\"]\n");
    repo.commit("settings");
    let ran = repo.cbdr("compare main --dry-run").run().code(0);
    ran.says("are compiled with different settings, so code may differ that nobody edited: ")
        .says("`build.rustflags`: base not set, head `-C target-cpu=native`; ")
        .says("`profile.bench.lto`: base not set, head `thin`; ")
        .says("`profile.bench.opt-level`: base `2`, head not set")
        .never_says("profile.dev")
        .never_says("profile.mine");
    for (name, key) in [("dev", "opt-level"), ("mine", "lto")] {
        let call = format!("compare main --dry-run --profile {name}");
        repo.cbdr(&call).run().code(0).says(&format!("`profile.{name}.{key}`"));
    }
    repo.cbdr("compare main --dry-run --command true").run().code(0).never_says("compiled with");
}

#[test]
fn a_flag_also_clears_the_named_benchmarks() {
    let repo = configured(
        "[package.metadata.cbdr.benchmarks.one]\ncommand = \"false\"\n\
         [package.metadata.cbdr.benchmarks.two]\nbench = \"work\"",
    );
    assert_eq!(names(&shown(&repo, "--command true")), ["true"]);
}

#[test]
fn a_target_of_the_package_clears_the_named_benchmarks_of_the_workspace() {
    let workspace = "[workspace]\n[workspace.metadata.cbdr.benchmarks.one]\ncommand = \"false\"\n";
    let own = "[package.metadata.cbdr]\ncommand = \"true\"";
    let repo = configured(&format!("{workspace}{own}"));
    assert_eq!(names(&shown(&repo, "")), ["true"]);
}

#[test]
fn named_benchmarks_are_measured_under_their_names() {
    let repo = configured(
        "[package.metadata.cbdr]\ncommand = \"true\"\nthreshold = \"3%\"\n\
         [package.metadata.cbdr.benchmarks.small]\nargs = [\"1\"]\nthreshold = \"4%\"\n\
         [package.metadata.cbdr.benchmarks.large]\ncommand = \"sh -c 'exit 0'\"\n\
         [package.metadata.cbdr.benchmarks.built]\nbench = \"work\"",
    );
    let rows = repo.around().join("rows.csv");
    let ran = quick(&repo, &format!("--always-run --samples {}", rows.display())).code(0);
    let object = ran.json();
    assert_eq!(names(&object), ["built", "large", "small"]);
    for (benchmark, threshold) in object["benchmarks"].as_array().unwrap().iter().zip([3, 3, 4]) {
        assert_eq!((&benchmark["status"], &benchmark["pairs"]), (&json!("compared"), &json!(16)));
        assert_eq!(gates(benchmark)["wall_time"], f64::from(threshold) / 100.0);
    }
    let text = std::fs::read_to_string(rows).unwrap();
    let mut labels: Vec<&str> =
        text.lines().skip(1).filter_map(|line| line.split(',').next()).collect();
    labels.sort_unstable();
    labels.dedup();
    let expected =
        ["built/base", "built/head", "large/base", "large/head", "small/base", "small/head"];
    assert_eq!(labels, expected);
    // Without that the one that cargo builds is the same program.
    let object = quick(&repo, "").code(0).says("`built` is the same program on both").json();
    assert_eq!(object["benchmarks"][0]["pairs"], 0);
    assert_eq!(object["benchmarks"][1]["pairs"], 16);
    assert_eq!(object["verdict"], "inconclusive");
}

#[test]
fn a_benchmark_that_one_side_names_alone_is_new_or_removed() {
    let table = |name: &str| {
        format!(
            "[package.metadata.cbdr.benchmarks.both]\ncommand = \"true\"\n\
             [package.metadata.cbdr.benchmarks.{name}]\nbench = \"work\""
        )
    };
    let repo = configured(&table("old"));
    configure(&repo, "Cargo.toml", &table("new"));
    let ran = quick(&repo, "--always-run").code(0);
    let object =
        ran.says("the head no longer has the benchmark `old`, which could fail this check");
    let object = object.json();
    let found: BTreeMap<_, _> = object["benchmarks"]
        .as_array()
        .unwrap()
        .iter()
        .map(|b| (b["name"].as_str().unwrap(), b["status"].as_str().unwrap()))
        .collect();
    // The base has the target, if not the name: it can be measured there.
    let expected = [("both", "compared"), ("new", "compared"), ("old", "removed")];
    assert_eq!(found, BTreeMap::from(expected));
}

#[test]
fn what_a_table_may_not_say_is_an_error_that_knows_better() {
    let repo = Repo::new("steady");
    let refused = |table: &str| {
        repo.git(&["checkout", "--quiet", "main"]);
        repo.git(&["checkout", "--quiet", "-B", "feature"]);
        configure(&repo, "Cargo.toml", table);
        repo.cbdr("compare main").run().code(101)
    };
    let ran = refused("[package.metadata.cbdr]\ntreshold = \"2%\"");
    let ran = ran.says("error: unknown key `treshold` in [package.metadata.cbdr]\n");
    ran.says("hint: did you mean `threshold`?\n").never_says("Building");
    let ran = refused("[workspace]\n[workspace.metadata.cbdr]\nmetric = [\"cpu_time\"]");
    let ran = ran.says("error: unknown key `metric` in [workspace.metadata.cbdr]\n");
    ran.says("hint: did you mean `metrics`?\n");
    let ran = refused("[package.metadata.cbdr.benchmarks.small]\nagrs = [\"1\"]");
    let ran = ran.says("error: unknown key `agrs` in [package.metadata.cbdr.benchmarks.small]\n");
    ran.says("hint: did you mean `args`?\n");
    let ran = refused("[package.metadata.cbdr]\nxyz = 1");
    ran.says("error: unknown key `xyz`").says("hint: the keys are `base`, `package`, `bench`");
    let ran = refused("[package.metadata.cbdr]\nmax-pairs = \"many\"");
    ran.says("error: invalid value in [package.metadata.cbdr]: `max-pairs`: ");
    let ran = refused("[package.metadata.cbdr]\nbench = \"work\"\ncommand = \"true\"");
    ran.says("error: [package.metadata.cbdr] sets more than one of `bench`, `bin`, `example` and");
    let ran = refused("[package.metadata.cbdr]\nthreshold = \"2\"");
    ran.says("error: invalid threshold `2`: a percentage is written with its sign, such as `2%`")
        .says("(in the configuration of the head)");
    refused("[package.metadata.cbdr]\nconfidence = \"95\"");
    let ran = repo.cbdr("compare HEAD").run().code(101);
    ran.says("error: invalid confidence `95`").says("(in the configuration of the head)");
    // What only a flag makes wrong is a mistake in the command line.
    refused("[package.metadata.cbdr]\nwarn = \"3%\"");
    let shown = repo.cbdr("compare main --threshold 4%,max_rss=7% --dry-run").run().code(0).stdout;
    assert!(shown.contains("thresholds.max_rss  7%"), "{shown}");
    repo.cbdr("compare main --threshold 4% --warn 5%").run().code(2).says("invalid warn `5%`");
    let ran = refused("[package.metadata.cbdr]\nharness = \"criteron\"");
    ran.says("error: invalid harness `criteron`: it must be plain, json, criterion,");
    let ran = refused(
        "[package.metadata.cbdr]\nunits = { rate = { unit = \"B/s\", beter = \"higher\" } }",
    );
    ran.says("error: invalid value in [package.metadata.cbdr]: `units`: unknown field `beter`");
    let ran = refused("[package.metadata.cbdr.units.rate]\nunit = \"B/s\"\nbetter = \"up\"");
    ran.says("error: invalid units `rate.better = up`: better must be `lower` or `higher`");
    let ran = refused("[package.metadata.cbdr]\nbench = \"wrok\"");
    let ran = ran.says("error: the package `steady` has no bench `wrok`\n");
    ran.says("hint: did you mean `work`?\n");
    let ran = refused("[package.metadata.cbdr]\npackage = \"stedy\"");
    ran.says("the workspace has no package `stedy`\n").says("hint: did you mean `steady`?\n");
    let ran = refused(
        "[package.metadata.cbdr.benchmarks.one]\ncommand = \"true\"\nconfidence = \"99%\"\n\
         [package.metadata.cbdr.benchmarks.two]\ncommand = \"true\"",
    );
    let ran = ran.says("error: the benchmarks set `confidence` differently, but a comparison has");
    ran.says("hint: set `confidence` in the table around the benchmarks, not in theirs\n");
    let ran = refused(
        "[package.metadata.cbdr.benchmarks.one]\ncommand = \"true\"\nunits.rate.unit = \"B/s\"\n\
         [package.metadata.cbdr.benchmarks.two]\ncommand = \"true\"\nunits.rate.unit = \"1/s\"",
    );
    ran.says("error: the benchmarks set `units.rate` differently, but a comparison has only one\n");
}

#[test]
fn of_several_bench_targets_all_run_unless_one_is_named() {
    let repo =
        configured("[[bench]]\nname = \"other\"\npath = \"benches/work.rs\"\nharness = false");
    assert_eq!(names(&quick(&repo, "").code(0).json()), ["other", "work"]);
    let ran = quick(&repo, "--bench othre").code(101);
    let ran = ran.says("error: the package `steady` has no bench `othre`\n");
    ran.says("hint: did you mean `other`?\n");
    let ran = quick(&repo, "--bench zzz").code(101);
    ran.says("hint: its targets of that kind: `other`, `work`\n");
    let ran = quick(&repo, "--bin work").code(101);
    ran.says("error: the package `steady` has no bin `work`\n");
    let one = "compare main --bench other --dry-run --format json";
    assert_eq!(names(&repo.cbdr(one).run().code(0).json()), ["other"]);
}

#[test]
fn a_branch_cannot_loosen_its_own_gate_in_silence() {
    let table = "[package.metadata.cbdr]\nthreshold = \"2%\"\n";
    let base = "{\"work\": {\"wall_time\": 0.100N}}";
    let repo = printing_as_configured(table, base, &base.replace("0.100", "0.150"));
    repo.replace("Cargo.toml", "2%", "90%");
    repo.commit("loosen");
    let args = format!("compare main {PRINTED} --format json");
    let ran = repo.cbdr(&args).run().code(100);
    let ran = ran.says("warning: base and head set `threshold` differently; the base's value");
    let object = ran.json();
    assert_eq!(gates(&object["benchmarks"][0]), BTreeMap::from([("wall_time", 0.02)]));
    assert!(object["notices"].to_string().contains("`threshold`"), "{object}");
    let ran = repo.cbdr(&format!("{args} --policy-from head")).run().code(0);
    let object = ran.json();
    assert_eq!(object["verdict"], "no-regression");
    assert_eq!(gates(&object["benchmarks"][0]), BTreeMap::from([("wall_time", 0.9)]));
    // A flag is the caller's word, not the branch's.
    let object = repo.cbdr(&format!("{args} --threshold 80%")).run().code(0).json();
    assert_eq!(gates(&object["benchmarks"][0]), BTreeMap::from([("wall_time", 0.8)]));
}

#[test]
fn every_key_that_decides_comes_from_the_base_and_the_others_from_the_head() {
    let repo = Repo::new("steady");
    configure(&repo, "Cargo.toml", "[package.metadata.cbdr]\ncommand = \"false\"");
    repo.branch("feature");
    configure(
        &repo,
        "Cargo.toml",
        "[package.metadata.cbdr]\ncommand = \"true\"\nmetrics = [\"cpu_time\"]\n\
         thresholds = { cpu_time = \"0%\" }\nconfidence = \"99.99%\"\nestimator = \"median\"\n\
         time-limit = \"7m\"\nmax-pairs = 16\nwarmup = 0\n\
         fail-on = [\"inconclusive\", \"no-baseline\", \"removed\"]",
    );
    let args = "compare main --format json --max-pairs 16 --warmup 0";
    let ran = repo.cbdr(args).run();
    // A flag limits the number of pairs.
    let keys = "`confidence`, `estimator`, `fail-on`, `metrics`, `thresholds` and `time-limit`";
    let object = ran.says(&format!("warning: base and head set {keys} differently")).json();
    assert_eq!(gates(&object["benchmarks"][0]), BTreeMap::from([("wall_time", THRESHOLD)]));
    assert_eq!((&object["confidence"], &object["estimator"]), (&json!(0.95), &json!("robust")));
    let object = repo.cbdr(&format!("{args} --policy-from head")).run().code(102).json();
    assert_eq!(gates(&object["benchmarks"][0]), BTreeMap::from([("cpu_time", 0.0)]));
    // A base without a table has no policy to set against the head's.
    let args = args.replace("main", "main~1 --exact-base");
    let ran = repo.cbdr(&args).run().code(102).never_says("the base's value is used");
    let ran = ran
        .says("the base has no table for cargo cbdr yet, so the head's is used until it is merged");
    assert_eq!(ran.json()["confidence"], 0.9999);
}

#[test]
fn a_bad_value_on_the_head_is_an_error_before_it_is_merged() {
    let repo = configured("[package.metadata.cbdr]\ncommand = \"true\"\nthreshold = \"3%\"");
    let after = |merged: &str, branch: &str, old: &str, new: &str| {
        repo.git(&["checkout", "-q", "main"]);
        repo.git(&["merge", "-q", merged]);
        repo.branch(branch);
        repo.replace("Cargo.toml", old, new);
        repo.commit(branch);
    };
    after("feature", "typo", "3%", "abc");
    let ran = repo.cbdr("compare main").run().code(101);
    ran.says("error: invalid threshold `abc`").says("(in the configuration of the head)");
    // An error in a flag is not attributed to the table.
    let ran = repo.cbdr("compare main --confidence 9").run();
    assert!(ran.code != Some(0) && !ran.stderr.contains("configuration of"), "{}", ran.stderr);
    // A base that was merged all the same names itself and the way out.
    after("typo", "mend", "abc", "3%");
    let ran = repo.cbdr("compare main").run().code(101);
    ran.says("(in the configuration of the base)").says("`--policy-from head`");
    repo.cbdr("compare main --policy-from head --max-pairs 6 --threshold 900%").run().code(0);
    // So does one with a key that does not exist, or with a value of the wrong type.
    for wrong in ["thresold = \"3%\"", "warmup = \"3\""] {
        after("mend", "wrong", "threshold = \"3%\"", wrong);
        after("wrong", "mend", wrong, "threshold = \"3%\"");
        let ran = repo.cbdr("compare main").run().code(101);
        ran.says("(in the configuration of the base)").says("`--policy-from head`");
        let ran = repo.cbdr("compare main --policy-from head --dry-run").run().code(0);
        ran.says("warning: the table of the base is not used, because it is invalid: ");
    }
}

#[test]
fn the_policy_of_a_named_benchmark_is_that_of_its_name_on_the_base() {
    let table = |one: &str, two: &str| {
        format!(
            "[package.metadata.cbdr]\ncommand = \"true\"\n\
             [package.metadata.cbdr.benchmarks.one]\nthreshold = \"{one}\"\n\
             [package.metadata.cbdr.benchmarks.two]\nthreshold = \"{two}\""
        )
    };
    let repo = configured(&table("3%", "4%"));
    configure(&repo, "Cargo.toml", &table("80%", "4%"));
    let object = shown(&repo, "");
    assert!(object["notices"].to_string().contains("set `threshold` differently"), "{object}");
    assert_eq!(shown_gates(&object, 0)["wall_time"], 0.03);
    assert_eq!(shown_gates(&object, 1)["wall_time"], 0.04);
}

#[test]
fn an_uncommitted_table_does_not_loosen_the_gate_either() {
    let repo = configured("[package.metadata.cbdr]\ncommand = \"true\"\nthreshold = \"3%\"");
    repo.replace("Cargo.toml", "\"3%\"", "\"80%\"");
    let is_the_bases = |args: &str| {
        let object = shown(&repo, args);
        assert!(object["notices"].to_string().contains("set `threshold` differently"), "{object}");
        assert_eq!(shown_gates(&object, 0)["wall_time"], 0.03);
    };
    ["", "--dirty"].into_iter().for_each(is_the_bases);
    // Nor does leaving the key out.
    repo.git(&["checkout", "--quiet", "Cargo.toml"]);
    repo.replace("Cargo.toml", "threshold = \"3%\"", "");
    repo.commit("no threshold");
    is_the_bases("");
}

#[test]
fn the_table_of_another_head_is_that_heads() {
    let repo = configured("[package.metadata.cbdr]\ncommand = \"false\"");
    repo.replace("Cargo.toml", "\"false\"", "\"true\"");
    repo.commit("another command");
    repo.git(&["checkout", "--quiet", "main"]);
    assert_eq!(names(&quick(&repo, "--head feature").code(0).json()), ["true", "false"]);
}

#[test]
fn a_threshold_of_a_metric_that_does_not_gate_is_a_mistake() {
    let repo = configured("[package.metadata.cbdr]\ncommand = \"true\"");
    let ran = quick(&repo, "--metric cpu_time --threshold max_rss=3%").code(2);
    ran.says("this metric does not gate: add it to `metrics`");
    let ran = quick(&repo, "--metric max_rss --threshold max_rs=3%").code(2);
    ran.says("this metric does not gate; did you mean `max_rss`?");
    for empty in ["--metric wall_time,", "--threshold =3%"] {
        quick(&repo, empty).code(2).says("a metric has a name");
    }
    let object = shown(&repo, "--threshold max_rss=3% --threshold 5%");
    let expected = BTreeMap::from([("max_rss", 0.03), ("wall_time", 0.05)]);
    assert_eq!(shown_gates(&object, 0), expected);
}
