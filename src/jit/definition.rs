//! Definitions: a checked function, and its code once it is compiled.
//!
//! When the code of a definition is first needed, a worker registers a
//! materialization unit for the body symbol, under its own tracker, and looks
//! the symbol up, which materializes the unit. (Registering when the definition
//! is made would work as well, but takes 2 µs and 700 bytes for each, and most
//! definitions of a large program are never called.) When the last owner drops
//! the definition, its code is retired.

use super::code::{CompiledCode, LinkedBody, Object};
use super::tier::{CompilePlan, Tier};
use super::waiters::Waiters;
use super::worker::{SteadyGuard, locked_steadily, with_compiler};
use super::{Counters, Jit};
use crate::codegen;
use crate::failure::Failure;
use crate::name::Names;
use crate::orc::{MaterializationUnit, OrcError, Responsibility, SymbolFlags};
use crate::process::Generation;
use crate::sema::checked::{CheckedFunction, EXPRESSION};
use std::mem;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, Weak};

/// A checked function and its code.
pub(super) struct Definition {
    function: Arc<CheckedFunction>,
    /// The number of earlier definitions of the name.
    generation: u32,
    state: Mutex<CodeState>,
    waiters: Waiters,
    /// The number of bodies that were optimised for contexts.
    optimised: AtomicU32,
    /// The size of its machine code in bytes.
    code_bytes: Arc<AtomicU64>,
}

/// The state of a definition's code. Bindings hold the code that they lead to as
/// well: when better code replaces it here, other contexts still run it.
enum CodeState {
    /// Not requested.
    Absent,
    /// A worker of a process compiles it.
    Compiling(Generation),
    /// Compiled.
    Compiled(Arc<CompiledCode>),
    /// Compiled, and hot: a worker of a process recompiles it at the optimising
    /// tier.
    Improving(Arc<CompiledCode>, Generation),
    /// Compiled, and cannot be at the optimising tier.
    Settled(Arc<CompiledCode>),
    /// Could not be compiled; the next request tries again.
    Failed(Box<Failure>),
}

impl CodeState {
    fn code(&self) -> Option<&Arc<CompiledCode>> {
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
}

impl Definition {
    /// Creates a definition that follows `generation` others of its name.
    pub(super) fn new(function: Arc<CheckedFunction>, generation: u32) -> Arc<Self> {
        Arc::new(Self {
            function,
            generation,
            state: Mutex::new(CodeState::Absent),
            waiters: Waiters::default(),
            optimised: AtomicU32::new(0),
            code_bytes: Arc::default(),
        })
    }

    pub(super) fn function(&self) -> &Arc<CheckedFunction> {
        &self.function
    }

    /// Returns the size of the body in bytes; 0 before it is compiled.
    pub(super) fn code_bytes(&self) -> u64 {
        self.code_bytes.load(Ordering::Relaxed)
    }

    /// Returns the tier of the code; `None` before it is linked.
    pub(super) fn tier(&self) -> Option<Tier> {
        self.present().map(|code| code.tier())
    }

    /// Returns the linked code; `None` before it is linked.
    pub(super) fn present(&self) -> Option<Arc<CompiledCode>> {
        self.state().code().cloned()
    }

