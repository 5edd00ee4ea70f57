//! The walk over the nodes of a function.

mod calls;
mod control;
mod operators;

use super::assembler::{MachineCode, MachineOperand, Place, Register};
use super::constructs::{CodeConstruct, Rare};
use super::frame::Frame;
use super::values::WaitingValue;
use crate::abi::{self, REGISTERS, Symbol};
use crate::codegen::{Body, CodegenError, CompileOptions, polls};
use crate::host::Builtin;
use crate::name::{Name, Names};
use crate::pack::portable::PortableCode;
use crate::sema::checked::{CheckedFunction, CheckedNode, EXPRESSION};
use crate::syntax::operator::UnaryOp;
use rustc_hash::{FxHashMap, FxHashSet};

type WalkResult<T> = Result<T, CodegenError>;

/// Creates the error for something that the check guarantees.
fn missing() -> CodegenError {
    CodegenError::missing()
}

/// The sign of a double.
pub(super) const SIGN: u64 = 1 << 63;

const ONE: u64 = 1_f64.to_bits();

/// The room for code that most functions need: for the frame, and for each node, in bytes.
const FRAME_BYTES: usize = 128;
const NODE_BYTES: usize = 32;

/// The vector registers in use for a moment.
pub(super) const ACCUMULATOR: u8 = 0;
pub(super) const OTHER: u8 = 1;
pub(super) const THIRD: u8 = 2;

/// The walk over one function.
pub(super) struct Walk<'a> {
    pub(super) function: &'a CheckedFunction,
    pub(super) names: &'a Names,
    pub(super) options: CompileOptions,
    /// The functions of the library that are called directly, by name and arity.
    pub(super) direct: FxHashMap<(Name, u32), Builtin>,
    loads_numbers: bool,
    /// The number of calls, and of iterations of a call, after which it reports that it
    /// is hot.
    pub(super) hot_after: Option<u32>,
    pub(super) code: MachineCode,
    pub(super) frame: Frame,
    /// The locals in registers that have had a value, with their registers.
    held: Vec<(u32, u8)>,
    pub(super) values: Vec<WaitingValue>,
    /// The heights of locals that are waiting and may change.
    waiting: Vec<usize>,
    /// The height of the value in the accumulator.
    accumulator: Option<usize>,
    pub(super) open: Vec<CodeConstruct>,
    /// What is appended behind the function.
    pub(super) rare: Vec<Rare>,
    /// Where hot loops are left: how many values more may be passed on. `None` if they
    /// are not.
    pub(super) room: Option<usize>,
    /// The loops that call functions, where hot loops are left.
    with_calls: FxHashSet<usize>,
    /// The index of the node that is being compiled.
    pub(super) at: usize,
}

impl<'a> Walk<'a> {
    pub(super) fn new(body: Body<'a>, names: &'a Names, options: CompileOptions) -> Self {
        let function = body.function;
        Self {
            function,
            names,
            options,
            direct: body.builtins.iter().map(|(name, of)| ((*name, of.arity()), *of)).collect(),
            loads_numbers: body.loads_numbers,
            hot_after: body.hot_after,
            code: MachineCode::with_room(FRAME_BYTES + NODE_BYTES * function.nodes.len()),
            frame: Frame::of(function),
            held: Vec::new(),
            values: Vec::new(),
            waiting: Vec::new(),
            accumulator: None,
            open: Vec::new(),
            rare: Vec::new(),
            room: None,
            with_calls: FxHashSet::default(),
            at: 0,
        }
    }

    /// Compiles the function.
    pub(super) fn compile(mut self) -> WalkResult<PortableCode> {
        let nodes = &self.function.nodes;
        let is_call = |index: u32| self.is_call(index);
        let calls = (0..self.function.callees.len()).any(|index| is_call(index as u32));
        let is_expression = *self.names.text(self.function.name) == *EXPRESSION;
        let counts_fuel = self.options.counts_fuel;
        let checks = polls::checks_entry(self.function, calls && !is_expression, counts_fuel);
        let late = polls::late_checks(nodes, &is_call).filter(|_| checks && !counts_fuel);
        if self.function.has_loop() {
            self.frame.take_registers(&self.uses_in_loops());
        }
        let size = self.prologue();
        if checks && late.is_none() {
            self.poll();
        }
        if let Some(calls) = self.hot_after {
            if self.function.has_loop() {
                self.room = Some(polls::room(self.function));
                let is_call = |at: usize| match self.function.nodes[at] {
                    CheckedNode::Call(index) => self.is_call(index),
                    _ => false,
                };
                self.with_calls = self.loops_with(is_call);
                self.set_iterations(0);
            }
            // An expression is run once.
            if !is_expression {
                self.count_call(calls.max(1));
            }
        }
        for (at, node) in nodes.iter().enumerate() {
            self.at = at;
            self.node(*node)?;
            if late.as_ref().is_some_and(|places| places.contains(&(at as u32))) {
                self.poll();
            }
        }
        let value = self.pop()?;
        if !self.open.is_empty() || !self.values.is_empty() {
            return Err(missing());
        }
        self.load(ACCUMULATOR, value)?;
        self.epilogue();
        self.append_rare()?;
        self.code.patch(size, self.frame.size() as u32);
        self.code.finish()
    }

