//! An executable of ELF.

use std::collections::BTreeMap;

use object::read::elf::ElfFile64;
use object::{LittleEndian, Object, ObjectSymbol};

use super::object_file::{is_function, name_of};

/// What an executable contains about itself.
#[derive(Debug, Default)]
pub(super) struct Executable {
    /// Where it begins; `None` if its format is unknown.
    pub(super) entry: Option<u64>,
    /// The addresses of its functions; empty if it was stripped.
    pub(super) functions: BTreeMap<String, Vec<u64>>,
}

impl Executable {
    pub(super) fn read(content: &[u8]) -> Self {
        let Ok(file) = ElfFile64::<LittleEndian>::parse(content) else { return Self::default() };
        let mut functions: BTreeMap<String, Vec<u64>> = BTreeMap::new();
        for symbol in file.symbols().filter(is_function) {
            if let Some(name) = name_of(&symbol) {
                functions.entry(name).or_default().push(symbol.address());
            }
        }
        Executable { entry: Some(file.entry()), functions }
    }
}
