//! Lowering to LLVM IR: one walk over a checked body.
//!
//! The body is in post-order, so a stack of values holds the expressions under
//! construction, and a stack of [`IrConstruct`]s the `if`, `for` and `&&`
//! around the current node. Blocks are wired in the order of the source, not of
//! execution; so nothing here recurses.
#![allow(unsafe_code)]

mod builtins;
mod checks;
mod operators;
mod osr;
mod strips;
mod variables;

use super::refusal::{Result, missing};
use super::strips::{DirectCalls, Strips, strips_of};
use super::types::{PassedArgument, REGISTERS, Types, WideSignature, result};
use crate::abi::{self, Symbol};
use crate::codegen::body::LoopEntry;
use crate::codegen::options::{CompileOptions, Level};
use crate::codegen::polls;
use crate::host::Builtin;
use crate::name::{Name, Names};
use crate::sema::checked::{Callee, CheckedFunction, CheckedNode, EXPRESSION};
use crate::syntax::operator::BinaryOp;
use inkwell::IntPredicate;
use inkwell::attributes::AttributeLoc;
use inkwell::basic_block::BasicBlock;
use inkwell::builder::Builder;
use inkwell::module::{Linkage, Module};
use inkwell::values::{
    BasicMetadataValueEnum, BasicValueEnum, CallSiteValue, FloatValue, FunctionValue, InstructionValue,
    IntValue, LLVMTailCallKind, PointerValue,
};
use rustc_hash::{FxHashMap, FxHashSet};
use std::ops::Range;

/// A call that does not go through a slot.
#[derive(Clone, Copy)]
pub(super) enum DirectCall<'c> {
    /// Of a function of this module.
    Copy(FunctionValue<'c>),
    /// Of a function of the library.
    Builtin(Builtin),
}

/// Adds numbers to the module as one constant array.
fn numbers<'c>(module: &Module<'c>, numbers: &[f64]) -> PointerValue<'c> {
    let double = module.get_context().f64_type();
    let values: Vec<_> = numbers.iter().map(|number| double.const_float(*number)).collect();
    let constant = module.add_global(double.array_type(numbers.len() as u32), None, "numbers");
    constant.set_initializer(&double.const_array(&values));
    constant.set_constant(true);
    constant.set_linkage(Linkage::Private);
    constant.as_pointer_value()
}

/// A construct whose end has not been reached yet.
enum IrConstruct<'c> {
    /// `&&`, `||`: the block where the left side decided, and the merge block.
    /// `height` is the stack position of the left side's value.
    ShortCircuit { decided: BasicBlock<'c>, meet: BasicBlock<'c>, height: usize },
    /// `if`, before its `else`.
    Then { otherwise: BasicBlock<'c>, meet: BasicBlock<'c> },
    /// `if`, after its `else`: the first branch's value and where it ended.
    Else { value: FloatValue<'c>, from: BasicBlock<'c>, meet: BasicBlock<'c> },
    /// `for`.
    Loop(IrLoop<'c>),
}

/// The parts of a `for`. The order of execution is body, step, condition,
/// increment.
struct IrLoop<'c> {
    /// The node that first sets the variable.
    node: u32,
    variable: u32,
    body: BasicBlock<'c>,
    condition: BasicBlock<'c>,
    step: BasicBlock<'c>,
    /// Set after the condition: its truth and the block where it ended.
    decision: Option<(IntValue<'c>, BasicBlock<'c>)>,
    /// Set after the step.
    increment: Option<FloatValue<'c>>,
    /// Where the increment is stored if a loop inside the condition is entered or
    /// left by OSR.
    kept: Option<PointerValue<'c>>,
    /// Where it may begin to run in strips.
    guard: Option<BasicBlock<'c>>,
    /// Whether OSR code may be entered inside of it.
    is_entered_later: bool,
    /// The block after it, if there is one already.
    end: Option<BasicBlock<'c>>,
}

