//! The slab: a range of addresses for code and the data beside it.

#![allow(unsafe_code)]

use std::mem::ManuallyDrop;
use std::ptr;
use std::slice;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::Mutex;

use super::address::Address;
use super::error::CodeError;
use super::host::{Host, Unwatched, through};
use super::perf_map::PerfMap;
use super::views::Views;
pub use file::{CodeFile, CodePart};
use forks::ForkState;
use private::{PrivateRanges, PrivateRoom};
use ranges::{FreeRanges, Occupancy, Range};

mod file;
mod forks;
mod private;
mod ranges;

/// What ranges are counted in: a cache line, so that nothing is written to a line that
/// something else is executed from.
const UNIT: u64 = 64;
/// The two views together must span less than 2 GiB.
const LARGEST: u64 = 1 << 30;
const SMALLEST: u64 = 1 << 20;
const CHUNK: u64 = 64 << 10;
/// The views start at a page, and addresses in them are aligned no better.
const MOST_ALIGNMENT: u64 = 4096;

/// The options of a slab.
#[derive(Clone, Debug)]
pub struct SlabOptions {
    /// The limit of code and data, in bytes, up to 1 GiB (the default; code must be in
    /// reach of other code). Rounded to whole mebibytes. Twice as much address space is
    /// reserved, or less if the process may not have it; memory is committed only as it is
    /// used.
    pub limit: u64,
    /// Whether the names of functions are written to `/tmp/perf-PID.map`, where `perf report`
    /// looks for them. If the file cannot be written, or is a link or another user's, the
    /// slab is created without it, see [`perf_map_failure`](Slab::perf_map_failure).
    pub perf_map: bool,
    /// What the process does about forks and exits; [`Unwatched`] by default.
    pub host: &'static dyn Host,
}

impl Default for SlabOptions {
    fn default() -> Self {
        Self { limit: LARGEST, perf_map: false, host: &Unwatched }
    }
}

/// A handle to a slab of memory for code, which is freed when the last handle to it, and to
/// code in it, is dropped.
#[derive(Clone)]
pub struct Slab(Arc<SlabInner>);

struct SlabInner {
    host: &'static dyn Host,
    /// Where names are written, or why not; `None` if they need not be.
    perf_map: Option<Result<PerfMap, String>>,
    memory: Arc<SlabMemory>,
}

/// The memory of a slab.
struct SlabMemory {
    views: Views,
    limit: u64,
    /// How much may be in use, in bytes.
    allowed: AtomicU64,
    /// How much is in use, in units.
    used: AtomicU64,
    ranges: Mutex<Ranges>,
}

struct Ranges {
    free: FreeRanges,
    occupancy: Occupancy,
    private: PrivateRanges,
    fork: ForkState,
}

/// Room in a slab, for code that is placed there. Dropping it frees the memory: nothing may run in
/// it then.
pub struct PlacedCode {
    slab: Slab,
    range: Range,
}

impl Slab {
    /// Creates a slab.
    ///
    /// # Errors
    /// [`CodeError::System`] if the system refuses it.
    pub fn new(options: &SlabOptions) -> Result<Self, CodeError> {
        let host = options.host;
        host.at_fork(forks::CALLBACKS);
        through(|work| host.steady(work), || Self::create(options))
    }

    fn create(options: &SlabOptions) -> Result<Self, CodeError> {
        let limit = options.limit.clamp(SMALLEST, LARGEST).next_multiple_of(SMALLEST);
        let (views, file) = Views::new(limit as usize, SMALLEST as usize, options.perf_map)?;
        let limit = views.size() as u64;
        let units = (limit / UNIT) as u32;
        let ranges = Ranges {
            free: FreeRanges::new(units),
            occupancy: Occupancy::new(units, (CHUNK / UNIT) as u32),
            private: PrivateRanges::new(file),
            fork: ForkState::default(),
        };
        let memory = Arc::new(SlabMemory {
            views,
            limit,
            allowed: AtomicU64::new(limit),
            used: AtomicU64::new(0),
            ranges: Mutex::new(ranges),
        });
        forks::register(&memory);
        let perf_map = options.perf_map.then(PerfMap::open);
        Ok(Self(Arc::new(SlabInner { host: options.host, perf_map, memory })))
    }

