//! What must never happen: one side measured as the other, different
//! surroundings, a change in the user's repository.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::support::{Cbdr, Ran, Repo, git, host, metric};

/// What a run of the fixture `witness` saw.
#[derive(Debug)]
struct Seen {
    library: String,
    tool: String,
    told: String,
    args: Vec<String>,
    here: String,
    lock: String,
    vars: BTreeMap<String, String>,
}

impl Seen {
    fn parse(line: &str) -> Self {
        let fields: Vec<&str> = line.split('\t').collect();
        let [library, tool, told, args, here, lock, vars] = fields.try_into().unwrap();
        let pair = |text: &str| {
            let (name, value) = text.split_once('=').unwrap();
            (name.to_owned(), value.to_owned())
        };
        Seen {
            library: library.to_owned(),
            tool: tool.to_owned(),
            told: told.to_owned(),
            args: args.split('\u{1f}').map(str::to_owned).collect(),
            here: here.to_owned(),
            lock: lock.to_owned(),
            vars: vars.split('\u{1f}').map(pair).collect(),
        }
    }

    #[track_caller]
    fn assert_library_is(&self, who: &str) {
        assert_eq!(self.library, format!("library of {who}"));
    }

    /// Demands that program, helper and data are those of the commit `who`.
    #[track_caller]
    fn assert_is(&self, who: &str) {
        self.assert_library_is(who);
        assert_eq!(self.tool, format!("tool of {who}"));
        assert_eq!(self.told, format!("told by {who}"));
    }
}

/// Both sides of one pair.
struct Both {
    ran: Ran,
    base: Seen,
    head: Seen,
}

/// The repository of the fixture, its commit `A` on main and `B` on feature.
fn a_and_b() -> Repo {
    let repo = Repo::new("witness");
    repo.branch("feature");
    becomes(&repo, "A", "B");
    repo
}

/// Changes library, helper and data, and commits.
fn becomes(repo: &Repo, old: &str, new: &str) -> String {
    let places =
        [("src/lib.rs", "library of"), ("src/bin/tool.rs", "tool of"), ("told.txt", "told by")];
    for (file, word) in places {
        repo.replace(file, &format!("{word} {old}"), &format!("{word} {new}"));
    }
    repo.commit(new)
}

/// A single pair, as few as only a shard may have; the name of the samples follows.
const PAIR: &str = "--always-run --warmup 0 --max-pairs 1 --shard 1/2 --layouts off --samples";

/// Measures a pair of the witness, which gets the arguments `after`: what it saw on the sides that
/// the rows of the samples name.
#[track_caller]
fn measure_with(repo: &Repo, cbdr: Cbdr, after: &[&str]) -> Both {
    let folder = tempfile::tempdir_in(repo.around()).unwrap().keep();
    let (log, rows) = (folder.join("log"), folder.join("rows.csv"));
    let cbdr = cbdr.args(PAIR.split(' ')).args([&rows]).args(["--"]).args(after);
    let ran = cbdr.env("WITNESS", &log).run().code(0);
    let log = std::fs::read_to_string(log).unwrap();
    // A pair, and nothing else: where the user has a runner, preparing starts no benchmark, and
    // without layouts nothing is linked again and tried.
    assert_eq!(log.lines().count(), 2, "{log}");
    let seen = log.lines().map(Seen::parse);
    let rows = std::fs::read_to_string(rows).unwrap();
    let labels: Vec<&str> = rows.lines().skip(1).filter_map(|row| row.split(',').next()).collect();
    assert_eq!(labels.len(), 2, "{rows}");
    let mut by_label: BTreeMap<_, _> = labels.into_iter().zip(seen).collect();
    let (base, head) = (by_label.remove("base").unwrap(), by_label.remove("head").unwrap());
    Both { ran, base, head }
}

#[track_caller]
fn measure(repo: &Repo, cbdr: Cbdr) -> Both {
    measure_with(repo, cbdr, &[])
}

#[track_caller]
fn compare(repo: &Repo, args: &str) -> Both {
    measure(repo, repo.cbdr(&format!("compare {args}")))
}

/// What is in a folder.
fn entries(folder: &Path) -> Vec<PathBuf> {
    std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect()
}

/// The target folders that cargo fills for a side.
fn lives(repo: &Repo, side: &str) -> Vec<PathBuf> {
    let found: Vec<_> = entries(&repo.cached().join(side))
        .into_iter()
        .filter(|path| path.file_name().unwrap().to_str().unwrap().starts_with("live-"))
        .collect();
    assert!(!found.is_empty());
    found
}

/// Every file under a folder.
fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(at) = folders.pop() {
        for entry in std::fs::read_dir(at).unwrap() {
            let entry = entry.unwrap();
            if entry.file_type().unwrap().is_dir() {
                folders.push(entry.path());
            }
            found.push(entry.path());
        }
    }
    found.sort();
    found
}

