//! Memory for large files.
#![allow(unsafe_code)]

use std::ops::Range;

/// The size of large pages in bytes, or a multiple of it.
const LARGE: usize = 2 << 20;

/// The size from which it is worth asking for several pages at once, in bytes.
const SEVERAL: usize = 128 << 10;

/// Creates an empty vector with room for a number of bytes, for a file that is read. The
/// system is asked for large pages, or for all small ones at once: it takes longer to provide
/// these one by one than to read the file into them.
pub fn room(bytes: usize) -> Vec<u8> {
    let mut room = Vec::new();
    // What is not there is found when it is used.
    let _ = room.try_reserve_exact(bytes);
    let spare = room.spare_capacity_mut();
    if (SEVERAL..LARGE).contains(&bytes) {
        advise(spare, libc::MADV_POPULATE_WRITE);
    } else {
        prefer_large_pages(spare);
    }
    room
}

/// Creates zeros in place of which a file is read, within a vector that begins before them:
/// they begin where a large page can.
pub fn zeros(bytes: usize) -> (Vec<u8>, Range<usize>) {
    if bytes < LARGE {
        return (vec![0; bytes], 0..bytes);
    }
    // The system provides zeros where they are used.
    let mut all = vec![0; bytes.next_multiple_of(LARGE) + LARGE];
    let start = all.as_ptr().align_offset(LARGE);
    let rest = bytes % LARGE;
    // What is left of the last large page is worth another one if it is most of it.
    let in_large = if rest >= LARGE / 2 { bytes.next_multiple_of(LARGE) } else { bytes - rest };
    prefer_large_pages(&mut all[start..start + in_large]);
    advise(&mut all[start..start + bytes][in_large.min(bytes)..], libc::MADV_POPULATE_WRITE);
    (all, start..start + bytes)
}

fn prefer_large_pages<T>(buffer: &mut [T]) {
    if size_of_val(buffer) >= LARGE {
        advise(buffer, libc::MADV_HUGEPAGE);
    }
}

/// Says how the pages of a buffer are best provided. Where the system does not know that, they
/// come as others do.
fn advise<T>(buffer: &mut [T], how: libc::c_int) {
    let page = page_size();
    let start = buffer.as_mut_ptr().cast::<u8>();
    let before = start.align_offset(page);
    let length = size_of_val(buffer).saturating_sub(before) / page * page;
    // SAFETY: the pages are within the buffer, which is borrowed, and keep what is in
    // them.
    unsafe { libc::madvise(start.wrapping_add(before).cast(), length, how) };
}

fn page_size() -> usize {
    // SAFETY: it has no preconditions.
    usize::try_from(unsafe { libc::sysconf(libc::_SC_PAGESIZE) }).unwrap_or(4096)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zeros_begin_where_a_large_page_can() {
        for bytes in [0, 1, LARGE, 3 * LARGE + 1] {
            let (all, range) = zeros(bytes);
            assert_eq!(all[range.clone()].iter().filter(|byte| **byte == 0).count(), bytes);
            assert!(bytes < LARGE || all[range].as_ptr().align_offset(LARGE) == 0);
        }
    }

    #[test]
    fn room_is_empty_and_large_enough() {
        for bytes in [0, 1, SEVERAL, LARGE, 3 * LARGE + 1] {
            let mut room = room(bytes);
            assert!(room.is_empty() && room.capacity() >= bytes);
            room.resize(bytes, 7);
            assert_eq!(room.iter().filter(|byte| **byte == 7).count(), bytes);
        }
    }
}
