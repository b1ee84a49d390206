//! Which functions differ between the executables of the two sides, according to the files
//! from which they were linked.
//!
//! rustc puts each function into a section of its own, with relocations for everything to
//! which the function refers.

mod alignment;
mod comparison;
mod counterparts;
mod executable;
mod labelled;
mod linked;
mod object_file;
#[cfg(test)]
mod tests;

use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::rc::Rc;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::exec::process::trace::Breakpoints;
use crate::exec::program::Program;
use crate::exec::system::{Memo, digest};
use crate::model::{ChangedFunction, Pair, Side};
use crate::workspace::identical::{MovedLocation, Moves};
pub(crate) use alignment::Alignment;
use comparison::{FunctionComparison, Objects, Renamed};
use counterparts::counterparts;
use executable::{ElfExecutable, LinkedName};
use linked::{Files, OriginFile, content_of_executable, files, links, same_call};
pub(crate) use object_file::shown;
use object_file::{ObjectFile, is_plain_rust};

/// The function that decides for all of Rust where they continue when they unwind.
const UNWINDS: &str = "rust_eh_personality";

/// How many digits of the digest of an executable's path are in the name of its file. A
/// build has few executables.
const DIGITS: usize = 16;

/// What compares: once it is edited, what was stored is found out again.
const SOURCES: &str = concat!(
    include_str!("functions.rs"),
    include_str!("functions/comparison.rs"),
    include_str!("functions/counterparts.rs"),
    include_str!("functions/executable.rs"),
    include_str!("functions/linked.rs"),
    include_str!("functions/object_file.rs"),
    include_str!("identical.rs"),
    include_str!("identical/code.rs"),
    include_str!("identical/loaded.rs"),
    include_str!("identical/locations.rs"),
    include_str!("identical/moves.rs"),
    include_str!("git/text_diff.rs"),
);

/// The functions that differ between the sides, if known. Object files are read for
/// that, once.
#[derive(Clone, Debug, Default)]
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
        let contents = files(&links, programs, false)?;
        let executables = executables(programs)?;
        let linked = executables
            .map(|executable| executable.functions.keys().map(|name| shown(name)).collect());
        different(&contents, &linked)
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
    let memo = memo(kind, programs, more);
    if let Some(comparison) = memo.as_ref().and_then(|memo| memo.read().ok().flatten()) {
        return Ok(comparison);
    }
    let comparison = compare()?;
    // Failures to store it are ignored: it only saves time.
    let _ = memo.map(|memo| memo.write(&comparison));
    Ok(comparison)
}

/// Where a comparison is stored: with the build of the head, one for each executable; another base
/// replaces it. `kind` tells comparisons of the same programs from each other, and `more` is
/// what else they depend on. `None` if the build can't store it, or if an executable has no
/// digest.
fn memo(kind: &str, programs: &Pair<Program>, more: &str) -> Option<Memo> {
    let folder = programs.head.comparisons.as_ref()?;
    let executable = programs.head.executable.as_ref()?;
    let name = digest(executable.as_os_str().as_encoded_bytes());
    let mut key = format!("{}\n{kind}\n{more}\n", digest(SOURCES.as_bytes()));
    for side in Side::BOTH {
        let Program { executable_sha256, home, relink, .. } = &programs[side];
        let (executable, relink) = (executable_sha256.as_ref()?, relink.as_ref().ok()?);
        let (call, inputs) = (&relink.command.argv, &relink.inputs);
        key += &format!("{executable}\n{home:?}\n{call:?}\n{inputs:?}\n");
    }
    Some(Memo::new(folder.join(format!("{kind}-{}.json", &name[..DIGITS])), &key))
}

/// The functions that differ; only those that were linked in, if that is known.
///
/// # Errors
/// If a file has an unknown format.
fn different(
    contents: &Pair<Files>,
    linked: &Pair<BTreeSet<String>>,
) -> Result<Vec<ChangedFunction>, String> {
    let (sides, _) = exact_sides(contents)?;
    let mut lengths: BTreeMap<String, Pair<Option<u64>>> = BTreeMap::new();
    for common in FunctionComparison::new(sides.as_ref(), &|_| true).changed_functions() {
        for side in Side::BOTH {
            for function in sides[side].functions.get(common).into_iter().flatten() {
                let name = shown(&function.name);
                if linked[side].is_empty() || linked[side].contains(&name) {
                    let length = &mut lengths.entry(name).or_default()[side];
                    *length = Some(length.unwrap_or(0) + function.own.length());
                }
            }
        }
    }
    let changed = lengths.into_iter();
    let changed = changed.map(|(name, bytes)| ChangedFunction {
        name,
        bytes,
        runs: None,
        is_edited: None,
        in_edited_file: false,
    });
    let mut changed: Vec<ChangedFunction> = changed.collect();
    changed.sort_by_key(|function| {
        let Pair { base, head } = function.bytes.map(Option::unwrap_or_default);
        std::cmp::Reverse(base.abs_diff(head))
    });
    Ok(changed)
}

