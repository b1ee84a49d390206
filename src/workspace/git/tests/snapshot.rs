use std::os::unix::fs::{PermissionsExt, symlink};

use super::{Revision, Scratch, identity, names};
use crate::model::side::Side;
use crate::workspace::git::snapshot;
use crate::workspace::git::store::{Checkout, Store};

/// The tree of the working tree as it is.
fn snapshot(scratch: &Scratch) -> String {
    let repo = scratch.open();
    let store = Store::open(&scratch.around().join("store"), &repo.inner).unwrap();
    let tree = snapshot::take(&repo, &store).unwrap();
    assert!(store.repository().find_tree(tree.parse().unwrap()).is_ok());
    tree
}

/// The tree that git itself would commit.
fn committed(scratch: &Scratch) -> String {
    scratch.revision(scratch.commit_all("as it is")).tree
}

fn set_mode(scratch: &Scratch, path: &str, mode: u32) {
    std::fs::set_permissions(scratch.path().join(path), PermissionsExt::from_mode(mode)).unwrap();
}

/// A repository with a file of each kind.
fn scratch() -> Scratch {
    let scratch = Scratch::new();
    for path in ["plain", "tool", "gone", "folder/a", "folder/b"] {
        scratch.write(path, path);
    }
    set_mode(&scratch, "tool", 0o755);
    symlink("plain", scratch.path().join("link")).unwrap();
    scratch.write(".gitignore", "*.tmp\n");
    scratch.commit_all("first");
    scratch
}

#[test]
fn a_clean_tree_is_that_of_head() {
    let scratch = scratch();
    assert_eq!(snapshot(&scratch), scratch.open().at(None).unwrap().tree);
}

#[test]
fn what_git_takes_for_unchanged_is_what_it_is() {
    let expected = |change: &dyn Fn(&Scratch)| {
        let scratch = scratch();
        change(&scratch);
        committed(&scratch)
    };
    let changed = expected(&|scratch| scratch.write("plain", "changed"));
    let before = expected(&|_| {});
    for flag in ["--assume-unchanged", "--skip-worktree"] {
        let scratch = scratch();
        let mut command = std::process::Command::new("git");
        command.args(["update-index", flag, "plain", "folder/a"]).current_dir(scratch.path());
        assert!(command.status().unwrap().success());
        // As a sparse checkout leaves it.
        std::fs::remove_file(scratch.path().join("folder/a")).unwrap();
        assert_eq!(snapshot(&scratch), before);
        scratch.write("plain", "changed");
        assert_eq!(snapshot(&scratch), changed);
    }
}

#[test]
fn a_dirty_tree_is_what_would_be_committed() {
    let scratch = scratch();
    let before = scratch.open().at(None).unwrap().tree;
    scratch.write("plain", "changed");
    scratch.write("new/file", "new");
    scratch.write("new/script", "new");
    set_mode(&scratch, "new/script", 0o755);
    set_mode(&scratch, "tool", 0o644);
    scratch.write("left.tmp", "ignored");
    std::fs::remove_file(scratch.path().join("gone")).unwrap();
    std::fs::remove_file(scratch.path().join("link")).unwrap();
    symlink("nowhere", scratch.path().join("link")).unwrap();
    symlink("folder", scratch.path().join("to folder")).unwrap();
    let found = snapshot(&scratch);
    assert_ne!(found, before);
    assert_eq!(found, committed(&scratch));
}

#[test]
fn a_file_may_take_a_folders_place_and_what_was_added_may_be_gone_again() {
    let scratch = scratch();
    std::fs::remove_dir_all(scratch.path().join("folder")).unwrap();
    scratch.write("folder", "a file now");
    std::fs::remove_file(scratch.path().join("plain")).unwrap();
    scratch.write("plain/file", "a folder now");
    // In the index, but neither in HEAD nor in the working tree.
    scratch.write("short-lived", "");
    let mut index = scratch.git.index().unwrap();
    index.add_path(std::path::Path::new("short-lived")).unwrap();
    index.write().unwrap();
    std::fs::remove_file(scratch.path().join("short-lived")).unwrap();
    let found = snapshot(&scratch);
    assert_eq!(found, committed(&scratch));
}

