//! Benchmarks that run no code that differs between the sides need no runs, and no other
//! benchmark is taken for one.

use serde_json::Value;

use crate::support::Repo;

/// Benchmarks, each a function that is called once; what they print is a constant with noise
/// of a hundred-thousandth. `more` are others than the first.
fn bench(more: &str) -> String {
    BENCH.replace("MORE", more)
}

const BENCH: &str = r#"
fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    if args.iter().any(|arg| arg == "--help") {
        println!("--exact   Exactly match filters rather than by substring");
        return;
    }
    let names: Vec<&String> = args.iter().filter(|arg| !arg.starts_with('-')).collect();
    let all: &[(&str, fn(u64) -> u64)] = &[("one", steady::one), MORE];
    for (name, work) in all {
        if names.is_empty() || names.iter().any(|chosen| chosen == name) {
            std::hint::black_box(work(std::hint::black_box(3)));
            let noise = std::time::UNIX_EPOCH.elapsed().unwrap().subsec_nanos() % 1000;
            println!("test {name} ... bench: {:.5} ns/iter (+/- 1.00)", 100.0 + f64::from(noise) * 1e-6);
        }
    }
}
"#;

/// What the first benchmark calls, and what is never called.
const LIBRARY: &str = r#"
#[inline(never)] pub fn one(x: u64) -> u64 {
    // A program that is the same on both sides, and a file outside of the repository.
    let _ = std::process::Command::new("true").status();
    let _ = std::fs::read("/etc/hostname");
    x.wrapping_mul(7)
}
#[inline(never)] pub fn idle(x: u64) -> u64 { x.wrapping_mul(11) }
"#;

/// A repository whose library has this function `two` on each side.
fn repo(base: &str, head: &str) -> Repo {
    let repo = Repo::new("steady");
    repo.write("benches/work.rs", &bench("(\"two\", steady::two)"));
    repo.write("src/lib.rs", &format!("{LIBRARY}{base}"));
    repo.commit("base");
    repo.branch("feature");
    repo.write("src/lib.rs", &format!("{LIBRARY}{head}"));
    repo
}

fn compare(repo: &Repo, args: &str) -> Value {
    repo.commit("head");
    let call = "compare main --harness libtest --seed 5 --layouts off --format json";
    repo.cbdr(&format!("{call} {args}")).run().code(0).json()
}

fn status<'a>(object: &'a Value, name: &str) -> &'a str {
    let all = object["benchmarks"].as_array().unwrap();
    let found = all.iter().find(|benchmark| benchmark["name"] == name);
    found.unwrap_or_else(|| panic!("{object}"))["status"].as_str().unwrap()
}

/// The statuses of both benchmarks.
fn statuses(object: &Value) -> [&str; 2] {
    ["one", "two"].map(|name| status(object, name))
}

const BOTH: [&str; 2] = ["compared", "compared"];
const SECOND: [&str; 2] = ["unaffected", "compared"];
const NONE: [&str; 2] = ["unaffected", "unaffected"];

#[cfg_attr(not(target_arch = "x86_64"), ignore = "programs are watched on x86-64 alone")]
#[test]
fn a_benchmark_is_measured_if_it_runs_code_that_differs() {
    let plain = "#[inline(never)] pub fn two(x: u64) -> u64 { x.wrapping_mul(9) }";
    let repo = repo(plain, &plain.replace('9', "13"));
    let object = compare(&repo, "");
    assert_eq!(statuses(&object), SECOND);
    let unmeasured = &object["benchmarks"].as_array().unwrap()[1];
    assert_eq!((&unmeasured["pairs"], &unmeasured["metrics"]), (&0.into(), &Value::Array(vec![])));
    let notices = object["notices"].to_string();
    assert!(notices.contains("1 of 2 benchmarks runs none of the code that changed"), "{notices}");
    let all = compare(&repo, "--measure-all");
    assert_eq!(statuses(&all), BOTH);
    assert_eq!(statuses(&compare(&repo, "--always-run")), BOTH);
    for format in ["human", "markdown", "junit"] {
        let call = "compare main --harness libtest --seed 5 --layouts off --format";
        let said = repo.cbdr(&format!("{call} {format} --report ../page.html")).run().code(0);
        let piece = if format == "markdown" { "none of the code" } else { "unaffected" };
        assert!(said.stdout.contains(piece), "{format}: {}", said.stdout);
    }
    let page = std::fs::read_to_string(repo.around().join("page.html")).unwrap();
    assert!(page.contains("none of the code that changed"), "{page}");
    // What is known of the program without a run has a result beside its benchmarks'.
    let sized = "--metric wall_time,text_bytes --threshold text_bytes=50%";
    for all in ["", "--measure-all"] {
        let object = compare(&repo, &format!("{sized} {all}"));
        let benchmarks = object["benchmarks"].as_array().unwrap();
        let program = benchmarks.iter().find(|one| one["name"] == "work");
        let program = program.unwrap_or_else(|| panic!("{object}"));
        assert_eq!(program["metrics"][0]["name"], "text_bytes");
        assert_eq!(program["metrics"][0]["verdict"], "no-regression");
        assert_eq!(statuses(&object), if all.is_empty() { SECOND } else { BOTH });
    }
    // Built in another way it is another build, and 0 is none.
    let one = compare(&repo, "--codegen-units 1 -v");
    assert_eq!(statuses(&one), SECOND);
    let none = repo.cbdr("compare main --codegen-units 0").run().code(2);
    none.says("codegen-units").says("at least one is needed");
    // Nothing that runs has changed.
    repo.write("src/lib.rs", &format!("{LIBRARY}{plain}").replace("11", "13"));
    let object = compare(&repo, "");
    if object["verdict"] != "identical" {
        assert_eq!((statuses(&object), &object["verdict"]), (NONE, &"no-regression".into()));
    }
}

