//! Files that are replaced as a whole or not at all.

use std::fs::File;
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};

use super::access::{mode, permissions};

/// How many links may lead to a file.
const MOST_LINKS: usize = 40;

/// Where to write a file: the path after following all links, so that two
/// spellings of one path are the same place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    path: PathBuf,
    is_stream: bool,
}

impl Place {
    /// The place of `path`. The folder has to exist, the file need not. Nothing is
    /// written.
    ///
    /// # Errors
    /// When there is no such folder, the links can't be followed, or the path is `-`, which most
    /// programs take for standard output.
    pub fn find(path: &Path) -> io::Result<Self> {
        if path == Path::new("-") {
            return Err(io::Error::other("name a file; standard output is `/dev/stdout`"));
        }
        let mut path = std::path::absolute(path)?;
        for _ in 0..MOST_LINKS {
            let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else {
                return Err(ErrorKind::IsADirectory.into());
            };
            let folder = folder.canonicalize()?;
            let full = folder.join(name);
            // `/dev/stdout` leads to an open file of our caller. Even a regular one
            // can't be replaced: the caller would not see the new file.
            if is_of_descriptors(&folder) {
                return Ok(Place { path: full, is_stream: true });
            }
            match full.symlink_metadata() {
                Err(error) if error.kind() == ErrorKind::NotFound => {
                    return Ok(Place { path: full, is_stream: false });
                }
                Err(error) => return Err(error),
                Ok(about) if about.is_symlink() => path = folder.join(std::fs::read_link(&full)?),
                Ok(about) => {
                    let is_stream = !about.is_file() && !about.is_dir();
                    return Ok(Place { path: full, is_stream });
                }
            }
        }
        Err(io::Error::other("too many links"))
    }

    /// The path, without links.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Whether it can only be written to and not replaced, as a pipe, a device, or a
    /// descriptor of this process such as `/dev/stdout`.
    pub fn is_stream(&self) -> bool {
        self.is_stream
    }

    /// Checks that the file can be replaced, and changes nothing.
    ///
    /// # Errors
    /// When it or its folder can't be written to.
    pub fn check(&self) -> io::Result<()> {
        match File::options().append(true).open(&self.path) {
            Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        self.beside(0o600).map(drop)
    }

    /// Writes a new file next to it, which [`Staged::publish`] moves to its place.
    ///
    /// # Errors
    /// When it can't be written.
    pub fn stage(&self, content: &[u8]) -> io::Result<Staged<'_>> {
        self.stage_as(content, 0o666)
    }

    /// Replaces the file by one with this content and the same permissions.
    ///
    /// # Errors
    /// When it can't be written. Then the old file stays as it is.
    pub fn replace(&self, content: &[u8]) -> io::Result<()> {
        self.stage(content)?.publish()
    }

    /// Replaces the file by an executable one with this content.
    ///
    /// # Errors
    /// See [`Place::replace`].
    pub fn replace_script(&self, content: &[u8]) -> io::Result<()> {
        let staged = self.stage_as(content, 0o777)?;
        let file = staged.file.as_file();
        file.set_permissions(permissions(mode(&file.metadata()?) | 0o111))?;
        staged.publish()
    }

    /// Replaces the file by the file `new` next to it, which gets its permissions.
    ///
    /// # Errors
    /// When the system refuses. Then both files stay.
    pub fn replace_with(&self, new: &Path) -> io::Result<()> {
        let file = File::options().append(true).open(new)?;
        self.keep_permissions(&file)?;
        file.sync_all()?;
        match std::fs::rename(new, &self.path) {
            Err(error) if is_mount_point(&error) => {
                std::fs::copy(new, &self.path)?;
                std::fs::remove_file(new)
            }
            done => done,
        }
    }

    fn stage_as(&self, content: &[u8], mode: u32) -> io::Result<Staged<'_>> {
        let mut file = self.beside(mode)?;
        file.write_all(content)?;
        self.keep_permissions(file.as_file())?;
        // Some systems report a full disk only now.
        file.as_file().sync_all()?;
        Ok(Staged { place: self, file })
    }

    fn beside(&self, mode: u32) -> io::Result<tempfile::NamedTempFile> {
        let mut builder = tempfile::Builder::new();
        // Without a mode, a temporary file is for the user alone.
        builder.prefix(".cargo-cbdr-").permissions(permissions(mode));
        builder.tempfile_in(self.path.parent().unwrap_or(Path::new("")))
    }

    fn keep_permissions(&self, file: &File) -> io::Result<()> {
        match self.path.metadata() {
            Ok(before) => file.set_permissions(before.permissions()),
            Err(_) => Ok(()),
        }
    }
}

