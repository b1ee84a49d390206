use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use git2::{Oid, Repository};

use super::{Scratch, identity, names, read, write};
use crate::exec::system::set_modified;
use crate::model::{Pair, Revision, Side};
use crate::workspace::files::remove;
use crate::workspace::git::Error;
use crate::workspace::git::store::{Checkout, Store, write_if_changed};

/// Where the private repository is.
fn private(scratch: &Scratch) -> PathBuf {
    scratch.around().join("store")
}

/// Where the worktree is.
fn tree(scratch: &Scratch) -> PathBuf {
    scratch.around().join("base/tree")
}

/// What is there once a checkout is complete.
fn noted(scratch: &Scratch, side: Side) -> PathBuf {
    private(scratch).join(format!("{side}-tree.attributes"))
}

fn store(scratch: &Scratch) -> Store {
    Store::open(&private(scratch), &scratch.open().inner).unwrap()
}

fn try_check_out(scratch: &Scratch, commit: Oid) -> Result<(), Error> {
    std::fs::create_dir_all(tree(scratch).parent().unwrap()).unwrap();
    let revision = scratch.revision(commit);
    let (side, path) = (Side::Base, &*tree(scratch));
    let checkout = Checkout::new(side, path, &revision);
    store(scratch).check_out(&scratch.open().inner, &checkout).map(drop)
}

#[track_caller]
fn check_out(scratch: &Scratch, commit: Oid) {
    try_check_out(scratch, commit).unwrap();
    let worktree = Repository::open(tree(scratch)).unwrap();
    assert_eq!(worktree.head().unwrap().target(), Some(commit));
    assert!(worktree.head_detached().unwrap());
    let commondir = worktree.commondir().canonicalize().unwrap();
    assert_eq!(commondir, private(scratch));
    assert!(noted(scratch, Side::Base).exists());
}

#[test]
fn a_file_changed_with_its_size_and_time_is_written_again() {
    let (scratch, first, _) = scratch();
    check_out(&scratch, first);
    let differs = tree(&scratch).join("differs");
    let same = tree(&scratch).join("folder/same");
    let about = |path: &Path| crate::exec::system::stamp(&path.metadata().unwrap());
    let before = about(&same);
    let modified = differs.metadata().unwrap().modified().unwrap();
    std::fs::write(&differs, "9").unwrap();
    set_modified(&differs, modified).unwrap();
    // Its content is the same, although nothing else is.
    std::fs::remove_file(&same).unwrap();
    std::fs::write(&same, "same").unwrap();
    let copied = about(&same);
    assert_ne!(copied, before);
    check_out(&scratch, first);
    assert_eq!(read(&differs), "1");
    assert_eq!(about(&same), copied, "it was written again");
}

#[test]
fn the_private_repository_is_as_new_whatever_became_of_it() {
    let (scratch, first, second) = scratch();
    check_out(&scratch, first);
    let private = private(&scratch);
    for file in ["config", "HEAD", "packed-refs", "objects/info/alternates"] {
        let whole = std::fs::read(private.join(file)).unwrap();
        for damaged in [&b""[..], &b"\0\0\0\0\0\0\0\0"[..]] {
            std::fs::write(private.join(file), damaged).unwrap();
            check_out(&scratch, second);
            assert_eq!(std::fs::read(private.join(file)).unwrap(), whole, "{file}");
        }
    }
    // As though its end had been lost: the folder of what it names would be the worktree.
    let elsewhere = scratch.around().join("elsewhere");
    std::fs::create_dir(&elsewhere).unwrap();
    let gitdir = private.join("worktrees/base-tree/gitdir");
    let whole = std::fs::read(&gitdir).unwrap();
    std::fs::write(&gitdir, elsewhere.join("h").to_str().unwrap()).unwrap();
    check_out(&scratch, first);
    assert_eq!(std::fs::read_to_string(tree(&scratch).join("differs")).unwrap(), "1");
    assert_eq!(std::fs::read_dir(&elsewhere).unwrap().count(), 0);
    assert_eq!(std::fs::read(&gitdir).unwrap(), whole);
    let settings = std::fs::read_to_string(private.join("config")).unwrap();
    scratch.open().inner.config().unwrap().set_str("core.autocrlf", "in\"p\\ut").unwrap();
    store(&scratch);
    let known = Repository::open_bare(&private).unwrap().config().unwrap();
    assert_eq!(known.get_string("core.autocrlf").unwrap(), "in\"p\\ut", "{settings}");
}