    /// Places `size` bytes of code at a multiple of `alignment`, a power of two. `write` gets
    /// the address that they will run at and the memory to write them to, whose contents are
    /// unspecified, and returns whether it has: if not, the code is given up and the result
    /// is `None`.
    ///
    /// # Errors
    /// [`CodeError`] if there is no such room.
    pub fn place(
        &self,
        size: usize,
        alignment: usize,
        write: impl FnOnce(Address, &mut [u8]) -> bool,
    ) -> Result<Option<PlacedCode>, CodeError> {
        self.place_with(None, size, alignment, write)
    }

    /// Places `size` bytes of code, as [`place`](Self::place) does, which begin with those of a
    /// file: what is not written shares its pages with other processes. `write` finds the bytes
    /// of the file in the memory; the result is `None` as well if they cannot be read, or are
    /// more.
    ///
    /// # Errors
    /// [`CodeError`] if there is no such room.
    pub fn place_part(
        &self,
        part: &CodePart,
        size: usize,
        write: impl FnOnce(Address, &mut [u8]) -> bool,
    ) -> Result<Option<PlacedCode>, CodeError> {
        if part.size > size {
            return Ok(None);
        }
        self.place_with(Some(part), size, private::PAGE, write)
    }

    /// Places code, which begins with that of a file if there is one.
    fn place_with(
        &self,
        part: Option<&CodePart>,
        size: usize,
        alignment: usize,
        write: impl FnOnce(Address, &mut [u8]) -> bool,
    ) -> Result<Option<PlacedCode>, CodeError> {
        // A fork, which copies all code, finds it written or not there.
        let place = || {
            if let Some(room) = PrivateRoom::take(self, size, alignment, part) {
                return room.place(size, write);
            }
            let placed = self.take(size as u64, alignment as u64)?;
            // SAFETY: `size` bytes are ours until `placed` is dropped.
            let bytes = unsafe { slice::from_raw_parts_mut(placed.writable(), size) };
            let is_read = part.is_none_or(|part| part.read(&mut bytes[..part.size]));
            Ok((is_read && write(placed.address(), bytes)).then_some(placed))
        };
        through(|work| self.0.host.steady(work), place)
    }

    /// Takes room for `size` bytes at a multiple of `alignment`, a power of two, for a linker,
    /// which writes them through [`writable`](PlacedCode::writable).
    ///
    /// # Errors
    /// [`CodeError`] if there is no such room.
    pub fn take(&self, size: u64, alignment: u64) -> Result<PlacedCode, CodeError> {
        let take = || self.0.memory.take(size, alignment);
        let range = through(|work| self.0.host.steady(work), take)?;
        Ok(PlacedCode { slab: self.clone(), range })
    }

    /// Returns the bytes of code and data that are there, each object rounded up to
    /// whole cache lines.
    pub fn bytes(&self) -> u64 {
        self.0.memory.bytes()
    }

    /// Limits code and data to `bytes` bytes from now on, and to what was
    /// reserved. What is there stays.
    pub fn set_limit(&self, bytes: u64) {
        self.0.memory.allowed.store(bytes.min(self.0.memory.limit), Ordering::Relaxed);
    }

    /// Returns what the process does about forks and exits.
    pub fn host(&self) -> &'static dyn Host {
        self.0.host
    }

    /// Returns whether names are written for `perf`.
    pub fn writes_names(&self) -> bool {
        matches!(self.0.perf_map, Some(Ok(_)))
    }

    /// Returns why names are not written for `perf`, if they should be.
    pub fn perf_map_failure(&self) -> Option<&str> {
        self.0.perf_map.as_ref()?.as_ref().err().map(String::as_str)
    }

    /// Writes the name of code for `perf`, if the slab [writes names](SlabOptions::perf_map).
    pub fn name(&self, address: Address, size: u64, name: &str) {
        if let Some(Ok(perf_map)) = &self.0.perf_map {
            perf_map.write(address, size, name);
        }
    }
}