#[test]
fn each_side_runs_its_own_helpers_and_reads_its_own_data_also_from_the_cache_and_after_a_swap() {
    let repo = a_and_b();
    let both = compare(&repo, "main");
    both.base.assert_is("A");
    both.head.assert_is("B");
    let both = compare(&repo, "main");
    both.ran.says("Fresh base").says("Fresh head").never_says("Compiling");
    both.base.assert_is("A");
    both.head.assert_is("B");
    // The sides change places, and back again.
    let both = compare(&repo, "feature --exact-base --head main");
    both.base.assert_is("B");
    both.head.assert_is("A");
    let both = compare(&repo, "main");
    both.ran.says("Fresh base").says("Fresh head");
    both.base.assert_is("A");
    both.head.assert_is("B");
    // Another commit comes between, and is built where B was.
    becomes(&repo, "B", "C");
    let both = compare(&repo, "main");
    both.ran.says("Fresh base").says("Building head");
    both.base.assert_is("A");
    both.head.assert_is("C");
    let both = compare(&repo, "main --head feature~1");
    both.ran.says("Fresh base").says("Fresh head").never_says("Compiling");
    both.base.assert_is("A");
    both.head.assert_is("B");
    // And a commit that takes all of it back is not B for being older.
    repo.git(&["revert", "--no-edit", "HEAD", "HEAD~1"]);
    let both = compare(&repo, "main");
    both.ran.says("Building head");
    both.base.assert_is("A");
    both.head.assert_is("A");
}

#[test]
fn two_programs_are_not_the_same_when_only_a_helper_or_its_data_differ() {
    let repo = Repo::new("witness");
    let args = "compare main --max-pairs 6 --threshold 900% --layouts off --format json";
    for (file, old) in [("src/bin/tool.rs", "tool of A"), ("told.txt", "told by A")] {
        repo.git(&["checkout", "--quiet", "-B", "feature", "main"]);
        repo.replace(file, old, "other");
        repo.commit(file);
        // Without this variable a run reads neither.
        let log = repo.around().join("witness");
        let object = repo.cbdr(args).env("WITNESS", &log).run().code(0).json();
        assert_eq!(object["verdict"], "inconclusive", "{file}");
        assert_eq!(object["benchmarks"][0]["pairs"], 6);
    }
    // What none of them reads is different.
    repo.git(&["checkout", "--quiet", "-B", "feature", "main"]);
    repo.write("data.bin", "x");
    repo.commit("data");
    let object = repo.cbdr(args).run().code(0).json();
    assert_eq!(object["verdict"], "identical");
    let reason = &object["benchmarks"][0]["reason"];
    assert_eq!(
        (&reason["changed_files"], &reason["functions"]),
        (&1.into(), &serde_json::Value::Null)
    );
    assert!(reason["accessed"].is_array(), "{object}");
}

#[test]
fn debug_information_and_the_folder_in_the_program_are_no_difference() {
    let repo = Repo::new("steady");
    repo.write("Cargo.toml", &(manifest(&repo) + "[profile.bench]\ndebug = true\n"));
    let shows =
        "fn main() {\n    black_box(env!(\"CARGO_MANIFEST_DIR\"));\n    black_box(file!());";
    repo.replace("benches/work.rs", "fn main() {", shows);
    repo.commit("debug");
    repo.branch("feature");
    repo.write("README.md", "words\n");
    repo.commit("words");
    let object = repo.cbdr("compare main --format json").run().code(0).json();
    assert_eq!(object["verdict"], "identical");
    // The smallest change of the work is one.
    repo.replace("src/lib.rs", "500_000", "500_001");
    repo.commit("work");
    let object = repo
        .cbdr("compare main --format json --max-pairs 6 --threshold 900% --layouts off")
        .run()
        .code(0)
        .json();
    assert_eq!(object["verdict"], "inconclusive");
}

fn manifest(repo: &Repo) -> String {
    std::fs::read_to_string(repo.path().join("Cargo.toml")).unwrap()
}

/// Lays a package `dep` of that version where cargo takes it for crates.io's;
/// the folder around the repository says so.
fn vendor(repo: &Repo, version: &str) {
    vendor_package(repo, "dep", version);
}

fn vendor_package(repo: &Repo, name: &str, version: &str) {
    let folder = repo.around().join("vendor").join(format!("{name}-{version}"));
    std::fs::create_dir_all(folder.join("src")).unwrap();
    let manifest =
        format!("[package]\nname = \"{name}\"\nversion = \"{version}\"\nedition = \"2021\"\n");
    std::fs::write(folder.join("Cargo.toml"), manifest).unwrap();
    std::fs::write(folder.join("src/lib.rs"), "").unwrap();
    std::fs::write(folder.join(".cargo-checksum.json"), "{\"files\":{}}").unwrap();
    let config = "[source.crates-io]\nreplace-with = \"beside\"\n\
                  [source.beside]\ndirectory = \"vendor\"\n";
    std::fs::create_dir_all(repo.around().join(".cargo")).unwrap();
    std::fs::write(repo.around().join(".cargo/config.toml"), config).unwrap();
}

/// A library that keeps its lock file to itself and depends on `dep`. It has no helper and no build
/// script, which would only take time.
fn without_lock() -> Repo {
    let repo = Repo::new("witness");
    for (old, new) in [
        ("Command::new(env!(\"CARGO_BIN_EXE_tool\")).output().unwrap()", "\"\""),
        ("String::from_utf8(tool.stdout).unwrap()", "tool"),
        (
            "std::fs::read_to_string(Path::new(env!(\"OUT_DIR\")).join(\"told.txt\")).unwrap()",
            "\"\"",
        ),
        ("&tool", "tool"),
        ("use std::path::Path;\nuse std::process::Command;\n", ""),
    ] {
        repo.replace("benches/look.rs", old, new);
    }
    let package = "edition = \"2021\"\n";
    let more = "autobins = false\nbuild = false\n";
    repo.replace("Cargo.toml", package, &format!("{package}{more}"));
    vendor(&repo, "1.0.0");
    std::fs::remove_file(repo.path().join("Cargo.lock")).unwrap();
    repo.write(".gitignore", "/target\n/Cargo.lock\n");
    repo.write("Cargo.toml", &(manifest(&repo) + "[dependencies]\ndep = \"1\"\n"));
    repo.commit("depend");
    repo.branch("feature");
    becomes(&repo, "A", "B");
    repo
}

