//! Reads what determines the builds of the worktrees: manifests, settings,
//! toolchains, lock files.

mod lock_files;
pub(super) mod manifests;
pub(super) mod sides;
mod toolchains;

use std::collections::BTreeMap;
use std::ffi::OsStr;

use super::checkout::Worktree;
use super::context::{PrepareContext, UserTree};
use super::inputs::configuration::{Configuration, outer_configs, profile_settings};
use super::{overlay, settings, unstable};
use crate::error::Error;
use crate::exec::system::digest;
use crate::model::Notice;
use crate::model::{Pair, Side};
use crate::settings::policy::{Resolved, required_notices};
use crate::settings::values::Toolchain;
use crate::workspace::cargo::Workspace;
use crate::workspace::error::WorkspaceError;
use lock_files::{Resolver, lock_file, provide_lock_files};
use manifests::{Manifests, Places, workspace_of};
use sides::{Setup, SideSetup};
use toolchains::{toolchains, versions};

/// Reads what determines the builds of the head, and of the base if there is one.
///
/// # Errors
/// If the head can't be read, or the base for a reason other than its code.
pub(super) fn set_up(
    context: &mut PrepareContext<'_>,
    user: &UserTree,
    base: Option<Worktree>,
    head: Worktree,
) -> Result<Setup, Error> {
    let folders = Pair::both(|side| context.cache.worktree(side).join(&user.inside));
    if !folders.head.is_dir() {
        let folder = user.inside.display().to_string();
        return Err(WorkspaceError::NotCommitted { side: Side::Head, folder }.into());
    }
    tell_configuration(context, user)?;
    let flags = &context.request.flags;
    let (head_table, known) = match context.request.head {
        // For HEAD, the table in the working tree counts.
        None => (user.table(flags)?, None),
        Some(_) => {
            // The head's own may not be installed.
            let named = context.named_toolchain()?;
            let workspace = workspace_of(context, Side::Head, &folders.head, named.as_deref())?;
            (settings::side_table(&workspace, &folders.head, flags)?.table, Some(workspace))
        }
    };
    let asked = flags.clone().over(head_table.clone().unwrap_or_default()).toolchain()?;
    // Another cargo may read the manifests in another way.
    let known = known.filter(|_| matches!(asked, Toolchain::Each | Toolchain::Of(Side::Head)));
    let has_base = base.is_some();
    let is_of_side = matches!(asked, Toolchain::Of(_));
    let toolchains = toolchains(context, asked, &folders, has_base)?;
    let mut places = Places { inside: &user.inside, folders, toolchains, has_base };
    let mut manifests = Manifests::read(context, known, &mut places)?;
    let Resolved { mut settings, removed, gated, notices } =
        manifests.resolve(context, &places, head_table.clone())?;
    notices.into_iter().for_each(|notice| context.notice(notice));
    settings::check_pairs(context.request, &settings)?;
    let mut overlaid = None;
    if has_base && let Some(from) = overlay::bench_from(&settings.benchmarks)? {
        let contents = overlay::lay_over(context, from, &settings.benchmarks, &manifests)?;
        overlaid = Some((from.other(), contents));
        manifests = Manifests::read(context, None, &mut places)?;
        // The notices about differences are from before both sides had the sources of one.
        settings = manifests.resolve(context, &places, head_table)?.settings;
    }
    if context.request.one_unit {
        let own = manifests.own_packages(context, &places);
        settings.benchmarks.iter_mut().for_each(|benchmark| benchmark.use_one_unit(&own));
    }
    let configs = outer_configs(context.repo.root(), context.cache.path(), &context.tools.env);
    let user_root = &user.workspace.root;
    let toolchains = places.toolchains;
    let base_identity = base.as_ref().map(Worktree::identity).unwrap_or_default();
    let identities = &Pair { base: base_identity, head: head.identity() };
    let toolchain = toolchains.head.as_deref();
    let resolver = Resolver { configs: &configs, toolchain, identities };
    provide_lock_files(context, &manifests, user_root, resolver)?;
    let renamed = manifests.renamed(&context.cache);
    // A toolchain that is named is the same in both worktrees.
    let is_one = toolchains.head.is_some() && toolchains.base == toolchains.head;
    let known = is_one.then(|| versions(context, &head.path, toolchains.head.as_deref()));
    let known = known.transpose()?;
    let complete = |worktree: Worktree, workspace: Result<Workspace, String>| {
        let side = worktree.side;
        let toolchain = toolchains[side].clone();
        let (rustc, cargo) = match &known {
            Some(known) => known.clone(),
            None => versions(context, &worktree.path, toolchain.as_deref())?,
        };
        let mut identity = worktree.identity();
        if let Some((_, contents)) = overlaid.iter().find(|(overlaid, _)| *overlaid == side) {
            identity = format!("{identity} with benchmarks {contents}");
        }
        let lock = match &workspace {
            Ok(workspace) => digest(&lock_file(&workspace.root)?.unwrap_or_default()),
            Err(_) => String::new(),
        };
        let env = &context.tools.env;
        let configured = Configuration::read([&*places.folders[side]], &configs, env)?;
        let root = workspace.iter().map(|workspace| workspace.root.join("Cargo.toml"));
        let manifest = root.flat_map(std::fs::read_to_string).next().unwrap_or_default();
        // The configuration wins over the manifest.
        let mut compiler = profile_settings(&manifest);
        compiler.extend(configured.compiler);
        let version = rustc.lines().next().and_then(|line| line.strip_prefix("rustc "));
        compiler.extend(version.map(|version| ("rustc".to_owned(), version.to_owned())));
        let is_profile = |name: &OsStr| name.as_encoded_bytes().starts_with(b"CARGO_PROFILE_");
        Ok::<_, Error>(SideSetup {
            worktree,
            workspace,
            identity,
            toolchain,
            rustc,
            cargo,
            lock,
            configs: configs.clone(),
            has_profiles_elsewhere: configured.has_profiles
                || env.iter().any(|(name, _)| is_profile(name)),
            compiler,
            renamed: if side == Side::Base { renamed.clone() } else { BTreeMap::new() },
        })
    };
    let head = complete(head, Ok(manifests.head))?;
    let base = base.map(|worktree| complete(worktree, manifests.base)).transpose()?;
    let mut setup = Setup { settings, removed, gated, base, head };
    unstable::leave_out(context, &mut setup)?;
    // What is left out is built with no features.
    required_notices(&setup.settings.benchmarks).for_each(|notice| context.notice(notice));
    if is_of_side && setup.toolchain_differs() {
        context.notice(Notice::OneToolchain);
    }
    setup.tell_compiler(context);
    overlay::tell_changed_sources(context, &setup)?;
    Ok(setup)
}

/// Tells what the user's tree has of cargo's configuration that does not do what it seems to.
fn tell_configuration(context: &mut PrepareContext<'_>, user: &UserTree) -> Result<(), Error> {
    // The action, the hook and others call the program in the user's tree.
    let own = Configuration::read([&*user.folder], &[], &context.tools.env)?;
    if own.has_alias {
        context.notice(Notice::Alias);
    }
    if context.request.head.is_none() {
        let tree = context.cache.worktree(Side::Head);
        let files = own.missing_in(&tree, context.repo.root());
        (!files.is_empty()).then(|| context.notice(Notice::UncommittedConfiguration { files }));
    }
    Ok(())
}
