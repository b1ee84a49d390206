//! Benchmarks that run no code that differs between the sides need no runs, and no other
//! benchmark is mistaken for one.

use serde_json::Value;

use crate::codegen_units::SLOW;
use crate::support::{LIBTEST_NAMES, ONE_PAIR, RELEASES, Random, Repo, Variables, setting};

/// Benchmarks, each a function that is called once; what they print is a constant with noise
/// of a hundred-thousandth. `more` are others than the first.
pub(crate) fn bench(more: &str) -> String {
    BENCH.replace("LIBTEST_NAMES", LIBTEST_NAMES).replace("MORE", more)
}

const BENCH: &str = r#"
fn main() {
    LIBTEST_NAMES
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
    let repo = Repo::new("library");
    repo.write("benches/work.rs", &bench("(\"two\", steady::two)"));
    repo.write("src/lib.rs", &format!("{LIBRARY}{base}"));
    repo.commit("base");
    repo.branch("feature");
    repo.write("src/lib.rs", &format!("{LIBRARY}{head}"));
    repo
}

fn compare(repo: &Repo, args: &str) -> Value {
    repo.commit("head");
    compare_again(repo, args)
}

/// As the last time, of the same commits.
fn compare_again(repo: &Repo, args: &str) -> Value {
    let call = "compare main --harness libtest --seed 5 --layouts off --format json";
    repo.cbdr(&format!("{call} {args}")).run().code(0).json()
}

pub(crate) fn status<'a>(object: &'a Value, name: &str) -> &'a str {
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
    for (format, more) in [("human", "--report ../page.html"), ("markdown", ""), ("junit", "")] {
        let call = "compare main --harness libtest --seed 5 --layouts off --format";
        let said = repo.cbdr(&format!("{call} {format} {more}")).run().code(0);
        let piece = if format == "markdown" { "none of the code" } else { "unaffected" };
        assert!(said.stdout.contains(piece), "{format}: {}", said.stdout);
    }
    let page = std::fs::read_to_string(repo.around().join("page.html")).unwrap();
    assert!(page.contains("none of the code that changed"), "{page}");
    // What is known of the program without a run has a result next to those of its benchmarks.
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
    let none = repo.cbdr("compare main --codegen-units 0").run().code(2);
    none.says("codegen-units").says("`auto`, `profile` or a number");
    // Nothing that runs has changed.
    repo.write("src/lib.rs", &format!("{LIBRARY}{plain}").replace("11", "13"));
    let object = compare(&repo, "");
    if object["verdict"] != "identical" {
        assert_eq!((statuses(&object), &object["verdict"]), (NONE, &"no-regression".into()));
    }
}

#[cfg_attr(not(target_arch = "x86_64"), ignore = "programs are watched on x86-64 alone")]
#[test]
fn functions_keep_their_names_in_a_profile_that_strips_unless_the_file_is_measured() {
    let plain = "#[inline(never)] pub fn two(x: u64) -> u64 { x.wrapping_mul(9) }";
    let repo = repo(plain, plain);
    let manifest = std::fs::read_to_string(repo.path().join("Cargo.toml")).unwrap();
    repo.write("Cargo.toml", &format!("{manifest}\n[profile.bench]\nstrip = true\n"));
    let base = repo.commit("strips");
    repo.git(&["branch", "--force", "main", &base]);
    repo.replace("src/lib.rs", "x.wrapping_mul(9)", "x.wrapping_mul(13)");
    assert_eq!(statuses(&compare(&repo, "")), SECOND);
    let sized = "--metric wall_time,executable_bytes --threshold executable_bytes=50%";
    assert_eq!(statuses(&compare(&repo, sized)), BOTH);
    let call = "compare main --harness libtest --seed 5 --layouts off";
    let shown = repo.cbdr(&format!("{call} {sized}")).run().code(0);
    shown.says("Measuring all benchmarks of `work`: the names of its functions were stripped");
}

/// Generic functions, which differ for linkers only by their hashes, and a vtable.
const GENERIC: &str = r#"
pub trait Kind { fn go(&self, x: u64) -> u64; }
pub struct Some1(u64); pub struct Some2(u64);
impl Kind for Some1 { #[inline(never)] fn go(&self, x: u64) -> u64 { twice::<u8>(x ^ self.0) } }
impl Kind for Some2 { #[inline(never)] fn go(&self, x: u64) -> u64 { twice::<u16>(x ^ self.0) } }
#[inline(never)] pub fn twice<T: Into<u64> + TryFrom<u64> + Default>(x: u64) -> u64 {
    std::hint::black_box(T::try_from(x).unwrap_or_default()).into() * 2
}
#[inline(never)] pub fn two(x: u64) -> u64 {
    let all: [Box<dyn Kind>; 2] = [Box::new(Some1(1)), Box::new(Some2(2))];
    std::hint::black_box(all).iter().map(|kind| kind.go(x)).sum()
}
"#;

#[cfg_attr(not(target_arch = "x86_64"), ignore = "programs are watched on x86-64 alone")]
#[test]
fn another_version_of_the_package_alone_touches_nothing() {
    RELEASES.into_iter().for_each(another_version_alone_touches_nothing);
}

