//! Source locations in two executables that differ in nothing else.
//!
//! A function that may panic gets the address of a `core::panic::Location`:
//!
//! | at byte | what |
//! |---|---|
//! | 0 | the address of the name of the source |
//! | 8 | the length of the name |
//! | 16 | the line |
//! | 20 | the column |
//!
//! This finds what looks like one. Whether it really is one has to be decided from the
//! sources, since a table in the user's code may have the same form.

use std::collections::BTreeMap;

use object::{Architecture, Object, ObjectKind, Relocation, RelocationFlags, elf};

use super::code::SourcePosition;
use super::loaded::{Elf, Section};

/// A source location that differs between two executables.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct MovedLocation {
    /// The source as the compiler names it: in a workspace, its path from the root.
    pub(crate) source: String,
    pub(crate) base: SourcePosition,
    pub(crate) head: SourcePosition,
}

/// The sections with locations: the first one if their addresses are only known when the
/// program is loaded.
const HOLDERS: [&str; 2] = [".data.rel.ro", ".rodata"];

/// From the start of a location to its line, bytes. Line and column take 8.
const TO_LINE: usize = 16;

/// The kinds of relocations by which the loader writes addresses from the executable's start.
const RELATIVE: [elf::RelocationType; 2] = [elf::R_X86_64_RELATIVE, elf::R_AARCH64_RELATIVE];

/// The locations that differ between two executables, whose loaded sections these are.
/// `None` if anything else differs, or their kind is unknown.
pub(super) fn moved(
    file: &Elf<'_>,
    base: &[Section<'_>],
    head: &[Section<'_>],
) -> Option<Vec<MovedLocation>> {
    if base.len() != head.len() {
        return None;
    }
    let pointers = Pointers::read(file, base)?;
    let mut found = Vec::new();
    for (one, other) in base.iter().zip(head) {
        let is_alike = Section { data: other.data, ..*one } == *other;
        if !is_alike || one.data.len() != other.data.len() {
            return None;
        }
        if one.data == other.data {
            continue;
        }
        if !HOLDERS.contains(&one.name) || one.address % 8 != 0 {
            return None;
        }
        for (number, (base, head)) in one.data.chunks(8).zip(other.data.chunks(8)).enumerate() {
            if base == head {
                continue;
            }
            // Name and length are before it, and are the same.
            let start = (8 * number).checked_sub(TO_LINE)?;
            let named = start..start + TO_LINE;
            if one.data[named.clone()] != other.data[named] {
                return None;
            }
            let source = pointers.text(one.address + start as u64)?;
            // Between two addresses that the loader writes, anything looks like a name of no length.
            if source.is_empty() {
                return None;
            }
            let (base, head) = (position(base)?, position(head)?);
            found.push(MovedLocation { source, base, head });
        }
    }
    Some(found)
}

/// The line and the column in eight bytes.
pub(crate) fn position(bytes: &[u8]) -> Option<SourcePosition> {
    let half = |half: &[u8]| Some(u32::from_le_bytes(half.try_into().ok()?));
    let (line, column) = bytes.split_at_checked(4)?;
    Some(SourcePosition { line: half(line)?, column: half(column)? })
}

/// Reads what addresses in an executable point to.
struct Pointers<'a> {
    sections: &'a [Section<'a>],
    /// What the loader writes at which address: an address from the executable's start.
    /// `None` where addresses are in the executable as they are.
    relative: Option<BTreeMap<u64, u64>>,
}

