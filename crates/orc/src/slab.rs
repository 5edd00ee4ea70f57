//! The slab: where sessions put what they link, and code that is placed without
//! linking.

#![allow(unsafe_code)]

use std::ffi::CString;
use std::ptr::{self, NonNull};
use std::slice;
use std::sync::Arc;

use super::address::Address;
use super::error::{OrcError, check, take_message};
use super::ffi;
use super::host::{ForkCallbacks, Host, through};
use super::session::SessionOptions;

/// A handle to a slab of memory for code, which is freed when the last handle to it, to a
/// session that uses it, or to code in it is dropped. It needs nothing of LLVM's
/// global tables: a program that links nothing need not build them.
///
/// A child that is created by fork(2) gets a copy of all code, which makes the
/// fork take as long as copying. If the copy fails, neither process can link
/// any more, and freed memory is not reused.
#[derive(Clone)]
pub struct Slab(Arc<SlabInner>);

struct SlabInner {
    host: &'static dyn Host,
    shim: NonNull<ffi::OrcShimMemory>,
    perf_map_failure: Option<String>,
}

// SAFETY: the slab locks itself, and is bound to no thread.
unsafe impl Send for SlabInner {}
// SAFETY: as above.
unsafe impl Sync for SlabInner {}

/// Code in a slab that has no symbols in a session. Dropping it frees the memory:
/// nothing may run in it then.
pub struct PlacedCode {
    slab: Slab,
    handle: u64,
    address: Address,
}

/// The callbacks that handle code memory at a fork.
const AT_FORK: ForkCallbacks = ForkCallbacks {
    before: ffi::orc_slabs_before_fork,
    in_parent: ffi::orc_slabs_after_fork_in_parent,
    in_child: ffi::orc_slabs_after_fork_in_child,
};

impl Slab {
    /// Creates a slab, as the options of sessions that are to use it say.
    ///
    /// # Errors
    /// [`OrcError::Session`] if the system refuses it.
    pub fn new(options: &SessionOptions) -> Result<Self, OrcError> {
        let host = options.host;
        host.at_fork(AT_FORK);
        through(|work| host.steady(work), || Self::create(options))
    }

    fn create(options: &SessionOptions) -> Result<Self, OrcError> {
        let mut shim = ptr::null_mut();
        let (limit, anonymous) = (options.code_limit, options.perf_map);
        // SAFETY: on success the result is memory that we own.
        let error = unsafe { ffi::orc_shim_memory_create(limit, anonymous, &raw mut shim) };
        check(error, OrcError::Session)?;
        let shim = NonNull::new(shim).expect("success means memory");
        let mut inner = SlabInner { host: options.host, shim, perf_map_failure: None };
        if options.perf_map {
            inner.write_names();
        }
        Ok(Self(Arc::new(inner)))
    }

    /// Places `size` bytes of code at a multiple of `alignment`. `write` gets the
    /// address that they will run at and the memory to write them to, whose
    /// contents are unspecified, and returns whether it has: if not, the code is
    /// given up and the result is `None`.
    ///
    /// # Errors
    /// [`OrcError::Session`] if the code memory is full.
    pub fn place(
        &self,
        size: usize,
        alignment: usize,
        write: impl FnOnce(Address, &mut [u8]) -> bool,
    ) -> Result<Option<PlacedCode>, OrcError> {
        // A fork, which copies all code, finds it written or not there.
        through(
            |work| self.0.host.steady(work),
            || {
                let (mut handle, mut executable, mut writable) = (0, ptr::null_mut(), ptr::null_mut());
                // SAFETY: the memory is alive; the results are written before it
                // returns without an error.
                let error = unsafe {
                    ffi::orc_shim_memory_take_room(
                        self.shim(),
                        size as u64,
                        alignment as u64,
                        &raw mut handle,
                        &raw mut executable,
                        &raw mut writable,
                    )
                };
                check(error, OrcError::Session)?;
                let address = Address::of(executable.cast_const());
                let placed = PlacedCode { slab: self.clone(), handle, address };
                // SAFETY: `size` bytes are ours at `writable` until the room is
                // given back, and no other code uses them before.
                let bytes = unsafe { slice::from_raw_parts_mut(writable, size) };
                Ok(write(address, bytes).then_some(placed))
            },
        )
    }

    /// Returns the bytes of code and data that are there, each object rounded up to
    /// whole cache lines.
    pub fn bytes(&self) -> u64 {
        // SAFETY: the memory is alive; the count is atomic.
        unsafe { ffi::orc_shim_memory_bytes(self.shim()) }
    }

    /// Limits code and data to `bytes` bytes from now on, and to what was
    /// reserved. What is there stays.
    pub fn set_limit(&self, bytes: u64) {
        // SAFETY: the memory is alive; the limit is atomic.
        unsafe { ffi::orc_shim_memory_set_limit(self.shim(), bytes) }
    }

    /// Returns why names are not written for perf, if they should be.
    pub fn perf_map_failure(&self) -> Option<&str> {
        self.0.perf_map_failure.as_deref()
    }

    pub(super) fn shim(&self) -> *mut ffi::OrcShimMemory {
        self.0.shim.as_ptr()
    }
}

impl SlabInner {
    fn write_names(&mut self) {
        let path = format!("/tmp/perf-{}.map", std::process::id());
        let c_path = CString::new(path.as_str()).unwrap_or_default();
        // SAFETY: the memory is alive and nothing is in it yet; the path ends with a
        // NUL and is read during the call.
        let error = unsafe { ffi::orc_shim_memory_perf_map(self.shim.as_ptr(), c_path.as_ptr()) };
        let failed = !error.is_null();
        self.perf_map_failure = failed.then(|| format!("cannot write {path}: {}", take_message(error)));
    }
}

impl Drop for SlabInner {
    fn drop(&mut self) {
        let host = self.host;
        // SAFETY: this was the last owner, and sessions and placed code are owners, so
        // nothing uses it.
        through(|work| host.steady(work), || unsafe { ffi::orc_shim_memory_destroy(self.shim.as_ptr()) });
    }
}

impl PlacedCode {
    /// Returns the address of its first byte.
    pub fn address(&self) -> Address {
        self.address
    }

    /// Writes the name of a part of it, at an offset from its address, for `perf`, if
    /// the slab [writes names](SessionOptions::perf_map).
    pub fn name(&self, offset: u64, size: u64, name: &str) {
        let address = self.address.get() + offset;
        // SAFETY: the memory is alive; the name is read up to its length.
        unsafe {
            let text = name.as_ptr().cast();
            ffi::orc_shim_memory_name_code(self.slab.shim(), address, size, text, name.len());
        }
    }
}

impl Drop for PlacedCode {
    fn drop(&mut self) {
        // SAFETY: the memory is alive, and the room is ours and given back once.
        unsafe { ffi::orc_shim_memory_give_room(self.slab.shim(), self.handle) }
    }
}

#[cfg(test)]
mod tests;