fn another_version_alone_touches_nothing(release: Variables) {
    // Such code in several modules, each with a change of its own.
    let changes = [
        ("factor", ".into() * 2", ".into() * 3"),
        (
            "exchanged",
            "Box::new(Some1(1)), Box::new(Some2(2))",
            "Box::new(Some2(1)), Box::new(Some1(2))",
        ),
        ("type", "twice::<u16>", "twice::<u8>"),
    ];
    let library = |is_changed: bool| {
        let module = |(number, (name, old, new)): (usize, (&str, &str, &str))| {
            assert!(GENERIC.contains(old), "{old}");
            let code = if is_changed { GENERIC.replace(old, new) } else { GENERIC.to_owned() };
            // No function is that of another module.
            let code = code.replace("x ^ self.0", &format!("x ^ self.0 ^ {}", number + 70));
            let code = code.replace("(x).unwrap", &format!("(x ^ {}).unwrap", number + 80));
            format!("pub mod of_{name} {{ {code} }}\n")
        };
        let modules = changes.into_iter().enumerate().map(module);
        format!("{LIBRARY}{}", modules.collect::<String>())
    };
    let repo = Repo::new("library").with(release);
    let works = changes.map(|(name, ..)| format!("(\"{name}\", steady::of_{name}::two), "));
    repo.write("benches/work.rs", &bench(&works.concat()));
    repo.write("src/lib.rs", &library(false));
    // The path of OUT_DIR has a hash that depends on the version.
    repo.write("build.rs", "fn main() { println!(\"cargo:rerun-if-changed=build.rs\"); }");
    repo.commit("base");
    repo.branch("feature");
    for file in ["Cargo.toml", "Cargo.lock"] {
        repo.replace(file, "version = \"0.1.0\"", "version = \"0.2.0\"");
    }
    let object = compare(&repo, "");
    if object["verdict"] != "identical" {
        let all = ["one", "factor", "exchanged", "type"];
        assert!(all.into_iter().all(|name| status(&object, name) == "unaffected"), "{object}");
        assert_eq!(object["verdict"], "no-regression");
    }
    // With a change, that counts, and where two methods are exchanged.
    repo.write("src/lib.rs", &library(true));
    let object = compare(&repo, ONE_PAIR);
    assert_eq!(status(&object, "one"), "unaffected");
    for (name, ..) in changes {
        assert_eq!(status(&object, name), "compared", "{name}: {object}");
    }
}

#[cfg_attr(not(target_arch = "x86_64"), ignore = "programs are watched on x86-64 alone")]
#[test]
fn a_program_without_a_changed_function_is_traced_however_long_it_takes() {
    let repo = repo(GENERIC, GENERIC);
    let slow = "std::thread::sleep(std::time::Duration::from_millis(250));";
    repo.replace("src/lib.rs", "x.wrapping_mul(7)", &format!("{slow} x.wrapping_mul(7)"));
    repo.commit("slow");
    repo.git(&["branch", "-f", "main"]);
    for file in ["Cargo.toml", "Cargo.lock"] {
        repo.replace(file, "version = \"0.1.0\"", "version = \"0.2.0\"");
    }
    // A tenth of the time limit is less than a run, and the limit is less than the pairs take.
    let object = compare(&repo, "--time-limit 1s");
    if object["verdict"] != "identical" {
        assert_eq!((statuses(&object), &object["verdict"]), (NONE, &"no-regression".into()));
    }
}

#[cfg_attr(not(target_arch = "x86_64"), ignore = "programs are watched on x86-64 alone")]
#[test]
fn what_the_loader_prepares_counts_where_the_process_is_measured() {
    let repo = Repo::new("library");
    let main = "fn main() { if std::env::args().any(|arg| arg == \"ask\") { steady::word(3); } }";
    let library = |count: usize| {
        format!(
            "static WORDS: [&str; {count}] = [\"word\"; {count}]; \
             #[inline(never)] pub fn word(at: usize) -> &'static str {{ std::hint::black_box(&WORDS)[at] }}"
        )
    };
    repo.write("benches/work.rs", main);
    repo.write("src/lib.rs", &library(20));
    repo.commit("base");
    repo.branch("feature");
    for (count, expected) in [(30, "unaffected"), (2000, "compared")] {
        repo.write("src/lib.rs", &library(count));
        repo.commit("head");
        let call = "compare main --harness plain --seed 5 --layouts off --format json";
        let object = repo.cbdr(&format!("{call} {ONE_PAIR}")).run().code(0).json();
        assert_eq!(status(&object, "work"), expected, "{object}");
    }
}

/// Ways in which a benchmark depends on what differs: its code, with a function `run`, and
/// what of that is different on the head. Where nothing is, a file differs that it reads.
const WAYS: [(&str, &str, &str, &str); 15] = [
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
        "constant",
        "const TABLE: [u64; 4] = [2, 3, 5, 7];
         #[inline(never)] pub fn run(x: u64) -> u64 {
             std::hint::black_box(&TABLE)[(x % 4) as usize] }",
        "5, 7",
        "5, 9",
    ),
    (
        "pointed",
        "use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
         static V: AtomicU64 = AtomicU64::new(5); static P: &AtomicU64 = &V;
         #[inline(never)] pub fn run(x: u64) -> u64 { std::hint::black_box(P).fetch_add(x, SeqCst) }",
        "new(5)",
        "new(6)",
    ),
    (
        "indirect",
        "#[inline(never)] fn a(x: u64) -> u64 { x ^ 3 } #[inline(never)] fn b(x: u64) -> u64 { x ^ 5 }
         static F: [fn(u64) -> u64; 2] = [a, b];
         #[inline(never)] pub fn run(x: u64) -> u64 {
             std::hint::black_box(&F)[(x % 2) as usize](x) }",
        "x ^ 5",
        "x ^ 9",
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
             if std::arch::is_x86_feature_detected!(\"sse3\") { with(x) } else { 1 } }",
        "x * 9",
        "x * 17",
    ),
    (
        "assembly",
        "#[inline(never)] pub fn run(mut x: u64) -> u64 {
             unsafe { std::arch::asm!(\"add {0}, 5\", inout(reg) x) }; x }",
        "5",
        "6",
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
        "itself",
        "#[inline(never)] pub fn run(_: u64) -> u64 {
             let itself = std::env::current_exe().unwrap();
             std::fs::read(itself).unwrap().iter().map(|byte| u64::from(*byte)).sum() }",
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
    RELEASES.into_iter().for_each(whatever_way_it_is_seen);
}

fn whatever_way_it_is_seen(release: Variables) {
    let names: Vec<&str> = WAYS.iter().map(|(name, ..)| *name).collect();
    let library = |is_head: bool| {
        let modules = WAYS.iter().map(|(name, source, old, new)| {
            assert!(source.contains(old), "{name}");
            let source = source.replacen(old, new, usize::from(is_head && !old.is_empty()));
            format!("pub mod {name} {{ {source} }}\n")
        });
        format!("{LIBRARY}{}", modules.collect::<String>())
    };
    let repo = Repo::new("library").with(release);
    let works = names.iter().map(|name| format!("(\"{name}\", steady::{name}::run), "));
    repo.write("benches/work.rs", &bench(&works.collect::<String>()));
    repo.write("src/lib.rs", &library(false));
    repo.write("data.txt", "some");
    repo.commit("base");
    repo.branch("feature");
    repo.write("src/lib.rs", &library(true));
    repo.write("data.txt", "more");
    repo.write("new.txt", "new");
    let object = compare(&repo, ONE_PAIR);
    assert_eq!(status(&object, "one"), "unaffected");
    for name in names {
        assert_eq!(status(&object, name), "compared", "{name}: {object}");
    }
}

/// An allocator, and a benchmark that does not use it.
const ALLOCATOR: &str = r#"
use std::alloc::{GlobalAlloc, Layout, System};
struct Counted;
unsafe impl GlobalAlloc for Counted {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 { unsafe { System.alloc(layout) } }
    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) { unsafe { System.dealloc(at, layout) } }
}
#[global_allocator] static ALLOCATOR: Counted = Counted;
#[inline(never)] pub fn two(x: u64) -> u64 { x }
"#;

