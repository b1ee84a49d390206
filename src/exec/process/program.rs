//! Finds the file of a program.

use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};

use super::unix::may_execute;

/// The error number of "no such file", the same on every system.
const NOT_FOUND: i32 = 2;

/// The `PATH` if there is none.
const USUAL: &str = "/bin:/usr/bin";

/// The path of the program `name` as a shell would find it in the `PATH` `path`,
/// whose relative folders count from `cwd`. If there is only one that may not be
/// executed, the error says that.
pub(crate) fn look_up(name: &OsStr, path: Option<&OsStr>, cwd: &Path) -> io::Result<PathBuf> {
    if name.as_encoded_bytes().iter().any(|&byte| std::path::is_separator(byte.into())) {
        return Ok(name.into());
    }
    let mut error = io::Error::from_raw_os_error(NOT_FOUND);
    for folder in std::env::split_paths(path.unwrap_or(USUAL.as_ref())) {
        let path = cwd.join(&folder).join(name);
        if !path.is_file() {
            continue;
        }
        match may_execute(&path) {
            Ok(()) => return Ok(path),
            Err(refused) => error = refused,
        }
    }
    Err(error)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(name: &str, path: &str, cwd: &str) -> Result<PathBuf, Option<i32>> {
        let found = look_up(name.as_ref(), Some(path.as_ref()), cwd.as_ref());
        found.map_err(|error| error.raw_os_error())
    }

    #[test]
    fn a_program_is_looked_up_in_its_own_path() {
        assert_eq!(found("sh", "/nowhere:/bin", "/"), Ok("/bin/sh".into()));
        assert_eq!(found("sh", "/nowhere", "/"), Err(Some(NOT_FOUND)));
        // Folders count from the program's working directory; an empty one is that
        // directory.
        assert_eq!(found("sh", "bin", "/"), Ok("/bin/sh".into()));
        assert_eq!(found("sh", "/nowhere:", "/bin"), Ok("/bin/sh".into()));
        // With a slash there is nothing to look up.
        assert_eq!(found("./sh", "/bin", "/"), Ok("./sh".into()));
    }

    #[test]
    fn what_may_not_be_executed_is_passed_over_and_said() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("sh"), "").unwrap();
        let path = folder.path().to_str().unwrap();
        assert_eq!(found("sh", &format!("{path}:/bin"), "/"), Ok("/bin/sh".into()));
        assert_eq!(found("sh", path, "/"), Err(Some(libc::EACCES)));
    }
}
