//! Both sides do the same work, or there is a warning.

use std::collections::BTreeSet;
use std::path::Path;

use crate::support::{ONE_PAIR, Repo};

/// A benchmark that writes what it is made of into the file that `MADE`
/// names: the library's word, its own, and that of a module beside it.
const BENCH: &str = "mod common;\nuse std::io::Write;\nfn main() {\n    \
    let Some(log) = std::env::var_os(\"MADE\") else { return };\n    \
    let mut file = std::fs::File::options().create(true).append(true).open(log).unwrap();\n    \
    writeln!(file, \"{} old {}\", steady::WORD, common::WORD).unwrap();\n}\n";

/// A repository on a branch that changed the library and its benchmark, which
/// stands in `benches/work.rs` and `benches/common/`.
fn repo() -> Repo {
    let repo = Repo::new("library");
    repo.write("src/lib.rs", "pub const WORD: &str = \"base\";\n");
    repo.write("benches/work.rs", BENCH);
    repo.write("benches/common/mod.rs", "pub const WORD: &str = \"old\";\n");
    repo.commit("before");
    repo.branch("feature");
    repo.write("src/lib.rs", "pub const WORD: &str = \"head\";\n");
    repo.write("benches/work.rs", &BENCH.replace("{} old {}", "{} new {}"));
    repo.write("benches/common/mod.rs", "pub const WORD: &str = \"new\";\n");
    repo.write("benches/common/more.rs", "");
    repo.commit("after");
    repo
}

/// What the runs of a comparison were made of.
#[track_caller]
fn made(repo: &Repo, args: &str) -> (BTreeSet<String>, String) {
    made_in(repo, repo.path(), args)
}

/// The same, where the comparison is called in a folder of the repository.
#[track_caller]
fn made_in(repo: &Repo, folder: &Path, args: &str) -> (BTreeSet<String>, String) {
    let log = repo.around().join("made");
    let _ = std::fs::remove_file(&log);
    let args = format!("compare main {ONE_PAIR} --layouts off {args}");
    let ran = repo.cbdr(&args).folder(folder).env("MADE", &log).run().code(0);
    let made = std::fs::read_to_string(&log).unwrap();
    (made.lines().map(str::to_owned).collect(), ran.stderr)
}

#[test]
fn a_changed_benchmark_is_said_and_one_sides_sources_can_be_laid_over_both() {
    let repo = repo();
    let set = |lines: [&str; 2]| lines.map(str::to_owned).into_iter().collect::<BTreeSet<_>>();
    let changed = "the benchmark code of `work` differs between the sides, in benches/work.rs";
    let each = || {
        let (lines, said) = made(&repo, "");
        assert_eq!(lines, set(["base old old", "head new new"]));
        assert!(said.contains(changed), "{said}");
    };
    each();
    for (side, word) in [("head", "new"), ("base", "old")] {
        let (lines, said) = made(&repo, &format!("--bench-from {side}"));
        let [base, head] = ["base", "head"].map(|lib| format!("{lib} {word} {word}"));
        assert_eq!(lines, set([&base, &head]), "from {side}");
        assert!(!said.contains("the benchmark code of"), "{said}");
        let told = format!(
            "both sides are built with `benches` of the {side}, but each with its own Cargo.toml"
        );
        assert!(said.contains(&told), "{said}");
    }
    // Nothing of it stays in the worktrees or the cache.
    each();
}

