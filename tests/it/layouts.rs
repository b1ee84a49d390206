//! A regression has to be one regardless of code placement: the executables as built are
//! tested first, and other layouts of them decide.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::support::{RELEASES, Ran, Repo, linker, linker_variable, metric};

/// A repository whose benchmark reports as its time what the head's source says: `built`
/// as it was built, `elsewhere` in other layouts; the base's is 1 ms everywhere. Noise
/// keeps the times from being equal; a hundred-thousandth of them changes no digit shown.
fn repo(built: &str, elsewhere: &str) -> Repo {
    let repo = Repo::new("steady");
    repo.write("benches/work.rs", &source("1e-3", "1e-3"));
    repo.commit("base");
    repo.branch("feature");
    repo.write("benches/work.rs", &source(built, elsewhere));
    repo.commit("head");
    repo
}

fn source(built: &str, elsewhere: &str) -> String {
    format!(
        "fn main() {{\n    \
             let built = !std::env::args().next().unwrap().ends_with(\".layout\");\n    \
             let clock = std::time::UNIX_EPOCH.elapsed().unwrap().subsec_nanos();\n    \
             let noise = 1.0 + f64::from(clock % 1000) * 1e-8;\n    \
             let time = if built {{ {built} }} else {{ {elsewhere} }};\n    \
             println!(\"{{{{\\\"place\\\": {{{{\\\"wall_time\\\": {{}}}}}}}}}}\", time * noise);\n\
         }}\n"
    )
}

/// Compares with so little confidence that a verdict takes few layouts, each of which is linked. What
/// is not the same differs by far more than the noise.
fn compare(repo: &Repo, args: &str) -> Ran {
    repo.cbdr(&format!("{CALL} {args}")).run()
}

const CALL: &str = "compare main --harness json --seed 5 --confidence 80%";

fn json(repo: &Repo, code: i32, args: &str) -> Value {
    compare(repo, &format!("--format json {args}")).code(code).json()
}

/// The layouts in which a time was tested.
fn layouts(object: &Value) -> Value {
    metric(object, "wall_time")["layouts"].clone()
}

fn change(result: &Value) -> f64 {
    result["change"].as_f64().unwrap()
}

#[test]
fn what_is_slower_only_as_built_is_no_regression_unless_layouts_are_off_or_it_is_a_shard() {
    let repo = repo("1.2e-3", "1e-3");
    let ran = compare(&repo, "--format json --samples ../out.csv").code(0);
    let ran =
        ran.says("in one layout").says("slower aligned (+20.0%").says("placement, not your change");
    let object = ran.json();
    assert_eq!(object["verdict"], "no-regression");
    let result = metric(&object, "wall_time");
    assert!((change(&result["as_built"]) - 0.2).abs() < 0.01, "{result}");
    assert_eq!(result["as_built"]["verdict"], "regression");
    assert!(change(result).abs() < 0.01, "{result}");
    let layouts = layouts(&object);
    assert!(layouts["number"].as_u64().unwrap() >= 6, "{layouts}");
    assert_eq!(layouts["placing"], "linked");
    // Each layout of a side has a row, in a file next to that of the runs as built.
    let rows = |name: &str| {
        let path = repo.around().join(name);
        std::fs::read_to_string(path).unwrap().lines().count() as u64 - 1
    };
    assert_eq!(rows("out.csv"), 2 * object["benchmarks"][0]["pairs"].as_u64().unwrap());
    assert_eq!(rows("out.layouts.csv"), 2 * layouts["number"].as_u64().unwrap());
    // Both call the sides the same.
    let rows = std::fs::read_to_string(repo.around().join("out.layouts.csv")).unwrap();
    assert!(rows.lines().skip(1).all(|row| ["base", "head"].contains(&&row[..4])), "{rows}");
    let analyzed =
        repo.cbdr("analyze ../out.layouts.csv --threshold 2% --confidence 80% --format json").run();
    assert_eq!(analyzed.code(0).json()["verdict"], "no-regression");
    // Nothing is left of the layouts.
    let left = walk(&repo.cached());
    let is_left = |path: &String| path.ends_with(".layout") || path.ends_with(".aligned");
    assert!(!left.iter().any(is_left), "{left:?}");
    for (code, args) in
        [(100, "--layouts off"), (0, "--shard 1/2 --max-pairs 20 --samples shard.csv")]
    {
        let object = json(&repo, code, args);
        assert_eq!(metric(&object, "wall_time")["layouts"], Value::Null, "{args}");
    }
}

