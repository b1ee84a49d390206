//! Which two commits are compared.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::support::{Cbdr, Ran, Repo, git};

/// Makes a comparison quick: nothing is built, and `true` is run.
const QUICK: &str = "--command true --format json --max-pairs 6 --threshold 900% --warmup 0";

/// The quick comparison, with further arguments.
fn quick(repo: &Repo, args: &str) -> Cbdr {
    repo.cbdr(&format!("compare {args} {QUICK}"))
}

/// Which commits would be compared, with nothing run: their choice takes the same way.
fn chosen(repo: &Repo, args: &str) -> Cbdr {
    repo.cbdr(&format!("compare {args} --command true --format json --dry-run"))
}

/// Adds a file and commits it.
fn add(repo: &Repo, name: &str) -> String {
    repo.write(name, name);
    repo.commit(name)
}

/// Demands which commits were compared.
#[track_caller]
fn assert_sides(object: &Value, (base, commit): (&str, &str), head: (&str, &str)) {
    let side = |side: &Value| (side["rev"].clone(), side["commit"].clone());
    assert_eq!(side(&object["base"]), (json!(base), json!(commit)), "base");
    assert_eq!(side(&object["head"]), (json!(head.0), json!(head.1)), "head");
}

/// A repository on `feature`, whose history is `main`, `second`, `third`,
/// `fourth`, `feature`, a commit of each.
fn chain() -> (Repo, [String; 5]) {
    let repo = Repo::new("steady");
    let mut commits = vec![repo.head()];
    for name in ["second", "third", "fourth", "feature"] {
        repo.branch(name);
        commits.push(add(&repo, name));
    }
    (repo, commits.try_into().unwrap())
}

/// A branch `feature` of two commits beside a `main` that moved on: the
/// merge-base, the tip of main, the tip of the branch.
fn fork() -> (Repo, [String; 3]) {
    let repo = Repo::new("steady");
    let left = repo.head();
    repo.branch("feature");
    add(&repo, "one.txt");
    let head = add(&repo, "two.txt");
    repo.git(&["checkout", "--quiet", "main"]);
    let tip = add(&repo, "three.txt");
    repo.git(&["checkout", "--quiet", "feature"]);
    (repo, [left, tip, head])
}

#[test]
fn both_branches_moved_and_the_base_is_where_they_parted() {
    let (repo, [left, tip, head]) = fork();
    let ran = chosen(&repo, "main").run().code(0).says("feature (");
    let object = ran.says("with its merge-base with main (").json();
    assert_sides(&object, ("main", &left), ("feature", &head));
    assert_eq!(object["merge_base"], true);
    let object =
        chosen(&repo, "main --exact-base").run().code(0).says(") directly with main (").json();
    assert_sides(&object, ("main", &tip), ("feature", &head));
    assert_eq!(object["merge_base"], false);
    let tree = repo.git(&["rev-parse", "main^{tree}"]);
    assert_eq!((&object["base"]["tree"], &object["base"]["dirty"]), (&json!(tree), &json!(false)));
}

#[test]
fn a_folder_a_linked_worktree_and_a_path_of_many_letters_will_do() {
    let repo = Repo::named("steady", "mein Änderungs-répo ✓");
    let left = repo.head();
    let elsewhere = repo.around().join("another tree");
    repo.git(&["worktree", "add", "--quiet", "-b", "feature", elsewhere.to_str().unwrap()]);
    std::fs::write(elsewhere.join("new.txt"), "new").unwrap();
    git(&elsewhere, &["add", "--all"]);
    git(&elsewhere, &["commit", "--quiet", "--message", "new"]);
    let head = git(&elsewhere, &["rev-parse", "HEAD"]);
    for folder in [elsewhere.clone(), elsewhere.join("src"), elsewhere.join("benches")] {
        let object = chosen(&repo, "main").folder(&folder).run().code(0).json();
        assert_sides(&object, ("main", &left), ("feature", &head));
    }
    // The branch of the other tree, seen from this one.
    let object = chosen(&repo, "--head feature").folder(&repo.path().join("src"));
    let object = object.run().code(0).json();
    assert_sides(&object, ("main", &left), ("feature", &head));
    // And all of it once more with builds, in a cache with such a path.
    let cache = repo.around().join("ein Zwischen-spéicher ✓");
    let args = ["compare", "main", "--format", "json"];
    let object = Cbdr::new(&elsewhere, &cache).args(args).run().code(0).json();
    assert_eq!(object["verdict"], "identical");
    let args = args.into_iter().chain([
        "--always-run",
        "--max-pairs",
        "6",
        "--threshold",
        "900%",
        "--layouts",
        "off",
    ]);
    let object = Cbdr::new(&elsewhere, &cache).args(args).run().code(0).json();
    assert_eq!(object["benchmarks"][0]["pairs"], 6);
}

