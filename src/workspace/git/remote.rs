//! The names of remotes, and the environment for git commands that access them.

use std::collections::BTreeSet;
use std::ffi::OsString;

use super::{Error, Repo, oid};

/// The variables by which git makes its child processes use a repository, whatever folder
/// they run in, and those that are set to other values.
const DROPPED: &str = "GIT_ALTERNATE_OBJECT_DIRECTORIES GIT_COMMON_DIR GIT_DIR GIT_GRAFT_FILE \
    GIT_INDEX_FILE GIT_NAMESPACE GIT_OBJECT_DIRECTORY GIT_PREFIX GIT_QUARANTINE_PATH \
    GIT_SHALLOW_FILE GIT_TERMINAL_PROMPT GIT_WORK_TREE LC_ALL";

/// Settings for a git that accesses a remote: it runs none of the user's hooks
/// and starts no background work.
const PLAIN: [(&str, &str); 4] = [
    ("core.hooksPath", "/dev/null"),
    ("core.fsmonitor", "false"),
    ("gc.auto", "0"),
    ("maintenance.auto", "false"),
];

/// How git fetches nothing but what is named.
pub(crate) const FETCH: &str =
    "fetch --quiet --no-tags --no-write-fetch-head --no-recurse-submodules --refmap=";

/// Splits a name into a remote and a name there: `upstream/main` is `main` of `upstream`
/// if there is such a remote; everything else is a name of `origin`.
pub(crate) fn remote_of(repo: &Repo, name: &str) -> (String, String) {
    let name = name.strip_prefix("refs/remotes/").unwrap_or(name);
    // A remote's name may itself have slashes.
    let mut splits = name.rmatch_indices('/').map(|(at, _)| name.split_at(at));
    if let Some((remote, rest)) = splits.find(|(remote, _)| has_remote(repo, remote)) {
        return (remote.to_owned(), rest.trim_start_matches('/').to_owned());
    }
    ("origin".to_owned(), name.strip_prefix("refs/heads/").unwrap_or(name).to_owned())
}

/// Whether there is a remote of this name. Git would treat any other name as a folder,
/// which a branch may contain.
pub(crate) fn has_remote(repo: &Repo, name: &str) -> bool {
    repo.inner.find_remote(name).is_ok()
}

/// The commits at which the history of `names` is cut off in a shallow clone, in hexadecimal.
///
/// # Errors
/// If a name can't be resolved or the history can't be read.
pub(crate) fn ends_of_history(repo: &Repo, names: &[&str]) -> Result<Vec<String>, Error> {
    let path = repo.common_dir().join("shallow");
    let listed = fs_err::read_to_string(&path).map_err(Error::io("read", &path))?;
    let mut ends = BTreeSet::new();
    for name in names {
        let tip = oid(&repo.at(Some(name))?.commit)?;
        for line in listed.lines() {
            if repo.is_on(oid(line)?, tip)? {
                ends.insert(line.to_owned());
            }
        }
    }
    Ok(ends.into_iter().collect())
}

/// The remote with the objects that a partial clone lacks, if this is one.
pub(crate) fn promisor(repo: &Repo) -> Option<String> {
    let config = repo.inner.config().ok()?;
    let mut entries = config.entries(Some("^remote\\..*\\.promisor$")).ok()?;
    while let Some(Ok(entry)) = entries.next() {
        let name = entry.name().ok()?.strip_prefix("remote.")?.strip_suffix(".promisor")?;
        if config.get_bool(entry.name().ok()?).unwrap_or(false) {
            return Some(name.to_owned());
        }
    }
    None
}

/// Whether the clone has an object, named in hexadecimal.
pub(crate) fn holds(repo: &Repo, object: &str) -> bool {
    let exists = |id| repo.inner.odb().is_ok_and(|database| database.exists(id));
    git2::Oid::from_str(object).is_ok_and(exists)
}