/// The functions of an executable, where they begin.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct FunctionPlaces {
    /// All of them.
    pub(crate) all: Breakpoints,
    /// Those that differ from the other side's, with their demangled names.
    pub(crate) changed: BTreeMap<u64, String>,
    /// Those of them that do so only by local functions, such as benchmarks that they register:
    /// the functions that differ and to which each refers.
    pub(crate) by_locals: BTreeMap<u64, BTreeSet<u64>>,
    /// Whether a function differs of a crate that rustc has divided into codegen units.
    pub(crate) has_units: bool,
    /// How much the loader prepares before the program begins, bytes.
    pub(crate) prepared: u64,
}

/// Why nothing is known of functions without names.
const STRIPPED: &str = "the names of its functions were stripped (by its profile because \
    `executable_bytes` is measured, by the linker's flag `-s`, or by mold 1)";

/// The addresses of the functions in the executables of two programs. A program that enters
/// none of those that changed does the same on both sides, as far as that depends on its
/// code. `moves` has the locations in sources that only moved.
///
/// # Errors
/// Why that is not known: what else differs between the programs, or is unknown.
pub(crate) fn places(
    programs: &Pair<Program>,
    moves: &Moves,
) -> Result<Pair<FunctionPlaces>, String> {
    let links = links(programs)?;
    same_call(&links, programs)?;
    // What is found in the files is stored, also that they can't be compared.
    stored_or("places", programs, &moves.digest(), || {
        let contents = files(&links, programs, true)?;
        let executables = executables(programs)?;
        Ok(places_in(&contents, &executables, moves))
    })?
}

/// The addresses, from files and executables that were read.
fn places_in(
    contents: &Pair<Files>,
    executables: &Pair<ElfExecutable>,
    moves: &Moves,
) -> Result<Pair<FunctionPlaces>, String> {
    let (sides, others) = exact_sides(contents)?;
    let explains = |moved: &MovedLocation| moves.explains(moved);
    let mut comparison = FunctionComparison::new(sides.as_ref(), &explains);
    if let Some(what) = comparison.other_change(&others) {
        return Err(format!("{what} differs"));
    }
    if let Some(what) = ElfExecutable::other_start(executables) {
        return Err(format!("{what} differs"));
    }
    // Where a symbol has a version, that is no part of its name in executables.
    let changed = comparison.changed_functions();
    let by_locals = comparison.same_but_for_locals(&changed);
    let has_units = changed.iter().any(|name| sides.base.has_units(name));
    let changed = changed.into_iter();
    let mut changed: HashSet<&str> = changed.filter_map(|name| name.split('@').next()).collect();
    if comparison.other_unwinding() {
        if Side::BOTH.iter().any(|side| !executables[*side].functions.contains_key(UNWINDS)) {
            return Err("how its functions unwind differs".to_owned());
        }
        changed.insert(UNWINDS);
    }
    let linked = Pair::both(|side| executables[side].linked(&sides[side]));
    Pair::try_both(|side| {
        let executable = &executables[side];
        // Linkers can drop the names of local functions alone.
        let locals = sides[side].files.iter().flat_map(|file| {
            let names = file.functions().map(|function| function.name);
            names.filter(|name| file.unique.contains(name))
        });
        let mut locals = locals.peekable();
        let has_dropped =
            locals.peek().is_some() && !locals.any(|name| executable.functions.contains_key(&name));
        if executable.functions.is_empty() || has_dropped {
            return Err(STRIPPED.to_owned());
        }
        // One that is not linked on the other side may override one of the system.
        let is_changed = |one: &LinkedName<'_>| {
            changed.contains(one.0) || !linked[side.other()].contains_key(one)
        };
        let by_locals = by_locals.iter().flat_map(|name| {
            let referred = comparison.referred_to(side, name, &changed);
            places_by_locals(name, &referred, &linked[side])
        });
        let by_locals = by_locals.collect();
        let changed = linked[side].iter().filter(|(one, _)| is_changed(one));
        let changed = changed.flat_map(|(_, places)| places).map(|(at, name)| (*at, shown(name)));
        let all = executable.functions.values().flatten().map(|(address, _)| *address);
        let (entry, places) = (executable.entry, all.collect());
        let all = Breakpoints { entry, places, later: BTreeSet::new() };
        let (changed, prepared) = (changed.collect(), executable.prepared);
        Ok(FunctionPlaces { all, changed, by_locals, has_units, prepared })
    })
}

/// Where a function begins, with the functions to which it refers; nothing if one of these may be
/// entered without being seen.
fn places_by_locals(
    name: &str,
    referred: &BTreeSet<&str>,
    linked: &BTreeMap<LinkedName<'_>, Vec<(u64, &str)>>,
) -> Vec<(u64, BTreeSet<u64>)> {
    let places_of = |name: &str| -> BTreeSet<u64> {
        let all = linked.range((name, 0)..=(name, u64::MAX));
        all.flat_map(|(_, places)| places).map(|(at, _)| *at).collect()
    };
    let places = referred.iter().map(|name| places_of(name));
    if places.clone().any(|places| places.is_empty()) {
        return Vec::new();
    }
    let referred: BTreeSet<u64> = places.flatten().collect();
    places_of(name).into_iter().map(|place| (place, referred.clone())).collect()
}