#[test]
fn a_member_of_a_workspace_is_the_package_of_its_folder() {
    let repo = Repo::new("members");
    repo.branch("feature");
    add(&repo, "words.md");
    let args = "compare --dry-run --format json";
    for (folder, bench) in [("one", "work_one"), ("two/src", "work_two")] {
        let ran = repo.cbdr(args).folder(&repo.path().join(folder)).run().code(0);
        let object = ran.json();
        assert_eq!(object["benchmarks"][0]["name"], bench);
        assert_eq!(object["benchmarks"].as_array().unwrap().len(), 1, "{object}");
    }
    let object = repo.cbdr(&format!("{args} -p two")).run().code(0).json();
    assert_eq!(object["benchmarks"][0]["name"], "work_two");
    let object = repo.cbdr(args).run().code(0).json();
    assert_eq!(object["benchmarks"][0]["name"], "work_one");
    assert_eq!(object["benchmarks"][1]["name"], "work_two");
    let ran = repo.cbdr("compare -p thre").run().code(101);
    ran.says("error: the workspace has no package `thre`").says("hint: it has `one`, `two`");
}

#[test]
fn a_package_that_the_base_lacks_is_no_baseline_and_one_not_committed_an_error() {
    let repo = Repo::new("members");
    repo.branch("feature");
    repo.replace("Cargo.toml", "\"two\"", "\"two\", \"new\"");
    repo.write("new/Cargo.toml", "[package]\nname = \"new\"\nedition = \"2021\"\n");
    repo.write("new/src/main.rs", "fn main() {}\n");
    let new = repo.path().join("new");
    repo.git(&["commit", "--quiet", "--allow-empty", "--message", "nothing of it"]);
    let ran = quick(&repo, "main").folder(&new).run().code(101);
    let ran = ran.says("error: `new` is not in the head's commit");
    ran.says("hint: commit it, or compare the working tree as it is: `--dirty`");
    repo.commit("a package");
    let ran = quick(&repo, "main").folder(&new).run().code(0);
    let object = ran.says("no baseline for `true`: `new` is not in the base's commit").json();
    assert_eq!(object["verdict"], "no-baseline");
    // Nobody has set what it runs.
    let bench = "[[bench]]\nname = \"only\"\nharness = false\n";
    repo.replace("new/Cargo.toml", "[package]", &format!("{bench}[package]"));
    repo.write("new/benches/only.rs", "fn main() {}\n");
    repo.commit("its benchmark");
    let ran = repo.cbdr("compare main -p new --dry-run").run().code(0);
    let ran = ran.never_says("differ in what is run");
    assert!(ran.stdout.contains("no: the base's workspace has no package `new`"), "{}", ran.stdout);
}

#[test]
fn a_package_that_was_moved_is_found_by_its_name_from_its_new_folder() {
    let repo = Repo::new("members");
    repo.branch("feature");
    repo.git(&["mv", "one", "first"]);
    repo.replace("Cargo.toml", "\"one\"", "\"first\"");
    repo.commit("another folder");
    let args = "main --always-run";
    let ran = quick(&repo, args).folder(&repo.path().join("first/src")).run().code(0);
    assert_eq!(ran.never_says("no baseline").json()["benchmarks"][0]["pairs"], 6);
}

#[test]
fn a_folder_in_a_package_need_not_be_in_a_commit() {
    let repo = Repo::new("members");
    repo.branch("feature");
    repo.write("one/new/file", "new");
    let new = repo.path().join("one/new");
    repo.git(&["commit", "--quiet", "--allow-empty", "--message", "nothing of it"]);
    let compared = |ran: Ran| {
        let object = ran.code(0).json();
        assert_eq!(object["benchmarks"][0]["pairs"], 6);
    };
    compared(quick(&repo, "main --always-run").folder(&new).run());
    repo.commit("on the head only");
    compared(quick(&repo, "main --always-run").folder(&new).run());
}

