//! Benchmarks that open something that differs are measured, however they get there, and no
//! others are.
#![cfg(target_arch = "x86_64")]

use serde_json::{Value, json};

use crate::support::{ONE_PAIR, Ran, Repo};
use crate::unaffected::{bench, status};

/// What the first benchmark calls, and code that does not run.
const LIBRARY: &str = "
    #[inline(never)] pub fn one(x: u64) -> u64 { x.wrapping_mul(7) }
    #[inline(never)] pub fn idle(x: u64) -> u64 { x.wrapping_mul(11) }
    fn length(path: &str) -> u64 { std::fs::read(path).unwrap().len() as u64 }
";

/// Benchmarks, each with an expression for a number, that find something that differs.
const AFFECTED: [(&str, &str); 16] = [
    ("plain", r#"length("data.txt")"#),
    ("link", r#"length("linked.txt")"#),
    ("other_target", r#"length("now/data.txt")"#),
    ("here", r#"length("/proc/self/cwd/src/../data.txt")"#),
    (
        "folder",
        r#"{ use std::os::fd::AsRawFd; let folder = std::fs::File::open("src").unwrap();
             length(&format!("/dev/fd/{}/../data.txt", folder.as_raw_fd())) }"#,
    ),
    (
        "hard_link",
        r#"{ std::fs::hard_link("data.txt", "again.txt").unwrap(); let found = length("again.txt");
             std::fs::remove_file("again.txt").unwrap(); found }"#,
    ),
    (
        "new_link",
        r#"{ std::os::unix::fs::symlink("data.txt", "soft.txt").unwrap();
             let found = length("soft.txt"); std::fs::remove_file("soft.txt").unwrap(); found }"#,
    ),
    (
        "renamed",
        r#"{ std::fs::rename("folder", "moved").unwrap(); let found = length("moved/deep.txt");
             std::fs::rename("moved", "folder").unwrap(); found }"#,
    ),
    (
        "child",
        r#"{ let mut cat = std::process::Command::new("cat");
             cat.arg("../data.txt").current_dir("src").output().unwrap().stdout.len() as u64 }"#,
    ),
    (
        "mode",
        r#"{ use std::os::unix::fs::PermissionsExt;
             u64::from(std::fs::metadata("run.sh").unwrap().permissions().mode()) }"#,
    ),
    ("generated", r#"length("generated.txt")"#),
    ("built", r#"length(concat!(env!("OUT_DIR"), "/built.txt"))"#),
    ("converted", r#"length("lines.txt")"#),
    (
        "made",
        r#"match std::fs::create_dir("new") {
             Ok(()) => { std::fs::remove_dir("new").unwrap(); 1 }
             Err(_) => 2 }"#,
    ),
    ("git", r#"length(".git")"#),
    ("server", r#"u64::from(std::net::TcpStream::connect("127.0.0.1:1").is_ok())"#),
];

/// Others that find nothing that differs.
const UNAFFECTED: [(&str, &str); 6] = [
    ("same", r#"length("same.txt")"#),
    (
        "own",
        r#"{ std::fs::write("own.txt", format!("{:?}", std::time::Instant::now())).unwrap();
                length("own.txt") }"#,
    ),
    ("lists", r#"std::fs::read_dir("folder").unwrap().count() as u64"#),
    ("passes", r#"std::fs::canonicalize("src/../folder").unwrap().components().count() as u64"#),
    ("built_alike", r#"length(concat!(env!("OUT_DIR"), "/alike.txt"))"#),
    (
        "own_server",
        r#"{ let server = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
             std::net::TcpStream::connect(server.local_addr().unwrap()).unwrap(); 1 }"#,
    ),
];

const BUILD_SCRIPT: &str = r#"
fn main() {
    let out = std::env::var("OUT_DIR").unwrap();
    std::fs::copy("data.txt", "generated.txt").unwrap();
    std::fs::copy("data.txt", format!("{out}/built.txt")).unwrap();
    std::fs::write(format!("{out}/alike.txt"), &out).unwrap();
}
"#;

/// A library with a function for each of these, and a benchmark that calls them.
fn write_code(repo: &Repo, all: &[(&str, &str)]) {
    let functions = all.iter().map(|(name, found)| {
        format!("#[inline(never)] pub fn {name}(x: u64) -> u64 {{ x ^ ({found}) }}\n")
    });
    repo.write("src/lib.rs", &format!("{LIBRARY}{}", functions.collect::<String>()));
    let calls = all.iter().map(|(name, _)| format!("(\"{name}\", steady::{name}), "));
    repo.write("benches/work.rs", &bench(&calls.collect::<String>()));
}

fn compare(repo: &Repo, args: &str) -> Ran {
    let call = "compare main --harness libtest --seed 5 --layouts off --format json";
    repo.cbdr(&format!("{call} {ONE_PAIR} {args}")).run().code(0)
}

/// Makes a link in the working tree.
fn link(repo: &Repo, target: &str, name: &str) {
    let path = repo.path().join(name);
    let _ = std::fs::remove_file(&path);
    std::os::unix::fs::symlink(target, path).unwrap();
}

#[test]
fn whatever_way_a_file_is_reached_that_differs_it_is_seen() {
    let repo = Repo::new("library");
    let all = [&AFFECTED[..], &UNAFFECTED[..]].concat();
    write_code(&repo, &all);
    repo.write("build.rs", BUILD_SCRIPT);
    repo.write(".gitignore", "/target\ngenerated.txt\n");
    for (name, text) in [
        ("data.txt", "some"),
        ("v1/data.txt", "1"),
        ("v2/data.txt", "1"),
        ("same.txt", "same"),
        ("lines.txt", "a\nb\n"),
        ("folder/deep.txt", "some"),
        ("run.sh", "true\n"),
    ] {
        repo.write(name, text);
    }
    link(&repo, "data.txt", "linked.txt");
    link(&repo, "v1", "now");
    repo.commit("base");
    repo.branch("feature");
    repo.replace("src/lib.rs", "wrapping_mul(11)", "wrapping_mul(13)");
    repo.write("data.txt", "more");
    repo.write("folder/deep.txt", "more");
    repo.write("new/file.txt", "");
    repo.write(".gitattributes", "lines.txt text eol=crlf\n");
    let executable = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(repo.path().join("run.sh"), executable).unwrap();
    link(&repo, "v2", "now");
    repo.commit("head");
    let ran = compare(&repo, "-v");
    let object = ran.json();
    for (name, _) in AFFECTED {
        assert_eq!(status(&object, name), "compared", "{name}: {}", ran.stderr);
        assert!(ran.stderr.contains(&format!("`{name}`: it ")), "{name}: {}", ran.stderr);
    }
    for (name, _) in UNAFFECTED {
        assert_eq!(status(&object, name), "unaffected", "{name}: {}", ran.stderr);
    }
    let reason = |name: &str| {
        let all = object["benchmarks"].as_array().unwrap();
        all.iter().find(|one| one["name"] == name).unwrap()["reason"].clone()
    };
    assert_eq!(reason("same")["accessed"], json!(["same.txt"]));
    assert_eq!(reason("lists")["accessed"], json!(["folder"]));
    assert_eq!(reason("plain"), Value::Null);
    let functions = &reason("one")["functions"];
    let count = |name: &str| functions[name].as_u64().unwrap();
    assert_eq!(count("differ"), 0, "{functions}");
    assert!(count("entered") < count("compared"), "{functions}");
}

#[test]
fn an_unchanged_program_is_measured_if_it_may_find_something_else() {
    // In memory, the size of a folder is that of its names, and a shell looks at its folder.
    let repo = Repo::on_disk("library");
    write_code(&repo, &[("two", r#"length("data.txt")"#)]);
    repo.write("data.txt", "some");
    repo.write("input.txt", "some");
    repo.write("run.sh", "exec \"$@\"\n");
    repo.commit("base");
    repo.branch("feature");
    let statuses = |object: &Value| ["one", "two"].map(|name| status(object, name).to_owned());
    // Nobody opens it, which is known the second time without a run.
    repo.write("README.md", "words");
    repo.commit("words");
    let first = compare(&repo, "").json();
    assert_eq!(first["verdict"], "identical");
    let reason = json!({ "changed_files": 1, "accessed": ["data.txt"] });
    assert_eq!(first["benchmarks"][0]["reason"], reason);
    let again = compare(&repo, "").json();
    assert_eq!(again["benchmarks"], first["benchmarks"]);
    // As much as it is the file of standard input, or if there is a command for each run.
    repo.write("input.txt", "more");
    repo.commit("input");
    assert_eq!(compare(&repo, "").json()["verdict"], "identical");
    for (args, why) in [
        ("--stdin input.txt", "it opens `input.txt`, which differs"),
        ("--prepare true", "`setup`, `prepare` or `cleanup` may use files that differ"),
    ] {
        let ran = compare(&repo, args).says("is the same program on both sides").says(why);
        assert_eq!(statuses(&ran.json()), ["compared", "compared"], "{args}");
    }
    repo.write("data.txt", "more");
    repo.commit("data");
    let ran = compare(&repo, "");
    let notice = "but measured anyway: it opens `data.txt`, which differs";
    let object = ran.says(notice).json();
    assert!(object["notices"].to_string().contains(notice), "{object}");
    assert_eq!(statuses(&object), ["unaffected", "compared"]);
    // What runs it is a part of it.
    repo.git(&["checkout", "--quiet", "main"]);
    repo.write(".cargo/config.toml", "[target.'cfg(all())']\nrunner = ['sh', './run.sh']\n");
    repo.commit("runner");
    repo.git(&["checkout", "--quiet", "-B", "other"]);
    repo.write("words.md", "words");
    repo.commit("words");
    let ran = compare(&repo, "-v");
    let object = ran.json();
    assert_eq!(object["verdict"], "identical", "{}", ran.stderr);
    assert_eq!(object["benchmarks"][0]["reason"]["accessed"], json!(["data.txt", "run.sh"]));
    repo.write("run.sh", "exec \"$@\" \n");
    repo.commit("another runner");
    let ran = compare(&repo, "-v").says("measured anyway: it opens `run.sh`, which differs");
    assert_eq!(statuses(&ran.json()), ["compared", "compared"]);
}

/// A benchmark that runs nothing if it may take no time, as of divan.
const TIMED: &str = r#"
fn main() {
    let args: Vec<String> = std::env::args().collect();
    let time = args.iter().position(|arg| arg == "--max-time").map(|at| args[at + 1].as_str());
    if time != Some("0") {
        std::fs::read("data.txt").unwrap();
    }
    let noise = std::time::UNIX_EPOCH.elapsed().unwrap().subsec_nanos() % 1000;
    let time = format!("{:.5} ns", 100.0 + f64::from(noise) * 1e-6);
    println!("work  fastest │ slowest │ median │ mean │ samples │ iters");
    println!("╰─ one  {time} │ {time} │ {time} │ {time} │ 10 │ 10");
}
"#;

#[test]
fn an_unchanged_program_has_time_to_open_what_differs() {
    let repo = Repo::new("library");
    repo.write("benches/work.rs", TIMED);
    repo.write("data.txt", "some");
    repo.commit("base");
    repo.branch("feature");
    repo.write("data.txt", "more");
    repo.commit("head");
    let call = "compare main --harness divan --seed 5 --layouts off";
    let ran = repo.cbdr(&format!("{call} {ONE_PAIR}")).run();
    ran.code(0).says("measured anyway: it opens `data.txt`, which differs");
}

/// A benchmark whose first run takes longer than any limit.
const SLOW_AT_FIRST: &str = r#"
fn main() {
    let is_run = !std::env::args().any(|arg| arg == "--list" || arg == "--help");
    if is_run && std::fs::File::create_new(std::env::var("MARK").unwrap()).is_ok() {
        std::thread::sleep(std::time::Duration::from_secs(600));
    }
    println!("work  fastest │ slowest │ median │ mean │ samples │ iters");
    println!("╰─ one  1 ns │ 1 ns │ 1 ns │ 1 ns │ 10 │ 10");
}
"#;

#[test]
fn what_turns_out_to_be_unaffected_later_is_not_said_to_be_measured() {
    let repo = Repo::new("library");
    repo.write("benches/work.rs", SLOW_AT_FIRST);
    repo.commit("base");
    repo.branch("feature");
    repo.write("notes.md", "notes");
    repo.commit("head");
    let call = "compare main --harness divan --seed 5 --layouts off --time-limit 2s --format json";
    let ran = repo.cbdr(call).env("MARK", repo.around().join("mark")).run().code(0);
    let object = ran.json();
    let status = object["benchmarks"].as_array().unwrap().iter().map(|one| &one["status"]);
    assert!(status.eq(["unaffected"]), "{object}\n{}", ran.stderr);
    ran.never_says("measured anyway");
}
