//! Two views of one memory, side by side: one to execute and read, one to write.

#![allow(unsafe_code)]

use std::ffi::c_void;
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::ptr::{self, NonNull};

use rustix::fs::{MemfdFlags, ftruncate, memfd_create};
use rustix::io::Errno;
use rustix::mm::{
    Advice, MapFlags, MprotectFlags, MremapFlags, ProtFlags, madvise, mmap, mmap_anonymous, mprotect,
    mremap_fixed, munmap,
};

use super::address::Address;
use super::error::CodeError;

/// Address space that is left to others if the process may have little: stacks, contexts
/// and a compiler need some, too.
const SPARE: usize = 450 << 20;

/// How many pages of those that are all the same are in memory, and how many times these are mapped
/// at most, unless more are needed.
const STRETCH: usize = 8;
const MOST_STRETCHES: usize = 32;

/// Two views of a memory for code: the executable one, and the writable one right behind it.
/// Both are unmapped when it is dropped.
pub(super) struct Views {
    base: NonNull<c_void>,
    /// The size of each view, in bytes.
    size: usize,
}

/// Code that cannot be written any more. It is unmapped when it is dropped.
pub(super) struct SealedCode {
    base: NonNull<c_void>,
    size: usize,
}

// SAFETY: mappings belong to the process, not to a thread, and the contents are only
// reached through the `unsafe` methods below.
unsafe impl Send for Views {}
// SAFETY: as above.
unsafe impl Sync for Views {}
// SAFETY: as above; nothing writes to it.
unsafe impl Send for SealedCode {}
// SAFETY: as above.
unsafe impl Sync for SealedCode {}

fn refused(call: &'static str) -> impl Fn(Errno) -> CodeError {
    move |error| CodeError::System { call, error: error.into() }
}

/// Reserves addresses, without memory.
fn reserve(bytes: usize) -> Result<NonNull<c_void>, Errno> {
    let flags = MapFlags::PRIVATE | MapFlags::NORESERVE;
    // SAFETY: the system chooses addresses that nothing uses.
    let base = unsafe { mmap_anonymous(ptr::null_mut(), bytes, ProtFlags::empty(), flags)? };
    NonNull::new(base).ok_or(Errno::NOMEM)
}

/// Returns whether the process may reserve that many more bytes of address space.
fn may_reserve(bytes: usize) -> bool {
    // SAFETY: what was just reserved has no other owner.
    reserve(bytes).is_ok_and(|base| unsafe { munmap(base.as_ptr(), bytes) }.is_ok())
}

/// Creates a file in memory that cannot be run as a program.
pub(super) fn create_file() -> Result<OwnedFd, Errno> {
    match memfd_create("code", MemfdFlags::CLOEXEC | MemfdFlags::NOEXEC_SEAL) {
        // Linux before 6.3 does not know the flag.
        Err(Errno::INVAL) => memfd_create("code", MemfdFlags::CLOEXEC),
        file => file,
    }
}

impl Views {
    /// Maps two views of `size` bytes; of fewer, down to `smallest` and a multiple of it, if the
    /// process could not have [`SPARE`] addresses as well. perf(1) looks up names in
    /// `anonymous` memory, but not in that of a file. Returns the file, if they are of one.
    ///
    /// # Errors
    /// The system call that fails.
    pub(super) fn new(
        size: usize,
        smallest: usize,
        anonymous: bool,
    ) -> Result<(Self, Option<OwnedFd>), CodeError> {
        let mut size = size;
        while size > smallest && !may_reserve(2 * size + SPARE) {
            size = (size / 2).next_multiple_of(smallest);
        }
        let base = reserve(2 * size).map_err(refused("mmap"))?;
        let views = Self { base, size };
        // Some processes may not create such files.
        let file = if anonymous { None } else { views.map_new_file().ok() };
        if file.is_none() {
            views.map_anonymous()?;
        }
        Ok((views, file))
    }

    /// Returns the size of each view, in bytes.
    pub(super) fn size(&self) -> usize {
        self.size
    }

    /// Returns the address at an offset in the executable view.
    pub(super) fn executable(&self, offset: usize) -> Address {
        debug_assert!(offset <= self.size);
        Address::of(self.base.as_ptr().wrapping_byte_add(offset))
    }

