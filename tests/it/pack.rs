//! A pack is measured where there is neither the repository nor anything that builds it.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use tar::{Archive, Builder, EntryType, Header};

use crate::support::live::assert_gone;
use crate::support::{Cbdr, Ran, Repo, linker, linker_variable, metric};

/// A benchmark that reports its time, which is what the source says, with a little noise. It
/// needs a file of the repository, one that its build script has made, and a folder of cargo's.
const BENCH: &str = r#"#[path = "../src/lib.rs"]
mod steady;

fn main() {
    let data = std::fs::read_to_string("data.txt").unwrap();
    let made = std::fs::read_to_string(concat!(env!("OUT_DIR"), "/made")).unwrap();
    assert_eq!((data.as_str(), made.as_str()), ("1\n", "made"));
    assert!(std::path::Path::new(&std::env::var("CARGO_MANIFEST_DIR").unwrap()).is_dir());
    if std::env::var_os("ELSEWHERE").is_some() {
        assert_eq!(std::env::var("SECRET").unwrap(), "of this machine");
    }
    let clock = std::time::UNIX_EPOCH.elapsed().unwrap().subsec_nanos();
    let noise = 1.0 + f64::from(clock % 1000) * 1e-8;
    if let Some(wait) = std::env::var_os("WAIT") {
        std::fs::write(wait, std::process::id().to_string()).unwrap();
        std::thread::sleep(std::time::Duration::from_secs(600));
    }
    println!("{{\"wall_time\": {}}}", steady::ROUNDS as f64 * 1e-9 * noise);
}
"#;

const BUILD: &str = r#"fn main() {
    std::fs::write(std::env::var("OUT_DIR").unwrap() + "/made", "made").unwrap();
}
"#;

/// In place of the noise: what is slower as built is slower and faster in turn in other layouts.
const ALTERNATING: &str = r#"{
        let program = std::env::args().next().unwrap();
        let mut seen = std::fs::read_to_string("seen").unwrap_or_default();
        let stamp = format!("{:?}\n", std::fs::metadata(&program).unwrap().modified().unwrap());
        if program.ends_with(".layout") && !seen.ends_with(&stamp) {
            seen += &stamp;
            std::fs::write("seen", &seen).unwrap();
        }
        let factor = if seen.lines().count() % 2 == 0 { 0.7 } else { 1.4 };
        let is_built = !program.ends_with(".layout");
        let noise = 1.0 + f64::from(clock % 1000) * 1e-8;
        if is_built || steady::ROUNDS == 2_000_000 { noise } else { noise * factor }
    }"#;

/// A repository with a branch that is half as slow again, and what other machines get of it.
fn repo() -> Repo {
    let repo = Repo::new("steady");
    repo.replace("src/lib.rs", "500_000", "2_000_000");
    repo.write("benches/work.rs", BENCH);
    repo.write("build.rs", BUILD);
    repo.write("data.txt", "1\n");
    repo.write("notes.txt", "Of the base.\n");
    repo.commit("base");
    repo.branch("feature");
    repo.replace("src/lib.rs", "2_000_000", "3_000_000");
    repo.commit("slower");
    repo
}

/// Packs a branch against `main`.
#[track_caller]
fn packed(repo: &Repo, args: &str) -> PathBuf {
    let call = repo.cbdr(&format!("pack main ../packed {args}")).env("SECRET", "of another");
    call.run().code(0).says("Packed");
    repo.around().join("packed")
}

/// Leaves nothing of a repository and its cache.
fn forget(repo: &Repo) {
    std::fs::remove_dir_all(repo.path()).unwrap();
    std::fs::remove_dir_all(repo.cache()).unwrap();
}

/// A call on a machine without Rust, git and a linker.
fn elsewhere(repo: &Repo, args: &str) -> Cbdr {
    let empty = repo.around().join("empty");
    std::fs::create_dir_all(&empty).unwrap();
    let cbdr = Cbdr::new(&empty, &repo.around().join("unused"));
    cbdr.args(args.split_whitespace())
        .env("PATH", &empty)
        .env("SECRET", "of this machine")
        .env("ELSEWHERE", "1")
}

#[track_caller]
fn measured(repo: &Repo, args: &str) -> Ran {
    elsewhere(repo, &format!("compare --packed ../packed --seed 5 {args}")).run()
}

