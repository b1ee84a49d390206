//! Whether functions of two sides are the same: their bytes, and all that they refer to.
//!
//! Two functions are the same if their bytes are and each relocation of the one means the
//! same as that of the other. What has a name is the same if the name is; what has none, a
//! constant above all, if its own bytes and relocations are. Since constants may refer to
//! each other in circles, two are taken for the same until a difference is found (a
//! bisimulation: D. Sangiorgi, "Introduction to Bisimulation and Coinduction", 2012, ch. 1).

use std::collections::{BTreeSet, HashMap, HashSet};

use super::object_file::{Named, ObjectFile, Piece, Target, shown};
use crate::model::side::{Pair, Side};
use crate::workspace::identical::MovedLocation;

/// What makes two names the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Naming {
    /// That people write them alike: they may differ in the hashes of crates, which those of
    /// another version have. A function is known by its name.
    Shown,
    /// That linkers know them as the same. A function that only its own object file knows is
    /// compared as constants are: others may have its name.
    Exact,
}

/// A part of the object file of this number.
pub(super) type Place = (usize, Piece);

/// The object files of one side.
pub(super) struct Objects<'d> {
    files: Vec<ObjectFile<'d>>,
    /// The functions by their names.
    pub(super) functions: HashMap<String, Vec<(Place, Named)>>,
    /// The constants and variables that other files can refer to.
    data: HashMap<String, Place>,
    /// The names of those that code in other languages may refer to.
    exported: BTreeSet<String>,
    naming: Naming,
}

impl<'d> Objects<'d> {
    pub(super) fn new(files: Vec<ObjectFile<'d>>, naming: Naming) -> Self {
        let mut functions: HashMap<String, Vec<(Place, Named)>> = HashMap::new();
        let (mut data, mut exported) = (HashMap::new(), BTreeSet::new());
        for (number, file) in files.iter().enumerate() {
            // What only its own file knows belongs to the functions that refer to it.
            let is_named = |function: &Named| naming == Naming::Shown || !function.is_local;
            for function in file.functions().filter(is_named) {
                let name = naming.name(&function.name);
                functions.entry(name).or_default().push(((number, function.piece), function));
            }
            for constant in file.data() {
                data.insert(naming.name(&constant.name), (number, constant.piece));
                exported.extend(constant.is_exported.then_some(constant.name));
            }
        }
        Objects { files, functions, data, exported, naming }
    }

    /// The parts that belong to a program though nothing need refer to them.
    fn roots(&self) -> impl Iterator<Item = (String, Place)> {
        self.files.iter().enumerate().flat_map(|(number, file)| {
            file.roots().map(move |(name, piece)| (name, (number, piece)))
        })
    }

    /// What a part consists of: its bytes, and its relocations with where they point to.
    fn content(&self, (number, piece): Place) -> Option<Content<'d>> {
        let file = &self.files[number];
        let is_named = |is_local: bool| self.naming == Naming::Shown || !is_local;
        let references = file.references(piece, is_named)?;
        let references = references.into_iter().map(|(at, kind, target)| {
            let target = match target {
                Target::Entry(entry) => Meaning::Entry(entry),
                Target::Piece(piece, offset) => Meaning::Place((number, piece), offset),
                Target::Name(name, offset) => {
                    let name = self.naming.name(&name);
                    match self.data.get(&name) {
                        Some(place) => Meaning::Place(*place, offset),
                        None => Meaning::Name(name, offset),
                    }
                }
            };
            (at, kind, target)
        });
        let (length, bytes) = (piece.length(), file.bytes(piece)?);
        Some(Content { length, bytes, references: references.collect() })
    }
}

impl Naming {
    fn name(self, name: &str) -> String {
        match self {
            Naming::Shown => shown(name),
            Naming::Exact => name.to_owned(),
        }
    }
}

/// What a part consists of.
struct Content<'d> {
    length: u64,
    bytes: &'d [u8],
    references: Vec<(u64, u32, Meaning<'d>)>,
}

/// What a relocation means.
enum Meaning<'d> {
    Name(String, i64),
    Place(Place, i64),
    Entry(&'d [u8]),
}

/// Whether a location in a source only moved with its line.
type Explains<'a> = dyn Fn(&MovedLocation) -> bool + 'a;

