//! Benchmarks that report by themselves.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::support::{Cbdr, Ran, Repo, side_by_side};

/// The suite, on a branch.
fn suite() -> Repo {
    let repo = Repo::new("suite");
    repo.branch("feature");
    repo
}

/// A comparison with main whose runs are counted.
fn compare(repo: &Repo, args: &str) -> Cbdr {
    let runs = repo.around().join("runs");
    let _ = std::fs::remove_file(&runs);
    repo.cbdr(&format!("compare main --format json --seed 3 --layouts off {args}"))
        .env("RUNS", runs)
}

/// The arguments of the runs so far.
fn runs(repo: &Repo) -> Vec<String> {
    let text = std::fs::read_to_string(repo.around().join("runs")).unwrap();
    text.lines().map(str::to_owned).collect()
}

/// Each benchmark's status and the verdict of its first metric.
fn verdicts(object: &Value) -> BTreeMap<String, (String, Value)> {
    let of = |benchmark: &Value| {
        let text = |key: &str| benchmark[key].as_str().unwrap().to_owned();
        (text("name"), (text("status"), benchmark["metrics"][0]["verdict"].clone()))
    };
    object["benchmarks"].as_array().unwrap().iter().map(of).collect()
}

fn compared(verdict: &str) -> (String, Value) {
    ("compared".to_owned(), json!(verdict))
}

/// Rewrites the suite's library.
fn write_suite(repo: &Repo, format: &str, benchmarks: &[(&str, f64)]) {
    let text = format!(
        "pub const BENCHMARKS: &[(&str, f64)] = &{benchmarks:?};\n\
         pub const FORMAT: &str = {format:?};\n"
    );
    repo.write("src/lib.rs", &text);
    repo.commit("rewrite the suite");
}

const SAME: [(&str, f64); 3] = [("inner::first", 100.0), ("second", 2000.0), ("third", 30.0)];

#[test]
fn each_event_is_a_line_of_json_and_the_last_one_is_the_result() {
    let repo = suite();
    write_suite(&repo, "libtest", &[("inner::first", 100.0), ("second", 3000.0), ("third", 30.0)]);
    let samples = repo.around().join("out.csv");
    let args = "compare main --seed 3 --layouts off --message-format json";
    let args = format!("{args} --samples {}", samples.display());
    let ran = repo.cbdr(&args).env("RUNS", repo.around().join("runs")).run().code(100);
    let lines: Vec<Value> =
        ran.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let of = |reason: &str| -> Vec<&Value> {
        lines.iter().filter(|line| line["reason"] == reason).collect()
    };
    let result = lines.last().unwrap();
    assert_eq!((&result["reason"], &result["schema"]), (&json!("result"), &json!(2)));
    assert_eq!(result["verdict"], "regression");
    assert_eq!(lines[0]["reason"], "sides");
    for side in ["base", "head"] {
        assert_eq!(lines[0][side]["commit"], result[side]["commit"]);
        assert!(of("building").iter().any(|line| line["side"] == side), "{}", ran.stdout);
    }
    assert!(of("prepared")[0]["seconds"].as_f64().unwrap() > 0.0);
    let sampling = of("sampling");
    assert_eq!(sampling[0]["benchmarks"], json!(["inner::first", "second", "third"]));
    assert_eq!((&sampling[0]["seed"], &sampling[0]["layouts"]), (&json!(3), &json!(false)));
    // Each benchmark's pairs are numbered, and there are as many as in the result.
    for benchmark in result["benchmarks"].as_array().unwrap() {
        let pairs = of("pair");
        let pairs = pairs.iter().filter(|pair| pair["benchmark"] == benchmark["name"]);
        let numbers: Vec<u64> = pairs.clone().map(|pair| pair["pair"].as_u64().unwrap()).collect();
        assert_eq!(numbers, (1..=benchmark["pairs"].as_u64().unwrap()).collect::<Vec<_>>());
        // The verdict came with a pair, once, and is that of the result.
        let verdicts = of("verdict");
        let found: Vec<_> =
            verdicts.iter().filter(|line| line["benchmark"] == benchmark["name"]).collect();
        let gate = benchmark["metrics"].as_array().unwrap();
        let gate = gate.iter().find(|metric| metric["gates"] == true).unwrap();
        assert_eq!(found.len(), 1, "{benchmark}");
        assert_eq!((&found[0]["verdict"], &found[0]["metric"]), (&gate["verdict"], &gate["name"]));
        assert_eq!((&found[0]["final"], &found[0]["pairs"]), (&json!(true), &benchmark["pairs"]));
        for end in ["change", "lower", "upper"] {
            assert_eq!(found[0][end], gate[end], "{end}");
        }
    }
    // The pairs are the samples, in their order.
    let csv = std::fs::read_to_string(samples).unwrap();
    let labels: Vec<&str> =
        csv.lines().skip(1).map(|line| line.split(',').next().unwrap()).collect();
    let pairs = of("pair");
    let expected: Vec<String> = pairs
        .iter()
        .flat_map(|pair| {
            let name = pair["benchmark"].as_str().unwrap();
            let (first, other) =
                if pair["first"] == "base" { ("base", "head") } else { ("head", "base") };
            [format!("{name}/{first}"), format!("{name}/{other}")]
        })
        .collect();
    let sorted = |mut labels: Vec<String>| {
        labels.sort();
        labels
    };
    // If a run measures several benchmarks, its rows are consecutive.
    assert_eq!(sorted(labels.iter().map(|label| (*label).to_owned()).collect()), sorted(expected));
    repo.cbdr("compare main --message-format json --format json").run().code(2);
}

