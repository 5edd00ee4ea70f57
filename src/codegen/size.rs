//! How large the functions of an object file are.

use object::read::elf::ElfFile64;
use object::{Endianness, Object, ObjectSymbol};
use rustc_hash::FxHashMap;

/// Bytes of each symbol of an object file. Figures for people, so a file that
/// cannot be read has none.
pub fn symbol_sizes(file: &[u8]) -> FxHashMap<&str, u64> {
    let Ok(file) = ElfFile64::<Endianness>::parse(file) else { return FxHashMap::default() };
    file.symbols().filter_map(|symbol| Some((symbol.name().ok()?, symbol.size()))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_object_file_has_no_symbols() {
        for bytes in [&b""[..], b"\x7fELF", b"\x7fELF\x02\x01", &[0xff; 200]] {
            assert!(symbol_sizes(bytes).is_empty());
        }
    }
}
