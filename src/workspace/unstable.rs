//! Bench targets that the current compiler can't build: they are left out without trying.

use std::path::Path;

use super::context::PrepareContext;
use super::error::NIGHTLY;
use super::setup::sides::Setup;
use crate::error::{Error, Failure};
use crate::model::{BenchmarkNotice, Side};
use crate::settings::options::{Benchmark, Subject};

/// The beginning of a source line that requests what only nightly compilers have.
const UNSTABLE: &str = "#![feature(";

/// With this variable, every compiler behaves like a nightly one.
const BOOTSTRAP: &str = "RUSTC_BOOTSTRAP";

/// Leaves out targets that were not named if their source needs a nightly compiler on every
/// side that has it, and the head's compiler is not one.
///
/// # Errors
/// If no target is left.
pub(super) fn leave_out(context: &mut PrepareContext<'_>, setup: &mut Setup) -> Result<(), Error> {
    let release = setup.head.rustc.lines().find_map(|line| line.strip_prefix("release: "));
    let release = release.unwrap_or_default().to_owned();
    let is_nightly = release.contains("-nightly") || release.contains("-dev");
    let is_bootstrapping = context.tools.env.iter().any(|(name, _)| name == BOOTSTRAP);
    if release.is_empty() || is_nightly || is_bootstrapping {
        return Ok(());
    }
    let sides = setup.sides();
    let is_unstable = |benchmark: &Benchmark| {
        let Subject::Target(target, _) = &benchmark.subject else { return false };
        let of = |side: Side| sides[side].package(&benchmark.package).ok()?.sources.get(target);
        benchmark.is_found
            && of(Side::Head).is_some_and(|path| needs_nightly(path))
            && of(Side::Base).is_none_or(|path| needs_nightly(path))
    };
    let benchmarks = setup.settings.benchmarks.clone().into_iter();
    let (out, rest): (Vec<Benchmark>, Vec<Benchmark>) = benchmarks.partition(is_unstable);
    if rest.is_empty() {
        let names: Vec<String> = out.iter().map(|one| format!("`{}`", one.name)).collect();
        let what = format!(
            "{} {} to be built by a nightly compiler, but this is rustc {release}",
            names.join(", "),
            if names.len() == 1 { "has" } else { "have" }
        );
        return Err(Failure::new(what, NIGHTLY).into());
    }
    setup.settings.benchmarks = rest;
    for Benchmark { name: benchmark, .. } in out {
        let why = format!(
            "the source needs a nightly compiler, but this is rustc {release} \
             (`--toolchain nightly`)"
        );
        context.notice(BenchmarkNotice::LeftOut { why }.about(&benchmark));
    }
    Ok(())
}

/// Whether a source requests unstable features, regardless of the compiler.
fn needs_nightly(source: &Path) -> bool {
    let text = std::fs::read_to_string(source).unwrap_or_default();
    text.lines().any(|line| line.trim_start().starts_with(UNSTABLE))
}
