//! Both sides are built with one codegen unit where that leaves far fewer benchmarks to measure.

use serde_json::Value;

use crate::support::{Ran, Repo};
use crate::unaffected::{bench, status};

/// How many benchmarks run code that is the same in the sources of both sides.
const MANY: usize = 64;

/// The steps of the edited function on the head where that makes its module larger than that of the
/// many.
const EDITED: usize = 500;

/// What `many::f0` and all others like it call, each of them with its own constant.
const SHARED: &str = "pub mod shared {
    pub fn mix(mut x: u64) -> u64 {
        x = step(x).wrapping_mul(7) ^ (x >> 3);
        x = step(x).wrapping_mul(7) ^ (x >> 3);
        step(x).wrapping_mul(7) ^ (x >> 3)
    }
    #[inline(never)] fn step(x: u64) -> u64 { x + CONSTANT }
}\n";

/// A function of so many steps, in a module of its own.
fn module(name: &str, steps: usize) -> String {
    let steps = "x = std::hint::black_box(x).wrapping_mul(7);\n".repeat(steps);
    format!(
        "pub mod {name} {{ #[inline(never)] pub fn work(mut x: u64) -> u64 {{ {steps} x }} }}\n"
    )
}

/// A library with four modules, which three codegen units share: the two smallest are in one. Which
/// these are depends on the length of the function in one of them.
fn library(edited: usize, constant: u64) -> String {
    let function = |number: usize| {
        let body = format!("crate::shared::mix(x).wrapping_mul({})", number + 3);
        format!("#[inline(never)] pub fn f{number}(x: u64) -> u64 {{ {body} }}\n")
    };
    let many: String = (0..MANY).map(function).collect();
    let shared = SHARED.replace("CONSTANT", &constant.to_string());
    let modules = module("edited", edited) + &module("large", 600);
    format!("{shared}pub mod many {{\n{many}}}\n{modules}pub use edited::work as one;\n")
}

/// A repository whose head has another library.
fn repo(head: &str) -> Repo {
    repo_of(Repo::new("library"), &slept(), "src/lib.rs", head)
}

/// A repository whose head has another library, which is a path dependency of a path dependency.
fn repo_of_dependencies(head: &str) -> Repo {
    let repo = Repo::new("library");
    for (needing, needed) in [(".", "near"), ("near", "far")] {
        let manifest = format!(
            "[package]\nname = \"{needed}\"\nversion = \"0.1.0\"\nedition = \"2021\"\n\n[workspace]\n"
        );
        repo.write(&format!("{needed}/Cargo.toml"), &manifest);
        let to = if needing == "." { "near" } else { "../far" };
        let dependency = format!("[dependencies]\n{needed} = {{ path = \"{to}\" }}\n\n");
        let table = if needing == "." { "[[bench]]" } else { "[workspace]" };
        repo.replace(&format!("{needing}/Cargo.toml"), table, &format!("{dependency}{table}"));
        repo.write(&format!("{needing}/src/lib.rs"), &format!("pub use {needed}::*;\n"));
    }
    repo_of(repo, &slept(), "far/src/lib.rs", head)
}

/// The benchmarks, which take long: the longer, the more time there is for tracing.
fn slept() -> String {
    let sleep = "std::thread::sleep(std::time::Duration::from_millis(2)); let noise";
    bench(&more()).replace("let noise", sleep)
}

/// The benchmarks but the first.
fn more() -> String {
    (0..MANY).map(|number| format!("(\"f{number}\", steady::many::f{number}), ")).collect()
}

/// A repository with this benchmark, whose head has another library, in this file.
fn repo_of(repo: Repo, bench: &str, file: &str, head: &str) -> Repo {
    let profile = "\n[profile.bench]\nlto = \"off\"\ncodegen-units = 3\n";
    repo.replace("Cargo.toml", "harness = false\n", &format!("harness = false\n{profile}"));
    repo.write("benches/work.rs", bench);
    repo.write(file, &library(2, 1));
    repo.commit("base");
    repo.branch("feature");
    repo.write(file, head);
    repo.commit("head");
    repo
}

