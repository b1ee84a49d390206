//! Whatever was built, run, killed or changed before: what a benchmark runs and
//! finds in its folder is the same as with an empty cache.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

use crate::support::{Cbdr, Ran, Repo, git};

/// What each script begins with: the name of its side.
const SIDE: &str = "case $PWD in */base/*) side=base ;; *) side=head ;; esac\n";

/// A repository whose commits hold a letter in the file `what`, `A` on main and
/// `B` on a branch, and the scripts that build and run.
struct World {
    repo: Repo,
}

impl World {
    fn new(build: &str, run: &str) -> Self {
        let repo = Repo::new("steady");
        repo.write(".gitignore", "made\ntarget\n");
        repo.write("build.sh", &format!("{SIDE}{build}\n"));
        repo.write("run.sh", &format!("{SIDE}{run}\n"));
        repo.write("what", "A\n");
        repo.commit("A");
        repo.branch("feature");
        let world = World { repo };
        world.becomes("B");
        world
    }

    /// The head is another letter now.
    fn becomes(&self, letter: &str) {
        self.repo.write("what", &format!("{letter}\n"));
        self.repo.commit(letter);
    }

    /// Changes something that both branches are to have.
    fn on_both(&self, change: impl FnOnce(&Repo)) {
        self.repo.git(&["checkout", "--quiet", "main"]);
        change(&self.repo);
        self.repo.commit("on both");
        self.repo.git(&["checkout", "--quiet", "-B", "feature"]);
        self.becomes("B");
    }

    /// So many pairs, as few as only a shard may have, with a build command or without.
    fn compare(&self, pairs: usize, args: &[&str]) -> Cbdr {
        let _ = std::fs::remove_file(self.seen());
        let cbdr = self.repo.cbdr(&format!("compare main --max-pairs {pairs} --warmup 0"));
        let cbdr = cbdr.args(["--shard", "1/2", "--samples", "../samples.csv"]);
        let cbdr = cbdr.args(["--always-run", "--format", "json", "--command", "sh run.sh"]);
        cbdr.args(args).env("SEEN", self.seen())
    }

    fn built(&self) -> Cbdr {
        self.compare(1, &BUILD)
    }

    /// The file to which scripts write what they see.
    fn seen(&self) -> PathBuf {
        self.repo.around().join("seen")
    }

    /// What was seen, each line once, sorted.
    fn lines(&self) -> Vec<String> {
        let text = std::fs::read_to_string(self.seen()).unwrap_or_default();
        let lines: BTreeSet<&str> = text.lines().collect();
        lines.into_iter().map(str::to_owned).collect()
    }

    /// Demands what a comparison sees, and how often it builds.
    #[track_caller]
    fn assert_sees(&self, expected: &[&str], builds: usize) -> Ran {
        let ran = self.built().run().code(0);
        assert_eq!(self.lines(), expected, "{}", ran.stderr);
        assert_eq!(ran.stderr.matches("Building").count(), builds, "{}", ran.stderr);
        ran
    }

    /// The folder of a side in the cache.
    fn side(&self, side: &str) -> PathBuf {
        self.repo.cached().join(side)
    }
}

/// The build command.
const BUILD: [&str; 2] = ["--build-command", "sh build.sh"];
/// Builds what is to be run, in the course of which something may happen.
const COPY: &str = "mkdir -p made && cp what made/what";
/// Shows what was built.
const SHOW: &str = "echo \"$side $(cat made/what)\" >> \"$SEEN\"";

#[test]
fn a_build_that_fails_leaves_nothing_that_is_taken_for_the_one_before() {
    let fails =
        format!("{COPY}; if grep -q C what; then echo 'x.c:1:2: error: no' >&2; exit 1; fi");
    let world = World::new(&fails, SHOW);
    world.assert_sees(&["base A", "head B"], 2);
    world.becomes("C");
    world.built().run().code(101).says("the head does not build");
    world.repo.git(&["checkout", "--quiet", "HEAD~1"]);
    world.assert_sees(&["base A", "head B"], 1).says("Fresh base");
    world.assert_sees(&["base A", "head B"], 0);
    // Also as the base, where it is no error.
    world.repo.git(&["checkout", "--quiet", "feature"]);
    let swapped = |head: &str, base: &str| {
        let _ = std::fs::remove_file(world.seen());
        let cbdr =
            world.repo.cbdr("compare --exact-base --max-pairs 6 --threshold 900% --warmup 0");
        let cbdr = cbdr.args([base, "--head", head, "--command", "sh run.sh"]);
        cbdr.args(["--build-command", "sh build.sh"]).env("SEEN", world.seen()).run().code(0)
    };
    swapped("main", "feature~1");
    assert_eq!(world.lines(), ["base B", "head A"]);
    swapped("main", "feature").says("no baseline for `sh`: the base does not build");
    swapped("main", "feature~1");
    assert_eq!(world.lines(), ["base B", "head A"]);
}

