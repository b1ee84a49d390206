//! What went wrong while both sides were made ready to run.

use std::path::PathBuf;

use super::{cache, cargo, git};
use crate::error::{Advise, FileError, Help};
use crate::exec::process::{Exit, RunFault};
use crate::model::side::Side;

/// The reason printed by a tool.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct Cause(String);

impl Cause {
    /// `None` if the tool printed nothing.
    pub(crate) fn of(text: String) -> Option<Self> {
        (!text.is_empty()).then_some(Cause(text))
    }
}

/// Why a side can't be run.
#[derive(Debug, thiserror::Error)]
pub(crate) enum WorkspaceError {
    #[error(
        "`{command}` {} in `{}`, and was ended", RunFault::TooMuchOutput, .folder.display()
    )]
    TooMuchOutput { command: String, folder: PathBuf, stderr: String },
    #[error("the {side} does not build: `{command}` {exit}")]
    Build { side: Side, command: String, exit: Exit, lacks_nightly: bool },
    #[error("could not build the {side}: `{command}` {exit}")]
    Unbuilt { side: Side, command: String, exit: Exit, source: Option<Cause> },
    #[error(
        "{} to be built by a nightly compiler, but this is rustc {release}", have(.benchmarks)
    )]
    NeedsNightly { benchmarks: Vec<String>, release: String },
    #[error("the manifests of the {side} can't be read: `{command}` {exit}")]
    Manifests { side: Side, command: String, exit: Exit, stderr: String },
    #[error(
        "the {side}'s package `{package}` needs `{needed}` in `{}`, which is outside the \
         repository", .folder.display()
    )]
    OutsideDependency { side: Side, package: String, needed: String, folder: PathBuf },
    #[error(
        "`{benchmark}` runs what is in `{}`, which cargo would build for both sides in the same \
         place", .folder.display()
    )]
    SharedFolder { benchmark: String, folder: PathBuf },
    #[error("`{folder}` is not in the {side}'s commit")]
    NotCommitted { side: Side, folder: String },
    #[error("the filter of `{example}` failed on the {side}: git {exit}")]
    Filter { side: Side, example: String, exit: Exit, stderr: String },
    #[error("could not fetch {what} from `{remote}`: `{command}` {exit}")]
    Fetch { what: String, remote: String, command: String, exit: Exit, stderr: String },
    #[error("there is no remote `{0}` to fetch from")]
    NoRemote(String),
}

/// What to do about code that stable compilers refuse.
const NIGHTLY: &str = "the source has `#![feature(…)]`: `--toolchain nightly` builds both sides with \
                       a nightly compiler, if rustup has one; `--bench` selects another target";

/// The names of benchmarks that have to be or do something, with the verb.
fn have(benchmarks: &[String]) -> String {
    let names: Vec<String> = benchmarks.iter().map(|name| format!("`{name}`")).collect();
    let verb = if names.len() == 1 { "has" } else { "have" };
    format!("{} {verb}", names.join(", "))
}

impl Advise for WorkspaceError {
    fn advice(&self) -> Option<Help> {
        Help::next_step(match self {
            Self::TooMuchOutput { .. } => "run the command in that folder to see what it needs",
            Self::Build { lacks_nightly: true, .. } => NIGHTLY,
            Self::Build { .. } => {
                "fix the errors above, or choose another target (`-p`, `--bench`)"
            }
            Self::Unbuilt { side: Side::Base, .. } => {
                "this may not be the fault of the code (but of the network, for example), so it \
                 does not count as a missing baseline; run it again, or try another base: `cargo \
                 cbdr compare BASE`"
            }
            Self::Unbuilt { .. } => "fix what cargo reports above, and run it again",
            Self::NeedsNightly { .. } => NIGHTLY,
            Self::Manifests { .. } => "fix the manifests: `cargo metadata` reports the same",
            Self::OutsideDependency { .. } => {
                "a worktree contains only what is committed: make it a submodule, or depend on it \
                 by git, version or absolute path"
            }
            Self::SharedFolder { .. } => {
                "each side is built in `target` of its own worktree instead: name the program \
                 relative to the package's folder, as in `target/release/NAME`"
            }
            Self::NotCommitted { .. } => {
                "commit it, or compare the working tree as it is: `--dirty`"
            }
            Self::Filter { .. } => {
                "make the filter work in this clone: `git checkout` needs it, too"
            }
            Self::Fetch { .. } => {
                "check whether `git fetch` works here, or choose a base that this clone has"
            }
            Self::NoRemote(_) => "`git remote -v` lists the remotes",
        })
    }

    fn child_output(&self) -> Option<&str> {
        match self {
            Self::TooMuchOutput { stderr, .. }
            | Self::Manifests { stderr, .. }
            | Self::Fetch { stderr, .. }
            | Self::Filter { stderr, .. } => Some(stderr),
            // Cargo has printed the rest.
            _ => None,
        }
    }
}

impl Advise for FileError {
    fn advice(&self) -> Option<Help> {
        Help::of(cache::damage_hint(self), "check the path and its permissions")
    }
}

impl Advise for git::Error {
    fn advice(&self) -> Option<Help> {
        let step = "check whether `git status` and `git fsck` report a problem here";
        Help::of(self.hint(), step)
    }
}

impl Advise for cache::Error {
    fn advice(&self) -> Option<Help> {
        Help::of(self.hint(), "set CBDR_CACHE_DIR to a folder that you can write to")
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
    use crate::workspace::pack::PackError;
    use std::io;
    use std::path::Path;

    #[test]
    fn every_error_ends_with_advice() {
        let gone = io::Error::from(io::ErrorKind::NotFound);
        let text = String::new;
        let (side, exit) = (Side::Head, Exit::Code(3));
        each_leads_somewhere(vec![
            git::Error::Refused { what: "a".to_owned(), hint: None }.into(),
            cache::Error::NoPlace.into(),
            cargo::Error::NoExecutable(text()).into(),
            FileError::new("read", Path::new("a"))(gone).into(),
            WorkspaceError::TooMuchOutput { command: text(), folder: "a".into(), stderr: text() }
                .into(),
            WorkspaceError::Build { side, command: text(), exit, lacks_nightly: false }.into(),
            WorkspaceError::Unbuilt { side, command: text(), exit, source: None }.into(),
            WorkspaceError::Unbuilt { side: Side::Base, command: text(), exit, source: None }
                .into(),
            WorkspaceError::NeedsNightly { benchmarks: vec![], release: text() }.into(),
            WorkspaceError::Manifests { side, command: text(), exit, stderr: text() }.into(),
            WorkspaceError::OutsideDependency {
                side,
                package: text(),
                needed: text(),
                folder: "a".into(),
            }
            .into(),
            WorkspaceError::SharedFolder { benchmark: text(), folder: "a".into() }.into(),
            WorkspaceError::NotCommitted { side, folder: text() }.into(),
            WorkspaceError::Filter { side, example: text(), exit, stderr: text() }.into(),
            WorkspaceError::Fetch {
                what: text(),
                remote: text(),
                command: text(),
                exit,
                stderr: text(),
            }
            .into(),
            WorkspaceError::NoRemote(text()).into(),
            PackError::NoPack("a".into()).into(),
            PackError::Version { file: "a".into(), version: text() }.into(),
            PackError::Damaged { file: "a".into(), source: None }.into(),
            PackError::Machine { file: "a".into(), packed: text() }.into(),
            PackError::Outside { file: "a".into(), path: "b".into() }.into(),
            PackError::Place { root: "a".into(), what: text(), source: None }.into(),
            PackError::NoFile("a".into()).into(),
        ]);
    }
}