impl<'a> Pointers<'a> {
    /// `None` for kinds of executables that are not known here.
    fn read(file: &Elf<'_>, sections: &'a [Section<'a>]) -> Option<Self> {
        if !matches!(file.architecture(), Architecture::X86_64 | Architecture::Aarch64) {
            return None;
        }
        if file.kind() == ObjectKind::Executable {
            return Some(Pointers { sections, relative: None });
        }
        let is_relative = |relocation: &Relocation| match relocation.flags() {
            RelocationFlags::Elf { r_type } => RELATIVE.contains(&r_type),
            _ => false,
        };
        let relative = file.dynamic_relocations()?.filter(|(_, one)| is_relative(one));
        let relative = relative.map(|(at, one)| (at, one.addend() as u64)).collect();
        Some(Pointers { sections, relative: Some(relative) })
    }

    /// The text of which the address lies at `at` and the length behind it.
    fn text(&self, at: u64) -> Option<String> {
        let fields = self.bytes(at, 16)?;
        let address = match &self.relative {
            Some(relative) => *relative.get(&at)?,
            None => number(fields, 0)?,
        };
        let text = self.bytes(address, number(fields, 8)?)?;
        String::from_utf8(text.to_vec()).ok()
    }

    fn bytes(&self, address: u64, length: u64) -> Option<&'a [u8]> {
        let end = address.checked_add(length)?;
        self.sections.iter().find_map(|section| {
            let (from, to) = (address.checked_sub(section.address)?, end - section.address);
            section.data.get(usize::try_from(from).ok()?..usize::try_from(to).ok()?)
        })
    }
}

/// The number at a place, of eight bytes.
fn number(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_le_bytes(bytes.get(at..at + 8)?.try_into().ok()?))
}

#[cfg(test)]
mod tests {
    use object::ObjectSection;

    use super::super::loaded;
    use super::*;

    /// This program, as the tests see it; `None` where it is of a kind that is not known here.
    fn program() -> Option<Vec<u8>> {
        let program = std::fs::read(std::env::current_exe().unwrap()).unwrap();
        let file = Elf::parse(&*program).ok()?;
        Pointers::read(&file, &loaded(&file)?)?;
        Some(program)
    }

    /// What differs between this program and one with other bytes.
    fn differs(base: &[u8], head: &[u8]) -> Option<Vec<MovedLocation>> {
        let [base, head] = [base, head].map(|program| Elf::parse(program).unwrap());
        moved(&base, &loaded(&base).unwrap(), &loaded(&head).unwrap())
    }

    /// The offset of a location in this source in the program's file.
    fn location(program: &[u8]) -> usize {
        let file = Elf::parse(program).unwrap();
        let sections = loaded(&file).unwrap();
        let pointers = Pointers::read(&file, &sections).unwrap();
        let holder = file.section_by_name(HOLDERS[0]).unwrap();
        let (begin, size) = holder.file_range().unwrap();
        // The test harness describes each test with the name of its source, too, but has
        // the line in eight bytes.
        let is_ours = |at: &u64| {
            let found =
                pointers.bytes(holder.address() + at + TO_LINE as u64, 8).and_then(position);
            found.is_some_and(|found| found.line > 0 && found.column > 0)
                && pointers
                    .text(holder.address() + at)
                    .is_some_and(|text| text.ends_with("locations.rs"))
        };
        let at = (0..size - 24).step_by(8).find(is_ours).expect("this source can panic");
        (begin + at) as usize
    }

    #[test]
    fn another_line_or_column_is_found_and_nothing_else_may_differ() {
        let Some(program) = program() else { return };
        let at = location(&program);
        let with = |changes: &[(usize, u8)]| {
            let mut other = program.clone();
            for (at, change) in changes {
                other[*at] ^= change;
            }
            differs(&program, &other)
        };
        assert_eq!(with(&[]), Some(Vec::new()));
        let found = with(&[(at + 16, 1), (at + 20, 2)]).unwrap();
        let [MovedLocation { source, base, head }] = &*found else { panic!("{found:?}") };
        assert!(source.ends_with("locations.rs") && source.starts_with("src"), "{source}");
        assert_eq!((base.line ^ 1, base.column ^ 2), (head.line, head.column));
        assert!(base.line > 0 && base.column > 0);
        // The length of the name, with and without a change of the line.
        assert_eq!(with(&[(at + 8, 1)]), None);
        assert_eq!(with(&[(at + 8, 1), (at + 16, 1)]), None);
        let of = |name: &str| {
            let file = Elf::parse(&*program).unwrap();
            file.section_by_name(name).unwrap().file_range().unwrap().0 as usize
        };
        for name in [".text", ".rodata", ".data.rel.ro"] {
            assert_eq!(with(&[(of(name), 1)]), None, "{name}");
            assert_eq!(with(&[(at + 16, 1), (of(name), 1)]), None, "{name}");
        }
    }
}