/// The version of `dep` in a lock file.
#[track_caller]
fn version(seen: &Seen) -> &str {
    let (_, after) = seen.lock.split_once("name = \"dep\"\u{1e}version = \"").expect(&seen.lock);
    after.split('"').next().unwrap()
}

#[test]
fn without_a_lock_file_one_is_resolved_for_both_sides_and_kept_and_dependencies_are_compiled_once()
{
    let repo = without_lock();
    let both = compare(&repo, "main");
    both.base.assert_library_is("A");
    assert_eq!((version(&both.base), version(&both.head)), ("1.0.0", "1.0.0"));
    let count = |word| both.ran.stderr.matches(word).count();
    assert_eq!((count("Compiling dep v1.0.0"), count("Compiling witness v0.1.0")), (1, 2));
    // A version that appears between two comparisons changes neither side.
    vendor(&repo, "1.1.0");
    becomes(&repo, "B", "C");
    let both = compare(&repo, "main");
    both.ran.says("Fresh base").says("Building head");
    both.head.assert_library_is("C");
    assert_eq!((version(&both.base), version(&both.head)), ("1.0.0", "1.0.0"));
    assert!(!repo.path().join("Cargo.lock").exists());
    // Of half a file nothing is taken: it is resolved once more.
    let files = std::fs::read_dir(repo.cached()).unwrap().map(|entry| entry.unwrap().path());
    let texts = files.filter_map(|path| Some((std::fs::read_to_string(&path).ok()?, path)));
    let (text, stored) = texts.into_iter().find(|(text, _)| text.contains("[[package]]")).unwrap();
    std::fs::write(stored, &text[..text.len() / 2]).unwrap();
    becomes(&repo, "C", "D");
    let both = compare(&repo, "main");
    both.head.assert_library_is("D");
    assert_eq!((version(&both.base), version(&both.head)), ("1.1.0", "1.1.0"));
    // With another configuration of the resolver, it is resolved anew.
    vendor(&repo, "1.2.0");
    let resolver = "CARGO_RESOLVER_INCOMPATIBLE_RUST_VERSIONS";
    let both = measure(&repo, repo.cbdr("compare main").env(resolver, "fallback"));
    assert_eq!((version(&both.base), version(&both.head)), ("1.2.0", "1.2.0"));
    // As in a cache that was emptied.
    vendor(&repo, "1.3.0");
    repo.cbdr("cache clean").run().code(0);
    let both = compare(&repo, "main");
    assert_eq!((version(&both.base), version(&both.head)), ("1.3.0", "1.3.0"));
}

#[test]
fn a_lock_file_of_an_older_commit_is_completed_once_for_both_sides() {
    let repo = without_lock();
    compare(&repo, "main");
    vendor(&repo, "1.1.0");
    repo.git(&["checkout", "--quiet", "-B", "main"]);
    repo.replace("Cargo.toml", "dep = \"1\"", "dep = \"1.1\"");
    repo.commit("require a newer version");
    repo.git(&["checkout", "--quiet", "-B", "feature"]);
    for (old, new, available) in [("B", "C", "1.1.0"), ("C", "D", "1.2.0")] {
        vendor(&repo, available);
        becomes(&repo, old, new);
        let both = compare(&repo, "main");
        assert_eq!((version(&both.base), version(&both.head)), ("1.1.0", "1.1.0"));
    }
}

#[test]
fn a_version_that_the_head_alone_requires_is_on_the_head_alone() {
    let repo = without_lock();
    vendor(&repo, "1.1.0");
    repo.replace("Cargo.toml", "dep = \"1\"", "dep = \"=1.0.0\"");
    repo.commit("require an old version");
    for again in ["cold", "warm"] {
        let both = compare(&repo, "main");
        assert_eq!((version(&both.base), version(&both.head)), ("1.1.0", "1.0.0"), "{again}");
        both.ran.says("the sides require different versions of `dep`");
    }
}

#[test]
fn the_users_ignored_lock_file_holds_for_both_sides() {
    let repo = without_lock();
    let mut cargo = Command::new("cargo");
    cargo.args(["generate-lockfile", "--quiet"]).current_dir(repo.path());
    assert!(cargo.status().unwrap().success());
    vendor(&repo, "1.1.0");
    let both = compare(&repo, "main");
    assert_eq!((version(&both.base), version(&both.head)), ("1.0.0", "1.0.0"));
    // And when it is updated, both follow.
    let mut cargo = Command::new("cargo");
    cargo.args(["update", "--quiet"]).current_dir(repo.path());
    assert!(cargo.status().unwrap().success());
    let both = compare(&repo, "main");
    both.ran.says("Building base").says("Building head");
    assert_eq!((version(&both.base), version(&both.head)), ("1.1.0", "1.1.0"));
}