    /// Makes the frame and stores the parameters. Returns where the frame's size belongs.
    fn prologue(&mut self) -> Place {
        let code = &mut self.code;
        code.push(Register::Rbp);
        code.copy_word(Register::Rbp, Register::Rsp);
        code.push(Register::Rbx);
        let is_small = self.frame.bound(self.function) < abi::SMALL_FRAME;
        if is_small {
            code.lower_stack();
        } else {
            code.set(Register::Rax, 0);
        }
        let size = code.last_constant();
        if !is_small {
            // The runtime must agree before a frame is made that may not fit the reserve
            // below the stack limit.
            code.call_routine(abi::PROBE);
            code.lower_stack_by_rax();
        }
        code.copy_word(Register::Rbx, Register::Rdi);
        for parameter in 0..self.function.parameters.len().min(REGISTERS) {
            self.keep(parameter as u32, MachineOperand::Vector(parameter as u8));
        }
        if self.loads_numbers {
            // Once, so that a call in progress keeps its numbers when the function is
            // redefined.
            let names = self.names;
            let name = names.text(self.function.name);
            self.code.load_context_word(Register::Rax, Symbol::Numbers(&name, self.function.arity()));
            let place = self.frame.numbers();
            self.code.store_word(Register::Rbp, place, Register::Rax);
        }
        size
    }

    pub(super) fn epilogue(&mut self) {
        self.code.load_word(Register::Rbx, MachineOperand::At(Register::Rbp, -8));
        self.code.leave();
    }

    fn node(&mut self, node: CheckedNode) -> WalkResult<()> {
        match node {
            CheckedNode::Number(index) => self.values.push(WaitingValue::Number(index)),
            CheckedNode::Local(local) => self.local(local),
            CheckedNode::Variable(name) => {
                self.free_accumulator();
                let names = self.names;
                self.code.load_variable(ACCUMULATOR, Symbol::Variable(&names.text(name)));
                self.push_accumulator();
            }
            CheckedNode::SetLocal(local) => self.set_local(local)?,
            CheckedNode::SetVariable(name) => self.set_variable(name)?,
            CheckedNode::Unary(UnaryOp::Negate) => self.negate()?,
            CheckedNode::Unary(UnaryOp::Not) => self.not()?,
            CheckedNode::Binary(op) if op.short_circuits() => self.end_short_circuit()?,
            CheckedNode::Binary(op) => self.binary(op)?,
            CheckedNode::ShortCircuit(op) => self.begin_short_circuit(op)?,
            CheckedNode::Call(callee) => self.call(callee)?,
            CheckedNode::Then => self.then()?,
            CheckedNode::Else => self.otherwise()?,
            CheckedNode::If => self.end_if()?,
            CheckedNode::ForVariable(local) => self.begin_loop(local)?,
            CheckedNode::ForCondition => self.loop_condition()?,
            CheckedNode::ForStep => self.loop_step()?,
            CheckedNode::For => self.end_loop()?,
            CheckedNode::Bind(local) => {
                let value = self.pop()?;
                self.store_local(local, value)?;
            }
        }
        Ok(())
    }

    // --- values -----------------------------------------------------------

    /// Pops a value; it is as it was at its height, which is the new height of the stack.
    pub(super) fn pop(&mut self) -> WalkResult<WaitingValue> {
        let value = self.values.pop().ok_or_else(missing)?;
        let height = self.values.len();
        if self.accumulator == Some(height) {
            self.accumulator = None;
        }
        self.waiting.pop_if(|waiting| *waiting == height);
        Ok(value)
    }

    pub(super) fn push_accumulator(&mut self) {
        self.accumulator = Some(self.values.len());
        self.values.push(WaitingValue::Accumulator);
    }

    /// Pushes a value that was popped and is still where it was.
    fn push_again(&mut self, value: WaitingValue) {
        match value {
            WaitingValue::Accumulator => self.push_accumulator(),
            WaitingValue::Local(local) => self.local(local),
            value => self.values.push(value),
        }
    }

    fn local(&mut self, local: u32) {
        if !self.frame.is_fixed(local) {
            self.waiting.push(self.values.len());
        }
        self.values.push(WaitingValue::Local(local));
    }

    /// Moves the waiting value that is in the accumulator to its slot. Leaves the flags.
    pub(super) fn free_accumulator(&mut self) {
        if let Some(height) = self.accumulator.take() {
            let place = self.frame.value(height);
            self.code.store(Register::Rbp, place, ACCUMULATOR);
            self.values[height] = WaitingValue::Settled;
        }
    }

    /// Moves waiting values to their slots, but for what never changes. Leaves the flags.
    pub(super) fn settle(&mut self) {
        self.free_accumulator();
        for height in std::mem::take(&mut self.waiting) {
            self.settle_local(height);
        }
    }

    fn settle_local(&mut self, height: usize) {
        if let WaitingValue::Local(local) = self.values[height] {
            let (from, to) = (self.frame.home(local), self.frame.value(height));
            self.copy(from, Register::Rbp, to);
            self.values[height] = WaitingValue::Settled;
        }
    }

