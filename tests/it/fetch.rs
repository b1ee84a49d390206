//! `compare --fetch`: what a clone lacks is fetched from its remote, and nothing else.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use crate::support::{Cbdr, Ran, Repo, git, git_command};

/// How many commits `main` has before the branch, and each of them after.
const BEFORE: usize = 60;
const AFTER: usize = 20;

/// A repository with `main` and `feature`; where they part; the merge of both, as
/// `pull`.
fn upstream() -> (Repo, String, String) {
    let repo = Repo::new("steady");
    let commits = |branch: &str, parents: &str, count: usize| -> String {
        let commit = |number: usize| {
            let parents = if number == 0 { parents } else { "" };
            format!(
                "commit refs/heads/{branch}\ncommitter A <a@localhost> 1767225600 +0000\n\
                 data <<.\n{branch} {number}\n.\n{parents}\n"
            )
        };
        (0..count).map(commit).collect()
    };
    let script = [
        commits("main", "from refs/heads/main^0", BEFORE),
        commits("feature", "from refs/heads/main", AFTER),
        commits("main", "", AFTER),
        commits("pull", "from refs/heads/main\nmerge refs/heads/feature", 1),
    ];
    let mut import = git_command(repo.path(), &["fast-import", "--quiet"]);
    let mut import = import.stdin(Stdio::piped()).spawn().unwrap();
    import.stdin.take().unwrap().write_all(script.concat().as_bytes()).unwrap();
    assert!(import.wait().unwrap().success());
    repo.git(&["checkout", "--quiet", "pull"]);
    let fork = repo.git(&["merge-base", "main", "feature"]);
    let tip = repo.git(&["rev-parse", "main"]);
    (repo, fork, tip)
}

/// A clone by address: of a path, git takes the objects as they are.
fn clone(repo: &Repo, name: &str, args: &[&str]) -> PathBuf {
    let url = format!("file://{}", repo.path().display());
    git(&repo.around(), &[&["clone", "--quiet"], args, &[&url, name]].concat());
    repo.around().join(name)
}

/// Compares, without a build and a run: the trees are the same.
fn compare(repo: &Repo, at: &Path, args: &str) -> Cbdr {
    repo.cbdr(&format!("compare --command true --format json {args}")).folder(at)
}

#[track_caller]
fn base_of(ran: Ran) -> String {
    ran.json()["base"]["commit"].as_str().unwrap().to_owned()
}

#[test]
fn a_shallow_clone_is_deepened_until_it_holds_the_merge_base() {
    let (repo, fork, tip) = upstream();
    let at = clone(&repo, "one", &["--depth", "1", "--branch", "feature"]);
    // Of what it lacks, nothing comes unasked.
    compare(&repo, &at, "main").run().code(101).says("error: unknown revision `main`");
    assert_eq!(git(&at, &["rev-list", "--count", "--all"]), "1");
    // Commits that the remote does not have are no obstacle.
    git(&at, &["commit", "--quiet", "--allow-empty", "--message", "local"]);
    let ran = compare(&repo, &at, "main --fetch").run().code(0);
    let ran = ran.says("Fetching main from origin").says("Fetching 32 more commits");
    assert_eq!(base_of(ran), fork);
    assert_eq!(git(&at, &["rev-parse", "origin/main"]), tip);
    let count: usize = git(&at, &["rev-list", "--count", "--all"]).parse().unwrap();
    assert!(count < BEFORE + AFTER, "{count} commits: more than the one step that was needed");
    assert_eq!(git(&at, &["status", "--porcelain"]), "");
    git(&at, &["fsck"]);
}

#[test]
fn an_ancestor_is_fetched_by_deepening_from_where_its_name_starts() {
    let (repo, ..) = upstream();
    let at = clone(&repo, "one", &["--depth", "1", "--branch", "feature"]);
    let ran = compare(&repo, &at, "HEAD~3 --exact-base").run().code(101);
    ran.says("unknown revision `HEAD~3`")
        .says("does not contain that much of the history of `HEAD`");
    let ran = compare(&repo, &at, "HEAD~3 --exact-base --fetch").run().code(0);
    assert_eq!(base_of(ran), repo.git(&["rev-parse", "feature~3"]));
    let ran = compare(&repo, &at, "main~2 --exact-base --fetch").run().code(0);
    assert_eq!(base_of(ran), repo.git(&["rev-parse", "main~2"]));
    let ran = compare(&repo, &at, "HEAD~900 --fetch").run().code(101);
    ran.says("`HEAD` exists, but has no such ancestor");
}

