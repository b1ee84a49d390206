//! The benchmark's own sources: whether they differ between the sides, and
//! copying one side's over the other's.

use std::collections::BTreeMap;
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

/// The files of a source by their paths within it: a single file's is empty.
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
    if benchmarks.iter().any(|of| matches!(of.subject, Subject::Command { .. })) {
        let why = "the benchmark sources of a command are not known".to_owned();
        let value = from.name().to_owned();
        return Err(settings::Error::Bad { what: "bench-from", value, why }.into());
    }
    let trees = Pair::both(|side| context.cache.worktree(side));
    let (mut folders, mut differing, mut contents) = (Vec::new(), None, String::new());
    for (source, copy) in &copies(context, from, benchmarks, manifests) {
        let (files, replaced) = (read(source)?, read(copy)?);
        for stray in replaced.keys().filter(|path| !files.contains_key(*path)) {
            remove(&join(copy, stray))?;
        }
        write(&trees[from.other()], copy, &files, &replaced)?;
        let inside = |path: &Path, side| path.strip_prefix(&trees[side]).unwrap_or(path).to_owned();
        folders.push(inside(source, from).display().to_string());
        let found = self::differing(&files, &replaced).map(|path| join(copy, path));
        let found = found.map(|path| inside(&path, from.other()).display().to_string());
        differing = differing.or(found);
        for (path, bytes) in &files {
            let path = join(&inside(copy, from.other()), path);
            contents.push_str(&format!("{path:?} {}\n", digest(bytes)));
        }
    }
    context.notice(Notice::BenchFrom { side: from, folders, differing });
    Ok(digest(contents.as_bytes()))
}

/// What is copied from the side `from`, and where to: to the other side's package of that name,
/// which may be elsewhere, and to the files in which it has the targets.
fn copies(
    context: &PrepareContext<'_>,
    from: Side,
    benchmarks: &[Benchmark],
    manifests: &Manifests,
) -> Vec<(PathBuf, PathBuf)> {
    let renamed = manifests.renamed(&context.cache);
    let (mut folders, mut targets) = (BTreeMap::new(), BTreeMap::new());
    for benchmark in benchmarks {
        let Subject::Target(target, _) = &benchmark.subject else { continue };
        let packages = Pair::both(|side| manifests.package(side, benchmark, &renamed));
        let Some(own) = packages[from] else { continue };
        let other = packages[from.other()];
        let there = |path: &Path| match other {
            Some(other) => other.folder.join(path.strip_prefix(&own.folder).unwrap_or(path)),
            None => {
                let [tree, other] = [from, from.other()].map(|side| context.cache.worktree(side));
                other.join(path.strip_prefix(tree).unwrap_or(path))
            }
        };
        folders.extend(source_to_overlay(own, target).map(|path| (path.clone(), there(&path))));
        let other = other.and_then(|other| own_source(other, target));
        if let Some((own, other)) = own_source(own, target).zip(other)
            && other != there(&own)
            && own.is_dir() == other.is_dir()
        {
            targets.insert(own, other);
        }
    }
    folders.into_iter().chain(targets).collect()
}

/// Adds notices about benchmarks whose own source differs between the sides.
pub(super) fn tell_changed_sources(
    context: &mut PrepareContext<'_>,
    setup: &Setup,
) -> Result<(), Error> {
    for benchmark in &setup.settings.benchmarks {
        let Subject::Target(target, _) = &benchmark.subject else { continue };
        let sources = Pair::both(|side| {
            let package = setup.sides()[side].package(&benchmark.package).ok()?;
            own_source(package, target)
        });
        let Pair { base: Some(base), head: Some(head) } = sources else { continue };
        if let Some(path) = differing(&read(&head)?, &read(&base)?) {
            let path = setup.head.inside(&join(&head, path)).display().to_string();
            context.notice(BenchmarkNotice::BenchChanged { path }.about(&benchmark.name));
        }
    }
    Ok(())
}

/// A file of a source.
fn join(source: &Path, inside: &Path) -> PathBuf {
    // Joining nothing would append a slash.
    source.iter().chain(inside).collect()
}

/// A file that differs between the two, if any.
fn differing<'a>(one: &'a SourceFiles, other: &'a SourceFiles) -> Option<&'a PathBuf> {
    let differs = one.iter().find(|(path, text)| other.get(*path) != Some(text));
    let gone = other.keys().find(|path| !one.contains_key(*path));
    differs.map(|(path, _)| path).or(gone)
}

/// Reads a file, or all of those in a folder, if it exists.
fn read(source: &Path) -> Result<SourceFiles, Error> {
    let mut paths = vec![PathBuf::new()];
    if source.is_dir() && !source.is_symlink() {
        paths.extend(walk(source, |_| false)?.into_iter().map(|(path, _)| path));
    }
    let mut files = SourceFiles::new();
    for inside in paths {
        let path = join(source, &inside);
        if path.is_file() {
            let bytes = fs_err::read(&path).map_err(Error::io("read", &path))?;
            files.insert(inside, bytes);
        }
    }
    Ok(files)
}

/// Writes those of `files` to `source` in the tree that are not already `there`.
fn write(
    tree: &Path,
    source: &Path,
    files: &SourceFiles,
    there: &SourceFiles,
) -> Result<(), Error> {
    for (inside, bytes) in files {
        if there.get(inside) == Some(bytes) {
            continue;
        }
        let path = join(source, inside);
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