#[test]
fn a_slowdown_is_found_without_the_repository_rust_git_and_a_linker() {
    let repo = repo();
    let here =
        repo.cbdr("compare main --harness json --seed 5 --format json").run().code(100).json();
    let pack = packed(&repo, "--harness json --time-limit 4m");
    let secret: Vec<String> = "of another".bytes().map(|byte| byte.to_string()).collect();
    assert!(!about(&pack).to_string().contains(&secret.join(",")), "a variable of the user");
    forget(&repo);
    let object = measured(&repo, "--format json").code(100).json();
    for key in ["verdict", "base", "head", "merge_base", "toolchain", "removed", "stopped_by"] {
        assert_eq!(object[key], here[key], "{key}");
    }
    let (there, here) = (metric(&object, "wall_time"), metric(&here, "wall_time"));
    assert_eq!(there["layouts"]["placing"], "linked");
    assert_eq!(there["verdict"], here["verdict"]);
    let change = |metric: &Value| metric["change"].as_f64().unwrap();
    assert!((change(there) - change(here)).abs() < 0.01, "{there} {here}");
    assert_eq!(object["benchmarks"][0]["aligned"], 1.0);
    assert!(!repo.around().join("unused").exists());

    // The threshold is the pack's, and that of the command line before it.
    let object = measured(&repo, "--threshold 70% --format json").code(0).json();
    assert_eq!(object["verdict"], "no-regression");
    for preview in ["", "--dry-run"] {
        let ran = measured(&repo, &format!("--max-pairs 3 {preview}"));
        ran.code(2).says("no verdict is possible with fewer than 6 pairs");
    }
    let settings = measured(&repo, "--dry-run --format json").code(0).json()["settings"].clone();
    let from = |key: &str| (settings[key]["value"].clone(), settings[key]["from"].clone());
    assert_eq!(from("time-limit"), (json!("4m"), json!("pack")));
    assert_eq!(from("confidence"), (json!("95%"), json!("default")));
    let preview = measured(&repo, "--dry-run --shard 1/2").code(0).stdout;
    assert!(preview.contains("the machines divide the pairs"), "{preview}");
    assert!(!preview.contains("the times below"), "{preview}");
    // Several machines, as without a pack.
    for shard in 1..=2 {
        let args = format!("--shard {shard}/2 --max-pairs 12 --samples ../s/{shard}.csv");
        std::fs::create_dir_all(repo.around().join("s")).unwrap();
        measured(&repo, &args).code(0);
    }
    elsewhere(&repo, "analyze --combine ../s").run().code(100);
}

#[test]
fn what_the_change_does_not_affect_is_not_measured_elsewhere_either() {
    let repo = repo();
    repo.git(&["checkout", "--quiet", "main"]);
    repo.branch("docs");
    repo.write("notes.txt", "No benchmark reads it.\n");
    repo.commit("docs");
    let pack = packed(&repo, "--harness json");
    let bytes = pack.metadata().unwrap().len();
    assert!(bytes < 1 << 20, "{bytes} bytes: no layouts are linked for it");
    forget(&repo);
    let object = measured(&repo, "--format json").code(0).json();
    assert_eq!(object["verdict"], "identical");
}

#[test]
fn measuring_a_pack_leaves_the_builds_where_it_was_packed() {
    let repo = repo();
    packed(&repo, "--harness json --layouts off");
    let measure = "compare --packed ../packed --threshold 900% --layouts off";
    repo.cbdr(measure).env("SECRET", "of this machine").run().code(0);
    let again = repo.cbdr("pack main ../packed --harness json --layouts off").run().code(0);
    again.says("Fresh head").says("Fresh base").never_says("Building");
}

#[test]
fn where_the_layouts_of_a_pack_are_used_up_that_is_said() {
    let repo = repo();
    repo.replace("benches/work.rs", "1.0 + f64::from(clock % 1000) * 1e-8", ALTERNATING);
    repo.commit("faster in every second layout");
    packed(&repo, "--harness json --layouts 8");
    forget(&repo);
    let ran = measured(&repo, "--threshold 45% --format json");
    let object = ran.json();
    assert_eq!(
        (&object["verdict"], &object["stopped_by"]),
        (&json!("inconclusive"), &json!("max-pairs"))
    );
    assert_eq!(metric(&object, "wall_time")["layouts"]["number"], 8);
    ran.says("in all 8 layouts of the pack; `cargo cbdr pack --layouts 16` links more")
        .says("so far do not rule out placement; more layouts would decide")
        .never_says("a longer `--time-limit`");
}

