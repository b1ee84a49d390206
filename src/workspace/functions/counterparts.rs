//! Which functions of the two sides correspond to each other although their mangled names
//! differ.
//!
//! A hash in the name of a function depends on its package's version and path, and on those
//! of its dependencies. If one of these changes, all names do. Functions with the same
//! demangled name are distinguished by what they do, since instances of a generic function
//! may have the same one: first by their own bytes and relocations, then by what these refer
//! to, and so on until nothing more can be distinguished (partition refinement: R. Paige and
//! R. E. Tarjan, "Three partition refinement algorithms", SIAM J. Comput. 16, 1987).
//! Functions may refer to each other in cycles. Those that differ are paired if nothing else
//! has their demangled name, or their content.
//!
//! Pairs found here are compared like any functions with the same name. So a wrong guess
//! makes equal functions differ, and never the reverse.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};

use super::comparison::{FilePiece, Objects, Renamed};
use super::object_file::{Locals, Named, Referent, shown};
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
    pair_unique(&mut graph, |graph, name| Some(graph.own[name]));
    let mut colours = refined(&graph);
    for _ in 0..MOST_PASSES {
        let before = graph.pairs.len();
        graph.find_matched(&colours);
        pair_unique(&mut graph, |graph, name| graph.unmatched(name));
        pair_unique(&mut graph, |graph, name| {
            Some(hash((graph.unmatched(name)?, graph.contents(name))))
        });
        if graph.pairs.len() == before {
            break;
        }
        // A new pair distinguishes what refers to it.
        colours = refined(&graph);
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
    /// For each part, a hash of what it is by itself: of a name, its demangled form and its
    /// crate; of a piece, its content without what it refers to.
    own: Vec<u64>,
    /// What each part refers to, in order: a name to its definitions, a piece to names and
    /// pieces.
    references: Vec<Vec<usize>>,
    /// The names that were found to correspond.
    pairs: Vec<Pair<usize>>,
}

/// The name of a function that the other side lacks.
struct OwnName<'o> {
    side: Side,
    /// Mangled.
    name: &'o str,
    /// The number of its pair, which was made regardless of what the two do.
    pair: Option<usize>,
    /// Whether a function of the other side does the same.
    is_matched: bool,
}

impl<'o> Graph<'o> {
    fn new(sides: Pair<&'o Objects<'_>>, others: &HashSet<String>) -> Self {
        let mut graph = Graph::default();
        let all = Pair::both(|side| own_names(sides[side], sides[side.other()], others));
        let numbers = Pair::both(|side| {
            let mut numbers = HashMap::new();
            for (name, definitions) in &all[side] {
                let first = definitions.first().map(|((file, _), _)| *file);
                let origin = first.map(|file| sides[side].files[file].origin());
                let number = graph.add(hash((origin, shown(name))));
                graph.names.push(OwnName { side, name, pair: None, is_matched: false });
                numbers.insert(*name, number);
            }
            numbers
        });
        for side in Side::BOTH {
            let (objects, numbers) = (sides[side], &numbers[side]);
            let (pieces, open) = (HashMap::new(), Vec::new());
            let mut reader = PieceReader { objects, numbers, graph: &mut graph, pieces, open };
            for (name, definitions) in &all[side] {
                let pieces = definitions.iter().map(|(piece, _)| reader.part(*piece)).collect();
                reader.graph.references[numbers[name]] = pieces;
            }
            reader.read_all();
        }
        graph
    }

    /// Adds a part, and returns its number.
    fn add(&mut self, own: u64) -> usize {
        self.own.push(own);
        self.references.push(Vec::new());
        self.own.len() - 1
    }

    fn is_name(&self, part: usize) -> bool {
        part < self.names.len()
    }

    fn pair(&mut self, both: Pair<usize>) {
        for side in Side::BOTH {
            let name = &mut self.names[both[side]];
            (name.pair, name.is_matched) = (Some(self.pairs.len()), true);
        }
        self.pairs.push(both);
    }

