//! What a machine can refuse: disk space, files, permissions, the time of day.
//! The result is a clear error or correct work, but never a pass because
//! something is missing.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::support::{
    Cbdr, Ran, Random, Repo, branch_with, cached, make_executable, metric, search_path, skipped,
    toolchain,
};

/// The steady fixture with a branch on which the program differs.
fn branched() -> Repo {
    branch_with("505_000")
}

/// A shell script in the folder around the repository.
fn script(repo: &Repo, name: &str, text: &str) -> PathBuf {
    let path = repo.around().join(name);
    std::fs::write(&path, format!("#!/bin/sh\n{text}\n")).unwrap();
    make_executable(&path);
    path
}

/// A comparison in which the compiler of a side's library is replaced by a
/// script, which gets the usual one and its arguments.
fn with_compiler(repo: &Repo, side: &str, text: &str) -> Cbdr {
    let text = format!(
        "case \"$PWD $*\" in */{side}/*\"--crate-name work\"*) {text} ;; esac\nexec \"$@\""
    );
    let wrapper = script(repo, "compiler", &text);
    repo.cbdr("compare main --max-pairs 6 --threshold 900% --layouts off --warmup 0")
        .env("RUSTC_WRAPPER", wrapper)
}

#[test]
fn what_is_built_for_a_comparison_is_compiled_once() {
    let repo = branched();
    let log = repo.around().join("compiled");
    let note = format!("echo \"$PWD $*\" >> '{}'", log.display());
    with_compiler(&repo, "*", &note).run().code(0);
    let text = std::fs::read_to_string(&log).unwrap();
    for side in ["/base/", "/head/"] {
        let mut compiled: Vec<&str> = text.lines().filter(|line| line.contains(side)).collect();
        compiled.sort_unstable();
        assert!(!compiled.is_empty(), "{side}");
        let number = compiled.len();
        compiled.dedup();
        assert_eq!(number, compiled.len(), "{side}: {text}");
    }
}

/// Demands an error about a base that could not be built, and no verdict.
#[track_caller]
fn is_no_verdict(ran: Ran) -> Ran {
    assert_eq!(ran.stdout, "");
    ran.code(101).says("error: could not build the base: `").never_says("no baseline")
}

#[test]
fn a_base_that_the_machine_can_not_build_is_an_error_and_no_missing_baseline() {
    let repo = branched();
    let ran = with_compiler(&repo, "base", "kill -9 $$").run();
    let ran = is_no_verdict(ran).says("Diagnosing base").says("signal: 9");
    ran.says("hint: this may not be the fault of the code");
    let full = "echo '{\"$message_type\":\"diagnostic\",\"message\":\"failed to write a: No space left on \
                device (os error 28)\",\"code\":null,\"level\":\"error\",\"spans\":[],\"children\":[],\
                \"rendered\":\"error: failed to write a: No space left on device (os error 28)\"}' >&2; exit 1";
    let ran = is_no_verdict(with_compiler(&repo, "base", full).run());
    ran.says("  failed to write a: No space left on device (os error 28)\nhint: make room");
    let linker = repo.cbdr("compare main").env("RUSTFLAGS", "-Clinker=no-such-linker");
    let ran = linker.run().code(101).never_says("no baseline").never_says("Building base");
    ran.says("error: could not build the head: `").says("linker `no-such-linker` not found");
    // Also of a base that does not compile, when that is not all.
    repo.git(&["checkout", "--quiet", "main"]);
    repo.write("src/lib.rs", "this is not Rust");
    repo.commit("broken");
    repo.git(&["checkout", "--quiet", "-b", "mended"]);
    repo.write("src/lib.rs", "pub const ROUNDS: u64 = 3;\n");
    repo.commit("mended");
    is_no_verdict(with_compiler(&repo, "base", "kill -9 $$").run());
    repo.cbdr("compare main").run().code(0).says("no baseline for `work`: the base does not build");
}