#[test]
fn each_benchmark_of_a_suite_has_its_verdict_and_leaves_with_it() {
    let repo = suite();
    // The third is at its threshold and stays to the end.
    write_suite(&repo, "libtest", &[("inner::first", 100.0), ("second", 3000.0), ("third", 30.6)]);
    let ran = compare(&repo, "--max-pairs 40 --samples ../out.csv").run().code(100);
    let object = ran.says("Sampling 3 benchmarks in at least ").json();
    let expected = BTreeMap::from([
        ("inner::first".to_owned(), compared("no-regression")),
        ("second".to_owned(), compared("regression")),
        ("third".to_owned(), compared("inconclusive")),
    ]);
    assert_eq!(verdicts(&object), expected);
    let metrics = object["benchmarks"][1]["metrics"].as_array().unwrap();
    let names: Vec<&Value> = metrics.iter().map(|metric| &metric["name"]).collect();
    assert_eq!(names, ["wall_time"]);
    let base = metrics[0]["base"].as_f64().unwrap();
    assert!((2.0e-6..2.1e-6).contains(&base), "{base}");
    // A run of all of each side, some that show how long a process takes, and then a
    // benchmark at a time, both sides next to each other.
    let all = runs(&repo);
    assert_eq!((&*all[0], &*all[1]), ("--bench", "--bench"));
    let is_start_up = |run: &&String| run.starts_with("--bench --exact no benchmark");
    let start_ups = all[2..].iter().take_while(is_start_up).count();
    assert!(start_ups >= 2 && start_ups % 2 == 0, "{start_ups}");
    let runs = &all[2 + start_ups..];
    let pairs = object["benchmarks"].as_array().unwrap().iter();
    let pairs: u64 = pairs.map(|benchmark| benchmark["pairs"].as_u64().unwrap()).sum();
    assert_eq!(runs.len() as u64, 2 * pairs);
    let names = ["inner::first", "second", "third"].map(|name| format!("--bench --exact {name}"));
    assert!(runs.chunks(2).all(|pair| pair[0] == pair[1] && names.contains(&pair[0])));
    let in_turn: Vec<&String> = runs.iter().step_by(2).take(6).collect();
    assert_eq!(in_turn, names.iter().cycle().take(6).collect::<Vec<_>>());
    assert_eq!(runs.last(), Some(&names[2]));
    // The samples give the same verdicts after the same pairs.
    let path = repo.around().join("out.csv").display().to_string();
    let ran = repo.cbdr("analyze --threshold 2% --format json").args([&path]).run().code(100);
    let pairs = |object: &Value| -> Vec<Value> {
        let benchmarks = object["benchmarks"].as_array().unwrap();
        benchmarks.iter().map(|benchmark| benchmark["pairs"].clone()).collect()
    };
    assert_eq!((verdicts(&ran.json()), pairs(&ran.json())), (expected, pairs(&object)));
    // Arguments of the user's own may select, so all stays.
    let args = "--max-pairs 20";
    compare(&repo, args).args(["--", "--nocapture"]).run().code(100);
    assert!(self::runs(&repo).iter().all(|run| run == "--nocapture --bench"));
}

/// The lengths of the runs of each benchmark of a divan suite, without repetitions.
fn times(runs: &[String]) -> BTreeMap<String, Vec<String>> {
    let mut times: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for run in runs.iter().filter(|run| !run.contains("no benchmark")) {
        let words: Vec<&str> = run.split(' ').collect();
        let value = |flag: &str| -> f64 {
            let place = words.iter().position(|word| *word == flag).unwrap();
            words[place + 1].parse().unwrap()
        };
        // With as many samples as it is long, a short run has time for disturbances.
        let disturbed = if value("--sample-count") < 50_000.0 { 1000.0 } else { 1.0 };
        let time = (value("--max-time") / disturbed).to_string();
        let times = times.entry((*words.last().unwrap()).to_owned()).or_default();
        if times.last() != Some(&time) {
            times.push(time);
        }
    }
    times
}

