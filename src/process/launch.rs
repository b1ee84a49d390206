//! From a command to what the system wants to have of it.

use std::ffi::{CString, OsStr, OsString};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::PathBuf;

use super::isolation::Ready;
use super::{Command, unix};

/// A program, all made ready to be started: nothing is computed, looked up or
/// allocated once the clock runs.
pub(super) struct Launch {
    pub(super) program: CString,
    pub(super) argv: Vec<CString>,
    pub(super) env: Vec<CString>,
    pub(super) cwd: CString,
    /// Standard input, output and error.
    pub(super) files: [OwnedFd; 3],
    pub(super) isolation: Ready,
}

impl Launch {
    /// Looks the program up as a shell would, in the command's own `PATH`.
    pub(super) fn new(command: &Command, files: [OwnedFd; 3]) -> io::Result<Self> {
        let name = command.argv.first().ok_or(io::ErrorKind::InvalidInput)?;
        let string = |text: Vec<u8>| CString::new(text).map_err(io::Error::from);
        let variable = |(name, value): &(OsString, OsString)| {
            string([name.as_bytes(), b"=", value.as_bytes()].concat())
        };
        Ok(Launch {
            program: string(look_up(name, command)?.into_os_string().into_vec())?,
            argv: command
                .argv
                .iter()
                .map(|word| string(word.as_bytes().to_vec()))
                .collect::<Result<_, _>>()?,
            env: command.env.iter().map(variable).collect::<Result<_, _>>()?,
            cwd: string(command.cwd.as_os_str().as_bytes().to_vec())?,
            files,
            isolation: command.isolation.ready(),
        })
    }
}

/// The path of the program `name`.
pub(super) fn look_up(name: &OsStr, command: &Command) -> io::Result<PathBuf> {
    if name.as_bytes().contains(&b'/') {
        return Ok(name.into());
    }
    let mut error = io::Error::from_raw_os_error(libc::ENOENT);
    for folder in std::env::split_paths(command.var("PATH").unwrap_or("/bin:/usr/bin".as_ref())) {
        let path = command.cwd.join(folder).join(name);
        if !path.is_file() {
            continue;
        }
        match unix::may_execute(&path) {
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
        let mut command = Command { cwd: cwd.into(), ..Command::default() };
        command.set_var("PATH", path);
        look_up(name.as_ref(), &command).map_err(|error| error.raw_os_error())
    }

    #[test]
    fn a_program_is_looked_up_in_its_own_path() {
        assert_eq!(found("sh", "/nowhere:/bin", "/"), Ok("/bin/sh".into()));
        assert_eq!(found("sh", "/nowhere", "/"), Err(Some(libc::ENOENT)));
        // Folders count from the program's working directory, and an empty
        // one is that.
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
