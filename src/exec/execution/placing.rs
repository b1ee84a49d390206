//! Other layouts of an executable in memory.
//!
//! The placement of code makes programs faster or slower, although they do the same: the
//! order in which the linker places functions determines which of them share a cache line
//! or a page, and the place of the file in the system's cache determines its pages of
//! memory. So another layout is made by linking an executable again with its functions in
//! random order, or, if that is impossible, by copying it, which only changes its pages.

use std::path::{Path, PathBuf};

use super::placement::{ENDING, Placement, with_suffix};
use super::run::Context;
use super::side::SideProgram;
use crate::error::Error;
use crate::exec::error::ExecError;
use crate::exec::process::{Command, Sink, stderr_tail};
use crate::exec::program::{AlignedLink, HEAP_SEED, LinkedElsewhere};
use crate::exec::system;
use crate::model::layouts::Placing;

/// The suffix of the executable that is aligned with the other side's.
const ALIGNED: &str = "aligned";

/// The variable that moves the stack, and by how many bytes at most.
const STACK: &str = "CBDR_STACK";
const MOST_STACK: usize = 4096;

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
    /// which always has the same `seed`.
    ///
    /// # Errors
    /// If the linker fails, or the file can't be written.
    pub(crate) fn place(
        &mut self,
        placing: Placing,
        layout: (usize, u32),
        context: Context<'_>,
    ) -> Result<(), Error> {
        let Some(Placement { built, moved, word, relink, .. }) = &self.placement else {
            return Ok(());
        };
        let (built, moved, word) = (built.clone(), moved.clone(), *word);
        let is_linked = placing == Placing::Linked && relink.is_ok();
        let from = if is_linked { self.linked_layout(layout, context)? } else { built };
        // A new file, not new content in the same pages.
        remove(&moved)?;
        fs_err::copy(&from, &moved).map_err(Error::io("copy", &from))?;
        self.command.argv[word] = moved.into();
        Ok(())
    }

    /// The executable in a layout. Several tests use it, and linking takes longer than many a run,
    /// so it is only linked once if there is room to keep it.
    fn linked_layout(
        &mut self,
        (number, seed): (usize, u32),
        context: Context<'_>,
    ) -> Result<PathBuf, Error> {
        if let Some(known) = self.layouts().get(number) {
            return Ok(known.clone());
        }
        let is_next = |one: &Placement| one.kept.len() == number && one.left > 0;
        let is_kept = self.placement.as_ref().is_some_and(is_next);
        let name = if is_kept { format!("layout-{number}") } else { "layout".to_owned() };
        let path = self.folder.join(name);
        let linked = self.link_layout(seed, &path, context);
        if let Some(Placement { kept, left, .. }) = &mut self.placement {
            if linked.is_err() {
                // The disk may be full.
                *left = 0;
                kept.drain(..).try_for_each(|path| remove(&path))?;
            } else if is_kept {
                *left = left.saturating_sub(path.metadata().map_or(0, |about| about.len()));
                kept.push(path.clone());
            }
        }
        linked.map(|()| path)
    }

    /// The layouts that need not be linked.
    fn layouts(&self) -> &[PathBuf] {
        match self.linked_elsewhere() {
            Some(linked) => linked.layouts.as_deref().unwrap_or_default(),
            None => self.placement.as_ref().map_or(&[][..], |placement| &placement.kept),
        }
    }

    /// The number of layouts that need not be linked.
    pub(crate) fn layouts_at_hand(&self) -> u64 {
        self.layouts().len() as u64
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
        let is_own =
            || self.home.canonicalize().is_ok_and(|home| self.executable.starts_with(home));
        let path = match &self.placement {
            Some(placement) => Path::new(&self.command.argv[placement.word]),
            // What a command runs, unless both sides run it.
            None if is_own() => &self.executable,
            None => return false,
        };
        let copy = with_suffix(path, "new");
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
        // gcc leaves its temporary files where they are if it is ended by a signal.
        command.set_var("TMPDIR", &self.folder);
        let exit = context.helper.run(&command, context.interrupt)?.exit;
        if exit.success() {
            return Ok(());
        }
        let stderr = stderr_tail(&stderr);
        Err(ExecError::Tool { command: command.shown(), folder: command.cwd, exit, stderr }.into())
    }
}

fn remove(path: &Path) -> Result<(), Error> {
    system::remove(path).map_err(Error::io("remove", path))
}