#[test]
fn the_length_of_runs_is_found_out_for_each_benchmark_and_known_from_then_on() {
    let repo = suite();
    let slower = |factor: f64| [("quiet", 100.0), ("noisy", factor * 200.0)];
    write_suite(&repo, "divan", &slower(1.0));
    repo.branch("next");
    write_suite(&repo, "divan", &slower(1.3));
    let compare = |args: &str| {
        let runs = repo.around().join("runs");
        let _ = std::fs::remove_file(&runs);
        let args = format!("compare feature --harness divan --seed 3 --layouts off {args}");
        repo.cbdr(&args).env("RUNS", runs).run()
    };
    let ran = compare("--format json -v --samples ../out.csv").code(100);
    let ran = ran.says("Measuring suite::quiet for 1ms a run, ");
    let first = ran.says("Measuring suite::noisy for ").json();
    let benchmarks = first["benchmarks"].as_array().unwrap();
    let length = |number: usize| benchmarks[number]["measurement_time"].as_f64().unwrap();
    assert_eq!(length(0), 0.001);
    // On a machine that does other things, too, not always the longest one.
    assert!(length(1) >= 0.01, "{}", length(1));
    // The median of a run decides if no metric is named.
    let gating = |benchmark: &Value| {
        let metrics = benchmark["metrics"].as_array().unwrap().iter();
        metrics.filter(|one| one["gates"] == true).map(|one| one["name"].clone()).collect()
    };
    assert!(benchmarks.iter().map(gating).all(|names: Vec<Value>| names == ["median_time"]));
    let tried = times(&runs(&repo)[2..]);
    // In the end, what has passed runs as long as the time limit allows.
    assert_eq!(tried["suite::quiet"], ["0.001", "0.5"]);
    assert_eq!(tried["suite::noisy"][..3], ["0.001", "0.003", "0.01"]);
    // The pairs with which lengths are tried are pairs like all others, in the samples, too.
    let mut short = runs(&repo);
    short.drain(..2);
    short.retain(|run| run.ends_with("suite::quiet") && run.contains("--max-time 1 "));
    let pairs = |object: &Value| {
        let benchmarks = object["benchmarks"].as_array().unwrap();
        benchmarks.iter().map(|one| one["pairs"].as_u64().unwrap()).collect::<Vec<_>>()
    };
    assert_eq!(short.len() as u64, 2 * pairs(&first)[0]);
    let path = repo.around().join("out.csv").display().to_string();
    let analyze = repo.cbdr("analyze --threshold 2% --metric median_time --format json");
    let analyzed = analyze.args([&path]).run().code(100).json();
    assert_eq!((verdicts(&analyzed), pairs(&analyzed)), (verdicts(&first), pairs(&first)));
    // The next comparison of the same executables tries nothing.
    compare("--format json").code(100);
    let known = times(&runs(&repo)[2..]);
    assert_eq!(known["suite::quiet"], ["0.001", "0.5"]);
    assert_eq!(known["suite::noisy"], [length(1).to_string()]);
    // A time of the user's own is that of all runs.
    let ran = compare("--format json --max-pairs 20 -- --max-time 0.5").code(100);
    assert_eq!(ran.json()["benchmarks"][0]["measurement_time"], Value::Null);
    assert!(runs(&repo).iter().all(|run| run.contains("--max-time 0.5 --bench")));
}

#[test]
fn short_benchmarks_of_divan_are_not_measured_in_steps_of_the_clock() {
    let repo = suite();
    // 30 and 40 ns by a clock with steps of 10 ns.
    write_suite(&repo, "divan", &[("coarse", 34.5), ("long", 20_000.0)]);
    repo.branch("next");
    write_suite(&repo, "divan", &[("coarse", 35.0), ("long", 20_000.0)]);
    let args = "compare feature --harness divan --seed 3 --layouts off --format json";
    let compare = || repo.cbdr(args).env("RUNS", repo.around().join("runs"));
    let gating = |object: &Value, number: usize| {
        let metrics = object["benchmarks"][number]["metrics"].as_array().unwrap();
        metrics.iter().find(|metric| metric["gates"] == true).unwrap().clone()
    };
    let object = compare().run().code(0).json();
    for number in [0, 1] {
        assert_eq!(gating(&object, number)["verdict"], "no-regression");
    }
    let change = gating(&object, 0)["change"].as_f64().unwrap();
    assert!((0.01..0.02).contains(&change), "{change}");
    // The same for both sides in each run, only where it is needed, and also in a warm start.
    compare().run().code(0);
    let runs = runs(&repo);
    let of = |name: &str| {
        let own = runs.iter().filter(|run| run.ends_with(&format!("--exact suite::{name}")));
        own.cloned().collect::<Vec<_>>()
    };
    assert!(of("coarse").iter().all(|run| run.contains("--sample-size 256 ")), "{runs:#?}");
    assert!(of("long").iter().all(|run| !run.contains("--sample-size")), "{runs:#?}");
    // What the user says counts.
    let set = compare().env("DIVAN_SAMPLE_SIZE", "1").run().code(100).json();
    assert_eq!(gating(&set, 0)["verdict"], "regression");
}

#[test]
fn lengths_that_were_not_tried_are_tried_by_the_next_comparison() {
    let repo = suite();
    write_suite(&repo, "divan", &[("quiet", 100.0), ("noisy", 200.0)]);
    repo.branch("next");
    write_suite(&repo, "divan", &[("quiet", 100.0), ("noisy", 260.0)]);
    let compare = |limit: &str| {
        // What is printed depends on the number of runs in it.
        let file = repo.around().join("runs");
        let _ = std::fs::remove_file(&file);
        let args = "compare feature --harness divan --seed 3 --layouts off --time-limit";
        repo.cbdr(args).args([limit]).env("RUNS", file).run()
    };
    // Only the first benchmark is tried in a tenth of this time, whether or not what follows
    // fits it.
    compare("30ms");
    compare("5m").code(100);
    let tried = times(&runs(&repo)[2..]);
    assert_eq!(tried["suite::noisy"][..3], ["0.001", "0.003", "0.01"]);
}