#[test]
fn dependencies_that_both_sides_update_are_compiled_once_although_each_has_a_folder() {
    let repo = without_lock();
    vendor_package(&repo, "more", "1.0.0");
    repo.write("Cargo.toml", &(manifest(&repo) + "more = \"1\"\n"));
    repo.commit("need more");
    repo.git(&["branch", "--force", "main"]);
    becomes(&repo, "B", "C");
    let cargo = |word: &str| {
        let mut cargo = Command::new("cargo");
        cargo.args([word, "--quiet"]).current_dir(repo.path());
        assert!(cargo.status().unwrap().success());
    };
    cargo("generate-lockfile");
    let both = compare(&repo, "main");
    both.base.assert_library_is("B");
    both.head.assert_library_is("C");
    for name in ["dep", "more"] {
        vendor_package(&repo, name, "1.1.0");
    }
    cargo("update");
    let both = compare(&repo, "main");
    assert_eq!((version(&both.base), version(&both.head)), ("1.1.0", "1.1.0"));
    both.base.assert_library_is("B");
    both.head.assert_library_is("C");
    let count = |word| both.ran.stderr.matches(word).count();
    let counts = ["dep v1.1.0", "more v1.1.0", "witness v0.1.0"].map(count);
    assert_eq!(counts, [1, 1, 2], "{}", both.ran.stderr);
    // One library alone is compiled where it is lacking: that is less than the package itself.
    vendor(&repo, "1.2.0");
    cargo("update");
    let both = compare(&repo, "main");
    assert_eq!((version(&both.base), version(&both.head)), ("1.2.0", "1.2.0"));
    assert_eq!(both.ran.stderr.matches("Compiling dep v1.2.0").count(), 2);
}

#[test]
fn a_side_with_a_lock_file_of_its_own_lends_it_to_the_other() {
    let repo = without_lock();
    repo.write(".gitignore", "/target\n");
    let mut cargo = Command::new("cargo");
    cargo.args(["generate-lockfile", "--quiet"]).current_dir(repo.path());
    assert!(cargo.status().unwrap().success());
    repo.commit("track the lock file");
    std::fs::remove_file(repo.path().join("Cargo.lock")).unwrap();
    vendor(&repo, "1.1.0");
    let both = compare(&repo, "main");
    assert_eq!((version(&both.base), version(&both.head)), ("1.0.0", "1.0.0"));
}

#[test]
fn cargos_configuration_around_the_repository_holds_although_the_cache_is_elsewhere() {
    let repo = without_lock();
    let config = repo.around().join(".cargo/config.toml");
    let shared = repo.around().join("shared");
    let more = format!(
        "[env]\nMARK = \"around\"\n\
         [build]\ntarget-dir = \"{0}/target\"\nbuild-dir = \"{0}/build\"\n",
        shared.display()
    );
    let text = std::fs::read_to_string(&config).unwrap();
    std::fs::write(config, text + &more).unwrap();
    let elsewhere = crate::support::scratch();
    // Nothing may be fetched instead of the package next to it.
    let cbdr = Cbdr::new(repo.path(), elsewhere.path()).args(["compare", "main"]);
    let both = measure(&repo, cbdr.env("CARGO_NET_OFFLINE", "true"));
    for seen in [&both.base, &both.head] {
        assert_eq!(version(seen), "1.0.0");
        assert_eq!(seen.vars.get("MARK").map(String::as_str), Some("around"));
    }
    both.base.assert_library_is("A");
    both.head.assert_library_is("B");
    assert!(!shared.exists());
}

#[test]
fn what_a_hook_of_git_exports_leads_nobody_astray_and_sides_run_alike_and_as_cargo_runs_them() {
    let repo = a_and_b();
    let other = Repo::new("steady");
    let inside = other.path().join(".git");
    let elsewhere = repo.around().join("linked");
    repo.git(&["worktree", "add", "--quiet", "--detach", elsewhere.to_str().unwrap(), "feature"]);
    let linked = git(&elsewhere, &["rev-parse", "--absolute-git-dir"]);
    // As a pre-push hook in a linked worktree has it, and as one of another
    // repository would.
    for (dir, tree) in [(linked.clone(), &elsewhere), (inside.display().to_string(), &elsewhere)] {
        let cbdr = repo.cbdr("compare main").folder(tree).env("GIT_DIR", &dir);
        let cbdr = cbdr.env("GIT_INDEX_FILE", format!("{dir}/index")).env("GIT_PREFIX", "x/");
        let cbdr = cbdr.env("GIT_WORK_TREE", other.path()).env("GIT_EXEC_PATH", "/nowhere");
        let both = measure(&repo, cbdr);
        both.base.assert_is("A");
        both.head.assert_is("B");
        for seen in [&both.base, &both.head] {
            let names: Vec<_> = seen.vars.keys().filter(|name| name.starts_with("GIT_")).collect();
            assert_eq!(names, <[&String; 0]>::default());
        }
        both.ran.says("Comparing HEAD (").says("with its merge-base with main (");
    }
    let cbdr = repo.cbdr("compare main").env("MINE", "it is");
    let both = measure_with(&repo, cbdr, &["one", "two words"]);
    let (one, other) = (both.base, both.head);
    for seen in [&one, &other] {
        assert_eq!(seen.args[1..], ["one", "two words", "--bench"]);
        assert!(seen.here.starts_with(repo.cache().to_str().unwrap()), "{}", seen.here);
        assert!(seen.here.ends_with("/tree"), "{}", seen.here);
        assert_eq!(seen.vars["CARGO_MANIFEST_DIR"], seen.here);
        assert_eq!(seen.vars["MINE"], "it is");
    }
    assert_ne!(one.here, other.here);
    assert_ne!(one.args[0], other.args[0]);
    assert_eq!(one.here.len(), other.here.len());
    assert_eq!(one.args[0].len(), other.args[0].len());
    assert_same_vars(&one, &other);
}

