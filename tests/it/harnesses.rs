//! Harnesses that are detected in executables: what each reports, and the messages if
//! there is nothing to report or the sides differ.

use serde_json::{Value, json};

use crate::support::{Cbdr, Repo};

/// Writes the source of a bench target, with the library as its module `suite`.
fn write_bench(repo: &Repo, name: &str, source: &str) {
    let module = "#[path = \"../src/lib.rs\"]\nmod suite;\n";
    repo.write(&format!("benches/{name}.rs"), &format!("{module}{source}"));
}

/// A repository with a bench target of this source, on `main`.
fn repo(bench: &str) -> Repo {
    let repo = Repo::new("suite");
    write_bench(&repo, "suite", bench);
    repo.write("src/lib.rs", "pub const STEPS: f64 = 1.0;\n");
    repo.commit("a benchmark");
    repo
}

/// A change on a branch: half as much again.
fn slower(repo: &Repo) {
    repo.branch("feature");
    repo.write("src/lib.rs", "pub const STEPS: f64 = 1.5;\n");
    repo.commit("slower");
}

fn compare(repo: &Repo, args: &str) -> Cbdr {
    let cbdr = repo.cbdr(&format!("compare main --seed 3 --layouts off {args}"));
    cbdr.env("RUNS", repo.around().join("runs"))
}

/// The arguments of the runs so far.
fn runs(repo: &Repo) -> Vec<String> {
    let text = std::fs::read_to_string(repo.around().join("runs")).unwrap();
    text.lines().map(str::to_owned).collect()
}

/// The beginning of benchmarks that keep the arguments of their runs, and have a little noise.
const RECORDED: &str = r#"
fn recorded() -> (Vec<String>, f64) {
    use std::io::Write;
    let args: Vec<String> = std::env::args().skip(1).collect();
    let path = std::env::var_os("RUNS").unwrap();
    let earlier = std::fs::read_to_string(&path).unwrap_or_default();
    let runs = earlier.lines().filter(|run| !run.contains("no benchmark")).count();
    let mut file = std::fs::File::options().create(true).append(true).open(path).unwrap();
    writeln!(file, "{}", args.join(" ")).unwrap();
    (args, 1.0 + 0.001 * ((runs * runs * 7919) % 13) as f64)
}
"#;

/// Prints and takes arguments as bencher does.
const BENCHER: &str = r#"
fn main() {
    let (args, noise) = recorded();
    let filter = args.iter().find(|arg| *arg != "--bench").cloned().unwrap_or_default();
    let all = [("parse_long", 1000.0 * suite::STEPS), ("parse_short", 30.0), ("print", 5000.0)];
    let chosen: Vec<_> = all.into_iter().filter(|(name, _)| name.contains(&filter)).collect();
    println!("\nrunning {} tests", chosen.len());
    for (name, time) in &chosen {
        println!("test {name:<11} ... bench: {:>11} ns/iter (+/- {})", (time * noise) as u64, 4);
    }
    let failed = args.len() / 1000;
    print!("\ntest result: ok. {failed} passed; {failed} failed; {failed} ignored; ");
    print!("{} measured\n\n", chosen.len());
}
"#;

/// A library of the name of bencher's, in the repository.
fn write_library(repo: &Repo, version: &str) {
    repo.write("bencher/src/lib.rs", "");
    let about = format!("[package]\nname = \"bencher\"\nversion = \"{version}\"\n");
    repo.write("bencher/Cargo.toml", &format!("{about}edition = \"2021\"\n"));
    let lock = format!(
        "version = 4\n\n[[package]]\nname = \"bencher\"\nversion = \"{version}\"\n\n\
         [[package]]\nname = \"suite\"\nversion = \"0.1.0\"\ndependencies = [\n \"bencher\",\n]\n"
    );
    repo.write("Cargo.lock", &lock);
}

fn verdict<'a>(object: &'a Value, benchmark: &str) -> &'a Value {
    let all = object["benchmarks"].as_array().unwrap();
    let one = all.iter().find(|one| one["name"] == benchmark).unwrap();
    &one["metrics"][0]["verdict"]
}