#[test]
fn the_base_is_the_argument_else_configured_else_that_of_the_ci() {
    let (repo, [_, second, third, fourth, head]) = chain();
    repo.replace(
        "Cargo.toml",
        "[[bench]]",
        "[package.metadata.cbdr]\nbase = \"second\"\n[[bench]]",
    );
    let ci = |args: &str| {
        let github = chosen(&repo, args).env("GITHUB_BASE_REF", "third");
        github.env("CI_MERGE_REQUEST_TARGET_BRANCH_NAME", "second").run().code(0)
    };
    let head = ("feature", head.as_str());
    assert_sides(&ci("fourth").json(), ("fourth", &fourth), head);
    let ran = ci("").says("; second is the configured base");
    assert_sides(&ran.json(), ("second", &second), head);
    repo.git(&["checkout", "--quiet", "Cargo.toml"]);
    let ran = ci("").says("; third comes from GITHUB_BASE_REF");
    assert_sides(&ran.json(), ("third", &third), head);
    let ran = chosen(&repo, "").env("GITHUB_BASE_REF", "");
    let ran = ran.env("CI_MERGE_REQUEST_TARGET_BRANCH_NAME", "second").run().code(0);
    let ran = ran.says("; second comes from CI_MERGE_REQUEST_TARGET_BRANCH_NAME");
    assert_sides(&ran.json(), ("second", &second), head);
}

#[test]
fn the_usual_bases_are_tried_in_their_order() {
    let (repo, [first, second, third, fourth, head]) = chain();
    let head = ("feature", head.as_str());
    repo.git(&["branch", "--quiet", "master", "second"]);
    repo.git(&["update-ref", "refs/remotes/origin/trunk", "third"]);
    let (from, to) = ("refs/remotes/origin/HEAD", "refs/remotes/origin/trunk");
    repo.git(&["symbolic-ref", from, to]);
    let ran = chosen(&repo, "").run().code(0);
    let ran = ran.says("; origin/HEAD is the default");
    // HEAD itself is not mistaken for it.
    assert_sides(&ran.json(), ("origin/HEAD", &third), head);
    assert_sides(
        &chosen(&repo, "HEAD~1 --head HEAD").run().code(0).json(),
        ("HEAD~1", &fourth),
        ("HEAD", head.1),
    );
    chosen(&repo, "HEAD").run().code(0).says("nothing to compare");
    repo.git(&["symbolic-ref", "--delete", from]);
    assert_sides(&chosen(&repo, "").run().code(0).json(), ("main", &first), head);
    repo.git(&["branch", "--quiet", "-D", "main"]);
    assert_sides(&chosen(&repo, "").run().code(0).json(), ("master", &second), head);
    // A branch of the remote will do.
    repo.git(&["update-ref", "refs/remotes/origin/main", "third"]);
    assert_sides(&chosen(&repo, "").run().code(0).json(), ("main", &third), head);
    repo.git(&["update-ref", "-d", "refs/remotes/origin/main"]);
    repo.git(&["branch", "--quiet", "-D", "master"]);
    let ran = chosen(&repo, "").run().code(101);
    let ran =
        ran.says("error: no base given, and none of `origin/HEAD`, `main`, `master` exists\n");
    ran.says("hint: choose one: `cargo cbdr compare BASE`");
}

#[test]
fn a_name_is_a_local_branch_then_one_of_origin_then_anything_that_git_knows() {
    let (repo, [first, second, third, fourth, head]) = chain();
    let head = ("feature", head.as_str());
    repo.git(&["branch", "--quiet", "dev", "second"]);
    repo.git(&["update-ref", "refs/remotes/origin/dev", "third"]);
    repo.git(&["tag", "dev", "fourth"]);
    let base = |rev: &str, commit: &str| {
        let object = chosen(&repo, rev).run().code(0).json();
        assert_sides(&object, (rev, commit), head);
    };
    base("dev", &second);
    repo.git(&["branch", "--quiet", "-D", "dev"]);
    base("dev", &third);
    repo.git(&["update-ref", "-d", "refs/remotes/origin/dev"]);
    base("dev", &fourth);
    repo.git(&["tag", "--annotate", "--message", "words", "v1", "second"]);
    for rev in ["v1", "tags/v1", &second, &second[..9], "feature~3", "HEAD~3", "refs/heads/second"]
    {
        base(rev, &second);
    }
    base("main", &first);
}

