//! Which functions differ between the executables of the two sides, according to the files
//! from which they were linked.
//!
//! rustc puts each function into a section of its own, with relocations for everything to
//! which the function refers.

mod comparison;
mod counterparts;
mod executable;
mod object_file;
mod stored;
#[cfg(test)]
mod tests;

use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::path::Path;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::exec::process::trace::Breakpoints;
use crate::exec::program::{Program, Relink, RelinkInput};
use crate::exec::system::digest;
use crate::model::notice::ChangedFunction;
use crate::model::side::{Pair, Side};
use crate::workspace::identical::{LineMoves, MovedLocation, replace};
use comparison::{Comparison, Naming, Objects, Renamed};
use counterparts::counterparts;
use executable::Executable;
use object_file::ObjectFile;
pub(crate) use object_file::shown;
use stored::StoredComparison;

/// The functions that differ between the sides, if known. Object files are read for
/// that, once.
#[derive(Debug, Default)]
pub(crate) struct ChangedFunctions(OnceCell<Option<Vec<ChangedFunction>>>);

impl ChangedFunctions {
    pub(crate) fn of(&self, programs: &Pair<Program>) -> Option<&[ChangedFunction]> {
        self.0.get_or_init(|| changed(programs).ok()).as_deref()
    }
}

/// The functions that differ between two programs, in order of their change in length.
///
/// # Errors
/// Why they can't be compared.
fn changed(programs: &Pair<Program>) -> Result<Vec<ChangedFunction>, String> {
    let links = links(programs)?;
    stored_or("names", programs, "", || {
        let contents = own_files(&links, programs)?;
        let executables = executables(programs)?;
        let linked = executables
            .map(|executable| executable.functions.keys().map(|name| shown(name)).collect());
        Ok(different(&contents, &linked))
    })
}

/// A comparison as it is stored, or else made by `compare` and stored. An error of `compare`
/// is not: what it could not read this time, it may read another time.
fn stored_or<T: Serialize + DeserializeOwned>(
    kind: &str,
    programs: &Pair<Program>,
    more: &str,
    compare: impl FnOnce() -> Result<T, String>,
) -> Result<T, String> {
    let stored = StoredComparison::of(kind, programs, more);
    if let Some(comparison) = stored.as_ref().and_then(StoredComparison::read) {
        return Ok(comparison);
    }
    let comparison = compare()?;
    if let Some(stored) = stored {
        stored.write(&comparison);
    }
    Ok(comparison)
}

/// The functions that differ; only those that were linked in, if that is known.
fn different(
    contents: &Pair<Vec<Content>>,
    linked: &Pair<BTreeSet<String>>,
) -> Vec<ChangedFunction> {
    let sides = contents.as_ref().map(|contents| objects(contents, Naming::Shown).0);
    let changed = Comparison::new(sides.as_ref(), &|_| true).changed_functions();
    let mut changed: Vec<ChangedFunction> = changed
        .into_iter()
        .map(|name| {
            let bytes = Pair::both(|side| {
                let all = sides[side].functions.get(name)?;
                let is_linked = linked[side].is_empty() || linked[side].contains(name);
                is_linked.then(|| all.iter().map(|(_, function)| function.piece.length()).sum())
            });
            ChangedFunction { name: name.clone(), bytes, runs: None, is_edited: None }
        })
        .filter(|function| function.bytes != Pair::default())
        .collect();
    changed.sort_by_key(|function| {
        let Pair { base, head } = function.bytes.map(Option::unwrap_or_default);
        std::cmp::Reverse(base.abs_diff(head))
    });
    changed
}

/// The functions of an executable, where they begin.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct FunctionPlaces {
    /// All of them.
    pub(crate) all: Breakpoints,
    /// Those that differ from the other side's, with their demangled names.
    pub(crate) changed: BTreeMap<u64, String>,
}

/// The addresses of the functions in the executables of two programs. A program that enters
/// none of those that changed does the same on both sides, as far as that depends on its
/// code. `moves` has the locations in sources that only moved.
///
/// # Errors
/// Why that is not known: what else differs between the programs, or is unknown.
pub(crate) fn places(
    programs: &Pair<Program>,
    moves: &LineMoves,
) -> Result<Pair<FunctionPlaces>, String> {
    let links = links(programs)?;
    same_call(&links)?;
    // What is found in the files is stored, also that they can't be compared.
    stored_or("places", programs, &moves.digest(), || {
        let contents = own_files(&links, programs)?;
        let shared = shared_files(&links)?;
        let executables = executables(programs)?;
        Ok(places_in(&contents, &shared, &executables, moves))
    })?
}

/// The same, from what was read.
fn places_in(
    contents: &Pair<Vec<Content>>,
    shared: &[Content],
    executables: &Pair<Executable>,
    moves: &LineMoves,
) -> Result<Pair<FunctionPlaces>, String> {
    let (sides, others) = exact_sides(contents, shared)?;
    let explains = |moved: &MovedLocation| moves.explains(moved);
    let mut comparison = Comparison::new(sides.as_ref(), &explains);
    if let Some(what) = comparison.other_change(&others) {
        return Err(format!("{what} differs"));
    }
    let changed = comparison.changed_functions();
    Pair::try_both(|side| {
        let executable = &executables[side];
        let entry = executable.entry.ok_or("its executable has an unknown format")?;
        if executable.functions.is_empty() {
            return Err("its executable was stripped of the names of its functions".to_owned());
        }
        let changed = changed.iter().flat_map(|name| sides[side].functions.get(*name));
        let changed = changed.flatten().flat_map(|(_, function)| {
            let addresses = executable.functions.get(&function.name).into_iter().flatten();
            addresses.map(|address| (*address, shown(&function.name)))
        });
        let all = executable.functions.values().flatten().copied();
        let all = Breakpoints { entry, places: all.collect() };
        Ok(FunctionPlaces { all, changed: changed.collect() })
    })
}

