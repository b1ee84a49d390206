//! An ELF object file: its functions and constants, and what they refer to.

use std::cell::RefCell;
use std::collections::HashMap;
use std::ops::Range;
use std::rc::Rc;

use object::read::archive::ArchiveFile;
use object::read::elf::{ElfFile64, ElfSection64, ElfSymbol64, SectionHeader};
use object::{
    LittleEndian, Object, ObjectKind, ObjectSection, ObjectSymbol, Relocation, RelocationFlags,
    RelocationTarget, SectionFlags, SectionIndex, SectionKind, SymbolIndex, SymbolKind, elf,
};

use crate::workspace::identical::place;

/// The size of a `core::panic::Location`, bytes. Where in it the name of the source is, its
/// length, and the line and the column.
const LOCATION: u64 = 24;
const LENGTH: Range<usize> = 8..16;
const PLACE: Range<usize> = 16..24;
/// The suffix of the name of a source.
const SOURCE: &str = ".rs";

/// Prefixes of sections that programs run or read although nothing refers to them.
const ROOTS: [&str; 7] =
    [".init_array", ".fini_array", ".preinit_array", ".ctors", ".dtors", ".init", ".fini"];

/// How rustc names constants that several object files share.
const NUMBERED: &str = "anon.";

/// The prefix of the names of constants and variables that the compiler numbers.
const MADE: [&str; 2] = [NUMBERED, ".L"];

/// The prefix of sections that define where functions continue when they unwind.
const UNWINDING: &str = ".gcc_except_table";

/// The prefix of sections that are only written to while a program is loaded.
const WRITTEN_ONCE: &str = ".data.rel.ro";

/// The maximum gap between two functions that can be padding, bytes.
const PADDING: u64 = 63;

/// A part of an object file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Piece {
    section: SectionIndex,
    start: u64,
    end: u64,
}

impl Piece {
    /// Its length, bytes.
    pub(super) fn length(self) -> u64 {
        self.end - self.start
    }

    /// What puts the parts of a file in order.
    pub(super) fn rank(self) -> (usize, u64) {
        (self.section.0, self.start)
    }
}

/// A function or a constant that has a name.
#[derive(Debug)]
pub(super) struct Named {
    /// The mangled name.
    pub(super) name: String,
    pub(super) piece: Piece,
    /// Whether no other object file can refer to it.
    pub(super) is_local: bool,
    /// Whether code in other languages may refer to it: it has a name that rustc did not make.
    pub(super) is_exported: bool,
}

/// A variable: its section, and where it begins in that.
pub(super) type Variable = (SectionIndex, u64);

/// What a relocation points to.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Target<'d> {
    /// This many bytes after the beginning of something that has a name.
    Name(String, i64),
    /// This many bytes after the beginning of a part of the same file.
    Piece(Piece, i64),
    /// This many bytes after the beginning of one entry in a section whose entries
    /// linkers merge.
    Entry(&'d [u8], i64),
}

/// A relocation: where from the beginning of its piece, of which kind, and to what.
pub(super) type Reference<'d> = (u64, u32, Target<'d>);

/// Functions of a section, by their places: beginning, end, symbol.
type FunctionsIn = Vec<(u64, u64, SymbolIndex)>;

/// The relocations of a section, by their places.
type Relocations = Rc<Vec<(u64, Relocation)>>;

/// An object file.
pub(super) struct ObjectFile<'d> {
    file: ElfFile64<'d, LittleEndian>,
    /// The name of the crate that it was compiled from.
    origin: &'d str,
    functions: HashMap<SectionIndex, FunctionsIn>,
    /// The names in sections that a program can write to, where they are in them.
    variables: HashMap<SectionIndex, Vec<(u64, String)>>,
    /// The sections that say where the functions of a section go on when they unwind.
    unwinding: HashMap<SectionIndex, SectionIndex>,
    /// Those of sections that were asked for.
    relocations: RefCell<HashMap<SectionIndex, Relocations>>,
}

