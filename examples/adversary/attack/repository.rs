//! The repository of a case: what is in it on each side, and how it is written.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Stdio};

use super::case::{Case, Edit, Member, Place};
use super::mechanism::Part;

/// What stands at a path.
#[derive(Clone, PartialEq, Eq)]
enum Content {
    Text(String),
    Script(String),
    Link(String),
    /// A submodule whose file `data` is so long.
    Submodule(usize),
}

/// One side.
#[derive(Default)]
struct Files {
    all: BTreeMap<String, Content>,
    /// The roots of the crates, as they are so far.
    library: String,
    bench: String,
    dependency: String,
    build: String,
    /// The crates of the workspace, with the type of their libraries and their code.
    crates: BTreeMap<String, (&'static str, String)>,
    ignored: String,
    table: String,
    target: String,
    package: String,
    profile: String,
    manifest: String,
    version: Option<String>,
    /// The path of each benchmark.
    paths: Vec<(&'static str, String)>,
}

const SPIN: &str = "#[inline(never)] pub fn spin(n: u64) -> u64 { let mut s = 1u64; for i in 0..n {
    s = std::hint::black_box(s.wrapping_mul(31).wrapping_add(i)); } s }\n";

const HEADER: &str =
    "#![allow(warnings)] use super::spin; use std::hint::black_box; use std::cell::Cell;
    use std::sync::atomic::{AtomicU64, Ordering::Relaxed};";

/// The text of a part for one side.
fn expand(text: &str, name: &str, is_slow: bool) -> String {
    let mut expanded = String::new();
    let mut rest = text;
    while let Some((before, choice)) = rest.split_once('«') {
        let (choice, after) = choice.split_once('»').expect("an end of a choice");
        let (quick, slow) = choice.split_once('¦').expect("two ways");
        expanded += before;
        expanded += if is_slow { slow } else { quick };
        rest = after;
    }
    expanded += rest;
    let rounds = if is_slow { "120000" } else { "30000" };
    expanded.replace("ROUNDS", rounds).replace("NAME", name)
}

impl Files {
    fn put(&mut self, path: &str, content: Content) {
        self.all.insert(path.to_owned(), content);
    }

    fn add(&mut self, member: &Member, is_slow: bool) {
        let name = member.mechanism.name;
        for part in member.mechanism.parts {
            let text = |text: &str| expand(text, name, is_slow);
            match part {
                Part::Code(code) => self.module(name, &text(code), member.place),
                Part::Lib(code) => self.module(name, &text(code), Place::Library),
                Part::Bench(code) => self.module(name, &text(code), Place::Bench),
                Part::Root(items) => self.library += &(text(items) + "\n"),
                Part::Crate(of, code) => {
                    self.crates.insert(text(of), ("\"rlib\"", text(code)));
                }
                Part::Dynamic(of, code) => {
                    self.crates.insert(text(of), ("\"cdylib\", \"rlib\"", text(code)));
                }
                Part::Build(statements) => self.build += &(text(statements) + "\n"),
                Part::File(path, content) => self.put(&text(path), Content::Text(text(content))),
                Part::Script(path, code) => self.put(&text(path), Content::Script(text(code))),
                Part::Data(path) => {
                    let data = "x".repeat(rounds(is_slow));
                    self.put(&text(path), Content::Text(data));
                }
                Part::Link(path, to) => self.put(&text(path), Content::Link(text(to))),
                Part::Submodule(path) => {
                    self.put(&text(path), Content::Submodule(rounds(is_slow)));
                }
                Part::Ignore(line) => self.ignored += &(text(line) + "\n"),
                Part::Table(line) => self.table += &(text(line) + "\n"),
                Part::Target(line) => self.target += &(text(line) + "\n"),
                Part::Package(line) => self.package += &(text(line) + "\n"),
                Part::Profile(line) => self.profile += &(text(line) + "\n"),
                Part::Manifest(end) => self.manifest += &(text(end) + "\n"),
                Part::Config(config) => {
                    let text = text(config);
                    if !text.is_empty() {
                        self.put(".cargo/config.toml", Content::Text(text));
                    }
                }
                Part::Version(version) => self.version = Some(text(version)),
            }
        }
    }