#[test]
fn benchers_suites_are_read_and_their_version_is_named() {
    let repo = repo(&format!("{RECORDED}{BENCHER}"));
    let manifest = std::fs::read_to_string(repo.path().join("Cargo.toml")).unwrap();
    let manifest = format!("{manifest}\n[dev-dependencies]\nbencher = {{ path = \"bencher\" }}\n");
    repo.write("Cargo.toml", &manifest);
    write_library(&repo, "0.1.4");
    repo.commit("a library");
    slower(&repo);
    let ran = compare(&repo, "--format json").run().code(100);
    let coarse = "bencher reports whole nanoseconds, which is coarse for `parse_short` (one is 3.33% of \
        its time): slowdowns of less than that may be missed";
    let ran = ran.says(coarse).never_says("`parse_long` (one").never_says("the harness of");
    let object = ran.json();
    assert_eq!(verdict(&object, "parse_long"), &json!("regression"));
    assert_eq!(verdict(&object, "print"), &json!("no-regression"));
    // All at first; then each by itself, and some runs without any.
    let names = ["parse_long", "parse_short", "print", "no benchmark: how long"];
    let runs = runs(&repo);
    assert_eq!(&runs[..2], ["--bench", "--bench"]);
    let known = |run: &String| {
        let filter = run.strip_prefix("--bench ").unwrap_or_default();
        names.iter().any(|name| filter.starts_with(name))
    };
    assert!(runs[2..].iter().all(known), "{runs:?}");
    // Another version of the library may be what changed, which is reported as all notices are.
    write_library(&repo, "0.1.5");
    repo.commit("a newer library");
    let change = "`bencher`, the harness of `suite`, is 0.1.4 on the base and 0.1.5 on the head: \
                  a change may come from the harness";
    for format in ["human", "markdown"] {
        let ran = compare(&repo, &format!("--explain=never --format {format}")).run();
        let ran = ran.code(100).says(change);
        let is_printed = ran.stdout.contains("is 0.1.4 on the base and 0.1.5 on the head");
        // What people read goes with the progress.
        assert!(is_printed || format == "human", "{format}: {}", ran.stdout);
    }
    // Its own kind may have changed, too.
    write_bench(&repo, "suite", "fn main() { println!(\"{}\", suite::STEPS) }\n");
    repo.commit("no harness");
    let ran = compare(&repo, "").run();
    ran.says("the harness of `suite` is bencher on the base and plain on the head");
}

/// Hands its benchmarks to a runner, as gungraun's executables do, and is its own.
const GUNGRAUN: &str = r#"
fn main() {
    let (args, _) = recorded();
    let words = "--lib-bench--bin-bench";
    if std::env::var_os("NO_RUNNER").is_some() {
        eprintln!("Is gungraun-runner installed and gungraun-runner in your $PATH?. {words}");
        std::process::exit(1);
    }
    assert!(args.windows(2).any(|pair| pair == ["--output-format", "json"]));
    let home = std::env::var_os("GUNGRAUN_HOME").unwrap();
    assert!(!std::path::Path::new(&home).join("old").exists());
    std::fs::create_dir_all(&home).unwrap();
    std::fs::write(std::path::Path::new(&home).join("old"), "").unwrap();
    for (name, count) in [("long", 1000.0 * suite::STEPS), ("short", 10.0)] {
        if args.last().is_some_and(|last| last.starts_with("a::") && !last.ends_with(name)) {
            continue;
        }
        println!(
            "{{\"module_path\":\"a::b\",\"id\":\"{name}\",\"version\":\"7\",\"profiles\":[{{\
             \"tool\":\"Callgrind\",\"data\":{{\"total\":{{\"metrics\":{{\
             \"Ir\":{{\"values\":{{\"new\":{count}}}}},\
             \"RamHits\":{{\"values\":{{\"new\":3}}}}}}}}}}}}]}}"
        );
    }
}
"#;

