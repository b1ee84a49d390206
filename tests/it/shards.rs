//! Several machines, each with its own clone and cache, and their one verdict.

use std::path::PathBuf;

use serde_json::{Value, json};

use crate::schema::Schema;
use crate::support::{Cbdr, PRINTED, Ran, Repo, branch_with, create_cache, git, printing};
use crate::unaffected::{bench, status};

/// A branch, cloned by so many machines.
struct Machines {
    repo: Repo,
    /// What is measured, and what decides.
    what: String,
}

impl Machines {
    /// Of a script that takes half as long again.
    fn new() -> Self {
        let base = "{\"work\": {\"wall_time\": 0.100N, \"max_rss\": 100000000}}";
        let repo = printing(base, &base.replace("0.100", "0.150"));
        Machines { repo, what: format!("--threshold 10% {PRINTED}") }
    }

    /// Of a program that is built.
    fn built(repo: Repo) -> Self {
        Machines { repo, what: "--threshold 10% --metric cpu_time".to_owned() }
    }

    fn file(&self, name: &str) -> PathBuf {
        self.repo.around().join(name)
    }

    /// Measures shard `shard` in a clone of its machine's own, into `NAME`.
    #[track_caller]
    fn measure(&self, shard: &str, name: &str, more: &str) -> Ran {
        let machine = shard.replace('/', "-of-");
        let [clone, cache] = ["clone", "cache"].map(|of| self.file(&format!("{of}-{machine}")));
        let from = self.repo.path().to_str().unwrap();
        if !clone.exists() {
            git(&self.repo.around(), &["clone", "--quiet", from, clone.to_str().unwrap()]);
            create_cache(&cache);
        }
        let cbdr = Cbdr::new(&clone, &cache);
        let cbdr = cbdr.args(["compare", "origin/main", "--samples"]).args([self.file(name)]);
        cbdr.args(format!("--shard {shard} {} {more}", self.what).split_whitespace()).run()
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
    let object = measured.code(0).says("in pairs, up to 10 pairs or ").json();
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
        human.contains("work/feature against work/origin/main: ")
            && human.contains("27 pairs; medians")
            && human.starts_with("REGRESSION: work is "),
        "{human}"
    );
    let markdown = machines.combine(files, "--format markdown").code(100).stdout;
    assert!(markdown.starts_with("<!-- cargo-cbdr -->"), "{markdown}");
    let github = machines.combine(files, "--format github").code(100).stdout;
    assert!(github.starts_with("::error"), "{github}");
    let junit = machines.combine(files, "--format junit").code(100).stdout;
    assert!(junit.contains(" type=\"regression\">"), "{junit}");

    let alone = machines.repo.cbdr("analyze 1.csv --threshold 90%").folder(&machines.repo.around());
    alone.run().code(0).says("warning: `1.csv` is shard 1/3 of a comparison, and this result is");
    machines.combine("1.csv 3.csv", "").code(101).says("shard 2 of 3 is missing");
    let fewer = machines.combine("1.csv 3.csv", "--allow-missing").code(100);
    fewer.says("shard 2 is missing from the verdict");
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
    machines.combine("all", "").code(101).says("shard 3 of 3 is missing");
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
    // Within the last row.
    write("2.csv", text.rsplit_once(',').unwrap().0);
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
    all()
        .code(101)
        .says("have different head commits")
        .says("hint: remove the files of other runs");
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
    let repo = branch_with("3_000_000");
    let call = "compare --shard auto --samples a.csv --max-pairs 1 --command true --format json";
    let auto = || repo.cbdr(call);
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
    let ran = machines
        .measure("1/1", "1.csv", "--max-pairs 30 --format json --shard-by pairs")
        .code(0)
        .json();
    assert_eq!((&ran["verdict"], &ran["benchmarks"][0]["pairs"]), (&Value::Null, &json!(30)));
    let object = machines.combine("1.csv", "--format json").code(100).json();
    assert_eq!((&object["stopped_by"], &object["rows"]), (&json!("verdict"), &json!(60)));
}

