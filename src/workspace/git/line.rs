//! The commits before a commit, and between two commits.

use std::collections::HashMap;

use git2::{Oid, Sort};

use super::{Error, Repo, abbreviated, oid};

/// Which parents of a merge are followed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Parents {
    /// The first one: the line of the branch itself.
    #[default]
    First,
    /// All of them.
    All,
}

/// A commit, for display.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Commit {
    /// Its name, in hexadecimal.
    pub id: String,
    /// The first line of its message.
    pub summary: String,
    /// Who wrote it.
    pub author: String,
    /// When it was committed, seconds since 1970.
    pub(crate) time: i64,
}

/// A commit between two.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Node {
    pub(crate) commit: Commit,
    /// Which of the nodes before it are its parents.
    pub(crate) parents: Vec<usize>,
}

/// A commit and those before it, newest first, at most `limit` of them. In a shallow
/// clone, they end where it is cut off.
///
/// # Errors
/// When a commit can't be read.
pub(crate) fn commits(
    repo: &Repo,
    from: &str,
    limit: usize,
    parents: Parents,
) -> Result<Vec<Commit>, Error> {
    let ids = walk(repo, oid(from)?, None, parents)?;
    ids.take(limit).map(|id| described(repo, id?)).collect()
}

/// The first parent of a commit, if it has one.
///
/// # Errors
/// When the commit can't be read.
pub(crate) fn parent(repo: &Repo, commit: &str) -> Result<Option<String>, Error> {
    Ok(first_parent(repo, oid(commit)?)?.map(|id| id.to_string()))
}

/// Whether the clone is shallow.
pub(crate) fn is_shallow(repo: &Repo) -> bool {
    repo.inner.is_shallow()
}

/// The commits after `good` up to and including `bad`, parents before their
/// children.
///
/// # Errors
/// When `good` is no ancestor of `bad`, or none along the `parents` that
/// are followed.
pub(crate) fn between(
    repo: &Repo,
    good: &str,
    bad: &str,
    parents: Parents,
) -> Result<Vec<Node>, Error> {
    let (from, to) = (oid(good)?, oid(bad)?);
    let (good, bad) = (abbreviated(good), abbreviated(bad));
    if from == to {
        let what = format!("`{good}` and `{bad}` are the same commit");
        return Err(Error::refused(what, "choose an earlier good commit"));
    }
    if !repo.is_on(from, to)? {
        let hint = match is_shallow(repo) {
            true => "this is a shallow clone: `git fetch --unshallow origin` fetches the whole \
                     history"
                .to_owned(),
            false => format!(
                "the good commit comes first; `git merge-base {good} {bad}` prints a common \
                 ancestor"
            ),
        };
        return Err(Error::refused(format!("`{good}` is not an ancestor of `{bad}`"), hint));
    }
    let mut ids: Vec<Oid> = match parents {
        Parents::All => walk(repo, to, Some(from), parents)?.collect::<Result<_, _>>()?,
        Parents::First => {
            let line = walk(repo, to, None, parents)?;
            line.take_while(|id| id.as_ref().ok() != Some(&from)).collect::<Result<_, _>>()?
        }
    };
    let end = ids.last().map(|oldest| first_parent(repo, *oldest)).transpose()?.flatten();
    if parents == Parents::First && end != Some(from) {
        let what = format!("the first parents of `{bad}` do not lead to `{good}`");
        let hint = "`--all-parents` also looks at the commits of merged branches";
        return Err(Error::refused(what, hint));
    }
    ids.reverse();
    let places: HashMap<Oid, usize> = ids.iter().enumerate().map(|(at, id)| (*id, at)).collect();
    let followed = if parents == Parents::First { 1 } else { usize::MAX };
    let node = |id: &Oid| {
        let commit = repo.commit(*id)?;
        let parents = commit.parent_ids().take(followed);
        let parents = parents.filter_map(|id| places.get(&id).copied()).collect();
        Ok(Node { parents, commit: described(repo, *id)? })
    };
    ids.iter().map(node).collect()
}

/// The commits of `from`, children before their parents, without `hidden`
/// and those before it.
fn walk(
    repo: &Repo,
    from: Oid,
    hidden: Option<Oid>,
    parents: Parents,
) -> Result<impl Iterator<Item = Result<Oid, Error>>, Error> {
    let failed = move || Error::git("walk the history of", from);
    let mut walk = repo.inner.revwalk().map_err(failed())?;
    match parents {
        // They are in line, however long it is.
        Parents::First => walk.simplify_first_parent(),
        Parents::All => walk.set_sorting(Sort::TOPOLOGICAL | Sort::TIME),
    }
    .map_err(failed())?;
    walk.push(from).map_err(failed())?;
    if let Some(hidden) = hidden {
        walk.hide(hidden).map_err(failed())?;
    }
    Ok(walk.map(move |id| id.map_err(failed())))
}

fn first_parent(repo: &Repo, id: Oid) -> Result<Option<Oid>, Error> {
    // Where a shallow clone is cut off, libgit2 returns no parents.
    Ok(repo.commit(id)?.parent_ids().next())
}

fn described(repo: &Repo, id: Oid) -> Result<Commit, Error> {
    let commit = repo.commit(id)?;
    let summary = commit.summary_bytes().unwrap_or_default();
    Ok(Commit {
        id: id.to_string(),
        summary: String::from_utf8_lossy(summary).into_owned(),
        author: String::from_utf8_lossy(commit.author().name_bytes()).into_owned(),
        time: commit.time().seconds(),
    })
}
