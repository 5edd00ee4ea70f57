//! Definitions: a checked function, and its code once it is compiled.
//!
//! When the code of a definition is first needed, a worker registers a
//! materialization unit for the body symbol, under its own tracker, and looks
//! the symbol up, which materializes the unit. (Registering when the definition
//! is made would work as well, but takes 2 µs and 700 bytes for each, and most
//! definitions of a large program are never called.) When the last owner drops
//! the definition, its code is retired.

use super::Jit;
use super::body_request::{BodyRequest, MadeBody};
use super::code::{CompiledCode, LinkedBody, SharedBody};
use super::make::make;
use super::place;
use super::tier::{CompilePlan, Tier};
use super::waiters::Waiters;
use super::worker::{SteadyGuard, locked_steadily};
use crate::budget::ContextBudget;
use crate::codegen::Entry;
use crate::failure::Failure;
use crate::fingerprint::Fingerprint;
use crate::process::Generation;
use crate::sema::checked::CheckedFunction;
use std::mem;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, Weak};
use std::time::Duration;

/// A checked function and its code.
pub(super) struct Definition {
    function: Arc<CheckedFunction>,
    state: Mutex<DefinitionState>,
    waiters: Waiters,
    /// How long loops of it have been hot in runs that have ended, in microseconds.
    looped: AtomicU32,
}

/// What changes of a definition.
struct DefinitionState {
    code: CodeState,
    shape: Shape,
}

/// Whether the function differs only in its numbers from the one that it has
/// replaced. Baseline code of the two is then shared.
enum Shape {
    Own,
    /// With that of its predecessor, and the code of it that is kept until the
    /// definition has some.
    Shared(Option<Arc<SharedBody>>),
}

/// The state of a definition's code. Bindings hold the code that they lead to as
/// well: when better code replaces it here, other contexts still run it.
enum CodeState<C = Arc<CompiledCode>> {
    /// Not requested.
    Absent,
    /// A worker of a process compiles it.
    Compiling(Generation),
    /// Compiled.
    Compiled(C),
    /// Compiled, and hot: a worker of a process recompiles it at the optimising
    /// tier.
    Improving(C, Generation),
    /// Compiled, and cannot be at the optimising tier.
    Settled(C),
    /// Could not be compiled; the next request tries again.
    Failed(Box<Failure>),
}

impl<C: Clone> CodeState<C> {
    fn code(&self) -> Option<&C> {
        match self {
            Self::Compiled(code) | Self::Improving(code, _) | Self::Settled(code) => Some(code),
            Self::Absent | Self::Compiling(_) | Self::Failed(_) => None,
        }
    }

    /// Returns the state after a request to compile, if the caller is to do it.
    /// A worker of the parent process does not exist after a fork.
    fn claimed(&self) -> Option<Self> {
        let is_free = match self {
            Self::Absent | Self::Failed(_) => true,
            Self::Compiling(generation) => !generation.is_current(),
            Self::Compiled(_) | Self::Improving(..) | Self::Settled(_) => false,
        };
        is_free.then(|| Self::Compiling(Generation::current()))
    }

    /// Returns the state after a request to recompile hot code, if the caller
    /// is to do it.
    fn claimed_again(&self) -> Option<Self> {
        let code = match self {
            Self::Compiled(code) => Some(code),
            Self::Improving(code, generation) => Some(code).filter(|_| !generation.is_current()),
            Self::Settled(_) | Self::Absent | Self::Compiling(_) | Self::Failed(_) => None,
        };
        code.map(|code| Self::Improving(code.clone(), Generation::current()))
    }

    /// Returns the state after recompiling, if it was in progress: with code
    /// that can be recompiled again, or not.
    fn recompiled(&self, again: bool) -> Option<Self> {
        match self {
            Self::Improving(code, _) if again => Some(Self::Compiled(code.clone())),
            Self::Improving(code, _) => Some(Self::Settled(code.clone())),
            Self::Absent | Self::Compiling(_) | Self::Compiled(_) | Self::Settled(_) | Self::Failed(_) => {
                None
            }
        }
    }
}

impl Definition {
    /// Creates a definition without code.
    pub(super) fn new(function: Arc<CheckedFunction>) -> Arc<Self> {
        let state = Mutex::new(DefinitionState { code: CodeState::Absent, shape: Shape::Own });
        Arc::new(Self { function, state, waiters: Waiters::default(), looped: AtomicU32::new(0) })
    }