#[test]
fn what_an_outer_cargo_sets_is_not_for_us_and_ours() {
    let repo = a_and_b();
    let target = repo.around().join("target of another");
    let cbdr = repo.cbdr("compare main").env("PATH", std::env::var_os("PATH").unwrap());
    let cbdr = cbdr.env("RUSTUP_TOOLCHAIN", "no-such-toolchain");
    let cbdr = cbdr.env("CARGO_TARGET_DIR", &target).env("CARGO", "/nowhere/cargo");
    let cbdr = cbdr.env("CARGO_BUILD_TARGET_DIR", &target).env("CARGO_BUILD_BUILD_DIR", &target);
    let cbdr = cbdr.env("CARGO_PKG_NAME", "another").env("CARGO_MANIFEST_DIR", "/nowhere");
    let cbdr = cbdr.env("CARGO_BIN_EXE_tool", "/nowhere/tool").env("OUT_DIR", "/nowhere");
    let both = measure(&repo, cbdr);
    both.base.assert_is("A");
    both.head.assert_is("B");
    assert!(!target.exists());
    for seen in [&both.base, &both.head] {
        let var = |name: &str| seen.vars.get(name).map(String::as_str);
        assert_eq!(var("CARGO_PKG_NAME"), Some("witness"));
        assert_eq!(var("CARGO_MANIFEST_DIR"), Some(seen.here.as_str()));
        assert!(Path::new(var("CARGO").unwrap()).is_file(), "{:?}", var("CARGO"));
        assert_ne!(var("RUSTUP_TOOLCHAIN"), Some("no-such-toolchain"));
        let strangers = seen.vars.iter().filter(|(name, value)| {
            value.contains("nowhere") || value.contains("target of another") || *name == "OUT_DIR"
        });
        // Cargo sets OUT_DIR itself for packages with a build script.
        let strangers: Vec<_> = strangers.filter(|(_, v)| !v.contains("/t-")).collect();
        assert!(strangers.is_empty(), "{strangers:?}");
    }
}

