//! Which functions of the two sides correspond to each other although their mangled names
//! differ.
//!
//! A hash in the name of a function depends on its package's version and path, and on those
//! of its dependencies. If one of these changes, all names do. Functions with the same
//! demangled name are distinguished by what they do, since instances of a generic function
//! may have the same one: first by their own bytes and relocations, then by what these refer
//! to, and so on until nothing more can be distinguished (partition refinement: R. Paige and
//! R. E. Tarjan, "Three partition refinement algorithms", SIAM J. Comput. 16, 1987).
//! Functions may refer to each other in cycles. Those that differ are paired by what refers
//! to them: what two paired functions call at the same place is a pair, too.
//!
//! Pairs found here are compared like any functions with the same name. So a wrong guess
//! makes equal functions differ, and never the reverse.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};

use super::comparison::{Meaning, Objects, Place, Renamed};
use super::object_file::shown;
use crate::model::side::{Pair, Side};

/// The maximum number of rounds of pairing functions that differ.
const MOST_PASSES: usize = 20;

/// The maximum number of constants of a function whose references are searched.
const MOST_CONSTANTS: usize = 1000;

/// Common names for functions and their counterparts with other names on the other side.
/// `others` are the names in the files that both sides have; what these refer to has the
/// same name on both.
pub(super) fn counterparts(sides: Pair<&Objects<'_>>, others: &HashSet<String>) -> Pair<Renamed> {
    let mut graphs = Pair::both(|side| Graph::new(sides[side], sides[side.other()], others));
    if Side::BOTH.into_iter().any(|side| graphs[side].names.is_empty()) {
        return Pair::default();
    }
    let mut pairs = Vec::new();
    pair_off(&mut graphs, &mut pairs, |graph, name| Some(graph.names[name].written));
    let parts = Parts::new(&graphs);
    let mut colours = parts.refined(&graphs);
    for _ in 0..MOST_PASSES {
        let before = pairs.len();
        for side in Side::BOTH {
            let known: HashSet<usize> = colours[side.other()].iter().copied().collect();
            graphs[side].find_matched(&colours[side], &known);
        }
        pair_off(&mut graphs, &mut pairs, |graph, name| graph.unmatched(name));
        pair_off(&mut graphs, &mut pairs, |graph, name| {
            Some(hash((graph.unmatched(name)?, graph.own(name))))
        });
        let guesses = [pair_same_callees, pair_other_callees, pair_in_order];
        for guess in guesses {
            if pairs.len() == before {
                guess(&mut graphs, &mut pairs);
            }
        }
        if pairs.len() == before {
            break;
        }
        colours = parts.refined(&graphs);
    }
    Pair::both(|side| graphs[side].renamed(&colours[side]))
}

/// Functions and all that they refer to.
struct Graph<'o> {
    /// The functions that have other names on the other side.
    names: Vec<Name<'o>>,
    nodes: Vec<Node>,
}

/// The name of a function that the other side lacks.
struct Name<'o> {
    name: &'o str,
    /// A hash of its demangled name and of the crate with which it was compiled.
    written: u64,
    /// Its definitions.
    nodes: Vec<usize>,
    /// The number of its pair, if it is paired regardless of what it does.
    pair: Option<usize>,
    /// Whether a function of the other side does the same.
    is_matched: bool,
}

/// A function or a constant.
struct Node {
    /// A hash of its own content.
    own: u64,
    /// What it refers to, in order.
    references: Vec<To>,
}

#[derive(Clone, Copy)]
enum To {
    Name(usize),
    Node(usize),
}

impl<'o> Graph<'o> {
    fn new(objects: &'o Objects<'_>, other: &Objects<'_>, others: &HashSet<String>) -> Self {
        let is_own = |name: &str| {
            !other.functions.contains_key(name) && !others.contains(name) && shown(name) != *name
        };
        let mut own: Vec<_> =
            objects.functions.iter().filter(|(name, _)| is_own(name.as_str())).collect();
        // In the order of the files, which are paired in order, too.
        own.sort_unstable_by_key(|(name, all)| {
            (all.first().map(|((file, piece), _)| (*file, piece.rank())), *name)
        });
        let numbers: HashMap<&str, usize> =
            own.iter().enumerate().map(|(number, (name, _))| (name.as_str(), number)).collect();
        let mut builder = Builder { objects, numbers, places: HashMap::new(), open: Vec::new() };
        let names = own.into_iter().map(|(name, all)| {
            let nodes: Vec<usize> = all.iter().map(|(place, _)| builder.node(*place)).collect();
            let origin = all.first().map(|((file, _), _)| objects.files[*file].origin());
            let written = hash((origin, shown(name)));
            Name { name, written, nodes, pair: None, is_matched: false }
        });
        let names = names.collect();
        Graph { names, nodes: builder.finish() }
    }

