//! The sizes of the functions of an object file.

use object::read::elf::ElfFile64;
use object::{Endianness, Object, ObjectSymbol};
use rustc_hash::FxHashMap;

/// Returns the size of each symbol of an object file in bytes. For statistics
/// only, so an unreadable file has none.
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
