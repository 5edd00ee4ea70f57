//! Finding an image in a shared object, which need not be loaded for that: an image is data.

use object::read::elf::{ElfFile64, ProgramHeader as _};
use object::{Endianness, Object, ObjectSymbol};
use std::ops::Range;

/// The symbols of an image in a shared object or an executable: its first byte, and its
/// size as a number of eight bytes.
pub(crate) const START_SYMBOL: &str = "kal_image";
/// See [`START_SYMBOL`].
pub(crate) const SIZE_SYMBOL: &str = "kal_image_size";

/// Returns where the image is in the bytes of a shared object.
///
/// # Errors
/// Why there is none, for people.
pub(super) fn find(bytes: &[u8]) -> Result<Range<usize>, &'static str> {
    let file = ElfFile64::<Endianness>::parse(bytes).map_err(|_| "not a shared object, or a damaged one")?;
    let missing = "there is no image in it";
    let address = |name: &str| {
        let symbol = file.dynamic_symbols().find(|symbol| symbol.name() == Ok(name));
        symbol.map(|symbol| symbol.address()).ok_or(missing)
    };
    let place = |address: u64, size: u64| {
        let endian = file.endian();
        let end = address.checked_add(size);
        file.elf_program_headers().iter().find_map(|header| {
            let (start, in_file) = header.file_range(endian);
            let offset = address.checked_sub(header.p_vaddr(endian)).filter(|offset| *offset <= in_file)?;
            let last = end?.checked_sub(header.p_vaddr(endian)).filter(|end| *end <= in_file)?;
            let place = start.checked_add(offset)?..start.checked_add(last)?;
            let place = usize::try_from(place.start).ok()?..usize::try_from(place.end).ok()?;
            (place.end <= bytes.len()).then_some(place)
        })
    };
    let cut_off = "it is cut off, or damaged";
    let size = place(address(SIZE_SYMBOL)?, 8).ok_or(cut_off)?;
    let size = bytes[size].first_chunk().map(|size| u64::from_le_bytes(*size)).ok_or(cut_off)?;
    place(address(START_SYMBOL)?, size).ok_or(cut_off)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_shared_object_with_an_image_is_refused() {
        let itself = std::env::current_exe().and_then(std::fs::read).expect("a test is a file");
        assert_eq!(find(&itself), Err("there is no image in it"));
        for bytes in [&b""[..], b"def f(x) x", &itself[..100]] {
            assert!(find(bytes).is_err(), "{} bytes", bytes.len());
        }
    }
}
