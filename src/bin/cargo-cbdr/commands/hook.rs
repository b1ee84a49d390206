//! `cargo cbdr hook`: compares what is about to be pushed.

use std::io::{IsTerminal, Read};
use std::path::{Path, PathBuf};
use std::time::Duration;

use cargo_cbdr::Error;
use cargo_cbdr::exec::execution::Context;
use cargo_cbdr::exec::system::{Place, digest};
use cargo_cbdr::settings::Written;
use cargo_cbdr::settings::values::Time;
use cargo_cbdr::workspace::git::Repo;
use cargo_cbdr::workspace::git::hooks::{self, Push, is_active, pushes};

use super::{compare, current_folder};
use crate::cli::{self, Compare, HookAction, HookArgs};
use crate::exit::{CommandResult, ExitKind};
use crate::failure::Failure;
use crate::render::readable::CommandLine;
use crate::ui::{Ui, about, text};

/// The hook's name, which is git's.
const HOOK: &str = "pre-push";

/// The name under which an earlier hook is kept, and called.
const KEPT: &str = "pre-push.before-cbdr";

/// The beginning of the first line of our part of the hook. A digest of the lines up to
/// [`END`] follows.
const BEGIN: &str = "# >>> cargo cbdr hook >>>";

/// The last line of our part of the hook.
const END: &str = "# <<< cargo cbdr hook <<<";

/// The time limit of a push.
const TIME_LIMIT: &str = "1m";

/// The first line of a hook that has nothing but our part.
const SHELL: &str = "#!/bin/sh\n";

pub(crate) fn run(what: &HookAction, called: &CommandLine, context: Context<'_>) -> CommandResult {
    match what {
        HookAction::Install(args) => install(args),
        HookAction::Uninstall => uninstall(),
        HookAction::Run(args) => compare_pushes(args, called, context),
    }
}

/// The repository of the current folder, and the folder of its hooks.
fn hooks_folder() -> Result<(Repo, PathBuf), Failure> {
    let repo = Repo::discover(&current_folder()?).map_err(Error::from)?;
    let hooks = hooks::folder(&repo).map_err(Error::from)?;
    if hooks.shared {
        return Failure::refused(format!(
            "`core.hooksPath` is `{}` for all repositories: set one for this repository alone \
             (`git config core.hooksPath .git/hooks`), or call `cargo cbdr hook run` from there",
            hooks.path.display()
        ));
    }
    Ok((repo, hooks.path))
}

fn install(args: &HookArgs) -> CommandResult {
    let (limit, _) = parse(args)?;
    let (repo, folder) = hooks_folder()?;
    let (hook, kept) = (folder.join(HOOK), folder.join(KEPT));
    let (hook_name, kept_name) = (text::path(&hook), text::path(&kept));
    let existing = ExistingHook::read(&hook)?;
    check_dispatcher(&folder, &hook, &existing)?;
    let inside = current_folder()?.canonicalize()?;
    let inside = inside.strip_prefix(repo.root().canonicalize()?).unwrap_or(Path::new(""));
    let part = part(inside, limit.as_ref(), &args.args)?;
    let mut ui = Ui::new();
    let is_kept = matches!(existing, ExistingHook::Other);
    if is_kept {
        if fs_err::symlink_metadata(&kept).is_ok() {
            let what = format!("{hook_name} and {kept_name} both exist: remove one of them first");
            return Failure::refused(what);
        }
        fs_err::rename(&hook, &kept)?;
        ui.status("Keeping", &format!("the existing hook, as {kept_name}"));
        if !is_active(&kept) {
            ui.warn("the existing hook is not executable, so git did not call it either");
        }
    }
    fs_err::create_dir_all(&folder)?;
    let text = match existing {
        ExistingHook::WithOurs { before, after } => [before, part.into_bytes(), after].concat(),
        ExistingHook::None | ExistingHook::Other => [SHELL.as_bytes(), part.as_bytes()].concat(),
    };
    if let Err(failure) = write(&hook, &text) {
        if is_kept {
            // Git continues to call the earlier hook.
            fs_err::rename(&kept, &hook)?;
        }
        return Err(failure);
    }
    ui.status("Installed", &format!("{hook_name}; `git push --no-verify` skips it"));
    Ok(ExitKind::Success)
}

