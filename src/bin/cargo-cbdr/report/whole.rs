//! Files that are there whole or not at all.

use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use cargo_cbdr::system::permissions;

use crate::ui::about;

/// A file to be written at the end, proved to be writable at the beginning.
#[derive(Debug)]
pub(crate) struct Whole {
    path: PathBuf,
    target: Target,
}

#[derive(Debug)]
enum Target {
    /// A new file beside it, to be renamed.
    Beside(tempfile::NamedTempFile, PathBuf),
    /// What is there is no regular file, such as a pipe.
    Itself(File),
}

impl Whole {
    /// Makes sure that it can be written; what is there stays as it is.
    pub(crate) fn new(path: &Path) -> io::Result<Self> {
        let target = target(path).map_err(|error| unwritten(path, &error))?;
        Ok(Whole { path: path.to_owned(), target })
    }

    /// Puts it there.
    pub(crate) fn write(self, content: &str) -> io::Result<()> {
        let put = |target: Target| match target {
            Target::Beside(mut file, place) => {
                file.write_all(content.as_bytes())?;
                file.persist(place).map(drop).map_err(|error| error.error)
            }
            Target::Itself(mut file) => file.write_all(content.as_bytes()),
        };
        put(self.target).map_err(|error| unwritten(&self.path, &error))
    }
}

fn unwritten(path: &Path, error: &io::Error) -> io::Error {
    about(&format!("can't write `{}`", path.display()), error)
}

fn target(path: &Path) -> io::Result<Target> {
    // Through a link, to where it leads.
    let place = match fs_err::canonicalize(path) {
        Ok(place) => {
            let there = fs_err::OpenOptions::new().append(true).open(&place)?;
            if !there.metadata()?.is_file() {
                return Ok(Target::Itself(there.into_parts().0));
            }
            place
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => path.to_owned(),
        Err(error) => return Err(error),
    };
    let folder = place.parent().filter(|folder| !folder.as_os_str().is_empty());
    let mut builder = tempfile::Builder::new();
    builder.prefix(".cargo-cbdr-");
    // As any new file would have, and not for the user alone.
    if let Some(usual) = permissions(0o666) {
        builder.permissions(usual);
    }
    if place.file_name().is_none() {
        return Err(io::ErrorKind::IsADirectory.into());
    }
    Ok(Target::Beside(builder.tempfile_in(folder.unwrap_or(Path::new(".")))?, place))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_there_stays_until_the_new_is_whole() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        std::fs::write(&path, "old").unwrap();
        let dropped = Whole::new(&path).unwrap();
        drop(dropped);
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "old");
        Whole::new(&path).unwrap().write("new").unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "new");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn what_cannot_be_written_is_said_at_once() {
        let folder = tempfile::tempdir().unwrap();
        for path in ["no/such", "", "/"] {
            let error = Whole::new(&folder.path().join(path)).unwrap_err().to_string();
            assert!(error.starts_with("can't write `"), "{error}");
        }
    }

    #[test]
    fn a_link_leads_to_the_file_that_is_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let (file, link) = (folder.path().join("file"), folder.path().join("link"));
        std::fs::write(&file, "old").unwrap();
        cargo_cbdr::system::link(&file, &link).unwrap();
        Whole::new(&link).unwrap().write("new").unwrap();
        assert!(link.is_symlink());
        assert_eq!(std::fs::read_to_string(&file).unwrap(), "new");
    }
}
