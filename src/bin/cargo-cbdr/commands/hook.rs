//! `cargo cbdr hook`: compares what is about to be pushed.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::Duration;

use cargo_cbdr::Error;
use cargo_cbdr::git::Repo;
use cargo_cbdr::git::hooks::{Push, is_active, pushes};
use cargo_cbdr::process::{Helper, Interrupt};
use cargo_cbdr::system::permissions;

use super::compare;
use crate::cli::{self, Compare, Hook};
use crate::exit::Exit;
use crate::ui::{Failure, Ui, about};

/// The hook's name, which is git's.
const HOOK: &str = "pre-push";

/// Where a hook that was there before is kept, and called from.
const KEPT: &str = "pre-push.before-cbdr";

/// The line by which the hook is known to be ours.
const OURS: &str =
    "# Made by `cargo cbdr hook install`; `cargo cbdr hook uninstall` takes it away.";

pub(crate) fn run(what: &Hook, helper: &Helper, interrupt: &Interrupt) -> Result<Exit, Failure> {
    match what {
        Hook::Install { time_limit, args } => install(time_limit, args),
        Hook::Uninstall => uninstall(),
        Hook::Run { time_limit, args } => check(time_limit, args, helper, interrupt),
    }
}

/// The repository of the current folder, and the folder of its hooks.
fn place() -> Result<(Repo, PathBuf), Failure> {
    let repo = Repo::discover(&super::current_folder()?).map_err(Error::from)?;
    let hooks = repo.hooks().map_err(Error::from)?;
    if hooks.shared {
        let what = format!(
            "`core.hooksPath` is `{}` for all repositories: set one for this repository alone \
             (`git config core.hooksPath .git/hooks`), or call `cargo cbdr hook run` from there",
            hooks.path.display()
        );
        return Err(Failure::Refused(what));
    }
    Ok((repo, hooks.path))
}

fn install(time_limit: &str, args: &[String]) -> Result<Exit, Failure> {
    parse(time_limit, args)?;
    let (repo, folder) = place()?;
    let (hook, kept) = (folder.join(HOOK), folder.join(KEPT));
    let mut ui = Ui::new();
    let there = fs_err::symlink_metadata(&hook).is_ok();
    if there && !is_ours(&hook) {
        if fs_err::symlink_metadata(&kept).is_ok() {
            let what = format!(
                "`{}` and `{}` both exist: one of them has to go first",
                hook.display(),
                kept.display()
            );
            return Err(Failure::Refused(what));
        }
        fs_err::create_dir_all(&folder)?;
        fs_err::rename(&hook, &kept)?;
        ui.status("Keeping", &format!("the hook that was there, as `{}`", kept.display()));
        if !is_active(&kept) {
            ui.status("Noting", "that it is not executable, so that git did not call it either");
        }
    }
    fs_err::create_dir_all(&folder)?;
    let inside = super::current_folder()?.canonicalize()?;
    let inside = inside.strip_prefix(repo.root().canonicalize()?).unwrap_or(Path::new(""));
    let script = script(inside, time_limit, args)?;
    publish(&folder, &hook, &script)?;
    ui.status("Installed", &format!("`{}`; `git push --no-verify` skips it", hook.display()));
    Ok(Exit::Success)
}

fn uninstall() -> Result<Exit, Failure> {
    let (_, folder) = place()?;
    let (hook, kept) = (folder.join(HOOK), folder.join(KEPT));
    if !is_ours(&hook) {
        let what = format!("`{}` is not a hook that `cargo cbdr` installed", hook.display());
        return Err(Failure::Refused(what));
    }
    let mut ui = Ui::new();
    if fs_err::symlink_metadata(&kept).is_ok() {
        fs_err::rename(&kept, &hook)?;
        ui.status("Restored", &format!("`{}`", hook.display()));
    } else {
        fs_err::remove_file(&hook)?;
        ui.status("Removed", &format!("`{}`", hook.display()));
    }
    Ok(Exit::Success)
}

fn is_ours(hook: &Path) -> bool {
    let regular = fs_err::symlink_metadata(hook).is_ok_and(|file| file.is_file());
    regular && fs_err::read(hook).is_ok_and(|text| contains(&text, OURS.as_bytes()))
}

fn contains(text: &[u8], part: &[u8]) -> bool {
    text.windows(part.len()).any(|window| window == part)
}