/// The tree that the installed git would commit, which leaves the index as it is.
fn git_adds(scratch: &Scratch) -> String {
    let index = scratch.around().join("index");
    std::fs::copy(scratch.path().join(".git/index"), &index).unwrap();
    let git = |args: &[&str]| {
        let mut command = std::process::Command::new("git");
        command.args(args).current_dir(scratch.path()).env("GIT_INDEX_FILE", &index);
        let output = command.output().unwrap();
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    };
    git(&["add", "--all"]);
    git(&["write-tree"])
}

#[test]
fn a_link_in_the_place_of_a_folder_or_a_file_is_taken_without_what_is_behind_it() {
    let scratch = scratch();
    scratch.write("deep/er/file", "deep");
    scratch.write("other/a", "behind the link");
    scratch.commit_all("second");
    let outside = scratch.around().join("outside");
    super::write(&outside.join("er/file"), "behind the link, and outside");
    for (folder, to) in [("folder", "other".as_ref()), ("deep", &*outside)] {
        std::fs::remove_dir_all(scratch.path().join(folder)).unwrap();
        symlink(to, scratch.path().join(folder)).unwrap();
    }
    std::fs::remove_file(scratch.path().join("plain")).unwrap();
    symlink("tool", scratch.path().join("plain")).unwrap();
    let expected = git_adds(&scratch);
    assert_eq!(snapshot(&scratch), expected);
    // A folder in the place of a link, too.
    std::fs::remove_file(scratch.path().join("link")).unwrap();
    scratch.write("link/file", "in a folder now");
    let expected = git_adds(&scratch);
    assert_eq!(snapshot(&scratch), expected);
}

#[test]
fn a_repository_inside_is_not_taken() {
    let scratch = scratch();
    let inner = super::init(&scratch.path().join("inner"));
    super::write(&scratch.path().join("inner/file"), "of another");
    drop(inner);
    assert_eq!(snapshot(&scratch), scratch.open().at(None).unwrap().tree);
}

#[test]
fn a_submodule_is_at_the_commit_that_is_checked_out_there() {
    let scratch = scratch();
    scratch.write(".gitmodules", "[submodule \"inner\"]\n\tpath = inner\n\turl = ./inner\n");
    let inner = super::init(&scratch.path().join("inner"));
    let commit = |text: &str| {
        let who = git2::Signature::now("A", "a@localhost").unwrap();
        let tree = inner.find_tree(inner.treebuilder(None).unwrap().write().unwrap()).unwrap();
        let parent = inner.head().ok().map(|head| head.peel_to_commit().unwrap());
        let parents: Vec<_> = parent.iter().collect();
        inner.commit(Some("HEAD"), &who, &who, text, &tree, &parents).unwrap()
    };
    let committed = || {
        let mut index = scratch.git.index().unwrap();
        index.add_path("inner".as_ref()).unwrap();
        index.write().unwrap();
        committed(&scratch)
    };
    commit("one");
    let before = committed();
    assert_eq!(snapshot(&scratch), before);
    commit("two");
    let found = snapshot(&scratch);
    assert_ne!(found, before);
    assert_eq!(found, committed());
}

/// A repository with a submodule `outer` that has one `inner`, each with a `file`.
fn with_submodules() -> Scratch {
    let scratch = Scratch::new();
    // The innermost first, so that the others have its commit.
    let folders = [("outer/inner", None), ("outer", Some("inner")), ("", Some("outer"))];
    for (folder, module) in folders {
        let path = scratch.path().join(folder);
        let git = if folder.is_empty() { None } else { Some(super::init(&path)) };
        let git = git.as_ref().unwrap_or(&scratch.git);
        super::write(&path.join("file"), "committed");
        let mut index = git.index().unwrap();
        if let Some(name) = module {
            let text = format!("[submodule \"{name}\"]\n\tpath = {name}\n\turl = ./{name}\n");
            super::write(&path.join(".gitmodules"), &text);
            index.add_path(".gitmodules".as_ref()).unwrap();
            index.add_path(name.as_ref()).unwrap();
        }
        index.add_path("file".as_ref()).unwrap();
        index.write().unwrap();
        let tree = git.find_tree(index.write_tree().unwrap()).unwrap();
        let who = git2::Signature::now("A", "a@localhost").unwrap();
        git.commit(Some("HEAD"), &who, &who, "first", &tree, &[]).unwrap();
    }
    scratch
}

