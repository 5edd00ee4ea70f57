//! The symbols of an object file: what it defines, and what it uses.

use object::elf::SHF_ALLOC;
use object::read::elf::ElfFile64;
use object::{Endianness, Object, ObjectSection, ObjectSymbol, SectionFlags};
use rustc_hash::FxHashMap;

/// The symbols of an object file.
#[derive(Default)]
pub struct ObjectSymbols<'a> {
    /// Those that it defines, with the size of each in bytes.
    pub defined: FxHashMap<&'a str, u64>,
    /// Those that it uses.
    pub undefined: Vec<&'a str>,
}

impl<'a> ObjectSymbols<'a> {
    /// Reads the symbols of an object file. An unreadable file, which the linker
    /// refuses, has none.
    pub fn of(file: &'a [u8]) -> Self {
        let mut symbols = Self::default();
        let Ok(file) = ElfFile64::<Endianness>::parse(file) else { return symbols };
        for symbol in file.symbols() {
            let Ok(name) = symbol.name() else { continue };
            if symbol.is_undefined() {
                symbols.undefined.push(name);
            } else {
                symbols.defined.insert(name, symbol.size());
            }
        }
        symbols
    }

    /// Returns the bytes of code and data that an object file takes in memory,
    /// roughly.
    pub fn memory(file: &[u8]) -> u64 {
        let Ok(file) = ElfFile64::<Endianness>::parse(file) else { return 0 };
        let is_allocated = |flags| match flags {
            SectionFlags::Elf { sh_flags } => sh_flags & u64::from(SHF_ALLOC) != 0,
            _ => false,
        };
        file.sections().filter(|section| is_allocated(section.flags())).map(|section| section.size()).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_object_file_has_no_symbols() {
        for bytes in [&b""[..], b"\x7fELF", b"\x7fELF\x02\x01", &[0xff; 200]] {
            let symbols = ObjectSymbols::of(bytes);
            assert!(symbols.defined.is_empty() && symbols.undefined.is_empty());
        }
    }
}
