//! An ELF executable.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use object::read::elf::ProgramHeader;
use object::{
    LittleEndian, Object, ObjectKind, ObjectSection, ObjectSymbol, ObjectSymbolTable, Relocation,
    RelocationTarget, SymbolKind, elf,
};

use super::comparison::Objects;
use super::object_file::{
    Elf, ElfSection, is_code, is_function, is_loaded, is_root, name_of, shown,
};
use crate::model::side::{Pair, Side};

/// What an executable contains about itself.
#[derive(Debug)]
pub(super) struct ElfExecutable {
    /// Where it begins.
    pub(super) entry: u64,
    /// The addresses and lengths of its functions; empty if it was stripped.
    pub(super) functions: BTreeMap<String, Vec<(u64, u64)>>,
    /// What it may do without, and has not.
    lacking: BTreeSet<String>,
    /// How much the loader prepares before it begins, bytes.
    pub(super) prepared: u64,
    /// How much it prepares for each thread, bytes.
    of_thread: u64,
    /// What is in the sections that it goes through in order.
    collected: Vec<Word>,
}

/// The name under which a function is compared, and its length.
pub(super) type LinkedName<'n> = (&'n str, u64);

/// A word in a section.
#[derive(Debug)]
struct Word {
    section: String,
    /// What it points to: the name of a symbol, or else of a section.
    target: Option<String>,
    /// How far behind the symbol that is, or the value of a word that is no pointer.
    value: u64,
    /// Whether something else has the name of the symbol.
    is_ambiguous: bool,
}

/// The length of a word, bytes.
const WORD: usize = 8;

/// The search for a symbol by its name takes the loader as long as forty pointers, bytes.
const SEARCH: u64 = 320;

/// By how much the variables of a thread may differ in length, bytes: to copy so many takes far less
/// time than to start one.
const MOST_OF_THREAD: u64 = 1024;

/// The section with the positions of pointers, if these are in no relocations, and how many it has
/// at most for each of its words.
const PACKED_POINTERS: &str = ".relr.dyn";
const MOST_PACKED: u64 = 63;

impl ElfExecutable {
    /// `None` if its format is unknown.
    pub(super) fn read(content: &[u8]) -> Option<Self> {
        let file = Elf::parse(content).ok()?;
        let mut functions: BTreeMap<String, Vec<(u64, u64)>> = BTreeMap::new();
        for symbol in file.symbols().filter(is_function) {
            if let Some(name) = name_of(&symbol) {
                let name = name.split('@').next().unwrap_or_default().to_owned();
                functions.entry(name).or_default().push((symbol.address(), symbol.size()));
            }
        }
        let lacking = file.symbols().filter(|symbol| symbol.is_weak() && symbol.is_undefined());
        let segment = |kind| {
            let mut all = file.elf_program_headers().iter();
            let found = all.find(|one| one.p_type(LittleEndian) == kind);
            found.map_or((0, 0), |one| (one.p_vaddr(LittleEndian), one.p_memsz(LittleEndian)))
        };
        // What the loader writes to is mostly there. Variables have pointers, too.
        let (start, length) = segment(elf::PT_GNU_RELRO);
        let cost = |(at, relocation): (u64, Relocation)| match relocation.target() {
            RelocationTarget::Symbol(_) => SEARCH,
            _ if at.wrapping_sub(start) < length => 0,
            _ => WORD as u64,
        };
        let others: u64 = file.dynamic_relocations().into_iter().flatten().map(cost).sum();
        let packed = file.section_by_name(PACKED_POINTERS).map_or(0, |section| section.size());
        Some(ElfExecutable {
            entry: file.entry(),
            lacking: lacking.filter_map(|symbol| name_of(&symbol)).collect(),
            prepared: length + others + packed * MOST_PACKED,
            of_thread: segment(elf::PT_TLS).1,
            collected: collected(&file),
            functions,
        })
    }