/// What git runs. It needs no more than a shell, and says so where the program
/// is gone.
fn script(inside: &Path, time_limit: &str, args: &[String]) -> Result<String, Failure> {
    let Some(inside) = inside.to_str() else {
        let what = format!("`{}` is not UTF-8: install from the root", inside.display());
        return Err(Failure::Refused(what));
    };
    let quoted = |word: &str| match shlex::try_quote(word) {
        Ok(word) => Ok(word.into_owned()),
        Err(_) => Err(Failure::Arguments("an argument holds a zero byte".to_owned())),
    };
    let args: Vec<String> = args.iter().map(|word| quoted(word)).collect::<Result<_, _>>()?;
    let args = if args.is_empty() { String::new() } else { format!(" -- {}", args.join(" ")) };
    // A shell has no other separator, on Windows either.
    let inside = inside.replace(std::path::MAIN_SEPARATOR, "/");
    let enter = match inside.as_str() {
        "" => String::new(),
        inside => format!("cd -- {} || exit 0\n", quoted(inside)?),
    };
    Ok(format!(
        "#!/bin/sh\n\
         {OURS}\n\
         pushed=$(cat)\n\
         say() {{ if [ -n \"$pushed\" ]; then printf '%s\\n' \"$pushed\"; fi; }}\n\
         kept=$(dirname -- \"$0\")/{KEPT}\n\
         if [ -x \"$kept\" ]; then\n    say | \"$kept\" \"$@\" || exit $?\n\
         fi\n\
         if ! command -v cargo-cbdr >/dev/null; then\n    \
         echo 'warning: cargo-cbdr is not installed, so nothing is compared' >&2\n    exit 0\n\
         fi\n\
         {enter}say | cargo-cbdr hook run --time-limit {}{args}\n",
        quoted(time_limit)?,
    ))
}

/// Writes the hook whole, executable, in one step.
fn publish(folder: &Path, hook: &Path, script: &str) -> Result<(), Failure> {
    let mut builder = tempfile::Builder::new();
    if let Some(usual) = permissions(0o755) {
        builder.permissions(usual);
    }
    let mut write = || {
        let mut file = builder.prefix("tmp-").tempfile_in(folder)?;
        std::io::Write::write_all(&mut file, script.as_bytes())?;
        file.persist(hook).map_err(|error| error.error).map(drop)
    };
    write().map_err(|error| about(&format!("can't write `{}`", hook.display()), &error))?;
    Ok(())
}

/// Compares what git says that it pushes, one after the other; the first
/// regression, or what can't be compared, stops the push.
fn check(
    time_limit: &str,
    args: &[String],
    helper: &Helper,
    interrupt: &Interrupt,
) -> Result<Exit, Failure> {
    let (limit, _) = parse(time_limit, args)?;
    let mut lines = String::new();
    std::io::stdin().read_to_string(&mut lines)?;
    let pushes = pushes(&lines).map_err(|line| {
        Failure::Arguments(format!("a pre-push hook is not told `{line}`: is git calling this?"))
    })?;
    let limit = limit / u32::try_from(pushes.len().max(1)).unwrap_or(u32::MAX);
    let mut ui = Ui::new();
    for push in &pushes {
        let name = &push.remote_branch;
        ui.status("Pushing", &format!("{name}: compared first (`--no-verify` skips that)"));
        let exit = compare::run(&of_push(push, limit, args)?, helper, interrupt)?;
        if exit != Exit::Success {
            return Ok(exit);
        }
    }
    Ok(Exit::Success)
}

/// The comparison of a branch that is pushed: with where it left BASE, and where
/// it is BASE itself, with what the remote has of it.
fn of_push(push: &Push, limit: Duration, args: &[String]) -> Result<Compare, Failure> {
    let mut compare = cli::compare(args).map_err(|error| Failure::Arguments(error.to_string()))?;
    compare.head = Some(push.commit.clone());
    compare.instead.clone_from(&push.remote_commit);
    let limit = limit.max(Duration::from_secs(1));
    compare.question.time_limit.get_or_insert(humantime::format_duration(limit).to_string());
    Ok(compare)
}

/// Refuses what the hook could not call, when it is installed.
fn parse(time_limit: &str, args: &[String]) -> Result<(Duration, Compare), Failure> {
    let limit = humantime::parse_duration(time_limit).map_err(|error| {
        Failure::Arguments(format!("invalid --time-limit `{time_limit}`: {error}"))
    })?;
    let compare = cli::compare(args).map_err(|error| Failure::Arguments(error.to_string()))?;
    if compare.head.is_some() || compare.dirty || compare.aa {
        let what = "a hook compares what is pushed: without --head, --dirty and --aa";
        return Err(Failure::Arguments(what.to_owned()));
    }
    Ok((limit, compare))
}
