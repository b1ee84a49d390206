//! Why a benchmark regressed: the function that executes more instructions is named.

use std::path::Path;

use serde_json::Value;

use crate::meter::{has_objdump, has_perf, has_valgrind};
use crate::support::{Cbdr, LIBTEST_NAMES, Repo, make_executable, search_path, static_linking};

/// A repository whose benchmark calls a library in another package, and reports as its time
/// what the library says. `base` and `head` are the library's; `configuration` is cargo's.
fn repo(base: &str, head: &str, configuration: &str) -> Repo {
    let repo = Repo::new("library");
    repo.replace(
        "Cargo.toml",
        "[[bench]]",
        "[dependencies]\ndeep = { path = \"deep\" }\n\n[[bench]]",
    );
    repo.replace(
        "Cargo.lock",
        "name = \"steady\"\nversion = \"0.1.0\"\n",
        "name = \"steady\"\nversion = \"0.1.0\"\ndependencies = [\n \"deep\",\n]\n",
    );
    repo.replace(
        "Cargo.lock",
        "[[package]]",
        "[[package]]\nname = \"deep\"\nversion = \"0.1.0\"\n\n[[package]]",
    );
    repo.write(
        "deep/Cargo.toml",
        "[package]\nname = \"deep\"\nversion = \"0.1.0\"\nedition = \"2021\"\n",
    );
    repo.write(
        "benches/work.rs",
        "fn main() {\n    \
             std::hint::black_box(deep::work(std::hint::black_box(3)));\n    \
             let noise = std::time::UNIX_EPOCH.elapsed().unwrap().subsec_nanos() % 1000;\n    \
             let time = deep::TIME * (1.0 + f64::from(noise) * 1e-8);\n    \
             println!(\"{{\\\"work\\\": {{\\\"wall_time\\\": {time}}}}}\");\n\
         }\n",
    );
    repo.write("deep/src/lib.rs", &format!("pub static TIME: f64 = 1e-3;\n{base}"));
    repo.write(".cargo/config.toml", configuration);
    repo.commit("base");
    repo.branch("feature");
    repo.write("deep/src/lib.rs", &format!("pub static TIME: f64 = 2e-3;\n{head}"));
    repo.commit("head");
    repo
}

/// The functions of what has regressed in that repository, with whether their code differs.
fn explained(repo: &Repo) -> Vec<(String, Option<bool>)> {
    let call = "compare main --harness json --layouts off --seed 5 --explain --format json";
    let object = repo.cbdr(call).run().code(100).json();
    let explanation = &object["explanations"][0];
    assert_eq!(explanation["benchmark"], "work", "{object}");
    let functions = explanation["functions"].as_array().unwrap().iter();
    let more =
        |one: &&Value| one["instructions"]["head"].as_u64() > one["instructions"]["base"].as_u64();
    let more = functions.filter(more);
    more.map(|one| (one["name"].as_str().unwrap().to_owned(), one["differs"].as_bool())).collect()
}

#[test]
fn call_stacks_are_not_exported_without_their_explanation() {
    let folder = crate::support::scratch();
    let args = ["compare", "--explain=never", "--export", "flamegraph=flames.svg"];
    let ran = Cbdr::new(folder.path(), &folder.path().join("cache")).args(args).run().code(2);
    ran.says("`--export` of call stacks needs them: leave out `--explain=never`");
}

