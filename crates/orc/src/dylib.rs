//! A dylib: a table of symbols that link against each other, and the ways to
//! fill it that last as long as the session.

#![allow(unsafe_code)]

use std::ffi::{CStr, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;
use std::sync::Arc;

use llvm_sys::error::LLVMErrorRef;
use llvm_sys::orc2::{
    LLVMJITEvaluatedSymbol, LLVMOrcAbsoluteSymbols, LLVMOrcCLookupSet, LLVMOrcCSymbolMapPair,
    LLVMOrcCreateCustomCAPIDefinitionGenerator, LLVMOrcDefinitionGeneratorRef,
    LLVMOrcDisposeMaterializationUnit, LLVMOrcJITDylibAddGenerator, LLVMOrcJITDylibCreateResourceTracker,
    LLVMOrcJITDylibDefine, LLVMOrcJITDylibLookupFlags, LLVMOrcJITDylibRef, LLVMOrcLookupKind,
    LLVMOrcLookupStateRef, LLVMOrcMaterializationUnitRef, LLVMOrcResourceTrackerRef,
};

use super::error::{OrcError, check, llvm_error};
use super::ffi;
use super::session::SessionInner;
use super::symbol::{Interned, SymbolFlags, entry_text};
use super::tracker::Tracker;
use kal_code::Address;

/// A handle to a dylib; it keeps the session alive.
#[derive(Clone)]
pub struct Dylib {
    session: Arc<SessionInner>,
    raw: LLVMOrcJITDylibRef,
}

// SAFETY: a JITDylib is bound to no thread and works under its session's lock.
unsafe impl Send for Dylib {}
// SAFETY: as above.
unsafe impl Sync for Dylib {}

impl Dylib {
    /// Wraps `raw`, which must be a dylib of `session`.
    pub(super) fn new(session: Arc<SessionInner>, raw: LLVMOrcJITDylibRef) -> Self {
        Self { session, raw }
    }

    pub(super) fn raw(&self) -> LLVMOrcJITDylibRef {
        self.raw
    }

    pub(super) fn session(&self) -> &Arc<SessionInner> {
        &self.session
    }

    /// Creates a tracker, under which symbols of this dylib can be defined.
    pub fn create_tracker(&self) -> Tracker {
        // SAFETY: the dylib lives as long as its session; the tracker comes with
        // a reference for us.
        let raw = unsafe { LLVMOrcJITDylibCreateResourceTracker(self.raw) };
        Tracker::new(self.clone(), raw)
    }

    /// Sets where objects of this dylib find symbols that it does not define:
    /// in the exports of `others`, in this order, after the dylib itself.
    /// Applies to what is linked from now on.
    ///
    /// # Panics
    /// If one of them belongs to another session.
    pub fn set_link_order<'a>(&self, others: impl IntoIterator<Item = &'a Dylib>) {
        let same_session = |other: &&Self| Arc::ptr_eq(&self.session, &other.session);
        let others: Vec<_> = others
            .into_iter()
            .inspect(|other| assert!(same_session(other), "a dylib of another session"))
            .map(|other| other.raw)
            .collect();
        // SAFETY: dylibs live as long as their session, which is one and the
        // same for all; the array is copied.
        unsafe { ffi::orc_shim_set_link_order(self.raw, others.as_ptr(), others.len()) };
    }

    /// Defines symbols that exist outside of the session, permanently. (Use
    /// [`Tracker::define_absolute`] for those that must be removable.)
    ///
    /// # Errors
    /// [`OrcError::Define`] if one is defined already, and then none is defined;
    /// [`OrcError::Name`] for a name with a NUL.
    pub fn define_absolute<'a>(
        &self,
        symbols: impl IntoIterator<Item = (&'a str, Address)>,
    ) -> Result<(), OrcError> {
        self.define_absolute_under(symbols, ptr::null_mut())
    }

    /// Defines symbols under `tracker`, which must be one of this dylib, or
    /// null for the default one.
    pub(super) fn define_absolute_under<'a>(
        &self,
        symbols: impl IntoIterator<Item = (&'a str, Address)>,
        tracker: LLVMOrcResourceTrackerRef,
    ) -> Result<(), OrcError> {
        let intern = |(name, address)| Ok((Interned::new(&self.session, name)?, address));
        let symbols = symbols.into_iter().map(intern).collect::<Result<Vec<_>, _>>()?;
        let unit = absolute_unit(symbols, SymbolFlags::DATA);
        // SAFETY: the dylib and the tracker live as long as `self`; on failure
        // the unit is still ours.
        let error = unsafe { ffi::orc_shim_define(self.raw, unit, tracker) };
        check(error, OrcError::Define).inspect_err(|_| {
            // SAFETY: the unit is ours, and disposed of here.
            unsafe { LLVMOrcDisposeMaterializationUnit(unit) };
        })
    }

    /// Adds a generator: `find` is called for every symbol that is looked up
    /// here or linked against, and that neither the dylib nor an earlier
    /// generator has. What it finds is defined permanently, so it is called
    /// once for each. An existing definition of the same name wins.
    ///
    /// `find` is called under no lock of the session's, by one thread at a
    /// time; if it panics, the lookup fails.
    pub fn add_generator(&self, find: impl Fn(&str) -> Option<Address> + Send + Sync + 'static) {
        let generator = Box::into_raw(Box::new(Generator { find: Box::new(find) }));
        // SAFETY: the generator is the dylib's from here on, and the box the
        // generator's, which passes it to `dispose_generator` in the end.
        unsafe {
            let raw =
                LLVMOrcCreateCustomCAPIDefinitionGenerator(generate, generator.cast(), dispose_generator);
            LLVMOrcJITDylibAddGenerator(self.raw, raw);
        }
    }
}