#[test]
fn times_of_a_quieter_hour_do_not_fill_the_limit_with_what_can_not_be_decided() {
    let repo = suite();
    let all = ["a", "b", "c", "d", "e", "f", "g", "h"];
    write_suite(&repo, "divan", &all.map(|name| (name, 100.0)));
    repo.branch("next");
    write_suite(&repo, "divan", &all.map(|name| (name, 130.0)));
    let args = "compare feature --harness divan --seed 3 --layouts off --format json --time-limit";
    let compare = |limit: &str, slowly: &str| {
        let compare = repo.cbdr(args).args([limit]).env("RUNS", repo.around().join("runs"));
        compare.env("SLOWLY", slowly).run().code(100).json()
    };
    let measured = |object: &Value| {
        let all = object["benchmarks"].as_array().unwrap().iter();
        all.filter(|one| one["status"] == "compared").count()
    };
    assert_eq!(measured(&compare("5m", "6")), 8);
    // Then the machine is busy: the least number of pairs takes 6 s.
    let busy = compare("3s", "40");
    assert!((1..8).contains(&measured(&busy)), "{busy}");
}

#[test]
fn what_is_slower_in_longer_runs_only_does_not_pass() {
    let repo = suite();
    let evicting = |time: f64| [("cache", 100.0), ("evict", time), ("quiet", 100.0)];
    write_suite(&repo, "divan", &evicting(130.0));
    repo.branch("next");
    write_suite(&repo, "divan", &evicting(390.0));
    // The part that evicts is no benchmark of interest.
    let args = "compare feature --harness divan --seed 3 --layouts off --filter cache";
    let compare = |args: &str| {
        let cbdr = repo.cbdr(args).env("RUNS", repo.around().join("runs"));
        cbdr.args(["--samples", "../out.csv"]).run()
    };
    let said = "`median_time` of `suite::cache`: ";
    let in_format = |format: &str| {
        let ran = compare(&format!("{args} --explain=never --format {format}")).code(100);
        let ran = ran.says(said).says("in runs of 1ms, but +").says("in runs of 500ms");
        let is_printed = ran.stdout.contains("in runs of 500ms");
        assert!(is_printed || format == "human", "{format}: {}", ran.stdout);
        ran
    };
    for format in ["human", "markdown"] {
        in_format(format);
    }
    // What is beside the verdict has decided it.
    let object = in_format("json").json();
    let benchmark = &object["benchmarks"][0];
    assert_eq!(benchmark["measurement_time"], 0.5);
    let gate = benchmark["metrics"].as_array().unwrap().iter().find(|one| one["gates"] == true);
    let gate = gate.unwrap();
    assert!((1.9..2.1).contains(&gate["change"].as_f64().unwrap()), "{gate}");
    assert_eq!((&gate["verdict"], &gate["threshold"]), (&json!("regression"), &json!(0.02)));
    let rows = |name: &str| {
        let text = std::fs::read_to_string(repo.around().join(name)).unwrap();
        let is_labelled = |row: &&str| ["base,", "head,"].contains(&&row[..5]);
        text.lines().skip(1).filter(is_labelled).count() as u64
    };
    assert_eq!(rows("out.longer.csv"), 2 * benchmark["pairs"].as_u64().unwrap());
    // Without a difference, two pairs are enough.
    let rest = args.replace("cache", "quiet");
    let object = compare(&format!("{rest} --format json")).code(0).json();
    assert_eq!(object["benchmarks"][0]["measurement_time"], 0.001);
}

#[test]
fn what_an_old_divan_does_not_count_is_not_zero() {
    let repo = suite();
    let rows = r#"10 │ 10");
        if *name == "second" {
            println!("   alloc: │ │ │ │ │\n   2 │ 2 │ 2 │ 2 │ │\n   64 B │ 64 B │ 64 B │ 64 B │ │");
        }"#;
    repo.replace("benches/suite.rs", "10 │ 10\");", rows);
    write_suite(&repo, "divan", &SAME);
    repo.branch("next");
    write_suite(&repo, "divan", &[SAME[0], SAME[1], ("third", 30.01)]);
    let args = "compare feature --harness divan --metric allocations --seed 3 --format json";
    let ran = repo.cbdr(args).env("RUNS", repo.around().join("runs")).run().code(0).json();
    for benchmark in ran["benchmarks"].as_array().unwrap() {
        let value = |name: &str| {
            let mut metrics = benchmark["metrics"].as_array().unwrap().iter();
            metrics.find(|one| one["name"] == name).and_then(|one| one["head"].as_f64())
        };
        let (calls, bytes) =
            if benchmark["name"] == "suite::second" { (2.0, 64.0) } else { (0.0, 0.0) };
        assert_eq!([value("allocations"), value("allocated_bytes")], [Some(calls), Some(bytes)]);
        assert_eq!(value("peak_heap_bytes"), None, "{benchmark}");
    }
}

#[test]
fn runs_that_would_never_end_are_capped() {
    let repo = suite();
    write_suite(&repo, "divan", &[("inputs", 100.0), ("quiet", 100.0)]);
    repo.branch("next");
    write_suite(&repo, "divan", &[("inputs", 130.0), ("quiet", 100.0)]);
    let args = "compare feature --harness divan --seed 3 --layouts off --format json";
    let compare = || repo.cbdr(args).env("RUNS", repo.around().join("runs")).run().code(100);
    for _ in 0..2 {
        let benchmarks = compare().json()["benchmarks"].clone();
        let time = |number: usize| benchmarks[number]["measurement_time"].clone();
        assert_eq!((time(0), time(1)), (Value::Null, json!(0.001)));
        let verdict = |number: usize| benchmarks[number]["metrics"][1]["verdict"].clone();
        assert_eq!((verdict(0), verdict(1)), (json!("regression"), json!("no-regression")));
    }
    // One run of those that don't end is tried, and that is known from then on.
    let runs = runs(&repo);
    let skips = |run: &&String| run.ends_with("suite::inputs") && run.contains("time true");
    assert_eq!(runs.iter().filter(skips).count(), 1, "{runs:#?}");
}

