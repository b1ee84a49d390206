//! `cargo cbdr hook`: compares what is about to be pushed.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::Duration;

use cargo_cbdr::Error;
use cargo_cbdr::exec::process::{Helper, Interrupt};
use cargo_cbdr::exec::system::{Place, digest};
use cargo_cbdr::settings::Written;
use cargo_cbdr::settings::values::Time;
use cargo_cbdr::workspace::git::Repo;
use cargo_cbdr::workspace::git::hooks::{Push, is_active, pushes};

use super::compare;
use crate::cli::{self, Compare, Hook};
use crate::exit::Exit;
use crate::ui::{Failure, Ui, about};

/// The hook's name, which is git's.
const HOOK: &str = "pre-push";

/// Where a hook that was there before is kept, and called from.
const KEPT: &str = "pre-push.before-cbdr";

/// The beginning of the line with which our part of the hook begins. A digest
/// of the lines up to [`END`] follows.
const BEGIN: &str = "# >>> cargo cbdr hook >>> ";

/// The line with which our part of the hook ends.
const END: &str = "# <<< cargo cbdr hook <<<";

/// What runs a hook that is all ours.
const SHELL: &str = "#!/bin/sh\n";

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
    let there = read(&hook)?;
    let inside = super::current_folder()?.canonicalize()?;
    let inside = inside.strip_prefix(repo.root().canonicalize()?).unwrap_or(Path::new(""));
    let ours = part(inside, time_limit, args)?;
    let is_other = matches!(there, Found::Other);
    if is_other {
        if fs_err::symlink_metadata(&kept).is_ok() {
            let what = format!(
                "`{}` and `{}` both exist: one of them has to go first",
                hook.display(),
                kept.display()
            );
            return Err(Failure::Refused(what));
        }
        fs_err::rename(&hook, &kept)?;
        ui.status("Keeping", &format!("the hook that was there, as `{}`", kept.display()));
        if !is_active(&kept) {
            ui.status("Noting", "that it is not executable, so that git did not call it either");
        }
    }
    fs_err::create_dir_all(&folder)?;
    let text = match there {
        // With the lines that are somebody else's, as they are.
        Found::Ours { before, after } => [before, ours.into_bytes(), after].concat(),
        Found::Nothing | Found::Other => [SHELL.as_bytes(), ours.as_bytes()].concat(),
    };
    if let Err(failure) = publish(&hook, &text) {
        if is_other {
            // As it was: git goes on to call it.
            fs_err::rename(&kept, &hook)?;
        }
        return Err(failure);
    }
    ui.status("Installed", &format!("`{}`; `git push --no-verify` skips it", hook.display()));
    Ok(Exit::Success)
}

fn uninstall() -> Result<Exit, Failure> {
    let (_, folder) = place()?;
    let (hook, kept) = (folder.join(HOOK), folder.join(KEPT));
    let Found::Ours { before, after } = read(&hook)? else {
        let what = format!("`{}` is not a hook that `cargo cbdr` installed", hook.display());
        return Err(Failure::Refused(what));
    };
    let rest = [before, after].concat();
    let is_ours_alone =
        rest.strip_prefix(SHELL.as_bytes()).unwrap_or(&rest).trim_ascii().is_empty();
    let mut ui = Ui::new();
    match (is_ours_alone, fs_err::symlink_metadata(&kept).is_ok()) {
        (true, true) => {
            fs_err::rename(&kept, &hook)?;
            ui.status("Restored", &format!("`{}`", hook.display()));
        }
        (true, false) => {
            fs_err::remove_file(&hook)?;
            ui.status("Removed", &format!("`{}`", hook.display()));
        }
        (false, false) => {
            publish(&hook, &rest)?;
            let what = "the lines of `cargo cbdr`; others are in it, and stay";
            ui.status("Removed", &format!("from `{}` {what}", hook.display()));
        }
        (false, true) => {
            let what = format!(
                "`{}` has lines that `cargo cbdr` did not write, and `{}` is to take its place: \
                 move those lines there first, or remove one of the two files",
                hook.display(),
                kept.display()
            );
            return Err(Failure::Refused(what));
        }
    }
    Ok(Exit::Success)
}