#[test]
#[expect(clippy::print_stderr, reason = "a test that is skipped says so")]
fn a_static_executable_for_musl_is_linked_again() {
    const TARGET: &str = "x86_64-unknown-linux-musl";
    let repo = repo("1.2e-3", "1e-3");
    let libraries = Command::new("rustc")
        .args(["--print", "target-libdir", "--target", TARGET])
        .current_dir(repo.path())
        .output()
        .unwrap();
    let libraries = String::from_utf8(libraries.stdout).unwrap();
    if !Path::new(libraries.trim()).exists() {
        eprintln!("skipped: the standard library of {TARGET} is not installed (rustup target add)");
        return;
    }
    let call = repo.cbdr("compare main --harness json --seed 5 --format json");
    let object = call.env("CARGO_BUILD_TARGET", TARGET).run().code(0).json();
    assert!(walk(&repo.cached()).iter().any(|path| path.contains(TARGET)), "built for it");
    assert_eq!(layouts(&object)["placing"], "linked");
    assert_eq!(object["verdict"], "no-regression");
}

#[test]
fn what_looks_slower_for_long_is_asked_over_layouts_too() {
    // Uniform noise of 10 %, by the number of the run, and at its middle 1 % beyond the threshold.
    let built = "let path = std::env::var(\"RUNS\").unwrap();
        let runs = std::fs::read(&path).map_or(0, |text| text.len());
        std::fs::write(&path, vec![0; runs + 1]).unwrap();
        0.98e-3 * (1.0 + (runs * 617 % 997) as f64 * 1e-4)";
    let repo = repo(built, "1e-3");
    let call = repo.cbdr("compare main --harness json --seed 5 --format json");
    let object = call.env("RUNS", repo.around().join("runs")).run().code(0).json();
    assert_eq!(
        (&object["verdict"], &object["stopped_by"]),
        (&"no-regression".into(), &"verdict".into())
    );
    assert!(change(metric(&object, "wall_time")).abs() < 0.01, "{object}");
    assert!(object["benchmarks"][0]["pairs"].as_u64().unwrap() < 600, "{object}");
}

/// All files below a folder.
fn walk(folder: &std::path::Path) -> Vec<String> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let entry = entry.unwrap();
        match entry.file_type().unwrap().is_dir() {
            true => found.extend(walk(&entry.path())),
            false => found.push(entry.path().display().to_string()),
        }
    }
    found
}

#[test]
fn what_is_slower_everywhere_is_a_regression_over_layouts_whatever_release_built_it() {
    let repo = repo("1.5e-3", "1.2e-3").with(RELEASES[0]);
    let ran = compare(&repo, "--message-format json").code(100);
    let lines: Vec<Value> =
        ran.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let object = lines.last().unwrap();
    let result = metric(object, "wall_time");
    assert!((change(&result["as_built"]) - 0.5).abs() < 0.01, "{result}");
    assert!((change(result) - 0.2).abs() < 0.01, "{object}");
    assert_eq!(layouts(object)["placing"], "linked");
    // The time of the events goes on when layouts are measured.
    let pairs: Vec<&Value> = lines.iter().filter(|line| line["reason"] == "pair").collect();
    let over = pairs.iter().filter(|pair| pair["layouts"] == true).count();
    assert!(over > 0 && over < pairs.len());
    let seconds = |pair: &&Value| -> f64 { pair["elapsed_seconds"].as_f64().unwrap() };
    assert!(pairs.iter().map(seconds).is_sorted(), "{pairs:?}");
    let whole = object["elapsed_seconds"].as_f64().unwrap();
    assert!(pairs.iter().map(seconds).next_back().unwrap() <= whole);
    let said = compare(&repo.with(RELEASES[1]), "").code(100);
    assert!(said.stdout.contains(" is 20.0% slower than main, at least "), "{}", said.stdout);
    said.says(" layouts\n").never_says("can't be linked");
}

