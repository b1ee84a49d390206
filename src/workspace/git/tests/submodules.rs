use std::path::PathBuf;

use git2::{Oid, Repository};

use super::{Scratch, identity, names, read};
use crate::model::side::Side;
use crate::workspace::git::Error;
use crate::workspace::git::store::{Checkout, Store};

/// Commits one file `file` in another repository.
fn commit_in(other: &Repository, text: &str, links: &[(&str, Oid)]) -> Oid {
    let who = git2::Signature::now("A", "a@localhost").unwrap();
    let blob = other.blob(text.as_bytes()).unwrap();
    let mut builder = other.treebuilder(None).unwrap();
    builder.insert("file", blob, 0o100_644).unwrap();
    for (name, commit) in links {
        builder.insert(name, *commit, 0o160_000).unwrap();
    }
    let tree = other.find_tree(builder.write().unwrap()).unwrap();
    other.commit(None, &who, &who, text, &tree, &[]).unwrap()
}

/// A commit of the outer repository with submodules at these paths of one or two parts, and with
/// this `.gitmodules`.
fn commit_with(scratch: &Scratch, links: &[(&str, Oid)], modules: &str) -> Oid {
    let mut root = scratch.git.treebuilder(None).unwrap();
    let blob = scratch.git.blob(modules.as_bytes()).unwrap();
    root.insert(".gitmodules", blob, 0o100_644).unwrap();
    for (path, commit) in links {
        match path.split_once('/') {
            Some((folder, name)) => {
                let mut builder = scratch.git.treebuilder(None).unwrap();
                builder.insert(name, *commit, 0o160_000).unwrap();
                root.insert(folder, builder.write().unwrap(), 0o040_000).unwrap();
            }
            None => root.insert(path, *commit, 0o160_000).map(drop).unwrap(),
        }
    }
    scratch.commit_tree("with submodules", &[], root.write().unwrap())
}

fn tree(scratch: &Scratch) -> PathBuf {
    scratch.around().join("base/tree")
}

/// The submodules that stay empty, and pointers in others.
fn check_out(scratch: &Scratch, commit: Oid) -> Result<Vec<PathBuf>, Error> {
    std::fs::create_dir_all(tree(scratch).parent().unwrap()).unwrap();
    let repo = scratch.open();
    let store = Store::open(&scratch.around().join("store"), &repo.inner).unwrap();
    let (path, revision) = (&*tree(scratch), &scratch.revision(commit));
    store
        .check_out(&repo.inner, &Checkout::new(Side::Base, path, revision))
        .map(|done| [done.empty, done.pointers].concat())
}

#[test]
fn a_submodule_is_filled_from_the_working_tree_and_written_only_when_it_changes() {
    let scratch = Scratch::new();
    let inner = super::init(&scratch.path().join("deps/lib"));
    let one = commit_in(&inner, "one", &[]);
    let two = commit_in(&inner, "two", &[]);
    let first = commit_with(&scratch, &[("deps/lib", one)], "");
    check_out(&scratch, first).unwrap();
    let file = tree(&scratch).join("deps/lib/file");
    assert_eq!(read(&file), "one");
    assert_eq!(names(file.parent().unwrap()), [".git", "file"]);
    let before = identity(&file);
    check_out(&scratch, first).unwrap();
    assert_eq!(identity(&file), before);
    let second = commit_with(&scratch, &[("deps/lib", two)], "");
    let modules = tree(&scratch).join(".gitmodules");
    let modified = || modules.metadata().unwrap().modified().unwrap();
    let before = modified();
    check_out(&scratch, second).unwrap();
    assert_eq!(read(&file), "two");
    // Cargo sees that something changed by the files around it.
    assert!(modified() > before);
    // Who takes the folder away gets it back.
    std::fs::remove_dir_all(file.parent().unwrap()).unwrap();
    check_out(&scratch, second).unwrap();
    assert_eq!(read(&file), "two");
    assert!(!scratch.path().join("deps/lib/file").exists(), "the user's was written");
    // Or puts a link there.
    std::fs::remove_dir_all(file.parent().unwrap()).unwrap();
    std::os::unix::fs::symlink(scratch.path(), file.parent().unwrap()).unwrap();
    check_out(&scratch, second).unwrap();
    assert_eq!(names(file.parent().unwrap()), [".git", "file"]);
    // Without it in the commit it goes.
    let third = commit_with(&scratch, &[], "");
    check_out(&scratch, third).unwrap();
    assert_eq!(names(&tree(&scratch)), [".git", ".gitmodules"]);
}

