//! Whether functions of the two sides are the same: their bytes, and everything to which they
//! refer.
//!
//! Two functions are the same if their bytes are, and each relocation of one means the same
//! as that of the other. What has a name is the same if the mangled name is, or one that is
//! declared the same; what has none,
//! especially a constant, if its own bytes and relocations are. Since constants may refer to
//! each other in cycles, two count as the same until a difference is found (a bisimulation:
//! D. Sangiorgi, "Introduction to Bisimulation and Coinduction", 2012, ch. 1).

use std::collections::{BTreeSet, HashMap, HashSet};

use super::object_file::{Locals, Named, ObjectFile, Piece, Rank, Reference, Referent, shown};
use crate::model::side::{Pair, Side};
use crate::workspace::identical::MovedLocation;

/// Functions whose names differ between the sides: the name under which they are compared,
/// by their own name.
pub(super) type Renamed = HashMap<String, String>;

/// The prefix of the names of variables that the compiler generates for the toolchain's libraries.
const OF_RUSTC: &str = "__rustc::";

/// The object files of one side.
pub(super) struct Objects<'d> {
    pub(super) files: Vec<ObjectFile<'d>>,
    /// The functions by the names under which they are compared.
    pub(super) functions: HashMap<String, Vec<Named>>,
    /// The names of those that are local to their object files.
    locals: HashSet<String>,
    /// The constants and variables to which other files can refer.
    data: HashMap<String, Vec<Named>>,
    /// The first definition of variables that have several, of which linkers keep one.
    firsts: HashMap<Piece, Piece>,
    renamed: Renamed,
}

impl<'d> Objects<'d> {
    pub(super) fn new(mut files: Vec<ObjectFile<'d>>, renamed: Renamed) -> Self {
        let mut functions: HashMap<String, Vec<Named>> = HashMap::new();
        let mut data: HashMap<String, Vec<Named>> = HashMap::new();
        let (mut firsts, mut locals) = (HashMap::new(), HashSet::new());
        let common = |name: &str| renamed.get(name).map_or(name, String::as_str).to_owned();
        for (number, file) in files.iter_mut().enumerate() {
            file.number = number;
            // What is local to its file belongs to the functions that refer to it, unless its
            // name is unique.
            for function in file.functions() {
                match function.is_local {
                    true => drop(locals.insert(function.name)),
                    false => functions.entry(common(&function.name)).or_default().push(function),
                }
            }
            for constant in file.data() {
                let all = data.entry(common(&constant.name)).or_default();
                if let Some(first) = all.first() {
                    firsts.insert(constant.piece, first.piece);
                }
                all.push(constant);
            }
        }
        Objects { files, functions, locals, data, firsts, renamed }
    }

    /// The same with other names for functions.
    pub(super) fn renamed(self, names: Renamed) -> Self {
        if names.is_empty() { self } else { Objects::new(self.files, names) }
    }

    /// The name under which a linked function is compared. `None` if it belongs to the
    /// functions that refer to it.
    pub(super) fn compared<'n>(&'n self, name: &'n str) -> Option<&'n str> {
        let common = self.renamed.get(name).map_or(name, String::as_str);
        (self.functions.contains_key(common) || !self.locals.contains(name)).then_some(common)
    }

    /// Whether the crate of a function is in several object files, besides one for its allocator.
    pub(super) fn has_units(&self, name: &str) -> bool {
        let definitions = self.functions.get(name).into_iter().flatten();
        let origins = definitions.map(|one| self.files[one.piece.file].origin());
        let units = |origin| self.files.iter().filter(|file| file.origin() == origin).count();
        origins.into_iter().any(|origin| units(origin) > 2)
    }

    /// What a part consists of: its bytes, and its relocations with their targets.
    pub(super) fn content(&self, piece: Piece, locals: Locals) -> Option<PieceContent<'d>> {
        let file = &self.files[piece.file];
        let mut references = Vec::new();
        for (at, kind, target) in file.references(piece, locals)? {
            let Referent::Name(name, offset) = target else {
                references.push((at, kind, target));
                continue;
            };
            let name = self.renamed.get(&name).cloned().unwrap_or(name);
            // They count as parts of what refers to them; linkers take one of them.
            let functions = self.functions.get(&name).filter(|_| offset != 0);
            match self.data.get(&name).or(functions) {
                None => references.push((at, kind, Referent::Name(name, offset))),
                Some(all) => references.extend(all.iter().map(|named| {
                    let offset = offset.saturating_add(named.offset());
                    (at, kind, Referent::Piece(named.piece, offset))
                })),
            }
        }
        let (about, bytes) = ((piece.length(), file.alignment(piece)?), file.bytes(piece)?);
        Some(PieceContent { about, bytes, references })
    }
}