/// Two commits: `same` is alike, `differs` is not, each has a file of its own.
fn scratch() -> (Scratch, Oid, Oid) {
    let scratch = Scratch::new();
    scratch.write(".gitignore", "target\n*.tmp\n");
    scratch.write("folder/same", "same");
    scratch.write("differs", "1");
    scratch.write("old/file", "old");
    let first = scratch.commit_all("first");
    scratch.write("differs", "2");
    std::fs::remove_dir_all(scratch.path().join("old")).unwrap();
    scratch.write("new/file", "new");
    let second = scratch.commit_all("second");
    (scratch, first, second)
}

#[test]
fn names_links_and_modes_are_those_of_the_commit_whatever_file_system_the_clone_is_on() {
    let scratch = Scratch::new();
    scratch.write("Name", "it");
    symlink("name", scratch.path().join("link")).unwrap();
    let first = scratch.commit_all("first");
    remove(&scratch.path().join("Name")).unwrap();
    scratch.write("name", "it");
    let second = scratch.commit_all("second");
    // Git notes this where it finds that a file system is like that.
    for (key, value) in [("ignoreCase", "true"), ("symlinks", "false"), ("fileMode", "false")] {
        scratch.set(&format!("core.{key}"), value);
    }
    check_out(&scratch, first);
    assert_eq!(names(&tree(&scratch)), [".git", "Name", "link"]);
    check_out(&scratch, second);
    assert_eq!(names(&tree(&scratch)), [".git", "link", "name"]);
    assert!(tree(&scratch).join("link").is_symlink());
}

#[test]
fn a_worktree_holds_its_commit_and_what_is_right_already_is_not_written_again() {
    let (scratch, first, second) = scratch();
    let tree = tree(&scratch);
    check_out(&scratch, first);
    assert_eq!(names(&tree), [".git", ".gitignore", "differs", "folder", "old"]);
    assert_eq!(
        (read(&tree.join("differs")), read(&tree.join("old/file"))),
        ("1".into(), "old".into())
    );
    let same = identity(&tree.join("folder/same"));
    check_out(&scratch, second);
    assert_eq!(names(&tree), [".git", ".gitignore", "differs", "folder", "new"]);
    assert_eq!(
        (read(&tree.join("differs")), read(&tree.join("new/file"))),
        ("2".into(), "new".into())
    );
    assert_eq!(identity(&tree.join("folder/same")), same);
    // Nothing of it is in the user's repository, and no branch is left in the private one.
    let git = scratch.path().join(".git");
    assert!(!git.join("worktrees").exists());
    assert_eq!(names(&git.join("refs/heads")), ["main"]);
    assert_eq!(store(&scratch).repository().branches(None).unwrap().count(), 0);
}

#[test]
fn what_does_not_belong_to_the_commit_goes() {
    let (scratch, first, _) = scratch();
    let tree = tree(&scratch);
    check_out(&scratch, first);
    write(&tree.join("differs"), "by a build script");
    std::fs::remove_file(tree.join("old/file")).unwrap();
    for stray in ["stray", "left.tmp", "folder/stray", "strays/deep/file", "target/debug/it"] {
        write(&tree.join(stray), "");
    }
    symlink("nowhere", tree.join("stray link")).unwrap();
    write(&tree.join("made/lib/deep/b"), "");
    check_out(&scratch, first);
    assert_eq!(names(&tree), [".git", ".gitignore", "differs", "folder", "old"]);
    assert_eq!(
        (read(&tree.join("differs")), read(&tree.join("old/file"))),
        ("1".into(), "old".into())
    );
    assert_eq!(names(&tree.join("folder")), ["same"]);
}

/// A repository in three commits: `it` is a link to a folder outside, a folder with files of the
/// names that are there, and a file.
fn shapes() -> (Scratch, [Oid; 3]) {
    let scratch = Scratch::new();
    for name in ["differs", "same", "other", "deep/file"] {
        write(&scratch.around().join("outside").join(name), "outside");
    }
    scratch.write(".gitignore", "*.tmp\n");
    symlink("../../outside", scratch.path().join("it")).unwrap();
    let link = scratch.commit_all("link");
    std::fs::remove_file(scratch.path().join("it")).unwrap();
    for (name, text) in [("differs", "in"), ("same", "outside"), ("new", "in"), ("deep/file", "in")]
    {
        scratch.write(&format!("it/{name}"), text);
    }
    let folder = scratch.commit_all("folder");
    std::fs::remove_dir_all(scratch.path().join("it")).unwrap();
    scratch.write("it", "file");
    let file = scratch.commit_all("file");
    (scratch, [link, folder, file])
}

