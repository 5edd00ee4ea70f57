//! Code that is placed in the session's memory without linking.

#![allow(unsafe_code)]

use std::ptr;
use std::slice;
use std::sync::Arc;

use super::address::Address;
use super::error::{OrcError, check};
use super::ffi;
use super::host::through;
use super::session::{Session, SessionInner};

/// Code in the memory of a session that has no symbols there. Dropping it frees
/// the memory: nothing may run in it then.
pub struct PlacedCode {
    session: Arc<SessionInner>,
    handle: u64,
    address: Address,
}

impl Session {
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
            |work| self.inner().host().steady(work),
            || {
                let (mut handle, mut executable, mut writable) = (0, ptr::null_mut(), ptr::null_mut());
                // SAFETY: the session is alive; the results are written before it
                // returns without an error.
                let error = unsafe {
                    ffi::orc_shim_session_take_room(
                        self.inner().shim(),
                        size as u64,
                        alignment as u64,
                        &raw mut handle,
                        &raw mut executable,
                        &raw mut writable,
                    )
                };
                check(error, OrcError::Session)?;
                let address = Address::of(executable.cast_const());
                let placed = PlacedCode { session: Arc::clone(self.inner()), handle, address };
                // SAFETY: `size` bytes are ours at `writable` until the room is
                // given back, and no other code uses them before.
                let bytes = unsafe { slice::from_raw_parts_mut(writable, size) };
                Ok(write(address, bytes).then_some(placed))
            },
        )
    }
}

impl PlacedCode {
    /// Returns the address of its first byte.
    pub fn address(&self) -> Address {
        self.address
    }

    /// Writes the name of a part of it, at an offset from its address, for `perf`, if
    /// the session [writes names](super::SessionOptions::perf_map).
    pub fn name(&self, offset: u64, size: u64, name: &str) {
        let address = self.address.get() + offset;
        // SAFETY: the session is alive; the name is read up to its length.
        unsafe {
            let text = name.as_ptr().cast();
            ffi::orc_shim_session_name_code(self.session.shim(), address, size, text, name.len());
        }
    }
}

impl Drop for PlacedCode {
    fn drop(&mut self) {
        // SAFETY: the session is alive, and the room is ours and given back once.
        unsafe { ffi::orc_shim_session_give_room(self.session.shim(), self.handle) }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{call, session};
    use super::super::{Session, SessionOptions};

    /// `mov eax, VALUE; ret`.
    fn returns(value: u8) -> [u8; 6] {
        [0xb8, value, 0, 0, 0, 0xc3]
    }

    #[test]
    fn placed_code_runs_until_it_is_dropped_and_its_memory_is_used_again() {
        let (session, _dylib) = session();
        let place = |value: u8| {
            let written = session.place(6, 64, |_, bytes| {
                bytes.copy_from_slice(&returns(value));
                true
            });
            written.unwrap().unwrap()
        };
        let (first, second) = (place(3), place(5));
        assert_eq!((call(first.address()), call(second.address())), (3, 5));
        assert_eq!(session.code_bytes(), 128);
        let address = first.address();
        drop(first);
        let third = place(7);
        assert_eq!((third.address(), call(third.address()), call(second.address())), (address, 7, 5));
        drop((second, third));
        assert_eq!(session.code_bytes(), 0);
    }

    #[test]
    fn what_is_not_written_or_does_not_fit_takes_no_memory() {
        let session =
            Session::new(&SessionOptions { code_limit: 1 << 20, ..SessionOptions::default() }).unwrap();
        assert!(session.place(6, 1, |_, _| false).unwrap().is_none());
        let error = session.place(2 << 20, 1, |_, _| true).err().unwrap().to_string();
        assert!(error.contains("the code memory is full"), "{error}");
        assert!(session.place(6, 1 << 20, |_, _| true).is_err());
        assert_eq!(session.code_bytes(), 0);
    }
}
