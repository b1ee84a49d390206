//! Object files with additions: symbols by which a linker can order sections that have no
//! name of their own, and sections that go to other places of the executable.

use std::collections::BTreeMap;

use object::endian::{U16, U32, U64};
use object::read::elf::SectionHeader;
use object::{LittleEndian, elf, pod};

use super::object_file::object_file;

/// What becomes of a section.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Change {
    /// A symbol of this name marks its beginning.
    Label(String),
    /// It is renamed, and begins at a multiple of so many bytes if it did not.
    Rename(&'static str, u64),
}

/// Where what is added begins: at a multiple of so many bytes.
const ALIGNMENT: usize = 64;

/// An object file with changes to sections, by their index. Nothing moves: what grows is
/// copied to the end. `None` if its form is unknown.
pub(super) fn labelled(content: &[u8], changes: &BTreeMap<usize, Change>) -> Option<Vec<u8>> {
    let file = object_file(content)?;
    let mut headers: Vec<_> = file.elf_section_table().iter().copied().collect();
    let names = usize::from(file.elf_header().e_shstrndx.get(LittleEndian).0);
    let symbols = headers.iter().position(|one| one.sh_type(LittleEndian) == elf::SHT_SYMTAB)?;
    let strings = headers[symbols].sh_link(LittleEndian) as usize;
    let data = |index: usize| Some(headers.get(index)?.data(LittleEndian, content).ok()?.to_vec());
    let mut all = data(symbols)?;
    let mut tables = BTreeMap::from([(strings, data(strings)?), (names, data(names)?)]);
    let mut add = |table: usize, name: &str| {
        let table = tables.get_mut(&table)?;
        let at = u32::try_from(table.len()).ok()?;
        table.extend(name.bytes().chain([0]));
        Some(at)
    };
    let mut renamed: BTreeMap<&str, u32> = BTreeMap::new();
    for (section, change) in changes {
        match change {
            Change::Label(name) => {
                // Indices of more sections are in another table.
                let index = u16::try_from(*section).ok().filter(|at| *at < elf::SHN_LORESERVE)?;
                all.extend(pod::bytes_of(&elf::Sym64::<LittleEndian> {
                    st_name: U32::new(LittleEndian, add(strings, name)?),
                    // Global, without a type; and not to be seen outside of the executable.
                    st_info: elf::SymbolInfo(elf::STB_GLOBAL.0 << 4),
                    st_other: elf::SymbolOther(elf::STV_HIDDEN.0),
                    st_shndx: U16::new(LittleEndian, elf::SymbolSection(index)),
                    st_value: U64::default(),
                    st_size: U64::default(),
                }));
            }
            Change::Rename(name, alignment) => {
                let at = match renamed.get(name) {
                    Some(at) => *at,
                    None => *renamed.entry(name).or_insert(add(names, name)?),
                };
                let header = headers.get_mut(*section)?;
                header.sh_name.set(LittleEndian, at);
                let own = header.sh_addralign(LittleEndian);
                header.sh_addralign.set(LittleEndian, own.max(*alignment));
            }
        }
    }
    tables.insert(symbols, all);
    let mut changed = content.to_vec();
    for (section, table) in tables {
        changed.resize(changed.len().next_multiple_of(ALIGNMENT), 0);
        headers[section].sh_offset.set(LittleEndian, changed.len() as u64);
        headers[section].sh_size.set(LittleEndian, table.len() as u64);
        changed.extend(table);
    }
    let at = usize::try_from(file.elf_header().e_shoff.get(LittleEndian)).ok()?;
    let headers = pod::bytes_of_slice(&headers);
    changed.get_mut(at..at + headers.len())?.copy_from_slice(headers);
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
