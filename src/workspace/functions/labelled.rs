//! Object files with additions: symbols by which a linker can order sections that have no
//! name of their own, and sections that go to other places of the executable.

use std::collections::BTreeMap;

use object::read::elf::SectionHeader;
use object::{LittleEndian, Object, ObjectSection, elf};

use super::object_file::object_file;

/// What becomes of a section.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Change {
    /// A symbol of this name marks its beginning.
    Label(String),
    /// It is renamed, and begins at a multiple of so many bytes if it did not.
    Rename(&'static str, u64),
}

/// The lengths of a section's header and of a symbol, bytes.
const HEADER: usize = 64;
const SYMBOL: usize = 24;

/// The offsets of fields in a section's header.
const NAME: usize = 0;
const OFFSET: usize = 24;
const SIZE: usize = 32;
const ALIGNMENT: usize = 48;

/// Global, without a type; and not to be seen outside of the executable.
const GLOBAL: u8 = elf::STB_GLOBAL.0 << 4;
const HIDDEN: u8 = elf::STV_HIDDEN.0;

/// An object file with changes to sections, by their index. Nothing moves: what grows is
/// copied to the end. `None` if its form is unknown.
pub(super) fn labelled(content: &[u8], changes: &BTreeMap<usize, Change>) -> Option<Vec<u8>> {
    let file = object_file(content)?;
    let headers = usize::try_from(file.elf_header().e_shoff.get(LittleEndian)).ok()?;
    let names = usize::from(file.elf_header().e_shstrndx.get(LittleEndian).0);
    let mut sections = file.sections();
    let symbols =
        sections.find(|one| one.elf_section_header().sh_type(LittleEndian) == elf::SHT_SYMTAB)?;
    let strings = symbols.elf_section_header().sh_link(LittleEndian) as usize;
    // Indices of more sections are in another table.
    let last = changes.keys().next_back().copied().unwrap_or_default();
    if last >= usize::from(elf::SHN_LORESERVE) {
        return None;
    }
    let data = |index: usize| {
        Some(file.section_by_index(object::SectionIndex(index)).ok()?.data().ok()?.to_vec())
    };
    let mut tables = BTreeMap::from([(strings, data(strings)?), (names, data(names)?)]);
    let mut add = |table: usize, name: &str| {
        let table = tables.get_mut(&table)?;
        let at = u32::try_from(table.len()).ok()?;
        table.extend(name.bytes().chain([0]));
        Some(at)
    };
    let mut all = symbols.data().ok()?.to_vec();
    let mut changed = content.to_vec();
    let mut set = |section: usize, field: usize, bytes: &[u8]| {
        let at = headers + section * HEADER + field;
        changed.get_mut(at..at + bytes.len())?.copy_from_slice(bytes);
        Some(())
    };
    let mut renamed: BTreeMap<&str, u32> = BTreeMap::new();
    for (section, change) in changes {
        match change {
            Change::Label(name) => {
                let mut symbol = [0; SYMBOL];
                symbol[..4].copy_from_slice(&add(strings, name)?.to_le_bytes());
                (symbol[4], symbol[5]) = (GLOBAL, HIDDEN);
                symbol[6..8].copy_from_slice(&(*section as u16).to_le_bytes());
                all.extend(symbol);
            }
            Change::Rename(name, alignment) => {
                let at = match renamed.get(name) {
                    Some(at) => *at,
                    None => *renamed.entry(name).or_insert(add(names, name)?),
                };
                set(*section, NAME, &at.to_le_bytes())?;
                let own = file.section_by_index(object::SectionIndex(*section)).ok()?.align();
                set(*section, ALIGNMENT, &own.max(*alignment).to_le_bytes())?;
            }
        }
    }
    let mut end = content.len();
    let mut added = Vec::new();
    tables.insert(symbols.index().0, all);
    for (section, table) in tables {
        let start = end.next_multiple_of(HEADER);
        set(section, OFFSET, &(start as u64).to_le_bytes())?;
        set(section, SIZE, &(table.len() as u64).to_le_bytes())?;
        end = start + table.len();
        added.push((start, table));
    }
    for (start, table) in added {
        changed.resize(start, 0);
        changed.extend(table);
    }
    Some(changed)
}

/// An archive of object files.
pub(super) fn archive(members: &[Vec<u8>]) -> Vec<u8> {
    let mut all = b"!<arch>\n".to_vec();
    for (number, member) in members.iter().enumerate() {
        let name = format!("{number}.o/");
        let length = member.len();
        let header = format!("{name:<16}{:<12}{:<6}{:<6}{:<8}{length:<10}`\n", 0, 0, 0, 644);
        all.extend(header.bytes());
        all.extend(member);
        all.resize(all.len().next_multiple_of(2), b'\n');
    }
    all
}