    /// Returns the memory at an offset in the writable view.
    pub(super) fn writable(&self, offset: usize) -> *mut u8 {
        debug_assert!(offset <= self.size);
        self.base.as_ptr().wrapping_byte_add(self.size + offset).cast()
    }

    /// Returns a part of the memory.
    ///
    /// # Safety
    /// It is in the views, and nothing writes to it while the result is used.
    pub(super) unsafe fn bytes(&self, offset: usize, size: usize) -> &[u8] {
        // SAFETY: it is mapped and readable, and does not change, as the caller says.
        unsafe { std::slice::from_raw_parts(self.base.as_ptr().byte_add(offset).cast(), size) }
    }

    /// Returns the memory of a part to the system. If that refuses, it merely stays
    /// occupied.
    ///
    /// # Safety
    /// It is in the views, in whole pages, and its contents are not used any more.
    pub(super) unsafe fn release(&self, offset: usize, size: usize) {
        // SAFETY: the contents are not needed, as the caller says.
        let _ = unsafe { madvise(self.writable(offset).cast(), size, Advice::LinuxRemove) };
    }

    /// Puts private memory, to be written, in the place of a part of the executable view:
    /// the system provides it in large pages, and counts it once.
    ///
    /// # Safety
    /// The part is in the view, in whole pages, and its contents are not used any more.
    pub(super) unsafe fn replace(&self, offset: usize, size: usize) -> Result<(), Errno> {
        let start = self.base.as_ptr().wrapping_byte_add(offset);
        let flags = MapFlags::PRIVATE | MapFlags::FIXED;
        // SAFETY: the addresses are ours, and their contents are not used, as the caller says.
        // Where there are no large pages, small ones come.
        unsafe {
            mmap_anonymous(start, size, ProtFlags::READ | ProtFlags::WRITE, flags)?;
            let _ = madvise(start, size, Advice::LinuxHugepage);
        }
        Ok(())
    }

    /// Puts private memory with what is in a file from an offset on, to be written, in the place
    /// of a part of the executable view.
    ///
    /// # Safety
    /// As for [`replace`](Self::replace); both offsets are of whole pages, and what is mapped of
    /// the file does not change as long as it is there.
    pub(super) unsafe fn map_part(
        &self,
        file: BorrowedFd<'_>,
        from: u64,
        offset: usize,
        size: usize,
    ) -> Result<(), Errno> {
        let start = self.base.as_ptr().wrapping_byte_add(offset);
        let (protection, flags) = (ProtFlags::READ | ProtFlags::WRITE, MapFlags::PRIVATE | MapFlags::FIXED);
        // SAFETY: the addresses are ours, and their contents are not used, as the caller says.
        unsafe { mmap(start, size, protection, flags, file, from) }.map(|_| ())
    }

    /// Makes private memory executable, which can be written no more then.
    ///
    /// # Safety
    /// It has been put there by [`replace`](Self::replace) or [`map_part`](Self::map_part).
    pub(super) unsafe fn make_executable(&self, offset: usize, size: usize) -> Result<(), Errno> {
        let start = self.base.as_ptr().wrapping_byte_add(offset);
        // SAFETY: the addresses are ours.
        unsafe { mprotect(start, size, MprotectFlags::READ | MprotectFlags::EXEC) }
    }

    /// Puts a part of the file back in the place of private memory.
    ///
    /// # Safety
    /// It is in the view, in whole pages, and what is there is not used any more; the views are
    /// those of the file.
    pub(super) unsafe fn restore(
        &self,
        file: BorrowedFd<'_>,
        offset: usize,
        size: usize,
    ) -> Result<(), Errno> {
        let start = self.base.as_ptr().wrapping_byte_add(offset);
        let (protection, flags) = (ProtFlags::READ | ProtFlags::EXEC, MapFlags::SHARED | MapFlags::FIXED);
        // SAFETY: the addresses are ours, and what is there is not used, as the caller says.
        unsafe { mmap(start, size, protection, flags, file, offset as u64) }.map(|_| ())
    }

    fn map_new_file(&self) -> Result<OwnedFd, Errno> {
        let file = create_file()?;
        ftruncate(&file, self.size as u64)?;
        // SAFETY: nothing is in the views yet.
        unsafe { self.map(file.as_fd()) }?;
        Ok(file)
    }

