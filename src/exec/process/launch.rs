//! A program in the system's terms, ready to be started.

use std::ffi::{CString, OsString};
use std::io;
use std::os::fd::BorrowedFd;
use std::os::unix::ffi::{OsStrExt, OsStringExt};

use serde::{Deserialize, Serialize};

use super::command::Command;
use super::isolation::Isolation;
use super::program::look_up;

/// The arguments of `execve` and the working directory, as the system takes them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct ExecArgs {
    /// The file of the program, looked up as a shell would in its own `PATH`.
    pub(super) program: CString,
    pub(super) argv: Vec<CString>,
    /// Each `NAME=VALUE`.
    pub(super) env: Vec<CString>,
    pub(super) cwd: CString,
}

impl ExecArgs {
    /// # Errors
    /// When a string has a zero in it, which no string of the system has, or there is no such
    /// program.
    pub(super) fn new(command: &Command) -> io::Result<Self> {
        let argv = command.argv.iter().map(|word| string(word.as_bytes().to_vec()));
        let argv: Vec<CString> = argv.collect::<io::Result<_>>()?;
        let name = command.argv.first().ok_or(io::ErrorKind::InvalidInput)?;
        let program = look_up(name, command.var("PATH"), &command.cwd)?;
        Ok(ExecArgs {
            program: string(program.into_os_string().into_vec())?,
            argv,
            env: command.env.iter().map(variable).collect::<io::Result<_>>()?,
            cwd: string(command.cwd.as_os_str().as_bytes().to_vec())?,
        })
    }
}

fn variable((name, value): &(OsString, OsString)) -> io::Result<CString> {
    string([name.as_bytes(), b"=", value.as_bytes()].concat())
}

fn string(bytes: Vec<u8>) -> io::Result<CString> {
    CString::new(bytes).map_err(|_| io::Error::from_raw_os_error(libc::EINVAL))
}

/// Everything that starting a program takes, so that nothing is computed,
/// looked up or allocated once the clock runs.
pub(super) struct Launch<'a> {
    pub(super) args: &'a ExecArgs,
    /// Standard input, output and error.
    pub(super) files: [BorrowedFd<'a>; 3],
    pub(super) isolation: &'a Isolation,
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