/// Demands that the folder outside is as it was made.
fn assert_untouched(scratch: &Scratch) {
    let outside = scratch.around().join("outside");
    assert_eq!(names(&outside), ["deep", "differs", "other", "same"]);
    for name in ["differs", "same", "other", "deep/file"] {
        assert_eq!(read(&outside.join(name)), "outside");
    }
}

#[test]
fn links_folders_and_files_take_each_others_places_and_nothing_is_written_through_a_link() {
    let (scratch, [link, folder, file]) = shapes();
    let it = tree(&scratch).join("it");
    for commit in [link, folder, link, file, folder, file, link] {
        check_out(&scratch, commit);
        let kind = it.symlink_metadata().unwrap().file_type();
        assert_eq!((kind.is_symlink(), kind.is_dir()), (commit == link, commit == folder));
        if commit == folder {
            assert_eq!(names(&it), ["deep", "differs", "new", "same"]);
            assert_eq!(
                (read(&it.join("differs")), read(&it.join("deep/file"))),
                ("in".into(), "in".into())
            );
            // Of a build.
            write(&it.join("made.tmp"), "");
            write(&it.join("deep/made"), "");
        }
        assert_untouched(&scratch);
    }
}

#[test]
fn a_link_that_somebody_put_into_the_worktree_leads_nowhere() {
    let (scratch, [link, folder, file]) = shapes();
    let it = tree(&scratch).join("it");
    let outside = scratch.around().join("outside");
    let replace = |path: &Path, to: &Path| {
        remove(path).unwrap();
        symlink(to, path).unwrap();
    };
    check_out(&scratch, folder);
    replace(&it.join("deep"), &outside.join("deep"));
    check_out(&scratch, folder);
    assert_eq!(read(&it.join("deep/file")), "in");
    replace(&it, &outside);
    check_out(&scratch, folder);
    assert_eq!(names(&it), ["deep", "differs", "new", "same"]);
    for there in [outside.clone(), outside.join("same"), outside.join("new")] {
        replace(&it, &there);
        check_out(&scratch, file);
        assert_eq!(read(&it), "file");
        assert!(!it.is_symlink());
    }
    replace(&it, Path::new("nowhere"));
    check_out(&scratch, link);
    assert_eq!(it.read_link().unwrap(), Path::new("../../outside"));
    // A link that no commit has, too.
    symlink(&outside, tree(&scratch).join("made")).unwrap();
    check_out(&scratch, link);
    assert_eq!(names(&tree(&scratch)), [".git", ".gitignore", "it"]);
    assert_untouched(&scratch);
}

#[test]
fn names_that_are_not_text_are_checked_out() {
    use std::os::unix::ffi::OsStrExt;
    let scratch = Scratch::new();
    let odd = std::ffi::OsStr::from_bytes(b"f\xffolder/n\xfeme");
    write(&scratch.path().join(odd), "odd");
    let commit = scratch.commit_all("odd");
    check_out(&scratch, commit);
    assert_eq!(read(&tree(&scratch).join(odd)), "odd");
}

#[test]
fn after_a_checkout_that_was_cut_short_nothing_is_trusted() {
    let (scratch, first, second) = scratch();
    let tree = tree(&scratch);
    check_out(&scratch, first);
    let blob = scratch.git.blob(b"new").unwrap();
    let object = scratch.around().join("away");
    let (folder, name) = (&blob.to_string()[..2], &blob.to_string()[2..]);
    let stored = scratch.path().join(".git/objects").join(folder).join(name);
    std::fs::rename(&stored, &object).unwrap();
    let error = try_check_out(&scratch, second).unwrap_err();
    assert!(matches!(error, Error::Git { .. }), "{error}");
    assert!(!noted(&scratch, Side::Base).exists());
    std::fs::rename(&object, &stored).unwrap();
    write(&tree.join("half"), "");
    check_out(&scratch, second);
    assert!(!tree.join("half").exists());
    assert_eq!(read(&tree.join("new/file")), "new");
}

