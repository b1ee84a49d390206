//! The files that make a CI service compare pull requests.

use cargo_cbdr::flows::init::Proposal;

use super::FileChange;
use crate::cli::Service;
use crate::ui::Failure;

const GITHUB: &str = include_str!("../../ci/github.yml");
const GITHUB_SHARDS: &str = include_str!("../../ci/github-shards.yml");
const GITLAB: &str = include_str!("../../ci/gitlab.yml");
const GITLAB_SHARDS: &str = include_str!("../../ci/gitlab-shards.yml");
const SLURM: &str = include_str!("../../ci/slurm.sh");
const KUBERNETES: &str = include_str!("../../ci/kubernetes.yml");
const SCRIPT: &str = include_str!("../../ci/script.sh");

/// The number of machines of an engine that is made for several.
const SHARDS: u64 = 4;

/// The new file, for a comparison over so many machines.
///
/// # Errors
/// If it exists already, or can't be created for the proposal's folder.
pub(super) fn change(
    service: Service,
    shards: Option<u64>,
    proposal: &Proposal,
) -> Result<FileChange, Failure> {
    let (path, template) = match (service, shards) {
        (Service::Github, None) => (".github/workflows/cbdr.yml", GITHUB),
        (Service::Github, Some(_)) => (".github/workflows/cbdr.yml", GITHUB_SHARDS),
        (Service::Gitlab, None) => (".gitlab/cbdr.yml", GITLAB),
        (Service::Gitlab, Some(_)) => (".gitlab/cbdr.yml", GITLAB_SHARDS),
        (Service::Slurm, _) => ("ci/cbdr-slurm.sh", SLURM),
        (Service::Kubernetes, _) => ("ci/cbdr-kubernetes.yml", KUBERNETES),
        (Service::Script, None) => ("ci/cbdr.sh", SCRIPT),
        (Service::Script, Some(_)) => {
            let what = "`--ci script` is for one machine: docs/shards.md shows how several share \
                        a comparison";
            return Err(Failure::Arguments(what.to_owned()));
        }
    };
    let shards = shards.unwrap_or(SHARDS);
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
    let numbers: Vec<String> = (1..=shards).map(|number| number.to_string()).collect();
    let up = if folder.is_empty() { "..".to_owned() } else { format!("../{folder}") };
    let after = after
        .replace("@FOLDER@", folder)
        .replace("@UP@", &up)
        .replace("@SHARDS@", &shards.to_string())
        .replace("@NUMBERS@", &numbers.join(", "))
        .replace("@VERSION@", env!("CARGO_PKG_VERSION"));
    Ok(FileChange { path, before: None, after })
}

/// What is left for the user to do.
pub(super) fn next(service: Service) -> &'static str {
    match service {
        Service::Github => "commit the workflow; the next pull request is compared",
        Service::Gitlab => "`include: [{ local: .gitlab/cbdr.yml }]` in `.gitlab-ci.yml`",
        Service::Slurm => "commit the script; `ci/cbdr-slurm.sh submit` on the cluster",
        Service::Kubernetes => "name your image and volume in `ci/cbdr-kubernetes.yml`",
        Service::Script => "let the CI run `ci/cbdr.sh`",
    }
}
