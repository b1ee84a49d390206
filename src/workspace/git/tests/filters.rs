use std::os::unix::fs::symlink;
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use git2::Oid;

use super::{Scratch, write};
use crate::model::{Revision, Side};
use crate::workspace::git::filters::{self, Filtered};
use crate::workspace::git::snapshot;
use crate::workspace::git::store::{Checkout, Store};

/// The worktree.
fn tree(scratch: &Scratch) -> PathBuf {
    scratch.around().join("base/tree")
}

fn check_out(scratch: &Scratch, revision: &Revision) -> Store {
    std::fs::create_dir_all(scratch.around().join("base")).unwrap();
    let repo = scratch.open();
    let store = Store::open(&scratch.around().join("store"), &repo.inner).unwrap();
    let path = &*tree(scratch);
    let checkout = Checkout::new(Side::Base, path, revision);
    store.check_out(&repo.inner, &checkout).unwrap();
    store
}

fn filtered(scratch: &Scratch, revision: &Revision) -> Filtered {
    let store = Store::open(&scratch.around().join("store"), &scratch.open().inner).unwrap();
    filters::filtered(&store, &scratch.open().inner, &tree(scratch), revision).unwrap()
}

fn paths(names: &[&str]) -> Vec<PathBuf> {
    names.iter().map(PathBuf::from).collect()
}

/// A repository with a file for each kind of filter: `known` and `lfs` have programs of the user's,
/// `half` one that only writes, `unknown` none.
fn scratch(attributes: &str) -> (Scratch, Oid) {
    let scratch = Scratch::new();
    scratch.set("filter.known.smudge", "cat");
    scratch.set("filter.known.clean", "cat");
    scratch.set("filter.long.running.process", "cat");
    scratch.set("filter.half.clean", "cat");
    scratch.set("filter.lfs.smudge", "cat");
    for file in ["a.known", "b.known", "c.long", "d.half", "e.unknown", "f.lfs", "g"] {
        scratch.write(file, "as git has it");
    }
    symlink("g", scratch.path().join("link.lfs")).unwrap();
    write(&scratch.path().join(attributes), ATTRIBUTES);
    let commit = scratch.commit_all("first");
    (scratch, commit)
}

const ATTRIBUTES: &str = "*.known filter=known\n*.long filter=long.running\n*.half filter=half\n\
                          *.unknown filter=unknown\n*.lfs filter=lfs\n";

#[test]
fn files_of_a_filter_with_a_program_that_lie_there_as_git_has_them_are_raw() {
    for attributes in [".gitattributes", "sub/../.gitattributes", ".git/info/attributes"] {
        let (scratch, commit) = scratch(attributes);
        let revision = scratch.revision(commit);
        check_out(&scratch, &revision);
        let found = filtered(&scratch, &revision);
        assert_eq!(found.raw, paths(&["a.known", "b.known", "c.long", "f.lfs"]), "{attributes}");
        assert_eq!(found.lfs, paths(&["f.lfs"]));
        assert_eq!(found.storage, scratch.path().join(".git/lfs"));
        for setting in ["filter.known.smudge=cat", "filter.half.clean=cat"] {
            assert!(found.settings.iter().any(|have| have == setting), "{:?}", found.settings);
        }
        assert!(found.settings.iter().all(|have| !have.starts_with("core.")));
    }
}

#[test]
fn what_a_filter_has_changed_is_not_raw() {
    let (scratch, commit) = scratch(".gitattributes");
    let revision = scratch.revision(commit);
    check_out(&scratch, &revision);
    let tree = tree(&scratch);
    // Of the same length; of another; no file at all; a link to the same content, whose own length
    // is that of the content.
    write(&tree.join("a.known"), "As Git Has It");
    write(&tree.join("b.known"), "longer than git has it");
    std::fs::remove_file(tree.join("c.long")).unwrap();
    std::fs::remove_file(tree.join("f.lfs")).unwrap();
    write(&tree.join("thirteen long"), "as git has it");
    symlink("thirteen long", tree.join("f.lfs")).unwrap();
    let found = filtered(&scratch, &revision);
    assert_eq!((found.raw, found.lfs), (paths(&[]), paths(&["f.lfs"])));
}

#[test]
fn without_attributes_nothing_is_asked() {
    let (scratch, _) = scratch("elsewhere");
    let commit = scratch.commit_all("second");
    let revision = scratch.revision(commit);
    check_out(&scratch, &revision);
    assert_eq!(filtered(&scratch, &revision), Filtered::default());
}

