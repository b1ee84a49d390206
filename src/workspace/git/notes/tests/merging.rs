//! Notes of others.

use super::*;
use crate::workspace::git::notes;

const THEIRS: &str = "refs/notes/theirs";

fn merge(repo: &Repo) -> (usize, usize) {
    let Merged { lines, skipped } = notes::merge_notes(repo, THEIRS).unwrap();
    (lines, skipped)
}

#[test]
fn notes_that_are_ahead_are_taken_as_they_are() {
    let scratch = scratch();
    let repo = scratch.open();
    assert_eq!(merge(&repo), (0, 0));
    let (a, b) = (name("a"), name("b"));
    let files: [(&str, &[u8]); 2] = [(&a, b"1\n2\n"), (&b, b"3\n")];
    let first = lay_out(&repo, THEIRS, &[], &files);
    assert_eq!(merge(&repo), (3, 0));
    assert_eq!(notes::tip(&repo, REFERENCE).unwrap(), Some(first.to_string()));
    // The same, and an earlier one, bring nothing.
    assert_eq!(merge(&repo), (0, 0));
    let too_long = long(MAX_NOTE + 1);
    let c = name("c");
    let files: [(&str, &[u8]); 3] = [(&a, b"1\n2\n4\n5\n"), (&b, b"3\n"), (&c, &too_long)];
    let second = lay_out(&repo, THEIRS, &[first], &files);
    assert_eq!(merge(&repo), (2, 1));
    assert_eq!(notes::tip(&repo, REFERENCE).unwrap(), Some(second.to_string()));
    repo.inner.reference(THEIRS, first, true, "").unwrap();
    assert_eq!(merge(&repo), (0, 0));
    assert_eq!(notes::tip(&repo, REFERENCE).unwrap(), Some(second.to_string()));
}

#[test]
fn notes_that_parted_are_joined_line_by_line() {
    let scratch = scratch();
    let repo = scratch.open();
    let [a, b, c, d] = ["a", "b", "c", "d"].map(name);
    let ours: [(&str, &[u8]); 3] = [(&a, b"both\nours"), (&b, b"same"), (&d, b"equal\n")];
    let theirs: [(&str, &[u8]); 4] =
        [(&a, b"theirs\n\nboth\ntoo\n"), (&b, b"same\n"), (&c, b"new\n"), (&d, b"equal\n")];
    lay_out(&repo, REFERENCE, &[], &ours);
    lay_out(&repo, THEIRS, &[], &theirs);
    assert_eq!(merge(&repo), (3, 0));
    assert_eq!(text(&repo, "a"), "both\nours\ntheirs\ntoo\n");
    assert_eq!(text(&repo, "c"), "new\n");
    // What brings nothing new is left as it is, byte for byte.
    assert_eq!(text(&repo, "b"), "same");
    assert_eq!(parents(&repo), 2);
    let tip = notes::tip(&repo, REFERENCE).unwrap();
    assert_eq!(merge(&repo), (0, 0));
    assert_eq!(notes::tip(&repo, REFERENCE).unwrap(), tip);
    // Also where no line is new it is written down that they are joined.
    lay_out(&repo, THEIRS, &[], &[(&d, b"equal\n")]);
    assert_eq!(merge(&repo), (0, 0));
    assert_ne!(notes::tip(&repo, REFERENCE).unwrap(), tip);
    assert_eq!(parents(&repo), 2);
}

#[test]
fn what_is_too_long_is_left_out_of_a_merge_and_counted() {
    let scratch = scratch();
    let repo = scratch.open();
    let [a, b, c, d] = ["a", "b", "c", "d"].map(name);
    let (almost, beyond) = (long(MAX_NOTE - 2), long(MAX_NOTE + 1));
    lay_out(&repo, REFERENCE, &[], &[(&a, &almost), (&b, &almost), (&d, &beyond)]);
    // The first fits to the byte; the second would not; the third cannot be read, and the fourth
    // cannot be read of ours.
    let theirs: [(&str, &[u8]); 4] = [(&a, b"1\n"), (&b, b"12\n"), (&c, &beyond), (&d, b"1\n")];
    lay_out(&repo, THEIRS, &[], &theirs);
    assert_eq!(merge(&repo), (1, 3));
    let notes = notes::current(&repo).unwrap();
    assert_eq!(notes.text(&a).unwrap().len(), MAX_NOTE);
    assert_eq!(notes.text(&b).unwrap().len(), MAX_NOTE - 2);
    assert!(notes.text(&d).is_err());
    assert_eq!(notes.commits(), [a, b, d]);
}

#[test]
fn a_reference_is_forgotten_and_one_that_is_not_there_is_no_matter() {
    let scratch = scratch();
    let repo = scratch.open();
    lay_out(&repo, THEIRS, &[], &[(&name("a"), b"1\n")]);
    notes::forget(&repo, THEIRS).unwrap();
    assert_eq!(notes::tip(&repo, THEIRS).unwrap(), None);
    notes::forget(&repo, THEIRS).unwrap();
}

#[test]
fn without_a_name_of_the_users_it_is_ours_that_writes() {
    let scratch = Scratch::new();
    // As in a container without an identity.
    scratch.set("user.name", "");
    let repo = scratch.open();
    add(&repo, &[("a", "line")]);
    let tip = notes::commit_of(&repo, REFERENCE).unwrap().unwrap();
    let commit = repo.inner.find_commit(tip).unwrap();
    assert_eq!(commit.author().name().unwrap(), "cargo cbdr");
    assert_eq!(commit.message().unwrap(), "Add lines");
}
