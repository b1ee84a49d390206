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
use crate::exec::process::{Command, Sink, stderr_tail};
use crate::exec::program::{AlignedLink, HEAP_SEED, LinkedElsewhere, Relink};
use crate::exec::system::remove_by;
use crate::model::layouts::Placing;

/// The suffix of an executable with another layout. It is stored next to the one that
/// was built, so that both find the same files.
const ENDING: &str = "layout";

/// The suffix of the executable that is aligned with the other side's.
const ALIGNED: &str = "aligned";

/// The maximum size of the linked layouts of one side that are kept, bytes.
const MOST_KEPT: u64 = 256 << 20;

/// The variable that moves the stack, and by how many bytes at most.
const STACK: &str = "CBDR_STACK";
const MOST_STACK: usize = 4096;

/// The executable of one side, which can be given another layout.
#[derive(Clone, Debug)]
pub(super) struct Placement {
    /// The executable as built.
    built: PathBuf,
    /// The one with another layout.
    moved: PathBuf,
    /// The one that is aligned with the other side's, if it is used instead of that as built.
    aligned: Option<PathBuf>,
    /// The index of the executable among the words of the command.
    word: usize,
    relink: Result<Relink, String>,
    /// The first linked layouts, in order.
    kept: Vec<PathBuf>,
    /// How many more bytes of layouts are kept.
    left: u64,
}