#[test]
fn one_sides_sources_are_laid_where_the_other_has_its_package_and_its_target() {
    let moved = |repo: &Repo| {
        std::fs::create_dir_all(repo.path().join("crates/steady")).unwrap();
        for name in ["Cargo.toml", "src", "benches"] {
            repo.git(&["mv", name, "crates/steady/"]);
        }
        repo.write("Cargo.toml", "[workspace]\nmembers = [\"crates/*\"]\nresolver = \"2\"\n");
        "crates/steady"
    };
    let renamed = |repo: &Repo| {
        repo.git(&["mv", "benches/work.rs", "benches/other.rs"]);
        repo.replace(
            "Cargo.toml",
            "name = \"work\"",
            "name = \"work\"\npath = \"benches/other.rs\"",
        );
        repo.replace("Cargo.toml", "name = \"steady\"", "name = \"calm\"");
        let manifest = std::fs::read_to_string(repo.path().join("Cargo.toml")).unwrap();
        repo.write("Cargo.toml", &format!("{manifest}\n[lib]\nname = \"steady\"\n"));
        ""
    };
    let changes: [&dyn Fn(&Repo) -> &'static str; 2] = [&moved, &renamed];
    for change in changes {
        let repo = repo();
        let folder = repo.path().join(change(&repo));
        repo.commit("elsewhere");
        for (side, word) in [("head", "new"), ("base", "old")] {
            let (lines, said) = made_in(&repo, &folder, &format!("--bench-from {side}"));
            let [base, head] = ["base", "head"].map(|lib| format!("{lib} {word} {word}"));
            assert_eq!(lines, BTreeSet::from([base, head]), "from {side}: {said}");
            assert!(!said.contains("the benchmark code of"), "{said}");
        }
    }
}

#[test]
fn a_new_benchmark_can_measure_an_old_library() {
    let repo = Repo::new("library");
    repo.branch("feature");
    repo.write("benches/second.rs", "fn main() { std::hint::black_box(steady::ROUNDS); }\n");
    repo.replace("Cargo.toml", "[[bench]]\nname = \"work\"", "[[bench]]\nname = \"second\"");
    repo.commit("another benchmark");
    // The base's manifest does not switch its harness off, but cargo finds it.
    let ran =
        repo.cbdr("compare main --bench second --max-pairs 6 --threshold 900% --layouts off --bench-from head");
    ran.run().code(0).never_says("no baseline");
    let ran = repo
        .cbdr("compare main --bench second --max-pairs 6 --threshold 900% --layouts off")
        .run()
        .code(0);
    ran.says("no baseline for `second`: the base's package `steady` has no bench `second`");
}

#[test]
fn a_link_in_the_way_is_not_written_through() {
    let repo = Repo::new("library");
    let outside = repo.around().join("outside.rs");
    std::fs::write(&outside, "fn main() {}\n").unwrap();
    std::fs::remove_file(repo.path().join("benches/work.rs")).unwrap();
    std::os::unix::fs::symlink(&outside, repo.path().join("benches/work.rs")).unwrap();
    repo.commit("a link");
    repo.branch("feature");
    std::fs::remove_file(repo.path().join("benches/work.rs")).unwrap();
    repo.write("benches/work.rs", "fn main() { std::hint::black_box(1); }\n");
    repo.commit("a file");
    repo.cbdr("compare main --max-pairs 6 --threshold 900% --layouts off --bench-from head")
        .run()
        .code(0);
    assert_eq!(std::fs::read_to_string(&outside).unwrap(), "fn main() {}\n");
}

#[test]
fn a_command_has_no_sources_to_lay_over() {
    let repo = repo();
    let ran = repo.cbdr("compare main --command true --bench-from head").run().code(2);
    ran.says("invalid bench-from `head`: the benchmark sources of a command are not known");
}

/// A library whose function may panic, and a table of the form of a panic's location: it
/// names the first line of code, as the compiler would.
const MAY_PANIC: &str = "pub fn pick(values: &[u64], at: usize) -> u64 {\n    values[at]\n}\n\n\
    pub static TABLE: [(&str, u32, u32); 2] = [(\"src/lib.rs\", 1, 1), (\"x.rs\", 1, 2)];\n\n\
    pub fn seed() -> u64 {\n    7\n}\n";

/// A benchmark that uses all of it.
const USER: &str = "use std::hint::black_box;\nfn main() {\n    \
    let (name, line, column) = black_box(&steady::TABLE)[black_box(1)];\n    \
    let values = [steady::seed(), name.len() as u64, line.into(), column.into()];\n    \
    black_box(steady::pick(black_box(&values), black_box(2)));\n}\n";

/// A repository of which `main` has a library, and a branch another one.
fn libraries(base: &str, head: &str) -> Repo {
    let repo = Repo::new("library");
    repo.write("src/lib.rs", base);
    repo.write("benches/work.rs", USER);
    repo.commit("before");
    repo.branch("feature");
    repo.write("src/lib.rs", head);
    repo.commit("after");
    repo
}

/// Whether a comparison calls the two libraries the same program, whose locations moved.
#[track_caller]
fn is_moved(repo: &Repo) -> bool {
    let ran = repo
        .cbdr("compare main --max-pairs 6 --threshold 900% --layouts off --format json")
        .run()
        .code(0);
    let object = ran.json();
    let is_said = ran.stderr.contains("except for the line numbers of ");
    let is_noticed = object["notices"].to_string().contains("except for the line numbers of ");
    let is_identical = object["verdict"] == "identical";
    assert_eq!([is_said, is_noticed], [is_identical; 2], "{object:#}\n{}", ran.stderr);
    is_identical
}

#[test]
#[cfg(target_os = "linux")]
fn a_comment_that_moves_the_lines_of_panics_changes_nothing() {
    let commented = format!("//! Picks.\n\n{MAY_PANIC}");
    let repo = libraries(MAY_PANIC, &commented);
    let ran = repo.cbdr("compare main --max-pairs 6 --threshold 900% --layouts off").run().code(0);
    ran.says(
        "`work` is the same program on both sides, except for the line numbers of 1 source \
         location in panic messages",
    );
    // Also without a build, and with texts that are no code.
    repo.write("README.md", "Picks.\n");
    repo.commit("text");
    assert_eq!(
        repo.cbdr("compare main --format json").run().code(0).json()["verdict"],
        "identical"
    );
    // Whoever wants to can measure it.
    let ran = repo
        .cbdr(
            "compare main --max-pairs 6 --threshold 900% --layouts off --always-run --format json",
        )
        .run()
        .code(0);
    let object = ran.never_says("the same program").json();
    assert_eq!(object["verdict"], "inconclusive");
    assert_eq!(object["benchmarks"][0]["pairs"], 6);
    // For any other file, it is unknown what a build makes of it.
    repo.write("data.txt", "7\n");
    repo.commit("data");
    let call =
        "compare main --max-pairs 6 --threshold 900% --layouts off --measure-all --format json";
    assert_eq!(repo.cbdr(call).run().code(0).json()["verdict"], "inconclusive");
}

#[test]
#[cfg(target_os = "linux")]
fn whatever_else_changes_is_a_change() {
    let moved = format!("// Picks.\n{MAY_PANIC}");
    let repo = libraries(MAY_PANIC, &moved);
    assert!(is_moved(&repo), "a comment");
    let is_moved_by = |head: &str| {
        repo.write("src/lib.rs", head);
        repo.commit("another change");
        is_moved(&repo)
    };
    // The names of the changes, and what they change.
    let changes = [
        ("a table of the same form", ("(\"x.rs\", 1, 2)", "(\"x.rs\", 3, 2)")),
        ("one that follows the code by hand", ("(\"src/lib.rs\", 1, 1)", "(\"src/lib.rs\", 2, 1)")),
        ("a constant", ("    7\n", "    8\n")),
    ];
    for (name, (old, new)) in changes {
        let (alone, both) = (MAY_PANIC.replace(old, new), moved.replace(old, new));
        assert!(alone != MAY_PANIC && both != moved, "{name}");
        assert!(!is_moved_by(&both), "{name}, with a comment");
        // A constant has nothing of the form of a location.
        assert!(name == "a constant" || !is_moved_by(&alone), "{name} alone");
    }
}

#[test]
#[cfg(target_os = "linux")]
fn code_that_asks_for_its_place_may_do_other_work() {
    for (old, new) in [
        ("(\"x.rs\", 1, 2)", "(file!(), line!(), column!())"),
        ("    7\n", "    std::panic::Location::caller().line().into()\n"),
    ] {
        let base = MAY_PANIC.replace(old, new);
        let repo = libraries(&base, &format!("// Picks.\n{base}"));
        assert!(base != MAY_PANIC && !is_moved(&repo), "{new}");
    }
}

/// What criterion leaves of a benchmark that declares a throughput.
const DECLARES: &str = "new=\"$CRITERION_HOME/work/new\"\nmkdir -p \"$new\"\n\
    echo '{\"full_id\":\"work\",\"throughput\":{\"Bytes\":1024}}' > \"$new/benchmark.json\"\n\
    echo '{\"iters\":[2,4],\"times\":[6,20]}' > \"$new/sample.json\"\n";

#[test]
fn different_throughputs_of_the_sides_are_said() {
    let repo = Repo::new("library");
    repo.write("bench.sh", DECLARES);
    repo.commit("before");
    repo.branch("feature");
    let compare = |file: &str, text: &str| {
        repo.write(file, text);
        repo.commit("after");
        let command = ["--command", "sh bench.sh", "--harness", "criterion"];
        let args = format!("compare main {ONE_PAIR} --layouts off");
        repo.cbdr(&args).args(command).run().code(0).stderr
    };
    let amounts = "`work` processes different amounts of data on the two sides (1024 bytes an \
        iteration on the base, 1060 bytes on the head), so they do not do the same work";
    assert!(!compare("notes.txt", "of nothing").contains("amounts"));
    let said = compare("bench.sh", &DECLARES.replace("1024", "1060"));
    let said = said.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(said.contains(amounts), "{said}");
}
