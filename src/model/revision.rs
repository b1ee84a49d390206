//! The commits that are compared, and why.

use serde::{Deserialize, Serialize};

use super::side::Side;

/// A commit, or the working tree on top of one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Revision {
    /// Its name as it was given or found.
    pub rev: String,
    /// The commit, in hexadecimal.
    pub commit: String,
    /// The tree that is checked out, in hexadecimal.
    pub(crate) tree: String,
    /// Whether the tree is that of the working tree, not of the commit.
    pub dirty: bool,
    /// The subject line of the commit's message, if it is valid text.
    #[serde(skip)]
    pub subject: String,
}

/// The two commits, and why they were chosen.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sides {
    /// The base; its `rev` is BASE's name.
    pub base: Revision,
    /// The head; a dirty one has its commit's tree until a snapshot is made.
    pub head: Revision,
    /// How the base commit was found.
    #[serde(rename = "merge_base")]
    pub rule: BaseRule,
    /// Where BASE's name came from.
    #[serde(skip)]
    pub origin: Origin,
    /// Host and path of the repository's `origin` (`github.com/owner/name`), or else the name
    /// of its folder.
    #[serde(skip)]
    pub repository: String,
    /// Whether the head is an ancestor of BASE, so that there is nothing to compare.
    #[serde(skip)]
    pub(crate) head_is_base: bool,
    /// Whether BASE is not in this clone, so that the rule could not be checked.
    #[serde(skip)]
    pub(crate) base_is_guessed: bool,
}

impl Sides {
    /// What the machines of one comparison have in common.
    pub(crate) fn key(&self) -> String {
        format!("{} {}", self.base.commit, self.head.commit)
    }

    /// The revision of a side.
    pub(crate) fn of(&self, side: Side) -> &Revision {
        match side {
            Side::Base => &self.base,
            Side::Head => &self.head,
        }
    }
}

/// How the base commit was derived from BASE. Serialized, it is whether the
/// base is the merge-base, and not BASE itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "bool", into = "bool")]
pub enum BaseRule {
    /// It is the merge-base of BASE and the head.
    MergeBase,
    /// The head is a merge onto BASE (a CI merge ref): its first parent.
    FirstParent,
    /// BASE itself, as requested.
    Exact,
    /// The head itself, as requested.
    Itself,
}

impl From<BaseRule> for bool {
    fn from(rule: BaseRule) -> Self {
        matches!(rule, BaseRule::MergeBase | BaseRule::FirstParent)
    }
}

impl From<bool> for BaseRule {
    fn from(is_merge_base: bool) -> Self {
        if is_merge_base { BaseRule::MergeBase } else { BaseRule::Exact }
    }
}

/// Where the name of the base came from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Origin {
    /// The command line.
    #[default]
    Argument,
    /// The table in `Cargo.toml`.
    Configuration,
    /// An environment variable of the CI system.
    Variable(&'static str),
    /// A default name.
    Usual,
}