#[cfg_attr(not(target_arch = "x86_64"), ignore = "programs are watched on x86-64 alone")]
#[test]
fn another_allocator_is_run_by_every_benchmark() {
    let repo = repo(ALLOCATOR, &ALLOCATOR.replace("System.alloc(", "System.alloc_zeroed("));
    assert_eq!(statuses(&compare(&repo, ONE_PAIR)), BOTH);
}

/// What one short run does not do, and others may: with more iterations, or with other random
/// numbers.
const RARE: &str = r#"
use std::hash::BuildHasher;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
static CALLS: AtomicU64 = AtomicU64::new(0);
#[inline(never)] pub fn rare(x: u64) -> u64 { std::hint::black_box(x).wrapping_mul(13) }
#[inline(never)] pub fn often(x: u64) -> u64 {
    if CALLS.fetch_add(1, SeqCst) > 5 { rare(x) } else { x }
}
#[inline(never)] pub fn seeded(x: u64) -> u64 {
    let random = std::collections::hash_map::RandomState::new().hash_one(x);
    if random == 5 { rare(x) } else { x }
}
"#;

/// `docs/unaffected.md` documents this limit of the method.
#[cfg_attr(not(target_arch = "x86_64"), ignore = "programs are watched on x86-64 alone")]
#[test]
fn what_a_benchmark_does_only_in_other_runs_is_not_seen() {
    let repo = Repo::new("library");
    repo.write(
        "benches/work.rs",
        &bench("(\"often\", steady::often), (\"seeded\", steady::seeded)"),
    );
    repo.write("src/lib.rs", &format!("{LIBRARY}{RARE}"));
    repo.commit("base");
    repo.branch("feature");
    repo.write("src/lib.rs", &format!("{LIBRARY}{RARE}").replace("mul(13)", "mul(17)"));
    let object = compare(&repo, ONE_PAIR);
    for name in ["one", "often", "seeded"] {
        assert_eq!(status(&object, name), "unaffected", "{name}");
    }
}

/// Benchmarks that are registered by code, with a function that another benchmark may call later, and
/// that what runs before would call.
const REGISTERED: &str = r#"
use std::hint::black_box;
use std::sync::Mutex;
type Work = fn(u64) -> u64;
static LATER: Mutex<Option<Work>> = Mutex::new(None);
#[inline(never)] fn one(x: u64) -> u64 { black_box(x).wrapping_mul(7) }
#[inline(never)] fn rare(x: u64) -> u64 { black_box(x).wrapping_mul(13) }
#[inline(never)] fn check(is_rare: bool) -> u64 { if is_rare { rare(3) } else { 5 } }
#[inline(never)] fn prepare() {
    check(black_box(false));
    *LATER.lock().unwrap() = Some(black_box(rare as Work));
}
#[inline(never)] fn two(x: u64) -> u64 {
    AGAIN
    if x > 5 { LATER.lock().unwrap().unwrap()(x) } else { x }
}
#[inline(never)] fn three(x: u64) -> u64 { rare(x) }
#[inline(never)] fn registered() -> Vec<(&'static str, Work)> {
    prepare();
    vec![("one", black_box(one as Work)), ("two", black_box(two as Work)), THREE]
}
"#;

#[cfg_attr(not(target_arch = "x86_64"), ignore = "programs are watched on x86-64 alone")]
#[test]
fn what_is_registered_before_the_first_benchmark_counts_for_those_that_run_it() {
    let repo = Repo::new("library");
    let harness = bench("").replace("&[(\"one\", steady::one), ]", "&registered()") + REGISTERED;
    let three = "(\"three\", black_box(three as Work))";
    let table = [
        ("", three, ("mul(7)", "mul(9)"), vec!["compared", "unaffected", "unaffected"]),
        // `two` may run it in later iterations, but only `three` was seen to.
        ("", three, ("mul(13)", "mul(17)"), vec!["unaffected", "unaffected", "compared"]),
        // It takes its address itself.
        ("prepare();", three, ("mul(13)", "mul(17)"), vec!["unaffected", "compared", "compared"]),
        // None was seen to run it.
        ("", "", ("mul(13)", "mul(17)"), vec!["compared", "compared"]),
    ];
    for (number, (again, more, (old, new), expected)) in table.into_iter().enumerate() {
        let base = harness.replace("AGAIN", again).replace("THREE", more);
        repo.git(&["checkout", "-q", "-B", "main"]);
        repo.write("benches/work.rs", &base);
        repo.commit("base");
        repo.branch(&format!("feature-{number}"));
        repo.write("benches/work.rs", &base.replace(old, new));
        let object = compare(&repo, &format!("{ONE_PAIR} --codegen-units 1"));
        let names = ["one", "two", "three"];
        let found: Vec<_> =
            names.iter().take(expected.len()).map(|name| status(&object, name)).collect();
        assert_eq!(found, expected, "{number}: {object}");
        if number == 1 {
            // What no benchmark of a machine enters, another one's does.
            let measured = ["1/2", "2/2"].map(|shard| {
                let call =
                    format!("--max-pairs 1 --codegen-units 1 --shard {shard} --samples ../rows");
                compare_again(&repo, &call)["benchmarks"].as_array().unwrap().clone()
            });
            let measured = measured.iter().flatten().filter(|one| one["status"] == "compared");
            assert_eq!(measured.map(|one| &one["name"]).collect::<Vec<_>>(), ["three"]);
        }
        if number == 1 || number == 3 {
            // That other one need not be asked for.
            let call = format!("{ONE_PAIR} --codegen-units 1 --filter one");
            assert_eq!(status(&compare_again(&repo, &call), "one"), expected[0], "{number}");
        }
    }
}