#[test]
fn what_a_command_runs_gets_new_files_and_its_worktree_serves_again() {
    let makes_app = "mkdir -p made && { echo '#!/bin/sh'; cat run.sh; } > made/app";
    let world = World::new(
        &format!("{makes_app} && chmod +x made/app"),
        "echo \"$side $(stat -c %i \"$0\")\" >> \"$SEEN\"",
    );
    for builds in [2, 0] {
        let _ = std::fs::remove_file(world.seen());
        let cbdr = world.repo.cbdr("compare main --max-pairs 6 --threshold 900% --always-run");
        let ran = cbdr.args(["--command", "made/app"]).args(BUILD).env("SEEN", world.seen()).run();
        let ran = ran.code(0);
        assert_eq!(ran.stderr.matches("Building").count(), builds, "{}", ran.stderr);
        // Those of the unmeasured runs, and at least one for pairs.
        for side in ["base", "head"] {
            let files = world.lines().iter().filter(|line| line.starts_with(side)).count();
            assert!(files > 1, "{:?}", world.lines());
        }
    }
}

#[test]
fn nothing_is_taken_from_a_build_command_that_a_signal_ended() {
    let ends = format!("{COPY}; if grep -q C what; then kill -TERM $$; fi");
    let world = World::new(&ends, SHOW);
    world.assert_sees(&["base A", "head B"], 2);
    world.becomes("C");
    world.built().run().code(101);
    world.repo.git(&["checkout", "--quiet", "HEAD~1"]);
    world.assert_sees(&["base A", "head B"], 1);
}

