//! A value in a file, kept while all that it depends on is the same.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::access::make_private_dir;
use super::digest::digest;
use super::place::Place;

/// The maximum size of a value, bytes: what is larger can only be damaged.
const MAX_BYTES: u64 = 1 << 30;

/// The file of a value. It begins with a digest of the key and of the value, so that a damaged
/// one, one of another version of this program, and one of another key count as missing.
#[derive(Debug)]
pub(crate) struct Memo {
    path: PathBuf,
    key: String,
}

impl Memo {
    /// `key` is all that the value depends on.
    pub(crate) fn new(path: PathBuf, key: &str) -> Self {
        Memo { path, key: format!("{}\n{key}", env!("CARGO_PKG_VERSION")) }
    }

    /// The value; `None` if there is no file, or it is not valid.
    ///
    /// # Errors
    /// When there is a file that can't be read.
    pub(crate) fn read<T: DeserializeOwned>(&self) -> io::Result<Option<T>> {
        let file = match File::open(&self.path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            file => file?,
        };
        let mut sealed = Vec::new();
        file.take(MAX_BYTES).read_to_end(&mut sealed)?;
        let Some(end) = sealed.iter().position(|&byte| byte == b'\n') else { return Ok(None) };
        let (seal, value) = (&sealed[..end], &sealed[end + 1..]);
        let is_valid = *seal == *self.seal(value).as_bytes();
        Ok(if is_valid { serde_json::from_slice(value).ok() } else { None })
    }

    /// Replaces the file in one step.
    ///
    /// # Errors
    /// When it can't be written. Then the old one stays.
    pub(crate) fn write(&self, value: &impl Serialize) -> io::Result<()> {
        let value = serde_json::to_vec(value)?;
        if self.path.is_dir() {
            std::fs::remove_dir_all(&self.path)?;
        }
        make_private_dir(self.path.parent().unwrap_or(Path::new("/")))?;
        let sealed = [self.seal(&value).as_bytes(), b"\n", &value].concat();
        Place::find(&self.path)?.replace(&sealed)
    }

    fn seal(&self, value: &[u8]) -> String {
        digest(&[self.key.as_bytes(), b"\n", value].concat())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_read_back_whole_under_its_key_or_not_at_all() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("in/a.json");
        let read = |key: &str| Memo::new(path.clone(), key).read::<String>().unwrap();
        assert_eq!(read("key"), None);
        // In place of a folder, too.
        std::fs::create_dir_all(path.join("folder")).unwrap();
        Memo::new(path.clone(), "key").write(&"a\nb").unwrap();
        assert_eq!(read("key").as_deref(), Some("a\nb"));
        assert_eq!(read("kez"), None);
        assert_eq!(Memo::new(path.clone(), "key").read::<u32>().unwrap(), None, "another type");
        let sealed = std::fs::read(&path).unwrap();
        for at in 0..sealed.len() {
            std::fs::write(&path, &sealed[..at]).unwrap();
            assert_eq!(read("key"), None, "{at} bytes");
            let mut flipped = sealed.clone();
            flipped[at] ^= 1;
            std::fs::write(&path, flipped).unwrap();
            assert_eq!(read("key"), None, "byte {at}");
        }
    }
}