/// A function in C and one in assembly, which are linked in by a build script.
const BUILD_SCRIPT: &str = r#"
fn run(program: &str, args: &[&str]) {
    assert!(std::process::Command::new(program).args(args).status().unwrap().success());
}
fn main() {
    let out = std::env::var("OUT_DIR").unwrap();
    let (object, library) = (format!("{out}/work.o"), format!("{out}/libwork.a"));
    run("cc", &["-c", "-O2", "-ffunction-sections", "work.c", "-o", &object]);
    run("ar", &["rcs", &library, &object]);
    println!("cargo::rerun-if-changed=work.c");
    println!("cargo::rustc-link-search=native={out}");
    println!("cargo::rustc-link-lib=static=work");
}
"#;

/// C functions: one that has changed on the head, followed by one that is at another address then.
const IN_C: &str = r#"
#include <stdint.h>
uint64_t first(uint64_t x) { return x * 9; }
uint64_t second(uint64_t x) { return x * 7; }
const uint32_t *wide(void) { return (const uint32_t *)L"ab"; }
"#;

/// Calls them, and assembly.
const CALLS: &str = r#"
extern "C" { fn first(x: u64) -> u64; fn second(x: u64) -> u64; fn assembled(x: u64) -> u64; }
extern "C" { fn wide() -> *const u32; }
std::arch::global_asm!(".globl assembled", ".type assembled, @function", "assembled:",
    "lea rax, [rdi + 5]", "ret", ".size assembled, . - assembled");
pub fn in_c(x: u64) -> u64 { unsafe { first(x) } }
pub fn after(x: u64) -> u64 { unsafe { second(x) } }
pub fn in_assembly(x: u64) -> u64 { unsafe { assembled(x) } }
pub fn of_text(_: u64) -> u64 { unsafe { u64::from(*wide().add(1)) } }
"#;

#[cfg_attr(not(target_arch = "x86_64"), ignore = "programs are watched on x86-64 alone")]
#[test]
fn code_in_other_languages_counts_as_any_other() {
    let repo = Repo::new("library");
    let works = ["in_c", "after", "in_assembly", "of_text"];
    let works = works.map(|name| format!("(\"{name}\", steady::{name}), "));
    repo.write("benches/work.rs", &bench(&works.concat()));
    repo.write("build.rs", BUILD_SCRIPT);
    repo.write("work.c", IN_C);
    repo.write("src/lib.rs", &format!("{LIBRARY}{CALLS}"));
    repo.commit("base");
    repo.branch("feature");
    // Of the changed function the code is longer, so the others move.
    repo.write("work.c", &IN_C.replace("x * 9", "x * 9 / (x % 5 + 1)"));
    let measured = |object: &Value| {
        let names = ["one", "in_c", "after", "in_assembly", "of_text"].into_iter();
        names.filter(|name| status(object, name) == "compared").collect::<Vec<_>>().join(" ")
    };
    assert_eq!(measured(&compare(&repo, ONE_PAIR)), "in_c");
    // A string of wide characters, behind the first byte that is zero.
    repo.write("work.c", &IN_C.replace("ab", "ac"));
    assert_eq!(measured(&compare(&repo, ONE_PAIR)), "of_text");
    repo.write("work.c", IN_C);
    repo.write("src/lib.rs", &format!("{LIBRARY}{CALLS}").replace("rdi + 5", "rdi + 6"));
    // What is no section of its own is code that anything may run.
    let all = measured(&compare(&repo, ONE_PAIR));
    assert!(["in_assembly", "one in_c after in_assembly of_text"].contains(&&*all), "{all}");
}

/// A second benchmark that runs what differs, depending on a file or a variable.
const ASKS: &str = r#"
#[inline(never)] pub fn rare(x: u64) -> u64 { std::hint::black_box(x).wrapping_mul(13) }
#[inline(never)] pub fn two(x: u64) -> u64 {
    let asked = std::fs::read_to_string("FILE").unwrap_or_default();
    let listed = std::fs::read_dir("FOLDER").map_or(0, |all| all.count());
    let is_busy = asked == "busy" || listed > 1 || std::env::var_os("IS_BUSY").is_some();
    if is_busy { rare(x) } else { x }
}
"#;

