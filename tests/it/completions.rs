//! Completions, in real shells.

use std::path::PathBuf;
use std::process::Command;

use cargo_cbdr::model::dialect::Dialect;
use cargo_cbdr::model::estimator::Estimator;

use crate::support::{Repo, path_with_binary, skipped};

/// A repository with a branch, and the scripts of all shells next to it.
fn repo() -> Repo {
    let repo = Repo::new("steady");
    repo.branch("feature");
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = repo.cbdr(&format!("completions {shell}")).run().code(0).stdout;
        assert!(script.contains("cargo-cbdr"), "{shell}");
        // The others ask the program.
        if ["elvish", "powershell"].contains(&shell) {
            assert!(script.contains("threshold") && script.contains("analyze"), "{shell}");
        }
        std::fs::write(repo.around().join(shell), script).unwrap();
    }
    repo
}

/// What the program offers for the last of these words.
fn offered(repo: &Repo, words: &str) -> Vec<String> {
    let number = words.split(' ').count() - 1;
    let words = words.split(' ').map(str::to_owned);
    let call = ["__complete".to_owned(), number.to_string()].into_iter().chain(words);
    let said = repo.cbdr("").args(call).run().code(0).stdout;
    said.lines().map(|line| line.split('\t').next().unwrap().to_owned()).collect()
}

#[test]
fn flags_values_branches_targets_and_metrics_are_offered() {
    let repo = repo();
    for (words, expected) in [
        ("cbdr comp", &["compare", "completions"][..]),
        ("cargo-cbdr compare --thr", &["--threshold"]),
        ("cbdr compare ma", &["main"]),
        ("cbdr compare main --head fe", &["feature"]),
        ("cbdr bisect --estimator ge", &["geometric-mean"]),
        ("cbdr compare --bench ", &["work"]),
        ("cbdr compare -p st", &["steady"]),
        ("cbdr compare --metric user", &["user_time"]),
        ("cbdr compare --format=ju", &["--format=junit"]),
        ("cbdr bisect fe", &["feature"]),
        ("cbdr sample --metric user", &["user_time"]),
        ("cbdr history record --bench ", &["work"]),
        ("cbdr history record fe", &["feature"]),
        ("cbdr history list --metric user", &["user_time"]),
        ("cbdr man bis", &["bisect"]),
        ("cbdr hook ", &["install", "uninstall", "help"]),
    ] {
        let offered = offered(&repo, words);
        let has = |word: &&str| offered.iter().any(|one| one == word);
        assert!(expected.iter().all(has), "{words}: {offered:?}");
        let is_begun = !words.ends_with(' ');
        assert!(!is_begun || offered.len() == expected.len(), "{words}: {offered:?}");
    }
    for (option, words) in [
        ("estimator", &Estimator::ALL.map(Estimator::name)[..]),
        ("harness", &Dialect::ALL.map(Dialect::name)),
        ("fail-on", &["inconclusive", "no-baseline", "removed", "none"]),
        ("toolchain", &["head", "base", "each"]),
        ("repetitions", &["auto"]),
        ("aslr", &["on", "off"]),
        ("bench-from", &["each", "head", "base"]),
    ] {
        let offered = offered(&repo, &format!("cbdr compare --{option} "));
        let has = |word: &&str| offered.iter().any(|one| one == word);
        assert!(words.iter().all(has), "{option}: {offered:?}");
    }
    repo.cbdr("completions csh").run().code(2).says("invalid value 'csh'");
    let nothing = repo.cbdr("__complete x").run();
    assert!(nothing.stdout.is_empty());
}

/// What a shell prints that runs a script, with the program in its path; none where there is
/// no such shell.
fn shell(repo: &Repo, argv: &[&str], script: &str) -> Option<String> {
    let mut command = Command::new("timeout");
    command.arg("60").args(argv).arg(script).current_dir(repo.path());
    command.env("PATH", path_with_binary()).env("TERM", "vt100").env("HOME", repo.around());
    if Command::new(argv[0]).arg("--version").output().is_err() {
        skipped(&format!("{} is not in the PATH (`.ci/run` installs it)", argv[0]));
        return None;
    }
    let output = command.output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    Some(format!("{said}{}", String::from_utf8_lossy(&output.stderr)))
}

