//! The benchmark's own sources: whether they changed between the sides, and
//! one side's laid over the other's.

use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};

use super::{Work, Workspaces};
use crate::error::Error;
use crate::exec::system::digest;
use crate::model::notice::{Notice, RunNotice};
use crate::model::side::Side;
use crate::model::target::{Package, Target};
use crate::settings;
use crate::settings::options::{Benchmark, Subject};

/// Files by their paths from the root of a worktree.
type Files = BTreeMap<PathBuf, Vec<u8>>;

/// What belongs to a target's own source: the file, or the folder of which
/// that is the `main.rs`, if it is a folder for this target alone.
fn own_source(package: &Package, target: &Target) -> Option<PathBuf> {
    let source = package.sources.get(target)?;
    let inside = source.strip_prefix(&package.folder).ok()?;
    let has_folder = source.ends_with("main.rs") && inside.components().count() > 2;
    Some(if has_folder { source.parent()?.to_owned() } else { source.clone() })
}

/// What is laid over the other side for a target: the outermost folder around
/// its source in the package, `benches` as a rule, with all that is in it;
/// below `src`, where the code lies that is measured, its own source alone.
fn overlaid(package: &Package, target: &Target) -> Option<PathBuf> {
    let source = package.sources.get(target)?;
    let inside = source.strip_prefix(&package.folder).ok()?;
    match inside.components().next() {
        Some(Component::Normal(first)) if inside.components().count() > 1 && first != "src" => {
            Some(package.folder.join(first))
        }
        _ => own_source(package, target),
    }
}

/// The side whose benchmark sources both are to have, if one is named.
pub(super) fn bench_from(benchmarks: &[Benchmark]) -> Result<Option<Side>, Error> {
    let mut asked = benchmarks.iter().map(|benchmark| benchmark.measuring.bench_from);
    let first = asked.next().flatten();
    if asked.all(|side| side == first) {
        return Ok(first);
    }
    Err(settings::Error::Disagree("bench-from".to_owned()).into())
}

impl Work<'_, '_> {
    /// Lays the benchmark sources of the side `from` over the other one's
    /// worktree; a name for what they hold. Cargo finds targets by their
    /// files, so the workspaces are to be read anew. Manifests stay each
    /// side's own.
    pub(super) fn overlay(
        &mut self,
        from: Side,
        benchmarks: &[Benchmark],
        workspaces: &Workspaces,
    ) -> Result<String, Error> {
        let (tree, other) = (self.room.tree(from), self.room.tree(from.other()));
        let mut folders: Vec<PathBuf> = Vec::new();
        for benchmark in benchmarks {
            let Subject::Target(target, _) = &benchmark.subject else {
                let why = "nobody knows the benchmark sources of a command".to_owned();
                let value = from.name().to_owned();
                return Err(settings::Error::Bad { what: "bench-from", value, why }.into());
            };
            let package = workspaces.of(from).ok().and_then(|all| all.package(&benchmark.package));
            let path = package.and_then(|package| overlaid(package, target));
            let inside = path.as_deref().and_then(|path| path.strip_prefix(&tree).ok());
            folders.extend(inside.map(Path::to_owned));
        }
        folders.sort();
        folders.dedup();
        let (mut files, mut there) = (Files::new(), Files::new());
        for folder in &folders {
            read(&tree, folder, &mut files)?;
            read(&other, folder, &mut there)?;
        }
        for stray in there.keys().filter(|path| !files.contains_key(*path)) {
            let path = other.join(stray);
            fs_err::remove_file(&path).map_err(Error::io("remove", &path))?;
        }
        write(&other, &files, &there)?;
        let folders = folders.iter().map(|folder| folder.display().to_string()).collect();
        let differing = differing(&files, &there).map(|path| path.display().to_string());
        self.notice(Notice::Run(RunNotice::BenchFrom { side: from, folders, differing }));
        Ok(contents(&files))
    }

    /// Says so where a benchmark's own source changed.
    pub(super) fn changed_sources(
        &mut self,
        benchmarks: &[Benchmark],
        workspaces: &Workspaces,
    ) -> Result<(), Error> {
        for benchmark in benchmarks {
            let Subject::Target(target, _) = &benchmark.subject else { continue };
            let of = |side: Side| -> Result<Option<Files>, Error> {
                let package =
                    workspaces.of(side).ok().and_then(|all| all.package(&benchmark.package));
                let source = package.and_then(|package| own_source(package, target));
                let tree = self.room.tree(side);
                let Some(inside) = source.as_deref().and_then(|s| s.strip_prefix(&tree).ok())
                else {
                    return Ok(None);
                };
                let mut files = Files::new();
                read(&tree, inside, &mut files)?;
                Ok(Some(files))
            };
            let (Some(base), Some(head)) = (of(Side::Base)?, of(Side::Head)?) else {
                continue;
            };
            if let Some(path) = differing(&head, &base) {
                let (benchmark, path) = (benchmark.name.clone(), path.display().to_string());
                self.notice(Notice::Run(RunNotice::BenchChanged { benchmark, path }));
            }
        }
        Ok(())
    }
}

/// A file that is not the same in both.
fn differing<'a>(one: &'a Files, other: &'a Files) -> Option<&'a PathBuf> {
    let differs = one.iter().find(|(path, text)| other.get(*path) != Some(text));
    let gone = other.keys().find(|path| !one.contains_key(*path));
    differs.map(|(path, _)| path).or(gone)
}

/// Reads the file or folder `inside` of a worktree, if it is there.
fn read(tree: &Path, inside: &Path, files: &mut Files) -> Result<(), Error> {
    let path = tree.join(inside);
    let Ok(kind) = path.symlink_metadata() else { return Ok(()) };
    if kind.is_dir() {
        for entry in fs_err::read_dir(&path).map_err(Error::io("read", &path))? {
            let entry = entry.map_err(Error::io("read", &path))?;
            read(tree, &inside.join(entry.file_name()), files)?;
        }
    } else if path.is_file() {
        let bytes = fs_err::read(&path).map_err(Error::io("read", &path))?;
        files.insert(inside.to_owned(), bytes);
    }
    Ok(())
}

/// Writes those of `files` that are not `there` already.
fn write(tree: &Path, files: &Files, there: &Files) -> Result<(), Error> {
    for (inside, bytes) in files {
        if there.get(inside) == Some(bytes) {
            continue;
        }
        let path = tree.join(inside);
        // A link may lead out of the worktree.
        let around = path.ancestors().take_while(|around| *around != tree);
        for link in around.filter(|around| around.is_symlink()) {
            fs_err::remove_file(link).map_err(Error::io("remove", link))?;
        }
        if let Some(folder) = path.parent() {
            fs_err::create_dir_all(folder).map_err(Error::io("make", folder))?;
        }
        fs_err::write(&path, bytes).map_err(Error::io("write", &path))?;
    }
    Ok(())
}

/// A name for the contents of files.
fn contents(files: &Files) -> String {
    let line = |(path, bytes): (&PathBuf, &Vec<u8>)| format!("{path:?} {}\n", digest(bytes));
    digest(files.iter().map(line).collect::<String>().as_bytes())
}