#[cfg_attr(not(target_arch = "x86_64"), ignore = "programs are watched on x86-64 alone")]
#[test]
fn what_was_seen_before_counts_while_all_is_as_it_was() {
    let repo = Repo::new("library");
    let (file, folder) = (repo.around().join("asked"), repo.around().join("listed"));
    std::fs::create_dir(&folder).unwrap();
    let asks = ASKS.replace("FILE", file.to_str().unwrap());
    let asks = asks.replace("FOLDER", folder.to_str().unwrap());
    repo.write("benches/work.rs", &bench("(\"two\", steady::two)"));
    repo.write("src/lib.rs", &format!("{LIBRARY}{asks}"));
    repo.commit("base");
    repo.branch("feature");
    repo.write("src/lib.rs", &format!("{LIBRARY}{asks}").replace("mul(13)", "mul(17)"));
    repo.commit("head");
    let call = "compare main --harness libtest --seed 5 --layouts off --format json";
    let compare = |more: &str, busy: bool| {
        let call = repo.cbdr(&format!("{call} {more}"));
        let call = if busy { call.env("IS_BUSY", "1") } else { call };
        statuses(&call.run().code(0).json()).map(str::to_owned)
    };
    // The files of what was seen, and when they were written.
    let kept = || -> Vec<_> {
        let builds = std::fs::read_dir(repo.cached().join("builds")).unwrap();
        let folders = builds.map(|build| build.unwrap().path().join("watched"));
        let files = folders.filter_map(|folder| std::fs::read_dir(folder).ok()).flatten();
        let mut all: Vec<_> = files
            .map(|file| file.unwrap())
            .map(|file| (file.path(), file.metadata().unwrap().modified().unwrap()))
            .collect();
        all.sort_unstable();
        all
    };
    assert_eq!(compare("", false), NONE);
    let first = kept();
    assert_eq!(first.len(), 2, "one for each side");
    assert_eq!(compare("", false), NONE);
    assert_eq!(kept(), first, "nothing was watched again");
    // Under other limits, or if it is damaged, it is another observation.
    repo.cbdr(call).after("ulimit -n 500").run().code(0);
    let second = kept();
    assert!(first.iter().zip(&second).all(|(first, second)| first.1 < second.1), "{second:?}");
    assert_eq!(compare("", false), NONE);
    for (path, _) in kept() {
        let text = std::fs::read_to_string(&path).unwrap();
        std::fs::write(&path, text.replacen("\"entered\":[", "\"entered\":[1,", 1)).unwrap();
    }
    let damaged = kept();
    assert_eq!(compare("", false), NONE);
    assert!(damaged.iter().zip(&kept()).all(|(one, other)| one.1 < other.1), "{damaged:?}");
    // A variable, a file that was not there, one in a folder, and back again.
    assert_eq!(compare("", true), SECOND);
    std::fs::write(&file, "busy").unwrap();
    assert_eq!(compare("", false), SECOND);
    std::fs::write(&file, "calm").unwrap();
    assert_eq!(compare("", false), NONE);
    std::fs::write(folder.join("a"), "").unwrap();
    assert_eq!(compare("", false), NONE);
    std::fs::write(folder.join("b"), "").unwrap();
    assert_eq!(compare("", false), SECOND);
    std::fs::remove_file(folder.join("b")).unwrap();
    assert_eq!(compare("", false), NONE);
    // A command before each run may do anything.
    assert_eq!(compare("--prepare true", false), BOTH);
}

/// A second benchmark that runs what differs, if the system grants something else to its process:
/// what that is, a file says.
const GRANTED: &str = r#"
#[inline(never)] pub fn rare(x: u64) -> u64 { std::hint::black_box(x).wrapping_mul(13) }
#[inline(never)] pub fn two(x: u64) -> u64 {
    unsafe extern "C" { safe fn sched_getscheduler(process: i32) -> i32; }
    let is_other = match &*std::fs::read_to_string("FILE").unwrap() {
        "policy" => sched_getscheduler(0) == 3,
        "memory" => std::fs::read_to_string("/proc/self/oom_score_adj").unwrap() == "987\n",
        "lock" => std::fs::File::open("FILE").unwrap().try_lock().is_err(),
        port => std::net::TcpListener::bind(format!("127.0.0.1:{port}")).is_err(),
    };
    if is_other { rare(x) } else { x }
}
"#;

#[cfg_attr(not(target_arch = "x86_64"), ignore = "programs are watched on x86-64 alone")]
#[test]
fn what_was_seen_before_does_not_count_where_a_process_is_granted_something_else() {
    let repo = Repo::new("library");
    let file = repo.around().join("asked");
    let granted = GRANTED.replace("FILE", file.to_str().unwrap());
    repo.write("benches/work.rs", &bench("(\"two\", steady::two)"));
    repo.write("src/lib.rs", &format!("{LIBRARY}{granted}"));
    repo.commit("base");
    repo.branch("feature");
    repo.write("src/lib.rs", &format!("{LIBRARY}{granted}").replace("mul(13)", "mul(17)"));
    repo.commit("head");
    let call = "compare main --harness libtest --seed 5 --layouts off --format json";
    let compare = |before: &str| {
        statuses(&repo.cbdr(call).after(before).run().code(0).json()).map(str::to_owned)
    };
    for (what, before) in
        [("policy", "chrt --batch --pid 0 $$"), ("memory", "echo 987 > /proc/self/oom_score_adj")]
    {
        std::fs::write(&file, what).unwrap();
        assert_eq!(compare("true"), NONE, "{what}");
        assert_eq!(compare(before), SECOND, "{what}");
    }
    std::fs::write(&file, "lock").unwrap();
    assert_eq!(compare("true"), NONE);
    let lock = std::fs::File::open(&file).unwrap();
    lock.lock().unwrap();
    assert_eq!(compare("true"), SECOND, "another process has the lock");
    let server = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = server.local_addr().unwrap();
    std::fs::write(&file, address.port().to_string()).unwrap();
    drop(server);
    assert_eq!(compare("true"), NONE);
    let _server = std::net::TcpListener::bind(address).unwrap();
    assert_eq!(compare("true"), SECOND, "another process has the port");
}