const CALL: &str = "compare main --harness libtest --seed 5 --layouts off --time-limit 2m";

fn compare(repo: &Repo, args: &str) -> Value {
    repo.cbdr(&format!("{CALL} --max-pairs 6 --format json {args}")).run().code(0).json()
}

/// Chooses the builds as a comparison does, and measures nothing of them.
fn pack(repo: &Repo, args: &str) -> Ran {
    let call = "pack main ../packed --harness libtest --layouts off --time-limit 2m";
    repo.cbdr(&format!("{call} {args}")).run().code(0)
}

/// How many of the benchmarks that have not changed are unaffected.
fn unaffected(object: &Value) -> usize {
    (0..MANY).filter(|number| status(object, &format!("f{number}")) == "unaffected").count()
}

fn notices(object: &Value) -> String {
    object["notices"].to_string()
}

const NOTICE: &str = "the workspace's crates are built with one codegen unit each, on both sides, \
    which leaves 1 of 65 benchmarks to measure instead of 65";

#[cfg_attr(not(target_arch = "x86_64"), ignore = "programs are watched on x86-64 alone")]
#[test]
fn one_codegen_unit_is_used_if_far_fewer_benchmarks_are_measured_then() {
    let repo = repo_of_dependencies(&library(EDITED, 1));
    let shown = repo.cbdr("compare main --dry-run").run().code(0).stdout;
    assert!(shown.contains("codegen-units  auto        default"), "{shown}");
    for again in ["cold", "warm"] {
        let object = compare(&repo, "");
        assert_eq!(unaffected(&object), MANY, "{again}: {object}");
        assert_eq!(status(&object, "one"), "compared", "{again}");
        assert!(notices(&object).contains(NOTICE), "{again}: {}", notices(&object));
        assert_eq!(notices(&object).matches("none of the code").count(), 1, "{again}");
    }
    // The choice is stored, and made again where it is forgotten.
    let choice = repo.cached().join("found-codegen-units-v1");
    let text = std::fs::read_to_string(&choice).unwrap();
    assert!(text.contains("\"one_unit\":true"), "{text}");
    std::fs::remove_file(choice).unwrap();
    pack(&repo, "").says("1 benchmark to measure and 64 unaffected");
    // Another machine measures what was packed.
    let call = "compare --packed ../packed --seed 5 --max-pairs 6 --format json";
    let object = repo.cbdr(call).run().code(0).json();
    assert_eq!(unaffected(&object), MANY, "{object}");
    assert!(notices(&object).contains(NOTICE), "{}", notices(&object));
    // The builds of the profile are compared where that is asked for, or where machines that
    // know only a part have to agree.
    pack(&repo, "--codegen-units profile").says("65 benchmarks to measure and 0 unaffected");
    let call = "--shard 1/1 --samples ../1.csv --max-pairs 1";
    let object = repo.cbdr(&format!("{CALL} --format json {call}")).run().code(0).json();
    assert_eq!(unaffected(&object), 0, "{object}");
    assert!(!notices(&object).contains("codegen unit each"), "{}", notices(&object));
}