/// What both executables say of themselves.
///
/// # Errors
/// When one can't be read, or is not the one that cargo built.
fn executables(programs: &Pair<Program>) -> Result<Pair<Executable>, String> {
    Pair::try_both(|side| {
        let Program { executable, executable_sha256, .. } = &programs[side];
        let path = executable.as_ref().ok_or("cargo did not build it")?;
        Ok(Executable::read(&read(path, executable_sha256.as_deref())?))
    })
}

/// The object files of both sides, as linkers know their functions, and the names in those
/// files that both have.
fn exact_sides<'d>(
    contents: &'d Pair<Vec<Content>>,
    shared: &[Content],
) -> Result<(Pair<Objects<'d>>, HashSet<String>), String> {
    let sides =
        Pair::try_both(|side| match objects(&contents[side], Naming::Exact(Renamed::new())) {
            (objects, false) => Ok(objects),
            (_, true) => Err(format!("a library of the {side} has an unknown format")),
        })?;
    let mut others = HashSet::new();
    for (origin, content) in shared {
        others.extend(ObjectFile::all(content, origin).0.iter().flat_map(ObjectFile::names));
    }
    let mut names = counterparts(sides.as_ref(), &others);
    let Pair { base, head } = sides;
    let base = base.renamed(std::mem::take(&mut names.base));
    Ok((Pair { base, head: head.renamed(names.head) }, others))
}

/// The links of both executables.
fn links(programs: &Pair<Program>) -> Result<Pair<&Relink>, String> {
    Pair::try_both(|side| programs[side].relink.as_ref().map_err(String::clone))
}

/// Checks that two executables were linked by the same command, except for the files
/// that were kept.
fn same_call(relink: &Pair<&Relink>) -> Result<(), String> {
    let kept = |side: Side| relink[side].inputs.iter().filter(|input| input.sha256.is_some());
    let others = relink.map(|relink| -> BTreeSet<_> {
        let others = relink.inputs.iter().filter(|input| input.sha256.is_none());
        others.map(|RelinkInput { path, bytes, .. }| (path, bytes)).collect()
    });
    let arguments = Pair::both(|side| -> Vec<String> {
        let paths: Vec<String> =
            kept(side).map(|input| input.path.to_string_lossy().into_owned()).collect();
        let all = relink[side].command.argv.iter().map(|word| word.to_string_lossy().into_owned());
        all.filter(|word| !paths.iter().any(|path| word.contains(path))).collect()
    });
    match others.base == others.head && arguments.base == arguments.head {
        true => Ok(()),
        false => Err("the sides are linked with different libraries or options".to_owned()),
    }
}

/// A file: the name of the crate from which it was compiled, and its content.
type Content = (String, Vec<u8>);

/// The kept files of each side that the other does not have, by content. In it, each side's
/// own path is replaced by the base's.
fn own_files(
    links: &Pair<&Relink>,
    programs: &Pair<Program>,
) -> Result<Pair<Vec<Content>>, String> {
    let homes = programs.as_ref().map(|program| program.home.as_os_str().as_encoded_bytes());
    Pair::try_both(|side| {
        let others = digests(links[side.other()]);
        let is_own = |input: &&RelinkInput| !others.contains(&input.sha256);
        let files = kept_files(links[side]).filter(is_own).map(|input| {
            let (origin, mut content) = content_of(input)?;
            if homes.base.len() == homes.head.len() {
                replace(&mut content, homes.head, homes.base);
            }
            Ok((origin, content))
        });
        files.collect()
    })
}

/// The kept files of both sides.
fn shared_files(links: &Pair<&Relink>) -> Result<Vec<Content>, String> {
    let others = digests(links.head);
    let shared = kept_files(links.base).filter(|input| others.contains(&input.sha256));
    shared.map(content_of).collect()
}

fn kept_files(link: &Relink) -> impl Iterator<Item = &RelinkInput> {
    link.inputs.iter().filter(|input| input.sha256.is_some())
}

/// The digests of the kept files.
fn digests(link: &Relink) -> BTreeSet<&Option<String>> {
    kept_files(link).map(|input| &input.sha256).collect()
}

fn content_of(input: &RelinkInput) -> Result<Content, String> {
    let name = input.path.file_name().unwrap_or_default().to_string_lossy();
    // The hash follows the last hyphen, as in `libname-0123456789abcdef.rlib`.
    let name = name.split('.').next().unwrap_or_default();
    let name = name.rsplit_once('-').map_or(name, |(name, _)| name);
    let content = read(&input.path, input.sha256.as_deref())?;
    Ok((name.trim_start_matches("lib").to_owned(), content))
}

/// The object files in files, and whether a file is of another form.
fn objects(contents: &[Content], naming: Naming) -> (Objects<'_>, bool) {
    let mut all = Vec::new();
    let mut has_others = false;
    for (origin, content) in contents {
        let (objects, others) = ObjectFile::all(content, origin);
        all.extend(objects);
        has_others |= others > 0;
    }
    (Objects::new(all, naming), has_others)
}

/// Reads a file of this digest, where one is known.
fn read(path: &Path, sha256: Option<&str>) -> Result<Vec<u8>, String> {
    let content = std::fs::read(path)
        .map_err(|error| format!("could not read `{}`: {error}", path.display()))?;
    match sha256.is_none_or(|sha256| sha256 == digest(&content)) {
        true => Ok(content),
        false => Err(format!("`{}` has changed since it was linked", path.display())),
    }
}