#[cfg_attr(not(target_arch = "x86_64"), ignore = "programs are watched on x86-64 alone")]
#[test]
fn functions_are_compared_once_for_two_builds() {
    let plain = "#[inline(never)] pub fn two(x: u64) -> u64 { x.wrapping_mul(9) }";
    let repo = repo(plain, &plain.replace('9', "13"));
    repo.commit("head");
    let compare = || {
        let call = "compare main --harness libtest --seed 5 --layouts off --format json";
        statuses(&repo.cbdr(call).run().code(0).json()).map(str::to_owned)
    };
    let stored = || -> Vec<_> {
        let builds = std::fs::read_dir(repo.cached().join("builds")).unwrap();
        let folders = builds.map(|build| build.unwrap().path().join("compared"));
        let files = folders.filter_map(|folder| std::fs::read_dir(folder).ok()).flatten();
        files.map(|file| file.unwrap().path()).collect()
    };
    assert_eq!(compare(), SECOND);
    let files = stored();
    assert_eq!(files.len(), 1, "{files:?}");
    let written = || files[0].metadata().unwrap().modified().unwrap();
    let read = || std::fs::read_to_string(&files[0]).unwrap();
    let (first, content) = (written(), read());
    assert_eq!(compare(), SECOND);
    assert_eq!(written(), first, "the functions were compared again");
    // One that names another function.
    let wrong = content.replace("steady::two", "steady::one");
    assert!(wrong != content);
    std::fs::write(&files[0], wrong).unwrap();
    assert_eq!(compare(), SECOND);
    assert!(read() == content, "it was not made again");
    // Another build of the head has its own, and all go with their builds.
    repo.write("src/lib.rs", &format!("// More.\n{LIBRARY}{}", plain.replace('9', "13")));
    repo.commit("more");
    assert_eq!(compare(), SECOND);
    assert_eq!(stored().len(), 2);
    repo.cbdr("cache clean").run().code(0);
    assert!(!repo.cached().join("builds").exists());
}

/// A function of a random library: what it does, with a number, and the functions that it
/// calls, which come before it.
struct Piece {
    way: u64,
    constant: u64,
    calls: [usize; 2],
    inline: &'static str,
}

/// The ways in which one function depends on others and on a number: `K` is its own place in
/// the library, `C` the number, `A` and `B` are calls.
const PIECES: [&str; 12] = [
    "pub fn fK(x: u64) -> u64 { A(x).wrapping_mul(C) ^ B(x) }",
    "static TK: [u64; 4] = [C, C ^ 1, C ^ 2, C ^ 3];
     pub fn fK(x: u64) -> u64 { TK[(black_box(x) % 4) as usize] ^ A(x) }",
    "static TK: [fn(u64) -> u64; 2] = [A, B];
     pub fn fK(x: u64) -> u64 { black_box(&TK)[(x % 2) as usize](x).wrapping_add(C) }",
    "pub struct SK; impl Do for SK { fn go(&self, x: u64) -> u64 { A(x) ^ C } }
     pub fn fK(x: u64) -> u64 { black_box(&SK as &dyn Do).go(x).wrapping_add(B(x)) }",
    "pub fn fK(x: u64) -> u64 {
         let closure = |y: u64| A(y).wrapping_mul(C); black_box(&closure as &dyn Fn(u64) -> u64)(x) }",
    "pub fn fK(x: u64) -> u64 { black_box(\"text C\").bytes().map(u64::from).sum::<u64>() ^ A(x) }",
    "static LK: LazyLock<u64> = LazyLock::new(|| A(C)); pub fn fK(x: u64) -> u64 { *LK ^ B(x) }",
    "pub fn fK(x: u64) -> u64 {
         match black_box(x) % 5 { 0 => C, 1 => A(x), 2 => x, 3 => B(x) ^ C, _ => 7 } }",
    "pub fn fK(x: u64) -> u64 { (black_box(x) as f64 * C.5) as u64 ^ A(x) }",
    "thread_local! { static VK: Cell<u64> = const { Cell::new(C) }; }
     pub fn fK(x: u64) -> u64 { VK.with(|v| v.replace(v.get() ^ 1)) ^ A(x) }",
    "pub fn fK(x: u64) -> u64 {
         let mut all = vec![x, C, A(x)]; all.sort_by_key(|one| one.wrapping_mul(C)); all[1] }",
    "pub fn fK(x: u64) -> u64 { std::thread::spawn(move || A(x) ^ C).join().unwrap() }",
];

fn random_library(random: &mut Random) -> Vec<Piece> {
    let inline = ["", "#[inline] ", "#[inline(never)] "];
    let one = |place: usize| Piece {
        way: random.below(PIECES.len() as u64),
        constant: random.below(1 << 20),
        calls: [0; 2].map(|_| random.below(place.max(1) as u64) as usize),
        inline: inline[random.below(3) as usize],
    };
    (0..20).map(one).collect()
}

fn written(library: &[Piece]) -> String {
    let begin = "use std::cell::Cell; use std::hint::black_box; use std::sync::LazyLock;
        pub trait Do { fn go(&self, x: u64) -> u64; }
        #[inline(never)] pub fn one(x: u64) -> u64 { x }\n";
    let piece = |(place, piece): (usize, &Piece)| {
        let call = |which: usize| match place {
            0 => "one".to_owned(),
            _ => format!("f{}", piece.calls[which]),
        };
        let text = PIECES[piece.way as usize].replace('K', &place.to_string());
        let text = text.replace('C', &piece.constant.to_string());
        // `Cell` is the only other word that begins so.
        let text = text.replace(&format!("{}ell", piece.constant), "Cell");
        let text =
            text.replace("A(", &format!("{}(", call(0))).replace("B(", &format!("{}(", call(1)));
        let text = text.replace("[A, B]", &format!("[{}, {}]", call(0), call(1)));
        text.replacen("pub fn", &format!("{}pub fn", piece.inline), 1) + "\n"
    };
    begin.to_owned() + &library.iter().enumerate().map(piece).collect::<String>()
}