#[test]
fn of_gungrauns_counts_the_instructions_decide() {
    let repo = repo(&format!("{RECORDED}{GUNGRAUN}"));
    slower(&repo);
    let object = compare(&repo, "--format json").run().code(100).json();
    assert_eq!(verdict(&object, "a::b::long"), &json!("regression"));
    assert_eq!(verdict(&object, "a::b::short"), &json!("no-regression"));
    let metrics = object["benchmarks"][0]["metrics"].as_array().unwrap();
    let of = |key: &str| metrics.iter().map(|metric| metric[key].clone()).collect::<Vec<_>>();
    assert_eq!(of("name"), ["instructions_cachegrind", "ram_hits_cachegrind"]);
    assert_eq!(of("unit"), ["count", "count"]);
    assert_eq!(of("gates"), [json!(true), json!(false)]);
    // What is decided is not simulated any more.
    assert!(runs(&repo).iter().any(|run| run.ends_with(" json a::b::long")));
    // Others decide where they are named.
    let args = "--format json --metric ram_hits_cachegrind";
    let object = compare(&repo, args).run().code(0).json();
    assert_eq!(object["verdict"], "no-regression");
    let ran = compare(&repo, "").env("NO_RUNNER", "1").run().code(101);
    ran.says("hint: the program that runs these benchmarks is missing: `cargo install gungraun-r");
}

#[test]
fn what_can_not_be_measured_by_its_process_is_said() {
    // Tango's executables only list their benchmarks.
    let tango = "\
fn main() {
    let words = \"Tango benchmarking harness Number of samples to take for each test\";
    println!(\"{words} {}\", suite::STEPS);
}
";
    let repo = repo(tango);
    slower(&repo);
    let ran = compare(&repo, "").run().code(101);
    let ran = ran.says("error: `suite` can't be measured: the results of tango can't be read");
    ran.says("hint: choose another target with `--bench`");
    // Beside others that can be measured it is left out, unless it is named.
    write_bench(&repo, "loop", "fn main() { println!(\"{}\", suite::STEPS) }\n");
    let tables = "\n[[bench]]\nname = \"loop\"\nharness = false\n";
    let manifest = std::fs::read_to_string(repo.path().join("Cargo.toml")).unwrap();
    repo.write("Cargo.toml", &format!("{manifest}{tables}"));
    repo.commit("another");
    let ran = compare(&repo, "--max-pairs 6 --threshold 900% --bench-from head").run();
    let ran = ran.says("`suite` is left out: the results of tango can't be read");
    ran.says("loop");
    let ran = compare(&repo, "--max-pairs 6 --threshold 900% --bench-from head --bench suite")
        .run()
        .code(101);
    ran.says("error: `suite` can't be measured: the results of tango can't be read");
    std::fs::remove_file(repo.path().join("benches/loop.rs")).unwrap();
    repo.write("Cargo.toml", &manifest);
    repo.commit("no other");
    // A loop that ends by the clock.
    let clocked = "\
// Not by an Instant alone.
fn main() {
    let start = std::time::Instant::now();
    while start.elapsed() < std::time::Duration::from_millis(2) {
        std::hint::black_box(suite::STEPS);
    }
}
";
    let doubt = "no harness is known for `suite`, so the whole process is measured; but the source \
                 measures times itself (`Instant` in benches/suite.rs)";
    write_bench(&repo, "suite", clocked);
    repo.commit("by the clock");
    let ran =
        compare(&repo, "--format json --max-pairs 6 --threshold 900% --bench-from head").run();
    let notices = ran.says(doubt).json()["notices"].to_string();
    assert!(notices.contains("measures times itself"), "{notices}");
    // With `--harness plain`, there is no warning.
    let args = "--max-pairs 6 --threshold 900% --bench-from head --harness plain";
    compare(&repo, args).run().never_says("measures times itself");
    // A workload is not suspected.
    let workload = "// No Instant.\nfn main() { println!(\"{}\", suite::STEPS) }\n";
    write_bench(&repo, "suite", workload);
    repo.commit("a workload");
    compare(&repo, "--max-pairs 6 --threshold 900% --bench-from head")
        .run()
        .never_says("measures times itself");
}
