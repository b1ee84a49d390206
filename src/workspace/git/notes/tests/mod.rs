//! Notes, written by one and by several.

#![cfg(unix)]

mod merging;

use super::*;
use crate::workspace::git::notes;
use crate::workspace::git::tests::Scratch;

/// A repository in which notes can be written.
fn scratch() -> Scratch {
    let scratch = Scratch::new();
    scratch.set("user.name", "A");
    scratch.set("user.email", "a@localhost");
    scratch
}

/// The name of a commit, that of no commit here, beginning with these letters.
fn name(begin: &str) -> String {
    format!("{begin:0<40}")
}

fn add(repo: &Repo, lines: &[(&str, &str)]) {
    let line = |(commit, line): &(&str, &str)| (name(commit), (*line).to_owned());
    let lines: Vec<_> = lines.iter().map(line).collect();
    notes::add_lines(repo, &lines, "Add lines").unwrap();
}

fn text(repo: &Repo, commit: &str) -> String {
    String::from_utf8(notes::current(repo).unwrap().text(&name(commit)).unwrap()).unwrap()
}

/// The paths of the notes, from the root of their tree.
fn paths(repo: &Repo) -> Vec<String> {
    let notes = notes::current(repo).unwrap();
    let mut paths = Vec::new();
    let mut left = vec![(String::new(), notes.tree.clone().unwrap())];
    while let Some((folder, tree)) = left.pop() {
        for entry in &tree {
            let path = format!("{folder}{}", entry.name().unwrap());
            match entry.kind() {
                Some(ObjectType::Tree) => {
                    left.push((format!("{path}/"), repo.inner.find_tree(entry.id()).unwrap()));
                }
                _ => paths.push(path),
            }
        }
    }
    paths.sort();
    paths
}

/// A tree with one entry.
fn tree_of(repo: &Repo, name: &str, id: Oid, mode: i32) -> Oid {
    let mut builder = repo.inner.treebuilder(None).unwrap();
    builder.insert(name, id, mode).unwrap();
    builder.write().unwrap()
}

/// Notes with blobs at these paths, as others may have laid them out, on a reference.
fn lay_out(repo: &Repo, reference: &str, parents: &[Oid], files: &[(&str, &[u8])]) -> Oid {
    let mut index = git2::Index::new().unwrap();
    for (path, content) in files {
        let blob = repo.inner.blob(content).unwrap();
        let never = git2::IndexTime::new(0, 0);
        let entry = git2::IndexEntry {
            ctime: never,
            mtime: never,
            dev: 0,
            ino: 0,
            mode: 0o100_644,
            uid: 0,
            gid: 0,
            file_size: 0,
            id: blob,
            flags: 0,
            flags_extended: 0,
            path: path.as_bytes().to_vec(),
        };
        index.add(&entry).unwrap();
    }
    let tree = index.write_tree_to(&repo.inner).unwrap();
    point(repo, reference, parents, tree)
}

/// Lets a reference name a commit of a tree.
fn point(repo: &Repo, reference: &str, parents: &[Oid], tree: Oid) -> Oid {
    let who = Signature::now("B", "b@localhost").unwrap();
    let tree = repo.inner.find_tree(tree).unwrap();
    let parents: Vec<_> = parents.iter().map(|id| repo.inner.find_commit(*id).unwrap()).collect();
    let parents: Vec<_> = parents.iter().collect();
    let commit = repo.inner.commit(None, &who, &who, "theirs", &tree, &parents).unwrap();
    repo.inner.reference(reference, commit, true, "").unwrap();
    commit
}

/// How many parents the notes' own commit has.
fn parents(repo: &Repo) -> usize {
    let tip = notes::commit_of(repo, REFERENCE).unwrap().unwrap();
    repo.inner.find_commit(tip).unwrap().parent_count()
}

#[test]
fn lines_are_added_to_the_notes_of_their_commits() {
    let scratch = scratch();
    let repo = scratch.open();
    assert_eq!(notes::tip(&repo, REFERENCE).unwrap(), None);
    assert_eq!(notes::current(&repo).unwrap().commits(), [""; 0]);
    assert_eq!(text(&repo, "ab"), "");
    add(&repo, &[("ab1", "one"), ("ab2", "two"), ("c", "three"), ("ab1", "four")]);
    assert_eq!(text(&repo, "ab1"), "one\nfour\n");
    assert_eq!((text(&repo, "ab2"), text(&repo, "c")), ("two\n".into(), "three\n".into()));
    assert_eq!(notes::current(&repo).unwrap().commits(), ["ab1", "ab2", "c"].map(name));
    add(&repo, &[("ab1", "five")]);
    assert_eq!(text(&repo, "ab1"), "one\nfour\nfive\n");
    assert_eq!(text(&repo, "ab2"), "two\n");
    assert_eq!(parents(&repo), 1);
    // One folder deep, as git lays them out when they are many.
    let deep = |begin: &str| format!("{}/{}", &name(begin)[..2], &name(begin)[2..]);
    assert_eq!(paths(&repo), ["ab1", "ab2", "c"].map(deep));
    // Nothing to add is nothing to do.
    let tip = notes::tip(&repo, REFERENCE).unwrap();
    notes::add_lines(&repo, &[], "nothing").unwrap();
    assert_eq!(notes::tip(&repo, REFERENCE).unwrap(), tip);
}