/// A repository whose benchmark notes this expression, a text, and its side.
fn noting(what: &str) -> Repo {
    let repo = Repo::new("steady");
    let note = format!(
        "fn main() {{
    let here = std::env::current_dir().unwrap();
    let side = here.parent().unwrap().file_name().unwrap().to_str().unwrap();
    let line = format!(\"{{side}} {{}}\\n\", {what});
    let mut log = std::fs::File::options();
    let log = log.create(true).append(true).open(std::env::var(\"LOG\").unwrap());
    std::io::Write::write_all(&mut log.unwrap(), line.as_bytes()).unwrap();"
    );
    repo.replace("benches/work.rs", "fn main() {", &note);
    repo.commit("note");
    repo
}

/// What the base and the head note in a pair.
#[track_caller]
fn noted(repo: &Repo, cbdr: Cbdr) -> (Ran, [String; 2]) {
    let [log, rows] = ["log", "rows.csv"].map(|name| repo.around().join(name));
    let ran = cbdr.args(PAIR.split(' ')).args([rows]).env("LOG", &log).run().code(0);
    let text = std::fs::read_to_string(&log).unwrap();
    std::fs::remove_file(log).unwrap();
    // Preparing starts no benchmark.
    assert_eq!(text.lines().count(), 2, "{text}");
    let of = |side: &str| text.lines().find_map(|line| line.strip_prefix(side)).unwrap().to_owned();
    (ran, ["base ", "head "].map(of))
}

/// A toolchain whose compiler is not the usual one: its name and what
/// `rustc -V` says of it.
fn another_toolchain() -> Option<(String, String)> {
    let run = |args: &[&str]| {
        let mut command = Command::new(args[0]);
        command.args(&args[1..]).current_dir("/").env_remove("RUSTUP_TOOLCHAIN");
        let output = command.output().ok().filter(|output| output.status.success())?;
        Some(String::from_utf8_lossy(&output.stdout).trim().to_owned())
    };
    let usual = run(&["rustc", "-V"])?;
    let list = run(&["rustup", "toolchain", "list"])?;
    let names = list.lines().filter_map(|line| line.split_whitespace().next());
    let mut found = names.filter_map(|name| {
        let version = run(&["rustup", "run", name, "rustc", "-V"])?;
        (version != usual).then(|| (name.to_owned(), version))
    });
    found.next()
}

#[test]
#[expect(clippy::print_stderr, reason = "a test that is skipped says so")]
fn the_toolchain_of_the_head_builds_both_sides_unless_told_otherwise() {
    let Some((name, version)) = another_toolchain() else {
        eprintln!("skipped: rustup with a second toolchain is needed");
        return;
    };
    // Which compiler it was.
    let repo = noting("env!(\"COMPILER\")");
    let script = "fn main() {
    let rustc = std::env::var_os(\"RUSTC\").unwrap();
    let said = std::process::Command::new(rustc).arg(\"-V\").output().unwrap().stdout;
    println!(\"cargo::rustc-env=COMPILER={}\", String::from_utf8(said).unwrap().trim());
}
";
    repo.write("build.rs", script);
    repo.commit("tell the compiler");
    repo.branch("feature");
    let channel = name.split("-x86").next().unwrap().split("-aarch").next().unwrap();
    repo.write("rust-toolchain.toml", &format!("[toolchain]\nchannel = \"{channel}\"\n"));
    repo.commit("a toolchain");
    // Through rustup's proxies.
    let path = std::env::var_os("PATH").unwrap();
    let compare = |args: &str| {
        noted(&repo, repo.cbdr(&format!("compare --format json {args}")).env("PATH", &path))
    };
    let (ran, both) = compare("main");
    assert_eq!(both, [&*version; 2]);
    assert_eq!(ran.json()["toolchain"], version);
    let told = |ran: &Ran| ran.json()["notices"].to_string().contains("one toolchain builds both");
    assert!(told(&ran));
    let (ran, [usual, head]) = compare("main --toolchain each");
    assert!(!told(&ran));
    assert_ne!(usual, version);
    assert_eq!(head, version);
    let differ = [&usual, &version].map(|said| format!("`{}`", said.trim_start_matches("rustc ")));
    let differ = format!("`rustc`: base {}, head {}", differ[0], differ[1]);
    assert!(ran.json()["notices"].to_string().contains(&differ), "{}", ran.stdout);
    let (ran, both) = compare("main --toolchain base");
    assert_eq!(both, [&*usual; 2]);
    assert_eq!(ran.json()["toolchain"], usual);
    let swapped = "feature --head main --exact-base --toolchain";
    let (_, both) = compare(&format!("{swapped} {name}"));
    assert_eq!(both, [&*version; 2]);
    // What only the base's own toolchain might build.
    repo.write("build.rs", "fn main() { nothing }");
    repo.commit("does not build");
    for (toolchain, advice) in [("head", true), ("each", false)] {
        let call = repo.cbdr(&format!("compare {swapped} {toolchain}")).env("PATH", &path);
        let ran = call.run().code(0).says("no baseline");
        assert_eq!(ran.stderr.contains("`--toolchain each` builds it with that"), advice);
    }
}

/// Everything about a folder's files that writing would change.
fn state(folder: &Path) -> Vec<(PathBuf, u32, std::time::SystemTime, Vec<u8>)> {
    use std::os::unix::fs::PermissionsExt;
    let about = |path: PathBuf| {
        let metadata = path.symlink_metadata().unwrap();
        let content = if metadata.is_file() { std::fs::read(&path).unwrap() } else { Vec::new() };
        (path, metadata.permissions().mode(), metadata.modified().unwrap(), content)
    };
    files(folder).into_iter().map(about).collect()
}

#[test]
fn the_users_repository_is_not_written_to() {
    let repo = a_and_b();
    // Without a lock file, and with a target folder configured, there would
    // be more to write.
    std::fs::remove_file(repo.path().join("Cargo.lock")).unwrap();
    repo.write(".cargo/config.toml", "[build]\ntarget-dir = \"built\"\n");
    repo.commit("no lock file");
    // Of a blob and a tree that exist, git would note that they are used.
    repo.write("untracked/config.toml", "[build]\ntarget-dir = \"built\"\n");
    repo.git(&["config", "core.fsmonitor", "false"]);
    let chmod = |mode: &str| {
        let mut chmod = Command::new("chmod");
        chmod.args(["-R", mode]).arg(repo.path());
        assert!(chmod.status().unwrap().success());
    };
    chmod("a-w");
    let before = state(repo.path());
    let ran = repo.cbdr("compare main --max-pairs 6 --threshold 900% --layouts off").run();
    let dirty =
        repo.cbdr("compare main --max-pairs 6 --threshold 900% --layouts off --dirty").run();
    let after = state(repo.path());
    chmod("u+w");
    ran.code(0);
    dirty.code(0);
    assert!(before == after, "something was written");
    let around = std::fs::read_dir(repo.around()).unwrap().count();
    assert_eq!(around, 2, "repository and cache");
}

#[test]
fn where_cargo_compares_contents_no_side_runs_what_was_built_for_the_other() {
    let repo = Repo::new("steady");
    let bench = "fn main() {\n    let path = concat!(env!(\"CARGO_MANIFEST_DIR\"), \"/data.txt\");\n    \
                 let time = std::fs::read_to_string(path).unwrap();\n    \
                 println!(\"{{\\\"x\\\": {{\\\"wall_time\\\": {}}}}}\", time.trim());\n}\n";
    repo.write("benches/work.rs", bench);
    repo.write("data.txt", "1e-3\n");
    repo.commit("base");
    repo.branch("feature");
    repo.write("data.txt", "2e-3\n");
    repo.commit("head");
    let args = "compare main --harness json --always-run --max-pairs 6 --threshold 900% --layouts off --format json";
    let cbdr = repo.cbdr(args).env("RUSTC_BOOTSTRAP", "1");
    let object = cbdr.env("CARGO_UNSTABLE_CHECKSUM_FRESHNESS", "true").run().code(0).json();
    let result = metric(&object, "wall_time");
    assert_eq!((&result["base"], &result["head"]), (&1e-3.into(), &2e-3.into()));
}

#[test]
fn a_runner_that_the_user_configured_is_honoured() {
    let triple = host();
    let (mark, last) = ("std::env::var(\"MARK\").unwrap()", "std::env::args().last().unwrap()");
    let repo = noting(&format!("format!(\"{{}} {{}} {{}}\", steady::ROUNDS, {mark}, {last})"));
    for (number, key) in
        ["'cfg(all())'", "'cfg(target_os = \"linux\")'", &triple].iter().enumerate()
    {
        let runner = format!("[\"env\", \"MARK={number}\"]");
        repo.git(&["checkout", "--quiet", "-B", "main", "main"]);
        repo.write(".cargo/config.toml", &format!("[target.{key}]\nrunner = {runner}\n"));
        repo.commit("a runner");
        repo.git(&["checkout", "--quiet", "-B", "feature", "main"]);
        repo.replace("src/lib.rs", "500_000", "400_000");
        repo.commit("less work");
        for _ in 0..2 {
            let (_, notes) = noted(&repo, repo.cbdr("compare main"));
            let expected = ["500000", "400000"].map(|side| format!("{side} {number} --bench"));
            assert_eq!(notes, expected, "{key}");
        }
        repo.git(&["checkout", "--quiet", "main"]);
    }
}

/// Checks that the environments are the same, apart from the sides' own paths.
#[track_caller]
fn assert_same_vars(one: &Seen, other: &Seen) {
    let neutral = |seen: &Seen| -> BTreeMap<String, String> {
        let side = Path::new(&seen.here).parent().unwrap().to_str().unwrap();
        let vars = seen.vars.iter();
        vars.map(|(name, value)| (name.clone(), value.replace(side, "SIDE"))).collect()
    };
    assert_eq!(neutral(one), neutral(other));
}

#[test]
fn a_side_from_the_cache_does_not_bring_the_environment_of_then() {
    let repo = a_and_b();
    // Rustup puts its own folder in front of a PATH that lacks it.
    let tools = repo.around().join("tools");
    std::fs::create_dir(&tools).unwrap();
    let path = std::env::var_os("PATH").unwrap();
    for name in ["cargo", "rustc", "rustup"] {
        let found = std::env::split_paths(&path).map(|folder| folder.join(name));
        if let Some(found) = found.into_iter().find(|path| path.is_file()) {
            std::os::unix::fs::symlink(found, tools.join(name)).unwrap();
        }
    }
    let at = |folder: &str, args: &str| {
        let path = format!("{}:/usr/bin:/bin:{folder}", tools.display());
        let cbdr = repo.cbdr(&format!("compare main {args}")).env("PATH", path);
        measure(&repo, cbdr.env("WHEN", folder))
    };
    at("/first", "");
    becomes(&repo, "B", "C");
    let both = at("/second", "");
    both.ran.says("Fresh base").says("Building head");
    both.head.assert_is("C");
    for seen in [&both.base, &both.head] {
        for name in ["PATH", "WHEN"] {
            let value = &seen.vars[name];
            assert!(value.contains("/second") && !value.contains("/first"), "{name}={value}");
        }
    }
    assert_same_vars(&both.base, &both.head);
    // Nor how the toolchain was chosen then.
    becomes(&repo, "C", "D");
    let both = at("/second", "--toolchain each");
    assert_same_vars(&both.base, &both.head);
}

#[test]
fn what_a_benchmark_leaves_behind_is_gone_the_next_time() {
    let repo = a_and_b();
    let left = "std::fs::write(\"Cargo.lock\", \"broken\").unwrap();\n    \
                std::fs::write(\"told.txt\", \"told by nobody\").unwrap();\n    \
                std::fs::write(\"src/bin/more.rs\", \"broken\").unwrap();\n    \
                std::fs::write(Path::new(env!(\"OUT_DIR\")).join(\"told.txt\"), \"x\").unwrap();";
    let end = "file.write_all(&line).unwrap();";
    repo.replace("benches/look.rs", end, &format!("{end}\n    {left}"));
    repo.commit("leave a mess");
    for _ in 0..2 {
        let both = compare(&repo, "main");
        both.base.assert_is("A");
        both.head.assert_is("B");
        assert!(both.base.lock.contains("name = \"witness\""));
        assert!(both.head.lock.contains("name = \"witness\""));
    }
}

#[test]
fn the_scratch_folder_that_cargo_promises_is_there_also_from_the_cache() {
    let repo = Repo::new("steady");
    let write = "fn main() {\n    let folder = std::path::Path::new(env!(\"CARGO_TARGET_TMPDIR\"));\n    \
                 std::fs::write(folder.join(\"scratch\"), \"x\").unwrap();";
    repo.replace("benches/work.rs", "fn main() {", write);
    repo.commit("scratch");
    for _ in 0..2 {
        repo.cbdr("compare --aa --max-pairs 6 --threshold 900% --layouts off").run().code(0);
    }
    // With a target given there is one more level of folders.
    repo.write(".cargo/config.toml", &format!("[build]\ntarget = \"{}\"\n", host()));
    repo.commit("a target");
    for _ in 0..2 {
        repo.cbdr("compare --aa --max-pairs 6 --threshold 900% --layouts off").run().code(0);
    }
}

/// Sets the time of everything below `folder` to the future.
fn set_clock_forward(folder: &Path) {
    let time = std::time::SystemTime::now() + std::time::Duration::from_secs(3600);
    for file in files(folder).into_iter().filter(|file| file.is_file() && !file.is_symlink()) {
        std::fs::File::open(file).unwrap().set_modified(time).unwrap();
    }
}

#[test]
fn a_build_of_before_the_clock_was_set_back_is_not_taken_for_a_new_one() {
    for is_seeded in [false, true] {
        let repo = a_and_b();
        compare(&repo, "main");
        for side in ["base", "head"] {
            lives(&repo, side).iter().for_each(|live| set_clock_forward(live));
        }
        if is_seeded {
            lives(&repo, "head").iter().for_each(|live| std::fs::remove_dir_all(live).unwrap());
        }
        becomes(&repo, "B", "C");
        let both = compare(&repo, "main");
        both.base.assert_is("A");
        both.head.assert_is("C");
    }
}

#[test]
fn what_a_build_command_left_before_the_clock_was_set_back_is_not_taken_for_new() {
    let repo = Repo::new("witness");
    repo.write("run.sh", "cat target/what >> \"$SEEN\"\n");
    repo.write("build.sh", "mkdir -p target\n[ target/what -nt what ] || cp what target/what\n");
    repo.write("what", "A\n");
    repo.write(".gitignore", "target\n");
    repo.commit("scripts");
    repo.branch("feature");
    repo.write("what", "B\n");
    repo.commit("B");
    let seen = repo.around().join("seen");
    let run = || {
        let _ = std::fs::remove_file(&seen);
        let args = "compare main --max-pairs 6 --threshold 900% --layouts off --warmup 0";
        let scripts = ["--build-command", "sh build.sh", "--command", "sh run.sh"];
        repo.cbdr(args).args(scripts).env("SEEN", &seen).run().code(0);
        let text = std::fs::read_to_string(&seen).unwrap();
        let mut letters: Vec<&str> = text.lines().collect();
        letters.sort_unstable();
        letters.dedup();
        letters.join("")
    };
    assert_eq!(run(), "AB");
    set_clock_forward(&repo.cached().join("head/built/target"));
    repo.write("what", "C\n");
    repo.commit("C");
    assert_eq!(run(), "AC");
}

#[test]
fn submodules_are_filled_from_the_clone() {
    let repo = Repo::new("witness");
    let part = Repo::new("steady");
    part.write("told.txt", "told by A");
    let first = part.commit("first words");
    part.write("told.txt", "told by B");
    let second = part.commit("other words");
    let url = part.path().to_str().unwrap();
    let allow = "protocol.file.allow=always";
    repo.git(&["-c", allow, "submodule", "--quiet", "add", "--name", "a part", url, "parts/one"]);
    let at = repo.path().join("parts/one");
    repo.replace("build.rs", "rerun-if-changed=told.txt", "rerun-if-changed=parts/one/told.txt");
    repo.replace(
        "build.rs",
        "read_to_string(\"told.txt\")",
        "read_to_string(\"parts/one/told.txt\")",
    );
    git(&at, &["checkout", "--quiet", &first]);
    repo.commit("with a submodule");
    repo.branch("feature");
    git(&at, &["checkout", "--quiet", &second]);
    repo.commit("with a later one");
    let both = compare(&repo, "main");
    assert_eq!((&*both.base.told, &*both.head.told), ("told by A", "told by B"));
    // Also when it is only under `.git/modules`, and from a linked worktree.
    let linked = repo.around().join("linked");
    repo.git(&["worktree", "add", "--quiet", "--detach", linked.to_str().unwrap(), "feature"]);
    let both =
        measure(&repo, repo.cbdr("compare feature --exact-base --head main").folder(&linked));
    assert_eq!((&*both.base.told, &*both.head.told), ("told by B", "told by A"));
    // A commit that the clone does not have is an error that states this.
    part.write("told.txt", "told by C");
    let third = part.commit("more words");
    repo.git(&["update-index", "--cacheinfo", &format!("160000,{third},parts/one")]);
    repo.git(&["commit", "--quiet", "--message", "one that is not here"]);
    let ran = repo.cbdr("compare main").run().code(101);
    let ran = ran.says(&format!("does not contain commit {third} of the submodule `parts/one`\n"));
    ran.says("hint: `git submodule update --init --recursive`");
}

#[test]
fn a_build_script_may_ask_git_to_describe_its_commit() {
    let repo = Repo::new("witness");
    let git = "std::process::Command::new(\"git\").args([\"describe\", \"--tags\", \"--dirty\"])";
    let told = format!("String::from_utf8({git}.output().unwrap().stdout).unwrap()");
    repo.replace("build.rs", "std::fs::read_to_string(\"told.txt\").unwrap()", &told);
    repo.commit("describe it");
    repo.git(&["tag", "--annotate", "--message", "words", "v1.2.3"]);
    repo.git(&["tag", "z-light", "HEAD~1"]);
    repo.branch("feature");
    let head = repo.commit("one more");
    let both = compare(&repo, "main");
    assert_eq!(both.base.told, "v1.2.3");
    assert!(both.head.told.starts_with("v1.2.3-1-g"), "{}", both.head.told);
    assert!(head.starts_with(both.head.told.trim_start_matches("v1.2.3-1-g")));
}
