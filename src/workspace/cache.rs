//! The folder under `~/.cache`: where what lies, who may write it, how long
//! it stays.
//!
//! ```text
//! cargo-cbdr/CACHEDIR.TAG
//! cargo-cbdr/repositories-v1/NAME-HASH/     one for each repository
//!     lock                                  held for a whole comparison
//!     git/                                  the private bare repository
//!     base/tree  head/tree                  the worktrees
//!     base/built head/built                 those in which build commands run
//!     base/built.record                     what the build commands left there
//!     base/t-SPEC -> live-SPEC or an artifact   where cargo is told to build
//!     builds/KEY/{manifest.json, files/}    published artifacts
//! ```
//!
//! Cargo and rustc write the path of the target folder into what they build
//! (`OUT_DIR`, `CARGO_BIN_EXE_x`). So that an artifact built last week finds
//! its own files at those paths, `t-SPEC` is a link: to the folder that cargo
//! fills while building, to the published artifact while measuring.

mod artifact;
mod inputs;
mod inventory;
mod prune;
#[cfg(test)]
mod tests;

use std::fs::{File, TryLockError};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::exec::system::digest;
pub use artifact::{Artifact, Executable};
pub(crate) use inputs::Environment;
pub use inputs::Inputs;
pub use inventory::{Cleaned, Kept};

use crate::exec::process::user_id;
use crate::exec::system::{canonical, make_private_dir, mode, owner, relink};
use crate::model::side::Side;

/// The folder of all rooms; its number counts up when their layout changes.
const BUCKET: &str = "repositories-v1";

/// The number of the user who may do everything.
const ROOT: u32 = 0;
/// In a folder's mode, the right of its group and of everybody to write.
const OTHERS_WRITE: u32 = 0o022;
/// In a folder's mode: nobody removes or renames what is another's.
const STICKY: u32 = 0o1000;