#[test]
fn head_is_this_clones_and_not_the_remotes() {
    let repo = Repo::new("steady");
    let clone = repo.around().join("clone");
    git(&repo.around(), &["clone", "--quiet", "repo", "clone"]);
    git(&clone, &["checkout", "--quiet", "-b", "feature"]);
    git(&clone, &["commit", "--quiet", "--allow-empty", "--message", "mine"]);
    let object = Cbdr::new(&clone, &repo.cache())
        .args(["compare", "main", "--format", "json"])
        .run()
        .code(0)
        .json();
    assert_eq!(object["head"]["commit"], git(&clone, &["rev-parse", "HEAD"]));
    assert_eq!(object["verdict"], "identical");
}

#[test]
fn the_head_can_be_another_revision() {
    let (repo, [first, second, third, ..]) = chain();
    // The files of the working tree have no part in it.
    repo.write("words.md", "dirty");
    let ran = chosen(&repo, "main --head third").run().code(0).never_says("warning: 1 file");
    assert_sides(&ran.json(), ("main", &first), ("third", &third));
    let object = chosen(&repo, "main --head second --exact-base").run().code(0).json();
    assert_sides(&object, ("main", &first), ("second", &second));
    let ran = chosen(&repo, "main --head nowhere").run().code(101);
    ran.says("error: unknown revision `nowhere`\n").says("hint: `git branch --all` lists");
    let ran = chosen(&repo, "main..feature").run().code(101);
    ran.says("hint: name the two one by one: `cargo cbdr compare BASE --head REV`");
}

#[test]
fn a_head_that_lies_on_the_base_leaves_nothing_to_compare() {
    let ran = Repo::new("steady").cbdr("compare main").run().code(0);
    ran.says("that `main` lacks; `--dirty` measures").never_says("HEAD~1");
    let (repo, [first, second, ..]) = chain();
    for (args, base, head) in [
        ("compare feature --format json", "feature", repo.head()),
        ("compare HEAD --format json", "HEAD", repo.head()),
        ("compare feature --head main --format json", "feature", first.clone()),
        ("compare second --exact-base --head second --format json", "second", second),
    ] {
        let advice = if args.contains("--head") { "an earlier base" } else { "compare HEAD~1`" };
        let ran = repo.cbdr(args).run().code(0).says("note: nothing to compare: ").says(advice);
        let object = ran.never_says("Building").json();
        assert_eq!(object["verdict"], "identical");
        assert_eq!(object["stopped_by"], "identical");
        assert_eq!(
            (&object["base"]["rev"], &object["head"]["commit"]),
            (&json!(base), &json!(head))
        );
        assert!(object["notices"][0].as_str().unwrap().starts_with("nothing to compare"));
    }
    repo.write("words.md", "dirty");
    let ran = repo.cbdr("compare feature").run().code(101);
    let ran =
        ran.says("error: HEAD is the merge-base with `feature`, and 1 file changed in the working");
    ran.says("hint: commit the changes, or compare the working tree as it is: `--dirty`");
    // The content of the working tree does not matter to another head.
    repo.cbdr("compare feature --head main").run().code(0);
    let object = quick(&repo, "feature --dirty").run().code(0).json();
    assert_eq!((&object["head"]["dirty"], &object["base"]["dirty"]), (&json!(true), &json!(false)));
    assert_eq!(object["base"]["commit"], object["head"]["commit"]);
    assert_ne!(object["base"]["tree"], object["head"]["tree"]);
}

#[test]
fn a_dirty_tree_is_a_warning_and_is_not_measured() {
    let (repo, [first, .., head]) = chain();
    repo.write("second", "changed");
    repo.write("folder/new", "new");
    std::fs::remove_file(repo.path().join("third")).unwrap();
    let ran = chosen(&repo, "main").run().code(0);
    let ran = ran.says(
        "warning: the changes of 3 files in the working tree are not measured (`compare --dirty`",
    );
    let object = ran.json();
    assert_sides(&object, ("main", &first), ("feature", &head));
    assert_eq!(object["head"]["tree"], json!(repo.git(&["rev-parse", "HEAD^{tree}"])));
    assert_eq!(object["head"]["dirty"], false);
}

/// Copies the worktree of each side that `cp` is run in to a folder of the
/// side's name.
const COPY: &str = "sh -c 'cp -a . \"$COPIES/$(basename \"$(dirname \"$PWD\")\")\"'";