/// What nodes leave that are not lowered: it was computed ahead.
struct ComputedAhead<'c> {
    nodes: Range<usize>,
    value: FloatValue<'c>,
}

/// A function to be lowered.
pub(super) struct LoweringJob<'m, 'c> {
    pub(super) module: &'m Module<'c>,
    pub(super) source: &'m CheckedFunction,
    pub(super) function: FunctionValue<'c>,
    /// Its OSR entry; `None` for the function's own entry.
    pub(super) osr: Option<LoopEntry>,
    /// The calls that do not go through a slot, by name and arity.
    pub(super) direct: &'m FxHashMap<(Name, u32), DirectCall<'c>>,
    /// Those whose results depend on their arguments alone, and which change nothing.
    pub(super) pure: &'m FxHashSet<(Name, u32)>,
    /// What is known of them, where loops may run in strips.
    pub(super) calls: Option<&'m DirectCalls<'m>>,
    /// The symbol of the body that it is part of.
    pub(super) symbol: &'m str,
    pub(super) names: &'m Names,
    pub(super) options: CompileOptions,
    /// Whether the numbers are loaded from where the context says.
    pub(super) loads_numbers: bool,
}

impl LoweringJob<'_, '_> {
    /// Returns whether a call of a callee is one of a function of the program.
    fn is_call(&self, index: u32) -> bool {
        let callee = self.source.callees[index as usize];
        !matches!(self.direct.get(&(callee.name, callee.arity)), Some(DirectCall::Builtin(_)))
    }

    /// Builds the body. `checks`: whether it begins with a stack check;
    /// `hot_after`: the number of calls, and of iterations of a call, after which
    /// it reports that it is hot, if it counts them.
    pub(super) fn lower(self, checks: bool, hot_after: Option<u32>) -> Result<()> {
        let nodes = &self.source.nodes;
        let late = polls::late_checks(nodes, &|index| self.is_call(index))
            .filter(|_| checks && !self.options.counts_fuel);
        let loads_numbers = self.loads_numbers;
        let mut lowering = IrLowering::new(self)?;
        if loads_numbers {
            lowering.find_numbers()?;
        }
        lowering.prologue(checks && late.is_none(), hot_after)?;
        for (at, node) in (0..).zip(nodes) {
            lowering.at = at;
            lowering.node(*node)?;
            if late.as_ref().is_some_and(|places| places.contains(&at)) {
                lowering.stop_check()?;
            }
        }
        let value = lowering.pop()?;
        lowering.builder.build_return(Some(&value))?;
        Ok(())
    }
}

struct IrLowering<'m, 'c> {
    module: &'m Module<'c>,
    types: Types<'c>,
    builder: Builder<'c>,
    names: &'m Names,
    source: &'m CheckedFunction,
    direct: &'m FxHashMap<(Name, u32), DirectCall<'c>>,
    pure: &'m FxHashSet<(Name, u32)>,
    options: CompileOptions,
    function: FunctionValue<'c>,
    context: PointerValue<'c>,
    locals: Vec<IrLocal<'c>>,
    /// Where the tail of a wide call's arguments is assembled.
    tail: Option<PointerValue<'c>>,
    /// The numbers as one array, if there are many or they are loaded.
    numbers: Option<PointerValue<'c>>,
    values: Vec<FloatValue<'c>>,
    /// Where the lowest values are in memory, in OSR code; `None` for one that is a constant.
    spilled: Vec<Option<PointerValue<'c>>>,
    /// The latest number that was made of a truth, and that truth.
    latest_truth: Option<(FloatValue<'c>, IntValue<'c>)>,
    open: Vec<IrConstruct<'c>>,
    /// The number of calls since the last split of a block.
    calls: u32,
    /// The index of the node that is being lowered.
    at: u32,
    /// The loops that run in strips, and what the symbols of their code begin with.
    strips: Vec<Strips>,
    symbol: &'m str,
    /// Memory for a strip: the values of the counter, and the results of each part.
    strip_rows: Vec<PointerValue<'c>>,
    osr: Option<OsrEntrance<'c>>,
    /// Where hot loops are left; `None` if they are not.
    exit: Option<OsrExit<'c>>,
}

