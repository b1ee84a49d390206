//! Finds the two commits of a comparison. If something is missing for that, it
//! is fetched into the user's clone with the installed git, if the user allows
//! it.

use super::context::PrepareContext;
use crate::engine::event::Event;
use crate::error::{Error, Failure};
use crate::model::revision::Sides;
use crate::settings::table::Table;
use crate::workspace::git::base::start_of;
use crate::workspace::git::{self, Absence, Repo, line, remote};

/// By how many commits a shallow clone is deepened in each step; after these,
/// by all of them.
const STEPS: [u32; 4] = [32, 128, 512, 2048];

/// Finds the two commits, and may fetch what is missing for that: each name once, then the
/// history step by step.
pub(super) fn resolve(
    context: &mut PrepareContext<'_>,
    table: Option<&Table>,
) -> Result<Sides, Error> {
    let mut request = context.request.clone();
    let mut fetched: Vec<String> = Vec::new();
    // The last one is the whole history.
    let mut steps = STEPS.map(Some).into_iter().chain([None]);
    loop {
        let error = match context.repo.resolve(&request, table) {
            Err(error) if request.fetch => error,
            resolved => return Ok(resolved?),
        };
        match &error {
            git::Error::Unknown { absence: Absence::Ancestor { start, shallow }, .. } => {
                let step = steps.next().filter(|_| *shallow);
                let Some(step) = step else { return Err(error.into()) };
                deepen(context, start, start, step)?;
            }
            git::Error::Shallow { base, head } => {
                let Some(step) = steps.next() else { return Err(error.into()) };
                deepen(context, base, head, step)?;
            }
            git::Error::Unknown { name, .. } if !fetched.contains(name) => {
                fetch_name(context, name)?;
                fetched.push(name.clone());
            }
            git::Error::NoBase(_) if request.flags.base.is_none() => {
                let Some(name) = default_branch(context)? else { return Err(error.into()) };
                request.flags.base = Some(name);
            }
            _ => return Err(error.into()),
        }
        // Opened again, since libgit2 reads only once where the history ends.
        context.repo = Repo::discover(&context.request.folder)?;
        context.tools.interrupt.check()?;
    }
}

/// Fetches a commit, a branch or a tag of the remote, if it has this name. Of a name like
/// `main~3`, it is where that starts.
fn fetch_name(context: &mut PrepareContext<'_>, name: &str) -> Result<(), Error> {
    let (remote, branch) = remote::remote_of(&context.repo, start_of(name));
    // The next attempt to resolve it returns an error with the right hint.
    if branch.is_empty() || branch.starts_with('-') || branch.contains([':', ' ']) {
        return Ok(());
    }
    let is_commit = branch.len() == 40 && branch.bytes().all(|byte| byte.is_ascii_hexdigit());
    let (tip, refspec) = if is_commit {
        (branch.clone(), branch.clone())
    } else {
        let head = format!("refs/heads/{branch}");
        let tag = format!("refs/tags/{branch}");
        let listed = git(context, &remote, name, &["ls-remote", "--", &remote, &head, &tag])?;
        let tip_of = |full: &str| {
            let tip = listed.lines().find_map(|line| line.strip_suffix(full)?.strip_suffix('\t'));
            tip.map(str::to_owned)
        };
        match (tip_of(&head), tip_of(&tag)) {
            (Some(tip), _) => (tip, format!("+{head}:refs/remotes/{remote}/{branch}")),
            (None, Some(tip)) => (tip, format!("{tag}:{tag}")),
            (None, None) => return Ok(()),
        }
    };
    // With a depth, git would cut off existing history; a complete clone is never
    // cut off.
    let is_cut = line::is_shallow(&context.repo) && !remote::holds(&context.repo, &tip);
    fetch(context, &remote, name, if is_cut { &["--depth=1"] } else { &[] }, &[refspec])
}

/// Fetches `step` more commits of the history of both, or all.
fn deepen(
    context: &mut PrepareContext<'_>,
    base: &str,
    head: &str,
    step: Option<u32>,
) -> Result<(), Error> {
    let (remote, _) = remote::remote_of(&context.repo, base);
    // Requested from where the history ends: the remote may not have the tips, but it has
    // the ends.
    let ends = remote::ends_of_history(&context.repo, &[base, head])?;
    let (depth, what) = match step {
        Some(step) => (format!("--deepen={step}"), format!("{step} more commits of the history")),
        None => ("--unshallow".to_owned(), "the whole history".to_owned()),
    };
    fetch(context, &remote, &what, &[&depth], &ends)
}

/// Fetches `what`, the objects or references `names`, into the user's clone.
pub(super) fn fetch(
    context: &mut PrepareContext<'_>,
    remote: &str,
    what: &str,
    options: &[&str],
    names: &[String],
) -> Result<(), Error> {
    let options = remote::FETCH.split(' ').chain(options.iter().copied());
    let names = names.iter().map(String::as_str);
    let args: Vec<&str> = options.chain(["--", remote]).chain(names).collect();
    git(context, remote, what, &args).map(drop)
}

/// The remote's default branch.
fn default_branch(context: &mut PrepareContext<'_>) -> Result<Option<String>, Error> {
    let remote = "origin";
    let args = ["ls-remote", "--symref", "--", remote, "HEAD"];
    let printed = git(context, remote, "the name of its default branch", &args)?;
    let line = printed.lines().find_map(|line| line.strip_prefix("ref: refs/heads/"));
    Ok(line.and_then(|line| line.split('\t').next()).map(str::to_owned))
}

/// Runs git in the user's clone, to fetch `what`. Returns its output.
pub(super) fn git(
    context: &mut PrepareContext<'_>,
    remote: &str,
    what: &str,
    args: &[&str],
) -> Result<String, Error> {
    if !remote::has_remote(&context.repo, remote) {
        let what = format!("there is no remote `{remote}` to fetch from");
        let help = "`git remote -v` lists the remotes; `compare --fetch REMOTE/BRANCH` fetches from \
                    another one";
        return Err(Failure::new(what, help).into());
    }
    if args.contains(&"fetch") {
        context.event(Event::Fetching(what, remote));
    }
    let mut command = context.tools.command("git", args, context.repo.root(), None);
    command.env = remote::remote_env(&context.repo, &context.request.env);
    context.tools.output_or(command, |ran| {
        let step = "check whether `git fetch` works here, or choose a base that this clone has";
        ran.kept_from(&format!("fetch {what} from `{remote}`"), step)
    })
}