#[cfg_attr(not(target_arch = "x86_64"), ignore = "programs are watched on x86-64 alone")]
#[test]
fn of_random_programs_only_benchmarks_that_find_the_same_are_unaffected() {
    let programs = setting("CBDR_RANDOM_PROGRAMS", 2);
    let mut left_out = 0;
    for seed in 0..programs {
        let mut random = Random::new(900 + seed);
        let mut library = random_library(&mut random);
        let repo = Repo::new("library").with(RELEASES[(seed / 2 % 2) as usize]);
        let works = (0..library.len()).map(|place| format!("(\"f{place}\", steady::f{place}), "));
        let bench = bench(&works.collect::<String>());
        // What a benchmark finds is what it reports.
        let bench = bench.replace(
            "std::hint::black_box(work(std::hint::black_box(3)));",
            "let found = work(std::hint::black_box(3));",
        );
        let bench =
            bench.replace("100.0 + f64::from(noise) * 1e-6", "(1 + found % 999_983) as f64");
        repo.write("benches/work.rs", &bench);
        repo.write("src/lib.rs", &written(&library));
        repo.commit("base");
        repo.branch("feature");
        let changed = random.below(library.len() as u64) as usize;
        let piece = &mut library[changed];
        match random.below(3) {
            0 => piece.way = random.below(PIECES.len() as u64),
            1 => piece.calls[0] = random.below(changed.max(1) as u64) as usize,
            _ => piece.constant += 1,
        }
        repo.write("src/lib.rs", &written(&library));
        // Of some, all functions have other names.
        if seed % 2 == 1 {
            for file in ["Cargo.toml", "Cargo.lock"] {
                repo.replace(file, "version = \"0.1.0\"", "version = \"0.2.0\"");
            }
        }
        let unaffected = compare(&repo, ONE_PAIR);
        let all = compare(&repo, &format!("{ONE_PAIR} --measure-all"));
        if all["verdict"] == "identical" {
            continue;
        }
        let about = format!("program {seed}, whose f{changed} has changed");
        for benchmark in all["benchmarks"].as_array().unwrap() {
            let name = benchmark["name"].as_str().unwrap();
            let found = &benchmark["metrics"][0];
            if status(&unaffected, name) == "unaffected" {
                left_out += 1;
                assert_eq!(found["base"], found["head"], "{name} of {about}");
            }
        }
    }
    // Where code of the program itself differs by luck, all is measured.
    assert!(left_out > 0);
}

#[cfg_attr(not(target_arch = "x86_64"), ignore = "programs are watched on x86-64 alone")]
#[test]
fn a_dynamic_library_that_differs_is_seen() {
    let repo = Repo::new("library");
    let needs = "[dependencies]\nshared = { path = \"shared\" }\n\n[[bench]]";
    repo.replace("Cargo.toml", "[[bench]]", needs);
    let locked = "name = \"steady\"\nversion = \"0.1.0\"\n";
    let needs = format!("{locked}dependencies = [\n \"shared\",\n]\n");
    repo.replace("Cargo.lock", locked, &needs);
    let package = "[[package]]\nname = \"shared\"\nversion = \"0.1.0\"\n\n[[package]]";
    repo.replace("Cargo.lock", "[[package]]", package);
    repo.write(
        "shared/Cargo.toml",
        "[package]\nname = \"shared\"\nversion = \"0.1.0\"\nedition = \"2021\"\n\n\
         [lib]\ncrate-type = [\"dylib\"]\n",
    );
    let work = "#[inline(never)] pub fn work(x: u64) -> u64 { x.wrapping_mul(9) }";
    repo.write("shared/src/lib.rs", work);
    repo.write("benches/work.rs", &bench("(\"two\", shared::work)"));
    repo.write("src/lib.rs", LIBRARY);
    repo.commit("base");
    repo.branch("feature");
    repo.write("shared/src/lib.rs", &work.replace('9', "13"));
    assert_eq!(statuses(&compare(&repo, ONE_PAIR)), BOTH);
}

/// Executes the program again without randomized addresses, as some harnesses do.
const AGAIN: &str = r#"use std::os::unix::process::CommandExt;
    unsafe extern "C" { fn personality(persona: u64) -> i32; }
    let now = unsafe { personality(0xffff_ffff) };
    if now & 0x40000 == 0 && unsafe { personality((now | 0x40000) as u64) } != -1 {
        let mut again = std::process::Command::new("/proc/self/exe");
        panic!("{}", again.arg0(std::env::args_os().next().unwrap())
            .args(std::env::args_os().skip(1)).exec());
    }"#;

#[cfg_attr(not(target_arch = "x86_64"), ignore = "programs are watched on x86-64 alone")]
#[test]
fn what_executes_itself_again_is_measured() {
    let plain = "#[inline(never)] pub fn two(x: u64) -> u64 { x.wrapping_mul(9) }";
    let repo = Repo::new("library");
    let again = format!("fn main() {{ {AGAIN}");
    repo.write("benches/work.rs", &bench("(\"two\", steady::two)").replace("fn main() {", &again));
    repo.write("src/lib.rs", &format!("{LIBRARY}{plain}"));
    repo.commit("base");
    repo.branch("feature");
    repo.write("src/lib.rs", &format!("{LIBRARY}{plain}").replace('9', "13"));
    assert_eq!(statuses(&compare(&repo, ONE_PAIR)), BOTH);
}

/// Libtest executes benchmarks once where `--bench` is missing, which shows as much as seconds of
/// repetition if no code differs, and mostly what a benchmark enters. Tests are not executed.
#[cfg_attr(not(target_arch = "x86_64"), ignore = "programs are watched on x86-64 alone")]
#[test]
fn the_largest_parts_of_the_benchmarks_are_looked_at_first() {
    let two = "#[inline(never)] pub fn two(x: u64) -> u64 { x.wrapping_mul(13) }\n";
    let repo = repo(two, &two.replace("13", "17"));
    let more = "(\"two\", steady::two), (\"c\", steady::idle), (\"d\", steady::idle)";
    repo.write("benches/work.rs", &SLOW.replace("MORE", more));
    repo.commit("head");
    let runs = repo.around().join("runs");
    let call = "compare main --bench-from head --seed 5 --layouts off --max-pairs 6";
    let object =
        repo.cbdr(&format!("{call} --format json")).env("RUNS", &runs).run().code(0).json();
    assert_eq!(status(&object, "two"), "compared", "{object}");
    assert_eq!(status(&object, "d"), "unaffected", "{object}");
    let runs = std::fs::read_to_string(runs).unwrap();
    let first = |names: &str| runs.lines().position(|line| line == names).expect(&runs);
    assert!(first("one|two") < first("c|d") && first("c|d") < first("two"), "{runs}");
}