/// What both executables say of themselves.
///
/// # Errors
/// When one can't be read, or is not the one that cargo built.
fn executables(programs: &Pair<Program>) -> Result<Pair<ElfExecutable>, String> {
    Pair::try_both(|side| {
        let executable = ElfExecutable::read(&content_of_executable(&programs[side])?);
        executable.ok_or_else(|| "its executable has an unknown format".to_owned())
    })
}

/// The object files of both sides, as linkers know their functions, and the names in those
/// files that both have.
fn exact_sides(contents: &Pair<Files>) -> Result<(Pair<Objects<'_>>, HashSet<String>), String> {
    let is_shared = |side: Side, file: &Rc<OriginFile>| {
        contents[side.other()].iter().any(|other| Rc::ptr_eq(file, other))
    };
    let parsed = |side: Side| {
        contents[side].iter().flat_map(move |file| {
            let is_shared = is_shared(side, file);
            ObjectFile::all(&file.1, &file.0).0.into_iter().map(move |one| (is_shared, file, one))
        })
    };
    let own = parsed(Side::Head).filter(|(is_shared, ..)| !is_shared);
    let parsed: Vec<_> = parsed(Side::Base).chain(own).collect();
    let shared = parsed.iter().filter(|(is_shared, ..)| *is_shared);
    let others = shared.flat_map(|(_, _, object)| object.names()).collect();
    let ordered = ordered(&parsed);
    let mut files = Pair::try_both(|side| {
        let counts =
            |file: &&Rc<OriginFile>| !is_shared(side, file) || ordered.contains(&Rc::as_ptr(file));
        let mut objects = Vec::new();
        for (origin, content) in contents[side].iter().filter(counts).map(|file| &**file) {
            let (own, others) = ObjectFile::all(content, origin);
            if others > 0 {
                return Err(format!("a library of the {side} has an unknown format"));
            }
            objects.extend(own);
        }
        Ok(objects)
    })?;
    let unique = Rc::new(unique_locals(&files, &others));
    for file in files.base.iter_mut().chain(&mut files.head) {
        file.unique = Rc::clone(&unique);
    }
    let sides = files.map(|files| Objects::new(files, Renamed::new()));
    let names = counterparts(sides.as_ref(), &others);
    let (base, head) = (sides.base.renamed(names.base), sides.head.renamed(names.head));
    Ok((Pair { base, head }, others))
}

/// The names of functions that are local to their object files and that nothing else on their
/// side has: like the names of others, these say which function is meant where data refers to
/// one, such as a table of benchmarks.
fn unique_locals(files: &Pair<Vec<ObjectFile<'_>>>, others: &HashSet<String>) -> HashSet<String> {
    let mut counts: HashMap<String, Pair<usize>> = HashMap::new();
    for side in Side::BOTH {
        for function in files[side].iter().flat_map(ObjectFile::functions) {
            let is_candidate = is_plain_rust(&function.name) && !others.contains(&function.name);
            // Something that is not local has no need of it.
            let count = if function.is_local { 1 } else { 2 };
            if is_candidate {
                counts.entry(function.name).or_default()[side] += count;
            }
        }
    }
    let unique = counts.into_iter().filter(|(_, count)| count.base <= 1 && count.head <= 1);
    unique.map(|(name, _)| name).collect()
}

/// The files of both sides for which it matters where they are linked: those with sections
/// that programs go through in order, and those with a definition that another one defines
/// differently. They are compared like files that differ.
fn ordered(parsed: &[(bool, &Rc<OriginFile>, ObjectFile<'_>)]) -> HashSet<*const OriginFile> {
    let has_roots = parsed.iter().filter(|(_, _, object)| object.roots().next().is_some());
    let mut ordered: HashSet<_> = has_roots.map(|(_, file, _)| Rc::as_ptr(file)).collect();
    let mut defined: HashMap<String, Vec<_>> = HashMap::new();
    for (is_shared, file, object) in parsed {
        for named in object.functions().chain(object.data()).filter(|named| !named.is_local) {
            defined.entry(named.name).or_default().push((is_shared, file, object, named.piece));
        }
    }
    for all in defined.values().filter(|all| all.len() > 1 && all.iter().any(|one| *one.0)) {
        let mut contents = all.iter().map(|(_, _, object, piece)| object.plain(*piece));
        let first = contents.next().flatten();
        if first.is_none() || contents.any(|other| other != first) {
            ordered.extend(all.iter().map(|(_, file, ..)| Rc::as_ptr(file)));
        }
    }
    ordered
}
