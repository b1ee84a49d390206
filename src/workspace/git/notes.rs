//! The notes under `refs/notes/cbdr`: lines of text that belong to a commit
//! and travel with the repository.
//!
//! A note is a set of lines; writers only add to it. A writer creates a new commit of the
//! notes on top of the one that it read, and updates the reference only if it has not
//! changed in the meantime; otherwise it starts again. So no line is lost, however many
//! writers there are.

use std::collections::HashSet;
use std::collections::btree_map::{BTreeMap, Entry};
use std::time::Duration;

use git2::build::TreeUpdateBuilder;
use git2::{Commit, ErrorCode, FileMode, ObjectType, Oid, Repository, Signature, Tree};

use super::{Error, Repo};

#[cfg(test)]
mod tests;

/// The reference of the notes.
pub(crate) const REFERENCE: &str = "refs/notes/cbdr";

/// The maximum size of a note, bytes: notes of others are read, too.
pub(crate) const MAX_NOTE: usize = 16 << 20;

/// The maximum number of notes to read, and of their folders: as many as two levels can
/// have.
const MAX_NOTES: usize = 1_000_000;
const MAX_FOLDERS: usize = 1 + 256 + 65_536;

/// The number of attempts of a writer.
const ATTEMPTS: u64 = 500;

/// The notes at one moment.
pub(crate) struct Notes<'a> {
    inner: &'a Repository,
    tree: Option<Tree<'a>>,
    by_commit: BTreeMap<String, StoredNote>,
}

/// The note of a commit. Where writers have put it at several places, it is all of them.
#[derive(Default, PartialEq, Eq)]
struct StoredNote {
    /// The path of the outermost one in the tree.
    path: String,
    blobs: Vec<Oid>,
}

/// What a merge of notes changed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Merged {
    /// The number of new lines.
    pub lines: usize,
    /// The number of notes that were left unchanged because they are too large.
    pub skipped: usize,
}

/// The current notes.
///
/// # Errors
/// If they can't be read.
pub(crate) fn current(repo: &Repo) -> Result<Notes<'_>, Error> {
    notes_at(repo, commit_of(repo, REFERENCE)?)
}

fn notes_at(repo: &Repo, tip: Option<Oid>) -> Result<Notes<'_>, Error> {
    let failed = || Error::git("read", REFERENCE);
    let inner = &repo.inner;
    let tree = tip.map(|tip| repo.commit(tip)?.tree().map_err(failed())).transpose()?;
    let by_commit = tree.as_ref().map(|tree| stored_notes(inner, tree).map_err(failed()));
    Ok(Notes { inner, by_commit: by_commit.transpose()?.unwrap_or_default(), tree })
}

/// Git distributes many notes over folders named after the first letters of the commits, and
/// mixes depths when their number changes.
fn stored_notes(
    inner: &Repository,
    root: &Tree<'_>,
) -> Result<BTreeMap<String, StoredNote>, git2::Error> {
    let mut found: BTreeMap<String, StoredNote> = BTreeMap::new();
    let mut left = vec![(String::new(), root.clone())];
    let mut folders = 1;
    while let Some((folder, tree)) = left.pop() {
        let letters = folder.replace('/', "");
        for entry in tree.iter().take(MAX_NOTES.saturating_sub(found.len())) {
            let Ok(name) = entry.name() else { continue };
            let (commit, path) = (format!("{letters}{name}"), format!("{folder}{name}"));
            let is_hex = name.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b));
            let is_folder = name.len() == 2 && commit.len() < 40 && folders < MAX_FOLDERS;
            match entry.kind() {
                Some(ObjectType::Tree) if is_hex && is_folder => {
                    folders += 1;
                    left.push((path + "/", inner.find_tree(entry.id())?));
                }
                Some(ObjectType::Blob) if is_hex && commit.len() == 40 => {
                    let note = StoredNote { path, blobs: Vec::new() };
                    found.entry(commit).or_insert(note).blobs.push(entry.id());
                }
                _ => {}
            }
        }
    }
    Ok(found)
}

/// The commit of a reference, in hexadecimal, if it exists.
///
/// # Errors
/// If it can't be read.
pub(crate) fn tip(repo: &Repo, reference: &str) -> Result<Option<String>, Error> {
    Ok(commit_of(repo, reference)?.map(|id| id.to_string()))
}

fn commit_of(repo: &Repo, name: &str) -> Result<Option<Oid>, Error> {
    match repo.inner.refname_to_id(name) {
        Ok(id) => Ok(Some(id)),
        Err(error) if error.code() == ErrorCode::NotFound => Ok(None),
        Err(error) => Err(Error::git("read", name)(error)),
    }
}

