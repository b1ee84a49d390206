//! What is watched of a program, and its trace.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::paths::{ResolvedPath, resolve};

/// Functions of an executable.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Breakpoints {
    /// Where the executable begins, which shows by how much all addresses are moved
    /// when the program is loaded.
    pub(crate) entry: u64,
    /// Where the functions begin.
    pub(crate) places: BTreeSet<u64>,
    /// Where those begin that count once one of the others was entered.
    pub(crate) later: BTreeSet<u64>,
}

/// The trace of a program.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Watched {
    /// The addresses of the functions that it entered, among those that were watched.
    pub(crate) entered: BTreeSet<u64>,
    /// What it accessed, or tried to, by the paths without links at that time. The links
    /// count, too.
    pub(crate) accessed: BTreeMap<PathBuf, Access>,
    /// The programs that it executed, itself or in child processes.
    pub(crate) executed: BTreeSet<PathBuf>,
    /// What it did that can't be traced, if anything.
    pub(crate) unseen: Option<String>,
    /// Whether it claimed something that another process may have at another time: the address of
    /// a socket, or a lock.
    pub(crate) has_claimed: bool,
}

impl Watched {
    /// Notes a file that is opened for the program, by another one.
    pub(crate) fn note_given(&mut self, path: &Path) {
        let found = resolve(PathBuf::new(), path, true, &|_| None);
        let access = if found.kind.is_some() { Access::Used } else { Access::Absent };
        if let Err(why) = self.note_all(found, access) {
            self.unseen.get_or_insert_with(|| why.to_owned());
        }
    }

    /// Notes an access, and the links on the way to it.
    pub(super) fn note_all(
        &mut self,
        found: ResolvedPath,
        access: Access,
    ) -> Result<(), &'static str> {
        let links = found.links.into_iter().map(|link| (link, Access::Used));
        for (path, access) in links.chain([(found.path, access)]) {
            if path.to_str().is_none() {
                return Err("it names a file that is not Unicode");
            }
            let known = self.accessed.entry(path).or_insert(access);
            if *known != Access::Absent {
                *known = access.max(*known);
            }
        }
        Ok(())
    }
}

/// How something was accessed; a later one counts for more, unless it was absent at first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) enum Access {
    /// There was nothing, or its content was dropped unread: what the program finds there
    /// later, it has made itself.
    Absent,
    /// A folder that was not listed.
    Passed,
    /// A folder that was opened, and may have been listed.
    Listed,
    /// A file or a link.
    Used,
    /// A folder that may have got another name.
    Moved,
}