    /// Returns how long a loop of it has been hot in runs that have ended.
    pub(super) fn looped(&self) -> Duration {
        Duration::from_micros(self.looped.load(Ordering::Relaxed).into())
    }

    /// Records how long a loop of it has been hot, runs that have ended included.
    pub(super) fn note_looped(&self, time: Duration) {
        let time = u32::try_from(time.as_micros()).unwrap_or(u32::MAX);
        self.looped.fetch_max(time, Ordering::Relaxed);
    }

    /// Records that the definition replaces another, which has that code. If only
    /// its numbers are new, its baseline code loads them, so that the next such
    /// change compiles nothing.
    pub(super) fn follow(&self, before: &Self, code: Option<&Arc<CompiledCode>>) {
        if self.function.numbers.is_empty() || !self.function.has_shape_of(&before.function) {
            return;
        }
        // The same function, whose code is out of date.
        let is_anew = Arc::ptr_eq(&self.function, &before.function);
        let kept = match &before.state().shape {
            Shape::Own if is_anew => return,
            Shape::Own => None,
            Shape::Shared(kept) => kept.clone(),
        };
        let body = code.and_then(|code| code.shared_by_shape().cloned()).or(kept);
        let replaced = mem::replace(&mut self.state().shape, Shape::Shared(body));
        drop(replaced);
    }

    /// Returns whether baseline code of the definition loads its numbers.
    pub(super) fn loads_numbers(&self) -> bool {
        matches!(self.state().shape, Shape::Shared(_))
    }

    pub(super) fn function(&self) -> &Arc<CheckedFunction> {
        &self.function
    }

    /// Returns the size of the body in bytes; 0 before it is compiled.
    pub(super) fn code_bytes(&self) -> u64 {
        self.present().map_or(0, |code| code.size())
    }

    /// Returns the tier of the code; `None` before it is linked.
    pub(super) fn tier(&self) -> Option<Tier> {
        self.present().map(|code| code.tier())
    }

    /// Returns the linked code; `None` before it is linked.
    pub(super) fn present(&self) -> Option<Arc<CompiledCode>> {
        self.state().code.code().cloned()
    }

    /// Sets the code of a definition that has none, which an earlier run has made.
    pub(super) fn restore(&self, code: Arc<CompiledCode>) {
        let mut state = self.state();
        if let CodeState::Absent = state.code {
            state.code = CodeState::Compiled(code);
        }
    }

    /// Replaces linked baseline code by optimised code. Returns the code that
    /// is not kept: the old code, or the new code if there is no baseline code
    /// to replace.
    pub(super) fn replace(&self, code: Arc<CompiledCode>) -> Arc<CompiledCode> {
        match &mut self.state().code {
            CodeState::Compiled(present) | CodeState::Improving(present, _) | CodeState::Settled(present)
                if present.tier() == Tier::Quick =>
            {
                mem::replace(present, code)
            }
            CodeState::Compiled(_)
            | CodeState::Improving(..)
            | CodeState::Settled(_)
            | CodeState::Absent
            | CodeState::Compiling(_)
            | CodeState::Failed(_) => code,
        }
    }

    /// Claims the definition for compiling; `None` if another thread has, or it
    /// is linked.
    pub(super) fn claim(self: &Arc<Self>) -> Option<Claim> {
        let mut state = self.state();
        state.code = state.code.claimed()?;
        drop(state);
        Some(Claim(Some(self.clone())))
    }

    /// Claims the definition for recompiling at the optimising tier; `None` if
    /// another thread has, or it could not be compiled.
    pub(super) fn claim_improvement(self: &Arc<Self>) -> Option<ImprovementClaim> {
        let mut state = self.state();
        state.code = state.code.claimed_again()?;
        drop(state);
        Some(ImprovementClaim(Arc::downgrade(self)))
    }

    /// Compiles the definition at the optimising tier, while it is
    /// [claimed](Self::claim_improvement) for that. Returns `None` if it cannot
    /// be; it is not tried again.
    pub(super) fn optimise(
        &self,
        jit: &Arc<Jit>,
        plan: CompilePlan,
        budget: &Arc<ContextBudget>,
    ) -> Option<Arc<CompiledCode>> {
        let code = find(jit, &self.function, &plan, budget).or_else(|| self.link(jit, plan, budget).ok());
        if code.is_none() {
            self.end_improvement(false);
        }
        code
    }

    /// Ends the improvement, if there is one; it can be tried `again` or not.
    fn end_improvement(&self, again: bool) {
        let mut state = self.state();
        if let Some(next) = state.code.recompiled(again) {
            state.code = next;
        }
    }

