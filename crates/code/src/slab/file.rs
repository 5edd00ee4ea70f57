//! Code in a file, which runs where a slab maps that.

#![allow(unsafe_code)]

use std::fs::File;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::FileExt;
use std::sync::Arc;

use super::private::PAGE;

/// A file with code that does not change.
#[derive(Clone, Debug)]
pub struct CodeFile(Arc<File>);

/// Code in a file: where it begins, and its size, in bytes.
#[derive(Clone, Debug)]
pub struct CodePart {
    pub(super) file: CodeFile,
    pub(super) offset: u64,
    pub(super) size: usize,
}

impl CodeFile {
    /// Wraps a file that is open to read.
    ///
    /// # Safety
    /// It is neither written nor made shorter as long as this, or a slab with code of it, is
    /// there; one that takes its place in its folder does no harm.
    pub unsafe fn new(file: File) -> Self {
        Self(Arc::new(file))
    }

    /// Returns a part of the file; `None` if it does not begin at a page, or is not there.
    pub fn part(&self, offset: u64, size: usize) -> Option<CodePart> {
        let end = offset.checked_add(size as u64)?;
        let is_there = offset.is_multiple_of(PAGE as u64) && size > 0 && end <= self.0.metadata().ok()?.len();
        is_there.then(|| CodePart { file: self.clone(), offset, size })
    }
}

impl AsRef<File> for CodeFile {
    fn as_ref(&self) -> &File {
        &self.0
    }
}

impl CodePart {
    /// Fills memory of its size. Returns whether all of it could be read.
    pub(super) fn read(&self, memory: &mut [u8]) -> bool {
        self.file.0.read_exact_at(memory, self.offset).is_ok()
    }
}

impl AsFd for CodePart {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.0.as_fd()
    }
}
