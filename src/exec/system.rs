//! Differences between operating systems that std leaves to its callers: the
//! bytes of a path, links, permissions. Also files that are replaced as a whole
//! ([`Place`]), and those with a value that is kept ([`Memo`]). What a system does not have is `None` or an error, never a guess.
//! (Processes are in [`crate::exec::process`].)

mod access;
mod digest;
mod memo;
mod place;

use std::ffi::{OsStr, OsString};
use std::fs::{File, Metadata};
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Component, Path, PathBuf};
use std::time::SystemTime;

use memchr::memmem;

pub(crate) use access::{make_private_dir, may_execute, mode, owner, permissions};
pub use digest::digest;
pub(crate) use digest::digest_of;
pub use digest::{digest_file, hex};
pub(crate) use memo::Memo;
pub use place::{Place, Staged};

/// An unpredictable number.
pub fn random() -> u64 {
    // The standard library's keys come from the system's random numbers.
    RandomState::new().build_hasher().finish()
}

/// Whether executables are ELF files, linked by a program with the interface of GNU's
/// linker, and `/bin/sh` runs scripts.
pub(crate) const LINKS_AS_GNU: bool = cfg!(target_os = "linux");

/// A path as git writes it: as its bytes.
pub(crate) fn git_bytes(path: &Path) -> Vec<u8> {
    path.as_os_str().as_bytes().to_vec()
}

/// The path that [`git_bytes`] wrote.
pub(crate) fn from_git(bytes: &[u8]) -> PathBuf {
    OsStr::from_bytes(bytes).into()
}

/// Replaces every `old` in `bytes` by `new`, which has the same length.
pub(crate) fn replace_bytes(bytes: &mut [u8], old: &[u8], new: &[u8]) {
    let places: Vec<usize> = memmem::find_iter(bytes, old).collect();
    for at in places {
        bytes[at..at + old.len()].copy_from_slice(new);
    }
}

/// Replaces every byte `old` in `text` by `new`.
pub(crate) fn replace(text: &OsStr, old: u8, new: &str) -> OsString {
    let parts: Vec<&[u8]> = text.as_bytes().split(|byte| *byte == old).collect();
    OsString::from_vec(parts.join(new.as_bytes()))
}

/// Creates a symbolic link at `at` that points to `to`.
///
/// # Errors
/// If the system does not allow it.
pub(crate) fn link(to: &Path, at: &Path) -> io::Result<()> {
    std::os::unix::fs::symlink(to, at)
}

/// Creates or changes the link to a folder at `at`, atomically.
///
/// # Errors
/// As [`link`].
pub(crate) fn relink(to: &Path, at: &Path) -> io::Result<()> {
    let new = at.with_extension("new");
    let _ = std::fs::remove_file(&new);
    link(to, &new)?;
    std::fs::rename(&new, at)
}

/// Whether a path stays below `root`: it has no `..`, and none of its folders is a
/// link.
pub(crate) fn is_inside(root: &Path, path: &Path) -> bool {
    let is_plain = path.components().all(|part| matches!(part, Component::Normal(_)));
    let mut folders = path.ancestors().skip(1).filter(|part| !part.as_os_str().is_empty());
    is_plain && folders.all(|part| !root.join(part).is_symlink())
}

/// The stamp by which git's index recognises an unchanged file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(crate) struct Stamp {
    /// The lower bits of its inode number.
    pub(crate) number: u32,
    /// When its content last changed: seconds since 1970, and nanoseconds.
    pub(crate) modified: (i64, u32),
    /// When anything about it last changed.
    pub(crate) changed: (i64, u32),
}

pub(crate) fn stamp(file: &Metadata) -> Stamp {
    use std::os::unix::fs::MetadataExt;
    Stamp {
        number: file.ino() as u32,
        modified: (file.mtime(), file.mtime_nsec() as u32),
        changed: (file.ctime(), file.ctime_nsec() as u32),
    }
}

/// Whether a file is a named pipe; opening it would block until its other end is opened.
pub fn is_pipe(file: &Metadata) -> bool {
    std::os::unix::fs::FileTypeExt::is_fifo(&file.file_type())
}

/// Removes a file, a link, or a folder with its content; it may already be gone.
///
/// # Errors
/// If the system does not allow it.
pub(crate) fn remove(path: &Path) -> io::Result<()> {
    let removed = match path.symlink_metadata() {
        Ok(about) if about.is_dir() => std::fs::remove_dir_all(path),
        _ => std::fs::remove_file(path),
    };
    match removed {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        removed => removed,
    }
}

/// Sets when a file was last changed, even if it may not be written to.
///
/// # Errors
/// If the file belongs to another user or does not exist.
pub(crate) fn set_modified(path: &Path, time: SystemTime) -> io::Result<()> {
    File::open(path)?.set_modified(time)
}

/// Writes a file of a test, and the folders around it.
#[cfg(test)]
#[track_caller]
pub(crate) fn write(path: &Path, text: &str) {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_git_wrote_is_read_again() {
        for path in ["a/b c", "ä"] {
            let path: PathBuf = Path::new(path).components().collect();
            assert_eq!(from_git(&git_bytes(&path)), path);
        }
        assert_eq!(git_bytes(&Path::new("a").join("b")), b"a/b");
        assert_eq!(replace("/a%b%".as_ref(), b'%', "%%"), "/a%%b%%");
    }

    #[test]
    fn a_link_is_changed_and_a_file_gets_its_time() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        let file = |name: &str| std::fs::write(at(name).join("name"), name).unwrap();
        for name in ["one", "two"] {
            std::fs::create_dir(at(name)).unwrap();
            file(name);
        }
        for name in ["one", "two"] {
            relink(&at(name), &at("link")).unwrap();
            assert_eq!(std::fs::read_to_string(at("link").join("name")).unwrap(), name);
        }
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 3);
        let name = at("one").join("name");
        set_modified(&name, SystemTime::UNIX_EPOCH).unwrap();
        let modified = std::fs::metadata(&name).unwrap().modified().unwrap();
        assert_eq!(modified, SystemTime::UNIX_EPOCH);
    }
}