#[test]
fn nothing_is_taken_from_a_build_command_that_was_killed_with_its_parent() {
    let waits = format!("{COPY}; if grep -q C what; then : > \"$SEEN.begun\"; sleep 600; fi");
    let world = World::new(&waits, SHOW);
    world.assert_sees(&["base A", "head B"], 2);
    world.becomes("C");
    let mut command = world.built().into_command();
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    while !world.seen().with_extension("begun").exists() {
        assert!(child.try_wait().unwrap().is_none());
        std::thread::sleep(Duration::from_millis(5));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    world.repo.git(&["checkout", "--quiet", "HEAD~1"]);
    world.assert_sees(&["base A", "head B"], 1);
}

#[test]
fn a_build_that_fails_once_is_made_anew_and_not_gone_on_with() {
    // What the first attempt leaves would be in the way of the second.
    let once = "if mkdir \"$SEEN.$side\" 2>/dev/null; then echo half > half; kill -KILL $$; fi\n\
                cat half what > made 2>/dev/null || cp what made";
    let world = World::new(once, "echo \"$side $(cat made)\" >> \"$SEEN\"");
    let ran = world.assert_sees(&["base A", "head B"], 2);
    ran.says("Diagnosing base").says("Diagnosing head");
    world.assert_sees(&["base A", "head B"], 0);
}

/// Writes down how long a store's log is, and makes it longer.
const APPEND: &str = "echo \"$side $(wc -c < \"$LOG\" || echo none)\" >> \"$SEEN\"\n\
                      mkdir -p \"$(dirname \"$LOG\")\"; echo 0123456789 >> \"$LOG\"";

#[test]
fn what_runs_leave_is_gone_on_both_sides_when_the_next_comparison_begins() {
    let logs = ["store/log", "made/log", "target/log", "src/log", "target/deep/log"];
    let append = APPEND.replace("$side", "$side $LOG");
    let world = World::new(COPY, &format!("for LOG in {}; do {append}; done", logs.join(" ")));
    let seen = |log: &str| {
        ["base", "head"].map(|side| ["11", "none"].map(|size| format!("{side} {log} {size}")))
    };
    let mut expected: Vec<String> = logs.into_iter().flat_map(seen).flatten().collect();
    expected.sort_unstable();
    for build in [&BUILD[..], &[]] {
        for letter in ["C", "D", "D"] {
            world.becomes(letter);
            let ran = world.compare(2, build).run().code(0);
            assert_eq!(world.lines(), expected, "{build:?}: {}", ran.stderr);
        }
    }
}

#[test]
fn what_the_build_made_and_a_run_changed_is_built_again_on_both_sides() {
    let world = World::new("mkdir -p made; printf '' > made/log", APPEND);
    for letter in ["C", "D", "D"] {
        world.becomes(letter);
        world.compare(2, &BUILD).env("LOG", "made/log").run().code(0);
        assert_eq!(world.lines(), ["base 0", "base 11", "head 0", "head 11"], "{letter}");
    }
}

#[test]
fn folders_repositories_and_links_that_runs_leave_go_too() {
    let leave = "echo \"$side $(ls -aR . | wc -l)\" >> \"$SEEN\"\n\
                 mkdir -p empty/inner src/empty made/empty\n\
                 git init --quiet inner; echo x > inner/file\n\
                 ln -sf nowhere link; [ -e pipe ] || mkfifo pipe";
    for build in [&BUILD[..], &[]] {
        let world = World::new(COPY, leave);
        world.compare(1, build).run().code(0);
        let first = world.lines();
        assert_eq!(first.len(), 2);
        world.becomes("C");
        world.compare(1, build).run().code(0);
        assert_eq!(world.lines(), first, "{build:?}");
    }
}

#[test]
fn a_tracked_file_that_the_build_rewrites_is_what_it_made_of_it() {
    let rewrite = "echo \"built $(cat what)\" > version";
    let show = "echo \"$side $(cat version)\" >> \"$SEEN\"";
    let world = World::new(rewrite, show);
    world.repo.write("version", "none\n");
    world.repo.commit("a version");
    let expected = ["base built A", "head built B"];
    world.assert_sees(&expected, 2);
    world.assert_sees(&expected, 0);
    world.becomes("C");
    world.assert_sees(&["base built A", "head built C"], 1);
    world.repo.git(&["checkout", "--quiet", "HEAD~1"]);
    world.assert_sees(&expected, 1);
    // And the one in the commit is what everything else sees.
    assert_eq!(std::fs::read_to_string(world.side("head").join("tree/version")).unwrap(), "none\n");
}

#[test]
fn a_manifest_that_the_build_rewrites_is_not_the_one_that_counts() {
    let table = "[package.metadata.cbdr]\nthreshold = \"50%\"";
    let world = World::new(&format!("cat >> Cargo.toml <<'END'\n{table}\nEND"), "true");
    for builds in [2, 0] {
        let ran = world.built().args(["--head", "feature"]).run().code(0);
        assert_eq!(ran.stderr.matches("Building").count(), builds, "{}", ran.stderr);
        let threshold = &ran.json()["benchmarks"][0]["metrics"][0]["threshold"];
        assert_eq!(threshold.as_f64(), Some(0.02), "{}", ran.stdout);
    }
}

#[test]
fn what_a_run_damages_is_built_again() {
    let damage = format!(
        "{SHOW}\ncase $DAMAGE in rm) rm made/what ;; write) echo Z > made/what ;; \
                          same) touch -r made/what stamp; printf 'Z\\n' > made/what; \
                          touch -r stamp made/what ;; mode) chmod 600 made/what ;; \
                          link) mv made/what other; ln -s ../other made/what ;; esac"
    );
    let world = World::new(COPY, &damage);
    let expected = ["base A", "head B"];
    world.assert_sees(&expected, 2);
    for how in ["rm", "write", "same", "mode", "link"] {
        world.built().env("DAMAGE", how).run().code(0);
        assert_eq!(world.lines(), expected, "{how}");
        // The variable is another one, so it is built either way; with the same
        // one it is for the damage.
        let ran = world.built().env("DAMAGE", how).run().code(0);
        assert_eq!(world.lines(), expected, "{how}");
        assert_eq!(ran.stderr.matches("Building").count(), 2, "{how}: {}", ran.stderr);
    }
}

#[test]
fn a_file_that_was_only_touched_is_the_same_and_has_its_time_again() {
    let world = World::new(COPY, &format!("{SHOW}\ntouch made/what what"));
    let expected = ["base A", "head B"];
    world.assert_sees(&expected, 2);
    let made = world.side("head").join("built/made/what");
    let time = || made.metadata().unwrap().modified().unwrap();
    let touched = time();
    world.assert_sees(&expected, 0);
    assert_ne!(time(), touched);
}

#[test]
fn another_environment_is_another_build_and_the_first_one_again_too() {
    let flavour = "mkdir -p made; echo \"$(cat what) $FLAVOUR\" > made/what";
    let world = World::new(flavour, SHOW);
    for (number, flavour) in ["sweet", "sour", "sweet", "sweet"].into_iter().enumerate() {
        let ran = world.built().env("FLAVOUR", flavour).run().code(0);
        let expected = [format!("base A {flavour}"), format!("head B {flavour}")];
        assert_eq!(world.lines(), expected, "{flavour}");
        let builds = if number < 3 { 2 } else { 0 };
        assert_eq!(ran.stderr.matches("Building").count(), builds, "{}", ran.stderr);
    }
}

#[test]
fn how_a_shell_called_us_is_no_input_of_a_build() {
    let world = World::new("mkdir -p made; echo \"$OLDPWD$(cat what)\" > made/what", SHOW);
    for (folder, builds) in [("/one", 2), ("/two", 0)] {
        let cbdr = world.built().env("_", folder).env("OLDPWD", folder).env("SHLVL", folder);
        let ran = cbdr.env("PWD", folder).run().code(0);
        assert_eq!(world.lines(), ["base A", "head B"]);
        assert_eq!(ran.stderr.matches("Building").count(), builds, "{}", ran.stderr);
    }
}

#[test]
fn another_branch_in_between_leaves_nothing_behind() {
    // The build makes a file that is named after the commit.
    let world =
        World::new("mkdir -p made; : > made/$(cat what)", "echo $side $(ls made) >> \"$SEEN\"");
    world.assert_sees(&["base A", "head B"], 2);
    world.repo.git(&["checkout", "--quiet", "-b", "other", "main"]);
    world.becomes("C");
    world.assert_sees(&["base A", "head C"], 1);
    world.repo.git(&["checkout", "--quiet", "feature"]);
    world.assert_sees(&["base A", "head B"], 1);
    // A commit of the same tree has another name, which a build may ask for.
    world.repo.commit("nothing new");
    world.assert_sees(&["base A", "head B"], 1);
}

#[test]
fn a_lock_file_of_the_users_is_an_input_of_the_build() {
    let world = World::new("mkdir -p made; tail -n 1 Cargo.lock > made/what", SHOW);
    let lock = std::fs::read_to_string(world.repo.path().join("Cargo.lock")).unwrap();
    world.on_both(|repo| {
        repo.write(".gitignore", "made\nCargo.lock\n");
        repo.git(&["rm", "--quiet", "Cargo.lock"]);
    });
    for (comment, builds) in [("one", 2), ("one", 0), ("two", 2)] {
        world.repo.write("Cargo.lock", &format!("{lock}# {comment}\n"));
        let ran = world.built().run().code(0);
        let seen = world.lines();
        assert!(seen.contains(&format!("base # {comment}")), "{seen:?}");
        assert!(seen.contains(&format!("head # {comment}")), "{seen:?}");
        assert_eq!(ran.stderr.matches("Building").count(), builds, "{}", ran.stderr);
    }
}

/// Adds a submodule `part` to both branches, with a file `file`.
fn with_submodule(world: &World) -> Repo {
    let part = Repo::new("steady");
    part.write("file", "filled\n");
    part.commit("a part");
    world.on_both(|repo| {
        let url = part.path().to_str().unwrap();
        let add = ["submodule", "--quiet", "add", url, "part"];
        repo.git(&[&["-c", "protocol.file.allow=always"], &add[..]].concat());
    });
    part
}

/// Takes the submodule out of the clone.
fn forget(world: &World) {
    world.repo.git(&["submodule", "--quiet", "deinit", "--all", "--force"]);
    std::fs::remove_dir_all(world.repo.path().join(".git/modules")).unwrap();
}

fn fetch(world: &World) {
    let allow = "protocol.file.allow=always";
    world.repo.git(&["-c", allow, "submodule", "--quiet", "update", "--init"]);
}

#[test]
fn a_submodule_that_is_fetched_in_between_is_built_with_and_one_that_is_gone_without() {
    let build = "mkdir -p made; if [ -e part/file ]; then cp part/file made/what; else echo none > made/what; fi";
    let world = World::new(build, SHOW);
    let _part = with_submodule(&world);
    forget(&world);
    world.assert_sees(&["base none", "head none"], 2);
    fetch(&world);
    world.assert_sees(&["base filled", "head filled"], 2);
    world.assert_sees(&["base filled", "head filled"], 0);
    forget(&world);
    world.assert_sees(&["base none", "head none"], 2);
}

#[test]
fn cargo_builds_with_a_submodule_that_is_fetched_in_between_and_without_one_that_is_gone() {
    let world = World::new(COPY, SHOW);
    let _part = with_submodule(&world);
    let script = "fn main() {\n    let there = std::fs::exists(\"part/file\").unwrap();\n    \
                  println!(\"cargo::rustc-env=PART={there}\");\n}\n";
    let bench = "fn main() {\n    eprintln!(\"part: {}\", env!(\"PART\"));\n    \
                 std::process::exit(1);\n}\n";
    world.on_both(|repo| {
        repo.write("build.rs", script);
        repo.write("benches/work.rs", bench);
    });
    let run = || {
        world
            .repo
            .cbdr("compare main --always-run --warmup 0 --max-pairs 6 --threshold 900%")
            .run()
            .code(101)
    };
    forget(&world);
    run().says("Building base").says("Building head").says("part: false");
    run().says("Fresh base").says("Fresh head").says("part: false");
    fetch(&world);
    run().says("Building base").says("Building head").says("part: true");
}

#[test]
fn what_runs_do_to_a_submodule_is_undone() {
    let run = "echo \"$side $(cat part/file) $(ls part | wc -l)\" >> \"$SEEN\"\n\
               echo damaged > part/file; echo stray > part/stray";
    for build in [&BUILD[..], &[]] {
        let world = World::new(COPY, run);
        let _part = with_submodule(&world);
        world.compare(1, build).run().code(0);
        let first = world.lines();
        assert!(first[0].starts_with("base filled "), "{first:?}");
        world.compare(1, build).run().code(0);
        assert_eq!(world.lines(), first);
    }
}

#[test]
fn a_cache_that_was_moved_is_believed_for_its_contents() {
    let world = World::new(COPY, SHOW);
    let expected = ["base A", "head B"];
    world.assert_sees(&expected, 2);
    let copy = world.repo.around().join("copy");
    let mut cp = std::process::Command::new("cp");
    assert!(cp.arg("-a").arg(world.repo.cache()).arg(&copy).status().unwrap().success());
    std::fs::remove_dir_all(world.repo.cache()).unwrap();
    std::fs::rename(&copy, world.repo.cache()).unwrap();
    world.assert_sees(&expected, 0);
    // Nothing is believed for its size and its time.
    let made = world.side("head").join("built/made/what");
    let time = made.metadata().unwrap().modified().unwrap();
    std::fs::write(&made, "Z\n").unwrap();
    std::fs::File::open(&made).unwrap().set_modified(time).unwrap();
    world.assert_sees(&expected, 1);
    // Nor is a record that can't be read.
    for side in ["base", "head"] {
        std::fs::write(world.side(side).join("built.record"), "{").unwrap();
    }
    world.assert_sees(&expected, 2);
}

#[test]
fn several_build_commands_in_one_worktree_run_in_their_order() {
    let world = World::new(COPY, SHOW);
    let manifest = std::fs::read_to_string(world.repo.path().join("Cargo.toml")).unwrap();
    let table = |second: &str| {
        format!(
            "{manifest}\n[package.metadata.cbdr.benchmarks.one]\ncommand = \"sh run.sh\"\n\
             build-command = \"sh build.sh\"\n\
             [package.metadata.cbdr.benchmarks.two]\ncommand = \"sh run.sh\"\n\
             build-command = \"{second}\"\n\
             [package.metadata.cbdr.benchmarks.three]\ncommand = \"sh run.sh\"\n"
        )
    };
    let run = |second: &str, builds: usize| {
        world.repo.write("Cargo.toml", &table(second));
        let _ = std::fs::remove_file(world.seen());
        let cbdr =
            world.repo.cbdr("compare main --max-pairs 6 --threshold 900% --warmup 0 --always-run");
        let ran = cbdr.env("SEEN", world.seen()).run().code(0);
        assert_eq!(ran.stderr.matches("Building").count(), builds, "{}", ran.stderr);
        world.lines()
    };
    let add = "sh -c 'echo added >> made/what'";
    let added = ["added", "base A", "head B"];
    assert_eq!(run(add, 4), added);
    assert_eq!(run(add, 0), added);
    // Without the second one the worktree is not what it would be.
    assert_eq!(run("sh build.sh", 2), ["base A", "head B"]);
    assert_eq!(run(add, 4), added);
}

#[test]
fn a_folder_in_cargos_configuration_is_not_shared_by_the_sides() {
    let repo = Repo::new("steady");
    let shared = repo.around().join("shared");
    let configure = |key: &str| {
        repo.git(&["checkout", "--quiet", "-B", "main"]);
        repo.write(".cargo/config.toml", &format!("build.{key} = \"{}\"\n", shared.display()));
        // What is read at run time is where the other side would write it, too.
        let text = "include_str!(\"../what\").trim()";
        let script = format!(
            "fn main() {{\n    let folder = std::env::var_os(\"OUT_DIR\").unwrap();\n    \
             std::fs::write(std::path::Path::new(&folder).join(\"what\"), {}).unwrap();\n}}\n",
            text.replace("../", "")
        );
        repo.write("build.rs", &script);
        let main = format!(
            "fn main() {{\n    let read = concat!(env!(\"OUT_DIR\"), \"/what\");\n    \
             println!(\"{{}} {{}}\", {text}, std::fs::read_to_string(read).unwrap());\n}}\n"
        );
        repo.write("src/main.rs", &main);
        repo.write("what", "A\n");
        repo.commit("A");
        repo.git(&["checkout", "--quiet", "-B", "feature"]);
        repo.write("what", "B\n");
        repo.commit("B");
    };
    let seen = repo.around().join("seen");
    let compare = |args: &[&str]| {
        let _ = std::fs::remove_file(&seen);
        let cbdr = repo.cbdr("compare main --max-pairs 6 --threshold 900% --warmup 0 --always-run");
        cbdr.args(args).env("SEEN", &seen).run()
    };
    let expected = ["A A", "B B"];
    let assert_sees = |args: &[&str]| {
        compare(args).code(0);
        let text = std::fs::read_to_string(&seen).unwrap();
        let mut lines: Vec<&str> = text.lines().collect();
        lines.sort_unstable();
        lines.dedup();
        assert_eq!(lines, expected, "{args:?}");
        assert!(!shared.exists(), "{args:?}");
    };
    let build = ["--build-command", "cargo build --quiet"];
    configure("build-dir");
    let command = ["--command", "sh -c 'target/debug/steady >> \"$SEEN\"'"];
    assert_sees(&[build, command].concat());
    configure("target-dir");
    assert_sees(&[build, command].concat());
    assert_sees(&["--command", "sh -c 'cargo run --quiet >> \"$SEEN\"'"]);
    let program = format!("{}/debug/steady", shared.display());
    let ran = compare(&[&build[..], &["--command", &program]].concat()).code(101);
    ran.says("which cargo would build for both sides").says("target/release/NAME");
}

#[test]
fn the_index_of_both_worktrees_tells_what_is_in_them() {
    let world =
        World::new("echo rewritten > version; : > made", "git add --all; git status > /dev/null");
    world.repo.write("version", "none\n");
    world.repo.commit("a version");
    for letter in ["C", "D", "D"] {
        world.becomes(letter);
        world.built().run().code(0);
        for side in ["base", "head"] {
            let status = |tree: &str| git(&world.side(side).join(tree), &["status", "--porcelain"]);
            assert_eq!(status("tree"), "", "{side}");
            assert!(status("built").ends_with("version"), "{side}: {}", status("built"));
        }
    }
    // Both are noted to be complete.
    let git = world.side("base").with_file_name("git");
    for worktree in ["base-tree", "base-built", "head-tree", "head-built"] {
        assert!(git.join(format!("{worktree}.attributes")).is_file(), "{worktree}");
    }
}