#[test]
fn copies_are_measured_where_the_layouts_of_a_pack_could_not_be_linked() {
    let repo = repo();
    let script = "case \"$*\" in *--shuffle-sections*) echo ld: error: no >&2; exit 3;; esac";
    let pack = repo.cbdr("pack main ../packed --harness json");
    pack.env(&linker_variable(), linker(&repo, script)).run().code(0);
    forget(&repo);
    let ran = measured(&repo, "--format json").code(100).says("ld: error: no");
    assert_eq!(metric(&ran.json(), "wall_time")["layouts"]["placing"], "copied");
}

#[test]
fn a_single_name_is_that_of_the_file_and_arguments_come_last() {
    let repo = repo();
    let aimed = |args: &str| {
        repo.cbdr(&format!("pack {args}")).run().code(0).says("Packed");
        let about = about(&repo.around().join("packed"));
        (about["sides"]["base"].clone(), about["benchmarks"][0]["table"]["args"].clone())
    };
    let (base, _) = aimed("../packed --harness json --layouts off");
    let (named, args) = aimed("main ../packed --harness json --layouts off -- --quick");
    assert_eq!((base, args), (named.clone(), json!(["--quick"])));
    let (head, _) = aimed("--aa ../packed --harness json --layouts off");
    assert_ne!(head, named);
    repo.cbdr("pack").run().code(2).says("name the file to write");
    repo.cbdr("pack --aa main ../packed").run().code(2).says("--aa");
}

#[test]
fn options_that_shape_builds_belong_to_pack() {
    let repo = Repo::new("steady");
    for (args, flag) in [
        ("main", "[BASE]"),
        ("--features x", "--features"),
        ("--bench work", "--bench"),
        ("--toolchain head", "--toolchain"),
        ("--dirty", "--dirty"),
        ("--aa", "--aa"),
        ("--policy-from head", "--policy-from"),
        ("-- --x", "[-- <ARGS>...]"),
    ] {
        let ran = repo.cbdr(&format!("compare --packed x {args}")).run().code(2);
        ran.says("'--packed <FILE>' cannot be used with").says(flag);
    }
    repo.cbdr("compare --packed gone --dry-run").run().code(101).says("could not read `gone`");
    repo.cbdr("compare --packed gone").run().code(101).says("could not read `gone`");
    repo.cbdr("compare --packed Cargo.toml").run().code(101).says("`Cargo.toml` is not a pack");
    repo.cbdr("pack main /dev/stdout").run().code(101).says("can't be replaced by a pack");
    repo.cbdr("pack main -").run().code(101).says("name a file");
    for base in ["main", "HEAD"] {
        let hint = format!("is a revision: name the file, too: `cargo cbdr pack {base} FILE`");
        repo.cbdr(&format!("pack {base}")).run().code(2).says(&hint);
        assert!(!repo.path().join(base).exists());
    }
    repo.cbdr("pack main gone/x").run().code(101).says("could not write `gone/x`");
}

/// The first entry of a pack.
fn about(pack: &Path) -> Value {
    let bytes = bytes_of(pack);
    let end = bytes.iter().position(|&byte| byte == b'\n').unwrap();
    let mut archive = Archive::new(GzDecoder::new(&bytes[end + 1..]));
    let mut first = archive.entries().unwrap().next().unwrap().unwrap();
    let mut about = Vec::new();
    first.read_to_end(&mut about).unwrap();
    serde_json::from_slice(&about).unwrap()
}

fn bytes_of(pack: &Path) -> Vec<u8> {
    std::fs::read(pack).unwrap()
}