#[test]
fn a_note_stays_where_others_put_it_however_deep() {
    let scratch = scratch();
    let repo = scratch.open();
    let commit: String = "0123456789abcdef0123456789abcdef01234567".into();
    let sibling = format!("{}ff", &commit[..38]);
    for depth in 0..20 {
        let mut path = String::new();
        for pair in 0..depth {
            path += &format!("{}/", &commit[2 * pair..2 * pair + 2]);
        }
        path += &commit[2 * depth..];
        lay_out(&repo, REFERENCE, &[], &[(&path, b"without an end")]);
        let lines = [(commit.clone(), "more".to_owned()), (sibling.clone(), "new".to_owned())];
        notes::add_lines(&repo, &lines, "more").unwrap();
        let notes = notes::current(&repo).unwrap();
        assert_eq!(notes.text(&commit).unwrap(), b"without an end\nmore\n", "{path}");
        assert_eq!(notes.text(&sibling).unwrap(), b"new\n", "{path}");
        assert_eq!(notes.commits(), [commit.clone(), sibling.clone()]);
        let paths = paths(&repo);
        assert_eq!(paths.len(), 2, "{paths:?}");
        assert!(paths.contains(&path), "{paths:?}");
    }
    // A folder where the last two letters of a note are to be gives way.
    let blob = repo.inner.blob(b"x").unwrap();
    let mut tree = tree_of(&repo, "deeper", blob, 0o100_644);
    for pair in (0..20).rev() {
        tree = tree_of(&repo, &commit[2 * pair..2 * pair + 2], tree, 0o040_000);
    }
    point(&repo, REFERENCE, &[], tree);
    assert_eq!(notes::current(&repo).unwrap().commits(), [""; 0]);
    notes::add_lines(&repo, &[(commit.clone(), "note".into())], "note").unwrap();
    assert_eq!(notes::current(&repo).unwrap().text(&commit).unwrap(), b"note\n");
}

#[test]
fn a_commit_with_two_notes_has_the_lines_of_both() {
    let scratch = scratch();
    let repo = scratch.open();
    let (flat, deep) = (name("ab"), format!("ab/{}", &name("ab")[2..]));
    lay_out(&repo, REFERENCE, &[], &[(&flat, b"one\nboth"), (&deep, b"both\ntwo\n")]);
    assert_eq!(text(&repo, "ab"), "one\nboth\ntwo\n");
    assert_eq!(notes::current(&repo).unwrap().commits(), [flat]);
}

#[test]
fn what_is_not_named_like_a_commit_is_no_note() {
    let scratch = scratch();
    let repo = scratch.open();
    let good = name("ab");
    let strange: [String; 8] = [
        "README".into(),
        "abcd".into(),
        "Z".repeat(40),
        format!("{}A", "a".repeat(39)),
        format!("abc/{}", "0".repeat(37)),
        format!("zz/{}", "0".repeat(38)),
        format!("cd/{}", "z".repeat(38)),
        format!("cd/ef/{}", "0".repeat(38)),
    ];
    let mut files: Vec<(&str, &[u8])> = vec![(&good, b"good\n")];
    files.extend(strange.iter().map(|path| (path.as_str(), &b"strange\n"[..])));
    lay_out(&repo, REFERENCE, &[], &files);
    assert_eq!(notes::current(&repo).unwrap().commits(), [good]);
    assert_eq!(text(&repo, "abc"), "");
}

/// Each folder holds the next one 16 times, 16^18 in all.
#[test]
fn folders_without_end_end() {
    let scratch = scratch();
    let repo = scratch.open();
    let blob = repo.inner.blob(b"note\n").unwrap();
    let mut tree = tree_of(&repo, "00", blob, 0o100_644);
    for _ in 0..18 {
        let mut builder = repo.inner.treebuilder(None).unwrap();
        for name in 0..16 {
            builder.insert(format!("{name:02x}"), tree, 0o040_000).unwrap();
        }
        tree = builder.write().unwrap();
    }
    point(&repo, REFERENCE, &[], tree);
    assert!(notes::current(&repo).unwrap().commits().len() < MAX_FOLDERS);
}

/// A note's text of so many bytes, in few lines.
fn long(bytes: usize) -> Vec<u8> {
    let mut text = vec![b'x'; bytes];
    text[bytes - 1] = b'\n';
    text
}

