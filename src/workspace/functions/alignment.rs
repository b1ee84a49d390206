//! Executables in which what both sides have is at the same addresses.
//!
//! The files that differ between the sides are copied. In the copies, each section that both
//! sides have gets a symbol by which the linker orders it, the same on both sides; all others
//! get the name of a place of their own. What comes from files that both sides have is linked
//! behind the former, in the same order anyway, unless one side leaves some of it out.
//!
//! Whether two sections are the same is a question of what to put at one address, not of
//! what to measure: nothing depends on it but noise. So their bytes are enough, or their name
//! and length.

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};

use object::read::elf::SectionHeader;
use object::{
    LittleEndian, Object, ObjectSection, ObjectSymbol, RelocationTarget, SymbolKind, elf,
};

use super::labelled::{Change, archive, labelled};
use super::linked::{RUSTCS, content_of_executable, kept_files, links, read, with_base_paths};
use super::object_file::{
    Elf, ElfSection, hash, is_among, is_loaded, members, name_of, object_file, shown,
};
use crate::exec::program::{AlignedLink, Program, Relink};
use crate::model::side::{Pair, Side};

/// The prefix of the names of the symbols that are added.
const LABEL: &str = "__cbdr.";

/// A cache line, bytes. Functions that differ begin at one, on both sides.
const LINE: u64 = 64;

/// A page of memory, bytes.
const PAGE: u64 = 4096;

/// The first address that is set: behind what linkers put at the beginning.
const FIRST: u64 = 0x30_0000;

/// The kinds of sections that are ordered: the output section with their address, and where
/// they go if they differ, in the order of the addresses.
const PLACES: [(&str, &str); 5] = [
    (".rodata", ".rodata_differs"),
    (".text", ".text_differs"),
    (".data.rel.ro", ".data_differs"),
    (".data", ".data_differs"),
    (".bss", ".bss_differs"),
];

/// Where constants go that linkers merge, of the files that differ.
const MERGED: &str = ".rodata_merged";

/// What both sides are linked from, to be aligned.
#[derive(Debug)]
pub(crate) struct Alignment {
    files: Pair<Vec<DifferentFile>>,
    /// The sections of these files.
    sections: Pair<Vec<Section>>,
    /// The sections that both sides have.
    both: Vec<Pair<usize>>,
    /// The symbols of other files that are linked on both sides, in order, if needed.
    shared: Vec<String>,
    addresses: Vec<(&'static str, u64)>,
}

/// A file that only one side has.
#[derive(Debug)]
struct DifferentFile {
    path: PathBuf,
    /// The object files in it.
    objects: Vec<Vec<u8>>,
    is_archive: bool,
}

/// A section of an object file that can be placed.
#[derive(Debug)]
struct Section {
    /// The numbers of the file and of the object file in it, and the index of the section.
    at: (usize, usize, usize),
    /// The number of its kind; `None` if its constants are merged.
    kind: Option<usize>,
    /// The mangled name of what is in it.
    name: Option<String>,
    length: u64,
    alignment: u64,
    /// Of its bytes, and of the names it refers to.
    hash: u64,
}

impl Alignment {
    /// Reads what two programs were linked from.
    ///
    /// # Errors
    /// Why they can't be aligned.
    pub(crate) fn of(programs: &Pair<Program>) -> Result<Self, String> {
        let links = links(programs)?;
        for link in [links.base, links.head] {
            link.can_align()?;
        }
        let files = Pair::try_both(|side| different_files(links[side], links[side.other()]))?;
        let plain = |content: &[u8]| with_base_paths(content.to_vec(), programs);
        let sections = files.as_ref().map(|files| sections_of(files, plain));
        let both = matched(&sections);
        let executables = Pair::try_both(|side| content_of_executable(&programs[side]))?;
        let loaded = executables.map(|content| loaded_bytes(&content));
        let addresses = addresses(loaded.base.max(loaded.head));
        Ok(Alignment { files, sections, both, shared: Vec::new(), addresses })
    }

