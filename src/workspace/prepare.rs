//! The story of a preparation: from two revisions to two sets of executables that can be
//! measured.

use std::ffi::OsStr;
use std::time::Instant;

use super::cache::Lock;
use super::changed_crates::changed_crates;
use super::context::{PrepareContext, UserTree};
use super::environment::{Environment, var};
use super::inputs::toolchain::ToolchainFingerprint;
use super::prepared::{About, Preparation, PreparedSide};
use super::request::Request;
use super::settings::of_table;
use super::setup::sides::Setup;
use super::sides::{BuiltBenchmarks, BuiltSide, build_sides, how_to_see};
use super::tools::Tools;
use super::{build, build_command, cargo, checkout, fetch, git, setup};
use crate::engine::event::{Event, Reporter};
use crate::error::Error;
use crate::exec::execution::Context;
use crate::model::{BenchmarkNotice, Notice, Pair, Sides};
use crate::settings::policy::Settings;

/// Prepares both sides.
pub(crate) fn prepare(
    request: &Request,
    context: Context<'_>,
    reporter: &mut dyn Reporter,
) -> Result<Preparation, Error> {
    let start = Instant::now();
    let mut context = PrepareContext::open(request, context, reporter)?;
    let (sides, setup, lock) = match set_up_sides(&mut context)? {
        SetUp::NothingToCompare { sides, settings } => {
            return Ok(context.finish(sides, *settings));
        }
        SetUp::Compared { sides, setup, lock } => (sides, *setup, lock),
    };
    let BuiltBenchmarks { prepared, lost, unbuilt } = build_sides(&mut context, &sides, &setup)?;
    context.prepared(start);
    let changed_crates = changed_crates(&setup.sides(), &context.moves.changed);
    let Setup { settings, head, removed, .. } = setup;
    let finished = context.finish(sides, settings);
    let about = About {
        removed: [removed, lost].concat(),
        changed_crates,
        toolchain: Some(head.rustc.lines().next().unwrap_or_default().to_owned()),
        must_run: request.aa || request.always_run,
        ..finished.about
    };
    Ok(Preparation { about, benchmarks: prepared, unbuilt, _lock: Some(lock), ..finished })
}

/// A comparison up to its first build.
pub(super) enum SetUp {
    /// Both sides are the same commit.
    NothingToCompare { sides: Sides, settings: Box<Settings> },
    /// Both sides are checked out, which the lock keeps so.
    Compared { sides: Sides, setup: Box<Setup>, lock: Lock },
}

/// Finds both commits, checks them out, and reads their settings.
pub(super) fn set_up_sides(context: &mut PrepareContext<'_>) -> Result<SetUp, Error> {
    let user = UserTree::read(context)?;
    let flags = &context.request.flags;
    let table = user.table(flags)?;
    context.check_configured_base(table.as_ref());
    let mut sides = fetch::resolve(context, table.as_ref())?;
    if is_nothing_to_compare(context, &sides)? {
        let table = flags.clone().over(table.unwrap_or_default());
        let settings = of_table(context.request, table, Vec::new())?;
        return Ok(SetUp::NothingToCompare { sides, settings: Box::new(settings) });
    }
    let lock = context.lock(&format!("comparing {} with {}", sides.head.rev, sides.base.rev))?;
    let Pair { base, head } = checkout::check_out_sides(context, &mut sides)?;
    let setup = Box::new(setup::set_up(context, &user, Some(base), head)?);
    Ok(SetUp::Compared { sides, setup, lock })
}

/// The number of files that differ from HEAD, if HEAD is the head and there are any.
fn uncommitted_files(context: &mut PrepareContext<'_>) -> Result<Option<usize>, Error> {
    if context.request.head.is_some() || context.request.dirty {
        return Ok(None);
    }
    checkout::ask_git_for_changes(context)?;
    Ok(Some(context.repo.dirty_files()?).filter(|files| *files > 0))
}

/// Whether both sides are the same commit; also adds notices about what is special.
fn is_nothing_to_compare(context: &mut PrepareContext<'_>, sides: &Sides) -> Result<bool, Error> {
    context.event(Event::Sides(sides));
    let uncommitted = uncommitted_files(context)?;
    if sides.head_is_base && !context.request.dirty {
        let base = sides.base.rev.clone();
        if let Some(files) = uncommitted {
            let files = if files == 1 { "1 file".to_owned() } else { format!("{files} files") };
            let what = format!(
                "HEAD is the merge-base with `{base}`, and {files} changed in the working tree"
            );
            let hint = "commit the changes, or compare the working tree as it is: `--dirty`";
            return Err(git::Error::refused(what, hint).into());
        }
        let is_named = context.request.head.is_some();
        let has_parent = context.repo.at(Some("HEAD~1")).is_ok();
        context.notice(Notice::NothingToCompare { base, is_named, has_parent });
        return Ok(true);
    }
    if let Some(files) = uncommitted {
        context.notice(Notice::DirtyTree { files });
    }
    if sides.base_is_guessed && !is_merge_of_github(&context.request.env, &sides.head.commit) {
        context.notice(Notice::MergeRef { base: sides.base.rev.clone() });
    }
    Ok(false)
}

/// Whether GitHub has made this commit to merge a pull request: then its first parent is
/// surely the base.
fn is_merge_of_github(env: &Environment, commit: &str) -> bool {
    let named = |name| var(env, name).and_then(OsStr::to_str);
    let is_merge = |name: &str| name.starts_with("refs/pull/") && name.ends_with("/merge");
    named("GITHUB_SHA") == Some(commit) && named("GITHUB_REF").is_some_and(is_merge)
}

/// Prepares the head of a request, without any base: its table decides.
pub(crate) fn prepare_one(
    request: &Request,
    context: Context<'_>,
    reporter: &mut dyn Reporter,
) -> Result<PreparedSide, Error> {
    let start = Instant::now();
    let mut context = PrepareContext::open(request, context, reporter)?;
    let revision = context.repo.at(request.head.as_deref())?;
    if let Some(files) = uncommitted_files(&mut context)? {
        context.notice(Notice::DirtyTree { files });
    }
    let lock = context.lock(&format!("measuring {}", revision.rev))?;
    let head = checkout::check_out_head(&mut context, &revision)?;
    let user = UserTree::read(&context)?;
    let Setup { settings, head, .. } = setup::set_up(&mut context, &user, None, head)?;
    let mut toolchain =
        ToolchainFingerprint::new(&context.tools.env, context.cache.digests_of_tools())?;
    let all = settings.benchmarks;
    let artifacts = build::build_targets(&mut context, &mut toolchain, &head, &all, None)?;
    let worktree = build_command::prepare(&mut context, &mut toolchain, &head, &all)?;
    let built = BuiltSide { setup: &head, artifacts, worktree };
    let mut programs = Vec::new();
    for benchmark in all {
        match built.runnable(&context, &benchmark)? {
            Ok(built) => programs.push((benchmark, built.program)),
            Err(_) if benchmark.is_found => {
                let why = format!("it does not build ({})", how_to_see(&benchmark));
                context.notice(BenchmarkNotice::LeftOut { why }.about(&benchmark.name));
            }
            Err(_) => {
                return Err(cargo::Error::NoExecutable(benchmark.name).into());
            }
        }
    }
    context.cache.prune(&built.names());
    context.prepared(start);
    let (rustc, Tools { env, scratch, .. }) = (head.rustc, context.tools);
    Ok(PreparedSide { revision, programs, rustc, env, scratch, _lock: lock })
}