    /// What differs of what no function has to be entered for.
    pub(super) fn other_start(sides: &Pair<Self>) -> Option<String> {
        let Pair { base, head } = sides.as_ref().map(|side| &side.collected);
        // Names that differ only in their hashes may have been exchanged.
        let is_alone = |all: &[Word], name: &String| {
            let names = all.iter().filter_map(|word| word.target.as_ref());
            names.filter(|other| *other != name).all(|other| shown(other) != shown(name))
        };
        let is_target = |one: &Option<String>, other: &Option<String>| match (one, other) {
            (Some(one), Some(other)) if one != other => {
                shown(one) == shown(other) && is_alone(base, one) && is_alone(head, other)
            }
            _ => one == other,
        };
        let same = base.iter().zip(head).take_while(|(one, other)| {
            (&one.section, one.value) == (&other.section, other.value)
                && !one.is_ambiguous
                && is_target(&one.target, &other.target)
        });
        let same = same.count();
        if let Some(Word { section, .. }) = base.get(same).or(head.get(same)) {
            return Some(format!("the order of what is linked into the section `{section}`"));
        }
        if sides.base.of_thread.abs_diff(sides.head.of_thread) > MOST_OF_THREAD {
            return Some("the length of the variables that each thread has".to_owned());
        }
        // Code can ask whether something has an address.
        let lacks = |side: Side| {
            let mut lacking = sides[side].lacking.iter();
            lacking.find(|name| sides[side.other()].functions.contains_key(*name))
        };
        Side::BOTH.into_iter().find_map(lacks).map(|name| format!("whether there is `{name}`"))
    }

    /// The addresses and names of its functions, except for those that belong to others.
    pub(super) fn linked<'n>(
        &'n self,
        objects: &'n Objects<'_>,
    ) -> BTreeMap<LinkedName<'n>, Vec<(u64, &'n str)>> {
        let mut all: BTreeMap<_, Vec<_>> = BTreeMap::new();
        for (name, places) in &self.functions {
            let Some(compared) = objects.compared(name) else { continue };
            for (address, length) in places {
                all.entry((compared, *length)).or_default().push((*address, &**name));
            }
        }
        all
    }
}

/// The words of the sections that a program goes through in order.
fn collected(file: &Elf<'_>) -> Vec<Word> {
    let mut pointers: HashMap<u64, (Option<String>, i64)> = HashMap::new();
    for (at, relocation) in file.dynamic_relocations().into_iter().flatten() {
        let name = match relocation.target() {
            RelocationTarget::Symbol(index) => {
                let symbols = file.dynamic_symbol_table();
                let symbol = symbols.and_then(|all| all.symbol_by_index(index).ok());
                symbol.and_then(|symbol| name_of(&symbol))
            }
            _ => None,
        };
        pointers.insert(at, (name, relocation.addend()));
    }
    // Without them, any word may be a pointer.
    let are_known =
        file.kind() == ObjectKind::Dynamic && file.section_by_name(PACKED_POINTERS).is_none();
    let mut symbols = Vec::new();
    let mut source = String::new();
    for symbol in file.symbols() {
        let Some(mut name) = name_of(&symbol) else { continue };
        match symbol.kind() {
            SymbolKind::File => source = name,
            SymbolKind::Text | SymbolKind::Data => {
                // Local functions of several files may have that name.
                if symbol.is_local() && shown(&name) == name {
                    name += &format!(" of {source}");
                }
                symbols.push((symbol.address(), symbol.address() + symbol.size(), name));
            }
            _ => {}
        }
    }
    symbols.sort_unstable();
    let named = |address: u64| {
        let before = symbols.partition_point(|(start, ..)| *start <= address);
        let (start, end, name) = &symbols[before.checked_sub(1)?];
        (address == *start || address < *end)
            .then(|| (Some((name.clone(), *start)), address - start))
    };
    let loaded = |address: u64| {
        let mut sections = file.sections().filter(is_loaded);
        let around = |one: &ElfSection<'_, '_>| one.address()..one.address() + one.size();
        let section = sections.find(|one| around(one).contains(&address))?;
        Some((Some((section.name().ok()?.to_owned(), section.address())), 0))
    };
    let mut words = Vec::new();
    let roots = file.sections().filter(|one| is_root(one) && !is_code(one));
    for section in roots {
        let at = (section.address()..).step_by(WORD);
        for (at, word) in at.zip(section.data().unwrap_or_default().chunks(WORD)) {
            let mut bytes = [0; WORD];
            bytes[..word.len()].copy_from_slice(word);
            let value = u64::from_le_bytes(bytes);
            let pointed = |to: u64| named(to).or_else(|| loaded(to)).unwrap_or((None, to));
            let (target, value) = match pointers.get(&at) {
                Some((Some(name), offset)) => (Some((name.clone(), at)), *offset as u64),
                Some((None, address)) => pointed(*address as u64),
                None if are_known => (None, value),
                None => pointed(value),
            };
            let is_ambiguous = target.as_ref().is_some_and(|(name, start)| {
                let mut others = symbols.iter().filter(|(other, ..)| other != start);
                shown(name) == *name && others.any(|(.., same)| same == name)
            });
            let section = section.name().unwrap_or_default().to_owned();
            let target = target.map(|(name, _)| name);
            words.push(Word { section, target, value, is_ambiguous });
        }
    }
    words
}
