//! The session: the owner of ORC's execution session and of the linker, which ends
//! them in the right order.

#![allow(unsafe_code)]

use std::ffi::{CString, c_void};
use std::ptr::{self, NonNull};
use std::sync::Arc;

use kal_code::{Address, Slab, SlabOptions, through};
use llvm_sys::orc2::{
    LLVMOrcExecutionSessionCreateBareJITDylib, LLVMOrcExecutionSessionGetJITDylibByName,
    LLVMOrcExecutionSessionGetSymbolStringPool, LLVMOrcExecutionSessionRef,
    LLVMOrcExecutionSessionSetErrorReporter, LLVMOrcReleaseResourceTracker, LLVMOrcResourceTrackerRef,
    LLVMOrcSymbolStringPoolClearDeadEntries,
};
use parking_lot::Mutex;

use super::dylib::Dylib;
use super::error::{OrcError, check, take_message};
use super::ffi;
use super::memory;
use super::report::{Reports, report_to};

/// The options of a session.
#[derive(Clone, Debug, Default)]
pub struct SessionOptions {
    /// Those of its slab.
    pub slab: SlabOptions,
    /// Whether linked code is registered with debuggers, through GDB's JIT
    /// interface.
    pub debug_objects: bool,
}

/// A handle to a JIT session. The session ends, and all of its code is freed,
/// when the last handle to it or to a part of it is dropped.
#[derive(Clone)]
pub struct Session {
    inner: Arc<SessionInner>,
}

impl Session {
    /// Creates an empty session with a slab of its own.
    ///
    /// # Errors
    /// [`OrcError::Session`] if the host refuses what it needs.
    pub fn new(options: &SessionOptions) -> Result<Self, OrcError> {
        let slab = Slab::new(&options.slab).map_err(|error| OrcError::Session(error.to_string()))?;
        Self::in_slab(&slab, options.debug_objects)
    }

    /// Creates an empty session that links into that slab. Linked code is registered with
    /// debuggers if `debug_objects`.
    ///
    /// # Errors
    /// [`OrcError::Session`] if the host refuses what it needs.
    pub fn in_slab(slab: &Slab, debug_objects: bool) -> Result<Self, OrcError> {
        let create = || {
            let inner = SessionInner::new(slab)?;
            if debug_objects {
                inner.tell_debuggers()?;
            }
            Ok(Self { inner: Arc::new(inner) })
        };
        through(|work| slab.host().steady(work), create)
    }

    /// Returns the slab that it links into.
    pub fn slab(&self) -> &Slab {
        &self.inner.slab
    }

    /// Adds an empty dylib. It lives as long as the session.
    ///
    /// # Errors
    /// [`OrcError::DylibExists`], or [`OrcError::Name`] for a name with a NUL.
    pub fn create_dylib(&self, name: &str) -> Result<Dylib, OrcError> {
        let c_name = CString::new(name).map_err(|_| OrcError::Name(name.to_owned()))?;
        let session = self.inner.execution_session();
        let _one_at_a_time = self.inner.creating_dylib.lock();
        // SAFETY: the execution session lives as long as `self`; names are
        // NUL-terminated and copied. Creating a dylib whose name is taken is not
        // allowed, which is why it is asked for first, under the lock.
        let raw = unsafe {
            if !LLVMOrcExecutionSessionGetJITDylibByName(session, c_name.as_ptr()).is_null() {
                return Err(OrcError::DylibExists(name.to_owned()));
            }
            LLVMOrcExecutionSessionCreateBareJITDylib(session, c_name.as_ptr())
        };
        Ok(Dylib::new(Arc::clone(&self.inner), raw))
    }