    /// Settles what waits as the value of a local.
    fn settle_copies(&mut self, local: u32) {
        let is_copy =
            |height: &usize| matches!(self.values[*height], WaitingValue::Local(known) if known == local);
        let (copies, others) = std::mem::take(&mut self.waiting).into_iter().partition(is_copy);
        self.waiting = others;
        Vec::into_iter(copies).for_each(|height| self.settle_local(height));
    }

    /// Returns the operand of a value at a height, which may need `rax` until it is used.
    pub(super) fn operand(&mut self, value: &WaitingValue, height: usize) -> WalkResult<MachineOperand> {
        Ok(match *value {
            WaitingValue::Number(index) if self.loads_numbers => {
                let numbers = self.frame.numbers();
                self.code.load_word(Register::Rax, MachineOperand::At(Register::Rbp, numbers));
                MachineOperand::At(Register::Rax, 8 * index as i32)
            }
            WaitingValue::Number(index) => {
                MachineOperand::Constant(self.function.numbers[index as usize].to_bits())
            }
            WaitingValue::Local(local) => self.frame.home(local),
            WaitingValue::Settled | WaitingValue::Step => {
                MachineOperand::At(Register::Rbp, self.frame.value(height))
            }
            WaitingValue::Accumulator => MachineOperand::Vector(ACCUMULATOR),
            WaitingValue::Truth(_) | WaitingValue::Undecided => return Err(missing()),
        })
    }

    /// Loads a value that was just popped into a register.
    pub(super) fn load(&mut self, to: u8, value: WaitingValue) -> WalkResult<()> {
        let operand = self.operand(&value, self.values.len())?;
        self.code.load(to, operand);
        Ok(())
    }

    /// Loads a value that was just popped into the accumulator.
    fn accumulate(&mut self, value: WaitingValue) -> WalkResult<()> {
        if !matches!(value, WaitingValue::Accumulator) {
            self.free_accumulator();
        }
        self.load(ACCUMULATOR, value)
    }

    /// Pops two values. Loads the first into the accumulator and returns the operand of the
    /// second, which may be in another register.
    pub(super) fn two(&mut self) -> WalkResult<MachineOperand> {
        let right = self.pop()?;
        let left = self.pop()?;
        let height = self.values.len();
        if matches!(right, WaitingValue::Accumulator) {
            self.code.load(OTHER, MachineOperand::Vector(ACCUMULATOR));
            self.load(ACCUMULATOR, left)?;
            return Ok(MachineOperand::Vector(OTHER));
        }
        self.accumulate(left)?;
        self.operand(&right, height + 1)
    }

    fn set_local(&mut self, local: u32) -> WalkResult<()> {
        let value = self.pop()?;
        let again = value.again().ok_or_else(missing)?;
        self.store_local(local, value)?;
        self.push_again(again);
        Ok(())
    }

    /// Stores a value that was just popped in a local.
    pub(super) fn store_local(&mut self, local: u32, value: WaitingValue) -> WalkResult<()> {
        self.settle_copies(local);
        let operand = self.operand(&value, self.values.len())?;
        self.keep(local, operand);
        Ok(())
    }

    /// Copies a value to where a local is. Leaves the flags.
    fn keep(&mut self, local: u32, value: MachineOperand) {
        if let Some(register) = self.frame.register(local) {
            if !self.held.contains(&(local, register)) {
                self.held.push((local, register));
            }
            self.code.load(register, value);
        } else {
            let place = self.frame.local(local);
            self.copy(value, Register::Rbp, place);
        }
    }

    /// Stores the locals in registers in the frame, and the count of iterations, since a call changes
    /// these registers.
    pub(super) fn save_locals(&mut self) {
        for (local, register) in &self.held {
            self.code.store(Register::Rbp, self.frame.local(*local), *register);
        }
        if let Some(register) = self.frame.iterations_register() {
            self.code.store_half(Register::Rbp, self.frame.iterations(), register);
        }
    }

    /// Loads what [`save_locals`](Self::save_locals) has stored.
    pub(super) fn restore_locals(&mut self) {
        for (local, register) in &self.held {
            self.code.load(*register, MachineOperand::At(Register::Rbp, self.frame.local(*local)));
        }
        if let Some(register) = self.frame.iterations_register() {
            self.code.load_half(register, Register::Rbp, self.frame.iterations());
        }
    }

    /// Stores a value in memory at a distance from a register. Leaves the flags.
    fn copy(&mut self, from: MachineOperand, base: Register, distance: i32) {
        if let MachineOperand::Vector(register) = from {
            self.code.store(base, distance, register);
        } else {
            self.code.load_word(Register::Rax, from);
            self.code.store_word(base, distance, Register::Rax);
        }
    }

    fn set_variable(&mut self, name: Name) -> WalkResult<()> {
        let value = self.pop()?;
        self.accumulate(value)?;
        let names = self.names;
        self.code.store_variable(Symbol::Variable(&names.text(name)), ACCUMULATOR);
        self.push_accumulator();
        Ok(())
    }
}