fn uninstall() -> CommandResult {
    let (_, folder) = hooks_folder()?;
    let (hook, kept) = (folder.join(HOOK), folder.join(KEPT));
    let (hook_name, kept_name) = (text::path(&hook), text::path(&kept));
    let (before, after) = match ExistingHook::read(&hook)? {
        ExistingHook::WithOurs { before, after } => (before, after),
        ExistingHook::None => return Failure::refused(format!("there is no hook {hook_name}")),
        ExistingHook::Other => {
            let what = format!("{hook_name} is not a hook that `cargo cbdr` installed");
            return Failure::refused(what);
        }
    };
    let rest = [before, after].concat();
    let is_all_ours = rest.strip_prefix(SHELL.as_bytes()).unwrap_or(&rest).trim_ascii().is_empty();
    let (verb, what) = match (is_all_ours, fs_err::symlink_metadata(&kept).is_ok()) {
        (true, true) => {
            fs_err::rename(&kept, &hook)?;
            ("Restored", hook_name)
        }
        (true, false) => {
            fs_err::remove_file(&hook)?;
            ("Removed", hook_name)
        }
        (false, false) => {
            write(&hook, &rest)?;
            ("Removed", format!("from {hook_name} the lines of `cargo cbdr`; the others stay"))
        }
        (false, true) => {
            return Failure::refused(format!(
                "{hook_name} has lines that `cargo cbdr` did not write, and {kept_name} is to \
                 take its place: move those lines there first, or remove one of the two files"
            ));
        }
    };
    Ui::new().status(verb, &what);
    Ok(ExitKind::Success)
}

enum ExistingHook {
    None,
    /// Somebody else's hook, or a link.
    Other,
    /// A hook with our part in it, and what is before and after that.
    WithOurs {
        before: Vec<u8>,
        after: Vec<u8>,
    },
}

impl ExistingHook {
    /// Reads a hook.
    ///
    /// # Errors
    /// If our part was changed: the changes would be lost.
    fn read(hook: &Path) -> Result<Self, Failure> {
        match fs_err::symlink_metadata(hook) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                return Ok(ExistingHook::None);
            }
            Err(error) => return Err(error.into()),
            Ok(about) if !about.is_file() => return Ok(ExistingHook::Other),
            Ok(_) => {}
        }
        let text = fs_err::read(hook)?;
        let lines: Vec<&[u8]> = text.split_inclusive(|&byte| byte == b'\n').collect();
        let with = |mark: &str| -> Vec<usize> {
            (0..lines.len()).filter(|at| lines[*at].starts_with(mark.as_bytes())).collect()
        };
        match (with(BEGIN).as_slice(), with(END).as_slice()) {
            ([], []) => return Ok(ExistingHook::Other),
            (&[begin], &[end]) if begin < end => {
                let digest = digest_of(&lines[begin + 1..end].concat());
                if lines[begin].trim_ascii_end() == format!("{BEGIN} {digest}").as_bytes() {
                    let (before, after) = (lines[..begin].concat(), lines[end + 1..].concat());
                    return Ok(ExistingHook::WithOurs { before, after });
                }
            }
            _ => {}
        }
        Failure::refused(format!(
            "the lines of `cargo cbdr` in `{}`, or their marks, have been changed, so it is not \
             clear which lines are yours: remove those of `cargo cbdr` by hand",
            hook.display()
        ))
    }
}

/// Refuses hooks that run another script, the one of their own name: under ours, they would find
/// none and do nothing.
fn check_dispatcher(folder: &Path, hook: &Path, existing: &ExistingHook) -> Result<(), Failure> {
    if folder.ends_with("_") && folder.join("h").is_file() {
        return Failure::refused(format!(
            "husky writes the files in {} anew at each installation: add the line `cargo-cbdr hook \
             run` to {} instead",
            text::path(folder),
            text::path(&folder.with_file_name(HOOK))
        ));
    }
    let may_depend = matches!(existing, ExistingHook::Other)
        && fs_err::read(hook).is_ok_and(|text| String::from_utf8_lossy(&text).contains("basename"));
    match may_depend {
        true => Failure::refused(format!(
            "the existing hook {} may depend on its name, under which it could not be kept: call \
             `cargo-cbdr hook run` from there instead",
            text::path(hook)
        )),
        false => Ok(()),
    }
}

/// Detects whether lines were changed.
fn digest_of(lines: &[u8]) -> String {
    let mut digest = digest(lines);
    digest.truncate(16);
    digest
}