#[test]
fn large_files_in_a_submodule_are_those_of_the_clone() {
    let scratch = Scratch::new();
    let inner = super::init(&scratch.path().join("lib"));
    let (sha256, text) = (crate::exec::system::digest(b"large"), "large");
    let pointer =
        format!("version https://git-lfs.github.com/spec/v1\noid sha256:{sha256}\nsize 5\n");
    let commit = commit_with(&scratch, &[("lib", commit_in(&inner, &pointer, &[]))], "");
    super::write(&inner.path().join("info/attributes"), "file filter=lfs\n");
    let file = tree(&scratch).join("lib/file");
    for _ in 0..2 {
        assert_eq!(check_out(&scratch, commit).unwrap(), [PathBuf::from("lib/file")]);
        assert_eq!(read(&file), pointer);
    }
    let folder = format!("lfs/objects/{}/{}", &sha256[..2], &sha256[2..4]);
    super::write(&inner.path().join(folder).join(&sha256), text);
    for _ in 0..2 {
        assert_eq!(check_out(&scratch, commit).unwrap(), [""; 0].map(PathBuf::from));
        assert_eq!(read(&file), text);
    }
}

#[test]
fn a_submodule_is_written_again_with_other_line_endings() {
    let scratch = Scratch::new();
    let inner = super::init(&scratch.path().join("lib"));
    let commit = commit_with(&scratch, &[("lib", commit_in(&inner, "one\n", &[]))], "");
    for (value, text) in [("false", "one\n"), ("true", "one\r\n"), ("false", "one\n")] {
        inner.config().unwrap().set_str("core.autocrlf", value).unwrap();
        check_out(&scratch, commit).unwrap();
        assert_eq!(read(&tree(&scratch).join("lib/file")), text);
    }
}

#[test]
fn a_submodule_is_what_its_commit_holds_whatever_was_done_to_it() {
    let scratch = Scratch::new();
    let inner = super::init(&scratch.path().join("lib"));
    let commit = commit_with(&scratch, &[("lib", commit_in(&inner, "one", &[]))], "");
    assert_eq!(check_out(&scratch, commit).unwrap(), [""; 0].map(PathBuf::from));
    let lib = tree(&scratch).join("lib");
    let file = lib.join("file");
    // Touched, it is the same and is not written again.
    let inode = identity(&file).0;
    let later = std::time::SystemTime::now() + std::time::Duration::from_secs(9);
    crate::exec::system::set_modified(&file, later).unwrap();
    for _ in 0..2 {
        check_out(&scratch, commit).unwrap();
        assert_eq!(identity(&file).0, inode);
    }
    let changes: [fn(&std::path::Path); 3] = [
        |lib| std::fs::write(lib.join("file"), "two").unwrap(),
        |lib| std::fs::write(lib.join("stray"), "").unwrap(),
        |lib| std::fs::remove_file(lib.join("file")).unwrap(),
    ];
    for change in changes {
        change(&lib);
        check_out(&scratch, commit).unwrap();
        assert_eq!(names(&lib), [".git", "file"]);
        assert_eq!(read(&file), "one");
    }
    // Gone from the clone it is gone here, and said to be.
    std::fs::remove_dir_all(scratch.path().join("lib")).unwrap();
    for _ in 0..2 {
        assert_eq!(check_out(&scratch, commit).unwrap(), [PathBuf::from("lib")]);
        assert_eq!(names(&lib), [""; 0]);
    }
}

#[test]
fn a_folder_may_take_a_submodules_place_and_the_other_way_round() {
    let scratch = Scratch::new();
    scratch.write("lib/file", "plain");
    scratch.write("lib/other", "plain");
    let plain = scratch.commit_all("plain");
    std::fs::remove_dir_all(scratch.path().join("lib")).unwrap();
    let inner = super::init(&scratch.path().join("lib"));
    let linked = commit_with(&scratch, &[("lib", commit_in(&inner, "inner", &[]))], "");
    let lib = tree(&scratch).join("lib");
    for _ in 0..2 {
        check_out(&scratch, linked).unwrap();
        assert_eq!(names(&lib), [".git", "file"]);
        assert_eq!(read(&lib.join("file")), "inner");
        check_out(&scratch, plain).unwrap();
        assert_eq!(names(&lib), ["file", "other"]);
        assert_eq!(read(&lib.join("file")), "plain");
        // Of a build.
        std::fs::write(lib.join("made"), "").unwrap();
    }
}