/// Compares by copying; the folder of each side's files.
#[track_caller]
fn copies(repo: &Repo, args: &str) -> (Ran, PathBuf, PathBuf) {
    let copies = tempfile::tempdir_in(repo.around()).unwrap().keep();
    let command = repo.cbdr(&format!(
        "compare {args} --max-pairs 6 --threshold 900% --layouts off --warmup 0 --format json"
    ));
    let ran = command.args(["--command", COPY]).env("COPIES", &copies).run().code(0);
    let side = |name| copies.join(name);
    (ran, side("base"), side("head"))
}

/// The files under a folder with kind, executable bit and content, but for
/// git's own.
fn listing(folder: &Path) -> Vec<String> {
    use std::os::unix::fs::PermissionsExt;
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(at) = folders.pop() {
        for entry in std::fs::read_dir(&at).unwrap() {
            let entry = entry.unwrap();
            let path = entry.path();
            let name = path.strip_prefix(folder).unwrap().display().to_string();
            let metadata = path.symlink_metadata().unwrap();
            if entry.file_name() == ".git" {
                continue;
            } else if metadata.is_dir() {
                folders.push(path);
            } else if metadata.is_symlink() {
                found.push(format!("{name} -> {}", std::fs::read_link(path).unwrap().display()));
            } else {
                let can_run = metadata.permissions().mode() & 0o100 != 0;
                found.push(format!("{name} {can_run} {:?}", std::fs::read(&path).unwrap()));
            }
        }
    }
    found.sort();
    found
}

#[test]
fn the_working_tree_is_measured_as_it_is_and_left_as_it_is() {
    use std::os::unix::fs::{PermissionsExt, symlink};
    let repo = Repo::new("steady");
    let executable = |name: &str, mode| {
        let permissions = std::fs::Permissions::from_mode(mode);
        std::fs::set_permissions(repo.path().join(name), permissions).unwrap();
    };
    let remove = |name: &str| std::fs::remove_file(repo.path().join(name)).unwrap();
    repo.write(".gitignore", "/target\n*.tmp\n");
    let names = ["stays", "changes", "goes", "runs", "no_longer", "a_link", "link", "folder/file"];
    for name in names {
        repo.write(name, name);
    }
    repo.write("file", "this becomes a folder");
    executable("no_longer", 0o755);
    repo.commit("many files");
    let before = listing(repo.path());
    // Something in the stash.
    repo.write("stays", "stashed");
    repo.git(&["stash", "--quiet"]);
    // And every kind of change, some of them in the index, some only there.
    repo.write("changes", "changed");
    remove("goes");
    executable("runs", 0o755);
    executable("no_longer", 0o644);
    remove("a_link");
    symlink("stays", repo.path().join("a_link")).unwrap();
    std::fs::remove_dir_all(repo.path().join("folder")).unwrap();
    repo.write("folder", "this was a folder");
    remove("file");
    repo.write("file/inside", "this was a file");
    repo.write("new/deep", "new");
    repo.write("staged", "in the index");
    repo.write("withdrawn", "in the index only");
    repo.git(&["add", "staged", "withdrawn"]);
    repo.write("staged", "and then changed");
    remove("withdrawn");
    let measured = listing(repo.path());
    // None of these belongs to it.
    repo.write("ignored.tmp", "x");
    repo.write("target/debug/x", "x");
    let state = || {
        let git = |args: &[&str]| repo.git(args);
        let index = std::fs::read(repo.path().join(".git/index")).unwrap();
        let status = git(&["--no-optional-locks", "status", "--porcelain", "--ignored"]);
        let refs =
            git(&["for-each-ref"]) + &git(&["stash", "list"]) + &git(&["symbolic-ref", "HEAD"]);
        let objects = listing(&repo.path().join(".git/objects")).len();
        (index, status, refs, objects, listing(repo.path()))
    };
    let found = state();
    let (ran, base, head) = copies(&repo, "HEAD --dirty");
    assert_eq!(listing(&head), measured);
    assert_eq!(listing(&base), before);
    assert_eq!(state(), found);
    let object = ran.says(" itself").says(") plus the changes of the working tree with ").json();
    assert_eq!(object["head"]["commit"], json!(repo.head()));
    assert_eq!(object["head"]["dirty"], true);
    // Without a change there is nothing to measure.
    repo.git(&["stash", "push", "--quiet", "--include-untracked"]);
    let object = quick(&repo, "HEAD --dirty").run().code(0).json();
    assert_eq!(object["verdict"], "identical");
    assert_eq!(object["head"]["tree"], json!(repo.git(&["rev-parse", "HEAD^{tree}"])));
}

