//! `compare --dry-run`: what would be compared, and where each setting comes from.

use serde_json::{Value, json};

use crate::support::Repo;

const TABLE: &str = "[workspace.metadata.cbdr]\ntime-limit = \"90s\"\nthreshold = \"1%\"\n\
                     thresholds = { sys_time = \"11%\" }\n";

/// The value of a setting, its layer, and the side of its table.
fn setting(of: &Value, key: &str) -> Value {
    let about = &of["settings"][key];
    json!([about["value"], about["from"], about["side"]])
}

/// The fixture of two packages, with a table of the workspace, and one of the package `one`.
fn members(table: &str) -> Repo {
    let repo = Repo::new("members");
    let root = std::fs::read_to_string(repo.path().join("Cargo.toml")).unwrap();
    repo.write("Cargo.toml", &format!("{root}\n{TABLE}"));
    configure(&repo, table);
    repo.commit("configure");
    repo
}

fn configure(repo: &Repo, table: &str) {
    let text = std::fs::read_to_string(repo.path().join("one/Cargo.toml")).unwrap();
    let text = text.split("\n# the table\n").next().unwrap().to_owned();
    repo.write("one/Cargo.toml", &format!("{text}\n# the table\n{table}\n"));
}

#[test]
fn each_setting_is_shown_with_its_layer_and_side_and_nothing_is_built() {
    let repo = members(
        "[package.metadata.cbdr]\nthreshold = \"3%\"\nconfidence = \"97%\"\n\
         [package.metadata.cbdr.benchmarks.fast]\nbench = \"work_one\"\nwarmup = 3\n",
    );
    repo.branch("feature");
    configure(
        &repo,
        "[package.metadata.cbdr]\nthreshold = \"50%\"\nconfidence = \"97%\"\n\
         [package.metadata.cbdr.benchmarks.fast]\nbench = \"work_one\"\nwarmup = 4\n\
         [[package.metadata.cbdr.waivers]]\nmetric = \"sys_time\"\nceiling = \"20%\"\n\
         reason = \"a table\"\nexpires = \"2999-12-31\"\n",
    );
    let head = repo.commit("loosened");
    let compare = "compare main -p one --max-pairs 7 --dry-run";
    let ran = repo.cbdr(&format!("{compare} --format json")).run().code(0);
    let object = ran.json();
    assert_eq!((&object["head"]["commit"], &object["merge_base"]), (&json!(head), &json!(true)));
    assert_eq!(setting(&object, "max-pairs"), json!([7, "flag", null]));
    assert_eq!(setting(&object, "time-limit"), json!(["90s", "workspace", "base"]));
    assert_eq!(setting(&object, "confidence"), json!(["97%", "package", "base"]));
    assert_eq!(setting(&object, "estimator"), json!(["robust", "default", null]));
    assert_eq!(object["time_limit"], 90.0);
    let target = object["needs"]["target"].as_str().unwrap();
    assert!(target.contains(std::env::consts::ARCH), "{target}");
    assert_eq!(object["needs"]["programs"], json!([]));
    let args = "--setup python3 --show instructions_cachegrind --dry-run --format json";
    let others =
        repo.cbdr(&format!("compare main -p one --command ./x {args}")).run().code(0).json();
    assert_eq!(others["needs"]["programs"], json!(["python3", "valgrind"]));
    let [fast] = object["benchmarks"].as_array().unwrap().as_slice() else { panic!("{object}") };
    assert_eq!((&fast["name"], &fast["status"]), (&json!("fast"), &json!("compared")));
    assert_eq!(setting(fast, "threshold"), json!(["3%", "package", "base"]));
    assert_eq!(setting(fast, "thresholds.sys_time"), json!(["11%", "workspace", "base"]));
    assert_eq!(setting(fast, "warmup"), json!([4, "benchmark", "head"]));
    assert_eq!(setting(fast, "run-timeout"), json!(["10m", "default", null]));
    let gates = fast["gates"].as_array().unwrap();
    assert_eq!((&gates[0]["metric"], &gates[0]["threshold"]), (&json!("wall_time"), &json!(0.03)));
    assert_eq!(gates[1]["waiver"]["ceiling"], 0.2);
    assert_eq!(fast["build"]["head"], json!(["cargo", "bench", "--bench=work_one", "--no-run"]));
    let notices = object["notices"].to_string();
    assert!(notices.contains("`threshold`") && notices.contains("`warmup`"), "{notices}");
    assert!(notices.contains("introduces a waiver"), "{notices}");
    ran.never_says("Building").never_says("Compiling");
    let text = repo.cbdr(compare).run().code(0).stdout;
    let has = |row: &[&str]| {
        let mut lines = text.lines().map(|line| line.split("  ").map(str::trim));
        lines.any(|cells| cells.filter(|cell| !cell.is_empty()).eq(row.iter().copied()))
    };
    assert!(has(&["threshold", "3%", "package's table, base"]), "{text}");
    assert!(has(&["max-pairs", "7", "flag"]), "{text}");
    assert!(has(&["fast", "sys_time", "+11%", "+20% until 2999-12-31: a table"]), "{text}");
    let short = repo.cbdr(&format!("{compare} --time-limit 400us")).run().code(0).stdout;
    assert!(short.contains("samples for 400us at most"), "{short}");
}

#[test]
fn what_is_new_or_removed_is_known_without_a_build() {
    let repo = members("[package.metadata.cbdr]\ntoolchain = \"head\"\n");
    repo.branch("feature");
    repo.git(&["mv", "one/benches/work_one.rs", "one/benches/other.rs"]);
    repo.replace("one/Cargo.toml", "name = \"work_one\"", "name = \"other\"");
    repo.commit("renamed");
    let object = repo.cbdr("compare main -p one --dry-run --format json").run().code(0).json();
    let [other] = object["benchmarks"].as_array().unwrap().as_slice() else { panic!("{object}") };
    assert_eq!((&other["name"], &other["status"]), (&json!("other"), &json!("new")));
    assert!(other["reason"].as_str().unwrap().contains("has no bench `other`"), "{other}");
    assert_eq!(other["build"]["base"], Value::Null);
    assert_eq!(object["removed"], json!([{"benchmark": "work_one", "metric": null}]));
    repo.git(&["checkout", "--quiet", "main"]);
    let nothing = repo.cbdr("compare main --dry-run --format json").run().code(0).json();
    assert_eq!((&nothing["benchmarks"], &nothing["toolchain"]), (&json!([]), &Value::Null));
}

#[test]
fn bad_settings_are_the_errors_of_a_comparison() {
    let repo = members("[package.metadata.cbdr]\nestimator = \"best\"\n");
    repo.branch("feature");
    repo.commit("nothing");
    for (args, code) in [("-p one", 101), ("-p two --threshold 2", 2), ("-p three", 101)] {
        let real = repo.cbdr(&format!("compare main {args}")).run().code(code);
        let dry = repo.cbdr(&format!("compare main {args} --dry-run")).run().code(code);
        let error =
            |text: &str| text.lines().find(|line| line.starts_with("error")).map(str::to_owned);
        assert!(
            error(&real.stderr).is_some() && error(&dry.stderr) == error(&real.stderr),
            "{args}"
        );
    }
    repo.cbdr("compare main --dry-run --format junit")
        .run()
        .code(2)
        .says("`--dry-run` supports only");
    repo.cbdr("compare main --dry-run --samples x.csv").run().code(2).says("cannot be used with");
}
