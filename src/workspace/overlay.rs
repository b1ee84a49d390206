//! The benchmark's own sources: whether they differ between the sides, and
//! copying one side's over the other's.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Component, Path, PathBuf};

use super::context::PrepareContext;
use super::files::{remove, walk};
use super::setup::manifests::Manifests;
use super::setup::sides::Setup;
use crate::error::Error;
use crate::exec::system::digest;
use crate::model::{BenchmarkNotice, Notice, Package, Pair, Side, Target};
use crate::settings;
use crate::settings::options::{Benchmark, Subject};

/// SourceFiles by their paths from the root of a worktree.
type SourceFiles = BTreeMap<PathBuf, Vec<u8>>;

/// The source of a target: its file, or the folder whose `main.rs` it is, if the
/// folder is for this target alone.
fn own_source(package: &Package, target: &Target) -> Option<PathBuf> {
    let source = package.sources.get(target)?;
    let inside = source.strip_prefix(&package.folder).ok()?;
    let has_folder = source.ends_with("main.rs") && inside.components().count() > 2;
    Some(if has_folder { source.parent()?.to_owned() } else { source.clone() })
}

/// What is copied over the other side for a target: the outermost folder around its
/// source in the package, usually `benches`, with all of its content; but below
/// `src`, where the measured code is, only its own source.
fn source_to_overlay(package: &Package, target: &Target) -> Option<PathBuf> {
    let source = package.sources.get(target)?;
    let inside = source.strip_prefix(&package.folder).ok()?;
    match inside.components().next() {
        Some(Component::Normal(first)) if inside.components().count() > 1 && first != "src" => {
            Some(package.folder.join(first))
        }
        _ => own_source(package, target),
    }
}

/// The path of a benchmark's target on a side, by one of these functions, relative to the root
/// of the worktree.
fn inside(
    context: &PrepareContext<'_>,
    side: Side,
    benchmark: &Benchmark,
    package: &Package,
    path: impl Fn(&Package, &Target) -> Option<PathBuf>,
) -> Option<PathBuf> {
    let Subject::Target(target, _) = &benchmark.subject else { return None };
    let path = path(package, target)?;
    Some(path.strip_prefix(context.cache.worktree(side)).ok()?.to_owned())
}

/// The side whose benchmark sources both sides get, if one is named.
pub(super) fn bench_from(benchmarks: &[Benchmark]) -> Result<Option<Side>, Error> {
    let mut asked = benchmarks.iter().map(|benchmark| benchmark.measuring.bench_from);
    let first = asked.next().flatten();
    if asked.all(|side| side == first) {
        return Ok(first);
    }
    Err(settings::Error::Disagree("bench-from".to_owned()).into())
}

/// Copies the benchmark sources of the side `from` over the other one's worktree; returns
/// a name for their content. Cargo finds targets by their files, so the manifests have to
/// be read again. Each side keeps its own manifests.
pub(super) fn lay_over(
    context: &mut PrepareContext<'_>,
    from: Side,
    benchmarks: &[Benchmark],
    manifests: &Manifests,
) -> Result<String, Error> {
    let (tree, other) = (context.cache.worktree(from), context.cache.worktree(from.other()));
    if benchmarks.iter().any(|of| matches!(of.subject, Subject::Command { .. })) {
        let why = "the benchmark sources of a command are not known".to_owned();
        let value = from.name().to_owned();
        return Err(settings::Error::Bad { what: "bench-from", value, why }.into());
    }
    let path = |benchmark: &Benchmark| {
        let package = manifests.package(from, benchmark)?;
        inside(context, from, benchmark, package, source_to_overlay)
    };
    let paths: BTreeSet<PathBuf> = benchmarks.iter().filter_map(path).collect();
    let (mut files, mut replaced) = (SourceFiles::new(), SourceFiles::new());
    for path in &paths {
        files.extend(read(&tree, path)?);
        replaced.extend(read(&other, path)?);
    }
    for stray in replaced.keys().filter(|path| !files.contains_key(*path)) {
        remove(&other.join(stray))?;
    }
    write(&other, &files, &replaced)?;
    let folders = paths.iter().map(|path| path.display().to_string()).collect();
    let differing = differing(&files, &replaced).map(|path| path.display().to_string());
    context.notice(Notice::BenchFrom { side: from, folders, differing });
    let line = |(path, bytes): (&PathBuf, &Vec<u8>)| format!("{path:?} {}\n", digest(bytes));
    Ok(digest(files.iter().map(line).collect::<String>().as_bytes()))
}

/// Adds notices about benchmarks whose own source differs between the sides.
pub(super) fn tell_changed_sources(
    context: &mut PrepareContext<'_>,
    setup: &Setup,
) -> Result<(), Error> {
    for benchmark in &setup.settings.benchmarks {
        let files = Pair::try_both(|side| {
            let package = setup.sides()[side].package(&benchmark.package).ok();
            let source =
                package.and_then(|package| inside(context, side, benchmark, package, own_source));
            source.map(|source| read(&context.cache.worktree(side), &source)).transpose()
        })?;
        let Pair { base: Some(base), head: Some(head) } = files else { continue };
        if let Some(path) = differing(&head, &base) {
            let notice = BenchmarkNotice::BenchChanged { path: path.display().to_string() };
            context.notice(notice.about(&benchmark.name));
        }
    }
    Ok(())
}

/// A file that differs between the two, if any.
fn differing<'a>(one: &'a SourceFiles, other: &'a SourceFiles) -> Option<&'a PathBuf> {
    let differs = one.iter().find(|(path, text)| other.get(*path) != Some(text));
    let gone = other.keys().find(|path| !one.contains_key(*path));
    differs.map(|(path, _)| path).or(gone)
}

/// Reads the file or folder `inside` of a worktree, if it exists.
fn read(tree: &Path, inside: &Path) -> Result<SourceFiles, Error> {
    let path = tree.join(inside);
    let mut paths = vec![inside.to_owned()];
    if path.is_dir() && !path.is_symlink() {
        paths.extend(walk(&path, |_| false)?.into_iter().map(|(path, _)| inside.join(path)));
    }
    let mut files = SourceFiles::new();
    for inside in paths {
        let path = tree.join(&inside);
        if path.is_file() {
            let bytes = fs_err::read(&path).map_err(Error::io("read", &path))?;
            files.insert(inside, bytes);
        }
    }
    Ok(files)
}

/// Writes those of `files` that are not already in the tree, according to `there`.
fn write(tree: &Path, files: &SourceFiles, there: &SourceFiles) -> Result<(), Error> {
    for (inside, bytes) in files {
        if there.get(inside) == Some(bytes) {
            continue;
        }
        let path = tree.join(inside);
        // A link may point outside of the worktree.
        let folders = path.ancestors().take_while(|folder| *folder != tree);
        for link in folders.filter(|folder| folder.is_symlink()) {
            fs_err::remove_file(link).map_err(Error::io("remove", link))?;
        }
        if let Some(folder) = path.parent() {
            fs_err::create_dir_all(folder).map_err(Error::io("create", folder))?;
        }
        fs_err::write(&path, bytes).map_err(Error::io("write", &path))?;
    }
    Ok(())
}
