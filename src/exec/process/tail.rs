//! The end of what a program wrote to standard error.

use std::io::{Read, Seek, SeekFrom};
use std::path::Path;

/// How much of it is kept, bytes.
const KEPT: u64 = 64 << 10;

/// The end of a file, as text; empty where it can't be read.
pub(crate) fn stderr_tail(path: &Path) -> String {
    let read = || -> std::io::Result<Vec<u8>> {
        let mut file = std::fs::File::open(path)?;
        let length = file.metadata()?.len();
        file.seek(SeekFrom::Start(length.saturating_sub(KEPT)))?;
        let mut bytes = Vec::new();
        file.take(KEPT).read_to_end(&mut bytes)?;
        Ok(bytes)
    };
    String::from_utf8_lossy(&read().unwrap_or_default()).into_owned()
}
