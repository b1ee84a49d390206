//! Where git looks for hooks, and what it passes to a pre-push hook.

use std::path::{Path, PathBuf};

use git2::{ConfigLevel, ErrorCode};

use super::{Error, Repo};
use crate::exec::system::mode;

/// The setting that moves the hooks.
const SETTING: &str = "core.hooksPath";

/// The folder of a repository's hooks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HookFolder {
    /// The folder.
    pub path: PathBuf,
    /// Whether it serves other repositories, too, because a setting of the user or of the
    /// system names it.
    pub shared: bool,
}

/// A branch on its way to a remote.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Push {
    /// The branch's name on this side, without `refs/heads/`; what git calls the commit
    /// where that is not a branch.
    pub(crate) branch: String,
    /// Its commit, in hexadecimal.
    pub commit: String,
    /// The branch's name on the other side, without `refs/heads/`.
    pub remote_branch: String,
    /// The current commit of the remote's branch; `None` for a new branch.
    pub remote_commit: Option<String>,
}

/// Where git looks for this repository's hooks: `core.hooksPath`, from the
/// root of the working tree if it is relative, else `hooks` in the folder that
/// all worktrees share.
///
/// # Errors
/// When the configuration can't be read.
pub fn folder(repo: &Repo) -> Result<HookFolder, Error> {
    let failed = || Error::git("read the setting", SETTING);
    let config = repo.inner.config().map_err(failed())?.snapshot().map_err(failed())?;
    let entry = match config.get_entry(SETTING) {
        Err(error) if error.code() == ErrorCode::NotFound => {
            let path = repo.common_dir().join("hooks");
            return Ok(HookFolder { path, shared: false });
        }
        entry => entry.map_err(failed())?,
    };
    let local = [ConfigLevel::Local, ConfigLevel::Worktree, ConfigLevel::App];
    let shared = !local.contains(&entry.level());
    let path = config.get_path(SETTING).map_err(failed())?;
    Ok(HookFolder { path: repo.root().join(path), shared })
}

/// The pushes that git writes to a pre-push hook: a line each of `<local ref>
/// <local object> <remote ref> <remote object>` (githooks(5)). Deletions, and
/// what is not a branch on the other side, are left out; so are all but the first of
/// several refs with the same commits.
///
/// # Errors
/// The first line that does not have four fields, or whose objects are none.
pub fn pushes(lines: &str) -> Result<Vec<Push>, String> {
    let mut pushes: Vec<Push> = Vec::new();
    for line in lines.lines().filter(|line| !line.trim().is_empty()) {
        let words: Vec<&str> = line.split(' ').collect();
        let &[local, commit, remote, remote_commit] = words.as_slice() else {
            return Err(line.to_owned());
        };
        if ![commit, remote_commit].into_iter().all(is_object) {
            return Err(line.to_owned());
        }
        let Some(remote_branch) = remote.strip_prefix("refs/heads/") else { continue };
        if is_zero(commit) {
            continue;
        }
        let push = Push {
            branch: local.strip_prefix("refs/heads/").unwrap_or(local).to_owned(),
            commit: commit.to_owned(),
            remote_branch: remote_branch.to_owned(),
            remote_commit: (!is_zero(remote_commit)).then(|| remote_commit.to_owned()),
        };
        let same = |other: &Push| {
            (&other.commit, &other.remote_commit) == (&push.commit, &push.remote_commit)
        };
        if !pushes.iter().any(same) {
            pushes.push(push);
        }
    }
    Ok(pushes)
}

/// Whether a file is a hook that can be run.
pub fn is_active(hook: &Path) -> bool {
    hook.metadata().is_ok_and(|file| file.is_file() && mode(&file) & 0o111 != 0)
}

fn is_object(word: &str) -> bool {
    word.len() >= 40 && word.bytes().all(|byte| byte.is_ascii_hexdigit())
}

fn is_zero(object: &str) -> bool {
    object.bytes().all(|byte| byte == b'0')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_branches_that_go_somewhere_are_pushes() {
        let (a, b, zero) = ("a".repeat(40), "b".repeat(40), "0".repeat(40));
        let lines = format!(
            "refs/heads/one {a} refs/heads/one {zero}\n\
             (delete) {zero} refs/heads/old {b}\n\
             refs/tags/v1 {a} refs/tags/v1 {zero}\n\
             refs/heads/same {a} refs/heads/same {zero}\n\n\
             HEAD {a} refs/heads/two {b}\n"
        );
        let names: Vec<(String, String, Option<String>)> = pushes(&lines)
            .unwrap()
            .into_iter()
            .map(|push| (push.branch, push.remote_branch, push.remote_commit))
            .collect();
        let new = ("one".to_owned(), "one".to_owned(), None);
        assert_eq!(names, [new, ("HEAD".to_owned(), "two".to_owned(), Some(b))]);
        assert_eq!(pushes(""), Ok(Vec::new()));
        for bad in ["one two three", "a b c d", &format!("x {a} y {a} z")] {
            assert_eq!(pushes(bad), Err(bad.to_owned()));
        }
    }
}