    /// Replaces linked baseline code by optimised code. Returns the code that
    /// is not kept: the old code, or the new code if there is no baseline code
    /// to replace.
    pub(super) fn replace(&self, code: Arc<CompiledCode>) -> Arc<CompiledCode> {
        match &mut *self.state() {
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
        *state = state.claimed()?;
        drop(state);
        Some(Claim(Some(self.clone())))
    }

    /// Claims the definition for recompiling at the optimising tier; `None` if
    /// another thread has, or it could not be compiled.
    pub(super) fn claim_improvement(self: &Arc<Self>) -> Option<ImprovementClaim> {
        let mut state = self.state();
        *state = state.claimed_again()?;
        drop(state);
        Some(ImprovementClaim(Arc::downgrade(self)))
    }

    /// Compiles the definition at the optimising tier, while it is
    /// [claimed](Self::claim_improvement) for that. Returns `None` if it cannot
    /// be; it is not tried again.
    pub(super) fn optimise(&self, jit: &Arc<Jit>, plan: CompilePlan) -> Option<Arc<CompiledCode>> {
        let suffix = match self.optimised.fetch_add(1, Ordering::Relaxed) {
            0 => "$full".to_owned(),
            number => format!("$full${number}"),
        };
        let code = self.link(jit, plan, &suffix).ok();
        if code.is_none() {
            self.end_improvement(CodeState::Settled);
        }
        code
    }

    /// Ends the improvement, if there is one, in a state with the same code.
    fn end_improvement(&self, next: fn(Arc<CompiledCode>) -> CodeState) {
        let mut state = self.state();
        if let CodeState::Improving(code, _) = &*state {
            *state = next(code.clone());
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
        let before = mem::replace(&mut *self.state(), next);
        drop(before);
        self.waiters.wake();
        result
    }

    /// Compiles and links the definition, without installing the code; on a
    /// worker. `suffix` distinguishes its symbol from that of other code for
    /// it.
    pub(super) fn link(
        &self,
        jit: &Arc<Jit>,
        plan: CompilePlan,
        suffix: &str,
    ) -> Result<Arc<CompiledCode>, Failure> {
        let mut code = link(jit, vec![(self, plan)], suffix)?;
        code.pop().ok_or_else(|| Failure::System("the compiler made nothing".into()))
    }

    /// Returns the symbol of the body: `fib$impl`, with a number for later
    /// definitions of the name.
    fn symbol(&self, names: &Names) -> String {
        match (names.text(self.function.name), self.generation) {
            (EXPRESSION, number) => format!("$expression${number}"),
            (name, 0) => format!("{name}$impl"),
            (name, later) => format!("{name}$impl${later}"),
        }
    }

    /// Waits until the body is linked; returns its address.
    pub(super) fn wait(&self) -> Result<usize, Failure> {
        self.waiters.wait(|| match &*self.state() {
            CodeState::Compiled(code) | CodeState::Improving(code, _) | CodeState::Settled(code) => {
                Some(Ok(code.body()))
            }
            CodeState::Failed(failure) => Some(Err(Failure::clone(failure))),
            CodeState::Compiling(generation) if generation.is_current() => None,
            CodeState::Absent | CodeState::Compiling(_) => Some(Err(gave_up())),
        })
    }

    fn state(&self) -> SteadyGuard<'_, CodeState> {
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
            definition.end_improvement(CodeState::Compiled);
        }
    }
}

fn gave_up() -> Failure {
    Failure::System("the compiler gave up".into())
}

/// Compiles and links definitions in one object, without installing the code;
/// on a worker. All plans must have the same options. `suffix` distinguishes
/// their symbols from those of other code for them.
///
/// # Errors
/// The compiler's message, attributed to the first definition.
pub(super) fn link(
    jit: &Arc<Jit>,
    parts: Vec<(&Definition, CompilePlan)>,
    suffix: &str,
) -> Result<Vec<Arc<CompiledCode>>, Failure> {
    let Some((first, _)) = parts.first() else { return Ok(Vec::new()) };
    let function = first.function.clone();
    let fail = |message: String| Failure::Compile { function: function.clone(), message };
    if let Some((large, _)) = parts.iter().find(|(definition, _)| jit.is_too_large(&definition.function)) {
        let (size, most) = (large.function.nodes.len(), jit.options.most_operations);
        return Err(fail(format!("it is too large, with {size} operations of {most} at most")));
    }
    let body = |(definition, plan): &(&Definition, CompilePlan)| PlannedBody {
        function: definition.function.clone(),
        symbol: definition.symbol(&jit.names) + suffix + &Generation::current().suffix(),
        plan: plan.clone(),
        code_bytes: definition.code_bytes.clone(),
    };
    let bodies: Vec<PlannedBody> = parts.iter().map(body).collect();
    let symbols: Vec<String> = bodies.iter().map(|body| body.symbol.clone()).collect();
    let flags = symbols.iter().map(|symbol| (symbol.as_str(), SymbolFlags::FUNCTION));
    let tracker = jit.tracker();
    let promise = Promise { bodies, names: jit.names.clone(), counters: jit.counters.clone() };
    tracker.define(flags, Box::new(promise)).map_err(|error| fail(error.error.to_string()))?;
    let object = Object::new(tracker);
    let code = |((definition, plan), symbol): ((&Definition, CompilePlan), &String)| {
        let address = jit.session.lookup(&jit.dylib, symbol).map_err(|error| fail(cause(error)))?;
        let linked = LinkedBody::new(&jit.code, &object, address.get() as usize, Some(&definition.function));
        Ok(Arc::new(CompiledCode::new(jit, linked, plan.tier, plan.assumptions)))
    };
    parts.into_iter().zip(&symbols).map(code).collect()
}

/// Returns the root cause of a failed lookup.
fn cause(error: OrcError) -> String {
    match error {
        OrcError::Materialize { reports, .. } if !reports.is_empty() => reports.join("; "),
        error => error.to_string(),
    }
}

/// The materialization unit for the bodies of one object. It holds checked
/// functions only, so the session, which owns it, keeps no definition alive.
struct Promise {
    bodies: Vec<PlannedBody>,
    names: Arc<Names>,
    counters: Arc<Counters>,
}

struct PlannedBody {
    function: Arc<CheckedFunction>,
    symbol: String,
    plan: CompilePlan,
    code_bytes: Arc<AtomicU64>,
}

impl PlannedBody {
    fn code(&self) -> codegen::Body<'_> {
        codegen::Body {
            function: &self.function,
            symbol: &self.symbol,
            inline: &self.plan.assumptions.inlined,
            instructions: &self.plan.assumptions.instructions,
            hot_after: self.plan.hot_after,
            osr: None,
        }
    }
}