#[test]
fn the_function_whose_code_differs_comes_first_and_then_what_executes_more() {
    if !has_valgrind() {
        return;
    }
    // Deep in a dependency.
    let library = "#[inline(never)] pub fn work(x: u64) -> u64 { (0..x).map(middle).sum() }
        #[inline(never)] fn middle(x: u64) -> u64 { inner(x) + 1 }
        #[inline(never)] fn inner(x: u64) -> u64 {
            let mut all = x; for n in 0..1000 { all = std::hint::black_box(all ^ n); } all }";
    let repo = repo(library, &library.replace("1000", "9000"), &static_linking());
    let call = "compare main --harness json --layouts off --seed 5 --format";
    let page = "markdown --explain --report ../page.html --export folded-head=../head.folded \
                --export folded-base=../base.folded --export flamegraph=../flames.svg";
    let said = repo.cbdr(&format!("{call} {page}")).run().code(100).stdout;
    let row = said.lines().find(|line| line.starts_with("| `deep::")).unwrap_or_default();
    assert!(row.starts_with("| `deep::inner` |") && row.ends_with("| changed |"), "{said}");
    let page = std::fs::read_to_string(repo.around().join("page.html")).unwrap();
    assert!(page.contains("<th scope=\"row\"><code>deep::inner</code></th>"), "{page}");
    // The call stacks are there, too, and where they have become dearer.
    let read = |name: &str| std::fs::read_to_string(repo.around().join(name)).unwrap();
    let inner = |name: &str| -> u64 {
        let text = read(name);
        let stack = "deep::work;deep::middle;deep::inner ";
        let line = text.lines().find(|line| line.starts_with("work;main;") && line.contains(stack));
        line.unwrap_or_else(|| panic!("{text}")).rsplit_once(' ').unwrap().1.parse().unwrap()
    };
    assert!(inner("head.folded") > 8 * inner("base.folded"));
    for picture in [&page, &read("flames.svg")] {
        assert!(picture.contains("<title>* deep::inner ("), "{picture}");
    }
    // Without the option, it is tried, but given up after a while.
    let tried = "Counting the instructions of `work`";
    repo.cbdr(&format!("{call} markdown")).run().code(100).says(tried);
    let never = repo.cbdr(&format!("{call} markdown --explain=never")).run().code(100);
    assert!(!never.never_says(tried).stdout.contains("instructions"));
    // By a constant that makes a buffer smaller.
    let library = "static SIZE: usize = 4096;
        #[inline(never)] pub fn work(x: u64) -> u64 {
            let size = std::hint::black_box(&SIZE); (0..9999 / size).map(|n| fill(n as u64 + x)).sum() }
        #[inline(never)] fn fill(x: u64) -> u64 {
            let mut all = x; for n in 0..100 { all = std::hint::black_box(all ^ n); } all }";
    let smaller = library.replace("4096", "64");
    let functions = explained(&self::repo(library, &smaller, &static_linking()));
    assert_eq!(functions[0], ("deep::work".to_owned(), Some(true)), "{functions:?}");
    assert!(functions.contains(&("deep::fill".to_owned(), Some(false))), "{functions:?}");
}

#[cfg(target_os = "linux")]
#[test]
fn the_lines_that_are_executed_more_often_are_printed() {
    if !has_valgrind() || !has_objdump() {
        return;
    }
    let base = "#[inline(never)]
pub fn work(x: u64) -> u64 {
    let mut all = x;
    for n in 0..1000 {
        all = std::hint::black_box(all ^ n);
    }
    all
}
";
    let head = base.replace(" ^ n);", " ^ n);\n        all ^= all << 7;");
    let call = "compare main --harness json --layouts off --seed 5 --explain";
    let lines = |repo: &Repo, more: &str| {
        let object = repo.cbdr(&format!("{call} --format json {more}")).run().code(100).json();
        let hot = object["explanations"][0]["hot"].clone();
        assert_eq!(hot["function"], "deep::work", "{object}");
        hot["lines"].as_array().unwrap().clone()
    };
    let is_new = |line: &Value| {
        let count = |side: &str| line["instructions"][side].as_u64().unwrap();
        count("base") == 0 && (1000..9000).contains(&count("head"))
    };
    let repo = repo(base, &head, &static_linking());
    let found = lines(&repo, "");
    assert!((1..=10).contains(&found.len()) && found.iter().any(is_new), "{found:?}");
    if cfg!(target_arch = "x86_64") {
        let shifts = |line: &&Value| line["text"].as_str().unwrap().starts_with("shl ");
        assert!(found.iter().find(shifts).is_some_and(is_new), "{found:?}");
    }
    // Without objdump, the functions are still named.
    let path = path_without(&repo.around().join("path"), &["objdump"]);
    let named = repo.cbdr(call).env("PATH", &path).run().code(100);
    let said = &named.says("`objdump` is not on the PATH").stdout;
    let row = said.lines().find(|line| line.starts_with("  deep::work ")).unwrap_or_default();
    assert!(row.ends_with("  changed") && !said.contains("these lines"), "{said}");
    // With line tables, they are those of the source.
    let debug = "[profile.bench]\ndebug = \"line-tables-only\"\n";
    let repo = self::repo(base, &head, &(static_linking() + debug));
    let found = lines(&repo, "--report ../page.html");
    let planted = found.iter().find(|line| line["place"] == "deep/src/lib.rs:7");
    let planted = planted.unwrap_or_else(|| panic!("{found:?}"));
    assert!(is_new(planted) && planted["text"] == "all ^= all << 7;", "{found:?}");
    let page = std::fs::read_to_string(repo.around().join("page.html")).unwrap();
    assert!(page.contains("<code>deep/src/lib.rs:7  all ^= all &lt;&lt; 7;</code>"), "{page}");
}

