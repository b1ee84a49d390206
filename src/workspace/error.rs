//! What went wrong while both sides were made ready to run.

use super::{cache, cargo, git};
use crate::error::{Advise, Cause, FileError, Help};
use crate::exec::error::{INSTALL_TOOLCHAIN, lacks_toolchain};
use crate::exec::process::Exit;
use crate::model::side::Side;

/// Why a side can't be run.
#[derive(Debug, thiserror::Error)]
pub(crate) enum WorkspaceError {
    #[error("the {side} does not build: `{command}` {exit}")]
    Build { side: Side, command: String, exit: Exit, source: Option<Cause> },
    #[error("could not build the {side}: `{command}` {exit}")]
    Unbuilt { side: Side, command: String, exit: Exit, source: Option<Cause> },
    #[error("the manifests of the {side} can't be read: `{command}` {exit}")]
    Manifests { side: Side, command: String, exit: Exit, stderr: String },
    #[error("`{folder}` is not in the {side}'s commit")]
    NotCommitted { side: Side, folder: String },
}

/// The code of rustc's error about `#![feature(…)]` in a stable compiler.
pub(super) const UNSTABLE: &str = "E0554";

/// What to do about code that stable compilers refuse.
pub(super) const NIGHTLY: &str = "the source has `#![feature(…)]`: `--toolchain nightly` builds both \
    sides with a nightly compiler, if rustup has one";

/// What rustc says of a file that a source includes but that is not there.
const NO_FILE: [&str; 2] = ["couldn't read `", "No such file"];

/// What to do about such a file.
const COMMIT_FILE: &str = "a worktree contains only what is committed: commit that file, or let a \
    build script make it (with `--dirty`, files that git ignores are missing as well)";

/// What the system says of a program that may not be run.
const NOT_ALLOWED: &str = "Permission denied";

/// What to do about one that was built.
const OTHER_DISK: &str = "if no programs can be run on the disk of the cache (`noexec`), \
    CBDR_CACHE_DIR moves it to another one; else check the permissions of what the command names";

/// What to do about a feature or a profile that the manifests lack.
const NAME_ANOTHER: &str = "check `--features` and `--profile`, and these keys in \
    [package.metadata.cbdr]: the commit's manifests have no such name";

/// Whether this is how cargo calls such a feature or profile.
pub(super) fn is_unknown_request(line: &str) -> bool {
    [" this feature: ", " these features: ", "` is not defined"].iter().any(|of| line.contains(of))
}

/// What is said of a submodule that may be the reason.
pub(super) const EMPTY_SUBMODULE: &str = "the folder of the submodule";

/// What to do about it.
const FILL_SUBMODULE: &str = "this clone lacks the submodule: `git submodule update --init --recursive` (in \
    actions/checkout: `submodules: recursive`)";

impl WorkspaceError {
    /// The error of a build that failed, with the reason that a tool printed, if it did.
    pub(crate) fn unbuilt(side: Side, command: String, exit: Exit, why: String) -> Self {
        let source = (!why.is_empty()).then(|| why.into());
        Self::Unbuilt { side, command, exit, source }
    }
}

impl Advise for WorkspaceError {
    fn advice(&self) -> Option<Help> {
        Help::next_step(match self {
            Self::Unbuilt { source: Some(why), .. } if lacks_toolchain(&why.to_string()) => {
                INSTALL_TOOLCHAIN
            }
            Self::Build { source: Some(why), .. } | Self::Unbuilt { source: Some(why), .. }
                if why.to_string().contains(EMPTY_SUBMODULE) =>
            {
                FILL_SUBMODULE
            }
            Self::Build { source: Some(why), .. } if why.to_string().contains(UNSTABLE) => NIGHTLY,
            Self::Build { source: Some(why), .. }
                if NO_FILE.iter().all(|words| why.to_string().contains(words)) =>
            {
                COMMIT_FILE
            }
            Self::Build { source: Some(why), .. } if is_unknown_request(&why.to_string()) => {
                NAME_ANOTHER
            }
            Self::Build { .. } => {
                "fix the errors above, enable what they miss (`--features`), or choose another target \
                 (`-p`, `--bench`)"
            }
            Self::Unbuilt { source: Some(why), .. } if why.to_string().contains(NOT_ALLOWED) => {
                OTHER_DISK
            }
            Self::Unbuilt { side: Side::Base, .. } => {
                "this may not be the fault of the code (but of the network, for example), so it \
                 does not count as a missing baseline; run it again, or try another base: `cargo \
                 cbdr compare BASE`"
            }
            Self::Unbuilt { .. } => "fix what the command reports above, and run it again",
            Self::Manifests { .. } => "fix the manifests: `cargo metadata` reports the same",
            Self::NotCommitted { .. } => {
                "commit it, or compare the working tree as it is: `--dirty`"
            }
        })
    }

    fn child_output(&self) -> Option<&str> {
        match self {
            Self::Manifests { stderr, .. } => Some(stderr),
            // Cargo has printed the rest.
            _ => None,
        }
    }
}

impl Advise for FileError {
    fn advice(&self) -> Option<Help> {
        Help::of(cache::hint(self), "check the path and its permissions")
    }
}

impl Advise for git::Error {
    fn advice(&self) -> Option<Help> {
        let step = "check whether `git status` and `git fsck` report a problem here";
        Help::of(self.hint(), step)
    }
}

impl Advise for cargo::Error {
    fn advice(&self) -> Option<Help> {
        Help::next_step("check whether `cargo metadata` and `cargo bench --no-run` work here")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::tests::each_leads_somewhere;
    use std::io;
    use std::path::Path;

    #[test]
    fn what_the_machine_lacks_is_the_advice_whichever_side_meets_it() {
        for (why, advice) in [
            ("error: toolchain '1.2' is not installed", INSTALL_TOOLCHAIN),
            ("= note: Permission denied (os error 13)", OTHER_DISK),
        ] {
            for side in Side::BOTH {
                let (command, exit) = ("cargo".to_owned(), Exit::Code(101));
                let error = WorkspaceError::unbuilt(side, command, exit, why.to_owned());
                assert_eq!(error.advice(), Help::next_step(advice));
            }
        }
    }

    #[test]
    fn a_file_that_is_only_in_the_users_folder_is_the_advice() {
        let why = "couldn't read `src/../x`: No such file or directory (os error 2)".to_owned();
        let (side, exit, command) = (Side::Head, Exit::Code(101), String::new());
        let error = WorkspaceError::Build { side, command, exit, source: Some(why.into()) };
        assert_eq!(error.advice(), Help::next_step(COMMIT_FILE));
    }

    #[test]
    fn every_error_ends_with_advice() {
        let gone = io::Error::from(io::ErrorKind::NotFound);
        let text = String::new;
        let (side, exit) = (Side::Head, Exit::Code(3));
        each_leads_somewhere(vec![
            git::Error::Refused { what: "a".to_owned(), hint: None }.into(),
            cargo::Error::NoExecutable(text()).into(),
            FileError::new("read", Path::new("a"))(gone).into(),
            WorkspaceError::Build { side, command: text(), exit, source: None }.into(),
            WorkspaceError::Unbuilt { side, command: text(), exit, source: None }.into(),
            WorkspaceError::Unbuilt { side: Side::Base, command: text(), exit, source: None }
                .into(),
            WorkspaceError::Manifests { side, command: text(), exit, stderr: text() }.into(),
            WorkspaceError::NotCommitted { side, folder: text() }.into(),
        ]);
    }
}
