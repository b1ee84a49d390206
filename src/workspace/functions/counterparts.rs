//! Which functions of the two sides correspond to each other although their mangled names
//! differ.
//!
//! A hash in the name of a function depends on its package's version and path, and on those
//! of its dependencies. If one of these changes, all names do. Functions with the same
//! demangled name are distinguished by what they do, since instances of a generic function
//! may have the same one: first by their own bytes and relocations, then by what these refer
//! to, and so on until nothing more can be distinguished (colour refinement: B. Weisfeiler and
//! A. Leman, "The reduction of a graph to canonical form", Nauchno-Tech. Inf. 2 (9), 1968).
//! Functions may refer to each other in cycles. Those that differ are paired if nothing else
//! has their demangled name, or their content.
//!
//! Pairs found here are compared like any functions with the same name. So a wrong guess
//! makes equal functions differ, and never the reverse.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};

use super::comparison::{Objects, Renamed};
use super::object_file::{Locals, Named, Piece, Referent, hash, shown};
use crate::model::side::{Pair, Side};

/// The maximum number of rounds of pairing functions that differ.
const MOST_PASSES: usize = 20;

/// Common names for functions and their counterparts with other names on the other side.
/// `others` are the names in the files that both sides have; what these refer to has the
/// same name on both.
pub(super) fn counterparts(sides: Pair<&Objects<'_>>, others: &HashSet<String>) -> Pair<Renamed> {
    let mut graph = Graph::new(sides, others);
    if Side::BOTH.into_iter().any(|side| graph.names.iter().all(|name| name.side != side)) {
        return Pair::default();
    }
    graph.pair_unique(|graph, name| Some(graph.parts[name].own));
    let mut colours = graph.refined();
    for _ in 0..MOST_PASSES {
        let before = graph.pairs;
        let of_side = Pair::both(|side| {
            let names = graph.names.iter().zip(&colours).filter(|(name, _)| name.side == side);
            names.map(|(_, colour)| *colour).collect::<HashSet<_>>()
        });
        // No function of the other side does the same.
        let unmatched = |graph: &Graph<'_>, name: usize| {
            let other = &of_side[graph.names[name].side.other()];
            (!other.contains(&colours[name])).then_some(graph.parts[name].own)
        };
        graph.pair_unique(unmatched);
        graph.pair_unique(|graph, name| {
            let pieces = graph.parts[name].references.iter();
            let contents: Vec<u64> = pieces.map(|piece| graph.parts[*piece].own).collect();
            Some(hash(&(unmatched(graph, name)?, contents)))
        });
        if graph.pairs == before {
            break;
        }
        // A new pair distinguishes what refers to it.
        colours = graph.refined();
    }
    graph.common_names(&colours)
}

/// Numbers parts, which are names of functions, and pieces of object files: the definitions
/// of these functions, and the constants to which they refer. Parts of both sides are in one
/// sequence, the names first.
#[derive(Default)]
struct Graph<'o> {
    /// The functions that have other names on the other side. The number of a name is also
    /// that of its part.
    names: Vec<OwnName<'o>>,
    parts: Vec<Part>,
    /// How many pairs of names were found to correspond.
    pairs: usize,
}

/// The name of a function that the other side lacks.
struct OwnName<'o> {
    side: Side,
    /// Mangled.
    name: &'o str,
    /// The number of its pair, which was made regardless of what the two do.
    pair: Option<usize>,
}

#[derive(Default)]
struct Part {
    /// A hash of what it is by itself: of a name, its demangled form and its crate; of a piece,
    /// its content without what it refers to.
    own: u64,
    /// What it refers to, in order: a name to its definitions, a piece to names and pieces.
    references: Vec<usize>,
}

impl<'o> Graph<'o> {
    fn new(sides: Pair<&'o Objects<'_>>, others: &HashSet<String>) -> Self {
        let mut graph = Graph::default();
        let all = Pair::both(|side| own_names(sides[side], sides[side.other()], others));
        let numbers = Pair::both(|side| {
            let mut numbers = HashMap::new();
            for (name, definitions) in &all[side] {
                let first = definitions.first().map(|named| named.piece.file);
                let origin = first.map(|file| sides[side].files[file].origin());
                numbers.insert(*name, graph.names.len());
                graph.names.push(OwnName { side, name, pair: None });
                let own = hash(&(origin, shown(name)));
                graph.parts.push(Part { own, references: Vec::new() });
            }
            numbers
        });
        for side in Side::BOTH {
            let mut reader = PieceReader {
                objects: sides[side],
                numbers: &numbers[side],
                parts: &mut graph.parts,
                pieces: HashMap::new(),
                open: Vec::new(),
            };
            for (name, definitions) in &all[side] {
                let pieces = definitions.iter().map(|named| reader.part(named.piece)).collect();
                reader.parts[numbers[side][name]].references = pieces;
            }
            while let Some((part, piece)) = reader.open.pop() {
                reader.parts[part] = reader.read(piece);
            }
        }
        graph
    }

