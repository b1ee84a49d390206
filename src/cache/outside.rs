//! Packages that a build was made of and that are in no commit: they may
//! change under the same key.

use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::{digest_file, hex};

/// A folder outside of the worktrees, as it was when something was built of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Outside {
    folder: PathBuf,
    /// Of what it held; empty where that is not known for certain.
    digest: String,
}

impl Outside {
    /// The folder as it was all the time since `began`, when the build did: what
    /// was changed since may be in the build or not.
    pub fn since(folder: PathBuf, began: SystemTime) -> Self {
        let held = look(&folder).ok().filter(|(_, latest)| *latest < began);
        let digest = held.map_or(String::new(), |(digest, _)| digest);
        Outside { folder, digest }
    }

    /// The folder.
    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Whether it still is as it was.
    pub(super) fn is_unchanged(&self) -> io::Result<bool> {
        // One that could not be read for certain then need not be read now.
        Ok(!self.digest.is_empty() && look(&self.folder)?.0 == self.digest)
    }
}

/// A digest of names and contents, and the time of the latest file. What cargo
/// and git keep in a package's folder is not of it.
fn look(folder: &Path) -> io::Result<(String, SystemTime)> {
    let mut hasher = Sha256::new();
    let mut latest = SystemTime::UNIX_EPOCH;
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        let entries = std::fs::read_dir(&folder)?.collect::<io::Result<Vec<_>>>()?;
        let mut paths: Vec<PathBuf> = entries.iter().map(std::fs::DirEntry::path).collect();
        paths.sort();
        for path in paths {
            // Through links: so does the compiler.
            let Ok(about) = path.metadata() else { continue };
            let name = path.file_name().unwrap_or_default();
            let is_link = path.is_symlink();
            if about.is_dir()
                && !is_link
                && ![OsStr::new(".git"), OsStr::new("target")].contains(&name)
            {
                folders.push(path);
            } else if about.is_file() {
                latest = latest.max(about.modified()?);
                hasher.update(path.as_os_str().as_encoded_bytes());
                hasher.update([0]);
                hasher.update(digest_file(&path)?);
            }
        }
    }
    Ok((hex(hasher.finalize().as_slice()), latest))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn what_is_changed_added_or_removed_is_seen() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| {
            let path = folder.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        write("Cargo.toml", "x");
        write("src/lib.rs", "y");
        let later = SystemTime::now() + Duration::from_secs(60);
        let outside = Outside::since(folder.path().to_owned(), later);
        write("target/debug/a", "z");
        write(".git/HEAD", "z");
        assert!(outside.is_unchanged().unwrap());
        write("src/lib.rs", "Y");
        assert!(!outside.is_unchanged().unwrap());
        write("src/lib.rs", "y");
        write("src/new.rs", "");
        assert!(!outside.is_unchanged().unwrap());
        std::fs::remove_file(folder.path().join("src/new.rs")).unwrap();
        assert!(outside.is_unchanged().unwrap());
        std::fs::remove_file(folder.path().join("src/lib.rs")).unwrap();
        assert!(!outside.is_unchanged().unwrap());
    }

    #[test]
    fn what_was_changed_while_something_was_built_of_it_is_not_known() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("a"), "x").unwrap();
        let before = SystemTime::now() - Duration::from_secs(60);
        assert!(!Outside::since(folder.path().to_owned(), before).is_unchanged().unwrap());
        let gone = Outside::since(folder.path().join("gone"), SystemTime::now());
        assert!(gone.is_unchanged().is_ok_and(|same| !same));
    }
}