    fn made(&self, made: Result<Arc<CompiledCode>, Failure>) -> Result<usize, Failure> {
        let result = match &made {
            Ok(code) => Ok(code.body()),
            Err(failure) => Err(failure.clone()),
        };
        let next = match made {
            Ok(code) => CodeState::Compiled(code),
            Err(failure) => CodeState::Failed(Box::new(failure)),
        };
        let mut state = self.state();
        let before = mem::replace(&mut state.code, next);
        let kept = match &mut state.shape {
            Shape::Own => None,
            Shape::Shared(kept) => kept.take(),
        };
        drop(state);
        drop((before, kept));
        self.waiters.wake();
        result
    }

    /// Compiles and links the definition, without installing the code; on a
    /// worker.
    pub(super) fn link(
        &self,
        jit: &Arc<Jit>,
        plan: CompilePlan,
        budget: &Arc<ContextBudget>,
    ) -> Result<Arc<CompiledCode>, Failure> {
        let mut code = link(jit, vec![(self, plan)], budget)?;
        code.pop().ok_or_else(|| Failure::internal("the compiler made nothing"))
    }

    /// Waits until the body is linked; returns its address.
    pub(super) fn wait(&self) -> Result<usize, Failure> {
        self.waiters.wait(|| match &self.state().code {
            CodeState::Compiled(code) | CodeState::Improving(code, _) | CodeState::Settled(code) => {
                Some(Ok(code.body()))
            }
            CodeState::Failed(failure) => Some(Err(Failure::clone(failure))),
            CodeState::Compiling(generation) if generation.is_current() => None,
            CodeState::Absent | CodeState::Compiling(_) => Some(Err(gave_up())),
        })
    }

    fn state(&self) -> SteadyGuard<'_, DefinitionState> {
        locked_steadily(&self.state)
    }
}

/// The duty to compile a definition. Dropping it, as a panic does, ends it with a
/// failure.
pub(super) struct Claim(Option<Arc<Definition>>);

impl Claim {
    /// Publishes the result.
    pub(super) fn made(mut self, made: Result<Arc<CompiledCode>, Failure>) -> Result<usize, Failure> {
        self.0.take().map_or_else(|| Err(gave_up()), |definition| definition.made(made))
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        if let Some(definition) = self.0.take() {
            let _ = definition.made(Err(gave_up()));
        }
    }
}

/// The duty to recompile a hot definition, which it does not keep alive. When it
/// is dropped, whether that was done or not, the definition can be claimed again.
pub(super) struct ImprovementClaim(Weak<Definition>);

impl ImprovementClaim {
    /// Returns the definition, if it is still in use.
    pub(super) fn definition(&self) -> Option<Arc<Definition>> {
        self.0.upgrade()
    }
}

impl Drop for ImprovementClaim {
    fn drop(&mut self) {
        if let Some(definition) = self.definition() {
            definition.end_improvement(true);
        }
    }
}

fn gave_up() -> Failure {
    Failure::internal("a compile ended without a result")
}

/// Returns the code of a function that is planned so, if the engine has it: it
/// was made for another text, in another context, or by an earlier run.
pub(super) fn find(
    jit: &Arc<Jit>,
    function: &Arc<CheckedFunction>,
    plan: &CompilePlan,
    budget: &Arc<ContextBudget>,
) -> Option<Arc<CompiledCode>> {
    let body = find_body(jit, &BodyRequest { function, plan, entry: Entry::Call }, budget)?;
    Some(CompiledCode::new(body, plan.clone(), function))
}

/// Returns such code, wherever it is entered.
pub(super) fn find_body(
    jit: &Arc<Jit>,
    request: &BodyRequest<'_>,
    budget: &Arc<ContextBudget>,
) -> Option<Arc<SharedBody>> {
    let identity = request.identity(jit);
    let present = is_shared(jit, request.function).then(|| jit.bodies.find(identity)).flatten();
    present.or_else(|| {
        let (placed, size) = place::place_stored(jit, request, identity, budget)?;
        Some(shared(jit, request, identity, placed, size))
    })
}

/// Returns whether definitions of the same function share code. Expressions do not:
/// their errors are about the text that each was typed in.
fn is_shared(jit: &Jit, function: &CheckedFunction) -> bool {
    !jit.is_expression(function)
}