/// Adds lines to the notes of commits. `message` is the message of the
/// notes' commit.
///
/// # Errors
/// If the notes can't be written.
pub(crate) fn add_lines(
    repo: &Repo,
    lines: &[(String, String)],
    message: &str,
) -> Result<(), Error> {
    write(repo, message, None, |notes| {
        let mut texts: BTreeMap<String, Vec<u8>> = BTreeMap::new();
        for (commit, line) in lines {
            let text = match texts.entry(commit.clone()) {
                Entry::Occupied(text) => text.into_mut(),
                Entry::Vacant(text) => text.insert(notes.text(commit)?),
            };
            push_line(text, line.as_bytes());
            if text.len() > MAX_NOTE {
                return Err(large(commit));
            }
        }
        Ok(texts)
    })
}

/// Merges the notes under another reference into ours: each note gets the lines of
/// both.
pub(crate) fn merge_notes(repo: &Repo, from: &str) -> Result<Merged, Error> {
    let Some(theirs) = commit_of(repo, from)? else { return Ok(Merged::default()) };
    let ours = commit_of(repo, REFERENCE)?;
    if ours.is_some_and(|ours| repo.is_on(theirs, ours).unwrap_or(false)) {
        return Ok(Merged::default());
    }
    let is_behind = ours.is_none_or(|ours| repo.is_on(ours, theirs).unwrap_or(false));
    let other = notes_at(repo, Some(theirs))?;
    if is_behind {
        let union = Union::new(&notes_at(repo, ours)?, &other);
        // Another writer may have removed some of our lines.
        if union.adds_only && advance(repo, ours, theirs, "Take the notes of a remote")? {
            return Ok(union.merged);
        }
    }
    let mut merged = Merged::default();
    write(repo, "Merge the notes of a remote", Some(theirs), |notes| {
        let union = Union::new(notes, &other);
        merged = union.merged;
        Ok(union.texts)
    })?;
    Ok(merged)
}

/// The notes with the lines of two.
struct Union {
    /// The texts of those to which the other ones add lines.
    texts: BTreeMap<String, Vec<u8>>,
    merged: Merged,
    /// Whether the other ones have all the lines of the first.
    adds_only: bool,
}

impl Union {
    fn new(ours: &Notes<'_>, theirs: &Notes<'_>) -> Self {
        let adds_only = ours.by_commit.keys().all(|commit| theirs.by_commit.contains_key(commit));
        let mut union = Union { texts: BTreeMap::new(), merged: Merged::default(), adds_only };
        for (commit, note) in &theirs.by_commit {
            let own = ours.by_commit.get(commit);
            if own.is_some_and(|own| own.blobs == note.blobs) {
                continue;
            }
            let (Ok(mut text), Ok(other)) = (ours.text(commit), theirs.text(commit)) else {
                union.merged.skipped += 1;
                union.adds_only &= own.is_none();
                continue;
            };
            union.adds_only &= add_missing(&mut other.clone(), &text) == 0;
            let new = add_missing(&mut text, &other);
            if text.len() > MAX_NOTE {
                union.merged.skipped += 1;
            } else if new > 0 {
                union.merged.lines += new;
                union.texts.insert(commit.clone(), text);
            }
        }
        union
    }
}

/// Removes a temporary reference.
pub(crate) fn forget(repo: &Repo, reference: &str) -> Result<(), Error> {
    match repo.inner.find_reference(reference) {
        Ok(mut found) => found.delete().map_err(Error::git("remove", reference)),
        Err(_) => Ok(()),
    }
}