#[test]
fn the_alarms_of_a_program_are_tested_in_the_same_layouts() {
    let repo = Repo::new("steady");
    let log = repo.around().join("layouts");
    // Its distance to another function tells in which layout a function is.
    let source = |slower: f64| {
        format!(
            r#"
#[inline(never)]
fn far(x: usize) -> String {{
    format!("{{x:?}}")
}}
fn main() {{
    let args: Vec<String> = std::env::args().collect();
    let in_layout = args[0].ends_with(".layout");
    if in_layout {{
        let [here, there] = [main as fn() as usize, far as fn(usize) -> String as usize];
        let mut log = std::fs::File::options().append(true).create(true).open({log:?}).unwrap();
        std::io::Write::write_all(&mut log, format!("{{}}\n", here.wrapping_sub(there)).as_bytes()).unwrap();
    }}
    let clock = std::time::UNIX_EPOCH.elapsed().unwrap().subsec_nanos();
    let noise = 1.0 + f64::from(clock % 1000) * 1e-8;
    let [one, two] = [{slower:?}, 1.0 + ({slower:?} - 1.0) / 2.0].map(|of| {{
        1e-3 * noise * if in_layout && {slower:?} > 1.0 {{ 1.0 + of / 10.0 }} else {{ of }}
    }});
    println!("{{{{\"one\": {{{{\"wall_time\": {{one}}}}}}, \"two\": {{{{\"wall_time\": {{two}}}}}}}}}}{{}}",
        if args.len() > 99 {{ far(args.len()) }} else {{ String::new() }});
}}
"#
        )
    };
    repo.write("benches/work.rs", &source(1.0));
    repo.commit("base");
    repo.branch("feature");
    repo.write("benches/work.rs", &source(1.5));
    repo.commit("head");
    let object = json(&repo, 100, "");
    let number = |at: usize| {
        object["benchmarks"][at]["metrics"][0]["layouts"]["number"].as_u64().unwrap() as usize
    };
    let text = std::fs::read_to_string(&log).unwrap();
    let all: std::collections::HashSet<&str> = text.lines().collect();
    let (of_one, of_two) = (number(0), number(1));
    assert!(of_one.min(of_two) > 3, "{object}");
    assert_eq!(all.len(), 2 * of_one.max(of_two), "{text}");
}

#[test]
fn layouts_can_be_asked_from_the_beginning() {
    // A slowdown that the placement of the head hides.
    let repo = repo("1e-3", "1.1e-3");
    let object = json(&repo, 0, "");
    assert_eq!(layouts(&object), Value::Null);
    let object = json(&repo, 100, "--layouts 24");
    let layouts = layouts(&object);
    assert_eq!(metric(&object, "wall_time")["as_built"]["verdict"], "no-regression");
    assert!(layouts["number"].as_u64().unwrap() <= 24, "{layouts}");
    // What would stay open as built has its verdict over layouts.
    repo.write("benches/work.rs", &source("1.02e-3", "1.1e-3"));
    repo.commit("at the threshold");
    let object = json(&repo, 100, "--layouts 24 --max-pairs 20");
    assert_eq!(object["stopped_by"], "verdict");
    // Two layouts give no verdict, but sizes need none, which are known later.
    compare(&repo, "--layouts 2").code(2).says("raise `layouts` to at least 4");
    let ran = compare(&repo, "--layouts 2 --metric wall_time,executable_bytes");
    ran.code(101).says("no verdict is possible over 2 layouts: at least ");
    compare(&repo, "--layouts 0").code(2).says("it must be `auto`, `off` or a number");
}

#[test]
fn the_base_decides_whether_layouts_count() {
    let repo = repo("1.2e-3", "1e-3");
    let manifest = std::fs::read_to_string(repo.path().join("Cargo.toml")).unwrap();
    repo.git(&["checkout", "--quiet", "main"]);
    repo.write("Cargo.toml", &format!("{manifest}\n[package.metadata.cbdr]\nlayouts = \"off\"\n"));
    repo.commit("off");
    repo.git(&["checkout", "--quiet", "feature"]);
    repo.git(&["merge", "--quiet", "--no-edit", "main"]);
    repo.replace("Cargo.toml", "layouts = \"off\"", "layouts = \"auto\"");
    repo.commit("auto");
    compare(&repo, "").code(100).says("`layouts`");
}

