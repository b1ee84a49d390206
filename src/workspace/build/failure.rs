//! What a failed build means, and so what to do next.

use super::PackageTarget;
use crate::error::Error;
use crate::workspace::error::WorkspaceError;
use crate::workspace::target_folder::FolderStart;

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

/// What is known of a build before anybody has found out why it failed.
#[derive(Clone, Copy, Debug)]
pub(super) struct BuildObservation {
    pub(super) start: FolderStart,
    /// Whether a build script wrote into the worktree in an earlier build. That is gone, and
    /// cargo does not run the script again.
    pub(super) wrote_elsewhere: bool,
    /// Whether a failure of the code would become a verdict (no baseline), which a damaged
    /// folder must not cause.
    pub(super) needs_proof: bool,
}

/// Decides what it means that cargo has failed, with the error `failed`. `diagnose` builds
/// again to find out why; it is only called if an empty folder would make no difference.
pub(super) fn classify<T>(
    observed: BuildObservation,
    failed: Error,
    diagnose: impl FnOnce() -> Result<T, Vec<BrokenTarget>>,
) -> Result<T, FailedBuild> {
    let may_be_the_folders = match observed.start {
        FolderStart::Empty => false,
        FolderStart::Unknown => true,
        FolderStart::Intact => observed.wrote_elsewhere || observed.needs_proof,
    };
    if may_be_the_folders {
        return Err(FailedBuild::Folder(failed));
    }
    diagnose().map_err(|mut all| {
        match all.iter().position(|broken| !is_fault_of_code(&broken.error)) {
            Some(at) => FailedBuild::Both(all.swap_remove(at).error),
            None => FailedBuild::Code(all),
        }
    })
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

    /// What it means, and whether that had to be diagnosed, if the diagnosis is this.
    fn meaning(observed: BuildObservation, diagnosis: &str) -> (&'static str, bool) {
        let mut is_diagnosed = false;
        let failed = WorkspaceError::NoRemote(String::new()).into();
        let meaning = classify(observed, failed, || {
            is_diagnosed = true;
            match diagnosis {
                "it builds" => Ok(()),
                "machine" => Err(vec![broken(true), broken(false)]),
                _ => Err(vec![broken(true)]),
            }
        });
        let meaning = match meaning {
            Ok(()) => "built",
            Err(FailedBuild::Folder(_)) => "folder",
            Err(FailedBuild::Both(_)) => "both",
            Err(FailedBuild::Code(_)) => "code",
        };
        (meaning, is_diagnosed)
    }

    #[test]
    fn a_failed_build_is_the_folders_fault_until_that_is_excluded() {
        use FolderStart::{Empty, Intact, Unknown};
        // What the folder held, whether a script wrote elsewhere, whether proof is needed;
        // the meaning where the code is to blame and where the machine is.
        let table = [
            (Empty, false, false, "code", "both"),
            (Empty, false, true, "code", "both"),
            (Empty, true, false, "code", "both"),
            (Empty, true, true, "code", "both"),
            (Intact, false, false, "code", "both"),
            (Intact, false, true, "folder", "folder"),
            (Intact, true, false, "folder", "folder"),
            (Intact, true, true, "folder", "folder"),
            (Unknown, false, false, "folder", "folder"),
            (Unknown, false, true, "folder", "folder"),
            (Unknown, true, false, "folder", "folder"),
            (Unknown, true, true, "folder", "folder"),
        ];
        for (start, wrote_elsewhere, needs_proof, by_code, by_machine) in table {
            let observed = BuildObservation { start, wrote_elsewhere, needs_proof };
            let is_diagnosed = by_code != "folder";
            assert_eq!(meaning(observed, "code"), (by_code, is_diagnosed), "{observed:?}");
            assert_eq!(meaning(observed, "machine"), (by_machine, is_diagnosed), "{observed:?}");
            let built = if is_diagnosed { "built" } else { "folder" };
            assert_eq!(meaning(observed, "it builds"), (built, is_diagnosed), "{observed:?}");
        }
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
