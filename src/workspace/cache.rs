//! The folder under `~/.cache`: its structure, who may write there, and how long
//! content is kept.
//!
//! ```text
//! cargo-cbdr/{CACHEDIR.TAG, .gitignore}
//! cargo-cbdr/tools-v1                       digests of compilers and linkers
//! cargo-cbdr/heap-v1/KEY.o                  what scatters the heap of measured programs
//! cargo-cbdr/repositories-v1/NAME-HASH/     one for each repository
//!     lock                                  held for a whole comparison
//!     git/                                  the private bare repository
//!     base/tree  head/tree                  the worktrees
//!     base/built head/built                 those in which build commands run
//!     base/built.record                     what the build commands left there
//!     base/t-SPEC -> live-SPEC or an artifact   where cargo is told to build
//!     builds/KEY/{manifest.json, files/}    published artifacts
//!     builds/KEY/links/                     what their executables were linked from
//!     builds/KEY/watched/                   what their programs were seen to do
//!     builds/KEY/compared/                  how their programs differ from a base's
//!     linker/HASH/NAME                      the linkers that cargo is told to call
//!     found-NAME                            what was found out, and would be found out anew
//! ```
//!
//! Cargo and rustc write the path of the target folder into what they build
//! (`OUT_DIR`, `CARGO_BIN_EXE_x`). So that an older artifact finds its own files at
//! those paths, `t-SPEC` is a link: to the folder that cargo fills while building,
//! to the published artifact while measuring.

pub(crate) mod artifact;
pub mod cleaning;
#[cfg(test)]
mod tests;

use std::ffi::OsStr;
use std::fs::{File, TryLockError};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::error::{Error, Failure, FileError};
use crate::exec::process::user_id;
use crate::exec::system::{digest, git_bytes, make_private_dir, mode, owner, relink};
use crate::model::side::Side;
use crate::workspace::files::{is_damage, remove};

/// The folder of all repositories; its number is incremented when the layout changes.
pub(crate) const BUCKET: &str = "repositories-v1";

/// Digests of compilers and linkers: one file for all repositories.
const DIGESTS_OF_TOOLS: &str = "tools-v1";

/// Objects that are linked into programs: one folder for all repositories.
const HEAP_OBJECTS: &str = "heap-v1";

/// The worktree of a side, in its folder.
pub(crate) const TREE: &str = "tree";

/// How the names of files begin whose content would be found out anew.
const FOUND_OUT: &str = "found-";

/// The file with the path of the repository to which a folder belongs.
const REPOSITORY: &str = "repository";

/// The user id of root.
const ROOT: u32 = 0;
/// In a folder's mode, write permission for its group and for others.
const OTHERS_WRITE: u32 = 0o022;
/// In a folder's mode: only owners may remove or rename their files.
const STICKY: u32 = 0o1000;

/// The hint where the folder of the cache can't be used.
const WRITABLE: &str = "set CBDR_CACHE_DIR to a folder that you can write to";

/// What to do if a file of a repository's part of the cache can't be used: it may be damaged in a
/// way that is not mended.
pub(crate) fn hint(error: &FileError) -> Option<String> {
    let is_repository =
        |folder: &&Path| folder.parent().is_some_and(|parent| parent.ends_with(BUCKET));
    let folder = error.path.ancestors().find(is_repository)?;
    match error.source.kind() {
        kind if is_damage(kind) => {
            Some(format!("the cache may be damaged: delete `{}`", folder.display()))
        }
        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
            Some(WRITABLE.to_owned())
        }
        _ => None,
    }
}

