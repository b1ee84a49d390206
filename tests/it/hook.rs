//! The pre-push hook, in real pushes to a bare repository on disk.

use std::process::{Command, Stdio};

use crate::support::{Cbdr, Ran, Repo, git, make_executable, path_with_binary, skipped, toolchain};

/// The steady fixture with a script, and a bare remote `origin` that has its `main`.
fn with_remote() -> Repo {
    let repo = Repo::new("steady");
    repo.write("run.sh", "exit 0\n");
    repo.commit("a script");
    let remote = repo.around().join("remote.git");
    git(&repo.around(), &["init", "--quiet", "--bare", "--initial-branch=main", "remote.git"]);
    repo.git(&["remote", "add", "origin", remote.to_str().unwrap()]);
    repo.git(&["push", "--quiet", "--set-upstream", "origin", "main"]);
    repo
}

/// What a push came to: whether git did it, and what was printed.
fn push(repo: &Repo, args: &str) -> (bool, String) {
    let mut command = Command::new("git");
    command
        .current_dir(repo.path())
        .arg("push")
        .args(args.split(' '))
        .envs(toolchain())
        .env("PATH", path_with_binary())
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("CBDR_CACHE_DIR", repo.cache());
    let output = command.output().unwrap();
    let printed = [output.stdout, output.stderr].map(|printed| String::from_utf8(printed).unwrap());
    (output.status.success(), printed.concat())
}

#[track_caller]
fn pushed(repo: &Repo, args: &str) -> String {
    let (done, printed) = push(repo, args);
    assert!(done, "{args}: {printed}");
    printed
}

#[track_caller]
fn blocked(repo: &Repo, args: &str) -> String {
    let (done, printed) = push(repo, args);
    assert!(!done, "{args}: {printed}");
    printed
}

/// The commit of a branch of the remote; nothing of one that is not there.
fn remote(repo: &Repo, branch: &str) -> String {
    let line = repo.git(&["ls-remote", "origin", &format!("refs/heads/{branch}")]);
    line.split_whitespace().next().unwrap_or_default().to_owned()
}

const INSTALL: &str = "hook install -- --metric cpu_time --threshold 20% --layouts off";

/// Installs a hook that compares the script, for which nothing has to be built.
#[track_caller]
fn install_for_script(repo: &Repo, base: &str) -> Ran {
    let call = format!("hook install -- {base} --metric cpu_time --threshold 20% --command");
    repo.cbdr(&call).args(["sh run.sh"]).run().code(0)
}

/// Makes the script slow.
fn slow_script(repo: &Repo) {
    repo.write("run.sh", "i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done\n");
}

#[test]
fn a_push_is_compared_and_a_regression_stops_it() {
    let repo = with_remote();
    repo.cbdr(INSTALL).run().code(0).says("Installed");
    // A new branch that changes no program.
    repo.branch("words");
    repo.write("README.md", "words\n");
    let words = repo.commit("document it");
    let printed = pushed(&repo, "origin words");
    assert!(printed.contains("Pushing words") && printed.contains("identical"), "{printed}");
    assert_eq!(remote(&repo, "words"), words);
    // One that is slower, together with one that is not.
    repo.branch("slower");
    repo.replace("src/lib.rs", "500_000", "3_000_000");
    let slower = repo.commit("work more");
    let printed = blocked(&repo, "origin words slower");
    assert!(printed.contains(" slower than ") && printed.contains("cpu_time "), "{printed}");
    assert_eq!(remote(&repo, "slower"), "");
    // The user's word is the last.
    pushed(&repo, "--no-verify origin slower");
    assert_eq!(remote(&repo, "slower"), slower);
    // A deletion and a tag can't be a regression.
    repo.git(&["tag", "v1"]);
    let printed = pushed(&repo, "origin v1 :words");
    assert!(!printed.contains("Pushing"), "{printed}");
    assert_eq!(remote(&repo, "words"), "");
}

