//! Large code, in private memory of its own.
//!
//! A page of a file that is mapped twice takes microseconds, and is counted twice. So code that
//! is large is written to private memory in the place of a part of the executable view, which is
//! made executable then. Code of a file that does not change is mapped there: its pages are
//! those of other processes until they are written. Where the system forbids that, it is placed
//! as other code is.

#![allow(unsafe_code)]

use std::collections::BTreeSet;
use std::os::fd::{AsFd, OwnedFd};
use std::slice;

use super::file::CodePart;
use super::ranges::Range;
use super::{Address, CodeError, PlacedCode, Slab, in_bytes};
use crate::views::Views;

/// The size from which code is large, in bytes: it takes three calls of the system.
const LARGE: usize = 128 << 10;

/// The size of a small page, and of a large one, in bytes.
pub(super) const PAGE: usize = 4 << 10;
const LARGE_PAGE: usize = 2 << 20;

/// The parts of a slab that are private memory.
pub(super) struct PrivateRanges {
    /// What the views are mapped from; `None` if there is no file, and so no private memory.
    file: Option<OwnedFd>,
    starts: BTreeSet<u32>,
    /// Whether the system lets what was written be executed.
    is_allowed: bool,
}

impl PrivateRanges {
    pub(super) fn new(file: Option<OwnedFd>) -> Self {
        let is_allowed = file.is_some();
        Self { file, starts: BTreeSet::new(), is_allowed }
    }

    /// Returns how many there are.
    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.starts.len()
    }

    /// Replaces all by what is in the file that the views are mapped from now.
    pub(super) fn replace(&mut self, file: OwnedFd) {
        self.file = Some(file);
        self.starts.clear();
    }

    /// Makes a range one as all others are. Returns whether it is.
    ///
    /// # Safety
    /// The range is in the views, and nothing uses its memory any more.
    pub(super) unsafe fn restore(&mut self, views: &Views, range: Range) -> bool {
        let Some(file) = self.file.as_ref().filter(|_| self.starts.contains(&range.start)) else {
            return true;
        };
        let (offset, size) = in_bytes(range);
        // SAFETY: as the caller says; private ranges are whole pages, in views of the file.
        let is_restored = unsafe { views.restore(file.as_fd(), offset, size) }.is_ok();
        if is_restored {
            self.starts.remove(&range.start);
        }
        is_restored
    }
}

/// Private memory that is to be written.
pub(super) struct PrivateRoom {
    placed: PlacedCode,
    /// Whether the system may refuse to execute it, since it is of a file, but not other memory.
    is_of_file: bool,
}

impl PrivateRoom {
    /// Takes room for code of that size and alignment, if it is large, and there is some. It
    /// begins with that of a file.
    pub(super) fn take(slab: &Slab, size: usize, alignment: usize, part: Option<&CodePart>) -> Option<Self> {
        if size < LARGE || alignment > PAGE {
            return None;
        }
        let memory = &slab.0.memory;
        // What is left of the last large page is worth another one if it is most of it.
        let is_worth = part.is_none() && size % LARGE_PAGE >= LARGE_PAGE / 2;
        let whole = size.next_multiple_of(if is_worth { LARGE_PAGE } else { PAGE });
        let alignment = if part.is_none() && whole >= LARGE_PAGE { LARGE_PAGE } else { PAGE };
        let range = {
            let ranges = &mut *memory.ranges.lock();
            if !ranges.private.is_allowed {
                return None;
            }
            let range = memory.take_from(ranges, whole as u64, alignment as u64).ok()?;
            ranges.private.starts.insert(range.start);
            range
        };
        // Should anything fail, dropping it makes the range what it was.
        let placed = PlacedCode { slab: slab.clone(), range };
        let room = Self { placed, is_of_file: part.is_some() };
        let (offset, whole) = in_bytes(range);
        let mapped = part.map_or(0, |part| part.size.next_multiple_of(PAGE)).min(whole);
        let of_file = part.is_none_or(|part| {
            // SAFETY: the range is ours, and nothing is in it; the file does not change.
            unsafe { memory.views.map_part(part.as_fd(), part.offset, offset, mapped) }.is_ok()
        });
        // SAFETY: the range is ours, and nothing is in the rest of it.
        let rest =
            || whole == mapped || unsafe { memory.views.replace(offset + mapped, whole - mapped) }.is_ok();
        (of_file && rest()).then_some(room)
    }

    /// Writes code of that size, as [`Slab::place`] does.
    pub(super) fn place(
        self,
        size: usize,
        write: impl FnOnce(Address, &mut [u8]) -> bool,
    ) -> Result<Option<PlacedCode>, CodeError> {
        let Self { placed, is_of_file } = self;
        let (memory, address) = (&placed.slab.0.memory, placed.address());
        let (offset, whole) = in_bytes(placed.range);
        // SAFETY: the memory was put there, and is ours until `placed` is dropped.
        let bytes = unsafe { slice::from_raw_parts_mut(address.as_ptr::<u8>().cast_mut(), size) };
        if !write(address, bytes) {
            return Ok(None);
        }
        // SAFETY: it was put there. Where this succeeds, `bytes` is not used any more.
        if let Err(error) = unsafe { memory.views.make_executable(offset, whole) } {
            let written = bytes.to_vec();
            let private = &mut memory.ranges.lock().private;
            private.is_allowed &= is_of_file;
            // SAFETY: nothing else uses what is there, and `bytes` is not used any more.
            if !unsafe { private.restore(&memory.views, placed.range) } {
                return Err(CodeError::System { call: "mprotect", error: error.into() });
            }
            // SAFETY: as many bytes are ours, through the view to write.
            unsafe { slice::from_raw_parts_mut(placed.writable(), size) }.copy_from_slice(&written);
        }
        Ok(Some(placed))
    }
}