fn script(repo: &Repo, shell: &str) -> String {
    let path: PathBuf = repo.around().join(shell);
    path.to_str().unwrap().to_owned()
}

#[test]
fn bash_completes_both_forms() {
    let repo = repo();
    let complete = |before: &str, words: &str| {
        let count = words.split(' ').count() - 1;
        let asks = format!(
            "{before} source {}; COMP_WORDS=({words}); COMP_CWORD={count}; \
             [[ $(complete -p ${{COMP_WORDS[0]}}) =~ -F\\ ([^ ]+) ]]; \
             ${{BASH_REMATCH[1]}}; echo \"${{COMPREPLY[*]}}\"",
            script(&repo, "bash")
        );
        shell(&repo, &["bash", "--norc", "-c"], &asks).map(|said| said.trim().to_owned())
    };
    let Some(flag) = complete("", "cargo-cbdr compare --thr") else { return };
    assert_eq!(flag, "--threshold");
    let cargo = |words: &str| complete("", words).unwrap();
    assert_eq!(cargo("cargo cbdr compare --thr"), "--threshold");
    assert_eq!(cargo("cargo cbdr compare ma"), "main");
    assert_eq!(cargo("cargo cbdr compare --format = ju"), "junit");
    assert!(cargo("cargo cbdr compare --estimator =").starts_with("robust "));
    assert_eq!(cargo("cargo cb"), "cbdr");
    // Cargo's own completion goes on.
    let before = "others() { COMPREPLY=(build); }; complete -F others cargo;";
    assert_eq!(complete(before, "cargo bu").unwrap(), "build");
    assert_eq!(complete(before, "cargo cbdr bis").unwrap(), "bisect");
    // Also if the script is read twice.
    let twice = format!("{before} source {};", script(&repo, "bash"));
    assert_eq!(complete(&twice, "cargo bu").unwrap(), "build");
}

#[test]
fn fish_completes_both_forms() {
    let repo = repo();
    let complete = |words: &str| {
        let asks = format!("source {}; complete -C '{words}'", script(&repo, "fish"));
        shell(&repo, &["fish", "--no-config", "-c"], &asks)
    };
    let Some(flag) = complete("cargo-cbdr compare --thr") else { return };
    assert!(flag.starts_with("--threshold\t"), "{flag}");
    let cargo = complete("cargo cbdr compare --thr").unwrap();
    assert!(cargo.starts_with("--threshold\t"), "{cargo}");
    assert!(complete("cargo cbdr compare ma").unwrap().lines().any(|line| line == "main"));
    assert!(complete("cargo cb").unwrap().lines().any(|line| line.starts_with("cbdr\t")));
    assert!(!complete("cargo cbdr hook ").unwrap().contains("run"));
}

#[test]
fn zsh_completes_both_forms() {
    let repo = repo();
    // A shell with a terminal, with typed input.
    let typed = |words: &str, expected: &str| {
        let types = format!(
            "zmodload zsh/zpty || exit 3; zpty typed zsh -f -i; \
             zpty -w typed $'PS1=; autoload -Uz compinit; compinit -u -D; source {}; echo rea\\'\\'dy'; \
             zpty -r typed said '*ready*'; zpty -w -n typed $'{words}\\t'; \
             zpty -r typed said '*{expected}*' && echo found",
            script(&repo, "zsh")
        );
        shell(&repo, &["zsh", "-f", "-c"], &types)
    };
    let Some(flag) = typed("cargo-cbdr compare --thr", "--threshold") else { return };
    assert!(flag.contains("found"), "{flag}");
    for (words, expected) in [
        ("cargo cbdr compare --thr", "--threshold"),
        ("cargo cbdr compare mai", "main"),
        ("cargo cbdr bise", "bisect"),
        ("cargo cb", "cbdr"),
    ] {
        let said = typed(words, expected).unwrap();
        assert!(said.contains("found"), "{words}: {said}");
    }
}