    fn find_matched(&mut self, colours: &[usize], known: &HashSet<usize>) {
        for (name, colour) in self.names.iter_mut().zip(colours) {
            name.is_matched = known.contains(colour);
        }
    }

    /// The hashed name of a function without an equal one on the other side.
    fn unmatched(&self, name: usize) -> Option<u64> {
        let name = &self.names[name];
        (!name.is_matched).then_some(name.written)
    }

    /// The functions without a counterpart that a function refers to, in order, and those
    /// that its constants refer to.
    fn callees(&self, name: usize) -> Vec<usize> {
        let mut callees = Vec::new();
        let mut seen = HashSet::new();
        let mut open: Vec<To> = self.names[name].nodes.iter().copied().map(To::Node).collect();
        while let Some(to) = open.pop().filter(|_| seen.len() < MOST_CONSTANTS) {
            match to {
                To::Name(name) if self.unmatched(name).is_some() && !callees.contains(&name) => {
                    callees.push(name);
                }
                To::Node(node) if seen.insert(node) => {
                    open.extend(self.nodes[node].references.iter().rev());
                }
                _ => {}
            }
        }
        callees
    }

    /// The hashes of a function's own content.
    fn own(&self, name: usize) -> Vec<u64> {
        self.names[name].nodes.iter().map(|node| self.nodes[*node].own).collect()
    }

    fn renamed(&self, colours: &[usize]) -> Renamed {
        let names = self.names.iter().zip(colours);
        let renamed = names.map(|(name, colour)| {
            // No mangled name has this form.
            let new = format!("{} {:016x} {colour}", shown(name.name), name.written);
            (name.name.to_owned(), new)
        });
        renamed.collect()
    }
}

/// Makes the nodes.
struct Builder<'o, 'd> {
    objects: &'o Objects<'d>,
    numbers: HashMap<&'o str, usize>,
    places: HashMap<Place, usize>,
    /// The places of the nodes, in their order.
    open: Vec<Place>,
}

impl Builder<'_, '_> {
    fn node(&mut self, place: Place) -> usize {
        *self.places.entry(place).or_insert_with(|| {
            self.open.push(place);
            self.open.len() - 1
        })
    }

    fn finish(mut self) -> Vec<Node> {
        let mut nodes = Vec::new();
        while let Some(place) = self.open.get(nodes.len()) {
            nodes.push(self.read(*place));
        }
        nodes
    }

    fn read(&mut self, place: Place) -> Node {
        let (file, piece) = (&self.objects.files[place.0], place.1);
        let mut own = DefaultHasher::new();
        file.variable(piece).hash(&mut own);
        if let Some((source, _)) = file.location(piece) {
            // Its line may move.
            source.hash(&mut own);
            return Node { own: own.finish(), references: Vec::new() };
        }
        let Some(content) = self.objects.content(place) else {
            return Node { own: own.finish(), references: Vec::new() };
        };
        (content.length, content.bytes).hash(&mut own);
        let mut references = Vec::new();
        for (at, kind, meaning) in content.references {
            (at, kind).hash(&mut own);
            match meaning {
                Meaning::Name(name, from) => {
                    from.hash(&mut own);
                    match self.numbers.get(&*name) {
                        Some(number) => references.push(To::Name(*number)),
                        None => name.hash(&mut own),
                    }
                }
                Meaning::Place(place, from) => {
                    from.hash(&mut own);
                    references.push(To::Node(self.node(place)));
                }
                Meaning::Entry(entry, from) => (entry, from).hash(&mut own),
            }
        }
        Node { own: own.finish(), references }
    }
}

/// The nodes and names of both sides in one sequence: the nodes of a side, then its names.
struct Parts {
    /// Where those of each side begin.
    nodes: Pair<usize>,
    names: Pair<usize>,
    /// What each refers to, and what refers to it.
    references: Links,
    users: Links,
}

/// Links from parts to others.
struct Links {
    ends: Vec<usize>,
    all: Vec<usize>,
}

impl Links {
    fn new(links: impl Iterator<Item = impl Iterator<Item = usize>>) -> Self {
        let (mut ends, mut all) = (Vec::new(), Vec::new());
        for link in links {
            all.extend(link);
            ends.push(all.len());
        }
        Links { ends, all }
    }

