//! Files in memory, whose pages are shared with other processes.

#![allow(unsafe_code)]

use kal_code::CodeFile;
use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};
use std::fs::File;
use std::io;
use std::path::Path;
use std::ptr::{self, NonNull};

/// A file in memory, mapped until dropped.
pub(super) struct MappedFile {
    file: CodeFile,
    start: NonNull<u8>,
    size: usize,
}

// SAFETY: a mapping belongs to the process, not to a thread, and nothing writes to this one.
unsafe impl Send for MappedFile {}
// SAFETY: as above.
unsafe impl Sync for MappedFile {}

impl MappedFile {
    /// Maps a file as it is now.
    ///
    /// # Errors
    /// The system's error.
    ///
    /// # Safety
    /// It is neither written nor made shorter as long as it, or code of it, is mapped.
    pub(super) unsafe fn open(path: &Path) -> io::Result<Self> {
        // To open a pipe may take for ever.
        if !path.metadata()?.is_file() {
            return Err(io::Error::other("not a file"));
        }
        let file = File::open(path)?;
        let data = file.metadata()?;
        let size = usize::try_from(data.len()).map_err(|_| io::ErrorKind::OutOfMemory)?;
        // SAFETY: it is not written, as the caller says.
        let file = unsafe { CodeFile::new(file) };
        if size == 0 {
            return Ok(Self { file, start: NonNull::dangling(), size });
        }
        // SAFETY: the system chooses addresses that nothing uses.
        let start =
            unsafe { mmap(ptr::null_mut(), size, ProtFlags::READ, MapFlags::PRIVATE, file.as_ref(), 0)? };
        let start = NonNull::new(start.cast()).ok_or(io::ErrorKind::OutOfMemory)?;
        Ok(Self { file, start, size })
    }

    /// Returns the file, whose code may be mapped once more.
    pub(super) fn code(&self) -> &CodeFile {
        &self.file
    }

    /// Returns what is in it.
    pub(super) fn bytes(&self) -> &[u8] {
        // SAFETY: as many bytes are mapped, or there are none; they are not written, as the
        // caller of `open` has said.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.size) }
    }
}

impl Drop for MappedFile {
    fn drop(&mut self) {
        if self.size > 0 {
            // SAFETY: it was mapped by `open`, and is unmapped once; no borrow outlives `self`.
            let _ = unsafe { munmap(self.start.as_ptr().cast(), self.size) };
        }
    }
}