/// Writes a pack whose first entry is changed by `change`, and which has this other entry. Its digest
/// is right.
fn altered(
    pack: &Path,
    to: &Path,
    change: impl FnOnce(&mut Value),
    others: &[(Header, &'static [u8])],
) {
    let mut about = about(pack);
    change(&mut about);
    let about = serde_json::to_vec(&about).unwrap();
    let mut archive = Builder::new(GzEncoder::new(Vec::new(), Compression::fast()));
    archive.append(&header(EntryType::Regular, "pack.json", about.len()), &*about).unwrap();
    for (header, content) in others {
        archive.append(header, *content).unwrap();
    }
    let content = archive.into_inner().unwrap().finish().unwrap();
    let digest = Sha256::digest(&content);
    let digest: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
    let line = format!("cargo-cbdr pack {} {digest}\n", env!("CARGO_PKG_VERSION"));
    std::fs::write(to, [line.as_bytes(), &content].concat()).unwrap();
}

/// A header with a path that `tar` would refuse to write.
fn header(kind: EntryType, path: &str, bytes: usize) -> Header {
    let mut header = Header::new_gnu();
    header.set_entry_type(kind);
    header.set_mode(0o644);
    header.set_size(bytes as u64);
    header.as_old_mut().name[..path.len()].copy_from_slice(path.as_bytes());
    header.set_cksum();
    header
}

/// A link at `head/tree/link`.
fn link(to: &str) -> (Header, &'static [u8]) {
    let mut link = header(EntryType::Symlink, "head/tree/link", 0);
    link.set_link_name(to).unwrap();
    link.set_cksum();
    (link, b"")
}

#[test]
fn what_is_damaged_or_would_be_written_elsewhere_is_refused() {
    let repo = repo();
    let pack = packed(&repo, "--harness json --layouts off");
    forget(&repo);
    let other = repo.around().join("other");
    let refused = |says: &str| {
        elsewhere(&repo, "compare --packed ../other").run().code(101).says(says);
    };
    let bytes = bytes_of(&pack);
    for end in [bytes.len() - 1, bytes.len() / 2, 120] {
        std::fs::write(&other, &bytes[..end]).unwrap();
        refused("`../other` is damaged");
    }
    let mut flipped = bytes.clone();
    *flipped.last_mut().unwrap() ^= 1;
    std::fs::write(&other, flipped).unwrap();
    refused("`../other` is damaged");
    let version = format!("pack {} ", env!("CARGO_PKG_VERSION"));
    let text = [b"cargo-cbdr pack 9.9.9 ", &bytes["cargo-cbdr ".len() + version.len()..]].concat();
    std::fs::write(&other, text).unwrap();
    refused("packed by cargo-cbdr 9.9.9, but this is ");
    altered(&pack, &other, |about| about["machine"] = json!("pdp11 unix"), &[]);
    refused("`../other` was packed on pdp11 unix, but this machine is ");

    let witness = repo.around().join("witness");
    let above = "head/tree/../../../../../witness";
    for path in ["../../../witness", above, "git/config", "lock", "builds/x/manifest.json"] {
        altered(&pack, &other, |_| {}, &[(header(EntryType::Regular, path, 1), b"x")]);
        refused(&format!("contains `{path}`, which is outside of its folders"));
    }
    for to in ["/", "../../../..", "x/../../../../..", "../lock"] {
        altered(&pack, &other, |_| {}, &[link(to)]);
        refused("contains `head/tree/link`, which is outside of its folders");
    }
    // Through a link that stays inside.
    let below = (header(EntryType::Regular, "head/tree/link/x", 1), &b"x"[..]);
    altered(&pack, &other, |_| {}, &[link("../../base/tree"), below]);
    refused("contains `head/tree/link/x`, which is outside of its folders");
    for root in ["/etc", "/a/../b/repositories-v1/x", "x/repositories-v1/x"] {
        altered(&pack, &other, |about| about["root"] = json!(root), &[]);
        refused(&format!("contains `{root}`, which is outside of its folders"));
    }
    let run = |about: &mut Value| {
        about["benchmarks"][0]["state"]["Ready"]["head"]["executable"] = json!("/bin/true");
    };
    altered(&pack, &other, run, &[]);
    refused("contains `/bin/true`, which is outside of its folders");
    assert!(!witness.exists());
    // A place that can't be created: a file is in the way.
    std::fs::remove_dir_all(repo.cache()).unwrap();
    File::create(repo.cache()).unwrap();
    measured(&repo, "").code(101).says("of its programs names and which can't be created");
}

/// Starts a call, waits until its benchmark runs, and kills it.
fn kill(repo: &Repo, call: Cbdr, notes: &Path) {
    let running = repo.around().join("running");
    let mut call = call.env("WAIT", &running).env("NOTES", notes).into_command();
    let mut child = call.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    while !running.exists() {
        assert_eq!(child.try_wait().unwrap(), None);
        std::thread::sleep(Duration::from_millis(1));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    std::fs::remove_file(running).unwrap();
    assert_gone(notes, "killed");
}

#[test]
fn what_is_killed_leaves_no_pack_and_nothing_running() {
    let repo = repo();
    let notes = repo.around().join("notes");
    kill(&repo, repo.cbdr("pack main ../packed --harness json"), &notes);
    assert!(!repo.around().join("packed").exists());
    let pack = packed(&repo, "--harness json --layouts off");
    let before = bytes_of(&pack);
    kill(&repo, repo.cbdr("pack main ../packed --harness json"), &notes);
    assert!(bytes_of(&pack) == before, "the earlier one stays");
    kill(&repo, elsewhere(&repo, "compare --packed ../packed"), &notes);
    measured(&repo, "--format json").code(100);
    // On the machine of the repository, comparisons go on as before.
    repo.cbdr("compare main --harness json").run().code(100);
}
