//! Memory for large files.
#![allow(unsafe_code)]

use std::ops::Range;

/// The size of large pages in bytes, or a multiple of it.
const LARGE: usize = 2 << 20;

/// Creates an empty vector with room for a number of bytes, for a file that is read. The
/// system is asked for large pages: it takes longer to provide small ones than to read
/// the file into them.
pub fn room(bytes: usize) -> Vec<u8> {
    let mut room = Vec::new();
    // What is not there is found when it is used.
    let _ = room.try_reserve_exact(bytes);
    prefer_large_pages(room.spare_capacity_mut());
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
    prefer_large_pages(&mut all[start..start + bytes.next_multiple_of(LARGE)]);
    (all, start..start + bytes)
}

fn prefer_large_pages<T>(buffer: &mut [T]) {
    let bytes = size_of_val(buffer);
    if bytes < LARGE {
        return;
    }
    let page = page_size();
    let start = buffer.as_mut_ptr().cast::<u8>();
    let before = start.align_offset(page);
    let length = bytes.saturating_sub(before) / page * page;
    // SAFETY: the pages are within the buffer, which is borrowed, and keep what is in
    // them. Where there are no large pages, they come as others do.
    unsafe { libc::madvise(start.wrapping_add(before).cast(), length, libc::MADV_HUGEPAGE) };
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
        for bytes in [0, 1, LARGE, 3 * LARGE + 1] {
            let mut room = room(bytes);
            assert!(room.is_empty() && room.capacity() >= bytes);
            room.resize(bytes, 7);
            assert_eq!(room.iter().filter(|byte| **byte == 7).count(), bytes);
        }
    }
}
