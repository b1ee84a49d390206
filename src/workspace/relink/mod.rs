//! The files from which executables are linked, kept so that these can be linked again
//! with their functions in another order.
//!
//! rustc deletes most of what it links. So cargo is configured to call a linker of ours
//! ([`linker`]): a script that calls the real one with the same arguments, and then this
//! program, which stores what was linked ([`record`]) in the target folder. When the
//! build is published, the files become part of it ([`Link::publish`]); [`call`]
//! composes the linker's command, and [`heap`] makes an object that is linked, too.

mod archive;
pub(super) mod call;
mod heap;
pub(super) mod linker;
pub(super) mod record;
#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::exec::program::RelinkInput;
use crate::exec::system::make_private_dir;

/// How an executable was linked.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Link {
    /// The linker, absolute.
    linker: PathBuf,
    /// Its arguments, without those that name the output, and with [`KEPT`] in the paths of
    /// kept files.
    args: Vec<String>,
    /// Where it ran.
    folder: PathBuf,
    /// The files that are named in the arguments. Those that were kept have a digest, and a path
    /// relative to the folder that they are in. The others are the toolchain's or the commit's,
    /// and stay where they are.
    files: Vec<RelinkInput>,
    /// Where the kept files are, until they are published.
    #[serde(skip)]
    place: PathBuf,
}

/// What stands in arguments for the folder of kept files: no argument can contain it.
const KEPT: &str = "\0";

impl Link {
    /// Puts the kept files into a folder. One from which several executables are linked is stored
    /// once.
    ///
    /// # Errors
    /// Which file can't be kept.
    pub(crate) fn publish(&self, folder: &Path) -> Result<(), String> {
        self.kept().try_for_each(|RelinkInput { path, .. }| {
            let (from, to) = (self.place.join(path), folder.join(path));
            if to.exists() {
                return Ok(());
            }
            let made = make_private_dir(to.parent().unwrap_or(folder));
            let link = || std::fs::hard_link(&from, &to);
            let kept = made.and_then(|()| link().or_else(|_| std::fs::copy(&from, &to).map(drop)));
            kept.map_err(|error| {
                format!("could not keep what it was linked from, `{}`: {error}", path.display())
            })
        })
    }

    /// Whether all kept files are in the folder where they were published, as far as their lengths
    /// show.
    pub(crate) fn is_whole(&self, folder: &Path) -> bool {
        self.kept().all(|file| {
            folder.join(&file.path).metadata().is_ok_and(|about| about.len() == file.bytes)
        })
    }

    fn kept(&self) -> impl Iterator<Item = &RelinkInput> {
        self.files.iter().filter(|file| file.sha256.is_some())
    }
}