#[test]
fn a_build_that_fails_once_is_tried_again() {
    let repo = branched();
    let once = format!("mkdir {}/failed 2>/dev/null && kill -9 $$", repo.around().display());
    let ran = with_compiler(&repo, "base", &once).run().code(0);
    let ran = ran.says("Diagnosing base: why it was not built").never_says("no baseline");
    assert!(ran.stdout.contains("inconclusive"), "{}", ran.stdout);
}

#[test]
fn a_build_command_blames_the_base_in_a_compilers_words_only() {
    let repo = branched();
    let run = |build: &str| {
        let cbdr =
            repo.cbdr("compare main --max-pairs 6 --threshold 900% --warmup 0 --command true");
        cbdr.args(["--build-command", build]).run()
    };
    let at = |what: &str| format!("sh -c 'case $PWD in */base/*) {what} ;; esac'");
    is_no_verdict(run(&at("exit 1")));
    is_no_verdict(run(&at("exit 127")));
    let ran = run(&at("exit 125"));
    ran.code(0).says("no baseline for `true`: the base does not build");
    is_no_verdict(run(&at("echo \"x.c:1:2: error: no\" >&2; kill -9 $$")));
    is_no_verdict(run(&at("echo \"x.c:1:2: error: No space left on device\" >&2; exit 1")));
    let ran = run(&at("echo \"x.c:1:2: error: no\" >&2; exit 1"));
    ran.code(0).says("no baseline for `true`: the base does not build");
    // A script that only the head has.
    std::fs::rename(script(&repo, "build.sh", "true"), repo.path().join("build.sh")).unwrap();
    repo.commit("a script");
    run("./build.sh").code(0).says("no baseline for `true`: the base does not build");
}

#[test]
fn manifests_that_lack_what_is_asked_for_are_the_bases_fault() {
    let repo = branched();
    let library = "[dependencies]\nlibrary = { path = \"library\", optional = true }\n\n[[bench]]";
    repo.replace("Cargo.toml", "[[bench]]", library);
    let manifest = "[package]\nname = \"library\"\nedition = \"2021\"\n[features]\nfast = []\n";
    repo.write("library/Cargo.toml", manifest);
    repo.write("library/src/lib.rs", "");
    repo.commit("a dependency");
    let ran = repo.cbdr("compare main --features library/fast").run().code(0);
    ran.says("no baseline for `work`: the base does not build");
    repo.git(&["checkout", "--quiet", "main"]);
    repo.write("Cargo.toml", "[package\n");
    repo.commit("no manifest");
    repo.git(&["checkout", "--quiet", "feature"]);
    let ran = repo.cbdr("compare main --exact-base").run().code(0);
    ran.says("no baseline for `work`: the manifests of the base can't be read: `cargo metadata");
    // Not read for another reason.
    let rustup =
        "case \"$PWD $1\" in */base/*metadata) echo 'error: toolchain gone' >&2; exit 1 ;; esac";
    let bin = repo.around().join("bin");
    std::fs::create_dir(&bin).unwrap();
    let cargo =
        script(&repo, "bin/cargo", &format!("{rustup}\nPATH=${{PATH#*:}}\nexec cargo \"$@\""));
    assert!(cargo.exists());
    let path = std::iter::once(bin).chain(std::env::split_paths(search_path()));
    let path = std::env::join_paths(path).unwrap();
    let ran = repo.cbdr("compare main --exact-base").env("PATH", path).run();
    is_no_verdict(ran).says("  toolchain gone");
}

