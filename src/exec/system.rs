//! Differences between operating systems that std leaves to its callers: the
//! bytes of a path, links, permissions. Also files that are replaced as a whole
//! ([`Place`]), and those with a value that is kept ([`Memo`]). What a system does not have is `None` or an error, never a guess.
//! (Processes are in [`crate::exec::process`].)

mod digest;
mod memo;
mod place;

use std::ffi::{OsStr, OsString};
use std::fs::{File, Metadata, Permissions};
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io;
use std::path::{Component, Path, PathBuf};
use std::time::SystemTime;

pub use digest::digest;
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

/// The environment variable with the user's home folder.
pub(crate) const HOME: &str = if cfg!(windows) { "USERPROFILE" } else { "HOME" };

/// Whether lines of text end with a line feed only, as in git.
pub(crate) const HAS_PLAIN_LINE_ENDS: bool = cfg!(unix);

/// A path as git writes it: as its bytes, on Windows as UTF-8 with slashes.
pub(crate) fn git_bytes(path: &Path) -> Vec<u8> {
    #[cfg(unix)]
    {
        std::os::unix::ffi::OsStrExt::as_bytes(path.as_os_str()).to_vec()
    }
    #[cfg(not(unix))]
    {
        path.to_string_lossy().replace('\\', "/").into_bytes()
    }
}

/// The path that [`git_bytes`] wrote. On Windows, where a path is always UTF-8,
/// invalid bytes are replaced.
pub(crate) fn from_git(bytes: &[u8]) -> PathBuf {
    #[cfg(unix)]
    {
        let text: &OsStr = std::os::unix::ffi::OsStrExt::from_bytes(bytes);
        text.into()
    }
    #[cfg(not(unix))]
    {
        String::from_utf8_lossy(bytes).into_owned().into()
    }
}

/// Replaces every `old` in `text` by `new`.
pub(crate) fn replace(text: &OsStr, old: char, new: &str) -> OsString {
    // An ASCII byte is never part of another character.
    #[cfg(unix)]
    if let (true, Ok(byte)) = (old.is_ascii(), u8::try_from(old)) {
        use std::os::unix::ffi::{OsStrExt, OsStringExt};
        let parts = text.as_bytes().split(|&other| other == byte);
        return OsString::from_vec(parts.collect::<Vec<_>>().join(new.as_bytes()));
    }
    text.to_string_lossy().replace(old, new).into()
}

/// Creates a symbolic link at `at` that points to `to`.
///
/// # Errors
/// If the system does not allow it, such as Windows without the permission (granted
/// in Developer Mode).
pub(crate) fn link(to: &Path, at: &Path) -> io::Result<()> {
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink(to, at)
    }
    #[cfg(windows)]
    {
        use std::os::windows::fs::{symlink_dir, symlink_file};
        // There are links to files and links to folders.
        let full = at.parent().unwrap_or(Path::new("")).join(to);
        if full.is_dir() { symlink_dir(to, at) } else { symlink_file(to, at) }
    }
}

/// Creates or changes the link to a folder at `at`, atomically except on
/// Windows, where there is no link for a moment.
///
/// # Errors
/// As [`link`].
pub(crate) fn relink(to: &Path, at: &Path) -> io::Result<()> {
    let new = at.with_extension("new");
    remove_link(&new);
    link(to, &new)?;
    if cfg!(windows) {
        remove_link(at);
    }
    std::fs::rename(&new, at)
}

/// Removes a link, if there is one.
fn remove_link(at: &Path) {
    // On Windows a link to a folder is removed as an empty folder is.
    if std::fs::remove_file(at).is_err() && cfg!(windows) {
        let _ = std::fs::remove_dir(at);
    }
}

/// Whether the owner of a file may execute it; true where files have no such bit.
pub(crate) fn may_execute(file: &Metadata) -> bool {
    mode(file).is_none_or(|mode| mode & 0o100 != 0)
}

/// The permission bits of a file; `None` if files have none.
pub(crate) fn mode(file: &Metadata) -> Option<u32> {
    #[cfg(unix)]
    {
        Some(std::os::unix::fs::PermissionsExt::mode(&file.permissions()))
    }
    #[cfg(not(unix))]
    {
        let _ = file;
        None
    }
}

/// The user id of a file's owner; `None` if users have no ids.
pub(crate) fn owner(file: &Metadata) -> Option<u32> {
    #[cfg(unix)]
    {
        Some(std::os::unix::fs::MetadataExt::uid(file))
    }
    #[cfg(not(unix))]
    {
        let _ = file;
        None
    }
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
    pub(crate) modified: (i32, u32),
    /// When anything about it last changed.
    pub(crate) changed: (i32, u32),
}

