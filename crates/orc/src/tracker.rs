//! Trackers: the parts of a dylib that can be removed.

#![allow(unsafe_code)]

use std::sync::Arc;

use llvm_sys::core::LLVMCreateMemoryBufferWithMemoryRangeCopy;
use llvm_sys::orc2::{
    LLVMOrcCSymbolFlagsMapPair, LLVMOrcObjectLayerAddObjectFileWithRT, LLVMOrcReleaseResourceTracker,
    LLVMOrcResourceTrackerRef, LLVMOrcResourceTrackerRemove,
};
use llvm_sys::prelude::LLVMMemoryBufferRef;

use super::dylib::Dylib;
use super::error::{DefineError, OrcError, check};
use super::ffi;
use super::symbol::{Interned, SymbolFlags};
use super::unit::{MaterializationUnit, UnitCell, destroy_unit, discard_symbol, materialize_unit};
use kal_code::Address;

/// Some of the symbols of a dylib and their code.
///
/// [`remove`](Self::remove) removes them. Merely dropping the tracker does not:
/// they stay as long as the session, and can no longer be removed.
pub struct Tracker {
    dylib: Dylib,
    raw: LLVMOrcResourceTrackerRef,
    removed: bool,
}

// SAFETY: a ResourceTracker counts its references atomically, is bound to no
// thread, and works under its session's lock.
unsafe impl Send for Tracker {}
// SAFETY: as above.
unsafe impl Sync for Tracker {}

impl Tracker {
    /// Wraps `raw`, which must be an owned reference to a tracker of `dylib`.
    pub(super) fn new(dylib: Dylib, raw: LLVMOrcResourceTrackerRef) -> Self {
        Self { dylib, raw, removed: false }
    }

    /// Returns the dylib that the symbols are defined in.
    pub fn dylib(&self) -> &Dylib {
        &self.dylib
    }

    /// Promises `symbols`: `unit` is materialized when the first of them is
    /// looked up, and dropped if they are removed before.
    ///
    /// # Errors
    /// Returns the unit, with [`OrcError::Define`] if a symbol is defined
    /// already or [`OrcError::Name`] if one contains a NUL.
    pub fn define<'a>(
        &self,
        symbols: impl IntoIterator<Item = (&'a str, SymbolFlags)>,
        unit: Box<dyn MaterializationUnit>,
    ) -> Result<(), DefineError> {
        let intern = |(name, flags)| Ok((Interned::new(self.dylib.session(), name)?, flags));
        match symbols.into_iter().map(intern).collect() {
            Ok(symbols) => self.define_interned(symbols, unit),
            Err(error) => Err(DefineError { unit, error }),
        }
    }

    fn define_interned(
        &self,
        symbols: Vec<(Interned, SymbolFlags)>,
        unit: Box<dyn MaterializationUnit>,
    ) -> Result<(), DefineError> {
        let mut pairs: Vec<_> = symbols
            .into_iter()
            .map(|(name, flags)| LLVMOrcCSymbolFlagsMapPair { Name: name.into_raw(), Flags: flags.to_llvm() })
            .collect();
        let cell = Box::into_raw(Box::new(UnitCell::new(unit, Arc::downgrade(self.dylib.session()))));
        // SAFETY: dylib and tracker are alive and belong together; the array is
        // read and its references taken over. The callbacks are made for the
        // cell, which they free exactly once: `materialize` when it runs,
        // otherwise `destroy`.
        let error = unsafe {
            ffi::orc_shim_define_unit(
                self.dylib.raw(),
                pairs.as_mut_ptr(),
                pairs.len(),
                cell.cast(),
                materialize_unit,
                discard_symbol,
                destroy_unit,
                self.raw,
            )
        };
        check(error, OrcError::Define).map_err(|error| {
            // SAFETY: the definition failed, so the cell is still ours alone.
            let cell = unsafe { Box::from_raw(cell) };
            DefineError { unit: cell.into_unit(), error }
        })
    }

    /// Adds a relocatable object. Its global symbols are defined at once and
    /// linked when the first of them is looked up; weak ones yield to existing
    /// definitions.
    ///
    /// # Errors
    /// [`OrcError::Object`] if `object` is not an object file or a symbol in it
    /// is defined already.
    pub fn add_object(&self, object: &[u8]) -> Result<(), OrcError> {
        let buffer = copy_to_buffer(object);
        // SAFETY: the layer lives as long as the session, the tracker as long as
        // `self`; the buffer is taken over, whatever the result.
        let error = unsafe {
            let layer = ffi::orc_shim_session_object_layer(self.dylib.session().shim());
            LLVMOrcObjectLayerAddObjectFileWithRT(layer, self.raw, buffer)
        };
        check(error, OrcError::Object)
    }

    /// Defines symbols that exist outside of the session, until the tracker is
    /// removed.
    ///
    /// # Errors
    /// As [`Dylib::define_absolute`].
    pub fn define_absolute<'a>(
        &self,
        symbols: impl IntoIterator<Item = (&'a str, Address)>,
    ) -> Result<(), OrcError> {
        self.dylib.define_absolute_under(symbols, self.raw)
    }

    /// Removes the symbols and frees their code. Units that were not
    /// materialized are dropped; those being materialized fail, and with them
    /// the lookups that wait for them. Either way the names are free for new
    /// definitions when this returns.
    ///
    /// Code is freed even if a thread runs it: the caller must ensure that none
    /// does.
    ///
    /// # Errors
    /// [`OrcError::Remove`] if memory could not be returned; the symbols are
    /// removed nevertheless.
    pub fn remove(mut self) -> Result<(), OrcError> {
        self.removed = true;
        // SAFETY: the tracker is alive until `self` is dropped, after the call.
        check(unsafe { LLVMOrcResourceTrackerRemove(self.raw) }, OrcError::Remove)
    }
}

