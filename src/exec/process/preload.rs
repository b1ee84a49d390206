//! Libraries of ours that are loaded into a program before all others, so that they stand in
//! front of functions of the C library.

use std::ffi::OsString;
use std::io;
use std::path::Path;

use super::command::{Command, Sink};

/// The variable with the libraries that a program loads first.
pub(crate) const VARIABLE: &str = "LD_PRELOAD";

/// Whether programs of this platform load what the variable names, and have times of 64 bits.
pub(crate) const IS_KNOWN: bool = cfg!(all(target_os = "linux", target_pointer_width = "64"));

/// How the compiler is called.
const FLAGS: &str = "--edition=2018 --crate-type=cdylib --cap-lints=allow -Copt-level=2 \
    -Cpanic=abort -Cdebuginfo=0";

/// A library, and the source of which it is made.
#[derive(Debug)]
pub(crate) struct Library {
    pub(crate) name: &'static str,
    pub(crate) source: &'static str,
}

impl Library {
    fn file(&self) -> String {
        format!("{}.so", self.name)
    }

    /// The command that makes the library in `folder`, in the environment of `program`; `None` if
    /// it is there already.
    ///
    /// # Errors
    /// If its source can't be written.
    pub(crate) fn build(
        &self,
        rustc: &Path,
        program: &Command,
        folder: &Path,
    ) -> io::Result<Option<Command>> {
        let library = folder.join(self.file());
        if library.is_file() {
            return Ok(None);
        }
        let source = folder.join(format!("{}.rs", self.name));
        fs_err::write(&source, self.source)?;
        let mut argv = vec![rustc.as_os_str().to_owned()];
        argv.extend(FLAGS.split(' ').map(OsString::from));
        argv.push(format!("--crate-name=cbdr_{}", self.name).into());
        argv.extend(["-o".into(), library.into(), source.into()]);
        let Command { env, cwd, stderr, .. } = program.clone();
        Ok(Some(Command { argv, env, cwd, stderr, stdout: Sink::Null, ..Command::default() }))
    }

    /// Lets a command load the library from `folder`, before those of the user.
    pub(crate) fn load(&self, command: &mut Command, folder: &Path) {
        let mut libraries = folder.join(self.file()).into_os_string();
        if let Some(others) = command.var(VARIABLE).filter(|others| !others.is_empty()) {
            libraries.push(":");
            libraries.push(others);
        }
        command.set_var(VARIABLE, libraries);
    }
}
