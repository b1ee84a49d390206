use std::os::unix::fs::PermissionsExt;

use super::{Scratch, write};
use crate::workspace::git::hooks;
use crate::workspace::git::hooks::{HookFolder, is_active, pushes};

#[test]
fn the_folder_is_that_of_the_setting_else_the_one_that_all_worktrees_share() {
    let scratch = Scratch::new();
    // Somebody's own configuration may move the hooks of all repositories.
    let moved = git2::Config::open_default().unwrap().get_path("core.hooksPath");
    let expected = match moved {
        Ok(path) => HookFolder { path: scratch.path().join(path), shared: true },
        Err(_) => HookFolder { path: scratch.path().join(".git/hooks"), shared: false },
    };
    assert_eq!(hooks::folder(&scratch.open()).unwrap(), expected);
    scratch.set("core.hooksPath", "tools/hooks");
    let expected = HookFolder { path: scratch.path().join("tools/hooks"), shared: false };
    assert_eq!(hooks::folder(&scratch.open()).unwrap(), expected);
    scratch.set("core.hooksPath", "/somewhere/hooks");
    assert_eq!(hooks::folder(&scratch.open()).unwrap().path.to_str(), Some("/somewhere/hooks"));
}

#[test]
fn a_hook_is_a_file_that_somebody_may_run() {
    let folder = tempfile::tempdir().unwrap();
    let hook = folder.path().join("pre-push");
    assert!(!is_active(&hook));
    write(&hook, "#!/bin/sh\n");
    for (mode, active) in [(0o644, false), (0o744, true), (0o654, true), (0o645, true)] {
        std::fs::set_permissions(&hook, PermissionsExt::from_mode(mode)).unwrap();
        assert_eq!(is_active(&hook), active, "{mode:o}");
    }
    assert!(!is_active(folder.path()));
}

#[test]
fn an_object_has_40_hexadecimal_digits_or_more() {
    let (good, zero) = ("a".repeat(40), "0".repeat(40));
    let of = |commit: &str| pushes(&format!("refs/heads/x {commit} refs/heads/x {zero}"));
    assert_eq!(of(&good).unwrap()[0].commit, good);
    assert_eq!(of(&"a".repeat(64)).unwrap().len(), 1);
    for bad in ["a".repeat(39), "g".repeat(40), String::new()] {
        assert!(of(&bad).is_err(), "{bad}");
    }
    // Nothing but zeros is no commit; one zero less is.
    assert_eq!(of(&zero).unwrap(), []);
    assert_eq!(of(&format!("{}1", "0".repeat(39))).unwrap().len(), 1);
}
