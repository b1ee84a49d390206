//! Results that are stored with their commits, and the check of a new result against them.
//!
//! A result is a line of JSON in the git note of its commit ([`note`],
//! [`crate::workspace::git::notes`]): no server, and no file that gets lost with a
//! machine. [`record`] measures and stores one, [`check`] tests whether it fits the
//! history ([`crate::stats::lookback`]), [`list`] shows the history, [`sync`] pushes it to
//! a remote and pulls it from there. [`learn`] has the thresholds that it allows.

pub mod check;
pub mod fingerprint;
pub(crate) mod learn;
pub mod list;
pub mod note;
pub mod record;
pub mod sync;

use std::collections::BTreeMap;

use note::{CommitNote, Content, NoteLine, SkippedLines};

use crate::error::{Error, Failure};
use crate::model::Revision;
use crate::workspace::Request;
use crate::workspace::git::line::Commit;
use crate::workspace::git::notes::{self, Notes};
use crate::workspace::git::{Repo, abbreviated};

/// Some commits, oldest first, and their notes.
type Past = Vec<(Commit, CommitNote)>;

/// Reads the notes as they were at one moment, and counts the lines that can't be read.
struct NoteReader<'a> {
    notes: Notes<'a>,
    skipped: SkippedLines,
}

impl<'a> NoteReader<'a> {
    fn open(repo: &'a Repo) -> Result<Self, Error> {
        Ok(NoteReader { notes: notes::current(repo)?, skipped: SkippedLines::default() })
    }

    /// The note of a commit. An unreadable note counts as an unreadable line.
    fn read(&mut self, commit: &str) -> CommitNote {
        let mut note = CommitNote::default();
        match self.notes.text(commit) {
            Ok(text) => note = CommitNote::parse(&text, commit),
            Err(error) => note.skipped.add(commit, error.to_string()),
        }
        self.skipped.count += note.skipped.count;
        if self.skipped.example.is_none() {
            self.skipped.example.clone_from(&note.skipped.example);
        }
        note
    }

    /// The notes of commits, which are given newest first.
    fn past(&mut self, commits: Vec<Commit>) -> Past {
        let with_note = |commit: Commit| {
            let note = self.read(&commit.id);
            (commit, note)
        };
        commits.into_iter().rev().map(with_note).collect()
    }
}

/// Adds lines to the note of a commit. `refuse` is the error if one of them can't be stored.
fn add_lines(
    (repo, commit): (&Repo, &str),
    contents: impl IntoIterator<Item = Content>,
    message: &str,
    refuse: fn(String) -> Failure,
) -> Result<(), Error> {
    let mut lines = Vec::new();
    for content in contents {
        let line = NoteLine::new(content).to_json().map_err(refuse)?;
        lines.push((commit.to_owned(), line));
    }
    Ok(notes::add_lines(repo, &lines, message)?)
}

fn unannotated(why: String) -> Failure {
    Failure::new(format!("can't annotate: {why}"), "see `cargo cbdr history annotate --help`")
}

/// The error that no result of a commit is stored `place`, while there are `others` of other
/// machines, and lines that were skipped.
fn no_result(
    Revision { rev, commit, .. }: &Revision,
    place: &str,
    others: usize,
    skipped: &SkippedLines,
) -> Failure {
    let what = format!("no result of {rev} ({}){place} is stored", abbreviated(commit));
    let apart = skipped.example.as_ref().map_or_else(String::new, |(commit, why)| {
        let (count, commit) = (skipped.count, abbreviated(commit));
        format!(", apart from lines that can't be read ({count}; one, of {commit}: {why})")
    });
    Failure::new(
        what + &apart,
        match others {
            0 => "`cargo cbdr history record` measures one",
            _ => "there are results from other machines: `--all-machines` includes them",
        },
    )
}

/// Records that the level is expected to change at the commit `rev`; returns the
/// commit.
///
/// # Errors
/// If there is no such commit, `why` is empty or too long, or the note can't be
/// written.
pub fn annotate(request: &Request, rev: &str, why: &str) -> Result<String, Error> {
    let repo = Repo::discover(&request.folder)?;
    let commit = repo.at(Some(rev))?.commit;
    if why.trim().is_empty() {
        return Err(unannotated("the text is empty: add a reason".to_owned()).into());
    }
    let change = [Content::Change(why.trim().to_owned())];
    add_lines((&repo, &commit), change, "Annotate a change", unannotated)?;
    Ok(commit)
}

/// Removes the annotations of the commit `rev`; returns the commit and the number
/// of annotations that it had.
///
/// # Errors
/// If there is no such commit, it has no annotations, or the note can't be written.
pub fn remove_annotations(request: &Request, rev: &str) -> Result<(String, usize), Error> {
    let repo = Repo::discover(&request.folder)?;
    let commit = repo.at(Some(rev))?.commit;
    let annotations = NoteReader::open(&repo)?.read(&commit).annotations;
    if annotations.is_empty() {
        return Err(unannotated(format!("commit {commit} has no annotation")).into());
    }
    let count = annotations.len();
    let removals = annotations.into_iter().map(|annotation| Content::Removes(annotation.id));
    add_lines((&repo, &commit), removals, "Remove an annotation", unannotated)?;
    Ok((commit, count))
}

/// The notes of all commits that have one.
///
/// # Errors
/// If there is no repository, or its notes can't be read.
pub fn all_notes(request: &Request) -> Result<(BTreeMap<String, CommitNote>, SkippedLines), Error> {
    let repo = Repo::discover(&request.folder)?;
    let mut reader = NoteReader::open(&repo)?;
    let mut notes = BTreeMap::new();
    for commit in reader.notes.commits() {
        let note = reader.read(&commit);
        notes.insert(commit, note);
    }
    Ok((notes, reader.skipped))
}