    fn module(&mut self, name: &'static str, code: &str, place: Place) {
        let module = format!("pub mod {name} {{ {HEADER}\n{code}\n}}\n");
        let path = match place {
            Place::Library => {
                self.library += &module;
                format!("t::{name}::run")
            }
            Place::Bench => {
                self.bench += &module;
                format!("{name}::run")
            }
            Place::Dependency => {
                self.dependency += &module;
                format!("t::dependency::{name}::run")
            }
        };
        self.paths.push((name, path));
    }

    /// Writes the crates and the manifests, when all benchmarks are added.
    fn finish(mut self, case: &Case, edits: &[Edit]) -> BTreeMap<String, Content> {
        let has = |edit: Edit| edits.contains(&edit);
        let mut main = if case.is_timed { TIMED } else { PLAIN }.to_owned();
        let each = self.paths.iter().map(|(name, path)| format!("(\"{name}\", {path}), "));
        main = main.replace("BENCHMARKS", &each.collect::<String>());
        let factor = |is_edited: bool| if is_edited { 13 } else { 11 };
        let (idle, idle_too) = (factor(has(Edit::Idle)), factor(has(Edit::IdleInBench)));
        let moved = if has(Edit::Comment) { "// A comment,\n// of two lines.\n" } else { "" };
        let new = if has(Edit::Function) { "pub fn new(x: u64) -> u64 { x ^ 5 }\n" } else { "" };
        self.library = format!(
            "#![allow(warnings)]\n{moved}pub use dependency;\n{SPIN}{}\
             #[inline(never)] pub fn idle(x: u64) -> u64 {{ x.wrapping_mul({idle}) }}\n{new}",
            self.library
        );
        self.bench = format!(
            "#![allow(warnings)]\n{SPIN}{}#[inline(never)] fn idle(x: u64) -> u64 \
             {{ x.wrapping_mul({idle_too}) }}\n{main}",
            self.bench
        );
        let dependency = format!("#![allow(warnings)]\n{SPIN}{}", self.dependency);
        self.crates.insert("dependency".to_owned(), ("\"rlib\"", dependency));
        if has(Edit::File) {
            self.put("docs/new.txt", Content::Text("new".to_owned()));
        }
        let version = match (self.version.take(), has(Edit::Version)) {
            (Some(version), _) => version,
            (None, true) => "0.2.0".to_owned(),
            (None, false) => "0.1.0".to_owned(),
        };
        self.manifests(case, &version);
        let files = [
            ("src/lib.rs", self.library.clone()),
            ("benches/work.rs", self.bench.clone()),
            (".gitignore", format!("target\n{}", self.ignored)),
        ];
        for (path, text) in files {
            self.put(path, Content::Text(text));
        }
        if !self.build.is_empty() {
            let text = format!("{BUILD}fn main() {{\n{}}}\n", self.build);
            self.put("build.rs", Content::Text(text));
        }
        let folder = case.folder;
        self.all.into_iter().map(|(path, content)| (format!("{folder}{path}"), content)).collect()
    }

