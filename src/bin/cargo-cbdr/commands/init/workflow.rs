//! The files that make a service compare pull requests.

use cargo_cbdr::flows::init::Proposal;

use super::Change;
use crate::cli::Service;
use crate::ui::Failure;

const GITHUB: &str = include_str!("../../ci/github.yml");
const GITLAB: &str = include_str!("../../ci/gitlab.yml");
const SCRIPT: &str = include_str!("../../ci/script.sh");

/// The file, which must not be there yet.
pub(super) fn change(service: Service, proposal: &Proposal) -> Result<Change, Failure> {
    let path = proposal.root.join(place(service));
    if fs_err::symlink_metadata(&path).is_ok() {
        let what = format!("`{}` is there already, and nothing is overwritten", path.display());
        return Err(Failure::Refused(what));
    }
    let after = text(service, proposal)?;
    Ok(Change { path, before: None, after })
}

fn place(service: Service) -> &'static str {
    match service {
        Service::Github => ".github/workflows/cbdr.yml",
        Service::Gitlab => ".gitlab/cbdr.yml",
        Service::Script => "ci/cbdr.sh",
    }
}

/// What is left for the user to do.
pub(super) fn next(service: Service) -> &'static str {
    match service {
        Service::Github => "commit the workflow; the next pull request is compared",
        Service::Gitlab => "`include: [{ local: .gitlab/cbdr.yml }]` in `.gitlab-ci.yml`",
        Service::Script => "let the CI run `ci/cbdr.sh`",
    }
}

fn text(service: Service, proposal: &Proposal) -> Result<String, Failure> {
    let template = match service {
        Service::Github => GITHUB,
        Service::Gitlab => GITLAB,
        Service::Script => SCRIPT,
    };
    let folder = proposal.folder.to_str().unwrap_or("\n");
    // In each of the forms these stand for themselves.
    let is_plain = |c: char| c.is_alphanumeric() || "/._-".contains(c);
    if !folder.chars().all(is_plain) {
        let what = format!(
            "the folder `{}` has a name with odd characters: write the workflow by \
                            hand, as docs/ci.md shows",
            proposal.folder.display()
        );
        return Err(Failure::Refused(what));
    }
    // A line about the folder goes where there is nothing to say of it.
    let lines = template.split_inclusive('\n');
    let kept = lines.filter(|line| !folder.is_empty() || !line.contains("@FOLDER@"));
    let up = if folder.is_empty() { "..".to_owned() } else { format!("../{folder}") };
    Ok(kept
        .collect::<String>()
        .replace("@FOLDER@", folder)
        .replace("@UP@", &up)
        .replace("@VERSION@", env!("CARGO_PKG_VERSION"))
        .replace("@REPOSITORY@", env!("CARGO_PKG_REPOSITORY")))
}