    /// Writes the copies of a side's files, and the order, into a folder.
    ///
    /// # Errors
    /// What could not be written.
    pub(crate) fn write(&self, side: Side, folder: &Path) -> Result<AlignedLink, String> {
        let mut changes: HashMap<(usize, usize), BTreeMap<usize, Change>> = HashMap::new();
        let ranks = self.both.iter().enumerate().map(|(rank, both)| (both[side], rank));
        let ranks: HashMap<usize, usize> = ranks.collect();
        for (number, section) in self.sections[side].iter().enumerate() {
            let (file, object, index) = section.at;
            let change = match (section.kind, ranks.get(&number)) {
                (Some(_), Some(rank)) => Change::Label(format!("{LABEL}{rank}")),
                (Some(kind), None) => {
                    let alignment = if PLACES[kind].0 == ".text" { LINE } else { 1 };
                    Change::Rename(PLACES[kind].1, alignment)
                }
                (None, _) => Change::Rename(MERGED, 1),
            };
            changes.entry((file, object)).or_default().insert(index, change);
        }
        let unwritten = |path: &Path| {
            let path = path.display().to_string();
            move |error| format!("could not write `{path}`: {error}")
        };
        fs_err::create_dir_all(folder).map_err(unwritten(folder))?;
        let mut replaced = Vec::new();
        for (number, file) in self.files[side].iter().enumerate() {
            let relabelled = |(object, content): (usize, &Vec<u8>)| {
                let changes = changes.get(&(number, object));
                let changed = changes.and_then(|changes| labelled(content, changes));
                changed.unwrap_or_else(|| content.clone())
            };
            let mut objects = file.objects.iter().enumerate().map(relabelled);
            let (ending, content) = match file.is_archive {
                true => ("a", archive(&objects.collect::<Vec<_>>())),
                false => ("o", objects.next_back().unwrap_or_default()),
            };
            let to = folder.join(format!("{number}.{ending}"));
            fs_err::write(&to, content).map_err(unwritten(&to))?;
            replaced.push((file.path.clone(), to));
        }
        let labels = (0..self.both.len()).map(|rank| format!("{LABEL}{rank}\n"));
        let shared = self.shared.iter().map(|name| format!("{name}\n"));
        let order = folder.join("order");
        fs_err::write(&order, labels.chain(shared).collect::<String>())
            .map_err(unwritten(&order))?;
        Ok(AlignedLink { replaced, order, addresses: self.addresses.clone() })
    }