    fn of(&self, part: usize) -> &[usize] {
        let begin = part.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.all[begin..self.ends[part]]
    }

    /// The reversed links.
    fn reversed(&self) -> Self {
        let mut all: Vec<(usize, usize)> = Vec::with_capacity(self.all.len());
        for part in 0..self.ends.len() {
            all.extend(self.of(part).iter().map(|to| (*to, part)));
        }
        all.sort_unstable();
        all.dedup();
        let ends = (0..self.ends.len()).map(|part| all.partition_point(|(to, _)| *to <= part));
        let ends = ends.collect();
        Links { ends, all: all.into_iter().map(|(_, part)| part).collect() }
    }
}

impl Parts {
    fn new(graphs: &Pair<Graph<'_>>) -> Self {
        let names = graphs.base.nodes.len();
        let head = names + graphs.base.names.len();
        let nodes = Pair { base: 0, head };
        let names = Pair { base: names, head: head + graphs.head.nodes.len() };
        let mut all: Vec<Vec<usize>> = Vec::new();
        for side in Side::BOTH {
            let place = |to: &To| match to {
                To::Name(name) => names[side] + name,
                To::Node(node) => nodes[side] + node,
            };
            let graph = &graphs[side];
            all.extend(graph.nodes.iter().map(|node| node.references.iter().map(place).collect()));
            let definitions = graph.names.iter().map(|name| &name.nodes);
            all.extend(definitions.map(|all| all.iter().map(|node| nodes[side] + node).collect()));
        }
        let references = Links::new(all.into_iter().map(Vec::into_iter));
        let users = references.reversed();
        Parts { nodes, names, references, users }
    }

    /// Distinguishes what can be distinguished, on both sides together: a number for each
    /// name, equal for those that can't be distinguished.
    fn refined(&self, graphs: &Pair<Graph<'_>>) -> Pair<Vec<usize>> {
        let count = self.references.ends.len();
        let (mut is_name, mut is_paired) = (vec![false; count], vec![false; count]);
        let mut own = vec![0; count];
        for side in Side::BOTH {
            let graph = &graphs[side];
            for (number, node) in graph.nodes.iter().enumerate() {
                own[self.nodes[side] + number] = node.own;
            }
            for (number, name) in graph.names.iter().enumerate() {
                let part = self.names[side] + number;
                (is_name[part], is_paired[part]) = (true, name.pair.is_some());
                own[part] = name.pair.map_or(name.written, |pair| hash(("pair", pair)));
            }
        }
        let mut colours = Colours::new(own);
        // The parts that may have to be distinguished from others of their colour. Those
        // without a newly distinguished reference have not changed.
        let mut open: Vec<usize> = (0..count).filter(|part| !is_paired[*part]).collect();
        while !open.is_empty() {
            let told = open.iter().map(|part| {
                let references = self.references.of(*part).iter().map(|to| colours.of[*to]);
                let mut references: Vec<usize> = references.collect();
                if is_name[*part] {
                    // Definitions have no order.
                    references.sort_unstable();
                }
                (colours.of[*part], hash(references), *part)
            });
            let changed = colours.tell_apart(told.collect());
            open.clear();
            open.extend(changed.iter().flat_map(|part| self.users.of(*part)));
            open.retain(|part| !is_paired[*part]);
            open.sort_unstable();
            open.dedup();
        }
        Pair::both(|side| {
            let begin = self.names[side];
            colours.of[begin..begin + graphs[side].names.len()].to_vec()
        })
    }
}

/// Numbers that distinguish parts.
struct Colours {
    of: Vec<usize>,
    /// The number of parts with each of them.
    counts: Vec<usize>,
}

impl Colours {
    /// Distinguishes parts by their own content.
    fn new(own: Vec<u64>) -> Self {
        let mut numbers: HashMap<u64, usize> = HashMap::new();
        let mut counts = Vec::new();
        let of = own.into_iter().map(|own| {
            let number = *numbers.entry(own).or_insert(counts.len());
            if number == counts.len() {
                counts.push(0);
            }
            counts[number] += 1;
            number
        });
        Colours { of: of.collect(), counts }
    }

