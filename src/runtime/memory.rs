//! Reserved address ranges: zeroed, committed by the system page by page on
//! first use.
//!
//! To map and unmap a range takes longer than all else that a small context
//! costs. So some ranges that are not used any more stay mapped, without
//! memory, and are used again.
#![allow(unsafe_code)]

use crate::process::{self, Activity};
use parking_lot::Mutex;
use std::io;
use std::mem::{self, ManuallyDrop};
use std::ptr::{self, NonNull};

/// A range of addresses of its own.
pub(super) struct AddressRange(ManuallyDrop<Mapping>);

/// A range of addresses, mapped until dropped.
struct Mapping {
    start: NonNull<u8>,
    size: usize,
    has_guard: bool,
}

/// Mappings that are not in use. All their bytes are 0.
static SPARE: Mutex<Vec<Mapping>> = Mutex::new(Vec::new());

/// The number of mappings that are kept for use.
const MOST_SPARE: usize = 64;

/// Calls `work` with the spare mappings. No fork comes in between.
fn with_spare<T>(work: impl FnOnce(&mut Vec<Mapping>) -> T) -> T {
    process::within(Activity::Steady, || work(&mut SPARE.lock()))
}

// SAFETY: the range is owned; it is accessed through atomics only (`at`), or
// as a stack by the one thread that runs on it.
unsafe impl Send for Mapping {}
// SAFETY: as above.
unsafe impl Sync for Mapping {}

/// Types that can be anywhere in such memory: any bytes are a valid value, and
/// shared references change them only by atomic operations.
///
/// # Safety
/// Implement it for atomics and `repr(C)` structures of atomics only.
pub(super) unsafe trait AtomicWord {}
// SAFETY: an atomic.
unsafe impl AtomicWord for std::sync::atomic::AtomicUsize {}
// SAFETY: an atomic.
unsafe impl AtomicWord for std::sync::atomic::AtomicU32 {}
// SAFETY: an atomic.
unsafe impl AtomicWord for std::sync::atomic::AtomicU64 {}
// SAFETY: a `repr(C)` structure of atomics.
unsafe impl AtomicWord for crate::abi::Header {}

/// The unit of protection, in bytes.
pub(super) const PAGE: usize = 4096;

impl AddressRange {
    /// Reserves `size` bytes.
    pub(super) fn new(size: usize) -> io::Result<Self> {
        Self::with(size, false)
    }

    /// Reserves `size` bytes whose lowest page is a guard page.
    pub(super) fn with_guard(size: usize) -> io::Result<Self> {
        Self::with(size, true)
    }

    fn with(size: usize, has_guard: bool) -> io::Result<Self> {
        let size = size.checked_next_multiple_of(PAGE).ok_or(io::ErrorKind::OutOfMemory)?;
        let spare = with_spare(|spare| {
            let fits = |mapping: &Mapping| mapping.size == size && mapping.has_guard == has_guard;
            spare.iter().rposition(fits).map(|at| spare.swap_remove(at))
        });
        let make = || {
            Mapping::new(size, has_guard).or_else(|_| {
                // Spare mappings may take the addresses that are missing.
                drop(with_spare(mem::take));
                Mapping::new(size, has_guard)
            })
        };
        Ok(Self(ManuallyDrop::new(spare.map_or_else(make, Ok)?)))
    }

    /// Returns the lowest address.
    #[inline]
    pub(super) fn address(&self) -> usize {
        self.0.start.as_ptr() as usize
    }

    /// Returns the size in bytes.
    #[inline]
    pub(super) fn size(&self) -> usize {
        self.0.size
    }

    /// Returns the first `length` bytes, except the first page, to the system;
    /// they read as 0 afterwards.
    pub(super) fn release(&self, length: usize) {
        let length = length.min(self.0.size) / PAGE * PAGE;
        if length > PAGE {
            // If that fails, its content stays, which does no harm.
            let _ = self.0.clear(PAGE, length);
        }
    }

    /// Returns the value at `offset`, which must be aligned for it and in
    /// range.
    #[inline]
    pub(super) fn at<T: AtomicWord>(&self, offset: usize) -> &T {
        assert!(offset.is_multiple_of(align_of::<T>()) && offset + size_of::<T>() <= self.0.size);
        // SAFETY: in range and aligned as just checked (the start is aligned
        // to a page); `AtomicWord` types accept any bytes and shared access.
        unsafe { self.0.start.add(offset).cast().as_ref() }
    }
}

impl AddressRange {
    /// Returns the `count` values from `offset` on, which must be aligned and
    /// in range.
    #[inline]
    pub(super) fn many<T: AtomicWord>(&self, offset: usize, count: usize) -> &[T] {
        assert!(offset.is_multiple_of(align_of::<T>()) && offset + count * size_of::<T>() <= self.0.size);
        // SAFETY: in range and aligned as just checked (the start is aligned
        // to a page); `AtomicWord` types accept any bytes and shared access.
        unsafe { std::slice::from_raw_parts(self.0.start.add(offset).cast().as_ptr(), count) }
    }
}

impl Drop for AddressRange {
    fn drop(&mut self) {
        // SAFETY: taken once, here; `self` is not used any more.
        let mapping = unsafe { ManuallyDrop::take(&mut self.0) };
        let from = if mapping.has_guard { PAGE } else { 0 };
        let is_clear = mapping.clear(from, mapping.size);
        let surplus = with_spare(|spare| {
            if is_clear && spare.len() < MOST_SPARE {
                spare.push(mapping);
                return None;
            }
            Some(mapping)
        });
        drop(surplus);
    }
}

impl Mapping {
    fn new(size: usize, has_guard: bool) -> io::Result<Self> {
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
        // SAFETY: a new private mapping touches no other memory.
        let start =
            unsafe { libc::mmap(ptr::null_mut(), size, libc::PROT_READ | libc::PROT_WRITE, flags, -1, 0) };
        if start == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let start = NonNull::new(start.cast()).ok_or_else(io::Error::last_os_error)?;
        let mapping = Self { start, size, has_guard };
        // SAFETY: the page lies in the mapping just made, which nothing uses yet.
        if has_guard && unsafe { libc::mprotect(start.as_ptr().cast(), PAGE, libc::PROT_NONE) } != 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(mapping)
    }

    /// Returns the memory of the bytes `from..to`, whole pages, to the system:
    /// they read as 0 afterwards. Returns whether that worked.
    fn clear(&self, from: usize, to: usize) -> bool {
        // SAFETY: whole pages of the mapping, whose content is not needed any
        // more; access is by atomics, to which they appear as zeros.
        let result =
            unsafe { libc::madvise(self.start.as_ptr().add(from).cast(), to - from, libc::MADV_DONTNEED) };
        result == 0
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: the range was mapped by `new` and is unmapped once; no
        // reference outlives `self`.
        unsafe { libc::munmap(self.start.as_ptr().cast(), self.size) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicU64, Ordering};

    #[test]
    fn ranges_that_are_used_again_are_zero() {
        const SIZE: usize = 16 * PAGE;
        for _ in 0..MOST_SPARE * 2 {
            for range in [AddressRange::new(SIZE), AddressRange::with_guard(SIZE)] {
                let range = range.expect("there are addresses");
                let words: &[AtomicU64] = range.many(PAGE, (SIZE - PAGE) / 8);
                assert!(words.iter().all(|word| word.swap(7, Ordering::Relaxed) == 0));
            }
        }
        let ranges: Vec<_> = (0..MOST_SPARE * 2).map(|_| AddressRange::new(SIZE)).collect();
        drop(ranges);
        assert!(with_spare(|spare| spare.len()) <= MOST_SPARE);
    }
}
