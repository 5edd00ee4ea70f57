//! On-stack replacement (OSR): code for the rest of a function, entered at an
//! iteration of a loop.
//!
//! A hot loop that is still running in the interpreter, or in baseline code, is
//! left at a loop header for code that is entered right there. The code is made
//! for one run, which owns it.

use super::bindings::Bindings;
use super::body_request::BodyRequest;
use super::code::LinkedBody;
use super::definition::Definition;
use super::make::make;
use super::tier::{CompilePlan, Tier};
use super::worker::Urgency;
use super::{Jit, place};
use crate::budget::ContextBudget;
use crate::codegen::{Entry, LoopEntry};
use crate::failure::Failure;
use crate::process::Generation;
use crate::runtime::ExecutionMemory;
use crate::sema::checked::CheckedFunction;
use parking_lot::Mutex;
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

/// OSR code: compiled code for the rest of a function from a loop header on.
/// Freed when dropped.
pub struct OsrCode {
    /// The process whose worker compiles it.
    generation: Generation,
    function: Arc<CheckedFunction>,
    entry: LoopEntry,
    status: Mutex<OsrStatus>,
}

/// The loops of baseline code that are hot in a run.
#[derive(Default)]
pub(super) struct HotLoops(Vec<HotLoop>);

/// A loop that has been reported to be hot in a run.
pub(super) struct HotLoop {
    function: Arc<CheckedFunction>,
    /// What the function belongs to, if a name is bound to it.
    definition: Option<Weak<Definition>>,
    entry: LoopEntry,
    /// How long it had been hot in earlier runs.
    before: Duration,
    /// When it was reported first, and the last time.
    since: Instant,
    last: Instant,
    /// After how many iterations it was to be reported then; 0 if that is not known.
    iterations: u32,
    /// Its OSR code, once that is requested.
    code: Option<Arc<OsrCode>>,
}

/// How long a loop has been hot when its function is compiled at the optimising tier, all runs
/// together, and when OSR code is requested, in the run that is to continue there. Most loops end
/// before it would be ready, and a longer patience is time that all others lose.
const PATIENCE: Duration = Duration::from_millis(2);

/// How long iterations take, about, after which a loop is reported again: a report costs a thousandth
/// of it.
const REPORTED_EVERY: Duration = Duration::from_micros(200);

/// After how many iterations a loop is reported for the second time.
const SECOND: u32 = 8;

/// Compilation status.
enum OsrStatus {
    Idle,
    Linked(LinkedBody),
    /// The job that was to compile it has not.
    Lost,
    /// Could not be compiled.
    Failed,
}

/// A request for OSR code, which a job fulfils. When it is dropped, the
/// interpreter that works on the memory looks at the code.
pub(super) struct OsrRequest {
    code: Arc<OsrCode>,
    memory: Arc<ExecutionMemory>,
    budget: Arc<ContextBudget>,
}

impl OsrRequest {
    pub(super) fn new(
        code: &Arc<OsrCode>,
        memory: &Arc<ExecutionMemory>,
        budget: &Arc<ContextBudget>,
    ) -> Self {
        Self { code: code.clone(), memory: memory.clone(), budget: budget.clone() }
    }

    /// Compiles and links the code; on a worker.
    pub(super) fn make(&self, jit: &Jit, plan: &CompilePlan) {
        self.code.make(jit, plan, &self.budget);
    }
}

impl Drop for OsrRequest {
    fn drop(&mut self) {
        let mut status = self.code.status.lock();
        if matches!(*status, OsrStatus::Idle) {
            *status = OsrStatus::Lost;
        }
        drop(status);
        self.memory.signal_code_ready();
    }
}

impl HotLoops {
    /// Returns the loop of a function that is entered at that place, and is reported
    /// to be hot. Sets after how many iterations it is to be reported again, at most `left`.
    pub(super) fn reported(
        &mut self,
        jit: &Jit,
        function: &Arc<CheckedFunction>,
        definition: Option<&Arc<Definition>>,
        entry: LoopEntry,
        left: &mut u32,
    ) -> &mut HotLoop {
        let is_it = |known: &HotLoop| Arc::ptr_eq(&known.function, function) && known.entry == entry;
        let at = self.0.iter().position(is_it).unwrap_or_else(|| {
            self.0.push(HotLoop::new(function.clone(), definition, entry));
            self.0.len() - 1
        });
        let hot_loop = &mut self.0[at];
        if !jit.options.waits_for_code {
            *left = hot_loop.next_report(*left);
        }
        hot_loop
    }
}

impl HotLoop {
    fn new(function: Arc<CheckedFunction>, definition: Option<&Arc<Definition>>, entry: LoopEntry) -> Self {
        let before = definition.map_or(Duration::ZERO, |definition| definition.looped());
        let (definition, now) = (definition.map(Arc::downgrade), Instant::now());
        Self { function, definition, entry, before, since: now, last: now, iterations: 0, code: None }
    }

