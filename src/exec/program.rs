//! The program of one side.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::exec::process::Command;
use crate::exec::system::digest_file;

/// The program of one side.
#[derive(Clone, Debug, Serialize, Deserialize)]
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
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Relink {
    /// The linker's command, without the output and the order.
    pub(crate) command: Command,
    /// The linker that it calls, if that can order functions.
    pub(crate) linker: Option<OrderingLinker>,
    /// What precedes an option of the linker.
    pub(crate) prefix: String,
    /// The files that the linker reads, except for those that it finds by itself.
    pub(crate) inputs: Vec<RelinkInput>,
    /// An object to link, too, which scatters the heap by [`HEAP_SEED`].
    pub(crate) heap: Option<PathBuf>,
    /// What was linked elsewhere, if the linker may not exist here.
    pub(crate) linked: Option<LinkedElsewhere>,
}

/// The executables that a pack has instead of a linker.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct LinkedElsewhere {
    /// The executable that is aligned with the other side's, and which share of the code that
    /// both have is at the same addresses.
    pub(crate) aligned: Option<(PathBuf, f64)>,
    /// Those in random layouts, or why there are none.
    pub(crate) layouts: Result<Vec<PathBuf>, String>,
}

/// A linker that can order functions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum OrderingLinker {
    /// In a given order, or randomly.
    Lld,
    /// Randomly.
    Mold,
}

/// How an executable is linked so that what both sides have is at the same addresses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct AlignedLink {
    /// The inputs that are replaced, each with its replacement.
    pub(crate) replaced: Vec<(PathBuf, PathBuf)>,
    /// The file with the order of symbols.
    pub(crate) order: PathBuf,
    /// The addresses of sections.
    pub(crate) addresses: Vec<(&'static str, u64)>,
}

/// The variable whose value, sixteen hexadecimal digits, decides how the heap is at the beginning
/// of `main`, in an executable with such an object.
pub(crate) const HEAP_SEED: &str = "CBDR_HEAP_SEED";

/// A file that a linker reads.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct RelinkInput {
    pub(crate) path: PathBuf,
    pub(crate) bytes: u64,
    /// The digest of its content, if it was kept for this purpose.
    pub(crate) sha256: Option<String>,
}

/// The number that replaces zero, which for linkers means "another order each time".
const INSTEAD_OF_ZERO: u32 = 0x9e37_79b9;

/// The sections that are put in random order.
const SHUFFLED: [&str; 4] = [".text*", ".rodata*", ".data*", ".bss*"];

/// Where constants and code begin in a random layout, with more room than they need: pages
/// that are not used take no memory.
const CONSTANTS: u64 = 0x30_0000;
const CODE: u64 = CONSTANTS + 0x1000_0000;

/// By how many cache lines they are moved at most: a page.
const MOST_LINES: u64 = 64;
/// The length of a cache line, bytes.
const LINE: u64 = 64;

impl Relink {
    /// The command that writes the executable to `output`, with its functions, constants and
    /// variables in the order of `seed`. The same seed gives the same order.
    pub(crate) fn command(&self, seed: u32, output: &Path) -> Command {
        let seed = if seed == 0 { INSTEAD_OF_ZERO } else { seed };
        let flags = match self.linker {
            Some(OrderingLinker::Mold) => vec![format!("--shuffle-sections={seed}")],
            _ => {
                let mut flags =
                    SHUFFLED.map(|of| format!("--shuffle-sections={of}={seed}")).to_vec();
                let lines = u64::from(seed);
                let starts = [(".rodata", CONSTANTS, lines), (".text", CODE, lines / MOST_LINES)];
                flags.extend(starts.map(|(name, start, lines)| {
                    format!("--section-start={name}={:#x}", start + lines % MOST_LINES * LINE)
                }));
                flags.push("-zseparate-code".to_owned());
                flags
            }
        };
        self.linked(flags, output)
    }

    /// The command that writes the executable to `output`, aligned with the other side's.
    pub(crate) fn aligned(&self, link: &AlignedLink, output: &Path) -> Command {
        let mut flags = vec![
            format!("--symbol-ordering-file={}", link.order.display()),
            "--no-warn-symbol-ordering".to_owned(),
            // What is protected after the start has to be contiguous, which it is not here.
            "-znorelro".to_owned(),
            "-zseparate-code".to_owned(),
        ];
        let starts = link.addresses.iter();
        flags.extend(starts.map(|(name, at)| format!("--section-start={name}={at:#x}")));
        let mut command = self.linked(flags, output);
        for word in &mut command.argv {
            let mut replaced = link.replaced.iter();
            if let Some((_, by)) = replaced.find(|(from, _)| from.as_os_str() == word) {
                *word = by.into();
            }
        }
        command
    }

    /// The command that links with these options, and with these files in addition.
    fn linked(&self, flags: Vec<String>, output: &Path) -> Command {
        let mut command = self.command.clone();
        command.argv.extend(self.heap.iter().map(Into::into));
        command.argv.extend(["-o".into(), output.into()]);
        let flags = flags.into_iter().map(|flag| format!("{}{flag}", self.prefix).into());
        command.argv.extend(flags);
        command
    }

    /// Whether its linker can put functions in a given order.
    ///
    /// # Errors
    /// If it can't.
    pub(crate) fn can_align(&self) -> Result<(), String> {
        match self.linker {
            Some(OrderingLinker::Lld) => Ok(()),
            _ => Err("mold can't put functions in a given order, and there is no lld".to_owned()),
        }
    }

    /// Checks that the files to link exist and are those of the original executable. It
    /// reads every file that was kept, and should be called once, before the first link.
    ///
    /// # Errors
    /// Which file is missing or differs.
    pub(crate) fn check(&self) -> Result<(), String> {
        if let Some(linked) = &self.linked {
            return linked.layouts.as_ref().map(drop).map_err(String::clone);
        }
        if self.linker.is_none() {
            return Err("its linker can't order functions, and there is no lld".to_owned());
        }
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
        if is_same { Ok(()) } else { Err(changed(&self.path, self.sha256.is_some())) }
    }
}

/// Says that a file is not what was linked. If it was kept for that, it is removed, so that the
/// next comparison misses it and builds again.
pub(crate) fn changed(path: &Path, is_kept: bool) -> String {
    if is_kept {
        let _ = std::fs::remove_file(path);
    }
    format!("`{}` has changed since it was linked", path.display())
}