/// A suite of three benchmarks whose times are what its library says, of which one is slower.
fn suite() -> Repo {
    let repo = Repo::new("suite");
    repo.branch("feature");
    repo.replace("src/lib.rs", "(\"second\", 2000.0)", "(\"second\", 3000.0)");
    repo.commit("slower");
    repo
}

fn compare_suite(repo: &Repo, args: &str) -> Value {
    let runs = repo.around().join("runs");
    let _ = std::fs::remove_file(&runs);
    let call = format!("compare main --layouts off --seed 3 --format json {args}");
    repo.cbdr(&call).env("RUNS", runs).run().json()
}

/// The name, the status and the verdict of each benchmark.
fn answers(object: &Value) -> Vec<[Value; 3]> {
    let all = object["benchmarks"].as_array().unwrap().iter();
    let answer = |one: &Value| {
        let verdict = one["metrics"].get(0).map_or(Value::Null, |metric| metric["verdict"].clone());
        [one["name"].clone(), one["status"].clone(), verdict]
    };
    all.map(answer).collect()
}

fn keys(object: &Value) -> Vec<&String> {
    object.as_object().unwrap().keys().collect()
}

#[test]
fn machines_with_benchmarks_of_their_own_give_the_outcome_of_one() {
    let repo = suite();
    let one = compare_suite(&repo, "");
    assert_eq!(one["verdict"], "regression");
    let mut measured = Vec::new();
    std::fs::create_dir(repo.path().join("s")).unwrap();
    for number in 1..=2 {
        let part = compare_suite(&repo, &format!("--shard {number}/2 --samples s/{number}.csv"));
        assert_eq!((&part["verdict"], &part["stopped_by"]), (&Value::Null, &json!("verdict")));
        measured.extend(answers(&part).into_iter().map(|[name, ..]| name));
    }
    let names = ["inner::first", "second", "third"];
    measured.sort_by_key(Value::to_string);
    assert_eq!(measured, names, "each on one of them");
    let ran = repo.cbdr("analyze --combine s --format json").run().code(100);
    let combined = ran.json();
    assert_eq!((answers(&combined), keys(&combined)), (answers(&one), keys(&one)));
    assert_eq!(keys(&combined["suite"]), keys(&one["suite"]));
    let geomean = |object: &Value| {
        let number = &object["suite"]["numbers"][0];
        assert_eq!(
            (&number["name"], &object["suite"]["benchmarks"]),
            (&json!("suite geomean"), &json!(3))
        );
        number["metrics"][0]["change"].as_f64().unwrap()
    };
    assert!((geomean(&combined) - geomean(&one)).abs() < 0.01, "{combined}");
    let metrics = |object: &Value| object["benchmarks"][1]["metrics"][0].clone();
    assert_eq!(keys(&metrics(&combined)), keys(&metrics(&one)));
    for key in ["base", "head", "merge_base", "toolchain", "seed", "shard", "stopped_by"] {
        assert_eq!(combined[key], one[key], "{key}");
    }
    Schema::published().holds_and_reads(&combined);
    let change = metrics(&combined)["change"].as_f64().unwrap();
    assert!((change - 0.5).abs() < 0.03, "{combined}");
    let human = repo.cbdr("analyze --combine s").run().code(100).stdout;
    let answer = format!("REGRESSION: second is {:.1}% slower than ", 100.0 * change);
    assert!(human.starts_with(&answer), "{human}");
    // By pairs, each measures all of them, and reaches no verdict.
    let pairs = "--shard-by pairs --max-pairs 3 --samples p.csv";
    let part = compare_suite(&repo, &format!("--shard 1/2 {pairs}"));
    assert!(answers(&part).iter().all(|[.., verdict]| verdict.is_null()), "{part}");
    assert_eq!(part["benchmarks"].as_array().unwrap().len(), 3);
    // So they do if there are fewer benchmarks than machines.
    let part = compare_suite(&repo, "--shard 1/4 --max-pairs 3 --samples p.csv");
    assert_eq!(part["benchmarks"].as_array().unwrap().len(), 3);
    lost(&repo);
}

