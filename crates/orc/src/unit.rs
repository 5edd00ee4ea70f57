//! Materialization units: promises of symbols, and ORC's callbacks that
//! materialize, override or destroy them.

#![allow(unsafe_code)]

use std::any::Any;
use std::ffi::c_void;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Weak;

use llvm_sys::orc2::{
    LLVMOrcJITDylibRef, LLVMOrcMaterializationResponsibilityRef, LLVMOrcSymbolStringPoolEntryRef,
};

use super::responsibility::{Responsibility, fail_raw};
use super::session::SessionInner;
use super::symbol::entry_text;

/// A promise of some symbols, kept when the first of them is looked up.
///
/// It is materialized at most once, on the thread that looks a symbol up. If it
/// is removed before, it is dropped; its `Drop` must not wait for other
/// threads, since ORC may hold the session's lock.
pub trait MaterializationUnit: Send {
    /// Returns its name, for messages.
    fn name(&self) -> &str;

    /// Materializes the symbols and discharges the responsibility for them, now
    /// or later, on this thread or another. A panic is reported and means
    /// failure.
    fn materialize(self: Box<Self>, responsibility: Responsibility);

    /// Discards `symbol`, a weak one that was defined elsewhere. Called under
    /// the session's lock.
    fn discard(&mut self, symbol: &str) {
        let _ = symbol;
    }
}

/// The unit as LLVM holds it. Weak, because the session owns the unit.
pub(super) struct UnitCell {
    unit: Box<dyn MaterializationUnit>,
    session: Weak<SessionInner>,
}

impl UnitCell {
    pub(super) fn new(unit: Box<dyn MaterializationUnit>, session: Weak<SessionInner>) -> Self {
        Self { unit, session }
    }

    pub(super) fn into_unit(self) -> Box<dyn MaterializationUnit> {
        self.unit
    }
}

/// ORC's callback for the first lookup: takes ownership of both arguments.
pub(super) extern "C" fn materialize_unit(
    context: *mut c_void,
    responsibility: LLVMOrcMaterializationResponsibilityRef,
) {
    // SAFETY: the context is the cell that `Tracker::define` made, and ours now.
    let cell = *unsafe { Box::from_raw(context.cast::<UnitCell>()) };
    let Some(session) = cell.session.upgrade() else {
        // SAFETY: ORC handed the responsibility over with the call.
        return unsafe { fail_raw(responsibility) };
    };
    let mut responsibility = Responsibility::new(session, responsibility);
    // A panic drops the responsibility while unwinding, which fails it.
    let materialize = move || {
        responsibility.set_unit(cell.unit.name());
        cell.unit.materialize(responsibility);
    };
    catch_unwind(AssertUnwindSafe(materialize)).unwrap_or_else(forget_panic);
}

/// ORC's callback for a weak symbol that was overridden: lends everything.
pub(super) extern "C" fn discard_symbol(
    context: *mut c_void,
    _: LLVMOrcJITDylibRef,
    symbol: LLVMOrcSymbolStringPoolEntryRef,
) {
    // SAFETY: ORC calls this only while the unit owns the cell, under its lock.
    let cell = unsafe { &mut *context.cast::<UnitCell>() };
    // SAFETY: ORC lends the entry for this call.
    let symbol = unsafe { entry_text(symbol) };
    let discard = AssertUnwindSafe(|| cell.unit.discard(&symbol));
    catch_unwind(discard).unwrap_or_else(forget_panic);
}

/// ORC's callback for a unit that was never materialized: frees the cell.
pub(super) extern "C" fn destroy_unit(context: *mut c_void) {
    // SAFETY: the context is the cell that `Tracker::define` made; ORC gives it
    // up here, and `materialize_unit` was not called.
    let cell = unsafe { Box::from_raw(context.cast::<UnitCell>()) };
    catch_unwind(AssertUnwindSafe(|| drop(cell))).unwrap_or_else(forget_panic);
}

/// Drops a panic's payload; one whose drop panics again is leaked.
fn forget_panic(payload: Box<dyn Any + Send>) {
    if let Err(again) = catch_unwind(AssertUnwindSafe(|| drop(payload))) {
        std::mem::forget(again);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering};

    use super::super::SymbolFlags;
    use super::super::testing::{constant, emitting, function, session};
    use super::*;
    use kal_code::Address;

    struct Noting {
        discarded: Arc<AtomicBool>,
        dropped: Arc<AtomicBool>,
    }

    impl MaterializationUnit for Noting {
        fn name(&self) -> &'static str {
            "noting"
        }

        fn materialize(self: Box<Self>, responsibility: Responsibility) {
            assert_eq!(responsibility.symbols(), ["kept"]);
            responsibility.emit_object(&constant("kept", 1));
        }

        fn discard(&mut self, symbol: &str) {
            assert_eq!(symbol, "weak");
            self.discarded.store(true, Ordering::SeqCst);
        }
    }

    impl Drop for Noting {
        fn drop(&mut self) {
            self.dropped.store(true, Ordering::SeqCst);
        }
    }

    fn noting() -> (Box<Noting>, Arc<AtomicBool>, Arc<AtomicBool>) {
        let (discarded, dropped) = (Arc::<AtomicBool>::default(), Arc::<AtomicBool>::default());
        (Box::new(Noting { discarded: discarded.clone(), dropped: dropped.clone() }), discarded, dropped)
    }

    #[test]
    fn overridden_symbols_are_discarded() {
        let (session, dylib) = session();
        let (unit, discarded, dropped) = noting();
        let promised = [("kept", SymbolFlags::FUNCTION), ("weak", SymbolFlags::FUNCTION.weak())];
        dylib.create_tracker().define(promised, unit).unwrap();
        dylib.define_absolute([("weak", Address::new(1))]).unwrap();
        assert!(discarded.load(Ordering::SeqCst) && !dropped.load(Ordering::SeqCst));
        session.lookup(&dylib, "kept").unwrap();
        assert!(dropped.load(Ordering::SeqCst));
    }

    #[test]
    fn removal_drops_a_pending_unit() {
        let (_session, dylib) = session();
        let (unit, discarded, dropped) = noting();
        let tracker = dylib.create_tracker();
        tracker.define(function("f"), unit).unwrap();
        tracker.remove().unwrap();
        assert!(dropped.load(Ordering::SeqCst) && !discarded.load(Ordering::SeqCst));
    }

    #[test]
    fn end_of_session_drops_pending_units() {
        let (session, dylib) = session();
        let (unit, _, dropped) = noting();
        dylib.create_tracker().define(function("f"), unit).unwrap();
        dylib.create_tracker().define(function("g"), emitting(Vec::new())).unwrap();
        drop((session, dylib));
        assert!(dropped.load(Ordering::SeqCst));
    }
}
