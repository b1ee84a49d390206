//! What is run of one side.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use crate::exec::process::Command;
use crate::exec::system::digest_file;

/// What is run of one side.
#[derive(Clone, Debug)]
pub(crate) struct Program {
    pub(crate) command: Command,
    /// The executable, where cargo built it.
    pub(crate) executable: Option<PathBuf>,
    /// The digest of the executable, checked in this comparison.
    pub(crate) executable_sha256: Option<String>,
    /// How the executable is linked again with its functions in another order, or why it
    /// can't be.
    pub(crate) relink: Result<Relink, String>,
    /// A name for what it is made of.
    pub(crate) identity: String,
    /// The side's own folder in the cache, the name of which may be in what it
    /// prints.
    pub(crate) home: PathBuf,
    /// A folder for what is learned of the program, which goes when its build goes.
    pub(crate) records: Option<PathBuf>,
    /// A folder for how it differs from other programs, which goes when its build goes.
    pub(crate) comparisons: Option<PathBuf>,
}

/// How an executable is linked again with its functions in another order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Relink {
    /// The linker's call, without the output and the order.
    pub(crate) command: Command,
    /// The argument that asks for an order, without the seed at its end.
    pub(crate) shuffle: OsString,
    /// The files that the linker reads, but for those that it finds by itself.
    pub(crate) inputs: Vec<RelinkInput>,
}

/// A file that a linker reads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RelinkInput {
    pub(crate) path: PathBuf,
    /// Its length, bytes.
    pub(crate) bytes: u64,
    /// The digest of its contents, where it was kept for this purpose.
    pub(crate) sha256: Option<String>,
}

/// The number that takes the place of zero, which linkers take for "another order each
/// time".
const INSTEAD_OF_ZERO: u32 = 0x9e37_79b9;

impl Relink {
    /// The call that writes the executable to `output`, its functions in the order of
    /// `seed`. One seed gives one order.
    pub(crate) fn command(&self, seed: u32, output: &Path) -> Command {
        let seed = if seed == 0 { INSTEAD_OF_ZERO } else { seed };
        let mut command = self.command.clone();
        let mut shuffle = self.shuffle.clone();
        shuffle.push(seed.to_string());
        command.argv.extend(["-o".into(), output.into(), shuffle]);
        command
    }

    /// Checks that what is linked is there and is what the executable was made of. Reads
    /// every file that was kept: to be called once, before the first link.
    ///
    /// # Errors
    /// Which file is gone or is another one.
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
