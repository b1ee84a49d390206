//! What a request asks for, without anything being checked out.

use std::path::PathBuf;

use super::{Request, Work, settings};
use crate::error::Error;
use crate::exec::process::{Helper, Interrupt};
use crate::settings::table::Table;
use crate::workspace::Event;
use crate::workspace::cache::{Cache, Room};
use crate::workspace::cargo::Workspace;
use crate::workspace::git::Repo;
use crate::workspace::git::base::{Request as BaseRequest, VARIABLES};

/// The repository's part of the cache.
pub(crate) fn room(request: &Request, repo: &Repo) -> Result<Room, Error> {
    Ok(Cache::open(request.cache.clone())?.room(repo.common_dir(), &repo.name())?)
}

/// What the table of the user's tree and the flags ask for.
///
/// # Errors
/// When there is no repository or no workspace, or the table is not what it may
/// be.
pub(crate) fn table(
    request: &Request,
    helper: &Helper,
    interrupt: &Interrupt,
) -> Result<Table, Error> {
    let tell = &mut |_: Event<'_>| {};
    let (work, _scratch) = Work::open(request, helper, interrupt, tell)?;
    let inside = work.inside()?;
    let user = work.workspace(&request.folder, None)?;
    let place = work.repo.root().join(&inside);
    let table = settings::side_table(&user, &place, &request.flags)?.table;
    Ok(request.flags.clone().over(table.unwrap_or_default()))
}

/// The user's workspace, and the root of the repository.
///
/// # Errors
/// When there is none of the one or the other.
pub(crate) fn workspace(
    request: &Request,
    helper: &Helper,
    interrupt: &Interrupt,
) -> Result<(Workspace, PathBuf), Error> {
    let tell = &mut |_: Event<'_>| {};
    let (work, _scratch) = Work::open(request, helper, interrupt, tell)?;
    let workspace = work.workspace(&request.folder, None)?;
    Ok((workspace, work.repo.root().to_owned()))
}

/// What is asked for of the base, by the flags and then `table`.
pub(crate) fn base_request(request: &Request, table: Option<&Table>) -> BaseRequest {
    let var = |name: &'static str| {
        let found = request.env.iter().find(|(known, _)| known == name);
        let value = found.and_then(|(_, value)| value.to_str()).filter(|v| !v.is_empty());
        value.map(|value| (name, value.to_owned()))
    };
    BaseRequest {
        base: request.flags.base.clone(),
        configured: table.and_then(|table| table.base.clone()),
        variables: VARIABLES.into_iter().filter_map(var).collect(),
        head: request.head.clone(),
        instead: request.instead.clone(),
        exact: request.exact_base,
        dirty: request.dirty,
        aa: request.aa,
    }
}
