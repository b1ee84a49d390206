//! Which two commits to compare: the rules by which the base is found.

use git2::{ErrorCode, Oid, Repository};

use super::{Absence, Error, Repo};
use crate::model::revision::{BaseRule, Origin, Revision, Sides};
use crate::settings::error::nearest;
use crate::workspace::git::remote;

/// The environment variables in which CI systems name a pull request's target
/// branch.
pub(crate) const VARIABLES: [&str; 2] = ["GITHUB_BASE_REF", "CI_MERGE_REQUEST_TARGET_BRANCH_NAME"];

/// The bases tried when none is named.
const USUAL: [&str; 3] = ["origin/HEAD", "main", "master"];

impl Origin {
    /// A text that follows the name.
    fn suffix(self) -> String {
        match self {
            Origin::Argument | Origin::Usual => String::new(),
            Origin::Configuration => " (from the configuration)".to_owned(),
            Origin::Variable(name) => format!(" (from {name})"),
        }
    }
}

/// The request for two commits.
#[derive(Clone, Debug, Default)]
pub(crate) struct BaseRequest {
    /// BASE on the command line.
    pub(crate) base: Option<String>,
    /// `base` in the configuration.
    pub(crate) configured: Option<String>,
    /// The value of each of [`VARIABLES`] that is set.
    pub(crate) variables: Vec<(&'static str, String)>,
    /// The head, if it is not HEAD.
    pub(crate) head: Option<String>,
    /// The base to use if the head is an ancestor of BASE: a branch that is
    /// pushed is compared with its state on the remote.
    pub(crate) fallback: Option<String>,
    /// Use BASE itself, not the merge-base.
    pub(crate) exact: bool,
    /// The head is the working tree.
    pub(crate) dirty: bool,
    /// The head against itself.
    pub(crate) aa: bool,
}

impl Repo {
    /// Finds the two commits.
    ///
    /// # Errors
    /// If a name can't be resolved, or the two have no common ancestor in this
    /// clone.
    pub(crate) fn resolve(&self, request: &BaseRequest) -> Result<Sides, Error> {
        let head = Revision { dirty: request.dirty, ..self.at(request.head.as_deref())? };
        let head_oid = oid(&head.commit)?;
        let itself = Sides {
            base: head.clone(),
            head,
            rule: BaseRule::Itself,
            origin: Origin::Argument,
            repository: remote::known_as(self),
            head_is_base: false,
            base_is_guessed: false,
        };
        if request.aa {
            return Ok(itself);
        }
        let Some((name, origin, tip)) = self.base_tip(request, head_oid)? else {
            return self.merge_ref(request, itself, head_oid);
        };
        let (commit, rule) = match request.exact {
            true => (tip, BaseRule::Exact),
            false => self.fork_point(&name, tip, &itself.head.rev, head_oid)?,
        };
        let head_is_base = commit == head_oid;
        if let (true, Some(fallback)) = (head_is_base, &request.fallback) {
            let base = Some(fallback.clone());
            return self.resolve(&BaseRequest { base, fallback: None, ..request.clone() });
        }
        let base = self.revision(name, commit)?;
        Ok(Sides { base, rule, origin, head_is_base, ..itself })
    }

    /// The sides of a merge commit that CI made for a BASE that this clone does
    /// not have. [`Repo::base_tip`] has checked that it is one.
    fn merge_ref(&self, request: &BaseRequest, sides: Sides, id: Oid) -> Result<Sides, Error> {
        let failed = Error::git("read the first parent of", sides.head.commit.clone());
        let parent = self.commit(id)?.parent_id(0).map_err(failed)?;
        let (origin, name) = match request.variables.first() {
            Some((variable, name)) => (Origin::Variable(variable), name.clone()),
            None => (Origin::Usual, parent.to_string()),
        };
        let (base, rule) = (self.revision(name, parent)?, BaseRule::FirstParent);
        Ok(Sides { base, rule, origin, base_is_guessed: true, ..sides })
    }

    /// The commit of a name, or that of HEAD.
    ///
    /// # Errors
    /// If the name can't be resolved, or HEAD has no commit yet.
    pub(crate) fn at(&self, rev: Option<&str>) -> Result<Revision, Error> {
        let name = rev.unwrap_or("HEAD").to_owned();
        let commit = match self.find(&name)? {
            Some(commit) => commit,
            None if rev.is_none() => head_commit(&self.inner)?.id(),
            None => return Err(self.unknown(name, Origin::Argument)),
        };
        let name = match rev {
            None => match self.inner.head() {
                Ok(head) if head.is_branch() => head.shorthand().map_or(name, str::to_owned),
                _ => name,
            },
            Some(_) => name,
        };
        self.revision(name, commit)
    }

    /// The commit of BASE. `None` if this clone does not have it, but the head
    /// is the merge ref that CI made for it.
    fn base_tip(
        &self,
        request: &BaseRequest,
        head: Oid,
    ) -> Result<Option<(String, Origin, Oid)>, Error> {
        let named = request
            .base
            .as_ref()
            .map(|name| (name, Origin::Argument))
            .or(request.configured.as_ref().map(|name| (name, Origin::Configuration)))
            .or(request.variables.first().map(|(v, name)| (name, Origin::Variable(v))));
        if let Some((name, origin)) = named {
            if let Some(tip) = self.find(name)? {
                return Ok(Some((name.clone(), origin, tip)));
            }
            let is_target = request.variables.iter().any(|(_, target)| target == name);
            let is_merge = self.commit(head)?.parent_count() > 1;
            if is_target && is_merge && !request.exact {
                return Ok(None);
            }
            return Err(self.unknown(name.clone(), origin));
        }
        for name in USUAL {
            if let Some(tip) = self.find(name)? {
                return Ok(Some((name.to_owned(), Origin::Usual, tip)));
            }
        }
        Err(Error::NoBase(USUAL.map(|name| format!("`{name}`")).join(", ")))
    }

