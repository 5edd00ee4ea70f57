//! What programs print.

use crate::host::User;
use std::ffi::{c_char, c_void};
use std::io;

/// Takes what a program prints: `count` bytes, which need not be whole lines. Returns whether it
/// could; if not, the program fails.
pub type KalWrite =
    Option<unsafe extern "C" fn(user: *mut c_void, bytes: *const c_char, count: usize) -> bool>;

/// A function of the host as a stream.
pub struct HostStream {
    write: unsafe extern "C" fn(*mut c_void, *const c_char, usize) -> bool,
    user: User,
    /// Whether the host has refused what comes next once more: what waits to be written is kept
    /// after an error, and a later program must not have it among its own.
    has_refused: bool,
}

impl HostStream {
    /// Creates a stream.
    pub fn new(write: unsafe extern "C" fn(*mut c_void, *const c_char, usize) -> bool, user: User) -> Self {
        Self { write, user, has_refused: false }
    }
}

impl io::Write for HostStream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if std::mem::take(&mut self.has_refused) {
            return Ok(bytes.len());
        }
        // SAFETY: the bytes are there, and the host has given both together.
        let is_fine = unsafe { (self.write)(self.user.pointer(), bytes.as_ptr().cast(), bytes.len()) };
        if is_fine {
            return Ok(bytes.len());
        }
        self.has_refused = true;
        Err(io::Error::other("the host takes no more output"))
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
