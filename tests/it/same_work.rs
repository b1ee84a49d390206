//! Both sides do the same work, or it is said.

use std::collections::BTreeSet;

use crate::support::Repo;

/// A benchmark that writes what it is made of into the file that `MADE`
/// names: the library's word, its own, and that of a module beside it.
const BENCH: &str = "mod common;\nuse std::io::Write;\nfn main() {\n    \
    let Some(log) = std::env::var_os(\"MADE\") else { return };\n    \
    let mut file = std::fs::File::options().create(true).append(true).open(log).unwrap();\n    \
    writeln!(file, \"{} old {}\", steady::WORD, common::WORD).unwrap();\n}\n";

/// A repository on a branch that changed the library and its benchmark, which
/// stands in `benches/work.rs` and `benches/common/`.
fn repo() -> Repo {
    let repo = Repo::new("steady");
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
    let log = repo.around().join("made");
    let _ = std::fs::remove_file(&log);
    let args = format!("compare main --max-pairs 1 {args}");
    let ran = repo.cbdr(&args).env("MADE", &log).run().code(0);
    let made = std::fs::read_to_string(&log).unwrap();
    (made.lines().map(str::to_owned).collect(), ran.stderr)
}

#[test]
fn a_changed_benchmark_is_said_and_one_sides_sources_can_be_laid_over_both() {
    let repo = repo();
    let set = |lines: [&str; 2]| lines.map(str::to_owned).into_iter().collect::<BTreeSet<_>>();
    let changed = "the benchmark `work` itself changed between the sides, in benches/work.rs";
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
        assert!(!said.contains("itself changed"), "{said}");
        let told = format!("both sides have `benches` of the {side}, but each its own Cargo.toml");
        assert!(said.contains(&told), "{said}");
    }
    // Nothing of it stays in the worktrees or the cache.
    each();
}

#[test]
fn a_new_benchmark_can_measure_an_old_library() {
    let repo = Repo::new("steady");
    repo.branch("feature");
    repo.write("benches/second.rs", "fn main() { std::hint::black_box(steady::ROUNDS); }\n");
    repo.replace("Cargo.toml", "[[bench]]\nname = \"work\"", "[[bench]]\nname = \"second\"");
    repo.commit("another benchmark");
    // The base's manifest does not switch its harness off, but cargo finds it.
    let ran = repo.cbdr("compare main --bench second --max-pairs 1 --bench-from head");
    ran.run().code(0).never_says("no baseline");
    let ran = repo.cbdr("compare main --bench second --max-pairs 1").run().code(0);
    ran.says("no baseline for `second`: its package `steady` has no bench `second`");
}

#[test]
fn a_link_in_the_way_is_not_written_through() {
    let repo = Repo::new("steady");
    let outside = repo.around().join("outside.rs");
    std::fs::write(&outside, "fn main() {}\n").unwrap();
    std::fs::remove_file(repo.path().join("benches/work.rs")).unwrap();
    std::os::unix::fs::symlink(&outside, repo.path().join("benches/work.rs")).unwrap();
    repo.commit("a link");
    repo.branch("feature");
    std::fs::remove_file(repo.path().join("benches/work.rs")).unwrap();
    repo.write("benches/work.rs", "fn main() { std::hint::black_box(1); }\n");
    repo.commit("a file");
    repo.cbdr("compare main --max-pairs 1 --bench-from head").run().code(0);
    assert_eq!(std::fs::read_to_string(&outside).unwrap(), "fn main() {}\n");
}

#[test]
fn a_command_has_no_sources_to_lay_over() {
    let repo = repo();
    let ran = repo.cbdr("compare main --command true --bench-from head").run().code(101);
    ran.says("bad bench-from `head`: nobody knows the benchmark sources of a command");
}
