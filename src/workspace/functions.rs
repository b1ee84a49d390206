//! Which functions differ between the two sides' executables, told from what these were
//! linked from.
//!
//! Rustc makes a section of each function, with relocations for everything that the function
//! names. Two functions are the same if their bytes and their relocations are: functions are
//! named in these, constants are compared by what they hold. The line and the column in a
//! `core::panic::Location` do not count, for they are not executed.

mod object_file;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use object_file::{ObjectFile, symbols};

use crate::exec::program::{Program, Relink};
use crate::model::notice::ChangedFunction;
use crate::model::side::{Pair, Side};

/// Functions by their names: what each is made of.
type Functions = BTreeMap<String, Function>;

/// All functions of one name: there is one for each set of types that it is used with.
#[derive(Debug, Default)]
struct Function {
    /// Digests of their bytes and relocations.
    codes: BTreeSet<String>,
    /// Their length, bytes.
    bytes: u64,
}

/// The functions that differ between two programs, those whose length changed most first.
///
/// # Errors
/// Why they can't be compared.
pub(crate) fn changed(programs: &Pair<Program>) -> Result<Vec<ChangedFunction>, String> {
    let relink = Pair::try_both(|side| programs[side].relink.as_ref().map_err(String::clone))?;
    let functions = Pair::try_both(|side| functions(relink[side], relink[side.other()]))?;
    let linked = Pair::try_both(|side| linked(&programs[side]))?;
    Ok(different(&functions, &linked))
}

/// The functions that differ; where it is known what was linked in, only those.
fn different(functions: &Pair<Functions>, linked: &Pair<BTreeSet<String>>) -> Vec<ChangedFunction> {
    let names: BTreeSet<&String> =
        Side::BOTH.into_iter().flat_map(|side| functions[side].keys()).collect();
    let mut changed = Vec::new();
    for name in names {
        let of = Pair::both(|side| {
            let is_linked = linked[side].is_empty() || linked[side].contains(name);
            functions[side].get(name).filter(|_| is_linked)
        });
        let codes = of.as_ref().map(|function| function.map(|function| &function.codes));
        if codes.base != codes.head {
            let bytes = of.map(|function| function.map(|function| function.bytes));
            changed.push(ChangedFunction { name: name.clone(), bytes });
        }
    }
    changed.sort_by_key(|function| {
        let Pair { base, head } = function.bytes.map(Option::unwrap_or_default);
        std::cmp::Reverse(base.abs_diff(head))
    });
    changed
}

/// The functions in the files that were kept of one side and that the other has not.
fn functions(own: &Relink, other: &Relink) -> Result<Functions, String> {
    let others: BTreeSet<&String> =
        other.inputs.iter().filter_map(|input| input.sha256.as_ref()).collect();
    let mut functions = Functions::new();
    for input in &own.inputs {
        if input.sha256.as_ref().is_some_and(|digest| !others.contains(digest)) {
            add(&mut functions, &read(&input.path)?);
        }
    }
    Ok(functions)
}

/// Adds the functions of the object files in a file.
fn add(functions: &mut Functions, content: &[u8]) {
    for object in ObjectFile::all(content) {
        for (name, code, bytes) in object.functions() {
            let function = functions.entry(name).or_default();
            function.bytes += if function.codes.insert(code) { bytes } else { 0 };
        }
    }
}

/// The names of the functions that were linked in, as far as the executable still says.
fn linked(program: &Program) -> Result<BTreeSet<String>, String> {
    let Some(path) = &program.executable else { return Ok(BTreeSet::new()) };
    Ok(symbols(&read(path)?))
}

fn read(path: &Path) -> Result<Vec<u8>, String> {
    std::fs::read(path).map_err(|error| format!("could not read `{}`: {error}", path.display()))
}
