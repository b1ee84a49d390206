//! Pushes the notes to a remote and pulls them from there, with the installed git, which
//! has the user's credentials.

use std::ffi::OsString;

use crate::error::{Error, Failure};
use crate::exec::execution::Context;
use crate::workspace::git::notes::{Merged, REFERENCE};
use crate::workspace::git::{Repo, notes, remote};
use crate::workspace::{Request, Tools};

/// The number of attempts of a push.
const ATTEMPTS: u32 = 50;

/// How git pushes nothing but the notes. The pre-push hook is about code, which notes are not.
const PUSH: &str = "push --quiet --no-verify --no-follow-tags --recurse-submodules=no";

/// What a push did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pushed {
    /// What was merged from the remote.
    pub merged: Merged,
    /// Whether something was pushed.
    pub is_pushed: bool,
}

/// Pulls the notes of a remote: each commit gets the lines of both sides.
///
/// # Errors
/// If the remote can't be read or the notes can't be written.
pub fn pull(request: &Request, remote: &str, context: Context<'_>) -> Result<Merged, Error> {
    let (merged, _) = Remote::new(request, remote, context)?.pull()?;
    Ok(merged)
}

/// Merges the notes of a remote and pushes the result; starts again if another push
/// came first.
///
/// # Errors
/// If the remote can't be read or written.
pub fn push(request: &Request, remote: &str, context: Context<'_>) -> Result<Pushed, Error> {
    let remote = Remote::new(request, remote, context)?;
    let mut merged = Merged::default();
    let mut attempt = 0;
    loop {
        let (pulled, theirs) = remote.pull()?;
        merged.lines += pulled.lines;
        merged.skipped = pulled.skipped;
        let ours = notes::tip(&remote.repo, REFERENCE)?;
        let Some(ours) = ours.filter(|ours| Some(ours) != theirs.as_ref()) else {
            return Ok(Pushed { merged, is_pushed: false });
        };
        let Err(error) = remote.push(&ours) else {
            return Ok(Pushed { merged, is_pushed: true });
        };
        // Another push came first, or is under way. A push that was refused for
        // another reason would be refused again.
        let is_locked = error.child_output().is_some_and(|output| output.contains("lock"));
        if attempt == ATTEMPTS || !is_locked && remote.tip()? == theirs {
            return Err(error);
        }
        context.interrupt.check()?;
        attempt += 1;
    }
}

/// A remote of the user's repository, and the git that accesses it.
struct Remote<'a> {
    repo: Repo,
    name: &'a str,
    tools: Tools<'a>,
}

impl<'a> Remote<'a> {
    fn new(request: &Request, name: &'a str, context: Context<'a>) -> Result<Self, Error> {
        let repo = Repo::discover(&request.folder)?;
        // Git would treat it as an option.
        if name.is_empty() || name.starts_with('-') {
            let what = format!("`{name}` is not a remote (a name or an address)");
            return Err(Failure::new(what, "`git remote -v` lists the remotes").into());
        }
        let env = remote::remote_env(&repo, &request.env);
        let tools = Tools::new(context, env)?;
        Ok(Remote { repo, name, tools })
    }

    /// Runs git with these words, the remote, and references of it; returns its output. `what` it
    /// does to the remote is part of an error.
    fn git(&self, what: &str, words: &str, refs: &str) -> Result<String, Error> {
        let args = words.split(' ').chain(["--", self.name, refs]);
        let args: Vec<OsString> = args.map(OsString::from).collect();
        let command = self.tools.command("git", args, self.repo.root(), None);
        self.tools.output_or(command, |ran| {
            let step = "check whether `git ls-remote` works for that remote";
            ran.kept_from(&format!("{what} `{}`", self.name), step)
        })
    }

    /// The commit of the remote's notes, if there are any.
    fn tip(&self) -> Result<Option<String>, Error> {
        let printed = self.git("read the notes from", "ls-remote", REFERENCE)?;
        let line = printed.lines().find(|line| line.ends_with(REFERENCE));
        Ok(line.and_then(|line| line.split_whitespace().next()).map(str::to_owned))
    }

    /// Merges the remote's notes; also returns their commit.
    fn pull(&self) -> Result<(Merged, Option<String>), Error> {
        if self.tip()?.is_none() {
            return Ok((Merged::default(), None));
        }
        let fetched = format!("refs/cbdr/fetched-{}", std::process::id());
        self.git("fetch the notes from", remote::FETCH, &format!("+{REFERENCE}:{fetched}"))?;
        let theirs = notes::tip(&self.repo, &fetched)?;
        let merged = notes::merge_notes(&self.repo, &fetched);
        notes::forget(&self.repo, &fetched)?;
        Ok((merged?, theirs))
    }

    fn push(&self, commit: &str) -> Result<(), Error> {
        self.git("push the notes to", PUSH, &format!("{commit}:{REFERENCE}")).map(drop)
    }
}
