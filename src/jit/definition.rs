//! Definitions: a checked function, and its code once that exists.
//!
//! When the code of a definition is first wanted, a worker registers a
//! materialization unit for the body symbol, under a tracker of its own, and
//! looks the symbol up, which has the unit materialized. (Registering when the
//! definition is made would work as well, but takes 2 µs and 700 bytes for
//! each, and most definitions of a large program are never called.) When the
//! last owner lets go of the definition, its code is given up.

use super::failure::Failure;
use super::worker::with_compiler;
use super::{Counters, Garbage, Jit};
use crate::codegen;
use crate::name::Names;
use crate::orc::{MaterializationUnit, Responsibility, SymbolFlags, Tracker};
use crate::sema::checked::Function;
use parking_lot::{Condvar, Mutex};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};

/// A checked function and its code.
pub(super) struct Definition {
    function: Arc<Function>,
    /// How many definitions of the name came before.
    generation: u32,
    jit: Weak<Jit>,
    progress: Mutex<Progress>,
    done: Condvar,
    code_bytes: AtomicU64,
}

/// How far the code of a definition is.
enum Progress {
    /// Nobody has asked for it.
    Idle,
    /// A worker registers the unit and looks the symbol up.
    Busy,
    /// The body is at this address; the tracker owns it.
    Linked(Tracker, usize),
    /// It could not be made; who asks next tries again.
    Failed(Box<Failure>),
}

/// The first to ask for a body makes it, the others wait.
enum Request {
    Make,
    Wait,
    Ready(usize),
}

impl Definition {
    /// The definition of a name that `generation` others came before.
    pub(super) fn new(jit: &Arc<Jit>, function: Arc<Function>, generation: u32) -> Arc<Self> {
        Arc::new(Self {
            function,
            generation,
            jit: Arc::downgrade(jit),
            progress: Mutex::new(Progress::Idle),
            done: Condvar::new(),
            code_bytes: AtomicU64::new(0),
        })
    }

    pub(super) fn function(&self) -> &Arc<Function> {
        &self.function
    }

    /// How many bytes of instructions the body has; 0 before it is made.
    pub(super) fn code_bytes(&self) -> u64 {
        self.code_bytes.load(Ordering::Relaxed)
    }

    /// The address of the body, if it is there.
    pub(super) fn body(&self) -> Option<usize> {
        match &*self.progress.lock() {
            Progress::Linked(_, address) => Some(*address),
            Progress::Idle | Progress::Busy | Progress::Failed(_) => None,
        }
    }

    /// The address of the body; makes it on this thread, which must be a
    /// worker, or waits for the thread that does.
    pub(super) fn materialize(&self, jit: &Jit) -> Result<usize, Failure> {
        match self.request() {
            Request::Make => self.make(jit),
            Request::Wait => self.wait(),
            Request::Ready(body) => Ok(body),
        }
    }

    fn request(&self) -> Request {
        let mut progress = self.progress.lock();
        match &*progress {
            Progress::Idle | Progress::Failed(_) => {
                *progress = Progress::Busy;
                Request::Make
            }
            Progress::Busy => Request::Wait,
            Progress::Linked(_, body) => Request::Ready(*body),
        }
    }

    fn make(&self, jit: &Jit) -> Result<usize, Failure> {
        let made = self.link(jit);
        let result = match &made {
            Ok((_, body)) => Ok(*body),
            Err(failure) => Err(failure.clone()),
        };
        *self.progress.lock() = match made {
            Ok((tracker, body)) => Progress::Linked(tracker, body),
            Err(failure) => Progress::Failed(Box::new(failure)),
        };
        self.done.notify_all();
        result
    }

    fn link(&self, jit: &Jit) -> Result<(Tracker, usize), Failure> {
        let symbol = self.symbol(&jit.names);
        let code_bytes = Arc::new(AtomicU64::new(0));
        let tracker = register(jit, &self.function, &symbol, &code_bytes)?;
        match jit.session.lookup(&jit.dylib, &symbol) {
            Ok(address) => {
                let body = address.get() as usize;
                self.code_bytes.store(code_bytes.load(Ordering::Relaxed), Ordering::Relaxed);
                jit.code.insert(body, Some(&self.function));
                Ok((tracker, body))
            }
            Err(error) => {
                drop(Garbage::new(tracker));
                Err(Failure::Compile { function: self.function.clone(), message: error.to_string() })
            }
        }
    }

