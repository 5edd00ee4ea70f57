//! The responsibility for symbols that a lookup waits for: discharged exactly
//! once, by an object or by failing.

#![allow(unsafe_code)]

use std::sync::Arc;
use std::thread;

use llvm_sys::orc2::{
    LLVMOrcDisposeCSymbolFlagsMap, LLVMOrcDisposeMaterializationResponsibility,
    LLVMOrcMaterializationResponsibilityFailMaterialization, LLVMOrcMaterializationResponsibilityGetSymbols,
    LLVMOrcMaterializationResponsibilityRef,
};

use super::ffi;
use super::report::linking;
use super::session::SessionInner;
use super::symbol::Interned;
use super::tracker::copy_to_buffer;

/// The duty to materialize some symbols. Dropping it without
/// [`emit_object`](Self::emit_object) fails them.
#[must_use = "dropping a responsibility fails its symbols"]
pub struct Responsibility {
    session: Arc<SessionInner>,
    /// The name of the unit that received it.
    unit: Box<str>,
    /// `None` once it has been passed to the linker.
    raw: Option<LLVMOrcMaterializationResponsibilityRef>,
}

// SAFETY: a MaterializationResponsibility is bound to no thread; each of its
// operations takes the session's lock.
unsafe impl Send for Responsibility {}

impl Responsibility {
    /// Wraps `raw`, which must be owned, and of `session`.
    pub(super) fn new(session: Arc<SessionInner>, raw: LLVMOrcMaterializationResponsibilityRef) -> Self {
        Self { session, unit: Box::default(), raw: Some(raw) }
    }

    pub(super) fn set_unit(&mut self, name: &str) {
        self.unit = name.into();
    }

    /// Returns the names of the symbols to materialize, in no particular order.
    /// Symbols that were overridden meanwhile are not included.
    pub fn symbols(&self) -> Vec<String> {
        self.interned_symbols().iter().map(Interned::text).collect()
    }

    /// Passes `object`, a relocatable object that defines all the symbols, to
    /// the linker. It is usually linked when this returns, which may also wait
    /// for symbols that another thread is materializing.
    ///
    /// Definitions in the object that were not promised are private to it: they
    /// never clash with those of other objects. A failure to link, such as an
    /// undefined symbol, fails the lookups that wait for the symbols.
    pub fn emit_object(mut self, object: &[u8]) {
        let symbols = self.interned_symbols();
        let Some(raw) = self.raw.take() else { return };
        linking(symbols, || {
            // SAFETY: the session is alive; responsibility and buffer are ours,
            // and taken over by the call.
            unsafe { ffi::orc_shim_emit(self.session.shim(), raw, copy_to_buffer(object)) };
        });
    }

    /// Fails the lookups that wait for the symbols, with `reason`. The symbols
    /// are no longer defined.
    pub fn fail(mut self, reason: impl Into<String>) {
        self.fail_with(reason.into());
    }

    fn fail_with(&mut self, reason: String) {
        self.session.reports().add(reason, self.symbols());
        if let Some(raw) = self.raw.take() {
            // SAFETY: the responsibility is ours and given up.
            unsafe { fail_raw(raw) };
        }
    }

    fn interned_symbols(&self) -> Vec<Interned> {
        let Some(raw) = self.raw else { return Vec::new() };
        let mut count = 0;
        // SAFETY: the responsibility is ours; it lends the names in the array,
        // which we retain before we dispose of it.
        unsafe {
            let pairs = LLVMOrcMaterializationResponsibilityGetSymbols(raw, &raw mut count);
            let names = (0..count).map(|index| Interned::retain((*pairs.add(index)).Name)).collect();
            LLVMOrcDisposeCSymbolFlagsMap(pairs);
            names
        }
    }
}

impl Drop for Responsibility {
    fn drop(&mut self) {
        if self.raw.is_some() {
            let did = if thread::panicking() { "panicked" } else { "did not make it" };
            self.fail_with(format!("unit `{}` {did}", self.unit));
        }
    }
}

