//! Linked code and its release.

use super::Jit;
use super::block_layout::BlockLayout;
use super::code_map::{BlockOwners, CodeMap, CodeOwner};
use super::epoch::RunEpoch;
use super::linker::{LinkedObject, Linker};
use super::slots::HeldOffsets;
use super::symbols::BodySymbol;
use super::tier::{Assumptions, CompilePlan, Tier};
use crate::budget::CodeCharge;
use crate::process::SteadyCell;
use crate::runtime::ExecutionMemory;
use crate::sema::checked::CheckedFunction;
use kal_code::PlacedCode;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};

/// The linked code of a definition.
pub(super) struct CompiledCode {
    body: Arc<SharedBody>,
    tier: Tier,
    assumptions: Assumptions,
    /// The numbers that it loads, if it does.
    numbers: Option<LoadedNumbers>,
}

/// The numbers that the code of a definition loads. Dropping them retires them:
/// they are freed when no run that may load them is left.
struct LoadedNumbers {
    jit: Weak<Jit>,
    function: Option<Arc<CheckedFunction>>,
    users: Users,
}

/// What runs may still use: freed when it is dropped.
pub(super) enum RetiredCode {
    Body(#[expect(dead_code, reason = "only kept")] LinkedBody),
    Block(#[expect(dead_code, reason = "only kept")] LinkedBlock),
    Numbers(#[expect(dead_code, reason = "only kept")] Arc<CheckedFunction>),
}

/// A body that several definitions may have, if they are the same function.
/// Dropping it retires it: it is freed when no run that may be inside is left.
pub(super) struct SharedBody {
    jit: Weak<Jit>,
    keeps: KeptMemory,
    address: usize,
    /// Its size in bytes.
    size: u64,
}

/// What keeps the memory of a body.
enum KeptMemory {
    Own(Option<LinkedBody>, Users),
    /// Many bodies have it.
    Block(Arc<CodeBlock>),
}

/// The code of many definitions of a layer, placed together: see [`block`](super::block).
/// Dropping it retires it, as [`SharedBody`] does.
pub(super) struct CodeBlock {
    pub(super) jit: Weak<Jit>,
    linked: Option<LinkedBlock>,
    /// Which code it has.
    pub(super) layout: Arc<BlockLayout>,
    users: Users,
}

/// The contexts that may run code: none, one or several.
#[derive(Default)]
struct Users {
    first: SteadyCell<Weak<RunEpoch<RetiredCode>>>,
    are_several: AtomicBool,
}

impl Users {
    /// Adds a context.
    fn add(&self, context: &Arc<RunEpoch<RetiredCode>>) {
        if !self.are_several.load(Ordering::Relaxed) {
            let first = self.first.get_or_make(|| Arc::downgrade(context));
            if !std::ptr::eq(first.as_ptr(), Arc::as_ptr(context)) {
                self.are_several.store(true, Ordering::Relaxed);
            }
        }
    }

    /// Retires what only these contexts may run.
    fn retire(&self, jit: &Jit, garbage: RetiredCode) {
        match (self.are_several.load(Ordering::Relaxed), self.first.get()) {
            (true, _) => jit.epochs.retire(garbage),
            (false, Some(context)) => match context.upgrade() {
                Some(context) => jit.epochs.retire_of(&context, garbage),
                None => drop(garbage),
            },
            (false, None) => drop(garbage),
        }
    }
}

impl SharedBody {
    pub(super) fn new(jit: &Arc<Jit>, linked: LinkedBody, size: u64) -> Arc<Self> {
        let address = linked.body;
        let keeps = KeptMemory::Own(Some(linked), Users::default());
        Arc::new(Self { jit: Arc::downgrade(jit), keeps, address, size })
    }

    /// Creates a body in a block.
    pub(super) fn in_block(block: &Arc<CodeBlock>, address: usize, size: u64) -> Arc<Self> {
        Arc::new(Self { jit: block.jit.clone(), keeps: KeptMemory::Block(block.clone()), address, size })
    }

    /// Returns the address where it is entered.
    pub(super) fn address(&self) -> usize {
        self.address
    }

    fn users(&self) -> &Users {
        match &self.keeps {
            KeptMemory::Own(_, users) => users,
            KeptMemory::Block(block) => &block.users,
        }
    }

    fn held(&self) -> Option<&HeldOffsets> {
        match &self.keeps {
            KeptMemory::Own(linked, _) => linked.as_ref().map(LinkedBody::held),
            KeptMemory::Block(block) => block.held(),
        }
    }
}

impl CodeBlock {
    pub(super) fn new(jit: &Arc<Jit>, linked: LinkedBlock, layout: Arc<BlockLayout>) -> Arc<Self> {
        let (jit, linked) = (Arc::downgrade(jit), Some(linked));
        Arc::new(Self { jit, linked, layout, users: Users::default() })
    }

    /// Returns the address of its first body.
    pub(super) fn start(&self) -> usize {
        self.linked.as_ref().map_or(0, |linked| linked.start)
    }

    /// Adds a context whose runs may be in the code.
    pub(super) fn add_user(&self, context: &Arc<RunEpoch<RetiredCode>>) {
        self.users.add(context);
    }

    /// Makes the code wait for the runs of all contexts when it is given up.
    pub(super) fn admit_several(&self) {
        self.users.are_several.store(true, Ordering::Relaxed);
    }

    /// Returns what it holds: the slots that its code calls through, and those of its bodies.
    pub(super) fn held(&self) -> Option<&HeldOffsets> {
        self.linked.as_ref().map(|linked| &linked.object.held)
    }
}

/// Code that uses nothing of its context and cannot fail: it can be called as
/// `extern "sysv64" fn(*const (), f64, …) -> f64`, with its arguments after a pointer that it does
/// not use, in the default floating-point environment. It is there while this is.
#[cfg(feature = "executable")]
pub struct ContextFreeCode {
    code: Arc<CompiledCode>,
    is_environment_free: bool,
}

#[cfg(feature = "executable")]
impl ContextFreeCode {
    /// Holds code, which must be context-free, and environment-free if that is said.
    pub(super) fn new(code: Arc<CompiledCode>, is_environment_free: bool) -> Self {
        Self { code, is_environment_free }
    }

    /// Returns the address of the code.
    pub fn address(&self) -> usize {
        self.code.body()
    }

    /// Returns whether it computes the same in every floating-point environment in which subnormal
    /// numbers are not flushed to zero, and raises no exception.
    pub fn is_environment_free(&self) -> bool {
        self.is_environment_free
    }
}

impl CompiledCode {
    /// Creates the code of a function that was planned so.
    pub(super) fn new(
        body: Arc<SharedBody>,
        plan: CompilePlan,
        function: &Arc<CheckedFunction>,
    ) -> Arc<Self> {
        let numbers = || LoadedNumbers {
            jit: body.jit.clone(),
            function: Some(function.clone()),
            users: Users::default(),
        };
        let numbers = plan.loads_numbers.then(numbers);
        Arc::new(Self { body, tier: plan.tier, assumptions: plan.assumptions, numbers })
    }

    /// Returns the body, if functions of the same shape have the same.
    pub(super) fn shared_by_shape(&self) -> Option<&Arc<SharedBody>> {
        self.numbers.as_ref().map(|_| &self.body)
    }

    /// Returns the address of the numbers that it loads, if it does.
    pub(super) fn numbers(&self) -> Option<usize> {
        let function = self.numbers.as_ref()?.function.as_ref()?;
        Some(function.numbers.as_ptr() as usize)
    }

    /// Makes a context ready to run the code: the slots that it calls through
    /// lead somewhere. The code is freed only when no run of the context can be
    /// in it.
    pub(super) fn admit(&self, jit: &Jit, memory: &ExecutionMemory, context: &Arc<RunEpoch<RetiredCode>>) {
        self.body.users().add(context);
        self.numbers.iter().for_each(|numbers| numbers.users.add(context));
        self.held().into_iter().for_each(|held| jit.slots.fill(memory, held));
    }

    /// Makes the code wait for the runs of all contexts when it is given up.
    pub(super) fn admit_several(&self) {
        let numbers = self.numbers.iter().map(|numbers| &numbers.users);
        numbers.chain([self.body.users()]).for_each(|users| users.are_several.store(true, Ordering::Relaxed));
    }

    /// Returns what it holds: the slots that it calls through.
    pub(super) fn held(&self) -> Option<&HeldOffsets> {
        self.body.held()
    }

    /// Returns the size of the body in bytes.
    pub(super) fn size(&self) -> u64 {
        self.body.size
    }

    /// Returns the tier it was compiled at.
    pub(super) fn tier(&self) -> Tier {
        self.tier
    }

    /// Returns the address that calls jump to.
    pub(super) fn body(&self) -> usize {
        self.body.address
    }

    /// Returns what has to hold where it runs.
    pub(super) fn assumptions(&self) -> &Assumptions {
        &self.assumptions
    }
}

impl Drop for SharedBody {
    fn drop(&mut self) {
        let KeptMemory::Own(linked, users) = &mut self.keeps else { return };
        if let (Some(jit), Some(linked)) = (self.jit.upgrade(), linked.take()) {
            users.retire(&jit, RetiredCode::Body(linked));
            jit.note_removed_symbol();
        }
    }
}

impl Drop for CodeBlock {
    fn drop(&mut self) {
        if let (Some(jit), Some(linked)) = (self.jit.upgrade(), self.linked.take()) {
            self.users.retire(&jit, RetiredCode::Block(linked));
        }
    }
}

impl Drop for LoadedNumbers {
    fn drop(&mut self) {
        if let (Some(jit), Some(function)) = (self.jit.upgrade(), self.function.take()) {
            self.users.retire(&jit, RetiredCode::Numbers(function));
        }
    }
}

/// A body in memory. Its object is freed when all of its bodies have been
/// dropped: nothing may run in them then.
pub(super) struct LinkedBody {
    object: Arc<Object>,
    body: usize,
    map: Arc<CodeMap>,
}

impl LinkedBody {
    /// Registers a body at address `body`. Its object may have more of them.
    pub(super) fn new(map: &Arc<CodeMap>, object: &Arc<Object>, body: usize, owner: CodeOwner) -> Self {
        map.insert(body, owner);
        Self { object: object.clone(), body, map: map.clone() }
    }

    /// Returns the address where its code begins.
    pub(super) fn body(&self) -> usize {
        self.body
    }

    /// Returns what its object holds: the slots that it calls through.
    pub(super) fn held(&self) -> &HeldOffsets {
        &self.object.held
    }
}

impl Drop for LinkedBody {
    fn drop(&mut self) {
        // Before its object is freed.
        self.map.remove(self.body);
    }
}

/// Many bodies in memory, one after the other.
pub(super) struct LinkedBlock {
    object: Arc<Object>,
    start: usize,
    map: Arc<CodeMap>,
}

impl LinkedBlock {
    /// Registers bodies from address `start` on.
    pub(super) fn new(map: &Arc<CodeMap>, object: &Arc<Object>, start: usize, owners: BlockOwners) -> Self {
        map.insert_block(start, owners);
        Self { object: object.clone(), start, map: map.clone() }
    }
}

impl Drop for LinkedBlock {
    fn drop(&mut self) {
        // Before its object is freed.
        self.map.remove(self.start);
    }
}

/// An object in memory, or code that was placed there by itself; freed when it is
/// dropped.
pub(super) struct Object {
    memory: Option<ObjectMemory>,
    /// The symbols that it defines.
    symbols: Vec<BodySymbol>,
    /// The slots and variables that its code refers to; released after its memory.
    held: HeldOffsets,
    /// What it counts for the context that it was made for.
    _charge: Option<CodeCharge>,
}

/// What holds the memory of an object.
enum ObjectMemory {
    Linked(LinkedObject),
    Placed(#[expect(dead_code, reason = "only kept")] PlacedCode),
}

impl Object {
    /// Wraps a linked object that defines these symbols and refers to
    /// these slots and variables.
    pub(super) fn new(
        linked: LinkedObject,
        symbols: Vec<BodySymbol>,
        held: HeldOffsets,
        charge: Option<CodeCharge>,
    ) -> Arc<Self> {
        Arc::new(Self { memory: Some(ObjectMemory::Linked(linked)), symbols, held, _charge: charge })
    }

    /// Wraps code that was placed and refers to these slots and variables.
    pub(super) fn placed(code: PlacedCode, held: HeldOffsets, charge: CodeCharge) -> Arc<Self> {
        let memory = Some(ObjectMemory::Placed(code));
        Arc::new(Self { memory, symbols: Vec::new(), held, _charge: Some(charge) })
    }

    /// Returns the symbols that it defines.
    pub(super) fn symbols(&self) -> &[BodySymbol] {
        &self.symbols
    }
}

impl Drop for Object {
    fn drop(&mut self) {
        if let Some(ObjectMemory::Linked(linked)) = self.memory.take()
            && !Linker::remove(linked)
        {
            std::mem::forget(std::mem::take(&mut self.symbols));
        }
    }
}