/// What went wrong in the cache.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// There is no place for it.
    #[error(
        "no folder for the cache: neither CBDR_CACHE_DIR nor XDG_CACHE_HOME nor HOME names one"
    )]
    NoPlace,
    /// It is another user's: what lies there would be run as this one.
    #[error("the cache at `{}` belongs to another user (number {owner})", .path.display())]
    NotOwned {
        /// Its folder.
        path: PathBuf,
        /// Whose it is.
        owner: u32,
    },
    /// Others may write where programs are kept that are run.
    #[error("the cache's folder `{}` may be written by others", .0.display())]
    Open(PathBuf),
    /// A file of it could not be read or written.
    #[error("could not {verb} `{}`", .path.display())]
    Io {
        /// What was tried.
        verb: &'static str,
        /// On what.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

impl Error {
    /// What the user can do about it.
    pub fn hint(&self) -> Option<String> {
        let full = [io::ErrorKind::StorageFull, io::ErrorKind::QuotaExceeded];
        let refused = [
            io::ErrorKind::PermissionDenied,
            io::ErrorKind::ReadOnlyFilesystem,
            io::ErrorKind::NotADirectory,
        ];
        match self {
            Error::NoPlace => Some("set CBDR_CACHE_DIR to a folder".to_owned()),
            Error::NotOwned { .. } => {
                Some("set CBDR_CACHE_DIR to a folder of your own: its builds are run".to_owned())
            }
            Error::Open(path) => {
                let path = path.to_string_lossy();
                let path = shlex::try_quote(&path).unwrap_or("PATH".into());
                let own = "set CBDR_CACHE_DIR to a folder of your own";
                Some(format!("`chmod go-w {path}` if nobody else has, or {own}"))
            }
            Error::Io { source, .. } if full.contains(&source.kind()) => {
                Some("make room, or set CBDR_CACHE_DIR to a folder on another disk".to_owned())
            }
            Error::Io { source, .. } if refused.contains(&source.kind()) => {
                Some("set CBDR_CACHE_DIR to a folder that you may write".to_owned())
            }
            Error::Io { .. } => None,
        }
    }
}

/// Names the verb and the path of a failed call.
pub(crate) fn io_error(verb: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Error {
    let path = path.to_owned();
    move |source| Error::Io { verb, path, source }
}

/// The cache.
#[derive(Clone, Debug)]
pub struct Cache {
    root: PathBuf,
}

impl Cache {
    /// The cache at `place`, or where the environment says it is:
    /// `CBDR_CACHE_DIR`, else `cargo-cbdr` under the user's cache folder.
    ///
    /// # Errors
    /// When there is no such place, it can't be made, or others may write to it.
    pub fn open(place: Option<PathBuf>) -> Result<Self, Error> {
        let root = match place {
            Some(place) => std::path::absolute(&place).map_err(io_error("find", &place))?,
            None => {
                use etcetera::BaseStrategy;
                let strategy = etcetera::choose_base_strategy().map_err(|_| Error::NoPlace)?;
                let place = strategy.cache_dir();
                // It would come to lie in the user's repository.
                if place.is_relative() {
                    return Err(Error::NoPlace);
                }
                place.join("cargo-cbdr")
            }
        };
        make_dir(&root)?;
        // Worktree paths get into executables: the spelling must not depend
        // on the links through which the cache was reached.
        let root = canonical(&root).map_err(io_error("find", &root))?;
        check_owner(&root, &[user_id(), ROOT])?;
        if !is_shared(&root) {
            check_mode(&root)?;
        }
        let tag = root.join("CACHEDIR.TAG");
        if !tag.exists() {
            let text = "Signature: 8a477f597d28d172789f06886806bc55\n\
                        # Made by cargo cbdr; everything here can be deleted.\n";
            std::fs::write(&tag, text).map_err(io_error("write", &tag))?;
        }
        Ok(Cache { root })
    }

    /// The room of the repository whose shared git folder is `common`.
    ///
    /// # Errors
    /// When it can't be made, or others may write to it.
    pub fn room(&self, common: &Path, name: &str) -> Result<Room, Error> {
        let common = canonical(common).map_err(io_error("find", common))?;
        let hash = digest(common.as_os_str().as_encoded_bytes());
        let letters = name.chars().filter(|c| c.is_ascii_alphanumeric() || *c == '-' || *c == '_');
        let name: String = letters.take(32).collect();
        let bucket = self.root.join(BUCKET);
        let path = bucket.join(format!("{name}-{}", &hash[..16]));
        let room = Room { path };
        make_dir(&room.path)?;
        for folder in [&bucket, &room.path, &room.builds()] {
            check_owner(folder, &[user_id()])?;
            check_mode(folder)?;
        }
        let note = room.path.join(inventory::REPOSITORY);
        if !note.exists() {
            let text = format!("{}\n", common.display());
            std::fs::write(&note, text).map_err(io_error("write", &note))?;
        }
        Ok(room)
    }
}

/// An error where a folder is none of these users': who can put a build there
/// chooses what is run.
fn check_owner(path: &Path, users: &[u32]) -> Result<(), Error> {
    let about = match path.metadata() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        about => about.map_err(io_error("look at", path))?,
    };
    match owner(&about) {
        Some(owner) if !users.contains(&owner) => {
            Err(Error::NotOwned { path: path.to_owned(), owner })
        }
        _ => Ok(()),
    }
}

/// An error where others may write to a folder, and so change what is run.
fn check_mode(path: &Path) -> Result<(), Error> {
    match path.metadata().ok().and_then(|about| mode(&about)) {
        Some(mode) if mode & OTHERS_WRITE != 0 => Err(Error::Open(path.to_owned())),
        _ => Ok(()),
    }
}

/// Whether others may add to a folder, but take away only what is theirs, as of
/// `/tmp`.
fn is_shared(path: &Path) -> bool {
    path.metadata().ok().and_then(|about| mode(&about)).is_some_and(|mode| mode & STICKY != 0)
}

/// Makes a folder and those around it, for the user alone.
///
/// # Errors
/// When it can't be made.
pub(crate) fn make_dir(path: &Path) -> Result<(), Error> {
    make_private_dir(path).map_err(io_error("make", path))
}

/// The part of the cache that belongs to one repository.
#[derive(Clone, Debug)]
pub struct Room {
    path: PathBuf,
}

/// The right to use a room, until it is dropped or the process ends.
#[derive(Debug)]
pub struct Lock {
    _file: File,
}

impl Room {
    /// Its folder.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The private bare repository.
    pub fn git(&self) -> PathBuf {
        self.path.join("git")
    }

    /// The folder of one side; the two are of equal length.
    pub fn side(&self, side: Side) -> PathBuf {
        self.path.join(side.name())
    }

    /// The worktree of one side.
    pub fn tree(&self, side: Side) -> PathBuf {
        self.side(side).join("tree")
    }

    /// The worktree of one side in which build commands are run.
    pub fn built(&self, side: Side) -> PathBuf {
        self.side(side).join("built")
    }

    /// The link under which cargo builds the builds of kind `spec`.
    pub fn target(&self, side: Side, spec: &str) -> PathBuf {
        self.side(side).join(format!("t-{spec}"))
    }

    /// The folder that cargo fills.
    pub fn live(&self, side: Side, spec: &str) -> PathBuf {
        self.side(side).join(format!("live-{spec}"))
    }

    /// Lets the link of a side lead to `to`.
    ///
    /// # Errors
    /// When it can't be made.
    pub fn point(&self, side: Side, spec: &str, to: &Path) -> Result<(), Error> {
        let link = self.target(side, spec);
        relink(to, &link).map_err(io_error("make", &link))
    }

    /// A file of the room that lives for this comparison.
    pub fn scratch(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    /// Takes the lock. `wait` is called with what the holder wrote about
    /// itself while somebody else holds it, first at once and then ten times a
    /// second; it ends the waiting with an error of its own.
    ///
    /// # Errors
    /// That of `wait`, or an [`Error`].
    pub fn lock<E: From<Error>>(
        &self,
        about: &str,
        mut wait: impl FnMut(&str) -> Result<(), E>,
    ) -> Result<Lock, E> {
        loop {
            match self.try_lock(about)? {
                Ok(lock) => return Ok(lock),
                Err(holder) => wait(&holder)?,
            }
            std::thread::sleep(Duration::from_millis(100));
        }
    }

    /// Takes the lock if nobody has it; else says what the holder wrote about
    /// itself.
    fn try_lock(&self, about: &str) -> Result<Result<Lock, String>, Error> {
        let path = self.path.join("lock");
        let mut options = File::options();
        options.read(true).write(true).create(true).truncate(false);
        let mut file = options.open(&path).map_err(io_error("open", &path))?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                let holder = std::fs::read_to_string(&path).unwrap_or_default();
                return Ok(Err(holder.trim().to_owned()));
            }
            Err(TryLockError::Error(error)) => return Err(io_error("lock", &path)(error)),
        }
        let written = file.set_len(0).and_then(|()| file.write_all(about.as_bytes()));
        written.map_err(io_error("write", &path))?;
        Ok(Ok(Lock { _file: file }))
    }

    pub(crate) fn builds(&self) -> PathBuf {
        self.path.join("builds")
    }
}

/// The bytes of a folder's files.
fn size(path: &Path) -> u64 {
    let Ok(entries) = std::fs::read_dir(path) else {
        return 0;
    };
    let of = |entry: std::fs::DirEntry| match entry.file_type() {
        Ok(kind) if kind.is_dir() => size(&entry.path()),
        _ => entry.metadata().map_or(0, |metadata| metadata.len()),
    };
    entries.flatten().map(of).sum()
}

/// All that shapes a build, a line each; two builds of one key are the same.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Key {
    text: String,
}

impl Key {
    /// A key of named parts.
    pub fn new<'a>(parts: impl IntoIterator<Item = (&'a str, String)>) -> Self {
        let line = |(name, value)| format!("{name}={value:?}\n");
        Key { text: parts.into_iter().map(line).collect() }
    }

    /// The name of its folder.
    pub fn name(&self) -> String {
        let mut name = digest(self.text.as_bytes());
        name.truncate(32);
        name
    }
}
