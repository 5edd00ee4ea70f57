//! The linker: a session of ORC with one dylib, which is there from the first object
//! that is linked. Code of earlier runs is placed without it, and without starting
//! LLVM.

use super::refusal::LinkError;
use super::{Jit, offset, resolve};
use crate::llvm;
use crate::process::{Activity, SteadyCell, within};
use kal_code::{Address, Slab};
pub(super) use kal_orc::Tracker as LinkedObject;
use kal_orc::{Dylib, OrcError, Session};
use parking_lot::Mutex;
use std::sync::Weak;

/// What links objects into the slab of a JIT.
pub(super) struct Linker {
    jit: Weak<Jit>,
    slab: Slab,
    debug_objects: bool,
    started: SteadyCell<StartedLinker>,
    /// Held by the thread that starts it.
    starting: Mutex<()>,
}

struct StartedLinker {
    dylib: Dylib,
    session: Session,
}

impl Linker {
    /// Creates a linker for the code of a JIT. Starts nothing yet.
    pub(super) fn new(jit: &Weak<Jit>, slab: &Slab, debug_objects: bool) -> Self {
        Self {
            jit: jit.clone(),
            slab: slab.clone(),
            debug_objects,
            started: SteadyCell::new(),
            starting: Mutex::default(),
        }
    }

    /// Adds an object, to be linked when it is looked up.
    ///
    /// # Errors
    /// Why it cannot be linked.
    pub(super) fn add(&self, object: &[u8]) -> Result<LinkedObject, LinkError> {
        let tracker = self.started()?.dylib.create_tracker();
        tracker.add_object(object)?;
        Ok(tracker)
    }

    /// Frees an object. This fails only for one that is still being linked, which then
    /// fails itself; what cannot be freed stays until the session ends. Returns whether it
    /// is freed.
    pub(super) fn remove(object: LinkedObject) -> bool {
        within(Activity::Steady, || object.remove()).is_ok()
    }

    /// Returns the address of a symbol of a linked object.
    ///
    /// # Errors
    /// Why it is not there.
    pub(super) fn lookup(&self, symbol: &str) -> Result<Address, LinkError> {
        let started = self.started()?;
        Ok(started.session.lookup(&started.dylib, symbol)?)
    }

    /// Frees the names that no symbol uses any more.
    pub(super) fn clear_dead_symbols(&self) {
        self.started.get().into_iter().for_each(|started| started.session.clear_dead_symbols());
    }

    fn started(&self) -> Result<&StartedLinker, OrcError> {
        if let Some(started) = self.started.get() {
            return Ok(started);
        }
        // No fork comes in between.
        within(Activity::Steady, || {
            let _starting = self.starting.lock();
            if let Some(started) = self.started.get() {
                return Ok(started);
            }
            let made = self.start()?;
            Ok(self.started.get_or_make(|| made))
        })
    }

    fn start(&self) -> Result<StartedLinker, OrcError> {
        llvm::start();
        let session = Session::in_slab(&self.slab, self.debug_objects)?;
        let dylib = session.create_dylib("program")?;
        dylib.add_generator(resolve);
        let jit = self.jit.clone();
        session.add_constants(move |symbol| offset(&jit, symbol));
        Ok(StartedLinker { dylib, session })
    }
}

impl From<OrcError> for LinkError {
    fn from(error: OrcError) -> Self {
        match error {
            // Usually, memory for the code.
            OrcError::Materialize { reports, .. } if !reports.is_empty() => Self::Refused(reports.join("; ")),
            OrcError::Materialize { .. } | OrcError::Session(_) => Self::Refused(error.to_string()),
            OrcError::Name(_)
            | OrcError::DylibExists(_)
            | OrcError::Define(_)
            | OrcError::Object(_)
            | OrcError::NotFound(_)
            | OrcError::Remove(_) => Self::Internal(error.to_string()),
            // The crate may add others.
            error => Self::Internal(error.to_string()),
        }
    }
}