impl<'d> ObjectFile<'d> {
    /// The object files in a file of a crate: itself, or the members of an archive. The
    /// second number is that of members that are none.
    pub(super) fn all(content: &'d [u8], origin: &'d str) -> (Vec<Self>, usize) {
        let members: Vec<&[u8]> = match ArchiveFile::parse(content) {
            Ok(archive) => {
                let members = archive.members().filter_map(Result::ok);
                members.filter_map(|member| member.data(content).ok()).collect()
            }
            Err(_) => vec![content],
        };
        let count = members.len();
        let objects: Vec<Self> =
            members.into_iter().filter_map(|member| Self::one(member, origin)).collect();
        let others = count - objects.len();
        (objects, others)
    }

    fn one(content: &'d [u8], origin: &'d str) -> Option<Self> {
        let file = ElfFile64::<LittleEndian>::parse(content).ok()?;
        if file.kind() != ObjectKind::Relocatable {
            return None;
        }
        let mut functions: HashMap<SectionIndex, FunctionsIn> = HashMap::new();
        for symbol in file.symbols().filter(is_function) {
            if let Some(section) = symbol.section_index() {
                let end = symbol.address() + symbol.size();
                functions.entry(section).or_default().push((symbol.address(), end, symbol.index()));
            }
        }
        functions.values_mut().for_each(|all| all.sort_unstable_by_key(|one| (one.0, one.1)));
        let mut variables: HashMap<SectionIndex, Vec<(u64, String)>> =
            file.sections().filter(is_writable).map(|one| (one.index(), Vec::new())).collect();
        for symbol in file.symbols() {
            let all = symbol.section_index().and_then(|section| variables.get_mut(&section));
            if let (Some(all), Some(name)) = (all, name_of(&symbol)) {
                let is_numbered = name.is_empty() || MADE.iter().any(|made| name.starts_with(made));
                all.extend((!is_numbered).then(|| (symbol.address(), shown(&name))));
            }
        }
        variables.values_mut().for_each(|all| all.sort_unstable());
        let unwinding = unwinding(&file);
        let relocations = RefCell::default();
        Some(ObjectFile { file, origin, functions, variables, unwinding, relocations })
    }