    fn manifests(&mut self, case: &Case, version: &str) {
        let crates = std::mem::take(&mut self.crates);
        let mut lock = "version = 4\n".to_owned();
        let list = |names: &[&String]| {
            names.iter().map(|name| format!(" \"{name}\",\n")).collect::<String>()
        };
        let mut locked: BTreeMap<&str, (&str, Vec<&String>)> = BTreeMap::new();
        for (name, (types, code)) in &crates {
            let needs = crates.keys().filter(|other| code.contains(&format!("{other}::")));
            let needs: Vec<&String> = needs.filter(|other| *other != name).collect();
            let lines =
                needs.iter().map(|other| format!("{other} = {{ path = \"../{other}\" }}\n"));
            let lines = lines.collect::<String>();
            let manifest = format!(
                "[package]\nname = \"{name}\"\nversion = \"0.1.0\"\nedition = \"2024\"\n\
                 [lib]\ncrate-type = [{types}]\n[dependencies]\n{lines}"
            );
            self.put(&format!("{name}/Cargo.toml"), Content::Text(manifest));
            self.put(&format!("{name}/src/lib.rs"), Content::Text(code.clone()));
            locked.insert(name, ("0.1.0", needs));
        }
        let names: Vec<&String> = crates.keys().collect();
        locked.insert("t", (version, names.clone()));
        for (name, (version, needs)) in locked {
            let _ = write!(lock, "\n[[package]]\nname = \"{name}\"\nversion = \"{version}\"\n");
            if !needs.is_empty() {
                let _ = write!(lock, "dependencies = [\n{}]\n", list(&needs));
            }
        }
        let needs = names.iter().map(|name| format!("{name} = {{ path = \"{name}\" }}\n"));
        let needs = needs.collect::<String>();
        let mut manifest = format!(
            "[workspace]\nmembers = [\".\"]\n[package]\nname = \"t\"\nversion = \"{version}\"\n\
             edition = \"2024\"\n{}[dependencies]\n{needs}[[bench]]\nname = \"work\"\nharness = false\n{}",
            self.package, self.target
        );
        let key = |line: &str| line.split(' ').next().map(str::to_owned);
        let is_set = |line: &str| self.profile.lines().any(|other| key(other) == key(line));
        let profile: Vec<&str> =
            case.profile.iter().copied().filter(|line| !is_set(line)).collect();
        let profile = profile.join("\n");
        let _ = write!(manifest, "[profile.bench]\n{profile}\n{}{}", self.profile, self.manifest);
        if !self.table.is_empty() {
            let _ = write!(manifest, "[package.metadata.cbdr]\n{}", self.table);
        }
        self.put("Cargo.toml", Content::Text(manifest));
        self.put("Cargo.lock", Content::Text(lock));
    }
}

fn rounds(is_slow: bool) -> usize {
    if is_slow { 120_000 } else { 30_000 }
}

/// What is in the repository, with these edits, before or after what makes it slower.
fn files(case: &Case, edits: &[Edit], is_slower: bool) -> BTreeMap<String, Content> {
    let mut files = Files::default();
    for member in &case.members {
        files.add(member, is_slower && member.is_slower);
    }
    files.finish(case, edits)
}

/// Writes the repository of a case to `folder/repo`: its branch `main`, and `feature` on top of
/// it, which is checked out. `harmless` has the edits of `feature` alone.
pub fn write(case: &Case, folder: &Path) {
    let repo = folder.join("repo");
    std::fs::create_dir_all(&repo).expect("a new folder");
    git(&repo, &["init", "--quiet", "--initial-branch=main"]);
    let base = files(case, &[], false);
    commit(folder, &BTreeMap::new(), &base);
    for (branch, files) in
        [("harmless", files(case, &case.edits, false)), ("feature", files(case, &case.edits, true))]
    {
        git(&repo, &["checkout", "--quiet", "-b", branch, "main"]);
        commit(folder, &base, &files);
    }
}

/// Turns the working tree from `before` into `after`, and commits it.
fn commit(folder: &Path, before: &BTreeMap<String, Content>, after: &BTreeMap<String, Content>) {
    let repo = folder.join("repo");
    for path in before.keys().filter(|path| !after.contains_key(*path)) {
        std::fs::remove_file(repo.join(path)).expect("a file to remove");
    }
    let submodules = before.values().any(|content| matches!(content, Content::Submodule(_)));
    if submodules {
        git(&repo, &["submodule", "--quiet", "update"]);
    }
    for (path, content) in after {
        let full = repo.join(path);
        std::fs::create_dir_all(full.parent().expect("a folder")).expect("a folder");
        match content {
            Content::Text(text) => std::fs::write(full, text).expect("a file"),
            Content::Script(text) => {
                std::fs::write(&full, text).expect("a file");
                let mode = std::fs::Permissions::from_mode(0o755);
                std::fs::set_permissions(full, mode).expect("a mode");
            }
            Content::Link(to) => {
                let _ = std::fs::remove_file(&full);
                std::os::unix::fs::symlink(to, full).expect("a link");
            }
            Content::Submodule(length) => submodule(folder, path, *length),
        }
    }
    git(&repo, &["add", "--all"]);
    git(&repo, &["commit", "--quiet", "--allow-empty", "--message", "a side"]);
}

