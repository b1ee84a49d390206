//! A program in the system's terms, ready to be started.

use std::ffi::{CStr, CString, OsStr, OsString};
use std::io;
use std::os::fd::BorrowedFd;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::Command;
use super::isolation::Ready;
use super::program::look_up;

/// The arguments of `execve` and the working directory, as the system takes them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct ExecArgs {
    pub(super) argv: Vec<CString>,
    /// Each `NAME=VALUE`.
    pub(super) env: Vec<CString>,
    pub(super) cwd: CString,
}

impl ExecArgs {
    /// # Errors
    /// When a string has a zero in it, which no string of the system has.
    pub(super) fn new(command: &Command) -> io::Result<Self> {
        let argv = command.argv.iter().map(|word| string(word.as_bytes().to_vec()));
        Ok(ExecArgs {
            argv: argv.collect::<io::Result<_>>()?,
            env: command.env.iter().map(variable).collect::<io::Result<_>>()?,
            cwd: string(command.cwd.as_os_str().as_bytes().to_vec())?,
        })
    }

    /// The value of an environment variable. As in C, the first one counts if
    /// there are several.
    fn var(&self, name: &str) -> Option<&OsStr> {
        self.env.iter().find_map(|entry| {
            let rest = entry.as_bytes().strip_prefix(name.as_bytes())?;
            rest.strip_prefix(b"=").map(OsStr::from_bytes)
        })
    }

    /// The file of the program, looked up as a shell would in its own `PATH`.
    pub(super) fn program(&self) -> io::Result<CString> {
        let name = self.argv.first().ok_or(io::ErrorKind::InvalidInput)?;
        let path = look_up(os(name), self.var("PATH"), Path::new(os(&self.cwd)))?;
        string(path.into_os_string().into_vec())
    }
}

fn variable((name, value): &(OsString, OsString)) -> io::Result<CString> {
    string([name.as_bytes(), b"=", value.as_bytes()].concat())
}

fn string(bytes: Vec<u8>) -> io::Result<CString> {
    CString::new(bytes).map_err(|_| io::Error::from_raw_os_error(libc::EINVAL))
}

fn os(text: &CStr) -> &OsStr {
    OsStr::from_bytes(text.to_bytes())
}

/// Everything that starting a program takes, so that nothing is computed,
/// looked up or allocated once the clock runs.
pub(super) struct Launch<'a> {
    pub(super) program: CString,
    pub(super) args: &'a ExecArgs,
    /// Standard input, output and error.
    pub(super) files: [BorrowedFd<'a>; 3],
    pub(super) isolation: Ready,
    /// Whether its peak memory is wanted.
    pub(super) peak: bool,
    /// Whether it starts on the processor on which the one before it ended.
    pub(super) stays: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_string_with_a_zero_in_it_is_refused() {
        let command = Command { argv: vec!["a\0b".into()], ..Command::default() };
        assert_eq!(ExecArgs::new(&command).unwrap_err().raw_os_error(), Some(libc::EINVAL));
    }
}