/// What the benchmarks of `SLOW` are registered by, and what is called only for several names.
const SEARCHED: &str = r#"
#[inline(never)] fn two(x: u64) -> u64 { std::hint::black_box(x).wrapping_mul(13) }
#[inline(never)] fn registered() -> Vec<(&'static str, fn(u64) -> u64)> {
    let two = std::hint::black_box(two as fn(u64) -> u64);
    vec![("one", steady::one), ("two", two), ("c", steady::idle), ("d~1", steady::idle)]
}
#[inline(never)] fn search(names: &str) -> u64 { std::hint::black_box(names.len() as u64) }
"#;

#[cfg_attr(not(target_arch = "x86_64"), ignore = "programs are watched on x86-64 alone")]
#[test]
fn how_a_harness_searches_for_several_benchmarks_is_no_part_of_them() {
    let repo = Repo::new("library");
    let searching =
        "if std::env::args().any(|arg| search(&arg) > 0 && arg.contains('|')) { steady::idle(3); }
        let all = registered();";
    let slow = SLOW.replacen(
        "let all: &[(&str, fn(u64) -> u64)] = &[(\"one\", steady::one), MORE];",
        searching,
        1,
    );
    let slow = slow.replace("in all {", "in &all {") + SEARCHED;
    repo.write("benches/work.rs", &slow);
    repo.write("src/lib.rs", LIBRARY);
    repo.commit("base");
    repo.branch("feature");
    repo.write("benches/work.rs", &slow.replace("mul(13)", "mul(17)"));
    repo.commit("head");
    let runs = repo.around().join("runs");
    let call = "compare main --codegen-units 1 --seed 5 --layouts off --max-pairs 6 --format json";
    let object = repo.cbdr(call).env("RUNS", &runs).run().code(0).json();
    let found = ["one", "two", "c", "d~1"].map(|name| status(&object, name));
    assert_eq!(found, ["unaffected", "compared", "unaffected", "unaffected"], "{object}");
    let runs = std::fs::read_to_string(runs).unwrap();
    assert!(runs.lines().any(|line| line.starts_with("c|d")), "{runs}");
    assert!(runs.lines().all(|line| line != "c"), "{runs}");
}

#[cfg_attr(not(target_arch = "x86_64"), ignore = "programs are watched on x86-64 alone")]
#[test]
fn benchmarks_of_libtest_are_executed_once_to_see_what_they_do() {
    let plain = "#[inline(never)] pub fn two(x: u64) -> u64 { x.wrapping_mul(9) }";
    let repo = repo(plain, plain);
    let as_libtest = |repeat: &str| {
        let known = "if names.len() > 9 { println!(\"Run benchmarks instead of tests\"); }";
        let bench =
            bench("(\"two\", steady::two)").replacen("let all", &format!("{known} let all"), 1);
        let has = |word: &str| format!("if std::env::args().any(|arg| arg == \"{word}\")");
        let list = format!(
            "{} {{ return; }} {} {{ println!(\"three: test\"); {} return; }}",
            has("--ignored"),
            has("--list"),
            "println!(\"one: bench\\ntwo: bench\");",
        );
        let repeats = has("--bench");
        let test = format!("{repeats} {{}} else if names.is_empty() {{ std::process::exit(4); }}");
        let bench = bench.replacen("let all", &format!("{list} {test} let all"), 1);
        let repeat = format!("{} {{ {repeat} }}\n", has("--bench"));
        bench.replacen("println!(\"test", &format!("{repeat}println!(\"test"), 1)
    };
    // That repeats benchmarks can't be seen.
    repo.write("benches/work.rs", &as_libtest("std::process::exit(3);"));
    repo.commit("libtest");
    repo.write("notes.txt", "A file that nobody opens.");
    let call = "compare HEAD~1 --exact-base --harness libtest --layouts off --format json";
    repo.commit("notes");
    assert_eq!(repo.cbdr(call).run().code(0).json()["verdict"], "identical");
    // A tenth of the limit is too short for a run of one that repeats. What differs is never called.
    let sleep = "std::thread::sleep(std::time::Duration::from_millis(500));";
    let rare = "if names.len() > 9 { steady::rare(3); }";
    let bench = as_libtest(sleep).replacen("let all", &format!("{rare} let all"), 1);
    repo.write("benches/work.rs", &bench);
    let rare = plain.replace("two", "rare").replace('9', "21");
    repo.write("src/lib.rs", &format!("{LIBRARY}{plain}{rare}"));
    repo.commit("slow");
    repo.replace("src/lib.rs", "(21)", "(13)");
    repo.commit("head");
    let call = format!("{call} --time-limit 4s --warmup 0");
    assert_eq!(statuses(&repo.cbdr(&call).run().code(0).json()), NONE);
}

/// There, cargo passes `--quiet` on.
#[cfg_attr(not(target_arch = "x86_64"), ignore = "programs are watched on x86-64 alone")]
#[test]
fn benchmarks_of_libtest_are_executed_once_where_cargo_is_quiet() {
    let repo = Repo::new("library");
    let repeats = "if again { std::process::exit(3) }; again = true;";
    let bench = format!(
        "#![feature(test)]\nextern crate test;\n#[bench]\nfn work(bencher: &mut test::Bencher) {{
         let mut again = false; bencher.iter(|| {{ {repeats} }}) }}\n"
    );
    let manifest = "[package]\nname = \"steady\"\nversion = \"0.1.0\"\nedition = \"2021\"\n";
    repo.write("Cargo.toml", manifest);
    repo.write("benches/work.rs", &bench);
    repo.commit("libtest");
    repo.write("notes.txt", "A file that nobody opens.");
    repo.commit("notes");
    let cbdr = repo.cbdr("compare HEAD~1 --exact-base --bench work --format json --quiet");
    let object = cbdr.env("RUSTC_BOOTSTRAP", "1").run().code(0).json();
    assert_eq!(object["verdict"], "identical");
}