#[test]
fn a_toolchain_that_is_not_installed_can_be_replaced() {
    let repo = branched();
    let bin = repo.around().join("bin");
    std::fs::create_dir(&bin).unwrap();
    let rustup = "[ \"$RUSTUP_TOOLCHAIN\" = another ] && PATH=${PATH#*:} exec cargo \"$@\"\n\
                  echo \"error: toolchain '1.2' is not installed\" >&2\nexit 1";
    script(&repo, "bin/cargo", rustup);
    let path = std::iter::once(bin).chain(std::env::split_paths(search_path()));
    let path = std::env::join_paths(path).unwrap();
    let compare =
        |args: &str| repo.cbdr(&format!("compare main --dry-run {args}")).env("PATH", &path).run();
    compare("").code(101).says("hint: install it, or choose one that is installed: `--toolchain");
    compare("--toolchain another").code(0);
    compare("--head feature --toolchain another").code(0);
}

#[test]
fn a_bisection_goes_around_no_commit_that_the_machine_could_not_build() {
    let repo = branched();
    let ran = with_compiler(&repo, "head", "kill -9 $$").run().code(101);
    ran.says("error: could not build the head: `cargo bench");
    let wrapper = repo.around().join("compiler");
    for rounds in ["510_000", "515_000"] {
        let last = std::fs::read_to_string(repo.path().join("src/lib.rs")).unwrap();
        let (before, after) = last.split_once("= ").unwrap();
        repo.write(
            "src/lib.rs",
            &format!("{before}= {rounds}{}", &after[after.find(';').unwrap()..]),
        );
        repo.commit(rounds);
    }
    let bisect = repo.cbdr("bisect main feature --time-limit 5s").env("RUSTC_WRAPPER", wrapper);
    bisect.run().code(101).says("error: could not build the head");
}

#[test]
fn a_reader_that_goes_away_does_not_change_the_verdict() {
    let repo = branched();
    // Like a pipe without a reader: printing fails with EPIPE.
    let code = |args: &str| {
        let mut command = repo.cbdr(args).into_command();
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        command.stdout(writer).stderr(Stdio::null()).status().unwrap().code()
    };
    let compare = "compare main --max-pairs 6 --threshold 900% --command true --warmup 0 --fail-on inconclusive";
    assert_eq!(code(compare), Some(102));
    assert_eq!(code(&format!("{compare} --format json")), Some(102));
    assert_eq!(code("cache list"), Some(0));
}

#[test]
fn a_result_is_given_although_a_file_of_it_can_not_be_written() {
    if !Path::new("/dev/full").exists() {
        return skipped("no /dev/full here");
    }
    let repo = branched();
    let compare = "compare main --max-pairs 6 --threshold 900% --command true --warmup 0";
    for (option, file) in
        [("--samples", "/dev/full"), ("--report", "/dev/full"), ("--export", "bencher=/dev/full")]
    {
        let ran = repo.cbdr(compare).args([option, file]).run().code(101);
        let first = "fails (exit code 101), because an output could not be written";
        assert!(ran.stdout.split_whitespace().collect::<Vec<_>>().join(" ").contains(first));
        ran.says("error: can't write `/dev/full`: No space left on device")
            .says("hint: make room")
            .says("Keeping the samples, as ");
        // What was measured is in the cache all the same.
        let kept = repo.cached().join("samples.csv");
        assert_eq!(std::fs::read_to_string(&kept).unwrap().lines().count(), 13, "{option}");
        std::fs::remove_file(kept).unwrap();
    }
    for call in [compare, "sample a:true b:true --rounds 1", "cache list", "man", "init --dry-run"]
    {
        let mut command = repo.cbdr(call).into_command();
        let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
        let output = command.stdout(full).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(101), "{said}");
        assert!(said.contains("error: could not write to standard output: No space"), "{said}");
    }
}

