//! Several machines, each with its own clone and cache, and their one verdict.

use std::path::PathBuf;

use serde_json::{Value, json};

use crate::support::{Cbdr, Ran, Repo, git};

const GATE: &str = "--threshold 10% --metric cpu_time";

/// A branch that takes half as long again, cloned by so many machines.
struct Machines {
    repo: Repo,
}

impl Machines {
    fn new() -> Self {
        let repo = Repo::new("steady");
        repo.branch("feature");
        repo.replace("src/lib.rs", "2_000_000", "3_000_000");
        repo.commit("slower");
        Machines { repo }
    }

    fn file(&self, name: &str) -> PathBuf {
        self.repo.around().join(name)
    }

    /// Measures shard `shard` in a clone of its own, into `NAME`.
    #[track_caller]
    fn measure(&self, shard: &str, name: &str, more: &str) -> Ran {
        let clone = self.file(&format!("clone-{name}"));
        let from = self.repo.path().to_str().unwrap();
        if !clone.exists() {
            git(&self.repo.around(), &["clone", "--quiet", from, clone.to_str().unwrap()]);
        }
        let cbdr = Cbdr::new(&clone, &self.file(&format!("cache-{name}")));
        let cbdr = cbdr.args(["compare", "origin/main", "--samples"]).args([self.file(name)]);
        cbdr.args(format!("--shard {shard} {GATE} {more}").split_whitespace()).run()
    }

    #[track_caller]
    fn combine(&self, names: &str, more: &str) -> Ran {
        let args = format!("analyze --combine {names} {more}");
        self.repo.cbdr(&args).folder(&self.repo.around()).run()
    }

    fn about(&self, name: &str) -> Value {
        let text = std::fs::read(self.file(&format!("{name}.json"))).unwrap();
        serde_json::from_slice(&text).unwrap()
    }
}

#[test]
fn several_machines_come_to_one_verdict() {
    let machines = Machines::new();
    let measured = machines.measure("1/3", "1.csv", "--max-pairs 10 --seed 5 --format json");
    let object = measured.code(0).says("to the limit of 10 pairs").json();
    assert_eq!((&object["verdict"], &object["seed"]), (&Value::Null, &json!(5)));
    assert_eq!(object["shard"], json!({"number": 1, "of": 3}));
    assert_eq!(object["stopped_by"], "max-pairs");
    let metrics = object["benchmarks"][0]["metrics"].as_array().unwrap();
    assert!(metrics.iter().all(|metric| metric["verdict"].is_null()));
    assert!(metrics.iter().any(|metric| metric["gates"] == true));
    let human = machines.measure("2/3", "2.csv", "--max-pairs 8 --seed 5").code(0);
    assert!(human.stdout.contains("shard 2/3: 8 pairs in"), "{}", human.stdout);
    machines.measure("3/3", "3.csv", "--max-pairs 9 --seed 5").code(0);
    let seeds =
        ["1.csv", "2.csv", "3.csv"].map(|name| machines.about(name)["shard"]["seed"].clone());
    assert!(seeds[0] != seeds[1] && seeds[1] != seeds[2] && seeds[0] != seeds[2], "{seeds:?}");

    let object = machines.combine("2.csv 3.csv 1.csv", "--format json").code(100).json();
    assert_eq!((&object["verdict"], &object["rows"]), (&json!("regression"), &json!(54)));
    assert_eq!(object["benchmarks"][0]["pairs"], 27);
    assert_eq!(object["benchmarks"][0]["rule"], "sequential");
    let files = "1.csv 2.csv 3.csv";
    let human = machines.combine(files, "").code(100).stdout;
    assert!(
        human.contains("work/feature against work/origin/main: 27 pairs")
            && human.starts_with("REGRESSION: work is "),
        "{human}"
    );
    let markdown = machines.combine(files, "--format markdown").code(100).stdout;
    assert!(markdown.starts_with("<!-- cargo-cbdr -->"), "{markdown}");
    let github = machines.combine(files, "--format github").code(100).stdout;
    assert!(github.starts_with("::error"), "{github}");
    let junit = machines.combine(files, "--format junit").code(100).stdout;
    assert!(junit.contains(" type=\"regression\">"), "{junit}");

    machines.combine("1.csv 3.csv", "").code(101).says("of 3 shards 2 is missing");
    let fewer = machines.combine("1.csv 3.csv", "--allow-missing").code(100);
    fewer.says("does not include the missing shards: 2");
    machines.combine("1.csv 2.csv 1.csv", "").code(101).says("are both shard 1/3");
    in_a_folder(&machines);
    refused(&machines);
}