    pub(super) fn origin(&self) -> &'d str {
        self.origin
    }

    /// The functions.
    pub(super) fn functions(&self) -> impl Iterator<Item = Named> {
        self.file.symbols().filter(is_function).filter_map(|symbol| self.named(&symbol))
    }

    /// The constants and variables that other object files can refer to.
    pub(super) fn data(&self) -> impl Iterator<Item = Named> {
        let is_data = |symbol: &ElfSymbol64<'_, '_, LittleEndian>| {
            symbol.kind() != SymbolKind::Text && symbol.is_global() && symbol.is_definition()
        };
        self.file.symbols().filter(is_data).filter_map(|symbol| self.named(&symbol))
    }

    fn named(&self, symbol: &ElfSymbol64<'d, '_, LittleEndian>) -> Option<Named> {
        let (section, start) = (symbol.section_index()?, symbol.address());
        let piece = Piece { section, start, end: start + symbol.size() };
        let name = symbol.name().ok()?;
        // Constants without a name of their own are numbered.
        let is_made = without_promotion(name).is_some()
            || name.starts_with(NUMBERED)
            || rustc_demangle::try_demangle(name).is_ok();
        let (is_local, is_exported) = (symbol.is_local(), !symbol.is_local() && !is_made);
        Some(Named { name: name_of(symbol)?, piece, is_local, is_exported })
    }

    /// The variables that a part is, and their names; none if it can't be written to.
    pub(super) fn variable(&self, piece: Piece) -> Option<(Variable, Vec<(u64, &str)>)> {
        let all = self.variables.get(&piece.section)?;
        let own =
            all.iter().filter(|(at, _)| (piece.start..piece.end.max(piece.start + 1)).contains(at));
        let own = own.map(|(at, name)| (at - piece.start, &**name)).collect();
        Some(((piece.section, piece.start), own))
    }

    /// The names that linkers know in it: of what it has, and of what it refers to.
    pub(super) fn names(&self) -> impl Iterator<Item = String> {
        self.file
            .symbols()
            .filter(|symbol| !symbol.is_local())
            .filter_map(|symbol| name_of(&symbol))
    }

    /// The sections that take part in a program though nothing need refer to them: code that
    /// is no function's, as in assembly, what runs before `main` and what linkers collect.
    pub(super) fn roots(&self) -> impl Iterator<Item = (String, Piece)> {
        let loaded = self.file.sections().filter(|section| {
            let SectionFlags::Elf { sh_flags } = section.flags() else { return false };
            sh_flags & u64::from(elf::SHF_ALLOC) != 0 && section.size() > 0
        });
        loaded.flat_map(|section| {
            let name = section.name().unwrap_or_default();
            let is_root = ROOTS.iter().any(|root| {
                name.strip_prefix(root).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
            }) || name.chars().all(|c| c == '_' || c.is_ascii_alphanumeric());
            let pieces = match section.kind() {
                _ if is_root => vec![whole(&section)],
                SectionKind::Text => self.between_functions(whole(&section)),
                _ => Vec::new(),
            };
            pieces.into_iter().map(move |piece| (name.to_owned(), piece))
        })
    }

    /// What lies between the functions of a section and is more than padding.
    fn between_functions(&self, whole: Piece) -> Vec<Piece> {
        let mut pieces = Vec::new();
        let mut from = 0;
        for &(start, end, _) in self.functions.get(&whole.section).into_iter().flatten() {
            if start.saturating_sub(from) > PADDING || from == 0 && start > 0 {
                pieces.push(Piece { start: from, end: start, ..whole });
            }
            from = from.max(end);
        }
        if whole.end.saturating_sub(from) > PADDING || from == 0 {
            pieces.push(Piece { start: from, ..whole });
        }
        pieces
    }

    /// The bytes of a part, all zeros as none. `None` where there are none.
    pub(super) fn bytes(&self, piece: Piece) -> Option<&'d [u8]> {
        let section = self.file.section_by_index(piece.section).ok()?;
        let data = section.data().ok()?;
        if data.is_empty() {
            return Some(&[]);
        }
        data.get(piece.start as usize..piece.end as usize)
    }

    /// The relocations of a part. `is_named` tells whether a function is known by its name
    /// alone: other functions are parts themselves. `None` where one is of a kind that is
    /// not known.
    pub(super) fn references(
        &self,
        piece: Piece,
        is_named: impl Fn(bool) -> bool,
    ) -> Option<Vec<Reference<'d>>> {
        let all = self.relocations_of(piece.section)?;
        let from = all.partition_point(|(offset, _)| *offset < piece.start);
        let own = all[from..].iter().take_while(|(offset, _)| *offset < piece.end);
        let own = own.map(|(offset, relocation)| {
            let RelocationFlags::Elf { r_type } = relocation.flags() else { return None };
            let target = self.target(relocation, r_type, piece, &is_named)?;
            Some((offset - piece.start, r_type, target))
        });
        // What unwinds refers to this, though the function does not.
        let unwinding = self.unwinding.get(&piece.section).map(|section| {
            let section = self.file.section_by_index(*section).ok()?;
            Some((piece.length(), elf::R_X86_64_NONE, Target::Piece(whole(&section), 0)))
        });
        own.chain(unwinding).collect()
    }

    fn relocations_of(&self, index: SectionIndex) -> Option<Relocations> {
        if let Some(known) = self.relocations.borrow().get(&index) {
            return Some(Rc::clone(known));
        }
        let section = self.file.section_by_index(index).ok()?;
        let mut all: Vec<_> = section.relocations().collect();
        all.sort_by_key(|(offset, _)| *offset);
        let all = Rc::new(all);
        self.relocations.borrow_mut().insert(index, Rc::clone(&all));
        Some(all)
    }

    /// What a relocation in a part points to.
    fn target(
        &self,
        relocation: &Relocation,
        r_type: u32,
        from: Piece,
        is_named: &impl Fn(bool) -> bool,
    ) -> Option<Target<'d>> {
        let addend = relocation.addend();
        let (section, place, is_section) = match relocation.target() {
            RelocationTarget::Section(section) => (section, 0, true),
            RelocationTarget::Symbol(index) => {
                let symbol = self.file.symbol_by_index(index).ok()?;
                let Some(section) = symbol.section_index() else {
                    return Some(Target::Name(name_of(&symbol)?, addend));
                };
                if is_function(&symbol) {
                    return self.function_target(&symbol, addend, is_named);
                }
                if symbol.is_global() {
                    return Some(Target::Name(name_of(&symbol)?, addend));
                }
                (section, symbol.address(), symbol.kind() == SymbolKind::Section)
            }
            _ => return None,
        };
        // A relative address counts from the end of the instruction, which is that of the
        // relocation where nothing is subtracted but its own length.
        let at = (place as i64).checked_add(addend)?.checked_add(behind(r_type))?;
        if let Some((symbol, offset)) = self.function_at(section, at) {
            return self.function_target(&symbol, offset, is_named);
        }
        let entry = match is_section {
            // Linkers take an entry by its symbol, whatever is added to that.
            false => self
                .entry(section, place)
                .and_then(|(entry, offset)| Some((entry, offset.checked_add(addend)?))),
            true if self.is_certain(from, r_type, addend) => {
                self.entry(section, u64::try_from(at).ok()?)
            }
            true => None,
        };
        Some(match entry {
            Some((entry, offset)) => Target::Entry(entry, offset),
            None => {
                let section = self.file.section_by_index(section).ok()?;
                Target::Piece(whole(&section), (place as i64).checked_add(addend)?)
            }
        })
    }

    /// Whether a relocation that counts from the beginning of a section tells which entry of
    /// it is meant. Relative addresses in tables count from the beginning of the table.
    fn is_certain(&self, from: Piece, r_type: u32, addend: i64) -> bool {
        let is_code = self
            .file
            .section_by_index(from.section)
            .is_ok_and(|section| section.kind() == SectionKind::Text);
        match r_type {
            elf::R_X86_64_PC32 => is_code && addend >= -4,
            elf::R_X86_64_64 => true,
            _ => false,
        }
    }

    fn function_target(
        &self,
        symbol: &ElfSymbol64<'d, '_, LittleEndian>,
        offset: i64,
        is_named: &impl Fn(bool) -> bool,
    ) -> Option<Target<'d>> {
        let Named { name, piece, is_local, .. } = self.named(symbol)?;
        Some(match is_named(is_local) {
            true => Target::Name(name, offset),
            false => Target::Piece(piece, offset),
        })
    }

    /// The function at a place in a section, and how many bytes behind its beginning that is.
    fn function_at(
        &self,
        section: SectionIndex,
        at: i64,
    ) -> Option<(ElfSymbol64<'d, '_, LittleEndian>, i64)> {
        let at = u64::try_from(at).ok()?;
        let all = self.functions.get(&section)?;
        let before = all.partition_point(|(start, _, _)| *start <= at);
        let mut around = all[..before].iter().rev().filter(|(_, end, _)| at < *end);
        let (start, _, symbol) = around.next()?;
        Some((self.file.symbol_by_index(*symbol).ok()?, (at - start) as i64))
    }

    /// The entry at a place in a section whose entries linkers merge, and how many bytes
    /// behind its beginning that is.
    fn entry(&self, index: SectionIndex, at: u64) -> Option<(&'d [u8], i64)> {
        let section = self.file.section_by_index(index).ok()?;
        let SectionFlags::Elf { sh_flags } = section.flags() else { return None };
        if sh_flags & u64::from(elf::SHF_MERGE) == 0 {
            return None;
        }
        let size = section.elf_section_header().sh_entsize(LittleEndian);
        if sh_flags & u64::from(elf::SHF_STRINGS) != 0 {
            return Some((up_to_zero(data_from(&section, at, 0)?, size as usize)?, 0));
        }
        let offset = at.checked_rem(size)?;
        let start = (at - offset) as usize;
        Some((section.data().ok()?.get(start..start + size as usize)?, offset as i64))
    }

    /// The source, line and column of a part that is a `core::panic::Location`, as far as its
    /// form tells.
    pub(super) fn location(&self, piece: Piece) -> Option<(String, (u32, u32))> {
        if (piece.start, piece.end) != (0, LOCATION) {
            return None;
        }
        let relocations = self.relocations_of(piece.section)?;
        let [(0, relocation)] = relocations.as_slice() else { return None };
        let bytes = self.bytes(piece)?;
        let place = place(bytes.get(PLACE)?)?;
        let length = u64::from_le_bytes(bytes.get(LENGTH)?.try_into().ok()?);
        let name = self.pointed_to(relocation)?.get(..usize::try_from(length).ok()?)?;
        let name = String::from_utf8(name.to_vec()).ok()?;
        name.ends_with(SOURCE).then_some((name, place))
    }

    /// What lies where an absolute address points to, to the end of the section.
    fn pointed_to(&self, relocation: &Relocation) -> Option<&'d [u8]> {
        let (section, place) = match relocation.target() {
            RelocationTarget::Symbol(index) => {
                let symbol = self.file.symbol_by_index(index).ok()?;
                (symbol.section_index()?, symbol.address())
            }
            RelocationTarget::Section(section) => (section, 0),
            _ => return None,
        };
        let section = self.file.section_by_index(section).ok()?;
        data_from(&section, place, relocation.addend())
    }
}