/// The error for a place where there can't be a cache.
fn unusable(verb: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Error {
    let error = FileError::new(verb, path);
    move |source| {
        let error = error(source);
        Failure::new(error.to_string(), WRITABLE).caused_by(error.source).into()
    }
}

/// The cache.
#[derive(Clone, Debug)]
pub struct Cache {
    root: PathBuf,
}

impl Cache {
    /// The cache at `place`, or as set in the environment: `CBDR_CACHE_DIR`,
    /// else `cargo-cbdr` under the user's cache folder.
    ///
    /// # Errors
    /// If there is no such place, it can't be created, or others may write to it.
    pub fn open(place: Option<PathBuf>) -> Result<Self, Error> {
        let root = match place {
            Some(place) => std::path::absolute(&place).map_err(unusable("find", &place))?,
            None => {
                use etcetera::BaseStrategy;
                let place = etcetera::choose_base_strategy().map(|strategy| strategy.cache_dir());
                // A relative one would be inside the user's repository.
                let place = place.ok().filter(|place| place.is_absolute());
                let what = "no folder for the cache: neither CBDR_CACHE_DIR nor XDG_CACHE_HOME \
                    nor HOME names one";
                let step = "set CBDR_CACHE_DIR to a folder";
                place.ok_or_else(|| Failure::new(what, step))?.join("cargo-cbdr")
            }
        };
        make_private_dir(&root).map_err(unusable("create", &root))?;
        // Worktree paths end up in executables, so their spelling must not
        // depend on the links through which the cache is reached.
        let root = root.canonicalize().map_err(unusable("find", &root))?;
        check(&root, &[user_id(), ROOT], true)?;
        let tag = root.join("CACHEDIR.TAG");
        if !tag.is_file() {
            remove(&tag)?;
            let text = "Signature: 8a477f597d28d172789f06886806bc55\n\
                        # Made by cargo cbdr; everything here can be deleted.\n";
            std::fs::write(&tag, text).map_err(unusable("write", &tag))?;
        }
        // Where a CI system keeps the cache in the working tree, it is no change there.
        let ignored = root.join(".gitignore");
        if !ignored.exists() {
            std::fs::write(&ignored, "*\n").map_err(unusable("write", &ignored))?;
        }
        Ok(Cache { root })
    }

    /// The part of the repository `name` whose common git folder is `common`.
    ///
    /// # Errors
    /// If it can't be created, or others may write to it.
    pub fn repository(&self, common: &Path, name: &str) -> Result<RepositoryCache, Error> {
        let common = common.canonicalize().map_err(Error::io("find", common))?;
        let hash = digest(common.as_os_str().as_encoded_bytes());
        let letters = name.chars().filter(|c| c.is_ascii_alphanumeric() || *c == '-' || *c == '_');
        let name: String = letters.take(32).collect();
        let name = format!("{name}-{}", &hash[..16]);
        self.part(name.as_ref(), &common)
    }

    /// The part with the folder `name`, of a repository `of` this machine or another one.
    ///
    /// # Errors
    /// See [`Cache::repository`].
    pub(crate) fn part(&self, name: &OsStr, of: &Path) -> Result<RepositoryCache, Error> {
        let bucket = self.root.join(BUCKET);
        let repository = RepositoryCache { path: bucket.join(name) };
        make_dir(&repository.path)?;
        for folder in [&bucket, &repository.path, &repository.builds()] {
            check(folder, &[user_id()], false)?;
        }
        let note = repository.path.join(REPOSITORY);
        if !note.is_file() {
            remove(&note)?;
            std::fs::write(&note, [&git_bytes(of), &b"\n"[..]].concat())
                .map_err(Error::io("write", &note))?;
        }
        Ok(repository)
    }
}

/// Rejects a folder that belongs to none of these users, or that others may write to: whoever can
/// put a build there controls what is run. As in `/tmp`, others may add to one that `may_be_shared`
/// if they can only remove what belongs to them.
fn check(path: &Path, users: &[u32], may_be_shared: bool) -> Result<(), Error> {
    let about = match path.metadata() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        about => about.map_err(Error::io("look at", path))?,
    };
    let (shown, owner, mode) = (path.display(), owner(&about), mode(&about));
    let own = "set CBDR_CACHE_DIR to a folder of your own";
    if !users.contains(&owner) {
        let what = format!("the cache at `{shown}` belongs to another user (uid {owner})");
        return Err(Failure::new(what, format!("{own}, because its builds are run")).into());
    }
    if mode & OTHERS_WRITE != 0 && !(may_be_shared && mode & STICKY != 0) {
        let path = path.to_string_lossy();
        let path = shlex::try_quote(&path).unwrap_or("PATH".into());
        let step = format!("run `chmod go-w {path}` if nobody else has written to it, or {own}");
        let what = format!("the cache folder `{shown}` is writable by other users");
        return Err(Failure::new(what, step).into());
    }
    Ok(())
}

/// Creates a folder and its parents, accessible to the user only.
pub(crate) fn make_dir(path: &Path) -> Result<(), Error> {
    make_private_dir(path).map_err(Error::io("create", path))
}

/// The part of the cache that belongs to one repository.
#[derive(Clone, Debug)]
pub struct RepositoryCache {
    path: PathBuf,
}

/// The lock of a repository's part, until it is dropped or the process ends.
#[derive(Debug)]
pub(crate) struct Lock {
    file: File,
}

impl Drop for Lock {
    fn drop(&mut self) {
        // A process that another thread is just starting holds a copy of the file, which
        // closing ours would leave locked.
        let _ = self.file.unlock();
    }
}

