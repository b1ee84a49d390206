//! Takes the notes to a remote and brings them from there, with the installed
//! git: it knows how to get in.

use std::ffi::OsString;

use crate::error::{Error, Kind};
use crate::exec::process::{Command, Helper, Interrupt};
use crate::workspace::git::Repo;
use crate::workspace::git::notes::{Merged, REFERENCE};
use crate::workspace::{Captured, Request, Tools};

/// How often a push begins again before it gives up.
const ATTEMPTS: u32 = 50;

/// What a pull or a push did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Synced {
    /// What came from the remote.
    pub merged: Merged,
    /// Whether the remote took something.
    pub is_pushed: bool,
}

/// Brings the notes of a remote: of each commit the lines of both.
///
/// # Errors
/// When the remote can't be read or the notes can't be written.
pub fn pull(
    request: &Request,
    remote: &str,
    helper: &Helper,
    interrupt: &Interrupt,
) -> Result<Synced, Error> {
    let repo = Repo::discover(&request.folder)?;
    let remote = Remote::new(&repo, request, remote, helper, interrupt)?;
    let (merged, _) = remote.pull()?;
    Ok(Synced { merged, is_pushed: false })
}

/// Takes the notes to a remote, after those that are there were merged; again
/// when somebody else was first.
///
/// # Errors
/// When the remote can't be read or written.
pub fn push(
    request: &Request,
    remote: &str,
    helper: &Helper,
    interrupt: &Interrupt,
) -> Result<Synced, Error> {
    let repo = Repo::discover(&request.folder)?;
    let remote = Remote::new(&repo, request, remote, helper, interrupt)?;
    let mut merged = Merged::default();
    for attempt in 0.. {
        let (news, theirs) = remote.pull()?;
        merged.lines += news.lines;
        merged.skipped = news.skipped;
        let ours = repo.tip(REFERENCE)?;
        let Some(ours) = ours.filter(|ours| Some(ours) != theirs.as_ref()) else {
            return Ok(Synced { merged, is_pushed: false });
        };
        match remote.push(&ours) {
            Ok(()) => return Ok(Synced { merged, is_pushed: true }),
            Err(error) => {
                // Somebody else was first, or is at it right now. Refused for
                // anything else, it will be refused again.
                let is_locked = error.child_output().is_some_and(|output| output.contains("lock"));
                let again = attempt < ATTEMPTS && (is_locked || remote.tip()? != theirs);
                if !again {
                    return Err(error);
                }
                interrupt.check()?;
            }
        }
    }
    Ok(Synced { merged, is_pushed: false })
}

/// A remote and the git that talks to it.
struct Remote<'a> {
    repo: &'a Repo,
    name: &'a str,
    tools: Tools<'a>,
    /// Held as long as the tools print into it.
    _scratch: tempfile::TempDir,
}

impl<'a> Remote<'a> {
    fn new(
        repo: &'a Repo,
        request: &Request,
        name: &'a str,
        helper: &'a Helper,
        interrupt: &'a Interrupt,
    ) -> Result<Self, Error> {
        // To git it would be an option.
        if name.is_empty() || name.starts_with('-') {
            return Err(Kind::RemoteName(name.to_owned()).into());
        }
        let scratch =
            tempfile::tempdir().map_err(Error::io("make a folder in", &std::env::temp_dir()))?;
        let env = repo.remote_env(&request.env);
        let tools = Tools { helper, interrupt, env, scratch: scratch.path().to_owned() };
        Ok(Remote { repo, name, tools, _scratch: scratch })
    }

    fn git(&self, args: &[&str]) -> Command {
        let args: Vec<OsString> = args.iter().map(OsString::from).collect();
        self.tools.command("git", args, self.repo.root(), None)
    }

    /// Runs git, which is to `verb` the notes.
    fn run(&self, verb: &'static str, args: &[&str]) -> Result<String, Error> {
        let command = self.git(args);
        let shown = command.shown();
        let Captured { exit, stdout, stderr } = self.tools.capture(command)?;
        if exit.success() {
            return Ok(stdout);
        }
        let preposition = if verb == "push" { "to" } else { "from" };
        let remote = self.name.to_owned();
        Err(Kind::Remote { verb, preposition, remote, command: shown, exit, stderr }.into())
    }

    /// The commit of the remote's notes, if there are any.
    fn tip(&self) -> Result<Option<String>, Error> {
        let printed = self.run("read", &["ls-remote", "--", self.name, REFERENCE])?;
        let line = printed.lines().find(|line| line.ends_with(REFERENCE));
        Ok(line.and_then(|line| line.split_whitespace().next()).map(str::to_owned))
    }

    /// Merges the remote's notes; also says which commit of them it was.
    fn pull(&self) -> Result<(Merged, Option<String>), Error> {
        if self.tip()?.is_none() {
            return Ok((Merged::default(), None));
        }
        let fetched = format!("refs/cbdr/fetched-{}", std::process::id());
        let refspec = format!("+{REFERENCE}:{fetched}");
        let options = ["--quiet", "--no-tags", "--no-write-fetch-head", "--no-recurse-submodules"];
        let mut args = vec!["fetch"];
        args.extend(options);
        args.extend(["--refmap=", "--", self.name, &refspec]);
        self.run("fetch", &args)?;
        let theirs = self.repo.tip(&fetched)?;
        let merged = self.repo.merge_notes(&fetched);
        self.repo.forget(&fetched)?;
        Ok((merged?, theirs))
    }

    fn push(&self, commit: &str) -> Result<(), Error> {
        let refspec = format!("{commit}:{REFERENCE}");
        // Notes are no code: the hook that gates a push has nothing to say.
        let options = ["--quiet", "--no-verify", "--no-follow-tags", "--recurse-submodules=no"];
        let mut args = vec!["push"];
        args.extend(options);
        args.extend(["--", self.name, &refspec]);
        self.run("push", &args).map(drop)
    }
}