/// Creates a new commit of the notes with the texts that `change` returns, on top of
/// the current one and of `theirs`; retries as long as another writer is faster.
fn write(
    repo: &Repo,
    message: &str,
    theirs: Option<Oid>,
    mut change: impl FnMut(&Notes<'_>) -> Result<BTreeMap<String, Vec<u8>>, Error>,
) -> Result<(), Error> {
    let failed = || Error::git("write", REFERENCE);
    let ours = |_| Signature::now("cargo cbdr", "cargo-cbdr@localhost");
    let who = repo.inner.signature().or_else(ours).map_err(failed())?;
    for attempt in 0..ATTEMPTS {
        let tip = commit_of(repo, REFERENCE)?;
        let notes = notes_at(repo, tip)?;
        let texts = change(&notes)?;
        if texts.is_empty() && theirs.is_none() {
            return Ok(());
        }
        let tree = notes.with(&texts).map_err(failed())?;
        let parents = tip.into_iter().chain(theirs).map(|id| repo.commit(id));
        let parents: Vec<Commit<'_>> = parents.collect::<Result<_, _>>()?;
        let parents: Vec<&Commit<'_>> = parents.iter().collect();
        let new = repo.inner.commit(None, &who, &who, message, &tree, &parents);
        let new = new.map_err(failed())?;
        if advance(repo, tip, new, message)? {
            return Ok(());
        }
        std::thread::sleep(pause(std::process::id(), attempt));
    }
    let lock = repo.inner.commondir().join(format!("{REFERENCE}.lock"));
    let lock = lock.display();
    Err(Error::refused(
        format!("could not write `{REFERENCE}`: others kept changing or locking it"),
        format!("when no git and no cargo cbdr is running here, remove `{lock}`"),
    ))
}

/// Moves the reference from `tip` to `new`, or creates it; false if it is no longer at
/// `tip`, or another writer holds its lock.
fn advance(repo: &Repo, tip: Option<Oid>, new: Oid, message: &str) -> Result<bool, Error> {
    // The zero id stands for a reference that does not exist yet. Creating it without
    // `force` instead would not be enough: libgit2 makes that check before it takes the
    // lock, so one of two first writers could overwrite the other's notes.
    let old = tip.unwrap_or(Oid::ZERO_SHA1);
    match repo.inner.reference_matching(REFERENCE, new, true, old, message) {
        Ok(_) => Ok(true),
        Err(error) if is_race(error.code()) => Ok(false),
        Err(error) => Err(Error::git("write", REFERENCE)(error)),
    }
}

/// Whether another writer was faster or holds the lock.
fn is_race(code: ErrorCode) -> bool {
    matches!(
        code,
        ErrorCode::Modified | ErrorCode::Exists | ErrorCode::Locked | ErrorCode::NotFound
    )
}

/// How long to wait after a failed attempt: 1 to 40 ms, a different time in each process.
fn pause(process: u32, attempt: u64) -> Duration {
    let spread = (u64::from(process) * 7 + attempt * 13) % 20;
    Duration::from_millis(1 + spread + attempt.min(20))
}

fn large(commit: &str) -> Error {
    Error::refused(
        format!("the note of commit {commit} in `{REFERENCE}` is larger than {MAX_NOTE} bytes"),
        format!("see `git notes --ref {REFERENCE} show {commit}`"),
    )
}

/// Adds the lines of `other` that `text` lacks, and returns their number.
fn add_missing(text: &mut Vec<u8>, other: &[u8]) -> usize {
    fn lines(text: &[u8]) -> impl Iterator<Item = &[u8]> {
        text.split(|byte| *byte == b'\n').filter(|line| !line.trim_ascii().is_empty())
    }
    let known: HashSet<Vec<u8>> = lines(text).map(<[u8]>::to_vec).collect();
    let new = lines(other).filter(|line| !known.contains(*line));
    new.map(|line| push_line(text, line)).count()
}

fn push_line(text: &mut Vec<u8>, line: &[u8]) {
    if text.last().is_some_and(|last| *last != b'\n') {
        text.push(b'\n');
    }
    text.extend_from_slice(line);
    text.push(b'\n');
}

impl Notes<'_> {
    /// The commits that have a note, sorted.
    pub(crate) fn commits(&self) -> Vec<String> {
        self.by_commit.keys().cloned().collect()
    }

    /// The note of a commit; empty if there is none.
    ///
    /// # Errors
    /// If the note is too large or can't be read.
    pub(crate) fn text(&self, commit: &str) -> Result<Vec<u8>, Error> {
        let mut text = Vec::new();
        for blob in self.by_commit.get(commit).iter().flat_map(|note| &note.blobs) {
            let other = self.blob(commit, *blob)?;
            if text.is_empty() {
                text = other;
            } else {
                add_missing(&mut text, &other);
            }
        }
        Ok(text)
    }

    fn blob(&self, commit: &str, id: Oid) -> Result<Vec<u8>, Error> {
        let failed = || Error::git("read the note of", commit);
        let odb = self.inner.odb().map_err(failed())?;
        let (size, _) = odb.read_header(id).map_err(failed())?;
        if size > MAX_NOTE {
            return Err(large(commit));
        }
        Ok(self.inner.find_blob(id).map_err(failed())?.content().to_vec())
    }

    /// The tree of these notes with new texts for some commits: in the place of the commit's
    /// note, or one folder deep.
    fn with(&self, texts: &BTreeMap<String, Vec<u8>>) -> Result<Tree<'_>, git2::Error> {
        let tree = match &self.tree {
            Some(tree) => tree.clone(),
            None => self.inner.find_tree(self.inner.treebuilder(None)?.write()?)?,
        };
        let mut update = TreeUpdateBuilder::new();
        for (commit, text) in texts {
            let (folder, rest) = commit.split_at(2);
            let there = tree.get_name(folder);
            let path = match self.by_commit.get(commit) {
                Some(note) => note.path.clone(),
                None if there.is_none_or(|there| there.kind() == Some(ObjectType::Tree)) => {
                    format!("{folder}/{rest}")
                }
                None => commit.clone(),
            };
            update.upsert(path, self.inner.blob(text)?, FileMode::Blob);
        }
        self.inner.find_tree(update.create_updated(self.inner, &tree)?)
    }
}