#[test]
fn a_cache_of_somebody_else_is_not_trusted() {
    let repo = branched();
    let compare = "compare main --max-pairs 6 --threshold 900% --command true --warmup 0";
    std::fs::create_dir_all(repo.cache()).unwrap();
    // All may write to the place itself, as to `/tmp`, but not to what is made there.
    let all = |mode| std::os::unix::fs::PermissionsExt::from_mode(mode);
    std::fs::set_permissions(repo.cache(), all(0o1777)).unwrap();
    repo.cbdr(compare).run().code(0);
    let repository = repo.cached();
    for folder in [&*repository, repository.parent().unwrap(), &repo.cache()] {
        if std::os::unix::fs::chown(folder, Some(12345), None).is_err() {
            return skipped("only root can give a folder away");
        }
        let ran = repo.cbdr(compare).run().code(101);
        let at = format!(
            "error: the cache at `{}` belongs to another user (uid 12345)",
            folder.display()
        );
        ran.says(&at).says("hint: set CBDR_CACHE_DIR to a folder of your own");
        std::os::unix::fs::chown(folder, Some(0), None).unwrap();
    }
}

#[test]
fn a_place_that_can_not_be_written_to_is_said_with_what_to_do() {
    let repo = branched();
    let file = repo.around().join("file");
    std::fs::write(&file, "").unwrap();
    let ran = repo.cbdr("compare main").env("CBDR_CACHE_DIR", file.join("cache")).run().code(101);
    ran.says("error: could not create `").says("hint: set CBDR_CACHE_DIR to a folder");
    for output in ["--report", "--samples"] {
        let ran = repo.cbdr(&format!("compare main {output} ../file/none")).run().code(101);
        ran.says("error: can't write `../file/none`: ").says("hint: check the path and its perm");
    }
}

/// The binary behind a shell that limits it first.
fn limited(repo: &Repo, limit: &str, args: &str) -> Ran {
    // A shell needs more descriptors than rustc, for which one answers otherwise.
    let is_shell = |folder: &PathBuf| folder.starts_with(env!("CARGO_TARGET_TMPDIR"));
    let path = std::env::split_paths(search_path()).filter(|folder| !is_shell(folder));
    let path = std::env::join_paths(path).unwrap();
    repo.cbdr(args).env("PATH", path).after(&format!("ulimit {limit}")).run()
}

#[test]
fn too_few_file_descriptors_are_an_error_that_says_so() {
    let repo = branched();
    let compare = "compare main --max-pairs 6 --threshold 900% --layouts off --warmup 0";
    for count in [5, 6, 8, 10, 12, 13, 15] {
        let ran = limited(&repo, &format!("-n {count}"), compare).code(101);
        assert_eq!(ran.stdout, "", "{count}");
        ran.says("Too many open files").says("hint: allow more open files: `ulimit -n 1024`");
    }
    limited(&repo, "-n 64", compare).code(0);
}

/// The published builds of the repository, by their names, with
/// the number of files in each; those half done begin with `new-`.
fn builds(repo: &Repo) -> Vec<(String, usize)> {
    fn count(folder: &Path) -> usize {
        let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
        entries.map(|path| if path.is_dir() { count(&path) } else { 1 }).sum()
    }
    let Ok(entries) = std::fs::read_dir(repo.cached().join("builds")) else {
        return Vec::new();
    };
    let entries = entries.map(|entry| entry.unwrap().path());
    let name = |path: &Path| path.file_name().unwrap().to_str().unwrap().to_owned();
    let mut found: Vec<_> = entries.map(|path| (name(&path), count(&path))).collect();
    found.sort();
    found
}

fn a_file_below(folder: &Path) -> Option<PathBuf> {
    let mut paths = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    paths.find_map(|path| if path.is_dir() { a_file_below(&path) } else { Some(path) })
}