#[test]
fn a_merge_ref_of_depth_1_finds_the_commit_that_it_was_merged_onto() {
    let (repo, _, tip) = upstream();
    let at = clone(&repo, "one", &["--depth", "1", "--branch", "pull"]);
    git(&at, &["checkout", "--quiet", "--detach"]);
    let ran = compare(&repo, &at, "--fetch").env("GITHUB_BASE_REF", "main").run().code(0);
    assert_eq!(base_of(ran), tip);
}

#[test]
fn a_whole_clone_stays_whole_and_a_tag_and_a_commit_will_do() {
    let (repo, fork, _) = upstream();
    repo.git(&["tag", "v1", &fork]);
    let at = clone(&repo, "one", &["--single-branch", "--no-tags", "--branch", "feature"]);
    assert_eq!(base_of(compare(&repo, &at, "main --fetch").run().code(0)), fork);
    assert_eq!(base_of(compare(&repo, &at, "v1 --fetch").run().code(0)), fork);
    let tip = repo.git(&["rev-parse", "pull"]);
    let ran = compare(&repo, &at, &format!("{tip} --exact-base --fetch")).run().code(0);
    assert_eq!(base_of(ran), tip);
    assert_eq!(git(&at, &["rev-parse", "--is-shallow-repository"]), "false");
}

#[test]
fn what_the_remote_does_not_have_is_an_error_of_ours_or_of_git() {
    let (repo, ..) = upstream();
    let at = clone(&repo, "one", &["--depth", "1", "--branch", "feature"]);
    let ran = compare(&repo, &at, "nowhere --fetch").run().code(101);
    ran.says("error: unknown revision `nowhere`");
    let ran = compare(&repo, &at, "--fetch -- -x").env("GITHUB_BASE_REF", "--upload-pack=x");
    ran.run().code(101).says("error: unknown revision `--upload-pack=x`");
    git(&at, &["remote", "set-url", "origin", "/nowhere/at/all"]);
    let ran = compare(&repo, &at, "main --fetch").run().code(101);
    ran.says("error: could not fetch main from `origin`").says("does not appear to be a git");
}

#[test]
fn a_fetch_runs_no_hook_and_asks_no_folder_that_is_called_like_a_remote() {
    let (repo, fork, _) = upstream();
    let at = clone(&repo, "one", &["--depth", "1", "--branch", "feature"]);
    let hook = at.join(".git/hooks/reference-transaction");
    std::fs::create_dir_all(hook.parent().unwrap()).unwrap();
    std::fs::write(&hook, "#!/bin/sh\ntouch ../called\n").unwrap();
    std::fs::set_permissions(&hook, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let call = compare(&repo, &at, "main --fetch");
    // A service passes its token in such settings: they stay.
    let call = call.env("GIT_CONFIG_COUNT", "1").env("GIT_CONFIG_KEY_0", "remote.origin.url");
    let call = call.env("GIT_CONFIG_VALUE_0", format!("file://{}", repo.path().display()));
    assert_eq!(base_of(call.run().code(0)), fork);
    assert!(!repo.around().join("called").exists());
    git(&at, &["update-ref", "refs/x", "HEAD"]);
    assert!(repo.around().join("called").exists(), "the hook is none");

    let at = clone(&repo, "two", &["--depth", "1", "--branch", "feature"]);
    git(&at, &["remote", "remove", "origin"]);
    git(&at, &["clone", "--quiet", "--bare", &format!("{}", repo.path().display()), "origin"]);
    for args in ["main --fetch", "--fetch"] {
        let ran = compare(&repo, &at, args).run().code(101);
        ran.says("error: there is no remote `origin`").says("hint: `git remote -v`");
    }
}

#[test]
fn without_a_name_it_is_the_branch_that_the_remote_calls_its_head() {
    let (repo, fork, _) = upstream();
    repo.git(&["branch", "--move", "main", "development"]);
    repo.git(&["symbolic-ref", "HEAD", "refs/heads/development"]);
    let at = clone(&repo, "one", &["--single-branch", "--branch", "feature"]);
    compare(&repo, &at, "").run().code(101).says("error: no base given, and none of");
    let ran = compare(&repo, &at, "--fetch").run().code(0).says("Fetching development from origin");
    assert_eq!(base_of(ran), fork);
    // One with a detached HEAD has no default branch.
    repo.git(&["checkout", "--quiet", "--detach", "pull"]);
    let at = clone(&repo, "two", &["--single-branch", "--branch", "feature"]);
    compare(&repo, &at, "--fetch").run().code(101).says("error: no base given, and none of");
}