/// What a part consists of.
pub(super) struct PieceContent<'d> {
    /// Its length and its alignment.
    pub(super) about: (u64, u64),
    pub(super) bytes: &'d [u8],
    pub(super) references: Vec<Reference<'d>>,
}

/// Whether a location in a source only moved with its line.
type Explains<'a> = dyn Fn(&MovedLocation) -> bool + 'a;

/// The comparison of two sides.
pub(super) struct FunctionComparison<'a, 'd> {
    sides: Pair<&'a Objects<'d>>,
    explains: &'a Explains<'a>,
    locals: Locals,
    /// What has been found to be the same.
    same: HashSet<(Piece, Piece)>,
    /// The variable of the other side to which each variable corresponds, if known, by where they
    /// begin. What is written to one is read from no other, so it is at most one.
    variables: Pair<HashMap<Rank, Rank>>,
    /// How the functions of Rust unwind that are the same otherwise, where either is known.
    unwinding: Vec<Pair<Option<Piece>>>,
}

impl<'a, 'd> FunctionComparison<'a, 'd> {
    /// `explains` decides which locations count as the same.
    pub(super) fn new(sides: Pair<&'a Objects<'d>>, explains: &'a Explains<'a>) -> Self {
        FunctionComparison {
            sides,
            explains,
            locals: Locals::Parts,
            same: HashSet::new(),
            variables: Pair::default(),
            unwinding: Vec::new(),
        }
    }

