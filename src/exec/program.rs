//! The program of one side.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use crate::exec::process::Command;
use crate::exec::system::digest_file;

/// The program of one side.
#[derive(Clone, Debug)]
pub(crate) struct Program {
    pub(crate) command: Command,
    /// The executable, if cargo built it.
    pub(crate) executable: Option<PathBuf>,
    /// The digest of the executable, checked in this comparison.
    pub(crate) executable_sha256: Option<String>,
    /// How the executable is linked again with its functions in another order, or why it
    /// can't be.
    pub(crate) relink: Result<Relink, String>,
    /// A name for its content.
    pub(crate) identity: String,
    /// The side's own folder in the cache, whose name may appear in its output.
    pub(crate) home: PathBuf,
    /// A folder for information about the program, removed together with its build.
    pub(crate) records: Option<PathBuf>,
    /// The cache of its function diffs; deleted together with the build.
    pub(crate) comparisons: Option<PathBuf>,
}

#[cfg(test)]
impl Program {
    /// One of which only these are known.
    pub(crate) fn of_test(executable: &Path, home: &Path) -> Self {
        Program {
            command: Command::default(),
            executable: Some(executable.to_owned()),
            executable_sha256: None,
            relink: Err("it was not linked".to_owned()),
            identity: String::new(),
            home: home.to_owned(),
            records: None,
            comparisons: None,
        }
    }
}

/// How to link an executable again with its functions in another order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Relink {
    /// The linker's command, without the output and the order.
    pub(crate) command: Command,
    /// The argument that sets the order, without the seed at its end.
    pub(crate) shuffle: OsString,
    /// The files that the linker reads, except for those that it finds by itself.
    pub(crate) inputs: Vec<RelinkInput>,
    /// An object to link, too, which scatters the heap by [`HEAP_SEED`].
    pub(crate) heap: Option<PathBuf>,
}

/// The variable whose value, sixteen hexadecimal digits, decides how the heap is at the beginning
/// of `main`, in an executable with such an object.
pub(crate) const HEAP_SEED: &str = "CBDR_HEAP_SEED";

/// A file that a linker reads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RelinkInput {
    pub(crate) path: PathBuf,
    pub(crate) bytes: u64,
    /// The digest of its content, if it was kept for this purpose.
    pub(crate) sha256: Option<String>,
}

/// The number that replaces zero, which for linkers means "another order each time".
const INSTEAD_OF_ZERO: u32 = 0x9e37_79b9;

impl Relink {
    /// The command that writes the executable to `output`, with its functions in the
    /// order of `seed`. The same seed gives the same order.
    pub(crate) fn command(&self, seed: u32, output: &Path) -> Command {
        let seed = if seed == 0 { INSTEAD_OF_ZERO } else { seed };
        let mut command = self.command.clone();
        let mut shuffle = self.shuffle.clone();
        shuffle.push(seed.to_string());
        command.argv.extend(self.heap.iter().map(Into::into));
        command.argv.extend(["-o".into(), output.into(), shuffle]);
        command
    }

    /// Checks that the files to link exist and are those of the original executable. It
    /// reads every file that was kept, and should be called once, before the first link.
    ///
    /// # Errors
    /// Which file is missing or differs.
    pub(crate) fn check(&self) -> Result<(), String> {
        let is_there = self.command.program().is_ok() && self.command.cwd.is_dir();
        if !is_there {
            return Err("its linker is gone".to_owned());
        }
        self.inputs.iter().try_for_each(RelinkInput::check)
    }
}

impl RelinkInput {
    fn check(&self) -> Result<(), String> {
        let path = self.path.display();
        let about = self.path.metadata();
        let about = about.map_err(|error| format!("could not read `{path}`: {error}"))?;
        let is_same = about.len() == self.bytes
            && match &self.sha256 {
                Some(sha256) => digest_file(&self.path).is_ok_and(|found| found == *sha256),
                None => true,
            };
        if is_same { Ok(()) } else { Err(format!("`{path}` has changed since it was linked")) }
    }
}