#[test]
fn a_build_that_can_not_be_read_now_is_not_taken_for_a_damaged_one() {
    let repo = branched();
    let compare = "compare main --max-pairs 6 --threshold 900% --layouts off --warmup 0";
    repo.cbdr(compare).run().code(0);
    let before = builds(&repo);
    assert_eq!(before.len(), 2);
    // With too few file descriptors, wherever they end: up to a number that is enough each time.
    let (mut count, mut enough) = (9, 0);
    while enough < 5 {
        let ran = limited(&repo, &format!("-n {count}"), compare);
        assert_eq!(builds(&repo), before, "{count}: {ran:#?}");
        assert!(!ran.stderr.contains("Building"), "{count}: {ran:#?}");
        match ran.code {
            Some(0) => enough += 1,
            code => {
                enough = 0;
                assert!(count < 40, "{ran:#?}");
                assert_eq!(code, Some(101), "{count}: {ran:#?}");
                // Which file is the one too many depends on the threads; of its own files
                // libgit2 sometimes reports that they do not exist instead.
                let of_git = ["no longer exists", "doesn't exist on the repository"];
                if !of_git.iter().any(|text| ran.stderr.contains(text)) {
                    ran.says("Too many open files");
                }
            }
        }
        count += 1;
    }
    // With a file of the build that leads nowhere for as long as this lasts.
    let manifest = repo.cached().join("builds").join(&before[0].0).join("manifest.json");
    let kept = manifest.with_extension("kept");
    std::fs::rename(&manifest, &kept).unwrap();
    std::os::unix::fs::symlink(&manifest, &manifest).unwrap();
    let ran = repo.cbdr(compare).run().code(101);
    assert!(ran.stderr.contains("/builds/") && !ran.stderr.contains("Building"), "{ran:#?}");
    std::fs::rename(&kept, &manifest).unwrap();
    assert_eq!(builds(&repo), before);
    repo.cbdr(compare).run().code(0).says("Fresh").never_says("Building");
    // A damaged one is built again: one with half a manifest, or without a file.
    let build = repo.cached().join("builds").join(&before[0].0);
    std::fs::write(build.join("manifest.json"), "{").unwrap();
    repo.cbdr(compare).run().code(0).says("Building").says("Fresh");
    assert_eq!(builds(&repo), before);
    std::fs::remove_file(a_file_below(&build.join("files")).unwrap()).unwrap();
    repo.cbdr(compare).run().code(0).says("Building").says("Fresh");
    assert_eq!(builds(&repo), before);
}

