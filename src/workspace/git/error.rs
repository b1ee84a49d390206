//! What can go wrong with git, and what helps.

use std::fmt::Display;
use std::io;
use std::path::Path;

use crate::error::FileError;

/// An error of libgit2 that is displayed as its message only; its own `Display` adds the
/// error's class and code.
#[derive(Debug, thiserror::Error)]
#[error("{}", .0.message())]
pub struct LibgitError(git2::Error);

/// What went wrong with git.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// libgit2 reported an error.
    #[error("could not {verb} `{thing}`")]
    Git {
        /// What was tried.
        verb: &'static str,
        /// What it was tried on.
        thing: String,
        /// The message of libgit2.
        source: LibgitError,
    },
    /// A file of the private repository could not be read or written.
    #[error(transparent)]
    File(#[from] FileError),
    /// Something that git, libgit2 or this program refuses.
    #[error("{what}")]
    Refused {
        /// What, of which thing.
        what: String,
        /// What the user can do about it.
        hint: Option<String>,
    },
    /// A name that this clone does not have.
    #[error("unknown revision `{name}`{origin}")]
    Unknown {
        /// The name.
        name: String,
        /// Where the name came from, as text after the name.
        origin: String,
        /// What else is known about it.
        absence: Absence,
    },
    /// No name was given, and none of the defaults exists.
    #[error("no base given, and none of {0} exists")]
    NoBase(String),
    /// The two have no common ancestor.
    #[error("`{base}` and `{head}` have no common ancestor")]
    Unrelated {
        /// The base as named.
        base: String,
        /// The head as named.
        head: String,
    },
    /// The two may have a common ancestor that this shallow clone does not have.
    #[error("this shallow clone does not contain the merge-base of `{base}` and `{head}`")]
    Shallow {
        /// The base as named.
        base: String,
        /// The head as named.
        head: String,
    },
}

/// What is known about a revision that can't be found, which determines what may help.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Absence {
    /// An ancestor (`main~3`) of a revision that can be found: `start` (`main`).
    Ancestor {
        /// The revision that can be found.
        start: String,
        /// Whether the clone is shallow, and so may lack it.
        shallow: bool,
    },
    /// A name that this shallow clone may lack.
    Shallow,
    /// A name that this whole clone does not have.
    Name {
        /// The branch with the most similar name, if one is similar.
        similar: Option<String>,
        /// The remote that may have it, if there is one, and its name there.
        remote: Option<(String, String)>,
    },
}

impl Absence {
    fn hint(&self, name: &str) -> String {
        const BRANCHES: &str = "`git branch --all` lists the branches of this clone";
        const DEFAULT: &str =
            "`cargo cbdr compare` without a base finds the default branch, whatever its name";
        if name.trim().is_empty() {
            return "the name is empty, as from a variable that is not set: name a branch, a tag or \
                    a commit"
                .to_owned();
        }
        let (similar, remote) = match self {
            Absence::Ancestor { start, shallow: true } => {
                return format!(
                    "this shallow clone does not contain that much of the history of `{start}`: \
                     `--fetch` fetches it (in actions/checkout: `fetch-depth: 0`)"
                );
            }
            Absence::Ancestor { start, shallow: false } => {
                return format!("`{start}` exists, but has no such ancestor");
            }
            Absence::Shallow => {
                return format!(
                    "this is a shallow clone: `--fetch` fetches what is missing, and so does \
                     `git fetch --unshallow origin {}` (in actions/checkout: `fetch-depth: 0`)",
                    quoted(&format!("+refs/heads/{name}:refs/remotes/origin/{name}"))
                );
            }
            // Git would treat it as an option.
            Absence::Name { .. } if name.starts_with('-') => return BRANCHES.to_owned(),
            Absence::Name { .. } if name.contains("..") && !name.contains("../") => {
                return "name the two one by one: `cargo cbdr compare BASE --head REV`".to_owned();
            }
            Absence::Name { similar, remote } => (similar, remote),
        };
        let is_usual = matches!(name.split(['~', '^']).next(), Some("main" | "master"));
        let known = match similar {
            _ if is_usual => DEFAULT.to_owned(),
            Some(similar) => format!("did you mean `{similar}`?"),
            None => BRANCHES.to_owned(),
        };
        let Some((remote, branch)) = remote else { return known };
        let (remote, branch) = (quoted(remote), quoted(branch));
        // Not every command that takes a revision has the flag.
        let fetch = format!(
            "run `git fetch {remote} {branch}` (or `compare --fetch`) if the remote has it"
        );
        match similar {
            _ if is_usual => format!("{known}; or {fetch}"),
            Some(_) => format!("{known} Or {fetch}"),
            None => format!("{fetch}; {known}"),
        }
    }
}

impl Error {
    /// What the user can do about it.
    pub(crate) fn hint(&self) -> Option<String> {
        let hint = match self {
            Error::Unknown { name, absence, .. } => return Some(absence.hint(name)),
            Error::Refused { hint, .. } => return hint.clone(),
            Error::NoBase(_) => {
                "choose one: `cargo cbdr compare BASE`; `--fetch` fetches what this clone lacks"
            }
            Error::Unrelated { .. } => {
                "`--exact-base` compares with the base itself, not with the merge-base"
            }
            Error::Shallow { .. } => {
                "`--fetch` fetches as much history as is needed, \
                 `git fetch --unshallow origin` all of it (in actions/checkout: `fetch-depth: 0`)"
            }
            Error::Git { source, .. } if is_about_home(&source.0) => {
                "HOME (or XDG_CONFIG_HOME) is a folder that you cannot read"
            }
            Error::Git { source, .. } if source.0.message().starts_with("object not found") => {
                "if this is a partial clone (`git clone --filter`), \
                 `git fetch --refetch --no-filter` fetches all that it lacks; in a submodule, run \
                 it there"
            }
            Error::Git { .. } | Error::File(_) => return None,
        };
        Some(hint.to_owned())
    }

    pub(in crate::workspace) fn refused(what: String, hint: impl Into<String>) -> Self {
        Error::Refused { what, hint: Some(hint.into()) }
    }

    pub(super) fn git(verb: &'static str, thing: impl Display) -> impl FnOnce(git2::Error) -> Self {
        let thing = thing.to_string();
        move |source| Error::Git { verb, thing, source: LibgitError(source) }
    }

    pub(super) fn io(verb: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        let error = FileError::new(verb, path);
        move |source| error(source).into()
    }
}

/// A word quoted for a shell, since people paste hints.
pub(super) fn quoted(word: &str) -> String {
    shlex::try_quote(word).map_or_else(|_| "NAME".to_owned(), |word| word.into_owned())
}

/// Whether libgit2 had no permission to search for the user's configuration.
fn is_about_home(source: &git2::Error) -> bool {
    let message = source.message();
    let is_config = [".gitconfig'", "/git/config'"].iter().any(|name| message.ends_with(name));
    message.starts_with("failed to stat '") && is_config
}
