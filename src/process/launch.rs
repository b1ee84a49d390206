//! From a command to what the system wants to have of it.

use std::ffi::{CString, OsString};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::{OsStrExt, OsStringExt};

use super::Command;
use super::isolation::Ready;
use super::program::look_up;

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