impl MaterializationUnit for Promise {
    fn name(&self) -> &str {
        self.bodies.first().map_or("", |body| &body.symbol)
    }

    fn materialize(self: Box<Self>, responsibility: Responsibility) {
        let bodies: Vec<_> = self.bodies.iter().map(PlannedBody::code).collect();
        let options = self.bodies.first().map(|body| body.plan.options).unwrap_or_default();
        match with_compiler(|compiler| compiler.object(&bodies, &self.names, options)) {
            Ok(object) => {
                self.counters.objects_linked.add(1);
                let sizes = codegen::symbol_sizes(&object);
                for body in &self.bodies {
                    let size = sizes.get(body.symbol.as_str()).copied().unwrap_or(0);
                    body.code_bytes.store(size, Ordering::Relaxed);
                }
                responsibility.emit_object(&object);
            }
            Err(error) => responsibility.fail(error.to_string()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::{Source, Span};
    use std::panic::{AssertUnwindSafe, catch_unwind};

    #[test]
    fn a_compile_that_panics_ends_for_its_waiters_and_is_claimed_again() {
        let function = Arc::new(CheckedFunction {
            name: Names::new().intern("f"),
            name_span: Span::default(),
            parameters: Box::default(),
            locals: 0,
            nodes: Box::default(),
            numbers: Box::default(),
            callees: Box::default(),
            spans: crate::sema::spans::Spans::default(),
            source: Source::new("", ""),
            span: Span::default(),
        });
        let definition = Definition::new(function, 0);
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
        let claim = definition.claim_improvement().expect("it is free");
        assert!(definition.claim_improvement().is_none());
        let panics = move || {
            let _claim = claim;
            panic!("as it should");
        };
        assert!(catch_unwind(AssertUnwindSafe(panics)).is_err());
        assert!(definition.claim_improvement().is_some());
    }
}