/// How many bytes behind its own place the address begins from which a relocation counts.
fn behind(r_type: u32) -> i64 {
    match r_type {
        elf::R_X86_64_PC32 | elf::R_X86_64_PLT32 => 4,
        _ => 0,
    }
}

fn whole(section: &ElfSection64<'_, '_, LittleEndian>) -> Piece {
    Piece { section: section.index(), start: 0, end: section.size() }
}

/// What a section holds from so many bytes behind a place in it.
fn data_from<'d>(
    section: &ElfSection64<'d, '_, LittleEndian>,
    place: u64,
    behind: i64,
) -> Option<&'d [u8]> {
    let at = i64::try_from(place).ok()?.checked_add(behind)?;
    section.data().ok()?.get(usize::try_from(at).ok()?..)
}

/// A string of characters of so many bytes, up to the one that is zero.
fn up_to_zero(data: &[u8], size: usize) -> Option<&[u8]> {
    let zero = data.chunks_exact(size.max(1)).position(|one| one.iter().all(|byte| *byte == 0))?;
    data.get(..zero * size.max(1))
}

/// The sections that say where the functions of a section go on when they unwind: those of its
/// name, or the one of all.
fn unwinding(file: &ElfFile64<'_, LittleEndian>) -> HashMap<SectionIndex, SectionIndex> {
    let tables: HashMap<&str, SectionIndex> = file
        .sections()
        .filter_map(|section| {
            Some((section.name().ok()?.strip_prefix(UNWINDING)?, section.index()))
        })
        .collect();
    let texts = file.sections().filter(|section| section.kind() == SectionKind::Text);
    let texts = texts.filter_map(|section| {
        let name = section.name().ok()?;
        let name = name.strip_prefix(".text").unwrap_or(name);
        let plain = [".unlikely", ".hot"].iter().find_map(|kind| name.strip_prefix(kind));
        let own = tables.get(name).or_else(|| tables.get(plain?));
        Some((section.index(), *own.or_else(|| tables.get(""))?))
    });
    texts.collect()
}