#[test]
fn the_default_branch_is_compared_with_what_the_remote_has_of_it() {
    let repo = with_remote();
    install_for_script(&repo, "main");
    slow_script(&repo);
    repo.commit("work more");
    let printed = blocked(&repo, "origin main");
    assert!(printed.contains(" slower than ") && printed.contains("cpu_time "), "{printed}");
    repo.write("README.md", "unsaved\n");
    repo.write("run.sh", "exit 0\n");
    repo.commit("work less again");
    pushed(&repo, "origin main");
}

#[test]
fn a_hook_that_was_there_is_kept_called_and_put_back() {
    let repo = with_remote();
    let hooks = repo.path().join(".git/hooks");
    let hook = hooks.join("pre-push");
    let theirs = "#!/bin/sh\ncat > \"$(dirname \"$0\")/told\"\nexit $(cat wanted)\n";
    std::fs::create_dir_all(&hooks).unwrap();
    std::fs::write(&hook, theirs).unwrap();
    make_executable(&hook);
    install_for_script(&repo, "").says("Keeping").says("pre-push.before-cbdr");
    // Installing again replaces ours and leaves theirs.
    install_for_script(&repo, "").never_says("Keeping");
    repo.branch("words");
    repo.write("README.md", "words\n");
    repo.write("wanted", "3\n");
    let commit = repo.commit("document it");
    let printed = blocked(&repo, "origin words");
    assert!(!printed.contains("Pushing words"), "{printed}");
    repo.write("wanted", "0\n");
    let printed = pushed(&repo, "origin words");
    assert!(printed.contains("Pushing words"), "{printed}");
    let told = std::fs::read_to_string(hooks.join("told")).unwrap();
    assert_eq!(told.lines().count(), 1);
    assert!(told.starts_with(&format!("refs/heads/words {commit} refs/heads/words")), "{told}");
    repo.cbdr("hook uninstall").run().code(0).says("Restored");
    assert_eq!(std::fs::read_to_string(&hook).unwrap(), theirs);
    repo.cbdr("hook uninstall").run().code(101).says("is not a hook that `cargo cbdr` installed");
    // Never over one of the two.
    std::fs::write(hooks.join("pre-push.before-cbdr"), "kept\n").unwrap();
    repo.cbdr(INSTALL).run().code(101).says("both exist");
    assert_eq!(std::fs::read_to_string(&hook).unwrap(), theirs);
}

#[test]
fn a_hook_that_runs_the_script_of_its_own_name_is_left_alone() {
    let repo = with_remote();
    repo.write(".git/hooks/pre-push", "#!/bin/sh\n\"./ci/$(basename \"$0\")\" \"$@\"\n");
    repo.write(".husky/_/h", "n=$(basename \"$0\")\n");
    repo.write(".husky/_/pre-push", "#!/usr/bin/env sh\n. \"$(dirname \"$0\")/h\"");
    for (folder, says) in [
        (".git/hooks", "pre-push` may depend on its name"),
        (".husky/_", "add the line `cargo-cbdr hook run` to"),
    ] {
        repo.git(&["config", "core.hooksPath", folder]);
        let hook = repo.path().join(folder).join("pre-push");
        let theirs = std::fs::read_to_string(&hook).unwrap();
        repo.cbdr(INSTALL).run().code(101).says(says);
        assert_eq!(std::fs::read_to_string(&hook).unwrap(), theirs);
        assert!(!hook.with_file_name("pre-push.before-cbdr").exists());
    }
}