#[test]
fn both_worktrees_hold_their_commit_file_for_file_whatever_was_there_before() {
    use std::os::unix::fs::{PermissionsExt, symlink};
    let repo = Repo::new("steady");
    repo.write("kept", "kept");
    repo.write("gone/file", "x");
    repo.write("runs", "x");
    let first = repo.commit("first files");
    let before = listing(repo.path());
    repo.branch("feature");
    std::fs::remove_dir_all(repo.path().join("gone")).unwrap();
    repo.write("gone", "a file now");
    let permissions = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(repo.path().join("runs"), permissions).unwrap();
    symlink("nowhere", repo.path().join("dangling")).unwrap();
    repo.commit("others");
    let after = listing(repo.path());
    let (_, base, head) = copies(&repo, "main");
    assert_eq!((listing(&base), listing(&head)), (before.clone(), after.clone()));
    // The sides change places, and a benchmark left its marks in the trees.
    let dirt = "sh -c 'echo x > new; echo longer > kept; rm -r gone; mkdir -p src/a'";
    let args = format!("compare {QUICK}").replace("--command true ", "");
    repo.cbdr(&args).args(["--command", dirt]).run().code(0);
    let (_, base, head) = copies(&repo, &format!("feature --exact-base --head {first}"));
    assert_eq!((listing(&base), listing(&head)), (after, before));
}

#[test]
fn a_ci_merge_ref_is_compared_with_what_it_was_merged_onto() {
    let (repo, [_, tip, _]) = fork();
    // The branch holds a later commit of main than the merge ref was made on,
    // so that the merge-base is another one.
    repo.git(&["checkout", "--quiet", "main"]);
    let later = add(&repo, "later.txt");
    repo.git(&["checkout", "--quiet", "feature"]);
    repo.git(&["merge", "--quiet", "--no-ff", "--no-edit", "main"]);
    // A merge of main into the branch is no merge ref.
    let object = chosen(&repo, "main").run().code(0).says("its merge-base with main").json();
    assert_sides(&object, ("main", &later), ("feature", &repo.head()));
    repo.git(&["checkout", "--quiet", "--detach", &tip]);
    repo.git(&["merge", "--quiet", "--no-ff", "--no-edit", "feature"]);
    let ran = chosen(&repo, "main").run().code(0);
    let ran = ran.says("the commit of main that it was merged onto");
    let object = ran.never_says("not in this clone").json();
    assert_sides(&object, ("main", &tip), ("HEAD", &repo.head()));
    assert_eq!(object["merge_base"], true);
}

/// A clone by URL, so that `--depth` counts.
#[track_caller]
fn clone(repo: &Repo, name: &str, args: &[&str]) -> PathBuf {
    let url = format!("file://{}", repo.path().display());
    let all = [&["clone", "--quiet"], args, &[&url, name]].concat();
    git(&repo.around(), &all);
    repo.around().join(name)
}

#[test]
fn a_clone_of_depth_2_is_enough_for_a_ci_merge_ref() {
    let (repo, [_, tip, head]) = fork();
    repo.git(&["checkout", "--quiet", "-b", "pull", "main"]);
    repo.git(&["merge", "--quiet", "--no-ff", "--no-edit", "feature"]);
    let merge = repo.head();
    let at = clone(&repo, "two", &["--depth", "2", "--branch", "pull"]);
    git(&at, &["checkout", "--quiet", "--detach"]);
    assert_eq!(git(&at, &["branch", "--all", "--list", "*main"]), "");
    let ran = quick(&repo, "").folder(&at).env("GITHUB_BASE_REF", "main").run().code(0);
    let ran = ran.says("warning: `main` is not in this clone; the head is a merge commit, so its");
    let object = ran.says("; main comes from GITHUB_BASE_REF").json();
    assert_sides(&object, ("main", &tip), ("HEAD", &merge));
    assert_eq!(object["benchmarks"][0]["pairs"], 6);
    // GitHub says when it has made the merge itself.
    let ran = quick(&repo, "").folder(&at).env("GITHUB_BASE_REF", "main").env("GITHUB_SHA", &merge);
    ran.env("GITHUB_REF", "refs/pull/7/merge").run().code(0).never_says("in this clone");
    // A depth of 1 does not contain it, and the error states that.
    let at = clone(&repo, "one", &["--depth", "1", "--branch", "pull"]);
    let ran = quick(&repo, "").folder(&at).env("GITHUB_BASE_REF", "main").run().code(101);
    let ran = ran.says("error: unknown revision `main` (from GITHUB_BASE_REF)\n");
    ran.says("`git fetch --unshallow origin +refs/heads/main:refs/remotes/origin/main`");
    // Nor is any merge commit a merge ref when BASE is named otherwise.
    let at = clone(&repo, "three", &["--depth", "2", "--branch", "pull"]);
    quick(&repo, "main").folder(&at).run().code(101).says("error: unknown revision `main`\n");
    assert_ne!(head, merge);
}

