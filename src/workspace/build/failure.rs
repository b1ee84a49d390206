//! What a failed build means, and so what to do next.

use super::PackageTarget;
use crate::error::Error;
use crate::workspace::error::WorkspaceError;

/// Why a build ended without its executables.
#[derive(Debug)]
pub(super) enum FailedBuild {
    /// The code's fault: these targets do not compile.
    Code(Vec<BrokenTarget>),
    /// The folder's fault: it may be damaged, or hold what another build left. A build in an
    /// empty one finds out.
    Folder(Error),
    /// Neither's: what ended it is the machine, the network or the user, and would end the
    /// build of the other side, too.
    Both(Error),
}

impl FailedBuild {
    /// What it means that these targets don't build on their own, of which there is at least one.
    pub(super) fn of(mut all: Vec<BrokenTarget>) -> Self {
        match all.iter().position(|broken| !is_fault_of_code(&broken.error)) {
            Some(at) => FailedBuild::Both(all.swap_remove(at).error),
            None => FailedBuild::Code(all),
        }
    }
}

impl<E: Into<Error>> From<E> for FailedBuild {
    fn from(error: E) -> Self {
        FailedBuild::Both(error.into())
    }
}

/// A target that could not be built on its own, either.
#[derive(Debug)]
pub(super) struct BrokenTarget {
    pub(super) target: PackageTarget,
    /// Whether the library of its package is missing, too.
    pub(super) lacks_library: bool,
    pub(super) error: Error,
}

impl BrokenTarget {
    /// Whether another target does not build for the same reason.
    pub(super) fn explains(&self, other: &PackageTarget) -> bool {
        self.target == *other || self.lacks_library && self.target.folder == other.folder
    }
}

/// Whether the code is the reason of a failed build.
pub(in crate::workspace) fn is_fault_of_code(error: &Error) -> bool {
    matches!(error.as_kind(), Some(WorkspaceError::Build { .. }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exec::process::Exit;
    use crate::model::side::Side;
    use crate::model::target::{Target, TargetKind};

    fn broken(by_code: bool) -> BrokenTarget {
        let (side, command, exit) = (Side::Base, String::new(), Exit::Code(101));
        let error = match by_code {
            true => WorkspaceError::Build { side, command, exit },
            false => WorkspaceError::Unbuilt { side, command, exit, source: None },
        };
        let target = Target { kind: TargetKind::Bench, name: "b".to_owned() };
        let target = PackageTarget { folder: "p".into(), target };
        BrokenTarget { target, lacks_library: false, error: error.into() }
    }

    #[test]
    fn a_failure_of_the_machine_outweighs_those_of_the_code() {
        let is_of_code = |all| matches!(FailedBuild::of(all), FailedBuild::Code(_));
        assert!(is_of_code(vec![broken(true), broken(true)]));
        assert!(!is_of_code(vec![broken(true), broken(false)]));
    }

    #[test]
    fn a_missing_library_explains_the_other_targets_of_its_package_alone() {
        let other = |folder: &str, name: &str| PackageTarget {
            folder: folder.into(),
            target: Target { kind: TargetKind::Bench, name: name.to_owned() },
        };
        let target = broken(true);
        assert!(target.explains(&other("p", "b")) && !target.explains(&other("p", "c")));
        let library = BrokenTarget { lacks_library: true, ..target };
        assert!(library.explains(&other("p", "c")) && !library.explains(&other("q", "b")));
    }
}