/// Shares a body of that identity with others that plan the same.
pub(super) fn shared(
    jit: &Arc<Jit>,
    request: &BodyRequest<'_>,
    identity: Fingerprint,
    linked: LinkedBody,
    size: u64,
) -> Arc<SharedBody> {
    let body = SharedBody::new(jit, linked, size);
    if is_shared(jit, request.function) {
        jit.bodies.add(identity, request.function.name, request.plan.tier, &body);
    }
    body
}

/// Compiles and links definitions in one object, without installing the code;
/// on a worker, for the context with that budget. All plans must have the same
/// options.
///
/// # Errors
/// Why there is no code, attributed to the first definition.
pub(super) fn link(
    jit: &Arc<Jit>,
    parts: Vec<(&Definition, CompilePlan)>,
    budget: &Arc<ContextBudget>,
) -> Result<Vec<Arc<CompiledCode>>, Failure> {
    let Some((first, _)) = parts.first() else { return Ok(Vec::new()) };
    let function = first.function.clone();
    let fail = |message: String| Failure::Compile { function: function.clone(), message };
    if let Some((large, _)) = parts.iter().find(|(definition, _)| jit.is_too_large(&definition.function)) {
        let (size, most) = (large.function.nodes.len(), jit.options.most_operations);
        return Err(fail(format!("it is too large, with {size} operations of {most} at most")));
    }
    let requests: Vec<_> = parts
        .iter()
        .map(|(definition, plan)| BodyRequest { function: &definition.function, plan, entry: Entry::Call })
        .collect();
    let made = make(jit, &requests, budget)?;
    let code = |((definition, plan), (linked, size)): ((&Definition, CompilePlan), MadeBody)| {
        let request = BodyRequest { function: &definition.function, plan: &plan, entry: Entry::Call };
        let body = shared(jit, &request, request.identity(jit), linked, size);
        CompiledCode::new(body, plan, &definition.function)
    };
    Ok(parts.into_iter().zip(made).map(code).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::name::Names;
    use std::panic::{AssertUnwindSafe, catch_unwind};

    #[test]
    fn a_compile_that_panics_ends_for_its_waiters_and_is_claimed_again() {
        let function = CheckedFunction::of_nodes(Names::new().intern("f"), 0, Vec::new());
        let definition = Definition::new(Arc::new(function));
        let claim = definition.claim().expect("it is free");
        assert!(definition.claim().is_none());
        let waits = definition.clone();
        let waiter = std::thread::spawn(move || waits.wait().is_err());
        let panics = move || {
            let _claim = claim;
            panic!("as it should");
        };
        assert!(catch_unwind(AssertUnwindSafe(panics)).is_err());
        assert!(waiter.join().expect("it ends well"));
        assert!(definition.claim().is_some());
    }

    #[test]
    fn code_is_compiled_once_and_recompiled_by_one_thread_at_a_time() {
        let gone = Generation::current().next();
        let now = Generation::current();
        let failure = || Box::new(gave_up());
        let states = || {
            [
                CodeState::Absent,
                CodeState::Compiling(now),
                CodeState::Compiling(gone),
                CodeState::Compiled(1),
                CodeState::Improving(1, now),
                CodeState::Improving(1, gone),
                CodeState::Settled(1),
                CodeState::Failed(failure()),
            ]
        };
        // By state: is it claimed for compiling, for recompiling, and has it code?
        let expected = [
            (true, false, false),
            (false, false, false),
            (true, false, false),
            (false, true, true),
            (false, false, true),
            (false, true, true),
            (false, false, true),
            (true, false, false),
        ];
        for (state, expected) in states().into_iter().zip(expected) {
            let (compiled, recompiled) = (state.claimed(), state.claimed_again());
            assert_eq!((compiled.is_some(), recompiled.is_some(), state.code().is_some()), expected);
            assert!(compiled.is_none_or(|next| matches!(next, CodeState::Compiling(by) if by == now)));
            assert!(recompiled.is_none_or(|next| matches!(next, CodeState::Improving(1, by) if by == now)));
            // A recompile that ends leaves the code, and can be repeated or not.
            let is_improving = matches!(state, CodeState::Improving(..));
            let (again, settled) = (state.recompiled(true), state.recompiled(false));
            assert_eq!((again.is_some(), settled.is_some()), (is_improving, is_improving));
            assert!(again.is_none_or(|next| matches!(next, CodeState::Compiled(1))));
            assert!(settled.is_none_or(|next| matches!(next, CodeState::Settled(1))));
        }
    }
}
