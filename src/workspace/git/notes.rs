//! The notes under `refs/notes/cbdr`: lines of text that belong to a commit
//! and travel with the repository.
//!
//! A note is a set of lines; writers only add to it. A writer creates a new commit of the
//! notes on top of the one that it read, and updates the reference only if it has not
//! changed in the meantime; otherwise it starts again. So no line is lost, however many
//! writers there are.

use std::collections::BTreeMap;
use std::time::Duration;

use git2::{Commit, ErrorCode, ObjectType, Oid, Repository, Signature, Tree};

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
    let tree = tip.map(|tip| repo.commit(tip)?.tree().map_err(Error::git("read", REFERENCE)));
    Ok(Notes { inner: &repo.inner, tree: tree.transpose()? })
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
    let mut added: BTreeMap<String, String> = BTreeMap::new();
    for (commit, line) in lines {
        let text = added.entry(commit.clone()).or_default();
        text.push_str(line);
        text.push('\n');
    }
    write(repo, message, None, |notes| {
        let mut blobs = BTreeMap::new();
        for (commit, text) in &added {
            let mut old = notes.text(commit)?;
            if old.last().is_some_and(|last| *last != b'\n') {
                old.push(b'\n');
            }
            old.extend_from_slice(text.as_bytes());
            if old.len() > MAX_NOTE {
                return Err(large(commit));
            }
            let blob = repo.inner.blob(&old).map_err(Error::git("write", REFERENCE))?;
            blobs.insert(commit.clone(), blob);
        }
        Ok(blobs)
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
    // Another writer may have removed some of our lines.
    if is_behind
        && let Some(news) = news(repo, ours, theirs)?
        && advance(repo, ours, theirs, "Take the notes of a remote")?
    {
        return Ok(news);
    }
    let other = notes_at(repo, Some(theirs))?;
    let other_blobs = other.blobs()?;
    let mut merged = Merged::default();
    write(repo, "Merge the notes of a remote", Some(theirs), |notes| {
        merged = Merged::default();
        let own = notes.blobs()?;
        let mut blobs = BTreeMap::new();
        for (commit, theirs) in &other_blobs {
            if own.get(commit) == Some(theirs) {
                continue;
            }
            let Ok(text) = other.text(commit) else {
                merged.skipped += 1;
                continue;
            };
            let mut union = notes.text(commit).unwrap_or_default();
            let new = add_missing(&mut union, &text);
            if union.len() > MAX_NOTE {
                merged.skipped += 1;
            } else if new > 0 {
                merged.lines += new;
                let blob = repo.inner.blob(&union).map_err(Error::git("write", REFERENCE))?;
                blobs.insert(commit.clone(), blob);
            }
        }
        Ok(blobs)
    })?;
    Ok(merged)
}

/// What the notes at `theirs` add to those at `ours`; `None` if they lack one of our
/// lines.
fn news(repo: &Repo, ours: Option<Oid>, theirs: Oid) -> Result<Option<Merged>, Error> {
    let (ours, theirs) = (notes_at(repo, ours)?, notes_at(repo, Some(theirs))?);
    let (known, others) = (ours.blobs()?, theirs.blobs()?);
    let mut merged = Merged::default();
    for (commit, blob) in &others {
        if known.get(commit) == Some(blob) {
            continue;
        }
        match (ours.text(commit), theirs.text(commit)) {
            (Ok(ours), Ok(theirs)) if add_missing(&mut theirs.clone(), &ours) > 0 => {
                return Ok(None);
            }
            (Ok(mut ours), Ok(theirs)) => merged.lines += add_missing(&mut ours, &theirs),
            _ if known.contains_key(commit) => return Ok(None),
            _ => merged.skipped += 1,
        }
    }
    Ok(known.keys().all(|commit| others.contains_key(commit)).then_some(merged))
}

/// Removes a temporary reference.
pub(crate) fn forget(repo: &Repo, reference: &str) -> Result<(), Error> {
    match repo.inner.find_reference(reference) {
        Ok(mut found) => found.delete().map_err(Error::git("remove", reference)),
        Err(_) => Ok(()),
    }
}

/// Creates a new commit of the notes with the blobs that `change` returns, on top of
/// the current one and of `theirs`; retries as long as another writer is faster.
fn write(
    repo: &Repo,
    message: &str,
    theirs: Option<Oid>,
    mut change: impl FnMut(&Notes<'_>) -> Result<BTreeMap<String, Oid>, Error>,
) -> Result<(), Error> {
    let failed = || Error::git("write", REFERENCE);
    let ours = |_| Signature::now("cargo cbdr", "cargo-cbdr@localhost");
    let who = repo.inner.signature().or_else(ours).map_err(failed())?;
    for attempt in 0..ATTEMPTS {
        let tip = commit_of(repo, REFERENCE)?;
        let notes = notes_at(repo, tip)?;
        let blobs: Vec<_> = change(&notes)?.into_iter().collect();
        if blobs.is_empty() && theirs.is_none() {
            return Ok(());
        }
        let tree = notes.with(notes.tree.as_ref(), 0, &blobs)?;
        let tree = repo.inner.find_tree(tree).map_err(failed())?;
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
    let lines = |text: &[u8]| -> Vec<Vec<u8>> {
        let lines = text.split(|byte| *byte == b'\n').filter(|line| !line.trim_ascii().is_empty());
        lines.map(<[u8]>::to_vec).collect()
    };
    let known: std::collections::HashSet<Vec<u8>> = lines(text).into_iter().collect();
    if text.last().is_some_and(|last| *last != b'\n') {
        text.push(b'\n');
    }
    let mut new = 0;
    for line in lines(other).into_iter().filter(|line| !known.contains(line)) {
        text.extend_from_slice(&line);
        text.push(b'\n');
        new += 1;
    }
    new
}

impl Notes<'_> {
    /// The note of a commit; empty if there is none.
    ///
    /// # Errors
    /// If the note is too large or can't be read.
    pub(crate) fn text(&self, commit: &str) -> Result<Vec<u8>, Error> {
        let mut text = Vec::new();
        let mut trees: Vec<Tree<'_>> = self.tree.iter().cloned().collect();
        let mut depth = 0;
        // Git distributes many notes over folders named after the first letters
        // of the commits, and mixes depths when their number changes.
        while let Some(tree) = trees.pop() {
            let rest = &commit[depth..];
            if let Some(entry) = tree.get_name(rest).filter(|e| e.kind() == Some(ObjectType::Blob))
            {
                let blob = self.blob(commit, entry.id())?;
                if text.is_empty() {
                    text = blob
                } else {
                    add_missing(&mut text, &blob);
                }
            }
            if rest.len() > 2
                && let Some(entry) = tree.get_name(&rest[..2])
                && entry.kind() == Some(ObjectType::Tree)
            {
                trees.push(self.tree(entry.id())?);
                depth += 2;
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

    fn tree(&self, id: Oid) -> Result<Tree<'_>, Error> {
        self.inner.find_tree(id).map_err(Error::git("read", REFERENCE))
    }

    /// The commits that have a note, sorted.
    ///
    /// # Errors
    /// If the notes can't be read.
    pub(crate) fn commits(&self) -> Result<Vec<String>, Error> {
        Ok(self.blobs()?.into_keys().collect())
    }

    /// The note of each commit; one of them if a commit has several.
    fn blobs(&self) -> Result<BTreeMap<String, Oid>, Error> {
        let mut found = BTreeMap::new();
        let mut left: Vec<(String, Tree<'_>)> =
            self.tree.iter().map(|tree| (String::new(), tree.clone())).collect();
        let mut folders = left.len();
        while let Some((prefix, tree)) = left.pop() {
            for entry in tree.iter().take(MAX_NOTES.saturating_sub(found.len())) {
                let Ok(name) = entry.name() else { continue };
                let name = format!("{prefix}{name}");
                let is_hex = name.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b));
                match entry.kind() {
                    Some(ObjectType::Tree)
                        if is_hex
                            && name.len() == prefix.len() + 2
                            && name.len() < 40
                            && folders < MAX_FOLDERS =>
                    {
                        folders += 1;
                        left.push((name, self.tree(entry.id())?));
                    }
                    Some(ObjectType::Blob) if is_hex && name.len() == 40 => {
                        found.insert(name, entry.id());
                    }
                    _ => {}
                }
            }
        }
        Ok(found)
    }

    /// Writes the tree of these notes with new blobs for some commits: in the place of the
    /// commit's note, or one folder deep. The first `depth` letters of the commits are the
    /// folder of `tree`.
    fn with(
        &self,
        tree: Option<&Tree<'_>>,
        depth: usize,
        blobs: &[(String, Oid)],
    ) -> Result<Oid, Error> {
        let failed = || Error::git("write", REFERENCE);
        let kind = |name: &str| tree.and_then(|tree| tree.get_name(name)).and_then(|e| e.kind());
        let mut builder = self.inner.treebuilder(tree).map_err(failed())?;
        for group in blobs.chunk_by(|(one, _), (other, _)| one[..depth + 2] == other[..depth + 2]) {
            let folder = &group[0].0[depth..depth + 2];
            // The last two letters name a note, even if another writer created a folder.
            let is_folder = depth + 2 < group[0].0.len() && kind(folder) == Some(ObjectType::Tree);
            let is_here = |(commit, _): &&(String, Oid)| {
                kind(&commit[depth..]) == Some(ObjectType::Blob) || !(is_folder || depth == 0)
            };
            for (commit, blob) in group.iter().filter(is_here) {
                builder.insert(&commit[depth..], *blob, 0o100_644).map_err(failed())?;
            }
            let deeper: Vec<_> = group.iter().filter(|entry| !is_here(entry)).cloned().collect();
            if !deeper.is_empty() {
                let below = tree.filter(|_| is_folder).and_then(|tree| tree.get_name(folder));
                let below = below.map(|entry| self.tree(entry.id())).transpose()?;
                let id = self.with(below.as_ref(), depth + 2, &deeper)?;
                builder.insert(folder, id, 0o040_000).map_err(failed())?;
            }
        }
        builder.write().map_err(failed())
    }
}