/// Fails and frees a responsibility.
///
/// # Safety
/// The caller must own it, and its session must be alive.
pub(super) unsafe fn fail_raw(raw: LLVMOrcMaterializationResponsibilityRef) {
    // SAFETY: the caller vouches for it; it is not used afterwards.
    unsafe {
        LLVMOrcMaterializationResponsibilityFailMaterialization(raw);
        LLVMOrcDisposeMaterializationResponsibility(raw);
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{ClosureUnit, call, constant, emitting, function, object, session};
    use super::super::{OrcError, SymbolFlags};
    use super::*;

    fn failure(unit: impl FnOnce(Responsibility) + Send + 'static) -> Vec<String> {
        let (session, dylib) = session();
        dylib.create_tracker().define(function("f"), Box::new(ClosureUnit(unit))).unwrap();
        match session.lookup(&dylib, "f").unwrap_err() {
            OrcError::Materialize { reports, .. } => reports,
            other => panic!("{other}"),
        }
    }

    #[test]
    fn failing_says_why() {
        assert_eq!(failure(|it| it.fail("no code for it")), ["no code for it"]);
    }

    #[test]
    fn dropping_means_failing() {
        assert_eq!(failure(drop), ["unit `run` did not make it"]);
    }

    #[test]
    fn panicking_means_failing() {
        assert_eq!(failure(|_it| panic!("unit panics in a test")), ["unit `run` panicked"]);
    }

    #[test]
    fn failing_on_another_thread_says_why() {
        let elsewhere = |it: Responsibility| drop(thread::spawn(|| it.fail("elsewhere")).join());
        assert_eq!(failure(elsewhere), ["elsewhere"]);
    }

    #[test]
    fn failing_to_link_on_another_thread_says_why() {
        for _ in 0..100 {
            let elsewhere = |it: Responsibility| {
                thread::spawn(|| it.emit_object(b"no object"));
            };
            assert_eq!(failure(elsewhere).len(), 1);
        }
    }

    #[test]
    fn missing_definition_is_told() {
        let reports = failure(|it| it.emit_object(&constant("g", 1)));
        assert!(reports.concat().contains('f'), "{reports:?}");
    }

    #[test]
    fn symbols_are_those_promised() {
        let (session, dylib) = session();
        let unit = ClosureUnit(|it: Responsibility| {
            let mut symbols = it.symbols();
            symbols.sort();
            it.fail(symbols.join(" "));
        });
        let promised = [("a", SymbolFlags::FUNCTION), ("b", SymbolFlags::DATA.hidden())];
        dylib.create_tracker().define(promised, Box::new(unit)).unwrap();
        let error = session.lookup(&dylib, "b").unwrap_err().to_string();
        assert!(error.ends_with("(a b)"), "{error}");
    }

    #[test]
    fn helpers_are_private_to_their_object() {
        let (session, dylib) = session();
        let with_helpers = |name: &str, value| {
            object(&format!(
                "@data = global i64 {value}
                 define linkonce_odr i64 @weak() nounwind {{ %v = load i64, ptr @data ret i64 %v }}
                 define i64 @strong() nounwind {{ %r = call i64 @weak() ret i64 %r }}
                 define i64 @{name}() nounwind {{ %r = call i64 @strong() ret i64 %r }}"
            ))
        };
        for (name, value) in [("f", 1), ("g", 2)] {
            dylib.create_tracker().define(function(name), emitting(with_helpers(name, value))).unwrap();
        }
        assert_eq!(call(session.lookup(&dylib, "g").unwrap()), 2);
        assert_eq!(call(session.lookup(&dylib, "f").unwrap()), 1);
        assert_eq!(session.lookup(&dylib, "strong"), Err(OrcError::NotFound("strong".into())));
    }

    #[test]
    fn emitting_later_on_another_thread() {
        let (session, dylib) = session();
        let unit = ClosureUnit(|it: Responsibility| {
            thread::spawn(move || it.emit_object(&constant("f", 9)));
        });
        dylib.create_tracker().define(function("f"), Box::new(unit)).unwrap();
        assert_eq!(call(session.lookup(&dylib, "f").unwrap()), 9);
    }
}