    /// The names of the compared functions that differ between the sides.
    pub(super) fn changed_functions(&mut self) -> Vec<&'a String> {
        // Which variables are matched must not depend on chance.
        let names: BTreeSet<&String> =
            Side::BOTH.iter().flat_map(|side| self.sides[*side].functions.keys()).collect();
        names.into_iter().filter(|name| !self.is_same_function(name)).collect()
    }

    fn is_same_function(&mut self, name: &str) -> bool {
        let of = |side: &'a Objects<'d>| side.functions.get(name).map_or(&[][..], |all| all);
        self.are_all_same(of(self.sides.base), of(self.sides.head))
    }

    /// Those of the functions that differ which do so only by local functions that they refer to.
    pub(super) fn same_but_for_locals<'n>(&mut self, changed: &[&'n String]) -> Vec<&'n String> {
        self.locals = Locals::Functions;
        changed.iter().filter(|name| self.is_same_function(name)).copied().collect()
    }

    /// The functions among `changed` to which such a function refers.
    pub(super) fn referred_to<'n>(
        &self,
        side: Side,
        name: &str,
        changed: &HashSet<&'n str>,
    ) -> BTreeSet<&'n str> {
        let objects = self.sides[side];
        let definitions = objects.functions.get(name).into_iter().flatten();
        let mut open: Vec<Piece> = definitions.map(|named| named.piece).collect();
        let (mut seen, mut found) = (HashSet::new(), BTreeSet::new());
        while let Some(place) = open.pop() {
            if !seen.insert(place) {
                continue;
            }
            let content = objects.content(place, self.locals);
            for (_, _, referent) in content.into_iter().flat_map(|content| content.references) {
                match referent {
                    Referent::Piece(piece, _) => open.push(piece),
                    Referent::Name(name, _) => found.extend(changed.get(&*name)),
                    Referent::Entry(..) => {}
                }
            }
        }
        found
    }

    /// Whether each of the base's is the same as each of the head's, and there are some: a
    /// reference by name may mean any of them. Hundreds of files may define the same, so each is
    /// compared with the first of the other side only.
    fn are_all_same(&mut self, base: &[Named], head: &[Named]) -> bool {
        let about = |named: &Named| (named.offset(), named.is_weak);
        let (Some(first), Some(other_first)) = (base.first(), head.first()) else { return false };
        let with_first = base.iter().map(|one| (one, other_first));
        let mut pairs = with_first.chain(head.iter().skip(1).map(|other| (first, other)));
        pairs.all(|(one, other)| about(one) == about(other) && self.is_same(one.piece, other.piece))
    }

    /// What else differs between the sides and could change what any function does. `others`
    /// are the names in the files that both sides have.
    pub(super) fn other_change(&mut self, others: &HashSet<String>) -> Option<String> {
        let Pair { base, head } = self.sides;
        // In the order in which they are linked, since programs may go through them in order.
        let roots = self
            .sides
            .map(|side| side.files.iter().flat_map(ObjectFile::roots).collect::<Vec<_>>());
        let both = roots.base.iter().zip(&roots.head);
        let same = both.take_while(|((name, one), (other_name, other))| {
            name == other_name && self.is_same(*one, *other)
        });
        let same = same.count();
        if let Some((name, _)) = roots.base.get(same).or(roots.head.get(same)) {
            return Some(format!("the section `{name}`"));
        }
        let values = self.sides.map(|side| -> BTreeSet<_> {
            side.files.iter().flat_map(ObjectFile::values).collect()
        });
        if let Some((name, _)) = values.base.symmetric_difference(&values.head).next() {
            return Some(format!("the value of `{name}`"));
        }
        // They may be used in files that are the same on both sides.
        let all = base.data.keys().chain(head.data.keys());
        let is_used = |name: &&String| {
            let mut definitions = [base, head].into_iter().filter_map(|side| side.data.get(*name));
            definitions.any(|all| all.iter().any(|one| one.is_exported))
                || others.contains(*name)
                || shown(name).starts_with(OF_RUSTC)
        };
        let used: BTreeSet<&String> = all.filter(is_used).collect();
        let differs =
            used.into_iter().find(|name| match (base.data.get(*name), head.data.get(*name)) {
                (Some(base), Some(head)) => !self.are_all_same(base, head),
                _ => true,
            });
        differs.map(|name| format!("the variable `{name}`"))
    }

    /// Whether a function of Rust that is the same otherwise unwinds differently. That matters
    /// only to programs that unwind.
    pub(super) fn other_unwinding(&mut self) -> bool {
        while let Some(tables) = self.unwinding.pop() {
            let is_same = match (tables.base, tables.head) {
                (Some(base), Some(head)) => self.is_same(base, head),
                _ => false,
            };
            if !is_same {
                return true;
            }
        }
        false
    }

    fn is_same(&mut self, base: Piece, head: Piece) -> bool {
        let mut assumed = HashSet::new();
        let mut variables = Pair::default();
        let mut open = vec![(base, head)];
        while let Some(both) = open.pop() {
            if self.same.contains(&both) || !assumed.insert(both) {
                continue;
            }
            if !self.are_no_other_variables(both, &mut variables) {
                return false;
            }
            match self.depends_on(both) {
                Some(more) => open.extend(more),
                None => return false,
            }
        }
        let both = assumed.iter().map(|(base, head)| Pair {
            base: self.sides.base.files[base.file].rust_unwinding(*base),
            head: self.sides.head.files[head.file].rust_unwinding(*head),
        });
        self.unwinding.extend(both.filter(|both| *both != Pair::default()));
        self.same.extend(assumed);
        for side in Side::BOTH {
            self.variables[side].extend(std::mem::take(&mut variables[side]));
        }
        true
    }

    /// Whether two places have no variables, or ones with the same names that can
    /// correspond; `assumed` are those that do from now on.
    fn are_no_other_variables(
        &self,
        (base, head): (Piece, Piece),
        assumed: &mut Pair<HashMap<Rank, Rank>>,
    ) -> bool {
        let of = |side: Side, piece: Piece| {
            let Objects { files, firsts, .. } = self.sides[side];
            let names = files[piece.file].variable(piece)?;
            Some((firsts.get(&piece).unwrap_or(&piece).rank(), names))
        };
        let ((base, names), (head, other_names)) =
            match (of(Side::Base, base), of(Side::Head, head)) {
                (None, None) => return true,
                (Some(base), Some(head)) => (base, head),
                _ => return false,
            };
        let both = Pair { base, head };
        let is_free = |side: Side| {
            let known = self.variables[side].get(&both[side]).or(assumed[side].get(&both[side]));
            known.is_none_or(|known| *known == both[side.other()])
        };
        let are_free = names == other_names && Side::BOTH.into_iter().all(is_free);
        if are_free {
            assumed.base.insert(base, head);
            assumed.head.insert(head, base);
        }
        are_free
    }

    /// Whether both are the location of the same code in a source.
    fn is_moved(&self, (base, head): (Piece, Piece)) -> bool {
        let location =
            |side: Side, piece: Piece| self.sides[side].files[piece.file].location(piece);
        let both = location(Side::Base, base).zip(location(Side::Head, head));
        both.is_some_and(|((source, base), (other, head))| {
            source == other && (self.explains)(&MovedLocation { source, base, head })
        })
    }

    /// The parts that also have to be the same for two parts to be the same; `None` if they differ.
    fn depends_on(&self, places: (Piece, Piece)) -> Option<Vec<(Piece, Piece)>> {
        let base = self.sides.base.content(places.0, self.locals)?;
        let head = self.sides.head.content(places.1, self.locals)?;
        if base.about != head.about
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
                (Referent::Piece(one, from), Referent::Piece(other, to)) => {
                    more.push((one, other));
                    from == to
                }
                (one, other) => one == other,
            };
            if at != other_at || kind != other_kind || !is_same {
                return None;
            }
        }
        Some(more)
    }
}
