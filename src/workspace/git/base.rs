//! Which two commits to compare: the rules by which the base is found.

use git2::{ErrorCode, ObjectType, Oid, Repository, Tag};

use super::{Absence, Error, Repo, oid, remote};
use crate::model::revision::{BaseRule, Origin, Revision, Sides};
use crate::settings::error::nearest;
use crate::settings::table::Table;
use crate::workspace::environment::{Environment, var};
use crate::workspace::request::Request;

/// The environment variables in which CI systems name a pull request's target
/// branch.
pub(super) const VARIABLES: [&str; 2] = ["GITHUB_BASE_REF", "CI_MERGE_REQUEST_TARGET_BRANCH_NAME"];

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

/// The target branch of a pull request, by the variables of CI systems that name it.
pub(in crate::workspace) fn target_branches(env: &Environment) -> Vec<(&'static str, String)> {
    let named = |variable| {
        let name = var(env, variable)?.to_str().filter(|name| !name.is_empty())?;
        Some((variable, name.to_owned()))
    };
    VARIABLES.into_iter().filter_map(named).collect()
}

impl Repo {
    /// Finds the two commits of a request; `table` is that of the working tree.
    ///
    /// # Errors
    /// If a name can't be resolved, or the two have no common ancestor in this
    /// clone.
    pub(crate) fn resolve(&self, request: &Request, table: Option<&Table>) -> Result<Sides, Error> {
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
        let targets = target_branches(&request.env);
        let (name, origin) = self.base_name(request, table, &targets)?;
        let Some(tip) = self.find(&name)? else {
            // The head may be the merge commit that CI made for a branch that this clone
            // does not have.
            let target = targets.first().filter(|_| targets.iter().any(|(_, of)| *of == name));
            let merge = self.commit(head_oid)?;
            return match target {
                Some((variable, target)) if merge.parent_count() > 1 && !request.exact_base => {
                    let failed = Error::git("read the first parent of", &itself.head.commit);
                    let parent = merge.parent_id(0).map_err(failed)?;
                    let (rule, origin) = (BaseRule::FirstParent, Origin::Variable(variable));
                    let base = self.revision(target.clone(), parent)?;
                    Ok(Sides { base, rule, origin, base_is_guessed: true, ..itself })
                }
                _ => Err(self.unknown(name, origin)),
            };
        };
        let (commit, rule) = match request.exact_base {
            true => (tip, BaseRule::Exact),
            false => self.fork_point(&name, tip, &itself.head.rev, head_oid)?,
        };
        let head_is_base = commit == head_oid;
        if let (true, Some(fallback)) = (head_is_base, &request.fallback_base) {
            let flags = Table { base: Some(fallback.clone()), ..request.flags.clone() };
            let request = Request { flags, fallback_base: None, ..request.clone() };
            return self.resolve(&request, table);
        }
        let base = self.revision(name, commit)?;
        Ok(Sides { base, rule, origin, head_is_base, ..itself })
    }

    /// The name of BASE, and where it came from.
    fn base_name(
        &self,
        request: &Request,
        table: Option<&Table>,
        targets: &[(&'static str, String)],
    ) -> Result<(String, Origin), Error> {
        let named = request.flags.base.as_ref().map(|name| (name, Origin::Argument));
        let configured = table.and_then(|table| table.base.as_ref());
        let configured = configured.map(|name| (name, Origin::Configuration));
        let target = targets.first().map(|(variable, name)| (name, Origin::Variable(variable)));
        if let Some((name, origin)) = named.or(configured).or(target) {
            return Ok((name.clone(), origin));
        }
        for name in USUAL {
            if self.find(name)?.is_some() {
                return Ok((name.to_owned(), Origin::Usual));
            }
        }
        Err(Error::NoBase(USUAL.map(|name| format!("`{name}`")).join(", ")))
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
        let branch = self.inner.head().ok().filter(|head| rev.is_none() && head.is_branch());
        let branch = branch.and_then(|branch| branch.shorthand().map(str::to_owned).ok());
        self.revision(branch.unwrap_or(name), commit)
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
            let parent = commit.parent_id(0).map_err(Error::git("read", head))?;
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
            Err(error) => Err(Error::git("walk the history of", tip)(error)),
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
                let kind = object.as_tag().and_then(Tag::target_type).or(object.kind());
                if let Some(kind @ (ObjectType::Tree | ObjectType::Blob)) = kind {
                    let what = format!("`{name}` is not a commit, but a {kind}");
                    return Err(Error::refused(what, "name a branch, a tag or a commit"));
                }
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
        self.inner.find_commit(id).map_err(Error::git("read", id))
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
            let hint = "commit something first, or name a branch that has some: `--head REV`";
            Error::refused("HEAD has no commits yet".to_owned(), hint)
        }
        _ => Error::git("read", "HEAD")(error),
    })?;
    head.peel_to_commit().map_err(Error::git("read", "HEAD"))
}
