//! Benchmarks that are any command, built in place by a command of their own.

use std::path::{Path, PathBuf};

use super::fault;
use super::tools::Tools;
use crate::cache::digest;
use crate::error::{Error, Kind};
use crate::event::Event;
use crate::process::{Command, Exit, RunError, Sink};
use crate::side::Side;

/// The file beside a worktree that says what was built in it.
fn stamp(side_folder: &Path) -> PathBuf {
    side_folder.join("built")
}

/// Which folders of a side's worktree a checkout of `tree` is to leave alone:
/// all of it where a build command has built this very tree, else cargo's own
/// target folder, so that such a command starts from what it built last time.
pub(super) fn kept(side_folder: &Path, tree: &str) -> Vec<PathBuf> {
    let built = std::fs::read_to_string(stamp(side_folder)).unwrap_or_default();
    match built.lines().next() {
        Some(known) if known == tree => vec![PathBuf::new()],
        _ => vec![PathBuf::from("target")],
    }
}

/// Forgets what was built.
pub(super) fn forget(side_folder: &Path) -> Result<(), Error> {
    match std::fs::remove_file(stamp(side_folder)) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(Error::io("remove", &stamp(side_folder))(error))
        }
        _ => Ok(()),
    }
}

/// What a build command is run for.
pub(super) struct Site<'a> {
    pub(super) side: Side,
    /// The side's folder in the cache.
    pub(super) side_folder: PathBuf,
    /// The tree that is checked out.
    pub(super) tree: &'a str,
    /// The package's folder.
    pub(super) folder: PathBuf,
    pub(super) toolchain: Option<&'a str>,
}

impl Site<'_> {
    /// The side's worktree.
    fn worktree(&self) -> PathBuf {
        self.side_folder.join("tree")
    }
}

/// Runs the build command, unless it has built this tree before in these
/// surroundings. Tells when it has to be run again, to learn why it failed.
///
/// # Errors
/// [`Kind::Build`] when the code does not compile or lacks the command.
pub(super) fn build(
    tools: &Tools<'_>,
    site: &Site<'_>,
    words: &[String],
    tell: &mut dyn FnMut(Event<'_>),
) -> Result<(), Error> {
    let command = command(tools, site, words);
    let about = digest(format!("{command:?}").as_bytes());
    let stamp = stamp(&site.side_folder);
    let built = std::fs::read_to_string(&stamp).unwrap_or_default();
    let mut lines = built.lines();
    let same_tree = lines.next() == Some(site.tree);
    if same_tree && lines.any(|line| line == about) {
        return Ok(());
    }
    let exit = match tools.aloud(command.clone(), Sink::Stderr) {
        Err(error) if lacks(site, &command, &error) => {
            let (side, command, exit) = (site.side, command.shown(), Exit::Code(127));
            return Err(Kind::Build { side, command, exit }.into());
        }
        exit => exit?,
    };
    if !exit.success() {
        tell(Event::Diagnosing(site.side));
        tools.again(command, (site.side, &site.worktree()), fault::of_command)?;
    }
    let before = if same_tree { built } else { format!("{}\n", site.tree) };
    fs_err::write(&stamp, format!("{before}{about}\n")).map_err(Error::io("write", &stamp))
}

/// Whether a command could not be started because it is a file of the
/// worktree that is not there.
fn lacks(site: &Site<'_>, command: &Command, error: &Error) -> bool {
    let Kind::Process(RunError::Spawn { source, .. }) = error.kind() else { return false };
    let program = command.argv.first().map(|program| command.cwd.join(program));
    let is_named = command.argv.first().is_some_and(|p| p.as_encoded_bytes().contains(&b'/'));
    source.kind() == std::io::ErrorKind::NotFound
        && is_named
        && program.is_some_and(|program| program.starts_with(site.worktree()) && !program.exists())
}

/// A command of the user's in a side's package folder.
pub(super) fn command(tools: &Tools<'_>, site: &Site<'_>, words: &[String]) -> Command {
    let (program, args) = words.split_first().map_or(("", &[][..]), |(p, a)| (p.as_str(), a));
    let args = args.iter().map(Into::into).collect();
    tools.command(program, args, &site.folder, site.toolchain)
}