/// Sets a submodule to a commit whose file `data` is so long.
fn submodule(folder: &Path, path: &str, length: usize) {
    let repo = folder.join("repo");
    let origin = folder.join(format!("{}.origin", path.replace('/', "-")));
    let change = |text: &str| {
        std::fs::write(origin.join("data"), text).expect("a file");
        git(&origin, &["add", "--all"]);
        git(&origin, &["commit", "--quiet", "--allow-empty", "--message", "data"]);
    };
    if !origin.exists() {
        std::fs::create_dir(&origin).expect("a folder");
        git(&origin, &["init", "--quiet", "--initial-branch=main"]);
        change(&"x".repeat(length));
        let from = origin.to_str().expect("a path");
        return git(&repo, &["submodule", "--quiet", "add", from, path]);
    }
    change(&"x".repeat(length));
    git(&repo.join(path), &["fetch", "--quiet"]);
    git(&repo.join(path), &["checkout", "--quiet", "origin/main"]);
}

/// Runs git, regardless of the machine's configuration.
fn git(folder: &Path, args: &[&str]) {
    let mut command = Command::new("git");
    command.current_dir(folder).stdin(Stdio::null());
    for (name, _) in std::env::vars_os() {
        if name.as_encoded_bytes().starts_with(b"GIT_") {
            command.env_remove(name);
        }
    }
    for setting in ["protocol.file.allow=always", "maintenance.auto=false", "core.fsync=none"] {
        command.args(["-c", setting]);
    }
    for (name, value) in [
        ("GIT_CONFIG_GLOBAL", "/dev/null"),
        ("GIT_CONFIG_NOSYSTEM", "1"),
        ("GIT_AUTHOR_NAME", "A"),
        ("GIT_AUTHOR_EMAIL", "a@localhost"),
        ("GIT_AUTHOR_DATE", "2026-01-01T00:00:00Z"),
        ("GIT_COMMITTER_NAME", "A"),
        ("GIT_COMMITTER_EMAIL", "a@localhost"),
        ("GIT_COMMITTER_DATE", "2026-01-01T00:00:00Z"),
    ] {
        command.env(name, value);
    }
    let output = command.args(args).output().expect("git");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "git {args:?} in {}: {said}", folder.display());
}

/// A harness that is recognised as libtest's.
const PLAIN: &str = r#"
fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    if args.iter().any(|arg| arg == "--help") {
        println!("--exact   Exactly match filters rather than by substring");
        return;
    }
    let names: Vec<&String> = args.iter().filter(|arg| !arg.starts_with('-')).collect();
    if names.len() == 99 { println!("{}", t::idle(3) + idle(5)); }
    let all: &[(&str, fn(u64) -> u64)] = &[BENCHMARKS];
    for (name, work) in all {
        if names.is_empty() || names.iter().any(|chosen| chosen == name) {
            let mut best = f64::MAX;
            for _ in 0..3 {
                let start = std::time::Instant::now();
                std::hint::black_box(work(std::hint::black_box(3)));
                best = best.min(start.elapsed().as_nanos() as f64);
            }
            println!("test {name} ... bench: {best:.2} ns/iter (+/- 1.00)");
        }
    }
}
"#;

/// A harness that is recognised as criterion's: it measures for a time, 0.2 s if none is asked for.
const TIMED: &str = r#"
#[used] static MARKS: [&str; 8] = ["noise-threshold", "warm-up-time", "save-baseline",
    "discard-baseline", "measurement-time", "sample-size", "nresamples", "noplot"];