    /// The base commit for a BASE at `tip`.
    fn fork_point(
        &self,
        base: &str,
        tip: Oid,
        head_name: &str,
        head: Oid,
    ) -> Result<(Oid, BaseRule), Error> {
        // Walking a long history is slow, and once is enough in most cases.
        let found = self.inner.merge_base(tip, head);
        let commit = self.commit(head)?;
        if commit.parent_count() > 1 && !matches!(&found, Ok(found) if *found == head) {
            let parent = commit.parent_id(0).map_err(Error::git("read", head.to_string()))?;
            if self.is_on(parent, tip)? {
                return Ok((parent, BaseRule::FirstParent));
            }
        }
        match found {
            Ok(commit) => Ok((commit, BaseRule::MergeBase)),
            Err(_) if self.inner.is_shallow() => {
                Err(Error::Shallow { base: base.to_owned(), head: head_name.to_owned() })
            }
            Err(error) if error.code() == ErrorCode::NotFound => {
                Err(Error::Unrelated { base: base.to_owned(), head: head_name.to_owned() })
            }
            Err(error) => Err(Error::git("find the merge-base with", base)(error)),
        }
    }

    /// Whether `commit` is `tip` or one of its ancestors, in the history that
    /// this clone has.
    pub(super) fn is_on(&self, commit: Oid, tip: Oid) -> Result<bool, Error> {
        if commit == tip {
            return Ok(true);
        }
        match self.inner.graph_descendant_of(tip, commit) {
            Ok(answer) => Ok(answer),
            Err(_) if self.inner.is_shallow() => Ok(false),
            Err(error) => Err(Error::git("walk the history of", tip.to_string())(error)),
        }
    }

    /// The commit of a name, tried in this order: a local branch, a branch of
    /// `origin`, an ancestor of one of these, anything else that git understands.
    fn find(&self, name: &str) -> Result<Option<Oid>, Error> {
        let tries = [format!("refs/heads/{name}"), format!("refs/remotes/origin/{name}")];
        // HEAD is not the name of a branch, and `origin/HEAD` is another commit.
        for full in tries.iter().filter(|_| name != "HEAD") {
            let found = self.inner.find_reference(full);
            if let Ok(commit) = found.and_then(|found| found.peel_to_commit()) {
                return Ok(Some(commit.id()));
            }
        }
        // `main~3` starts at the same commit as `main`.
        let start = start_of(name);
        let from_start = match start.len() < name.len() {
            true => self.find(start)?.map(|commit| format!("{commit}{}", &name[start.len()..])),
            false => None,
        };
        match self.inner.revparse_single(from_start.as_deref().unwrap_or(name)) {
            Ok(object) => {
                let commit = object.peel_to_commit().map_err(Error::git("read", name))?;
                Ok(Some(commit.id()))
            }
            // libgit2's error code for an unknown name depends on the form of the
            // name, so every failure counts as that.
            Err(_) => Ok(None),
        }
    }

    fn unknown(&self, name: String, origin: Origin) -> Error {
        let absence = self.absence(&name);
        Error::Unknown { name, origin: origin.suffix(), absence }
    }

    fn absence(&self, name: &str) -> Absence {
        let shallow = self.inner.is_shallow();
        let start = start_of(name);
        if start != name && matches!(self.find(start), Ok(Some(_))) {
            return Absence::Ancestor { start: start.to_owned(), shallow };
        }
        if shallow {
            return Absence::Shallow;
        }
        let names = self.names();
        let similar = nearest(name, names.iter().map(String::as_str)).map(str::to_owned);
        let (remote, branch) = remote::remote_of(self, start);
        let remote = remote::has_remote(self, &remote).then_some((remote, branch));
        Absence::Name { similar, remote }
    }

    pub(super) fn commit(&self, id: Oid) -> Result<git2::Commit<'_>, Error> {
        self.inner.find_commit(id).map_err(Error::git("read", id.to_string()))
    }

    fn revision(&self, rev: String, commit: Oid) -> Result<Revision, Error> {
        let found = self.commit(commit)?;
        let subject = String::from_utf8_lossy(found.summary_bytes().unwrap_or_default());
        Ok(Revision {
            rev,
            commit: commit.to_string(),
            tree: found.tree_id().to_string(),
            dirty: false,
            subject: subject.into_owned(),
        })
    }
}

pub(super) fn oid(hex: &str) -> Result<Oid, Error> {
    Oid::from_str(hex).map_err(Error::git("read", hex))
}

/// The revision at which a revision like `main~3` or `v1^2` starts; the whole of any other.
pub(in crate::workspace) fn start_of(name: &str) -> &str {
    match name.find(['~', '^', ':']) {
        // A colon begins a path or a search, and these may have any character.
        Some(at) if at > 0 && !name[at..].starts_with(':') => &name[..at],
        _ => name,
    }
}

/// The commit of HEAD in `repository`.
pub(super) fn head_commit(repository: &Repository) -> Result<git2::Commit<'_>, Error> {
    let head = repository.head().map_err(|error| match error.code() {
        ErrorCode::UnbornBranch | ErrorCode::NotFound => {
            Error::refused("the repository has no commits yet".to_owned(), "commit something first")
        }
        _ => Error::git("read", "HEAD")(error),
    })?;
    head.peel_to_commit().map_err(Error::git("read", "HEAD"))
}
