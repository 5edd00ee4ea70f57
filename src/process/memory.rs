//! Memory for large files.
#![allow(unsafe_code)]

use std::alloc::{Layout, alloc_zeroed};
use std::ops::Range;

/// The size of large pages in bytes, or a multiple of it.
const LARGE: usize = 2 << 20;

/// How much of a large page is worth one, in bytes: what is not used of it is memory all the same.
const WORTH_LARGE: usize = LARGE / 4 * 3;

/// The size from which it is worth asking for several pages at once, in bytes.
const SEVERAL: usize = 128 << 10;

/// Creates zeros in place of which a file is read, within a vector that begins before them; `None` if
/// there is no memory for them. The system is asked for large pages, which the zeros begin with, or for
/// all small ones at once: it takes longer to provide these one by one than to read the file into them.
pub fn zeros(bytes: usize) -> Option<(Vec<u8>, Range<usize>)> {
    if bytes < WORTH_LARGE {
        let mut all = zeroed(bytes)?;
        if bytes >= SEVERAL {
            advise(&mut all, libc::MADV_POPULATE_WRITE);
        }
        return Some((all, 0..bytes));
    }
    // The system provides zeros where they are used.
    let mut all = zeroed(bytes.checked_next_multiple_of(LARGE)?.checked_add(LARGE)?)?;
    let start = all.as_ptr().align_offset(LARGE);
    let rest = bytes % LARGE;
    let in_large = if rest >= WORTH_LARGE { bytes.next_multiple_of(LARGE) } else { bytes - rest };
    advise(&mut all[start..start + in_large], libc::MADV_HUGEPAGE);
    advise(&mut all[start..start + bytes][in_large.min(bytes)..], libc::MADV_POPULATE_WRITE);
    Some((all, start..start + bytes))
}

/// Creates a vector of zeros; `None` if there is no memory for it.
fn zeroed(bytes: usize) -> Option<Vec<u8>> {
    let layout = Layout::array::<u8>(bytes).ok().filter(|layout| layout.size() > 0);
    let Some(layout) = layout else { return (bytes == 0).then(Vec::new) };
    // SAFETY: the size is not 0. The memory is as `Vec` asks for it, and all of it is initialised.
    unsafe {
        let memory = alloc_zeroed(layout);
        (!memory.is_null()).then(|| Vec::from_raw_parts(memory, bytes, bytes))
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
        for bytes in [0, 1, SEVERAL, WORTH_LARGE - 1, WORTH_LARGE, LARGE, 3 * LARGE + 1] {
            let (all, range) = zeros(bytes).expect("there is memory");
            assert_eq!(all[range.clone()].iter().filter(|byte| **byte == 0).count(), bytes);
            assert!(bytes < WORTH_LARGE || all[range].as_ptr().align_offset(LARGE) == 0);
        }
        assert!([usize::MAX, usize::MAX / 2, 1 << 60].into_iter().all(|bytes| zeros(bytes).is_none()));
    }
}