impl Drop for SlabInner {
    fn drop(&mut self) {
        through(|work| self.host.steady(work), || forks::unregister(&self.memory));
    }
}

impl SlabMemory {
    fn bytes(&self) -> u64 {
        self.used.load(Ordering::Relaxed) * UNIT
    }

    fn take(&self, size: u64, alignment: u64) -> Result<Range, CodeError> {
        if alignment > MOST_ALIGNMENT {
            return Err(CodeError::Alignment);
        }
        self.take_from(&mut self.ranges.lock(), size, alignment)
    }

    fn take_from(&self, ranges: &mut Ranges, size: u64, alignment: u64) -> Result<Range, CodeError> {
        // Even what is empty gets a range, which identifies it.
        let units = size.max(1).div_ceil(UNIT);
        let alignment = (alignment / UNIT).max(1) as u32;
        if ranges.fork.is_shared() {
            return Err(CodeError::Forked);
        }
        let allowed = self.allowed.load(Ordering::Relaxed);
        let fits = units <= self.limit / UNIT && self.used.load(Ordering::Relaxed) + units <= allowed / UNIT;
        let taken = if fits { ranges.free.take(units as u32, alignment) } else { None };
        let full = || CodeError::Full { limit: allowed, used: self.bytes(), needed: size };
        let taken = taken.ok_or_else(full)?;
        ranges.occupancy.take(taken);
        self.used.fetch_add(u64::from(taken.size), Ordering::Relaxed);
        Ok(taken)
    }

    /// Frees a range that was taken.
    ///
    /// # Safety
    /// It is freed once, and nothing uses its memory any more.
    unsafe fn give(&self, range: Range) {
        let mut ranges = self.ranges.lock();
        self.used.fetch_sub(u64::from(range.size), Ordering::Relaxed);
        // SAFETY: nothing uses the memory.
        if ranges.fork.is_shared() || !unsafe { ranges.private.restore(&self.views, range) } {
            return;
        }
        ranges.free.give(range);
        if ranges.occupancy.give(range) {
            ranges.occupancy.drain(|idle| {
                let (offset, size) = in_bytes(idle);
                // SAFETY: chunks are whole pages, and nothing in these is used.
                unsafe { self.views.release(offset, size) };
            });
        }
    }
}

/// Returns where a range is, and its size, in bytes.
fn in_bytes(range: Range) -> (usize, usize) {
    (range.start as usize * UNIT as usize, range.size as usize * UNIT as usize)
}

impl PlacedCode {
    /// Returns the address of its first byte.
    pub fn address(&self) -> Address {
        self.slab.0.memory.views.executable(in_bytes(self.range).0)
    }

    /// Returns the memory through which it is written.
    pub fn writable(&self) -> *mut u8 {
        self.slab.0.memory.views.writable(in_bytes(self.range).0)
    }

    /// Writes the name of a part of it, at an offset from its address, for `perf`, if
    /// the slab [writes names](SlabOptions::perf_map).
    pub fn name(&self, offset: u64, size: u64, name: &str) {
        self.slab.name(Address::new(self.address().get() + offset), size, name);
    }

    /// Returns a number for it, which owns it from now on. It does not keep the slab: another
    /// handle to that has to be there for as long.
    pub fn into_handle(self) -> u64 {
        let placed = ManuallyDrop::new(self);
        // SAFETY: nothing uses the field again, and it is not dropped a second time.
        drop(unsafe { ptr::read(&raw const placed.slab) });
        placed.range.handle()
    }

    /// Returns the room of a [handle](Self::into_handle), which must not be used again.
    ///
    /// # Safety
    /// The handle is of room in this slab, and owns it.
    pub unsafe fn of_handle(slab: &Slab, handle: u64) -> Self {
        Self { slab: slab.clone(), range: Range::of_handle(handle) }
    }
}

impl Drop for PlacedCode {
    fn drop(&mut self) {
        // SAFETY: the range is ours, and its owner uses the memory no more.
        let give = || unsafe { self.slab.0.memory.give(self.range) };
        through(|work| self.slab.0.host.steady(work), give);
    }
}

#[cfg(test)]
mod tests;