/// What there is in the place of the hook.
enum Found {
    /// No file.
    Nothing,
    /// Somebody else's, or a link.
    Other,
    /// One with our part in it: what is before and after that.
    Ours { before: Vec<u8>, after: Vec<u8> },
}

/// Looks for our part in a hook. One that has not been left as it was written
/// is an error: what was changed in it would be lost.
fn read(hook: &Path) -> Result<Found, Failure> {
    match fs_err::symlink_metadata(hook) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Found::Nothing),
        about => {
            if !about?.is_file() {
                return Ok(Found::Other);
            }
        }
    }
    let text = fs_err::read(hook)?;
    let refused = |why: &str| {
        let name = hook.display();
        let what = format!(
            "`{name}`: {why}, so that it is not known which lines are yours; remove those of \
             `cargo cbdr` by hand"
        );
        Err(Failure::Refused(what))
    };
    let (mut before, mut inside, mut after) = (Vec::new(), Vec::new(), Vec::new());
    let (mut told, mut ended) = (None, false);
    for line in text.split_inclusive(|&byte| byte == b'\n') {
        let word = line.trim_ascii_end();
        if let Some(digest) = word.strip_prefix(BEGIN.trim_end().as_bytes()) {
            if told.replace(digest.trim_ascii().to_owned()).is_some() {
                return refused(&format!("the line `{}` is there twice", BEGIN.trim_end()));
            }
        } else if word == END.as_bytes() {
            if told.is_none() || ended {
                return refused(&format!("the line `{END}` ends nothing"));
            }
            ended = true;
        } else {
            match (&told, ended) {
                (None, _) => &mut before,
                (Some(_), false) => &mut inside,
                (Some(_), true) => &mut after,
            }
            .extend_from_slice(line);
        }
    }
    match told {
        None => Ok(Found::Other),
        Some(_) if !ended => refused(&format!("the line `{END}` is missing")),
        Some(told) if told != mark(&inside).as_bytes() => {
            refused("the lines of `cargo cbdr` have been changed")
        }
        Some(_) => Ok(Found::Ours { before, after }),
    }
}

/// By what it is known whether lines are as they were written.
fn mark(lines: &[u8]) -> String {
    let mut digest = digest(lines);
    digest.truncate(16);
    digest
}

/// Our part of what git runs. It needs no more than a shell, and says so where
/// the program is gone. What comes after it is run, too, unless it stops the
/// push.
fn part(inside: &Path, time_limit: &str, args: &[String]) -> Result<String, Failure> {
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
        inside => format!("cd -- {} || exit 0; ", quoted(inside)?),
    };
    let lines = format!(
        "# Made by `cargo cbdr hook install`; `cargo cbdr hook uninstall` removes the lines between\n\
         # these two marks, and no others. Lines of your own go before or after them; `say` prints\n\
         # there what git tells a pre-push hook on standard input.\n\
         pushed=$(cat)\n\
         say() {{ if [ -n \"$pushed\" ]; then printf '%s\\n' \"$pushed\"; fi; }}\n\
         kept=$(dirname -- \"$0\")/{KEPT}\n\
         if [ -x \"$kept\" ]; then\n    say | \"$kept\" \"$@\" || exit $?\n\
         fi\n\
         if command -v cargo-cbdr >/dev/null; then\n    \
         ({enter}say | cargo-cbdr hook run --time-limit {}{args}\n    ) || exit $?\n\
         else\n    \
         echo 'warning: cargo-cbdr is not installed, so nothing is compared' >&2\n\
         fi\n",
        quoted(time_limit)?,
    );
    Ok(format!("{BEGIN}{}\n{lines}{END}\n", mark(lines.as_bytes())))
}

/// Writes the hook whole, executable, in one step.
fn publish(hook: &Path, text: &[u8]) -> Result<(), Failure> {
    let written = Place::find(hook).and_then(|place| place.replace_script(text));
    let name = || format!("can't write `{}`", hook.display());
    Ok(written.map_err(|error| about(&name(), &error))?)
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
    compare.settings.0.time_limit.get_or_insert_with(|| Written::new(Time(limit)));
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