/// A folder stands for the shards in it, whether they were stopped or not.
fn in_a_folder(machines: &Machines) {
    let copy = |from: &str, to: &str| {
        for end in ["", ".json"] {
            let to = machines.file(&format!("all/{to}{end}"));
            std::fs::copy(machines.file(&format!("{from}{end}")), to).unwrap();
        }
    };
    std::fs::create_dir(machines.file("all")).unwrap();
    machines.combine("all", "").code(101).says("`all` is not a shard: it contains none");
    copy("1.csv", "1.csv");
    copy("2.csv", "2.csv.partial");
    machines.combine("all/1.csv", "").code(101).says("FILE.csv.partial, which counts");
    machines.combine("all", "").code(101).says("of 3 shards 3 is missing");
    copy("3.csv", "3.csv");
    std::fs::write(machines.file("all/other.csv"), "benchmark,wall_time\n").unwrap();
    std::fs::write(machines.file("all/slurm-1.out"), "").unwrap();
    let object = machines.combine("all", "--format json").code(100).json();
    assert_eq!(object["rows"], 54);
    let notices = object["notices"].to_string();
    assert!(notices.contains("other.csv` is left out: there is no"), "{notices}");
    assert!(!notices.contains("slurm"), "{notices}");
}

/// Files that are not as they were written.
fn refused(machines: &Machines) {
    let text = std::fs::read_to_string(machines.file("2.csv")).unwrap();
    let write = |name: &str, text: &str| std::fs::write(machines.file(name), text).unwrap();
    let all = || machines.combine("1.csv 2.csv 3.csv", "");
    let whole_lines: Vec<&str> = text.lines().collect();
    write("2.csv", &format!("{}\n", whole_lines[..whole_lines.len() - 2].join("\n")));
    all().code(101).says("has 14 rows, but 16 were measured");
    write("2.csv", &text[..text.len() - 20]);
    all().code(101).says("`2.csv`, line 17");
    let swapped = [&whole_lines[..1], &whole_lines[2..3], &whole_lines[1..2], &whole_lines[3..]];
    let twice = text.replacen(whole_lines[2], whole_lines[1], 1);
    write("2.csv", &twice);
    all().code(101).says("do not form pairs");
    // Who of a pair was first changes nothing.
    write("2.csv", &format!("{}\n", swapped.concat().join("\n")));
    all().code(100);
    write("2.csv", &text);

    let about = machines.about("2.csv");
    let beside = |change: &dyn Fn(&mut Value)| {
        let mut about = about.clone();
        change(&mut about);
        write("2.csv.json", &about.to_string());
    };
    beside(&|about| about["head"]["commit"] = json!("0000"));
    all().code(101).says("have different head commits").says("hint: use the same");
    beside(&|about| about["gates"][0]["threshold"] = json!(0.5));
    all().code(101).says("have different metrics or thresholds");
    beside(&|about| about["shard"]["seed"] = machines.about("1.csv")["shard"]["seed"].clone());
    all().code(101).says("made with the same seed");
    beside(&|about| about["shard"] = Value::Null);
    all().code(101).says("`2.csv` is not a shard: it was not measured as one");
    beside(&|about| about["estimator"] = Value::Null);
    all().code(101).says("`2.csv` is not a shard");
    std::fs::remove_file(machines.file("2.csv.json")).unwrap();
    all().code(101).says("`2.csv` is not a shard: there is no `2.csv.json`");
}

#[test]
fn what_a_task_measured_before_it_was_started_again_counts() {
    let machines = Machines::new();
    let (seed, more) = ("--seed 5", "--max-pairs 4");
    machines.measure("1/2", "1.csv", &format!("{more} {seed}")).code(0);
    let mut about = machines.about("1.csv");
    about["stopped_by"] = json!("interrupt");
    std::fs::rename(machines.file("1.csv"), machines.file("2.csv.partial")).unwrap();
    let about = about.to_string().replace("\"number\":1", "\"number\":2");
    std::fs::write(machines.file("2.csv.partial.json"), about).unwrap();
    std::fs::remove_file(machines.file("1.csv.json")).unwrap();
    let again = machines.measure("2/2", "2.csv", &format!("{more} {seed}")).code(0);
    again.says("2.1.csv.partial");
    machines.measure("1/2", "1.csv", &format!("{more} --seed 6")).code(0);
    let all = "1.csv 2.csv 2.1.csv.partial --format json";
    assert_eq!(machines.combine(all, "").code(100).json()["rows"], 24);
    // One without its description can't be read, and is not kept.
    std::fs::write(machines.file("1.csv.partial"), "benchmark\n").unwrap();
    machines.measure("1/2", "1.csv", "--max-pairs 1").code(0).says("Dropping");
    assert!(!machines.file("1.csv.partial").exists());
}