/// Our part of the hook. It needs only a shell, and warns if the program is missing. What
/// comes after it is run, too, unless it stops the push.
fn part(inside: &Path, limit: Option<&Written<Time>>, args: &[String]) -> Result<String, Failure> {
    let Some(inside) = inside.to_str() else {
        let what = format!("{} is not UTF-8: install from the root", text::path(inside));
        return Failure::refused(what);
    };
    let more = (!args.is_empty()).then_some("--").into_iter();
    let more = more.chain(args.iter().map(String::as_str));
    let limit = limit.into_iter().flat_map(|limit| ["--time-limit", limit.text()]);
    let words = ["cargo-cbdr", "hook", "run"].into_iter().chain(limit);
    // Only a NUL can't be quoted, and neither an argument nor a path has one.
    let command = shlex::try_join(words.chain(more)).unwrap_or_default();
    // A shell knows no other separator.
    let inside = inside.replace(std::path::MAIN_SEPARATOR, "/");
    let enter = match inside.is_empty() {
        true => String::new(),
        false => format!("cd -- {} || exit 0; ", shlex::try_quote(&inside).unwrap_or_default()),
    };
    let lines = include_str!("hook.sh").replace("@KEPT@", KEPT);
    let lines = lines.replacen("@CALL@", &format!("{enter}pushes | {command}"), 1);
    Ok(format!("{BEGIN} {}\n{lines}{END}\n", digest_of(lines.as_bytes())))
}

/// Writes the hook as a whole, executable.
fn write(hook: &Path, text: &[u8]) -> Result<(), Failure> {
    let written = Place::find(hook).and_then(|place| place.replace_script(text));
    Ok(written.map_err(|error| about(&format!("can't write {}", text::path(hook)), &error))?)
}

/// Compares what git is about to push, one branch after the other. The first regression, or
/// the first branch that can't be compared, stops the push.
fn compare_pushes(args: &HookArgs, called: &CommandLine, context: Context<'_>) -> CommandResult {
    let (limit, parsed) = parse(args)?;
    let limit = limit.map(|limit| limit.read("time-limit")).transpose()?;
    let mut ui = Ui::new();
    if std::io::stdin().is_terminal() {
        let what = "for the lines that git passes to a pre-push hook, `LOCAL-REF LOCAL-COMMIT \
            REMOTE-REF REMOTE-COMMIT`, until the end of the input (Ctrl+D)";
        ui.status("Waiting", what);
    }
    let mut lines = String::new();
    std::io::stdin().read_to_string(&mut lines)?;
    let pushes = pushes(&lines).map_err(|line| {
        Failure::Arguments(format!("unexpected input of a pre-push hook: `{line}`"))
    })?;
    let number = u32::try_from(pushes.len().max(1)).unwrap_or(u32::MAX);
    let of_each = |Time(all): Time| Written::new(Time((all / number).max(Duration::from_secs(1))));
    let limit = limit.map(of_each);
    for Push { commit, remote_branch, remote_commit, .. } in pushes {
        let what = format!("{remote_branch}: compared first (`--no-verify` skips that)");
        ui.status("Pushing", &what);
        let mut compare = parsed.clone();
        compare.sides.head = Some(commit);
        // The base of a push to BASE itself is its state on the remote.
        compare.sides.fallback_base = remote_commit;
        let own = compare.settings.0.time_limit.take();
        compare.settings.0.time_limit = own.or_else(|| limit.clone());
        let exit = compare::run(&compare, called, context)?;
        if exit != ExitKind::Success {
            return Ok(exit);
        }
    }
    Ok(ExitKind::Success)
}

/// Parses the time limit of a push, unless each branch has its own, and the arguments of `compare`,
/// and rejects what a hook can't call.
fn parse(
    HookArgs { time_limit, args }: &HookArgs,
) -> Result<(Option<Written<Time>>, Compare), Failure> {
    time_limit.as_ref().map(|limit| limit.read("time-limit")).transpose()?;
    let compare = cli::compare(args).map_err(|error| {
        // What this prints begins with the same word.
        let text = error.to_string();
        Failure::Arguments(text.trim_start_matches("error: ").trim_end().to_owned())
    })?;
    let is_of_others = compare.sides.head.is_some() || compare.sides.dirty || compare.sides.aa;
    if is_of_others || compare.packed.is_some() || compare.dry_run {
        return Failure::arguments(
            "a hook compares what is pushed: leave out --head, --dirty, --aa, --packed and \
             --dry-run",
        );
    }
    let has_own = compare.settings.0.time_limit.is_some();
    if has_own && time_limit.is_some() {
        return Failure::arguments(
            "two time limits: the `--time-limit` before `--` is that of a whole push, the one after \
             it that of each branch; leave out one of them",
        );
    }
    let limit = time_limit.clone().unwrap_or_else(|| Written::from(TIME_LIMIT));
    Ok(((!has_own).then_some(limit), compare))
}