impl Placement {
    /// The placement of an executable, if the command runs it by its path.
    pub(super) fn of(
        argv: &[std::ffi::OsString],
        executable: &Path,
        relink: Result<Relink, String>,
    ) -> Option<Self> {
        let word = argv.iter().position(|word| Path::new(word) == executable)?;
        let (built, moved) = (executable.to_owned(), with_suffix(executable, ENDING));
        let (aligned, kept) = (None, Vec::new());
        Some(Placement { built, moved, aligned, word, relink, kept, left: MOST_KEPT })
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

    /// Gives the executable another layout for all following runs: the one with this `number`,
    /// which always has the same `seed`. Several tests use it, and linking takes longer than many
    /// a run, so it is only linked once if there is room to keep it.
    ///
    /// # Errors
    /// If the linker fails, or the file can't be written.
    pub(crate) fn place(
        &mut self,
        placing: Placing,
        (number, seed): (usize, u32),
        context: Context<'_>,
    ) -> Result<(), Error> {
        let Some(Placement { built, moved, word, relink, kept, .. }) = &self.placement else {
            return Ok(());
        };
        let (built, moved, word) = (built.clone(), moved.clone(), *word);
        let known = match self.linked_elsewhere() {
            Some(LinkedElsewhere { layouts: Ok(layouts), .. }) => layouts.get(number),
            _ => kept.get(number),
        };
        let copied = match (placing, relink) {
            (Placing::Linked, Ok(_)) if known.is_none() => {
                self.link_next_layout((number, seed), context)?
            }
            (Placing::Linked, Ok(_)) => known.cloned(),
            _ => Some(built),
        };
        if let Some(copied) = copied {
            // A new file, not new content in the same pages.
            remove(&moved)?;
            fs_err::copy(&copied, &moved).map_err(Error::io("copy", &copied))?;
        }
        self.command.argv[word] = moved.into();
        Ok(())
    }

    /// Links a layout. Returns its path if it is kept; otherwise it is the one that runs.
    fn link_next_layout(
        &mut self,
        (number, seed): (usize, u32),
        context: Context<'_>,
    ) -> Result<Option<PathBuf>, Error> {
        let path = self.folder.join(format!("layout-{number}"));
        let is_next = |placement: &Placement| placement.kept.len() == number && placement.left > 0;
        if self.placement.as_ref().is_some_and(is_next) {
            let linked = self.link_layout(seed, &path, context);
            let Some(Placement { kept, left, .. }) = &mut self.placement else { return Ok(None) };
            match (linked, path.metadata()) {
                (Ok(()), Ok(about)) => {
                    *left = left.saturating_sub(about.len());
                    kept.push(path.clone());
                    return Ok(Some(path));
                }
                // The disk may be full.
                _ => {
                    *left = 0;
                    kept.drain(..).chain([path]).try_for_each(|path| remove(&path))?;
                }
            }
        }
        let moved = self.placement.as_ref().map(|placement| placement.moved.clone());
        moved.map_or(Ok(()), |moved| self.link_layout(seed, &moved, context))?;
        Ok(None)
    }

    /// The number of layouts that need not be linked.
    pub(crate) fn layouts_at_hand(&self) -> u64 {
        let own = || self.placement.as_ref().map_or(0, |placement| placement.kept.len());
        match self.linked_elsewhere() {
            Some(LinkedElsewhere { layouts, .. }) => layouts.as_ref().map_or(0, Vec::len) as u64,
            None => own() as u64,
        }
    }

    /// Moves the stack of all following runs by less than a page, as `seed` says: the
    /// environment lies at its beginning.
    pub(crate) fn move_stack(&mut self, seed: u32) {
        self.command.set_var(STACK, "x".repeat(seed as usize % MOST_STACK));
    }

    /// Uses the executable that is measured first for all following runs: the aligned one, or
    /// else that as built.
    ///
    /// # Errors
    /// If the other one can't be removed.
    pub(crate) fn place_first(&mut self) -> Result<(), Error> {
        let Some(Placement { built, moved, aligned, word, .. }) = &self.placement else {
            return Ok(());
        };
        self.command.argv[*word] = aligned.as_ref().unwrap_or(built).into();
        self.command.env.retain(|(name, _)| name != STACK && name != HEAP_SEED);
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

    /// Links the executable aligned with the other side's, and returns it. All following runs
    /// use it.
    ///
    /// # Errors
    /// If the linker fails.
    pub(crate) fn align(
        &mut self,
        link: &AlignedLink,
        context: Context<'_>,
    ) -> Result<PathBuf, Error> {
        let Some(Placement { built, relink: Ok(relink), aligned, .. }) = &mut self.placement else {
            return Ok(self.executable.clone());
        };
        let path = aligned.insert(with_suffix(built, ALIGNED)).clone();
        let command = relink.aligned(link, &path);
        remove(&path)?;
        self.link(command, context)?;
        self.place_first()?;
        Ok(path)
    }

    /// Uses the executable as built again, and removes the aligned one.
    ///
    /// # Errors
    /// If that can't be removed.
    pub(crate) fn unalign(&mut self) -> Result<(), Error> {
        let aligned = self.placement.as_mut().and_then(|placement| placement.aligned.take());
        self.place_first()?;
        aligned.map_or(Ok(()), |aligned| remove(&aligned))
    }

    /// The path of a layout that is packed.
    pub(crate) fn path_of_layout(&self, number: u64) -> PathBuf {
        with_suffix(&self.executable, &format!("{ENDING}.{number}"))
    }

    /// Links it in the layout with this seed to `path`.
    ///
    /// # Errors
    /// If it can't be linked.
    pub(crate) fn link_layout(
        &self,
        seed: u32,
        path: &Path,
        context: Context<'_>,
    ) -> Result<(), Error> {
        let Some(Placement { relink: Ok(relink), .. }) = &self.placement else { return Ok(()) };
        remove(path)?;
        let mut command = relink.command(seed, path);
        // Names would only make it larger: no run in a random layout needs them.
        command.argv.push(format!("{}-s", relink.prefix).into());
        self.link(command, context)
    }

    /// The executable that is aligned with the other side's, if it is the one that runs.
    pub(crate) fn aligned(&self) -> Option<&PathBuf> {
        self.placement.as_ref()?.aligned.as_ref()
    }

    /// What was linked elsewhere, if there is no linker here.
    pub(crate) fn linked_elsewhere(&self) -> Option<&LinkedElsewhere> {
        self.placement.as_ref()?.relink.as_ref().ok()?.linked.as_ref()
    }

    /// Uses the aligned executable that was linked elsewhere, if there is one, for all following
    /// runs. Returns which share of the code is at the same addresses.
    ///
    /// # Errors
    /// If an executable in another layout can't be removed.
    pub(crate) fn use_aligned(&mut self) -> Result<Option<f64>, Error> {
        let Some((path, share)) = self.linked_elsewhere().and_then(|one| one.aligned.clone())
        else {
            return Ok(None);
        };
        if let Some(placement) = &mut self.placement {
            placement.aligned = Some(path);
        }
        self.place_first()?;
        Ok(Some(share))
    }

    fn link(&self, mut command: Command, context: Context<'_>) -> Result<(), Error> {
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

/// The path of a file next to another one.
fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".");
    name.push(suffix);
    name.into()
}

fn remove(path: &Path) -> Result<(), Error> {
    remove_by(path, |path| std::fs::remove_file(path)).map_err(Error::io("remove", path))
}
