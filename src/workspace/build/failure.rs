//! Why a build failed: because of the code, or of something that another build may not meet.

use super::package_target::PackageTarget;
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

    #[test]
    fn a_missing_library_explains_the_other_targets_of_its_package_alone() {
        let target = |folder: &str, name: &str| PackageTarget {
            folder: folder.into(),
            target: Target { kind: TargetKind::Bench, name: name.to_owned() },
        };
        let (side, command, exit) = (Side::Base, String::new(), Exit::Code(101));
        let error = WorkspaceError::Build { side, command, exit, source: None }.into();
        let broken = BrokenTarget { target: target("p", "b"), lacks_library: false, error };
        assert!(broken.explains(&target("p", "b")) && !broken.explains(&target("p", "c")));
        let library = BrokenTarget { lacks_library: true, ..broken };
        assert!(library.explains(&target("p", "c")) && !library.explains(&target("q", "b")));
    }
}
