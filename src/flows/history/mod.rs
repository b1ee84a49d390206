//! The past: results that are stored with their commits, and what they say of
//! a new one.
//!
//! A result is a line of JSON in the git note of its commit ([`entry`],
//! [`crate::workspace::git::notes`]): no server, and no file that gets lost with a
//! machine. [`record`] measures and stores one, [`check`] asks whether it fits
//! the past ([`crate::stats::lookback`]), [`series`] lays the past out,
//! [`sync`] takes it to a remote and brings it from there.

pub mod check;
pub mod entry;
pub mod hardware;
pub mod record;
pub mod series;
pub mod sync;

use std::collections::BTreeMap;

use entry::{Line, Noted};

use crate::error::{Error, Kind};
use crate::workspace::Request;
use crate::workspace::git::Repo;
use crate::workspace::git::line::Commit;
use crate::workspace::git::notes::Notes;

/// The notes of one moment, read commit by commit.
struct Book<'a> {
    notes: Notes<'a>,
    skipped: Skipped,
}

/// Lines that were no lines of ours.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Skipped {
    /// How many.
    pub lines: usize,
    /// The commit of one of them, and what is wrong with it.
    pub example: Option<(String, String)>,
}

impl<'a> Book<'a> {
    fn open(repo: &'a Repo) -> Result<Self, Error> {
        Ok(Book { notes: repo.notes()?, skipped: Skipped::default() })
    }

    /// What is noted of a commit. A note that can't be read has nothing to
    /// say, which is counted.
    fn of(&mut self, commit: &str) -> Noted {
        let noted = match self.notes.text(commit) {
            Ok(text) => Noted::read(&text, commit),
            Err(error) => Noted { skipped: (1, Some(error.to_string())), ..Noted::default() },
        };
        self.skipped.lines += noted.skipped.0;
        if let (Some(why), None) = (&noted.skipped.1, &self.skipped.example) {
            self.skipped.example = Some((commit.to_owned(), why.clone()));
        }
        noted
    }
}

/// Some commits, oldest first, and what is noted of them.
type Past = Vec<(Commit, Noted)>;

/// The commits of a line, which comes newest first, with their notes.
fn past(book: &mut Book<'_>, line: Vec<Commit>) -> Past {
    let with_notes = |commit: Commit| {
        let noted = book.of(&commit.id);
        (commit, noted)
    };
    line.into_iter().rev().map(with_notes).collect()
}

/// Says that from the commit `rev` on another level is to be expected; returns
/// the commit.
///
/// # Errors
/// When there is no such commit, `why` is empty or too long, or the note can't
/// be written.
pub fn annotate(request: &Request, rev: &str, why: &str) -> Result<String, Error> {
    let repo = Repo::discover(&request.folder)?;
    let commit = repo.at(Some(rev))?.commit;
    if why.trim().is_empty() {
        return Err(Kind::Annotation("say why: the text is empty".to_owned()).into());
    }
    let line = Line::of_change(why.trim());
    let written = line.written().map_err(Kind::Annotation)?;
    repo.add_lines(&[(commit.clone(), written)], "Annotate a change")?;
    Ok(commit)
}

/// Takes back what [`annotate`] said of the commit `rev`; returns the commit and
/// how many annotations it had.
///
/// # Errors
/// When there is no such commit, it has none, or the note can't be written.
pub fn remove_annotations(request: &Request, rev: &str) -> Result<(String, usize), Error> {
    let repo = Repo::discover(&request.folder)?;
    let commit = repo.at(Some(rev))?.commit;
    let changes = Book::open(&repo)?.of(&commit).changes;
    if changes.is_empty() {
        let what = format!("commit {commit} has no annotation");
        return Err(Kind::Annotation(what).into());
    }
    let line = |change: &entry::Change| {
        let line = Line::of_removal(&change.id);
        Ok((commit.clone(), line.written().map_err(Kind::Annotation)?))
    };
    let lines = changes.iter().map(line).collect::<Result<Vec<_>, Error>>()?;
    repo.add_lines(&lines, "Remove an annotation")?;
    Ok((commit, lines.len()))
}

/// Everything that is noted, commit by commit.
///
/// # Errors
/// When there is no repository, or its notes can't be read.
pub fn everything(request: &Request) -> Result<(BTreeMap<String, Noted>, Skipped), Error> {
    let repo = Repo::discover(&request.folder)?;
    let mut book = Book::open(&repo)?;
    let commits = book.notes.commits()?;
    let read = |commit: String| {
        let noted = book.of(&commit);
        (commit, noted)
    };
    let all = commits.into_iter().map(read).collect();
    Ok((all, book.skipped))
}