/// Benchmarks of libtest's form, which repeat a function for a while and print what an iteration
/// takes: of the processor's time, which other programs do not change much, so that the while can
/// be short.
const TIMED: &str = r#"
extern "C" {
    /// Of the processor's time, in microseconds.
    fn clock() -> std::os::raw::c_long;
}

fn main() {
    LIBTEST_NAMES
    let all: [(&str, fn(u64) -> u64); 2] = [("print", steady::print), ("other", steady::hot)];
    for (name, work) in all {
        if !names.is_empty() && !names.iter().any(|chosen| *chosen == name) {
            continue;
        }
        let begin = unsafe { clock() };
        let elapsed = || unsafe { clock() } - begin;
        let mut iterations = 0;
        while elapsed() < MICROSECONDS {
            for _ in 0..100 {
                std::hint::black_box(work(std::hint::black_box(iterations)));
                iterations += 1;
            }
        }
        let time = 1000.0 * elapsed() as f64 / iterations as f64;
        println!("test {name} ... bench: {time:.5} ns/iter (+/- 1.00)");
    }
}
"#;

/// `print` spends a third of its time in `hot`.
const HOT: &str = "
    #[inline(never)] pub fn print(x: u64) -> u64 { hot(x) ^ cold(x) }
    #[inline(never)] pub fn hot(x: u64) -> u64 {
        let mut all = x; for n in 0..5000 { all = std::hint::black_box(all ^ n); } all }
    #[inline(never)] pub fn cold(x: u64) -> u64 {
        let mut all = x; for n in 0..10000 { all = std::hint::black_box(all ^ n); } all }";

/// A repository in which `hot` takes nineteen times as long on the head: far more than other
/// tests slow any run. A run repeats each benchmark for so many microseconds.
fn timed(microseconds: u32) -> Repo {
    let repo = Repo::new("library");
    let bench = TIMED.replace("LIBTEST_NAMES", LIBTEST_NAMES);
    repo.write("benches/work.rs", &bench.replace("MICROSECONDS", &microseconds.to_string()));
    repo.write("src/lib.rs", HOT);
    repo.commit("base");
    repo.branch("feature");
    repo.write("src/lib.rs", &HOT.replace("5000", "95000"));
    repo.commit("head");
    repo
}

/// A folder with links to all programs of the `PATH` but these.
#[cfg(unix)]
fn path_without(folder: &Path, missing: &[&str]) -> std::ffi::OsString {
    std::fs::create_dir_all(folder).unwrap();
    for place in std::env::split_paths(search_path()) {
        for program in std::fs::read_dir(place).into_iter().flatten().flatten() {
            let name = program.file_name();
            if !missing.iter().any(|missing| name == *missing) {
                // The first of a name counts.
                let _ = std::os::unix::fs::symlink(program.path(), folder.join(name));
            }
        }
    }
    folder.into()
}