#[test]
fn a_worktree_that_is_not_in_order_is_made_anew() {
    let (scratch, first, second) = scratch();
    let tree = tree(&scratch);
    check_out(&scratch, first);
    let admin = private(&scratch).join("worktrees/base-tree");
    let inode = |path: &Path| identity(path).0;
    // Locks of a process that was killed are no disorder.
    let whole = inode(&tree);
    write(&admin.join("index.lock"), "");
    write(&admin.join("HEAD.lock"), "");
    check_out(&scratch, second);
    assert_eq!(inode(&tree), whole);
    // The one that belongs to another repository is another's.
    let other = scratch.around().join("other");
    let copied = Store::open(&other, &scratch.open().inner).unwrap();
    std::fs::remove_dir_all(&tree).unwrap();
    let revision = &scratch.revision(first);
    let checkout = Checkout::new(Side::Head, &tree, revision);
    copied.check_out(&scratch.open().inner, &checkout).unwrap();
    check_out(&scratch, second);
    // Gone, in either place; or a file; or a repository of somebody's.
    std::fs::remove_dir_all(&tree).unwrap();
    check_out(&scratch, first);
    std::fs::remove_dir_all(&admin).unwrap();
    check_out(&scratch, second);
    std::fs::remove_dir_all(&tree).unwrap();
    write(&tree, "a file");
    check_out(&scratch, first);
    std::fs::remove_dir_all(&tree).unwrap();
    super::init(&tree);
    write(&tree.join("file"), "of somebody");
    check_out(&scratch, first);
    assert!(!tree.join("file").exists());
}

#[test]
fn a_tree_that_is_not_there_is_an_error_that_names_the_revision() {
    let (scratch, first, _) = scratch();
    let repo = scratch.open();
    let mut revision = scratch.revision(first);
    revision.tree = "1".repeat(40);
    std::fs::create_dir_all(tree(&scratch).parent().unwrap()).unwrap();
    let (side, path) = (Side::Base, &*tree(&scratch));
    let checkout = Checkout::new(side, path, &revision);
    let checked = store(&scratch).check_out(&repo.inner, &checkout);
    assert_eq!(checked.unwrap_err().to_string(), "could not read the tree of `it`");
}

#[test]
fn both_sides_are_checked_out_at_once_and_each_is_its_own() {
    let (scratch, first, second) = scratch();
    let repo = scratch.open();
    let paths = Pair::both(|side| scratch.around().join(side.name()).join("tree"));
    for side in Side::BOTH {
        std::fs::create_dir_all(paths[side].parent().unwrap()).unwrap();
    }
    let check_out_both = |base: &Revision, head: &Revision| {
        let revisions = Pair { base, head };
        let checkouts = Pair::both(|side| Checkout::new(side, &paths[side], revisions[side]));
        store(&scratch).check_out_both(&repo.inner, &checkouts).map(drop)
    };
    let assert_is = |side: Side, commit: Oid| {
        let worktree = Repository::open(&paths[side]).unwrap();
        assert_eq!(worktree.head().unwrap().target(), Some(commit));
        let mut options = git2::StatusOptions::new();
        options.include_untracked(true).include_ignored(true);
        let statuses = worktree.statuses(Some(&mut options)).unwrap();
        let unlike: Vec<_> = statuses.iter().map(|entry| entry.path().map(str::to_owned)).collect();
        assert!(unlike.is_empty(), "{side}: {unlike:?}");
        // It belongs to that commit because it holds its files, not because it looks empty.
        assert!(!worktree.index().unwrap().is_empty());
        assert!(noted(&scratch, side).exists());
    };
    let [one, two] = [first, second].map(|commit| scratch.revision(commit));
    check_out_both(&one, &two).unwrap();
    assert_is(Side::Base, first);
    assert_is(Side::Head, second);
    write(&paths.head.join("stray"), "");
    check_out_both(&two, &one).unwrap();
    assert_is(Side::Base, second);
    assert_is(Side::Head, first);
    let branches = Repository::open(private(&scratch)).unwrap();
    assert_eq!(branches.branches(None).unwrap().count(), 0);
    // The base's error is first.
    let missing = |rev: &str| {
        let (rev, tree) = (rev.to_owned(), "1".repeat(40));
        Revision { rev, tree, ..one.clone() }
    };
    let error = check_out_both(&missing("a"), &missing("b")).unwrap_err();
    assert_eq!(error.to_string(), "could not read the tree of `a`");
    let error = check_out_both(&one, &missing("b")).unwrap_err();
    assert_eq!(error.to_string(), "could not read the tree of `b`");
    check_out_both(&one, &two).unwrap();
    assert_is(Side::Base, first);
    assert_is(Side::Head, second);
}

