//! What of an executable is loaded into memory.

use object::elf::{self, ProgramHeader64};
use object::read::elf::{ElfFile64, ProgramHeader, SectionHeader};
use object::{LittleEndian, Object, ObjectSection};

pub(super) type Elf<'d> = ElfFile64<'d, LittleEndian>;

/// The type, the flags, the place and the alignment of every segment: the stack's has neither
/// content nor a section, and that which is read-only after relocation has those of others.
pub(super) fn segments(file: &Elf<'_>) -> Vec<(elf::ProgramType, elf::ProgramFlags, [u64; 3])> {
    let segment = |header: &ProgramHeader64<LittleEndian>| {
        let place = [header.p_vaddr, header.p_memsz, header.p_align];
        let (kind, flags) = (header.p_type(LittleEndian), header.p_flags(LittleEndian));
        (kind, flags, place.map(|number| number.get(LittleEndian)))
    };
    file.elf_program_headers().iter().map(segment).collect()
}

/// A section that is loaded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Section<'a> {
    pub(super) name: &'a str,
    pub(super) address: u64,
    pub(super) size: u64,
    pub(super) flags: elf::SectionFlags,
    pub(super) data: &'a [u8],
}

pub(super) fn loaded<'a>(file: &'a Elf<'a>) -> Option<Vec<Section<'a>>> {
    let mut sections = Vec::new();
    for section in file.sections() {
        let (name, flags) =
            (section.name().ok()?, section.elf_section_header().sh_flags(LittleEndian));
        if flags.contains(elf::SHF_ALLOC) && name != ".note.gnu.build-id" {
            let (address, size, data) = (section.address(), section.size(), section.data().ok()?);
            sections.push(Section { name, address, size, flags, data });
        }
    }
    (!sections.is_empty()).then_some(sections)
}
