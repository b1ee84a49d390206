//! Other layouts of an executable in memory.
//!
//! The placement of code makes programs faster or slower, although they do the same: the
//! order in which the linker places functions determines which of them share a cache line
//! or a page, and the place of the file in the system's cache determines its pages of
//! memory. So another layout is made by linking an executable again with its functions in
//! random order, or, if that is impossible, by copying it, which only changes its pages.

use std::path::{Path, PathBuf};

use super::{Context, SideProgram};
use crate::error::Error;
use crate::exec::error::ExecError;
use crate::exec::process::{Sink, stderr_tail};
use crate::exec::program::{HEAP_SEED, Relink};
use crate::exec::system::remove_by;
use crate::model::layouts::Placing;

/// The suffix of an executable with another layout. It is stored next to the one that
/// was built, so that both find the same files.
const ENDING: &str = "layout";

/// The executable of one side, which can be given another layout.
#[derive(Clone, Debug)]
pub(super) struct Placement {
    /// The executable as built.
    built: PathBuf,
    /// The one with another layout.
    moved: PathBuf,
    /// The index of the executable among the words of the command.
    word: usize,
    relink: Result<Relink, String>,
}

impl Placement {
    /// The placement of an executable, if the command runs it by its path.
    pub(super) fn of(
        argv: &[std::ffi::OsString],
        executable: &Path,
        relink: Result<Relink, String>,
    ) -> Option<Self> {
        let word = argv.iter().position(|word| Path::new(word) == executable)?;
        let mut moved = executable.as_os_str().to_owned();
        moved.push(".");
        moved.push(ENDING);
        Some(Placement { built: executable.to_owned(), moved: moved.into(), word, relink })
    }
}

impl SideProgram {
    /// Whether its executable can be given another layout.
    pub(crate) fn can_be_placed(&self) -> bool {
        self.placement.is_some()
    }

    /// Checks that it can be linked again.
    ///
    /// # Errors
    /// Why it can't be, worded as the end of a sentence.
    pub(crate) fn check_relink(&self) -> Result<(), String> {
        match self.placement.as_ref().map(|placement| &placement.relink) {
            Some(Ok(relink)) => relink.check(),
            Some(Err(why)) => Err(why.clone()),
            None => Err("its executable is not one that cargo built".to_owned()),
        }
    }

    /// Whether the heap of the executable is scattered by a seed if it is linked again.
    pub(crate) fn scatters_heap(&self) -> bool {
        let relink = self.placement.as_ref().map(|placement| &placement.relink);
        relink.is_some_and(|relink| relink.as_ref().is_ok_and(|relink| relink.heap.is_some()))
    }

    /// Determines the state of the heap for all following runs in another layout.
    pub(crate) fn scatter_heap(&mut self, seed: u64) {
        self.command.set_var(HEAP_SEED, format!("{seed:016x}"));
    }

    /// Gives the executable another layout for all following runs. Links with the same
    /// `seed` have the same order of functions.
    ///
    /// # Errors
    /// If the linker fails, or the file can't be written.
    pub(crate) fn place(
        &mut self,
        placing: Placing,
        seed: u32,
        context: Context<'_>,
    ) -> Result<(), Error> {
        let Some(Placement { built, moved, word, relink }) = &self.placement else { return Ok(()) };
        // A new file, not new content in the same pages.
        remove(moved)?;
        match (placing, relink) {
            (Placing::Linked, Ok(relink)) => self.link(relink, seed, moved, context)?,
            _ => {
                fs_err::copy(built, moved).map_err(Error::io("copy", built))?;
            }
        }
        self.command.argv[*word] = moved.into();
        Ok(())
    }

    /// Uses the executable as built for all following runs.
    ///
    /// # Errors
    /// If the other one can't be removed.
    pub(crate) fn place_as_built(&mut self) -> Result<(), Error> {
        let Some(Placement { built, moved, word, .. }) = &self.placement else { return Ok(()) };
        self.command.argv[*word] = built.into();
        self.command.env.retain(|(name, _)| name != HEAP_SEED);
        remove(moved)
    }

    /// Replaces the executable that runs by a copy, whose pages of memory are others. Its path and
    /// its content stay the same. Returns whether that was possible.
    pub(crate) fn renew(&self) -> bool {
        let Some(Placement { word, .. }) = &self.placement else { return false };
        let path = Path::new(&self.command.argv[*word]);
        let mut copy = path.as_os_str().to_owned();
        copy.push(".new");
        // Some file systems write to the disk what replaces a file, but never what is removed soon.
        let renewed = std::fs::copy(path, &copy)
            .and_then(|_| std::fs::remove_file(path))
            .and_then(|()| std::fs::rename(&copy, path));
        if renewed.is_err() && path.exists() {
            let _ = std::fs::remove_file(&copy);
        }
        renewed.is_ok()
    }

    fn link(
        &self,
        relink: &Relink,
        seed: u32,
        to: &Path,
        context: Context<'_>,
    ) -> Result<(), Error> {
        let mut command = relink.command(seed, to);
        let stderr = self.folder.join("linker");
        command.stdout = Sink::Null;
        command.stderr = Sink::File(stderr.clone());
        let exit = context.helper.run(&command, context.interrupt)?.exit;
        if exit.success() {
            return Ok(());
        }
        let stderr = stderr_tail(&stderr);
        Err(ExecError::Tool { command: command.shown(), folder: command.cwd, exit, stderr }.into())
    }
}

fn remove(path: &Path) -> Result<(), Error> {
    remove_by(path, |path| std::fs::remove_file(path)).map_err(Error::io("remove", path))
}