    /// Finds out which functions do the same as one of the other side: those of one colour.
    fn find_matched(&mut self, colours: &Colours) {
        let mut sides: HashMap<usize, Pair<bool>> = HashMap::new();
        for (name, colour) in self.names.iter().zip(&colours.of) {
            sides.entry(*colour).or_default()[name.side] = true;
        }
        for (name, colour) in self.names.iter_mut().zip(&colours.of) {
            name.is_matched = sides[colour][name.side.other()];
        }
    }

    /// The hashed name of a function without an equal one on the other side.
    fn unmatched(&self, name: usize) -> Option<u64> {
        (!self.names[name].is_matched).then_some(self.own[name])
    }

    /// The hashes of the contents of a function's definitions.
    fn contents(&self, name: usize) -> Vec<u64> {
        self.references[name].iter().map(|piece| self.own[*piece]).collect()
    }

    /// The names of each side that are in no pair, by a key.
    fn by_key(&self, key: impl Fn(&Self, usize) -> Option<u64>) -> BTreeMap<u64, Pair<Vec<usize>>> {
        let mut all: BTreeMap<u64, Pair<Vec<usize>>> = BTreeMap::new();
        for (number, name) in self.names.iter().enumerate().filter(|(_, name)| name.pair.is_none())
        {
            if let Some(key) = key(self, number) {
                all.entry(key).or_default()[name.side].push(number);
            }
        }
        all
    }