#[test]
fn an_alarm_of_the_suite_of_several_machines_is_tested_over_layouts() {
    let repo = repo("1e-3", "1e-3");
    repo.git(&["checkout", "--quiet", "main"]);
    let manifest = std::fs::read_to_string(repo.path().join("Cargo.toml")).unwrap();
    let other = "\n[[bench]]\nname = \"other\"\nharness = false\n";
    repo.write("Cargo.toml", &format!("{manifest}{other}"));
    repo.write("benches/other.rs", &source("1e-3", "1e-3"));
    repo.commit("another");
    repo.git(&["checkout", "--quiet", "feature"]);
    repo.git(&["merge", "--quiet", "--no-edit", "main"]);
    let number = |object: Value| {
        assert_eq!(object["benchmarks"].as_array().unwrap().len(), 2, "{object}");
        let number = object["suite"]["numbers"][0]["metrics"][0].clone();
        assert_eq!(object["verdict"], number["verdict"]);
        number
    };
    // The first program is slower by a fifth as built.
    let cases = [
        ("1e-3", ["1.2e-3", "1e-3"], "no-regression", false),
        // A machine on which nothing is slower has nothing to measure again.
        ("1.2e-3", ["1.001e-3", "1e-3"], "regression", true),
    ];
    for (place, (first_elsewhere, second, verdict, is_partly_as_built)) in cases.iter().enumerate()
    {
        repo.write("benches/work.rs", &source("1.2e-3", first_elsewhere));
        repo.write("benches/other.rs", &source(second[0], second[1]));
        repo.commit("slower");
        let gate = "--threshold 90% --suite geomean=5%";
        let samples = repo.around().join(format!("samples-{place}"));
        std::fs::create_dir(&samples).unwrap();
        for shard in 1..=2 {
            let file = samples.join(format!("{shard}.csv"));
            compare(&repo, &format!("{gate} --shard {shard}/2 --samples {}", file.display()))
                .code(0);
        }
        let combined = format!("analyze --combine {} --format json", samples.display());
        let combined = repo.cbdr(&combined).run().json();
        let said = "`suite geomean` is about the executables as built on shard";
        let notices = combined["notices"].to_string();
        assert_eq!(notices.contains(said), *is_partly_as_built, "{notices}");
        let mut numbers = vec![number(combined)];
        if place == 0 {
            // One machine comes to the same.
            numbers.push(number(compare(&repo, &format!("{gate} --format json")).json()));
        }
        for number in &numbers {
            let verdicts = [&number["as_built"]["verdict"], &number["verdict"]];
            assert_eq!(verdicts, ["regression", *verdict]);
            assert!(number["layouts"]["number"].as_u64().unwrap() > 3, "{number}");
        }
    }
}

/// A benchmark that reports as its times where in their pages it finds a function, a constant
/// and two variables, in microseconds, with noise that changes no digit shown.
const PLACES: &str = r#"
static CONSTANT: [u32; 3] = [5, 6, 7];
static VARIABLE: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(8);
static ZERO: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(0);
#[inline(never)]
fn function(x: usize) -> u32 {
    VARIABLE.load(std::sync::atomic::Ordering::Relaxed)
        + ZERO.load(std::sync::atomic::Ordering::Relaxed)
        + CONSTANT[x % 3]
}
fn main() {
    let args = std::env::args().count();
    if args > 50 {
        println!("{} {}", function(args), other(args));
    }
    let clock = std::time::UNIX_EPOCH.elapsed().unwrap().subsec_nanos();
    let places = [
        ("function", std::hint::black_box(function as *const ()) as usize),
        ("constant", std::hint::black_box(&CONSTANT as *const _) as usize),
        ("variable", std::hint::black_box(&VARIABLE as *const _) as usize),
        ("zero", std::hint::black_box(&ZERO as *const _) as usize),
    ];
    let places = places.map(|(name, at)| {
        let time = (1 + at % 4096) as f64 * 1e-6 * (1.0 + f64::from(clock % 1000) * 1e-9);
        format!("\"{name}\": {{\"wall_time\": {time}}}")
    });
    println!("{{{}}}", places.join(","));
}
"#;

/// A repository whose head has more code, constants and variables before those of the base.
fn moved() -> Repo {
    let repo = Repo::new("steady");
    let more = r#"
static FIRST: [u32; 33] = [3; 33];
static COUNT: std::sync::atomic::AtomicU64 = std::sync::atomic::AtomicU64::new(9);
static mut ROOM: [u64; 21] = [0; 21];
#[inline(never)]
fn other(x: usize) -> u64 {
    for at in 0..x {
        println!("{at} of {x}: {}", FIRST[at % 33]);
    }
    COUNT.fetch_add(x as u64, std::sync::atomic::Ordering::Relaxed)
        + unsafe { std::ptr::read_volatile(&raw const ROOM[x % 21]) }
}
"#;
    let none = "fn other(x: usize) -> usize { x }\n";
    repo.write("benches/work.rs", &format!("{none}{PLACES}"));
    repo.commit("base");
    repo.branch("feature");
    repo.write("benches/work.rs", &format!("{more}{PLACES}"));
    repo.commit("head");
    repo
}

