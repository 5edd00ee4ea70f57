//! Definitions: a checked function, and its code once that exists.
//!
//! A definition registers a materialization unit for its body symbol, under a
//! tracker of its own, when it is made. The unit is materialized by the first
//! look-up of the symbol, on a worker, whoever asks. When the last owner lets
//! go of the definition, its code is given up.

use super::failure::Failure;
use super::worker::with_compiler;
use super::{Counters, Garbage, Jit};
use crate::codegen::{self, Level};
use crate::name::Names;
use crate::orc::{MaterializationUnit, Responsibility, SymbolFlags, Tracker};
use crate::sema::checked::Function;
use parking_lot::{Condvar, Mutex};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};

/// A checked function and its code.
pub(super) struct Definition {
    function: Arc<Function>,
    symbol: String,
    jit: Weak<Jit>,
    progress: Mutex<Progress>,
    done: Condvar,
    code_bytes: Arc<AtomicU64>,
}

/// How far the code of a definition is.
enum Progress {
    /// The unit waits under the tracker.
    Registered(Tracker),
    /// A worker looks the symbol up.
    Busy(Tracker),
    /// The body is at this address.
    Linked(Tracker, usize),
    /// The unit was spent without success; the next request makes another.
    Spent(Result<(), Failure>),
}

/// The first to ask for a body makes it, the others wait.
enum Request {
    Make,
    Wait,
    Ready(Result<usize, Failure>),
}

impl Definition {
    /// A definition under `symbol`, which must be new to the session.
    pub(super) fn new(jit: &Arc<Jit>, function: Arc<Function>, symbol: String) -> Result<Arc<Self>, Failure> {
        let code_bytes = Arc::default();
        let tracker = register(jit, &function, &symbol, &code_bytes)?;
        Ok(Arc::new(Self {
            code_bytes,
            function,
            symbol,
            jit: Arc::downgrade(jit),
            progress: Mutex::new(Progress::Registered(tracker)),
            done: Condvar::new(),
        }))
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
            Progress::Registered(_) | Progress::Busy(_) | Progress::Spent(_) => None,
        }
    }

    /// The address of the body; makes it on this thread, which must be a
    /// worker, or waits for the thread that does.
    pub(super) fn materialize(&self, jit: &Jit) -> Result<usize, Failure> {
        match self.request(jit) {
            Request::Make => self.make(jit),
            Request::Wait => self.wait(),
            Request::Ready(result) => result,
        }
    }

    fn request(&self, jit: &Jit) -> Request {
        let mut progress = self.progress.lock();
        let taken = std::mem::replace(&mut *progress, Progress::Spent(Ok(())));
        let (next, request) = match taken {
            Progress::Registered(tracker) => (Progress::Busy(tracker), Request::Make),
            Progress::Busy(tracker) => (Progress::Busy(tracker), Request::Wait),
            Progress::Linked(tracker, body) => (Progress::Linked(tracker, body), Request::Ready(Ok(body))),
            Progress::Spent(_) => match register(jit, &self.function, &self.symbol, &self.code_bytes) {
                Ok(tracker) => (Progress::Busy(tracker), Request::Make),
                Err(failure) => (Progress::Spent(Err(failure.clone())), Request::Ready(Err(failure))),
            },
        };
        *progress = next;
        request
    }

    fn make(&self, jit: &Jit) -> Result<usize, Failure> {
        let found = jit.session.lookup(&jit.dylib, &self.symbol);
        let result = found.map(|address| address.get() as usize).map_err(|error| Failure::Compile {
            function: self.function.clone(),
            message: error.to_string(),
        });
        if let Ok(body) = result {
            jit.code.insert(body, &self.function);
        }
        let mut progress = self.progress.lock();
        let taken = std::mem::replace(&mut *progress, Progress::Spent(Ok(())));
        *progress = match (taken, &result) {
            (Progress::Busy(tracker), Ok(body)) => Progress::Linked(tracker, *body),
            (_, result) => Progress::Spent(result.clone().map(|_| ())),
        };
        drop(progress);
        self.done.notify_all();
        result
    }

    fn wait(&self) -> Result<usize, Failure> {
        let mut progress = self.progress.lock();
        loop {
            match &*progress {
                Progress::Linked(_, body) => return Ok(*body),
                Progress::Spent(Err(failure)) => return Err(failure.clone()),
                Progress::Spent(Ok(())) | Progress::Registered(_) => {
                    return Err(Failure::System("the compiler gave up".into()));
                }
                Progress::Busy(_) => self.done.wait(&mut progress),
            }
        }
    }
}

impl Drop for Definition {
    fn drop(&mut self) {
        let Some(jit) = self.jit.upgrade() else { return };
        match std::mem::replace(self.progress.get_mut(), Progress::Spent(Ok(()))) {
            Progress::Registered(tracker) | Progress::Busy(tracker) => drop(Garbage::new(tracker)),
            Progress::Linked(tracker, body) => {
                jit.code.remove(body);
                jit.epochs.retire(Garbage::new(tracker));
            }
            Progress::Spent(_) => {}
        }
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
        level: jit.level,
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
    level: Level,
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
        let object =
            with_compiler(|compiler| compiler.object(&self.function, &self.symbol, &self.names, self.level));
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
        let object = with_compiler(|compiler| compiler.object(function, symbol, &jit.names, jit.level))
            .map_err(|error| fail(error.to_string()))?;
        let body = jit.link(&object, symbol).map_err(fail)?;
        jit.counters.expressions.add(1);
        jit.code.insert(body.1, function);
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