#[test]
fn edits_in_submodules_count_though_git_is_to_ignore_them() {
    let scratch = with_submodules();
    let before = scratch.open().at(None).unwrap().tree;
    for ignored in ["all", "dirty", "untracked"] {
        for of_diffs in [false, true] {
            let (key, value) = match of_diffs {
                true => ("diff.ignoreSubmodules", ignored),
                false => ("submodule.outer.ignore", ignored),
            };
            scratch.set(key, value);
            scratch.write("outer/file", "committed");
            assert_eq!(scratch.open().dirty_files().unwrap(), 0, "{key}={value}");
            scratch.write("outer/file", "edited");
            assert_eq!(scratch.open().dirty_files().unwrap(), 1, "{key}={value}");
            assert_ne!(snapshot(&scratch), before, "{key}={value}");
            scratch.git.config().unwrap().remove(key).unwrap();
        }
    }
}

#[test]
fn a_submodule_that_was_only_added_to_the_index_is_taken_and_a_removed_one_is_not() {
    let scratch = scratch();
    let inner = super::init(&scratch.path().join("inner"));
    let who = git2::Signature::now("A", "a@localhost").unwrap();
    let tree = inner.find_tree(inner.treebuilder(None).unwrap().write().unwrap()).unwrap();
    inner.commit(Some("HEAD"), &who, &who, "first", &tree, &[]).unwrap();
    scratch.write(".gitmodules", "[submodule \"inner\"]\n\tpath = inner\n\turl = ./inner\n");
    let mut index = scratch.git.index().unwrap();
    index.add_path("inner".as_ref()).unwrap();
    index.write().unwrap();
    let found = snapshot(&scratch);
    let expected = committed(&scratch);
    assert_eq!(found, expected);
    std::fs::remove_dir_all(scratch.path().join("inner")).unwrap();
    assert_ne!(snapshot(&scratch), expected);
    let mut index = scratch.git.index().unwrap();
    index.remove_path("inner".as_ref()).unwrap();
    index.write().unwrap();
    let found = snapshot(&scratch);
    assert_eq!(found, committed(&scratch));
}

#[test]
fn edits_in_a_submodule_and_in_one_inside_it_are_part_of_a_dirty_tree() {
    let scratch = with_submodules();
    assert_eq!(snapshot(&scratch), scratch.open().at(None).unwrap().tree);
    scratch.write("outer/file", "edited");
    scratch.write("outer/inner/new", "new");
    let seen = || {
        ["outer", "outer/inner"].map(|path| names(&scratch.path().join(path).join(".git/objects")))
    };
    let before = seen();
    let repo = scratch.open();
    let store = Store::open(&scratch.around().join("store"), &repo.inner).unwrap();
    let path = scratch.around().join("head/tree");
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    for text in ["new", "newer"] {
        scratch.write("outer/inner/new", text);
        let tree = snapshot::take(&repo, &store).unwrap();
        let revision = Revision { tree, dirty: true, ..repo.at(None).unwrap() };
        let checkout = Checkout::new(Side::Head, &path, &revision);
        let done = store.check_out(&repo.inner, &checkout).unwrap();
        assert!(done.empty.is_empty() && done.pointers.is_empty());
        let read = |name: &str| super::read(&path.join(name));
        assert_eq!((read("file"), read("outer/file")), ("committed".into(), "edited".into()));
        assert_eq!(
            (read("outer/inner/file"), read("outer/inner/new")),
            ("committed".into(), text.into())
        );
    }
    assert_eq!(seen(), before);
}

#[test]
fn index_and_objects_of_the_user_stay_as_they_are() {
    let scratch = scratch();
    scratch.write("plain", "changed");
    let git = scratch.path().join(".git");
    let seen = |folder: &str| names(&git.join(folder));
    let before = (identity(&git.join("index")), seen("objects"), seen(""));
    snapshot(&scratch);
    assert_eq!((identity(&git.join("index")), seen("objects"), seen("")), before);
}