#[test]
fn lines_of_the_users_own_outlive_ours() {
    let repo = with_remote();
    let hook = repo.path().join(".git/hooks/pre-push");
    let read = || std::fs::read_to_string(&hook).unwrap();
    install_for_script(&repo, "");
    let ours = read();
    let (shell, part) = ours.split_once('\n').unwrap();
    let added = format!("{shell}\necho before >> seen\n{part}pushes >> seen\necho after >> seen\n");
    std::fs::write(&hook, &added).unwrap();
    // They are run, and what follows ours is not where ours stops the push.
    repo.branch("words");
    repo.write("README.md", "words\n");
    repo.commit("document it");
    pushed(&repo, "origin words");
    let seen = || std::fs::read_to_string(repo.path().join("seen")).unwrap();
    let lines = seen();
    let lines: Vec<&str> = lines.lines().collect();
    assert!(
        matches!(lines[..], ["before", told, "after"] if told.starts_with("refs/heads/words "))
    );
    repo.branch("slower");
    slow_script(&repo);
    repo.git(&["add", "run.sh"]);
    repo.git(&["commit", "--quiet", "--message", "work more"]);
    blocked(&repo, "origin slower");
    assert!(seen().ends_with("after\nbefore\n"), "{}", seen());
    // Installed again, only our part changes; removed, only our part is removed.
    repo.cbdr("hook install --time-limit 7s").run().code(0).never_says("Keeping");
    let again = read();
    assert!(again.contains("--time-limit 7s\n") && !again.contains("threshold"), "{again}");
    assert!(again.starts_with(&format!("{shell}\necho before >> seen\n")), "{again}");
    assert!(again.ends_with("pushes >> seen\necho after >> seen\n"), "{again}");
    repo.cbdr("hook uninstall").run().code(0).says("Removed").says("stay");
    assert_eq!(
        read(),
        format!("{shell}\necho before >> seen\npushes >> seen\necho after >> seen\n")
    );
    repo.cbdr("hook uninstall").run().code(101).says("is not a hook that `cargo cbdr` installed");
}

#[test]
fn what_can_not_be_told_apart_is_left_alone() {
    let repo = with_remote();
    let hook = repo.path().join(".git/hooks/pre-push");
    repo.cbdr(INSTALL).run().code(0);
    let ours = std::fs::read_to_string(&hook).unwrap();
    let end = ours.lines().last().unwrap();
    let cases = [
        ours.replace("--time-limit 1m", "--time-limit 2m"),
        ours.replace("pushed=$(cat)", "echo mine\npushed=$(cat)"),
        ours.replace(&format!("{end}\n"), ""),
        format!("{ours}{ours}"),
        format!("{end}\n{ours}"),
        format!("{ours}{end}\n"),
    ];
    for text in cases {
        std::fs::write(&hook, &text).unwrap();
        for command in ["hook uninstall", INSTALL] {
            repo.cbdr(command).run().code(101).says("have been changed").says("by hand");
            assert_eq!(std::fs::read_to_string(&hook).unwrap(), text);
        }
    }
    // An earlier hook, and lines added since: both belong to the user.
    let kept = hook.with_file_name("pre-push.before-cbdr");
    std::fs::write(&kept, "#!/bin/sh\n").unwrap();
    let text = format!("{ours}echo mine\n");
    std::fs::write(&hook, &text).unwrap();
    let ran = repo.cbdr("hook uninstall").run().code(101);
    ran.says("has lines that `cargo cbdr` did not write").says("pre-push.before-cbdr`");
    assert_eq!(std::fs::read_to_string(&hook).unwrap(), text);
    assert_eq!(std::fs::read_to_string(&kept).unwrap(), "#!/bin/sh\n");
}

