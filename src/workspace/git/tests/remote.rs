use std::ffi::OsString;

use super::Scratch;
use crate::workspace::git::remote;

#[test]
fn a_name_is_of_the_remote_that_it_begins_with_else_of_origin() {
    let scratch = Scratch::new();
    scratch.git.remote("upstream", "https://example.org/up").unwrap();
    scratch.git.remote("team/fork", "https://example.org/fork").unwrap();
    let repo = scratch.open();
    for (name, remote, there) in [
        ("team/fork/main", "team/fork", "main"),
        ("team/fork/a/b", "team/fork", "a/b"),
        ("team/other", "origin", "team/other"),
        ("upstream/main", "upstream", "main"),
        ("refs/remotes/upstream/a/b", "upstream", "a/b"),
        ("feature/x", "origin", "feature/x"),
        ("main", "origin", "main"),
        ("refs/heads/topic", "origin", "topic"),
        ("upstream", "origin", "upstream"),
    ] {
        assert_eq!(remote::remote_of(&repo, name), (remote.to_owned(), there.to_owned()), "{name}");
    }
}

#[test]
fn the_public_name_is_that_of_origin() {
    let scratch = Scratch::new();
    assert_eq!(remote::public_name(&scratch.open()), "");
    scratch.git.remote("upstream", "https://example.org/up").unwrap();
    assert_eq!(remote::public_name(&scratch.open()), "");
    scratch.git.remote("origin", "https://me:secret@example.org/some/thing.git").unwrap();
    assert_eq!(remote::public_name(&scratch.open()), "example.org/some/thing");
}

#[test]
fn the_ends_of_history_are_those_that_the_names_lead_to() {
    let scratch = Scratch::new();
    let (one, two) = (scratch.chain(3), scratch.chain(4));
    let alone = scratch.commit("alone", &[]);
    scratch.cut(&[one[1], two[2], alone]);
    let repo = scratch.open();
    let ends = |names: &[&str]| remote::ends_of_history(&repo, names).unwrap();
    let (first, second) = (one[2].to_string(), two[3].to_string());
    assert_eq!(ends(&[&first]), [one[1].to_string()]);
    assert_eq!(ends(&[&second]), [two[2].to_string()]);
    let mut both = [one[1].to_string(), two[2].to_string()];
    both.sort();
    assert_eq!(ends(&[&second, &first]), both);
    assert_eq!(ends(&[&first, &one[1].to_string()]), [one[1].to_string()]);
    assert_eq!(ends(&[]), [""; 0]);
    assert!(remote::ends_of_history(&repo, &["lost"]).is_err());
    std::fs::remove_file(scratch.path().join(".git/shallow")).unwrap();
    let error = remote::ends_of_history(&scratch.open(), &[&first]).unwrap_err();
    assert!(error.to_string().starts_with("could not read `"), "{error}");
}

#[test]
fn a_partial_clone_names_the_remote_that_completes_it() {
    let scratch = Scratch::new();
    assert_eq!(remote::promisor(&scratch.open()), None);
    scratch.set("remote.mirror.promisor", "false");
    assert_eq!(remote::promisor(&scratch.open()), None);
    scratch.set("remote.the.big.one.promisor", "true");
    assert_eq!(remote::promisor(&scratch.open()).as_deref(), Some("the.big.one"));
}

#[test]
fn what_the_clone_holds_is_known_without_a_remote() {
    let scratch = Scratch::new();
    let blob = scratch.git.blob(b"here").unwrap();
    let repo = scratch.open();
    assert!(remote::holds(&repo, &blob.to_string()));
    assert!(!remote::holds(&repo, &"1".repeat(40)));
    assert!(!remote::holds(&repo, "no object"));
}

fn variables(of: &[(&str, &str)]) -> Vec<(OsString, OsString)> {
    of.iter().map(|(name, value)| (name.into(), value.into())).collect()
}

#[test]
fn nobody_is_asked_for_a_password_and_no_variable_leads_to_another_repository() {
    let scratch = Scratch::new();
    let given = variables(&[
        ("PATH", "/bin"),
        ("GIT_DIR", "/elsewhere"),
        ("GIT_INDEX_FILE", "x"),
        ("GIT_TERMINAL_PROMPT", "1"),
        ("LC_ALL", "de_DE"),
    ]);
    let kept = [("PATH", "/bin")];
    let ours = [("GIT_TERMINAL_PROMPT", "0"), ("LC_ALL", "C")];
    let batch = ("GIT_SSH_COMMAND", "ssh -o BatchMode=yes");
    // Somebody's own configuration may choose for all repositories.
    let chosen = git2::Config::open_default().unwrap().get_string("core.sshCommand").is_ok();
    let ssh = if chosen { None } else { Some(batch) };
    let expected: Vec<_> = kept.into_iter().chain(ssh).chain(ours).collect();
    let without_settings = |given: &[(OsString, OsString)]| {
        let mut env = remote::remote_env(&scratch.open(), given);
        env.retain(|(name, _)| !name.to_string_lossy().starts_with("GIT_CONFIG_"));
        env
    };
    assert_eq!(without_settings(&given), variables(&expected));
    // Who chose how to speak ssh knows why.
    for choice in [("GIT_SSH", "plink"), ("GIT_SSH_COMMAND", "ssh -v")] {
        let env = without_settings(&variables(&[choice]));
        assert_eq!(env, variables(&[choice, ours[0], ours[1]]));
    }
    scratch.set("core.sshCommand", "ssh -F mine");
    assert_eq!(without_settings(&[]), variables(&ours));
}

#[test]
fn what_git_would_run_besides_is_turned_off_behind_the_settings_that_are_there() {
    let scratch = Scratch::new();
    let token = ("GIT_CONFIG_KEY_0", "http.extraHeader");
    let given = [("GIT_CONFIG_COUNT", "1"), token, ("GIT_CONFIG_VALUE_0", "x")];
    let env = remote::remote_env(&scratch.open(), &variables(&given));
    let has = |pair: (&str, &str)| env.contains(&variables(&[pair])[0]);
    assert!(has(token) && has(("GIT_CONFIG_VALUE_0", "x")), "{env:?}");
    assert!(has(("GIT_CONFIG_KEY_1", "core.hooksPath")), "{env:?}");
    assert!(has(("GIT_CONFIG_VALUE_1", "/dev/null")), "{env:?}");
    let count = env.iter().filter(|(name, _)| name == "GIT_CONFIG_COUNT").collect::<Vec<_>>();
    let keys = env.iter().filter(|(name, _)| name.to_string_lossy().contains("KEY_")).count();
    assert_eq!(count, [&("GIT_CONFIG_COUNT".into(), keys.to_string().into())]);
}