#[test]
fn a_shallow_clone_without_the_merge_base_says_how_to_get_it() {
    let (repo, [.., head]) = fork();
    let at = clone(&repo, "shallow", &["--depth", "1", "--no-single-branch"]);
    assert_eq!(git(&at, &["rev-parse", "HEAD"]), head);
    let ran = chosen(&repo, "main").folder(&at).run().code(101);
    let ran = ran.says(
        "error: this shallow clone does not contain the merge-base of `main` and \
            `feature`\n",
    );
    ran.says("hint: `--fetch` fetches as much history as is needed, `git fetch --unshallow");
    // The base itself is there.
    chosen(&repo, "main --exact-base").folder(&at).run().code(0);
}

#[test]
fn names_that_lead_nowhere_are_errors() {
    let (repo, _) = fork();
    let ran = chosen(&repo, "mian").run().code(101);
    let ran = ran.says("error: unknown revision `mian`\n");
    ran.says("hint: did you mean `main`?");
    git(repo.path(), &["remote", "add", "origin", "/nowhere"]);
    chosen(&repo, "mian").run().code(101).says(
        "hint: did you mean `main`? Or run `git fetch origin mian` (or `compare --fetch`) if the \
         remote has it",
    );
    let ran = chosen(&repo, "").env("GITHUB_BASE_REF", "gone").run().code(101);
    ran.says("error: unknown revision `gone` (from GITHUB_BASE_REF)\n");
    repo.replace("Cargo.toml", "[[bench]]", "[package.metadata.cbdr]\nbase = \"lost\"\n[[bench]]");
    let ran = chosen(&repo, "").run().code(101);
    ran.says("error: unknown revision `lost` (from the configuration)\n");
    repo.git(&["checkout", "--quiet", "Cargo.toml"]);
    let ran = chosen(&repo, "HEAD~9").run().code(101).says("error: unknown revision `HEAD~9`\n");
    ran.says("hint: `HEAD` exists, but has no such ancestor");
}

#[test]
fn histories_without_a_common_commit_are_an_error() {
    let repo = Repo::new("steady");
    repo.git(&["checkout", "--quiet", "--orphan", "other"]);
    add(&repo, "other.txt");
    let ran = chosen(&repo, "main").run().code(101);
    let ran = ran.says("error: `main` and `other` have no common ancestor\n");
    ran.says("hint: `--exact-base` compares with the base itself, not with the merge-base");
    chosen(&repo, "main --exact-base").run().code(0);
}

#[test]
fn without_a_commit_or_a_repository_there_is_an_error() {
    let repo = Repo::new("steady");
    let folder = repo.around().join("plain");
    std::fs::create_dir(&folder).unwrap();
    for file in ["Cargo.toml", "src", "benches"] {
        std::fs::rename(repo.path().join(file), folder.join(file)).unwrap();
    }
    let ran = chosen(&repo, "main").folder(&folder).run().code(101);
    let place = folder.display();
    let ran = ran.says(&format!("error: `{place}` is not inside a git repository\n"));
    ran.says("hint: change to a clone of the project");
    git(&folder, &["init", "--quiet", "--initial-branch=main"]);
    let ran = chosen(&repo, "main").folder(&folder).run().code(101);
    ran.says("error: HEAD has no commits yet\n").says("hint: commit something first");
    git(&repo.around(), &["clone", "--quiet", "--bare", "repo", "bare"]);
    let ran = chosen(&repo, "main").folder(&repo.around().join("bare")).run().code(101);
    ran.says("is bare\n").says("hint: run it in a worktree");
}

#[test]
fn what_libgit2_cannot_read_is_named() {
    let repo = Repo::new("steady");
    for (option, what) in [
        ("--object-format=sha256", "SHA-256 object names"),
        ("--ref-format=reftable", "the reftable format"),
    ] {
        let folder = repo.around().join(option);
        std::fs::create_dir(&folder).unwrap();
        git(&folder, &["init", "--quiet", option]);
        let ran = chosen(&repo, "main").folder(&folder).run().code(101);
        let ran = ran.says(&format!("uses {what}, which libgit2 cannot read\n"));
        ran.says("hint: clone it with the default formats");
    }
}