    /// Splits colours: for each part, its colour is given and what distinguishes it now; the
    /// other parts of a colour keep it. Returns the parts whose colour has changed.
    fn tell_apart(&mut self, mut parts: Vec<(usize, u64, usize)>) -> Vec<usize> {
        parts.sort_unstable();
        let mut changed = Vec::new();
        for same in parts.chunk_by(|one, other| one.0 == other.0) {
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

/// Pairs of functions, by their numbers in the graphs.
type Pairs = Vec<Pair<usize>>;

/// Pairs functions without a counterpart if each side has exactly one for a key.
fn pair_off(
    graphs: &mut Pair<Graph<'_>>,
    pairs: &mut Pairs,
    key: impl Fn(&Graph<'_>, usize) -> Option<u64>,
) {
    for both in by_key(graphs, key).into_values() {
        if let (&[base], &[head]) = (&*both.base, &*both.head) {
            pair(graphs, pairs, Pair { base, head });
        }
    }
}

/// Pairs functions without a counterpart that have the same demangled name and to which
/// both functions of a pair refer at the same place, in the same code.
fn pair_same_callees(graphs: &mut Pair<Graph<'_>>, pairs: &mut Pairs) {
    let mut seen = HashSet::new();
    let mut done = 0;
    while let Some(callers) = pairs.get(done) {
        done += 1;
        let nodes = Pair::both(|side| &graphs[side].names[callers[side]].nodes);
        let mut open: Vec<_> = nodes.base.iter().copied().zip(nodes.head.iter().copied()).collect();
        let mut found = Vec::new();
        while let Some(both) = open.pop().filter(|_| nodes.base.len() == nodes.head.len()) {
            let (one, other) = (&graphs.base.nodes[both.0], &graphs.head.nodes[both.1]);
            if one.own != other.own || !seen.insert(both) {
                continue;
            }
            for to in one.references.iter().zip(&other.references) {
                match to {
                    (To::Node(base), To::Node(head)) => open.push((*base, *head)),
                    (To::Name(base), To::Name(head)) => {
                        found.push(Pair { base: *base, head: *head });
                    }
                    _ => {}
                }
            }
        }
        for both in found {
            let written = Pair::both(|side| graphs[side].unmatched(both[side]));
            if written.base.is_some() && written.base == written.head {
                pair(graphs, pairs, both);
            }
        }
    }
}

/// Pairs functions without a counterpart that have the same demangled name and to which
/// both functions of a pair refer, in order, if both refer to the same number of them.
fn pair_other_callees(graphs: &mut Pair<Graph<'_>>, pairs: &mut Pairs) {
    let mut done = 0;
    while let Some(callers) = pairs.get(done) {
        done += 1;
        let mut all: BTreeMap<u64, Pair<Vec<usize>>> = BTreeMap::new();
        for side in Side::BOTH {
            for name in graphs[side].callees(callers[side]) {
                all.entry(graphs[side].names[name].written).or_default()[side].push(name);
            }
        }
        pair_each(graphs, pairs, all);
    }
}

/// Pairs functions without a counterpart that have the same demangled name, in order, if
/// both sides have the same number of them.
fn pair_in_order(graphs: &mut Pair<Graph<'_>>, pairs: &mut Pairs) {
    let all = by_key(graphs, |graph, name| graph.unmatched(name));
    pair_each(graphs, pairs, all);
}

fn pair_each(
    graphs: &mut Pair<Graph<'_>>,
    pairs: &mut Pairs,
    all: BTreeMap<u64, Pair<Vec<usize>>>,
) {
    for both in all.into_values().filter(|both| both.base.len() == both.head.len()) {
        for (base, head) in both.base.into_iter().zip(both.head) {
            pair(graphs, pairs, Pair { base, head });
        }
    }
}

/// The functions that are in no pair, by a key.
fn by_key(
    graphs: &Pair<Graph<'_>>,
    key: impl Fn(&Graph<'_>, usize) -> Option<u64>,
) -> BTreeMap<u64, Pair<Vec<usize>>> {
    let mut all: BTreeMap<u64, Pair<Vec<usize>>> = BTreeMap::new();
    for side in Side::BOTH {
        let graph = &graphs[side];
        for name in (0..graph.names.len()).filter(|name| graph.names[*name].pair.is_none()) {
            if let Some(key) = key(graph, name) {
                all.entry(key).or_default()[side].push(name);
            }
        }
    }
    all
}

fn pair(graphs: &mut Pair<Graph<'_>>, pairs: &mut Pairs, both: Pair<usize>) {
    for side in Side::BOTH {
        let name = &mut graphs[side].names[both[side]];
        name.pair = Some(pairs.len());
        name.is_matched = true;
    }
    pairs.push(both);
}

fn hash(value: impl Hash) -> u64 {
    let mut state = DefaultHasher::new();
    value.hash(&mut state);
    state.finish()
}