    /// Returns whether it has been hot for so long that its function is worth better code.
    pub(super) fn is_worth_code(&self, jit: &Jit) -> bool {
        self.is_due(jit, self.before)
    }

    /// Returns whether it has been hot for long enough: in this run, and for a time before it.
    fn is_due(&self, jit: &Jit, before: Duration) -> bool {
        jit.options.waits_for_code || before + self.since.elapsed() >= PATIENCE
    }

    /// Returns after how many iterations it is to be reported again: by the time that they have
    /// taken, at most that number.
    fn next_report(&mut self, most: u32) -> u32 {
        let (now, before) = (Instant::now(), self.iterations);
        let took = now.duration_since(self.last);
        let next = match before {
            0 => u128::from(SECOND),
            _ => u128::from(before) * REPORTED_EVERY.as_nanos() / took.as_nanos().max(1),
        };
        self.last = now;
        self.iterations = next.clamp(1, most.max(1).into()) as u32;
        self.iterations
    }

    /// Returns the code to continue in, requested once the loop has been hot for long enough in this
    /// run; `None` if it is not ready.
    pub(super) fn code(&mut self, jit: &Arc<Jit>, bindings: &Bindings) -> Option<usize> {
        if self.code.is_none() && !self.is_due(jit, Duration::ZERO) {
            return None;
        }
        if self.code.as_ref().is_none_or(|code| code.is_lost()) {
            let wait = jit.options.waits_for_code;
            self.code = OsrCode::request(jit, bindings, self.function.clone(), self.entry, wait).ok();
        }
        self.code.as_ref()?.body_for(jit, bindings.memory())
    }
}

impl Drop for HotLoop {
    fn drop(&mut self) {
        if let Some(definition) = self.definition.as_ref().and_then(Weak::upgrade) {
            definition.note_looped(self.before + self.since.elapsed());
        }
    }
}

impl OsrCode {
    /// Requests code; waits for it if `wait` is set. If no worker can be started
    /// for it in the background, it [is lost](Self::is_lost).
    ///
    /// # Errors
    /// With `wait`, if no worker can be started.
    pub(super) fn request(
        jit: &Arc<Jit>,
        bindings: &Bindings,
        function: Arc<CheckedFunction>,
        entry: LoopEntry,
        wait: bool,
    ) -> Result<Arc<Self>, Failure> {
        let plan = bindings.plan(jit, &function, Some(Tier::Full));
        let (generation, status) = (Generation::current(), Mutex::new(OsrStatus::Idle));
        let code = Arc::new(Self { generation, function, entry, status });
        let request = OsrRequest::new(&code, bindings.memory(), bindings.budget());
        let jit_of_worker = jit.clone();
        let work = move || request.make(&jit_of_worker, &plan);
        if wait {
            jit.wait_for(None, work)?;
        } else {
            let _ = jit.later(Urgency::Hot, work);
        }
        Ok(code)
    }

    /// Returns the address of the code, ready to be run on a memory; `None` before
    /// it is linked.
    pub(super) fn body_for(&self, jit: &Jit, memory: &ExecutionMemory) -> Option<usize> {
        match &*self.status.lock() {
            OsrStatus::Linked(linked) => {
                jit.slots.fill(memory, linked.held());
                Some(linked.body())
            }
            OsrStatus::Idle | OsrStatus::Lost | OsrStatus::Failed => None,
        }
    }

    /// Returns whether the code can be entered.
    pub fn is_ready(&self) -> bool {
        matches!(*self.status.lock(), OsrStatus::Linked(_))
    }

    /// Returns whether no job is going to compile it any more.
    pub fn is_lost(&self) -> bool {
        match &*self.status.lock() {
            OsrStatus::Idle => !self.generation.is_current(),
            OsrStatus::Lost => true,
            OsrStatus::Linked(_) | OsrStatus::Failed => false,
        }
    }

    /// Returns whether the code could not be compiled.
    pub fn has_failed(&self) -> bool {
        matches!(*self.status.lock(), OsrStatus::Failed)
    }

    fn make(&self, jit: &Jit, plan: &CompilePlan, budget: &Arc<ContextBudget>) {
        if jit.is_too_large(&self.function) {
            *self.status.lock() = OsrStatus::Failed;
            return;
        }
        let request = BodyRequest { function: &self.function, plan, entry: Entry::Loop(self.entry) };
        let compiled = || make(jit, &[request], budget).ok()?.pop();
        let placed = place::place_stored(jit, &request, request.identity(jit), budget);
        let linked = placed.or_else(compiled).map(|(linked, _)| linked);
        jit.note_removed_symbol();
        *self.status.lock() = linked.map_or(OsrStatus::Failed, OsrStatus::Linked);
    }
}