/// Benchmarks with the command line of Criterion. Runs of all of them are counted, and do this.
fn listing(names: &[&str], all: &str) -> String {
    LISTING.replace("NAMES", &format!("{names:?}")).replace("ALL", all)
}

const LISTING: &str = r#"
fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let known = ["noise-threshold", "warm-up-time", "save-baseline", "discard-baseline"];
    std::hint::black_box((known, "measurement-time"));
    let names = NAMES;
    if args.iter().any(|arg| arg == "--list") {
        names.iter().for_each(|name| println!("{name}: benchmark\n"));
        return;
    }
    let filter = args.iter().find(|arg| arg.starts_with("^("));
    if filter.is_none() {
        let runs = std::fs::File::options().append(true).create(true).open(std::env::var("RUNS").unwrap());
        std::io::Write::write_all(&mut runs.unwrap(), b"all\n").unwrap();
        ALL
    }
    let is_chosen = |name: &str| filter.is_none_or(|filter| filter.contains(&format!("(?:{name})")));
    for name in names.iter().filter(|name| is_chosen(name)) {
        let time = if *name == "two" { steady::TIME } else { "10.000 ns" };
        println!("{name}  time:   [{time} {time} {time}]");
    }
}
"#;

/// A repository with this benchmark, whose `two` takes 10 ns on the base, and this time on the head.
fn with_times(bench: &str, head: &str) -> Repo {
    let repo = Repo::new("library");
    repo.write("benches/work.rs", bench);
    let write = |time: &str| {
        repo.write("src/lib.rs", &format!("pub const TIME: &str = {time:?};\n"));
        repo.commit("change the time");
    };
    write("10.000 ns");
    repo.branch("feature");
    write(head);
    repo
}