/// What a private repository copies, with the identity of each file.
fn copies(scratch: &Scratch) -> Vec<(u64, i64, i64)> {
    let files = ["config", "packed-refs", "objects/info/alternates", "info/attributes", "shallow"];
    let there = files.iter().map(|file| private(scratch).join(file)).filter(|file| file.exists());
    there.map(|file| identity(&file)).collect()
}

#[test]
fn the_private_repository_follows_the_users_and_is_not_written_in_vain() {
    let scratch = Scratch::new();
    let line = scratch.chain(3);
    scratch.point("refs/heads/main", line[2]);
    let tag = |name: &str, commit: Oid| {
        let object = scratch.git.find_object(commit, None).unwrap();
        let who = git2::Signature::now("A", "a@localhost").unwrap();
        scratch.git.tag(name, &object, &who, "annotated", true).unwrap()
    };
    let annotated = tag("v2", line[1]);
    scratch.point("refs/tags/v1", line[0]);
    scratch.set("core.autocrlf", "input");
    scratch.set("core.eol", "lf");
    scratch.set("core.editor", "not copied");
    write(&scratch.path().join(".git/info/attributes"), "*.x text\n");
    let opened = store(&scratch);
    let found = |name: &str| opened.repository().refname_to_id(name).unwrap();
    assert_eq!((found("refs/tags/v1"), found("refs/tags/v2")), (line[0], annotated));
    assert_eq!(opened.repository().references().unwrap().count(), 2);
    assert!(opened.repository().find_commit(line[2]).is_ok());
    let config = read(&private(&scratch).join("config"));
    assert!(config.contains("autocrlf = \"input\"") && !config.contains("editor"), "{config}");
    assert_eq!(read(&private(&scratch).join("info/attributes")), "*.x text\n");
    assert_eq!(names(&private(&scratch).join("objects")), ["info"]);
    let before = copies(&scratch);
    assert_eq!(before.len(), 4);
    store(&scratch);
    assert_eq!(copies(&scratch), before);
    // What changes or goes there, changes or goes here.
    scratch.git.find_reference("refs/tags/v1").unwrap().delete().unwrap();
    scratch.git.config().unwrap().remove("core.autocrlf").unwrap();
    scratch.set("core.eol", "crlf");
    std::fs::remove_file(scratch.path().join(".git/info/attributes")).unwrap();
    scratch.cut(&[line[1]]);
    let opened = store(&scratch);
    assert!(opened.repository().find_reference("refs/tags/v1").is_err());
    assert!(opened.repository().is_shallow());
    assert!(!private(&scratch).join("info/attributes").exists());
    let config = read(&private(&scratch).join("config"));
    assert!(config.contains("eol = \"crlf\"") && !config.contains("autocrlf"), "{config}");
    std::fs::remove_file(scratch.path().join(".git/shallow")).unwrap();
    assert!(!store(&scratch).repository().is_shallow());
}

#[test]
fn objects_that_the_user_borrows_are_read_where_they_are() {
    let (scratch, first, second) = scratch();
    let objects = scratch.path().join(".git/objects");
    std::fs::rename(&objects, scratch.around().join("pool")).unwrap();
    write(&objects.join("info/alternates"), "../../../pool\n");
    check_out(&scratch, first);
    check_out(&scratch, second);
    assert_eq!(read(&tree(&scratch).join("new/file")), "new");
    assert_eq!(names(&objects), ["info"]);
}

#[test]
fn half_a_private_repository_is_made_whole() {
    let (scratch, first, _) = scratch();
    write(&private(&scratch).join("objects/info/alternates"), "/nowhere\n");
    check_out(&scratch, first);
    std::fs::remove_file(private(&scratch).join("HEAD")).unwrap();
    check_out(&scratch, first);
}

#[test]
fn remove_takes_files_links_folders_and_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    write(&at("folder/file"), "");
    write(&at("file"), "");
    symlink(at("folder"), at("link")).unwrap();
    for name in ["link", "file", "nothing"] {
        remove(&at(name)).unwrap();
    }
    assert_eq!(names(folder.path()), ["folder"]);
    remove(&at("folder")).unwrap();
    assert_eq!(names(folder.path()), [""; 0]);
}

#[test]
fn a_file_is_replaced_only_when_it_differs() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("made/for/it");
    write_if_changed(&file, b"one").unwrap();
    let before = identity(&file);
    write_if_changed(&file, b"one").unwrap();
    assert_eq!((identity(&file), read(&file)), (before, "one".into()));
    write_if_changed(&file, b"two").unwrap();
    assert_eq!(read(&file), "two");
    assert_eq!(names(file.parent().unwrap()), ["it"]);
}