/// Creates a materialization unit for symbols of known address, to be defined
/// or disposed of.
fn absolute_unit(symbols: Vec<(Interned, Address)>, flags: SymbolFlags) -> LLVMOrcMaterializationUnitRef {
    let mut pairs: Vec<_> = symbols
        .into_iter()
        .map(|(name, address)| LLVMOrcCSymbolMapPair {
            Name: name.into_raw(),
            Sym: LLVMJITEvaluatedSymbol { Address: address.get(), Flags: flags.to_llvm() },
        })
        .collect();
    // SAFETY: the names are references for the unit to take; the array is read.
    unsafe { LLVMOrcAbsoluteSymbols(pairs.as_mut_ptr(), pairs.len()) }
}

/// The closure of [`Dylib::add_generator`], owned by LLVM.
struct Generator {
    find: Box<Find>,
}

type Find = dyn Fn(&str) -> Option<Address> + Send + Sync;

/// ORC's callback: defines those symbols of a lookup that the closure finds.
extern "C" fn generate(
    _: LLVMOrcDefinitionGeneratorRef,
    context: *mut c_void,
    _: *mut LLVMOrcLookupStateRef,
    _: LLVMOrcLookupKind,
    dylib: LLVMOrcJITDylibRef,
    _: LLVMOrcJITDylibLookupFlags,
    wanted: LLVMOrcCLookupSet,
    count: usize,
) -> LLVMErrorRef {
    // SAFETY: the context is the box of `add_generator`, which the generator
    // owns while it can be called.
    let generator = unsafe { &*context.cast::<Generator>() };
    let find = || -> Vec<_> {
        (0..count)
            .filter_map(|index| {
                // SAFETY: LLVM lends an array of `count` names for this call.
                let (entry, name) = unsafe {
                    let entry = (*wanted.add(index)).Name;
                    (entry, entry_text(entry))
                };
                let address = (generator.find)(&name)?;
                // SAFETY: as above.
                Some((unsafe { Interned::retain(entry) }, address))
            })
            .collect()
    };
    match catch_unwind(AssertUnwindSafe(find)) {
        Ok(found) if found.is_empty() => ptr::null_mut(),
        Ok(found) => define_found(dylib, found),
        Err(_) => llvm_error(PANICKED),
    }
}

const PANICKED: &CStr = c"the generator of definitions panicked";

/// Defines what a generator has found, as weak symbols: if another thread
/// defines the same name meanwhile, its definition is taken instead of
/// reporting an error.
fn define_found(dylib: LLVMOrcJITDylibRef, found: Vec<(Interned, Address)>) -> LLVMErrorRef {
    let unit = absolute_unit(found, SymbolFlags::DATA.weak());
    // SAFETY: ORC calls the generator for a living dylib, which takes the unit if
    // it succeeds; otherwise it is still ours to dispose of.
    unsafe {
        let error = LLVMOrcJITDylibDefine(dylib, unit);
        if !error.is_null() {
            LLVMOrcDisposeMaterializationUnit(unit);
        }
        error
    }
}

extern "C" fn dispose_generator(context: *mut c_void) {
    // SAFETY: the box of `add_generator`, which LLVM gives back exactly once.
    let generator = unsafe { Box::from_raw(context.cast::<Generator>()) };
    // A closure that panics on drop must not unwind into LLVM.
    drop(catch_unwind(AssertUnwindSafe(|| drop(generator))));
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::super::testing::{call, constant, object, session};
    use super::*;

    const CALLS_EXTERNAL: &str = "declare i64 @external()
        define i64 @caller() nounwind { %r = call i64 @external() ret i64 %r }";

    #[test]
    fn absolute_symbols_resolve() {
        let (session, dylib) = session();
        dylib.define_absolute([("a", Address::new(1)), ("b", Address::new(2))]).unwrap();
        assert_eq!(session.lookup(&dylib, "b"), Ok(Address::new(2)));
        let twice = dylib.define_absolute([("b", Address::new(3))]).unwrap_err();
        assert!(matches!(&twice, OrcError::Define(why) if why.contains('b')), "{twice}");
    }

    #[test]
    fn link_order_is_for_linking_only() {
        let (session, dylib) = session();
        let library = session.create_dylib("library").unwrap();
        library.create_tracker().add_object(&constant("external", 42)).unwrap();
        dylib.set_link_order([&library]);
        dylib.create_tracker().add_object(&object(CALLS_EXTERNAL)).unwrap();
        assert_eq!(call(session.lookup(&dylib, "caller").unwrap()), 42);
        assert_eq!(session.lookup(&dylib, "external"), Err(OrcError::NotFound("external".into())));
    }

    #[test]
    fn generator_is_asked_once_for_what_is_missing() {
        static ASKED: Mutex<Vec<String>> = Mutex::new(Vec::new());
        extern "C" fn external() -> i64 {
            6
        }
        let (session, dylib) = session();
        dylib.add_generator(|name| {
            ASKED.lock().unwrap().push(name.to_owned());
            (name == "external").then(|| Address::of(external as *const ()))
        });
        dylib.create_tracker().add_object(&object(CALLS_EXTERNAL)).unwrap();
        assert_eq!(call(session.lookup(&dylib, "caller").unwrap()), 6);
        session.lookup(&dylib, "external").unwrap();
        assert_eq!(session.lookup(&dylib, "other"), Err(OrcError::NotFound("other".into())));
        assert_eq!(*ASKED.lock().unwrap(), ["external", "other"]);
    }

    #[test]
    fn generator_that_panics_fails_the_lookup() {
        let (session, dylib) = session();
        dylib.add_generator(|_| panic!("generator panics in a test"));
        let error = session.lookup(&dylib, "f").unwrap_err().to_string();
        assert!(error.contains("panicked"), "{error}");
    }
}
