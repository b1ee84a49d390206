//! The files that make a CI service compare pull requests.

use cargo_cbdr::flows::init::Proposal;

use super::FileChange;
use crate::cli::{Init, Service, Trigger, ValueEnum};
use crate::failure::Failure;
use crate::ui::text;

/// The number of machines of an engine that is made for several.
const SHARDS: u64 = 4;

/// The new file, and where it goes.
///
/// # Errors
/// If the service has no such file.
fn template(service: Service, args: &Init) -> Result<(&'static str, &'static str), Failure> {
    let github = ".github/workflows/cbdr.yml";
    let is_split = args.shards.is_some();
    if service != Service::Github && (args.watch || args.on != Trigger::Push) {
        return Failure::arguments("`--on` and `--watch` are for `--ci github`");
    }
    Ok(match service {
        Service::Github if args.watch => {
            (".github/workflows/cbdr-watch.yml", include_str!("../../ci/github-watch.yml"))
        }
        Service::Github if args.on == Trigger::Comment => {
            (github, include_str!("../../ci/github-comment.yml"))
        }
        Service::Github => (github, include_str!("../../ci/github.yml")),
        Service::Gitlab if is_split => {
            (".gitlab/cbdr.yml", include_str!("../../ci/gitlab-shards.yml"))
        }
        Service::Gitlab => (".gitlab/cbdr.yml", include_str!("../../ci/gitlab.yml")),
        Service::Buildkite => (".buildkite/cbdr.yml", include_str!("../../ci/buildkite.yml")),
        Service::Slurm => ("ci/cbdr-slurm.sh", include_str!("../../ci/slurm.sh")),
        Service::Kubernetes => ("ci/cbdr-kubernetes.yml", include_str!("../../ci/kubernetes.yml")),
        Service::Script if is_split => {
            return Failure::arguments(
                "`--ci script` is for one machine: docs/shards.md shows how several share a \
                 comparison",
            );
        }
        Service::Script => ("ci/cbdr.sh", include_str!("../../ci/script.sh")),
    })
}

/// The change that adds the file.
///
/// # Errors
/// If it exists already, or can't be created for the proposal's folder.
pub(super) fn change(ci: Service, args: &Init, proposal: &Proposal) -> Result<FileChange, Failure> {
    let (path, template) = template(ci, args)?;
    let shards = args.shards.unwrap_or(SHARDS);
    let path = proposal.root.join(path);
    if fs_err::symlink_metadata(&path).is_ok() {
        let what = format!("{} already exists, and is not overwritten", text::path(&path));
        return Failure::refused(what);
    }
    // These characters need no quotes in any of the forms.
    let is_plain = |c: char| c.is_alphanumeric() || "/._-".contains(c);
    let folder = proposal.folder.to_str().filter(|folder| folder.chars().all(is_plain));
    let Some(folder) = folder else {
        return Failure::refused(format!(
            "the folder {} has unusual characters in its name: write the workflow by hand, as \
             docs/ci.md shows",
            text::path(&proposal.folder)
        ));
    };
    // Of both workflows for GitHub.
    let template = template.replace("@JOBS@\n", include_str!("../../ci/github-jobs.yml"));
    let mut after = String::new();
    let mut is_wanted = true;
    for line in template.split_inclusive('\n') {
        if let Some(words) = condition(line) {
            is_wanted = words.iter().all(|word| is_so(word, args));
        // In the root, there is no folder to enter.
        } else if is_wanted && !(folder.is_empty() && line.contains("@FOLDER@")) {
            after += line;
        }
    }
    let on = match args.on {
        Trigger::Push => String::new(),
        Trigger::Comment => " --on comment".to_owned(),
        Trigger::Label => " --on label".to_owned(),
    };
    let split = args.shards.map_or(String::new(), |shards| format!(" --shards {shards}"));
    let numbers: Vec<String> = (1..=shards).map(|number| number.to_string()).collect();
    let up = if folder.is_empty() { "..".to_owned() } else { format!("../{folder}") };
    let after = after
        .replace("@FOLDER@", folder)
        .replace("@UP@", &up)
        .replace("@OPTIONS@", &(on + &split))
        .replace("@SHARDS@", &shards.to_string())
        .replace("@NUMBERS@", &numbers.join(", "))
        .replace("@VERSION@", env!("CARGO_PKG_VERSION"));
    Ok(FileChange { path, before: None, after })
}

/// The words of a line of a template after which lines are written only if all of them hold:
/// `@if WORDS@`, or `@end@`.
fn condition(line: &str) -> Option<Vec<&str>> {
    let words = line.trim_end().strip_prefix("@if ").and_then(|rest| rest.strip_suffix('@'));
    words.map(|words| words.split(' ').collect()).or_else(|| (line == "@end@\n").then(Vec::new))
}

fn is_so(word: &str, args: &Init) -> bool {
    let is_split = args.shards.is_some();
    match word {
        "one" => !is_split,
        "shards" => is_split,
        "push" | "label" | "comment" => Trigger::from_str(word, false) == Ok(args.on),
        // On one machine, and not after a comment.
        _ => !is_split && args.on != Trigger::Comment,
    }
}

/// What is left for the user to do.
pub(super) fn next(service: Service, args: &Init) -> &'static str {
    match service {
        Service::Github if args.watch => "commit the workflow; it runs each night",
        Service::Github if args.on == Trigger::Comment => {
            "commit the workflow; then comment `/bench` on a pull request"
        }
        Service::Github if args.on == Trigger::Label => {
            "commit the workflow; then give a pull request the label `bench`"
        }
        Service::Github => "commit the workflow; the next pull request is compared",
        Service::Gitlab => "`include: [{ local: .gitlab/cbdr.yml }]` in `.gitlab-ci.yml`",
        Service::Buildkite => "`buildkite-agent pipeline upload .buildkite/cbdr.yml` in a step",
        Service::Slurm => "commit the script; `ci/cbdr-slurm.sh submit` on the cluster",
        Service::Kubernetes => "name your image and volume in `ci/cbdr-kubernetes.yml`",
        Service::Script => "let the CI run `ci/cbdr.sh`",
    }
}
