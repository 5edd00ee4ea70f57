//! How much of an object file is instructions.
//!
//! Walks the section headers of a 64-bit little-endian ELF file and nothing
//! else; any other file counts as empty. Figures for people, so a file that
//! breaks off is no error.

/// Bytes in executable sections of an object file.
pub fn code_size(object: &[u8]) -> u64 {
    sections(object).unwrap_or(0)
}

/// Section headers that are executable (`SHF_EXECINSTR`).
const EXECUTABLE: u64 = 4;

fn sections(object: &[u8]) -> Option<u64> {
    if object.get(..6)? != b"\x7fELF\x02\x01" {
        return None;
    }
    let table = number::<8>(object, 0x28)? as usize;
    let entry = number::<2>(object, 0x3a)? as usize;
    let count = number::<2>(object, 0x3c)? as usize;
    let mut total = 0;
    for section in 0..count {
        let header = object.get(table.checked_add(section.checked_mul(entry)?)?..)?;
        if number::<8>(header, 0x08)? & EXECUTABLE != 0 {
            total += number::<8>(header, 0x20)?;
        }
    }
    Some(total)
}

/// The little-endian number of `N` bytes at an offset.
fn number<const N: usize>(bytes: &[u8], at: usize) -> Option<u64> {
    let digits = bytes.get(at..at.checked_add(N)?)?;
    Some(digits.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_object_file_has_no_code() {
        for bytes in [&b""[..], b"\x7fELF", b"\x7fELF\x02\x01", &[0xff; 200]] {
            assert_eq!(code_size(bytes), 0);
        }
        let mut cut_off = b"\x7fELF\x02\x01".to_vec();
        cut_off.resize(0x40, 0xff);
        assert_eq!(code_size(&cut_off), 0);
    }
}