    /// Returns the address of `symbol` in `dylib` itself (its link order is for
    /// linking only), hidden or not, once it and all it refers to are ready to
    /// run. Materializes what that needs, on this thread, or waits for the
    /// thread that is materializing it.
    ///
    /// # Errors
    /// [`OrcError::NotFound`] if the dylib has no such symbol,
    /// [`OrcError::Materialize`] if its unit failed, something it refers to is
    /// missing, or its tracker was removed meanwhile.
    pub fn lookup(&self, dylib: &Dylib, symbol: &str) -> Result<Address, OrcError> {
        let mark = self.inner.reports.mark();
        let (mut address, mut not_found) = (0, false);
        // SAFETY: session and dylib are kept alive by their handles; the name is
        // read up to its length and copied. Finishing frees the lookup, which has
        // ended, and writes both results before it returns.
        let error = unsafe {
            let name = symbol.as_ptr().cast();
            let lookup = ffi::orc_shim_lookup_start(self.inner.shim(), dylib.raw(), name, symbol.len());
            if !ffi::orc_shim_lookup_is_done(lookup) {
                // A fork or an exit, which waits for this thread, may make the
                // other thread wait for it.
                let wait = || ffi::orc_shim_lookup_wait(lookup);
                through(|work| self.inner.slab.host().waiting(work), wait);
            }
            ffi::orc_shim_lookup_finish(lookup, &raw mut address, &raw mut not_found)
        };
        let explain = |message| {
            let symbol = symbol.to_owned();
            if not_found {
                return OrcError::NotFound(symbol);
            }
            let reports = self.inner.reports.about(mark, &symbol);
            OrcError::Materialize { symbol, message, reports }
        };
        check(error, explain).map(|()| Address::new(address))
    }

    pub(super) fn inner(&self) -> &Arc<SessionInner> {
        &self.inner
    }

    /// Frees the names that no symbol uses any more. Redefining under fresh
    /// names leaves some behind each time; call this now and then.
    pub fn clear_dead_symbols(&self) {
        // SAFETY: the execution session, and so its pool, lives as long as
        // `self`; the pool locks itself.
        unsafe {
            let pool = LLVMOrcExecutionSessionGetSymbolStringPool(self.inner.execution_session());
            LLVMOrcSymbolStringPoolClearDeadEntries(pool);
        }
    }

    /// Removes and returns the latest failure reports. Those that made a lookup
    /// fail are in its error too; this is for the others.
    pub fn drain_reports(&self) -> Vec<String> {
        self.inner.reports.drain()
    }
}

/// The part of a session that all handles share.
pub(super) struct SessionInner {
    shim: NonNull<ffi::OrcShimSession>,
    execution_session: LLVMOrcExecutionSessionRef,
    /// Boxed, because LLVM holds its address.
    reports: Box<Reports>,
    creating_dylib: Mutex<()>,
    /// References to trackers that were dropped but not removed. To release one
    /// costs ORC a walk over all pending units, unless the session has ended.
    dropped_trackers: Mutex<Vec<LLVMOrcResourceTrackerRef>>,
    /// Boxed, because LLVM holds its address; last, since it is freed after the session.
    slab: Box<Slab>,
}

// SAFETY: the pointers name an ExecutionSession and what belongs to it, which
// lock themselves (Core.h: `runSessionLocked`) and are bound to no thread.
unsafe impl Send for SessionInner {}
// SAFETY: as above.
unsafe impl Sync for SessionInner {}

impl SessionInner {
    fn new(slab: &Slab) -> Result<Self, OrcError> {
        let slab = Box::new(slab.clone());
        let mut shim = ptr::null_mut();
        // SAFETY: on success the result is a session that we own; the slab has a stable address
        // and is freed after it.
        let error = unsafe { ffi::orc_shim_session_create(memory::of_slab(&slab), &raw mut shim) };
        check(error, OrcError::Session)?;
        let shim = NonNull::new(shim).expect("success means a session");
        let reports = Box::<Reports>::default();
        // SAFETY: the session is fresh; `reports` has a stable address and is
        // freed after the session (see `drop`).
        let execution_session = unsafe {
            let session = ffi::orc_shim_session_execution_session(shim.as_ptr());
            let context = ptr::from_ref(&*reports).cast::<c_void>().cast_mut();
            LLVMOrcExecutionSessionSetErrorReporter(session, report_to, context);
            session
        };
        Ok(Self {
            shim,
            execution_session,
            reports,
            creating_dylib: Mutex::default(),
            dropped_trackers: Mutex::default(),
            slab,
        })
    }

    /// Registers the session with debuggers.
    fn tell_debuggers(&self) -> Result<(), OrcError> {
        // SAFETY: the session is alive and links nothing yet.
        let error = unsafe { ffi::orc_shim_session_debug_objects(self.shim()) };
        check(error, OrcError::Session)
    }

