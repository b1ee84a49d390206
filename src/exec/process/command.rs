//! A program to run.

use std::ffi::{OsStr, OsString};
use std::io;
use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::counter::Counter;
use super::isolation::Isolation;
use super::program::look_up;

/// The environment of this process.
pub fn environment() -> Vec<(OsString, OsString)> {
    std::env::vars_os().collect()
}

/// A program to run, with everything that it gets: nothing is inherited.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Command {
    /// The program, then its arguments.
    pub argv: Vec<OsString>,
    /// The whole environment.
    pub env: Vec<(OsString, OsString)>,
    /// The working directory.
    pub cwd: PathBuf,
    /// The file to open as standard input, which is empty otherwise.
    pub stdin: Option<OsString>,
    /// Where standard output goes.
    pub stdout: Sink,
    /// Where standard error goes.
    pub stderr: Sink,
    /// How long it may run before its process group is ended.
    pub timeout: Option<Duration>,
    /// Whether to end the processes that it leaves behind, daemons included. Set
    /// for benchmarks, not for builds (a compiler cache may start its server).
    pub sweep: bool,
    /// Whether its peak memory is wanted, however little that is. It begins at the size of the
    /// helper, which makes itself as small as it can then; that takes some 40 µs.
    pub peak: bool,
    /// What to count of it and its descendants.
    pub counters: Vec<Counter>,
    /// How it is kept apart from the rest of the machine.
    pub isolation: Isolation,
}

impl Command {
    /// The value of an environment variable.
    pub(crate) fn var(&self, name: &str) -> Option<&OsStr> {
        let found = self.env.iter().find(|(key, _)| key == name);
        found.map(|(_, value)| value.as_os_str())
    }

    /// Sets an environment variable, replacing an earlier value.
    pub(crate) fn set_var(&mut self, name: &str, value: impl Into<OsString>) {
        self.env.retain(|(key, _)| key != name);
        self.env.push((name.into(), value.into()));
    }

    /// The path of the program, looked up as a shell would in the command's own
    /// `PATH`.
    ///
    /// # Errors
    /// When there is no such program, or it may not be executed.
    pub(crate) fn program(&self) -> io::Result<PathBuf> {
        let name = self.argv.first().ok_or(io::ErrorKind::InvalidInput)?;
        Ok(self.cwd.join(look_up(name, self.var("PATH"), &self.cwd)?))
    }

    /// The name of the program, for messages.
    pub(super) fn name(&self) -> String {
        self.argv.first().map_or(String::new(), |name| name.to_string_lossy().into())
    }

    /// The command line as a person would type it.
    pub(crate) fn shown(&self) -> String {
        let quote = |word: &OsString| {
            let word = word.to_string_lossy();
            shlex::try_quote(&word).map_or_else(|_| word.to_string(), |quoted| quoted.to_string())
        };
        self.argv.iter().map(quote).collect::<Vec<_>>().join(" ")
    }
}

/// Where a program's output goes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Sink {
    /// Nowhere.
    #[default]
    Null,
    /// To this process's standard error.
    Stderr,
    /// To the end of a file.
    File(#[serde(with = "path_bytes")] PathBuf),
}

/// Serializes a path byte for byte, where serde itself wants paths to be text.
mod path_bytes {
    use std::ffi::OsString;
    use std::path::{Path, PathBuf};

    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub(super) fn serialize<S: Serializer>(path: &Path, to: S) -> Result<S::Ok, S::Error> {
        path.as_os_str().serialize(to)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<PathBuf, D::Error> {
        OsString::deserialize(from).map(PathBuf::from)
    }
}
