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

use crate::exec::system::{digest, digest_file, make_private_dir};

/// How an executable was linked.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Link {
    /// The linker, absolute.
    linker: PathBuf,
    /// Its arguments, without those that name the output.
    args: Vec<Argument>,
    /// Where it ran.
    folder: PathBuf,
    /// Files that it read and that were kept.
    kept: Vec<KeptFile>,
    /// Other files that are named in the arguments, and their lengths, bytes. They are
    /// the toolchain's or the commit's, and stay where they are.
    others: Vec<(PathBuf, u64)>,
}

/// An argument: its consecutive parts.
type Argument = Vec<ArgumentPart>;

/// A part of an argument.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum ArgumentPart {
    Text(String),
    /// The path of a kept file.
    File(usize),
    /// The folder of a kept file, which contains nothing else.
    Folder(usize),
}

/// A file that was kept.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct KeptFile {
    /// Once it is published, relative to the published folder.
    path: PathBuf,
    /// Its length, bytes.
    bytes: u64,
    /// The digest of its contents, once it is published.
    sha256: String,
}

/// The number of digits of a file's digest in the name of its folder.
const DIGITS: usize = 32;

impl Link {
    /// Puts the kept files into a folder, libraries without rustc's metadata. A file from
    /// which several executables are linked is stored once.
    ///
    /// # Errors
    /// Which file can't be kept.
    pub(crate) fn publish(mut self, folder: &Path) -> Result<Self, String> {
        for file in &mut self.kept {
            file.publish(folder).map_err(|error| {
                format!(
                    "could not keep what it was linked from, `{}`: {error}",
                    file.path.display()
                )
            })?;
        }
        Ok(self)
    }

    /// Whether all kept files are in the folder where they were published, as far as their lengths
    /// show.
    pub(crate) fn is_whole(&self, folder: &Path) -> bool {
        let is_there = |file: &KeptFile| {
            folder.join(&file.path).metadata().is_ok_and(|about| about.len() == file.bytes)
        };
        self.kept.iter().all(is_there)
    }
}

impl KeptFile {
    fn publish(&mut self, folder: &Path) -> std::io::Result<()> {
        let is_library = self.path.extension().is_some_and(|extension| extension == "rlib");
        let content = if is_library { Some(std::fs::read(&self.path)?) } else { None };
        let content = content.and_then(|content| archive::without_metadata(&content));
        (self.bytes, self.sha256) = match &content {
            Some(content) => (content.len() as u64, digest(content)),
            None => (self.path.metadata()?.len(), digest_file(&self.path)?),
        };
        let name = self.path.file_name().ok_or(std::io::ErrorKind::InvalidInput)?;
        let path = Path::new(&self.sha256[..DIGITS]).join(name);
        let to = folder.join(&path);
        if !to.exists() {
            make_private_dir(to.parent().unwrap_or(folder))?;
            match content {
                Some(content) => std::fs::write(&to, content)?,
                None => link_or_copy(&self.path, &to)?,
            }
        }
        self.path = path;
        Ok(())
    }
}

/// Makes `to` a hard link to a file, or a copy if that is impossible.
fn link_or_copy(from: &Path, to: &Path) -> std::io::Result<()> {
    std::fs::hard_link(from, to).or_else(|_| std::fs::copy(from, to).map(drop))
}