/// Compares where things are, and returns the share of the code at equal addresses, if it was
/// aligned, and the names of what has moved.
fn moves(repo: &Repo, args: &str, env: &[(&str, &str)]) -> (Option<f64>, Vec<String>) {
    let args = format!(
        "compare main --harness json --seed 5 --max-pairs 6 --threshold 900% --format json {args}"
    );
    let call = env.iter().fold(repo.cbdr(&args), |call, (name, value)| call.env(name, value));
    let object = call.run().json();
    let benchmarks = object["benchmarks"].as_array().unwrap();
    let has_moved = |one: &&Value| {
        let time = &one["metrics"][0];
        let [base, head] = ["base", "head"].map(|side| time[side].as_f64().unwrap());
        (base / head - 1.0).abs() > 1e-5
    };
    let moved = benchmarks.iter().filter(has_moved);
    let moved = moved.map(|one| one["name"].as_str().unwrap().to_owned()).collect();
    (benchmarks[0]["aligned"].as_f64(), moved)
}

#[test]
fn what_did_not_change_is_at_the_same_addresses() {
    let repo = moved();
    let ways: [&[(&str, &str)]; 4] = [
        &[],
        &[("RUSTFLAGS", "-Crelocation-model=static")],
        &[("RUSTFLAGS", "-Ctarget-feature=+crt-static")],
        &[("CARGO_PROFILE_BENCH_STRIP", "symbols"), ("CARGO_PROFILE_BENCH_DEBUG", "true")],
    ];
    for env in ways {
        let (share, moved) = moves(&repo, "", env);
        assert!(share.is_some_and(|share| share > 0.99), "{env:?}: {share:?}");
        assert!(moved.is_empty(), "{env:?}: {moved:?}");
    }
    let left = walk(&repo.cached());
    assert!(!left.iter().any(|path| path.ends_with(".aligned")), "{left:?}");
}

#[test]
fn executables_are_measured_as_built_if_asked_or_if_they_cannot_be_linked_again() {
    let repo = moved();
    let other = format!("-Clinker={}", linker(&repo, ""));
    for (args, env) in [("--layouts off", None), ("", Some(("RUSTFLAGS", &*other)))] {
        let (share, moved) = moves(&repo, args, env.as_slice());
        assert!(share.is_none() && !moved.is_empty(), "{args}: {share:?}, {moved:?}");
    }
}

#[test]
fn what_a_failing_link_was_for_is_left_out_and_nothing_else() {
    let variable = linker_variable();
    let (aligned, layouts) = ("at equal addresses (", "functions in another order (");
    let ways = [
        ("*--symbol-ordering-file*", vec![aligned]),
        ("*--shuffle-sections*", vec![layouts]),
        // The object that scatters the heap is linked both times.
        ("*/heap-v1/*", vec![aligned, layouts]),
    ];
    let repo = repo("1.5e-3", "1.2e-3");
    let refused = repo.around().join("refused");
    let temporary = repo.around().join("temporary");
    let script = format!(
        "case \"$*\" in $(cat '{}')) echo ld: error: no >&2; exit 3;; esac
        case \"$*\" in *--shuffle-sections*) printf %s \"$TMPDIR\" > '{}';; esac",
        refused.display(),
        temporary.display()
    );
    let linker = linker(&repo, &script);
    for (link, fails) in ways {
        std::fs::write(&refused, link).unwrap();
        let call = repo.cbdr(&format!("{CALL} --format json"));
        let object = call.env(&variable, &linker).run().code(100).json();
        let notices: Vec<_> = object["notices"].as_array().unwrap().iter().collect();
        let says = |what: &str| notices.iter().any(|notice| notice.to_string().contains(what));
        for what in [aligned, layouts] {
            let why = format!("{what}the linker exited with code 3: ld: error: no)");
            assert_eq!(says(&why), fails.contains(&what), "{link}: {notices:?}");
        }
        assert_eq!(fails.contains(&aligned), object["benchmarks"][0]["aligned"].is_null());
        let placing = if fails.contains(&layouts) { "copied" } else { "linked" };
        assert_eq!(self::layouts(&object)["placing"], placing, "{link}: {object}");
    }
    // What a linker leaves behind goes with the other files of its comparison.
    let temporary = PathBuf::from(std::fs::read_to_string(temporary).unwrap());
    assert!(temporary.starts_with(repo.cached()) && !temporary.exists(), "{temporary:?}");
}