#[test]
fn a_hook_is_installed_where_git_looks_and_in_no_other_repository() {
    let repo = with_remote();
    repo.git(&["config", "core.hooksPath", "our hooks"]);
    repo.cbdr("hook install --time-limit 20s").run().code(0);
    let hook = repo.path().join("our hooks/pre-push");
    let script = std::fs::read_to_string(&hook).unwrap();
    assert!(script.contains("cargo-cbdr hook run --time-limit 20s\n"), "{script}");
    // Instead of it, each branch may have its own.
    repo.cbdr("hook install -- --time-limit 10s").run().code(0);
    let script = std::fs::read_to_string(&hook).unwrap();
    assert!(script.contains("cargo-cbdr hook run -- --time-limit 10s\n"), "{script}");
    // Of a package in a folder, which older commits may lack.
    repo.cbdr("hook install").folder(&repo.path().join("benches")).run().code(0);
    let script = std::fs::read_to_string(&hook).unwrap();
    let call = "(cd -- benches || exit 0; pushes | cargo-cbdr hook run --time-limit ";
    assert!(script.contains(call), "{script}");
    repo.cbdr("hook uninstall").run().code(0).says("Removed");
    assert!(!hook.exists());
    repo.cbdr("hook uninstall").run().code(101).says("error: there is no hook `");
    repo.git(&["config", "--unset", "core.hooksPath"]);
    let global = repo.around().join("config");
    let shared = repo.around().join("shared");
    std::fs::write(&global, format!("[core]\nhooksPath = {}\n", shared.display())).unwrap();
    // libgit2 finds the user's configuration by HOME.
    std::fs::rename(&global, repo.around().join(".gitconfig")).unwrap();
    let ran = repo.cbdr("hook install").env("HOME", repo.around()).run().code(101);
    ran.says("for all repositories");
    assert!(!shared.exists());
}

#[test]
fn what_the_hook_could_not_do_is_refused_when_it_is_installed() {
    let repo = with_remote();
    for (args, why) in [
        ("hook install --time-limit soon", "invalid time-limit `soon`"),
        (
            "hook install --time-limit 20s -- --time-limit 10s",
            "two time limits: the `--time-limit`",
        ),
        ("hook install -- --frobnicate", "error: unexpected argument '--frobnicate' found"),
        ("hook install -- --dirty", "leave out --head, --dirty, --aa, --packed and --dry-run"),
        ("hook install -- --packed ../file", "a hook compares what is pushed: leave out"),
        ("hook install -- --dry-run", "a hook compares what is pushed: leave out"),
    ] {
        repo.cbdr(args).run().code(2).says(why).never_says("error: error");
    }
    assert!(!repo.path().join(".git/hooks/pre-push").exists());
    Cbdr::new(repo.path(), &repo.cache()).args(["hook", "run"]).run().code(0);
}

#[test]
fn a_hook_that_is_called_by_hand_says_what_it_waits_for() {
    if Command::new("script").arg("--version").stdout(Stdio::null()).status().is_err() {
        return skipped("script is not installed");
    }
    let repo = with_remote();
    let call = format!("'{}' hook run", env!("CARGO_BIN_EXE_cargo-cbdr"));
    let mut script = Command::new("script");
    script.args(["--quiet", "--return", "--command", &call, "/dev/null"]).current_dir(repo.path());
    let ran = script.env("NO_COLOR", "1").stdin(Stdio::null()).output().unwrap();
    let shown = String::from_utf8(ran.stdout).unwrap();
    assert!(ran.status.success(), "{shown}");
    let words: Vec<&str> = shown.split_whitespace().collect();
    assert!(words.join(" ").contains("Waiting for the lines that git passes"), "{shown}");
    // Not where they are piped in, as git does.
    repo.cbdr("hook run").run().code(0).never_says("Waiting");
}

#[test]
fn without_the_program_the_push_goes_on() {
    let repo = with_remote();
    repo.cbdr("hook install").run().code(0);
    let hook = repo.path().join(".git/hooks/pre-push");
    let mut command = Command::new(hook);
    command
        .current_dir(repo.path())
        .env("PATH", "/usr/bin:/bin")
        .stdin(std::process::Stdio::null());
    let output = command.output().unwrap();
    assert!(output.status.success());
    let printed = String::from_utf8(output.stderr).unwrap();
    assert!(printed.contains("cargo-cbdr is not installed"), "{printed}");
}