/// Host and path of the remote `origin`, without scheme, user and password; for a
/// folder, only its name. Empty without such a remote.
pub(crate) fn public_name(repo: &Repo) -> String {
    let origin = repo.inner.find_remote("origin");
    origin.and_then(|origin| origin.url().map(public)).unwrap_or_default()
}

/// Its public name: the address of `origin` without scheme and suffix, else the name
/// of its folder.
pub(crate) fn known_as(repo: &Repo) -> String {
    let name = public_name(repo);
    if name.is_empty() { repo.name() } else { name }
}

/// The environment for a git that accesses a remote, from that of this program. Git
/// must not ask for a password, since nobody could answer.
pub(crate) fn remote_env(repo: &Repo, env: &[(OsString, OsString)]) -> Vec<(OsString, OsString)> {
    let is_dropped = |name: &OsString| DROPPED.split(' ').any(|one| name == one);
    let mut env: Vec<_> = env.iter().filter(|(name, _)| !is_dropped(name)).cloned().collect();
    let is_chosen = env.iter().any(|(name, _)| name == "GIT_SSH" || name == "GIT_SSH_COMMAND");
    let config = repo.inner.config().and_then(|mut config| config.snapshot());
    let configured = config.is_ok_and(|config| config.get_str("core.sshCommand").is_ok());
    if !configured && !is_chosen {
        env.push(("GIT_SSH_COMMAND".into(), "ssh -o BatchMode=yes".into()));
    }
    env.extend([("GIT_TERMINAL_PROMPT".into(), "0".into()), ("LC_ALL".into(), "C".into())]);
    with_settings(&mut env);
    env
}

/// Appends [`PLAIN`] to the settings that git reads from its environment, keeping
/// existing ones: a service may pass a token in them.
fn with_settings(env: &mut Vec<(OsString, OsString)>) {
    const COUNT: &str = "GIT_CONFIG_COUNT";
    let there = env.iter().find(|(name, _)| name == COUNT);
    let count = there.and_then(|(_, value)| value.to_str()?.parse::<usize>().ok()).unwrap_or(0);
    env.retain(|(name, _)| name != COUNT);
    for (number, (key, value)) in (count..).zip(PLAIN) {
        env.push((format!("GIT_CONFIG_KEY_{number}").into(), key.into()));
        env.push((format!("GIT_CONFIG_VALUE_{number}").into(), value.into()));
    }
    env.push((COUNT.into(), (count + PLAIN.len()).to_string().into()));
}

/// Host and path of an address; for a local one, the last part of the path.
fn public(url: &str) -> String {
    let plain = url.trim_end_matches('/').trim_end_matches(".git");
    let last = |path: &str| path.rsplit('/').next().unwrap_or(path).to_owned();
    let (host, path) = match plain.split_once("://") {
        Some(("file", path)) => return last(path),
        Some((_, rest)) => rest.split_once('/').unwrap_or((rest, "")),
        // `user@host:path`, but not a path with a colon in it.
        None => match plain.split_once(':') {
            Some((host, path)) if !host.contains('/') => (host, path),
            _ => return last(plain),
        },
    };
    let host = host.rsplit('@').next().unwrap_or(host).split(':').next().unwrap_or(host);
    format!("{host}/{}", path.trim_start_matches('/'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_addresses_of_a_repository_have_one_name_and_no_password() {
        let expected = "example.org/some/thing";
        for url in [
            "https://example.org/some/thing.git",
            "https://me:secret@example.org/some/thing",
            "ssh://git@example.org:22/some/thing.git",
            "git@example.org:some/thing.git",
            "example.org:some/thing/",
        ] {
            assert_eq!(public(url), expected, "{url}");
        }
        assert_eq!(public("/home/me/thing.git"), "thing");
        assert_eq!(public("file:///home/me/thing"), "thing");
        assert_eq!(public("../a:b/thing"), "thing");
    }
}
