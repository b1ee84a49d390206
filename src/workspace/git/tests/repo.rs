use std::error::Error as _;

use super::Scratch;
use crate::workspace::git::Repo;
use crate::workspace::git::make::Maker;
use crate::workspace::git::store::Store;
use crate::workspace::git::{line, snapshot};

#[test]
fn a_repository_is_found_from_any_folder_of_it_and_has_the_name_of_its_own() {
    let scratch = Scratch::new();
    scratch.write("a/b/file", "");
    let repo = Repo::discover(&scratch.path().join("a/b")).unwrap();
    assert_eq!(repo.root(), scratch.path());
    assert_eq!(repo.common_dir(), scratch.path().join(".git"));
    assert_eq!(repo.name(), "work");
    let main = scratch.commit_all("first");
    let linked = scratch.around().join("linked");
    scratch.git.worktree("linked", &linked, None).unwrap();
    let linked = Repo::discover(&linked).unwrap();
    assert_eq!(linked.common_dir().canonicalize().unwrap(), scratch.path().join(".git"));
    assert_eq!((linked.root(), linked.name()), (&*scratch.around().join("linked"), "work".into()));
    assert_eq!(linked.at(None).unwrap().commit, main.to_string());
    // One with its git folder elsewhere is called as that is.
    let apart = scratch.around().join("apart");
    let mut options = git2::RepositoryInitOptions::new();
    options.no_dotgit_dir(true).workdir_path(&scratch.around().join("apart tree"));
    git2::Repository::init_opts(&apart, &options).unwrap();
    assert_eq!(Repo::discover(&apart).unwrap().name(), "apart");
}

#[test]
fn what_cannot_be_opened_is_named_with_what_to_do() {
    let folder = tempfile::tempdir().unwrap();
    let refused = |path: &std::path::Path, beginning: &str, hint: &str| {
        let error = Repo::discover(path).err().unwrap();
        let expected = (beginning.to_owned(), Some(hint.to_owned()));
        assert_eq!((error.to_string(), error.hint()), expected);
    };
    let outside = folder.path().join("nothing");
    std::fs::create_dir(&outside).unwrap();
    let text = format!("`{}` is not inside a git repository", outside.display());
    refused(
        &outside,
        &text,
        "change to a clone of the project, or make this one: `git init`, and commit",
    );
    let bare = folder.path().canonicalize().unwrap().join("bare");
    git2::Repository::init_bare(&bare).unwrap();
    let text = format!("the repository at `{}/` is bare", bare.display());
    refused(&bare, &text, "run it in a worktree: `git worktree add ../work`");
    for (key, value, what) in [
        ("extensions.objectFormat", "sha256", "SHA-256 object names"),
        ("extensions.refStorage", "reftable", "the reftable format"),
    ] {
        let scratch = Scratch::new();
        scratch.set("core.repositoryFormatVersion", "1");
        scratch.set(key, value);
        let text = format!(
            "the repository at `{}` uses {what}, which libgit2 cannot read",
            scratch.path().display()
        );
        let hint = "clone it with the default formats (SHA-1 objects, files for references)";
        refused(&scratch.path(), &text, hint);
    }
    let scratch = Scratch::new();
    scratch.set("core.repositoryFormatVersion", "1");
    scratch.set("extensions.partialClone", "up stream");
    let text = format!(
        "the repository at `{}` uses the setting `extensions.partialClone`, which libgit2 cannot \
         read",
        scratch.path().display()
    );
    let hint = "say the same as newer versions of git do: `git config 'remote.up stream.promisor' \
                true && git config --unset extensions.partialClone`";
    refused(&scratch.path(), &text, hint);
    // What has no name of ours is told in libgit2's words.
    let scratch = Scratch::new();
    scratch.set("core.repositoryFormatVersion", "9");
    let error = Repo::discover(&scratch.path()).err().unwrap();
    assert_eq!(error.to_string(), format!("could not open `{}`", scratch.path().display()));
    assert!(error.source().unwrap().to_string().contains("version"), "{:?}", error.source());
    assert_eq!(error.hint(), None);
}

/// Only root can give a folder away; everybody else sees nothing here.
#[test]
fn a_repository_of_another_user_is_not_read() {
    let scratch = Scratch::new();
    let path = scratch.path();
    let given = [path.clone(), path.join(".git")]
        .iter()
        .all(|path| std::os::unix::fs::chown(path, Some(12_345), None).is_ok());
    if given {
        let error = Repo::discover(&path).err().unwrap();
        assert!(error.to_string().ends_with("belongs to another user"), "{error}");
        let hint = format!("`git config --global --add safe.directory {}`", path.display());
        assert_eq!(error.hint(), Some(hint));
    }
}

#[test]
fn dirty_files_are_those_that_differ_and_those_that_are_new() {
    let scratch = Scratch::new();
    for path in ["a", "b", "folder/c"] {
        scratch.write(path, "as it was");
    }
    scratch.write(".gitignore", "*.tmp\n");
    scratch.commit_all("first");
    let repo = scratch.open();
    assert_eq!(repo.dirty_files().unwrap(), 0);
    scratch.write("a", "changed");
    scratch.write("x.tmp", "ignored");
    assert_eq!(repo.dirty_files().unwrap(), 1);
    std::fs::remove_file(scratch.path().join("folder/c")).unwrap();
    scratch.write("new/one", "");
    scratch.write("new/two", "");
    assert_eq!(repo.dirty_files().unwrap(), 4);
}

#[test]
fn changed_paths_are_those_of_both_trees() {
    let scratch = Scratch::new();
    scratch.write("gone", "1");
    scratch.write("kept", "2");
    scratch.write("other", "3");
    let first = scratch.revision(scratch.commit_all("first"));
    std::fs::remove_file(scratch.path().join("gone")).unwrap();
    scratch.write("other", "4");
    scratch.write("new/file", "5");
    let second = scratch.revision(scratch.commit_all("second"));
    let repo = scratch.open();
    let store = Store::open(&scratch.around().join("store"), &repo.inner).unwrap();
    assert_eq!(store.changed_paths(&first, &second).unwrap(), ["gone", "new/file", "other"]);
    assert_eq!(store.changed_paths(&first, &first).unwrap(), [""; 0]);
    // The working tree as it is, whose tree only the store has.
    scratch.write("dirty", "6");
    let tree = snapshot::take(&repo, &store).unwrap();
    let snapshot = crate::model::revision::Revision { tree, dirty: true, ..second.clone() };
    assert_eq!(store.changed_paths(&second, &snapshot).unwrap(), ["dirty"]);
    let gone = crate::model::revision::Revision { tree: "1".repeat(40), ..second };
    assert!(store.changed_paths(&first, &gone).is_err());
}

#[test]
fn a_made_repository_has_its_commits_on_a_branch() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().canonicalize().unwrap().join("demo");
    let maker = Maker::new(&path).unwrap();
    super::write(&path.join("a"), "1");
    maker.commit("first").unwrap();
    maker.branch("faster").unwrap();
    super::write(&path.join("b"), "2");
    maker.commit("second").unwrap();
    let repo = Repo::discover(&path).unwrap();
    let head = repo.at(None).unwrap();
    assert_eq!(head.rev, "faster");
    assert_eq!(
        line::parent(&repo, &head.commit).unwrap(),
        Some(repo.at(Some("main")).unwrap().commit)
    );
    assert_eq!(repo.dirty_files().unwrap(), 0);
    let base = repo.at(Some("main")).unwrap();
    let store = Store::open(&folder.path().join("store"), &repo.inner).unwrap();
    assert_eq!(store.changed_paths(&base, &head).unwrap(), ["b"]);
}