/// The stamp of a file; `None` if std does not have it.
pub(crate) fn stamp(file: &Metadata) -> Option<Stamp> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        Some(Stamp {
            number: file.ino() as u32,
            modified: (file.mtime() as i32, file.mtime_nsec() as u32),
            changed: (file.ctime() as i32, file.ctime_nsec() as u32),
        })
    }
    #[cfg(not(unix))]
    {
        let _ = file;
        None
    }
}

/// Whether a file is a named pipe; opening it would block until its other end is opened.
pub fn is_pipe(file: &Metadata) -> bool {
    #[cfg(unix)]
    {
        std::os::unix::fs::FileTypeExt::is_fifo(&file.file_type())
    }
    #[cfg(not(unix))]
    {
        let _ = file;
        false
    }
}

/// Whether its owner may execute a file; `None` if files have no permissions.
pub(crate) fn is_executable(file: &Metadata) -> Option<bool> {
    mode(file).map(|mode| mode & 0o100 != 0)
}

/// The permissions with these bits; `None` if files have none.
pub(crate) fn permissions(mode: u32) -> Option<Permissions> {
    #[cfg(unix)]
    {
        Some(std::os::unix::fs::PermissionsExt::from_mode(mode))
    }
    #[cfg(not(unix))]
    {
        let _ = mode;
        None
    }
}

/// Removes a file or folder by the function `how`; it may already be gone.
///
/// # Errors
/// If the system does not allow it.
pub(crate) fn remove_by(path: &Path, how: impl Fn(&Path) -> io::Result<()>) -> io::Result<()> {
    match how(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// Creates a folder and its missing parents, accessible to the user only if
/// folders have permissions.
///
/// # Errors
/// If the system does not allow it.
pub(crate) fn make_private_dir(path: &Path) -> io::Result<()> {
    let mut builder = std::fs::DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.recursive(true).create(path)
}

/// Sets when a file was last changed, even if it may not be written to.
///
/// # Errors
/// If the file belongs to another user or does not exist.
pub(crate) fn set_modified(path: &Path, time: SystemTime) -> io::Result<()> {
    let mut options = File::options();
    #[cfg(unix)]
    options.read(true);
    #[cfg(windows)]
    {
        /// `FILE_WRITE_ATTRIBUTES`.
        const WRITE_ATTRIBUTES: u32 = 0x100;
        std::os::windows::fs::OpenOptionsExt::access_mode(&mut options, WRITE_ATTRIBUTES);
    }
    options.open(path)?.set_modified(time)
}

/// The absolute path without links, in a form that other programs understand: on
/// Windows `C:\a`, where std has `\\?\C:\a`.
///
/// # Errors
/// If `path` does not exist.
pub(crate) fn canonical(path: &Path) -> io::Result<PathBuf> {
    path.canonicalize().map(plain)
}

/// Removes the prefix of Windows' verbatim paths where the path means the same
/// without it.
fn plain(path: PathBuf) -> PathBuf {
    let text = path.to_str().and_then(|text| text.strip_prefix(r"\\?\"));
    let plain = text.filter(|text| {
        let mut letters = text.bytes();
        let drive = letters.next().is_some_and(|letter| letter.is_ascii_alphabetic());
        drive && letters.next() == Some(b':') && text.len() < 260
    });
    plain.map_or_else(|| path.clone(), PathBuf::from)
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
    fn a_path_is_spelled_so_that_others_can_read_it() {
        let plain = |path: &str| plain(path.into()).to_str().unwrap().to_owned();
        assert_eq!(plain(r"\\?\C:\a b"), r"C:\a b");
        assert_eq!(plain(r"\\?\UNC\host\share"), r"\\?\UNC\host\share");
        assert_eq!(plain("/a"), "/a");
        let long = format!(r"\\?\C:\{}", "a".repeat(300));
        assert_eq!(plain(&long), long);
    }

    #[test]
    fn what_git_wrote_is_read_again() {
        for path in ["a/b c", "ä"] {
            let path: PathBuf = Path::new(path).components().collect();
            assert_eq!(from_git(&git_bytes(&path)), path);
        }
        assert_eq!(git_bytes(&Path::new("a").join("b")), b"a/b");
        assert_eq!(replace("/a%b%".as_ref(), '%', "%%"), "/a%%b%%");
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