/// Whether a program can write to a section.
fn is_writable(section: &ElfSection64<'_, '_, LittleEndian>) -> bool {
    let SectionFlags::Elf { sh_flags } = section.flags() else { return false };
    sh_flags & u64::from(elf::SHF_WRITE) != 0
        && !section.name().is_ok_and(|name| name.starts_with(WRITTEN_ONCE))
}

pub(super) fn is_function(symbol: &ElfSymbol64<'_, '_, LittleEndian>) -> bool {
    symbol.kind() == SymbolKind::Text && symbol.section_index().is_some()
}

/// The name of a symbol.
pub(super) fn name_of<'d>(symbol: &impl ObjectSymbol<'d>) -> Option<String> {
    Some(symbol.name().ok()?.to_owned())
}

/// A name without the `.llvm.` and the number that the compiler adds where it lets other
/// object files see what was local; none without these.
fn without_promotion(name: &str) -> Option<&str> {
    let (name, number) = name.rsplit_once(".llvm.")?;
    number.bytes().all(|digit| digit.is_ascii_digit()).then_some(name)
}

/// A name as people write it, without the hashes of crates and what the compiler adds to names
/// of its own making.
pub(crate) fn shown(name: &str) -> String {
    match rustc_demangle::try_demangle(name) {
        Ok(name) => format!("{name:#}"),
        Err(_) => without_promotion(name).unwrap_or(name).to_owned(),
    }
}