#[test]
fn one_without_a_working_tree_is_found_by_the_name_in_gitmodules() {
    let scratch = Scratch::new();
    let kept = |name: &str| {
        let path = scratch.path().join(".git/modules").join(name);
        Repository::init_bare(path).unwrap()
    };
    let (a, b) = (kept("first name"), kept("second/name"));
    let links = [("a", commit_in(&a, "of a", &[])), ("b", commit_in(&b, "of b", &[]))];
    let modules = "[submodule \"first name\"]\n\tpath = a\n\turl = nowhere\n\
                   [submodule \"second/name\"]\n\tpath = b\n\turl = nowhere\n";
    check_out(&scratch, commit_with(&scratch, &links, modules)).unwrap();
    assert_eq!(read(&tree(&scratch).join("a/file")), "of a");
    assert_eq!(read(&tree(&scratch).join("b/file")), "of b");
}

#[test]
fn one_that_was_never_fetched_stays_empty_and_one_without_its_commit_is_an_error() {
    let scratch = Scratch::new();
    let lost = Oid::from_str(&"1".repeat(40)).unwrap();
    let modules = "[submodule \"it\"]\n\tpath = it\n";
    let commit = commit_with(&scratch, &[("it", lost)], modules);
    check_out(&scratch, commit).unwrap();
    assert_eq!(names(&tree(&scratch).join("it")), [""; 0]);
    super::init(&scratch.path().join("it"));
    let error = check_out(&scratch, commit).unwrap_err();
    let text = format!("the clone does not contain commit {lost} of the submodule `it`");
    assert_eq!(error.to_string(), text);
    assert_eq!(error.hint().as_deref(), Some("`git submodule update --init --recursive`"));
}

#[test]
fn a_submodule_of_a_submodule_is_filled_too() {
    let scratch = Scratch::new();
    let outer = super::init(&scratch.path().join("outer"));
    let inner = super::init(&scratch.path().join("outer/inner"));
    let deep = commit_in(&inner, "deep", &[]);
    let link = commit_in(&outer, "outer", &[("inner", deep)]);
    check_out(&scratch, commit_with(&scratch, &[("outer", link)], "")).unwrap();
    assert_eq!(read(&tree(&scratch).join("outer/file")), "outer");
    assert_eq!(read(&tree(&scratch).join("outer/inner/file")), "deep");
}

#[test]
fn paths_that_look_alike_when_escaped_are_two() {
    let scratch = Scratch::new();
    let mut links = Vec::new();
    for path in ["a/b", "a%2Fb"] {
        let inner = super::init(&scratch.path().join(path));
        links.push((path, commit_in(&inner, path, &[])));
    }
    let commit = commit_with(&scratch, &links, "");
    check_out(&scratch, commit).unwrap();
    for (path, _) in links {
        assert_eq!(read(&tree(&scratch).join(path).join("file")), path);
    }
    let two = ["a%252Fb", "a%2Fb"];
    assert_eq!(names(&scratch.around().join("store/modules")), two);
    let seen = || ["a/b/file", "a%2Fb/file"].map(|file| identity(&tree(&scratch).join(file)));
    let before = seen();
    check_out(&scratch, commit).unwrap();
    assert_eq!(seen(), before);
}

#[test]
fn a_submodule_that_was_cloned_without_its_files_says_how_to_get_them() {
    let scratch = Scratch::new();
    let inner = super::init(&scratch.path().join("lib"));
    let commit = commit_with(&scratch, &[("lib", commit_in(&inner, "one", &[]))], "");
    let blob = Oid::hash_object(git2::ObjectType::Blob, b"one").unwrap().to_string();
    let (folder, file) = blob.split_at(2);
    std::fs::remove_file(inner.path().join("objects").join(folder).join(file)).unwrap();
    let error = check_out(&scratch, commit).unwrap_err();
    assert_eq!(error.to_string(), "could not check out `lib`");
    let hint = error.hint().unwrap();
    assert!(hint.contains("`git fetch --refetch --no-filter`"), "{hint}");
}