impl RepositoryCache {
    /// Its folder.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The private bare repository.
    pub(crate) fn git(&self) -> PathBuf {
        self.path.join("git")
    }

    /// The published artifacts.
    pub(crate) fn builds(&self) -> PathBuf {
        self.path.join("builds")
    }

    /// The linkers that cargo calls.
    pub(crate) fn linkers(&self) -> PathBuf {
        self.path.join("linker")
    }

    /// Digests of compilers and linkers, which all repositories share.
    pub(crate) fn digests_of_tools(&self) -> PathBuf {
        self.root().join(DIGESTS_OF_TOOLS)
    }

    /// The folder of objects that are linked into programs, which all repositories share.
    pub(crate) fn heap_objects(&self) -> Result<PathBuf, Error> {
        let folder = self.root().join(HEAP_OBJECTS);
        make_dir(&folder)?;
        check(&folder, &[user_id()], false)?;
        Ok(folder)
    }

    /// The folder of the whole cache.
    fn root(&self) -> &Path {
        self.path.ancestors().nth(2).unwrap_or(&self.path)
    }

    /// A file that is kept for this repository.
    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    /// A file with something that was found out, such as the versions in a lock file, and would be
    /// found out anew: it goes when the cache is emptied.
    pub(crate) fn found_out(&self, name: &str) -> PathBuf {
        self.file(&format!("{FOUND_OUT}{name}"))
    }

    /// The folder of one side; the two are of equal length.
    pub(crate) fn side_folder(&self, side: Side) -> PathBuf {
        self.path.join(side.name())
    }

    /// The worktree of one side.
    pub(crate) fn worktree(&self, side: Side) -> PathBuf {
        self.side_folder(side).join(TREE)
    }

    /// The worktree of one side in which build commands are run.
    pub(crate) fn command_worktree(&self, side: Side) -> PathBuf {
        self.side_folder(side).join("built")
    }

    /// The link to the folder in which cargo builds with the build options `spec`.
    pub(crate) fn target_link(&self, side: Side, spec: &str) -> PathBuf {
        self.side_folder(side).join(format!("t-{spec}"))
    }

    /// The folder that cargo fills.
    pub(crate) fn target_folder(&self, side: Side, spec: &str) -> PathBuf {
        self.side_folder(side).join(format!("live-{spec}"))
    }

    /// Removes the private repository and all its worktrees.
    pub(crate) fn remove_worktrees(&self) -> Result<(), Error> {
        remove(&self.git())?;
        for side in Side::BOTH {
            for name in [TREE, "built"] {
                remove(&self.side_folder(side).join(name))?;
            }
        }
        Ok(())
    }

    /// Points the [`RepositoryCache::target_link`] of a side to `to`.
    pub(crate) fn link_target(&self, side: Side, spec: &str, to: &Path) -> Result<(), Error> {
        let link = self.target_link(side, spec);
        if !link.is_symlink() {
            // A copy of the cache may have a folder there.
            remove(&link)?;
        }
        relink(to, &link).map_err(Error::io("create", &link))
    }

    /// Takes the lock. While another process holds it, `wait` is called ten times
    /// a second with that process's description of itself; an error of `wait` ends
    /// the waiting.
    pub(crate) fn lock(
        &self,
        about: &str,
        mut wait: impl FnMut(&str) -> Result<(), Error>,
    ) -> Result<Lock, Error> {
        loop {
            if let Some(lock) = self.try_lock(about)? {
                return Ok(lock);
            }
            wait(&self.lock_holder())?;
            std::thread::sleep(Duration::from_millis(100));
        }
    }

    /// Takes the lock, unless another process has it.
    fn try_lock(&self, about: &str) -> Result<Option<Lock>, Error> {
        let path = self.lock_file();
        let mut options = File::options();
        options.read(true).write(true).create(true).truncate(false);
        let mut file = options.open(&path).map_err(Error::io("open", &path))?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Ok(None),
            Err(TryLockError::Error(error)) => {
                return Err(Error::io("lock", &path)(error));
            }
        }
        let written = file.set_len(0).and_then(|()| file.write_all(about.as_bytes()));
        written.map_err(Error::io("write", &path))?;
        Ok(Some(Lock { file }))
    }

    /// How the process that has the lock describes itself.
    fn lock_holder(&self) -> String {
        std::fs::read_to_string(self.lock_file()).unwrap_or_default().trim().to_owned()
    }

    fn lock_file(&self) -> PathBuf {
        self.path.join("lock")
    }
}