#[test]
fn a_build_is_published_whole_or_not_at_all() {
    if Command::new("prlimit").arg("--version").output().is_err() {
        return skipped("no prlimit here");
    }
    let repo = Repo::new("steady");
    // So many files that something can happen between them, also where others use the processors.
    repo.write(
        "build.rs",
        "fn main() {\n    let out = std::path::PathBuf::from(std::env::var(\"OUT_DIR\").unwrap());\n    \
         println!(\"cargo::rerun-if-changed=build.rs\");\n    \
         for n in 0..400 {\n        std::fs::write(out.join(format!(\"{n}.txt\")), \
         vec![b'x'; if n == 200 { 2_000_000 } else { 2_000 }]).unwrap();\n    }\n}\n",
    );
    let work = "println!(\"{{\\\"work\\\": {}}}\", steady::ROUNDS);\n    black_box(sum);";
    repo.replace("benches/work.rs", "black_box(sum);", work);
    repo.commit("files");
    repo.branch("feature");
    repo.replace("src/lib.rs", "500_000", "1_000_000");
    repo.commit("more work");
    // Cargo calls us right before we publish what it built: then the fault is
    // set into this process, which is the parent of cargo's.
    let bin = repo.around().join("bin");
    std::fs::create_dir(&bin).unwrap();
    let cargo = "PATH=${PATH#*:}\ncargo \"$@\"\ncode=$?\n\
                 case \"$*\" in *runner*)\n    \
                 helper=$(awk '{print $4}' /proc/$$/stat)\n    \
                 self=$(awk '{print $4}' /proc/$helper/stat)\n    eval \"$FAULT\" ;;\nesac\nexit $code";
    script(&repo, "bin/cargo", cargo);
    let path = std::iter::once(bin).chain(std::env::split_paths(search_path()));
    let path = std::env::join_paths(path).unwrap();
    let compare = "compare main --max-pairs 20 --layouts off --harness json --metric work \
                   --threshold 5% --format json";
    let run = |fault: &str| repo.cbdr(compare).env("PATH", &path).env("FAULT", fault);
    let whole_or_new = |about: &str| {
        let whole = |(name, count): &(String, usize)| name.starts_with("new-") || *count > 400;
        assert!(builds(&repo).iter().all(whole), "{about}: {:?}", builds(&repo));
        let ran = run("true").run().code(100);
        assert_eq!(metric(&ran.json(), "work")["change"], 1.0, "{about}");
        let left = builds(&repo);
        let published = left.iter().all(|(name, _)| !name.starts_with("new-"));
        assert!(left.len() == 2 && published, "{about}: {left:?}");
    };
    let large = vec!["prlimit --pid $self --fsize=1000000".to_owned()];
    // How many of the descriptors that are counted are those of the call of cargo, which are
    // closed before anything is published, depends on the machine: one fewer each time, until
    // there are too few.
    let few = |spare: i32| {
        let number = |fewer| format!("$(($(ls /proc/$self/fd | wc -l) + {spare} - {fewer}))");
        (0..20).map(|fewer| format!("prlimit --pid $self --nofile={}", number(fewer))).collect()
    };
    let many = "Too many open files";
    for (faults, what) in [(large, "File too large"), (few(0), many), (few(1), many)] {
        let failed = faults.iter().any(|fault| {
            forget_builds(&repo);
            let ran = run(fault).run();
            if ran.code == Some(100) {
                return false;
            }
            assert_eq!((ran.code, &*ran.stdout), (Some(101), ""), "{fault}: {ran:#?}");
            whole_or_new(fault);
            // Of too few, the first may be missed where nothing says of what.
            ran.stderr.contains(what)
        });
        assert!(failed, "{what}");
    }
    // Killed when so many files of a new build are there.
    let mut random = Random::new(11);
    let (mut tries, mut hits) = (0, 0);
    while hits < 3 {
        tries += 1;
        assert!(tries <= 30, "only {hits} of {tries} fell into the publishing");
        forget_builds(&repo);
        let files = 1 + random.below(300) as usize;
        let mut command = run("true").into_command();
        command.stdout(Stdio::null()).stderr(Stdio::null());
        let mut child = command.spawn().unwrap();
        let is_there = || half_published(&repo.cache()) >= files;
        while !is_there() && child.try_wait().unwrap().is_none() {
            std::thread::sleep(std::time::Duration::from_micros(200));
        }
        let _ = child.kill();
        child.wait().unwrap();
        hits += u32::from(half_published(&repo.cache()) > 0);
        whole_or_new(&format!("{files} files"));
    }
}

/// Lets everything be published again, though cargo may find it built.
fn forget_builds(repo: &Repo) {
    for part in cached(&repo.cache()) {
        let _ = std::fs::remove_dir_all(part.join("builds"));
    }
}

/// How many files there are of a build that is being published.
fn half_published(cache: &Path) -> usize {
    fn count(folder: &Path) -> usize {
        let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
        entries.map(|entry| if entry.path().is_dir() { count(&entry.path()) } else { 1 }).sum()
    }
    let builds = cached(cache).into_iter().flat_map(|part| std::fs::read_dir(part.join("builds")));
    let new = builds
        .flatten()
        .flatten()
        .filter(|build| build.file_name().as_encoded_bytes().starts_with(b"new-"));
    new.map(|build| count(&build.path())).sum()
}

#[test]
fn a_limit_on_the_size_of_files_is_an_error_and_no_death() {
    let repo = branched();
    for blocks in [0, 1] {
        let ran = limited(&repo, &format!("-f {blocks}"), "compare main").code(101);
        ran.says("error: could not ").says("hint: allow larger files");
    }
}

