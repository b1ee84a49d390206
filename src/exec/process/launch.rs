//! From a request to what the system wants to have of it.

use std::ffi::{CStr, CString, OsStr};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::Path;

use super::isolation::Ready;
use super::program::look_up;

/// The arguments of `execve` and the working directory, as the system takes them:
/// made once, used for every run of the program.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct ExecArgs {
    pub(super) argv: Vec<CString>,
    /// Each `NAME=VALUE`.
    pub(super) env: Vec<CString>,
    pub(super) cwd: CString,
}

impl ExecArgs {
    /// The value of an environment variable; of one that is there twice the
    /// first, as in C.
    fn var(&self, name: &str) -> Option<&OsStr> {
        self.env.iter().find_map(|entry| {
            let rest = entry.as_bytes().strip_prefix(name.as_bytes())?;
            rest.strip_prefix(b"=").map(OsStr::from_bytes)
        })
    }

    /// The file of the program, looked up as a shell would in its own `PATH`.
    fn program(&self) -> io::Result<CString> {
        let name = self.argv.first().ok_or(io::ErrorKind::InvalidInput)?;
        let path = look_up(os(name), self.var("PATH"), Path::new(os(&self.cwd)))?;
        Ok(CString::new(path.into_os_string().into_vec())?)
    }
}

fn os(text: &CStr) -> &OsStr {
    OsStr::from_bytes(text.to_bytes())
}

/// A program, all made ready to be started: nothing is computed, looked up or
/// allocated once the clock runs.
pub(super) struct Launch<'a> {
    pub(super) program: CString,
    pub(super) args: &'a ExecArgs,
    /// Standard input, output and error.
    pub(super) files: [OwnedFd; 3],
    pub(super) isolation: Ready,
}

impl<'a> Launch<'a> {
    pub(super) fn new(
        args: &'a ExecArgs,
        files: [OwnedFd; 3],
        isolation: Ready,
    ) -> io::Result<Self> {
        Ok(Launch { program: args.program()?, args, files, isolation })
    }
}