#[test]
fn a_note_may_have_16_mib_and_no_byte_more() {
    let scratch = scratch();
    let repo = scratch.open();
    let one = name("ab");
    lay_out(&repo, REFERENCE, &[], &[(&one, &long(MAX_NOTE - 5))]);
    let line = |text: &str| [(one.clone(), text.to_owned())];
    let error = notes::add_lines(&repo, &line("12345"), "too long").unwrap_err();
    let text = format!("the note of commit {one} in `{REFERENCE}` is larger than 16777216 bytes");
    assert_eq!(error.to_string(), text);
    assert_eq!(error.hint(), Some(format!("see `git notes --ref {REFERENCE} show {one}`")));
    notes::add_lines(&repo, &line("1234"), "fits").unwrap();
    assert_eq!(notes::current(&repo).unwrap().text(&one).unwrap().len(), MAX_NOTE);
    lay_out(&repo, REFERENCE, &[], &[(&one, &long(MAX_NOTE + 1))]);
    let error = notes::current(&repo).unwrap().text(&one).unwrap_err();
    assert!(error.to_string().contains("is larger than"), "{error}");
    // The others can be read all the same.
    assert_eq!(notes::current(&repo).unwrap().commits(), [one]);
}

#[test]
fn a_reference_that_cannot_be_read_is_not_one_that_is_not_there() {
    let scratch = scratch();
    let file = scratch.path().join(".git").join(REFERENCE);
    std::fs::create_dir_all(file.parent().unwrap()).unwrap();
    std::fs::write(&file, "no commit\n").unwrap();
    let repo = scratch.open();
    for error in [notes::current(&repo).err(), notes::tip(&repo, REFERENCE).err()] {
        assert_eq!(error.unwrap().to_string(), format!("could not read `{REFERENCE}`"));
    }
    assert!(notes::add_lines(&repo, &[(name("ab"), "line".into())], "m").is_err());
    assert_eq!(std::fs::read_to_string(file).unwrap(), "no commit\n");
}

#[test]
fn who_comes_too_late_begins_again() {
    let scratch = scratch();
    let (repo, other) = (scratch.open(), scratch.open());
    for begin in ["a", "b"] {
        let mut attempts = 0;
        let written = notes::write(&repo, "slow", None, |notes| {
            attempts += 1;
            if attempts < 3 {
                add(&other, &[(begin, &attempts.to_string())]);
            }
            let mut text = notes.text(&name(begin)).unwrap();
            text.extend_from_slice(b"mine\n");
            Ok(BTreeMap::from([(name(begin), text)]))
        });
        written.unwrap();
        assert_eq!(attempts, 3);
        assert_eq!(text(&repo, begin), "1\n2\nmine\n");
    }
}

#[test]
fn a_lock_is_waited_for_and_what_nobody_can_write_is_an_error_at_once() {
    let scratch = scratch();
    let repo = scratch.open();
    add(&repo, &[("a", "first")]);
    let lock = scratch.path().join(".git").join(format!("{REFERENCE}.lock"));
    std::fs::write(&lock, "").unwrap();
    let mut attempts = 0;
    let written = notes::write(&repo, "behind a lock", None, |_| {
        attempts += 1;
        if attempts == 3 {
            std::fs::remove_file(&lock).unwrap();
        }
        Ok(BTreeMap::from([(name("a"), b"second\n".to_vec())]))
    });
    written.unwrap();
    assert_eq!((attempts, text(&repo, "a")), (3, "second\n".into()));
    // A file in the place of the folder of all notes: not a matter of patience.
    let notes = scratch.path().join(".git/refs/notes");
    std::fs::remove_dir_all(&notes).unwrap();
    std::fs::write(&notes, "").unwrap();
    let mut attempts = 0;
    let written = notes::write(&repo, "nowhere", None, |_| {
        attempts += 1;
        Ok(BTreeMap::from([(name("a"), b"third\n".to_vec())]))
    });
    let error = written.unwrap_err();
    assert_eq!((attempts, error.to_string()), (1, format!("could not write `{REFERENCE}`")));
}

#[test]
fn pauses_are_short_and_differ() {
    for attempt in 0..ATTEMPTS {
        for process in [1, 2, 3, 12_345, 4_194_304] {
            let pause = pause(process, attempt);
            assert!((1..=40).contains(&pause.as_millis()), "{pause:?}");
        }
        assert_ne!(pause(7, attempt), pause(8, attempt));
    }
    assert_eq!(pause(100, 0), Duration::from_millis(1));
    assert_eq!(pause(101, 0), Duration::from_millis(1 + 7));
    assert_eq!(pause(101, 1), Duration::from_millis(1 + 1));
    assert_eq!(pause(101, 40), Duration::from_millis(1 + 7 + 20));
}

#[test]
fn the_first_of_several_writers_at_once_is_not_overwritten() {
    const WRITERS: usize = 4;
    const ROUNDS: usize = 40;
    let scratch = scratch();
    let repo = scratch.open();
    let start = std::sync::Barrier::new(WRITERS);
    for _ in 0..ROUNDS {
        std::thread::scope(|scope| {
            for writer in 0..WRITERS {
                let (scratch, start) = (scratch.path(), &start);
                scope.spawn(move || {
                    let repo = Repo::discover(&scratch).unwrap();
                    start.wait();
                    add(&repo, &[("ab", &writer.to_string())]);
                });
            }
        });
        let written = text(&repo, "ab");
        assert_eq!(written.lines().count(), WRITERS, "{written}");
        notes::forget(&repo, REFERENCE).unwrap();
    }
}