/// One of two shards is lost, and there is one of older commits.
fn lost(repo: &Repo) {
    let number = |number: u64| repo.path().join(format!("s/{number}.csv"));
    let has_second = std::fs::read_to_string(number(1)).unwrap().contains("second");
    let (with, without) = if has_second { (1, 2) } else { (2, 1) };
    let old = |end: &str| repo.path().join(format!("s/{without}.csv.partial{end}"));
    std::fs::rename(number(without), old("")).unwrap();
    let json = |number: u64| repo.path().join(format!("s/{number}.csv.json"));
    let mut about: Value = serde_json::from_slice(&std::fs::read(json(without)).unwrap()).unwrap();
    std::fs::remove_file(json(without)).unwrap();
    about["stopped_by"] = json!("interrupt");
    about["head"]["commit"] = json!("0000");
    std::fs::write(old(".json"), about.to_string()).unwrap();
    let ran = repo.cbdr("analyze --combine s").run().code(101);
    ran.says(&format!("shard {without} of 2 is missing; not measured: `")).says("third");
    let call = "analyze --combine s --allow-missing --fail-on inconclusive --format json";
    let object = repo.cbdr(call).run().code(100).json();
    Schema::published().holds_and_reads(&object);
    let found = answers(&object);
    assert!(
        found.contains(&[json!("second"), json!("compared"), json!("regression")]),
        "{found:?}"
    );
    assert!(found.contains(&[json!("third"), json!("not-measured"), Value::Null]), "{found:?}");
    let notices = object["notices"].to_string();
    assert!(notices.contains("partial` is left out: its run was interrupted"), "{notices}");
    let human = repo.cbdr("analyze --combine s --allow-missing").run().code(100).stdout;
    assert!(
        human.contains("not measured (") && human.contains(" on machines that were lost)"),
        "{human}"
    );
    let junit = repo.cbdr("analyze --combine s --allow-missing --format junit").run().code(100);
    assert!(junit.stdout.contains("not measured: its machine was lost"), "{}", junit.stdout);
    // Without the one that is slower, nothing is known.
    std::fs::rename(number(with), number(without)).unwrap();
    let mut about: Value = serde_json::from_slice(&std::fs::read(json(with)).unwrap()).unwrap();
    about["own"]["outcome"]["benchmarks"] = json!([]);
    about["own"]["details"] = json!([]);
    about["own"]["division"]["evidence"] = json!(0.0);
    std::fs::write(json(without), about.to_string()).unwrap();
    std::fs::remove_file(json(with)).unwrap();
    let ran = repo.cbdr("analyze --combine s --allow-missing --fail-on inconclusive").run();
    ran.code(102);
}

#[test]
fn a_suite_of_several_machines_is_slower_though_no_benchmark_is() {
    let repo = suite();
    std::fs::create_dir(repo.path().join("s")).unwrap();
    let suite = "--threshold 90% --suite geomean=1%";
    for number in 1..=2 {
        let part = format!("{suite} --shard {number}/2 --samples s/{number}.csv");
        let part = compare_suite(&repo, &part);
        assert_eq!((&part["suite"], &part["stopped_by"]), (&Value::Null, &json!("verdict")));
    }
    let combined = repo.cbdr("analyze --combine s --format json").run().code(100).json();
    Schema::published().holds_and_reads(&combined);
    let found = answers(&combined);
    assert!(found.iter().all(|[.., verdict]| verdict == "no-regression"), "{found:?}");
    let numbers = combined["suite"]["numbers"].as_array().unwrap();
    let verdicts = numbers.iter().map(|one| [&one["name"], &one["metrics"][0]["verdict"]]);
    let expected = [json!("suite geomean"), json!("regression"), json!("suite sum"), Value::Null];
    assert!(verdicts.flatten().eq(&expected), "{numbers:?}");
    let human = repo.cbdr("analyze --combine s").run().code(100).stdout;
    assert!(human.starts_with("REGRESSION: suite geomean is "), "{human}");
    // Another number, or none, is another comparison.
    compare_suite(&repo, "--threshold 90% --shard 2/2 --samples s/2.csv");
    repo.cbdr("analyze --combine s").run().code(101).says("have different divisions");
    let pairs = format!("compare main --shard 1/4 --samples p.csv {suite}");
    let runs = repo.around().join("runs");
    repo.cbdr(&pairs).env("RUNS", runs).run().code(101).says("by pairs give no verdict");
}