impl Drop for Tracker {
    fn drop(&mut self) {
        if self.removed {
            // SAFETY: `create_tracker` gave us one reference, which ends here
            // while the session is still alive through `self.dylib`.
            unsafe { LLVMOrcReleaseResourceTracker(self.raw) };
        } else {
            self.dylib.session().keep_dropped_tracker(self.raw);
        }
    }
}

/// Copies `object` to a buffer for LLVM, which takes ownership of it.
pub(super) fn copy_to_buffer(object: &[u8]) -> LLVMMemoryBufferRef {
    // SAFETY: the bytes are copied; the name is NUL-terminated and copied.
    unsafe {
        LLVMCreateMemoryBufferWithMemoryRangeCopy(object.as_ptr().cast(), object.len(), c"object".as_ptr())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;
    use std::thread;

    use super::super::Responsibility;
    use super::super::testing::{ClosureUnit, call, constant, emitting, function, object, session};
    use super::*;

    #[test]
    fn redefinition_after_removal_is_seen() {
        let (session, dylib) = session();
        for value in 0..3 {
            let tracker = dylib.create_tracker();
            tracker.define(function("f"), emitting(constant("f", value))).unwrap();
            assert_eq!(call(session.lookup(&dylib, "f").unwrap()), value);
            tracker.remove().unwrap();
            assert_eq!(session.lookup(&dylib, "f"), Err(OrcError::NotFound("f".into())));
        }
    }

    #[test]
    fn failed_definition_gives_the_unit_back() {
        let (session, dylib) = session();
        dylib.define_absolute([("f", Address::new(1))]).unwrap();
        let tracker = dylib.create_tracker();
        let DefineError { unit, error } =
            tracker.define(function("f"), emitting(constant("g", 5))).unwrap_err();
        assert!(matches!(error, OrcError::Define(_)), "{error}");
        let DefineError { unit, error } = tracker.define(function("\0"), unit).unwrap_err();
        assert!(matches!(error, OrcError::Name(_)), "{error}");
        tracker.define(function("g"), unit).unwrap();
        assert_eq!(call(session.lookup(&dylib, "g").unwrap()), 5);
    }

    #[test]
    fn dropping_a_tracker_keeps_its_symbols() {
        let (session, dylib) = session();
        dylib.create_tracker().define(function("f"), emitting(constant("f", 3))).unwrap();
        assert_eq!(call(session.lookup(&dylib, "f").unwrap()), 3);
    }

    #[test]
    fn weak_definitions_of_objects_give_way() {
        let (session, dylib) = session();
        let weak = |name: &str, value| {
            object(&format!(
                "define weak i64 @helper() nounwind {{ ret i64 {value} }}
                 define i64 @{name}() nounwind {{ %r = call i64 @helper() ret i64 %r }}"
            ))
        };
        dylib.create_tracker().add_object(&weak("f", 1)).unwrap();
        dylib.create_tracker().add_object(&weak("g", 2)).unwrap();
        assert_eq!(call(session.lookup(&dylib, "g").unwrap()), 1);
    }

    #[test]
    fn strong_definitions_of_objects_clash() {
        let (_session, dylib) = session();
        dylib.create_tracker().add_object(&constant("f", 1)).unwrap();
        let error = dylib.create_tracker().add_object(&constant("f", 2)).unwrap_err();
        assert!(matches!(error, OrcError::Object(_)), "{error}");
    }

    /// The unit stops in the middle while its tracker is removed.
    #[test]
    fn removal_while_materializing_fails_the_lookup_only() {
        let (session, dylib) = session();
        for _ in 0..100 {
            let tracker = dylib.create_tracker();
            let (begun, wait_for_begin) = mpsc::channel();
            let (removed, wait_for_removal) = mpsc::channel::<()>();
            let unit = ClosureUnit(move |responsibility: Responsibility| {
                begun.send(()).unwrap();
                wait_for_removal.recv().unwrap();
                responsibility.emit_object(&constant("f", 1));
            });
            tracker.define(function("f"), Box::new(unit)).unwrap();
            thread::scope(|scope| {
                let lookup = scope.spawn(|| session.lookup(&dylib, "f"));
                wait_for_begin.recv().unwrap();
                tracker.remove().unwrap();
                let again = dylib.create_tracker();
                again.define(function("f"), emitting(constant("f", 2))).unwrap();
                removed.send(()).unwrap();
                let error = lookup.join().unwrap().unwrap_err();
                assert!(matches!(error, OrcError::Materialize { .. }), "{error}");
                assert_eq!(call(session.lookup(&dylib, "f").unwrap()), 2);
                again.remove().unwrap();
            });
        }
        assert_eq!(session.slab().bytes(), 0);
    }

    /// The same without a meeting point: lookup and removal just race.
    #[test]
    fn removal_races_with_materializing() {
        let (session, dylib) = session();
        let code = constant("f", 1);
        for _ in 0..1000 {
            let tracker = dylib.create_tracker();
            tracker.define(function("f"), emitting(code.clone())).unwrap();
            thread::scope(|scope| {
                let lookup = scope.spawn(|| session.lookup(&dylib, "f"));
                tracker.remove().unwrap();
                drop(lookup.join().unwrap());
            });
        }
        assert_eq!(session.slab().bytes(), 0);
        dylib.create_tracker().define(function("f"), emitting(code)).unwrap();
        assert_eq!(call(session.lookup(&dylib, "f").unwrap()), 1);
    }
}