    /// What can't be distinguished has a common name.
    fn common_names(&self, colours: &Colours) -> Pair<Renamed> {
        let mut renamed = Pair::<Renamed>::default();
        for (number, name) in self.names.iter().enumerate() {
            // No mangled name has this form.
            let (own, colour) = (self.own[number], colours.of[number]);
            let common = format!("{} {own:016x} {colour}", shown(name.name));
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
) -> Vec<(&'o str, &'o [(FilePiece, Named)])> {
    let all = objects.functions.iter().map(|(name, all)| (name.as_str(), all.as_slice()));
    let mut own: Vec<_> = all
        .filter(|(name, _)| {
            !other.functions.contains_key(*name) && !others.contains(*name) && shown(name) != *name
        })
        .collect();
    own.sort_unstable_by_key(|(name, all)| {
        (all.first().map(|((file, piece), _)| (*file, piece.rank())), *name)
    });
    own
}

/// Adds the pieces of one side to the graph.
struct PieceReader<'r, 'o, 'd, 'g> {
    objects: &'o Objects<'d>,
    /// The numbers of the side's names.
    numbers: &'r HashMap<&'o str, usize>,
    graph: &'r mut Graph<'g>,
    pieces: HashMap<FilePiece, usize>,
    /// What was not read yet.
    open: Vec<(usize, FilePiece)>,
}

impl PieceReader<'_, '_, '_, '_> {
    /// The number of a piece.
    fn part(&mut self, piece: FilePiece) -> usize {
        *self.pieces.entry(piece).or_insert_with(|| {
            let part = self.graph.add(0);
            self.open.push((part, piece));
            part
        })
    }

    fn read_all(&mut self) {
        while let Some((part, piece)) = self.open.pop() {
            let mut own = DefaultHasher::new();
            self.graph.references[part] = self.read(piece, &mut own);
            self.graph.own[part] = own.finish();
        }
    }

    fn read(&mut self, piece: FilePiece, own: &mut DefaultHasher) -> Vec<usize> {
        let file = &self.objects.files[piece.0];
        file.variable(piece.1).hash(own);
        let mut references = Vec::new();
        if let Some((source, _)) = file.location(piece.1) {
            // Its line may move.
            source.hash(own);
            return references;
        }
        let Some(content) = self.objects.content(piece, Locals::Parts) else { return references };
        (content.about, content.bytes).hash(own);
        for (at, kind, meaning) in content.references {
            (at, kind).hash(own);
            match meaning {
                Referent::Name(name, from) => {
                    from.hash(own);
                    match self.numbers.get(&*name) {
                        Some(number) => references.push(*number),
                        None => name.hash(own),
                    }
                }
                Referent::Piece(piece, from) => {
                    from.hash(own);
                    references.push(self.part(piece));
                }
                Referent::Entry(entry, from) => (entry, from).hash(own),
            }
        }
        references
    }
}

/// Distinguishes what can be distinguished, on both sides together. Paired names are the same
/// by decision, whatever they refer to.
fn refined(graph: &Graph<'_>) -> Colours {
    let pair_of = |part: usize| graph.names.get(part).and_then(|name| name.pair);
    let parts = 0..graph.own.len();
    let own = parts.clone().map(|part| match pair_of(part) {
        Some(pair) => hash(("pair", pair)),
        None => graph.own[part],
    });
    let mut colours = Colours::new(own);
    let mut users: Vec<Vec<usize>> = vec![Vec::new(); graph.own.len()];
    for part in parts.clone() {
        for to in &graph.references[part] {
            users[*to].push(part);
        }
    }
    // The parts that may have to be distinguished from others of their colour. Those
    // without a newly distinguished reference have not changed.
    let mut open: Vec<usize> = parts.filter(|part| pair_of(*part).is_none()).collect();
    while !open.is_empty() {
        let traits = open.iter().map(|part| {
            let mut references: Vec<usize> =
                graph.references[*part].iter().map(|to| colours.of[*to]).collect();
            if graph.is_name(*part) {
                // Definitions have no order.
                references.sort_unstable();
            }
            (colours.of[*part], hash(references), *part)
        });
        let changed = colours.split(traits.collect());
        open.clear();
        open.extend(changed.iter().flat_map(|part| &users[*part]));
        open.retain(|part| pair_of(*part).is_none());
        open.sort_unstable();
        open.dedup();
    }
    colours
}

/// Numbers that distinguish parts.
struct Colours {
    /// By part.
    of: Vec<usize>,
    /// The number of parts with each of them.
    counts: Vec<usize>,
}

impl Colours {
    /// Distinguishes parts by their own content.
    fn new(own: impl Iterator<Item = u64>) -> Self {
        let mut numbers: HashMap<u64, usize> = HashMap::new();
        let mut counts = Vec::new();
        let of = own.map(|own| {
            let number = *numbers.entry(own).or_insert(counts.len());
            if number == counts.len() {
                counts.push(0);
            }
            counts[number] += 1;
            number
        });
        Colours { of: of.collect(), counts }
    }

    /// Splits colours by what distinguishes their parts now: `traits` has each part with its
    /// colour and a hash of that; the other parts of a colour keep it. Returns the parts whose
    /// colour has changed.
    fn split(&mut self, mut traits: Vec<(usize, u64, usize)>) -> Vec<usize> {
        traits.sort_unstable();
        let mut changed = Vec::new();
        for same in traits.chunk_by(|one, other| one.0 == other.0) {
            let colour = same[0].0;
            let groups: Vec<_> = same.chunk_by(|one, other| one.1 == other.1).collect();
            // Most keep their colour, so that little has to be checked again.
            let largest = (0..groups.len()).max_by_key(|group| groups[*group].len());
            let keeps = largest.filter(|_| same.len() == self.counts[colour]);
            for (_, group) in groups.iter().enumerate().filter(|(at, _)| Some(*at) != keeps) {
                let new = self.counts.len();
                self.counts.push(group.len());
                self.counts[colour] -= group.len();
                for (_, _, part) in *group {
                    self.of[*part] = new;
                    changed.push(*part);
                }
            }
        }
        changed
    }
}

/// Pairs names if each side has exactly one of a key.
fn pair_unique(graph: &mut Graph<'_>, key: impl Fn(&Graph<'_>, usize) -> Option<u64>) {
    for both in graph.by_key(key).into_values() {
        if let (&[base], &[head]) = (&*both.base, &*both.head) {
            graph.pair(Pair { base, head });
        }
    }
}

fn hash(value: impl Hash) -> u64 {
    let mut state = DefaultHasher::new();
    value.hash(&mut state);
    state.finish()
}