/// Benchmarks with the command line of Criterion, of which runs of all take long. Each run writes
/// down what it executes.
pub(crate) const SLOW: &str = r#"
fn main() {
    let known = ["noise-threshold", "warm-up-time", "save-baseline", "discard-baseline"];
    std::hint::black_box((known, "measurement-time"));
    let all: &[(&str, fn(u64) -> u64)] = &[("one", steady::one), MORE];
    let args: Vec<String> = std::env::args().skip(1).map(|arg| arg.replace('\\', "")).collect();
    if args.iter().any(|arg| arg == "--list") {
        all.iter().for_each(|(name, _)| println!("{name}: benchmark"));
        return;
    }
    let chosen = args.iter().find_map(|arg| arg.strip_prefix("^(?:")?.strip_suffix(")$"));
    let runs = std::fs::File::options().append(true).create(true).open(std::env::var("RUNS").unwrap());
    let line = format!("{}\n", chosen.unwrap_or("all"));
    std::io::Write::write_all(&mut runs.unwrap(), line.as_bytes()).unwrap();
    if chosen.is_none() {
        std::thread::sleep(std::time::Duration::from_millis(800));
    }
    for (name, work) in all {
        if chosen.is_none_or(|chosen| chosen.split('|').any(|one| one == *name)) {
            std::hint::black_box(work(std::hint::black_box(3)));
            println!("{name}  time:   [10.000 ns 10.000 ns 10.000 ns]");
        }
    }
}
"#;

#[cfg_attr(not(target_arch = "x86_64"), ignore = "programs are watched on x86-64 alone")]
#[test]
fn what_was_warmed_up_slowly_is_only_listed_in_other_builds() {
    let bench = SLOW.replace("MORE", &more());
    let repo = repo_of(Repo::new("library"), &bench, "src/lib.rs", &library(EDITED, 1));
    let call = CALL.replace("--harness libtest ", "");
    let runs = repo.around().join("runs");
    let ran =
        repo.cbdr(&format!("{call} --max-pairs 6 --format json")).env("RUNS", &runs).run().code(0);
    let object = ran.says("number of codegen units").json();
    assert_eq!(unaffected(&object), MANY, "{object}");
    assert!(notices(&object).contains(NOTICE), "{}", notices(&object));
    let runs = std::fs::read_to_string(runs).unwrap();
    assert_eq!(runs.lines().filter(|line| *line == "all").count(), 2, "{runs}");
}

#[cfg_attr(not(target_arch = "x86_64"), ignore = "programs are watched on x86-64 alone")]
#[test]
fn the_builds_of_the_profile_are_compared_if_one_codegen_unit_does_not_help() {
    // All benchmarks run the function that was edited.
    let repo = Repo::new("library");
    repo.write("benches/broken.rs", "fn main() { nothing_of_this_name() }\n");
    let repo = repo_of(repo, &slept(), "src/lib.rs", &library(2, 2));
    let ran = pack(&repo, "").says("`broken` is left out: it builds on neither side");
    let (first, again) = ran.stderr.split_once("number of codegen units").unwrap();
    assert!(first.contains("nothing_of_this_name"), "{first}");
    assert!(!again.contains("nothing_of_this_name"), "built again: {again}");
    ran.says("64 benchmarks to measure and 1 unaffected");
    // That is known from then on.
    let ran = pack(&repo, "").never_says("number of codegen units");
    ran.says("64 benchmarks to measure and 1 unaffected");
    let call =
        "compare --packed ../packed --shard 1/16 --max-pairs 1 --samples ../1.csv --format json";
    let object = repo.cbdr(call).run().code(0).json();
    assert!(!notices(&object).contains("codegen unit each"), "{}", notices(&object));
    // Few are measured in no time.
    let said = repo.cbdr(&format!("{CALL} --max-pairs 6 --filter f7")).run().code(0);
    said.never_says("number of codegen units");
}

#[cfg_attr(not(target_arch = "x86_64"), ignore = "programs are watched on x86-64 alone")]
#[test]
fn the_builds_of_the_profile_are_compared_if_those_with_one_codegen_unit_fail() {
    let repo = repo(&library(EDITED, 1));
    // cargo accepts one override for a package.
    let other = "codegen-units = 3\n\n[profile.bench.package.\"steady@0.1.0\"]\nopt-level = 3\n";
    repo.replace("Cargo.toml", "codegen-units = 3\n", other);
    repo.commit("an override");
    let ran = pack(&repo, "").says("multiple package overrides");
    ran.says("65 benchmarks to measure and 0 unaffected");
}
