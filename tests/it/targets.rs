//! Which bench targets run by default, and what a filter selects of them.

use serde_json::Value;

use crate::support::{Ran, Repo};

/// A bench that prints as Rust's own harness does, and takes its filters.
fn bench(names: &[&str]) -> String {
    format!(
        "fn main() {{
    let (mut is_exact, mut filters) = (false, Vec::new());
    for arg in std::env::args().skip(1) {{
        if arg == \"--help\" {{
            println!(\"--exact   Exactly match filters rather than by substring\");
        }}
        is_exact |= arg == \"--exact\";
        if !arg.starts_with('-') {{
            filters.push(arg);
        }}
    }}
    for name in {names:?} {{
        let mut fits = filters.is_empty();
        for filter in &filters {{
            fits |= if is_exact {{ name == filter }} else {{ name.contains(&**filter) }};
        }}
        if fits {{
            println!(\"test {{name}} ... bench: 1,000.00 ns/iter (+/- 1.00)\");
        }}
    }}
}}
"
    )
}

const BROKEN: &str = "fn main() {\n    nothing_of_this_name();\n}\n";

/// The entry of a bench target in a manifest.
fn entry(name: &str, more: &str) -> String {
    let harness = if more.contains("harness") { "" } else { "harness = false" };
    format!("[[bench]]\nname = \"{name}\"\n{harness}\n{more}\n")
}

/// Nothing here depends on how fast it runs.
const QUICKLY_BUILT: &str = "[profile.release]\nopt-level = 0\n";

/// Writes a package with bench targets into a folder: their names, what else their entries
/// say, and their sources.
fn package(repo: &Repo, folder: &str, name: &str, more: &str, benches: &[(&str, &str, &str)]) {
    let entries: String = benches.iter().map(|(name, more, _)| entry(name, more)).collect();
    let manifest = format!("[package]\nname = \"{name}\"\nedition = \"2021\"\n{more}\n{entries}");
    repo.write(&format!("{folder}/Cargo.toml"), &manifest);
    repo.write(&format!("{folder}/src/lib.rs"), "");
    for (name, _, source) in benches {
        repo.write(&format!("{folder}/benches/{name}.rs"), source);
    }
}

/// A repository with a package at its root, on a branch that changes nothing.
fn repository(more: &str, benches: &[(&str, &str, &str)]) -> Repo {
    let repo = Repo::new("steady");
    repo.git(&["rm", "--quiet", "-r", "--force", "."]);
    package(&repo, ".", "root", &format!("{more}\n{QUICKLY_BUILT}"), benches);
    repo.commit("a package of its own");
    repo.branch("feature");
    repo.write("words.md", "words");
    repo.commit("words");
    repo
}

/// A comparison with `main` that measures a pair, as few as only a shard may have, whatever changed.
fn compare(repo: &Repo, args: &str) -> Ran {
    let call = "compare main --always-run --max-pairs 1 --shard 1/1 --samples ../samples.csv";
    repo.cbdr(&format!("{call} --layouts off --format json {args}")).run()
}

