//! Finds the two commits of a comparison. What that lacks is fetched into the
//! user's clone, with the installed git, where the user said so.

use std::ffi::OsString;

use super::{Work, base_request};
use crate::error::{Error, Kind};
use crate::model::notice::Notice;
use crate::settings::table::Table;
use crate::workspace::Event;
use crate::workspace::git::base::{Request as BaseRequest, Rule, Sides};
use crate::workspace::git::{self, Repo};

/// By how many commits a shallow clone is deepened, step by step; after that
/// by all that there are.
const STEPS: [u32; 4] = [32, 128, 512, 2048];

/// What every fetch is told: nothing but what is named comes along.
pub(super) const OPTIONS: [&str; 6] = [
    "fetch",
    "--quiet",
    "--no-tags",
    "--no-write-fetch-head",
    "--no-recurse-submodules",
    "--refmap=",
];

impl Work<'_, '_> {
    /// The two commits; true when there is nothing to compare.
    pub(super) fn sides(&mut self, table: Option<&Table>) -> Result<(Sides, bool), Error> {
        let asked = base_request(self.request, table);
        let sides = match self.request.fetch {
            true => self.resolve_fetching(asked)?,
            false => self.repo.resolve(&asked)?,
        };
        (self.tell)(Event::Sides(&sides));
        let is_head = self.request.head.is_none();
        let files = if is_head && !self.request.dirty { self.repo.dirty_files()? } else { 0 };
        if sides.head_is_base && !self.request.dirty {
            if files > 0 {
                let base = sides.base.rev.clone();
                let files = if files == 1 { "1 file".to_owned() } else { format!("{files} files") };
                return Err(git::Error::OnlyUncommitted { base, files }.into());
            }
            self.notice(Notice::NothingToCompare { base: sides.base.rev.clone() });
            return Ok((sides, true));
        }
        if files > 0 {
            self.notice(Notice::DirtyTree { files });
        }
        if sides.rule == Rule::FirstParent && sides.base_is_guessed {
            self.notice(Notice::MergeRef { base: sides.base.rev.clone() });
        }
        Ok((sides, false))
    }

    /// Finds the two commits, and fetches what is missing for that: each name
    /// once, then the history, step by step.
    fn resolve_fetching(&mut self, mut asked: BaseRequest) -> Result<Sides, Error> {
        let mut fetched: Vec<String> = Vec::new();
        let mut steps = STEPS.into_iter();
        let mut is_whole = false;
        loop {
            let error = match self.repo.resolve(&asked) {
                Ok(sides) => return Ok(sides),
                Err(error) => error,
            };
            match &error {
                git::Error::Unknown { name, .. } if !fetched.contains(name) => {
                    self.fetch_name(name)?;
                    fetched.push(name.clone());
                }
                git::Error::NoBase(_) if asked.base.is_none() => {
                    let Some(name) = self.default_branch()? else { return Err(error.into()) };
                    asked.base = Some(name);
                }
                git::Error::Shallow { base, head } if !is_whole => {
                    let step = steps.next();
                    is_whole = step.is_none();
                    self.deepen(base, head, step)?;
                }
                _ => return Err(error.into()),
            }
            // Opened afresh: where a history ends is read once.
            self.repo = Repo::discover(&self.request.folder)?;
            self.tools.interrupt.check()?;
        }
    }

    /// Brings a commit, a branch or a tag of the remote.
    fn fetch_name(&mut self, name: &str) -> Result<(), Error> {
        let (remote, branch) = self.repo.remote_of(name);
        if branch.is_empty() || branch.starts_with('-') || branch.contains([':', '^', '~', ' ']) {
            let (name, origin) = (name.to_owned(), String::new());
            return Err(git::Error::Unknown { name, origin, shallow: false }.into());
        }
        let is_commit = branch.len() == 40 && branch.bytes().all(|byte| byte.is_ascii_hexdigit());
        let (tip, refspec) = if is_commit {
            (branch.clone(), branch.clone())
        } else {
            let names = [format!("refs/heads/{branch}"), format!("refs/tags/{branch}")];
            let [head, tag] = &names;
            let listed = self.git(&remote, name, &["ls-remote", "--", &remote, head, tag])?;
            let of = |full: &String| {
                let mut lines = listed.lines().filter_map(|line| line.split_once('\t'));
                lines.find(|(_, name)| name == full).map(|(tip, _)| tip.to_owned())
            };
            match (of(head), of(tag)) {
                (Some(tip), _) => (tip, format!("+{head}:refs/remotes/{remote}/{branch}")),
                (None, Some(tip)) => (tip, format!("{tag}:{tag}")),
                // The error that says so has the right hint, too.
                (None, None) => return Ok(()),
            }
        };
        let mut args = OPTIONS.to_vec();
        // With a depth, git would cut off what is there already; and of a whole
        // clone nothing is ever cut off.
        if self.repo.is_shallow() && !self.repo.holds(&tip) {
            args.push("--depth=1");
        }
        args.extend(["--", &remote, &refspec]);
        self.git(&remote, name, &args).map(drop)
    }

    /// Brings `step` more commits of the history of the two, or all.
    fn deepen(&mut self, base: &str, head: &str, step: Option<u32>) -> Result<(), Error> {
        let (remote, _) = self.repo.remote_of(base);
        // Asked for from where it ends: the tips may be commits that the remote
        // never saw, but the ends came from it.
        let ends = self.repo.ends_of_history(&[base, head])?;
        let (depth, what) = match step {
            Some(step) => {
                (format!("--deepen={step}"), format!("{step} more commits of the history"))
            }
            None => ("--unshallow".to_owned(), "the whole history".to_owned()),
        };
        let mut args = OPTIONS.to_vec();
        args.extend([depth.as_str(), "--", &remote]);
        args.extend(ends.iter().map(String::as_str));
        self.git(&remote, &what, &args).map(drop)
    }

    /// The branch that the remote calls its HEAD.
    fn default_branch(&mut self) -> Result<Option<String>, Error> {
        let remote = "origin";
        let args = ["ls-remote", "--symref", "--", remote, "HEAD"];
        let printed = self.git(remote, "the name of its default branch", &args)?;
        let line = printed.lines().find_map(|line| line.strip_prefix("ref: refs/heads/"));
        Ok(line.and_then(|line| line.split('\t').next()).map(str::to_owned))
    }

    /// Runs git in the user's clone, to bring `what`.
    pub(super) fn git(&mut self, remote: &str, what: &str, args: &[&str]) -> Result<String, Error> {
        if !self.repo.has_remote(remote) {
            return Err(Kind::NoRemote(remote.to_owned()).into());
        }
        if args.contains(&"fetch") {
            (self.tell)(Event::Fetching(what, remote));
        }
        let args: Vec<OsString> = args.iter().map(OsString::from).collect();
        let mut command = self.tools.command("git", args, self.repo.root(), None);
        command.env = self.repo.remote_env(&self.request.env);
        let shown = command.shown();
        let (exit, printed, stderr) = self.tools.quietly(command)?;
        if exit.success() {
            return Ok(printed);
        }
        let (what, remote) = (what.to_owned(), remote.to_owned());
        Err(Kind::Fetch { what, remote, command: shown, exit, stderr }.into())
    }
}
