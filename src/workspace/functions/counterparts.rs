//! Which functions of the two sides are each other's although linkers know them by different
//! names.
//!
//! A hash in the name of a function stands for its package's version and path, and for those
//! of the packages that this depends on. Where such a thing changes, all names do. Functions
//! that people write alike are told apart by what they do, since a generic function is
//! written the same whatever it was made for: first by their own bytes and relocations, then
//! by what these refer to, and so on until nothing more is told apart (partition refinement:
//! R. Paige and R. E. Tarjan, "Three partition refinement algorithms", SIAM J. Comput. 16,
//! 1987). Functions may refer to each other in circles. Those that differ are paired by who
//! refers to them: what two paired functions call at the same place is a pair, too.
//!
//! What is found here is compared like any functions of one name, with all that the names
//! mean. So a wrong guess makes functions differ that do not, and never the reverse.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};

use super::comparison::{Meaning, Objects, Place, Renamed};
use super::object_file::shown;
use crate::model::side::{Pair, Side};

/// How often what is told apart is told apart further, at most.
const MOST_ROUNDS: usize = 500;

/// How often functions are paired that differ, at most.
const MOST_PASSES: usize = 20;

/// Names for the functions that have other names on the other side, each shared with their
/// counterparts there. `others` are the names in the files that both sides have: what these
/// call is called so on both.
pub(super) fn counterparts(sides: Pair<&Objects<'_>>, others: &HashSet<String>) -> Pair<Renamed> {
    let mut graphs = Pair::both(|side| Graph::new(sides[side], sides[side.other()], others));
    if Side::BOTH.into_iter().any(|side| graphs[side].names.is_empty()) {
        return Pair::default();
    }
    let mut pairs = Vec::new();
    pair_off(&mut graphs, &mut pairs, |graph, name| Some(graph.names[name].written));
    let mut colours = refined(&graphs);
    for _ in 0..MOST_PASSES {
        let before = pairs.len();
        for side in Side::BOTH {
            let known: HashSet<u64> = graphs[side.other()].colours_of_names(&colours[side.other()]);
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
        colours = refined(&graphs);
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
    /// How people write it, with the crate that it was compiled with.
    written: u64,
    /// Its definitions.
    nodes: Vec<usize>,
    /// The number of the pair that it belongs to whatever it does.
    pair: Option<usize>,
    /// Whether a function of the other side does the same.
    is_matched: bool,
}

/// A function or a constant.
struct Node {
    /// What it is itself.
    own: u64,
    /// What it refers to, in order.
    references: Vec<To>,
}

#[derive(Clone, Copy)]
enum To {
    Name(usize),
    Node(usize),
}

/// What each node and each name is, as far as that is known.
struct Colours {
    nodes: Vec<u64>,
    names: Vec<u64>,
}

impl<'o> Graph<'o> {
    fn new(objects: &'o Objects<'_>, other: &Objects<'_>, others: &HashSet<String>) -> Self {
        let is_own = |name: &str| {
            !other.functions.contains_key(name) && !others.contains(name) && shown(name) != *name
        };
        let mut own: Vec<_> =
            objects.functions.iter().filter(|(name, _)| is_own(name.as_str())).collect();
        // As they are in the files, which pairs in order, too.
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

    /// What is told apart by looking once more at what each refers to.
    fn next(&self, colours: &Colours) -> Colours {
        let of = |to: &To| match to {
            To::Name(name) => colours.names[*name],
            To::Node(node) => colours.nodes[*node],
        };
        let nodes = self.nodes.iter().map(|node| {
            let mut state = DefaultHasher::new();
            node.own.hash(&mut state);
            node.references.iter().for_each(|to| of(to).hash(&mut state));
            state.finish()
        });
        self.with_names(nodes.collect())
    }

    fn first(&self) -> Colours {
        self.with_names(self.nodes.iter().map(|node| node.own).collect())
    }

    fn with_names(&self, nodes: Vec<u64>) -> Colours {
        let names = self.names.iter().map(|name| match name.pair {
            Some(pair) => hash(("pair", pair)),
            None => {
                let mut all: Vec<u64> = name.nodes.iter().map(|node| nodes[*node]).collect();
                all.sort_unstable();
                hash((name.written, all))
            }
        });
        Colours { names: names.collect(), nodes }
    }

    fn colours_of_names(&self, colours: &Colours) -> HashSet<u64> {
        colours.names.iter().copied().collect()
    }

    fn find_matched(&mut self, colours: &Colours, known: &HashSet<u64>) {
        for (name, colour) in self.names.iter_mut().zip(&colours.names) {
            name.is_matched = known.contains(colour);
        }
    }

    /// How a function is written that no function of the other side is the same as.
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
        while let Some(to) = open.pop() {
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

    /// What a function is itself.
    fn own(&self, name: usize) -> Vec<u64> {
        self.names[name].nodes.iter().map(|node| self.nodes[*node].own).collect()
    }

    fn renamed(&self, colours: &Colours) -> Renamed {
        let names = self.names.iter().zip(&colours.names);
        let renamed = names.map(|(name, colour)| {
            // No name that a linker knows is written so.
            let new = format!("{} {:016x} {colour:016x}", shown(name.name), name.written);
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
        file.variable(piece).map(|(_, names)| names).hash(&mut own);
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

/// What can be told apart on both sides at once.
fn refined(graphs: &Pair<Graph<'_>>) -> Pair<Colours> {
    let count = |colours: &Pair<Colours>| {
        let all = Side::BOTH.into_iter().flat_map(|side| &colours[side].nodes);
        all.collect::<HashSet<_>>().len()
    };
    let mut colours = graphs.as_ref().map(Graph::first);
    let mut known = count(&colours);
    for _ in 0..MOST_ROUNDS {
        colours = Pair::both(|side| graphs[side].next(&colours[side]));
        let now = count(&colours);
        if now == known {
            break;
        }
        known = now;
    }
    colours
}

/// Pairs of functions, by their numbers in the graphs.
type Pairs = Vec<Pair<usize>>;

/// Pairs functions without a counterpart of which each side has one under a key.
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

/// Pairs functions without a counterpart that are written alike and to which two of a pair
/// refer at the same place, in the same code.
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

/// Pairs functions without a counterpart that are written alike and to which two of a pair
/// refer, where both refer to as many, in their order.
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

/// Pairs functions without a counterpart that are written alike, where both sides have as
/// many, in their order.
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