    /// Pairs names that are in no pair if each side has exactly one of a key.
    fn pair_unique(&mut self, key: impl Fn(&Self, usize) -> Option<u64>) {
        let mut all: BTreeMap<u64, Pair<Vec<usize>>> = BTreeMap::new();
        for (number, name) in self.names.iter().enumerate().filter(|(_, one)| one.pair.is_none()) {
            if let Some(key) = key(self, number) {
                all.entry(key).or_default()[name.side].push(number);
            }
        }
        for both in all.into_values() {
            if let (&[base], &[head]) = (&*both.base, &*both.head) {
                for name in [base, head] {
                    self.names[name].pair = Some(self.pairs);
                }
                self.pairs += 1;
            }
        }
    }

    /// A colour for each part, which differs where parts can be distinguished. Paired names are
    /// the same by decision, whatever they refer to.
    fn refined(&self) -> Vec<u64> {
        let pair_of = |part: usize| self.names.get(part).and_then(|name| name.pair);
        let own = self.parts.iter().enumerate();
        let own = own.map(|(at, part)| pair_of(at).map_or(part.own, |pair| hash(&("pair", pair))));
        let mut colours: Vec<u64> = own.collect();
        let mut before = 0;
        loop {
            // What is distinguished stays so: as many as before distinguish the same parts.
            let count = colours.iter().collect::<HashSet<_>>().len();
            if count == before {
                return colours;
            }
            before = count;
            let refined = self.parts.iter().enumerate().map(|(at, part)| {
                let of = part.references.iter().map(|to| colours[*to]);
                let mut references: Vec<u64> = of.collect();
                match self.names.get(at) {
                    Some(name) if name.pair.is_some() => return colours[at],
                    // Definitions have no order.
                    Some(_) => references.sort_unstable(),
                    None => {}
                }
                hash(&(colours[at], references))
            });
            colours = refined.collect();
        }
    }

    /// What can't be distinguished has a common name.
    fn common_names(&self, colours: &[u64]) -> Pair<Renamed> {
        let mut renamed = Pair::<Renamed>::default();
        for (name, colour) in self.names.iter().zip(colours) {
            // No mangled name has this form.
            let common = format!("{} {colour:016x}", shown(name.name));
            renamed[name.side].insert(name.name.to_owned(), common);
        }
        renamed
    }
}

/// The functions of a side that have other names on the other one, in the order of the files,
/// since they are paired in order, too.
fn own_names<'o>(
    objects: &'o Objects<'_>,
    other: &Objects<'_>,
    others: &HashSet<String>,
) -> Vec<(&'o str, &'o [Named])> {
    let all = objects.functions.iter().map(|(name, all)| (name.as_str(), all.as_slice()));
    let mut own: Vec<_> = all
        .filter(|(name, _)| {
            !other.functions.contains_key(*name) && !others.contains(*name) && shown(name) != *name
        })
        .collect();
    own.sort_unstable_by_key(|(name, all)| (all.first().map(|one| one.piece.rank()), *name));
    own
}

/// Adds the pieces of one side to the graph.
struct PieceReader<'r, 'o, 'd> {
    objects: &'o Objects<'d>,
    /// The numbers of the side's names.
    numbers: &'r HashMap<&'o str, usize>,
    parts: &'r mut Vec<Part>,
    pieces: HashMap<Piece, usize>,
    /// What was not read yet.
    open: Vec<(usize, Piece)>,
}

impl PieceReader<'_, '_, '_> {
    /// The number of a piece.
    fn part(&mut self, piece: Piece) -> usize {
        *self.pieces.entry(piece).or_insert_with(|| {
            self.open.push((self.parts.len(), piece));
            self.parts.push(Part::default());
            self.parts.len() - 1
        })
    }

    fn read(&mut self, piece: Piece) -> Part {
        let (mut own, mut references) = (DefaultHasher::new(), Vec::new());
        let file = &self.objects.files[piece.file];
        file.variable(piece).hash(&mut own);
        if let Some((source, _)) = file.location(piece) {
            // Its line may move.
            source.hash(&mut own);
        } else if let Some(content) = self.objects.content(piece, Locals::Parts) {
            (content.about, content.bytes).hash(&mut own);
            for (at, kind, meaning) in content.references {
                (at, kind).hash(&mut own);
                match meaning {
                    Referent::Name(name, from) => {
                        from.hash(&mut own);
                        match self.numbers.get(&*name) {
                            Some(number) => references.push(*number),
                            None => name.hash(&mut own),
                        }
                    }
                    Referent::Piece(piece, from) => {
                        from.hash(&mut own);
                        references.push(self.part(piece));
                    }
                    Referent::Entry(entry, from) => (entry, from).hash(&mut own),
                }
            }
        }
        Part { own: own.finish(), references }
    }
}