#[test]
fn an_object_that_is_not_there_is_an_error_in_libgit2s_words_said_once() {
    let repo = Repo::new("steady");
    repo.branch("feature");
    add(&repo, "lost.txt");
    let blob = repo.git(&["rev-parse", "HEAD:lost.txt"]);
    let (folder, file) = blob.split_at(2);
    std::fs::remove_file(repo.path().join(".git/objects").join(folder).join(file)).unwrap();
    let ran = quick(&repo, "main").run().code(101);
    let ran =
        ran.says("error: could not check out `feature`").says("Caused by:\n  object not found");
    ran.never_says("class=");
}

#[test]
fn a_command_line_that_cannot_be_understood_ends_with_2() {
    let repo = Repo::new("steady");
    let usage = |args: &str| repo.cbdr(&format!("compare {args}")).run().code(2);
    usage("--threshold abc").says("invalid threshold `abc`");
    usage("--threshold=-1%").says("invalid threshold `-1%`: it must be 0% or more");
    usage("--threshold wall_time=x").says("invalid threshold `x`");
    usage("--confidence 101%").says("invalid confidence `101%`");
    usage("--time-limit soon").says("invalid time-limit `soon`");
    usage("--max-pairs 0").says("max-pairs");
    let ran = usage("--max-pairs 5").never_says("Building");
    ran.says("error: invalid max-pairs `5`: no verdict is possible with fewer than 6 pairs").says(
        "hint: raise `max-pairs` to at least 6, or use `--time-limit` or `cargo cbdr sample`",
    );
    usage("--max-pairs 6 --confidence 99.9%").says("with fewer than 12 pairs");
    usage("--max-pairs many").says("--max-pairs");
    usage("--estimator means").says("estimator");
    usage("--no-such-flag").says("--no-such-flag");
    usage("--treshold 2%").says("--threshold");
    usage("--bench a --bin b").says("--bench").says("--bin");
    usage("--command a --example b").says("--command");
    usage("--head x --dirty").says("--dirty");
    usage("--aa main").says("--aa");
    usage("--seed 9007199254740992").says("--seed");
    usage("main other").says("other");
    usage("--format yaml").says("yaml");
    repo.cbdr("").run().code(2);
    repo.cbdr("compere").run().code(2);
    // Asking for help is no mistake.
    assert!(repo.cbdr("compare --help").run().code(0).stdout.contains("--exact-base"));
    assert!(repo.cbdr("cbdr compare --help").run().code(0).stdout.contains("--exact-base"));
}

#[test]
fn fewer_pairs_or_layouts_than_any_verdict_needs_are_an_error_except_where_they_are_added_up() {
    let repo = Repo::new("steady");
    repo.branch("feature");
    add(&repo, "words.md");
    let call = |args: &str| repo.cbdr(&format!("compare main --command true {args}"));
    let says = "invalid max-pairs `5`: no verdict is possible with fewer than 6 pairs";
    call("--max-pairs 5").run().code(2).says(says).never_says("in the configuration");
    call("--max-pairs 5 --estimator median").run().code(2).says(says);
    let ran = call("--layouts 5").run().code(2).says("hint: raise `layouts` to at least 6");
    ran.says("invalid layouts `5`: no verdict is possible with fewer than 6 layouts");
    // Those of the shards are added up, and sizes need none.
    call("--max-pairs 1 --shard 1/2 --samples 1.csv").run().code(0);
    let sizes = "compare main --max-pairs 1 --metric executable_bytes --always-run";
    repo.cbdr(sizes).run().code(0);
    // More benchmarks need more pairs, which is known later.
    repo.write(
        "Cargo.toml",
        &format!(
            "{}\n[package.metadata.cbdr]\nmax-pairs = 5\n",
            std::fs::read_to_string(repo.path().join("Cargo.toml")).unwrap()
        ),
    );
    repo.commit("few pairs");
    let ran = call("").run().code(101).says(&format!("{says} (in the configuration of the head)"));
    ran.says("hint: raise `max-pairs` to at least 6").never_says("Building");
    let many = "--max-pairs 6 --warmup 0 --threshold 900% --metric wall_time,cpu_time";
    call(many).run().code(0).says("`--max-pairs` allows no verdict: at least 8 pairs are needed");
}