/// The comparison of two sides.
pub(super) struct Comparison<'a, 'd> {
    sides: Pair<&'a Objects<'d>>,
    explains: &'a Explains<'a>,
    /// What is known to be the same.
    same: HashSet<(Place, Place)>,
}

impl<'a, 'd> Comparison<'a, 'd> {
    /// `explains` tells which locations count as the same.
    pub(super) fn new(sides: Pair<&'a Objects<'d>>, explains: &'a Explains<'a>) -> Self {
        Comparison { sides, explains, same: HashSet::new() }
    }

    /// The names of the functions that are not the same on both sides.
    pub(super) fn changed_functions(&mut self) -> Vec<&'a String> {
        let Pair { base, head } = self.sides;
        let mut names: Vec<&String> = base.functions.keys().collect();
        names.extend(head.functions.keys().filter(|name| !base.functions.contains_key(*name)));
        names.retain(|name| {
            let of = |side: &'a Objects<'d>| {
                let all = side.functions.get(*name).into_iter().flatten();
                all.map(|(place, _)| *place).collect()
            };
            !self.are_same(of(base), of(head))
        });
        names.sort_unstable();
        names
    }

    /// What else differs between the sides and could change what any function does.
    pub(super) fn other_change(&mut self) -> Option<String> {
        let Pair { base, head } = self.sides;
        let roots = self.sides.map(|side| {
            let mut roots: HashMap<String, Vec<Place>> = HashMap::new();
            for (name, place) in side.roots() {
                roots.entry(name).or_default().push(place);
            }
            roots
        });
        for side in Side::BOTH {
            for name in roots[side].keys() {
                let of = |side: Side| roots[side].get(name).cloned().unwrap_or_default();
                if !self.are_same(of(Side::Base), of(Side::Head)) {
                    return Some(format!("the section `{name}`"));
                }
            }
        }
        // They may be used in files that are the same on both sides.
        let mut exported = base.exported.union(&head.exported);
        let differs = exported.find(|name| match (base.data.get(*name), head.data.get(*name)) {
            (Some(base), Some(head)) => !self.is_same(*base, *head),
            _ => true,
        });
        differs.map(|name| format!("the variable `{name}`"))
    }

    /// Whether each of the one has one that is the same among the others.
    fn are_same(&mut self, base: Vec<Place>, mut head: Vec<Place>) -> bool {
        base.len() == head.len()
            && base.into_iter().all(|one| {
                let found = head.iter().position(|other| self.is_same(one, *other));
                found.map(|at| head.swap_remove(at)).is_some()
            })
    }

    fn is_same(&mut self, base: Place, head: Place) -> bool {
        let mut assumed = HashSet::new();
        let mut open = vec![(base, head)];
        while let Some(both) = open.pop() {
            if self.same.contains(&both) || !assumed.insert(both) {
                continue;
            }
            match self.depends_on(both) {
                Some(more) => open.extend(more),
                None => return false,
            }
        }
        self.same.extend(assumed);
        true
    }

    /// Whether both are the location of the same code in a source.
    fn is_moved(&self, (base, head): (Place, Place)) -> bool {
        let location =
            |side: Side, (file, piece): Place| self.sides[side].files[file].location(piece);
        let both = location(Side::Base, base).zip(location(Side::Head, head));
        both.is_some_and(|((source, base), (other, head))| {
            source == other && (self.explains)(&MovedLocation { source, base, head })
        })
    }

    /// The parts that have to be the same, too, for two to be; `None` if they differ.
    fn depends_on(&self, places: (Place, Place)) -> Option<Vec<(Place, Place)>> {
        let base = self.sides.base.content(places.0)?;
        let head = self.sides.head.content(places.1)?;
        if base.length != head.length
            || base.references.len() != head.references.len()
            || base.bytes != head.bytes && !self.is_moved(places)
        {
            return None;
        }
        let mut more = Vec::new();
        for ((at, kind, one), (other_at, other_kind, other)) in
            base.references.into_iter().zip(head.references)
        {
            let is_same = match (one, other) {
                (Meaning::Name(one, from), Meaning::Name(other, to)) => one == other && from == to,
                (Meaning::Entry(one), Meaning::Entry(other)) => one == other,
                (Meaning::Place(one, from), Meaning::Place(other, to)) => {
                    more.push((one, other));
                    from == to
                }
                _ => false,
            };
            if at != other_at || kind != other_kind || !is_same {
                return None;
            }
        }
        Some(more)
    }
}