/// A file next to the one that it will replace. Dropping it removes it.
#[derive(Debug)]
pub struct Staged<'a> {
    place: &'a Place,
    file: tempfile::NamedTempFile,
}

impl Staged<'_> {
    /// Replaces the other file atomically.
    ///
    /// # Errors
    /// When the system refuses.
    pub fn publish(self) -> io::Result<()> {
        let path = &self.place.path;
        match self.file.persist(path) {
            Ok(_) => Ok(()),
            Err(refused) if is_mount_point(&refused.error) => {
                std::fs::copy(refused.file.path(), path).map(drop)
            }
            Err(refused) => Err(refused.error),
        }
    }
}

/// Whether renaming failed because the target is a mount point, as a single file of
/// a container's host is. Such a file can only be written in place.
fn is_mount_point(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::ResourceBusy | ErrorKind::CrossesDevices)
}

/// Whether a folder lists the open files of a process.
fn is_of_descriptors(folder: &Path) -> bool {
    folder == Path::new("/dev/fd") || (folder.starts_with("/proc") && folder.ends_with("fd"))
}

#[cfg(test)]
mod tests {
    use super::super::link;
    use super::*;

    fn names(folder: &Path) -> usize {
        std::fs::read_dir(folder).unwrap().count()
    }

    #[test]
    fn what_was_there_stays_until_the_new_is_whole() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        let place = Place::find(&path).unwrap();
        place.check().unwrap();
        assert!(!path.exists());
        std::fs::write(&path, "old").unwrap();
        place.check().unwrap();
        let staged = place.stage(b"new").unwrap();
        assert_eq!(
            (std::fs::read_to_string(&path).unwrap(), names(folder.path())),
            ("old".into(), 2)
        );
        drop(staged);
        assert_eq!(
            (std::fs::read_to_string(&path).unwrap(), names(folder.path())),
            ("old".into(), 1)
        );
        place.replace(b"new").unwrap();
        assert_eq!(
            (std::fs::read_to_string(&path).unwrap(), names(folder.path())),
            ("new".into(), 1)
        );
        let beside = folder.path().join("b");
        std::fs::write(&beside, "newer").unwrap();
        place.replace_with(&beside).unwrap();
        assert_eq!(
            (std::fs::read_to_string(&path).unwrap(), names(folder.path())),
            ("newer".into(), 1)
        );
    }

    #[test]
    fn what_cannot_be_written_is_said_at_once() {
        let folder = tempfile::tempdir().unwrap();
        let fails = |path: &Path| Place::find(path).and_then(|place| place.check()).is_err();
        for path in ["no/such", "", ".."] {
            assert!(fails(&folder.path().join(path)), "{path}");
        }
        assert!(fails(Path::new("/")) && fails(Path::new("")) && fails(Path::new("-")));
        link(Path::new("ring"), &folder.path().join("ring")).unwrap();
        assert!(fails(&folder.path().join("ring")));
    }

    #[test]
    fn all_spellings_of_a_path_are_one_place() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        std::fs::create_dir(at("sub")).unwrap();
        link(&at("sub"), &at("way")).unwrap();
        link(Path::new("../file"), &at("sub/link")).unwrap();
        let place = Place::find(&at("file")).unwrap();
        for spelling in ["./file", "sub/../file", "sub/link", "way/link"] {
            // Whether or not the file is there.
            assert_eq!(Place::find(&at(spelling)).unwrap(), place, "{spelling}");
        }
        Place::find(&at("way/link")).unwrap().replace(b"x").unwrap();
        assert!(at("sub/link").is_symlink());
        assert_eq!(std::fs::read_to_string(at("file")).unwrap(), "x");
        assert_eq!(Place::find(&at("way/link")).unwrap(), place);
        assert_ne!(Place::find(&at("sub/file")).unwrap(), place);
    }
}