/// The same with the command line of libtest, whose list also has a benchmark that it ignores.
fn listing_as_libtest(names: &[&str], all: &str) -> String {
    let known = "let known = \"Exactly match filters rather than by substring\";";
    let lines: Vec<&str> = LISTING.lines().collect();
    let begin = lines.iter().position(|line| line.contains("let known")).unwrap();
    let list =
        "if args.iter().any(|arg| arg == \"--ignored\") { println!(\"left: benchmark\"); return; }
        println!(\"left: benchmark\");";
    let text = [&lines[..begin], &[known], &lines[begin + 1..]].concat().join("\n");
    text.replace("names.iter().for_each", &format!("{list} names.iter().for_each"))
        .replace("starts_with(\"^(\")", "starts_with(|one: char| one.is_alphabetic())")
        .replace("&format!(\"(?:{name})\")", "name")
        .replace(
            "{name}  time:   [{time} {time} {time}]",
            "test {name} ... bench: {time}/iter (+/- 0)",
        )
        .replace("NAMES", &format!("{names:?}"))
        .replace("ALL", all)
}

#[test]
fn where_all_benchmarks_together_take_too_long_they_are_listed() {
    let endless = "loop { std::thread::park(); }";
    let names = ["one", "two", "three"];
    side_by_side(&[listing(&names, endless), listing_as_libtest(&names, endless)], |bench| {
        let repo = with_times(bench, "13.000 ns");
        let args =
            "compare main --time-limit 10s --layouts off --measure-all --warmup 2 --format json";
        let compare = || repo.cbdr(args).env("RUNS", repo.around().join("runs"));
        let object = compare().run().code(100).json();
        // Not by both sides, and not in each unmeasured run.
        assert_eq!(runs(&repo), ["all"]);
        let expected =
            [("one", "no-regression"), ("three", "no-regression"), ("two", "regression")];
        let expected = expected.map(|(name, verdict)| (name.to_owned(), compared(verdict)));
        assert_eq!(verdicts(&object), BTreeMap::from(expected), "{object}");
    });
}

#[test]
fn guesses_that_were_too_low_do_not_choose_what_is_slow() {
    // The first of the list is the only one that is fast.
    let mut names = vec!["one".to_owned()];
    names.extend((0..23).map(|number| format!("n{number}")));
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let endless = "loop { std::thread::park(); }";
    let sleep = "let length = if *name == \"one\" { 100 } else { 20_000 };
        std::thread::sleep(std::time::Duration::from_millis(length));
        let time =";
    let bench = listing_as_libtest(&names, endless).replace("let time =", sleep);
    let repo = with_times(&bench, "13.000 ns");
    let args = "compare main --time-limit 10s --layouts off --measure-all --format json";
    let ran = repo.cbdr(args).env("RUNS", repo.around().join("runs")).run().code(0);
    let verdicts = verdicts(&ran.json());
    assert_eq!(verdicts["one"], compared("no-regression"));
    let is_left_out = |name: &&str| verdicts[*name].0 == "not-measured";
    assert!(names[1..].iter().all(is_left_out), "{verdicts:?}");
}

#[test]
fn what_whole_seconds_leave_undecided_names_the_version_with_shorter_runs() {
    // As before criterion 0.4. The head is by a factor of 1.2 above and below the threshold in turn,
    // in the order of Thue and Morse: of every second run, too, one half is above.
    let in_turn = r#"let time = if steady::TIME == "10.000 ns" { steady::TIME } else {
            let path = std::env::var("RUNS").unwrap() + ".head";
            let number = std::fs::read(&path).map_or(0, |runs| runs.len());
            std::fs::write(path, vec![b'.'; number + 1]).unwrap();
            if number.count_ones() % 2 == 1 { "12.240 ns" } else { "8.500 ns" }
        };
        println!("{name}  time:"#;
    let bench = listing(&["one"], "").replace(", \"discard-baseline\"", "");
    let repo = with_times(&bench.replace("println!(\"{name}  time:", in_turn), "in turn");
    let compare = |limits: &str| {
        let args = format!("compare main --layouts off --measure-all --format json {limits}");
        repo.cbdr(&args).env("RUNS", repo.around().join("runs")).run().code(0)
    };
    let notice =
        "each run of `work` repeats a benchmark for up to several seconds: with criterion 0.4 or";
    let ran = compare("--time-limit 2s");
    assert_eq!(ran.json()["verdict"], "inconclusive");
    ran.says(notice);
    let ran = compare("--threshold 50%");
    assert_eq!(ran.json()["verdict"], "no-regression");
    ran.never_says(notice);
}

#[test]
fn lists_show_whether_names_change_from_run_to_run() {
    let repo = Repo::new("library");
    repo.write("src/lib.rs", "pub const TIME: &str = \"10.000 ns\";\n");
    let write = |other: &str| {
        repo.write("benches/work.rs", &listing(&["two", other], ""));
        repo.commit("change a name");
    };
    write("gone/1");
    repo.branch("feature");
    write("new/2");
    let args = "compare main --layouts off --measure-all --max-pairs 14 --format json";
    let ran = repo.cbdr(args).env("RUNS", repo.around().join("runs")).run().code(0);
    ran.says("`new/2` is new").says("no longer has the benchmark `gone/1`");
    // The unmeasured run of each side.
    assert_eq!(runs(&repo), ["all", "all"]);
}

#[test]
fn a_benchmark_of_one_side_is_new_or_removed() {
    let repo = suite();
    write_suite(&repo, "libtest", &[("fourth", 1.0), ("second", 2000.0)]);
    let ran = compare(&repo, "").run().code(0);
    let ran = ran.says("`fourth` is new: the base does not have it");
    let object = ran
        .says(
            "the head no longer has the benchmarks `inner::first` and `third`, which could fail this check",
        )
        .json();
    let expected = BTreeMap::from([
        ("fourth".to_owned(), ("new".to_owned(), Value::Null)),
        ("inner::first".to_owned(), ("removed".to_owned(), Value::Null)),
        ("second".to_owned(), compared("no-regression")),
        ("third".to_owned(), ("removed".to_owned(), Value::Null)),
    ]);
    assert_eq!(verdicts(&object), expected);
    // What can't be compared is not run any more.
    let runs_of = |repo: &Repo| -> Vec<String> {
        let runs_nothing = |run: &&String| run.contains("--list") || run.contains("no benchmark");
        runs(repo)[2..].iter().filter(|run| !runs_nothing(run)).cloned().collect()
    };
    assert!(runs_of(&repo).iter().all(|run| run == "--bench --exact second"));
    write_suite(&repo, "libtest", &[("fifth", 1.0)]);
    let object = compare(&repo, "").run().code(0).json();
    assert_eq!((&object["verdict"], runs(&repo).len()), (&json!("no-baseline"), 2));
    compare(&repo, "--fail-on no-baseline").run().code(102);
    write_suite(&repo, "libtest", &[]);
    let ran = compare(&repo, "").run().code(101);
    ran.says(
        "error: the head of `suite` reports no benchmark (harness libtest)\nhint: mark its \
         functions with `#[bench]`",
    );
}

#[test]
fn a_filter_passes_on_to_the_harness() {
    let repo = suite();
    write_suite(&repo, "libtest", &[("inner::first", 200.0), ("second", 2001.0)]);
    let object = compare(&repo, "--filter sec").run().code(0).json();
    let expected = BTreeMap::from([("second".to_owned(), compared("no-regression"))]);
    assert_eq!(verdicts(&object), expected);
    let runs = runs(&repo);
    let mut with_benchmarks = runs.iter().filter(|run| !run.contains("no benchmark"));
    assert!(with_benchmarks.all(|run| run == "--bench sec"), "{runs:?}");
    let ran = compare(&repo, "--filter zzz").run().code(101);
    ran.says("`suite` reports no benchmark").says("hint: no name matches the filter `zzz`");
    let ran = compare(&repo, "--filter sec --harness plain").run().code(101);
    ran.says("error: no benchmark here can be filtered (`--filter sec`)");
}

#[test]
fn a_metric_of_the_users_own_has_a_unit_and_a_direction() {
    let repo = Repo::new("suite");
    let table = "\n[package.metadata.cbdr]\nharness = \"json\"\nmetrics = [\"rate\"]\n\
                 units.rate = { unit = \"B/s\", better = \"higher\" }\nunits.x = { unit = \"y\" }\n";
    let manifest = std::fs::read_to_string(repo.path().join("Cargo.toml")).unwrap();
    repo.write("Cargo.toml", &format!("{manifest}{table}"));
    write_suite(&repo, "flat", &SAME);
    repo.branch("feature");
    // Twice the time, so half of the rate.
    write_suite(&repo, "file", &SAME.map(|(name, time)| (name, 2.0 * time)));
    let path = repo.around().join("out.csv");
    let ran = compare(&repo, &format!("--samples {}", path.display())).run().code(100);
    let object = ran.says("a unit is set for `x`, but no benchmark measures it").json();
    let metrics = object["benchmarks"][0]["metrics"].as_array().unwrap();
    let of = |name: &str| metrics.iter().find(|metric| metric["name"] == name).unwrap();
    let rate = of("rate");
    assert_eq!((&rate["unit"], &rate["better"]), (&json!("B/s"), &json!("higher")));
    assert!((-0.52..-0.48).contains(&rate["change"].as_f64().unwrap()), "{rate}");
    // What it prints wins over what is measured, which is there, too.
    assert_eq!((&of("wall_time")["base"], &of("max_rss")["unit"]), (&json!(0.5), &json!("B")));
    // The samples know their units.
    let analyze = |more: &str| {
        let args = format!("analyze {} --metric rate --threshold 2% {more}", path.display());
        repo.cbdr(&args).run().code(100)
    };
    let object = analyze("--format json").json();
    let metrics = object["benchmarks"][0]["metrics"].as_array().unwrap();
    let rate = metrics.iter().find(|metric| metric["name"] == "rate").unwrap();
    assert_eq!((&rate["unit"], &rate["better"]), (&json!("B/s"), &json!("higher")));
    let said = "a threshold of 2% allows 1.96%";
    let human = analyze("").stdout;
    assert!(human.contains(" KiB/s") && human.contains("rate of head is "), "{human}");
    assert!(human.contains(said) && human.contains("threshold -1.96%"), "{human}");
    // In every format the limit is a fall.
    for (format, pieces) in [
        ("human", ["rate of suite is ", said, "suite: ", "threshold -1.96%"]),
        ("markdown", ["rate of suite is ", said, "| -1.96% | **regression** |", "┃"]),
        ("github", ["rate of suite is ", "threshold -1.96%25", "", ""]),
        ("junit", ["`rate` of `suite` changed by -", "threshold -1.96%", "", ""]),
    ] {
        let args =
            "compare main --seed 3 --layouts off --explain=never --report ../page.html --format";
        let call = repo.cbdr(args).args([format]);
        let ran = call.env("RUNS", repo.around().join("runs")).run().code(100);
        for piece in pieces {
            assert!(ran.stdout.contains(piece), "{format} {piece}: {}", ran.stdout);
        }
        for wrong in ["threshold +2%", "| +2% |", "allowed 2%"] {
            assert!(!ran.stdout.contains(wrong), "{format}: {}", ran.stdout);
        }
        let page = std::fs::read_to_string(repo.around().join("page.html")).unwrap();
        let limit = "<th scope=\"row\">threshold</th><td class=\"number\">-1.96%</td>";
        assert!(page.contains(said) && page.contains(limit), "{format}: {page}");
    }
}

/// A comparison of a script that prints JSON; `of(side)` are its lines.
fn script(base: &str, head: &str, args: &[&str]) -> (Repo, Ran) {
    let repo = Repo::new("steady");
    let count = "n=$(cat \"$RUNS\" 2>/dev/null || echo 0); n=$((n + 1)); echo $n > \"$RUNS\"\n";
    repo.write("bench.sh", &format!("{count}{base}"));
    repo.commit("a script");
    repo.branch("feature");
    repo.write("bench.sh", &format!("{count}{head}"));
    repo.commit("another script");
    let common = ["--command", "sh bench.sh", "--harness", "json"];
    let ran = compare(&repo, "").args(common).args(args).run();
    (repo, ran)
}

#[test]
fn a_script_prints_benchmarks_as_nested_json() {
    let print = |parse: &str| {
        format!(
            "echo '{{\"parse\": {{\"wall_time\": '{parse}$((n % 7))'}}, \"print\": {{\"steps\": 9,}},}}'"
        )
    };
    let (repo, ran) = script(&print("0.0"), &print("0.1"), &["--samples", "../out.csv"]);
    let object = ran.code(100).json();
    let expected = BTreeMap::from([
        ("parse".to_owned(), compared("regression")),
        ("print".to_owned(), compared("no-regression")),
    ]);
    assert_eq!(verdicts(&object), expected);
    assert_eq!(object["benchmarks"][1]["metrics"][0]["name"], "steps");
    let text = std::fs::read_to_string(repo.around().join("out.csv")).unwrap();
    let labels: Vec<&str> = text.lines().map(|line| line.split(',').next().unwrap()).collect();
    assert_eq!(text.lines().next(), Some("benchmark,wall_time,steps"));
    let (first, second) =
        (labels[1].rsplit_once('/').unwrap(), labels[3].rsplit_once('/').unwrap());
    assert_eq!((first.0, second.0, labels[2]), ("parse", "parse", &*format!("print/{}", first.1)));
    assert_ne!(first.1, second.1);
}

#[test]
fn output_that_is_no_report_is_a_clear_error() {
    let (_, ran) = script("echo '{\"a\": \"fast\"}'", "echo '{\"a\": 1}'", &[]);
    let ran = ran
        .code(101)
        .says("error: can't read what the base of `sh` reports as json: `sh bench.sh`");
    let ran = ran.says("Caused by:\n  the value of `a` is a string, not a finite number\n");
    let ran = ran.says("It printed:\n  {\"a\": \"fast\"}\n");
    ran.says("hint: print one JSON object and nothing else, or write it to the file that");
    let (_, ran) = script(
        "echo '{\"a\": 1, \"b\": 1}'",
        "echo '{\"a\": 1, \"b\": 1}' # ",
        &["--metric", "zzz"],
    );
    let ran = ran.code(101).says("error: no run of `sh` measured `zzz`\n");
    ran.says("hint: choose another metric: it measures wall_time, user_time, ").says(", a, b\n");
}

#[test]
fn what_a_later_run_lacks_is_an_error() {
    let once = "if [ $n -gt 6 ]; then echo '{\"x\": {\"a\": 1}}'; else echo '{\"x\": {\"a\": 1}, \"y\": {\"a\": 2}}'; fi";
    let (_, ran) = script(once, &format!("{once} # "), &["--threshold", "0%"]);
    let ran =
        ran.code(101).says("` does not report the benchmark `y`, although an earlier run did");
    ran.says("error: a run of the ");
    let once = "if [ $n -gt 6 ]; then echo '{\"b\": 1}'; else echo '{\"a\": 1, \"b\": 1}'; fi";
    let (_, ran) = script(once, &format!("{once} # "), &["--metric", "b", "--threshold", "0%"]);
    ran.code(101).says("does not report `a`, although an earlier run did");
    let negative = "echo '{\"a\": -1}'";
    let (_, ran) = script(negative, &format!("{negative} # "), &["--metric", "a"]);
    ran.code(101).says("`a` is -1, but a metric that gates can't be negative");
}

#[test]
fn a_metric_of_one_side_is_told_and_does_not_gate() {
    let (base, head) = ("echo '{\"b\": 1}'", "echo '{\"a\": '$n', \"b\": 1}'");
    let (_, ran) = script(base, head, &["--metric", "a"]);
    let object = ran.code(0).says("only the head of `sh` measures `a`").json();
    assert_eq!(object["verdict"], "no-baseline");
    // Who stops to measure does not pass by that.
    let (_, ran) = script(head, base, &["--metric", "a"]);
    let ran =
        ran.code(101).says("the head no longer measures `a` of `sh`, which could fail this check");
    ran.says("error: nothing is left to decide: the head no longer measures `a` of `sh`\n");
    // What neither side measures was never there.
    let (_, ran) = script(base, "echo '{\"b\": 2}'", &["--metric", "a"]);
    ran.code(101).says("error: no run of `sh` measured `a`\n");
}

#[test]
fn rusts_own_harness_without_benchmarks_is_no_fast_benchmark() {
    let repo = Repo::new("suite");
    repo.replace("Cargo.toml", "harness = false", "");
    repo.write(
        "benches/suite.rs",
        "#[path = \"../src/lib.rs\"]\nmod suite;\n\
         #[test]\nfn it() { assert_eq!(suite::FORMAT, \"libtest\") }\n",
    );
    repo.commit("tests only");
    repo.branch("feature");
    repo.write("src/lib.rs", "pub const FORMAT: &str = \"none\";\n");
    repo.commit("change");
    let ran = compare(&repo, "").run().code(101);
    ran.says("error: the head of `suite` reports no benchmark (harness libtest)")
        .says("needs `harness = false`");
}

#[test]
fn several_programs_put_their_names_before_those_of_their_benchmarks() {
    let repo = Repo::new("suite");
    let manifest = std::fs::read_to_string(repo.path().join("Cargo.toml")).unwrap();
    let tables = "\n[package.metadata.cbdr.benchmarks.all]\nbench = \"suite\"\n\
                  [package.metadata.cbdr.benchmarks.script]\ncommand = \"sh quick.sh\"\n\
                  harness = \"json\"\n";
    repo.write("Cargo.toml", &format!("{manifest}{tables}"));
    repo.write("quick.sh", "echo '{\"wall_time\": 1}'\n");
    repo.commit("a script, too");
    repo.branch("feature");
    write_suite(&repo, "libtest", &SAME.map(|(name, time)| (name, 1.3 * time)));
    let object = compare(&repo, "").run().code(100).json();
    let expected = BTreeMap::from([
        ("all/inner::first".to_owned(), compared("regression")),
        ("all/second".to_owned(), compared("regression")),
        ("all/third".to_owned(), compared("regression")),
        ("script".to_owned(), compared("no-regression")),
    ]);
    assert_eq!(verdicts(&object), expected);
    let call = repo.cbdr("compare main --layouts off");
    let human = call.env("RUNS", repo.around().join("runs")).run().code(100);
    assert!(
        human.stdout.starts_with("REGRESSION: 3 of 4 benchmarks are slower: all/"),
        "{human:?}"
    );
    let title = "\n4 benchmarks; median wall_time; threshold +2%\n";
    assert!(human.stdout.contains(title), "{human:?}");
}
