use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::PathBuf;

use super::{Revision, Scratch, identity, names};
use crate::model::side::Side;
use crate::workspace::git::snapshot;
use crate::workspace::git::worktree::{Checkout, Store};

/// The tree of the working tree as it is.
fn snapshot(scratch: &Scratch) -> String {
    let repo = scratch.open();
    let store = Store::open(&scratch.around().join("store"), &repo).unwrap();
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

#[test]
fn edits_in_a_submodule_and_in_one_inside_it_are_part_of_a_dirty_tree() {
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
    assert_eq!(snapshot(&scratch), scratch.open().at(None).unwrap().tree);
    scratch.write("outer/file", "edited");
    scratch.write("outer/inner/new", "new");
    let seen = || {
        ["outer", "outer/inner"].map(|path| names(&scratch.path().join(path).join(".git/objects")))
    };
    let before = seen();
    let repo = scratch.open();
    let store = Store::open(&scratch.around().join("store"), &repo).unwrap();
    let path = scratch.around().join("head/tree");
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    for text in ["new", "newer"] {
        scratch.write("outer/inner/new", text);
        let tree = snapshot::take(&repo, &store).unwrap();
        let revision = Revision { tree, dirty: true, ..repo.at(None).unwrap() };
        let checkout = Checkout { side: Side::Head, path: &path, revision: &revision };
        assert_eq!(store.check_out(&repo, &checkout).unwrap().concat(), [""; 0].map(PathBuf::from));
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