#[test]
fn a_pack_shows_what_each_machine_would_measure_and_for_how_long() {
    let repo = suite();
    let dry = |args: &str| repo.cbdr(&format!("compare {args} --dry-run")).run().code(0);
    let unknown = dry("main --shard 1/2 --format json").json();
    Schema::published().holds(&unknown);
    assert_eq!((&unknown["shards"], &unknown["needs"]["folder"]), (&Value::Null, &Value::Null));
    let human = dry("main --shard 1/2").stdout;
    assert!(human.contains("is not known before the benchmarks have run"), "{human}");
    let pack = repo.cbdr("pack main change.pack --layouts off --time-limit 40s");
    pack.env("RUNS", repo.around().join("runs")).run().code(0);
    let known = dry("--packed change.pack --shard 1/2 --format json").json();
    Schema::published().holds(&known);
    assert_eq!((&known["verdict"], &known["time_limit"]), (&Value::Null, &json!(40.0)));
    assert!(known["needs"]["folder"].is_string(), "{known}");
    let shards = known["shards"].as_array().unwrap();
    assert_eq!(shards.len(), 2);
    for shard in shards {
        assert!(shard["least_seconds"].as_f64().unwrap() > 0.0, "{known}");
    }
    // Each machine measures what was shown.
    for shard in shards {
        let number = &shard["number"];
        let args = format!("--packed change.pack --shard {number}/2 --samples {number}.csv");
        let call = repo.cbdr(&format!("compare {args} --max-pairs 2 --seed 3 --format json"));
        let part = call.env("RUNS", repo.around().join("runs")).run().code(0).json();
        let names = part["benchmarks"].as_array().unwrap().iter().map(|one| &one["name"]);
        assert!(names.eq(shard["benchmarks"].as_array().unwrap()), "{part}");
    }
    let human = dry("--packed change.pack --shard 1/2").stdout;
    assert!(human.contains("samples for 40s at most") && human.contains("at least"), "{human}");
    // Each machine would measure all of them.
    let pairs = dry("--packed change.pack --shard 1/4 --format json").json();
    assert_eq!(pairs["shards"], Value::Null);
}

#[cfg_attr(not(target_arch = "x86_64"), ignore = "programs are watched on x86-64 alone")]
#[test]
fn what_the_change_does_not_affect_is_unaffected_on_each_machine() {
    let two = |factor: u32| {
        format!(
            "#[inline(never)] pub fn one(x: u64) -> u64 {{ x.wrapping_mul(7) }}\n\
             #[inline(never)] pub fn two(x: u64) -> u64 {{ x.wrapping_mul({factor}) }}"
        )
    };
    let repo = Repo::new("library");
    repo.write("benches/work.rs", &bench("(\"two\", steady::two)"));
    repo.write("src/lib.rs", &two(9));
    repo.commit("base");
    repo.branch("feature");
    repo.write("src/lib.rs", &two(13));
    repo.commit("head");
    let call = "compare main --harness libtest --seed 5 --layouts off --format json";
    let one = repo.cbdr(call).run().code(0).json();
    std::fs::create_dir(repo.path().join("s")).unwrap();
    for number in 1..=2 {
        let more = format!("--shard {number}/2 --samples s/{number}.csv");
        repo.cbdr(&format!("{call} {more}")).run().code(0);
    }
    let combined = repo.cbdr("analyze --combine s --format json").run().code(0).json();
    assert_eq!(answers(&combined), answers(&one));
    let expected = [("one", "unaffected"), ("two", "compared")];
    assert!(expected.iter().all(|(name, expected)| status(&combined, name) == *expected));
    assert_eq!(combined["verdict"], "no-regression");
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
    let machines = Machines::built(branch_with("3_000_000"));
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
    let machines = Machines::built(same);
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
    repo.cbdr("analyze --combine -").run().code(101).says("`-` is not a shard");
    repo.cbdr("analyze --combine a.csv --threshold 2%").run().code(2).says("--threshold");
    repo.cbdr("analyze a.csv --allow-missing").run().code(2).says("--combine");
}