    /// Maps a file of the size of the views in their place. They keep the file.
    ///
    /// # Safety
    /// The file holds what is used of their contents.
    pub(super) unsafe fn map(&self, file: BorrowedFd<'_>) -> Result<(), Errno> {
        let flags = MapFlags::SHARED | MapFlags::FIXED;
        let at = |offset, protection| {
            let start = self.base.as_ptr().wrapping_byte_add(offset);
            // SAFETY: the addresses are ours, and what they hold is in the file.
            unsafe { mmap(start, self.size, protection, flags, file, 0) }.map(|_| ())
        };
        at(0, ProtFlags::READ | ProtFlags::EXEC)?;
        at(self.size, ProtFlags::READ | ProtFlags::WRITE)
    }

    /// Maps anonymous memory twice, all of which is charged to the process if the system does
    /// not overcommit. The view to write is a second mapping of the executable one, and
    /// never the other way round: a process that may not make memory executable may still
    /// take execution away.
    fn map_anonymous(&self) -> Result<(), CodeError> {
        let (code, size) = (self.base.as_ptr(), self.size);
        let protection = ProtFlags::READ | ProtFlags::EXEC;
        let flags = MapFlags::SHARED | MapFlags::NORESERVE | MapFlags::FIXED;
        let writable = self.writable(0).cast();
        // SAFETY: both ranges are ours, and nothing is in them yet. A shared mapping of
        // size 0 moves nothing and is mapped once more.
        unsafe {
            mmap_anonymous(code, size, protection, flags).map_err(refused("mmap"))?;
            let moves = MremapFlags::MAYMOVE;
            mremap_fixed(code, 0, size, moves, writable).map_err(refused("mremap"))?;
            mprotect(writable, size, MprotectFlags::READ | MprotectFlags::WRITE).map_err(refused("mprotect"))
        }
    }

    /// Writes all of the memory, given the address that it will run at, and unmaps the
    /// writable view.
    pub(super) fn seal(self, write: impl FnOnce(Address, &mut [u8])) -> SealedCode {
        let (base, size) = (self.base, self.size);
        // SAFETY: it is mapped, and has no other owner.
        let memory = unsafe { std::slice::from_raw_parts_mut(self.writable(0), size) };
        write(self.executable(0), memory);
        // SAFETY: the slice is not used any more.
        let _ = unsafe { munmap(self.writable(0).cast(), size) };
        std::mem::forget(self);
        SealedCode { base, size }
    }
}

impl Drop for Views {
    fn drop(&mut self) {
        // SAFETY: what runs code in it, or reads it, owns it.
        let _ = unsafe { munmap(self.base.as_ptr(), 2 * self.size) };
    }
}

impl SealedCode {
    /// Creates pages that are all the same, which are few in memory.
    ///
    /// # Errors
    /// The system call that fails.
    pub(super) fn repeated(page: &[u8], pages: usize) -> Result<Self, CodeError> {
        // To map a stretch takes as long as to write a page.
        let stretch = pages.min(STRETCH.max(pages.div_ceil(MOST_STRETCHES)));
        let stretches = pages.div_ceil(stretch);
        let part = page.repeat(stretch);
        // Some processes may not create or run such files.
        if let Ok(code) = Self::mapped(&part, stretches) {
            return Ok(code);
        }
        let size = part.len() * stretches;
        let (views, _) = Views::new(size, size, true)?;
        Ok(views.seal(|_, memory| {
            memory.chunks_exact_mut(part.len()).for_each(|place| place.copy_from_slice(&part));
        }))
    }

    /// Writes a part to a file, and maps that a number of times.
    fn mapped(part: &[u8], times: usize) -> io::Result<Self> {
        let mut file = File::from(create_file()?);
        file.write_all(part)?;
        let size = part.len() * times;
        let code = Self { base: reserve(size)?, size };
        let flags = MapFlags::SHARED | MapFlags::FIXED;
        for time in 0..times {
            let start = code.base.as_ptr().wrapping_byte_add(time * part.len());
            // SAFETY: the addresses are ours, and nothing is there yet.
            unsafe { mmap(start, part.len(), ProtFlags::READ | ProtFlags::EXEC, flags, &file, 0)? };
        }
        Ok(code)
    }

    /// Returns the address of its first byte.
    pub(super) fn address(&self) -> Address {
        Address::of(self.base.as_ptr())
    }
}

impl Drop for SealedCode {
    fn drop(&mut self) {
        // SAFETY: as above.
        let _ = unsafe { munmap(self.base.as_ptr(), self.size) };
    }
}
