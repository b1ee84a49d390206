//! The files that make a CI service compare pull requests.

use cargo_cbdr::flows::init::Proposal;

use super::FileChange;
use crate::cli::Service;
use crate::ui::Failure;

const GITHUB: &str = include_str!("../../ci/github.yml");
const GITLAB: &str = include_str!("../../ci/gitlab.yml");
const SCRIPT: &str = include_str!("../../ci/script.sh");

/// The new file.
///
/// # Errors
/// If it exists already, or can't be created for the proposal's folder.
pub(super) fn change(service: Service, proposal: &Proposal) -> Result<FileChange, Failure> {
    let (path, template) = match service {
        Service::Github => (".github/workflows/cbdr.yml", GITHUB),
        Service::Gitlab => (".gitlab/cbdr.yml", GITLAB),
        Service::Script => ("ci/cbdr.sh", SCRIPT),
    };
    let path = proposal.root.join(path);
    if fs_err::symlink_metadata(&path).is_ok() {
        let what = format!("`{}` already exists, and is not overwritten", path.display());
        return Err(Failure::Refused(what));
    }
    // These characters need no quotes in any of the forms.
    let is_plain = |c: char| c.is_alphanumeric() || "/._-".contains(c);
    let Some(folder) = proposal.folder.to_str().filter(|folder| folder.chars().all(is_plain))
    else {
        let what = format!(
            "the folder `{}` has a name with odd characters: write the workflow by \
                            hand, as docs/ci.md shows",
            proposal.folder.display()
        );
        return Err(Failure::Refused(what));
    };
    let mut after = String::new();
    for line in template.split_inclusive('\n') {
        // In the root, there is no folder to enter.
        if !(folder.is_empty() && line.contains("@FOLDER@")) {
            after += line;
        }
    }
    let up = if folder.is_empty() { "..".to_owned() } else { format!("../{folder}") };
    let after = after
        .replace("@FOLDER@", folder)
        .replace("@UP@", &up)
        .replace("@VERSION@", env!("CARGO_PKG_VERSION"));
    Ok(FileChange { path, before: None, after })
}

/// What is left for the user to do.
pub(super) fn next(service: Service) -> &'static str {
    match service {
        Service::Github => "commit the workflow; the next pull request is compared",
        Service::Gitlab => "`include: [{ local: .gitlab/cbdr.yml }]` in `.gitlab-ci.yml`",
        Service::Script => "let the CI run `ci/cbdr.sh`",
    }
}