    /// Compares the linked executables: which share of the code that both have is at the same
    /// addresses. Leaves out of the common order what only one side has linked, and returns
    /// whether that was needed: if so, both should be linked anew.
    ///
    /// # Errors
    /// Why they are not what was asked for.
    pub(crate) fn check(&mut self, executables: Pair<&Path>) -> Result<(f64, bool), String> {
        let linked = Pair::try_both(|side| {
            Linked::read(&read(executables[side], None)?)
                .ok_or_else(|| "the linked executable has an unknown format".to_owned())
        })?;
        for side in Side::BOTH {
            let is_placed = |(name, at): &(&'static str, u64)| {
                linked[side].sections.get(*name).is_none_or(|found| found == at)
            };
            if let Some((name, _)) = self.addresses.iter().find(|one| !is_placed(one)) {
                return Err(format!("the linker put the section `{name}` elsewhere"));
            }
        }
        let has = |side: Side, rank: usize| linked[side].labels.contains(&rank);
        let mut ranks = 0..;
        let before = self.both.len();
        self.both.retain(|_| {
            let rank = ranks.next().unwrap_or_default();
            has(Side::Base, rank) == has(Side::Head, rank)
        });
        let share = share_at_same_addresses(&linked);
        let mut again = self.both.len() != before;
        if share < 1.0 && self.shared.is_empty() {
            self.shared = common_names(&linked);
            again = true;
        }
        Ok((share, again))
    }
}

/// The files that the other side does not have, of those that the linker is called with.
fn different_files(link: &Relink, other: &Relink) -> Result<Vec<DifferentFile>, String> {
    let others: BTreeSet<_> = kept_files(other).map(|input| &input.sha256).collect();
    let words: BTreeSet<&Path> = link.command.argv.iter().map(Path::new).collect();
    let mut all = Vec::new();
    for input in kept_files(link).filter(|input| !others.contains(&input.sha256)) {
        let is_rustcs = RUSTCS.iter().any(|end| input.path.to_string_lossy().ends_with(end));
        if !is_rustcs || !words.contains(&*input.path) {
            continue;
        }
        let content = read(&input.path, input.sha256.as_deref())?;
        let mut objects = members(&content);
        let is_archive = objects != [&*content];
        objects.retain(|object| !is_archive || object_file(object).is_some());
        let objects = objects.into_iter().map(<[u8]>::to_vec).collect();
        all.push(DifferentFile { path: input.path.clone(), objects, is_archive });
    }
    Ok(all)
}

/// The sections of files that can be placed, in the order in which they are linked. They
/// are compared by what `plain` makes of their file.
fn sections_of(files: &[DifferentFile], plain: impl Fn(&[u8]) -> Vec<u8>) -> Vec<Section> {
    let mut all = Vec::new();
    for (file, different) in files.iter().enumerate() {
        for (number, content) in different.objects.iter().enumerate() {
            let content = plain(content);
            let Some(object) = object_file(&content) else { continue };
            let mut names: HashMap<usize, (u64, String)> = HashMap::new();
            for symbol in object.symbols().filter(|one| one.kind() != SymbolKind::Section) {
                let Some(section) = symbol.section_index() else { continue };
                let Some(name) = name_of(&symbol).filter(|name| !name.is_empty()) else { continue };
                let first = names.entry(section.0).or_insert((symbol.address(), name.clone()));
                if symbol.address() < first.0 {
                    *first = (symbol.address(), name);
                }
            }
            for section in object.sections() {
                let Some(kind) = kind(&section) else { continue };
                all.push(Section {
                    at: (file, number, section.index().0),
                    kind,
                    name: names.remove(&section.index().0).map(|(_, name)| name),
                    length: section.size(),
                    alignment: section.align(),
                    hash: hash_of(&object, &section),
                });
            }
        }
    }
    all
}

/// The kind of a section that can be placed, `Some(None)` if its constants are merged.
fn kind(section: &ElfSection<'_, '_>) -> Option<Option<usize>> {
    let header = section.elf_section_header();
    let flags = header.sh_flags(LittleEndian);
    let is_plain = matches!(header.sh_type(LittleEndian), elf::SHT_PROGBITS | elf::SHT_NOBITS);
    let others = [elf::SHF_GROUP, elf::SHF_TLS, elf::SHF_LINK_ORDER];
    if !is_loaded(section) || !is_plain || others.iter().any(|flag| flags.contains(*flag)) {
        return None;
    }
    let kind = PLACES.iter().position(|(name, _)| is_among(section, name))?;
    let is_merged = flags.contains(elf::SHF_MERGE);
    match is_merged && PLACES[kind].0 != ".rodata" {
        true => None,
        false => Some((!is_merged).then_some(kind)),
    }
}

/// A hash of the bytes of a section, and of what it refers to, by name or kind.
fn hash_of(file: &Elf<'_>, section: &ElfSection<'_, '_>) -> u64 {
    let mut hasher = DefaultHasher::new();
    section.data().unwrap_or_default().hash(&mut hasher);
    for (at, relocation) in section.relocations() {
        (at, format!("{:?}", relocation.flags())).hash(&mut hasher);
        let RelocationTarget::Symbol(symbol) = relocation.target() else { continue };
        let Ok(symbol) = file.symbol_by_index(symbol) else { continue };
        match name_of(&symbol).filter(|name| !name.is_empty()) {
            Some(name) => shown(&name).hash(&mut hasher),
            None => {
                let target = symbol.section_index();
                let target = target.and_then(|index| file.section_by_index(index).ok());
                let target = target.filter(|target| kind(target).flatten().is_some());
                target.and_then(|target| target.data().ok()).hash(&mut hasher);
            }
        }
    }
    hasher.finish()
}

/// The sections that both sides have, in the order of the base's.
fn matched(sections: &Pair<Vec<Section>>) -> Vec<Pair<usize>> {
    let about = |one: &Section| (one.kind, one.length, one.alignment);
    let demangled = |one: &Section| one.name.as_ref().map(|name| shown(name));
    type KeyOf<'a> = &'a dyn Fn(&Section) -> Option<u64>;
    let keys: [KeyOf<'_>; 3] = [
        &|one| Some(hash(&(about(one), one.hash, &one.name))),
        &|one| Some(hash(&(about(one), one.hash, demangled(one)))),
        &|one| Some(hash(&(about(one), demangled(one)?))),
    ];
    let (mut of_head, mut taken) = (BTreeMap::new(), BTreeSet::new());
    let placed = sections.as_ref().map(|all| {
        let all = all.iter().enumerate();
        all.filter(|(_, section)| section.kind.is_some()).collect::<Vec<_>>()
    });
    for key in keys {
        let mut open: HashMap<u64, VecDeque<usize>> = HashMap::new();
        for (number, section) in placed.head.iter().filter(|(number, _)| !taken.contains(number)) {
            if let Some(key) = key(section) {
                open.entry(key).or_default().push_back(*number);
            }
        }
        for (number, section) in &placed.base {
            if !of_head.contains_key(number)
                && let Some(found) = key(section).and_then(|key| open.get_mut(&key)?.pop_front())
            {
                taken.insert(found);
                of_head.insert(*number, found);
            }
        }
    }
    of_head.into_iter().map(|(base, head)| Pair { base, head }).collect()
}

/// How much of an executable's file is loaded.
fn loaded_bytes(content: &[u8]) -> u64 {
    let Ok(file) = Elf::parse(content) else { return 0 };
    let loaded = file.sections().filter(is_loaded).filter_map(|section| section.data().ok());
    loaded.map(|data| data.len() as u64).sum()
}

/// Addresses with room for sections of executables of which so much is loaded. What is zero takes
/// no room, since it is last.
fn addresses(loaded: u64) -> Vec<(&'static str, u64)> {
    let room = (loaded + loaded / 4 + 16 * PAGE).next_multiple_of(PAGE);
    let names = [".rodata", MERGED, ".text", ".data.rel.ro", ".got", ".data", ".bss"];
    names.into_iter().zip((FIRST..).step_by(room as usize)).collect()
}

/// What is where in a linked executable.
struct Linked {
    sections: HashMap<String, u64>,
    /// The numbers of the added symbols.
    labels: BTreeSet<usize>,
    /// The names of functions and data, with address and length, by address.
    symbols: Vec<(u64, u64, String, bool)>,
}

impl Linked {
    fn read(content: &[u8]) -> Option<Self> {
        let file = Elf::parse(content).ok()?;
        let sections = file.sections().filter(is_loaded);
        let sections =
            sections.filter_map(|one| Some((one.name().ok()?.to_owned(), one.address())));
        let mut linked =
            Linked { sections: sections.collect(), labels: BTreeSet::new(), symbols: Vec::new() };
        for symbol in file.symbols().filter(|one| one.section_index().is_some()) {
            let Some(name) = name_of(&symbol) else { continue };
            if let Some(rank) = name.strip_prefix(LABEL) {
                linked.labels.extend(rank.parse::<usize>());
            } else if matches!(symbol.kind(), SymbolKind::Text | SymbolKind::Data)
                && symbol.size() > 0
            {
                let is_code = symbol.kind() == SymbolKind::Text;
                linked.symbols.push((symbol.address(), symbol.size(), name, is_code));
            }
        }
        linked.symbols.sort_unstable();
        Some(linked)
    }
}

/// The share of the code that both executables have which is at the same addresses.
fn share_at_same_addresses(linked: &Pair<Linked>) -> f64 {
    let all = linked.as_ref().map(|linked| {
        let mut all: HashMap<(String, u64), BTreeSet<u64>> = HashMap::new();
        for (address, length, name, _) in linked.symbols.iter().filter(|one| one.3) {
            all.entry((shown(name), *length)).or_default().insert(*address);
        }
        all
    });
    let (mut code, mut same) = (0, 0);
    for (function, base) in &all.base {
        let Some(head) = all.head.get(function) else { continue };
        code += function.1 * base.len().min(head.len()) as u64;
        same += function.1 * base.intersection(head).count() as u64;
    }
    if code == 0 { 1.0 } else { same as f64 / code as f64 }
}

/// The names that both executables have, in the base's order. All functions of a name are
/// ordered together, so there have to be as many of them, of the same lengths.
fn common_names(linked: &Pair<Linked>) -> Vec<String> {
    let lengths = linked.as_ref().map(|linked| {
        let mut all: BTreeMap<&String, Vec<u64>> = BTreeMap::new();
        for (_, length, name, _) in &linked.symbols {
            all.entry(name).or_default().push(*length);
        }
        all.values_mut().for_each(|all| all.sort_unstable());
        all
    });
    let is_common = |name: &String| {
        lengths.base.get(name).is_some_and(|all| lengths.head.get(name) == Some(all))
    };
    let names = linked.base.symbols.iter().map(|(_, _, name, _)| name);
    names.filter(|name| is_common(name)).cloned().collect()
}
