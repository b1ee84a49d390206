//! The functions in object files of ELF.

use std::cell::RefCell;
use std::collections::{BTreeSet, HashMap};
use std::ops::Range;

use object::read::archive::ArchiveFile;
use object::read::elf::{ElfFile64, ElfSection64, ElfSymbol64, SectionHeader};
use object::{
    LittleEndian, Object, ObjectSection, ObjectSymbol, RelocationFlags, RelocationTarget,
    SectionFlags, SectionIndex, SectionKind, SymbolKind, elf,
};

use crate::exec::system::digest;

/// The size of a `core::panic::Location`, bytes, and where in it line and column are.
const LOCATION: usize = 24;
const LINE_AND_COLUMN: Range<usize> = 16..24;
/// How the name of a source ends, to which a location points.
const SOURCE: &[u8] = b".rs";

/// What stands for a constant within itself.
const ITSELF: &str = "itself";

/// An object file.
pub(super) struct ObjectFile<'d> {
    file: ElfFile64<'d, LittleEndian>,
    /// What is known of constants.
    constants: RefCell<HashMap<SectionIndex, String>>,
}

impl<'d> ObjectFile<'d> {
    /// The object files in a file: itself, or the members of an archive. What is of
    /// another form holds none.
    pub(super) fn all(content: &'d [u8]) -> Vec<Self> {
        let one = |content| {
            let file = ElfFile64::parse(content).ok()?;
            Some(ObjectFile { file, constants: RefCell::default() })
        };
        let Ok(archive) = ArchiveFile::parse(content) else {
            return one(content).into_iter().collect();
        };
        let members = archive.members().filter_map(Result::ok);
        members.filter_map(|member| one(member.data(content).ok()?)).collect()
    }

    /// The functions: their names, a digest of what each is made of, and their lengths.
    pub(super) fn functions(&self) -> Vec<(String, String, u64)> {
        let mut found = Vec::new();
        for symbol in self.file.symbols().filter(is_function) {
            let Some(section) = symbol.section_index() else { continue };
            let end = symbol.address() + symbol.size();
            if let (Some(name), Some(code)) =
                (name_of(&symbol), self.made_of(section, symbol.address()..end))
            {
                found.push((name, digest(&code), symbol.size()));
            }
        }
        found
    }

    /// The bytes of a part of a section, and what its relocations point to.
    fn made_of(&self, index: SectionIndex, range: Range<u64>) -> Option<Vec<u8>> {
        let section = self.file.section_by_index(index).ok()?;
        let data = section.data().ok()?;
        let mut all = match data.is_empty() {
            // Nothing but zeros.
            true => (range.end - range.start).to_le_bytes().to_vec(),
            false => data.get(range.start as usize..range.end as usize)?.to_vec(),
        };
        let mut relocations: Vec<_> =
            section.relocations().filter(|(offset, _)| range.contains(offset)).collect();
        relocations.sort_by_key(|(offset, _)| *offset);
        if self.is_location(&section, &relocations) {
            all[LINE_AND_COLUMN].fill(0);
        }
        for (offset, relocation) in relocations {
            let RelocationFlags::Elf { r_type } = relocation.flags() else { return None };
            all.extend((offset - range.start).to_le_bytes());
            all.extend(r_type.to_le_bytes());
            all.extend(self.target(relocation.target(), r_type, relocation.addend())?.into_bytes());
        }
        Some(all)
    }

    /// What a relocation points to: a function's name, else what is there.
    fn target(&self, target: RelocationTarget, r_type: u32, addend: i64) -> Option<String> {
        let Some((section, place)) = self.data_at(target) else {
            let RelocationTarget::Symbol(index) = target else { return None };
            let name = name_of(&self.file.symbol_by_index(index).ok()?)?;
            return Some(format!("{name} {addend}"));
        };
        if let Some(name) = self.code_of(section) {
            return Some(format!("{name} {place} {addend}"));
        }
        Some(match self.entry(section, place, r_type, addend) {
            Some(entry) => digest(entry),
            None => format!("{} {place} {addend}", self.constant(section)?),
        })
    }