    /// `fib$impl`; for later definitions of the name with a number.
    fn symbol(&self, names: &Names) -> String {
        let name = names.text(self.function.name);
        match self.generation {
            0 => format!("{name}$impl"),
            later => format!("{name}$impl${later}"),
        }
    }

    fn wait(&self) -> Result<usize, Failure> {
        let mut progress = self.progress.lock();
        loop {
            match &*progress {
                Progress::Linked(_, body) => return Ok(*body),
                Progress::Failed(failure) => return Err(Failure::clone(failure)),
                Progress::Idle => return Err(Failure::System("the compiler gave up".into())),
                Progress::Busy => self.done.wait(&mut progress),
            }
        }
    }
}

impl Drop for Definition {
    fn drop(&mut self) {
        let Progress::Linked(tracker, body) = std::mem::replace(self.progress.get_mut(), Progress::Idle)
        else {
            return;
        };
        let Some(jit) = self.jit.upgrade() else { return };
        jit.code.remove(body);
        jit.epochs.retire(Garbage::new(tracker));
        jit.note_removed_symbol();
    }
}

/// Promises `symbol` to the session.
fn register(
    jit: &Jit,
    function: &Arc<Function>,
    symbol: &str,
    code_bytes: &Arc<AtomicU64>,
) -> Result<Tracker, Failure> {
    let tracker = jit.dylib.create_tracker();
    let body = Body {
        function: function.clone(),
        symbol: symbol.to_owned(),
        options: jit.options.code,
        names: jit.names.clone(),
        counters: jit.counters.clone(),
        code_bytes: code_bytes.clone(),
    };
    match tracker.define([(symbol, SymbolFlags::FUNCTION)], Box::new(body)) {
        Ok(()) => Ok(tracker),
        Err(error) => Err(Failure::Compile { function: function.clone(), message: error.error.to_string() }),
    }
}

/// The promise of a definition's body. It holds the checked function only, so
/// the session, which holds it, keeps no definition alive.
struct Body {
    function: Arc<Function>,
    symbol: String,
    options: codegen::Options,
    names: Arc<Names>,
    counters: Arc<Counters>,
    code_bytes: Arc<AtomicU64>,
}

impl MaterializationUnit for Body {
    fn name(&self) -> &str {
        &self.symbol
    }

    fn materialize(self: Box<Self>, responsibility: Responsibility) {
        self.counters.ir_generated.add(1);
        let object = with_compiler(|compiler| {
            compiler.object(&self.function, &self.symbol, &self.names, self.options)
        });
        match object {
            Ok(object) => {
                self.counters.objects_linked.add(1);
                self.code_bytes.store(codegen::code_size(&object), Ordering::Relaxed);
                responsibility.emit_object(&object);
            }
            Err(error) => responsibility.fail(error.to_string()),
        }
    }
}

/// Code that runs once: a top-level expression, under a tracker that is
/// removed when the run is over. Made on a worker.
pub(super) struct Expression {
    jit: Arc<Jit>,
    tracker: Option<Tracker>,
    pub(super) body: usize,
}

impl Expression {
    pub(super) fn new(jit: &Arc<Jit>, function: &Arc<Function>, symbol: &str) -> Result<Self, Failure> {
        let fail = |message: String| Failure::Compile { function: function.clone(), message };
        let object =
            with_compiler(|compiler| compiler.object(function, symbol, &jit.names, jit.options.code))
                .map_err(|error| fail(error.to_string()))?;
        let body = jit.link(&object, symbol).map_err(fail)?;
        jit.counters.expressions.add(1);
        jit.code.insert(body.1, Some(function));
        Ok(Self { jit: jit.clone(), tracker: Some(body.0), body: body.1 })
    }
}

impl Drop for Expression {
    fn drop(&mut self) {
        self.jit.code.remove(self.body);
        if let Some(tracker) = self.tracker.take() {
            drop(Garbage::new(tracker));
        }
        self.jit.note_removed_symbol();
    }
}