#[track_caller]
fn names(ran: &Ran) -> Vec<String> {
    let object = ran.json();
    let benchmarks = object["benchmarks"].as_array().unwrap();
    benchmarks.iter().map(|one: &Value| one["name"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn all_bench_targets_run_and_a_filter_takes_a_name_as_it_is_printed() {
    let one = bench(&["parse", "parse_more", "print"]);
    let two = bench(&["parse", "two/sort"]);
    let own = "#[test]\nfn it_works() {}\n";
    // The last one is of Rust's own harness, and has only tests.
    let hidden = "#[cfg(feature = \"fast\")]\n#[bench]\nfn parse(_: &mut Bencher) {}\n";
    let benches = [
        ("one", "", &*one),
        ("two", "", &two),
        ("own", "harness = true", own),
        ("hidden", "harness = true", hidden),
    ];
    let repo = repository("", &benches);
    let ran = compare(&repo, "").code(0).never_says("own` is left out");
    let ran = ran.says("`hidden` is left out: no benchmarks, although the source has `#[bench]`");
    let all = ["one/parse", "one/parse_more", "one/print", "two/parse", "two/two/sort"];
    assert_eq!(names(&ran), all);
    let filtered = |filter: &str| names(&compare(&repo, &format!("--filter {filter}")).code(0));
    // A name means no other that has it in its own.
    assert_eq!(filtered("one/parse"), ["one/parse"]);
    assert_eq!(filtered("parse"), ["one/parse", "two/parse"]);
    // Else it is the harness's filter, of the one program or of all of them.
    assert_eq!(filtered("one/p"), ["one/parse", "one/parse_more", "one/print"]);
    assert_eq!(filtered("pars"), ["one/parse", "one/parse_more", "two/parse"]);
    assert_eq!(filtered("sort"), ["two/two/sort"]);
    assert_eq!(filtered("two"), ["two/parse", "two/two/sort"]);
    let ran = compare(&repo, "--filter nothing").code(101);
    ran.says("hint: no name matches the filter `nothing`");
    // A named target is alone, and its names have no prefix.
    assert_eq!(names(&compare(&repo, "--bench two --filter two/sort").code(0)), ["two/sort"]);
}

#[test]
fn required_features_are_enabled() {
    let of =
        |feature: &str| format!("#[cfg(not(feature = {feature:?}))] compile_error!(\"off\");\n");
    let sources = [of("std") + &bench(&["a"]), of("extra") + &bench(&["b"])];
    let features = "[features]\ndefault = [\"std\"]\nstd = []\nextra = []";
    let repo = repository(
        features,
        &[
            ("usual", "required-features = [\"std\"]", &sources[0]),
            ("special", "required-features = [\"extra\", \"std\"]", &sources[1]),
        ],
    );
    let ran = compare(&repo, "").code(0);
    let said = "built with the features that cargo requires for `special`: `extra`\n";
    assert_eq!(names(&ran.says(said)), ["special/b", "usual/a"]);
    let shown = |args: &str| {
        let call = format!("compare main {args} --dry-run --format json");
        repo.cbdr(&call).run().code(0).json()["notices"].to_string()
    };
    let notices = shown("--no-default-features --bench usual");
    let said = "built with the features that cargo requires for `usual`: `std`";
    assert!(notices.contains(said), "{notices}");
    assert!(!shown("--all-features").contains("requires"));
}

#[test]
fn a_target_that_builds_on_neither_side_is_left_out() {
    let good = bench(&["a"]);
    let repo = repository("", &[("bad", "", BROKEN), ("good", "", &good), ("worse", "", BROKEN)]);
    let ran = compare(&repo, "").code(0);
    let ran = ran.says("`bad` is left out: it builds on neither side (`-p root --bench bad`");
    // One program is left, so its names need none before them.
    assert_eq!(names(&ran.says("`worse` is left out")), ["a"]);
    // Who names it wants to know.
    let why =
        "Caused by:\n  error[E0425]: cannot find function `nothing_of_this_name` in this scope";
    compare(&repo, "--bench bad").code(101).says("error: the head does not build").says(why);
    repo.cbdr("history record").run().code(0).says("`bad` is left out: it does not build");
    // The folder in which it failed has a library that others would find on one side only.
    let broken = [("bad", "", BROKEN), ("good", "", &*good), ("worse", "", BROKEN)];
    package(&repo, "mac", "mac", "[lib]\nproc-macro = true", &[]);
    let needed = format!("[dependencies]\nmac = {{ path = \"mac\" }}\n{QUICKLY_BUILT}");
    package(&repo, ".", "root", &needed, &broken);
    repo.commit("a macro");
    repo.write("words.md", "more words");
    repo.commit("more words");
    let ran = repo.cbdr("compare HEAD~1").run().code(0);
    ran.says("`bad` is left out").says("`good` is the same program on both sides\n");
    // Where the head mends it, the base has none to compare with.
    repo.write("benches/bad.rs", &good);
    repo.commit("mended");
    let ran = compare(&repo, "").code(0).says("no baseline for `bad`: the base does not build");
    assert_eq!(names(&ran), ["bad", "good/a"]);
    // A head that breaks one is an error, whatever else builds.
    repo.write("benches/good.rs", BROKEN);
    repo.commit("broken");
    compare(&repo, "").code(101).says("error: the head does not build");
}

#[test]
fn cargo_is_called_once_for_the_targets_of_a_package() {
    let repo = repository("", &[("one", "", &bench(&["a"])), ("two", "", &bench(&["b"]))]);
    let ran = compare(&repo, "").code(0);
    assert_eq!(names(&ran), ["one/a", "two/b"]);
    assert_eq!(ran.stderr.matches(" Finished `bench` profile").count(), 2, "{}", ran.stderr);
}

#[test]
fn several_targets_that_do_not_build_are_found_in_one_pass() {
    let broken = ["b", "d", "e"].map(|name| (name, "", BROKEN));
    let (a, c) = (bench(&["1"]), bench(&["2"]));
    let repo = repository("", &[("a", "", &a), broken[0], ("c", "", &c), broken[1], broken[2]]);
    let ran = compare(&repo, "").code(0);
    for name in ["b", "d", "e"] {
        let ran = &ran;
        assert!(ran.stderr.contains(&format!("`{name}` is left out")), "{}", ran.stderr);
    }
    assert_eq!(names(&ran), ["a/1", "c/2"]);
    // Once for each side.
    assert_eq!(ran.stderr.matches("Diagnosing").count(), 2, "{}", ran.stderr);
}

#[test]
fn a_target_that_does_not_build_costs_no_build_of_the_dependencies() {
    let good = bench(&["a"]) + "#[used]\nstatic NUMBER: u32 = root::NUMBER;\n";
    let dependency = "[dependencies]\ndep = { path = \"dep\" }";
    let repo =
        repository(dependency, &[("bad", "", BROKEN), ("best", "", &good), ("good", "", &good)]);
    package(&repo, "dep", "dep", "", &[]);
    repo.write("src/lib.rs", "pub const NUMBER: u32 = 7;\n");
    repo.git(&["checkout", "--quiet", "main"]);
    repo.commit("a dependency");
    repo.git(&["checkout", "--quiet", "-B", "feature"]);
    for (number, builds) in [(0, 2), (1, 0)] {
        repo.write("src/lib.rs", &format!("pub const NUMBER: u32 = {number};\n"));
        repo.commit("another number");
        let ran = compare(&repo, "").code(0);
        let built = ran.stderr.matches("Compiling dep ").count();
        assert_eq!(built, builds, "{}", ran.stderr);
        assert_eq!(names(&ran.says("`bad` is left out")), ["best/a", "good/a"]);
    }
}

/// A bench that prints as Rust's own harness does, with the time in place of `NOW`, may
/// list its names, and notes its runs.
fn varying(names: &[(&str, f64)]) -> String {
    format!(
        "fn main() {{
    let has = |flag: &str| std::env::args().any(|arg| arg == flag);
    if has(\"--help\") {{
        println!(\"--exact   Exactly match filters rather than by substring\");
    }}
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
    for (number, (name, time)) in {names:?}.iter().enumerate() {{
        let now = (since.as_nanos() + number as u128).to_string();
        let name = name.replace(\"NOW\", &now);
        let noise = (since.as_nanos() / 1000 % 7) as f64 / 1000.0;
        if !has(\"--exact\") || has(&name) {{
            println!(\"test {{name}} ... bench: {{:.2}} ns/iter (+/- 1.00)\", time * (1.0 + noise));
        }}
    }}
}}
"
    )
}

#[test]
fn names_that_change_with_every_run_are_paired_by_their_start_and_position() {
    let base = [("fixed/1", 9e3), ("at NOW ms", 1e3), ("at NOW ms", 3e3), ("gone/1", 1e3)];
    let head = [("fixed/1", 9e3), ("at NOW ms", 1e3), ("at NOW ms", 6e3), ("new/2", 1e3)];
    let repo = repository("", &[("only", "", &varying(&base))]);
    repo.write("benches/only.rs", &varying(&head));
    repo.commit("one slower, one new, one gone");
    let ran = repo.cbdr("compare main --seed 3 --layouts off --format json --max-pairs 40");
    let ran = ran.run().code(100);
    let ran = ran.says("the names `at *` and `at * #2` of `only` change from run to run: ");
    let ran = ran.says("`new/2` is new").says("no longer has the benchmark `gone/1`");
    let object = ran.json();
    let verdict = |at: usize| object["benchmarks"][at]["metrics"][0]["verdict"].clone();
    assert_eq!(names(&ran), ["fixed/1", "at *", "at * #2", "new/2", "gone/1"]);
    assert_eq!(
        (verdict(0), verdict(1), verdict(2)),
        ("no-regression".into(), "no-regression".into(), "regression".into())
    );
}

#[test]
fn what_breaks_the_library_breaks_all() {
    let (one, two) = (bench(&["a"]), bench(&["b"]));
    let repo = repository("", &[("one", "", &one), ("two", "", &two)]);
    repo.write("src/lib.rs", "nothing that is Rust");
    repo.commit("broken");
    let ran = compare(&repo, "").code(101).says("error: the head does not build");
    assert_eq!(ran.stderr.matches("could not compile `root` (lib)").count(), 1, "{}", ran.stderr);
    // That is certain without the base.
    ran.never_says("Building base");
    // The base that does not build is nothing to compare with.
    repo.git(&["checkout", "--quiet", "-b", "mended"]);
    repo.write("src/lib.rs", "");
    repo.commit("mended");
    let ran = repo.cbdr("compare HEAD~1 --exact-base --format json").run().code(0);
    assert_eq!(ran.json()["verdict"], "no-baseline");
}

#[test]
fn what_only_a_nightly_compiler_builds_is_not_tried() {
    let nightly = format!("#![feature(test)]\n{}", bench(&["a"]));
    let good = bench(&["b"]);
    let needs = "required-features = [\"extra\"]";
    let repo =
        repository("[features]\nextra = []", &[("nightly", needs, &nightly), ("good", "", &good)]);
    let version = std::process::Command::new("rustc").arg("-vV").output().unwrap();
    if String::from_utf8_lossy(&version.stdout).contains("-nightly") {
        return;
    }
    let ran = compare(&repo, "").code(0).never_says("error");
    let ran = ran
        .says("`nightly` is left out: the source needs a nightly compiler, but this is")
        .never_says("built with the features");
    assert_eq!(names(&ran), ["b"]);
    compare(&repo, "--bench-from head").code(0).never_says("error");
    repo.write("benches/good.rs", &nightly);
    repo.commit("both");
    // The base's still builds, so that the head's is the head's fault.
    let ran = compare(&repo, "").code(101).says("error: the head does not build");
    let ran = ran.says("hint: the source has `#![feature(…)]`: `--toolchain nightly` builds");
    ran.never_says("another target");
    repo.cbdr("history record").run().code(101).says(
        "error: `good`, `nightly` have to be built by a nightly compiler, but this is rustc ",
    );
}

#[test]
fn a_workspace_runs_what_cargo_bench_would() {
    let repo = Repo::new("steady");
    repo.git(&["rm", "--quiet", "-r", "--force", "."]);
    let (a, b) = (bench(&["a"]), bench(&["b"]));
    package(&repo, "one", "one", "", &[("work", "", &a)]);
    package(&repo, "two", "two", "", &[("work", "", &b), ("more", "", &b)]);
    package(&repo, "none", "none", "", &[]);
    let members = |more: &str| {
        format!(
            "[workspace]\nresolver = \"2\"\nmembers = [\"one\", \"two\", \"none\"]\n{more}\n\
             {QUICKLY_BUILT}"
        )
    };
    repo.write("Cargo.toml", &members(""));
    repo.commit("a workspace");
    repo.branch("feature");
    repo.commit("nothing");
    let sorted = |ran: &Ran| {
        let mut names = names(ran);
        names.sort();
        names.join(" ")
    };
    assert_eq!(sorted(&compare(&repo, "").code(0)), "more/b one/work/a two/work/b");
    // From here on without builds: the names are those of the programs.
    let chosen = |args: &str| {
        sorted(&repo.cbdr(&format!("compare {args} --dry-run --format json")).run().code(0))
    };
    assert_eq!(chosen("main"), "more one/work two/work");
    assert_eq!(chosen("main -p one"), "work");
    let ran = repo.cbdr("compare main --bench mor --dry-run").run().code(101);
    ran.says("no package of this workspace has the bench `mor`")
        .says("hint: did you mean `more`?\n");
    let inside = |folder: &str| {
        let cbdr = repo.cbdr("compare main --dry-run --format json");
        cbdr.folder(&repo.path().join(folder)).run()
    };
    assert_eq!(sorted(&inside("two/src").code(0)), "more work");
    let ran = inside("none").code(101);
    let ran =
        ran.says("error: no benchmark is chosen: `none` has no bench, bin or example target\n");
    ran.says("hint: these packages have benches; choose one with `-p`: `one`, `two`\n");
    // Examples are no benchmarks unless one is chosen.
    for name in ["draw", "print"] {
        repo.write(&format!("none/examples/{name}.rs"), "fn main() {}");
    }
    repo.commit("examples");
    let ran = inside("none").code(101);
    ran.says("`none` has no bench target, but several examples: `draw`, `print`\n")
        .says("hint: choose one with `--example`");
    repo.git(&["reset", "--quiet", "--hard", "HEAD~1"]);
    // Benches in a workspace of their own are named by their folder.
    package(&repo, "none/perf", "perf", "[workspace]", &[("work", "", &a)]);
    let manifest = std::fs::read_to_string(repo.path().join("none/Cargo.toml")).unwrap();
    repo.write("none/Cargo.toml", &(manifest + "[workspace]\n"));
    repo.write(
        "Cargo.toml",
        &members("")
            .replace(", \"none\"", "")
            .replace("[workspace]\n", "[workspace]\nexclude = [\"none\"]\n"),
    );
    repo.commit("apart");
    let ran = inside("none").code(101);
    ran.says("hint: these are separate packages with benches, run `cargo cbdr` in one of them: `none/perf`, `one`, `two`\n");
    repo.git(&["reset", "--quiet", "--hard", "HEAD~1"]);
    // A package's own table is about its own targets.
    let manifest = std::fs::read_to_string(repo.path().join("two/Cargo.toml")).unwrap();
    repo.write("two/Cargo.toml", &(manifest + "[package.metadata.cbdr]\nbench = \"more\"\n"));
    repo.commit("a table");
    assert_eq!(chosen("--aa"), "more work");
    repo.write("Cargo.toml", &members("default-members = [\"one\", \"none\"]\n"));
    repo.commit("default members");
    assert_eq!(chosen("--aa"), "work");
    repo.write("Cargo.toml", &members("default-members = [\"none\"]\n"));
    repo.commit("those that have none");
    assert_eq!(chosen("--aa"), "more work");
    // An error names a command that works everywhere in the workspace.
    repo.write("two/benches/more.rs", BROKEN);
    repo.commit("broken");
    let failed =
        "error: the head does not build: `cargo bench -p two '--bench=more' --no-run` exited";
    compare(&repo, "").code(101).says(failed);
}

#[test]
fn where_only_another_package_has_a_program_it_is_named() {
    let repo = Repo::new("steady");
    repo.git(&["rm", "--quiet", "-r", "--force", "."]);
    ["one", "tool"].iter().for_each(|name| package(&repo, name, name, "", &[]));
    repo.write("tool/src/main.rs", "fn main() {}\n");
    repo.write("Cargo.toml", "[workspace]\nresolver = \"2\"\nmembers = [\"one\", \"tool\"]\n");
    repo.commit("a workspace");
    repo.branch("feature");
    repo.commit("nothing");
    let cbdr = repo.cbdr("compare main --dry-run");
    let ran = cbdr.folder(&repo.path().join("one")).run().code(101);
    ran.says("hint: these packages have binaries or examples; choose one with `-p`: `tool`\n");
}

#[test]
fn a_branch_does_not_lose_a_target_or_loosen_a_packages_gate_in_silence() {
    let (a, b) = (bench(&["a"]), bench(&["b"]));
    let repo = repository("", &[("one", "", &a), ("two", "", &b)]);
    repo.write("benches/one.rs", &bench(&["a", "c"]));
    repo.git(&["rm", "--quiet", "benches/two.rs"]);
    repo.replace("Cargo.toml", &entry("two", ""), "");
    repo.commit("one less");
    let ran = compare(&repo, "").code(0);
    let ran = ran.says("the head no longer has the benchmark `two`, which could fail this check");
    assert_eq!(ran.json()["removed"][0]["benchmark"], "two", "{}", ran.stdout);

    let repo = Repo::new("steady");
    repo.git(&["rm", "--quiet", "-r", "--force", "."]);
    package(&repo, "one", "one", "", &[("one", "", &a)]);
    let table = "[package.metadata.cbdr]\nthreshold = \"3%\"";
    package(&repo, "two", "two", table, &[("two", "", &b)]);
    let members = "[workspace]\nresolver = \"2\"\nmembers = [\"one\", \"two\"]\n";
    repo.write("Cargo.toml", &format!("{members}{QUICKLY_BUILT}"));
    repo.commit("a workspace");
    repo.branch("feature");
    repo.replace("two/Cargo.toml", "3%", "30%");
    repo.commit("looser");
    let object = repo.cbdr("compare main --dry-run --format json").run().code(0).json();
    let said = "base and head set `threshold` differently; the base's value is used";
    assert!(object["notices"].to_string().contains(said), "{object}");
    let threshold = |at: usize| object["benchmarks"][at]["gates"][0]["threshold"].clone();
    assert_eq!((threshold(0), threshold(1)), (0.02.into(), 0.03.into()));
}