    /// The name of the function that a section with code holds, as rustc names it after that.
    fn code_of(&self, index: SectionIndex) -> Option<String> {
        let section = self.file.section_by_index(index).ok()?;
        let name = section.name().ok().filter(|_| section.kind() == SectionKind::Text)?;
        Some(shown(name.strip_prefix(".text.").unwrap_or(name)))
    }

    /// The one entry that is meant in a section whose entries linkers merge, where that is
    /// certain.
    fn entry(&self, index: SectionIndex, place: u64, r_type: u32, addend: i64) -> Option<&'d [u8]> {
        let section = self.file.section_by_index(index).ok()?;
        let SectionFlags::Elf { sh_flags } = section.flags() else { return None };
        if sh_flags & u64::from(elf::SHF_MERGE) == 0 {
            return None;
        }
        // A relative address counts from the end of the instruction, which is that of the
        // relocation where nothing is subtracted but its own length.
        let from = match r_type {
            elf::R_X86_64_PC32 if addend >= -4 => 4,
            elf::R_X86_64_64 => 0,
            _ => return None,
        };
        let data = data_from(&section, place, addend.checked_add(from)?)?;
        if sh_flags & u64::from(elf::SHF_STRINGS) != 0 {
            return up_to_zero(data);
        }
        let size = section.elf_section_header().sh_entsize(LittleEndian);
        data.get(..size as usize)
    }

    /// A digest of what a section with a constant is made of.
    fn constant(&self, index: SectionIndex) -> Option<String> {
        if let Some(known) = self.constants.borrow().get(&index) {
            return Some(known.clone());
        }
        self.constants.borrow_mut().insert(index, ITSELF.to_owned());
        let size = self.file.section_by_index(index).ok()?.size();
        let known = digest(&self.made_of(index, 0..size)?);
        self.constants.borrow_mut().insert(index, known.clone());
        Some(known)
    }

    /// Whether a section holds nothing but a `core::panic::Location`, as far as its form
    /// tells.
    fn is_location(
        &self,
        section: &ElfSection64<'_, '_, LittleEndian>,
        relocations: &[(u64, object::Relocation)],
    ) -> bool {
        let [(0, relocation)] = relocations else { return false };
        let name = self.pointed_to(relocation);
        section.size() == LOCATION as u64 && name.is_some_and(|name| name.ends_with(SOURCE))
    }

    /// The text, without a zero at its end, that an absolute address points to.
    fn pointed_to(&self, relocation: &object::Relocation) -> Option<&'d [u8]> {
        let (section, place) = self.data_at(relocation.target())?;
        let section = self.file.section_by_index(section).ok()?;
        up_to_zero(data_from(&section, place, relocation.addend())?)
    }

    /// The section and the place in it where something that is no function is.
    fn data_at(&self, target: RelocationTarget) -> Option<(SectionIndex, u64)> {
        match target {
            RelocationTarget::Symbol(index) => {
                let symbol = self.file.symbol_by_index(index).ok()?;
                let section = symbol.section_index().filter(|_| !is_function(&symbol))?;
                Some((section, symbol.address()))
            }
            RelocationTarget::Section(section) => Some((section, 0)),
            _ => None,
        }
    }
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

fn up_to_zero(data: &[u8]) -> Option<&[u8]> {
    data.split(|byte| *byte == 0).next()
}

fn is_function(symbol: &ElfSymbol64<'_, '_, LittleEndian>) -> bool {
    symbol.kind() == SymbolKind::Text && symbol.section_index().is_some()
}

/// The name of a symbol as people write it, without the hashes of crates.
fn name_of<'d>(symbol: &impl ObjectSymbol<'d>) -> Option<String> {
    symbol.name().ok().map(shown)
}

fn shown(name: &str) -> String {
    match rustc_demangle::try_demangle(name) {
        Ok(name) => format!("{name:#}"),
        Err(_) => name.to_owned(),
    }
}

/// The names of the functions in an executable; none where it was stripped.
pub(super) fn symbols(executable: &[u8]) -> BTreeSet<String> {
    let Ok(file) = ElfFile64::<LittleEndian>::parse(executable) else { return BTreeSet::new() };
    file.symbols().filter(is_function).filter_map(|symbol| name_of(&symbol)).collect()
}
