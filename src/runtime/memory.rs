//! Reserved address ranges: zeroed, committed by the system page by page on
//! first use.
#![allow(unsafe_code)]

use std::io;
use std::ptr::{self, NonNull};

/// A range of addresses, mapped until dropped.
pub(super) struct AddressRange {
    start: NonNull<u8>,
    size: usize,
}

// SAFETY: the range is owned; it is accessed through atomics only (`at`), or
// as a stack by the one thread that runs on it.
unsafe impl Send for AddressRange {}
// SAFETY: as above.
unsafe impl Sync for AddressRange {}

/// Types that can be anywhere in such memory: any bytes are a valid value, and
/// shared references change them only by atomic operations.
///
/// # Safety
/// Implement it for atomics and `repr(C)` structures of atomics only.
pub(super) unsafe trait AtomicWord {}
// SAFETY: an atomic.
unsafe impl AtomicWord for std::sync::atomic::AtomicUsize {}
// SAFETY: an atomic.
unsafe impl AtomicWord for std::sync::atomic::AtomicU64 {}
// SAFETY: a `repr(C)` structure of atomics.
unsafe impl AtomicWord for crate::abi::Header {}

/// The unit of protection, in bytes.
const PAGE: usize = 4096;

impl AddressRange {
    /// Reserves `size` bytes.
    pub(super) fn new(size: usize) -> io::Result<Self> {
        let size = size.checked_next_multiple_of(PAGE).ok_or(io::ErrorKind::OutOfMemory)?;
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
        // SAFETY: a new private mapping touches no other memory.
        let start =
            unsafe { libc::mmap(ptr::null_mut(), size, libc::PROT_READ | libc::PROT_WRITE, flags, -1, 0) };
        if start == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        NonNull::new(start.cast()).map(|start| Self { start, size }).ok_or_else(io::Error::last_os_error)
    }

    /// Reserves `size` bytes whose lowest page is a guard page.
    pub(super) fn with_guard(size: usize) -> io::Result<Self> {
        let memory = Self::new(size)?;
        // SAFETY: the page lies in the range just made, which nothing uses yet.
        match unsafe { libc::mprotect(memory.start.as_ptr().cast(), PAGE, libc::PROT_NONE) } {
            0 => Ok(memory),
            _ => Err(io::Error::last_os_error()),
        }
    }

    /// Returns the lowest address.
    #[inline]
    pub(super) fn address(&self) -> usize {
        self.start.as_ptr() as usize
    }

    /// Returns the size in bytes.
    #[inline]
    pub(super) fn size(&self) -> usize {
        self.size
    }

    /// Returns the first `length` bytes, except a guard page, to the system;
    /// they read as 0 afterwards.
    pub(super) fn release(&self, length: usize) {
        let length = length.min(self.size) / PAGE * PAGE;
        if length > PAGE {
            // SAFETY: whole pages of the range, whose content is not needed any
            // more; access is by atomics, to which they appear as zeros.
            unsafe {
                let start = self.start.as_ptr().add(PAGE);
                libc::madvise(start.cast(), length - PAGE, libc::MADV_DONTNEED);
            }
        }
    }

    /// Returns the value at `offset`, which must be aligned for it and in
    /// range.
    #[inline]
    pub(super) fn at<T: AtomicWord>(&self, offset: usize) -> &T {
        assert!(offset.is_multiple_of(align_of::<T>()) && offset + size_of::<T>() <= self.size);
        // SAFETY: in range and aligned as just checked (the start is aligned
        // to a page); `AtomicWord` types accept any bytes and shared access.
        unsafe { self.start.add(offset).cast().as_ref() }
    }
}

impl AddressRange {
    /// Returns the `count` values from `offset` on, which must be aligned and
    /// in range.
    #[inline]
    pub(super) fn many<T: AtomicWord>(&self, offset: usize, count: usize) -> &[T] {
        assert!(offset.is_multiple_of(align_of::<T>()) && offset + count * size_of::<T>() <= self.size);
        // SAFETY: in range and aligned as just checked (the start is aligned
        // to a page); `AtomicWord` types accept any bytes and shared access.
        unsafe { std::slice::from_raw_parts(self.start.add(offset).cast().as_ptr(), count) }
    }
}

impl Drop for AddressRange {
    fn drop(&mut self) {
        // SAFETY: the range was mapped by `new` and is unmapped once; no
        // reference outlives `self`.
        unsafe { libc::munmap(self.start.as_ptr().cast(), self.size) };
    }
}