/// A local of the function.
#[derive(Clone, Copy)]
enum IrLocal<'c> {
    /// In memory.
    Place(PointerValue<'c>),
    /// A parameter that is never assigned.
    Parameter(FloatValue<'c>),
}

/// An OSR entry under construction: its first block, which branches to the loop
/// header, and the places of the live values.
struct OsrEntrance<'c> {
    entry: LoopEntry,
    block: BasicBlock<'c>,
    live: Vec<PointerValue<'c>>,
}

/// Where the iterations of a call are counted, and after how many a loop is hot.
struct OsrExit<'c> {
    count: PointerValue<'c>,
    after: u32,
    /// How many values more may be loaded to be passed on.
    room: usize,
}

/// The number of calls after which a block is split: the fast register
/// allocator scans the block again for calls.
const MANY_CALLS: u32 = 256;

/// Functions with more numbers keep them in one array: LLVM searches all
/// constants of a function linearly.
const MANY_NUMBERS: usize = 4096;

impl<'m, 'c> IrLowering<'m, 'c> {
    fn new(job: LoweringJob<'m, 'c>) -> Result<Self> {
        let LoweringJob {
            module, source, function, osr, direct, pure, calls, symbol, names, options, ..
        } = job;
        let strips = calls.map_or_else(Vec::new, |calls| strips_of(source, calls));
        let types = Types::new(module);
        let builder = types.context.create_builder();
        let block = types.context.append_basic_block(function, "entry");
        builder.position_at_end(block);
        let Some(BasicValueEnum::PointerValue(context)) = function.get_first_param() else {
            return Err(missing());
        };
        context.set_name("context");
        let locals = Vec::with_capacity(source.locals as usize);
        let (values, open) = (Vec::new(), Vec::new());
        Ok(Self {
            module,
            types,
            builder,
            names,
            source,
            direct,
            pure,
            options,
            function,
            context,
            locals,
            tail: None,
            numbers: (source.numbers.len() > MANY_NUMBERS).then(|| numbers(module, &source.numbers)),
            values,
            spilled: Vec::new(),
            latest_truth: None,
            open,
            at: 0,
            strips,
            symbol,
            strip_rows: Vec::new(),
            osr: osr.map(|entry| OsrEntrance { entry, block, live: Vec::new() }),
            exit: None,
            calls: 0,
        })
    }

    /// Allocates the locals, stores the parameters, checks the stack, counts
    /// the call.
    fn prologue(&mut self, checks: bool, hot_after: Option<u32>) -> Result<()> {
        let live = self.allocate_locals()?;
        let widest = self.source.callees.iter().filter_map(|callee| WideSignature::of(callee.arity));
        if let Some(tail) = widest.map(|wide| wide.tail).max() {
            self.tail = Some(self.builder.build_alloca(self.types.double.array_type(tail), "")?);
        }
        if let Some(entrance) = &mut self.osr {
            entrance.live = live;
            // The source is lowered from its beginning, which is unreachable
            // here.
            self.builder.position_at_end(self.types.context.append_basic_block(self.function, "before"));
        }
        if checks {
            self.stop_check()?;
        }
        let Some(calls) = hot_after else { return Ok(()) };
        if self.source.has_loop() {
            self.exit = Some(self.osr_exit(calls)?);
        }
        // An expression is run once.
        if self.names.text(self.source.name) == EXPRESSION { Ok(()) } else { self.count_call(calls) }
    }