#[test]
fn of_a_dirty_tree_only_what_is_as_in_its_commit() {
    let (scratch, commit) = scratch(".gitattributes");
    scratch.write("a.known", "changed by the user");
    scratch.write("new.known", "new");
    let repo = scratch.open();
    let store = Store::open(&scratch.around().join("store"), &repo.inner).unwrap();
    let snapshot = snapshot::take(&repo, &store).unwrap();
    let revision = Revision { tree: snapshot, dirty: true, ..scratch.revision(commit) };
    check_out(&scratch, &revision);
    let found = filtered(&scratch, &revision);
    assert_eq!(found.raw, paths(&["b.known", "c.long", "f.lfs"]));
}

#[test]
fn a_settled_index_is_younger_than_the_files() {
    let (scratch, commit) = scratch(".gitattributes");
    check_out(&scratch, &scratch.revision(commit));
    let before = SystemTime::now();
    filters::settle(&tree(&scratch)).unwrap();
    let index = scratch.around().join("store/worktrees/base-tree/index");
    let time = index.metadata().unwrap().modified().unwrap();
    assert!(time >= before + Duration::from_secs(1));
    let error = filters::settle(&scratch.around().join("nothing")).unwrap_err();
    assert!(error.to_string().starts_with("could not open `"), "{error}");
}

#[test]
fn line_ends_and_names_of_blobs_are_written_wherever_they_are_asked_for() {
    // What the commit says, what the clone says, a setting; and what is written then.
    let text = "$Id$\nline\n";
    let windows = "$Id$\r\nline\r\n";
    let named = |text: &str| text.starts_with("$Id: ");
    for (attributes, own, setting, is_right) in [
        ("* text=auto diff=rust", "", ("core.eol", "lf"), None),
        ("", "* -diff", ("core.autocrlf", "input"), None),
        ("* eol=crlf", "", ("", ""), Some(windows)),
        ("", "* text eol=crlf", ("", ""), Some(windows)),
        ("[attr]dos eol=crlf\n* dos", "", ("", ""), Some(windows)),
        ("", "", ("core.autocrlf", "true"), Some(windows)),
        ("* text", "", ("core.eol", "crlf"), Some(windows)),
        ("* ident", "", ("", ""), Some("")),
    ] {
        let scratch = Scratch::new();
        // In the order of names, attributes come after the first of these.
        let files = ["+file", "file", "a/+file", "a/file"];
        files.iter().for_each(|name| scratch.write(name, text));
        if !attributes.is_empty() {
            scratch.write("a/.gitattributes", attributes);
            scratch.write(".gitattributes", attributes);
        }
        let commit = scratch.commit_all("file");
        write(&scratch.path().join(".git/info/attributes"), own);
        if !setting.0.is_empty() {
            scratch.set(setting.0, setting.1);
        }
        check_out(&scratch, &scratch.revision(commit));
        for name in files {
            let found = super::read(&tree(&scratch).join(name));
            let about = format!("{name} of {attributes:?} {own:?} {setting:?}: {found:?}");
            match is_right {
                Some("") => assert!(named(&found), "{about}"),
                right => assert_eq!(found, right.unwrap_or(text), "{about}"),
            }
        }
    }
}

#[test]
fn files_are_written_again_if_attributes_change_and_their_blobs_do_not() {
    let scratch = Scratch::new();
    scratch.write("file", "line\n");
    let unix = scratch.commit_all("file");
    scratch.write("a/.gitattributes", "* eol=lf");
    scratch.write(".gitattributes", "file eol=crlf");
    let windows = scratch.commit_all("attributes");
    let checked_out = |commit: &git2::Oid| {
        check_out(&scratch, &scratch.revision(*commit));
        super::read(&tree(&scratch).join("file"))
    };
    assert_eq!(checked_out(&unix), "line\n");
    assert_eq!(checked_out(&windows), "line\r\n");
    assert_eq!(checked_out(&unix), "line\n");
    // The clone's own count as well.
    write(&scratch.path().join(".git/info/attributes"), "file eol=crlf");
    assert_eq!(checked_out(&unix), "line\r\n");
    scratch.set("core.eol", "lf");
    write(&scratch.path().join(".git/info/attributes"), "file text");
    assert_eq!(checked_out(&unix), "line\n");
    scratch.set("core.eol", "crlf");
    assert_eq!(checked_out(&unix), "line\r\n");
}
