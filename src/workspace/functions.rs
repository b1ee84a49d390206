//! Which functions differ between the two sides' executables, told from what these were
//! linked from.
//!
//! Rustc makes a section of each function, with relocations for everything that the function
//! names.

mod comparison;
mod executable;
mod object_file;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use crate::exec::process::trace::Breakpoints;
use crate::exec::program::{Program, Relink, RelinkInput};
use crate::model::notice::ChangedFunction;
use crate::model::side::{Pair, Side};
use crate::workspace::identical::{LineMoves, MovedLocation};
use comparison::{Comparison, Naming, Objects};
use executable::Executable;
use object_file::ObjectFile;
pub(crate) use object_file::shown;

/// The functions that differ between two programs, those whose length changed most first.
///
/// # Errors
/// Why they can't be compared.
pub(crate) fn changed(programs: &Pair<Program>) -> Result<Vec<ChangedFunction>, String> {
    let contents = own_files(&links(programs)?)?;
    let linked = Pair::try_both(|side| -> Result<BTreeSet<String>, String> {
        let Some(path) = &programs[side].executable else { return Ok(BTreeSet::new()) };
        Ok(Executable::read(&read(path)?).functions.keys().map(|name| shown(name)).collect())
    })?;
    Ok(different(&contents, &linked))
}

/// The functions that differ; where it is known what was linked in, only those.
fn different(
    contents: &Pair<Vec<Vec<u8>>>,
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
#[derive(Clone, Debug, Default)]
pub(crate) struct FunctionPlaces {
    /// All of them.
    pub(crate) all: Breakpoints,
    /// Those that differ from the other side's, with the names that people know.
    pub(crate) changed: BTreeMap<u64, String>,
}

/// Where the functions of two programs are in their executables. A program that enters none
/// of those that changed does the same on both sides, as far as its code decides that.
/// `moves` tells which locations in sources only moved.
///
/// # Errors
/// Why that can't be told: which else differs between the programs, or is not known.
pub(crate) fn places(
    programs: &Pair<Program>,
    moves: &LineMoves,
) -> Result<Pair<FunctionPlaces>, String> {
    let links = links(programs)?;
    same_call(&links)?;
    let contents = own_files(&links)?;
    let sides = contents.as_ref().map(|contents| objects(contents, Naming::Exact));
    if let Some(side) = Side::BOTH.into_iter().find(|side| sides[*side].1) {
        return Err(format!("a library of the {side} is of a form that is not known"));
    }
    let sides = sides.map(|(objects, _)| objects);
    let explains = |moved: &MovedLocation| moves.explains(moved);
    let mut comparison = Comparison::new(sides.as_ref(), &explains);
    if let Some(what) = comparison.other_change() {
        return Err(format!("{what} differs"));
    }
    let changed = comparison.changed_functions();
    Pair::try_both(|side| {
        let path = programs[side].executable.as_ref().ok_or("cargo did not build it")?;
        let executable = Executable::read(&read(path)?);
        let entry = executable.entry.ok_or("its executable is of a form that is not known")?;
        if executable.functions.is_empty() {
            return Err("its executable was stripped of the names of its functions".to_owned());
        }
        let changed = changed.iter().flat_map(|name| {
            let addresses = executable.functions.get(*name).into_iter().flatten();
            addresses.map(|address| (*address, shown(name)))
        });
        let all = executable.functions.values().flatten().copied();
        let all = Breakpoints { entry, places: all.collect() };
        Ok(FunctionPlaces { all, changed: changed.collect() })
    })
}

/// How both executables were linked.
fn links(programs: &Pair<Program>) -> Result<Pair<&Relink>, String> {
    Pair::try_both(|side| programs[side].relink.as_ref().map_err(String::clone))
}

/// Checks that two executables were linked by the same call, but for the files that were
/// kept of it.
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

/// What was kept of each side and the other has not, by contents.
fn own_files(links: &Pair<&Relink>) -> Result<Pair<Vec<Vec<u8>>>, String> {
    Pair::try_both(|side| {
        let others = links[side.other()].inputs.iter();
        let others: BTreeSet<&String> = others.filter_map(|input| input.sha256.as_ref()).collect();
        let is_own = |input: &&RelinkInput| {
            input.sha256.as_ref().is_some_and(|digest| !others.contains(digest))
        };
        links[side].inputs.iter().filter(is_own).map(|input| read(&input.path)).collect()
    })
}

/// The object files in files, and whether a file is of another form.
fn objects(contents: &[Vec<u8>], naming: Naming) -> (Objects<'_>, bool) {
    let mut all = Vec::new();
    let mut has_others = false;
    for content in contents {
        let (objects, others) = ObjectFile::all(content);
        all.extend(objects);
        has_others |= others > 0;
    }
    (Objects::new(all, naming), has_others)
}

fn read(path: &Path) -> Result<Vec<u8>, String> {
    std::fs::read(path).map_err(|error| format!("could not read `{}`: {error}", path.display()))
}
