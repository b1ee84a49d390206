//! What is wrong with a setting.

use std::fmt;

use crate::error::{Advise, Help};
use crate::model::side::Side;

/// What is wrong with a setting.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "the message names the fields")]
pub enum Error {
    /// A key, package or target that does not exist. The hint is the one that it resembles, or all.
    #[error("{what}")]
    Unknown { what: String, hint: String },
    /// A key has a value of the wrong type.
    #[error("invalid value in [{table}]: {why}")]
    BadType { table: String, why: String },
    /// Two keys that exclude each other.
    #[error("[{0}] sets more than one of `bench`, `bin`, `example` and `command`")]
    TwoTargets(String),
    /// A value can't be parsed.
    #[error("invalid {what} `{value}`: {why}")]
    Bad { what: &'static str, value: String, why: String },
    /// Fewer pairs or layouts are allowed by this key than any verdict needs.
    #[error("invalid {key} `{most}`: no verdict is possible with fewer than {least} {}", unit(key))]
    TooFew { key: &'static str, most: u64, least: u64 },
    /// It is not clear what to run.
    #[error("no benchmark is chosen: {found}")]
    Undecided { found: String, hint: String },
    /// An error of the tables of one side.
    #[error("{error} (in the configuration of the {side})")]
    OfSide { side: Side, error: Box<Error> },
    /// The benchmarks differ in a setting that a comparison has only once.
    #[error("the benchmarks set `{0}` differently, but a comparison has only one")]
    Disagree(String),
}

/// What serde calls the types of values, and what they are to users.
const TYPES: [(&str, &str); 6] = [
    ("u", "a whole number from 0 on"),
    ("i8", "a whole number"),
    ("a boolean", "`true` or `false`"),
    ("a sequence", "a list"),
    ("a map", "a table"),
    ("struct", "a table"),
];

/// What is wrong with a value of another type, as `expected a list, not "a"`.
pub(super) fn type_error(error: &serde_json::Error) -> String {
    let said = error.to_string();
    let parts = said.strip_prefix("invalid ").and_then(|said| said.split_once(": "));
    let Some((found, expected)) = parts.and_then(|(_, what)| what.split_once(", expected ")) else {
        return said;
    };
    let value = match found {
        "sequence" => "a list",
        "map" => "a table",
        _ => found.find(['"', '`']).map_or(found, |start| &found[start..]),
    };
    let known = TYPES.iter().find(|(serde, _)| expected.starts_with(serde));
    format!("expected {}, not {value}", known.map_or(expected, |(_, own)| own))
}

impl Error {
    pub(super) fn bad(
        what: &'static str,
        value: impl Into<String>,
        why: impl Into<String>,
    ) -> Self {
        Error::Bad { what, value: value.into(), why: why.into() }
    }

    /// The same error, attributed to a side.
    pub(crate) fn of(self, side: Side) -> Self {
        match self {
            error @ (Error::Bad { .. } | Error::TooFew { .. }) => {
                Error::OfSide { side, error: Box::new(error) }
            }
            // The head's are in the file that the user has before them.
            error @ (Error::Unknown { .. } | Error::BadType { .. } | Error::TwoTargets(_))
                if side == Side::Base =>
            {
                Error::OfSide { side, error: Box::new(error) }
            }
            error => error,
        }
    }

    /// What the user can do about it.
    pub fn hint(&self) -> Option<String> {
        match self {
            Error::BadType { .. } | Error::Bad { .. } => None,
            Error::TooFew { key: "layouts", least, .. } => {
                Some(format!("raise `layouts` to at least {least}, or use `--layouts auto`"))
            }
            Error::TooFew { key, least, .. } => Some(format!(
                "raise `{key}` to at least {least}, or use `--time-limit` or `cargo cbdr sample` \
                 to measure fewer pairs"
            )),
            Error::TwoTargets(_) => Some("keep one of them".to_owned()),
            Error::Unknown { hint, .. } | Error::Undecided { hint, .. } => Some(hint.clone()),
            Error::OfSide { side: Side::Base, error }
                if !matches!(**error, Error::TooFew { .. }) =>
            {
                Some("fix it there, or use the head's table with `--policy-from head`".to_owned())
            }
            Error::OfSide { error, .. } => error.hint(),
            Error::Disagree(key) => {
                Some(format!("set `{key}` in the table around the benchmarks, not in theirs"))
            }
        }
    }
}

/// What a key counts.
fn unit(key: &str) -> &str {
    key.strip_prefix("max-").unwrap_or(key)
}

impl Advise for Error {
    fn advice(&self) -> Option<Help> {
        let step = "correct it; docs/configuration.md lists the keys, `--help` the options";
        Help::of(self.hint(), step)
    }
}

/// The one of `names` that `word` most resembles, if it resembles any.
pub fn nearest<'a>(word: &str, names: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let word = word.to_lowercase();
    let alike = |name: &str| strsim::jaro_winkler(&word, &name.to_lowercase());
    let scored = names.into_iter().map(|name| (alike(name), name));
    let best = scored.max_by(|one, other| one.0.total_cmp(&other.0))?;
    (best.0 > 0.75).then_some(best.1)
}

/// The hint for a word that is not among `names`: the nearest of them, else all of them after the
/// words `they_are`.
pub fn instead_of<'a>(
    word: &str,
    names: impl Iterator<Item = &'a str> + Clone,
    they_are: &str,
) -> String {
    match nearest(word, names.clone()) {
        Some(nearest) => format!("did you mean `{nearest}`?"),
        None => format!("{they_are} {}", list(names)),
    }
}

/// Names as code, or `none`.
pub(crate) fn list(names: impl IntoIterator<Item = impl fmt::Display>) -> String {
    let names: Vec<String> = names.into_iter().map(|name| format!("`{name}`")).collect();
    if names.is_empty() { "none".to_owned() } else { names.join(", ") }
}
