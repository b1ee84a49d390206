//! Bench targets that the current compiler can't build: they are left out without trying.

use std::path::Path;

use super::context::PrepareContext;
use super::setup::{Manifests, Places, rustc_version};
use crate::error::Error;
use crate::model::notice::Notice;
use crate::model::side::Side;
use crate::settings::options::{Benchmark, Subject};
use crate::workspace::error::WorkspaceError;

/// The beginning of a source line that requests what only nightly compilers have.
const UNSTABLE: &str = "#![feature(";

/// With this variable, every compiler behaves like a nightly one.
const BOOTSTRAP: &str = "RUSTC_BOOTSTRAP";

/// Leaves out targets that were not named if their source needs a nightly compiler on every
/// side that has it, and the head's compiler is not one.
///
/// # Errors
/// If no target is left.
pub(super) fn leave_out(
    context: &mut PrepareContext<'_>,
    benchmarks: &mut Vec<Benchmark>,
    manifests: &Manifests,
    Places { folders, toolchains, .. }: &Places<'_>,
) -> Result<(), Error> {
    let is_unstable = |benchmark: &Benchmark| {
        let Subject::Target(target, _) = &benchmark.subject else { return false };
        let of = |side: Side| manifests.package(side, benchmark)?.sources.get(target);
        benchmark.is_found
            && of(Side::Head).is_some_and(|path| needs_nightly(path))
            && of(Side::Base).is_none_or(|path| needs_nightly(path))
    };
    let is_bootstrapping = context.tools.env.iter().any(|(name, _)| name == BOOTSTRAP);
    if is_bootstrapping || !benchmarks.iter().any(is_unstable) {
        return Ok(());
    }
    let version = rustc_version(context, &folders.head, toolchains.head.as_deref())?;
    let release = version.lines().find_map(|line| line.strip_prefix("release: "));
    let release = release.unwrap_or_default().to_owned();
    if release.is_empty() || release.contains("-nightly") || release.contains("-dev") {
        return Ok(());
    }
    let (out, rest): (Vec<Benchmark>, _) =
        std::mem::take(benchmarks).into_iter().partition(is_unstable);
    if rest.is_empty() {
        let benchmarks = out.into_iter().map(|benchmark| benchmark.name).collect();
        return Err(WorkspaceError::NeedsNightly { benchmarks, release }.into());
    }
    *benchmarks = rest;
    for Benchmark { name: benchmark, .. } in out {
        let why = format!(
            "its source needs a nightly compiler, but this is rustc {release} \
             (`--toolchain nightly`)"
        );
        context.notice(Notice::LeftOut { benchmark, why });
    }
    Ok(())
}

/// Whether a source requests unstable features, regardless of the compiler.
fn needs_nightly(source: &Path) -> bool {
    let text = std::fs::read_to_string(source).unwrap_or_default();
    text.lines().any(|line| line.trim_start().starts_with(UNSTABLE))
}