#[test]
fn a_full_disk_is_an_error_in_every_phase() {
    let repo = branched();
    let place = repo.around().join("small");
    std::fs::create_dir(&place).unwrap();
    let mounted = |kilobytes: u32, then: &str| {
        let mut command = Command::new("unshare");
        let mount = format!("mount -t tmpfs -o size={kilobytes}k none '{}'", place.display());
        let run = format!("{mount} || exit 77; {then}");
        command.args(["-m", "sh", "-c", &run, env!("CARGO_BIN_EXE_cargo-cbdr")]);
        command.current_dir(repo.path()).stdin(Stdio::null()).env("CBDR_CACHE_DIR", &place);
        command.envs(toolchain()).output()
    };
    if !mounted(4, "true").is_ok_and(|output| output.status.success()) {
        return skipped("no file system can be mounted here");
    }
    let before = repo.git(&["status", "--porcelain"]);
    let compare = "\"$0\" compare main --max-pairs 6 --threshold 900% --warmup 0";
    // Full, then with room: what was left incomplete is built again.
    let more = format!(
        "{compare}; code=$?; mount -o remount,size=64m '{}'; {compare} --layouts off >&2 && exit $code",
        place.display()
    );
    // In the smallest, no build begins.
    for (kilobytes, has_built) in
        [(4, false), (8, false), (16, false), (64, true), (140, true), (200, true), (640, true)]
    {
        let output = mounted(kilobytes, if has_built { &more } else { compare }).unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(101), "{kilobytes}: {said}");
        assert!(output.stdout.is_empty(), "{kilobytes}");
        assert!(said.contains("hint: make room"), "{kilobytes}: {said}");
        assert_eq!(said.contains("UNDECIDED: "), has_built, "{kilobytes}: {said}");
    }
    assert_eq!(repo.git(&["status", "--porcelain"]), before);
}

#[test]
fn a_clock_that_was_set_back_between_the_builds_does_not_make_one_side_the_other() {
    let repo = Repo::new("steady");
    // Afterwards, everything that was built for the base is in the future.
    let text = "case $1 in */base/*) find -L \"${1%/release/*}\" -exec touch -d '+1 hour' {} + ;; \
                esac\nexec \"$@\"";
    let runner = script(&repo, "runner", text);
    let table = format!("[target.'cfg(unix)']\nrunner = {runner:?}\n");
    repo.write(".cargo/config.toml", &table);
    repo.commit("a runner");
    repo.branch("feature");
    repo.replace("src/lib.rs", "500_000", "505_000");
    repo.commit("change the work");
    let args = "compare main --max-pairs 6 --threshold 900% --layouts off --warmup 0";
    let ran = repo.cbdr(args).run().code(0);
    ran.says("/head/tree)").never_says("the same program");
}

/// Whether a folder can't be written to: it takes its owner's right, which root
/// does not need.
fn is_closed(folder: &Path) -> bool {
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o555);
    std::fs::set_permissions(folder, mode).unwrap();
    std::fs::write(folder.join("tried"), "").is_err()
}

fn open_again(folder: &Path) {
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(folder, mode).unwrap();
}

#[test]
fn a_repository_that_can_only_be_read_is_compared_and_what_writes_to_it_says_so_at_once() {
    let repo = branched();
    let folders =
        [repo.path().to_owned(), repo.path().join(".git"), repo.path().join(".git/objects")];
    let closed = folders.iter().filter(|folder| is_closed(folder)).count();
    if closed == folders.len() {
        let args = "compare main --max-pairs 6 --threshold 900% --command true --warmup 0";
        repo.cbdr(args).run().code(0);
        let ran = repo.cbdr("history record --runs 2").run().code(101).never_says("Building");
        ran.says("error: could not store results in `").says("Permission denied");
        let ran = repo.cbdr("init").run().code(101).never_says("Building");
        ran.says("error: can't write `").says("Permission denied");
    } else {
        skipped("root may write everywhere");
    }
    folders.iter().for_each(|folder| open_again(folder));
}