    /// Allocates the locals and stores the parameters. Returns the places of the
    /// live values with which OSR code is entered.
    fn allocate_locals(&mut self) -> Result<Vec<PointerValue<'c>>> {
        let (mut stored, mut live) = (Vec::new(), Vec::new());
        let values = self.osr.as_ref().map(|entrance| entrance.entry.values);
        let arity = values.map_or(self.source.arity(), |values| self.source.locals + values);
        let is_assigned = self.assigned_parameters();
        for index in 0..arity {
            let local = match self.types.passed(&self.builder, self.function, arity, index)? {
                PassedArgument::Memory(place) => IrLocal::Place(place),
                PassedArgument::Register(value) => {
                    if let Some(name) = self.source.parameters.get(index as usize) {
                        value.set_name(&self.names.text(*name));
                    }
                    if is_assigned.get(index as usize) == Some(&false) {
                        IrLocal::Parameter(value)
                    } else {
                        let place = self.builder.build_alloca(self.types.double, "")?;
                        stored.push((value, place));
                        IrLocal::Place(place)
                    }
                }
            };
            match local {
                IrLocal::Place(place) if index >= self.source.locals => live.push(place),
                IrLocal::Place(_) | IrLocal::Parameter(_) => self.locals.push(local),
            }
        }
        for _ in arity..self.source.locals {
            let place = self.builder.build_alloca(self.types.double, "")?;
            self.locals.push(IrLocal::Place(place));
        }
        for (value, place) in stored {
            self.builder.build_store(place, value)?;
        }
        Ok(live)
    }

    /// Returns, for each parameter, whether it may be assigned: it is in memory
    /// then. In OSR code, whose parameters are entered at a loop, all are.
    fn assigned_parameters(&self) -> Vec<bool> {
        let mut is_assigned = vec![self.osr.is_some(); self.source.arity() as usize];
        for node in &self.source.nodes {
            if let CheckedNode::SetLocal(local) | CheckedNode::ForVariable(local) | CheckedNode::Bind(local) =
                node
                && let Some(is_assigned) = is_assigned.get_mut(*local as usize)
            {
                *is_assigned = true;
            }
        }
        is_assigned
    }

    /// Emits the load of the address of the numbers. It happens once, so that a
    /// call in progress keeps its numbers when the function is redefined.
    fn find_numbers(&mut self) -> Result<()> {
        let symbol = Symbol::Numbers(&self.names.text(self.source.name), self.source.arity());
        let place = self.offset(symbol)?;
        let numbers = self.builder.build_load(self.types.pointer, place, "numbers")?;
        self.numbers = Some(numbers.into_pointer_value());
        Ok(())
    }

    /// Emits the count of calls, in the counter of the context, which calls the
    /// runtime after every `calls` of them.
    fn count_call(&self, calls: u32) -> Result<()> {
        let i32 = self.types.context.i32_type();
        let symbol = Symbol::Counter(&self.names.text(self.source.name), self.source.arity());
        let place = self.offset(symbol)?;
        let before = self.builder.build_load(i32, place, "")?.into_int_value();
        let count = self.builder.build_int_add(before, i32.const_int(1, false), "")?;
        let most = i32.const_int(u64::from(calls.max(1)), false);
        let is_hot = self.builder.build_int_compare(IntPredicate::EQ, count, most, "")?;
        self.builder.build_store(place, count)?;
        let go_on = self.rarely(is_hot)?;
        self.builder.build_store(place, i32.const_zero())?;
        self.call_runtime(abi::HOT, go_on)?;
        Ok(())
    }

    /// Begins a block that is entered only if `condition` holds; returns the block
    /// in which the function continues.
    fn rarely(&self, condition: IntValue<'c>) -> Result<BasicBlock<'c>> {
        let (rare, go_on) = (self.block("rare"), self.block("go_on"));
        self.builder.build_conditional_branch(condition, rare, go_on)?;
        self.builder.position_at_end(rare);
        Ok(go_on)
    }

    /// Lowers some nodes once more, but for those that have been computed ahead.
    fn nodes(&mut self, nodes: Range<usize>, ahead: &[ComputedAhead<'c>]) -> Result<()> {
        let (outer, source) = (self.at, self.source);
        let mut at = nodes.start;
        while at < nodes.end {
            if let Some(computed) = ahead.iter().find(|computed| computed.nodes.start == at) {
                self.values.push(computed.value);
                at = computed.nodes.end;
                continue;
            }
            self.at = at as u32;
            self.node(source.nodes[at])?;
            at += 1;
        }
        self.at = outer;
        Ok(())
    }

    fn node(&mut self, node: CheckedNode) -> Result<()> {
        match node {
            CheckedNode::Number(index) => {
                let value = self.number_at(index)?;
                self.values.push(value);
            }
            CheckedNode::Local(local) => self.load_local(local)?,
            CheckedNode::Variable(name) => self.load_variable(name)?,
            CheckedNode::SetLocal(local) => {
                let value = self.top()?;
                self.builder.build_store(self.place(local)?, value)?;
            }
            CheckedNode::SetVariable(name) => self.store_variable(name)?,
            CheckedNode::Unary(op) => self.unary(op)?,
            CheckedNode::Binary(op) if op.short_circuits() => self.end_short_circuit()?,
            CheckedNode::Binary(op) => self.binary(op)?,
            CheckedNode::ShortCircuit(op) => self.begin_short_circuit(op)?,
            CheckedNode::Call(callee) => self.call(self.source.callees[callee as usize])?,
            CheckedNode::Then => self.then()?,
            CheckedNode::Else => self.otherwise()?,
            CheckedNode::If => self.end_if()?,
            CheckedNode::ForVariable(local) => self.begin_loop(local)?,
            CheckedNode::ForCondition => self.loop_condition()?,
            CheckedNode::ForStep => self.loop_step()?,
            CheckedNode::For => self.end_loop()?,
            CheckedNode::Bind(local) => {
                let value = self.pop()?;
                self.builder.build_store(self.place(local)?, value)?;
            }
        }
        Ok(())
    }

    // --- values -----------------------------------------------------------

    fn pop(&mut self) -> Result<FloatValue<'c>> {
        let value = self.top()?;
        self.values.pop();
        self.spilled.truncate(self.values.len());
        Ok(value)
    }

    /// Pops as many values, the lowest first.
    fn pop_all(&mut self, count: u32) -> Result<Vec<FloatValue<'c>>> {
        let mut values = (0..count).map(|_| self.pop()).collect::<Result<Vec<_>>>()?;
        values.reverse();
        Ok(values)
    }

    fn top(&self) -> Result<FloatValue<'c>> {
        self.value(self.values.len().checked_sub(1).ok_or_else(missing)?)
    }

    fn load(&mut self, place: PointerValue<'c>) -> Result<()> {
        let value = self.builder.build_load(self.types.double, place, "")?;
        self.values.push(value.into_float_value());
        Ok(())
    }

    fn load_local(&mut self, local: u32) -> Result<()> {
        match self.locals[local as usize] {
            IrLocal::Place(place) => self.load(place)?,
            IrLocal::Parameter(value) => self.values.push(value),
        }
        Ok(())
    }

    /// Returns where a local is that is assigned.
    fn place(&self, local: u32) -> Result<PointerValue<'c>> {
        match self.locals[local as usize] {
            IrLocal::Place(place) => Ok(place),
            IrLocal::Parameter(_) => Err(missing()),
        }
    }

    /// Returns the address in the execution context at a link-time offset.
    fn offset(&self, symbol: Symbol<'_>) -> Result<PointerValue<'c>> {
        let mangled = symbol.mangle();
        let i8 = self.types.context.i8_type();
        let i64 = self.types.context.i64_type();
        let global = self.module.get_global(&mangled).unwrap_or_else(|| {
            let global = self.module.add_global(i8, None, &mangled);
            if !self.is_quick() {
                // Tells the code generator that the offset fits an immediate
                // operand.
                let range = [i64.const_zero().into(), i64.const_int(1 << 31, false).into()];
                let kind = self.types.context.get_kind_id("absolute_symbol");
                global.set_metadata(self.types.context.metadata_node(&range), kind);
            }
            global
        });
        let offset = global.as_pointer_value().const_to_int(i64);
        // SAFETY: the offset is resolved to one inside the execution context.
        Ok(unsafe { self.builder.build_gep(i8, self.context, &[offset], "")? })
    }

    /// Returns whether this is baseline code: only instructions that LLVM's
    /// fast instruction selection supports are used, since a single other one
    /// makes it fall back for the whole block.
    fn is_quick(&self) -> bool {
        self.options.level == Level::O0
    }

    fn number_at(&self, index: u32) -> Result<FloatValue<'c>> {
        let Some(numbers) = self.numbers else {
            return Ok(self.types.double.const_float(self.source.numbers[index as usize]));
        };
        let offset = self.types.context.i64_type().const_int(u64::from(index), false);
        // SAFETY: the array holds all numbers of the function.
        let place = unsafe { self.builder.build_in_bounds_gep(self.types.double, numbers, &[offset], "")? };
        Ok(self.builder.build_load(self.types.double, place, "")?.into_float_value())
    }

    // --- calls --------------------------------------------------------------

    /// Pops the arguments of a call.
    fn arguments(&mut self, arity: u32) -> Result<Vec<BasicMetadataValueEnum<'c>>> {
        let mut values = self.pop_all(arity)?;
        let tail = WideSignature::of(arity).map(|_| values.split_off(REGISTERS as usize));
        let mut arguments: Vec<BasicMetadataValueEnum<'c>> = vec![self.context.into()];
        arguments.extend(values.into_iter().map(BasicMetadataValueEnum::from));
        if let Some(tail) = tail {
            let array = self.tail.ok_or_else(missing)?;
            for (index, value) in tail.into_iter().enumerate() {
                let offset = self.types.context.i64_type().const_int(index as u64, false);
                // SAFETY: the array has room for the widest call.
                let place =
                    unsafe { self.builder.build_in_bounds_gep(self.types.double, array, &[offset], "")? };
                self.builder.build_store(place, value)?;
            }
            arguments.push(array.into());
        }
        Ok(arguments)
    }

    /// Emits a call of a body at an address.
    fn call_body(
        &self,
        body: PointerValue<'c>,
        arity: u32,
        arguments: &[BasicMetadataValueEnum<'c>],
    ) -> Result<CallSiteValue<'c>> {
        let call = self.builder.build_indirect_call(self.types.signature(arity), body, arguments, "")?;
        // No tail call: the caller's frame must stay, so that an error can name it.
        call.set_tail_call_kind(LLVMTailCallKind::LLVMTailCallKindNoTail);
        call.add_attribute(AttributeLoc::Function, self.types.attribute("nounwind"));
        Ok(call)
    }

    fn call(&mut self, callee: Callee) -> Result<()> {
        let direct = match self.direct.get(&(callee.name, callee.arity)) {
            Some(DirectCall::Builtin(builtin)) => return self.builtin(*builtin),
            Some(DirectCall::Copy(function)) => Some(*function),
            None => None,
        };
        let arguments = self.arguments(callee.arity)?;
        let call = if let Some(function) = direct {
            let call = self.builder.build_call(function, &arguments, "")?;
            // Equal calls are merged. They may fail to return, so none is made that the program does
            // not make, and variables are set before. The tail of arguments is in memory.
            let has_tail = self.types.tail(callee.arity).is_some();
            if self.pure.contains(&(callee.name, callee.arity)) && !has_tail {
                call.add_attribute(AttributeLoc::Function, self.types.reads_only());
            }
            call
        } else {
            let slot = self.offset(Symbol::Slot(&self.names.text(callee.name), callee.arity))?;
            let body = self.builder.build_load(self.types.pointer, slot, "")?.into_pointer_value();
            self.call_body(body, callee.arity, &arguments)?
        };
        if let Some((place, tail)) = self.types.tail(callee.arity) {
            call.add_attribute(place, tail);
        }
        self.values.push(result(call)?);
        self.calls += 1;
        if self.calls.is_multiple_of(MANY_CALLS) {
            let next = self.types.context.append_basic_block(self.function, "");
            self.builder.build_unconditional_branch(next)?;
            self.builder.position_at_end(next);
        }
        Ok(())
    }

    // --- control flow ---------------------------------------------------------

    fn block(&self, name: &str) -> BasicBlock<'c> {
        self.types.context.append_basic_block(self.function, name)
    }

    fn here(&self) -> Result<BasicBlock<'c>> {
        self.builder.get_insert_block().ok_or_else(missing)
    }

    fn jump(&self, target: BasicBlock<'c>) -> Result<InstructionValue<'c>> {
        Ok(self.builder.build_unconditional_branch(target)?)
    }

    /// Merges two values in block `meet` and continues there.
    fn meet(&mut self, meet: BasicBlock<'c>, values: [(FloatValue<'c>, BasicBlock<'c>); 2]) -> Result<()> {
        self.builder.position_at_end(meet);
        let phi = self.builder.build_phi(self.types.double, "")?;
        for (value, from) in &values {
            phi.add_incoming(&[(value, *from)]);
        }
        self.values.push(phi.as_basic_value().into_float_value());
        Ok(())
    }

    fn begin_short_circuit(&mut self, op: BinaryOp) -> Result<()> {
        let left = self.pop()?;
        self.spill_before_entrance()?;
        let truth = self.truth(left)?;
        let decided = self.here()?;
        let (right, meet) = (self.block("right"), self.block("decided"));
        let (if_true, if_false) = if op == BinaryOp::And { (right, meet) } else { (meet, right) };
        self.builder.build_conditional_branch(truth, if_true, if_false)?;
        self.builder.position_at_end(right);
        let height = self.values.len();
        self.values.push(self.types.double.const_float(f64::from(u8::from(op == BinaryOp::Or))));
        self.open.push(IrConstruct::ShortCircuit { decided, meet, height });
        Ok(())
    }

    fn end_short_circuit(&mut self) -> Result<()> {
        let Some(IrConstruct::ShortCircuit { decided, meet, .. }) = self.open.pop() else {
            return Err(missing());
        };
        let right = self.pop()?;
        let truth = self.truth(right)?;
        let right = self.number(truth)?;
        let left = self.pop()?;
        let from = self.here()?;
        self.jump(meet)?;
        self.meet(meet, [(left, decided), (right, from)])
    }

    fn then(&mut self) -> Result<()> {
        let condition = self.pop()?;
        self.spill_before_entrance()?;
        let truth = self.truth(condition)?;
        let (then, otherwise, meet) = (self.block("then"), self.block("else"), self.block("end"));
        self.builder.build_conditional_branch(truth, then, otherwise)?;
        self.builder.position_at_end(then);
        self.open.push(IrConstruct::Then { otherwise, meet });
        Ok(())
    }

    fn otherwise(&mut self) -> Result<()> {
        let Some(IrConstruct::Then { otherwise, meet }) = self.open.pop() else { return Err(missing()) };
        let value = self.pop()?;
        let from = self.here()?;
        self.jump(meet)?;
        self.builder.position_at_end(otherwise);
        self.open.push(IrConstruct::Else { value, from, meet });
        Ok(())
    }

    fn end_if(&mut self) -> Result<()> {
        let Some(IrConstruct::Else { value, from, meet }) = self.open.pop() else { return Err(missing()) };
        let other = self.pop()?;
        let other_from = self.here()?;
        self.jump(meet)?;
        self.meet(meet, [(value, from), (other, other_from)])
    }

    fn begin_loop(&mut self, variable: u32) -> Result<()> {
        let start = self.pop()?;
        self.builder.build_store(self.place(variable)?, start)?;
        self.spill_before_entrance()?;
        let (body, condition, step) = (self.block("body"), self.block("condition"), self.block("step"));
        let strips = self.strips.iter().position(|strips| strips.node == self.at as usize);
        let strips = strips.map(|at| self.strips.swap_remove(at));
        let guard = strips.is_some().then(|| self.block("guard"));
        let first = guard.unwrap_or(body);
        if self.osr.as_ref().is_some_and(|entrance| entrance.entry.node == self.at) {
            self.enter_loop(first)?;
        } else {
            self.jump(first)?;
        }
        if self.exit.is_some() {
            self.keep_steps()?;
        }
        let begun = IrLoop {
            node: self.at,
            variable,
            body,
            condition,
            step,
            decision: None,
            increment: None,
            kept: None,
            guard,
            is_entered_later: self.osr.is_some(),
            end: strips.is_some().then(|| self.block("end")),
        };
        if let Some(strips) = strips {
            // A loop inside of the strips is another one than that which is entered.
            let osr = self.osr.take();
            self.strips(&strips, &begun)?;
            self.osr = osr;
        }
        self.builder.position_at_end(condition);
        self.open.push(IrConstruct::Loop(begun));
        Ok(())
    }

    fn innermost_loop(&mut self) -> Result<&mut IrLoop<'c>> {
        match self.open.last_mut() {
            Some(IrConstruct::Loop(innermost)) => Ok(innermost),
            _ => Err(missing()),
        }
    }

    fn loop_condition(&mut self) -> Result<()> {
        let condition = self.pop()?;
        let decision = (self.truth(condition)?, self.here()?);
        let innermost = self.innermost_loop()?;
        innermost.decision = Some(decision);
        let step = innermost.step;
        self.builder.position_at_end(step);
        Ok(())
    }

    fn loop_step(&mut self) -> Result<()> {
        let increment = self.pop()?;
        let innermost = self.innermost_loop()?;
        innermost.increment = Some(increment);
        let (condition, body, kept) = (innermost.condition, innermost.body, innermost.kept);
        if let Some(place) = kept {
            self.builder.build_store(place, increment)?;
        }
        self.jump(condition)?;
        self.builder.position_at_end(body);
        Ok(())
    }

    fn end_loop(&mut self) -> Result<()> {
        let Some(IrConstruct::Loop(ended)) = self.open.pop() else { return Err(missing()) };
        let IrLoop { node, variable, body, step, decision, increment, kept, guard, .. } = ended;
        let (Some((truth, decided)), Some(increment)) = (decision, increment) else { return Err(missing()) };
        self.pop()?;
        // Optimised code polls where it goes on, so that a loop which tests its condition
        // first has one way from one test to the next. What is counted is counted before.
        let polls_last = !self.is_quick() && !self.options.counts_fuel;
        if !polls_last {
            self.iteration_check()?;
        }
        self.jump(step)?;
        self.builder.position_at_end(decided);
        let place = self.place(variable)?;
        let current = self.builder.build_load(self.types.double, place, "")?.into_float_value();
        let increment = match kept {
            Some(place) => self.builder.build_load(self.types.double, place, "")?.into_float_value(),
            None => increment,
        };
        let next = self.builder.build_float_add(current, increment, "")?;
        self.builder.build_store(place, next)?;
        let end = ended.end.unwrap_or_else(|| self.block("end"));
        // OSR code that is entered inside of an iteration goes on in strips after it.
        let next = guard.filter(|_| ended.is_entered_later && self.osr.is_none()).unwrap_or(body);
        let mut again = next;
        if self.may_leave() {
            again = self.block("again");
            self.builder.position_at_end(again);
            self.leave_loop(node)?;
            self.jump(next)?;
            self.builder.position_at_end(decided);
        }
        if polls_last {
            again = self.block("again");
            self.builder.position_at_end(again);
            self.iteration_check()?;
            self.jump(next)?;
            self.builder.position_at_end(decided);
        }
        self.builder.build_conditional_branch(truth, again, end)?;
        self.builder.position_at_end(end);
        self.values.push(self.types.double.const_zero());
        Ok(())
    }
}