/// A perf that takes samples once for each side, since the real one takes a second to begin. It
/// pretends further runs with the same samples and times: those of real ones could vary by more
/// than the change.
const ONCE: &str = r#"#!/bin/sh
for arg; do
    [ "$last" != --output ] || output=$arg
    case $arg in */base/*) side=base ;; */head/*) side=head ;; esac
    last=$arg
done
if ! [ -e "KEPT.$side" ]; then
    'PERF' "$@" > "KEPT.$side.text" && cp "$output" "KEPT.$side" || exit
fi
cp "KEPT.$side" "$output" && cat "KEPT.$side.text"
"#;

#[cfg(unix)]
#[test]
fn where_nothing_counts_instructions_samples_show_the_function() {
    if !has_perf() {
        return;
    }
    // Long enough for samples.
    let repo = timed(15_000);
    let path = repo.around().join("path");
    path_without(&path, &["valgrind", "perf"]);
    let usual = std::env::split_paths(search_path()).map(|folder| folder.join("perf"));
    let perf = usual.into_iter().find(|perf| perf.is_file()).unwrap();
    let kept = repo.around().join("kept").display().to_string();
    let script = ONCE.replace("PERF", perf.to_str().unwrap()).replace("KEPT", &kept);
    std::fs::write(path.join("perf"), script).unwrap();
    make_executable(&path.join("perf"));
    let call = "compare main --harness libtest --layouts off --seed 5 --filter print --explain \
                --format json --report ../page.html";
    let object = repo.cbdr(call).env("PATH", &path).run().code(100).json();
    let explanation = &object["explanations"][0];
    assert_eq!(explanation["benchmark"], "print", "{object}");
    assert!(explanation.get("instructions").is_none(), "{explanation}");
    let seconds = |of: &Value, side: &str| of["seconds"][side].as_f64().unwrap();
    let hot = &explanation["functions"][0];
    let expected = (&"steady::hot".into(), &true.into());
    assert_eq!((&hot["name"], &hot["differs"]), expected, "{explanation}");
    let (all, part) =
        (seconds(explanation, "base"), seconds(hot, "base") / seconds(explanation, "base"));
    assert!((1e-6..1e-3).contains(&all) && (0.1..0.7).contains(&part), "{explanation}");
    assert!(seconds(hot, "head") > 1.5 * seconds(hot, "base"), "{hot}");
    let page = std::fs::read_to_string(repo.around().join("page.html")).unwrap();
    assert!(page.contains("<th scope=\"row\"><code>steady::hot</code></th>"), "{page}");
    assert!(page.contains("sampled by perf"), "{page}");
}

#[cfg(unix)]
#[test]
fn without_valgrind_and_perf_the_reasons_are_told_to_who_asks() {
    let repo = timed(1_000);
    let path = path_without(&repo.around().join("path"), &["valgrind", "perf"]);
    let compare = |args: &str| {
        let call = "compare main --harness libtest --layouts off --seed 5 --filter print";
        repo.cbdr(&format!("{call} {args}")).env("PATH", &path).run().code(100)
    };
    let why = "instructions can't be counted (`valgrind` is not on the PATH), and samples can't be \
               taken (`perf` is not on the PATH)";
    let asked = compare("--explain --format json");
    assert!(asked.json()["notices"].to_string().contains(why), "{}", asked.stdout);
    // Nobody asked.
    let said = compare("--format markdown");
    assert!(!said.stdout.contains("PATH") && !said.stderr.contains("PATH"), "{said:?}");
}

#[test]
fn code_that_has_grown_is_explained_by_crates() {
    let more = "#[inline(never)] pub fn more(x: f64) -> String { format!(\"{x:.3} {x:e}\") }\n";
    let base = "pub fn work(x: u64) -> u64 { x }\n";
    let head = format!("{more}pub fn work(x: u64) -> u64 {{ x + more(x as f64).len() as u64 }}\n");
    let repo = repo(base, &head, "");
    let call = "compare main --harness plain --metric text_bytes --threshold 0% --explain";
    let object = repo.cbdr(&format!("{call} --format json")).run().code(100).json();
    let explanation = &object["explanations"][0];
    let sizes = |of: &Value| ["base", "head"].map(|side| of["bytes"][side].as_u64().unwrap());
    let text = crate::support::metric(&object, "text_bytes");
    assert_eq!(explanation["benchmark"], "work", "{object}");
    let all = ["base", "head"].map(|side| text[side].as_f64().unwrap() as u64);
    assert_eq!(sizes(explanation), all);
    let crates = explanation["functions"].as_array().unwrap();
    let deep = crates.iter().find(|one| one["name"] == "deep").unwrap();
    let [base, head] = sizes(deep);
    assert!(base < head && head < 2000, "{object}");
    let stdout = repo.cbdr(call).run().code(100).stdout;
    assert!(stdout.contains("these crates have") && stdout.contains("  deep "), "{stdout}");
}