fn main() {
    let (mut warm_up, mut time, mut filter) = (0.1, 0.2, None);
    let (mut is_quick, mut is_list, mut is_test) = (false, false, false);
    let mut args = std::env::args().skip(1);
    while let Some(arg) = args.next() {
        let mut number = || args.next().unwrap().parse::<f64>().unwrap();
        match arg.as_str() {
            "--warm-up-time" => warm_up = number(),
            "--measurement-time" => time = number(),
            "--sample-size" | "--nresamples" | "--significance-level" => { number(); }
            "--quick" => is_quick = true,
            "--list" => is_list = true,
            "--test" => is_test = true,
            other if other.starts_with('-') => {}
            other => filter = Some(other.trim_start_matches("^(?:").trim_end_matches(")$").to_owned()),
        }
    }
    if filter.as_deref() == Some("neither") { println!("{}", t::idle(3) + idle(5)); }
    let all: &[(&str, fn(u64) -> u64)] = &[BENCHMARKS];
    for (name, work) in all {
        if filter.as_ref().is_some_and(|filter| !filter.split('|').any(|one| one == *name)) { continue; }
        if is_list { println!("{name}: benchmark"); continue; }
        let runs = |count: u64| {
            let start = std::time::Instant::now();
            for _ in 0..count { std::hint::black_box(work(std::hint::black_box(3))); }
            start.elapsed().as_secs_f64()
        };
        if is_test { runs(1); continue; }
        let (mut count, mut spent, mut last) = (0u64, 0.0, 0.0);
        let least = if is_quick { time } else { warm_up };
        let mut next = 1;
        while count == 0 || spent < least { next = count.max(1); last = runs(next); spent += last; count += next; }
        // The quick mode has no samples: it doubles the iterations until the time is over.
        let each = if is_quick { next } else { ((time / 10.0 / (spent / count as f64)) as u64).max(1) };
        let times: Vec<f64> = (0..10).map(|_| if is_quick { last } else { runs(each) } * 1e9).collect();
        let middle = times.iter().sum::<f64>() / 10.0 / each as f64;
        println!("{name}   time:   [{middle:.4} ns {middle:.4} ns {middle:.4} ns]");
        let Some(home) = std::env::var_os("CRITERION_HOME") else { continue };
        let folder = std::path::Path::new(&home).join(name).join("new");
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join("benchmark.json"), format!("{{\"full_id\":\"{name}\"}}")).unwrap();
        let sample = format!("{{\"iters\":{:?},\"times\":{times:?}}}", [each as f64; 10]);
        std::fs::write(folder.join("sample.json"), sample).unwrap();
    }
}
"#;

/// What a build script calls.
const BUILD: &str = r#"
#![allow(dead_code, unused)]
use std::process::Command;
fn out() -> String { std::env::var("OUT_DIR").unwrap() }
fn run(program: &str, args: &[&str]) { assert!(Command::new(program).args(args).status().unwrap().success()); }
fn compile(name: &str, flags: &[&str]) -> String {
    let object = format!("{}/{name}.o", out());
    println!("cargo::rerun-if-changed={name}.c");
    run("cc", &[&["-O1", "-fPIC", "-c", &format!("{name}.c"), "-o", &object], flags].concat());
    object
}
fn object(name: &str) -> String { compile(name, &[]) }
fn cc(name: &str, flags: &[&str]) { archive(name, &compile(name, flags)); }
fn archive(name: &str, object: &str) {
    let library = format!("{}/lib{name}.a", out());
    let _ = std::fs::remove_file(&library);
    run("ar", &["crs", &library, object]);
    println!("cargo::rustc-link-search=native={}", out());
    println!("cargo::rustc-link-lib=static={name}");
}
fn merge(name: &str, other: &str) {
    let merged = format!("{}/{name}-merged.o", out());
    run("cc", &["-r", "-nostdlib", &compile(name, &[]), &compile(other, &[]), "-o", &merged]);
    archive(name, &merged);
}
fn shared(name: &str) {
    println!("cargo::rerun-if-changed={name}.c");
    run("cc", &["-O1", "-fPIC", "-shared", &format!("{name}.c"), "-o", &format!("{}/lib{name}.so", out())]);
}
"#;
