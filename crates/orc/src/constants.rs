//! Constants: values of symbols that are known when an object is linked, and of
//! no interest afterwards.
//!
//! Unlike what a generator of definitions finds, they enter no table of the
//! session. So a name may stand for another value in the next object.

#![allow(unsafe_code)]

use std::ffi::{c_char, c_int, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::slice;

use super::ffi;
use super::session::Session;
use kal_code::Address;

/// The closure of [`Session::add_constants`], owned by LLVM.
struct ConstantSource {
    find: Box<FindConstant>,
}

type FindConstant = dyn Fn(&str) -> Option<Address> + Send + Sync;

impl Session {
    /// Adds a source of constants: `find` is called for every symbol that an
    /// object uses and does not define, before dylibs are searched. What it
    /// finds is the value of the symbol in this object only. Applies to what is
    /// linked from now on.
    ///
    /// `find` is called under no lock of the session's, by several threads at
    /// once; if it panics, the object is not linked.
    pub fn add_constants(&self, find: impl Fn(&str) -> Option<Address> + Send + Sync + 'static) {
        let source = Box::into_raw(Box::new(ConstantSource { find: Box::new(find) }));
        // SAFETY: the session is alive, and the box its own from here on; it
        // passes it to `find_constant`, and to `release_constants` in the end.
        unsafe {
            let shim = self.inner().shim();
            ffi::orc_shim_session_constants(shim, source.cast(), find_constant, release_constants);
        }
    }
}

extern "C" fn find_constant(
    context: *mut c_void,
    name: *const c_char,
    length: usize,
    value: *mut u64,
) -> c_int {
    // SAFETY: the context is the box of `add_constants`, which LLVM owns while it
    // calls this; it lends the name for the call.
    let (source, name) =
        unsafe { (&*context.cast::<ConstantSource>(), slice::from_raw_parts(name.cast::<u8>(), length)) };
    let find = || str::from_utf8(name).ok().and_then(|name| (source.find)(name));
    match catch_unwind(AssertUnwindSafe(find)) {
        Ok(Some(found)) => {
            // SAFETY: LLVM passes the place for the value.
            unsafe { value.write(found.get()) };
            1
        }
        Ok(None) => 0,
        Err(_) => -1,
    }
}

extern "C" fn release_constants(context: *mut c_void) {
    // SAFETY: the box of `add_constants`, which LLVM gives back exactly once.
    let source = unsafe { Box::from_raw(context.cast::<ConstantSource>()) };
    // A closure that panics on drop must not unwind into LLVM.
    drop(catch_unwind(AssertUnwindSafe(|| drop(source))));
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU64, Ordering};

    use super::super::OrcError;
    use super::super::testing::{call, object, session};
    use super::*;

    fn reads(name: &str) -> Vec<u8> {
        object(&format!(
            "@value = external global i8
             define i64 @{name}() nounwind {{ ret i64 ptrtoint (ptr @value to i64) }}"
        ))
    }

    #[test]
    fn each_object_has_the_value_of_its_time() {
        let (session, dylib) = session();
        let value = Arc::new(AtomicU64::new(0));
        let known = value.clone();
        session.add_constants(move |name| {
            (name == "value").then(|| Address::new(known.load(Ordering::Relaxed)))
        });
        for (number, name) in (40..).zip(["f", "g", "h"]) {
            value.store(number, Ordering::Relaxed);
            let tracker = dylib.create_tracker();
            tracker.add_object(&reads(name)).unwrap();
            assert_eq!(call(session.lookup(&dylib, name).unwrap()), number as i64);
            if name == "g" {
                tracker.remove().unwrap();
            }
        }
        assert_eq!(call(session.lookup(&dylib, "f").unwrap()), 40);
        assert_eq!(session.lookup(&dylib, "value"), Err(OrcError::NotFound("value".into())));
        drop((session, dylib));
        assert_eq!(Arc::strong_count(&value), 1);
    }

    #[test]
    fn a_source_that_panics_fails_the_link() {
        let (session, dylib) = session();
        session.add_constants(|_| panic!("a source of constants panics in a test"));
        dylib.create_tracker().add_object(&reads("f")).unwrap();
        let error = session.lookup(&dylib, "f").unwrap_err().to_string();
        assert!(error.contains("f"), "{error}");
    }
}