#[test]
fn a_task_of_an_engine_knows_its_number() {
    let repo = Repo::new("steady");
    repo.branch("feature");
    repo.replace("src/lib.rs", "2_000_000", "3_000_000");
    repo.commit("slower");
    let auto = || repo.cbdr("compare --shard auto --samples a.csv --max-pairs 1 --format json");
    let ran = auto().env("SLURM_ARRAY_TASK_ID", "3").env("SLURM_ARRAY_TASK_COUNT", "4").run();
    assert_eq!(ran.code(0).json()["shard"], json!({"number": 3, "of": 4}));
    auto().run().code(2).says("`auto` needs one of the variables");
    let object = repo.cbdr("compare --shard 2/4 --dry-run --format json").run().code(0).json();
    assert_eq!(object["shard"], json!({"number": 2, "of": 4}));
    let ran = repo.cbdr("compare --shard 2/4 --dry-run").run().code(0);
    assert!(ran.stdout.contains(", as shard 2/4."), "{}", ran.stdout);
}

#[test]
fn a_shard_goes_on_when_it_could_have_decided() {
    let machines = Machines::new();
    let ran = machines.measure("1/1", "1.csv", "--max-pairs 30 --format json").code(0).json();
    assert_eq!((&ran["verdict"], &ran["benchmarks"][0]["pairs"]), (&Value::Null, &json!(30)));
    let object = machines.combine("1.csv", "--format json").code(100).json();
    assert_eq!((&object["stopped_by"], &object["rows"]), (&json!("verdict"), &json!(60)));
}

#[test]
fn machines_that_measured_other_things_are_told_apart() {
    let machines = Machines::new();
    machines.measure("1/2", "1.csv", "--max-pairs 2").code(0);
    machines.measure("2/2", "2.csv", "--max-pairs 2 -- --other").code(0);
    machines.combine("1.csv 2.csv", "").code(101).says("have different benchmarks or options");
    machines.measure("2/2", "3.csv", "--max-pairs 2 --confidence 99%").code(0);
    machines.combine("1.csv 3.csv", "").code(101).says("have different confidences: 0.95 and 0.99");
    machines.measure("2/2", "4.csv", "--max-pairs 2").code(0);
    // Too few pairs for any verdict.
    machines.combine("1.csv 4.csv", "").code(0);
    machines.combine("1.csv 4.csv", "--fail-on inconclusive").code(102);
}

#[test]
fn sizes_count_and_equal_programs_need_no_pair() {
    let machines = Machines::new();
    let sizes = "--metric cpu_time,executable_bytes --threshold executable_bytes=0% --max-pairs 8";
    for number in [1, 2] {
        machines.measure(&format!("{number}/2"), &format!("{number}.csv"), sizes).code(0);
    }
    let object = machines.combine("1.csv 2.csv", "--format json").json();
    let metrics = object["benchmarks"][0]["metrics"].as_array().unwrap();
    let size = metrics.iter().find(|metric| metric["name"] == "executable_bytes").unwrap();
    assert!(size["verdict"].is_string(), "{size}");

    let same = Repo::new("steady");
    same.branch("feature");
    same.commit("nothing");
    let machines = Machines { repo: same };
    machines.measure("1/2", "1.csv", "").code(0);
    machines.measure("2/2", "2.csv", "").code(0);
    let object = machines.combine("1.csv 2.csv", "--format json").code(0).json();
    assert_eq!((&object["verdict"], &object["rows"]), (&json!("identical"), &json!(0)));
    machines.measure("2/2", "3.csv", "--always-run --max-pairs 3").code(0);
    machines
        .combine("1.csv 3.csv", "")
        .code(101)
        .says("has no samples (identical), but others have");
}

#[test]
fn arguments_that_make_no_sense_are_refused() {
    let repo = Repo::new("steady");
    repo.cbdr("compare --shard 1/2").run().code(2).says("--samples");
    for bad in ["0/2", "3/2", "x", "1/0"] {
        let args = format!("compare --samples a.csv --shard {bad}");
        repo.cbdr(&args).run().code(2).says("expected `I/N`");
    }
    repo.cbdr("compare --shard 1/2 --samples a.csv --fail-fast").run().code(2);
    repo.cbdr("analyze --combine").run().code(2);
    repo.cbdr("analyze --combine -").run().code(2).says("standard input");
    repo.cbdr("analyze --combine a.csv --threshold 2%").run().code(2).says("--threshold");
    repo.cbdr("analyze a.csv --allow-missing").run().code(2).says("--combine");
}