    pub(super) fn shim(&self) -> *mut ffi::OrcShimSession {
        self.shim.as_ptr()
    }

    pub(super) fn execution_session(&self) -> LLVMOrcExecutionSessionRef {
        self.execution_session
    }

    pub(super) fn reports(&self) -> &Reports {
        &self.reports
    }

    /// Takes ownership of a reference to a tracker of this session.
    pub(super) fn keep_dropped_tracker(&self, tracker: LLVMOrcResourceTrackerRef) {
        self.dropped_trackers.lock().push(tracker);
    }
}

impl Drop for SessionInner {
    fn drop(&mut self) {
        let host = self.slab.host();
        through(|work| host.steady(work), || self.end());
    }
}

impl SessionInner {
    fn end(&mut self) {
        // SAFETY: this was the last owner, and every part of the session (dylib
        // handles, trackers, responsibilities) is an owner, so nothing uses it.
        let error = unsafe { ffi::orc_shim_session_end(self.shim.as_ptr()) };
        if !error.is_null() {
            // No handle is left to report it to.
            drop(take_message(error));
        }
        for tracker in self.dropped_trackers.get_mut().drain(..) {
            // SAFETY: the reference is ours, and the session not destroyed yet.
            unsafe { LLVMOrcReleaseResourceTracker(tracker) };
        }
        // SAFETY: as above; the session has ended.
        unsafe { ffi::orc_shim_session_destroy(self.shim.as_ptr()) };
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Barrier;
    use std::thread;
    use std::time::Instant;

    use super::super::testing::{alone, call, constant, emitting, function, object, resident_bytes, session};
    use super::*;

    #[test]
    fn undefined_symbol_is_not_found() {
        let (session, dylib) = session();
        assert_eq!(session.lookup(&dylib, "puts"), Err(OrcError::NotFound("puts".into())));
    }

    #[test]
    fn dylib_names_are_unique() {
        let (session, _dylib) = session();
        assert_eq!(session.create_dylib("main").err(), Some(OrcError::DylibExists("main".into())));
        assert_eq!(session.create_dylib("a\0b").err(), Some(OrcError::Name("a\0b".into())));
    }

    #[test]
    fn reports_say_why_a_lookup_failed() {
        let (session, dylib) = session();
        let tracker = dylib.create_tracker();
        let calling = object("declare void @missing()\ndefine void @f() { call void @missing() ret void }");
        tracker.define(function("f"), emitting(calling)).unwrap();
        let error = session.lookup(&dylib, "f").unwrap_err().to_string();
        assert!(error.contains("cannot materialize `f`") && error.contains("missing"), "{error}");
    }

    #[test]
    fn no_object_is_an_error_of_the_lookup() {
        let (session, dylib) = session();
        let tracker = dylib.create_tracker();
        tracker.define(function("f"), emitting(b"no object".to_vec())).unwrap();
        let error = session.lookup(&dylib, "f").unwrap_err();
        assert!(matches!(&error, OrcError::Materialize { reports, .. } if reports.len() == 1), "{error:?}");
    }

    #[test]
    fn code_bytes_come_and_go() {
        let (session, dylib) = session();
        let tracker = dylib.create_tracker();
        tracker.add_object(&constant("f", 1)).unwrap();
        assert_eq!(session.slab().bytes(), 0);
        session.lookup(&dylib, "f").unwrap();
        assert!(session.slab().bytes() > 0);
        tracker.remove().unwrap();
        assert_eq!(session.slab().bytes(), 0);
    }

    #[test]
    fn session_ends_with_pending_units_and_live_trackers() {
        let (session, dylib) = session();
        let tracker = dylib.create_tracker();
        tracker.define(function("never"), emitting(Vec::new())).unwrap();
        tracker.add_object(&constant("f", 1)).unwrap();
        session.lookup(&dylib, "f").unwrap();
        drop(session);
        drop(dylib);
        drop(tracker);
    }

    #[test]
    fn threads_materialize_at_once() {
        const THREADS: usize = 4;
        const EACH: usize = 200;
        let (session, dylib) = session();
        let start = Barrier::new(THREADS);
        thread::scope(|scope| {
            for thread in 0..THREADS {
                let (session, dylib, start) = (&session, &dylib, &start);
                scope.spawn(move || {
                    let value = |index| i64::try_from(thread * EACH + index).unwrap();
                    let names: Vec<_> = (0..EACH).map(|index| format!("f{}", value(index))).collect();
                    for (index, name) in names.iter().enumerate() {
                        let unit = emitting(constant(name, value(index)));
                        dylib.create_tracker().define(function(name), unit).unwrap();
                    }
                    start.wait();
                    for (index, name) in names.iter().enumerate() {
                        assert_eq!(call(session.lookup(dylib, name).unwrap()), value(index));
                    }
                });
            }
        });
    }

    #[test]
    fn threads_share_one_materialization() {
        let (session, dylib) = session();
        let tracker = dylib.create_tracker();
        let start = Barrier::new(4);
        for round in 0..200 {
            let name = format!("f{round}");
            tracker.define(function(&name), emitting(constant(&name, round))).unwrap();
            thread::scope(|scope| {
                for _ in 0..4 {
                    scope.spawn(|| {
                        start.wait();
                        assert_eq!(call(session.lookup(&dylib, &name).unwrap()), round);
                    });
                }
            });
        }
    }

    #[test]
    fn rounds_of_materializing_take_no_memory() {
        alone("session::tests::rounds_of_materializing_take_no_memory", || {
            let (session, dylib) = session();
            let code = constant("f", 7);
            let round = || {
                let tracker = dylib.create_tracker();
                tracker.define(function("f"), emitting(code.clone())).unwrap();
                assert_eq!(call(session.lookup(&dylib, "f").unwrap()), 7);
                tracker.remove().unwrap();
            };
            measure(20_000, round);
            assert_eq!(session.slab().bytes(), 0);
        });
    }

    #[test]
    fn rounds_of_pending_units_take_no_memory() {
        alone("session::tests::rounds_of_pending_units_take_no_memory", || {
            let (_session, dylib) = session();
            let round = || {
                let tracker = dylib.create_tracker();
                tracker.define(function("f"), emitting(Vec::new())).unwrap();
                tracker.remove().unwrap();
            };
            measure(100_000, round);
        });
    }

    #[test]
    fn pending_units_are_cheap() {
        alone("session::tests::pending_units_are_cheap", || {
            const COUNT: usize = 100_000;
            let (_session, dylib) = session();
            let names: Vec<_> = (0..COUNT).map(|index| format!("function{index}$impl")).collect();
            let (before, start) = (resident_bytes(), Instant::now());
            let trackers: Vec<_> = names
                .iter()
                .map(|name| {
                    let tracker = dylib.create_tracker();
                    tracker.define(function(name), emitting(Vec::new())).unwrap();
                    tracker
                })
                .collect();
            let (took, bytes) = (start.elapsed() / COUNT as u32, (resident_bytes() - before) / COUNT);
            println!("a pending definition takes {took:?} and {bytes} bytes");
            assert!(bytes < 1000, "{bytes} bytes");
            for tracker in trackers {
                tracker.remove().unwrap();
            }
        });
    }

    #[test]
    fn session_with_many_pending_units_ends_quickly() {
        const COUNT: usize = 50_000;
        let (session, dylib) = session();
        let trackers: Vec<_> = (0..COUNT)
            .map(|index| {
                let tracker = dylib.create_tracker();
                tracker.define(function(&format!("f{index}")), emitting(Vec::new())).unwrap();
                tracker
            })
            .collect();
        let start = Instant::now();
        drop((session, dylib, trackers));
        let took = start.elapsed();
        println!("{took:?} for {COUNT} pending units");
        assert!(took.as_secs() < 5, "{took:?}");
    }

    /// Runs `round` `count` times and fails if the last nine tenths of the runs
    /// grew the process.
    fn measure(count: usize, round: impl Fn()) {
        (0..count / 10).for_each(|_| round());
        let (before, start) = (resident_bytes(), Instant::now());
        (count / 10..count).for_each(|_| round());
        let took = start.elapsed() * 10 / (count as u32 * 9);
        let growth = resident_bytes().saturating_sub(before);
        println!("{took:?} a round, {growth} bytes of growth");
        assert!(growth < 1 << 20, "grew by {growth} bytes");
    }
}