/// Ways in which a benchmark depends on what differs: its code, with a function `run`, and
/// what of that is different on the head. Where nothing is, a file differs that it reads.
const WAYS: [(&str, &str, &str, &str); 10] = [
    (
        "vtable",
        "pub trait T { fn f(&self) -> u64; } pub struct A;
         impl T for A { #[inline(never)] fn f(&self) -> u64 { 5 } }
         #[inline(never)] pub fn run(x: u64) -> u64 {
             let all: Vec<Box<dyn T>> = (0..x).map(|_| Box::new(A) as Box<dyn T>).collect();
             std::hint::black_box(all).iter().map(|t| t.f()).sum() }",
        "{ 5 }",
        "{ 6 }",
    ),
    (
        "thread",
        "#[inline(never)] fn work(x: u64) -> u64 { x.wrapping_mul(9) }
         #[inline(never)] pub fn run(x: u64) -> u64 {
             std::thread::spawn(move || work(x)).join().unwrap() }",
        "mul(9)",
        "mul(13)",
    ),
    (
        "lazy",
        "use std::sync::LazyLock; #[inline(never)] fn fill() -> Vec<u64> { vec![5; 9] }
         static TABLE: LazyLock<Vec<u64>> = LazyLock::new(fill);
         #[inline(never)] pub fn run(x: u64) -> u64 { TABLE[x as usize] }",
        "5; 9",
        "6; 9",
    ),
    (
        "local",
        "use std::cell::Cell; thread_local! { static V: Cell<u64> = const { Cell::new(17) }; }
         #[inline(never)] pub fn run(x: u64) -> u64 { V.with(|v| v.replace(x)) }",
        "17",
        "19",
    ),
    (
        "cold",
        "#[inline(never)] #[cold] fn rare() -> u64 { 1 }
         #[inline(never)] pub fn run(x: u64) -> u64 { if x > 5 { rare() } else { 2 } }",
        "x > 5",
        "x > 1",
    ),
    (
        "detected",
        "#[inline(never)] fn with(x: u64) -> u64 { x * 9 }
         #[inline(never)] pub fn run(x: u64) -> u64 {
             if std::thread::available_parallelism().is_ok() { with(x) } else { 1 } }",
        "x * 9",
        "x * 17",
    ),
    (
        "file",
        "#[inline(never)] pub fn run(_: u64) -> u64 {
             std::fs::read_to_string(\"data.txt\").unwrap().len() as u64 }",
        "",
        "",
    ),
    (
        "folder",
        "#[inline(never)] pub fn run(_: u64) -> u64 {
             std::fs::read_dir(\".\").unwrap().count() as u64 }",
        "",
        "",
    ),
    (
        "absent",
        "#[inline(never)] pub fn run(_: u64) -> u64 {
             u64::from(std::path::Path::new(\"new.txt\").exists()) }",
        "",
        "",
    ),
    (
        "program",
        "#[inline(never)] pub fn run(_: u64) -> u64 {
             let itself = std::env::current_exe().unwrap();
             let status = std::process::Command::new(itself).arg(\"--help\").status();
             status.unwrap().code().unwrap() as u64 }",
        "",
        "",
    ),
];

#[cfg_attr(not(target_arch = "x86_64"), ignore = "programs are watched on x86-64 alone")]
#[test]
fn whatever_way_changed_code_is_reached_it_is_seen() {
    let names: Vec<&str> = WAYS.iter().map(|(name, ..)| *name).collect();
    let library = |is_head: bool| {
        let modules = WAYS.iter().map(|(name, source, old, new)| {
            assert!(source.contains(old), "{name}");
            let source = source.replacen(old, new, usize::from(is_head && !old.is_empty()));
            format!("pub mod {name} {{ {source} }}\n")
        });
        format!("{LIBRARY}{}", modules.collect::<String>())
    };
    let repo = Repo::new("steady");
    let works = names.iter().map(|name| format!("(\"{name}\", steady::{name}::run), "));
    repo.write("benches/work.rs", &bench(&works.collect::<String>()));
    repo.write("src/lib.rs", &library(false));
    repo.write("data.txt", "some");
    repo.commit("base");
    repo.branch("feature");
    repo.write("src/lib.rs", &library(true));
    repo.write("data.txt", "more");
    repo.write("new.txt", "new");
    let object = compare(&repo, "--max-pairs 1");
    assert_eq!(status(&object, "one"), "unaffected");
    for name in names {
        assert_eq!(status(&object, name), "compared", "{name}: {object}");
    }
}
